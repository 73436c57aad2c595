//! The factor against dense elimination, on graphs that change.

use super::*;
use nalgebra::{DMatrix, DVector};

/// Numbers between -1 and 1 that look random.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn below(&mut self, n: usize) -> usize {
        ((self.next() * 0.5 + 0.5) * n as f64) as usize % n
    }
}

/// A random matrix over a random graph, with the factor of I + B beside its dense form.
fn random(numbers: &mut Numbers, factor: &mut Multifrontal, count: usize, links: usize, symmetric: bool) -> DMatrix<f64> {
    let sizes: Vec<usize> = (0..count).map(|_| 1 + numbers.below(6)).collect();
    let mut edges: Vec<(u32, u32)> = (0..links).map(|_| (numbers.below(count) as u32, numbers.below(count) as u32)).collect();
    factor.analyse(sizes.iter().copied(), &mut edges);
    let start: Vec<usize> = sizes.iter().scan(0, |sum, size| Some(std::mem::replace(sum, *sum + size))).collect();
    let n: usize = sizes.iter().sum();
    let mut dense = DMatrix::identity(n, n);
    factor.begin(symmetric);
    for &(a, b) in &edges {
        let (a, b) = (a as usize, b as usize);
        let (ra, rb) = (sizes[a], sizes[b]);
        // J' D J of one row over both nodes, with an unsymmetric part.
        let row: Vec<f64> = (0..ra + rb).map(|_| numbers.next()).collect();
        let twist: Vec<f64> = (0..ra + rb).map(|k| if symmetric { row[k] } else { row[k] + 0.1 * numbers.next() }).collect();
        let block =
            |rows: &[f64], columns: &[f64]| -> Vec<f64> { rows.iter().flat_map(|r| columns.iter().map(move |c| 3.0 * r * c)).collect() };
        let parts = [(a, a, block(&row[..ra], &twist[..ra])), (b, b, block(&row[ra..], &twist[ra..]))];
        for (x, y, values) in parts.iter().take(if a == b { 1 } else { 2 }) {
            factor.add(factor.slot(*x, *y).unwrap(), sizes[*x], sizes[*y], values);
            add_dense(&mut dense, start[*x], start[*y], sizes[*y], values);
        }
        if a != b {
            let (upper, lower) = (block(&row[..ra], &twist[ra..]), block(&row[ra..], &twist[..ra]));
            let slot = factor.slot(a, b).unwrap();
            factor.add(slot, ra, rb, &upper);
            factor.add_opposite(slot, rb, ra, &lower);
            add_dense(&mut dense, start[a], start[b], rb, &upper);
            add_dense(&mut dense, start[b], start[a], ra, &lower);
        }
    }
    dense
}

fn add_dense(dense: &mut DMatrix<f64>, row: usize, column: usize, columns: usize, values: &[f64]) {
    for (k, x) in values.iter().enumerate() {
        dense[(row + k / columns, column + k % columns)] += x;
    }
}

#[test]
fn solutions_agree_with_dense_elimination() {
    let mut numbers = Numbers(7);
    let mut factor = Multifrontal::default();
    for (count, links) in [(1, 1), (5, 4), (20, 30), (60, 120), (40, 400), (9, 0)] {
        for symmetric in [true, false] {
            let dense = random(&mut numbers, &mut factor, count, links, symmetric);
            assert!(factor.factor());
            let b = DVector::from_fn(dense.nrows(), |_, _| numbers.next());
            for transposed in [false, true] {
                let mut x: Vec<f64> = b.iter().copied().collect();
                if transposed {
                    factor.solve_transpose(&mut x)
                } else {
                    factor.solve(&mut x)
                }
                let x = DVector::from_vec(x);
                let miss = if transposed { dense.tr_mul(&x) - &b } else { &dense * &x - &b };
                assert!(miss.amax() < 1e-10 * (1.0 + x.amax()), "{count} {links} {symmetric} {transposed}: {:e}", miss.amax());
            }
        }
    }
}

#[test]
fn the_same_graph_is_analysed_once() {
    let mut factor = Multifrontal::default();
    let mut edges = vec![(0, 1), (2, 1), (1, 0)];
    assert!(factor.analyse([2, 2, 2].into_iter(), &mut edges));
    assert!(!factor.analyse([2, 2, 2].into_iter(), &mut vec![(1, 2), (0, 1)]));
    assert!(factor.analyse([2, 2, 3].into_iter(), &mut vec![(1, 2), (0, 1)]));
    assert_eq!(factor.counts().0, 2);
}

#[test]
fn a_pivot_that_vanishes_is_reported() {
    let mut factor = Multifrontal::default();
    factor.analyse([1, 1].into_iter(), &mut vec![(0, 1)]);
    factor.begin(false);
    let own = factor.slot(0, 0).unwrap();
    factor.add(own, 1, 1, &[-1.0]);
    let across = factor.slot(0, 1).unwrap();
    factor.add(across, 1, 1, &[1.0]);
    factor.add_opposite(across, 1, 1, &[1.0]);
    assert!(!factor.factor());
}

#[test]
fn a_grid_of_bodies_fills_little() {
    // A wall of 20 x 20 nodes: nested fronts keep the fill far below the square of the rows.
    let side = 20;
    let mut edges = Vec::new();
    for i in 0..side {
        for j in 0..side {
            let node = (i * side + j) as u32;
            if j + 1 < side {
                edges.push((node, node + 1));
            }
            if i + 1 < side {
                edges.push((node, node + side as u32));
            }
        }
    }
    let mut factor = Multifrontal::default();
    factor.analyse(std::iter::repeat_n(6, side * side), &mut edges);
    let dense = (6 * side * side) as f64;
    assert!((factor.fill() as f64) < 0.15 * dense * dense, "{}", factor.fill() as f64 / dense / dense);
    assert!(factor.operations() < 0.01 * dense * dense * dense);
}
