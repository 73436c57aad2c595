//! What a joint does as the rows of a matrix: its vectors are found once for all of them, and hinges and balls have closed forms.

use super::{Does, JointMap};
use crate::constraints::{JointFunction, JointGradient, MAX_COLUMNS, MAX_POSE_COLUMNS, MAX_ROWS, Pinned, PinnedGradient};
use crate::gradient::program::Block;
use crate::gradient::slots::twist;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Most entries of a row: poses, parameters, velocities.
const MOST: usize = MAX_COLUMNS + MAX_POSE_COLUMNS;

/// The entries of a row: slots and numbers.
struct Entries {
    list: [(usize, f64); MOST],
    count: usize,
}

impl Entries {
    fn new() -> Self {
        Entries { list: [(0, 0.0); MOST], count: 0 }
    }
    fn add(&mut self, block: Option<Block>, numbers: &[f64]) {
        for (slot, value) in block.into_iter().flat_map(Block::range).zip(numbers) {
            self.list[self.count] = (slot, *value);
            self.count += 1;
        }
    }
    fn add_sides<G: Geometry>(&mut self, blocks: &[Option<Block>; 2], sides: &[Wrench<G>; 2]) {
        for (block, side) in blocks.iter().zip(sides) {
            self.add(block.map(|block| block.part(0, G::DIM)), side.lin.as_slice());
            self.add(block.map(|block| block.part(G::DIM, G::ANG)), side.ang.as_slice());
        }
    }
    fn add_turns<G: Geometry>(&mut self, blocks: &[Option<Block>; 2], turns: &[G::Ang; 2]) {
        for (block, turn) in blocks.iter().zip(turns) {
            self.add(block.map(|block| block.part(G::DIM, G::ANG)), turn.as_slice());
        }
    }
    fn get(&self) -> &[(usize, f64)] {
        &self.list[..self.count]
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
    /// The rows of its matrix: each slot that it adds to, with the slots that it reads and the numbers before them.
    pub fn write_rows(&self, model: &Model<G>, row: impl FnMut(usize, &[(usize, f64)])) {
        let pinned = self.function == JointFunction::Equalities && self.parameters.is_none() && model.joints[self.joint].is_pinned();
        if pinned { self.write_pinned(model, row) } else { self.write_any(model, row) }
    }

    fn write_any(&self, model: &Model<G>, mut row: impl FnMut(usize, &[(usize, f64)])) {
        let joint = &model.joints[self.joint];
        let place = joint.placed(&self.poses[0], &self.poses[1]);
        let entries = |gradient: &JointGradient<G>| {
            let mut out = Entries::new();
            out.add_sides::<G>(&self.blocks, &gradient.bodies);
            if let Some(block) = self.parameters {
                let mut values = [0.0; MAX_COLUMNS];
                gradient.write_parameters(joint, &mut values[..block.len()]);
                out.add(self.parameters, &values[..block.len()]);
            }
            out
        };
        match &self.does {
            Does::Impulse { weights, out } => {
                for side in 0..2 {
                    for (k, slot) in out[side].into_iter().flat_map(Block::range).enumerate() {
                        row(slot, entries(&place.power_gradient(self.function, weights, &unit_twist(side, k))).get());
                    }
                }
            }
            Does::Value { weight, out } => {
                for (k, slot) in out.range().enumerate() {
                    row(slot, entries(&place.value_gradient(self.function, &self.unit(k, *weight))).get());
                }
            }
            Does::Rate { weight, out, twists, velocity } => {
                for (k, slot) in out.range().enumerate() {
                    let y = self.unit(k, *weight);
                    let mut found = entries(&place.power_gradient(self.function, &y, twists));
                    found.add_sides::<G>(velocity, &place.value_gradient(self.function, &y).bodies);
                    row(slot, found.get());
                }
            }
        }
    }

    /// Equalities of a hinge or a ball: nothing second-order but turns.
    fn write_pinned(&self, model: &Model<G>, mut row: impl FnMut(usize, &[(usize, f64)])) {
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
                        let mut found = Entries::new();
                        found.add_turns::<G>(&self.blocks, &turns(weights, &unit_twist(side, k)));
                        row(slot, found.get());
                    }
                }
            }
            Does::Value { weight, out } => {
                for (k, slot) in out.range().enumerate() {
                    let mut found = Entries::new();
                    found.add_sides::<G>(&self.blocks, &weighted(self.row.unwrap_or(0) + k, *weight));
                    row(slot, found.get());
                }
            }
            Does::Rate { weight, out, twists, velocity } => {
                for (k, slot) in out.range().enumerate() {
                    let mut found = Entries::new();
                    found.add_turns::<G>(&self.blocks, &turns(&self.unit(k, *weight), twists));
                    found.add_sides::<G>(velocity, &weighted(self.row.unwrap_or(0) + k, *weight));
                    row(slot, found.get());
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
