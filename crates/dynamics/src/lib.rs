//! Models, states and the step of the carom engine.

pub mod constraints;
pub mod error;
pub mod model;
pub mod options;
pub mod state;
pub mod tolerances;

pub use constraints::{Joint, JointKind, JointSpec, Motor};
pub use error::{ModelError, StepError};
pub use model::{Body, BodyKind, Collider, Force, Model, PairRule};
pub use options::Options;
pub use state::State;
pub use tolerances::Tolerances;
