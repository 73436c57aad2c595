//! The energy of the velocities that the joints allow, theory (13.19): what `energy-momentum` keeps without it would say too little.

use crate::constraints::Row;
use crate::island::{LocalBody, LocalJoint};
use crate::joint_factor::JointFactor;
use crate::line::Line;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist};

impl<G: Geometry> World<G> {
    /// Kinetic energy [J] of the present velocities projected onto J v = 0, the least change in the metric of the masses. It is at most the
    /// kinetic energy itself; the two agree under `verlet` and `euler`, whose velocities obey the joints, and differ under
    /// `energy-momentum` by what its velocities put into breaking them.
    pub fn projected_kinetic(&self) -> f64 {
        let (model, state) = (self.model(), self.state());
        let world = std::iter::once((LocalBody::world(), Pose::identity(), Twist::zero()));
        let own = model.bodies.iter().enumerate().map(|(index, body)| {
            let mut local = LocalBody::of(index, body, false);
            local.turn_to(&state.poses[index]);
            let moves = local.dynamic || local.kinematic;
            (local, state.poses[index], if moves { state.twists[index] } else { Twist::zero() })
        });
        let (mut bodies, mut poses, mut twists) = (Vec::new(), Vec::new(), Vec::new());
        for (body, pose, twist) in world.chain(own) {
            bodies.push(body);
            poses.push(pose);
            twists.push(twist);
        }
        let (mut joints, mut lines, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (index, joint) in model.joints.iter().enumerate() {
            let places = joint.bodies.map(|body| body.map_or(0, |b| b + 1));
            let moves = places.iter().any(|&body| bodies[body].dynamic);
            if joint.row_count() == 0 || !moves {
                continue;
            }
            rows.clear();
            rows.resize(joint.row_count(), Row::zero());
            joint.rows(&poses[places[0]], &poses[places[1]], &mut rows);
            joints.push(LocalJoint { index, bodies: places, first_row: lines.len(), rows: rows.len(), control: None });
            lines.extend(rows.iter().map(|row| Line::new(places, *row, &bodies)));
        }
        let mut factor = JointFactor::default();
        let _ = factor.refactor(&joints, &lines, &bodies);
        let mut impulses: Vec<f64> = lines.iter().map(|line| -line.speed(&twists)).collect();
        factor.solve(&mut impulses);
        for (line, &impulse) in lines.iter().zip(&impulses) {
            line.push(impulse, &mut twists);
        }
        bodies.iter().zip(&twists).filter(|(body, _)| body.dynamic).map(|(body, twist)| body.kinetic(twist)).sum()
    }
}
