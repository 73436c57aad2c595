//! The derivative of a step in joint coordinates, theory (20.16): as many rows as the coordinates and their rates, not as the bodies have numbers.

use super::schedule::program::{Block, LANES};
use super::schedule::stage::Switches;
use super::slots::wrench;
use super::system::weak::Weak;
use super::tape::rollout::{GradientError, Rollout, Tape, mean};
use super::tape::step::{Ends, Wrt, differentiate};
use super::tape::workbench::Workbench;
use crate::coordinates::{Reading, Tree};
use crate::error::StepError;
use crate::model::Model;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Vector, Wrench};
use carom_solve::interrupt::Interrupt;
use nalgebra::DMatrix;

/// x' = A x + B u to first order, x being the changes of the joint coordinates, then those of their rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Linearised {
    /// By the state before: 2 nc rows and columns.
    pub a: DMatrix<f64>,
    /// By the controls of the step: 2 nc rows.
    pub b: DMatrix<f64>,
    /// What the derivative is worth.
    pub switches: Switches,
}

impl<G: Geometry> World<G> {
    /// The derivative of one step from here under controls (empty: none) in joint coordinates: those of free roots first, as position and rotation vector in
    /// world axes, then those of joints, in the order of [`World::joint_names`]; then their rates, in the same order. The world does not move.
    ///
    /// Where joints close loops it holds for changes that keep them closed, `loop_jacobian() x = 0`.
    ///
    /// # Errors
    /// Those of a step; a choice at switches that the options do not allow.
    pub fn linearise(&self, controls: &[f64], weak: Weak, interrupt: &Interrupt) -> Result<Linearised, LineariseError> {
        let rollout = self.rollout_unless(1, controls, Tape::Full, interrupt).map_err(LineariseError::Step)?;
        rollout.linearise(0, weak, interrupt).map_err(LineariseError::Gradient)
    }
}

/// Why a world was not linearised.
#[derive(Clone, Debug)]
pub enum LineariseError {
    /// The step failed.
    Step(StepError),
    /// The step was taken, its derivative was not.
    Gradient(GradientError),
}

impl std::fmt::Display for LineariseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LineariseError::Step(error) => error.fmt(f),
            LineariseError::Gradient(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LineariseError {}

impl<G: Geometry> Rollout<G> {
    /// The derivative of one of its steps in joint coordinates; as [`World::linearise`]. Needs a full tape.
    ///
    /// # Errors
    /// No full tape; a choice at switches that the options do not allow; an interruption.
    #[inline(never)]
    pub fn linearise(&self, step: usize, weak: Weak, interrupt: &Interrupt) -> Result<Linearised, GradientError> {
        if weak != Weak::Average {
            return self.linearise_one(step, weak, interrupt);
        }
        let mut found = self.linearise_one(step, Weak::Active, interrupt)?;
        if found.switches.choices() > 0 {
            let other = self.linearise_one(step, Weak::Inactive, interrupt)?;
            mean(found.a.as_mut_slice(), other.a.as_slice());
            mean(found.b.as_mut_slice(), other.b.as_slice());
        }
        Ok(found)
    }

    fn linearise_one(&self, step: usize, weak: Weak, interrupt: &Interrupt) -> Result<Linearised, GradientError> {
        self.check_weak(weak)?;
        let record = self.record(step).ok_or(GradientError::NoTape)?;
        let model = self.end().model();
        let tree = Tree::new(model);
        let (columns, readings) = (tree.columns(model, &self.states[step]), tree.readings(model, &self.states[step + 1]));
        let count = readings.len();
        let mut bench = Workbench::of(&self.end().scratch_pool);
        let (ends, switches) = differentiate(&mut bench.program, model, self.layout(), record, (Wrt::StatesAndControls, weak));
        let mut a = DMatrix::zeros(2 * count, 2 * count);
        let mut b = DMatrix::zeros(2 * count, ends.controls.len());
        let seed = |row: usize, add: &mut dyn FnMut(usize, f64)| read_back(&readings[row % count], row >= count, &ends, add);
        let done = walk_back(&mut bench, model, ends.parameters.range().end, 2 * count, seed, interrupt, |row, x| {
            for (body, columns) in columns.iter().enumerate().filter(|(_, columns)| !columns.is_empty()) {
                let at = |block: Block| -> Wrench<G> {
                    let mut numbers = [0.0; 6];
                    numbers.iter_mut().zip(block.part(body * G::DOF, G::DOF).range()).for_each(|(number, slot)| *number = x(slot));
                    wrench::<G>(&numbers)
                };
                let (by_pose, by_twist) = (at(ends.poses), at(ends.twists));
                for column in columns {
                    a[(row, column.coordinate)] += by_pose.power(&column.moves) + by_twist.power(&column.bends);
                    a[(row, count + column.coordinate)] += by_twist.power(&column.moves);
                }
            }
            ends.controls.range().enumerate().for_each(|(column, slot)| b[(row, column)] = x(slot));
        });
        self.end().scratch_pool.put(bench);
        if done { Ok(Linearised { a, b, switches }) } else { Err(GradientError::Stopped) }
    }
}

/// The cotangents of the state after a step that stand for one of its coordinates or for the rate of it.
fn read_back<G: Geometry>(reading: &Reading<G>, rate: bool, ends: &Ends, add: &mut dyn FnMut(usize, f64)) {
    let mut put = |block: Block, body: usize, value: &Wrench<G>| {
        let numbers = value.lin.as_slice().iter().chain(value.ang.as_slice());
        block
            .part(body * G::DOF, G::DOF)
            .range()
            .zip(numbers)
            .filter(|(_, value)| **value != 0.0)
            .for_each(|(slot, value)| add(slot, *value));
    };
    for side in 0..2 {
        let Some(body) = reading.bodies[side] else { continue };
        if rate {
            put(ends.twists_after, body, &reading.row[side]);
            put(ends.poses_after, body, &reading.turned[side]);
        } else {
            put(ends.poses_after, body, &reading.row[side]);
        }
    }
}

/// Walks cotangents of the state after a step backwards, several at a time where the program allows it. Slots below `first` are never read. `put` is told
/// what reaches the slots of each; `false` where an interruption came.
pub(super) fn walk_back<G: Geometry>(
    bench: &mut Workbench<G>,
    model: &Model<G>,
    first: usize,
    rows: usize,
    seed: impl Fn(usize, &mut dyn FnMut(usize, f64)),
    interrupt: &Interrupt,
    mut put: impl FnMut(usize, &dyn Fn(usize) -> f64),
) -> bool {
    let Workbench { program, x, scratch } = bench;
    if program.wire(model) {
        let mut lanes = std::mem::take(&mut program.wiring.slots);
        lanes.clear();
        lanes.resize(program.slots(), [0.0; LANES]);
        for start in (0..rows).step_by(LANES) {
            if interrupt.raised() {
                return false;
            }
            if start > 0 {
                lanes[first..].fill([0.0; LANES]);
            }
            let few = start..rows.min(start + LANES);
            few.clone().enumerate().for_each(|(lane, row)| seed(row, &mut |slot, value| lanes[slot][lane] += value));
            program.adjoint_lanes(&mut lanes);
            few.enumerate().for_each(|(lane, row)| put(row, &|slot| lanes[slot][lane]));
        }
        program.wiring.slots = lanes;
        return true;
    }
    for row in 0..rows {
        if interrupt.raised() {
            return false;
        }
        x.clear();
        x.resize(program.slots(), 0.0);
        seed(row, &mut |slot, value| x[slot] += value);
        program.adjoint(model, x, scratch);
        program.settle_here(model, x, scratch);
        put(row, &|slot| x[slot]);
    }
    true
}
