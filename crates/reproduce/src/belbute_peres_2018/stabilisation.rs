//! What keeps bodies apart and joints together between steps.

use crate::report::{digits, list};
use crate::{Chart, Failure, Report, Style};
use nalgebra::{Matrix2, Vector2};

/// A pendulum: a body of 1 kg and 0.1 kg m², hinged at 1 m from its centre, released level.
struct Pendulum {
    angle: f64,
    centre: Vector2<f64>,
    /// (w, vx, vy)
    velocity: [f64; 3],
}

const INERTIA: f64 = 0.1;
const GRAVITY: f64 = 9.8;
const STEP: f64 = 0.01;
const STEPS: usize = 1000;

impl Pendulum {
    fn new() -> Self {
        Pendulum { angle: 0.0, centre: Vector2::new(1.0, 0.0), velocity: [0.0; 3] }
    }

    /// The arm from the centre to the hinge.
    fn arm(&self) -> Vector2<f64> {
        -Vector2::new(self.angle.cos(), self.angle.sin())
    }

    /// −M⁻¹J'(J M⁻¹J')⁻¹ g for a row error g at the present pose.
    fn correction(&self, error: Vector2<f64>) -> [f64; 3] {
        let r = self.arm();
        let a = Matrix2::new(r.y * r.y / INERTIA + 1.0, -r.x * r.y / INERTIA, -r.x * r.y / INERTIA, r.x * r.x / INERTIA + 1.0);
        let l = a.try_inverse().unwrap_or_default() * error;
        [-(-r.y * l.x + r.x * l.y) / INERTIA, -l.x, -l.y]
    }

    /// J v: velocity of the material point at the hinge.
    fn drift(&self) -> Vector2<f64> {
        let ([w, x, y], r) = (self.velocity, self.arm());
        Vector2::new(x - w * r.y, y + w * r.x)
    }

    fn shift(&mut self, by: [f64; 3], scale: f64) {
        self.angle += scale * by[0];
        self.centre += Vector2::new(by[1], by[2]) * scale;
    }

    /// One step of A.1, then the correction: `velocity` times that of A.7, or Newton on the position.
    fn step(&mut self, velocity: f64, position: bool) {
        self.velocity[2] -= STEP * GRAVITY;
        let impulse = self.correction(self.drift());
        (0..3).for_each(|i| self.velocity[i] += impulse[i]);
        self.shift(self.velocity, STEP);
        if velocity > 0.0 {
            self.shift(self.correction(self.drift()), velocity * STEP);
        }
        if position {
            for _ in 0..5 {
                let error = self.centre + self.arm();
                self.shift(self.correction(error), 1.0);
            }
        }
    }
}

pub fn section_a7(report: &mut Report) -> Result<(), Failure> {
    let mut chart = Chart::new("Distance of a pendulum's centre from its hinge", "time [s]", "distance [m]");
    let mut ends = Vec::new();
    for (name, velocity, position) in [("none", 0.0, false), ("as printed", 1.0, false), ("halved", 0.5, false), ("by position", 0.0, true)]
    {
        let mut pendulum = Pendulum::new();
        let mut points = vec![(0.0, 1.0)];
        for i in 1..=STEPS {
            pendulum.step(velocity, position);
            points.push((i as f64 * STEP, pendulum.centre.norm()));
        }
        ends.push(pendulum.centre.norm());
        chart = chart.with(name, Style::Line, points);
    }
    report.words(
        "without",
        "\"noticeable drift in joints\"",
        format!("{} m after 10 s of steps of 10 ms", digits(ends[0], 5)),
        (ends[0] - 1.2436).abs() < 1e-3,
    );
    report.differs(
        "p += dt δ with J(v + δ) = 0",
        "corrects the errors",
        format!("{} m: drifts as much, the other way", digits(ends[1], 4)),
        "A.7 corrects J v, not the position error",
        0,
        (ends[1] - 0.7660).abs() < 1e-3,
    );
    report.words(
        "half of it, as the authors' published code does",
        "not in the text",
        format!("{} m: a trapezium rule", digits(ends[2], 5)),
        (ends[2] - 0.99998).abs() < 1e-5,
    );
    report.words(
        "Newton on the position error, as the engine does",
        "",
        format!("1 m to 1e-12: {}", (ends[3] - 1.0).abs() < 1e-12),
        (ends[3] - 1.0).abs() < 1e-12,
    );
    report.chart = chart;
    Ok(())
}

pub fn section_a1(report: &mut Report) -> Result<(), Failure> {
    // A ball above the floor falls; dt is halved in the position update alone until it does not overlap.
    let (g, dt) = (9.8, 0.1);
    let (mut height, mut speed, mut time) = (1.0_f64, 0.0_f64, 0.0_f64);
    let energy = g * height;
    let (mut halvings, mut most) = (0, 0);
    let mut literal = vec![(0.0, height)];
    for _ in 0..40 {
        speed -= dt * g;
        let mut h = dt;
        let mut count = 0;
        while height + h * speed < 0.0 && count < 40 {
            h /= 2.0;
            count += 1;
        }
        halvings += count;
        most = most.max(count);
        height += h * speed;
        time += h;
        literal.push((time, height));
        if count > 6 {
            break;
        }
    }
    let gained = (0.5 * speed * speed + g * height) / energy - 1.0;
    let fall = (2.0 * 1.0f64 / g).sqrt();
    report.differs(
        "item 5: dt is halved in the position update alone",
        "repeat the numerical integration with the new dt",
        format!(
            "velocities keep the load of the whole dt: at the floor after {} s (free fall {} s) with {} % more energy, {halvings} halvings",
            digits(time, 4),
            digits(fall, 4),
            digits(100.0 * gained, 3)
        ),
        "A.1 halves the step after solving with the longer one",
        0,
        gained > 0.1,
    );
    // A rod that slides over a corner and turns: first order feasible, and below the corner after every h.
    let (along, turn, arm) = (1.0, 1.0, 0.5);
    let depth = |h: f64| -(turn * arm * h - (arm + along * h) * (turn * h).tan());
    let ratios: Vec<f64> = [0.1, 0.01, 0.001].iter().map(|h| depth(*h) / (h * h)).collect();
    report.differs(
        "item 5: \"there is dt > 0 for which there are no interpenetrations\"",
        "we know",
        format!(
            "a rod that slides at 1 m/s over a corner while it turns at 1 rad/s overlaps by {} h² for h = 0.1, 0.01, 0.001 s",
            list(&ratios, 4)
        ),
        "fails for a turning edge on a",
        0,
        ratios.iter().all(|r| *r > 0.5),
    );
    report.differs(
        "item 5: p + dt v_{t+dt} is called",
        "explicit Euler",
        "semi-implicit: it uses the new velocity; free fall of 1 s in steps of 0.1 s misses by −g dt t/2 = −0.49 m, explicit by +0.49 m"
            .into(),
        "A.1 calls semi-implicit Euler explicit",
        0,
        true,
    );
    let exact = (0..=40).map(|i| fall * i as f64 / 40.0).map(|t| (t, 1.0 - 0.5 * g * t * t)).collect();
    let depths = [0.3, 0.1, 0.03, 0.01, 0.003, 0.001].map(|h| (h, depth(h))).to_vec();
    report.chart = Chart::new("A ball falls 1 m: halving as printed arrives early", "time [s]", "height [m]")
        .with("free fall", Style::Line, exact)
        .with("as printed, dt = 0.1 s", Style::Both, literal);
    report.timed(format!("overlap of the turning rod by h: {depths:?}"));
    Ok(())
}
