//! Why a run of steps could not be recorded or differentiated.

use super::*;

/// Why a rollout has no derivative.
#[derive(Clone, Debug, PartialEq)]
pub enum GradientError {
    /// It was made without a tape.
    NoTape,
    /// A choice of the scene has no derivative.
    Choice {
        /// Its key.
        key: &'static str,
        /// Its value.
        value: &'static str,
        /// What has one.
        instead: &'static str,
    },
    /// An array has the wrong length.
    Length {
        /// Which.
        what: &'static str,
        /// Numbers found.
        found: usize,
        /// Numbers wanted.
        wanted: usize,
    },
    /// The product of smoothed complementarity is not a positive number.
    Kappa(f64),
    /// A number is not finite.
    NotFinite {
        /// Which array.
        what: &'static str,
    },
    /// A step between checkpoints failed when it was taken again.
    Step(StepError),
    /// The caller asked to stop.
    Stopped,
}

impl std::fmt::Display for GradientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GradientError::NoTape => f.write_str("the rollout was made without a tape and cannot be differentiated"),
            GradientError::Choice { key, value, instead } => {
                write!(f, "{key} = \"{value}\" has no derivative; use {instead}")
            }
            GradientError::Length { what, found, wanted } => write!(f, "{what}: found {found} numbers, needs {wanted}"),
            GradientError::Kappa(found) => write!(f, "kappa = {found}: needs a number above 0 [J]"),
            GradientError::NotFinite { what } => write!(f, "{what}: needs finite numbers"),
            GradientError::Step(error) => write!(f, "a step between checkpoints failed when it was repeated: {error}"),
            GradientError::Stopped => f.write_str("stopped by the caller"),
        }
    }
}

impl GradientError {
    /// A step that failed, or that was given up.
    pub(super) fn of_step(error: StepError) -> Self {
        if error.cause == Cause::Stopped { GradientError::Stopped } else { GradientError::Step(error) }
    }
}

impl std::error::Error for GradientError {}
