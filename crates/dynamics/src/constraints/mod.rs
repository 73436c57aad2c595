//! Rows of joints: equalities, limits, motors, springs, theory chapter 3.
//!
//! A [`JointSpec`] is what a scene says, in world coordinates at the start pose; [`Joint::new`] checks it and moves it into the
//! frames of the two bodies. A kind is a short list of row groups, and each group has a file of its own: its position error phi and
//! its Jacobian J with d phi/dt = J v, for the plane and for space at once.

mod angle;
mod axis;
mod check;
mod derivative;
mod description;
mod distance;
mod frame;
mod gradient;
mod group;
mod joint;
mod kind;
mod mean;
mod mean_gradient;
mod parameter;
mod perpendicular;
mod pinned;
mod point;
mod rotation;
mod row;
mod screw;
mod slide;
mod spec;
mod spring;
#[cfg(test)]
mod tests;

pub(crate) use frame::{Axes, Frame};
pub(crate) use pinned::{Pinned, PinnedGradient};
pub(crate) use screw::pitch;

pub use derivative::{JointFunction, MAX_COLUMNS, MAX_POSE_COLUMNS};
pub use description::{DescriptionKey, DescriptionMap};
pub use gradient::JointGradient;
pub use joint::{Joint, MAX_ROWS};
pub use kind::JointKind;
pub use mean::Span;
pub use parameter::{JointParameter, MAX_PARAMETERS, Measures};
pub use row::Row;
pub(crate) use spec::Pull;
pub use spec::{Aim, JointSpec, Motor};
pub use spring::SpringState;
