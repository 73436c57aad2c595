use super::*;
use crate::block_sparse::Pattern;
use crate::ldl::{Order, Symbolic};
use nalgebra::DMatrix;
use std::sync::Arc;

fn full() -> bool {
    std::env::var("CAROM_FULL").is_ok_and(|value| value == "1")
}

/// A deterministic stream of numbers in [-1, 1).
fn stream(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Least n_M over every way to write n as a sum of parts, n = 0..=most, by dynamic programming: no balance is assumed.
fn exhaustive(most: usize, weld: usize) -> Vec<u64> {
    let w = weld as u64;
    let end = |z: usize| own(z as u64) + 2 * w * z as u64;
    let inner = |z: usize| own(z as u64) + 4 * w * z as u64 + 3 * w * w - w;
    let (mut ends, mut inners) = (vec![u64::MAX; most + 1], vec![u64::MAX; most + 1]);
    inners[0] = 0;
    for s in 0..=most {
        for a in 0..=s {
            ends[s] = ends[s].min(end(a) + end(s - a) + own(w));
        }
        for z in 1..=s {
            inners[s] = inners[s].min(inners[s - z] + inner(z));
        }
    }
    (0..=most).map(|n| (0..=n).map(|s| ends[s] + inners[n - s]).fold(own(n as u64), u64::min)).collect()
}

#[test]
fn reference_splits_are_reproduced_exactly() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/splitting.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 400);
    for case in cases {
        let n = case["n"].as_u64().unwrap() as usize;
        let expected = &case["expected"];
        let found = split(n).unwrap();
        assert_eq!(found.inner_parts, expected["p"].as_i64().unwrap(), "n = {n}");
        assert_eq!(found.inner_constraints as u64, expected["m"].as_u64().unwrap(), "n = {n}");
        assert_eq!(found.entries, expected["n_M"].as_u64().unwrap(), "n = {n}");
        assert_eq!(found.entries, expected["n_M_min"].as_u64().unwrap(), "n = {n}");
        assert_eq!(found.parts.iter().sum::<usize>(), n);
        assert_eq!(found.parts.len() as i64, (found.inner_parts + 2).max(1));
        assert_eq!(found.entries, entries(&found.parts, SPATIAL_WELD));
    }
}

#[test]
fn no_other_split_has_fewer_entries() {
    let most = if full() { 4000 } else { 800 };
    for (weld, choose) in [(SPATIAL_WELD, split as fn(usize) -> _), (PLANAR_WELD, split_planar)] {
        for (n, &least) in exhaustive(most, weld).iter().enumerate() {
            let found: Split = choose(n).unwrap();
            assert_eq!(found.entries, least, "n = {n}, welds of {weld}: {:?}", found.parts);
            assert_eq!(found.parts.iter().sum::<usize>(), n);
        }
    }
}

#[test]
fn splitting_begins_where_it_pays() {
    assert_eq!((split(26).unwrap().inner_parts, split(26).unwrap().entries), (-1, 650));
    assert_eq!((split(27).unwrap().parts, split(27).unwrap().entries), (vec![13, 14], 692));
    assert_eq!((split_planar(13).unwrap().inner_parts, split_planar(13).unwrap().entries), (-1, 156));
    assert_eq!((split_planar(14).unwrap().parts, split_planar(14).unwrap().entries), (vec![7, 7], 174));
    assert_eq!(split(0).unwrap().entries, 0);
    assert_eq!(split(usize::MAX), Err(TooManyRows { rows: usize::MAX }));
    assert_eq!(split_planar(ROWS_MAX + 1), Err(TooManyRows { rows: ROWS_MAX + 1 }));
}

/// The graph of the split matrix with one node per row, in the order z_1, e_1, z_2, e_2, ...
fn chain(parts: &[usize], weld: usize) -> Pattern {
    let mut edges = Vec::new();
    let (mut row, mut before) = (0, 0..0);
    for (k, &z) in parts.iter().enumerate() {
        let own = row..row + z;
        let after = own.end..own.end + if k + 1 < parts.len() { weld } else { 0 };
        row = after.end;
        // All rows on one part couple: those it carries and the two welds.
        let rows: Vec<usize> = before.chain(own).chain(after.clone()).collect();
        edges.extend(rows.iter().enumerate().flat_map(|(k, &a)| rows[..k].iter().map(move |&b| (b, a))));
        before = after;
    }
    Pattern::new(&vec![1; row], &edges).unwrap()
}

#[test]
fn the_cost_counts_the_entries_of_the_matrix_and_nothing_fills() {
    for (weld, choose) in [(SPATIAL_WELD, split as fn(usize) -> _), (PLANAR_WELD, split_planar)] {
        for n in [1, 5, 13, 14, 26, 27, 37, 62, 100, 219] {
            let found: Split = choose(n).unwrap();
            let pattern = Arc::new(chain(&found.parts, weld));
            assert_eq!(2 * pattern.edges() as u64, found.entries, "n = {n}");
            for order in [Order::Natural, Order::MinimumDegree] {
                assert_eq!(Symbolic::analyse(&pattern, order).unwrap().fill(), 0, "n = {n}");
            }
            if let [first, inner @ .., last] = &found.parts[..] {
                let bound = if inner.is_empty() {
                    weld - 1 + first.max(last)
                } else {
                    (2 * weld - 1 + inner.iter().max().unwrap()).max(weld - 1 + first.max(last))
                };
                assert!(Symbolic::analyse(&pattern, Order::Natural).unwrap().bandwidth() <= bound, "n = {n}");
            }
        }
    }
}

#[test]
fn rows_one_by_one_are_assigned_as_they_are_split() {
    for n in 0..300 {
        let found = assign(&vec![1; n], SPATIAL_WELD);
        assert_eq!(found.entries, split(n).unwrap().entries, "n = {n}");
        assert_eq!(assign(&vec![1; n], PLANAR_WELD).entries, split_planar(n).unwrap().entries, "n = {n}");
        let parts: Vec<usize> = (0..found.parts()).map(|k| found.joints(k).len()).collect();
        assert_eq!(entries(&parts, SPATIAL_WELD), found.entries);
        assert_eq!(parts.iter().sum::<usize>(), n);
    }
}

/// Least cost over all ways to cut a list of joints into consecutive parts.
fn every_cut(rows: &[usize], weld: usize) -> u64 {
    (0..1u32 << (rows.len() - 1))
        .map(|cuts| {
            let mut parts = vec![rows[0]];
            for (k, &count) in rows.iter().enumerate().skip(1) {
                if cuts >> (k - 1) & 1 == 1 { parts.push(count) } else { *parts.last_mut().unwrap() += count }
            }
            entries(&parts, weld)
        })
        .min()
        .unwrap()
}

#[test]
fn whole_joints_are_assigned_at_the_least_cost() {
    let mut next = stream(12);
    for trial in 0..60 {
        let weld = [PLANAR_WELD, SPATIAL_WELD][trial % 2];
        let rows: Vec<usize> = (0..2 + trial % 12).map(|_| ((next() + 1.0) / 2.0 * (2 * weld) as f64) as usize).collect();
        let found = assign(&rows, weld);
        assert_eq!(found.entries, every_cut(&rows, weld), "{rows:?}");
        let parts: Vec<usize> = (0..found.parts()).map(|k| rows[found.joints(k)].iter().sum()).collect();
        assert_eq!(entries(&parts, weld), found.entries, "{rows:?}");
        assert_eq!((found.starts[0], found.starts[found.parts()]), (0, rows.len()));
    }
    // A part limit that were too low would show on long lists: the same search without it.
    let mut rows: Vec<usize> = (0..400).map(|_| 1 + ((next() + 1.0) / 2.0 * 6.0) as usize).collect();
    rows[200] = 70;
    for weld in [PLANAR_WELD, SPATIAL_WELD] {
        let found = assign(&rows, weld);
        let spread: Vec<usize> = (0..found.parts()).map(|k| rows[found.joints(k)].iter().sum()).collect();
        assert_eq!(entries(&spread, weld), found.entries);
        for k in 0..found.parts() - 1 {
            for shift in [-1i64, 1] {
                let mut moved = found.starts.clone();
                moved[k + 1] = (moved[k + 1] as i64 + shift) as usize;
                if moved[k + 1] <= moved[k] || moved[k + 1] >= moved[k + 2] {
                    continue;
                }
                let parts: Vec<usize> = moved.windows(2).map(|pair| rows[pair[0]..pair[1]].iter().sum()).collect();
                assert!(entries(&parts, weld) >= found.entries);
            }
        }
    }
    assert_eq!(assign(&[], SPATIAL_WELD), Assignment { starts: vec![0, 0], entries: 0 });
    assert_eq!(assign(&[500], SPATIAL_WELD).parts(), 1);
}

#[test]
fn welds_of_any_weights_leave_the_matrix_of_the_joints_unchanged() {
    let mut next = stream(5);
    let mut worst = 0.0f64;
    let weights: [&[f64]; 6] = [&[1.0], &[0.5, 0.5], &[1.0 / 3.0; 3], &[0.6, 0.1, 0.3], &[0.2; 5], &[0.02, 0.5, 0.08, 0.4]];
    for dof in [PLANAR_WELD, SPATIAL_WELD] {
        for weights in weights {
            let parts = weights.len();
            let root = DMatrix::from_fn(dof, dof, |_, _| next());
            let inv_mass = (&root * root.transpose() + DMatrix::identity(dof, dof)).try_inverse().unwrap();
            let rows: Vec<usize> = (0..parts).map(|k| 1 + (3 * k + 2) % 5).collect();
            let total: usize = rows.iter().sum();
            let jacobian = DMatrix::from_fn(total, dof, |_, _| next());
            let welds = dof * (parts - 1);
            let mut split = DMatrix::zeros(total + welds, dof * parts);
            let mut inv_split = DMatrix::zeros(dof * parts, dof * parts);
            let mut row = 0;
            for k in 0..parts {
                split.view_mut((row, dof * k), (rows[k], dof)).copy_from(&jacobian.rows(row, rows[k]));
                inv_split.view_mut((dof * k, dof * k), (dof, dof)).copy_from(&(&inv_mass / weights[k]));
                row += rows[k];
                for r in 0..if k + 1 < parts { dof } else { 0 } {
                    split[(total + dof * k + r, dof * k + r)] = 1.0;
                    split[(total + dof * k + r, dof * (k + 1) + r)] = -1.0;
                }
            }
            let matrix = &split * inv_split * split.transpose();
            let (jj, jw) = (matrix.view((0, 0), (total, total)), matrix.view((0, total), (total, welds)));
            let ww = matrix.view((total, total), (welds, welds)).into_owned();
            let eliminated = jj - jw * ww.cholesky().unwrap().solve(&jw.transpose());
            let wanted = &jacobian * &inv_mass * jacobian.transpose();
            worst = worst.max((eliminated - &wanted).amax() / wanted.amax());
        }
    }
    assert!(worst < 5e-14, "{worst:e}");
    println!("largest relative error {worst:e}");
}
