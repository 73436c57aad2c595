//! Rows between two bodies that repeat others: four corners with friction are twelve rows on six freedoms, theory (17.4).
//!
//! A row or an unknown is left out only where it is a combination of those kept towards everything: the rows of its own pair, the bodies
//! on both sides and the time. What the others answer is then the same with and without it.

use crate::gradient::slots::put;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench, widened};

/// Pivots below this fraction of the first, rows and columns scaled to one, are rounding.
const RANK_TOLERANCE: f64 = 1e-11;

/// A combination is exact where what is left is below this part of what it was.
const COMBINED: f64 = 1e-9;

/// Least part of its diagonal entry that a pivot may come to where only the diagonal is searched.
const EVEN: f64 = 1e-4;

/// Room for one search.
#[derive(Debug, Default)]
pub(crate) struct Redundant {
    values: Vec<f64>,
    row_weight: Vec<f64>,
    column_weight: Vec<f64>,
    /// Velocities of the unknowns, a line for each number.
    moved: Vec<f64>,
    /// Diagonal before the elimination, and which rows are left.
    diagonal: Vec<f64>,
    left: Vec<bool>,
    /// The row of the pivot at hand.
    lead: Vec<f64>,
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
                put::<G>(felt[side][r].lin, felt[side][r].ang, &mut line[n + side * G::DOF..]);
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

    /// The same where rows answer to velocities alone, whose matrix is near a symmetric one without negative directions: rows and unknowns are left out
    /// together, and only the diagonal is searched. `false` where that does not do.
    pub fn find_even<G: Geometry>(&mut self, felt: [&[Wrench<G>]; 2], answers: [&[Twist<G>]; 2]) -> bool {
        let (n, sides) = (felt[0].len(), 2 * G::DOF);
        let width = n + sides;
        self.moved.clear();
        self.moved.resize(n * sides, 0.0);
        for (side, answers) in answers.iter().enumerate() {
            for (c, answer) in answers.iter().enumerate() {
                let mut numbers = [0.0; 6];
                put::<G>(answer.lin, answer.ang, &mut numbers);
                let lines = self.moved[side * G::DOF * n..].chunks_exact_mut(n);
                lines.zip(&numbers[..G::DOF]).for_each(|(line, value)| line[c] = *value);
            }
        }
        // [rows x unknowns | covectors].
        self.values.clear();
        self.values.resize(width * n, 0.0);
        for (r, line) in self.values.chunks_exact_mut(width).enumerate() {
            for (side, felt) in felt.iter().enumerate() {
                put::<G>(felt[r].lin, felt[r].ang, &mut line[n + side * G::DOF..]);
            }
        }
        eliminate_even(self, n, sides)
    }

    #[inline(always)]
    fn even(&mut self, n: usize, sides: usize) -> bool {
        let width = n + sides;
        let Redundant { values, moved, diagonal, lead, left, rows, columns, .. } = self;
        let (mut felt_size, mut moved_size) = ([0.0_f64; 12], [0.0_f64; 12]);
        for (size, line) in moved_size.iter_mut().zip(moved.chunks_exact(n)) {
            *size = line.iter().fold(0.0, |m: f64, value| m.max(value.abs()));
        }
        for line in values.chunks_exact_mut(width) {
            let (own, felt) = line.split_at_mut(n);
            for ((felt, moved), size) in felt.iter().zip(moved.chunks_exact(n)).zip(&mut felt_size) {
                if *felt != 0.0 {
                    subtract(own, -felt, moved);
                    *size = size.max(felt.abs());
                }
            }
        }
        diagonal.clear();
        diagonal.extend((0..n).map(|k| values[k * width + k]));
        left.clear();
        left.resize(n, true);
        for _ in 0..n {
            let (mut most, mut k) = (RANK_TOLERANCE, n);
            for r in 0..n {
                let part = values[r * width + r] / diagonal[r];
                if left[r] && part > most {
                    (most, k) = (part, r);
                }
            }
            if k == n {
                break;
            }
            if most < EVEN {
                return false;
            }
            left[k] = false;
            lead.clear();
            lead.extend_from_slice(&values[k * width..(k + 1) * width]);
            let inverse = 1.0 / lead[k];
            for (line, left) in values.chunks_exact_mut(width).zip(&*left) {
                if *left {
                    let factor = line[k] * inverse;
                    subtract(line, factor, lead);
                }
            }
            for line in moved.chunks_exact_mut(n) {
                let factor = line[k] * inverse;
                if factor != 0.0 {
                    subtract(line, factor, &lead[..n]);
                }
            }
        }
        rows.clear();
        rows.extend((0..n).filter(|&r| !left[r]));
        columns.clone_from(rows);
        let felt_left = |line: &[f64]| line[n..].iter().zip(&felt_size).all(|(value, size)| value.abs() <= COMBINED * size);
        let moved_left = |line: &[f64], size: f64| line.iter().zip(&*left).all(|(value, left)| !left || value.abs() <= COMBINED * size);
        rows.len() < n
            && values.chunks_exact(width).zip(&*left).all(|(line, left)| !left || felt_left(line))
            && moved.chunks_exact(n).zip(moved_size).all(|(line, size)| moved_left(line, size))
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

/// line -= factor lead.
#[inline(always)]
fn subtract(line: &mut [f64], factor: f64, lead: &[f64]) {
    line.iter_mut().zip(lead).for_each(|(value, lead)| *value -= factor * lead);
}

widened! {
    fn eliminate_even = eliminate_even_wide / eliminate_even_plain (of: &mut Redundant, n: usize, sides: usize) -> bool;
}

#[inline(always)]
fn eliminate_even_plain(of: &mut Redundant, n: usize, sides: usize) -> bool {
    of.even(n, sides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_math::Spatial;
    use nalgebra::Vector3;

    type Lists<T> = [Vec<T>; 2];

    /// Four corners with friction between two bodies; the second feels one row more than the first does.
    fn corners(extra: f64) -> (Lists<Wrench<Spatial>>, Lists<Twist<Spatial>>) {
        let mut felt: Lists<Wrench<Spatial>> = Default::default();
        let mut answers: Lists<Twist<Spatial>> = Default::default();
        for corner in [[1.0, 0.9], [1.1, -1.0], [-0.8, 1.0], [-1.0, -1.2]] {
            for direction in [Vector3::z(), Vector3::x(), Vector3::y()] {
                for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                    let arm = Vector3::new(corner[0], corner[1], -0.5 * sign);
                    let wrench = Wrench { lin: direction * sign, ang: arm.cross(&direction) * sign };
                    felt[side].push(wrench);
                    answers[side].push(Twist { lin: wrench.lin * 0.7, ang: wrench.ang * 1.3 });
                }
            }
        }
        felt[1][7].lin.x += extra;
        (felt, answers)
    }

    #[test]
    fn four_corners_leave_six_rows_that_belong_together() {
        let mut search = Redundant::default();
        let (felt, answers) = corners(0.0);
        assert!(search.find_even::<Spatial>([&felt[0], &felt[1]], [&answers[0], &answers[1]]));
        assert!(search.rows.len() == 6 && search.rows == search.columns, "{:?}", search.rows);
        // The same number of rows as the search of everything keeps.
        assert!(search.find::<Spatial>([&felt[0], &felt[1]], [&answers[0], &answers[1]], std::iter::empty(), |_| 0.0));
        assert_eq!(search.rows.len(), 6);
    }

    #[test]
    fn a_row_that_no_others_make_up_is_not_left_out() {
        let mut search = Redundant::default();
        let (felt, answers) = corners(0.3);
        assert!(!search.find_even::<Spatial>([&felt[0], &felt[1]], [&answers[0], &answers[1]]));
    }
}
