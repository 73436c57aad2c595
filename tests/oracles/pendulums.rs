//! Chains of hinged links, the spring pendulum, the period of the pendulum.

use crate::{INTEGRATORS, cases, converges, number, numbers};
use carom_dynamics::options::Integrator;
use carom_dynamics::{JointKind, World};
use carom_math::{Planar, Pose, Space, Spatial};
use carom_tests::scene::{pose, run};
use carom_tests::{Scene, Stage};
use nalgebra::{Matrix1, Matrix3};
use serde_json::Value;

/// Inertia about the axis out of the vertical plane; the other moments of space are of the same size.
trait Flat: Stage {
    fn inertia(about: f64) -> <Self as Space>::Inertia;
}
impl Flat for Planar {
    fn inertia(about: f64) -> Matrix1<f64> {
        Matrix1::new(about)
    }
}
impl Flat for Spatial {
    fn inertia(about: f64) -> Matrix3<f64> {
        Matrix3::from_diagonal(&nalgebra::Vector3::new(0.5 * about, about, 0.8 * about))
    }
}

/// A chain of links from the origin with given angles from straight down and rates.
fn chain<G: Flat>(links: &[Value], angles: &[f64], rates: &[f64], gravity: f64, step: f64, integrator: Integrator) -> World<G> {
    let mut scene = Scene::<G>::new(step);
    scene.model.options.integrator = integrator;
    scene.model.gravity = G::at(0.0, -gravity);
    // Position and velocity of the joint at which the next link hangs.
    let (mut at, mut speed) = ([0.0, 0.0], [0.0, 0.0]);
    let mut last = None;
    for (index, link) in links.iter().enumerate() {
        let [mass, inertia, to_centre, length] = ["m", "I", "d", "L"].map(|key| number(&link[key]));
        let (sin, cos) = angles[index].sin_cos();
        let rate = rates[index];
        let along = |d: f64| ([at[0] + d * sin, at[1] - d * cos], [speed[0] + d * rate * cos, speed[1] + d * rate * sin]);
        let (centre, centre_speed) = along(to_centre);
        let body = scene.particle(mass, G::inertia(inertia), pose(centre[0], centre[1], angles[index]));
        scene.moving(body, G::at(centre_speed[0], centre_speed[1]), G::rate(rate));
        scene.hinge(body, last, G::at(at[0], at[1]));
        last = Some(body);
        (at, speed) = along(length);
    }
    scene.world()
}

fn worst<G: Flat>(world: &mut World<G>, case: &Value) -> f64 {
    let mut worst = 0.0f64;
    for state in case["expected"]["states"].as_array().expect("states") {
        run(world, number(&state["t"]));
        for (body, centre) in state["com"].as_array().expect("centres").iter().enumerate() {
            let (found, exact) = (G::flat(world.state().poses[body].position), numbers(centre));
            worst = worst.max((found[0] - exact[0]).hypot(found[1] - exact[1]));
        }
        for (body, rate) in numbers(&state["omega"]).into_iter().enumerate() {
            worst = worst.max((G::flat_rate(world.state().twists[body].ang) - rate).abs() / rate.abs().max(1.0));
        }
    }
    worst
}

fn chains<G: Flat>() {
    let mut good = true;
    for case in cases("pendulum_chain") {
        let name = case["name"].as_str().expect("a name");
        let input = &case["input"];
        let links = input["links"].as_array().expect("links");
        let growth = number(&case["expected"]["growth_at_last_time"]).max(1.0);
        for (integrator, wanted) in INTEGRATORS {
            let (coarse, finest) = if integrator != Integrator::Euler { (0.001, 2e-6 * growth) } else { (0.0002, 1e-3 * growth) };
            good &=
                converges(&format!("{} {name} {integrator:?}", G::NAME), [coarse, coarse / 2.0, coarse / 4.0], wanted, finest, |step| {
                    let gravity = number(&input["g"]);
                    worst(&mut chain::<G>(links, &numbers(&input["theta0"]), &numbers(&input["omega0"]), gravity, step, integrator), &case)
                });
        }
    }
    assert!(good);
}

#[test]
fn planar_chains() {
    chains::<Planar>();
}

#[test]
fn spatial_chains() {
    chains::<Spatial>();
}

fn spring_pendulums<G: Flat>() {
    let mut good = true;
    for case in cases("spring_pendulum") {
        let name = case["name"].as_str().expect("a name");
        let input = &case["input"];
        for (integrator, wanted) in INTEGRATORS {
            let (coarse, finest) = if integrator != Integrator::Euler { (0.004, 1e-3) } else { (0.001, 5e-2) };
            good &=
                converges(&format!("{} {name} {integrator:?}", G::NAME), [coarse, coarse / 2.0, coarse / 4.0], wanted, finest, |step| {
                    let mut scene = Scene::<G>::new(step);
                    scene.model.options.integrator = integrator;
                    scene.model.gravity = G::at(0.0, -number(&input["g"]));
                    let (x, v) = (numbers(&input["x0"]), numbers(&input["v0"]));
                    let body = scene.particle(number(&input["m"]), G::inertia(0.1), pose(x[0], x[1], 0.0));
                    scene.moving(body, G::at(v[0], v[1]), G::rate(0.0));
                    scene.joint(JointKind::Spring, [Some(body), None], |spec| {
                        spec.anchors = Some([G::at(x[0], x[1]), G::at(0.0, 0.0)]);
                        spec.measures.rest = Some(number(&input["rest_length"]));
                        spec.measures.stiffness = Some(number(&input["k"]));
                    });
                    let mut world = scene.world();
                    let mut worst = 0.0f64;
                    for state in case["expected"]["states"].as_array().expect("states") {
                        run(&mut world, number(&state["t"]));
                        let (found, speed) = (G::flat(world.state().poses[body].position), G::flat(world.state().twists[body].lin));
                        let (x, v) = (numbers(&state["x"]), numbers(&state["v"]));
                        worst = worst.max((found[0] - x[0]).hypot(found[1] - x[1])).max((speed[0] - v[0]).hypot(speed[1] - v[1]));
                    }
                    worst
                });
        }
    }
    assert!(good);
}

#[test]
fn planar_spring_pendulums() {
    spring_pendulums::<Planar>();
}

#[test]
fn spatial_spring_pendulums() {
    spring_pendulums::<Spatial>();
}

/// A quarter of the period is the time to the lowest point, found on the cubic through the two samples about it.
#[test]
fn pendulum_periods() {
    let mut good = true;
    for case in cases("pendulum_period") {
        let name = case["name"].as_str().expect("a name");
        let input = &case["input"];
        let [mass, about_pivot, arm, gravity, start] = ["m", "I_pivot", "d", "g", "theta0"].map(|key| number(&input[key]));
        let [period, bottom] = ["period", "omega_at_bottom"].map(|key| number(&case["expected"][key]));
        for (integrator, wanted) in INTEGRATORS {
            let (coarse, finest) = if integrator != Integrator::Euler { (0.002, 1e-5) } else { (0.0004, 5e-3) };
            good &= converges(&format!("{name} {integrator:?}"), [coarse, coarse / 2.0, coarse / 4.0], wanted, finest, |step| {
                let mut scene = Scene::<Planar>::new(step);
                scene.model.options.integrator = integrator;
                scene.model.gravity = Planar::at(0.0, -gravity);
                let place: Pose<Planar> = pose(arm * start.sin(), -arm * start.cos(), start);
                let body = scene.particle(mass, Matrix1::new(about_pivot - mass * arm * arm), place);
                scene.hinge(body, None, Planar::at(0.0, 0.0));
                let mut world = scene.world();
                let sample = |world: &World<Planar>| (world.state().poses[0].rotation.angle, world.state().twists[0].ang.x);
                let mut before = sample(&world);
                for count in 0..20_000 {
                    world.step().expect("a pendulum");
                    let after = sample(&world);
                    if after.0 <= 0.0 {
                        let quarter = (f64::from(count) + crossing(before, after, step)) * step;
                        // The rate at the lowest point, from the energy of the sample beside it.
                        let fall = 2.0 * mass * gravity * arm * (1.0 - after.0.cos()) / about_pivot;
                        let rate = (after.1 * after.1 + fall).sqrt();
                        return (4.0 * quarter / period - 1.0).abs().max((rate / bottom - 1.0).abs());
                    }
                    before = after;
                }
                f64::INFINITY
            });
        }
    }
    assert!(good);
}

/// Where the cubic through two samples (angle, rate) vanishes, as a part of the step.
fn crossing(before: (f64, f64), after: (f64, f64), step: f64) -> f64 {
    let angle = |s: f64| {
        let (p, q) = (1.0 - s, s);
        before.0 * p * p * (1.0 + 2.0 * q) + after.0 * q * q * (1.0 + 2.0 * p) + step * (before.1 * p * p * q - after.1 * q * q * p)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if angle(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}
