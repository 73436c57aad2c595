//! The derivative of one substep: rooms 3 to 7 as local Jacobians around the solution they found, theory (17.11)-(17.20).

use super::contact_point::ContactPoint;
use super::contact_rows::{self, Direction, along};
use super::impact;
use super::joint_rows::JointAt;
use super::loads::{column, loads};
use super::motion::{ImplicitRate, MassBlocks, displaced, moved, respond, response};
use super::parameters::Parameters;
use super::program::{Block, Program};
use super::record::{AT_THE_BOUND, Length, Pace, Pushed, RowSource, Solved, Substep};
use super::system::{Residual, Sides, System, TimeColumn, nothing};
use crate::constraints::{JointFunction, JointParameter, MAX_ROWS, Motor, Row};
use crate::contacts::Key;
use crate::island::{LocalBody, LocalJoint};
use crate::model::Model;
use crate::options::Integrator;
use crate::predict::kick_share;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};

/// An impulse within this fraction of its bound, or a slip slower than this fraction of the velocities, is near the switch.
const NEAR_THE_BOUND: f64 = 1e-6;

/// What makes a derivative less than exact on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Contacts with neither slack nor impulse: the derivative is one-sided.
    pub weak: usize,
    /// Contacts at the border of sticking and sliding.
    pub friction: usize,
    /// Times of impact with a closing speed near zero.
    pub grazing: usize,
    /// Contacts whose features have no derivative here.
    pub irregular: usize,
    /// Impact laws at the border of two branches or of two sequences.
    pub impacts: usize,
    /// Positions were projected; the derivative leaves that out.
    pub projected: usize,
    /// Solves that did not converge, and lengths that were held.
    pub unconverged: usize,
}

impl Switches {
    /// Whether the derivative is exact and two-sided.
    pub fn is_exact(&self) -> bool {
        *self == Switches::default()
    }
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Switches) {
        self.weak += other.weak;
        self.friction += other.friction;
        self.grazing += other.grazing;
        self.irregular += other.irregular;
        self.impacts += other.impacts;
        self.projected += other.projected;
        self.unconverged += other.unconverged;
    }
}

/// What all substeps of an island share.
pub(crate) struct Stage<'a, G: Geometry> {
    /// The model.
    pub model: &'a Model<G>,
    /// Slots of the parameters and their layout.
    pub parameters: (Block, &'a Parameters),
    /// Controls of the step.
    pub controls: &'a [f64],
    /// Their slots.
    pub control_block: Block,
    /// Bodies, with their inertias at the pose at hand.
    pub bodies: Vec<LocalBody<G>>,
    /// Joints.
    pub joints: Vec<LocalJoint>,
    /// Forces.
    pub forces: Vec<(usize, usize, Option<usize>)>,
    /// Rows of the joint equalities at the start of the substep and at its end.
    pub rows: [Vec<Sides<G>>; 2],
}

/// Slots of the running state of an island.
pub(crate) struct Running {
    /// Poses; none for the world.
    pub poses: Vec<Option<Block>>,
    /// Velocities; none for what never moves.
    pub twists: Vec<Option<Block>>,
    /// What is left of the step.
    pub remaining: Block,
    /// The pace, once it is set.
    pub pace: Option<Block>,
}

impl<'a, G: Geometry> Stage<'a, G> {
    /// Turns every inertia to poses.
    pub fn turn_to(&mut self, poses: &[Pose<G>]) {
        for (body, pose) in self.bodies.iter_mut().zip(poses) {
            body.turn_to(pose);
        }
    }
    /// Finds the rows of the joint equalities at the start (0) or at the end (1) of a substep.
    pub fn find_rows(&mut self, poses: &[Pose<G>], end: usize) {
        let mut rows = std::mem::take(&mut self.rows[end]);
        rows.clear();
        for joint in self.joints.iter().filter(|j| j.rows > 0) {
            debug_assert_eq!(rows.len(), joint.first_row, "rows stand in the order of the joints");
            let bodies = joint.bodies;
            let mut found = [Row::zero(); MAX_ROWS];
            self.model.joints[joint.index].rows(&poses[bodies[0]], &poses[bodies[1]], &mut found);
            rows.extend(found[..joint.rows].iter().map(|row| [(bodies[0], row.a), (bodies[1], row.b)]));
        }
        self.rows[end] = rows;
    }
    /// Slots of mass and inertia of a local body.
    pub fn mass(&self, local: usize) -> MassBlocks {
        let slots = &self.parameters.1.bodies[self.bodies[local].index];
        MassBlocks {
            mass: self.parameters.0.part(slots.mass, 1),
            inertia: self.parameters.0.part(slots.inertia.start, slots.inertia.len()),
        }
    }
    /// A joint at poses.
    pub fn joint<'b>(&'b self, joint: &LocalJoint, poses: &'b [Pose<G>], blocks: &[Option<Block>]) -> JointAt<'b, G> {
        let range = &self.parameters.1.joints[joint.index];
        let parameters = self.parameters.0.part(range.start, range.len());
        JointAt::new((&self.model.joints[joint.index], joint.index), joint.bodies, poses, blocks, parameters)
    }
    /// Fresh blocks for the bodies that impulses move.
    pub fn fresh(&self, program: &mut Program<G>) -> Vec<Option<Block>> {
        self.bodies.iter().map(|b| b.dynamic.then(|| program.fresh(G::DOF))).collect()
    }
    /// The slots a pair's coefficient comes from, with weights: its rule, or the mean of the bodies. `which` is 0 for friction.
    pub fn coefficient(&self, bodies: [usize; 2], which: usize) -> Vec<(Block, f64)> {
        for (rule, slots) in self.model.pairs.iter().zip(&self.parameters.1.pairs).rev() {
            let same = rule.bodies == bodies || rule.bodies == [bodies[1], bodies[0]];
            if let (true, Some(slot)) = (same, slots[which]) {
                return vec![(self.parameters.0.part(slot, 1), 1.0)];
            }
        }
        bodies
            .iter()
            .map(|&b| {
                let slots = &self.parameters.1.bodies[b];
                (self.parameters.0.part(if which == 0 { slots.friction } else { slots.restitution }, 1), 0.5)
            })
            .collect()
    }
}

/// Adds the derivative of a substep; the running slots become those of its end.
pub(crate) fn linearise<G: Geometry>(
    program: &mut Program<G>,
    stage: &mut Stage<G>,
    substep: &Substep<G>,
    running: &mut Running,
    switches: &mut Switches,
) {
    let integrator = stage.model.options.integrator;
    stage.turn_to(&substep.poses);
    for strike in &substep.strikes {
        impact::linearise(program, stage, substep, strike, running, switches);
    }
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

    // 3. Loads and the impulse they give.
    let share = kick_share(integrator);
    let wrenches = stage.fresh(program);
    let implicit = integrator == Integrator::Euler && G::ANG > 1;
    let gyroscopic = !implicit && G::ANG > 1;
    let (before, velocities) = ((&substep.poses[..], &running.poses[..]), (&substep.twists[..], &running.twists[..]));
    let forces = loads(program, stage, substep.time, before, velocities, &wrenches, gyroscopic);
    let impulses = stage.fresh(program);
    for (local, block) in impulses.iter().enumerate() {
        if let (Some(block), Some(force)) = (block, wrenches[local]) {
            program.scaled(*block, force, share * t);
            if let Some(time) = time {
                column::<G>(program, *block, time, &Wrench::zero().plus(share, forces[local]));
            }
        }
    }
    let mut total: Vec<Wrench<G>> = forces.iter().map(|f| Wrench::zero().plus(share * t, *f)).collect();

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
        program.copy(out, before);
        let body = &stage.bodies[local];
        let at = (pose, &substep.poses[local]);
        if implicit && G::inertia_apply(body.inv_inertia, G::inertia_apply(body.inertia, unit_rate::<G>())).norm() > 0.0 {
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
            response::<G>(program, out, (impulse, total[local]), at, body, stage.mass(local));
        }
    }
    let velocity: Vec<Option<Block>> = (0..stage.bodies.len()).map(|b| known[b].or(running.twists[b])).collect();
    let guess: Vec<Option<Block>> = (0..stage.bodies.len())
        .map(|local| running.poses[local].map(|pose| move_pose(program, pose, velocity[local], &substep.half[local], (time, t))))
        .collect();

    // 5. What holds over the move.
    let event = match substep.rule {
        Length::Event(key, bodies) => Some((key, bodies)),
        _ => None,
    };
    let joint_rows: usize = stage.joints.iter().map(|j| j.rows).sum();
    let rows = joint_rows + substep.hold.pushed.iter().map(|p| row_count::<G>(p)).sum::<usize>();
    let mut system = System::new(program, rows + usize::from(event.is_some()));
    stage.find_rows(&substep.next, 1);
    hold_joints(program, stage, substep, running, &guess, &velocity, &mut system);
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
    let kicks: Vec<Twist<G>> = (0..stage.bodies.len()).map(|b| stage.bodies[b].response(&Wrench::zero().plus(share, forces[b]))).collect();
    let column_of_time = event.map(|_| TimeColumn { kicks: &kicks, twists: &substep.half });
    let answer = |body: usize, wrench: &Wrench<G>| stage.bodies[body].response(wrench);
    system.solve(program, answer, Some((&substep.half, t)), column_of_time);

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
        let Some(pose) = guess[local] else { continue };
        let next = program.fresh(G::DOF);
        program.copy(next, pose);
        let free = if event.is_some() { time } else { None };
        if let (Some(out), Some(known), Some(answer)) = (half[local], known[local], answers[local]) {
            let change = program.fresh(G::DOF);
            respond(program, change, answer, &stage.bodies[local]);
            if let Some(time) = free {
                twist_column::<G>(program, change, time, &kicks[local]);
            }
            program.copy(out, known);
            program.copy(out, change);
            displaced::<G>(program, next, (change, &substep.half[local]), (free, t));
        } else if let Some(time) = free {
            twist_column::<G>(program, next, time, &substep.half[local]);
        }
        poses[local] = Some(next);
    }
    system.close(program);
    let half: Vec<Option<Block>> = (0..stage.bodies.len()).map(|b| half[b].or(running.twists[b])).collect();

    // 7. The second kick at q'.
    let time = time.unwrap_or_else(|| program.fresh(1));
    stage.turn_to(&substep.next);
    let end = super::finish::linearise(program, stage, substep, (&poses, &half), time, &ends, switches);
    switches.projected += usize::from(substep.projected);

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
    running.poses = poses;
    running.twists = end;
}

/// A rate along the first axis.
fn unit_rate<G: Geometry>() -> G::Ang {
    let mut rate = G::Ang::zero();
    rate[0] = 1.0;
    rate
}

/// out += slot times a twist.
fn twist_column<G: Geometry>(program: &mut Program<G>, out: Block, slot: Block, twist: &Twist<G>) {
    column::<G>(program, out, slot, &Wrench { lin: twist.lin, ang: twist.ang });
}

/// The pose at the end of a move; a body without velocity stays.
fn move_pose<G: Geometry>(
    program: &mut Program<G>,
    pose: Block,
    velocity: Option<Block>,
    twist: &Twist<G>,
    time: (Option<Block>, f64),
) -> Block {
    let out = program.fresh(G::DOF);
    match velocity {
        Some(block) => {
            moved::<G>(program, out, pose, (block, twist), time);
        }
        None => program.copy(out, pose),
    }
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
        column::<G>(program, rows, time, &Wrench { lin: G::Lin::zero(), ang: -force_value.ang });
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

/// Number of rows a group adds to the system.
pub(crate) fn row_count<G: Geometry>(pushed: &Pushed<G>) -> usize {
    match pushed.source {
        RowSource::Contact { friction, .. } if friction > 0.0 => 1 + G::TANGENTS,
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
                for (body, wrench) in along(&point, point.impulse(&group.impulses)) {
                    total[body] = total[body].plus(1.0, wrench);
                }
                points.push(Some(point));
                continue;
            }
            RowSource::Limit { joint, index, .. } => (joint, JointFunction::Inequality(index)),
            RowSource::Motor { joint } | RowSource::Friction { joint } => (joint, JointFunction::Coordinate),
            RowSource::Spring { joint } => (joint, JointFunction::SpringLength),
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

/// Joint residuals of a move: phi(q')/t, or J v where only the start pose counts.
fn hold_joints<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    running: &Running,
    guess: &[Option<Block>],
    velocity: &[Option<Block>],
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
        for k in joint.first_row..joint.first_row + joint.rows {
            let column = stage.rows[0][k];
            let row = if substep.hold.uncorrected {
                Residual { velocity: column, ..Residual::zero() }
            } else {
                let weight = 1.0 / substep.length;
                let pose = stage.rows[1][k].map(|(body, row)| (body, Wrench::zero().plus(weight, row)));
                Residual { pose, ..Residual::zero() }
            };
            system.push(row, column);
        }
    }
}

/// Residuals of contacts, limits, motors, friction and springs of a move.
fn hold_rows<G: Geometry>(
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
    for (group, point) in substep.hold.pushed.iter().zip(points) {
        if let (RowSource::Contact { key, bodies, friction, deep, leaving }, Some(start)) = (group.source, point) {
            let at_end = group.held || !(leaving || deep || substep.hold.uncorrected);
            let end = at_end.then(|| ContactPoint::felt(program, stage.model, stage.parameters, key, bodies, &substep.next, guess));
            if let Some(end) = end {
                switches.irregular += usize::from(!end.regular);
                ends.push((key, end));
            }
            let first = system.count();
            let out = system.next();
            let normal = start.contact.normal;
            let along_normal = Direction { value: normal, own: &|dn| dn, earlier: None };
            let row = if leaving {
                let (v, _) = contact_rows::speed(program, out, 1.0, start, &along_normal, &substep.half, velocity, &running.poses);
                let approach = normal.dot(start.slip(&substep.twists));
                let restitution = restitution_of(stage, key.bodies);
                contact_rows::speed(program, out, restitution, start, &along_normal, &substep.twists, &running.twists, &running.poses);
                for (block, weight) in stage.coefficient(key.bodies, 1) {
                    program.scaled(out, block, weight * approach);
                }
                Residual { velocity: v, pose: nothing(), time: 0.0 }
            } else if let Some(end) = &end {
                if deep {
                    contact_rows::gap(program, out, -1.0 / t, start);
                }
                Residual { velocity: nothing(), pose: contact_rows::gap(program, out, 1.0 / t, end), time: 0.0 }
            } else {
                let (v, _) = contact_rows::speed(program, out, 1.0, start, &along_normal, &substep.half, velocity, &running.poses);
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
            system.push(row, along(start, normal));
            if friction > 0.0 {
                let speeds = slip_of_move(program, substep, running, velocity, guess, start, end.as_ref().filter(|_| group.held));
                friction_rows(program, stage, key.bodies, friction, &group.impulses, first, start, speeds, system, switches);
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
                system.push(row, start.row(function, 0));
            }
            RowSource::Motor { joint } | RowSource::Friction { joint } | RowSource::Spring { joint } => {
                let start = stage.joint(&joint_row(joint), &substep.poses, &running.poses);
                let share = kick_share(stage.model.options.integrator);
                let rate = RateRow { twists: &substep.half, velocity, time, length: t, share };
                let row = rate.residual(program, &start, group, system, switches);
                let function =
                    if matches!(group.source, RowSource::Spring { .. }) { JointFunction::SpringLength } else { JointFunction::Coordinate };
                let pose = nothing();
                system.push(Residual { pose, ..row }, start.row(function, 0));
            }
            RowSource::Contact { .. } => {}
        }
    }
    ends
}

/// Restitution of a pair of bodies.
pub(crate) fn restitution_of<G: Geometry>(stage: &Stage<G>, bodies: [usize; 2]) -> f64 {
    let rule =
        stage.model.pairs.iter().rev().find(|r| (r.bodies == bodies || r.bodies == [bodies[1], bodies[0]]) && r.restitution.is_some());
    match rule.and_then(|r| r.restitution) {
        Some(value) => value,
        None => 0.5 * (stage.model.bodies[bodies[0]].restitution + stage.model.bodies[bodies[1]].restitution),
    }
}

/// A tangential speed of a contact: its slot, its value and its covectors.
pub(crate) struct Speed<G: Geometry> {
    /// Slot.
    pub block: Block,
    /// Value [m/s].
    pub value: f64,
    /// Covectors.
    pub row: Residual<G>,
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
    [0, 1].map(|k| {
        if k >= G::TANGENTS {
            return None;
        }
        let block = program.fresh(1);
        let tangent = tangents[k];
        let own = |dn: G::Lin| start.turned(k, dn);
        let weight = if end.is_some() { 0.5 } else { 1.0 };
        let direction = Direction { value: tangent, own: &own, earlier: None };
        let (by_velocity, _) = contact_rows::speed(program, block, weight, start, &direction, &substep.half, velocity, &running.poses);
        let mut row = Residual { velocity: by_velocity, pose: nothing(), time: 0.0 };
        let mut value = weight * tangent.dot(here);
        if let Some(end) = end {
            let then = end.contact.normal;
            let across = tangent - then * then.dot(tangent);
            let (carried, length) = (across.unit(), across.norm());
            let settle = |d: G::Lin| (d - carried * carried.dot(d)) * (1.0 / length);
            let own = |dn: G::Lin| settle(-(dn * then.dot(tangent) + then * dn.dot(tangent)));
            let earlier = |dn: G::Lin| {
                let turned = start.turned(k, dn);
                settle(turned - then * then.dot(turned))
            };
            let direction = Direction { value: carried, own: &own, earlier: Some((start.block, &earlier)) };
            let (v, q) = contact_rows::speed(program, block, 0.5, end, &direction, &substep.half, velocity, guess);
            for side in 0..2 {
                row.velocity[side].1 = row.velocity[side].1.plus(1.0, v[side].1);
            }
            row.pose = q;
            value += 0.5 * carried.dot(end.slip(&substep.half));
        }
        Some(Speed { block, value, row })
    })
}

/// Friction rows of a contact whose normal row is `first`: a sticking one does not slip; a sliding one pushes against its slip with all it
/// has, theory (17.16).
pub(crate) fn friction_rows<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    bodies: [usize; 2],
    friction: f64,
    impulses: &[f64; 3],
    first: usize,
    start: &ContactPoint<G>,
    speeds: [Option<Speed<G>>; 2],
    system: &mut System<G>,
    switches: &mut Switches,
) {
    let tangents = start.tangents();
    let bound = friction * impulses[0];
    let size = (0..G::TANGENTS).map(|k| impulses[1 + k] * impulses[1 + k]).sum::<f64>().sqrt();
    let slides = size >= bound * (1.0 - AT_THE_BOUND);
    let speed = speeds.iter().flatten().map(|s| s.value * s.value).sum::<f64>().sqrt();
    let near = size >= bound * (1.0 - NEAR_THE_BOUND) && speed <= NEAR_THE_BOUND * stage.model.tolerances.rest_speed;
    switches.friction += usize::from(near);
    for k in 0..G::TANGENTS {
        let out = system.next();
        let mut row = Residual::zero();
        if slides {
            // l_k + mu l_n u_k/|u| = 0, where u/|u| = -l_t/|l_t|.
            let toward = |i: usize| -impulses[1 + i] / size;
            system.entry(first + 1 + k, first + 1 + k, 1.0);
            system.entry(first + 1 + k, first, friction * toward(k));
            for (block, weight) in stage.coefficient(bodies, 0) {
                program.scaled(out, block, weight * impulses[0] * toward(k));
            }
            if G::TANGENTS > 1 && speed > 0.0 {
                for (i, other) in speeds.iter().enumerate() {
                    let Some(other) = other else { continue };
                    let turn = f64::from(u8::from(i == k)) - toward(k) * toward(i);
                    let factor = bound * turn / speed;
                    program.scaled(out, other.block, factor);
                    add_scaled(&mut row, factor, &other.row);
                }
            }
        } else if let Some(own) = &speeds[k] {
            program.copy(out, own.block);
            row = own.row;
        }
        system.push(row, along(start, tangents[k]));
    }
}

/// row += factor other.
fn add_scaled<G: Geometry>(row: &mut Residual<G>, factor: f64, other: &Residual<G>) {
    for side in 0..2 {
        row.velocity[side] = (other.velocity[side].0, row.velocity[side].1.plus(factor, other.velocity[side].1));
        row.pose[side] = (other.pose[side].0, row.pose[side].1.plus(factor, other.pose[side].1));
    }
    row.time += factor * other.time;
}

/// A row on the rate of a joint coordinate: motor, friction, or a soft spring.
pub(crate) struct RateRow<'a, G: Geometry> {
    /// Velocities it acts on.
    pub twists: &'a [Twist<G>],
    /// Their slots.
    pub velocity: &'a [Option<Block>],
    /// Slot of the length of the move.
    pub time: Option<Block>,
    /// Length of the move [s].
    pub length: f64,
    /// Part of it over which the row acts.
    pub share: f64,
}

impl<G: Geometry> RateRow<'_, G> {
    /// Adds the residual J v + soft l - target, or l - bound where the row is at its bound.
    pub fn residual(
        &self,
        program: &mut Program<G>,
        at: &JointAt<G>,
        group: &Pushed<G>,
        system: &mut System<G>,
        switches: &mut Switches,
    ) -> Residual<G> {
        let out = system.next();
        let unknown = system.count();
        let (t, duration) = (self.length, self.share * self.length);
        let impulse = group.impulses[0];
        let (max, parameter) = match (group.source, at.joint.motor) {
            (RowSource::Friction { .. }, _) => (at.joint.friction, JointParameter::Friction),
            (RowSource::Motor { .. }, Some(motor)) => (motor.max(), JointParameter::MotorMax),
            _ => (f64::INFINITY, JointParameter::MotorMax),
        };
        let bound = max * duration;
        if impulse.abs() >= bound * (1.0 - AT_THE_BOUND) {
            let sign = impulse.signum();
            system.entry(unknown, unknown, 1.0);
            if let Some(block) = at.parameter(parameter) {
                program.scaled(out, block, -sign * duration);
            }
            let by_time = -sign * max * self.share;
            if let Some(time) = self.time {
                program.scaled(out, time, by_time);
            }
            return Residual { time: by_time, ..Residual::zero() };
        }
        switches.friction += usize::from(impulse.abs() >= bound * (1.0 - NEAR_THE_BOUND));
        let function =
            if matches!(group.source, RowSource::Spring { .. }) { JointFunction::SpringLength } else { JointFunction::Coordinate };
        let mut row = at.rate(program, function, 0, 1.0, self.twists, self.velocity, out);
        let mut scalar = |parameter: JointParameter, value: f64| {
            if let Some(block) = at.parameter(parameter) {
                program.scaled(out, block, value);
            }
        };
        let soft = match (group.source, at.joint.motor) {
            (RowSource::Motor { .. }, Some(Motor::Velocity { .. })) => {
                scalar(JointParameter::MotorVelocity, -1.0);
                None
            }
            (RowSource::Motor { .. }, Some(Motor::Position { position, stiffness, damping, .. })) => {
                let way = position - at.joint.coordinate(at.poses[0], at.poses[1]);
                Some((stiffness, damping, way, JointParameter::MotorPosition, JointParameter::MotorStiffness, JointParameter::MotorDamping))
            }
            (RowSource::Spring { .. }, _) => {
                let length = at.joint.spring(at.poses[0], at.poses[1]).map_or(0.0, |s| s.length);
                let way = at.joint.rest - length;
                Some((at.joint.stiffness, at.joint.damping, way, JointParameter::Rest, JointParameter::Stiffness, JointParameter::Damping))
            }
            _ => None,
        };
        if let Some((k, c, way, goal, stiffness, damping)) = soft {
            // target = k x / r and softness 1/(d r), with r = k t + c and d the duration, theory (3.9).
            let r = k * t + c;
            if r > 0.0 {
                let softness = 1.0 / (duration * r);
                system.entry(unknown, unknown, softness);
                scalar(goal, -k / r);
                scalar(stiffness, -way * c / (r * r) - impulse * softness * t / r);
                scalar(damping, k * way / (r * r) - impulse * softness / r);
                at.value(program, function, 0, k / r, out);
                let by_time = k * k * way / (r * r) - impulse * softness * (1.0 / t + k / r);
                if let Some(time) = self.time {
                    program.scaled(out, time, by_time);
                }
                row.time = by_time;
            } else {
                system.entry(unknown, unknown, 1.0);
            }
        }
        row
    }
}
