//! Struck mechanisms: joints answer together with the contact, so nothing tears and nothing is gained.

use crate::laws::{ALL, STEPS, ball, kinetic, scene, until_impact};
use carom_dynamics::options::ImpactLaw;
use carom_math::Vector;
use carom_tests::in_both_spaces;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, figure, holds};

/// Size of a link [m].
const LENGTH: f64 = 1.0;
const WIDTH: f64 = 0.1;
const RADIUS: f64 = 0.1;
/// So short that nothing moves: with e = 0 the ball stays at the rod, and pushing on it changes its velocity at once [s].
const INSTANT: f64 = 1e-8;

/// Links that hang from the origin, each hinged to the one above.
fn chain<G: Stage>(scene: &mut Scene<G>, links: usize, restitution: f64) -> Vec<usize> {
    let mut bodies: Vec<usize> = Vec::new();
    for link in 0..links {
        let centre = -LENGTH * (link as f64 + 0.5);
        let body = scene.body(G::cuboid(WIDTH, LENGTH), 1.0 + 0.5 * link as f64, pose(0.0, centre, 0.0), 0.0, restitution);
        scene.hinge(body, bodies.last().copied(), G::at(0.0, -LENGTH * link as f64));
        bodies.push(body);
    }
    bodies
}

/// A ball flies at the chain along x at a depth below the hinge, from a distance.
fn shoot<G: Stage>(scene: &mut Scene<G>, mass: f64, depth: f64, distance: f64, friction: f64, restitution: f64) -> usize {
    let body = ball(scene, RADIUS, mass, -0.5 * WIDTH - RADIUS - distance, -depth, restitution);
    scene.model.bodies[body].surface.friction = friction;
    scene.moving(body, G::at(2.0, 0.0), G::rate(0.0));
    body
}

/// One hinged rod: the impulse is (1 + e) v / (1/m + d^2/I) with the moment of inertia about the hinge.
fn ballistic_pendulum<G: Stage>() {
    let mut good = true;
    for law in ALL {
        let mut worst = 0.0f64;
        for e in [0.0, 0.5, 1.0] {
            for depth in [0.3, 0.6, 0.9] {
                let mut scene = scene::<G>(law, INSTANT);
                let rod = chain(&mut scene, 1, e)[0];
                let striker = shoot(&mut scene, 0.7, depth, 0.0, 0.0, e);
                let about = G::flat_inertia(scene.model.bodies[rod].inertia) + 0.25 * LENGTH * LENGTH;
                let mut world = scene.world();
                until_impact(&mut world, INSTANT);
                let impulse = (1.0 + e) * 2.0 / (1.0 / 0.7 + depth * depth / about);
                let (ball, rate) = (G::flat(world.state().twists[striker].lin)[0], G::flat_rate(world.state().twists[rod].ang));
                worst = worst.max((ball - (2.0 - impulse / 0.7)).abs()).max((rate - impulse * depth / about).abs());
            }
        }
        good &= holds(&format!("{} ballistic pendulum, {law:?}: velocities", G::NAME), worst, 1e-8);
    }
    assert!(good);
}
in_both_spaces!(ballistic_pendulum);

/// A chain of three struck in the middle: joints hold, the moment of momentum about the hinge stays, energy does not rise.
fn chain_struck_in_the_middle<G: Stage>() {
    let mut good = true;
    for law in ALL {
        for (e, mu) in [(1.0, 0.0), (0.5, 0.0), (0.6, 0.5)] {
            let mut scene = scene::<G>(law, STEPS[1]);
            let links = chain(&mut scene, 3, e);
            links.iter().for_each(|&link| scene.model.bodies[link].surface.friction = mu);
            let striker = shoot(&mut scene, 2.0, 1.4, 0.05, mu, e);
            // A ball that also climbs, so that friction has something to do.
            scene.moving(striker, G::at(2.0, 0.3), G::rate(1.0));
            let mut world = scene.world();
            let before = (kinetic(&world), world.ledger().angular_momentum);
            until_impact(&mut world, 0.1);
            let after = (kinetic(&world), world.ledger().angular_momentum);
            let turned = before.1.iter().zip(&after.1).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
            let name = format!("{} chain struck, {law:?}, e {e}, mu {mu}", G::NAME);
            good &= holds(&format!("{name}: moment of momentum"), turned / before.1.iter().map(|l| l.abs()).sum::<f64>(), 1e-8);
            good &= holds(&format!("{name}: joint gap [m]"), world.joint_error(), 1e-9);
            figure(&format!("{name}: energy after over before"), after.0 / before.0);
            if law != ImpactLaw::Newton || mu == 0.0 {
                good &= holds(&format!("{name}: energy gained"), after.0 / before.0 - 1.0, 1e-9);
            }
            if e == 1.0 {
                good &= holds(&format!("{name}: energy kept"), (after.0 / before.0 - 1.0).abs(), 1e-9);
            }
            // Joint velocities agree as well: neighbouring links share the velocity of their hinge.
            let twists = &world.state().twists;
            for pair in links.windows(2) {
                let end = |body: usize, sign: f64| {
                    let arm = world.state().poses[body].direction(G::at(0.0, 0.5 * sign * LENGTH));
                    twists[body].at(arm)
                };
                let apart = (end(pair[0], -1.0) - end(pair[1], 1.0)).norm();
                assert!(apart < 1e-9, "{name}: hinge velocities differ by {apart}");
            }
            assert!(twists[links[2]].ang.norm() > 0.01, "{name}: the last link feels it");
        }
    }
    assert!(good);
}
in_both_spaces!(chain_struck_in_the_middle);
