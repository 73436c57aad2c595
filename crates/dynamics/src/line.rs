//! One row of the step's Jacobian with the response of its two bodies: the atom of stages 2, 4, 5 and 7, theory (2.11).

use crate::constraints::Row;
use crate::island::LocalBody;
use crate::tendon::AlongTendon;
use carom_geometry::Geometry;
use carom_math::{Twist, Wrench};

/// A row J with M^-1 J', between two bodies of an island.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line<G: Geometry> {
    /// Local indexes of a and b.
    pub bodies: [usize; 2],
    /// The row.
    pub row: Row<G>,
    /// What a unit impulse along the row does to a and b: M^-1 J'.
    pub response: [Twist<G>; 2],
    /// The row is that of a tendon; its bodies then are the world, and [`crate::tendon`] knows those that it moves.
    pub tendon: Option<AlongTendon>,
}

impl<G: Geometry> Line<G> {
    /// The row between two bodies, with their inverse masses applied.
    #[inline]
    pub fn new(bodies: [usize; 2], row: Row<G>, masses: &[LocalBody<G>]) -> Self {
        let response = [masses[bodies[0]].response(&row.a), masses[bodies[1]].response(&row.b)];
        Line { bodies, row, response, tendon: None }
    }
    /// The row \[n, r x n\] of a direction at two arms, "a minus b", theory (3.2).
    #[inline]
    pub fn along(bodies: [usize; 2], direction: G::Lin, arms: [G::Lin; 2], masses: &[LocalBody<G>]) -> Self {
        let row = Row { a: Wrench::along(direction, arms[0]), b: Wrench::along(direction, arms[1]).negated() };
        Line::new(bodies, row, masses)
    }
    /// J v.
    #[inline]
    pub fn speed(&self, twists: &[Twist<G>]) -> f64 {
        self.row.speed(&twists[self.bodies[0]], &twists[self.bodies[1]])
    }
    /// Entry J_i M^-1 J_j' between this row and another.
    #[inline]
    pub fn couple(&self, other: &Line<G>) -> f64 {
        let mut sum = 0.0;
        if self.bodies[0] == other.bodies[0] {
            sum += self.row.a.power(&other.response[0]);
        }
        if self.bodies[0] == other.bodies[1] {
            sum += self.row.a.power(&other.response[1]);
        }
        if self.bodies[1] == other.bodies[0] {
            sum += self.row.b.power(&other.response[0]);
        }
        if self.bodies[1] == other.bodies[1] {
            sum += self.row.b.power(&other.response[1]);
        }
        sum
    }
    /// v += M^-1 J' impulse.
    #[inline]
    pub fn push(&self, impulse: f64, twists: &mut [Twist<G>]) {
        for side in 0..2 {
            let body = self.bodies[side];
            twists[body] = twists[body].plus(impulse, self.response[side]);
        }
    }
    /// The part of J v that belongs to kinematic bodies, whose motion feeds or takes energy.
    pub fn driven_speed(&self, bodies: &[LocalBody<G>], twists: &[Twist<G>]) -> f64 {
        let mut sum = 0.0;
        if bodies[self.bodies[0]].kinematic {
            sum += self.row.a.power(&twists[self.bodies[0]]);
        }
        if bodies[self.bodies[1]].kinematic {
            sum += self.row.b.power(&twists[self.bodies[1]]);
        }
        sum
    }
}
