//! Physics of the impact laws: reference data, classics, and random problems.

mod classics;
mod frictional;
mod oracle;
mod random;
mod roads;
mod speed;
pub(crate) mod support;
