//! Pairs of features and the contact each makes as a closed form of the poses, theory (8.5)-(8.9).

use super::placed::Elements;
use crate::scalar::{Real, constant, dot, norm};
use nalgebra::Vector3;

type V = Vector3<f64>;
/// A contact in space before it is named.
pub(super) type Raw<T = f64> = crate::raw::Raw<T, 3>;

/// Names the pair of features that make a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feature {
    /// Triangle of a mesh or heightfield; 0 for other shapes.
    pub part: u32,
    /// Which features meet.
    pub kind: Kind,
}

/// Which features meet; `a` indexes features of the first shape, `b` of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Two vertices (or centres), theory (8.5).
    PointPoint {
        /// Vertex.
        a: u32,
        /// Vertex.
        b: u32,
    },
    /// A vertex and an edge, theory (8.6).
    PointEdge {
        /// Vertex.
        a: u32,
        /// Edge.
        b: u32,
    },
    /// An edge and a vertex, theory (8.6).
    EdgePoint {
        /// Edge.
        a: u32,
        /// Vertex.
        b: u32,
    },
    /// A vertex and a face, theory (8.7).
    PointFace {
        /// Vertex.
        a: u32,
        /// Face.
        b: u32,
    },
    /// A face and a vertex, theory (8.7).
    FacePoint {
        /// Face.
        a: u32,
        /// Vertex.
        b: u32,
    },
    /// Two edges that cross, theory (8.8).
    EdgeEdge {
        /// Edge.
        a: u32,
        /// Edge.
        b: u32,
        /// Whether the normal is minus the cross product of the edges.
        flip: bool,
    },
    /// The point where an edge of a crosses the side plane of a face of b, theory (8.9).
    EdgeFace {
        /// Edge.
        a: u32,
        /// Face.
        b: u32,
        /// Side of the face.
        side: u32,
    },
    /// The point where an edge of b crosses the side plane of a face of a, theory (8.9).
    FaceEdge {
        /// Face.
        a: u32,
        /// Edge.
        b: u32,
        /// Side of the face.
        side: u32,
    },
    /// Features of a pair in which a cylinder or cone takes part, theory (8.14)-(8.17).
    Round {
        /// Feature of a.
        a: Curve,
        /// Feature of b.
        b: Curve,
    },
}

/// A feature of one shape of a pair in which a cylinder or a cone takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Curve {
    /// A vertex, or the apex of a cone.
    Vertex(u32),
    /// A straight edge.
    Edge(u32),
    /// The point where an edge crosses the wall over a rim, the first or second along it.
    EdgeCut(u32, u8),
    /// A flat face; the flat end of a cylinder or cone (0 lower, 1 upper).
    Face(u32),
    /// A side of a face: the plane through it along the normal of the face.
    Wall(u32, u32),
    /// The point of a rim (0 lower, 1 upper) lowest over the other shape's face.
    Rim(u8),
    /// A point of a rim (0 lower, 1 upper) fixed in the body, in quarter turns from x.
    Mark(u8, u8),
    /// The point where a rim crosses a wall or another rim, one of two.
    Cut(u8, u8),
    /// The centre of a rim with its radius about it: the end of a line contact.
    Centre(u8),
    /// The side of a cylinder: its axis with the radius about it.
    Side,
    /// The line of the side lowest over the other shape's face.
    Generator,
    /// The point where that line crosses the wall over a rim, the first or second along it.
    GeneratorCut(u8),
    /// The nearest point of the whole shape.
    Whole,
}

impl Kind {
    /// The same pair with the shapes exchanged.
    pub fn swapped(self) -> Kind {
        match self {
            Kind::PointPoint { a, b } => Kind::PointPoint { a: b, b: a },
            Kind::PointEdge { a, b } => Kind::EdgePoint { a: b, b: a },
            Kind::EdgePoint { a, b } => Kind::PointEdge { a: b, b: a },
            Kind::PointFace { a, b } => Kind::FacePoint { a: b, b: a },
            Kind::FacePoint { a, b } => Kind::PointFace { a: b, b: a },
            // Both the cross product and the direction of the normal change sign.
            Kind::EdgeEdge { a, b, flip } => Kind::EdgeEdge { a: b, b: a, flip },
            Kind::EdgeFace { a, b, side } => Kind::FaceEdge { a: b, b: a, side },
            Kind::FaceEdge { a, b, side } => Kind::EdgeFace { a: b, b: a, side },
            Kind::Round { a, b } => Kind::Round { a: b, b: a },
        }
    }
}

/// The normal where two centres coincide and none is defined: up.
pub(super) fn any_normal() -> V {
    V::z()
}

/// Two points with radii about them, theory (8.5).
#[inline(always)]
pub(super) fn point_point<T: Real>(p: Vector3<T>, q: Vector3<T>, radius_a: T, radius_b: T) -> Raw<T> {
    let d = p - q;
    let distance = norm(d);
    let regular = distance.value() > 0.0;
    let normal = if regular { d / distance } else { constant(any_normal()) };
    Raw { gap: distance - radius_a - radius_b, normal, point_a: p - normal * radius_a, point_b: q + normal * radius_b, regular }
}

/// A point against a line, theory (8.6).
#[inline]
pub(super) fn point_line<T: Real>(p: Vector3<T>, (q0, q1): (Vector3<T>, Vector3<T>), radius_a: T, radius_b: T) -> Raw<T> {
    let e = q1 - q0;
    let length = dot(e, e);
    let t = if length.value() > 0.0 { dot(e, p - q0) / length } else { T::of(0.0) };
    point_point(p, q0 + e * t, radius_a, radius_b)
}

/// A point against a plane of b, theory (8.7).
#[inline(always)]
pub(super) fn point_plane<T: Real>(p: Vector3<T>, normal: Vector3<T>, on_plane: Vector3<T>, radius_a: T) -> Raw<T> {
    let gap = dot(normal, p - on_plane) - radius_a;
    let point_a = p - normal * radius_a;
    Raw { gap, normal, point_a, point_b: point_a - normal * gap, regular: true }
}

/// Two lines that are not parallel, theory (8.8).
#[inline]
pub(super) fn line_line<T: Real>(
    (p0, p1): (Vector3<T>, Vector3<T>),
    (q0, q1): (Vector3<T>, Vector3<T>),
    flip: bool,
    radius_a: T,
    radius_b: T,
) -> Raw<T> {
    let (e, f, d) = (p1 - p0, q1 - q0, p0 - q0);
    let cross = e.cross(&f);
    let n2 = dot(cross, cross);
    if n2.value() <= 0.0 {
        return Raw { regular: false, ..point_line((p0 + p1) * T::of(0.5), (q0, q1), radius_a, radius_b) };
    }
    let normal = cross * (T::of(if flip { -1.0 } else { 1.0 }) / n2.sqrt());
    // Both feet solve e.(p - q) = f.(p - q) = 0; by the triple product with the common normal.
    let s = -dot(d.cross(&f), cross) / n2;
    let t = -dot(d.cross(&e), cross) / n2;
    let gap = dot(normal, d) - radius_a - radius_b;
    let point_a = p0 + e * s - normal * radius_a;
    let point_b = q0 + f * t + normal * radius_b;
    Raw { gap, normal, point_a, point_b, regular: true }
}

/// Where edge `edge` of a crosses side `side` of face `face` of b, theory (8.9).
#[inline]
fn clipped<E: Elements>(a: &E, edge: u32, b: &E, face: u32, side: u32) -> Raw<E::T> {
    let (p, q) = a.edge(edge);
    let normal = b.normal(face);
    let (corner, next) = b.side(face, side);
    let k = (next - corner).cross(&normal);
    let slope = dot(k, q - p);
    let regular = slope.value() != 0.0;
    let t = if regular { dot(k, corner - p) / slope } else { Real::of(0.5) };
    Raw { regular, ..point_plane(p + (q - p) * t, normal, corner, a.radius()) }
}

/// The contact of a pair of features at given poses.
#[inline]
pub(super) fn evaluate<E: Elements>(kind: Kind, a: &E, b: &E) -> Raw<E::T> {
    match kind {
        Kind::PointPoint { a: i, b: j } => point_point(a.vertex(i), b.vertex(j), a.radius(), b.radius()),
        Kind::PointEdge { a: i, b: j } => point_line(a.vertex(i), b.edge(j), a.radius(), b.radius()),
        Kind::EdgePoint { a: i, b: j } => point_line(b.vertex(j), a.edge(i), b.radius(), a.radius()).swapped(),
        Kind::PointFace { a: i, b: j } => point_plane(a.vertex(i), b.normal(j), b.face_point(j), a.radius()),
        Kind::FacePoint { a: i, b: j } => point_plane(b.vertex(j), a.normal(i), a.face_point(i), b.radius()).swapped(),
        Kind::EdgeEdge { a: i, b: j, flip } => line_line(a.edge(i), b.edge(j), flip, a.radius(), b.radius()),
        Kind::EdgeFace { a: i, b: j, side } => clipped(a, i, b, j, side),
        Kind::FaceEdge { a: i, b: j, side } => clipped(b, j, a, i, side).swapped(),
        // Never made for two cores.
        Kind::Round { .. } => Raw { regular: false, ..point_point(a.origin(), b.origin(), Real::of(0.0), Real::of(0.0)) },
    }
}
