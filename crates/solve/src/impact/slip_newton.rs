//! The Newton step of friction for many contacts: (Zᵀ (K + Σ) Z) s = -Zᵀ slip, theory (5.15), by conjugate gradients or over bodies, theory (5.24).

use super::roots::{BodySystem, Roots};

/// Relative residual at which the step is exact enough, while contacts still change between sticking and sliding and once they hardly do: the next step
/// takes up the rest.
const EXACT: [f64; 2] = [0.1, 1e-5];
/// Change of the last sweep, relative, up to which they hardly do.
const NEARLY: f64 = 1e-5;
/// The same where a factor is at hand.
const SHARP: f64 = 1e-8;
/// Products with K that conjugate gradients may take before it is asked what a factor costs, and then, in factorisations over bodies.
const FIRST_PRODUCTS: usize = 100;
const WORTH_FACTORS: f64 = 2.0;
/// Products where no bodies are known.
const LONE_PRODUCTS: usize = 200;
/// Softness of contacts that stick, over the largest own answer, in the factor over bodies; and the corrections that take it out again.
const SOFTNESS: f64 = 1e-8;
const MAX_CORRECTIONS: usize = 4;

/// How the friction impulse of a contact may move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Motion {
    /// Not at all.
    #[default]
    None,
    /// Anywhere: it sticks.
    Free,
    /// Along the edge of its disc, against a pressure.
    Along([f64; 2], f64),
}

/// Solver with its scratch; all vectors have an entry for every tangential row.
#[derive(Clone, Debug, Default)]
pub(super) struct SlipNewton {
    /// How each contact may move.
    pub motion: Vec<Motion>,
    /// The step.
    pub step: Vec<f64>,
    residual: Vec<f64>,
    scaled: Vec<f64>,
    direction: Vec<f64>,
    image: Vec<f64>,
    system: BodySystem,
    /// Products of a factorisation, once they are known.
    operations: Option<f64>,
    own: Vec<f64>,
    weights: Vec<f64>,
    velocity: Vec<f64>,
    answer: Vec<f64>,
}

/// Compressed rows of K: starts, columns, values.
type Matrix<'a> = (&'a [usize], &'a [usize], &'a [f64]);

impl SlipNewton {
    /// Forgets the rows of the last problem.
    pub fn forget(&mut self) {
        self.operations = None;
        self.own.clear();
    }

    /// Begins a step: nobody moves yet.
    pub fn begin(&mut self, rows: usize) {
        self.motion.clear();
        self.motion.resize(rows, Motion::None);
        for list in [&mut self.step, &mut self.residual, &mut self.scaled, &mut self.direction, &mut self.image] {
            list.clear();
            list.resize(rows, 0.0);
        }
    }

    /// Solves for the step against `slip`; `change` is that of the last sweep, `roots` are the rows over bodies and the first of them. False where no step was found.
    pub fn solve(&mut self, t: usize, matrix: Matrix<'_>, slip: &[f64], change: f64, roots: Option<(&Roots, usize)>) -> bool {
        self.motion.truncate(slip.len() / t);
        for (k, motion) in self.motion.iter().enumerate() {
            for c in 0..t {
                self.residual[k * t + c] = -slip[k * t + c];
            }
            project(*motion, &mut self.residual[k * t..(k + 1) * t]);
        }
        let size = largest(&self.residual);
        if size == 0.0 {
            return false;
        }
        if self.own.len() != self.motion.len() {
            self.measure(t, matrix);
        }
        let aim = EXACT[usize::from(change <= NEARLY)] * size;
        let Some((roots, first)) = roots else {
            return self.conjugate_gradients(t, matrix, aim, LONE_PRODUCTS) || self.step.iter().any(|&s| s != 0.0);
        };
        // What a factor would cost is asked when conjugate gradients are slow, once.
        if self.operations.is_none() {
            if self.conjugate_gradients(t, matrix, aim, FIRST_PRODUCTS) {
                return true;
            }
            self.system.begin(roots, t);
            for k in 0..self.motion.len() {
                self.system.add_block(roots, first + k * t, 1.0);
            }
            self.operations = Some(self.system.analyse());
        }
        let worth = WORTH_FACTORS * self.operations.unwrap_or(0.0) / matrix.2.len().max(1) as f64;
        self.conjugate_gradients(t, matrix, aim, worth as usize)
            || self.over_bodies(t, matrix, SHARP * size)
            || self.step.iter().any(|&s| s != 0.0)
    }

    /// out = Zᵀ (K + Σ) x for an x of allowed directions.
    fn apply(&self, t: usize, (starts, columns, values): Matrix<'_>, x: &[f64], out: &mut [f64]) {
        for (k, motion) in self.motion.iter().enumerate() {
            let own = k * t..(k + 1) * t;
            if *motion == Motion::None {
                out[own].fill(0.0);
                continue;
            }
            for row in own.clone() {
                let range = starts[row]..starts[row + 1];
                out[row] = columns[range.clone()].iter().zip(&values[range]).map(|(&j, a)| a * x[j]).sum();
            }
            project(*motion, &mut out[own.clone()]);
            if let Motion::Along(_, pressure) = motion {
                own.for_each(|row| out[row] += pressure * x[row]);
            }
        }
    }

    /// Conjugate gradients, preconditioned by the diagonal; what they reach is a direction of descent in any case. True at the aim.
    fn conjugate_gradients(&mut self, t: usize, matrix: Matrix<'_>, aim: f64, products: usize) -> bool {
        let mut image = std::mem::take(&mut self.image);
        self.scale(t);
        self.direction.copy_from_slice(&self.scaled);
        let mut square = dot(&self.residual, &self.scaled);
        let mut reached = false;
        for _ in 0..products {
            self.apply(t, matrix, &self.direction, &mut image);
            let curvature = dot(&self.direction, &image);
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let length = square / curvature;
            for row in 0..image.len() {
                self.step[row] += length * self.direction[row];
                self.residual[row] -= length * image[row];
            }
            reached = largest(&self.residual) <= aim;
            if reached {
                break;
            }
            self.scale(t);
            let next = dot(&self.residual, &self.scaled);
            let ratio = next / square;
            square = next;
            for row in 0..image.len() {
                self.direction[row] = self.scaled[row] + ratio * self.direction[row];
            }
        }
        self.image = image;
        reached
    }

    /// The own answer of each contact, the mean of its rows.
    fn measure(&mut self, t: usize, (starts, columns, values): Matrix<'_>) {
        self.own.clear();
        for k in 0..self.motion.len() {
            let of_row = |row: usize| {
                let range = starts[row]..starts[row + 1];
                columns[range.clone()].iter().position(|&j| j == row).map_or(0.0, |e| values[range.start + e])
            };
            self.own.push((k * t..(k + 1) * t).map(of_row).sum::<f64>() / t as f64);
        }
    }

    /// The residual over the own answer of each contact: one number for both rows of a contact, so that directions stay what they are.
    fn scale(&mut self, t: usize) {
        for (k, motion) in self.motion.iter().enumerate() {
            let own = self.own[k] + if let Motion::Along(_, pressure) = motion { *pressure } else { 0.0 };
            let inverse = if own > 0.0 && *motion != Motion::None { 1.0 / own } else { 0.0 };
            (k * t..(k + 1) * t).for_each(|row| self.scaled[row] = inverse * self.residual[row]);
        }
    }

    /// The step by a factor over bodies: with E = (Σ + softness)⁻¹ on the allowed directions, (K + E⁻¹)⁻¹ r = E (r - D y), (I + Dᵀ E D) y = Dᵀ E r; the
    /// softness is taken out by corrections. It goes on from the step at hand.
    fn over_bodies(&mut self, t: usize, matrix: Matrix<'_>, aim: f64) -> bool {
        let softness = SOFTNESS * largest(&self.own);
        if softness <= 0.0 {
            return false;
        }
        self.weights.clear();
        for motion in &self.motion {
            let (tau, weight) = match motion {
                Motion::None => ([0.0, 0.0], 0.0),
                Motion::Free => ([1.0, 1.0], 1.0 / softness),
                Motion::Along(tau, pressure) => (*tau, 1.0 / (pressure + softness)),
            };
            for r in 0..t {
                for c in 0..t {
                    let allowed = if *motion == Motion::Free { if r == c { 1.0 } else { 0.0 } } else { tau[r] * tau[c] };
                    self.weights.push(weight * allowed);
                }
            }
        }
        if !self.system.factor(&self.weights) {
            return false;
        }
        let mut image = std::mem::take(&mut self.image);
        let mut last = largest(&self.residual);
        for _ in 0..MAX_CORRECTIONS {
            self.weigh(t, false);
            self.system.gather(&self.scaled, &mut self.velocity);
            self.system.solve(&mut self.velocity);
            self.system.spread(&self.velocity, &mut self.answer);
            self.weigh(t, true);
            self.apply(t, matrix, &self.scaled, &mut image);
            for row in 0..image.len() {
                self.step[row] += self.scaled[row];
                self.residual[row] -= image[row];
            }
            let now = largest(&self.residual);
            if now <= aim || now.is_nan() || now > last / 2.0 {
                break;
            }
            last = now;
        }
        self.image = image;
        self.step.iter().all(|s| s.is_finite())
    }

    /// scaled = E r, or E (r - answer).
    fn weigh(&mut self, t: usize, answered: bool) {
        for k in 0..self.motion.len() {
            let square = &self.weights[k * t * t..(k + 1) * t * t];
            let lacking = |c: usize| self.residual[k * t + c] - if answered { self.answer[k * t + c] } else { 0.0 };
            for r in 0..t {
                self.scaled[k * t + r] = (0..t).map(|c| square[r * t + c] * lacking(c)).sum();
            }
        }
    }
}

/// Draws a vector of one contact into its allowed directions.
fn project(motion: Motion, own: &mut [f64]) {
    match motion {
        Motion::None => own.fill(0.0),
        Motion::Free => {}
        Motion::Along(tau, _) => {
            let along: f64 = own.iter().zip(tau).map(|(a, b)| a * b).sum();
            own.iter_mut().zip(tau).for_each(|(a, b)| *a = along * b);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |s, x| s.max(x.abs()))
}
