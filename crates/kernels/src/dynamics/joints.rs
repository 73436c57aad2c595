//! Joints by their Schur complement; theory (4.28).

use super::DynamicsError;
use super::mass::MassFactor;
use carom_math::dense::{Cholesky, add_scaled, dot};

/// Relative diagonal added to the joints' matrix, so that redundant joints share their impulse; refinement removes its effect on the velocity.
pub const JOINT_REGULARISATION: f64 = 1e-10;
/// Steps of refinement of a joint solve.
const REFINEMENTS: usize = 3;

/// The joints with their Schur complement.
pub(super) struct Joints<'a> {
    rows: &'a [f64],
    d: usize,
    e: usize,
    matrix: Vec<f64>,
    responses: Vec<f64>,
    cholesky: Cholesky,
}

impl<'a> Joints<'a> {
    /// Factors the joints' matrix for the given mass.
    pub(super) fn new(rows: &'a [f64], d: usize, e: usize, mass: &MassFactor) -> Result<Self, DynamicsError> {
        let mut responses = rows.to_vec();
        responses.chunks_exact_mut(d.max(1)).for_each(|row| mass.solve(row));
        let mut matrix = vec![0.0; e * e];
        for i in 0..e {
            for j in 0..e {
                matrix[i * e + j] = dot(&rows[i * d..(i + 1) * d], &responses[j * d..(j + 1) * d]);
            }
        }
        let mut cholesky = Cholesky::new();
        let target = cholesky.matrix(e);
        target.copy_from_slice(&matrix);
        let largest = (0..e).map(|i| matrix[i * e + i]).fold(0.0f64, f64::max);
        for i in 0..e {
            let own = matrix[i * e + i];
            target[i * e + i] += JOINT_REGULARISATION * if own > 0.0 { own } else { largest.max(1.0) };
        }
        cholesky.factor().map_err(|_| DynamicsError::Mass)?;
        Ok(Joints { rows, d, e, matrix, responses, cholesky })
    }

    /// Makes a velocity obey the joints.
    pub(super) fn project(&self, velocity: &mut [f64]) {
        let mut impulses = vec![0.0; self.e];
        self.impulses(velocity, &mut impulses);
    }

    /// Makes a velocity obey the joints, adding the impulses it takes.
    pub(super) fn impulses(&self, velocity: &mut [f64], impulses: &mut [f64]) {
        let (d, e) = (self.d, self.e);
        if e == 0 {
            return;
        }
        let target: Vec<f64> = (0..e).map(|i| -dot(&self.rows[i * d..(i + 1) * d], velocity)).collect();
        let total = self.multipliers(&target);
        for (i, l) in total.iter().enumerate() {
            add_scaled(velocity, *l, &self.responses[i * d..(i + 1) * d]);
            impulses[i] += l;
        }
    }

    /// Solves A_e x = target, refined; of least norm where joints are redundant.
    pub(super) fn multipliers(&self, target: &[f64]) -> Vec<f64> {
        let e = self.e;
        let mut total = vec![0.0; e];
        for _ in 0..=REFINEMENTS {
            let mut right: Vec<f64> = (0..e).map(|i| target[i] - dot(&self.matrix[i * e..(i + 1) * e], &total)).collect();
            self.cholesky.solve(&mut right);
            add_scaled(&mut total, 1.0, &right);
        }
        total
    }

    /// The velocity M^-1 Je' A_e^-1 `target` that moves the joints at the speeds given.
    pub(super) fn driven(&self, target: &[f64]) -> Vec<f64> {
        let mut velocity = vec![0.0; self.d];
        for (row, l) in self.responses.chunks_exact(self.d.max(1)).zip(self.multipliers(target)) {
            add_scaled(&mut velocity, l, row);
        }
        velocity
    }

    /// The transpose of [`Joints::driven`]: A_e^-1 Je M^-1 `cotangent`.
    pub(super) fn driven_transpose(&self, cotangent: &[f64]) -> Vec<f64> {
        let target: Vec<f64> = self.responses.chunks_exact(self.d.max(1)).map(|row| dot(row, cotangent)).collect();
        self.multipliers(&target)
    }
}
