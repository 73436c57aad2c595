//! Stage 5 over a move: impulses act along the rows of the start pose, and targets are corrected until joints, active contacts and active limits hold at
//! the end of it and a sticking contact has no mean slip over it, theory (2.17)-(2.19).

use crate::assembly::{Assembly, Source};
use crate::contacts::arms;
use crate::energy_momentum;
use crate::island::parts::{Books, Links, Motion, System, Touch};
use crate::island::{Context, Island};
use crate::options::{ImpactLaw, TimeOfImpact};
use crate::predict::kick_found;
use crate::rotor;
use crate::solve::{OpenRow, Phase, resolve, select};
use crate::sparse_rows::SPEED_WANTED;
use crate::tendon::room;
use carom_geometry::Geometry;
use carom_math::Vector;
use carom_solve::status::{Method, Outcome, RESIDUAL_WANTED};

/// Rounds of the end-of-move correction. Flat contacts need one, curved ones and hinges 3-6; a move that needs more is too long.
const CORRECTION_CAP: usize = 40;

/// The same in a stepped move.
const STEPPED_ROUNDS: usize = 10;

/// Rounds over which the rate of the correction of joints is judged: a move that would not arrive within the cap at that rate is too long already.
const RATE_ROUNDS: usize = 6;

/// Logarithm of the part that the miss of contacts falls to in a round on average over as many; slower, and it stands still.
const STILL: f64 = -0.02;

/// Rounds after the first that may need a solve of their own, because a mode changed, before contacts that touch count as closed.
const IDLE_FLIPS: usize = 1;

/// Rounds in a row that may each miss by `RISE` times as much as the one before: contacts that roll over an edge within the move do not come back.
const RISES: usize = 3;

/// See `RISES`.
const RISE: f64 = 1.5;

/// How much larger a miss may be where the solve itself was inaccurate: 1e-9 of the size instead of 1e-12.
pub(crate) const INACCURATE_SLACK: f64 = 1e3;

/// Relative residual above which a solve whose targets are not met by half from one round to the next counts as a jam: far above what rounding leaves
/// of any problem that has a solution.
const UNSOLVABLE: f64 = 1e-8;

/// How much further than the rows with impulses have yet to go a row without one may overlap before it gets one. Where loads are shared
/// arbitrarily (the two rims of a wheel) the load would otherwise pass to and fro between them, and the move with it.
pub(crate) const OPEN_SLACK: f64 = 2.0;

/// Rounds in which joint impulses alone close the joints; each squares the error.
const CLOSING_CAP: usize = 4;

/// Position errors below this many units in the last place of the largest coordinate are rounding.
const ROUNDING: f64 = 8.0;

/// How the solve of a move ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Joints and active contacts hold at the end of the move.
    pub converged: bool,
    /// The last solve.
    pub outcome: Outcome,
}

/// Stages 3 to 5 for a move of length t: velocities v1/2 in `island.motion.half`, poses q' in `island.motion.next`.
pub(crate) fn hold<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) -> Held {
    hold_rows(island, ctx, t, ctx.model.options.start_pose_only())
}

/// The same where events are looked for or, `stepped`, are not: then few rounds correct it, and where they do not end the rows of the start pose are
/// taken and the overlap is left to the projection, theory (2.26). Rounds that diverge would feed energy.
pub(crate) fn hold_move<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64, stepped: bool) -> Held {
    if !stepped || ctx.model.options.start_pose_only() {
        return hold(island, ctx, t);
    }
    let held = hold_within(island, ctx, t, false, STEPPED_ROUNDS);
    if held.converged {
        return held;
    }
    let mut held = hold_within(island, ctx, t, true, STEPPED_ROUNDS);
    if !island.system.assembly.equalities.is_empty() {
        // Joints come before overlap; a move on which they do not close is too long.
        close_joints(island, ctx, t);
        held.converged = joint_miss(island, ctx, t, true) <= 1.0;
    }
    held
}

/// The same with rows at the start pose only where `uncorrected`: what is left of a move whose correction does not converge.
pub(crate) fn hold_rows<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64, uncorrected: bool) -> Held {
    hold_within(island, ctx, t, uncorrected, CORRECTION_CAP)
}

/// The same in so many rounds at most.
fn hold_within<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64, uncorrected: bool, cap: usize) -> Held {
    let options = &ctx.model.options;
    let told = island.books.report.residual;
    island.system.solve.uncorrected = uncorrected;
    island.system.solve.diverged = false;
    island.system.solve.ahead = false;
    if options.scheme().by_means() {
        return energy_momentum::hold(island, ctx, t, uncorrected);
    }
    select_move(island, ctx, t);
    rotor::begin_move(island, ctx);
    if uncorrected {
        island.system.solve.tried.forget();
    } else if island.system.assembly.sparse {
        let Island { system: System { assembly, solve, .. }, .. } = island;
        solve.begin_where_tried(assembly);
    }
    if options.impact == ImpactLaw::Newton && options.time_of_impact != TimeOfImpact::Event {
        restitution_targets(island, ctx);
    }
    // The targets of redundant rows are answered by no impulse and say nothing of the next move.
    if !uncorrected && island.system.assembly.redundant == 0 {
        let equalities = &island.system.assembly.equalities;
        island.links.curvature.guess(equalities.spans(), t, &equalities.now.errors, &mut island.system.solve.joint_target);
    }
    // Joints alone need no start to come back to.
    let alone = island.system.solve.lines.is_empty();
    let mut scratch = std::mem::take(if alone { &mut island.motion.half } else { &mut island.motion.scratch });
    scratch.clear();
    // Where the gyroscopic torque of a body is not found the move is too long.
    let mut turned = true;
    scratch.extend((0..island.members.bodies.len()).map(|body| {
        let (twist, found) = kick_found(island, body, options, t);
        turned &= found;
        twist
    }));
    if alone {
        std::mem::swap(&mut island.motion.half, &mut scratch);
    }
    let mut held = Held { converged: false, outcome: Outcome::failed(0, Method::Trivial) };
    let (mut before, mut last) = (f64::INFINITY, f64::INFINITY);
    let mut misses = [f64::INFINITY; RATE_ROUNDS];
    let (mut flips, mut rises, mut settled) = (0, 0, false);
    for round in 0..cap {
        let Island { system: System { assembly, solve, solver }, motion: Motion { half, .. }, books: Books { report, .. }, .. } = island;
        let solves = report.solves;
        if alone && round == 0 {
            assembly.hold_unsettled(&solve.joint_target, true, &mut solve.reaction, half);
            held.outcome = Outcome::judge(0.0, RESIDUAL_WANTED, 0, Method::Trivial);
            report.solves += usize::from(!assembly.equalities.is_empty());
        } else if alone {
            // The velocities meet the targets of the round before, and what the errors move them by is all that is lacking.
            solve.scratch.clear();
            solve.scratch.extend(assembly.ahead.errors.iter().map(|error| -error / t));
            // Where the next round will do as it is there is nothing to gain.
            if round > 1 && last * last > before {
                solve.secants.bend(&mut solve.scratch, &mut solve.joint_target);
            } else {
                solve.secants.begin(&solve.scratch);
            }
            assembly.change_joints(&solve.joint_target, &mut solve.scratch, &mut solve.reaction, half);
            report.substitutions += 1;
        } else {
            held.outcome = resolve(assembly, solve, solver, options.friction_cone, &scratch, half, report);
        }
        if round == 0 || !island.system.assembly.equalities.is_empty() {
            island.motion.next.clear();
            island.motion.next.extend(island.motion.poses.iter().zip(&island.motion.half).map(|(pose, twist)| pose.advanced(*twist, t)));
        } else {
            // What no row pushes moves as in the first round.
            for body in (0..island.members.bodies.len()).filter(|&body| island.system.solve.pushed[body]) {
                island.motion.next[body] = island.motion.poses[body].advanced(island.motion.half[body], t);
            }
        }
        if uncorrected || t == 0.0 {
            held.converged = true;
            break;
        }
        // What was not solved is not corrected either: every round would try every method anew.
        let missed = !held.outcome.is_solved() && island.system.solve.missed > SPEED_WANTED;
        if missed && cap == STEPPED_ROUNDS && island.system.assembly.equalities.is_empty() {
            island.system.solve.uncorrected = true;
            held.converged = true;
            break;
        }
        let worst = correct_targets(island, ctx, t);
        island.books.report.corrections += 1;
        // Targets cannot be met more exactly than the problem was solved. Contacts that open and close by turns miss by their speeds times t however short the
        // move: what the last round leaves of them is taken too, or thousands of moves would be sought that hide it.
        let rate = (worst / misses[round % RATE_ROUNDS]).ln() / RATE_ROUNDS as f64;
        // Joints come first: with them every round may still help.
        let jointed = !island.system.assembly.equalities.is_empty();
        let still = !alone && !jointed && round >= 2 * RATE_ROUNDS && rate > STILL;
        let stalled = still || (!alone && round + 1 == cap);
        // What touches to 1e-9 of the size is not worth another solve, but worth a back-substitution: modes that keep changing there decide nothing.
        flips += usize::from(round > 0 && island.books.report.solves > solves);
        let idle = cap == STEPPED_ROUNDS || (flips > IDLE_FLIPS && island.books.report.solves > solves);
        let touches = !alone && idle && !jointed;
        if worst <= if held.outcome.is_solved() && !stalled && !touches { 1.0 } else { INACCURATE_SLACK } {
            held.converged = true;
            island.system.solve.ahead = worst <= 1.0;
            if worst > 1.0 {
                island.books.report.inaccurate |= !touches;
                settle(island);
                settled = true;
                close_joints(island, ctx, t);
                // A move on which joints do not close is too long, whatever its contacts do.
                held.converged = island.system.assembly.equalities.is_empty() || joint_miss(island, ctx, t, true) <= 1.0;
            }
            break;
        }
        if !worst.is_finite() || ctx.interrupt.raised() {
            break;
        }
        if held.outcome.residual > UNSOLVABLE && worst > 0.5 * last {
            // What is not solved is not corrected either, and every round tries every method anew: friction has jammed.
            island.system.solve.jammed = true;
            break;
        }
        rises = if worst > RISE * last { rises + 1 } else { 0 };
        if still || (rises == RISES && !alone && !jointed) {
            // Contacts that open and close by turns do so however often they are asked.
            island.system.solve.diverged = rises == RISES;
            break;
        }
        if alone && round >= RATE_ROUNDS && worst.ln() > -rate * (cap - round) as f64 {
            break;
        }
        misses[round % RATE_ROUNDS] = worst;
        (before, last) = (last, worst);
    }
    if !settled {
        settle(island);
    }
    held.converged &= turned;
    if island.system.assembly.sparse && held.converged && !uncorrected {
        island.system.solve.note_tried();
    }
    // What counts is the last round, and that only where the move is taken.
    island.books.report.residual = if held.converged { told.max(island.system.solve.missed) } else { told };
    if !alone {
        island.motion.scratch = scratch;
    }
    island.system.solve.closed = held.converged && !uncorrected && t > 0.0;
    held
}

/// What the joints did in the move as it stands.
fn settle<G: Geometry>(island: &mut Island<G>) {
    let Island { system: System { assembly, solve, .. }, motion: Motion { half, .. }, .. } = island;
    solve.settle(assembly, half);
}

/// Joints exact last: where contacts were solved only so far, what they leave of the joint errors at the end of the move is taken out by joint
/// impulses alone.
fn close_joints<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) {
    let mut impulses = std::mem::take(&mut island.system.solve.scratch);
    for _ in 0..CLOSING_CAP {
        let worst = joint_miss(island, ctx, t, true);
        if worst <= 1.0 {
            break;
        }
        let Island { system: System { assembly, solve, .. }, motion: Motion { half, next, poses, .. }, .. } = island;
        assembly.hold_joints(&solve.joint_target, &mut impulses, half);
        solve.reaction.iter_mut().zip(&impulses).for_each(|(sum, more)| *sum += more);
        next.clear();
        next.extend(poses.iter().zip(half.iter()).map(|(pose, twist)| pose.advanced(*twist, t)));
    }
    island.system.solve.scratch = impulses;
}

/// Selects the groups of a move.
pub(crate) fn select_move<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) {
    let margin = ctx.model.tolerances.margin;
    select(island, ctx, Phase::Move, t, |near, pair| {
        near.touching || near.extra || (near.active && near.contact.gap <= margin * pair.size)
    });
}

/// Newton restitution inside the problem: c = k min(0, J v) where the approach is faster than the rest speed, theory (2.16).
fn restitution_targets<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) {
    // One that does not rebound at all is corrected over the move like any other; where none is, it answers to its coefficient as the others do.
    let least = if ctx.model.options.start_pose_only() { 0.0 } else { f64::MIN_POSITIVE };
    for position in 0..island.system.solve.groups.len() {
        let group = island.system.assembly.groups[island.system.solve.groups[position]];
        if let Source::Contact(c) = group.source {
            let near = &island.touch.near[c];
            let approach = island.system.assembly.lines[group.first].speed(&island.motion.twists);
            let restitution = island.links.pairs[near.pair].restitution;
            if near.touching && restitution >= least && approach < -crate::impact::rest_speed(island, ctx, near) {
                island.system.solve.target[island.system.solve.first[position]] = -restitution * approach;
                island.system.solve.leaving[position] = true;
            }
        }
    }
}

/// Moves the targets by what joints, active contacts and limits miss at the end of the move; returns the worst miss over its
/// tolerance (at most 1 means done), theory (2.18).
pub(crate) fn correct_targets<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) -> f64 {
    let mut worst = joint_miss(island, ctx, t, false);
    let mut to_go: f64 = 0.0;
    let model = ctx.model;
    let Island {
        links: Links { joints, tendons, pairs, .. },
        touch: Touch { near, .. },
        system: System { assembly, solve, .. },
        motion: Motion { next, half, poses, .. },
        ..
    } = island;
    // What a solve may miss in speed it may miss over the move.
    let rough = model.tolerances.solve.map_or(0.0, |speed| speed * t);
    // So many rows contradict each other by what they touch: there a gap within touching is closed, theory (2.19).
    let band = if assembly.crowded { model.tolerances.touch } else { 0.0 };

    solve.open.clear();
    for (position, &index) in solve.groups.iter().enumerate() {
        let group = assembly.groups[index];
        let row = solve.first[position];
        let pushes = solve.impulses[row] > 0.0;
        if solve.leaving[position] {
            continue;
        }
        match group.source {
            Source::Contact(c) => {
                let contact = &near[c];
                let size = pairs[contact.pair].size;
                let then = contact.at(model, next);
                let reach = then.point_a.max_abs();
                let tolerance =
                    (model.tolerances.position * size).max(ROUNDING * f64::EPSILON * (reach + size)).max(rough).max(band * size);
                let start = contact.contact.gap;
                let deeper = then.gap < start - tolerance;
                // Overlap beyond touching is left alone unless it deepens. Within touching the sign of the gap is rounding and must not decide.
                if start < -model.tolerances.touch * size && then.gap < 0.0 && !deeper {
                    continue;
                }
                let miss = if start.abs() <= band * size { then.gap - start } else { then.gap - start.min(0.0) };
                if !pushes {
                    solve.open.push(OpenRow { row, speed: assembly.lines[group.first].speed(half), miss, tolerance });
                    continue;
                }
                worst = worst.max(miss.abs() / tolerance);
                solve.target[row] -= miss / t;
                to_go = to_go.max(miss.abs());
                // A sticking contact does not slip on the mean of its rows at q and q'.
                let [a, b] = contact.bodies;
                let end_arms = arms(&then, [next[a].position, next[b].position]);
                let slip_there = half[a].at(end_arms[0]) - half[b].at(end_arms[1]);
                let start_arms = contact.arms(poses);
                let slip_here = half[a].at(start_arms[0]) - half[b].at(start_arms[1]);
                for (k, tangent) in G::tangents(contact.contact.normal)[..G::TANGENTS].iter().enumerate() {
                    let carried = (*tangent - then.normal * then.normal.dot(*tangent)).unit();
                    let wanted = -0.5 * (carried.dot(slip_there) - tangent.dot(slip_here));
                    let change = t * (wanted - solve.target[row + 1 + k]).abs();
                    worst = worst.max(change / tolerance);
                    solve.target[row + 1 + k] = wanted;
                }
            }
            Source::Limit { joint, index, gap } => {
                let [a, b] = joints[joint].bodies;
                let (then, _) = model.joints[joints[joint].index].inequality(index, &next[a], &next[b]);
                let tolerance = model.tolerances.position.max(ROUNDING * f64::EPSILON * (1.0 + next[a].position.max_abs()));
                if gap < -model.tolerances.touch && then < 0.0 && then >= gap - tolerance {
                    continue;
                }
                let miss = then - gap.min(0.0);
                if !pushes {
                    solve.open.push(OpenRow { row, speed: assembly.lines[group.first].speed(half), miss, tolerance });
                    continue;
                }
                solve.target[row] -= miss / t;
                worst = worst.max(miss.abs() / tolerance);
                to_go = to_go.max(miss.abs());
            }
            Source::TendonLimit { tendon, upper, gap } => {
                let stretch = assembly.equalities.tendons.error(tendon, model, next);
                let then = room(model, &tendons[tendon], stretch, upper);
                let tolerance = model.tolerances.position.max(ROUNDING * f64::EPSILON * (1.0 + stretch.abs()));
                if gap < -model.tolerances.touch && then < 0.0 && then >= gap - tolerance {
                    continue;
                }
                let miss = then - gap.min(0.0);
                if !pushes {
                    let speed = assembly.equalities.line_speed(&assembly.lines[group.first], half);
                    solve.open.push(OpenRow { row, speed, miss, tolerance });
                    continue;
                }
                solve.target[row] -= miss / t;
                worst = worst.max(miss.abs() / tolerance);
                to_go = to_go.max(miss.abs());
            }
            _ => {}
        }
    }
    // A row without an impulse needs correction only where the curvature of the move drives its contact into overlap. But its target follows the
    // move as well: where rows outnumber freedoms, targets of different rounds would contradict each other.
    for open in &solve.open {
        // What the slack would leave to it does not count either: else the rounds would ask for what they never give.
        let allowed = OPEN_SLACK * open.tolerance;
        if open.miss < -allowed {
            worst = worst.max(-open.miss / allowed);
        }
        let slack = OPEN_SLACK * to_go.max(open.tolerance);
        let slack = if open.miss < -slack { 0.0 } else { slack };
        solve.target[open.row] = open.speed - (open.miss + slack) / t;
    }
    worst
}

/// Moves the targets of the joints by what they miss at the end of the move, from where they were or, with `anew`, from the present speeds;
/// returns the worst miss over its tolerance.
fn joint_miss<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64, anew: bool) -> f64 {
    let model = ctx.model;
    let Island {
        links: Links { joints, .. },
        system: System { assembly, solve, .. },
        motion: Motion { next, half, .. },
        books: Books { report, .. },
        ..
    } = island;
    let Assembly { equalities, ahead, .. } = assembly;
    // Mean rows of rotors are met as they are.
    let mean = model.options.scheme().by_means();
    let mut rotors = equalities.rotors.iter().peekable();
    let (mut worst, mut largest): (f64, f64) = (0.0, 0.0);
    if anew {
        solve.joint_target.fill(0.0);
        equalities.add_speeds(1.0, half, &mut solve.joint_target);
    }
    let targets = &mut solve.joint_target;
    let per_time = 1.0 / t;
    equalities.place_ahead(joints, model, next, ahead, |[a, b], size, first, errors| {
        let reach = next[a].position.max_abs().max(next[b].position.max_abs());
        let tolerance = (model.tolerances.position * size).max(ROUNDING * f64::EPSILON * (reach + size));
        if let Some(rotor) = rotors.next_if(|rotor| (first..first + errors.len()).contains(&rotor.row)) {
            // (21.3): the coordinate went as far as the rotor turned.
            let joint = &model.joints[joints[equalities.owner(rotor.node)].index];
            let error = &mut errors[rotor.row - first];
            let turned = joint.near(rotor.start, *error) - rotor.start;
            *error = if mean { 0.0 } else { turned - t * rotor.after(solve.reaction[rotor.row]) };
        }
        let mut most = 0.0f64;
        for (target, &error) in targets[first..].iter_mut().zip(&*errors) {
            most = most.max(error.abs());
            *target -= error * per_time;
        }
        largest = largest.max(most);
        if most > worst * tolerance {
            worst = most / tolerance;
        }
    });
    if worst <= 1.0 {
        report.joint_error = report.joint_error.max(largest);
    }
    worst
}
