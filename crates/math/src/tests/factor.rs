//! Block matrices and their factors against dense algebra.

mod single;

use super::cases;
use crate::block_ldl::{BlockFactor, LANES};
use crate::block_sparse::{BlockSparse, Pattern, PatternError};
use crate::ldl::{DROP_REDUNDANT, Factor, LdlError, Order, Pivots, Reach, Redundant, RefineWork, Symbolic};
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use std::sync::Arc;

/// Rows of the largest joint.
const LARGEST_JOINT: usize = 6;
/// Solutions of well-conditioned random systems agree with dense Cholesky to this.
const AGREEMENT: f64 = 1e-10;
/// The most that twice the nodes may cost, in multiples of the cost of the nodes.
const LINEAR_RATIO: f64 = 2.3;

/// A graph with rows per node and numbers to fill it with.
#[derive(Clone, Debug)]
pub(super) struct Rig {
    pub(super) sizes: Vec<usize>,
    pub(super) edges: Vec<(usize, usize)>,
    pub(super) numbers: Vec<f64>,
}

impl Rig {
    pub(super) fn pattern(&self) -> Arc<Pattern> {
        Arc::new(Pattern::new(&self.sizes, &self.edges).expect("edges name existing nodes"))
    }
    /// Random symmetric blocks, made positive definite by a dominant diagonal.
    pub(super) fn matrix(&self) -> BlockSparse {
        let pattern = self.pattern();
        let mut matrix = BlockSparse::new(Arc::clone(&pattern));
        let mut numbers = self.numbers.iter().copied().cycle();
        let mut next = || numbers.next().expect("a rig carries numbers");
        for &(a, b) in self.edges.iter().filter(|(a, b)| a != b) {
            matrix.add_with(a, b, |_, _| next()).expect("an edge has a block");
        }
        for node in 0..pattern.nodes() {
            let size = pattern.size(node);
            let rows: Vec<f64> = (0..size * size).map(|_| next()).collect();
            matrix.add_with(node, node, |r, c| rows[r * size + c] + rows[c * size + r]).expect("a node has a block");
        }
        let dense = matrix.to_dense();
        for node in 0..pattern.nodes() {
            for row in 0..pattern.size(node) {
                let sum: f64 = dense.row(pattern.start(node) + row).iter().map(|value| value.abs()).sum();
                matrix.add_diagonal(node, row, 1.0 + sum).expect("a node has its rows");
            }
        }
        matrix
    }
    pub(super) fn right_side(&self, rows: usize) -> Vec<f64> {
        self.numbers.iter().rev().copied().cycle().take(rows).collect()
    }
}

pub(super) fn rigs(most_nodes: usize, largest: usize) -> impl Strategy<Value = Rig> {
    (1..=most_nodes).prop_flat_map(move |nodes| {
        let sizes = prop::collection::vec(0..=largest, nodes);
        let edges = prop::collection::vec((0..nodes, 0..nodes), 0..3 * nodes);
        // A prime count of numbers, so that cycling through them repeats no block.
        (sizes, edges, prop::collection::vec(-1.0..1.0_f64, 61)).prop_map(|(sizes, edges, numbers)| Rig { sizes, edges, numbers })
    })
}

/// Fixed numbers in (-1/2, 1/2) without a period that could hide an index error.
pub(super) fn spread(count: usize) -> Vec<f64> {
    const IRRATIONAL: f64 = 0.754_877_666_246_693;
    (1..=count).map(|k| (k as f64 * IRRATIONAL).fract() - 0.5).collect()
}

pub(super) fn chain(nodes: usize, size: usize) -> Rig {
    Rig { sizes: vec![size; nodes], edges: (1..nodes).map(|node| (node - 1, node)).collect(), numbers: spread(997) }
}

/// Joints of a tree of bodies: body k + 1 hangs by joint k on body `parents[k] <= k`; joints couple where they share a body.
pub(super) fn joints_of_tree(parents: &[usize]) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for a in 0..parents.len() {
        for b in 0..a {
            if parents[a] == parents[b] || parents[a] == b + 1 {
                edges.push((a, b));
            }
        }
    }
    edges
}

pub(super) fn analysed(pattern: &Arc<Pattern>, order: Order) -> Arc<Symbolic> {
    Arc::new(Symbolic::analyse(pattern, order).expect("a valid order"))
}

fn factored(matrix: &BlockSparse, order: Order) -> Factor {
    let mut factor = Factor::new(analysed(matrix.pattern(), order));
    factor.factor(matrix, Pivots::Strict).expect("a positive definite matrix");
    factor
}

pub(super) fn worst(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |worst, (x, y)| worst.max((x - y).abs()))
}

/// J J' over joints that couple two bodies of three freedoms each, with some joints given twice: singular, as in a closed loop.
struct Redundancy {
    matrix: BlockSparse,
    copies: Vec<usize>,
}

fn redundancy(rig: &Rig, copied: &[usize]) -> Redundancy {
    const FREEDOM: usize = 3;
    let joints = rig.sizes.len();
    // A tree of bodies with up to three rows a joint has full rank, so only the copies are redundant.
    let parents: Vec<usize> = (0..joints).map(|k| rig.edges.get(k).map_or(k, |edge| edge.0) % (k + 1)).collect();
    let mut of: Vec<usize> = (0..joints).collect();
    of.extend(copied.iter().map(|&joint| joint % joints));
    let bodies = |joint: usize| [parents[of[joint]], of[joint] + 1];
    let sizes: Vec<usize> = of.iter().map(|&joint| 1 + rig.sizes[joint] % FREEDOM).collect();
    let mut edges = Vec::new();
    for a in 0..of.len() {
        edges.extend((0..a).filter(|&b| bodies(a).iter().any(|body| bodies(b).contains(body))).map(|b| (a, b)));
    }
    let pattern = Arc::new(Pattern::new(&sizes, &edges).expect("edges name existing joints"));
    let row = |joint: usize, row: usize, body: usize| -> [f64; FREEDOM] {
        let side = bodies(joint).iter().position(|&own| own == body);
        std::array::from_fn(|k| match side {
            None => 0.0,
            Some(side) => {
                let noise = rig.numbers[(of[joint] * 17 + row * 7 + side * 3 + k) % rig.numbers.len()];
                noise + if k == row { if side == 0 { 3.0 } else { -3.0 } } else { 0.0 }
            }
        })
    };
    let mut matrix = BlockSparse::new(pattern);
    for a in 0..of.len() {
        for b in 0..=a {
            if a != b && !edges.contains(&(a, b)) {
                continue;
            }
            for body in bodies(a).into_iter().filter(|body| bodies(b).contains(body)) {
                let entry = |r, c| row(a, r, body).iter().zip(row(b, c, body)).map(|(x, y)| x * y).sum();
                matrix.add_with(a, b, entry).expect("coupled joints have a block");
            }
        }
    }
    Redundancy { matrix, copies: (joints..of.len()).collect() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512, 20_000)))]

    #[test]
    fn solution_is_that_of_dense_cholesky(rig in rigs(12, LARGEST_JOINT + 2)) {
        let matrix = rig.matrix();
        let b = rig.right_side(matrix.pattern().rows());
        let dense = matrix.to_dense().cholesky().expect("a dominant diagonal").solve(&DVector::from_column_slice(&b));
        for order in [Order::Natural, Order::MinimumDegree, Order::MinimumDegreeLast(&[0])] {
            let factor = factored(&matrix, order);
            let (mut x, mut y) = (b.clone(), b.clone());
            factor.solve(&mut x);
            factor.solve_transpose(&mut y);
            prop_assert!(worst(&x, dense.as_slice()) <= AGREEMENT);
            prop_assert_eq!(&x, &y);
            prop_assert!(factor.redundant().is_empty());
        }
    }

    #[test]
    fn product_and_residual_are_dense_ones(rig in rigs(12, LARGEST_JOINT + 2)) {
        let matrix = rig.matrix();
        let rows = matrix.pattern().rows();
        let (x, b) = (rig.right_side(rows), spread(rows));
        let dense = matrix.to_dense() * DVector::from_column_slice(&x);
        let (mut y, mut r) = (vec![1.0; rows], vec![1.0; rows]);
        matrix.multiply(&x, &mut y);
        prop_assert!(worst(&y, dense.as_slice()) <= AGREEMENT);
        let largest = matrix.residual(&b, &x, &mut r);
        prop_assert!((0..rows).all(|k| (r[k] - (b[k] - dense[k])).abs() <= AGREEMENT && r[k].abs() <= largest));
    }

    #[test]
    fn halves_compose_to_the_whole_and_rebuild_the_matrix(rig in rigs(10, LARGEST_JOINT)) {
        let matrix = rig.matrix();
        let factor = factored(&matrix, Order::MinimumDegree);
        let rows = matrix.pattern().rows();
        let b = rig.right_side(rows);
        let (mut halves, mut whole) = (b.clone(), b);
        factor.solve(&mut whole);
        factor.forward(&mut halves);
        factor.divide(&mut halves);
        factor.backward(&mut halves);
        // The whole goes by blocks: the same numbers up to rounding.
        prop_assert!(halves.iter().zip(&whole).all(|(a, b)| (a - b).abs() <= AGREEMENT));
        // L from its inverse, column by column: unit triangular in the order of elimination, and L D L' is the matrix.
        let mut inverse = DMatrix::<f64>::identity(rows, rows);
        for k in 0..rows {
            factor.forward(inverse.column_mut(k).as_mut_slice());
        }
        let mut transpose = DMatrix::<f64>::identity(rows, rows);
        for k in 0..rows {
            factor.backward(transpose.column_mut(k).as_mut_slice());
        }
        prop_assert!((&transpose - inverse.transpose()).amax() <= AGREEMENT);
        let pattern = matrix.pattern();
        for a in 0..pattern.nodes() {
            for b in (0..pattern.nodes()).filter(|&b| factor.symbolic().position(b) > factor.symbolic().position(a)) {
                let above = inverse.view((pattern.start(a), pattern.start(b)), (pattern.size(a), pattern.size(b)));
                prop_assert!(above.iter().all(|&value| value == 0.0));
            }
        }
        let pivots: Vec<f64> = (0..pattern.nodes()).flat_map(|node| (0..pattern.size(node)).map(move |row| (node, row)))
            .map(|(node, row)| factor.pivot(node, row)).collect();
        prop_assert!(pivots.iter().all(|&pivot| pivot > 0.0));
        let reduced = &inverse * matrix.to_dense() * inverse.transpose();
        let diagonal = DMatrix::from_diagonal(&DVector::from_vec(pivots));
        prop_assert!((reduced - diagonal).amax() <= AGREEMENT * (1.0 + matrix.max_abs()));
    }

    #[test]
    fn sparse_right_side_gives_what_a_dense_one_gives(rig in rigs(14, LARGEST_JOINT), first in 0..14_usize, second in 0..14_usize) {
        let matrix = rig.matrix();
        let pattern = Arc::clone(matrix.pattern());
        let nodes = [first % pattern.nodes(), second % pattern.nodes()];
        let factor = factored(&matrix, Order::MinimumDegree);
        let numbers = rig.right_side(pattern.rows());
        let mut dense = vec![0.0; pattern.rows()];
        for node in nodes {
            let rows = pattern.start(node)..pattern.start(node) + pattern.size(node);
            dense[rows.clone()].copy_from_slice(&numbers[rows]);
        }
        let (mut sparse, b, mut reach) = (dense.clone(), dense.clone(), Reach::default());
        factor.forward(&mut dense);
        factor.forward_sparse(&nodes, &mut sparse, &mut reach);
        prop_assert_eq!(&sparse, &dense);

        // The reach is the union of the paths to the roots, in order, and nothing else.
        let up = |node: &usize| factor.symbolic().parent(*node);
        let mut path: Vec<usize> = nodes.iter().flat_map(|&node| std::iter::successors(Some(node), up)).collect();
        path.sort_by_key(|&node| factor.symbolic().position(node));
        path.dedup();
        prop_assert_eq!(reach.nodes(factor.symbolic()).collect::<Vec<_>>(), path.clone());
        prop_assert_eq!((reach.len(), reach.is_empty()), (path.len(), false));

        // b' A^-1 b from the half solve alone.
        let mut x = b.clone();
        factor.solve(&mut x);
        let energy: f64 = b.iter().zip(&x).map(|(b, x)| b * x).sum();
        prop_assert!((factor.weighted_dot(&reach, &sparse, &sparse) - energy).abs() <= AGREEMENT);
        factor.clear_sparse(&reach, &mut sparse);
        prop_assert!(sparse.iter().all(|&value| value == 0.0));
    }

    #[test]
    fn whole_blocks_give_what_scalar_columns_give(rig in rigs(12, LARGEST_JOINT), copied in prop::collection::vec(0..8_usize, 0..4)) {
        let singular = redundancy(&Rig { sizes: rig.sizes.iter().take(8).copied().collect(), ..rig.clone() }, &copied);
        for matrix in [rig.matrix(), singular.matrix] {
            for order in [Order::TwoEnded, Order::Natural] {
                let symbolic = analysed(matrix.pattern(), order);
                let mut whole = BlockFactor::new(Arc::clone(&symbolic)).expect("nodes as wide as joints");
                let mut columns = Factor::new(symbolic);
                let pivots = Pivots::Regularise { relative: DROP_REDUNDANT };
                whole.factor(&matrix, pivots).expect("finite numbers");
                columns.factor(&matrix, pivots).expect("finite numbers");
                prop_assert_eq!(whole.redundant(), columns.redundant());
                let (mut x, mut y) = (rig.right_side(matrix.pattern().rows()), rig.right_side(matrix.pattern().rows()));
                whole.solve(&mut x);
                columns.solve(&mut y);
                let scale = y.iter().fold(1.0_f64, |most, value| most.max(value.abs()));
                prop_assert!(worst(&x, &y) <= AGREEMENT * scale, "{x:?} is not {y:?}");
                // Several at once: the same with a factor each, and one of nothing.
                let b = rig.right_side(matrix.pattern().rows());
                let mut lanes: Vec<[f64; LANES]> = b.iter().map(|b| std::array::from_fn(|lane| lane as f64 * b)).collect();
                whole.solve_lanes(&mut lanes);
                for lane in 0..LANES {
                    let one: Vec<f64> = lanes.iter().map(|x| x[lane]).collect();
                    let wanted: Vec<f64> = y.iter().map(|y| lane as f64 * y).collect();
                    prop_assert!(worst(&one, &wanted) <= AGREEMENT * scale * LANES as f64, "{one:?} is not {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn redundant_rows_are_named_and_the_rest_is_solved(rig in rigs(8, 2), copied in prop::collection::vec(0..8_usize, 0..4)) {
        let Redundancy { matrix, copies } = redundancy(&rig, &copied);
        let pattern = Arc::clone(matrix.pattern());
        let z = rig.right_side(pattern.rows());
        let mut b = vec![0.0; pattern.rows()];
        matrix.multiply(&z, &mut b);
        let scale = matrix.max_abs();
        let count: usize = copies.iter().map(|&copy| pattern.size(copy)).sum();
        for order in [Order::Natural, Order::MinimumDegree, Order::MinimumDegreeLast(&copies)] {
            for relative in [DROP_REDUNDANT, 1e-6] {
                let mut factor = Factor::new(analysed(&pattern, order));
                let strict = factor.factor(&matrix, Pivots::Strict);
                prop_assert_eq!(strict.is_err(), count > 0);
                let zero_pivot = matches!(strict, Err(LdlError::ZeroPivot { .. }));
                prop_assert!(count == 0 || zero_pivot);
                factor.factor(&matrix, Pivots::Regularise { relative }).expect("finite");
                prop_assert_eq!(factor.redundant().len(), count);
                if order != Order::MinimumDegree {
                    // The originals come first, so exactly the copies are redundant.
                    let mut named = factor.redundant().to_vec();
                    named.sort_by_key(|row| (row.node, row.row));
                    let rows_of = |&node: &usize| (0..pattern.size(node)).map(move |row| Redundant { node, row });
                    let wanted: Vec<_> = copies.iter().flat_map(rows_of).collect();
                    prop_assert_eq!(named, wanted);
                }
                let mut x = b.clone();
                factor.solve(&mut x);
                let mut residual = vec![0.0; x.len()];
                prop_assert!(matrix.residual(&b, &x, &mut residual) <= AGREEMENT * scale, "{:?}", residual);
                if relative == DROP_REDUNDANT {
                    prop_assert!(factor.redundant().iter().all(|row| x[pattern.start(row.node) + row.row].abs() <= AGREEMENT * scale));
                }
            }
        }
    }

    #[test]
    fn order_is_a_permutation_with_its_inverse(rig in rigs(20, 3), last in prop::collection::vec(0..20_usize, 0..5)) {
        let pattern = rig.pattern();
        let nodes = pattern.nodes();
        let last: Vec<usize> = last.iter().map(|node| node % nodes).collect();
        let symbolic = analysed(&pattern, Order::MinimumDegreeLast(&last));
        prop_assert!((0..nodes).all(|node| symbolic.order()[symbolic.position(node)] == node));
        prop_assert!((0..nodes).all(|place| symbolic.position(symbolic.order()[place]) == place));
        let first_last = last.iter().map(|&node| symbolic.position(node)).min().unwrap_or(nodes);
        prop_assert!((0..first_last).all(|place| !last.contains(&symbolic.order()[place])));
        prop_assert!((first_last..nodes).all(|place| last.contains(&symbolic.order()[place])));
        prop_assert!((0..nodes).all(|node| symbolic.parent(node).is_none_or(|parent| symbolic.position(parent) > symbolic.position(node))));
        // The same order, given, is the same analysis.
        let given = analysed(&pattern, Order::Given(symbolic.order()));
        prop_assert_eq!((given.fill(), given.factor_operations()), (symbolic.fill(), symbolic.factor_operations()));
    }

    #[test]
    fn trees_of_bodies_have_no_fill(seeds in prop::collection::vec(0..1000_usize, 1..40), last in 0..40_usize) {
        let parents: Vec<usize> = seeds.iter().enumerate().map(|(k, seed)| seed % (k + 1)).collect();
        let pattern = Arc::new(Pattern::new(&vec![2; parents.len()], &joints_of_tree(&parents)).expect("a tree"));
        prop_assert_eq!(analysed(&pattern, Order::MinimumDegree).fill(), 0);
        // Any single joint can close the order without harm: a clique tree can be rooted anywhere.
        prop_assert_eq!(analysed(&pattern, Order::MinimumDegreeLast(&[last % parents.len()])).fill(), 0);
    }

    #[test]
    fn refactoring_leaves_no_trace(rig in rigs(10, LARGEST_JOINT)) {
        let matrix = rig.matrix();
        let b = rig.right_side(matrix.pattern().rows());
        let mut factor = factored(&matrix, Order::MinimumDegree);
        let mut first = b.clone();
        factor.solve(&mut first);
        let mut other = matrix.clone();
        other.clear();
        factor.factor(&other, Pivots::Regularise { relative: DROP_REDUNDANT }).expect("zero is finite");
        prop_assert_eq!(factor.redundant().len(), b.len());
        factor.factor(&matrix, Pivots::Strict).expect("a positive definite matrix");
        let mut second = b;
        factor.solve(&mut second);
        prop_assert!(first.iter().zip(&second).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

#[test]
fn a_thin_chain_between_hubs_has_no_fill() {
    // Ten bodies on each end of a chain of ten: least degree alone would begin in the middle and fill.
    let mut parents = vec![0; 10];
    parents.extend(10..20);
    parents.extend([20; 10]);
    let pattern = Arc::new(Pattern::new(&[3; 30], &joints_of_tree(&parents)).expect("a tree"));
    assert_eq!(analysed(&pattern, Order::MinimumDegree).fill(), 0);
    assert!(analysed(&pattern, Order::Given(&(0..30).map(|k| (k + 15) % 30).collect::<Vec<_>>())).fill() > 0);
}

#[test]
fn cost_is_linear_along_chains_and_trees() {
    let binary = |joints: usize| joints_of_tree(&(0..joints).map(|k| k / 2).collect::<Vec<_>>());
    for n in [50, 200] {
        for (short, long) in [
            (chain(n, 5).pattern(), chain(2 * n, 5).pattern()),
            (
                Arc::new(Pattern::new(&vec![5; n], &binary(n)).expect("a tree")),
                Arc::new(Pattern::new(&vec![5; 2 * n], &binary(2 * n)).expect("a tree")),
            ),
        ] {
            let (short, long) = (analysed(&short, Order::MinimumDegree), analysed(&long, Order::MinimumDegree));
            assert_eq!((short.fill(), long.fill()), (0, 0));
            assert!((long.factor_operations() as f64) < LINEAR_RATIO * short.factor_operations() as f64);
            assert!((long.solve_operations() as f64) < LINEAR_RATIO * short.solve_operations() as f64);
        }
    }
}

#[test]
fn operation_count_of_one_dense_block_is_that_of_its_loops() {
    let one = Arc::new(Pattern::new(&[4], &[]).expect("one node"));
    // 0 + 1 + 3 + 6 multiply-adds for rows 0..4; a solve reads both triangles and the diagonal.
    assert_eq!(analysed(&one, Order::Natural).factor_operations(), 10);
    assert_eq!(analysed(&one, Order::Natural).solve_operations(), 16);
}

#[test]
fn a_ring_closed_last_fills_one_block_a_joint() {
    const JOINTS: usize = 12;
    let mut ring = chain(JOINTS, 2);
    ring.edges.push((JOINTS - 1, 0));
    let matrix = ring.matrix();
    let symbolic = analysed(matrix.pattern(), Order::MinimumDegreeLast(&[JOINTS - 1]));
    assert_eq!(symbolic.order().last(), Some(&(JOINTS - 1)));
    // A cycle of n nodes needs n - 3 chords, whatever the order.
    assert_eq!(symbolic.fill(), JOINTS - 3);
    assert_eq!(analysed(matrix.pattern(), Order::MinimumDegree).fill(), JOINTS - 3);
}

#[test]
fn a_split_body_has_the_bandwidth_of_its_order_and_no_fill() {
    // Parts of 16, 10, 10, 10, 16 rows (nodes 0..5) joined by welds of six (nodes 5..9), theory (9.15).
    let mut edges = Vec::new();
    for weld in 0..4 {
        edges.extend([(weld, 5 + weld), (weld + 1, 5 + weld)]);
        if weld > 0 {
            edges.push((4 + weld, 5 + weld));
        }
    }
    let pattern = Arc::new(Pattern::new(&[16, 10, 10, 10, 16, 6, 6, 6, 6], &edges).expect("parts and welds"));
    let interleaved = analysed(&pattern, Order::Given(&[0, 5, 1, 6, 2, 7, 3, 8, 4]));
    let parts_ahead = analysed(&pattern, Order::Given(&[0, 1, 5, 2, 6, 3, 7, 4, 8]));
    assert_eq!((interleaved.bandwidth(), interleaved.fill()), (21, 0));
    assert_eq!((parts_ahead.bandwidth(), parts_ahead.fill()), (37, 0));
}

#[test]
fn refinement_recovers_from_a_factor_of_a_nearby_matrix() {
    let matrix = chain(20, 3).matrix();
    let pattern = Arc::clone(matrix.pattern());
    let mut nearby = matrix.clone();
    for node in 0..pattern.nodes() {
        nearby.add_diagonal(node, 1, 1e-3).expect("three rows a node");
    }
    let factor = factored(&nearby, Order::MinimumDegree);
    let b = spread(pattern.rows());
    let exact = matrix.to_dense().cholesky().expect("a dominant diagonal").solve(&DVector::from_column_slice(&b));
    let mut x = b.clone();
    factor.solve(&mut x);
    let before = worst(&x, exact.as_slice());
    let refined = factor.refine(&matrix, &b, &mut x, &mut RefineWork::default());
    let after = worst(&x, exact.as_slice());
    assert!(before > 1e-6, "the factor must be off: {before}");
    assert!(after < 1e-15 + 1e-9 * before, "{before} -> {after}");
    assert!(refined.rounds > 1 && refined.residual < 1e-14);
    // An x that nothing can improve is left alone.
    let mut hopeless = vec![f64::NAN; b.len()];
    let refined = factor.refine(&matrix, &b, &mut hopeless, &mut RefineWork::default());
    assert_eq!(refined.residual, f64::INFINITY);
}
