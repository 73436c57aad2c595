//! The derivative of stage 2: a law gives impulses as a function of K = R M~^-1 R', u = R v and the coefficients, theory (17.36)-(17.38).

use super::law::{InertiaSlots, LawSlots};
use super::program::{Block, Program};
use super::stage::{Running, Stage, Switches};
use crate::combine::Coefficient;
use crate::constraints::{JointFunction, JointParameter};
use crate::gradient::motion::response;
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows::{self, Direction, along};
use crate::gradient::rows::rotor::RotorRow;
use crate::gradient::rows::sensor;
use crate::gradient::rows::tie;
use crate::gradient::system::pivoted::Pivoted;
use crate::gradient::system::{Residual, System, nothing};
use crate::gradient::tape::record::{Strike, Substep};
use carom_geometry::Geometry;
use carom_math::{Twist, Wrench};

/// The rows of a strike as held by the joints: wrenches R' - J_e' Y and responses M~^-1 R'.
struct HeldRows<G: Geometry> {
    /// Bodies that an impulse reaches: with joints all of them, otherwise the two of its contact.
    reach: usize,
    /// Rows of joints.
    joint_rows: usize,
    /// Responses of those bodies, row by row.
    responses: Vec<Twist<G>>,
    /// Joint multipliers Y, row by row.
    multipliers: Vec<f64>,
}

/// Adds the derivative of one strike; the running velocities become those after it.
pub(crate) fn linearise<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    strike: &Strike<G>,
    running: &mut Running,
    switches: &mut Switches,
) {
    let m = strike.contacts.len();
    let n = strike.impulses.len();
    let points: Vec<ContactPoint<G>> = strike
        .contacts
        .iter()
        .map(|&(key, bodies)| ContactPoint::new(program, stage.model, stage.parameters, key, bodies, &substep.poses, &running.poses))
        .collect();
    switches.irregular += points.iter().filter(|p| !p.regular).count();
    let contact_of = |row: usize| if row < m { row } else { (row - m) / G::TANGENTS };
    let tangent_of = |row: usize| (row >= m).then(|| (row - m) % G::TANGENTS);
    let units: Vec<[f64; 3]> = (0..n)
        .map(|row| {
            let mut unit = [0.0; 3];
            unit[tangent_of(row).map_or(0, |k| 1 + k)] = 1.0;
            unit
        })
        .collect();
    let held = held_rows(stage, substep, &points, &units, contact_of);
    let count = stage.bodies.len();

    // Impulses of the law, as it answers to the speeds, the coefficients and the forces of unit impulses.
    let speeds = approach(program, &points, &strike.before, running, n, contact_of, tangent_of);
    let (frictions, restitutions) = (program.fresh(m), program.fresh(m));
    for (i, (key, _)) in strike.contacts.iter().enumerate() {
        for (block, weight) in stage.coefficient(key.bodies, Coefficient::Friction) {
            program.scaled(frictions.part(i, 1), block, weight);
        }
        if strike.elastic {
            for (block, weight) in stage.coefficient(key.bodies, Coefficient::Restitution) {
                program.scaled(restitutions.part(i, 1), block, weight);
            }
        }
    }
    let impulses = program.fresh(n);
    let mut law = program.spare_law();
    switches.impacts += law.begin(strike, &stage.model.options, LawSlots { impulses, speeds, frictions, restitutions });
    let forces = forces(program, stage, substep, strike, running, &points, &units, &held, contact_of);
    for body in (0..count).filter(|&body| stage.bodies[body].dynamic && !stage.flies[body]) {
        let (mass, local) = (stage.mass(body), &stage.bodies[body]);
        law.body(InertiaSlots {
            mass: program.free(mass.mass),
            upper: program.free(mass.inertia),
            turn: running.poses[body].filter(|_| G::ANG > 1).map(|pose| pose.part(G::DIM, G::ANG)),
            value: local.inertia,
            rotation: substep.poses[body].rotation,
        });
        for &(row, place, force) in &forces[body] {
            law.term(row, held.responses[row * held.reach + place], force);
        }
    }
    for joint in stage.joints.iter().filter(|joint| joint.inv_armature > 0.0) {
        // A rotor is a body that moves one way: its inertia counts as a mass does.
        let at = stage.joint(joint, &substep.poses, &running.poses);
        let mass = at.parameter(JointParameter::Armature).and_then(|block| program.free(block));
        law.body(InertiaSlots { mass, upper: None, turn: None, value: G::inertia_zero(), rotation: G::identity() });
        let still = program.fresh(G::DOF);
        for row in (0..n).filter(|&row| !strike.locked[row]) {
            let mut response: Twist<G> = Twist::zero();
            response.lin[0] = joint.inv_armature * held.multipliers[row * held.joint_rows + joint.first_row + joint.rows - 1];
            law.term(row, response, still);
        }
    }
    program.law(law);

    // Velocities after: v + M^-1 (R' l + J_e' y) with J_e (v+ - v) = 0.
    let pushes = stage.fresh(program);
    let mut total = vec![Wrench::<G>::zero(); count];
    for (i, point) in points.iter().enumerate() {
        let mut values = [strike.impulses[i], 0.0, 0.0];
        for k in 0..G::TANGENTS {
            values[1 + k] = strike.impulses[m + i * G::TANGENTS + k];
        }
        contact_rows::impulse(program, point, &values, &running.poses, &pushes);
        let bodies = strike.contacts[i].0.bodies;
        sensor::turned(program, point, bodies, &values);
        for (body, wrench) in along(point, point.impulse(&values)) {
            total[body] = total[body].plus(1.0, wrench);
        }
        let tangents = point.tangents();
        for row in std::iter::once(i).chain((0..G::TANGENTS).map(|k| m + i * G::TANGENTS + k)) {
            let direction = tangent_of(row).map_or(point.contact.normal, |k| tangents[k]);
            sensor::changed(program, point, bodies, tangent_of(row).map_or(0, |k| 1 + k), impulses.part(row, 1));
            for (body, wrench) in along(point, direction) {
                if let Some(block) = pushes[body] {
                    program.stacked(block, impulses.part(row, 1), &wrench);
                }
            }
        }
    }
    let rows = held.joint_rows;
    let mut reaction = vec![0.0; rows];
    for row in 0..n {
        for k in 0..rows {
            reaction[k] -= held.multipliers[row * rows + k] * strike.impulses[row];
        }
    }
    for joint in stage.joints.iter().filter(|j| j.rows > 0) {
        let y = &reaction[joint.first_row..joint.first_row + joint.rows];
        let at = stage.joint(joint, &substep.poses, &running.poses);
        at.impulse(program, JointFunction::Equalities, y, &pushes);
        for (k, &impulse) in y.iter().enumerate() {
            for (body, row) in at.row(JointFunction::Equalities, k) {
                total[body] = total[body].plus(impulse, row);
            }
        }
    }
    tie::push(program, stage, &reaction, (&substep.poses, &running.poses), &pushes, &mut total);
    let known = stage.fresh(program);
    for local in 0..count {
        let (Some(out), Some(before), Some(push), Some(pose)) = (known[local], running.twists[local], pushes[local], running.poses[local])
        else {
            continue;
        };
        program.copy(out, before);
        response::<G>(program, out, (push, total[local]), (pose, &substep.poses[local]), &stage.bodies[local], stage.mass(local));
    }
    let velocity: Vec<Option<Block>> = (0..count).map(|b| known[b].or(running.twists[b])).collect();
    if rows == 0 {
        // Without joints nothing else answers.
        running.twists = velocity;
        return;
    }
    let after = velocities_after(stage, strike, &held);
    let mut system = System::new(program, rows - stage.ties.len() + tie::unknowns(stage));
    let gained: Vec<Twist<G>> = (0..count).map(|b| after[b].plus(-1.0, strike.before[b])).collect();
    for joint in stage.joints.iter().filter(|j| j.rows > 0) {
        let at = stage.joint(joint, &substep.poses, &running.poses);
        if let Some(rotor) = RotorRow::next(joint, &reaction, &system) {
            rotor.give_way(program, &at, &mut system);
        }
        for k in 0..joint.rows {
            let out = system.next();
            let row = at.rate(program, JointFunction::Equalities, k, 1.0, &gained, &velocity, out);
            for (body, covector) in at.row(JointFunction::Equalities, k) {
                if let Some(block) = running.twists[body] {
                    let mut values = [0.0; 6];
                    crate::gradient::slots::put::<G>(-covector.lin, -covector.ang, &mut values);
                    program.matrix(out, block, &values[..G::DOF]);
                }
            }
            system.push(Residual { pose: nothing(), ..row }, at.row(JointFunction::Equalities, k));
        }
    }
    let here = |joint: usize| stage.joint(&stage.joints[joint], &substep.poses, &running.poses);
    tie::hold(program, stage, &mut system, here, |program, joint, out| {
        let at = here(joint);
        let row = at.rate(program, tie::COORDINATE, 0, 1.0, &gained, &velocity, out);
        for (body, covector) in at.row(tie::COORDINATE, 0) {
            if let Some(block) = running.twists[body] {
                let mut values = [0.0; 6];
                crate::gradient::slots::put::<G>(-covector.lin, -covector.ang, &mut values);
                program.matrix(out, block, &values[..G::DOF]);
            }
        }
        Residual { pose: nothing(), ..row }
    });
    let respond = |body: usize, wrench: &Wrench<G>| stage.bodies[body].response(wrench);
    system.solve(program, respond, None, None);
    let answers = stage.fresh(program);
    system.impulses(program, &answers);
    running.twists = (0..count)
        .map(|local| {
            let (Some(known), Some(answer)) = (known[local], answers[local]) else { return running.twists[local] };
            let out = program.fresh(G::DOF);
            program.copy(out, known);
            program.linear(out, answer, |x, y| {
                let twist = respond(local, &crate::gradient::slots::wrench::<G>(x));
                crate::gradient::slots::put::<G>(twist.lin, twist.ang, y);
            });
            Some(out)
        })
        .collect();
    system.close(program);
}

/// Slots of u = R v.
fn approach<G: Geometry>(
    program: &mut Program<G>,
    points: &[ContactPoint<G>],
    before: &[Twist<G>],
    running: &Running,
    n: usize,
    contact_of: impl Fn(usize) -> usize,
    tangent_of: impl Fn(usize) -> Option<usize>,
) -> Block {
    let speeds = program.fresh(n);
    for row in 0..n {
        let point = &points[contact_of(row)];
        let normal = point.contact.normal;
        let own = |dn: G::Lin| tangent_of(row).map_or(dn, |k| G::tangents_derivative(normal, dn)[k]);
        let value = tangent_of(row).map_or(normal, |k| point.tangents()[k]);
        let direction = Direction { value, own: &own, earlier: None };
        contact_rows::speed(program, speeds.part(row, 1), 1.0, point, &direction, before, &running.twists, &running.poses);
    }
    speeds
}

/// Slots of the forces F_j = R_j' - J_e' Y_j of unit impulses at fixed Y, body by body: row, place among the bodies it reaches, slots.
/// Rows that the joints lock have none.
fn forces<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    strike: &Strike<G>,
    running: &Running,
    points: &[ContactPoint<G>],
    units: &[[f64; 3]],
    held: &HeldRows<G>,
    contact_of: impl Fn(usize) -> usize,
) -> Vec<Vec<(usize, usize, Block)>> {
    let count = stage.bodies.len();
    let rows = held.joint_rows;
    let mut by_body = vec![Vec::new(); count];
    let mut out = vec![None; count];
    for row in (0..units.len()).filter(|&row| !strike.locked[row]) {
        let point = &points[contact_of(row)];
        for place in 0..held.reach {
            let body = if rows == 0 { point.bodies[place] } else { place };
            if stage.bodies[body].dynamic {
                let block = program.fresh(G::DOF);
                out[body] = Some(block);
                by_body[body].push((row, place, block));
            }
        }
        contact_rows::impulse(program, point, &units[row], &running.poses, &out);
        for joint in stage.joints.iter().filter(|j| j.rows > 0) {
            let y: Vec<f64> = (0..joint.rows).map(|k| -held.multipliers[row * rows + joint.first_row + k]).collect();
            stage.joint(joint, &substep.poses, &running.poses).impulse(program, JointFunction::Equalities, &y, &out);
        }
        for (k, tie) in stage.ties.iter().enumerate() {
            let y = -held.multipliers[row * rows + rows - stage.ties.len() + k];
            for &(joint, coefficient) in &tie.terms {
                let at = stage.joint(&stage.joints[joint], &substep.poses, &running.poses);
                at.impulse(program, tie::COORDINATE, &[coefficient * y], &out);
            }
        }
        out.fill(None);
    }
    by_body
}

/// Responses of unit impulses along the rows with the joints holding.
fn held_rows<G: Geometry>(
    stage: &Stage<G>,
    substep: &Substep<G>,
    points: &[ContactPoint<G>],
    units: &[[f64; 3]],
    contact_of: impl Fn(usize) -> usize,
) -> HeldRows<G> {
    let count = stage.bodies.len();
    let none = vec![None; count];
    let lines: Vec<Vec<(usize, Wrench<G>)>> = stage
        .joints
        .iter()
        .flat_map(|joint| {
            let at = stage.joint(joint, &substep.poses, &none);
            (0..joint.rows).map(move |k| at.row(JointFunction::Equalities, k).to_vec()).collect::<Vec<_>>()
        })
        .chain(stage.ties.iter().map(|tie| {
            let term = |&(joint, coefficient): &(usize, f64)| {
                let row = stage.joint(&stage.joints[joint], &substep.poses, &none).row(tie::COORDINATE, 0);
                row.map(|(body, covector)| (body, Wrench::zero().plus(coefficient, covector)))
            };
            tie.terms.iter().flat_map(term).collect()
        }))
        .collect();
    let e = lines.len();
    let mut factor = Pivoted::default();
    if e > 0 {
        let matrix = factor.matrix(e);
        for i in 0..e {
            for j in 0..e {
                let mut sum = 0.0;
                for (a, row) in &lines[i] {
                    for (b, column) in &lines[j] {
                        if a == b {
                            sum += row.power(&stage.bodies[*b].response(column));
                        }
                    }
                }
                matrix[i * e + j] = sum;
            }
        }
        for joint in stage.joints.iter().filter(|joint| joint.inv_armature > 0.0) {
            let row = joint.first_row + joint.rows - 1;
            matrix[row * e + row] += joint.inv_armature;
        }
        factor.factor();
    }
    let reach = if e == 0 { 2 } else { count };
    let mut out =
        HeldRows { reach, joint_rows: e, responses: Vec::with_capacity(units.len() * reach), multipliers: vec![0.0; units.len() * e] };
    let mut wrenches = vec![Wrench::<G>::zero(); count];
    for (row, unit) in units.iter().enumerate() {
        let point = &points[contact_of(row)];
        for (body, wrench) in along(point, point.impulse(unit)) {
            wrenches[body] = wrenches[body].plus(1.0, wrench);
        }
        if e > 0 {
            let y = &mut out.multipliers[row * e..(row + 1) * e];
            for (k, line) in lines.iter().enumerate() {
                y[k] = line.iter().map(|(b, covector)| covector.power(&stage.bodies[*b].response(&wrenches[*b]))).sum();
            }
            factor.solve(y);
            for (k, line) in lines.iter().enumerate() {
                for (b, covector) in line {
                    wrenches[*b] = wrenches[*b].plus(-y[k], *covector);
                }
            }
        }
        if e > 0 {
            out.responses.extend((0..count).map(|body| stage.bodies[body].response(&wrenches[body])));
            wrenches.fill(Wrench::zero());
        } else {
            for body in point.bodies {
                out.responses.push(stage.bodies[body].response(&wrenches[body]));
            }
            point.bodies.iter().for_each(|&body| wrenches[body] = Wrench::zero());
        }
    }
    out
}

/// Velocities after a strike where there are joints, so that every row reaches every body.
fn velocities_after<G: Geometry>(stage: &Stage<G>, strike: &Strike<G>, held: &HeldRows<G>) -> Vec<Twist<G>> {
    let mut after = strike.before.clone();
    for (row, &impulse) in strike.impulses.iter().enumerate() {
        for body in 0..held.reach {
            if stage.bodies[body].dynamic {
                after[body] = after[body].plus(impulse, held.responses[row * held.reach + body]);
            }
        }
    }
    after
}
