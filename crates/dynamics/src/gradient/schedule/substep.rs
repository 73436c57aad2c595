//! The derivative of one substep: stages 3 to 7 as local Jacobians around the solution they found, theory (17.11)-(17.20).

use super::arrival;
use super::finish::{self, Arrived};
use super::flight;
use super::hold::{felt, hold_joints, hold_rows, push, row_count};
use super::impact;
use super::linkage;
use super::mean::mean_step;
use super::patch;
use super::patch::strike_patch;
use super::program::{Block, Program};
use super::stage::{Running, Stage, Switches};
use crate::gradient::motion::forward_rate::ForwardRate;
use crate::gradient::motion::loads::{loads, undirected_springs};
use crate::gradient::motion::{ImplicitRate, Loaded, answered, displaced, kicked, moved, respond, response};
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows;
use crate::gradient::rows::rotor;
use crate::gradient::rows::tie;
use crate::gradient::system::weak;
use crate::gradient::system::{Residual, System, TimeColumn, nothing};
use crate::gradient::tape::record::Substep;
use crate::integrate::{Length, Pace};
use crate::predict::Instant;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};
use std::borrow::Cow;

/// Adds the derivative of a substep; the running slots become those of its end.
pub(crate) fn linearise<G: Geometry>(
    program: &mut Program<G>,
    stage: &mut Stage<G>,
    substep: &Substep<G>,
    running: &mut Running,
    switches: &mut Switches,
) {
    let scheme = stage.model.options.scheme();
    // A linkage turns its own bodies.
    let linked = linkage::applies(stage, substep) && !program.general;
    if !linked {
        stage.turn_to(&substep.poses);
    }
    stage.walk_all();
    switches.irregular += undirected_springs(stage, &substep.poses);
    switches.combined += stage.combined(substep);
    if let Some(arrival) = &substep.arrival {
        arrival::linearise(program, stage, substep, arrival, running, switches);
    }
    if let Some(obeyed) = &substep.midpoint.obeyed {
        running.twists = mean_step::obey_joints(program, stage, substep, obeyed, running, switches);
    }
    for strike in &substep.strikes {
        switches.impacts += usize::from(strike.tied);
        if let Some(arrival) = &strike.arrival {
            stage.walk_all();
            arrival::linearise(program, stage, substep, arrival, running, switches);
        }
        program.sites.begin_stage();
        if !program.general && strike_patch::applies(stage, strike) {
            strike_patch::linearise(program, stage, substep, strike, running, switches);
            continue;
        }
        flight::unstruck(stage, strike);
        impact::linearise(program, stage, substep, strike, running, switches);
    }
    stage.walk_all();
    let substep = &*weak::chosen(stage.weak, substep);
    program.sites.begin_stage();
    let t = substep.length;
    let mut time = match substep.rule {
        Length::OfRemaining(factor) => {
            let block = program.fresh(1);
            program.scaled(block, running.remaining, factor);
            Some(block)
        }
        Length::OfPace(factor) => {
            let block = program.fresh(1);
            if let Some(pace) = running.pace {
                program.scaled(block, pace, factor);
            }
            Some(block)
        }
        Length::Event(..) => None,
        Length::Frozen => {
            switches.unconverged += 1;
            Some(program.fresh(1))
        }
    };

    if scheme.by_means() {
        let (poses, end, time) = mean_step::linearise(program, stage, substep, running, time, switches);
        running.poses = poses;
        running.twists = end;
        return advance_clock(program, substep, running, time, switches);
    }
    let alone = !program.general && flight::find(stage, substep);
    if let (Some(time), true) = (time, alone) {
        flight::linearise(program, stage, substep, running, time);
        return advance_clock(program, substep, running, time, switches);
    }
    if let (Some(time), true) = (time, linked) {
        if linkage::linearise(program, stage, substep, running, time) {
            return advance_clock(program, substep, running, time, switches);
        }
        stage.turn_to(&substep.poses);
    }
    if !program.general
        && patch::applies(stage, substep)
        && let Some(time) = patch::linearise(program, stage, substep, running, time, switches)
    {
        flight::linearise(program, stage, substep, running, time);
        return advance_clock(program, substep, running, time, switches);
    }

    // 3. Loads and the impulse they give.
    let share = scheme.share;
    let wrenches = stage.fresh(program);
    let implicit = scheme.one_solve() && G::ANG > 1;
    let gyroscopic = !implicit && G::ANG > 1;
    let (before, velocities) = ((&substep.poses[..], &running.poses[..]), (&substep.twists[..], &running.twists[..]));
    let forces = loads(program, stage, substep.time, before, velocities, &wrenches, (Instant::Start, gyroscopic));
    let impulses = stage.fresh(program);
    // The implicit rate of `euler` takes loads and rows apart.
    for (local, block) in impulses.iter().enumerate().filter(|_| implicit) {
        if let (Some(block), Some(force)) = (block, wrenches[local]) {
            program.scaled(*block, force, share * t);
            if let Some(time) = time {
                program.stacked(*block, time, &Wrench::zero().plus(share, forces[local]));
            }
        }
    }
    let mut total: Vec<Wrench<G>> = forces.iter().map(|f| Wrench::zero().plus(share * t, *f)).collect();

    // Under `forward` the move is slower by the gyroscopic torque at the rate after the loads, theory (17.44).
    let forward = stage.model.options.forward() && G::ANG > 1;
    let slowed: Vec<Option<(ForwardRate<G>, Block)>> = (0..stage.bodies.len())
        .map(|local| {
            let (Some(wrench), Some(pose), true) = (wrenches[local], running.poses[local], forward) else { return None };
            let rate = substep.twists[local].ang;
            let torque = forces[local].ang + G::gyroscopic(stage.bodies[local].inertia, rate);
            let slowed = ForwardRate::new(stage, local, substep.poses[local].rotation, rate, torque, t);
            let turning = |block: Block| block.part(G::DIM, G::ANG);
            let (from, at) = (running.twists[local].map(turning), (pose, &substep.poses[local]));
            Some((slowed, slowed.linearise(program, from, turning(wrench), at, stage.mass(local).inertia, time)))
        })
        .collect();

    // 4. Impulses along the rows of the start pose.
    stage.find_rows(&substep.poses, 0);
    let points = push(program, stage, &substep.hold, (&substep.poses, &running.poses), &impulses, (&mut total, 0), &[], switches);

    // Velocities of the move and poses at its end, before the impulses change.
    let known = stage.fresh(program);
    for local in 0..stage.bodies.len() {
        let (Some(out), Some(before), Some(impulse), Some(pose)) =
            (known[local], running.twists[local], impulses[local], running.poses[local])
        else {
            continue;
        };
        let body = &stage.bodies[local];
        let at = (pose, &substep.poses[local]);
        if implicit && body.turns() {
            program.copy(out, before);
            // Semi-implicit Euler turns by the implicit rate of the loads, then by the rows: theory (17.9).
            euler_rate(
                program,
                stage,
                local,
                substep,
                (out, before),
                (wrenches[local], &forces[local]),
                (impulse, &total[local]),
                at,
                time,
            );
        } else {
            let time = time.map(|time| (time, Wrench::zero().plus(share, forces[local])));
            let load = wrenches[local].filter(|_| !implicit).map(|wrench| Loaded { wrench, duration: share * t, time });
            kicked::<G>(program, (out, Some(before)), (impulse, total[local], load), at, body, stage.mass(local));
        }
        if let Some((_, slowed)) = slowed[local] {
            program.scaled(out.part(G::DIM, G::ANG), slowed, -1.0);
        }
    }
    let velocity: Vec<Option<Block>> = (0..stage.bodies.len()).map(|b| known[b].or(running.twists[b])).collect();
    let guess: Vec<Option<Block>> = (0..stage.bodies.len())
        .map(|local| {
            let pose = running.poses[local].filter(|_| !stage.flies[local])?;
            Some(velocity[local].map_or(pose, |velocity| move_pose(program, pose, velocity, &substep.half[local], (time, t))))
        })
        .collect();

    // 5. What holds over the move.
    let event = match substep.rule {
        Length::Event(key, bodies) => Some((key, bodies)),
        _ => None,
    };
    let joint_rows = stage.joints.iter().map(|j| j.rows).sum::<usize>() + tie::unknowns(stage);
    let rows = joint_rows + substep.hold.pushed.iter().map(|p| row_count::<G>(p)).sum::<usize>();
    let mut system = System::new(program, rows + usize::from(event.is_some()));
    stage.find_rows(&substep.next, 1);
    hold_joints(program, stage, substep, running, &guess, &velocity, time, &mut system);
    let ends = hold_rows(program, stage, substep, running, &guess, &velocity, time, &points, &mut system, switches);
    if let Some((key, bodies)) = event {
        let point = ContactPoint::felt(program, stage.model, stage.parameters, key, bodies, &substep.next, &guess);
        switches.irregular += usize::from(!point.regular);
        let out = system.next();
        let pose = contact_rows::gap(program, out, 1.0 / t, &point);
        let closing: f64 = pose.iter().map(|(body, row)| row.power(&substep.half[*body])).sum::<f64>() * t;
        if closing.abs() < stage.model.tolerances.rest_speed {
            switches.grazing += 1;
        }
        system.push_guard(Residual { velocity: nothing(), pose, time: 0.0 });
    }
    let bodies = if event.is_some() { stage.bodies.len() } else { 0 };
    let mut kicks: Vec<Twist<G>> = (0..bodies).map(|b| stage.bodies[b].response(&Wrench::zero().plus(share, forces[b]))).collect();
    for (kick, slowed) in kicks.iter_mut().zip(&slowed) {
        kick.ang -= slowed.map_or_else(G::Ang::zero, |(slowed, _)| slowed.by_length());
    }
    let column_of_time = event.map(|_| TimeColumn { kicks: &kicks, twists: &substep.half });
    let answer = |body: usize, wrench: &Wrench<G>| stage.bodies[body].response(wrench);
    system.solve(program, answer, Some((&substep.half, t)), column_of_time);
    felt(program, &substep.hold, &points, joint_rows, &system);

    // 6. Their change moves everything.
    let answers = stage.fresh(program);
    system.impulses(program, &answers);
    let half = stage.fresh(program);
    let mut poses = running.poses.clone();
    if event.is_some() {
        let block = program.fresh(1);
        program.copy(block, system.unknown.part(system.unknown.len() - 1, 1));
        time = Some(block);
    }
    for local in 0..stage.bodies.len() {
        // What never moves keeps its slots.
        let (Some(pose), Some(_)) = (guess[local], velocity[local]) else { continue };
        let next = program.fresh(G::DOF);
        let free = if event.is_some() { time } else { None };
        if let (Some(out), Some(known), Some(answer), None) = (half[local], known[local], answers[local], free) {
            answered::<G>(program, (out, next), (known, pose), answer, &stage.bodies[local], (&substep.half[local], t));
            poses[local] = Some(next);
            continue;
        }
        program.copy(next, pose);
        if let (Some(out), Some(known), Some(answer)) = (half[local], known[local], answers[local]) {
            let change = program.fresh(G::DOF);
            respond(program, change, None, answer, &stage.bodies[local]);
            if let Some(time) = free {
                program.stacked(change, time, &kicks[local]);
            }
            program.copy(out, known);
            program.copy(out, change);
            displaced::<G>(program, next, (change, &substep.half[local]), (free, t));
        } else if let Some(time) = free {
            program.stacked(next, time, &substep.half[local]);
        }
        poses[local] = Some(next);
    }
    let rotors = rotor::rates(program, stage, substep, running, system.unknown);
    system.close(program);
    let mut half: Vec<Option<Block>> = (0..stage.bodies.len()).map(|b| half[b].or(running.twists[b])).collect();

    // 7. The second kick at q', from the exact velocity.
    let time = time.unwrap_or_else(|| program.fresh(1));
    let mut values = Cow::Borrowed(&substep.half[..]);
    for (local, slowed) in slowed.iter().enumerate() {
        let (Some((slowed, block)), Some(before)) = (slowed, half[local]) else { continue };
        let exact = program.fresh(G::DOF);
        let turned = exact.part(G::DIM, G::ANG);
        program.copy(exact, before);
        program.copy(turned, *block);
        if event.is_some() {
            program.column(turned, time, slowed.by_length().as_slice());
        }
        half[local] = Some(exact);
        values.to_mut()[local].ang += slowed.value();
    }
    stage.turn_to(&substep.next);
    running.twists = finish::linearise(
        program,
        stage,
        substep,
        Arrived { poses: &poses, half: &half, values: &values, rotors: Some(&rotors), taken: None },
        time,
        &ends,
        switches,
    );
    running.poses = poses;
    flight::linearise(program, stage, substep, running, time);
    advance_clock(program, substep, running, time, switches);
}

/// What is left of the step after a substep, and the pace of the next.
fn advance_clock<G: Geometry>(program: &mut Program<G>, substep: &Substep<G>, running: &mut Running, time: Block, switches: &mut Switches) {
    switches.projected += usize::from(substep.left_out.projected);
    switches.stepped += usize::from(substep.left_out.stepped);
    switches.unconverged += usize::from(substep.left_out.explicit);
    let remaining = program.fresh(1);
    program.copy(remaining, running.remaining);
    program.scaled(remaining, time, -1.0);
    running.pace = match substep.pace {
        Pace::Doubled => running.pace.map(|pace| {
            let block = program.fresh(1);
            program.scaled(block, pace, 2.0);
            block
        }),
        Pace::OfRemaining(factor) => {
            let block = program.fresh(1);
            program.scaled(block, running.remaining, factor);
            Some(block)
        }
        Pace::Part(factor) => running.pace.map(|pace| {
            let block = program.fresh(1);
            program.scaled(block, pace, factor);
            block
        }),
    };
    running.remaining = remaining;
}

/// The pose at the end of a move.
fn move_pose<G: Geometry>(program: &mut Program<G>, pose: Block, velocity: Block, twist: &Twist<G>, time: (Option<Block>, f64)) -> Block {
    let out = program.fresh(G::DOF);
    moved::<G>(program, out, pose, (velocity, twist), time);
    out
}

/// Semi-implicit Euler in space: the implicit rate of the loads, then the response to the rows.
fn euler_rate<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    local: usize,
    substep: &Substep<G>,
    (out, before): (Block, Block),
    (force, force_value): (Option<Block>, &Wrench<G>),
    (impulse, total): (Block, &Wrench<G>),
    at: (Block, &Pose<G>),
    time: Option<Block>,
) {
    let t = substep.length;
    let body = &stage.bodies[local];
    let Some(force) = force else { return };
    // The rows alone: total minus the loads.
    let rows = program.fresh(G::DOF);
    program.copy(rows, impulse);
    program.scaled(rows.part(G::DIM, G::ANG), force.part(G::DIM, G::ANG), -t);
    let mut value = *total;
    value.ang -= force_value.ang * t;
    if let Some(time) = time {
        program.stacked(rows, time, &Wrench { lin: G::Lin::zero(), ang: -force_value.ang });
    }
    response::<G>(program, out, (rows, value), at, body, stage.mass(local));
    // The rate that the loads alone give, in place of the copied one.
    let start = substep.twists[local].ang;
    let alone = substep.half[local].ang - G::inertia_apply(body.inv_inertia, value.ang);
    let rate = ImplicitRate::<G> { before: start, after: alone, duration: t };
    let torque = program.fresh(G::ANG);
    program.scaled(torque, force.part(G::DIM, G::ANG), t);
    let slot = time.unwrap_or_else(|| program.fresh(1));
    program.column(torque, slot, force_value.ang.as_slice());
    let turned = out.part(G::DIM, G::ANG);
    program.scaled(turned, before.part(G::DIM, G::ANG), -1.0);
    rate.linearise(
        program,
        &rate.unfolded(body.inertia),
        turned,
        before.part(G::DIM, G::ANG),
        torque,
        at,
        body,
        stage.mass(local),
        (slot, 1.0),
    );
}
