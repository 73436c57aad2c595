//! The collision matrix, the rays of constant sliding, and what they prove.

use super::{E, MU, RAY_MU, matrix, ray_matrix, rows, start};
use crate::random::Random;
use crate::report::digits;
use crate::{Chart, Failure, Report, Style};
use carom::math::Spatial;
use carom::solve::collision::ray::Origin;
use carom::solve::collision::{Mode, Side, Status, Terms, collide, collide_spatial, contact_matrix, trace_contact};
use nalgebra::{Matrix3, Rotation3, SymmetricEigen, Unit, Vector2, Vector3};
use std::f64::consts::PI;

/// Half a degree, the last digit of the angles printed.
const DEGREE: f64 = 0.5;

/// Rate of turn f of a direction, (6.13), and rate g of its length.
fn rates(k: &Matrix3<f64>, mu: f64, angle: f64) -> (f64, f64) {
    let t = Vector3::new(-mu * angle.cos(), -mu * angle.sin(), 1.0);
    let du = k * t;
    (angle.cos() * du.y - angle.sin() * du.x, angle.cos() * du.x + angle.sin() * du.y)
}

/// Angles of the rays of constant sliding \[rad\], by the sign changes of f.
fn rays(k: &Matrix3<f64>, mu: f64) -> Vec<f64> {
    const CUTS: usize = 3600;
    let turn = |angle: f64| rates(k, mu, angle).0;
    let mut found = Vec::new();
    for i in 0..CUTS {
        let (mut a, mut b) = ((i as f64 - 0.37) * 2.0 * PI / CUTS as f64, (i as f64 + 0.63) * 2.0 * PI / CUTS as f64);
        if turn(a).signum() == turn(b).signum() {
            continue;
        }
        for _ in 0..60 {
            let middle = 0.5 * (a + b);
            if turn(middle).signum() == turn(a).signum() { a = middle } else { b = middle }
        }
        found.push((0.5 * (a + b)).rem_euclid(2.0 * PI));
    }
    found
}

/// Real roots p = tan(angle/2) of the quartic of section 3.8, as angles; by the eigenvalues of its companion matrix.
fn quartic(k: &Matrix3<f64>, mu: f64) -> Vec<f64> {
    let a = [
        mu * k.m12 - k.m23,
        2.0 * k.m13 + 2.0 * mu * k.m22 - 2.0 * mu * k.m11,
        -6.0 * mu * k.m12,
        2.0 * k.m13 + 2.0 * mu * k.m11 - 2.0 * mu * k.m22,
        mu * k.m12 + k.m23,
    ];
    let degree = (0..5).rev().find(|&i| a[i].abs() > 1e-12 * a.iter().fold(0.0, |m: f64, x| m.max(x.abs()))).unwrap_or(0);
    if degree == 0 {
        return Vec::new();
    }
    let companion =
        nalgebra::DMatrix::from_fn(
            degree,
            degree,
            |i, j| {
                if j + 1 == degree { -a[i] / a[degree] } else { f64::from(u8::from(i == j + 1)) }
            },
        );
    companion
        .complex_eigenvalues()
        .iter()
        .filter(|z| z.im.abs() < 1e-6 * (1.0 + z.re.abs()))
        .map(|z| (2.0 * z.re.atan()).rem_euclid(2.0 * PI))
        .collect()
}

pub fn section_3_2(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(32);
    let (mut turned, mut turns, mut smallest, mut balance, mut printed_balance): (f64, f64, f64, f64, f64) =
        (0.0, 0.0, f64::INFINITY, 0.0, 0.0);
    let mut ratios = Vec::new();
    for number in 0..300 {
        let f = random.vector3().normalize();
        // The rotation of section 3.1, by the formula of appendix A.
        let across = f.cross(&Vector3::z());
        let (n, cos, sin) = (across / across.norm(), f.z, across.norm());
        let cross = n.cross_matrix();
        let r = n * n.transpose() * (1.0 - cos) + Matrix3::identity() * cos + cross * sin;
        turned = turned.max((r * f - Vector3::z()).norm());
        turns = turns.max((r - Rotation3::from_axis_angle(&Unit::new_normalize(n), sin.atan2(cos)).matrix()).norm());
        let mut side = |approach: f64| {
            let spin = random.vector3();
            Side::<Spatial>::body(
                random.between(0.2, 3.0),
                random.definite3() + Matrix3::identity(),
                random.vector3(),
                random.vector3() + f * approach,
                spin,
            )
        };
        let (a, b) = (side(-2.0), side(1.0));
        let k = contact_matrix(&a, &b, f)?;
        let eigen = SymmetricEigen::new(Matrix3::from_fn(|i, j| k[i][j])).eigenvalues;
        smallest = smallest.min(eigen.min());
        ratios.push((number as f64, eigen.min() / eigen.max()));
        // The balance of section 3.2: the angular momentum that b takes is -r_B x p, not -r_A x p.
        let end = collide(&a, &b, f, random.unit(), random.unit(), 1e-10)?;
        let change = b.inertia * (end.spin_b - b.spin);
        let arm = |arm: Vector3<f64>| (change + arm.cross(&end.impulse)).norm() / end.impulse.norm();
        balance = balance.max(arm(b.arm));
        printed_balance = printed_balance.max(arm(a.arm));
    }
    // Where f is the axis itself n is 0/0: any frame that holds f serves, and so does the engine's.
    let mut upside: f64 = 0.0;
    for _ in 0..60 {
        let mut side = |approach: f64| {
            let (inertia, spin) = (random.definite3() + Matrix3::identity(), random.vector3());
            (random.between(0.2, 3.0), inertia, random.vector3(), random.vector3() + Vector3::z() * approach, spin)
        };
        let (a, b) = (side(-2.0), side(1.0));
        let (e, mu) = (random.unit(), random.unit());
        // The same collision seen upside down: turned about x by a half turn.
        let turn = Matrix3::from_diagonal(&Vector3::new(1.0, -1.0, -1.0));
        let seen = |(m, i, r, v, w): (f64, Matrix3<f64>, Vector3<f64>, Vector3<f64>, Vector3<f64>)| {
            Side::<Spatial>::body(m, turn * i * turn, turn * r, turn * v, turn * w)
        };
        let plain = |(m, i, r, v, w): (f64, Matrix3<f64>, Vector3<f64>, Vector3<f64>, Vector3<f64>)| Side::<Spatial>::body(m, i, r, v, w);
        let up = collide(&plain(a), &plain(b), Vector3::z(), e, mu, 1e-12)?;
        let down = collide(&seen(a), &seen(b), -Vector3::z(), e, mu, 1e-12)?;
        upside = upside.max((turn * down.impulse - up.impulse).norm() / (1.0 + up.impulse.norm()));
    }
    let wall = Side::<Spatial>::immovable(Vector3::zeros(), Vector3::zeros(), Vector3::zeros());
    let moving = Side::<Spatial>::immovable(Vector3::zeros(), -Vector3::z(), Vector3::zeros());
    let refused = collide(&moving, &wall, Vector3::z(), 0.5, 0.5, 1e-10).is_err();
    report.words(
        "3.1: n = f × (0, 0, 1) / |f × (0, 0, 1)|",
        "undefined for f = ±(0, 0, 1)",
        format!(
            "60 collisions along (0, 0, 1), and the same upside down along (0, 0, −1), agree to 1e-8: {}; two immovable bodies (K = 0) are refused: {refused}",
            upside < 1e-8
        ),
        upside < 1e-8 && refused,
    );
    // The middle vector of dp/dp_z: with its third component du_z/dp_z is K₃·(−μ u_t/|u_t|, 1).
    let (k, u) = (matrix(), start());
    let rise = |third: f64| k.m33 * third - MU * (k.m13 * u.x + k.m23 * u.y) / u.x.hypot(u.y);
    let path = trace_contact::<Spatial>(&rows(&k), &Terms::new(MU, E), u)?.1;
    let traced = (path[1].velocity[2] - path[0].velocity[2]) / (path[1].impulse - path[0].impulse);
    report.differs(
        "3.3: the middle vector of dp/dp_z",
        "two components",
        format!(
            "without the third, dp_z/dt, du_z/dp_z of the example begins with {} 1/kg; with it {} 1/kg, as it is traced to 1e-3: {}",
            digits(rise(0.0), 4),
            digits(rise(1.0), 4),
            (traced - rise(1.0)).abs() < 1e-3
        ),
        "Section 3.3 lost the third component dp_z/dt",
        0,
        rise(0.0) < 0.0 && rise(1.0) > 0.0 && (traced - rise(1.0)).abs() < 1e-3,
    );
    report.words("R turns f to (0, 0, 1)", "R f = (0, 0, 1)", format!("off by less than 1e-13: {}", turned < 1e-13), turned < 1e-13);
    report.words(
        "appendix A: R is the turn about n by θ",
        "(1 − cos θ) n nᵀ + cos θ 1 + sin θ ñ",
        format!("equal to 1e-13: {}", turns < 1e-13),
        turns < 1e-13,
    );
    report.words(
        "appendix B: K is positive definite",
        "always",
        format!("smallest eigenvalue of 300 pairs of bodies {} 1/kg", digits(smallest, 3)),
        smallest > 0.0,
    );
    report.differs(
        "angular balance of B",
        "−r_A × p = I_B (ω_B − ω_0B)",
        format!("wrong by up to {} of |p|; with r_B by less than 1e-12", digits(printed_balance, 2)),
        "angular balance of B uses r_B",
        0,
        balance < 1e-12 && printed_balance > 0.1,
    );
    report.chart =
        Chart::new("K of random pairs of bodies: smallest over largest eigenvalue", "pair", "ratio").with("pairs", Style::Dots, ratios);
    Ok(())
}

pub fn figure_4(report: &mut Report) -> Result<(), Failure> {
    let (k, mu) = (ray_matrix(), RAY_MU);
    let inverse = k.try_inverse().ok_or("singular")? * 76.0;
    let upper = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].map(|(i, j)| inverse[(i, j)]);
    report.numbers("76 K⁻¹: 11, 12, 13, 22, 23, 33", &[4.0, 6.0, -4.0, 199.0, -120.0, 80.0], 1e-9, &upper);
    let (left, right) = (inverse.m13.powi(2) + inverse.m23.powi(2), mu * mu * inverse.m33.powi(2));
    report.words(
        "sticking is unstable",
        "((K⁻¹)₁₃)² + ((K⁻¹)₂₃)² > μ² ((K⁻¹)₃₃)²",
        format!("{} > {}", digits(left / 5776.0, 4), digits(right / 5776.0, 4)),
        left > right,
    );
    let angles: Vec<f64> = rays(&k, mu).iter().map(|a| a.to_degrees()).collect();
    report.numbers("rays of constant sliding [°]", &[87.0, 209.0, 281.0, 323.0], DEGREE, &angles);
    let diverging = angles.iter().filter(|a| rates(&k, mu, a.to_radians()).1 > 0.0).count();
    report.counted(
        "diverging rays among them",
        "the one at 87°",
        format!("{diverging}, at {}°", digits(angles[0], 4)),
        diverging == 1 && rates(&k, mu, angles[0].to_radians()).1 > 0.0,
    );
    let mut chart = Chart::new("Sixteen trajectories of (u_x, u_y), μ = 0.7", "u_x / r", "u_y / r").square();
    let (mut origin, mut worst, mut scaled): (Vec<usize>, f64, f64) = (Vec::new(), 0.0, 0.0);
    for n in 0..16 {
        let angle = 2.0 * PI * n as f64 / 16.0;
        let run = |r: f64| {
            // So much approach that the whole trajectory is seen before the collision ends.
            let u = Vector3::new(r * angle.cos(), r * angle.sin(), -4.0 * r);
            trace_contact::<Spatial>(&rows(&k), &Terms::new(mu, 0.0), u)
        };
        let (_, path) = run(1.0)?;
        let (_, twice) = run(2.0)?;
        let stop = path.iter().position(|p| p.velocity[0].hypot(p.velocity[1]) < 1e-9);
        // What leaves the picture is on the ray by then.
        let shown = |p: &(f64, f64)| p.0.hypot(p.1) < 1.7;
        let points: Vec<(f64, f64)> =
            path[..=stop.unwrap_or(path.len() - 1)].iter().map(|p| (p.velocity[0], p.velocity[1])).take_while(shown).collect();
        if stop.is_some() {
            origin.push(n);
        } else {
            let last = path.last().ok_or("no path")?;
            worst = worst.max((last.velocity[1].atan2(last.velocity[0]).to_degrees() - angles[0]).abs());
        }
        for (a, b) in path.iter().zip(&twice) {
            let apart = Vector2::new(2.0 * a.velocity[0] - b.velocity[0], 2.0 * a.velocity[1] - b.velocity[1]).norm();
            scaled = scaled.max(apart);
        }
        chart = chart.colored(if n == 0 { "trajectories" } else { "" }, Style::Line, if stop.is_some() { 0 } else { 1 }, points);
    }
    report.counted(
        "trajectories that end at the origin",
        "the 5 at the bottom",
        format!("{}: n = {origin:?}", origin.len()),
        origin == [10, 11, 12, 13, 14],
    );
    report.counted(
        "the others converge to the ray at",
        "87°",
        format!("within {}° of {}° when they end", digits(worst, 2), digits(angles[0], 4)),
        worst < 6.0,
    );
    let (low, high) = (angles[1], angles[3]);
    let inside = (0..16).all(|n| origin.contains(&n) == (low..high).contains(&(22.5 * n as f64)));
    report.numbers("the blue region lies between the rays at [°]", &[209.0, 323.0], DEGREE, &[low, high]);
    report.words("all starts of the blue region, and only they, reach the origin", "yes", format!("{inside} for the sixteen"), inside);
    report.words("r = 2 looks the same, scaled by 2", "yes", format!("largest difference below 1e-9: {}", scaled < 1e-9), scaled < 1e-9);
    for (i, angle) in angles.iter().enumerate() {
        let (sin, cos) = angle.to_radians().sin_cos();
        chart = chart.colored(if i == 0 { "rays" } else { "" }, Style::Dashed, 5, vec![(0.0, 0.0), (1.35 * cos, 1.35 * sin)]);
    }
    report.chart =
        chart.colored("starts", Style::Dots, 5, (0..16).map(|n| (2.0 * PI * n as f64 / 16.0).sin_cos()).map(|(s, c)| (c, s)).collect());
    Ok(())
}

pub fn section_3_8(report: &mut Report) -> Result<(), Failure> {
    let same = |a: &[f64], b: &[f64]| {
        a.iter()
            .map(|x| b.iter().map(|y| (Rotation3::from_axis_angle(&Vector3::z_axis(), x - y)).angle()).fold(f64::INFINITY, f64::min))
            .fold(0.0, f64::max)
    };
    let found = rays(&ray_matrix(), RAY_MU);
    let roots = quartic(&ray_matrix(), RAY_MU);
    report.words(
        "roots of the quartic are the rays of figure 4",
        "yes",
        format!("{} roots, equal to 1e-9: {}", roots.len(), same(&found, &roots) < 1e-9),
        roots.len() == 4 && same(&found, &roots) < 1e-9,
    );
    let origin = Origin::new(&ray_matrix()).leave(RAY_MU);
    let monotone = origin.tangential[1].atan2(origin.tangential[0]);
    report.number("the diverging ray by |(λ + μM)⁻¹c| = 1 [°]", 87.0, DEGREE, monotone.to_degrees());
    // a_4 = 0: the quartic has only three roots left, and θ = π is the fourth ray.
    let mut lost = ray_matrix();
    lost.m12 = -lost.m23 / RAY_MU * 0.5;
    lost.m21 = lost.m12;
    lost.m23 = -RAY_MU * lost.m12;
    lost.m32 = lost.m23;
    let (all, kept) = (rays(&lost, RAY_MU), quartic(&lost, RAY_MU));
    let has_pi = all.iter().any(|a| (a - PI).abs() < 1e-9);
    report.words(
        "if a₄ = 0 then θ = π is also a solution",
        "yes",
        format!("{} rays, {} roots of the quartic, a ray at π: {has_pi}", all.len(), kept.len()),
        has_pi && all.len() == kept.len() + 1,
    );
    let mut random = Random::new(38);
    let (mut unstable, mut unique, mut rising) = (0, 0, 0);
    let mut curve = Vec::new();
    for _ in 0..2000 {
        let (k, mu) = (random.definite3(), random.between(0.05, 1.0));
        let ray = Origin::new(&k).leave(mu);
        if ray.stable {
            continue;
        }
        unstable += 1;
        unique += usize::from(rays(&k, mu).iter().filter(|a| rates(&k, mu, **a).1 > 0.0).count() == 1);
        rising += usize::from(ray.normal > 0.0);
    }
    report.words(
        "3.10: unstable sticking has exactly one diverging ray",
        "always",
        format!("{unique} of {unstable} random matrices"),
        unique == unstable && unstable > 200,
    );
    report.words("3.9: du_z/dp_z > 0 on it", "always", format!("{rising} of {unstable}"), rising == unstable);
    let (m, c) = (ray_matrix().fixed_view::<2, 2>(0, 0).into_owned(), Vector2::new(1.0, 6.0));
    for i in 0..=80 {
        let growth = i as f64 / 10.0;
        let solved = (nalgebra::Matrix2::identity() * growth + m * RAY_MU).try_inverse().ok_or("singular")? * c;
        curve.push((growth, solved.norm()));
    }
    let falls = curve.windows(2).all(|w| w[1].1 < w[0].1);
    report.words(
        "3.10: |N_λ⁻¹ (K₁₃, K₂₃)| passes 1 once",
        "from above 1 to 0",
        format!("falls strictly: {falls}"),
        falls && curve[0].1 > 1.0,
    );
    report.differs(
        "3.10, end of the proof",
        "the right hand side is positive, the left negative",
        "the left is positive (M is definite), the right negative; the contradiction stands".to_string(),
        "the signs at the end of section 3.10 are the other way round",
        0,
        SymmetricEigen::new(m).eigenvalues.min() > 0.0,
    );
    report.chart = Chart::new("The diverging ray: |(λ + μM)⁻¹ c| = 1", "λ [1/kg]", "norm").with("norm", Style::Line, curve).with(
        "one",
        Style::Dashed,
        vec![(0.0, 1.0), (8.0, 1.0)],
    );
    Ok(())
}

pub fn section_3_11(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(311);
    let (mut ended, mut most, mut monotone, mut count) = (0, 0, 0, 0);
    const CASES: usize = 3000;
    for _ in 0..CASES {
        let (k, mu, e) = (random.definite3(), random.between(0.0, 2.0), random.unit());
        let u = random.vector3() * 5.0 - Vector3::z() * 5.5;
        let end = collide_spatial(k, mu, e, u, 1e-10)?;
        ended += usize::from(end.status == Status::Resolved);
        most = most.max(end.steps);
    }
    let mut curves =
        Chart::new("Directions turn monotonically towards a ray (figure 4's K)", "p_z / r [N s / (m/s)]", "direction of (u_x, u_y) [°]");
    for n in 0..16 {
        let angle = (2.0 * n as f64 + 1.0) * PI / 16.0;
        let u = Vector3::new(angle.cos(), angle.sin(), -4.0);
        let (_, path) = trace_contact::<Spatial>(&rows(&ray_matrix()), &Terms::new(RAY_MU, 0.0), u)?;
        let mut last = angle.to_degrees();
        let mut points = Vec::new();
        for p in path.iter().filter(|p| p.mode == Mode::Slide && p.velocity[0].hypot(p.velocity[1]) > 1e-9) {
            let here = p.velocity[1].atan2(p.velocity[0]).to_degrees();
            last += (here - last + 180.0).rem_euclid(360.0) - 180.0;
            points.push((p.impulse, last));
        }
        let steps: Vec<f64> = points.windows(2).map(|w| w[1].1 - w[0].1).collect();
        let one_way = steps.iter().all(|d| *d >= -1e-9) || steps.iter().all(|d| *d <= 1e-9);
        monotone += usize::from(one_way);
        count += 1;
        curves = curves.colored(if n == 0 { "starts between the sixteen" } else { "" }, Style::Line, 0, points);
    }
    report.words(
        "the algorithm ends",
        "always",
        format!("{ended} of {CASES} random collisions, with at most {most} integration steps"),
        ended == CASES,
    );
    report.words(
        "appendix C: θ goes monotonically towards a root of f",
        "always",
        format!("{monotone} of {count} trajectories"),
        monotone == count,
    );
    // The bound of appendix C: from an angle to one short of the root, within P.
    let (k, mu) = (matrix(), MU);
    let (start, root) = (-0.6_f64, rays(&k, mu));
    let (f0, _) = rates(&k, mu, start);
    let target = root
        .iter()
        .map(|r| (r - start + PI).rem_euclid(2.0 * PI) - PI)
        .filter(|d| d.signum() == f0.signum())
        .fold(f64::INFINITY, |m: f64, d| m.min(d.abs()));
    let end = 0.9 * target * f0.signum();
    let samples = || (0..=2000).map(|i| start + end * i as f64 / 2000.0);
    let f_min = samples().map(|a| rates(&k, mu, a).0.abs()).fold(f64::INFINITY, f64::min);
    let grow = (0..3600).map(|i| rates(&k, mu, i as f64 * PI / 1800.0).1).fold(f64::NEG_INFINITY, f64::max).max(1.0);
    let bound = ((end.abs() * grow / f_min).exp() - 1.0) / grow;
    let u = Vector3::new(start.cos(), start.sin(), -1e3);
    let (_, path) = trace_contact::<Spatial>(&rows(&k), &Terms::new(mu, 0.0), u)?;
    let reached = path.iter().find(|p| ((p.velocity[1].atan2(p.velocity[0]) - start).abs()) >= end.abs()).map(|p| p.impulse);
    report.words(
        "appendix C: θ_end is reached before p_z = P",
        "P = (exp((θ_end − θ_0) r'_max/f_min) − 1) r_0/r'_max",
        format!("reached at {} of P", reached.map_or("never".into(), |p| digits(p / bound, 2))),
        reached.is_some_and(|p| p < bound),
    );
    report.differs(
        "3.11: a cos x + b sin x",
        "a sin(x + β)",
        "the amplitude is √(a² + b²): at a = 3, b = 4, x = atan(4/3) the value is 5".to_string(),
        "the amplitude in section 3.11 is √(a² + b²)",
        0,
        (3.0 * (4.0f64 / 3.0).atan().cos() + 4.0 * (4.0f64 / 3.0).atan().sin() - 5.0).abs() < 1e-12,
    );
    report.chart = curves;
    Ok(())
}
