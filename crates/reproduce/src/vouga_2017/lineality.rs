//! Implicit equalities: where iterations do not end.

use super::plain::{LAWS, Problem, discs, dot};
use crate::random::Random;
use crate::report::{digits, list};
use crate::{Chart, Failure, Report, Style};
use carom::kernels::impact::ImpactOptions;
use carom::solve::impact::lineality::lineality;
use carom::solve::impact::linear_program::{implicit_rows, maximise};
use carom::solve::impact::{Law, Order, Status};
use nalgebra::{DMatrix, DVector};

/// Applications after which an impact that does not end is given up.
const PATIENCE: usize = 20_000;

fn geyser() -> (Problem, Vec<[f64; 2]>, Vec<f64>) {
    // Rows of two between walls 0.5 m apart, and a ball that arrives from below.
    let mut centres: Vec<[f64; 2]> = (0..6).flat_map(|row| [-0.125, 0.125].map(|x| [x, 0.25 * row as f64])).collect();
    centres.push([0.0, -(0.25f64.powi(2) - 0.125f64.powi(2)).sqrt()]);
    let mut v = vec![0.0; 2 * centres.len()];
    v[2 * centres.len() - 1] = 2.0;
    (discs(&centres, 0.125, Some(0.25)), centres, v)
}

pub fn figure_1(report: &mut Report) -> Result<(), Failure> {
    let (problem, centres, v) = geyser();
    let mut chart =
        Chart::new("Ball geyser: velocity along the shaft after the impact", "place along the shaft [m]", "velocity along the shaft [m/s]");
    let mut ended = [Vec::new(), Vec::new()];
    for (name, law) in LAWS.into_iter().filter(|(name, _)| ["lexicographic", "reflections"].contains(name)) {
        for (k, detect) in [false, true].into_iter().enumerate() {
            let end =
                problem.engine(&v, &ImpactOptions { law, lineality: detect, max_iterations: PATIENCE, ..ImpactOptions::default() })?;
            ended[k].push((end.status == Status::Resolved, end.iterations));
            if detect {
                let points = centres.iter().enumerate().map(|(i, c)| (c[1], end.velocity[2 * i + 1])).collect();
                chart = chart.with(name, if name == "reflections" { Style::Dots } else { Style::Both }, points);
                let across = (0..centres.len() - 1).map(|i| end.velocity[2 * i].abs()).fold(0.0, f64::max);
                let lost = 1.0 - end.energy_after / end.energy_before;
                report.words(
                    &format!("{name} with lineality detection: keeps the desiderata"),
                    "yes",
                    format!(
                        "feasible to 1e-9: {}; across the shaft below 1e-9 m/s: {}; energy lost {} %, by the equalities",
                        problem.feasibility(&end.velocity) > -1e-9,
                        across < 1e-9,
                        digits((100.0 * lost).max(0.0), 3)
                    ),
                    across < 1e-9,
                );
            }
        }
    }
    report.words(
        "without lineality detection",
        "Gauss-Seidel and GR fail to terminate",
        format!("neither ends within {PATIENCE} applications: {}", ended[0].iter().all(|e| !e.0)),
        ended[0].iter().all(|e| !e.0),
    );
    report.words(
        "with lineality detection",
        "both succeed",
        format!("both end: {}, after {} and {} applications", ended[1].iter().all(|e| e.0), ended[1][0].1, ended[1][1].1),
        ended[1].iter().all(|e| e.0),
    );
    report.chart = chart.with("before", Style::Dots, centres.iter().enumerate().map(|(i, c)| (c[1], v[2 * i + 1])).collect());
    Ok(())
}

pub fn figure_2(report: &mut Report) -> Result<(), Failure> {
    let one = Problem::new(vec![1.0; 2], vec![vec![1.0, 0.0], vec![-1.0, 0.0]]);
    let path = one.lexicographic(&[1.0, 3.0], 1.0, 0.0, 12);
    let cycles = path.windows(3).all(|w| w[0] == w[2]);
    report.words(
        "one ball: two reflections give the start back",
        "the cycle repeats",
        format!("(1, 3) → {} → {}; for ever: {cycles}", list(&path[1], 3), list(&path[2], 3)),
        cycles && path.len() == 13,
    );
    report.words(
        "one ball moving exactly vertically",
        "no collision occurs",
        format!("{} iterations", one.lexicographic(&[0.0, 3.0], 1.0, 0.0, 12).len() - 1),
        one.lexicographic(&[0.0, 3.0], 1.0, 0.0, 12).len() == 1,
    );
    let two = Problem::new(vec![1.0; 4], vec![vec![1.0, 0.0, 0.0, 0.0], vec![-1.0, 0.0, 1.0, 0.0], vec![0.0, 0.0, -1.0, 0.0]]);
    let start = [0.4, 0.0, -0.7, 1.0];
    let stuck = two.lexicographic(&start, 1.0, 0.0, PATIENCE).len() > PATIENCE;
    let mut never = vec![];
    for (name, law) in LAWS {
        let end = two.engine(&start, &ImpactOptions { law, lineality: false, max_iterations: PATIENCE, ..ImpactOptions::default() })?;
        never.push((name, end.status == Status::Capped));
    }
    let gr = never.iter().find(|n| n.0 == "reflections").is_some_and(|n| n.1);
    report.words(
        "two balls: Gauss-Seidel and GR",
        "fail to terminate",
        format!("lexicographic still infeasible after {PATIENCE}: {stuck}; GR: {gr}"),
        stuck && gr,
    );
    let end = two.engine(&start, &ImpactOptions::default())?;
    report.words(
        "with implicit equalities found",
        "terminates",
        format!("{} applications, {} directions locked, v = {}", end.iterations, end.locked, list(&end.velocity, 3)),
        end.status == Status::Resolved && end.locked == 2,
    );
    // Right: two balls at rest between the walls, feasible, until a third falls on them off the middle.
    let centres = [[-0.125, 0.0], [0.125, 0.0], [0.05, (0.25f64.powi(2) - 0.075f64.powi(2)).sqrt()]];
    let late = discs(&centres, 0.125, Some(0.25));
    let rest = late.violated(&[0.0; 6], 0.0).is_none();
    let struck = [0.0, 0.0, 0.0, 0.0, 0.0, -1.0];
    let plain = late.engine(
        &struck,
        &ImpactOptions {
            lineality: false,
            max_iterations: PATIENCE,
            law: Law::GaussSeidel { order: Order::Lexicographic, seed: 0 },
            ..ImpactOptions::default()
        },
    )?;
    let found = late.engine(&struck, &ImpactOptions::default())?;
    report.words(
        "an impact later in the simulation",
        "can trigger an infinite loop",
        format!(
            "at rest feasible: {rest}; struck, {} without and {} with detection",
            if plain.status == Status::Capped { "no end" } else { "ends" },
            if found.status == Status::Resolved { "an end" } else { "none" }
        ),
        rest && plain.status == Status::Capped && found.status == Status::Resolved,
    );
    report.chart = Chart::new("One ball between walls: across it never settles", "iteration", "velocity [m/s]")
        .with("across the walls", Style::Both, path.iter().enumerate().map(|(i, v)| (i as f64, v[0])).collect())
        .with("along the walls", Style::Both, path.iter().enumerate().map(|(i, v)| (i as f64, v[1])).collect());
    Ok(())
}

/// How far row i can be opened by a velocity that closes none of the rows: 0 for an implicit equality, else 1. One linear program in w⁺, w⁻.
fn reach(rows: &[Vec<f64>], i: usize) -> f64 {
    let signed = |row: &[f64], sign: f64| row.iter().map(|x| -sign * x).chain(row.iter().map(|x| sign * x)).collect::<Vec<f64>>();
    let mut matrix: Vec<f64> = rows.iter().flat_map(|row| signed(row, 1.0)).collect();
    matrix.extend(signed(&rows[i], -1.0));
    let mut bound = vec![0.0; rows.len()];
    bound.push(1.0);
    maximise(&matrix, &bound, &signed(&rows[i], -1.0), &vec![1e6; 2 * rows[i].len()]).objective
}

pub fn section_4(report: &mut Report) -> Result<(), Failure> {
    let sets: [(&str, usize, Vec<f64>, Vec<usize>); 3] = [
        ("ball between walls: (1, 0), (−1, 0)", 2, vec![1.0, 0.0, -1.0, 0.0], vec![0, 1]),
        (
            "two balls: (1, 0, 0, 0), (−1, 0, 1, 0), (0, 0, −1, 0)",
            4,
            vec![1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0],
            vec![0, 1, 2],
        ),
        ("(1, 1), (−1, 1), (0, 1)", 2, vec![1.0, 1.0, -1.0, 1.0, 0.0, 1.0], vec![]),
    ];
    let mut points = Vec::new();
    for (number, (name, d, rows, wanted)) in sets.into_iter().enumerate() {
        let found = lineality(&rows, d, None, 1e-9)?;
        let words = if wanted.is_empty() { "dependent, but no implicit equality" } else { "all are implicit equalities" };
        report.counted(
            name,
            words,
            format!("{} of {} rows, dimension {}", found.implicit.len(), rows.len() / d, found.dimension),
            found.implicit == wanted,
        );
        points.push((number as f64 + 1.0, found.dimension as f64));
    }
    let sum: Vec<f64> =
        (0..4).map(|j| [[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0], [0.0, 0.0, -1.0, 0.0]].iter().map(|n| n[j]).sum()).collect();
    report.words(
        "a positive combination of the gradients is zero",
        "equivalent",
        format!("n_1 + n_2 + n_3 = {} for the two balls", list(&sum, 2)),
        sum.iter().all(|x| *x == 0.0),
    );
    let mut random = Random::new(4);
    let (mut agree, mut programs, mut most) = (0, 0, 0);
    const CONES: usize = 100;
    for _ in 0..CONES {
        // Random rows, some of them with their opposite, which makes both implicit equalities.
        let (d, mut rows) = (3 + random.below(3), Vec::new());
        for _ in 0..2 + random.below(5) {
            let row: Vec<f64> = (0..d).map(|_| random.between(-1.0, 1.0)).collect();
            let length = dot(&row, &row).sqrt();
            rows.push(row.iter().map(|x| x / length).collect::<Vec<f64>>());
            if random.unit() < 0.2 {
                rows.push(row.iter().map(|x| -x / length).collect());
            }
        }
        let one = implicit_rows(&rows.concat(), rows.len(), d, 1e-6).ok_or("the program was capped")?;
        let each: Vec<usize> = (0..rows.len()).filter(|&i| reach(&rows, i) < 0.5).collect();
        agree += usize::from(one == each);
        programs += rows.len();
        most = most.max(rows.len());
    }
    report.words(
        "Support and Shave: at most 2m linear programs",
        "only one in the best and most common case",
        format!(
            "one program with bounds finds in {agree} of {CONES} random cones of up to {most} rows what one for each row finds, {programs} in all"
        ),
        agree == CONES,
    );
    report.chart = Chart::new("Dimension of the implicit equalities in the text's examples", "example", "dimension").with(
        "examples",
        Style::Dots,
        points,
    );
    Ok(())
}

pub fn algorithm_2(report: &mut Report) -> Result<(), Failure> {
    // Two freedoms locked against each other beside a free pair; masses that differ.
    let mass = [1.0, 4.0, 2.0];
    let normals = [[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, 0.0, 1.0]];
    let problem = Problem::new(mass.to_vec(), normals.iter().map(|n| n.to_vec()).collect());
    let e = DMatrix::from_column_slice(3, 1, &problem.normals[0]);
    let m = DMatrix::from_diagonal(&DVector::from_row_slice(&mass));
    let inverse = m.clone().try_inverse().ok_or("singular")?;
    // Line 4: the start, projected in the metric M.
    let start = DVector::from_row_slice(&[1.0, 2.0, -3.0]);
    let v0 = &start - &inverse * &e * (e.transpose() * &inverse * &e).try_inverse().ok_or("singular")? * e.transpose() * &start;
    // Line 6: argmin ‖x − n‖ in a metric G with E' x = 0 as printed (G = M); or for covectors, G = M⁻¹ with E' M⁻¹ x = 0.
    let n = DVector::from_row_slice(&problem.normals[2]);
    let printed = &n - &inverse * &e * (e.transpose() * &inverse * &e).try_inverse().ok_or("singular")? * e.transpose() * &n;
    let right = &n - &e * (e.transpose() * &inverse * &e).try_inverse().ok_or("singular")? * e.transpose() * &inverse * &n;
    let reflect = |x: &DVector<f64>, norm: f64| {
        let x = x / norm;
        let speed = x.dot(&v0);
        &v0 - &inverse * &x * (2.0 * speed) / (x.transpose() * &inverse * &x)[(0, 0)]
    };
    let (a, b) = (
        reflect(&printed, (printed.transpose() * &m * &printed)[(0, 0)].sqrt()),
        reflect(&right, (right.transpose() * &inverse * &right)[(0, 0)].sqrt()),
    );
    let leaves = |v: &DVector<f64>| e.column(0).dot(v).abs();
    report.differs(
        "lines 6, 7, 10: gradients projected in the metric M, one reflection",
        "E' x = 0 in ‖·‖_M",
        format!(
            "leaves the subspace: |E'v| = {} after one reflection; with M⁻¹ below 1e-14: {}",
            digits(leaves(&a), 3),
            leaves(&b) < 1e-14
        ),
        "Algorithm 2 projects gradients in the metric M",
        0,
        leaves(&a) > 0.1 && leaves(&b) < 1e-14,
    );
    let end = problem.engine(start.as_slice(), &ImpactOptions::default())?;
    report.words(
        "the algorithm then ends and keeps E'v = 0",
        "yes",
        format!("{} application(s), |E'v| below 1e-12: {}", end.iterations, dot(&problem.normals[0], &end.velocity).abs() < 1e-12),
        end.status == Status::Resolved && dot(&problem.normals[0], &end.velocity).abs() < 1e-12,
    );
    let plain = Problem::cradle(&[1.0, 2.0, 3.0]);
    let at = |detect: bool| plain.engine(&[1.0, 0.0, 0.0], &ImpactOptions { lineality: detect, ..ImpactOptions::default() });
    let same = at(true)?.velocity == at(false)?.velocity;
    report.words(
        "without implicit equalities it is algorithm 1",
        "reduces to it",
        format!("the same bits with and without detection: {same}"),
        same,
    );
    let axis = |v: &DVector<f64>| v.iter().enumerate().map(|(i, x)| (i as f64 + 1.0, *x)).collect::<Vec<_>>();
    report.chart = Chart::new("One reflection in the subspace of an implicit equality", "freedom", "velocity [m/s]")
        .with("projected start", Style::Both, axis(&v0))
        .with("as printed", Style::Both, axis(&a))
        .with("in the metric M⁻¹", Style::Both, axis(&b));
    Ok(())
}
