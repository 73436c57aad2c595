//! Stage 7: second half kick and velocity rows at q', what is remembered, and the books of the substep, theory (2.31)-(2.34).

use crate::assembly::{self, Source};
use crate::contacts::{NO_GROUP, account};
use crate::energy_momentum;
use crate::error::StepError;
use crate::impact::rest_speed;
use crate::integrate::Moved;
use crate::island::parts::{Books, Links, Loading, Members, Motion, System};
use crate::island::{Context, Island};
use crate::joint_effort;
use crate::ledger::Flow;
use crate::model::Model;
use crate::options::TimeOfImpact;
use crate::predict::{self, Instant};
use crate::rotor;
use crate::solve::{self, Phase};
use crate::sparse_rows::{SPEED_WANTED, is_heap};
use crate::stepped;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};

/// Rounds in which the gyroscopic torque at the end of the step and the constraint impulses find each other.
const GYROSCOPIC_CAP: usize = 30;

/// Rounds in which the torque of a jointed body is taken at the velocity of the round before. The turn of such a body in a move is bounded, so that each round leaves
/// a small part of the error; where it does not, the rest take the torque at the body's own answer to the impulses of the round before.
const PLAIN_ROUNDS: usize = 12;

/// Change of the angular velocity, relative to it, at which they have.
const GYROSCOPIC_TOLERANCE: f64 = 1e-14;

/// The same where every round is a solve over bodies, which is no more exact.
const GYROSCOPIC_TOLERANCE_OF_MANY: f64 = 1e-10;

/// The same in heaps, whose solves may leave 1e-8 m/s, on an arm of a tenth of a metre.
const GYROSCOPIC_TOLERANCE_OF_HEAPS: f64 = 1e-7;

/// Rates slower than this [rad/s] are judged absolutely: their gyroscopic torque is below rounding.
const GYROSCOPIC_FLOOR: f64 = 1e-2;

/// The angular impulses of the solved rows on each body; none are asked for in the plane.
fn torques<G: Geometry>(island: &Island<G>, pushed: &mut [G::Ang]) {
    if pushed.is_empty() {
        return;
    }
    let System { assembly, solve, .. } = &island.system;
    pushed.fill(G::Ang::zero());
    for (&index, &first) in solve.groups.iter().zip(&solve.first) {
        let group = &assembly.groups[index];
        for (line, &impulse) in assembly.lines[group.first..][..group.rows].iter().zip(&solve.impulses[first..]) {
            pushed[line.bodies[0]] += line.row.a.ang * impulse;
            pushed[line.bodies[1]] += line.row.b.ang * impulse;
            assembly.equalities.tendon_sides(line, |body, wrench| pushed[body] += wrench.ang * impulse);
        }
    }
    assembly.equalities.add_torques(&solve.reaction, pushed);
}

/// Books the half step of stage 5: rows and loads times the mean of the velocities before and after, theory (10.3). The angular impulses of the rows
/// on each body are left in `pushed` where it has room for them.
pub(crate) fn book<G: Geometry>(
    island: &mut Island<G>,
    model: &Model<G>,
    before: &[Twist<G>],
    after: &[Twist<G>],
    duration: f64,
    pushed: &mut [G::Ang],
) {
    let Island {
        members: Members { bodies, driven, .. },
        links: Links { tendons, .. },
        system: System { assembly, solve, .. },
        loading: Loading { loads, worked, .. },
        books: Books { flow, .. },
        ..
    } = island;
    for (index, body) in bodies.iter().enumerate().filter(|_| *worked) {
        if body.dynamic {
            let mean = Twist { lin: (before[index].lin + after[index].lin) * 0.5, ang: (before[index].ang + after[index].ang) * 0.5 };
            flow.work_in += duration * loads[index].driving.power(&mean);
            flow.damping_loss -= duration * loads[index].damping.power(&mean);
        }
    }
    let kinematic = *driven;
    let work = |line: &crate::line::Line<G>, impulse: f64| {
        let mean = 0.5 * (assembly.equalities.line_speed(line, before) + assembly.equalities.line_speed(line, after));
        if !kinematic {
            return (impulse * mean, 0.0);
        }
        let driven = |twists| assembly.equalities.line_driven(line, bodies, twists);
        let driven = 0.5 * (driven(before) + driven(after));
        (impulse * mean, -impulse * driven)
    };
    for (position, &index) in solve.groups.iter().enumerate() {
        let group = &assembly.groups[index];
        for k in 0..group.rows {
            let row = solve.first[position] + k;
            let line = &assembly.lines[group.first + k];
            let (relative, fed) = work(line, solve.impulses[row]);
            if !pushed.is_empty() {
                pushed[line.bodies[0]] += line.row.a.ang * solve.impulses[row];
                pushed[line.bodies[1]] += line.row.b.ang * solve.impulses[row];
                assembly.equalities.tendon_sides(line, |body, wrench| pushed[body] += wrench.ang * solve.impulses[row]);
            }
            flow.work_in += fed;
            if let Source::Tendon { tendon, stretch } = group.source {
                let local = &tendons[tendon];
                let spring = model.couplings[local.index].tendon.unwrap_or_default();
                // What is not its spring is its damper; a stiff one damps numerically as well.
                if !local.stiff && solve.impulses[row] != 0.0 {
                    flow.damping_loss -= relative * (1.0 + duration * spring.stiffness * stretch / solve.impulses[row]);
                }
            }
            enter(flow, group.source, k, relative);
        }
    }
    let (relative, driven) = assembly.equalities.work(&solve.reaction, [before, after], |body| kinematic && bodies[body].kinematic, pushed);
    // What rotors give they lose.
    flow.joint_work += 0.5 * relative - assembly.equalities.rotor_work(&solve.reaction);
    flow.work_in -= 0.5 * driven;
}

/// Enters the work of the k-th row of a group between bodies that no law moves.
pub(crate) fn enter(flow: &mut Flow, source: Source, k: usize, work: f64) {
    match source {
        Source::Contact(_) if k == 0 => flow.contact_loss -= work,
        Source::Contact(_) | Source::Friction { .. } => flow.friction_loss -= work,
        Source::Limit { .. } | Source::TendonLimit { .. } => flow.contact_loss -= work,
        Source::Motor { .. } => flow.work_in += work,
        // What a soft spring stores is seen in the elastic energy; its numerical damping is part of the drift.
        Source::Spring { .. } | Source::Tendon { .. } => {}
    }
}

/// The end of a substep: velocities v' at q'.
pub(crate) fn finish<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, moved: &Moved, time: f64) -> Result<(), StepError> {
    let t = moved.time;
    if ctx.model.options.scheme().by_means() {
        energy_momentum::finish(island, ctx, moved);
        return Ok(());
    }
    if moved.stepped {
        stepped::note_start(island, ctx, t);
    }
    // Stage 5 is booked with the rows it used, before they are rebuilt at q'.
    let (before, after) = (std::mem::take(&mut island.motion.twists), std::mem::take(&mut island.motion.half));
    // The rows of stage 7 push about as those of stage 5 did: where the search for the gyroscopic torque begins.
    let mut pushed = std::mem::take(&mut island.motion.turning);
    pushed.clear();
    if G::ANG > 1 {
        pushed.resize(island.members.bodies.len(), G::Ang::zero());
    }
    // Loads act as long as they were solved for, which is longer than a move that shrank with its velocity kept.
    let literal = ctx.model.options.time_of_impact == TimeOfImpact::HalvingLiteral;
    let acted = if literal { island.system.solve.duration } else { ctx.model.options.scheme().share * t };
    book(island, ctx.model, &before, &after, acted, &mut pushed);
    rotor::end_move(island);
    island.motion.turning = pushed;
    island.motion.twists = before;
    island.motion.half = after;
    joint_effort::account(island, ctx, acted, Instant::Start);
    if ctx.model.options.forward() {
        // Only the move takes the torque forward; the velocity goes on with the exact one, theory (13.2).
        for body in (0..island.members.bodies.len()).filter(|&body| island.members.bodies[body].dynamic) {
            let slowed = predict::forward_gyroscopic(island, body, t);
            island.motion.half[body].ang += slowed;
        }
    }

    crate::integrate::commit(island, ctx, moved);
    assembly::assemble(island, ctx);
    if moved.stepped {
        stepped::rebound(island, ctx)?;
    }
    let flow = island.books.flow;
    end(island, ctx, t, time);
    if moved.stepped {
        if let Some(most) = stepped::too_much(island, ctx) {
            // A strike that gained energy is taken back as far as it did.
            island.books.flow = flow;
            end(island, ctx, t, time);
            stepped::blend(island, most);
        }
        stepped::settle(island, ctx);
    }
    if ctx.model.options.scheme().kicks_again() {
        account_rows(island);
        joint_effort::account(island, ctx, 0.5 * t, Instant::End);
    }
    Ok(())
}

/// Velocities at the end of the move.
fn end<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64, time: f64) {
    if ctx.model.options.scheme().kicks_again() {
        return second_kick(island, ctx, t, time);
    }
    // The joints hold at q'; their velocities follow without a kick. Where rows are those of the start pose alone the velocity stays what the solve
    // made it, and the next solve holds it at q'.
    let alone = ctx.model.options.start_pose_only();
    let Island { system: System { assembly, solve, .. }, motion: Motion { half, twists, .. }, .. } = island;
    twists.clear();
    twists.extend_from_slice(half);
    if alone {
        return;
    }
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
    assembly.hold_joints_and_rotors(&solve.joint_target, &mut solve.reaction, twists);
    let before = island.kinetic(&island.motion.half);
    island.books.flow.joint_work += island.kinetic(&island.motion.twists) - before;
}

/// Second half kick and second solve of `verlet`.
fn second_kick<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64, time: f64) {
    let model = ctx.model;
    predict::loads(island, ctx, Instant::End, time + t);
    mark_held(island, ctx);
    solve::select(island, ctx, Phase::Finish, t, |near, _| near.held);
    if G::ANG == 1 && island.system.solve.lines.is_empty() {
        return second_kick_of_joints(island, ctx, t);
    }

    let mut scratch = std::mem::take(&mut island.motion.scratch);
    let mut pushed = std::mem::take(&mut island.motion.turning);
    scratch.clear();
    let (mut settled, mut found) = (false, true);
    for round in 0..GYROSCOPIC_CAP {
        let ended = end_velocity(island, t, &pushed, (1..PLAIN_ROUNDS).contains(&round), &mut scratch);
        found = ended.found;
        if !ended.changed {
            settled = true;
            break;
        }
        let Island { system: System { assembly, solve, solver }, motion: Motion { twists, .. }, books: Books { report, .. }, .. } = island;
        let outcome = solve::resolve(assembly, solve, solver, model.options.friction_cone, &scratch, twists, report);
        // Only bodies without joints ask for what pushed them, and the rounds after the plain ones.
        if island.members.loose || round + 1 >= PLAIN_ROUNDS {
            settle(island);
            torques(island, &mut pushed);
        }
        // What could not be solved is not asked again for the sake of a torque: the miss is flagged already.
        let missed = !outcome.is_solved() && island.system.solve.missed > SPEED_WANTED;
        if G::ANG == 1 || (missed && island.system.assembly.sparse) {
            settled = true;
            break;
        }
    }
    settle(island);
    island.books.report.gyroscopic |= !(settled && found);
    let (before, after) = (std::mem::take(&mut island.motion.half), std::mem::take(&mut island.motion.twists));
    book(island, ctx.model, &before, &after, 0.5 * t, &mut []);
    island.motion.half = before;
    island.motion.twists = after;
    island.motion.scratch = scratch;
    island.motion.turning = pushed;
}

/// What the joints did at the end of the move.
fn settle<G: Geometry>(island: &mut Island<G>) {
    let Island { system: System { assembly, solve, .. }, motion: Motion { twists, .. }, .. } = island;
    solve.settle(assembly, twists);
}

/// The same in the plane where joints are all there is: nothing is sought, and every velocity is written once.
fn second_kick_of_joints<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) {
    let mut after = std::mem::take(&mut island.motion.twists);
    if island.loading.falling {
        after.clear();
        after.extend(island.motion.half.iter().zip(&island.motion.free).map(|(half, free)| half.plus(0.5 * t, *free)));
    } else {
        end_velocity(island, t, &[], false, &mut after);
    }
    let Island { system: System { assembly, solve, .. }, motion: Motion { half, .. }, books: Books { report, .. }, .. } = island;
    solve.free.clear();
    assembly.hold_joints_and_rotors(&solve.joint_target, &mut solve.reaction, &mut after);
    report.solves += usize::from(!assembly.equalities.is_empty());
    let before = std::mem::take(half);
    book(island, ctx.model, &before, &after, 0.5 * t, &mut []);
    island.motion.half = before;
    island.motion.twists = after;
}

/// Which contacts take part in stage 7. One that had no row and closes fast strikes in the next stage 2; a row here would kill the bounce.
pub(crate) fn mark_held<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) {
    let margin = ctx.model.tolerances.margin;
    for index in 0..island.touch.near.len() {
        let near = &island.touch.near[index];
        let kept = near.touching || (near.active && near.contact.gap <= margin * island.links.pairs[near.pair].size);
        let strikes = !near.had_row && near.group != NO_GROUP && {
            let line = &island.system.assembly.lines[island.system.assembly.groups[near.group].first];
            -line.speed(&island.motion.half) > rest_speed(island, ctx, near)
        };
        island.touch.near[index].held = kept && !strikes;
    }
}

/// What the next substep should know of the contacts of stage 7.
pub(crate) fn account_rows<G: Geometry>(island: &mut Island<G>) {
    for near in &mut island.touch.near {
        near.active = false;
    }
    for (position, &group) in island.system.solve.groups.iter().enumerate() {
        if let Source::Contact(c) = island.system.assembly.groups[group].source {
            let row = island.system.solve.first[position];
            let near = &mut island.touch.near[c];
            near.active = island.system.solve.impulses[row] > 0.0;
            let tangents = G::tangents(near.contact.normal);
            let mut impulse = near.contact.normal * island.system.solve.impulses[row];
            for k in 0..G::TANGENTS {
                impulse += tangents[k] * island.system.solve.impulses[row + 1 + k];
            }
            near.warm[1] = impulse;
            account(&mut island.touch.reports, near, impulse);
        }
    }
}

/// What a round of the search for the end velocity came to.
struct Ended {
    /// Velocities differ from those of the round before.
    changed: bool,
    /// Every implicit torque was found.
    found: bool,
}

/// v1/2 + (t/2) M^-1 f' with the gyroscopic torque implicit at the end velocity, given the angular impulses of rows or, `known`, the velocities that they
/// made of it in the round before, theory (2.32). At the end of the rounds both are the same; but the answer of a light body between heavy ones to
/// impulses that nearly cancel is far from its velocity before that.
fn end_velocity<G: Geometry>(island: &Island<G>, t: f64, pushed: &[G::Ang], known: bool, out: &mut Vec<Twist<G>>) -> Ended {
    let mut changed = out.len() != island.members.bodies.len();
    let mut found = true;
    if changed {
        out.clear();
        out.resize(island.members.bodies.len(), Twist::zero());
    }
    let tolerance = match island.system.assembly.sparse {
        true if is_heap(&island.system.assembly) => GYROSCOPIC_TOLERANCE_OF_HEAPS,
        true => GYROSCOPIC_TOLERANCE_OF_MANY,
        false => GYROSCOPIC_TOLERANCE,
    };
    for (index, body) in island.members.bodies.iter().enumerate() {
        let half = island.motion.half[index];
        if !body.dynamic {
            out[index] = half;
            continue;
        }
        let mut twist = half.plus(0.5 * t, body.response(&island.loading.loads[index].total));
        if G::ANG > 1 {
            let reaction = G::inertia_apply(body.inv_inertia, pushed[index]);
            let plain = known && body.jointed;
            let rate = if plain { island.motion.twists[index].ang } else { twist.ang + reaction };
            if body.turns() && rate != G::Ang::zero() {
                let momentum = G::inertia_apply(body.inertia, twist.ang) + pushed[index];
                let implicit = if plain { None } else { G::implicit_rate(body.inertia, 0.5 * t, momentum, rate) };
                // Where Newton does not converge the torque is taken at the predicted velocity, and the report says so.
                found &= plain || implicit.is_some();
                twist.ang = match implicit {
                    Some(end) => end - reaction,
                    None => twist.ang - G::inertia_apply(body.inv_inertia, G::gyroscopic(body.inertia, rate)) * (0.5 * t),
                };
                let change = twist.ang - out[index].ang;
                // Squares, with the floor added to them: within a factor of two of the sum.
                let scale = rate.dot(rate) + GYROSCOPIC_FLOOR * GYROSCOPIC_FLOOR;
                changed |= change.dot(change) > tolerance * tolerance * scale;
            }
        }
        out[index] = twist;
    }
    Ended { changed, found }
}
