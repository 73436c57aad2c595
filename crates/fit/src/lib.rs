//! Parameters of a scene from many measured motions: Gauss-Newton steps with exact derivatives, many starts, windows for chaotic motions; and what the
//! data determine, how closely, and what they do not.
//!
//! [`variable`] gives numbers of a scene their names, [`motion`] lays measurements onto the steps of runs and says what is wrong with them, [`fit()`] searches
//! and reports. The equations stand in chapter 22 of `docs/theory.md`.

mod arrow;
mod check;
mod complaint;
mod coordinate;
mod finite;
mod fit;
mod keep;
mod knowledge;
pub mod motion;
mod noise;
mod problem;
mod quantile;
mod report;
mod retract;
mod rough;
mod search;
mod surface;
pub mod variable;

pub use check::mixed_up;
pub use complaint::Complaint;
pub use fit::{Ask, fit};
pub use knowledge::Open;
pub use motion::{QUANTITIES, Table};
pub use report::{Fit, Minimum, Quantity, Row};
pub use search::Progress;
pub use variable::{Start, Variable};
