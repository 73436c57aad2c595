//! Shapes as points, a radius and flat faces: what every picture of a shape is drawn from.

use carom_math::Space;

/// A shape in its own frame: the hull of its points grown by its radius, or the faces between them.
///
/// A cylinder has the two ends of its axis, a cone the centre of its base and its apex. A half-space has two points: one of its face, and
/// that plus the outward normal. The solid under a heightfield of the plane lies below the line through its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline<S: Space> {
    /// Points \[m\]; in the plane the corners of a polygon follow each other counter-clockwise.
    pub points: Vec<S::Lin>,
    /// Radius \[m\].
    pub radius: f64,
    /// Flat faces in space.
    pub faces: Faces,
}

impl<S: Space> Outline<S> {
    /// Points without radius and faces.
    pub(crate) fn sharp(points: Vec<S::Lin>) -> Self {
        Outline::round(points, 0.0)
    }
    /// Points with a radius \[m\].
    pub(crate) fn round(points: Vec<S::Lin>, radius: f64) -> Self {
        Outline { points, radius, faces: Faces::None }
    }
}

/// The flat faces of an outline by the numbers of their points, counter-clockwise seen from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Faces {
    /// The points and the radius tell all.
    None,
    /// Convex polygons that close around a solid.
    Solid(Vec<Vec<u32>>),
    /// Triangles of a surface.
    Surface(Vec<[u32; 3]>),
}

impl Faces {
    /// The faces as triangles, each convex polygon as a fan from its first corner.
    pub fn triangles(&self) -> Vec<[u32; 3]> {
        match self {
            Faces::None => Vec::new(),
            Faces::Solid(polygons) => polygons
                .iter()
                .filter_map(|polygon| polygon.split_first())
                .flat_map(|(first, rest)| rest.windows(2).map(|pair| [*first, pair[0], pair[1]]))
                .collect(),
            Faces::Surface(triangles) => triangles.clone(),
        }
    }
}
