//! The integrator `energy-momentum`, situation by situation: flight, joints, springs, motors, limits, rest, sticking, sliding, impacts.

use crate::scenes::{
    FALLING_ARM, FALLING_BALL, FALLING_BOX, FLIGHT_IN_PLANE, FLIGHT_IN_SPACE, JOINTS_IN_SPACE, MOTORS_AND_LIMITS, ball_on_slope,
    box_on_slope, falling_ball_in_space, falling_box_in_space, held_pair, hinged, incline,
};
use crate::situations::agree_within;

/// Relative error allowed where nothing is iterated but one body's own rate.
const EXPLICIT: f64 = 1e-8;

/// Relative error allowed where rows hold by iteration.
const HELD: f64 = 1e-6;

/// Violation of <J u, w> = <u, J' w> allowed.
const TRANSPOSED: f64 = 1e-12;

/// The same where impulses of redundant contacts are undetermined.
const REDUNDANT: f64 = 1e-9;

/// Checks a scene under the integrator.
fn agree(text: &str, before: usize, steps: usize, bound: f64, kinks: &[&str]) {
    agree_within(&format!("integrator = \"energy-momentum\"\n{text}"), before, steps, (bound, TRANSPOSED), kinks);
}

#[test]
fn flight() {
    agree(FLIGHT_IN_PLANE, 0, 10, EXPLICIT, &[]);
    agree(FLIGHT_IN_SPACE, 0, 10, EXPLICIT, &[]);
    // Axes that are locked take no part.
    agree(&FLIGHT_IN_SPACE.replace("damping = 0.1\n", "damping = 0.1\nlocked = [\"x\"]\n"), 0, 10, EXPLICIT, &[]);
}

#[test]
fn pendulums_in_the_plane() {
    let text = r#"
dimension = 2
step = 0.01
[[body]]
name = "a"
shape = { box = [0.3, 0.1] }
position = [0.15, 0]
damping = 0.1
spin_damping = 0.3
[[body]]
name = "b"
shape = { box = [0.3, 0.1] }
position = [0.45, 0]
[[joint]]
kind = "hinge"
between = ["a", "world"]
anchor = [0, 0]
FRICTION
[[joint]]
kind = "hinge"
between = ["b", "a"]
anchor = [0.3, 0]
"#;
    agree(&text.replace("FRICTION", ""), 0, 30, HELD, &[]);
    agree(&text.replace("FRICTION", "friction = 0.02"), 0, 20, HELD, &[]);
    // So fast that substeps are halved.
    agree(&text.replace("FRICTION", "").replace("position = [0.45, 0]", "position = [0.45, 0]\nspin = 35"), 0, 4, HELD, &[]);
}

#[test]
fn a_slider_crank_in_the_plane() {
    let text = r#"
dimension = 2
step = 0.01
[[body]]
name = "crank"
shape = { box = [0.2, 0.04] }
position = [0.1, 0]
spin = 4
[[body]]
name = "rod"
shape = { box = [0.5, 0.04] }
position = [0.45, 0]
[[body]]
name = "piston"
shape = { box = [0.1, 0.1] }
position = [0.7, 0]
[[joint]]
kind = "hinge"
between = ["crank", "world"]
anchor = [0, 0]
motor = { control = true, max = 10.0 }
[[joint]]
kind = "hinge"
between = ["rod", "crank"]
anchor = [0.2, 0]
[[joint]]
kind = "hinge"
between = ["piston", "rod"]
anchor = [0.7, 0]
[[joint]]
kind = "slider"
between = ["piston", "world"]
anchor = [0.7, 0]
axis = [1, 0]
"#;
    // Changed bodies and anchors open the loop, which the first step closes; differences see the closing as the derivative does.
    agree(text, 3, 10, HELD, &[]);
}

#[test]
fn every_joint_in_space() {
    for joint in JOINTS_IN_SPACE {
        println!("{joint}");
        let text = held_pair(joint);
        let kinks: &[&str] = if joint.contains("rope") { &["pose", "joints"] } else { &[] };
        agree(&text, 1, 5, HELD, kinks);
        // The same joint between two bodies that move.
        let between = joint.replace("[0, -0.1, 0.8]", "[0.2, -0.35, 0.35]").replace("rest = 0.6", "rest = 0.3");
        let text = text.replace(
            "kind = \"ball\"\nbetween = [\"a\", \"b\"]\nanchor = [0.2, -0.2, 0.2]",
            "kind = \"ball\"\nbetween = [\"b\", \"world\"]\nanchor = [0.2, -0.3, 0.5]",
        );
        let text = text.replace("between = [\"a\", \"world\"]", "between = [\"a\", \"b\"]").replace(joint, &between);
        agree(&text, 1, 5, HELD, kinks);
    }
}

#[test]
fn motors_and_limits() {
    for joint in MOTORS_AND_LIMITS.into_iter().chain(["motor = { control = true, max = 0.3 }"]) {
        println!("{joint}");
        let text = format!("integrator = \"energy-momentum\"\n{}", hinged(joint));
        // At a stop every derivative is the rounding of terms that cancel, 1e-15 in absolute terms.
        let (before, kinks, transposed): (usize, &[&str], f64) =
            if joint.starts_with("limits") { (60, &["pose", "joints"], 1e-11) } else { (2, &[], TRANSPOSED) };
        agree_within(&text, before, 10, (HELD, transposed), kinks);
        let space = text
            .replace("dimension = 2", "dimension = 3")
            .replace("box = [0.3, 0.1]", "box = [0.3, 0.1, 0.2]")
            .replace("position = [0.15, 0]", "position = [0.15, 0, 0]")
            .replace("spin = -0.3", "spin = [0, 0.3, 0]")
            .replace("anchor = [0, 0]", "anchor = [0, 0, 0]\naxis = [0, -1, 0]");
        agree_within(&space, before, 10, (HELD, transposed), kinks);
    }
}

#[test]
fn a_spring_and_a_driven_body() {
    let text = r#"
dimension = 2
[[body]]
name = "wheel"
kind = "kinematic"
shape = { ball = 0.1 }
position = [0, 0.6]
velocity = [0.3, 0]
spin = 3
[[body]]
name = "a"
shape = { box = [0.3, 0.1] }
position = [0.3, 0]
[[body]]
name = "b"
shape = { box = [0.3, 0.1] }
position = [0.3, -0.5]
spin = 2
[[joint]]
kind = "spring"
between = ["a", "wheel"]
anchors = [[0.2, 0], [0.05, 0.6]]
stiffness = 60
damping = 0.5
rest = 0.4
[[joint]]
kind = "spring"
between = ["b", "a"]
anchors = [[0.35, -0.45], [0.3, 0]]
stiffness = 80
damping = 0.2
rest = 0.4
[[joint]]
kind = "distance"
between = ["b", "wheel"]
anchors = [[0.2, -0.5], [-0.05, 0.6]]
"#;
    agree(text, 0, 20, HELD, &[]);
}

#[test]
fn sliding_and_sticking_in_the_plane() {
    agree(&incline("0.2", "[1, 0.5]"), 2, 10, HELD, &["pose", "placement", "shape"]);
    agree(&incline("0.7", "[0, 0]"), 2, 10, HELD, &["pose", "placement", "shape", "velocity"]);
}

#[test]
fn rolling_and_sliding_balls_in_space() {
    for (friction, spin) in [("0.8", "[2, 5, 1]"), ("0.05", "[1, -3, 0.5]")] {
        for cone in ["", "friction_cone = 6"] {
            println!("{friction} {cone}");
            let text = format!("{cone}{}", ball_on_slope(friction, spin));
            agree(&text, 3, 10, HELD, &["pose", "placement", "shape"]);
        }
    }
}

#[test]
fn boxes_on_a_slope_in_space() {
    // Sliding on the round cone four corners are solved to 1e-10 only, which differences see; on a pyramid they are solved exactly.
    for (velocity, friction, cone) in [("[0, 0, 0]", "0.7", ""), ("[0.9, 0.5, -0.19]", "0.1", "friction_cone = 8")] {
        let text = format!("integrator = \"energy-momentum\"\n{cone}{}", box_on_slope(friction, velocity));
        agree_within(&text, 10, 10, (HELD, REDUNDANT), &["pose", "placement", "shape", "velocity"]);
    }
}

#[test]
fn a_ball_bounces() {
    agree(FALLING_BALL, 0, 20, HELD, &[]);
    agree(&falling_ball_in_space(), 0, 20, HELD, &[]);
}

#[test]
fn a_box_lands_on_a_corner() {
    for law in ["auto", "reflections", "gauss-seidel", "stronge", "newton"] {
        println!("{law}");
        agree(&format!("impact = \"{law}\"\n{FALLING_BOX}"), 0, 25, HELD, &[]);
    }
    agree(&falling_box_in_space(), 0, 25, HELD, &[]);
}

#[test]
fn an_arm_strikes_the_ground() {
    agree(FALLING_ARM, 30, 20, HELD, &[]);
}

#[test]
fn tied_bodies_meet_a_plate_that_moves() {
    // The event, the rod and the spring depend on both bodies, and all of it on the motion of the plate.
    let plane = r#"
dimension = 2
[materials.m]
friction = 0.1
restitution = 0.5
[[body]]
name = "plate"
kind = "kinematic"
shape = { box = [3, 0.1] }
position = [0, 0]
velocity = [0.2, 0.5]
spin = 0.3
material = "m"
[[body]]
name = "a"
shape = { ball = 0.1 }
position = [-0.2, 0.2]
velocity = [1.3, -1]
spin = 2
material = "m"
[[body]]
name = "b"
shape = { box = [0.3, 0.1] }
position = [0.3, 0.5]
spin = 1
material = "m"
[[joint]]
kind = "distance"
between = ["a", "b"]
anchors = [[-0.15, 0.25], [0.2, 0.5]]
[[joint]]
kind = "spring"
between = ["a", "b"]
anchors = [[-0.2, 0.15], [0.4, 0.5]]
stiffness = 40
damping = 0.5
rest = 0.5
"#;
    agree(plane, 0, 20, HELD, &[]);
    let space = plane
        .replace("dimension = 2", "dimension = 3")
        .replace("box = [3, 0.1]", "box = [3, 3, 0.1]")
        .replace(
            "position = [0, 0]\nvelocity = [0.2, 0.5]\nspin = 0.3",
            "position = [0, 0, 0]\nvelocity = [0.2, 0.1, 0.5]\nspin = [0.2, 0.3, 1]",
        )
        .replace(
            "position = [-0.2, 0.2]\nvelocity = [1.3, -1]\nspin = 2",
            "position = [-0.2, 0, 0.2]\nvelocity = [1.3, 0.1, -1]\nspin = [2, 1, -3]",
        )
        .replace("box = [0.3, 0.1]", "box = [0.3, 0.2, 0.1]")
        .replace("position = [0.3, 0.5]\nspin = 1", "position = [0.3, 0, 0.5]\nspin = [1, 2, -1]")
        .replace("[[-0.15, 0.25], [0.2, 0.5]]", "[[-0.15, 0.05, 0.2], [0.2, 0, 0.5]]")
        .replace("[[-0.2, 0.15], [0.4, 0.5]]", "[[-0.2, 0.02, 0.15], [0.4, 0.05, 0.5]]");
    agree(&space, 0, 20, HELD, &[]);
}
