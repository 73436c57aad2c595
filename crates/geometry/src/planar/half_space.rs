//! Contacts with a half-space: the corner that reaches deepest and its neighbour on the facing side.

use super::feature::Feature;
use super::manifold::{Manifold, Relative, Slack, facing, support};
use super::shape::{Lin, Rounded};

/// Features of a shape (as a) on a half-space (as b): one corner, two when a side lies along it.
#[inline]
pub(super) fn manifold(shape: &Rounded, relative: &Relative, normal: Lin) -> Manifold {
    let u = relative.unrotated(normal);
    let near = support(shape.vertices, u);
    let on = |i: usize| Feature::PointFace { a: i as u32, b: 0 };
    let far = (!shape.normals.is_empty()).then(|| facing(shape, u, near)).filter(|edge| edge.aligned).map(|edge| edge.far);
    let same = Slack::of(shape.size, f64::INFINITY).same;
    let second = far.filter(|&far| (shape.vertices[far] - shape.vertices[near]).norm() > same);
    Manifold { first: on(near), second: second.map(on) }
}

/// Signed distance \[m\] of a shape from a half-space.
#[inline]
pub(super) fn separation(shape: &Rounded, relative: &Relative, normal: Lin) -> f64 {
    let u = relative.unrotated(normal);
    u.dot(&shape.vertices[support(shape.vertices, u)]) + normal.dot(&relative.origin()) - shape.radius
}
