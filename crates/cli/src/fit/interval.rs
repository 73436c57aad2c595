//! How well the data determine the parameters: covariance s^2 (J'J)^-1 and two-sided 95 % intervals of Student's distribution.

use super::search::dot;
use carom::solve::dense::Cholesky;

/// Two-sided 95 %: the normal quantile of 0.975.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Half widths of the 95 % intervals; `None` where the data leave nothing to judge by (no more numbers than parameters, or parameters
/// that cannot be told apart).
pub fn half_widths(residuals: &[f64], columns: &[Vec<f64>]) -> Option<Vec<f64>> {
    let n = columns.len();
    let left = residuals.len().checked_sub(n).filter(|left| *left > 0)?;
    let variance = dot(residuals, residuals) / left as f64;
    let inverse = inverse_diagonal(columns)?;
    Some(inverse.iter().map(|c| student(left) * (variance * c).sqrt()).collect())
}

/// The diagonal of (J'J)^-1, in columns scaled to length one.
fn inverse_diagonal(columns: &[Vec<f64>]) -> Option<Vec<f64>> {
    let n = columns.len();
    let scale: Vec<f64> = columns.iter().map(|c| 1.0 / dot(c, c).sqrt()).collect();
    let matrix: Vec<f64> = (0..n * n).map(|k| dot(&columns[k / n], &columns[k % n]) * scale[k / n] * scale[k % n]).collect();
    let factor = factor(&matrix, n)?;
    let mut out = Vec::with_capacity(n);
    for k in 0..n {
        let mut unit = vec![0.0; n];
        unit[k] = 1.0;
        factor.solve(&mut unit);
        out.push(unit[k] * scale[k] * scale[k]);
    }
    out.iter().all(|x| x.is_finite() && *x > 0.0).then_some(out)
}

/// Factors a small symmetric matrix.
pub fn factor(matrix: &[f64], n: usize) -> Option<Cholesky> {
    let mut factor = Cholesky::new();
    factor.matrix(n).copy_from_slice(matrix);
    factor.factor().ok().map(|()| factor)
}

/// The 0.975 quantile of Student's distribution: exact for one and two degrees of freedom, otherwise the expansion in 1/n
/// (Abramowitz and Stegun 26.7.5), good to 1e-3 from three on.
fn student(freedom: usize) -> f64 {
    let n = freedom as f64;
    /// Two-sided probability.
    const ALPHA: f64 = 0.05;
    match freedom {
        1 => 1.0 / (std::f64::consts::FRAC_PI_2 * ALPHA).tan(),
        2 => (2.0 / (ALPHA * (2.0 - ALPHA)) - 2.0).sqrt(),
        _ => {
            let z = NORMAL;
            let g1 = (z.powi(3) + z) / 4.0;
            let g2 = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
            let g3 = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
            let g4 = (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5) - 1920.0 * z.powi(3) - 945.0 * z) / 92160.0;
            z + g1 / n + g2 / n.powi(2) + g3 / n.powi(3) + g4 / n.powi(4)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_tables() {
        for (freedom, wanted) in [(1, 12.7062), (2, 4.3027), (3, 3.1824), (5, 2.5706), (10, 2.2281), (30, 2.0423), (1000, 1.9623)] {
            assert!((student(freedom) - wanted).abs() < 2e-3 * wanted, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn the_interval_of_a_line_is_that_of_the_textbook() {
        // y = a + b t at t = 0..4 with residuals (1, -1, 0, -1, 1): s^2 = 4/3, var b = s^2/10, var a = s^2 (1/5 + 4/10).
        let residuals = [1.0, -1.0, 0.0, -1.0, 1.0];
        let columns = vec![vec![1.0; 5], (0..5).map(f64::from).collect()];
        let found = half_widths(&residuals, &columns).unwrap();
        let s2: f64 = 4.0 / 3.0;
        for (found, variance) in found.iter().zip([0.6 * s2, 0.1 * s2]) {
            assert!((found - student(3) * variance.sqrt()).abs() < 1e-12);
        }
        assert!(half_widths(&residuals[..2], &[vec![1.0, 1.0], vec![0.0, 1.0]]).is_none());
        assert!(half_widths(&residuals, &[vec![1.0; 5], vec![1.0; 5]]).is_none_or(|w| w.iter().all(|w| *w > 1e6)));
    }
}
