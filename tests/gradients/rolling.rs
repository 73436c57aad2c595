//! Rolling and torsional friction: moments that hold and moments at their bound, in the plane and in space, under every integrator.

use crate::situations::agree_within;

/// What rows that hold by iteration leave, and the transpose identity.
const BOUNDS: (f64, f64) = (1e-6, 1e-11);

/// Checks a scene under every integrator.
fn agree(text: &str, before: usize, steps: usize, kinks: &[&str]) {
    for scheme in ["verlet", "euler", "energy-momentum"] {
        println!("{scheme}");
        agree_within(&format!("integrator = \"{scheme}\"\n{text}"), before, steps, BOUNDS, kinks);
    }
}

/// A disc that rolls down a gentle slope against its arm, and one that the arm holds.
#[test]
fn discs_in_the_plane() {
    for (arm, velocity) in [("0.004", "[0.6, -0.06]"), ("0.03", "[0, 0]")] {
        let text = format!(
            r#"
dimension = 2
[[body]]
name = "ground"
kind = "static"
shape = {{ half_space = [0.1, 1] }}
friction = 0.6
rolling = {arm}
[[body]]
name = "disc"
shape = {{ ball = 0.1 }}
mass = 0.8
position = [0.00995, 0.0995]
velocity = {velocity}
friction = 0.5
rolling = {arm}
"#
        );
        agree(&text, 5, 10, &["pose", "placement", "shape", "velocity"]);
    }
}

/// A ball that rolls and spins on a slope with both arms, one that neither lets go, and one that slides as it rolls.
#[test]
fn balls_in_space() {
    let cases = [
        ("0.004", "0.006", "0.6", "[0.6, 0.3, -0.06]", "[-3, 6, 2]"),
        ("0.03", "0.05", "0.6", "[0, 0, 0]", "[0, 0, 0]"),
        ("0.004", "0.006", "0.05", "[1.5, 0.5, -0.15]", "[0, 0, 4]"),
        ("0.004", "0", "0.6", "[0.6, 0.3, -0.06]", "[-3, 6, 2]"),
    ];
    for (rolling, torsional, friction, velocity, spin) in cases {
        println!("{rolling} {torsional} {friction}");
        let text = format!(
            r#"
dimension = 3
[[body]]
name = "ground"
kind = "static"
shape = {{ half_space = [0.1, 0.02, 1] }}
friction = {friction}
rolling = {rolling}
torsional = {torsional}
[[body]]
name = "ball"
shape = {{ ball = 0.1 }}
mass = 0.8
position = [0.00995, 0.00199, 0.0995]
velocity = {velocity}
spin = {spin}
friction = {friction}
rolling = {rolling}
torsional = {torsional}
"#
        );
        agree(&text, 5, 10, &["pose", "placement", "shape", "velocity"]);
    }
}

/// A rule of a pair stands in for the mean.
#[test]
fn a_rule_of_a_pair() {
    use carom_dynamics::World;
    use carom_dynamics::gradient::{Cotangents, Tape};
    use carom_scene::Scene;
    let text = |arm: f64| {
        format!(
            r#"
dimension = 2
[[body]]
name = "ground"
kind = "static"
shape = {{ half_space = [0, 1] }}
[[body]]
name = "disc"
shape = {{ ball = 0.1 }}
position = [0, 0.1]
velocity = [0.5, 0]
spin = -5
[[pair]]
between = ["ground", "disc"]
rolling = {arm}
"#
        )
    };
    let world = |arm: f64| match carom_scene::from_toml(&text(arm), "pair") {
        Ok(Scene::Planar(scene)) => World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}")),
        _ => panic!("the plane is meant"),
    };
    let run = world(0.002).rollout(100, &[], Tape::Full).unwrap();
    let mut bar = Cotangents { poses: vec![0.0; 6], twists: vec![0.0; 6] };
    bar.poses[3] = 1.0;
    let gradient = run.backward(&bar).unwrap();
    let slot = run.layout().pairs[0].rolling.unwrap();
    // x = v0 t - c g t^2/(2 kappa r).
    let exact = -9.81 * 0.25 / (2.0 * 1.5 * 0.1);
    assert!((gradient.parameters[slot] / exact - 1.0).abs() < 1e-9, "{} {exact}", gradient.parameters[slot]);
}
