//! Shapes in space as balls and flat faces with normals.

use crate::color::{Rgb, mix, scaled};
use carom_geometry::spatial::Shape;
use carom_geometry::{Faces, Geometry, Outline};
use carom_math::{Pose, Spatial};
use nalgebra::Vector3;
use std::f64::consts::TAU;

type V = Vector3<f64>;

/// Part of the way to white of the stripes that show how round things turn.
const STRIPE: f64 = 0.62;
/// Half width of the stripe of a cylinder \[rad\].
const STRIPE_ANGLE: f64 = 0.22;
/// Factor of the colour of a second stripe, on the opposite side.
const SHADE: f64 = 0.72;

/// A flat convex face.
#[derive(Clone, Debug)]
pub struct Face {
    /// Corners in the world, counter-clockwise from outside.
    pub points: Vec<V>,
    /// Normal at each corner, for light.
    pub normals: Vec<V>,
    /// Colour.
    pub color: Rgb,
}

impl Face {
    /// A face lit evenly.
    pub fn flat(points: Vec<V>, color: Rgb) -> Face {
        let normal = normal(&points);
        Face { normals: vec![normal; points.len()], points, color }
    }
    /// The same elsewhere.
    pub fn placed(&self, pose: &Pose<Spatial>) -> Face {
        let points = self.points.iter().map(|p| pose.point(*p)).collect();
        Face { points, normals: self.normals.iter().map(|n| pose.direction(*n)).collect(), color: self.color }
    }
    /// Outward unit normal of the plane.
    pub fn normal(&self) -> V {
        normal(&self.points)
    }
}

/// Newell's normal: sound for any number of corners.
fn normal(points: &[V]) -> V {
    let sum = (0..points.len()).fold(V::zeros(), |sum, k| sum + points[k].cross(&points[(k + 1) % points.len()]));
    sum.try_normalize(0.0).unwrap_or_else(V::z)
}

/// A ball with a band about its z axis and spots on its x axis.
#[derive(Clone, Debug)]
pub struct Ball {
    /// Pose of its centre.
    pub pose: Pose<Spatial>,
    /// Radius \[m\].
    pub radius: f64,
    /// Colour.
    pub color: Rgb,
    /// Whether it shows band and spots.
    pub marked: bool,
}

/// Half height of the band and least coordinate of the spots, as parts of the radius.
const BAND: f64 = 0.17;
const SPOT: f64 = 0.93;

impl Ball {
    /// Colour at a point of the surface, given by its direction from the centre.
    pub fn color_at(&self, direction: V) -> Rgb {
        let local = self.pose.local_direction(direction);
        if self.marked && (local.z.abs() < BAND || local.x.abs() > SPOT) { mix(self.color, [1.0; 3], STRIPE) } else { self.color }
    }
}

/// A convex part of a body.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A ball.
    Ball(Ball),
    /// A solid behind flat faces.
    Solid(Vec<Face>),
    /// A face without a solid behind it, seen from both sides.
    Sheet(Face),
}

/// How finely round shapes are cut.
#[derive(Clone, Copy, Debug)]
pub struct Detail {
    /// Sides of a cylinder.
    pub sides: usize,
    /// Whether the caps of a capsule are balls of their own, or facets of one solid.
    pub balls: bool,
}

/// Adds the pieces of a placed shape; half-spaces are the caller's.
pub fn pieces(shape: &Shape, pose: &Pose<Spatial>, color: Rgb, detail: Detail, out: &mut Vec<Piece>) {
    let at = |x: f64, y: f64, z: f64| pose.point(V::new(x, y, z));
    match shape {
        Shape::HalfSpace { .. } => {}
        Shape::Ball { radius } => out.push(Piece::Ball(Ball { pose: *pose, radius: *radius, color, marked: true })),
        Shape::Cuboid { .. } | Shape::Convex(_) | Shape::Mesh(_) | Shape::Heightfield(_) => {
            flat(&Spatial::outline(shape), pose, color, out);
        }
        Shape::Capsule { half_length, radius } if detail.balls => {
            out.push(Piece::Solid(wall(pose, *half_length, [*radius; 2], color, detail.sides)));
            for z in [-half_length, *half_length] {
                let end = Pose { position: at(0.0, 0.0, z), ..*pose };
                out.push(Piece::Ball(Ball { pose: end, radius: *radius, color, marked: false }));
            }
        }
        Shape::Capsule { half_length, radius } => out.push(Piece::Solid(capsule(pose, *half_length, *radius, color, detail.sides))),
        Shape::Cylinder { half_height, radius } => {
            let mut faces = wall(pose, *half_height, [*radius; 2], color, detail.sides);
            faces.extend([1.0, -1.0].map(|end| cap(pose, end * half_height, *radius, end, color, detail.sides)));
            out.push(Piece::Solid(faces));
        }
        Shape::Cone { half_height, radius } => {
            let mut faces = wall(pose, *half_height, [*radius, 0.0], color, detail.sides);
            faces.push(cap(pose, -half_height, *radius, -1.0, color, detail.sides));
            out.push(Piece::Solid(faces));
        }
        Shape::Segment { a, b } => {
            out.push(Piece::Sheet(Face { points: vec![pose.point(*a), pose.point(*b)], normals: vec![V::z(); 2], color }));
        }
    }
}

/// The faces of an outline.
fn flat(outline: &Outline<Spatial>, pose: &Pose<Spatial>, color: Rgb, out: &mut Vec<Piece>) {
    let points: Vec<V> = outline.points.iter().map(|p| pose.point(*p)).collect();
    let face = |corners: &[u32]| Face::flat(corners.iter().map(|k| points[*k as usize]).collect(), color);
    match &outline.faces {
        Faces::None => {}
        Faces::Solid(polygons) => out.push(Piece::Solid(polygons.iter().map(|corners| face(corners)).collect())),
        Faces::Surface(triangles) => out.extend(triangles.iter().map(|corners| Piece::Sheet(face(corners)))),
    }
}

/// Colour of a side in a direction \[rad\]: a light stripe on one side, a dark one opposite.
pub fn side_color(color: Rgb, angle: f64) -> Rgb {
    let from = |middle: f64| ((angle - middle + 0.5 * TAU).rem_euclid(TAU) - 0.5 * TAU).abs();
    if from(0.0) < STRIPE_ANGLE {
        mix(color, [1.0; 3], STRIPE)
    } else if from(0.5 * TAU) < STRIPE_ANGLE {
        scaled(color, SHADE)
    } else {
        color
    }
}

/// The side of a cylinder or cone about z: radius below and above.
fn wall(pose: &Pose<Spatial>, half: f64, [below, above]: [f64; 2], color: Rgb, sides: usize) -> Vec<Face> {
    let rise = (below - above) / (2.0 * half).max(f64::MIN_POSITIVE);
    (0..sides)
        .map(|k| {
            let [a, b] = [k, k + 1].map(|k| k as f64 / sides as f64 * TAU);
            let at = |angle: f64, r: f64, z: f64| pose.point(V::new(r * angle.cos(), r * angle.sin(), z));
            let out = |angle: f64| pose.direction(V::new(angle.cos(), angle.sin(), rise).normalize());
            let mut points = vec![at(a, below, -half), at(b, below, -half), at(b, above, half)];
            let mut normals = vec![out(a), out(b), out(b)];
            if above > 0.0 {
                points.push(at(a, above, half));
                normals.push(out(a));
            }
            Face { points, normals, color: side_color(color, 0.5 * (a + b)) }
        })
        .collect()
}

fn cap(pose: &Pose<Spatial>, z: f64, radius: f64, end: f64, color: Rgb, sides: usize) -> Face {
    let mut points: Vec<V> = (0..sides)
        .map(|k| {
            let angle = k as f64 / sides as f64 * TAU;
            pose.point(V::new(radius * angle.cos(), radius * angle.sin(), z))
        })
        .collect();
    if end < 0.0 {
        points.reverse();
    }
    Face::flat(points, color)
}

/// A ball as faces, striped like a cylinder.
pub fn round(radius: f64, color: Rgb, sides: usize) -> Vec<Face> {
    domes(&Pose::identity(), 0.0, radius, color, sides)
}

/// A capsule as one solid.
fn capsule(pose: &Pose<Spatial>, half: f64, radius: f64, color: Rgb, sides: usize) -> Vec<Face> {
    let mut faces = wall(pose, half, [radius; 2], color, sides);
    faces.extend(domes(pose, half, radius, color, sides));
    faces
}

/// The two ends of a capsule.
fn domes(pose: &Pose<Spatial>, half: f64, radius: f64, color: Rgb, sides: usize) -> Vec<Face> {
    let mut faces = Vec::new();
    let rings = (sides / 4).max(2);
    for end in [-1.0, 1.0] {
        for ring in 0..rings {
            let [low, high] = [ring, ring + 1].map(|k| k as f64 / rings as f64 * 0.25 * TAU);
            for k in 0..sides {
                let [a, b] = [k, k + 1].map(|k| k as f64 / sides as f64 * TAU);
                let out = |angle: f64, lift: f64| V::new(lift.cos() * angle.cos(), lift.cos() * angle.sin(), end * lift.sin());
                let mut directions = vec![out(a, low), out(b, low), out(b, high)];
                if ring + 1 < rings {
                    directions.push(out(a, high));
                }
                if end < 0.0 {
                    directions.reverse();
                }
                faces.push(Face {
                    points: directions.iter().map(|d| pose.point(d * radius + V::new(0.0, 0.0, end * half))).collect(),
                    normals: directions.iter().map(|d| pose.direction(*d)).collect(),
                    color: side_color(color, 0.5 * (a + b)),
                });
            }
        }
    }
    faces
}

/// A straight tube of a few sides between two points.
pub fn tube(a: V, b: V, radius: f64, color: Rgb, sides: usize) -> Option<Piece> {
    let axis = (b - a).try_normalize(0.0)?;
    let across = if axis.x.abs() < 0.5 { axis.cross(&V::x()) } else { axis.cross(&V::y()) }.try_normalize(0.0)?;
    let side = axis.cross(&across);
    let out = |k: usize| {
        let (s, c) = (k as f64 / sides as f64 * TAU).sin_cos();
        across * c + side * s
    };
    let faces = (0..sides).map(|k| {
        let (n, m) = (out(k), out(k + 1));
        Face { points: vec![a + n * radius, a + m * radius, b + m * radius, b + n * radius], normals: vec![n, m, m, n], color }
    });
    Some(Piece::Solid(faces.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Volume behind faces, by the divergence theorem: positive where all look outwards.
    fn volume(faces: &[Face]) -> f64 {
        let pyramid = |f: &Face| (1..f.points.len() - 1).map(|k| f.points[0].dot(&f.points[k].cross(&f.points[k + 1])) / 6.0).sum::<f64>();
        faces.iter().map(pyramid).sum()
    }

    #[test]
    fn faces_close_and_look_outwards() {
        let pose = Pose { position: V::new(1.0, -2.0, 0.5), rotation: nalgebra::UnitQuaternion::from_euler_angles(0.3, 0.7, -1.1) };
        let detail = Detail { sides: 96, balls: false };
        let hull = Spatial::outline(&Shape::cuboid(V::repeat(1.0)).unwrap()).points;
        for (shape, expected) in [
            (Shape::cuboid(V::new(1.0, 2.0, 0.5)).unwrap(), 8.0),
            (Shape::convex(&hull).unwrap(), 8.0),
            (Shape::cylinder(1.5, 0.5).unwrap(), 0.75 * 0.5 * TAU),
            (Shape::cone(1.5, 0.5).unwrap(), 0.25 * 0.5 * TAU),
            (Shape::capsule(1.0, 0.5).unwrap(), 0.5 * 0.5 * TAU + 0.5f64.powi(3) * TAU * 2.0 / 3.0),
        ] {
            let mut out = Vec::new();
            pieces(&shape, &pose, [0.5; 3], detail, &mut out);
            let [Piece::Solid(faces)] = &out[..] else { panic!("one solid") };
            let found = volume(faces);
            assert!((found - expected).abs() < 0.01 * expected, "{shape:?}: {found}, not {expected}");
            for face in faces {
                assert!(face.normals.iter().all(|n| n.dot(&face.normal()) > 0.8), "{shape:?}");
            }
        }
    }
}
