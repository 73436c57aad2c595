//! What a joint does as the rows of a matrix: its vectors are found once for all of them, and hinges and balls have closed forms.

use super::{Does, JointMap};
use crate::constraints::{JointFunction, JointGradient, MAX_COLUMNS, MAX_ROWS, Pinned, PinnedGradient};
use crate::gradient::program::{Block, Wiring};
use crate::gradient::slots::twist;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Entries by the poses of two bodies.
fn add_sides<G: Geometry>(wiring: &mut Wiring, blocks: &[Option<Block>; 2], sides: &[Wrench<G>; 2]) {
    for (block, side) in blocks.iter().zip(sides) {
        wiring.add(block.map(|block| block.part(0, G::DIM)), side.lin.as_slice());
        wiring.add(block.map(|block| block.part(G::DIM, G::ANG)), side.ang.as_slice());
    }
}

/// Entries by their turns alone.
fn add_turns<G: Geometry>(wiring: &mut Wiring, blocks: &[Option<Block>; 2], turns: &[G::Ang; 2]) {
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

impl<G: Geometry> JointMap<G> {
    /// Writes the rows of its matrix: each slot that it adds to, with the slots that it reads and the numbers before them.
    pub fn write_rows(&self, model: &Model<G>, wiring: &mut Wiring) {
        let pinned = self.function == JointFunction::Equalities && self.parameters.is_none() && model.joints[self.joint].is_pinned();
        if pinned { self.write_pinned(model, wiring) } else { self.write_any(model, wiring) }
    }

    fn write_any(&self, model: &Model<G>, wiring: &mut Wiring) {
        let joint = &model.joints[self.joint];
        let place = joint.placed(&self.poses[0], &self.poses[1]);
        // Angles turn with the rates of the bodies alone.
        let angular = joint.is_angular() && matches!(self.function, JointFunction::Coordinate | JointFunction::Inequality(_));
        let add = |wiring: &mut Wiring, gradient: &JointGradient<G>| {
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

    /// Equalities of a hinge or a ball: nothing second-order but turns.
    fn write_pinned(&self, model: &Model<G>, wiring: &mut Wiring) {
        let joint = &model.joints[self.joint];
        let pin = Pinned::<G>::new(joint, &G::matrix(self.poses[0].rotation), &G::matrix(self.poses[1].rotation));
        let rows = joint.row_count();
        let turns = |y: &[f64], twists: &[Twist<G>; 2]| {
            let mut gradient = PinnedGradient::zero();
            pin.add_power(&y[..rows], twists, &mut gradient);
            pin.by_turns(&gradient)
        };
        let weighted = |k: usize, weight: f64| {
            let found = pin.row(k);
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
