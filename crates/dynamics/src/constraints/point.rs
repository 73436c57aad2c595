//! A point in common: DIM rows in world axes, theory (3.3).

use super::gradient::{JointGradient, Place};
use super::joint::Joint;
use super::row::Row;
use carom_math::{Pose, Space, Twist, Vector};

/// phi = c_a - c_b \[m\].
#[inline]
pub(super) fn error<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>, out: &mut [f64]) {
    let [point_a, point_b] = joint.points(a, b);
    out[..S::DIM].copy_from_slice((point_a - point_b).as_slice());
}

/// Velocity of the point of a minus that of b, one row per world axis.
#[inline]
pub(super) fn rows<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>, out: &mut [Row<S>]) {
    let (arm_a, arm_b) = (a.direction(joint.anchors[0]), b.direction(joint.anchors[1]));
    for i in 0..S::DIM {
        let mut axis = S::Lin::zero();
        axis[i] = 1.0;
        out[i] = Row::along(axis, arm_a, arm_b);
    }
}

/// Adds the gradient of f . phi, theory (15.7).
pub(super) fn value_gradient<S: Space>(place: &Place<S>, f: S::Lin, out: &mut JointGradient<S>) {
    out.apart(place, f);
}

/// Adds the gradient of f . J v, theory (15.7).
#[inline(always)]
pub(super) fn power_gradient<S: Space>(place: &Place<S>, f: S::Lin, v: &[Twist<S>; 2], out: &mut JointGradient<S>) {
    out.arm(0, place, -S::spin(v[0].ang, f));
    out.arm(1, place, S::spin(v[1].ang, f));
}
