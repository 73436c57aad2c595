//! The anchors apart along a direction fixed in a: one row, theory (3.4).
//!
//! Across the axis it guides sliders and cylinders, along the normal it holds a planar joint in its plane, and along the axis it is
//! the free coordinate of a slider.

use super::gradient::{JointGradient, Place};
use super::joint::Joint;
use super::row::Row;
use carom_math::{Pose, Space, Twist, Vector};

/// n . (c_a - c_b) \[m\], `direction` in the frame of a.
pub(super) fn error<S: Space>(joint: &Joint<S>, direction: S::Lin, a: &Pose<S>, b: &Pose<S>) -> f64 {
    let [point_a, point_b] = joint.points(a, b);
    a.direction(direction).dot(point_a - point_b)
}

/// d(n . (c_a - c_b)). The direction turns with a, and that makes both arms end at the anchor of b: a push along n at one point.
pub(super) fn row<S: Space>(joint: &Joint<S>, direction: S::Lin, a: &Pose<S>, b: &Pose<S>) -> Row<S> {
    let [_, point_b] = joint.points(a, b);
    Row::along(a.direction(direction), point_b - a.position, point_b - b.position)
}

/// Adds the gradient of n . (c_a - c_b) for `direction` in the frame of a, theory (15.8); returns that of the direction.
pub(super) fn value_gradient<S: Space>(place: &Place<S>, direction: S::Lin, out: &mut JointGradient<S>) -> S::Lin {
    let n = place.a.direction(direction);
    out.apart(place, n);
    out.direction(0, place, n, place.apart)
}

/// Adds the gradient of J v of a direction in the frame of a, theory (15.8); returns that of the direction.
#[inline(always)]
pub(super) fn power_gradient<S: Space>(place: &Place<S>, direction: S::Lin, v: &[Twist<S>; 2], out: &mut JointGradient<S>) -> S::Lin {
    let n = place.a.direction(direction);
    // Both arms end at c_b: that of a is r_a - (c_a - c_b) = x_b + r_b - x_a.
    let arm_a = place.arms[0] - place.apart;
    let g_a = -S::spin(v[0].ang, n);
    out.bodies[0].lin -= g_a;
    out.bodies[1].lin += g_a;
    out.arm(1, place, g_a + S::spin(v[1].ang, n));
    out.direction(0, place, n, v[0].at(arm_a) - v[1].at(place.arms[1]))
}
