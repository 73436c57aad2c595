//! All that is to be seen at a moment: pieces of bodies, ties of joints, half-spaces.

use super::camera::Camera;
use super::solids::{Ball, Detail, Face, Piece, pieces, tube};
use crate::color::{mix, of_body};
use crate::draw::{Moment, Scenery};
use crate::links::{Link, links};
use carom_dynamics::BodyKind;
use carom_geometry::spatial::Shape;
use carom_math::{Pose, Spatial};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Half widths \[pixels\] of ties, sticks, trails and springs.
const ROPE: f64 = 0.8;
const STICK: f64 = 1.4;
const TRAIL: f64 = 0.9;
/// Radius \[pixels\] of a pin of a joint and of a body without a shape.
const PIN: f64 = 2.0;
const POINT: f64 = 3.0;
/// Sides of thin tubes.
const SIDES: usize = 6;
/// Bends of a spring and their radius \[pixels\].
const COILS: usize = 12;
const COIL: f64 = 4.0;

/// What is to be seen.
pub struct Stage {
    /// Pieces; the first `casting` have shadows.
    pub pieces: Vec<Piece>,
    /// Pieces that cast a shadow.
    pub casting: usize,
    /// A point and the outward normal of each half-space that looks at the camera.
    pub planes: Vec<(V, V)>,
}

impl Stage {
    /// Places everything; `pixel` is the camera's pixels in one of the picture.
    pub fn new(scenery: &Scenery<'_, Spatial>, moment: &Moment<'_, Spatial>, camera: &Camera, detail: Detail, pixel: f64) -> Stage {
        let mut stage = Stage { pieces: Vec::new(), casting: 0, planes: Vec::new() };
        // Metres of a picture's pixels at a point.
        let metres = |p: V, pixels: f64| pixels * pixel * (p - camera.eye).dot(&camera.forward).max(camera.near) / camera.focal;
        let line = |a: V, b: V, half: f64, color| tube(a, b, metres((a + b) * 0.5, half), color, SIDES);
        let dot = |at: V, pixels: f64, color| {
            Piece::Ball(Ball { pose: Pose { position: at, ..Pose::identity() }, radius: metres(at, pixels), color, marked: false })
        };
        for (index, (body, pose)) in scenery.model.bodies.iter().zip(moment.poses).enumerate() {
            let color = of_body(index, body, &scenery.ink);
            for collider in &body.colliders {
                let placed = pose.compose(&collider.local);
                match &collider.shape {
                    Shape::HalfSpace { normal } => {
                        let normal = placed.direction(*normal);
                        if normal.dot(&(camera.eye - placed.position)) > 0.0 {
                            stage.planes.push((placed.position, normal));
                        }
                    }
                    Shape::Segment { a, b } => stage.pieces.extend(line(placed.point(*a), placed.point(*b), STICK, color)),
                    shape => pieces(shape, &placed, color, detail, &mut stage.pieces),
                }
            }
            if body.colliders.is_empty() {
                stage.pieces.push(dot(pose.position, POINT, color));
            }
        }
        let mut marks = Vec::new();
        links(scenery.model, moment.poses, &mut marks);
        for mark in &marks {
            match mark {
                Link::Rope(a, b) => stage.pieces.extend(line(*a, *b, ROPE, scenery.ink.line)),
                Link::Stick(body, a, b) => {
                    stage.pieces.extend(line(*a, *b, STICK, of_body(*body, &scenery.model.bodies[*body], &scenery.ink)));
                }
                Link::Spring(a, b) => {
                    let points = coils(*a, *b, metres((a + b) * 0.5, COIL), camera);
                    stage.pieces.extend(points.windows(2).filter_map(|p| line(p[0], p[1], ROPE, scenery.ink.line)));
                }
                Link::Pin(at, _) => stage.pieces.push(dot(*at, PIN, scenery.ink.line)),
            }
        }
        stage.casting = stage.pieces.len();
        for (index, body) in scenery.model.bodies.iter().enumerate().filter(|(_, b)| b.kind != BodyKind::Static) {
            let color = of_body(index, body, &scenery.ink);
            for (k, pair) in moment.trail.windows(2).enumerate() {
                // Older pieces are nearer to the paper.
                let age = 1.0 - (k + 1) as f64 / moment.trail.len() as f64;
                stage.pieces.extend(line(pair[0][index], pair[1][index], TRAIL, mix(color, scenery.ink.paper, age)));
            }
        }
        stage
    }
}

/// A zigzag across the view between two points.
fn coils(a: V, b: V, aside: f64, camera: &Camera) -> Vec<V> {
    let side = (b - a).cross(&camera.forward).try_normalize(0.0).unwrap_or(camera.right) * aside;
    let mut points = vec![a];
    for k in 1..COILS {
        let sign = 1.0 - 2.0 * (k % 2) as f64;
        points.push(a + (b - a) * (k as f64 / COILS as f64) + side * sign);
    }
    points.push(b);
    points
}

/// All corners of a piece; a ball has its centre.
pub fn corners(piece: &Piece) -> Vec<V> {
    match piece {
        Piece::Ball(ball) => vec![ball.pose.position],
        Piece::Solid(faces) => faces.iter().flat_map(|f: &Face| f.points.iter().copied()).collect(),
        Piece::Sheet(face) => face.points.clone(),
    }
}
