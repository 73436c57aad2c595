//! What remains of the corner of a bordered system: a small matrix, unsymmetric in general, factored with row exchanges, theory (12.18).

use super::BorderError;
use crate::ldl::RANK_TOLERANCE;

/// The matrix D_22 and its factor; scratch is kept.
#[derive(Clone, Debug, Default)]
pub struct Corner {
    size: usize,
    matrix: Vec<f64>,
    /// Largest magnitude that entered each row: what its rounding is measured by.
    scale: Vec<f64>,
    factor: Vec<f64>,
    exchange: Vec<usize>,
    symmetric: Vec<f64>,
}

impl Corner {
    /// D_22, by rows.
    pub fn matrix(&self) -> &[f64] {
        &self.matrix
    }

    /// Starts from A_22, size x size by rows.
    pub fn load(&mut self, matrix: &[f64], size: usize) {
        self.size = size;
        self.matrix.clear();
        self.matrix.extend_from_slice(matrix);
        self.scale.clear();
        self.scale.resize(size, 0.0);
        for (scale, row) in self.scale.iter_mut().zip(matrix.chunks_exact(size.max(1))) {
            *scale = row.iter().fold(0.0, |worst: f64, value| worst.max(value.abs()));
        }
    }

    /// Takes a product from one entry.
    pub fn subtract(&mut self, row: usize, column: usize, product: f64) {
        self.matrix[row * self.size + column] -= product;
        self.scale[row] = self.scale[row].max(product.abs());
    }

    /// Whether every entry is finite.
    pub fn is_finite(&self) -> bool {
        self.matrix.iter().all(|value| value.is_finite())
    }

    /// P D_22 = L U; the pivot of each column is the entry largest in proportion to its row. A pivot within [`RANK_TOLERANCE`] of its
    /// row's scale is rounding, not rank.
    pub fn factor(&mut self) -> Result<(), BorderError> {
        let n = self.size;
        self.factor.clear();
        self.factor.extend_from_slice(&self.matrix);
        self.exchange.clear();
        self.exchange.extend(0..n);
        let a = &mut self.factor;
        for k in 0..n {
            let relative = |i: usize, a: &[f64]| a[i * n + k].abs() / self.scale[self.exchange[i]];
            let mut pivot = k;
            for i in k + 1..n {
                // A row of zeros has scale 0 and ratio NaN: never chosen.
                if relative(i, a) > relative(pivot, a) || relative(pivot, a).is_nan() {
                    pivot = i;
                }
            }
            let size = relative(pivot, a);
            if size <= RANK_TOLERANCE || size.is_nan() {
                return Err(BorderError::SingularCorner { row: k });
            }
            if pivot != k {
                self.exchange.swap(k, pivot);
                for c in 0..n {
                    a.swap(k * n + c, pivot * n + c);
                }
            }
            for i in k + 1..n {
                let l = a[i * n + k] / a[k * n + k];
                a[i * n + k] = l;
                for c in k + 1..n {
                    a[i * n + c] -= l * a[k * n + c];
                }
            }
        }
        Ok(())
    }

    /// x := D_22^-1 x; needs a successful [`Corner::factor`].
    pub fn solve(&self, x: &mut [f64]) {
        let (n, a) = (self.size, &self.factor);
        self.permute(x);
        for i in 0..n {
            for c in 0..i {
                x[i] -= a[i * n + c] * x[c];
            }
        }
        for i in (0..n).rev() {
            for c in i + 1..n {
                x[i] -= a[i * n + c] * x[c];
            }
            x[i] /= a[i * n + i];
        }
    }

    /// x_k := x_exchange(k), without scratch: each place is filled by following its entry through the exchanges made before it.
    fn permute(&self, x: &mut [f64]) {
        for k in 0..x.len() {
            let mut from = self.exchange[k];
            while from < k {
                from = self.exchange[from];
            }
            x.swap(k, from);
        }
    }

    /// Fails unless (D_22 + D_22') / 2 is positive definite, by its pivots.
    pub fn require_positive(&mut self) -> Result<(), BorderError> {
        let (n, matrix, left) = (self.size, &self.matrix, &mut self.symmetric);
        left.clear();
        left.extend((0..n * n).map(|at| 0.5 * (matrix[at] + matrix[at % n * n + at / n])));
        for k in 0..n {
            let pivot = left[k * n + k];
            if pivot <= RANK_TOLERANCE * self.scale[k] || pivot.is_nan() {
                return Err(BorderError::NegativeCorner { row: k });
            }
            for i in k + 1..n {
                let l = left[i * n + k] / pivot;
                for c in k + 1..n {
                    left[i * n + c] -= l * left[k * n + c];
                }
            }
        }
        Ok(())
    }
}
