//! Losses as text: `(a.x - 1)^2 + (a.y - 2)^2`, `mean(energy)`, on the states of a rollout, with their exact gradient.
//!
//! ```text
//! sum     = product (('+' | '-') product)*
//! product = unary (('*' | '/') unary)*
//! unary   = '-' unary | power
//! power   = atom ('^' unary)?
//! atom    = number | 'pi' | energy | function '(' sum ')' | body '.' component | '(' sum ')'
//! ```
//!
//! A body is its name, in quotes where the name is no plain word. Everything is taken at the last state, but within `sum(...)` and
//! `mean(...)`, which run over all states from the first to the last.

mod evaluate;
mod parse;
#[cfg(test)]
mod tests;

pub use evaluate::Slope;
pub use parse::LossError;

use carom::dynamics::Model;
use carom::geometry::Geometry;

/// A number of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Component {
    /// A coordinate that changes as its tangent: positions, and the angle of the plane.
    Pose(usize),
    /// A number of the quaternion: w, x, y, z.
    Quaternion(usize),
    /// A velocity.
    Twist(usize),
}

/// Sums of the whole scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Energy {
    Kinetic,
    Potential,
    Elastic,
    Total,
}

/// What joins two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Power,
}

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Negative,
    Sqrt,
    Abs,
    Sin,
    Cos,
    Exp,
    Log,
}

/// A function of a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Sum,
    Mean,
}

/// A loss or a part of one.
#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Number(f64),
    Body(usize, Component),
    Energy(Energy),
    Apply(Function, Box<Expression>),
    Join(Operator, Box<Expression>, Box<Expression>),
    Run(Span, Box<Expression>),
}

/// A loss that makes sense for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    root: Expression,
}

impl Loss {
    /// Reads a loss.
    ///
    /// # Errors
    /// The column at which it stops making sense, and what could stand there.
    pub fn parse<G: Geometry>(text: &str, model: &Model<G>) -> Result<Self, LossError> {
        let names: Vec<&str> = model.bodies.iter().map(|b| b.name.as_str()).collect();
        parse::parse(text, &names, G::DIM).map(|root| Loss { root })
    }
}
