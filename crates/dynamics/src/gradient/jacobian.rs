//! All of the derivative of one step at once, theory (17.50): it is written down and factored once, and every number of the state after it walks backwards.

use super::linearise::walk_back;
use super::schedule::stage::Switches;
use super::system::weak::Weak;
use super::tape::rollout::{GradientError, Rollout, mean};
use super::tape::step::{Ends, Wrt, differentiate};
use super::tape::workbench::Workbench;
use crate::model::BodyKind;
use carom_geometry::Geometry;
use carom_solve::interrupt::Interrupt;

/// The derivative of a step: a row for each number of the state after it, poses as tangents in the order of velocities, then velocities; 2 n DOF in all. Rows of bodies
/// that never move are zero.
#[derive(Clone, Debug, PartialEq)]
pub struct StepJacobian {
    /// By the poses before, n DOF columns, by rows.
    pub poses: Vec<f64>,
    /// By the velocities before, likewise.
    pub twists: Vec<f64>,
    /// By the controls of the step.
    pub controls: Vec<f64>,
    /// By the parameters, in the order of [`super::Parameters`]; empty where they are held.
    pub parameters: Vec<f64>,
    /// What the derivative is worth.
    pub switches: Switches,
}

impl StepJacobian {
    /// Writes a row.
    fn put(&mut self, row: usize, ends: &Ends, x: impl Fn(usize) -> f64) {
        let lists = [
            (&mut self.poses, ends.poses),
            (&mut self.twists, ends.twists),
            (&mut self.controls, ends.controls),
            (&mut self.parameters, ends.parameters),
        ];
        for (list, block) in lists.into_iter().filter(|(list, _)| !list.is_empty()) {
            let width = block.len();
            list[row * width..][..width].iter_mut().zip(block.range()).for_each(|(out, slot)| *out = x(slot));
        }
    }
}

impl<G: Geometry> Rollout<G> {
    /// The whole derivative of one of its steps, which needs a full tape, with a choice of what it is at rows that stand at a switch.
    #[inline(never)]
    pub fn jacobian(&self, step: usize, wrt: Wrt, weak: Weak, interrupt: &Interrupt) -> Result<StepJacobian, GradientError> {
        if weak != Weak::Average {
            return self.jacobian_one(step, wrt, weak, interrupt);
        }
        let mut found = self.jacobian_one(step, wrt, Weak::Active, interrupt)?;
        if found.switches.choices() > 0 {
            let other = self.jacobian_one(step, wrt, Weak::Inactive, interrupt)?;
            mean(&mut found.poses, &other.poses);
            mean(&mut found.twists, &other.twists);
            mean(&mut found.controls, &other.controls);
            mean(&mut found.parameters, &other.parameters);
        }
        Ok(found)
    }

    fn jacobian_one(&self, step: usize, wrt: Wrt, weak: Weak, interrupt: &Interrupt) -> Result<StepJacobian, GradientError> {
        self.check_weak(weak)?;
        let record = self.record(step).ok_or(GradientError::NoTape)?;
        let (model, layout) = (self.end().model(), self.layout());
        let size = model.bodies.len() * G::DOF;
        let mut bench = Workbench::of(&self.end().scratch_pool);
        let (ends, switches) = differentiate(&mut bench.program, model, layout, record, (wrt, weak));
        let zeros = |width: usize| vec![0.0; 2 * size * width];
        let mut out = StepJacobian {
            poses: zeros(size),
            twists: zeros(size),
            controls: zeros(ends.controls.len()),
            parameters: zeros(if wrt == Wrt::Everything { layout.len } else { 0 }),
            switches,
        };
        let moves = |row: &usize| model.bodies[row % size / G::DOF].kind != BodyKind::Static;
        let rows: Vec<usize> = (0..2 * size).filter(moves).collect();
        let slot =
            |row: usize| if row < size { ends.poses_after.range().start + row } else { ends.twists_after.range().start + row - size };
        // What is held is never read.
        let first = if wrt == Wrt::Everything { 0 } else { ends.parameters.range().end };
        let seed = |row: usize, add: &mut dyn FnMut(usize, f64)| add(slot(rows[row]), 1.0);
        let done = walk_back(&mut bench, model, first, rows.len(), seed, interrupt, |row, x| out.put(rows[row], &ends, x));
        self.end().scratch_pool.put(bench);
        if done { Ok(out) } else { Err(GradientError::Stopped) }
    }
}
