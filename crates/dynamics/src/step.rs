//! The step of an island as the numbered stages of docs/theory.md, section 2: a chain of substeps on the island's own clock.

use crate::contacts::{NO_GROUP, Near};
use crate::error::{Cause, Stage, StepError};
use crate::finish::finish;
use crate::impact::impact;
use crate::integrate::{Decided, Length, Moved, first_not_finite, grow_travelled, search_move};
use crate::island::parts::{Motion, System};
use crate::island::{Context, Island};
use crate::observe::report;
use crate::options::{ImpactLaw, SolverChoice, TimeOfImpact};
use crate::predict::{Instant, accelerate, loads};
use crate::project::project;
use crate::stabilise::stabilise;
use crate::start::place;
use crate::{assembly, contacts, stepped};
use carom_geometry::Geometry;
use carom_solve::status::{RESIDUAL_WANTED, Status};

/// What is left of a step below this fraction of it is rounding.
pub(crate) const NOTHING_LEFT: f64 = 1e-12;

/// Substeps of a step, turns and halvings together: a part that turns more than 3000 rad in a step is no mechanism, and no island of a few bodies may
/// take seconds to say so.
pub(crate) const SUBSTEP_CAP: usize = 16_384;

/// Takes an island to where its step starts: contacts and rows at its poses, and what starts wrong put right.
pub(crate) fn begin<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    island.system.solver.heed(ctx.interrupt);
    island.impact.heed(ctx.interrupt);
    // A step is the same whether or not others went before it.
    island.system.solve.sparse.forget();
    island.system.solver.prefer_interior_point(ctx.model.options.solver == SolverChoice::InteriorPoint);
    island.books.observer = ctx.watch.map(|watch| watch(island));
    // The box swept by a body in company holds the place it starts from.
    if island.members.company == 0 {
        grow_travelled(island, ctx);
    }
    if !island.current {
        island.refresh_inertia();
        if island.touch.found {
            contacts::recall(island);
        } else {
            contacts::detect(island, ctx.model); //                                        1. gaps, normals, arms   (2.1)
        }
        if !stands(island, ctx) {
            assembly::assemble(island, ctx);
        }
    }
    place(island, ctx) //                                                                  what starts wrong        (2.36)
}

/// Whether the rows that the last step ended with are those of its contacts still: the same poses and the same contacts have the same rows.
fn stands<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> bool {
    let same = |near: &Near<G>| (near.touching || near.active) == (near.group != NO_GROUP);
    let serves = || island.links.joints.is_empty() || island.system.assembly.serves(&island.links.joints, ctx, &island.motion.twists);
    island.touch.found && !ctx.capture && island.touch.near.iter().all(same) && serves()
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
        island.books.report.substeps += 1;
    }
    if remaining > NOTHING_LEFT * step {
        let cause = Cause::TooManySubsteps { substeps: island.books.report.substeps, left: remaining };
        return Err(StepError { stage: Stage::Integrate, time: ctx.time, cause });
    }
    contacts::remember(&island.touch.near, &mut island.touch.memory);
    island.books.report.contacts = island.touch.near.iter().filter(|n| n.active || n.touching).count();
    Ok(())
}

/// One substep of at most `remaining`, stage by stage as in theory chapter 2; returns its length.
fn substep<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, elapsed: f64, remaining: f64) -> Result<f64, StepError> {
    let time = ctx.time + elapsed;
    open(island, ctx, time); //                                                 loads at q and v                       (2.2)
    let capped = jump(island, ctx, time)?; //                                2. impacts                                (2.4)
    let (moved, decided) = search_move(island, ctx, remaining)?; //          3-6. predict, rows, solve, move           (2.3)-(2.30)
    arrive(island, ctx, &moved, decided, remaining, capped)?;
    finish(island, ctx, &moved, time)?; //                                   7. second kick                            (2.31)
    close(island, ctx)?;
    take_back_drift(island, ctx, moved.time)?; //                               positions                              (2.35)
    Ok(moved.time)
}

/// Loads and accelerations where the substep starts.
fn open<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, time: f64) {
    report(island, |observer, island| observer.open(island, time));
    island.midpoint.time = time;
    loads(island, ctx, Instant::Start, time);
    accelerate(island);
    if !island.links.pairs.is_empty() {
        held_accelerations(island);
    }
}

/// Velocities jump where contacts strike. Returns whether impacts must be inelastic from here on: mean rows have no stepped move, past the cap.
fn jump<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, time: f64) -> Result<bool, StepError> {
    let options = &ctx.model.options;
    let capped = !stepped::steps(ctx) && stepped::spent(island, ctx);
    let inside_the_problem = options.impact == ImpactLaw::Newton && options.time_of_impact != TimeOfImpact::Event;
    if !inside_the_problem && impact(island, ctx, capped)? {
        // v jumped: what depends on it is taken anew.
        loads(island, ctx, Instant::Start, time);
        accelerate(island);
    }
    // What a tape asks for may have been solved since: modes are known from one length of the same move to the next only.
    island.system.solve.known = false;
    Ok(capped)
}

/// The move is found: a solve that failed is an error, and what decided its length is reported.
fn arrive<G: Geometry>(
    island: &mut Island<G>,
    ctx: &Context<G>,
    moved: &Moved,
    decided: Decided<G>,
    remaining: f64,
    capped: bool,
) -> Result<(), StepError> {
    ctx.go_on()?;
    if let Some(body) = first_not_finite(island, &island.motion.half, &[]) {
        return Err(not_finite(ctx, Stage::Solve, body));
    }
    if moved.held.outcome.status == Status::Failed {
        let cause = Cause::NoConvergence {
            iterations: moved.held.outcome.iterations,
            residual: moved.held.outcome.residual,
            wanted: RESIDUAL_WANTED,
        };
        return Err(StepError { stage: Stage::Solve, time: ctx.time, cause });
    }
    if moved.event {
        island.books.report.events += 1;
    }
    // An event at the very end of the step leaves the step as long as it is; the strike that follows moves in time, theory (17.39).
    let last = remaining - moved.time <= NOTHING_LEFT * ctx.model.step;
    let length = if moved.event && last { Length::OfRemaining(moved.time / remaining) } else { decided.length };
    let stepped = moved.stepped || capped;
    report(island, |observer, island| observer.moved(island, ctx, moved, &Decided { length, ..decided }, stepped));
    island.books.report.stepped += usize::from(stepped);
    Ok(())
}

/// Velocities at the end are found: they must be finite.
fn close<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    if let Some(body) = first_not_finite(island, &island.motion.twists, &island.motion.poses) {
        return Err(not_finite(ctx, Stage::Finish, body));
    }
    report(island, |observer, island| observer.finished(island, ctx));
    Ok(())
}

/// Positions that drifted are projected, or taken back by velocities (2.37).
fn take_back_drift<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, length: f64) -> Result<(), StepError> {
    let projected = island.books.report.projected;
    island.books.report.projected = false;
    match ctx.model.options.stabilisation.share() {
        None => project(island, ctx)?,
        Some(share) => stabilise(island, ctx, share * length),
    }
    let now = island.books.report.projected;
    report(island, |observer, _| observer.projected(now));
    island.books.report.projected |= projected;
    Ok(())
}

fn not_finite<G: Geometry>(ctx: &Context<G>, stage: Stage, body: usize) -> StepError {
    let name = ctx.model.bodies.get(body).map_or_else(|| "world".to_string(), |b| b.name.clone());
    StepError { stage, time: ctx.time, cause: Cause::NotFinite { body: name } }
}

/// Accelerations under loads and joints, which set the rest speeds, theory (2.4).
fn held_accelerations<G: Geometry>(island: &mut Island<G>) {
    let Island { motion: Motion { free, held, .. }, system: System { assembly, solve, .. }, .. } = island;
    held.clear();
    held.extend_from_slice(free);
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
    assembly.obey_joints(&solve.joint_target, &mut solve.reaction, held);
}
