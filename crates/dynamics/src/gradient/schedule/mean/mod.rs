//! A substep by mean velocities, the scheme `energy-momentum`, theory (19.7)-(19.12).

pub(crate) mod balance;
pub(crate) mod hold;
pub(crate) mod loads;
pub(crate) mod mean_step;
pub(crate) mod motion;
pub(crate) mod push;
