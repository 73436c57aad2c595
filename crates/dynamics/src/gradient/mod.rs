//! Exact derivatives of the step, forwards and backwards, theory chapter 17.
//!
//! The forward step records what it decided; `differentiate` walks the same rooms and writes down each one's local Jacobian; the list
//! run forwards is the tangent, run backwards the adjoint.

mod arrival;
mod contact_point;
mod contact_rows;
mod contact_site;
mod energy;
mod finish;
mod flight;
mod forward_rate;
mod friction_mode;
mod friction_rows;
mod hold;
mod impact;
mod jacobian;
mod joint_rows;
mod law;
mod linkage;
mod linkage_body;
mod linkage_crowd;
mod linkage_factor;
mod linkage_finish;
mod linkage_graph;
mod linkage_move;
mod linkage_rows;
mod loads;
mod mean_balance;
mod mean_hold;
mod mean_loads;
mod mean_motion;
mod mean_push;
mod mean_step;
mod motion;
mod named;
mod parameters;
mod parts;
mod patch;
mod patch_body;
mod patch_finish;
mod patch_move;
mod patch_rows;
mod pivoted;
mod program;
mod rate_row;
pub(crate) mod record;
mod redundant;
mod rollout;
mod rotor;
mod slots;
mod smoothed_rows;
mod sparse;
mod stage;
mod step;
mod strike_patch;
mod substep;
mod system;
#[cfg(test)]
mod tests;
mod tie;
mod weak;
mod workbench;

pub(crate) use energy::elastic;
pub use energy::{EnergyGradient, energies, energy_gradient};
pub use jacobian::StepJacobian;
pub(crate) use named::nearest;
pub use named::{NameError, Names, Quantity, Row};
pub use parameters::{BodySlots, ColliderSlots, ForceSlots, Parameters};
pub use rollout::{Cotangents, Direction, Gradient, GradientError, Rollout, Tape};
pub(crate) use slots::cross;
pub use stage::Switches;
pub use step::{StepRecord, Wrt};
pub use weak::Weak;
pub(crate) use workbench::Workshop;
