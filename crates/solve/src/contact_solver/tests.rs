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

#[test]
fn newton_trial() {
    use crate::newton::*;
    for tangents in [1, 2] { for most in [30] {
    let b = Path{factor:0.2, rounding:1.0, softness:1.0, end:1e-6};
    let b = Path{factor:0.2, rounding:10.0, softness:0.05, end:1e-8};
    for path in [b, Path{rounding:100.,..b}, Path{rounding:1000.,..b}, Path{end:1e-10,..b}, Path{factor:0.6,..b}] {
        let mut newton = SmoothedNewton::new();
        let mut active = crate::modes::ActiveSet::default();
        let (mut reached, mut polished, mut total, mut its)=(0,0,0,0);
        for seed in 0..1000 {
            let sample = random_sample(seed, tangents, most);
            let p = sample.problem();
            if no_impulse_needed(&p) {continue;}
            newton.start(&p);
            let (i, ok) = newton.follow(&p, path);
            total+=1; its+=i; if ok {reached+=1;}
            let mut l = vec![0.0; sample.free.len()];
            newton.impulses(&p, &mut l);
            if std::env::var("DBG").is_ok() { println!("seed {seed} its {i} {ok}"); }
            active.guess(&p, &l);
            let (r,_) = active.iterate(&p, 30);
            if r<1e-10 {polished+=1;}
        }
        println!("{tangents} {most} {path:?}: total {total} reached {reached} polished {polished} mean its {}", its/total);
    }}}
}
