//! A control and a spring on one joint: the same motion as two joints on one axis, and an oscillator's closed form.

use carom_dynamics::World;
use carom_math::{Planar, Spatial};
use carom_scene::{Scene, from_toml};

const ARM: &str = r#"
dimension = 3
step = 0.005
[[body]]
name = "upper"
shape = { capsule = [0.4, 0.05] }
position = [0.2, 0, 0]
spin = [0, 1, 0.5]
[[body]]
name = "lower"
shape = { capsule = [0.4, 0.05] }
position = [0.6, 0, 0]
[[joint]]
name = "shoulder"
kind = "ball"
between = ["upper", "world"]
anchor = [0, 0, 0]
"#;

const ELBOW: &str = r#"
[[joint]]
kind = "hinge"
between = ["lower", "upper"]
anchor = [0.4, 0, 0]
axis = [0, 1, 0]
"#;

fn run(joints: &str) -> Vec<f64> {
    let Scene::Spatial(scene) = from_toml(&format!("{ARM}{joints}"), "arm.toml").unwrap() else { unreachable!("dimension = 3") };
    let mut world = World::<Spatial>::new(scene.model, scene.state).unwrap();
    let mut out = Vec::new();
    for step in 0..200 {
        // Beyond its range for a while.
        world.step_with(&[6.0 * (0.05 * step as f64).sin()]).unwrap();
    }
    world.state().poses.iter().for_each(|pose| out.extend(pose.position.iter()));
    world.state().twists.iter().for_each(|twist| out.extend(twist.ang.iter()));
    out
}

#[test]
fn one_joint_moves_as_two_on_its_axis() {
    let extra = "limits = [-0.5, 0.8]\nfriction = 0.02\n";
    let one = run(&format!("{ELBOW}{extra}motor = {{ control = true, position = 0.2, stiffness = 9, damping = 0.4, max = 4 }}"));
    let two = run(&format!(
        "{ELBOW}{extra}name = \"driven\"\nmotor = {{ control = true, max = 4 }}\n{ELBOW}name = \"sprung\"\nmotor = {{ position = 0.2, stiffness = 9, damping = 0.4, max = 1e9 }}"
    ));
    let apart = one.iter().zip(&two).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
    assert!(apart < 1e-9, "{apart:e}");
    // The spring is felt.
    let bare = run(&format!("{ELBOW}{extra}motor = {{ control = true, max = 4 }}"));
    assert!(one.iter().zip(&bare).any(|(a, b)| (a - b).abs() > 1e-2));
}

#[test]
fn a_control_holds_against_its_spring() {
    // At rest k (c - position) = control: a wheel without weight on it.
    let text = r#"
dimension = 2
gravity = [0, 0]
step = 0.01
[[body]]
name = "wheel"
shape = { ball = 0.1 }
[[joint]]
kind = "hinge"
between = ["wheel", "world"]
anchor = [0, 0]
motor = { control = true, position = 0.3, stiffness = 5, damping = 0.5, max = 2 }
"#;
    let Scene::Planar(scene) = from_toml(text, "wheel.toml").unwrap() else { unreachable!("dimension = 2") };
    for (control, angle) in [(1.5, 0.3 + 1.5 / 5.0), (-9.0, 0.3 - 2.0 / 5.0)] {
        let mut world = World::<Planar>::new(scene.model.clone(), scene.state.clone()).unwrap();
        for _ in 0..2000 {
            world.step_with(&[control]).unwrap();
        }
        let joint = &world.model().joints[0];
        let found = joint.coordinate(&world.state().poses[0], &carom_math::Pose::identity());
        assert!((found - angle).abs() < 1e-9, "{found} is not {angle}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    for (motor, key) in [
        ("{ control = true, position = 0.3 }", "position"),
        ("{ control = true, velocity = 1, max = 2 }", "does not go with"),
        ("{ velocity = 1, stiffness = 2, max = 2 }", "stiffness"),
    ] {
        let errors = from_toml(&format!("{ARM}{ELBOW}motor = {motor}"), "arm.toml").unwrap_err().to_string();
        assert!(errors.contains(key), "{errors}");
    }
}
