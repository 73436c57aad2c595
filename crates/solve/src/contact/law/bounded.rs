//! One row whose impulse lies between two bounds, a motor or the friction of a joint: l = the clamped l - rho w; theory (4.6).

use super::interior::{Interior, Stage};
use super::{ContactLaw, Equality, LawChange, Mode};
use crate::contact::trace::{Smoothed, Smoothing};

/// The law of a motor. Infinite bounds are allowed; with both the row is an equality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// Least impulse.
    pub lower: f64,
    /// Greatest impulse.
    pub upper: f64,
}

/// The equality that a row without bounds is.
const FREE: Equality = Equality { rows: 1 };

impl Bounded {
    fn is_free(&self) -> bool {
        self.lower == f64::NEG_INFINITY && self.upper == f64::INFINITY
    }

    /// Bounds that leave no room fix the impulse.
    fn is_fixed(&self) -> bool {
        self.lower >= self.upper
    }
}

impl ContactLaw for Bounded {
    fn rows(&self) -> usize {
        1
    }

    fn project(&self, z: &mut [f64], slope: Option<&mut [f64]>) -> Mode {
        let inside = z[0] > self.lower && z[0] < self.upper;
        if let Some(slope) = slope {
            slope[0] = if inside { 1.0 } else { 0.0 };
        }
        if !inside {
            z[0] = z[0].max(self.lower).min(self.upper);
        }
        if inside { Mode::Held } else { Mode::Open }
    }

    fn by_numbers(&self, z: &[f64], out: &mut [LawChange]) {
        let (below, above) = (z[0] <= self.lower, z[0] >= self.upper);
        // Bounds that leave no room move the impulse together; the lower speaks for both.
        out[0] = LawChange { lower: f64::from(u8::from(below || self.is_fixed())), ..LawChange::default() };
        if above && !self.is_fixed() {
            out[0].upper = 1.0;
        }
    }

    fn miss(&self, diagonal: &[f64], l: &[f64], w: &[f64]) -> f64 {
        // Clamping the impulse keeps infinite bounds harmless; a row that nothing can move is judged by its speed.
        let a = diagonal[0];
        let step = if a > 0.0 { (l[0] - (l[0] - w[0] / a).max(self.lower).min(self.upper)).abs() * a } else { w[0].abs() };
        let outside = (self.lower - l[0]).max(l[0] - self.upper).max(0.0) * a;
        if (step + outside).is_nan() { f64::NAN } else { step.max(outside) }
    }

    fn idle(&self, w: &[f64]) -> bool {
        let (lower, upper) = (self.lower, self.upper);
        (lower <= 0.0 && 0.0 <= upper) && (w[0] == 0.0 || (lower == 0.0 && w[0] > 0.0) || (upper == 0.0 && w[0] < 0.0) || lower == upper)
    }

    fn solve_alone(&self, own: &[f64], free: &[f64], l: &mut [f64]) {
        let wanted = if own[0] > 0.0 { -free[0] / own[0] } else { 0.0 };
        l[0] = wanted.max(self.lower).min(self.upper);
    }

    fn enter(&self, mean: f64, scale: f64, warm: Option<(&[f64], &[f64])>, push: f64, state: &mut Interior) {
        *state = Interior::default();
        let (given, speed) = warm.map_or((0.0, 0.0), |(l, w)| (l[0], w[0]));
        if self.is_free() {
            return FREE.enter(mean, scale, warm, push, state);
        }
        if self.is_fixed() {
            return;
        }
        let push = if warm.is_some() { push } else { scale };
        // Strictly between the bounds, and both velocities positive.
        let room = (self.upper - self.lower) / 4.0;
        let inset = (push / mean).min(room);
        let l = given.max(self.lower + inset).min(self.upper - inset);
        if self.lower.is_finite() {
            (state.s[0], state.y[0]) = (l - self.lower, speed.max(0.0) + push);
            state.cones += 1;
        }
        if self.upper.is_finite() {
            (state.s[1], state.y[1]) = (self.upper - l, (-speed).max(0.0) + push);
            state.cones += 1;
        }
    }

    fn linearise(&self, w: &[f64], lagged: bool, state: &mut Interior, slope: &mut [f64]) {
        if self.is_free() {
            return FREE.linearise(w, lagged, state, slope);
        }
        slope[0] = 0.0;
        state.miss = [0.0; 3];
        if self.is_fixed() {
            return;
        }
        // w = y_lower - y_upper; each product s y is driven to the aim.
        state.miss[0] = w[0] - state.y[0] + state.y[1];
        let mut stiffness = 0.0;
        for k in 0..2 {
            if state.s[k] > 0.0 {
                stiffness += state.y[k] / state.s[k];
            }
        }
        slope[0] = 1.0 / stiffness;
        state.middle[0] = slope[0];
    }

    fn right(&self, stage: Stage, state: &mut Interior, g: &mut [f64]) {
        if self.is_free() {
            return FREE.right(stage, state, g);
        }
        g[0] = 0.0;
        if self.is_fixed() {
            return;
        }
        let mut sum = -state.miss[0];
        for (k, sign) in [(0, 1.0), (1, -1.0)] {
            if state.s[k] > 0.0 {
                let target = match stage {
                    Stage::Predict => 0.0,
                    Stage::Correct(target) => target - state.ds[k] * state.dy[k],
                };
                state.aim[k] = target - state.s[k] * state.y[k];
                sum += sign * state.aim[k] / state.s[k];
            }
        }
        g[0] = state.middle[0] * sum;
        state.aim[2] = g[0];
    }

    fn respond(&self, dw: &[f64], state: &mut Interior) {
        if self.is_free() {
            return FREE.respond(dw, state);
        }
        if self.is_fixed() {
            return;
        }
        let dl = state.aim[2] - state.middle[0] * dw[0];
        for (k, sign) in [(0, 1.0), (1, -1.0)] {
            if state.s[k] > 0.0 {
                state.ds[k] = sign * dl;
                state.dy[k] = (state.aim[k] - state.y[k] * state.ds[k]) / state.s[k];
            }
        }
    }

    fn reach(&self, state: &Interior) -> f64 {
        if self.is_free() || self.is_fixed() {
            return f64::INFINITY;
        }
        let mut least = f64::INFINITY;
        for k in 0..2 {
            for (x, d) in [(state.s[k], state.ds[k]), (state.y[k], state.dy[k])] {
                if state.s[k] > 0.0 && d < 0.0 {
                    least = least.min(-x / d);
                }
            }
        }
        least
    }

    fn impulses(&self, state: &Interior, l: &mut [f64]) {
        l[0] = if self.is_free() {
            state.s[0]
        } else if self.is_fixed() {
            self.lower
        } else if self.lower.is_finite() {
            self.lower + state.s[0]
        } else {
            self.upper - state.s[1]
        };
    }

    fn centre(&self, size: f64, l: &mut [f64]) {
        l[0] = match (self.lower.is_finite(), self.upper.is_finite()) {
            (true, true) => (self.lower + self.upper) / 2.0,
            (true, false) => self.lower + size,
            (false, true) => self.upper - size,
            (false, false) => 0.0,
        };
    }

    fn smooth(&self, by: Smoothing, l: &[f64], w: &[f64], out: &mut Smoothed) {
        if self.is_free() {
            return FREE.smooth(by, l, w, out);
        }
        *out = Smoothed::default();
        if self.is_fixed() {
            out.right[0] = self.lower - l[0];
            return;
        }
        // w + soft l = product / (l - lower) - product / (upper - l).
        let (below, above) = (l[0] - self.lower, self.upper - l[0]);
        let (push, pull) = (by.product / below, by.product / above);
        let stiffness = push / below + pull / above + by.soft;
        out.miss[0] = w[0] + by.soft * l[0] - push + pull;
        out.slope[0] = 1.0 / stiffness;
        out.right[0] = -out.miss[0] / stiffness;
        out.drift[0] = (by.soft * l[0] - push + pull) / stiffness;
    }

    fn room(&self, l: &[f64], dl: &[f64]) -> f64 {
        if self.is_fixed() || dl[0] == 0.0 {
            return f64::INFINITY;
        }
        let room = if dl[0] < 0.0 { l[0] - self.lower } else { self.upper - l[0] };
        room / dl[0].abs()
    }

    fn sizes(&self, l: &[f64], sizes: &mut [f64]) {
        let room = (l[0] - self.lower).min(self.upper - l[0]);
        if room.is_finite() && room > 0.0 {
            sizes[0] = room;
        }
    }
}
