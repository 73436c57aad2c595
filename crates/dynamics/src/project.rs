//! Position correction: overlap beyond the slop and joint error are moved out by the least mass-weighted displacement, theory (2.27).

use crate::assembly::{self, Source};
use crate::contacts;
use crate::integrate::grow_travelled;
use crate::island::{Context, Island};
use crate::solve::joint_size;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};
use carom_solve::problem::{Block, Cone, Problem};

/// Newton rounds; each squares the error.
const PROJECTION_CAP: usize = 10;

/// Joint errors beyond this fraction of the size are projected; the correction over the move normally leaves a thousandth of it.
const JOINT_SLOP: f64 = 1e-9;

/// Largest turn of a body in one round [rad], so that the rows stay meaningful.
const TURN_CLAMP: f64 = 0.2;

/// Whether anything overlaps beyond the slop or a joint is open.
fn needed<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> bool {
    let deep = island.near.iter().any(|near| near.contact.gap < -ctx.model.tolerances.slop * island.pairs[near.pair].size);
    deep || worst_joint(island, ctx) > JOINT_SLOP
}

/// The largest joint error over its size.
fn worst_joint<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> f64 {
    let mut worst: f64 = 0.0;
    for joint in island.joints.iter().filter(|j| j.rows > 0) {
        let [a, b] = joint.bodies;
        let error = &mut island.solve.error;
        error.clear();
        error.resize(joint.rows, 0.0);
        ctx.model.joints[joint.index].error(&island.poses[a], &island.poses[b], error);
        let size = joint_size(ctx.model, joint, &island.poses[a], &island.poses[b]);
        worst = error.iter().fold(worst, |m, e| m.max(e.abs() / size));
    }
    worst
}

/// Potential energy [J] of the island's bodies.
fn potential<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> f64 {
    island.bodies.iter().zip(&island.poses).filter(|(b, _)| b.dynamic).map(|(b, p)| -b.mass * ctx.model.gravity.dot(p.position)).sum()
}

/// Projects positions where it is needed. What that gains in potential energy is taken from the kinetic energy where there is any.
pub(crate) fn project<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) {
    if !needed(island, ctx) {
        return;
    }
    island.report.projected = true;
    let (potential_before, kinetic_before) = (potential(island, ctx), island.kinetic(&island.twists));
    for _ in 0..PROJECTION_CAP {
        displace(island, ctx);
        island.refresh_inertia();
        contacts::remember(&island.near, &mut island.memory);
        contacts::detect(island, ctx.model);
        assembly::assemble(island, ctx);
        if !needed(island, ctx) {
            break;
        }
    }
    grow_travelled(island, ctx);
    let gained = potential(island, ctx) - potential_before;
    let kinetic = island.kinetic(&island.twists);
    if gained > 0.0 && kinetic > 0.0 {
        let kept = ((kinetic - gained) / kinetic).max(0.0).sqrt();
        for (body, twist) in island.bodies.iter().zip(island.twists.iter_mut()) {
            if body.dynamic {
                *twist = Twist { lin: twist.lin * kept, ang: twist.ang * kept };
            }
        }
    }
    island.flow.projection += gained + island.kinetic(&island.twists) - kinetic_before;
}

/// One round: the least displacement d with J_e d = -phi and J_c d >= -(gap + slop/2) for all near contacts.
fn displace<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) {
    let tolerances = &ctx.model.tolerances;
    // Every near contact takes part, so that the correction of one opens no other.
    for near in &mut island.near {
        near.extra = true;
    }
    assembly::assemble(island, ctx);
    let Island { bodies, poses, twists: _, joints, near, pairs, assembly, solve, solver, scratch, report, .. } = island;
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
    solve.lines.clear();
    solve.blocks.clear();
    solve.target.clear();
    for group in assembly.groups.iter().filter(|g| !g.locked) {
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
    for (index, body) in bodies.iter().enumerate() {
        if body.dynamic {
            let mut move_by = scratch[index];
            let turn = move_by.ang.norm();
            if turn > TURN_CLAMP {
                move_by.ang = move_by.ang * (TURN_CLAMP / turn);
            }
            poses[index] = poses[index].advanced(move_by, 1.0);
        }
    }
}
