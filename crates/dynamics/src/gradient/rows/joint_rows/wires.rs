//! What a joint does as the rows of a matrix: its vectors are found once for all of them, and hinges, balls and angles have closed forms.

use super::{Does, JointMap};
use crate::constraints::{Joint, JointFunction, JointGradient, MAX_COLUMNS, MAX_ROWS, Pinned, PinnedGradient, Row};
use crate::gradient::schedule::program::{Block, Wiring};
use crate::gradient::slots::twist;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};

/// Entries by the poses of two bodies.
fn add_sides<G: Geometry>(wiring: &mut Wiring<G>, blocks: &[Option<Block>; 2], sides: &[Wrench<G>; 2]) {
    for (block, side) in blocks.iter().zip(sides) {
        wiring.add(block.map(|block| block.part(0, G::DIM)), side.lin.as_slice());
        wiring.add(block.map(|block| block.part(G::DIM, G::ANG)), side.ang.as_slice());
    }
}

/// Entries by their turns alone.
fn add_turns<G: Geometry>(wiring: &mut Wiring<G>, blocks: &[Option<Block>; 2], turns: &[G::Ang; 2]) {
    for (block, turn) in blocks.iter().zip(turns) {
        wiring.add(block.map(|block| block.part(G::DIM, G::ANG)), turn.as_slice());
    }
}

/// The twist of one body that moves by one component.
fn unit_twist<G: Geometry>(side: usize, k: usize) -> [Twist<G>; 2] {
    let mut numbers = [0.0; 6];
    numbers[k] = 1.0;
    let mut twists = [Twist::zero(); 2];
    twists[side] = twist::<G>(&numbers);
    twists
}

/// The row of an angle at a pose, and how it turns: the gradients with respect to the turns of both bodies of its covector, component by component.
#[derive(Clone, Copy, Debug)]
struct Turned<G: Geometry> {
    covector: G::Ang,
    bent: [[G::Ang; 2]; 3],
}

/// Angles of joints at poses: the joint, the poses, the row.
#[derive(Debug)]
pub(crate) struct Angles<G: Geometry> {
    known: Vec<(usize, [Pose<G>; 2], Turned<G>)>,
    /// Those of a joint: at the start and at the end of a substep, mostly.
    latest: usize,
}

impl<G: Geometry> Default for Angles<G> {
    fn default() -> Self {
        Angles { known: Vec::new(), latest: 0 }
    }
}

impl<G: Geometry> Angles<G> {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.known.clear();
    }

    /// The row of a joint's angle, found once at each pose.
    fn of(&mut self, (joint, index): (&Joint<G>, usize), poses: &[Pose<G>; 2]) -> Turned<G> {
        let count = self.known.len();
        for step in 0..count {
            // Joints come in one order.
            let at = (self.latest + step) % count;
            if self.known[at].0 == index && self.known[at].1 == *poses {
                self.latest = at + 1;
                return self.known[at].2;
            }
        }
        let found = Turned::of(joint, poses);
        self.known.push((index, *poses, found));
        self.latest = count + 1;
        found
    }
}

impl<G: Geometry> Turned<G> {
    fn of(joint: &Joint<G>, [a, b]: &[Pose<G>; 2]) -> Self {
        let mut bent = [[G::Ang::zero(); 2]; 3];
        if G::ANG > 1 {
            let place = joint.placed(a, b);
            for (k, bent) in bent.iter_mut().enumerate() {
                let gradient = place.power_gradient(JointFunction::Coordinate, &[1.0], &unit_twist(0, G::DIM + k));
                *bent = gradient.bodies.map(|side| side.ang);
            }
        }
        Turned { covector: joint.coordinate_row(a, b).a.ang, bent }
    }

    /// Adds the gradient of its power with a rate of a against b.
    fn add(&self, rate: G::Ang, out: &mut [G::Ang; 2]) {
        for (k, bent) in self.bent[..G::ANG].iter().enumerate() {
            out.iter_mut().zip(bent).for_each(|(out, bent)| *out += *bent * rate[k]);
        }
    }
}

impl<G: Geometry> JointMap<G> {
    /// Writes the rows of its matrix: each slot that it adds to, with the slots that it reads and the numbers before them.
    pub fn write_rows(&self, model: &Model<G>, wiring: &mut Wiring<G>) {
        let joint = &model.joints[self.joint];
        let angle = joint.is_angular() && !joint.kind.counts_turns();
        let closed = match self.function {
            _ if self.parameters.is_some() => None,
            JointFunction::Equalities if joint.is_pinned() => Some(1.0),
            JointFunction::Coordinate | JointFunction::Inequality(0) if angle => Some(1.0),
            JointFunction::Inequality(_) if angle => Some(-1.0),
            _ => None,
        };
        match closed {
            Some(sign) => self.write_closed(joint, sign, wiring),
            None => self.write_any(model, wiring),
        }
    }

    fn write_any(&self, model: &Model<G>, wiring: &mut Wiring<G>) {
        let joint = &model.joints[self.joint];
        let place = joint.placed(&self.poses[0], &self.poses[1]);
        // Angles turn with the rates of the bodies alone.
        let angular = joint.is_angular() && matches!(self.function, JointFunction::Coordinate | JointFunction::Inequality(_));
        let add = |wiring: &mut Wiring<G>, gradient: &JointGradient<G>| {
            add_sides::<G>(wiring, &self.blocks, &gradient.bodies);
            if let Some(block) = self.parameters {
                let mut values = [0.0; MAX_COLUMNS];
                gradient.write_parameters(joint, &mut values[..block.len()]);
                wiring.add(self.parameters, &values[..block.len()]);
            }
        };
        match &self.does {
            Does::Impulse { weights, out } => {
                for side in 0..2 {
                    let slots = out[side].into_iter().flat_map(Block::range).enumerate();
                    for (k, slot) in slots.skip(if angular { G::DIM } else { 0 }) {
                        add(wiring, &place.power_gradient(self.function, weights, &unit_twist(side, k)));
                        wiring.end_row(slot);
                    }
                }
            }
            Does::Value { weight, out } => {
                for (k, slot) in out.range().enumerate() {
                    add(wiring, &place.value_gradient(self.function, &self.unit(k, *weight)));
                    wiring.end_row(slot);
                }
            }
            Does::Rate { weight, out, twists, velocity } => {
                for (k, slot) in out.range().enumerate() {
                    let y = self.unit(k, *weight);
                    add(wiring, &place.power_gradient(self.function, &y, twists));
                    add_sides::<G>(wiring, velocity, &place.value_gradient(self.function, &y).bodies);
                    wiring.end_row(slot);
                }
            }
        }
    }

    /// Equalities of a hinge or a ball, the row of a rotor behind them, or an angle alone: nothing second-order but turns.
    fn write_closed(&self, joint: &Joint<G>, sign: f64, wiring: &mut Wiring<G>) {
        let pinned = self.function == JointFunction::Equalities;
        let pin = pinned.then(|| Pinned::<G>::new(joint, &G::matrix(self.poses[0].rotation), &G::matrix(self.poses[1].rotation)));
        let rows = if pinned { joint.row_count() } else { 0 };
        let angle = (!pinned || joint.has_rotor()).then(|| wiring.angles.of((joint, self.joint), &self.poses));
        let turns = |y: &[f64], twists: &[Twist<G>; 2]| {
            let mut out = [G::Ang::zero(); 2];
            if let Some(pin) = &pin {
                let mut gradient = PinnedGradient::zero();
                pin.add_power(&y[..rows], twists, &mut gradient);
                out = pin.by_turns(&gradient);
            }
            if let Some(angle) = &angle {
                angle.add((twists[0].ang - twists[1].ang) * (sign * y[rows]), &mut out);
            }
            out
        };
        let weighted = |k: usize, weight: f64| {
            let found = match (&pin, &angle) {
                (Some(pin), _) if k < rows => pin.row(k),
                (_, Some(angle)) => Row::turning(angle.covector * sign),
                _ => Row::zero(),
            };
            [found.a, found.b].map(|side| Wrench::zero().plus(weight, side))
        };
        match &self.does {
            Does::Impulse { weights, out } => {
                for side in 0..2 {
                    // Forces stay; torques turn.
                    for (k, slot) in out[side].into_iter().flat_map(Block::range).enumerate().skip(G::DIM) {
                        add_turns::<G>(wiring, &self.blocks, &turns(weights, &unit_twist(side, k)));
                        wiring.end_row(slot);
                    }
                }
            }
            Does::Value { weight, out } => {
                for (k, slot) in out.range().enumerate() {
                    add_sides::<G>(wiring, &self.blocks, &weighted(self.row.unwrap_or(0) + k, *weight));
                    wiring.end_row(slot);
                }
            }
            Does::Rate { weight, out, twists, velocity } => {
                for (k, slot) in out.range().enumerate() {
                    add_turns::<G>(wiring, &self.blocks, &turns(&self.unit(k, *weight), twists));
                    add_sides::<G>(wiring, velocity, &weighted(self.row.unwrap_or(0) + k, *weight));
                    wiring.end_row(slot);
                }
            }
        }
    }

    /// The weights that pick one of its functions.
    fn unit(&self, k: usize, weight: f64) -> [f64; MAX_ROWS] {
        let mut y = [0.0; MAX_ROWS];
        y[self.row.unwrap_or(0) + k] = weight;
        y
    }
}
