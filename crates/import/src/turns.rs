//! How a body may turn in the world, as far as the inertia of a joint on it must know.
//!
//! The inertia I of a hinge resists its rate alone: I (a . (w_child - w_parent))^2 / 2. Where the parent never turns about the axis a, that is
//! inertia of the child about a, and a body can have it. Where it does, the product of the two rates is left, which no body has: a rotor in
//! the parent that turns n times as fast adds I/n^2 to the parent, and only a gear makes n large.

use crate::robot::Freedom;
use nalgebra::Vector3;

/// Sine or cosine below which two directions are parallel or at right angles.
const ALIGNED: f64 = 1e-6;

/// How a body may turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turns {
    /// Not at all.
    Never,
    /// About one direction, that of all hinges between it and the world.
    About(Vector3<f64>),
    /// In more than one direction.
    Anyhow,
}

impl Turns {
    /// Of the body after a joint with this unit axis.
    pub fn then(self, freedom: Freedom, axis: Vector3<f64>) -> Self {
        match (self, freedom) {
            (_, Freedom::Slide) => self,
            (Turns::Never, Freedom::Hinge | Freedom::Planar) => Turns::About(axis),
            (Turns::About(first), Freedom::Hinge | Freedom::Planar) if first.cross(&axis).norm() < ALIGNED => self,
            _ => Turns::Anyhow,
        }
    }
    /// Whether the body never turns about a direction fixed in it.
    pub fn never_about(self, axis: Vector3<f64>) -> bool {
        match self {
            Turns::Never => true,
            // The direction is the same in the world and in the body, at every pose.
            Turns::About(first) => first.dot(&axis).abs() < ALIGNED,
            Turns::Anyhow => false,
        }
    }
}
