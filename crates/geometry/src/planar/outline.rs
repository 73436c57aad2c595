//! The planar shapes as points and a radius.

use super::shape::{Shape, Store};
use crate::outline::Outline;
use carom_math::Planar;
use nalgebra::Vector2;

/// The outline of a shape.
pub(super) fn outline(shape: &Shape) -> Outline<Planar> {
    if let Some(core) = shape.rounded(&mut Store::default()) {
        return Outline::round(core.vertices.to_vec(), core.radius);
    }
    Outline::sharp(match shape {
        Shape::HalfSpace { normal } => vec![Vector2::zeros(), *normal],
        Shape::Heightfield(field) => (0..field.heights().len()).map(|k| field.node(k)).collect(),
        _ => Vec::new(),
    })
}
