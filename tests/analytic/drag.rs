//! Quadratic drag: the ball that falls and the ball that is thrown, in closed form.

use carom_dynamics::World;
use carom_dynamics::options::Integrator;
use carom_tests::scene::run;
use carom_tests::{Scene, Stage, figure, holds, in_both_spaces, order};

/// Mass [kg] and drag [kg/m] of a ball.
const MASS: f64 = 0.5;
const DRAG: f64 = 0.02;
/// How long it moves [s].
const DURATION: f64 = 2.0;

/// The schemes and the order of their errors: drag is explicit but for the mean velocities of `energy-momentum`.
const SCHEMES: [(Integrator, f64); 3] = [(Integrator::Verlet, 1.0), (Integrator::Euler, 1.0), (Integrator::EnergyMomentum, 2.0)];

fn thrown<G: Stage>(integrator: Integrator, step: f64, gravity: f64, speed: f64) -> World<G> {
    let mut scene = Scene::<G>::weightless(step);
    scene.model.gravity = G::at(0.0, -gravity);
    scene.model.options.integrator = integrator;
    let body = scene.body(G::ball(0.1), MASS, carom_math::Pose::identity(), 0.0, 0.0);
    scene.model.bodies[body].resistances.drag = DRAG;
    scene.moving(body, G::at(speed, 0.0), G::rate(0.0));
    let mut world = scene.world();
    run(&mut world, DURATION);
    world
}

/// Error of the last speed and place at steps of 1/100, 1/200 and 1/400 s, and whether they fall with the order of the scheme.
fn errors<G: Stage>(what: &str, gravity: f64, speed: f64, exact: [f64; 2], axis: usize) {
    for (integrator, expected) in SCHEMES {
        let found = [100.0, 200.0, 400.0].map(|per_second: f64| {
            let world = thrown::<G>(integrator, 1.0 / per_second, gravity, speed);
            let ledger = world.ledger();
            // All that leaves is booked; `euler` falls from other heights than its speeds tell, whatever the drag.
            let bound = if integrator == Integrator::Euler { 2.0 } else { 2e-2 } / per_second;
            let what = format!("{} {what}, {integrator:?}: drift over loss", G::NAME);
            assert!(holds(&what, ledger.drift.abs() / ledger.flow.damping_loss, bound));
            let state = world.state();
            (state.twists[0].lin[axis] - exact[0]).abs().max((state.poses[0].position[axis] - exact[1]).abs())
        });
        figure(&format!("{} {what}, {integrator:?}: error at 1/400 s", G::NAME), found[2]);
        let rate = order(found[1], found[2]);
        assert!((rate - expected).abs() < 0.1, "{what} {integrator:?}: order {rate}, errors {found:?}");
        assert!(found[2] < if expected > 1.5 { 2e-5 } else { 3e-2 }, "{what} {integrator:?}: {found:?}");
    }
}

/// v = v_t tanh(g t/v_t) and the way v_t^2/g ln cosh(g t/v_t), v_t^2 = m g/d.
fn a_ball_falls<G: Stage>() {
    let gravity: f64 = 9.81;
    let limit = (MASS * gravity / DRAG).sqrt();
    let x = gravity * DURATION / limit;
    let exact = [-limit * x.tanh(), -limit * limit / gravity * x.cosh().ln()];
    errors::<G>("falling with drag", gravity, 0.0, exact, G::DIM - 1);
}
in_both_spaces!(a_ball_falls);

/// Without gravity v = v0/(1 + d v0 t/m) and the way m/d ln(1 + d v0 t/m).
fn a_ball_is_thrown<G: Stage>() {
    let speed = 12.0;
    let x = DRAG * speed * DURATION / MASS;
    errors::<G>("thrown with drag", 0.0, speed, [speed / (1.0 + x), MASS / DRAG * (1.0 + x).ln()], 0);
}
in_both_spaces!(a_ball_is_thrown);

/// A locked axis keeps its speed, and the drag along the others sees it: v_y falls with d |v|, v_x stays.
fn a_locked_axis_is_felt<G: Stage>() {
    for (integrator, _) in SCHEMES {
        let mut scene = Scene::<G>::weightless(1e-3);
        scene.model.options.integrator = integrator;
        let body = scene.body(G::ball(0.1), MASS, carom_math::Pose::identity(), 0.0, 0.0);
        scene.model.bodies[body].resistances.drag = DRAG;
        scene.model.bodies[body].locked = G::at(1.0, 0.0);
        scene.moving(body, G::at(30.0, 0.01), G::rate(0.0));
        let mut world = scene.world();
        run(&mut world, DURATION);
        let velocity = world.state().twists[0].lin;
        // |v| is 30 to 1e-7: an exponential.
        let exact = 0.01 * (-DRAG * 30.0 * DURATION / MASS).exp();
        assert_eq!(velocity[0], 30.0);
        assert!((velocity[G::DIM - 1] / exact - 1.0).abs() < 2e-3, "{integrator:?} {velocity:?} {exact}");
    }
}
in_both_spaces!(a_locked_axis_is_felt);
