//! Complementarity problems, collisions and simultaneous impacts: matrices in, multipliers out. Knows neither shapes nor bodies.

pub mod bordered;
pub mod collision;
pub mod column_nnls;
pub mod consistent;
pub mod contact;
pub mod contact_derivative;
pub mod contact_solver;
pub mod dense;
pub mod dynamics;
pub mod impact;
pub mod interior_point;
pub mod interrupt;
pub mod lemke;
pub mod lineality;
pub mod linear_complementarity;
pub mod linear_program;
pub mod modes;
pub mod nnls;
pub mod problem;
pub mod smoothing;
pub mod sparse_cholesky;
pub mod sparse_nnls;
pub mod splitting;
pub mod status;
pub mod sweep;
pub mod sweep_nnls;
