//! Joint coordinates: a mechanism in the words of robotics, theory chapter 20.
//!
//! The joint graph has a spanning tree: every joint, in file order, that does not close a loop. Its coordinates are those of free roots, then those of its
//! joints; joints that close loops give rows on them. The engine itself keeps bodies and rows; all here is read off its state, exactly.

mod chart;
mod closing;
mod dynamics;
mod holding;
mod kinematics;
mod loops;
mod motion;
mod reach;
mod tangent;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod words;

pub(crate) use chart::Reading;
pub use dynamics::Contacts;
pub use reach::{Goal, Reach, ReachOptions};
pub use tangent::TangentMap;
pub use tree::Tree;
