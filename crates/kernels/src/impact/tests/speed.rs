//! Times, printed with what they bought; run with `--ignored --nocapture` and optimisation.

use super::support::*;
use crate::impact::*;
use carom_solve::impact::*;
use std::time::Instant;

/// Processor time of this thread \[s\], so that a busy machine says the same; the clock where there is no such count.
fn now() -> f64 {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = counted.and_then(|text| text.split(' ').next().and_then(|first| first.parse::<f64>().ok()));
    nanoseconds.map_or_else(|| Instant::now().elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

/// Median time of a call \[µs\].
fn median(repeats: usize, mut call: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..repeats)
        .map(|_| {
            let start = now();
            call();
            (now() - start) * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[repeats / 2]
}

#[test]
#[ignore = "prints times"]
fn medians() {
    let (mass, normals, before, _) = pool_break();
    let m = normals.len();
    let gram = normals.whitened(&mass).gram();
    let dense: Vec<f64> = (0..m * m).map(|k| gram.view().entry(m, k / m, k % m)).collect();
    let approach: Vec<f64> = (0..m).map(|i| normals.dot(i, &before)).collect();
    let speed = (2.0 * mass.energy(&before)).sqrt();
    let mut work = Workspace::new();
    for (name, view) in [("dense", GramView::Dense(&dense)), ("sparse", gram.view())] {
        let space = ContactSpace { contacts: m, gram: view, rows: None, approach: &approach, speed };
        for lineality in [false, true] {
            let settings = Settings { lineality, ..Settings::default() };
            let mut iterations = 0;
            let time = median(2001, || {
                iterations = resolve(&space, Restitution::Uniform(1.0), None, &settings, &mut work).unwrap().iterations;
            });
            println!("pool break, {m} contacts, {name}, lineality {lineality}: {time:.1} us, {iterations} reflections");
        }
    }
    let time = median(501, || drop(impacts(&mass, &normals, &before, &ImpactOptions::default()).unwrap()));
    println!("pool break on arrays: {time:.1} us");
    for (name, (mass, normals)) in [
        ("wall", brick_wall(8, 8)),
        ("wall", brick_wall(16, 16)),
        ("wall", brick_wall(23, 23)),
        ("discs", disc_pile(8, 8)),
        ("discs", disc_pile(16, 16)),
        ("discs", disc_pile(27, 26)),
    ] {
        let mut random = Random(11);
        let falling: Vec<f64> = (0..mass.dimension()).map(|_| random.within(-1.0, 1.0)).collect();
        for c in [0.0, 1.0] {
            let options = ImpactOptions { restitution: Restitution::Uniform(c), ..ImpactOptions::default() };
            let start = now();
            let impact = impacts(&mass, &normals, &falling, &options).unwrap();
            println!(
                "{name} of {} contacts, restitution {c}: {:.1} ms, {} reflections, {:?}, closing {:.1e}",
                normals.len(),
                (now() - start) * 1e3,
                impact.iterations,
                impact.status,
                impact.residual
            );
        }
    }
}
/// One generalized reflection of a pile of m contacts grows no faster than m².
#[test]
#[ignore = "prints times"]
fn growth_of_one_reflection() {
    for build in [brick_wall, disc_pile] {
        let mut last: Option<(usize, f64)> = None;
        for side in [12, 17, 24] {
            let (mass, normals) = build(side, side);
            let m = normals.len();
            let gram = normals.whitened(&mass).gram();
            let mut loaded = Gram::default();
            loaded.load(&gram.view(), m);
            let mut random = Random(11);
            let falling: Vec<f64> = (0..mass.dimension()).map(|_| random.within(-1.0, 1.0)).collect();
            let linear: Vec<f64> = (0..m).map(|i| normals.dot(i, &falling) * loaded.inverse_scale(i)).collect();
            let everyone: Vec<usize> = (0..m).collect();
            let mut solver = carom_solve::impact::cone::ConeSolver::default();
            let mut impulses = vec![0.0; m];
            let time = median(5, || {
                solver.begin(m);
                solver.solve(&loaded, &everyone, &linear, 0.0, &mut impulses);
            });
            let growth = last.map_or(0.0, |(n, before): (usize, f64)| (time / before).ln() / (m as f64 / n as f64).ln());
            println!("{m} contacts: {:.1} ms, growth m^{growth:.2}", time / 1e3);
            last = Some((m, time));
        }
    }
}

/// A packing of balls in space struck at one instant: by one ball, by its fall, and everywhere.
#[test]
#[ignore = "prints times"]
fn packings_at_size() {
    let sides: Vec<usize> = std::env::var("SIDES").map_or(vec![9], |text| text.split(',').map(|side| side.parse().unwrap()).collect());
    for side in sides {
        let (mass, normals, tangents) = ball_packing(side);
        let m = normals.len();
        let mut rows = normals.clone();
        rows.append(&tangents);
        let (white, white_normals) = (rows.whitened(&mass), normals.whitened(&mass));
        let gram = white.gram();
        let normal_gram = white_normals.gram();
        let mut random = Random(11);
        let mut struck = vec![0.0; mass.dimension()];
        let top = side * side * side - 1 - side * side / 2;
        struck[6 * top..6 * top + 3].copy_from_slice(&[0.3, 0.2, -1.0]);
        let mut fallen = vec![0.0; mass.dimension()];
        (0..side * side * side).for_each(|ball| fallen[6 * ball + 2] = -1.0);
        let everywhere: Vec<f64> = (0..mass.dimension()).map(|_| random.within(-1.0, 1.0)).collect();
        for (name, velocity) in [("struck", struck), ("fallen", fallen), ("everywhere", everywhere)] {
            let approach: Vec<f64> = (0..rows.len()).map(|i| rows.dot(i, &velocity)).collect();
            let speed = (2.0 * mass.energy(&velocity)).sqrt();
            let mixed: Vec<f64> = (0..m).map(|i| 0.2 + 0.1 * (i % 7) as f64).collect();
            let coefficients = vec![0.4; m];
            for (law, restitution, rough) in [
                ("plastic", Restitution::Uniform(0.0), false),
                ("mixed", Restitution::PerContact(&mixed), false),
                ("elastic", Restitution::Uniform(1.0), false),
                ("mixed, rough", Restitution::PerContact(&mixed), true),
            ] {
                let (view, rows, given) = if rough { (gram.view(), 3 * m, &white) } else { (normal_gram.view(), m, &white_normals) };
                let space = ContactSpace { contacts: m, gram: view, rows: Some(given), approach: &approach[..rows], speed };
                let friction = rough.then_some(Friction { coefficients: &coefficients, staggered: false });
                let mut work = Workspace::new();
                let mut last = None;
                let time = median(3, || last = Some(resolve(&space, restitution, friction, &Settings::default(), &mut work).unwrap()));
                let report = last.unwrap();
                println!(
                    "{m} contacts, {name}, {law}: {:.1} ms, {} reflections, {} sweeps, {:?}, closing {:.1e}, energy {:.3e}",
                    time / 1e3,
                    report.iterations,
                    report.friction_sweeps,
                    report.status,
                    report.residual,
                    report.energy_change,
                );
            }
        }
    }
}
