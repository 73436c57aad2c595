//! Closed forms: each test measures the engine against a formula on paper.

mod drag;
mod rebound;
mod rolling;
mod screw;
mod slip;
mod top;
