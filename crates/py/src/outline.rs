//! Shapes as points and a radius, for drawing: every solid is the hull of its points grown by its radius, but for the few named ones.

use carom_geometry::{Geometry, planar, spatial};
use carom_math::{Planar, Pose, Spatial, Vector};
use nalgebra::{Vector2, Vector3};

/// Corners of a box.
const CORNERS: usize = 8;

/// A shape in the frame of its body.
pub struct Outline {
    /// Number of the body.
    pub body: usize,
    /// The word of the scene file.
    pub kind: &'static str,
    /// Coordinates of the points, one after another [m]. A half-space has two: a point of its face, and that plus the outward normal; a
    /// cylinder the ends of its axis; a cone the centre of its base and its apex.
    pub points: Vec<f64>,
    /// Radius [m].
    pub radius: f64,
    /// Corners of the triangles of a mesh.
    pub faces: Vec<[u32; 3]>,
    /// 0xrrggbb.
    pub color: u32,
}

/// Kind, points, radius and faces of a shape in its own frame.
pub type Parts<V> = (&'static str, Vec<V>, f64, Vec<[u32; 3]>);

/// A space whose shapes can be drawn.
pub trait Outlined: Geometry {
    /// The parts of a shape in its own frame.
    fn parts(shape: &Self::Shape) -> Parts<Self::Lin>;
}

impl Outlined for Planar {
    fn parts(shape: &planar::Shape) -> Parts<Vector2<f64>> {
        use planar::Shape;
        let solid = |kind, points| (kind, points, 0.0, Vec::new());
        match shape {
            Shape::Ball { radius } => ("ball", vec![Vector2::zeros()], *radius, Vec::new()),
            Shape::Cuboid { half } => {
                let corner = |x: f64, y: f64| Vector2::new(x * half.x, y * half.y);
                solid("box", vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)])
            }
            Shape::Capsule { half_length, radius } => {
                ("capsule", vec![Vector2::new(-half_length, 0.0), Vector2::new(*half_length, 0.0)], *radius, Vec::new())
            }
            Shape::Convex(polygon) => solid("convex", polygon.vertices().to_vec()),
            Shape::HalfSpace { normal } => solid("half_space", vec![Vector2::zeros(), *normal]),
            Shape::Segment { a, b } => solid("segment", vec![*a, *b]),
            Shape::Heightfield(field) => {
                let middle = 0.5 * (field.heights().len() as f64 - 1.0);
                let nodes = field.heights().iter().enumerate();
                solid("heightfield", nodes.map(|(k, height)| Vector2::new((k as f64 - middle) * field.spacing(), *height)).collect())
            }
        }
    }
}

impl Outlined for Spatial {
    fn parts(shape: &spatial::Shape) -> Parts<Vector3<f64>> {
        use spatial::Shape;
        let axis = |half: f64| vec![Vector3::new(0.0, 0.0, -half), Vector3::new(0.0, 0.0, half)];
        let solid = |kind, points| (kind, points, 0.0, Vec::new());
        let surface = |kind, mesh: &spatial::Mesh| (kind, mesh.vertices().to_vec(), 0.0, mesh.triangles().to_vec());
        match shape {
            Shape::Ball { radius } => ("ball", vec![Vector3::zeros()], *radius, Vec::new()),
            Shape::Cuboid { half } => {
                // The bits of a corner's number choose its sides.
                let side = |corner: usize, axis: usize| if corner >> axis & 1 == 1 { half[axis] } else { -half[axis] };
                let corners = (0..CORNERS).map(|i| Vector3::new(side(i, 0), side(i, 1), side(i, 2)));
                solid("box", corners.collect())
            }
            Shape::Capsule { half_length, radius } => ("capsule", axis(*half_length), *radius, Vec::new()),
            Shape::Convex(hull) => solid("convex", hull.vertices().to_vec()),
            Shape::HalfSpace { normal } => solid("half_space", vec![Vector3::zeros(), *normal]),
            Shape::Segment { a, b } => solid("segment", vec![*a, *b]),
            Shape::Cylinder { half_height, radius } => ("cylinder", axis(*half_height), *radius, Vec::new()),
            Shape::Cone { half_height, radius } => ("cone", axis(*half_height), *radius, Vec::new()),
            Shape::Mesh(mesh) => surface("mesh", mesh),
            Shape::Heightfield(field) => surface("heightfield", field.mesh()),
        }
    }
}

/// A shape placed in its body.
pub fn outline<G: Outlined>(body: usize, color: u32, shape: &G::Shape, local: &Pose<G>) -> Outline {
    let (kind, points, radius, faces) = G::parts(shape);
    let points = points.into_iter().flat_map(|point| local.point(point).as_slice().to_vec()).collect();
    Outline { body, kind, points, radius, faces, color }
}
