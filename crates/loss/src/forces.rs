//! Forces of contacts along a run, as a loss reads them.

use crate::Loss;
use carom::dynamics::Interrupt;
use carom::dynamics::gradient::{GradientError, Pair, Rollout};
use carom::geometry::Geometry;
use carom::math::Vector;

/// Forces of contacts \[N\] in every step of a run, pair by pair; empty for a loss that reads none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forces {
    steps: Vec<Vec<[f64; 3]>>,
}

impl Forces {
    /// From those of steps, pair by pair.
    pub fn new(steps: Vec<Vec<[f64; 3]>>) -> Self {
        Forces { steps }
    }
    /// Those of steps, pair by pair.
    pub fn steps(&self) -> &[Vec<[f64; 3]>] {
        &self.steps
    }
    /// The component of a pair's force in the step that led to a state; 0 at the first one.
    pub(crate) fn at(&self, state: usize, pair: usize, component: usize) -> f64 {
        state.checked_sub(1).and_then(|step| self.steps.get(step)).map_or(0.0, |pairs| pairs[pair][component])
    }
}

impl Loss {
    /// Whose forces of contacts it reads, and from whom.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The forces that it reads of a run.
    ///
    /// # Errors
    /// A run without a tape, an integrator whose contacts have no derivative of their own, a caller who stops; none where it reads no forces.
    pub fn forces<G: Geometry>(&self, rollout: &Rollout<G>, interrupt: &Interrupt) -> Result<Forces, GradientError> {
        if self.pairs.is_empty() {
            return Ok(Forces::default());
        }
        let per_second = 1.0 / rollout.end().model().step;
        let force = |impulse: G::Lin| {
            let mut out = [0.0; 3];
            out[..G::DIM].copy_from_slice((impulse * per_second).as_slice());
            out
        };
        let found = rollout.contact_impulses(&self.pairs, interrupt)?;
        Ok(Forces { steps: found.into_iter().map(|pairs| pairs.into_iter().map(force).collect()).collect() })
    }
}
