//! Why a collision was refused: each variant names the argument.

use std::fmt;

/// An argument of a collision that no law can work with.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CollisionError {
    /// A value that is not a finite number.
    NotFinite {
        /// Name of the argument.
        argument: &'static str,
    },
    /// A coefficient of restitution outside 0..1.
    Restitution {
        /// The value found.
        found: f64,
    },
    /// A negative coefficient of friction.
    Friction {
        /// The value found.
        found: f64,
    },
    /// A tolerance outside the open interval (0, 1).
    Tolerance {
        /// The value found.
        found: f64,
    },
    /// A step of the normal impulse that is not positive, or no steps.
    Step {
        /// The value found.
        found: f64,
    },
    /// A normal that is not of length one.
    Normal {
        /// Its length.
        length: f64,
    },
    /// A mass that is not positive.
    Mass {
        /// Name of the side, `a` or `b`.
        side: &'static str,
        /// The value found \[kg\].
        found: f64,
    },
    /// A moment of inertia that is not symmetric positive definite.
    Inertia {
        /// Name of the side, `a` or `b`.
        side: &'static str,
    },
    /// Both bodies are immovable: no impulse can part them.
    Immovable,
    /// The collision matrix is not positive definite: some impulse, or every impulse without slip, leaves the normal velocity as it is.
    Locked {
        /// The smallest mobility found [1/kg]: an eigenvalue of K, or the normal mobility while the tangents are held.
        mobility: f64,
        /// The mobility it is measured against [1/kg].
        scale: f64,
    },
}

impl fmt::Display for CollisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CollisionError::NotFinite { argument } => write!(f, "{argument} must be finite"),
            CollisionError::Restitution { found } => write!(f, "restitution must lie between 0 and 1, found {found}"),
            CollisionError::Friction { found } => write!(f, "friction must not be negative, found {found}"),
            CollisionError::Tolerance { found } => write!(f, "tolerance must lie between 0 and 1 (both excluded), found {found}"),
            CollisionError::Step { found } => write!(f, "step must be positive and finite, found {found}"),
            CollisionError::Normal { length } => write!(f, "normal must have length 1, found {length}"),
            CollisionError::Mass { side, found } => {
                write!(f, "mass of side {side} must be positive (or none, for an immovable body), found {found}")
            }
            CollisionError::Inertia { side } => write!(f, "inertia of side {side} must be symmetric and positive definite"),
            CollisionError::Immovable => write!(f, "a and b are both immovable: at least one mass must be finite"),
            CollisionError::Locked { mobility, scale } => {
                write!(f, "the collision matrix is not positive definite: mobility {mobility:e} 1/kg against {scale:e} 1/kg")
            }
        }
    }
}

impl std::error::Error for CollisionError {}
