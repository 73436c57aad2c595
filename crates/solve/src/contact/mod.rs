//! Contact at any size: laws, sparse systems, and the methods that solve them together; theory chapter 4.
//!
//! | file | what it is |
//! |---|---|
//! | `law.rs`, `law/` | what an impulse may be and what it must do, one law a file |
//! | `system.rs` | how velocities answer impulses; `bodies.rs` by rows over bodies, `given.rs` by a matrix |
//! | `problem_file.rs` | problems kept for later |
//! | `task.rs` | the problem, its residual, the work that is left |
//! | `proximal.rs` | Newton's method near the last impulses |
//! | `barrier.rs` | the interior point, for cold starts |
//! | `trace.rs` | the path of smoothed problems, around its folds |
//! | `sweeps.rs` | one law after another |
//! | `derivative.rs` | how the impulses of a solved problem move with its numbers |
//! | `solver.rs` | which of them is tried when |
//! | `chain.rs`, `dense/`, `problem.rs`, `one_contact.rs` | small problems on their dense matrix, exact to rounding; linear complementarity |

pub mod barrier;
pub mod bodies;
pub mod chain;
pub mod dense;
pub mod derivative;
pub mod given;
pub mod law;
pub mod one_contact;
pub mod problem;
pub mod problem_file;
pub mod proximal;
pub mod solver;
pub mod sweeps;
pub mod system;
pub mod task;
pub mod trace;
