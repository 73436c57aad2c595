//! A body dropped from a height rebounds to e^2 of it.

use carom_dynamics::World;
use carom_dynamics::options::{ImpactLaw, Integrator};
use carom_tests::in_both_spaces;
use carom_tests::scene::pose;
use carom_tests::{GRAVITY, Scene, Stage, figure, holds, order};

const DROP: f64 = 1.0;
const RADIUS: f64 = 0.1;

/// What is dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Solid {
    Ball,
    /// Lands flat on all its lower corners.
    Box,
}

fn dropped<G: Stage>(solid: Solid, restitution: f64, step: f64, integrator: Integrator) -> World<G> {
    let mut scene = Scene::<G>::new(step);
    scene.model.options.integrator = integrator;
    scene.ground(0.3, restitution);
    let shape = match solid {
        Solid::Ball => G::ball(RADIUS),
        Solid::Box => G::cuboid(2.0 * RADIUS, 2.0 * RADIUS),
    };
    scene.body(shape, 1.0, pose(0.0, DROP + RADIUS, 0.0), 0.3, restitution);
    scene.world()
}

/// Height of the apex after the first impact, from the energy just after it, and the deepest overlap met [m].
fn apex<G: Stage>(world: &mut World<G>) -> (f64, f64) {
    let (mut apex, mut deepest) = (None, 0.0f64);
    for _ in 0..(0.7 / world.model().step) as usize {
        world.step().expect("a falling body");
        deepest = deepest.max(-world.deepest());
        if apex.is_none() && world.report().impacts > 0 {
            let (height, speed) = (G::flat(world.state().poses[1].position)[1] - RADIUS, G::flat(world.state().twists[1].lin)[1]);
            apex = Some(height + speed * speed / (2.0 * GRAVITY));
        }
    }
    (apex.expect("it lands"), deepest)
}

/// With the second-order integrator and events: within 0.1 % of the drop height, no overlap.
fn rebounds_to_e_squared<G: Stage>() {
    let mut good = true;
    for solid in [Solid::Ball, Solid::Box] {
        for e in [0.0, 0.3, 0.7, 1.0] {
            let (height, depth) = apex(&mut dropped::<G>(solid, e, 0.005, Integrator::Verlet));
            let name = format!("{} {solid:?} e {e}", G::NAME);
            good &= holds(&format!("{name}: apex error over drop"), (height - e * e * DROP).abs() / DROP, 1e-3);
            good &= holds(&format!("{name}: overlap over size"), depth / (2.0 * RADIUS), 1e-6);
        }
    }
    assert!(good);
}
in_both_spaces!(rebounds_to_e_squared);

/// Every impact law gives the same rebound of a single ball.
fn every_law_agrees<G: Stage>() {
    let mut good = true;
    for law in [ImpactLaw::Auto, ImpactLaw::Reflections, ImpactLaw::GaussSeidel(Default::default()), ImpactLaw::Stronge, ImpactLaw::Newton]
    {
        let mut world = dropped::<G>(Solid::Ball, 0.7, 0.005, Integrator::Verlet);
        let (mut model, state) = (world.model().clone(), world.state().clone());
        model.options.impact = law;
        world = World::new(model, state).expect("a scene");
        let (height, _) = apex(&mut world);
        good &= holds(&format!("{} {law:?}: apex error over drop", G::NAME), (height - 0.49 * DROP).abs() / DROP, 1e-3);
    }
    assert!(good);
}
in_both_spaces!(every_law_agrees);

/// The first-order integrator errs by O(h): over four halvings the mean order is 1.
fn euler_is_first_order<G: Stage>() {
    for e in [0.7, 1.0] {
        let errors = [0.008, 0.004, 0.002, 0.001, 0.0005].map(|step| {
            let (height, _) = apex(&mut dropped::<G>(Solid::Ball, e, step, Integrator::Euler));
            (height - e * e * DROP).abs() / DROP
        });
        errors.iter().for_each(|&error| figure(&format!("{} euler e {e}: apex error over drop", G::NAME), error));
        let mean = order(errors[0], errors[4]) / 4.0;
        figure(&format!("{} euler e {e}: mean order", G::NAME), mean);
        assert!((0.7..1.5).contains(&mean), "order {mean}");
    }
}
in_both_spaces!(euler_is_first_order);

/// Ten bounces with e = 1: the last apex is as high as the first.
fn elastic_bounces_keep_their_height<G: Stage>() {
    let mut world = dropped::<G>(Solid::Ball, 1.0, 0.005, Integrator::Verlet);
    let mut bounces = 0;
    while bounces < 10 && world.state().time < 20.0 {
        world.step().expect("a bouncing ball");
        bounces += world.report().impacts;
    }
    let (height, speed) = (G::flat(world.state().poses[1].position)[1] - RADIUS, G::flat(world.state().twists[1].lin)[1]);
    let error = (height + speed * speed / (2.0 * GRAVITY) - DROP).abs();
    assert_eq!(bounces, 10);
    assert!(holds(&format!("{} ten elastic bounces: apex error over drop", G::NAME), error / DROP, 1e-9));
}
in_both_spaces!(elastic_bounces_keep_their_height);
