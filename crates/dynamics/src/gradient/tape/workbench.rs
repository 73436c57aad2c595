//! What derivatives of rollouts are worked out in, kept with the world from one to the next.

use crate::gradient::schedule::program::Program;
use crate::island::Island;
use crate::scratch_pool::{Reusable, ScratchPool};
use carom_geometry::Geometry;

/// A program with its slots and its scratch.
#[derive(Debug)]
pub(crate) struct Workbench<G: Geometry> {
    /// The program of one step after another.
    pub program: Program<G>,
    /// Its slots.
    pub x: Vec<f64>,
    /// Scratch of its solves.
    pub scratch: Vec<f64>,
}

impl<G: Geometry> Default for Workbench<G> {
    fn default() -> Self {
        Workbench { program: Program::default(), x: Vec::new(), scratch: Vec::new() }
    }
}

impl<G: Geometry> Workbench<G> {
    /// The bench that the derivatives of a world's rollouts are worked out at.
    pub fn of(scratch_pool: &ScratchPool) -> Self {
        let mut bench: Workbench<G> = scratch_pool.take();
        bench.program.sites.forget();
        bench
    }
}

impl<G: Geometry> Reusable for Workbench<G> {
    fn outlives_model(&self) -> bool {
        true
    }

    fn forget_model(&mut self) {
        self.program.forget_model();
    }
}

// Islands of an earlier rollout, for their memory alone.
impl<G: Geometry> Reusable for Vec<Island<G>> {
    fn outlives_model(&self) -> bool {
        false
    }

    fn forget_model(&mut self) {}
}
