//! Couplings of joints: gear trains, differentials, mimic grippers against closed forms; no drift; whole turns; errors; derivatives.

use crate::machines::{arm, coupling, discs, has_order, plane, refusal, run, space};
use carom_dynamics::coordinates::Contacts;
use carom_math::Vector;
use carom_tests::differences::check_text;
use std::f64::consts::TAU;

/// The coupling called `gear`, or another name.
fn gear(terms: &str) -> String {
    coupling("gear", terms, "")
}

#[test]
fn a_gear_train_turns_as_one_body() {
    // x1 = -x0/2, x2 = -3 x1: one freedom, of inertia I0 + I1/4 + 9 I2/4.
    let gears = gear("axle0 = 1, axle1 = 2") + &coupling("second", "axle1 = 3, axle2 = 1", "");
    for integrator in ["verlet", "euler"] {
        let text = discs(0.01, &[0.5, 0.8, 0.3], &gears);
        let mut world = plane(&format!("integrator = \"{integrator}\"\n{text}"));
        run(&mut world, 100, &[2.0, 0.4, 0.0]);
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
    let text = discs(0.01, &[0.2, 0.3, 0.5], &gear("axle0 = 1, axle1 = 1, axle2 = -2"));
    let mut world = plane(&text);
    run(&mut world, 50, &[0.1, 0.0, 3.0]);
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
    run(&mut world, 10_000, &[0.0, 0.0]);
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
        run(world, 20, &[0.3, 0.0]);
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
    run(&mut world, 100, &[0.5, 0.0]);
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
            + &(if coupled { gear("axle0 = 1, axle1 = 2") } else { String::new() })
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
    let unknown = refusal(&discs(0.01, &[1.0, 1.0], &gear("axle0 = 1, axel1 = 2")));
    assert!(unknown.contains("axel1") && unknown.contains("axle1"), "{unknown}");
    let twice = gear("axle0 = 1, axle1 = 2") + &coupling("again", "axle0 = 2, axle1 = 4", "");
    let twice = refusal(&discs(0.01, &[1.0, 1.0], &twice));
    assert!(twice.contains("again") && twice.contains("axle0") && twice.contains("twice"), "{twice}");
    let mean = refusal(&format!("integrator = \"energy-momentum\"\n{}", discs(0.01, &[1.0, 1.0], &gear("axle0 = 1, axle1 = 2"))));
    assert!(mean.contains("gear") && mean.contains("verlet"), "{mean}");
}

/// An arm in space whose hinges are geared to each other.
fn geared() -> String {
    arm([0.0, 0.2, 0.0]) + &coupling("gear", "first = 1, second = -2, third = 0.7", "")
}

#[test]
fn a_geared_arm_has_order_two() {
    let end = |rate: usize| {
        let mut world = space(&format!("step = {}\n{}", 1.0 / rate as f64, geared()));
        run(&mut world, rate, &[0.5, -0.3, 0.2]);
        (world.joint_q(), world.ledger())
    };
    let (wanted, ledger) = end(3200);
    assert!((ledger.drift).abs() < 1e-3, "{ledger:?}");
    let errors = [50, 100, 200].map(|rate| end(rate).0.iter().zip(&wanted).fold(0.0f64, |m, (a, b)| m.max((a - b).abs())));
    has_order(errors, 2.0, 1e-3, "a geared arm");
}

#[test]
fn derivatives_agree_with_differences() {
    let train = discs(0.01, &[0.5, 0.8, 0.3], &(gear("axle0 = 1, axle1 = 2") + &coupling("second", "axle1 = 3, axle2 = 1", "")));
    let struck = discs(0.01, &[0.5, 0.8], "")
        .replace("gravity = [0, 0]\n", "")
        .replace("inertia = 0.5\n", "inertia = 0.5\nshape = { box = [0.8, 0.1] }\nfriction = 0.2\nrestitution = 0.5\n")
        + "[[body]]\nname = \"ball\"\nshape = { ball = 0.05 }\nmass = 0.4\nposition = [0.3, 0.15]\nvelocity = [0.1, -2]\nfriction = 0.2\n"
        + &gear("axle0 = 1, axle1 = 2");
    for (what, text) in [
        ("train", train.clone()),
        ("train, euler", format!("integrator = \"euler\"\n{train}")),
        ("wheels", wheels("step = 0.01\n")),
        ("geared", format!("step = 0.01\n{}", geared())),
        ("geared, euler", format!("step = 0.01\nintegrator = \"euler\"\n{}", geared())),
        ("struck", struck),
    ] {
        let findings = check_text(&text, 2, 6, 7);
        println!("{what}: {:?}, transpose {:.1e}, flagged {}", findings.worst(), findings.transpose, findings.flagged);
        assert!(findings.worst().0 < 1e-6, "{what}: {:?}", findings.agreements);
        assert!(findings.transpose < 1e-9, "{what}");
    }
}

#[test]
fn the_words_of_robotics_know_couplings() {
    // x1 = -x0/2, x2 = -3 x1: forward dynamics holds what the step holds, and a coordinate takes those it is coupled with along.
    let gears = gear("axle0 = 1, axle1 = 2") + &coupling("second", "axle1 = 3, axle2 = 1", "");
    let mut world = plane(&discs(0.01, &[0.5, 0.8, 0.3], &gears));
    let inertia = 0.5 + 0.8 / 4.0 + 9.0 * 0.3 / 4.0;
    let acceleration = world.forward_dynamics(&[2.0, 0.4, 0.0], &[0.0; 3], Contacts::Hold).expect("accelerations");
    let wanted = [1.0, -0.5, 1.5].map(|x| x * (2.0 - 0.2) / inertia);
    assert!(acceleration.iter().zip(wanted).all(|(a, w)| (a - w).abs() < 1e-12), "{acceleration:?} {wanted:?}");
    assert_eq!(world.loop_jacobian().shape(), (2, 3));
    world.set_joints(&[("axle0", 0.6)], &[("axle2", 3.0)]).expect("gears that follow");
    let (q, v) = (world.joint_q(), world.joint_v());
    assert!((q[1] + 0.3).abs() < 1e-12 && (q[2] - 0.9).abs() < 1e-12, "{q:?}");
    assert!((v[0] - 2.0).abs() < 1e-12 && (v[1] + 1.0).abs() < 1e-12, "{v:?}");

    // An arm on crossed axes, moving: the acceleration of the sum vanishes, and a step does the same.
    let mut world = space(&format!("step = 1e-6\n{}", geared()));
    world.set_joints(&[("first", 0.4)], &[("third", 1.5)]).expect("a pose that fits");
    let acceleration = world.forward_dynamics(&[0.5, -0.3, 0.2], &[0.0; 3], Contacts::Hold).expect("accelerations");
    assert!((acceleration[0] - 2.0 * acceleration[1] + 0.7 * acceleration[2]).abs() < 1e-10, "{acceleration:?}");
    let before = world.joint_v();
    run(&mut world, 1, &[0.5, -0.3, 0.2]);
    let found: Vec<f64> = world.joint_v().iter().zip(&before).map(|(after, before)| (after - before) / 1e-6).collect();
    let largest = acceleration.iter().fold(1.0f64, |most, a| most.max(a.abs()));
    assert!(found.iter().zip(&acceleration).all(|(f, a)| (f - a).abs() < 1e-4 * largest), "{found:?} {acceleration:?}");
}

#[test]
fn couplings_come_and_go_with_what_they_couple() {
    let train = discs(0.01, &[0.5, 0.8, 0.3], &gear("axle0 = 1, axle1 = 2"));
    let mut world = plane(&train);
    run(&mut world, 10, &[1.0, 0.0, 0.0]);
    // A disc in front of the coupled ones goes: the coupling finds them again.
    let turned = discs(0.01, &[0.3, 0.5, 0.8], &gear("axle1 = 1, axle2 = 2"));
    let mut other = plane(&turned);
    other.remove("disc0").expect("a disc");
    run(&mut other, 10, &[1.0, 0.0]);
    assert!((other.joint_v()[0] - world.joint_v()[0]).abs() < 1e-12, "{:?} {:?}", other.joint_v(), world.joint_v());
    // A coupling goes with one of its joints, or alone.
    for name in ["disc1", "gear"] {
        let mut world = plane(&train);
        world.remove(name).expect("it is there");
        assert!(world.model().couplings.is_empty());
        let controls = vec![1.0; world.model().control_count()];
        run(&mut world, 10, &controls);
        assert!((world.joint_v()[0] - 0.1 / 0.5).abs() < 1e-12, "{name}: {:?}", world.joint_v());
    }
    // And comes with a scene that is added.
    let mut world = plane(&discs(0.01, &[1.0], ""));
    let more = "[[body]]\nname = \"left\"\nmass = 1\ninertia = 0.5\nposition = [0, 2]\n[[body]]\nname = \"right\"\nmass = 1\ninertia = 0.8\nposition = [1, 2]\n\
        [[joint]]\nname = \"l\"\nkind = \"hinge\"\nbetween = [\"left\", \"world\"]\nanchor = [0, 2]\nmotor = { control = true }\n\
        [[joint]]\nname = \"r\"\nkind = \"hinge\"\nbetween = [\"right\", \"world\"]\nanchor = [1, 2]\n";
    let text = format!("dimension = 2\n{more}{}", gear("l = 1, r = 2"));
    let added =
        carom_scene::addition(&world, &[], &text, "more", None, &mut carom_scene::include::ScenesOnly).unwrap_or_else(|e| panic!("{e}"));
    assert!(added.text.contains("coupling"), "{}", added.text);
    world.add(added.addition).expect("a scene that fits");
    run(&mut world, 10, &[0.0, 2.0]);
    assert!((world.joint_v()[1] - 0.2 / 0.7).abs() < 1e-10 && (world.joint_v()[2] + 0.1 / 0.7).abs() < 1e-10, "{:?}", world.joint_v());
}

#[test]
fn couplings_of_included_scenes_stay() {
    let folder = std::env::temp_dir().join(format!("carom-coupled-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("train.toml"), discs(0.01, &[0.5, 0.8], &gear("axle0 = 1, axle1 = 2"))).expect("a file");
    let text = "dimension = 2\ngravity = [0, 0]\nstep = 0.01\ninclude = [{ file = \"train.toml\", name = \"a\" }, { file = \"train.toml\", name = \"b\", position = [0, 3] }]\n";
    std::fs::write(folder.join("both.toml"), text).expect("a file");
    let carom_scene::Scene::Planar(scene) = carom_scene::load(folder.join("both.toml")).unwrap_or_else(|e| panic!("{e}")) else {
        panic!("a planar scene")
    };
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    let names: Vec<&str> = scene.model.couplings.iter().map(|coupling| coupling.name.as_str()).collect();
    assert_eq!(names, ["a.gear", "b.gear"]);
    let mut world = carom_dynamics::World::new(scene.model, scene.state).expect("a world");
    run(&mut world, 10, &[2.0, 0.0, 1.0, 0.0]);
    let v = world.joint_v();
    assert!((v[0] - 0.2 / 0.7).abs() < 1e-10 && (v[1] + 0.5 * v[0]).abs() < 1e-10 && (v[2] - 0.5 * v[0]).abs() < 1e-10, "{v:?}");
}
