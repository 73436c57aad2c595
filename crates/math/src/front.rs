//! One dense front: its elimination, and the substitutions with its factor; theory (9.23).
//!
//! Fronts are column-major squares of m rows of which the first p are eliminated. Columns are taken in blocks of six, the rows of a body in space, by code of
//! fixed size; what is left of a panel, and then of the front, follows by dense products. Of a symmetric front the lower triangle counts, A = L D L'; of any
//! other A = L U. L has a unit diagonal, and the diagonal holds the inverse pivots.

use crate::gemm::{DEPTH, Packed, Panel, WIDE, subtract_product};

/// A pivot below this part of the largest entry of its column is not sound.
const LEAST_PIVOT: f64 = 1e-14;

/// Partial sums of a dot product: as many as a wide register holds.
const LANES: usize = 4;

/// Calls `$work::<W>` for blocks of fixed width W from `$first` to `$end`: six columns, three, or one.
macro_rules! blocks {
    ($first:expr, $end:expr, |$at:ident, $width:ident| $work:expr) => {{
        let (mut $at, end) = ($first, $end);
        while $at < end {
            if end - $at >= 6 {
                const $width: usize = 6;
                $work;
                $at += 6;
            } else if end - $at >= 3 {
                const $width: usize = 3;
                $work;
                $at += 3;
            } else {
                const $width: usize = 1;
                $work;
                $at += 1;
            }
        }
    }};
}

/// The same blocks from the last to the first.
macro_rules! blocks_back {
    ($end:expr, |$at:ident, $width:ident| $work:expr) => {{
        let end = $end;
        let (whole, rest) = (end - end % 6, end % 6);
        let mut last = end;
        for _ in 0..rest % 3 {
            const $width: usize = 1;
            let $at = last - 1;
            $work;
            last -= 1;
        }
        if rest >= 3 {
            const $width: usize = 3;
            let $at = last - 3;
            $work;
        }
        last = whole;
        while last > 0 {
            const $width: usize = 6;
            let $at = last - 6;
            $work;
            last -= 6;
        }
    }};
}

/// c - a b, rounded once where products are fused.
#[inline(always)]
fn minus<const FUSED: bool>(c: f64, a: f64, b: f64) -> f64 {
    if FUSED { (-a).mul_add(b, c) } else { c - a * b }
}

/// Eliminates the first p columns of a front; false where a pivot is not sound.
#[inline(always)]
pub(crate) fn eliminate<const FUSED: bool>(a: &mut [f64], m: usize, p: usize, symmetric: bool) -> bool {
    let mut pivots = [0.0; DEPTH];
    let mut packed = [[0.0; WIDE]; DEPTH];
    let mut first = 0;
    while first < p {
        let end = (first + DEPTH).min(p);
        blocks!(first, end, |at, W| {
            let sound = if symmetric {
                symmetric_columns::<W, FUSED>(a, m, at, &mut pivots[at - first..])
            } else {
                columns::<W, FUSED>(a, m, p, at)
            };
            if !sound {
                return false;
            }
            if at + W < end {
                subtract::<FUSED>(a, m, (at, at + W), end, &pivots[at - first..], &mut packed, symmetric);
            }
        });
        if end < m {
            subtract::<FUSED>(a, m, (first, end), m, &pivots, &mut packed, symmetric);
        }
        first = end;
    }
    true
}

/// Columns `from..to` are done; takes their products out of the columns from `to` to `last`.
#[inline(always)]
fn subtract<const FUSED: bool>(
    a: &mut [f64],
    m: usize,
    (from, to): (usize, usize),
    last: usize,
    pivots: &[f64],
    packed: &mut Packed,
    symmetric: bool,
) {
    let (left, right) = a.split_at_mut(to * m);
    let right = &mut right[..(last - to) * m];
    let packed = &mut packed[..to - from];
    if !symmetric {
        for column in right.chunks_exact_mut(m) {
            // Rows of U beside the block.
            blocks!(from, to, |at, W| {
                let mut y = [0.0; W];
                y.copy_from_slice(&column[at..at + W]);
                for k in 0..W {
                    for i in k + 1..W {
                        y[i] = minus::<FUSED>(y[i], left[(at + k) * m + at + i], y[k]);
                    }
                }
                column[at..at + W].copy_from_slice(&y);
                take::<W, FUSED>(left, m, at, at + W, &y, &mut column[at + W..to]);
            });
        }
    }
    for strip in (0..last - to).step_by(WIDE) {
        let width = WIDE.min(last - to - strip);
        // Of a symmetric front the strip begins at its diagonal.
        let row = if symmetric { to + strip } else { to };
        for (i, line) in packed.iter_mut().enumerate() {
            for (j, x) in line.iter_mut().enumerate().take(width) {
                *x = if symmetric { left[(from + i) * m + row + j] * pivots[i] } else { right[(strip + j) * m + from + i] };
            }
        }
        let (below, out) = (Panel { at: from * m + row, stride: m }, Panel { at: strip * m + row, stride: m });
        subtract_product::<FUSED>(m - row, width, (left, below), packed, (right, out));
    }
}

/// Eliminates W columns of a symmetric front, from their diagonal down; their pivots go into a list.
#[inline(always)]
fn symmetric_columns<const W: usize, const FUSED: bool>(a: &mut [f64], m: usize, at: usize, pivots: &mut [f64]) -> bool {
    let mut l = [[0.0; W]; W];
    let mut inverse = [0.0; W];
    for k in 0..W {
        l[k][k..].copy_from_slice(&a[(at + k) * m + at + k..(at + k) * m + at + W]);
    }
    for k in 0..W {
        let pivot = l[k][k];
        // What is not a number is not sound either.
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        pivots[k] = pivot;
        inverse[k] = 1.0 / pivot;
        let whole = l[k];
        for i in k + 1..W {
            l[k][i] *= inverse[k];
        }
        for j in k + 1..W {
            for i in j..W {
                l[j][i] = minus::<FUSED>(l[j][i], whole[i], l[k][j]);
            }
        }
        l[k][k] = inverse[k];
    }
    for k in 0..W {
        a[(at + k) * m + at + k..(at + k) * m + at + W].copy_from_slice(&l[k][k..]);
    }
    let mut row = at + W;
    while row + 6 <= m {
        symmetric_rows::<W, 6, FUSED>(a, m, at, row, &l, &inverse);
        row += 6;
    }
    for row in row..m {
        symmetric_rows::<W, 1, FUSED>(a, m, at, row, &l, &inverse);
    }
    true
}

/// T rows below a block of W columns.
#[inline(always)]
fn symmetric_rows<const W: usize, const T: usize, const FUSED: bool>(
    a: &mut [f64],
    m: usize,
    at: usize,
    row: usize,
    l: &[[f64; W]; W],
    inverse: &[f64; W],
) {
    let mut x = [[0.0; T]; W];
    for k in 0..W {
        x[k].copy_from_slice(&a[(at + k) * m + row..(at + k) * m + row + T]);
    }
    for k in 0..W {
        for j in k + 1..W {
            for t in 0..T {
                x[j][t] = minus::<FUSED>(x[j][t], x[k][t], l[k][j]);
            }
        }
    }
    for k in 0..W {
        for t in 0..T {
            a[(at + k) * m + row + t] = x[k][t] * inverse[k];
        }
    }
}

/// Eliminates W columns of any front: U on and above the diagonal of their block, L below.
#[inline(always)]
fn columns<const W: usize, const FUSED: bool>(a: &mut [f64], m: usize, p: usize, at: usize) -> bool {
    let mut u = [[0.0; W]; W];
    let mut inverse = [0.0; W];
    let mut largest = [0.0f64; W];
    for k in 0..W {
        u[k].copy_from_slice(&a[(at + k) * m + at..(at + k) * m + at + W]);
    }
    for k in 0..W {
        for i in k + 1..W {
            largest[k] = largest[k].max(u[k][i].abs());
        }
        inverse[k] = 1.0 / u[k][k];
        for i in k + 1..W {
            u[k][i] *= inverse[k];
        }
        let column = u[k];
        for j in k + 1..W {
            let factor = u[j][k];
            for i in k + 1..W {
                u[j][i] = minus::<FUSED>(u[j][i], column[i], factor);
            }
        }
    }
    let mut row = at + W;
    while row + 6 <= m {
        let most = rows_below::<W, 6, FUSED>(a, m, at, row, &u, &inverse);
        if row < p {
            (0..W).for_each(|k| largest[k] = largest[k].max(most[k]));
        }
        row += 6;
    }
    for row in row..m {
        let most = rows_below::<W, 1, FUSED>(a, m, at, row, &u, &inverse);
        if row < p {
            (0..W).for_each(|k| largest[k] = largest[k].max(most[k]));
        }
    }
    let sound = (0..W).all(|k| u[k][k].abs() > LEAST_PIVOT * largest[k] && u[k][k] != 0.0);
    for k in 0..W {
        u[k][k] = inverse[k];
        a[(at + k) * m + at..(at + k) * m + at + W].copy_from_slice(&u[k]);
    }
    sound
}

/// T rows of L below a block of W columns; returns the largest entry of each column before it was divided.
#[inline(always)]
fn rows_below<const W: usize, const T: usize, const FUSED: bool>(
    a: &mut [f64],
    m: usize,
    at: usize,
    row: usize,
    u: &[[f64; W]; W],
    inverse: &[f64; W],
) -> [f64; W] {
    let mut x = [[0.0; T]; W];
    let mut largest = [0.0f64; W];
    for k in 0..W {
        x[k].copy_from_slice(&a[(at + k) * m + row..(at + k) * m + row + T]);
    }
    for k in 0..W {
        for t in 0..T {
            largest[k] = largest[k].max(x[k][t].abs());
            x[k][t] *= inverse[k];
        }
        for j in k + 1..W {
            for t in 0..T {
                x[j][t] = minus::<FUSED>(x[j][t], x[k][t], u[j][k]);
            }
        }
    }
    for k in 0..W {
        a[(at + k) * m + row..(at + k) * m + row + T].copy_from_slice(&x[k]);
    }
    largest
}

/// to -= the rows from `row` on of W columns, times y.
#[inline(always)]
fn take<const W: usize, const FUSED: bool>(a: &[f64], m: usize, at: usize, row: usize, y: &[f64; W], to: &mut [f64]) {
    let n = to.len();
    let columns: [&[f64]; W] = std::array::from_fn(|k| &a[(at + k) * m + row..(at + k) * m + row + n]);
    for r in 0..n {
        let mut sum = to[r];
        for k in 0..W {
            sum = minus::<FUSED>(sum, columns[k][r], y[k]);
        }
        to[r] = sum;
    }
}

/// y -= the transposed rows from `row` on of W columns, times x.
#[inline(always)]
fn take_dots<const W: usize, const FUSED: bool>(a: &[f64], m: usize, at: usize, row: usize, x: &[f64], y: &mut [f64; W]) {
    let n = x.len();
    let whole = n - n % LANES;
    for k in 0..W {
        let column = &a[(at + k) * m + row..(at + k) * m + row + n];
        let mut sums = [0.0; LANES];
        for (c, x) in column[..whole].chunks_exact(LANES).zip(x[..whole].chunks_exact(LANES)) {
            for lane in 0..LANES {
                sums[lane] = if FUSED { c[lane].mul_add(x[lane], sums[lane]) } else { sums[lane] + c[lane] * x[lane] };
            }
        }
        let mut rest = y[k] - ((sums[0] + sums[2]) + (sums[1] + sums[3]));
        for r in whole..n {
            rest = minus::<FUSED>(rest, column[r], x[r]);
        }
        y[k] = rest;
    }
}

/// Solves with L: `x` holds the eliminated rows, `rest` the others.
#[inline(always)]
pub(crate) fn lower<const FUSED: bool>(a: &[f64], m: usize, x: &mut [f64], rest: &mut [f64]) {
    let p = x.len();
    blocks!(0, p, |at, W| {
        let mut y = [0.0; W];
        y.copy_from_slice(&x[at..at + W]);
        for k in 0..W {
            for i in k + 1..W {
                y[i] = minus::<FUSED>(y[i], a[(at + k) * m + at + i], y[k]);
            }
        }
        x[at..at + W].copy_from_slice(&y);
        take::<W, FUSED>(a, m, at, at + W, &y, &mut x[at + W..]);
        take::<W, FUSED>(a, m, at, p, &y, rest);
    });
}

/// Solves with L'.
#[inline(always)]
pub(crate) fn lower_transposed<const FUSED: bool>(a: &[f64], m: usize, x: &mut [f64], rest: &[f64]) {
    let p = x.len();
    blocks_back!(p, |at, W| {
        let mut y = [0.0; W];
        y.copy_from_slice(&x[at..at + W]);
        take_dots::<W, FUSED>(a, m, at, at + W, &x[at + W..], &mut y);
        take_dots::<W, FUSED>(a, m, at, p, rest, &mut y);
        for k in (0..W).rev() {
            for i in k + 1..W {
                y[k] = minus::<FUSED>(y[k], a[(at + k) * m + at + i], y[i]);
            }
        }
        x[at..at + W].copy_from_slice(&y);
    });
}

/// Divides by the pivots.
#[inline(always)]
pub(crate) fn diagonal(a: &[f64], m: usize, x: &mut [f64]) {
    for (k, x) in x.iter_mut().enumerate() {
        *x *= a[k * (m + 1)];
    }
}

/// Solves with U.
#[inline(always)]
pub(crate) fn upper<const FUSED: bool>(a: &[f64], m: usize, x: &mut [f64], rest: &[f64]) {
    let p = x.len();
    blocks_back!(p, |at, W| {
        let mut y = [0.0; W];
        y.copy_from_slice(&x[at..at + W]);
        for (c, &value) in (at + W..p).zip(&x[at + W..]).chain((p..m).zip(rest)) {
            let column = &a[c * m + at..c * m + at + W];
            for i in 0..W {
                y[i] = minus::<FUSED>(y[i], column[i], value);
            }
        }
        for k in (0..W).rev() {
            y[k] *= a[(at + k) * (m + 1)];
            for i in 0..k {
                y[i] = minus::<FUSED>(y[i], a[(at + k) * m + at + i], y[k]);
            }
        }
        x[at..at + W].copy_from_slice(&y);
    });
}

/// Solves with U'.
#[inline(always)]
pub(crate) fn upper_transposed<const FUSED: bool>(a: &[f64], m: usize, x: &mut [f64], rest: &mut [f64]) {
    let p = x.len();
    for k in 0..p {
        let (done, left) = x.split_at_mut(k);
        let mut y = [left[0]];
        take_dots::<1, FUSED>(a, m, k, 0, done, &mut y);
        left[0] = y[0] * a[k * (m + 1)];
    }
    for (c, rest) in rest.iter_mut().enumerate() {
        let mut y = [*rest];
        take_dots::<1, FUSED>(a, m, p + c, 0, x, &mut y);
        *rest = y[0];
    }
}
