//! The integrators side by side: released chains, free mechanisms, tops, contacts.

mod chain;
mod contact;
mod free;
mod gyroscopic;
mod kernel;
mod stabilisation;
mod top;
