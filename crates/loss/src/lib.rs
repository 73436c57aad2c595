//! Losses as text: `(a.x - 1)^2 + (a.y - 2)^2`, `mean(energy)`, on the states of a rollout, with their exact gradient.
//!
//! ```text
//! sum     = product (('+' | '-') product)*
//! product = unary (('*' | '/') unary)*
//! unary   = '-' unary | power
//! power   = atom ('^' unary)?
//! atom    = number | 'pi' | energy | function '(' sum ')' | body '.' component | body '.' 'at' '(' x ',' y ',' z ')' '.' component
//!         | joint '.' ('position' | 'rate') | '(' sum ')'
//! ```
//!
//! A body or a joint is its name, in quotes where the name is no plain word. `hand.at(0.1, 0, 0).x` is a point of the body, given in its own frame from its
//! centre of mass. `elbow.position` is the free coordinate of a joint that has one, `elbow.rate` its rate. Everything is taken at the last state, but within `sum(...)` and
//! `mean(...)`, which run over all states from the first to the last.

mod evaluate;
mod parse;
mod place;
#[cfg(test)]
mod tests;

pub use evaluate::Slope;
pub use parse::LossError;

use carom::dynamics::Model;
use carom::geometry::Geometry;
use place::Place;

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
    Place(Place),
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
        let bodies: Vec<&str> = model.bodies.iter().map(|b| b.name.as_str()).collect();
        let joints: Vec<(&str, bool)> = model.joints.iter().map(|j| (j.name.as_str(), j.has_coordinate())).collect();
        parse::parse(text, &bodies, &joints, G::DIM).map(|root| Loss { root })
    }
}
