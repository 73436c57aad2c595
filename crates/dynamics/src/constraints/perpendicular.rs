//! A direction fixed in a stays perpendicular to one fixed in b: one row, theory (3.6).
//!
//! Twice, with the two tangents of an axis, it makes the axes of a hinge parallel; once it is the row of a universal joint.

use super::row::Row;
use carom_math::{Pose, Space, Vector};

/// t . u, the sine of the angle missing to a right one [rad for small errors]; `t` in the frame of a, `u` in that of b.
#[inline]
pub(super) fn error<S: Space>(t: S::Lin, u: S::Lin, a: &Pose<S>, b: &Pose<S>) -> f64 {
    a.direction(t).dot(b.direction(u))
}

/// d(t . u) = (t x u) . (w_a - w_b).
#[inline]
pub(super) fn row<S: Space>(t: S::Lin, u: S::Lin, a: &Pose<S>, b: &Pose<S>) -> Row<S> {
    Row::turning(S::torque(a.direction(t), b.direction(u)))
}
