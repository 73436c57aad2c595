//! A sequence of elastic applications with fixed active sets, theory (16.9)-(16.10).

use crate::impact::Gram;
use carom_math::consistent::Consistent;
use carom_math::dense::{add_scaled, dot};

/// Solves on subsets of a symmetric matrix: one row by division, more by a factor that redundancy does not break.
#[derive(Clone, Debug, Default)]
pub(super) struct Subset {
    factor: Consistent,
    diagonal: f64,
    single: bool,
    /// What stands factored, and what is to be: the adjoint asks for what was prepared last.
    factored: Vec<f64>,
    wanted: Vec<f64>,
}

impl Subset {
    /// Factors K_PP + shift of an r x r matrix; false when that cannot be.
    pub fn factor(&mut self, matrix: &[f64], r: usize, set: &[usize], shift: f64) -> bool {
        self.single = set.len() == 1;
        if self.single {
            self.diagonal = matrix[set[0] * (r + 1)] + shift;
            return self.diagonal > 0.0 && self.diagonal.is_finite();
        }
        self.wanted.clear();
        for (a, &i) in set.iter().enumerate() {
            self.wanted.extend(set.iter().enumerate().map(|(b, &j)| matrix[i * r + j] + if a == b { shift } else { 0.0 }));
        }
        self.factor_wanted(set.len())
    }

    /// Factors the k x k matrix that is wanted, unless it stands factored.
    fn factor_wanted(&mut self, k: usize) -> bool {
        if self.factored == self.wanted {
            return true;
        }
        self.factored.clear();
        self.factor.matrix(k).copy_from_slice(&self.wanted);
        let sound = self.factor.factor();
        if sound {
            std::mem::swap(&mut self.factored, &mut self.wanted);
        }
        sound
    }

    /// Factors the normalised matrix of a set, its unit diagonal shifted; false when that cannot be.
    pub fn factor_normalised(&mut self, gram: &Gram, set: &[usize], shift: f64) -> bool {
        self.single = set.len() == 1;
        if self.single {
            self.diagonal = 1.0 + shift;
            return true;
        }
        let k = set.len();
        self.wanted.clear();
        self.wanted.resize(k * k, 0.0);
        for (a, &i) in set.iter().enumerate() {
            let (columns, values) = gram.row(i);
            for (&j, &value) in columns.iter().zip(values) {
                if let Ok(b) = set.binary_search(&j) {
                    self.wanted[a * k + b] = value;
                }
            }
            self.wanted[a * k + a] += shift;
        }
        self.factor_wanted(k)
    }

    /// Solves in place.
    pub fn solve(&mut self, x: &mut [f64]) {
        if self.single {
            x[0] /= self.diagonal;
        } else if !x.is_empty() {
            self.factor.solve(x);
        }
    }

    /// Solves with the transpose, the same but for rounding where the matrix is nearly singular.
    pub fn solve_transpose(&mut self, x: &mut [f64]) {
        if self.single {
            x[0] /= self.diagonal;
        } else if !x.is_empty() {
            self.factor.solve_transpose(x);
        }
    }
}

/// The applications of an elastic operator on r contacts.
#[derive(Clone, Debug, Default)]
pub(super) struct Elastic {
    ends: Vec<usize>,
    contacts: Vec<usize>,
    impulses: Vec<f64>,
    subset: Subset,
    speeds: Vec<f64>,
    x: Vec<f64>,
}

impl Elastic {
    /// Forgets the last sequence; `speeds` become those before the impact.
    pub fn begin(&mut self, approach: &[f64]) {
        self.ends.clear();
        self.contacts.clear();
        self.impulses.clear();
        self.speeds.clear();
        self.speeds.extend_from_slice(approach);
    }

    /// Speeds of the contacts after the applications so far.
    pub fn speeds(&self) -> &[f64] {
        &self.speeds
    }

    /// Applies one active set, K_PP l = -2 a_P, adding its impulses to `total`; they are returned.
    pub fn apply(&mut self, matrix: &[f64], set: &[usize], total: &mut [f64]) -> Option<&[f64]> {
        let r = self.speeds.len();
        if !self.subset.factor(matrix, r, set, 0.0) {
            return None;
        }
        self.x.clear();
        self.x.extend(set.iter().map(|&i| -2.0 * self.speeds[i]));
        self.subset.solve(&mut self.x);
        for (&i, &l) in set.iter().zip(&self.x) {
            total[i] += l;
            add_scaled(&mut self.speeds, l, &matrix[i * r..(i + 1) * r]);
        }
        self.contacts.extend_from_slice(set);
        self.impulses.extend_from_slice(&self.x);
        self.ends.push(self.contacts.len());
        Some(&self.x)
    }

    fn application(&self, k: usize) -> std::ops::Range<usize> {
        (if k == 0 { 0 } else { self.ends[k - 1] })..self.ends[k]
    }

    /// Change of the sum of impulses.
    pub fn tangent(&mut self, matrix: &[f64], matrix_dot: &[f64], approach_dot: &[f64], total_dot: &mut [f64]) {
        let r = approach_dot.len();
        self.speeds.clear();
        self.speeds.extend_from_slice(approach_dot);
        for k in 0..self.ends.len() {
            let range = self.application(k);
            let (set, l) = (&self.contacts[range.clone()], &self.impulses[range]);
            self.subset.factor(matrix, r, set, 0.0);
            self.x.clear();
            self.x.extend(set.iter().map(|&i| {
                let turned: f64 = set.iter().zip(l).map(|(&j, l)| matrix_dot[i * r + j] * l).sum();
                -2.0 * self.speeds[i] - turned
            }));
            self.subset.solve(&mut self.x);
            for ((&i, &l), &dl) in set.iter().zip(l).zip(&self.x) {
                total_dot[i] += dl;
                add_scaled(&mut self.speeds, l, &matrix_dot[i * r..(i + 1) * r]);
                add_scaled(&mut self.speeds, dl, &matrix[i * r..(i + 1) * r]);
            }
        }
    }

    /// Adds the cotangents of matrix (r x r, not symmetric) and approach for that of the sum of impulses.
    pub fn adjoint(&mut self, matrix: &[f64], total_bar: &[f64], matrix_bar: &mut [f64], approach_bar: &mut [f64]) {
        let r = total_bar.len();
        self.speeds.clear();
        self.speeds.resize(r, 0.0);
        for k in (0..self.ends.len()).rev() {
            let range = self.application(k);
            let (set, l) = (&self.contacts[range.clone()], &self.impulses[range]);
            self.subset.factor(matrix, r, set, 0.0);
            self.x.clear();
            self.x.extend(set.iter().map(|&i| total_bar[i] + dot(&matrix[i * r..(i + 1) * r], &self.speeds)));
            self.subset.solve_transpose(&mut self.x);
            for (&j, &l) in set.iter().zip(l) {
                add_scaled(&mut matrix_bar[j * r..(j + 1) * r], l, &self.speeds);
                for (&i, &y) in set.iter().zip(&self.x) {
                    matrix_bar[j * r + i] -= l * y;
                }
            }
            for (&i, &y) in set.iter().zip(&self.x) {
                self.speeds[i] -= 2.0 * y;
            }
        }
        add_scaled(approach_bar, 1.0, &self.speeds);
    }
}
