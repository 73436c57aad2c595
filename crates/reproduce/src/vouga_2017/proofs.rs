//! What the proofs say, measured; and where they slip.

use super::plain::{Problem, dot};
use super::termination::random_problem;
use crate::random::Random;
use crate::report::{digits, list};
use crate::{Chart, Failure, Report, Scale, Style};
use carom::kernels::impact::ImpactOptions;
use carom::solve::impact::lineality::lineality;
use nalgebra::{DMatrix, SymmetricEigen};

pub fn figure_4(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(4);
    let (mut monotone, mut tangent, mut longest): (bool, f64, usize) = (true, f64::INFINITY, 0);
    let mut chart = Chart::new("Distance to the hyperplane of a feasible w falls monotonically", "iteration", "k_w − ⟨w, v⟩_M")
        .scales(Scale::Linear, Scale::Linear);
    const CASES: usize = 200;
    for number in 0..CASES {
        let problem = random_problem(&mut random, 3, 2);
        let v: Vec<f64> = (0..3).map(|_| random.between(-1.0, 1.0)).collect();
        let path = problem.lexicographic(&v, 1.0, 0.0, 10_000);
        longest = longest.max(path.len() - 1);
        // A strictly feasible w: the sum of the gradients over the mass, pushed until it is feasible.
        let mut w = problem.lexicographic(&v.iter().map(|x| -x).collect::<Vec<_>>(), 1.0, 0.0, 10_000).pop().ok_or("no end")?;
        (0..2).for_each(|i| problem.push(&mut w, i, 1.0));
        if problem.violated(&w, 0.0).is_some() {
            continue;
        }
        let inner = |v: &[f64]| -> f64 { (0..3).map(|j| w[j] * problem.mass[j] * v[j]).sum() };
        let values: Vec<f64> = path.iter().map(|v| inner(v)).collect();
        monotone &= values.windows(2).all(|p| p[1] >= p[0] - 1e-12);
        if path.len() > 1 {
            // Figure 6: an end along both constraints at once would need energy to be lost.
            let end = &path[path.len() - 1];
            let largest = problem.normals.iter().map(|n| dot(n, end)).fold(0.0, f64::max) / problem.norm(end);
            tangent = tangent.min(largest);
        }
        if path.len() > 4 && chart.series.len() < 3 {
            let last = values[values.len() - 1];
            chart = chart.with(
                &format!("problem {number}"),
                Style::Both,
                values.iter().enumerate().map(|(i, x)| (i as f64, last - x)).collect(),
            );
        }
    }
    report.words(
        "lemma 5.1: ⟨w, v_i⟩_M never falls for a feasible w",
        "monotone",
        format!("{monotone} in {CASES} random problems"),
        monotone,
    );
    report.words("theorem 5.4: it ends", "after finitely many", format!("after at most {longest} reflections"), longest < 10_000);
    report.words(
        "figure 6: never along both constraints of a trough",
        "impossible",
        format!("the larger of the two normal velocities at the end is at least {} of the speed", digits(tangent, 2)),
        tangent > 1e-9,
    );
    report.chart = chart;
    Ok(())
}

pub fn algorithm_3(report: &mut Report) -> Result<(), Failure> {
    // A narrow wedge, entered again and again: the energy after many reflections, with the renormalisation of algorithms 3 and 4 and without.
    let mut random = Random::new(33);
    let mut mass = Vec::new();
    (0..12).for_each(|_| mass.push(random.between(0.05, 20.0)));
    let problem = Problem::cradle(&mass);
    let start: Vec<f64> = (0..12).map(|i| 1.0 - 0.3 * i as f64).collect();
    let energy = problem.norm(&start).powi(2);
    let mut drifts: [Vec<(f64, f64)>; 3] = Default::default();
    const ROUNDS: usize = 100_000;
    for (kind, drift) in drifts.iter_mut().enumerate() {
        let mut v = start.clone();
        let mut random = Random::new(7);
        for i in 1..=ROUNDS {
            // Any violated constraint; when none is, the velocity is turned round and the count goes on.
            let Some(j) = problem.violated(&v, 1e-12) else {
                let k = random.below(mass.len());
                v.iter_mut().for_each(|x| *x = -*x);
                v.swap(k, k);
                continue;
            };
            let before = problem.norm(&v);
            let speed = dot(&problem.normals[j], &v);
            problem.push(&mut v, j, -2.0 * speed);
            let target = match kind {
                0 => None,
                1 => Some(before),
                _ => Some(energy.sqrt()),
            };
            if let Some(target) = target {
                let scale = target / problem.norm(&v);
                v.iter_mut().for_each(|x| *x *= scale);
            }
            if i % 2000 == 0 {
                drift.push((i as f64, (problem.norm(&v).powi(2) / energy - 1.0).abs().max(1e-17)));
            }
        }
    }
    let last = |k: usize| drifts[k].last().map_or(0.0, |p| p.1);
    report.words(
        "algorithm 3: renormalised to ‖v_0‖",
        "no unbounded drift",
        format!("energy off by less than 1e-14 after {ROUNDS} reflections: {}", last(2) < 1e-14),
        last(2) < 1e-14,
    );
    report.differs(
        "algorithm 4: renormalised to ‖v_i‖, the last iterate",
        "‖v_i‖_M / ‖v_i + M⁻¹N_V λ‖_M",
        format!("rounding adds up: off by more than to ‖v_0‖: {}", last(1) > last(2)),
        "Algorithm 4 renormalises by the last iterate, which drifts",
        0,
        last(1) > last(2),
    );
    report.differs(
        "algorithm 4: the loop starts at",
        "i := 1, with v_1 undefined",
        "0, as in algorithm 3".into(),
        "Algorithm 4 starts its loop at 1",
        1,
        true,
    );
    let end = problem.engine(&start, &ImpactOptions { tolerance: 1e-8, ..ImpactOptions::default() })?;
    report.words(
        "(εFIN): n·v ≥ −ε ‖v‖ at the end",
        "ε = 1e-8 here",
        format!("least n·v/‖v‖ above −1e-8: {}", problem.feasibility(&end.velocity) >= -1e-8),
        problem.feasibility(&end.velocity) >= -1e-8,
    );
    let [none, each, first] = drifts;
    report.chart = Chart::new("Energy drift over reflections", "reflections", "|energy / start − 1|")
        .scales(Scale::Linear, Scale::Log)
        .with("no renormalisation", Style::Line, none)
        .with("to the last iterate (4)", Style::Line, each)
        .with("to the start (3)", Style::Line, first);
    Ok(())
}

pub fn section_7(report: &mut Report) -> Result<(), Failure> {
    // One ball between walls: L_ε as defined holds v along the walls, which nothing holds.
    let walls = [[1.0, 0.0], [-1.0, 0.0]];
    let along = [0.0, 1.0];
    let allowed = walls.iter().all(|n| dot(n, &along) <= 1e-9);
    let across = walls.iter().all(|n| dot(n, &[1.0, 0.0]) <= 1e-9);
    let found = lineality(&walls.concat(), 2, None, 1e-9)?;
    report.differs(
        "L_ε: the largest subspace with n_i·v ≤ ε‖v‖",
        "the approximate implicit equalities",
        format!("for a ball between walls it holds the free direction ({allowed}) and not the locked one ({}); the span of the gradients is the locked one: ({}, {})", across, digits(found.basis[0].abs(), 2), digits(found.basis[1].abs(), 2)),
        "Section 7's L_ε contains the free directions instead of the implicit equalities",
        0,
        allowed && !across && found.dimension == 1,
    );
    let mut points = Vec::new();
    let mut shown = Vec::new();
    for exponent in 2..=8 {
        let angle = 10f64.powi(-exponent);
        let rows = [0.0, 1.0, angle.sin(), -angle.cos()];
        let narrow = lineality(&rows, 2, None, 1e-5)?;
        points.push((angle, narrow.dimension as f64));
        shown.push(format!("1e-{exponent}: {}", narrow.dimension));
    }
    report.words(
        "nearly opposed constraints count as equalities",
        "must be treated as such",
        format!("wedge by its angle, tolerance 1e-5, locked directions: {}", shown.join(", ")),
        points[1].1 == 0.0 && points[5].1 == 1.0,
    );
    report.chart = Chart::new("A wedge closes: when it counts as locked (tolerance 1e-5)", "angle of the wedge [rad]", "locked directions")
        .scales(Scale::Log, Scale::Linear)
        .with("wedge", Style::Both, points);
    Ok(())
}

/// Lemmas A.1 and A.2 of the supplement, and the energy of section 7.
fn lemmas(report: &mut Report, random: &mut Random) {
    // Lemma A.1 asks for (2 − εγ) C − εβ √C − εα ≥ 0; the bound is its root in √C. As printed β stands without √C, the sense is ≤, the bound is C's.
    let (alpha, beta, gamma, epsilon): (f64, f64, f64, f64) = (1.0, 1.0, 1.0, 0.1);
    let lead = 2.0 - epsilon * gamma;
    let bound = (epsilon * beta + (epsilon * epsilon * beta * beta + 4.0 * epsilon * alpha * lead).sqrt()) / (2.0 * lead);
    let (printed, right) = (lead * bound - epsilon * (beta + alpha), lead * bound * bound - epsilon * (beta * bound + alpha));
    report.differs(
        "lemma A.1: C at its bound satisfies",
        "(2 − εγ)C − εβ − εα ≤ 0",
        format!(
            "at α = β = γ = 1, ε = 0.1 that is {} > 0; the bound is the root √C of (2 − εγ)C − εβ√C − εα, to 1e-15: {}",
            digits(printed, 3),
            right.abs() < 1e-15
        ),
        "lemma A.1 bounds √C",
        0,
        printed > 0.0 && right.abs() < 1e-15,
    );
    // Lemma A.2: λ > 2ε‖v_i‖ with ‖v_i‖ ≥ ‖v_0‖ − √(2C) where the energy has fallen by C.
    let (first, now): (f64, f64) = (1.0, 0.9);
    let room = (first * first - now * now).sqrt();
    report.differs(
        "lemma A.2: the least impulse",
        "λ > 2ε‖v_i‖ ≥ 2ε(‖v_0‖ + √(2C))",
        format!(
            "(εDRIFT) bounds ‖v_i‖ from below by ‖v_0‖ − √(2C): with 1 fallen to 0.9, C = {} J, {} ≤ 0.9 < {}",
            digits(room * room / 2.0, 3),
            digits(first - room, 3),
            digits(first + room, 4)
        ),
        "lemma A.2's lower bound takes ‖v_0‖ − √(2C)",
        0,
        now >= first - room && now < first + room,
    );
    // Its first condition for unit masses and a unit start in the plane, with the least that α₂₀ can be: ‖v_0‖² + ‖v_0‖ = 2.
    let root = (2f64.sqrt() * 2.0).sqrt();
    report.differs(
        "lemma A.2: the first condition on ε vanishes as rounding does",
        "no factor of rounding under the root",
        format!(
            "as printed ε > {} for unit masses, above the ε < 1 it needs; with doubles' rounding ε > {}",
            digits(root, 3),
            digits(root * f64::EPSILON.sqrt(), 2)
        ),
        "lemma A.2's first condition lost the machine epsilon",
        0,
        root > 1.0 && root * f64::EPSILON.sqrt() < 1.0,
    );
    // (εKIN) without squares says the same as with them.
    let mut apart: [f64; 2] = [0.0; 2];
    for _ in 0..200 {
        let problem = random_problem(random, 4, 1);
        let before: Vec<f64> = (0..4).map(|_| random.between(-1.0, 1.0)).collect();
        let mut after = before.clone();
        problem.push(&mut after, 0, -2.0 * dot(&problem.normals[0], &before));
        let (a, b) = (problem.norm(&before), problem.norm(&after));
        apart = [apart[0].max((a - b).abs()), apart[1].max((a * a - b * b).abs())];
    }
    report.words(
        "(εKIN): ½‖v‖_M = ½‖v + M⁻¹Nλ‖_M, without squares",
        "equivalent to the energies",
        format!("200 reflections keep both to 1e-12: {}", apart[0] < 1e-12 && apart[1] < 1e-12),
        apart[0] < 1e-12 && apart[1] < 1e-12,
    );
}

pub fn supplement(report: &mut Report) -> Result<(), Failure> {
    // Lemma 5.2: c + s e_i have the determinant s^(d−1) (s + Σ c).
    let (c, s): ([f64; 3], f64) = ([0.5, -0.9, -0.1], 0.5);
    let vectors = DMatrix::from_fn(3, 3, |i, j| c[i] + if i == j { s } else { 0.0 });
    report.differs(
        "lemma 5.2: the vectors c + s e_i are linearly independent",
        "always",
        format!("determinant {} for c = (0.5, −0.9, −0.1), s = 0.5", digits(vectors.determinant().abs(), 1)),
        "Lemma 5.2 fails when Σc = −s",
        0,
        vectors.determinant().abs() < 1e-15,
    );
    // Supplement A.2: ‖λ‖_∞ ≤ ‖N'M⁻¹N λ‖/m is the wrong way round.
    let gram = DMatrix::from_row_slice(2, 2, &[1.0, -0.99, -0.99, 1.0]);
    let lambda = nalgebra::DVector::from_row_slice(&[1.0, 1.0]);
    let right = (&gram * &lambda).norm() / 2.0;
    report.differs(
        "supplement A.2: ‖λ‖_∞ ≤ ‖N'M⁻¹N λ‖_2 / m",
        "an upper bound of λ",
        format!("1 ≤ {} is false for an off-diagonal −0.99 and λ = (1, 1)", digits(right, 3)),
        "Supplement A.2's inequality is reversed",
        0,
        right < 1.0,
    );
    // Gershgorin: the largest eigenvalue is at most m.
    let mut random = Random::new(9);
    let mut points = Vec::new();
    let mut holds = true;
    for m in 2..=20usize {
        let problem = random_problem(&mut random, 6, m);
        let gram =
            DMatrix::from_fn(m, m, |i, j| (0..6).map(|k| problem.normals[i][k] * problem.normals[j][k] / problem.mass[k]).sum::<f64>());
        let largest = SymmetricEigen::new(gram).eigenvalues.max();
        holds &= largest <= m as f64 + 1e-12;
        points.push((m as f64, largest));
    }
    report.words(
        "supplement A.2: the largest eigenvalue of N'M⁻¹N is at most m",
        "by Gershgorin",
        format!("{holds} for 2 to 20 random gradients"),
        holds,
    );
    // A pairwise operator in a corner that closes on both sides: one constraint pushes, both are violated.
    let corner = Problem::new(vec![1.0; 2], vec![vec![1.0, 0.0], vec![0.0, 1.0]]);
    let path = corner.lexicographic(&[-1.0, -2.0], 1.0, 0.0, 1);
    let pushes: Vec<f64> = corner.normals.iter().map(|n| dot(n, &path[1]) - dot(n, &path[0])).collect();
    report.differs(
        "theorem 5.4: the multipliers of T",
        "λ_j > 0",
        format!("λ_j ≥ 0: of two violated constraints a pairwise operator pushes with λ = {}", list(&pushes, 3)),
        "theorem 5.4 has λ ≥ 0",
        0,
        pushes[0] > 0.0 && pushes[1] == 0.0,
    );
    lemmas(report, &mut random);
    report.chart = Chart::new("Largest eigenvalue of N'M⁻¹N", "constraints m", "eigenvalue")
        .with("random gradients", Style::Dots, points)
        .with("m", Style::Dashed, vec![(2.0, 2.0), (20.0, 20.0)]);
    Ok(())
}
