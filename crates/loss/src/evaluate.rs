//! Value and exact gradient of a loss on the states of a rollout, by reverse accumulation.

use super::{Component, Energy, Expression, Forces, Function, Loss, Operator, Span};
use carom::dynamics::gradient::{Cotangents, Pair, Parameters, Push, energies, energy_gradient};
use carom::dynamics::{Model, State};
use carom::geometry::Geometry;

/// The gradient of a loss by the states of a rollout, and by the parameters where it reads them directly.
#[derive(Clone, Debug)]
pub struct Slope {
    /// By all states.
    pub states: Cotangents,
    /// By the impulses of contacts.
    pub pushes: Vec<Push>,
    /// By the parameters, states held: energies read masses, gravity and springs.
    pub parameters: Vec<f64>,
}

impl Slope {
    /// Whether it is made of numbers: a root or a logarithm at 0 has no slope.
    pub fn is_finite(&self) -> bool {
        let pushes = self.pushes.iter().flat_map(|push| &push.bar);
        self.states.poses.iter().chain(&self.states.twists).chain(&self.parameters).chain(pushes).all(|x| x.is_finite())
    }
}

/// The states of a run.
struct Run<'a, G: Geometry> {
    model: &'a Model<G>,
    layout: &'a Parameters,
    states: &'a [State<G>],
    pairs: &'a [Pair],
    forces: &'a Forces,
}

impl Loss {
    /// The value on the states of a run and the forces that it reads.
    pub fn value<G: Geometry>(&self, model: &Model<G>, states: &[State<G>], forces: &Forces) -> f64 {
        let layout = Parameters::default();
        let run = Run { model, layout: &layout, states, pairs: &self.pairs, forces };
        run.value(&self.root, states.len().saturating_sub(1))
    }

    /// The gradient on the states of a run and the forces that it reads.
    pub fn slope<G: Geometry>(&self, model: &Model<G>, layout: &Parameters, states: &[State<G>], forces: &Forces) -> Slope {
        let size = states.len() * model.bodies.len() * G::DOF;
        let states_bar = Cotangents { poses: vec![0.0; size], twists: vec![0.0; size] };
        let mut out = Slope { states: states_bar, pushes: Vec::new(), parameters: vec![0.0; layout.len] };
        Run { model, layout, states, pairs: &self.pairs, forces }.add(&self.root, states.len().saturating_sub(1), 1.0, &mut out);
        out
    }
}

/// Weights of kinetic, potential and elastic energy.
fn weights(energy: Energy) -> [f64; 3] {
    match energy {
        Energy::Kinetic => [1.0, 0.0, 0.0],
        Energy::Potential => [0.0, 1.0, 0.0],
        Energy::Elastic => [0.0, 0.0, 1.0],
        Energy::Total => [1.0; 3],
    }
}

/// Whether an expression is the same at every state.
fn is_constant(expression: &Expression) -> bool {
    match expression {
        Expression::Number(_) => true,
        Expression::Time | Expression::Body(..) | Expression::Place(_) | Expression::Energy(_) | Expression::Force(..) => false,
        Expression::Apply(_, inner) | Expression::Run(_, inner) => is_constant(inner),
        Expression::Join(_, a, b) => is_constant(a) && is_constant(b),
    }
}

impl<G: Geometry> Run<'_, G> {
    /// Weight of one state in a sum or mean.
    fn share(&self, span: Span) -> f64 {
        match span {
            Span::Sum => 1.0,
            Span::Mean => 1.0 / self.states.len().max(1) as f64,
        }
    }

    fn value(&self, expression: &Expression, at: usize) -> f64 {
        match expression {
            Expression::Number(x) => *x,
            Expression::Time => self.states[at].time,
            Expression::Body(body, component) => self.component(*body, *component, at),
            Expression::Place(place) => place.value(self.model, &self.states[at]),
            Expression::Force(pair, component) => self.forces.at(at, *pair, *component),
            Expression::Energy(energy) => energies(self.model, &self.states[at]).iter().zip(weights(*energy)).map(|(e, w)| e * w).sum(),
            Expression::Apply(function, inner) => {
                let x = self.value(inner, at);
                match function {
                    Function::Negative => -x,
                    Function::Sqrt => x.sqrt(),
                    Function::Abs => x.abs(),
                    Function::Sin => x.sin(),
                    Function::Cos => x.cos(),
                    Function::Exp => x.exp(),
                    Function::Log => x.ln(),
                }
            }
            Expression::Join(operator, a, b) => {
                let (x, y) = (self.value(a, at), self.value(b, at));
                match operator {
                    Operator::Plus => x + y,
                    Operator::Minus => x - y,
                    Operator::Times => x * y,
                    Operator::Over => x / y,
                    Operator::Power => power(x, y),
                }
            }
            Expression::Run(span, inner) => (0..self.states.len()).map(|state| self.value(inner, state)).sum::<f64>() * self.share(*span),
        }
    }

    fn component(&self, body: usize, component: Component, at: usize) -> f64 {
        let state = &self.states[at];
        let (pose, twist) = (&state.poses[body], &state.twists[body]);
        let mut turn = [0.0; 4];
        G::write_rotation(pose.rotation, &mut turn);
        match component {
            Component::Pose(k) if k < G::DIM => pose.position[k],
            Component::Pose(_) => turn[0],
            Component::Quaternion(k) => turn[k],
            Component::Twist(k) if k < G::DIM => twist.lin[k],
            Component::Twist(k) => twist.ang[k - G::DIM],
        }
    }

    /// Adds the gradient of an expression at a state, times a weight.
    fn add(&self, expression: &Expression, at: usize, weight: f64, out: &mut Slope) {
        if weight == 0.0 || is_constant(expression) {
            return;
        }
        match expression {
            Expression::Number(_) => {}
            Expression::Time => {
                // So many steps after the first state.
                if let Some(slot) = out.parameters.get_mut(self.layout.step) {
                    *slot += weight * at as f64;
                }
            }
            Expression::Body(body, component) => self.add_component(*body, *component, at, weight, out),
            Expression::Place(place) => place.add(self.model, self.layout, &self.states[at], at, weight, out),
            Expression::Energy(energy) => {
                let slope = energy_gradient(self.model, self.layout, &self.states[at], weights(*energy).map(|w| w * weight));
                let size = slope.poses.len();
                let add = |out: &mut [f64], from: &[f64]| out.iter_mut().zip(from).for_each(|(o, x)| *o += x);
                add(&mut out.states.poses[at * size..(at + 1) * size], &slope.poses);
                add(&mut out.states.twists[at * size..(at + 1) * size], &slope.twists);
                add(&mut out.parameters, &slope.parameters);
            }
            Expression::Force(pair, component) if at > 0 => {
                // The force is the impulse over the step.
                let step = self.model.step;
                let mut bar = [0.0; 3];
                bar[*component] = weight / step;
                out.pushes.push(Push { step: at - 1, pair: self.pairs[*pair], bar });
                if let Some(slot) = out.parameters.get_mut(self.layout.step) {
                    *slot -= weight * self.forces.at(at, *pair, *component) / step;
                }
            }
            Expression::Force(..) => {}
            Expression::Apply(function, inner) => {
                let x = self.value(inner, at);
                let slope = match function {
                    Function::Negative => -1.0,
                    Function::Sqrt => 0.5 / x.sqrt(),
                    // At 0 the slopes are -1 and 1; their mean is what a symmetric difference sees.
                    Function::Abs => {
                        if x == 0.0 {
                            0.0
                        } else {
                            x.signum()
                        }
                    }
                    Function::Sin => x.cos(),
                    Function::Cos => -x.sin(),
                    Function::Exp => x.exp(),
                    Function::Log => 1.0 / x,
                };
                self.add(inner, at, weight * slope, out);
            }
            Expression::Join(operator, a, b) => {
                let (x, y) = (self.value(a, at), self.value(b, at));
                let (by_a, by_b) = match operator {
                    Operator::Plus => (1.0, 1.0),
                    Operator::Minus => (1.0, -1.0),
                    Operator::Times => (y, x),
                    Operator::Over => (1.0 / y, -x / (y * y)),
                    Operator::Power if y == 0.0 => (0.0, x.ln()),
                    Operator::Power => (y * power(x, y - 1.0), power(x, y) * x.ln()),
                };
                self.add(a, at, weight * by_a, out);
                // A constant exponent asks for no logarithm, so a negative base has its power and its slope.
                if !is_constant(b) {
                    self.add(b, at, weight * by_b, out);
                }
            }
            Expression::Run(span, inner) => {
                for state in 0..self.states.len() {
                    self.add(inner, state, weight * self.share(*span), out);
                }
            }
        }
    }

    fn add_component(&self, body: usize, component: Component, at: usize, weight: f64, out: &mut Slope) {
        let first = (at * self.model.bodies.len() + body) * G::DOF;
        match component {
            Component::Pose(k) => out.states.poses[first + k] += weight,
            Component::Twist(k) => out.states.twists[first + k] += weight,
            Component::Quaternion(k) => {
                let mut q = [0.0; 4];
                G::write_rotation(self.states[at].poses[body].rotation, &mut q);
                let [w, x, y, z] = q;
                // q := exp(d) q changes it by (0, d) q / 2; row k of that matrix.
                let row = [[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]][k];
                for (slot, d) in row.iter().enumerate() {
                    out.states.poses[first + G::DIM + slot] += weight * 0.5 * d;
                }
            }
        }
    }
}

/// x^y; a whole exponent is a product, exact where a general power rounds.
fn power(x: f64, y: f64) -> f64 {
    /// Largest exponent taken as a product.
    const MOST: f64 = 64.0;
    if y.fract() == 0.0 && y.abs() <= MOST { x.powi(y as i32) } else { x.powf(y) }
}
