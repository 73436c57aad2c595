//! The block on a slope and the sphere that slides, then rolls.

use crate::{INTEGRATORS, cases, number};
use carom_dynamics::options::Integrator;
use carom_math::{Planar, Space, Spatial, Vector};
use carom_tests::scene::{pose, run};
use carom_tests::{Scene, Stage, holds, order};
use serde_json::Value;

/// Errors at 2, 1 and 1/2 ms, below the bound at the finest step. Between changes of the contact's mode the second-order scheme is
/// exact; where the block turns round within a step it rests for the remainder of half of it, an error of first order.
fn falls(name: &str, bound: f64, mut error: impl FnMut(f64) -> f64) -> bool {
    let errors = [0.002, 0.001, 0.0005].map(&mut error);
    let rate = 0.5 * order(errors[0], errors[2]);
    println!("{name}: errors {:.2e} {:.2e} {:.2e}, mean order {rate:.2}", errors[0], errors[1], errors[2]);
    holds(&format!("{name}: error at the finest step"), errors[2], bound)
}

fn block<G: Stage>(case: &Value, step: f64, integrator: Integrator) -> f64 {
    let input = &case["input"];
    let [gravity, angle, mu, speed] = ["g", "theta", "mu", "v0"].map(|key| number(&input[key]));
    let mut scene = Scene::<G>::new(step);
    scene.model.options.integrator = integrator;
    scene.model.gravity = G::at(0.0, -gravity);
    scene.slope(angle, mu, 0.0);
    let (height, up) = (0.2, G::at(angle.cos(), angle.sin()));
    let start = pose(-0.5 * height * angle.sin(), 0.5 * height * angle.cos(), angle);
    let body = scene.body(G::cuboid(0.6, height), 1.5, start, mu, 0.0);
    scene.moving(body, up * speed, G::rate(0.0));
    let mut world = scene.world();
    let mut worst = 0.0f64;
    for state in case["expected"]["states"].as_array().expect("states") {
        run(&mut world, number(&state["t"]));
        let way = (world.state().poses[body].position - start.position).dot(up);
        let rate = world.state().twists[body].lin.dot(up);
        worst = worst.max((way - number(&state["s"])).abs()).max((rate - number(&state["v"])).abs());
    }
    worst
}

fn blocks<G: Stage>() {
    let mut good = true;
    for case in cases("incline_block") {
        for (integrator, _) in INTEGRATORS {
            let name = format!("{} {} {integrator:?}", G::NAME, case["name"].as_str().expect("a name"));
            let bound = if integrator != Integrator::Euler { 5e-4 } else { 2e-2 };
            good &= falls(&name, bound, |step| block::<G>(&case, step, integrator));
        }
    }
    assert!(good);
}

#[test]
fn planar_blocks() {
    blocks::<Planar>();
}

#[test]
fn spatial_blocks() {
    blocks::<Spatial>();
}

fn sphere<G: Stage>(case: &Value, step: f64, integrator: Integrator) -> f64 {
    let input = &case["input"];
    let [gravity, angle, mu, radius, beta, speed, rate] = ["g", "theta", "mu", "R", "beta", "v0", "omega0"].map(|key| number(&input[key]));
    let mut scene = Scene::<G>::new(step);
    scene.model.options.integrator = integrator;
    scene.model.gravity = G::at(0.0, -gravity);
    scene.slope(angle, mu, 0.0);
    let (mass, down) = (1.5, G::at(-angle.cos(), -angle.sin()));
    let start = pose(-radius * angle.sin(), radius * angle.cos(), 0.0);
    let body = scene.body(G::ball(radius), mass, start, mu, 0.0);
    let moment = beta * mass * radius * radius;
    scene.model.bodies[body].inertia = G::inertia_from_moments(&[moment, moment, moment]);
    // Rolling down a slope that rises with x is the turn from x towards up.
    scene.moving(body, down * speed, G::rate(rate));
    let mut world = scene.world();
    let mut worst = 0.0f64;
    for state in case["expected"]["states"].as_array().expect("states") {
        run(&mut world, number(&state["t"]));
        let way = (world.state().poses[body].position - start.position).dot(down);
        let twist = world.state().twists[body];
        worst = worst.max((way - number(&state["s"])).abs()).max((twist.lin.dot(down) - number(&state["v"])).abs());
        worst = worst.max((G::flat_rate(twist.ang) - number(&state["omega"])).abs() * radius);
    }
    worst
}

fn spheres<G: Stage>() {
    let mut good = true;
    for case in cases("rolling_sphere") {
        for (integrator, _) in INTEGRATORS {
            let name = format!("{} {} {integrator:?}", G::NAME, case["name"].as_str().expect("a name"));
            let bound = if integrator != Integrator::Euler { 5e-4 } else { 2e-2 };
            good &= falls(&name, bound, |step| sphere::<G>(&case, step, integrator));
        }
    }
    assert!(good);
}

#[test]
fn planar_spheres() {
    assert_eq!(<Planar as Space>::DIM, 2);
    spheres::<Planar>();
}

#[test]
fn spatial_spheres() {
    spheres::<Spatial>();
}
