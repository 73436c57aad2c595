//! One situation each: flight, rest, sticking, sliding, impact, joints, limits, motors, springs.

use crate::scenes::{
    FALLING_ARM, FALLING_BALL, FALLING_BOX, FLIGHT_IN_PLANE, FLIGHT_IN_SPACE, JOINTS_IN_SPACE, MOTORS_AND_LIMITS, ball_on_slope,
    falling_ball_in_space, held_pair, hinged, incline,
};
use carom_tests::differences::check_text;

/// Relative error allowed where rows hold by iteration.
const HELD: f64 = 1e-6;

/// Relative error allowed of one-sided differences, which lose more digits.
const ONE_SIDED: f64 = 1e-5;

/// Violation of <J u, w> = <u, J' w> allowed where the impulses are determined.
const TRANSPOSED: f64 = 1e-12;

/// Runs a scene for `before` steps, then checks `steps` more; sorts named in `kinks` have only one-sided derivatives there.
fn agree(text: &str, before: usize, steps: usize, bound: f64, kinks: &[&str]) {
    agree_within(text, before, steps, (bound, TRANSPOSED), kinks);
}

/// The same with a bound for the transpose identity.
pub(crate) fn agree_within(text: &str, before: usize, steps: usize, (bound, transposed): (f64, f64), kinks: &[&str]) {
    let findings = check_text(text, before, steps, 1);
    let mut report = String::new();
    for a in &findings.agreements {
        report.push_str(&format!("{:12} {:9.2e} ({:9.2e} one-sided) of {:9.2e}\n", a.sort, a.error, a.one_sided, a.size));
    }
    println!("{report}transpose {:.1e}, flagged {}", findings.transpose, findings.flagged);
    assert!(findings.transpose < transposed, "transpose {:.1e}\n{report}", findings.transpose);
    for a in &findings.agreements {
        if kinks.contains(&a.sort) {
            assert!(a.one_sided < ONE_SIDED, "{} from one side\n{report}", a.sort);
        } else {
            assert!(a.error < bound, "{}\n{report}", a.sort);
        }
    }
}

#[test]
fn flight_in_the_plane() {
    agree(FLIGHT_IN_PLANE, 0, 10, 1e-8, &[]);
}

#[test]
fn flight_in_space() {
    agree(FLIGHT_IN_SPACE, 0, 10, 1e-8, &[]);
    agree(&format!("integrator = \"euler\"\n{FLIGHT_IN_SPACE}"), 0, 10, 1e-8, &[]);
}

#[test]
fn pendulums_in_the_plane() {
    let text = r#"
dimension = 2
[[body]]
name = "a"
shape = { box = [0.3, 0.1] }
position = [0.15, 0]
[[body]]
name = "b"
shape = { box = [0.3, 0.1] }
position = [0.45, 0]
[[joint]]
kind = "hinge"
between = ["a", "world"]
anchor = [0, 0]
friction = 0.02
[[joint]]
kind = "hinge"
between = ["b", "a"]
anchor = [0.3, 0]
"#;
    agree(text, 0, 20, HELD, &[]);
    agree(&format!("integrator = \"euler\"\n{text}"), 0, 20, HELD, &[]);
}

#[test]
fn every_joint_in_space() {
    for joint in JOINTS_IN_SPACE {
        println!("{joint}");
        // A taut rope at its length is a switch for whatever moves its ends.
        let kinks: &[&str] = if joint.contains("rope") { &["pose", "joints"] } else { &[] };
        agree(&held_pair(joint), 1, 5, HELD, kinks);
    }
}

#[test]
fn sliding_in_the_plane() {
    agree(&incline("0.2", "[1, 0.5]"), 2, 10, HELD, &["pose", "placement", "shape"]);
}

#[test]
fn sticking_in_the_plane() {
    agree(&incline("0.7", "[0, 0]"), 2, 10, HELD, &["pose", "placement", "shape", "velocity"]);
}

#[test]
fn rolling_and_sliding_balls_in_space() {
    for (friction, spin) in [("0.8", "[2, 5, 1]"), ("0.05", "[1, -3, 0.5]")] {
        agree(&ball_on_slope(friction, spin), 3, 10, HELD, &["pose", "placement", "shape"]);
    }
}

#[test]
fn motors_and_limits() {
    for joint in MOTORS_AND_LIMITS {
        println!("{joint}");
        let (before, kinks): (usize, &[&str]) = if joint.starts_with("limits") { (60, &["pose", "joints"]) } else { (2, &[]) };
        agree(&hinged(joint), before, 10, HELD, kinks);
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
}

#[test]
fn an_arm_strikes_the_ground() {
    agree(FALLING_ARM, 30, 20, HELD, &[]);
}

#[test]
fn restitution_inside_the_problem_and_rules_of_pairs() {
    // Under `off` the rebound is a target of stage 5. The pair's rule stands in for the mean of the bodies, each coefficient for itself.
    let text = r#"
dimension = 2
impact = "newton"
time_of_impact = "off"
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.9
restitution = 0.2
[[body]]
name = "a"
shape = { ball = 0.1 }
position = [0, 0.1]
velocity = [1, -1]
spin = 2
friction = 0.1
restitution = 0.9
[[pair]]
between = ["a", "floor"]
RULE
"#;
    for rule in ["friction = 0.3\nrestitution = 0.6", "friction = 0.3", "restitution = 0.6"] {
        println!("{rule}");
        agree(&text.replace("RULE", rule), 0, 5, HELD, &["pose", "placement", "shape"]);
    }
}
