//! A joint as a scene describes it, before it knows the frames of its bodies.

use super::kind::JointKind;
use carom_math::Space;

/// What drives the free coordinate of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motor {
    /// Holds a rate [rad/s or m/s] with at most `max` [N m or N].
    Velocity {
        /// Target rate.
        velocity: f64,
        /// Largest torque or force.
        max: f64,
    },
    /// Pulls towards a position with stiffness and damping, implicit, with at most `max`.
    Position {
        /// Target coordinate [rad or m].
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
        /// Where the spring rests [rad or m].
        position: f64,
        /// Stiffness [N m/rad or N/m].
        stiffness: f64,
        /// Damping [N m s/rad or N s/m].
        damping: f64,
        /// Largest torque or force of the control; infinite for no clamp.
        max: f64,
    },
}

impl Motor {
    /// Largest torque [N m] or force [N].
    pub fn max(&self) -> f64 {
        match *self {
            Motor::Velocity { max, .. } | Motor::Position { max, .. } | Motor::Control { max } | Motor::Sprung { max, .. } => max,
        }
    }
    /// The same, to be changed.
    pub(crate) fn max_mut(&mut self) -> &mut f64 {
        match self {
            Motor::Velocity { max, .. } | Motor::Position { max, .. } | Motor::Control { max } | Motor::Sprung { max, .. } => max,
        }
    }
    /// The clamp of the control that drives it, if one does.
    pub fn control(&self) -> Option<f64> {
        match *self {
            Motor::Control { max } | Motor::Sprung { max, .. } => Some(max),
            Motor::Velocity { .. } | Motor::Position { .. } => None,
        }
    }
    /// Position, stiffness and damping of its spring, if it has one.
    pub fn spring(&self) -> Option<[f64; 3]> {
        match *self {
            Motor::Position { position, stiffness, damping, .. } | Motor::Sprung { position, stiffness, damping, .. } => {
                Some([position, stiffness, damping])
            }
            Motor::Velocity { .. } | Motor::Control { .. } => None,
        }
    }
    /// The same, to be changed.
    pub(crate) fn spring_mut(&mut self) -> Option<[&mut f64; 3]> {
        match self {
            Motor::Position { position, stiffness, damping, .. } | Motor::Sprung { position, stiffness, damping, .. } => {
                Some([position, stiffness, damping])
            }
            Motor::Velocity { .. } | Motor::Control { .. } => None,
        }
    }
    /// Largest torque or force of the row that it is in the step; `None` where it has none.
    pub(crate) fn row_max(&self) -> Option<f64> {
        match *self {
            Motor::Velocity { max, .. } | Motor::Position { max, .. } => Some(max),
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
    /// World point [m].
    pub anchor: Option<S::Lin>,
    /// World points on a and on b [m] (distance, rope, spring).
    pub anchors: Option<[S::Lin; 2]>,
    /// World direction.
    pub axis: Option<S::Lin>,
    /// World directions fixed in a and in b (universal).
    pub axes: Option<[S::Lin; 2]>,
    /// Length [m] (distance, rope); the start distance when absent.
    pub length: Option<f64>,
    /// Advance per turn [m] (screw), not 0; below 0 for a left-handed one.
    pub lead: Option<f64>,
    /// Rest length [m] (spring); the start distance when absent.
    pub rest: Option<f64>,
    /// Stiffness [N/m] (spring).
    pub stiffness: f64,
    /// Damping [N s/m] (spring).
    pub damping: f64,
    /// Limits of the free coordinate, a relative to b, 0 at the start pose [rad or m].
    pub limits: Option<[f64; 2]>,
    /// Motor on the free coordinate.
    pub motor: Option<Motor>,
    /// Largest friction torque or force on the free coordinate [N m or N].
    pub friction: f64,
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
            length: None,
            lead: None,
            rest: None,
            stiffness: 0.0,
            damping: 0.0,
            limits: None,
            motor: None,
            friction: 0.0,
            collide: false,
        }
    }
}
