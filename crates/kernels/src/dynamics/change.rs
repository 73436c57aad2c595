//! Changes of the arguments of the dynamics problem, and cotangents of them.

use super::{DynamicsError, DynamicsInput, Mass};
use carom_math::dense::dot;

/// A change of the mass, or its cotangent, in the form the mass was given in.
#[derive(Clone, Debug, PartialEq)]
pub enum MassChange {
    /// Of the diagonal, length d.
    Diagonal(Vec<f64>),
    /// Of the whole matrix, d x d row-major; cotangents are symmetric.
    Dense(Vec<f64>),
    /// Of the blocks, each row-major; cotangents are symmetric.
    Blocks(Vec<Vec<f64>>),
}

/// Changes of the arguments of [`dynamics`](super::dynamics), or cotangents of them, each of the argument's shape (empty where it is empty).
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicsChange {
    /// Of the mass.
    pub mass: MassChange,
    /// Of the velocity before the step, length d.
    pub velocity: Vec<f64>,
    /// Of the force, length d.
    pub force: Vec<f64>,
    /// Of the length of the step.
    pub step: f64,
    /// Of the joint rows, e x d.
    pub joints: Vec<f64>,
    /// Of the contact rows, m x d.
    pub contacts: Vec<f64>,
    /// Of the friction directions, m x t x d.
    pub tangents: Vec<f64>,
    /// Of the coefficients of friction, length m.
    pub friction: Vec<f64>,
    /// Of the coefficients of restitution, length m; without effect where a bias is given.
    pub restitution: Vec<f64>,
    /// Of the bias, length m.
    pub bias: Vec<f64>,
}

impl DynamicsChange {
    /// No change, in the shape of an input.
    pub fn zero(input: &DynamicsInput) -> Self {
        let zeros = |x: &[f64]| vec![0.0; x.len()];
        DynamicsChange {
            mass: match input.mass {
                Mass::Diagonal(m) => MassChange::Diagonal(zeros(m)),
                Mass::Dense(m) => MassChange::Dense(zeros(m)),
                Mass::Blocks(b) => MassChange::Blocks(b.iter().map(|b| zeros(b)).collect()),
            },
            velocity: zeros(input.velocity),
            force: zeros(input.force),
            step: 0.0,
            joints: zeros(input.joints),
            contacts: zeros(input.contacts),
            tangents: zeros(input.tangents),
            friction: zeros(input.friction),
            restitution: zeros(input.restitution),
            bias: zeros(input.bias),
        }
    }

    /// Refuses a change of another shape.
    pub(super) fn check(&self, input: &DynamicsInput) -> Result<(), DynamicsError> {
        let change = self;
        let masses = match (&change.mass, input.mass) {
            (MassChange::Diagonal(a), Mass::Diagonal(b)) | (MassChange::Dense(a), Mass::Dense(b)) => a.len() == b.len(),
            (MassChange::Blocks(a), Mass::Blocks(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.len() == b.len()),
            _ => false,
        };
        if !masses {
            return Err(DynamicsError::Shape { argument: "mass", expected: input.velocity.len(), found: 0 });
        }
        for (argument, found, expected) in [
            ("velocity", change.velocity.len(), input.velocity.len()),
            ("force", change.force.len(), input.force.len()),
            ("joints", change.joints.len(), input.joints.len()),
            ("contacts", change.contacts.len(), input.contacts.len()),
            ("tangents", change.tangents.len(), input.tangents.len()),
            ("friction", change.friction.len(), input.friction.len()),
            ("restitution", change.restitution.len(), input.restitution.len()),
            ("bias", change.bias.len(), input.bias.len()),
        ] {
            if found != expected {
                return Err(DynamicsError::Shape { argument, expected, found });
            }
        }
        Ok(())
    }
}

impl MassChange {
    /// The mass itself in the form of a change.
    pub(super) fn of(mass: Mass) -> Self {
        match mass {
            Mass::Diagonal(m) => MassChange::Diagonal(m.to_vec()),
            Mass::Dense(m) => MassChange::Dense(m.to_vec()),
            Mass::Blocks(b) => MassChange::Blocks(b.to_vec()),
        }
    }

    /// Product of a mass, or a change of it, with a vector.
    pub(super) fn multiply(&self, x: &[f64]) -> Vec<f64> {
        let square = |block: &[f64], x: &[f64]| -> Vec<f64> { block.chunks_exact(x.len().max(1)).map(|row| dot(row, x)).collect() };
        match self {
            MassChange::Diagonal(m) => m.iter().zip(x).map(|(m, x)| m * x).collect(),
            MassChange::Dense(m) => square(m, x),
            MassChange::Blocks(blocks) => {
                let mut start = 0;
                let mut y = Vec::with_capacity(x.len());
                for block in blocks {
                    let n = block.len().isqrt();
                    y.extend(square(block, &x[start..start + n]));
                    start += n;
                }
                y
            }
        }
    }

    /// The part of x y', made symmetric, that the form of a mass holds.
    pub(super) fn outer(&mut self, x: &[f64], y: &[f64]) {
        let square = |block: &mut [f64], x: &[f64], y: &[f64]| {
            let n = x.len();
            for i in 0..n {
                for j in 0..n {
                    block[i * n + j] = (x[i] * y[j] + x[j] * y[i]) / 2.0;
                }
            }
        };
        match self {
            MassChange::Diagonal(m) => m.iter_mut().zip(x.iter().zip(y)).for_each(|(m, (x, y))| *m = x * y),
            MassChange::Dense(m) => square(m, x, y),
            MassChange::Blocks(blocks) => {
                let mut start = 0;
                for block in blocks {
                    let n = block.len().isqrt();
                    square(block, &x[start..start + n], &y[start..start + n]);
                    start += n;
                }
            }
        }
    }
}
