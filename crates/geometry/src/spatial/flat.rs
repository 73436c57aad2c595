//! Contacts over a face: the point that lies over it, backwards in closed form, theory (14.9)-(14.11).

use super::core::Core;
use super::feature::{Kind, Raw, point_plane};
use super::parameters;
use super::shape::Shape;
use crate::contact_jacobian::Moved;
use crate::contact_tangent::ContactTangent;
use carom_math::Spatial;
use nalgebra::Vector3;

type V = Vector3<f64>;

/// What lies over a face.
#[derive(Clone, Copy)]
enum Spot {
    Vertex(u32),
    /// Where an edge crosses the side of the face.
    Cut {
        edge: u32,
        side: u32,
        /// The part of the edge before it.
        part: f64,
        /// The edge, and the normal of the side over their product.
        along: V,
        cut: V,
        /// The side itself.
        run: V,
    },
}

/// A point of one core over a face of another.
pub(super) struct Flat<'c> {
    /// Which shape the point is of: 0 is a.
    pub side: usize,
    spot: Spot,
    /// Where it is, its core, and the radius about that.
    at: V,
    point: &'c Core<'c>,
    /// The face, its core, its outward normal and a point of it.
    number: u32,
    face: &'c Core<'c>,
    normal: V,
    foot: V,
}

impl<'c> Flat<'c> {
    /// `None` for features of another kind, and for an edge along the side that should cut it.
    #[inline]
    pub fn of(kind: Kind, a: &'c Core<'c>, b: &'c Core<'c>) -> Option<Self> {
        let (side, point, face) = match kind {
            Kind::PointFace { .. } | Kind::EdgeFace { .. } => (0, a, b),
            Kind::FacePoint { .. } | Kind::FaceEdge { .. } => (1, b, a),
            _ => return None,
        };
        match kind {
            Kind::PointFace { a: vertex, b: number } | Kind::FacePoint { a: number, b: vertex } => {
                let (normal, foot) = (face.normal(number), face.face_point(number));
                Some(Flat { side, spot: Spot::Vertex(vertex), at: point.vertex(vertex), point, number, face, normal, foot })
            }
            Kind::EdgeFace { a: edge, b: number, side: wall } | Kind::FaceEdge { a: number, b: edge, side: wall } => {
                let (p, q) = point.edge(edge);
                let normal = face.normal(number);
                let corner = |k: u32| face.vertex(face.face_vertex(number, k as usize));
                let foot = corner(wall);
                let (along, run) = (q - p, corner(wall + 1) - foot);
                let out = run.cross(&normal);
                let slope = out.dot(&along);
                let (part, cut) = (out.dot(&(foot - p)) / slope, out / slope);
                let spot = Spot::Cut { edge, side: wall, part, along, cut, run };
                (part.is_finite() && cut.amax().is_finite()).then(|| Flat {
                    side,
                    spot,
                    at: p + along * part,
                    point,
                    number,
                    face,
                    normal,
                    foot,
                })
            }
            _ => None,
        }
    }

    /// The contact.
    pub fn contact(&self) -> Raw {
        let raw = point_plane(self.at, self.normal, self.foot, self.point.radius);
        if self.side == 0 { raw } else { raw.swapped() }
    }

    /// What it does while the frame of the point moves.
    pub fn moved(&self) -> Moved<Spatial> {
        let slide = match self.spot {
            Spot::Vertex(_) => None,
            Spot::Cut { along, cut, .. } => Some([along, cut]),
        };
        Moved::Point { arm: self.at - self.point.pos, slide }
    }

    /// Adds the gradient by the sizes of the shape of the point and of the other, theory (14.11).
    pub fn sizes_adjoint(&self, bar: &ContactTangent<Spatial>, shapes: [&Shape; 2], [own, other]: [Option<&mut [f64]>; 2]) {
        let (normal, foot, radius) = (self.normal, self.foot, self.point.radius);
        let (sign, by_foot) = if self.side == 0 { (1.0, bar.point_b) } else { (-1.0, bar.point_a) };
        let both = bar.point_a + bar.point_b;
        let by_gap = bar.gap - normal.dot(&by_foot);
        let by_at = both + normal * by_gap;
        let gap = normal.dot(&(self.at - foot)) - radius;
        let mut by_normal = bar.normal * sign - by_foot * gap - both * radius + (self.at - foot) * by_gap;
        let on_face = -normal * by_gap;
        match self.spot {
            Spot::Vertex(vertex) => {
                if let Some(out) = own {
                    parameters::vertex_bar(shapes[0], self.point, vertex, by_at, out);
                    parameters::radius_bar(shapes[0], -normal.dot(&both) - by_gap, out);
                }
                if let Some(out) = other {
                    parameters::normal_bar(shapes[1], self.face, self.number, by_normal, out);
                    parameters::face_point_bar(shapes[1], self.face, self.number, on_face, out);
                }
            }
            Spot::Cut { edge, side, part, along, cut, run } => {
                // A cut moves along its edge by what the side moves, and by what it turns.
                let by_slide = along.dot(&by_at);
                if let Some(out) = own {
                    let by_edge = by_at - cut * by_slide;
                    let [p, q] = self.point.edge_ends(edge);
                    parameters::vertex_bar(shapes[0], self.point, p, by_edge * (1.0 - part), out);
                    parameters::vertex_bar(shapes[0], self.point, q, by_edge * part, out);
                    parameters::radius_bar(shapes[0], -normal.dot(&both) - by_gap, out);
                }
                if let Some(out) = other {
                    let slope = run.cross(&normal).dot(&along);
                    let by_out = (foot - self.at) * (by_slide / slope);
                    by_normal += by_out.cross(&run);
                    let by_run = normal.cross(&by_out);
                    let corner = |k: u32| self.face.face_vertex(self.number, k as usize);
                    parameters::normal_bar(shapes[1], self.face, self.number, by_normal, out);
                    parameters::vertex_bar(shapes[1], self.face, corner(side), on_face + cut * by_slide - by_run, out);
                    parameters::vertex_bar(shapes[1], self.face, corner(side + 1), by_run, out);
                }
            }
        }
    }
}
