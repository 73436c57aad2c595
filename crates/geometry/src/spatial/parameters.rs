//! The sizes of the spatial shapes as numbers, in the order of the keys of a scene, theory (14.5).

use super::shape::Shape;
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
