//! Nonnegative least squares by sweeps and conjugate gradients: minimise ½ x·A x + b·x over x ≥ 0, A sparse with a diagonal near 1 (theory (5.23)).
//!
//! A few projected sweeps tell which variables push; conjugate gradients then go towards the minimum over these, drawn back to x ≥ 0 as far as that
//! lowers the objective. Nothing is factored, so that a packing in space, whose factors fill up, costs a few hundred products with A. Where A is
//! badly conditioned, as in high walls, the products are better spent on a factor: the caller says how many there may be.

use crate::impact::nnls::{NnlsReport, NnlsStatus, STATIONARY};
use carom_math::sparse_cholesky::SparseSymmetric;

/// Sweeps of a round.
const SWEEPS: usize = 4;
/// Share of the residual at which conjugate gradients stop within a round: the set that pushes may still be wrong.
const ENOUGH: f64 = 0.1;
/// Share of the final tolerance below which they need not go.
const FINER: f64 = 0.05;
/// Cap on their steps within a round.
const MAX_STEPS: usize = 600;
/// Halvings of a step that does not lower the objective.
const MAX_HALVINGS: usize = 8;
/// Violation of optimality, relative to b, up to which a solution that does not improve any more counts as solved.
const SHARP: f64 = 1e-10;
/// Rounds without an improvement by half, once the solution is sharp, after which it is as good as rounding allows.
const PATIENCE: usize = 3;

/// Solver with its scratch.
#[derive(Clone, Debug, Default)]
pub struct SweepNnls {
    slope: Vec<f64>,
    step: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    image: Vec<f64>,
    free: Vec<usize>,
    products: usize,
}

impl SweepNnls {
    /// Minimises ½ x·A x + b·x over x ≥ 0 from the `x` given, for the symmetric positive semidefinite `matrix` and `linear` b (n), with at most about
    /// `products` products with A. `done` is asked once a round with x and its slope A x + b, and may end the search.
    pub fn solve(
        &mut self,
        matrix: &SparseSymmetric,
        linear: &[f64],
        products: usize,
        x: &mut [f64],
        mut done: impl FnMut(&[f64], &[f64]) -> bool,
    ) -> NnlsReport {
        let n = linear.len();
        let scale = linear.iter().fold(0.0f64, |s, b| s.max(b.abs()));
        for list in [&mut self.slope, &mut self.step, &mut self.residual, &mut self.direction, &mut self.image] {
            list.clear();
            list.resize(n, 0.0);
        }
        self.products = 0;
        let (mut best, mut idle) = (f64::INFINITY, 0);
        loop {
            for sweep in 0..SWEEPS {
                self.sweep(matrix, linear, x, sweep % 2 == 1);
            }
            multiply(matrix, x, &mut self.slope);
            self.products += SWEEPS + 1;
            let mut worst: f64 = 0.0;
            for i in 0..n {
                self.slope[i] += linear[i];
                worst = worst.max(x[i].min(self.slope[i]).abs());
            }
            idle = if worst < best / 2.0 { 0 } else { idle + 1 };
            best = best.min(worst);
            let settled = worst <= STATIONARY * scale || (worst <= SHARP * scale && idle >= PATIENCE);
            if settled || done(x, &self.slope) {
                return NnlsReport { status: NnlsStatus::Solved, changes: self.products, residual: worst };
            }
            if self.products >= products || !worst.is_finite() {
                return NnlsReport { status: NnlsStatus::Capped, changes: self.products, residual: worst };
            }
            self.descend(matrix, x, scale, products);
            self.advance(matrix, x);
        }
    }

    /// One projected sweep, forwards or backwards.
    fn sweep(&self, matrix: &SparseSymmetric, linear: &[f64], x: &mut [f64], backwards: bool) {
        let n = x.len();
        for k in 0..n {
            let i = if backwards { n - 1 - k } else { k };
            let (mut slope, mut own) = (linear[i], 0.0);
            for (j, a) in matrix.entries(i) {
                slope += a * x[j];
                own = if j == i { a } else { own };
            }
            if own > 0.0 {
                x[i] = (x[i] - slope / own).max(0.0);
            }
        }
    }

    /// Conjugate gradients towards the minimum over the variables that push; leaves the way there in `step`.
    fn descend(&mut self, matrix: &SparseSymmetric, x: &[f64], scale: f64, products: usize) {
        self.free.clear();
        self.free.extend((0..x.len()).filter(|&i| x[i] > 0.0));
        self.step.fill(0.0);
        self.direction.fill(0.0);
        let (mut square, mut largest) = (0.0, 0.0f64);
        for &i in &self.free {
            let slope = -self.slope[i];
            self.residual[i] = slope;
            self.direction[i] = slope;
            square += slope * slope;
            largest = largest.max(slope.abs());
        }
        let stop = (ENOUGH * largest).max(FINER * STATIONARY * scale);
        for _ in 0..MAX_STEPS {
            if largest <= stop || self.products >= products {
                break;
            }
            self.products += 1;
            let mut curvature = 0.0;
            for &i in &self.free {
                let image = row_dot(matrix, i, &self.direction);
                self.image[i] = image;
                curvature += image * self.direction[i];
            }
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let length = square / curvature;
            let mut next = 0.0;
            largest = 0.0;
            for &i in &self.free {
                self.step[i] += length * self.direction[i];
                self.residual[i] -= length * self.image[i];
                next += self.residual[i] * self.residual[i];
                largest = largest.max(self.residual[i].abs());
            }
            let ratio = next / square;
            square = next;
            for &i in &self.free {
                self.direction[i] = self.residual[i] + ratio * self.direction[i];
            }
        }
    }

    /// Goes as far along `step`, drawn back to x ≥ 0, as lowers the objective.
    fn advance(&mut self, matrix: &SparseSymmetric, x: &mut [f64]) {
        let mut share = 1.0;
        for _ in 0..MAX_HALVINGS {
            self.direction.fill(0.0);
            for &i in &self.free {
                self.direction[i] = (x[i] + share * self.step[i]).max(0.0) - x[i];
            }
            multiply(matrix, &self.direction, &mut self.image);
            self.products += 1;
            let gain: f64 = self.free.iter().map(|&i| self.direction[i] * (self.slope[i] + self.image[i] / 2.0)).sum();
            if gain < 0.0 {
                for &i in &self.free {
                    x[i] += self.direction[i];
                }
                return;
            }
            share /= 2.0;
        }
    }
}

fn multiply(matrix: &SparseSymmetric, x: &[f64], out: &mut [f64]) {
    for (i, out) in out.iter_mut().enumerate() {
        *out = row_dot(matrix, i, x);
    }
}

fn row_dot(matrix: &SparseSymmetric, i: usize, x: &[f64]) -> f64 {
    let range = matrix.starts[i]..matrix.starts[i + 1];
    let mut sum = 0.0;
    for (&j, a) in matrix.columns[range.clone()].iter().zip(&matrix.values[range]) {
        sum += a * x[j];
    }
    sum
}
