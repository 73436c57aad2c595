//! Shapes of the plane as slabs in space.

use crate::color::Rgb;
use crate::mesh::{Room, SIDES, square};
use crate::space::solids::{Face, side_color};
use carom_geometry::{Geometry, planar::Shape};
use carom_math::{Planar, Pose};
use nalgebra::{Vector2, Vector3};
use std::f64::consts::TAU;

type Lin = Vector2<f64>;

/// The faces of a placed shape, as thick as the room says.
pub fn faces(shape: &Shape, local: &Pose<Planar>, color: Rgb, room: &Room) -> Vec<Face> {
    let outline = Planar::outline(shape);
    let points: Vec<Lin> = outline.points.iter().map(|p| local.point(*p)).collect();
    let flat = |p: Lin| Vector3::new(p.x, p.y, 0.0);
    match (Planar::shape_key(shape), points.as_slice()) {
        ("half_space", [at, tip]) => square(flat(*at), flat(tip - at), color, room.ground).into_iter().collect(),
        // A wall along each piece of the line.
        ("heightfield", line) => line.windows(2).flat_map(|pair| slab(&contour(pair, room.thin), color, room.slab, None)).collect(),
        (_, [centre]) => slab(&contour(&points, outline.radius), color, room.slab, Some((*centre, local.direction(Lin::x())))),
        _ => {
            let thin = if points.len() == 2 && outline.radius == 0.0 { room.thin } else { outline.radius };
            slab(&contour(&points, thin), color, room.slab, None)
        }
    }
}

/// The edge of the hull of points, which follow each other counter-clockwise, grown by a radius.
fn contour(points: &[Lin], radius: f64) -> Vec<Lin> {
    let on = |centre: Lin, angle: f64| centre + Lin::new(angle.cos(), angle.sin()) * radius;
    let count = points.len();
    if let [centre] = points {
        return (0..SIDES).map(|k| on(*centre, k as f64 / SIDES as f64 * TAU)).collect();
    }
    let outward = |from: Lin, to: Lin| (from.x - to.x).atan2(to.y - from.y);
    let mut out = Vec::new();
    for k in 0..count {
        let (before, here, after) = (points[(k + count - 1) % count], points[k], points[(k + 1) % count]);
        if radius == 0.0 {
            out.push(here);
            continue;
        }
        let first = outward(before, here);
        let sweep = (outward(here, after) - first).rem_euclid(TAU);
        let steps = (sweep / TAU * SIDES as f64).ceil().max(1.0);
        out.extend((0..=steps as usize).map(|i| on(here, first + sweep * i as f64 / steps)));
    }
    out
}

/// A slab behind a convex edge; a disc, with its centre and a direction of its body, shows by a stripe how it turns.
fn slab(edge: &[Lin], color: Rgb, half: f64, disc: Option<(Lin, Lin)>) -> Vec<Face> {
    let at = |p: &Lin, z: f64| Vector3::new(p.x, p.y, z);
    let mut faces = Vec::new();
    let next = |k: usize| &edge[(k + 1) % edge.len()];
    for (k, p) in edge.iter().enumerate() {
        faces.push(Face::flat(vec![at(p, -half), at(next(k), -half), at(next(k), half), at(p, half)], color));
        if let Some((centre, ahead)) = disc {
            let middle = (p + next(k)) * 0.5 - centre;
            let shade = side_color(color, middle.y.atan2(middle.x) - ahead.y.atan2(ahead.x));
            faces.push(Face::flat(vec![at(&centre, half), at(p, half), at(next(k), half)], shade));
            faces.push(Face::flat(vec![at(&centre, -half), at(next(k), -half), at(p, -half)], shade));
        }
    }
    if disc.is_none() {
        faces.push(Face::flat(edge.iter().map(|p| at(p, half)).collect(), color));
        faces.push(Face::flat(edge.iter().rev().map(|p| at(p, -half)).collect(), color));
    }
    faces
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_math::Space;

    fn volume(faces: &[Face]) -> f64 {
        let pyramid = |f: &Face| (1..f.points.len() - 1).map(|k| f.points[0].dot(&f.points[k].cross(&f.points[k + 1])) / 6.0).sum::<f64>();
        faces.iter().map(pyramid).sum()
    }

    /// By the divergence theorem: faces that are missing or look inwards change it.
    #[test]
    fn slabs_are_closed_and_as_large_as_their_shapes() {
        let room = Room { slab: 0.25, ground: 1.0, thin: 0.01 };
        let pose = Pose { position: Lin::new(0.3, -0.7), rotation: Planar::read_rotation(&[0.4]).unwrap() };
        for (shape, area) in [
            (Shape::ball(0.5).unwrap(), 0.25 * 0.5 * TAU),
            (Shape::cuboid(1.0, 2.0).unwrap(), 2.0),
            (Shape::capsule(0.5, 0.2).unwrap(), 0.5 * 0.4 + 0.04 * 0.5 * TAU),
        ] {
            let found = volume(&faces(&shape, &pose, [0.5; 3], &room));
            assert!((found - 0.5 * area).abs() < 0.01 * area, "{shape:?}: {found}, not {}", 0.5 * area);
        }
    }
}
