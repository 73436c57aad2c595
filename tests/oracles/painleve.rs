//! The sliding rod of Painlevé: the normal force where rigid bodies have one, and no trouble where they have none or several.

use crate::{cases, number};
use carom_math::{Planar, Spatial, Vector};
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, holds};
use serde_json::Value;

const RADIUS: f64 = 1e-4;

fn rod<G: Stage>(case: &Value, step: f64) -> Scene<G> {
    let input = &case["input"];
    let [mass, half, angle, rate, mu, gravity, slide] =
        ["m", "half_length", "phi", "dphi", "mu", "g", "slide_speed"].map(|key| number(&input[key]));
    let mut scene = Scene::<G>::new(step);
    scene.model.gravity = G::at(0.0, -gravity);
    scene.ground(mu, 0.0);
    let (sin, cos) = angle.sin_cos();
    // The lower end touches at x = 0 and slides; the rod rises with x.
    let body = scene.body(G::capsule(2.0 * half, RADIUS), mass, pose(half * cos, half * sin + RADIUS, angle), mu, 0.0);
    let about = mass * half * half / 3.0;
    let moments = if G::DIM == 2 { [about; 3] } else { [1e-3 * about, about, about] };
    scene.model.bodies[body].inertia = G::inertia_from_moments(&moments);
    let speed = G::at(slide, 0.0) + G::spin(G::rate(rate), G::at(half * cos, half * sin + RADIUS));
    scene.moving(body, speed, G::rate(rate));
    scene
}

fn rods<G: Stage>() {
    let mut good = true;
    for case in cases("painleve_rod") {
        let name = format!("{} {}", G::NAME, case["name"].as_str().expect("a name"));
        if let Some(force) = case["expected"]["normal_force"].as_f64() {
            let step = 1e-4;
            let mut world = rod::<G>(&case, step).world();
            world.step().expect("a sliding rod");
            let impulse: f64 = world.contacts().iter().map(|c| G::flat(c.impulse)[1].abs()).sum();
            good &= holds(&format!("{name}: normal force, relative error"), (impulse / step / force - 1.0).abs(), 1e-2);
        }
        // Half a second, whatever the classification: finite, no overlap, no energy from nothing.
        let mut world = rod::<G>(&case, 0.001).world();
        let start = world.ledger();
        let (mut depth, mut gain) = (0.0f64, 0.0f64);
        for step in 0..500 {
            world.step().unwrap_or_else(|error| panic!("{name}, step {step}: {error}"));
            assert!(world.state().twists[1].is_finite());
            depth = depth.max(-world.deepest());
            let now = world.ledger();
            gain = gain.max(now.kinetic + now.potential - start.kinetic - start.potential);
        }
        good &= holds(&format!("{name}: overlap over size"), depth, 1e-6);
        good &= holds(&format!("{name}: energy gained [J]"), gain, 1e-3);
        assert!(world.state().poses[1].position.is_finite());
    }
    assert!(good);
}

#[test]
fn planar_rods() {
    rods::<Planar>();
}

#[test]
fn spatial_rods() {
    rods::<Spatial>();
}
