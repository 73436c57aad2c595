//! Derivatives of stage 3: gravity, damping, springs, forces and controls as wrenches, theory (17.18).

use crate::body_load::{BodyLoad, RESISTANCES};
use crate::constraints::{Joint, JointFunction, JointKind, JointParameter};
use crate::gradient::motion::{LoadMap, LoadSlots};
use crate::gradient::rows::joint_rows::JointAt;
use crate::gradient::rows::rate_row::goal_of;
use crate::gradient::rows::tie;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::Stage;
use crate::gradient::slots::put;
use crate::island::LocalJoint;
use crate::predict::{self, Instant, effective_mass, soft_spring};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};

/// Adds the tangents of the loads at given poses and velocities to `out`, with the gyroscopic torque if asked, and returns their values.
pub(crate) fn loads<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    time: f64,
    poses: (&[Pose<G>], &[Option<Block>]),
    twists: (&[Twist<G>], &[Option<Block>]),
    out: &[Option<Block>],
    (instant, gyroscopic): (Instant, bool),
) -> Vec<Wrench<G>> {
    let model = stage.model;
    let mut values = vec![Wrench::zero(); stage.bodies.len()];
    for (local, body) in stage.bodies.iter().enumerate() {
        let Some(block) = out[local] else { continue };
        let slots = &stage.parameters.1.bodies[body.index];
        let spec = &model.bodies[body.index];
        let theta = program.free(stage.parameters.0);
        let load = BodyLoad {
            gravity: model.gravity,
            mass: spec.mass,
            inertia: body.inertia,
            resistances: spec.resistances.list(),
            gyroscopic,
            twist: twists.0[local],
        };
        let turns = G::ANG > 1 && load.turns();
        let map = LoadMap {
            out: block,
            velocity: twists.1[local],
            turn: if turns { poses.1[local].map(|pose| pose.part(G::DIM, G::ANG)) } else { None },
            asked: theta.map(|theta| LoadSlots {
                mass: theta.part(slots.mass, 1),
                inertia: theta.part(slots.inertia.start, slots.inertia.len()),
                resistances: theta.part(slots.resistances.damping, RESISTANCES),
                gravity: theta.part(stage.parameters.1.gravity.start, G::DIM),
            }),
            rotation: poses.0[local].rotation,
            load,
        };
        values[local] = load.value();
        program.load(map);
    }
    joint_and_force_loads(program, stage, (time, instant), poses, twists, out, &mut values);
    values
}

/// Whether a joint may be a load: a spring, driven by a control, or by a motor that pulls.
fn is_load<G: Geometry>(joint: &Joint<G>) -> bool {
    joint.kind == JointKind::Spring || joint.motor.is_some_and(|motor| motor.control().is_some() || motor.pull(0.0).is_some())
}

/// Whether there are loads beside those of the bodies alone.
pub(crate) fn any_joint_or_force<G: Geometry>(stage: &Stage<G>) -> bool {
    !stage.forces.is_empty() || !stage.tendons.is_empty() || stage.joints.iter().any(|joint| is_load(&stage.model.joints[joint.index]))
}

/// Adds the tangents of springs, controls and forces to `out` and their values to `values`.
pub(crate) fn joint_and_force_loads<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    (time, instant): (f64, Instant),
    poses: (&[Pose<G>], &[Option<Block>]),
    twists: (&[Twist<G>], &[Option<Block>]),
    out: &[Option<Block>],
    values: &mut [Wrench<G>],
) {
    let model = stage.model;
    for joint in stage.joints.iter().filter(|joint| is_load(&model.joints[joint.index])) {
        let at = stage.joint(joint, poses.0, poses.1);
        spring(program, stage, &at, twists, out, values);
        if joint.slow_pull {
            slow_pull(program, stage, (joint, &at, instant), twists, out, values);
        }
        if let (Some(max), Some(control)) = (at.joint.motor.and_then(|motor| motor.control()), joint.control) {
            let asked = stage.controls.get(control).copied().unwrap_or(0.0);
            let torque = asked.clamp(-max, max);
            let row = at.row(JointFunction::Coordinate, 0);
            at.impulse(program, JointFunction::Coordinate, &[torque], out);
            let source = if asked.abs() < max {
                Some((stage.control_block.part(control, 1), 1.0))
            } else {
                at.parameter(JointParameter::MotorMax).map(|block| (block, asked.signum()))
            };
            for (body, covector) in row {
                values[body] = values[body].plus(torque, covector);
                if let (Some(block), Some((slot, sign))) = (out[body], source) {
                    program.stacked(block, slot, &Wrench::zero().plus(sign, covector));
                }
            }
        }
    }
    stage.tendons.iter().for_each(|tendon| tie::pull(program, stage, (tendon, instant), poses, twists, out, values));
    for &(index, local, control) in stage.forces {
        let force = &model.forces[index];
        let Some(block) = out[local] else { continue };
        if time < force.from || time > force.until {
            continue;
        }
        let scale = control.map_or(1.0, |c| stage.controls.get(c).copied().unwrap_or(0.0));
        let arm = poses.0[local].direction(force.at);
        let wrench = Wrench { lin: force.force, ang: G::torque(arm, force.force) + force.torque };
        values[local] = values[local].plus(scale, wrench);
        if let Some(control) = control {
            program.stacked(block, stage.control_block.part(control, 1), &wrench);
        }
        let slots = &stage.parameters.1.forces[index];
        let theta = stage.parameters.0;
        program.linear(block, theta.part(slots.force.start, G::DIM), |x, y| {
            let change = G::Lin::from_slice(x) * scale;
            put::<G>(change, G::torque(arm, change), y);
        });
        program.scaled(block.part(G::DIM, G::ANG), theta.part(slots.torque.start, G::ANG), scale);
        let rotation = poses.0[local].rotation;
        program.linear(block.part(G::DIM, G::ANG), theta.part(slots.at.start, G::DIM), |x, y| {
            let shift = G::rotate(rotation, G::Lin::from_slice(x));
            y.copy_from_slice((G::torque(shift, force.force) * scale).as_slice());
        });
        if let Some(pose) = poses.1[local] {
            program.linear(block.part(G::DIM, G::ANG), pose.part(G::DIM, G::ANG), |x, y| {
                let shift = G::spin(G::Ang::from_slice(x), arm);
                y.copy_from_slice((G::torque(shift, force.force) * scale).as_slice());
            });
        }
    }
}

/// A motor that pulls slowly, as the load that it is, theory (21.9): its force is a slot of its own.
fn slow_pull<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    (joint, at, instant): (&LocalJoint, &JointAt<G>, Instant),
    twists: (&[Twist<G>], &[Option<Block>]),
    out: &[Option<Block>],
    values: &mut [Wrench<G>],
) {
    let sides = [0, 1].map(|side| (at.poses[side], &twists.0[at.bodies[side]]));
    let Some((force, row)) = predict::slow_pull(at.joint, stage.asked(joint), instant, sides) else { return };
    let Some((motor, pull)) = at.joint.motor.and_then(|motor| Some((motor, motor.pull(stage.asked(joint))?))) else { return };
    let slot = program.fresh(1);
    let function = JointFunction::Coordinate;
    let mut scalar = |parameter: JointParameter, value: f64| {
        if let Some(block) = at.parameter(parameter) {
            program.scaled(slot, block, value);
        }
    };
    if motor.row_max().is_some_and(|max| force.abs() >= max) {
        scalar(JointParameter::MotorMax, force.signum());
    } else {
        let way = pull.position - at.joint.motor_coordinate(&pull, at.poses[0], at.poses[1]);
        scalar(JointParameter::MotorStiffness, way);
        scalar(JointParameter::MotorDamping, pull.rate - row.speed(sides[0].1, sides[1].1));
        let goal = goal_of(&motor);
        let weight = if goal == JointParameter::MotorVelocity { pull.damping } else { pull.stiffness };
        match stage.target_slot(joint) {
            Some(control) => program.scaled(slot, control, weight),
            None => scalar(goal, weight),
        }
        at.value(program, function, 0, -pull.stiffness, slot);
        at.rate(program, function, 0, -pull.damping, twists.0, twists.1, slot);
    }
    at.impulse(program, function, &[force], out);
    for (body, covector) in [(at.bodies[0], row.a), (at.bodies[1], row.b)] {
        values[body] = values[body].plus(force, covector);
        if let Some(block) = out[body] {
            program.stacked(block, slot, &covector);
        }
    }
}

/// An explicit spring: its force is a slot of its own.
fn spring<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    at: &JointAt<G>,
    twists: (&[Twist<G>], &[Option<Block>]),
    out: &[Option<Block>],
    values: &mut [Wrench<G>],
) {
    let Some(spring) = at.joint.spring(at.poses[0], at.poses[1]) else { return };
    if soft_spring(stage.model.step, [spring.stiffness, spring.damping], effective_mass(&stage.bodies, at.bodies)) {
        return;
    }
    let rate = spring.row.speed(&twists.0[at.bodies[0]], &twists.0[at.bodies[1]]);
    let force = -spring.stiffness * (spring.length - spring.rest) - spring.damping * rate;
    let slot = program.fresh(1);
    let function = JointFunction::SpringLength;
    at.value(program, function, 0, -spring.stiffness, slot);
    at.rate(program, function, 0, -spring.damping, twists.0, twists.1, slot);
    let scalars = [
        (JointParameter::Rest, spring.stiffness),
        (JointParameter::Stiffness, spring.rest - spring.length),
        (JointParameter::Damping, -rate),
    ];
    for (parameter, value) in scalars {
        if let Some(block) = at.parameter(parameter) {
            program.scaled(slot, block, value);
        }
    }
    if at.joint.pulls_evenly() && at.joint.ends_meet(at.poses[0], at.poses[1]) {
        across(program, at, spring.stiffness, out);
    }
    at.impulse(program, function, &[force], out);
    for (body, covector) in [(at.bodies[0], spring.row.a), (at.bodies[1], spring.row.b)] {
        values[body] = values[body].plus(force, covector);
        if let Some(block) = out[body] {
            program.stacked(block, slot, &covector);
        }
    }
}

/// Where the ends of a spring without rest length meet it pulls across its kept direction u as well: dF = -k (1 - u u') d(c_a - c_b), theory (17.41).
fn across<G: Geometry>(program: &mut Program<G>, at: &JointAt<G>, stiffness: f64, out: &[Option<Block>]) {
    let kept = at.poses[0].direction(at.joint.direction);
    let points = at.joint.points(at.poses[0], at.poses[1]);
    let arms = [0, 1].map(|side| points[side] - at.poses[side].position);
    let signs = [1.0, -1.0];
    for (onto, &body) in at.bodies.iter().enumerate() {
        let Some(block) = out[body] else { continue };
        // The wrench on a body as an end moves by `shift` of the side it belongs to.
        let answer = |side: usize, shift: G::Lin, y: &mut [f64]| {
            let force = (shift - kept * kept.dot(shift)) * (-stiffness * signs[side] * signs[onto]);
            put::<G>(force, G::torque(arms[onto], force), y);
        };
        for side in 0..2 {
            if let Some(pose) = at.blocks[side] {
                program.linear(block, pose, |x, y| {
                    answer(side, G::Lin::from_slice(x) + G::spin(G::Ang::from_slice(&x[G::DIM..]), arms[side]), y);
                });
            }
            for component in 0..G::DIM {
                if let Some(slot) = at.parameter(JointParameter::Anchor { side, component }) {
                    let mut unit = G::Lin::zero();
                    unit[component] = 1.0;
                    let shift = at.poses[side].direction(unit);
                    program.linear(block, slot, |x, y| answer(side, shift * x[0], y));
                }
            }
        }
    }
}

/// Springs whose ends meet at these poses and whose force has no derivative there: of two directions that nothing tells apart, one pulls.
pub(crate) fn undirected_springs<G: Geometry>(stage: &Stage<G>, poses: &[Pose<G>]) -> usize {
    let springs = stage.joints.iter().filter(|joint| stage.model.joints[joint.index].kind == JointKind::Spring);
    springs
        .filter(|joint| {
            let spec = &stage.model.joints[joint.index];
            let soft = soft_spring(
                stage.model.step,
                [spec.measures.stiffness, spec.measures.damping],
                effective_mass(&stage.bodies, joint.bodies),
            );
            (soft || !spec.pulls_evenly()) && spec.ends_meet(&poses[joint.bodies[0]], &poses[joint.bodies[1]])
        })
        .count()
}
