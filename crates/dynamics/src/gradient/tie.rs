//! Couplings of joints in the derivative of a step, theory (22.13): a row over many bodies as rows over two, with rates of its joints as unknowns beside.
//!
//! For a coupling of n joints the unknowns are the rates r_i of its coordinates, the impulses l_i along their rows, and the impulse m of the coupling; what holds is
//! (what the coordinate does) - r_i = 0, l_i - c_i m = 0 and the sum of c_i r_i = 0.

use super::joint_rows::JointAt;
use super::program::{Block, Program};
use super::stage::Stage;
use super::system::{Residual, System, nothing};
use crate::constraints::JointFunction;
use carom_geometry::Geometry;
use carom_math::{Pose, Wrench};

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

/// Adds the residuals of the couplings; `moves` says what a coordinate does, into a slot, and how that answers. Impulses act along rows at `column`.
pub(crate) fn hold<'s, G: Geometry>(
    program: &mut Program<G>,
    stage: &'s Stage<'s, G>,
    system: &mut System<G>,
    column: impl Fn(usize) -> JointAt<'s, G>,
    moves: impl Fn(&mut Program<G>, usize, Block) -> Residual<G>,
) {
    system.scattered |= !stage.ties.is_empty();
    for tie in stage.ties {
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
        system.push(Residual::zero(), nothing());
    }
}
