//! Momentum of an isolated tangle of jointed, colliding bodies.

use carom_dynamics::World;
use carom_math::{Planar, Pose, Spatial};
use carom_tests::{Random, Scene, Stage, figure, holds, order};

/// Twelve bodies flying at each other: a chain of three, two hinged pairs, loose balls, boxes and capsules.
fn tangle<G: Stage>(step: f64, restitution: [f64; 3], friction: f64) -> World<G> {
    let mut random = Random::new(7);
    let mut scene = Scene::<G>::weightless(step);
    let mut throw = |scene: &mut Scene<G>, body: usize| {
        let place = scene.state.poses[body].position;
        let jitter = G::deep(random.range(-0.5, 0.5), random.range(-0.5, 0.5), random.range(-0.5, 0.5));
        scene.moving(body, place * -1.0 + jitter, G::rates(random.range(-2.0, 2.0), random.range(-2.0, 2.0), random.range(-2.0, 2.0)));
    };
    let put = |scene: &mut Scene<G>, index: usize, x: f64, depth: f64, up: f64, angle: f64| {
        let shape = match index % 3 {
            0 => G::ball(0.3),
            1 => G::cuboid(0.5, 0.4),
            _ => G::capsule(0.4, 0.15),
        };
        let place = Pose { position: G::deep(x, depth, up), rotation: G::turned(angle) };
        scene.body(shape, 0.5 + 0.25 * (index % 4) as f64, place, friction, restitution[index % 3])
    };
    // A chain of three and two pairs, which start without relative motion so that the joints agree with the velocities.
    let mut bodies = Vec::new();
    for (first, count, x, up) in [(0, 3, -3.0, 0.0), (3, 2, 2.5, 1.5), (5, 2, 2.5, -1.5)] {
        for link in 0..count {
            bodies.push(put(&mut scene, first + link, x + 0.8 * link as f64, 0.02 * link as f64, up, 0.3));
        }
        for link in 1..count {
            let (a, b) = (bodies[first + link], bodies[first + link - 1]);
            let anchor = (scene.state.poses[a].position + scene.state.poses[b].position) * 0.5;
            scene.hinge(a, Some(b), anchor);
        }
        for link in 0..count {
            scene.moving(bodies[first + link], G::deep(-0.7 * x, 0.1, -0.7 * up), G::rate(0.0));
        }
    }
    for (index, (x, up)) in [(0.0, 3.0), (0.0, -3.0), (-2.0, 2.5), (-2.0, -2.5), (4.5, 0.1)].into_iter().enumerate() {
        let body = put(&mut scene, index, x, 0.03 * index as f64, up, 0.7 * index as f64);
        throw(&mut scene, body);
    }
    scene.world()
}

/// Largest change of linear and of angular momentum over a run, relative to the sum of what its bodies carry, and impacts met.
fn changes<G: Stage>(world: &mut World<G>, seconds: f64) -> (f64, f64, usize) {
    let start = world.ledger();
    let state = world.state();
    let carried = |lever: bool| {
        (0..state.poses.len())
            .map(|b| {
                let p = carom_math::Vector::norm(state.twists[b].lin) * world.model().bodies[b].mass;
                if lever { p * carom_math::Vector::norm(state.poses[b].position) } else { p }
            })
            .sum::<f64>()
    };
    let (linear_scale, angular_scale) = (carried(false), carried(true));
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
    let (mut linear, mut angular, mut impacts) = (0.0f64, 0.0f64, 0);
    for _ in 0..(seconds / world.model().step).round() as usize {
        impacts += world.step().expect("a tangle").impacts;
        let now = world.ledger();
        linear = linear.max(distance(&now.momentum, &start.momentum) / linear_scale);
        angular = angular.max(distance(&now.angular_momentum, &start.angular_momentum) / angular_scale);
    }
    (linear, angular, impacts)
}

const MIXES: [([f64; 3], f64); 3] = [([1.0, 1.0, 1.0], 0.0), ([0.0, 0.5, 0.9], 0.4), ([0.0, 0.0, 0.0], 0.8)];

/// In the plane both momenta are exact.
#[test]
fn planar_momentum() {
    let mut good = true;
    for (restitution, friction) in MIXES {
        let mut world = tangle::<Planar>(0.005, restitution, friction);
        let (linear, angular, impacts) = changes(&mut world, 4.0);
        let name = format!("planar tangle, e {restitution:?}, mu {friction}, {impacts} impacts");
        assert!(impacts > 5, "they do collide: {impacts}");
        good &= holds(&format!("{name}: linear momentum"), linear, 1e-12);
        good &= holds(&format!("{name}: angular momentum"), angular, 1e-10);
        good &= holds(&format!("{name}: joint gap [m]"), world.joint_error(), 1e-9);
    }
    assert!(good);
}

/// In space the linear momentum is exact through any collision.
#[test]
fn spatial_linear_momentum() {
    let mut good = true;
    for (restitution, friction) in MIXES {
        let mut world = tangle::<Spatial>(0.005, restitution, friction);
        let (linear, angular, impacts) = changes(&mut world, 4.0);
        let name = format!("spatial tangle, e {restitution:?}, mu {friction}, {impacts} impacts");
        assert!(impacts > 5, "they do collide: {impacts}");
        good &= holds(&format!("{name}: linear momentum"), linear, 1e-12);
        figure(&format!("{name}: angular momentum"), angular);
        good &= holds(&format!("{name}: joint gap [m]"), world.joint_error(), 1e-9);
    }
    assert!(good);
}

/// In space the angular momentum errs at the order of the integrator: before the first collision and through all of them.
#[test]
fn spatial_angular_momentum_is_second_order() {
    for (seconds, name) in [(0.5, "flight"), (4.0, "collisions")] {
        let errors = [0.008, 0.004, 0.002, 0.001].map(|step| changes(&mut tangle::<Spatial>(step, [1.0, 0.5, 0.0], 0.3), seconds).1);
        errors.iter().for_each(|&error| figure(&format!("spatial tangle, {name}: angular momentum"), error));
        let mean = order(errors[0], errors[3]) / 3.0;
        figure(&format!("spatial tangle, {name}: mean order"), mean);
        assert!(mean > 1.7 && mean < 2.5, "{name}: order {mean}");
    }
}
