//! Rows of joints and contacts, and where they come from.

use crate::random::Random;
use crate::report::{digits, list};
use crate::{Chart, Failure, Report, Style};
use carom::geometry::{Geometry, planar};
use carom::kernels::dynamics::{DynamicsInput, Mass, dynamics};
use carom::math::{Planar, Pose};
use nalgebra::Vector2;

fn cross(a: Vector2<f64>, b: Vector2<f64>) -> f64 {
    a.x * b.y - a.y * b.x
}

/// Velocity of the point at an arm, v = (w, vx, vy).
fn point(v: [f64; 3], arm: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(v[1] - v[0] * arm.y, v[2] + v[0] * arm.x)
}

pub fn section_a4(report: &mut Report) -> Result<(), Failure> {
    let (mass, radius) = (3.0, 0.7);
    let disc = Planar::mass_properties(&planar::Shape::ball(radius)?).ok_or("a disc has volume")?;
    report.number("A.2: inertia of a circle over m r²", 0.5, 1e-15, disc.inertia.x / disc.mass / (radius * radius));
    report.words(
        "eq. 7: (angle, x, y) per body; mass-inertia diag(I, m, m)",
        "a definition",
        format!("I = {} kg m² for m = {mass} kg, r = {radius} m", digits(0.5 * mass * radius * radius, 4)),
        true,
    );
    // A.4.1: the hinge rows measure the relative velocity of the two material points.
    let mut random = Random::new(41);
    let (mut hinge, mut sum, mut difference): (f64, f64, f64) = (0.0, 0.0, 0.0);
    let mut points = Vec::new();
    for number in 0..200 {
        let mut pick = || random.vector3();
        let (ra, rb, n, v) = (pick().xy(), pick().xy(), pick().xy().normalize(), pick().xy());
        let (va, vb): ([f64; 3], [f64; 3]) = (pick().into(), pick().into());
        let rows = [[-ra.y, 1.0, 0.0], [ra.x, 0.0, 1.0]].map(|row| (0..3).map(|i| row[i] * va[i]).sum::<f64>());
        let other = [[rb.y, -1.0, 0.0], [-rb.x, 0.0, -1.0]].map(|row| (0..3).map(|i| row[i] * vb[i]).sum::<f64>());
        let relative = point(va, ra) - point(vb, rb);
        hinge = hinge.max((rows[0] + other[0] - relative.x).abs()).max((rows[1] + other[1] - relative.y).abs());
        // Eq. 15, printed with one sign for both bodies: a common translation must not be felt.
        let row = |arm: Vector2<f64>| [cross(arm, n), n.x, n.y];
        let along = |row: [f64; 3]| row[1] * v.x + row[2] * v.y;
        sum = sum.max((along(row(ra)) + along(row(rb))).abs() / v.norm());
        difference = difference.max((along(row(ra)) - along(row(rb))).abs());
        points.push((number as f64, (along(row(ra)) + along(row(rb))) / v.norm()));
    }
    report.words(
        "A.4.1: the hinge's matrices",
        "velocities at the connection point are equal",
        format!("equal to the difference of the point velocities to 1e-15: {}", hinge < 1e-15),
        hinge < 1e-15,
    );
    report.differs(
        "eqs. 15, 17: both bodies get the same sign",
        "J^(a) = J^(b) = [p × n, n]",
        format!("a common translation counts as up to {} n·v; with body b negated as 0: {}", digits(sum, 3), difference == 0.0),
        "Eqs. 15 and 17 give both bodies the same sign",
        0,
        sum > 1.5 && difference == 0.0,
    );
    // Eq. 14: c = k J v also where the contact separates.
    let ball = |velocity: f64, force: f64, bias: &[f64], restitution: &[f64]| {
        let input = DynamicsInput {
            mass: Mass::Diagonal(&[1.0]),
            velocity: &[velocity],
            force: &[force],
            step: 1.0,
            joints: &[],
            contacts: &[1.0],
            tangents: &[],
            friction: &[],
            restitution,
            bias,
            tolerance: 1e-12,
        };
        dynamics(&input).map(|out| out.velocity[0])
    };
    let (printed, right) = (ball(1.0, -1.6, &[0.5], &[])?, ball(1.0, -1.6, &[], &[0.5])?);
    report.differs(
        "eq. 14: c = k J v for a contact that parts at 1 m/s, k = 0.5, under a load that would turn it to −0.6 m/s",
        "J v' + c ≥ 0",
        format!("lets it come back at {} m/s; with c = k min(0, J v) it stays at {} m/s", digits(printed, 2), digits(right, 2)),
        "Eq. 14 applies restitution to separating contacts too",
        0,
        printed < -0.4 && right.abs() < 1e-9,
    );
    let away = ball(-1.0, 0.0, &[], &[0.5])?;
    report.words(
        "eq. 13: an approaching contact leaves with k times its speed",
        "J v' ≥ −k J v",
        format!("−1 m/s with k = 0.5 and no load leaves with {} m/s", digits(away, 6)),
        (away - 0.5).abs() < 1e-9,
    );
    report.chart = Chart::new("Eq. 15 as printed: a common translation is felt as relative velocity", "random pair", "J v / |v|").with(
        "pairs",
        Style::Dots,
        points,
    );
    Ok(())
}

pub fn section_a6(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(6);
    let at = |x: f64, y: f64| Pose::<Planar> { position: Vector2::new(x, y), ..Pose::identity() };
    let (mut gap, mut normal): (f64, f64) = (0.0, 0.0);
    let mut points = Vec::new();
    for _ in 0..100 {
        let (r1, r2) = (random.between(0.2, 1.0), random.between(0.2, 1.0));
        let (a, b) = (at(random.between(-1.0, 1.0), random.between(-1.0, 1.0)), at(random.between(-1.0, 1.0), random.between(-1.0, 1.0)));
        let mut out = Vec::new();
        Planar::contacts(&planar::Shape::ball(r1)?, &a, &planar::Shape::ball(r2)?, &b, 10.0, &mut out);
        let d = a.position - b.position;
        let found = out.first().ok_or("no contact")?;
        gap = gap.max((found.gap - (d.norm() - r1 - r2)).abs());
        normal = normal.max((found.normal - d / d.norm()).norm());
        points.push((d.norm() - r1 - r2, found.gap));
    }
    report.words(
        "A.6.1: d = ‖p_1 − p_2‖ − r_1 − r_2, n = (p_1 − p_2)/‖p_1 − p_2‖",
        "the formula",
        format!("the engine's gap and normal to 1e-14 in 100 pairs: {}", gap.max(normal) < 1e-14),
        gap.max(normal) < 1e-14,
    );
    // A.6.2, outside and inside a square of side 2 at (3, 1).
    let (square, hull) = (planar::Shape::cuboid(2.0, 2.0)?, at(3.0, 1.0));
    let disc = |x: f64, y: f64| -> Result<(f64, Vector2<f64>), Failure> {
        let mut out = Vec::new();
        Planar::contacts(&planar::Shape::ball(0.3)?, &at(x, y), &square, &hull, 10.0, &mut out);
        let found = out.first().ok_or("no contact")?;
        Ok((found.gap, found.normal))
    };
    let (outside, _) = disc(5.0, 3.0)?;
    report.words(
        "A.6.2, centre outside: d = ‖p_c − p_GJK‖ − r",
        "the formula",
        format!("{} m beside the corner, engine {} m", digits(2f64.sqrt() - 0.3, 6), digits(outside, 6)),
        (outside - (2f64.sqrt() - 0.3)).abs() < 1e-12,
    );
    let (inside, n) = disc(3.8, 1.1)?;
    report.words(
        "A.6.2, centre inside: d = (p_c − p_vert)·n − r",
        "the closest face",
        format!("{} m to the face {}, engine {} m", digits(-0.2 - 0.3, 3), list(n.as_slice(), 2), digits(inside, 6)),
        (inside + 0.5).abs() < 1e-12 && (n.x - 1.0).abs() < 1e-12,
    );
    // The contact point of the circle: p_c + c_c must be the same place as p_h + c_h.
    let (pc, ph, d, r) = (Vector2::new(3.8, 1.1), Vector2::new(3.0, 1.0), -0.5, 0.3);
    let ch = (pc - ph) - Vector2::new(1.0, 0.0) * (d + r);
    let (printed, right) = (ch + pc - pc, ch + ph - pc);
    report.differs(
        "A.6.2: c_c",
        "c_c = c_h + p_c − p_c",
        format!(
            "misses the contact by {} m (the distance of the centres); with p_h − p_c by {} m",
            digits((pc + printed - ph - ch).norm(), 4),
            digits((pc + right - ph - ch).norm(), 1)
        ),
        "c_c = c_h + p_h − p_c",
        0,
        (pc + right - ph - ch).norm() < 1e-15 && (pc + printed - ph - ch).norm() > 0.5,
    );
    report.chart =
        Chart::new("Gaps of circles: the formula and the engine", "d of A.6.1 [m]", "engine's gap [m]").with("pairs", Style::Dots, points);
    Ok(())
}
