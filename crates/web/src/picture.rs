//! What never changes in what is drawn: bodies with their shapes, joints, and what the run is called.

use carom_dynamics::{Aim, BodyKind, Model, Motor};
use carom_geometry::Geometry;
use carom_math::{Pose, Vector};
use serde_json::{Value, json};

/// What a scene calls itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// Name for people.
    pub name: &'a str,
    /// One line for people.
    pub description: &'a str,
    /// Simulated time of a plain run \[s\].
    pub duration: f64,
}

/// What the page draws, as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture(pub(crate) Value);

impl Picture {
    /// The picture of a model.
    pub fn of<G: Geometry>(model: &Model<G>, about: &About<'_>) -> Self {
        let bodies: Vec<Value> = model
            .bodies
            .iter()
            .map(|body| {
                let shapes: Vec<Value> = body.colliders.iter().map(|collider| shape::<G>(&collider.shape, &collider.local)).collect();
                let mass = (body.kind == BodyKind::Dynamic).then_some(body.mass);
                json!({
                    "name": body.name, "kind": body.kind.name(), "color": body.color, "mass": mass, "friction": body.surface.friction,
                    "restitution": body.surface.restitution, "shapes": shapes,
                })
            })
            .collect();
        let joints: Vec<Value> = model
            .joints
            .iter()
            .map(|joint| {
                let plain = |pair: [G::Lin; 2]| pair.map(|x| x.as_slice().to_vec());
                let coordinate = joint.has_coordinate().then(|| if joint.is_angular() { "angle" } else { "slide" });
                let mut reference = [0.0; 4];
                G::write_rotation(joint.reference, &mut reference[..G::COORDS - G::DIM]);
                json!({
                    "name": joint.name, "kind": joint.kind.name(), "bodies": joint.bodies,
                    "anchors": plain(joint.anchors), "axes": plain(joint.axes),
                    "coordinate": coordinate, "reference": reference[..G::COORDS - G::DIM], "limits": joint.limits,
                    "motor": joint.motor.as_ref().map(motor), "friction": joint.friction, "length": joint.measures.length, "rest": joint.measures.rest,
                    "stiffness": joint.measures.stiffness, "damping": joint.measures.damping,
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

/// What drives a joint; a bound that is infinite is none.
fn motor(motor: &Motor) -> Value {
    let (kind, target) = match *motor {
        Motor::Velocity { velocity, .. } => ("velocity", velocity),
        Motor::Position { position, .. } => ("position", position),
        Motor::Servo { aim: Aim::Position, target, control: false, .. } => ("position", target),
        Motor::Servo { aim: Aim::Velocity, target, control: false, .. } => ("velocity", target),
        Motor::Control { .. } | Motor::Sprung { .. } | Motor::Servo { .. } => ("control", 0.0),
    };
    json!({ "kind": kind, "target": target, "max": motor.max().is_finite().then_some(motor.max()) })
}

fn shape<G: Geometry>(shape: &G::Shape, local: &Pose<G>) -> Value {
    let mut pose = [0.0; 7];
    pose[..G::DIM].copy_from_slice(local.position.as_slice());
    G::write_rotation(local.rotation, &mut pose[G::DIM..]);
    let (kind, size) = (G::shape_key(shape), G::shape_parameters(shape));
    // What key and sizes do not tell: the faces of a polyhedron, and all of a mesh or heightfield.
    let told = if kind == "convex" { G::DIM == 2 } else { !size.is_empty() };
    let mut out = json!({ "kind": kind, "size": size, "pose": pose[..G::COORDS] });
    if !told {
        let outline = G::outline(shape);
        out["points"] = json!(outline.points.iter().flat_map(|p| p.as_slice()).collect::<Vec<_>>());
        out["triangles"] = json!(outline.faces.triangles().concat());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_geometry::spatial::Shape;
    use carom_math::{Space, Spatial};
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
    fn a_cube_of_points_is_twelve_triangles() {
        let corners: Vec<_> = (0..8).map(|i| [i & 1, i >> 1 & 1, i >> 2].map(f64::from)).collect();
        let corners: Vec<_> = corners.iter().map(|c| <Spatial as Space>::Lin::from_slice(c)).collect();
        let drawn = shape::<Spatial>(&Shape::convex(&corners).unwrap(), &Pose::identity());
        let count = |key: &str| drawn[key].as_array().unwrap().len();
        assert_eq!((count("points"), count("triangles")), (24, 36));
    }
}
