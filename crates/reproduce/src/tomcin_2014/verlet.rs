//! Velocity Verlet for one body, in the forms of appendix A.

use crate::report::{digits, list};
use crate::{Chart, Failure, Report, Scale, Style};
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// How a step takes the torque.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Eqs. 9 to 12.
    Plain,
    /// The three steps with I⁻¹ where it belongs, ω in eq. 13.
    Exact,
    /// The same with ω₊ in eq. 13.
    Forward,
    /// The three steps as printed: ω± = ω ± (h/2) τ.
    Printed,
}

/// A top with torque fixed in the world.
#[derive(Clone)]
struct Top {
    moments: Vector3<f64>,
    torque: Vector3<f64>,
    turn: UnitQuaternion<f64>,
    spin: Vector3<f64>,
}

impl Top {
    fn new(torque: Vector3<f64>) -> Self {
        Top { moments: Vector3::new(1.0, 2.0, 3.5), torque, turn: UnitQuaternion::identity(), spin: Vector3::new(0.3, 2.0, 0.4) }
    }

    fn inertia(&self) -> Matrix3<f64> {
        let r = self.turn.to_rotation_matrix();
        r.matrix() * Matrix3::from_diagonal(&self.moments) * r.matrix().transpose()
    }

    fn energy(&self) -> f64 {
        0.5 * self.spin.dot(&(self.inertia() * self.spin))
    }

    fn step(&mut self, h: f64, form: Form) -> Option<()> {
        let i = self.inertia();
        let inverse = i.try_inverse()?;
        let gyro = |w: Vector3<f64>| -(inverse * w.cross(&(i * w)));
        let kick = inverse * self.torque * (h / 2.0);
        let w = self.spin;
        // Position: h ω₊ − (h²/2) I⁻¹(ω_g × I ω_g).
        let plus = if form == Form::Printed { w + self.torque * (h / 2.0) } else { w + kick };
        let taken = if form == Form::Forward { plus } else { w };
        let sigma = gyro(taken);
        let half = match form {
            Form::Plain => w * h + (inverse * self.torque + gyro(w)) * (h * h / 2.0),
            _ => plus * h + sigma * (h * h / 2.0),
        };
        self.turn = UnitQuaternion::from_scaled_axis(half) * self.turn;
        // Velocity: implicit in the gyroscopic acceleration at the new pose, by Newton's method.
        let after = self.inertia();
        let after_inverse = after.try_inverse()?;
        let after_kick = if form == Form::Printed { self.torque * (h / 2.0) } else { after_inverse * self.torque * (h / 2.0) };
        // y stands for ω₋ of the next step: y = ω₊ + (h/2)(σ* + σ*'), with σ* at ω = y + kick.
        let old = if form == Form::Printed { gyro(plus - self.torque * (h / 2.0)) } else { gyro(w) };
        let mut y = plus;
        for _ in 0..30 {
            let full = y + after_kick;
            let value = after * (y - plus - old * (h / 2.0)) + full.cross(&(after * full)) * (h / 2.0);
            let slope = after + (full.cross_matrix() * after - (after * full).cross_matrix()) * (h / 2.0);
            let change = slope.try_inverse()? * value;
            y -= change;
            if change.norm() < 1e-15 * (1.0 + y.norm()) {
                break;
            }
        }
        self.spin = y + after_kick;
        Some(())
    }

    fn run(&self, form: Form, time: f64, steps: usize) -> Option<Top> {
        let mut top = self.clone();
        for _ in 0..steps {
            top.step(time / steps as f64, form)?;
        }
        Some(top)
    }
}

/// Rotation errors after 2 s at 1/25, 1/50, 1/100 s.
fn errors(top: &Top, form: Form, exact: &Top) -> Option<Vec<f64>> {
    [50, 100, 200].iter().map(|n| Some(top.run(form, 2.0, *n)?.turn.angle_to(&exact.turn))).collect()
}

fn singular() -> Failure {
    "an inertia is singular".into()
}

pub fn appendix_a(report: &mut Report) -> Result<(), Failure> {
    let free = Top::new(Vector3::zeros());
    let exact = free.run(Form::Plain, 2.0, 100_000).ok_or_else(singular)?;
    let found = errors(&free, Form::Plain, &exact).ok_or_else(singular)?;
    let orders = [(found[0] / found[1]).log2(), (found[1] / found[2]).log2()];
    report.words(
        "eqs. 9 to 12: order",
        "\"more accurate\" than forward Euler",
        format!("rotation error {} rad at 1/25, 1/50, 1/100 s: order {}", list(&found, 3), list(&orders, 3)),
        orders.iter().all(|o| (o - 2.0).abs() < 0.05),
    );
    let driven = Top::new(Vector3::new(0.5, 0.2, -0.1));
    let (plain, steps) = (driven.run(Form::Plain, 2.0, 100).ok_or_else(singular)?, driven.run(Form::Exact, 2.0, 100).ok_or_else(singular)?);
    let apart = plain.turn.angle_to(&steps.turn).max((plain.spin - steps.spin).norm());
    report.words(
        "the three-step form equals eqs. 9 to 12",
        "a reformulation",
        format!("with I⁻¹ in ω± to 1e-10: {}", apart < 1e-10),
        apart < 1e-10,
    );
    let reference = driven.run(Form::Plain, 2.0, 100_000).ok_or_else(singular)?;
    let wrong = errors(&driven, Form::Printed, &reference).ok_or_else(singular)?;
    let right = errors(&driven, Form::Exact, &reference).ok_or_else(singular)?;
    report.differs(
        "ω± = ω ± (h/2) τ",
        "no I⁻¹",
        format!("rotation error {} rad, with I⁻¹ {} rad", list(&wrong, 3), list(&right, 3)),
        "Appendix A lacks I⁻¹ in ω± = ω ± (h/2) I⁻¹τ",
        0,
        wrong[2] > 20.0 * right[2],
    );
    // Long-term behaviour of the free top: 200 s.
    let mut top = free.clone();
    let (energy, momentum) = (top.energy(), top.inertia() * top.spin);
    let (mut band, mut turned, mut points): (f64, f64, Vec<(f64, f64)>) = (0.0, 0.0, Vec::new());
    for i in 1..=10_000 {
        top.step(0.02, Form::Exact).ok_or_else(singular)?;
        let change = top.energy() / energy - 1.0;
        band = band.max(change.abs());
        turned = turned.max((top.inertia() * top.spin - momentum).norm() / momentum.norm());
        if i % 25 == 0 {
            points.push((0.02 * i as f64, change));
        }
    }
    report.words(
        "long-term energy and momentum conservation",
        "\"some of the benefits\"",
        format!("200 s of a free top at 20 ms: energy within {}, angular momentum within {}", digits(band, 2), digits(turned, 2)),
        band < 1e-3 && turned < 2e-3,
    );
    report.chart = Chart::new("Energy of a free top under the three-step form, h = 20 ms", "time [s]", "energy / start − 1").with(
        "energy",
        Style::Line,
        points,
    );
    Ok(())
}

pub fn gyroscopic_term(report: &mut Report) -> Result<(), Failure> {
    let driven = Top::new(Vector3::new(0.5, 0.2, -0.1));
    let reference = driven.run(Form::Plain, 2.0, 100_000).ok_or_else(singular)?;
    let exact = errors(&driven, Form::Exact, &reference).ok_or_else(singular)?;
    let forward = errors(&driven, Form::Forward, &reference).ok_or_else(singular)?;
    let order = |e: &[f64]| (e[1] / e[2]).log2();
    report.differs(
        "eq. 13: the ω of the gyroscopic term",
        "ω in the formula, ω₊ in the text",
        format!(
            "both are of second order ({}, {}); ω₊ has {} times the error",
            digits(order(&exact), 3),
            digits(order(&forward), 3),
            digits(forward[2] / exact[2], 2)
        ),
        "Eq. 13 prints ω where the text takes ω₊",
        0,
        (order(&exact) - 2.0).abs() < 0.1 && (order(&forward) - 2.0).abs() < 0.1,
    );
    let free = Top::new(Vector3::zeros());
    let (a, b) = (free.run(Form::Exact, 2.0, 100).ok_or_else(singular)?, free.run(Form::Forward, 2.0, 100).ok_or_else(singular)?);
    report.words(
        "without torque the two are the same",
        "",
        format!("{}", a.turn.angle_to(&b.turn) < 1e-12),
        a.turn.angle_to(&b.turn) < 1e-12,
    );
    let h = [1.0 / 25.0, 1.0 / 50.0, 1.0 / 100.0];
    report.chart = Chart::new("Rotation error after 2 s under a torque", "step [s]", "error [rad]")
        .scales(Scale::Log, Scale::Log)
        .with("ω, as the formula", Style::Both, h.into_iter().zip(exact).collect())
        .with("ω₊, as the text", Style::Both, h.into_iter().zip(forward).collect());
    Ok(())
}
