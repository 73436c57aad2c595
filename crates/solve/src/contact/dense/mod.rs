//! Contact problems of a few rows with their whole matrix: the methods that look at every entry, and how their answer moves.
//!
//! | file | what it is |
//! |---|---|
//! | `condensed.rs` | rows that hold without bounds, taken out beforehand |
//! | `modes.rs` | guess how every block behaves, solve, correct the guess |
//! | `sweep.rs` | one block after another, each solved exactly |
//! | `linear_complementarity.rs` | the problem with polyhedral cones as one linear complementarity problem |
//! | `lemke.rs`, `interior_point.rs` | the two methods for that |
//! | `contact_derivative.rs` | how the impulses of a solved problem move with its numbers |
//! | `smoothing.rs` | complementarity relaxed to a product, for derivatives |

pub(crate) mod condensed;
pub mod contact_derivative;
pub mod interior_point;
pub mod lemke;
pub mod linear_complementarity;
pub mod modes;
pub mod smoothing;
pub mod sweep;
