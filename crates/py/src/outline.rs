//! Outlines of the shapes of bodies in plain numbers, for drawing.

use carom_dynamics::Collider;
use carom_geometry::{Faces, Geometry};
use carom_math::Vector;

/// A shape in the frame of its body.
pub struct Drawn {
    /// Number of the body.
    pub body: usize,
    /// The word of the scene file.
    pub kind: &'static str,
    /// Coordinates of the points of the outline, one after another [m].
    pub points: Vec<f64>,
    /// Radius [m].
    pub radius: f64,
    /// Corners of the triangles of a surface.
    pub faces: Vec<[u32; 3]>,
    /// 0xrrggbb.
    pub color: u32,
}

impl Drawn {
    /// The outline of a collider.
    pub fn of<G: Geometry>(body: usize, color: u32, collider: &Collider<G>) -> Self {
        let outline = G::outline(&collider.shape);
        let points = outline.points.into_iter().flat_map(|point| collider.local.point(point).as_slice().to_vec()).collect();
        let faces = if let Faces::Surface(triangles) = outline.faces { triangles } else { Vec::new() };
        Drawn { body, kind: G::shape_key(&collider.shape), points, radius: outline.radius, faces, color }
    }
}
