//! Solids of the scene text to shapes of the engine and back: the only fork between the plane and space in this crate.

use crate::tree::{Solid, Triple};
use crate::write::{number, numbers};
use crate::{Scene, SceneOf};
use carom_geometry::{Geometry, planar, spatial};
use carom_math::{Planar, Spatial};
use nalgebra::{Vector2, Vector3};

/// A space whose shapes can be read from and written to a scene text.
pub trait SceneSpace: Geometry {
    /// The shape of a solid, or what is wrong with it.
    fn shape(solid: &Solid) -> Result<Self::Shape, String>;
    /// The shape as keys and values of an inline table, `ball = 1.0`.
    fn shape_text(shape: &Self::Shape) -> String;
    /// The scene of this space.
    fn wrap(scene: SceneOf<Self>) -> Scene
    where
        Self: Sized;
}

/// A direction whose length is 1 to this many roundings is kept bit for bit, so that a written scene reads back unchanged.
const UNIT_ROUNDINGS: f64 = 4.0;

fn is_unit(norm: f64) -> bool {
    (norm - 1.0).abs() <= UNIT_ROUNDINGS * f64::EPSILON
}

fn flat(p: &Triple) -> Vector2<f64> {
    Vector2::new(p[0], p[1])
}

fn solid(p: &Triple) -> Vector3<f64> {
    Vector3::new(p[0], p[1], p[2])
}

fn points<'a>(points: impl IntoIterator<Item = &'a [f64]>) -> String {
    format!("[{}]", points.into_iter().map(numbers).collect::<Vec<_>>().join(", "))
}

impl SceneSpace for Planar {
    fn shape(tree: &Solid) -> Result<planar::Shape, String> {
        use planar::Shape;
        let made = match tree {
            Solid::Ball(radius) => Shape::ball(*radius),
            Solid::Box(size) => Shape::cuboid(size[0], size[1]),
            Solid::Capsule(length, radius) => Shape::capsule(*length, *radius),
            Solid::Convex(points) => Shape::convex(&points.iter().map(flat).collect::<Vec<_>>()),
            Solid::HalfSpace(normal) if is_unit(flat(normal).norm()) => Ok(Shape::HalfSpace { normal: flat(normal) }),
            Solid::HalfSpace(normal) => Shape::half_space(flat(normal)),
            Solid::Segment([a, b]) => Shape::segment(flat(a), flat(b)),
            Solid::Heightfield(rows, spacing) => Shape::heightfield(&rows[0], spacing[0]),
            Solid::Cylinder(..) | Solid::Cone(..) | Solid::Mesh(..) | Solid::MeshFile(_) => return Err("exists only in space".to_string()),
        };
        made.map_err(|e| e.to_string())
    }

    fn shape_text(shape: &planar::Shape) -> String {
        use planar::Shape;
        match shape {
            Shape::Ball { radius } => format!("ball = {}", number(*radius)),
            Shape::Cuboid { half } => format!("box = {}", numbers((half * 2.0).as_slice())),
            Shape::Capsule { half_length, radius } => format!("capsule = {}", numbers(&[2.0 * half_length, *radius])),
            Shape::Convex(polygon) => format!("convex = {}", points(polygon.vertices().iter().map(|p| p.as_slice()))),
            Shape::HalfSpace { normal } => format!("half_space = {}", numbers(normal.as_slice())),
            Shape::Segment { a, b } => format!("segment = {}", points([a.as_slice(), b.as_slice()])),
            Shape::Heightfield(field) => {
                format!("heightfield = {{ heights = {}, spacing = {} }}", numbers(field.heights()), number(field.spacing()))
            }
        }
    }

    fn wrap(scene: SceneOf<Self>) -> Scene {
        Scene::Planar(scene)
    }
}

impl SceneSpace for Spatial {
    fn shape(tree: &Solid) -> Result<spatial::Shape, String> {
        use spatial::Shape;
        let made = match tree {
            Solid::Ball(radius) => Shape::ball(*radius),
            Solid::Box(size) => Shape::cuboid(solid(size) * 0.5),
            Solid::Capsule(length, radius) => Shape::capsule(0.5 * length, *radius),
            Solid::Convex(points) => Shape::convex(&points.iter().map(solid).collect::<Vec<_>>()),
            Solid::HalfSpace(normal) if is_unit(solid(normal).norm()) => Ok(Shape::HalfSpace { normal: solid(normal) }),
            Solid::HalfSpace(normal) => Shape::half_space(solid(normal)),
            Solid::Segment([a, b]) => Shape::segment(solid(a), solid(b)),
            Solid::Cylinder(height, radius) => Shape::cylinder(0.5 * height, *radius),
            Solid::Cone(height, radius) => Shape::cone(0.5 * height, *radius),
            Solid::Mesh(points, faces) => {
                let mut triangles = Vec::with_capacity(faces.len());
                for face in faces {
                    let [a, b, c] = face.map(u32::try_from);
                    match (a, b, c) {
                        (Ok(a), Ok(b), Ok(c)) => triangles.push([a, b, c]),
                        _ => return Err("has too many points".to_string()),
                    }
                }
                Shape::mesh(points.iter().map(solid).collect(), triangles)
            }
            Solid::MeshFile(_) => return Err("has not been read".to_string()),
            Solid::Heightfield(rows, spacing) => {
                Shape::heightfield(rows.iter().flatten().copied().collect(), rows[0].len(), rows.len(), *spacing)
            }
        };
        made.map_err(|e| e.to_string())
    }

    fn shape_text(shape: &spatial::Shape) -> String {
        use spatial::Shape;
        match shape {
            Shape::Ball { radius } => format!("ball = {}", number(*radius)),
            Shape::Cuboid { half } => format!("box = {}", numbers((half * 2.0).as_slice())),
            Shape::Capsule { half_length, radius } => format!("capsule = {}", numbers(&[2.0 * half_length, *radius])),
            Shape::Convex(hull) => format!("convex = {}", points(hull.vertices().iter().map(|p| p.as_slice()))),
            Shape::HalfSpace { normal } => format!("half_space = {}", numbers(normal.as_slice())),
            Shape::Segment { a, b } => format!("segment = {}", points([a.as_slice(), b.as_slice()])),
            Shape::Cylinder { half_height, radius } => format!("cylinder = {}", numbers(&[2.0 * half_height, *radius])),
            Shape::Cone { half_height, radius } => format!("cone = {}", numbers(&[2.0 * half_height, *radius])),
            Shape::Mesh(mesh) => {
                let faces: Vec<String> = mesh.triangles().iter().map(|[a, b, c]| format!("[{a}, {b}, {c}]")).collect();
                let vertices = points(mesh.vertices().iter().map(|p| p.as_slice()));
                format!("mesh = {{ points = {vertices}, faces = [{}] }}", faces.join(", "))
            }
            Shape::Heightfield(field) => {
                let heights: Vec<f64> = field.mesh().vertices().iter().map(|p| p.z).collect();
                let rows: Vec<String> = heights.chunks(field.points()[0]).map(numbers).collect();
                format!("heightfield = {{ heights = [{}], spacing = {} }}", rows.join(", "), numbers(&field.spacing()))
            }
        }
    }

    fn wrap(scene: SceneOf<Self>) -> Scene {
        Scene::Spatial(scene)
    }
}

/// Distance of a vertex in front of a face that still counts as convex, as a fraction of the size: coordinates written to six digits.
const CONVEX: f64 = 1e-6;
/// Largest faces times points of a mesh that is tested for convexity; a moving body has no use for a larger one.
const MAX_CONVEX_WORK: usize = 50_000_000;

/// Whether a mesh is its own convex hull: no point lies in front of any face.
pub(crate) fn is_convex(points: &[Triple], faces: &[[usize; 3]]) -> bool {
    if points.len().saturating_mul(faces.len()) > MAX_CONVEX_WORK {
        return false;
    }
    let points: Vec<Vector3<f64>> = points.iter().map(solid).collect();
    let Some(origin) = points.first().copied() else { return false };
    let size = points.iter().fold(0.0_f64, |m, p| m.max((p - origin).norm()));
    faces.iter().all(|&[a, b, c]| {
        let normal = (points[b] - points[a]).cross(&(points[c] - points[a]));
        let reach = CONVEX * size * normal.norm();
        points.iter().all(|p| normal.dot(&(p - points[a])) <= reach)
    })
}
