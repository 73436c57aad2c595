//! Complementarity problems, collisions and simultaneous impacts: matrices in, multipliers out. Knows neither shapes nor bodies.

pub mod collision;
pub mod contact;
pub mod impact;
pub mod interrupt;
pub mod status;
