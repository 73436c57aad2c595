//! The shapes of the plane and their corners and faces by number.

use super::heightfield::Heightfield;
use super::hull::Polygon;
use crate::shape_error::ShapeError;
use carom_math::Planar;
use nalgebra::Vector2;

/// A point or direction of the plane.
pub(super) type Lin = Vector2<f64>;
/// A pose in the plane.
pub(super) type Pose = carom_math::Pose<Planar>;

/// A solid of the plane in its own frame \[m\].
///
/// Make shapes with the checked constructors ([`Shape::ball`] and so on); the fields are open for reading.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A disc about the origin.
    Ball {
        /// Radius \[m\].
        radius: f64,
    },
    /// A rectangle about the origin, sides along the axes.
    Cuboid {
        /// Half of the width and half of the height \[m\].
        half: Vector2<f64>,
    },
    /// All points within a radius of a segment along x about the origin.
    Capsule {
        /// Half the distance \[m\] between the cap centres.
        half_length: f64,
        /// Radius \[m\].
        radius: f64,
    },
    /// A convex polygon.
    Convex(Polygon),
    /// Everything behind a line through the origin.
    HalfSpace {
        /// Outward unit normal.
        normal: Vector2<f64>,
    },
    /// A straight wall without volume, solid from both sides.
    Segment {
        /// One end \[m\].
        a: Vector2<f64>,
        /// The other end \[m\].
        b: Vector2<f64>,
    },
    /// Ground under a polyline.
    Heightfield(Heightfield),
}

impl Shape {
    /// A disc of a radius \[m\].
    ///
    /// # Errors
    /// A radius that is not positive and finite.
    pub fn ball(radius: f64) -> Result<Self, ShapeError> {
        Ok(Shape::Ball { radius: positive("radius", radius)? })
    }
    /// A rectangle of full extents \[m\].
    ///
    /// # Errors
    /// An extent that is not positive and finite.
    pub fn cuboid(width: f64, height: f64) -> Result<Self, ShapeError> {
        Ok(Shape::Cuboid { half: Vector2::new(0.5 * positive("width", width)?, 0.5 * positive("height", height)?) })
    }
    /// A capsule along x; `length` \[m\] between the cap centres.
    ///
    /// # Errors
    /// A length or radius that is not positive and finite.
    pub fn capsule(length: f64, radius: f64) -> Result<Self, ShapeError> {
        Ok(Shape::Capsule { half_length: 0.5 * positive("length", length)?, radius: positive("radius", radius)? })
    }
    /// The convex hull of points \[m\].
    ///
    /// # Errors
    /// See [`Polygon::hull`].
    pub fn convex(points: &[Vector2<f64>]) -> Result<Self, ShapeError> {
        Ok(Shape::Convex(Polygon::hull(points)?))
    }
    /// Everything behind the line through the origin with an outward normal of any length.
    ///
    /// # Errors
    /// A normal that vanishes or is not finite.
    pub fn half_space(normal: Vector2<f64>) -> Result<Self, ShapeError> {
        let length = normal.norm();
        if !length.is_finite() {
            Err(ShapeError::NotFinite { what: "normal" })
        } else if length <= 0.0 {
            Err(ShapeError::Degenerate { what: "normal" })
        } else {
            Ok(Shape::HalfSpace { normal: normal / length })
        }
    }
    /// A wall from a to b \[m\].
    ///
    /// # Errors
    /// Ends that coincide or are not finite.
    pub fn segment(a: Vector2<f64>, b: Vector2<f64>) -> Result<Self, ShapeError> {
        let length = (b - a).norm();
        if !(length.is_finite() && a.norm().is_finite()) {
            Err(ShapeError::NotFinite { what: "end of a segment" })
        } else if length <= 0.0 {
            Err(ShapeError::Degenerate { what: "segment" })
        } else {
            Ok(Shape::Segment { a, b })
        }
    }
    /// Ground under the polyline through `heights` \[m\], `spacing` \[m\] apart along x, centred on the origin.
    ///
    /// # Errors
    /// See [`Heightfield::new`].
    pub fn heightfield(heights: &[f64], spacing: f64) -> Result<Self, ShapeError> {
        Ok(Shape::Heightfield(Heightfield::new(heights, spacing)?))
    }

    /// Rounding \[m\] of the shape about its corners and faces.
    #[inline(always)]
    pub(super) fn radius(&self) -> f64 {
        match self {
            Shape::Ball { radius } | Shape::Capsule { radius, .. } => *radius,
            _ => 0.0,
        }
    }
    /// Corner by number; the origin where there is none (a feature of another shape).
    #[inline(always)]
    pub(super) fn vertex(&self, index: u32) -> Lin {
        let i = index as usize;
        match self {
            Shape::Cuboid { half } => half.component_mul(&BOX_CORNERS[i % BOX_CORNERS.len()]),
            Shape::Capsule { half_length, .. } => Vector2::new(if i == 0 { -half_length } else { *half_length }, 0.0),
            Shape::Convex(polygon) => polygon.vertices().get(i).copied().unwrap_or_default(),
            Shape::Segment { a, b } => *if i == 0 { a } else { b },
            Shape::Heightfield(field) => field.node(i),
            Shape::Ball { .. } | Shape::HalfSpace { .. } => Vector2::zeros(),
        }
    }
    /// The corners where a face starts and ends, counter-clockwise.
    #[inline(always)]
    pub(super) fn face_ends(&self, index: u32) -> [u32; 2] {
        match self {
            Shape::Cuboid { .. } => [index, index.wrapping_add(1)],
            Shape::Capsule { .. } | Shape::Segment { .. } => [index.min(1), 1 - index.min(1)],
            Shape::Convex(polygon) => [index, if (index as usize) + 1 < polygon.vertices().len() { index + 1 } else { 0 }],
            Shape::Heightfield(_) => [index.saturating_add(1), index],
            Shape::Ball { .. } | Shape::HalfSpace { .. } => [0, 0],
        }
    }
    /// Face by number: where it starts, where it ends (counter-clockwise) and its outward unit normal.
    #[inline(always)]
    pub(super) fn face(&self, index: u32) -> (Lin, Lin, Lin) {
        let i = index as usize;
        match self {
            Shape::Cuboid { .. } => (self.vertex(index), self.vertex(index.wrapping_add(1)), BOX_NORMALS[i % BOX_NORMALS.len()]),
            Shape::Capsule { .. } => (self.vertex(index), self.vertex(1 - index.min(1)), ROD_NORMALS[i.min(1)]),
            Shape::Convex(polygon) => {
                let (start, end) = (self.vertex(index), self.vertex(if i + 1 < polygon.vertices().len() { index + 1 } else { 0 }));
                (start, end, polygon.normals().get(i).copied().unwrap_or_default())
            }
            Shape::Segment { a, b } => {
                let normal = wall_normal(*a, *b);
                if i == 0 { (*a, *b, normal) } else { (*b, *a, -normal) }
            }
            // The solid lies below, so that counter-clockwise runs against x.
            Shape::Heightfield(field) => (field.node(i + 1), field.node(i), field.normal(i)),
            Shape::HalfSpace { normal } => (Vector2::zeros(), Vector2::zeros(), *normal),
            Shape::Ball { .. } => (Vector2::zeros(), Vector2::zeros(), Vector2::y()),
        }
    }
    /// The bounded convex shapes as corners, faces and a radius; `None` for a half-space and a heightfield.
    #[inline(always)]
    pub(super) fn rounded<'a>(&'a self, store: &'a mut Store) -> Option<Rounded<'a>> {
        Some(match self {
            Shape::Ball { radius } => Rounded { vertices: &ORIGIN, normals: &[], radius: *radius, size: *radius },
            Shape::Cuboid { half } => {
                store.vertices = BOX_CORNERS.map(|corner| corner.component_mul(half));
                Rounded { vertices: &store.vertices, normals: &BOX_NORMALS, radius: 0.0, size: half.x.max(half.y) }
            }
            Shape::Capsule { half_length, radius } => {
                store.vertices[0].x = -half_length;
                store.vertices[1].x = *half_length;
                Rounded { vertices: &store.vertices[..2], normals: &ROD_NORMALS, radius: *radius, size: half_length + radius }
            }
            Shape::Convex(polygon) => {
                Rounded { vertices: polygon.vertices(), normals: polygon.normals(), radius: 0.0, size: 0.5 * polygon.extent() }
            }
            Shape::Segment { a, b } => {
                store.vertices[..2].copy_from_slice(&[*a, *b]);
                let normal = wall_normal(*a, *b);
                store.normals = [normal, -normal];
                Rounded { vertices: &store.vertices[..2], normals: &store.normals, radius: 0.0, size: 0.5 * (b - a).norm() }
            }
            Shape::HalfSpace { .. } | Shape::Heightfield(_) => return None,
        })
    }
}

/// Corners of the unit box, counter-clockwise; face i runs from corner i to corner i + 1.
const BOX_CORNERS: [Lin; 4] = [Vector2::new(-1.0, -1.0), Vector2::new(1.0, -1.0), Vector2::new(1.0, 1.0), Vector2::new(-1.0, 1.0)];
const BOX_NORMALS: [Lin; 4] = [Vector2::new(0.0, -1.0), Vector2::new(1.0, 0.0), Vector2::new(0.0, 1.0), Vector2::new(-1.0, 0.0)];
/// The two sides of a segment along x.
const ROD_NORMALS: [Lin; 2] = [Vector2::new(0.0, -1.0), Vector2::new(0.0, 1.0)];
const ORIGIN: [Lin; 1] = [Vector2::new(0.0, 0.0)];

/// Right-hand normal of a wall from a to b: outward for a counter-clockwise boundary.
fn wall_normal(a: Lin, b: Lin) -> Lin {
    let e = b - a;
    Vector2::new(e.y, -e.x) / e.norm()
}

/// A convex core (point, segment or polygon, counter-clockwise) and a radius about it, theory (7.8).
#[derive(Clone, Copy)]
pub(super) struct Rounded<'a> {
    /// Corners of the core.
    pub vertices: &'a [Lin],
    /// Outward normals, face i from corner i to corner i + 1; none for a point, both sides for a segment.
    pub normals: &'a [Lin],
    /// Radius \[m\].
    pub radius: f64,
    /// Half of the largest extent \[m\], the scale of the tolerances.
    pub size: f64,
}

/// Room for the corners of the shapes that do not keep them.
#[derive(Default)]
pub(super) struct Store {
    vertices: [Lin; 4],
    normals: [Lin; 2],
}

pub(super) fn positive(what: &'static str, value: f64) -> Result<f64, ShapeError> {
    if !value.is_finite() {
        Err(ShapeError::NotFinite { what })
    } else if value <= 0.0 {
        Err(ShapeError::NotPositive { what, value })
    } else {
        Ok(value)
    }
}
