//! An unsymmetric block matrix whose pattern is symmetric: blocks (i, j) and (j, i) exist together and hold numbers of their own.

use crate::block_sparse::{BlockSparse, Pattern, PatternError, Slot};
use nalgebra::DMatrix;
use std::sync::Arc;

/// A matrix over a [`Pattern`]; vectors that go with it hold node i's rows at `pattern.start(i)`.
///
/// The blocks above the diagonal are kept as the transposes of a second lower triangle, so that both halves have one layout.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockMatrix {
    /// Diagonal blocks whole, and the blocks below.
    lower: BlockSparse,
    /// The blocks above, transposed; its diagonal stays zero.
    upper: BlockSparse,
}

impl BlockMatrix {
    /// The zero matrix over a pattern.
    pub fn new(pattern: Arc<Pattern>) -> Self {
        BlockMatrix { lower: BlockSparse::new(Arc::clone(&pattern)), upper: BlockSparse::new(pattern) }
    }
    /// The graph it lives on.
    pub fn pattern(&self) -> &Arc<Pattern> {
        self.lower.pattern()
    }
    /// Sets every value to zero; allocates nothing.
    pub fn clear(&mut self) {
        self.lower.clear();
        self.upper.clear();
    }
    /// Adds a block, `size(row) x size(column)` values by rows, at (row, column) and nowhere else.
    pub fn add_block(&mut self, row: usize, column: usize, block: &[f64]) -> Result<(), PatternError> {
        self.half(row < column).add_block(row, column, block)
    }
    /// Adds `entry(r, c)` to every scalar of block (row, column).
    pub fn add_with(&mut self, row: usize, column: usize, entry: impl FnMut(usize, usize) -> f64) -> Result<(), PatternError> {
        self.half(row < column).add_with(row, column, entry)
    }
    /// Adds `entry(r, c)` to every scalar of the block at a slot of this matrix's pattern: the road without a search.
    #[inline]
    pub fn add_at(&mut self, slot: Slot, entry: impl FnMut(usize, usize) -> f64) {
        self.half(slot.transposed).add_at(slot, entry);
    }
    /// Adds `product(row, column)` to every scalar of the block at a slot, for a list of its rows and one of its columns.
    #[inline]
    pub fn add_products<A, B>(&mut self, slot: Slot, rows: &[A], columns: &[B], product: impl Fn(&A, &B) -> f64) {
        self.half(slot.transposed).add_products(slot, rows, columns, product);
    }
    /// Adds to one scalar of the block at a slot of this matrix's pattern.
    #[inline]
    pub fn add_entry(&mut self, slot: Slot, row: usize, column: usize, value: f64) {
        self.half(slot.transposed).add_entry(slot, row, column, value);
    }
    /// Adds to one diagonal scalar.
    pub fn add_diagonal(&mut self, node: usize, row: usize, value: f64) -> Result<(), PatternError> {
        self.lower.add_diagonal(node, row, value)
    }
    /// One scalar: row `r` of node `row`, column `c` of node `column`; zero where the nodes do not couple.
    pub fn entry(&self, row: usize, r: usize, column: usize, c: usize) -> f64 {
        if row < column { self.upper.entry(row, r, column, c) } else { self.lower.entry(row, r, column, c) }
    }
    /// Largest absolute value of any entry.
    pub fn max_abs(&self) -> f64 {
        self.lower.max_abs().max(self.upper.max_abs())
    }
    /// y = A x, both of `pattern().rows()` numbers.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        self.accumulate(1.0, false, x, y);
    }
    /// y = A' x.
    pub fn multiply_transpose(&self, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        self.accumulate(1.0, true, x, y);
    }
    /// r = b - A x; returns the largest |r|, infinite where one is not a number.
    pub fn residual(&self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        self.residual_of(false, b, x, r)
    }
    /// r = b - A' x; returns the largest |r|, infinite where one is not a number.
    pub fn residual_transpose(&self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        self.residual_of(true, b, x, r)
    }
    /// The whole matrix, for reference solves and for print.
    pub fn to_dense(&self) -> DMatrix<f64> {
        let pattern = self.pattern();
        let mut dense = DMatrix::zeros(pattern.rows(), pattern.rows());
        for column in 0..pattern.nodes() {
            let rows = std::iter::once(column).chain(pattern.below(column).iter().map(|block| block.row));
            for row in rows {
                for (r, c) in (0..pattern.size(row)).flat_map(|r| (0..pattern.size(column)).map(move |c| (r, c))) {
                    let (i, j) = (pattern.start(row) + r, pattern.start(column) + c);
                    dense[(i, j)] = self.entry(row, r, column, c);
                    dense[(j, i)] = self.entry(column, c, row, r);
                }
            }
        }
        dense
    }

    /// Values of the lower half, then of the transposed upper half, in the layout of the pattern.
    pub(crate) fn halves(&self) -> [&[f64]; 2] {
        [self.lower.values(), self.upper.values()]
    }

    fn half(&mut self, above: bool) -> &mut BlockSparse {
        if above { &mut self.upper } else { &mut self.lower }
    }

    pub(crate) fn residual_of(&self, transposed: bool, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        r.copy_from_slice(b);
        self.accumulate(-1.0, transposed, x, r);
        // `max` would pass over a NaN; a sum does not.
        let worst = r.iter().fold(0.0_f64, |worst, value| worst.max(value.abs()));
        if r.iter().sum::<f64>().is_nan() { f64::INFINITY } else { worst }
    }

    /// y += sign A x, or sign A' x: transposing swaps the halves and turns the diagonal blocks.
    fn accumulate(&self, sign: f64, transposed: bool, x: &[f64], y: &mut [f64]) {
        let pattern = &**self.pattern();
        let [lower, upper] = self.halves();
        let (below, above) = if transposed { (upper, lower) } else { (lower, upper) };
        for column in 0..pattern.nodes() {
            let (width, left) = (pattern.size(column), pattern.start(column));
            let diagonal = &lower[pattern.diagonal_at(column)..][..width * width];
            for r in 0..width {
                let at = |c: usize| if transposed { c * width + r } else { r * width + c };
                let sum: f64 = (0..width).map(|c| diagonal[at(c)] * x[left + c]).sum();
                y[left + r] += sign * sum;
            }
            for block in pattern.below(column) {
                let (height, top) = (pattern.size(block.row), pattern.start(block.row));
                let (below, above) = (&below[block.at..][..height * width], &above[block.at..][..height * width]);
                for r in 0..height {
                    let mut sum = 0.0;
                    let across = sign * x[top + r];
                    for c in 0..width {
                        sum += below[r * width + c] * x[left + c];
                        y[left + c] += above[r * width + c] * across;
                    }
                    y[top + r] += sign * sum;
                }
            }
        }
    }
}
