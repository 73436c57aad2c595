//! Bodies with no room along some direction: what can only be an equality is found and taken out, so the rest ends.

use crate::laws::{ORDERS, STEPS, ball, fastest, kinetic, scene, until_impact, velocities, wall};
use carom_dynamics::options::ImpactLaw;
use carom_math::Vector;
use carom_tests::in_both_spaces;
use carom_tests::{Scene, Stage, figure, holds};

const RADIUS: f64 = 0.5;
/// Distance the striker flies before it hits [m].
const RUN_UP: f64 = 0.1;
const EXACT: f64 = 1e-12;

/// The laws that prove their end.
fn proven() -> impl Iterator<Item = ImpactLaw> {
    ORDERS.map(ImpactLaw::GaussSeidel).into_iter().chain([ImpactLaw::Reflections, ImpactLaw::Auto])
}

/// Walls at x = -half and half.
fn shaft<G: Stage>(law: ImpactLaw, half: f64) -> Scene<G> {
    let mut scene = scene::<G>(law, STEPS[1]);
    wall(&mut scene, [1.0, 0.0], [-half, 0.0], 0.0, 1.0);
    wall(&mut scene, [-1.0, 0.0], [half, 0.0], 0.0, 1.0);
    scene
}

/// A ball that fits exactly loses what it had towards the walls and keeps what it had along them.
fn one_ball_between_walls<G: Stage>() {
    for law in proven() {
        let mut scene = shaft::<G>(law, RADIUS);
        let body = ball(&mut scene, RADIUS, 2.0, 0.0, 0.0, 1.0);
        scene.moving(body, G::deep(3.0, 1.0, 4.0), G::rate(0.0));
        let mut world = scene.world();
        let report = world.step().expect("a ball between walls");
        let after = world.state().twists[body].lin;
        let wanted = G::deep(0.0, 1.0, 4.0);
        let error = (0..G::DIM).fold(0.0, |m: f64, k| m.max((after[k] - wanted[k]).abs()));
        assert!(error < EXACT, "{law:?}: {:?}", after.as_slice());
        assert!(!report.impact_capped, "{law:?}");
        // What the walls took is booked: m v_x^2 / 2.
        assert!((world.ledger().flow.impact_loss - 9.0).abs() < 1e-9, "{law:?}: {}", world.ledger().flow.impact_loss);
    }
}
in_both_spaces!(one_ball_between_walls);

/// The laws that take contacts one by one, or restitution as a target, have no answer here: they stop, drop restitution and say so.
fn unproven_laws_say_that_they_stopped<G: Stage>() {
    for law in [ImpactLaw::Stronge, ImpactLaw::Newton] {
        let mut scene = shaft::<G>(law, RADIUS);
        let body = ball(&mut scene, RADIUS, 2.0, 0.0, 0.0, 1.0);
        scene.moving(body, G::at(3.0, 4.0), G::rate(0.0));
        let mut world = scene.world();
        let before = kinetic(&world);
        let report = world.step().expect("a ball between walls");
        assert!(report.impact_capped, "{law:?}: {report:?}");
        assert!((velocities(&world)[0][1] - 4.0).abs() < 1e-9, "{law:?}: {:?}", velocities(&world));
        assert!(kinetic(&world) <= before * (1.0 + EXACT), "{law:?}");
    }
}
in_both_spaces!(unproven_laws_say_that_they_stopped);

/// Two balls that fill the room between walls: all three contacts are equalities.
fn two_balls_between_walls<G: Stage>() {
    for law in proven() {
        let mut scene = shaft::<G>(law, 2.0 * RADIUS);
        let left = ball(&mut scene, RADIUS, 1.0, -RADIUS, 0.0, 1.0);
        let right = ball(&mut scene, RADIUS, 3.0, RADIUS, 0.0, 1.0);
        scene.moving(left, G::at(1.0, 0.5), G::rate(0.0));
        scene.moving(right, G::at(-0.5, -2.0), G::rate(0.0));
        let mut world = scene.world();
        // The instant alone: once they slide past each other there is room again.
        let report = world.step().expect("two balls between walls");
        let after = velocities(&world);
        let error = after[0][0].abs().max(after[1][0].abs()).max((after[0][1] - 0.5).abs()).max((after[1][1] + 2.0).abs());
        assert!(error < 1e-9, "{law:?}: {after:?}");
        assert!(!report.impact_capped, "{law:?}");
    }
}
in_both_spaces!(two_balls_between_walls);

/// The geyser: a ball fired along a shaft meets a plug of rows of two that fill its width. The plug can move along the shaft only;
/// in that direction the first row acts as a mass of 2, and the last row leaves with what it received.
fn geyser_dislodges_the_plug<G: Stage>() {
    let mut good = true;
    for law in proven() {
        for rows in [1, 3, 6] {
            let mut scene = shaft::<G>(law, 2.0 * RADIUS);
            // Touching both balls of the first row, the striker stands sqrt(3) radii below them.
            let striker = ball(&mut scene, RADIUS, 1.0, 0.0, -3f64.sqrt() * RADIUS - RUN_UP, 1.0);
            scene.moving(striker, G::at(0.0, 1.0), G::rate(0.0));
            for row in 0..rows {
                for side in [-1.0, 1.0] {
                    ball(&mut scene, RADIUS, 1.0, side * RADIUS, 2.0 * RADIUS * row as f64, 1.0);
                }
            }
            let mut world = scene.world();
            let report = until_impact(&mut world, 2.0 * RUN_UP);
            let after = velocities(&world);
            let name = format!("{} geyser of {rows} rows, {law:?}", G::NAME);
            figure(&format!("{name}: reflections"), report.impact_iterations as f64);
            assert!(!report.impact_capped, "{name}");
            good &= holds(&format!("{name}: energy"), (kinetic(&world) / 0.5 - 1.0).abs(), EXACT);
            good &=
                holds(&format!("{name}: plug across the shaft [m/s]"), after.iter().skip(1).fold(0.0, |m: f64, v| m.max(v[0].abs())), 1e-9);
            assert!(after[2 * rows - 1][1].max(after[2 * rows][1]) > 0.3, "{name}: the last row leaves: {after:?}");
            if matches!(law, ImpactLaw::Auto | ImpactLaw::Reflections) {
                let mut error = (after[0][1] + 1.0 / 3.0).abs();
                for (i, v) in after.iter().enumerate().skip(1) {
                    error = error.max((v[1] - if i > 2 * (rows - 1) { 2.0 / 3.0 } else { 0.0 }).abs());
                }
                good &= holds(&format!("{name}: velocities [m/s]"), error, EXACT);
            }
        }
    }
    assert!(good);
}
in_both_spaces!(geyser_dislodges_the_plug);

/// A plug without any room at all stops the striker's push and nothing else moves.
fn closed_shaft_moves_nothing<G: Stage>() {
    for law in proven() {
        let mut scene = shaft::<G>(law, RADIUS);
        wall(&mut scene, [0.0, 1.0], [0.0, -RADIUS], 0.0, 1.0);
        wall(&mut scene, [0.0, -1.0], [0.0, 3.0 * RADIUS], 0.0, 1.0);
        let low = ball(&mut scene, RADIUS, 1.0, 0.0, 0.0, 1.0);
        ball(&mut scene, RADIUS, 1.0, 0.0, 2.0 * RADIUS, 1.0);
        scene.moving(low, G::at(1.0, 2.0), G::rate(0.0));
        let mut world = scene.world();
        let report = world.step().expect("a full shaft");
        assert!(fastest(&world) < 1e-9 && !report.impact_capped, "{law:?}: {:?}", velocities(&world));
    }
}
in_both_spaces!(closed_shaft_moves_nothing);
