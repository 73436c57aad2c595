//! Quadratic drag in every road of the gradient: flight, links, patches, maps, mean velocities.

use crate::scenes::{FLIGHT_IN_PLANE, FLIGHT_IN_SPACE, ball_on_slope, held_pair, incline};
use crate::situations::agree_within;

/// The integrators it is tried under.
const SCHEMES: [&str; 3] = ["verlet", "euler", "energy-momentum"];

fn agree(text: &str, before: usize, steps: usize, bound: f64, kinks: &[&str]) {
    for scheme in SCHEMES {
        println!("{scheme}");
        agree_within(&format!("integrator = \"{scheme}\"\n{text}"), before, steps, (bound, 1e-12), kinks);
    }
}

/// Gives every body keys that stand before its position.
fn given(keys: &str, text: &str) -> String {
    assert!(text.contains("\nposition = "));
    text.replace("\nposition = ", &format!("\n{keys}\nposition = "))
}

/// Makes every body light enough to feel its drag.
fn dragged(text: &str) -> String {
    given("mass = 0.5\ndrag = 0.4", text)
}

/// The body of a scene alone, without the force that keeps it from the short road of a flight.
fn alone(text: &str) -> String {
    text[..text.find("[[force]]").unwrap()].to_string()
}

#[test]
fn flights() {
    for text in [FLIGHT_IN_PLANE, FLIGHT_IN_SPACE] {
        for text in [dragged(text), dragged(&alone(text))] {
            agree(&text, 0, 10, 1e-8, &[]);
            agree(&text.replace("damping = 0.1\n", "damping = 0.1\nlocked = [\"x\"]\n"), 0, 10, 1e-8, &[]);
        }
    }
}

#[test]
fn a_body_at_rest_has_no_slope() {
    // |v| v has the slope 0 at v = 0: nothing is divided by the speed.
    let text =
        dragged(&alone(FLIGHT_IN_PLANE)).replace("velocity = [1, 2]\n", "").replace("dimension = 2", "dimension = 2\ngravity = [0, 0]");
    agree(&text, 0, 5, 1e-8, &["velocity"]);
}

#[test]
fn links() {
    agree(&dragged(&held_pair("kind = \"hinge\"\nanchor = [0, 0, 0]\naxis = [0.3, 1, 0.2]")), 60, 8, 1e-7, &[]);
    let pendulum = r#"
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
[[joint]]
kind = "hinge"
between = ["b", "a"]
anchor = [0.3, 0]
"#;
    agree(&dragged(pendulum), 40, 20, 1e-7, &[]);
}

#[test]
fn contacts() {
    agree(&given("drag = 40", &incline("0.2", "[1, 0.5]")), 2, 10, 1e-6, &["pose", "placement", "shape"]);
    agree(&given("drag = 40", &ball_on_slope("0.8", "[2, 5, 1]")), 3, 10, 1e-6, &["pose", "placement", "shape"]);
}
