//! Proof that nothing is locked: a velocity that opens every contact, theory (5.21).
//!
//! If some x has (A x)_i > 0 for every contact, then w = M⁻¹ Nᵀ x opens them all and no implicit equality exists. Almost every impact has
//! one, and a few steps of conjugate residuals towards A x = 1 (open all contacts at the same speed) usually find it. When they do not,
//! nonnegative least squares decides: min ½ x·A x - 1·x over x ≥ 0 has a minimiser, with A x ≥ 1, exactly when nothing is locked.

use super::Gram;
use super::cone::ConeSolver;

/// Margin a certificate must show, as (Â x)_i over ‖x‖_Â: well above the tolerance, for it is measured through rounded squares.
const MARGIN: f64 = 1e-6;

/// Share of the terms of a sum below which the sum may be rounding alone.
const ROUNDING: f64 = 1e-12;

/// Steps of conjugate residuals before nonnegative least squares is asked.
const STEPS: usize = 16;

/// Search for certificates, group by group, with its scratch.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    target: Vec<f64>,
    x: Vec<f64>,
    residual: Vec<f64>,
    image: Vec<f64>,
    direction: Vec<f64>,
    direction_image: Vec<f64>,
    covered: Vec<bool>,
    members: Vec<usize>,
    linear: Vec<f64>,
    solver: ConeSolver,
}

impl Certificate {
    /// Whether nothing is locked in any group; otherwise [`Certificate::covered`] tells which groups are certified.
    pub fn covers(&mut self, gram: &Gram) -> bool {
        let m = gram.len();
        self.covered.clear();
        self.covered.resize(gram.groups(), false);
        self.target.clear();
        self.target.extend((0..m).map(|i| gram.inverse_scale(i)));
        if self.conjugate_residuals(gram) {
            self.covered.fill(true);
            return true;
        }
        for group in 0..gram.groups() {
            self.covered[group] = self.least_squares(gram, group);
        }
        self.covered.iter().all(|&c| c)
    }

    /// Which groups are certified.
    pub fn covered(&self) -> &[bool] {
        &self.covered
    }

    /// Conjugate residuals on Â x = target, which also behave when the target is out of range; true as soon as x opens every contact.
    fn conjugate_residuals(&mut self, gram: &Gram) -> bool {
        let m = gram.len();
        let Self { target, x, residual, image, direction, direction_image, .. } = self;
        x.clear();
        x.resize(m, 0.0);
        for vector in [&mut *residual, &mut *direction] {
            vector.clear();
            vector.extend_from_slice(target);
        }
        image.clear();
        image.extend((0..m).map(|i| gram.row_dot(i, target)));
        direction_image.clear();
        direction_image.extend_from_slice(image);
        let mut curvature = dot(residual, image);
        for _ in 0..STEPS {
            let square = dot(direction_image, direction_image);
            if !(square > 0.0 && curvature > 0.0) {
                return false;
            }
            let step = curvature / square;
            let mut opened = true;
            for i in 0..m {
                x[i] += step * direction[i];
                residual[i] -= step * direction_image[i];
                let reach = target[i] - residual[i];
                opened &= reach > 0.0 || target[i] == 0.0;
            }
            if opened {
                // The residual is a recurrence; only the product itself is a proof.
                self.members.clear();
                self.members.extend((0..m).filter(|&i| gram.takes_part(i)));
                return self.opens(gram);
            }
            let mut next = 0.0;
            for i in 0..m {
                image[i] = gram.row_dot(i, residual);
                next += residual[i] * image[i];
            }
            let ratio = next / curvature;
            curvature = next;
            for i in 0..m {
                direction[i] = residual[i] + ratio * direction[i];
                direction_image[i] = image[i] + ratio * direction_image[i];
            }
        }
        false
    }

    /// The exact question for one group.
    fn least_squares(&mut self, gram: &Gram, group: usize) -> bool {
        let m = gram.len();
        self.members.clear();
        self.members.extend((0..m).filter(|&i| gram.group(i) == group && gram.takes_part(i)));
        self.linear.clear();
        self.linear.extend(self.target.iter().map(|b| -b));
        self.x.fill(0.0);
        self.solver.begin(m);
        self.solver.open(gram, &self.members, &self.linear, &mut self.x) || self.opens(gram)
    }

    /// Whether x opens every contact of `members`, by more than the margin and by more than rounding.
    fn opens(&mut self, gram: &Gram) -> bool {
        let mut norm = 0.0;
        for &i in &self.members {
            let (columns, values) = gram.row(i);
            let (mut reach, mut size) = (0.0, 0.0);
            for (&j, a) in columns.iter().zip(values) {
                let term = a * self.x[j];
                reach += term;
                size += term.abs();
            }
            if reach <= ROUNDING * size {
                return false;
            }
            self.image[i] = reach;
            norm += reach * self.x[i];
        }
        let margin = MARGIN * norm.max(0.0).sqrt();
        self.members.iter().all(|&i| self.image[i] > margin)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
