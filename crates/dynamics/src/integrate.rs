//! Room 6: the move, and the first moment of it at which a pair without a row would overlap, theory (2.19)-(2.22).

use crate::contacts::{Key, NO_GROUP, Near, placed};
use crate::error::{Cause, Room, StepError};
use crate::gradient::record::{Length, Pace};
use crate::impact::rest_speed_at;
use crate::island::{Context, Island};
use crate::options::{Integrator, TimeOfImpact};
use crate::predict::{kick, largest_turn};
use crate::solve::{self, Held};
use crate::step::SUBSTEP_CAP;
use crate::strain::strained;
use crate::{assembly, contacts};
use carom_geometry::time_of_impact::{Motion, Touch, time_of_impact};
use carom_geometry::{Contact, Geometry};
use carom_math::{Pose, Twist, Vector};
use carom_solve::status::Status;

/// Solves of one substep: rows added, cuts and halvings together.
const TRIAL_CAP: usize = 120;

/// A move is cut at a graze only if that leaves this part of it.
const LEAST_PROGRESS: f64 = 1e-2;

/// Contacts within this fraction of the size of the nearest one belong to the same crossing.
const CROSSING_BAND: f64 = 1e-6;

/// Under `halving` a depth of this fraction of the size is accepted.
const HALVING_DEPTH: f64 = 1e-4;

/// Bisections and secants of one root; each at least halves the bracket over two rounds.
const ROOT_CAP: usize = 60;

/// How a substep's move ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    /// Its length [s].
    pub time: f64,
    /// It ends at an impact.
    pub event: bool,
    /// Its solve.
    pub held: Held,
}

/// What decided the length of a move, for its derivative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided<G: Geometry> {
    /// The length.
    pub length: Length<G>,
    /// The pace of the following substeps.
    pub pace: Pace,
}

/// A contact without a row that would be crossed.
#[derive(Clone, Copy, Debug)]
struct Crossing<G: Geometry> {
    /// When, along the present move [s].
    time: f64,
    /// Pair of the island.
    pair: usize,
    /// Its colliders.
    colliders: [usize; 2],
    /// How fast it closes there [m/s].
    speed: f64,
    /// The features, where other contacts of the same colliders have rows; otherwise whichever come first.
    feature: Option<G::Feature>,
}

/// Rooms 3 to 6: finds the longest move of at most `remaining` that no fast crossing interrupts.
pub(crate) fn integrate<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, remaining: f64) -> Result<(Moved, Decided<G>), StepError> {
    let tolerances = &ctx.model.tolerances;
    let least = ctx.model.step * 0.5f64.powi(tolerances.max_halvings as i32);
    // Where the shortest move did not converge once in this step, no other is sought as far down.
    let shortest = if island.report.unconverged { least } else { ctx.model.step * 0.5f64.powi(tolerances.max_halvings as i32 * 3) };
    // A substep that had to be shortened sets the pace of those that follow it; each may be twice as long.
    let mut t = remaining.min(island.pace);
    let (paced, base) = (island.pace < remaining, t);
    let part = |t: f64| if paced { Length::OfPace(t / base) } else { Length::OfRemaining(t / base) };
    let pace_of = |t: f64| if paced { Pace::Part(2.0 * t / base) } else { Pace::OfRemaining(2.0 * t / base) };
    let mut decided = Decided { length: part(t), pace: Pace::Doubled };
    // Mean rows are exact however far a body turns; there only the mean turn counts, below.
    let turns = ctx.model.options.integrator != Integrator::EnergyMomentum;
    let most = tolerances.turn * SUBSTEP_CAP as f64;
    let rate = largest_turn(island, ctx, &island.twists, 1.0);
    if rate * remaining > most {
        return Err(too_fast(island, ctx, rate * remaining, most));
    }
    while turns && rate * t > tolerances.turn && t > shortest {
        t *= 0.5;
        decided.length = part(t);
    }
    let mut event = false;
    let mut struck: Option<Crossing<G>> = None;
    island.solve.jammed = false;
    let mut held = solve::hold(island, ctx, t);
    for _ in 0..TRIAL_CAP {
        if ctx.interrupt.raised() {
            break;
        }
        let turned = largest_turn(island, ctx, &island.half, t);
        // A problem that could not be solved is a shorter move's problem too, but an easier one.
        let solved = held.converged && held.outcome.status != Status::Failed;
        // Mean rows do no work.
        let strained = solved && turns && strained(island, ctx, t);
        if (!solved || turned > tolerances.turn || strained) && t > shortest {
            t *= 0.5;
            event = false;
            island.pace = t;
            // A part of an event's time is a number of its own.
            let whole = matches!(decided.length, Length::OfPace(_) | Length::OfRemaining(_));
            decided = if whole { Decided { length: part(t), pace: pace_of(t) } } else { Decided { length: Length::Frozen, ..decided } };
            held = solve::hold(island, ctx, t);
            continue;
        }
        if !held.converged {
            // Even the shortest move does not converge: take the rows as they stand and leave the rest to the projection.
            island.report.unconverged = true;
            t = remaining.min(least);
            island.pace = t;
            decided.length = Length::Frozen;
            held = solve::hold_rows(island, ctx, t, true);
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
                held = solve::hold(island, ctx, t);
            }
            TimeOfImpact::Event => {
                let limit = if event { t * (1.0 - CROSSING_BAND) } else { t };
                let Some(mut crossing) = first_crossing(island, ctx, limit) else { break };
                if add_rows(island, ctx, &mut crossing, false) {
                    assembly::assemble(island, ctx);
                    if event {
                        decided.length = Length::Frozen;
                    }
                    event = false;
                    held = solve::hold(island, ctx, t);
                    continue;
                }
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
                        if add_rows(island, ctx, &mut crossing, true) {
                            assembly::assemble(island, ctx);
                        } else if crossing.time > LEAST_PROGRESS * t {
                            t = crossing.time;
                            event = true;
                            decided.length = Length::Frozen;
                        } else {
                            break;
                        }
                        solved = None;
                    }
                }
                // The search for the event may have ended with the solve that is wanted.
                held = match solved {
                    Some((length, found)) if length == t && found.converged => found,
                    _ => solve::hold(island, ctx, t),
                };
            }
        }
    }
    island.pace *= 2.0;
    if let (true, true, Some(crossing)) = (ctx.record, event, struck)
        && let Some((key, bodies)) = touching_features(island, ctx, &crossing)
    {
        decided.length = Length::Event(key, bodies);
    }
    Ok((Moved { time: t, event, held }, decided))
}

/// Says which body turns the rest of the step too far, or has the fastest spin where it is the line of a distance joint that does.
fn too_fast<G: Geometry>(island: &Island<G>, ctx: &Context<G>, turn: f64, most: f64) -> StepError {
    let counted = island.bodies.iter().zip(&island.twists).filter(|(local, _)| local.jointed || !island.loose);
    let spin = |twist: &Twist<G>| twist.ang.dot(twist.ang);
    let body = counted.max_by(|a, b| spin(a.1).total_cmp(&spin(b.1))).and_then(|(local, _)| ctx.model.bodies.get(local.index));
    let body = body.map_or_else(|| "world".to_string(), |body| body.name.clone());
    StepError { room: Room::Integrate, time: ctx.time, cause: Cause::TooFast { body, turn, most } }
}

/// The features that meet at the end of a move cut at a crossing, and their local bodies.
fn touching_features<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, crossing: &Crossing<G>) -> Option<(Key<G>, [usize; 2])> {
    let pair = island.pairs[crossing.pair];
    let bodies = pair.bodies.map(|b| island.bodies[b].index);
    let key = |feature| Key { bodies, colliders: crossing.colliders, feature };
    if let Some(feature) = crossing.feature {
        return Some((key(feature), pair.bodies));
    }
    let mut found = std::mem::take(&mut island.manifold);
    found.clear();
    let reach = ctx.model.tolerances.margin * pair.size;
    manifold(ctx, bodies, crossing.colliders, pair.bodies.map(|b| island.next[b]), reach, &mut found);
    let nearest = found.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).map(|c| (key(c.feature), pair.bodies));
    island.manifold = found;
    nearest
}

/// The shapes of a pair of colliders with their motion along the move.
fn motions<G: Geometry>(island: &Island<G>, ctx: &Context<G>, pair: [usize; 2], colliders: [usize; 2]) -> [Motion<G>; 2] {
    [0, 1].map(|side| {
        let body = pair[side];
        Motion {
            start: island.poses[body],
            local: ctx.model.bodies[island.bodies[body].index].colliders[colliders[side]].local,
            twist: island.half[body],
        }
    })
}

/// Whether any contact of these colliders has a row in the present solve.
fn has_row<G: Geometry>(island: &Island<G>, pair: usize, colliders: [usize; 2]) -> bool {
    // Detection lists contacts by pair; those added since stand at the end.
    let detected = &island.near[..island.detected];
    let own = detected.partition_point(|near| near.pair < pair)..detected.partition_point(|near| near.pair <= pair);
    detected[own].iter().chain(&island.near[island.detected..]).any(|near| {
        near.pair == pair
            && near.key.colliders == colliders
            && near.group != NO_GROUP
            && island.solve.groups.binary_search(&near.group).is_ok()
    })
}

/// The earliest moment, before `limit`, at which a pair without a row would overlap.
fn first_crossing<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, limit: f64) -> Option<Crossing<G>> {
    let mut first: Option<Crossing<G>> = None;
    let mut found = std::mem::take(&mut island.manifold);
    for (index, pair) in island.pairs.iter().enumerate() {
        if ctx.interrupt.raised() {
            break;
        }
        let [a, b] = pair.bodies;
        let shapes = [0, 1].map(|side| &ctx.model.bodies[island.bodies[pair.bodies[side]].index].colliders);
        debug_assert!(a != b, "a pair has two bodies");
        for ca in 0..shapes[0].len() {
            for cb in 0..shapes[1].len() {
                if has_row(island, index, [ca, cb]) {
                    let horizon = first.map_or(limit, |c| c.time);
                    first = feature_crossing(island, ctx, index, [ca, cb], horizon, &mut found).or(first);
                    continue;
                }
                let [motion_a, motion_b] = motions(island, ctx, pair.bodies, [ca, cb]);
                let horizon = first.map_or(limit, |c| c.time);
                let tolerance = ctx.model.tolerances.touch * pair.size;
                let touch = time_of_impact(&shapes[0][ca].shape, &motion_a, &shapes[1][cb].shape, &motion_b, horizon, tolerance);
                let time = match touch {
                    Touch::At(time) | Touch::Capped { time } => time,
                    Touch::Never | Touch::Overlapping => continue,
                };
                if first.is_none_or(|c| time < c.time) {
                    first = Some(Crossing { time, pair: index, colliders: [ca, cb], speed: 0.0, feature: None });
                }
            }
        }
    }
    island.manifold = found;
    first
}

/// Colliders that already touch somewhere can still land elsewhere (a plank that falls flat): the first of their contacts without a
/// row that is crossed before the horizon.
fn feature_crossing<G: Geometry>(
    island: &Island<G>,
    ctx: &Context<G>,
    index: usize,
    colliders: [usize; 2],
    horizon: f64,
    found: &mut Vec<Contact<G>>,
) -> Option<Crossing<G>> {
    let pair = island.pairs[index];
    let bodies = pair.bodies.map(|b| island.bodies[b].index);
    let tolerance = ctx.model.tolerances.touch * pair.size;
    let at = |s: f64| pair.bodies.map(|b| island.poses[b].advanced(island.half[b], s));
    found.clear();
    manifold(ctx, bodies, colliders, at(horizon), 0.0, found);
    let mut first: Option<Crossing<G>> = None;
    for contact in found.iter().filter(|c| c.gap < -tolerance) {
        let key = Key { bodies, colliders, feature: contact.feature };
        if island.near.iter().any(|n| n.key == key && n.group != NO_GROUP) {
            continue;
        }
        let gap = |s: f64| feature_gap(ctx, bodies, colliders, contact.feature, at(s));
        let end = first.map_or(horizon, |c: Crossing<G>| c.time);
        // Without a gap at the start, or already landed by then, it is no crossing of this move.
        if gap(0.0) <= tolerance || gap(end) >= 0.0 {
            continue;
        }
        let time = falling_root(gap, 0.0, end, f64::EPSILON * pair.size);
        first = Some(Crossing { time, pair: index, colliders, speed: 0.0, feature: Some(contact.feature) });
    }
    first
}

/// Contacts of two colliders at given body poses.
fn manifold<G: Geometry>(
    ctx: &Context<G>,
    bodies: [usize; 2],
    colliders: [usize; 2],
    poses: [Pose<G>; 2],
    reach: f64,
    out: &mut Vec<Contact<G>>,
) {
    let shapes = [0, 1].map(|side| &ctx.model.bodies[bodies[side]].colliders[colliders[side]].shape);
    let placed = [0, 1].map(|side| placed(ctx.model, bodies[side], colliders[side], &poses[side]));
    G::contacts(shapes[0], &placed[0], shapes[1], &placed[1], reach, out);
}

/// The gap of a pair of features at given body poses.
fn feature_gap<G: Geometry>(ctx: &Context<G>, bodies: [usize; 2], colliders: [usize; 2], feature: G::Feature, poses: [Pose<G>; 2]) -> f64 {
    let shapes = [0, 1].map(|side| &ctx.model.bodies[bodies[side]].colliders[colliders[side]].shape);
    let placed = [0, 1].map(|side| placed(ctx.model, bodies[side], colliders[side], &poses[side]));
    G::evaluate(feature, shapes[0], &placed[0], shapes[1], &placed[1]).gap
}

/// The root of a function that is positive at `low` and not positive at `high`: secants, with a bisection every third round so that the bracket
/// always shrinks.
fn falling_root(mut function: impl FnMut(f64) -> f64, mut low: f64, mut high: f64, precision: f64) -> f64 {
    let (mut value_low, mut value_high) = (function(low), function(high));
    for round in 0..ROOT_CAP {
        if value_low <= precision || high - low <= f64::EPSILON * high {
            break;
        }
        let mut middle = low + (high - low) * (value_low / (value_low - value_high));
        if round % 3 == 2 || !(middle > low && middle < high) {
            middle = 0.5 * (low + high);
        }
        let value = function(middle);
        if value.abs() <= precision {
            return middle;
        }
        if value > 0.0 {
            (low, value_low) = (middle, value);
        } else {
            (high, value_high) = (middle, value);
        }
    }
    if value_low <= -value_high { low } else { high }
}

/// Where a crossing closes slower than its rest speed its contacts get rows, and the move keeps its length. Returns whether rows were added;
/// the closing speed is left in the crossing.
fn add_rows<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, crossing: &mut Crossing<G>, however_fast: bool) -> bool {
    let pair = island.pairs[crossing.pair];
    let poses = pair.bodies.map(|b| island.poses[b].advanced(island.half[b], crossing.time));
    let bodies = pair.bodies.map(|b| island.bodies[b].index);
    let mut found = std::mem::take(&mut island.manifold);
    found.clear();
    manifold(ctx, bodies, crossing.colliders, poses, ctx.model.tolerances.margin * pair.size, &mut found);
    match crossing.feature {
        Some(feature) => found.retain(|c| c.feature == feature),
        None => {
            let nearest = found.iter().fold(f64::INFINITY, |m, c| m.min(c.gap));
            found.retain(|c| c.gap <= nearest + CROSSING_BAND * pair.size);
        }
    }
    let mut slow = !found.is_empty();
    for contact in &found {
        let arms = [contact.point_a - poses[0].position, contact.point_b - poses[1].position];
        let opening = contact.normal.dot(island.half[pair.bodies[0]].at(arms[0]) - island.half[pair.bodies[1]].at(arms[1]));
        slow &= -opening <= rest_speed_at(island, ctx, pair.bodies, contact.normal, arms);
        crossing.speed = crossing.speed.max(-opening);
    }
    let mut added = false;
    if slow || however_fast {
        for contact in &found {
            let key = Key { bodies, colliders: crossing.colliders, feature: contact.feature };
            if let Some(near) = island.near.iter_mut().find(|n| n.key == key) {
                added |= !near.extra;
                near.extra = true;
                continue;
            }
            let mut near = Near {
                key,
                contact: *contact,
                pair: crossing.pair,
                bodies: pair.bodies,
                touching: false,
                active: false,
                extra: true,
                rowed: false,
                held: false,
                group: NO_GROUP,
                warm: [G::Lin::zero(); 2],
            };
            near.contact = near.at(ctx.model, &island.poses);
            island.near.push(near);
            added = true;
        }
    }
    island.manifold = found;
    added
}

/// Whether rows bend the path of a body in the present solve.
fn constrained<G: Geometry>(island: &Island<G>, body: usize) -> bool {
    island.bodies[body].jointed
        || island.solve.lines.iter().any(|&line| {
            let pair = island.assembly.lines[line].bodies;
            pair[0] == body || pair[1] == body
        })
}

/// The root of gap(q + t v1/2(t)) = 0: the moment of a fast crossing when the move ends there, theory (2.20); `None` when the
/// shorter moves do not reach it. The last move that was solved on the way is left in `solved`, with its length.
fn event_time<G: Geometry>(
    island: &mut Island<G>,
    ctx: &Context<G>,
    crossing: &Crossing<G>,
    longest: f64,
    solved: &mut Option<(f64, Held)>,
) -> Option<f64> {
    let pair = island.pairs[crossing.pair];
    let integrator = ctx.model.options.integrator;
    let free = integrator != Integrator::EnergyMomentum && pair.bodies.iter().all(|&b| !constrained(island, b));
    // On the parabola the root is exact; through solves it is as good as they are.
    let reach = pair.bodies.iter().fold(pair.size, |m, &b| m.max(island.poses[b].position.max_abs()));
    let precision = if free { 2.0 * f64::EPSILON * reach } else { ctx.model.tolerances.position * pair.size };
    let bodies = pair.bodies.map(|b| island.bodies[b].index);
    let mut gap = |t: f64| -> f64 {
        let poses = if free {
            // Without rows the path is the parabola itself: no solve is needed.
            pair.bodies.map(|b| island.poses[b].advanced(kick(island, b, &ctx.model.options, t), t))
        } else {
            *solved = Some((t, solve::hold(island, ctx, t)));
            pair.bodies.map(|b| island.next[b])
        };
        match crossing.feature {
            Some(feature) => feature_gap(ctx, bodies, crossing.colliders, feature, poses),
            None => separation(ctx, bodies, crossing.colliders, poses, f64::INFINITY),
        }
    };
    // The path of a shorter move differs a little from the one the crossing was seen on: Newton from there with the closing speed, then
    // secants, kept inside the bracket as soon as there is one.
    let (mut low, mut high): (Option<f64>, Option<f64>) = (None, None);
    let (mut t, mut rate) = (crossing.time.min(longest), -crossing.speed);
    let mut value = gap(t);
    for _ in 0..ROOT_CAP {
        if value.abs() <= precision || ctx.interrupt.raised() {
            break;
        }
        if value > 0.0 {
            low = Some(t);
        } else {
            high = Some(t);
        }
        let newton = t - value / rate;
        let next = match (low, high) {
            (Some(low), Some(high)) if high - low <= f64::EPSILON * high => break,
            (Some(low), Some(high)) => {
                if newton > low && newton < high {
                    newton
                } else {
                    0.5 * (low + high)
                }
            }
            // Twice as far as Newton would go, so that the root is soon between two times.
            (Some(low), None) if low < longest => (low + 2.0 * (newton - low)).min(longest),
            (None, Some(high)) if high > 0.0 => (high - 2.0 * (high - newton)).max(0.0),
            _ => break,
        };
        let then = gap(next);
        let slope = (then - value) / (next - t);
        if high.is_none() && then > value {
            // The gap opens again: on these paths the bodies pass each other by.
            value = then;
            break;
        }
        if slope < 0.0 {
            rate = slope;
        }
        (t, value) = (next, then);
    }
    (value.abs() <= ctx.model.tolerances.touch * pair.size).then_some(t)
}

/// Signed distance of two colliders at given body poses.
fn separation<G: Geometry>(ctx: &Context<G>, bodies: [usize; 2], colliders: [usize; 2], poses: [Pose<G>; 2], cutoff: f64) -> f64 {
    let shapes = [0, 1].map(|side| &ctx.model.bodies[bodies[side]].colliders[colliders[side]].shape);
    let placed = [0, 1].map(|side| placed(ctx.model, bodies[side], colliders[side], &poses[side]));
    G::separation(shapes[0], &placed[0], shapes[1], &placed[1], cutoff)
}

/// Whether a pair without a row overlaps at the end of the move (the source's test).
fn overlaps_after<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> bool {
    island.pairs.iter().enumerate().any(|(index, pair)| {
        let bodies = pair.bodies.map(|b| island.bodies[b].index);
        let counts = bodies.map(|b| ctx.model.bodies[b].colliders.len());
        (0..counts[0]).any(|ca| {
            (0..counts[1]).any(|cb| {
                !has_row(island, index, [ca, cb])
                    && separation(ctx, bodies, [ca, cb], pair.bodies.map(|b| island.next[b]), 0.0) < -HALVING_DEPTH * pair.size
            })
        })
    })
}

/// Commits the move: poses become q', inertias turn, boxes grow; contacts are found anew.
pub(crate) fn commit<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, moved: &Moved) {
    // Who had a row, and whose row was active, is known by name after the move.
    for near in &mut island.near {
        near.rowed = false;
        near.active = false;
    }
    for (position, &group) in island.solve.groups.iter().enumerate() {
        if let assembly::Source::Contact(c) = island.assembly.groups[group].source {
            let row = island.solve.first[position];
            let near = &mut island.near[c];
            near.rowed = true;
            near.active = island.solve.impulses[row] > 0.0;
            let tangents = G::tangents(near.contact.normal);
            let mut impulse = near.contact.normal * island.solve.impulses[row];
            for k in 0..G::TANGENTS {
                impulse += tangents[k] * island.solve.impulses[row + 1 + k];
            }
            near.warm[0] = impulse;
            contacts::account(&mut island.reports, near, impulse);
        }
    }
    contacts::remember(&island.near, &mut island.memory);
    let equalities = &island.assembly.equalities;
    island.curvature.learn(equalities.spans(), moved.time, &island.solve.joint_target, &equalities.now.errors);
    if std::mem::take(&mut island.solve.ahead) {
        island.assembly.arrive();
    }
    let Island { poses, next, .. } = island;
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
    for (&index, travelled) in island.shaped.iter().zip(&mut island.travelled) {
        let (body, pose) = (&island.bodies[index], &island.poses[index]);
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
    let lost = |b: &usize| !twists[*b].is_finite() || !island.poses[*b].is_finite();
    let all = 0..island.bodies.len();
    let moving = all.clone().filter(|&b| island.bodies[b].dynamic).find(lost);
    moving.or_else(|| all.clone().find(lost)).map(|b| island.bodies[b].index)
}
