//! Derivatives of the step against central differences, closed forms and the transpose identity.

mod names;
mod situations;
