//! The algorithm in fixed steps, and the coefficient of restitution at which its outcome jumps.

use super::{E, MU, matrix, rows, start};
use crate::report::{digits, list};
use crate::{Chart, Failure, Report, Scale, Style};
use carom::math::Spatial;
use carom::solve::collision::{EndTest, Terms, collide_contact_under, collide_euler, trace_contact};

pub fn section_4(report: &mut Report) -> Result<(), Failure> {
    let terms = Terms::new(MU, E);
    let exact = collide_contact_under::<Spatial>(&rows(&matrix()), &terms, start())?;
    let mut errors = Vec::new();
    for step in [0.1, 0.03, 0.01, 0.003, 0.001] {
        let end = collide_euler(matrix(), &terms, start(), step, EndTest::Corrected, None)?;
        errors.push((step, (end.velocity - exact.velocity).norm()));
    }
    let order = (errors[2].1 / errors[4].1).log10();
    report.words(
        "the smaller δ the more accurate",
        "yes",
        format!("of order {} in δ; off by {} m/s at δ = 0.01", digits(order, 2), digits(errors[2].1, 2)),
        (order - 1.0).abs() < 0.2,
    );
    // Fixed steps go back and forth across u_t = 0, so "approximately 0" must grow with the step.
    let still = collide_euler(
        super::ray_matrix(),
        &Terms::new(super::RAY_MU, 0.5),
        nalgebra::Vector3::new(0.0, -1.0, -4.0),
        0.01,
        EndTest::Corrected,
        None,
    )?;
    let stopped = collide_contact_under::<Spatial>(
        &rows(&super::ray_matrix()),
        &Terms::new(super::RAY_MU, 0.5),
        nalgebra::Vector3::new(0.0, -1.0, -4.0),
    )?;
    report.words(
        "3(a): u_x = u_y = 0, or approximately 0",
        "approximately 0 for robustness",
        format!(
            "with δ‖K‖ for approximately: {} as the exact path; off by {} m/s at δ = 0.01",
            still.branch,
            digits((still.velocity - stopped.velocity).norm(), 2)
        ),
        still.branch == stopped.branch,
    );
    let early = collide_euler(matrix(), &Terms::new(MU, 0.0), start(), 0.01, EndTest::Printed, None)?;
    let right = collide_euler(matrix(), &Terms::new(MU, 0.0), start(), 0.01, EndTest::Corrected, None)?;
    report.differs(
        "3(c): W_d ≥ −e² W_c ends the integration, at e = 0",
        "W_d ≥ −e² W_c",
        format!(
            "0 ≥ 0 after {} step, at u_z = {} m/s; with u_z ≥ 0 as well at u_z = {} m/s after {} steps",
            early.steps,
            digits(early.velocity.z, 4),
            digits(right.velocity.z, 1),
            right.steps
        ),
        "Step 3(c) ends in compression for e = 0",
        1,
        early.steps == 1 && early.velocity.z < -0.2 && right.velocity.z >= 0.0,
    );
    let full = collide_contact_under::<Spatial>(&rows(&matrix()), &terms, start())?;
    report.words(
        "3.4: W_d = −e² W_c at the end",
        "W_d = −e² W_c",
        format!("W_c = {}, W_d = {} J", digits(full.work_compression, 6), digits(full.work_restitution, 6)),
        (full.work_restitution + E * E * full.work_compression).abs() < 1e-8,
    );
    report.words(
        "energy is lost",
        "guaranteed",
        format!(
            "{} J, of {} J in W_c + W_d",
            digits(0.5 * (start() + full.velocity).dot(&full.impulse), 6),
            digits(full.work_compression + full.work_restitution, 6)
        ),
        0.5 * (start() + full.velocity).dot(&full.impulse) < 0.0,
    );
    report.chart = Chart::new("Error of the fixed step in the example, e = 0.9", "step δ of p_z [N s]", "error of u [m/s]")
        .scales(Scale::Log, Scale::Log)
        .with("Euler", Style::Both, errors.clone())
        .with("first order", Style::Dashed, errors.iter().map(|(h, _)| (*h, errors[4].1 * h / errors[4].0)).collect());
    Ok(())
}

pub fn restitution(report: &mut Report) -> Result<(), Failure> {
    let at = |e: f64| collide_contact_under::<Spatial>(&rows(&matrix()), &Terms::new(MU, e), start());
    let (_, path) = trace_contact::<Spatial>(&rows(&matrix()), &Terms::new(MU, E), start())?;
    let first: Vec<_> = path.iter().filter(|p| p.velocity[2].abs() < 1e-12).collect();
    let (compressed, restituted) = (first[0].work_compression, first[1].work_restitution);
    let critical = (restituted / -compressed).sqrt();
    let (below, above) = (at(critical - 1e-9)?, at(critical + 1e-9)?);
    report.words(
        "W_c and W_d summed over all phases",
        "\"perhaps not what Stronge intended\"",
        format!(
            "u jumps from {} to {} m/s at e = {}",
            list(&[below.velocity.x, below.velocity.y], 4),
            list(&[above.velocity.x, above.velocity.y], 4),
            digits(critical, 5)
        ),
        (critical - 0.51325).abs() < 1e-5 && below.phases == 2 && above.phases == 4,
    );
    let mut curves: [Vec<(f64, f64)>; 2] = Default::default();
    for i in 0..=100 {
        let e = i as f64 / 100.0;
        let end = at(e)?;
        curves[usize::from(e > critical)].push((e, end.velocity.z));
    }
    let [low, high] = curves;
    report.words("two compressions", "may happen", format!("for e > {} in the example", digits(critical, 5)), low.len() == 52);
    report.chart = Chart::new("The example's u_z at the end jumps in e", "coefficient of restitution e", "u_z at the end [m/s]")
        .with("two phases", Style::Line, low)
        .with("four phases", Style::Line, high);
    Ok(())
}
