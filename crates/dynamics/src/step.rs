//! The step of an island as the numbered rooms of docs/theory.md, section 2: a chain of substeps on the island's own clock.

use crate::contacts::{NO_GROUP, Near};
use crate::error::{Cause, Room, StepError};
use crate::finish::finish;
use crate::gradient::record::{IslandRecord, Length};
use crate::impact::impact;
use crate::integrate::{first_not_finite, grow_travelled, integrate};
use crate::island::{Context, Island};
use crate::options::{ImpactLaw, SolverChoice, TimeOfImpact};
use crate::predict::{Instant, accelerate, loads};
use crate::project::project;
use crate::stabilise::stabilise;
use crate::start::place;
use crate::{assembly, contacts, stepped};
use carom_geometry::Geometry;
use carom_solve::status::{RESIDUAL_WANTED, Status};

/// What is left of a step below this fraction of it is rounding.
const NOTHING_LEFT: f64 = 1e-12;

/// Substeps of a step, turns and halvings together: a part that turns more than 3000 rad in a step is no mechanism, and no island of a few bodies may
/// take seconds to say so.
pub(crate) const SUBSTEP_CAP: usize = 16_384;

/// Takes an island to where its step starts: contacts and rows at its poses, and what starts wrong put right.
pub(crate) fn begin<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    island.solver.heed(ctx.interrupt);
    island.impact.heed(ctx.interrupt);
    // A step is the same whether or not others went before it.
    island.solve.sparse.forget();
    island.solver.prefer_interior_point(ctx.model.options.solver == SolverChoice::InteriorPoint);
    island.record = ctx.record.then(|| IslandRecord::begin(island));
    // The box swept by a body in company holds the place it starts from.
    if island.company == 0 {
        grow_travelled(island, ctx);
    }
    if !island.current {
        island.refresh_inertia();
        if island.found {
            contacts::recall(island);
        } else {
            contacts::detect(island, ctx.model); //                                        1. gaps, normals, arms   (2.1)
        }
        if !stands(island, ctx) {
            assembly::assemble(island, ctx);
        }
    }
    place(island, ctx) //                                                                  what starts wrong        (2.29)
}

/// Whether the rows that the last step ended with are those of its contacts still: the same poses and the same contacts have the same rows.
fn stands<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> bool {
    let same = |near: &Near<G>| (near.touching || near.active) == (near.group != NO_GROUP);
    island.found && island.joints.is_empty() && !ctx.capture && island.near.iter().all(same)
}

/// Advances an island by a whole step.
pub(crate) fn advance<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    let step = ctx.model.step;
    let mut remaining = step;
    begin(island, ctx)?;
    for _ in 0..SUBSTEP_CAP {
        ctx.go_on()?;
        if remaining <= NOTHING_LEFT * step {
            break;
        }
        remaining -= substep(island, ctx, step - remaining, remaining)?;
        island.report.substeps += 1;
    }
    if remaining > NOTHING_LEFT * step {
        let cause = Cause::TooManySubsteps { substeps: island.report.substeps, left: remaining };
        return Err(StepError { room: Room::Integrate, time: ctx.time, cause });
    }
    contacts::remember(&island.near, &mut island.memory);
    island.report.contacts = island.near.iter().filter(|n| n.active || n.touching).count();
    Ok(())
}

/// One substep of at most `remaining`; returns its length.
fn substep<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, elapsed: f64, remaining: f64) -> Result<f64, StepError> {
    let time = ctx.time + elapsed;
    note(island, |record, island| record.open(island, time));
    let options = &ctx.model.options;
    island.midpoint.time = time;
    loads(island, ctx, Instant::Start, time);
    accelerate(island); //                                                                 loads at q and v         (2.2)
    if !island.pairs.is_empty() {
        held_accelerations(island);
    }
    // Mean rows have no stepped move: past the cap their impacts are inelastic.
    let capped = !stepped::steps(ctx) && stepped::spent(island, ctx);
    let inside_the_problem = options.impact == ImpactLaw::Newton && options.time_of_impact != TimeOfImpact::Event;
    if !inside_the_problem && impact(island, ctx, capped)? {
        // 2. v jumped: what depends on it is taken anew                                                            (2.4)
        loads(island, ctx, Instant::Start, time);
        accelerate(island);
    }
    // What a tape asks for may have been solved since: modes are known from one length of the same move to the next only.
    island.solve.known = false;
    let (moved, decided) = integrate(island, ctx, remaining)?; //                                      3-6. predict, rows, solve, move  (2.3)-(2.22)
    ctx.go_on()?;
    if let Some(body) = first_not_finite(island, &island.half, &[]) {
        return Err(not_finite(ctx, Room::Solve, body));
    }
    if moved.held.outcome.status == Status::Failed {
        let cause = Cause::NoConvergence {
            iterations: moved.held.outcome.iterations,
            residual: moved.held.outcome.residual,
            wanted: RESIDUAL_WANTED,
        };
        return Err(StepError { room: Room::Solve, time: ctx.time, cause });
    }
    if moved.event {
        island.report.events += 1;
    }
    // An event at the very end of the step leaves the step as long as it is; the strike that follows moves in time, theory (17.59).
    let last = remaining - moved.time <= NOTHING_LEFT * ctx.model.step;
    let rule = if moved.event && last { Length::OfRemaining(moved.time / remaining) } else { decided.length };
    let stepped = moved.stepped || capped;
    note(island, |record, island| {
        if let Some(substep) = record.last() {
            substep.stepped = stepped;
        }
        let weak = record.last().map_or(0, |s| s.note_move(island, ctx, moved.time, rule, decided.pace));
        record.weak += weak;
    });
    island.report.stepped += usize::from(moved.stepped || capped);
    finish(island, ctx, &moved, time)?; //                                                   7. second kick           (2.23)
    if let Some(body) = first_not_finite(island, &island.twists, &island.poses) {
        return Err(not_finite(ctx, Room::Finish, body));
    }
    note(island, |record, island| {
        let weak = record.last().map_or(0, |s| s.note_finish(island, ctx));
        record.weak += weak;
    });
    let projected = island.report.projected;
    island.report.projected = false;
    match options.stabilisation.share() {
        None => project(island, ctx)?, //                                                      positions             (2.27)
        Some(share) => stabilise(island, ctx, share * moved.time), //                          A.7                   (2.60)
    }
    let now = island.report.projected;
    note(island, |record, _| {
        if let Some(substep) = record.last() {
            substep.projected = now;
        }
    });
    island.report.projected |= projected;
    Ok(moved.time)
}

/// Lets the record of an island, if there is one, take something down.
pub(crate) fn note<G: Geometry>(island: &mut Island<G>, take: impl FnOnce(&mut IslandRecord<G>, &Island<G>)) {
    if let Some(mut record) = island.record.take() {
        take(&mut record, island);
        island.record = Some(record);
    }
}

fn not_finite<G: Geometry>(ctx: &Context<G>, room: Room, body: usize) -> StepError {
    let name = ctx.model.bodies.get(body).map_or_else(|| "world".to_string(), |b| b.name.clone());
    StepError { room, time: ctx.time, cause: Cause::NotFinite { body: name } }
}

/// Accelerations under loads and joints, which set the rest speeds, theory (2.4).
fn held_accelerations<G: Geometry>(island: &mut Island<G>) {
    let Island { free, held, assembly, solve, .. } = island;
    held.clear();
    held.extend_from_slice(free);
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
    assembly.hold_joints(&solve.joint_target, &mut solve.reaction, held);
}
