//! Rows over a whole move: the discrete gradients of the joint errors, theory (13.9)-(13.13).
//!
//! A row J at one pose gives the rate of an error; a mean row gives its change over a move exactly, error(end) - error(start) = t J v, where
//! v is the mean twist of the move (13.4). Impulses along mean rows do no work on joints that hold at both ends.

use super::group::Group;
use super::joint::Joint;
use super::row::Row;
use super::spring::SpringState;
use carom_math::{Pose, Space, Vector};

/// Sums of two distances below this fraction of the joint's size have no direction of their own.
const TINY_DISTANCE: f64 = 1e-9;

/// The poses of a body at the two ends of a move.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a, S: Space> {
    /// Where the move starts.
    pub start: &'a Pose<S>,
    /// Where it ends.
    pub end: &'a Pose<S>,
}

impl<S: Space> Span<'_, S> {
    /// Mean of a body direction in the world, (R0 + R1)/2 s: shorter than s where the body turns.
    pub fn direction(&self, x: S::Lin) -> S::Lin {
        (self.start.direction(x) + self.end.direction(x)) * 0.5
    }
    /// Mean place of a body point in the world.
    pub fn point(&self, x: S::Lin) -> S::Lin {
        self.centre() + self.direction(x)
    }
    /// Mean place of the centre of mass.
    pub fn centre(&self) -> S::Lin {
        (self.start.position + self.end.position) * 0.5
    }
}

/// (r + s)/2 of two rows.
fn average<S: Space>(r: Row<S>, s: Row<S>) -> Row<S> {
    let half =
        |x: carom_math::Wrench<S>, y: carom_math::Wrench<S>| carom_math::Wrench { lin: (x.lin + y.lin) * 0.5, ang: (x.ang + y.ang) * 0.5 };
    Row { a: half(r.a, s.a), b: half(r.b, s.b) }
}

impl<S: Space> Joint<S> {
    /// Mean rows over a move into the first `step_row_count` entries, theory (13.9)-(13.12).
    pub fn mean_rows(&self, a: &Span<S>, b: &Span<S>, out: &mut [Row<S>]) {
        let mut first = 0;
        for group in self.kind.groups() {
            group.mean_rows(self, a, b, &mut out[first..]);
            first += group.count::<S>();
        }
        if self.has_rotor() {
            out[first] = self.mean_coordinate_row(a, b);
        }
    }

    /// The spring over a move: its length is the mean of those at the ends and its row the mean row of the length, so that its force does
    /// exactly the work its energy loses, theory (13.13); `None` for other kinds.
    pub fn mean_spring(&self, a: &Span<S>, b: &Span<S>) -> Option<SpringState<S>> {
        let (start, end) = (self.spring(a.start, b.start)?, self.spring(a.end, b.end)?);
        Some(SpringState { length: 0.5 * (start.length + end.length), row: distance_row(self, a, b), ..start })
    }

    /// The row of the free coordinate over a move: the mean of those at its ends.
    pub fn mean_coordinate_row(&self, a: &Span<S>, b: &Span<S>) -> Row<S> {
        average(self.coordinate_row(a.start, b.start), self.coordinate_row(a.end, b.end))
    }
}

impl Group {
    /// The mean rows of the group.
    fn mean_rows<S: Space>(self, joint: &Joint<S>, a: &Span<S>, b: &Span<S>, out: &mut [Row<S>]) {
        let [axis_a, axis_b] = joint.axes;
        let tangents = S::tangents(axis_a);
        match self {
            Group::Point => {
                let (arm_a, arm_b) = (a.direction(joint.anchors[0]), b.direction(joint.anchors[1]));
                for (i, row) in out[..S::DIM].iter_mut().enumerate() {
                    let mut axis = S::Lin::zero();
                    axis[i] = 1.0;
                    *row = Row::along(axis, arm_a, arm_b);
                }
            }
            Group::OnAxis => (0..self.count::<S>()).for_each(|i| out[i] = slide_row(joint, tangents[i], a, b)),
            Group::InPlane => out[0] = slide_row(joint, axis_a, a, b),
            Group::Parallel => (0..self.count::<S>()).for_each(|i| out[i] = perpendicular_row(tangents[i], axis_b, a, b)),
            Group::Perpendicular => out[0] = perpendicular_row(axis_a, axis_b, a, b),
            Group::Distance => out[0] = distance_row(joint, a, b),
            // No products of directions. Of a rotation both ends hold only if the two bodies make the same turn; then any equal and opposite torques do
            // no work. Others give the change to third order only, and `energy-momentum` refuses their kinds.
            _ => {
                let mut end = [Row::zero(); 3];
                self.rows(joint, a.start, b.start, out);
                self.rows(joint, a.end, b.end, &mut end);
                out[..self.count::<S>()].iter_mut().zip(end).for_each(|(row, end)| *row = average(*row, end));
            }
        }
    }
}

/// Change of n . (c_a - c_b), a product of two directions, theory (13.10).
fn slide_row<S: Space>(joint: &Joint<S>, direction: S::Lin, a: &Span<S>, b: &Span<S>) -> Row<S> {
    let point = b.point(joint.anchors[1]);
    Row::along(a.direction(direction), point - a.centre(), point - b.centre())
}

/// Change of t . u, theory (13.11).
fn perpendicular_row<S: Space>(t: S::Lin, u: S::Lin, a: &Span<S>, b: &Span<S>) -> Row<S> {
    Row::turning(S::torque(a.direction(t), b.direction(u)))
}

/// Change of |c_a - c_b|, a difference of squares over the sum of the lengths, theory (13.12).
fn distance_row<S: Space>(joint: &Joint<S>, a: &Span<S>, b: &Span<S>) -> Row<S> {
    let apart = |pose_a: &Pose<S>, pose_b: &Pose<S>| {
        let [point_a, point_b] = joint.points(pose_a, pose_b);
        point_a - point_b
    };
    let (start, end) = (apart(a.start, b.start), apart(a.end, b.end));
    let (direction, _) = distance_direction(joint, [start, end], || a.direction(joint.direction));
    Row::along(direction, a.direction(joint.anchors[0]), b.direction(joint.anchors[1]))
}

/// The direction of a mean distance row and the sum of the lengths it was divided by; 0 where the kept direction stands in.
pub(super) fn distance_direction<S: Space>(joint: &Joint<S>, apart: [S::Lin; 2], kept: impl FnOnce() -> S::Lin) -> (S::Lin, f64) {
    let sum = apart[0].norm() + apart[1].norm();
    let size = joint.measures.length.max(joint.measures.rest);
    if sum > TINY_DISTANCE * size { ((apart[0] + apart[1]) * (1.0 / sum), sum) } else { (kept(), 0.0) }
}
