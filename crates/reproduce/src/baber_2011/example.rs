//! The example with two compressions.

use super::{E, MU, matrix, rows, start};
use crate::random::Random;
use crate::report::digits;
use crate::{Chart, Failure, Report, Style};
use carom::math::Spatial;
use carom::solve::collision::{CollisionLaw, PathPoint, Side, Terms, collide_contact_under, contact_matrix, trace_contact};
use nalgebra::{Matrix3, SymmetricEigen, Vector3};

/// Half of the last digit of numbers printed with one decimal.
const TENTHS: f64 = 0.05;

pub fn figure_1(report: &mut Report) -> Result<(), Failure> {
    let curve = |f: &dyn Fn(f64) -> f64| (0..=120).map(|i| -2.0 + i as f64 / 30.0).map(|x| (x, f(x))).collect::<Vec<_>>();
    let (cube, other) = (curve(&|x| x * x * x), curve(&|x| x * x * x - 2.0 * x));
    // Signs in order of x: once positive, does it stay so?
    let falls = |points: &[(f64, f64)]| points.windows(2).filter(|w| w[0].1 > 1e-12 && w[1].1 <= 1e-12).count();
    let ends = |points: &[(f64, f64)]| points.last().is_some_and(|p| p.1 > 0.0);
    report.words(
        "both eventually become positive and stay so",
        "yes",
        format!("{} and {} at x = 2", digits(8.0, 2), digits(4.0, 2)),
        ends(&cube) && ends(&other),
    );
    report.words(
        "only x³ stays positive once it is",
        "yes",
        format!("x³ falls back {} times, x³ − 2x {} time, at −√2 < x < 0", falls(&cube), falls(&other)),
        falls(&cube) == 0 && falls(&other) == 1,
    );
    report.chart =
        Chart::new("Once positive, always positive?", "x", "value").with("x³", Style::Line, cube).with("x³ − 2x", Style::Line, other);
    Ok(())
}

fn sorted(m: Matrix3<f64>) -> Vec<f64> {
    let mut values: Vec<f64> = SymmetricEigen::new(m).eigenvalues.iter().copied().collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values
}

pub fn section_1_2(report: &mut Report) -> Result<(), Failure> {
    let inverse = Matrix3::new(9.0, 6.0, -6.0, 6.0, 6.0, -2.0, -6.0, -2.0, 9.0);
    let moments = sorted(inverse);
    report.numbers("eigenvalues of the inverse inertia [1/(kg m²)]", &[17.8, 5.6, 0.5], TENTHS, &moments);
    let inertia = inverse.try_inverse().ok_or("the inverse inertia is singular")?;
    let body = Side::<Spatial>::body(1.0, (inertia + inertia.transpose()) * 0.5, Vector3::new(1.0, 1.0, 1.0), start(), Vector3::zeros());
    let ground = Side::immovable(Vector3::zeros(), Vector3::zeros(), Vector3::zeros());
    let k = contact_matrix(&body, &ground, Vector3::z())?;
    let printed = matrix();
    let upper = |m: &dyn Fn(usize, usize) -> f64| [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].map(|(i, j)| m(i, j));
    report.numbers("K: 11, 12, 13, 22, 23, 33 [1/kg]", &upper(&|i, j| printed[(i, j)]), 1e-11, &upper(&|i, j| k[i][j]));
    let found = sorted(printed);
    report.numbers("eigenvalues of K [1/kg]", &[50.5, 3.5, 1.0], TENTHS, &found);
    let roots = |z: f64| -> Result<usize, Failure> {
        let u = Vector3::new(start().x, start().y, z);
        Ok(trace_contact::<Spatial>(&rows(&printed), &Terms::new(MU, E), u)?.0.phases - 1)
    };
    let (garbled, right) = (roots(-6.22)?, roots(-0.22)?);
    report.differs(
        "u at the start [m/s]",
        "630, e780, e6.22",
        format!("(630, −780, −0.22) gives the three roots of figure 2 ({right} found); −6.22 gives {garbled}"),
        "Section 1.2 starts from u = (630, −780, −0.22)",
        3,
        garbled == 1 && right == 3,
    );
    report.chart = Chart::new("Eigenvalues of the example", "number", "eigenvalue [1/kg, 1/(kg m²)]")
        .with("inverse inertia", Style::Both, moments.iter().enumerate().map(|(i, x)| (i as f64 + 1.0, *x)).collect())
        .with("K", Style::Both, found.iter().enumerate().map(|(i, x)| (i as f64 + 1.0, *x)).collect());
    Ok(())
}

/// Where du_z/dp_z = K₃₃ − μ (K₁₃, K₂₃)·t changes its sign between two impulses: the impulse, and u_z there.
fn extreme(path: &[PathPoint], from: f64, to: f64) -> (f64, f64) {
    let k = matrix();
    let slope = |p: &PathPoint| k.m33 - MU * (k.m13 * p.velocity[0] + k.m23 * p.velocity[1]) / p.velocity[0].hypot(p.velocity[1]);
    let within: Vec<&PathPoint> = path.iter().filter(|p| p.impulse > from && p.impulse < to).collect();
    let turn = within.windows(2).find(|w| slope(w[0]) * slope(w[1]) <= 0.0);
    let Some([a, b]) = turn else { return (f64::NAN, f64::NAN) };
    let share = slope(a) / (slope(a) - slope(b));
    let step = share * (b.impulse - a.impulse);
    (a.impulse + step, a.velocity[2] + 0.5 * slope(a) * step)
}

pub fn figure_2(report: &mut Report) -> Result<(), Failure> {
    let (end, path) = trace_contact::<Spatial>(&rows(&matrix()), &Terms::new(MU, E), start())?;
    report.number("u_z at the start [m/s]", -0.22, 1e-12, path[0].velocity[2]);
    let slope = (path[1].velocity[2] - path[0].velocity[2]) / (path[1].impulse - path[0].impulse);
    report.words("du_z/dp_z at the start", "positive", format!("{} 1/kg", digits(slope, 4)), slope > 0.0);
    let zeros: Vec<f64> = path.iter().filter(|p| p.velocity[2].abs() < 1e-12).map(|p| p.impulse).collect();
    report.numbers("roots of u_z [N s]", &[14.6, 29.8, 56.0], TENTHS, &zeros);
    let (at, height) = extreme(&path, 15.0, 29.0);
    report.number("local maximum at p_z [N s]", 22.5, TENTHS, at);
    let (low, depth) = extreme(&path, 30.0, 55.0);
    report.words(
        "du_z/dp_z then becomes negative",
        "yes",
        format!("from {} m/s to {} m/s at p_z = {}", digits(height, 4), digits(depth, 4), digits(low, 6)),
        depth < 0.0,
    );
    let compressions = end.phases.div_ceil(2);
    report.counted(
        "compressions and decompressions",
        "two and two",
        format!("{compressions} and {}", end.phases - compressions),
        end.phases == 4,
    );
    let phase = |sign: f64| {
        path.iter().map(|p| (p.impulse, if p.velocity[2] * sign >= -1e-12 { p.velocity[2] } else { f64::NAN })).collect::<Vec<_>>()
    };
    let part =
        |sign: f64, from: f64, to: f64| phase(sign).into_iter().filter(|p| p.0 >= from && p.0 <= to && p.1.is_finite()).collect::<Vec<_>>();
    let (a, b, c) = (zeros[0], zeros[1], zeros[2]);
    report.chart = Chart::new("u_z over p_z: two compressions, two decompressions", "p_z [N s]", "u_z [m/s]")
        .colored("compression", Style::Line, 0, part(-1.0, 0.0, a))
        .colored("decompression", Style::Line, 1, part(1.0, a, b))
        .colored("", Style::Line, 0, part(-1.0, b, c))
        .colored("", Style::Line, 1, part(1.0, c, f64::INFINITY))
        .colored("roots", Style::Dots, 5, zeros.iter().map(|p| (*p, 0.0)).collect());
    Ok(())
}

pub fn section_3_4(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(34);
    let (mut gains, mut worst, mut apart): ([usize; 3], [f64; 3], f64) = ([0; 3], [0.0; 3], 0.0);
    let mut shown: [Vec<(f64, f64)>; 3] = Default::default();
    const CASES: usize = 2000;
    for _ in 0..CASES {
        let k = random.definite3();
        let u = random.vector3() - Vector3::z() * 1.2;
        let (mu, e) = (random.between(0.0, 1.2), random.unit());
        let energy = 0.5 * u.dot(&(k.try_inverse().ok_or("singular")? * u));
        for (i, law) in CollisionLaw::ALL.into_iter().enumerate() {
            let end = collide_contact_under::<Spatial>(&rows(&k), &Terms::new(mu, e).under(law), u)?;
            let change = 0.5 * (u + end.velocity).dot(&end.impulse) / energy;
            gains[i] += usize::from(change > 1e-9);
            worst[i] = worst[i].max(change);
            if shown[i].len() < 250 {
                shown[i].push((mu, change));
            }
        }
        let free = CollisionLaw::ALL
            .map(|law| collide_contact_under::<Spatial>(&rows(&k), &Terms::new(0.0, e).under(law), u).map(|end| end.velocity.z));
        let [stronge, newton, poisson] = free;
        let newton = newton?;
        apart = apart.max((stronge? - newton).abs()).max((poisson? - newton).abs());
    }
    report.words(
        "Newton's rule with friction may raise the energy",
        "yes",
        format!("in {} of {CASES} random collisions, by up to {} %", gains[1], digits(100.0 * worst[1], 3)),
        gains[1] > 0,
    );
    report.words("the energy law never does", "guaranteed", format!("in {} of {CASES}", gains[0]), gains[0] == 0);
    report.words(
        "(Poisson's rule, which the source does not discuss)",
        "",
        format!("in {} of {CASES}, by up to {} %", gains[2], digits(100.0 * worst[2], 3)),
        true,
    );
    report.words(
        "without friction all rules agree",
        "the same results",
        format!("largest difference below 1e-12 m/s: {}", apart < 1e-12),
        apart < 1e-12,
    );
    let [stronge, newton, poisson] = shown;
    report.chart = Chart::new("Energy changed by a collision, by the rule that ends it", "coefficient of friction", "change / energy of u")
        .with("energy law", Style::Dots, stronge)
        .with("Newton's rule", Style::Dots, newton)
        .with("Poisson's rule", Style::Dots, poisson);
    Ok(())
}
