//! The balance of energy: what went in equals what is there plus what was lost.

use carom_dynamics::{BodyKind, Force, JointKind, Motor, World};
use carom_math::{Planar, Spatial, Vector};
use carom_tests::in_both_spaces;
use carom_tests::scene::{pose, run};
use carom_tests::{GRAVITY, Scene, Stage, figure, full, holds, random_scene};

/// Largest drift of the books of a scene that comes with the engine, over the energy exchanged.
const EMBEDDED: f64 = 1e-3;

/// Scenes whose motors start under load miss it: a motor that reaches its rate within a step is booked to the first order of the step. The stiff servos of
/// the quadruped hold it while it sags by millimetres and exchanges next to nothing: the drift is of second order in the step, 8e-4 at an eighth of it.
/// docs/verification.md has them among what we miss.
const STARTING: [(&str, f64); 5] =
    [("crane", 3e-2), ("jansen_leg", 1e-2), ("motor_crank", 3e-3), ("quadruped", 1.2e-1), ("strandbeest", 3e-2)];

/// Random scenes of a second: the drift stays below 0.1 % of the energy exchanged.
fn balances<G: Stage>(count: u64) -> bool {
    let (mut worst, mut at, mut bad) = (0.0f64, 0, Vec::new());
    for number in 50_000..50_000 + count {
        let (mut scene, _) = random_scene::<G>(number, &[]);
        // The light bodies on springs among them have an energy band of (omega h)^2/8, which must lie below the bound.
        scene.model.step = 0.0025;
        let Ok(mut world) = World::new(scene.model, scene.state) else { continue };
        let mut drift = 0.0f64;
        for _ in 0..(1.0 / world.model().step) as usize {
            if world.step().is_err() {
                break;
            }
            let ledger = world.ledger();
            drift = drift.max(ledger.drift.abs() / ledger.exchanged);
        }
        if drift > 1e-3 {
            bad.push((number, drift));
        }
        if drift > worst {
            (worst, at) = (drift, number);
        }
    }
    println!("{} numbers above 0.1 %: {bad:?}", G::NAME);
    figure(&format!("{} {count} random scenes: number of the worst drift", G::NAME), at as f64);
    holds(&format!("{} {count} random scenes: drift over exchanged", G::NAME), worst, 1e-3)
}

/// Drift of the books over what was exchanged, the most over half a second of a few bodies or a few steps of many.
fn drift_of<G: carom_geometry::Geometry>(scene: carom_scene::SceneOf<G>) -> f64 {
    let half_a_second = (0.5f64.min(scene.duration) / scene.model.step).ceil() as usize;
    let steps = half_a_second.min(match scene.model.bodies.len() {
        ..30 => usize::MAX,
        30..300 => 20,
        _ => 2,
    });
    let controls = vec![0.0; scene.model.control_count()];
    let mut world = World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}"));
    let mut drift = 0.0f64;
    for _ in 0..steps {
        world.step_with(&controls).unwrap_or_else(|e| panic!("{e}"));
        let ledger = world.ledger();
        // What rests exchanges nothing; its books are rounding beside the energy that is there.
        let there = ledger.kinetic + ledger.potential.abs() + ledger.elastic + 1.0;
        drift = drift.max(ledger.drift.abs() / (ledger.exchanged + 1e-6 * there));
    }
    drift
}

/// The books of every scene that comes with the engine balance.
#[test]
fn every_embedded_scene_balances() {
    let (mut bad, clock) = (Vec::new(), std::time::Instant::now());
    for embedded in carom_scene::scenes() {
        let drift = match carom_scene::from_toml(embedded.text, embedded.name).unwrap_or_else(|e| panic!("{e}")) {
            carom_scene::Scene::Planar(scene) => drift_of(scene),
            carom_scene::Scene::Spatial(scene) => drift_of(scene),
        };
        println!("{}: {drift:.1e} after {:.1} s", embedded.name, clock.elapsed().as_secs_f64());
        let bound = STARTING.iter().find(|(name, _)| *name == embedded.name).map_or(EMBEDDED, |(_, bound)| *bound);
        if drift.is_nan() || drift > bound {
            bad.push((embedded.name, drift));
        }
    }
    assert!(bad.is_empty(), "drift over exchanged above its bound: {bad:?}");
}

/// The servos that take the weight of the quadruped book nothing wrong: what its books miss after half a second falls with the square of the step.
#[test]
fn the_books_of_the_quadruped_close_with_the_square_of_the_step() {
    let missed = |parts: u32| {
        let text = carom_scene::scene("quadruped").map(|embedded| embedded.text).unwrap_or_default();
        let Ok(carom_scene::Scene::Spatial(mut scene)) = carom_scene::from_toml(text, "quadruped") else { panic!("a scene in space") };
        scene.model.step /= f64::from(parts);
        let controls = vec![0.0; scene.model.control_count()];
        let steps = (0.5 / scene.model.step).round() as usize;
        let mut world = World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}"));
        for _ in 0..steps {
            world.step_with(&controls).unwrap_or_else(|e| panic!("{e}"));
        }
        world.ledger().drift.abs()
    };
    let missed = [1, 2, 4].map(missed);
    let orders = [(missed[0] / missed[1]).log2(), (missed[1] / missed[2]).log2()];
    println!("missed {missed:?} J, orders {orders:?}");
    assert!(orders.iter().all(|order| (1.9..2.1).contains(order)), "{missed:?} J, orders {orders:?}");
}

#[test]
fn planar_scenes_balance() {
    assert!(balances::<Planar>(if full() { 2000 } else { 150 }));
}

#[test]
fn spatial_scenes_balance() {
    assert!(balances::<Spatial>(if full() { 2000 } else { 150 }));
}

/// A box lifted by a motor on a slider: the work that goes in is the energy gained, to the first-order error of the step in which
/// the motor reaches its rate.
fn a_motor_lifts<G: Stage>() {
    for (name, motor) in [
        ("velocity", Motor::Velocity { velocity: 0.5, max: 100.0 }),
        ("position", Motor::Position { position: 1.0, stiffness: 400.0, damping: 80.0, max: 100.0 }),
    ] {
        let mut scene = Scene::<G>::new(0.005);
        let mass = 2.0;
        let body = scene.body(G::cuboid(0.4, 0.3), mass, pose(0.0, 0.0, 0.0), 0.5, 0.0);
        scene.joint(JointKind::Slider, [Some(body), None], |spec| {
            spec.anchor = Some(G::at(0.0, 0.0));
            spec.axis = Some(G::at(0.0, 1.0));
            spec.motor = Some(motor);
        });
        let mut world = scene.world();
        run(&mut world, 2.0);
        let ledger = world.ledger();
        let height = G::flat(world.state().poses[body].position)[1];
        assert!(height > 0.5, "{name}: it is lifted, to {height}");
        let gained = mass * GRAVITY * height + ledger.kinetic;
        let mut good = holds(
            &format!("{} {name} motor: work against energy gained, relative", G::NAME),
            (ledger.flow.work_in / gained - 1.0).abs(),
            1e-3,
        );
        good &= holds(&format!("{} {name} motor: drift over exchanged", G::NAME), ledger.drift.abs() / gained, 1e-3);
        if name == "velocity" {
            good &= holds(&format!("{} {name} motor: height after 2 s, error [m]", G::NAME), (height - 1.0).abs(), 5e-3);
        }
        assert!(good);
    }
}
in_both_spaces!(a_motor_lifts);

/// A control on a slider and a constant force on a free body: force times way.
fn forces_do_work<G: Stage>() {
    let mut scene = Scene::<G>::weightless(0.005);
    let driven = scene.body(G::cuboid(0.4, 0.3), 2.0, pose(0.0, 0.0, 0.0), 0.5, 0.0);
    let pushed = scene.body(G::ball(0.2), 3.0, pose(5.0, 0.0, 0.0), 0.5, 0.0);
    scene.joint(JointKind::Slider, [Some(driven), None], |spec| {
        spec.anchor = Some(G::at(0.0, 0.0));
        spec.axis = Some(G::at(0.0, 1.0));
        spec.motor = Some(Motor::Control { max: 100.0 });
    });
    let push = 6.0;
    scene.model.forces.push(Force {
        body: pushed,
        force: G::at(push, 0.0),
        torque: G::rate(0.0),
        at: G::at(0.0, 0.0),
        from: 0.0,
        until: f64::INFINITY,
        control: false,
    });
    let mut world = scene.world();
    for _ in 0..200 {
        world.step_with(&[4.0]).expect("driven bodies");
    }
    let state = world.state();
    // x = F t^2/(2 m) after a second.
    let ways = [G::flat(state.poses[driven].position)[1], G::flat(state.poses[pushed].position)[0] - 5.0];
    let mut good = holds(&format!("{} controlled slider: way, error [m]", G::NAME), (ways[0] - 1.0).abs(), 1e-12);
    good &= holds(&format!("{} constant force: way, error [m]", G::NAME), (ways[1] - 1.0).abs(), 1e-12);
    let ledger = world.ledger();
    good &= holds(&format!("{} forces: work, relative error", G::NAME), (ledger.flow.work_in / (4.0 + push) - 1.0).abs(), 1e-12);
    good &= holds(&format!("{} forces: drift over exchanged", G::NAME), ledger.drift.abs() / ledger.exchanged, 1e-12);
    assert!(good);
}
in_both_spaces!(forces_do_work);

/// A belt at speed v takes a resting box along: it feeds m v^2, half of which becomes motion and half heat.
fn a_conveyor_drags<G: Stage>() {
    let (mass, mu, speed) = (2.0, 0.4, 1.5);
    let mut scene = Scene::<G>::new(0.001);
    let belt = scene.fixed(G::cuboid(20.0, 1.0), pose(0.0, -0.5, 0.0), mu, 0.0);
    scene.model.bodies[belt].kind = BodyKind::Kinematic;
    scene.moving(belt, G::at(speed, 0.0), G::rate(0.0));
    let body = scene.body(G::cuboid(0.6, 0.2), mass, pose(0.0, 0.1, 0.0), mu, 0.0);
    let mut world = scene.world();
    run(&mut world, 1.0);
    let ledger = world.ledger();
    let twist = world.state().twists[body];
    let mut good = holds(&format!("{} conveyor: speed error [m/s]", G::NAME), (twist.lin - G::at(speed, 0.0)).norm(), 1e-9);
    good &=
        holds(&format!("{} conveyor: work in, relative error", G::NAME), (ledger.flow.work_in / (mass * speed * speed) - 1.0).abs(), 1e-3);
    good &= holds(
        &format!("{} conveyor: heat, relative error", G::NAME),
        (ledger.flow.friction_loss / (0.5 * mass * speed * speed) - 1.0).abs(),
        1e-3,
    );
    good &= holds(&format!("{} conveyor: drift over exchanged", G::NAME), ledger.drift.abs() / ledger.exchanged, 1e-9);
    let way = G::flat(world.state().poses[body].position)[0];
    let slip = speed / (mu * GRAVITY);
    good &= holds(&format!("{} conveyor: way, error [m]", G::NAME), (way - (0.5 * speed * slip + speed * (1.0 - slip))).abs(), 1e-5);
    assert!(good);
}
in_both_spaces!(a_conveyor_drags);

/// A moving wall strikes a ball head on with e = 1: the ball leaves at twice the speed of the wall, and the wall has done that work.
fn a_moving_wall_strikes<G: Stage>() {
    let mut scene = Scene::<G>::weightless(0.005);
    let wall = scene.fixed(G::cuboid(1.0, 1.0), pose(-1.0, 0.0, 0.0), 0.0, 1.0);
    scene.model.bodies[wall].kind = BodyKind::Kinematic;
    scene.moving(wall, G::at(2.0, 0.0), G::rate(0.0));
    let ball = scene.body(G::ball(0.2), 1.5, pose(0.0, 0.0, 0.0), 0.0, 1.0);
    let mut world = scene.world();
    run(&mut world, 1.0);
    let ledger = world.ledger();
    let mut good =
        holds(&format!("{} moving wall: speed error [m/s]", G::NAME), (world.state().twists[ball].lin - G::at(4.0, 0.0)).norm(), 1e-12);
    good &= holds(&format!("{} moving wall: work in, relative error", G::NAME), (ledger.flow.work_in / 12.0 - 1.0).abs(), 1e-12);
    good &= holds(&format!("{} moving wall: impact loss [J]", G::NAME), ledger.flow.impact_loss.abs(), 1e-11);
    assert!(good);
}
in_both_spaces!(a_moving_wall_strikes);

/// Where the energy of a falling, sliding, damped, joined scene goes: each line has its sign.
fn every_line_has_its_sign<G: Stage>() {
    let mut scene = Scene::<G>::new(0.005);
    scene.ground(0.4, 0.3);
    for column in 0..3 {
        let x = 1.5 * f64::from(column);
        let body = scene.body(G::cuboid(0.5, 0.4), 1.0, pose(x, 1.0, 0.3), 0.4, 0.3);
        scene.model.bodies[body].resistances.damping = 0.2;
        scene.moving(body, G::at(1.0, 0.0), G::rate(2.0));
    }
    let mut world = scene.world();
    run(&mut world, 2.0);
    let flow = world.ledger().flow;
    println!("{} {flow:?}", G::NAME);
    assert!(flow.friction_loss > 0.0 && flow.impact_loss > 0.0 && flow.damping_loss > 0.0 && flow.contact_loss >= -1e-12);
    assert!(flow.work_in == 0.0 && flow.joint_work == 0.0);
    let ledger = world.ledger();
    assert!(holds(&format!("{} falling boxes: drift over exchanged", G::NAME), ledger.drift.abs() / ledger.exchanged, 1e-3));
}
in_both_spaces!(every_line_has_its_sign);

/// A ball that starts a centimetre deep in the ground hangs on a stretched spring: what the projection changes in the spring is booked.
fn a_projection_moves_a_spring<G: Stage>() {
    let (stiffness, depth) = (200.0, 0.01);
    let mut scene = Scene::<G>::weightless(0.001);
    scene.ground(0.0, 0.0);
    let ball = scene.body(G::ball(0.2), 1.0, pose(0.0, 0.2 - depth, 0.0), 0.0, 0.0);
    scene.joint(JointKind::Spring, [Some(ball), None], |spec| {
        spec.anchors = Some([G::at(0.0, 0.2 - depth), G::at(0.0, -0.8 - depth)]);
        spec.measures.rest = Some(0.5);
        spec.measures.stiffness = Some(stiffness);
    });
    let mut world = scene.world();
    run(&mut world, 0.01);
    let ledger = world.ledger();
    // The spring is pulled from a stretch of 0.5 m by the depth of the ball, which moves up to the slop.
    let stretched = 0.5 * stiffness * ((0.5 + depth) * (0.5 + depth) - 0.25);
    let mut good = holds(
        &format!("{} projection: energy of the spring, relative error", G::NAME),
        (ledger.flow.projection / stretched - 1.0).abs(),
        1e-4,
    );
    good &= holds(&format!("{} projection: drift over exchanged", G::NAME), ledger.drift.abs() / ledger.exchanged, 1e-9);
    assert!(good);
}
in_both_spaces!(a_projection_moves_a_spring);
