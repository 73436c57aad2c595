//! Tests over several rooms of the derivative.

mod flight;
mod hub;
mod linkage;
mod patch;
mod workbench;
