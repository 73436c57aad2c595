//! Mechanisms: every embedded one at large steps, closed loops, a walk, and how large a step may be.

mod big_steps;
mod chains;
mod clock;
mod closed;
mod lab;
mod loops;
mod walk;
