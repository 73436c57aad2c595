//! Tops in space under every integrator and both places of the gyroscopic torque.

use carom_dynamics::options::{Gyroscopic, Integrator};
use carom_dynamics::{Force, World};
use carom_math::{Pose, Spatial};
use carom_tests::scene::run;
use carom_tests::{Scene, figure, holds, order};
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

const MOMENTS: [f64; 3] = [1.0, 2.0, 3.5];
const START: [f64; 3] = [0.3, 2.0, 0.4];
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

/// Orientation after 2 s by the classical fourth-order rule at a step so small that its error is rounding; torque in world axes.
fn reference(torque: Vector3<f64>) -> UnitQuaternion<f64> {
    const STEPS: usize = 20_000;
    let inertia = Matrix3::from_diagonal(&Vector3::from(MOMENTS));
    let inverse = inertia.try_inverse().expect("positive moments");
    let rate = |q: Quaternion<f64>, w: Vector3<f64>| {
        let body_torque = UnitQuaternion::new_normalize(q).inverse_transform_vector(&torque);
        (q * Quaternion::from_imag(w) * 0.5, inverse * (body_torque - w.cross(&(inertia * w))))
    };
    let (mut q, mut w) = (Quaternion::identity(), Vector3::from(START));
    let h = 2.0 / STEPS as f64;
    for _ in 0..STEPS {
        let a = rate(q, w);
        let b = rate(q + a.0 * (0.5 * h), w + a.1 * (0.5 * h));
        let c = rate(q + b.0 * (0.5 * h), w + b.1 * (0.5 * h));
        let d = rate(q + c.0 * h, w + c.1 * h);
        q += (a.0 + (b.0 + c.0) * 2.0 + d.0) * (h / 6.0);
        w += (a.1 + (b.1 + c.1) * 2.0 + d.1) * (h / 6.0);
    }
    UnitQuaternion::new_normalize(q)
}

/// Largest entry of the error of the rotation matrix after 2 s, at 1/25, 1/50 and 1/100 s.
fn errors(torque: Vector3<f64>, integrator: Integrator, gyroscopic: Gyroscopic) -> [f64; 3] {
    let exact = reference(torque).to_rotation_matrix();
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

#[test]
fn scratch() {
    for (i, g) in [(Integrator::Verlet, Gyroscopic::Exact), (Integrator::Verlet, Gyroscopic::Forward), (Integrator::EnergyMomentum, Gyroscopic::Exact)] {
        for torque in [Vector3::zeros(), Vector3::from(TORQUE)] { errors(torque, i, g); }
        let _ = holds("", 0.0, 1.0);
    }
}
