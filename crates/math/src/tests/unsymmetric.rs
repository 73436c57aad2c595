//! Unsymmetric block matrices and their LU against dense algebra, against LDL', and on singular systems.

use super::cases;
use super::factor::{Rig, analysed, chain, joints_of_tree, rigs, spread, worst};
use crate::block_matrix::BlockMatrix;
use crate::block_sparse::Pattern;
use crate::ldl::{DROP_REDUNDANT, Factor, LdlError, Order, Pivots, RefineWork};
use crate::lu::LuFactor;
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use std::sync::Arc;

/// Solutions of well-conditioned random systems agree with dense LU to this.
const AGREEMENT: f64 = 1e-9;
const DROP: Pivots = Pivots::Regularise { relative: DROP_REDUNDANT };

/// Random blocks, each node made regular by large numbers at places that `shift` moves off the diagonal, so that exchanges are needed.
fn unsymmetric(rig: &Rig, shift: usize) -> BlockMatrix {
    let pattern = rig.pattern();
    let mut matrix = BlockMatrix::new(Arc::clone(&pattern));
    let mut numbers = rig.numbers.iter().copied().cycle();
    let mut next = || numbers.next().expect("a rig carries numbers");
    for &(a, b) in rig.edges.iter().filter(|(a, b)| a != b) {
        matrix.add_with(a, b, |_, _| next()).expect("an edge has a block");
        matrix.add_with(b, a, |_, _| next()).expect("and one on the other side");
    }
    let dense = matrix.to_dense();
    for node in 0..pattern.nodes() {
        let (start, size) = (pattern.start(node), pattern.size(node));
        let sum = |k: usize| dense.row(k).iter().map(|x| x.abs()).sum::<f64>() + dense.column(k).iter().map(|x| x.abs()).sum::<f64>();
        let heavy = 1.0 + size as f64 + (start..start + size).map(sum).fold(0.0, f64::max);
        matrix.add_with(node, node, |r, c| next() + if (r + shift) % size == c { heavy } else { 0.0 }).expect("a node has a block");
    }
    matrix
}

fn factored(matrix: &BlockMatrix, order: Order) -> LuFactor {
    let mut factor = LuFactor::new(analysed(matrix.pattern(), order));
    factor.factor(matrix, Pivots::Strict).expect("a regular matrix");
    factor
}

/// Joints of a tree of bodies, some given twice, with rows of their own for force and for speed: A = J K J' with K + K' positive
/// definite when `skewed`, so that A is unsymmetric and a copy is redundant both as an equation and as an unknown.
fn singular(parents: &[usize], copied: &[usize], numbers: &[f64], skewed: bool) -> (BlockMatrix, usize) {
    const FREEDOM: usize = 6;
    let joints = parents.len();
    let mut of: Vec<usize> = (0..joints).collect();
    of.extend(copied.iter().map(|&joint| joint % joints));
    let bodies = |joint: usize| [parents[of[joint]], of[joint] + 1];
    let sizes: Vec<usize> = of.iter().map(|&joint| 1 + joint % 3).collect();
    let mut edges = Vec::new();
    for a in 0..of.len() {
        edges.extend((0..a).filter(|&b| bodies(a).iter().any(|body| bodies(b).contains(body))).map(|b| (a, b)));
    }
    let number = |k: usize| numbers[k % numbers.len()];
    let row = |joint: usize, row: usize, body: usize| {
        let side = bodies(joint).iter().position(|&own| own == body);
        DVector::from_fn(FREEDOM, |k, _| match side {
            None => 0.0,
            Some(side) => {
                let own = if k == row { 3.0 } else { 0.0 };
                number(of[joint] * 17 + row * 7 + side * 3 + k) + if side == 0 { own } else { -own }
            }
        })
    };
    let mut response = DMatrix::<f64>::identity(FREEDOM, FREEDOM);
    for (i, j) in (0..FREEDOM).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|_| skewed) {
        response[(i, j)] = number(i * 5 + j);
        response[(j, i)] = -response[(i, j)];
    }
    let mut matrix = BlockMatrix::new(Arc::new(Pattern::new(&sizes, &edges).expect("edges name existing joints")));
    for (a, b) in (0..of.len()).flat_map(|a| (0..of.len()).map(move |b| (a, b))) {
        if a == b || edges.contains(&(a.max(b), a.min(b))) {
            for body in bodies(a).into_iter().filter(|body| bodies(b).contains(body)) {
                matrix.add_with(a, b, |r, c| row(a, r, body).dot(&(&response * row(b, c, body)))).expect("coupled joints have a block");
            }
        }
    }
    let count = (joints..of.len()).map(|copy| sizes[copy]).sum();
    (matrix, count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256, 20_000)))]

    #[test]
    fn solutions_are_those_of_dense_lu(rig in rigs(12, 8), shift in 0..8_usize) {
        let matrix = unsymmetric(&rig, shift);
        let rows = matrix.pattern().rows();
        // The dense reference refuses an empty matrix.
        prop_assume!(rows > 0);
        let b = rig.right_side(rows);
        let dense = matrix.to_dense();
        let right = DVector::from_column_slice(&b);
        let x = dense.clone().lu().solve(&right).expect("a regular matrix");
        let xt = dense.transpose().lu().solve(&right).expect("a regular matrix");
        for order in [Order::Natural, Order::MinimumDegree, Order::MinimumDegreeLast(&[0])] {
            let factor = factored(&matrix, order);
            let (mut y, mut yt) = (b.clone(), b.clone());
            factor.solve(&mut y);
            factor.solve_transpose(&mut yt);
            prop_assert!(worst(&y, x.as_slice()) <= AGREEMENT);
            prop_assert!(worst(&yt, xt.as_slice()) <= AGREEMENT);
            prop_assert!(factor.dropped().is_empty());
            // <A^-1 b, c> = <b, A^-T c>.
            let c = spread(rows);
            let mut z = c.clone();
            factor.solve_transpose(&mut z);
            let (left, right): (f64, f64) = (y.iter().zip(&c).map(|(a, b)| a * b).sum(), b.iter().zip(&z).map(|(a, b)| a * b).sum());
            prop_assert!((left - right).abs() <= 1e-12 * rows as f64);
        }
    }

    #[test]
    fn products_are_dense_ones(rig in rigs(12, 8)) {
        let matrix = unsymmetric(&rig, 1);
        let rows = matrix.pattern().rows();
        let (x, b, dense) = (rig.right_side(rows), spread(rows), matrix.to_dense());
        let (y, yt) = (&dense * DVector::from_column_slice(&x), dense.transpose() * DVector::from_column_slice(&x));
        let mut out = vec![1.0; rows];
        matrix.multiply(&x, &mut out);
        prop_assert!(worst(&out, y.as_slice()) <= AGREEMENT);
        matrix.multiply_transpose(&x, &mut out);
        prop_assert!(worst(&out, yt.as_slice()) <= AGREEMENT);
        let largest = matrix.residual(&b, &x, &mut out);
        prop_assert!((0..rows).all(|k| (out[k] - (b[k] - y[k])).abs() <= AGREEMENT && out[k].abs() <= largest));
        matrix.residual_transpose(&b, &x, &mut out);
        prop_assert!((0..rows).all(|k| (out[k] - (b[k] - yt[k])).abs() <= AGREEMENT));
        prop_assert_eq!(dense.iter().fold(0.0_f64, |m, x| m.max(x.abs())), matrix.max_abs());
    }

    #[test]
    fn a_symmetric_matrix_has_the_solution_of_its_ldl(rig in rigs(10, 6)) {
        let symmetric = rig.matrix();
        let pattern = Arc::clone(symmetric.pattern());
        let mut matrix = BlockMatrix::new(Arc::clone(&pattern));
        for (a, b) in (0..pattern.nodes()).flat_map(|a| (0..pattern.nodes()).map(move |b| (a, b))) {
            if let Some(slot) = pattern.slot(a, b) {
                matrix.add_at(slot, |r, c| symmetric.entry(a, r, b, c));
            }
        }
        prop_assert_eq!(matrix.to_dense(), symmetric.to_dense());
        let mut ldl = Factor::new(analysed(&pattern, Order::MinimumDegree));
        ldl.factor(&symmetric, Pivots::Strict).expect("positive definite");
        let b = rig.right_side(pattern.rows());
        let (mut x, mut y) = (b.clone(), b);
        ldl.solve(&mut x);
        factored(&matrix, Order::MinimumDegree).solve(&mut y);
        prop_assert!(worst(&x, &y) <= AGREEMENT);
    }

    #[test]
    fn redundant_equations_are_named_and_the_rest_is_solved(
        seeds in prop::collection::vec(0..1000_usize, 1..9), copied in prop::collection::vec(0..9_usize, 0..4),
        numbers in prop::collection::vec(-1.0..1.0_f64, 61), skewed in any::<bool>(),
    ) {
        let parents: Vec<usize> = seeds.iter().enumerate().map(|(k, seed)| seed % (k + 1)).collect();
        let (matrix, count) = singular(&parents, &copied, &numbers, skewed);
        let pattern = Arc::clone(matrix.pattern());
        let z: Vec<f64> = numbers.iter().rev().copied().cycle().take(pattern.rows()).collect();
        let (mut b, mut bt) = (vec![0.0; z.len()], vec![0.0; z.len()]);
        matrix.multiply(&z, &mut b);
        matrix.multiply_transpose(&z, &mut bt);
        let scale = matrix.max_abs();
        let copies: Vec<usize> = (parents.len()..pattern.nodes()).collect();
        for order in [Order::Natural, Order::MinimumDegree, Order::MinimumDegreeLast(&copies)] {
            let mut factor = LuFactor::new(analysed(&pattern, order));
            let strict = factor.factor(&matrix, Pivots::Strict);
            let named = matches!(strict, Err(LdlError::ZeroPivot { .. }));
            prop_assert_eq!(named, count > 0);
            factor.factor(&matrix, DROP).expect("finite");
            prop_assert_eq!(factor.dropped().len(), count);
            if order != Order::MinimumDegree {
                prop_assert!(factor.dropped().iter().all(|dropped| copies.contains(&dropped.node) && dropped.row == dropped.column));
            }
            let (mut x, mut xt, mut residual) = (b.clone(), bt.clone(), vec![0.0; z.len()]);
            factor.solve(&mut x);
            factor.solve_transpose(&mut xt);
            prop_assert!(matrix.residual(&b, &x, &mut residual) <= AGREEMENT * scale, "{:?}", residual);
            prop_assert!(matrix.residual_transpose(&bt, &xt, &mut residual) <= AGREEMENT * scale, "{:?}", residual);
            for dropped in factor.dropped() {
                let start = pattern.start(dropped.node);
                prop_assert!(x[start + dropped.column].abs() <= AGREEMENT * scale && xt[start + dropped.row].abs() <= AGREEMENT * scale);
            }
        }
    }

    #[test]
    fn refactoring_leaves_no_trace(rig in rigs(10, 6)) {
        let matrix = unsymmetric(&rig, 1);
        let b = rig.right_side(matrix.pattern().rows());
        let mut factor = factored(&matrix, Order::MinimumDegree);
        let mut first = b.clone();
        factor.solve(&mut first);
        let mut other = matrix.clone();
        other.clear();
        factor.factor(&other, DROP).expect("zero is finite");
        prop_assert_eq!(factor.dropped().len(), b.len());
        factor.factor(&matrix, Pivots::Strict).expect("a regular matrix");
        let mut second = b;
        factor.solve(&mut second);
        prop_assert!(first.iter().zip(&second).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

/// [[M, -J2'], \[J1, 0\]] of a chain of bodies: a body's node first, its joint's after it.
fn saddle(bodies: usize, twice: bool) -> BlockMatrix {
    const ROWS: usize = 2;
    let sizes: Vec<usize> = (0..2 * bodies)
        .map(|node| {
            if node % 2 == 0 {
                3
            } else if twice {
                2 * ROWS
            } else {
                ROWS
            }
        })
        .collect();
    let mut edges = Vec::new();
    for joint in 0..bodies {
        edges.push((2 * joint, 2 * joint + 1));
        if joint > 0 {
            edges.push((2 * joint - 2, 2 * joint + 1));
        }
    }
    let mut matrix = BlockMatrix::new(Arc::new(Pattern::new(&sizes, &edges).expect("a chain")));
    let noise = spread(4096);
    for body in 0..bodies {
        let base = 2.0 + 0.3 * noise[body];
        matrix.add_with(2 * body, 2 * body, |r, c| if r == c { base } else { 0.0 }).expect("a body");
    }
    for (a, b) in edges {
        let (body, joint) = if a % 2 == 0 { (a, b) } else { (b, a) };
        // The two sets of rows are near each other, as those of one joint at two poses.
        let row = |set: usize, r: usize, c: usize| {
            let r = r % ROWS;
            let own = if r == c { 1.0 } else { 0.0 };
            let sign = if body + 1 == joint { 1.0 } else { -1.0 };
            sign * (own
                + 0.3 * noise[(joint * 31 + body * 7 + r * 3 + c) % 4096]
                + 0.01 * set as f64 * noise[(joint * 13 + body + r * 5 + c) % 4096])
        };
        matrix.add_with(joint, body, |r, c| row(0, r, c)).expect("an edge");
        matrix.add_with(body, joint, |r, c| -row(1, c, r)).expect("an edge");
    }
    matrix
}

#[test]
fn a_saddle_matrix_with_zero_blocks_factors_bodies_first() {
    for (bodies, twice) in [(1, false), (7, false), (1, true), (7, true)] {
        let matrix = saddle(bodies, twice);
        let pattern = Arc::clone(matrix.pattern());
        let order: Vec<usize> = (0..bodies).map(|k| 2 * k).chain((0..bodies).map(|k| 2 * k + 1)).collect();
        let mut factor = LuFactor::new(analysed(&pattern, Order::Given(&order)));
        assert_eq!(factor.factor(&matrix, Pivots::Strict).is_err(), twice);
        factor.factor(&matrix, DROP).expect("finite");
        assert_eq!(factor.dropped().len(), if twice { 2 * bodies } else { 0 });
        let (z, mut b) = (spread(pattern.rows()), vec![0.0; pattern.rows()]);
        for transposed in [false, true] {
            if transposed {
                matrix.multiply_transpose(&z, &mut b)
            } else {
                matrix.multiply(&z, &mut b)
            }
            let (mut x, mut residual) = (b.clone(), vec![0.0; b.len()]);
            if transposed {
                factor.solve_transpose(&mut x)
            } else {
                factor.solve(&mut x)
            }
            assert!(matrix.residual_of(transposed, &b, &x, &mut residual) < 1e-12);
            assert!(twice || worst(&x, &z) < 1e-12);
        }
    }
}

#[test]
fn trees_and_rings_agree_with_dense_and_trees_do_not_fill() {
    let binary = joints_of_tree(&(0..31).map(|k| k / 2).collect::<Vec<_>>());
    let mut ring = chain(12, 3);
    ring.edges.push((11, 0));
    let tree = Rig { sizes: vec![5; 31], edges: binary, numbers: spread(997) };
    for (rig, fill) in [(tree, 0), (chain(40, 5), 0), (ring, 9)] {
        let matrix = unsymmetric(&rig, 2);
        let factor = factored(&matrix, Order::MinimumDegree);
        assert_eq!(factor.symbolic().fill(), fill);
        let b = spread(matrix.pattern().rows());
        let mut x = b.clone();
        factor.solve(&mut x);
        let dense = matrix.to_dense().lu().solve(&DVector::from_column_slice(&b)).expect("regular");
        assert!(worst(&x, dense.as_slice()) < 1e-12);
    }
}

#[test]
fn a_block_without_a_diagonal_needs_its_exchanges() {
    let mut matrix = BlockMatrix::new(Arc::new(Pattern::new(&[3, 2], &[(0, 1)]).expect("two nodes")));
    matrix.add_block(0, 0, &[0.0, 2.0, 0.0, 0.0, 0.0, -3.0, 5.0, 0.0, 0.0]).expect("a permutation");
    matrix.add_block(1, 1, &[0.0, 7.0, 11.0, 0.0]).expect("another");
    matrix.add_block(0, 1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("above");
    let factor = factored(&matrix, Order::Natural);
    let z = [1.0, 2.0, 3.0, 4.0, 5.0];
    let mut b = [0.0; 5];
    matrix.multiply(&z, &mut b);
    factor.solve(&mut b);
    assert!(worst(&b, &z) < 1e-14, "{b:?}");
    matrix.multiply_transpose(&z, &mut b);
    factor.solve_transpose(&mut b);
    assert!(worst(&b, &z) < 1e-14, "{b:?}");
}

#[test]
fn scaling_rows_and_columns_changes_no_decision() {
    let (matrix, count) = singular(&[0, 1, 1, 2], &[1, 3], &spread(61), true);
    let pattern = Arc::clone(matrix.pattern());
    let scale = |k: usize| 10.0_f64.powi((k * 7 % 13) as i32 - 6);
    let mut scaled = BlockMatrix::new(Arc::clone(&pattern));
    for (a, b) in (0..pattern.nodes()).flat_map(|a| (0..pattern.nodes()).map(move |b| (a, b))) {
        if let Some(slot) = pattern.slot(a, b) {
            let entry = |r: usize, c: usize| matrix.entry(a, r, b, c) * scale(pattern.start(a) + r) * scale(pattern.start(b) + c + 5);
            scaled.add_at(slot, entry);
        }
    }
    for matrix in [matrix, scaled] {
        let mut factor = LuFactor::new(analysed(&pattern, Order::Natural));
        factor.factor(&matrix, DROP).expect("finite");
        assert_eq!(factor.dropped().len(), count);
        assert!(factor.dropped().iter().all(|dropped| dropped.node >= 4));
    }
}

#[test]
fn refinement_recovers_from_a_factor_of_a_nearby_matrix() {
    let matrix = unsymmetric(&chain(20, 3), 1);
    let mut nearby = matrix.clone();
    for node in 0..20 {
        nearby.add_diagonal(node, 1, 1e-2).expect("three rows a node");
    }
    let factor = factored(&nearby, Order::MinimumDegree);
    let b = spread(matrix.pattern().rows());
    for transposed in [false, true] {
        let (mut x, mut residual) = (b.clone(), vec![0.0; b.len()]);
        if transposed {
            factor.solve_transpose(&mut x)
        } else {
            factor.solve(&mut x)
        }
        let before = matrix.residual_of(transposed, &b, &x, &mut residual);
        let work = &mut RefineWork::default();
        let refined =
            if transposed { factor.refine_transpose(&matrix, &b, &mut x, work) } else { factor.refine(&matrix, &b, &mut x, work) };
        assert!(before > 1e-5, "the factor must be off: {before}");
        assert!(refined.rounds > 1 && refined.residual < 1e-14, "{refined:?}");
        assert!(matrix.residual_of(transposed, &b, &x, &mut residual) == refined.residual);
    }
}

#[test]
fn a_value_that_is_not_finite_stops_the_factor_and_does_not_travel() {
    for bad in [f64::NAN, f64::INFINITY] {
        for (row, column) in [(0, 0), (1, 1), (2, 1), (1, 2), (0, 1), (2, 2)] {
            let mut matrix = unsymmetric(&chain(3, 2), 1);
            matrix.add_with(row, column, |r, c| if (r, c) == (1, 0) { bad } else { 0.0 }).expect("a block of the chain");
            let mut factor = LuFactor::new(analysed(matrix.pattern(), Order::MinimumDegree));
            for pivots in [Pivots::Strict, DROP] {
                assert!(matches!(factor.factor(&matrix, pivots), Err(LdlError::NotFinite { .. })), "{bad} at ({row}, {column})");
                let (mut x, mut y) = (spread(6), spread(6));
                factor.solve(&mut x);
                factor.solve_transpose(&mut y);
                assert_eq!((x, y), (spread(6), spread(6)), "after a failure the factor is the identity");
            }
        }
    }
    let mut factor = LuFactor::new(analysed(&chain(4, 2).pattern(), Order::Natural));
    assert_eq!(factor.factor(&unsymmetric(&chain(3, 2), 0), Pivots::Strict), Err(LdlError::PatternMismatch));
    let empty = BlockMatrix::new(Arc::new(Pattern::new(&[], &[]).expect("nothing is a graph")));
    factored(&empty, Order::MinimumDegree).solve(&mut []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48, 2000)))]

    /// Without exchanges a matrix near a positive one has the same answers, and what repeats is dropped within its node.
    #[test]
    fn plain_pivots_answer_as_searched_ones(rig in rigs(8, 9), repeated in any::<bool>()) {
        let pattern = rig.pattern();
        let mut matrix = unsymmetric(&rig, 0);
        let mut copies = 0;
        if repeated {
            // The last row of every node with several becomes the first, as an equation and as an unknown, towards every node.
            let whole = matrix.to_dense();
            matrix = BlockMatrix::new(Arc::clone(&pattern));
            let from = |node: usize, k: usize| pattern.start(node) + if k > 0 && k + 1 == pattern.size(node) { 0 } else { k };
            let nodes = pattern.nodes();
            for (a, b) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))).filter(|&(a, b)| pattern.slot(a, b).is_some()) {
                matrix.add_with(a, b, |r, c| whole[(from(a, r), from(b, c))]).expect("a coupled pair has a block");
            }
            copies = (0..nodes).filter(|&node| pattern.size(node) > 1).count();
        }
        let mut plain = LuFactor::new(analysed(&pattern, Order::MinimumDegree));
        prop_assert!(plain.factor_plain(&matrix), "diagonals are heavy");
        prop_assert_eq!(plain.dropped().len(), copies);
        let dense = matrix.to_dense();
        let b: Vec<f64> = (0..pattern.rows()).map(|k| rig.numbers[k % rig.numbers.len()]).collect();
        for transposed in [false, true] {
            let a = if transposed { dense.transpose() } else { dense.clone() };
            // A right side that the matrix makes.
            let right = &a * DVector::from_vec(b.clone());
            let mut x = right.as_slice().to_vec();
            if transposed { plain.solve_transpose(&mut x) } else { plain.solve(&mut x) }
            let left = (&a * DVector::from_vec(x) - &right).amax();
            prop_assert!(left <= AGREEMENT * right.amax().max(1.0), "{}", left);
        }
    }
}

#[test]
fn plain_pivots_refuse_what_needs_exchanges() {
    let pattern = Arc::new(Pattern::new(&[2], &[]).expect("one node"));
    let mut factor = LuFactor::new(analysed(&pattern, Order::MinimumDegree));
    for entries in [[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0 + 1e-7], [f64::NAN, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 1.0]] {
        let mut matrix = BlockMatrix::new(Arc::clone(&pattern));
        matrix.add_block(0, 0, &entries).expect("the node has a block");
        assert!(!factor.factor_plain(&matrix), "{entries:?}");
    }
}
