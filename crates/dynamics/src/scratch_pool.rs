//! Scratch that is kept with a world for those who work on its runs, from one to the next: what a run of steps needs is found once.

use std::any::Any;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Scratch that is worth keeping.
pub(crate) trait Reusable: Any + Debug + Send {
    /// Whether it is worth keeping for another model.
    fn outlives_model(&self) -> bool;
    /// Forgets what it knew of its model.
    fn forget_model(&mut self);
}

/// What copies of a world share: as many pieces of scratch of each kind as were ever in use at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScratchPool(Arc<Mutex<Vec<Box<dyn Reusable>>>>);

impl ScratchPool {
    /// What is left after a panic is as good as any other: scratch is cleared before it is written.
    fn unused(&self) -> MutexGuard<'_, Vec<Box<dyn Reusable>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scratch that nobody uses, the last that was put back.
    pub fn take<T: Reusable + Default>(&self) -> T {
        let mut unused = self.unused();
        let last = unused.iter().rposition(|kept| (&**kept as &dyn Any).is::<T>());
        let kept = last.map(|at| unused.remove(at) as Box<dyn Any>);
        kept.and_then(|kept| kept.downcast().ok()).map_or_else(T::default, |kept| *kept)
    }

    /// Puts scratch back.
    pub fn put<T: Reusable>(&self, used: T) {
        self.unused().push(Box::new(used));
    }

    /// A pool for another model, with one piece that does not depend on the model.
    pub fn handed_on(&self) -> Self {
        let mut unused = self.unused();
        let mut kept: Vec<_> = unused.iter().rposition(|kept| kept.outlives_model()).map(|at| unused.remove(at)).into_iter().collect();
        kept.iter_mut().for_each(|kept| kept.forget_model());
        ScratchPool(Arc::new(Mutex::new(kept)))
    }
}
