//! Rows between two bodies that repeat others: four corners with friction are twelve rows on six freedoms, theory (17.4).
//!
//! A row or an unknown is left out only where it is a combination of those kept towards everything: the rows of its own pair, the bodies
//! on both sides and the time. What the others answer is then the same with and without it.

use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Pivots below this fraction of the first, rows and columns scaled to one, are rounding.
const RANK_TOLERANCE: f64 = 1e-11;

/// A combination is exact where what is left is below this part of what it was.
const COMBINED: f64 = 1e-9;

/// Room for one search.
#[derive(Debug, Default)]
pub(crate) struct Redundant {
    values: Vec<f64>,
    row_weight: Vec<f64>,
    column_weight: Vec<f64>,
    /// Rows and unknowns that determine the rest, rising.
    pub rows: Vec<usize>,
    /// Unknowns kept, rising.
    pub columns: Vec<usize>,
}

impl Redundant {
    /// Finds what determines the rows of a pair, given the covectors of its rows, the velocities of its unknowns, direct entries
    /// (row, unknown, value) and the column of the time. `false` where all are needed, or where leaving some out would be felt elsewhere.
    pub fn find<G: Geometry>(
        &mut self,
        felt: [&[Wrench<G>]; 2],
        answers: [&[Twist<G>]; 2],
        entries: impl Iterator<Item = (usize, usize, f64)>,
        times: impl Fn(usize) -> f64,
    ) -> bool {
        let n = felt[0].len();
        let sides = 2 * G::DOF;
        let (width, height) = (n + sides + 1, n + sides);
        self.values.clear();
        self.values.resize(width * height, 0.0);
        // [rows x unknowns | covectors | time] over [velocities].
        for r in 0..n {
            let line = &mut self.values[r * width..(r + 1) * width];
            for c in 0..n {
                line[c] = felt[0][r].power(&answers[0][c]) + felt[1][r].power(&answers[1][c]);
            }
            for side in 0..2 {
                crate::gradient::slots::put::<G>(felt[side][r].lin, felt[side][r].ang, &mut line[n + side * G::DOF..]);
            }
            line[n + sides] = times(r);
        }
        for c in 0..n {
            for side in 0..2 {
                let answer = &answers[side][c];
                for (k, value) in answer.lin.as_slice().iter().chain(answer.ang.as_slice()).enumerate() {
                    self.values[(n + side * G::DOF + k) * width + c] = *value;
                }
            }
        }
        for (r, c, value) in entries {
            self.values[r * width + c] += value;
        }
        let mut felt_size = [0.0_f64; 13];
        for r in 0..n {
            for (size, value) in felt_size.iter_mut().zip(&self.values[r * width + n..(r + 1) * width]) {
                *size = size.max(value.abs());
            }
        }
        let mut answer_size = [0.0_f64; 12];
        for (size, line) in answer_size.iter_mut().zip(self.values[n * width..].chunks_exact(width)) {
            *size = line[..n].iter().fold(0.0, |m: f64, value| m.max(value.abs()));
        }
        self.eliminate(n, width);
        let rank = self.rows.len();
        if rank == n {
            return false;
        }
        let mut exact = true;
        for r in (0..n).filter(|r| !self.rows.contains(r)) {
            let left = &self.values[r * width + n..(r + 1) * width];
            exact &= left.iter().zip(&felt_size).all(|(value, size)| value.abs() <= COMBINED * size);
        }
        for (line, size) in self.values[n * width..].chunks_exact(width).zip(&answer_size) {
            exact &= (0..n).filter(|c| !self.columns.contains(c)).all(|c| line[c].abs() <= COMBINED * size);
        }
        self.rows.sort_unstable();
        self.columns.sort_unstable();
        exact
    }

    /// Eliminates with the largest scaled entry of what is left, over the rows of the pair and everything they are felt by.
    fn eliminate(&mut self, n: usize, width: usize) {
        let weight = |largest: f64| if largest > 0.0 { 1.0 / largest } else { 0.0 };
        self.row_weight.clear();
        self.column_weight.clear();
        self.column_weight.resize(n, 0.0);
        for line in self.values.chunks_exact(width).take(n) {
            let own = weight(line[..n].iter().fold(0.0, |m: f64, value| m.max(value.abs())));
            self.row_weight.push(own);
            for (largest, value) in self.column_weight.iter_mut().zip(line) {
                *largest = largest.max(value.abs() * own);
            }
        }
        self.column_weight.iter_mut().for_each(|largest| *largest = weight(*largest));
        self.rows.clear();
        self.columns.clear();
        // A weight of zero marks what is done.
        for _ in 0..n {
            let (mut best, mut row, mut column) = (RANK_TOLERANCE, n, n);
            for (r, line) in self.values.chunks_exact(width).take(n).enumerate() {
                if self.row_weight[r] == 0.0 {
                    continue;
                }
                for c in 0..n {
                    let size = line[c].abs() * self.row_weight[r] * self.column_weight[c];
                    if size > best {
                        (best, row, column) = (size, r, c);
                    }
                }
            }
            if row == n {
                return;
            }
            self.rows.push(row);
            self.columns.push(column);
            self.row_weight[row] = 0.0;
            self.column_weight[column] = 0.0;
            let (above, rest) = self.values.split_at_mut(row * width);
            let (lead, below) = rest.split_at_mut(width);
            let inverse = 1.0 / lead[column];
            let lines = above.chunks_exact_mut(width).chain(below.chunks_exact_mut(width));
            let numbers = (0..row).chain(row + 1..usize::MAX);
            for (number, line) in numbers.zip(lines) {
                if number < n && self.row_weight[number] == 0.0 {
                    continue;
                }
                let factor = line[column] * inverse;
                if factor != 0.0 {
                    line.iter_mut().zip(lead.iter()).for_each(|(value, lead)| *value -= factor * lead);
                }
            }
        }
    }
}
