//! Derivatives of contact problems against differences, against their transpose, against the dense ones, and over bodies.

use super::*;
use crate::contact::bodies::Bodies;
use crate::contact::chain::samples::{Random, Sample, random_sample, stack};
use crate::contact::dense::contact_derivative::tests::{change_of, moved};
use crate::contact::dense::contact_derivative::{ContactDerivative, Mode, ProblemChange, classify};
use crate::contact::given::Given;
use crate::contact::law::Law;
use crate::contact::problem::{Block, Cone};
use crate::contact::solver::Solver;
use crate::interrupt::Interrupt;
use crate::status::RESIDUAL_AIM;
use carom_math::dense::{dot, max_abs};

/// Steps of the differences, relative to the numbers they change; the best of them counts.
const STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

fn laws(sample: &Sample) -> Vec<Law> {
    sample.blocks.iter().map(|block| Law::of(block, sample.cone, sample.tangents)).collect()
}

fn given(sample: &Sample) -> Given {
    let mut system = Given::default();
    system.read_dense(laws(sample).iter().map(|law| law.rows()), &sample.matrix);
    system
}

/// The same problem by its bodies.
fn bodies<const B: usize>(sample: &Sample) -> Bodies<B> {
    let mut system = Bodies::<B>::default();
    system.begin(sample.freedoms / B);
    let mut row = 0;
    for law in laws(sample) {
        system.add_block(law.rows(), 0.0);
        for body in 0..sample.freedoms / B {
            let entry = |k: usize, i: usize| sample.rows[row + k][body * B + i] * sample.inv_mass[body * B + i].sqrt();
            if (0..law.rows()).any(|k| (0..B).any(|i| entry(k, i) != 0.0)) {
                system.add_side(body, |k| std::array::from_fn(|i| entry(k, i)));
            }
        }
        row += law.rows();
    }
    system.finish();
    system
}

fn solved(solver: &mut Solver, sample: &Sample) -> Option<Vec<f64>> {
    let laws = laws(sample);
    let mut impulses = vec![0.0; sample.free.len()];
    let task = Task::new(&laws, &sample.free, RESIDUAL_AIM);
    let answer = solver.solve(&mut given(sample), &task, None, false, &Interrupt::NEVER, &mut impulses);
    (answer.residual <= RESIDUAL_WANTED).then_some(impulses)
}

/// dW l + du, and the changes of the laws.
fn drive_of(change: &ProblemChange, impulses: &[f64]) -> (Vec<f64>, Vec<LawChange>) {
    let n = impulses.len();
    let drive = (0..n).map(|i| dot(&change.matrix[i * n..(i + 1) * n], impulses) + change.free[i]).collect();
    let laws = (0..change.friction.len())
        .map(|k| LawChange { friction: change.friction[k], lower: change.lower[k], upper: change.upper[k], ..LawChange::default() })
        .collect();
    (drive, laws)
}

fn sample_of(seed: u64, most: usize) -> Sample {
    let mut sample = random_sample(seed, 1 + (seed % 2) as usize, most);
    if seed % 4 == 3 {
        sample.cone = Cone::Polyhedral(6);
    }
    sample
}

fn multiply(sample: &Sample, x: &[f64]) -> Vec<f64> {
    let n = x.len();
    (0..n).map(|i| dot(&sample.matrix[i * n..(i + 1) * n], x)).collect()
}

#[test]
fn random_problems_move_as_their_differences() {
    let (mut solver, mut derivative) = (Solver::default(), Derivative::default());
    let (mut compared, mut switched, mut worst, mut residual) = (0, 0, 0.0f64, 0.0f64);
    let (mut sliding, mut bounded, mut redundant) = (0, 0, 0);
    for seed in 0..400 {
        let sample = sample_of(seed, 5);
        let Some(l) = solved(&mut solver, &sample) else { continue };
        let mut modes = vec![];
        let weak = classify(&sample.problem(), &l, &mut modes);
        let laws = laws(&sample);
        let mut system = given(&sample);
        assert!(derivative.prepare(&mut system, &Task::new(&laws, &sample.free, RESIDUAL_AIM), &l, SHIFTS[0]));
        let (drive, changes) = drive_of(&change_of(&sample, seed), &l);
        let mut dl = vec![0.0; l.len()];
        let fit = derivative.along(&mut system, &drive, &changes, &mut dl);
        // Velocities of the bodies are unique even where contacts are redundant; the modes must be the same at both ends.
        let tangent: Vec<f64> = {
            let h = 1e-4;
            let shifted = |s: f64| {
                let l: Vec<f64> = l.iter().zip(&dl).map(|(l, d)| l + s * d).collect();
                moved(&sample, seed, s).velocity_after(&l)
            };
            let (a, b, c, d) = (shifted(h), shifted(-h), shifted(2.0 * h), shifted(-2.0 * h));
            (0..a.len()).map(|i| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * h)).collect()
        };
        let mut best = f64::INFINITY;
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
            let (vp, vm) = (plus.velocity_after(&lp), minus.velocity_after(&lm));
            let error = (0..vp.len()).map(|i| ((vp[i] - vm[i]) / (2.0 * step) - tangent[i]).abs()).fold(0.0, f64::max);
            best = best.min(error / (1.0 + max_abs(&tangent)));
        }
        if best.is_infinite() || weak.total() > 0 {
            switched += 1;
            continue;
        }
        compared += 1;
        sliding += usize::from(modes.iter().any(|mode| matches!(mode, Mode::Slide { .. })));
        bounded += usize::from(modes.iter().any(|mode| matches!(mode, Mode::Lower | Mode::Upper)));
        redundant += usize::from(fit.lost > 1e-9);
        worst = worst.max(best);
        residual = residual.max(fit.residual);
        assert!(best < 1e-6, "seed {seed}: {best:e}, {fit:?}, {modes:?}");
        assert!(fit.residual < 1e-8, "seed {seed}: {fit:?}");
    }
    println!(
        "{compared} compared ({sliding} slide, {bounded} at a bound, {redundant} lossy), {switched} at a switch, worst {worst:e}, linear residual {residual:e}"
    );
    assert!(compared > 200 && sliding > 80 && bounded > 10, "{compared} compared, {switched} at a switch");
}

#[test]
fn the_transpose_is_the_transpose() {
    let (mut solver, mut derivative) = (Solver::default(), Derivative::default());
    let (mut compared, mut worst, mut worst_lost, mut redundant) = (0, 0.0f64, 0.0f64, 0);
    for seed in 0..300 {
        let sample = sample_of(seed, 8);
        let Some(l) = solved(&mut solver, &sample) else { continue };
        let laws = laws(&sample);
        let mut system = given(&sample);
        assert!(derivative.prepare(&mut system, &Task::new(&laws, &sample.free, RESIDUAL_AIM), &l, SHIFTS[0]));
        let mut random = Random::new(seed + 1);
        let n = l.len();
        let numbers = |random: &mut Random| (0..n).map(|_| random.between(-1.0, 1.0)).collect::<Vec<_>>();
        let (one, two) = (numbers(&mut random), numbers(&mut random));
        let changes: Vec<LawChange> = laws
            .iter()
            .map(|_| LawChange {
                friction: random.between(-1.0, 1.0),
                lower: random.between(-1.0, 1.0),
                upper: random.between(-1.0, 1.0),
                ..LawChange::default()
            })
            .collect();
        // First what bodies bring about, whatever is redundant; then anything, of which a part may be lost.
        for (drive, bar) in [(multiply(&sample, &one), multiply(&sample, &two)), (one, two)] {
            let (mut dl, mut drive_bar, mut laws_bar) = (vec![0.0; n], vec![0.0; n], vec![LawChange::default(); laws.len()]);
            let fits = [
                derivative.along(&mut system, &drive, &changes, &mut dl),
                derivative.transpose(&mut system, &bar, &mut drive_bar, &mut laws_bar),
            ];
            let forward = dot(&bar, &dl);
            let backward = dot(&drive_bar, &drive) + laws_bar.iter().zip(&changes).map(|(a, b)| a.dot(b)).sum::<f64>();
            let terms = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x * y).abs()).sum::<f64>();
            let size = terms(&bar, &dl) + terms(&drive_bar, &drive);
            let error = (forward - backward).abs() / size.max(f64::MIN_POSITIVE);
            // What is lost was magnified by the inverse of the shift, and its rounding with it.
            if fits[0].lost.max(fits[1].lost) > 1e-6 {
                redundant += 1;
                worst_lost = worst_lost.max(error);
                assert!(error <= 1e-9, "seed {seed}: {forward} against {backward}, {fits:?}");
            } else {
                worst = worst.max(error);
                assert!(error <= 1e-11, "seed {seed}: {forward} against {backward}, {fits:?}");
            }
            compared += usize::from(size > 0.0);
        }
    }
    println!("{compared} compared, worst {worst:e}; {redundant} ask for more than there is, worst {worst_lost:e}");
    assert!(compared > 400 && redundant > 20, "{compared} compared, {redundant} redundant");
}

#[test]
fn it_agrees_with_the_dense_derivative() {
    let (mut solver, mut derivative, mut dense) = (Solver::default(), Derivative::default(), ContactDerivative::new());
    let (mut compared, mut worst) = (0, 0.0f64);
    for seed in 1000..1300 {
        let sample = sample_of(seed, 8);
        let Some(l) = solved(&mut solver, &sample) else { continue };
        let problem = sample.problem();
        let Some(weak) = dense.prepare(&problem, &l) else { continue };
        if weak.total() > 0 {
            continue;
        }
        let laws = laws(&sample);
        let mut system = given(&sample);
        assert!(derivative.prepare(&mut system, &Task::new(&laws, &sample.free, RESIDUAL_AIM), &l, SHIFTS[0]));
        let mut random = Random::new(seed);
        let n = l.len();
        // A cotangent of the velocities, which is one of the impulses whatever is redundant.
        let bar = multiply(&sample, &(0..n).map(|_| random.between(-1.0, 1.0)).collect::<Vec<_>>());
        let mut wanted = ProblemChange::default();
        dense.adjoint(&problem, &l, &bar, &mut wanted);
        let (mut drive_bar, mut laws_bar) = (vec![0.0; n], vec![LawChange::default(); laws.len()]);
        let fit = derivative.transpose(&mut system, &bar, &mut drive_bar, &mut laws_bar);
        // Of the cotangent of the drive only what bodies can bring about is one.
        let (found_speed, wanted_speed) = (multiply(&sample, &drive_bar), multiply(&sample, &wanted.free));
        let miss = |a: &mut dyn Iterator<Item = (f64, f64)>, size: f64| {
            a.fold(0.0f64, |m, (a, b)| m.max((a - b).abs())) / (size + f64::MIN_POSITIVE)
        };
        let mut error = miss(&mut found_speed.iter().copied().zip(wanted_speed.iter().copied()), max_abs(&wanted_speed) + max_abs(&bar));
        let numbers = laws_bar.iter().flat_map(|bar| [bar.friction, bar.lower, bar.upper]);
        let others: Vec<f64> = (0..laws.len()).flat_map(|k| [wanted.friction[k], wanted.lower[k], wanted.upper[k]]).collect();
        // A pyramid without friction opens by its corners, which the dense one takes for a round cone.
        let smooth = |k: usize| sample.cone != Cone::Round && matches!(sample.blocks[k / 3], Block::Contact { friction: 0.0 });
        let pairs: Vec<_> = numbers.zip(others.iter().copied()).enumerate().filter(|(k, _)| !smooth(*k)).map(|(_, pair)| pair).collect();
        error = error.max(miss(&mut pairs.into_iter(), max_abs(&others) + max_abs(&bar)));
        worst = worst.max(error);
        assert!(error < 1e-7, "seed {seed}: {error:e}, {fit:?}, {:?}", dense.modes());
        compared += 1;
    }
    println!("{compared} compared, worst {worst:e}");
    assert!(compared > 150, "{compared}");
}

fn over_bodies<const B: usize>(sample: &Sample, solver: &mut Solver) -> Option<f64> {
    let l = solved(solver, sample)?;
    let laws = laws(sample);
    let task = Task::new(&laws, &sample.free, RESIDUAL_AIM);
    let n = l.len();
    let mut random = Random::new(n as u64);
    let bar = multiply(sample, &(0..n).map(|_| random.between(-1.0, 1.0)).collect::<Vec<_>>());
    let speeds = |system: &mut dyn FnMut(&mut [f64], &mut [LawChange]) -> Fit| {
        let (mut drive_bar, mut laws_bar) = (vec![0.0; n], vec![LawChange::default(); laws.len()]);
        let fit = system(&mut drive_bar, &mut laws_bar);
        assert!(fit.residual < 1e-8, "{fit:?}");
        let mut all = multiply(sample, &drive_bar);
        all.extend(laws_bar.iter().map(|bar| bar.friction));
        all
    };
    let (mut one, mut two) = (given(sample), bodies::<B>(sample));
    let mut derivative = Derivative::default();
    let by_matrix = speeds(&mut |d, l_bar| {
        assert!(derivative.prepare(&mut one, &task, &l, SHIFTS[0]));
        derivative.transpose(&mut one, &bar, d, l_bar)
    });
    let by_bodies = speeds(&mut |d, l_bar| {
        assert!(derivative.prepare(&mut two, &task, &l, SHIFTS[0]));
        derivative.transpose(&mut two, &bar, d, l_bar)
    });
    let size = max_abs(&by_matrix) + max_abs(&bar) + f64::MIN_POSITIVE;
    Some(by_matrix.iter().zip(&by_bodies).fold(0.0f64, |m, (a, b)| m.max((a - b).abs())) / size)
}

#[test]
fn rows_over_bodies_give_the_same() {
    let mut solver = Solver::default();
    let (mut compared, mut worst) = (0, 0.0f64);
    for seed in 0..100 {
        let sample = sample_of(seed, 8);
        let error = if sample.tangents == 1 { over_bodies::<3>(&sample, &mut solver) } else { over_bodies::<6>(&sample, &mut solver) };
        let Some(error) = error else { continue };
        assert!(error < 1e-7, "seed {seed}: {error:e}");
        worst = worst.max(error);
        compared += 1;
    }
    println!("{compared} compared, worst {worst:e}");
    assert!(compared > 80, "{compared}");
}

#[test]
fn closed_forms() {
    // A unit mass pressed on a plane at unit speed: sliding, l = (1, -mu), w_t = pull - mu.
    let laws = [Law::of(&Block::Contact { friction: 0.3 }, Cone::Round, 1)];
    let (matrix, free, l) = ([1.0, 0.0, 0.0, 1.0], [-1.0, 0.8], [1.0, -0.3]);
    let mut system = Given::default();
    system.read_dense([2].into_iter(), &matrix);
    let mut derivative = Derivative::default();
    assert!(derivative.prepare(&mut system, &Task::new(&laws, &free, RESIDUAL_AIM), &l, SHIFTS[0]));
    let (mut drive_bar, mut laws_bar) = ([0.0; 2], [LawChange::default()]);
    let fit = derivative.transpose(&mut system, &[0.0, 1.0], &mut drive_bar, &mut laws_bar);
    assert!(fit.residual < 1e-12 && fit.lost < 1e-12, "{fit:?}");
    assert!((laws_bar[0].friction + 1.0).abs() < 1e-12, "d l_t / d mu = -l_n: {laws_bar:?}");
    assert!((drive_bar[0] - 0.3).abs() < 1e-12 && drive_bar[1].abs() < 1e-12, "d l_t / d u_n = mu: {drive_bar:?}");
    assert!((matrix_bar(&drive_bar, &l, 0, 0) - 0.3).abs() < 1e-12, "d l_t / d W_nn = mu l_n");
    assert!((matrix_bar(&drive_bar, &l, 0, 1) + 0.045).abs() < 1e-12, "half of d l_t / d W_nt = mu l_t");
}

#[test]
fn a_stack_shares_a_redundant_cotangent_evenly() {
    // Four corners carry each box: what all of them do together has a derivative, what one does alone has none.
    let sample = stack(2, 3, 0.5);
    let mut solver = Solver::default();
    let l = solved(&mut solver, &sample).unwrap();
    let laws = laws(&sample);
    let mut system = given(&sample);
    let mut derivative = Derivative::default();
    assert!(derivative.prepare(&mut system, &Task::new(&laws, &sample.free, RESIDUAL_AIM), &l, SHIFTS[0]));
    let n = l.len();
    let (mut drive_bar, mut laws_bar) = (vec![0.0; n], vec![LawChange::default(); laws.len()]);
    // The push of the ground on the lowest box, and of one of its corners times four.
    let mut bar = vec![0.0; n];
    (0..4).for_each(|k| bar[3 * k] = 1.0);
    let fit = derivative.transpose(&mut system, &bar, &mut drive_bar, &mut laws_bar);
    assert!(fit.residual < 1e-9 && fit.lost < 1e-6, "{fit:?}");
    // All three boxes stand on the ground: whatever speed they get, all of it times the mass above is pushed back.
    let fall: f64 = (0..n)
        .map(|i| drive_bar[i] * sample.rows[i].iter().zip(&[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]; 3].concat()).map(|(r, v)| r * v).sum::<f64>())
        .sum();
    assert!((fall + 3.0).abs() < 1e-6, "{fall}");
    bar.fill(0.0);
    bar[0] = 4.0;
    let fit = derivative.transpose(&mut system, &bar, &mut drive_bar, &mut laws_bar);
    assert!(fit.residual < 1e-6 && fit.lost > 0.1, "{fit:?}");
    let fall: f64 = (0..n)
        .map(|i| drive_bar[i] * sample.rows[i].iter().zip(&[[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]; 3].concat()).map(|(r, v)| r * v).sum::<f64>())
        .sum();
    assert!((fall + 3.0).abs() < 1e-4, "the corner's share of a symmetric fall: {fall}");
}
