//! What a page wishes, read also while a step is under way: some wishes do not wait for its end.

use super::message::Wish;
use carom_dynamics::Interrupt;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Wishes in the order they came; its clones are the same box.
#[derive(Clone)]
pub struct Inbox(Arc<Mutex<Letters>>);

struct Letters {
    wishes: Receiver<Wish>,
    /// Read but not granted yet.
    read: VecDeque<Wish>,
    /// The page is gone.
    gone: bool,
}

impl Letters {
    /// Reads what has come; whether any of it ends a step that is under way.
    fn end_step(&mut self) -> bool {
        loop {
            match self.wishes.try_recv() {
                Ok(wish) => self.read.push_back(wish),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.gone = true;
                    break;
                }
            }
        }
        self.gone || self.read.iter().any(ends_step)
    }
}

/// Whether a wish makes the step that is under way worthless, or is to be granted without it.
fn ends_step(wish: &Wish) -> bool {
    matches!(wish, Wish::Run { on: false } | Wish::Step | Wish::Reset | Wish::Open { .. } | Wish::Edit { .. })
}

impl Inbox {
    /// What comes through a channel.
    pub fn new(wishes: Receiver<Wish>) -> Self {
        Inbox(Arc::new(Mutex::new(Letters { wishes, read: VecDeque::new(), gone: false })))
    }
    fn letters(&self) -> MutexGuard<'_, Letters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The next wish, waited for at most so long, or without end. Nobody looks for wishes meanwhile: the session itself waits.
    pub fn next(&self, patience: Option<Duration>) -> Result<Wish, RecvTimeoutError> {
        let mut letters = self.letters();
        if let Some(wish) = letters.read.pop_front() {
            return Ok(wish);
        }
        match patience {
            Some(patience) => letters.wishes.recv_timeout(patience),
            None => letters.wishes.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }
    /// A token that a wish raises which does not wait for the end of a step, or a page that goes.
    pub fn interrupt(&self) -> Interrupt {
        let inbox = self.clone();
        Interrupt::asking(move || inbox.letters().end_step())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_wish_to_stop_ends_a_step_and_the_order_of_wishes_stays() {
        let (page, wishes) = channel();
        let inbox = Inbox::new(wishes);
        let said = [Wish::Seen { count: 1 }, Wish::Pull { to: vec![1.0, 2.0] }, Wish::Run { on: true }];
        let interrupt = inbox.interrupt();
        said.iter().for_each(|wish| page.send(wish.clone()).unwrap());
        assert!(!interrupt.raised(), "a page that draws, pulls and runs waits for the step");
        page.send(Wish::Run { on: false }).unwrap();
        assert!(interrupt.raised());
        for wish in said.iter().chain(&[Wish::Run { on: false }]) {
            assert_eq!(&inbox.next(None).unwrap(), wish);
        }
        let fresh = inbox.interrupt();
        assert!(!fresh.raised() && interrupt.raised(), "what is granted ends no other step");
        assert_eq!(inbox.next(Some(Duration::ZERO)), Err(RecvTimeoutError::Timeout));
        drop(page);
        assert!(fresh.raised(), "a page that is gone waits for nothing");
    }
}
