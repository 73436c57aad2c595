//! The wish to stop: one token from whoever may wish it, handed down by reference to every loop that may run long.
//!
//! A loop that finds it raised ends where it stands. Nothing that was worked out then counts: a raised token stays raised, so the step, which looks
//! last, throws it all away and leaves its world as it was. So loops need no result that says they were stopped, and a look decides no bits.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A token that is raised once and for all; its clones are the same token.
///
/// By default it is one that nobody can raise, at which a look costs one comparison.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<Shared>>);

struct Shared {
    raised: AtomicBool,
    ask: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl Interrupt {
    /// The token of those who cannot be stopped.
    pub const NEVER: Interrupt = Interrupt(None);

    /// A token that [`raise`](Self::raise) raises, from any thread and from a signal handler.
    pub fn new() -> Self {
        Self::with(None)
    }

    /// A token that is raised as soon as `ask` says true besides. Every look asks, from whichever thread looks: `ask` must be cheap, and count for itself
    /// how often it is worth more.
    pub fn asking(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self::with(Some(Box::new(ask)))
    }

    fn with(ask: Option<Box<dyn Fn() -> bool + Send + Sync>>) -> Self {
        Interrupt(Some(Arc::new(Shared { raised: AtomicBool::new(false), ask })))
    }

    /// Wishes all who hold the token to stop; true when it was raised before.
    pub fn raise(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.raised.swap(true, Ordering::Relaxed))
    }

    /// Becomes the same token as another; costs nothing where it is so already, as at every step but the first.
    pub fn become_same(&mut self, other: &Interrupt) {
        let same = match (&self.0, &other.0) {
            (Some(own), Some(others)) => Arc::ptr_eq(own, others),
            (own, others) => own.is_none() && others.is_none(),
        };
        if !same {
            self.clone_from(other);
        }
    }

    /// Whether to stop. Costs a nanosecond: worth a look wherever a microsecond of work lies between two of them.
    #[inline]
    pub fn raised(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.look())
    }
}

impl Shared {
    fn look(&self) -> bool {
        // Relaxed: the flag guards no other memory.
        if self.raised.load(Ordering::Relaxed) {
            return true;
        }
        let raised = self.ask.as_ref().is_some_and(|ask| ask());
        if raised {
            self.raised.store(true, Ordering::Relaxed);
        }
        raised
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let says = self.0.as_ref().map(|shared| shared.raised.load(Ordering::Relaxed));
        f.debug_tuple("Interrupt").field(&says).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_raised_token_is_raised_for_all_its_clones_and_stays_so() {
        let token = Interrupt::new();
        let clone = token.clone();
        assert!(!token.raised() && !clone.raised());
        assert!(!clone.raise(), "it was not raised before");
        assert!(token.raised() && token.raise());
    }

    #[test]
    fn one_token_takes_the_place_of_another() {
        let (first, second) = (Interrupt::new(), Interrupt::new());
        let mut held = Interrupt::NEVER;
        for token in [&first, &first, &second, &Interrupt::NEVER] {
            held.become_same(token);
        }
        assert!(!second.raise() && !held.raised(), "none of them is held any longer");
        held.become_same(&second);
        assert!(held.raised() && !first.raised());
    }

    #[test]
    fn nobody_raises_the_default() {
        let token = Interrupt::default();
        token.raise();
        assert!(!token.raised() && !Interrupt::NEVER.raised());
    }

    #[test]
    fn who_is_asked_answers_once() {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = looks.clone();
        let token = Interrupt::asking(move || counted.fetch_add(1, Ordering::Relaxed) == 2);
        assert_eq!([(); 5].map(|()| token.raised()), [false, false, true, true, true]);
        assert_eq!(looks.load(Ordering::Relaxed), 3, "nobody is asked again after a yes");
    }
}
