//! Tops in space under every integrator and both places of the gyroscopic torque.

use carom_dynamics::options::{Gyroscopic, Integrator};
use carom_dynamics::{Force, World};
use carom_math::{Pose, Spatial};
use carom_tests::scene::run;
use carom_tests::top::{MOMENTS, START, reference};
use carom_tests::{Scene, figure, holds, order};
use nalgebra::{Matrix3, Vector3};

const TORQUE: [f64; 3] = [0.5, 0.2, -0.1];

fn top(step: f64, torque: Vector3<f64>, integrator: Integrator, gyroscopic: Gyroscopic) -> World<Spatial> {
    let mut scene = Scene::<Spatial>::weightless(step);
    scene.model.options.integrator = integrator;
    scene.model.options.gyroscopic = gyroscopic;
    let body = scene.particle(1.0, Matrix3::from_diagonal(&Vector3::from(MOMENTS)), Pose::identity());
    scene.moving(body, Vector3::zeros(), Vector3::from(START));
    let zero = Vector3::zeros();
    scene.model.forces.push(Force { body, force: zero, torque, at: zero, from: 0.0, until: f64::INFINITY, control: false });
    scene.world()
}

/// Largest entry of the error of the rotation matrix after 2 s, at 1/25, 1/50 and 1/100 s.
fn errors(torque: Vector3<f64>, integrator: Integrator, gyroscopic: Gyroscopic) -> [f64; 3] {
    let exact = reference(torque, 2.0).to_rotation_matrix();
    let name = format!("{integrator:?} {gyroscopic:?}, torque {}", torque.norm() > 0.0);
    let found = [25.0, 50.0, 100.0].map(|per_second: f64| {
        let mut world = top(1.0 / per_second, torque, integrator, gyroscopic);
        run(&mut world, 2.0);
        (world.state().poses[0].rotation.to_rotation_matrix().matrix() - exact.matrix()).amax()
    });
    found.iter().for_each(|&error| figure(&format!("{name}: rotation error after 2 s"), error));
    for pair in found.windows(2) {
        figure(&format!("{name}: order"), order(pair[0], pair[1]));
    }
    found
}

/// Both places of the torque agree where there is none: 4.95e-4, 1.24e-4, 3.09e-5.
#[test]
fn free_tops_have_the_figures_of_the_scheme() {
    for gyroscopic in [Gyroscopic::Exact, Gyroscopic::Forward] {
        let found = errors(Vector3::zeros(), Integrator::Verlet, gyroscopic);
        for (error, expected) in found.into_iter().zip([4.95e-4, 1.24e-4, 3.09e-5]) {
            assert!((error / expected - 1.0).abs() < 0.01, "expected {expected:e}, found {error:e}");
        }
    }
}

/// Under a torque fixed in the world both are of second order, and forward has twice the error.
#[test]
fn driven_tops_differ_by_a_factor_of_two() {
    let exact = errors(Vector3::from(TORQUE), Integrator::Verlet, Gyroscopic::Exact);
    let forward = errors(Vector3::from(TORQUE), Integrator::Verlet, Gyroscopic::Forward);
    let midpoint = errors(Vector3::from(TORQUE), Integrator::EnergyMomentum, Gyroscopic::Exact);
    for found in [exact, forward, midpoint] {
        assert!((order(found[1], found[2]) - 2.0).abs() < 0.05);
    }
    for (exact, forward) in exact.into_iter().zip(forward) {
        assert!((forward / exact - 2.0).abs() < 0.05, "exact {exact:e}, forward {forward:e}");
    }
}

/// 200 s at 20 ms: `verlet` keeps energy and angular momentum in a band, wherever it takes the torque; `energy-momentum` keeps both exactly.
#[test]
fn bands_over_two_hundred_seconds() {
    for (integrator, gyroscopic, energy, momentum) in [
        (Integrator::Verlet, Gyroscopic::Exact, 1.75e-4, 8.5e-4),
        (Integrator::Verlet, Gyroscopic::Forward, 1.75e-4, 8.5e-4),
        (Integrator::EnergyMomentum, Gyroscopic::Exact, 1e-12, 1e-12),
    ] {
        let mut world = top(0.02, Vector3::zeros(), integrator, gyroscopic);
        let start = world.ledger();
        let before = Vector3::from_column_slice(&start.angular_momentum);
        let (mut band, mut turned) = (0.0f64, 0.0f64);
        for _ in 0..10_000 {
            world.step().expect("a free top");
            let now = world.ledger();
            band = band.max((now.kinetic / start.kinetic - 1.0).abs());
            turned = turned.max((Vector3::from_column_slice(&now.angular_momentum) - before).norm() / before.norm());
        }
        let name = format!("free top, 200 s at 20 ms, {integrator:?} {gyroscopic:?}");
        let good = holds(&format!("{name}: energy"), band, energy) & holds(&format!("{name}: angular momentum"), turned, momentum);
        assert!(good);
    }
}
