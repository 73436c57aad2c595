//! Nonnegative least squares with many variables and few couplings: minimise ½ x·A x + b·x over x ≥ 0, A sparse (theory (5.8)).
//!
//! A predictor-corrector interior point finds who pushes: its systems are A plus a positive diagonal, so redundant variables do no harm and
//! the number of steps hardly grows. Proximal steps on that set, centred on the interior solution, then sharpen it to rounding. The
//! variables are eliminated in nested-dissection order: one factor of a planar pile of m contacts costs about m^1.7 operations.

use crate::impact::nnls::{NnlsReport, NnlsStatus, STATIONARY};
use carom_math::sparse_cholesky::{Dissection, Factor, SparseSymmetric};

/// Cap on interior-point steps; 15 to 30 are usual.
const MAX_STEPS: usize = 80;
/// Complementarity x·s per variable, relative to its scale, at which the interior point stops: the set is known by then, and the systems
/// start to lose digits.
const COMPLEMENTARITY: f64 = 1e-13;
/// Share of the way to the nearest bound that a step may go.
const STEP_SHARE: f64 = 0.995;
/// Shift of the diagonal in the proximal steps: large enough that redundant columns factor safely, small enough that few steps remain.
const SHIFT: f64 = 1e-7;
/// Cap on proximal steps; each gains a factor of the smallest nonzero eigenvalue over the shift.
const MAX_PROXIMAL: usize = 30;
/// Cap on corrections of the set after the interior point; none or one is usual.
const MAX_CORRECTIONS: usize = 12;
/// Least diagonal added in an interior-point step: keeps redundant columns factorable to the end.
const LEAST_DIAGONAL: f64 = 1e-14;
/// Solver with its scratch.
#[derive(Clone, Debug, Default)]
pub struct SparseNnls {
    order: Vec<usize>,
    place: Vec<usize>,
    members: Vec<usize>,
    diagonal: Vec<f64>,
    factor: Factor,
    slack: Vec<f64>,
    image: Vec<f64>,
    step: Vec<f64>,
    slack_step: Vec<f64>,
    best: Vec<f64>,
    pushes: Vec<bool>,
    right: Vec<f64>,
    dissection: Dissection,
}

impl SparseNnls {
    /// Minimises ½ x·A x + b·x over x ≥ 0 for the symmetric positive semidefinite `matrix` with diagonal near 1 and `linear` b (n); the
    /// result is `x` (n).
    pub fn solve(&mut self, matrix: &SparseSymmetric, linear: &[f64], x: &mut [f64]) -> NnlsReport {
        let scale = linear.iter().fold(0.0f64, |s, b| s.max(b.abs()));
        if linear.iter().all(|&b| b >= 0.0) {
            x.fill(0.0);
            return NnlsReport { status: NnlsStatus::Solved, changes: 0, residual: 0.0 };
        }
        self.dissection.order(matrix, &mut self.order);
        let (steps, converged) = self.interior_point(matrix, linear, scale, x);
        let residual = self.sharpen(matrix, linear, scale, x);
        let solved = converged && residual <= SHARP * scale;
        NnlsReport { status: if solved { NnlsStatus::Solved } else { NnlsStatus::Capped }, changes: steps, residual }
    }

    /// Mehrotra's predictor-corrector on A x + b = s, x·s = 0; leaves x > 0 and the slack s > 0.
    fn interior_point(&mut self, matrix: &SparseSymmetric, linear: &[f64], scale: f64, x: &mut [f64]) -> (usize, bool) {
        let n = linear.len();
        self.members.clear();
        self.members.extend_from_slice(&self.order);
        self.place.clear();
        self.place.resize(n, 0);
        for (k, &i) in self.members.iter().enumerate() {
            self.place[i] = k;
        }
        x.fill(scale);
        self.slack.clear();
        self.slack.resize(n, scale);
        for taken in 0..MAX_STEPS {
            let gap = x.iter().zip(&self.slack).map(|(x, s)| x * s).sum::<f64>() / n as f64;
            self.image.clear();
            let mut infeasible: f64 = 0.0;
            for i in 0..n {
                let value = linear[i] + matrix.entries(i).map(|(j, a)| a * x[j]).sum::<f64>();
                infeasible = infeasible.max((value - self.slack[i]).abs());
                self.image.push(value);
            }
            let size = scale * x.iter().fold(scale, |s, a| s.max(*a));
            if gap <= COMPLEMENTARITY * size && infeasible <= INFEASIBLE * scale {
                return (taken, true);
            }
            self.diagonal.clear();
            self.diagonal.extend(self.members.iter().map(|&i| (self.slack[i] / x[i]).max(LEAST_DIAGONAL)));
            self.factor.compute(matrix, &self.members, &self.place, &self.diagonal);
            // Predictor: straight at the solution. Corrector: as much centring as the predictor fell short, and its second-order error.
            self.newton(x, 0.0, false);
            let (primal, dual) = (reach(x, &self.step), reach(&self.slack, &self.slack_step));
            let mut predicted = 0.0;
            for i in 0..n {
                predicted += (x[i] + primal * self.step[i]) * (self.slack[i] + dual * self.slack_step[i]);
            }
            let ratio = predicted / n as f64 / gap;
            self.newton(x, ratio * ratio * ratio * gap, true);
            let (primal, dual) = (STEP_SHARE * reach(x, &self.step), STEP_SHARE * reach(&self.slack, &self.slack_step));
            let finite = self.step.iter().chain(&self.slack_step).all(|d| d.is_finite());
            if !finite || primal.min(dual) < SHORTEST {
                // As far as rounding allows; whether it is far enough the sharpened solution will show.
                return (taken, true);
            }
            let (primal, dual) = (primal.min(1.0), dual.min(1.0));
            // One length for both keeps the quadratic's residual falling.
            let length = primal.min(dual);
            for i in 0..n {
                x[i] += length * self.step[i];
                self.slack[i] += length * self.slack_step[i];
            }
        }
        (MAX_STEPS, false)
    }

    /// (A + s/x) Δx = -(A x + b) + (σμ - correction)/x and Δs = (σμ - correction)/x - s - (s/x) Δx.
    fn newton(&mut self, x: &[f64], centre: f64, correct: bool) {
        let n = x.len();
        self.right.clear();
        for &i in &self.members {
            let correction = if correct { self.step[i] * self.slack_step[i] } else { 0.0 };
            self.right.push((centre - correction) / x[i] - self.image[i]);
        }
        self.factor.solve(&mut self.right);
        if !correct {
            self.step.clear();
            self.step.resize(n, 0.0);
            self.slack_step.clear();
            self.slack_step.resize(n, 0.0);
        }
        for (k, &i) in self.members.iter().enumerate() {
            let correction = if correct { self.step[i] * self.slack_step[i] } else { 0.0 };
            let step = self.right[k];
            self.slack_step[i] = (centre - correction) / x[i] - self.slack[i] - self.slack[i] / x[i] * step;
            self.step[i] = step;
        }
    }

    /// Solves A x + b = 0 on the set that pushes, starting from the interior solution, and corrects the set where that shows it wrong;
    /// returns the largest violation of optimality.
    fn sharpen(&mut self, matrix: &SparseSymmetric, linear: &[f64], scale: f64, x: &mut [f64]) -> f64 {
        self.best.clear();
        self.best.extend_from_slice(x);
        let mut least = violation(matrix, linear, x);
        self.pushes.clear();
        self.pushes.extend(x.iter().zip(&self.slack).map(|(x, s)| x > s));
        for _ in 0..MAX_CORRECTIONS {
            self.solve_on_set(matrix, linear, scale, x);
            let limit = SHARP * scale;
            let mut changed = false;
            for i in 0..x.len() {
                if x[i] < 0.0 {
                    changed |= x[i] < -limit;
                    self.pushes[i] = false;
                }
            }
            x.iter_mut().for_each(|a| *a = a.max(0.0));
            for i in 0..x.len() {
                if !self.pushes[i] && linear[i] + matrix.entries(i).map(|(j, a)| a * x[j]).sum::<f64>() < -limit {
                    self.pushes[i] = true;
                    changed = true;
                }
            }
            let now = violation(matrix, linear, x);
            if now < least {
                least = now;
                self.best.copy_from_slice(x);
            }
            if !changed {
                break;
            }
        }
        x.copy_from_slice(&self.best);
        least
    }

    /// Proximal steps towards A x + b = 0 on the set that pushes, from the present x.
    fn solve_on_set(&mut self, matrix: &SparseSymmetric, linear: &[f64], scale: f64, x: &mut [f64]) {
        self.members.clear();
        self.members.extend(self.order.iter().copied().filter(|&i| self.pushes[i]));
        self.place.fill(usize::MAX);
        for (k, &i) in self.members.iter().enumerate() {
            self.place[i] = k;
        }
        for i in 0..x.len() {
            if !self.pushes[i] {
                x[i] = 0.0;
            }
        }
        self.diagonal.clear();
        self.diagonal.resize(self.members.len(), SHIFT);
        self.factor.compute(matrix, &self.members, &self.place, &self.diagonal);
        for _ in 0..MAX_PROXIMAL {
            self.right.clear();
            let mut worst: f64 = 0.0;
            for &i in &self.members {
                let slope = linear[i] + matrix.entries(i).map(|(j, a)| a * x[j]).sum::<f64>();
                worst = worst.max(slope.abs());
                self.right.push(-slope);
            }
            if worst <= STATIONARY * scale {
                break;
            }
            self.factor.solve(&mut self.right);
            for (k, &i) in self.members.iter().enumerate() {
                x[i] += self.right[k];
            }
        }
    }
}

/// Violation of optimality, relative to b, up to which a sharpened solution counts as solved.
const SHARP: f64 = 1e-10;
/// Residual of A x + b = s, relative to b, at which the interior point may stop.
const INFEASIBLE: f64 = 1e-11;
/// Step length below which the interior point is stuck.
const SHORTEST: f64 = 1e-8;

/// Largest of -slope (at zero) and |min(x, slope)|: 0 at the optimum.
fn violation(matrix: &SparseSymmetric, linear: &[f64], x: &[f64]) -> f64 {
    let mut worst: f64 = 0.0;
    for i in 0..x.len() {
        let slope = linear[i] + matrix.entries(i).map(|(j, a)| a * x[j]).sum::<f64>();
        let miss = x[i].min(slope).abs();
        if miss.is_nan() {
            return f64::INFINITY;
        }
        worst = worst.max(miss);
    }
    worst
}

/// Share of a step at which the first entry vanishes; infinite if none does.
fn reach(x: &[f64], step: &[f64]) -> f64 {
    let mut share = f64::INFINITY;
    for (x, d) in x.iter().zip(step) {
        if *d < 0.0 {
            share = share.min(-x / d);
        }
    }
    share.min(1.0 / STEP_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impact::nnls::GramNnls;

    /// A chain of blocks with `redundant` copies of some rows: Gram matrix of random rows that overlap with their neighbours.
    fn random_problem(n: usize, seed: u64, redundant: bool) -> (SparseSymmetric, Vec<f64>, Vec<f64>) {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        let width = 4;
        let mut rows: Vec<(usize, Vec<f64>)> = Vec::new();
        for i in 0..n {
            if redundant && i % 3 == 2 {
                let copy = rows[i - 1].clone();
                rows.push(copy);
            } else {
                rows.push((i, (0..width).map(|_| next()).collect()));
            }
            let length = rows[i].1.iter().map(|a| a * a).sum::<f64>().sqrt();
            rows[i].1.iter_mut().for_each(|a| *a /= length);
        }
        let target: Vec<f64> = (0..n + width).map(|_| next()).collect();
        let entry = |a: &(usize, Vec<f64>), b: &(usize, Vec<f64>)| {
            let mut sum = 0.0;
            for k in 0..width {
                let at = a.0 + k;
                if at >= b.0 && at < b.0 + width {
                    sum += a.1[k] * b.1[at - b.0];
                }
            }
            sum
        };
        let mut matrix = SparseSymmetric { starts: vec![0], ..SparseSymmetric::default() };
        let mut dense = vec![0.0; n * n];
        let mut linear = Vec::new();
        for i in 0..n {
            for j in 0..n {
                let a = entry(&rows[i], &rows[j]);
                dense[i * n + j] = a;
                if a != 0.0 {
                    matrix.columns.push(j);
                    matrix.values.push(a);
                }
            }
            matrix.starts.push(matrix.columns.len());
            linear.push((0..width).map(|k| rows[i].1[k] * target[rows[i].0 + k]).sum());
        }
        (matrix, linear, dense)
    }

    #[test]
    fn sparse_and_dense_roads_agree() {
        for seed in 0..40 {
            let (matrix, linear, dense) = random_problem(60, seed, seed % 2 == 0);
            let n = linear.len();
            let (mut sparse, mut reference) = (vec![0.0; n], vec![0.0; n]);
            let report = SparseNnls::default().solve(&matrix, &linear, &mut sparse);
            assert_eq!(report.status, NnlsStatus::Solved, "{seed}");
            let _ = GramNnls::default().solve(&dense, &linear, &[], &mut reference);
            let image = |x: &[f64]| (0..n).map(|i| (0..n).map(|j| dense[i * n + j] * x[j]).sum::<f64>()).collect::<Vec<_>>();
            let error = image(&sparse).iter().zip(&image(&reference)).fold(0.0f64, |s, (a, b)| s.max((a - b).abs()));
            assert!(error < 1e-11, "{seed}: {error:e}");
            assert!(sparse.iter().any(|&x| x > 0.0) && sparse.contains(&0.0));
        }
    }

    #[test]
    fn optimality_holds_for_many_variables() {
        let (matrix, linear, _) = random_problem(1200, 7, true);
        let mut x = vec![0.0; linear.len()];
        let report = SparseNnls::default().solve(&matrix, &linear, &mut x);
        assert_eq!(report.status, NnlsStatus::Solved);
        for i in 0..x.len() {
            let slope: f64 = linear[i] + matrix.entries(i).map(|(j, a)| a * x[j]).sum::<f64>();
            assert!(x[i] >= 0.0 && slope > -1e-11 && (x[i] * slope).abs() < 1e-10, "{i}: {} {slope}", x[i]);
        }
    }
}
