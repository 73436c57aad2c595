//! The screw with respect to everything, its lead too: held by the world and between two bodies, free, driven, rubbing, at its limit.

use crate::scenes::held_pair;
use crate::situations::agree_within;

/// Checks a pair of bodies whose first is held by a screw.
fn agree(keys: &str, before: usize, kinks: &[&str]) {
    let joint = format!("kind = \"screw\"\nanchor = [0, 0, 0]\naxis = [0.3, 1, 0.2]\n{keys}");
    for scheme in ["verlet", "euler"] {
        println!("{scheme} {keys}");
        agree_within(&format!("integrator = \"{scheme}\"\n{}", held_pair(&joint)), before, 6, (1e-6, 1e-12), kinks);
    }
}

#[test]
fn screws() {
    agree("lead = 0.4", 1, &[]);
    agree("lead = -0.2", 30, &[]);
    agree("lead = 0.4\nfriction = 0.3", 2, &[]);
    agree("lead = 0.4\nmotor = { velocity = 3, max = 2 }", 2, &[]);
    agree("lead = 0.4\nmotor = { position = 7, stiffness = 3, damping = 0.4, max = 50 }", 2, &[]);
    agree("lead = 0.4\nmotor = { control = true, max = 5 }", 2, &[]);
}

/// d(way)/d(lead) of a nut on a vertical screw, from the closed form.
#[test]
fn the_way_of_a_nut_by_its_lead() {
    use carom_dynamics::World;
    use carom_dynamics::constraints::JointParameter;
    use carom_dynamics::gradient::{Cotangents, Tape};
    use carom_scene::Scene;
    let text = r#"
dimension = 3
[[body]]
name = "nut"
mass = 0.6
inertia = [3e-4, 3e-4, 2e-4]
[[joint]]
name = "thread"
kind = "screw"
between = ["nut", "world"]
anchor = [0, 0, 0]
axis = [0, 0, 1]
lead = 0.05
"#;
    let Ok(Scene::Spatial(scene)) = carom_scene::from_toml(text, "nut") else { panic!("space is meant") };
    let world = World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}"));
    let run = world.rollout(100, &[], Tape::Full).unwrap();
    let mut bar = Cotangents { poses: vec![0.0; 6], twists: vec![0.0; 6] };
    bar.poses[2] = 1.0;
    let gradient = run.backward(&bar).unwrap();
    let slot = run.layout().joints[0].start + world.model().joints[0].parameter_index(JointParameter::Lead).unwrap();
    // z = -g t^2/(2 (1 + k/lead^2)) with k = I (2 pi)^2/m.
    let (k, lead) = (2e-4 * std::f64::consts::TAU.powi(2) / 0.6, 0.05f64);
    let exact = -0.5 * 9.81 * 0.25 * (2.0 * k / lead.powi(3)) / (1.0 + k / (lead * lead)).powi(2);
    assert!((gradient.parameters[slot] / exact - 1.0).abs() < 1e-9, "{} {exact}", gradient.parameters[slot]);
}
