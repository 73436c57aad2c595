//! Contact in space whose friction lies in a pyramid inscribed in the cone, theory (4.4). Its smoothed form is that of the round cone: near enough
//! for a start, since the projection decides in the end.

use super::interior::{Interior, Stage};
use super::{ContactLaw, LawChange, Mode, Round};
use crate::contact::dense::sweep::pyramid_contact;
use crate::contact::problem::Cone;
use crate::contact::trace::{Smoothed, Smoothing};
use crate::status::{block_miss, project_friction, side_frame, side_of};

/// A contact with the normal row and two tangents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pyramid {
    /// Coefficient of friction.
    pub friction: f64,
    /// Edges of the pyramid, the first along the first tangent.
    pub edges: usize,
}

impl Pyramid {
    fn round(&self) -> Round {
        Round { friction: self.friction, tangents: 2 }
    }
}

impl ContactLaw for Pyramid {
    fn rows(&self) -> usize {
        3
    }

    fn project(&self, z: &mut [f64], slope: Option<&mut [f64]>) -> Mode {
        let mut none = [0.0; 9];
        let slope = slope.unwrap_or(&mut none);
        slope.fill(0.0);
        if z[0] <= 0.0 {
            z[..3].fill(0.0);
            return Mode::Open;
        }
        slope[0] = 1.0;
        let limit = self.friction * z[0];
        let point = [z[1], z[2]];
        let nearest = project_friction(point, limit, Cone::Polyhedral(self.edges));
        (z[1], z[2]) = (nearest[0], nearest[1]);
        if limit > 0.0 && nearest == point {
            (slope[4], slope[8]) = (1.0, 1.0);
            return Mode::Held;
        }
        // The nearest point moves with the radius, and along its side where it is no corner.
        let (_, along) = side_frame(side_of(point, self.edges), self.edges);
        let half_side = limit * (std::f64::consts::PI / self.edges as f64).sin();
        let foot = point[0] * along[0] + point[1] * along[1];
        let inside = limit > 0.0 && foot.abs() < half_side;
        for i in 0..2 {
            let kept = if inside { foot * along[i] } else { 0.0 };
            slope[(1 + i) * 3] = if limit > 0.0 { self.friction * (nearest[i] - kept) / limit } else { 0.0 };
            for j in 0..2 {
                slope[(1 + i) * 3 + 1 + j] = if inside { along[i] * along[j] } else { 0.0 };
            }
        }
        Mode::Slide
    }

    fn by_numbers(&self, z: &[f64], out: &mut [LawChange]) {
        out.fill(LawChange::default());
        if z[0] <= 0.0 {
            return;
        }
        let (point, limit) = ([z[1], z[2]], self.friction * z[0]);
        let (outward, along) = side_frame(side_of(point, self.edges), self.edges);
        let half_angle = std::f64::consts::PI / self.edges as f64;
        let height = point[0] * outward[0] + point[1] * outward[1];
        if height <= limit * half_angle.cos() {
            return;
        }
        // A side moves outwards with the limit; a corner moves along the side too.
        let foot = point[0] * along[0] + point[1] * along[1];
        let corner = if foot.abs() < limit * half_angle.sin() { 0.0 } else { half_angle.sin() * foot.signum() };
        for k in 0..2 {
            out[1 + k].friction = z[0] * (half_angle.cos() * outward[k] + corner * along[k]);
        }
    }

    fn miss(&self, diagonal: &[f64], l: &[f64], w: &[f64]) -> f64 {
        block_miss(&crate::contact::problem::Block::contact(self.friction), Cone::Polyhedral(self.edges), diagonal, l, w)
    }

    fn idle(&self, w: &[f64]) -> bool {
        w[0] >= 0.0
    }

    fn solve_alone(&self, own: &[f64], free: &[f64], l: &mut [f64]) {
        let a = [[own[0], own[1], own[2]], [own[3], own[4], own[5]], [own[6], own[7], own[8]]];
        let guess = [l[0], l[1], l[2]];
        l.copy_from_slice(&pyramid_contact(&a, [free[0], free[1], free[2]], self.friction, guess, Cone::Polyhedral(self.edges)));
    }

    fn enter(&self, mean: f64, scale: f64, warm: Option<(&[f64], &[f64])>, push: f64, state: &mut Interior) {
        self.round().enter(mean, scale, warm, push, state);
    }

    fn linearise(&self, w: &[f64], lagged: bool, state: &mut Interior, slope: &mut [f64]) {
        self.round().linearise(w, lagged, state, slope);
    }

    fn right(&self, stage: Stage, state: &mut Interior, g: &mut [f64]) {
        self.round().right(stage, state, g);
    }

    fn respond(&self, dw: &[f64], state: &mut Interior) {
        self.round().respond(dw, state);
    }

    fn reach(&self, state: &Interior) -> f64 {
        self.round().reach(state)
    }

    fn impulses(&self, state: &Interior, l: &mut [f64]) {
        self.round().impulses(state, l);
    }

    fn centre(&self, size: f64, l: &mut [f64]) {
        self.round().centre(size, l);
    }

    fn smooth(&self, by: Smoothing, l: &[f64], w: &[f64], out: &mut Smoothed) {
        self.round().smooth(by, l, w, out);
    }

    fn room(&self, l: &[f64], dl: &[f64]) -> f64 {
        self.round().room(l, dl)
    }

    fn sizes(&self, l: &[f64], sizes: &mut [f64]) {
        self.round().sizes(l, sizes);
    }
}
