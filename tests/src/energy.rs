//! The law of energy over a run.

use carom_dynamics::{Ledger, World};
use carom_geometry::Geometry;

/// Runs a world; how far its energy without the work that went in ever rises above what it was before, over the energy exchanged, and the most substeps of
/// a step. A step that fails ends the run and says so.
pub fn energy_rise<G: Geometry>(world: &mut World<G>, steps: usize) -> (f64, usize) {
    let own = |ledger: &Ledger| ledger.kinetic + ledger.potential + ledger.elastic - ledger.flow.work_in;
    let (mut least, mut rise, mut substeps) = (own(&world.ledger()), 0.0f64, 0);
    for step in 0..steps {
        match world.step() {
            Ok(report) => substeps = substeps.max(report.substeps),
            Err(error) => {
                println!("step {step}: {error}");
                return (f64::INFINITY, substeps);
            }
        }
        let ledger = world.ledger();
        let now = own(&ledger);
        least = least.min(now);
        rise = rise.max((now - least) / ledger.exchanged);
    }
    (rise, substeps)
}
