//! Position correction: overlap beyond the slop, limits that are passed and joint error are moved out by the least mass-weighted displacement,
//! theory (2.35). What a state that starts wrong asks of it is in `start.rs`.

use crate::assembly::{self, Source};
use crate::constraints::JointKind;
use crate::contacts;
use crate::error::{Cause, Stage, StepError};
use crate::integrate::grow_travelled;
use crate::island::parts::{Books, Links, Members, Motion, System, Touch};
use crate::island::{Context, Island};
use crate::solve::gather_matrix;
use crate::sparse_rows::{Purpose, solve_sparse};
use crate::tendon;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};
use carom_solve::contact::problem::{Block, Cone, Problem};

/// Newton rounds; each squares the error where the rows keep their features, and more are needed where a body is squeezed.
const PROJECTION_CAP: usize = 30;

/// The same for joints alone, which may have far to go: half a turn takes sixteen rounds, and a long chain finds its place link by link.
const CLOSING_CAP: usize = 200;

/// And for a state that starts wrong: every round moves the bodies by as much as the rows stay meaningful for, at most.
const START_CAP: usize = 60;

/// Joint errors beyond this fraction of the size are projected; the correction over the move normally leaves a thousandth of it.
const JOINT_SLOP: f64 = 1e-9;

/// Where a projection was made anyway joints are closed to this fraction, as a move closes them.
const JOINT_CLOSED: f64 = 1e-11;

/// Joints open by more than this fraction of their size were set apart: steps leave a thousandth of a millionth, differences a millionth.
pub(crate) const SET_APART: f64 = 1e-2;

/// Limits and ropes passed by more than this \[rad, or of the length\] are projected at the end of a move: the rows hold them where they are.
const LIMIT_SLOP: f64 = 1e-6;

/// What is left of them then: where they are held from there on.
const LIMIT_HELD: f64 = 1e-10;

/// Joints come before overlap: no overlap is worth tearing one.
const JOINT_WEIGHT: f64 = 1e3;

/// Halvings of a displacement that makes things worse.
const BACKTRACK_CAP: usize = 12;

/// Kinetic energy that comes and goes with this part of it, because inertias turn with their bodies, is that of turns within the slop, of either sign.
const TURNING_NOISE: f64 = 1e-5;

/// Largest turn of a body in one round \[rad\], so that the rows stay meaningful.
const TURN_CLAMP: f64 = 0.2;

/// The same where a state starts wrong: all bodies are held back by the one that turns most, which keeps them together, so the rows stay
/// meaningful further.
const START_TURN: f64 = 0.5;

/// Which rows the rounds bring home, and how they are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// Joints alone.
    Joints,
    /// Joints and limits, far from where they should be.
    Limits,
    /// Joints, limits and contacts, all of them nearly there: no overlap is worth a joint.
    Step,
    /// The same, far from where they should be: joints may open by the second order of a round, for the next one to close.
    Start,
}

impl Aim {
    fn contacts(self) -> bool {
        matches!(self, Aim::Step | Aim::Start)
    }
    fn limits(self) -> bool {
        self != Aim::Joints
    }
    fn far(self) -> bool {
        matches!(self, Aim::Start | Aim::Limits)
    }
    fn cap(self) -> usize {
        match self {
            Aim::Joints => CLOSING_CAP,
            Aim::Step => PROJECTION_CAP,
            Aim::Start | Aim::Limits => START_CAP,
        }
    }
}

/// Whether anything overlaps beyond the slop, a limit is passed by more than so much, or a joint is open.
fn needed<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, limit: f64) -> bool {
    deepest(island, ctx) > 0.0 || worst_limit(island, ctx) > limit || {
        // Where the move was corrected until the joints held, they do.
        !island.system.solve.closed && worst_joint(island, ctx) > JOINT_SLOP
    }
}

/// The deepest overlap beyond the slop, over the size of its pair; not above 0 where there is none.
pub(crate) fn deepest<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> f64 {
    let slop = ctx.model.tolerances.slop;
    island.touch.near.iter().fold(0.0f64, |m, near| m.max(-near.contact.gap / island.links.pairs[near.pair].size - slop))
}

/// What a limit of a joint of the island is measured against: an angle against a radian, a rope against its length, a slide against the size of
/// what it joins.
pub(crate) fn limit_scale<G: Geometry>(island: &Island<G>, ctx: &Context<G>, joint: usize) -> f64 {
    let spec = &ctx.model.joints[island.links.joints[joint].index];
    match spec.kind {
        _ if spec.is_angular() => 1.0,
        JointKind::Rope if spec.measures.length > 0.0 => spec.measures.length,
        _ => island.links.joints[joint].size,
    }
}

/// How far a limit or rope is passed at most, over its scale, at the pose of the assembly; 0 where none is.
pub(crate) fn worst_limit<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> f64 {
    island.system.assembly.groups.iter().fold(0.0f64, |worst, group| match group.source {
        Source::Limit { joint, gap, .. } if gap < 0.0 => worst.max(-gap / limit_scale(island, ctx, joint)),
        Source::TendonLimit { gap, .. } => worst.max(-gap),
        _ => worst,
    })
}

/// The sum of the squares of what limits and ropes are passed by at the present pose, each over its scale.
fn passed_limits<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> f64 {
    let mut sum = 0.0;
    for &number in &island.links.acting {
        let joint = &island.links.joints[number];
        let spec = &ctx.model.joints[joint.index];
        let [a, b] = joint.bodies;
        for inequality in 0..spec.inequality_count() {
            let (gap, _) = spec.inequality(inequality, &island.motion.poses[a], &island.motion.poses[b]);
            let passed = gap.min(0.0) / limit_scale(island, ctx, number);
            sum += passed * passed;
        }
    }
    each_tendon(island, ctx, |_, _, gap| sum += gap.min(0.0) * gap.min(0.0));
    sum
}

/// Visits the limits of every tendon: which it is in the model, whether the limit is the upper one, its gap.
pub(crate) fn each_tendon<G: Geometry>(island: &Island<G>, ctx: &Context<G>, mut visit: impl FnMut(usize, bool, f64)) {
    for (k, local) in island.links.tendons.iter().enumerate() {
        let stretch = island.system.assembly.equalities.tendons.error(k, ctx.model, &island.motion.poses);
        [false, true].into_iter().for_each(|upper| visit(local.index, upper, tendon::room(ctx.model, local, stretch, upper)));
    }
}

/// The largest joint error over its size.
pub(crate) fn worst_joint<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> f64 {
    open_joint(island, ctx).0
}

/// The same, with the joint and its error \[m or rad\].
fn open_joint<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> (f64, usize, f64) {
    let mut worst = (0.0, 0, 0.0);
    each_joint(island, ctx, |_, index, gap, size| {
        if gap / size > worst.0 {
            worst = (gap / size, index, gap);
        }
    });
    worst
}

/// Visits every joint with rows: (joint of the island, of the model, largest error \[m or rad\], size).
pub(crate) fn each_joint<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, mut visit: impl FnMut(usize, usize, f64, f64)) {
    for (number, joint) in island.links.joints.iter().enumerate().filter(|(_, j)| j.rows > 0) {
        let [a, b] = joint.bodies;
        let error = &mut island.system.solve.error;
        error.clear();
        error.resize(joint.rows, 0.0);
        ctx.model.joints[joint.index].error(&island.motion.poses[a], &island.motion.poses[b], error);
        visit(number, joint.index, error.iter().fold(0.0f64, |m, e| m.max(e.abs())), joint.size);
    }
    let ties = &island.system.assembly.equalities.ties;
    ties.errors(ctx.model, &island.motion.poses, |_, row, error| {
        let number = ties.joint(row - ties.first);
        visit(number, island.links.joints[number].index, error.abs(), 1.0);
    });
}

/// Says which joint is still as far open as if it had been set apart: whatever moved on with it would be no mechanism.
pub(crate) fn refuse_open<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    let (worst, joint, gap) = open_joint(island, ctx);
    if worst <= SET_APART {
        return Ok(());
    }
    let cause = Cause::JointOpen { joint: ctx.model.joints[joint].name.clone(), gap };
    Err(StepError { stage: Stage::Finish, time: ctx.time, cause })
}

/// What the rounds bring down: the largest overlap beyond the slop, the limit that is passed most and, weighing far more, the largest joint error,
/// each over its size. From afar it is the sum of their squares pair by pair, joint by joint, so that one that cannot be helped hides no other.
fn miss<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, aim: Aim) -> f64 {
    match aim {
        Aim::Joints => worst_joint(island, ctx),
        Aim::Step => deepest(island, ctx) + passed_limits(island, ctx).sqrt() + JOINT_WEIGHT * worst_joint(island, ctx),
        Aim::Limits | Aim::Start => {
            let mut sum = 0.0;
            each_joint(island, ctx, |_, _, gap, size| sum += (gap / size) * (gap / size));
            sum += passed_limits(island, ctx);
            // Contacts stand pair by pair; how many a pair has says nothing.
            let mut index = 0;
            while aim.contacts() && index < island.touch.near.len() {
                let pair = island.touch.near[index].pair;
                let mut depth = 0.0f64;
                while index < island.touch.near.len() && island.touch.near[index].pair == pair {
                    depth = depth.max(-island.touch.near[index].contact.gap / island.links.pairs[pair].size - ctx.model.tolerances.slop);
                    index += 1;
                }
                sum += depth * depth;
            }
            sum
        }
    }
}

/// Potential energy \[J\] of the island's bodies and springs.
pub(crate) fn potential<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> f64 {
    let weights = island.members.bodies.iter().zip(&island.motion.poses).filter(|(b, _)| b.dynamic);
    let lifted: f64 = weights.map(|(b, p)| -b.mass * ctx.model.gravity.dot(p.position)).sum();
    let springs = island.links.joints.iter().filter_map(|joint| {
        let [a, b] = joint.bodies;
        ctx.model.joints[joint.index].spring(&island.motion.poses[a], &island.motion.poses[b])
    });
    lifted + springs.map(|spring| spring.energy()).sum::<f64>() + tendon::stored(island, ctx.model)
}

/// Projects positions where it is needed, and velocities onto what the joints allow there. What that gains in energy is taken from the kinetic energy
/// where there is any.
pub(crate) fn project<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    if !needed(island, ctx, LIMIT_SLOP) {
        return Ok(());
    }
    island.books.report.projected = true;
    island.system.solve.closed = false;
    let (potential_before, kinetic_before) = (potential(island, ctx), island.kinetic(&island.motion.twists));
    let far = worst_limit(island, ctx) > SET_APART;
    bring_home(island, ctx, if far { Aim::Start } else { Aim::Step })?;
    let (lifted, kinetic) = (potential(island, ctx) - potential_before, island.kinetic(&island.motion.twists));
    // Bodies that were turned have other inertias: their kinetic energy counts as well.
    let turned = kinetic - kinetic_before;
    let gained = if turned.abs() > TURNING_NOISE * kinetic_before { lifted + turned } else { lifted };
    if gained > 0.0 && kinetic > 0.0 && !ctx.model.options.start_pose_only() {
        let kept = ((kinetic - gained) / kinetic).max(0.0).sqrt();
        for (body, twist) in island.members.bodies.iter().zip(island.motion.twists.iter_mut()) {
            if body.dynamic {
                *twist = Twist { lin: twist.lin * kept, ang: twist.ang * kept };
            }
        }
    }
    island.books.flow.projection += lifted + island.kinetic(&island.motion.twists) - kinetic_before;
    Ok(())
}

/// Rounds until everything is where the model lets it be, as far as it can be brought there, and velocities that the joints allow there.
pub(crate) fn bring_home<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, aim: Aim) -> Result<(), StepError> {
    if needed(island, ctx, LIMIT_HELD) {
        rounds(island, ctx, aim);
    }
    if aim.far() && worst_limit(island, ctx) > LIMIT_HELD {
        // Overlap that cannot be removed must not keep a limit passed,
        rounds(island, ctx, Aim::Limits);
    }
    if worst_joint(island, ctx) > JOINT_CLOSED {
        // nor any of them a joint open.
        rounds(island, ctx, Aim::Joints);
    }
    // Rounds that were given up close nothing, which is no fault of the joints.
    ctx.go_on()?;
    refuse_open(island, ctx)?;
    grow_travelled(island, ctx);
    if ctx.model.options.start_pose_only() {
        // Positions alone: the velocity is that of the solve, and the next one holds it at these poses.
        return Ok(());
    }
    let Island { system: System { assembly, solve, .. }, motion: Motion { twists, .. }, .. } = island;
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
    assembly.equalities.spin_rotors(twists);
    assembly.hold_joints_and_rotors(&solve.joint_target, &mut solve.reaction, twists);
    Ok(())
}

/// Newton rounds, each shortened until it helps.
pub(crate) fn rounds<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, aim: Aim) {
    let mut last = miss(island, ctx, aim);
    for _ in 0..aim.cap() {
        if ctx.interrupt.raised() {
            return;
        }
        displacement(island, ctx, aim);
        contacts::remember(&island.touch.near, &mut island.touch.memory);
        let mut from = std::mem::take(&mut island.motion.retreat);
        from.clear();
        from.extend_from_slice(&island.motion.poses);
        let mut share = if aim.far() { common_share(island) } else { 1.0 };
        let mut better = false;
        for _ in 0..BACKTRACK_CAP {
            displace(island, &from, share, if aim.far() { f64::INFINITY } else { TURN_CLAMP });
            if aim.contacts() {
                contacts::detect(island, ctx.model);
            }
            let now = miss(island, ctx, aim);
            if now < last {
                (last, better) = (now, true);
                break;
            }
            share *= 0.5;
        }
        if !better {
            // Nothing helps further (a body deep inside another, a joint that cannot close): stay where it was least bad.
            island.motion.poses.copy_from_slice(&from);
        }
        island.motion.retreat = from;
        if !(aim.contacts() && better) {
            contacts::detect(island, ctx.model);
        }
        island.refresh_inertia();
        assembly::assemble(island, ctx);
        let done = match aim {
            Aim::Joints => last <= JOINT_CLOSED,
            Aim::Limits => worst_limit(island, ctx) <= LIMIT_HELD && worst_joint(island, ctx) <= JOINT_SLOP,
            Aim::Step | Aim::Start => !needed(island, ctx, LIMIT_HELD),
        };
        if !better || done {
            break;
        }
    }
}

/// The share of the displacement that turns no body by more than the rows stay meaningful for.
fn common_share<G: Geometry>(island: &Island<G>) -> f64 {
    let moved = island.members.bodies.iter().zip(&island.motion.scratch).filter(|(body, _)| body.dynamic);
    let turn = moved.fold(0.0f64, |m, (_, by)| m.max(by.ang.norm()));
    if turn > START_TURN { START_TURN / turn } else { 1.0 }
}

/// The least displacement d with J_e d = -phi, J_l d >= -gap for the limits and ropes, and J_c d >= -(gap + slop/2) for all near contacts, left in the
/// scratch velocities.
fn displacement<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, aim: Aim) {
    let tolerances = &ctx.model.tolerances;
    // Every near contact takes part, so that the correction of one opens no other.
    for near in &mut island.touch.near {
        near.extra = true;
    }
    assembly::assemble(island, ctx);
    let Island {
        members: Members { bodies, .. },
        motion: Motion { poses, scratch, .. },
        links: Links { joints, pairs, .. },
        touch: Touch { near, .. },
        system: System { assembly, solve, .. },
        ..
    } = island;
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
    assembly.equalities.ties.errors(ctx.model, poses, |_, row, error| solve.joint_target[row] = -error);
    solve.known = false;
    solve.softness.clear();
    solve.lines.clear();
    solve.blocks.clear();
    solve.target.clear();
    for group in assembly.groups.iter().filter(|g| !g.locked) {
        let room = match group.source {
            Source::Contact(c) if aim.contacts() => near[c].contact.gap + 0.5 * tolerances.slop * pairs[near[c].pair].size,
            Source::Limit { gap, .. } | Source::TendonLimit { gap, .. } if aim.limits() => gap,
            _ => continue,
        };
        solve.lines.push(group.first);
        solve.blocks.push(Block::Unilateral);
        solve.target.push(-room);
    }
    scratch.clear();
    scratch.resize(bodies.len(), Twist::zero());
    least_change(island);
}

/// The least mass-weighted change of the scratch velocities after which the joints have the speeds of `solve.joint_target`, and the lines of `solve.lines` at
/// least those of `solve.target`.
pub(crate) fn least_change<G: Geometry>(island: &mut Island<G>) {
    let Island { system: System { assembly, solve, solver }, motion: Motion { scratch, .. }, books: Books { report, .. }, .. } = island;
    assembly.hold_joints(&solve.joint_target, &mut solve.reaction, scratch);
    let n = solve.lines.len();
    solve.arms.clear();
    solve.free.clear();
    solve.free.extend(
        solve
            .lines
            .iter()
            .zip(&solve.target)
            .map(|(&line, target)| assembly.equalities.line_speed(&assembly.lines[line], scratch) - target),
    );
    solve.impulses.clear();
    solve.impulses.resize(n, 0.0);
    let outcome = if assembly.sparse {
        solve.first.clear();
        solve.first.extend(0..n);
        solve.warm.clear();
        solve.warm.resize(n, 0.0);
        solve.sparse.ready = false;
        solve_sparse(assembly, solve, solver, Cone::Round, Purpose::Places)
    } else {
        gather_matrix(assembly, solve);
        let problem = Problem { tangents: G::TANGENTS, blocks: &solve.blocks, matrix: &solve.matrix, free: &solve.free, cone: Cone::Round };
        solver.solve(&problem, None, &mut solve.impulses)
    };
    report.inaccurate |= !outcome.is_solved();
    let mut impulses = std::mem::take(&mut solve.impulses);
    let mut more = std::mem::take(&mut solve.free);
    assembly.push(&solve.lines, &impulses, &mut solve.reaction, &mut more, scratch);
    impulses.clear();
    solve.impulses = impulses;
    solve.free = more;
}

/// Moves every body from where it was by a share of the displacement, in which none turns by more than the clamp.
fn displace<G: Geometry>(island: &mut Island<G>, from: &[carom_math::Pose<G>], share: f64, clamp: f64) {
    for (index, body) in island.members.bodies.iter().enumerate() {
        if body.dynamic {
            let mut by = island.motion.scratch[index];
            let turn = by.ang.norm();
            if turn > clamp {
                by.ang = by.ang * (clamp / turn);
            }
            island.motion.poses[index] = from[index].advanced(by, share);
        }
    }
}
