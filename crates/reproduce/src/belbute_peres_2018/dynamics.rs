//! The dynamics problem of equation 23.

use crate::random::Random;
use crate::report::{digits, list};
use crate::{Chart, Failure, Report, Style};
use carom::kernels::dynamics::{DynamicsInput, DynamicsOutput, Mass, dynamics};
use carom::solve::status::{Method, Status};

/// Gravity of the cases [m/s²].
const G: f64 = 9.81;

fn solve(
    mass: &[f64],
    velocity: &[f64],
    force: &[f64],
    step: f64,
    rows: [&[f64]; 3],
    friction: &[f64],
    bias: &[f64],
) -> Result<DynamicsOutput, Failure> {
    let [joints, contacts, tangents] = rows;
    let input = DynamicsInput {
        mass: Mass::Diagonal(mass),
        velocity,
        force,
        step,
        joints,
        contacts,
        tangents,
        friction,
        restitution: &[],
        bias,
        tolerance: 1e-12,
    };
    Ok(dynamics(&input)?)
}

pub fn equation_23(report: &mut Report) -> Result<(), Failure> {
    let h = 0.01;
    // A block of 2 kg that slides on a floor: (w, vx, vy), one contact under its centre.
    let (mass, mu) = ([1.0, 2.0, 2.0], 0.3);
    let contact = [0.0, 0.0, 1.0];
    let tangents = [0.0, 1.0, 0.0, 0.0, -1.0, 0.0];
    let load = [0.0, 0.0, -2.0 * G];
    let sliding = solve(&mass, &[0.0, 1.0, 0.0], &load, h, [&[], &contact, &tangents], &[mu], &[0.0])?;
    let slows = (1.0 - sliding.velocity[1]) / h;
    report.words(
        "a sliding block slows at μ g",
        "closed form",
        format!("{} m/s², μ g = {} m/s²", digits(slows, 8), digits(mu * G, 8)),
        (slows - mu * G).abs() < 1e-8,
    );
    report.words(
        "eq. 22: ζ = μ λ_c − E'λ_f ≥ 0, ζγ = 0",
        "complementary",
        format!(
            "friction {} of μ λ_c while it slides at {} m/s",
            digits(sliding.friction_impulse.iter().sum::<f64>() / (mu * sliding.contact_impulse[0]), 6),
            digits(sliding.slip[0], 5)
        ),
        (sliding.friction_impulse.iter().sum::<f64>() - mu * sliding.contact_impulse[0]).abs() < 1e-9,
    );
    let holds = |slope: f64| -> Result<f64, Failure> {
        let load = [0.0, 2.0 * G * slope.sin(), -2.0 * G * slope.cos()];
        Ok(solve(&mass, &[0.0; 3], &load, h, [&[], &contact, &tangents], &[mu], &[0.0])?.velocity[1])
    };
    let (below, above) = (holds(mu.atan() - 1e-3)?, holds(mu.atan() + 1e-3)?);
    report.words(
        "a block on a slope holds up to tan α = μ",
        "closed form",
        format!("1e-3 rad below {} m/s, above {} m/s after one step", digits(below.abs(), 1), digits(above, 2)),
        below.abs() < 1e-9 && above > 1e-5,
    );
    let bounce = solve(&mass, &[0.0, 0.0, -3.0], &[0.0; 3], h, [&[], &contact, &tangents], &[mu], &[-0.5 * 3.0])?;
    report.words(
        "eq. 13: a ball with k = 0.5 leaves at half its speed",
        "k J v",
        format!("{} m/s of 3 m/s", digits(bounce.velocity[2], 6)),
        (bounce.velocity[2] - 1.5).abs() < 1e-9,
    );
    // A hinged bar: the rows of A.4.1, released level; the angular acceleration is g/L · m L²/(I + m L²).
    let (i, m, l) = (0.1, 1.0, 1.0);
    let hinge = [0.0, 1.0, 0.0, -l, 0.0, 1.0];
    let bar = solve(&[i, m, m], &[0.0; 3], &[0.0, 0.0, -m * G], h, [&hinge, &[], &[]], &[], &[])?;
    let exact = -m * G * l / (i + m * l * l);
    report.words(
        "a hinged bar released level turns with −m g L/(I + m L²)",
        "closed form",
        format!("{} rad/s², closed form {} rad/s²", digits(bar.velocity[0] / h, 8), digits(exact, 8)),
        (bar.velocity[0] / h - exact).abs() < 1e-9,
    );
    // The signs as printed: 0 − (M v − J λ) = M v_t + dt f.
    let free = solve(&[m], &[2.0], &[-3.0], h, [&[], &[], &[]], &[], &[])?;
    let printed = -(2.0 - 3.0 * h / m);
    report.differs(
        "eq. 23, first row: a free body at 2 m/s under −3 N",
        "M v_t + dt f",
        format!("gives v = {} m/s; with −(M v_t + dt f) v = {} m/s", digits(printed, 4), digits(free.velocity[0], 4)),
        "the right side of eq. 23 needs the opposite sign",
        0,
        (free.velocity[0] - 1.97).abs() < 1e-12,
    );
    report.differs(
        "eqs. 19, 20, 23: impulses",
        "J λ",
        format!("J is {} by {}: only J'λ has the length of a velocity", 1, 3),
        "write J λ for Jᵀλ",
        0,
        contact.len() == 3,
    );
    report.differs(
        "eq. 22: γE in the friction rows",
        "γE",
        format!("γ has {} entry a contact, E {} rows and {} column: only Eγ is there, the slip against both directions", 1, 2, 1),
        "Eq. 22 writes γE for Eγ",
        0,
        sliding.slip.len() == 1 && sliding.friction_impulse.len() == 2 && (sliding.slip[0] - sliding.velocity[1]).abs() < 1e-9,
    );
    let parts = solve(&mass, &[0.0, 0.0, 1.0], &[0.0; 3], h, [&[], &contact, &tangents], &[mu], &[0.0])?;
    let rests = solve(&mass, &[0.0; 3], &load, h, [&[], &contact, &tangents], &[mu], &[0.0])?;
    report.differs(
        "before eq. 21: the contrary case",
        "λ_c = 0",
        format!(
            "a contact that parts has a = {} m/s and no λ_c; one that does not has λ_c = {} N s and no a, to 1e-12",
            digits(parts.velocity[2], 3),
            digits(rests.contact_impulse[0], 4)
        ),
        "in the contrary case before eq. 21 it is a that vanishes",
        0,
        parts.contact_impulse[0].abs() < 1e-12 && rests.velocity[2].abs() < 1e-12 && rests.contact_impulse[0] > 0.1,
    );
    // s'z of the block that slides: a λ_c + σ'λ_f + ζ γ.
    let (slip, speed) = (sliding.slip[0], sliding.velocity[1]);
    let spare = mu * sliding.contact_impulse[0] - sliding.friction_impulse.iter().sum::<f64>();
    let product = sliding.velocity[2] * sliding.contact_impulse[0]
        + (slip + speed) * sliding.friction_impulse[0]
        + (slip - speed) * sliding.friction_impulse[1]
        + spare * slip;
    // The same slack with no friction at all is as good for s'z ≥ 0.
    let loose = mu * sliding.contact_impulse[0] * slip;
    report.differs(
        "eq. 24: complementarity",
        "s'z ≥ 0",
        format!(
            "of the block that slides s'z is 0 to 1e-10: {}; without friction {}, which s'z ≥ 0 allows",
            product.abs() < 1e-10,
            digits(loose, 3)
        ),
        "Eq. 24: sᵀz = 0, not ≥ 0",
        1,
        product.abs() < 1e-10 && loose > 0.01,
    );
    report.differs(
        "eq. 23, right side: the friction rows",
        "c, as in the contact rows",
        format!(
            "c has 1 entry a contact, these rows 2; the ball that leaves at half its speed has γ = {}, and γ + c = {} < 0 would refuse it",
            digits(bounce.slip[0].max(0.0), 1),
            digits(bounce.slip[0] - 1.5, 3)
        ),
        "c stands twice on the right of eq. 23",
        0,
        bounce.slip[0].abs() < 1e-9,
    );
    let pushed = |force: f64| solve(&mass, &[0.0; 3], &[0.0, force, -2.0 * G], h, [&[], &contact, &tangents], &[mu], &[0.0]);
    let shares = [1.0, -1.0].map(|side| {
        pushed(side * 2.0 * mu * 2.0 * G).map(|out| (out.friction_impulse[0] - out.friction_impulse[1]) / (mu * out.contact_impulse[0]))
    });
    let [right, left] = shares;
    let (right, left) = (right?, left?);
    report.words(
        "A.2: f_fric ≤ μ f_normal",
        "a bound, with one coefficient for sticking and sliding",
        format!("of the magnitudes: pushed with 2 μ m g to either side f_fric = {} and {} μ f_normal", digits(right, 6), digits(left, 6)),
        (right.abs() - 1.0).abs() < 1e-9 && (right + left).abs() < 1e-9,
    );
    let mut points = (vec![], vec![]);
    for k in 0..=40 {
        let force = 0.02 * k as f64 * 2.0 * G;
        let out = solve(&mass, &[0.0; 3], &[0.0, force, -2.0 * G], h, [&[], &contact, &tangents], &[mu], &[0.0])?;
        points.0.push((force, out.friction_impulse.iter().sum::<f64>() / h));
        points.1.push((force, out.velocity[1] * 100.0));
    }
    report.chart =
        Chart::new("A block pushed along the floor: friction follows, then stays at μ m g", "force [N]", "friction [N], velocity [cm/s]")
            .with("friction", Style::Line, points.0)
            .with("velocity after 10 ms", Style::Line, points.1);
    Ok(())
}

pub fn section_a5(report: &mut Report) -> Result<(), Failure> {
    // A ball at 1 m/s between two walls with different restitution: v' ≥ −0.5 and −v' ≥ 0.8 at once.
    let out = solve(&[1.0], &[1.0], &[0.0], 0.01, [&[], &[1.0, -1.0], &[]], &[], &[0.5, -0.8])?;
    report.differs("a velocity-based formulation has a solution, even with friction", "guaranteed", format!("with c = 0 yes; for a ball wedged between walls with k = 0.5 and 0.8 there is none (v' ≥ −0.5 and v' ≤ −0.8), and the status is {}", if out.status == Status::Solved { "solved" } else { "not solved" }), "A.5 claims a solution always exists", 0, out.status != Status::Solved);
    let mut random = Random::new(5);
    let (mut solved, mut points) = (0, Vec::new());
    const CASES: usize = 200;
    for number in 0..CASES {
        let m = 1 + random.below(8);
        let problem = random_contacts(&mut random, m, 1.0);
        let out = problem.solve()?;
        solved += usize::from(out.status == Status::Solved);
        points.push((number as f64, out.residual.max(1e-17).log10()));
    }
    report.words(
        "without restitution",
        "guaranteed",
        format!("{solved} of {CASES} random problems with friction up to 1"),
        solved == CASES,
    );
    report.chart = Chart::new("Residuals of random problems without restitution", "problem", "log₁₀ of the relative residual").with(
        "problems",
        Style::Dots,
        points,
    );
    Ok(())
}

/// A random planar problem: bodies, contacts between them and the world.
pub struct RandomProblem {
    mass: Vec<f64>,
    velocity: Vec<f64>,
    contacts: Vec<f64>,
    tangents: Vec<f64>,
    friction: Vec<f64>,
}

impl RandomProblem {
    fn solve(&self) -> Result<DynamicsOutput, Failure> {
        let d = self.mass.len();
        solve(
            &self.mass,
            &self.velocity,
            &vec![0.0; d],
            0.01,
            [&[], &self.contacts, &self.tangents],
            &self.friction,
            &vec![0.0; self.friction.len()],
        )
    }
}

fn random_contacts(random: &mut Random, m: usize, friction: f64) -> RandomProblem {
    let bodies = 1 + m / 2;
    let d = 3 * bodies;
    let mut out =
        RandomProblem { mass: Vec::new(), velocity: Vec::new(), contacts: Vec::new(), tangents: Vec::new(), friction: Vec::new() };
    for _ in 0..bodies {
        let mass = random.between(0.5, 2.0);
        out.mass.extend([0.2 * mass, mass, mass]);
        out.velocity.extend([random.between(-1.0, 1.0), random.between(-1.0, 1.0), random.between(-2.0, 0.0)]);
    }
    for i in 0..m {
        // Each body stands on the world from above, some also on each other.
        let (a, b) = (i % bodies, (i / bodies + i) % (bodies + 1));
        let angle = random.between(0.3, 2.8);
        let (n, t) = ([angle.cos(), angle.sin()], [-angle.sin(), angle.cos()]);
        let arm = [random.between(-0.5, 0.5), random.between(-0.5, 0.5)];
        let mut rows = [vec![0.0; d], vec![0.0; d]];
        for (row, dir) in rows.iter_mut().zip([n, t]) {
            row[3 * a] = arm[0] * dir[1] - arm[1] * dir[0];
            row[3 * a + 1] = dir[0];
            row[3 * a + 2] = dir[1];
            if b < bodies && b != a {
                let other = [-arm[1], arm[0]];
                row[3 * b] = -(other[0] * dir[1] - other[1] * dir[0]);
                row[3 * b + 1] = -dir[0];
                row[3 * b + 2] = -dir[1];
            }
        }
        out.contacts.extend(&rows[0]);
        out.tangents.extend(&rows[1]);
        out.tangents.extend(rows[1].iter().map(|x| -x));
        out.friction.push(random.between(0.0, friction));
    }
    out
}

pub fn section_b1(report: &mut Report) -> Result<(), Failure> {
    let mut random = Random::new(1);
    let mut chart = Chart::new("Iterations of the interior point", "contacts", "iterations");
    let (mut medians, mut points, mut fell, mut worst): (Vec<f64>, Vec<(f64, f64)>, usize, f64) = (Vec::new(), Vec::new(), 0, 0.0);
    for m in [1usize, 2, 4, 8, 14] {
        let mut counts = Vec::new();
        for _ in 0..60 {
            let out = random_contacts(&mut random, m, 1.0).solve()?;
            worst = worst.max(out.residual);
            match out.method {
                Method::InteriorPoint => counts.push(out.iterations as f64),
                Method::Trivial => {}
                _ => fell += 1,
            }
        }
        counts.sort_by(f64::total_cmp);
        medians.push(counts.get(counts.len() / 2).copied().unwrap_or(f64::NAN));
        points.extend(counts.iter().map(|c| (m as f64, *c)));
    }
    chart = chart.with("problems", Style::Dots, points).with(
        "median",
        Style::Both,
        [1.0, 2.0, 4.0, 8.0, 14.0].into_iter().zip(medians.iter().copied()).collect(),
    );
    let mut hard = (0, 0);
    for _ in 0..60 {
        let out = random_contacts(&mut random, 14, 3.0).solve()?;
        hard.0 += usize::from(out.status == Status::Solved && out.method == Method::InteriorPoint);
        hard.1 += usize::from(out.status == Status::Solved);
    }
    report.words(
        "iterations until residuals and duality gap are small",
        "not given",
        format!("medians {} for 1, 2, 4, 8, 14 contacts, friction up to 1; {fell} of 300 went to Lemke's method", list(&medians, 2)),
        medians.iter().all(|m| *m <= 30.0),
    );
    report.words(
        "convergence",
        "no proof: F is not monotone for μ > 0",
        format!("14 contacts, friction up to 3: {} of 60 by the interior point, {} of 60 with the fallback", hard.0, hard.1),
        hard.1 >= 58,
    );
    report.words("residual reached", "\"stopping criteria\"", format!("below 1e-8 in all: {}", worst < 1e-8), worst < 1e-8);
    report.chart = chart;
    Ok(())
}
