//! What steps leave behind for their derivative, and the runs of steps that are made of it: theory (17.3), (17.43).

mod arrival;
pub(crate) mod record;
mod recorder;
pub(crate) mod rollout;
mod simultaneous;
pub(crate) mod step;
pub(crate) mod workbench;
