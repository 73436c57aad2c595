//! The observer that writes the tape.

use super::arrival::unforetold;
use super::record::{IslandRecord, Strike};
use super::simultaneous::{close_strike, open_strike, strikes};
use crate::impact::ImpactScratch;
use crate::integrate::{Decided, Moved};
use crate::island::{Context, Island};
use crate::observe::Observer;
use crate::options::ImpactLaw;
use carom_geometry::Geometry;

/// An island's record while it is written.
#[derive(Debug)]
pub(super) struct Recorder<G: Geometry> {
    /// What is written.
    pub record: IslandRecord<G>,
    /// The strike at hand.
    opened: Option<Strike<G>>,
}

impl<G: Geometry> Recorder<G> {
    /// Begins the record of an island that is about to advance.
    pub fn watch(island: &Island<G>) -> Box<dyn Observer<G>> {
        Box::new(Recorder { record: IslandRecord::begin(island), opened: None })
    }
}

impl<G: Geometry> Observer<G> for Recorder<G> {
    fn placed(&mut self) {
        self.record.placed = true;
    }

    fn open(&mut self, island: &Island<G>, time: f64) {
        self.record.open(island, time);
    }

    fn arriving(&mut self, island: &mut Island<G>, ctx: &Context<G>) {
        let arrival = unforetold(&self.record, island, ctx);
        if let Some(substep) = self.record.last() {
            substep.arrival = arrival;
        }
    }

    fn obeyed(&mut self, island: &Island<G>) {
        if let Some(substep) = self.record.last() {
            substep.midpoint.obeyed = Some((island.motion.twists.clone(), island.system.solve.reaction.clone()));
        }
    }

    fn strike_opens(&mut self, island: &Island<G>, work: &ImpactScratch, law: ImpactLaw, elastic: bool) {
        self.opened = Some(open_strike(island, work, law, elastic));
    }

    fn strike_closes(&mut self, island: &mut Island<G>, ctx: &Context<G>, work: &ImpactScratch, law: ImpactLaw, first: bool) {
        let Some(mut opened) = self.opened.take() else { return };
        close_strike(&mut opened, work, law);
        let strikes = strikes(&self.record, island, ctx, work, law, opened, first);
        if let Some(substep) = self.record.last() {
            substep.strikes.extend(strikes);
        }
    }

    fn moved(&mut self, island: &Island<G>, ctx: &Context<G>, moved: &Moved, decided: &Decided<G>, stepped: bool) {
        if let Some(substep) = self.record.last() {
            substep.left_out.stepped = stepped;
            let weak = substep.note_move(island, ctx, moved.time, decided.length, decided.pace);
            self.record.weak += weak;
        }
    }

    fn finished(&mut self, island: &Island<G>, ctx: &Context<G>) {
        if let Some(substep) = self.record.last() {
            let weak = substep.note_finish(island, ctx);
            self.record.weak += weak;
        }
    }

    fn projected(&mut self, projected: bool) {
        if let Some(substep) = self.record.last() {
            substep.left_out.projected = projected;
        }
    }
}
