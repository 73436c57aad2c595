//! The dynamics problem as a kernel, arrays in and arrays out: one velocity-level step with joints, contacts and polyhedral friction.
//!
//! De Avila Belbute-Peres et al. 2018, supplement, eq. 23 with its signs corrected; theory (4.25)-(4.29). Joints are eliminated by their
//! Schur complement; what remains is a linear complementarity problem, given to the interior point first and to Lemke's method second.

pub mod adjoint;
mod change;
mod joints;
mod mass;

use carom_math::dense::{add_scaled, dot, max_abs};
use carom_solve::contact::dense::interior_point::InteriorPoint;
use carom_solve::contact::dense::lemke::Lemke;
use carom_solve::interrupt::Interrupt;
use carom_solve::status::{Method, Outcome, SPEED_FLOOR, Status};
use joints::Joints;
use mass::MassFactor;

pub use adjoint::{DynamicsDerivative, backward};
pub use change::{DynamicsChange, MassChange};
pub use joints::JOINT_REGULARISATION;

/// Part of a row's inverse mass that joints must leave for the row to act; below it the joints lock its direction.
pub const LOCKED_SHARE: f64 = 1e-9;

/// The mass matrix M of d freedoms, symmetric positive definite.
#[derive(Clone, Copy, Debug)]
pub enum Mass<'a> {
    /// Its diagonal, length d.
    Diagonal(&'a [f64]),
    /// The whole of it, d x d row-major.
    Dense(&'a [f64]),
    /// Square blocks along the diagonal, each row-major.
    Blocks(&'a [Vec<f64>]),
}

/// Input of [`dynamics`]: d freedoms, e joint rows, m contacts, t friction directions per contact. Empty slices stand for "none".
#[derive(Clone, Copy, Debug)]
pub struct DynamicsInput<'a> {
    /// Mass matrix.
    pub mass: Mass<'a>,
    /// Velocity before the step, length d.
    pub velocity: &'a [f64],
    /// Force, length d.
    pub force: &'a [f64],
    /// Length of the step \[s\], at least 0.
    pub step: f64,
    /// Joint rows Je, e x d: Je v+ = 0.
    pub joints: &'a [f64],
    /// Contact rows Jc, m x d.
    pub contacts: &'a [f64],
    /// Friction directions Jf, m x t x d; empty without friction. In the plane t = 2: d and -d.
    pub tangents: &'a [f64],
    /// Coefficients of friction, length m; empty without friction.
    pub friction: &'a [f64],
    /// Coefficients of restitution k, length m: c = k min(0, Jc v). Empty for none.
    pub restitution: &'a [f64],
    /// Bias c itself, length m: Jc v+ + c >= 0. Overrides `restitution` unless empty.
    pub bias: &'a [f64],
    /// Wanted relative residual.
    pub tolerance: f64,
}

/// Result of [`dynamics`].
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicsOutput {
    /// Velocity after the step, length d.
    pub velocity: Vec<f64>,
    /// Joint impulses, length e (of least norm when joints are redundant).
    pub joint_impulse: Vec<f64>,
    /// Contact impulses, length m, not negative.
    pub contact_impulse: Vec<f64>,
    /// Friction impulses per direction, m x t, not negative.
    pub friction_impulse: Vec<f64>,
    /// Slip speed gamma of each contact, length m; 0 where it sticks or is open.
    pub slip: Vec<f64>,
    /// Largest violation of (4.25)-(4.27) in velocity, relative to the largest row velocity.
    pub residual: f64,
    /// Linear solves and pivots.
    pub iterations: usize,
    /// Method that gave the result.
    pub method: Method,
    /// How it ended.
    pub status: Status,
}

/// Why an input of [`dynamics`] is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum DynamicsError {
    /// An argument has a length that does not fit the others.
    Shape {
        /// Name of the argument.
        argument: &'static str,
        /// Length that would fit (or of which it must be a multiple).
        expected: usize,
        /// Length found.
        found: usize,
    },
    /// An argument holds a number that is not finite.
    NotFinite {
        /// Name of the argument.
        argument: &'static str,
    },
    /// An argument that must not be negative is.
    Negative {
        /// Name of the argument.
        argument: &'static str,
    },
    /// The mass matrix is not symmetric positive definite.
    Mass,
}

impl std::fmt::Display for DynamicsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DynamicsError::Shape { argument, expected, found } => {
                write!(f, "{argument}: {found} numbers where {expected} (or a multiple) would fit")
            }
            DynamicsError::NotFinite { argument } => write!(f, "{argument}: a number is not finite"),
            DynamicsError::Negative { argument } => write!(f, "{argument}: must not be negative"),
            DynamicsError::Mass => write!(f, "mass: must be symmetric and positive definite"),
        }
    }
}

impl std::error::Error for DynamicsError {}

/// Solves one dynamics problem; theory (4.25)-(4.29).
///
/// # Errors
/// Refuses shapes that disagree, numbers that are not finite, negative friction, restitution or step, and a mass that is not positive
/// definite. A problem without a solution (restitution on opposing contacts) is not an error: its status says so.
pub fn dynamics(input: &DynamicsInput) -> Result<DynamicsOutput, DynamicsError> {
    let sizes = Sizes::check(input)?;
    let Sizes { d, e, m, t } = sizes;
    let mass = MassFactor::new(input.mass, d)?;

    // Velocity without constraints.
    let mut free = input.force.to_vec();
    free.iter_mut().for_each(|f| *f *= input.step);
    mass.solve(&mut free);
    add_scaled(&mut free, 1.0, input.velocity);

    // Joints: A_e = Je M^-1 Je', and the velocity that obeys them (4.28).
    let joints = Joints::new(input.joints, d, e, &mass)?;
    let mut moved = free.clone();
    joints.project(&mut moved);

    // Rows that may act: contacts with their friction directions. J M~^-1 J' must not be mistaken where joints lock a row.
    let rows: Vec<&[f64]> = input.contacts.chunks_exact(d.max(1)).chain(input.tangents.chunks_exact(d.max(1))).collect();
    let mut responses = Vec::with_capacity(rows.len());
    let mut acts = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut response = row.to_vec();
        mass.solve(&mut response);
        let before = dot(row, &response);
        joints.project(&mut response);
        acts.push(dot(row, &response) > LOCKED_SHARE * before);
        responses.push(response);
    }

    // The complementarity problem (4.29), each contact scaled by the root of its own inverse mass.
    let width = if t > 0 { t + 2 } else { 1 };
    let size = m * width;
    let scale: Vec<f64> = (0..m)
        .map(|i| {
            let own = dot(rows[i], &responses[i]);
            if acts[i] { 1.0 / own.sqrt() } else { 0.0 }
        })
        .collect();
    let bias = bias(input, d, m);
    let mut matrix = vec![0.0; size * size];
    let mut offset = vec![0.0; size];
    let row_of = |i: usize, k: usize| if k == 0 { i } else { m + i * t + k - 1 };
    for i in 0..m {
        for k in 0..=t {
            let r = row_of(i, k);
            let place = i * width + k;
            if !acts[i] || !acts[r] {
                // A row that cannot act keeps its impulse at zero: s = z + 1.
                matrix[place * size + place] = 1.0;
                offset[place] = 1.0;
                continue;
            }
            let bias = if k == 0 { bias[i] } else { 0.0 };
            offset[place] = scale[i] * (dot(rows[r], &moved) + bias);
            for j in 0..m {
                for l in 0..=t {
                    let c = row_of(j, l);
                    if acts[j] && acts[c] {
                        matrix[place * size + j * width + l] = scale[i] * scale[j] * dot(rows[r], &responses[c]);
                    }
                }
            }
            if k > 0 {
                matrix[place * size + i * width + t + 1] = 1.0;
            }
        }
        if t > 0 {
            let place = (i * width + t + 1) * size;
            matrix[place + i * width] = input.friction[i];
            for k in 1..=t {
                matrix[place + i * width + k] = -1.0;
            }
        }
    }
    let speed = max_abs(&offset);
    if speed > 0.0 {
        offset.iter_mut().for_each(|r| *r /= speed);
    }

    // The methods in turn, each judged by what it means for the velocity; the best is returned.
    let mut best: Option<DynamicsOutput> = None;
    let mut iterations = 0;
    let mut solution = vec![0.0; size];
    for method in [Method::InteriorPoint, Method::Lemke] {
        let outcome = match method {
            Method::Lemke => Lemke::new().solve(&matrix, &offset, &mut solution, &Interrupt::NEVER),
            _ => InteriorPoint::new().solve(&matrix, &offset, &mut solution, &Interrupt::NEVER),
        };
        iterations += outcome.iterations;
        let at = |i: usize, k: usize| solution[i * width + k].max(0.0) * scale[i] * speed;
        let mut output = DynamicsOutput {
            velocity: free.clone(),
            joint_impulse: vec![0.0; e],
            contact_impulse: (0..m).map(|i| at(i, 0)).collect(),
            friction_impulse: (0..m * t).map(|r| if acts[m + r] { at(r / t, r % t + 1) } else { 0.0 }).collect(),
            slip: vec![0.0; m],
            residual: f64::INFINITY,
            iterations,
            method,
            status: Status::Failed,
        };
        for (row, l) in rows.iter().zip(output.contact_impulse.iter().chain(&output.friction_impulse)) {
            let mut kick = row.to_vec();
            mass.solve(&mut kick);
            add_scaled(&mut output.velocity, *l, &kick);
        }
        joints.impulses(&mut output.velocity, &mut output.joint_impulse);
        output.residual = judge(input, sizes, &rows, &responses, &bias, speed_of(&rows, &free, &bias), &mut output);
        output.status = Outcome::judge(output.residual, input.tolerance, iterations, method).status;
        let done = output.status == Status::Solved;
        if best.as_ref().is_none_or(|b| output.residual < b.residual) {
            best = Some(output);
        }
        if done {
            break;
        }
    }
    let mut best = best.ok_or(DynamicsError::Mass)?;
    best.iterations = iterations;
    Ok(best)
}

/// The numbers d, e, m and t of an input.
#[derive(Clone, Copy)]
struct Sizes {
    d: usize,
    e: usize,
    m: usize,
    t: usize,
}

impl Sizes {
    /// Reads the sizes and checks every argument against them.
    fn check(input: &DynamicsInput) -> Result<Self, DynamicsError> {
        let d = input.velocity.len();
        let shape = |argument, expected, found| Err(DynamicsError::Shape { argument, expected, found });
        let rows = |argument, numbers: &[f64]| {
            let whole = if d == 0 { numbers.is_empty() } else { numbers.len().is_multiple_of(d) };
            if whole { Ok(numbers.len() / d.max(1)) } else { Err(DynamicsError::Shape { argument, expected: d, found: numbers.len() }) }
        };
        if input.force.len() != d {
            return shape("force", d, input.force.len());
        }
        let e = rows("joints", input.joints)?;
        let m = rows("contacts", input.contacts)?;
        let tangents = rows("tangents", input.tangents)?;
        if (m == 0 && tangents > 0) || (m > 0 && !tangents.is_multiple_of(m)) {
            return shape("tangents", m * d, input.tangents.len());
        }
        let per_contact = |argument, numbers: &[f64]| {
            if numbers.is_empty() || numbers.len() == m {
                Ok(())
            } else {
                Err(DynamicsError::Shape { argument, expected: m, found: numbers.len() })
            }
        };
        per_contact("friction", input.friction)?;
        per_contact("restitution", input.restitution)?;
        per_contact("bias", input.bias)?;
        let arguments = [
            ("velocity", input.velocity),
            ("force", input.force),
            ("joints", input.joints),
            ("contacts", input.contacts),
            ("tangents", input.tangents),
            ("friction", input.friction),
            ("restitution", input.restitution),
            ("bias", input.bias),
            ("step", std::slice::from_ref(&input.step)),
            ("tolerance", std::slice::from_ref(&input.tolerance)),
        ];
        for (argument, numbers) in arguments {
            if !numbers.iter().all(|x| x.is_finite()) {
                return Err(DynamicsError::NotFinite { argument });
            }
        }
        let not_negative = [("friction", input.friction), ("restitution", input.restitution), ("step", std::slice::from_ref(&input.step))];
        for (argument, numbers) in not_negative {
            if numbers.iter().any(|x| *x < 0.0) {
                return Err(DynamicsError::Negative { argument });
            }
        }
        let t = if m == 0 || input.friction.is_empty() { 0 } else { tangents / m };
        Ok(Sizes { d, e, m, t })
    }
}

/// The bias c: given, or k min(0, Jc v); a contact that separates must not re-approach.
fn bias(input: &DynamicsInput, d: usize, m: usize) -> Vec<f64> {
    if !input.bias.is_empty() {
        input.bias.to_vec()
    } else if input.restitution.is_empty() {
        vec![0.0; m]
    } else {
        input.contacts.chunks_exact(d.max(1)).zip(input.restitution).map(|(row, k)| k * dot(row, input.velocity).min(0.0)).collect()
    }
}

/// The speed that makes residuals relative: the largest row velocity without impulses, plus a floor.
fn speed_of(rows: &[&[f64]], free: &[f64], bias: &[f64]) -> f64 {
    let largest = rows.iter().map(|row| dot(row, free).abs()).fold(max_abs(bias), f64::max);
    largest + SPEED_FLOOR
}

/// Largest violation of (4.25)-(4.27) by the velocity and impulses of `output`, in velocity relative to `speed`; sets its slip speeds.
fn judge(
    input: &DynamicsInput,
    sizes: Sizes,
    rows: &[&[f64]],
    responses: &[Vec<f64>],
    bias: &[f64],
    speed: f64,
    output: &mut DynamicsOutput,
) -> f64 {
    let Sizes { d, m, t, .. } = sizes;
    let v = &output.velocity;
    let mut worst = 0.0f64;
    let mut sum = v.iter().sum::<f64>();
    for row in input.joints.chunks_exact(d.max(1)) {
        worst = worst.max(dot(row, v).abs());
    }
    for i in 0..m {
        let own = dot(rows[i], &responses[i]).max(0.0);
        let normal = dot(rows[i], v) + bias[i];
        worst = worst.max((own * output.contact_impulse[i]).min(normal).abs());
        // The slip speed that fits best: the fastest friction direction against the motion.
        let slip = (0..t).map(|k| -dot(rows[m + i * t + k], v)).fold(0.0f64, f64::max);
        let mut room = if t > 0 { input.friction[i] * output.contact_impulse[i] } else { 0.0 };
        for k in 0..t {
            let r = m + i * t + k;
            let own = dot(rows[r], &responses[r]).max(0.0);
            room -= output.friction_impulse[i * t + k];
            worst = worst.max((own * output.friction_impulse[i * t + k]).min(dot(rows[r], v) + slip).abs());
        }
        if t > 0 {
            let lateral = dot(rows[m + i * t], &responses[m + i * t]).max(0.0);
            worst = worst.max((lateral * room).min(slip).abs());
            output.slip[i] = if output.contact_impulse[i] > 0.0 { slip } else { 0.0 };
        }
        sum += normal + slip + room;
    }
    if sum.is_finite() { worst / speed } else { f64::INFINITY }
}

#[cfg(test)]
mod adjoint_tests;
#[cfg(test)]
mod tests;
