//! Physics of the impact laws: reference data, classics, and random problems.

mod classics;
mod frictional;
mod oracle;
mod random;
mod speed;
mod support;
