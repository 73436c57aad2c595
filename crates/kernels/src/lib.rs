//! Kernels on plain arrays, for those who bring their own matrices: what the Python package offers as functions.
//!
//! Arrays in and arrays out, each checked first: a contact problem with its derivative, simultaneous impacts, one velocity step of the dynamics
//! problem with its adjoint. The methods are those of `carom-solve`. Equations cited as (n.m) stand in `docs/theory.md`.

pub mod contact;
pub mod dynamics;
pub mod impact;
