//! Position correction: overlap beyond the slop and joint error are moved out by the least mass-weighted displacement, theory (2.27).

use crate::assembly::{self, Source};
use crate::contacts;
use crate::error::{Cause, Room, StepError};
use crate::integrate::grow_travelled;
use crate::island::{Context, Island};
use crate::step::note;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};
use carom_solve::problem::{Block, Cone, Problem};

/// Newton rounds; each squares the error where the rows keep their features, and more are needed where a body is squeezed.
const PROJECTION_CAP: usize = 30;

/// The same for joints alone, which may have far to go: half a turn takes sixteen rounds, and a long chain finds its place link by link.
const CLOSING_CAP: usize = 200;

/// Joint errors beyond this fraction of the size are projected; the correction over the move normally leaves a thousandth of it.
const JOINT_SLOP: f64 = 1e-9;

/// Joints open by more than this fraction of their size were set apart: steps leave a thousandth of a millionth, differences a millionth.
const SET_APART: f64 = 1e-2;

/// Joints come before overlap: no overlap is worth tearing one.
const JOINT_WEIGHT: f64 = 1e3;

/// Halvings of a displacement that makes things worse.
const BACKTRACK_CAP: usize = 12;

/// Kinetic energy that comes and goes with this part of it, because inertias turn with their bodies, is that of turns within the slop, of either sign.
const TURNING_NOISE: f64 = 1e-5;

/// Largest turn of a body in one round [rad], so that the rows stay meaningful.
const TURN_CLAMP: f64 = 0.2;

/// Whether anything overlaps beyond the slop or a joint is open.
fn needed<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> bool {
    let deep = island.near.iter().any(|near| near.contact.gap < -ctx.model.tolerances.slop * island.pairs[near.pair].size);
    // Where the move was corrected until the joints held, they do.
    deep || (!island.solve.closed && worst_joint(island, ctx) > JOINT_SLOP)
}

/// The largest joint error over its size.
fn worst_joint<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> f64 {
    open_joint(island, ctx).0
}

/// The same, with the joint and its error [m or rad].
fn open_joint<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> (f64, usize, f64) {
    let mut worst = (0.0, 0, 0.0);
    for joint in island.joints.iter().filter(|j| j.rows > 0) {
        let [a, b] = joint.bodies;
        let error = &mut island.solve.error;
        error.clear();
        error.resize(joint.rows, 0.0);
        ctx.model.joints[joint.index].error(&island.poses[a], &island.poses[b], error);
        let gap = error.iter().fold(0.0f64, |m, e| m.max(e.abs()));
        if gap / joint.size > worst.0 {
            worst = (gap / joint.size, joint.index, gap);
        }
    }
    worst
}

/// Says which joint is still as far open as if it had been set apart: whatever moved on with it would be no mechanism.
fn refuse_open<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    let (worst, joint, gap) = open_joint(island, ctx);
    if worst <= SET_APART {
        return Ok(());
    }
    let cause = Cause::JointOpen { joint: ctx.model.joints[joint].name.clone(), gap };
    Err(StepError { room: Room::Finish, time: ctx.time, cause })
}

/// What the projection brings down: the largest overlap beyond the slop and, weighing far more, the largest joint error, each over its size.
fn worst_miss<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> f64 {
    let slop = ctx.model.tolerances.slop;
    let deepest = island.near.iter().fold(0.0f64, |m, near| m.max(-near.contact.gap / island.pairs[near.pair].size - slop));
    deepest + JOINT_WEIGHT * worst_joint(island, ctx)
}

/// Potential energy [J] of the island's bodies and springs.
pub(crate) fn potential<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> f64 {
    let weights = island.bodies.iter().zip(&island.poses).filter(|(b, _)| b.dynamic);
    let lifted: f64 = weights.map(|(b, p)| -b.mass * ctx.model.gravity.dot(p.position)).sum();
    let springs = island.joints.iter().filter_map(|joint| {
        let [a, b] = joint.bodies;
        ctx.model.joints[joint.index].spring(&island.poses[a], &island.poses[b])
    });
    lifted + springs.map(|spring| spring.energy()).sum::<f64>()
}

/// Projects positions where it is needed, and velocities onto what the joints allow there. What that gains in energy is taken from the kinetic energy
/// where there is any.
pub(crate) fn project<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    if !needed(island, ctx) {
        return Ok(());
    }
    island.report.projected = true;
    island.solve.closed = false;
    let (potential_before, kinetic_before) = (potential(island, ctx), island.kinetic(&island.twists));
    rounds(island, ctx, true);
    if worst_joint(island, ctx) > JOINT_SLOP {
        // Overlap that cannot be removed must not keep a joint open.
        rounds(island, ctx, false);
    }
    refuse_open(island, ctx)?;
    grow_travelled(island, ctx);
    let Island { assembly, solve, twists, .. } = island;
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
    assembly.hold_joints(&solve.joint_target, &mut solve.reaction, twists);
    let (lifted, kinetic) = (potential(island, ctx) - potential_before, island.kinetic(&island.twists));
    // Bodies that were turned have other inertias: their kinetic energy counts as well.
    let turned = kinetic - kinetic_before;
    let gained = if turned.abs() > TURNING_NOISE * kinetic_before { lifted + turned } else { lifted };
    if gained > 0.0 && kinetic > 0.0 {
        let kept = ((kinetic - gained) / kinetic).max(0.0).sqrt();
        for (body, twist) in island.bodies.iter().zip(island.twists.iter_mut()) {
            if body.dynamic {
                *twist = Twist { lin: twist.lin * kept, ang: twist.ang * kept };
            }
        }
    }
    island.flow.projection += lifted + island.kinetic(&island.twists) - kinetic_before;
    Ok(())
}

/// Closes joints that were set far apart before anything moves, so that no impulse has to, theory (2.29). A move ends with its joints
/// closed, and nothing is done where the last one did.
pub(crate) fn place<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    if (island.current && island.solve.closed) || island.joints.is_empty() || worst_joint(island, ctx) <= SET_APART {
        return Ok(());
    }
    island.solve.closed = false;
    project(island, ctx)?;
    note(island, |record, _| record.placed = true);
    Ok(())
}

/// Newton rounds, each shortened until it helps, with or without the contacts.
fn rounds<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, with_contacts: bool) {
    let measure = |island: &mut Island<G>| if with_contacts { worst_miss(island, ctx) } else { worst_joint(island, ctx) };
    let mut miss = measure(island);
    for _ in 0..if with_contacts { PROJECTION_CAP } else { CLOSING_CAP } {
        displacement(island, ctx, with_contacts);
        contacts::remember(&island.near, &mut island.memory);
        let from = island.poses.clone();
        let mut share = 1.0;
        let mut better = false;
        for _ in 0..BACKTRACK_CAP {
            displace(island, &from, share);
            if with_contacts {
                contacts::detect(island, ctx.model);
            }
            let now = measure(island);
            if now < miss {
                (miss, better) = (now, true);
                break;
            }
            share *= 0.5;
        }
        if !better {
            // Nothing helps further (a body deep inside another, a joint that cannot close): stay where it was least bad.
            island.poses.copy_from_slice(&from);
        }
        if !(with_contacts && better) {
            contacts::detect(island, ctx.model);
        }
        island.refresh_inertia();
        assembly::assemble(island, ctx);
        let done = if with_contacts { !needed(island, ctx) } else { miss <= JOINT_SLOP };
        if !better || done {
            break;
        }
    }
}

/// The least displacement d with J_e d = -phi and J_c d >= -(gap + slop/2) for all near contacts, left in the scratch velocities.
fn displacement<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, with_contacts: bool) {
    let tolerances = &ctx.model.tolerances;
    // Every near contact takes part, so that the correction of one opens no other.
    for near in &mut island.near {
        near.extra = true;
    }
    assembly::assemble(island, ctx);
    let Island { bodies, poses, joints, near, pairs, assembly, solve, solver, scratch, report, .. } = island;
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
    for joint in joints.iter().filter(|j| j.rows > 0) {
        let [a, b] = joint.bodies;
        solve.error.clear();
        solve.error.resize(joint.rows, 0.0);
        ctx.model.joints[joint.index].error(&poses[a], &poses[b], &mut solve.error);
        for row in 0..joint.rows {
            solve.joint_target[joint.first_row + row] = -solve.error[row];
        }
    }
    solve.known = false;
    solve.lines.clear();
    solve.blocks.clear();
    solve.target.clear();
    for group in assembly.groups.iter().filter(|g| with_contacts && !g.locked) {
        if let Source::Contact(c) = group.source {
            let slop = 0.5 * tolerances.slop * pairs[near[c].pair].size;
            solve.lines.push(group.first);
            solve.blocks.push(Block::Unilateral);
            solve.target.push(-(near[c].contact.gap + slop));
        }
    }
    scratch.clear();
    scratch.resize(bodies.len(), Twist::zero());
    assembly.hold_joints(&solve.joint_target, &mut solve.reaction, scratch);
    assembly.reduce();
    let (n, all) = (solve.lines.len(), assembly.lines.len());
    solve.matrix.clear();
    solve.matrix.resize(n * n, 0.0);
    solve.free.clear();
    for i in 0..n {
        solve.free.push(assembly.lines[solve.lines[i]].speed(scratch) - solve.target[i]);
        for j in 0..n {
            solve.matrix[i * n + j] = assembly.matrix[solve.lines[i] * all + solve.lines[j]];
        }
    }
    solve.impulses.clear();
    solve.impulses.resize(n, 0.0);
    let problem = Problem { tangents: G::TANGENTS, blocks: &solve.blocks, matrix: &solve.matrix, free: &solve.free, cone: Cone::Round };
    let outcome = solver.solve(&problem, None, &mut solve.impulses);
    report.inaccurate |= !outcome.is_solved();
    let mut impulses = std::mem::take(&mut solve.impulses);
    let mut more = std::mem::take(&mut solve.free);
    assembly.push(&solve.lines, &impulses, &mut solve.reaction, &mut more, scratch);
    impulses.clear();
    solve.impulses = impulses;
    solve.free = more;
}

/// Moves every body from where it was by a share of the displacement.
fn displace<G: Geometry>(island: &mut Island<G>, from: &[carom_math::Pose<G>], share: f64) {
    for (index, body) in island.bodies.iter().enumerate() {
        if body.dynamic {
            let mut by = island.scratch[index];
            let turn = by.ang.norm();
            if turn > TURN_CLAMP {
                by.ang = by.ang * (TURN_CLAMP / turn);
            }
            island.poses[index] = from[index].advanced(by, share);
        }
    }
}
