//! Rows that hold whatever impulse it takes, those of a joint: w = 0; theory (4.1).

use super::interior::{Interior, Stage};
use super::{ContactLaw, LawChange, Mode, WIDEST};
use crate::contact::trace::{Smoothed, Smoothing};

/// How stiff a row without bounds is in the smoothed form, over its own answer: its impulse is corrected by this much of its speed in every round.
const STIFFNESS: f64 = 1e6;

/// The law of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equality {
    /// Number of rows.
    pub rows: usize,
}

impl ContactLaw for Equality {
    fn rows(&self) -> usize {
        self.rows
    }

    fn project(&self, _z: &mut [f64], slope: Option<&mut [f64]>) -> Mode {
        if let Some(slope) = slope {
            slope.fill(0.0);
            for k in 0..self.rows {
                slope[k * self.rows + k] = 1.0;
            }
        }
        Mode::Held
    }

    fn by_numbers(&self, _z: &[f64], out: &mut [LawChange]) {
        out.fill(LawChange::default());
    }

    fn miss(&self, _diagonal: &[f64], _l: &[f64], w: &[f64]) -> f64 {
        // A sum keeps what is not a number.
        let largest = w[..self.rows].iter().fold(0.0f64, |most, x| most.max(x.abs()));
        largest + 0.0 * w[..self.rows].iter().sum::<f64>()
    }

    fn idle(&self, w: &[f64]) -> bool {
        w[..self.rows].iter().all(|w| *w == 0.0)
    }

    fn solve_alone(&self, own: &[f64], free: &[f64], l: &mut [f64]) {
        let d = self.rows;
        let (mut a, mut x) = ([[0.0; WIDEST]; WIDEST], [0.0; WIDEST]);
        for i in 0..d {
            a[i][..d].copy_from_slice(&own[i * d..(i + 1) * d]);
            x[i] = -free[i];
        }
        // Elimination with the largest pivot of each column; a row that nothing moves keeps its impulse.
        for k in 0..d {
            let pivot = (k..d).fold(k, |best, i| if a[i][k].abs() > a[best][k].abs() { i } else { best });
            if a[pivot][k] == 0.0 {
                return;
            }
            a.swap(k, pivot);
            x.swap(k, pivot);
            for i in k + 1..d {
                let factor = a[i][k] / a[k][k];
                for j in k..d {
                    a[i][j] -= factor * a[k][j];
                }
                x[i] -= factor * x[k];
            }
        }
        for k in (0..d).rev() {
            for j in k + 1..d {
                x[k] -= a[k][j] * x[j];
            }
            x[k] /= a[k][k];
        }
        if x.iter().all(|x| x.is_finite()) {
            l[..d].copy_from_slice(&x[..d]);
        }
    }

    fn enter(&self, mean: f64, _scale: f64, warm: Option<(&[f64], &[f64])>, _push: f64, state: &mut Interior) {
        *state = Interior::default();
        let (head, tail) = state_rows(state);
        if let Some((l, _)) = warm {
            for (k, l) in l[..self.rows].iter().enumerate() {
                if k < 3 { head[k] = *l } else { tail[k - 3] = *l }
            }
        }
        // Up to six impulses lie in s and in the steps' room; the stiffness beside them.
        state.middle[0] = STIFFNESS / mean;
    }

    fn linearise(&self, w: &[f64], _lagged: bool, state: &mut Interior, slope: &mut [f64]) {
        slope.fill(0.0);
        for k in 0..self.rows {
            slope[k * self.rows + k] = state.middle[0];
            state.down[k / 3][k % 3] = w[k];
        }
    }

    fn right(&self, _stage: Stage, state: &mut Interior, g: &mut [f64]) {
        for k in 0..self.rows {
            g[k] = -state.middle[0] * state.down[k / 3][k % 3];
        }
    }

    fn respond(&self, dw: &[f64], state: &mut Interior) {
        for k in 0..self.rows {
            let step = -state.middle[0] * (state.down[k / 3][k % 3] + dw[k]);
            if k < 3 { state.ds[k] = step } else { state.dy[k - 3] = step }
        }
    }

    fn reach(&self, _state: &Interior) -> f64 {
        f64::INFINITY
    }

    fn impulses(&self, state: &Interior, l: &mut [f64]) {
        for k in 0..self.rows {
            l[k] = if k < 3 { state.s[k] } else { state.y[k - 3] };
        }
    }

    fn centre(&self, _size: f64, l: &mut [f64]) {
        l.fill(0.0);
    }

    fn smooth(&self, by: Smoothing, l: &[f64], w: &[f64], out: &mut Smoothed) {
        *out = Smoothed::default();
        for k in 0..self.rows {
            // w + soft l = 0.
            out.miss[k] = w[k] + by.soft * l[k];
            out.slope[k * (self.rows + 1)] = 1.0 / by.soft;
            out.right[k] = -out.miss[k] / by.soft;
            out.drift[k] = l[k];
        }
    }

    fn room(&self, _l: &[f64], _dl: &[f64]) -> f64 {
        f64::INFINITY
    }

    fn sizes(&self, _l: &[f64], _sizes: &mut [f64]) {}
}

/// The first three impulses stand in s, the others in y: a joint has no velocities to keep.
fn state_rows(state: &mut Interior) -> (&mut [f64; 3], &mut [f64; 3]) {
    (&mut state.s, &mut state.y)
}
