//! Mathematics that knows no bodies: the plane and space, rotations, twists and wrenches, dense and sparse factors.
//!
//! The equations cited as (n.m) stand in `docs/theory.md`.

pub mod block_ldl;
pub mod block_lu;
pub mod block_matrix;
pub mod block_sparse;
pub mod bordered;
pub mod consistent;
pub mod dense;
pub mod dual;
mod elimination;
mod front;
mod gemm;
pub mod ldl;
pub mod lu;
pub mod multifrontal;
mod ordering;
mod pivot_block;
pub mod pose;
pub mod processor;
mod refinement;
pub mod rotation;
mod small;
pub mod space;
pub mod sparse_cholesky;
pub mod splitting;
mod symbolic;
#[cfg(test)]
mod tests;

pub use pose::{Pose, Twist, Wrench};
pub use space::{Planar, Space, Spatial, Vector};
