//! Sparse LU of an unsymmetric block matrix with a symmetric pattern, on the analysis of [`crate::ldl`], theory (9.16)-(9.20).
//!
//! Columns of L and rows of U (kept transposed) have one layout, so A and A' are solved by the same text with the halves exchanged.
//! Vectors keep the numbering of the matrix throughout. Nothing here allocates after construction.

mod lanes;
mod plain;

pub use plain::PLAIN;

use crate::block_matrix::BlockMatrix;
use crate::ldl::{LdlError, Pivots, RANK_TOLERANCE};
use crate::pivot_block::{PivotBlock, add_sizes, divide_upper, exchange, exchange_back, solve_upper};
use crate::refinement::{RefineWork, Refined, refine};
use crate::small::{backward_block, by_size, dot, forward_block, subtract_product};
use crate::symbolic::Symbolic;
use std::sync::Arc;

/// An equation that depends on those eliminated before it, and the unknown set aside with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Their node.
    pub node: usize,
    /// The equation: a row within the node.
    pub row: usize,
    /// The unknown: a column within the node.
    pub column: usize,
}

/// The numeric factor P A Q = L U over a [`Symbolic`]; that of the identity until the first success and after a failure.
#[derive(Clone, Debug)]
pub struct LuFactor {
    symbolic: Arc<Symbolic>,
    /// Columns of L in order of elimination: pivot block (both triangles), then panel.
    lower: Vec<f64>,
    /// Rows of U in the same layout, transposed; in place of the pivot block the size of the terms that were summed into it.
    upper: Vec<f64>,
    /// 1/pivot by scalar row.
    inverse: Vec<f64>,
    /// Exchanges of rows and of columns within each node: at step r with this one, by scalar row.
    row_swaps: Vec<usize>,
    column_swaps: Vec<usize>,
    scratch: PivotBlock,
    dropped: Vec<Dropped>,
    /// Whether a dropped equation or unknown still reaches other nodes.
    entangled: bool,
}

impl LuFactor {
    /// Room for a factor; it stands for the identity until [`LuFactor::factor`] succeeds.
    pub fn new(symbolic: Arc<Symbolic>) -> Self {
        let rows = symbolic.pattern.rows();
        let largest = symbolic.columns.iter().map(|column| column.size).max().unwrap_or(0);
        let mut factor = LuFactor {
            lower: vec![0.0; symbolic.values],
            upper: vec![0.0; symbolic.values],
            inverse: vec![1.0; rows],
            row_swaps: vec![0; rows],
            column_swaps: vec![0; rows],
            scratch: PivotBlock::new(largest),
            dropped: Vec::with_capacity(rows),
            entangled: false,
            symbolic,
        };
        factor.reset();
        factor
    }
    /// The analysis behind it.
    pub fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }
    /// Equations found redundant by the last factorisation, in order of elimination.
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// Whether what the last factorisation dropped still reaches other nodes: then rank was judged by too little of the matrix, and what the
    /// factor answers is not an answer of the whole.
    pub fn entangled(&self) -> bool {
        self.entangled
    }

    /// Factors a matrix over the analysed pattern; after an error the factor stands for the identity.
    pub fn factor(&mut self, matrix: &BlockMatrix, pivots: Pivots) -> Result<(), LdlError> {
        let outcome = self.try_factor(matrix, pivots);
        if outcome.is_err() {
            self.reset();
        }
        outcome
    }

    /// x := A^-1 x.
    pub fn solve(&self, x: &mut [f64]) {
        self.check_length(x);
        for place in 0..self.symbolic.columns.len() {
            self.forward(place, x);
        }
        for place in (0..self.symbolic.columns.len()).rev() {
            self.backward(place, x);
        }
    }
    /// x := A^-T x, from the same factor.
    pub fn solve_transpose(&self, x: &mut [f64]) {
        self.check_length(x);
        for place in 0..self.symbolic.columns.len() {
            self.forward_transpose(place, x);
        }
        for place in (0..self.symbolic.columns.len()).rev() {
            self.backward_transpose(place, x);
        }
    }
    /// Improves x towards A x = b with residuals of the matrix itself, until they stop falling by half; keeps the best x seen.
    pub fn refine(&self, matrix: &BlockMatrix, b: &[f64], x: &mut [f64], work: &mut RefineWork) -> Refined {
        self.check_length(x);
        refine(x, work, |x, out| matrix.residual_of(false, b, x, out), |x| self.solve(x))
    }
    /// Improves x towards A' x = b in the same way.
    pub fn refine_transpose(&self, matrix: &BlockMatrix, b: &[f64], x: &mut [f64], work: &mut RefineWork) -> Refined {
        self.check_length(x);
        refine(x, work, |x, out| matrix.residual_of(true, b, x, out), |x| self.solve_transpose(x))
    }

    /// The identity: no exchange, no panel.
    fn reset(&mut self) {
        self.lower.fill(0.0);
        self.upper.fill(0.0);
        self.inverse.fill(1.0);
        self.dropped.clear();
        for column in &self.symbolic.columns {
            for r in 0..column.size {
                self.lower[column.pivot_at + r * (column.size + 1)] = 1.0;
                self.row_swaps[column.start + r] = r;
                self.column_swaps[column.start + r] = r;
            }
        }
    }

    fn try_factor(&mut self, matrix: &BlockMatrix, pivots: Pivots) -> Result<(), LdlError> {
        let symbolic = Arc::clone(&self.symbolic);
        if !Arc::ptr_eq(matrix.pattern(), &symbolic.pattern) && matrix.pattern() != &symbolic.pattern {
            return Err(LdlError::PatternMismatch);
        }
        self.dropped.clear();
        self.entangled = false;
        self.load(&symbolic, matrix);
        self.load_sizes(&symbolic);
        let largest = matrix.max_abs();
        let floor = if largest > 0.0 { largest } else { 1.0 };
        for place in 0..symbolic.columns.len() {
            let mut outcome = Ok(());
            by_size!(symbolic.columns[place].size, size => outcome = self.eliminate(&symbolic, place, size, pivots, floor));
            outcome?;
        }
        Ok(())
    }

    /// The matrix into the pattern of L and U; fill starts at zero.
    fn load(&mut self, symbolic: &Symbolic, matrix: &BlockMatrix) {
        self.lower.fill(0.0);
        self.upper.fill(0.0);
        let [below, above] = matrix.halves();
        for block in &symbolic.scatter {
            let count = block.rows * block.columns;
            let (below, above) = (&below[block.from..][..count], &above[block.from..][..count]);
            let (lower, upper) = (&mut self.lower[block.to..][..count], &mut self.upper[block.to..][..count]);
            if block.transposed {
                // The block's row node is eliminated first: what lay above the diagonal now lies below it.
                for r in 0..block.rows {
                    for c in 0..block.columns {
                        lower[c * block.rows + r] = above[r * block.columns + c];
                        upper[c * block.rows + r] = below[r * block.columns + c];
                    }
                }
            } else {
                lower.copy_from_slice(below);
                upper.copy_from_slice(above);
            }
        }
    }

    /// Sizes of terms start at those of the diagonal blocks.
    fn load_sizes(&mut self, symbolic: &Symbolic) {
        for column in &symbolic.columns {
            let block = column.pivot_at..column.pivot_at + column.size * column.size;
            for (size, value) in self.upper[block.clone()].iter_mut().zip(&self.lower[block]) {
                *size = value.abs();
            }
        }
    }

    /// Factors one column and row and takes their product from those after them, theory (9.17)-(9.18).
    #[inline(always)]
    fn eliminate(&mut self, symbolic: &Symbolic, place: usize, size: usize, pivots: Pivots, floor: f64) -> Result<(), LdlError> {
        let column = &symbolic.columns[place];
        let (head, later_lower) = self.lower.split_at_mut(column.panel_end);
        let (pivot, panel_lower) = head[column.pivot_at..].split_at_mut(size * size);
        let (head, later_upper) = self.upper.split_at_mut(column.panel_end);
        let (terms, panel_upper) = head[column.pivot_at..].split_at_mut(size * size);
        let rows = column.start..column.start + size;
        let (inverse, row_swaps) = (&mut self.inverse[rows.clone()], &mut self.row_swaps[rows.clone()]);
        let column_swaps = &mut self.column_swaps[rows];

        let dropped = self.dropped.len();
        self.scratch.measure(size, terms, floor);
        self.scratch.factor_block(size, pivot, inverse, row_swaps, column_swaps, |row, column, value| {
            let node = symbolic.order[place];
            if !value.is_finite() {
                return Err(LdlError::NotFinite { node, row });
            }
            match pivots {
                Pivots::Strict => Err(LdlError::ZeroPivot { node, row, value }),
                Pivots::Regularise { relative } => {
                    self.dropped.push(Dropped { node, row, column });
                    Ok(relative.max(RANK_TOLERANCE))
                }
            }
        })?;

        // What was dropped stands last in its node; past the check it takes part in nothing.
        let rank = size - (self.dropped.len() - dropped);
        for row in panel_lower.chunks_exact_mut(size) {
            exchange(row, column_swaps);
            if rank == size {
                divide_upper(size, pivot, inverse, row);
            } else {
                self.entangled |= divide_kept(size, rank, pivot, inverse, row, floor);
            }
        }
        for row in panel_upper.chunks_exact_mut(size) {
            exchange(row, row_swaps);
            if rank == size {
                forward_block(size, pivot, row);
            } else {
                self.entangled |= forward_kept(size, rank, pivot, row, floor);
            }
        }

        let below = symbolic.below(column);
        for (k, block) in below.iter().enumerate() {
            let target = &symbolic.columns[block.position];
            let width = block.size;
            let rows = block.panel_row * size..(block.panel_row + width) * size;
            let (l, u) = (&panel_lower[rows.clone()], &panel_upper[rows]);
            let at = target.pivot_at - column.panel_end;
            take_product(size, rank, width, &mut later_lower[at..][..width * width], l, u);
            if rank == size {
                add_sizes(size, width, &mut later_upper[at..][..width * width], l, u);
            } else {
                add_sizes_kept(size, rank, width, &mut later_upper[at..][..width * width], l, u);
            }
            // struct(k) beyond j is part of struct(j): both rise, so one walk finds every target.
            let mut candidates = symbolic.below(target).iter();
            for row in &below[k + 1..] {
                let Some(found) = candidates.find(|candidate| candidate.position == row.position) else { break };
                let to = target.panel_at + found.panel_row * width - column.panel_end;
                let to = to..to + row.size * width;
                let rows = row.panel_row * size..(row.panel_row + row.size) * size;
                take_product(size, rank, width, &mut later_lower[to.clone()], &panel_lower[rows.clone()], u);
                take_product(size, rank, width, &mut later_upper[to], &panel_upper[rows], l);
            }
        }
        Ok(())
    }

    /// x_k := L_kk^-1 P_k x_k, and its product from the nodes below.
    #[inline]
    fn forward(&self, place: usize, x: &mut [f64]) {
        let column = &self.symbolic.columns[place];
        by_size!(column.size, size => {
            let own = &mut x[column.start..][..size];
            exchange(own, &self.row_swaps[column.start..][..size]);
            forward_block(size, &self.lower[column.pivot_at..], own);
            self.subtract_below(place, size, &self.lower, x);
        });
    }
    /// x_k := Q_k U_kk^-1 (x_k - U_kj x_j).
    #[inline]
    fn backward(&self, place: usize, x: &mut [f64]) {
        let column = &self.symbolic.columns[place];
        by_size!(column.size, size => {
            self.gather_below(place, size, &self.upper, x);
            let own = &mut x[column.start..][..size];
            solve_upper(size, &self.lower[column.pivot_at..], &self.inverse[column.start..], own);
            exchange_back(own, &self.column_swaps[column.start..][..size]);
        });
    }
    /// The first half for A': U_kk' in place of L_kk, columns in place of rows.
    #[inline]
    fn forward_transpose(&self, place: usize, x: &mut [f64]) {
        let column = &self.symbolic.columns[place];
        by_size!(column.size, size => {
            let own = &mut x[column.start..][..size];
            exchange(own, &self.column_swaps[column.start..][..size]);
            divide_upper(size, &self.lower[column.pivot_at..], &self.inverse[column.start..], own);
            self.subtract_below(place, size, &self.upper, x);
        });
    }
    /// The second half for A'.
    #[inline]
    fn backward_transpose(&self, place: usize, x: &mut [f64]) {
        let column = &self.symbolic.columns[place];
        by_size!(column.size, size => {
            self.gather_below(place, size, &self.lower, x);
            let own = &mut x[column.start..][..size];
            backward_block(size, &self.lower[column.pivot_at..], own);
            exchange_back(own, &self.row_swaps[column.start..][..size]);
        });
    }

    /// x_i -= (panel row i) . x_k for every scalar row i below.
    #[inline(always)]
    fn subtract_below(&self, place: usize, size: usize, values: &[f64], x: &mut [f64]) {
        let column = &self.symbolic.columns[place];
        let mut panel = values[column.panel_at..column.panel_end].chunks_exact(size);
        for block in self.symbolic.below(column) {
            for row in block.start..block.start + block.size {
                let Some(l) = panel.next() else { break };
                x[row] -= dot(size, l, &x[column.start..]);
            }
        }
    }
    /// x_k -= sum of (panel row i)' x_i over the scalar rows i below.
    #[inline(always)]
    fn gather_below(&self, place: usize, size: usize, values: &[f64], x: &mut [f64]) {
        let column = &self.symbolic.columns[place];
        let mut panel = values[column.panel_at..column.panel_end].chunks_exact(size);
        for block in self.symbolic.below(column) {
            for row in block.start..block.start + block.size {
                let Some(u) = panel.next() else { break };
                let value = x[row];
                let own = &mut x[column.start..][..size];
                for c in 0..size {
                    own[c] -= u[c] * value;
                }
            }
        }
    }

    fn check_length(&self, x: &[f64]) {
        assert_eq!(x.len(), self.symbolic.pattern.rows(), "a vector has one entry for each scalar row of the matrix");
    }
}

/// A dropped row whose coupling to another node is above this part of what it was before elimination is no combination of those kept.
const ENTANGLED: f64 = 1e-8;

/// Entries below this part of the largest of the matrix may be rounding of what cancelled before.
const NOISE: f64 = 1e-6;

/// Clears what a row of a panel has left at the dropped places, `rank` and beyond; `true` if that was more than rounding.
#[inline]
fn clear_dropped(rank: usize, row: &mut [f64], before: f64, floor: f64) -> bool {
    let mut reaches = false;
    for at in rank..row.len() {
        reaches |= row[at].abs() > ENTANGLED * before.max(NOISE * floor) || row[at].is_nan();
        row[at] = 0.0;
    }
    reaches
}

/// x' := x' U^-1 with the kept pivots; `true` if the row reaches what was dropped.
fn divide_kept(size: usize, rank: usize, block: &[f64], inverse: &[f64], x: &mut [f64], floor: f64) -> bool {
    let largest = x.iter().fold(0.0_f64, |m, value| m.max(value.abs()));
    for r in 0..rank {
        let value = x[r] * inverse[r];
        x[r] = value;
        for c in r + 1..size {
            x[c] -= block[r * size + c] * value;
        }
    }
    clear_dropped(rank, x, largest, floor)
}

/// x := L^-1 x with the kept pivots; `true` if the row reaches what was dropped.
fn forward_kept(size: usize, rank: usize, block: &[f64], x: &mut [f64], floor: f64) -> bool {
    let largest = x.iter().fold(0.0_f64, |m, value| m.max(value.abs()));
    for r in 0..size {
        let sum: f64 = (0..r.min(rank)).map(|c| block[r * size + c] * x[c]).sum();
        x[r] -= sum;
    }
    clear_dropped(rank, x, largest, floor)
}

/// target -= L U' over the kept places.
#[inline(always)]
fn take_product(size: usize, rank: usize, width: usize, target: &mut [f64], l: &[f64], u: &[f64]) {
    if rank == size {
        return subtract_product(size, width, target, l, u);
    }
    for (out, l) in target.chunks_exact_mut(width.max(1)).zip(l.chunks_exact(size)) {
        for (value, u) in out.iter_mut().zip(u.chunks_exact(size)) {
            *value -= dot(rank, l, u);
        }
    }
}

/// target += |L| |U'| over the kept places.
fn add_sizes_kept(size: usize, rank: usize, width: usize, target: &mut [f64], l: &[f64], u: &[f64]) {
    for (out, l) in target.chunks_exact_mut(width.max(1)).zip(l.chunks_exact(size)) {
        for (value, u) in out.iter_mut().zip(u.chunks_exact(size)) {
            *value += (0..rank).map(|k| (l[k] * u[k]).abs()).sum::<f64>();
        }
    }
}
