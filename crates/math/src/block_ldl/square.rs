//! What is done with single square blocks: products, and the factor of a pivot.

use crate::ldl::LdlError;

/// A_kk^-1 times a column's own rows.
#[inline(always)]
pub(crate) fn through<const N: usize>(pivot: &[[f64; N]], rows: &[f64]) -> [f64; N] {
    let mut out = [0.0; N];
    for (row, &x) in pivot[..N].iter().zip(&rows[..N]) {
        // By columns, which of a symmetric square are its rows: no sum waits for itself.
        for c in 0..N {
            out[c] += row[c] * x;
        }
    }
    out
}

#[inline(always)]
pub(crate) fn read<const N: usize>(x: &[f64], start: usize) -> [f64; N] {
    let mut own = [0.0; N];
    own.copy_from_slice(&x[start..][..N]);
    own
}

/// What is this small is nought. Along a chain whose far end falls freely a solution dies out by half a decade a link, and below 1e-308 numbers lose digits and
/// cost several times as much; their squares do so below 1e-154.
pub(super) const NOUGHT: f64 = 1e-130;

/// Links between two looks for what died out.
pub(super) const SETTLED_EVERY: usize = 16;

/// Rows with nought, up to rounding of [`NOUGHT`], for what is smaller.
#[inline(always)]
pub(crate) fn settled<const N: usize>(rows: [f64; N]) -> [f64; N] {
    rows.map(|x| (x + NOUGHT) - NOUGHT)
}

/// a . b, even and odd entries apart: along a chain every product waits for the last one, so what counts is how soon it is there.
#[inline(always)]
pub(crate) fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    let mut sums = [0.0; 2];
    for k in 0..N {
        sums[k % 2] += a[k] * b[k];
    }
    sums[0] + sums[1]
}

/// A row times a square.
#[inline(always)]
pub(crate) fn times<const N: usize>(row: &[f64; N], square: &[[f64; N]; N]) -> [f64; N] {
    let mut out = [0.0; N];
    for c in 0..N {
        out[c] = row[0] * square[0][c];
    }
    for m in 1..N {
        for c in 0..N {
            out[c] += row[m] * square[m][c];
        }
    }
    out
}

/// A square as L D L': the unit lower triangle L, its inverse, and 1/D.
pub(super) struct Split<const N: usize> {
    pub(super) lower: [[f64; N]; N],
    pub(super) unit: [[f64; N]; N],
    pub(super) divided: [f64; N],
}

impl<const N: usize> Split<N> {
    /// Of a symmetric square of which the lower triangle is read, theory (9.8); `accept(row, pivot)` returns the pivot to use.
    #[inline(always)]
    pub(super) fn of(square: &[[f64; N]; N], mut accept: impl FnMut(usize, f64) -> Result<f64, LdlError>) -> Result<Self, LdlError> {
        let mut y = *square;
        let (mut lower, mut unit, mut divided) = ([[0.0; N]; N], [[0.0; N]; N], [0.0; N]);
        for r in 0..N {
            for c in 0..r {
                for m in 0..c {
                    y[r][c] -= y[r][m] * lower[c][m];
                }
            }
            let mut pivot = y[r][r];
            for c in 0..r {
                lower[r][c] = y[r][c] * divided[c];
                pivot -= y[r][c] * lower[r][c];
            }
            divided[r] = 1.0 / accept(r, pivot)?;
        }
        for r in 0..N {
            unit[r][r] = 1.0;
            for c in 0..r {
                for m in 0..=c {
                    unit[r][m] -= lower[r][c] * unit[c][m];
                }
            }
        }
        Ok(Split { lower, unit, divided })
    }
    /// Takes the square below it through it, theory (9.11), and their product from the next pivot, theory (9.9). All by columns: the rows of a square are
    /// independent of each other and go side by side.
    #[inline(always)]
    pub(super) fn take(&self, below: &mut [[f64; N]; N], next: &mut [[f64; N]; N]) {
        let (mut y, mut l) = ([[0.0; N]; N], [[0.0; N]; N]);
        for c in 0..N {
            for r in 0..N {
                y[c][r] = below[r][c];
            }
            for m in 0..c {
                for r in 0..N {
                    y[c][r] -= y[m][r] * self.lower[c][m];
                }
            }
            for r in 0..N {
                l[c][r] = y[c][r] * self.divided[c];
            }
        }
        for r in 0..N {
            for m in 0..N {
                for c in 0..N {
                    next[r][c] -= l[m][r] * y[m][c];
                }
            }
        }
        for c in 0..N {
            let mut out = l[c];
            for m in c + 1..N {
                for r in 0..N {
                    out[r] += l[m][r] * self.unit[m][c];
                }
            }
            for r in 0..N {
                below[r][c] = out[r];
            }
        }
    }
    /// L^-T D^-1 L^-1, theory (9.11).
    #[inline(always)]
    pub(super) fn inverse(&self) -> [[f64; N]; N] {
        let mut out = [[0.0; N]; N];
        for r in 0..N {
            for c in 0..=r {
                let mut sum = self.unit[r][c] * self.divided[r];
                for m in r + 1..N {
                    sum += self.unit[m][r] * (self.unit[m][c] * self.divided[m]);
                }
                out[r][c] = sum;
                out[c][r] = sum;
            }
        }
        out
    }
}
