//! Mathematics that knows no bodies: the plane and space, rotations, twists and wrenches, dense and sparse factors.
//!
//! The equations cited as (n.m) stand in `docs/theory.md`.

pub mod pose;
pub mod rotation;
pub mod space;

pub use pose::{Pose, Twist, Wrench};
pub use space::{Planar, Space, Spatial, Vector};
