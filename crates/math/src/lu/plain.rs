//! LU without exchanges, for matrices near a symmetric positive one: pivots in their order, what depends on others set aside.

use super::{Dropped, ENTANGLED, LuFactor, NOISE};
use crate::block_matrix::BlockMatrix;
use crate::ldl::RANK_TOLERANCE;
use crate::pivot_block::{PivotBlock, divide_upper};
use crate::small::{by_size, forward_block, subtract_product};
use crate::symbolic::Symbolic;
use std::sync::Arc;

/// Least part of its diagonal entry that a pivot may come to where none is exchanged: what is lost to cancellation stays below four digits, and
/// rows that repeat others (rounding, 1e-16) are far below it.
pub const PLAIN: f64 = 1e-4;

/// Largest size that the kernels are unrolled for.
const UNROLLED: usize = 6;

impl LuFactor {
    /// Factors without exchanges, in half the time or less: meant for matrices near a symmetric positive one, whose pivots need no search. An
    /// equation that depends on those before it in its node is dropped. `false` where a pivot is neither sound ([`PLAIN`]) nor nothing, or
    /// where what is dropped reaches other nodes; then the factor stands for the identity.
    pub fn factor_plain(&mut self, matrix: &BlockMatrix) -> bool {
        let symbolic = Arc::clone(&self.symbolic);
        if !Arc::ptr_eq(matrix.pattern(), &symbolic.pattern) && matrix.pattern() != &symbolic.pattern {
            return false;
        }
        self.dropped.clear();
        self.entangled = false;
        self.load(&symbolic, matrix);
        for column in &symbolic.columns {
            for r in 0..column.size {
                // The diagonal before elimination waits where its inverse will stand.
                self.inverse[column.start + r] = self.lower[column.pivot_at + r * (column.size + 1)];
                self.row_swaps[column.start + r] = r;
                self.column_swaps[column.start + r] = r;
            }
        }
        let floor = matrix.max_abs();
        for place in 0..symbolic.columns.len() {
            let mut sound = true;
            by_size!(symbolic.columns[place].size, size => sound = self.eliminate_plain(&symbolic, place, size, floor));
            if !sound {
                self.reset();
                return false;
            }
        }
        true
    }

    /// Factors one column and row and takes their product from those after them; `false` where that needs exchanges.
    #[inline(always)]
    fn eliminate_plain(&mut self, symbolic: &Symbolic, place: usize, size: usize, floor: f64) -> bool {
        let column = &symbolic.columns[place];
        let (head, later_lower) = self.lower.split_at_mut(column.panel_end);
        let (pivot, panel_lower) = head[column.pivot_at..].split_at_mut(size * size);
        let (head, later_upper) = self.upper.split_at_mut(column.panel_end);
        let panel_upper = &mut head[column.pivot_at + size * size..];
        let inverse = &mut self.inverse[column.start..][..size];
        let dropped = self.dropped.len();
        for step in 0..size {
            let (value, scale) = (pivot[step * (size + 1)], inverse[step]);
            if value > 0.0 && value >= PLAIN * scale && value.is_finite() {
                inverse[step] = 1.0 / value;
            } else if nothing_left(size, step, pivot, inverse) {
                // A pivot without inverse: its unknown is zero and its equation counts for nothing.
                self.dropped.push(Dropped { node: symbolic.order[place], row: step, column: step });
                inverse[step] = 0.0;
                (step + 1..size).for_each(|r| pivot[r * size + step] = 0.0);
                continue;
            } else {
                return false;
            }
            for r in step + 1..size {
                let (above, row) = pivot.split_at_mut(r * size);
                let (above, row) = (&above[step * size..][..size], &mut row[..size]);
                let l = row[step] * inverse[step];
                row[step] = l;
                for c in step + 1..size {
                    row[c] -= l * above[c];
                }
            }
        }
        // Places that were kept, in order, where some were not.
        let PivotBlock { kept, lines, .. } = &mut self.scratch;
        kept.clear();
        if self.dropped.len() == dropped {
            for row in panel_lower.chunks_exact_mut(size) {
                divide_upper(size, pivot, inverse, row);
            }
            for row in panel_upper.chunks_exact_mut(size) {
                forward_block(size, pivot, row);
            }
        } else {
            kept.extend((0..size).filter(|&k| inverse[k] != 0.0));
            // Kept columns of L as lines: what follows runs along them.
            lines.clear();
            kept.iter().for_each(|&c| lines.extend((0..size).map(|r| pivot[r * size + c])));
            let mut reaches = false;
            for row in panel_lower.chunks_exact_mut(size) {
                reaches |= divide_left(size, kept, pivot, inverse, row, floor);
            }
            for row in panel_upper.chunks_exact_mut(size) {
                reaches |= forward_left(size, kept, lines, inverse, row, floor);
            }
            if reaches {
                return false;
            }
        }
        let below = symbolic.below(column);
        for (k, block) in below.iter().enumerate() {
            let target = &symbolic.columns[block.position];
            let width = block.size;
            let rows = block.panel_row * size..(block.panel_row + width) * size;
            let (l, u) = (&panel_lower[rows.clone()], &panel_upper[rows]);
            let at = target.pivot_at - column.panel_end;
            take_kept(size, (kept, lines), width, &mut later_lower[at..][..width * width], l, u);
            let mut candidates = symbolic.below(target).iter();
            for row in &below[k + 1..] {
                let Some(found) = candidates.find(|candidate| candidate.position == row.position) else { break };
                let to = target.panel_at + found.panel_row * width - column.panel_end;
                let to = to..to + row.size * width;
                let rows = row.panel_row * size..(row.panel_row + row.size) * size;
                take_kept(size, (kept, lines), width, &mut later_lower[to.clone()], &panel_lower[rows.clone()], u);
                take_kept(size, (kept, lines), width, &mut later_upper[to], &panel_upper[rows], l);
            }
        }
        true
    }
}

/// Whether the pivot at a step and what stands beside and below it is rounding beside the diagonal `before` of these rows.
#[inline]
fn nothing_left(size: usize, step: usize, block: &[f64], before: &[f64]) -> bool {
    let own = before[step];
    if block[step * (size + 1)].abs() > RANK_TOLERANCE * own {
        return false;
    }
    (step + 1..size).all(|other| {
        let largest = block[step * size + other].abs().max(block[other * size + step].abs());
        largest * largest <= ENTANGLED * ENTANGLED * own * before[other]
    })
}

/// x' := x' U^-1 over the kept places; `true` if the row reaches one of the others, which are cleared.
#[inline(always)]
fn divide_left(size: usize, kept: &[usize], block: &[f64], inverse: &[f64], x: &mut [f64], floor: f64) -> bool {
    let enough = ENTANGLED * x.iter().fold(NOISE * floor, |m, value| m.max(value.abs()));
    let x = &mut x[..size];
    for &r in kept {
        let value = x[r] * inverse[r];
        x[r] = value;
        x[r + 1..].iter_mut().zip(&block[r * size + r + 1..]).for_each(|(x, u)| *x -= u * value);
    }
    clear_left(inverse, x, enough)
}

/// x := L^-1 x likewise.
#[inline(always)]
fn forward_left(size: usize, kept: &[usize], lines: &[f64], inverse: &[f64], x: &mut [f64], floor: f64) -> bool {
    let enough = ENTANGLED * x.iter().fold(NOISE * floor, |m, value| m.max(value.abs()));
    let x = &mut x[..size];
    for (&c, line) in kept.iter().zip(lines.chunks_exact(size)) {
        let value = x[c];
        x[c + 1..].iter_mut().zip(&line[c + 1..]).for_each(|(x, l)| *x -= l * value);
    }
    clear_left(inverse, x, enough)
}

/// Clears places without inverse; `true` if more than rounding stood there.
#[inline]
fn clear_left(inverse: &[f64], x: &mut [f64], enough: f64) -> bool {
    let mut reaches = false;
    for (value, inverse) in x.iter_mut().zip(inverse) {
        if *inverse == 0.0 {
            // A NaN reaches too.
            reaches |= value.abs() > enough || value.is_nan();
            *value = 0.0;
        }
    }
    reaches
}

/// target -= L U' over the kept places, or all where none are named; `lines` is room for the kept columns of U.
#[inline(always)]
fn take_kept(size: usize, (kept, lines): (&[usize], &mut Vec<f64>), width: usize, target: &mut [f64], l: &[f64], u: &[f64]) {
    // What was dropped is zero: in small blocks it costs less to take it along.
    if kept.is_empty() || size <= UNROLLED {
        return subtract_product(size, width, target, l, u);
    }
    lines.clear();
    kept.iter().for_each(|&k| lines.extend(u.chunks_exact(size).map(|row| row[k])));
    for (out, l) in target.chunks_exact_mut(width.max(1)).zip(l.chunks_exact(size)) {
        for (&k, line) in kept.iter().zip(lines.chunks_exact(width.max(1))) {
            let factor = l[k];
            out.iter_mut().zip(line).for_each(|(value, u)| *value -= factor * u);
        }
    }
}
