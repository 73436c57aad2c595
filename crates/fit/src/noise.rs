//! The noise of measurements from themselves: high differences of a smooth motion are the noise alone, and their median does not mind impacts.

use crate::motion::{Motion, QUANTITIES, Sample};
use carom_geometry::Geometry;
use carom_math::Vector;
use std::collections::BTreeMap;

/// Orders of differences that are taken, with the factor by which they raise the variance of white noise: the binomials of 2n over n.
const ORDERS: [(usize, f64); 2] = [(3, 20.0), (5, 252.0)];
/// Median of |x| of a normal x of deviation one.
const MEDIAN: f64 = 0.674_489_750_196_081_7;
/// Differences from which on a median says something.
const ENOUGH: usize = 8;

/// Standard deviation of the noise of each quantity; none where there is too little to tell.
pub fn noise<G: Geometry>(motions: &[Motion<G>]) -> [Option<f64>; QUANTITIES.len()] {
    let mut found: [[Vec<f64>; ORDERS.len()]; QUANTITIES.len()] = Default::default();
    for motion in motions {
        // Columns of numbers with the step they were seen at.
        let mut columns: BTreeMap<(usize, usize, usize), Vec<(usize, f64)>> = BTreeMap::new();
        let mut rotations: BTreeMap<usize, Vec<(usize, G::Rot)>> = BTreeMap::new();
        for moment in &motion.moments {
            for sample in &moment.samples {
                let (key, value) = match *sample {
                    Sample::Position(body, k, value) => ((0, body, k), value),
                    Sample::Velocity(body, k, value) => ((sample.quantity(), body, k), value),
                    Sample::Joint(j, value) => ((4, j, 0), value),
                    Sample::JointRate(j, value) => ((5, j, 0), value),
                    Sample::Rotation(body, rotation) => {
                        rotations.entry(body).or_default().push((moment.step, rotation));
                        continue;
                    }
                };
                columns.entry(key).or_default().push((moment.step, value));
            }
        }
        for ((quantity, ..), column) in &columns {
            for (k, (order, _)) in ORDERS.iter().enumerate() {
                differences(column, *order, &mut found[*quantity][k]);
            }
        }
        for column in rotations.values() {
            // Turns between frames are first differences already.
            let turns: Vec<(usize, G::Ang)> = column.windows(2).map(|w| (w[1].0, G::log(G::compose(w[1].1, G::inverse(w[0].1))))).collect();
            for axis in 0..G::ANG {
                let one: Vec<(usize, f64)> = turns.iter().map(|(step, turn)| (*step, turn.as_slice()[axis])).collect();
                for (k, (order, _)) in ORDERS.iter().enumerate() {
                    differences(&one, order - 1, &mut found[1][k]);
                }
            }
        }
    }
    found.map(|orders| {
        let estimates = orders.into_iter().zip(ORDERS).filter(|(values, _)| values.len() >= ENOUGH).map(|(mut values, (_, raised))| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2] / (MEDIAN * raised.sqrt())
        });
        // A motion that is not smooth raises an estimate, nothing lowers it.
        estimates.min_by(f64::total_cmp)
    })
}

/// Sizes of the differences of an order, over frames that are evenly apart.
fn differences(column: &[(usize, f64)], order: usize, out: &mut Vec<f64>) {
    for window in column.windows(order + 1) {
        let gap = window[1].0 - window[0].0;
        if window.windows(2).any(|w| w[1].0 - w[0].0 != gap) {
            continue;
        }
        let mut values: Vec<f64> = window.iter().map(|w| w.1).collect();
        for length in (1..=order).rev() {
            (0..length).for_each(|k| values[k] = values[k + 1] - values[k]);
        }
        out.push(values[0].abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_a_polynomial_vanish_and_those_of_noise_do_not() {
        let cube: Vec<(usize, f64)> = (0..20).map(|k| (k, (k as f64).powi(2))).collect();
        let mut out = Vec::new();
        differences(&cube, 3, &mut out);
        assert!(out.len() == 17 && out.iter().all(|d| *d < 1e-9), "{out:?}");
        let steps: Vec<(usize, f64)> = (0..20).map(|k| (k, f64::from(k as u32 % 2))).collect();
        out.clear();
        differences(&steps, 3, &mut out);
        assert!(out.iter().all(|d| (*d - 4.0).abs() < 1e-12), "{out:?}");
    }
}
