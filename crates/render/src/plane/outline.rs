//! Corners of the shapes that have them.

use carom_geometry::planar::Shape;
use nalgebra::Vector2;

/// Corners of a shape in its own frame, counter-clockwise; none for shapes without.
pub fn outline(shape: &Shape) -> Vec<Vector2<f64>> {
    match shape {
        Shape::Cuboid { half } => {
            [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| Vector2::new(x * half.x, y * half.y)).to_vec()
        }
        Shape::Convex(polygon) => polygon.vertices().to_vec(),
        _ => Vec::new(),
    }
}
