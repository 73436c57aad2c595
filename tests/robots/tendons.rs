//! Fixed tendons, theory (21.14)-(21.16): springs and dampers of sums against closed forms and the reduced equations, limits, derivatives.

use crate::machines::{arm, coupling, discs, has_order, plane, refusal, run, space};
use crate::reduced::Reduced;
use carom_tests::differences::{Agreement, check_text};
use std::f64::consts::TAU;

/// The stretch after a time of x'' = -k x/I - c x'/I + a, from rest at 0.
fn closed(inverse: f64, k: f64, c: f64, push: f64, time: f64) -> f64 {
    let (decay, rest) = (0.5 * c * inverse, push / (k * inverse));
    let frequency = (k * inverse - decay * decay).sqrt();
    rest * (1.0 - (-decay * time).exp() * ((frequency * time).cos() + decay / frequency * (frequency * time).sin()))
}

#[test]
fn a_sprung_tendon_is_of_second_order() {
    // s = x0 + 2 x1 has the inverse inertia 1/I0 + 4/I1 and is pushed by a torque on the first disc.
    let (inverse, push) = (1.0 / 0.5 + 4.0 / 0.8, 3.0 / 0.5);
    let wanted = closed(inverse, 4.0, 0.3, push, 1.0);
    let errors = [50, 100, 200].map(|rate| {
        let tendon = coupling("tendon", "axle0 = 1, axle1 = 2", "stiffness = 4\ndamping = 0.3");
        let mut world = plane(&discs(1.0 / f64::from(rate), &[0.5, 0.8], &tendon));
        run(&mut world, rate as usize, &[3.0, 0.0]);
        let q = world.joint_q();
        let ledger = world.ledger();
        let stored = 0.5 * 4.0 * (q[0] + 2.0 * q[1]).powi(2);
        assert!((ledger.elastic - stored).abs() < 1e-12 && ledger.flow.damping_loss > 0.0, "{ledger:?}");
        assert!(ledger.drift.abs() < 1e-2, "{ledger:?}");
        (q[0] + 2.0 * q[1] - wanted).abs()
    });
    has_order(errors, 2.0, 1e-4, "two discs");
}

#[test]
fn a_stiff_tendon_is_stable_at_large_steps() {
    for integrator in ["verlet", "euler"] {
        let tendon = coupling("tendon", "axle0 = 1, axle1 = 2", "stiffness = 1e7\ndamping = 1e3\noffset = 0.3");
        let mut world = plane(&format!("integrator = \"{integrator}\"\n{}", discs(0.05, &[0.5, 0.8], &tendon)));
        run(&mut world, 200, &[0.0, 0.0]);
        let q = world.joint_q();
        assert!((q[0] + 2.0 * q[1] - 0.3).abs() < 1e-6, "{integrator}: {q:?}");
        // Equal and opposite in the measure of the tendon: I0 x0 / 1 = I1 x1 / 2.
        assert!((0.5 * q[0] - 0.4 * q[1]).abs() < 1e-9, "{integrator}: {q:?}");
    }
}

#[test]
fn a_limit_holds_like_a_gear_and_lets_go() {
    let tendon = coupling("tendon", "axle0 = 1, axle1 = 2", "limits = [-1, 0]");
    let mut world = plane(&discs(0.01, &[0.5, 0.8], &tendon));
    run(&mut world, 100, &[2.0, 0.4]);
    // As in a gear of inertia I0 + I1/4.
    let held = (2.0 - 0.2) / (0.5 + 0.2);
    let (q, v) = (world.joint_q(), world.joint_v());
    assert!((v[0] - held).abs() < 1e-9 && (q[0] - 0.5 * held).abs() < 1e-9, "{q:?} {v:?}");
    assert!((q[0] + 2.0 * q[1]).abs() < 1e-9 && world.ledger().flow.contact_loss.abs() < 1e-9);
    // Pulled off it each disc is free.
    run(&mut world, 50, &[-2.0, 0.0]);
    let after = world.joint_v();
    assert!((after[0] - v[0] + 4.0 * 0.5).abs() < 1e-9 && (after[1] - v[1]).abs() < 1e-9, "{v:?} {after:?}");
}

#[test]
fn the_other_limit_stops_what_comes_fast() {
    let tendon = coupling("tendon", "axle0 = 1, axle1 = 2", "limits = [-0.5, 4]");
    let mut world = plane(&discs(0.01, &[0.5, 0.8], &tendon));
    world.set_joints(&[], &[("axle0", -3.0), ("axle1", 0.5)]).expect("rates");
    let before = world.ledger().kinetic;
    run(&mut world, 100, &[0.0, 0.0]);
    // s' = -2 stops: the impulse l = 2/(1/I0 + 4/I1) along (1, 2).
    let impulse = 2.0 / (1.0 / 0.5 + 4.0 / 0.8);
    let (q, v) = (world.joint_q(), world.joint_v());
    assert!((v[0] + 3.0 - impulse / 0.5).abs() < 1e-9 && (v[1] - 0.5 - 2.0 * impulse / 0.8).abs() < 1e-9, "{v:?}");
    assert!((q[0] + 2.0 * q[1] + 0.5).abs() < 1e-9, "{q:?}");
    let ledger = world.ledger();
    assert!((before - ledger.kinetic - impulse).abs() < 1e-9 && (ledger.flow.losses() - impulse).abs() < 1e-9, "{ledger:?}");
}

#[test]
fn an_arm_under_a_tendon_follows_the_reduced_equations() {
    // Over three hinges about crossed axes, one with a rotor.
    let tendon = coupling("tendon", "first = 1, second = -2, third = 0.7", "stiffness = 3\ndamping = 0.2\noffset = 0.1");
    let mut reduced = Reduced {
        world: space(&arm([0.0; 3])),
        rotors: vec![0.0, 0.2, 0.0],
        force: |_, (q, v)| {
            let (s, rate) = (q[0] - 2.0 * q[1] + 0.7 * q[2] - 0.1, v[0] - 2.0 * v[1] + 0.7 * v[2]);
            [1.0, -2.0, 0.7].map(|c| c * (-3.0 * s - 0.2 * rate)).to_vec()
        },
    };
    let wanted = reduced.run((vec![0.0; 3], vec![0.0; 3]), 1.0, 2000).0;
    // At 50 steps a second its spring would be a row.
    let errors = [100, 200, 400].map(|rate| {
        let mut world = space(&format!("step = {}\n{}{tendon}", 1.0 / f64::from(rate), arm([0.0, 0.2, 0.0])));
        run(&mut world, rate as usize, &[0.0; 3]);
        // The reduced equations come back without their turns.
        let turned = |x: f64| (x - TAU * (x / TAU).round()).abs();
        world.joint_q().iter().zip(&wanted).fold(0.0f64, |m, (a, b)| m.max(turned(a - b)))
    });
    has_order(errors, 2.0, 1e-3, "an arm");
}

#[test]
fn limits_in_space_are_kept_over_turns() {
    let wheel = |name: &str, x: f64| {
        format!(
            "[[body]]\nname = \"{name}\"\nmass = 1\ninertia = [0.2, 0.2, 0.2]\nposition = [{x}, 0, 0]\n[[joint]]\nname = \"{name}_axle\"\n\
             kind = \"hinge\"\nbetween = [\"{name}\", \"world\"]\nanchor = [{x}, 0, 0]\naxis = [0, 0, 1]\nmotor = {{ control = true }}\n"
        )
    };
    let tendon = coupling("tendon", "left_axle = 1, right_axle = -1", "limits = [-20, 20]");
    let mut world = space(&format!("dimension = 3\nstep = 0.01\n{}{}{tendon}", wheel("left", 0.0), wheel("right", 1.0)));
    // It turns six times before the tendon is taut, and then takes the other along.
    run(&mut world, 400, &[1.0, 0.0]);
    let q = world.joint_q();
    assert!((q[0] - q[1] - 20.0).abs() < 1e-8 && q[1] > 1.0, "{q:?}");
    let v = world.joint_v();
    assert!((0.2 * (v[0] + v[1]) - 4.0).abs() < 1e-9 && (v[0] - v[1]).abs() < 1e-9, "{v:?}");
}

#[test]
fn a_start_beyond_a_limit_is_put_right() {
    let tendon = coupling("cord", "axle0 = 1, axle1 = 2", "limits = [0.5, 1]");
    let mut world = plane(&discs(0.01, &[0.5, 0.8], &tendon));
    let notes = world.notes().join("\n");
    assert!(notes.contains("cord") && notes.contains("0.5"), "{notes}");
    run(&mut world, 1, &[0.0, 0.0]);
    let q = world.joint_q();
    assert!((q[0] + 2.0 * q[1] - 0.5).abs() < 1e-6, "{q:?}");
}

#[test]
fn wrong_tendons_are_named() {
    let text = |more: &str| discs(0.01, &[1.0, 1.0], &coupling("cord", "axle0 = 1, axle1 = 2", more));
    let limits = refusal(&text("limits = [2, 1]"));
    assert!(limits.contains("cord") && limits.contains("limits"), "{limits}");
    let stiffness = refusal(&text("stiffness = -1"));
    assert!(stiffness.contains("stiffness"), "{stiffness}");
    let rest = refusal(&text("rest = 1"));
    assert!(rest.contains("rest") && rest.contains("stiffness"), "{rest}");
    let mean = refusal(&format!("integrator = \"energy-momentum\"\n{}", text("stiffness = 1")));
    assert!(mean.contains("cord") && mean.contains("verlet"), "{mean}");
    // What is written is read again.
    let text = text("limits = [-1, 2]\nstiffness = 3\ndamping = 0.5\noffset = 0.25");
    let scene = carom_scene::from_toml(&text, "cord").expect("a scene");
    let written = carom_scene::to_toml(&scene);
    assert!(["limits = [-1", "stiffness = 3", "damping = 0.5", "offset = 0.25"].iter().all(|part| written.contains(part)), "{written}");
    assert_eq!(carom_scene::to_toml(&carom_scene::from_toml(&written, "cord").expect("the same scene")), written);
}

#[test]
fn derivatives_agree_with_differences() {
    let pair = |more: &str| discs(0.01, &[0.5, 0.8], &coupling("tendon", "axle0 = 1, axle1 = 2", more));
    let arm =
        |more: &str| format!("step = 0.01\n{}{}", arm([0.0, 0.2, 0.0]), coupling("tendon", "first = 1, second = -2, third = 0.7", more));
    for (what, text) in [
        ("sprung", pair("stiffness = 4\ndamping = 0.3")),
        ("sprung, euler", format!("integrator = \"euler\"\n{}", pair("stiffness = 4\ndamping = 0.3"))),
        ("stiff", pair("stiffness = 1e5\ndamping = 10\noffset = 0.2")),
        ("sprung arm", arm("stiffness = 3\ndamping = 0.2\noffset = 0.1")),
        ("stiff arm", arm("stiffness = 1e4\ndamping = 5\noffset = 0.01")),
        ("stiff arm, euler", format!("integrator = \"euler\"\n{}", arm("stiffness = 1e4\ndamping = 5\noffset = 0.01"))),
    ] {
        let findings = check_text(&text, 12, 6, 7);
        println!("{what}: {:?}, transpose {:.1e}, flagged {}", findings.worst(), findings.transpose, findings.flagged);
        assert!(findings.worst().0 < 1e-6, "{what}: {:?}", findings.agreements);
        assert!(findings.transpose < 1e-9, "{what}");
    }
    // Gravity pulls it against its limit within the run; where it lay there before, the motion has two sides and the derivative is that of one of them.
    for (what, text, before, two_sided) in [
        ("limited arm", arm("limits = [-0.02, 4]"), 12, false),
        ("limited arm, other way", arm("limits = [-4, 0.02]"), 12, false),
        ("limited arm, on its way", arm("limits = [-0.01, 0.01]"), 0, true),
        ("limited arm, euler", format!("integrator = \"euler\"\n{}", arm("limits = [-0.01, 0.01]")), 0, true),
    ] {
        let findings = check_text(&text, before, 8, 7);
        println!("{what}: {:?}, transpose {:.1e}, flagged {}", findings.agreements, findings.transpose, findings.flagged);
        let worst = |agreement: &Agreement| if two_sided { agreement.error } else { agreement.one_sided };
        assert!(findings.agreements.iter().all(|agreement| worst(agreement) < 1e-6), "{what}: {:?}", findings.agreements);
        assert!(findings.transpose < 1e-9, "{what}");
    }
}
