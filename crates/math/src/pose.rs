//! Pose, twist and wrench of a body, and the pairing that makes power, theory (1.1)-(1.2).

use crate::space::{Space, Vector};

/// Where a body is: its centre of mass \[m\] and its orientation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose<S: Space> {
    /// Centre of mass in the world \[m\].
    pub position: S::Lin,
    /// Body to world.
    pub rotation: S::Rot,
}

impl<S: Space> Pose<S> {
    /// The pose at the origin.
    pub fn identity() -> Self {
        Pose { position: S::Lin::zero(), rotation: S::identity() }
    }
    /// A body point in the world.
    #[inline(always)]
    pub fn point(&self, x: S::Lin) -> S::Lin {
        self.position + S::rotate(self.rotation, x)
    }
    /// A body direction in the world.
    #[inline(always)]
    pub fn direction(&self, x: S::Lin) -> S::Lin {
        S::rotate(self.rotation, x)
    }
    /// A world point in the body.
    #[inline(always)]
    pub fn local_point(&self, x: S::Lin) -> S::Lin {
        S::unrotate(self.rotation, x - self.position)
    }
    /// A world direction in the body.
    #[inline(always)]
    pub fn local_direction(&self, x: S::Lin) -> S::Lin {
        S::unrotate(self.rotation, x)
    }
    /// Moved by a twist for a time: x + t v, exp(t w) R, theory (2.6).
    #[inline]
    pub fn advanced(&self, twist: Twist<S>, time: f64) -> Self {
        Pose { position: self.position + twist.lin * time, rotation: S::turn(self.rotation, twist.ang * time) }
    }
    /// This pose after another: points of `inner` carried by `self`.
    pub fn compose(&self, inner: &Pose<S>) -> Self {
        Pose { position: self.point(inner.position), rotation: S::compose(self.rotation, inner.rotation) }
    }
    /// The pose that undoes this one.
    pub fn inverse(&self) -> Self {
        let rotation = S::inverse(self.rotation);
        Pose { position: S::rotate(rotation, -self.position), rotation }
    }
    /// Whether position and orientation are finite.
    pub fn is_finite(&self) -> bool {
        let mut r = [0.0; 4];
        S::write_rotation(self.rotation, &mut r);
        self.position.is_finite() && r.iter().all(|x| x.is_finite())
    }
}

/// How a body moves: velocity of its centre of mass [m/s] and rate [rad/s], world axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twist<S: Space> {
    /// Velocity of the centre of mass [m/s].
    pub lin: S::Lin,
    /// Angular velocity [rad/s].
    pub ang: S::Ang,
}

/// What pushes a body: force \[N\] and torque about the centre of mass \[N m\]; also momentum, impulse and a row of a Jacobian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrench<S: Space> {
    /// Force \[N\] or impulse \[N s\].
    pub lin: S::Lin,
    /// Torque \[N m\] or angular impulse \[N m s\].
    pub ang: S::Ang,
}

impl<S: Space> Twist<S> {
    /// At rest.
    pub fn zero() -> Self {
        Twist { lin: S::Lin::zero(), ang: S::Ang::zero() }
    }
    /// Velocity of the tip of a world arm from the centre of mass.
    #[inline(always)]
    pub fn at(&self, arm: S::Lin) -> S::Lin {
        self.lin + S::spin(self.ang, arm)
    }
    /// Whether every component is finite.
    pub fn is_finite(&self) -> bool {
        self.lin.is_finite() && self.ang.is_finite()
    }
    /// Componentwise a + s b.
    #[inline(always)]
    pub fn plus(self, s: f64, other: Twist<S>) -> Self {
        Twist { lin: self.lin + other.lin * s, ang: self.ang + other.ang * s }
    }
}

impl<S: Space> Wrench<S> {
    /// Nothing pushes.
    pub fn zero() -> Self {
        Wrench { lin: S::Lin::zero(), ang: S::Ang::zero() }
    }
    /// A force along a direction at a world arm: the row \[n, r x n\] of theory (3.2).
    #[inline(always)]
    pub fn along(direction: S::Lin, arm: S::Lin) -> Self {
        Wrench { lin: direction, ang: S::torque(arm, direction) }
    }
    /// A pure torque.
    pub fn turning(torque: S::Ang) -> Self {
        Wrench { lin: S::Lin::zero(), ang: torque }
    }
    /// Power \[W\] against a twist, theory (1.2).
    #[inline(always)]
    pub fn power(&self, twist: &Twist<S>) -> f64 {
        self.lin.dot(twist.lin) + self.ang.dot(twist.ang)
    }
    /// The opposite wrench.
    pub fn negated(self) -> Self {
        Wrench { lin: -self.lin, ang: -self.ang }
    }
    /// Componentwise a + s b.
    #[inline(always)]
    pub fn plus(self, s: f64, other: Wrench<S>) -> Self {
        Wrench { lin: self.lin + other.lin * s, ang: self.ang + other.ang * s }
    }
}
