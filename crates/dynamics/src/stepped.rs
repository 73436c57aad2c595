//! The stepped move: what is left of a step once its island has spent what it may on events, theory (2.25)-(2.29).
//!
//! Every pair that may meet within the move gets rows, without restitution, and nothing cuts it. What landed fast then takes the scene's own impact
//! law at the end of the move, and no energy is gained by having been late.

use crate::assembly::Source;
use crate::contacts::{Key, Near};
use crate::crossing::{SLOW, fastest, manifold};
use crate::error::StepError;
use crate::impact::{self, ImpactScratch, rest_speed, root};
use crate::island::parts::{Members, Motion, System};
use crate::island::{Context, Island};
use crate::ledger::Flow;
use crate::options::TimeOfImpact;
use crate::predict::kick;
use crate::project::potential;
use crate::sparse_rows::{HEAP, ROW};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};

/// Solves times bodies that an island may spend on a step with events before the rest of it is stepped. A solve costs in proportion to the bodies, or
/// more, and for many bodies less is allowed: a wall of twelve bricks and a ball may spend 153 solves, a mechanism of four 300. Without joints and with them.
const ALLOWANCE: [usize; 2] = [2000, 1200];

/// Solves that the largest island may spend likewise.
const LEAST_SOLVES: usize = 10;

/// Bodies from which on less is allowed, without joints and with them.
const FEW: [usize; 2] = [HEAP, 10];

/// Factorisations over bodies that a solve may take on average before they count in its place. Those of dense matrices do not count: a factor that is kept
/// from the step before would make a step that goes on differ from one that is resumed.
const FACTORISATIONS: usize = 20;

/// Times as many solves that an island of few rows may spend which nothing has cut yet.
const PATIENCE: usize = 2;

/// Times a stepped move is solved again because a pair without a row overlaps on it; what still does then is left to the projection.
pub(crate) const STEPPED_TRIALS: usize = 10;

/// Relative rise of the energy that is rounding.
const ROUNDING: f64 = 1e-14;

/// What the end of a stepped move needs to know of its start.
#[derive(Debug)]
pub(crate) struct Stepped<G: Geometry> {
    /// Velocities of the end without contacts and limits: half the loads of the move, and what motors, joint friction and soft springs pushed.
    unheld: Vec<Twist<G>>,
    /// Velocities of the move, where a strike replaces them.
    plastic: Vec<Twist<G>>,
    /// What each loaded contact and limit of the move lost: its bodies, by landing, by friction.
    losses: Vec<([usize; 2], f64, f64)>,
    /// Kinetic and potential energy and the books at the start.
    energy: f64,
    flow: Flow,
    parent: Vec<usize>,
    struck: Vec<bool>,
    taken: Vec<bool>,
    any: bool,
}

impl<G: Geometry> Default for Stepped<G> {
    fn default() -> Self {
        Stepped {
            unheld: Vec::new(),
            plastic: Vec::new(),
            losses: Vec::new(),
            energy: 0.0,
            flow: Flow::default(),
            parent: Vec::new(),
            struck: Vec::new(),
            taken: Vec::new(),
            any: false,
        }
    }
}

/// Whether an island has spent what it may on events in this step, theory (2.25). Bodies count, neither contacts nor seconds.
pub(crate) fn spent<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> bool {
    if ctx.model.options.time_of_impact != TimeOfImpact::Event {
        return false;
    }
    let report = &island.books.report;
    let bodies = island.members.bodies.iter().filter(|body| body.dynamic).count().max(1);
    let jointed = !island.system.assembly.equalities.is_empty();
    // Modes change all over in a heap: from some size on nothing cuts its step.
    let heap = !jointed && island.system.assembly.busiest > ROW && bodies >= HEAP;
    let (allowance, few) = (ALLOWANCE[usize::from(jointed)], FEW[usize::from(jointed)]);
    let solves = if heap { 0 } else { LEAST_SOLVES.max(allowance / bodies * few / bodies.max(few)) };
    if !island.system.assembly.sparse && report.events == 0 {
        // Few rows are cheap to solve again, and mostly only events make a step spend much on them.
        return report.solves >= PATIENCE * solves;
    }
    report.events >= ctx.model.tolerances.max_events
        || report.solves >= solves
        || island.system.solve.sparse.factors >= FACTORISATIONS * solves
}

/// Whether this integrator has stepped moves.
pub(crate) fn steps<G: Geometry>(ctx: &Context<G>) -> bool {
    !ctx.model.options.scheme().by_means()
}

/// Marks every contact that may be met within a move of length t for a row: gap <= -t u_n(v + s t a) + margin, theory (2.26).
pub(crate) fn widen<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) {
    let model = ctx.model;
    let mut found = std::mem::take(&mut island.touch.manifold);
    let before = island.touch.near.len();
    for index in 0..island.links.pairs.len() {
        let pair = island.links.pairs[index];
        let twists = pair.bodies.map(|b| kick(island, b, &model.options, t));
        let bodies = pair.bodies.map(|b| island.members.bodies[b].index);
        let poses = pair.bodies.map(|b| island.motion.poses[b]);
        let margin = model.tolerances.margin * pair.size;
        for ca in 0..model.bodies[bodies[0]].colliders.len() {
            for cb in 0..model.bodies[bodies[1]].colliders.len() {
                let colliders = [ca, cb];
                let speed = fastest(model, bodies, colliders, poses, twists);
                if t * speed <= SLOW * margin {
                    // Nothing comes nearer than detection has looked.
                    mark_near(island, index, colliders, margin);
                    continue;
                }
                found.clear();
                manifold(ctx, bodies, colliders, poses, t * speed + margin, &mut found);
                for contact in &found {
                    let arms = [contact.point_a - poses[0].position, contact.point_b - poses[1].position];
                    let opening = contact.normal.dot(twists[0].at(arms[0]) - twists[1].at(arms[1]));
                    if contact.gap <= margin - t * opening {
                        let key = Key { bodies, colliders, feature: contact.feature };
                        match known(island, before, index, &key) {
                            Some(place) => island.touch.near[place].extra = true,
                            None => island.touch.near.push(Near::extra(key, *contact, index, pair.bodies)),
                        }
                    }
                }
            }
        }
    }
    island.touch.manifold = found;
}

/// Marks the contacts of two colliders that are within the margin for a row.
fn mark_near<G: Geometry>(island: &mut Island<G>, pair: usize, colliders: [usize; 2], margin: f64) {
    let detected = &mut island.touch.near[..island.touch.detected];
    let first = detected.partition_point(|near| near.pair < pair);
    for near in detected[first..].iter_mut().take_while(|near| near.pair == pair) {
        near.extra |= near.key.colliders == colliders && near.contact.gap <= margin;
    }
}

/// Where a contact of a pair is listed: among those detected, by rising pair, those added since, or the last, which are of this pair.
fn known<G: Geometry>(island: &Island<G>, before: usize, pair: usize, key: &Key<G>) -> Option<usize> {
    let detected = &island.touch.near[..island.touch.detected];
    let own = detected.partition_point(|near| near.pair < pair)..detected.partition_point(|near| near.pair <= pair);
    let last = (before..island.touch.near.len()).rev().take_while(|&k| island.touch.near[k].pair == pair);
    own.chain(island.touch.detected..before).chain(last).find(|&k| island.touch.near[k].key == *key)
}

/// Whether something landed fast on a stepped move that is solved: where nothing did, the same move would have been found by looking for events.
pub(crate) fn landed<G: Geometry>(island: &Island<G>, ctx: &Context<G>, t: f64) -> bool {
    let margin = ctx.model.tolerances.margin;
    island.system.solve.groups.iter().zip(&island.system.solve.first).any(|(&group, &row)| {
        let group = &island.system.assembly.groups[group];
        let Source::Contact(c) = group.source else { return false };
        let near = &island.touch.near[c];
        if island.system.solve.impulses[row] <= 0.0
            || near.touching
            || (near.active && near.contact.gap <= margin * island.links.pairs[near.pair].size)
        {
            return false;
        }
        let arms = near.arms(&island.motion.poses);
        let [a, b] = [0, 1].map(|side| kick(island, near.bodies[side], &ctx.model.options, t).at(arms[side]));
        near.contact.normal.dot(b - a) > rest_speed(island, ctx, near)
    })
}

/// Takes down what the end of a stepped move needs, after its solve and before its poses are committed.
pub(crate) fn note_start<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) {
    let mut stepped = std::mem::take(&mut island.stepped);
    stepped.energy = island.kinetic(&island.motion.twists) + potential(island, ctx);
    stepped.flow = island.books.flow;
    stepped.unheld.clear();
    stepped.unheld.extend((0..island.members.bodies.len()).map(|body| kick(island, body, &ctx.model.options, t)));
    stepped.losses.clear();
    let Island { system: System { assembly, solve, .. }, motion: Motion { twists, half, .. }, .. } = island;
    for (position, &index) in solve.groups.iter().enumerate() {
        let (group, row) = (&assembly.groups[index], solve.first[position]);
        let lost = |k: usize| {
            let line = &assembly.lines[group.first + k];
            let rows = &assembly.equalities;
            -0.5 * solve.impulses[row + k] * (rows.line_speed(line, twists) + rows.line_speed(line, half))
        };
        match group.source {
            Source::Contact(_) | Source::Limit { .. } | Source::TendonLimit { .. } if solve.impulses[row] == 0.0 => {}
            Source::Contact(_) => {
                stepped.losses.push((assembly.lines[group.first].bodies, lost(0), (1..group.rows).map(lost).sum()));
            }
            Source::Limit { .. } => stepped.losses.push((assembly.lines[group.first].bodies, lost(0), 0.0)),
            // Nothing strikes along a tendon: what its limits lose they lose for good.
            Source::TendonLimit { .. } => {}
            Source::Motor { .. } | Source::Friction { .. } | Source::Spring { .. } | Source::Tendon { .. } => {
                assembly.equalities.line_push(&assembly.lines[group.first], solve.impulses[row], &mut stepped.unheld);
            }
        }
    }
    island.stepped = stepped;
}

/// Restitution at the end of a stepped move, with poses and rows at q' and v1/2 in `island.motion.half`: components in which a contact that was loaded closes
/// fast under the velocities without contacts discard the impulses of the move and take the law's answer instead, theory (2.27).
pub(crate) fn rebound<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    let mut stepped = std::mem::take(&mut island.stepped);
    // The tape has no place for strikes at the end of a move; the substep is reported as stepped.
    let observer = island.books.observer.take();
    let start = std::mem::take(&mut island.motion.twists);
    island.motion.twists = std::mem::take(&mut stepped.unheld);
    {
        let Island { system: System { assembly, solve, .. }, motion: Motion { twists, .. }, .. } = island;
        solve.joint_target.clear();
        solve.joint_target.resize(assembly.equalities.len(), 0.0);
        assembly.equalities.spin_rotors(twists);
        assembly.hold_joints_and_rotors(&solve.joint_target, &mut solve.reaction, twists);
    }
    let mut work = std::mem::take(&mut island.impact);
    let outcome = strike(island, ctx, &mut stepped, &mut work);
    island.impact = work;
    stepped.plastic.clear();
    stepped.plastic.extend_from_slice(&island.motion.half);
    for body in (0..island.members.bodies.len()).filter(|&body| stepped.struck[body]) {
        island.motion.half[body] = island.motion.twists[body];
    }
    if stepped.struck.iter().any(|struck| *struck) {
        island.system.assembly.equalities.spin_rotors(&island.motion.half);
    }
    stepped.unheld = std::mem::replace(&mut island.motion.twists, start);
    // What the contacts of the move had lost was not lost there.
    for &([a, b], landing, friction) in &stepped.losses {
        if stepped.struck[a] || stepped.struck[b] {
            island.books.flow.contact_loss -= landing;
            island.books.flow.friction_loss -= friction;
        }
    }
    island.books.observer = observer;
    island.stepped = stepped;
    outcome
}

/// Lets every struck component jump from the velocities without contacts.
fn strike<G: Geometry>(
    island: &mut Island<G>,
    ctx: &Context<G>,
    stepped: &mut Stepped<G>,
    work: &mut ImpactScratch,
) -> Result<(), StepError> {
    let Stepped { parent, struck, taken, any, losses, .. } = stepped;
    for flags in [&mut *struck, &mut *taken] {
        flags.clear();
        flags.resize(island.members.bodies.len(), false);
    }
    *any = false;
    parent.clear();
    parent.extend(0..island.members.bodies.len());
    let takes_part = |island: &Island<G>, near: &Near<G>| impact::live(island, near) && (near.active || (near.had_row && near.touching));
    // Whatever pushed in the move joins, even where it is not found again at its end: an impulse is discarded on both sides or on neither.
    let joins = island.touch.near.iter().filter(|near| takes_part(island, near)).map(|near| near.bodies);
    let pushed = losses.iter().map(|&(bodies, ..)| bodies);
    for [a, b] in joins.chain(pushed).chain(island.links.joints.iter().map(|joint| joint.bodies)) {
        if island.members.bodies[a].dynamic && island.members.bodies[b].dynamic {
            let (a, b) = (root(parent, a), root(parent, b));
            parent[a.max(b)] = a.min(b);
        }
    }
    for first in 0..island.touch.near.len() {
        let near = &island.touch.near[first];
        if !takes_part(island, near) || !near.active {
            continue;
        }
        let line = &island.system.assembly.lines[island.system.assembly.groups[near.group].first];
        let component = root(parent, dynamic_of(island, near.bodies));
        if struck[component] || -line.speed(&island.motion.twists) <= rest_speed(island, ctx, near) {
            continue;
        }
        struck[component] = true;
        *any = true;
    }
    // A component is struck as a whole, and every component once, in the order of its first contact.
    for body in 0..island.members.bodies.len() {
        struck[body] = island.members.bodies[body].dynamic && struck[root(parent, body)];
    }
    for first in 0..island.touch.near.len() {
        let near = &island.touch.near[first];
        let body = dynamic_of(island, near.bodies);
        if !takes_part(island, near) || !struck[body] {
            continue;
        }
        let component = root(parent, body);
        if std::mem::replace(&mut taken[component], true) {
            continue;
        }
        let own = |island: &Island<G>, parent: &mut [usize], k: usize| {
            let other = &island.touch.near[k];
            takes_part(island, other) && root(parent, dynamic_of(island, other.bodies)) == component
        };
        work.members.clear();
        for k in first..island.touch.near.len() {
            if own(island, parent, k) {
                work.members.push(k);
            }
        }
        impact::resolve(island, ctx, work, false)?;
    }
    Ok(())
}

fn dynamic_of<G: Geometry>(island: &Island<G>, [a, b]: [usize; 2]) -> usize {
    if island.members.bodies[a].dynamic { a } else { b }
}

/// After the second kick: whether a strike left more energy than the start and the work since allow, theory (2.28). What the velocities may have at most
/// is returned then; they are put aside, and `island.motion.half` is again that of the move, for the kick without a strike.
pub(crate) fn too_much<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Option<f64> {
    if !island.stepped.any {
        return None;
    }
    let most = allowed(island, ctx);
    let kinetic = island.kinetic(&island.motion.twists);
    if kinetic <= most + ROUNDING * (kinetic + island.stepped.energy.abs()) {
        return None;
    }
    let Island { motion: Motion { half, twists, .. }, stepped, .. } = island;
    std::mem::swap(half, &mut stepped.plastic);
    stepped.unheld.clear();
    stepped.unheld.extend_from_slice(twists);
    Some(most)
}

/// Kinetic energy that the start and the work since allow at the present poses \[J\].
fn allowed<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> f64 {
    let (now, then) = (&island.books.flow, &island.stepped.flow);
    let work = now.work_in - then.work_in - (now.damping_loss - then.damping_loss);
    island.stepped.energy + work - potential(island, ctx)
}

/// The largest part of the strike that keeps the kinetic energy: velocities v_p + x (v - v_p) with the v put aside and v_p, without a strike, in the island.
pub(crate) fn blend<G: Geometry>(island: &mut Island<G>, most: f64) {
    let Island { members: Members { bodies, .. }, motion: Motion { twists, .. }, stepped, .. } = island;
    let struck = &stepped.unheld;
    // K(x) = K_p + x b + x^2 c.
    let (mut linear, mut square) = (0.0, 0.0);
    let mut kinetic = 0.0;
    for ((body, plastic), struck) in bodies.iter().zip(twists.iter()).zip(struck).filter(|((body, _), _)| body.dynamic) {
        let change = struck.plus(-1.0, *plastic);
        kinetic += body.kinetic(plastic);
        linear += body.momentum(plastic).power(&change);
        square += body.kinetic(&change);
    }
    let left = most - kinetic;
    let root = (linear * linear + 4.0 * square * left.max(0.0)).sqrt();
    // The smaller of two forms that cancel: x = (-b + root) / 2c = 2 left / (b + root).
    let part = if left <= 0.0 || square <= 0.0 {
        0.0
    } else if linear > 0.0 {
        2.0 * left / (linear + root)
    } else {
        (root - linear) / (2.0 * square)
    };
    let part = part.clamp(0.0, 1.0);
    for (plastic, struck) in twists.iter_mut().zip(struck) {
        *plastic = plastic.plus(part, struck.plus(-1.0, *plastic));
    }
}

/// Books what the strikes of a stepped move cost: all that is missing from the energy and not in the books yet, since a strike at the end of a move
/// is not where it was, theory (2.29).
pub(crate) fn settle<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) {
    if !island.stepped.any {
        return;
    }
    let (now, then) = (&island.books.flow, &island.stepped.flow);
    let booked = now.work_in - then.work_in - (now.losses() - then.losses()) + (now.joint_work - then.joint_work);
    let energy = island.kinetic(&island.motion.twists) + potential(island, ctx);
    island.books.flow.impact_loss -= energy - island.stepped.energy - booked;
}
