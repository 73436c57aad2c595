//! One frictional contact solved together with the joints it pulls on: open, sticking or sliding, theory (12.19)-(12.25).
//!
//! The contact's rows are inserted once, symmetric; the unsymmetric column of a sliding contact is a combination of theirs, so the
//! search for the direction of sliding happens on a matrix of at most three rows.

use carom_math::bordered::{Border, BorderError, wanted};
use carom_math::ldl::Factor;

/// Most rows of a contact: normal and two tangents.
pub const CONTACT_ROWS: usize = 3;
/// A row whose answer to its own impulse falls below this part of what it is without the joints is locked by them: nothing but rounding is left.
pub const LOCKED: f64 = 1e-9;
/// Change of the direction of sliding \[rad\] at which it counts as found: friction is then exact up to the rounding of K.
const DIRECTION_AIM: f64 = 1e-12;
/// Rounds of the search for the direction: where it gains less than half a digit a round the bracketed search is faster.
const DIRECTION_ROUNDS: usize = 20;
/// Rounds of the bracketed search and of the two searches inside it: bisection alone would need 53 + doublings.
const BRACKET_ROUNDS: usize = 128;
/// Part by which an impulse may leave the friction cone through rounding and still stick.
const CONE_SLACK: f64 = 1e-12;
/// Relative error at which a bracketed search stops: some units of rounding.
const BRACKET_AIM: f64 = 1e-15;

/// What a contact does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// No impulse: the contact separates at its target speed or faster.
    Open,
    /// The tangential velocity is held at zero.
    Stick,
    /// Friction at its limit, against the sliding.
    Slide,
    /// The joints lock the normal: no impulse can move it, the contact is dropped.
    Locked,
}

/// Which search found the impulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Road {
    /// One small linear system.
    Direct,
    /// The direction of sliding as a fixed point.
    FixedPoint,
    /// The fixed point failed, or friction made its denominator negative: the bracketed search over the normal impulse.
    Bracket,
}

/// The impulse of a contact and how it was found.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactImpulse {
    /// Impulse, normal first; places past the contact's rows are zero.
    pub impulse: [f64; CONTACT_ROWS],
    /// Velocity of the contact after it, normal first.
    pub velocity: [f64; CONTACT_ROWS],
    /// What the contact does.
    pub case: Case,
    /// The search that found it.
    pub road: Road,
    /// Whether a sliding column made its own row answer downwards (Painlevé): the fixed point had to be left.
    pub jammed: bool,
    /// Rounds of the search.
    pub rounds: usize,
    /// Largest error of the contact laws, as a velocity [m/s].
    pub residual: f64,
}

type Rows = [f64; CONTACT_ROWS];

/// A contact as the joints let it answer, in arrays of fixed size.
struct Problem {
    /// Symmetric answer K, normal first; rows and columns of missing or locked tangents are zero.
    k: [Rows; CONTACT_ROWS],
    free: Rows,
    /// Velocities of locked tangents: no impulse changes them and they get no friction, so they stand apart from `free`.
    kept: Rows,
    /// Speed the normal must gain.
    gain: f64,
    target: f64,
    friction: f64,
}

/// Solves one contact given its answer with the joints held, theory (12.19).
///
/// `answer` is K, d x d by rows with the normal first (d = 1: no friction, 2: plane, 3: space): what [`Border::remainder`] holds;
/// `unheld` the d diagonal entries of J M^-1 J' without joints, by which locked rows are told; `free` the d velocities of the contact
/// without its impulse, joints held; `target` the least normal velocity wanted; `friction` the coefficient.
pub fn solve_contact(answer: &[f64], unheld: &[f64], free: &[f64], target: f64, friction: f64) -> Result<ContactImpulse, BorderError> {
    let d = free.len();
    if d == 0 || d > CONTACT_ROWS {
        return Err(BorderError::WrongLength { found: d, wanted: CONTACT_ROWS });
    }
    wanted(answer.len(), d * d)?;
    wanted(unheld.len(), d)?;
    if !answer.iter().chain(unheld).chain(free).chain([&target, &friction]).all(|value| value.is_finite()) {
        return Err(BorderError::NotFinite);
    }
    let mut problem = Problem {
        k: [[0.0; CONTACT_ROWS]; CONTACT_ROWS],
        free: [0.0; CONTACT_ROWS],
        kept: [0.0; CONTACT_ROWS],
        gain: target - free[0],
        target,
        friction: friction.max(0.0),
    };
    let held = |i: usize| answer[i * d + i] <= LOCKED * unheld[i];
    for i in 0..d {
        let group = if i > 0 && held(i) { &mut problem.kept } else { &mut problem.free };
        group[i] = free[i];
        for j in 0..d {
            if !held(i) && !held(j) {
                problem.k[i][j] = 0.5 * (answer[i * d + j] + answer[j * d + i]);
            }
        }
    }
    Ok(problem.solve(held(0)))
}

/// Inserts one contact into factored joints and solves both: b1, what the joints' velocities still lack, becomes the joints' impulses.
///
/// `border` holds the contact's rows from [`Border::project`]: A_12 = A_21 = J M^-1 J_c', A_22 = J_c M^-1 J_c'. `unheld` is the diagonal
/// of A_22, `velocity` (J_c v) the contact's velocity before any impulse; see [`solve_contact`].
pub fn solve_with_joints(
    factor: &Factor,
    border: &Border,
    b1: &mut [f64],
    unheld: &[f64],
    velocity: &[f64],
    target: f64,
    friction: f64,
) -> Result<ContactImpulse, BorderError> {
    let d = border.count();
    wanted(velocity.len(), d)?;
    if d == 0 || d > CONTACT_ROWS {
        return Err(BorderError::WrongLength { found: d, wanted: CONTACT_ROWS });
    }
    // (12.19): holding the joints changes the contact's velocity by A_21' A^-1 b1, which `reduce` takes from minus the velocity.
    let mut free = [0.0; CONTACT_ROWS];
    for (to, from) in free.iter_mut().zip(velocity) {
        *to = -from;
    }
    border.reduce(factor, b1, &mut free[..d])?;
    for value in &mut free[..d] {
        *value = -*value;
    }
    let found = solve_contact(border.remainder(), unheld, &free[..d], target, friction)?;
    border.finish(factor, b1, &found.impulse[..d])?;
    Ok(found)
}

impl Problem {
    fn solve(&self, locked: bool) -> ContactImpulse {
        if self.gain <= 0.0 {
            return self.report([0.0; CONTACT_ROWS], Case::Open, Road::Direct, false, 0);
        }
        if locked {
            return self.report([0.0; CONTACT_ROWS], Case::Locked, Road::Direct, false, 0);
        }
        let stick = self.stick();
        if let Some(impulse) = stick
            && impulse[0] >= 0.0
            && tangent(&impulse) <= self.friction * impulse[0] * (1.0 + CONE_SLACK)
        {
            return self.report(impulse, Case::Stick, Road::Direct, false, 0);
        }
        if self.friction == 0.0 {
            return self.report([self.gain / self.k[0][0], 0.0, 0.0], Case::Slide, Road::Direct, false, 0);
        }
        let (slide, rounds, jammed) = self.fixed_point(stick);
        match slide {
            Some(impulse) => self.report(impulse, Case::Slide, Road::FixedPoint, jammed, rounds),
            None => self.bracket(jammed, rounds),
        }
    }

    /// K l = (gain, -free_t) by elimination; `None` where K is singular beyond its locked rows.
    fn stick(&self) -> Option<Rows> {
        let mut a = self.k;
        let mut x = [self.gain, -self.free[1], -self.free[2]];
        for k in 0..CONTACT_ROWS {
            // A row of zeros is locked or missing: no impulse.
            if self.k[k][k] == 0.0 {
                a[k][k] = 1.0;
                x[k] = 0.0;
            }
            if a[k][k] <= LOCKED * self.k[k][k] {
                return None;
            }
            for i in k + 1..CONTACT_ROWS {
                let l = a[i][k] / a[k][k];
                x[i] -= l * x[k];
                for c in k + 1..CONTACT_ROWS {
                    a[i][c] -= l * a[k][c];
                }
            }
        }
        for i in (0..CONTACT_ROWS).rev() {
            for c in i + 1..CONTACT_ROWS {
                x[i] -= a[i][c] * x[c];
            }
            x[i] /= a[i][i];
        }
        Some(x)
    }

    /// Sliding along s: impulse l_n (1, -mu s) with the normal row at its target, theory (12.21); `None` when the column that friction
    /// tilts no longer lifts its row.
    fn slide(&self, s: [f64; 2]) -> Option<Rows> {
        let (nn, nt) = (self.k[0][0], self.k[0][1] * s[0] + self.k[0][2] * s[1]);
        let lift = nn - self.friction * nt;
        let impulse = self.gain / lift;
        (lift > LOCKED * nn).then(|| [impulse, -self.friction * impulse * s[0], -self.friction * impulse * s[1]])
    }

    /// s := direction of the tangential velocity that sliding along s leaves, theory (12.22).
    fn fixed_point(&self, stick: Option<Rows>) -> (Option<Rows>, usize, bool) {
        // Without sliding before, friction gives way against the impulse that sticking would have needed.
        let lacking = stick.map_or([0.0; 2], |impulse| [-impulse[1], -impulse[2]]);
        let Some(mut s) = unit([self.free[1], self.free[2]]).or_else(|| unit(lacking)) else { return (None, 0, false) };
        for round in 0..DIRECTION_ROUNDS {
            let Some(impulse) = self.slide(s) else { return (None, round, true) };
            let after = self.after(&impulse);
            let Some(next) = unit([after[1], after[2]]) else { return (Some(impulse), round, false) };
            let change = (next[0] - s[0]).hypot(next[1] - s[1]);
            if change <= DIRECTION_AIM {
                return (Some(impulse), round + 1, false);
            }
            s = next;
        }
        (None, DIRECTION_ROUNDS, false)
    }

    /// The root of h(l) = K_nn l + K_nt f(l) - gain, f(l) the friction that dissipates most at normal impulse l, theory (12.23)-(12.24).
    /// h is continuous, negative at 0 and positive for large l whenever K is positive definite: a root always exists.
    fn bracket(&self, jammed: bool, before: usize) -> ContactImpulse {
        let h = |l: f64| {
            let f = self.friction_at(l);
            (self.k[0][0] * l + self.k[0][1] * f[0] + self.k[0][2] * f[1] - self.gain, f)
        };
        let (mut low, mut h_low) = (0.0, -self.gain);
        let mut high = self.gain / self.k[0][0];
        let mut rounds = before;
        let mut h_high = h(high).0;
        while h_high < 0.0 && rounds < before + BRACKET_ROUNDS {
            (low, h_low) = (high, h_high);
            high *= 2.0;
            h_high = h(high).0;
            rounds += 1;
        }
        // False position, halving the weight of an end that stays (Illinois).
        let end = rounds + BRACKET_ROUNDS;
        while high - low > BRACKET_AIM * high && rounds < end {
            let guess = low - h_low * (high - low) / (h_high - h_low);
            let middle = if guess > low && guess < high { guess } else { low + 0.5 * (high - low) };
            if middle <= low || middle >= high {
                break;
            }
            let value = h(middle).0;
            rounds += 1;
            if value == 0.0 {
                (low, high) = (middle, middle);
            } else if value < 0.0 {
                (low, h_low) = (middle, value);
                h_high *= 0.5;
            } else {
                (high, h_high) = (middle, value);
                h_low *= 0.5;
            }
        }
        let f = h(high).1;
        let impulse = [high, f[0], f[1]];
        let case = if tangent(&impulse) < self.friction * high * (1.0 - CONE_SLACK) { Case::Stick } else { Case::Slide };
        self.report(impulse, case, Road::Bracket, jammed, rounds)
    }

    /// argmin over |f| <= mu l of f' K_tt f / 2 + c' f with c = free_t + K_tn l: (K_tt + kappa) f = -c, kappa >= 0, theory (12.23).
    fn friction_at(&self, l: f64) -> [f64; 2] {
        let radius = self.friction * l;
        let k = &self.k;
        let c = [self.free[1] + k[1][0] * l, self.free[2] + k[2][0] * l];
        // Axes of K_tt: its angle, then its two values and c along them.
        let (mean, half, cross) = (0.5 * (k[1][1] + k[2][2]), 0.5 * (k[1][1] - k[2][2]), k[1][2]);
        let swing = half.hypot(cross);
        let (sin, cos) = (0.5 * cross.atan2(half)).sin_cos();
        let largest = mean + swing;
        // A value at rounding level is a locked direction: nothing moves along it and nothing is needed.
        let values = [largest, if mean - swing > LOCKED * largest { mean - swing } else { 0.0 }];
        let along = [cos * c[0] + sin * c[1], cos * c[1] - sin * c[0]];
        let part = |kappa: f64, i: usize| if values[i] > 0.0 { along[i] / (values[i] + kappa) } else { 0.0 };
        let length = |kappa: f64| part(kappa, 0).hypot(part(kappa, 1));
        let mut kappa = 0.0;
        if length(kappa) > radius {
            if radius <= 0.0 {
                return [0.0; 2];
            }
            // Newton on 1/length - 1/radius, nearly straight in kappa and rising to its root from the left.
            for _ in 0..BRACKET_ROUNDS {
                let now = length(kappa);
                let slope: f64 = (0..2).map(|i| if values[i] > 0.0 { part(kappa, i).powi(2) / (values[i] + kappa) } else { 0.0 }).sum();
                let step = now * now / slope * (now - radius) / radius;
                if step <= BRACKET_AIM * (kappa + largest) || !step.is_finite() {
                    break;
                }
                kappa += step;
            }
        }
        let f = [-part(kappa, 0), -part(kappa, 1)];
        [cos * f[0] - sin * f[1], sin * f[0] + cos * f[1]]
    }

    fn after(&self, impulse: &Rows) -> Rows {
        std::array::from_fn(|i| self.free[i] + (0..CONTACT_ROWS).map(|j| self.k[i][j] * impulse[j]).sum::<f64>())
    }

    fn report(&self, impulse: Rows, case: Case, road: Road, jammed: bool, rounds: usize) -> ContactImpulse {
        let velocity = self.after(&impulse);
        let sliding = tangent(&velocity);
        let limit = self.friction * impulse[0];
        let residual = match case {
            Case::Open => (self.target - velocity[0]).max(0.0),
            Case::Locked => (velocity[0] - self.target).abs(),
            Case::Stick => sliding.max((velocity[0] - self.target).abs()),
            // |l_t| velocity_t = -|velocity_t| l_t, as a velocity.
            Case::Slide => {
                let across = if limit > 0.0 {
                    (velocity[1] + sliding * impulse[1] / limit).hypot(velocity[2] + sliding * impulse[2] / limit)
                } else {
                    0.0
                };
                across.max((velocity[0] - self.target).abs())
            }
        };
        let velocity = std::array::from_fn(|i| velocity[i] + self.kept[i]);
        ContactImpulse { impulse, velocity, case, road, jammed, rounds, residual }
    }
}

fn tangent(x: &Rows) -> f64 {
    x[1].hypot(x[2])
}

fn unit(x: [f64; 2]) -> Option<[f64; 2]> {
    let length = x[0].hypot(x[1]);
    (length > 0.0).then(|| [x[0] / length, x[1] / length])
}

#[cfg(test)]
mod tests;
