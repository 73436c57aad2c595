//! A direction fixed in a stays perpendicular to one fixed in b: one row, theory (3.6).
//!
//! Twice, with the two tangents of an axis, it makes the axes of a hinge parallel; once it is the row of a universal joint.

use super::gradient::{JointGradient, Place};
use super::row::Row;
use carom_math::{Pose, Space, Twist, Vector};

/// t . u, the sine of the angle missing to a right one \[rad for small errors\]; `t` in the frame of a, `u` in that of b.
#[inline]
pub(super) fn error<S: Space>(t: S::Lin, u: S::Lin, a: &Pose<S>, b: &Pose<S>) -> f64 {
    a.direction(t).dot(b.direction(u))
}

/// d(t . u) = (t x u) . (w_a - w_b).
#[inline]
pub(super) fn row<S: Space>(t: S::Lin, u: S::Lin, a: &Pose<S>, b: &Pose<S>) -> Row<S> {
    Row::turning(S::torque(a.direction(t), b.direction(u)))
}

/// Adds the gradient of t . u, `t` in the frame of a and `u` in that of b, theory (15.9); returns those of t and of u.
pub(super) fn value_gradient<S: Space>(place: &Place<S>, t: S::Lin, u: S::Lin, out: &mut JointGradient<S>) -> [S::Lin; 2] {
    let (t, u) = (place.a.direction(t), place.b.direction(u));
    [out.direction(0, place, t, u), out.direction(1, place, u, t)]
}

/// Adds the gradient of J v = (t x u) . (w_a - w_b), theory (15.9); returns those of t and of u in their frames.
#[inline(always)]
pub(super) fn power_gradient<S: Space>(
    place: &Place<S>,
    t: S::Lin,
    u: S::Lin,
    v: &[Twist<S>; 2],
    out: &mut JointGradient<S>,
) -> [S::Lin; 2] {
    let (t, u) = (place.a.direction(t), place.b.direction(u));
    let rate = v[0].ang - v[1].ang;
    [out.direction(0, place, t, -S::spin(rate, u)), out.direction(1, place, u, S::spin(rate, t))]
}
