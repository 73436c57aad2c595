//! The last approach to u_t = 0 beside a converging ray, summed as a power series in the angle to the ray, theory (6.15)-(6.16).
//!
//! A path that comes to rest does so along a ray, exponentially in the variable of (6.11): integrating it step by step costs most of a
//! collision. What remains to be integrated is an analytic function of the angle to the ray, whose coefficients follow by recurrence.

use super::sliding::{Sliding, turned};

/// Terms of the series.
const TERMS: usize = 14;

/// Newton steps towards the ray; the angle is small, so three or four reach rounding.
const ROOT_CAP: usize = 12;

/// The root is found when a step turns by less [rad].
const ROOT_TURN: f64 = 1e-15;

type Series = [f64; TERMS];

/// What remains until u_t = 0, for a tangential speed of one: impulses scale with the speed, the second moment with its square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Remainder {
    /// Integrals of cos dp and sin dp, world tangents.
    pub along: [f64; 2],
    /// Normal impulse.
    pub impulse: f64,
    /// Change of u_n.
    pub normal: f64,
    /// Integral over the approach of (u_n at its end - u_n) dp.
    pub moment: f64,
    /// du_n/dp_n on the ray.
    pub mobility: f64,
    /// Size of the last terms kept of the impulses.
    pub truncation: f64,
}

/// Integrates the rest of the way to zero for a direction beside an attracting, converging ray; `None` when there is no such ray near.
pub(super) fn remainder(sliding: &Sliding, cos: f64, sin: f64) -> Option<Remainder> {
    // The ray: f = 0 by Newton, turning the direction.
    let (mut c, mut s) = (cos, sin);
    let mut angle = 0.0;
    let mut found = false;
    for _ in 0..ROOT_CAP {
        let (f, g, _) = sliding.coefficients(c, s);
        let (slope, _) = sliding.slopes(c, s, f, g);
        let turn = -f / slope;
        // Written so that a NaN leaves too.
        let converging = slope < 0.0 && g < 0.0;
        if !converging {
            return None;
        }
        found = turn.abs() <= ROOT_TURN;
        if found {
            break;
        }
        (c, s) = turned(c, s, turn);
        angle -= turn;
    }
    if !found {
        return None;
    }
    // K in the frame of the ray.
    let Sliding { n, c: coupling, b, d } = *sliding;
    let (n11, n22) = (n[0] * c * c + 2.0 * n[1] * c * s + n[2] * s * s, n[0] * s * s - 2.0 * n[1] * c * s + n[2] * c * c);
    let n12 = (n[2] - n[0]) * c * s + n[1] * (c * c - s * s);
    let (c1, c2) = (coupling[0] * c + coupling[1] * s, coupling[1] * c - coupling[0] * s);
    let (b1, b2) = (b[0] * c + b[1] * s, b[1] * c - b[0] * s);
    // Series of (6.12) in the angle.
    let (cosine, sine) = trigonometric(1.0);
    let (cosine2, sine2) = trigonometric(2.0);
    let (mean, half) = (0.5 * (n11 + n22), 0.5 * (n11 - n22));
    let mut f = [0.0; TERMS];
    let mut g = [0.0; TERMS];
    for j in 0..TERMS {
        f[j] = c2 * cosine[j] - c1 * sine[j] - n12 * cosine2[j] + half * sine2[j];
        g[j] = c1 * cosine[j] + c2 * sine[j] - half * cosine2[j] - n12 * sine2[j];
    }
    g[0] -= mean;
    f[0] = 0.0;
    let mut one = [0.0; TERMS];
    one[0] = 1.0;
    let impulse = solve(1.0, &f, &g, &one);
    let along = solve(1.0, &f, &g, &cosine);
    let across = solve(1.0, &f, &g, &sine);
    let mut normal = [0.0; TERMS];
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
        truncation: last(&impulse, angle) + last(&along, angle) + last(&across, angle),
    })
}

/// Series of cos(k x) and sin(k x).
const fn trigonometric(k: f64) -> (Series, Series) {
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

/// The analytic solution of m g phi + f phi' = -h, where f(0) = 0, (6.16).
fn solve(m: f64, f: &Series, g: &Series, h: &Series) -> Series {
    let mut phi = [0.0; TERMS];
    for j in 0..TERMS {
        let mut right = -h[j];
        for i in 0..j {
            // f starts at the first order: the term i of phi' carries the order i - 1.
            right -= (m * g[j - i] + f.get(j - i + 1).map_or(0.0, |f| i as f64 * f)) * phi[i];
        }
        phi[j] = right / (m * g[0] + j as f64 * f[1]);
    }
    phi
}

/// Value at an angle.
fn sum(series: &Series, angle: f64) -> f64 {
    series.iter().rev().fold(0.0, |value, term| value * angle + term)
}

/// Size of the last two terms.
fn last(series: &Series, angle: f64) -> f64 {
    let power = angle.abs().powi(TERMS as i32 - 2);
    power * (series[TERMS - 2].abs() + series[TERMS - 1].abs() * angle.abs())
}
