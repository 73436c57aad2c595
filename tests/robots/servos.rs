//! Servos: closed forms, order, stiff gains at large steps, bounds, controls as targets, derivatives.

use crate::machines::{plane, space};
use carom_tests::differences::check_text;

/// A disc on a hinge, with a servo.
fn disc(step: f64, servo: &str) -> String {
    format!(
        "dimension = 2\ngravity = [0, 0]\nstep = {step}\n[[body]]\nname = \"disc\"\nmass = 1\ninertia = 0.5\nposition = [0, 0]\n[[joint]]\n\
         name = \"axle\"\nkind = \"hinge\"\nbetween = [\"disc\", \"world\"]\nanchor = [0, 0]\nmotor = {{ {servo} }}\n"
    )
}

/// The angle after a second of I x'' = k (1 - x) - c x', from rest at 0.
fn closed(inertia: f64, k: f64, c: f64, time: f64) -> f64 {
    let decay = c / (2.0 * inertia);
    let frequency = (k / inertia - decay * decay).sqrt();
    1.0 - (-decay * time).exp() * ((frequency * time).cos() + decay / frequency * (frequency * time).sin())
}

#[test]
fn a_slow_servo_is_exact_to_second_order() {
    let wanted = closed(0.5, 20.0, 2.0, 1.0);
    let errors = [50, 100, 200].map(|rate| {
        let mut world = plane(&disc(1.0 / f64::from(rate), "servo = \"position\", target = 1.0, stiffness = 20, damping = 2"));
        for _ in 0..rate {
            world.step().unwrap_or_else(|e| panic!("{e}"));
        }
        (world.joint_q()[0] - wanted).abs()
    });
    let orders = [(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()];
    println!("{errors:?} {orders:?}");
    assert!(orders.iter().all(|order| (order - 2.0).abs() < 0.2), "{errors:?}");
}

#[test]
fn a_stiff_servo_is_stable_at_large_steps() {
    for integrator in ["verlet", "euler", "energy-momentum"] {
        let text = disc(0.05, "servo = \"position\", control = true, stiffness = 1e7, damping = 1e3");
        let mut world = plane(&format!("integrator = \"{integrator}\"\n{text}"));
        let mut worst = 0.0f64;
        for step in 0..200 {
            world.step_with(&[0.7]).unwrap_or_else(|e| panic!("{e}"));
            if step > 50 {
                worst = worst.max((world.joint_q()[0] - 0.7).abs());
            }
            assert!(world.joint_q()[0].abs() < 1.5, "{integrator}");
        }
        assert!(worst < 1e-3, "{integrator}: {worst}");
    }
}

#[test]
fn a_velocity_servo_reaches_its_rate_exponentially() {
    // I v' = c (w - v): v = w (1 - exp(-c t/I)).
    let mut world = plane(&disc(1e-3, "servo = \"velocity\", control = true, damping = 2"));
    for _ in 0..500 {
        world.step_with(&[3.0]).unwrap_or_else(|e| panic!("{e}"));
    }
    let wanted = 3.0 * (1.0 - (-2.0f64 / 0.5 * 0.5).exp());
    assert!((world.joint_v()[0] - wanted).abs() < 1e-5, "{} {wanted}", world.joint_v()[0]);
}

#[test]
fn a_servo_gives_no_more_than_its_bound() {
    for (stiffness, integrator) in [(20.0, "verlet"), (1e6, "verlet"), (1e6, "euler")] {
        let text = disc(0.01, &format!("servo = \"position\", target = 1000.0, stiffness = {stiffness}, damping = 0.1, max = 0.4"));
        let mut world = plane(&format!("integrator = \"{integrator}\"\n{text}"));
        world.watch_joints(true);
        for _ in 0..100 {
            world.step().unwrap_or_else(|e| panic!("{e}"));
        }
        assert!((world.joint_v()[0] - 0.4 / 0.5).abs() < 1e-9, "{integrator} {stiffness}: {}", world.joint_v()[0]);
        assert!((world.joint_force().expect("watched")[0] - 0.4).abs() < 1e-9);
    }
}

#[test]
fn a_servo_carries_a_weight() {
    let text = "dimension = 3\nstep = 0.005\n[[body]]\nname = \"arm\"\nmass = 2\ninertia = [0.1, 0.1, 0.1]\nposition = [0.5, 0, 0]\n[[joint]]\n\
        name = \"pin\"\nkind = \"hinge\"\nbetween = [\"arm\", \"world\"]\nanchor = [0, 0, 0]\naxis = [0, -1, 0]\n\
        motor = { servo = \"position\", stiffness = 500, damping = 50 }\n";
    let mut world = space(text);
    world.watch_joints(true);
    for _ in 0..2000 {
        world.step().unwrap_or_else(|e| panic!("{e}"));
    }
    let angle = world.joint_q()[0];
    assert!(angle.abs() > 1e-3, "it yields");
    assert!((500.0 * angle + 2.0 * 9.81 * 0.5 * angle.cos()).abs() < 1e-6, "{angle}");
    assert!((world.joint_force().expect("watched")[0] + 500.0 * angle).abs() < 1e-6);
}

#[test]
fn derivatives_agree_with_differences() {
    let arm = |servo: &str, more: &str| {
        format!(
            "dimension = 3\nstep = 0.01\n{more}[[body]]\nname = \"a\"\nmass = 1\ninertia = [0.05, 0.06, 0.03]\nposition = [0.2, 0.1, 0]\n\
             [[body]]\nname = \"b\"\nmass = 0.8\ninertia = [0.02, 0.05, 0.04]\nposition = [0.5, 0.1, 0.1]\n[[joint]]\nname = \"first\"\n\
             kind = \"hinge\"\nbetween = [\"a\", \"world\"]\nanchor = [0, 0, 0]\naxis = [0, 0.2, 1]\nmotor = {{ {servo} }}\narmature = 0.1\n[[joint]]\n\
             name = \"second\"\nkind = \"hinge\"\nbetween = [\"b\", \"a\"]\nanchor = [0.4, 0.1, 0]\naxis = [0, 1, 0]\nmotor = {{ {servo} }}\n"
        )
    };
    for more in ["", "integrator = \"euler\"\n", "integrator = \"energy-momentum\"\n"] {
        for servo in [
            "servo = \"position\", control = true, stiffness = 3, damping = 0.2",
            "servo = \"position\", target = 0.4, stiffness = 3",
            "servo = \"position\", control = true, stiffness = 3000, damping = 20",
            "servo = \"position\", target = 0.4, stiffness = 3000, damping = 20, max = 1.5",
            "servo = \"position\", target = 0.9, stiffness = 3, damping = 0.1, max = 0.5",
            "servo = \"velocity\", control = true, damping = 0.3",
            "servo = \"velocity\", target = 2, damping = 300",
        ] {
            let findings = check_text(&arm(servo, more), 2, 6, 11);
            println!("{more}{servo}: {:?}, transpose {:.1e}, flagged {}", findings.worst(), findings.transpose, findings.flagged);
            assert!(findings.worst().0 < 1e-6, "{more}{servo}: {:?}", findings.agreements);
            assert!(findings.transpose < 1e-9, "{more}{servo}");
        }
    }
}
