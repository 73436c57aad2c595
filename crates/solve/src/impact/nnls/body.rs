//! Nonnegative least squares in the space of bodies, theory (5.24): minimise ½ ‖w‖² over w with b + R w ≥ 0, whose multipliers x minimise
//! ½ x·R Rᵀ x + b·x over x ≥ 0.
//!
//! A predictor-corrector interior point finds who pushes; stiff springs at the rows that are missed (Newton's method on a convex function that is
//! quadratic in pieces) put its guess right, then the set that pushes is solved to rounding. All matrices are I + Rᵀ E R, with a few rows for every
//! body, however many contacts there are.

use crate::impact::nnls::{NnlsReport, NnlsStatus, STATIONARY};
use crate::impact::roots::BodySystem;

/// Cap on the steps of the interior point; 10 to 20 are usual.
const MAX_ROUNDS: usize = 60;
/// Complementarity per row, over the square of b, at which it stops: beyond, its systems lose digits.
const COMPLEMENTARITY: f64 = 1e-9;
/// Share of the way to the nearest bound that a step may go, and the length below which it is stuck.
const STEP_SHARE: f64 = 0.995;
const SHORTEST: f64 = 1e-8;
/// Largest weight of a row in its systems.
const HEAVIEST: f64 = 1e10;
/// Stiffness of the springs.
const STIFFNESS: f64 = 1e7;
/// Newton steps with springs: where they are the problem itself, and where they only put the set right.
const MAX_STEPS: [usize; 2] = [60, 8];
/// Halvings of a Newton step, and the least part of its promise that must come true.
const MAX_HALVINGS: usize = 30;
const DECREASE: f64 = 1e-4;
/// Gradient, relative to b, at which a stage ends.
const STAGE: f64 = 1e-12;
/// Corrections of the set that pushes, and steps towards its solution.
const MAX_CORRECTIONS: usize = 30;
const MAX_PROXIMAL: usize = 12;
/// Violation of optimality, relative to b, up to which a solution counts as solved.
const SHARP: f64 = 1e-10;
/// Margin, over the length of w, by which it must open every row to prove that none is locked.
const MARGIN: f64 = 1e-6;

/// Solver with its scratch; the rows are in `system`.
#[derive(Clone, Debug, Default)]
pub struct BodyNnls {
    /// The rows R, one a block.
    pub system: BodySystem,
    weights: Vec<f64>,
    motion: Vec<f64>,
    speeds: Vec<f64>,
    /// Multipliers near those that are sought, and those of the springs.
    guess: Vec<f64>,
    pull: Vec<f64>,
    slack: Vec<f64>,
    change: Vec<f64>,
    slack_change: Vec<f64>,
    gradient: Vec<f64>,
    step: Vec<f64>,
    step_speeds: Vec<f64>,
    best: Vec<f64>,
    factors: usize,
}

impl BodyNnls {
    /// Minimises ½ x·(R Rᵀ + shift) x + b·x over x ≥ 0. With `opening` it ends, solved, as soon as a velocity is found that opens every row.
    pub fn solve(&mut self, linear: &[f64], shift: f64, opening: bool, x: &mut [f64]) -> NnlsReport {
        let n = linear.len();
        let scale = linear.iter().fold(0.0f64, |s, b| s.max(b.abs()));
        self.factors = 0;
        if !self.interior_point(linear, shift, opening, scale, x) {
            return self.report(NnlsStatus::Capped, f64::INFINITY);
        }
        if opening && self.opens() {
            return self.report(NnlsStatus::Solved, 0.0);
        }
        // A shifted problem is that of springs without a guess of the multipliers.
        self.guess.clear();
        self.guess.extend(x.iter().map(|&x| if shift > 0.0 { 0.0 } else { x }));
        let last = if shift > 0.0 { 1.0 / shift } else { STIFFNESS };
        let steps = MAX_STEPS[usize::from(shift == 0.0)];
        if !self.pull_in(linear, last, scale, steps) {
            return self.report(NnlsStatus::Capped, f64::INFINITY);
        }
        if opening && self.opens() {
            return self.report(NnlsStatus::Solved, 0.0);
        }
        for i in 0..n {
            x[i] = (self.guess[i] - last * (linear[i] + self.speeds[i])).max(0.0);
        }
        let residual = self.sharpen(linear, shift, last, scale, x);
        self.report(if residual <= SHARP * scale { NnlsStatus::Solved } else { NnlsStatus::Capped }, residual)
    }

    fn report(&self, status: NnlsStatus, residual: f64) -> NnlsReport {
        NnlsReport { status, changes: self.factors, residual }
    }

    /// Mehrotra's predictor-corrector on R Rᵀ x + shift x + b = s, x·s = 0; leaves w = Rᵀ x and R w. False where a factor fails.
    fn interior_point(&mut self, linear: &[f64], shift: f64, opening: bool, scale: f64, x: &mut [f64]) -> bool {
        let n = linear.len();
        x.fill(scale);
        self.slack.clear();
        self.slack.resize(n, scale);
        self.change.clear();
        self.change.resize(n, 0.0);
        self.slack_change.clear();
        self.slack_change.resize(n, 0.0);
        for _ in 0..MAX_ROUNDS {
            self.system.gather(x, &mut self.motion);
            self.system.spread(&self.motion, &mut self.speeds);
            if opening && self.opens() {
                break;
            }
            let gap = x.iter().zip(&self.slack).map(|(x, s)| x * s).sum::<f64>() / n as f64;
            let mut missing: f64 = 0.0;
            for i in 0..n {
                missing = missing.max((linear[i] + self.speeds[i] + shift * x[i] - self.slack[i]).abs());
            }
            let largest = x.iter().fold(scale, |s, a| s.max(*a));
            if gap <= COMPLEMENTARITY * COMPLEMENTARITY.sqrt() * scale * largest && missing <= COMPLEMENTARITY * scale {
                break;
            }
            self.weights.clear();
            self.weights.extend(x.iter().zip(&self.slack).map(|(x, s)| (1.0 / (s / x + shift)).min(HEAVIEST)));
            self.factors += 1;
            if !self.system.factor(&self.weights) {
                return false;
            }
            // Predictor: straight at the solution. Corrector: as much centring as the predictor fell short, and its second-order error.
            self.change.fill(0.0);
            self.slack_change.fill(0.0);
            self.newton(linear, shift, 0.0, x);
            let length = reach(x, &self.change).min(reach(&self.slack, &self.slack_change)).min(1.0);
            let mut predicted = 0.0;
            for i in 0..n {
                predicted += (x[i] + length * self.change[i]) * (self.slack[i] + length * self.slack_change[i]);
            }
            let ratio = predicted / n as f64 / gap;
            self.newton(linear, shift, ratio * ratio * ratio * gap, x);
            let length = (STEP_SHARE * reach(x, &self.change).min(reach(&self.slack, &self.slack_change))).min(1.0);
            if length.is_nan() || length < SHORTEST {
                break;
            }
            for i in 0..n {
                x[i] += length * self.change[i];
                self.slack[i] += length * self.slack_change[i];
            }
        }
        true
    }

    /// (R Rᵀ + shift + s/x) Δx = -(R Rᵀ x + shift x + b) + c/x and Δs = c/x - s - (s/x) Δx, c = centre - Δx Δs of the predictor.
    fn newton(&mut self, linear: &[f64], shift: f64, centre: f64, x: &[f64]) {
        let n = x.len();
        self.pull.clear();
        for i in 0..n {
            let target = (centre - self.change[i] * self.slack_change[i]) / x[i];
            self.pull.push(target - (linear[i] + self.speeds[i] + shift * x[i]));
            // Kept for the second formula.
            self.slack_change[i] = target;
        }
        // (R Rᵀ + 1/E)⁻¹ r = E (r - R y), (I + Rᵀ E R) y = Rᵀ E r.
        self.change.clear();
        self.change.extend(self.pull.iter().zip(&self.weights).map(|(r, e)| e * r));
        self.system.gather(&self.change, &mut self.step);
        self.system.solve(&mut self.step);
        self.system.spread(&self.step, &mut self.step_speeds);
        for i in 0..n {
            self.change[i] = self.weights[i] * (self.pull[i] - self.step_speeds[i]);
            self.slack_change[i] += -self.slack[i] - self.slack[i] / x[i] * self.change[i];
        }
    }

    /// Whether the velocity opens every row.
    fn opens(&self) -> bool {
        let length = self.motion.iter().map(|v| v * v).sum::<f64>().sqrt();
        self.speeds.iter().all(|&u| u > MARGIN * length)
    }

    /// Minimises ½ ‖w‖² + Σ max(0, guess - ρ (b + R w))² / 2ρ by Newton's method, from the w at hand; false where a factor fails.
    fn pull_in(&mut self, linear: &[f64], stiffness: f64, scale: f64, steps: usize) -> bool {
        let n = linear.len();
        let mut whole = false;
        for _ in 0..steps {
            self.pull.clear();
            self.pull.extend((0..n).map(|i| (self.guess[i] - stiffness * (linear[i] + self.speeds[i])).max(0.0)));
            // The set of a whole step has the minimum when it has not changed.
            let same = whole && self.pull.iter().zip(&self.weights).all(|(&p, &w)| (p > 0.0) == (w > 0.0));
            if same {
                return true;
            }
            let value = self.value(linear, stiffness, 0.0);
            self.system.gather(&self.pull, &mut self.gradient);
            let mut largest: f64 = 0.0;
            for (g, w) in self.gradient.iter_mut().zip(&self.motion) {
                *g = w - *g;
                largest = largest.max(g.abs());
            }
            if largest <= STAGE * scale {
                return true;
            }
            self.weights.clear();
            self.weights.extend(self.pull.iter().map(|&p| if p > 0.0 { stiffness } else { 0.0 }));
            self.factors += 1;
            if !self.system.factor(&self.weights) {
                return false;
            }
            self.step.clear();
            self.step.extend(self.gradient.iter().map(|g| -g));
            self.system.solve(&mut self.step);
            self.system.spread(&self.step, &mut self.step_speeds);
            let promise: f64 = self.step.iter().zip(&self.gradient).map(|(s, g)| s * g).sum();
            if promise.is_nan() || promise >= 0.0 {
                return promise == 0.0;
            }
            let mut share = 1.0;
            let mut taken = false;
            for _ in 0..MAX_HALVINGS {
                if self.value(linear, stiffness, share) <= value + DECREASE * share * promise {
                    taken = true;
                    break;
                }
                share /= 2.0;
            }
            if !taken {
                // As low as rounding lets it see.
                return true;
            }
            whole = share == 1.0;
            self.motion.iter_mut().zip(&self.step).for_each(|(w, s)| *w += share * s);
            self.speeds.iter_mut().zip(&self.step_speeds).for_each(|(u, s)| *u += share * s);
        }
        true
    }

    /// The function that is minimised, a share of the step ahead.
    fn value(&self, linear: &[f64], stiffness: f64, share: f64) -> f64 {
        let mut sum = 0.0;
        if share == 0.0 {
            sum += self.motion.iter().map(|w| w * w).sum::<f64>();
            sum += self.pull.iter().map(|p| p * p).sum::<f64>() / stiffness;
            return sum / 2.0;
        }
        sum += self.motion.iter().zip(&self.step).map(|(w, s)| (w + share * s) * (w + share * s)).sum::<f64>();
        for i in 0..linear.len() {
            let pull = (self.guess[i] - stiffness * (linear[i] + self.speeds[i] + share * self.step_speeds[i])).max(0.0);
            sum += pull * pull / stiffness;
        }
        sum / 2.0
    }

    /// Solves b + (R Rᵀ + shift) x = 0 on the set that pushes, and corrects the set where that shows it wrong; returns the largest violation of optimality.
    fn sharpen(&mut self, linear: &[f64], shift: f64, stiffness: f64, scale: f64, x: &mut [f64]) -> f64 {
        let n = linear.len();
        let limit = SHARP * scale;
        self.best.clear();
        self.best.extend_from_slice(x);
        let mut least = f64::INFINITY;
        self.weights.clear();
        self.weights.extend(x.iter().map(|&x| if x > 0.0 { stiffness } else { 0.0 }));
        for _ in 0..MAX_CORRECTIONS {
            self.factors += 1;
            if !self.system.factor(&self.weights) {
                break;
            }
            for i in 0..n {
                if self.weights[i] == 0.0 {
                    x[i] = 0.0;
                }
            }
            let mut last = f64::INFINITY;
            for _ in 0..MAX_PROXIMAL {
                self.slopes(linear, shift, x);
                let mut worst: f64 = 0.0;
                self.pull.clear();
                for i in 0..n {
                    let held = self.weights[i] > 0.0;
                    worst = if held { worst.max(self.speeds[i].abs()) } else { worst };
                    self.pull.push(if held { -self.speeds[i] } else { 0.0 });
                }
                if worst <= STATIONARY * scale || worst >= last / 2.0 {
                    break;
                }
                last = worst;
                // (R Rᵀ + 1/ρ)⁻¹ r = ρ (r - R y), (I + ρ Rᵀ R) y = ρ Rᵀ r.
                self.system.gather(&self.pull, &mut self.step);
                self.step.iter_mut().for_each(|s| *s *= stiffness);
                self.system.solve(&mut self.step);
                self.system.spread(&self.step, &mut self.step_speeds);
                for i in 0..n {
                    if self.weights[i] > 0.0 {
                        x[i] += stiffness * (self.pull[i] - self.step_speeds[i]);
                    }
                }
            }
            let mut changed = false;
            for i in 0..n {
                if x[i] < 0.0 {
                    changed |= x[i] < -limit;
                    self.weights[i] = 0.0;
                    x[i] = 0.0;
                }
            }
            self.slopes(linear, shift, x);
            let mut worst: f64 = 0.0;
            for i in 0..n {
                worst = worst.max(x[i].min(self.speeds[i]).abs());
                if self.weights[i] == 0.0 && self.speeds[i] < -limit {
                    self.weights[i] = stiffness;
                    changed = true;
                }
            }
            if worst < least {
                least = worst;
                self.best.copy_from_slice(x);
            }
            if !changed {
                break;
            }
        }
        x.copy_from_slice(&self.best);
        least
    }

    /// speeds = b + (R Rᵀ + shift) x.
    fn slopes(&mut self, linear: &[f64], shift: f64, x: &[f64]) {
        self.system.gather(x, &mut self.gradient);
        self.system.spread(&self.gradient, &mut self.speeds);
        self.speeds.iter_mut().zip(linear).zip(x).for_each(|((u, b), x)| *u += b + shift * x);
    }
}

/// Share of a step at which the first entry vanishes; at most a little more than the whole.
fn reach(x: &[f64], step: &[f64]) -> f64 {
    let mut share = 1.0 / STEP_SHARE;
    for (x, d) in x.iter().zip(step) {
        if *d < 0.0 {
            share = share.min(-x / d);
        }
    }
    share
}
