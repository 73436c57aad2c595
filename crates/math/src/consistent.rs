//! Linear systems that may be singular but are consistent, and their transposes: redundant contacts make them so, theory (16.4).

use crate::dense::{Lu, dot, max_abs};

/// Diagonal added to the scaled matrix. Rounding (1e-16) is magnified by its inverse in the directions that redundancy leaves open, and
/// refinement must win back what it hides of the softest motion: this is halfway between the two.
const SHIFT: f64 = 1e-8;
/// Steps of refinement; each gains the factor of [`SHIFT`] over the smallest eigenvalue. A fixed number, so that the solve is a linear map
/// and the transposed solve its exact transpose.
const REFINEMENTS: usize = 4;
/// Rounds of scaling rows and columns by the roots of their largest entries.
const EQUILIBRATIONS: usize = 4;

/// A square matrix with its scaled and shifted factor; scratch is kept between factorisations.
#[derive(Clone, Debug, Default)]
pub struct Consistent {
    size: usize,
    matrix: Vec<f64>,
    scale: Vec<f64>,
    lu: Lu,
    right: Vec<f64>,
    total: Vec<f64>,
}

impl Consistent {
    /// Room for an n x n row-major matrix, all zero, to be filled by the caller before [`Consistent::factor`].
    pub fn matrix(&mut self, n: usize) -> &mut [f64] {
        self.size = n;
        self.matrix.clear();
        self.matrix.resize(n * n, 0.0);
        &mut self.matrix
    }

    /// Scales, shifts and factors the matrix; false when it holds numbers that are not finite or cannot be factored even so.
    pub fn factor(&mut self) -> bool {
        let n = self.size;
        self.scale.clear();
        self.scale.resize(n, 1.0);
        if !self.matrix.iter().sum::<f64>().is_finite() {
            return false;
        }
        for _ in 0..EQUILIBRATIONS {
            for i in 0..n {
                let mut largest = 0.0f64;
                for j in 0..n {
                    largest = largest.max(self.matrix[i * n + j].abs().max(self.matrix[j * n + i].abs()) * self.scale[j]);
                }
                if largest > 0.0 {
                    self.scale[i] /= (largest * self.scale[i]).sqrt();
                }
            }
        }
        let target = self.lu.matrix(n);
        for i in 0..n {
            for j in 0..n {
                self.matrix[i * n + j] *= self.scale[i] * self.scale[j];
            }
        }
        target.copy_from_slice(&self.matrix);
        for i in 0..n {
            target[i * n + i] += SHIFT;
        }
        self.lu.factor().is_ok()
    }

    /// Solves A x = b in place.
    pub fn solve(&mut self, x: &mut [f64]) {
        self.refine(x, false);
    }

    /// Solves A' x = b in place.
    pub fn solve_transpose(&mut self, x: &mut [f64]) {
        self.refine(x, true);
    }

    fn refine(&mut self, x: &mut [f64], transposed: bool) {
        let n = self.size;
        x.iter_mut().zip(&self.scale).for_each(|(x, s)| *x *= s);
        self.total.clear();
        self.total.resize(n, 0.0);
        for _ in 0..=REFINEMENTS {
            self.right.clear();
            self.right.extend_from_slice(x);
            if max_abs(&self.total) > 0.0 {
                for i in 0..n {
                    let row = &self.matrix[i * n..(i + 1) * n];
                    if transposed {
                        self.right.iter_mut().zip(row).for_each(|(r, a)| *r -= a * self.total[i]);
                    } else {
                        self.right[i] -= dot(row, &self.total);
                    }
                }
            }
            if transposed {
                self.lu.solve_transpose(&mut self.right)
            } else {
                self.lu.solve(&mut self.right)
            };
            self.total.iter_mut().zip(&self.right).for_each(|(t, r)| *t += r);
        }
        for ((x, t), s) in x.iter_mut().zip(&self.total).zip(&self.scale) {
            *x = t * s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_matrix_of_mixed_units_is_inverted() {
        let a = [4.0, 1e3, 0.0, -2e-3, 5.0, 1e-2, 0.0, 3.0, 2e6];
        let mut system = Consistent::default();
        system.matrix(3).copy_from_slice(&a);
        assert!(system.factor());
        let wanted = [1.0, -2.0, 3.0];
        let mut x: Vec<f64> = (0..3).map(|i| dot(&a[i * 3..(i + 1) * 3], &wanted)).collect();
        system.solve(&mut x);
        assert!(x.iter().zip(&wanted).all(|(x, w)| (x - w).abs() < 1e-12), "{x:?}");
        let mut x: Vec<f64> = (0..3).map(|j| (0..3).map(|i| a[i * 3 + j] * wanted[i]).sum()).collect();
        system.solve_transpose(&mut x);
        assert!(x.iter().zip(&wanted).all(|(x, w)| (x - w).abs() < 1e-12), "{x:?}");
    }

    #[test]
    fn a_singular_matrix_is_solved_where_it_can_be() {
        // The second row repeats the first: a load is shared equally, as least squares would.
        let a = [2.0, 2.0, 0.5, 2.0, 2.0, 0.5, 0.5, 0.5, 3.0];
        let mut system = Consistent::default();
        system.matrix(3).copy_from_slice(&a);
        assert!(system.factor());
        let mut x = [4.0, 4.0, 2.0];
        system.solve(&mut x);
        for i in 0..3 {
            assert!((dot(&a[i * 3..(i + 1) * 3], &x) - [4.0, 4.0, 2.0][i]).abs() < 1e-12);
        }
        assert!((x[0] - x[1]).abs() < 1e-6);
        system.matrix(1)[0] = f64::NAN;
        assert!(!system.factor());
    }
}
