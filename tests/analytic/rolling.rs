//! Rolling and torsional friction: the ball that rolls to a stop, the slope on which it starts, the spin that ends.

use carom_dynamics::World;
use carom_dynamics::options::{FrictionCone, Integrator, SolverChoice};
use carom_math::{Spatial, Vector};
use carom_tests::scene::{pose, run};
use carom_tests::{GRAVITY, Scene, Stage, figure, holds, in_both_spaces};
use nalgebra::Vector3;

/// Radius [m], mass [kg], arms [m] of a ball.
const RADIUS: f64 = 0.1;
const MASS: f64 = 0.7;
const ROLLING: f64 = 0.002;
const TORSIONAL: f64 = 0.003;
/// The schemes it is tried under.
const SCHEMES: [Integrator; 3] = [Integrator::Verlet, Integrator::Euler, Integrator::EnergyMomentum];

/// 1 + I/(m r^2): 3/2 for the disc of the plane, 7/5 for the ball.
fn kappa<G: Stage>() -> f64 {
    if G::DIM == 2 { 1.5 } else { 1.4 }
}

/// A ball on a slope that rises to the right, with arms.
fn ball_on<G: Stage>(angle: f64, step: f64, friction: f64, arms: [f64; 2]) -> (Scene<G>, usize) {
    let mut scene = Scene::<G>::new(step);
    let ground = scene.slope(angle, friction, 0.0);
    let place = pose::<G>(-RADIUS * angle.sin(), RADIUS * angle.cos(), 0.0);
    let body = scene.body(G::ball(RADIUS), MASS, place, friction, 0.0);
    for body in [ground, body] {
        (scene.model.bodies[body].surface.rolling, scene.model.bodies[body].surface.torsional) = (arms[0], arms[1]);
    }
    (scene, body)
}

/// Takes so many steps.
fn go<G: Stage>(world: &mut World<G>, steps: usize) {
    (0..steps).for_each(|_| world.step().map(|_| ()).unwrap_or_else(|e| panic!("{e}")));
}

/// It stops after d = kappa r v0^2/(2 c g) and T = kappa r v0/(c g) without slip, and stays.
fn a_ball_rolls_to_a_stop<G: Stage>() {
    let (speed, c) = (0.5, ROLLING);
    let (distance, time) = (kappa::<G>() * RADIUS * speed * speed / (2.0 * c * GRAVITY), kappa::<G>() * RADIUS * speed / (c * GRAVITY));
    for integrator in SCHEMES {
        let (mut scene, body) = ball_on::<G>(0.0, 1e-3, 0.5, [c, 0.0]);
        scene.model.options.integrator = integrator;
        let start = scene.state.poses[body].position[0];
        scene.moving(body, G::at(speed, 0.0), G::rate(-speed / RADIUS));
        let mut world = scene.world();
        let steps = (0.5 * time / 1e-3) as usize;
        go(&mut world, steps);
        // The speed falls with time.
        let half = world.state().twists[body];
        let left = speed * (1.0 - steps as f64 * 1e-3 / time);
        assert!((half.lin[0] - left).abs() < 1e-9 * speed, "{integrator:?}: {half:?}");
        go(&mut world, steps + 200);
        let state = world.state();
        let error = ((state.poses[body].position[0] - start) / distance - 1.0).abs();
        // The step in which it stops, and the one half step by which Euler is behind, are part of a step of v0.
        let bound = if integrator == Integrator::Euler { 2e-3 } else { 2e-6 };
        assert!(holds(&format!("{} rolling to a stop, {integrator:?}: error of the way", G::NAME), error, bound));
        assert!(state.twists[body].lin.norm() < 1e-12 && state.twists[body].ang.norm() < 1e-11, "{:?}", state.twists[body]);
        let ledger = world.ledger();
        let lost = 0.5 * MASS * kappa::<G>() * speed * speed;
        assert!((ledger.flow.friction_loss / lost - 1.0).abs() < 1e-6, "{:?}", ledger.flow);
    }
}
in_both_spaces!(a_ball_rolls_to_a_stop);

/// A slope of tan a = c/r: at (1 - 1e-6) of it the ball stays, at (1 + 1e-6) it rolls as the closed form says.
fn a_slope_decides<G: Stage>() {
    let limit = (ROLLING / RADIUS).atan();
    let duration = 1.0;
    for (share, rolls) in [(1.0 - 1e-6, false), (1.0 + 1e-6, true)] {
        let angle = limit * share;
        let (scene, body) = ball_on::<G>(angle, 1e-3, 0.5, [ROLLING, 0.0]);
        let start = scene.state.poses[body].position;
        let mut world = scene.world();
        run(&mut world, duration);
        let way = (world.state().poses[body].position - start).norm();
        if rolls {
            let acceleration = GRAVITY * angle.cos() * (angle.tan() - ROLLING / RADIUS) / kappa::<G>();
            let exact = 0.5 * acceleration * duration * duration;
            figure(&format!("{} slope just steep enough: way", G::NAME), way);
            assert!((way / exact - 1.0).abs() < 1e-4, "{way:e} instead of {exact:e}");
        } else {
            assert!(holds(&format!("{} slope just too flat: way", G::NAME), way, 1e-12));
        }
    }
}
in_both_spaces!(a_slope_decides);

/// A ball that spins about the normal stops after 2 r^2 w0/(5 c g), at a constant rate of loss.
#[test]
fn a_spin_ends() {
    let spin = 20.0;
    let time = 2.0 * RADIUS * RADIUS * spin / (5.0 * TORSIONAL * GRAVITY);
    for integrator in SCHEMES {
        let (mut scene, body) = ball_on::<Spatial>(0.0, 1e-3, 0.5, [0.0, TORSIONAL]);
        scene.model.options.integrator = integrator;
        scene.moving(body, Vector3::zeros(), Vector3::new(0.0, 0.0, spin));
        let mut world = scene.world();
        let steps = (0.4 * time / 1e-3) as usize;
        go(&mut world, steps);
        let exact = spin * (1.0 - steps as f64 * 1e-3 / time);
        assert!((world.state().twists[body].ang.z / exact - 1.0).abs() < 1e-9, "{integrator:?}");
        go(&mut world, 2 * steps);
        assert!(world.state().twists[body].ang.norm() < 1e-11, "{integrator:?}: {:?}", world.state().twists[body]);
    }
}

/// The same under the other solvers and with a pyramid of friction.
#[test]
fn every_solver_knows_the_law() {
    let stop = |choose: &dyn Fn(&mut World<Spatial>)| {
        let (mut scene, body) = ball_on::<Spatial>(0.0, 2e-3, 0.5, [ROLLING, TORSIONAL]);
        scene.moving(body, Vector3::new(0.3, 0.1, 0.0), Vector3::new(-1.0, 3.0, 2.0));
        let mut world = scene.world();
        choose(&mut world);
        run(&mut world, 0.5);
        world.state().twists[body]
    };
    let with = |change: &dyn Fn(&mut carom_dynamics::Options)| {
        stop(&|world: &mut World<Spatial>| {
            let mut model = world.model().clone();
            change(&mut model.options);
            *world = World::new(model, world.state().clone()).unwrap_or_else(|e| panic!("{e}"));
        })
    };
    let first = with(&|_| ());
    assert!(first.lin.norm() > 0.05 && first.ang.z.abs() < 2.0);
    for solver in [SolverChoice::InteriorPoint, SolverChoice::Articulated] {
        let other = with(&|options| options.solver = solver);
        assert!((first.lin - other.lin).norm() < 1e-10 && (first.ang - other.ang).norm() < 1e-9, "{solver:?}");
    }
    let other = with(&|options| options.friction_cone = FrictionCone::Polyhedral(64));
    assert!((first.lin - other.lin).norm() < 1e-2, "{other:?}");
}

/// A stack of three balls' worth of contacts, and a box with four: the moments of equal normals are redundant.
#[test]
fn redundant_moments_do_no_harm() {
    let mut scene = Scene::<Spatial>::new(0.005);
    let ground = scene.ground(0.5, 0.0);
    let mut bodies = vec![ground];
    for k in 0..3 {
        bodies.push(scene.body(Spatial::cuboid(0.2, 0.2), 1.0, pose(0.0, 0.1 + 0.2 * f64::from(k), 0.0), 0.5, 0.0));
    }
    for &body in &bodies {
        (scene.model.bodies[body].surface.rolling, scene.model.bodies[body].surface.torsional) = (0.01, 0.02);
    }
    let mut world = scene.world();
    let before = world.state().clone();
    run(&mut world, 0.5);
    for &body in &bodies[1..] {
        let moved = (world.state().poses[body].position - before.poses[body].position).norm();
        assert!(moved < 1e-9, "{moved:e}");
    }
}
