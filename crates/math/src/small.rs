//! Kernels on one node's dense rows. Each takes the row length as an argument and is inlined, so that a caller which passes a
//! constant gets unrolled code and one which passes a variable gets a loop, from one text.

/// Runs `$body` with `$size` a constant where it is a size that joints have, so that the kernels inside unroll.
macro_rules! by_size {
    ($size:expr, $name:ident => $body:expr) => {
        match $size {
            0 => (),
            1 => by_size!(@ 1, $name, $body),
            2 => by_size!(@ 2, $name, $body),
            3 => by_size!(@ 3, $name, $body),
            4 => by_size!(@ 4, $name, $body),
            5 => by_size!(@ 5, $name, $body),
            6 => by_size!(@ 6, $name, $body),
            $name => $body,
        }
    };
    (@ $constant:literal, $name:ident, $body:expr) => {{
        let $name: usize = $constant;
        $body
    }};
}
pub(crate) use by_size;

/// a . b over the first `size` entries.
#[inline(always)]
pub(crate) fn dot(size: usize, a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (&a[..size], &b[..size]);
    let mut sum = 0.0;
    for k in 0..size {
        sum += a[k] * b[k];
    }
    sum
}

/// Factors a symmetric block in place, theory (9.8): unit lower triangle below the diagonal, upper triangle untouched.
/// `accept(row, pivot)` returns the pivot to use; its inverse goes to `inverse[row]`.
#[inline(always)]
pub(crate) fn factor_block<E>(
    size: usize,
    block: &mut [f64],
    inverse: &mut [f64],
    mut accept: impl FnMut(usize, f64) -> Result<f64, E>,
) -> Result<(), E> {
    let block = &mut block[..size * size];
    let inverse = &mut inverse[..size];
    for r in 0..size {
        let (above, rest) = block.split_at_mut(r * size);
        let row = &mut rest[..size];
        for c in 0..r {
            let unit = &above[c * size..][..size];
            let mut y = row[c];
            for m in 0..c {
                y -= row[m] * unit[m];
            }
            row[c] = y;
        }
        let mut pivot = row[r];
        for c in 0..r {
            let l = row[c] * inverse[c];
            pivot -= row[c] * l;
            row[c] = l;
        }
        let pivot = accept(r, pivot)?;
        row[r] = pivot;
        inverse[r] = 1.0 / pivot;
    }
    Ok(())
}

/// Rows W of a panel to Y = W L^-T in `scaled` and Y D^-1 in place, theory (9.9), for the factored block of the same column.
#[inline(always)]
pub(crate) fn scale_panel(size: usize, block: &[f64], inverse: &[f64], panel: &mut [f64], scaled: &mut [f64]) {
    let block = &block[..size * size];
    let inverse = &inverse[..size];
    for (row, y) in panel.chunks_exact_mut(size).zip(scaled.chunks_exact_mut(size)) {
        for c in 0..size {
            let mut sum = row[c];
            for m in 0..c {
                sum -= y[m] * block[c * size + m];
            }
            y[c] = sum;
        }
        for c in 0..size {
            row[c] = y[c] * inverse[c];
        }
    }
}

/// target -= Y L' for rows of length `size`: `height x width` values by rows from as many rows of Y and L.
#[inline(always)]
pub(crate) fn subtract_product(size: usize, width: usize, target: &mut [f64], y: &[f64], l: &[f64]) {
    if width == 0 {
        return;
    }
    for (out, y) in target.chunks_exact_mut(width).zip(y.chunks_exact(size)) {
        for (value, l) in out.iter_mut().zip(l.chunks_exact(size)) {
            *value -= dot(size, y, l);
        }
    }
}

/// x := L^-1 x for the unit lower triangle of a factored block.
#[inline(always)]
pub(crate) fn forward_block(size: usize, block: &[f64], x: &mut [f64]) {
    let (block, x) = (&block[..size * size], &mut x[..size]);
    for r in 1..size {
        let mut sum = x[r];
        for c in 0..r {
            sum -= block[r * size + c] * x[c];
        }
        x[r] = sum;
    }
}

/// x := L^-T x for the unit lower triangle of a factored block.
#[inline(always)]
pub(crate) fn backward_block(size: usize, block: &[f64], x: &mut [f64]) {
    let (block, x) = (&block[..size * size], &mut x[..size]);
    for r in (1..size).rev() {
        let value = x[r];
        for c in 0..r {
            x[c] -= block[r * size + c] * value;
        }
    }
}

/// L^-T D^-1 L^-1 of a factored block, theory (9.11), all of it though it is symmetric: its rows are read whole.
#[inline(always)]
pub(crate) fn invert_block(size: usize, block: &[f64], inverse: &[f64], out: &mut [f64]) {
    let (block, inverse, out) = (&block[..size * size], &inverse[..size], &mut out[..size * size]);
    for column in 0..size {
        // Forward from the unit vector, divide, backward; what stands above `column` stays zero in the first half.
        for r in 0..size {
            let mut sum = if r == column { 1.0 } else { 0.0 };
            for c in column..r {
                sum -= block[r * size + c] * out[column * size + c];
            }
            out[column * size + r] = if r < column { 0.0 } else { sum };
        }
        for r in 0..size {
            out[column * size + r] *= inverse[r];
        }
        for r in (1..size).rev() {
            let value = out[column * size + r];
            for c in 0..r {
                out[column * size + c] -= block[r * size + c] * value;
            }
        }
    }
}

/// Rows of a panel times L^-1 of its column's factored block, theory (9.11).
#[inline(always)]
pub(crate) fn unscale_panel(size: usize, block: &[f64], panel: &[f64], out: &mut [f64]) {
    let block = &block[..size * size];
    for (row, out) in panel.chunks_exact(size).zip(out.chunks_exact_mut(size)) {
        for c in (0..size).rev() {
            let mut sum = row[c];
            for m in c + 1..size {
                sum -= out[m] * block[m * size + c];
            }
            out[c] = sum;
        }
    }
}
