//! What can be wrong with a parameter given by name.

use crate::spelling::nearest;
use std::fmt;

/// A parameter that cannot be read or set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// The model has no parameter of this name.
    Unknown {
        /// The name.
        key: String,
        /// The name most like it.
        nearest: Option<String>,
        /// The names there are.
        known: Vec<String>,
    },
    /// An array of the wrong length.
    Length {
        /// The name.
        key: String,
        /// The shape wanted.
        shape: Vec<usize>,
        /// Numbers found.
        found: usize,
    },
    /// A number that cannot be.
    Value {
        /// The name.
        key: String,
        /// Which body, joint or shape.
        row: String,
        /// What was found and what is allowed.
        message: String,
    },
}

impl NameError {
    pub(super) fn unknown(key: &str, known: Vec<String>) -> Self {
        let nearest = nearest(key, &known);
        NameError::Unknown { key: key.to_string(), nearest, known }
    }

    /// The name at fault.
    pub fn key(&self) -> &str {
        match self {
            NameError::Unknown { key, .. } | NameError::Length { key, .. } | NameError::Value { key, .. } => key,
        }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Unknown { key, nearest, known } => {
                write!(f, "no parameter \"{key}\" in this model")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
                    None => write!(f, "; it has {}", known.join(", ")),
                }
            }
            NameError::Length { key, shape, found } => {
                let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
                write!(f, "{key}: found {found} numbers, needs shape ({})", shape.join(", "))
            }
            NameError::Value { key, row, message } if row.is_empty() => write!(f, "{key}: {message}"),
            NameError::Value { key, row, message } => write!(f, "{key}[{row}]: {message}"),
        }
    }
}

impl std::error::Error for NameError {}
