//! What never changes in what is drawn: bodies with their shapes, joints, and what the run is called.

use carom_dynamics::{BodyKind, Model};
use carom_geometry::{planar, spatial};
use carom_math::{Planar, Pose, Space, Spatial, Vector};
use carom_scene::SceneSpace;
use serde_json::{Value, json};

/// Points of a surface and the corners of its triangles.
pub type Surface = (Vec<f64>, Vec<u32>);

/// A space whose shapes can be drawn.
pub trait Drawn: SceneSpace {
    /// Points and triangles of a shape that its key and sizes do not tell: a polyhedron, a mesh, a heightfield. In the plane a heightfield
    /// gives its points alone.
    fn surface(shape: &Self::Shape) -> Option<Surface>;
}

impl Drawn for Planar {
    fn surface(shape: &planar::Shape) -> Option<Surface> {
        let planar::Shape::Heightfield(field) = shape else { return None };
        let heights = field.heights();
        // Centred on the origin, as the shape is.
        let first = -0.5 * (heights.len() as f64 - 1.0) * field.spacing();
        let points = heights.iter().enumerate().flat_map(|(i, y)| [first + i as f64 * field.spacing(), *y]);
        Some((points.collect(), Vec::new()))
    }
}

impl Drawn for Spatial {
    fn surface(shape: &spatial::Shape) -> Option<Surface> {
        let flat = |points: &[_]| points.iter().flat_map(|p: &<Spatial as Space>::Lin| [p.x, p.y, p.z]).collect::<Vec<f64>>();
        if let spatial::Shape::Convex(hull) = shape {
            let mut triangles = Vec::new();
            for face in 0..hull.normals().len() {
                // A face is convex: a fan from its first corner.
                if let [first, rest @ ..] = hull.face(face) {
                    triangles.extend(rest.windows(2).flat_map(|pair| [*first, pair[0], pair[1]]));
                }
            }
            return Some((flat(hull.vertices()), triangles));
        }
        shape.surface().map(|mesh| (flat(mesh.vertices()), mesh.triangles().iter().flatten().copied().collect()))
    }
}

/// What a scene calls itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// Name for people.
    pub name: &'a str,
    /// One line for people.
    pub description: &'a str,
    /// Simulated time of a plain run [s].
    pub duration: f64,
}

/// What the page draws, as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture(pub(crate) Value);

impl Picture {
    /// The picture of a model.
    pub fn of<G: Drawn>(model: &Model<G>, about: &About<'_>) -> Self {
        let bodies: Vec<Value> = model
            .bodies
            .iter()
            .map(|body| {
                let kind = match body.kind {
                    BodyKind::Dynamic => "dynamic",
                    BodyKind::Static => "static",
                    BodyKind::Kinematic => "kinematic",
                };
                let shapes: Vec<Value> = body.colliders.iter().map(|collider| shape::<G>(&collider.shape, &collider.local)).collect();
                let mass = (body.kind == BodyKind::Dynamic).then_some(body.mass);
                json!({ "name": body.name, "kind": kind, "color": body.color, "mass": mass, "shapes": shapes })
            })
            .collect();
        let joints: Vec<Value> = model
            .joints
            .iter()
            .map(|joint| {
                let plain = |pair: [G::Lin; 2]| pair.map(|x| x.as_slice().to_vec());
                json!({
                    "name": joint.name, "kind": joint.kind.name(), "bodies": joint.bodies,
                    "anchors": plain(joint.anchors), "axes": plain(joint.axes),
                })
            })
            .collect();
        Picture(json!({
            "dimension": G::DIM, "name": about.name, "description": about.description, "duration": about.duration,
            "step": model.step, "gravity": model.gravity.as_slice(), "bodies": bodies, "joints": joints,
        }))
    }
    /// As JSON.
    pub fn json(&self) -> &Value {
        &self.0
    }
}

fn shape<G: Drawn>(shape: &G::Shape, local: &Pose<G>) -> Value {
    let mut pose = [0.0; 7];
    pose[..G::DIM].copy_from_slice(local.position.as_slice());
    G::write_rotation(local.rotation, &mut pose[G::DIM..]);
    let mut out = json!({ "kind": G::shape_key(shape), "size": G::shape_parameters(shape), "pose": pose[..G::COORDS] });
    if let Some((points, triangles)) = G::surface(shape) {
        out["points"] = json!(points);
        out["triangles"] = json!(triangles);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_scene::{Scene, from_toml, scenes};

    #[test]
    fn every_embedded_scene_has_a_picture() {
        for scene in scenes() {
            let picture = match from_toml(scene.text, scene.name).unwrap() {
                Scene::Planar(s) => Picture::of(&s.model, &About::default()),
                Scene::Spatial(s) => Picture::of(&s.model, &About::default()),
            };
            for body in picture.json()["bodies"].as_array().unwrap() {
                for shape in body["shapes"].as_array().unwrap() {
                    let drawn = ["mesh", "heightfield"].contains(&shape["kind"].as_str().unwrap());
                    assert_eq!(drawn, shape["size"].as_array().unwrap().is_empty(), "{}: {shape}", scene.name);
                    assert!(!drawn || !shape["points"].as_array().unwrap().is_empty(), "{}: {shape}", scene.name);
                }
            }
        }
    }

    #[test]
    fn a_cube_is_twelve_triangles() {
        let corners: Vec<_> = (0..8).map(|i| [i & 1, i >> 1 & 1, i >> 2].map(f64::from)).collect();
        let corners: Vec<_> = corners.iter().map(|c| <Spatial as Space>::Lin::from_slice(c)).collect();
        let (points, triangles) = Spatial::surface(&spatial::Shape::convex(&corners).unwrap()).unwrap();
        assert_eq!((points.len(), triangles.len()), (24, 36));
    }
}
