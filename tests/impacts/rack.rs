//! A symmetric pool break: fifteen racked balls struck on the axis.

use crate::laws::{ALL, STEPS, ball, during, kinetic, scene, velocities};
use carom_dynamics::World;
use carom_dynamics::options::{ImpactLaw, Order};
use carom_math::{Planar, Spatial};
use carom_tests::{Stage, figure, holds};

/// Half the distance of touching centres [m].
const RADIUS: f64 = 0.5;
/// Distance the cue ball flies before it hits [m].
const RUN_UP: f64 = 0.1;
/// Rows of the rack.
const ROWS: usize = 5;
/// Energy and symmetry to this, relative.
const EXACT: f64 = 1e-12;

/// The cue ball and the rack, which opens towards x, and the mirror image of every ball.
fn broken<G: Stage>(overlap: f64, law: ImpactLaw, step: f64) -> (World<G>, Vec<usize>) {
    let mut scene = scene::<G>(law, step);
    let radius = RADIUS + 0.5 * overlap;
    let mut mirror = vec![0];
    ball(&mut scene, radius, 1.0, -2.0 * RADIUS - RUN_UP, 0.0, 1.0);
    for row in 0..ROWS {
        let first = scene.model.bodies.len();
        for place in 0..=row {
            let across = (2.0 * place as f64 - row as f64) * RADIUS;
            ball(&mut scene, radius, 1.0, row as f64 * RADIUS * 3f64.sqrt(), across, 1.0);
            mirror.push(first + row - place);
        }
    }
    scene.moving(0, G::at(1.0, 0.0), G::rate(0.0));
    (scene.world(), mirror)
}

/// Largest difference between a velocity and the mirrored velocity of its image [m/s].
fn asymmetry(velocities: &[[f64; 2]], mirror: &[usize]) -> f64 {
    velocities.iter().zip(mirror).fold(0.0, |m: f64, (v, &image)| {
        let other = velocities[image];
        m.max((v[0] - other[0]).abs()).max((v[1] + other[1]).abs())
    })
}

/// Energy and symmetry right after the break and at the end of 2 s.
fn keeps_energy_and_symmetry<G: Stage>(steps: &[f64]) {
    let mut good = true;
    for law in [ImpactLaw::Auto, ImpactLaw::Reflections] {
        for overlap in [0.0, 1e-6] {
            for &step in steps {
                let (mut world, mirror) = broken::<G>(overlap, law, step);
                let report = during(&mut world, 2.0);
                let after = velocities(&world);
                let name = format!("{} break, {law:?}, overlap {overlap:.0e}, step {step:.2e}", G::NAME);
                let momentum = after.iter().fold([0.0; 2], |p, v| [p[0] + v[0], p[1] + v[1]]);
                good &= holds(&format!("{name}: energy"), (kinetic(&world) / 0.5 - 1.0).abs(), EXACT);
                good &= holds(&format!("{name}: symmetry [m/s]"), asymmetry(&after, &mirror), EXACT);
                good &= holds(&format!("{name}: momentum"), (momentum[0] - 1.0).abs().max(momentum[1].abs()), EXACT);
                assert!(after.iter().filter(|v| v[0].hypot(v[1]) > 0.01).count() > 5, "{name}: the rack does break");
                assert!(!report.impact_capped && report.stepped == 0, "{name}");
            }
        }
    }
    assert!(good);
}

#[test]
fn keeps_energy_and_symmetry_planar() {
    keeps_energy_and_symmetry::<Planar>(&STEPS);
}

#[test]
fn keeps_energy_and_symmetry_spatial() {
    keeps_energy_and_symmetry::<Spatial>(&STEPS);
}

/// Contacts taken one by one keep the energy but not the symmetry, which is why they are not the default.
#[test]
fn one_contact_at_a_time_breaks_the_symmetry() {
    for law in ALL {
        let (mut world, mirror) = broken::<Planar>(0.0, law, STEPS[0]);
        let report = crate::laws::until_impact(&mut world, 2.0 * RUN_UP);
        let skew = asymmetry(&velocities(&world), &mirror);
        figure(&format!("break, {law:?}: symmetry error [m/s]"), skew);
        figure(&format!("break, {law:?}: energy after over before"), kinetic(&world) / 0.5);
        figure(&format!("break, {law:?}: iterations"), report.impact_iterations as f64);
        assert!(kinetic(&world) / 0.5 < 1.0 + EXACT, "{law:?}: energy rises");
        let sequential = matches!(law, ImpactLaw::GaussSeidel(Order::Lexicographic | Order::Cyclic | Order::Random(_)));
        if sequential {
            assert!(skew > 0.01, "{law:?}: symmetric after all");
        }
        if matches!(law, ImpactLaw::Auto | ImpactLaw::Reflections) {
            assert!(skew < EXACT, "{law:?}: {skew}");
        }
    }
}
