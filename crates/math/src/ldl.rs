//! Sparse LDL' of a block matrix: analyse once, factor each step, solve many times, theory (9.3)-(9.14).
//!
//! Vectors keep the numbering of the [`BlockSparse`] matrix throughout: the order of elimination stays inside, so half solves and
//! sparse right-hand sides need no permutation by the caller. Nothing here allocates after construction.

use crate::block_sparse::BlockSparse;
use crate::refinement::refine;
pub use crate::refinement::{RefineWork, Refined};
use crate::small::{backward_block, by_size, dot, factor_block, forward_block, invert_block, scale_panel, subtract_product, unscale_panel};
pub use crate::symbolic::{Order, Place, Reach, Symbolic};
use std::fmt;
use std::sync::Arc;

/// A pivot below this part of its row's own diagonal counts as zero: the row's direction lies within 1e-6 rad of those before it,
/// in the metric of the matrix. Much smaller lets rounding pass for rank; larger would drop honest but nearly parallel rows.
pub const RANK_TOLERANCE: f64 = 1e-12;

/// Regularisation that drops a redundant row: its pivot becomes as large as the row's diagonal, so its multiplier is zero up to
/// rounding and the remaining rows carry the load.
pub const DROP_REDUNDANT: f64 = 1.0;

/// Most rows of a node for which pivots are inverted as blocks: those of any joint. Wider ones are solved row by row.
const WIDEST: usize = 6;

/// What to do with a pivot that vanishes, theory (9.12).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pivots {
    /// Stop with [`LdlError::ZeroPivot`].
    Strict,
    /// Set it to `relative` times the row's diagonal (of the largest diagonal where that is zero), at least
    /// [`RANK_TOLERANCE`], and list the row as redundant.
    Regularise {
        /// Part of the row's diagonal; [`DROP_REDUNDANT`] drops the row.
        relative: f64,
    },
}

impl Pivots {
    /// What a pivot becomes in a row whose diagonal was this before elimination.
    #[inline(always)]
    pub(crate) fn accept(
        self,
        at: Redundant,
        value: f64,
        diagonal: f64,
        floor: f64,
        redundant: &mut Vec<Redundant>,
    ) -> Result<f64, LdlError> {
        let Redundant { node, row } = at;
        if value.abs() > RANK_TOLERANCE * diagonal && value.is_finite() {
            return Ok(value);
        }
        if !value.is_finite() {
            return Err(LdlError::NotFinite { node, row });
        }
        match self {
            Pivots::Strict => Err(LdlError::ZeroPivot { node, row, value }),
            Pivots::Regularise { relative } => {
                redundant.push(at);
                Ok(relative.max(RANK_TOLERANCE) * if diagonal > 0.0 { diagonal } else { floor })
            }
        }
    }
}

/// A row that depends on rows eliminated before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redundant {
    /// Its node.
    pub node: usize,
    /// Its row within the node.
    pub row: usize,
}

/// Why a matrix was not factored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LdlError {
    /// A row depends on rows eliminated before it.
    ZeroPivot {
        /// Its node.
        node: usize,
        /// Its row within the node.
        row: usize,
        /// The pivot found.
        value: f64,
    },
    /// The matrix holds a value that is not finite, met at this row.
    NotFinite {
        /// Node of the pivot that was not finite.
        node: usize,
        /// Its row within the node.
        row: usize,
    },
    /// An order that is not one: this node is missing, repeated or unknown.
    BadOrder {
        /// The node.
        node: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// The matrix lives on another pattern than the factor.
    PatternMismatch,
}

impl fmt::Display for LdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LdlError::ZeroPivot { node, row, value } => write!(f, "row {row} of node {node} depends on earlier rows: pivot {value:e}"),
            LdlError::NotFinite { node, row } => write!(f, "the matrix is not finite: met at row {row} of node {node}"),
            LdlError::BadOrder { node, nodes } => write!(f, "not an order of {nodes} nodes: node {node} is missing, repeated or unknown"),
            LdlError::PatternMismatch => write!(f, "the matrix and the factor have different patterns"),
        }
    }
}

impl std::error::Error for LdlError {}

/// The numeric factor A = L D L' over a [`Symbolic`]; that of the identity until the first success and after a failure.
#[derive(Clone, Debug)]
pub struct Factor {
    symbolic: Arc<Symbolic>,
    /// Columns of L in order of elimination: pivot block, then panel.
    values: Vec<f64>,
    /// The same factor with whole blocks for pivots, theory (9.11): A_kk^-1 of what was left at the pivot, then L_ik L_kk^-1, in the places of `values`.
    whole: Vec<f64>,
    /// 1/D by scalar row.
    inverse: Vec<f64>,
    /// |a_rr| by scalar row, before elimination.
    diagonal: Vec<f64>,
    /// Y = L D of the column at hand.
    scaled: Vec<f64>,
    redundant: Vec<Redundant>,
}

/// The block form of the identity; none where a node is too wide for it.
fn identity_blocks(symbolic: &Symbolic) -> Vec<f64> {
    if symbolic.columns.iter().any(|column| column.size > WIDEST) {
        return Vec::new();
    }
    let mut whole = vec![0.0; symbolic.values];
    for column in &symbolic.columns {
        for r in 0..column.size {
            whole[column.pivot_at + r * (column.size + 1)] = 1.0;
        }
    }
    whole
}

/// The matrix into the pattern of L.
pub(crate) fn load(symbolic: &Symbolic, matrix: &[f64], values: &mut [f64]) {
    for block in &symbolic.scatter {
        let count = block.rows * block.columns;
        if count == 0 {
            continue;
        }
        let (from, to) = (&matrix[block.from..][..count], &mut values[block.to..][..count]);
        if block.transposed {
            for (c, row) in to.chunks_exact_mut(block.rows).enumerate() {
                for (r, value) in row.iter_mut().enumerate() {
                    *value = from[r * block.columns + c];
                }
            }
        } else {
            to.copy_from_slice(from);
        }
    }
}

impl Factor {
    /// Room for a factor; it stands for the identity until [`Factor::factor`] succeeds.
    pub fn new(symbolic: Arc<Symbolic>) -> Self {
        let rows = symbolic.pattern.rows();
        let panel = symbolic.columns.iter().map(|column| column.panel_end - column.panel_at).max().unwrap_or(0);
        Factor {
            values: vec![0.0; symbolic.values],
            whole: identity_blocks(&symbolic),
            inverse: vec![1.0; rows],
            diagonal: vec![0.0; rows],
            scaled: vec![0.0; panel],
            redundant: Vec::with_capacity(rows),
            symbolic,
        }
    }
    /// The analysis behind it.
    pub fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }
    /// Rows found redundant by the last factorisation, in order of elimination.
    pub fn redundant(&self) -> &[Redundant] {
        &self.redundant
    }
    /// The pivot of a scalar row, one entry of D.
    pub fn pivot(&self, node: usize, row: usize) -> f64 {
        1.0 / self.inverse[self.symbolic.pattern.start(node) + row]
    }

    /// |D|^(-1/2) at a scalar row: with it L^-1 b becomes G^-1 b, A = G G', where the pivots are positive.
    pub fn inverse_root(&self, node: usize, row: usize) -> f64 {
        self.inverse[self.symbolic.pattern.start(node) + row].abs().sqrt()
    }

    /// Factors a matrix over the analysed pattern; after an error the factor stands for the identity.
    pub fn factor(&mut self, matrix: &BlockSparse, pivots: Pivots) -> Result<(), LdlError> {
        let symbolic = Arc::clone(&self.symbolic);
        if !Arc::ptr_eq(matrix.pattern(), &symbolic.pattern) && matrix.pattern() != &symbolic.pattern {
            return Err(self.give_up(LdlError::PatternMismatch));
        }
        self.factor_with(pivots, |values| load(&symbolic, matrix.values(), values))
    }
    /// Factors a matrix that `write` puts, block by block, where [`Symbolic::place`] says, into numbers that are zero before: the road without
    /// a copy. Of a block on the diagonal the lower triangle is read. After an error the factor stands for the identity.
    pub fn factor_with(&mut self, pivots: Pivots, write: impl FnOnce(&mut [f64])) -> Result<(), LdlError> {
        self.values.fill(0.0);
        write(&mut self.values);
        let outcome = self.try_factor(pivots);
        outcome.map_err(|error| self.give_up(error))
    }
    fn give_up(&mut self, error: LdlError) -> LdlError {
        self.values.fill(0.0);
        self.whole = identity_blocks(&self.symbolic);
        self.inverse.fill(1.0);
        self.redundant.clear();
        error
    }

    /// x := A^-1 x, by whole blocks: products only, no row waits for the one before it.
    pub fn solve(&self, x: &mut [f64]) {
        self.check_length(x);
        if self.whole.is_empty() {
            self.forward(x);
            self.divide(x);
            self.backward(x);
            return;
        }
        for place in 0..self.symbolic.columns.len() {
            self.forward_whole(place, x);
        }
        for place in (0..self.symbolic.columns.len()).rev() {
            self.backward_whole(place, x);
        }
    }
    /// x := A^-T x: the same as [`Factor::solve`], A being symmetric.
    pub fn solve_transpose(&self, x: &mut [f64]) {
        self.solve(x);
    }
    /// x := L^-1 x, the first half of a solve.
    pub fn forward(&self, x: &mut [f64]) {
        self.check_length(x);
        for place in 0..self.symbolic.columns.len() {
            self.forward_column(place, x);
        }
    }
    /// x := D^-1 x, between the halves.
    pub fn divide(&self, x: &mut [f64]) {
        self.check_length(x);
        for (value, inverse) in x.iter_mut().zip(&self.inverse) {
            *value *= inverse;
        }
    }
    /// x := L^-T x, the second half of a solve.
    pub fn backward(&self, x: &mut [f64]) {
        self.check_length(x);
        for place in (0..self.symbolic.columns.len()).rev() {
            self.backward_column(place, x);
        }
    }

    /// x := L^-1 x for an x that is zero outside `nodes`; visits only the nodes it can reach and leaves them in `reach`.
    pub fn forward_sparse(&self, nodes: &[usize], x: &mut [f64], reach: &mut Reach) {
        self.check_length(x);
        reach.find(&self.symbolic, nodes);
        for &place in &reach.places {
            self.forward_column(place, x);
        }
    }
    /// x := D^-1 x on a reach.
    pub fn divide_sparse(&self, reach: &Reach, x: &mut [f64]) {
        for &place in &reach.places {
            let column = &self.symbolic.columns[place];
            for row in column.start..column.start + column.size {
                x[row] *= self.inverse[row];
            }
        }
    }
    /// a' D^-1 b over a reach: with a and b already through [`Factor::forward_sparse`] this is a' A^-1 b, theory (9.14).
    pub fn weighted_dot(&self, reach: &Reach, a: &[f64], b: &[f64]) -> f64 {
        let mut sum = 0.0;
        for &place in &reach.places {
            let column = &self.symbolic.columns[place];
            for row in column.start..column.start + column.size {
                sum += a[row] * self.inverse[row] * b[row];
            }
        }
        sum
    }
    /// Sets x to zero on a reach, ready for the next right-hand side.
    pub fn clear_sparse(&self, reach: &Reach, x: &mut [f64]) {
        for &place in &reach.places {
            let column = &self.symbolic.columns[place];
            x[column.start..column.start + column.size].fill(0.0);
        }
    }

    /// Improves x towards A x = b with residuals of the matrix itself, until they stop falling by half; keeps the best x seen.
    pub fn refine(&self, matrix: &BlockSparse, b: &[f64], x: &mut [f64], work: &mut RefineWork) -> Refined {
        self.check_length(x);
        refine(x, work, |x, out| matrix.residual(b, x, out), |x| self.solve(x))
    }

    fn try_factor(&mut self, pivots: Pivots) -> Result<(), LdlError> {
        let symbolic = Arc::clone(&self.symbolic);
        self.redundant.clear();
        for column in &symbolic.columns {
            for r in 0..column.size {
                self.diagonal[column.start + r] = self.values[column.pivot_at + r * (column.size + 1)].abs();
            }
        }
        let largest = self.diagonal.iter().fold(0.0_f64, |worst, &value| worst.max(value));
        let floor = if largest > 0.0 { largest } else { 1.0 };
        for place in 0..symbolic.columns.len() {
            let mut outcome = Ok(());
            by_size!(symbolic.columns[place].size, size => outcome = self.eliminate(&symbolic, place, size, pivots, floor));
            outcome?;
        }
        Ok(())
    }

    /// Factors one column and takes its product from the columns after it, theory (9.8)-(9.9).
    #[inline(always)]
    fn eliminate(&mut self, symbolic: &Symbolic, place: usize, size: usize, pivots: Pivots, floor: f64) -> Result<(), LdlError> {
        let column = &symbolic.columns[place];
        let (head, later) = self.values.split_at_mut(column.panel_end);
        let (pivot, panel) = head[column.pivot_at..].split_at_mut(size * size);
        let rows = column.start..column.start + size;
        let (diagonal, inverse) = (&self.diagonal[rows.clone()], &mut self.inverse[rows]);
        let redundant = &mut self.redundant;
        factor_block(size, pivot, inverse, |row, value| {
            pivots.accept(Redundant { node: symbolic.order[place], row }, value, diagonal[row], floor, redundant)
        })?;

        let scaled = &mut self.scaled[..panel.len()];
        scale_panel(size, pivot, inverse, panel, scaled);
        if !self.whole.is_empty() {
            let (whole, whole_panel) = self.whole[column.pivot_at..column.panel_end].split_at_mut(size * size);
            invert_block(size, pivot, inverse, whole);
            unscale_panel(size, pivot, panel, whole_panel);
        }
        let below = symbolic.below(column);
        for (k, block) in below.iter().enumerate() {
            let target = &symbolic.columns[block.position];
            let width = block.size;
            let l = &panel[block.panel_row * size..][..width * size];
            let y = &scaled[block.panel_row * size..][..width * size];
            let at = target.pivot_at - column.panel_end;
            let out = &mut later[at..][..width * width];
            // The common case, equal sizes along a chain, unrolls fully.
            if width == size {
                subtract_product(size, size, out, y, l);
            } else {
                subtract_product(size, width, out, y, l);
            }
            // struct(k) beyond j is part of struct(j): both rise, so one walk finds every target.
            let mut candidates = symbolic.below(target).iter();
            for row in &below[k + 1..] {
                let Some(found) = candidates.find(|candidate| candidate.position == row.position) else { break };
                let at = target.panel_at + found.panel_row * width - column.panel_end;
                let out = &mut later[at..][..row.size * width];
                let y = &scaled[row.panel_row * size..][..row.size * size];
                subtract_product(size, width, out, y, l);
            }
        }
        Ok(())
    }

    #[inline]
    fn forward_whole(&self, place: usize, x: &mut [f64]) {
        let symbolic = &*self.symbolic;
        let column = &symbolic.columns[place];
        by_size!(column.size, size => {
            let mut panel = self.whole[column.panel_at..column.panel_end].chunks_exact(size);
            for block in symbolic.below(column) {
                for row in block.start..block.start + block.size {
                    let Some(l) = panel.next() else { break };
                    x[row] -= dot(size, l, &x[column.start..]);
                }
            }
        });
    }

    #[inline]
    fn backward_whole(&self, place: usize, x: &mut [f64]) {
        let symbolic = &*self.symbolic;
        let column = &symbolic.columns[place];
        by_size!(column.size, size => {
            let pivot = &self.whole[column.pivot_at..][..size * size];
            let mut panel = self.whole[column.panel_at..column.panel_end].chunks_exact(size);
            // Both sums start from what is known before the ancestors are.
            let mut out = [0.0; WIDEST];
            let own = &x[column.start..][..size];
            for r in 0..size {
                out[r] = dot(size, &pivot[r * size..], own);
            }
            for block in symbolic.below(column) {
                for row in block.start..block.start + block.size {
                    let Some(l) = panel.next() else { break };
                    let value = x[row];
                    for c in 0..size {
                        out[c] -= l[c] * value;
                    }
                }
            }
            x[column.start..][..size].copy_from_slice(&out[..size]);
        });
    }

    #[inline]
    fn forward_column(&self, place: usize, x: &mut [f64]) {
        let symbolic = &*self.symbolic;
        let column = &symbolic.columns[place];
        by_size!(column.size, size => {
            forward_block(size, &self.values[column.pivot_at..], &mut x[column.start..]);
            let mut panel = self.values[column.panel_at..column.panel_end].chunks_exact(size);
            for block in symbolic.below(column) {
                for row in block.start..block.start + block.size {
                    let Some(l) = panel.next() else { break };
                    x[row] -= dot(size, l, &x[column.start..]);
                }
            }
        });
    }

    #[inline]
    fn backward_column(&self, place: usize, x: &mut [f64]) {
        let symbolic = &*self.symbolic;
        let column = &symbolic.columns[place];
        by_size!(column.size, size => {
            let mut panel = self.values[column.panel_at..column.panel_end].chunks_exact(size);
            for block in symbolic.below(column) {
                for row in block.start..block.start + block.size {
                    let Some(l) = panel.next() else { break };
                    let value = x[row];
                    let out = &mut x[column.start..][..size];
                    for c in 0..size {
                        out[c] -= l[c] * value;
                    }
                }
            }
            backward_block(size, &self.values[column.pivot_at..], &mut x[column.start..]);
        });
    }

    fn check_length(&self, x: &[f64]) {
        assert_eq!(x.len(), self.symbolic.pattern.rows(), "a vector has one entry for each scalar row of the matrix");
    }
}
