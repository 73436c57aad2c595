//! Stage 6: the move, and the first moment of it at which a pair without a row would overlap, theory (2.21)-(2.30).

use crate::contacts::{Key, NO_GROUP};
use crate::crossing::{CROSSING_BAND, Crossing, Rows, add_rows, next_crossing, overlaps_after, touching_features};
use crate::error::{Cause, Stage, StepError};
use crate::event::event_time;
use crate::hold::{self, Held};
use crate::island::parts::Motion;
use crate::island::{Context, Island};
use crate::options::TimeOfImpact;
use crate::predict::largest_turn;
use crate::step::SUBSTEP_CAP;
use crate::stepped;
use crate::strain::strained;
use crate::{assembly, contacts};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};
use carom_solve::status::Status;

/// Solves of one substep: rows added, cuts and halvings together.
const TRIAL_CAP: usize = 120;

/// A move is cut at a graze only if that leaves this part of it.
const LEAST_PROGRESS: f64 = 1e-2;

/// How a substep's move ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    /// Its length \[s\].
    pub time: f64,
    /// It ends at an impact.
    pub event: bool,
    /// Events were not looked for: what landed fast strikes at its end.
    pub stepped: bool,
    /// Its solve.
    pub held: Held,
}

/// What decided the length of a substep.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length<G: Geometry> {
    /// A part of what was left of the step.
    OfRemaining(f64),
    /// A part of the pace set by an earlier substep.
    OfPace(f64),
    /// The gap of these features vanishes at its end.
    Event(Key<G>, [usize; 2]),
    /// A number that is held (the path to a graze that no longer ends there).
    Frozen,
}

/// How the pace of the following substeps was set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// Twice what it was.
    Doubled,
    /// A part of what was left of the step.
    OfRemaining(f64),
    /// A part of what it was.
    Part(f64),
}

/// What decided the length of a move, for its derivative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided<G: Geometry> {
    /// The length.
    pub length: Length<G>,
    /// The pace of the following substeps.
    pub pace: Pace,
}

/// Stages 3 to 6: finds the longest move of at most `remaining` that no fast crossing interrupts.
pub(crate) fn search_move<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, remaining: f64) -> Result<(Moved, Decided<G>), StepError> {
    let tolerances = &ctx.model.tolerances;
    let least = ctx.model.step * 0.5f64.powi(tolerances.max_halvings as i32);
    // Where the shortest move did not converge once in this step, no other is sought as far down.
    let shortest = if island.books.report.unconverged { least } else { ctx.model.step * 0.5f64.powi(tolerances.max_halvings as i32 * 3) };
    // A substep that had to be shortened sets the pace of those that follow it; each may be twice as long.
    let mut t = remaining.min(island.pace);
    let (paced, base) = (island.pace < remaining, t);
    let part = |t: f64| if paced { Length::OfPace(t / base) } else { Length::OfRemaining(t / base) };
    let pace_of = |t: f64| if paced { Pace::Part(2.0 * t / base) } else { Pace::OfRemaining(2.0 * t / base) };
    let mut decided = Decided { length: part(t), pace: Pace::Doubled };
    // Mean rows are exact however far a body turns; there only the mean turn counts, below.
    let turns = !ctx.model.options.scheme().by_means();
    let most = tolerances.turn * SUBSTEP_CAP as f64;
    let rate = largest_turn(island, ctx, &island.motion.twists, 1.0);
    if rate * remaining > most {
        return Err(too_fast(island, ctx, rate * remaining, most));
    }
    while turns && rate * t > tolerances.turn && t > shortest {
        t *= 0.5;
        decided.length = part(t);
    }
    let mut event = false;
    let mut struck: Option<Crossing<G>> = None;
    island.system.solve.jammed = false;
    let mut stepped = stepped::spent(island, ctx) && stepped::steps(ctx);
    let mut trials = 0;
    let mut held = if stepped { hold_stepped(island, ctx, t) } else { hold::hold(island, ctx, t) };
    for _ in 0..TRIAL_CAP {
        if ctx.interrupt.raised() {
            break;
        }
        let turned = largest_turn(island, ctx, &island.motion.half, t);
        // A problem that could not be solved is a shorter move's problem too, but an easier one.
        let solved = held.converged && held.outcome.status != Status::Failed;
        // Mean rows do no work; where rows are those of the start pose alone no target bends.
        let strained = solved && turns && !ctx.model.options.start_pose_only() && strained(island, ctx, t);
        if !stepped && !solved && stepped::spent(island, ctx) && stepped::steps(ctx) {
            stepped = true;
            (t, event, struck) = (base, false, None);
            decided = Decided { length: part(t), pace: Pace::Doubled };
            held = hold_stepped(island, ctx, t);
            continue;
        }
        if (!solved || turned > tolerances.turn || strained) && t > shortest {
            t *= 0.5;
            event = false;
            island.pace = t;
            // A part of an event's time is a number of its own.
            let whole = matches!(decided.length, Length::OfPace(_) | Length::OfRemaining(_));
            decided = if whole { Decided { length: part(t), pace: pace_of(t) } } else { Decided { length: Length::Frozen, ..decided } };
            held = hold::hold_move(island, ctx, t, stepped);
            continue;
        }
        if !held.converged {
            // Even the shortest move does not converge: take the rows as they stand and leave the rest to the projection.
            island.books.report.unconverged = true;
            t = remaining.min(least);
            island.pace = t;
            decided.length = Length::Frozen;
            held = hold::hold_rows(island, ctx, t, true);
            break;
        }
        match ctx.model.options.time_of_impact {
            TimeOfImpact::Off => break,
            TimeOfImpact::Halving => {
                if t * 0.5 < least || !overlaps_after(island, ctx) {
                    break;
                }
                t *= 0.5;
                decided.length = part(t);
                held = hold::hold(island, ctx, t);
            }
            TimeOfImpact::HalvingLiteral => {
                if t * 0.5 < least || !overlaps_after(island, ctx) {
                    break;
                }
                t *= 0.5;
                decided.length = part(t);
                let Island { motion: Motion { next, poses, half, .. }, .. } = island;
                next.clear();
                next.extend(poses.iter().zip(half.iter()).map(|(pose, twist)| pose.advanced(*twist, t)));
            }
            TimeOfImpact::Event if stepped => {
                trials += 1;
                if trials > stepped::STEPPED_TRIALS || !next_crossing(island, ctx, t, Rows::Every).1 {
                    break;
                }
                assembly::assemble(island, ctx);
                held = hold::hold_move(island, ctx, t, stepped);
            }
            TimeOfImpact::Event => {
                let limit = if event { t * (1.0 - CROSSING_BAND) } else { t };
                let (crossing, added) = next_crossing(island, ctx, limit, Rows::Slow);
                trials += usize::from(added);
                if (crossing.is_some() || trials > stepped::STEPPED_TRIALS) && stepped::spent(island, ctx) && stepped::steps(ctx) {
                    // What events may cost is spent: nothing cuts what is left of the step.
                    stepped = true;
                    (t, event, struck, trials) = (base, false, None, 0);
                    decided = Decided { length: part(t), pace: Pace::Doubled };
                    held = hold_stepped(island, ctx, t);
                    continue;
                }
                if added {
                    assembly::assemble(island, ctx);
                    if event {
                        decided.length = Length::Frozen;
                    }
                    event = false;
                    held = hold::hold(island, ctx, t);
                    continue;
                }
                let Some(mut crossing) = crossing else { break };
                let mut solved = None;
                match event_time(island, ctx, &crossing, t, &mut solved) {
                    Some(time) if time < t * (1.0 - CROSSING_BAND) || !event => {
                        t = time;
                        event = true;
                        decided.length = Length::Frozen;
                        struck = Some(crossing);
                    }
                    _ => {
                        // A graze that shorter moves do not even reach: rows hold it, and the move keeps its length. Where they cannot, the
                        // move ends at the graze; what is left of it then is the projection's.
                        if event {
                            decided.length = Length::Frozen;
                        }
                        event = false;
                        struck = None;
                        if add_rows(island, ctx, &mut crossing, Rows::First) {
                            assembly::assemble(island, ctx);
                        } else if crossing.time > LEAST_PROGRESS * t {
                            t = crossing.time;
                            event = true;
                            decided.length = Length::Frozen;
                        } else {
                            // What the search solved last was another length of the move.
                            if solved.is_some_and(|(length, _)| length != t) {
                                held = hold::hold(island, ctx, t);
                            }
                            break;
                        }
                        solved = None;
                    }
                }
                // The search for the event may have ended with the solve that is wanted.
                held = match solved {
                    Some((length, found)) if length == t && found.converged => found,
                    _ => hold::hold(island, ctx, t),
                };
            }
        }
    }
    island.pace *= 2.0;
    stepped &= island.system.solve.uncorrected || stepped::landed(island, ctx, t);
    if let (true, true, Some(crossing)) = (ctx.watch.is_some(), event, struck)
        && let Some((key, bodies)) = touching_features(island, ctx, &crossing)
    {
        decided.length = Length::Event(key, bodies);
    }
    Ok((Moved { time: t, event, stepped, held }, decided))
}

/// A move of length t that nothing cuts, with rows for all that may be met on it.
fn hold_stepped<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) -> Held {
    stepped::widen(island, ctx, t);
    if island.touch.near.iter().any(|near| near.extra && near.group == NO_GROUP) {
        assembly::assemble(island, ctx);
    }
    hold::hold_move(island, ctx, t, true)
}

/// Says which body turns the rest of the step too far, or has the fastest spin where it is the line of a distance joint that does.
fn too_fast<G: Geometry>(island: &Island<G>, ctx: &Context<G>, turn: f64, most: f64) -> StepError {
    let counted = island.members.bodies.iter().zip(&island.motion.twists).filter(|(local, _)| local.jointed || !island.members.loose);
    let spin = |twist: &Twist<G>| twist.ang.dot(twist.ang);
    let body = counted.max_by(|a, b| spin(a.1).total_cmp(&spin(b.1))).and_then(|(local, _)| ctx.model.bodies.get(local.index));
    let body = body.map_or_else(|| "world".to_string(), |body| body.name.clone());
    StepError { stage: Stage::Integrate, time: ctx.time, cause: Cause::TooFast { body, turn, most } }
}

/// Commits the move: poses become q', inertias turn, boxes grow; contacts are found anew.
pub(crate) fn commit<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, moved: &Moved) {
    // Who had a row, and whose row was active, is known by name after the move.
    for near in &mut island.touch.near {
        near.had_row = false;
        near.active = false;
    }
    for (position, &group) in island.system.solve.groups.iter().enumerate() {
        if let assembly::Source::Contact(c) = island.system.assembly.groups[group].source {
            let row = island.system.solve.first[position];
            let near = &mut island.touch.near[c];
            near.had_row = true;
            near.active = island.system.solve.impulses[row] > 0.0;
            let tangents = G::tangents(near.contact.normal);
            let mut impulse = near.contact.normal * island.system.solve.impulses[row];
            for k in 0..G::TANGENTS {
                impulse += tangents[k] * island.system.solve.impulses[row + 1 + k];
            }
            near.warm[0] = impulse;
            contacts::account(&mut island.touch.reports, near, impulse);
        }
    }
    contacts::remember(&island.touch.near, &mut island.touch.memory);
    let equalities = &island.system.assembly.equalities;
    island.links.curvature.learn(equalities.spans(), moved.time, &island.system.solve.joint_target, &equalities.now.errors);
    if std::mem::take(&mut island.system.solve.ahead) {
        island.system.assembly.arrive();
    }
    let Island { motion: Motion { poses, next, .. }, .. } = island;
    std::mem::swap(poses, next);
    if G::ANG > 1 {
        // In the plane an inertia is a number, whatever the pose.
        island.refresh_inertia();
    }
    grow_travelled(island, ctx);
    contacts::detect(island, ctx.model);
}

/// Extends each body's travelled box by its present place.
pub(crate) fn grow_travelled<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) {
    for (&index, travelled) in island.members.shaped.iter().zip(&mut island.members.travelled) {
        let (body, pose) = (&island.members.bodies[index], &island.motion.poses[index]);
        if body.dynamic || body.kinematic {
            for collider in &ctx.model.bodies[body.index].colliders {
                let bounds = G::bounds(&collider.shape, &pose.compose(&collider.local));
                *travelled = travelled.union(&bounds);
            }
        }
    }
}

/// Whether velocities and poses are finite; the first body whose are not is named by the error of the step.
pub(crate) fn first_not_finite<G: Geometry>(island: &Island<G>, twists: &[Twist<G>], poses: &[Pose<G>]) -> Option<usize> {
    // Nought times anything finite is nought, and the sum says whether all were.
    let nought = |parts: &[&[f64]]| parts.iter().flat_map(|part| part.iter()).fold(0.0, |sum, x| sum + 0.0 * x);
    let mut sum: f64 = twists.iter().map(|twist| nought(&[twist.lin.as_slice(), twist.ang.as_slice()])).sum();
    for pose in poses {
        let mut rotation = [0.0; 4];
        G::write_rotation(pose.rotation, &mut rotation);
        sum += nought(&[pose.position.as_slice(), &rotation]);
    }
    if sum == 0.0 {
        return None;
    }
    // What cannot move is no longer finite only where what it holds is not.
    let lost = |b: &usize| !twists[*b].is_finite() || !island.motion.poses[*b].is_finite();
    let all = 0..island.members.bodies.len();
    let moving = all.clone().filter(|&b| island.members.bodies[b].dynamic).find(lost);
    moving.or_else(|| all.clone().find(lost)).map(|b| island.members.bodies[b].index)
}
