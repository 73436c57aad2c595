//! Sparse LDL' with whole blocks for pivots, theory (9.15): the factor of a mechanism that is solved many times and asked nothing else.
//!
//! Where [`crate::ldl::Factor`] keeps scalar columns for half solves and sparse right-hand sides, this keeps A_kk^-1 and A_ik A_kk^-1 in place of the
//! matrix: half the memory, and products of small squares instead of triangular solves. Along a chain of joints of one size the column at hand stays
//! in registers. Nothing here allocates after construction.

use crate::block_sparse::BlockSparse;
use crate::ldl::{LdlError, Pivots, RANK_TOLERANCE, Redundant, load};
use crate::symbolic::{Column, Symbolic};
use std::sync::Arc;

/// Most rows of a node: those of any joint.
pub const WIDEST: usize = 6;

/// Calls a function that is generic over the rows of a node with a number known only now; nodes without rows have nothing to do.
macro_rules! by_width {
    ($size:expr, $otherwise:expr, $this:ident . $name:ident ( $($argument:expr),* )) => {
        match $size {
            1 => $this.$name::<1>($($argument),*),
            2 => $this.$name::<2>($($argument),*),
            3 => $this.$name::<3>($($argument),*),
            4 => $this.$name::<4>($($argument),*),
            5 => $this.$name::<5>($($argument),*),
            6 => $this.$name::<6>($($argument),*),
            _ => $otherwise,
        }
    };
}

/// The numeric factor over a [`Symbolic`] whose nodes have at most [`WIDEST`] rows; zero until the first success and after a failure.
#[derive(Clone, Debug)]
pub struct BlockFactor {
    symbolic: Arc<Symbolic>,
    /// Columns in order of elimination: A_kk^-1 of what is left at the pivot, then the panel A_ik A_kk^-1.
    values: Vec<f64>,
    /// |a_rr| by scalar row, before elimination.
    diagonal: Vec<f64>,
    /// The panel of the column at hand, as the matrix left it.
    panel: Vec<f64>,
    /// Whether a column has one block below it, in the next column and of the same size.
    linked: Vec<bool>,
    redundant: Vec<Redundant>,
}

impl BlockFactor {
    /// Room for a factor; `None` where a node has more rows than [`WIDEST`].
    pub fn new(symbolic: Arc<Symbolic>) -> Option<Self> {
        if symbolic.columns.iter().any(|column| column.size > WIDEST) {
            return None;
        }
        let links = |(place, column): (usize, &Column)| match symbolic.below(column) {
            [only] => only.position == place + 1 && only.size == column.size,
            _ => false,
        };
        let linked = symbolic.columns.iter().enumerate().map(links).collect();
        let panel = symbolic.columns.iter().map(|column| column.panel_end - column.panel_at).max().unwrap_or(0);
        Some(BlockFactor {
            values: vec![0.0; symbolic.values],
            diagonal: vec![0.0; symbolic.pattern.rows()],
            panel: vec![0.0; panel],
            linked,
            redundant: Vec::with_capacity(symbolic.pattern.rows()),
            symbolic,
        })
    }
    /// The analysis behind it.
    pub fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }
    /// Rows found redundant by the last factorisation, in order of elimination.
    pub fn redundant(&self) -> &[Redundant] {
        &self.redundant
    }

    /// Factors a matrix over the analysed pattern; after an error every solution is zero.
    pub fn factor(&mut self, matrix: &BlockSparse, pivots: Pivots) -> Result<(), LdlError> {
        let symbolic = Arc::clone(&self.symbolic);
        if !Arc::ptr_eq(matrix.pattern(), &symbolic.pattern) && matrix.pattern() != &symbolic.pattern {
            self.values.fill(0.0);
            return Err(LdlError::PatternMismatch);
        }
        self.factor_with(pivots, |values| load(&symbolic, matrix.values(), values))
    }
    /// Factors a matrix that `write` puts, block by block, where [`Symbolic::place`] says, into numbers that are zero before. Of a block on the diagonal
    /// the lower triangle is read. After an error every solution is zero.
    pub fn factor_with(&mut self, pivots: Pivots, write: impl FnOnce(&mut [f64])) -> Result<(), LdlError> {
        self.values.fill(0.0);
        write(&mut self.values);
        self.redundant.clear();
        let symbolic = Arc::clone(&self.symbolic);
        let mut largest = 0.0f64;
        for column in &symbolic.columns {
            for r in 0..column.size {
                let value = self.values[column.pivot_at + r * (column.size + 1)].abs();
                self.diagonal[column.start + r] = value;
                largest = largest.max(value);
            }
        }
        let floor = if largest > 0.0 { largest } else { 1.0 };
        for place in 0..symbolic.columns.len() {
            let size = symbolic.columns[place].size;
            let outcome = by_width!(size, Ok(()), self.eliminate(&symbolic, place, pivots, floor));
            if outcome.is_err() {
                self.values.fill(0.0);
                self.redundant.clear();
                return outcome;
            }
        }
        Ok(())
    }

    /// x := A^-1 x; panics where x has not one entry for each scalar row of the matrix.
    pub fn solve(&self, x: &mut [f64]) {
        assert_eq!(x.len(), self.symbolic.pattern.rows(), "a vector has one entry for each scalar row of the matrix");
        let columns = &self.symbolic.columns;
        let mut place = 0;
        while place < columns.len() {
            place = by_width!(columns[place].size, place + 1, self.forward(place, x));
        }
        while place > 0 {
            place = by_width!(columns[place - 1].size, place - 1, self.backward(place - 1, x));
        }
    }

    /// Inverts one pivot, takes the panel through it and its product from the columns after it, theory (9.7), (9.8), (9.15).
    #[inline]
    fn eliminate<const N: usize>(&mut self, symbolic: &Symbolic, place: usize, pivots: Pivots, floor: f64) -> Result<(), LdlError> {
        let column = &symbolic.columns[place];
        let (head, later) = self.values.split_at_mut(column.panel_end);
        let (own, panel) = head[column.pivot_at..].split_at_mut(N * N);
        let (own, _) = own.as_chunks_mut::<N>();
        let (panel, _) = panel.as_chunks_mut::<N>();
        let mut pivot = [[0.0; N]; N];
        pivot.copy_from_slice(own);
        let diagonal = &self.diagonal[column.start..][..N];
        let redundant = &mut self.redundant;
        let inverse = invert(&pivot, |row, value| {
            if value.abs() > RANK_TOLERANCE * diagonal[row] && value.is_finite() {
                return Ok(value);
            }
            let node = symbolic.order[place];
            if !value.is_finite() {
                return Err(LdlError::NotFinite { node, row });
            }
            match pivots {
                Pivots::Strict => Err(LdlError::ZeroPivot { node, row, value }),
                Pivots::Regularise { relative } => {
                    redundant.push(Redundant { node, row });
                    Ok(relative.max(RANK_TOLERANCE) * if diagonal[row] > 0.0 { diagonal[row] } else { floor })
                }
            }
        })?;
        own.copy_from_slice(&inverse);

        if self.linked[place] {
            // The whole panel is one square, and the next pivot is right behind it.
            let mut square = [[0.0; N]; N];
            square.copy_from_slice(panel);
            let product = multiply(&square, &inverse);
            panel.copy_from_slice(&product);
            let (next, _) = later[..N * N].as_chunks_mut::<N>();
            for r in 0..N {
                for c in 0..=r {
                    next[r][c] -= dot(&product[r], &square[c]);
                }
            }
            return Ok(());
        }
        let (before, _) = self.panel[..panel.len() * N].as_chunks_mut::<N>();
        before.copy_from_slice(panel);
        for (row, before) in panel.iter_mut().zip(before.iter()) {
            *row = times(before, &inverse);
        }
        let below = symbolic.below(column);
        for (k, block) in below.iter().enumerate() {
            let target = &symbolic.columns[block.position];
            let width = block.size;
            let across = &before[block.panel_row..][..width];
            // struct(k) beyond j is part of struct(j): both rise, so one walk finds every target.
            let mut candidates = symbolic.below(target).iter();
            for (m, row) in below[k..].iter().enumerate() {
                let at = if m == 0 {
                    target.pivot_at
                } else {
                    let Some(found) = candidates.find(|candidate| candidate.position == row.position) else { break };
                    target.panel_at + found.panel_row * width
                };
                let out = &mut later[at - column.panel_end..][..row.size * width];
                let rows = &panel[row.panel_row..][..row.size];
                for (out, row) in out.chunks_exact_mut(width.max(1)).zip(rows) {
                    for (value, across) in out.iter_mut().zip(across) {
                        *value -= dot(row, across);
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes a column, and those linked behind it, from the rows below; returns the place after them.
    #[inline]
    fn forward<const N: usize>(&self, mut place: usize, x: &mut [f64]) -> usize {
        let symbolic = &*self.symbolic;
        let mut own = read::<N>(x, symbolic.columns[place].start);
        while self.linked[place] {
            let (panel, _) = self.values[symbolic.columns[place].panel_at..][..N * N].as_chunks::<N>();
            place += 1;
            let next = &mut x[symbolic.columns[place].start..][..N];
            for r in 0..N {
                next[r] -= dot(&panel[r], &own);
            }
            own.copy_from_slice(next);
        }
        let column = &symbolic.columns[place];
        let (panel, _) = self.values[column.panel_at..column.panel_end].as_chunks::<N>();
        for block in symbolic.below(column) {
            let rows = &panel[block.panel_row..][..block.size];
            for (value, row) in x[block.start..][..block.size].iter_mut().zip(rows) {
                *value -= dot(row, &own);
            }
        }
        place + 1
    }

    /// Solves a column, and those linked before it, for its own rows; returns the first place done.
    #[inline]
    fn backward<const N: usize>(&self, mut place: usize, x: &mut [f64]) -> usize {
        let symbolic = &*self.symbolic;
        let column = &symbolic.columns[place];
        let mut own = self.through_pivot::<N>(column, x);
        let (panel, _) = self.values[column.panel_at..column.panel_end].as_chunks::<N>();
        for block in symbolic.below(column) {
            let rows = &panel[block.panel_row..][..block.size];
            for (&value, row) in x[block.start..][..block.size].iter().zip(rows) {
                for c in 0..N {
                    own[c] -= row[c] * value;
                }
            }
        }
        x[column.start..][..N].copy_from_slice(&own);
        while place > 0 && self.linked[place - 1] {
            place -= 1;
            let column = &symbolic.columns[place];
            let (panel, _) = self.values[column.panel_at..][..N * N].as_chunks::<N>();
            let mut sums = [self.through_pivot::<N>(column, x), [0.0; N]];
            for r in 0..N {
                for c in 0..N {
                    sums[r % 2][c] -= panel[r][c] * own[r];
                }
            }
            for c in 0..N {
                own[c] = sums[0][c] + sums[1][c];
            }
            x[column.start..][..N].copy_from_slice(&own);
        }
        place
    }

    /// A_kk^-1 times a column's own rows.
    #[inline(always)]
    fn through_pivot<const N: usize>(&self, column: &Column, x: &[f64]) -> [f64; N] {
        let (pivot, _) = self.values[column.pivot_at..][..N * N].as_chunks::<N>();
        let own = read::<N>(x, column.start);
        let mut out = [0.0; N];
        for r in 0..N {
            // By columns, which of a symmetric square are its rows: no sum waits for itself.
            for c in 0..N {
                out[c] += pivot[r][c] * own[r];
            }
        }
        out
    }
}

#[inline(always)]
fn read<const N: usize>(x: &[f64], start: usize) -> [f64; N] {
    let mut own = [0.0; N];
    own.copy_from_slice(&x[start..][..N]);
    own
}

/// a . b, even and odd entries apart: along a chain every product waits for the last one, so what counts is how soon it is there.
#[inline(always)]
fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    let mut sums = [0.0; 2];
    for k in 0..N {
        sums[k % 2] += a[k] * b[k];
    }
    sums[0] + sums[1]
}

/// A row times a square.
#[inline(always)]
fn times<const N: usize>(row: &[f64; N], square: &[[f64; N]; N]) -> [f64; N] {
    let mut out = [0.0; N];
    for c in 0..N {
        out[c] = row[0] * square[0][c];
    }
    for m in 1..N {
        for c in 0..N {
            out[c] += row[m] * square[m][c];
        }
    }
    out
}

/// The product of two squares.
#[inline(always)]
fn multiply<const N: usize>(a: &[[f64; N]; N], b: &[[f64; N]; N]) -> [[f64; N]; N] {
    let mut out = [[0.0; N]; N];
    for r in 0..N {
        out[r] = times(&a[r], b);
    }
    out
}

/// The inverse L^-T D^-1 L^-1 of a symmetric square of which the lower triangle is read; `accept(row, pivot)` returns the pivot to use.
#[inline(always)]
fn invert<const N: usize>(
    square: &[[f64; N]; N],
    mut accept: impl FnMut(usize, f64) -> Result<f64, LdlError>,
) -> Result<[[f64; N]; N], LdlError> {
    let mut lower = *square;
    // Rows of L^-1, unit lower, and those of D^-1 L^-1, found as the pivots are.
    let mut unit = [[0.0; N]; N];
    let mut divided = [[0.0; N]; N];
    let mut inverse = [0.0; N];
    for r in 0..N {
        let mut pivot = lower[r][r];
        for c in 0..r {
            let mut y = lower[r][c];
            for m in 0..c {
                y -= lower[r][m] * lower[c][m] * inverse[m];
            }
            lower[r][c] = y;
        }
        for c in 0..r {
            pivot -= lower[r][c] * lower[r][c] * inverse[c];
        }
        inverse[r] = 1.0 / accept(r, pivot)?;
        unit[r][r] = 1.0;
        for c in 0..r {
            let l = lower[r][c] * inverse[c];
            for m in 0..=c {
                unit[r][m] -= l * unit[c][m];
            }
        }
        for c in 0..=r {
            divided[r][c] = unit[r][c] * inverse[r];
        }
    }
    let mut out = [[0.0; N]; N];
    for r in 0..N {
        for c in 0..=r {
            let mut sum = 0.0;
            for m in r..N {
                sum += unit[m][r] * divided[m][c];
            }
            out[r][c] = sum;
            out[c][r] = sum;
        }
    }
    Ok(out)
}
