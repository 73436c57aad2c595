//! The gradient of the energy of a state by poses, velocities and parameters, theory (10.1).

use super::named::parameters::Parameters;
use super::slots::cross;
use crate::constraints::{JointFunction, JointParameter, MAX_PARAMETERS};
use crate::energy::rotor_rate;
use crate::model::{BodyKind, Model};
use crate::state::State;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};

/// The gradient of an energy: n DOF numbers by the poses (as tangents), n DOF by the velocities, and those of [`Parameters`].
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyGradient {
    /// By the poses.
    pub poses: Vec<f64>,
    /// By the velocities.
    pub twists: Vec<f64>,
    /// By the parameters.
    pub parameters: Vec<f64>,
}

/// The gradient of a weighted sum of kinetic, potential and elastic energy.
pub fn energy_gradient<G: Geometry>(model: &Model<G>, layout: &Parameters, state: &State<G>, weights: [f64; 3]) -> EnergyGradient {
    let size = model.bodies.len() * G::DOF;
    let mut out = EnergyGradient { poses: vec![0.0; size], twists: vec![0.0; size], parameters: vec![0.0; layout.len] };
    let [kinetic, potential, elastic] = weights;
    let add = |out: &mut [f64], values: &[f64], weight: f64| out.iter_mut().zip(values).for_each(|(o, v)| *o += weight * v);
    for (index, (body, slots)) in model.bodies.iter().zip(&layout.bodies).enumerate() {
        if body.kind != BodyKind::Dynamic {
            continue;
        }
        let (pose, twist) = (&state.poses[index], &state.twists[index]);
        let part = index * G::DOF..(index + 1) * G::DOF;
        let (v, w) = (twist.lin, twist.ang);
        let momentum = G::inertia_apply(G::inertia_world(body.inertia, pose.rotation), w);
        let (lin, ang) = out.twists[part.clone()].split_at_mut(G::DIM);
        add(lin, (v * body.mass).as_slice(), kinetic);
        add(ang, momentum.as_slice(), kinetic);
        let (lin, ang) = out.poses[part].split_at_mut(G::DIM);
        add(lin, (model.gravity * -body.mass).as_slice(), potential);
        // The inertia turns with the body: d/2 w' I w = theta . (I w x w).
        add(ang, cross::<G>(momentum, w).as_slice(), kinetic);
        out.parameters[slots.mass] += kinetic * 0.5 * v.dot(v) - potential * model.gravity.dot(pose.position);
        add(&mut out.parameters[layout.gravity.clone()], (pose.position * -body.mass).as_slice(), potential);
        let rate = G::unrotate_rate(pose.rotation, w);
        let mut slot = slots.inertia.start;
        for i in 0..G::ANG {
            for j in i..G::ANG {
                // An entry off the diagonal stands twice in the matrix.
                let times = if i == j { 0.5 } else { 1.0 };
                out.parameters[slot] += kinetic * times * rate[i] * rate[j];
                slot += 1;
            }
        }
    }
    for (joint, slots) in model.joints.iter().zip(&layout.joints) {
        let poses = joint.bodies.map(|body| body.map_or_else(Pose::identity, |b| state.poses[b]));
        if joint.has_rotor() {
            let twists = joint.bodies.map(|body| body.map_or_else(Twist::zero, |b| state.twists[b]));
            let rate = rotor_rate(joint, state);
            let weight = [kinetic * joint.armature * rate];
            let by_pose = joint.power_gradient(JointFunction::Coordinate, &poses[0], &poses[1], &weight, &twists);
            let by_rate = joint.value_gradient(JointFunction::Coordinate, &poses[0], &poses[1], &weight);
            for (side, body) in joint.bodies.iter().enumerate() {
                let Some(body) = body else { continue };
                for (numbers, gradient) in [(&mut out.poses, &by_pose), (&mut out.twists, &by_rate)] {
                    let (lin, ang) = numbers[body * G::DOF..(body + 1) * G::DOF].split_at_mut(G::DIM);
                    add(lin, gradient.bodies[side].lin.as_slice(), 1.0);
                    add(ang, gradient.bodies[side].ang.as_slice(), 1.0);
                }
            }
            let mut values = [0.0; MAX_PARAMETERS];
            by_pose.write_parameters(joint, &mut values);
            add(&mut out.parameters[slots.clone()], &values, 1.0);
            if let Some(index) = joint.parameter_index(JointParameter::Armature) {
                out.parameters[slots.start + index] += kinetic * 0.5 * rate * rate;
            }
        }
        let Some(spring) = joint.spring(&poses[0], &poses[1]) else { continue };
        let stretch = spring.length - spring.rest;
        let pull = elastic * spring.stiffness * stretch;
        for (side, row) in [spring.row.a, spring.row.b].into_iter().enumerate() {
            if let Some(body) = joint.bodies[side] {
                let (lin, ang) = out.poses[body * G::DOF..(body + 1) * G::DOF].split_at_mut(G::DIM);
                add(lin, row.lin.as_slice(), pull);
                add(ang, row.ang.as_slice(), pull);
            }
            let in_body = poses[side].local_direction(row.lin);
            for component in 0..G::DIM {
                if let Some(index) = joint.parameter_index(JointParameter::Anchor { side, component }) {
                    out.parameters[slots.start + index] += pull * in_body[component];
                }
            }
        }
        for (parameter, value) in [(JointParameter::Rest, -pull), (JointParameter::Stiffness, elastic * 0.5 * stretch * stretch)] {
            if let Some(index) = joint.parameter_index(parameter) {
                out.parameters[slots.start + index] += value;
            }
        }
    }
    for coupling in &model.couplings {
        let Some(tendon) = coupling.tendon else { continue };
        let pull = elastic * tendon.stiffness * coupling.stretch(model, state);
        for &(index, coefficient) in &coupling.terms {
            let joint = &model.joints[index];
            let [a, b] = joint.bodies.map(|body| body.map_or_else(Pose::identity, |b| state.poses[b]));
            let row = joint.coordinate_row(&a, &b);
            for (body, row) in joint.bodies.into_iter().zip([row.a, row.b]) {
                let Some(body) = body else { continue };
                let (lin, ang) = out.poses[body * G::DOF..(body + 1) * G::DOF].split_at_mut(G::DIM);
                add(lin, row.lin.as_slice(), pull * coefficient);
                add(ang, row.ang.as_slice(), pull * coefficient);
            }
        }
    }
    out
}
