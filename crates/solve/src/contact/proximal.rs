//! The proximal Newton method on the laws, for warm starts and for the last digits; theory (4.33).
//!
//! Each round looks for the impulses R(l - rho w) that reproduce the velocities they cause, near the impulses of the last round: a Newton
//! iteration whose matrices are I + D W, with the slopes of the laws in D. With growing rho the rounds become Newton's method on the law itself.

use super::law::{Law, Mode, WIDEST};
use super::system::System;
use super::task::{Budget, Task};

/// Newton steps of a round.
const STEPS: usize = 12;
/// Halvings of a Newton step.
const HALVINGS: usize = 12;
/// Least relative decrease, over the length of the step, that a Newton step must bring.
const DECREASE: f64 = 1e-4;
/// A round need not be solved further than this part of the last residual.
const LOOSE: f64 = 0.3;
/// Part of the aim at which a round is as exact as it need be.
const EXACT: f64 = 1e-2;
/// A round is taken while its residual stays below this many times the last one.
const RISE: f64 = 3.0;
/// Growth of the step after a round of few Newton steps: at most 2, at most 5.
const GROWTH: [f64; 2] = [9.0, 3.0];
const FEW: [usize; 2] = [2, 5];
/// Fall of the step after a round that was not taken.
const FALL: f64 = 0.1;
/// Greatest and least step, over the inverse of a block's own answer. Rows that contradict each other by their rounding, as those of a body on more
/// contacts than it needs, are only told apart by impulses that press against each other; a step of 1e8 finds these too slowly.
const LONGEST: f64 = 1e11;
const SHORTEST: f64 = 1e-2;
/// Rounds without progress before it gives up.
const PATIENCE: usize = 12;
/// What counts as progress.
const PROGRESS: f64 = 0.9;
/// Relative residual below which rounds that do not halve it end the search soon: what is left then are rows that contradict each other.
const NEAR: f64 = 1e-8;
const NEAR_PATIENCE: usize = 2;

/// Back-substitutions with an earlier factor, and the part to which each must bring the residual.
const CHORDS: usize = 4;
const CHORD_GAIN: f64 = 0.1;

/// Part of the first residual that Newton steps with trusted modes must come to, or others are looked for.
const MODES_GAIN: f64 = 0.3;
/// Relative residual below which they are followed all the same.
const MODES_NEAR: f64 = 1e-6;

/// The step, over the inverse of a block's own answer, of Newton steps that keep the modes.
const FINAL_STEP: f64 = 1e6;

/// How a call shall behave.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Whether the modes of the given impulses are trusted: the first Newton step of a round keeps them, and its step is long from the first and does not
    /// grow, so that rounds share their factor while no block slides.
    pub trusting: bool,
    /// Rounds that may be rejected before it gives up.
    pub rejections: usize,
    /// Factorisations at most.
    pub factors: usize,
}

/// The method with its scratch.
#[derive(Clone, Debug, Default)]
pub struct Proximal {
    anchor: Vec<f64>,
    inner: Vec<f64>,
    admitted: Vec<f64>,
    velocity: Vec<f64>,
    trial_velocity: Vec<f64>,
    trial: Vec<f64>,
    step: Vec<f64>,
    response: Vec<f64>,
    lacking: Vec<f64>,
    resistance: Vec<f64>,
    slopes: Vec<f64>,
    best: Vec<f64>,
    /// Whether the slopes at hand are symmetric.
    symmetric: bool,
}

impl Proximal {
    /// Improves `impulses`; returns their relative residual.
    pub fn solve<S: System>(&mut self, system: &mut S, task: &Task, manner: Manner, budget: &mut Budget, impulses: &mut [f64]) -> f64 {
        self.velocity.resize(impulses.len(), 0.0);
        let best = task.judge(system, impulses, &mut self.velocity);
        if best <= task.aim {
            return best;
        }
        self.begin(system, impulses);
        self.best.copy_from_slice(impulses);
        let residual = self.iterate(system, task, manner, budget, best, impulses);
        if residual > task.ideal && residual <= task.aim && system.is_factored() {
            task.judge(system, impulses, &mut self.velocity);
            self.keep_modes(system, task, impulses);
            return self.follow_chords(system, &Task { aim: task.ideal, ..*task }, residual, impulses);
        }
        residual
    }

    /// Improves impulses whose modes are trusted, given their velocities and residual: Newton steps that keep the modes, with the factor at hand where
    /// there is one, then with a new one; rounds that may change them follow. Returns the relative residual.
    pub fn follow_modes<S: System>(
        &mut self,
        system: &mut S,
        task: &Task,
        manner: Manner,
        budget: &mut Budget,
        known: (f64, &[f64]),
        impulses: &mut [f64],
    ) -> f64 {
        self.velocity.clear();
        self.velocity.extend_from_slice(known.1);
        self.begin(system, impulses);
        let mut best = known.0;
        self.keep_modes(system, task, impulses);
        if system.is_factored() {
            best = self.follow_chords(system, task, best, impulses);
        }
        if best <= task.aim || !self.factor(system, budget) {
            return best;
        }
        best = self.follow_chords(system, &Task { aim: task.ideal, ..*task }, best, impulses);
        // Where even their own factor gains nothing the modes are not these.
        if best <= task.aim || best > MODES_NEAR.max(MODES_GAIN * known.0) {
            return best;
        }
        self.best.copy_from_slice(impulses);
        self.iterate(system, task, manner, budget, best, impulses)
    }

    /// Makes room, and takes how hard each block is to move.
    fn begin<S: System>(&mut self, system: &S, impulses: &[f64]) {
        let n = impulses.len();
        for list in [
            &mut self.anchor,
            &mut self.inner,
            &mut self.admitted,
            &mut self.trial_velocity,
            &mut self.trial,
            &mut self.step,
            &mut self.response,
            &mut self.lacking,
            &mut self.best,
        ] {
            list.resize(n, 0.0);
        }
        self.slopes.resize(system.layout().squares(), 0.0);
        self.resistance.clear();
        for block in 0..system.layout().blocks() {
            let d = system.layout().rows_of(block).len();
            let own = &system.own()[system.layout().square_of(block)];
            let trace: f64 = (0..d).map(|k| own[k * (d + 1)]).sum();
            self.resistance.push(if trace > 0.0 { d as f64 / trace } else { 0.0 });
        }
    }

    /// Rounds until the aim is reached, or nothing is gained any more.
    fn iterate<S: System>(
        &mut self,
        system: &mut S,
        task: &Task,
        manner: Manner,
        budget: &mut Budget,
        mut best: f64,
        impulses: &mut [f64],
    ) -> f64 {
        // Misses of the scaled velocities that a speed is worth at the lightest block.
        let least = self.resistance.iter().copied().filter(|r| *r > 0.0).fold(f64::INFINITY, f64::min);
        let worth = task.scale * if least.is_finite() { least.sqrt() } else { 1.0 };
        let mut length = if manner.trusting { FINAL_STEP } else { best.max(task.aim).powf(-0.5).min(LONGEST) };
        let mut last = f64::INFINITY;
        let (mut idle, mut rejected, mut hold) = (0, 0, false);
        let mut factors = manner.factors;
        while factors > 0 {
            self.anchor.copy_from_slice(impulses);
            self.inner.copy_from_slice(impulses);
            self.trial.copy_from_slice(&self.inner);
            self.trial_velocity.copy_from_slice(&self.velocity);
            let mut steps = 0;
            let mut failed = false;
            if manner.trusting {
                self.keep_modes(system, task, impulses);
                if !self.newton_step(system, budget, &mut factors) {
                    return self.end(best, impulses);
                }
                steps += 1;
                self.trial.iter_mut().zip(&self.step).for_each(|(l, step)| *l += step);
                self.trial_velocity.iter_mut().zip(&self.response).for_each(|(w, response)| *w += response);
            }
            let mut merit = self.project(system, task, length);
            loop {
                let miss = merit.sqrt();
                if miss <= EXACT * task.aim * worth || (steps > 0 && miss <= LOOSE * last.min(best) * worth) {
                    break;
                }
                if steps >= STEPS {
                    failed = true;
                    break;
                }
                if factors == 0 {
                    break;
                }
                if !self.newton_step(system, budget, &mut factors) {
                    return self.end(best, impulses);
                }
                steps += 1;
                if !self.search(system, task, length, &mut merit) {
                    failed = merit.sqrt() > 10.0 * EXACT * task.aim * worth;
                    break;
                }
            }
            let residual = {
                self.trial.copy_from_slice(&self.admitted);
                task.judge(system, &self.trial, &mut self.trial_velocity)
            };
            // The residual is infinite where it is no number, and infinity is not below infinity.
            if failed || residual >= RISE * last {
                rejected += 1;
                idle += 1;
                length *= FALL;
                hold = true;
                if rejected >= manner.rejections || length < SHORTEST {
                    break;
                }
                impulses.copy_from_slice(&self.anchor);
            } else {
                impulses.copy_from_slice(&self.trial);
                self.velocity.copy_from_slice(&self.trial_velocity);
                idle = if residual < if best <= NEAR { 0.5 } else { PROGRESS } * best { 0 } else { idle + 1 };
                last = residual;
                if residual < best {
                    best = residual;
                    self.best.copy_from_slice(impulses);
                }
                let growth = FEW.iter().zip(GROWTH).find(|(few, _)| steps <= **few);
                if let Some((_, growth)) = growth
                    && !manner.trusting
                    && !hold
                {
                    length = (length * growth).min(LONGEST);
                }
                hold = false;
            }
            if best <= task.aim || idle > if best <= NEAR { NEAR_PATIENCE } else { PATIENCE } || budget.stop.raised() {
                break;
            }
        }
        self.end(best, impulses)
    }

    /// The Newton step of the slopes at hand towards what is lacking; false where it cannot be had, or no factorisation is left for it.
    fn newton_step<S: System>(&mut self, system: &mut S, budget: &mut Budget, factors: &mut usize) -> bool {
        let before = system.factors();
        if !self.factor(system, budget) {
            return false;
        }
        *factors = factors.saturating_sub(system.factors() - before);
        self.step.copy_from_slice(&self.lacking);
        system.solve(&mut self.step, &mut self.response);
        true
    }

    /// Factors the slopes at hand; false where it cannot be done, or no factorisation is left for it. One that serves already costs none.
    fn factor<S: System>(&self, system: &mut S, budget: &mut Budget) -> bool {
        let before = system.factors();
        system.factor(&self.slopes, self.symmetric) && (system.factors() == before || budget.factor())
    }

    fn end(&self, best: f64, impulses: &mut [f64]) -> f64 {
        impulses.copy_from_slice(&self.best);
        best
    }

    /// R(anchor - rho w) at the trial velocities, its slopes, and how far the inner impulses are from it; returns the square of that miss.
    fn project<S: System>(&mut self, system: &mut S, task: &Task, length: f64) -> f64 {
        let layout = system.layout();
        self.symmetric = true;
        for (block, law) in task.laws.iter().enumerate() {
            let rows = layout.rows_of(block);
            let d = rows.len();
            let rho = length * self.resistance[block];
            let mut z = [0.0; WIDEST];
            for (k, row) in rows.clone().enumerate() {
                z[k] = self.anchor[row] - rho * self.trial_velocity[row];
            }
            let slope = &mut self.slopes[layout.square_of(block)];
            let mode = law.project(&mut z[..d], Some(slope));
            slope.iter_mut().for_each(|s| *s *= rho);
            self.symmetric &= mode != Mode::Slide;
            for (k, row) in rows.enumerate() {
                self.admitted[row] = z[k];
                self.lacking[row] = z[k] - self.trial[row];
            }
        }
        system.energy(&self.lacking)
    }

    /// Newton steps with a factor that was made for nearly the same slopes, while they gain a digit each; impulses, velocities and what they lack are those
    /// of the best, whose residual is returned.
    fn follow_chords<S: System>(&mut self, system: &mut S, task: &Task, first: f64, impulses: &mut [f64]) -> f64 {
        let mut best = first;
        for _ in 0..CHORDS {
            self.step.copy_from_slice(&self.lacking);
            system.solve(&mut self.step, &mut self.response);
            // Back to what the laws admit: a step of Newton's leaves it by its square.
            let layout = system.layout();
            for (block, law) in task.laws.iter().enumerate() {
                let rows = layout.rows_of(block);
                for row in rows.clone() {
                    self.trial[row] = impulses[row] + self.step[row];
                }
                law.project(&mut self.trial[rows], None);
            }
            let residual = task.judge(system, &self.trial, &mut self.trial_velocity);
            if residual >= best {
                break;
            }
            let gained = residual < CHORD_GAIN * best;
            best = residual;
            impulses.copy_from_slice(&self.trial);
            std::mem::swap(&mut self.velocity, &mut self.trial_velocity);
            if best <= task.aim {
                break;
            }
            self.keep_modes(system, task, impulses);
            if !gained {
                break;
            }
        }
        best
    }

    /// What is lacking, and the slopes, of a long step with the modes of a short one: at velocities that are not yet right a long step would find others.
    fn keep_modes<S: System>(&mut self, system: &S, task: &Task, impulses: &[f64]) {
        let layout = system.layout();
        self.symmetric = true;
        for (block, law) in task.laws.iter().enumerate() {
            let rows = layout.rows_of(block);
            let d = rows.len();
            let (short, long) = (self.resistance[block], FINAL_STEP * self.resistance[block]);
            let (l, w) = (&impulses[rows.clone()], &self.velocity[rows.clone()]);
            let (slope, lacking) = (&mut self.slopes[layout.square_of(block)], &mut self.lacking[rows]);
            // The compiler knows the three rows of contacts in space, which most blocks are.
            let mode = if d == 3 {
                keep(3, law, (short, long), (l, w), slope, lacking)
            } else {
                keep(d, law, (short, long), (l, w), slope, lacking)
            };
            self.symmetric &= mode != Mode::Slide;
        }
    }

    /// Goes along the Newton step as far as the miss falls; false where it does not.
    fn search<S: System>(&mut self, system: &mut S, task: &Task, length: f64, merit: &mut f64) -> bool {
        let mut part = 1.0;
        self.inner.copy_from_slice(&self.trial);
        // The velocities of the inner impulses stay in `velocity_at` by adding the response of each part taken.
        let mut taken = 0.0;
        for _ in 0..HALVINGS {
            let change = part - taken;
            for k in 0..self.trial.len() {
                self.trial[k] = self.inner[k] + part * self.step[k];
                self.trial_velocity[k] += change * self.response[k];
            }
            taken = part;
            let next = self.project(system, task, length);
            if next < *merit * (1.0 - DECREASE * part) || next == 0.0 {
                *merit = next;
                return true;
            }
            part *= 0.5;
        }
        false
    }
}

/// What one block of d rows lacks for a long step with the mode of a short one, and its slope.
#[inline(always)]
fn keep(d: usize, law: &Law, (short, long): (f64, f64), (l, w): (&[f64], &[f64]), slope: &mut [f64], lacking: &mut [f64]) -> Mode {
    let (l, w, slope, lacking) = (&l[..d], &w[..d], &mut slope[..d * d], &mut lacking[..d]);
    let mut z = [0.0; WIDEST];
    for k in 0..d {
        z[k] = l[k] - short * w[k];
    }
    let mut unit = [0.0; WIDEST * WIDEST];
    let mode = law.project(&mut z[..d], Some(&mut unit[..d * d]));
    for i in 0..d {
        let mut along = 0.0;
        for j in 0..d {
            along += unit[i * d + j] * w[j];
            slope[i * d + j] = unit[i * d + j] * long;
        }
        lacking[i] = z[i] - l[i] - (long - short) * along;
    }
    mode
}
