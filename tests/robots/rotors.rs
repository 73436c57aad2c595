//! Rotors on joints: orders of error against the reduced equations, impacts, energy, momentum, derivatives.

use crate::machines::{arm, has_order, plane, run, space};
use crate::reduced::{Motion, Reduced};
use carom_dynamics::World;
use carom_geometry::Geometry;
use carom_tests::differences::check_text;
use std::f64::consts::TAU;

/// A double pendulum in the plane whose hinges are driven.
const DOUBLE: &str = r#"dimension = 2
[[body]]
name = "upper"
mass = 1.0
inertia = 0.04
position = [0.5, 0.0]
[[body]]
name = "lower"
mass = 0.7
inertia = 0.02
position = [1.3, 0.0]
[[joint]]
name = "shoulder"
kind = "hinge"
between = ["upper", "world"]
anchor = [0, 0]
motor = { control = true }
armature = 0.3
[[joint]]
name = "elbow"
kind = "hinge"
between = ["lower", "upper"]
anchor = [1, 0]
motor = { control = true }
armature = 0.2
"#;

/// Three hinges about perpendicular axes.
fn crossed() -> String {
    arm([0.2, 0.3, 0.1])
}

/// A slider with a rotor between two hinges: it rides on a spinning arm.
const RIDING: &str = r#"dimension = 3
[[body]]
name = "arm"
mass = 1.0
inertia = [0.05, 0.06, 0.05]
position = [0.2, 0.0, 0.0]
[[body]]
name = "rider"
mass = 0.8
inertia = [0.02, 0.03, 0.04]
position = [0.5, 0.1, 0.0]
[[body]]
name = "flap"
mass = 0.5
inertia = [0.03, 0.02, 0.01]
position = [0.8, 0.1, 0.1]
[[joint]]
name = "spin"
kind = "hinge"
between = ["arm", "world"]
anchor = [0, 0, 0]
axis = [0, 0, 1]
motor = { control = true }
armature = 0.1
[[joint]]
name = "slide"
kind = "slider"
between = ["rider", "arm"]
anchor = [0.5, 0, 0]
axis = [1, 0, 0]
motor = { control = true }
armature = 2.0
[[joint]]
name = "swing"
kind = "hinge"
between = ["flap", "rider"]
anchor = [0.6, 0.1, 0.05]
axis = [0, 1, 0]
motor = { control = true }
armature = 0.05
"#;

fn plain(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("armature")).map(|line| format!("{line}\n")).collect()
}

fn rotors(text: &str) -> Vec<f64> {
    let number = |line: &str| line.strip_prefix("armature = ").map(|x| x.parse().expect("a number"));
    text.lines().filter_map(number).collect()
}

fn forces(count: usize) -> Vec<f64> {
    [1.5, -1.1, 0.6][..count].to_vec()
}

/// Errors of the coordinates after a second at 50, 100 and 200 steps a second, over those of the reduced equations.
fn errors<G: Geometry>(text: &str, integrator: &str, open: fn(&str) -> World<G>) -> [f64; 3] {
    let start = |world: &World<G>| -> Motion { (world.joint_q(), vec![0.8; world.joint_names().len()]) };
    let mut reduced = Reduced { world: open(&plain(text)), rotors: rotors(text), force: |_, _| Vec::new() };
    let count = reduced.rotors.len();
    reduced.force = if count == 2 { |_, _| forces(2) } else { |_, _| forces(3) };
    let wanted = reduced.run(start(&reduced.world), 1.0, 2000);
    let without = Reduced { rotors: vec![0.0; count], ..reduced }.run(start(&open(&plain(text))), 1.0, 2000);
    // Angles come back without their turns.
    let turned = |x: f64| (x - TAU * (x / TAU).round()).abs();
    let apart = |a: &Motion, b: &Motion| a.0.iter().zip(&b.0).fold(0.0f64, |m, (a, b)| m.max(turned(a - b)));
    assert!(apart(&wanted, &without) > 0.1, "the rotors matter: {wanted:?} {without:?}");
    [50u32, 100, 200].map(|rate| {
        let mut world = open(&format!("integrator = \"{integrator}\"\nstep = {}\n{text}", 1.0 / f64::from(rate)));
        let names = world.joint_names();
        let rates: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 0.8)).collect();
        world.set_joints(&[], &rates).expect("rates");
        run(&mut world, rate as usize, &forces(count));
        apart(&(world.joint_q(), Vec::new()), &wanted)
    })
}

#[test]
fn verlet_has_order_two() {
    has_order(errors(DOUBLE, "verlet", plane), 2.0, 1e-3, "double pendulum");
    has_order(errors(&crossed(), "verlet", space), 2.0, 1e-3, "crossed axes");
    has_order(errors(RIDING, "verlet", space), 2.0, 1e-3, "slider on a spinning arm");
}

#[test]
fn euler_has_order_one() {
    has_order(errors(DOUBLE, "euler", plane), 1.0, 5e-2, "double pendulum");
    has_order(errors(&crossed(), "euler", space), 1.0, 5e-2, "crossed axes");
    has_order(errors(RIDING, "euler", space), 1.0, 5e-2, "slider on a spinning arm");
}

#[test]
fn energy_momentum_has_order_two() {
    has_order(errors(DOUBLE, "energy-momentum", plane), 2.0, 1e-3, "double pendulum");
    has_order(errors(&crossed(), "energy-momentum", space), 2.0, 1e-3, "crossed axes");
}

/// What `energy-momentum` cannot do is refused.
#[test]
fn energy_momentum_refuses_rotors_that_slide() {
    let text = format!("integrator = \"energy-momentum\"\n{RIDING}");
    let error = carom_scene::from_toml(&text, "riding").map(|_| ()).expect_err("a slide with a rotor").to_string();
    assert!(error.contains("slide") && error.contains("armature") && error.contains("verlet"), "{error}");
}

/// A pendulum swings as one with more inertia.
#[test]
fn a_pendulum_swings_with_the_inertia_of_its_rotor() {
    let text = "dimension = 2\nstep = 0.001\n[[body]]\nname = \"bob\"\nmass = 2.0\ninertia = 0.1\nposition = [0.0, -0.6]\n\
        [[joint]]\nname = \"pin\"\nkind = \"hinge\"\nbetween = [\"bob\", \"world\"]\nanchor = [0, 0]\narmature = 0.9\n";
    let mut world = plane(text);
    let amplitude = 1e-3;
    world.set_joints(&[("pin", amplitude)], &[]).expect("a small swing");
    let period = TAU * ((0.1f64 + 2.0 * 0.36 + 0.9) / (2.0 * 9.81 * 0.6)).sqrt();
    let steps = (0.25 * period / 0.001).round();
    for _ in 0..steps as usize {
        world.step().unwrap_or_else(|e| panic!("{e}"));
    }
    let phase = TAU * steps * 0.001 / period;
    assert!((world.joint_q()[0] - amplitude * phase.cos()).abs() < 1e-6 * amplitude, "{}", world.joint_q()[0]);
    let rate = -amplitude * phase.sin() * TAU / period;
    let kinetic = 0.5 * (0.1 + 2.0 * 0.36 + 0.9) * rate * rate;
    assert!((world.ledger().kinetic / kinetic - 1.0).abs() < 1e-5, "the ledger counts the rotor");
}

/// The mass matrix is that without rotors and their inertias on the diagonal.
#[test]
fn the_mass_matrix_has_rotors_on_its_diagonal() {
    let (with, without) = (space(&crossed()), space(&plain(&crossed())));
    let difference = with.mass_matrix() - without.mass_matrix();
    for i in 0..3 {
        for j in 0..3 {
            let wanted = if i == j { rotors(&crossed())[i] } else { 0.0 };
            assert!((difference[(i, j)] - wanted).abs() < 1e-15);
        }
    }
}

/// A ball strikes an arm: the impulse is that of the reduced mass.
#[test]
fn impacts_feel_the_rotor() {
    let scene = |restitution: f64, armature: f64| {
        format!(
            "dimension = 2\ngravity = [0, 0]\nstep = 1e-5\n[[body]]\nname = \"arm\"\nshape = {{ box = [1.0, 0.1] }}\nmass = 1.0\n\
             position = [0.5, 0.0]\nfriction = 0\nrestitution = {restitution}\n[[body]]\nname = \"ball\"\nshape = {{ ball = 0.05 }}\n\
             mass = 0.4\nposition = [0.8, 0.10001]\nvelocity = [0, -2]\nfriction = 0\nrestitution = {restitution}\n[[joint]]\nname = \"pin\"\n\
             kind = \"hinge\"\nbetween = [\"arm\", \"world\"]\nanchor = [0, 0]\narmature = {armature}\n"
        )
    };
    for (restitution, armature) in [(0.0, 0.0), (0.0, 0.5), (0.7, 0.5), (1.0, 3.0)] {
        let text = scene(restitution, armature);
        let text = if armature == 0.0 { plain(&text) } else { text };
        let mut world = plane(&text);
        run(&mut world, 20, &[]);
        let rate = world.state().twists[0].ang.as_slice()[0];
        let inertia = (1.0 + 0.01) / 12.0 + 0.25 + armature;
        let impulse = (1.0 + restitution) * 2.0 / (1.0 / 0.4 + 0.64 / inertia);
        let wanted = -impulse * 0.8 / inertia;
        assert!((rate / wanted - 1.0).abs() < 1e-4, "{restitution} {armature}: {rate} {wanted}");
        let ledger = world.ledger();
        let lost = 0.5 * 0.4 * 4.0 * (1.0 - restitution * restitution) * (1.0 / 0.4) / (1.0 / 0.4 + 0.64 / inertia);
        assert!((ledger.flow.impact_loss - lost).abs() < 1e-9, "{} {lost}", ledger.flow.impact_loss);
        assert!(ledger.drift.abs() < 1e-3);
    }
}

/// Without gravity, two bodies and a rotor between them keep their energy and momenta.
#[test]
fn what_floats_keeps_energy_and_momenta() {
    let text = |integrator: &str| {
        format!("integrator = \"{integrator}\"\nstep = 0.02\ngravity = [0, 0, 0]\n{}", crossed())
            .replace("motor = { control = true }\n", "")
            .replace("between = [\"a\", \"world\"]", "between = [\"a\", \"base\"]")
            + "[[body]]\nname = \"base\"\nmass = 2.0\ninertia = [0.2, 0.3, 0.25]\nposition = [-0.3, 0, 0]\n"
    };
    for integrator in ["verlet", "energy-momentum"] {
        let mut world = space(&text(integrator));
        world.set_joints(&[], &[("first", 2.0), ("second", -1.5), ("third", 3.0)]).expect("rates");
        let start = world.ledger();
        let mut band = 0.0f64;
        for _ in 0..2000 {
            world.step().unwrap_or_else(|e| panic!("{e}"));
            band = band.max((world.ledger().kinetic - start.kinetic).abs() / start.kinetic);
        }
        let end = world.ledger();
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        println!("{integrator}: band {band:.2e}, drift {:.2e}, joint work {:.2e}", end.drift, end.flow.joint_work);
        let moved = [apart(&start.momentum, &end.momentum), apart(&start.angular_momentum, &end.angular_momentum)];
        println!("{integrator}: momenta moved by {moved:?}");
        // `verlet` takes the gyroscopic torque of every body by itself, to second order.
        let allowed = [1e-10, if integrator == "verlet" { 1e-3 } else { 1e-10 }];
        assert!(moved.iter().zip(allowed).all(|(moved, allowed)| *moved < allowed), "{integrator}: {moved:?} of {start:?}");
        assert!(band < if integrator == "verlet" { 2e-2 } else { 1e-11 }, "{integrator}: {band:e}");
        assert!(end.flow.joint_work.abs() < 2e-2 * start.kinetic);
        if integrator == "energy-momentum" {
            assert!((end.drift - start.drift).abs() < 1e-10 * start.kinetic, "{:e}", end.drift - start.drift);
        }
    }
}

/// Tangents and gradients against differences, the inertia of the rotors among the parameters.
#[test]
fn derivatives_agree_with_differences() {
    let struck = "dimension = 2\nstep = 0.01\n[[body]]\nname = \"arm\"\nshape = { box = [1.0, 0.1] }\nmass = 1.0\nposition = [0.5, 0.0]\n\
        friction = 0.3\nrestitution = 0.5\n[[body]]\nname = \"ball\"\nshape = { ball = 0.05 }\nmass = 0.4\nposition = [0.8, 0.15]\n\
        velocity = [0.3, -2]\nfriction = 0.3\nrestitution = 0.5\n[[joint]]\nname = \"pin\"\nkind = \"hinge\"\nbetween = [\"arm\", \"world\"]\n\
        anchor = [0, 0]\narmature = 0.5\n";
    for (what, text) in [
        ("double", format!("step = 0.01\n{DOUBLE}")),
        ("double, euler", format!("step = 0.01\nintegrator = \"euler\"\n{DOUBLE}")),
        ("double, energy-momentum", format!("step = 0.01\nintegrator = \"energy-momentum\"\n{DOUBLE}")),
        ("crossed", format!("step = 0.01\n{}", crossed())),
        ("crossed, euler", format!("step = 0.01\nintegrator = \"euler\"\n{}", crossed())),
        ("crossed, energy-momentum", format!("step = 0.01\nintegrator = \"energy-momentum\"\n{}", crossed())),
        ("riding", format!("step = 0.01\n{RIDING}")),
        ("struck", struck.to_string()),
    ] {
        let findings = check_text(&text, 3, 8, 5);
        println!("{what}: {:?}, transpose {:.1e}, flagged {}", findings.worst(), findings.transpose, findings.flagged);
        assert!(findings.worst().0 < 1e-6, "{what}: {:?}", findings.agreements);
        assert!(findings.transpose < 1e-10, "{what}");
    }
}

/// A rotor slows what its joint's control can do: the sign and the size of the derivative.
#[test]
fn more_inertia_turns_less() {
    let mut world = plane(&format!("step = 0.001\n{DOUBLE}"));
    world.step_with(&[1.0, 0.0]).expect("a step");
    let mut heavy = plane(&format!("step = 0.001\n{}", DOUBLE.replace("armature = 0.3", "armature = 30.0")));
    heavy.step_with(&[1.0, 0.0]).expect("a step");
    assert!(world.joint_v()[0].abs() > 10.0 * heavy.joint_v()[0].abs());
}
