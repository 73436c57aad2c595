//! Losses as text: `(a.x - 1)^2 + (a.y - 2)^2`, `mean(energy)`, on the states of a rollout, with their exact gradient.
//!
//! ```text
//! sum     = product (('+' | '-') product)*
//! product = unary (('*' | '/') unary)*
//! unary   = '-' unary | power
//! power   = atom ('^' unary)?
//! atom    = number | 'pi' | 'time' | energy | function '(' sum ')' | body '.' component | body '.' 'at' '(' x ',' y ',' z ')' '.' component
//!         | body '.' 'contact' ('(' body ')')? '.' ('fx' | 'fy' | 'fz') | joint '.' ('position' | 'rate') | '(' sum ')'
//! ```
//!
//! A body or a joint is its name, in quotes where the name is no plain word. `hand.at(0.1, 0, 0).x` is a point of the body, given in its own frame from its
//! centre of mass; a named point of the scene has the same components by its name. `elbow.position` is the free coordinate of a joint that has one, `elbow.rate` its rate. `foot.contact.fz` is the force of contacts on a body in the step
//! that led to a state \[N\], impacts among it, 0 at the first state; `foot.contact(ground).fz` that from one other body. `time` is that of the state \[s\], for what is to
//! follow a path. Everything is taken at the last state, but within `sum(...)` and `mean(...)`, which run over all states from the first to the last.

mod evaluate;
mod forces;
mod parse;
mod place;
#[cfg(test)]
mod tests;

pub use evaluate::Slope;
pub use forces::Forces;
pub use parse::LossError;

use carom::dynamics::Model;
use carom::dynamics::gradient::Pair;
use carom::geometry::Geometry;
use carom::math::Vector;
use carom::scene::NamedPoint;
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
    /// The time of the state \[s\].
    Time,
    Body(usize, Component),
    Place(Place),
    Energy(Energy),
    /// A component of a force of contacts, by its pair.
    Force(usize, usize),
    Apply(Function, Box<Expression>),
    Join(Operator, Box<Expression>, Box<Expression>),
    Run(Span, Box<Expression>),
}

/// A loss that makes sense for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    root: Expression,
    /// Whose forces of contacts it reads, and from whom.
    pairs: Vec<Pair>,
}

impl Loss {
    /// Reads a loss.
    ///
    /// # Errors
    /// The column at which it stops making sense, and what could stand there.
    pub fn parse<G: Geometry>(text: &str, model: &Model<G>) -> Result<Self, LossError> {
        Self::parse_among(text, model, &[])
    }

    /// Reads a loss that may name points of the scene.
    ///
    /// # Errors
    /// The column at which it stops making sense, and what could stand there.
    pub fn parse_among<G: Geometry>(text: &str, model: &Model<G>, points: &[NamedPoint<G>]) -> Result<Self, LossError> {
        let bodies: Vec<&str> = model.bodies.iter().map(|b| b.name.as_str()).collect();
        let joints: Vec<(&str, bool)> = model.joints.iter().map(|j| (j.name.as_str(), j.has_coordinate())).collect();
        let place = |point: &NamedPoint<G>| {
            let mut at = [0.0; 3];
            at[..G::DIM].copy_from_slice(point.at.as_slice());
            // What stands on the world does not move with any state.
            Some((point.name.clone(), bodies.iter().position(|body| *body == point.body)?, at))
        };
        let points: Vec<(String, usize, [f64; 3])> = points.iter().filter_map(place).collect();
        let known = parse::Known { bodies: &bodies, joints: &joints, points: &points, dimension: G::DIM };
        parse::parse(text, known).map(|(root, pairs)| Loss { root, pairs })
    }
}
