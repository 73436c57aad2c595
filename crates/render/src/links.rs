//! What joints look like: pins, ropes, springs, and the sticks of bodies that have no shape.

use carom_dynamics::{JointKind, Model};
use carom_geometry::Geometry;
use carom_math::{Pose, Vector};

/// Pins are drawn in mechanisms of at most so many joints; in a longer chain they would be all there is to see.
const MOST_PINS: usize = 250;
/// Anchors nearer to each other than this part of the larger distance to the bodies are one point.
const SAME: f64 = 1e-9;

/// A mark of a joint in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link<G: Geometry> {
    /// A point that two bodies share; the flag tells that one of them is the world.
    Pin(G::Lin, bool),
    /// A straight tie.
    Rope(G::Lin, G::Lin),
    /// A spring.
    Spring(G::Lin, G::Lin),
    /// A line that stands for a body without a shape.
    Stick(usize, G::Lin, G::Lin),
}

/// The marks of all joints.
pub fn links<G: Geometry>(model: &Model<G>, poses: &[Pose<G>], out: &mut Vec<Link<G>>) {
    out.clear();
    for joint in &model.joints {
        let ends = [0, 1].map(|end| joint.bodies[end].map_or(joint.anchors[end], |b| poses[b].point(joint.anchors[end])));
        for (body, anchor) in joint.bodies.iter().zip(ends) {
            if let Some(body) = body.filter(|b| model.bodies[*b].colliders.is_empty()) {
                let centre = poses[body].position;
                if (anchor - centre).norm() > SAME * (1.0 + anchor.norm()) {
                    out.push(Link::Stick(body, centre, anchor));
                }
            }
        }
        match joint.kind {
            JointKind::Spring => out.push(Link::Spring(ends[0], ends[1])),
            JointKind::Rope | JointKind::Distance => out.push(Link::Rope(ends[0], ends[1])),
            _ => {}
        }
    }
    if model.joints.len() <= MOST_PINS {
        for joint in &model.joints {
            if matches!(joint.kind, JointKind::Hinge | JointKind::Ball | JointKind::Universal) {
                let at = joint.bodies[0].map_or(joint.anchors[0], |b| poses[b].point(joint.anchors[0]));
                out.push(Link::Pin(at, joint.bodies.contains(&None)));
            }
        }
    }
}
