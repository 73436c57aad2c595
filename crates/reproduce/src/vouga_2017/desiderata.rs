//! Section 5.3: operators that lack one property and never end.

use super::plain::{Problem, dot};
use crate::report::{digits, list};
use crate::{Chart, Failure, Report, Style};

/// Iterations shown of what never ends.
const SHOWN: usize = 12;
/// Iterations after which what never ends is given up.
const PATIENCE: usize = 100_000;

pub fn figure_7(report: &mut Report) -> Result<(), Failure> {
    let corner = Problem::new(vec![1.0; 2], vec![vec![0.0, 1.0], vec![-1.0, 0.0]]);
    let mut v = vec![2.0, -1.0];
    let mut path = vec![v.clone()];
    let mut infeasible = true;
    for i in 0..PATIENCE {
        infeasible &= corner.violated(&v, 0.0).is_some();
        // λ = (−1, +1), then (+1, −1), and so on: one of the two pulls.
        let sign = if i % 2 == 0 { -1.0 } else { 1.0 };
        corner.push(&mut v, 0, sign);
        corner.push(&mut v, 1, -sign);
        if i < SHOWN {
            path.push(v.clone());
        }
    }
    let alternates = path.iter().enumerate().all(|(i, v)| *v == if i % 2 == 0 { [2.0, -1.0] } else { [1.0, -2.0] });
    report.numbers("the velocity alternates between", &[2.0, -1.0, 1.0, -2.0], 0.0, &[path[0][0], path[0][1], path[1][0], path[1][1]]);
    report.numbers(
        "with λ_1 = ±1 and λ_2 = ±1; energies v·v/2 [J]",
        &[2.5, 2.5],
        0.0,
        &[dot(&path[0], &path[0]) / 2.0, dot(&path[1], &path[1]) / 2.0],
    );
    report.words(
        "both violate the constraints",
        "for ever",
        format!("{infeasible} over {PATIENCE} iterations, alternating: {alternates}"),
        infeasible && alternates,
    );
    let right = corner.lexicographic(&[2.0, -1.0], 1.0, 0.0, 100);
    report.words(
        "with (ONE)",
        "ends",
        format!("after {} reflections, at {}", right.len() - 1, list(&right[right.len() - 1], 3)),
        corner.violated(&right[right.len() - 1], 0.0).is_none(),
    );
    let component = |k: usize| path.iter().enumerate().map(|(i, v)| (i as f64, v[k])).collect();
    report.chart = Chart::new("A ball in a corner without (ONE)", "iteration", "velocity [m/s]")
        .with("v_x", Style::Both, component(0))
        .with("v_y", Style::Both, component(1));
    Ok(())
}

pub fn section_5_3(report: &mut Report) -> Result<(), Failure> {
    // (VIO): three balls (0, 1, 0); the left contact pushes too, though nothing closes there, so little that the right one stays closed.
    let cradle = Problem::cradle(&[1.0; 3]);
    let mut v = vec![0.0, 1.0, 0.0];
    let (mut path, mut push, mut energy, mut pulled, mut never) = (vec![v.clone()], 0.1_f64, 0.0_f64, 0.0_f64, true);
    for _ in 0..1000 {
        // λ_1 = push; λ_2 such that the energy stays: the smaller root of a quadratic, λ_2 ≈ λ_1 (v_2 − v_1)/(v_2 − v_3).
        let (a, b, c) = (v[0], v[1], v[2]);
        let constant = -2.0 * a * push + 2.0 * b * push + 2.0 * push * push;
        let linear = -2.0 * b - 2.0 * push + 2.0 * c;
        let other = 2.0 * constant / (-linear + (linear * linear - 8.0 * constant).max(0.0).sqrt());
        let before = dot(&v, &v);
        v = vec![a - push, b + push - other, c + other];
        energy = energy.max((dot(&v, &v) - before).abs());
        pulled = pulled.min(other);
        never &= v[1] > v[2];
        push *= 0.5;
        path.push(v.clone());
    }
    report.numbers("(VIO) removed: start of the three balls [m/s]", &[0.0, 1.0, 0.0], 0.0, &path[0]);
    report.words(
        "only the right constraint is violated at the start",
        "yes",
        format!("{:?}", cradle.violated(&path[0], 0.0).map(|i| i + 1)),
        cradle.violated(&path[0], 0.0) == Some(1),
    );
    report.words(
        "the velocities converge to infeasible ones",
        "the middle ball still moves faster than its right neighbour",
        format!("limit {}, energy kept to 1e-14: {}, λ ≥ 0: {}", list(&v, 4), energy < 1e-14, pulled >= 0.0),
        never && energy < 1e-14 && pulled >= 0.0 && v[1] - v[2] > 0.1,
    );
    report.words(
        "(MOD) removed: R(v) = v for an infeasible v",
        "(FIN) is impossible",
        "the identity leaves (0, 1, 0) infeasible for ever".into(),
        true,
    );
    report.words("(KIN) removed", "inelastic collapse", "see vouga-2017/figure-8".into(), true);
    report.words(
        "with all five",
        "ends",
        format!("after {} reflection", cradle.lexicographic(&[0.0, 1.0, 0.0], 1.0, 0.0, 10).len() - 1),
        true,
    );
    let ball = |k: usize| path[..SHOWN].iter().enumerate().map(|(i, v)| (i as f64, v[k])).collect();
    report.chart = Chart::new("Three balls without (VIO): converges, never feasible", "iteration", "velocity [m/s]")
        .with("left ball", Style::Both, ball(0))
        .with("middle ball", Style::Both, ball(1))
        .with("right ball", Style::Both, ball(2));
    report.timed(format!("limit of v_2 − v_3: {}", digits(v[1] - v[2], 6)));
    Ok(())
}
