//! The interior point for cold starts: impulses and velocities inside the cones of their laws, driven to the boundary together; theory (4.34)-(4.35).
//!
//! Mehrotra's predictor and corrector on the smoothed laws, with one step length for all. De Saxce's shift is part of the cone's own variables, so that
//! the solution is Coulomb's and not its convex neighbour's.

use super::law::{Interior, Stage};
use super::system::System;
use super::task::{Budget, Task};

/// Part of the way to the boundary that a step goes.
const INSET: f64 = 0.97;
/// Least part of the complementarity that a corrector aims at.
const CENTRE: f64 = 1e-3;
/// After a step shorter than this the next one lags: the shift is held, and complementarity with it.
const SHORT: f64 = 0.2;
/// Steps below this length mean that the iteration is stuck.
const STUCK: f64 = 1e-10;
/// Rounds without halving the residual before it gives up.
const PATIENCE: usize = 10;

/// The method with its scratch.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    states: Vec<Interior>,
    slopes: Vec<f64>,
    impulses: Vec<f64>,
    velocity: Vec<f64>,
    right: Vec<f64>,
    response: Vec<f64>,
    best: Vec<f64>,
}

impl Barrier {
    /// Solves from nothing, or from impulses pushed inside by `push` of the speed scale; `impulses` take the best found. Returns their relative residual.
    pub fn solve<S: System>(
        &mut self,
        system: &mut S,
        task: &Task,
        push: Option<f64>,
        rounds: usize,
        budget: &mut Budget,
        impulses: &mut [f64],
    ) -> f64 {
        let n = impulses.len();
        for list in [&mut self.impulses, &mut self.velocity, &mut self.right, &mut self.response, &mut self.best] {
            list.resize(n, 0.0);
        }
        self.slopes.resize(system.layout().squares(), 0.0);
        self.states.resize(task.laws.len(), Interior::default());
        if push.is_some() {
            task.judge(system, impulses, &mut self.velocity);
        }
        let mut cones = 0;
        for (block, law) in task.laws.iter().enumerate() {
            let rows = system.layout().rows_of(block);
            let d = rows.len();
            let own = &system.own()[system.layout().square_of(block)];
            let mean = (0..d).map(|k| own[k * (d + 1)]).sum::<f64>() / d as f64;
            let warm = push.map(|_| (&impulses[rows.clone()], &self.velocity[rows]));
            law.enter(mean.max(f64::MIN_POSITIVE), task.scale, warm, push.unwrap_or(1.0) * task.scale, &mut self.states[block]);
            cones += self.states[block].cones;
        }
        let cones = cones.max(1) as f64;
        let mut best = f64::INFINITY;
        let (mut mark, mut since) = (f64::INFINITY, 0);
        let mut last_part = 1.0;
        for _ in 0..rounds {
            for (block, law) in task.laws.iter().enumerate() {
                law.impulses(&self.states[block], &mut self.impulses[system.layout().rows_of(block)]);
            }
            let residual = task.judge(system, &self.impulses, &mut self.velocity);
            if residual < best {
                best = residual;
                self.best.copy_from_slice(&self.impulses);
            }
            if best <= task.aim || !residual.is_finite() {
                break;
            }
            if residual < 0.5 * mark {
                (mark, since) = (residual, 0);
            } else {
                since += 1;
                if since > PATIENCE {
                    break;
                }
            }
            let lagged = last_part < SHORT;
            let mut product = 0.0;
            for (block, law) in task.laws.iter().enumerate() {
                let (rows, square) = (system.layout().rows_of(block), system.layout().square_of(block));
                let state = &mut self.states[block];
                law.linearise(&self.velocity[rows], lagged, state, &mut self.slopes[square]);
                if state.cones > 0 {
                    (state.ds, state.dy) = ([0.0; 3], [0.0; 3]);
                    product += state.product(0.0);
                }
            }
            let product = product / cones;
            if !budget.factor() || !system.factor(&self.slopes, false) {
                break;
            }
            self.advance(system, task, Stage::Predict);
            let part = self.reach(task).min(1.0);
            let after = self.states.iter().filter(|state| state.cones > 0).map(|state| state.product(part)).sum::<f64>() / cones;
            let centre = (after / product).max(0.0).powi(2).clamp(CENTRE, 1.0);
            let target = if lagged { product.max(centre * product) } else { centre * product };
            self.advance(system, task, Stage::Correct(target));
            let part = (INSET * self.reach(task)).min(1.0);
            self.states.iter_mut().for_each(|state| state.advance(part));
            if part < STUCK {
                break;
            }
            last_part = part;
        }
        if best.is_finite() {
            impulses.copy_from_slice(&self.best);
        }
        best
    }

    /// One linear solve, and the steps that follow from it.
    fn advance<S: System>(&mut self, system: &mut S, task: &Task, stage: Stage) {
        for (block, law) in task.laws.iter().enumerate() {
            law.right(stage, &mut self.states[block], &mut self.right[system.layout().rows_of(block)]);
        }
        system.solve(&mut self.right, &mut self.response);
        for (block, law) in task.laws.iter().enumerate() {
            law.respond(&self.response[system.layout().rows_of(block)], &mut self.states[block]);
        }
    }

    /// How far the steps at hand stay inside.
    fn reach(&self, task: &Task) -> f64 {
        task.laws.iter().zip(&self.states).map(|(law, state)| law.reach(state)).fold(f64::INFINITY, f64::min)
    }
}
