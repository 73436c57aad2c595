//! Rooms that derivatives are worked out in, kept with the world from one to the next: what a run of steps needs is found once.

use super::program::Program;
use carom_geometry::Geometry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// The benches that worlds of one model share: as many as were ever at work at once.
#[derive(Clone, Debug)]
pub(crate) struct Workshop<G: Geometry>(Arc<Mutex<Vec<Workbench<G>>>>);

impl<G: Geometry> Default for Workshop<G> {
    fn default() -> Self {
        Workshop(Arc::new(Mutex::new(Vec::new())))
    }
}

impl<G: Geometry> Workshop<G> {
    /// What is left after a panic is as good as any other: a program is cleared before it is written.
    fn benches(&self) -> MutexGuard<'_, Vec<Workbench<G>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bench that nobody works at.
    pub fn borrow(&self) -> Workbench<G> {
        let mut bench = self.benches().pop().unwrap_or_default();
        bench.program.sites.forget();
        bench
    }

    /// Puts a bench back.
    pub fn give_back(&self, bench: Workbench<G>) {
        self.benches().push(bench);
    }

    /// Benches for another model: one is taken over, and forgets what it knew of this one.
    pub fn handed_on(&self) -> Self {
        let bench = self.benches().pop().map(|mut bench| {
            bench.program.forget_model();
            bench
        });
        Workshop(Arc::new(Mutex::new(bench.into_iter().collect())))
    }
}
