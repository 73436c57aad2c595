//! When iterations end, and after how many.

use super::plain::{LAWS, Problem, discs, dot};
use crate::random::Random;
use crate::report::digits;
use crate::{Chart, Failure, Report, Scale, Style};
use carom::kernels::impact::ImpactOptions;
use carom::solve::impact::{Law, Order, Status};
use std::f64::consts::PI;

/// Gradients in a cone without implicit equalities.
pub fn random_problem(random: &mut Random, d: usize, m: usize) -> Problem {
    let inside: Vec<f64> = (0..d).map(|_| random.between(-1.0, 1.0)).collect();
    let mut normals = Vec::new();
    while normals.len() < m {
        let row: Vec<f64> = (0..d).map(|_| random.between(-1.0, 1.0)).collect();
        if dot(&row, &inside) > 0.1 {
            normals.push(row);
        }
    }
    Problem::new((0..d).map(|_| random.between(0.3, 3.0)).collect(), normals)
}

pub fn section_2(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(2);
    let (mut energy, mut pulled, mut infeasible, mut momentum, mut capped): (f64, f64, f64, f64, usize) = (0.0, 0.0, 0.0, 0.0, 0);
    let mut counts = Vec::new();
    const CASES: usize = 300;
    for number in 0..CASES {
        let m = 2 + random.below(10);
        let problem = random_problem(&mut random, 6, m);
        let v: Vec<f64> = (0..6).map(|_| random.between(-1.0, 1.0)).collect();
        for (_, law) in LAWS {
            let end = problem.engine(&v, &ImpactOptions { law, ..ImpactOptions::default() })?;
            capped += usize::from(end.status == Status::Capped);
            energy = energy.max((end.energy_after / end.energy_before - 1.0).abs());
            pulled = pulled.min(end.impulses.iter().copied().fold(0.0, f64::min));
            infeasible = infeasible.min(problem.feasibility(&end.velocity));
            for j in 0..6 {
                let along: f64 = (0..m).map(|i| end.impulses[i] * problem.normals[i][j]).sum();
                momentum = momentum.max((problem.mass[j] * (end.velocity[j] - v[j]) - along).abs());
            }
            if law == Law::Reflections {
                counts.push((number as f64, end.iterations as f64));
            }
        }
    }
    report.words("(NORM) impulses along the normals", "M (v' − v) = N λ", format!("to 1e-9: {}", momentum < 1e-9), momentum < 1e-9);
    report.words("(KIN) energy is kept", "exactly", format!("to 1e-12: {}", energy < 1e-12), energy < 1e-12);
    report.words("(ONE) no impulse pulls", "λ ≥ 0", format!("least λ = {}", digits(pulled, 2)), pulled >= 0.0);
    report.words(
        "(FIN) all five operators end",
        "after finitely many",
        format!("{} of {} runs; feasible to 1e-10: {}", 5 * CASES - capped, 5 * CASES, infeasible > -1.0001e-10),
        capped == 0 && infeasible > -1.0001e-10,
    );
    let mirror = Problem::cradle(&[1.0, 1.0]).lexicographic(&[1.0, 0.0], 1.0, 0.0, 10);
    report.numbers("eq. (1): v − 2 (v·n) M⁻¹ n on two equal balls (1, 0)", &[0.0, 1.0], 1e-15, &mirror[1]);
    report.chart = Chart::new("Generalised reflections of random problems, 6 freedoms", "problem", "applications until it ends").with(
        "problems",
        Style::Dots,
        counts,
    );
    Ok(())
}

pub fn section_3(report: &mut Report) -> Result<(), Failure> {
    let cradle = Problem::cradle(&[1.0; 5]);
    let one = cradle.lexicographic(&[1.0, 0.0, 0.0, 0.0, 0.0], 1.0, 0.0, 100);
    report.words(
        "one reflection swaps the two velocities",
        "(1, 0, …) → (0, 1, …)",
        format!("{:?}", &one[1][..2]),
        (one[1][0]).abs() + (one[1][1] - 1.0).abs() < 1e-15,
    );
    let (mut sorted, mut rises, mut inversions) = (0, 0, 0);
    let mut random = Random::new(3);
    const CASES: usize = 100;
    let mut curve = Vec::new();
    for number in 0..CASES {
        let v: Vec<f64> = (0..9).map(|_| random.between(-1.0, 1.0)).collect();
        let path = Problem::cradle(&[1.0; 9]).lexicographic(&v, 1.0, 1e-14, 1000);
        let mut wanted = v.clone();
        wanted.sort_by(f64::total_cmp);
        let end = &path[path.len() - 1];
        sorted += usize::from(end.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12));
        let swaps = (0..9).map(|i| (0..i).filter(|&j| v[j] > v[i]).count()).sum::<usize>();
        inversions += usize::from(path.len() - 1 == swaps);
        let order: Vec<f64> = (1..=9).map(f64::from).collect();
        let values: Vec<f64> = path.iter().map(|v| dot(v, &order)).collect();
        rises += usize::from(values.windows(2).all(|w| w[1] > w[0]));
        if number == 0 {
            curve = values.iter().enumerate().map(|(i, x)| (i as f64, *x)).collect();
        }
    }
    report.words(
        "lexicographic Gauss-Seidel is a bubble sort",
        "ends sorted",
        format!("{sorted} of {CASES} rows of nine"),
        sorted == CASES,
    );
    report.words("as many swaps as inversions", "bubble sort", format!("{inversions} of {CASES}"), inversions == CASES);
    report.words("v · (1, 2, …, d) rises with every swap", "always", format!("{rises} of {CASES}"), rises == CASES);
    report.chart = Chart::new("The energy v · (1, 2, …, 9) certifies that it ends", "iteration", "v · (1, 2, …, 9) [m/s]").with(
        "first row",
        Style::Both,
        curve,
    );
    Ok(())
}

/// The wedge of figure 3.
fn wedge(angle: f64) -> Problem {
    Problem::new(vec![1.0; 2], vec![vec![0.0, 1.0], vec![angle.sin(), -angle.cos()]])
}

pub fn figure_3(report: &mut Report) -> Result<(), Failure> {
    let mut chart = Chart::new("Certificates of the wedge", "iteration", "k_w = w · v");
    let (mut rises, mut ends, mut attained) = (true, true, Vec::new());
    for (number, angle) in [0.7, 0.3, 0.1].into_iter().enumerate() {
        let problem = wedge(angle);
        // Thrown into the wedge, a little off its middle.
        let heading = PI + 0.45 * angle;
        let path = problem.lexicographic(&[heading.cos(), heading.sin()], 1.0, 0.0, 10_000);
        ends &= problem.violated(&path[path.len() - 1], 0.0).is_none();
        for i in [1.0, 2.0] {
            let w = [(i * angle / 3.0).cos(), (i * angle / 3.0).sin()];
            rises &= problem.normals.iter().all(|n| dot(n, &w) > 0.0);
            let values: Vec<f64> = path.iter().map(|v| dot(v, &w)).collect();
            rises &= values.windows(2).all(|pair| pair[1] >= pair[0] - 1e-15);
            let style = if i < 1.5 { Style::Line } else { Style::Dashed };
            chart = chart.colored(
                &format!("θ = {angle}, w{i}"),
                style,
                number,
                values.iter().enumerate().map(|(i, x)| (i as f64, *x)).collect(),
            );
        }
    }
    let mut counts = Vec::new();
    for angle in [PI / 2.0, PI / 3.0, PI / 4.0, 0.7, 0.3, 0.1, 0.03, 0.01] {
        let problem = wedge(angle);
        let most = (1..400)
            .map(|i| i as f64 * 2.0 * PI / 400.0 + 1e-4)
            .map(|a| problem.lexicographic(&[a.cos(), a.sin()], 1.0, 1e-13, 10_000).len() - 1)
            .max()
            .unwrap_or(0);
        let bound = (PI / angle - 1e-9).ceil();
        attained.push((most, bound as usize));
        counts.push((angle, most as f64));
    }
    report.words("w_1, w_2 are feasible and k_w never falls", "guaranteed", format!("{rises}"), rises);
    report.words("it ends for every θ", "yes", format!("{ends}"), ends);
    report.words(
        "the smaller θ, the more iterations",
        "plots without numbers",
        format!(
            "most over 400 starts {:?}, bound ⌈π/θ⌉ {:?} for θ = π/2, π/3, π/4, 0.7, 0.3, 0.1, 0.03, 0.01",
            attained.iter().map(|a| a.0).collect::<Vec<_>>(),
            attained.iter().map(|a| a.1).collect::<Vec<_>>()
        ),
        attained.iter().all(|(most, bound)| most <= bound && *most + 1 >= *bound),
    );
    report.chart = chart;
    Ok(())
}

pub fn section_8(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(8);
    let mut counts: [Vec<(f64, f64)>; 2] = Default::default();
    for n in [3usize, 5, 8, 12] {
        let mut most = [0; 2];
        for _ in 0..20 {
            let mass: Vec<f64> = (0..n).map(|_| 10f64.powf(random.between(-1.0, 1.0))).collect();
            let problem = Problem::cradle(&mass);
            let v: Vec<f64> = (0..n).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
            for (k, law) in [Law::GaussSeidel { order: Order::Lexicographic, seed: 0 }, Law::Reflections].into_iter().enumerate() {
                let end = problem.engine(&v, &ImpactOptions { law, max_iterations: 200_000, ..ImpactOptions::default() })?;
                most[k] = most[k].max(end.iterations);
            }
        }
        (0..2).for_each(|k| counts[k].push((n as f64, most[k] as f64)));
    }
    let last = |k: usize| counts[k].last().map_or(0.0, |p| p.1);
    report.words(
        "iterations needed",
        "not predicted; \"it would be useful\"",
        format!("rows of 12 with masses over two decades: at most {} pairwise, {} generalised reflections", last(0), last(1)),
        last(1) <= last(0),
    );
    // Shrinking the balls of a jammed row frees it.
    let jammed = |radius: f64| discs(&[[-0.125, 0.0], [0.125, 0.0]], radius, Some(0.25));
    let (tight, loose) = (jammed(0.125), jammed(0.125 - 1e-6));
    let found = tight.engine(&[1.0, 0.0, 0.0, 0.0], &ImpactOptions::default())?.locked;
    report.words(
        "slightly shrinking the radius of all balls removes implicit equalities",
        "yes",
        format!(
            "{found} locked directions with {} contacts; none touch after shrinking by 1e-6 m ({} contacts)",
            tight.normals.len(),
            loose.normals.len()
        ),
        found == 2 && loose.normals.is_empty(),
    );
    let [pairs, reflections] = counts;
    report.chart = Chart::new("Most iterations of 20 random cradles, masses 0.1 to 10 kg", "balls", "applications of the operator")
        .scales(Scale::Linear, Scale::Log)
        .with("lexicographic", Style::Both, pairs)
        .with("generalised reflections", Style::Both, reflections);
    Ok(())
}
