//! The loop of a run: step, record, count.

use crate::watch::Watch;
use carom::dynamics::error::Cause;
use carom::dynamics::{Interrupt, StepError, StepReport, World};
use carom::geometry::Geometry;
use carom::record::{LogWriter, RecordError};
use std::time::{Duration, Instant};

/// Times in a run at which the deepest overlap is taken; each looks at every body.
const OVERLAP_SAMPLES: u64 = 64;
/// Bodies looked at in all those samples together: large scenes are sampled less often.
const OVERLAP_BODIES: u64 = 1_000_000;

/// Time after which a slow run is marked even if its chunk is not full: what a crash may cost.
const MARK_EVERY: Duration = Duration::from_secs(5);

/// Why a run ended.
#[derive(Debug)]
pub enum Stop {
    /// All steps were taken.
    Finished,
    /// The user asked.
    Interrupted,
    /// A step failed.
    Failed(StepError),
}

/// Sums and extremes over the steps of a run.
#[derive(Debug, Default)]
pub struct Tally {
    /// Steps taken.
    pub steps: u64,
    /// Counts summed, residual and joint error at their worst, flags of any step.
    pub total: StepReport,
    /// Steps of which a part was stepped.
    pub stepped: usize,
    /// Most contacts at the end of a step.
    pub most_contacts: usize,
    /// Deepest overlap seen [m], 0 or negative.
    pub deepest: f64,
    /// Time spent in the engine.
    pub engine: Duration,
}

/// Takes a world from step `from` to step `to`; `watch` sees it after every step.
pub fn simulate<G: Geometry>(
    world: &mut World<G>,
    mut log: Option<&mut LogWriter>,
    mut watch: impl FnMut(&World<G>),
    from: u64,
    to: u64,
    interrupt: &Interrupt,
    progress: &Watch,
) -> Result<(Tally, Stop), RecordError> {
    let mut tally = Tally { deepest: world.deepest(), ..Tally::default() };
    let mut marked = Instant::now();
    let samples = (OVERLAP_BODIES / world.model().bodies.len().max(1) as u64).clamp(1, OVERLAP_SAMPLES);
    let sample = (to.saturating_sub(from) / samples).max(1);
    world.heed(interrupt);
    for step in from..to {
        let start = Instant::now();
        progress.begin(start);
        let taken = world.step();
        let took = start.elapsed();
        tally.engine += took;
        match taken {
            Ok(report) => {
                progress.end(step + 1, took, &report);
                tally.steps += 1;
                tally.most_contacts = tally.most_contacts.max(report.contacts);
                tally.stepped += usize::from(report.stepped > 0);
                tally.total.merge(&report);
            }
            Err(error) if error.cause == Cause::Stopped => return Ok((tally, Stop::Interrupted)),
            Err(error) => return Ok((tally, Stop::Failed(error))),
        }
        if let Some(log) = &mut log {
            log.record(world)?;
            if marked.elapsed() >= MARK_EVERY {
                log.mark(world)?;
                marked = Instant::now();
            }
        }
        watch(world);
        if (step - from).is_multiple_of(sample) || step + 1 == to {
            tally.deepest = tally.deepest.min(world.deepest());
        }
    }
    Ok((tally, Stop::Finished))
}
