//! The sizes of the planar shapes as numbers, in the order of the keys of a scene, theory (14.5).

use super::shape::{Lin, Shape};
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
