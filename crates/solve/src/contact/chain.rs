//! The chain of methods that solves the contact problem of one island.
//!
//! Cheapest first: no impulse at all, the modes of the last step, modes found by a few sweeps; then the methods of [`crate::contact`], which
//! need no guess and have a budget. Whatever a method finds is polished by the linear solve of its modes, and judged by the one residual (4.8).

use super::dense::condensed::Condensed;
use super::dense::interior_point::InteriorPoint;
use super::dense::lemke::Lemke;
use super::dense::linear_complementarity::ComplementarityForm;
use super::dense::modes::{ActiveSet, Start};
use super::dense::sweep::sweep;
use super::problem::{Block, Problem};
use crate::contact::given::Given;
use crate::contact::law::Law;
use crate::contact::solver::Solver;
use crate::contact::system::System;
use crate::contact::task::Task;
use crate::interrupt::Interrupt;
use crate::status::{Method, Outcome, RESIDUAL_AIM, RESIDUAL_WANTED, natural_residual, speed_scale};
use carom_math::dense::multiply_add;

/// Relative residual at which warm impulses are returned as they are: nothing has changed since, and a solve would only stir the rounding.
const STILL: f64 = 1e-13;
/// Roundings of the largest row of A l that a residual above the aim may consist of and still count as exact.
const ROUNDINGS: f64 = 8.0;
/// Rows up to which a second small factorisation costs less than rounding that gathers in redundant impulses.
const SMALL: usize = 150;
/// Rounds of mode correction from a warm start: more are rarely better than a fresh guess.
const WARM_ROUNDS: usize = 12;
/// Rounds of mode correction from a guess made by sweeps.
const COLD_ROUNDS: usize = 30;
/// Relative residual at which no further method is tried, the root of rounding.
const ENOUGH: f64 = 1e-8;
/// Miss of a law [m/s] that is not worth another method.
const SPEED_OF_NOTHING: f64 = 1e-9;
/// Sweeps before the first guess.
const SWEEPS: usize = 8;
/// Edges of the pyramids that stand in for round cones where linear complementarity is asked for.
const EDGES: usize = 8;

/// Solves [`Problem`]s one after another; keeps its scratch, so that it allocates nothing once it has met the largest of them.
#[derive(Clone, Debug, Default)]
pub struct ContactSolver {
    condensed: Condensed,
    left: Left,
    active: ActiveSet,
    form: ComplementarityForm,
    interior_point: InteriorPoint,
    lemke: Lemke,
    given: Given,
    laws: Vec<Law>,
    general: Solver,
    solution: Vec<f64>,
    trial: Vec<f64>,
    velocity: Vec<f64>,
    best: Vec<f64>,
    best_residual: f64,
    best_method: Option<Method>,
    iterations: usize,
    solves: [u64; Method::COUNT],
    factorisations: u64,
    interior_point_first: bool,
    interrupt: Interrupt,
}

/// Start and impulses of the rows that are left of a problem.
#[derive(Clone, Debug, Default)]
struct Left {
    warm: Vec<f64>,
    impulses: Vec<f64>,
}

impl ContactSolver {
    /// A solver that has not seen a problem yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the interior point (then Lemke) is tried before the modes of the last step.
    pub fn prefer_interior_point(&mut self, prefer: bool) {
        self.interior_point_first = prefer;
    }

    /// From now on a solve ends where it stands when the token is raised; its impulses then mean nothing.
    pub fn heed(&mut self, interrupt: &Interrupt) {
        self.interrupt.become_same(interrupt);
    }

    /// Number of problems each [`Method`] has answered since the solver was made, indexed by `method as usize`.
    pub fn solves(&self) -> [u64; Method::COUNT] {
        self.solves
    }

    /// Solves `problem` into `impulses` (length n); on failure they hold the best found, or zero.
    ///
    /// `warm` holds the impulses of a similar problem, matched row by row: they are used to guess which contacts are open, stick or slide.
    pub fn solve(&mut self, problem: &Problem, warm: Option<&[f64]>, impulses: &mut [f64]) -> Outcome {
        impulses.fill(0.0);
        let n = problem.rows();
        if problem.check().is_err() || impulses.len() != n {
            return Outcome::failed(0, Method::Trivial);
        }
        let warm = warm.filter(|warm| warm.len() == n);
        if self.interior_point_first || !self.condensed.take_out(problem) {
            return self.solve_left(problem, warm, impulses);
        }
        let (mut condensed, mut left) = (std::mem::take(&mut self.condensed), std::mem::take(&mut self.left));
        condensed.pose(problem.free, warm, &mut left.warm);
        let rest = condensed.problem(problem);
        left.impulses.clear();
        left.impulses.resize(rest.rows(), 0.0);
        let outcome = self.solve_left(&rest, warm.map(|_| &left.warm[..]), &mut left.impulses);
        condensed.expand(problem.free, &left.impulses, impulses);
        (self.condensed, self.left) = (condensed, left);
        outcome
    }

    /// The same where no row holds without bounds, or they are left with the others.
    fn solve_left(&mut self, problem: &Problem, warm: Option<&[f64]>, impulses: &mut [f64]) -> Outcome {
        let n = problem.rows();
        if no_impulse_needed(problem) {
            self.solves[Method::Trivial as usize] += 1;
            return Outcome::judge(0.0, RESIDUAL_WANTED, 0, Method::Trivial);
        }
        self.best.clear();
        self.best.resize(n, 0.0);
        self.best_residual = f64::INFINITY;
        self.best_method = None;
        self.iterations = 0;
        self.velocity.resize(n, 0.0);
        self.run(problem, warm);
        impulses.copy_from_slice(&self.best);
        let method = self.best_method.unwrap_or(Method::Sweep);
        self.solves[method as usize] += 1;
        Outcome::judge(self.best_residual, RESIDUAL_WANTED, self.iterations, method)
    }

    /// Solves a problem over any system into `impulses`, by the methods that need no dense matrix; `wanted` is the relative residual that counts as
    /// solved, and `rough` says that it is a tolerance of the user's, which sweeps may meet.
    pub fn solve_sparse<S: System>(
        &mut self,
        system: &mut S,
        task: &Task,
        warm: &[f64],
        wanted: f64,
        rough: bool,
        impulses: &mut [f64],
    ) -> Outcome {
        let answer = self.general.solve(system, task, Some(warm), rough, &self.interrupt, impulses);
        self.solves[answer.method as usize] += 1;
        self.factorisations += answer.factors as u64;
        answer.outcome(wanted)
    }

    /// Solves a dense problem whose laws are not those of the blocks of a [`Problem`], by the methods that know a law by its trait alone.
    pub fn solve_laws(&mut self, laws: &[Law], matrix: &[f64], free: &[f64], warm: &[f64], impulses: &mut [f64]) -> Outcome {
        self.given.read_dense(laws.iter().map(|law| law.rows()), matrix);
        let task = Task::new(laws, free, RESIDUAL_AIM);
        let answer = self.general.solve(&mut self.given, &task, Some(warm), false, &self.interrupt, impulses);
        self.solves[answer.method as usize] += 1;
        self.factorisations += answer.factors as u64;
        answer.outcome(RESIDUAL_WANTED)
    }

    /// Factorisations made since the solver was made.
    pub fn factorisations(&self) -> u64 {
        self.factorisations + self.active.factorisations()
    }

    /// Solves the last problem again with other free velocities by the modes and the factor it ended with: a back-substitution.
    ///
    /// `None`, with `impulses` as they were, where matrix or laws are others, where the last solve did not end with modes, or where these do not fit.
    pub fn substitute(&mut self, problem: &Problem, impulses: &mut [f64]) -> Option<Outcome> {
        if !self.condensed.stands() {
            return self.substitute_left(problem, impulses);
        }
        if !self.condensed.is_of(problem) {
            return None;
        }
        let (mut condensed, mut left) = (std::mem::take(&mut self.condensed), std::mem::take(&mut self.left));
        condensed.pose(problem.free, None, &mut left.warm);
        let rest = condensed.problem(problem);
        left.impulses.clear();
        left.impulses.resize(rest.rows(), 0.0);
        let outcome = self.substitute_left(&rest, &mut left.impulses);
        if outcome.is_some() {
            condensed.expand(problem.free, &left.impulses, impulses);
        }
        (self.condensed, self.left) = (condensed, left);
        outcome
    }

    fn substitute_left(&mut self, problem: &Problem, impulses: &mut [f64]) -> Option<Outcome> {
        if problem.rows() == 0 {
            return Some(Outcome::judge(0.0, RESIDUAL_WANTED, 0, Method::Trivial));
        }
        let residual = self.active.again(problem)?;
        self.best_residual = residual;
        self.best.clear();
        self.best.extend_from_slice(self.active.impulses());
        if !self.is_exact(problem) {
            return None;
        }
        impulses.copy_from_slice(&self.best);
        Some(Outcome::judge(residual, RESIDUAL_WANTED, 1, Method::Modes))
    }

    /// Tries one method after another until the residual aimed at is reached, or none is wanted any more.
    fn run(&mut self, problem: &Problem, warm: Option<&[f64]>) {
        self.trial.clear();
        self.trial.resize(problem.rows(), 0.0);
        if self.interior_point_first && self.complementarity(problem, EDGES) {
            return;
        }
        if let Some(warm) = warm
            && warm.len() == problem.rows()
            && warm.iter().all(|l| l.is_finite())
        {
            self.trial.copy_from_slice(warm);
            self.offer(problem, Method::Modes);
            if self.best_residual <= STILL {
                return;
            }
            // Small problems can afford to ask for the smallest impulses first; in large ones redundant contacts seldom allow them.
            let order = if problem.rows() <= SMALL { [Start::Zero, Start::Given] } else { [Start::Given, Start::Zero] };
            if order.into_iter().any(|start| self.polish_from(problem, WARM_ROUNDS, Method::Modes, start))
                || self.best_residual <= RESIDUAL_WANTED
            {
                // Solved: rows that contradict each other by their rounding leave the rest, whatever guess of the modes they are asked with.
                return;
            }
        }
        if self.sweep_and_polish(problem, SWEEPS, Method::Modes) || self.best_residual <= RESIDUAL_WANTED.max(self.nothing(problem)) {
            return;
        }
        self.solve_general(problem);
        // What is linear complementarity exactly has methods of its own, and pyramids no smoothed form.
        if self.best_residual > ENOUGH && problem.is_polyhedral() && !self.interior_point_first {
            self.complementarity(problem, EDGES);
        }
    }

    /// The methods that need no guess, from the best impulses so far, then a polish by their modes.
    fn solve_general(&mut self, problem: &Problem) {
        self.laws.clear();
        self.laws.extend(problem.blocks.iter().map(|block| Law::of(block, problem.cone, problem.tangents)));
        self.given.read_dense(problem.blocks.iter().map(|block| block.rows(problem.tangents)), problem.matrix);
        let task = Task::new(&self.laws, problem.free, RESIDUAL_AIM);
        let answer = self.general.solve(&mut self.given, &task, Some(&self.best), false, &self.interrupt, &mut self.trial);
        self.iterations += answer.factors + answer.sweeps;
        self.factorisations += answer.factors as u64;
        self.offer(problem, answer.method);
        // Exact modes leave less rounding than an iteration that stops at its aim.
        if problem.rows() > SMALL || !self.polish_from(problem, COLD_ROUNDS, answer.method, Start::Zero) {
            self.polish(problem, COLD_ROUNDS, answer.method);
        }
    }

    /// Sweeps from the trial impulses, then polishes; true when the residual aimed at is reached.
    fn sweep_and_polish(&mut self, problem: &Problem, count: usize, method: Method) -> bool {
        for _ in 0..count {
            if self.interrupt.raised() {
                return true;
            }
            sweep(problem, &mut self.trial);
        }
        self.iterations += count;
        self.offer(problem, method);
        self.polish(problem, COLD_ROUNDS, method)
    }

    /// The methods for linear complementarity problems, which need no guess; true when the wanted residual is reached.
    fn complementarity(&mut self, problem: &Problem, edges: usize) -> bool {
        if self.interrupt.raised() {
            return true;
        }
        self.form.build(problem, edges);
        self.solution.resize(self.form.problem.offset.len(), 0.0);
        for method in [Method::InteriorPoint, Method::Lemke] {
            let lcp = &self.form.problem;
            let outcome = match method {
                Method::Lemke => self.lemke.solve(&lcp.matrix, &lcp.offset, &mut self.solution, &self.interrupt),
                _ => self.interior_point.solve(&lcp.matrix, &lcp.offset, &mut self.solution, &self.interrupt),
            };
            self.iterations += outcome.iterations;
            self.form.impulses(problem, &self.solution, &mut self.trial);
            self.offer(problem, method);
            if self.polish(problem, COLD_ROUNDS, method) {
                return true;
            }
        }
        self.best_residual <= RESIDUAL_WANTED
    }

    /// Guesses modes from the trial impulses and corrects them; true when the residual aimed at is reached.
    fn polish(&mut self, problem: &Problem, rounds: usize, method: Method) -> bool {
        self.polish_from(problem, rounds, method, Start::Given)
    }

    /// The same, with a choice of where the linear solves start.
    fn polish_from(&mut self, problem: &Problem, rounds: usize, method: Method, start: Start) -> bool {
        self.active.guess(problem, &self.trial, start);
        let (residual, used) = self.active.iterate(problem, rounds, start, &self.interrupt);
        self.iterations += used;
        if residual < self.best_residual {
            self.best_residual = residual;
            self.best.copy_from_slice(self.active.best());
            self.best_method = Some(method);
        }
        self.is_exact(problem)
    }

    /// Relative residual of a miss that is no speed: rows that contradict each other by the rounding of positions leave as much whatever method is tried.
    fn nothing(&self, problem: &Problem) -> f64 {
        (SPEED_OF_NOTHING / speed_scale(problem.free)).min(ENOUGH)
    }

    /// Whether the best impulses reach the residual aimed at, or as near to it as the rounding of A l lets them.
    fn is_exact(&self, problem: &Problem) -> bool {
        if self.best_residual <= RESIDUAL_AIM || self.best_residual > RESIDUAL_WANTED {
            return self.best_residual <= RESIDUAL_AIM;
        }
        let n = problem.rows();
        let largest = problem
            .matrix
            .chunks_exact(n)
            .map(|row| row.iter().zip(&self.best).map(|(a, l)| (a * l).abs()).sum::<f64>())
            .fold(0.0f64, f64::max);
        self.best_residual <= ROUNDINGS * f64::EPSILON * largest / speed_scale(problem.free)
    }

    /// Keeps the trial impulses if they are the best so far.
    fn offer(&mut self, problem: &Problem, method: Method) {
        multiply_add(problem.matrix, &self.trial, problem.free, &mut self.velocity);
        let residual = natural_residual(problem, &self.trial, &self.velocity);
        if residual < self.best_residual {
            self.best_residual = residual;
            self.best.copy_from_slice(&self.trial);
            self.best_method = Some(method);
        }
    }
}

/// Whether zero impulses obey the law of every block.
fn no_impulse_needed(problem: &Problem) -> bool {
    let mut row = 0;
    for block in problem.blocks {
        let fits = match *block {
            Block::Bounded { lower, upper } => {
                let u = problem.free[row];
                (lower <= 0.0 && 0.0 <= upper) && (u == 0.0 || (lower == 0.0 && u > 0.0) || (upper == 0.0 && u < 0.0) || lower == upper)
            }
            _ => problem.free[row] >= 0.0,
        };
        if !fits {
            return false;
        }
        row += block.rows(problem.tangents);
    }
    true
}

#[cfg(test)]
pub(crate) mod samples;

#[cfg(test)]
mod tests;
