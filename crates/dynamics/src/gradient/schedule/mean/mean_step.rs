//! The derivative of a substep under `energy-momentum`: the converged balance of mean twists and impulses, differentiated implicitly, and the
//! end velocities that follow, theory chapter 19.

use super::balance::Balance;
use super::hold::MeanHold;
use super::motion::{MeanMove, Shared, write};
use super::push::{Lengthened, MoveSlots, Pushes, pushes};
use crate::body_load::RESISTANCES;
use crate::constraints::JointFunction;
use crate::energy_momentum::find_unheld;
use crate::gradient::motion::moved;
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows;
use crate::gradient::rows::moment_rows;
use crate::gradient::schedule::finish::{self, Arrived, Impulses};
use crate::gradient::schedule::hold::{push_rows, row_count};
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::{Running, Stage, Switches};
use crate::gradient::slots::{put, twist, wrench};
use crate::gradient::system::{Residual, System, TimeColumn, nothing};
use crate::gradient::tape::record::{RowSource, Solved, Substep};
use crate::integrate::Length;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Slots by local body.
type Slots = Vec<Option<Block>>;

/// Adds the derivative of velocities that were projected onto what the joints allow before something struck, theory (13.18); returns them.
pub(crate) fn obey_joints<G: Geometry>(
    program: &mut Program<G>,
    stage: &mut Stage<G>,
    substep: &Substep<G>,
    (twists, reaction): &(Vec<Twist<G>>, Vec<f64>),
    running: &Running,
    switches: &mut Switches,
) -> Slots {
    stage.find_rows(&substep.poses, 1);
    // The end of a substep that goes nowhere.
    let here = Substep {
        next: substep.poses.clone(),
        end: twists.clone(),
        finish: Solved { reaction: reaction.clone(), ..Solved::default() },
        ..substep.clone()
    };
    let still = program.fresh(1);
    let arrived = Arrived { poses: &running.poses, half: &running.twists, values: twists, rotors: None, taken: None };
    finish::linearise(program, stage, &here, arrived, still, &[], switches)
}

/// What a substep is made of while it is differentiated.
struct Around<G: Geometry> {
    /// How each body moves that impulses move.
    moves: Vec<Option<MeanMove<G>>>,
    /// How ends of moves change with the length, mean twists held.
    ends: Vec<Twist<G>>,
    /// How mean twists of bodies that no impulse moves do.
    driven: Vec<Twist<G>>,
}

impl<G: Geometry> Around<G> {
    fn new(stage: &Stage<G>, substep: &Substep<G>) -> Self {
        let t = substep.length;
        let count = stage.bodies.len();
        let mut unheld = vec![false; count];
        find_unheld(stage.model, stage.joints, &mut unheld);
        let moves: Vec<_> =
            (0..count).map(|b| stage.bodies[b].dynamic.then(|| MeanMove::new(substep.midpoint.mean[b], t, !unheld[b]))).collect();
        let still = Twist::zero();
        let kinematic = |b: usize| stage.bodies[b].kinematic;
        let ends = (0..count).map(|b| match &moves[b] {
            Some(of) => of.by_length(),
            None => {
                if kinematic(b) {
                    substep.twists[b]
                } else {
                    still
                }
            }
        });
        let driven = (0..count).map(|b| {
            let ang = if kinematic(b) { Shared::<G>::mean(substep.twists[b].ang, t).by_length() } else { G::Ang::zero() };
            Twist { lin: G::Lin::zero(), ang }
        });
        let (ends, driven) = (ends.collect(), driven.collect());
        Around { moves, ends, driven }
    }
}

/// Adds the derivative of stages 3 to 7; returns the slots of poses, velocities and length.
pub(crate) fn linearise<G: Geometry>(
    program: &mut Program<G>,
    stage: &mut Stage<G>,
    substep: &Substep<G>,
    running: &Running,
    time: Option<Block>,
    switches: &mut Switches,
) -> (Slots, Slots, Block) {
    let t = substep.length;
    let count = stage.bodies.len();
    let around = Around::new(stage, substep);
    let Around { moves, ends: lengthened, driven: driven_by_length } = &around;

    // Ends of the move with the mean twists held, and the mean twists that are given.
    let driven: Slots = (0..count).map(|b| driven_mean(program, stage, substep, running, b, time)).collect();
    let fixed: Slots = (0..count)
        .map(|b| {
            let pose = running.poses[b]?;
            let twists = (running.twists[b], stage.bodies[b].kinematic);
            let out = match (&moves[b], twists) {
                (None, (None, _) | (_, false)) => return Some(pose),
                _ => program.fresh(G::DOF),
            };
            match (&moves[b], twists.0) {
                (Some(of), _) => of.moved(program, out, pose, time),
                (None, Some(block)) => moved::<G>(program, out, pose, (block, &substep.twists[b]), (time, t)),
                (None, None) => {}
            }
            Some(out)
        })
        .collect();

    // Half impulses of loads and joints, and of the rows of the start pose.
    let impulses = stage.fresh(program);
    let slots = MoveSlots { starts: &running.poses, ends: &fixed, driven: &driven, time };
    let longer = Lengthened { ends: lengthened, driven: driven_by_length };
    let mut pushed = pushes(program, stage, substep, moves, &slots, &longer, &impulses);
    stage.find_rows(&substep.poses, 0);
    let (start, total) = ((&substep.poses[..], &running.poses[..]), &mut pushed.total[..]);
    let points = push_rows(program, stage, &substep.hold, start, &impulses, (total, 0), &[], switches);

    // The balance of each body with the impulses held.
    let balances: Vec<Option<Balance<G>>> = (0..count).map(|b| balance(stage, substep, &pushed, b)).collect();
    switches.unconverged += balances.iter().flatten().filter(|balance| !balance.regular).count();
    let known = stage.fresh(program);
    for b in 0..count {
        let (Some(balance), Some(out), Some(push), Some(pose)) = (&balances[b], known[b], impulses[b], running.poses[b]) else { continue };
        let slots = &stage.parameters.1.bodies[stage.bodies[b].index];
        let resistances = stage.parameters.0.part(slots.resistances.damping, RESISTANCES);
        balance.linearise(program, out, push, running.twists[b], (pose, &substep.poses[b]), stage.mass(b), resistances, time);
    }
    let mean: Slots = (0..count).map(|b| known[b].or(driven[b])).collect();
    let guess: Slots = (0..count)
        .map(|b| {
            let (Some(of), Some(fixed), Some(known)) = (&moves[b], fixed[b], known[b]) else { return fixed[b] };
            let out = program.fresh(G::DOF);
            program.copy(out, fixed);
            of.displace(program, out, known);
            Some(out)
        })
        .collect();
    let path: Slots = (0..count)
        .map(|b| {
            let (Some(of), Some(known)) = (&moves[b], known[b]) else { return running.twists[b] };
            let out = program.fresh(G::DOF);
            of.follow(program, out, known, time);
            Some(out)
        })
        .collect();

    // What holds, and how impulses that answer to the twists of two bodies do.
    let event = match substep.rule {
        Length::Event(key, bodies) => Some((key, bodies)),
        _ => None,
    };
    let joint_rows: usize = stage.joints.iter().map(|j| j.rows).sum();
    let rows = joint_rows + substep.hold.pushed.iter().map(|p| row_count::<G>(p)).sum::<usize>();
    let mut system = System::new(program, rows + pushed.coupled.len() + usize::from(event.is_some()));
    stage.find_rows(&substep.next, 1);
    let hold = MeanHold { substep, moves, starts: &running.poses, ends: &guess, mean: &mean, path: &path, before: &running.twists, time };
    hold.joints(program, stage, &pushed.rows, &mut system);
    let ends = hold.rows(program, stage, &points, &mut system, switches);
    for coupled in &pushed.coupled {
        let (own, out) = (system.count(), system.next());
        let row = coupled.row.map(|(body, covector)| (body, covector.negated()));
        for (body, covector) in row {
            if let Some(block) = known[body] {
                let mut values = [0.0; 6];
                put::<G>(covector.lin, covector.ang, &mut values);
                program.matrix(out, block, &values[..G::DOF]);
            }
        }
        system.entry(own, own, 1.0);
        system.push(Residual { velocity: row, ..Residual::zero() }, coupled.column);
    }
    if let Some((key, bodies)) = event {
        let point = ContactPoint::felt(program, stage.model, stage.parameters, key, bodies, &substep.next, &guess);
        switches.irregular += usize::from(!point.regular);
        let out = system.next();
        let pose = contact_rows::gap(program, out, 1.0 / t, &point);
        let closing: f64 = pose.iter().map(|(body, row)| row.power(&substep.half[*body])).sum::<f64>() * t;
        switches.grazing += usize::from(closing.abs() < stage.model.tolerances.rest_speed);
        system.push_guard(Residual { pose, ..Residual::zero() });
    }
    // Residuals at the end are felt through the mean twists and through the length.
    for row in &mut system.lists.rows {
        for side in 0..2 {
            let (body, covector) = row.pose[side];
            if covector == Wrench::zero() {
                continue;
            }
            let carried = moves[body].as_ref().map_or_else(Wrench::zero, |of| of.carried(&covector));
            row.velocity[side] = (body, row.velocity[side].1.plus(1.0, carried));
            row.time += covector.power(&lengthened[body]);
        }
        row.pose = nothing();
    }
    let kicks: Vec<Twist<G>> =
        (0..count).map(|b| balances[b].as_ref().map_or(driven_by_length[b], |balance| balance.by_length(&pushed.by_length[b]))).collect();
    let column_of_time = event.map(|_| TimeColumn { kicks: &kicks, twists: &substep.half });
    let answer = |body: usize, wrench: &Wrench<G>| balances[body].as_ref().map_or_else(Twist::zero, |balance| balance.answer(wrench));
    system.solve(program, answer, None, column_of_time);

    // Their change moves everything.
    let answers = stage.fresh(program);
    system.impulses(program, &answers);
    let free = event.map(|_| {
        let block = program.fresh(1);
        program.copy(block, system.unknown.part(system.unknown.len() - 1, 1));
        block
    });
    let mut mean = mean;
    let mut poses = running.poses.clone();
    for b in 0..count {
        let Some(guess) = guess[b] else { continue };
        let next = program.fresh(G::DOF);
        program.copy(next, guess);
        if let (Some(of), Some(known), Some(answer)) = (&moves[b], known[b], answers[b]) {
            let change = program.fresh(G::DOF);
            program.linear(change, answer, |x, y| {
                let answered = balances[b].as_ref().map_or_else(Twist::zero, |balance| balance.answer(&wrench::<G>(x)));
                write(&answered, y);
            });
            if let Some(time) = free {
                program.stacked(change, time, &kicks[b]);
            }
            of.displace(program, next, change);
            let out = program.fresh(G::DOF);
            program.copy(out, known);
            program.copy(out, change);
            mean[b] = Some(out);
        }
        if let Some(time) = free {
            program.stacked(next, time, &lengthened[b]);
        }
        poses[b] = Some(next);
    }
    let time = free.or(time).unwrap_or_else(|| program.fresh(1));

    // Velocities at the end, before rows act there.
    let mirrored: Slots = (0..count)
        .map(|b| {
            let (Some(of), Some(mean)) = (&moves[b], mean[b]) else { return running.twists[b] };
            let out = program.fresh(G::DOF);
            of.mirror(program, out, mean, (running.twists[b], &substep.twists[b]), time);
            Some(out)
        })
        .collect();
    if !substep.midpoint.landed {
        system.close(program);
        return (poses, mirrored, time);
    }
    let taken = take_back(program, stage, substep, running, &points, &system, joint_rows);
    system.close(program);
    stage.turn_to(&substep.next);
    let arrived = Arrived { poses: &poses, half: &mirrored, values: &substep.half, rotors: None, taken: Some(&taken) };
    let end = finish::linearise(program, stage, substep, arrived, time, &ends, switches);
    (poses, end, time)
}

/// Slots of the mean twist of a body that no impulse moves; none for one that stands.
fn driven_mean<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    running: &Running,
    body: usize,
    time: Option<Block>,
) -> Option<Block> {
    if !stage.bodies[body].kinematic {
        return None;
    }
    let before = running.twists[body]?;
    let shared = Shared::<G>::mean(substep.twists[body].ang, substep.length);
    let out = program.fresh(G::DOF);
    program.linear(out, before, |x, y| {
        let change = twist::<G>(x);
        write(&Twist::<G> { lin: change.lin, ang: shared.change(change.ang) }, y);
    });
    if let Some(time) = time {
        program.column(out.part(G::DIM, G::ANG), time, shared.by_length().as_slice());
    }
    Some(out)
}

/// The balance of a body that impulses move.
fn balance<G: Geometry>(stage: &Stage<G>, substep: &Substep<G>, pushed: &Pushes<G>, body: usize) -> Option<Balance<G>> {
    let local = &stage.bodies[body];
    local.dynamic.then(|| {
        Balance::new(
            local,
            (&substep.twists[body], &substep.midpoint.mean[body]),
            pushed.total[body].ang,
            stage.resistances(local),
            substep.length,
            &pushed.stiffness[body],
        )
    })
}

/// The second half of what rows gave in the move, taken back along them, theory (13.17): slots and values of impulses.
fn take_back<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    running: &Running,
    points: &[Option<ContactPoint<G>>],
    system: &System<G>,
    joint_rows: usize,
) -> Impulses<G> {
    let out = stage.fresh(program);
    let mut values = vec![Wrench::zero(); stage.bodies.len()];
    let mut unknown = joint_rows;
    for (group, point) in substep.hold.pushed.iter().zip(points) {
        let back = group.impulses.map(|impulse| -impulse);
        if let (Some(point), RowSource::Moment { .. }) = (point, group.source) {
            // Their values are added with those of all rows below.
            let mut counted = vec![Wrench::zero(); stage.bodies.len()];
            moment_rows::impulse(program, point, &back, &out, &mut counted);
        } else if let Some(point) = point {
            contact_rows::impulse(program, point, &back, &running.poses, &out);
        } else {
            let (joint, function) = match group.source {
                RowSource::Limit { joint, index, .. } => (joint, JointFunction::Inequality(index)),
                RowSource::Spring { joint } => (joint, JointFunction::SpringLength),
                RowSource::Motor { joint } | RowSource::Friction { joint } => (joint, JointFunction::Coordinate),
                RowSource::Contact { .. } | RowSource::Moment { .. } => continue,
                // Couplings are refused here.
                RowSource::TendonLimit { .. } | RowSource::Tendon { .. } => continue,
            };
            stage.joint(&stage.joints[joint], &substep.poses, &running.poses).impulse(program, function, &back[..1], &out);
        }
        for k in 0..row_count::<G>(group) {
            for (body, row) in system.lists.columns[unknown] {
                values[body] = values[body].plus(back[k], row);
                if let Some(block) = out[body] {
                    program.stacked(block, system.unknown.part(unknown, 1), &row.negated());
                }
            }
            unknown += 1;
        }
    }
    (out, values)
}
