//! Several right-hand sides through a [`BlockFactor`] at once: its numbers are read once for all of them, and no sum waits for itself.

use super::{BlockFactor, by_width, settled};
use crate::widened;

/// Right-hand sides at once.
pub const LANES: usize = 4;

widened! {
    fn both_ways = both_ways_wide / both_ways_plain (factor: &BlockFactor, x: &mut [[f64; LANES]]);
}

#[inline(always)]
fn both_ways_plain(factor: &BlockFactor, x: &mut [[f64; LANES]]) {
    let columns = &factor.symbolic.columns;
    for (place, column) in columns.iter().enumerate() {
        by_width!(column.size, (), factor.lanes_forward(place, x));
    }
    for (place, column) in columns.iter().enumerate().rev() {
        by_width!(column.size, (), factor.lanes_backward(place, x));
    }
}

impl BlockFactor {
    /// x := A^-1 x for several columns side by side; panics where x has not one entry for each scalar row of the matrix.
    pub fn solve_lanes(&self, x: &mut [[f64; LANES]]) {
        assert_eq!(x.len(), self.symbolic.pattern.rows(), "a vector has one entry for each scalar row of the matrix");
        both_ways(self, x);
    }

    /// Takes the rows of a column from all below; right-hand sides of few rows have not reached most columns.
    #[inline(always)]
    fn lanes_forward<const N: usize>(&self, place: usize, x: &mut [[f64; LANES]]) {
        let column = &self.symbolic.columns[place];
        let mut own = [[0.0; LANES]; N];
        own.copy_from_slice(&x[column.start..][..N]);
        if own == [[0.0; LANES]; N] {
            return;
        }
        let (panel, _) = self.values[column.panel_at..column.panel_end].as_chunks::<N>();
        for (row, &below) in panel.iter().zip(&self.rows[self.rows_at[place] as usize..]) {
            let out = &mut x[below as usize];
            for c in 0..N {
                for lane in 0..LANES {
                    out[lane] -= row[c] * own[c][lane];
                }
            }
        }
    }

    /// Solves a column for its own rows from all below.
    #[inline(always)]
    fn lanes_backward<const N: usize>(&self, place: usize, x: &mut [[f64; LANES]]) {
        let column = &self.symbolic.columns[place];
        let (squares, _) = self.values[column.pivot_at..column.panel_end].as_chunks::<N>();
        let (pivot, panel) = squares.split_at(N);
        let mut own = [[0.0; LANES]; N];
        for (row, x) in pivot.iter().zip(&x[column.start..]) {
            for c in 0..N {
                for lane in 0..LANES {
                    own[c][lane] += row[c] * x[lane];
                }
            }
        }
        for (row, &below) in panel.iter().zip(&self.rows[self.rows_at[place] as usize..]) {
            let x = &x[below as usize];
            for c in 0..N {
                for lane in 0..LANES {
                    own[c][lane] -= row[c] * x[lane];
                }
            }
        }
        for (out, own) in x[column.start..].iter_mut().zip(own) {
            *out = settled(own);
        }
    }
}
