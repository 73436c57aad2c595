//! A top without gravity: figures of the second-order scheme with its implicit gyroscopic torque.

use carom_dynamics::{Force, World};
use carom_math::{Pose, Spatial};
use carom_tests::scene::run;
use carom_tests::top::{MOMENTS, START, reference};
use carom_tests::{Scene, figure, holds, order};
use nalgebra::{Matrix3, Vector3};

fn top(step: f64, torque: Vector3<f64>) -> World<Spatial> {
    let mut scene = Scene::<Spatial>::weightless(step);
    let body = scene.particle(1.0, Matrix3::from_diagonal(&Vector3::from(MOMENTS)), Pose::identity());
    scene.moving(body, Vector3::zeros(), Vector3::from(START));
    if torque != Vector3::zeros() {
        let forever = f64::INFINITY;
        scene.model.forces.push(Force {
            body,
            force: Vector3::zeros(),
            torque,
            at: Vector3::zeros(),
            from: 0.0,
            until: forever,
            control: false,
        });
    }
    scene.world()
}

fn errors(torque: Vector3<f64>) -> [f64; 3] {
    let exact = reference(torque, 2.0);
    [25.0, 50.0, 100.0].map(|per_second: f64| {
        let mut world = top(1.0 / per_second, torque);
        run(&mut world, 2.0);
        let found = world.state().poses[0].rotation.to_rotation_matrix();
        (found.matrix() - exact.to_rotation_matrix().matrix()).amax()
    })
}

/// Largest entry of the error of the rotation matrix after 2 s: 4.95e-4, 1.24e-4, 3.09e-5 at 1/25, 1/50, 1/100 s.
#[test]
fn rotation_error_of_a_free_top() {
    let found = errors(Vector3::zeros());
    for (error, expected) in found.into_iter().zip([4.95e-4, 1.24e-4, 3.09e-5]) {
        figure("free top, rotation error after 2 s (largest entry)", error);
        assert!((error / expected - 1.0).abs() < 0.01, "expected {expected:e}, found {error:e}");
    }
    figure("free top, order", order(found[1], found[2]));
}

/// The same under a constant torque: the order is 2 and the constant no worse than ten times that of free motion.
#[test]
fn rotation_error_of_a_driven_top() {
    let found = errors(Vector3::new(0.5, 0.2, -0.1));
    found.iter().for_each(|&error| figure("driven top, rotation error after 2 s (largest entry)", error));
    for pair in found.windows(2) {
        let order = order(pair[0], pair[1]);
        figure("driven top, order", order);
        assert!((order - 2.0).abs() < 0.1);
    }
    assert!(found[2] < 3e-4);
}

/// 200 s at 20 ms: the energy stays in a band of 1.7e-4 of itself and the angular momentum within 8e-4.
#[test]
fn energy_band_of_a_free_top() {
    let mut world = top(0.02, Vector3::zeros());
    let start = world.ledger();
    let (mut low, mut high, mut turned) = (start.kinetic, start.kinetic, 0.0f64);
    let before = Vector3::from_column_slice(&start.angular_momentum);
    for _ in 0..10_000 {
        world.step().expect("a free top");
        let now = world.ledger();
        low = low.min(now.kinetic);
        high = high.max(now.kinetic);
        turned = turned.max((Vector3::from_column_slice(&now.angular_momentum) - before).norm() / before.norm());
    }
    let band = holds("free top, 200 s at 20 ms, energy band over energy", (high - low) / start.kinetic, 1.75e-4);
    let momentum = holds("free top, 200 s at 20 ms, angular momentum error over itself", turned, 8.5e-4);
    assert!(band && momentum);
    assert!(high > low, "a band that is not there was not measured");
}
