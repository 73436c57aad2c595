//! Stages 5 and 7: which rows take part, with which targets, and the complementarity problem they make, theory (2.15).

mod tried;

use crate::articulated;
use crate::assembly::{Assembly, Source};
use crate::constraints::{Motor, Pull};
use crate::contacts::Near;
use crate::island::parts::{Links, Members, System, Touch};
use crate::island::{Context, Island, IslandReport, LocalPair};
use crate::moments::{self, Arms};
use crate::options::FrictionCone;
use crate::secants::Secants;
use crate::sparse_rows::{Purpose, SPEED_WANTED, SparseRows, capture, solve_sparse};
use crate::tendon::row_pull;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};
use carom_solve::contact::chain::ContactSolver;
use carom_solve::contact::law::Law;
use carom_solve::contact::problem::{Block, Cone, Problem};
use carom_solve::status::{Method, Outcome, SPEED_FLOOR, Status};
pub(crate) use tried::Tried;

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
    /// Arms of the moments of each group, over the length of its moment rows; none for a group without.
    pub arms: Vec<Option<Arms>>,
    /// The laws of a problem with moments.
    pub laws: Vec<Law>,
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
    /// Impulses of the other of the two solves, another start for the first solve of the selected rows over bodies.
    pub other: Vec<f64>,
    /// By how much the last solve missed its laws [m/s].
    pub missed: f64,
    /// How long the impulses of the selected rows act \[s\].
    pub duration: f64,
    /// The last move from these poses: a search for an event tries several lengths of one move.
    pub tried: Tried,
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
    /// The rounds of the last move went apart.
    pub diverged: bool,
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
    /// The problem was solved with the present matrix and laws: with other targets it is a back-substitution while modes stay.
    pub known: bool,
    /// What was selected before, from the rows of which pose: the same again has the same matrix.
    before: Selected,
    pub open: Vec<OpenRow>,
    pub scratch: Vec<f64>,
    pub secants: Secants,
}

/// What decides the matrix and the laws of a problem.
#[derive(Clone, Debug, Default, PartialEq)]
struct Selected {
    pose: u64,
    groups: Vec<usize>,
    blocks: Vec<Block>,
    softness: Vec<(usize, f64)>,
}

impl Solve {
    /// The impulses of the joints at the end of a solve, from the velocities that it came to.
    pub fn settle<G: Geometry>(&mut self, assembly: &mut Assembly<G>, twists: &[Twist<G>]) {
        let Solve { joint_target, lines, impulses, reaction, .. } = self;
        assembly.settle(joint_target, (lines, impulses), reaction, twists);
    }
    /// Takes all friction out of the contacts; whether there was any.
    pub fn slacken(&mut self) -> bool {
        let mut any = false;
        for block in &mut self.blocks {
            any |= block.smooth();
        }
        for arms in self.arms.iter_mut().flatten() {
            any |= *arms != [0.0; 2];
            *arms = [0.0; 2];
        }
        any
    }
}

/// A row without an impulse at the end of a move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenRow {
    pub row: usize,
    pub speed: f64,
    pub miss: f64,
    pub tolerance: f64,
}

/// Which of the two solves of a substep is at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Stage 5: positions at the end of the move count.
    Move,
    /// Stage 7: velocities count.
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
    let Island {
        members: Members { bodies, .. },
        links: Links { joints, tendons, pairs, .. },
        touch: Touch { near, .. },
        system: System { assembly, solve, .. },
        ..
    } = island;
    let share = match phase {
        Phase::Move => model.options.scheme().share,
        Phase::Finish => 0.5,
    };
    let duration = share * t;
    solve.duration = duration;
    solve.missed = 0.0;
    let Solve { before, groups, blocks, softness, .. } = &mut *solve;
    std::mem::swap(&mut before.groups, groups);
    std::mem::swap(&mut before.blocks, blocks);
    std::mem::swap(&mut before.softness, softness);
    // Both of a pair have room for the largest problem that one of them has met.
    groups.clear();
    groups.reserve(before.groups.capacity());
    blocks.clear();
    blocks.reserve(before.blocks.capacity());
    softness.clear();
    softness.reserve(before.softness.capacity());
    solve.lines.clear();
    solve.first.clear();
    solve.target.clear();
    solve.warm.clear();
    solve.arms.clear();
    solve.other.clear();
    solve.leaving.clear();
    solve.pushed.clear();
    solve.pushed.resize(bodies.len(), false);
    for (index, group) in assembly.groups.iter().enumerate() {
        if group.locked {
            continue;
        }
        let row = solve.lines.len();
        let mut arms = None;
        let block = match group.source {
            Source::Contact(c) => {
                let contact = &near[c];
                if !takes_part(contact, &pairs[contact.pair]) {
                    continue;
                }
                let gap = match phase {
                    // Where rows outnumber freedoms, gaps that only touch would contradict each other.
                    Phase::Move if assembly.crowded && contact.contact.gap <= model.tolerances.touch * pairs[contact.pair].size => 0.0,
                    Phase::Move => contact.contact.gap.max(0.0),
                    Phase::Finish => 0.0,
                };
                solve.target.push(if t > 0.0 { -gap / t } else { 0.0 });
                let (warm, other) = (contact.warm[phase as usize], contact.warm[1 - phase as usize]);
                // Rows without another start have none.
                solve.other.resize(row, 0.0);
                solve.warm.push(warm.dot(contact.contact.normal));
                solve.other.push(other.dot(contact.contact.normal));
                for tangent in &G::tangents(contact.contact.normal)[..G::TANGENTS] {
                    solve.target.push(0.0);
                    solve.warm.push(warm.dot(*tangent));
                    solve.other.push(other.dot(*tangent));
                }
                if group.rows > 1 + G::TANGENTS {
                    let length = moments::length(assembly, group);
                    arms = Some(pairs[contact.pair].arms.map(|arm| if solve.jammed { 0.0 } else { arm / length }));
                    solve.target.extend((1 + G::TANGENTS..group.rows).map(|_| 0.0));
                    solve.warm.extend((1 + G::TANGENTS..group.rows).map(|_| 0.0));
                }
                Block::contact(if solve.jammed { 0.0 } else { pairs[contact.pair].friction })
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
                let local = &joints[joint];
                let Some(motor) = model.joints[local.index].motor else { continue };
                let (target, soft) = match (motor, motor.pull(ctx.asked(local))) {
                    (Motor::Velocity { velocity, .. }, _) => (velocity, 0.0),
                    // What is slow is a load at the start of the move and, but for its damper, at the end of it.
                    (_, Some(pull)) if local.slow_pull && (phase == Phase::Move || pull.damping == 0.0) => continue,
                    (_, Some(pull)) => soft_row(&pull, coordinate, if local.slow_pull { 0.0 } else { t }, duration),
                    _ => continue,
                };
                if soft > 0.0 {
                    solve.softness.push((row, soft));
                }
                solve.target.push(target);
                solve.warm.push(0.0);
                match motor.row_max().filter(|max| max.is_finite()) {
                    Some(max) => Block::Bounded { lower: -max * duration, upper: max * duration },
                    None => Block::Bounded { lower: f64::NEG_INFINITY, upper: f64::INFINITY },
                }
            }
            Source::TendonLimit { gap, .. } => {
                if phase == Phase::Finish && gap > model.tolerances.touch {
                    continue;
                }
                solve.target.push(if phase == Phase::Move && t > 0.0 { -gap.max(0.0) / t } else { 0.0 });
                solve.warm.push(0.0);
                Block::Unilateral
            }
            Source::Tendon { tendon, stretch } => {
                let local = &tendons[tendon];
                let spring = model.couplings[local.index].tendon.unwrap_or_default();
                let Some((pull, ahead)) = row_pull(&spring, local.stiff, phase == Phase::Finish, t) else { continue };
                let (target, soft) = soft_row(&pull, stretch, ahead, duration);
                solve.softness.push((row, soft));
                solve.target.push(target);
                solve.warm.push(0.0);
                Block::Bounded { lower: f64::NEG_INFINITY, upper: f64::INFINITY }
            }
            Source::Friction { joint } => {
                let bound = model.joints[joints[joint].index].friction * duration;
                solve.target.push(0.0);
                solve.warm.push(0.0);
                Block::Bounded { lower: -bound, upper: bound }
            }
            Source::Spring { joint, length } => {
                let spring = &model.joints[joints[joint].index];
                let pull = Pull {
                    position: spring.measures.rest,
                    rate: 0.0,
                    stiffness: spring.measures.stiffness,
                    damping: spring.measures.damping,
                };
                let (target, soft) = soft_row(&pull, length, t, duration);
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
        solve.arms.push(arms);
        solve.lines.extend(group.first..group.first + group.rows);
        let line = &assembly.lines[group.first];
        line.bodies.into_iter().for_each(|body| solve.pushed[body] = true);
        assembly.equalities.tendon_sides(line, |body, _| solve.pushed[body] = true);
    }
    let Solve { before, groups, blocks, softness, known, .. } = &mut *solve;
    let same = (before.pose, &before.groups, &before.blocks, &before.softness) == (assembly.number, &*groups, &*blocks, &*softness);
    before.pose = assembly.number;
    *known &= same;
    solve.tolerance = model.tolerances.solve;
    solve.sparse.capture = ctx.capture;
    if !solve.known {
        solve.matrix.clear();
        solve.sparse.ready = false;
        if !assembly.articulated && !assembly.sparse {
            gather_matrix(assembly, solve);
        }
    }
    if assembly.sparse && assembly.equalities.is_empty() {
        solve.other.resize(solve.lines.len(), 0.0);
    } else {
        solve.other.clear();
    }
    solve.impulses.clear();
    solve.impulses.resize(solve.lines.len(), 0.0);
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
}

/// The selected part of the reduced matrix, with the softness of soft rows.
pub(crate) fn gather_matrix<G: Geometry>(assembly: &mut Assembly<G>, solve: &mut Solve) {
    assembly.reduce();
    let (n, all) = (solve.lines.len(), assembly.lines.len());
    let Solve { matrix, lines, .. } = solve;
    matrix.clear();
    matrix.reserve(n * n);
    for &line in lines.iter() {
        let row = &assembly.matrix[line * all..][..all];
        matrix.extend(lines.iter().map(|&other| row[other]));
    }
    for &(row, soft) in &solve.softness {
        solve.matrix[row * n + row] += soft;
    }
}

/// Target and softness of an implicit row: l = d (k (x - t s) + c (r - s)), with x the way still to go, r the rate aimed at and s the speed, theory (21.8).
fn soft_row(pull: &Pull, coordinate: f64, t: f64, duration: f64) -> (f64, f64) {
    let Pull { position, rate, stiffness, damping } = *pull;
    let resistance = stiffness * t + damping;
    if resistance > 0.0 && duration > 0.0 {
        ((stiffness * (position - coordinate) + damping * rate) / resistance, 1.0 / (duration * resistance))
    } else {
        (0.0, f64::MAX.sqrt())
    }
}

/// Solves the selected problem for velocities `free` before rows act; the result is written to `out`. The impulses of joints are those of [`Solve::settle`].
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
    assembly.hold_unsettled(&solve.joint_target, solve.lines.is_empty(), &mut solve.reaction, out);
    solve.free.clear();
    for (&line, target) in solve.lines.iter().zip(&solve.target) {
        // A direction that the joints lock has nothing to answer with.
        solve.free.push(if assembly.locked_rows[line] { 0.0 } else { assembly.equalities.line_speed(&assembly.lines[line], out) - target });
    }
    if solve.sparse.capture && !solve.lines.is_empty() && !assembly.equalities.tied() {
        capture(assembly, solve, shape_of(cone));
    }
    let mut outcome = Outcome::failed(0, Method::Sweep);
    if assembly.articulated && !assembly.sparse && !solve.lines.is_empty() {
        outcome = articulated::sweep(assembly, solve);
        report.solves += 1;
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
    report.iterations += outcome.iterations;
    solve.missed = outcome.residual * contact_speed(solve, G::TANGENTS);
    report.residual = report.residual.max(solve.missed);
    report.rough += usize::from(solve.missed > SPEED_WANTED);
    if outcome.status != Status::Solved && solve.missed > SPEED_WANTED {
        report.inaccurate = true;
    }
    solve.warm.copy_from_slice(&solve.impulses);
    solve.other.clear();
    let Solve { joint_target, lines, impulses, reaction, scratch, .. } = solve;
    assembly.push_unsettled(joint_target, (lines, impulses), reaction, scratch, out);
    outcome
}

/// The speed that residuals of contacts and limits are relative to [m/s]; targets of soft rows are no speeds of anything.
fn contact_speed(solve: &Solve, tangents: usize) -> f64 {
    let mut fastest = 0.0f64;
    for (block, &first) in solve.blocks.iter().zip(&solve.first) {
        if !matches!(block, Block::Bounded { .. }) {
            let rows = &solve.free[first..first + block.rows(tangents)];
            fastest = rows.iter().fold(fastest, |most, u| most.max(u.abs()));
        }
    }
    fastest + SPEED_FLOOR
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
    if solve.arms.iter().any(Option::is_some) {
        return moments::resolve::<G>(solve, solver, cone, report);
    }
    let Solve { blocks, matrix, free: speeds, warm, impulses, known, .. } = solve;
    if *known && let Some(outcome) = solver.substitute(&Problem { tangents: G::TANGENTS, blocks, matrix, free: speeds, cone }, impulses) {
        report.substitutions += 1;
        return outcome;
    }
    let before = solver.factorisations();
    report.solves += usize::from(!matrix.is_empty());
    let mut outcome = solver.solve(&Problem { tangents: G::TANGENTS, blocks, matrix, free: speeds, cone }, Some(warm), impulses);
    // Dry friction can jam: no impulse inside the cones opens the contacts. Without friction the problem is convex and has a solution.
    if outcome.status == Status::Failed && blocks.iter_mut().map(Block::smooth).fold(false, |any, rough| any | rough) {
        outcome = solver.solve(&Problem { tangents: G::TANGENTS, blocks, matrix, free: speeds, cone }, Some(warm), impulses);
        solve.jammed = true;
        report.inaccurate = true;
        report.solves += 1;
    }
    report.factorisations += (solver.factorisations() - before) as usize;
    solve.known = outcome.is_solved();
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
    let purpose = solve.tolerance.map_or(Purpose::Speeds, Purpose::Rough);
    let before = solver.factorisations();
    let mut outcome = solve_sparse(assembly, solve, solver, cone, purpose);
    if outcome.status == Status::Failed && solve.slacken() {
        outcome = solve_sparse(assembly, solve, solver, cone, purpose);
        solve.jammed = true;
        report.inaccurate = true;
    }
    let made = (solver.factorisations() - before) as usize;
    report.factorisations += made;
    solve.sparse.factors += made;
    // Without a factorisation it was a back-substitution, or there was nothing to do.
    if made > 0 {
        report.solves += 1;
    } else {
        report.substitutions += 1;
    }
    outcome
}
