//! Weight and forces over a move under the midpoint rule, theory (19.10) and (19.12).

use super::motion::MeanMove;
use super::push::{Lengthened, MoveSlots, Pushes};
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::Stage;
use crate::gradient::slots::put;
use crate::gradient::tape::record::Substep;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Weight, theory (19.10).
pub(crate) fn push_gravity<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    length: f64,
    slots: &MoveSlots,
    out: &[Option<Block>],
    pushes: &mut Pushes<G>,
) {
    let (half, gravity) = (0.5 * length, stage.model.gravity);
    let (theta, layout) = stage.parameters;
    for (local, body) in stage.bodies.iter().enumerate() {
        let Some(out) = out[local] else { continue };
        let weight = Wrench { lin: gravity * body.mass, ang: G::Ang::zero() };
        pushes.total[local] = pushes.total[local].plus(half, weight);
        pushes.by_length[local] = pushes.by_length[local].plus(0.5, weight);
        program.stacked(out, stage.mass(local).mass, &Wrench { lin: gravity * half, ang: G::Ang::zero() });
        program.scaled(out.part(0, G::DIM), theta.part(layout.gravity.start, G::DIM), body.mass * half);
        if let Some(time) = slots.time {
            program.stacked(out, time, &Wrench::zero().plus(0.5, weight));
        }
    }
}

/// Forces at the mean arm of their points, theory (19.12).
pub(crate) fn push_forces<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    moves: &[Option<MeanMove<G>>],
    slots: &MoveSlots,
    longer: &Lengthened<G>,
    out: &[Option<Block>],
    pushes: &mut Pushes<G>,
) {
    let half = 0.5 * substep.length;
    let middle = substep.time + half;
    for &(index, local, control) in stage.forces {
        let force = &stage.model.forces[index];
        let Some(out) = out[local] else { continue };
        if middle < force.from || middle > force.until {
            continue;
        }
        let scale = control.map_or(1.0, |c| stage.controls.get(c).copied().unwrap_or(0.0));
        let ends = [&substep.poses[local], &substep.next[local]];
        let arms = ends.map(|pose| pose.direction(force.at));
        let arm = (arms[0] + arms[1]) * 0.5;
        let whole = Wrench { lin: force.force, ang: G::torque(arm, force.force) + force.torque };
        pushes.total[local] = pushes.total[local].plus(scale * half, whole);
        let ang = out.part(G::DIM, G::ANG);
        if let Some(control) = control {
            program.stacked(out, stage.control_block.part(control, 1), &Wrench::zero().plus(half, whole));
        }
        let (theta, layout) = stage.parameters;
        let parameters = &layout.forces[index];
        program.linear(out, theta.part(parameters.force.start, G::DIM), |x, y| {
            let change = G::Lin::from_slice(x) * (scale * half);
            put::<G>(change, G::torque(arm, change), y);
        });
        program.scaled(ang, theta.part(parameters.torque.start, G::ANG), scale * half);
        program.linear(ang, theta.part(parameters.at.start, G::DIM), |x, y| {
            let shift = ends.map(|pose| pose.direction(G::Lin::from_slice(x)));
            y.copy_from_slice((G::torque((shift[0] + shift[1]) * 0.5, force.force) * (scale * half)).as_slice());
        });
        // How the torque changes as an end of its arm turns.
        let turned = |end: usize, xi: G::Ang| G::torque(G::spin(xi, arms[end]), force.force) * (0.5 * scale * half);
        for (end, blocks) in [slots.starts, slots.ends].into_iter().enumerate() {
            if let Some(pose) = blocks[local] {
                program.linear(ang, pose.part(G::DIM, G::ANG), |x, y| {
                    y.copy_from_slice(turned(end, G::Ang::from_slice(x)).as_slice());
                });
            }
        }
        let direct = Wrench::zero().plus(0.5 * scale, whole);
        if let Some(time) = slots.time {
            program.stacked(out, time, &direct);
        }
        let swept = Wrench { lin: G::Lin::zero(), ang: turned(1, longer.ends[local].ang) };
        pushes.by_length[local] = pushes.by_length[local].plus(1.0, direct).plus(1.0, swept);
        let Some(of) = &moves[local] else { continue };
        for j in 0..G::ANG {
            let mut unit = G::Ang::zero();
            unit[j] = 1.0;
            let end = of.displaced(Twist { lin: G::Lin::zero(), ang: unit });
            let change = turned(1, end.ang);
            for i in 0..G::ANG {
                pushes.stiffness[local][G::DIM + i][G::DIM + j] += change[i];
            }
        }
    }
}
