//! Sparse LU of an unsymmetric block matrix near a symmetric positive one, with whole blocks for pivots, theory (9.21).
//!
//! What [`crate::block_ldl`] is to the steps of a mechanism this is to their derivatives: the matrix is written where its factor will stand, no pivot
//! is searched for, and A and A' are solved by products of small squares. Nothing here allocates after construction.

use crate::block_ldl::{Run, WIDEST, by_width, dot, find_links, find_runs, read, settled, through, times};
use crate::lu::PLAIN;
use crate::symbolic::Symbolic;
use std::sync::Arc;

/// The numeric factor over a [`Symbolic`] whose nodes have at most [`WIDEST`] rows; zero until the first success and after a failure.
#[derive(Clone, Debug)]
pub struct BlockLu {
    symbolic: Arc<Symbolic>,
    /// Columns in order of elimination: A_kk^-1 of what is left at the pivot, then the panel A_ik A_kk^-1.
    lower: Vec<f64>,
    /// In the same layout the panel A_ki', as it was when its column came; nothing in place of the pivots.
    upper: Vec<f64>,
    /// The least pivot that is sound, by scalar row.
    least: Vec<f64>,
    /// The same as a part of the diagonal before elimination.
    part: f64,
    linked: Vec<bool>,
    /// Branches of the elimination tree that hang on nothing, two and two of one size, and all other columns in order.
    pairs: Vec<[Run; 2]>,
    others: Vec<Run>,
}

impl BlockLu {
    /// Room for a factor; `None` where a node has more rows than [`WIDEST`].
    pub fn new(symbolic: Arc<Symbolic>) -> Option<Self> {
        if symbolic.columns.iter().any(|column| column.size > WIDEST) {
            return None;
        }
        let linked = find_links(&symbolic);
        let (pairs, others) = find_runs(&symbolic, &linked);
        Some(BlockLu {
            lower: vec![0.0; symbolic.values],
            upper: vec![0.0; symbolic.values],
            least: vec![0.0; symbolic.pattern.rows()],
            part: PLAIN,
            linked,
            pairs,
            others,
            symbolic,
        })
    }
    /// Takes pivots down to this part of their diagonal entries for sound, in place of [`PLAIN`]: for rows whose diagonal is known to be too large.
    pub fn with_least_pivot(self, part: f64) -> Self {
        BlockLu { part, ..self }
    }
    /// The analysis behind it.
    pub fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }

    /// Factors a matrix that `write` puts, block by block, where [`Symbolic::place`] says, into numbers that are zero before: diagonal blocks and those of
    /// rows eliminated later into the first list, the transposes of the blocks opposite to these into the second. `false` where a pivot is not sound:
    /// below [`PLAIN`] of its diagonal entry, or another part; then every solution is zero.
    pub fn factor_with(&mut self, write: impl FnOnce(&mut [f64], &mut [f64])) -> bool {
        self.lower.fill(0.0);
        self.upper.fill(0.0);
        write(&mut self.lower, &mut self.upper);
        let symbolic = Arc::clone(&self.symbolic);
        for column in &symbolic.columns {
            for r in 0..column.size {
                self.least[column.start + r] = self.part * self.lower[column.pivot_at + r * (column.size + 1)];
            }
        }
        let (pairs, others) = (std::mem::take(&mut self.pairs), std::mem::take(&mut self.others));
        let mut eliminate = |place: usize| by_width!(symbolic.columns[place].size, true, self.eliminate(&symbolic, place));
        // Neither of a pair waits for the other.
        let sound = pairs.iter().all(|[a, b]| {
            (0..=(a.last - a.first).max(b.last - b.first))
                .all(|k| [a, b].into_iter().filter(|run| run.first + k <= run.last).all(|run| eliminate(run.first + k)))
        }) && others.iter().all(|run| (run.first..=run.last).all(&mut eliminate));
        (self.pairs, self.others) = (pairs, others);
        if !sound {
            self.lower.fill(0.0);
            self.upper.fill(0.0);
        }
        sound
    }

    /// Inverts one pivot, takes the panel below through it, and their product with the panel beside it from the columns after it.
    #[inline]
    fn eliminate<const N: usize>(&mut self, symbolic: &Symbolic, place: usize) -> bool {
        let column = &symbolic.columns[place];
        let (head, later_lower) = self.lower.split_at_mut(column.panel_end);
        let (own, panel) = head[column.pivot_at..].split_at_mut(N * N);
        let (panel, _) = panel.as_chunks_mut::<N>();
        let (head, later_upper) = self.upper.split_at_mut(column.panel_end);
        let (beside, _) = head[column.panel_at..].as_chunks::<N>();
        let Some(own) = own.as_chunks_mut::<N>().0.first_chunk_mut::<N>() else { return true };
        let Some((inverse, sound)) = self.least[column.start..].first_chunk::<N>().map(|least| inverted(own, least)) else {
            return false;
        };
        if !sound {
            return false;
        }
        *own = inverse;
        for row in panel.iter_mut() {
            *row = times(row, &inverse);
        }
        if self.linked[place] {
            // Both panels are squares, and the next pivot is right behind.
            let next = later_lower[..N * N].as_chunks_mut::<N>().0;
            if let (Some(panel), Some(beside)) = (panel.first_chunk::<N>(), beside.first_chunk::<N>()) {
                let across = transposed(beside);
                for (out, row) in next.iter_mut().zip(panel) {
                    let product = times(row, &across);
                    for c in 0..N {
                        out[c] -= product[c];
                    }
                }
            }
            return true;
        }
        let below = symbolic.below(column);
        for (k, block) in below.iter().enumerate() {
            let target = &symbolic.columns[block.position];
            let width = block.size;
            let (own_l, own_u) = (&panel[block.panel_row..][..width], &beside[block.panel_row..][..width]);
            // struct(k) beyond j is part of struct(j): both rise, so one walk finds every target.
            let mut candidates = symbolic.below(target).iter();
            for (m, row) in below[k..].iter().enumerate() {
                let at = if m == 0 {
                    target.pivot_at
                } else {
                    let Some(found) = candidates.find(|candidate| candidate.position == row.position) else { break };
                    target.panel_at + found.panel_row * width
                };
                let to = at - column.panel_end..at - column.panel_end + row.size * width;
                take(&mut later_lower[to.clone()], &panel[row.panel_row..][..row.size], own_u);
                if m > 0 {
                    take(&mut later_upper[to], &beside[row.panel_row..][..row.size], own_l);
                }
            }
        }
        true
    }

    /// x := A^-1 x; panics where x has not one entry for each scalar row of the matrix.
    pub fn solve(&self, x: &mut [f64]) {
        self.solve_either::<false>(x);
    }
    /// x := A^-T x, from the same factor.
    pub fn solve_transpose(&self, x: &mut [f64]) {
        self.solve_either::<true>(x);
    }

    fn solve_either<const TRANSPOSED: bool>(&self, x: &mut [f64]) {
        assert_eq!(x.len(), self.symbolic.pattern.rows(), "a vector has one entry for each scalar row of the matrix");
        let half = Half::<TRANSPOSED>(self);
        let forward = |place: usize, x: &mut [f64]| by_width!(self.symbolic.columns[place].size, (), half.forward(place, x));
        let backward = |place: usize, x: &mut [f64]| by_width!(self.symbolic.columns[place].size, (), half.backward(place, x));
        let longer = |[a, b]: &[Run; 2]| (a.last - a.first).max(b.last - b.first);
        let both =
            |[a, b]: &[Run; 2], k: usize| [(a.first + k <= a.last).then_some(a.first + k), (b.first + k <= b.last).then_some(b.first + k)];
        for pair in &self.pairs {
            for k in 0..=longer(pair) {
                both(pair, k).into_iter().flatten().for_each(|place| forward(place, x));
            }
        }
        for run in &self.others {
            (run.first..=run.last).for_each(|place| forward(place, x));
        }
        for run in self.others.iter().rev() {
            (run.first..=run.last).rev().for_each(|place| backward(place, x));
        }
        for pair in self.pairs.iter().rev() {
            for k in (0..=longer(pair)).rev() {
                both(pair, k).into_iter().flatten().for_each(|place| backward(place, x));
            }
        }
    }
}

/// The two halves of a solve with A, or with A'.
struct Half<'a, const TRANSPOSED: bool>(&'a BlockLu);

impl<const TRANSPOSED: bool> Half<'_, TRANSPOSED> {
    /// A: x_i -= A_ik A_kk^-1 x_k. A': x_k := A_kk^-T x_k, x_i -= A_ki' x_k.
    #[inline]
    fn forward<const N: usize>(&self, place: usize, x: &mut [f64]) {
        let column = &self.0.symbolic.columns[place];
        let values = if TRANSPOSED { &self.0.upper } else { &self.0.lower };
        let (panel, _) = values[column.panel_at..column.panel_end].as_chunks::<N>();
        let mut own = read::<N>(x, column.start);
        if TRANSPOSED {
            let (pivot, _) = self.0.lower[column.pivot_at..][..N * N].as_chunks::<N>();
            own = settled(through(pivot, &own));
            x[column.start..][..N].copy_from_slice(&own);
        }
        for block in self.0.symbolic.below(column) {
            for (x, row) in x[block.start..][..block.size].iter_mut().zip(&panel[block.panel_row..][..block.size]) {
                *x -= dot(row, &own);
            }
        }
    }
    /// A: x_k := A_kk^-1 (x_k - A_ki x_i). A': x_k -= (A_ik A_kk^-1)' x_i.
    #[inline]
    fn backward<const N: usize>(&self, place: usize, x: &mut [f64]) {
        let column = &self.0.symbolic.columns[place];
        let values = if TRANSPOSED { &self.0.lower } else { &self.0.upper };
        let (panel, _) = values[column.panel_at..column.panel_end].as_chunks::<N>();
        let mut sums = [read::<N>(x, column.start), [0.0; N]];
        for block in self.0.symbolic.below(column) {
            for (r, row) in panel[block.panel_row..][..block.size].iter().enumerate() {
                let value = x[block.start + r];
                for c in 0..N {
                    sums[r % 2][c] -= row[c] * value;
                }
            }
        }
        let mut own = [0.0; N];
        for c in 0..N {
            own[c] = sums[0][c] + sums[1][c];
        }
        if !TRANSPOSED {
            let (pivot, _) = self.0.lower[column.pivot_at..][..N * N].as_chunks::<N>();
            let right = own;
            for (own, row) in own.iter_mut().zip(pivot) {
                *own = dot(row, &right);
            }
        }
        x[column.start..][..N].copy_from_slice(&settled(own));
    }
}

/// The inverse of a square by Gauss and Jordan without exchanges, theory (9.21), and whether every pivot was sound.
#[inline(always)]
fn inverted<const N: usize>(square: &[[f64; N]; N], least: &[f64; N]) -> ([[f64; N]; N], bool) {
    const { assert!(N <= WIDEST && WIDEST == 6) };
    let mut m = *square;
    // One by one, so that the square stays in registers.
    let mut sound = reduce::<N, 0>(&mut m, least);
    sound &= reduce::<N, 1>(&mut m, least);
    sound &= reduce::<N, 2>(&mut m, least);
    sound &= reduce::<N, 3>(&mut m, least);
    sound &= reduce::<N, 4>(&mut m, least);
    sound &= reduce::<N, 5>(&mut m, least);
    (m, sound)
}

/// Exchanges unknown K for right-hand side K in place; returns whether its pivot was sound.
#[inline(always)]
fn reduce<const N: usize, const K: usize>(m: &mut [[f64; N]; N], least: &[f64; N]) -> bool {
    if K >= N {
        return true;
    }
    let value = m[K][K];
    let divided = 1.0 / value;
    m[K][K] = 1.0;
    for c in 0..N {
        m[K][c] *= divided;
    }
    let line = m[K];
    for r in 0..N {
        if r != K {
            let factor = m[r][K];
            m[r][K] = 0.0;
            for c in 0..N {
                m[r][c] -= factor * line[c];
            }
        }
    }
    value > 0.0 && value >= least[K] && value < f64::INFINITY
}

#[inline(always)]
fn transposed<const N: usize>(square: &[[f64; N]; N]) -> [[f64; N]; N] {
    let mut out = [[0.0; N]; N];
    for r in 0..N {
        for c in 0..N {
            out[c][r] = square[r][c];
        }
    }
    out
}

/// target -= rows columns', by rows.
#[inline(always)]
fn take<const N: usize>(target: &mut [f64], rows: &[[f64; N]], columns: &[[f64; N]]) {
    // Nodes of bodies, which meet many columns.
    match columns.len() {
        3 => return take_wide::<N, 3>(target, rows, columns),
        6 => return take_wide::<N, 6>(target, rows, columns),
        _ => {}
    }
    for (out, row) in target.chunks_exact_mut(columns.len().max(1)).zip(rows) {
        for (value, column) in out.iter_mut().zip(columns) {
            *value -= dot(row, column);
        }
    }
}

/// The same for a number of columns known beforehand.
#[inline]
fn take_wide<const N: usize, const W: usize>(target: &mut [f64], rows: &[[f64; N]], columns: &[[f64; N]]) {
    let Some(columns) = columns.first_chunk::<W>() else { return };
    for (out, row) in target.as_chunks_mut::<W>().0.iter_mut().zip(rows) {
        for c in 0..W {
            out[c] -= dot(row, &columns[c]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_sparse::Pattern;
    use crate::symbolic::Order;
    use nalgebra::{DMatrix, DVector};

    /// Numbers in [-1, 1), always the same.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    /// A matrix with a strong diagonal over a graph.
    fn sample(pattern: &Pattern, edges: &[(usize, usize)], numbers: &mut Numbers) -> DMatrix<f64> {
        let n = pattern.rows();
        let mut matrix = DMatrix::from_diagonal_element(n, n, 8.0);
        let mut fill = |i: usize, j: usize| {
            for r in 0..pattern.size(i) {
                for c in 0..pattern.size(j) {
                    matrix[(pattern.start(i) + r, pattern.start(j) + c)] += numbers.next();
                }
            }
        };
        (0..pattern.nodes()).for_each(|i| fill(i, i));
        edges.iter().for_each(|&(i, j)| {
            fill(i, j);
            fill(j, i);
        });
        matrix
    }

    fn factored(symbolic: &Arc<Symbolic>, matrix: &DMatrix<f64>, edges: &[(usize, usize)]) -> (BlockLu, bool) {
        let pattern = symbolic.pattern().clone();
        let mut factor = BlockLu::new(Arc::clone(symbolic)).expect("narrow nodes");
        let sound = factor.factor_with(|lower, upper| {
            for (i, j) in edges.iter().copied().chain((0..pattern.nodes()).map(|i| (i, i))) {
                let place = symbolic.place(i, j).expect("coupled");
                let (late, early) = if place.transposed { (j, i) } else { (i, j) };
                for r in 0..place.rows {
                    for c in 0..place.columns {
                        let (row, column) = (pattern.start(late) + r, pattern.start(early) + c);
                        lower[place.at + r * place.columns + c] = matrix[(row, column)];
                        if i != j {
                            upper[place.at + r * place.columns + c] = matrix[(column, row)];
                        }
                    }
                }
            }
        });
        (factor, sound)
    }

    #[test]
    fn both_solves_agree_with_the_dense_ones_on_chains_trees_and_loops() {
        let mut numbers = Numbers(3);
        let chain: Vec<(usize, usize)> = (0..8).map(|i| (i, i + 1)).collect();
        let tree = vec![(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5), (5, 6)];
        let ring: Vec<(usize, usize)> = (0..6).map(|i| (i.min((i + 1) % 6), i.max((i + 1) % 6))).collect();
        let cases =
            [(vec![5; 9], chain.clone()), (vec![2, 3, 5, 6, 1, 5, 5, 5, 4], chain), (vec![5, 3, 5, 2, 6, 5, 5], tree), (vec![3; 6], ring)];
        for (sizes, edges) in cases {
            for order in [Order::MinimumDegree, Order::TwoEnded] {
                let pattern = Arc::new(Pattern::new(&sizes, &edges).expect("a graph"));
                let symbolic = Arc::new(Symbolic::analyse(&pattern, order).expect("an order"));
                let matrix = sample(&pattern, &edges, &mut numbers);
                let (factor, sound) = factored(&symbolic, &matrix, &edges);
                assert!(sound);
                let right = DVector::from_fn(pattern.rows(), |_, _| numbers.next());
                for transposed in [false, true] {
                    let whole = if transposed { matrix.transpose() } else { matrix.clone() };
                    let wanted = whole.lu().solve(&right).expect("regular");
                    let mut x = right.as_slice().to_vec();
                    if transposed {
                        factor.solve_transpose(&mut x)
                    } else {
                        factor.solve(&mut x)
                    }
                    for (a, b) in x.iter().zip(wanted.iter()) {
                        assert!((a - b).abs() < 1e-13, "{a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_that_repeats_another_is_refused() {
        let pattern = Arc::new(Pattern::new(&[2, 2], &[(0, 1)]).expect("a graph"));
        let symbolic = Arc::new(Symbolic::analyse(&pattern, Order::MinimumDegree).expect("an order"));
        let mut matrix = sample(&pattern, &[(0, 1)], &mut Numbers(5));
        for k in 0..4 {
            matrix[(3, k)] = matrix[(2, k)];
        }
        let (factor, sound) = factored(&symbolic, &matrix, &[(0, 1)]);
        assert!(!sound);
        let mut x = [1.0; 4];
        factor.solve(&mut x);
        assert_eq!(x, [0.0; 4]);
    }

    #[test]
    fn small_pivots_are_sound_where_their_diagonal_is_known_to_be_too_large() {
        let pattern = Arc::new(Pattern::new(&[1, 1], &[(0, 1)]).expect("a graph"));
        let symbolic = Arc::new(Symbolic::analyse(&pattern, Order::Natural).expect("an order"));
        // The second pivot is 1e-5 of its diagonal entry.
        let write = |lower: &mut [f64], upper: &mut [f64]| {
            let at = |row: usize, column: usize| symbolic.place(row, column).expect("coupled").at;
            (lower[at(0, 0)], lower[at(1, 1)]) = (1.0, 1.0 + 1e-5);
            (lower[at(1, 0)], upper[at(1, 0)]) = (1.0, 1.0);
        };
        let room = || BlockLu::new(Arc::clone(&symbolic)).expect("narrow nodes");
        assert!(!room().factor_with(write));
        let mut factor = room().with_least_pivot(0.05 * PLAIN);
        assert!(factor.factor_with(write));
        let mut x = [2.0, 2.0 + 1e-5];
        factor.solve(&mut x);
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-10), "{x:?}");
    }
}
