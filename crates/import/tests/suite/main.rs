//! Models as they are read and refused.

mod attacks;
mod golden;
mod meaning;
mod mutations;
mod sdf;
mod starts;
mod worlds;
