//! A ball in a wedge. Unfolding makes a straight line of its path, so the count of reflections and the way out are known.

use crate::laws::{ORDERS, STEPS, ball, during, fastest, kinetic, scene, velocities, wall};
use carom_dynamics::World;
use carom_dynamics::options::ImpactLaw;
use carom_tests::in_both_spaces;
use carom_tests::{Stage, figure, full, holds};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_3, FRAC_PI_4, PI};

const RADIUS: f64 = 0.05;
/// Starts that close more slowly than this would rest instead of bounce [m/s].
const SLOW: f64 = 2e-3;

/// A frictionless, elastic wedge that opens towards x, its lower wall level; the ball's centre moves in a wedge of the same angle
/// with its apex at the returned point.
fn wedge<G: Stage>(angle: f64, law: ImpactLaw, step: f64) -> (carom_tests::Scene<G>, [f64; 2]) {
    let mut scene = scene::<G>(law, step);
    wall(&mut scene, [0.0, 1.0], [0.0, 0.0], 0.0, 1.0);
    wall(&mut scene, [angle.sin(), -angle.cos()], [0.0, 0.0], 0.0, 1.0);
    (scene, [RADIUS * (1.0 + angle.cos()) / angle.sin(), RADIUS])
}

/// A ball that touches both walls and moves in a direction.
fn cornered<G: Stage>(angle: f64, direction: f64, law: ImpactLaw) -> World<G> {
    let (mut scene, apex) = wedge::<G>(angle, law, STEPS[1]);
    let body = ball(&mut scene, RADIUS, 1.0, apex[0], apex[1], 1.0);
    scene.moving(body, G::at(direction.cos(), direction.sin()), G::rate(0.0));
    scene.world()
}

/// In the corner at most ceil(pi / angle) reflections are needed, and some start needs that many.
fn corner_ends_within_the_bound<G: Stage>() {
    let starts = if full() { 3000 } else { 96 };
    for law in ORDERS.map(ImpactLaw::GaussSeidel).into_iter().chain([ImpactLaw::Reflections, ImpactLaw::Auto]) {
        for angle in [FRAC_PI_2, FRAC_PI_3, FRAC_PI_4, 0.7, 0.3, 0.1, 0.03, 0.01] {
            // pi/2, pi/3 and pi/4 divide pi only up to rounding.
            let bound = (PI / angle - 1e-9).ceil() as usize;
            let mut most = 0;
            // Every direction but those between the walls, and one aimed close to straight into the corner, which takes longest.
            let spread = (0..starts).map(|start| angle + (2.0 * PI - angle) * (start as f64 + 0.5) / starts as f64);
            for direction in spread.chain([PI + 0.05 * angle]) {
                let closing = [-direction.sin(), angle.cos() * direction.sin() - angle.sin() * direction.cos()];
                if closing[0].max(closing[1]) < SLOW {
                    continue;
                }
                let mut world = cornered::<G>(angle, direction, law);
                let report = world.step().expect("a ball in a wedge");
                assert!(!report.impact_capped, "{law:?}, angle {angle}");
                assert!((kinetic(&world) - 0.5).abs() < 1e-12, "{law:?}, angle {angle}: energy {}", kinetic(&world));
                // It leaves, so nothing is left for a second round.
                let [x, up] = velocities(&world)[0];
                assert!(up > -1e-9 && angle.sin() * x - angle.cos() * up > -1e-9, "{law:?}, angle {angle}: leaves along ({x}, {up})");
                most = most.max(report.impact_iterations);
            }
            figure(&format!("{} wedge of {angle:.2}, {law:?}: most reflections (bound {bound})", G::NAME), most as f64);
            assert!(most <= bound, "{law:?}, angle {angle}: {most} reflections, bound {bound}");
            let pairwise = matches!(law, ImpactLaw::GaussSeidel(_));
            // Which of the two walls comes first decides the last reflection.
            assert!(!pairwise || most + 1 >= bound, "{law:?}, angle {angle}: only {most} of {bound}");
        }
    }
}
in_both_spaces!(corner_ends_within_the_bound);

/// Flying in, it bounces from wall to wall and leaves where the straight line through the unfolded wedges says.
fn flight_follows_the_unfolded_line<G: Stage>() {
    let mut good = true;
    for (angle, aim) in [(0.3, 0.1), (0.1, -0.15), (0.05, 0.12)] {
        for step in [STEPS[0], STEPS[1]] {
            let (mut scene, apex) = wedge::<G>(angle, ImpactLaw::Auto, step);
            let start = [(0.4 * angle).cos(), (0.4 * angle).sin()];
            let heading = PI + 0.4 * angle + aim;
            let body = ball(&mut scene, RADIUS, 1.0, apex[0] + start[0], apex[1] + start[1], 1.0);
            scene.moving(body, G::at(heading.cos(), heading.sin()), G::rate(0.0));
            let mut world = scene.world();
            let report = during(&mut world, 2.0);
            let time = world.state().time;
            // The line in polar coordinates about the apex; it sweeps less than half a turn, never through the apex.
            let end = [start[0] + time * heading.cos(), start[1] + time * heading.sin()];
            let cross = start[0] * end[1] - start[1] * end[0];
            let swept = cross.atan2(start[0] * end[0] + start[1] * end[1]);
            let polar = 0.4 * angle + swept;
            let folded = polar.rem_euclid(2.0 * angle);
            let folded = if folded > angle { 2.0 * angle - folded } else { folded };
            let bounces = (polar / angle).floor().abs() as usize;
            let far = end[0].hypot(end[1]);
            let wanted = [apex[0] + far * folded.cos(), apex[1] + far * folded.sin()];
            let found = G::flat(world.state().poses[body].position);
            let name = format!("{} flight into a wedge of {angle}, step {step:.1e}, {bounces} bounces", G::NAME);
            good &= holds(&format!("{name}: end position [m]"), (found[0] - wanted[0]).hypot(found[1] - wanted[1]), 1e-8);
            good &= holds(&format!("{name}: speed"), (fastest(&world) - 1.0).abs(), 1e-12);
            assert_eq!(report.impacts, bounces, "{name}");
            assert_eq!(report.stepped, 0, "{name}");
        }
    }
    assert!(good);
}
in_both_spaces!(flight_follows_the_unfolded_line);
