//! Rows of joints: equalities, limits, motors, springs, theory chapter 3.

use crate::error::ModelError;
use carom_math::{Pose, Space, Twist, Wrench};

/// One row of a Jacobian across two bodies: relative velocity "a minus b" is `a . twist_a + b . twist_b`, theory (3.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<S: Space> {
    /// Block of body a.
    pub a: Wrench<S>,
    /// Block of body b, already negated where the row is a difference.
    pub b: Wrench<S>,
}

impl<S: Space> Row<S> {
    /// A row of zeros.
    pub fn zero() -> Self {
        Row { a: Wrench::zero(), b: Wrench::zero() }
    }
    /// J v.
    pub fn speed(&self, a: &Twist<S>, b: &Twist<S>) -> f64 {
        self.a.power(a) + self.b.power(b)
    }
}

/// The kinds of joints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// Turns about an anchor (plane) or an axis through it (space).
    Hinge,
    /// A point in common (space; in the plane the same as a hinge).
    Ball,
    /// Slides along an axis without turning.
    Slider,
    /// Nothing moves.
    Weld,
    /// A point in common and two axes that stay perpendicular (space).
    Universal,
    /// Two points at a fixed distance.
    Distance,
    /// Two points at most a length apart.
    Rope,
    /// Slides along and turns about an axis (space).
    Cylindrical,
    /// Slides in a plane and turns about its normal (space).
    Planar,
    /// Two points pulled together by a spring with a damper; no equality rows.
    Spring,
}

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
        /// Largest torque or force.
        max: f64,
    },
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
