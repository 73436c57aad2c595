//! The derivative of stage 7: the second kick at q' and the rows that hold velocities there, theory (17.19)-(17.20).

use super::hold::{felt, push, row_count};
use super::program::{Block, Program};
use super::stage::{Stage, Switches};
use crate::constraints::JointFunction;
use crate::contacts::Key;
use crate::gradient::motion::loads::loads;
use crate::gradient::motion::{ImplicitRate, Loaded, Unfolded, kicked, linear_response, respond};
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows::{self, Along, along};
use crate::gradient::rows::friction_rows::{Speed, friction_rows};
use crate::gradient::rows::moment_rows;
use crate::gradient::rows::rate_row::RateRow;
use crate::gradient::rows::rotor::{self, RotorRow};
use crate::gradient::rows::tie;
use crate::gradient::system::weak::{close_normal, close_one_sided};
use crate::gradient::system::{Residual, System, nothing};
use crate::gradient::tape::record::{RowSource, Substep};
use crate::predict::Instant;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// The implicit rate of a body with the inverse of its Jacobian.
type Turn<G> = (ImplicitRate<G>, Unfolded);

/// Impulses on local bodies: slots and values.
pub(crate) type Impulses<G> = (Vec<Option<Block>>, Vec<Wrench<G>>);

/// What a substep arrives with at q'.
pub(crate) struct Arrived<'a, G: Geometry> {
    /// Slots of the poses.
    pub poses: &'a [Option<Block>],
    /// Slots of the velocities.
    pub half: &'a [Option<Block>],
    /// Velocities.
    pub values: &'a [Twist<G>],
    /// Slots of the rates of rotors, joint by joint; where there are none rotors turn as the velocities do.
    pub rotors: Option<&'a [Option<Block>]>,
    /// Impulses that the bodies have besides.
    pub taken: Option<&'a Impulses<G>>,
}

/// Adds the derivative of the end of a substep at q'; returns the slots of its velocities.
pub(crate) fn linearise<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    arrived: Arrived<G>,
    time: Block,
    ends: &[(Key<G>, ContactPoint<G>)],
    switches: &mut Switches,
) -> Vec<Option<Block>> {
    let Arrived { poses, half, values, rotors, taken } = arrived;
    if stage.model.options.start_pose_only() {
        return half.to_vec();
    }
    let kicks = stage.model.options.scheme().kicks_again();
    let t = substep.length;
    let share = 0.5;
    let mut total = vec![Wrench::zero(); stage.bodies.len()];
    let mut loaded = vec![None; stage.bodies.len()];
    let impulses = stage.fresh(program);
    if kicks {
        let wrenches = stage.fresh(program);
        let forces = loads(program, stage, substep.time + t, (&substep.next, poses), (values, half), &wrenches, (Instant::End, false));
        for (local, block) in impulses.iter().enumerate() {
            if let (Some(block), Some(force)) = (block, wrenches[local]) {
                let per_second = Wrench::zero().plus(share, forces[local]);
                if G::ANG == 1 {
                    loaded[local] = Some(Loaded { wrench: force, duration: share * t, time: Some((time, per_second)) });
                } else {
                    program.scaled(*block, force, share * t);
                    program.stacked(*block, time, &per_second);
                }
                total[local] = Wrench::zero().plus(share * t, forces[local]);
            }
        }
    }
    if let Some((blocks, values)) = taken {
        for (local, block) in impulses.iter().enumerate() {
            if let (Some(block), Some(taken)) = (block, blocks[local]) {
                program.copy(*block, taken);
                total[local] = total[local].plus(1.0, values[local]);
            }
        }
    }
    let points = push(program, stage, &substep.finish, (&substep.next, poses), &impulses, (&mut total, 1), ends, switches);

    // Velocities before the impulses change.
    let implicit = kicks && G::ANG > 1;
    let turns: Vec<Option<Turn<G>>> = (0..stage.bodies.len())
        .map(|local| {
            let body = &stage.bodies[local];
            (implicit && body.turns()).then(|| {
                let rate = ImplicitRate { before: values[local].ang, after: substep.end[local].ang, duration: share * t };
                (rate, rate.unfolded(body.inertia))
            })
        })
        .collect();
    let known = stage.fresh(program);
    for local in 0..stage.bodies.len() {
        let (Some(out), Some(before), Some(impulse), Some(pose)) = (known[local], half[local], impulses[local], poses[local]) else {
            continue;
        };
        let body = &stage.bodies[local];
        let at = (pose, &substep.next[local]);
        match &turns[local] {
            Some((turn, unfolded)) => {
                program.copy(out.part(0, G::DIM), before.part(0, G::DIM));
                let only_linear = Wrench { lin: total[local].lin, ang: G::Ang::zero() };
                linear_response::<G>(program, out, impulse, &only_linear, body, Some(stage.mass(local)));
                turn.linearise(
                    program,
                    unfolded,
                    out.part(G::DIM, G::ANG),
                    before.part(G::DIM, G::ANG),
                    impulse.part(G::DIM, G::ANG),
                    at,
                    body,
                    stage.mass(local),
                    (time, share),
                );
            }
            None => {
                kicked::<G>(program, (out, Some(before)), (impulse, total[local], loaded[local]), at, body, stage.mass(local));
            }
        }
    }
    let answer = |body: usize, wrench: &Wrench<G>| -> Twist<G> {
        let mut twist = stage.bodies[body].response(wrench);
        if let Some((_, unfolded)) = &turns[body] {
            twist.ang = ImplicitRate::<G>::unfold(unfolded, wrench.ang);
        }
        twist
    };

    // Rows on velocities at q'.
    let velocity: Vec<Option<Block>> = (0..stage.bodies.len()).map(|b| known[b].or(half[b])).collect();
    let joint_rows = stage.joints.iter().map(|j| j.rows).sum::<usize>() + tie::unknowns(stage);
    let rows = joint_rows + substep.finish.pushed.iter().map(|p| row_count::<G>(p)).sum::<usize>();
    let mut system = System::new(program, rows);
    let before = if rotors.is_none() { rotor::before(stage, &substep.end, &total) } else { Vec::new() };
    for (number, joint) in stage.joints.iter().enumerate().filter(|(_, j)| j.rows > 0) {
        let at = stage.joint(joint, &substep.next, poses);
        at.rates(program, JointFunction::Equalities, 1.0, &substep.end, &velocity, system.next_rows(joint.rows));
        if let Some(rotor) = RotorRow::next(joint, &substep.finish.reaction, &system) {
            rotor.give_way(program, &at, &mut system);
            match rotors {
                Some(rates) => rates[number].iter().for_each(|rate| program.scaled(rotor.out, *rate, -1.0)),
                None => rotor.take_rate(program, &at, &before, half),
            }
        }
        for row in &stage.rows[1][joint.first_row..joint.first_row + joint.rows] {
            system.push(Residual { velocity: *row, ..Residual::zero() }, *row);
        }
    }
    let there = |joint: usize| stage.joint(&stage.joints[joint], &substep.next, poses);
    tie::hold(program, stage, &mut system, there, |program, joint, out| {
        there(joint).rate(program, tie::COORDINATE, 0, 1.0, &substep.end, &velocity, out)
    });
    let mut normal_row = 0;
    for (group, point) in substep.finish.pushed.iter().zip(&points) {
        if let (RowSource::Contact { key, friction, .. }, Some(point)) = (group.source, point) {
            let first = system.count();
            normal_row = first;
            let normal = point.contact.normal;
            let out = system.next();
            let (v, _) = contact_rows::speed_along(program, out, 1.0, point, &Along::normal(point), &substep.end, &velocity, poses);
            let column = along(point, normal);
            system.push(Residual { velocity: v, pose: nothing(), time: 0.0 }, column);
            if friction <= 0.0 {
                close_one_sided(stage, group, &column, &mut system);
            } else {
                close_normal(stage, group, &column, &mut system);
                let slip = point.slip(&substep.end);
                let tangents = point.tangents();
                // In place: these are large, and `map` over an array would move each of them several times.
                let mut speeds = [None, None];
                for k in 0..G::TANGENTS {
                    let block = program.fresh(1);
                    let direction = Along::tangent(point, k);
                    let (v, _) = contact_rows::speed_along(program, block, 1.0, point, &direction, &substep.end, &velocity, poses);
                    let row = Residual { velocity: v, pose: nothing(), time: 0.0 };
                    speeds[k] = Some(Speed { block, value: tangents[k].dot(slip), row });
                }
                friction_rows(program, stage, key.bodies, friction, group, first, point, speeds, &mut system, switches);
            }
            continue;
        }
        let (joint, function) = match group.source {
            RowSource::Limit { joint, index, .. } => (joint, JointFunction::Inequality(index)),
            RowSource::Motor { joint } | RowSource::Friction { joint } => (joint, JointFunction::Coordinate),
            RowSource::Spring { joint } => (joint, JointFunction::SpringLength),
            RowSource::Moment { .. } => {
                if let Some(point) = point {
                    moment_rows::rows(program, stage, group, normal_row, point, (&substep.end, &velocity), &mut system, switches);
                }
                continue;
            }
            RowSource::Contact { .. } => continue,
            RowSource::TendonLimit { tendon, .. } => {
                tie::row(program, &stage.tendons[tendon], &mut system, there, |program, joint, out| {
                    there(joint).rate(program, tie::COORDINATE, 0, 1.0, &substep.end, &velocity, out)
                });
                system.push(Residual::zero(), nothing());
                continue;
            }
            RowSource::Tendon { tendon, stretch, .. } => {
                let twists = (&substep.end[..], &velocity[..]);
                tie::soft(program, stage, (tendon, stretch, group.impulses[0]), (t, share, Some(time)), twists, &mut system, there);
                continue;
            }
        };
        let at = stage.joint(&stage.joints[joint], &substep.next, poses);
        let row = if matches!(group.source, RowSource::Limit { .. }) {
            let out = system.next();
            at.rate(program, function, 0, 1.0, &substep.end, &velocity, out)
        } else {
            let rate = RateRow { stage, twists: &substep.end, velocity: &velocity, time: Some(time), length: t, share };
            rate.residual(program, &at, group, &mut system, switches)
        };
        let column = at.row(function, 0);
        system.push(Residual { pose: nothing(), ..row }, column);
        if matches!(group.source, RowSource::Limit { .. }) {
            close_one_sided(stage, group, &column, &mut system);
        }
    }
    system.solve(program, answer, None, None);
    felt(program, &substep.finish, &points, joint_rows, &system);

    let answers = stage.fresh(program);
    system.impulses(program, &answers);
    system.close(program);
    (0..stage.bodies.len())
        .map(|local| {
            let (Some(known), Some(answer)) = (known[local], answers[local]) else { return half[local] };
            let out = program.fresh(G::DOF);
            let body = &stage.bodies[local];
            match &turns[local] {
                Some((turn, unfolded)) => {
                    program.copy(out, known);
                    linear_response::<G>(program, out, answer, &Wrench::zero(), body, None);
                    turn.respond(program, unfolded, out.part(G::DIM, G::ANG), answer.part(G::DIM, G::ANG));
                }
                None => respond(program, out, Some(known), answer, body),
            }
            Some(out)
        })
        .collect()
}
