//! What rows make of their bodies and bodies of their rows, group by group.

use super::{BodyFactor, FREEDOMS, Row};
use crate::gradient::system::sparse::NONE;
use carom_math::widened;

widened! {
    pub(super) fn add_products = add_products_wide / add_products_plain [const N: usize]
        (rows: &[Row], columns: &[[[f64; FREEDOMS]; 2]], blocks: &mut [[[[f64; N]; N]; 2]; 2]);
}

/// The blocks that rows between two bodies make, by the side that answers and the side that feels; by columns, as the factor keeps them.
#[inline(always)]
fn add_products_plain<const N: usize>(rows: &[Row], columns: &[[[f64; FREEDOMS]; 2]], blocks: &mut [[[[f64; N]; N]; 2]; 2]) {
    for (row, column) in rows.iter().zip(columns) {
        for (column, blocks) in column.iter().zip(&mut *blocks) {
            let mut weighed = [0.0; N];
            (0..N).for_each(|r| weighed[r] = row.weight * column[r]);
            for (felt, block) in row.felt.iter().zip(blocks) {
                for (line, felt) in block.iter_mut().zip(felt) {
                    (0..N).for_each(|r| line[r] += weighed[r] * felt);
                }
            }
        }
    }
}

/// Adds what rows carry to their bodies, group by group.
#[inline(always)]
pub(super) fn gather<const N: usize>(of: &BodyFactor, z: &[f64], out: &mut [f64], numbers: impl Fn(&Row) -> &[[f64; FREEDOMS]; 2]) {
    let (out, _) = out.as_chunks_mut::<N>();
    let mut first = 0;
    for &end in &of.groups {
        let mut sums = [[0.0; N]; 2];
        for (row, z) in of.rows[first..end].iter().zip(&z[first..end]) {
            let own = numbers(row);
            for (sum, own) in sums.iter_mut().zip(own) {
                (0..N).for_each(|k| sum[k] += z * own[k]);
            }
        }
        for (node, sum) in of.rows[first].nodes.iter().zip(&sums).filter(|(node, _)| **node != NONE) {
            out[*node as usize].iter_mut().zip(sum).for_each(|(out, x)| *out += x);
        }
        first = end;
    }
}

/// What every row makes of its bodies, group by group.
#[inline(always)]
pub(super) fn products<const N: usize>(of: &BodyFactor, y: &[f64], out: &mut Vec<f64>, numbers: impl Fn(&Row) -> &[[f64; FREEDOMS]; 2]) {
    let (y, _) = y.as_chunks::<N>();
    let mut first = 0;
    for &end in &of.groups {
        let at = of.rows[first].nodes.map(|node| if node == NONE { [0.0; N] } else { y[node as usize] });
        out.extend(of.rows[first..end].iter().map(|row| {
            let [a, b] = numbers(row);
            let mut sums = [0.0; N];
            (0..N).for_each(|k| sums[k] = a[k] * at[0][k] + b[k] * at[1][k]);
            // Two sums side by side.
            let half = N / 2;
            (0..half).map(|k| sums[k] + sums[half + k]).sum::<f64>() + if N % 2 == 1 { sums[N - 1] } else { 0.0 }
        }));
        first = end;
    }
}

/// The largest size of numbers; infinite where one is none.
pub(super) fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |most: f64, x| if x.is_nan() { f64::INFINITY } else { most.max(x.abs()) })
}

pub(super) fn dot(a: &[f64; FREEDOMS], b: &[f64; FREEDOMS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
