//! Impacts whose answer is known in closed form.

use super::support::*;
use crate::impact::*;
use carom_solve::impact::*;
use std::f64::consts::PI;

const PAIRWISE: [Law; 3] = [
    Law::GaussSeidel { order: Order::Lexicographic, seed: 0 },
    Law::GaussSeidel { order: Order::Cyclic, seed: 0 },
    Law::GaussSeidel { order: Order::Worst, seed: 0 },
];

fn with(law: Law) -> ImpactOptions<'static> {
    ImpactOptions { law, ..ImpactOptions::default() }
}

#[test]
fn a_cradle_passes_the_velocity_on() {
    for n in [2, 5, 50] {
        let (mass, normals) = cradle(&vec![1.0; n]);
        let mut before = vec![0.0; n];
        before[0] = 1.0;
        let mut after = vec![0.0; n];
        after[n - 1] = 1.0;
        for law in PAIRWISE.into_iter().chain([Law::Reflections]) {
            let impact = impacts(&mass, &normals, &before, &with(law)).unwrap();
            assert!(difference(&impact.velocity, &after) < 1e-10, "{n} {law:?}");
            assert_eq!(impact.iterations, n - 1, "{n} {law:?}");
        }
    }
}

#[test]
fn equal_balls_sort_their_velocities() {
    let (mass, normals) = cradle(&[1.0; 5]);
    for law in PAIRWISE {
        let impact = impacts(&mass, &normals, &[5.0, 4.0, 3.0, 2.0, 1.0], &with(law)).unwrap();
        assert!(difference(&impact.velocity, &[1.0, 2.0, 3.0, 4.0, 5.0]) < 1e-12);
        assert_eq!(impact.iterations, 10);
    }
}

#[test]
fn random_order_repeats_with_its_seed_and_sorts_too() {
    let (mass, normals) = cradle(&[1.0; 9]);
    let mut random = Random(5);
    let before: Vec<f64> = (0..9).map(|_| random.within(-1.0, 1.0)).collect();
    let mut sorted = before.clone();
    sorted.sort_by(f64::total_cmp);
    let run = |seed| {
        let mut record = Record::new();
        let mut work = Workspace::new();
        let gram = normals.whitened(&mass).gram();
        let approach: Vec<f64> = (0..8).map(|i| normals.dot(i, &before)).collect();
        let space = ContactSpace { contacts: 8, gram: gram.view(), rows: None, approach: &approach, speed: 0.0 };
        let settings = Settings { law: Law::GaussSeidel { order: Order::Random, seed }, ..Settings::default() };
        let report = resolve_observed(&space, Restitution::Uniform(1.0), None, &settings, &mut work, &mut record).unwrap();
        assert_eq!(report.iterations, record.len());
        let mut after = before.clone();
        work.impulses().iter().enumerate().for_each(|(i, &l)| normals.add(i, l, &mut after));
        assert!(difference(&after, &sorted) < 1e-12);
        (0..record.len()).map(|k| record.application(k).0[0]).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2), "different seeds take different ways");
}

/// The five-ball chain with c_r = 0 inside the operator: how a law that dissipates in every application fails to end.
#[test]
fn restitution_inside_the_operator_collapses() {
    let collapse = |order: Order, tolerance: f64, cap: usize| {
        let mut v = [1.0, 0.0, 0.0, 0.0, 0.0];
        let mut cursor = 0;
        for count in 0..cap {
            let closes = |i: &usize| v[i + 1] - v[*i] < -tolerance;
            let next = match order {
                Order::Lexicographic => (0..4).find(closes),
                Order::Cyclic => (cursor..4).chain(0..cursor).find(closes),
                _ => (0..4).filter(closes).reduce(|best, i| if v[i + 1] - v[i] < v[best + 1] - v[best] { i } else { best }),
            };
            let Some(i) = next else { return (v, count) };
            let mean = (v[i] + v[i + 1]) / 2.0;
            v[i] = mean;
            v[i + 1] = mean;
            cursor = (i + 1) % 4;
        }
        (v, cap)
    };
    use Order::{Cyclic, Lexicographic, Worst};
    assert!(difference(&collapse(Lexicographic, 0.0, 4).0, &[0.375, 0.3125, 0.3125, 0.0, 0.0]) < 1e-12);
    assert!(difference(&collapse(Lexicographic, 0.0, 10).0, &[0.333984375, 0.3330078125, 0.3330078125, 0.0, 0.0]) < 1e-12);
    assert!(difference(&collapse(Cyclic, 0.0, 4).0, &[0.5, 0.25, 0.125, 0.0625, 0.0625]) < 1e-12);
    assert!(difference(&collapse(Cyclic, 0.0, 10).0, &[0.3125, 0.234375, 0.234375, 0.109375, 0.109375]) < 1e-12);
    let limit = collapse(Lexicographic, 0.0, 40).0;
    assert!(difference(&limit, &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0, 0.0]) < 1e-11, "still infeasible: {limit:?}");
    // Cyclic sweeps contract by cos²(π/5): the tolerance decides when they end.
    for (tolerance, cyclic, worst) in [(1e-6, 119, 120), (1e-12, 249, 250)] {
        assert_eq!(collapse(Cyclic, tolerance, 1000).1, cyclic);
        assert_eq!(collapse(Worst, tolerance, 1000).1, worst);
    }

    // The blend answers at once: all five move together.
    let (mass, normals) = cradle(&[1.0; 5]);
    for (c, expected) in [(0.0, [0.2; 5]), (0.5, [0.1, 0.1, 0.1, 0.1, 0.6])] {
        let options = ImpactOptions { restitution: Restitution::Uniform(c), ..ImpactOptions::default() };
        let impact = impacts(&mass, &normals, &[1.0, 0.0, 0.0, 0.0, 0.0], &options).unwrap();
        assert!(difference(&impact.velocity, &expected) < 1e-13, "{c}: {:?}", impact.velocity);
    }
}

#[test]
fn a_wedge_takes_as_many_reflections_as_its_angle_allows() {
    let mass = MassMatrix::diagonal(&[1.0, 1.0]).unwrap();
    for (angle, bound) in [(PI / 2.0, 2), (PI / 3.0, 3), (PI / 4.0, 4), (0.7, 5), (0.3, 11), (0.1, 32), (0.03, 105), (0.01, 315)] {
        let mut normals = SparseRows::new(2);
        normals.push(&[1], &[1.0]).unwrap();
        normals.push(&[0, 1], &[angle.sin(), -angle.cos()]).unwrap();
        let mut most = 0;
        for start in 0..2000 {
            let turn = PI + PI * (f64::from(start) + 0.5) / 2000.0 * 0.999;
            let before = [turn.cos(), turn.sin()];
            let certificates = [1.0, 2.0].map(|i| [(i * angle / 3.0).cos(), (i * angle / 3.0).sin()]);
            let mut reached = certificates.map(|w| w[0] * before[0] + w[1] * before[1]);
            let mut v = before;
            let gram = normals.gram();
            let approach = [normals.dot(0, &before), normals.dot(1, &before)];
            let space = ContactSpace { contacts: 2, gram: gram.view(), rows: None, approach: &approach, speed: 1.0 };
            let settings = Settings { law: PAIRWISE[0], ..Settings::default() };
            let mut record = Record::new();
            let report = resolve_observed(&space, Restitution::Uniform(1.0), None, &settings, &mut Workspace::new(), &mut record).unwrap();
            assert_eq!(report.status, Status::Resolved);
            most = most.max(report.iterations);
            // Each certificate grows with every reflection.
            for k in 0..record.len() {
                let (contacts, impulses) = record.application(k);
                normals.add(contacts[0], impulses[0], &mut v);
                for (w, reached) in certificates.iter().zip(&mut reached) {
                    let now = w[0] * v[0] + w[1] * v[1];
                    assert!(now >= *reached - 1e-12);
                    *reached = now;
                }
            }
        }
        assert_eq!(most, bound, "angle {angle}");
    }
    assert!(impacts(&mass, &SparseRows::new(2), &[1.0, 0.0], &ImpactOptions::default()).unwrap().iterations == 0);
}

#[test]
fn energy_is_kept_through_a_hundred_thousand_reflections() {
    let angle = PI / 1.0e5;
    let mass = MassMatrix::diagonal(&[1.0, 1.0]).unwrap();
    let mut normals = SparseRows::new(2);
    normals.push(&[1], &[1.0]).unwrap();
    normals.push(&[0, 1], &[angle.sin(), -angle.cos()]).unwrap();
    let before = [-0.999_f64, -(1.0 - 0.999f64 * 0.999).sqrt()];
    let impact = impacts(&mass, &normals, &before, &with(PAIRWISE[0])).unwrap();
    assert!(impact.iterations > 90_000, "{}", impact.iterations);
    assert!((impact.energy_after - impact.energy_before).abs() < 1e-12 * impact.energy_before);
    assert!(impact.residual <= 1e-10);
}

/// A row of balls between two walls, hit from below by another: without locking the reflections go on for ever.
#[test]
fn a_plug_in_a_shaft_ends_only_when_locked() {
    let half = 3f64.sqrt() / 2.0;
    let mut normals = SparseRows::new(6);
    normals.push(&[0], &[1.0]).unwrap();
    normals.push(&[0, 2], &[-1.0, 1.0]).unwrap();
    normals.push(&[2], &[-1.0]).unwrap();
    normals.push(&[0, 1, 4, 5], &[-0.5, half, 0.5, -half]).unwrap();
    normals.push(&[2, 3, 4, 5], &[0.5, half, -0.5, -half]).unwrap();
    let mass = MassMatrix::diagonal(&[1.0; 6]).unwrap();
    let before = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    for law in PAIRWISE.into_iter().chain([Law::Reflections]) {
        let open = ImpactOptions { lineality: false, max_iterations: 20_000, ..with(law) };
        let impact = impacts(&mass, &normals, &before, &open).unwrap();
        assert_eq!(impact.status, Status::Capped, "{law:?}");
        assert!(impact.residual < 1e-10, "capped impacts answer inelastically: {}", impact.residual);
        assert!(impact.energy_after < impact.energy_before);

        let impact = impacts(&mass, &normals, &before, &with(law)).unwrap();
        assert_eq!((impact.status, impact.locked), (Status::Resolved, 2), "{law:?}");
        assert!(impact.velocity[1] > 0.1 && impact.velocity[3] > 0.1, "the plug is dislodged: {:?}", impact.velocity);
        assert!(largest(&[impact.velocity[0], impact.velocity[2]]) < 1e-12);
        assert!(impact.impulses.iter().all(|&l| l >= 0.0));
        assert!(momentum_gap(&mass, &normals, &before, &impact, None) < 1e-12);
    }
}

#[test]
fn a_symmetric_break_stays_symmetric() {
    // The rack of 15 and the cue ball on its axis, y = 0; ball k of row r sits at (r √3/2, k - r/2).
    let (mass, normals, before, mirror) = pool_break();
    for c in [1.0, 0.9, 0.0] {
        let options = ImpactOptions { restitution: Restitution::Uniform(c), ..ImpactOptions::default() };
        let impact = impacts(&mass, &normals, &before, &options).unwrap();
        assert!(largest(&impact.velocity[2..]) > 0.1);
        for (a, &b) in mirror.iter().enumerate() {
            assert!((impact.velocity[2 * a] - impact.velocity[2 * b]).abs() < 1e-12);
            assert!((impact.velocity[2 * a + 1] + impact.velocity[2 * b + 1]).abs() < 1e-12);
        }
    }
}

#[test]
fn one_contact_obeys_newton() {
    // A ball on a wall, and two unequal balls: every law gives u' = -e u.
    for law in PAIRWISE.into_iter().chain([Law::Reflections]) {
        for e in [0.0, 0.3, 0.7, 1.0] {
            let (mass, normals) = cradle(&[2.0, 3.0]);
            let options = ImpactOptions { restitution: Restitution::Uniform(e), ..with(law) };
            let impact = impacts(&mass, &normals, &[1.0, -1.0], &options).unwrap();
            let speed = impact.velocity[1] - impact.velocity[0];
            assert!((speed - 2.0 * e).abs() < 1e-14);
            assert!((2.0 * impact.velocity[0] + 3.0 * impact.velocity[1] + 1.0).abs() < 1e-14);
        }
    }
}

#[test]
fn mixed_restitution_is_exact_for_contacts_that_do_not_couple() {
    let mass = MassMatrix::diagonal(&[1.0, 1.0, 1.0]).unwrap();
    let mut normals = SparseRows::new(3);
    (0..3).for_each(|i| normals.push(&[i], &[1.0 + i as f64]).unwrap());
    let values = [0.2, 0.5, 0.9];
    let options = ImpactOptions { restitution: Restitution::PerContact(&values), ..ImpactOptions::default() };
    let impact = impacts(&mass, &normals, &[-1.0, -2.0, 3.0], &options).unwrap();
    assert!(difference(&impact.velocity, &[0.2, 1.0, 3.0]) < 1e-13, "{:?}", impact.velocity);
}

#[test]
fn mixed_restitution_of_redundant_contacts_does_not_depend_on_their_copies() {
    // One wall met through two copies of the same contact: the least-norm multiplier shares equally.
    let mass = MassMatrix::diagonal(&[1.0]).unwrap();
    let mut normals = SparseRows::new(1);
    (0..2).for_each(|_| normals.push(&[0], &[1.0]).unwrap());
    let options = ImpactOptions { restitution: Restitution::PerContact(&[0.2, 0.6]), ..ImpactOptions::default() };
    let impact = impacts(&mass, &normals, &[-1.0], &options).unwrap();
    assert!((impact.velocity[0] - 0.4).abs() < 1e-9, "{:?}", impact.velocity);
}

#[test]
fn a_moving_obstacle_bats_the_ball() {
    // A wall coming at 2 m/s against a resting ball: in the wall's frame the ball bounces, so it leaves at 4.
    let mass = MassMatrix::diagonal(&[1.0]).unwrap();
    let mut normals = SparseRows::new(1);
    normals.push(&[0], &[1.0]).unwrap();
    let options = ImpactOptions { obstacles: Some(&[-2.0]), ..ImpactOptions::default() };
    let impact = impacts(&mass, &normals, &[0.0], &options).unwrap();
    assert!((impact.velocity[0] - 4.0).abs() < 1e-14);
    // The same as a body of infinite mass.
    let mass = MassMatrix::diagonal(&[1.0, f64::INFINITY]).unwrap();
    let mut normals = SparseRows::new(2);
    normals.push(&[0, 1], &[1.0, -1.0]).unwrap();
    let impact = impacts(&mass, &normals, &[0.0, 2.0], &ImpactOptions::default()).unwrap();
    assert_eq!(impact.velocity, [4.0, 2.0]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (mass, normals) = cradle(&[1.0, 1.0]);
    let bad = |options: ImpactOptions<'_>, v: &[f64]| impacts(&mass, &normals, v, &options).is_err();
    assert!(bad(ImpactOptions::default(), &[1.0]));
    assert!(bad(ImpactOptions::default(), &[f64::NAN, 0.0]));
    assert!(bad(ImpactOptions { restitution: Restitution::Uniform(1.5), ..ImpactOptions::default() }, &[1.0, 0.0]));
    assert!(bad(ImpactOptions { restitution: Restitution::PerContact(&[0.5; 3]), ..ImpactOptions::default() }, &[1.0, 0.0]));
    assert!(bad(ImpactOptions { friction: Some(&[0.5]), ..ImpactOptions::default() }, &[1.0, 0.0]));
    assert!(bad(ImpactOptions { tolerance: 0.0, ..ImpactOptions::default() }, &[1.0, 0.0]));
    assert!(MassMatrix::diagonal(&[1.0, -1.0]).is_err());
    assert!(MassMatrix::dense(&[1.0, 2.0, 2.0, 1.0], 2).is_err());
    let space = ContactSpace { contacts: 1, gram: GramView::Dense(&[1.0, 0.0]), rows: None, approach: &[-1.0], speed: 1.0 };
    assert!(resolve(&space, Restitution::Uniform(1.0), None, &Settings::default(), &mut Workspace::new()).is_err());
}

#[test]
fn an_immovable_contact_takes_no_part() {
    let space = ContactSpace { contacts: 2, gram: GramView::Dense(&[0.0, 0.0, 0.0, 1.0]), rows: None, approach: &[-1.0, -1.0], speed: 1.0 };
    let mut work = Workspace::new();
    let report = resolve(&space, Restitution::Uniform(1.0), None, &Settings::default(), &mut work).unwrap();
    assert_eq!((report.status, work.impulses()), (Status::Resolved, &[0.0, 2.0][..]));
}
