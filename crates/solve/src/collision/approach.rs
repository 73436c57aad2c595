//! The last approach to u_t = 0 beside a converging ray, summed as a power series in the angle to the ray, theory (6.16)-(6.17).
//!
//! A path that comes to rest does so along a ray, exponentially in the variable of (6.12): integrating it step by step costs most of a
//! collision. What remains to be integrated is an analytic function of the angle to the ray, whose coefficients follow by recurrence.

use super::dormand_prince::State;
use super::scalar::Scalar;
use super::sliding::{ACROSS, ALONG, IMPULSE, LOG, NORMAL, Sliding, WORK, turned};

/// Terms of the series.
const TERMS: usize = 14;

/// Newton steps towards the ray; the angle is small, so three or four reach rounding.
const ROOT_CAP: usize = 12;

/// The root is found when a step turns by less \[rad\].
const ROOT_TURN: f64 = 1e-15;

type Series<T> = [T; TERMS];

/// What remains until u_t = 0, for a tangential speed of one: impulses scale with the speed, the second moment with its square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Remainder<T> {
    /// Integrals of cos dp and sin dp, world tangents.
    pub along: [T; 2],
    /// Normal impulse.
    pub impulse: T,
    /// Change of u_n.
    pub normal: T,
    /// Integral over the approach of (u_n at its end - u_n) dp.
    pub moment: T,
    /// du_n/dp_n on the ray.
    pub mobility: T,
    /// Size of the last terms kept of the impulses.
    pub truncation: f64,
}

impl<T: Scalar> Remainder<T> {
    /// The unknowns at u_t = 0, from those at the start of the approach.
    pub fn end(&self, y: &State<T>) -> State<T> {
        let r = y[LOG].exp();
        let mut end = *y;
        end[ALONG] += r * self.along[0];
        end[ACROSS] += r * self.along[1];
        end[IMPULSE] += r * self.impulse;
        end[NORMAL] += r * self.normal;
        end[WORK] += r * (end[NORMAL] * self.impulse - r * self.moment);
        end
    }
}

/// Integrates the rest of the way to zero for a direction beside an attracting, converging ray; `None` when there is no such ray near.
pub(super) fn remainder<T: Scalar>(sliding: &Sliding<T>, cos: T, sin: T) -> Option<Remainder<T>> {
    // The ray: f = 0 by Newton, turning the direction.
    let (mut c, mut s) = (cos, sin);
    let mut angle = T::constant(0.0);
    let mut found = false;
    for _ in 0..ROOT_CAP {
        let (f, g, _) = sliding.coefficients(c, s);
        let (slope, _) = sliding.slopes(c, s, f, g);
        let turn = -f / slope;
        // Written so that a NaN leaves too.
        let converging = slope.value() < 0.0 && g.value() < 0.0;
        if !converging {
            return None;
        }
        found = turn.value().abs() <= ROOT_TURN;
        // The last turn is rounding in value, but it carries the slope of the ray.
        if found && !T::CARRIES {
            break;
        }
        (c, s) = turned(c, s, turn);
        angle -= turn;
        if found {
            break;
        }
    }
    if !found {
        return None;
    }
    // K in the frame of the ray.
    let Sliding { n, c: coupling, b, d } = *sliding;
    let (n11, n22) = (n[0] * c * c + n[1] * 2.0 * c * s + n[2] * s * s, n[0] * s * s - n[1] * 2.0 * c * s + n[2] * c * c);
    let n12 = (n[2] - n[0]) * c * s + n[1] * (c * c - s * s);
    let (c1, c2) = (coupling[0] * c + coupling[1] * s, coupling[1] * c - coupling[0] * s);
    let (b1, b2) = (b[0] * c + b[1] * s, b[1] * c - b[0] * s);
    // Series of (6.13) in the angle.
    let (cosine, sine) = trigonometric(1.0);
    let (cosine2, sine2) = trigonometric(2.0);
    let (mean, half) = ((n11 + n22) * 0.5, (n11 - n22) * 0.5);
    let zero = T::constant(0.0);
    let mut f = [zero; TERMS];
    let mut g = [zero; TERMS];
    for j in 0..TERMS {
        f[j] = c2 * cosine[j] - c1 * sine[j] - n12 * cosine2[j] + half * sine2[j];
        g[j] = c1 * cosine[j] + c2 * sine[j] - half * cosine2[j] - n12 * sine2[j];
    }
    g[0] -= mean;
    f[0] = zero;
    let mut one = [zero; TERMS];
    one[0] = T::constant(1.0);
    let impulse = solve(1.0, &f, &g, &one);
    let along = solve(1.0, &f, &g, &cosine.map(T::constant));
    let across = solve(1.0, &f, &g, &sine.map(T::constant));
    let mut normal = [zero; TERMS];
    for j in 0..TERMS {
        normal[j] = d * impulse[j] - b1 * along[j] - b2 * across[j];
    }
    let moment = solve(2.0, &f, &g, &normal);
    let (x, y) = (sum(&along, angle), sum(&across, angle));
    Some(Remainder {
        along: [c * x - s * y, s * x + c * y],
        impulse: sum(&impulse, angle),
        normal: sum(&normal, angle),
        moment: sum(&moment, angle),
        mobility: d - b1,
        truncation: last(&impulse, angle.value()) + last(&along, angle.value()) + last(&across, angle.value()),
    })
}

/// Series of cos(k x) and sin(k x).
const fn trigonometric(k: f64) -> (Series<f64>, Series<f64>) {
    let (mut cosine, mut sine) = ([0.0; TERMS], [0.0; TERMS]);
    cosine[0] = 1.0;
    let mut j = 1;
    while j < TERMS {
        cosine[j] = -k * sine[j - 1] / j as f64;
        sine[j] = k * cosine[j - 1] / j as f64;
        j += 1;
    }
    (cosine, sine)
}

/// The analytic solution of m g phi + f phi' = -h, where f(0) = 0, (6.17).
fn solve<T: Scalar>(m: f64, f: &Series<T>, g: &Series<T>, h: &Series<T>) -> Series<T> {
    let mut phi = [T::constant(0.0); TERMS];
    for j in 0..TERMS {
        let mut right = -h[j];
        for i in 0..j {
            // f starts at the first order: the term i of phi' carries the order i - 1.
            right -= (g[j - i] * m + f.get(j - i + 1).map_or(T::constant(0.0), |f| *f * i as f64)) * phi[i];
        }
        phi[j] = right / (g[0] * m + f[1] * j as f64);
    }
    phi
}

/// Value at an angle.
fn sum<T: Scalar>(series: &Series<T>, angle: T) -> T {
    series.iter().rev().fold(T::constant(0.0), |value, term| value * angle + *term)
}

/// Size of the last two terms.
fn last<T: Scalar>(series: &Series<T>, angle: f64) -> f64 {
    let power = angle.abs().powi(TERMS as i32 - 2);
    power * (series[TERMS - 2].value().abs() + series[TERMS - 1].value().abs() * angle.abs())
}
