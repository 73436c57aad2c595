//! The order in which the methods are tried, and the work they may take; theory chapter 4.7.

use super::barrier::Barrier;
use super::proximal::{Manner, Proximal};
use super::sweeps::Sweeps;
use super::system::System;
use super::task::{Budget, Task};
use super::trace::{Path, Trace};
use crate::interrupt::Interrupt;
use crate::status::{Method, Outcome};

/// The proximal method where the modes of the last solve are trusted.
const TRUSTED: Manner = Manner { trusting: true, rejections: 1, factors: 2 };
/// Relative residual of the warm impulses above which their modes are not trusted.
const TRUST: f64 = 1e-2;
/// The proximal method from a warm start.
const WARM: Manner = Manner { trusting: false, rejections: 2, factors: 10 };
/// Relative residual above which the interior point is the shorter way.
const WARM_ENOUGH: f64 = 1e-4;
/// The same after the interior point, and after sweeps. Where the interior point leaves more than the residual given, it is far from the modes.
const POLISH_ENOUGH: f64 = 2e-3;
/// What is not found near the first end of the interior point is seldom found near another one: as many factorisations there as all starts had once.
const POLISH: Manner = Manner { trusting: false, rejections: usize::MAX, factors: 120 };
const LAST: Manner = Manner { trusting: false, rejections: usize::MAX, factors: 80 };
/// Sweeps before Newton's method: as many as cost one factorisation, within these bounds. What a sweep costs for each block, in products.
const FIRST_SWEEPS: [f64; 2] = [20.0, 60.0];
const SWEEP_PRODUCTS: f64 = 600.0;
/// Rounds of the interior point, and the residual it is followed to: from there on Newton's method on the laws takes as many factorisations, and each is
/// cheaper.
const BARRIER_ROUNDS: usize = 40;
const BARRIER_AIM: f64 = 1e-5;
/// How far the best impulses are pushed inside where the interior point begins, over the speed scale: by their residual, within these bounds. Where that
/// ends nowhere, it begins from nothing, then from the best impulses pushed by each of the others.
const PUSH: [f64; 2] = [1e-4, 1e-1];
const OTHER_PUSHES: [f64; 2] = [1.0, 1e-1];
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
        self.run(system, task, rough, &mut budget, &mut answer, impulses);
        answer.factors = allowed - budget.factors;
        answer.sweeps = SWEEP_BUDGET - budget.sweeps;
        answer
    }

    fn run<S: System>(&mut self, system: &mut S, task: &Task, rough: bool, budget: &mut Budget, answer: &mut Answer, impulses: &mut [f64]) {
        let enough = if rough { LOOSE_MISS * task.aim } else { task.enough };
        self.trial.copy_from_slice(&self.start);
        if rough {
            for (count, aim) in [(LOOSE_SWEEPS, task.aim), (LOOSE_MORE, enough)] {
                let residual = self.sweeps.solve(system, &Task { aim, ..*task }, count, budget, &mut self.trial);
                if self.offer(residual, Method::Sweep, answer, impulses) <= enough {
                    return;
                }
            }
        }
        if !rough {
            let residual = task.judge(system, &self.trial, &mut self.velocity);
            // A start that is worse than none is none.
            let none = task.residual(system.layout(), system.own(), impulses, task.free);
            if residual >= none {
                self.trial.fill(0.0);
            }
            if self.offer(residual.min(none), Method::Modes, answer, impulses) <= task.aim {
                return;
            }
            if residual < none && residual <= TRUST {
                let known = (answer.residual, &self.velocity[..]);
                let residual = self.proximal.follow_modes(system, task, TRUSTED, budget, known, &mut self.trial);
                if self.offer(residual, Method::Modes, answer, impulses) <= task.serves {
                    return;
                }
            }
            // From no impulse as from warm ones sweeps take most of what is missed at the price of a factorisation, and all that follows begins there.
            let worth = system.operations() / (SWEEP_PRODUCTS * task.laws.len() as f64);
            let count = worth.clamp(FIRST_SWEEPS[0], FIRST_SWEEPS[1]) as usize;
            self.trial.copy_from_slice(impulses);
            let residual = self.sweeps.solve(system, task, count, budget, &mut self.trial);
            if self.offer(residual, Method::Sweep, answer, impulses) <= task.serves {
                return;
            }
        }
        let serving = Task { aim: task.aim.max(task.serves), ..*task };
        if rough || answer.residual <= WARM_ENOUGH {
            self.trial.copy_from_slice(impulses);
            let residual = self.proximal.solve(system, &serving, WARM, budget, &mut self.trial);
            if self.offer(residual, Method::Newton, answer, impulses) <= enough {
                return;
            }
        }
        let coarse = Task { aim: serving.aim.max(BARRIER_AIM), ..*task };
        let near = answer.residual.clamp(PUSH[0], PUSH[1]);
        // From nothing another start may well end elsewhere.
        let passable = if self.start.iter().any(|l| *l != 0.0) { enough.max(task.passable) } else { enough };
        let smooth = task.laws.iter().all(|law| law.smooths());
        for (number, push) in [Some(near), None].into_iter().chain(OTHER_PUSHES.map(Some)).enumerate().filter(|_| smooth) {
            self.trial.copy_from_slice(impulses);
            let residual = self.barrier.solve(system, &coarse, push, BARRIER_ROUNDS, budget, &mut self.trial);
            self.offer(residual, Method::InteriorPoint, answer, impulses);
            if residual > POLISH_ENOUGH {
                continue;
            }
            let residual = self.proximal.solve(system, &serving, POLISH, budget, &mut self.trial);
            let near_enough = if number > 0 { passable } else { enough };
            if self.offer(residual, Method::InteriorPoint, answer, impulses) <= near_enough {
                return;
            }
        }
        if answer.residual <= passable {
            return;
        }
        self.trial.copy_from_slice(impulses);
        let residual = self.sweeps.solve(system, task, SWEEPS, budget, &mut self.trial);
        self.offer(residual, Method::Sweep, answer, impulses);
        let residual = self.proximal.solve(system, &serving, LAST, budget, &mut self.trial);
        if self.offer(residual, Method::Sweep, answer, impulses) <= passable {
            return;
        }
        for path in PATHS {
            let residual = self.trace.solve(system, task, path, budget, &mut self.trial);
            if residual.is_finite() {
                self.offer(residual, Method::Path, answer, impulses);
                let residual = self.proximal.solve(system, &serving, POLISH, budget, &mut self.trial);
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
