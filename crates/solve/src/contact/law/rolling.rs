//! Contact that also resists rolling and spinning: moments within discs whose radius is the normal impulse times an arm, theory (4.37)-(4.39).
//!
//! Friction, rolling and spinning are each a contact of Coulomb's with the same normal row, so that the law is made of those.

use super::interior::{Interior, Stage};
use super::{ContactLaw, LawChange, Mode, Pyramid, Round, WIDEST};
use crate::contact::trace::{Smoothed, Smoothing};

/// A contact with moments: the rows of a contact, then those of rolling (one in the plane, two in space), then, in space, that of spinning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rolling {
    /// Coefficient of friction.
    pub friction: f64,
    /// Edges of the friction pyramid; 0 for the round cone.
    pub edges: usize,
    /// Friction rows.
    pub tangents: usize,
    /// Greatest rolling impulse over the normal one, in the units of their rows.
    pub rolling: f64,
    /// The same of spinning.
    pub torsional: f64,
}

/// Rounds over the parts of one block solved alone: the sweep over all blocks does the rest.
const ROUNDS: usize = 4;
/// Rounds of the search for the multiplier of a moment at its bound, and the relative excess at which it ends.
const BOUND_ROUNDS: usize = 20;
const ON_THE_BOUND: f64 = 1e-12;

/// Rows of a law, and the Coulomb law between the normal row and them.
type Part = (std::ops::Range<usize>, Round);

impl Rolling {
    /// Rolling, then spinning.
    fn moments(&self) -> impl Iterator<Item = Part> + use<> {
        let first = 1 + self.tangents;
        let rolling = (first..first + self.tangents, Round { friction: self.rolling, tangents: self.tangents });
        let spinning = (self.tangents == 2)
            .then_some((first + self.tangents..first + self.tangents + 1, Round { friction: self.torsional, tangents: 1 }));
        [Some(rolling), spinning].into_iter().flatten()
    }

    /// Asks the law of the contact itself.
    fn contact<R>(&self, ask: impl FnOnce(&dyn ContactLaw) -> R) -> R {
        match self.edges {
            0 => ask(&self.round()),
            edges => ask(&Pyramid { friction: self.friction, edges }),
        }
    }

    fn round(&self) -> Round {
        Round { friction: self.friction, tangents: self.tangents }
    }

    /// The rows of the contact itself.
    fn own(&self) -> usize {
        1 + self.tangents
    }
}

/// The normal number and those of a part.
fn gather(x: &[f64], rows: &std::ops::Range<usize>) -> ([f64; 3], usize) {
    let mut out = [x[0], 0.0, 0.0];
    out[1..1 + rows.len()].copy_from_slice(&x[rows.clone()]);
    (out, 1 + rows.len())
}

/// Copies the rows but the first of a square of side n over the normal row and a part into one of side d; `all` copies the first too.
fn scatter(part: &[f64], rows: &std::ops::Range<usize>, all: bool, out: &mut [f64], d: usize) {
    let n = 1 + rows.len();
    let place = |k: usize| if k == 0 { 0 } else { rows.start + k - 1 };
    for i in usize::from(!all)..n {
        for j in 0..n {
            out[place(i) * d + place(j)] = part[i * n + j];
        }
    }
}

impl ContactLaw for Rolling {
    fn rows(&self) -> usize {
        if self.tangents == 2 { 6 } else { 3 }
    }

    fn smooths(&self) -> bool {
        false
    }

    fn project(&self, z: &mut [f64], slope: Option<&mut [f64]>) -> Mode {
        let (d, own) = (self.rows(), self.own());
        let mut none = [0.0; WIDEST * WIDEST];
        let slope = slope.unwrap_or(&mut none[..d * d]);
        slope.fill(0.0);
        let mut square = [0.0; 9];
        let normal = z[0];
        let mut mode = self.contact(|law| law.project(&mut z[..own], Some(&mut square[..own * own])));
        scatter(&square, &(1..own), true, slope, d);
        for (rows, law) in self.moments() {
            let (mut part, n) = gather(z, &rows);
            part[0] = normal;
            let other = law.project(&mut part[..n], Some(&mut square[..n * n]));
            z[rows.clone()].copy_from_slice(&part[1..n]);
            scatter(&square, &rows, false, slope, d);
            if other == Mode::Slide && law.friction > 0.0 {
                mode = Mode::Slide;
            }
        }
        mode
    }

    fn by_numbers(&self, z: &[f64], out: &mut [LawChange]) {
        out.fill(LawChange::default());
        self.contact(|law| law.by_numbers(&z[..self.own()], &mut out[..self.own()]));
        for (k, (rows, law)) in self.moments().enumerate() {
            let mut change = [LawChange::default(); 3];
            let (part, n) = gather(z, &rows);
            law.by_numbers(&part[..n], &mut change[..n]);
            for (row, change) in rows.zip(&change[1..]) {
                let arm = if k == 0 { &mut out[row].rolling } else { &mut out[row].torsional };
                *arm = change.friction;
            }
        }
    }

    fn miss(&self, diagonal: &[f64], l: &[f64], w: &[f64]) -> f64 {
        let own = self.own();
        let mut worst = self.contact(|law| law.miss(&diagonal[..own], &l[..own], &w[..own]));
        for (rows, law) in self.moments() {
            let ((a, n), (l, _), (w, _)) = (gather(diagonal, &rows), gather(l, &rows), gather(w, &rows));
            let miss = law.miss(&a[..n], &l[..n], &w[..n]);
            worst = if (miss + worst).is_nan() { f64::NAN } else { worst.max(miss) };
        }
        worst
    }

    fn idle(&self, w: &[f64]) -> bool {
        w[0] >= 0.0
    }

    fn solve_alone(&self, own: &[f64], free: &[f64], l: &mut [f64]) {
        let (d, c) = (self.rows(), self.own());
        let mut square = [0.0; 9];
        for i in 0..c {
            for j in 0..c {
                square[i * c + j] = own[i * d + j];
            }
        }
        let speed = |row: usize, l: &[f64], but: &std::ops::Range<usize>| {
            free[row] + (0..d).filter(|k| !but.contains(k)).map(|k| own[row * d + k] * l[k]).sum::<f64>()
        };
        for _ in 0..ROUNDS {
            let mut given = [0.0; 3];
            (0..c).for_each(|row| given[row] = speed(row, l, &(0..c)));
            self.contact(|law| law.solve_alone(&square[..c * c], &given[..c], &mut l[..c]));
            for (rows, law) in self.moments() {
                let bound = law.friction * l[0].max(0.0);
                let entry =
                    |i: usize, j: usize| if i < rows.len() && j < rows.len() { own[(rows.start + i) * d + rows.start + j] } else { 0.0 };
                let mut given = [0.0; 2];
                rows.clone().enumerate().for_each(|(k, row)| given[k] = speed(row, l, &rows));
                let found = within_disc([[entry(0, 0), entry(0, 1)], [entry(1, 0), entry(1, 1)]], given, rows.len(), bound);
                l[rows.clone()].copy_from_slice(&found[..rows.len()]);
            }
        }
    }

    // The smoothed form is that of the contact alone: sweeps begin where laws without one of their own take part.
    fn enter(&self, mean: f64, scale: f64, warm: Option<(&[f64], &[f64])>, push: f64, state: &mut Interior) {
        let own = self.own();
        self.round().enter(mean, scale, warm.map(|(l, w)| (&l[..own], &w[..own])), push, state);
    }

    fn linearise(&self, w: &[f64], lagged: bool, state: &mut Interior, slope: &mut [f64]) {
        let mut square = [0.0; 9];
        self.round().linearise(&w[..self.own()], lagged, state, &mut square[..self.own() * self.own()]);
        slope.fill(0.0);
        scatter(&square, &(1..self.own()), true, slope, self.rows());
    }

    fn right(&self, stage: Stage, state: &mut Interior, g: &mut [f64]) {
        g.fill(0.0);
        self.round().right(stage, state, &mut g[..self.own()]);
    }

    fn respond(&self, dw: &[f64], state: &mut Interior) {
        self.round().respond(&dw[..self.own()], state);
    }

    fn reach(&self, state: &Interior) -> f64 {
        self.round().reach(state)
    }

    fn impulses(&self, state: &Interior, l: &mut [f64]) {
        l.fill(0.0);
        self.round().impulses(state, &mut l[..self.own()]);
    }

    fn centre(&self, size: f64, l: &mut [f64]) {
        self.round().centre(size, l);
    }

    fn smooth(&self, by: Smoothing, l: &[f64], w: &[f64], out: &mut Smoothed) {
        let d = self.rows();
        *out = Smoothed::default();
        let parts = std::iter::once((1..self.own(), self.round())).chain(self.moments());
        for (rows, law) in parts {
            let ((l, n), (w, _)) = (gather(l, &rows), gather(w, &rows));
            let mut part = Smoothed::default();
            law.smooth(by, &l[..n], &w[..n], &mut part);
            // The normal row is the same in every part.
            scatter(&part.slope, &rows, true, &mut out.slope, d);
            for (from, to) in [(&part.miss, &mut out.miss), (&part.right, &mut out.right), (&part.drift, &mut out.drift)] {
                to[0] = from[0];
                to[rows.clone()].copy_from_slice(&from[1..n]);
            }
        }
    }

    fn room(&self, l: &[f64], dl: &[f64]) -> f64 {
        self.round().room(l, dl)
    }

    fn sizes(&self, l: &[f64], sizes: &mut [f64]) {
        self.round().sizes(l, &mut sizes[..self.own()]);
        for (rows, law) in self.moments().filter(|(_, law)| law.friction > 0.0) {
            sizes[rows].fill(law.friction * l[0]);
        }
    }
}

/// The l of one or two rows with |l| <= bound that takes most of w = A l + u: w = 0, or w = -k l at the bound.
fn within_disc(a: [[f64; 2]; 2], u: [f64; 2], rows: usize, bound: f64) -> [f64; 2] {
    if rows == 1 {
        let wanted = if a[0][0] > 0.0 { -u[0] / a[0][0] } else { 0.0 };
        return [wanted.max(-bound).min(bound), 0.0];
    }
    let size = a[0][0] + a[1][1];
    let speed = u[0].hypot(u[1]);
    if bound <= 0.0 || size <= 0.0 || speed == 0.0 {
        return [0.0; 2];
    }
    let answer = |k: f64, x: [f64; 2]| {
        let (p, q) = (a[0][0] + k, a[1][1] + k);
        let determinant = p * q - a[0][1] * a[1][0];
        [(q * x[0] - a[0][1] * x[1]) / determinant, (p * x[1] - a[1][0] * x[0]) / determinant]
    };
    let mut k = f64::EPSILON * size;
    let mut l = answer(k, [-u[0], -u[1]]);
    for _ in 0..BOUND_ROUNDS {
        let length = l[0].hypot(l[1]);
        if length <= bound * (1.0 + ON_THE_BOUND) {
            break;
        }
        // Newton's method on 1/|l|, which is nearly straight in k and never overshoots.
        let slope = answer(k, l);
        k += (length / bound - 1.0) * length * length / (l[0] * slope[0] + l[1] * slope[1]);
        l = answer(k, [-u[0], -u[1]]);
    }
    let length = l[0].hypot(l[1]);
    if length > bound { l.map(|x| x * bound / length) } else { l }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAWS: [Rolling; 3] = [
        Rolling { friction: 0.5, edges: 0, tangents: 2, rolling: 0.3, torsional: 0.2 },
        Rolling { friction: 0.5, edges: 8, tangents: 2, rolling: 0.3, torsional: 0.0 },
        Rolling { friction: 0.5, edges: 0, tangents: 1, rolling: 0.3, torsional: 0.0 },
    ];

    /// Numbers for which parts hold and others slide, or all is open.
    const POINTS: [[f64; 6]; 4] = [
        [2.0, 0.3, -0.2, 0.1, 0.05, 0.9],
        [2.0, 1.3, -0.9, 0.8, -0.7, 0.1],
        [1.0, 0.1, 0.9, 0.2, -0.1, -0.3],
        [-0.5, 0.4, 0.1, 0.2, 0.3, 0.4],
    ];

    #[test]
    fn the_slope_is_that_of_differences() {
        for law in LAWS {
            let d = law.rows();
            for point in POINTS {
                let mut slope = [0.0; WIDEST * WIDEST];
                let mut z = point;
                law.project(&mut z[..d], Some(&mut slope[..d * d]));
                for j in 0..d {
                    let at = |h: f64| {
                        let mut z = point;
                        z[j] += h;
                        law.project(&mut z[..d], None);
                        z
                    };
                    let (up, down) = (at(1e-6), at(-1e-6));
                    for i in 0..d {
                        assert!((slope[i * d + j] - (up[i] - down[i]) / 2e-6).abs() < 1e-8, "{law:?} {point:?} {i} {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_block_alone_is_solved() {
        // A matrix with couplings, made positive by its diagonal.
        let own: Vec<f64> = (0..36).map(|k| if k % 7 == 0 { 2.0 } else { 0.2 * ((k * 5 % 11) as f64 / 11.0 - 0.5) }).collect();
        for law in LAWS {
            let d = law.rows();
            let entry = |i: usize, j: usize| 0.5 * (own[i * 6 + j] + own[j * 6 + i]);
            let matrix: Vec<f64> = (0..d * d).map(|k| entry(k / d, k % d)).collect();
            let diagonal: Vec<f64> = (0..d).map(|k| entry(k, k)).collect();
            for free in [[-3.0, 0.2, 0.1, 0.1, 0.2, 0.1], [-3.0, 5.0, 4.0, 3.0, -2.0, 6.0], [-1.0, 0.1, -4.0, 2.0, 0.1, 0.0]] {
                let mut l = [0.0; 6];
                (0..40).for_each(|_| law.solve_alone(&matrix, &free[..d], &mut l[..d]));
                let w: Vec<f64> = (0..d).map(|i| free[i] + (0..d).map(|j| matrix[i * d + j] * l[j]).sum::<f64>()).collect();
                let miss = law.miss(&diagonal, &l[..d], &w);
                // A pyramid is solved to the tolerance of its own search.
                assert!(miss < 1e-6, "{law:?} {free:?}: {miss:e}");
                assert!(l[0] > 0.0 && l[law.own()..d].iter().any(|x| *x != 0.0));
            }
        }
    }
}
