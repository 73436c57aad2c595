//! Straight pieces of the path: work along a ray, the sticking test and the unique diverging ray, theory (6.5)-(6.10).

use super::dormand_prince::State;
use super::law::CollisionLaw;
use super::scalar::Scalar;
use super::sliding::{COS, IMPULSE, LOG, NORMAL, SIN, Sliding, WORK};
use nalgebra::Matrix3;

/// Normal mobility while the tangents are held, below this fraction of the free normal mobility, counts as locked. Rounding in K is
/// a few 1e-16 of its entries; four digits above that the mobility is still known to a percent of a percent.
pub const MOBILITY_MIN: f64 = 1e-12;

/// Newton steps allowed for the diverging ray; every one that leaves the bracket is replaced by a bisection.
const RAY_CAP: usize = 100;

/// How far from one the norm of (6.8) may stay: a few roundings of its sum.
const RAY_RESIDUAL: f64 = 4.0 * f64::EPSILON;

/// Normal velocity, works and phases of a collision under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Progress<T> {
    /// u_n [m/s].
    pub normal_speed: T,
    /// W_c \[J\].
    pub work_compression: T,
    /// W_d \[J\].
    pub work_restitution: T,
    /// Phases entered.
    pub phases: usize,
    /// Whether the present phase is a restitution.
    pub restituting: bool,
    /// e.
    pub restitution: T,
    /// What ends the collision.
    pub law: CollisionLaw,
    /// u_n at the start [m/s].
    pub approach: T,
    /// Normal impulse over all compressions \[N s\].
    pub impulse_compression: T,
    /// Normal impulse over all restitutions \[N s\].
    pub impulse_restitution: T,
    /// Least share of the work owed that a full restitution left owing, infinite while none was full: small near the jump (6.22).
    pub margin: f64,
}

impl<T: Scalar> Progress<T> {
    /// At the start of the first compression.
    pub fn starting(normal_speed: T, restitution: T, law: CollisionLaw) -> Self {
        let zero = T::constant(0.0);
        Progress {
            normal_speed,
            work_compression: zero,
            work_restitution: zero,
            phases: 1,
            restituting: false,
            restitution,
            law,
            approach: normal_speed,
            impulse_compression: zero,
            impulse_restitution: zero,
            margin: f64::INFINITY,
        }
    }

    /// The same in plain numbers.
    pub fn plain(&self) -> Progress<f64> {
        Progress {
            normal_speed: self.normal_speed.value(),
            work_compression: self.work_compression.value(),
            work_restitution: self.work_restitution.value(),
            phases: self.phases,
            restituting: self.restituting,
            restitution: self.restitution.value(),
            law: self.law,
            approach: self.approach.value(),
            impulse_compression: self.impulse_compression.value(),
            impulse_restitution: self.impulse_restitution.value(),
            margin: self.margin,
        }
    }

    /// What is still owed before the end of what the law counts: work \[J\], (6.4), normal speed [m/s], (6.20), or impulse \[N s\], (6.21).
    #[inline(always)]
    pub fn owed(&self) -> T {
        match self.law {
            CollisionLaw::Energy => (-self.restitution * self.restitution * self.work_compression - self.work_restitution).at_least(0.0),
            CollisionLaw::Newton => (-self.restitution * self.approach - self.normal_speed).at_least(0.0),
            CollisionLaw::Poisson => (self.restitution * self.impulse_compression - self.impulse_restitution).at_least(0.0),
        }
    }

    /// The same at unknowns of a restitution under way, negative beyond the end; affine in them.
    #[inline(always)]
    pub fn lacking(&self, y: &State<T>) -> T {
        match self.law {
            CollisionLaw::Energy => self.owed() - y[WORK],
            CollisionLaw::Newton => -self.restitution * self.approach - y[NORMAL],
            CollisionLaw::Poisson => (self.restitution + 1.0) * self.impulse_compression - y[IMPULSE],
        }
    }

    /// Length, in the variable of the integration, to the end of the collision from unknowns of a restitution.
    pub fn way_to_end(&self, sliding: &Sliding<T>, y: &State<T>) -> T {
        let (_, _, k) = sliding.coefficients(y[COS], y[SIN]);
        let missing = self.lacking(y);
        let impulse = match self.law {
            // The work is quadratic where u_n is small: (6.6) rather than Newton.
            CollisionLaw::Energy => {
                let u = y[NORMAL];
                missing * 2.0 / (u + (u * u + k * 2.0 * missing).at_least(0.0).sqrt())
            }
            CollisionLaw::Newton => missing / k,
            CollisionLaw::Poisson => missing,
        };
        impulse * (-y[LOG]).exp()
    }

    /// Sets the unknowns of the end to what the law says they are there.
    pub fn settle(&self, y: &mut State<T>) {
        match self.law {
            CollisionLaw::Energy => y[WORK] = self.owed(),
            CollisionLaw::Newton => y[NORMAL] = -self.restitution * self.approach,
            CollisionLaw::Poisson => y[IMPULSE] = (self.restitution + 1.0) * self.impulse_compression,
        }
    }

    /// End speed and impulse to the end along a straight piece in restitution; an infinite impulse where it is not reached.
    fn ending(&self, k: T, owed: T) -> (T, T) {
        let never = T::constant(f64::INFINITY);
        match self.law {
            CollisionLaw::Energy => {
                let squared = self.normal_speed * self.normal_speed + k * 2.0 * owed;
                let end_speed = squared.at_least(0.0).sqrt();
                let sum = self.normal_speed + end_speed;
                // (6.6) without the cancellation of (v' - v)/k.
                let to_end = if owed.value() <= 0.0 {
                    T::constant(0.0)
                } else if squared.value() >= 0.0 && sum.value() > 0.0 {
                    owed * 2.0 / sum
                } else {
                    never
                };
                if T::CARRIES && self.normal_speed.value() == 0.0 && self.work_restitution.value() == 0.0 && k.value() > 0.0 {
                    return self.first_restitution(k);
                }
                (end_speed, to_end)
            }
            CollisionLaw::Newton if k.value() > 0.0 => (self.normal_speed + owed, owed / k),
            CollisionLaw::Newton if owed.value() <= 0.0 => (self.normal_speed, T::constant(0.0)),
            CollisionLaw::Newton => (self.normal_speed, never),
            CollisionLaw::Poisson if k.value() < 0.0 && (self.normal_speed + k * owed).value() < 0.0 => (self.normal_speed, never),
            CollisionLaw::Poisson => (self.normal_speed + k * owed, owed),
        }
    }

    /// Moves along a straight piece where du_n/dp_n = `k` by at most the normal impulse `limit`, (6.5)-(6.6). Returns the impulse
    /// spent and whether the collision ended. An unlimited piece needs k > 0.
    pub fn advance(&mut self, k: T, limit: T) -> (T, bool) {
        let mut spent = T::constant(0.0);
        let never = T::constant(f64::INFINITY);
        if !self.restituting {
            let to_zero = if k.value() > 0.0 { -self.normal_speed / k } else { never };
            if limit.value() <= to_zero.value() {
                self.work_compression += limit * (self.normal_speed + k * 0.5 * limit);
                self.impulse_compression += limit;
                self.normal_speed += k * limit;
                return (limit, false);
            }
            self.work_compression += self.normal_speed * 0.5 * to_zero;
            self.impulse_compression += to_zero;
            self.turn(0.0);
            spent = to_zero;
        }
        let owed = self.owed();
        let (end_speed, to_end) = self.ending(k, owed);
        if (spent + to_end).value() <= limit.value() {
            self.work_restitution += if self.law == CollisionLaw::Energy { owed } else { to_end * 0.5 * (self.normal_speed + end_speed) };
            self.impulse_restitution += to_end;
            self.normal_speed = end_speed;
            return (spent + to_end, true);
        }
        let rest = limit - spent;
        let to_zero = if k.value() < 0.0 { -self.normal_speed / k } else { never };
        if rest.value() < to_zero.value() {
            self.work_restitution += rest * (self.normal_speed + k * 0.5 * rest);
            self.impulse_restitution += rest;
            self.normal_speed += k * rest;
            return (limit, false);
        }
        // The normal velocity falls through zero: a second compression, which the limit ends since k < 0.
        self.work_restitution += self.normal_speed * 0.5 * to_zero;
        self.impulse_restitution += to_zero;
        self.turn(0.0);
        let rest = rest - to_zero;
        self.work_compression += k * 0.5 * rest * rest;
        self.impulse_compression += rest;
        self.normal_speed = k * rest;
        (limit, false)
    }

    /// End speed and impulse of a first restitution along a straight piece, in the form that has a slope in e at e = 0, theory (16.18).
    pub fn first_restitution(&self, k: T) -> (T, T) {
        if self.law != CollisionLaw::Energy {
            return self.ending(k, self.owed());
        }
        let end_speed = self.restitution * (-self.work_compression * k * 2.0).at_least(0.0).sqrt();
        (end_speed, end_speed / k)
    }

    /// Enters the next phase with the given normal velocity.
    pub fn turn(&mut self, normal_speed: f64) {
        if T::CARRIES && self.restituting && self.law == CollisionLaw::Energy {
            let whole = self.restitution.value().powi(2) * -self.work_compression.value();
            self.margin = self.margin.min(self.owed().value() / whole);
        }
        self.normal_speed = T::constant(normal_speed);
        self.restituting = !self.restituting;
        self.phases += 1;
    }
}

/// What happens at u_t = 0 in space, from K = [[M, c], [c', d]].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// Eigenvalues of M [1/kg], the larger first.
    moments: [f64; 2],
    /// First eigenvector of M; the second is it turned by +90 degrees.
    axis: [f64; 2],
    /// c in the eigenvectors [1/kg].
    coupling: [f64; 2],
    /// d [1/kg].
    normal: f64,
}

/// A straight piece that leaves u_t = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Whether friction holds the tangential velocity at zero.
    pub stable: bool,
    /// Tangential impulse per normal impulse.
    pub impulse: [f64; 2],
    /// du_t/dp_n [1/kg], zero when stable.
    pub tangential: [f64; 2],
    /// du_n/dp_n [1/kg].
    pub normal: f64,
}

impl Origin {
    /// Splits K and diagonalises its tangential block.
    pub fn new(k: &Matrix3<f64>) -> Self {
        let (a, b, d) = (k[(0, 0)], k[(0, 1)], k[(1, 1)]);
        let (mean, half) = (0.5 * (a + d), 0.5 * (a - d));
        let radius = half.hypot(b);
        // The eigenvector of the larger eigenvalue, from the column that does not cancel.
        let (x, y) = if half >= 0.0 { (half + radius, b) } else { (b, radius - half) };
        let length = x.hypot(y);
        let axis = if length > 0.0 { [x / length, y / length] } else { [1.0, 0.0] };
        let high = mean + radius;
        // det/high instead of mean - radius keeps the small eigenvalue's digits.
        let low = if high > 0.0 { ((a * d - b * b) / high).max(0.0) } else { 0.0 };
        let (cx, cy) = (k[(0, 2)], k[(1, 2)]);
        Origin { moments: [high, low], axis, coupling: [axis[0] * cx + axis[1] * cy, axis[0] * cy - axis[1] * cx], normal: k[(2, 2)] }
    }

    /// From the eigenvectors back to the tangents.
    fn unturn(&self, v: [f64; 2]) -> [f64; 2] {
        [self.axis[0] * v[0] - self.axis[1] * v[1], self.axis[1] * v[0] + self.axis[0] * v[1]]
    }

    /// M^-1 c in the eigenvectors. A tangent that no impulse moves (M and c vanish there) needs no impulse to be held.
    fn holding(&self) -> [f64; 2] {
        let floor = f64::EPSILON * (self.moments[0] + self.normal);
        [0, 1].map(|i| if self.moments[i] <= floor && self.coupling[i].abs() <= floor { 0.0 } else { self.coupling[i] / self.moments[i] })
    }

    /// Normal mobility while the tangents are held, d - c'M^-1 c [1/kg].
    pub fn held_mobility(&self) -> f64 {
        let q = self.holding();
        self.normal - q[0] * self.coupling[0] - q[1] * self.coupling[1]
    }

    /// The tangential impulse that brings a tangential velocity to rest, -M^-1 u, where M is well conditioned: its small eigenvalue
    /// above `ratio` of the large one.
    pub(super) fn stopping(&self, u: [f64; 2], ratio: f64) -> Option<[f64; 2]> {
        (self.moments[1] > ratio * self.moments[0]).then(|| {
            let (x, y) = (self.axis[0] * u[0] + self.axis[1] * u[1], self.axis[0] * u[1] - self.axis[1] * u[0]);
            self.unturn([-x / self.moments[0], -y / self.moments[1]])
        })
    }

    /// Where u_t goes from zero under a coefficient of friction: nowhere if friction suffices (6.7), else along the diverging ray (6.8).
    pub fn leave(&self, friction: f64) -> Ray {
        let q = self.holding();
        let floor = MOBILITY_MIN * self.normal;
        if q[0].hypot(q[1]) <= friction {
            let impulse = self.unturn([-q[0], -q[1]]);
            return Ray { stable: true, impulse, tangential: [0.0, 0.0], normal: self.held_mobility().max(floor) };
        }
        let growth = self.growth(friction);
        let t = [0, 1].map(|i| self.coupling[i] / (growth + friction * self.moments[i]));
        let length = t[0].hypot(t[1]);
        let t = [t[0] / length, t[1] / length];
        let normal = self.normal - friction * (self.coupling[0] * t[0] + self.coupling[1] * t[1]);
        let direction = self.unturn(t);
        Ray {
            stable: false,
            impulse: direction.map(|x| -friction * x),
            tangential: direction.map(|x| growth * x),
            normal: normal.max(floor),
        }
    }

    /// The lambda > 0 of |(lambda + mu M)^-1 c| = 1, (6.8). The norm falls strictly, and its reciprocal is concave: Newton from the
    /// left converges from one side.
    fn growth(&self, friction: f64) -> f64 {
        let n = self.moments.map(|m| friction * m);
        let squares = self.coupling.map(|c| c * c);
        let length = self.coupling[0].hypot(self.coupling[1]);
        let (mut low, mut high) = ((length - n[0]).max(0.0), (length - n[1]).max(0.0));
        let mut x = low;
        for _ in 0..RAY_CAP {
            let (a, b) = (x + n[0], x + n[1]);
            let sum = squares[0] / (a * a) + squares[1] / (b * b);
            let slope = squares[0] / (a * a * a) + squares[1] / (b * b * b);
            let excess = sum.sqrt() - 1.0;
            if excess.abs() <= RAY_RESIDUAL {
                return x;
            }
            // A zero denominator (x = 0 where M is singular) leaves an infinite or undefined sum: the root lies to the right.
            if excess < 0.0 {
                high = x;
            } else {
                low = x;
            }
            let newton = x + excess * sum / slope;
            x = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        }
        x
    }
}
