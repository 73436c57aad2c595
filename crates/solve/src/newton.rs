//! Newton's method along a path of smoothed problems that ends at the round friction cones; theory (4.20)-(4.22).
//!
//! Complementarity is replaced by products equal to tau, the law of friction by one in which the slip speed is rounded off by a small
//! speed. The smoothed problem has a solution for every tau > 0; it is followed from tau = 1 (in scaled units) down to where the modes
//! can be read off.

use crate::dense::{Lu, add_scaled, max_abs, multiply_add};
use crate::interrupt::Interrupt;
use crate::problem::{Block, Problem};

/// Linear solves of one run.
const ITERATIONS: usize = 120;
/// Share of the way to the boundary taken by a step.
const STEP: f64 = 0.95;
/// Halvings of a step that does not reduce the misfit.
const HALVINGS: usize = 12;
/// Least relative decrease of the misfit per unit of step.
const DECREASE: f64 = 1e-4;
/// Misfit relative to tau at which tau is lowered.
const CLOSE: f64 = 0.5;
/// Relative diagonal added to the Newton matrix, in units where A has a unit diagonal.
const REGULARISATION: f64 = 1e-12;

/// How one run goes from tau = 1 to its end.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Factor by which tau is lowered when the misfit allows it.
    pub factor: f64,
    /// Smoothing speed of friction over tau, in scaled units.
    pub rounding: f64,
    /// Softness added to every row over tau, in scaled units: it keeps impulses that only press bodies against each other bounded.
    pub softness: f64,
    /// The tau at which the run starts, in scaled units; 1 from the centre.
    pub start: f64,
    /// The tau at which the run ends.
    pub end: f64,
}

/// The smoothed Newton method with its scratch.
#[derive(Clone, Debug, Default)]
pub struct SmoothedNewton {
    pub(crate) matrix: Vec<f64>,
    pub(crate) free: Vec<f64>,
    scale: Vec<f64>,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) friction: Vec<f64>,
    pub(crate) state: State,
    trial: State,
    step: Vec<f64>,
    pub(crate) lu: Lu,
    speed: f64,
    softness: f64,
}

/// Impulses, multipliers of their bounds, and the velocity that goes with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) l: Vec<f64>,
    pub(crate) low: Vec<f64>,
    pub(crate) high: Vec<f64>,
    pub(crate) w: Vec<f64>,
}

impl State {
    fn reset(&mut self, n: usize) {
        for field in [&mut self.l, &mut self.low, &mut self.high, &mut self.w] {
            field.clear();
            field.resize(n, 0.0);
        }
    }

    fn copy_from(&mut self, other: &State) {
        self.l.copy_from_slice(&other.l);
        self.low.copy_from_slice(&other.low);
        self.high.copy_from_slice(&other.high);
        self.w.copy_from_slice(&other.w);
    }
}

/// Marks a friction row in `friction`; the first row of a contact carries its coefficient.
const TANGENT: f64 = -1.0;
/// Marks a row that is neither.
const NO_CONTACT: f64 = -2.0;

impl SmoothedNewton {
    /// A solver without scratch yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Scales `problem` to a unit diagonal and unit speed and starts at the centre.
    pub fn start(&mut self, problem: &Problem) {
        let n = problem.rows();
        let diagonal = |row: usize| problem.matrix[row * n + row];
        let largest = (0..n).map(diagonal).fold(0.0f64, f64::max).max(f64::MIN_POSITIVE);
        self.speed = 0.0;
        self.scale.clear();
        self.lower.clear();
        self.upper.clear();
        self.friction.clear();
        let mut row = 0;
        for block in problem.blocks {
            let rows = block.rows(problem.tangents);
            let mean = (row..row + rows).map(diagonal).sum::<f64>() / rows as f64;
            let scale = 1.0 / if mean > 0.0 { mean } else { largest }.sqrt();
            for k in 0..rows {
                self.scale.push(scale);
                self.speed = self.speed.max((scale * problem.free[row + k]).abs());
                let (lower, upper) = match *block {
                    _ if k > 0 => (f64::NEG_INFINITY, f64::INFINITY),
                    Block::Contact { .. } | Block::Unilateral => (0.0, f64::INFINITY),
                    Block::Bounded { lower, upper } => (lower, upper),
                };
                self.lower.push(lower / scale);
                self.upper.push(upper / scale);
                self.friction.push(match *block {
                    _ if k > 0 => TANGENT,
                    Block::Contact { friction } => friction,
                    _ => NO_CONTACT,
                });
            }
            row += rows;
        }
        let speed = if self.speed > 0.0 { self.speed } else { 1.0 };
        self.speed = speed;
        self.matrix.clear();
        for i in 0..n {
            let source = &problem.matrix[i * n..(i + 1) * n];
            self.matrix.extend(source.iter().zip(&self.scale).map(|(a, s)| a * s * self.scale[i]));
        }
        self.free.clear();
        self.free.extend(problem.free.iter().zip(&self.scale).map(|(u, s)| u * s / speed));
        self.lower.iter_mut().chain(&mut self.upper).for_each(|bound| *bound /= speed);
        self.state.reset(n);
        self.trial.reset(n);
        self.step.resize(n, 0.0);
        for i in 0..n {
            let (lower, upper) = (self.lower[i], self.upper[i]);
            self.state.l[i] = match (lower.is_finite(), upper.is_finite()) {
                (true, true) => (lower + upper) / 2.0,
                (true, false) => lower + 1.0,
                (false, true) => upper - 1.0,
                (false, false) => 0.0,
            };
            self.state.low[i] = if lower.is_finite() { 1.0 } else { 0.0 };
            self.state.high[i] = if upper.is_finite() { 1.0 } else { 0.0 };
        }
    }

    /// Follows the path; returns the linear solves made and whether it reached the end.
    pub fn follow(&mut self, problem: &Problem, path: Path, interrupt: &Interrupt) -> (usize, bool) {
        let n = problem.rows();
        let tangents = problem.tangents;
        let mut tau = path.start;
        self.soften(path.softness * tau);
        for iteration in 0..ITERATIONS {
            let rounding = path.rounding * tau;
            if self.misfit(&self.state, tau, rounding, tangents) <= CLOSE * tau {
                if tau <= path.end {
                    return (iteration, true);
                }
                tau = (tau * path.factor).max(path.end);
                self.soften(path.softness * tau);
            }
            let rounding = path.rounding * tau;
            if interrupt.raised() || !self.assemble(n, tau, rounding, tangents) {
                return (iteration, false);
            }
            self.lu.solve(&mut self.step);
            let misfit = self.misfit(&self.state, tau, rounding, tangents);
            let longest = (STEP * self.longest_step(tau)).min(1.0);
            let mut length = longest;
            let mut accepted = false;
            for _ in 0..HALVINGS {
                self.advance(length, tau);
                if self.misfit(&self.trial, tau, rounding, tangents) <= (1.0 - DECREASE * length) * misfit {
                    accepted = true;
                    break;
                }
                length /= 2.0;
            }
            if !accepted {
                // No step along this direction helps; half of it, uphill, often leaves the kink that stopped it.
                self.advance(longest / 2.0, tau);
            }
            std::mem::swap(&mut self.state, &mut self.trial);
            if !max_abs(&self.state.l).is_finite() {
                return (iteration, false);
            }
        }
        (ITERATIONS, false)
    }

    /// The present impulses in the units of the problem, as they are: strictly inside all bounds.
    pub fn inner_impulses(&self, impulses: &mut [f64]) {
        for ((l, x), s) in impulses.iter_mut().zip(&self.state.l).zip(&self.scale) {
            *l = x * s * self.speed;
        }
    }

    /// The present impulses in the units of the problem, each moved onto the bound it tends to: to zero where the multiplier exceeds
    /// the impulse, onto the cone where the slip speed exceeds what is left of the friction.
    pub fn impulses(&self, problem: &Problem, impulses: &mut [f64]) {
        let at = &self.state;
        let tangents = problem.tangents;
        impulses.copy_from_slice(&at.l);
        let mut i = 0;
        while i < at.l.len() {
            if self.lower[i] >= self.upper[i] || at.l[i] - self.lower[i] < at.low[i] {
                impulses[i] = self.lower[i];
            } else if self.upper[i] - at.l[i] < at.high[i] {
                impulses[i] = self.upper[i];
            }
            if self.friction[i] >= 0.0 {
                let reach = self.friction[i] * impulses[i];
                let slip = self.slip(at, i, 0.0, tangents);
                let mut pull = 0.0;
                for k in i + 1..=i + tangents {
                    pull += at.l[k] * at.l[k];
                }
                let pull = f64::sqrt(pull);
                for k in i + 1..=i + tangents {
                    if impulses[i] <= 0.0 {
                        impulses[k] = 0.0;
                    } else if pull > 0.0 && slip > reach - pull {
                        impulses[k] *= reach / pull;
                    }
                }
                i += tangents;
            }
            i += 1;
        }
        for (l, s) in impulses.iter_mut().zip(&self.scale) {
            *l *= s * self.speed;
        }
        // A bound must be met to the last bit, or the impulse counts as inside.
        let mut i = 0;
        for block in problem.blocks {
            if let Block::Bounded { lower, upper } = *block {
                if self.lower[i] >= self.upper[i] || at.l[i] - self.lower[i] < at.low[i] {
                    impulses[i] = lower;
                } else if self.upper[i] - at.l[i] < at.high[i] {
                    impulses[i] = upper;
                }
            }
            i += block.rows(tangents);
        }
    }

    /// Whether row i has a bounded impulse with room between its bounds.
    fn is_boxed(&self, i: usize) -> bool {
        self.lower[i] < self.upper[i] && (self.lower[i].is_finite() || self.upper[i].is_finite())
    }

    /// Norm of the equations (4.20)-(4.21) at a state.
    fn misfit(&self, at: &State, tau: f64, rounding: f64, tangents: usize) -> f64 {
        let mut sum = 0.0;
        let mut i = 0;
        while i < at.l.len() {
            if self.lower[i] < self.upper[i] {
                let balance = at.w[i] - at.low[i] + at.high[i];
                let below = if self.lower[i].is_finite() { (at.l[i] - self.lower[i]) * at.low[i] - tau } else { 0.0 };
                let above = if self.upper[i].is_finite() { (self.upper[i] - at.l[i]) * at.high[i] - tau } else { 0.0 };
                sum += balance * balance + below * below + above * above;
            }
            if self.friction[i] > 0.0 {
                let reach = self.friction[i] * at.l[i];
                let slip = self.slip(at, i, rounding, tangents);
                for k in i + 1..=i + tangents {
                    let miss = (reach * at.w[k] + slip * at.l[k]) / (reach + slip);
                    sum += miss * miss;
                }
            }
            i += if self.friction[i] >= 0.0 { 1 + tangents } else { 1 };
        }
        if sum.is_finite() { sum.sqrt() } else { f64::INFINITY }
    }

    /// Rounded slip speed of the contact at row i.
    fn slip(&self, at: &State, i: usize, rounding: f64, tangents: usize) -> f64 {
        let mut sum = rounding * rounding;
        for k in i + 1..=i + tangents {
            sum += at.w[k] * at.w[k];
        }
        sum.sqrt()
    }

    /// Newton matrix (4.22) and right side; false if it cannot be factored.
    fn assemble(&mut self, n: usize, tau: f64, rounding: f64, tangents: usize) -> bool {
        let at = &self.state;
        let system = self.lu.matrix(n);
        let mut i = 0;
        while i < n {
            let (l, w) = (at.l[i], at.w[i]);
            let target = &mut system[i * n..(i + 1) * n];
            if self.lower[i] < self.upper[i] {
                target.copy_from_slice(&self.matrix[i * n..(i + 1) * n]);
                let mut right = -w;
                let mut stiffness = REGULARISATION + self.softness;
                if self.lower[i].is_finite() {
                    let room = l - self.lower[i];
                    stiffness += at.low[i] / room;
                    right += tau / room;
                }
                if self.upper[i].is_finite() {
                    let room = self.upper[i] - l;
                    stiffness += at.high[i] / room;
                    right -= tau / room;
                }
                target[i] += stiffness;
                self.step[i] = right;
            } else {
                target.fill(0.0);
                target[i] = 1.0;
                self.step[i] = 0.0;
            }
            let friction = self.friction[i];
            if friction > 0.0 {
                let slip = {
                    let mut sum = rounding * rounding;
                    for k in i + 1..=i + tangents {
                        sum += at.w[k] * at.w[k];
                    }
                    sum.sqrt()
                };
                let reach = friction * l;
                // m = -l_t / (mu l_n), kept within the unit disc so that 1 - m w_t'/slip stays positive.
                let mut pull = [0.0; 2];
                let mut length = 0.0;
                for k in 0..tangents {
                    pull[k] = -at.l[i + 1 + k] / reach;
                    length += pull[k] * pull[k];
                }
                let length = f64::max(length.sqrt(), 1.0);
                for k in 0..tangents {
                    let row = i + 1 + k;
                    let mut coefficient = [0.0; 2];
                    for j in 0..tangents {
                        coefficient[j] = if j == k { 1.0 } else { 0.0 } - pull[k] / length * at.w[i + 1 + j] / slip;
                    }
                    let target = &mut system[row * n..(row + 1) * n];
                    let first = &self.matrix[(i + 1) * n..(i + 2) * n];
                    if tangents == 2 {
                        let second = &self.matrix[(i + 2) * n..(i + 3) * n];
                        for ((t, a), b) in target.iter_mut().zip(first).zip(second) {
                            *t = coefficient[0] * a + coefficient[1] * b;
                        }
                    } else {
                        for (t, a) in target.iter_mut().zip(first) {
                            *t = coefficient[0] * a;
                        }
                    }
                    for j in 0..tangents {
                        target[i + 1 + j] += coefficient[j] * self.softness;
                    }
                    target[row] += slip / reach + REGULARISATION;
                    target[i] += slip * pull[k] / l;
                    self.step[row] = -(at.w[row] + slip * at.l[row] / reach);
                }
            } else if friction == 0.0 {
                for row in i + 1..=i + tangents {
                    let target = &mut system[row * n..(row + 1) * n];
                    target.fill(0.0);
                    target[row] = 1.0;
                    self.step[row] = -at.l[row];
                }
            }
            i += if friction >= 0.0 { 1 + tangents } else { 1 };
        }
        self.lu.factor().is_ok()
    }

    /// Changes of the multipliers of the bounds of row i that go with the present step.
    fn multiplier_steps(&self, i: usize, tau: f64) -> (f64, f64) {
        let at = &self.state;
        let low = if self.lower[i].is_finite() {
            let room = at.l[i] - self.lower[i];
            (tau - at.low[i] * self.step[i]) / room - at.low[i]
        } else {
            0.0
        };
        let high = if self.upper[i].is_finite() {
            let room = self.upper[i] - at.l[i];
            (tau + at.high[i] * self.step[i]) / room - at.high[i]
        } else {
            0.0
        };
        (low, high)
    }

    /// Longest step that keeps every bounded impulse and every multiplier inside.
    fn longest_step(&self, tau: f64) -> f64 {
        let at = &self.state;
        let mut longest = f64::INFINITY;
        let mut limit = |room: f64, rate: f64| {
            if rate < 0.0 {
                longest = longest.min(-room / rate);
            }
        };
        for i in 0..at.l.len() {
            if self.is_boxed(i) {
                let (low, high) = self.multiplier_steps(i, tau);
                if self.lower[i].is_finite() {
                    limit(at.l[i] - self.lower[i], self.step[i]);
                    limit(at.low[i], low);
                }
                if self.upper[i].is_finite() {
                    limit(self.upper[i] - at.l[i], -self.step[i]);
                    limit(at.high[i], high);
                }
            }
        }
        longest
    }

    /// Changes the softness and with it the velocity of the present state.
    fn soften(&mut self, softness: f64) {
        self.softness = softness;
        let mut state = std::mem::take(&mut self.state);
        self.velocity_of(&mut state);
        self.state = state;
    }

    /// Velocity of the softened rows, w = (A + c 1) l + u.
    fn velocity_of(&self, at: &mut State) {
        multiply_add(&self.matrix, &at.l, &self.free, &mut at.w);
        add_scaled(&mut at.w, self.softness, &at.l);
    }

    /// Sets the trial state to the present one plus `length` times the step.
    fn advance(&mut self, length: f64, tau: f64) {
        let mut trial = std::mem::take(&mut self.trial);
        trial.copy_from(&self.state);
        for i in 0..trial.l.len() {
            trial.l[i] += length * self.step[i];
            if self.is_boxed(i) {
                let (low, high) = self.multiplier_steps(i, tau);
                trial.low[i] += length * low;
                trial.high[i] += length * high;
            }
        }
        self.velocity_of(&mut trial);
        self.trial = trial;
    }
}
