//! Wheels that stand on two rims each: more contacts than freedoms, loads that may be shared in many ways, joints in between.

use crate::lab::world;
use carom_dynamics::options::Integrator;
use carom_scene::{Scene, from_toml};
use carom_tests::holds;

/// Step [s].
const STEP: f64 = 0.005;
/// Steps of the drive.
const STEPS: usize = 100;
/// Rounds of the end-of-move correction a step may take on average: twice what curved contacts alone need.
const ROUNDS: f64 = 8.0;
/// Largest residual of a solve [m/s]: where wheels are on the verge of slipping sideways, double precision gives no better.
const RESIDUAL: f64 = 5e-9;

/// The trike of the embedded scenes with cylinders for wheels. Its six rim contacts meet three freedoms of the frame; steering makes both rims of
/// a wheel slip. Loads must not hop between the rims from one round of the correction to the next.
#[test]
fn cylinder_wheels_roll() {
    let text = include_str!("../../crates/scene/scenes/trike.toml")
        .replace("{ ball = 0.3 }", "{ cylinder = [0.05, 0.3], rotation = [0.7071067811865476, 0.7071067811865476, 0, 0] }");
    assert_eq!(text.matches("cylinder").count(), 3, "three wheels");
    let Ok(Scene::Spatial(scene)) = from_toml(&text, "trike") else { panic!("the trike is a spatial scene") };
    let mut world = world(scene, STEP, Integrator::Verlet);
    let (mut rounds, mut cut, mut unconverged, mut residual) = (0, 0, 0, 0.0f64);
    for _ in 0..STEPS {
        let report = world.step().unwrap();
        rounds += report.corrections;
        cut += report.substeps - 1;
        unconverged += usize::from(report.unconverged);
        residual = residual.max(report.residual);
    }
    let mut good = holds("rounds of the correction a step", rounds as f64 / STEPS as f64, ROUNDS);
    good &= holds("substeps beyond one a step", cut as f64, 0.0);
    good &= holds("steps whose correction did not converge", unconverged as f64, 0.0);
    good &= holds("residual of a solve [m/s]", residual, RESIDUAL);
    good &= holds("joint gap [m]", world.joint_error(), 1e-10);
    assert!(good);
}
