//! C -= A B of column-major panels: the one dense product in which large fronts spend their time.
//!
//! Tiles of eight rows and four columns stay in registers; where the processor has fused products they are used.

/// Rows of a tile.
const TALL: usize = 8;
/// Columns of a tile.
pub(crate) const WIDE: usize = 4;
/// Most columns of A in one call: the packed columns of B stay in the first cache.
pub(crate) const DEPTH: usize = 32;

/// A rectangle inside a column-major array: where it begins, and how far apart its columns are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panel {
    /// Index of its first entry.
    pub at: usize,
    /// Distance of neighbouring columns.
    pub stride: usize,
}

/// Columns of B side by side: its rows, packed for [`subtract_product`].
pub(crate) type Packed = [[f64; WIDE]; DEPTH];

/// C -= A B for an m x k panel A of `left`, at most [`WIDE`] columns of B whose k rows are packed, and an m x `width` panel C of `out`.
#[inline(always)]
pub(crate) fn subtract_product<const FUSED: bool>(
    m: usize,
    width: usize,
    (a, from): (&[f64], Panel),
    packed: &[[f64; WIDE]],
    (c, to): (&mut [f64], Panel),
) {
    let mut row = 0;
    let below = |panel: Panel, row: usize| Panel { at: panel.at + row, ..panel };
    while row + TALL <= m {
        tile::<TALL, FUSED>(width, (a, below(from, row)), packed, (c, below(to, row)));
        row += TALL;
    }
    if row + 4 <= m {
        tile::<4, FUSED>(width, (a, below(from, row)), packed, (c, below(to, row)));
        row += 4;
    }
    if row + 2 <= m {
        tile::<2, FUSED>(width, (a, below(from, row)), packed, (c, below(to, row)));
        row += 2;
    }
    if row < m {
        tile::<1, FUSED>(width, (a, below(from, row)), packed, (c, below(to, row)));
    }
}

/// T rows and at most [`WIDE`] columns.
#[inline(always)]
fn tile<const T: usize, const FUSED: bool>(width: usize, left: (&[f64], Panel), packed: &[[f64; WIDE]], out: (&mut [f64], Panel)) {
    let (a, from) = left;
    let (c, to) = out;
    let mut sums = [[0.0; T]; WIDE];
    for (l, line) in packed.iter().enumerate() {
        let Some(column) = a[from.at + l * from.stride..].first_chunk::<T>() else { return };
        for (sum, b) in sums.iter_mut().zip(line) {
            for (s, x) in sum.iter_mut().zip(column) {
                *s = if FUSED { x.mul_add(*b, *s) } else { *s + x * b };
            }
        }
    }
    for (j, sum) in sums[..width].iter().enumerate() {
        let start = to.at + j * to.stride;
        for (x, s) in c[start..start + T].iter_mut().zip(sum) {
            *x -= s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_the_sum_of_its_products() {
        let number = |i: usize| ((i * 7919 + 13) % 101) as f64 / 50.0 - 1.0;
        for (m, n, k) in [(1, 1, 1), (8, 4, 3), (13, 7, 32), (30, 2, 5), (9, 9, 0)] {
            let (stride_a, stride_c) = (m + 3, m + 1);
            let a: Vec<f64> = (0..stride_a * k.max(1)).map(number).collect();
            let b = |i: usize, j: usize| number(1000 + i * 40 + j);
            let mut c: Vec<f64> = (0..stride_c * n).map(|i| number(5000 + i)).collect();
            let before = c.clone();
            for column in (0..n).step_by(WIDE) {
                let width = WIDE.min(n - column);
                let mut packed = [[0.0; WIDE]; DEPTH];
                for (i, line) in packed[..k].iter_mut().enumerate() {
                    (0..width).for_each(|j| line[j] = b(i, column + j));
                }
                let to = Panel { at: column * stride_c, stride: stride_c };
                subtract_product::<false>(m, width, (&a, Panel { at: 0, stride: stride_a }), &packed[..k], (&mut c, to));
            }
            for j in 0..n {
                for i in 0..stride_c {
                    let sum: f64 = if i < m { (0..k).map(|l| a[l * stride_a + i] * b(l, j)).sum() } else { 0.0 };
                    assert!((c[j * stride_c + i] - (before[j * stride_c + i] - sum)).abs() < 1e-13, "{m} {n} {k}: {i} {j}");
                }
            }
        }
    }
}
