//! Dense kernels on row-major slices: products, Cholesky and LU factors that skip the zeros of a banded matrix.
//!
//! Islands are small (tens to a few hundred rows) and often chains or stacks, whose matrices are banded when contacts are listed in order.
//! The factors therefore work on plain dense storage but leave out rows a pivot does not reach, which makes their cost that of the band.

mod several;

pub use several::take_products;

use crate::widened;

/// Columns eliminated together: each pass over the trailing rows then does this many updates per load and store.
const PANEL: usize = 4;
/// Independent partial sums of [`dot`]: enough to hide the latency of an addition, a multiple of the vector width.
const LANES: usize = 8;

/// Sum of products a.b, in a fixed order; slices of equal length.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let length = a.len().min(b.len());
    let (a, b) = (&a[..length], &b[..length]);
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for k in 0..LANES {
            lanes[k] += x[k] * y[k];
        }
    }
    let mut rest = 0.0;
    for (x, y) in a_rest.iter().zip(b_rest) {
        rest += x * y;
    }
    ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])) + rest
}

/// y += c x, slices of equal length.
#[inline(always)]
pub fn add_scaled(y: &mut [f64], c: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

widened! {
    /// y = A x + b for an n x n row-major matrix.
    pub fn multiply_add = multiply_add_wide / multiply_add_plain (a: &[f64], x: &[f64], b: &[f64], y: &mut [f64]);
    fn factor_cholesky = factor_cholesky_wide / factor_cholesky_plain (of: &mut Cholesky) -> Result<(), ZeroPivot>;
    fn solve_cholesky = solve_cholesky_wide / solve_cholesky_plain (of: &Cholesky, x: &mut [f64]);
    fn factor_lu = factor_lu_wide / factor_lu_plain (of: &mut Lu) -> Result<(), ZeroPivot>;
    fn solve_lu = solve_lu_wide / solve_lu_plain (of: &Lu, x: &mut [f64]);
}

#[inline(always)]
fn factor_cholesky_plain(of: &mut Cholesky) -> Result<(), ZeroPivot> {
    of.eliminate()
}

#[inline(always)]
fn solve_cholesky_plain(of: &Cholesky, x: &mut [f64]) {
    of.substitute(x);
}

#[inline(always)]
fn factor_lu_plain(of: &mut Lu) -> Result<(), ZeroPivot> {
    of.eliminate()
}

#[inline(always)]
fn solve_lu_plain(of: &Lu, x: &mut [f64]) {
    of.substitute(x);
}

#[inline(always)]
fn multiply_add_plain(a: &[f64], x: &[f64], b: &[f64], y: &mut [f64]) {
    let n = x.len();
    if n == 0 {
        return;
    }
    for ((row, y), b) in a.chunks_exact(n).zip(y.iter_mut()).zip(b) {
        *y = dot(row, x) + b;
    }
}

/// Largest magnitude of a slice (0 when empty); NaN is passed over.
#[inline]
pub fn max_abs(x: &[f64]) -> f64 {
    x.iter().fold(0.0f64, |m, v| m.max(v.abs()))
}

/// A pivot that is not positive (Cholesky) or is zero (LU): the matrix cannot be factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroPivot {
    /// Row at which elimination stopped.
    pub row: usize,
}

impl std::fmt::Display for ZeroPivot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no usable pivot in row {}", self.row)
    }
}

impl std::error::Error for ZeroPivot {}

/// Factor L L' of a symmetric positive definite matrix; scratch is kept between factorisations.
#[derive(Clone, Debug, Default)]
pub struct Cholesky {
    size: usize,
    factor: Vec<f64>,
    first: Vec<usize>,
    inv_diagonal: Vec<f64>,
    panel: [Vec<f64>; PANEL],
}

impl Cholesky {
    /// An empty factor.
    pub fn new() -> Self {
        Self::default()
    }

    /// Room for an n x n row-major matrix, to be filled by the caller in its lower triangle (the upper one is never read) before
    /// [`Cholesky::factor`]. Its contents are whatever was there.
    pub fn matrix(&mut self, n: usize) -> &mut [f64] {
        self.size = n;
        self.factor.resize(n * n, 0.0);
        self.first.resize(n, 0);
        self.inv_diagonal.resize(n, 0.0);
        for column in &mut self.panel {
            column.resize(n, 0.0);
        }
        &mut self.factor
    }

    /// Factors the matrix filled in; fails at the first pivot that is not positive.
    pub fn factor(&mut self) -> Result<(), ZeroPivot> {
        factor_cholesky(self)
    }

    #[inline(always)]
    fn eliminate(&mut self) -> Result<(), ZeroPivot> {
        let n = self.size;
        let a = &mut self.factor;
        for i in 0..n {
            let row = &a[i * n..i * n + i];
            self.first[i] = row.iter().position(|&x| x != 0.0).unwrap_or(i);
        }
        let [c0, c1, c2, c3] = &mut self.panel;
        let mut k = 0;
        while k < n {
            let width = PANEL.min(n - k);
            // The square block on the diagonal.
            for p in 0..width {
                let i = k + p;
                for q in 0..=p {
                    let j = k + q;
                    let mut x = a[i * n + j];
                    for r in k..j {
                        x -= a[i * n + r] * a[j * n + r];
                    }
                    if q < p {
                        a[i * n + j] = x * self.inv_diagonal[j];
                    } else {
                        if x <= 0.0 || !x.is_finite() {
                            return Err(ZeroPivot { row: i });
                        }
                        let root = x.sqrt();
                        a[i * n + i] = root;
                        self.inv_diagonal[i] = 1.0 / root;
                    }
                }
            }
            let next = k + width;
            if width < PANEL {
                break;
            }
            // The rows below it, kept apart column by column for the update.
            let (d0, d1, d2, d3) = (self.inv_diagonal[k], self.inv_diagonal[k + 1], self.inv_diagonal[k + 2], self.inv_diagonal[k + 3]);
            let (l10, l20, l21) = (a[(k + 1) * n + k], a[(k + 2) * n + k], a[(k + 2) * n + k + 1]);
            let (l30, l31, l32) = (a[(k + 3) * n + k], a[(k + 3) * n + k + 1], a[(k + 3) * n + k + 2]);
            let mut end = next;
            for i in next..n {
                if self.first[i] >= next {
                    (c0[i], c1[i], c2[i], c3[i]) = (0.0, 0.0, 0.0, 0.0);
                    continue;
                }
                let x = &mut a[i * n + k..i * n + next];
                x[0] *= d0;
                x[1] = (x[1] - x[0] * l10) * d1;
                x[2] = (x[2] - x[0] * l20 - x[1] * l21) * d2;
                x[3] = (x[3] - x[0] * l30 - x[1] * l31 - x[2] * l32) * d3;
                (c0[i], c1[i], c2[i], c3[i]) = (x[0], x[1], x[2], x[3]);
                end = i + 1;
            }
            // The trailing rows the panel reaches: A_ij -= sum_p c_p,i c_p,j.
            for i in next..end {
                let (x0, x1, x2, x3) = (c0[i], c1[i], c2[i], c3[i]);
                if self.first[i] >= next {
                    continue;
                }
                let row = &mut a[i * n + next..=i * n + i];
                let m = row.len();
                let (y0, y1) = (&c0[next..next + m], &c1[next..next + m]);
                let (y2, y3) = (&c2[next..next + m], &c3[next..next + m]);
                for j in 0..m {
                    row[j] -= (x0 * y0[j] + x1 * y1[j]) + (x2 * y2[j] + x3 * y3[j]);
                }
            }
            k = next;
        }
        Ok(())
    }

    /// What was left of a diagonal entry at its pivot.
    pub fn pivot(&self, row: usize) -> f64 {
        self.factor[row * (self.size + 1)].powi(2)
    }

    /// Solves L L' x = b in place.
    pub fn solve(&self, x: &mut [f64]) {
        solve_cholesky(self, x);
    }

    #[inline(always)]
    fn substitute(&self, x: &mut [f64]) {
        self.solve_lower(x);
        self.solve_upper(x);
    }

    /// Solves L x = b in place.
    #[inline(always)]
    pub fn solve_lower(&self, x: &mut [f64]) {
        let n = self.size;
        for i in 0..n {
            let first = self.first[i];
            let sum = dot(&self.factor[i * n + first..i * n + i], &x[first..i]);
            x[i] = (x[i] - sum) * self.inv_diagonal[i];
        }
    }

    /// Solves L' x = b in place.
    #[inline(always)]
    pub fn solve_upper(&self, x: &mut [f64]) {
        let n = self.size;
        for i in (0..n).rev() {
            let first = self.first[i];
            let value = x[i] * self.inv_diagonal[i];
            x[i] = value;
            add_scaled(&mut x[first..i], -value, &self.factor[i * n + first..i * n + i]);
        }
    }
}

/// Factor P A = L U of a square matrix with partial pivoting; scratch is kept between factorisations.
#[derive(Clone, Debug, Default)]
pub struct Lu {
    size: usize,
    factor: Vec<f64>,
    pivots: Vec<usize>,
    inv_diagonal: Vec<f64>,
}

impl Lu {
    /// An empty factor.
    pub fn new() -> Self {
        Self::default()
    }

    /// Room for an n x n row-major matrix, to be filled whole by the caller before [`Lu::factor`]. Its contents are whatever was there.
    pub fn matrix(&mut self, n: usize) -> &mut [f64] {
        self.size = n;
        self.factor.resize(n * n, 0.0);
        self.pivots.resize(n, 0);
        self.inv_diagonal.resize(n, 0.0);
        &mut self.factor
    }

    /// Factors the matrix filled in; fails at a column without a usable pivot.
    pub fn factor(&mut self) -> Result<(), ZeroPivot> {
        factor_lu(self)
    }

    #[inline(always)]
    fn eliminate(&mut self) -> Result<(), ZeroPivot> {
        let n = self.size;
        let mut start = 0;
        while start < n {
            let end = (start + PANEL).min(n);
            let last = self.factor_panel(start, end)?;
            self.update_trailing(start, end, last);
            start = end;
        }
        Ok(())
    }

    /// Eliminates columns start..end within themselves, exchanging whole rows; returns the last row they reach, plus one.
    #[inline(always)]
    fn factor_panel(&mut self, start: usize, end: usize) -> Result<usize, ZeroPivot> {
        let n = self.size;
        let mut last = end;
        for k in start..end {
            let mut pivot = k;
            let mut best = self.factor[k * n + k].abs();
            for i in k + 1..n {
                let x = self.factor[i * n + k].abs();
                if x != 0.0 {
                    last = last.max(i + 1);
                }
                if x > best {
                    best = x;
                    pivot = i;
                }
            }
            if best <= 0.0 || !best.is_finite() {
                return Err(ZeroPivot { row: k });
            }
            self.pivots[k] = pivot;
            if pivot != k {
                let (upper, lower) = self.factor.split_at_mut(pivot * n);
                upper[k * n..(k + 1) * n].swap_with_slice(&mut lower[..n]);
            }
            let (upper, lower) = self.factor.split_at_mut((k + 1) * n);
            let source = &upper[k * n + k..k * n + end];
            let inverse = 1.0 / source[0];
            self.inv_diagonal[k] = inverse;
            for row in lower.chunks_exact_mut(n).take(last - (k + 1).min(last)) {
                if row[k] != 0.0 {
                    let factor = row[k] * inverse;
                    row[k] = factor;
                    add_scaled(&mut row[k + 1..end], -factor, &source[1..]);
                }
            }
        }
        Ok(last)
    }

    /// Brings the columns right of a panel up to date: first its own rows, then the rows below it, all its columns at once.
    #[inline(always)]
    fn update_trailing(&mut self, start: usize, end: usize, last: usize) {
        let n = self.size;
        let mut reach = end;
        for k in start..end {
            for j in start..k {
                let (upper, lower) = self.factor.split_at_mut(k * n);
                let factor = lower[j];
                if factor != 0.0 {
                    add_scaled(&mut lower[end..n], -factor, &upper[j * n + end..(j + 1) * n]);
                }
            }
            let row = &self.factor[k * n + end..(k + 1) * n];
            reach = reach.max(row.iter().rposition(|&x| x != 0.0).map_or(end, |j| end + j + 1));
        }
        if end - start < PANEL {
            return; // the last panel: nothing lies below it
        }
        let (upper, lower) = self.factor.split_at_mut(end * n);
        let source = |p: usize| &upper[(start + p) * n + end..(start + p) * n + reach];
        let (y0, y1, y2, y3) = (source(0), source(1), source(2), source(3));
        let m = reach - end;
        for row in lower.chunks_exact_mut(n).take(last - end) {
            let (x0, x1, x2, x3) = (row[start], row[start + 1], row[start + 2], row[start + 3]);
            if x0 == 0.0 && x1 == 0.0 && x2 == 0.0 && x3 == 0.0 {
                continue;
            }
            let target = &mut row[end..reach];
            let (y0, y1, y2, y3) = (&y0[..m], &y1[..m], &y2[..m], &y3[..m]);
            for (j, t) in target.iter_mut().enumerate() {
                *t -= (x0 * y0[j] + x1 * y1[j]) + (x2 * y2[j] + x3 * y3[j]);
            }
        }
    }

    /// Solves A x = b in place.
    pub fn solve(&self, x: &mut [f64]) {
        solve_lu(self, x);
    }

    #[inline(always)]
    fn substitute(&self, x: &mut [f64]) {
        let n = self.size;
        for k in 0..n {
            x.swap(k, self.pivots[k]);
        }
        for i in 1..n {
            x[i] -= dot(&self.factor[i * n..i * n + i], &x[..i]);
        }
        for i in (0..n).rev() {
            let sum = dot(&self.factor[i * n + i + 1..(i + 1) * n], &x[i + 1..n]);
            x[i] = (x[i] - sum) * self.inv_diagonal[i];
        }
    }

    /// Solves A' x = b in place.
    pub fn solve_transpose(&self, x: &mut [f64]) {
        let n = self.size;
        for i in 0..n {
            let value = x[i] * self.inv_diagonal[i];
            x[i] = value;
            add_scaled(&mut x[i + 1..n], -value, &self.factor[i * n + i + 1..(i + 1) * n]);
        }
        for i in (1..n).rev() {
            let (head, tail) = x.split_at_mut(i);
            add_scaled(head, -tail[0], &self.factor[i * n..i * n + i]);
        }
        for k in (0..n).rev() {
            x.swap(k, self.pivots[k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deterministic stream of numbers in [-1, 1).
    fn stream(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    fn residual(a: &[f64], x: &[f64], b: &[f64], transposed: bool) -> f64 {
        let n = x.len();
        (0..n)
            .map(|i| (0..n).map(|j| if transposed { a[j * n + i] } else { a[i * n + j] } * x[j]).sum::<f64>() - b[i])
            .fold(0.0f64, |m, r| m.max(r.abs()))
    }

    #[test]
    fn cholesky_solves_dense_and_banded_matrices_of_every_size() {
        for n in 1..40usize {
            for band in [n, 3, 7] {
                let mut next = stream((n * 100 + band) as u64);
                let root: Vec<f64> = (0..n * n).map(|k| if (k / n).abs_diff(k % n) < band { next() } else { 0.0 * next() }).collect();
                let mut a = vec![0.0; n * n];
                for i in 0..n {
                    for j in 0..n {
                        a[i * n + j] = dot(&root[i * n..(i + 1) * n], &root[j * n..(j + 1) * n]) + if i == j { 0.5 } else { 0.0 };
                    }
                }
                let b: Vec<f64> = (0..n).map(|_| next()).collect();
                let mut cholesky = Cholesky::new();
                cholesky.matrix(n).copy_from_slice(&a);
                cholesky.factor().unwrap();
                let mut x = b.clone();
                cholesky.solve(&mut x);
                assert!(residual(&a, &x, &b, false) < 1e-11, "n = {n}, band = {band}");
            }
        }
    }

    #[test]
    fn lu_solves_a_matrix_and_its_transpose() {
        for n in 1..40usize {
            for band in [n, 2, 5] {
                let mut next = stream((n * 77 + band) as u64);
                let a: Vec<f64> = (0..n * n)
                    .map(|k| if (k / n).abs_diff(k % n) < band { next() + if k / n == k % n { 0.1 } else { 0.0 } } else { 0.0 })
                    .collect();
                let b: Vec<f64> = (0..n).map(|_| next()).collect();
                let mut lu = Lu::new();
                lu.matrix(n).copy_from_slice(&a);
                lu.factor().unwrap();
                for transposed in [false, true] {
                    let mut x = b.clone();
                    if transposed {
                        lu.solve_transpose(&mut x)
                    } else {
                        lu.solve(&mut x)
                    };
                    let size = max_abs(&x).max(1.0);
                    assert!(residual(&a, &x, &b, transposed) < 1e-12 * size * n as f64, "n = {n}, band = {band}");
                }
            }
        }
    }

    #[test]
    fn factors_refuse_what_they_cannot_factor() {
        let mut cholesky = Cholesky::new();
        cholesky.matrix(2).copy_from_slice(&[1.0, 2.0, 2.0, 1.0]);
        assert_eq!(cholesky.factor(), Err(ZeroPivot { row: 1 }));
        let mut lu = Lu::new();
        lu.matrix(2).copy_from_slice(&[1.0, 2.0, 2.0, 4.0]);
        assert_eq!(lu.factor(), Err(ZeroPivot { row: 1 }));
        lu.matrix(1).copy_from_slice(&[f64::NAN]);
        assert!(lu.factor().is_err());
    }
}
