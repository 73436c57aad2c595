//! The elementary row groups; which of them make a kind stands with the kinds.

use super::gradient::{JointGradient, Place};
use super::joint::Joint;
use super::row::Row;
use super::{axis, distance, perpendicular, point, rotation, screw, slide};
use carom_math::{Pose, Space, Twist, Vector};

/// A few rows that always come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// The anchors coincide: DIM rows, theory (3.3).
    Point,
    /// The anchors differ only along the axis of a: DIM - 1 rows, theory (3.4).
    OnAxis,
    /// The anchors differ only across the axis of a: 1 row, theory (3.4).
    InPlane,
    /// No turn: ANG rows, theory (3.5).
    Rotation,
    /// The axes of a and b are parallel: ANG - 1 rows, theory (3.6).
    Parallel,
    /// The axes of a and b are perpendicular: 1 row, theory (3.6).
    Perpendicular,
    /// The anchors are a length apart: 1 row, theory (3.8).
    Distance,
    /// The turn and the advance go together: 1 row, theory (3.16).
    Screw,
}

impl Group {
    /// Number of rows.
    pub(super) fn count<S: Space>(self) -> usize {
        match self {
            Group::Point => S::DIM,
            Group::OnAxis => S::TANGENTS,
            Group::Rotation => S::ANG,
            Group::Parallel => S::ANG - 1,
            Group::InPlane | Group::Perpendicular | Group::Distance | Group::Screw => 1,
        }
    }

    /// Whether its rows read the turn since the start.
    pub(super) fn reads_turn(self) -> bool {
        matches!(self, Group::Rotation | Group::Screw)
    }

    /// The position errors of the group.
    pub(super) fn error<S: Space>(self, joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>, out: &mut [f64]) {
        let [axis_a, axis_b] = joint.axes;
        let tangents = joint.across;
        match self {
            Group::Point => point::error(joint, a, b, out),
            Group::OnAxis => {
                for i in 0..self.count::<S>() {
                    out[i] = slide::error(joint, tangents[i], a, b);
                }
            }
            Group::InPlane => out[0] = slide::error(joint, axis_a, a, b),
            Group::Rotation => rotation::error(joint, a, b, out),
            Group::Parallel => {
                for i in 0..self.count::<S>() {
                    out[i] = perpendicular::error(tangents[i], axis_b, a, b);
                }
            }
            Group::Perpendicular => out[0] = perpendicular::error(axis_a, axis_b, a, b),
            Group::Distance => out[0] = distance::length(joint, a, b) - joint.measures.length,
            Group::Screw => out[0] = screw::error(joint, a, b),
        }
    }

    /// The rows of the group.
    pub(super) fn rows<S: Space>(self, joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>, out: &mut [Row<S>]) {
        let [axis_a, axis_b] = joint.axes;
        let tangents = joint.across;
        match self {
            Group::Point => point::rows(joint, a, b, out),
            Group::OnAxis => {
                for i in 0..self.count::<S>() {
                    out[i] = slide::row(joint, tangents[i], a, b);
                }
            }
            Group::InPlane => out[0] = slide::row(joint, axis_a, a, b),
            Group::Rotation => rotation::rows(joint, a, b, out),
            Group::Parallel => {
                for i in 0..self.count::<S>() {
                    out[i] = perpendicular::row(tangents[i], axis_b, a, b);
                }
            }
            Group::Perpendicular => out[0] = perpendicular::row(axis_a, axis_b, a, b),
            Group::Distance => out[0] = distance::row(joint, a, b),
            Group::Screw => out[0] = screw::row(joint, a, b),
        }
    }

    /// Adds the gradient of y . phi of the group, theory (15.6); `y` begins with the group's rows.
    pub(super) fn value_gradient<S: Space>(self, place: &Place<S>, y: &[f64], out: &mut JointGradient<S>) {
        let [axis_a, axis_b] = place.joint.axes;
        match self {
            Group::Point => point::value_gradient(place, S::Lin::from_slice(y), out),
            Group::OnAxis => {
                let g = slide::value_gradient(place, self.blend(place, y), out);
                out.axes[0] += self.blend_gradient(place, y, g);
            }
            Group::InPlane => {
                let g = slide::value_gradient(place, axis_a * y[0], out);
                out.axes[0] += g * y[0];
            }
            Group::Rotation => rotation::value_gradient(place, S::Ang::from_slice(y), out),
            Group::Parallel if self.count::<S>() == 0 => (),
            Group::Parallel => {
                let [g_t, g_u] = perpendicular::value_gradient(place, self.blend(place, y), axis_b, out);
                out.axes[0] += self.blend_gradient(place, y, g_t);
                out.axes[1] += g_u;
            }
            Group::Perpendicular => {
                let [g_t, g_u] = perpendicular::value_gradient(place, axis_a * y[0], axis_b, out);
                out.axes[0] += g_t * y[0];
                out.axes[1] += g_u;
            }
            Group::Distance => {
                distance::value_gradient(place, y[0], out);
                out.measures.length -= y[0];
            }
            Group::Screw => screw::value_gradient(place, y[0], out),
        }
    }

    /// Adds the gradient of y . J v of the group at fixed twists, theory (15.6); `y` begins with the group's rows.
    #[inline]
    pub(super) fn power_gradient<S: Space>(self, place: &Place<S>, y: &[f64], v: &[Twist<S>; 2], out: &mut JointGradient<S>) {
        let [axis_a, axis_b] = place.joint.axes;
        match self {
            Group::Point => point::power_gradient(place, S::Lin::from_slice(y), v, out),
            Group::OnAxis => {
                let g = slide::power_gradient(place, self.blend(place, y), v, out);
                out.axes[0] += self.blend_gradient(place, y, g);
            }
            Group::InPlane => {
                let g = slide::power_gradient(place, axis_a * y[0], v, out);
                out.axes[0] += g * y[0];
            }
            Group::Rotation => rotation::power_gradient(place, S::Ang::from_slice(y), v, out),
            Group::Parallel if self.count::<S>() == 0 => (),
            Group::Parallel => {
                let [g_t, g_u] = perpendicular::power_gradient(place, self.blend(place, y), axis_b, v, out);
                out.axes[0] += self.blend_gradient(place, y, g_t);
                out.axes[1] += g_u;
            }
            Group::Perpendicular => {
                let [g_t, g_u] = perpendicular::power_gradient(place, axis_a * y[0], axis_b, v, out);
                out.axes[0] += g_t * y[0];
                out.axes[1] += g_u;
            }
            Group::Distance => distance::power_gradient(place, y[0], v, out),
            Group::Screw => screw::power_gradient(place, y[0], v, out),
        }
    }

    /// The tangents of the axis of a with the weights of their rows: the rows of the group are linear in the tangent they use.
    #[inline(always)]
    pub(super) fn blend<S: Space>(self, place: &Place<S>, y: &[f64]) -> S::Lin {
        (0..self.count::<S>()).fold(S::Lin::zero(), |sum, i| sum + place.tangents[i] * y[i])
    }

    /// From the gradient of the blend to that of the axis of a.
    #[inline(always)]
    pub(super) fn blend_gradient<S: Space>(self, place: &Place<S>, y: &[f64], g: S::Lin) -> S::Lin {
        let second = if self.count::<S>() > 1 { g * y[1] } else { S::Lin::zero() };
        axis::tangents_gradient::<S>(place.joint.axes[0], place.tangents, [g * y[0], second])
    }
}
