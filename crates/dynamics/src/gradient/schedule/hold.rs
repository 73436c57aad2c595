//! Stage 5 as a linear system: impulses along the rows of the start pose, residuals of what holds at the end of the move, theory (17.11)-(17.15).

use super::program::{Block, Program};
use super::stage::{Running, Stage, Switches};
use crate::combine::Coefficient;
use crate::constraints::JointFunction;
use crate::contacts::Key;
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows::{self, Along, along, columns};
use crate::gradient::rows::friction_rows::{Speed, friction_rows};
use crate::gradient::rows::moment_rows;
use crate::gradient::rows::rate_row::RateRow;
use crate::gradient::rows::rotor::RotorRow;
use crate::gradient::rows::sensor;
use crate::gradient::rows::tie;
use crate::gradient::system::weak::{close_normal, close_one_sided};
use crate::gradient::system::{Residual, System, nothing};
use crate::gradient::tape::record::{Pushed, RowSource, Solved, Substep};
use carom_geometry::Geometry;
use carom_math::{Pose, Vector, Wrench};

/// Number of rows a group adds to the system.
pub(crate) fn row_count<G: Geometry>(pushed: &Pushed<G>) -> usize {
    match pushed.source {
        RowSource::Contact { friction, .. } if friction > 0.0 => 1 + G::TANGENTS,
        RowSource::Moment { .. } => G::ANG,
        RowSource::TendonLimit { terms, .. } | RowSource::Tendon { terms, .. } => 2 * terms + 1,
        _ => 1,
    }
}

/// Impulses of the rows on the bodies: their change as the rows turn, and their values. Returns the contacts.
pub(crate) fn push<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    solved: &Solved<G>,
    poses: (&[Pose<G>], &[Option<Block>]),
    out: &[Option<Block>],
    (total, end): (&mut [Wrench<G>], usize),
    known: &[(Key<G>, ContactPoint<G>)],
    switches: &mut Switches,
) -> Vec<Option<ContactPoint<G>>> {
    for joint in stage.joints.iter().filter(|j| j.rows > 0) {
        let y = &solved.reaction[joint.first_row..joint.first_row + joint.rows];
        stage.joint(joint, poses.0, poses.1).impulse(program, JointFunction::Equalities, y, out);
        for (&impulse, row) in y.iter().zip(&stage.rows[end][joint.first_row..]) {
            for (body, row) in row {
                total[*body] = total[*body].plus(impulse, *row);
            }
        }
    }
    tie::push(program, stage, &solved.reaction, poses, out, total);
    push_rows(program, stage, solved, poses, out, (total, end), known, switches)
}

/// The same of contacts, limits, motors, friction and springs alone.
pub(crate) fn push_rows<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    solved: &Solved<G>,
    poses: (&[Pose<G>], &[Option<Block>]),
    out: &[Option<Block>],
    (total, end): (&mut [Wrench<G>], usize),
    known: &[(Key<G>, ContactPoint<G>)],
    switches: &mut Switches,
) -> Vec<Option<ContactPoint<G>>> {
    let mut points = Vec::with_capacity(solved.pushed.len());
    let mut cursor = 0;
    for group in &solved.pushed {
        let function = match group.source {
            RowSource::Contact { key, bodies, .. } => {
                // Both lists follow the order of detection: the search goes on where the last one ended.
                let (before, after) = known.split_at(cursor);
                let named = |(name, _): &(Key<G>, ContactPoint<G>)| *name == key;
                let place = after.iter().position(named).map(|at| cursor + at).or_else(|| before.iter().position(named));
                let point = match place {
                    Some(place) => {
                        cursor = place;
                        known[place].1.again(program, poses.1).unfelt()
                    }
                    None if end == 1 => ContactPoint::felt(program, stage.model, stage.parameters, key, bodies, poses.0, poses.1).unfelt(),
                    None => ContactPoint::new(program, stage.model, stage.parameters, key, bodies, poses.0, poses.1),
                };
                switches.irregular += usize::from(!point.regular);
                contact_rows::impulse(program, &point, &group.impulses, poses.1, out);
                sensor::turned(program, &point, key.bodies, &group.impulses);
                for (body, wrench) in along(&point, point.impulse(&group.impulses)) {
                    total[body] = total[body].plus(1.0, wrench);
                }
                points.push(Some(point));
                continue;
            }
            RowSource::Moment { .. } => {
                let point: Option<ContactPoint<G>> = points.last().copied().flatten();
                if let Some(point) = &point {
                    moment_rows::impulse(program, point, &group.impulses, out, total);
                }
                points.push(point);
                continue;
            }
            RowSource::Limit { joint, index, .. } => (joint, JointFunction::Inequality(index)),
            RowSource::Motor { joint } | RowSource::Friction { joint } => (joint, JointFunction::Coordinate),
            RowSource::Spring { joint } => (joint, JointFunction::SpringLength),
            RowSource::TendonLimit { tendon, .. } | RowSource::Tendon { tendon, .. } => {
                tie::push_row(program, stage, &stage.tendons[tendon], tie::along(group), poses, out, total);
                points.push(None);
                continue;
            }
        };
        let at = stage.joint(&stage.joints[function.0], poses.0, poses.1);
        at.impulse(program, function.1, &group.impulses[..1], out);
        for (body, row) in at.row(function.1, 0) {
            total[body] = total[body].plus(group.impulses[0], row);
        }
        points.push(None);
    }
    points
}

/// Joint residuals of a move: phi(q')/t, or J v where only the start pose counts; rotors turn with their coordinates.
pub(crate) fn hold_joints<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    running: &Running,
    guess: &[Option<Block>],
    velocity: &[Option<Block>],
    time: Option<Block>,
    system: &mut System<G>,
) {
    for joint in stage.joints.iter().filter(|j| j.rows > 0) {
        let out = system.next_rows(joint.rows);
        let function = JointFunction::Equalities;
        if substep.hold.uncorrected {
            // The rows are the start pose's: what they owe to it is known.
            let start = stage.joint(joint, &substep.poses, &running.poses);
            start.rates(program, function, 1.0, &substep.half, velocity, out);
        } else {
            let end = stage.joint(joint, &substep.next, guess);
            end.values(program, function, 1.0 / substep.length, out);
        }
        let rotor = RotorRow::next(joint, &substep.hold.reaction, system);
        let by_time = rotor.map_or(0.0, |rotor| {
            let start = stage.joint(joint, &substep.poses, &running.poses);
            rotor.moved(program, &start, substep, running, time, system)
        });
        for k in joint.first_row..joint.first_row + joint.rows {
            let column = stage.rows[0][k];
            let row = if substep.hold.uncorrected {
                Residual { velocity: column, ..Residual::zero() }
            } else {
                let weight = 1.0 / substep.length;
                let pose = stage.rows[1][k].map(|(body, row)| (body, Wrench::zero().plus(weight, row)));
                let last = k + 1 == joint.first_row + joint.rows;
                Residual { pose, time: if last { by_time } else { 0.0 }, ..Residual::zero() }
            };
            system.push(row, column);
        }
    }
    let start = |joint: usize| stage.joint(&stage.joints[joint], &substep.poses, &running.poses);
    tie::hold(program, stage, system, start, |program, joint, out| {
        if substep.hold.uncorrected {
            return start(joint).rate(program, tie::COORDINATE, 0, 1.0, &substep.half, velocity, out);
        }
        let end = stage.joint(&stage.joints[joint], &substep.next, guess);
        end.value(program, tie::COORDINATE, 0, 1.0 / substep.length, out)
    });
}

/// Residuals of contacts, limits, motors, friction and springs of a move.
pub(crate) fn hold_rows<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    running: &Running,
    guess: &[Option<Block>],
    velocity: &[Option<Block>],
    time: Option<Block>,
    points: &[Option<ContactPoint<G>>],
    system: &mut System<G>,
    switches: &mut Switches,
) -> Vec<(Key<G>, ContactPoint<G>)> {
    let t = substep.length;
    let mut ends = Vec::with_capacity(points.len());
    let mut normal_row = 0;
    for (group, point) in substep.hold.pushed.iter().zip(points) {
        if let (RowSource::Contact { key, bodies, friction, deep, rebound }, Some(start)) = (group.source, point) {
            let at_end = group.held || !(rebound.is_some() || deep || substep.hold.uncorrected);
            let end = at_end.then(|| ContactPoint::felt(program, stage.model, stage.parameters, key, bodies, &substep.next, guess));
            if let Some(end) = end {
                switches.irregular += usize::from(!end.regular);
                ends.push((key, end));
            }
            let first = system.count();
            normal_row = first;
            let out = system.next();
            let normal = start.contact.normal;
            let along_normal = Along::normal(start);
            let row = if let Some(restitution) = rebound {
                let (v, _) = contact_rows::speed_along(program, out, 1.0, start, &along_normal, &substep.half, velocity, &running.poses);
                let approach = normal.dot(start.slip(&substep.twists));
                contact_rows::speed_along(
                    program,
                    out,
                    restitution,
                    start,
                    &along_normal,
                    &substep.twists,
                    &running.twists,
                    &running.poses,
                );
                for (block, weight) in stage.coefficient(key.bodies, Coefficient::Restitution) {
                    program.scaled(out, block, weight * approach);
                }
                Residual { velocity: v, pose: nothing(), time: 0.0 }
            } else if let Some(end) = &end {
                if deep {
                    contact_rows::gap(program, out, -1.0 / t, start);
                }
                Residual { velocity: nothing(), pose: contact_rows::gap(program, out, 1.0 / t, end), time: 0.0 }
            } else {
                let (v, _) = contact_rows::speed_along(program, out, 1.0, start, &along_normal, &substep.half, velocity, &running.poses);
                let gap = start.contact.gap.max(0.0);
                let mut by_time = 0.0;
                if gap > 0.0 {
                    contact_rows::gap(program, out, 1.0 / t, start);
                    by_time = -gap / (t * t);
                    if let Some(time) = time {
                        program.scaled(out, time, by_time);
                    }
                }
                Residual { velocity: v, pose: nothing(), time: by_time }
            };
            let column = along(start, normal);
            system.push(row, column);
            // What an idle contact has left at the end of the move, as a speed.
            let slack = end.filter(|_| group.impulses[0] <= 0.0).map_or(group.slack, |end| end.contact.gap / t);
            let group = &Pushed { slack, ..*group };
            if friction <= 0.0 {
                close_one_sided(stage, group, &column, system);
            } else {
                close_normal(stage, group, &column, system);
                let speeds = slip_of_move(program, substep, running, velocity, guess, start, end.as_ref().filter(|_| group.held));
                friction_rows(program, stage, key.bodies, friction, group, first, start, speeds, system, switches);
            }
            continue;
        }
        let joint_row = |joint: usize| stage.joints[joint];
        match group.source {
            RowSource::Limit { joint, index, deep } => {
                let function = JointFunction::Inequality(index);
                let start = stage.joint(&joint_row(joint), &substep.poses, &running.poses);
                let out = system.next();
                let row = if group.held || !(deep || substep.hold.uncorrected) {
                    if deep {
                        start.value(program, function, 0, -1.0 / t, out);
                    }
                    stage.joint(&joint_row(joint), &substep.next, guess).value(program, function, 0, 1.0 / t, out)
                } else {
                    let row = start.rate(program, function, 0, 1.0, &substep.half, velocity, out);
                    Residual { velocity: row.velocity, pose: nothing(), time: 0.0 }
                };
                let column = start.row(function, 0);
                system.push(row, column);
                close_one_sided(stage, group, &column, system);
            }
            RowSource::Motor { joint } | RowSource::Friction { joint } | RowSource::Spring { joint } => {
                let start = stage.joint(&joint_row(joint), &substep.poses, &running.poses);
                let share = stage.model.options.scheme().share;
                let rate = RateRow { stage, twists: &substep.half, velocity, time, length: t, share };
                let row = rate.residual(program, &start, group, system, switches);
                let function =
                    if matches!(group.source, RowSource::Spring { .. }) { JointFunction::SpringLength } else { JointFunction::Coordinate };
                let pose = nothing();
                system.push(Residual { pose, ..row }, start.row(function, 0));
            }
            RowSource::TendonLimit { tendon, deep, .. } => {
                let start = |joint: usize| stage.joint(&joint_row(joint), &substep.poses, &running.poses);
                let at_end = group.held || !(deep || substep.hold.uncorrected);
                tie::row(program, &stage.tendons[tendon], system, start, |program, joint, out| {
                    if !at_end {
                        let row = start(joint).rate(program, tie::COORDINATE, 0, 1.0, &substep.half, velocity, out);
                        return Residual { pose: nothing(), ..row };
                    }
                    if deep {
                        start(joint).value(program, tie::COORDINATE, 0, -1.0 / t, out);
                    }
                    stage.joint(&joint_row(joint), &substep.next, guess).value(program, tie::COORDINATE, 0, 1.0 / t, out)
                });
                system.push(Residual::zero(), nothing());
            }
            RowSource::Tendon { tendon, stretch, .. } => {
                let share = stage.model.options.scheme().share;
                let start = |joint: usize| stage.joint(&joint_row(joint), &substep.poses, &running.poses);
                let twists = (&substep.half[..], velocity);
                tie::soft(program, stage, (tendon, stretch, group.impulses[0]), (t, share, time), twists, system, start);
            }
            RowSource::Moment { .. } => {
                if let Some(start) = point {
                    moment_rows::rows(program, stage, group, normal_row, start, (&substep.half, velocity), system, switches);
                }
            }
            RowSource::Contact { .. } => {}
        }
    }
    ends
}

/// What changes of the impulses of contacts are to a loss that asks; the unknowns of the groups begin behind those of the joints.
pub(crate) fn felt<G: Geometry>(
    program: &mut Program<G>,
    solved: &Solved<G>,
    points: &[Option<ContactPoint<G>>],
    joint_rows: usize,
    system: &System<G>,
) {
    if program.sensor.is_none() {
        return;
    }
    let mut first = joint_rows;
    for (group, point) in solved.pushed.iter().zip(points) {
        let count = row_count::<G>(group);
        if let (RowSource::Contact { key, .. }, Some(point)) = (group.source, point) {
            (0..count).for_each(|k| sensor::changed(program, point, key.bodies, k, system.unknown.part(first + k, 1)));
        }
        first += count;
    }
}

/// Mean slip over a move along each tangent, or that at the start where the contact is not held, theory (17.15).
fn slip_of_move<G: Geometry>(
    program: &mut Program<G>,
    substep: &Substep<G>,
    running: &Running,
    velocity: &[Option<Block>],
    guess: &[Option<Block>],
    start: &ContactPoint<G>,
    end: Option<&ContactPoint<G>>,
) -> [Option<Speed<G>>; 2] {
    let tangents = start.tangents();
    let here = start.slip(&substep.half);
    // In place: these are large, and `map` over an array would move each of them several times.
    let mut speeds = [None, None];
    for k in 0..G::TANGENTS {
        let block = program.fresh(1);
        let tangent = tangents[k];
        let weight = if end.is_some() { 0.5 } else { 1.0 };
        let direction = Along::tangent(start, k);
        let (by_velocity, _) =
            contact_rows::speed_along(program, block, weight, start, &direction, &substep.half, velocity, &running.poses);
        let mut row = Residual { velocity: by_velocity, pose: nothing(), time: 0.0 };
        let mut value = weight * tangent.dot(here);
        if let Some(end) = end {
            let then = end.contact.normal;
            let across = tangent - then * then.dot(tangent);
            let (carried, length) = (across.unit(), across.norm());
            let settle = |d: G::Lin| (d - carried * carried.dot(d)) * (1.0 / length);
            let own = columns::<G>(|dn| settle(-(dn * then.dot(tangent) + then * dn.dot(tangent))));
            let earlier = columns::<G>(|dn| {
                let turned = start.turned(k, dn);
                settle(turned - then * then.dot(turned))
            });
            let direction = Along { value: carried, own, earlier: Some((start.block, earlier)) };
            let (v, q) = contact_rows::speed_along(program, block, 0.5, end, &direction, &substep.half, velocity, guess);
            for side in 0..2 {
                row.velocity[side].1 = row.velocity[side].1.plus(1.0, v[side].1);
            }
            row.pose = q;
            value += 0.5 * carried.dot(end.slip(&substep.half));
        }
        speeds[k] = Some(Speed { block, value, row });
    }
    speeds
}
