//! Choices of the scene beside the defaults: the gyroscopic torque taken forward, friction pyramids.

use crate::scenes::{FLIGHT_IN_SPACE, ball_on_slope, box_on_slope, falling_ball_in_space, falling_box_in_space};
use crate::situations::agree_within;
use carom_dynamics::World;
use carom_scene::Scene;

/// Relative error allowed where nothing is iterated.
const EXPLICIT: f64 = 1e-8;

/// Relative error allowed where rows hold by iteration.
const HELD: f64 = 1e-6;

/// Violation of <J u, w> = <u, J' w> allowed.
const TRANSPOSED: f64 = 1e-12;

/// The same where impulses of redundant contacts are undetermined.
const REDUNDANT: f64 = 1e-9;

#[test]
fn the_gyroscopic_torque_taken_forward() {
    let flight = format!("gyroscopic = \"forward\"\nstep = 0.02\n{FLIGHT_IN_SPACE}torque = [0.5, 0.2, -0.1]\n");
    agree_within(&flight, 0, 10, (EXPLICIT, TRANSPOSED), &[]);
    let jointed = r#"
dimension = 3
gyroscopic = "forward"
[[body]]
name = "a"
shape = { box = [0.3, 0.2, 0.1] }
position = [0.2, 0, 0]
spin = [0.5, 1, -0.4]
[[body]]
name = "b"
shape = { box = [0.1, 0.2, 0.1] }
position = [0.2, -0.3, 0.3]
spin = [0.2, 4, 0]
[[joint]]
kind = "hinge"
between = ["a", "world"]
anchor = [0, 0, 0]
axis = [0.3, 1, 0.2]
motor = { control = true, max = 10.0 }
[[joint]]
kind = "spring"
between = ["a", "b"]
anchors = [[0.3, 0.05, 0], [0.2, -0.2, 0.25]]
stiffness = 100
damping = 1
"#;
    agree_within(jointed, 0, 10, (HELD, TRANSPOSED), &[]);
    let falling = falling_box_in_space().replace("spin = [2, -3, 1]", "spin = [2, -3, 1]\nspin_damping = 0.1");
    let pushed = "[[force]]\nbody = \"a\"\nforce = [1, 2, 0.3]\nat = [0.1, 0.05, 0.02]";
    let falling = format!("gyroscopic = \"forward\"\n{falling}{pushed}\n");
    agree_within(&falling, 0, 20, (HELD, TRANSPOSED), &[]);
}

#[test]
fn balls_on_friction_pyramids() {
    // Between two corners of the pyramid the impulse follows the side, elsewhere it stays at a corner.
    for (friction, spin, edges) in
        [("0.8", "[2, 5, 1]", 8), ("0.05", "[1, -3, 0.5]", 8), ("0.05", "[4, 3, 0.5]", 6), ("0.05", "[0, 2, 0]", 4)]
    {
        println!("{edges} edges, friction {friction}");
        let text = format!("friction_cone = {edges}\n{}", ball_on_slope(friction, spin));
        agree_within(&text, 3, 10, (HELD, TRANSPOSED), &["pose", "placement", "shape"]);
    }
}

#[test]
fn boxes_on_a_slope() {
    for (velocity, friction) in [("[0, 0, 0]", "0.7"), ("[0.9, 0.5, -0.19]", "0.1"), ("[1, 0, -0.1]", "0.1")] {
        let text = format!("friction_cone = 4\n{}", box_on_slope(friction, velocity));
        agree_within(&text, 10, 10, (HELD, REDUNDANT), &["pose", "placement", "shape", "velocity"]);
    }
}

#[test]
fn a_ball_bounces_on_a_pyramid() {
    for law in ["auto", "newton", "reflections"] {
        println!("{law}");
        let text = format!("friction_cone = 6\nimpact = \"{law}\"\n{}", falling_ball_in_space());
        agree_within(&text, 0, 20, (HELD, TRANSPOSED), &[]);
    }
}

#[test]
fn a_box_that_slides_along_a_side_of_its_pyramid() {
    // Corners slow one component of the slip until both are equal; from there on the impulse moves along the side between two corners.
    let text = r#"
dimension = 3
friction_cone = 4
[materials.rough]
friction = 0.3
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 0, 1] }
material = "rough"
[[body]]
name = "a"
shape = { box = [0.4, 0.3, 0.2] }
position = [0, 0, 0.1]
velocity = [0.53, 0.5, 0]
material = "rough"
"#;
    agree_within(text, 10, 10, (HELD, REDUNDANT), &["pose", "placement", "shape", "velocity"]);
    let Ok(Scene::Spatial(scene)) = carom_scene::from_toml(text, "side") else { panic!("a scene in space") };
    let mut world = World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}"));
    for _ in 0..20 {
        world.step().unwrap_or_else(|e| panic!("{e}"));
    }
    let v = world.state().twists[1].lin;
    assert!((v[0] - v[1]).abs() < 1e-9 && v[0] > 0.1, "{v}");
}
