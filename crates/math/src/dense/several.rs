//! The lower half of a factor for many right-hand sides at once, and what is left of a matrix without their products: sums go along rows, which are long where
//! the factor is small.

use super::{Cholesky, add_scaled};
use crate::widened;

widened! {
    fn lower_many = lower_many_wide / lower_many_plain (of: &Cholesky, x: &mut [f64]);
    /// A_ij -= sum_k x_ki x_kj for j <= i, with x of n columns by rows and an n x n row-major matrix.
    pub fn take_products = take_products_wide / take_products_plain (x: &[f64], n: usize, a: &mut [f64]);
}

#[inline(always)]
fn lower_many_plain(of: &Cholesky, x: &mut [f64]) {
    let width = x.len().checked_div(of.size).unwrap_or(0);
    for i in 0..of.size {
        let (before, own) = x.split_at_mut(i * width);
        let own = &mut own[..width];
        for j in of.first[i]..i {
            add_scaled(own, -of.factor[i * of.size + j], &before[j * width..][..width]);
        }
        own.iter_mut().for_each(|x| *x *= of.inv_diagonal[i]);
    }
}

#[inline(always)]
fn take_products_plain(x: &[f64], n: usize, a: &mut [f64]) {
    for row in x.chunks_exact(n.max(1)) {
        for i in 0..n {
            if row[i] != 0.0 {
                add_scaled(&mut a[i * n..=i * n + i], -row[i], &row[..=i]);
            }
        }
    }
}

impl Cholesky {
    /// Solves L X = B in place, X by rows: as many right-hand sides as a row has numbers.
    pub fn solve_lower_many(&self, x: &mut [f64]) {
        lower_many(self, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_solved_as_one_and_their_products_are_taken() {
        let (m, n) = (7, 5);
        let number = |i: usize, j: usize| ((2 * i + 5 * j) as f64 + 0.2).sin();
        let mut factor = Cholesky::new();
        for (i, row) in factor.matrix(m).chunks_exact_mut(m).enumerate() {
            // The corner is nought, as in a band.
            row.iter_mut().enumerate().for_each(|(j, x)| {
                *x = if i == j {
                    4.0
                } else if i + j == 6 && i == 6 {
                    0.0
                } else {
                    0.4 * number(i.max(j), i.min(j))
                }
            });
        }
        factor.factor().unwrap();
        let given: Vec<f64> = (0..m * n).map(|k| number(k / n, k % n)).collect();
        let mut x = given.clone();
        factor.solve_lower_many(&mut x);
        for column in 0..n {
            let mut one: Vec<f64> = (0..m).map(|row| given[row * n + column]).collect();
            factor.solve_lower(&mut one);
            assert!((0..m).all(|row| (one[row] - x[row * n + column]).abs() < 1e-15));
        }
        let mut left = vec![1.0; n * n];
        take_products(&x, n, &mut left);
        for i in 0..n {
            for j in 0..=i {
                let taken: f64 = (0..m).map(|k| x[k * n + i] * x[k * n + j]).sum();
                assert!((left[i * n + j] - (1.0 - taken)).abs() < 1e-14);
            }
        }
    }
}
