//! Exact derivatives of the step, forwards and backwards, theory chapter 17.
//!
//! The forward step records what it decided; `differentiate` walks the same stages and writes down each one's local Jacobian; the list
//! run forwards is the tangent, run backwards the adjoint.

mod energy;
mod jacobian;
mod linearise;
mod motion;
mod named;
mod rows;
mod schedule;
mod slots;
mod system;
pub(crate) mod tape;
#[cfg(test)]
mod tests;

pub use crate::energy::energies;
pub use energy::{EnergyGradient, energy_gradient};
pub use jacobian::StepJacobian;
pub use linearise::{LineariseError, Linearised};
pub use named::parameters::{BodySlots, ColliderSlots, ForceSlots, Parameters};
pub use named::{NameError, Names, Quantity, Row};
pub use rows::sensor::Pair;
pub use schedule::stage::Switches;
pub use system::weak::Weak;
pub use tape::rollout::{Cotangents, Direction, Gradient, GradientError, Push, Rollout, Tape};
pub use tape::step::{StepRecord, Wrt};
