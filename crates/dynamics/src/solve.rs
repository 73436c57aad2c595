//! Room 5: one complementarity problem per island, held over the move, theory (2.14)-(2.18).
//!
//! Impulses act along the rows of the start pose. Targets are corrected until joints, active contacts and active limits hold at the
//! end of the move, and until a sticking contact has no mean slip over it.

use crate::articulated;
use crate::assembly::{Assembly, Source};
use crate::constraints::Motor;
use crate::contacts::{Near, arms};
use crate::energy_momentum;
use crate::island::{Context, Island, IslandReport, LocalPair};
use crate::options::{FrictionCone, ImpactLaw, Integrator, TimeOfImpact};
use crate::predict::{kick, kick_share};
use crate::secants::Secants;
use crate::sparse_rows::{SparseRows, capture, solve_sparse};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};
use carom_solve::contact_solver::ContactSolver;
use carom_solve::problem::{Block, Cone, Problem};
use carom_solve::status::{Method, Outcome, RESIDUAL_WANTED, Status, speed_scale};

/// Rounds of the end-of-move correction. Flat contacts need one, curved ones and hinges 3-6; a move that needs more is too long.
const CORRECTION_CAP: usize = 40;

/// Rounds over which the rate of the correction of joints is judged: a move that would not arrive within the cap at that rate is too long already.
const RATE_ROUNDS: usize = 6;

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

/// The selected part of an assembly, its targets and its solution.
#[derive(Debug, Default)]
pub(crate) struct Solve {
    /// Groups that take part.
    pub groups: Vec<usize>,
    /// Their rows in the assembly, in order.
    pub lines: Vec<usize>,
    /// First selected row of each group.
    pub first: Vec<usize>,
    /// The law of each group.
    pub blocks: Vec<Block>,
    /// Sub-matrix with the softness of soft rows on its diagonal.
    pub matrix: Vec<f64>,
    /// Target speed of each row.
    pub target: Vec<f64>,
    /// Velocity of each row without impulses, minus the target.
    pub free: Vec<f64>,
    /// Impulses of the rows.
    pub impulses: Vec<f64>,
    /// Impulses of the last solution, the next one's start.
    pub warm: Vec<f64>,
    /// Target speed of the joint rows.
    pub joint_target: Vec<f64>,
    /// Impulses of the joint rows.
    pub reaction: Vec<f64>,
    /// Joint errors.
    pub error: Vec<f64>,
    /// Bodies that selected rows push; without joints the others move as the loads alone have them.
    pub pushed: Vec<bool>,
    /// Per selected group: restitution drives it apart, so that its gap at the end of the move is not to be closed.
    pub leaving: Vec<bool>,
    /// Friction had no solution in this substep (a jam): contacts are taken as frictionless until it ends.
    pub jammed: bool,
    /// Only the rows of the start pose counted in the last move.
    pub uncorrected: bool,
    /// Joints were seen to hold at the end of the last move.
    pub closed: bool,
    /// The joint rows at the end of the last move are at hand.
    pub ahead: bool,
    /// Softness of soft rows: (row, inverse stiffness).
    pub softness: Vec<(usize, f64)>,
    /// Miss of a contact law [m/s] that will do, where the scene says so.
    pub tolerance: Option<f64>,
    /// The selected rows over bodies, where there are many.
    pub sparse: SparseRows,
    open: Vec<OpenRow>,
    pub scratch: Vec<f64>,
    secants: Secants,
}

/// A row without an impulse at the end of a move.
#[derive(Clone, Copy, Debug)]
struct OpenRow {
    row: usize,
    speed: f64,
    miss: f64,
    tolerance: f64,
}

/// Which of the two solves of a substep is at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Room 5: positions at the end of the move count.
    Move,
    /// Room 7: velocities count.
    Finish,
}

/// Selects the groups that take part, with their laws, targets and warm starts.
pub(crate) fn select<G: Geometry>(
    island: &mut Island<G>,
    ctx: &Context<G>,
    phase: Phase,
    t: f64,
    takes_part: impl Fn(&Near<G>, &LocalPair) -> bool,
) {
    let model = ctx.model;
    let Island { bodies, joints, near, assembly, solve, pairs, .. } = island;
    let share = match phase {
        Phase::Move => kick_share(model.options.integrator),
        Phase::Finish => 0.5,
    };
    let duration = share * t;
    solve.groups.clear();
    solve.lines.clear();
    solve.first.clear();
    solve.blocks.clear();
    solve.target.clear();
    solve.warm.clear();
    solve.softness.clear();
    solve.leaving.clear();
    solve.pushed.clear();
    solve.pushed.resize(bodies.len(), false);
    for (index, group) in assembly.groups.iter().enumerate() {
        if group.locked {
            continue;
        }
        let row = solve.lines.len();
        let block = match group.source {
            Source::Contact(c) => {
                let contact = &near[c];
                if !takes_part(contact, &pairs[contact.pair]) {
                    continue;
                }
                let gap = match phase {
                    Phase::Move => contact.contact.gap.max(0.0),
                    Phase::Finish => 0.0,
                };
                solve.target.push(if t > 0.0 { -gap / t } else { 0.0 });
                let warm = contact.warm[phase as usize];
                solve.warm.push(warm.dot(contact.contact.normal));
                for tangent in &G::tangents(contact.contact.normal)[..G::TANGENTS] {
                    solve.target.push(0.0);
                    solve.warm.push(warm.dot(*tangent));
                }
                Block::Contact { friction: if solve.jammed { 0.0 } else { pairs[contact.pair].friction } }
            }
            Source::Limit { gap, .. } => {
                if phase == Phase::Finish && gap > model.tolerances.touch {
                    continue;
                }
                solve.target.push(if phase == Phase::Move && t > 0.0 { -gap.max(0.0) / t } else { 0.0 });
                solve.warm.push(0.0);
                Block::Unilateral
            }
            Source::Motor { joint, coordinate } => {
                let (target, soft, max) = match model.joints[joints[joint].index].motor {
                    Some(Motor::Velocity { velocity, max }) => (velocity, 0.0, max),
                    Some(Motor::Position { position, stiffness, damping, max }) => {
                        let (target, soft) = soft_row(stiffness, damping, position - coordinate, t, duration);
                        (target, soft, max)
                    }
                    _ => continue,
                };
                if soft > 0.0 {
                    solve.softness.push((row, soft));
                }
                solve.target.push(target);
                solve.warm.push(0.0);
                Block::Bounded { lower: -max * duration, upper: max * duration }
            }
            Source::Friction { joint } => {
                let bound = model.joints[joints[joint].index].friction * duration;
                solve.target.push(0.0);
                solve.warm.push(0.0);
                Block::Bounded { lower: -bound, upper: bound }
            }
            Source::Spring { joint, length } => {
                let spring = &model.joints[joints[joint].index];
                let (target, soft) = soft_row(spring.stiffness, spring.damping, spring.rest - length, t, duration);
                solve.softness.push((row, soft));
                solve.target.push(target);
                solve.warm.push(0.0);
                Block::Bounded { lower: f64::NEG_INFINITY, upper: f64::INFINITY }
            }
        };
        solve.groups.push(index);
        solve.leaving.push(false);
        solve.first.push(row);
        solve.blocks.push(block);
        solve.lines.extend(group.first..group.first + group.rows);
        assembly.lines[group.first].bodies.into_iter().for_each(|body| solve.pushed[body] = true);
    }
    solve.matrix.clear();
    solve.sparse.ready = false;
    solve.tolerance = model.tolerances.solve;
    solve.sparse.capture = ctx.capture;
    if !assembly.articulated && !assembly.sparse {
        gather_matrix(assembly, solve);
    }
    solve.impulses.clear();
    solve.impulses.resize(solve.lines.len(), 0.0);
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
}

/// The selected part of the reduced matrix, with the softness of soft rows.
fn gather_matrix<G: Geometry>(assembly: &mut Assembly<G>, solve: &mut Solve) {
    assembly.reduce();
    let (n, all) = (solve.lines.len(), assembly.lines.len());
    solve.matrix.clear();
    solve.matrix.resize(n * n, 0.0);
    for i in 0..n {
        for j in 0..n {
            solve.matrix[i * n + j] = assembly.matrix[solve.lines[i] * all + solve.lines[j]];
        }
    }
    for &(row, soft) in &solve.softness {
        solve.matrix[row * n + row] += soft;
    }
}

/// Target and softness of an implicit spring row: l = d (k (x - t s) - c s), with x the way still to go and s the speed, theory (3.9).
fn soft_row(stiffness: f64, damping: f64, way: f64, t: f64, duration: f64) -> (f64, f64) {
    let resistance = stiffness * t + damping;
    if resistance > 0.0 && duration > 0.0 { (stiffness * way / resistance, 1.0 / (duration * resistance)) } else { (0.0, f64::MAX.sqrt()) }
}

/// Solves the selected problem for velocities `free` before rows act; the result is written to `out`.
pub(crate) fn resolve<G: Geometry>(
    assembly: &mut Assembly<G>,
    solve: &mut Solve,
    solver: &mut ContactSolver,
    cone: FrictionCone,
    free: &[Twist<G>],
    out: &mut Vec<Twist<G>>,
    report: &mut IslandReport,
) -> Outcome {
    out.clear();
    out.extend_from_slice(free);
    assembly.hold_joints(&solve.joint_target, &mut solve.reaction, out);
    solve.free.clear();
    for (&line, target) in solve.lines.iter().zip(&solve.target) {
        // A direction that the joints lock has nothing to answer with.
        solve.free.push(if assembly.locked_rows[line] { 0.0 } else { assembly.lines[line].speed(out) - target });
    }
    if solve.sparse.capture && !solve.lines.is_empty() {
        capture(assembly, solve, shape_of(cone));
    }
    let mut outcome = Outcome::failed(0, Method::Sweep);
    if assembly.articulated && !solve.lines.is_empty() {
        outcome = articulated::sweep(assembly, solve);
        if outcome.is_solved() {
            report.swept += 1;
        } else {
            // Sweeps that stall have found most of what there is to find.
            solve.warm.copy_from_slice(&solve.impulses);
        }
    }
    if !outcome.is_solved() {
        outcome = resolve_reduced(assembly, solve, solver, cone, report);
    }
    report.solves += 1;
    report.iterations += outcome.iterations;
    report.residual = report.residual.max(outcome.residual * speed_scale(&solve.free));
    if outcome.status != Status::Solved {
        report.inaccurate = true;
    }
    solve.warm.copy_from_slice(&solve.impulses);
    assembly.push(&solve.lines, &solve.impulses, &mut solve.reaction, &mut solve.scratch, out);
    outcome
}

/// The problem of all selected rows at once, with its fallback where friction jams.
fn resolve_reduced<G: Geometry>(
    assembly: &mut Assembly<G>,
    solve: &mut Solve,
    solver: &mut ContactSolver,
    cone: FrictionCone,
    report: &mut IslandReport,
) -> Outcome {
    let cone = shape_of(cone);
    if assembly.sparse {
        return resolve_sparse(assembly, solve, solver, cone, report);
    }
    if solve.matrix.len() != solve.lines.len() * solve.lines.len() {
        gather_matrix(assembly, solve);
    }
    let Solve { blocks, matrix, free: speeds, warm, impulses, .. } = solve;
    let mut outcome = solver.solve(&Problem { tangents: G::TANGENTS, blocks, matrix, free: speeds, cone }, Some(warm), impulses);
    let rough = |block: &Block| matches!(block, Block::Contact { friction } if *friction > 0.0);
    if outcome.status == Status::Failed && blocks.iter().any(rough) {
        // Dry friction can jam: no impulse inside the cones opens the contacts. Without friction the problem is convex and has a solution.
        for block in blocks.iter_mut().filter(|block| rough(block)) {
            *block = Block::Contact { friction: 0.0 };
        }
        outcome = solver.solve(&Problem { tangents: G::TANGENTS, blocks, matrix, free: speeds, cone }, Some(warm), impulses);
        solve.jammed = true;
        report.inaccurate = true;
    }
    outcome
}

/// The shape of friction cones, in the words of the solver.
fn shape_of(cone: FrictionCone) -> Cone {
    match cone {
        FrictionCone::Round => Cone::Round,
        FrictionCone::Polyhedral(edges) => Cone::Polyhedral(edges),
    }
}

/// The same over bodies, for many rows.
fn resolve_sparse<G: Geometry>(
    assembly: &Assembly<G>,
    solve: &mut Solve,
    solver: &mut ContactSolver,
    cone: Cone,
    report: &mut IslandReport,
) -> Outcome {
    let tolerance = solve.tolerance;
    let mut outcome = solve_sparse(assembly, solve, solver, cone, tolerance);
    let rough = |block: &Block| matches!(block, Block::Contact { friction } if *friction > 0.0);
    if outcome.status == Status::Failed && solve.blocks.iter().any(rough) {
        for block in solve.blocks.iter_mut().filter(|block| rough(block)) {
            *block = Block::Contact { friction: 0.0 };
        }
        outcome = solve_sparse(assembly, solve, solver, cone, tolerance);
        solve.jammed = true;
        report.inaccurate = true;
    }
    outcome
}

/// How the solve of a move ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Joints and active contacts hold at the end of the move.
    pub converged: bool,
    /// The last solve.
    pub outcome: Outcome,
}

/// Whether the source's own scheme was asked for, where rows are the start pose's only.
fn start_pose_only(options: &crate::options::Options) -> bool {
    options.integrator == Integrator::Euler && options.impact == ImpactLaw::Newton && options.time_of_impact == TimeOfImpact::Halving
}

/// Rooms 3 to 5 for a move of length t: velocities v1/2 in `island.half`, poses q' in `island.next`.
pub(crate) fn hold<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) -> Held {
    hold_rows(island, ctx, t, start_pose_only(&ctx.model.options))
}

/// The same with rows at the start pose only where `uncorrected`: what is left of a move whose correction does not converge.
pub(crate) fn hold_rows<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64, uncorrected: bool) -> Held {
    let options = &ctx.model.options;
    island.solve.uncorrected = uncorrected;
    island.solve.ahead = false;
    if options.integrator == Integrator::EnergyMomentum {
        return energy_momentum::hold(island, ctx, t, uncorrected);
    }
    select_move(island, ctx, t);
    if options.impact == ImpactLaw::Newton && options.time_of_impact != TimeOfImpact::Event {
        restitution_targets(island, ctx);
    }
    // The targets of redundant rows are answered by no impulse and say nothing of the next move.
    if !uncorrected && island.assembly.redundant == 0 {
        let equalities = &island.assembly.equalities;
        island.curvature.guess(equalities.spans(), t, &equalities.now.errors, &mut island.solve.joint_target);
    }
    // Joints alone need no start to come back to.
    let alone = island.solve.lines.is_empty();
    let mut scratch = std::mem::take(if alone { &mut island.half } else { &mut island.scratch });
    scratch.clear();
    scratch.extend((0..island.bodies.len()).map(|body| kick(island, body, options, t)));
    if alone {
        std::mem::swap(&mut island.half, &mut scratch);
    }
    let mut held = Held { converged: false, outcome: Outcome::failed(0, Method::Trivial) };
    let (mut before, mut last) = (f64::INFINITY, f64::INFINITY);
    let mut misses = [f64::INFINITY; RATE_ROUNDS];
    for round in 0..CORRECTION_CAP {
        let Island { assembly, solve, solver, half, report, .. } = island;
        if alone && round == 0 {
            assembly.hold_joints(&solve.joint_target, &mut solve.reaction, half);
            held.outcome = Outcome::judge(0.0, RESIDUAL_WANTED, 0, Method::Trivial);
            report.solves += 1;
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
            assembly.change_joints(&mut solve.scratch, &mut solve.reaction, half);
            report.solves += 1;
        } else {
            held.outcome = resolve(assembly, solve, solver, options.friction_cone, &scratch, half, report);
        }
        if round == 0 || !island.assembly.equalities.is_empty() {
            island.next.clear();
            island.next.extend(island.poses.iter().zip(&island.half).map(|(pose, twist)| pose.advanced(*twist, t)));
        } else {
            // What no row pushes moves as in the first round.
            for body in (0..island.bodies.len()).filter(|&body| island.solve.pushed[body]) {
                island.next[body] = island.poses[body].advanced(island.half[body], t);
            }
        }
        if uncorrected || t == 0.0 {
            held.converged = true;
            break;
        }
        let worst = correct_targets(island, ctx, t);
        island.report.corrections += 1;
        // Targets cannot be met more exactly than the problem was solved. Contacts that open and close by turns miss by their speeds times t however short the
        // move: what the last round leaves of them is taken too, or thousands of moves would be sought that hide it.
        let stalled = !alone && round + 1 == CORRECTION_CAP;
        if worst <= if held.outcome.is_solved() && !stalled { 1.0 } else { INACCURATE_SLACK } {
            held.converged = true;
            island.solve.ahead = worst <= 1.0;
            if worst > 1.0 {
                island.report.inaccurate = true;
                close_joints(island, ctx, t);
            }
            break;
        }
        if !worst.is_finite() || ctx.interrupt.raised() {
            break;
        }
        if held.outcome.residual > UNSOLVABLE && worst > 0.5 * last {
            // What is not solved is not corrected either, and every round tries every method anew: friction has jammed.
            island.solve.jammed = true;
            break;
        }
        if alone && round >= RATE_ROUNDS {
            let rate = (worst / misses[round % RATE_ROUNDS]).ln() / RATE_ROUNDS as f64;
            if worst.ln() > -rate * (CORRECTION_CAP - round) as f64 {
                break;
            }
        }
        misses[round % RATE_ROUNDS] = worst;
        (before, last) = (last, worst);
    }
    if !alone {
        island.scratch = scratch;
    }
    island.solve.closed = held.converged && !uncorrected && t > 0.0;
    held
}

/// Joints exact last: where contacts were solved only so far, what they leave of the joint errors at the end of the move is taken out by joint
/// impulses alone.
fn close_joints<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) {
    let mut impulses = std::mem::take(&mut island.solve.scratch);
    for _ in 0..CLOSING_CAP {
        let worst = joint_miss(island, ctx, t, true);
        if worst <= 1.0 {
            break;
        }
        let Island { assembly, solve, half, next, poses, .. } = island;
        assembly.hold_joints(&solve.joint_target, &mut impulses, half);
        solve.reaction.iter_mut().zip(&impulses).for_each(|(sum, more)| *sum += more);
        next.clear();
        next.extend(poses.iter().zip(half.iter()).map(|(pose, twist)| pose.advanced(*twist, t)));
    }
    island.solve.scratch = impulses;
}

/// Selects the groups of a move.
pub(crate) fn select_move<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) {
    let margin = ctx.model.tolerances.margin;
    select(island, ctx, Phase::Move, t, |near, pair| {
        near.touching || near.extra || (near.active && near.contact.gap <= margin * pair.size)
    });
}

/// Newton restitution inside the problem: c = k min(0, J v) where the approach is faster than the rest speed, theory (2.15).
fn restitution_targets<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) {
    for position in 0..island.solve.groups.len() {
        let group = island.assembly.groups[island.solve.groups[position]];
        if let Source::Contact(c) = group.source {
            let near = &island.near[c];
            let approach = island.assembly.lines[group.first].speed(&island.twists);
            let restitution = island.pairs[near.pair].restitution;
            if near.touching && restitution > 0.0 && approach < -crate::impact::rest_speed(island, ctx, near) {
                island.solve.target[island.solve.first[position]] = -restitution * approach;
                island.solve.leaving[position] = true;
            }
        }
    }
}

/// Moves the targets by what joints, active contacts and limits miss at the end of the move; returns the worst miss over its
/// tolerance (at most 1 means done), theory (2.17).
pub(crate) fn correct_targets<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64) -> f64 {
    let mut worst = joint_miss(island, ctx, t, false);
    let mut to_go: f64 = 0.0;
    let model = ctx.model;
    let Island { joints, near, assembly, solve, pairs, next, half, poses, .. } = island;
    // What a solve may miss in speed it may miss over the move.
    let rough = model.tolerances.solve.map_or(0.0, |speed| speed * t);

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
                let tolerance = (model.tolerances.position * size).max(ROUNDING * f64::EPSILON * (reach + size)).max(rough);
                let start = contact.contact.gap;
                let deeper = then.gap < start - tolerance;
                // Overlap beyond touching is left alone unless it deepens. Within touching the sign of the gap is rounding and must not decide.
                if start < -model.tolerances.touch * size && then.gap < 0.0 && !deeper {
                    continue;
                }
                let miss = then.gap - start.min(0.0);
                if !pushes {
                    solve.open.push(OpenRow { row, speed: assembly.lines[group.first].speed(half), miss, tolerance });
                    continue;
                }
                solve.target[row] -= miss / t;
                worst = worst.max(miss.abs() / tolerance);
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
                    worst = worst.max(t * (wanted - solve.target[row + 1 + k]).abs() / tolerance);
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
    let Island { joints, assembly, solve, next, half, report, .. } = island;
    let Assembly { equalities, ahead, .. } = assembly;
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
        let mut most = 0.0f64;
        for (target, &error) in targets[first..].iter_mut().zip(errors) {
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
