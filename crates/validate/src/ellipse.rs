//! Impacts of an ellipse on a wall in the plane (Fazeli, Donlon, Drumwright and Rodriguez 2017), each by the energy law with two numbers for all.

use crate::chart::histogram;
use crate::reading::{self, array, fault, lies_within};
use crate::section::{Picture, Section, Table, Target};
use crate::{Trouble, median, spread};
use carom::math::{Planar, Space, Vector};
use carom::record::read_arrays;
use carom::solve::collision::{CollisionLaw, Side, Terms, Way, collide_under};
use carom_reproduce::{Chart, Style};
use std::path::Path;
use std::time::Instant;

/// Mass \[kg\] and radius of gyration \[m\] of the ellipse.
const MASS: f64 = 0.0364;
const GYRATION: f64 = 0.0192;
/// Predictions that come with the data, in their order.
const MODELS: [&str; 6] =
    ["Drumwright-Shell", "Anitescu-Potra with Poisson", "Anitescu-Potra with Newton", "Mirtich", "Wang-Mason", "Whittaker"];
/// Most that the median error may be.
const MEDIAN_MOST: f64 = 0.085;
/// Fewest impacts of a file.
const LEAST: usize = 8;
/// Distance of the contact from the centre: between the half axes, about \[m\].
const LEVER: [f64; 2] = [0.02, 0.04];
/// Part of the velocity before that a free impulse may leave, in the middle.
const UNEXPLAINED: f64 = 0.15;
/// How finely the search for the two numbers ends.
const FINE: f64 = 1e-3;

/// One impact: velocities before and after, and the contact point seen from the centre.
struct Impact {
    before: [f64; 3],
    after: [f64; 3],
    lever: [f64; 2],
}

/// Length of a velocity in the metric of the mass.
fn size(v: [f64; 3]) -> f64 {
    (v[0] * v[0] + v[1] * v[1] + GYRATION * GYRATION * v[2] * v[2]).sqrt()
}

fn less(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

impl Impact {
    fn error(&self, velocity: [f64; 3]) -> f64 {
        size(less(velocity, self.after)) / size(self.before)
    }

    /// The velocity after it by a law; with `side` -1 the x axis of the velocities runs against that of the lever.
    fn struck(&self, law: CollisionLaw, restitution: f64, friction: f64, side: f64) -> Result<[f64; 3], Trouble> {
        let inertia = Planar::inertia_from_rows(&[MASS * GYRATION * GYRATION]);
        let arm = Vector::from_slice(&[self.lever[0], -self.lever[1]]);
        let (lin, spin) = (Vector::from_slice(&[side * self.before[0], self.before[1]]), Vector::from_slice(&self.before[2..]));
        let body = Side::<Planar>::body(MASS, inertia, arm, lin, spin);
        let wall = Side::<Planar>::immovable(Vector::zero(), Vector::zero(), Vector::zero());
        let terms = Terms { friction, restitution, law, tolerance: 1e-10 };
        let end = collide_under(&body, &wall, Vector::from_slice(&[0.0, 1.0]), &terms, Way::Adaptive, None);
        let end = end.map_err(|error| Trouble::Failed(error.to_string()))?;
        Ok([side * end.velocity_a[0], end.velocity_a[1], end.spin_a[0]])
    }
}

fn errors(impacts: &[&Impact], law: CollisionLaw, [e, mu]: [f64; 2], side: f64) -> Result<Vec<f64>, Trouble> {
    impacts.iter().map(|impact| Ok(impact.error(impact.struck(law, e, mu, side)?))).collect()
}

/// Restitution and friction with the least mean error: a grid, then smaller and smaller crosses about the best.
fn fit(impacts: &[&Impact], law: CollisionLaw, side: f64) -> Result<[f64; 2], Trouble> {
    let cost = |x: [f64; 2]| errors(impacts, law, x, side).map(|all| spread(&all)[0]);
    let mut best = ([0.5, 0.2], f64::INFINITY);
    for e in 1..10 {
        for mu in 0..10 {
            let x = [0.1 * f64::from(e), 0.05 * f64::from(mu)];
            let here = cost(x)?;
            if here < best.1 {
                best = (x, here);
            }
        }
    }
    let mut step = 0.05;
    while step > FINE {
        let mut moved = false;
        for (k, sign) in [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)] {
            let mut x = best.0;
            x[k] = (x[k] + sign * step).clamp(0.0, 1.0);
            let here = cost(x)?;
            if here < best.1 {
                (best, moved) = ((x, here), true);
            }
        }
        if !moved {
            step /= 2.0;
        }
    }
    Ok(best.0)
}

/// What a free impulse at the contact point leaves unexplained: the two numbers of the impulse chosen for every impact.
fn free_impulse(impact: &Impact, side: f64) -> f64 {
    let arm = [impact.lever[0], -impact.lever[1]];
    // Velocity changes per unit impulse along x and y, in coordinates in which the metric is the identity.
    let column = |n: [f64; 2]| [n[0], n[1], (arm[0] * n[1] - arm[1] * n[0]) / GYRATION];
    let (a, b) = (column([1.0, 0.0]), column([0.0, 1.0]));
    let d = less(impact.after, impact.before);
    let d = [side * d[0], d[1], GYRATION * d[2]];
    let dot = |x: [f64; 3], y: [f64; 3]| x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    let (aa, ab, bb, ad, bd) = (dot(a, a), dot(a, b), dot(b, b), dot(a, d), dot(b, d));
    let det = aa * bb - ab * ab;
    let (p, q) = ((bb * ad - ab * bd) / det, (aa * bd - ab * ad) / det);
    let left = [0, 1, 2].map(|k| d[k] - p * a[k] - q * b[k]);
    dot(left, left).sqrt() / size(impact.before)
}

/// The impacts of a file, and the predictions that came with them.
fn read(path: &Path) -> Result<(Vec<Impact>, Vec<f64>), Trouble> {
    let arrays = read_arrays(path).map_err(|error| Trouble::Failed(error.to_string()))?;
    let (shape, before) = array(&arrays, path, "before", &[0, 6])?;
    let n = shape[0];
    let (_, after) = array(&arrays, path, "after", &[n, 6])?;
    let (_, lever) = array(&arrays, path, "lever", &[n, 2])?;
    let (_, models) = array(&arrays, path, "models", &[n, 3 * MODELS.len()])?;
    if n < LEAST {
        return Err(fault(path, &format!("\"before\" has {n} impacts; half of them are fitted and half judged: give at least {LEAST}")));
    }
    let three = |row: &[f64]| [row[0], row[1], row[2]];
    let impacts: Vec<Impact> = (0..n)
        .map(|i| Impact { before: three(&before[6 * i + 3..]), after: three(&after[6 * i + 3..]), lever: [lever[2 * i], lever[2 * i + 1]] })
        .collect();
    if let Some(row) = impacts.iter().position(|i| i.before[1] >= 0.0) {
        return Err(fault(path, &format!("\"before\", row {row}, column 4: {} m/s does not approach the wall", impacts[row].before[1])));
    }
    let levers: Vec<f64> = impacts.iter().map(|i| i.lever[0].hypot(i.lever[1])).collect();
    lies_within(&levers, LEVER, path, "\"lever\": distance of the contact from the centre [m], in the middle,")?;
    // Whatever the law, one impulse at the point makes the change of velocity; wrong units of a velocity or a rate would not let it.
    let left = |side: f64| median(&impacts.iter().map(|i| free_impulse(i, side)).collect::<Vec<_>>());
    let least = left(-1.0).min(left(1.0));
    if least > UNEXPLAINED {
        let what = format!(
            "no impulse at the point explains \"before\" and \"after\" ({least:.2} is left): other units, or another order of columns?"
        );
        return Err(fault(path, &what));
    }
    Ok((impacts, models))
}

/// Runs the set.
pub fn run(data: Option<&Path>) -> Result<Section, Trouble> {
    let clock = Instant::now();
    let (mut impacts, mut models) = (Vec::new(), Vec::new());
    for path in reading::files(data, "ellipse")? {
        let (some, shipped) = read(&path)?;
        impacts.extend(some);
        models.extend(shipped);
    }
    let n = impacts.len();
    let three = |row: &[f64]| [row[0], row[1], row[2]];
    let half = |parity: usize| impacts.iter().skip(parity).step_by(2).collect::<Vec<_>>();
    let (train, test) = (half(0), half(1));

    let mut out = Section::new("ellipse", "Impacts of an ellipse");
    out.about.push(format!(
        "{n} measured impacts of an ellipse (70 x 50 mm, 36.4 g) on a wall in the plane, from `mcubelab/planar-impact-dataset` (no licence is stated: the data are \
         read from a folder and are not part of this package). One restitution and one friction for all impacts, fitted on every other impact and judged on the \
         rest. The error of an impact is |v - v measured| / |v before| in the metric of the mass. In the data the x axis of the contact point \
         and of the angle is mirrored against that of the velocities: as shipped friction would do positive work on average, and even a free impulse at the point \
         explains the data badly. Both signs are shown; the predictions that come with the data stand below."
    ));
    let mut table = Table::new(&["law", "lever", "fitted e, mu", "median error", "mean error"]);
    let mut found = Vec::new();
    for (law, name) in
        [(CollisionLaw::Energy, "carom, energy law"), (CollisionLaw::Poisson, "carom, Poisson"), (CollisionLaw::Newton, "carom, Newton")]
    {
        for (side, words) in [(-1.0, "x mirrored"), (1.0, "as shipped")] {
            if side > 0.0 && law != CollisionLaw::Energy {
                continue;
            }
            let x = fit(&train, law, side)?;
            let all = errors(&test, law, x, side)?;
            table.row(vec![
                name.into(),
                words.into(),
                format!("{:.3}, {:.3}", x[0], x[1]),
                format!("{:.3}", median(&all)),
                format!("{:.3}", spread(&all)[0]),
            ]);
            if law == CollisionLaw::Energy && side < 0.0 {
                out.targets.push(Target {
                    what: "median error, energy law, x mirrored".into(),
                    found: median(&all),
                    least: 0.0,
                    most: MEDIAN_MOST,
                });
                found = all;
            }
        }
    }
    for (side, words) in [(-1.0, "x mirrored"), (1.0, "as shipped")] {
        let all: Vec<f64> = test.iter().map(|impact| free_impulse(impact, side)).collect();
        table.row(vec![
            "a free impulse at the point".into(),
            words.into(),
            "-".into(),
            format!("{:.3}", median(&all)),
            format!("{:.3}", spread(&all)[0]),
        ]);
    }
    let mut shipped_best: Option<Vec<f64>> = None;
    for (k, name) in MODELS.iter().enumerate() {
        let all: Vec<f64> = (1..n).step_by(2).map(|i| impacts[i].error(three(&models[18 * i + 3 * k..]))).collect();
        table.row(vec![
            format!("{name}, shipped"),
            "as shipped".into(),
            "-".into(),
            format!("{:.3}", median(&all)),
            format!("{:.3}", spread(&all)[0]),
        ]);
        if shipped_best.as_ref().is_none_or(|best| median(&all) < median(best)) {
            shipped_best = Some(all);
        }
    }
    out.tables.push((String::new(), table));
    let chart = Chart::new("Errors of the impacts", "error; the last bin holds all above", "impacts")
        .with("carom, energy law", Style::Line, histogram(&found, 0.6, 30))
        .with("best shipped prediction", Style::Dashed, histogram(&shipped_best.unwrap_or_default(), 0.6, 30));
    out.pictures.push(Picture::chart("ellipse-histogram", &chart));
    out.timings.push(format!("{n} impacts, fitted and judged in {:.1} s", clock.elapsed().as_secs_f64()));
    Ok(out)
}
