//! A joint as a scene describes it, before it knows the frames of its bodies.

use super::kind::JointKind;
use super::parameter::{JointParameter, Measures};
use carom_math::Space;

/// What drives the free coordinate of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motor {
    /// Holds a rate [rad/s or m/s] with at most `max` \[N m or N\].
    Velocity {
        /// Target rate.
        velocity: f64,
        /// Largest torque or force.
        max: f64,
    },
    /// Pulls towards a position with stiffness and damping, implicit, with at most `max`.
    Position {
        /// Target coordinate \[rad or m\].
        position: f64,
        /// Stiffness [N m/rad or N/m].
        stiffness: f64,
        /// Damping [N m s/rad or N s/m].
        damping: f64,
        /// Largest torque or force.
        max: f64,
    },
    /// Torque or force given by a control, clamped by `max`.
    Control {
        /// Largest torque or force; infinite for no clamp.
        max: f64,
    },
    /// The same beside a spring and a damper on the coordinate, implicit as in `Position` and not bounded: a driven joint of a robot.
    Sprung {
        /// Where the spring rests \[rad or m\].
        position: f64,
        /// Stiffness [N m/rad or N/m].
        stiffness: f64,
        /// Damping [N m s/rad or N s/m].
        damping: f64,
        /// Largest torque or force of the control; infinite for no clamp.
        max: f64,
    },
    /// Follows a target with a spring and a damper, or with a damper alone where the target is a rate; implicit, with at most `max`.
    Servo {
        /// What the target is.
        aim: Aim,
        /// The target [rad, m, rad/s or m/s]; unless it is controlled.
        target: f64,
        /// Stiffness [N m/rad or N/m]; 0 where the target is a rate.
        stiffness: f64,
        /// Damping [N m s/rad or N s/m].
        damping: f64,
        /// Largest torque or force; infinite for no clamp.
        max: f64,
        /// Whether the target is a control.
        control: bool,
    },
}

/// What a servo aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// A coordinate \[rad or m\].
    Position,
    /// A rate [rad/s or m/s].
    Velocity,
}

/// What a motor pulls with: stiffness (position - x) + damping (rate - v), theory (21.8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pull {
    /// Where to \[rad or m\].
    pub position: f64,
    /// How fast [rad/s or m/s].
    pub rate: f64,
    /// [N m/rad or N/m].
    pub stiffness: f64,
    /// [N m s/rad or N s/m].
    pub damping: f64,
}

impl Motor {
    /// Largest torque \[N m\] or force \[N\].
    pub fn max(&self) -> f64 {
        match *self {
            Motor::Velocity { max, .. }
            | Motor::Position { max, .. }
            | Motor::Control { max }
            | Motor::Sprung { max, .. }
            | Motor::Servo { max, .. } => max,
        }
    }
    /// The clamp of the control that is its torque or force, if one is.
    pub fn control(&self) -> Option<f64> {
        match *self {
            Motor::Control { max } | Motor::Sprung { max, .. } => Some(max),
            Motor::Velocity { .. } | Motor::Position { .. } | Motor::Servo { .. } => None,
        }
    }
    /// Whether a control drives it, as its torque or as its target.
    pub fn is_controlled(&self) -> bool {
        self.control().is_some() || matches!(self, Motor::Servo { control: true, .. })
    }
    /// What it pulls with at a value of its control; `None` where it holds a rate or is a torque.
    pub(crate) fn pull(&self, asked: f64) -> Option<Pull> {
        match *self {
            Motor::Position { position, stiffness, damping, .. } | Motor::Sprung { position, stiffness, damping, .. } => {
                Some(Pull { position, rate: 0.0, stiffness, damping })
            }
            Motor::Servo { aim, target, stiffness, damping, control, .. } => {
                let target = if control { asked } else { target };
                Some(match aim {
                    Aim::Position => Pull { position: target, rate: 0.0, stiffness, damping },
                    Aim::Velocity => Pull { position: 0.0, rate: target, stiffness: 0.0, damping },
                })
            }
            Motor::Velocity { .. } | Motor::Control { .. } => None,
        }
    }
    /// One of its numbers.
    pub fn number(&self, which: JointParameter) -> Option<f64> {
        let mut copy = *self;
        copy.number_mut(which).map(|number| *number)
    }
    /// The same, to be changed.
    pub(crate) fn number_mut(&mut self, which: JointParameter) -> Option<&mut f64> {
        match (which, self) {
            (
                JointParameter::MotorMax,
                Motor::Velocity { max, .. }
                | Motor::Position { max, .. }
                | Motor::Control { max }
                | Motor::Sprung { max, .. }
                | Motor::Servo { max, .. },
            ) => Some(max),
            (
                JointParameter::MotorVelocity,
                Motor::Velocity { velocity: number, .. } | Motor::Servo { aim: Aim::Velocity, target: number, .. },
            ) => Some(number),
            (
                JointParameter::MotorPosition,
                Motor::Position { position: number, .. }
                | Motor::Sprung { position: number, .. }
                | Motor::Servo { aim: Aim::Position, target: number, .. },
            ) => Some(number),
            (
                JointParameter::MotorStiffness,
                Motor::Position { stiffness, .. } | Motor::Sprung { stiffness, .. } | Motor::Servo { aim: Aim::Position, stiffness, .. },
            ) => Some(stiffness),
            (
                JointParameter::MotorDamping,
                Motor::Position { damping, .. } | Motor::Sprung { damping, .. } | Motor::Servo { damping, .. },
            ) => Some(damping),
            _ => None,
        }
    }
    /// Largest torque or force of the row that it is in the step; `None` where it has none.
    pub(crate) fn row_max(&self) -> Option<f64> {
        match *self {
            Motor::Velocity { max, .. } | Motor::Position { max, .. } | Motor::Servo { max, .. } => Some(max),
            Motor::Sprung { .. } => Some(f64::INFINITY),
            Motor::Control { .. } => None,
        }
    }
}

/// A joint as a scene describes it: anchors and axes in world coordinates at the start pose; what a kind does not use stays `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct JointSpec<S: Space> {
    /// Unique name.
    pub name: String,
    /// Bodies a and b; `None` is the world.
    pub bodies: [Option<usize>; 2],
    /// Kind.
    pub kind: JointKind,
    /// World point \[m\].
    pub anchor: Option<S::Lin>,
    /// World points on a and on b \[m\] (distance, rope, spring).
    pub anchors: Option<[S::Lin; 2]>,
    /// World direction.
    pub axis: Option<S::Lin>,
    /// World directions fixed in a and in b (universal).
    pub axes: Option<[S::Lin; 2]>,
    /// The numbers of its kind; a length and a rest length are the start distance when absent.
    pub measures: Measures<Option<f64>>,
    /// Limits of the free coordinate, a relative to b, 0 at the start pose \[rad or m\].
    pub limits: Option<[f64; 2]>,
    /// Motor on the free coordinate.
    pub motor: Option<Motor>,
    /// Largest friction torque or force on the free coordinate \[N m or N\].
    pub friction: f64,
    /// Inertia of a rotor that turns with the free coordinate [kg m^2, or kg where it slides].
    pub armature: f64,
    /// Whether the two bodies may touch.
    pub collide: bool,
}

impl<S: Space> JointSpec<S> {
    /// A joint of a kind between two bodies with nothing else said.
    pub fn new(name: impl Into<String>, kind: JointKind, bodies: [Option<usize>; 2]) -> Self {
        JointSpec {
            name: name.into(),
            bodies,
            kind,
            anchor: None,
            anchors: None,
            axis: None,
            axes: None,
            measures: Measures::default(),
            limits: None,
            motor: None,
            friction: 0.0,
            armature: 0.0,
            collide: false,
        }
    }
}
