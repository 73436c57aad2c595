//! The distance of two points: one row, an equality (distance), an inequality (rope) or a force (spring), theory (3.8).

use super::gradient::{JointGradient, Place};
use super::joint::Joint;
use super::row::Row;
use carom_math::{Pose, Space, Twist, Vector};

/// Below this fraction of the joint's size the direction between the anchors is rounding, and the kept one stands in for it.
const TINY_DISTANCE: f64 = 1e-9;

/// |c_a - c_b| \[m\].
pub(super) fn length<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> f64 {
    let [point_a, point_b] = joint.points(a, b);
    (point_a - point_b).norm()
}

/// d|c_a - c_b|: along the unit vector from b to a, or along the start direction carried by a where the points coincide.
pub(super) fn row<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> Row<S> {
    let [point_a, point_b] = joint.points(a, b);
    let (direction, _) = direction(joint, point_a - point_b, a);
    Row::along(direction, point_a - a.position, point_b - b.position)
}

/// The unit vector along c_a - c_b and the distance it was divided by; 0 where the kept direction stands in.
pub(super) fn direction<S: Space>(joint: &Joint<S>, apart: S::Lin, a: &Pose<S>) -> (S::Lin, f64) {
    let distance = apart.norm();
    let size = joint.measures.length.max(joint.measures.rest);
    if distance > TINY_DISTANCE * size { (apart * (1.0 / distance), distance) } else { (a.direction(joint.direction), 0.0) }
}

/// Whether the points coincide, so that the kept direction stands in for the one between them.
pub(super) fn coincide<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> bool {
    let [point_a, point_b] = joint.points(a, b);
    direction(joint, point_a - point_b, a).1 == 0.0
}

/// The start direction, carried by a.
pub(super) fn kept<S: Space>(place: &Place<S>) -> S::Lin {
    place.a.direction(place.joint.direction)
}

/// Adds `weight` times the gradient of |c_a - c_b|, theory (15.12).
pub(super) fn value_gradient<S: Space>(place: &Place<S>, weight: f64, out: &mut JointGradient<S>) {
    let (u, _) = direction(place.joint, place.apart, place.a);
    out.apart(place, u * weight);
}

/// Adds `weight` times the gradient of J v, theory (15.12). Where the kept direction stands in it turns with a and does nothing else.
#[inline(always)]
pub(super) fn power_gradient<S: Space>(place: &Place<S>, weight: f64, v: &[Twist<S>; 2], out: &mut JointGradient<S>) {
    let (u, distance) = direction(place.joint, place.apart, place.a);
    let speed = (v[0].at(place.arms[0]) - v[1].at(place.arms[1])) * weight;
    out.arm(0, place, -S::spin(v[0].ang, u) * weight);
    out.arm(1, place, S::spin(v[1].ang, u) * weight);
    if distance > 0.0 {
        out.apart(place, (speed - u * u.dot(speed)) * (1.0 / distance));
    } else {
        // The kept direction is no parameter: its own gradient has nowhere to go.
        let _ = out.direction(0, place, u, speed);
    }
}
