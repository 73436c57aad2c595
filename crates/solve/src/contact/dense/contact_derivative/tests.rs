//! Derivatives of contact problems against differences, against their transpose, and in closed form.

use super::*;
use crate::contact::chain::ContactSolver;
use crate::contact::chain::samples::{Random, Sample, random_sample, stack};
use crate::contact::problem::Cone;
use carom_math::dense::{dot, max_abs};

/// Steps of the differences, relative to the numbers they change; the best of them counts.
const STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

/// A random change of rows, velocity, friction and bounds, as bodies would make it: the matrix stays J M^-1 J'.
pub(crate) fn moved(sample: &Sample, random_seed: u64, step: f64) -> Sample {
    let mut random = Random::new(random_seed);
    let mut other = sample.clone();
    other.rows.iter_mut().flatten().for_each(|x| *x += if *x == 0.0 { 0.0 } else { step * random.between(-1.0, 1.0) });
    other.velocity.iter_mut().for_each(|x| *x += step * random.between(-1.0, 1.0));
    other.inv_mass.iter_mut().for_each(|x| *x *= 1.0 + step * random.between(-1.0, 1.0));
    for block in &mut other.blocks {
        match block {
            Block::Contact { friction } => *friction += step * random.between(-1.0, 1.0) * friction.min(1.0),
            Block::Bounded { lower, upper } => {
                *lower *= 1.0 + step * random.between(-1.0, 1.0);
                *upper *= 1.0 + step * random.between(-1.0, 1.0);
            }
            Block::Unilateral => {}
        }
    }
    other.finish()
}

/// The change of the problem per unit step, by differences that are exact to rounding (the matrix is a cubic of the step).
pub(crate) fn change_of(sample: &Sample, seed: u64) -> ProblemChange {
    let step = 1e-4;
    let (plus, minus) = (moved(sample, seed, step), moved(sample, seed, -step));
    let (plus2, minus2) = (moved(sample, seed, 2.0 * step), moved(sample, seed, -2.0 * step));
    let slope = |a: f64, b: f64, c: f64, d: f64| (8.0 * (a - b) - (c - d)) / (12.0 * step);
    let mut change = ProblemChange::zero(&sample.problem());
    for i in 0..change.matrix.len() {
        change.matrix[i] = slope(plus.matrix[i], minus.matrix[i], plus2.matrix[i], minus2.matrix[i]);
    }
    for i in 0..change.free.len() {
        change.free[i] = slope(plus.free[i], minus.free[i], plus2.free[i], minus2.free[i]);
    }
    for (i, (p, m)) in plus.blocks.iter().zip(&minus.blocks).enumerate() {
        match (p, m) {
            (Block::Contact { friction: a }, Block::Contact { friction: b }) => change.friction[i] = (a - b) / (2.0 * step),
            (Block::Bounded { lower: a, upper: c }, Block::Bounded { lower: b, upper: d }) => {
                change.lower[i] = (a - b) / (2.0 * step);
                change.upper[i] = (c - d) / (2.0 * step);
            }
            _ => {}
        }
    }
    change
}

fn solved(solver: &mut ContactSolver, sample: &Sample) -> Option<Vec<f64>> {
    let mut impulses = vec![0.0; sample.free.len()];
    solver.solve(&sample.problem(), None, &mut impulses).is_solved().then_some(impulses)
}

#[test]
fn random_problems_move_as_their_differences() {
    let mut solver = ContactSolver::new();
    let mut derivative = ContactDerivative::new();
    let (mut compared, mut switched, mut worst) = (0, 0, 0.0f64);
    for seed in 0..400 {
        let tangents = 1 + (seed % 2) as usize;
        let mut sample = random_sample(seed, tangents, 5);
        if seed % 4 == 3 {
            sample.cone = Cone::Polyhedral(6);
        }
        let Some(l) = solved(&mut solver, &sample) else { continue };
        let problem = sample.problem();
        let Some(weak) = derivative.prepare(&problem, &l) else { continue };
        let modes = derivative.modes().to_vec();
        let mut dl = vec![0.0; l.len()];
        derivative.tangent(&problem, &l, &change_of(&sample, seed), &mut dl);
        // Velocities of the bodies are unique even where contacts are redundant; the modes must be the same at both ends.
        let after = |sample: &Sample, l: &[f64]| sample.velocity_after(l);
        let tangent: Vec<f64> = {
            let h = 1e-4;
            let shifted = |s: f64| {
                let l: Vec<f64> = l.iter().zip(&dl).map(|(l, d)| l + s * d).collect();
                after(&moved(&sample, seed, s), &l)
            };
            let (a, b, c, d) = (shifted(h), shifted(-h), shifted(2.0 * h), shifted(-2.0 * h));
            (0..a.len()).map(|i| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * h)).collect()
        };
        let mut best = f64::INFINITY;
        let mut same = false;
        for step in STEPS {
            let (plus, minus) = (moved(&sample, seed, step), moved(&sample, seed, -step));
            let (Some(lp), Some(lm)) = (solved(&mut solver, &plus), solved(&mut solver, &minus)) else { continue };
            let kept = [(&plus, &lp), (&minus, &lm)].iter().all(|(s, l)| {
                let mut found = vec![];
                let _ = classify(&s.problem(), l, &mut found);
                found.iter().zip(&modes).all(|(a, b)| std::mem::discriminant(a) == std::mem::discriminant(b))
            });
            if !kept {
                continue;
            }
            same = true;
            let (vp, vm) = (after(&plus, &lp), after(&minus, &lm));
            let error = (0..vp.len()).map(|i| ((vp[i] - vm[i]) / (2.0 * step) - tangent[i]).abs()).fold(0.0, f64::max);
            best = best.min(error / (1.0 + max_abs(&tangent)));
        }
        if !same || weak.total() > 0 {
            switched += 1;
            continue;
        }
        compared += 1;
        worst = worst.max(best);
        assert!(best < 1e-6, "seed {seed}: {best:e}, {modes:?}");
    }
    println!("{compared} compared, {switched} at a switch or redundant, worst {worst:e}");
    assert!(compared > 200, "{compared} compared, {switched} at a switch");
}

#[test]
fn the_adjoint_is_the_transpose() {
    let mut solver = ContactSolver::new();
    let mut derivative = ContactDerivative::new();
    let mut bar = ProblemChange::default();
    let mut compared = 0;
    for seed in 0..200 {
        let mut sample = random_sample(seed, 1 + (seed % 2) as usize, 6);
        if seed % 4 == 3 {
            sample.cone = Cone::Polyhedral(6);
        }
        let Some(l) = solved(&mut solver, &sample) else { continue };
        let problem = sample.problem();
        if derivative.prepare(&problem, &l).is_none() {
            continue;
        }
        let change = change_of(&sample, seed);
        let mut dl = vec![0.0; l.len()];
        derivative.tangent(&problem, &l, &change, &mut dl);
        // A cotangent of the velocities, pulled back to the impulses.
        let mut random = Random::new(seed + 1);
        let n = l.len();
        let w: Vec<f64> = (0..n).map(|_| random.between(-1.0, 1.0)).collect();
        let l_bar: Vec<f64> = (0..n).map(|i| dot(&problem.matrix[i * n..(i + 1) * n], &w)).collect();
        derivative.adjoint(&problem, &l, &l_bar, &mut bar);
        let forward = dot(&l_bar, &dl);
        let pairs = [
            (&bar.matrix, &change.matrix),
            (&bar.free, &change.free),
            (&bar.friction, &change.friction),
            (&bar.lower, &change.lower),
            (&bar.upper, &change.upper),
        ];
        let backward: f64 = pairs.iter().map(|(a, b)| dot(a, b)).sum();
        // Sums are judged by their terms: where contacts are redundant, impulses are large and cancel.
        let terms: f64 = l_bar.iter().zip(&dl).map(|(x, y)| (x * y).abs()).sum();
        let size: f64 = pairs.iter().map(|(a, b)| a.iter().zip(b.iter()).map(|(x, y)| (x * y).abs()).sum::<f64>()).sum();
        assert!((forward - backward).abs() <= 1e-12 * (size + terms), "seed {seed}: {forward} against {backward}");
        if size > 0.0 {
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn closed_forms() {
    // A unit mass pressed on a plane at unit speed: sliding, l = (1, -mu), w_t = pull - mu.
    let blocks = [Block::Contact { friction: 0.3 }];
    let (matrix, free) = ([1.0, 0.0, 0.0, 1.0], [-1.0, 0.8]);
    let problem = Problem { tangents: 1, blocks: &blocks, matrix: &matrix, free: &free, cone: Cone::Round };
    let mut derivative = ContactDerivative::new();
    let l = [1.0, -0.3];
    assert_eq!(derivative.prepare(&problem, &l), Some(Weak::default()));
    let mut bar = ProblemChange::default();
    derivative.adjoint(&problem, &l, &[0.0, 1.0], &mut bar);
    assert!((bar.friction[0] + 1.0).abs() < 1e-14, "d l_t / d mu = -l_n");
    assert!((bar.free[0] - 0.3).abs() < 1e-14 && bar.free[1].abs() < 1e-14, "d l_t / d u_n = mu");
    // A standing stack is redundant, and its velocity does not answer to friction at all.
    let sample = stack(2, 3, 0.5);
    let mut solver = ContactSolver::new();
    let l = solved(&mut solver, &sample).unwrap();
    let problem = sample.problem();
    assert!(derivative.prepare(&problem, &l).is_some());
    let n = l.len();
    let mut change = ProblemChange::zero(&problem);
    change.free.copy_from_slice(&(0..n).map(|i| problem.matrix[i * n] + 0.5 * problem.matrix[i * n + 4]).collect::<Vec<_>>());
    let mut dl = vec![0.0; n];
    derivative.tangent(&problem, &l, &change, &mut dl);
    for i in 0..n {
        let dw = dot(&problem.matrix[i * n..(i + 1) * n], &dl) + change.free[i];
        assert!(dw.abs() < 1e-10, "what sticks goes on sticking: {dw:e}");
    }
}
