//! Newton's cradle: equal balls in a row that touch, struck at one end.

use crate::laws::{ALL, ORDERS, STEPS, ball, during, kinetic, scene, velocities};
use carom_dynamics::options::ImpactLaw;
use carom_dynamics::{StepReport, World};
use carom_tests::in_both_spaces;
use carom_tests::{Random, Stage, figure, full, holds};

/// Distance of neighbouring centres [m].
const SPACING: f64 = 1.0;
/// Distance the striker flies before it hits [m].
const RUN_UP: f64 = 0.1;
/// Simulated time of the comparison with other engines [s].
const DURATION: f64 = 2.0;
/// Energy and velocities to this, relative.
const EXACT: f64 = 1e-12;

/// Balls of diameter spacing + overlap in a row; the first flies in.
fn row<G: Stage>(masses: &[f64], overlap: f64, run_up: f64, restitution: f64, law: ImpactLaw, step: f64) -> World<G> {
    let mut scene = scene::<G>(law, step);
    for (i, &mass) in masses.iter().enumerate() {
        let x = SPACING * i as f64 - if i == 0 { run_up } else { 0.0 };
        ball(&mut scene, 0.5 * (SPACING + overlap), mass, x, 0.0, restitution);
    }
    scene.moving(0, G::at(1.0, 0.0), G::rate(0.0));
    scene.world()
}

/// Velocities along the row, largest velocity across it, and what the run counted.
fn struck<G: Stage>(world: &mut World<G>, seconds: f64) -> (Vec<f64>, f64, StepReport) {
    let report = during(world, seconds);
    let all = velocities(world);
    let across = all.iter().fold(0.0, |m: f64, v| m.max(v[1].abs()));
    (all.iter().map(|v| v[0]).collect(), across, report)
}

/// Largest distance of the velocities from (0, ..., 0, 1).
fn error(velocities: &[f64]) -> f64 {
    let last = velocities.len() - 1;
    velocities.iter().enumerate().fold(0.0, |m, (i, v)| m.max((v - f64::from(u8::from(i == last))).abs()))
}

/// Five balls, touching exactly or overlapping by 1e-6, at every step of the comparison: (0, 0, 0, 0, 1) with all the energy.
fn five_balls_pass_the_velocity_on<G: Stage>() {
    let mut good = true;
    for law in ALL.into_iter().filter(|&law| law != ImpactLaw::Newton) {
        for overlap in [0.0, 1e-6] {
            for step in STEPS {
                let mut world = row::<G>(&[1.0; 5], overlap, RUN_UP, 1.0, law, step);
                let (after, across, report) = struck(&mut world, DURATION);
                let name = format!("{} cradle of 5, {law:?}, overlap {overlap:.0e}, step {step:.2e}", G::NAME);
                good &= holds(&format!("{name}: velocities"), error(&after).max(across), EXACT);
                good &= holds(&format!("{name}: energy"), (kinetic(&world) / 0.5 - 1.0).abs(), EXACT);
                assert_eq!(report.impact_iterations, 4, "{name}");
                assert!(!report.impact_capped, "{name}");
            }
        }
    }
    assert!(good);
}
in_both_spaces!(five_balls_pass_the_velocity_on);

/// Any length: the velocity passes through n - 1 contacts in n - 1 reflections, whatever the order.
fn any_length_takes_one_reflection_per_contact<G: Stage>() {
    let lengths: Vec<usize> = if full() { (3..=50).collect() } else { vec![3, 4, 7, 12, 20, 33, 50] };
    let laws = ORDERS.map(ImpactLaw::GaussSeidel).into_iter().chain([ImpactLaw::Auto, ImpactLaw::Reflections, ImpactLaw::Stronge]);
    let mut worst = 0.0f64;
    for law in laws {
        for &n in &lengths {
            let mut world = row::<G>(&vec![1.0; n], 0.0, RUN_UP, 1.0, law, STEPS[0]);
            let (after, across, report) = struck(&mut world, 2.0 * RUN_UP);
            worst = worst.max(error(&after)).max(across);
            assert_eq!(report.impact_iterations, n - 1, "{law:?}, {n} balls");
            assert_eq!(report.impacts, 1, "{law:?}, {n} balls: one problem");
        }
    }
    assert!(holds(&format!("{} cradles of 3 to 50: velocities", G::NAME), worst, 1e-10));
}
in_both_spaces!(any_length_takes_one_reflection_per_contact);

/// Velocities (n, n-1, ..., 1) sort themselves, in n (n - 1) / 2 pairwise exchanges in any order.
fn velocities_sort_themselves<G: Stage>() {
    for law in ORDERS.map(ImpactLaw::GaussSeidel) {
        for n in [2, 5, 9] {
            let mut built = scene::<G>(law, STEPS[1]);
            for i in 0..n {
                let body = ball(&mut built, 0.5 * SPACING, 1.0, SPACING * i as f64, 0.0, 1.0);
                built.moving(body, G::at((n - i) as f64, 0.0), G::rate(0.0));
            }
            let (after, _, report) = struck(&mut built.world(), STEPS[1]);
            for (i, v) in after.iter().enumerate() {
                assert!((v - (i + 1) as f64).abs() < 1e-12, "{law:?}: {after:?}");
            }
            assert_eq!(report.impact_iterations, n * (n - 1) / 2, "{law:?}");
        }
    }
}
in_both_spaces!(velocities_sort_themselves);

/// Unequal balls: momentum and energy stay, no two neighbours approach any more.
fn unequal_masses_keep_momentum_and_energy<G: Stage>() {
    let mut good = true;
    for law in ALL.into_iter().filter(|&law| law != ImpactLaw::Newton) {
        let (mut momentum, mut energy) = (0.0f64, 0.0f64);
        let mut random = Random::new(3);
        for _ in 0..if full() { 200 } else { 20 } {
            let masses: Vec<f64> = (0..3 + random.below(6)).map(|_| 10f64.powf(random.range(-1.0, 1.0))).collect();
            let mut world = row::<G>(&masses, 0.0, RUN_UP, 1.0, law, STEPS[0]);
            // The velocities right after the impact; later collisions of unequal balls are further impacts.
            crate::laws::until_impact(&mut world, 2.0 * RUN_UP);
            let after: Vec<f64> = velocities(&world).iter().map(|v| v[0]).collect();
            let carried: f64 = after.iter().zip(&masses).map(|(v, m)| v * m).sum();
            momentum = momentum.max((carried - masses[0]).abs() / masses[0]);
            energy = energy.max((kinetic(&world) / (0.5 * masses[0]) - 1.0).abs());
            // Closing speeds that are left are below the tolerance of the law, relative to the speed.
            assert!(after.windows(2).all(|pair| pair[1] - pair[0] > -1e-8), "{law:?}: {after:?}");
        }
        good &= holds(&format!("{} unequal cradles, {law:?}: momentum", G::NAME), momentum, EXACT);
        good &= holds(&format!("{} unequal cradles, {law:?}: energy", G::NAME), energy, EXACT);
    }
    assert!(good);
}
in_both_spaces!(unequal_masses_keep_momentum_and_energy);

/// Newton restitution inside the complementarity problem keeps energy and momentum but cannot break away: (-.6, .4, .4, .4, .4).
fn newton_does_not_break_away<G: Stage>() {
    for (e, wanted) in [(1.0, [-0.6, 0.4]), (0.5, [-0.2, 0.3]), (0.0, [0.2, 0.2])] {
        let mut world = row::<G>(&[1.0; 5], 0.0, RUN_UP, e, ImpactLaw::Newton, STEPS[0]);
        let (after, _, _) = struck(&mut world, 2.0 * RUN_UP);
        for (i, v) in after.iter().enumerate() {
            assert!((v - wanted[usize::from(i > 0)]).abs() < 1e-8, "e {e}: {after:?}");
        }
    }
}
in_both_spaces!(newton_does_not_break_away);

/// With e = 1 a hair of room changes nothing. With e < 1 it does: touching balls share the loss, separate ones lose one by one.
fn loss_is_discontinuous_in_the_gap<G: Stage>() {
    let outcome = |e: f64, overlap: f64| {
        let mut world = row::<G>(&[1.0; 5], overlap, RUN_UP, e, ImpactLaw::Auto, STEPS[1]);
        struck(&mut world, 0.5).0
    };
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0, |m: f64, (x, y)| m.max((x - y).abs()));
    let (touching, apart) = (outcome(1.0, 0.0), outcome(1.0, -1e-6));
    assert!(distance(&touching, &apart) < 1e-9, "{touching:?} {apart:?}");
    let (touching, apart) = (outcome(0.5, 0.0), outcome(0.5, -1e-6));
    // Touching: half of (0, 0, 0, 0, 1) plus half of (.2, .2, .2, .2, .2).
    for (v, wanted) in touching.iter().zip([0.1, 0.1, 0.1, 0.1, 0.6]) {
        assert!((v - wanted).abs() < 1e-12, "{touching:?}");
    }
    figure(&format!("{} cradle, e = 0.5: largest difference between gap 0 and 1e-6 [m/s]", G::NAME), distance(&touching, &apart));
    assert!(distance(&touching, &apart) > 0.1, "{touching:?} {apart:?}");
}
in_both_spaces!(loss_is_discontinuous_in_the_gap);

/// A striker eight times as heavy sends a train out of the chain: it gives 16/9 of its velocity to the first ball it meets, keeps 7/9,
/// meets the next one, all at one instant.
fn heavy_striker_drives_a_train<G: Stage>() {
    for law in ALL.into_iter().filter(|&law| law != ImpactLaw::Newton) {
        let mut masses = vec![1.0; 13];
        masses[0] = 8.0;
        let mut world = row::<G>(&masses, 0.0, RUN_UP, 1.0, law, STEPS[0]);
        let (after, _, report) = struck(&mut world, 2.0 * RUN_UP);
        let kept = 7.0f64 / 9.0;
        assert!((after[0] - kept.powi(12)).abs() < 1e-10, "{law:?}: {after:?}");
        for (place, v) in after.iter().skip(1).rev().enumerate() {
            assert!((v - 16.0 / 9.0 * kept.powi(place as i32)).abs() < 1e-10, "{law:?}: {after:?}");
        }
        assert_eq!(report.impacts, 1, "{law:?}");
    }
}
in_both_spaces!(heavy_striker_drives_a_train);

/// `reflections` takes all closing contacts at once, so it jumps where one more begins to close: three balls with (1, 0, -d) reflect as a
/// whole, 2 mean - v, however small d is, while (1, 0, d) passes the velocity on. Pairwise reflections exchange either way.
fn reflections_jump_where_a_contact_begins_to_close<G: Stage>() {
    let outcome = |law: ImpactLaw, last: f64| {
        let mut built = scene::<G>(law, STEPS[1]);
        for (i, v) in [1.0, 0.0, last].into_iter().enumerate() {
            let body = ball(&mut built, 0.5 * SPACING, 1.0, SPACING * i as f64, 0.0, 1.0);
            built.moving(body, G::at(v, 0.0), G::rate(0.0));
        }
        struck(&mut built.world(), STEPS[1]).0
    };
    let near = |found: &[f64], wanted: [f64; 3]| found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-5);
    for law in [ImpactLaw::Auto, ImpactLaw::Reflections] {
        assert!(near(&outcome(law, 1e-6), [0.0, 0.0, 1.0]), "{law:?}: {:?}", outcome(law, 1e-6));
        assert!(near(&outcome(law, -1e-6), [-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]), "{law:?}: {:?}", outcome(law, -1e-6));
    }
    for law in ORDERS.map(ImpactLaw::GaussSeidel) {
        assert!(near(&outcome(law, 1e-6), [0.0, 0.0, 1.0]) && near(&outcome(law, -1e-6), [0.0, 0.0, 1.0]), "{law:?}");
    }
}
in_both_spaces!(reflections_jump_where_a_contact_begins_to_close);
