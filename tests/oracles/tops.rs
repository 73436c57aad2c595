//! Free tops, the flip about the intermediate axis, heavy tops.

use crate::{INTEGRATORS, cases, converges, number, numbers};
use carom_dynamics::options::Integrator;
use carom_dynamics::{JointKind, World};
use carom_math::{Pose, Spatial};
use carom_tests::Scene;
use carom_tests::scene::run;
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};
use serde_json::Value;

fn rotation(value: &Value) -> UnitQuaternion<f64> {
    let q = numbers(value);
    UnitQuaternion::new_normalize(Quaternion::new(q[0], q[1], q[2], q[3]))
}

fn vector(value: &Value) -> Vector3<f64> {
    Vector3::from_column_slice(&numbers(value))
}

/// Largest angle between the orientation and its reference over all reference times [rad].
fn worst(world: &mut World<Spatial>, case: &Value) -> f64 {
    let mut worst = 0.0f64;
    for state in case["expected"]["states"].as_array().expect("states") {
        run(world, number(&state["t"]));
        let turn = world.state().poses[0].rotation;
        worst = worst.max(turn.angle_to(&rotation(&state["q"])));
        let scale = vector(&state["omega_body"]).norm();
        let rate = turn.inverse_transform_vector(&world.state().twists[0].ang);
        worst = worst.max((rate - vector(&state["omega_body"])).norm() / scale);
    }
    worst
}

fn free_top(case: &Value, step: f64, integrator: Integrator) -> World<Spatial> {
    let input = &case["input"];
    let mut scene = Scene::<Spatial>::weightless(step);
    scene.model.options.integrator = integrator;
    let turn = rotation(&input["q0"]);
    let body = scene.particle(1.0, Matrix3::from_diagonal(&vector(&input["inertia"])), Pose { position: Vector3::zeros(), rotation: turn });
    scene.moving(body, Vector3::zeros(), turn * vector(&input["omega0_body"]));
    scene.world()
}

/// Tops, flips at the reference times, and the elliptic functions of Jacobi.
#[test]
fn free_tops() {
    let mut good = true;
    for case in cases("free_top") {
        let name = case["name"].as_str().expect("a name").to_string();
        for (integrator, wanted) in INTEGRATORS {
            // A flip amplifies every error by exp(k t): its steps are finer.
            let flip = name.contains("flip");
            let coarse = match (flip, integrator == Integrator::Euler) {
                (true, false) => 0.0025,
                (true, true) => 0.0001,
                (false, false) => 0.01,
                (false, true) => 0.002,
            };
            let finest = if integrator != Integrator::Euler { 5e-3 } else { 0.2 };
            good &= converges(&format!("{name} {integrator:?}"), [coarse, coarse / 2.0, coarse / 4.0], wanted, finest, |step| {
                worst(&mut free_top(&case, step, integrator), &case)
            });
        }
    }
    assert!(good);
}

/// The top does turn over: its rate about the intermediate axis changes sign as often as the reference's.
#[test]
fn a_flip_is_seen() {
    let names = ["intermediate_axis_flip_0", "intermediate_axis_flip_1"];
    // Euler's own error tips the top over at other times; its flips are those of finer steps.
    for (name, integrator) in names.into_iter().flat_map(|name| [Integrator::Verlet, Integrator::EnergyMomentum].map(|i| (name, i))) {
        let case = &cases("free_top").into_iter().find(|c| c["name"] == name).expect("the case");
        let mut world = free_top(case, 0.001, integrator);
        let (mut flips, mut side) = (0, 1.0);
        for _ in 0..8000 {
            world.step().expect("a free top");
            let turn = world.state().poses[0].rotation;
            let rate = turn.inverse_transform_vector(&world.state().twists[0].ang).y;
            if rate * side < -1.0 {
                flips += 1;
                side = -side;
            }
        }
        let last = case["expected"]["states"].as_array().expect("states").last().expect("a state");
        println!("{name} {integrator:?}: {flips} flips in 8 s");
        assert!(flips >= 1);
        assert!(vector(&last["omega_body"]).y * side > 0.0);
    }
}

/// Tops on a point: a ball joint at the origin.
#[test]
fn heavy_tops() {
    let mut good = true;
    for case in cases("heavy_top") {
        let name = case["name"].as_str().expect("a name").to_string();
        let input = &case["input"];
        let [first, third, mass, arm] = ["I1", "I3", "m", "l"].map(|key| number(&input[key]));
        for (integrator, wanted) in INTEGRATORS {
            let (coarse, finest) = if integrator != Integrator::Euler { (0.0005, 5e-3) } else { (0.0001, 0.3) };
            good &= converges(&format!("{name} {integrator:?}"), [coarse, coarse / 2.0, coarse / 4.0], wanted, finest, |step| {
                let mut scene = Scene::<Spatial>::new(step);
                scene.model.options.integrator = integrator;
                scene.model.gravity = Vector3::new(0.0, 0.0, -number(&input["g"]));
                let turn = rotation(&input["q0"]);
                let centre = turn * Vector3::new(0.0, 0.0, arm);
                let about_centre = first - mass * arm * arm;
                let inertia = Matrix3::from_diagonal(&Vector3::new(about_centre, about_centre, third));
                let body = scene.particle(mass, inertia, Pose { position: centre, rotation: turn });
                let rate = turn * vector(&input["omega0_body"]);
                scene.moving(body, rate.cross(&centre), rate);
                scene.joint(JointKind::Ball, [Some(body), None], |spec| spec.anchor = Some(Vector3::zeros()));
                worst(&mut scene.world(), &case)
            });
        }
    }
    assert!(good);
}
