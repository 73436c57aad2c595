//! What a loss asks of contacts: the impulse that bodies get from others along given directions, as one slot of the step, theory (17.53).

use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::schedule::program::{Block, Program};
use carom_geometry::Geometry;
use carom_math::Vector;

/// Bodies of the model whose contacts are looked at: what the first gets from the second, or from all others.
pub type Pair = (usize, Option<usize>);

/// The sum of impulses that are asked for, each along its direction.
#[derive(Clone, Debug)]
pub(crate) struct Sensor<G: Geometry> {
    /// Its slot.
    pub out: Block,
    /// Who is asked, and along what.
    pub asked: Vec<(Pair, G::Lin)>,
}

/// What a contact of two bodies adds to an impulse that is asked for: 1 where it pushes the first of them, -1 where it pushes the second.
pub(crate) fn share([a, b]: [usize; 2], (on, by): Pair) -> f64 {
    match by {
        _ if on == a && by.is_none_or(|by| by == b) => 1.0,
        _ if on == b && by.is_none_or(|by| by == a) => -1.0,
        _ => 0.0,
    }
}

impl<G: Geometry> Sensor<G> {
    /// The direction along which the impulse of a contact counts; none where nobody asks.
    fn direction(&self, bodies: [usize; 2]) -> Option<G::Lin> {
        let sum = self.asked.iter().fold(G::Lin::zero(), |sum, (pair, along)| sum + *along * share(bodies, *pair));
        (sum != G::Lin::zero()).then_some(sum)
    }
}

/// The impulses of a contact turn with it.
pub(crate) fn turned<G: Geometry>(program: &mut Program<G>, point: &ContactPoint<G>, bodies: [usize; 2], impulses: &[f64; 3]) {
    let Some((out, along)) = program.sensor.as_ref().and_then(|sensor| Some((sensor.out, sensor.direction(bodies)?))) else { return };
    let turning = point.impulse_turning(impulses);
    let mut row = [0.0; 3];
    (0..G::DIM).for_each(|i| row[i] = along.dot(turning[i]));
    program.matrix(out, point.block.part(0, G::DIM), &row[..G::DIM]);
}

/// The impulse along one of its rows (0 is the normal) changes by a slot.
pub(crate) fn changed<G: Geometry>(program: &mut Program<G>, point: &ContactPoint<G>, bodies: [usize; 2], row: usize, by: Block) {
    let Some((out, along)) = program.sensor.as_ref().and_then(|sensor| Some((sensor.out, sensor.direction(bodies)?))) else { return };
    let direction = if row == 0 { point.contact.normal } else { point.tangents()[row - 1] };
    program.scaled(out, by, along.dot(direction));
}
