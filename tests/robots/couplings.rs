//! Couplings of joints: gear trains, differentials, mimic grippers against closed forms; no drift; whole turns; errors; derivatives.

use crate::reduced::{plane, space};
use carom_math::Vector;
use carom_tests::differences::check_text;
use std::f64::consts::TAU;

/// Discs on fixed axles in the plane, all driven, with their inertias.
fn discs(step: f64, inertias: &[f64], more: &str) -> String {
    let mut out = format!("dimension = 2\ngravity = [0, 0]\nstep = {step}\n");
    for (i, inertia) in inertias.iter().enumerate() {
        out += &format!(
            "[[body]]\nname = \"disc{i}\"\nmass = 1\ninertia = {inertia}\nposition = [{i}, 0]\n[[joint]]\nname = \"axle{i}\"\nkind = \"hinge\"\n\
             between = [\"disc{i}\", \"world\"]\nanchor = [{i}, 0]\nmotor = {{ control = true }}\n"
        );
    }
    out + more
}

fn coupling(terms: &str) -> String {
    format!("[[joint]]\nname = \"gear\"\nkind = \"coupling\"\njoints = {{ {terms} }}\n")
}

#[test]
fn a_gear_train_turns_as_one_body() {
    // x1 = -x0/2, x2 = -3 x1: one freedom, of inertia I0 + I1/4 + 9 I2/4.
    let gears = coupling("axle0 = 1, axle1 = 2") + &coupling("axle1 = 3, axle2 = 1").replace("\"gear\"", "\"second\"");
    for integrator in ["verlet", "euler"] {
        let text = discs(0.01, &[0.5, 0.8, 0.3], &gears);
        let mut world = plane(&format!("integrator = \"{integrator}\"\n{text}"));
        for _ in 0..100 {
            world.step_with(&[2.0, 0.4, 0.0]).unwrap_or_else(|e| panic!("{e}"));
        }
        let inertia = 0.5 + 0.8 / 4.0 + 9.0 * 0.3 / 4.0;
        let force = 2.0 - 0.4 / 2.0;
        let (q, v) = (world.joint_q(), world.joint_v());
        assert!((v[0] - force / inertia).abs() < 1e-10, "{integrator}: {v:?}");
        // A constant force is exact under `verlet`.
        assert!((q[0] - 0.5 * force / inertia).abs() < if integrator == "verlet" { 1e-10 } else { 0.02 }, "{integrator}: {q:?}");
        assert!((q[1] + 0.5 * q[0]).abs() < 1e-11 && (q[2] + 3.0 * q[1]).abs() < 1e-11, "{q:?}");
        assert!((world.ledger().drift).abs() < 1e-2);
    }
}

#[test]
fn a_differential_shares_its_torque() {
    // Left and right wheels and the cage between: l + r = 2 c.
    let text = discs(0.01, &[0.2, 0.3, 0.5], &coupling("axle0 = 1, axle1 = 1, axle2 = -2"));
    let mut world = plane(&text);
    for _ in 0..50 {
        world.step_with(&[0.1, 0.0, 3.0]).unwrap_or_else(|e| panic!("{e}"));
    }
    // I_l a_l = 0.1 + m, I_r a_r = m, I_c a_c = 3 - 2 m, a_l + a_r = 2 a_c.
    let m = (2.0 * 3.0 / 0.5 - 0.1 / 0.2) / (1.0 / 0.2 + 1.0 / 0.3 + 4.0 / 0.5);
    let wanted = [(0.1 + m) / 0.2, m / 0.3, (3.0 - 2.0 * m) / 0.5].map(|a| 0.5 * a);
    let found = world.joint_v();
    assert!(wanted.iter().zip(&found).all(|(w, f)| (w - f).abs() < 1e-10), "{wanted:?} {found:?}");
}

/// Two wheels in space on crossed axles.
fn wheels(more: &str) -> String {
    format!(
        "dimension = 3\n{more}[[body]]\nname = \"a\"\nmass = 1\ninertia = [0.2, 0.3, 0.4]\nposition = [0, 0, 0]\n[[body]]\nname = \"b\"\nmass = 1\n\
         inertia = [0.1, 0.2, 0.1]\nposition = [1, 0, 0]\n[[joint]]\nname = \"first\"\nkind = \"hinge\"\nbetween = [\"a\", \"world\"]\n\
         anchor = [0, 0, 0]\naxis = [0, 0, 1]\nmotor = {{ control = true }}\narmature = 0.1\n[[joint]]\nname = \"second\"\nkind = \"hinge\"\n\
         between = [\"b\", \"world\"]\nanchor = [1, 0, 0]\naxis = [0, 1, 0]\nmotor = {{ control = true }}\n[[joint]]\nname = \"bevel\"\n\
         kind = \"coupling\"\njoints = {{ first = 1, second = -3 }}\n"
    )
}

#[test]
fn turns_are_counted_and_nothing_drifts() {
    let mut world = space(&wheels("step = 0.01\n"));
    world.set_joints(&[], &[("first", 30.0), ("second", 10.0)]).expect("rates that fit");
    let energy = world.ledger().kinetic;
    for _ in 0..10_000 {
        world.step_with(&[0.0, 0.0]).unwrap_or_else(|e| panic!("{e}"));
    }
    let (q, v) = (world.joint_q(), world.joint_v());
    println!("{} turns, sum {:.1e}, energy {:.1e}", q[0] / TAU, q[0] - 3.0 * q[1], world.ledger().kinetic / energy - 1.0);
    assert!((q[0] / TAU - 30.0 * 100.0 / TAU).abs() < 1e-6, "{} turns", q[0] / TAU);
    assert!((q[0] - 3.0 * q[1]).abs() < 1e-9 && (v[0] - 3.0 * v[1]).abs() < 1e-9);
    assert!((world.ledger().kinetic / energy - 1.0).abs() < 1e-9);
    // What is stored goes on to the same bits, turns included.
    let stored = world.snapshot().to_bytes();
    let mut other = space(&wheels("step = 0.01\n"));
    other.restore(&carom_dynamics::Snapshot::from_bytes(&stored).expect("a snapshot")).expect("the same world");
    for world in [&mut world, &mut other] {
        for _ in 0..20 {
            world.step_with(&[0.3, 0.0]).unwrap_or_else(|e| panic!("{e}"));
        }
    }
    assert_eq!(world.state().hash(), other.state().hash());
    assert!(world.state().turns.iter().any(|turns| *turns > 100));
    // Where nobody tells them, turns are found that keep the gear engaged.
    let mut plain = world.state().clone();
    plain.turns.clear();
    other.set_state(plain).expect("a state");
    other.step_with(&[0.0, 0.0]).unwrap_or_else(|e| panic!("{e}"));
    assert!((other.joint_v()[0] - world.joint_v()[0]).abs() < 1e-6, "{:?} {:?}", other.joint_v(), world.joint_v());
}

/// A mimic gripper: both fingers close on the force of one.
#[test]
fn a_mimic_gripper_closes_evenly() {
    let finger = |name: &str, x: f64| {
        format!(
            "[[body]]\nname = \"{name}\"\nmass = 0.3\ninertia = [0.01, 0.01, 0.01]\nposition = [{x}, 0, -0.1]\n[[joint]]\nname = \"{name}_slide\"\n\
             kind = \"slider\"\nbetween = [\"{name}\", \"palm\"]\nanchor = [{x}, 0, 0]\naxis = [1, 0, 0]\nmotor = {{ control = true }}\n"
        )
    };
    let text = "dimension = 3\ngravity = [0, 0, 0]\nstep = 0.002\n[[body]]\nname = \"palm\"\nmass = 5\ninertia = [0.1, 0.1, 0.1]\n"
        .to_string()
        + &finger("left", -0.1)
        + &finger("right", 0.1)
        + "[[joint]]\nname = \"mimic\"\nkind = \"coupling\"\njoints = { left_slide = 1, \"right_slide.0\" = 1 }\n";
    let mut world = space(&text);
    for _ in 0..100 {
        world.step_with(&[0.5, 0.0]).unwrap_or_else(|e| panic!("{e}"));
    }
    // The fingers move alike, so the palm stays, and half a finger's force moves each: (m + m) a = 0.5 N.
    let ends = [world.state().poses[1].position, world.state().poses[2].position];
    let way = 0.5 * 0.5 / 0.6 * 0.2 * 0.2;
    assert!((ends[0].as_slice()[0] + 0.1 - way).abs() < 1e-10 && (ends[1].as_slice()[0] - 0.1 + way).abs() < 1e-10, "{ends:?} {way}");
    assert!(world.state().poses[0].position.norm() < 1e-11);
}

#[test]
fn impacts_pass_through_a_gear() {
    let text = |coupled: bool| {
        discs(1e-4, &[0.5, 0.8], "")
            .replace("motor = { control = true }\n", "")
            .replace("inertia = 0.5\n", "inertia = 0.5\nshape = { box = [0.8, 0.1] }\nfriction = 0\nrestitution = 1\n")
            + "[[body]]\nname = \"ball\"\nshape = { ball = 0.05 }\nmass = 0.4\nposition = [0.3, 0.10001]\nvelocity = [0, -2]\nfriction = 0\nrestitution = 1\n"
            + &(if coupled { coupling("axle0 = 1, axle1 = 2") } else { String::new() })
    };
    for (coupled, inertia) in [(false, 0.5), (true, 0.5 + 0.8 / 4.0)] {
        let mut world = plane(&text(coupled));
        world.step().unwrap_or_else(|e| panic!("{e}"));
        let impulse = 2.0 * 2.0 / (1.0 / 0.4 + 0.09 / inertia);
        let rate = world.state().twists[0].ang.as_slice()[0];
        assert!((rate + 0.3 * impulse / inertia).abs() < 1e-4, "{coupled}: {rate} {}", -0.3 * impulse / inertia);
    }
}

#[test]
fn wrong_couplings_are_named() {
    let error = |text: &str| carom_scene::from_toml(text, "wrong").map(|_| ()).expect_err("a wrong coupling").to_string();
    let unknown = error(&discs(0.01, &[1.0, 1.0], &coupling("axle0 = 1, axel1 = 2")));
    assert!(unknown.contains("axel1") && unknown.contains("axle1"), "{unknown}");
    let twice = coupling("axle0 = 1, axle1 = 2") + &coupling("axle0 = 2, axle1 = 4").replace("\"gear\"", "\"again\"");
    let twice = error(&discs(0.01, &[1.0, 1.0], &twice));
    assert!(twice.contains("again") && twice.contains("axle0") && twice.contains("twice"), "{twice}");
    let mean = error(&format!("integrator = \"energy-momentum\"\n{}", discs(0.01, &[1.0, 1.0], &coupling("axle0 = 1, axle1 = 2"))));
    assert!(mean.contains("gear") && mean.contains("verlet"), "{mean}");
    let limits = error(&discs(0.01, &[1.0, 1.0], &(coupling("axle0 = 1, axle1 = 2") + "limits = [0, 1]\n")));
    assert!(limits.contains("limits"), "{limits}");
}

/// An arm in space whose two hinges are geared to each other, on a moving base.
const GEARED: &str = r#"dimension = 3
step = 0.01
[[body]]
name = "a"
mass = 1.0
inertia = [0.05, 0.06, 0.03]
position = [0.2, 0.1, 0.0]
[[body]]
name = "b"
mass = 0.8
inertia = [0.02, 0.05, 0.04]
position = [0.5, 0.1, 0.1]
[[body]]
name = "c"
mass = 0.5
inertia = [0.03, 0.02, 0.01]
position = [0.8, 0.2, 0.2]
[[joint]]
name = "first"
kind = "hinge"
between = ["a", "world"]
anchor = [0, 0, 0]
axis = [0, 0, 1]
motor = { control = true }
[[joint]]
name = "second"
kind = "hinge"
between = ["b", "a"]
anchor = [0.4, 0.1, 0]
axis = [0, 1, 0]
motor = { control = true }
armature = 0.2
[[joint]]
name = "third"
kind = "hinge"
between = ["c", "b"]
anchor = [0.7, 0.1, 0.1]
axis = [1, 0, 0]
motor = { control = true }
[[joint]]
name = "gear"
kind = "coupling"
joints = { first = 1, second = -2, third = 0.7 }
"#;

#[test]
fn a_geared_arm_has_order_two() {
    let end = |rate: usize| {
        let mut world = space(&GEARED.replace("step = 0.01", &format!("step = {}", 1.0 / rate as f64)));
        for _ in 0..rate {
            world.step_with(&[0.5, -0.3, 0.2]).unwrap_or_else(|e| panic!("{e}"));
        }
        (world.joint_q(), world.ledger())
    };
    let (wanted, ledger) = end(3200);
    assert!((ledger.drift).abs() < 1e-3, "{ledger:?}");
    let errors = [50, 100, 200].map(|rate| end(rate).0.iter().zip(&wanted).fold(0.0f64, |m, (a, b)| m.max((a - b).abs())));
    let orders = [(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()];
    println!("{errors:?} {orders:?}");
    assert!(orders.iter().all(|order| (order - 2.0).abs() < 0.2), "{errors:?}");
}

#[test]
fn derivatives_agree_with_differences() {
    let train = discs(
        0.01,
        &[0.5, 0.8, 0.3],
        &(coupling("axle0 = 1, axle1 = 2") + &coupling("axle1 = 3, axle2 = 1").replace("\"gear\"", "\"second\"")),
    );
    let struck = discs(0.01, &[0.5, 0.8], "")
        .replace("gravity = [0, 0]\n", "")
        .replace("inertia = 0.5\n", "inertia = 0.5\nshape = { box = [0.8, 0.1] }\nfriction = 0.2\nrestitution = 0.5\n")
        + "[[body]]\nname = \"ball\"\nshape = { ball = 0.05 }\nmass = 0.4\nposition = [0.3, 0.15]\nvelocity = [0.1, -2]\nfriction = 0.2\n"
        + &coupling("axle0 = 1, axle1 = 2");
    for (what, text) in [
        ("train", train.clone()),
        ("train, euler", format!("integrator = \"euler\"\n{train}")),
        ("wheels", wheels("step = 0.01\n")),
        ("geared", GEARED.to_string()),
        ("geared, euler", format!("integrator = \"euler\"\n{GEARED}")),
        ("struck", struck),
    ] {
        let findings = check_text(&text, 2, 6, 7);
        println!("{what}: {:?}, transpose {:.1e}, flagged {}", findings.worst(), findings.transpose, findings.flagged);
        assert!(findings.worst().0 < 1e-6, "{what}: {:?}", findings.agreements);
        assert!(findings.transpose < 1e-9, "{what}");
    }
}
