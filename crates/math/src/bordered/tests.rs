use super::*;
use crate::block_sparse::{BlockSparse, Pattern};
use crate::ldl::{Order, Pivots, Symbolic};
use nalgebra::{DMatrix, DVector};
use std::sync::Arc;

fn trials(small: usize, large: usize) -> usize {
    if std::env::var("CAROM_FULL").is_ok_and(|value| value == "1") { large } else { small }
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

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    match value.as_array() {
        Some(list) => list.iter().flat_map(numbers).collect(),
        None => vec![value.as_f64().unwrap()],
    }
}

fn indices(value: &serde_json::Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|index| index.as_u64().unwrap() as usize).collect()
}

#[test]
fn reference_systems_are_solved_in_both_forms_and_in_any_order() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/cholesky_insert.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 17);
    let mut worst = 0.0f64;
    for case in cases {
        let (input, expected) = (&case["input"], &case["expected"]);
        let lower = &input["A_lower"];
        let entries: Vec<(usize, usize, f64)> =
            indices(&lower["i"]).into_iter().zip(indices(&lower["j"])).zip(numbers(&lower["v"])).map(|((i, j), v)| (i, j, v)).collect();
        let n = input["n"].as_u64().unwrap() as usize;
        let (b1, b2) = (numbers(&input["b1"]), numbers(&input["b2"]));
        let given = indices(&input["perm"]);
        for order in [Order::Given(&given), Order::MinimumDegree, Order::Natural] {
            let factor = InsertedFactor::from_lower(n, &entries, order).unwrap();
            for form in [Form::Ldl, Form::Cholesky] {
                let system = factor.insert(&numbers(&input["A12"]), &numbers(&input["A21"]), &numbers(&input["A22"]), form).unwrap();
                let found = system.solve(&b1, &b2).unwrap();
                let tol = case["tol"].as_f64().unwrap();
                for (x, wanted) in [(&found.x1, numbers(&expected["x1"])), (&found.x2, numbers(&expected["x2"]))] {
                    let scale = wanted.iter().fold(1.0f64, |worst, value| worst.max(value.abs()));
                    for (x, wanted) in x.iter().zip(&wanted) {
                        worst = worst.max((x - wanted).abs() / (tol * scale));
                    }
                }
                assert!(worst <= 1.0, "{}: {worst} of its tolerance with {form:?}", case["name"]);
            }
        }
    }
    println!("worst error {worst:.2e} of the tolerance");
}

/// A random mechanism: joints of 1-3 rows over a chain of bodies of `dof` velocities, and its matrix J M^-1 J' + a little compliance.
struct Mechanism {
    inv_mass: DMatrix<f64>,
    jacobian: DMatrix<f64>,
    /// Rows of each joint; joint i lies between bodies i and i + 1.
    sizes: Vec<usize>,
    matrix: BlockSparse,
    factor: Factor,
}

fn mechanism(joints: usize, dof: usize, next: &mut impl FnMut() -> f64) -> Mechanism {
    let bodies = joints + 1;
    let mut inv_mass = DMatrix::zeros(dof * bodies, dof * bodies);
    for b in 0..bodies {
        let root = DMatrix::from_fn(dof, dof, |_, _| next());
        inv_mass.view_mut((dof * b, dof * b), (dof, dof)).copy_from(&(&root * root.transpose() + DMatrix::identity(dof, dof) * 0.2));
    }
    let sizes: Vec<usize> = (0..joints).map(|i| 1 + i % 3).collect();
    let rows: usize = sizes.iter().sum();
    let mut jacobian = DMatrix::zeros(rows, dof * bodies);
    let mut row = 0;
    for (i, &size) in sizes.iter().enumerate() {
        for r in row..row + size {
            for c in dof * i..dof * (i + 2) {
                jacobian[(r, c)] = next();
            }
        }
        row += size;
    }
    let edges: Vec<(usize, usize)> = (1..joints).map(|i| (i - 1, i)).collect();
    let pattern = Arc::new(Pattern::new(&sizes, &edges).unwrap());
    let dense = &jacobian * &inv_mass * jacobian.transpose();
    let mut matrix = BlockSparse::new(Arc::clone(&pattern));
    for i in 0..joints {
        for j in [Some(i), i.checked_sub(1)].into_iter().flatten() {
            matrix.add_with(i, j, |r, c| dense[(pattern.start(i) + r, pattern.start(j) + c)]).unwrap();
        }
    }
    let mut factor = Factor::new(Arc::new(Symbolic::analyse(&pattern, Order::MinimumDegree).unwrap()));
    factor.factor(&matrix, Pivots::Strict).unwrap();
    Mechanism { inv_mass, jacobian, sizes, matrix, factor }
}

impl Mechanism {
    /// J_c M^-1 J' of contact rows on one body, packed over the joints of that body.
    fn couple(&self, rows: &DMatrix<f64>, body: usize) -> (Vec<usize>, Vec<f64>) {
        let all = &self.jacobian * &self.inv_mass * rows.transpose();
        let nodes: Vec<usize> = [body.checked_sub(1), Some(body).filter(|&b| b < self.sizes.len())].into_iter().flatten().collect();
        let pattern = self.matrix.pattern();
        let mut packed = Vec::new();
        for &node in &nodes {
            for r in pattern.start(node)..pattern.start(node) + pattern.size(node) {
                packed.extend(all.row(r).iter());
            }
        }
        (nodes, packed)
    }
}

fn row_on(body: usize, dof: usize, total: usize, count: usize, next: &mut impl FnMut() -> f64) -> DMatrix<f64> {
    let values: Vec<f64> = (0..count * dof).map(|_| next()).collect();
    DMatrix::from_fn(count, total, |r, c| if c / dof == body { values[r * dof + c % dof] } else { 0.0 })
}

#[test]
fn sparse_insertion_into_a_block_factor_agrees_with_a_dense_solve() {
    let mut next = stream(3);
    let mut borders = [Border::new(Form::Ldl), Border::new(Form::Cholesky)];
    let mut worst = 0.0f64;
    for trial in 0..trials(60, 2000) {
        let (joints, dof) = (2 + trial % 9, [4, 6][trial % 2]);
        let m = mechanism(joints, dof, &mut next);
        let total = dof * (joints + 1);
        let body = trial % (joints + 1);
        let a = 1 + trial % 3;
        let (cols, rows) = (row_on(body, dof, total, a, &mut next), row_on(body, dof, total, a, &mut next));
        let ((nodes, columns), (_, across)) = (m.couple(&cols, body), m.couple(&rows, body));
        let corner = DMatrix::from_fn(a, a, |i, j| next() + if i == j { 4.0 } else { 0.0 });
        let corner_rows: Vec<f64> = corner.transpose().iter().copied().collect();
        let n = m.jacobian.nrows();
        let mut dense = DMatrix::zeros(n + a, n + a);
        dense.view_mut((0, 0), (n, n)).copy_from(&m.matrix.to_dense());
        dense.view_mut((0, n), (n, a)).copy_from(&(&m.jacobian * &m.inv_mass * cols.transpose()));
        dense.view_mut((n, 0), (a, n)).copy_from(&(&rows * &m.inv_mass * m.jacobian.transpose()));
        dense.view_mut((n, n), (a, a)).copy_from(&corner);
        let b = DVector::from_fn(n + a, |_, _| next());
        let lu = dense.clone().lu();
        let wanted = lu.solve(&b).unwrap();
        for border in &mut borders {
            border.insert(&m.factor, &nodes, &columns, &across, &corner_rows, a).unwrap();
            let (mut x1, mut x2) = (b.as_slice()[..n].to_vec(), b.as_slice()[n..].to_vec());
            border.solve(&m.factor, &mut x1, &mut x2).unwrap();
            let found = DVector::from_iterator(n + a, x1.into_iter().chain(x2));
            // Two roads differ by the condition of the system; its residual does not.
            worst = worst.max((&dense * &found - &b).amax() / (dense.amax() * wanted.amax()));
        }
    }
    assert!(worst < 1e-13, "{worst:e}");
    println!("largest backward error {worst:.1e}");
}

#[test]
fn an_insertion_costs_its_path_and_leaves_nothing_behind() {
    let mut next = stream(8);
    let m = mechanism(200, 6, &mut next);
    let dof = 6;
    let mut border = Border::new(Form::Ldl);
    for body in [0, 7, 200, 31, 90] {
        let rows = row_on(body, dof, dof * 201, 3, &mut next);
        let (nodes, packed) = m.couple(&rows, body);
        let corner: Vec<f64> = (&rows * &m.inv_mass * rows.transpose()).iter().copied().collect();
        border.insert(&m.factor, &nodes, &packed, &packed, &corner, 3).unwrap();
        let mut fresh = Border::new(Form::Ldl);
        fresh.insert(&m.factor, &nodes, &packed, &packed, &corner, 3).unwrap();
        let b = vec![1.0; m.jacobian.nrows()];
        let (mut x, mut y) = ((b.clone(), [1.0, 2.0, 3.0]), (b, [1.0, 2.0, 3.0]));
        border.solve(&m.factor, &mut x.0, &mut x.1).unwrap();
        fresh.solve(&m.factor, &mut y.0, &mut y.1).unwrap();
        assert_eq!(x, y, "a used border and a fresh one give the same bits");
    }
    let root: usize = m.factor.symbolic().order()[m.sizes.len() - 1];
    let size = m.sizes[root];
    border.insert(&m.factor, &[root], &vec![0.1; size], &vec![0.1; size], &[1.0], 1).unwrap();
    assert_eq!(border.touched(), size, "the last joint eliminated reaches only itself");
}

#[test]
fn what_cannot_be_solved_is_refused_by_name() {
    let order = Order::MinimumDegree;
    let factor = InsertedFactor::from_dense(2, &[2.0, 0.5, 0.5, 1.0], order).unwrap();
    // A column that repeats one of the matrix, row and corner likewise: nothing is left of the corner.
    let singular = factor.insert(&[2.0, 0.5], &[2.0, 0.5], &[2.0], Form::Ldl).err();
    assert_eq!(singular, Some(BorderError::SingularCorner { row: 0 }));
    assert_eq!(factor.insert(&[0.0; 4], &[0.0; 4], &[0.0; 4], Form::Ldl).err(), Some(BorderError::SingularCorner { row: 0 }));
    assert_eq!(
        factor.insert(&[0.0; 4], &[0.0; 4], &[1.0, 2.0, 2.0, 4.0], Form::Cholesky).err(),
        Some(BorderError::SingularCorner { row: 1 })
    );
    // A negative corner is a system like any other for the general solve, and refused where a contact asks.
    let system = factor.insert(&[3.0, 0.0], &[3.0, 0.0], &[1.0], Form::Ldl).unwrap();
    assert!(system.solve(&[1.0, 2.0], &[3.0]).unwrap().residual < 1e-14);
    assert_eq!(system.border().clone().require_positive(), Err(BorderError::NegativeCorner { row: 0 }));
    assert_eq!(factor.insert(&[0.1, 0.0], &[0.1, 0.0], &[1.0], Form::Ldl).unwrap().border().clone().require_positive(), Ok(()));
    assert_eq!(factor.insert(&[f64::NAN, 0.0], &[3.0, 0.0], &[1.0], Form::Ldl).err(), Some(BorderError::NotFinite));
    assert_eq!(factor.insert(&[1.0], &[3.0, 0.0], &[1.0], Form::Ldl).err(), Some(BorderError::WrongLength { found: 1, wanted: 2 }));
    assert_eq!(factor.insert(&[], &[], &[1.0, 2.0, 3.0], Form::Ldl).err(), Some(BorderError::WrongLength { found: 3, wanted: 1 }));
    assert_eq!(system.solve(&[1.0], &[3.0]).err(), Some(BorderError::WrongLength { found: 1, wanted: 2 }));
    assert_eq!(factor.solve(&[1.0]).err(), Some(BorderError::WrongLength { found: 1, wanted: 2 }));
    let refused = |matrix: &[f64]| InsertedFactor::from_dense(2, matrix, order).err();
    assert_eq!(refused(&[1.0, 0.5, 0.4, 1.0]), Some(BorderError::NotSymmetric { row: 1, column: 0 }));
    assert!(matches!(refused(&[1.0, 2.0, 2.0, 1.0]), Some(BorderError::NotPositive { .. })));
    assert!(matches!(refused(&[1.0, 1.0, 1.0, 1.0]), Some(BorderError::Factor(LdlError::ZeroPivot { .. }))));
    assert!(matches!(refused(&[f64::NAN, 0.0, 0.0, 1.0]), Some(BorderError::Factor(LdlError::NotFinite { .. }))));
    let triangle = InsertedFactor::from_lower(2, &[(0, 0, 1.0), (0, 1, 0.5), (1, 1, 1.0)], order).err();
    assert_eq!(triangle, Some(BorderError::OutsideTriangle { row: 0, column: 1 }));
    let repeated = InsertedFactor::from_lower(2, &[(0, 0, 1.0), (1, 1, 1.0)], Order::Given(&[0, 0])).err();
    assert!(matches!(repeated, Some(BorderError::Factor(LdlError::BadOrder { .. }))));
    // Nothing inserted, and nothing to insert into.
    assert_eq!(factor.insert(&[], &[], &[], Form::Ldl).unwrap().solve(&[2.5, 1.5], &[]).unwrap().x1, factor.solve(&[2.5, 1.5]).unwrap());
    let empty = InsertedFactor::from_dense(0, &[], order).unwrap();
    assert_eq!(empty.insert(&[], &[], &[2.0], Form::Ldl).unwrap().solve(&[], &[3.0]).unwrap().x2, vec![1.5]);
}

#[test]
fn row_exchanges_of_the_corner_are_undone() {
    let mut next = stream(21);
    for n in 1..8 {
        for _ in 0..20 {
            // Widely scaled rows and small diagonals force exchanges, in cycles too.
            let dense = DMatrix::from_fn(n, n, |i, j| next() * if i == j { 1e-3 } else { 10f64.powi(i as i32 - 3) });
            let wanted = DVector::from_fn(n, |_, _| next());
            let mut x: Vec<f64> = (&dense * &wanted).iter().copied().collect();
            let mut corner = Corner::default();
            corner.load(dense.transpose().as_slice(), n);
            if corner.factor().is_err() {
                continue;
            }
            corner.solve(&mut x);
            let back = &dense * DVector::from_vec(x.clone());
            let rhs = &dense * &wanted;
            for i in 0..n {
                let scale = (0..n).map(|j| (dense[(i, j)] * x[j]).abs()).fold(rhs[i].abs(), f64::max);
                assert!((back[i] - rhs[i]).abs() <= 1e-11 * scale, "n = {n}");
            }
        }
    }
}
