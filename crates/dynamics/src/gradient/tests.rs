//! Tests over several stages of the derivative.

mod flight;
mod hub;
mod linkage;
mod patch;
mod workbench;
