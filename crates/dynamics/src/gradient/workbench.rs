//! Rooms that rollouts and their derivatives work in, kept with the world from one to the next: what a run of steps needs is found once.

use super::program::Program;
use crate::island::Island;
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

/// What worlds of one model share: as many benches and sets of islands as were ever at work at once.
#[derive(Clone, Debug)]
pub(crate) struct Workshop<G: Geometry>(Arc<Mutex<Shelves<G>>>);

/// What nobody works at.
#[derive(Debug)]
struct Shelves<G: Geometry> {
    benches: Vec<Workbench<G>>,
    islands: Vec<Vec<Island<G>>>,
}

impl<G: Geometry> Default for Workshop<G> {
    fn default() -> Self {
        Workshop(Arc::new(Mutex::new(Shelves { benches: Vec::new(), islands: Vec::new() })))
    }
}

impl<G: Geometry> Workshop<G> {
    /// What is left after a panic is as good as any other: programs and islands are cleared before they are written.
    fn shelves(&self) -> MutexGuard<'_, Shelves<G>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bench that nobody works at.
    pub fn borrow(&self) -> Workbench<G> {
        let mut bench = self.shelves().benches.pop().unwrap_or_default();
        bench.program.sites.forget();
        bench
    }

    /// Puts a bench back.
    pub fn give_back(&self, bench: Workbench<G>) {
        self.shelves().benches.push(bench);
    }

    /// Islands of an earlier rollout, for their room alone.
    pub fn borrow_islands(&self) -> Vec<Island<G>> {
        self.shelves().islands.pop().unwrap_or_default()
    }

    /// Puts islands back.
    pub fn give_islands_back(&self, islands: Vec<Island<G>>) {
        self.shelves().islands.push(islands);
    }

    /// A workshop for another model: a bench is taken over, and forgets what it knew of this one.
    pub fn handed_on(&self) -> Self {
        let workshop = Workshop::default();
        if let Some(mut bench) = self.shelves().benches.pop() {
            bench.program.forget_model();
            workshop.give_back(bench);
        }
        workshop
    }
}
