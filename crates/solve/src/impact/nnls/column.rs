//! Nonnegative least squares by an active set (Lawson and Hanson), in column form: minimise ‖B x - y‖ over x ≥ 0.
//!
//! Working with the columns of B themselves resolves distances down to rounding, where their Gram matrix would only see squares; this is
//! what decides whether a hull touches the origin (theory (5.19)).

use crate::impact::nnls::{CHANGES, MIN_CHANGES, NnlsReport, NnlsStatus, first_to_vanish};

/// Sine of the angle to the span of the passive columns below which a column counts as dependent (column form).
pub const COLUMN_DEPENDENT: f64 = 1e-13;

/// Descent b_j·(y - B x), relative to y, below which a column stays at zero (column form): a few roundings of the residual.
pub const COLUMN_STATIONARY: f64 = 1e-15;

/// Column-form solver with its scratch.
#[derive(Clone, Debug, Default)]
pub struct ColumnNnls {
    passive: Vec<usize>,
    is_passive: Vec<bool>,
    banned: Vec<bool>,
    orthonormal: Vec<f64>,
    triangle: Vec<f64>,
    trial: Vec<f64>,
    residual: Vec<f64>,
    later: Vec<usize>,
    stride: usize,
}

impl ColumnNnls {
    /// The passive set of the last solve, in order of entry: linearly independent, x > 0.
    pub fn passive(&self) -> &[usize] {
        &self.passive
    }

    /// Residual y - B x of the last solve (d).
    pub fn residual(&self) -> &[f64] {
        &self.residual
    }

    /// Minimises ‖B x - y‖ over x ≥ 0. Column j of B is `columns[j d .. (j + 1) d]`, of length about 1; `target` is y (d).
    ///
    /// `stop(residual, steepest)` may end the search early: `steepest` is the largest b_j·(y - B x) over the columns at zero.
    pub fn solve(&mut self, columns: &[f64], target: &[f64], x: &mut [f64], mut stop: impl FnMut(&[f64], f64) -> bool) -> NnlsReport {
        let (n, d) = (x.len(), target.len());
        x.fill(0.0);
        self.passive.clear();
        self.is_passive.clear();
        self.is_passive.resize(n, false);
        self.banned.clear();
        self.banned.resize(n, false);
        self.stride = d.min(n);
        self.orthonormal.resize(self.stride * d, 0.0);
        self.triangle.resize(self.stride * self.stride, 0.0);
        let scale = target.iter().fold(0.0f64, |s, y| s.max(y.abs()));
        let cap = (CHANGES * n * n).max(MIN_CHANGES);
        let mut changes = 0;
        self.measure(columns, target, x);
        let mut objective = square(&self.residual);
        loop {
            let mut best = None;
            let mut entering = COLUMN_STATIONARY * scale;
            let mut steepest: f64 = 0.0;
            for j in 0..n {
                if self.is_passive[j] {
                    continue;
                }
                let descent = dot(&columns[j * d..(j + 1) * d], &self.residual);
                steepest = descent.max(steepest);
                if descent > entering && !self.banned[j] {
                    entering = descent;
                    best = Some(j);
                }
            }
            if stop(&self.residual, steepest) {
                return NnlsReport { status: NnlsStatus::Solved, changes, residual: steepest };
            }
            let Some(j) = best else { return NnlsReport { status: NnlsStatus::Solved, changes, residual: steepest } };
            if changes >= cap {
                return NnlsReport { status: NnlsStatus::Capped, changes, residual: steepest };
            }
            changes += 1;
            if !self.append(columns, d, j) {
                self.banned[j] = true;
                continue;
            }
            self.solve_trial(target);
            if self.trial[self.passive.len() - 1] <= 0.0 {
                self.remove(columns, d, self.passive.len() - 1);
                self.banned[j] = true;
                continue;
            }
            while let Some((first, limit)) = first_to_vanish(&self.passive, &self.trial, x) {
                for (k, &p) in self.passive.iter().enumerate() {
                    x[p] += limit * (self.trial[k] - x[p]);
                }
                x[self.passive[first]] = 0.0;
                for k in (0..self.passive.len()).rev() {
                    if x[self.passive[k]] <= 0.0 {
                        x[self.passive[k]] = 0.0;
                        self.remove(columns, d, k);
                        changes += 1;
                    }
                }
                for j in 0..n {
                    if !self.is_passive[j] {
                        x[j] = 0.0;
                    }
                }
                self.solve_trial(target);
            }
            for (k, &p) in self.passive.iter().enumerate() {
                x[p] = self.trial[k];
            }
            self.measure(columns, target, x);
            let now = square(&self.residual);
            if now < objective {
                objective = now;
                self.banned.fill(false);
            } else {
                self.banned[j] = true;
            }
        }
    }

    fn measure(&mut self, columns: &[f64], target: &[f64], x: &[f64]) {
        let d = target.len();
        self.residual.clear();
        self.residual.extend_from_slice(target);
        for &p in &self.passive {
            for (r, b) in self.residual.iter_mut().zip(&columns[p * d..(p + 1) * d]) {
                *r -= b * x[p];
            }
        }
    }

    /// Adds column j to the orthogonal factor by Gram-Schmidt, twice, so that it is orthogonal to rounding; false if dependent.
    fn append(&mut self, columns: &[f64], d: usize, j: usize) -> bool {
        let k = self.passive.len();
        if k >= self.stride {
            return false;
        }
        let column = &columns[j * d..(j + 1) * d];
        let limit = COLUMN_DEPENDENT * square(column).sqrt();
        let (done, rest) = self.orthonormal.split_at_mut(k * d);
        let fresh = &mut rest[..d];
        fresh.copy_from_slice(column);
        for r in 0..k {
            self.triangle[r * self.stride + k] = 0.0;
        }
        for _ in 0..2 {
            for r in 0..k {
                let q = &done[r * d..(r + 1) * d];
                let overlap = dot(q, fresh);
                self.triangle[r * self.stride + k] += overlap;
                for (f, q) in fresh.iter_mut().zip(q) {
                    *f -= overlap * q;
                }
            }
        }
        let length = square(fresh).sqrt();
        if length.is_nan() || length <= limit {
            return false;
        }
        fresh.iter_mut().for_each(|f| *f /= length);
        self.triangle[k * self.stride + k] = length;
        self.passive.push(j);
        self.is_passive[j] = true;
        true
    }

    /// Removes passive entry k; the later columns are orthogonalised anew.
    fn remove(&mut self, columns: &[f64], d: usize, k: usize) {
        self.later.clear();
        self.later.extend_from_slice(&self.passive[k + 1..]);
        for &j in &self.passive[k..] {
            self.is_passive[j] = false;
        }
        self.passive.truncate(k);
        for next in 0..self.later.len() {
            // A column that has become dependent stays out; the search may bring it back.
            self.append(columns, d, self.later[next]);
        }
    }

    /// Least squares on the passive set: R s = Qᵀ y.
    fn solve_trial(&mut self, target: &[f64]) {
        let (d, k) = (target.len(), self.passive.len());
        self.trial.clear();
        self.trial.extend((0..k).map(|r| dot(&self.orthonormal[r * d..(r + 1) * d], target)));
        for r in (0..k).rev() {
            for c in r + 1..k {
                self.trial[r] -= self.triangle[r * self.stride + c] * self.trial[c];
            }
            self.trial[r] /= self.triangle[r * self.stride + r];
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn square(a: &[f64]) -> f64 {
    dot(a, a)
}
