//! Closed forms: each test measures the engine against a formula on paper.

mod drag;
mod rebound;
mod rolling;
mod slip;
mod top;
