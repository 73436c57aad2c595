//! Names of feature pairs, and the contact each makes in closed form, theory (7.5)-(7.7).

use super::shape::{Lin, Pose, Shape};
use crate::contact::Contact;
use carom_math::Planar;
use nalgebra::Vector2;

/// Which end of the reference face cuts the incident edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// Where the face starts, going counter-clockwise.
    Start,
    /// Where the face ends.
    Stop,
}

/// A pair of features, corners and faces counted counter-clockwise on each shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Corner (or centre) of a against corner (or centre) of b: the normal joins them.
    PointPoint {
        /// Corner of a.
        a: u32,
        /// Corner of b.
        b: u32,
    },
    /// Corner of a over a face of b: the normal rides with b.
    PointFace {
        /// Corner of a.
        a: u32,
        /// Face of b.
        b: u32,
    },
    /// Face of a under a corner of b: the normal rides with a.
    FacePoint {
        /// Face of a.
        a: u32,
        /// Corner of b.
        b: u32,
    },
    /// Face of a, as an edge, cut where the reference face of b ends: the normal rides with b.
    EdgeFace {
        /// Incident face of a.
        a: u32,
        /// Reference face of b.
        b: u32,
        /// The end of the reference face that cuts.
        end: End,
    },
    /// Face of b, as an edge, cut where the reference face of a ends: the normal rides with a.
    FaceEdge {
        /// Reference face of a.
        a: u32,
        /// Incident face of b.
        b: u32,
        /// The end of the reference face that cuts.
        end: End,
    },
}

impl Feature {
    /// The same pair with a and b exchanged.
    pub fn swapped(self) -> Self {
        match self {
            Feature::PointPoint { a, b } => Feature::PointPoint { a: b, b: a },
            Feature::PointFace { a, b } => Feature::FacePoint { a: b, b: a },
            Feature::FacePoint { a, b } => Feature::PointFace { a: b, b: a },
            Feature::EdgeFace { a, b, end } => Feature::FaceEdge { a: b, b: a, end },
            Feature::FaceEdge { a, b, end } => Feature::EdgeFace { a: b, b: a, end },
        }
    }
}

/// The contact of a feature pair. Exchanging the shapes gives the same bits with the normal turned round.
#[inline]
pub(super) fn evaluate(feature: Feature, a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose) -> Contact<Planar> {
    match feature {
        Feature::PointPoint { a: i, b: j } => point_point(feature, a.vertex(i), a.radius(), pose_a, b.vertex(j), b.radius(), pose_b),
        Feature::PointFace { .. } | Feature::EdgeFace { .. } => on_face(feature, a, pose_a, b, pose_b),
        Feature::FacePoint { .. } | Feature::FaceEdge { .. } => flipped(on_face(feature.swapped(), b, pose_b, a, pose_a)),
    }
}

/// A corner or a cut edge of a on the reference face of b.
fn on_face(feature: Feature, a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose) -> Contact<Planar> {
    match feature {
        Feature::EdgeFace { a: i, b: j, end } => {
            let (p, q, _) = a.face(i);
            let (start, stop, normal) = b.face(j);
            let corner = if end == End::Start { start } else { stop };
            let cut = cut(pose_a.direction(p), pose_a.direction(q), pose_a.position, corner, normal, pose_b);
            point_face(feature, cut, a.radius(), pose_a, corner, normal, b.radius(), pose_b)
        }
        Feature::PointFace { a: i, b: j }
        | Feature::PointPoint { a: i, b: j }
        | Feature::FacePoint { a: i, b: j }
        | Feature::FaceEdge { a: i, b: j, .. } => {
            let (start, _, normal) = b.face(j);
            point_face(feature, pose_a.direction(a.vertex(i)), a.radius(), pose_a, start, normal, b.radius(), pose_b)
        }
    }
}

/// The same contact seen from the other side.
pub(super) fn flipped(contact: Contact<Planar>) -> Contact<Planar> {
    Contact {
        feature: contact.feature.swapped(),
        gap: contact.gap,
        normal: -contact.normal,
        point_a: contact.point_b,
        point_b: contact.point_a,
    }
}

/// Theory (7.5). The offset is taken between the origins first, so that far from the world's origin no digits are lost.
#[inline(always)]
fn point_point(feature: Feature, va: Lin, ra: f64, pose_a: &Pose, vb: Lin, rb: f64, pose_b: &Pose) -> Contact<Planar> {
    let (arm_a, arm_b) = (pose_a.direction(va), pose_b.direction(vb));
    let offset = (pose_a.position - pose_b.position) + (arm_a - arm_b);
    let distance = offset.norm();
    // Coincident centres have no direction; up is as good as any.
    let normal = if distance > 0.0 { offset / distance } else { Vector2::y() };
    Contact {
        feature,
        gap: distance - (ra + rb),
        normal,
        point_a: pose_a.position + (arm_a - normal * ra),
        point_b: pose_b.position + (arm_b + normal * rb),
    }
}

/// Theory (7.6): a point of a, given by its arm in world axes, over the face of b through `corner`.
#[inline(always)]
fn point_face(feature: Feature, arm_a: Lin, ra: f64, pose_a: &Pose, corner: Lin, normal: Lin, rb: f64, pose_b: &Pose) -> Contact<Planar> {
    let normal = pose_b.direction(normal);
    let offset = (pose_a.position - pose_b.position) + (arm_a - pose_b.direction(corner));
    let distance = normal.dot(&offset);
    let point = pose_a.position + arm_a;
    Contact { feature, gap: distance - (ra + rb), normal, point_a: point - normal * ra, point_b: point - normal * (distance - rb) }
}

/// Theory (7.7): the arm of the point of the edge p-q (arms of a, world axes) over the end `corner` of a face of b.
#[inline(always)]
fn cut(p: Lin, q: Lin, origin_a: Lin, corner: Lin, normal: Lin, pose_b: &Pose) -> Lin {
    let normal = pose_b.direction(normal);
    let along = Vector2::new(-normal.y, normal.x);
    let to_corner = pose_b.direction(corner) - ((origin_a - pose_b.position) + p);
    let run = along.dot(&(q - p));
    // An edge square to the face has no single point over its end; contacts never name one.
    let t = if run != 0.0 { along.dot(&to_corner) / run } else { 0.0 };
    p + (q - p) * t
}
