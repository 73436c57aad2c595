//! The energy of a state, theory (10.1).

use crate::constraints::{Joint, JointKind};
use crate::model::{BodyKind, Model};
use crate::state::State;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};

/// Kinetic, potential and elastic energy \[J\] of a state.
pub fn energies<G: Geometry>(model: &Model<G>, state: &State<G>) -> [f64; 3] {
    let [mut kinetic, mut potential] = [0.0; 2];
    for (index, body) in model.bodies.iter().enumerate() {
        if body.kind == BodyKind::Dynamic {
            let (pose, twist) = (&state.poses[index], &state.twists[index]);
            let inertia = G::inertia_world(body.inertia, pose.rotation);
            kinetic += 0.5 * (body.mass * twist.lin.dot(twist.lin) + twist.ang.dot(G::inertia_apply(inertia, twist.ang)));
            potential -= body.mass * model.gravity.dot(pose.position);
        }
    }
    [kinetic + rotors(model, state), potential, elastic(model, state)]
}

/// Kinetic energy of the rotors of joints \[J\], theory (21.1).
pub(crate) fn rotors<G: Geometry>(model: &Model<G>, state: &State<G>) -> f64 {
    let turning = model.joints.iter().filter(|joint| joint.has_rotor());
    turning.map(|joint| 0.5 * joint.armature * rotor_rate(joint, state).powi(2)).sum()
}

/// The rate of the rotor of a joint [rad/s or m/s].
pub(crate) fn rotor_rate<G: Geometry>(joint: &Joint<G>, state: &State<G>) -> f64 {
    let [a, b] = joint.bodies.map(|body| body.map_or_else(Pose::identity, |b| state.poses[b]));
    let [v, w] = joint.bodies.map(|body| body.map_or_else(Twist::zero, |b| state.twists[b]));
    joint.coordinate_row(&a, &b).speed(&v, &w)
}

/// Energy of the springs \[J\].
pub(crate) fn elastic<G: Geometry>(model: &Model<G>, state: &State<G>) -> f64 {
    let mut elastic = 0.0;
    for joint in model.joints.iter().filter(|j| j.kind == JointKind::Spring) {
        let pose = |side: usize| joint.bodies[side].map_or_else(Pose::identity, |b| state.poses[b]);
        if let Some(spring) = joint.spring(&pose(0), &pose(1)) {
            elastic += spring.energy();
        }
    }
    for coupling in &model.couplings {
        elastic += coupling.tendon.map_or(0.0, |tendon| tendon.energy(coupling.stretch(model, state)));
    }
    elastic
}
