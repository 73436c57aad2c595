//! Predictor-corrector interior point for the linear complementarity problem; theory (4.16).

use super::linear_complementarity::complementarity_residual;
use crate::interrupt::Interrupt;
use crate::status::{Method, Outcome, RESIDUAL_AIM, RESIDUAL_WANTED};
use carom_math::dense::{Lu, dot};

/// Iterations of one run.
const ITERATIONS: usize = 50;
/// Iterations without a better iterate after which a run ends.
const PATIENCE: usize = 5;
/// Power of the gap reduction predicted that sets the centring (Mehrotra).
const CENTRING: i32 = 3;
/// Share of the way to the boundary taken by a step.
const STEP: f64 = 0.99;
/// The same once the gap is below [`SMALL_GAP`].
const STEP_LATE: f64 = 0.999;
/// Mean product z s, in units of the problem, below which steps are longer.
const SMALL_GAP: f64 = 1e-6;
/// Share of the way in the second run, which starts from the centre and moves with care.
const STEP_CAREFUL: f64 = 0.9;
/// Relative diagonal added to the Newton matrix, since redundant and sticking contacts make H singular.
pub const REGULARISATION: f64 = 1e-12;

/// The interior-point method with its scratch.
#[derive(Clone, Debug, Default)]
pub struct InteriorPoint {
    lu: Lu,
    z: Vec<f64>,
    s: Vec<f64>,
    dz: Vec<f64>,
    ds: Vec<f64>,
    correction: Vec<f64>,
    miss: Vec<f64>,
    slack: Vec<f64>,
}

impl InteriorPoint {
    /// A solver without scratch yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves s = H z + r, 0 <= z _|_ s >= 0 for `solution` = z; `matrix` is H, N x N row-major with entries of order 1, `offset` is r.
    pub fn solve(&mut self, matrix: &[f64], offset: &[f64], solution: &mut [f64], interrupt: &Interrupt) -> Outcome {
        let n = offset.len();
        solution.fill(0.0);
        if matrix.len() != n * n || solution.len() != n || !offset.iter().chain(matrix).all(|x| x.is_finite()) {
            return Outcome::failed(0, Method::InteriorPoint);
        }
        if offset.iter().all(|&r| r >= 0.0) {
            return Outcome::judge(0.0, RESIDUAL_WANTED, 0, Method::InteriorPoint);
        }
        for buffer in [&mut self.z, &mut self.s, &mut self.dz, &mut self.ds, &mut self.correction, &mut self.miss, &mut self.slack] {
            buffer.clear();
            buffer.resize(n, 0.0);
        }
        let mut best = f64::INFINITY;
        let mut iterations = 0;
        for careful in [false, true] {
            if careful || !self.first_point(matrix, offset) {
                self.z.fill(1.0);
                self.s.fill(1.0);
            }
            iterations += self.run(matrix, offset, solution, &mut best, careful, interrupt);
            if best <= RESIDUAL_WANTED {
                break;
            }
        }
        Outcome::judge(best, RESIDUAL_WANTED, iterations, Method::InteriorPoint)
    }

    /// The starting point of Mattingley and Boyd: (H + 1) z = -r, s = -z, each shifted to be positive.
    fn first_point(&mut self, matrix: &[f64], offset: &[f64]) -> bool {
        let n = offset.len();
        let system = self.lu.matrix(n);
        system.copy_from_slice(matrix);
        for i in 0..n {
            system[i * n + i] += 1.0;
            self.z[i] = -offset[i];
        }
        if self.lu.factor().is_err() {
            return false;
        }
        self.lu.solve(&mut self.z);
        let most = self.z.iter().fold(f64::NEG_INFINITY, |m, z| m.max(*z));
        let least = self.z.iter().fold(f64::INFINITY, |m, z| m.min(*z));
        if !(most.is_finite() && least.is_finite()) {
            return false;
        }
        for (z, s) in self.z.iter_mut().zip(&mut self.s) {
            *s = if most < 0.0 { -*z } else { 1.0 + most - *z };
            if least <= 0.0 {
                *z += 1.0 - least;
            }
        }
        true
    }

    /// Iterates from the present point; keeps the iterate of least residual in `solution`. Returns the iterations used.
    fn run(&mut self, matrix: &[f64], offset: &[f64], solution: &mut [f64], best: &mut f64, careful: bool, interrupt: &Interrupt) -> usize {
        let n = offset.len();
        let mut idle = 0;
        let mut own_best = f64::INFINITY;
        for iteration in 0..ITERATIONS {
            let residual = complementarity_residual(matrix, offset, &self.z, &mut self.slack);
            let gap = dot(&self.z, &self.s) / n as f64;
            if residual < *best {
                *best = residual;
                solution.copy_from_slice(&self.z);
            }
            // Progress is judged by the gap together with the equations, since the natural map falls late.
            let merit = self.slack.iter().zip(&self.s).fold(gap, |m, (a, b)| m.max((a - b).abs()));
            idle = if merit < own_best { 0 } else { idle + 1 };
            own_best = own_best.min(merit);
            if *best <= RESIDUAL_AIM || idle >= PATIENCE || !merit.is_finite() || interrupt.raised() {
                return iteration;
            }
            // The Newton matrix H + D(s/z) serves both directions.
            let system = self.lu.matrix(n);
            system.copy_from_slice(matrix);
            for i in 0..n {
                let weight = self.s[i] / self.z[i];
                let diagonal = &mut system[i * n + i];
                *diagonal += weight + REGULARISATION * (1.0 + diagonal.abs());
                self.miss[i] = self.slack[i] - self.s[i];
                self.dz[i] = -self.miss[i] - self.s[i];
            }
            if self.lu.factor().is_err() {
                return iteration;
            }
            // Affine direction and its step length.
            self.lu.solve(&mut self.dz);
            for i in 0..n {
                self.ds[i] = -self.s[i] - self.s[i] / self.z[i] * self.dz[i];
            }
            let affine = self.longest_step().min(1.0);
            let mut after = 0.0;
            for i in 0..n {
                after += (self.z[i] + affine * self.dz[i]) * (self.s[i] + affine * self.ds[i]);
            }
            let centring = (after.max(0.0) / n as f64 / gap).powi(CENTRING);
            // Corrector with the same factor; both directions are added.
            for i in 0..n {
                self.slack[i] = (centring * gap - self.dz[i] * self.ds[i]) / self.z[i];
                self.correction[i] = self.slack[i];
            }
            self.lu.solve(&mut self.correction);
            for i in 0..n {
                self.ds[i] += self.slack[i] - self.s[i] / self.z[i] * self.correction[i];
                self.dz[i] += self.correction[i];
            }
            let share = if careful {
                STEP_CAREFUL
            } else if gap < SMALL_GAP {
                STEP_LATE
            } else {
                STEP
            };
            let step = (share * self.longest_step()).min(1.0);
            for i in 0..n {
                self.z[i] += step * self.dz[i];
                self.s[i] += step * self.ds[i];
            }
        }
        ITERATIONS
    }

    /// Longest step that keeps z and s nonnegative.
    fn longest_step(&self) -> f64 {
        let mut step = f64::INFINITY;
        for (x, dx) in self.z.iter().zip(&self.dz).chain(self.s.iter().zip(&self.ds)) {
            if *dx < 0.0 {
                step = step.min(-x / dx);
            }
        }
        step
    }
}
