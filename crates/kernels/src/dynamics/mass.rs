//! The mass matrix in its three forms, factored.

use super::{DynamicsError, Mass};
use carom_math::dense::Cholesky;

/// Relative difference of two mirrored entries up to which a mass matrix counts as symmetric; callers build it by products in any order.
const SYMMETRY: f64 = 1e-9;

/// The factored mass matrix.
pub(super) enum MassFactor {
    Diagonal(Vec<f64>),
    Blocks(Vec<(usize, Cholesky)>),
}

impl MassFactor {
    /// Factors the mass of d freedoms.
    pub(super) fn new(mass: Mass, d: usize) -> Result<Self, DynamicsError> {
        let shape = |expected, found| DynamicsError::Shape { argument: "mass", expected, found };
        let factor = |block: &[f64], n: usize| {
            let symmetric = (0..n).all(|i| {
                (0..i).all(|j| {
                    let (a, b) = (block[i * n + j], block[j * n + i]);
                    (a - b).abs() <= SYMMETRY * (block[i * n + i] * block[j * n + j]).abs().sqrt()
                })
            });
            let mut cholesky = Cholesky::new();
            cholesky.matrix(n).copy_from_slice(block);
            if symmetric && cholesky.factor().is_ok() { Ok((n, cholesky)) } else { Err(DynamicsError::Mass) }
        };
        match mass {
            Mass::Diagonal(diagonal) => {
                if diagonal.len() != d {
                    return Err(shape(d, diagonal.len()));
                }
                if diagonal.iter().all(|m| *m > 0.0 && m.is_finite()) {
                    Ok(MassFactor::Diagonal(diagonal.iter().map(|m| 1.0 / m).collect()))
                } else {
                    Err(DynamicsError::Mass)
                }
            }
            Mass::Dense(matrix) => {
                if matrix.len() != d * d {
                    return Err(shape(d * d, matrix.len()));
                }
                Ok(MassFactor::Blocks(vec![factor(matrix, d)?]))
            }
            Mass::Blocks(blocks) => {
                let mut factors = Vec::with_capacity(blocks.len());
                let mut total = 0;
                for block in blocks {
                    let side = block.len().isqrt();
                    if side * side != block.len() {
                        return Err(shape(side * side, block.len()));
                    }
                    total += side;
                    factors.push(factor(block, side)?);
                }
                if total == d { Ok(MassFactor::Blocks(factors)) } else { Err(shape(d, total)) }
            }
        }
    }

    /// x := M^-1 x.
    pub(super) fn solve(&self, x: &mut [f64]) {
        match self {
            MassFactor::Diagonal(inverse) => x.iter_mut().zip(inverse).for_each(|(x, i)| *x *= i),
            MassFactor::Blocks(blocks) => {
                let mut start = 0;
                for (n, cholesky) in blocks {
                    cholesky.solve(&mut x[start..start + n]);
                    start += n;
                }
            }
        }
    }
}
