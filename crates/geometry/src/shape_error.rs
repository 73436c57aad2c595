//! Why a shape was refused.

use std::fmt;

/// Why a shape was refused; every constructor of a shape returns it instead of building a solid that cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ShapeError {
    /// A length that must be positive is not.
    NotPositive {
        /// The name of the length.
        what: &'static str,
        /// What was given \[m\].
        value: f64,
    },
    /// A number is infinite or not a number.
    NotFinite {
        /// The name of the quantity.
        what: &'static str,
    },
    /// Too few points to span a solid.
    TooFewPoints {
        /// Points given.
        found: usize,
        /// Points needed.
        needed: usize,
    },
    /// The points or the direction given span nothing.
    Degenerate {
        /// What is degenerate.
        what: &'static str,
    },
    /// A list of numbers has another length than the shape asks for.
    WrongCount {
        /// What is counted.
        what: &'static str,
        /// How many were found.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// An index points past the end of a list.
    OutOfRange {
        /// What the index names.
        what: &'static str,
        /// The index given.
        index: usize,
        /// The length of the list.
        len: usize,
    },
    /// More parts than a shape may have.
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many were found.
        found: usize,
        /// How many are allowed.
        allowed: usize,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::NotPositive { what, value } => write!(f, "{what} must be positive, found {value}"),
            ShapeError::NotFinite { what } => write!(f, "{what} must be finite"),
            ShapeError::TooFewPoints { found, needed } => write!(f, "found {found} points, at least {needed} are needed"),
            ShapeError::Degenerate { what } => write!(f, "{what} is degenerate"),
            ShapeError::WrongCount { what, found, needed } => write!(f, "found {found} {what}, {needed} are needed"),
            ShapeError::OutOfRange { what, index, len } => write!(f, "{what} {index} is out of range, there are {len}"),
            ShapeError::TooMany { what, found, allowed } => write!(f, "{found} {what}, at most {allowed} are allowed"),
        }
    }
}

impl std::error::Error for ShapeError {}
