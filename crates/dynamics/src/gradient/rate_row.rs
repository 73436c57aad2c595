//! Rows on the rate of a joint coordinate: motors, joint friction, springs too stiff to be forces, theory (17.11).

use super::friction_mode::{AT_THE_BOUND, NEAR_THE_BOUND};
use super::joint_rows::JointAt;
use super::program::{Block, Program};
use super::record::{Pushed, RowSource};
use super::smoothed_rows::bounded;
use super::stage::{Stage, Switches};
use super::system::{Residual, System};
use super::weak::Weak;
use crate::constraints::{JointFunction, JointParameter, Motor};
use carom_geometry::Geometry;
use carom_math::Twist;

/// A row on the rate of a joint coordinate: motor, friction, or a soft spring.
pub(crate) struct RateRow<'a, G: Geometry> {
    /// The island.
    pub stage: &'a Stage<'a, G>,
    /// Velocities it acts on.
    pub twists: &'a [Twist<G>],
    /// Their slots.
    pub velocity: &'a [Option<Block>],
    /// Slot of the length of the move.
    pub time: Option<Block>,
    /// Length of the move [s].
    pub length: f64,
    /// Part of it over which the row acts.
    pub share: f64,
}

impl<G: Geometry> RateRow<'_, G> {
    /// Adds the residual J v + soft l - target, or l - bound where the row is at its bound.
    pub fn residual(
        &self,
        program: &mut Program<G>,
        at: &JointAt<G>,
        group: &Pushed<G>,
        system: &mut System<G>,
        switches: &mut Switches,
    ) -> Residual<G> {
        let out = system.next();
        let unknown = system.count();
        let (t, duration) = (self.length, self.share * self.length);
        let impulse = group.impulses[0];
        let (max, parameter) = match (group.source, at.joint.motor) {
            (RowSource::Friction { .. }, _) => (at.joint.friction, JointParameter::Friction),
            (RowSource::Motor { .. }, Some(motor)) => (motor.row_max().unwrap_or(f64::INFINITY), JointParameter::MotorMax),
            _ => (f64::INFINITY, JointParameter::MotorMax),
        };
        let bound = max * duration;
        let at_bound = impulse.abs() >= bound * (1.0 - AT_THE_BOUND);
        let near = impulse.abs() >= bound * (1.0 - NEAR_THE_BOUND);
        let sign = impulse.signum();
        // A row at its bound that would not move without it is at a switch.
        let at_switch = near && self.off_target(at, group).abs() <= NEAR_THE_BOUND * self.stage.model.tolerances.rest_speed;
        switches.friction += usize::from(if at_bound { at_switch && bound > 0.0 } else { near });
        let held = match self.stage.weak {
            Weak::Active | Weak::MinNorm if at_switch && bound > 0.0 => false,
            Weak::Inactive if at_switch => true,
            Weak::Smoothed { .. } => bound <= 0.0,
            _ => at_bound,
        };
        if held {
            system.entry(unknown, unknown, 1.0);
            if let Some(block) = at.parameter(parameter) {
                program.scaled(out, block, -sign * duration);
            }
            let by_time = -sign * max * self.share;
            if let Some(time) = self.time {
                program.scaled(out, time, by_time);
            }
            return Residual { time: by_time, ..Residual::zero() };
        }
        let function = function_of(group);
        let mut row = at.rate(program, function, 0, 1.0, self.twists, self.velocity, out);
        let mut scalar = |parameter: JointParameter, value: f64| {
            if let Some(block) = at.parameter(parameter) {
                program.scaled(out, block, value);
            }
        };
        let soft = match (group.source, at.joint.motor) {
            (RowSource::Motor { .. }, Some(Motor::Velocity { .. })) => {
                scalar(JointParameter::MotorVelocity, -1.0);
                None
            }
            (RowSource::Motor { .. }, Some(motor)) => motor.spring().map(|[position, stiffness, damping]| {
                let way = position - at.joint.coordinate(at.poses[0], at.poses[1]);
                (stiffness, damping, way, JointParameter::MotorPosition, JointParameter::MotorStiffness, JointParameter::MotorDamping)
            }),
            (RowSource::Spring { .. }, _) => {
                let length = at.joint.spring(at.poses[0], at.poses[1]).map_or(0.0, |s| s.length);
                let way = at.joint.rest - length;
                Some((at.joint.stiffness, at.joint.damping, way, JointParameter::Rest, JointParameter::Stiffness, JointParameter::Damping))
            }
            _ => None,
        };
        if let Some((k, c, way, goal, stiffness, damping)) = soft {
            // target = k x / r and softness 1/(d r), with r = k t + c and d the duration, theory (3.9).
            let r = k * t + c;
            if r > 0.0 {
                let softness = 1.0 / (duration * r);
                system.entry(unknown, unknown, softness);
                scalar(goal, -k / r);
                scalar(stiffness, -way * c / (r * r) - impulse * softness * t / r);
                scalar(damping, k * way / (r * r) - impulse * softness / r);
                at.value(program, function, 0, k / r, out);
                let by_time = k * k * way / (r * r) - impulse * softness * (1.0 / t + k / r);
                if let Some(time) = self.time {
                    program.scaled(out, time, by_time);
                }
                row.time = by_time;
            } else {
                system.entry(unknown, unknown, 1.0);
            }
        }
        match self.stage.weak {
            Weak::Smoothed { .. } if bound.is_finite() => {
                let off = self.off_target(at, group);
                let slot = at.parameter(parameter).map(|block| (block, duration));
                system.smooth(bounded(unknown, bound, impulse, off, slot, (self.time, max * self.share)));
            }
            // Both sides count, r_a + a (dl - d bound) = 0, theory (18.8).
            Weak::MinNorm if at_switch => {
                let weight = self.stage.mobility(&at.row(function, 0));
                system.entry(unknown, unknown, weight);
                if let Some(block) = at.parameter(parameter) {
                    program.scaled(out, block, -weight * sign * duration);
                }
                let by_time = -weight * sign * max * self.share;
                if let Some(time) = self.time {
                    program.scaled(out, time, by_time);
                }
                row.time += by_time;
            }
            _ => {}
        }
        row
    }

    /// How far the rate is off what the row aims at, J v + soft l - target.
    fn off_target(&self, at: &JointAt<G>, group: &Pushed<G>) -> f64 {
        let rate: f64 = at.row(function_of(group), 0).iter().map(|(body, row)| row.power(&self.twists[*body])).sum();
        let soft = |k: f64, c: f64, way: f64| {
            let r = k * self.length + c;
            if r > 0.0 { (k * way / r, 1.0 / (self.share * self.length * r)) } else { (rate, 0.0) }
        };
        let (target, softness) = match (group.source, at.joint.motor) {
            (RowSource::Motor { .. }, Some(Motor::Velocity { velocity, .. })) => (velocity, 0.0),
            (RowSource::Motor { .. }, Some(motor)) => motor.spring().map_or((0.0, 0.0), |[position, stiffness, damping]| {
                soft(stiffness, damping, position - at.joint.coordinate(at.poses[0], at.poses[1]))
            }),
            _ => (0.0, 0.0),
        };
        rate + softness * group.impulses[0] - target
    }
}

/// The function of its joint on whose rate a row acts.
fn function_of<G: Geometry>(group: &Pushed<G>) -> JointFunction {
    if matches!(group.source, RowSource::Spring { .. }) { JointFunction::SpringLength } else { JointFunction::Coordinate }
}
