//! The sizes of the spatial shapes as numbers, in the order of the keys of a scene, and what moves with them, theory (14.5)-(14.6).

use super::core::Core;
use super::feature::{Curve, Kind};
use super::shape::Shape;
use crate::contact_tangent::Sizes;
use crate::shape_error::ShapeError;
use nalgebra::Vector3;
use std::sync::Arc;

type V = Vector3<f64>;

/// Coordinates of a point.
const DIM: usize = 3;

/// The key of a shape in a scene.
pub(super) fn key(shape: &Shape) -> &'static str {
    match shape {
        Shape::Ball { .. } => "ball",
        Shape::Cuboid { .. } => "box",
        Shape::Capsule { .. } => "capsule",
        Shape::Convex(_) => "convex",
        Shape::HalfSpace { .. } => "half_space",
        Shape::Segment { .. } => "segment",
        Shape::Cylinder { .. } => "cylinder",
        Shape::Cone { .. } => "cone",
        Shape::Mesh(_) => "mesh",
        Shape::Heightfield(_) => "heightfield",
    }
}

/// How many sizes a shape has.
pub(super) fn count(shape: &Shape) -> usize {
    match shape {
        Shape::Ball { .. } => 1,
        Shape::Capsule { .. } | Shape::Cylinder { .. } | Shape::Cone { .. } => 2,
        Shape::Cuboid { .. } | Shape::HalfSpace { .. } => DIM,
        Shape::Segment { .. } => 2 * DIM,
        Shape::Convex(hull) => DIM * hull.vertices().len(),
        Shape::Mesh(_) | Shape::Heightfield(_) => 0,
    }
}

/// The sizes of a shape.
pub(super) fn parameters(shape: &Shape) -> Vec<f64> {
    match shape {
        Shape::Ball { radius } => vec![*radius],
        Shape::Cuboid { half } => (half * 2.0).as_slice().to_vec(),
        Shape::Capsule { half_length: half, radius }
        | Shape::Cylinder { half_height: half, radius }
        | Shape::Cone { half_height: half, radius } => vec![2.0 * half, *radius],
        Shape::Convex(hull) => hull.vertices().iter().flat_map(|v| [v.x, v.y, v.z]).collect(),
        Shape::HalfSpace { normal } => normal.as_slice().to_vec(),
        Shape::Segment { a, b } => [a.as_slice(), b.as_slice()].concat(),
        Shape::Mesh(_) | Shape::Heightfield(_) => Vec::new(),
    }
}

/// The shape with other sizes.
pub(super) fn with_parameters(shape: &Shape, p: &[f64]) -> Result<Shape, ShapeError> {
    let needed = count(shape);
    if p.len() != needed {
        return Err(ShapeError::WrongCount { what: "sizes of a shape", found: p.len(), needed });
    }
    let point = |k: usize| V::new(p[DIM * k], p[DIM * k + 1], p[DIM * k + 2]);
    match shape {
        Shape::Ball { .. } => Shape::ball(p[0]),
        Shape::Cuboid { .. } => Shape::cuboid(point(0) * 0.5),
        Shape::Capsule { .. } => Shape::capsule(0.5 * p[0], p[1]),
        Shape::Cylinder { .. } => Shape::cylinder(0.5 * p[0], p[1]),
        Shape::Cone { .. } => Shape::cone(0.5 * p[0], p[1]),
        Shape::Convex(hull) => {
            let vertices: Vec<V> = (0..hull.vertices().len()).map(point).collect();
            Ok(Shape::Convex(Arc::new(hull.with_vertices(&vertices)?)))
        }
        Shape::HalfSpace { .. } => Shape::half_space(point(0)),
        Shape::Segment { .. } => Shape::segment(point(0), point(1)),
        Shape::Mesh(_) | Shape::Heightfield(_) => Ok(shape.clone()),
    }
}

/// How a vertex of a core moves in its frame with the sizes.
pub(super) fn vertex_tangent(shape: &Shape, core: &Core, vertex: u32, sizes: Sizes) -> V {
    let point = |k: usize| V::new(sizes.get(DIM * k), sizes.get(DIM * k + 1), sizes.get(DIM * k + 2));
    match shape {
        Shape::Cuboid { half } => core.local_vertex(vertex).component_div(half).component_mul(&point(0)) * 0.5,
        Shape::Capsule { .. } => V::z() * if vertex & 1 == 0 { -0.5 * sizes.get(0) } else { 0.5 * sizes.get(0) },
        Shape::Convex(hull) => point((vertex as usize).min(hull.vertices().len() - 1)),
        Shape::Segment { .. } => point((vertex & 1) as usize),
        _ => V::zeros(),
    }
}

/// How the normal of a face turns in its frame with the sizes: the unit normal of the area vector, theory (14.6).
pub(super) fn normal_tangent(shape: &Shape, face: u32, sizes: Sizes) -> V {
    match shape {
        Shape::HalfSpace { normal } => {
            let turned = V::new(sizes.get(0), sizes.get(1), sizes.get(2));
            turned - normal * normal.dot(&turned)
        }
        Shape::Convex(hull) => {
            let f = (face as usize).min(hull.normals().len() - 1);
            let (ring, normal) = (hull.face(f), hull.normals()[f]);
            let corner = |k: usize| hull.vertices()[ring[k % ring.len()] as usize];
            let (mut area, mut turned) = (0.0, V::zeros());
            for k in 0..ring.len() {
                let (previous, next) = (corner(k + ring.len() - 1), corner(k + 1));
                let v = DIM * ring[k] as usize;
                area += 0.5 * normal.dot(&(corner(k) - corner(0)).cross(&(next - previous)));
                turned += V::new(sizes.get(v), sizes.get(v + 1), sizes.get(v + 2)).cross(&(next - previous));
            }
            (turned - normal * normal.dot(&turned)) / area
        }
        _ => V::zeros(),
    }
}

/// How the point by which a face is known moves in its frame with the sizes.
pub(super) fn face_point_tangent(shape: &Shape, core: &Core, face: u32, sizes: Sizes) -> V {
    match shape {
        Shape::HalfSpace { .. } => V::zeros(),
        Shape::Cuboid { .. } => core.local_normal(face) * (0.5 * sizes.get((face as usize / 2) % DIM)),
        _ => vertex_tangent(shape, core, core.face_vertex(face, 0), sizes),
    }
}

/// How the radius about a core changes with the sizes.
pub(super) fn radius_tangent(shape: &Shape, sizes: Sizes) -> f64 {
    match shape {
        Shape::Ball { .. } => sizes.get(0),
        Shape::Capsule { .. } => sizes.get(1),
        _ => 0.0,
    }
}

/// Adds what a covector on a vertex, in world axes, is by the sizes: the transpose of [`vertex_tangent`].
#[inline]
pub(super) fn vertex_bar(shape: &Shape, core: &Core, vertex: u32, bar: V, out: &mut [f64]) {
    let local = core.local(bar);
    match shape {
        Shape::Cuboid { .. } => {
            let half = |k: u32| if vertex >> k & 1 == 0 { -0.5 } else { 0.5 };
            add(out, 0, &[half(0) * local.x, half(1) * local.y, half(2) * local.z]);
        }
        Shape::Capsule { .. } => add(out, 0, &[if vertex & 1 == 0 { -0.5 * local.z } else { 0.5 * local.z }]),
        Shape::Convex(hull) => add(out, DIM * (vertex as usize).min(hull.vertices().len() - 1), local.as_slice()),
        Shape::Segment { .. } => add(out, DIM * (vertex & 1) as usize, local.as_slice()),
        _ => {}
    }
}

/// The transpose of [`normal_tangent`].
#[inline]
pub(super) fn normal_bar(shape: &Shape, core: &Core, face: u32, bar: V, out: &mut [f64]) {
    match shape {
        Shape::HalfSpace { normal } => {
            let local = core.local(bar);
            add(out, 0, (local - normal * normal.dot(&local)).as_slice());
        }
        Shape::Convex(hull) => {
            let f = (face as usize).min(hull.normals().len() - 1);
            let (ring, normal, local) = (hull.face(f), hull.normals()[f], core.local(bar));
            let corner = |k: usize| hull.vertices()[ring[k % ring.len()] as usize];
            let around = |k: usize| corner(k + 1) - corner(k + ring.len() - 1);
            let area: f64 = (0..ring.len()).map(|k| 0.5 * normal.dot(&(corner(k) - corner(0)).cross(&around(k)))).sum();
            let turned = (local - normal * normal.dot(&local)) / area;
            (0..ring.len()).for_each(|k| add(out, DIM * ring[k] as usize, around(k).cross(&turned).as_slice()));
        }
        _ => {}
    }
}

/// The transpose of [`face_point_tangent`].
#[inline]
pub(super) fn face_point_bar(shape: &Shape, core: &Core, face: u32, bar: V, out: &mut [f64]) {
    match shape {
        Shape::HalfSpace { .. } => {}
        Shape::Cuboid { .. } => add(out, (face as usize / 2) % DIM, &[0.5 * core.normal(face).dot(&bar)]),
        _ => vertex_bar(shape, core, core.face_vertex(face, 0), bar, out),
    }
}

/// The transpose of [`radius_tangent`].
#[inline]
pub(super) fn radius_bar(shape: &Shape, bar: f64, out: &mut [f64]) {
    match shape {
        Shape::Ball { .. } => add(out, 0, &[bar]),
        Shape::Capsule { .. } => add(out, 1, &[bar]),
        _ => {}
    }
}

/// Adds numbers from a place on; entries that are missing are left out.
#[inline(always)]
fn add(out: &mut [f64], first: usize, values: &[f64]) {
    out.iter_mut().skip(first).zip(values).for_each(|(out, value)| *out += value);
}

/// How half height and radii of a solid of revolution change with the sizes.
pub(super) struct RoundTangent {
    pub half: f64,
    pub radii: [f64; 2],
}

/// See [`RoundTangent`].
pub(super) fn round_tangent(shape: &Shape, sizes: Sizes) -> RoundTangent {
    let (half, radius) = (0.5 * sizes.get(0), sizes.get(1));
    match shape {
        Shape::Cylinder { .. } => RoundTangent { half, radii: [radius, radius] },
        Shape::Cone { .. } => RoundTangent { half, radii: [radius, 0.0] },
        _ => RoundTangent { half: 0.0, radii: [0.0, 0.0] },
    }
}

/// A feature of one shape, by the vertices it depends on.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Vertex(u32),
    Edge(u32),
    Face(u32),
    /// The nearest point, wherever it is.
    Whole,
}

impl Kind {
    /// The features of a and of b.
    pub(super) fn parts(self) -> (Part, Part) {
        let part = |curve: Curve| match curve {
            Curve::Vertex(v) => Part::Vertex(v),
            Curve::Edge(e) | Curve::EdgeCut(e, _) => Part::Edge(e),
            Curve::Face(f) | Curve::Wall(f, _) => Part::Face(f),
            _ => Part::Whole,
        };
        match self {
            Kind::PointPoint { a, b } => (Part::Vertex(a), Part::Vertex(b)),
            Kind::PointEdge { a, b } => (Part::Vertex(a), Part::Edge(b)),
            Kind::EdgePoint { a, b } => (Part::Edge(a), Part::Vertex(b)),
            Kind::PointFace { a, b } => (Part::Vertex(a), Part::Face(b)),
            Kind::FacePoint { a, b } => (Part::Face(a), Part::Vertex(b)),
            Kind::EdgeEdge { a, b, .. } => (Part::Edge(a), Part::Edge(b)),
            Kind::EdgeFace { a, b, .. } => (Part::Edge(a), Part::Face(b)),
            Kind::FaceEdge { a, b, .. } => (Part::Face(a), Part::Edge(b)),
            Kind::Round { a, b } => (part(a), part(b)),
        }
    }
}

/// Calls `visit` with every size that a feature depends on.
pub(super) fn used(shape: &Shape, part: Part, mut visit: impl FnMut(usize)) {
    match (shape, part) {
        (Shape::Convex(hull), Part::Vertex(_) | Part::Edge(_) | Part::Face(_)) => {
            let mut corner = |v: u32| (0..DIM).for_each(|k| visit(DIM * (v as usize).min(hull.vertices().len() - 1) + k));
            match part {
                Part::Edge(e) => hull.edges()[(e as usize).min(hull.edges().len() - 1)].iter().for_each(|v| corner(*v)),
                Part::Face(f) => hull.face((f as usize).min(hull.normals().len() - 1)).iter().for_each(|v| corner(*v)),
                Part::Vertex(v) => corner(v),
                Part::Whole => {}
            }
        }
        _ => (0..count(shape)).for_each(visit),
    }
}
