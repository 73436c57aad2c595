//! Tests over several rooms of the derivative.

mod linkage;
