//! Names of feature pairs, and the contact each makes in closed form, theory (7.5)-(7.7).

use super::placed::{Face, Placed, Still};
use super::shape::{Pose, Shape};
use crate::contact::Contact;
use crate::raw::Raw;
use crate::scalar::{Real, constant, dot, norm};
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
    /// The number of the feature of a and of b, each with whether it is a face.
    pub(super) fn sides(self) -> ((u32, bool), (u32, bool)) {
        match self {
            Feature::PointPoint { a, b } => ((a, false), (b, false)),
            Feature::PointFace { a, b } => ((a, false), (b, true)),
            Feature::FacePoint { a, b } => ((a, true), (b, false)),
            Feature::EdgeFace { a, b, .. } | Feature::FaceEdge { a, b, .. } => ((a, true), (b, true)),
        }
    }
}

/// The contact of a feature pair. Exchanging the shapes gives the same bits with the normal turned round.
#[inline]
pub(super) fn evaluate(feature: Feature, a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose) -> Contact<Planar> {
    let raw = closed_form(feature, &Still { shape: a, pose: pose_a }, &Still { shape: b, pose: pose_b });
    Contact { feature, gap: raw.gap, normal: raw.normal, point_a: raw.point_a, point_b: raw.point_b }
}

/// The same in numbers with or without derivatives.
#[inline(always)]
pub(super) fn closed_form<P: Placed>(feature: Feature, a: &P, b: &P) -> Raw<P::T, 2> {
    match feature {
        Feature::PointPoint { a: i, b: j } => point_point(a, a.arm(i), b, b.arm(j)),
        Feature::PointFace { a: i, b: j } => point_face(a, a.arm(i), b, b.face(j)),
        Feature::FacePoint { a: i, b: j } => point_face(b, b.arm(j), a, a.face(i)).swapped(),
        Feature::EdgeFace { a: i, b: j, end } => edge_face(a, i, b, j, end),
        Feature::FaceEdge { a: i, b: j, end } => edge_face(b, j, a, i, end).swapped(),
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
fn point_point<P: Placed>(a: &P, arm_a: Vector2<P::T>, b: &P, arm_b: Vector2<P::T>) -> Raw<P::T, 2> {
    let (ra, rb) = (a.radius(), b.radius());
    let offset = (a.position() - b.position()) + (arm_a - arm_b);
    let distance = norm(offset);
    let regular = distance.value() > 0.0;
    // Coincident centres have no direction; up is as good as any.
    let normal = if regular { offset / distance } else { constant(Vector2::y()) };
    Raw {
        gap: distance - (ra + rb),
        normal,
        point_a: a.position() + (arm_a - normal * ra),
        point_b: b.position() + (arm_b + normal * rb),
        regular,
    }
}

/// Theory (7.6): a point of a, given by its arm, over a face of b through its start.
#[inline(always)]
fn point_face<P: Placed>(a: &P, arm_a: Vector2<P::T>, b: &P, face: Face<P::T>) -> Raw<P::T, 2> {
    let (ra, rb) = (a.radius(), b.radius());
    let offset = (a.position() - b.position()) + (arm_a - face.start);
    let distance = dot(face.normal, offset);
    let point = a.position() + arm_a;
    Raw {
        gap: distance - (ra + rb),
        normal: face.normal,
        point_a: point - face.normal * ra,
        point_b: point - face.normal * (distance - rb),
        regular: true,
    }
}

/// Theory (7.7): the point of the edge `i` of a over an end of the face `j` of b.
#[inline(always)]
fn edge_face<P: Placed>(a: &P, i: u32, b: &P, j: u32, end: End) -> Raw<P::T, 2> {
    let (edge, face) = (a.face(i), b.face(j));
    let corner = if end == End::Start { face.start } else { face.stop };
    let (p, q) = (edge.start, edge.stop);
    let along = Vector2::new(-face.normal.y, face.normal.x);
    let to_corner = corner - ((a.position() - b.position()) + p);
    let run = dot(along, q - p);
    let regular = run.value() != 0.0;
    // An edge square to the face has no single point over its end; contacts never name one.
    let t = if regular { dot(along, to_corner) / run } else { Real::of(0.0) };
    Raw { regular, ..point_face(a, p + (q - p) * t, b, Face { start: corner, ..face }) }
}
