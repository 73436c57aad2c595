//! Mechanisms whose parts were put where the joints do not let them be: they are put together before they move.

use crate::lab::{FRAME, read, world};
use carom_dynamics::gradient::{Cotangents, Tape};
use carom_dynamics::options::Integrator;
use carom_geometry::Geometry;
use carom_math::Vector;
use carom_scene::{Scene, SceneOf};
use carom_tests::{Random, holds};

/// How far parts are misplaced along every axis at most [m].
const APART: f64 = 0.1;
/// Largest opening of a joint afterwards [m or rad].
const GAP: f64 = 1e-10;
/// No part of these mechanisms is faster [m/s]. Closed by impulses in one step they left with 6 km/s.
const FASTEST: f64 = 10.0;

fn comes_together<G: Geometry>(name: &str, scene: SceneOf<G>) {
    let mut world = world(scene, FRAME, Integrator::Verlet);
    let mut random = Random::new(5);
    let mut state = world.state().clone();
    for (pose, body) in state.poses.iter_mut().zip(&world.model().bodies) {
        if body.kind == carom_dynamics::BodyKind::Dynamic {
            (0..G::DIM).for_each(|axis| pose.position[axis] += random.range(-APART, APART));
        }
    }
    world.set_state(state).unwrap();
    assert!(world.joint_error() > APART * 0.1, "{name} is apart");
    let rollout = world.rollout(1, &[], Tape::Full).unwrap();
    assert!(rollout.backward(&Cotangents::default()).unwrap().switches[0].projected > 0, "{name}: the derivative says so");
    let (mut gap, mut speed) = (0.0f64, 0.0f64);
    for _ in 0..10 {
        let report = world.step().unwrap();
        assert!(!report.unconverged, "{name}: {report:?}");
        gap = gap.max(world.joint_error());
        speed = world.state().twists.iter().fold(speed, |m, twist| m.max(twist.lin.norm()));
    }
    let mut good = holds(&format!("{name}, set apart by 0.1 m: joint gap [m]"), gap, GAP);
    good &= holds(&format!("{name}, set apart by 0.1 m: largest speed [m/s]"), speed, FASTEST);
    assert!(good);
}

#[test]
fn misplaced_parts_are_put_together() {
    for name in ["four_bar", "jansen_leg", "chain_10", "ragdoll"] {
        match read(name) {
            Scene::Planar(scene) => comes_together(name, scene),
            Scene::Spatial(scene) => comes_together(name, scene),
        }
    }
}
