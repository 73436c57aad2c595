//! The three integrators side by side: released chains, free mechanisms, tops, contacts.

mod chain;
mod top;
mod contact;
mod free;
