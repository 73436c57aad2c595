//! Dry friction against its closed forms: the slip angle, the slide, the stop.

use carom_dynamics::World;
use carom_dynamics::options::FrictionCone;
use carom_math::{Planar, Space, Spatial, Vector};
use carom_tests::in_both_spaces;
use carom_tests::scene::{pose, run};
use carom_tests::{GRAVITY, Scene, Stage, figure, holds, order};

const COEFFICIENTS: [f64; 3] = [0.1, 0.5, 1.0];
const CONES: [FrictionCone; 3] = [FrictionCone::Round, FrictionCone::Polyhedral(4), FrictionCone::Polyhedral(8)];
/// Height of the box [m]; flat, so that no slope here makes it tip.
const HEIGHT: f64 = 0.4;

fn cones<G: Space>() -> &'static [FrictionCone] {
    if G::DIM == 2 { &CONES[..1] } else { &CONES }
}

/// A box, or a ball that cannot turn, on a slope.
fn on_slope<G: Stage>(angle: f64, friction: f64, ball: bool, cone: FrictionCone, step: f64) -> World<G> {
    let mut scene = Scene::<G>::new(step);
    scene.model.options.friction_cone = cone;
    scene.slope(angle, friction, 0.0);
    let lift = 0.5 * HEIGHT;
    let place = pose(-lift * angle.sin(), lift * angle.cos(), angle);
    let shape = if ball { G::ball(lift) } else { G::cuboid(1.0, HEIGHT) };
    let body = scene.body(shape, 2.0, place, friction, 0.0);
    scene.model.bodies[body].locked_rotation = ball;
    scene.world()
}

/// A tenth of a degree below the friction angle nothing moves.
fn holds_below_the_angle<G: Stage>() {
    let mut good = true;
    for &cone in cones::<G>() {
        for mu in COEFFICIENTS {
            for ball in [false, true] {
                let mut world = on_slope::<G>(mu.atan() - 0.1f64.to_radians(), mu, ball, cone, 0.005);
                let mut creep = 0.0f64;
                for _ in 0..400 {
                    world.step().expect("a block at rest");
                    let twist = world.state().twists[1];
                    creep = creep.max(twist.lin.norm()).max(twist.ang.norm());
                }
                assert!(world.report().contacts > 0, "it does touch");
                good &= holds(&format!("{} creep [m/s], mu {mu}, ball {ball}, {cone:?}", G::NAME), creep, 1e-9);
            }
        }
    }
    assert!(good);
}
in_both_spaces!(holds_below_the_angle);

/// A tenth of a degree above it the block slides with g (sin - mu cos).
fn slides_above_the_angle<G: Stage>() {
    let mut good = true;
    for &cone in cones::<G>() {
        for mu in COEFFICIENTS {
            for ball in [false, true] {
                let angle = mu.atan() + 0.1f64.to_radians();
                let mut world = on_slope::<G>(angle, mu, ball, cone, 0.005);
                for _ in 0..400 {
                    world.step().expect("a sliding block");
                }
                let time = world.state().time;
                let expected = GRAVITY * (angle.sin() - mu * angle.cos()) * time;
                let speed = -world.state().twists[1].lin.dot(G::at(angle.cos(), angle.sin()));
                let error = (speed / expected - 1.0).abs();
                good &= holds(&format!("{} sliding speed, relative error, mu {mu}, ball {ball}, {cone:?}", G::NAME), error, 1e-6);
            }
        }
    }
    assert!(good);
}
in_both_spaces!(slides_above_the_angle);

/// A block with a start speed on level ground stops after v/(mu g) seconds and v^2/(2 mu g) metres.
fn stops_where_it_should<G: Stage>() {
    let mut good = true;
    for mu in [0.1, 0.3, 0.5] {
        let mut scene = Scene::<G>::new(0.001);
        scene.ground(mu, 0.0);
        let body = scene.body(G::cuboid(1.0, HEIGHT), 2.0, pose(0.0, 0.5 * HEIGHT, 0.0), mu, 0.0);
        let speed = 3.0;
        scene.moving(body, G::at(speed, 0.0), G::rate(0.0));
        let mut world = scene.world();
        let mut stopped = None;
        for _ in 0..4000 {
            let (time, rate) = (world.state().time, world.state().twists[body].lin.norm());
            world.step().expect("a sliding block");
            if stopped.is_none() && world.state().twists[body].lin.norm() < 1e-9 {
                stopped = Some(time + rate / (mu * GRAVITY));
            }
        }
        let time = stopped.expect("it stops within 4 s");
        let way = G::flat(world.state().poses[body].position)[0];
        let exact = [speed / (mu * GRAVITY), speed * speed / (2.0 * mu * GRAVITY)];
        good &= holds(&format!("{} stopping time, relative error, mu {mu}", G::NAME), (time / exact[0] - 1.0).abs(), 1e-3);
        good &= holds(&format!("{} stopping distance, relative error, mu {mu}", G::NAME), (way / exact[1] - 1.0).abs(), 1e-3);
    }
    assert!(good);
}
in_both_spaces!(stops_where_it_should);

/// Velocity down and across a slope after 0.5 s of a block thrown across it at 2 m/s: friction opposes the velocity, which turns.
fn skew_slide(angle: f64, mu: f64, step: f64) -> [f64; 2] {
    let mut world = on_slope::<Spatial>(angle, mu, true, FrictionCone::Round, step);
    let mut state = world.state().clone();
    let (down, across) = (Spatial::at(-angle.cos(), -angle.sin()), Spatial::deep(0.0, 1.0, 0.0));
    state.twists[1].lin = across * 2.0;
    world.set_state(state).expect("a velocity");
    run(&mut world, 0.5);
    let found = world.state().twists[1].lin;
    [found.dot(down), found.dot(across)]
}

/// Two roads: the slide against a fine integration of its two equations of motion. Where the slip turns friction is of first order,
/// since each half of the step opposes the velocity at its end.
#[test]
fn a_skew_slide_follows_the_round_cone() {
    let (angle, mu) = (0.3f64, 0.2);
    let (mut u, mut v) = (0.0f64, 2.0f64);
    const PARTS: usize = 500_000;
    let h = 0.5 / PARTS as f64;
    let rate = |u: f64, v: f64| {
        let drag = GRAVITY * mu * angle.cos() / u.hypot(v);
        (GRAVITY * angle.sin() - drag * u, -drag * v)
    };
    for _ in 0..PARTS {
        let (a, b) = rate(u, v);
        let (c, d) = rate(u + 0.5 * h * a, v + 0.5 * h * b);
        u += h * c;
        v += h * d;
    }
    let errors = [0.004, 0.002, 0.001].map(|step| {
        let found = skew_slide(angle, mu, step);
        let error = (found[0] - u).hypot(found[1] - v) / u.hypot(v);
        figure(&format!("skew slide after 0.5 s at {step} s: relative velocity error"), error);
        error
    });
    let mean = order(errors[0], errors[2]) / 2.0;
    figure("skew slide: mean order", mean);
    assert!(mean > 0.9 && errors[2] < 1e-3);
}

/// The plane and space agree on the angle itself: within 1e-6 rad of it the block still knows its side.
#[test]
fn the_angle_is_sharp() {
    for mu in COEFFICIENTS {
        for (offset, slides) in [(-1e-6, false), (1e-6, true)] {
            let mut world = on_slope::<Planar>(f64::atan(mu) + offset, mu, false, FrictionCone::Round, 0.005);
            for _ in 0..200 {
                world.step().expect("a block");
            }
            let speed = world.state().twists[1].lin.norm();
            figure(&format!("mu {mu}, angle off by {offset:e}: speed after 1 s [m/s]"), speed);
            assert_eq!(speed > 1e-7, slides);
        }
    }
}
