//! The spatial shapes, their checked constructors, bounds and extents, theory (8.1).

use super::hull::Hull;
use super::mesh::{Heightfield, Mesh};
use crate::bounds::Aabb;
use crate::shape_error::ShapeError;
use carom_math::{Pose, Spatial};
use nalgebra::Vector3;
use std::sync::Arc;

type V = Vector3<f64>;

/// A solid or a surface in space, in its own frame.
///
/// Build it with the constructors, which check their arguments; large shapes are shared, so that a clone is cheap.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A ball about the origin.
    Ball {
        /// Radius \[m\].
        radius: f64,
    },
    /// A box about the origin, sides along the axes.
    Cuboid {
        /// Half extents \[m\].
        half: V,
    },
    /// All points within a distance of a segment along z about the origin.
    Capsule {
        /// Half the distance between the cap centres \[m\].
        half_length: f64,
        /// Radius \[m\].
        radius: f64,
    },
    /// A convex polyhedron.
    Convex(Arc<Hull>),
    /// All points behind a plane through the origin.
    HalfSpace {
        /// Outward unit normal.
        normal: V,
    },
    /// A straight line of no thickness.
    Segment {
        /// One end \[m\].
        a: V,
        /// The other end \[m\].
        b: V,
    },
    /// A cylinder about the origin, axis along z.
    Cylinder {
        /// Half height \[m\].
        half_height: f64,
        /// Radius \[m\].
        radius: f64,
    },
    /// A cone with its axis along z, apex at `+half_height`, base at `-half_height`.
    Cone {
        /// Half height \[m\].
        half_height: f64,
        /// Radius of the base \[m\].
        radius: f64,
    },
    /// A surface of triangles, solid behind their counter-clockwise side; static.
    Mesh(Arc<Mesh>),
    /// Heights over a grid in the x-y plane, solid below; static.
    Heightfield(Arc<Heightfield>),
}

/// A length that must be finite and positive.
pub(super) fn positive(what: &'static str, value: f64) -> Result<f64, ShapeError> {
    if !value.is_finite() {
        Err(ShapeError::NotFinite { what })
    } else if value > 0.0 {
        Ok(value)
    } else {
        Err(ShapeError::NotPositive { what, value })
    }
}

/// A vector of finite numbers.
pub(super) fn finite(what: &'static str, value: V) -> Result<V, ShapeError> {
    if value.iter().all(|x| x.is_finite()) { Ok(value) } else { Err(ShapeError::NotFinite { what }) }
}

impl Shape {
    /// A ball of a radius \[m\].
    pub fn ball(radius: f64) -> Result<Shape, ShapeError> {
        Ok(Shape::Ball { radius: positive("radius of a ball", radius)? })
    }
    /// A box of half extents \[m\].
    pub fn cuboid(half: V) -> Result<Shape, ShapeError> {
        for k in 0..3 {
            positive("half extent of a box", half[k])?;
        }
        Ok(Shape::Cuboid { half })
    }
    /// A capsule along z: half the distance between the cap centres and the radius \[m\].
    pub fn capsule(half_length: f64, radius: f64) -> Result<Shape, ShapeError> {
        Ok(Shape::Capsule { half_length: positive("length of a capsule", half_length)?, radius: positive("radius of a capsule", radius)? })
    }
    /// The convex hull of points \[m\].
    pub fn convex(points: &[V]) -> Result<Shape, ShapeError> {
        Ok(Shape::Convex(Arc::new(Hull::new(points)?)))
    }
    /// The half-space behind a plane through the origin, given its outward normal (of any length).
    pub fn half_space(normal: V) -> Result<Shape, ShapeError> {
        let length = finite("normal of a half-space", normal)?.norm();
        if length.is_finite() && length > 0.0 {
            Ok(Shape::HalfSpace { normal: normal / length })
        } else {
            Err(ShapeError::Degenerate { what: "normal of a half-space" })
        }
    }
    /// A segment between two points \[m\].
    pub fn segment(a: V, b: V) -> Result<Shape, ShapeError> {
        finite("end of a segment", a)?;
        finite("end of a segment", b)?;
        if (b - a).norm() > 0.0 { Ok(Shape::Segment { a, b }) } else { Err(ShapeError::Degenerate { what: "segment" }) }
    }
    /// A cylinder along z: half height and radius \[m\].
    pub fn cylinder(half_height: f64, radius: f64) -> Result<Shape, ShapeError> {
        Ok(Shape::Cylinder {
            half_height: positive("height of a cylinder", half_height)?,
            radius: positive("radius of a cylinder", radius)?,
        })
    }
    /// A cone along z, apex up: half height and radius of the base \[m\].
    pub fn cone(half_height: f64, radius: f64) -> Result<Shape, ShapeError> {
        Ok(Shape::Cone { half_height: positive("height of a cone", half_height)?, radius: positive("radius of a cone", radius)? })
    }
    /// A surface of triangles, counter-clockwise seen from outside.
    pub fn mesh(vertices: Vec<V>, triangles: Vec<[u32; 3]>) -> Result<Shape, ShapeError> {
        Ok(Shape::Mesh(Arc::new(Mesh::new(vertices, triangles)?)))
    }
    /// Heights \[m\] by rows (x fastest) over a grid of `columns` by `rows` points with a spacing \[m\], centred on the origin.
    pub fn heightfield(heights: Vec<f64>, columns: usize, rows: usize, spacing: [f64; 2]) -> Result<Shape, ShapeError> {
        Ok(Shape::Heightfield(Arc::new(Heightfield::new(heights, columns, rows, spacing)?)))
    }
    /// The surface of a mesh or heightfield.
    pub fn surface(&self) -> Option<&Mesh> {
        match self {
            Shape::Mesh(mesh) => Some(mesh),
            Shape::Heightfield(field) => Some(field.mesh()),
            _ => None,
        }
    }
    /// The box of the shape in its own frame; infinite for a half-space.
    fn local_box(&self) -> Aabb<Spatial> {
        let about = |half: V| Aabb { min: -half, max: half };
        match self {
            Shape::Ball { radius } => about(V::repeat(*radius)),
            Shape::Cuboid { half } => about(*half),
            Shape::Capsule { half_length, radius } => about(V::new(*radius, *radius, half_length + radius)),
            Shape::Convex(hull) => box_of(hull.vertices()),
            Shape::HalfSpace { .. } => Aabb::everything(),
            Shape::Segment { a, b } => box_of(&[*a, *b]),
            Shape::Cylinder { half_height, radius } | Shape::Cone { half_height, radius } => about(V::new(*radius, *radius, *half_height)),
            Shape::Mesh(mesh) => box_of(mesh.vertices()),
            Shape::Heightfield(field) => box_of(field.mesh().vertices()),
        }
    }
    /// Axis-aligned box in the world.
    pub(super) fn bounds(&self, pose: &Pose<Spatial>) -> Aabb<Spatial> {
        let r = *pose.rotation.to_rotation_matrix().matrix();
        let about = |half: V| Aabb { min: pose.position - half, max: pose.position + half };
        match self {
            Shape::Ball { radius } => about(V::repeat(*radius)),
            Shape::Cuboid { half } => about(r.abs() * half),
            Shape::Capsule { half_length, radius } => about(r.column(2).abs() * *half_length + V::repeat(*radius)),
            // Level ground and upright walls end at their face; any other plane crosses every box.
            Shape::HalfSpace { normal } => {
                let n = r * normal;
                let mut all = Aabb::<Spatial>::everything();
                if let Some(k) = (0..3).find(|&k| n[(k + 1) % 3] == 0.0 && n[(k + 2) % 3] == 0.0) {
                    if n[k] > 0.0 { all.max[k] = pose.position[k] } else { all.min[k] = pose.position[k] }
                }
                all
            }
            Shape::Segment { a, b } => box_of(&[pose.point(*a), pose.point(*b)]),
            Shape::Cylinder { half_height, radius } => about(r.column(2).abs() * *half_height + disc(r.column(2).into(), *radius)),
            Shape::Cone { half_height, radius } => {
                let axis: V = r.column(2).into();
                let (apex, base) = (pose.position + axis * *half_height, pose.position - axis * *half_height);
                let rim = disc(axis, *radius);
                Aabb { min: (base - rim).inf(&apex), max: (base + rim).sup(&apex) }
            }
            Shape::Convex(hull) => {
                let mut bounds: Aabb<Spatial> = Aabb { min: V::repeat(f64::INFINITY), max: V::repeat(f64::NEG_INFINITY) };
                for v in hull.vertices() {
                    let p = pose.position + r * v;
                    bounds = Aabb { min: bounds.min.inf(&p), max: bounds.max.sup(&p) };
                }
                bounds
            }
            Shape::Mesh(_) | Shape::Heightfield(_) => {
                let local = self.surface().map_or_else(|| self.local_box(), Mesh::bounds);
                let (middle, half) = ((local.min + local.max) * 0.5, (local.max - local.min) * 0.5);
                let (middle, half) = (pose.point(middle), r.abs() * half);
                Aabb { min: middle - half, max: middle + half }
            }
        }
    }
    /// Longest side of the box of the shape in its own frame \[m\].
    pub(super) fn extent(&self) -> f64 {
        match self {
            Shape::HalfSpace { .. } => f64::INFINITY,
            Shape::Segment { a, b } => (b - a).norm(),
            _ => {
                let bounds = self.local_box();
                (bounds.max - bounds.min).max()
            }
        }
    }
    /// Largest distance of a point of the shape from a point of its frame \[m\].
    pub(super) fn reach(&self, about: V) -> f64 {
        let farthest = |points: &[V]| points.iter().fold(0.0, |m: f64, p| m.max((p - about).norm()));
        let rim = |z: f64, radius: f64| (about.x.hypot(about.y) + radius).hypot(about.z - z);
        match self {
            Shape::Ball { radius } => about.norm() + radius,
            Shape::Cuboid { half } => (about.abs() + half).norm(),
            Shape::Capsule { half_length, radius } => (about.abs() + V::z() * *half_length).norm() + radius,
            Shape::Convex(hull) => farthest(hull.vertices()),
            Shape::HalfSpace { .. } => f64::INFINITY,
            Shape::Segment { a, b } => farthest(&[*a, *b]),
            Shape::Cylinder { half_height, radius } => rim(*half_height, *radius).max(rim(-half_height, *radius)),
            Shape::Cone { half_height, radius } => rim(*half_height, 0.0).max(rim(-half_height, *radius)),
            Shape::Mesh(mesh) => farthest(mesh.vertices()),
            Shape::Heightfield(field) => farthest(field.mesh().vertices()),
        }
    }
}

/// Half extents of the box of a disc about the origin with a unit normal.
fn disc(axis: V, radius: f64) -> V {
    axis.map(|c| radius * (1.0 - c * c).max(0.0).sqrt())
}

/// The box of points.
pub(super) fn box_of(points: &[V]) -> Aabb<Spatial> {
    let mut bounds: Aabb<Spatial> = Aabb { min: V::repeat(f64::INFINITY), max: V::repeat(f64::NEG_INFINITY) };
    for p in points {
        bounds = Aabb { min: bounds.min.inf(p), max: bounds.max.sup(p) };
    }
    bounds
}
