//! Mechanisms whose parts were put where the joints do not let them be: they are put together before they move.

use crate::lab::{FRAME, read, world};
use carom_dynamics::error::Cause;
use carom_dynamics::gradient::{Cotangents, Tape};
use carom_dynamics::options::Integrator;
use carom_dynamics::{BodyKind, StepError, StepReport, World};
use carom_geometry::Geometry;
use carom_math::{Spatial, Twist, Vector};
use carom_scene::{Scene, SceneOf, from_toml};
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
        if body.kind == BodyKind::Dynamic {
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

/// Rounds of correction of a step, whatever was asked of it: a round is some microseconds for each body.
const ROUNDS: usize = 100_000;

/// Joint errors below this many units in the last place of the largest coordinate are rounding.
const ROUNDING: f64 = 8.0;

/// An arm on a motor.
const ARM: &str = r#"
dimension = 3
step = 0.01
[[body]]
name = "arm"
shape = { box = [0.5, 0.05, 0.08] }
position = [0.5, 0, 0]
[[joint]]
name = "hip"
kind = "hinge"
between = ["world", "arm"]
anchor = [0, 0, 0]
axis = [0, 1, 0]
motor = { control = true }
"#;

fn arm() -> SceneOf<Spatial> {
    match from_toml(ARM, "arm") {
        Ok(Scene::Spatial(scene)) => scene,
        _ => panic!("an arm in space"),
    }
}

/// Either the joints close and the step takes few rounds, or its error says which joint is open or beyond its limits and how far.
fn judged<G: Geometry>(name: &str, world: &World<G>, step: Result<StepReport, StepError>) -> bool {
    match step {
        Ok(report) => {
            assert!(report.corrections < ROUNDS, "{name}: {report:?}");
            // Far from the origin coordinates are coarse: a million metres off they lie 1e-10 m apart.
            let reach = world.state().poses.iter().fold(0.0f64, |m, pose| m.max(pose.position.max_abs()));
            let closed = world.joint_error() < GAP.max(ROUNDING * f64::EPSILON * reach);
            assert!(report.unconverged || closed, "{name}: closed to {}", world.joint_error());
            true
        }
        Err(error) => {
            let (Cause::JointOpen { joint, gap } | Cause::LimitPassed { joint, beyond: gap }) = &error.cause else {
                panic!("{name}: {error}")
            };
            assert!(world.model().joints.iter().any(|j| j.name == *joint) && *gap > 0.0, "{name}: {error}");
            assert!(error.to_string().contains(joint), "{name}: {error}");
            false
        }
    }
}

/// Parts thrown about by metres and turned by radians, as a caller of `set_state` may.
fn thrown<G: Geometry>(name: &str, scene: &SceneOf<G>, metres: f64, trials: u64) -> usize {
    let mut closed = 0;
    for number in 0..trials {
        let mut random = Random::new(number);
        let mut world = world(scene.clone(), FRAME, Integrator::Verlet);
        let mut state = world.state().clone();
        for (pose, _) in state.poses.iter_mut().zip(&world.model().bodies).filter(|(_, body)| body.kind == BodyKind::Dynamic) {
            let mut by = Twist::<G>::zero();
            (0..G::DIM).for_each(|axis| by.lin[axis] = random.range(-metres, metres));
            (0..G::ANG).for_each(|axis| by.ang[axis] = random.range(-1.0, 1.0));
            *pose = pose.advanced(by, 1.0);
        }
        world.set_state(state).unwrap();
        for _ in 0..3 {
            let step = world.step();
            if !judged(name, &world, step) {
                break;
            }
            closed += 1;
        }
    }
    closed
}

#[test]
fn hopeless_poses_end_at_once() {
    for (name, trials) in [("four_bar", 20), ("jansen_leg", 10), ("chain_10", 10), ("ragdoll", 5), ("strandbeest", 3), ("clock", 5)] {
        for metres in [0.3, 3.0, 1e6] {
            let closed = match read(name) {
                Scene::Planar(scene) => thrown(name, &scene, metres, trials),
                Scene::Spatial(scene) => thrown(name, &scene, metres, trials),
            };
            println!("{name}, thrown by {metres} m: {closed} steps of {}", 3 * trials);
        }
    }
}

#[test]
fn a_hinge_thrown_by_a_metre_closes() {
    let closed = thrown("arm", &arm(), 1.0, 30);
    assert!(closed >= 80, "{closed} of 90 steps");
}

#[test]
fn absurd_torques_end_at_once() {
    for (control, fails) in [(1e2, false), (1e4, false), (1e6, false), (1e8, true), (1e12, true), (1e100, true), (1e300, true)] {
        let mut world = world(arm(), FRAME, Integrator::Verlet);
        let mut failed = false;
        for _ in 0..3 {
            match world.step_with(&[control]) {
                Ok(report) => assert!(report.corrections < ROUNDS, "{control:e} N m: {report:?}"),
                Err(error) => {
                    failed = true;
                    let named = match &error.cause {
                        Cause::TooFast { body, .. } => body == "arm",
                        Cause::JointOpen { joint, .. } => joint == "hip",
                        Cause::NotFinite { body } => body == "arm",
                        _ => false,
                    };
                    assert!(named, "{control:e} N m: {error}");
                    break;
                }
            }
        }
        assert_eq!(failed, fails, "{control:e} N m");
    }
}
