//! The laws that impulses obey together with velocities, each in a file of its own behind one trait.
//!
//! A method of this folder knows a law only by its trait: where its impulses may lie, by how much a pair misses it, how it is smoothed, how it
//! is solved alone. A law has one to six rows.

mod bounded;
mod equality;
mod interior;
mod pyramid;
mod rolling;
mod round;
mod unilateral;

pub use bounded::Bounded;
pub use equality::Equality;
pub use interior::{Interior, Stage};
pub use pyramid::Pyramid;
pub use rolling::Rolling;
pub use round::Round;
pub use unilateral::Unilateral;

use super::problem::{Block, Cone};
use super::trace::{Smoothed, Smoothing};

/// Most rows of a law.
pub const WIDEST: usize = 6;

/// What a block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No impulse, or one that rests on a bound.
    Open,
    /// Every row is held.
    Held,
    /// The normal is held and friction is at its limit.
    Slide,
}

/// A change of the numbers of one law, or a cotangent of them; 0 where a law has no such number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LawChange {
    /// Of the coefficient of friction.
    pub friction: f64,
    /// Of the lower bound.
    pub lower: f64,
    /// Of the upper bound.
    pub upper: f64,
    /// Of the greatest rolling impulse over the normal one.
    pub rolling: f64,
    /// Of the greatest spinning impulse over the normal one.
    pub torsional: f64,
}

impl LawChange {
    /// Sum of the products.
    pub fn dot(&self, other: &LawChange) -> f64 {
        let moments = self.rolling * other.rolling + self.torsional * other.torsional;
        self.friction * other.friction + self.lower * other.lower + self.upper * other.upper + moments
    }

    /// Adds a multiple of another one.
    pub fn add(&mut self, factor: f64, other: &LawChange) {
        self.friction += factor * other.friction;
        self.lower += factor * other.lower;
        self.upper += factor * other.upper;
        self.rolling += factor * other.rolling;
        self.torsional += factor * other.torsional;
    }
}

/// A law between the impulses l of a block and its velocities w, theory (4.3)-(4.6).
pub trait ContactLaw {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Takes z = l - rho w to the impulses R(z) that the law admits, so that l = R(l - rho w) says the law; theory (4.30). The derivative of R goes
    /// into `slope`, by rows. What it does tells the mode.
    fn project(&self, z: &mut [f64], slope: Option<&mut [f64]>) -> Mode;

    /// How R(z) moves with the numbers of the law at a fixed z, theory (16.27): one for each row.
    fn by_numbers(&self, z: &[f64], out: &mut [LawChange]);

    /// By how much impulses and velocities miss the law, as a velocity; `diagonal` is how each row answers its own impulse, theory (4.7).
    fn miss(&self, diagonal: &[f64], l: &[f64], w: &[f64]) -> f64;

    /// Whether velocities w obey the law without an impulse.
    fn idle(&self, w: &[f64]) -> bool;

    /// The impulses of the block alone, for velocities `free` without them and its own matrix by rows; l holds a guess and takes the result.
    fn solve_alone(&self, own: &[f64], free: &[f64], l: &mut [f64]);

    /// Whether its smoothed form is one of its own; where it is not, sweeps begin what the interior point would.
    fn smooths(&self) -> bool {
        true
    }

    /// Begins the smoothed form strictly inside its bounds, near l and w where they are given: the impulses are pushed in by `push` (as a velocity),
    /// theory (4.34).
    fn enter(&self, mean: f64, scale: f64, warm: Option<(&[f64], &[f64])>, push: f64, state: &mut Interior);

    /// Linearises the smoothed form at velocities w: the slope D of dl = g - D dw, by rows.
    fn linearise(&self, w: &[f64], lagged: bool, state: &mut Interior, slope: &mut [f64]);

    /// g of dl = g - D dw for a stage of the iteration.
    fn right(&self, stage: Stage, state: &mut Interior, g: &mut [f64]);

    /// Takes the change of the velocities to the change of the inner variables.
    fn respond(&self, dw: &[f64], state: &mut Interior);

    /// Largest part of the step at hand that stays inside the bounds.
    fn reach(&self, state: &Interior) -> f64;

    /// The impulses of the inner variables.
    fn impulses(&self, state: &Interior, l: &mut [f64]);

    /// Impulses in the middle of what the law admits, where bounds leave room for impulses of the size given.
    fn centre(&self, size: f64, l: &mut [f64]);

    /// The law smoothed by products and roundings, linearised at impulses l and velocities w, theory (4.20)-(4.22).
    fn smooth(&self, by: Smoothing, l: &[f64], w: &[f64], out: &mut Smoothed);

    /// Largest part of a step that keeps the impulses strictly inside their bounds.
    fn room(&self, l: &[f64], dl: &[f64]) -> f64;

    /// The sizes against which changes of the impulses are measured; those given where there is no better one.
    fn sizes(&self, l: &[f64], sizes: &mut [f64]);
}

/// One of the laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Contact with the round cone of Coulomb.
    Round(Round),
    /// Contact with a pyramid.
    Pyramid(Pyramid),
    /// Contact that also resists rolling and spinning.
    Rolling(Rolling),
    /// Push, never pull.
    Unilateral(Unilateral),
    /// Impulse between two bounds.
    Bounded(Bounded),
    /// Velocity zero whatever the impulse.
    Equality(Equality),
}

impl Law {
    /// The law of a block of a problem in the plane (one tangent) or in space (two).
    pub fn of(block: &Block, cone: Cone, tangents: usize) -> Self {
        match (*block, cone) {
            (Block::Contact { friction }, Cone::Polyhedral(edges)) if tangents == 2 => Law::Pyramid(Pyramid { friction, edges }),
            (Block::Contact { friction }, _) => Law::Round(Round { friction, tangents }),
            (Block::Unilateral, _) => Law::Unilateral(Unilateral),
            (Block::Bounded { lower, upper }, _) => Law::Bounded(Bounded { lower, upper }),
        }
    }
}

/// What a solve asks every law many times: contacts, which are most of what there is, answer without a detour.
impl Law {
    /// See [`ContactLaw::project`].
    #[inline(always)]
    pub fn project(&self, z: &mut [f64], slope: Option<&mut [f64]>) -> Mode {
        if let Law::Round(law) = self { law.project(z, slope) } else { (**self).project(z, slope) }
    }

    /// See [`ContactLaw::miss`].
    #[inline]
    pub fn miss(&self, diagonal: &[f64], l: &[f64], w: &[f64]) -> f64 {
        if let Law::Round(law) = self { law.miss(diagonal, l, w) } else { (**self).miss(diagonal, l, w) }
    }

    /// See [`ContactLaw::linearise`].
    #[inline]
    pub fn linearise(&self, w: &[f64], lagged: bool, state: &mut Interior, slope: &mut [f64]) {
        if let Law::Round(law) = self { law.linearise(w, lagged, state, slope) } else { (**self).linearise(w, lagged, state, slope) }
    }

    /// See [`ContactLaw::right`].
    #[inline]
    pub fn right(&self, stage: Stage, state: &mut Interior, g: &mut [f64]) {
        if let Law::Round(law) = self { law.right(stage, state, g) } else { (**self).right(stage, state, g) }
    }

    /// See [`ContactLaw::respond`].
    #[inline]
    pub fn respond(&self, dw: &[f64], state: &mut Interior) {
        if let Law::Round(law) = self { law.respond(dw, state) } else { (**self).respond(dw, state) }
    }

    /// See [`ContactLaw::reach`].
    #[inline]
    pub fn reach(&self, state: &Interior) -> f64 {
        if let Law::Round(law) = self { law.reach(state) } else { (**self).reach(state) }
    }
}

impl std::ops::Deref for Law {
    type Target = dyn ContactLaw;

    fn deref(&self) -> &Self::Target {
        match self {
            Law::Round(law) => law,
            Law::Pyramid(law) => law,
            Law::Rolling(law) => law,
            Law::Unilateral(law) => law,
            Law::Bounded(law) => law,
            Law::Equality(law) => law,
        }
    }
}
