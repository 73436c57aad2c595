//! Rays in space.

use super::Shape;
use super::mesh::Mesh;
use crate::ray::{Interval, Ray, RayHit, nearer, roots};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Where a ray first meets a shape, in the frame of the shape; a segment has no surface to meet.
pub(super) fn cast(shape: &Shape, ray: &Ray<3>) -> Option<RayHit<V>> {
    match shape {
        Shape::Ball { radius } => ray.ball(V::zeros(), *radius)?.hit(ray),
        Shape::Cuboid { half } => ray.cuboid(*half)?.hit(ray),
        Shape::Capsule { half_length, radius } => {
            let end = V::z() * *half_length;
            let caps = [end, -end].map(|centre| ray.ball(centre, *radius).and_then(|part| part.hit(ray)));
            nearer(nearer(caps[0], caps[1]), barrel(*half_length, [*radius, *radius], ray).and_then(|part| part.hit(ray)))
        }
        Shape::Convex(hull) => {
            let face = |f: usize| (hull.normals()[f], hull.vertices()[hull.face(f)[0] as usize]);
            let inside = (0..hull.normals().len()).map(face).try_fold(Interval::all(), |part, (n, p)| part.behind(n, n.dot(&p), ray))?;
            inside.hit(ray)
        }
        Shape::HalfSpace { normal } => Interval::all().behind(*normal, 0.0, ray)?.hit(ray),
        Shape::Segment { .. } => None,
        Shape::Cylinder { half_height, radius } => barrel(*half_height, [*radius, *radius], ray)?.hit(ray),
        Shape::Cone { half_height, radius } => barrel(*half_height, [*radius, 0.0], ray)?.hit(ray),
        Shape::Mesh(mesh) => surface(mesh, ray),
        Shape::Heightfield(field) => surface(field.mesh(), ray),
    }
}

/// The part of a line within a barrel along z: a radius at the bottom, one at the top, straight between. The set is convex, so what the line has of it
/// lies between two of the points where it crosses the ends and the mantle.
fn barrel(half: f64, [bottom, top]: [f64; 2], ray: &Ray<3>) -> Option<Interval<3>> {
    let slab = Interval::all().behind(V::z(), half, ray)?.behind(-V::z(), half, ray)?;
    // x^2 + y^2 <= r^2 with r = middle + slope z.
    let (middle, slope) = ((bottom + top) * 0.5, (top - bottom) / (2.0 * half));
    let radius = |z: f64| middle + slope * z;
    let (o, d) = (ray.origin, ray.direction);
    let a = d.x * d.x + d.y * d.y - slope * slope * d.z * d.z;
    let b = o.x * d.x + o.y * d.y - slope * d.z * radius(o.z);
    let c = o.x * o.x + o.y * o.y - radius(o.z) * radius(o.z);
    let crossings = if a > 0.0 {
        roots(a, b, c)?
    } else if a < 0.0 {
        // Outside of the mantle between the two, inside beyond them.
        roots(-a, -b, -c).unwrap_or([f64::NAN; 2])
    } else {
        [if b == 0.0 { f64::NAN } else { -0.5 * c / b }, f64::NAN]
    };
    let within = |t: f64| (a * t + 2.0 * b) * t + c <= 0.0;
    let mut cuts = [slab.enter, f64::NAN, f64::NAN, slab.exit];
    for (cut, t) in cuts[1..3].iter_mut().zip(crossings) {
        *cut = if t > slab.enter && t < slab.exit { t } else { f64::NAN };
    }
    let mut part: Option<Interval<3>> = None;
    let mut last = cuts[0];
    for next in cuts.into_iter().skip(1).filter(|t| !t.is_nan()) {
        let probe = match (last.is_finite(), next.is_finite()) {
            (true, true) => 0.5 * (last + next),
            (true, false) => last + 1.0 + last.abs(),
            (false, true) => next - 1.0 - next.abs(),
            (false, false) => 0.0,
        };
        if within(probe) {
            let p = ray.at(last);
            let mantle = V::new(p.x, p.y, -slope * radius(p.z)).try_normalize(f64::MIN_POSITIVE).unwrap_or_else(V::z);
            let normal = if last == slab.enter { slab.normal } else { mantle };
            part = Some(part.map_or(Interval { enter: last, exit: next, normal }, |part| Interval { exit: next, ..part }));
        }
        last = next;
    }
    part
}

/// Where a ray first crosses a triangle, from either side.
fn surface(mesh: &Mesh, ray: &Ray<3>) -> Option<RayHit<V>> {
    let bounds = mesh.bounds();
    let middle = (bounds.min + bounds.max) * 0.5;
    let moved = Ray { origin: ray.origin - middle, direction: ray.direction };
    moved.cuboid((bounds.max - bounds.min) * 0.5).filter(|part| part.exit >= 0.0)?;
    let mut best = None;
    for triangle in mesh.triangles() {
        let [a, b, c] = triangle.map(|i| mesh.vertices()[i as usize]);
        let (u, v) = (b - a, c - a);
        let normal = u.cross(&v);
        let facing = normal.dot(&ray.direction);
        if facing == 0.0 {
            continue;
        }
        let from = ray.origin - a;
        let distance = -normal.dot(&from) / facing;
        // Barycentric coordinates of the crossing, by the areas that it cuts off.
        let lever = from.cross(&ray.direction);
        let (p, q) = (-v.dot(&lever) / facing, u.dot(&lever) / facing);
        if distance >= 0.0 && p >= 0.0 && q >= 0.0 && p + q <= 1.0 {
            let normal = normal.normalize() * -facing.signum();
            best = nearer(best, Some(RayHit { distance, normal }));
        }
    }
    best
}
