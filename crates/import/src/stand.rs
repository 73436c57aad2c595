//! How a model stands in the world: a ground under it, and its height above that.

use crate::Options;
use crate::robot::{Freedom, Notes, Robot};
use crate::text::Fault;
use carom_dynamics::{BodyKind, Coefficients};
use carom_geometry::Geometry;
use carom_math::Spatial;
use carom_scene::tree::{BodyTree, SceneTree, ShapeTree, Solid, Triple};
use carom_scene::{Scene, SceneOf};

/// Friction of the ground that is put under a model.
const GROUND_FRICTION: f64 = 1.0;
/// Name of that ground.
const GROUND: &str = "ground";
/// What of a scene tree moves when the model is put somewhere else.
pub struct Moving {
    /// Whether a root is free.
    free: bool,
    /// How many of the first bodies are fixed to the world, and stay where they are.
    fixed: usize,
}

impl Moving {
    /// Of a model; `world` says that what is fixed belongs to the world and not to the model.
    pub fn of(robot: &Robot, world: bool) -> Self {
        let free = |joint: &crate::robot::Axis| joint.freedom == Freedom::Free;
        Moving {
            free: robot.links.iter().any(|link| link.parent.is_none() && link.joints.first().is_some_and(free)),
            fixed: if world { robot.fixtures.len() } else { 0 },
        }
    }
}

/// Puts the model at its height and a ground under it, if either is asked for; `scene` is the tree as it was built before. Whether anything changed.
pub fn place(tree: &mut SceneTree, scene: &Scene, moving: &Moving, options: &Options, notes: &mut Notes) -> bool {
    let Scene::Spatial(scene) = scene else { return false };
    let height = options.drop.or((options.ground && moving.free).then_some(0.0));
    let lift = height.and_then(|height| lowest(scene, moving.fixed).map(|lowest| height - lowest)).unwrap_or(0.0);
    if lift != 0.0 {
        let up = |point: &mut Triple| point[2] += lift;
        tree.bodies.iter_mut().skip(moving.fixed).for_each(|body| up(&mut body.position));
        for joint in &mut tree.joints {
            joint.anchor.iter_mut().for_each(up);
            joint.anchors.iter_mut().flatten().for_each(up);
        }
    }
    let floor = |body: &&BodyTree| body.kind == BodyKind::Static && body.shapes.iter().any(|s| matches!(s.solid, Solid::HalfSpace(_)));
    let there = tree.bodies.iter().find(floor).map(|body| body.places.whole.clone());
    if let Some(span) = there.filter(|_| options.ground) {
        notes.add(Fault::new(span, "ground", "", "there already: none is added"));
    } else if options.ground {
        tree.bodies.push(ground(tree));
    }
    lift != 0.0 || options.ground
}

/// The lowest point \[m\] of the moving bodies that touch anything, of all of them where none does.
fn lowest(scene: &SceneOf<Spatial>, fixed: usize) -> Option<f64> {
    let bodies = || scene.model.bodies.iter().zip(&scene.state.poses).skip(fixed);
    let least = |touching: bool| {
        let those = bodies().filter(move |(body, _)| !touching || body.mask != 0);
        let points = those.flat_map(|(body, pose)| body.colliders.iter().map(|c| Spatial::bounds(&c.shape, &pose.compose(&c.local)).min.z));
        points.filter(|z| z.is_finite()).reduce(f64::min)
    };
    least(true).or_else(|| least(false))
}

/// A ground at z = 0, of a name that no other body has.
fn ground(tree: &SceneTree) -> BodyTree {
    let taken = |name: &str| tree.bodies.iter().any(|body| body.name.as_ref().is_some_and(|n| n.value == name));
    let mut name = GROUND.to_string();
    while taken(&name) {
        name.push('_');
    }
    let span = tree.places.whole.clone();
    let solid = Solid::HalfSpace([0.0, 0.0, 1.0]);
    let shape = ShapeTree { solid, key: "half_space", at: [0.0; 3], rotation: [1.0, 0.0, 0.0, 0.0], span: span.clone() };
    let empty = crate::emit::empty(&name, &span);
    let surface = Coefficients { friction: Some(GROUND_FRICTION), ..Coefficients::default() };
    BodyTree { kind: BodyKind::Static, shapes: vec![shape], surface, ..empty }
}
