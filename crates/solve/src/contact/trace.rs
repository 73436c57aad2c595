//! The path of smoothed problems traced by its length, around its folds; theory (4.20)-(4.24).
//!
//! Products of impulses and velocities equal tau, friction is rounded off, every row is a little soft. Friction makes this path turn back in tau at times,
//! where methods that only lower tau get stuck. Here log tau is an unknown like the impulses. Slow, but it reaches the end of nearly every path.

use super::law::WIDEST;
use super::system::System;
use super::task::{Budget, Task};

/// Newton steps to the first point of the path.
const SETTLING: usize = 60;
/// Misfit, over the speed scale, at which the first point is found.
const SETTLED: f64 = 1e-3;
/// Steps along the path.
const STEPS: usize = 400;
/// First, longest and shortest step, in units of relative change.
const FIRST_STEP: f64 = 0.3;
const LONGEST_STEP: f64 = 2.0;
const SHORTEST_STEP: f64 = 1e-5;
/// Growth of the step after an easy correction, and its fall after a failed one.
const GROW: f64 = 1.6;
const SHRINK: f64 = 0.4;
/// Newton corrections of a step, and those up to which it was easy.
const CORRECTIONS: usize = 6;
const EASY: usize = 3;
/// Relative change at which a correction has converged.
const CONVERGED: f64 = 1e-6;
/// Largest relative change of the first correction: beyond it the prediction was too bold.
const BOLD: f64 = 0.7;
/// Share of the way to a bound that a step may take.
const SHARE: f64 = 0.7;
/// Least cosine between the secant and the tangent.
const TURN: f64 = 0.5;
/// log tau above which the path runs away.
const RUNAWAY: f64 = 10.0;

/// How a problem is smoothed along its path, in units in which every block answers its own impulse by 1 and the fastest has speed 1.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Smoothing speed of friction over tau.
    pub rounding: f64,
    /// Softness of every row over tau: it keeps impulses that only press bodies against each other bounded.
    pub softness: f64,
    /// The tau at which it ends.
    pub end: f64,
}

/// The smoothing of one block at a point of the path, in the units of the problem.
#[derive(Clone, Copy, Debug)]
pub struct Smoothing {
    /// Product of impulse and velocity \[J\].
    pub product: f64,
    /// Slip speed below which friction fades [m/s].
    pub slip: f64,
    /// Softness [1/kg].
    pub soft: f64,
}

/// A smoothed law linearised: dl = g - D dw - e ds with s = log tau.
#[derive(Clone, Copy, Debug)]
pub struct Smoothed {
    /// By how much the equations are missed, as velocities.
    pub miss: [f64; WIDEST],
    /// g.
    pub right: [f64; WIDEST],
    /// e.
    pub drift: [f64; WIDEST],
    /// D by rows.
    pub slope: [f64; WIDEST * WIDEST],
}

impl Default for Smoothed {
    fn default() -> Self {
        Smoothed { miss: [0.0; WIDEST], right: [0.0; WIDEST], drift: [0.0; WIDEST], slope: [0.0; WIDEST * WIDEST] }
    }
}

/// The tracer with its scratch.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    point: Vec<f64>,
    base: Vec<f64>,
    velocity: Vec<f64>,
    right: Vec<f64>,
    drift: Vec<f64>,
    slopes: Vec<f64>,
    response: Vec<f64>,
    weight: Vec<f64>,
    tangent: Vec<f64>,
    mean: Vec<f64>,
    /// Speed of the units [J^1/2].
    speed: f64,
    /// Largest miss of the equations at the last linearisation, in scaled units.
    misfit: f64,
}

impl Trace {
    /// Follows a path to its end; `impulses` take its last point. Returns their relative residual.
    pub fn solve<S: System>(&mut self, system: &mut S, task: &Task, path: Path, budget: &mut Budget, impulses: &mut [f64]) -> f64 {
        let n = impulses.len();
        for list in [&mut self.velocity, &mut self.right, &mut self.drift, &mut self.response] {
            list.clear();
            list.resize(n, 0.0);
        }
        for list in [&mut self.point, &mut self.base, &mut self.weight, &mut self.tangent] {
            list.clear();
            list.resize(n + 1, 0.0);
        }
        self.slopes.clear();
        self.slopes.resize(system.layout().squares(), 0.0);
        self.begin(system, task);
        let mut last = f64::INFINITY;
        if self.settle(system, task, path, budget) {
            self.follow(system, task, path, budget);
            last = task.judge(system, &self.base[..n], &mut self.velocity);
            impulses.copy_from_slice(&self.base[..n]);
        }
        last
    }

    /// Units, and the centre of the path.
    fn begin<S: System>(&mut self, system: &S, task: &Task) {
        self.mean.clear();
        self.speed = 0.0;
        for block in 0..task.laws.len() {
            let rows = system.layout().rows_of(block);
            let d = rows.len();
            let own = &system.own()[system.layout().square_of(block)];
            let mean = (0..d).map(|k| own[k * (d + 1)]).sum::<f64>() / d as f64;
            let mean = if mean > 0.0 { mean } else { 1.0 };
            self.mean.push(mean);
            for row in rows {
                self.speed = self.speed.max(task.free[row].abs() / mean.sqrt());
            }
        }
        if self.speed <= 0.0 {
            self.speed = 1.0;
        }
        for (block, law) in task.laws.iter().enumerate() {
            let rows = system.layout().rows_of(block);
            law.centre(self.speed / self.mean[block].sqrt(), &mut self.base[rows]);
        }
    }

    /// Linearises every law at a point; false where the factor fails.
    fn linearise<S: System>(&mut self, system: &mut S, task: &Task, path: Path, budget: &mut Budget, at_base: bool) -> bool {
        let n = self.velocity.len();
        let point = if at_base { &self.base } else { &self.point };
        let tau = point[n].exp();
        system.apply(&point[..n], &mut self.velocity);
        self.velocity.iter_mut().zip(task.free).for_each(|(w, u)| *w += u);
        let mut smoothed = Smoothed::default();
        self.misfit = 0.0;
        for (block, law) in task.laws.iter().enumerate() {
            let rows = system.layout().rows_of(block);
            let mean = self.mean[block];
            let smoothing = Smoothing {
                product: tau * self.speed * self.speed,
                slip: path.rounding * tau * self.speed * mean.sqrt(),
                soft: path.softness * tau * mean,
            };
            law.smooth(smoothing, &point[rows.clone()], &self.velocity[rows.clone()], &mut smoothed);
            let d = rows.len();
            self.slopes[system.layout().square_of(block)].copy_from_slice(&smoothed.slope[..d * d]);
            for (k, row) in rows.enumerate() {
                self.right[row] = smoothed.right[k];
                self.drift[row] = smoothed.drift[k];
                self.misfit = self.misfit.max(smoothed.miss[k].abs() / (mean.sqrt() * self.speed));
            }
        }
        self.misfit.is_finite() && budget.factor() && system.factor(&self.slopes, false)
    }

    /// Newton's method to the point of the path at tau = 1.
    fn settle<S: System>(&mut self, system: &mut S, task: &Task, path: Path, budget: &mut Budget) -> bool {
        let n = self.velocity.len();
        self.base[n] = 0.0;
        for _ in 0..SETTLING {
            if !self.linearise(system, task, path, budget, true) {
                return false;
            }
            if self.misfit <= SETTLED {
                return true;
            }
            system.solve(&mut self.right, &mut self.response);
            let mut part: f64 = 1.0;
            for (block, law) in task.laws.iter().enumerate() {
                let rows = system.layout().rows_of(block);
                part = part.min(SHARE * law.room(&self.base[rows.clone()], &self.right[rows]));
            }
            for k in 0..n {
                self.base[k] += part * self.right[k];
            }
        }
        false
    }

    /// Traces the path from the base point on.
    fn follow<S: System>(&mut self, system: &mut S, task: &Task, path: Path, budget: &mut Budget) {
        let n = self.velocity.len();
        let mut step = FIRST_STEP;
        let mut heading = -1.0;
        let mut fresh = true;
        for count in 0..STEPS {
            if fresh {
                // The tangent (dl, ds): (I + D W) dl = -e ds, pointing onwards.
                self.weigh(system, task);
                if !self.linearise(system, task, path, budget, true) {
                    return;
                }
                system.solve(&mut self.drift, &mut self.response);
                let mut length = 1.0;
                let mut along = 0.0;
                for k in 0..n {
                    let change = -self.drift[k] * self.weight[k];
                    length += change * change;
                    along += change * self.tangent[k];
                }
                let length = length.sqrt();
                if !length.is_finite() {
                    return;
                }
                // The last tangent tells which way is on; at first it is towards a smaller tau.
                let sign = if count == 0 {
                    heading
                } else if along + self.tangent[n] >= 0.0 {
                    1.0
                } else {
                    -1.0
                };
                for k in 0..n {
                    self.tangent[k] = -sign * self.drift[k] * self.weight[k] / length;
                }
                self.tangent[n] = sign / length;
                heading = sign;
                fresh = false;
            }
            let mut reach = f64::INFINITY;
            for k in 0..n {
                self.right[k] = self.tangent[k] / self.weight[k];
            }
            for (block, law) in task.laws.iter().enumerate() {
                let rows = system.layout().rows_of(block);
                reach = reach.min(law.room(&self.base[rows.clone()], &self.right[rows]));
            }
            let taken = step.min(SHARE * reach);
            for k in 0..n {
                self.point[k] = self.base[k] + taken * self.right[k];
            }
            self.point[n] = self.base[n] + taken * self.tangent[n];
            let (used, converged) = self.correct(system, task, path, budget);
            if budget.factors == 0 || budget.stop.raised() {
                return;
            }
            if converged {
                // The secant must not double back on the tangent.
                let (mut along, mut length) = (0.0, 0.0);
                for k in 0..=n {
                    let change = (self.point[k] - self.base[k]) * if k < n { self.weight[k] } else { 1.0 };
                    along += change * self.tangent[k];
                    length += change * change;
                }
                if along > TURN * length.sqrt() {
                    std::mem::swap(&mut self.base, &mut self.point);
                    fresh = true;
                    if used <= EASY {
                        step = (step * GROW).min(LONGEST_STEP);
                    }
                    if self.base[n] <= path.end.ln() || self.base[n] > RUNAWAY {
                        return;
                    }
                    continue;
                }
            }
            step = taken * SHRINK;
            if step.is_nan() || step < SHORTEST_STEP {
                return;
            }
        }
    }

    /// Weights that turn changes into relative ones: over the room to the bounds, for friction over the reach of the cone.
    fn weigh<S: System>(&mut self, system: &S, task: &Task) {
        let n = self.velocity.len();
        let share = 1.0 / (n as f64).sqrt();
        for (block, law) in task.laws.iter().enumerate() {
            let rows = system.layout().rows_of(block);
            let d = rows.len();
            let mut sizes = [self.speed / self.mean[block].sqrt(); WIDEST];
            law.sizes(&self.base[rows.clone()], &mut sizes[..d]);
            for (k, row) in rows.enumerate() {
                self.weight[row] = share / sizes[k];
            }
        }
        self.weight[n] = 1.0;
    }

    /// Newton's method back to the path in the plane across the tangent; the steps made and whether it converged inside the bounds.
    fn correct<S: System>(&mut self, system: &mut S, task: &Task, path: Path, budget: &mut Budget) -> (usize, bool) {
        let n = self.velocity.len();
        let mut last = f64::INFINITY;
        for correction in 0..CORRECTIONS {
            if !self.linearise(system, task, path, budget, false) {
                return (correction, false);
            }
            system.solve(&mut self.right, &mut self.response);
            system.solve(&mut self.drift, &mut self.response);
            // dl = right - drift ds, and no change along the tangent.
            let (mut by_right, mut by_drift) = (0.0, self.tangent[n]);
            for k in 0..n {
                by_right += self.tangent[k] * self.right[k] * self.weight[k];
                by_drift -= self.tangent[k] * self.drift[k] * self.weight[k];
            }
            let ds = -by_right / by_drift;
            let mut change = ds * ds;
            for k in 0..n {
                self.right[k] -= self.drift[k] * ds;
                change += (self.right[k] * self.weight[k]).powi(2);
            }
            let change = change.sqrt();
            if !change.is_finite() || (correction == 0 && change > BOLD) || change > last {
                return (correction + 1, false);
            }
            for (block, law) in task.laws.iter().enumerate() {
                let rows = system.layout().rows_of(block);
                if law.room(&self.point[rows.clone()], &self.right[rows]) <= 1.0 {
                    return (correction + 1, false);
                }
            }
            for k in 0..n {
                self.point[k] += self.right[k];
            }
            self.point[n] += ds;
            if change <= CONVERGED {
                return (correction + 1, true);
            }
            last = change;
        }
        (CORRECTIONS, false)
    }
}
