//! The quantiles that intervals are made of.

/// Two-sided 95 %: the normal quantile of 0.975.
const NORMAL: f64 = 1.959_963_984_540_054;

/// The 0.975 quantile of Student's distribution: exact for one and two degrees of freedom, otherwise the expansion in 1/n
/// (Abramowitz and Stegun 26.7.5), good to 1e-3 from three on.
pub fn student(freedom: usize) -> f64 {
    let n = freedom as f64;
    /// Two-sided probability.
    const ALPHA: f64 = 0.05;
    match freedom {
        0 => f64::INFINITY,
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

/// A value of a sorted list below which a part of it lies.
pub fn part_below(sorted: &[f64], part: f64) -> f64 {
    let place = (part * (sorted.len().saturating_sub(1)) as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
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
}
