//! Rows inserted into a factor, and split bodies solved.

use crate::random::Random;
use crate::report::digits;
use crate::{Chart, Failure, Report, Scale, Style};
use carom::math::bordered::{Form, InsertedFactor};
use carom::math::ldl::Order;
use carom::math::splitting::{SPATIAL_WELD, split};
use nalgebra::{DMatrix, DVector};
use std::time::Instant;

/// Entries of the lower triangle that are not zero.
pub(super) fn lower(a: &DMatrix<f64>) -> Vec<(usize, usize, f64)> {
    let n = a.nrows();
    (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))).filter(|&(i, j)| a[(i, j)] != 0.0).map(|(i, j)| (i, j, a[(i, j)])).collect()
}

fn flat(a: &DMatrix<f64>) -> Vec<f64> {
    (0..a.nrows()).flat_map(|i| (0..a.ncols()).map(move |j| (i, j))).map(|(i, j)| a[(i, j)]).collect()
}

/// A chain: every row is coupled to a few before it.
fn chain(random: &mut Random, n: usize) -> DMatrix<f64> {
    let mut a = DMatrix::zeros(n, n);
    for i in 0..n {
        for j in i.saturating_sub(6)..i {
            let x = random.between(-1.0, 1.0);
            a[(i, j)] = x;
            a[(j, i)] = x;
        }
        a[(i, i)] = 14.0;
    }
    a
}

pub fn appendix_c(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(15);
    let (mut worst, mut apart): ([f64; 2], f64) = ([0.0; 2], 0.0);
    for number in 0..60 {
        let (n, a) = (12 + random.below(60), 1 + random.below(3));
        let matrix = chain(&mut random, n);
        let mut thin = |r: usize| DMatrix::from_fn(n, r, |i, _| if i % 5 == 1 { random.between(-1.0, 1.0) } else { 0.0 });
        let (columns, rows) = (thin(a), thin(a));
        let corner = DMatrix::from_fn(a, a, |i, j| if i == j { 20.0 } else { random.between(-1.0, 1.0) });
        let (b1, b2) = (DVector::from_fn(n, |_, _| random.between(-1.0, 1.0)), DVector::from_fn(a, |_, _| random.between(-1.0, 1.0)));
        let mut whole = DMatrix::zeros(n + a, n + a);
        whole.view_mut((0, 0), (n, n)).copy_from(&matrix);
        whole.view_mut((0, n), (n, a)).copy_from(&columns);
        whole.view_mut((n, 0), (a, n)).copy_from(&rows.transpose());
        whole.view_mut((n, n), (a, a)).copy_from(&corner);
        let mut right = DVector::zeros(n + a);
        right.rows_mut(0, n).copy_from(&b1);
        right.rows_mut(n, a).copy_from(&b2);
        let exact = whole.lu().solve(&right).ok_or("singular")?;
        // With the order chosen inside, and a given permutation.
        let reversed: Vec<usize> = (0..n).rev().collect();
        let order = if number % 2 == 0 { Order::MinimumDegree } else { Order::Given(&reversed) };
        let factor = InsertedFactor::from_lower(n, &lower(&matrix), order)?;
        let mut answers = Vec::new();
        for (k, form) in [Form::Cholesky, Form::Ldl].into_iter().enumerate() {
            let solved = factor.insert(&flat(&columns), &flat(&rows), &flat(&corner), form)?.solve(b1.as_slice(), b2.as_slice())?;
            let found = DVector::from_iterator(n + a, solved.x1.iter().chain(&solved.x2).copied());
            worst[k] = worst[k].max((&found - &exact).amax());
            answers.push(found);
        }
        apart = apart.max((&answers[0] - &answers[1]).amax());
    }
    report.words(
        "first version, A = G G'",
        "the modified system's solution",
        format!("equal to a dense solve to 1e-13: {}", worst[0] < 1e-13),
        worst[0] < 1e-13,
    );
    report.words(
        "second version, A = L D L'",
        "the same",
        format!("equal to a dense solve to 1e-13: {}", worst[1] < 1e-13),
        worst[1] < 1e-13,
    );
    report.counted("rows inserted", "n_a not greater than three", "1 to 3 in 60 systems, unsymmetric columns".into(), apart < 1e-13);
    report.words(
        "permuted",
        "A_12 and b_1 permuted, x_1 permuted back",
        "half of the systems in a given order, the other half in one that spares fill".into(),
        true,
    );
    report.differs(
        "bars on D in L D̄ Ū = Ā_12",
        "D̄",
        "D is the old factor; only D̄_22 is new".into(),
        "The bars on D in appendix C are the scan's",
        0,
        true,
    );
    // D_22 that is not definite: friction against the normal. The factor solves; contacts refuse it.
    let small = InsertedFactor::from_dense(1, &[1.0], Order::MinimumDegree)?;
    let singular = small.insert(&[1.0], &[1.0], &[1.0], Form::Ldl);
    report.words("a singular D_22", "not discussed", format!("refused: {}", singular.is_err()), singular.is_err());
    // Cost: inserting three rows against factoring again, by the length of the chain.
    let mut cost = (vec![], vec![]);
    let mut touched = Vec::new();
    for n in [50usize, 100, 200, 400] {
        let matrix = chain(&mut random, n);
        let entries = lower(&matrix);
        let factor = InsertedFactor::from_lower(n, &entries, Order::MinimumDegree)?;
        let columns = DMatrix::from_fn(n, 3, |i, j| if i == n / 2 + j { 1.0 } else { 0.0 });
        let corner = flat(&(DMatrix::identity(3, 3) * 20.0));
        let columns = flat(&columns);
        let (start, rounds) = (Instant::now(), 40);
        for _ in 0..rounds {
            touched.push((n, factor.insert(&columns, &columns, &corner, Form::Ldl)?.border().touched()));
        }
        let inserted = start.elapsed().as_secs_f64() / f64::from(rounds);
        let start = Instant::now();
        for _ in 0..rounds {
            InsertedFactor::from_lower(n, &entries, Order::MinimumDegree)?;
        }
        let factored = start.elapsed().as_secs_f64() / f64::from(rounds);
        report.timed(format!("{n} rows: insertion {} µs, factoring again {} µs", digits(1e6 * inserted, 3), digits(1e6 * factored, 3)));
        cost.0.push((n as f64, touched.last().map_or(0.0, |t| t.1 as f64)));
        cost.1.push((n as f64, entries.len() as f64));
    }
    report.words(
        "insertion instead of modification",
        "the factor does not change",
        format!("an insertion of 3 rows touches {} numbers at 400 rows; the factor has at least {}", cost.0[3].1, cost.1[3].1),
        cost.0[3].1 < cost.1[3].1,
    );
    report.chart = Chart::new("Work of an insertion of 3 rows, and of the factor", "rows of A", "numbers")
        .scales(Scale::Log, Scale::Log)
        .with("touched by the insertion", Style::Both, cost.0)
        .with("entries to factor again", Style::Both, cost.1);
    Ok(())
}

/// A hub with `joints` hinges of 5 rows to spokes; hub parts as given. Returns the kinematic matrix, the rows and the inverse masses.
fn hub(random: &mut Random, joints: usize, parts: &[usize]) -> (DMatrix<f64>, DMatrix<f64>, Vec<f64>) {
    let rows = 5 * joints;
    let welds = SPATIAL_WELD * (parts.len() - 1);
    let freedoms = 6 * (parts.len() + joints);
    let mut inverse: Vec<f64> = (0..freedoms).map(|i| if i / 6 < parts.len() { parts.len() as f64 } else { 1.0 }).collect();
    inverse.truncate(freedoms);
    let mut jacobian = DMatrix::zeros(rows + welds, freedoms);
    // Rows are dealt out to the parts in order.
    let mut home = Vec::new();
    for (part, count) in parts.iter().enumerate() {
        home.extend(vec![part; *count]);
    }
    let shares: Vec<f64> = (0..rows * 12).map(|_| random.between(-1.0, 1.0)).collect();
    for row in 0..rows {
        for k in 0..6 {
            jacobian[(row, 6 * home[row] + k)] = shares[12 * row + k];
            jacobian[(row, 6 * (parts.len() + row / 5) + k)] = shares[12 * row + 6 + k];
        }
    }
    for weld in 0..parts.len() - 1 {
        for k in 0..SPATIAL_WELD {
            jacobian[(rows + SPATIAL_WELD * weld + k, 6 * weld + k)] = 1.0;
            jacobian[(rows + SPATIAL_WELD * weld + k, 6 * (weld + 1) + k)] = -1.0;
        }
    }
    let scaled = DMatrix::from_fn(rows + welds, freedoms, |i, j| jacobian[(i, j)] * inverse[j]);
    (&scaled * jacobian.transpose(), jacobian, inverse)
}

pub fn islands(report: &mut Report) -> Result<(), Failure> {
    let mut worst: f64 = 0.0;
    let mut counts = (vec![], vec![]);
    for joints in [8usize, 16, 24, 40] {
        let rows = 5 * joints;
        let parts = split(rows)?.parts;
        // The same random rows for both: the generator starts anew.
        let (whole, jw, iw) = hub(&mut Random::new(joints as u64), joints, &[rows]);
        let (cut, jc, ic) = hub(&mut Random::new(joints as u64), joints, &parts);
        let mut random = Random::new(99);
        let spokes: Vec<f64> = (0..6 * joints).map(|_| random.between(-1.0, 1.0)).collect();
        let start =
            |n: usize| -> DVector<f64> { DVector::from_iterator(6 * (n + joints), (0..6 * n).map(|_| 0.3).chain(spokes.iter().copied())) };
        let mut velocities = Vec::new();
        let mut took = Vec::new();
        for (matrix, jacobian, inverse, n) in [(&whole, &jw, &iw, 1), (&cut, &jc, &ic, parts.len())] {
            let entries = lower(matrix);
            let clock = Instant::now();
            let factor = InsertedFactor::from_lower(matrix.nrows(), &entries, Order::MinimumDegree)?;
            let v = start(n);
            let right = jacobian * &v;
            let impulses = DVector::from_vec(factor.solve(right.as_slice())?);
            took.push(clock.elapsed().as_secs_f64());
            let change = jacobian.transpose() * impulses;
            let after = DVector::from_fn(v.len(), |i, _| v[i] - inverse[i] * change[i]);
            velocities.push(after);
        }
        // Hub and spokes; of the parts the first stands for all.
        let n = parts.len();
        let hub_apart = (0..6).map(|k| (velocities[0][k] - velocities[1][k]).abs()).fold(0.0, f64::max);
        let spokes_apart = (0..6 * joints).map(|k| (velocities[0][6 + k] - velocities[1][6 * n + k]).abs()).fold(0.0, f64::max);
        worst = worst.max(hub_apart).max(spokes_apart);
        counts.0.push((rows as f64, (lower(&whole).len() - whole.nrows()) as f64));
        counts.1.push((rows as f64, (lower(&cut).len() - cut.nrows()) as f64));
        report.timed(format!("{rows} rows: whole {} ms, split into {n} parts {} ms", digits(1e3 * took[0], 3), digits(1e3 * took[1], 3)));
    }
    report.words(
        "a split body moves like the whole one",
        "the extra joints hold the parts together",
        format!("velocities equal to 1e-9 for hubs of 40, 80, 120 and 200 rows: {}", worst < 1e-9),
        worst < 1e-9,
    );
    let last = (counts.0[3].1, counts.1[3].1);
    report.words(
        "entries of the matrix, one triangle",
        "grow linearly",
        format!("200 rows: {} whole, {} split", last.0, last.1),
        last.1 < last.0,
    );
    report.words(
        "mass of the parts",
        "not given",
        "any positive weights give the same velocities; equal ones here (theory (12.1)-(12.2))".into(),
        true,
    );
    report.words(
        "what the engine does",
        "parts",
        "hubs of trees are nodes of the matrix, (12.11); parts where loops close over the hub or contacts are inserted".into(),
        true,
    );
    report.chart = Chart::new("Entries of one triangle for a hub with hinges", "constraint rows", "entries")
        .with("whole", Style::Both, counts.0)
        .with("split", Style::Both, counts.1);
    Ok(())
}
