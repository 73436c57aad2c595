//! What locked contacts leave of an impact, theory (16.13).

use super::elastic::Subset;
use carom_math::dense::{add_scaled, dot};

/// The contacts E that stay locked and the contacts R that are left, with the reduced matrix and speeds.
#[derive(Clone, Debug, Default)]
pub(super) struct Reduction {
    /// Contacts that are left, ascending.
    pub rest: Vec<usize>,
    /// Independent locked contacts.
    pub locked: Vec<usize>,
    /// K~, r x r.
    pub matrix: Vec<f64>,
    /// u~, r.
    pub approach: Vec<f64>,
    /// K of the normals, m x m.
    normals: Vec<f64>,
    /// X = K_EE^-1 K_ER, e x r.
    coupling: Vec<f64>,
    /// -K_EE^-1 u_E.
    stopping: Vec<f64>,
    /// Impulses of all contacts.
    impulses: Vec<f64>,
    factor: Subset,
    x: Vec<f64>,
    z: Vec<f64>,
    unit: Vec<f64>,
    image: Vec<f64>,
}

impl Reduction {
    /// Loads the normal rows of an n x n matrix and removes the locked contacts from them; false when those cannot be factored.
    pub fn prepare(&mut self, matrix: &[f64], n: usize, approach: &[f64], implicit: &[usize], locked: &[usize], impulses: &[f64]) -> bool {
        let m = impulses.len();
        self.impulses.clear();
        self.impulses.extend_from_slice(impulses);
        self.normals.clear();
        (0..m).for_each(|i| self.normals.extend_from_slice(&matrix[i * n..i * n + m]));
        self.locked.clear();
        self.locked.extend_from_slice(locked);
        self.rest.clear();
        self.rest.extend((0..m).filter(|i| self.normals[i * (m + 1)] > 0.0 && implicit.binary_search(i).is_err()));
        let (r, e) = (self.rest.len(), self.locked.len());
        if e > 0 && !self.factor.factor(&self.normals, m, &self.locked, 0.0) {
            return false;
        }
        self.coupling.clear();
        self.coupling.resize(e * r, 0.0);
        for c in 0..r {
            let j = self.rest[c];
            self.x.clear();
            self.x.extend(self.locked.iter().map(|&i| self.normals[i * m + j]));
            self.factor_solve();
            (0..e).for_each(|a| self.coupling[a * r + c] = self.x[a]);
        }
        self.x.clear();
        self.x.extend(self.locked.iter().map(|&i| -approach[i]));
        self.factor_solve();
        self.stopping.clear();
        self.stopping.extend_from_slice(&self.x);
        self.matrix.clear();
        self.approach.clear();
        for &i in &self.rest {
            for (c, &j) in self.rest.iter().enumerate() {
                let held: f64 = (0..e).map(|a| self.normals[i * m + self.locked[a]] * self.coupling[a * r + c]).sum();
                self.matrix.push(self.normals[i * m + j] - held);
            }
            let held: f64 = (0..e).map(|a| self.normals[i * m + self.locked[a]] * self.stopping[a]).sum();
            self.approach.push(approach[i] + held);
        }
        // K~ is symmetric but for rounding.
        for a in 0..r {
            for b in 0..a {
                let mean = (self.matrix[a * r + b] + self.matrix[b * r + a]) / 2.0;
                self.matrix[a * r + b] = mean;
                self.matrix[b * r + a] = mean;
            }
        }
        true
    }

    fn factor_solve(&mut self) {
        if !self.locked.is_empty() {
            self.factor.solve(&mut self.x);
        }
    }

    /// Z x: from the contacts that are left to all of them, in `z` (m).
    fn spread(&mut self, x: &[f64]) {
        let r = self.rest.len();
        self.z.clear();
        self.z.resize(self.impulses.len(), 0.0);
        self.rest.iter().zip(x).for_each(|(&i, x)| self.z[i] = *x);
        for (a, &i) in self.locked.iter().enumerate() {
            self.z[i] = -dot(&self.coupling[a * r..(a + 1) * r], x);
        }
    }

    /// Column c of Z, in `z` (m).
    fn column(&mut self, c: usize) {
        let mut unit = std::mem::take(&mut self.unit);
        unit.clear();
        unit.resize(self.rest.len(), 0.0);
        unit[c] = 1.0;
        self.spread(&unit);
        self.unit = unit;
    }

    /// dK~ = Z' dK Z and du~ = Z' (du + dK mu_E) from changes of the n x n matrix and of the approach.
    pub fn tangent(&mut self, matrix_dot: &[f64], n: usize, approach_dot: &[f64], reduced_dot: &mut Vec<f64>, speeds_dot: &mut Vec<f64>) {
        let (r, m) = (self.rest.len(), self.impulses.len());
        reduced_dot.clear();
        reduced_dot.resize(r * r, 0.0);
        speeds_dot.clear();
        for c in 0..r {
            self.column(c);
            // dK z, then its part along every other column of Z.
            self.image.clear();
            self.image.extend((0..m).map(|i| {
                let row = &matrix_dot[i * n..i * n + m];
                if self.locked.is_empty() { row[self.rest[c]] } else { dot(row, &self.z) }
            }));
            for (b, &j) in self.rest.iter().enumerate() {
                let held: f64 = self.locked.iter().enumerate().map(|(a, &i)| self.coupling[a * r + b] * self.image[i]).sum();
                reduced_dot[b * r + c] = self.image[j] - held;
            }
            let stopped: f64 = self.locked.iter().zip(&self.stopping).map(|(&i, s)| self.image[i] * s).sum();
            speeds_dot.push(dot(&self.z, &approach_dot[..m]) + stopped);
        }
    }

    /// The transpose of [`Reduction::tangent`], added to the cotangents of the n x n matrix and of the approach.
    pub fn adjoint(&mut self, reduced_bar: &[f64], speeds_bar: &[f64], n: usize, matrix_bar: &mut [f64], approach_bar: &mut [f64]) {
        let (r, m) = (self.rest.len(), self.impulses.len());
        for b in 0..r {
            self.spread(&reduced_bar[b * r..(b + 1) * r]);
            std::mem::swap(&mut self.image, &mut self.z);
            self.column(b);
            for i in 0..m {
                if self.z[i] != 0.0 {
                    add_scaled(&mut matrix_bar[i * n..i * n + m], self.z[i], &self.image);
                }
            }
        }
        self.spread(speeds_bar);
        for i in 0..m {
            approach_bar[i] += self.z[i];
            for (&j, s) in self.locked.iter().zip(&self.stopping) {
                matrix_bar[i * n + j] += self.z[i] * s;
            }
        }
    }

    /// Completes the change of the impulses of all contacts from that of the contacts that are left: the locked ones keep no speed.
    pub fn hold_tangent(&mut self, matrix_dot: &[f64], n: usize, approach_dot: &[f64], rest_dot: &[f64], impulses_dot: &mut [f64]) {
        let m = self.impulses.len();
        impulses_dot.fill(0.0);
        self.rest.iter().zip(rest_dot).for_each(|(&i, x)| impulses_dot[i] = *x);
        self.x.clear();
        for &i in &self.locked {
            let driven = approach_dot[i] + dot(&matrix_dot[i * n..i * n + m], &self.impulses);
            self.x.push(-(driven + dot(&self.normals[i * m..(i + 1) * m], impulses_dot)));
        }
        self.factor_solve();
        self.locked.iter().zip(&self.x).for_each(|(&i, x)| impulses_dot[i] = *x);
    }

    /// The transpose of [`Reduction::hold_tangent`]: adds to the cotangents of matrix and approach, sets that of the rest.
    pub fn hold_adjoint(
        &mut self,
        impulses_bar: &[f64],
        n: usize,
        matrix_bar: &mut [f64],
        approach_bar: &mut [f64],
        rest_bar: &mut Vec<f64>,
    ) {
        let m = self.impulses.len();
        self.x.clear();
        self.x.extend(self.locked.iter().map(|&i| -impulses_bar[i]));
        if !self.locked.is_empty() {
            self.factor.solve_transpose(&mut self.x);
        }
        rest_bar.clear();
        rest_bar.extend(self.rest.iter().map(|&j| {
            let through: f64 = self.locked.iter().zip(&self.x).map(|(&i, y)| y * self.normals[i * m + j]).sum();
            impulses_bar[j] + through
        }));
        for (&i, &y) in self.locked.iter().zip(&self.x) {
            approach_bar[i] += y;
            add_scaled(&mut matrix_bar[i * n..i * n + m], y, &self.impulses);
        }
    }
}
