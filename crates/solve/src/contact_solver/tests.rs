//! The chain on closed forms, classics and random problems.

use super::samples::{Random, Sample, random_sample, stack};
use super::*;
use crate::problem::Cone;
use crate::status::{SPEED_FLOOR, Status};

fn solve(sample: &Sample) -> (Outcome, Vec<f64>) {
    let mut impulses = vec![0.0; sample.free.len()];
    let outcome = ContactSolver::new().solve(&sample.problem(), None, &mut impulses);
    (outcome, impulses)
}

/// Number of random problems: `few`, or `many` when CAROM_FULL is set.
fn count(few: u64, many: u64) -> u64 {
    if std::env::var_os("CAROM_FULL").is_some() { many } else { few }
}

/// Solves random problems, each then again with a slightly changed velocity from the warm impulses; prints the distribution.
fn random_problems(tangents: usize, cone: Cone, number: u64) {
    let mut solver = ContactSolver::new();
    let mut decades = [0u64; 18];
    let mut methods = [0u64; Method::COUNT];
    let mut failures = vec![];
    let mut slowest = (0, 0);
    for seed in 0..number {
        let mut sample = random_sample(seed, tangents, 30);
        sample.cone = cone;
        let mut impulses = vec![0.0; sample.free.len()];
        let mut warm: Option<Vec<f64>> = None;
        for pass in 0..2 {
            let outcome = solver.solve(&sample.problem(), warm.as_deref(), &mut impulses);
            decades[((-outcome.residual.max(1e-17).log10()).floor().clamp(0.0, 17.0)) as usize] += 1;
            methods[outcome.method as usize] += 1;
            if outcome.iterations > slowest.1 {
                slowest = (seed, outcome.iterations);
            }
            if outcome.residual > 1e-8 {
                failures.push((seed, pass, sample.blocks.len(), outcome.residual));
            }
            warm = Some(impulses.clone());
            let mut random = Random::new(seed);
            sample.velocity.iter_mut().for_each(|v| *v += 0.01 * random.between(-1.0, 1.0));
            sample = sample.finish();
        }
    }
    println!("tangents {tangents}, {cone:?}: residuals per decade {decades:?}, methods {methods:?}, most iterations {slowest:?}");
    assert!(failures.is_empty(), "{} of {number} problems above 1e-8: {failures:?}", failures.len());
}

#[test]
fn random_planar_problems() {
    random_problems(1, Cone::Round, count(2_000, 100_000));
}

#[test]
fn random_spatial_problems() {
    random_problems(2, Cone::Round, count(2_000, 100_000));
}

#[test]
fn random_pyramid_problems() {
    random_problems(2, Cone::Polyhedral(8), count(100, 5_000));
}

/// Prints the time of a warm solve; run with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "prints timings"]
fn figures() {
    for (name, tangents, boxes, push) in [
        ("plane, 5 boxes, standing", 1, 5, 0.0),
        ("plane, 5 boxes, sliding", 1, 5, 0.2),
        ("space, 10 boxes, standing", 2, 10, 0.0),
        ("space, 10 boxes, sliding", 2, 10, 0.2),
    ] {
        let mut sample = stack(tangents, boxes, 0.5);
        let per_body = sample.per_body();
        // The lowest box is dragged along with all the others on it: its contacts with the ground slide, the others stick.
        for (k, v) in sample.velocity.iter_mut().enumerate() {
            if k % per_body == per_body / 2 || (tangents == 2 && k % per_body == 4) {
                *v += push;
            }
        }
        let mut samples = vec![];
        let mut random = Random::new(1);
        for _ in 0..16 {
            let mut changed = sample.clone();
            changed.velocity.iter_mut().for_each(|v| *v += 1e-4 * random.between(-1.0, 1.0));
            samples.push(changed.finish());
        }
        let mut solver = ContactSolver::new();
        let mut impulses = vec![0.0; sample.free.len()];
        let mut warm = impulses.clone();
        let mut worst = 0.0f64;
        let mut iterations = 0;
        let rounds = 200;
        let mut best = f64::INFINITY;
        for _ in 0..rounds {
            iterations = 0;
            let start = std::time::Instant::now();
            for sample in &samples {
                let outcome = solver.solve(&sample.problem(), Some(&warm), &mut impulses);
                worst = worst.max(outcome.residual);
                iterations += outcome.iterations;
                warm.copy_from_slice(&impulses);
            }
            best = best.min(start.elapsed().as_secs_f64() / samples.len() as f64);
        }
        let start = std::time::Instant::now();
        for _ in 0..rounds {
            worst = worst.max(solver.solve(&samples[0].problem(), Some(&warm), &mut impulses).residual);
            warm.copy_from_slice(&impulses);
        }
        let still = start.elapsed().as_secs_f64() / f64::from(rounds);
        println!(
            "{name}: {:.2} us changing, {:.2} us unchanged, {:.1} rounds, residual {worst:.1e}, methods {:?}",
            best * 1e6,
            still * 1e6,
            f64::from(iterations as u32) / samples.len() as f64,
            solver.solves()
        );
    }
}
