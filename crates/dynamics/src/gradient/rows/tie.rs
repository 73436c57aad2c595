//! Couplings of joints in the derivative of a step, theory (21.13): a row over many bodies as rows over two, with rates of its joints as unknowns beside.
//!
//! For a coupling of n joints the unknowns are the rates r_i of its coordinates, the impulses l_i along their rows, and the impulse m of the coupling; what holds is
//! (what the coordinate does) - r_i = 0, l_i - c_i m = 0 and the sum of c_i r_i = 0.

use super::joint_rows::JointAt;
use crate::constraints::JointFunction;
use crate::coupling::LocalTie;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::Stage;
use crate::gradient::system::{Residual, System, nothing};
use crate::gradient::tape::record::{Pushed, RowSource};
use crate::predict::Instant;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Wrench};

pub(crate) const COORDINATE: JointFunction = JointFunction::Coordinate;

/// How many unknowns the couplings of an island add.
pub(crate) fn unknowns<G: Geometry>(stage: &Stage<G>) -> usize {
    stage.ties.iter().map(|tie| 2 * tie.terms.len() + 1).sum()
}

/// Rows of the joints before those of the couplings.
fn joint_rows<G: Geometry>(stage: &Stage<G>) -> usize {
    stage.joints.last().map_or(0, |joint| joint.first_row + joint.rows)
}

/// Impulses of the couplings on the bodies: their change as rows turn, and their values.
pub(crate) fn push<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    reaction: &[f64],
    poses: (&[Pose<G>], &[Option<Block>]),
    out: &[Option<Block>],
    total: &mut [Wrench<G>],
) {
    let first = joint_rows(stage);
    for (k, tie) in stage.ties.iter().enumerate() {
        for &(joint, coefficient) in &tie.terms {
            let at = stage.joint(&stage.joints[joint], poses.0, poses.1);
            let impulse = coefficient * reaction[first + k];
            at.impulse(program, COORDINATE, &[impulse], out);
            for (body, row) in at.row(COORDINATE, 0) {
                total[body] = total[body].plus(impulse, row);
            }
        }
    }
}

/// The same of one row over many bodies with one impulse along it.
pub(crate) fn push_row<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    tie: &LocalTie,
    along: f64,
    poses: (&[Pose<G>], &[Option<Block>]),
    out: &[Option<Block>],
    total: &mut [Wrench<G>],
) {
    for &(joint, coefficient) in &tie.terms {
        let at = stage.joint(&stage.joints[joint], poses.0, poses.1);
        let impulse = coefficient * along;
        at.impulse(program, COORDINATE, &[impulse], out);
        for (body, row) in at.row(COORDINATE, 0) {
            total[body] = total[body].plus(impulse, row);
        }
    }
}

/// The impulse of a tendon's group along its row.
pub(crate) fn along<G: Geometry>(group: &Pushed<G>) -> f64 {
    if matches!(group.source, RowSource::TendonLimit { upper: true, .. }) { -group.impulses[0] } else { group.impulses[0] }
}

/// Adds the residuals of the couplings; `moves` says what a coordinate does, into a slot, and how that answers. Impulses act along rows at `column`.
pub(crate) fn hold<'s, G: Geometry>(
    program: &mut Program<G>,
    stage: &'s Stage<'s, G>,
    system: &mut System<G>,
    column: impl Fn(usize) -> JointAt<'s, G>,
    moves: impl Fn(&mut Program<G>, usize, Block) -> Residual<G>,
) {
    for tie in stage.ties {
        row(program, tie, system, &column, &moves);
        system.push(Residual::zero(), nothing());
    }
}

/// Adds the residuals of one row over many bodies but for the last, which says what the sum of its rates obeys; its unknown is the impulse.
pub(crate) fn row<'s, G: Geometry>(
    program: &mut Program<G>,
    tie: &LocalTie,
    system: &mut System<G>,
    column: impl Fn(usize) -> JointAt<'s, G>,
    moves: impl Fn(&mut Program<G>, usize, Block) -> Residual<G>,
) {
    system.scattered = true;
    let (first, count) = (system.count(), tie.terms.len());
    for (i, &(joint, _)) in tie.terms.iter().enumerate() {
        let row = moves(program, joint, system.next());
        system.entry(first + i, first + i, -1.0);
        system.push(row, nothing());
    }
    for (i, &(joint, coefficient)) in tie.terms.iter().enumerate() {
        system.entry(first + count + i, first + count + i, 1.0);
        system.entry(first + count + i, first + 2 * count, -coefficient);
        system.entry(first + 2 * count, first + i, coefficient);
        let along = column(joint).row(COORDINATE, 0);
        system.push(Residual::zero(), along);
    }
}

/// Adds the residuals of a tendon whose spring and damper are a soft row, s + l/(d r) + k x/r = 0 with r = k t + c, or r = c at the end of a move where it is no stiffer than
/// a load, theory (21.16).
pub(crate) fn soft<'s, G: Geometry>(
    program: &mut Program<G>,
    stage: &'s Stage<'s, G>,
    (tendon, stretch, impulse): (usize, f64, f64),
    (t, share, time): (f64, f64, Option<Block>),
    (twists, velocity): (&[Twist<G>], &[Option<Block>]),
    system: &mut System<G>,
    at: impl Fn(usize) -> JointAt<'s, G>,
) {
    let tie = &stage.tendons[tendon];
    row(program, tie, system, &at, |program, joint, out| Residual {
        pose: nothing(),
        ..at(joint).rate(program, COORDINATE, 0, 1.0, twists, velocity, out)
    });
    let spring = stage.model.couplings[tie.index].tendon.unwrap_or_default();
    let ahead = if tie.stiff { t } else { 0.0 };
    let (k, r, last, out) = (spring.stiffness, spring.stiffness * ahead + spring.damping, system.count(), system.next());
    let softness = 1.0 / (share * t * r);
    system.entry(last, last, softness);
    for &(joint, coefficient) in &tie.terms {
        at(joint).value(program, COORDINATE, 0, coefficient * k / r, out);
    }
    let steeper = if tie.stiff { k / r } else { 0.0 };
    let by_time = -k * stretch / r * steeper - impulse * softness * (1.0 / t + steeper);
    if let Some(time) = time {
        program.scaled(out, time, by_time);
    }
    system.push(Residual { time: by_time, ..Residual::zero() }, nothing());
}

/// The pull of a tendon that is a load: its force is a slot of its own.
pub(crate) fn pull<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    (tie, instant): (&LocalTie, Instant),
    poses: (&[Pose<G>], &[Option<Block>]),
    twists: (&[Twist<G>], &[Option<Block>]),
    out: &[Option<Block>],
    values: &mut [Wrench<G>],
) {
    let Some(tendon) = stage.model.couplings[tie.index].tendon.filter(|tendon| tie.is_load(tendon, instant)) else { return };
    let at = |joint: usize| stage.joint(&stage.joints[joint], poses.0, poses.1);
    let slot = program.fresh(1);
    let mut force = tendon.stiffness * tie.offset;
    for (&(joint, c), near) in tie.terms.iter().zip(&tie.near) {
        let at = at(joint);
        let rate: f64 = at.row(COORDINATE, 0).iter().map(|(body, row)| row.power(&twists.0[*body])).sum();
        force -= c * (tendon.stiffness * at.joint.coordinate_near(*near, at.poses[0], at.poses[1]) + tendon.damping * rate);
        at.value(program, COORDINATE, 0, -c * tendon.stiffness, slot);
        at.rate(program, COORDINATE, 0, -c * tendon.damping, twists.0, twists.1, slot);
    }
    push_row(program, stage, tie, force, poses, out, values);
    for &(joint, c) in &tie.terms {
        for (body, covector) in at(joint).row(COORDINATE, 0) {
            if let Some(block) = out[body] {
                program.stacked(block, slot, &Wrench::zero().plus(c, covector));
            }
        }
    }
}
