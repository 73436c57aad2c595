//! How far a run is from what was measured, with the exact Jacobian from tangents and the exact gradient from the adjoint.

use super::data::{Measured, Sample};
use super::search::LeastSquares;
use crate::grad::tape;
use crate::variable::{Start, Variable};
use carom::dynamics::gradient::{Cotangents, Direction, Tape, Weak, Wrt};
use carom::dynamics::{Interrupt, State};
use carom::geometry::Geometry;
use carom::math::Vector;

/// A scene whose variables are to repeat a measurement.
#[derive(Debug)]
pub struct Misfit<'a, G: Geometry> {
    /// The scene at its start.
    pub start: &'a Start<G>,
    /// What may change.
    pub variables: &'a [Variable],
    /// What was measured.
    pub measured: &'a Measured<G>,
    /// What derivatives are at a switch.
    pub weak: Weak,
    /// Once the user asks to stop there are no more runs.
    pub interrupt: &'a Interrupt,
}

impl<G: Geometry> Misfit<'_, G> {
    /// Differences between a state and what was measured then.
    fn compare(&self, samples: &[Sample<G>], state: &State<G>, out: &mut Vec<f64>) {
        for sample in samples {
            match *sample {
                Sample::Position(body, k, value) => out.push(state.poses[body].position[k] - value),
                Sample::Velocity(body, k, value) => {
                    let twist = &state.twists[body];
                    out.push(if k < G::DIM { twist.lin[k] } else { twist.ang[k - G::DIM] } - value);
                }
                Sample::Rotation(body, rotation) => out.extend_from_slice(turn_from::<G>(state, body, rotation).as_slice()),
            }
        }
    }

    /// Changes of those differences with a change of the state, as one column of the Jacobian.
    fn change(&self, samples: &[Sample<G>], state: &State<G>, poses: &[f64], twists: &[f64], out: &mut Vec<f64>) {
        for sample in samples {
            match *sample {
                Sample::Position(body, k, _) => out.push(poses[body * G::DOF + k]),
                Sample::Velocity(body, k, _) => out.push(twists[body * G::DOF + k]),
                Sample::Rotation(body, rotation) => {
                    let rate = G::Ang::from_slice(&poses[body * G::DOF + G::DIM..]);
                    out.extend_from_slice(G::log_derivative(turn_from::<G>(state, body, rotation), rate).as_slice());
                }
            }
        }
    }

    /// Takes step by step, carrying one tangent of the state per variable.
    fn jacobian_by(&self, x: &[f64], weak: Weak) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        let start = self.start.with(self.variables, x).ok()?;
        let controls = start.control_run(1);
        let mut tangents: Vec<Direction> = self.variables.iter().map(|v| start.direction(v, 1)).collect();
        let mut residuals = Vec::with_capacity(self.measured.count);
        let mut columns = vec![Vec::with_capacity(self.measured.count); tangents.len()];
        let size = start.world.model().bodies.len() * G::DOF;
        for tangent in &mut tangents {
            tangent.poses.resize(size, 0.0);
            tangent.twists.resize(size, 0.0);
        }
        let mut moments = self.measured.moments.iter().peekable();
        let mut world = start.world;
        for step in 0..=self.measured.steps() {
            while let Some(moment) = moments.next_if(|m| m.step == step) {
                self.compare(&moment.samples, world.state(), &mut residuals);
                for (tangent, column) in tangents.iter().zip(&mut columns) {
                    self.change(&moment.samples, world.state(), &tangent.poses, &tangent.twists, column);
                }
            }
            if step == self.measured.steps() {
                break;
            }
            let rollout = world.rollout_unless(1, &controls, Tape::Full, self.interrupt).ok()?;
            for tangent in &mut tangents {
                (tangent.poses, tangent.twists) = rollout.forward_by(tangent, weak).ok()?;
            }
            world = rollout.end().copy();
        }
        Some((residuals, columns))
    }

    /// The transpose of `change`: adds weights of the differences to cotangents of a state.
    fn weigh(
        &self,
        samples: &[Sample<G>],
        state: &State<G>,
        weights: &mut impl Iterator<Item = f64>,
        poses: &mut [f64],
        twists: &mut [f64],
    ) {
        for sample in samples {
            let mut next = || weights.next().unwrap_or(0.0);
            match *sample {
                Sample::Position(body, k, _) => poses[body * G::DOF + k] += next(),
                Sample::Velocity(body, k, _) => twists[body * G::DOF + k] += next(),
                Sample::Rotation(body, rotation) => {
                    let mut bar = G::Ang::zero();
                    (0..G::ANG).for_each(|k| bar[k] = next());
                    let bar = G::log_derivative_transpose(turn_from::<G>(state, body, rotation), bar);
                    let slots = &mut poses[body * G::DOF + G::DIM..(body + 1) * G::DOF];
                    slots.iter_mut().zip(bar.as_slice()).for_each(|(slot, b)| *slot += b);
                }
            }
        }
    }
}

/// The turn from a measured orientation to that of a body [rad].
fn turn_from<G: Geometry>(state: &State<G>, body: usize, rotation: G::Rot) -> G::Ang {
    G::log(G::compose(state.poses[body].rotation, G::inverse(rotation)))
}

impl<G: Geometry> LeastSquares for Misfit<'_, G> {
    fn residuals(&mut self, x: &[f64]) -> Option<Vec<f64>> {
        if self.interrupt.raised() {
            return None;
        }
        let start = self.start.with(self.variables, x).ok()?;
        let steps = self.measured.steps();
        let rollout = start.world.rollout_unless(steps, &start.control_run(steps), Tape::Off, self.interrupt).ok()?;
        let mut out = Vec::with_capacity(self.measured.count);
        self.measured.moments.iter().for_each(|moment| self.compare(&moment.samples, &rollout.states[moment.step], &mut out));
        Some(out)
    }

    /// The mean of both sides is one of whole runs.
    fn jacobian(&mut self, x: &[f64]) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        if self.interrupt.raised() {
            return None;
        }
        if self.weak != Weak::Average {
            return self.jacobian_by(x, self.weak);
        }
        let (residuals, mut columns) = self.jacobian_by(x, Weak::Active)?;
        let (_, others) = self.jacobian_by(x, Weak::Inactive)?;
        for (a, b) in columns.iter_mut().flatten().zip(others.iter().flatten()) {
            *a = (*a + b) / 2.0;
        }
        Some((residuals, columns))
    }

    fn gradient(&mut self, x: &[f64]) -> Option<(f64, Vec<f64>)> {
        if self.interrupt.raised() {
            return None;
        }
        let start = self.start.with(self.variables, x).ok()?;
        let steps = self.measured.steps();
        let rollout = start.world.rollout_unless(steps, &start.control_run(steps), tape(steps), self.interrupt).ok()?;
        let size = start.world.model().bodies.len() * G::DOF;
        let mut bar = Cotangents { poses: vec![0.0; (steps + 1) * size], twists: vec![0.0; (steps + 1) * size] };
        let mut residuals = Vec::with_capacity(self.measured.count);
        for moment in &self.measured.moments {
            let first = residuals.len();
            let state = &rollout.states[moment.step];
            self.compare(&moment.samples, state, &mut residuals);
            let part = moment.step * size..(moment.step + 1) * size;
            let mut weights = residuals[first..].iter().copied();
            self.weigh(&moment.samples, state, &mut weights, &mut bar.poses[part.clone()], &mut bar.twists[part]);
        }
        let gradient = rollout.backward_unless(&bar, Wrt::Everything, self.weak, self.interrupt).ok()?;
        let cost = 0.5 * residuals.iter().map(|r| r * r).sum::<f64>();
        Some((cost, self.variables.iter().map(|v| start.derivative(v, &gradient)).collect()))
    }
}
