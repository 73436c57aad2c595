//! The bouncing ball: impact times, impact speeds, apex heights.

use crate::{INTEGRATORS, cases, number, numbers};
use carom_dynamics::options::Integrator;
use carom_math::{Planar, Spatial};
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, holds, order};
use serde_json::Value;

const RADIUS: f64 = 0.1;

/// Largest error of impact times [s], impact speeds [m/s] and apex heights [m] over the impacts that bounce clearly, and their number.
fn worst<G: Stage>(case: &Value, step: f64, integrator: Integrator) -> (f64, usize) {
    let (input, expected) = (&case["input"], &case["expected"]);
    let [gravity, e, height, speed] = ["g", "e", "h0", "v0"].map(|key| number(&input[key]));
    let mut scene = Scene::<G>::new(step);
    scene.model.options.integrator = integrator;
    scene.model.gravity = G::at(0.0, -gravity);
    scene.ground(0.2, e);
    let body = scene.body(G::ball(RADIUS), 1.0, pose(0.0, height + RADIUS, 0.0), 0.2, e);
    scene.moving(body, G::at(0.0, speed), G::rate(0.0));
    let mut world = scene.world();
    let [times, speeds, apexes] = ["impact_times", "impact_speeds", "apex_heights"].map(|key| numbers(&expected[key]));
    // Slower impacts rest by rule, and several may fall into one step.
    let slowest = 10.0 * gravity * step;
    let clear = speeds.iter().take_while(|&&s| e * s > slowest).count();
    let (mut worst, mut met) = (0.0f64, 0);
    while met < clear && world.state().time < times[clear - 1] + 1.0 {
        if world.step().expect("a bouncing ball").impacts == 0 {
            continue;
        }
        let (up, rise) = (G::flat(world.state().poses[body].position)[1] - RADIUS, G::flat(world.state().twists[body].lin)[1]);
        // Backwards along the parabola to the ground.
        let parting = (rise * rise + 2.0 * gravity * up.max(0.0)).sqrt();
        let since = (parting - rise) / gravity;
        worst = worst.max((world.state().time - since - times[met]).abs());
        worst = worst.max((parting - e * speeds[met]).abs());
        if met < apexes.len() {
            worst = worst.max((parting * parting / (2.0 * gravity) - apexes[met]).abs());
        }
        met += 1;
    }
    (if met == clear { worst } else { f64::INFINITY }, met)
}

fn balls<G: Stage>() {
    let mut good = true;
    for case in cases("bouncing_ball") {
        for (integrator, _) in INTEGRATORS {
            let found = [0.004, 0.002, 0.001].map(|step| worst::<G>(&case, step, integrator));
            let errors = found.map(|f| f.0);
            let name = format!("{} {} {integrator:?}, {} impacts", G::NAME, case["name"].as_str().expect("a name"), found[2].1);
            println!(
                "{name}: errors {:.2e} {:.2e} {:.2e}, mean order {:.2}",
                errors[0],
                errors[1],
                errors[2],
                0.5 * order(errors[0], errors[2])
            );
            let bound = if integrator != Integrator::Euler { 1e-9 } else { 0.1 };
            good &= holds(&format!("{name}: error at the finest step"), errors[2], bound);
            if number(&case["input"]["e"]) > 0.0 {
                assert!(found[2].1 > 2, "it does bounce");
            }
        }
    }
    assert!(good);
}

#[test]
fn planar_balls() {
    balls::<Planar>();
}

#[test]
fn spatial_balls() {
    balls::<Spatial>();
}

/// An inelastic ball lands and stays; an elastic train of ever smaller bounces comes to rest soon after its accumulation time.
#[test]
fn a_finite_time_of_infinitely_many_bounces() {
    for case in cases("bouncing_ball") {
        let [e, height, speed] = ["e", "h0", "v0"].map(|key| number(&case["input"][key]));
        // Livelier balls bounce for many seconds.
        if e > 0.85 {
            continue;
        }
        let mut scene = Scene::<Planar>::new(0.001);
        scene.ground(0.2, e);
        let body = scene.body(Planar::ball(RADIUS), 1.0, pose(0.0, height + RADIUS, 0.0), 0.2, e);
        scene.moving(body, Planar::at(0.0, speed), Planar::rate(0.0));
        let mut world = scene.world();
        let end = number(&case["expected"]["accumulation_time"]);
        carom_tests::scene::run(&mut world, ((end + 0.1) * 1000.0).ceil() / 1000.0);
        let rest = world.state().twists[body].lin.norm();
        assert!(holds(&format!("e {e}: speed 0.1 s after the accumulation time [m/s]"), rest, 1e-9));
    }
}
