//! Contacts that a move would cross: which pair without a row overlaps first, theory (2.21), and the rows it gets.

use crate::contacts::{Key, NO_GROUP, Near, placed};
use crate::impact::rest_speed_at;
use crate::island::{Context, Island};
use crate::model::Model;
use carom_geometry::time_of_impact::{Motion, Touch, time_of_impact};
use carom_geometry::{Contact, Geometry};
use carom_math::{Pose, Twist, Vector};

/// Contacts within this fraction of the size of the nearest one belong to the same crossing.
pub(crate) const CROSSING_BAND: f64 = 1e-6;

/// Under `halving` a depth of this fraction of the size is accepted.
const HALVING_DEPTH: f64 = 1e-4;

/// Part of the margin by which colliders may approach within a move and still not meet unless a contact within the margin was found.
pub(crate) const SLOW: f64 = 0.1;

/// Bisections and secants of one root; each at least halves the bracket over two rounds.
const ROOT_CAP: usize = 60;

/// A contact without a row that would be crossed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing<G: Geometry> {
    /// When, along the present move \[s\].
    pub time: f64,
    /// Pair of the island.
    pub pair: usize,
    /// Its colliders.
    pub colliders: [usize; 2],
    /// How fast it closes there [m/s].
    pub speed: f64,
    /// The features, where other contacts of the same colliders have rows; otherwise whichever come first.
    pub feature: Option<G::Feature>,
}

/// The features that meet at the end of a move cut at a crossing, and their local bodies.
pub(crate) fn touching_features<G: Geometry>(
    island: &mut Island<G>,
    ctx: &Context<G>,
    crossing: &Crossing<G>,
) -> Option<(Key<G>, [usize; 2])> {
    let pair = island.links.pairs[crossing.pair];
    let bodies = pair.bodies.map(|b| island.members.bodies[b].index);
    let key = |feature| Key { bodies, colliders: crossing.colliders, feature };
    if let Some(feature) = crossing.feature {
        return Some((key(feature), pair.bodies));
    }
    let mut found = std::mem::take(&mut island.touch.manifold);
    found.clear();
    let reach = ctx.model.tolerances.margin * pair.size;
    manifold(ctx, bodies, crossing.colliders, pair.bodies.map(|b| island.motion.next[b]), reach, &mut found);
    let nearest = found.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).map(|c| (key(c.feature), pair.bodies));
    island.touch.manifold = found;
    nearest
}

/// The shapes of a pair of colliders with their motion along the move.
fn motions<G: Geometry>(island: &Island<G>, ctx: &Context<G>, pair: [usize; 2], colliders: [usize; 2]) -> [Motion<G>; 2] {
    [0, 1].map(|side| {
        let body = pair[side];
        Motion {
            start: island.motion.poses[body],
            local: ctx.model.bodies[island.members.bodies[body].index].colliders[colliders[side]].local,
            twist: island.motion.half[body],
        }
    })
}

/// Fastest approach of any two points of two colliders [m/s]. Bodies that do not turn may be without end.
pub(crate) fn fastest<G: Geometry>(
    model: &Model<G>,
    bodies: [usize; 2],
    colliders: [usize; 2],
    poses: [Pose<G>; 2],
    twists: [Twist<G>; 2],
) -> f64 {
    let mut speed = (twists[0].lin - twists[1].lin).norm();
    for side in 0..2 {
        let rate = twists[side].ang.norm();
        if rate > 0.0 {
            let shape = &model.bodies[bodies[side]].colliders[colliders[side]].shape;
            let bounds = G::bounds(shape, &placed(model, bodies[side], colliders[side], &poses[side]));
            speed += rate * ((bounds.max - poses[side].position).max_abs() + (bounds.min - poses[side].position).max_abs());
        }
    }
    speed
}

/// The contacts of these colliders: detection lists them by pair; those added since stand at the end.
fn between<G: Geometry>(island: &Island<G>, pair: usize, colliders: [usize; 2]) -> impl Iterator<Item = &Near<G>> {
    let detected = &island.touch.near[..island.touch.detected];
    let first = detected.partition_point(|near| near.pair < pair);
    let own = detected[first..].iter().take_while(move |near| near.pair == pair);
    own.chain(&island.touch.near[island.touch.detected..]).filter(move |near| near.pair == pair && near.key.colliders == colliders)
}

/// Whether any contact of these colliders has a row in the present solve, or is to have one in the next.
fn has_row<G: Geometry>(island: &Island<G>, pair: usize, colliders: [usize; 2]) -> bool {
    between(island, pair, colliders)
        .any(|near| near.extra || (near.group != NO_GROUP && island.system.solve.groups.binary_search(&near.group).is_ok()))
}

/// What is known of two colliders on a move, from one look at it to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead<G: Geometry> {
    /// There is no crossing before this time \[s\].
    clear: f64,
    /// Their first crossing.
    first: Option<Crossing<G>>,
}

/// The first crossing before `limit` that gets no rows, after rows were given to all before it that do; and whether any were.
pub(crate) fn next_crossing<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, limit: f64, rows: Rows) -> (Option<Crossing<G>>, bool) {
    let mut ahead = std::mem::take(&mut island.touch.ahead);
    ahead.clear();
    let mut added = false;
    let crossing = loop {
        let Some((mut crossing, slot)) = first_crossing(island, ctx, limit, &mut ahead) else { break None };
        if !add_rows(island, ctx, &mut crossing, rows) {
            break Some(crossing);
        }
        // The rest of the move is as it was.
        ahead[slot] = Ahead { clear: 0.0, first: None };
        added = true;
    };
    island.touch.ahead = ahead;
    (crossing, added)
}

/// The earliest moment, before `limit`, at which a pair without a row would overlap, and its place in what is known, which grows.
fn first_crossing<G: Geometry>(
    island: &mut Island<G>,
    ctx: &Context<G>,
    limit: f64,
    ahead: &mut Vec<Ahead<G>>,
) -> Option<(Crossing<G>, usize)> {
    let mut first: Option<(Crossing<G>, usize)> = None;
    let mut found = std::mem::take(&mut island.touch.manifold);
    let mut slot = 0;
    for (index, pair) in island.links.pairs.iter().enumerate() {
        if ctx.interrupt.raised() {
            break;
        }
        let counts = pair.bodies.map(|body| ctx.model.bodies[island.members.bodies[body].index].colliders.len());
        debug_assert!(pair.bodies[0] != pair.bodies[1], "a pair has two bodies");
        for ca in 0..counts[0] {
            for cb in 0..counts[1] {
                let horizon = first.map_or(limit, |(crossing, _)| crossing.time);
                if slot == ahead.len() {
                    ahead.push(Ahead { clear: 0.0, first: None });
                }
                let known = &mut ahead[slot];
                if known.first.is_none() && known.clear < horizon {
                    known.first = crossing_of(island, ctx, index, [ca, cb], horizon, &mut found);
                    known.clear = horizon;
                }
                if let Some(crossing) = known.first
                    && first.is_none_or(|(earliest, _)| crossing.time < earliest.time)
                {
                    first = Some((crossing, slot));
                }
                slot += 1;
            }
        }
    }
    island.touch.manifold = found;
    first
}

/// The first crossing of two colliders up to the horizon.
fn crossing_of<G: Geometry>(
    island: &Island<G>,
    ctx: &Context<G>,
    index: usize,
    colliders: [usize; 2],
    horizon: f64,
    found: &mut Vec<Contact<G>>,
) -> Option<Crossing<G>> {
    let pair = &island.links.pairs[index];
    let bodies = pair.bodies.map(|b| island.members.bodies[b].index);
    let way = horizon
        * fastest(ctx.model, bodies, colliders, pair.bodies.map(|b| island.motion.poses[b]), pair.bodies.map(|b| island.motion.half[b]));
    let touch = ctx.model.tolerances.touch * pair.size;
    if has_row(island, index, colliders) {
        // A crossing goes from one side of touching to the other.
        return if way <= touch { None } else { feature_crossing(island, ctx, index, colliders, horizon, found) };
    }
    if way <= SLOW * ctx.model.tolerances.margin * pair.size && between(island, index, colliders).next().is_none() {
        // Nothing is as near as they come.
        return None;
    }
    let [a, b] = [0, 1].map(|side| &ctx.model.bodies[island.members.bodies[pair.bodies[side]].index].colliders[colliders[side]].shape);
    let [motion_a, motion_b] = motions(island, ctx, pair.bodies, colliders);
    match time_of_impact(a, &motion_a, b, &motion_b, horizon, touch) {
        Touch::At(time) | Touch::Capped { time } => Some(Crossing { time, pair: index, colliders, speed: 0.0, feature: None }),
        Touch::Never | Touch::Overlapping => None,
    }
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
    let pair = island.links.pairs[index];
    let bodies = pair.bodies.map(|b| island.members.bodies[b].index);
    let tolerance = ctx.model.tolerances.touch * pair.size;
    let at = |s: f64| pair.bodies.map(|b| island.motion.poses[b].advanced(island.motion.half[b], s));
    found.clear();
    manifold(ctx, bodies, colliders, at(horizon), 0.0, found);
    let mut first: Option<Crossing<G>> = None;
    for contact in found.iter().filter(|c| c.gap < -tolerance) {
        let key = Key { bodies, colliders, feature: contact.feature };
        if between(island, index, colliders).any(|n| n.key == key && (n.extra || n.group != NO_GROUP)) {
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
pub(crate) fn manifold<G: Geometry>(
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
pub(crate) fn feature_gap<G: Geometry>(
    ctx: &Context<G>,
    bodies: [usize; 2],
    colliders: [usize; 2],
    feature: G::Feature,
    poses: [Pose<G>; 2],
) -> f64 {
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

/// Which crossings get rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Those slower than their rest speed.
    Slow,
    /// All, at the contacts that are crossed first.
    First,
    /// All, at every contact of the colliders.
    Every,
}

/// Where a crossing closes slower than its rest speed, or whatever its speed is, its contacts get rows, and the move keeps its length. Returns whether
/// rows were added; the closing speed is left in the crossing.
pub(crate) fn add_rows<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, crossing: &mut Crossing<G>, rows: Rows) -> bool {
    let pair = island.links.pairs[crossing.pair];
    let poses = pair.bodies.map(|b| island.motion.poses[b].advanced(island.motion.half[b], crossing.time));
    let bodies = pair.bodies.map(|b| island.members.bodies[b].index);
    let mut found = std::mem::take(&mut island.touch.manifold);
    found.clear();
    manifold(ctx, bodies, crossing.colliders, poses, ctx.model.tolerances.margin * pair.size, &mut found);
    match crossing.feature {
        Some(feature) => found.retain(|c| c.feature == feature),
        None if rows == Rows::Every => {}
        None => {
            let nearest = found.iter().fold(f64::INFINITY, |m, c| m.min(c.gap));
            found.retain(|c| c.gap <= nearest + CROSSING_BAND * pair.size);
        }
    }
    let mut slow = !found.is_empty();
    for contact in &found {
        let arms = [contact.point_a - poses[0].position, contact.point_b - poses[1].position];
        let opening = contact.normal.dot(island.motion.half[pair.bodies[0]].at(arms[0]) - island.motion.half[pair.bodies[1]].at(arms[1]));
        slow &= -opening <= rest_speed_at(island, ctx, pair.bodies, contact.normal, arms);
        crossing.speed = crossing.speed.max(-opening);
    }
    let mut added = false;
    if slow || rows != Rows::Slow {
        for contact in &found {
            let key = Key { bodies, colliders: crossing.colliders, feature: contact.feature };
            if let Some(near) = island.touch.near.iter_mut().find(|n| n.pair == crossing.pair && n.key == key) {
                added |= !near.extra;
                near.extra = true;
                continue;
            }
            let mut near = Near::extra(key, *contact, crossing.pair, pair.bodies);
            near.contact = near.at(ctx.model, &island.motion.poses);
            island.touch.near.push(near);
            added = true;
        }
    }
    island.touch.manifold = found;
    added
}

/// Signed distance of two colliders at given body poses.
pub(crate) fn separation<G: Geometry>(
    ctx: &Context<G>,
    bodies: [usize; 2],
    colliders: [usize; 2],
    poses: [Pose<G>; 2],
    cutoff: f64,
) -> f64 {
    let shapes = [0, 1].map(|side| &ctx.model.bodies[bodies[side]].colliders[colliders[side]].shape);
    let placed = [0, 1].map(|side| placed(ctx.model, bodies[side], colliders[side], &poses[side]));
    G::separation(shapes[0], &placed[0], shapes[1], &placed[1], cutoff)
}

/// Whether a pair without a row overlaps at the end of the move (the source's test).
pub(crate) fn overlaps_after<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> bool {
    island.links.pairs.iter().enumerate().any(|(index, pair)| {
        let bodies = pair.bodies.map(|b| island.members.bodies[b].index);
        let counts = bodies.map(|b| ctx.model.bodies[b].colliders.len());
        (0..counts[0]).any(|ca| {
            (0..counts[1]).any(|cb| {
                !has_row(island, index, [ca, cb])
                    && separation(ctx, bodies, [ca, cb], pair.bodies.map(|b| island.motion.next[b]), 0.0) < -HALVING_DEPTH * pair.size
            })
        })
    })
}
