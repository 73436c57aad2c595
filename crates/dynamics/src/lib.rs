//! Models, states and the step of the carom engine.
//!
//! A [`World`] holds a [`Model`] (what never changes), a [`State`] (what does) and scratch. One step takes every island through seven
//! rooms: contacts, impact, predict, constraints, solve, integrate, finish. Equations cited as (n.m) stand in `docs/theory.md`.

mod arrival;
mod articulated;
mod assembly;
pub mod constraints;
mod contacts;
pub mod coordinates;
mod coupling;
mod crossing;
mod curvature;
mod effort;
mod energy_momentum;
pub mod error;
mod event;
mod finish;
pub mod gradient;
mod hold;
mod impact;
mod impact_rows;
mod instances;
mod integrate;
mod island;
mod islands;
mod joint_effort;
mod joint_factor;
mod joint_graph;
mod joint_rows;
pub mod ledger;
mod line;
pub mod model;
pub mod options;
mod predict;
mod project;
mod push;
mod reduced;
mod redundancy;
mod rotor;
mod secants;
mod simultaneous;
mod snapshot;
mod solve;
mod sparse_rows;
mod start;
pub mod state;
mod step;
mod stepped;
mod strain;
pub mod tolerances;
pub mod world;

pub use carom_solve::interrupt::Interrupt;
pub use constraints::{Aim, Joint, JointKind, JointSpec, Motor};
pub use coupling::Coupling;
pub use error::{ModelError, StepError};
pub use joint_effort::JointEffort;
pub use ledger::{Flow, Ledger};
pub use model::{Body, BodyKind, Collider, Force, Model, PairRule};
pub use options::Options;
pub use snapshot::{PHYSICS, Snapshot, SnapshotError};
pub use start::{Fault, Placement};
pub use state::State;
pub use tolerances::Tolerances;
pub use world::{ContactReport, StepReport, World};
