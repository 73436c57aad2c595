//! The anchors apart along a direction fixed in a: one row, theory (3.4).
//!
//! Across the axis it guides sliders and cylinders, along the normal it holds a planar joint in its plane, and along the axis it is
//! the free coordinate of a slider.

use super::joint::Joint;
use super::row::Row;
use carom_math::{Pose, Space, Vector};

/// n . (c_a - c_b) [m], `direction` in the frame of a.
pub(super) fn error<S: Space>(joint: &Joint<S>, direction: S::Lin, a: &Pose<S>, b: &Pose<S>) -> f64 {
    let [point_a, point_b] = joint.points(a, b);
    a.direction(direction).dot(point_a - point_b)
}

/// d(n . (c_a - c_b)). The direction turns with a, and that makes both arms end at the anchor of b: a push along n at one point.
pub(super) fn row<S: Space>(joint: &Joint<S>, direction: S::Lin, a: &Pose<S>, b: &Pose<S>) -> Row<S> {
    let [_, point_b] = joint.points(a, b);
    Row::along(a.direction(direction), point_b - a.position, point_b - b.position)
}
