//! C -= A B of column-major panels: the one dense product in which large fronts spend their time.
//!
//! Tiles of eight rows and four columns stay in registers. Where the processor has 256-bit fused products they are used: one choice
//! at run time, so that the same machine gives the same bits.

/// Rows of a tile.
const TALL: usize = 8;
/// Columns of a tile.
const WIDE: usize = 4;
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

/// C -= A B for an m x k panel A of `left`, a k x n panel B of `right` read through `entry(row, column)`, and an m x n panel C of `out`.
pub(crate) fn subtract_product(
    (m, n, k): (usize, usize, usize),
    left: (&[f64], Panel),
    entry: impl Fn(usize, usize) -> f64,
    out: (&mut [f64], Panel),
) {
    debug_assert!(k <= DEPTH);
    let mut packed = [[0.0; WIDE]; DEPTH];
    let mut column = 0;
    while column < n {
        let width = WIDE.min(n - column);
        for (row, line) in packed[..k].iter_mut().enumerate() {
            for (j, x) in line.iter_mut().enumerate() {
                *x = if j < width { entry(row, column + j) } else { 0.0 };
            }
        }
        let at = Panel { at: out.1.at + column * out.1.stride, stride: out.1.stride };
        strip(m, width, left, &packed[..k], (out.0, at));
        column += width;
    }
}

/// One strip of at most [`WIDE`] columns.
fn strip(m: usize, width: usize, left: (&[f64], Panel), packed: &[[f64; WIDE]], out: (&mut [f64], Panel)) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // The function is the safe one below, compiled for features that were just found.
        #[allow(unsafe_code)]
        unsafe {
            fused_strip(m, width, left, packed, out)
        };
        return;
    }
    strip_of::<false>(m, width, left, packed, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fused_strip(m: usize, width: usize, left: (&[f64], Panel), packed: &[[f64; WIDE]], out: (&mut [f64], Panel)) {
    strip_of::<true>(m, width, left, packed, out);
}

#[inline(always)]
fn strip_of<const FUSED: bool>(m: usize, width: usize, left: (&[f64], Panel), packed: &[[f64; WIDE]], out: (&mut [f64], Panel)) {
    let (a, from) = left;
    let (c, to) = out;
    let mut row = 0;
    while row + TALL <= m {
        let mut sums = [[0.0; TALL]; WIDE];
        for (l, line) in packed.iter().enumerate() {
            let Some(column) = a[from.at + l * from.stride + row..].first_chunk::<TALL>() else { return };
            for (sum, b) in sums.iter_mut().zip(line) {
                for (s, x) in sum.iter_mut().zip(column) {
                    *s = if FUSED { x.mul_add(*b, *s) } else { *s + x * b };
                }
            }
        }
        for (j, sum) in sums[..width].iter().enumerate() {
            let start = to.at + j * to.stride + row;
            for (x, s) in c[start..start + TALL].iter_mut().zip(sum) {
                *x -= s;
            }
        }
        row += TALL;
    }
    for row in row..m {
        for j in 0..width {
            let mut sum = 0.0;
            for (l, line) in packed.iter().enumerate() {
                let x = a[from.at + l * from.stride + row];
                sum = if FUSED { x.mul_add(line[j], sum) } else { sum + x * line[j] };
            }
            c[to.at + j * to.stride + row] -= sum;
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
            subtract_product((m, n, k), (&a, Panel { at: 0, stride: stride_a }), b, (&mut c, Panel { at: 0, stride: stride_c }));
            for j in 0..n {
                for i in 0..stride_c {
                    let sum: f64 = if i < m { (0..k).map(|l| a[l * stride_a + i] * b(l, j)).sum() } else { 0.0 };
                    assert!((c[j * stride_c + i] - (before[j * stride_c + i] - sum)).abs() < 1e-13, "{m} {n} {k}: {i} {j}");
                }
            }
        }
    }
}
