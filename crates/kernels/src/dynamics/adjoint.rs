//! The derivative of the dynamics problem, forwards and backwards, for every argument; theory (16.5)-(16.8).
//!
//! De Avila Belbute-Peres et al. 2018, supplement B.2, with the errors of its printed matrix removed and written for the impulses that act:
//! contacts that touch, the friction directions that work, the slip speed of those that slide. The rest stays zero.

use super::change::{DynamicsChange, MassChange};
use super::joints::Joints;
use super::mass::MassFactor;
use super::{DynamicsError, DynamicsInput, DynamicsOutput, LOCKED_SHARE, Sizes, bias, speed_of};
use carom_math::consistent::Consistent;
use carom_math::dense::{add_scaled, dot};
use carom_solve::contact::dense::contact_derivative::{WEAK, Weak};
use carom_solve::status::RESIDUAL_WANTED;

/// Relative size below which a side of a complementarity is what a solve may leave of zero; see [`carom_solve::contact::dense::contact_derivative`].
const NOTHING: f64 = 10.0 * RESIDUAL_WANTED;

/// Squared length a friction direction must add to those before it, relative to its own, to count as independent of them.
const INDEPENDENT: f64 = 1e-9;

/// One unknown of the active system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    /// Impulse of a row: contact i, or friction direction m + i t + k.
    Row(usize),
    /// Slip speed of contact i.
    Slip(usize),
}

/// The derivative of one solved dynamics problem.
pub struct DynamicsDerivative<'a> {
    input: DynamicsInput<'a>,
    output: &'a DynamicsOutput,
    sizes: Sizes,
    mass: MassFactor,
    joints: Joints<'a>,
    rows: Vec<&'a [f64]>,
    unknowns: Vec<Unknown>,
    system: Consistent,
    weak: Weak,
}

impl<'a> DynamicsDerivative<'a> {
    /// Reads off a solution which impulses act, and factors their system.
    ///
    /// # Errors
    /// As [`dynamics`](super::dynamics), and [`DynamicsError::Shape`] when the output is not of this input.
    pub fn new(input: &DynamicsInput<'a>, output: &'a DynamicsOutput) -> Result<Self, DynamicsError> {
        let sizes = Sizes::check(input)?;
        let Sizes { d, e, m, t } = sizes;
        for (found, expected) in [
            (output.velocity.len(), d),
            (output.joint_impulse.len(), e),
            (output.contact_impulse.len(), m),
            (output.friction_impulse.len(), m * t),
        ] {
            if found != expected {
                return Err(DynamicsError::Shape { argument: "output", expected, found });
            }
        }
        let mass = MassFactor::new(input.mass, d)?;
        let joints = Joints::new(input.joints, d, e, &mass)?;
        let tangents = if t > 0 { input.tangents } else { &[] };
        let rows: Vec<&[f64]> = input.contacts.chunks_exact(d.max(1)).chain(tangents.chunks_exact(d.max(1))).collect();
        let mut derivative = DynamicsDerivative {
            input: *input,
            output,
            sizes,
            mass,
            joints,
            rows,
            unknowns: vec![],
            system: Consistent::default(),
            weak: Weak::default(),
        };
        derivative.assemble()?;
        Ok(derivative)
    }

    /// Contacts at a switch, where the derivative is one-sided.
    pub fn weak(&self) -> Weak {
        self.weak
    }

    /// M~^-1 x: the velocity that impulses x make once the joints have answered.
    fn respond(&self, x: &[f64]) -> Vec<f64> {
        let mut y = x.to_vec();
        self.mass.solve(&mut y);
        self.joints.project(&mut y);
        y
    }

    /// Lists the unknowns and factors (16.6).
    fn assemble(&mut self) -> Result<(), DynamicsError> {
        let responses: Vec<Vec<f64>> = self.rows.iter().map(|row| self.respond(row)).collect();
        self.collect(&responses);
        let Sizes { m, t, .. } = self.sizes;
        let n = self.unknowns.len();
        let matrix = self.system.matrix(n);
        for (a, row) in self.unknowns.iter().enumerate() {
            for (b, column) in self.unknowns.iter().enumerate() {
                let of_contact = |r: usize, i: usize| r >= m && (r - m) / t.max(1) == i;
                matrix[a * n + b] = match (*row, *column) {
                    (Unknown::Row(r), Unknown::Row(c)) => dot(self.rows[r], &responses[c]),
                    (Unknown::Row(r), Unknown::Slip(i)) if of_contact(r, i) => 1.0,
                    (Unknown::Slip(i), Unknown::Row(c)) if c == i => self.input.friction[i],
                    (Unknown::Slip(i), Unknown::Row(c)) if of_contact(c, i) => -1.0,
                    _ => 0.0,
                };
            }
        }
        if self.system.factor() { Ok(()) } else { Err(DynamicsError::Mass) }
    }

    /// Which impulses act, by the larger side of each complementarity; counts those at a switch.
    fn collect(&mut self, responses: &[Vec<f64>]) {
        let Sizes { d, m, t, .. } = self.sizes;
        let (input, output, rows) = (&self.input, self.output, &self.rows);
        let v = &output.velocity;
        let bias = bias(input, d, m);
        let mut free = input.force.to_vec();
        free.iter_mut().for_each(|f| *f *= input.step);
        self.mass.solve(&mut free);
        add_scaled(&mut free, 1.0, input.velocity);
        let unit = speed_of(rows, &free, &bias);
        let (small, nothing) = (WEAK * unit, NOTHING * unit);
        let own = |r: usize| dot(rows[r], &responses[r]).max(0.0);
        let acts = |r: usize| {
            let mut alone = rows[r].to_vec();
            self.mass.solve(&mut alone);
            own(r) > LOCKED_SHARE * dot(rows[r], &alone)
        };
        for i in 0..m {
            let (pushed, parted) = (own(i) * output.contact_impulse[i], dot(rows[i], v) + bias[i]);
            let touches = pushed >= parted || parted < nothing;
            let barely = pushed.max(parted) < small;
            self.weak.normal += usize::from(barely);
            if !acts(i) || !touches {
                continue;
            }
            self.unknowns.push(Unknown::Row(i));
            if t == 0 {
                continue;
            }
            let directions: Vec<usize> = (m + i * t..m + (i + 1) * t).filter(|&r| acts(r)).collect();
            let slip = directions.iter().map(|&r| -dot(rows[r], v)).fold(0.0f64, f64::max);
            let lateral = directions.iter().map(|&r| own(r)).fold(0.0f64, f64::max);
            let room = lateral * (input.friction[i] * output.contact_impulse[i] - self.effort(&directions));
            let slides = slip > room && slip >= nothing;
            let mut at_switch = room.max(slip) < small;
            let mut chosen: Vec<usize> = vec![];
            for &r in &directions {
                let (pushed, parted) = (own(r) * output.friction_impulse[r - m], dot(rows[r], v) + slip);
                if slides && pushed.max(parted) < small {
                    at_switch = true; // between a corner and a side
                }
                if (pushed >= parted || parted < nothing) && independent(r, &chosen, rows, responses) {
                    chosen.push(r);
                }
            }
            self.weak.friction += usize::from(at_switch && !barely);
            self.unknowns.extend(chosen.into_iter().map(Unknown::Row));
            if slides {
                self.unknowns.push(Unknown::Slip(i));
            }
        }
    }

    /// Sum of the friction impulses of a contact, what opposite directions have in common taken away: it does nothing.
    fn effort(&self, directions: &[usize]) -> f64 {
        let (m, rows) = (self.sizes.m, &self.rows);
        let mut left: Vec<f64> = directions.iter().map(|&r| self.output.friction_impulse[r - m]).collect();
        for a in 0..left.len() {
            for b in 0..a {
                let opposite = rows[directions[a]].iter().zip(rows[directions[b]]).all(|(x, y)| *x == -*y);
                if opposite {
                    let common = left[a].min(left[b]);
                    left[a] -= common;
                    left[b] -= common;
                }
            }
        }
        left.iter().sum()
    }

    /// Impulse of a row.
    fn impulse(&self, r: usize) -> f64 {
        let m = self.sizes.m;
        if r < m { self.output.contact_impulse[r] } else { self.output.friction_impulse[r - m] }
    }

    /// Change of the velocity after the step under a change of the arguments, theory (16.7).
    ///
    /// # Errors
    /// [`DynamicsError::Shape`] when the change is not of the input's shape.
    pub fn tangent(&mut self, change: &DynamicsChange) -> Result<Vec<f64>, DynamicsError> {
        change.check(&self.input)?;
        let Sizes { d, e, m, t } = self.sizes;
        let (input, v) = (self.input, &self.output.velocity);
        // What the momentum balance is driven by: M dv0 + dM (v0 - v) + dh f + h df + dJ' l.
        let lost: Vec<f64> = input.velocity.iter().zip(v).map(|(before, after)| before - after).collect();
        let mut drive = MassChange::of(input.mass).multiply(&change.velocity);
        add_scaled(&mut drive, 1.0, &change.mass.multiply(&lost));
        add_scaled(&mut drive, change.step, input.force);
        add_scaled(&mut drive, input.step, &change.force);
        let row_change = |r: usize| {
            if r < m { &change.contacts[r * d..(r + 1) * d] } else { &change.tangents[(r - m) * d..(r - m + 1) * d] }
        };
        for r in 0..m + m * t {
            add_scaled(&mut drive, self.impulse(r), row_change(r));
        }
        for j in 0..e {
            add_scaled(&mut drive, self.output.joint_impulse[j], &change.joints[j * d..(j + 1) * d]);
        }
        let joint_speed: Vec<f64> = (0..e).map(|j| -dot(&change.joints[j * d..(j + 1) * d], v)).collect();
        let mut moved = self.respond(&drive);
        add_scaled(&mut moved, 1.0, &self.joints.driven(&joint_speed));
        // (16.6): what the active rows still miss.
        let bias_change = self.bias_change(change);
        let mut x: Vec<f64> = self
            .unknowns
            .iter()
            .map(|unknown| match *unknown {
                Unknown::Row(r) => -(dot(self.rows[r], &moved) + dot(row_change(r), v) + if r < m { bias_change[r] } else { 0.0 }),
                Unknown::Slip(i) => -self.output.contact_impulse[i] * change.friction[i],
            })
            .collect();
        self.system.solve(&mut x);
        let mut kick = vec![0.0; d];
        for (unknown, x) in self.unknowns.iter().zip(&x) {
            if let Unknown::Row(r) = *unknown {
                add_scaled(&mut kick, *x, self.rows[r]);
            }
        }
        add_scaled(&mut moved, 1.0, &self.respond(&kick));
        Ok(moved)
    }

    /// Cotangents of every argument for a cotangent of the velocity after the step (length d), theory (16.8).
    ///
    /// # Errors
    /// [`DynamicsError::Shape`] when the cotangent is not of length d.
    pub fn backward(&mut self, velocity_bar: &[f64]) -> Result<DynamicsChange, DynamicsError> {
        let Sizes { d, e, m, t } = self.sizes;
        if velocity_bar.len() != d {
            return Err(DynamicsError::Shape { argument: "velocity_bar", expected: d, found: velocity_bar.len() });
        }
        let (input, v) = (self.input, &self.output.velocity);
        let response = self.respond(velocity_bar);
        let mut y: Vec<f64> = self
            .unknowns
            .iter()
            .map(|unknown| match *unknown {
                Unknown::Row(r) => dot(self.rows[r], &response),
                Unknown::Slip(_) => 0.0,
            })
            .collect();
        self.system.solve_transpose(&mut y);
        // What is left of the cotangent once the active rows have taken their part.
        let mut rest = velocity_bar.to_vec();
        for (unknown, y) in self.unknowns.iter().zip(&y) {
            if let Unknown::Row(r) = *unknown {
                add_scaled(&mut rest, -y, self.rows[r]);
            }
        }
        let drive_bar = self.respond(&rest);
        let joint_bar = self.joints.driven_transpose(&rest);

        let mut bar = DynamicsChange::zero(&input);
        let lost: Vec<f64> = input.velocity.iter().zip(v).map(|(before, after)| before - after).collect();
        bar.mass.outer(&drive_bar, &lost);
        bar.velocity = MassChange::of(input.mass).multiply(&drive_bar);
        add_scaled(&mut bar.force, input.step, &drive_bar);
        bar.step = dot(input.force, &drive_bar);
        for j in 0..e {
            let row = &mut bar.joints[j * d..(j + 1) * d];
            add_scaled(row, self.output.joint_impulse[j], &drive_bar);
            add_scaled(row, -joint_bar[j], v);
        }
        for r in 0..m + m * t {
            let impulse = self.impulse(r);
            let row = if r < m { &mut bar.contacts[r * d..(r + 1) * d] } else { &mut bar.tangents[(r - m) * d..(r - m + 1) * d] };
            add_scaled(row, impulse, &drive_bar);
        }
        let mut bias_bar = vec![0.0; m];
        for (unknown, y) in self.unknowns.iter().zip(&y) {
            match *unknown {
                Unknown::Row(r) if r < m => {
                    add_scaled(&mut bar.contacts[r * d..(r + 1) * d], -y, v);
                    bias_bar[r] = -y;
                }
                Unknown::Row(r) => add_scaled(&mut bar.tangents[(r - m) * d..(r - m + 1) * d], -y, v),
                Unknown::Slip(i) => bar.friction[i] = -y * self.output.contact_impulse[i],
            }
        }
        // c itself, or k min(0, Jc v0), theory (4.26).
        if !input.bias.is_empty() {
            bar.bias = bias_bar;
        } else if !input.restitution.is_empty() {
            for i in 0..m {
                let closing = dot(self.rows[i], input.velocity);
                if closing < 0.0 {
                    bar.restitution[i] = bias_bar[i] * closing;
                    let slope = bias_bar[i] * input.restitution[i];
                    add_scaled(&mut bar.contacts[i * d..(i + 1) * d], slope, input.velocity);
                    add_scaled(&mut bar.velocity, slope, self.rows[i]);
                }
            }
        }
        Ok(bar)
    }

    /// Change of the bias c.
    fn bias_change(&self, change: &DynamicsChange) -> Vec<f64> {
        let Sizes { d, m, .. } = self.sizes;
        if !self.input.bias.is_empty() {
            return change.bias.clone();
        }
        let mut bias = vec![0.0; m];
        if !self.input.restitution.is_empty() {
            for i in 0..m {
                let closing = dot(self.rows[i], self.input.velocity);
                if closing < 0.0 {
                    let closes = dot(&change.contacts[i * d..(i + 1) * d], self.input.velocity) + dot(self.rows[i], &change.velocity);
                    bias[i] = change.restitution[i] * closing + self.input.restitution[i] * closes;
                }
            }
        }
        bias
    }
}

/// Cotangents of every argument of a solved dynamics problem for a cotangent of its velocity (length d).
///
/// # Errors
/// As [`DynamicsDerivative::new`] and [`DynamicsDerivative::backward`].
pub fn backward(input: &DynamicsInput, output: &DynamicsOutput, velocity_bar: &[f64]) -> Result<DynamicsChange, DynamicsError> {
    DynamicsDerivative::new(input, output)?.backward(velocity_bar)
}

/// Whether row r moves something that the chosen rows do not: of opposite directions only one is an unknown.
fn independent(r: usize, chosen: &[usize], rows: &[&[f64]], responses: &[Vec<f64>]) -> bool {
    // Gram-Schmidt in the metric of M~^-1; at most a handful of directions.
    let mut left: Vec<(Vec<f64>, Vec<f64>)> = vec![];
    let own = dot(rows[r], &responses[r]);
    for &c in chosen.iter().chain(std::iter::once(&r)) {
        let (mut row, mut response) = (rows[c].to_vec(), responses[c].clone());
        for (q, response_q) in &left {
            let along = dot(&row, response_q);
            add_scaled(&mut row, -along, q);
            add_scaled(&mut response, -along, response_q);
        }
        let square = dot(&row, &response);
        if c == r {
            return square > INDEPENDENT * own;
        }
        let inverse = 1.0 / square.max(f64::MIN_POSITIVE).sqrt();
        row.iter_mut().chain(response.iter_mut()).for_each(|x| *x *= inverse);
        left.push((row, response));
    }
    true
}
