//! Tests over several rooms of the derivative.

mod flight;
mod linkage;
mod workbench;
