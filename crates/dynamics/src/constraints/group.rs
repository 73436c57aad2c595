//! The elementary row groups, and of which of them each kind is made.

use super::joint::Joint;
use super::kind::JointKind;
use super::row::Row;
use super::{distance, perpendicular, point, rotation, slide};
use carom_math::{Pose, Space};

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
}

impl JointKind {
    /// The groups of equality rows a kind is made of, in the order of its rows.
    pub(super) fn groups(self) -> &'static [Group] {
        match self {
            JointKind::Hinge => &[Group::Point, Group::Parallel],
            JointKind::Ball => &[Group::Point],
            JointKind::Slider => &[Group::OnAxis, Group::Rotation],
            JointKind::Weld => &[Group::Point, Group::Rotation],
            JointKind::Universal => &[Group::Point, Group::Perpendicular],
            JointKind::Distance => &[Group::Distance],
            JointKind::Cylindrical => &[Group::OnAxis, Group::Parallel],
            JointKind::Planar => &[Group::InPlane, Group::Parallel],
            JointKind::Rope | JointKind::Spring => &[],
        }
    }
}

impl Group {
    /// Number of rows.
    pub(super) fn count<S: Space>(self) -> usize {
        match self {
            Group::Point => S::DIM,
            Group::OnAxis => S::TANGENTS,
            Group::Rotation => S::ANG,
            Group::Parallel => S::ANG - 1,
            Group::InPlane | Group::Perpendicular | Group::Distance => 1,
        }
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
            Group::Distance => out[0] = distance::length(joint, a, b) - joint.length,
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
        }
    }
}
