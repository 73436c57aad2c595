//! Bodies as triangles in space, for programs that draw themselves. Bodies of the plane are slabs in the plane z = 0.

use crate::color::{Rgb, Theme, of_body};
use crate::draw::Draw;
use crate::error::RenderError;
use crate::film::Film;
use crate::space::solids::{Detail, Face, Piece, pieces, round, tube};
use carom_dynamics::{BodyKind, Model};
use carom_geometry::{Geometry, spatial};
use carom_math::{Pose, Spatial, Vector};
use nalgebra::Vector3;

/// Sides of what is round.
pub(crate) const SIDES: usize = 32;
/// Sides of a stick.
const STICK_SIDES: usize = 8;
/// Moments at which a run is looked at for its extent.
const SAMPLES: usize = 30;
/// Half the thickness of a slab as a part of the size of the smallest body that moves.
const SLAB: f64 = 0.5;
/// Half the side of a half-space in sizes of the scene.
const GROUND: f64 = 1.5;
/// Radius of sticks, of bodies without shapes and of lines, as a part of the size of the scene.
const THIN: f64 = 0.004;

/// How large things without a size of their own are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Half the thickness of a slab \[m\].
    pub slab: f64,
    /// Half the side of a half-space \[m\].
    pub ground: f64,
    /// Radius of a line \[m\].
    pub thin: f64,
}

/// The triangles of a body in its own frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Corners \[m\].
    pub points: Vec<[f32; 3]>,
    /// Normal at each corner, for light.
    pub normals: Vec<[f32; 3]>,
    /// Colour at each corner, 0 to 1, as screens take it.
    pub colors: Vec<Rgb>,
    /// Corners of each triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

impl Mesh {
    fn add(&mut self, face: &Face) {
        let first = self.points.len() as u32;
        let single = |v: &Vector3<f64>| [v.x as f32, v.y as f32, v.z as f32];
        self.points.extend(face.points.iter().map(single));
        self.normals.extend(face.normals.iter().map(single));
        self.colors.extend(face.points.iter().map(|_| face.color));
        self.triangles.extend((1..face.points.len().saturating_sub(1) as u32).map(|k| [first, first + k, first + k + 1]));
    }
    /// The colours as light adds up, which is how scene formats keep them.
    pub fn linear(&self) -> Vec<[f32; 3]> {
        // sRGB, IEC 61966-2-1.
        let light = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        self.colors.iter().map(|color| color.map(|c| light(c) as f32)).collect()
    }
    /// The corners of the box around it.
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        let pick = |start: f32, choose: fn(f32, f32) -> f32| {
            self.points.iter().fold([start; 3], |found, p| [0, 1, 2].map(|k| choose(found[k], p[k])))
        };
        if self.points.is_empty() { [[0.0; 3]; 2] } else { [pick(f32::INFINITY, f32::min), pick(f32::NEG_INFINITY, f32::max)] }
    }
}

/// How large things without a size of their own are in a run.
///
/// # Errors
/// The run cannot be read.
pub fn room<G: Draw>(film: &Film<'_, G>) -> Result<Room, RenderError> {
    let mut poses = Vec::new();
    let mut reach = 0.0f64;
    let extent = |body: usize| Some(film.model.bodies[body].extent()).filter(|e| e.is_finite() && *e > 0.0);
    for k in 0..SAMPLES {
        film.poses(film.start + film.duration() * k as f64 / (SAMPLES - 1) as f64, &mut poses)?;
        for (body, pose) in poses.iter().enumerate() {
            reach = reach.max(pose.position.norm() + extent(body).unwrap_or(0.0));
        }
    }
    let moving = |body: &usize| film.model.bodies[*body].kind == BodyKind::Dynamic;
    let least = (0..poses.len()).filter(moving).filter_map(extent).fold(f64::INFINITY, f64::min);
    let size = if reach > 0.0 { reach } else { 1.0 };
    Ok(Room { slab: SLAB * if least.is_finite() { least } else { THIN * size }, ground: GROUND * size, thin: THIN * size })
}

/// The meshes of all bodies, in order; empty for one that has nothing to show.
pub fn meshes<G: Draw>(model: &Model<G>, room: &Room, theme: Theme) -> Vec<Mesh> {
    let ink = theme.ink();
    let mut out: Vec<Mesh> = Vec::with_capacity(model.bodies.len());
    for (index, body) in model.bodies.iter().enumerate() {
        let mut mesh = Mesh::default();
        let color = of_body(index, body, &ink);
        for collider in &body.colliders {
            let fixed = if G::shape_key(&collider.shape) == "half_space" { ink.ground } else { color };
            G::faces(&collider.shape, &collider.local, fixed, room).iter().for_each(|face| mesh.add(face));
        }
        if body.colliders.is_empty() {
            round(room.thin * 2.0, color, SIDES).iter().for_each(|face| mesh.add(face));
        }
        out.push(mesh);
    }
    // A body without shapes is seen by the sticks to its joints.
    for joint in &model.joints {
        for (body, anchor) in joint.bodies.iter().zip(&joint.anchors) {
            if let Some(body) = body.filter(|b| model.bodies[*b].colliders.is_empty()) {
                let end = G::in_space(&Pose { position: *anchor, ..Pose::identity() }).position;
                let color = of_body(body, &model.bodies[body], &ink);
                if let Some(Piece::Solid(faces)) = tube(Vector3::zeros(), end, room.thin, color, STICK_SIDES) {
                    faces.iter().for_each(|face| out[body].add(face));
                }
            }
        }
    }
    out
}

/// The faces of a shape of space.
pub(crate) fn spatial_faces(shape: &spatial::Shape, local: &Pose<Spatial>, color: Rgb, room: &Room) -> Vec<Face> {
    if let (spatial::Shape::HalfSpace { .. }, [at, tip]) = (shape, Spatial::outline(shape).points.as_slice()) {
        let at = local.point(*at);
        return square(at, local.point(*tip) - at, color, room.ground).into_iter().collect();
    }
    let mut found = Vec::new();
    pieces(shape, local, color, Detail { sides: SIDES, balls: false }, &mut found);
    let mut faces = Vec::new();
    for piece in found {
        match piece {
            Piece::Ball(ball) => faces.extend(round(ball.radius, color, SIDES).into_iter().map(|face| face.placed(&ball.pose))),
            Piece::Solid(solid) => faces.extend(solid),
            Piece::Sheet(face) if face.points.len() == 2 => {
                if let Some(Piece::Solid(solid)) = tube(face.points[0], face.points[1], room.thin, color, STICK_SIDES) {
                    faces.extend(solid);
                }
            }
            Piece::Sheet(face) => faces.push(face),
        }
    }
    faces
}

/// A square of the face of a half-space, given by a point and its normal.
pub(crate) fn square(at: Vector3<f64>, normal: Vector3<f64>, color: Rgb, half: f64) -> Option<Face> {
    let up = normal.try_normalize(0.0)?;
    let across = if up.x.abs() < 0.5 { Vector3::x() } else { Vector3::y() }.cross(&up).try_normalize(0.0)?;
    let along = up.cross(&across);
    let corner = |i: f64, j: f64| at + (across * i + along * j) * half;
    Some(Face::flat(vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)], color))
}
