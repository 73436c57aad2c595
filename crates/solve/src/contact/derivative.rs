//! The derivative of a solved problem by the sparse system of its modes, and its transpose; theory (16.26)-(16.30).
//!
//! At a solution l = R(l - rho w) the changes obey (1 - P + rho P W) dl = -rho P (dW l + du) + dR, with the slope P of every law. The squares of P
//! are all that is kept beside the system's own factor, so memory grows with the contacts and never with their square. Redundant contacts make the
//! matrix singular: a shift, a fixed number of rounds that take it back, and filters for what has no derivative make one linear map of it, with an
//! exact transpose.

#[cfg(test)]
mod tests;

use super::law::{LawChange, WIDEST};
use super::system::{Layout, System};
use super::task::Task;
use crate::status::RESIDUAL_WANTED;

/// Parts of a law's slope that the shift takes, theory (16.28), the second where the residual of the first is too large. Rounding (1e-16) is magnified
/// by the inverse where contacts are redundant, and every round gains the inverse times the softest motion's share of the answer of one contact: a
/// column of 5000 balls is softer than the first.
pub const SHIFTS: [f64; 2] = [1e-7, 1e-10];
/// Rounds that take the shift back. A fixed number, so that the solve is a linear map and the transposed one its exact transpose.
const ROUNDS: usize = 5;
/// Powers of the filters that leave out what has no derivative.
const FILTERS: usize = 4;
/// Residuals of the solution within which a switch is not decided by rounding, theory (16.2).
const NOTHING: f64 = 10.0;

/// How a solve with the system of the modes went.
#[must_use]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fit {
    /// Largest miss of the linear system, over its largest right-hand side; infinite where it could not be factored.
    pub residual: f64,
    /// Largest part of the right-hand side that has no derivative, since contacts are redundant, over the largest of all.
    pub lost: f64,
}

impl Fit {
    const FAILED: Fit = Fit { residual: f64::INFINITY, lost: f64::INFINITY };
}

/// The derivative of the impulses of one solved problem; keeps its scratch between problems.
#[derive(Clone, Debug, Default)]
pub struct Derivative {
    shift: f64,
    /// rho of each block.
    step: Vec<f64>,
    /// P, (1 - (1 - shift) P)^-1, and rho times their product, by squares.
    slopes: Vec<f64>,
    lifts: Vec<f64>,
    drives: Vec<f64>,
    symmetric: bool,
    /// How the impulses move with the numbers of each law.
    by_numbers: Vec<[LawChange; WIDEST]>,
    velocity: Vec<f64>,
    right: Vec<f64>,
    filtered: Vec<f64>,
    total: Vec<f64>,
    lacking: Vec<f64>,
    held: Vec<f64>,
    response: Vec<f64>,
}

impl Derivative {
    /// Linearises the laws at the solution and factors their system, shifted by one of [`SHIFTS`]; false where that cannot be done.
    pub fn prepare<S: System>(&mut self, system: &mut S, task: &Task, impulses: &[f64], shift: f64) -> bool {
        self.shift = shift;
        let n = impulses.len();
        for list in [
            &mut self.velocity,
            &mut self.right,
            &mut self.filtered,
            &mut self.total,
            &mut self.lacking,
            &mut self.held,
            &mut self.response,
        ] {
            list.clear();
            list.resize(n, 0.0);
        }
        let residual = task.judge(system, impulses, &mut self.velocity);
        if !residual.is_finite() {
            return false;
        }
        let nothing = NOTHING * residual.max(RESIDUAL_WANTED) * task.scale;
        let squares = system.layout().squares();
        for list in [&mut self.slopes, &mut self.lifts, &mut self.drives] {
            list.clear();
            list.resize(squares, 0.0);
        }
        self.step.clear();
        self.by_numbers.clear();
        self.symmetric = true;
        for (block, law) in task.laws.iter().enumerate() {
            let (rows, square) = (system.layout().rows_of(block), system.layout().square_of(block));
            let d = rows.len();
            let own = &system.own()[square.clone()];
            let trace: f64 = (0..d).map(|k| own[k * (d + 1)]).sum();
            // Impulse and velocity weigh the same at the block's own answer, so that the larger of the two decides its mode.
            let rho = if trace > 0.0 { d as f64 / trace } else { 0.0 };
            let (mut z, mut inner, mut scratch) = ([0.0; WIDEST], [0.0; WIDEST], [0.0; WIDEST]);
            law.centre(f64::MAX / 4.0, &mut inner[..d]);
            for (k, row) in rows.enumerate() {
                z[k] = impulses[row] - rho * self.velocity[row];
                inner[k] = z[k] + (inner[k] - z[k]).clamp(-rho * nothing, rho * nothing);
            }
            // Where both sides of a complementarity vanish the block counts as active: what it does a little further inside.
            scratch.copy_from_slice(&z);
            let found = law.project(&mut scratch[..d], None);
            scratch.copy_from_slice(&inner);
            if law.project(&mut scratch[..d], None) != found {
                z = inner;
            }
            scratch.copy_from_slice(&z);
            let slope = &mut self.slopes[square.clone()];
            let _ = law.project(&mut scratch[..d], Some(&mut *slope));
            self.symmetric &= (0..d).all(|i| (0..i).all(|j| slope[i * d + j] == slope[j * d + i]));
            let lift = &mut self.lifts[square.clone()];
            if !invert_shifted(slope, d, shift, lift) {
                return false;
            }
            let drive = &mut self.drives[square];
            for i in 0..d {
                for j in 0..d {
                    drive[i * d + j] = rho * (0..d).map(|k| lift[i * d + k] * slope[k * d + j]).sum::<f64>();
                }
            }
            let mut by_numbers = [LawChange::default(); WIDEST];
            law.by_numbers(&z[..d], &mut by_numbers[..d]);
            self.by_numbers.push(by_numbers);
            self.step.push(rho);
        }
        system.factor(&self.drives, self.symmetric)
    }

    /// Change of the impulses for the change `drive` = dW l + du of the velocities at fixed impulses, and changes of the laws' numbers, one a block.
    pub fn along<S: System>(&mut self, system: &mut S, drive: &[f64], laws: &[LawChange], impulses_dot: &mut [f64]) -> Fit {
        let mut right = std::mem::take(&mut self.right);
        right.copy_from_slice(drive);
        squares(system.layout(), &self.slopes, false, &mut right);
        for (block, change) in laws.iter().enumerate() {
            for (k, row) in system.layout().rows_of(block).enumerate() {
                right[row] = self.by_numbers[block][k].dot(change) - self.step[block] * right[row];
            }
        }
        let fit = self.solve(system, &mut right, false);
        impulses_dot.copy_from_slice(&right);
        self.right = right;
        fit
    }

    /// The transpose: cotangents of `drive` and of the laws' numbers from that of the impulses. The cotangent of u is that of `drive`, and that of W
    /// its symmetrised product with the impulses, [`matrix_bar`].
    ///
    /// Where contacts are redundant only W l has a derivative; what of `impulses_bar` asks for more is left out and told as [`Fit::lost`].
    pub fn transpose<S: System>(&mut self, system: &mut S, impulses_bar: &[f64], drive_bar: &mut [f64], laws_bar: &mut [LawChange]) -> Fit {
        let mut right = std::mem::take(&mut self.right);
        right.copy_from_slice(impulses_bar);
        let fit = self.solve(system, &mut right, true);
        for (block, bar) in laws_bar.iter_mut().enumerate() {
            *bar = LawChange::default();
            for (k, row) in system.layout().rows_of(block).enumerate() {
                bar.add(right[row], &self.by_numbers[block][k]);
            }
        }
        squares(system.layout(), &self.slopes, true, &mut right);
        for (block, step) in self.step.iter().enumerate() {
            for row in system.layout().rows_of(block) {
                drive_bar[row] = -step * right[row];
            }
        }
        self.right = right;
        fit
    }

    /// Solves A x = b in place, A = 1 - P + rho P W, or A' x = b; theory (16.29).
    fn solve<S: System>(&mut self, system: &mut S, x: &mut [f64], transposed: bool) -> Fit {
        if x.is_empty() {
            return Fit::default();
        }
        if !system.factor(&self.drives, self.symmetric) {
            x.fill(0.0);
            return Fit::FAILED;
        }
        let largest = self.largest(system.layout(), x, transposed);
        // What no x can answer for: (shift P G)^m b, where G is the shifted inverse.
        let mut filtered = std::mem::take(&mut self.filtered);
        filtered.copy_from_slice(x);
        for _ in 0..FILTERS {
            self.inverse(system, &mut filtered, transposed);
            self.shifted(system.layout(), &mut filtered, transposed);
        }
        let lost = self.largest(system.layout(), &filtered, transposed);
        x.iter_mut().zip(&filtered).for_each(|(x, f)| *x -= f);
        // x <- x + G (b - A x), from 0: each round corrects the rounding of the last.
        let (mut total, mut lacking) = (std::mem::take(&mut self.total), std::mem::take(&mut self.lacking));
        total.fill(0.0);
        for _ in 0..ROUNDS {
            lacking.copy_from_slice(x);
            self.miss(system, &total, &mut lacking, transposed);
            self.inverse(system, &mut lacking, transposed);
            total.iter_mut().zip(&lacking).for_each(|(t, c)| *t += c);
        }
        // What b does not tell: (shift G P)^m x.
        filtered.copy_from_slice(&total);
        for _ in 0..FILTERS {
            self.shifted(system.layout(), &mut filtered, transposed);
            self.inverse(system, &mut filtered, transposed);
        }
        total.iter_mut().zip(&filtered).for_each(|(t, f)| *t -= f);
        self.filtered = filtered;
        self.lacking = lacking;
        self.miss(system, &total, x, transposed);
        let residual = self.largest(system.layout(), x, transposed);
        x.copy_from_slice(&total);
        self.total = total;
        // What is not a number never wins a comparison, but it stays in a sum.
        if !x.iter().sum::<f64>().is_finite() {
            x.fill(0.0);
            return Fit::FAILED;
        }
        if largest > 0.0 { Fit { residual: residual / largest, lost: lost / largest } } else { Fit::default() }
    }

    /// x <- shift P x, or its transpose.
    fn shifted(&self, layout: &Layout, x: &mut [f64], transposed: bool) {
        squares(layout, &self.slopes, transposed, x);
        x.iter_mut().for_each(|x| *x *= self.shift);
    }

    /// x <- G x with G = (1 + D W)^-1 (1 - (1 - shift) P)^-1, or its transpose.
    fn inverse<S: System>(&mut self, system: &mut S, x: &mut [f64], transposed: bool) {
        if transposed {
            system.solve_transpose(x);
            squares(system.layout(), &self.lifts, true, x);
        } else {
            squares(system.layout(), &self.lifts, false, x);
            system.solve(x, &mut self.response);
        }
    }

    /// right <- right - A x, or A' x.
    fn miss<S: System>(&mut self, system: &mut S, x: &[f64], right: &mut [f64], transposed: bool) {
        let (mut held, mut response) = (std::mem::take(&mut self.held), std::mem::take(&mut self.response));
        held.copy_from_slice(x);
        if transposed {
            squares(system.layout(), &self.slopes, true, &mut held);
            right.iter_mut().zip(x).zip(&held).for_each(|((r, x), h)| *r -= x - h);
            self.scale(system.layout(), &mut held);
            system.apply(&held, &mut response);
            right.iter_mut().zip(&response).for_each(|(r, w)| *r -= w);
        } else {
            // x - P (x - rho W x).
            system.apply(x, &mut response);
            self.scale(system.layout(), &mut response);
            held.iter_mut().zip(&response).for_each(|(h, w)| *h -= w);
            squares(system.layout(), &self.slopes, false, &mut held);
            right.iter_mut().zip(x).zip(&held).for_each(|((r, x), h)| *r -= x - h);
        }
        self.held = held;
        self.response = response;
    }

    fn scale(&self, layout: &Layout, x: &mut [f64]) {
        for (block, step) in self.step.iter().enumerate() {
            x[layout.rows_of(block)].iter_mut().for_each(|x| *x *= step);
        }
    }

    /// The largest of impulses as velocities, or of cotangents of impulses as those of velocities.
    fn largest(&self, layout: &Layout, x: &[f64], transposed: bool) -> f64 {
        let mut largest = 0.0f64;
        for (block, &step) in self.step.iter().enumerate() {
            let weight = if transposed || step == 0.0 { step } else { 1.0 / step };
            largest = x[layout.rows_of(block)].iter().fold(largest, |most, x| most.max(weight * x.abs()));
        }
        largest
    }
}

/// The entry of the matrix' cotangent at a row and a column, theory (16.30): as symmetric as the matrix, and asked for only where one is stored.
#[inline]
pub fn matrix_bar(drive_bar: &[f64], impulses: &[f64], row: usize, column: usize) -> f64 {
    (drive_bar[row] * impulses[column] + drive_bar[column] * impulses[row]) / 2.0
}

/// x <- the squares times x, block by block, or their transposes.
fn squares(layout: &Layout, values: &[f64], transposed: bool, x: &mut [f64]) {
    for block in 0..layout.blocks() {
        let rows = layout.rows_of(block);
        let (d, square) = (rows.len(), &values[layout.square_of(block)]);
        let x = &mut x[rows];
        let mut out = [0.0; WIDEST];
        for i in 0..d {
            out[i] = (0..d).map(|j| x[j] * square[if transposed { j * d + i } else { i * d + j }]).sum();
        }
        x.copy_from_slice(&out[..d]);
    }
}

/// (1 - (1 - shift) P)^-1 of one square, by elimination with the largest pivots; false where P is no slope of a projection.
fn invert_shifted(slope: &[f64], d: usize, shift: f64, out: &mut [f64]) -> bool {
    let mut a = [[0.0; WIDEST]; WIDEST];
    out.fill(0.0);
    for i in 0..d {
        for j in 0..d {
            a[i][j] = f64::from(u8::from(i == j)) - (1.0 - shift) * slope[i * d + j];
        }
        out[i * d + i] = 1.0;
    }
    for k in 0..d {
        let pivot = (k..d).fold(k, |best, i| if a[i][k].abs() > a[best][k].abs() { i } else { best });
        if a[pivot][k] == 0.0 || a[pivot][k].is_nan() {
            return false;
        }
        if pivot != k {
            a.swap(k, pivot);
            (0..d).for_each(|j| out.swap(k * d + j, pivot * d + j));
        }
        for i in 0..d {
            let factor = a[i][k] / a[k][k];
            if i == k || factor == 0.0 {
                continue;
            }
            for j in 0..d {
                a[i][j] -= factor * a[k][j];
                out[i * d + j] -= factor * out[k * d + j];
            }
        }
    }
    for i in 0..d {
        (0..d).for_each(|j| out[i * d + j] /= a[i][i]);
    }
    true
}
