//! The sizes of the planar shapes as numbers, in the order of the keys of a scene, and what moves with them, theory (14.5)-(14.6).

use super::shape::{Lin, Shape};
use crate::contact_tangent::Sizes;
use crate::shape_error::ShapeError;
use nalgebra::Vector2;

/// The key of a shape in a scene.
pub(super) fn key(shape: &Shape) -> &'static str {
    match shape {
        Shape::Ball { .. } => "ball",
        Shape::Cuboid { .. } => "box",
        Shape::Capsule { .. } => "capsule",
        Shape::Convex(_) => "convex",
        Shape::HalfSpace { .. } => "half_space",
        Shape::Segment { .. } => "segment",
        Shape::Heightfield(_) => "heightfield",
    }
}

/// How many sizes a shape has.
pub(super) fn count(shape: &Shape) -> usize {
    match shape {
        Shape::Ball { .. } => 1,
        Shape::Cuboid { .. } | Shape::Capsule { .. } | Shape::HalfSpace { .. } => 2,
        Shape::Segment { .. } => 2 * 2,
        Shape::Convex(polygon) => 2 * polygon.vertices().len(),
        Shape::Heightfield(_) => 0,
    }
}

/// The sizes of a shape.
pub(super) fn parameters(shape: &Shape) -> Vec<f64> {
    match shape {
        Shape::Ball { radius } => vec![*radius],
        Shape::Cuboid { half } => vec![2.0 * half.x, 2.0 * half.y],
        Shape::Capsule { half_length, radius } => vec![2.0 * half_length, *radius],
        Shape::Convex(polygon) => polygon.vertices().iter().flat_map(|v| [v.x, v.y]).collect(),
        Shape::HalfSpace { normal } => vec![normal.x, normal.y],
        Shape::Segment { a, b } => vec![a.x, a.y, b.x, b.y],
        Shape::Heightfield(_) => Vec::new(),
    }
}

/// The shape with other sizes.
pub(super) fn with_parameters(shape: &Shape, p: &[f64]) -> Result<Shape, ShapeError> {
    let needed = count(shape);
    if p.len() != needed {
        return Err(ShapeError::WrongCount { what: "sizes of a shape", found: p.len(), needed });
    }
    let point = |k: usize| Vector2::new(p[2 * k], p[2 * k + 1]);
    match shape {
        Shape::Ball { .. } => Shape::ball(p[0]),
        Shape::Cuboid { .. } => Shape::cuboid(p[0], p[1]),
        Shape::Capsule { .. } => Shape::capsule(p[0], p[1]),
        Shape::Convex(polygon) => {
            let vertices: Vec<Lin> = (0..polygon.vertices().len()).map(point).collect();
            Ok(Shape::Convex(polygon.with_vertices(&vertices)?))
        }
        Shape::HalfSpace { .. } => Shape::half_space(point(0)),
        Shape::Segment { .. } => Shape::segment(point(0), point(1)),
        Shape::Heightfield(_) => Ok(shape.clone()),
    }
}

/// How a corner moves in its frame with the sizes.
#[inline(always)]
pub(super) fn vertex_tangent(shape: &Shape, index: u32, sizes: Sizes) -> Lin {
    let point = |k: usize| Vector2::new(sizes.get(2 * k), sizes.get(2 * k + 1));
    match (sizes, shape) {
        (Sizes::Held, _) => Vector2::zeros(),
        // The corner is linear in the half extents.
        (_, Shape::Cuboid { .. }) => Shape::Cuboid { half: point(0) * 0.5 }.vertex(index),
        (_, Shape::Capsule { .. }) => Shape::Capsule { half_length: 0.5 * sizes.get(0), radius: 0.0 }.vertex(index),
        (_, Shape::Convex(polygon)) if (index as usize) < polygon.vertices().len() => point(index as usize),
        (_, Shape::Segment { .. }) => point(index.min(1) as usize),
        _ => Vector2::zeros(),
    }
}

/// How the start, the end and the normal of a face move in their frame with the sizes.
#[inline(always)]
pub(super) fn face_tangent(shape: &Shape, index: u32, sizes: Sizes) -> (Lin, Lin, Lin) {
    let zero = Vector2::zeros();
    match (sizes, shape) {
        (Sizes::Held, _) => (zero, zero, zero),
        (_, Shape::Cuboid { .. } | Shape::Capsule { .. } | Shape::Convex(_) | Shape::Segment { .. }) => {
            let [i, j] = shape.face_ends(index);
            let (start, stop, normal) = shape.face(index);
            let (d_start, d_stop) = (vertex_tangent(shape, i, sizes), vertex_tangent(shape, j, sizes));
            let (edge, along) = (d_stop - d_start, stop - start);
            // The unit normal turns as the edge does; a side of a box or capsule does not turn.
            (d_start, d_stop, -along * (normal.dot(&edge) / along.norm_squared()))
        }
        (_, Shape::HalfSpace { normal }) => {
            let turned = Vector2::new(sizes.get(0), sizes.get(1));
            (zero, zero, turned - normal * normal.dot(&turned))
        }
        _ => (zero, zero, zero),
    }
}

/// How the radius changes with the sizes.
#[inline(always)]
pub(super) fn radius_tangent(shape: &Shape, sizes: Sizes) -> f64 {
    match shape {
        Shape::Ball { .. } => sizes.get(0),
        Shape::Capsule { .. } => sizes.get(1),
        _ => 0.0,
    }
}

/// Calls `visit` with every size that a corner (or a face, where `face` is set) depends on.
pub(super) fn used(shape: &Shape, index: u32, face: bool, mut visit: impl FnMut(usize)) {
    match shape {
        Shape::Convex(_) => {
            let ends = if face { shape.face_ends(index) } else { [index, index] };
            for vertex in &ends[..if face { 2 } else { 1 }] {
                visit(2 * *vertex as usize);
                visit(2 * *vertex as usize + 1);
            }
        }
        _ => (0..count(shape)).for_each(visit),
    }
}
