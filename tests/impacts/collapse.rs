//! Restitution below 1: the blend of an inelastic and an elastic answer ends where restitution inside each reflection would go on for ever.

use crate::laws::{ALL, ORDERS, STEPS, ball, kinetic, scene, velocities, wall};
use carom_dynamics::options::ImpactLaw;
use carom_tests::in_both_spaces;
use carom_tests::{Stage, figure};

/// Five touching balls, the first at speed 1: e = 0 gives .2 each at once, in any order.
fn inelastic_cradle_shares_the_velocity<G: Stage>() {
    for law in ALL {
        let mut scene = scene::<G>(law, STEPS[1]);
        for i in 0..5 {
            ball(&mut scene, 0.5, 1.0, i as f64, 0.0, 0.0);
        }
        scene.moving(0, G::at(1.0, 0.0), G::rate(0.0));
        let mut world = scene.world();
        let report = world.step().expect("five balls");
        figure(&format!("{} inelastic cradle, {law:?}: iterations", G::NAME), report.impact_iterations as f64);
        let after = velocities(&world);
        // One contact after the other only tends to the common velocity; it stops when nothing closes by more than 1e-10 of the speed.
        assert!(after.iter().all(|v| (v[0] - 0.2).abs() < 1e-8), "{law:?}: {after:?}");
        assert!(!report.impact_capped, "{law:?}");
    }
}
in_both_spaces!(inelastic_cradle_shares_the_velocity);

/// In between the answer is the blend (1 - e) v0 + e v1 of the two, for every law that blends.
fn restitution_blends<G: Stage>() {
    for law in ORDERS.map(ImpactLaw::GaussSeidel).into_iter().chain([ImpactLaw::Reflections, ImpactLaw::Auto]) {
        for e in [0.1, 0.5, 0.9] {
            let mut scene = scene::<G>(law, STEPS[1]);
            for i in 0..5 {
                ball(&mut scene, 0.5, 1.0, i as f64, 0.0, e);
            }
            scene.moving(0, G::at(1.0, 0.0), G::rate(0.0));
            let mut world = scene.world();
            world.step().expect("five balls");
            for (i, v) in velocities(&world).iter().enumerate() {
                let wanted = 0.2 * (1.0 - e) + if i == 4 { e } else { 0.0 };
                assert!((v[0] - wanted).abs() < 1e-12, "{law:?}, e {e}: {:?}", velocities(&world));
            }
        }
    }
}
in_both_spaces!(restitution_blends);

/// Collapse in time: a row of balls with room between them, e = 0.1, thrown at a wall, would collide without end in a finite time.
/// Every step ends, nothing overlaps and the energy only falls.
fn collapse_in_time_ends<G: Stage>() {
    for law in ALL {
        let mut scene = scene::<G>(law, STEPS[0]);
        wall(&mut scene, [1.0, 0.0], [0.0, 0.0], 0.0, 0.1);
        for i in 0..10 {
            let body = ball(&mut scene, 0.1, 1.0, 0.3 + 0.21 * i as f64, 0.0, 0.1);
            scene.moving(body, G::at(-1.0, 0.0), G::rate(0.0));
        }
        let mut world = scene.world();
        let (mut energy, mut events) = (kinetic(&world), 0);
        for _ in 0..(2.0 / STEPS[0]) as usize {
            let report = world.step().unwrap_or_else(|error| panic!("{law:?}: {error}"));
            events += report.events;
            assert!(kinetic(&world) <= energy * (1.0 + 1e-12) + 1e-15, "{law:?}: energy rises from {energy} to {}", kinetic(&world));
            energy = kinetic(&world);
            assert!(world.deepest() > -1e-6, "{law:?}: overlap {}", world.deepest());
        }
        figure(&format!("{} collapse in time, {law:?}: events", G::NAME), events as f64);
        figure(&format!("{} collapse in time, {law:?}: energy left", G::NAME), energy / 5.0);
        assert!(events > 10, "{law:?}: they do collide");
        assert!(energy < 0.2 * 5.0, "{law:?}: most of the energy is gone");
    }
}
in_both_spaces!(collapse_in_time_ends);
