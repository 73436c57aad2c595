//! Who watches a step: its stages report what they decided as they go, and nothing in a step depends on whether somebody listens. So a tape is
//! written without a line about tapes in the step.

use crate::impact::ImpactScratch;
use crate::integrate::{Decided, Moved};
use crate::island::{Context, Island};
use crate::options::ImpactLaw;
use carom_geometry::Geometry;
use std::any::Any;
use std::fmt::Debug;

/// What hears the stages of the substeps of one island. Whoever changes the island to look at it leaves it as it was.
pub(crate) trait Observer<G: Geometry>: Any + Debug + Send + Sync {
    /// What started wrong was put right before the first substep.
    fn placed(&mut self);
    /// A substep begins at the present state.
    fn open(&mut self, island: &Island<G>, time: f64);
    /// Contacts strike, and no velocity has jumped yet.
    fn arriving(&mut self, island: &mut Island<G>, ctx: &Context<G>);
    /// Velocities were projected on what joints allow before they jump.
    fn obeyed(&mut self, island: &Island<G>);
    /// A law is about to answer a strike, with the restitution of the materials (`elastic`) or without.
    fn strike_opens(&mut self, island: &Island<G>, work: &ImpactScratch, law: ImpactLaw, elastic: bool);
    /// It has answered, and velocities are as they were; `first` where nothing struck in this instant before.
    fn strike_closes(&mut self, island: &mut Island<G>, ctx: &Context<G>, work: &ImpactScratch, law: ImpactLaw, first: bool);
    /// The move is found; poses are not yet those of its end. `stepped` where its impacts are put at its end.
    fn moved(&mut self, island: &Island<G>, ctx: &Context<G>, moved: &Moved, decided: &Decided<G>, stepped: bool);
    /// Velocities at the end of the move are found.
    fn finished(&mut self, island: &Island<G>, ctx: &Context<G>);
    /// The substep is over; whether its positions were projected.
    fn projected(&mut self, projected: bool);
}

/// Sends somebody to watch an island that is about to advance.
pub(crate) type Watch<G> = fn(&Island<G>) -> Box<dyn Observer<G>>;

/// Who watched a step, one for each island.
pub(crate) type Witnesses<G> = Vec<Box<dyn Observer<G>>>;

/// Reports to whoever watches an island.
pub(crate) fn report<G: Geometry>(island: &mut Island<G>, tell: impl FnOnce(&mut dyn Observer<G>, &mut Island<G>)) {
    if let Some(mut observer) = island.books.observer.take() {
        tell(&mut *observer, island);
        island.books.observer = Some(observer);
    }
}
