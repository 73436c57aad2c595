//! A scene placed in another one.

use crate::error::Fault;
use crate::solid::SceneSpace;
use crate::{Scene, SceneOf, write};
use carom_math::{Pose, Twist, Vector};

/// Where another scene is put: the origin of its world, and how it is turned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Position \[m\], one number per axis; the origin if empty.
    pub position: Vec<f64>,
    /// Angle \[rad\], or w, x, y, z; unturned if empty.
    pub rotation: Vec<f64>,
}

impl Placement {
    fn pose<G: SceneSpace>(&self) -> Result<Pose<G>, Box<Fault>> {
        let fault = |key: &str, allowed: &str| Box::new(Fault::new(0..0, "scene", key, "wrong length").allowed(allowed));
        let mut pose = Pose::identity();
        if !self.position.is_empty() {
            if self.position.len() != G::DIM || self.position.iter().any(|x| !x.is_finite()) {
                return Err(fault("position", &format!("{} finite numbers", G::DIM)));
            }
            pose.position = G::Lin::from_slice(&self.position);
        }
        if !self.rotation.is_empty() {
            let count = G::COORDS - G::DIM;
            let finite = self.rotation.len() == count && self.rotation.iter().all(|x| x.is_finite());
            let read = if finite { G::read_rotation(&self.rotation) } else { None };
            let allowed = if count == 1 { "an angle in radians" } else { "four numbers w, x, y, z, not all zero" };
            pose.rotation = read.ok_or_else(|| fault("rotation", allowed))?;
        }
        Ok(pose)
    }
}

/// The parts of a scene, moved and renamed, as a file says them.
pub(crate) fn text(scene: &Scene, name: Option<&str>, placement: &Placement) -> Result<String, Box<Fault>> {
    match scene {
        Scene::Planar(scene) => of(scene.clone(), name, &placement.pose()?),
        Scene::Spatial(scene) => of(scene.clone(), name, &placement.pose()?),
    }
}

fn of<G: SceneSpace>(mut scene: SceneOf<G>, name: Option<&str>, at: &Pose<G>) -> Result<String, Box<Fault>> {
    if let Some(name) = name {
        if name.is_empty() || name.chars().any(char::is_control) {
            let fault = Fault::new(0..0, "scene", "name", "wrong value").found(format!("{name:?}"));
            return Err(Box::new(fault.allowed("a name that is not empty")));
        }
        scene.model.bodies.iter_mut().for_each(|body| body.name = format!("{name}.{}", body.name));
        scene.joints.iter_mut().for_each(|joint| joint.name = format!("{name}.{}", joint.name));
        // Couplings find their joints in the model.
        scene.model.joints.iter_mut().for_each(|joint| joint.name = format!("{name}.{}", joint.name));
        scene.model.couplings.iter_mut().for_each(|coupling| coupling.name = format!("{name}.{}", coupling.name));
        for point in &mut scene.points {
            point.name = format!("{name}.{}", point.name);
            if point.body != "world" {
                point.body = format!("{name}.{}", point.body);
            }
        }
        scene.groups.iter_mut().for_each(|group| *group = format!("{name}.{group}"));
    }
    for (pose, twist) in scene.state.poses.iter_mut().zip(&mut scene.state.twists) {
        *pose = at.compose(pose);
        *twist = Twist { lin: at.direction(twist.lin), ang: G::rotate_rate(at.rotation, twist.ang) };
    }
    for joint in &mut scene.joints {
        joint.anchor = joint.anchor.map(|x| at.point(x));
        joint.anchors = joint.anchors.map(|both| both.map(|x| at.point(x)));
        joint.axis = joint.axis.map(|x| at.direction(x));
        joint.axes = joint.axes.map(|both| both.map(|x| at.direction(x)));
    }
    for force in &mut scene.model.forces {
        force.force = at.direction(force.force);
        force.torque = G::rotate_rate(at.rotation, force.torque);
    }
    for point in scene.points.iter_mut().filter(|point| point.body == "world") {
        let moved = at.compose(&Pose { position: point.at, rotation: point.rotation });
        (point.at, point.rotation) = (moved.position, moved.rotation);
    }
    Ok(write::parts(&scene))
}
