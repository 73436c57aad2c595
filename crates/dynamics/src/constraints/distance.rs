//! The distance of two points: one row, an equality (distance), an inequality (rope) or a force (spring), theory (3.8).

use super::joint::Joint;
use super::row::Row;
use carom_math::{Pose, Space, Vector};

/// Below this fraction of the joint's size the direction between the anchors is rounding, and the kept one stands in for it.
const TINY_DISTANCE: f64 = 1e-9;

/// |c_a - c_b| [m].
pub(super) fn length<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> f64 {
    let [point_a, point_b] = joint.points(a, b);
    (point_a - point_b).norm()
}

/// d|c_a - c_b|: along the unit vector from b to a, or along the start direction carried by a where the points coincide.
pub(super) fn row<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> Row<S> {
    let [point_a, point_b] = joint.points(a, b);
    let apart = point_a - point_b;
    let distance = apart.norm();
    let size = joint.length.max(joint.rest);
    let direction = if distance > TINY_DISTANCE * size { apart * (1.0 / distance) } else { a.direction(joint.direction) };
    Row::along(direction, point_a - a.position, point_b - b.position)
}
