//! Shapes that several charts share.

/// The outline of a histogram: how many values fall into each of so many equal bins up to `most`; what lies beyond goes into the last.
pub fn histogram(values: &[f64], most: f64, bins: usize) -> Vec<(f64, f64)> {
    let width = most / bins as f64;
    let mut counts = vec![0usize; bins];
    for value in values {
        counts[((value / width).max(0.0) as usize).min(bins - 1)] += 1;
    }
    let edge = |k: usize| k as f64 * width;
    counts.iter().enumerate().flat_map(|(k, &count)| [(edge(k), count as f64), (edge(k + 1), count as f64)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_one_bin() {
        let outline = histogram(&[0.0, 0.5, 1.5, 9.0], 4.0, 4);
        assert_eq!(outline.len(), 8);
        assert_eq!(outline.iter().step_by(2).map(|p| p.1).collect::<Vec<_>>(), [2.0, 1.0, 0.0, 1.0]);
    }
}
