//! A nut on a screw: turn and advance go together.

use carom_dynamics::options::Integrator;
use carom_dynamics::{JointKind, ModelError, Motor, World};
use carom_math::{Pose, Spatial};
use carom_tests::{GRAVITY, Scene, figure, holds};
use nalgebra::{Matrix3, Vector3};
use std::f64::consts::TAU;

/// Mass [kg], moment about the axis [kg m^2] and lead [m per turn].
const MASS: f64 = 0.6;
const MOMENT: f64 = 2e-4;
const LEAD: f64 = 0.05;

/// A nut on a vertical screw that stands in the world, with what else its joint shall have.
fn nut(integrator: Integrator, lead: f64, fill: impl FnOnce(&mut carom_dynamics::JointSpec<Spatial>)) -> Scene<Spatial> {
    let mut scene = Scene::<Spatial>::new(1e-3);
    scene.model.options.integrator = integrator;
    let body = scene.particle(MASS, Matrix3::from_diagonal(&Vector3::new(3e-4, 3e-4, MOMENT)), Pose::identity());
    scene.joint(JointKind::Screw, [Some(body), None], |spec| {
        spec.anchor = Some(Vector3::new(0.0, 0.0, 0.1));
        spec.axis = Some(Vector3::new(0.0, 0.0, 2.0));
        spec.measures.lead = Some(lead);
        fill(spec);
    });
    scene
}

fn go(world: &mut World<Spatial>, steps: usize) {
    (0..steps).for_each(|_| world.step().map(|_| ()).unwrap_or_else(|e| panic!("{e}")));
}

/// It falls with g/(1 + I (2 pi/lead)^2/m), turns by 2 pi/lead per metre over many turns, and keeps its energy; a left-handed one turns the other way.
#[test]
fn a_nut_falls_and_turns() {
    for lead in [LEAD, -LEAD] {
        for integrator in [Integrator::Verlet, Integrator::Euler] {
            let mut world = nut(integrator, lead, |_| ()).world();
            let acceleration = GRAVITY / (1.0 + MOMENT * (TAU / lead).powi(2) / MASS);
            go(&mut world, 1000);
            let state = world.state();
            let (height, twist) = (state.poses[0].position.z, state.twists[0]);
            assert!(height.abs() > 10.0 * LEAD, "it turns many times");
            assert!((twist.ang.z * lead / (TAU * twist.lin.z) - 1.0).abs() < 1e-12);
            assert!((twist.lin.z / -acceleration - 1.0).abs() < 1e-10, "{integrator:?}: {}", twist.lin.z);
            // Euler's way is behind by half a step.
            let exact = -0.5 * acceleration * if integrator == Integrator::Euler { 1.001 } else { 1.0 };
            assert!(holds(&format!("nut on a screw, {integrator:?}: way"), (height / exact - 1.0).abs(), 1e-10));
            let joint = &world.model().joints[0];
            let turned = joint.coordinate(&state.poses[0], &Pose::identity());
            assert!((turned - height * TAU / lead).abs() < 1e-9, "the advance counts the turns: {turned}");
            let mut errors = [0.0; 6];
            joint.error(&state.poses[0], &Pose::identity(), &mut errors);
            assert!(errors[..joint.row_count()].iter().all(|error| error.abs() < 1e-12), "{errors:?}");
            if integrator == Integrator::Verlet {
                let ledger = world.ledger();
                figure("nut on a screw: drift [J]", ledger.drift);
                assert!(ledger.drift.abs() < 1e-10 && ledger.flow.joint_work.abs() < 1e-10);
            }
        }
    }
}

/// Friction of the turn holds the nut where m g lead/(2 pi) is less; a motor raises it; a limit beyond a turn stops it.
#[test]
fn friction_motors_and_limits_act_on_the_turn() {
    let least = MASS * GRAVITY * LEAD / TAU;
    let after = |fill: &dyn Fn(&mut carom_dynamics::JointSpec<Spatial>)| {
        let mut world = nut(Integrator::Verlet, LEAD, fill).world();
        go(&mut world, 1000);
        (world.state().poses[0].position.z, world.state().twists[0].lin.z)
    };
    let (height, _) = after(&|spec| spec.friction = 1.001 * least);
    assert!(height.abs() < 1e-12, "{height:e}");
    let (_, speed) = after(&|spec| spec.friction = 0.5 * least);
    let free = GRAVITY / (1.0 + MOMENT * (TAU / LEAD).powi(2) / MASS);
    assert!((speed / (-0.5 * free) - 1.0).abs() < 1e-9, "{speed}");
    let (_, speed) = after(&|spec| spec.motor = Some(Motor::Velocity { velocity: 10.0, max: 1.0 }));
    assert!((speed - 10.0 * LEAD / TAU).abs() < 1e-10, "{speed}");
    let (height, speed) = after(&|spec| spec.limits = Some([-15.0, 40.0]));
    assert!((height + 15.0 * LEAD / TAU).abs() < 1e-9 && speed.abs() < 1e-9, "{height} {speed}");
}

/// The scheme that has no row for it says so.
#[test]
fn energy_momentum_refuses_it() {
    let scene = nut(Integrator::EnergyMomentum, LEAD, |_| ());
    let found: Result<World<Spatial>, ModelError> = World::new(scene.model, scene.state);
    let error = found.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("screw") && error.contains("energy-momentum"), "{error}");
}
