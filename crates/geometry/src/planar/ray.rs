//! Rays in the plane.

use super::Shape;
use crate::ray::{Interval, Ray, RayHit, nearer};
use nalgebra::Vector2;

type Lin = Vector2<f64>;

/// Where a ray first meets a shape, in the frame of the shape.
pub(super) fn cast(shape: &Shape, ray: &Ray<2>) -> Option<RayHit<Lin>> {
    match shape {
        Shape::Ball { radius } => ray.ball(Lin::zeros(), *radius)?.hit(ray),
        Shape::Cuboid { half } => ray.cuboid(*half)?.hit(ray),
        Shape::Capsule { half_length, radius } => {
            let end = Lin::new(*half_length, 0.0);
            let caps = [end, -end].map(|centre| ray.ball(centre, *radius).and_then(|part| part.hit(ray)));
            let middle = ray.cuboid(Lin::new(*half_length, *radius)).and_then(|part| part.hit(ray));
            nearer(nearer(caps[0], caps[1]), middle)
        }
        Shape::Convex(polygon) => {
            let faces = polygon.normals().iter().zip(polygon.vertices());
            let inside = faces.into_iter().try_fold(Interval::all(), |part, (n, p)| part.behind(*n, n.dot(p), ray))?;
            inside.hit(ray)
        }
        Shape::HalfSpace { normal } => Interval::all().behind(*normal, 0.0, ray)?.hit(ray),
        Shape::Segment { a, b } => wall(*a, *b, ray),
        Shape::Heightfield(field) => (0..field.heights().len() - 1).map(|k| wall(field.node(k), field.node(k + 1), ray)).fold(None, nearer),
    }
}

/// Where a ray crosses a straight wall without volume, from either side.
fn wall(a: Lin, b: Lin, ray: &Ray<2>) -> Option<RayHit<Lin>> {
    let (along, from) = (b - a, ray.origin - a);
    let cross = ray.direction.perp(&along);
    if cross == 0.0 {
        return None;
    }
    let (distance, place) = (along.perp(&from) / cross, ray.direction.perp(&from) / cross);
    let normal = Lin::new(-along.y, along.x).normalize();
    let normal = if normal.dot(&ray.direction) > 0.0 { -normal } else { normal };
    (distance >= 0.0 && (0.0..=1.0).contains(&place)).then_some(RayHit { distance, normal })
}
