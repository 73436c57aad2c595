//! Iterative refinement: an answer improved by solving for its residual, with any factor of the matrix or of one near it.

/// Rounds after which rounding of the residual, not the factor, bounds the answer.
const REFINEMENT_CAP: usize = 5;

/// How refinement ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Refined {
    /// Corrections applied.
    pub rounds: usize,
    /// Largest |b - A x| of the answer kept.
    pub residual: f64,
}

/// Scratch of a refinement.
#[derive(Clone, Debug, Default)]
pub struct RefineWork {
    residual: Vec<f64>,
    best: Vec<f64>,
}

/// Improves x until its residuals stop falling by half; keeps the best x seen. `residual` writes b - A x and returns its largest entry, `solve`
/// answers A d = r in place.
pub(crate) fn refine(
    x: &mut [f64],
    work: &mut RefineWork,
    mut residual: impl FnMut(&[f64], &mut [f64]) -> f64,
    mut solve: impl FnMut(&mut [f64]),
) -> Refined {
    work.residual.resize(x.len(), 0.0);
    work.best.resize(x.len(), 0.0);
    let mut left = residual(x, &mut work.residual);
    for round in 0..REFINEMENT_CAP {
        if left == 0.0 {
            return Refined { rounds: round, residual: left };
        }
        work.best.copy_from_slice(x);
        solve(&mut work.residual);
        for (value, change) in x.iter_mut().zip(&work.residual) {
            *value += change;
        }
        let next = residual(x, &mut work.residual);
        if next >= left {
            x.copy_from_slice(&work.best);
            return Refined { rounds: round, residual: left };
        }
        let stalled = next > 0.5 * left;
        left = next;
        if stalled {
            return Refined { rounds: round + 1, residual: left };
        }
    }
    Refined { rounds: REFINEMENT_CAP, residual: left }
}
