//! Restitution inside and outside of the iteration.

use super::plain::Problem;
use super::termination::random_problem;
use crate::random::Random;
use crate::report::{digits, list};
use crate::{Chart, Failure, Report, Style};
use carom::kernels::impact::ImpactOptions;
use carom::solve::impact::{Law, Order, Restitution, Status};

/// Problems with a coefficient for every contact.
const MIXED: usize = 500;
/// Iterations drawn.
const SHOWN: usize = 14;

/// Algorithm 1 with c_r = 0 on equal balls: the first pair that closes takes its mean, with no rounding but that of the mean.
fn means(start: &[f64], cap: usize) -> Vec<Vec<f64>> {
    let mut all = vec![start.to_vec()];
    let mut v = start.to_vec();
    while let Some(i) = (0..v.len() - 1).find(|&i| v[i] > v[i + 1]).filter(|_| all.len() <= cap) {
        let mean = (v[i] + v[i + 1]) / 2.0;
        (v[i], v[i + 1]) = (mean, mean);
        all.push(v.clone());
    }
    all
}

pub fn figure_8(report: &mut Report) -> Result<(), Failure> {
    let cradle = Problem::cradle(&[1.0; 5]);
    let start = [1.0, 0.0, 0.0, 0.0, 0.0];
    let path = means(&start, 200);
    report.numbers("velocities at the start [m/s]", &start, 0.0, &path[0]);
    report.differs(
        "each iteration, for the pair it treats",
        "halves the relative velocity",
        format!("takes both to their mean: {} → {}", list(&path[0][..2], 3), list(&path[1][..2], 3)),
        "with c_r = 0 one pairwise iteration takes both bodies to the mean",
        0,
        path[1][0] == path[1][1],
    );
    let infeasible = path.iter().take(40).all(|v| cradle.violated(v, 0.0).is_some());
    report.words(
        "the velocity remains infeasible",
        "for any finite number of iterations",
        format!("in exact arithmetic for ever (limit (1/3, 1/3, 1/3, 0, 0)); in doubles for the first 40: {infeasible}"),
        infeasible,
    );
    report.words(
        "after 4 and 10 iterations",
        "a figure",
        format!("{}, {}", list(&path[4], 6), list(&path[10], 6)),
        (path[4][0] - 0.375).abs() < 1e-15,
    );
    let later = &path[40];
    report.words(
        "after 40, the order as printed (least index first)",
        "a figure",
        list(later, 4),
        (later[0] - 1.0 / 3.0).abs() < 1e-3 && later[3] == 0.0,
    );
    let ordered = (0..40.min(path.len())).all(|i| path[i].windows(2).all(|w| w[0] >= w[1] - 1e-15));
    report.words(
        "to be feasible the order of the curves would have to be reversed",
        "the leftmost is the fastest all along",
        format!("{ordered}"),
        ordered,
    );
    let inelastic = cradle.engine(&start, &ImpactOptions { restitution: Restitution::Uniform(0.0), ..ImpactOptions::default() })?;
    report.words(
        "6.2: the one-step problem for c_r = 0",
        "well-posed",
        list(&inelastic.velocity, 3).to_string(),
        inelastic.velocity.iter().all(|v| (v - 0.2).abs() < 1e-12),
    );
    let mut chart = Chart::new("Inelastic collapse: five balls, c_r = 0, lexicographic", "iteration", "velocity [m/s]");
    for ball in 0..5 {
        chart = chart.with(
            &format!("ball {}", ball + 1),
            Style::Both,
            path[..SHOWN].iter().enumerate().map(|(i, v)| (i as f64, v[ball])).collect(),
        );
    }
    report.chart = chart;
    Ok(())
}

pub fn section_6_1(report: &mut Report) -> Result<(), Failure> {
    const CAP: usize = 4000;
    // The largest c_r at which a row of n balls struck at 1 m/s has not ended after so many iterations.
    let collapses = |n: usize, c: f64| {
        let mut start = vec![0.0; n];
        start[0] = 1.0;
        Problem::cradle(&vec![1.0; n]).lexicographic(&start, c, 1e-13, CAP).len() > CAP
    };
    let mut largest = Vec::new();
    for n in [3, 4, 5, 6, 8, 10, 14, 20, 30] {
        let worst = (0..=49).map(|i| 0.02 * i as f64).filter(|&c| collapses(n, c)).fold(f64::NAN, f64::max);
        largest.push((n as f64, worst));
    }
    let last = largest[largest.len() - 1].1;
    let grows = largest.windows(2).all(|w| w[0].1.is_nan() || w[1].1 >= w[0].1 - 0.021);
    let shown: Vec<String> =
        largest.iter().map(|(n, c)| format!("{n}: {}", if c.is_nan() { "none".into() } else { digits(*c, 2) })).collect();
    report.words(
        "inelastic collapse for c_r > 0",
        "can occur; the range grows with the size",
        format!("largest c_r without an end in {CAP} iterations by balls: {}", shown.join(", ")),
        grows && last > 0.3,
    );
    report.words(
        "the range quickly approaches unity",
        "as the number of bodies becomes large",
        format!("{} for 30 balls in a row struck at one end", digits(last, 2)),
        last > largest[2].1.max(0.0),
    );
    let path = means(&[1.0, 0.0, 0.0, 0.0, 0.0], 100_000);
    report.words(
        "numerical round-off generally terminates it",
        "not very satisfying",
        format!("cradle of five, c_r = 0, zero tolerance: {} iterations, at {}", path.len() - 1, list(&path[path.len() - 1], 4)),
        path.len() < 100_000,
    );
    report.chart = Chart::new("Inelastic collapse by the length of the row", "balls", "largest c_r that does not end").with(
        "row struck at one end",
        Style::Both,
        largest,
    );
    Ok(())
}

/// Random problems with friction.
const CASES: usize = 200;

/// After how many impacts with friction a contact closes: with friction afterwards, and with both phases in turn.
fn closed_again(random: &mut Random) -> Result<(usize, usize), Failure> {
    const CLOSES: f64 = -1e-6;
    let mut count = [0, 0];
    for _ in 0..CASES {
        let m = 2 + random.below(3);
        let problem = random_problem(random, 6, m);
        let mut row = || (0..6).map(|_| random.between(-1.0, 1.0)).collect::<Vec<f64>>();
        let (v, tangents) = (row(), (0..m).flat_map(|_| row()).collect::<Vec<f64>>());
        let tangents = carom::solve::impact::SparseRows::from_dense(&tangents, 6)?;
        for (staggered, count) in [false, true].into_iter().zip(&mut count) {
            let friction = vec![0.4; m];
            let options = ImpactOptions { friction: Some(&friction), tangents: Some(&tangents), staggered, ..ImpactOptions::default() };
            *count += usize::from(problem.feasibility(&problem.engine(&v, &options)?.velocity) < CLOSES);
        }
    }
    Ok((count[0], count[1]))
}

pub fn section_6_2(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(62);
    let (mut feasible, mut energy, mut ended, mut linear): (f64, f64, usize, f64) = (0.0, 0.0, 0, 0.0);
    for _ in 0..CASES {
        let m = 2 + random.below(6);
        let problem = random_problem(&mut random, 5, m);
        let v: Vec<f64> = (0..5).map(|_| random.between(-1.0, 1.0)).collect();
        let c = random.unit();
        let at = |c: f64| problem.engine(&v, &ImpactOptions { restitution: Restitution::Uniform(c), ..ImpactOptions::default() });
        let (zero, one, mixed) = (at(0.0)?, at(1.0)?, at(c)?);
        ended += usize::from(mixed.status == Status::Resolved);
        feasible = feasible.min(problem.feasibility(&mixed.velocity));
        energy = energy.max(mixed.energy_after / mixed.energy_before - 1.0);
        for j in 0..5 {
            linear = linear.max((mixed.velocity[j] - (1.0 - c) * zero.velocity[j] - c * one.velocity[j]).abs());
        }
    }
    report.words(
        "v = (1 − c_r) v_0 + c_r v_1",
        "the definition",
        format!("to 1e-12 in {CASES} random problems: {}", linear < 1e-12),
        linear < 1e-12,
    );
    report.words(
        "retains all properties, including (FIN)",
        "for all c_r",
        format!("{ended} of {CASES} end, feasible to 1e-9: {}, energy gained: {}", feasible > -1e-9, digits(energy.max(0.0), 1)),
        ended == CASES && feasible > -1e-9 && energy < 1e-12,
    );
    // Impulses mixed contact by contact, each by its own coefficient, against the rule of the engine (5.12).
    let (mut raised, mut most, mut safe): (usize, f64, f64) = (0, 0.0, 0.0);
    for _ in 0..MIXED {
        let m = 2 + random.below(6);
        let problem = random_problem(&mut random, 5, m);
        let v: Vec<f64> = (0..5).map(|_| random.between(-1.0, 1.0)).collect();
        let each: Vec<f64> = (0..m).map(|_| random.unit()).collect();
        let at = |c: f64| problem.engine(&v, &ImpactOptions { restitution: Restitution::Uniform(c), ..ImpactOptions::default() });
        let (zero, one) = (at(0.0)?, at(1.0)?);
        let mut mixed = v.clone();
        (0..m).for_each(|i| problem.push(&mut mixed, i, (1.0 - each[i]) * zero.impulses[i] + each[i] * one.impulses[i]));
        let gain = (problem.norm(&mixed) / problem.norm(&v)).powi(2) - 1.0;
        raised += usize::from(gain > 1e-9);
        most = most.max(gain);
        let ours = problem.engine(&v, &ImpactOptions { restitution: Restitution::PerContact(&each), ..ImpactOptions::default() })?;
        safe = safe.max(ours.energy_after / ours.energy_before - 1.0);
    }
    report.words(
        "several coefficients in one impact",
        "not discussed; one c_r",
        format!(
            "impulses mixed contact by contact raise the energy in {raised} of {MIXED} random problems, up to {} times; by the rule of theory (5.12) never: {}",
            digits(most + 1.0, 2),
            safe < 1e-12
        ),
        raised > 0 && safe < 1e-12,
    );
    // 6.3: friction after the normal impulses, bounded by them; energy falls, and a contact may close again.
    let mut lost: f64 = 0.0;
    let mut outside: f64 = 0.0;
    for _ in 0..CASES {
        let (mu, slip) = (random.unit(), random.between(-2.0, 2.0));
        let mass = carom::solve::impact::MassMatrix::diagonal(&[1.0, 1.0, 0.4])?;
        let (normal, tangent) = ([0.0, 1.0, 0.0], [1.0, 0.0, 1.0]);
        let rows = |row: &[f64]| carom::solve::impact::SparseRows::from_dense(row, 3);
        let (n, t) = (rows(&normal)?, rows(&tangent)?);
        let end = carom::kernels::impact::impacts(
            &mass,
            &n,
            &[slip, -1.0, 0.0],
            &ImpactOptions { friction: Some(&[mu]), tangents: Some(&t), ..ImpactOptions::default() },
        )?;
        lost = lost.max(end.energy_after - end.energy_before);
        outside = outside.max(end.friction_impulses[0].abs() - mu * end.impulses[0]);
    }
    report.words(
        "6.3: ‖f‖ ≤ μ λ, most dissipation",
        "after the normal response",
        format!("excess over the bound below 1e-12: {}, energy gained below 1e-12: {}", outside < 1e-12, lost < 1e-12),
        outside < 1e-12 && lost < 1e-12,
    );
    let (closing, together) = closed_again(&mut random)?;
    report.words(
        "6.3: friction depends on the contact impulses, and not vice versa",
        "often sufficient",
        format!("afterwards a contact closes again in {closing} of {CASES} random problems; where both phases take turns, in {together}"),
        closing > 4 * together,
    );
    let cradle = Problem::cradle(&[1.0; 5]);
    let mut chart = Chart::new("Cradle of five by c_r: the interpolation", "c_r", "velocity [m/s]");
    for (ball, name) in [(0, "ball 1"), (1, "balls 2 to 4"), (4, "ball 5")] {
        let mut points = Vec::new();
        for i in 0..=10 {
            let c = i as f64 / 10.0;
            let end = cradle.engine(
                &[1.0, 0.0, 0.0, 0.0, 0.0],
                &ImpactOptions {
                    restitution: Restitution::Uniform(c),
                    law: Law::GaussSeidel { order: Order::Lexicographic, seed: 0 },
                    ..ImpactOptions::default()
                },
            )?;
            points.push((c, end.velocity[ball]));
        }
        chart = chart.with(name, Style::Both, points);
    }
    report.chart = chart;
    Ok(())
}
