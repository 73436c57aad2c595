//! Derivatives of a solved contact problem: how its blocks behave, and how its impulses move with the numbers of the problem.
//!
//! While no block changes its behaviour the impulses solve a linear system (theory (16.1)), smooth in the matrix, the free velocity, the
//! coefficients of friction and the bounds. [`classify`] reads the behaviour off the impulses, whichever method found them.

mod mode;

pub use mode::{Across, Mode, WEAK, Weak, classify};
