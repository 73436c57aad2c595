//! The derivative of arriving at a strike that no event foretold: the strike moves in time with whatever opens or closes the gap, theory (17.39).

use super::program::Program;
use super::stage::{Running, Stage, Switches};
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows;
use crate::gradient::tape::record::{Arrival, Substep};
use carom_geometry::Geometry;

/// Adds the derivative of an arrival; the running slots become those of the instant of the strike.
pub(crate) fn linearise<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    arrival: &Arrival<G>,
    running: &mut Running,
    switches: &mut Switches,
) {
    program.sites.begin_stage();
    let (key, bodies) = (arrival.key, arrival.bodies);
    let point = ContactPoint::felt(program, stage.model, stage.parameters, key, bodies, &substep.poses, &running.poses);
    switches.irregular += usize::from(!point.regular);
    switches.unconverged += usize::from(!arrival.solved);
    let gap = program.fresh(1);
    let rows = contact_rows::gap(program, gap, 1.0, &point);
    let closing: f64 = rows.iter().map(|(body, row)| row.power(&arrival.twists[*body])).sum();
    if closing == 0.0 {
        switches.grazing += 1;
        return;
    }
    let later = program.fresh(1);
    program.scaled(later, gap, -1.0 / closing);
    for local in 0..stage.bodies.len() {
        if let (Some(pose), Some(twist)) = (running.poses[local], running.twists[local]) {
            let (moved, sped) = (program.fresh(G::DOF), program.fresh(G::DOF));
            program.copy(moved, pose);
            program.stacked(moved, later, &arrival.twists[local]);
            program.copy(sped, twist);
            program.stacked(sped, later, &arrival.accelerations[local]);
            (running.poses[local], running.twists[local]) = (Some(moved), Some(sped));
        }
    }
    let remaining = program.fresh(1);
    program.copy(remaining, running.remaining);
    program.scaled(remaining, later, -1.0);
    running.remaining = remaining;
}
