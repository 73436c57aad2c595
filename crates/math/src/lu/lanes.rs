//! Several right-hand sides through an [`LuFactor`] at once: its numbers are read once for all of them.

use super::LuFactor;
use crate::pivot_block::{exchange, exchange_back};
use crate::widened;

widened! {
    fn both_ways = both_ways_wide / both_ways_plain [const L: usize] (factor: &LuFactor, x: &mut [[f64; L]]);
}

#[inline(always)]
fn both_ways_plain<const L: usize>(factor: &LuFactor, x: &mut [[f64; L]]) {
    for place in 0..factor.symbolic.columns.len() {
        factor.lanes_forward_transpose(place, x);
    }
    for place in (0..factor.symbolic.columns.len()).rev() {
        factor.lanes_backward_transpose(place, x);
    }
}

/// to -= s from, lane by lane.
#[inline(always)]
fn subtract<const L: usize>(s: f64, from: &[f64; L], to: &mut [f64; L]) {
    for lane in 0..L {
        to[lane] -= s * from[lane];
    }
}

impl LuFactor {
    /// x := A^-T x for several columns side by side; panics where x has not one entry for each scalar row of the matrix.
    pub fn solve_transpose_lanes<const L: usize>(&self, x: &mut [[f64; L]]) {
        assert_eq!(x.len(), self.symbolic.pattern.rows(), "a vector has one entry for each scalar row of the matrix");
        both_ways(self, x);
    }

    /// The first half: U_kk' in place of L_kk, columns in place of rows.
    #[inline(always)]
    fn lanes_forward_transpose<const L: usize>(&self, place: usize, x: &mut [[f64; L]]) {
        let column = &self.symbolic.columns[place];
        let (size, start) = (column.size, column.start);
        let own = &mut x[start..start + size];
        // Right-hand sides of few rows have not reached most columns.
        if own.iter().all(|x| *x == [0.0; L]) {
            return;
        }
        exchange(own, &self.column_swaps[start..][..size]);
        let block = &self.lower[column.pivot_at..][..size * size];
        for r in 0..size {
            let value = own[r].map(|x| x * self.inverse[start + r]);
            own[r] = value;
            for c in r + 1..size {
                subtract(block[r * size + c], &value, &mut own[c]);
            }
        }
        let mut panel = self.upper[column.panel_at..column.panel_end].chunks_exact(size.max(1));
        for block in self.symbolic.below(column) {
            for (row, entries) in (block.start..block.start + block.size).zip(&mut panel) {
                let mut sum = x[row];
                for (entry, own) in entries.iter().zip(&x[start..]) {
                    subtract(*entry, own, &mut sum);
                }
                x[row] = sum;
            }
        }
    }

    /// The second half.
    #[inline(always)]
    fn lanes_backward_transpose<const L: usize>(&self, place: usize, x: &mut [[f64; L]]) {
        let column = &self.symbolic.columns[place];
        let (size, start) = (column.size, column.start);
        let mut panel = self.lower[column.panel_at..column.panel_end].chunks_exact(size.max(1));
        for block in self.symbolic.below(column) {
            for (row, entries) in (block.start..block.start + block.size).zip(&mut panel) {
                let value = x[row];
                for (entry, own) in entries.iter().zip(&mut x[start..]) {
                    subtract(*entry, &value, own);
                }
            }
        }
        let own = &mut x[start..start + size];
        let block = &self.lower[column.pivot_at..][..size * size];
        for r in (1..size).rev() {
            let value = own[r];
            for c in 0..r {
                subtract(block[r * size + c], &value, &mut own[c]);
            }
        }
        exchange_back(own, &self.row_swaps[start..][..size]);
    }
}
