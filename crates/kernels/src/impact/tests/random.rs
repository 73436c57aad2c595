//! Random problems: what must hold for every impact, whatever the bodies.

use super::support::*;
use crate::impact::*;
use carom_solve::impact::*;

/// Default and full number of problems.
fn count() -> u64 {
    if std::env::var("CAROM_FULL").is_ok_and(|v| v == "1") { 100_000 } else { 20_000 }
}

#[test]
fn every_impact_is_passive_feasible_and_keeps_momentum() {
    let mut locked = 0;
    let mut reflected = 0;
    let mut worst = [0.0f64; 4];
    let first = std::env::var("CAROM_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    for seed in first..first + count() {
        let planted = seed % 10 == 0;
        let scene = Scene::random(seed, planted);
        let mut random = Random(seed ^ 0xabcd);
        let m = scene.normals.len();
        let mixed: Vec<f64> = (0..m).map(|_| random.within(0.0, 1.0)).collect();
        let restitution = match seed % 4 {
            0 => Restitution::Uniform(random.within(0.0, 1.0)),
            1 => Restitution::PerContact(&mixed),
            _ => Restitution::Uniform(1.0),
        };
        for law in [
            Law::Reflections,
            Law::GaussSeidel { order: [Order::Lexicographic, Order::Cyclic, Order::Random, Order::Worst][(seed / 4 % 4) as usize], seed },
        ] {
            let options = ImpactOptions { law, restitution, max_iterations: 200_000, ..ImpactOptions::default() };
            let impact = impacts(&scene.mass, &scene.normals, &scene.velocity, &options).unwrap();
            let what = || format!("problem {seed} {law:?} {restitution:?}");
            if law == Law::Reflections {
                assert_eq!(impact.status, Status::Resolved, "{}", what());
                reflected += usize::from(impact.iterations > 0);
                assert_eq!(impact.locked > 0, planted && impact.iterations + impact.locked > 0, "{}", what());
                locked += usize::from(impact.locked > 0);
            }
            let energy = (impact.energy_after - impact.energy_before) / impact.energy_before;
            assert!(energy <= 1e-10, "{}: energy rises by {energy:e}", what());
            if matches!(restitution, Restitution::Uniform(c) if c >= 1.0) && impact.locked == 0 && impact.status == Status::Resolved {
                assert!(energy >= -1e-10, "{}: an elastic impact loses {energy:e}", what());
            }
            assert!(impact.residual <= 1.01e-10, "{}: closing {:e}", what(), impact.residual);
            assert!(scene.closing(&impact.velocity) <= 1e-8, "{}: closing {:e}", what(), scene.closing(&impact.velocity));
            let gap = momentum_gap(&scene.mass, &scene.normals, &scene.velocity, &impact, None);
            assert!(gap <= 1e-9, "{}: momentum {gap:e}", what());
            assert!(impact.impulses.iter().all(|&l| l >= 0.0), "{}: an impulse pulls", what());
            worst = [worst[0].max(energy), worst[1].max(impact.residual), worst[2].max(gap), worst[3].max(impact.iterations as f64)];
        }
    }
    println!("worst energy, closing, momentum, iterations: {worst:?}");
    assert!(locked as u64 >= count() / 20 && reflected as u64 > count() / 2, "the problems must be problems: {locked} {reflected}");
}

#[test]
fn contact_space_agrees_with_arrays_on_random_problems() {
    let mut work = Workspace::new();
    for seed in 0..count() / 4 {
        let scene = Scene::random(seed, seed % 10 == 0);
        let m = scene.normals.len();
        let options = ImpactOptions::default();
        let impact = impacts(&scene.mass, &scene.normals, &scene.velocity, &options).unwrap();
        let gram = scene.normals.whitened(&scene.mass).gram();
        let approach: Vec<f64> = (0..m).map(|i| scene.normals.dot(i, &scene.velocity)).collect();
        let speed = (2.0 * scene.mass.energy(&scene.velocity)).sqrt();
        let space = ContactSpace { contacts: m, gram: gram.view(), rows: None, approach: &approach, speed };
        let report = resolve(&space, Restitution::Uniform(1.0), None, &Settings::default(), &mut work).unwrap();
        // In contact space nothing is looked for when nothing closes.
        let closes = scene.closing(&scene.velocity) > 1e-10;
        assert_eq!((report.locked, report.status), (if closes { impact.locked } else { 0 }, impact.status), "{seed}");
        let mut change = vec![0.0; scene.velocity.len()];
        work.impulses().iter().enumerate().for_each(|(i, &l)| scene.normals.add(i, l, &mut change));
        scene.mass.whiten(&mut change);
        scene.mass.whiten_transposed(&mut change);
        let after: Vec<f64> = scene.velocity.iter().zip(&change).map(|(a, b)| a + b).collect();
        let error = difference(&after, &impact.velocity) / largest(&impact.velocity);
        assert!(error < 1e-7, "{seed}: {error:e} after {} and {}", report.iterations, impact.iterations);
    }
}

#[test]
fn piles_of_many_contacts_are_resolved() {
    let side = if count() > 2_000 { 24 } else { 14 };
    for (mass, normals) in [brick_wall(side, side), disc_pile(side, side)] {
        let mut random = Random(11);
        let before: Vec<f64> = (0..mass.dimension()).map(|_| random.within(-1.0, 1.0)).collect();
        for c in [0.0, 0.5, 1.0] {
            let options = ImpactOptions { restitution: Restitution::Uniform(c), ..ImpactOptions::default() };
            let impact = impacts(&mass, &normals, &before, &options).unwrap();
            assert_eq!((impact.status, impact.locked), (Status::Resolved, 0));
            assert!(impact.residual <= 1e-10 && momentum_gap(&mass, &normals, &before, &impact, None) < 1e-12);
            assert!(impact.energy_after <= impact.energy_before * (1.0 + 1e-12));
            assert!(impact.iterations < 200 && (c == 0.0 || impact.iterations > 5), "{}", impact.iterations);
            if c == 1.0 {
                assert!((impact.energy_after - impact.energy_before).abs() < 1e-10 * impact.energy_before);
            }
        }
    }
}
