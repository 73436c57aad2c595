//! Contact with dry friction, the round cone of Coulomb: 0 <= l_n, w_n >= 0, l_n w_n = 0, |l_t| <= mu l_n against the slip; theory (4.3)-(4.5).

use super::interior::{Interior, Point, Stage, compose, determinant, product, quotient, reach, scaling, times};
use super::{ContactLaw, LawChange, Mode};
use crate::contact::dense::sweep::{planar_contact, spatial_contact};
use crate::contact::trace::{Smoothed, Smoothing};
use crate::status::within;

/// Coefficients of friction below this are 0 in the smoothed form: the cone would be a needle.
const SLICK: f64 = 1e-9;
/// Least opening of the cone in which a cold start begins.
const COLD_OPENING: f64 = 0.1;

/// A contact: the normal row, then one tangent in the plane or two in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Coefficient of friction.
    pub friction: f64,
    /// Friction rows.
    pub tangents: usize,
}

impl Round {
    fn slick(&self) -> bool {
        self.friction < SLICK
    }

    /// The opening of the cone; a contact without friction keeps to the axis of a cone that never bounds it.
    fn opening(&self) -> f64 {
        if self.slick() { 1.0 } else { self.friction }
    }

    /// The projection with two tangents.
    #[inline(always)]
    fn project_spatial(&self, z: &mut [f64; 3], slope: Option<&mut [f64; 9]>) -> Mode {
        let mut none = [0.0; 9];
        let slope = slope.unwrap_or(&mut none);
        *slope = [0.0; 9];
        if z[0] <= 0.0 {
            *z = [0.0; 3];
            return Mode::Open;
        }
        slope[0] = 1.0;
        let limit = self.friction * z[0];
        let square = z[1] * z[1] + z[2] * z[2];
        if limit > 0.0 && square <= limit * limit {
            (slope[4], slope[8]) = (1.0, 1.0);
            return Mode::Held;
        }
        // Without friction a contact slips freely, also where it happens to stand still.
        if limit <= 0.0 {
            (z[1], z[2]) = (0.0, 0.0);
            return Mode::Slide;
        }
        let length = square.sqrt();
        let part = limit / length;
        let direction = [z[1] / length, z[2] / length];
        for i in 0..2 {
            z[1 + i] = limit * direction[i];
            slope[3 * (1 + i)] = self.friction * direction[i];
            for j in 0..2 {
                let unit = if i == j { 1.0 } else { 0.0 };
                slope[3 * (1 + i) + 1 + j] = part * (unit - direction[i] * direction[j]);
            }
        }
        Mode::Slide
    }

    /// The rows as a point: 0 for a tangent that does not exist.
    fn point(&self, x: &[f64]) -> Point {
        [x[0], x[1], if self.tangents == 2 { x[2] } else { 0.0 }]
    }
}

/// |(x, y)|, without the care of `hypot` for numbers near the ends of the range: it is asked for thousands of times in a solve.
#[inline]
fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

impl ContactLaw for Round {
    fn rows(&self) -> usize {
        1 + self.tangents
    }

    #[inline(always)]
    fn project(&self, z: &mut [f64], slope: Option<&mut [f64]>) -> Mode {
        if let (2, Some(z)) = (self.tangents, z.as_mut_array::<3>()) {
            return self.project_spatial(z, slope.and_then(|slope| slope.as_mut_array::<9>()));
        }
        let held = self.friction * z[0].max(0.0);
        let (mode, first, slopes) = if z[0] <= 0.0 {
            (Mode::Open, 0.0, [0.0, 0.0])
        } else if held > 0.0 && z[1].abs() <= held {
            (Mode::Held, z[1], [0.0, 1.0])
        } else if held > 0.0 {
            (Mode::Slide, held * z[1].signum(), [self.friction * z[1].signum(), 0.0])
        } else {
            (Mode::Slide, 0.0, [0.0, 0.0])
        };
        z[0] = z[0].max(0.0);
        z[1] = first;
        if let Some(slope) = slope {
            slope.copy_from_slice(&[if mode == Mode::Open { 0.0 } else { 1.0 }, 0.0, slopes[0], slopes[1]]);
        }
        mode
    }

    fn by_numbers(&self, z: &[f64], out: &mut [LawChange]) {
        out.fill(LawChange::default());
        let length = if self.tangents == 2 { length(z[1], z[2]) } else { z[1].abs() };
        // At the limit friction grows with it along z_t, without friction too; what neither slips nor pulls has no direction.
        if z[0] > 0.0 && length > self.friction * z[0] {
            for k in 1..=self.tangents {
                out[k].friction = z[0] * (z[k] / length);
            }
        }
    }

    #[inline]
    fn miss(&self, diagonal: &[f64], l: &[f64], w: &[f64]) -> f64 {
        let normal = (diagonal[0] * l[0]).min(w[0]).abs();
        let reach = self.friction * l[0].max(0.0);
        let tangential = if self.tangents == 1 {
            let a = diagonal[1];
            (a * l[1] - within(a * l[1] - w[1], a * reach)).abs()
        } else {
            let a = (diagonal[1] + diagonal[2]) / 2.0;
            let held = [a * l[1], a * l[2]];
            let moved = [held[0] - w[1], held[1] - w[2]];
            let size = length(moved[0], moved[1]);
            let part = if size <= a * reach { 1.0 } else { a * reach / size };
            length(held[0] - part * moved[0], held[1] - part * moved[1])
        };
        // A sum keeps what is not a number; the larger of the two would lose it.
        if (normal + tangential).is_nan() { f64::NAN } else { normal.max(tangential) }
    }

    fn idle(&self, w: &[f64]) -> bool {
        w[0] >= 0.0
    }

    fn solve_alone(&self, own: &[f64], free: &[f64], l: &mut [f64]) {
        if self.tangents == 1 {
            l.copy_from_slice(&planar_contact([own[0], own[1], own[3]], [free[0], free[1]], self.friction));
        } else {
            let a = [[own[0], own[1], own[2]], [own[3], own[4], own[5]], [own[6], own[7], own[8]]];
            l.copy_from_slice(&spatial_contact(&a, [free[0], free[1], free[2]], self.friction, [-l[1], -l[2]]));
        }
    }

    fn enter(&self, mean: f64, scale: f64, warm: Option<(&[f64], &[f64])>, push: f64, state: &mut Interior) {
        let mu = self.opening();
        *state = Interior { cones: 1, ..Interior::default() };
        let Some((l, w)) = warm else {
            state.s[0] = mu.max(COLD_OPENING) * scale / (2.0 * mean);
            state.y[0] = scale;
            return;
        };
        let (l, w) = (self.point(l), self.point(w));
        if self.slick() {
            state.s[0] = l[0].max(0.0) + push / mean;
            state.y[0] = w[0].max(0.0) + push;
        } else {
            state.s = [(mu * l[0]).max(length(l[1], l[2])) + push / mean, l[1], l[2]];
            state.y = [(w[0] / mu).max(0.0) + length(w[1], w[2]) + push, w[1], w[2]];
        }
    }

    #[inline]
    fn linearise(&self, w: &[f64], lagged: bool, state: &mut Interior, slope: &mut [f64]) {
        let (mu, d) = (self.opening(), self.rows());
        let w = self.point(w);
        let slip = if self.slick() { [0.0; 2] } else { [w[1], w[2]] };
        let y = state.y;
        let turn = if lagged { [0.0; 2] } else { [y[1] / y[0], y[2] / y[0]] };
        // w_n / mu = y_0 - |y_t|^2 / y_0: smooth inside the cone, De Saxce's shift on its boundary.
        state.miss = [determinant(y) / y[0] - w[0] / mu, y[1] - slip[0], y[2] - slip[1]];
        let first = 1.0 / (1.0 + turn[0] * turn[0] + turn[1] * turn[1]);
        let inverse = [[first, 2.0 * first * turn[0], 2.0 * first * turn[1]], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        (state.up, state.down) = scaling(state.s, y);
        state.middle = times(&state.up, state.s);
        state.back = inverse;
        let square = compose(&state.down, &state.down);
        let mut full = compose(&square, &inverse);
        for k in 0..3 {
            full[0][k] /= mu;
        }
        for k in 0..3 {
            full[k][0] /= mu;
        }
        for i in 0..d {
            for j in 0..d {
                let absent = self.slick() && (i > 0 || j > 0);
                slope[i * d + j] = if absent { 0.0 } else { full[i][j] };
            }
        }
    }

    #[inline]
    fn right(&self, stage: Stage, state: &mut Interior, g: &mut [f64]) {
        state.aim = match stage {
            Stage::Predict => [-state.middle[0], -state.middle[1], -state.middle[2]],
            Stage::Correct(target) => {
                let bend = product(times(&state.down, state.dy), times(&state.up, state.ds));
                let own = product(state.middle, state.middle);
                quotient(state.middle, [target - own[0] - bend[0], -own[1] - bend[1], -own[2] - bend[2]])
            }
        };
        let held = times(&state.down, times(&state.down, times(&state.back, state.miss)));
        let aim = times(&state.down, state.aim);
        g[0] = (aim[0] + held[0]) / self.opening();
        for k in 1..self.rows() {
            g[k] = if self.slick() { 0.0 } else { aim[k] + held[k] };
        }
    }

    #[inline]
    fn respond(&self, dw: &[f64], state: &mut Interior) {
        let dw = self.point(dw);
        let moved = if self.slick() { [dw[0] / self.opening(), 0.0, 0.0] } else { [dw[0] / self.opening(), dw[1], dw[2]] };
        let lacking = [moved[0] - state.miss[0], moved[1] - state.miss[1], moved[2] - state.miss[2]];
        state.dy = times(&state.back, lacking);
        let scaled = times(&state.down, state.dy);
        state.ds = times(&state.down, [state.aim[0] - scaled[0], state.aim[1] - scaled[1], state.aim[2] - scaled[2]]);
    }

    #[inline]
    fn reach(&self, state: &Interior) -> f64 {
        reach(state.s, state.ds).min(reach(state.y, state.dy))
    }

    #[inline]
    fn impulses(&self, state: &Interior, l: &mut [f64]) {
        l[0] = state.s[0] / self.opening();
        for k in 1..self.rows() {
            l[k] = if self.slick() { 0.0 } else { state.s[k] };
        }
    }

    fn centre(&self, size: f64, l: &mut [f64]) {
        l.fill(0.0);
        l[0] = size;
    }

    fn smooth(&self, by: Smoothing, l: &[f64], w: &[f64], out: &mut Smoothed) {
        let d = self.rows();
        *out = Smoothed::default();
        // Normal: w + soft l = product / l.
        let normal = l[0];
        let speed = w[0] + by.soft * normal;
        let stiffness = speed.max(by.product / normal) / normal + by.soft;
        out.miss[0] = speed - by.product / normal;
        out.slope[0] = 1.0 / stiffness;
        out.right[0] = -out.miss[0] / stiffness;
        out.drift[0] = (by.soft * normal - by.product / normal) / stiffness;
        if self.friction <= 0.0 {
            for k in 1..d {
                out.right[k] = -l[k];
            }
            return;
        }
        // Friction: w_t + soft l_t + slip l_t / (mu l_n) = 0, with slip the rounded speed.
        let reach = self.friction * normal;
        let (mut v, mut pull) = ([0.0; 2], [0.0; 2]);
        for k in 0..self.tangents {
            v[k] = w[1 + k] + by.soft * l[1 + k];
            pull[k] = l[1 + k] / reach;
        }
        let slip = (by.slip * by.slip + v[0] * v[0] + v[1] * v[1]).sqrt();
        // B = 1 + pull v' / slip by the velocity, A = slip / reach + B soft by the friction, and by the normal impulse -slip pull / l_n.
        let mut b = [[0.0; 2]; 2];
        let mut a = [[0.0; 2]; 2];
        for i in 0..2 {
            for j in 0..2 {
                let unit = if i == j { 1.0 } else { 0.0 };
                b[i][j] = unit + pull[i] * v[j] / slip;
                a[i][j] = unit * slip / reach + b[i][j] * by.soft;
            }
        }
        let determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
        let inverse = [[a[1][1] / determinant, -a[0][1] / determinant], [-a[1][0] / determinant, a[0][0] / determinant]];
        let by_normal = [-slip * pull[0] / normal, -slip * pull[1] / normal];
        let mut with_log = [0.0; 2];
        for i in 0..2 {
            let soft = if i < self.tangents { by.soft * l[1 + i] } else { 0.0 };
            let others: f64 = (0..self.tangents).map(|j| pull[i] * v[j] / slip * by.soft * l[1 + j]).sum();
            with_log[i] = soft + others + pull[i] * by.slip * by.slip / slip;
        }
        for i in 0..self.tangents {
            let miss = |k: usize| v[k] + slip * pull[k];
            out.miss[1 + i] = miss(i);
            let (mut right, mut drift, mut first) = (0.0, 0.0, 0.0);
            for j in 0..self.tangents {
                right -= inverse[i][j] * (miss(j) + by_normal[j] * out.right[0]);
                drift += inverse[i][j] * (with_log[j] - by_normal[j] * out.drift[0]);
                first -= inverse[i][j] * by_normal[j] * out.slope[0];
                let slope: f64 = (0..2).map(|k| inverse[i][k] * b[k][j]).sum();
                out.slope[(1 + i) * d + 1 + j] = slope;
            }
            out.right[1 + i] = right;
            out.drift[1 + i] = drift;
            out.slope[(1 + i) * d] = first;
        }
    }

    fn room(&self, l: &[f64], dl: &[f64]) -> f64 {
        if dl[0] < 0.0 { -l[0] / dl[0] } else { f64::INFINITY }
    }

    fn sizes(&self, l: &[f64], sizes: &mut [f64]) {
        sizes[0] = l[0];
        if self.friction > 0.0 {
            sizes[1..].fill(self.friction * l[0]);
        }
    }
}
