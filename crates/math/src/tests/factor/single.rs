//! Single matrices: what is refused, what is redundant, and which order they get.

use super::*;

#[test]
fn a_value_that_is_not_finite_stops_the_factor_and_does_not_travel() {
    for bad in [f64::NAN, f64::INFINITY] {
        for (row, column) in [(0, 0), (1, 1), (2, 1), (2, 2)] {
            let mut matrix = chain(3, 2).matrix();
            matrix
                .add_with(row, column, |r, c| if (r, c) == (1, 0) || (r, c) == (0, 1) { bad } else { 0.0 })
                .expect("a block of the chain");
            let mut factor = Factor::new(analysed(matrix.pattern(), Order::MinimumDegree));
            for pivots in [Pivots::Strict, Pivots::Regularise { relative: DROP_REDUNDANT }] {
                assert!(matches!(factor.factor(&matrix, pivots), Err(LdlError::NotFinite { .. })), "{bad} at ({row}, {column})");
                let mut x = spread(6);
                factor.solve(&mut x);
                assert_eq!(x, spread(6), "after a failure the factor is the identity");
            }
        }
    }
}

#[test]
fn whole_blocks_along_a_chain_solve_it_and_refuse_what_is_not_finite() {
    let path = analysed(&chain(7, 2).pattern(), Order::TwoEnded);
    assert_eq!((path.order(), path.fill()), (&[0, 1, 2, 6, 5, 4, 3][..], 0));
    for (size, nodes) in (1..=LARGEST_JOINT).flat_map(|size| [(size, 1), (size, 2), (size, 40), (size, 41)]) {
        let matrix = chain(nodes, size).matrix();
        let mut factor = BlockFactor::new(analysed(matrix.pattern(), Order::TwoEnded)).expect("nodes as wide as joints");
        let b = spread(matrix.pattern().rows());
        let mut x = b.clone();
        factor.factor(&matrix, Pivots::Strict).expect("a positive definite matrix");
        factor.solve(&mut x);
        let mut residual = vec![0.0; b.len()];
        assert!(matrix.residual(&b, &x, &mut residual) <= AGREEMENT);
        let mut broken = matrix.clone();
        broken.add_diagonal(nodes / 3, 0, f64::NAN).expect("a node has its rows");
        assert!(matches!(factor.factor(&broken, Pivots::Strict), Err(LdlError::NotFinite { .. })));
    }
    assert!(BlockFactor::new(analysed(&chain(3, LARGEST_JOINT + 1).pattern(), Order::Natural)).is_none());
}

#[test]
fn a_zero_row_is_redundant_whatever_the_regularisation() {
    // Joint 1 holds two fixed bodies together: its rows are zero.
    let mut matrix = BlockSparse::new(Arc::new(Pattern::new(&[1, 2], &[]).expect("two nodes")));
    matrix.add_diagonal(0, 0, 4.0).expect("node 0");
    let mut factor = Factor::new(analysed(matrix.pattern(), Order::Natural));
    assert_eq!(factor.factor(&matrix, Pivots::Strict), Err(LdlError::ZeroPivot { node: 1, row: 0, value: 0.0 }));
    for relative in [DROP_REDUNDANT, 0.0, -1.0, f64::NAN] {
        factor.factor(&matrix, Pivots::Regularise { relative }).expect("finite");
        assert_eq!(factor.redundant(), [Redundant { node: 1, row: 0 }, Redundant { node: 1, row: 1 }]);
        let mut x = [8.0, 0.0, 0.0];
        factor.solve(&mut x);
        assert_eq!(x, [2.0, 0.0, 0.0]);
    }
}

#[test]
fn contradicting_rows_leave_their_contradiction_as_the_residual() {
    // One row given twice, asked for 2 and for 3: the first is obeyed, the second misses by 1, and no multiplier runs away.
    let mut matrix = BlockSparse::new(Arc::new(Pattern::new(&[1, 1, 1], &[(0, 1), (1, 2)]).expect("three nodes")));
    matrix.add_block(0, 0, &[4.0]).expect("the row");
    matrix.add_block(1, 0, &[4.0]).expect("the row with its copy");
    matrix.add_block(1, 1, &[4.0]).expect("the copy");
    matrix.add_block(2, 2, &[5.0]).expect("another row");
    let mut factor = Factor::new(analysed(matrix.pattern(), Order::Natural));
    factor.factor(&matrix, Pivots::Regularise { relative: DROP_REDUNDANT }).expect("finite");
    assert_eq!(factor.redundant(), [Redundant { node: 1, row: 0 }]);
    let b = [2.0, 3.0, 10.0];
    let mut x = b;
    factor.solve(&mut x);
    let mut residual = [0.0; 3];
    assert_eq!(matrix.residual(&b, &x, &mut residual), 1.0);
    assert_eq!(residual, [0.0, 1.0, 0.0]);
    assert!(x.iter().all(|value| value.abs() <= 2.0));
}

#[test]
fn a_quasi_definite_matrix_factors_with_pivots_of_both_signs() {
    // [M J'; J -c]: positive above, negative below.
    let mut matrix = BlockSparse::new(Arc::new(Pattern::new(&[2, 1], &[(0, 1)]).expect("two nodes")));
    matrix.add_block(0, 0, &[2.0, 0.0, 0.0, 3.0]).expect("the mass");
    matrix.add_block(1, 0, &[1.0, -1.0]).expect("the row");
    matrix.add_diagonal(1, 0, -0.5).expect("the compliance");
    let b = [1.0, 2.0, 3.0];
    for order in [Order::Given(&[0, 1]), Order::Given(&[1, 0])] {
        let factor = factored(&matrix, order);
        assert!(factor.pivot(0, 0) > 0.0 && factor.pivot(1, 0) < 0.0);
        let mut x = b;
        factor.solve(&mut x);
        assert!(matrix.residual(&b, &x, &mut [0.0; 3]) < 1e-14);
    }
}

#[test]
fn blocks_are_symmetric_whichever_side_they_are_given_from() {
    let pattern = Arc::new(Pattern::new(&[2, 3], &[(1, 0), (0, 1), (1, 1)]).expect("two nodes"));
    assert_eq!(pattern.edges(), 1);
    let block = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut above = BlockSparse::new(Arc::clone(&pattern));
    above.add_block(0, 1, &block).expect("2 x 3");
    let mut below = BlockSparse::new(Arc::clone(&pattern));
    below.add_with(1, 0, |r, c| block[c * 3 + r]).expect("3 x 2");
    let mut placed = BlockSparse::new(Arc::clone(&pattern));
    placed.add_at(pattern.slot(0, 1).expect("an edge"), |r, c| block[r * 3 + c]);
    assert_eq!((&above, &above), (&below, &placed));
    assert_eq!((above.entry(0, 1, 1, 2), above.entry(1, 2, 0, 1), above.entry(0, 0, 0, 1)), (6.0, 6.0, 0.0));
    assert_eq!(above.to_dense(), above.to_dense().transpose());
    above.clear();
    assert_eq!(above.max_abs(), 0.0);
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!(Pattern::new(&[1, 1], &[(0, 2)]), Err(PatternError::NodeOutOfRange { node: 2, nodes: 2 }));
    let matrix = chain(3, 2).matrix();
    let mut changed = matrix.clone();
    assert_eq!(changed.add_block(0, 2, &[0.0; 4]), Err(PatternError::NoSuchBlock { row: 0, column: 2 }));
    assert_eq!(changed.add_block(0, 3, &[0.0; 4]), Err(PatternError::NodeOutOfRange { node: 3, nodes: 3 }));
    assert_eq!(changed.add_block(0, 1, &[0.0; 3]), Err(PatternError::WrongLength { found: 3, wanted: 4 }));
    assert!(changed.add_diagonal(0, 2, 1.0).is_err());
    assert_eq!(changed, matrix, "a refused block changes nothing");
    for order in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 0]] {
        assert!(matches!(Symbolic::analyse(matrix.pattern(), Order::Given(order)), Err(LdlError::BadOrder { nodes: 3, .. })));
    }
    assert!(Symbolic::analyse(matrix.pattern(), Order::MinimumDegreeLast(&[3])).is_err());
    let mut factor = Factor::new(analysed(&chain(4, 2).pattern(), Order::Natural));
    assert_eq!(factor.factor(&matrix, Pivots::Strict), Err(LdlError::PatternMismatch));
    let empty = BlockSparse::new(Arc::new(Pattern::new(&[], &[]).expect("nothing is a graph")));
    factored(&empty, Order::MinimumDegree).solve(&mut []);
}

#[test]
fn short_paths_of_chains_and_trees_grow_with_the_logarithm() {
    // A chain of 1000: cyclic reduction, depth about log2, at most two blocks in a column.
    let edges: Vec<_> = (1..1000).map(|k| (k - 1, k)).collect();
    let pattern = Arc::new(Pattern::new(&[2; 1000], &edges).unwrap());
    let symbolic = analysed(&pattern, Order::ShortPaths(&[]));
    assert!(symbolic.depth() <= 20, "{}", symbolic.depth());
    assert!(symbolic.fill() < 1000);
    assert_eq!(analysed(&pattern, Order::MinimumDegree).depth(), 1000);
    // The joints of a binary tree: cliques of three.
    let mut edges = Vec::new();
    for body in 0..500 {
        let joints = [body, 2 * body + 1, 2 * body + 2];
        edges.extend([(joints[0], joints[1]), (joints[0], joints[2]), (joints[1], joints[2])]);
    }
    let pattern = Arc::new(Pattern::new(&[3; 1001], &edges).unwrap());
    let symbolic = analysed(&pattern, Order::ShortPaths(&[]));
    assert!(symbolic.depth() <= 40 && symbolic.fill() < 1500, "{} {}", symbolic.depth(), symbolic.fill());
    let mut order = symbolic.order().to_vec();
    order.sort_unstable();
    assert_eq!(order, (0..1001).collect::<Vec<_>>());
}

#[test]
fn late_nodes_lose_ties_only() {
    // Two nodes that are one another's twin: the redundant one is the late one, whichever it is.
    for late in [0, 1] {
        let pattern = Arc::new(Pattern::new(&[1, 1], &[(0, 1)]).unwrap());
        let mut matrix = BlockSparse::new(Arc::clone(&pattern));
        for (a, b) in [(0, 0), (0, 1), (1, 1)] {
            matrix.add_block(a, b, &[1.0]).unwrap();
        }
        let mut factor = Factor::new(Arc::new(Symbolic::analyse(&pattern, Order::MinimumDegreeLate(&[late])).unwrap()));
        factor.factor(&matrix, Pivots::Regularise { relative: DROP_REDUNDANT }).unwrap();
        assert_eq!(factor.redundant().iter().map(|r| r.node).collect::<Vec<_>>(), [late]);
    }
    assert!(Symbolic::analyse(&Arc::new(Pattern::new(&[1], &[]).unwrap()), Order::ShortPaths(&[1])).is_err());
}
