//! Leaving the integration early: along a ray that has been reached (6.15), and down a converging one to u_t = 0 (6.16).

use super::approach;
use super::dormand_prince::State;
use super::planar::STILL;
use super::scalar::Scalar;
use super::sliding::{ACROSS, ALONG, COS, IMPULSE, LOG, NORMAL, SIN, turned};
use super::spatial::{Path, Stretch};

/// The closing along a ray is tried when the rate of turn is below this fraction of the tangential mobility: a cheap first test.
const CLOSING_TURN: f64 = 1e-2;

/// Angle to an attracting ray \[rad\] below which the ray's own direction is taken.
const CLOSING_ANGLE: f64 = 1e-3;

/// Share of the tolerance that a closing may spend.
const CLOSING_SHARE: f64 = 0.05;

/// Angle to a converging ray \[rad\] below which the series of the approach is first tried; it halves whenever the series is too short.
pub(super) const APPROACH_ANGLE: f64 = 0.4;

impl<T: Scalar> Path<T> {
    /// Closes the collision along a ray once what that neglects is within the tolerance, (6.15), or along the present direction when
    /// forced.
    pub fn close(&mut self, y: &State<T>, forced: bool) -> Option<Stretch> {
        let sliding = self.sliding;
        let (mut cos, mut sin) = (y[COS], y[SIN]);
        let (turn, growth, mobility) = sliding.coefficients(cos, sin);
        let (f, mut g, mut k) = (turn.value(), growth, mobility);
        if !forced && f.abs() > CLOSING_TURN * (sliding.n[0] + sliding.n[2]).value() {
            return None;
        }
        let speed = y[LOG].exp();
        let r = speed.value();
        let (slope, growth_slope) = sliding.slopes(cos, sin, turn, growth);
        let angle = turn / slope;
        let (slope, growth_slope) = (slope.value(), growth_slope.value());
        let attracted = slope < 0.0 && angle.value().abs() < CLOSING_ANGLE;
        let mut fall = 0.0;
        if attracted {
            // The path falls onto the ray: impulse and speed miss what it collects on the way.
            let lasts = r / (g.value().min(0.0) - slope).abs();
            let angle_value = angle.value();
            fall = angle_value.abs() * lasts * (1.0 / self.scale[0] + growth_slope.abs()) + angle_value * angle_value;
            (cos, sin) = turned(cos, sin, -angle);
            (_, g, k) = sliding.coefficients(cos, sin);
        }
        let limit = if g.value() < 0.0 { -speed / g } else { T::constant(f64::INFINITY) };
        if limit.value().is_infinite() && k.value() <= 0.0 {
            return None;
        }
        let mut progress = self.with_work(y);
        let (spent, ended) = progress.advance(k, limit);
        if !forced {
            let (g, spent) = (g.value(), spent.value());
            let neglected = if attracted {
                fall
            } else if f == 0.0 {
                0.0
            } else if ended {
                // The turn obeys d' = slope d + f to first order, over the stretch s, the integral of dp/r.
                let s = if g.abs() * spent > STILL * r { (g * spent / r).ln_1p() / g } else { spent / r };
                let turn = if (slope * s).abs() > STILL { f * (slope * s).exp_m1() / slope } else { f * s };
                turn.abs() * (spent / self.scale[0]).max(r + g * spent)
            } else if slope < -g {
                f.abs() * r / (g * (g + slope)) / self.scale[0]
            } else {
                f64::INFINITY
            };
            // Written so that a NaN does not pass.
            let within = neglected <= CLOSING_SHARE * self.tolerance;
            if !within {
                return None;
            }
        }
        self.progress = progress;
        self.impulse = [-self.friction * (y[ALONG] + cos * spent), -self.friction * (y[ACROSS] + sin * spent), y[IMPULSE] + spent];
        Some(if ended { Stretch::Ended } else { Stretch::Stopped })
    }

    /// Sums the rest of the way to zero beside a converging ray, where it lies within the present phase, (6.16).
    pub fn approach(&mut self, y: &State<T>) -> Option<Stretch> {
        // Tried in plain numbers; those that carry derivatives follow once it is taken.
        let plain = y.map(T::value);
        let (cos, sin) = (plain[COS], plain[SIN]);
        let (f, g, k) = self.plain.coefficients(cos, sin);
        let (slope, _) = self.plain.slopes(cos, sin, f, g);
        let near = slope < 0.0 && g < 0.0 && f.abs() < -self.approach_angle * slope;
        if !near || self.progress.phases < self.approach_phase {
            return None;
        }
        let rest = approach::remainder(&self.plain, cos, sin)?;
        let within = rest.truncation * plain[LOG].exp() <= CLOSING_SHARE * self.tolerance * self.scale[0];
        if !within {
            self.approach_angle *= 0.5;
            return None;
        }
        let end = rest.end(&plain);
        // With k of one sign u_n is monotone, and its ends tell whether a phase ends on the way.
        let monotone = k * rest.mobility > 0.0;
        let same_phase =
            if self.progress.restituting { end[NORMAL] >= 0.0 && self.progress.plain().lacking(&end) > 0.0 } else { end[NORMAL] <= 0.0 };
        if !monotone || !same_phase {
            self.approach_phase = self.progress.phases + 1;
            return None;
        }
        let end = if T::CARRIES { approach::remainder(&self.sliding, y[COS], y[SIN])?.end(y) } else { end.map(T::constant) };
        self.keep(&end);
        Some(Stretch::Stopped)
    }
}
