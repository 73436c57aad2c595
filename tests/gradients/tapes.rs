//! Tapes: a rollout between checkpoints has the gradient of one that kept everything, to the bit, in less memory.

use carom_dynamics::World;
use carom_dynamics::gradient::{Cotangents, Tape, Wrt};
use carom_geometry::Geometry;
use carom_scene::{Scene, SceneOf};

/// A box that slides and stops, a ball that falls on it, a driven pendulum: contacts, impacts, joints, controls.
const PLANE: &str = r#"
dimension = 2
[materials.rough]
friction = 0.3
restitution = 0.4
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 1] }
material = "rough"
[[body]]
name = "box"
shape = { box = [0.4, 0.2] }
position = [0, 0.1]
velocity = [0.4, 0]
material = "rough"
[[body]]
name = "ball"
shape = { ball = 0.1 }
position = [0.15, 0.4]
material = "rough"
[[body]]
name = "arm"
shape = { box = [0.3, 0.05] }
position = [2.15, 1]
[[joint]]
kind = "hinge"
between = ["arm", "world"]
anchor = [2, 1]
motor = { control = true, max = 10.0 }
"#;

/// A stack with more rows than freedoms.
const SPACE: &str = r#"
dimension = 3
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 0, 1] }
[[body]]
name = "a"
shape = { box = [0.4, 0.4, 0.4] }
position = [0, 0, 0.2]
[[body]]
name = "b"
shape = { box = [0.4, 0.4, 0.4] }
position = [0.05, 0, 0.6]
spin = [0, 0, 0.5]
"#;

fn check<G: Geometry>(scene: SceneOf<G>, steps: usize) {
    let world = World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}"));
    let size = world.model().bodies.len() * G::DOF;
    let controls: Vec<f64> = (0..steps * world.model().control_count()).map(|i| (0.1 * i as f64).sin()).collect();
    let weight = |i: usize| 0.3 + (i as f64).cos();
    let cotangents = Cotangents { poses: (0..size).map(weight).collect(), twists: (0..size).map(|i| weight(i + size)).collect() };
    let full = world.rollout(steps, &controls, Tape::Full).unwrap_or_else(|e| panic!("{e}"));
    let expected = full.backward(&cotangents).unwrap_or_else(|e| panic!("{e}"));
    assert!(expected.twists.iter().any(|g| g.abs() > 1e-3));
    for tape in [Tape::Every(1), Tape::Every(7), Tape::Every(1000), Tape::Sparse] {
        let run = world.rollout(steps, &controls, tape).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(run.states, full.states, "{tape:?}");
        let found = run.backward(&cotangents).unwrap_or_else(|e| panic!("{e}"));
        assert!(found == expected, "{tape:?}");
    }
    let sparse = world.rollout(steps, &controls, Tape::Sparse).unwrap_or_else(|e| panic!("{e}"));
    assert!(4 * sparse.tape_bytes() < full.tape_bytes(), "{} of {}", sparse.tape_bytes(), full.tape_bytes());
    // With the parameters held the rest is the same.
    let held = full.backward_wrt(&cotangents, Wrt::StatesAndControls).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((&held.poses, &held.twists, &held.controls), (&expected.poses, &expected.twists, &expected.controls));
    assert!(held.parameters.iter().all(|&g| g == 0.0) && expected.parameters.iter().any(|&g| g != 0.0));
}

#[test]
fn checkpoints_change_no_bit() {
    let choices = ["", "integrator = \"energy-momentum\"\n", "gyroscopic = \"forward\"\nfriction_cone = 6\n"];
    for text in choices.into_iter().flat_map(|choice| [PLANE, SPACE].map(|text| format!("{choice}{text}"))) {
        match carom_scene::from_toml(&text, "tapes").unwrap_or_else(|e| panic!("{e}")) {
            Scene::Planar(scene) => check(scene, 60),
            Scene::Spatial(scene) => check(scene, 60),
        }
    }
}
