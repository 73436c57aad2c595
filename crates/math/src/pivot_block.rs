//! The pivot block of a sparse LU: exchanges of rows and columns within a node, scales, triangles, theory (9.17), (9.19).

use crate::ldl::RANK_TOLERANCE;

/// A pivot on the diagonal is taken if it is at least this part of the largest: then a redundant equation is reported with its own
/// unknown, and growth stays bounded by 1 + 1/this a step.
const PREFER_DIAGONAL: f64 = 0.1;

/// Scratch of one pivot block: how it is scaled and what stands where.
#[derive(Clone, Debug)]
pub(crate) struct PivotBlock {
    /// Which row and column of the node stands at each place.
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// Inverse scales of the row and column at each place.
    row_weight: Vec<f64>,
    column_weight: Vec<f64>,
    /// Places kept where some were dropped.
    pub(crate) kept: Vec<usize>,
    /// Kept columns of a block as lines.
    pub(crate) lines: Vec<f64>,
}

impl PivotBlock {
    /// Room for blocks of at most `largest` rows.
    pub(crate) fn new(largest: usize) -> Self {
        let (places, scales) = (vec![0; largest], vec![0.0; largest]);
        let (kept, lines) = (Vec::with_capacity(largest), Vec::with_capacity(largest * largest));
        PivotBlock { rows: places.clone(), columns: places, row_weight: scales.clone(), column_weight: scales, kept, lines }
    }

    /// Scales of rows and columns such that the terms summed into entry (r, c) are at most their product, theory (9.19).
    #[inline(always)]
    pub(crate) fn measure(&mut self, size: usize, terms: &[f64], floor: f64) {
        let (row_weight, column_weight) = (&mut self.row_weight[..size], &mut self.column_weight[..size]);
        let weight = |largest: f64, otherwise: f64| 1.0 / if largest >= f64::MIN_POSITIVE { largest } else { otherwise };
        column_weight.fill(0.0);
        for r in 0..size {
            let row = &terms[r * size..][..size];
            row_weight[r] = weight(row.iter().fold(0.0_f64, |m, x| m.max(*x)), floor);
            for c in 0..size {
                column_weight[c] = column_weight[c].max(row[c] * row_weight[r]);
            }
            self.rows[r] = r;
            self.columns[r] = r;
        }
        for value in column_weight {
            *value = weight(*value, 1.0);
        }
    }

    /// P B Q = L U in place, theory (9.17), the largest scaled entry first; `spare(row, column, value)` is asked for a relative pivot where
    /// nothing is left.
    #[inline(always)]
    pub(crate) fn factor_block<E>(
        &mut self,
        size: usize,
        block: &mut [f64],
        inverse: &mut [f64],
        row_swaps: &mut [usize],
        column_swaps: &mut [usize],
        mut spare: impl FnMut(usize, usize, f64) -> Result<f64, E>,
    ) -> Result<(), E> {
        let block = &mut block[..size * size];
        if let Some(at) = block.iter().position(|value| !value.is_finite()) {
            return spare(at / size, at % size, block[at]).map(|_| ());
        }
        let mut left = true;
        for step in 0..size {
            let (best, row, column) = self.choose(size, block, step);
            left &= best > RANK_TOLERANCE;
            let (row, column) = if left { (row, column) } else { self.pair(size, step) };
            row_swaps[step] = row;
            column_swaps[step] = column;
            if row != step {
                self.rows.swap(step, row);
                self.row_weight.swap(step, row);
                (0..size).for_each(|c| block.swap(step * size + c, row * size + c));
            }
            if column != step {
                self.columns.swap(step, column);
                self.column_weight.swap(step, column);
                (0..size).for_each(|r| block.swap(r * size + step, r * size + column));
            }
            let at = step * (size + 1);
            if !left {
                let relative = spare(self.rows[step], self.columns[step], block[at])?;
                block[at] = relative / (self.row_weight[step] * self.column_weight[step]);
            }
            inverse[step] = 1.0 / block[at];
            for r in step + 1..size {
                let (above, row) = block.split_at_mut(r * size);
                let (above, row) = (&above[step * size..][..size], &mut row[..size]);
                let l = row[step] * inverse[step];
                row[step] = l;
                for c in step + 1..size {
                    row[c] -= l * above[c];
                }
            }
        }
        Ok(())
    }

    /// The largest scaled entry of what is left and its place, or the largest on the diagonal of the node if that is not much smaller.
    #[inline(always)]
    fn choose(&self, size: usize, block: &[f64], step: usize) -> (f64, usize, usize) {
        let (rows, columns) = (&self.rows[..size], &self.columns[..size]);
        let (row_weight, column_weight) = (&self.row_weight[..size], &self.column_weight[..size]);
        let (mut best, mut diagonal) = ((-1.0, step, step), (-1.0, step, step));
        for r in step..size {
            for c in step..size {
                let value = block[r * size + c].abs() * (row_weight[r] * column_weight[c]);
                if value > best.0 {
                    best = (value, r, c);
                }
                if value > diagonal.0 && rows[r] == columns[c] {
                    diagonal = (value, r, c);
                }
            }
        }
        if diagonal.0 >= PREFER_DIAGONAL * best.0 { diagonal } else { best }
    }

    /// Where nothing is left: a row with its own column if both are, else the next of each.
    fn pair(&self, size: usize, step: usize) -> (usize, usize) {
        let own = |r: usize| (step..size).find(|&c| self.columns[c] == self.rows[r]).map(|c| (r, c));
        (step..size).find_map(own).unwrap_or((step, step))
    }
}

/// Applies exchanges in order.
#[inline(always)]
pub(crate) fn exchange<T>(x: &mut [T], swaps: &[usize]) {
    for (r, &with) in swaps.iter().enumerate() {
        x.swap(r, with);
    }
}

/// Undoes exchanges.
#[inline(always)]
pub(crate) fn exchange_back<T>(x: &mut [T], swaps: &[usize]) {
    for (r, &with) in swaps.iter().enumerate().rev() {
        x.swap(r, with);
    }
}

/// x := U^-T x for the upper triangle of a factored block; on a row of a panel, x' := x' U^-1.
#[inline(always)]
pub(crate) fn divide_upper(size: usize, block: &[f64], inverse: &[f64], x: &mut [f64]) {
    let (block, inverse, x) = (&block[..size * size], &inverse[..size], &mut x[..size]);
    for r in 0..size {
        let value = x[r] * inverse[r];
        x[r] = value;
        for c in r + 1..size {
            x[c] -= block[r * size + c] * value;
        }
    }
}

/// x := U^-1 x for the upper triangle of a factored block.
#[inline(always)]
pub(crate) fn solve_upper(size: usize, block: &[f64], inverse: &[f64], x: &mut [f64]) {
    let (block, inverse, x) = (&block[..size * size], &inverse[..size], &mut x[..size]);
    for r in (0..size).rev() {
        let mut sum = x[r];
        for c in r + 1..size {
            sum -= block[r * size + c] * x[c];
        }
        x[r] = sum * inverse[r];
    }
}

/// target += |L| |U| entry by entry: the size of the terms that a product takes from a block.
#[inline(always)]
pub(crate) fn add_sizes(size: usize, width: usize, target: &mut [f64], l: &[f64], u: &[f64]) {
    if width == 0 {
        return;
    }
    for (out, l) in target.chunks_exact_mut(width).zip(l.chunks_exact(size)) {
        for (value, u) in out.iter_mut().zip(u.chunks_exact(size)) {
            let mut sum = 0.0;
            for k in 0..size {
                sum += (l[k] * u[k]).abs();
            }
            *value += sum;
        }
    }
}
