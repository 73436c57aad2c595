//! Mass, box and extents of the planar shapes.

use super::hull::extent as box_extent;
use super::shape::{Lin, Pose, Shape, Store};
use crate::bounds::Aabb;
use crate::mass::MassProperties;
use carom_math::Planar;
use nalgebra::{Matrix1, Vector2};
use std::f64::consts::PI;

/// Triangles: centroid at a third of the corners' sum, second moment at a sixth of the products' sum.
const THIRD: f64 = 1.0 / 3.0;
const SIXTH: f64 = 1.0 / 6.0;

/// Area, centroid and inertia at unit density, theory (7.4).
pub(super) fn mass_properties(shape: &Shape) -> Option<MassProperties<Planar>> {
    let solid = |mass: f64, centre: Lin, moment: f64| Some(MassProperties { mass, centre, inertia: Matrix1::new(moment) });
    match shape {
        Shape::Ball { radius } => {
            let mass = PI * radius * radius;
            solid(mass, Vector2::zeros(), 0.5 * mass * radius * radius)
        }
        Shape::Cuboid { half } => {
            let sides = half * 2.0;
            let mass = sides.x * sides.y;
            solid(mass, Vector2::zeros(), THIRD * mass * half.norm_squared())
        }
        Shape::Capsule { half_length, radius } => {
            // A rectangle and two half discs; the centroid of a half disc lies 4r/(3 pi) from its centre.
            let (bar, caps) = (2.0 * half_length * 2.0 * radius, PI * radius * radius);
            let offset = 2.0 * 2.0 * THIRD * radius / PI;
            let moment = THIRD * bar * (half_length * half_length + radius * radius)
                + caps * (0.5 * radius * radius + half_length * half_length + 2.0 * half_length * offset);
            solid(bar + caps, Vector2::zeros(), moment)
        }
        Shape::Convex(polygon) => {
            // A fan of triangles about the first corner, which keeps the numbers of the size of the shape wherever its frame is.
            let corner = polygon.vertices()[0];
            let (mut area, mut first, mut second) = (0.0, Vector2::zeros(), 0.0);
            for pair in polygon.vertices()[1..].windows(2) {
                let (a, b) = (pair[0] - corner, pair[1] - corner);
                let part = 0.5 * a.perp(&b);
                area += part;
                first += (a + b) * (THIRD * part);
                second += SIXTH * part * (a.dot(&a) + a.dot(&b) + b.dot(&b));
            }
            let centre = first / area;
            solid(area, corner + centre, second - area * centre.norm_squared())
        }
        Shape::HalfSpace { .. } | Shape::Segment { .. } | Shape::Heightfield(_) => None,
    }
}

/// Axis-aligned box in the world.
pub(super) fn bounds(shape: &Shape, pose: &Pose) -> Aabb<Planar> {
    let turn = pose.rotation;
    let about = |reach: Lin| Aabb { min: pose.position - reach, max: pose.position + reach };
    match shape {
        Shape::Ball { radius } => about(Vector2::repeat(*radius)),
        Shape::Cuboid { half } => {
            let (c, s) = (turn.cos.abs(), turn.sin.abs());
            about(Vector2::new(c * half.x + s * half.y, s * half.x + c * half.y))
        }
        Shape::Capsule { half_length, radius } => {
            about(Vector2::new(turn.cos.abs() * half_length + radius, turn.sin.abs() * half_length + radius))
        }
        Shape::Convex(polygon) => around(polygon.vertices().iter().copied(), pose),
        Shape::Segment { a, b } => around([*a, *b].into_iter(), pose),
        Shape::Heightfield(field) => around((0..field.heights().len()).map(|k| field.node(k)), pose),
        // Level ground and upright walls end at their face; any other line crosses every box.
        Shape::HalfSpace { normal } => {
            let n = pose.direction(*normal);
            let mut all = Aabb::<Planar>::everything();
            for k in 0..2 {
                if n[1 - k] == 0.0 {
                    if n[k] > 0.0 { all.max[k] = pose.position[k] } else { all.min[k] = pose.position[k] }
                }
            }
            all
        }
    }
}

fn around(points: impl Iterator<Item = Lin>, pose: &Pose) -> Aabb<Planar> {
    let empty = Aabb { min: Vector2::repeat(f64::INFINITY), max: Vector2::repeat(f64::NEG_INFINITY) };
    points.fold(empty, |grown, x| grown.union(&Aabb::of_point(pose.point(x))))
}

/// Largest extent \[m\].
pub(super) fn extent(shape: &Shape) -> f64 {
    match shape {
        Shape::Ball { radius } => 2.0 * radius,
        Shape::Cuboid { half } => 2.0 * half.x.max(half.y),
        Shape::Capsule { half_length, radius } => 2.0 * (half_length + radius),
        Shape::Convex(polygon) => polygon.extent(),
        Shape::Segment { a, b } => (b - a).norm(),
        Shape::Heightfield(field) => box_extent(&[field.node(0), field.node(field.heights().len())]).max(spread(field.heights())),
        Shape::HalfSpace { .. } => f64::INFINITY,
    }
}

fn spread(values: &[f64]) -> f64 {
    let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    high - low
}

/// Largest distance \[m\] from a point of the shape's frame; the solid under a heightfield counts by its polyline.
pub(super) fn reach(shape: &Shape, about: Lin) -> f64 {
    let farthest = |points: &mut dyn Iterator<Item = Lin>| points.fold(0.0_f64, |far, x| far.max((x - about).norm()));
    match shape {
        Shape::HalfSpace { .. } => f64::INFINITY,
        Shape::Heightfield(field) => farthest(&mut (0..field.heights().len()).map(|k| field.node(k))),
        _ => {
            let mut store = Store::default();
            shape.rounded(&mut store).map_or(f64::INFINITY, |core| farthest(&mut core.vertices.iter().copied()) + core.radius)
        }
    }
}
