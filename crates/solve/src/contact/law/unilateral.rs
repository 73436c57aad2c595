//! One row that pushes and never pulls, a limit or a rope: 0 <= l, w >= 0, l w = 0; theory (4.3).

use super::interior::{Interior, Stage};
use super::{Bounded, ContactLaw, LawChange, Mode};
use crate::contact::trace::{Smoothed, Smoothing};

/// The law of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unilateral;

/// A limit is a row with one bound.
const BOUNDS: Bounded = Bounded { lower: 0.0, upper: f64::INFINITY };

impl ContactLaw for Unilateral {
    fn rows(&self) -> usize {
        1
    }

    fn project(&self, z: &mut [f64], slope: Option<&mut [f64]>) -> Mode {
        BOUNDS.project(z, slope)
    }

    fn by_numbers(&self, _z: &[f64], out: &mut [LawChange]) {
        out[0] = LawChange::default(); // its bound is always 0
    }

    fn miss(&self, diagonal: &[f64], l: &[f64], w: &[f64]) -> f64 {
        (diagonal[0] * l[0]).min(w[0]).abs()
    }

    fn idle(&self, w: &[f64]) -> bool {
        w[0] >= 0.0
    }

    fn solve_alone(&self, own: &[f64], free: &[f64], l: &mut [f64]) {
        BOUNDS.solve_alone(own, free, l);
    }

    fn enter(&self, mean: f64, scale: f64, warm: Option<(&[f64], &[f64])>, push: f64, state: &mut Interior) {
        BOUNDS.enter(mean, scale, warm, push, state);
    }

    fn linearise(&self, w: &[f64], lagged: bool, state: &mut Interior, slope: &mut [f64]) {
        BOUNDS.linearise(w, lagged, state, slope);
    }

    fn right(&self, stage: Stage, state: &mut Interior, g: &mut [f64]) {
        BOUNDS.right(stage, state, g);
    }

    fn respond(&self, dw: &[f64], state: &mut Interior) {
        BOUNDS.respond(dw, state);
    }

    fn reach(&self, state: &Interior) -> f64 {
        BOUNDS.reach(state)
    }

    fn impulses(&self, state: &Interior, l: &mut [f64]) {
        BOUNDS.impulses(state, l);
    }

    fn centre(&self, size: f64, l: &mut [f64]) {
        BOUNDS.centre(size, l);
    }

    fn smooth(&self, by: Smoothing, l: &[f64], w: &[f64], out: &mut Smoothed) {
        BOUNDS.smooth(by, l, w, out);
    }

    fn room(&self, l: &[f64], dl: &[f64]) -> f64 {
        BOUNDS.room(l, dl)
    }

    fn sizes(&self, l: &[f64], sizes: &mut [f64]) {
        BOUNDS.sizes(l, sizes);
    }
}
