//! One file per fault that was found and mended; each tells its story and fails should the fault return.

mod curved_contact_at_rest;
mod damped_feather;
mod frozen_graze;
mod graze;
mod projection_with_joints;
mod rims;
mod rope_at_an_event;
mod snap;
mod stalled_rounds;
mod turned_by_projection;
mod unsolvable_contact;
