//! Rows on the rate of a joint coordinate: motors, joint friction, springs too stiff to be forces, theory (17.11).

use super::friction_mode::{AT_THE_BOUND, NEAR_THE_BOUND};
use super::joint_rows::JointAt;
use super::smoothed_rows::bounded;
use crate::constraints::{Aim, JointFunction, JointParameter, Motor, Pull};
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::{Stage, Switches};
use crate::gradient::system::weak::Weak;
use crate::gradient::system::{Residual, System};
use crate::gradient::tape::record::{Pushed, RowSource};
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
    /// Length of the move \[s\].
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
        if let (RowSource::Motor { .. }, Some(Motor::Velocity { .. })) = (group.source, at.joint.motor) {
            scalar(JointParameter::MotorVelocity, -1.0);
        }
        if let Some((pull, way, [goal, stiffness, damping])) = self.pull(at, group) {
            let Pull { stiffness: k, damping: c, rate: aimed, .. } = pull;
            // target = (k x + c w)/r and softness 1/(d r), with r = k t + c, w the rate aimed at and d the duration, theory (21.8).
            let ahead = self.ahead(group);
            let r = k * ahead + c;
            if r > 0.0 {
                let (softness, top) = (1.0 / (duration * r), k * way + c * aimed);
                system.entry(unknown, unknown, softness);
                let by_goal = if goal == JointParameter::MotorVelocity { -c / r } else { -k / r };
                match self.control(group) {
                    Some(control) => program.scaled(out, control, by_goal),
                    None => scalar(goal, by_goal),
                }
                let mut scalar = |parameter: JointParameter, value: f64| {
                    if let Some(block) = at.parameter(parameter) {
                        program.scaled(out, block, value);
                    }
                };
                scalar(stiffness, -way / r + top * ahead / (r * r) - impulse * softness * ahead / r);
                scalar(damping, -aimed / r + top / (r * r) - impulse * softness / r);
                at.value(program, function, 0, k / r, out);
                let steeper = if ahead > 0.0 { k / r } else { 0.0 };
                let by_time = top / r * steeper - impulse * softness * (1.0 / t + steeper);
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
        let (target, softness) = match (group.source, at.joint.motor, self.pull(at, group)) {
            (RowSource::Motor { .. }, Some(Motor::Velocity { velocity, .. }), _) => (velocity, 0.0),
            (RowSource::Motor { .. }, _, Some((pull, way, _))) => {
                let r = pull.stiffness * self.ahead(group) + pull.damping;
                let top = pull.stiffness * way + pull.damping * pull.rate;
                if r > 0.0 { (top / r, 1.0 / (self.share * self.length * r)) } else { (rate, 0.0) }
            }
            _ => (0.0, 0.0),
        };
        rate + softness * group.impulses[0] - target
    }

    /// What a soft row pulls with, the way it has to go, and where its goal, stiffness and damping stand; `None` for a row that is not soft.
    fn pull(&self, at: &JointAt<G>, group: &Pushed<G>) -> Option<(Pull, f64, [JointParameter; 3])> {
        let RowSource::Motor { joint } = group.source else {
            let spring = at.joint.spring(at.poses[0], at.poses[1]).filter(|_| matches!(group.source, RowSource::Spring { .. }))?;
            let pull = Pull { position: spring.rest, rate: 0.0, stiffness: spring.stiffness, damping: spring.damping };
            return Some((pull, spring.rest - spring.length, [JointParameter::Rest, JointParameter::Stiffness, JointParameter::Damping]));
        };
        let motor = at.joint.motor?;
        let pull = motor.pull(self.stage.asked(&self.stage.joints[joint]))?;
        let way = pull.position - at.joint.motor_coordinate(&pull, at.poses[0], at.poses[1]);
        Some((pull, way, [goal_of(&motor), JointParameter::MotorStiffness, JointParameter::MotorDamping]))
    }

    /// How far ahead a soft row looks \[s\].
    fn ahead(&self, group: &Pushed<G>) -> f64 {
        let slow = matches!(group.source, RowSource::Motor { joint } if self.stage.joints[joint].slow_pull);
        if slow { 0.0 } else { self.length }
    }

    /// The slot of the control that is the target of a servo.
    fn control(&self, group: &Pushed<G>) -> Option<Block> {
        let RowSource::Motor { joint } = group.source else { return None };
        self.stage.target_slot(&self.stage.joints[joint])
    }
}

/// The number of a motor that says what it aims at.
pub(crate) fn goal_of(motor: &Motor) -> JointParameter {
    if matches!(motor, Motor::Servo { aim: Aim::Velocity, .. }) { JointParameter::MotorVelocity } else { JointParameter::MotorPosition }
}

/// The function of its joint on whose rate a row acts.
fn function_of<G: Geometry>(group: &Pushed<G>) -> JointFunction {
    if matches!(group.source, RowSource::Spring { .. }) { JointFunction::SpringLength } else { JointFunction::Coordinate }
}
