//! The order in which the methods are tried, and the work they may take; theory chapter 4.7.

use super::barrier::Barrier;
use super::proximal::{Manner, Proximal};
use super::sweeps::Sweeps;
use super::system::System;
use super::task::{Budget, Task};
use super::trace::{Path, Trace};
use crate::interrupt::Interrupt;
use crate::status::{Method, Outcome};

/// Relative residual at which no further method is tried, the root of rounding: a contact on the verge of slipping answers to the square of its
/// distance from it. Above the wanted residual the status still says so.
const ENOUGH: f64 = 1e-8;
/// The proximal method where the modes of the last solve are trusted.
const TRUSTED: Manner = Manner { trusting: true, rejections: 1, factors: 2 };
/// Relative residual of the warm impulses above which their modes are not trusted.
const TRUST: f64 = 1e-1;
/// The proximal method from a warm start.
const WARM: Manner = Manner { trusting: false, rejections: 1, factors: 20 };
/// Relative residual above which the interior point is the shorter way.
const WARM_ENOUGH: f64 = 1e-3;
/// The same after the interior point, and after sweeps.
const POLISH: Manner = Manner { trusting: false, rejections: usize::MAX, factors: 40 };
const LAST: Manner = Manner { trusting: false, rejections: usize::MAX, factors: 80 };
/// Sweeps before Newton's method from a warm start: as many as cost one factorisation, within these bounds. What a sweep costs for each block, in products.
const FIRST_SWEEPS: [f64; 2] = [4.0, 60.0];
const SWEEP_PRODUCTS: f64 = 600.0;
/// Rounds of the interior point, and the residual it is followed to.
const BARRIER_ROUNDS: usize = 40;
const BARRIER_AIM: f64 = 1e-7;
/// How far a warm start of the interior point is pushed inside, over the speed scale: by its residual, within these bounds.
const PUSH: [f64; 2] = [1e-4, 1e-1];
/// Sweeps of the last resort.
const SWEEPS: usize = 100;
/// Paths traced in turn where all else fails.
const PATHS: [Path; 6] = [
    Path { rounding: 1.0, softness: 0.01, end: 1e-7 },
    Path { rounding: 10.0, softness: 0.1, end: 1e-7 },
    Path { rounding: 3.0, softness: 0.001, end: 1e-9 },
    Path { rounding: 300.0, softness: 0.1, end: 1e-9 },
    Path { rounding: 30.0, softness: 0.01, end: 1e-9 },
    Path { rounding: 0.3, softness: 0.01, end: 1e-9 },
];
/// Factorisations of one solve: of a problem with few rows, and the least of any; between them the product with the rows is constant. The traced paths
/// need some hundreds.
const FACTORS: [usize; 2] = [4000, 250];
const FACTOR_ROWS: usize = 240_000;
/// Sweeps of one solve.
const SWEEP_BUDGET: usize = 1000;
/// Sweeps that a tolerance of the user's is sought by, how many times it may be missed after them, and the sweeps that may bring it there before other
/// methods are tried.
const LOOSE_SWEEPS: usize = 200;
const LOOSE_MISS: f64 = 10.0;
const LOOSE_MORE: usize = 600;

/// How a solve went.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Relative residual (4.8) of the impulses.
    pub residual: f64,
    /// The method that found them.
    pub method: Method,
    /// Factorisations made.
    pub factors: usize,
    /// Sweeps made.
    pub sweeps: usize,
}

impl Answer {
    /// The same as an outcome, judged by the residual wanted.
    pub fn outcome(&self, wanted: f64) -> Outcome {
        Outcome::judge(self.residual, wanted, self.factors + self.sweeps, self.method)
    }
}

/// Solves problems one after another and keeps its scratch: nothing allocates once the largest has been met.
#[derive(Clone, Debug, Default)]
pub struct Solver {
    proximal: Proximal,
    barrier: Barrier,
    sweeps: Sweeps,
    trace: Trace,
    velocity: Vec<f64>,
    trial: Vec<f64>,
    start: Vec<f64>,
}

impl Solver {
    /// Solves a problem into `impulses`, from `warm` where it is given. `rough` says that its aim is a tolerance of the user's, which sweeps may meet.
    pub fn solve<S: System>(
        &mut self,
        system: &mut S,
        task: &Task,
        warm: Option<&[f64]>,
        rough: bool,
        stop: &Interrupt,
        impulses: &mut [f64],
    ) -> Answer {
        let n = impulses.len();
        impulses.fill(0.0);
        if task.idle(system.layout()) {
            return Answer { residual: 0.0, method: Method::Trivial, factors: 0, sweeps: 0 };
        }
        for list in [&mut self.velocity, &mut self.trial, &mut self.start] {
            list.clear();
            list.resize(n, 0.0);
        }
        let allowed = (FACTOR_ROWS / n.max(1)).clamp(FACTORS[1], FACTORS[0]);
        let mut budget = Budget { factors: allowed, sweeps: SWEEP_BUDGET, stop };
        let mut answer = Answer { residual: f64::INFINITY, method: Method::Sweep, factors: 0, sweeps: 0 };
        let warm = warm.filter(|warm| warm.len() == n && warm.iter().all(|l| l.is_finite()) && warm.iter().any(|l| *l != 0.0));
        if let Some(warm) = warm {
            self.start.copy_from_slice(warm);
        }
        self.run(system, task, warm.is_some(), rough, &mut budget, &mut answer, impulses);
        answer.factors = allowed - budget.factors;
        answer.sweeps = SWEEP_BUDGET - budget.sweeps;
        answer
    }

    fn run<S: System>(
        &mut self,
        system: &mut S,
        task: &Task,
        mut warm: bool,
        rough: bool,
        budget: &mut Budget,
        answer: &mut Answer,
        impulses: &mut [f64],
    ) {
        let enough = if rough { LOOSE_MISS * task.aim } else { ENOUGH };
        self.trial.copy_from_slice(&self.start);
        if rough {
            for (count, aim) in [(LOOSE_SWEEPS, task.aim), (LOOSE_MORE, enough)] {
                let residual = self.sweeps.solve(system, &Task { aim, ..*task }, count, budget, &mut self.trial);
                if self.offer(residual, Method::Sweep, answer, impulses) <= enough {
                    return;
                }
            }
        }
        if warm && !rough {
            let residual = task.judge(system, &self.trial, &mut self.velocity);
            // A start that is worse than none is none.
            warm = residual < task.residual(system.layout(), system.own(), impulses, task.free);
            self.offer(residual, Method::Modes, answer, impulses);
            if residual <= task.aim {
                return;
            }
        }
        if !warm {
            self.start.fill(0.0);
        }
        if warm {
            if !rough {
                let residual = answer.residual;
                if residual <= TRUST {
                    let known = (residual, &self.velocity[..]);
                    let residual = self.proximal.follow_modes(system, task, TRUSTED, budget, known, &mut self.trial);
                    if self.offer(residual, Method::Modes, answer, impulses) <= task.aim {
                        return;
                    }
                }
                self.trial.copy_from_slice(impulses);
                let worth = system.operations() / (SWEEP_PRODUCTS * task.laws.len() as f64);
                let count = worth.clamp(FIRST_SWEEPS[0], FIRST_SWEEPS[1]) as usize;
                let residual = self.sweeps.solve(system, task, count, budget, &mut self.trial);
                self.offer(residual, Method::Sweep, answer, impulses);
            }
            self.trial.copy_from_slice(impulses);
            if rough || answer.residual <= WARM_ENOUGH {
                let residual = self.proximal.solve(system, task, WARM, budget, &mut self.trial);
                if self.offer(residual, Method::Newton, answer, impulses) <= enough {
                    return;
                }
            }
        }
        let coarse = Task { aim: task.aim.max(BARRIER_AIM), ..*task };
        let push = answer.residual.clamp(PUSH[0], PUSH[1]);
        let smooth = task.laws.iter().all(|law| law.smooths());
        for push in [Some(push), None] {
            if !smooth || (push.is_some() && !warm) {
                continue;
            }
            self.trial.copy_from_slice(&self.start);
            let residual = self.barrier.solve(system, &coarse, push, BARRIER_ROUNDS, budget, &mut self.trial);
            self.offer(residual, Method::InteriorPoint, answer, impulses);
            let residual = self.proximal.solve(system, task, POLISH, budget, &mut self.trial);
            if self.offer(residual, Method::InteriorPoint, answer, impulses) <= enough {
                return;
            }
        }
        self.trial.copy_from_slice(&self.start);
        let residual = self.sweeps.solve(system, task, SWEEPS, budget, &mut self.trial);
        self.offer(residual, Method::Sweep, answer, impulses);
        let residual = self.proximal.solve(system, task, LAST, budget, &mut self.trial);
        if self.offer(residual, Method::Sweep, answer, impulses) <= enough {
            return;
        }
        for path in PATHS {
            let residual = self.trace.solve(system, task, path, budget, &mut self.trial);
            if residual.is_finite() {
                self.offer(residual, Method::Path, answer, impulses);
                let residual = self.proximal.solve(system, task, POLISH, budget, &mut self.trial);
                if self.offer(residual, Method::Path, answer, impulses) <= enough {
                    return;
                }
            }
        }
    }

    /// Keeps the trial impulses where they are the best so far; returns the best residual.
    fn offer(&mut self, residual: f64, method: Method, answer: &mut Answer, impulses: &mut [f64]) -> f64 {
        if residual < answer.residual || answer.residual.is_infinite() && residual.is_finite() {
            (answer.residual, answer.method) = (residual, method);
            impulses.copy_from_slice(&self.trial);
        }
        answer.residual
    }
}
