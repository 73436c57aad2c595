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

#[test]
fn arc_trial() {
    use crate::newton::*;
    let mut newton = SmoothedNewton::new();
    let mut arc = crate::continuation::Continuation::new();
    let mut active = crate::modes::ActiveSet::default();
    let seeds = [44, 66, 112, 120, 154, 158, 167, 180, 188, 284, 308, 324, 358, 391, 416, 475, 486, 514, 519, 584, 651, 714, 819, 896, 916, 949, 950, 982, 991, 1007, 1008, 1020, 1050, 1142, 1218, 1228, 1244, 1273, 1277, 1360, 1392, 1483, 1535, 1620, 1729, 1813, 1832, 1984, 2050, 2138, 2145, 2169, 2244, 2287, 2315, 2360, 2381, 2385, 2450, 2461, 2500, 2548, 2569, 2593, 2598, 2703, 2731, 2732, 2776, 2815, 2860, 2868, 2876, 2898];
    let base = Path{factor:0.2, rounding:1.0, softness:0.1, end:1e-8};
    for path in [base, Path{end:1e-10,..base}, Path{end:1e-12,..base}, Path{end:1e-12,softness:0.01,..base}, Path{end:1e-12,rounding:10.0, ..base}] {
    let (mut ok1, mut ok2, mut total, mut st)=(0,0,0,0);
    for seed in seeds {
        if let Ok(x)=std::env::var("DBG") && x.parse::<u64>().unwrap()!=seed {continue;}
        let sample = random_sample(seed, 2, 30);
        let p = sample.problem();
        let mut l = vec![0.0; sample.free.len()];
        newton.start(&p);
        let (_, a) = newton.follow(&p, Path{end: 1.0, ..path});
        let (i, b) = arc.trace(&mut newton, &p, path);
        newton.impulses(&p, &mut l);
        let mut w=l.clone(); multiply_add(p.matrix, &l, p.free, &mut w);
        let r0 = natural_residual(&p, &l, &w);
        if std::env::var("DBG").is_ok() { let mut i=0; for b in p.blocks { if b.rows(2)==3 { if let Block::Contact{friction}=b {let a=p.matrix[i*l.len()+i]; println!("   mu {friction:.3} l {:e} w {:e} share {:e} slip {:e}", a*l[i], w[i], (l[i+1].hypot(l[i+2]))/(friction*l[i]), w[i+1].hypot(w[i+2])); }} else {println!("  {b:?} l {} w {:e}", l[i], w[i]);} i+=b.rows(2);} }
        active.guess(&p, &l);
        let r = active.iterate(&p, 30).0;
        print!("unpolished {r0:e} ");
        println!("{seed} start {a} arc {b} solves {i} residual {r:e}");
        if a {st+=1;} if b {ok1+=1;} if r<1e-10 {ok2+=1;} total+=i;
    }
    println!("{path:?} started {st} reached {ok1} polished {ok2} of {} mean solves {}", seeds.len(), total/seeds.len());
    }
}
