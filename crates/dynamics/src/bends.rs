//! How contacts bent the last moves of an island with joints, and where the correction of their targets will start in the next, theory (2.18).
//!
//! As with joints the target that a correction comes to is smooth in time while the motion is, and the answer is the same from anywhere.

use crate::assembly::Source;
use crate::curvature::{GUESS_FLOOR, TERMS};
use crate::island::Island;
use crate::island::parts::{Links, System, Touch};
use carom_geometry::Geometry;
use carom_math::Vector;

/// What a correction came to over the length of its move, and its backward differences, as many as there are moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bends<G: Geometry>(pub [G::Lin; TERMS]);

impl<G: Geometry> Bends<G> {
    /// Nothing is known.
    pub fn none() -> Self {
        Bends([G::Lin::zero(); TERMS])
    }
    /// What the last moves make of the next.
    fn next(&self) -> G::Lin {
        self.0.iter().fold(G::Lin::zero(), |sum, term| sum + *term)
    }
    /// Takes in the last move.
    fn learn(&mut self, mut now: G::Lin) {
        let mut known = true;
        for term in &mut self.0 {
            let before = std::mem::replace(term, if known { now } else { G::Lin::zero() });
            // A difference is one of two.
            known &= before != G::Lin::zero();
            now -= before;
        }
    }
}

/// Whether they are followed: beside joints, and where rows do not outnumber the freedoms, which want all targets from one pose.
fn followed<G: Geometry>(system: &System<G>) -> bool {
    !system.assembly.equalities.is_empty() && !system.assembly.crowded
}

/// Moves the targets of the selected contacts by what the last moves make of the next, of length t.
pub(crate) fn guess<G: Geometry>(island: &mut Island<G>, t: f64) {
    let Island { links: Links { pairs, .. }, touch: Touch { near, .. }, system, .. } = island;
    if !followed(system) {
        return;
    }
    let System { assembly, solve, .. } = system;
    for (position, &index) in solve.groups.iter().enumerate() {
        let Source::Contact(c) = assembly.groups[index].source else { continue };
        let (near, row) = (&near[c], solve.first[position]);
        let bend = near.bends.next() * t;
        // What bends the move by less is rounding.
        if solve.leaving[position] || bend.max_abs() * t <= GUESS_FLOOR * pairs[near.pair].size {
            continue;
        }
        solve.target[row] += bend.dot(near.contact.normal);
        for (target, tangent) in solve.target[row + 1..].iter_mut().zip(&G::tangents(near.contact.normal)[..G::TANGENTS]) {
            *target += bend.dot(*tangent);
        }
    }
}

/// Takes what the correction of a move of length t came to.
pub(crate) fn learn<G: Geometry>(island: &mut Island<G>, t: f64) {
    let Island { touch: Touch { near, .. }, system, .. } = island;
    let known = followed(system) && system.solve.closed;
    let System { assembly, solve, .. } = system;
    for (position, &index) in solve.groups.iter().enumerate().filter(|_| known) {
        let Source::Contact(c) = assembly.groups[index].source else { continue };
        let (near, row) = (&mut near[c], solve.first[position]);
        if solve.leaving[position] {
            near.bends = Bends::none();
            continue;
        }
        let mut now = near.contact.normal * (solve.target[row] + near.contact.gap.max(0.0) / t);
        for (target, tangent) in solve.target[row + 1..].iter().zip(&G::tangents(near.contact.normal)[..G::TANGENTS]) {
            now += *tangent * *target;
        }
        near.bends.learn(now * (1.0 / t));
    }
    for near in near.iter_mut().filter(|near| !known || !near.active) {
        near.bends = Bends::none();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{Joint, JointKind, JointSpec};
    use crate::model::{Body, BodyKind, Collider, Model};
    use crate::state::State;
    use crate::world::World;
    use carom_geometry::planar::Shape;
    use carom_math::{Planar, Pose, Space, Twist};

    /// Steps of the fall.
    const STEPS: usize = 40;

    /// Two rods hinged end to end that fall over the corner on which the first one stands.
    fn falling() -> World<Planar> {
        let (mut model, mut state) = (Model::<Planar>::new("falling"), State::empty());
        model.gravity = Vector::from_slice(&[0.0, -9.81]);
        model.step = 0.005;
        let (sin, cos) = 0.3f64.sin_cos();
        let foot = 0.5 * cos + 0.05 * sin;
        let mut put = |kind: BodyKind, shape: Shape, place: [f64; 3]| {
            let mut body = Body::new(format!("body{}", model.bodies.len()), kind, 1.0, Planar::inertia_from_moments(&[0.08]));
            body.surface.friction = 0.9;
            body.surface.restitution = 0.0;
            body.colliders.push(Collider { shape, local: Pose::identity() });
            model.bodies.push(body);
            let pose = Pose { position: Vector::from_slice(&place), rotation: Planar::exp(Vector::from_slice(&place[2..])) };
            state.push(pose, Twist::zero());
        };
        put(BodyKind::Static, Shape::half_space(Vector::from_slice(&[0.0, 1.0])).unwrap(), [0.0; 3]);
        put(BodyKind::Dynamic, Shape::cuboid(0.1, 1.0).unwrap(), [0.0, foot, -0.3]);
        put(BodyKind::Dynamic, Shape::cuboid(0.1, 1.0).unwrap(), [sin, foot + cos, -0.3]);
        let mut spec = JointSpec::new("knee", JointKind::Hinge, [Some(2), Some(1)]);
        spec.anchor = Some(Vector::from_slice(&[0.5 * sin, foot + 0.5 * cos]));
        model.joints.push(Joint::new(spec, &state.poses[2], &state.poses[1]).unwrap());
        World::new(model, state).unwrap()
    }

    /// Rounds of correction that the fall takes, and where the rods are then.
    fn fall(remembered: bool) -> (usize, State<Planar>) {
        let (mut world, mut rounds) = (falling(), 0);
        for _ in 0..STEPS {
            rounds += world.step().unwrap().corrections;
            let touch = &mut world.islands.list[0].touch;
            assert!(touch.near.iter().any(|near| near.active && near.bends != Bends::none()), "the foot stands on its corner");
            if !remembered {
                touch.near.iter_mut().for_each(|near| near.bends = Bends::none());
                touch.memory.iter_mut().for_each(|memory| memory.bends = Bends::none());
                world.past.memory.iter_mut().for_each(|memory| memory.bends = Bends::none());
            }
        }
        (rounds, world.state().clone())
    }

    #[test]
    fn a_cubic_is_followed_from_its_fourth_value_on() {
        let bend = |k: i32| Vector::from_slice(&[f64::from(k * k * k) - 3.0, 2.0 - f64::from(k * k), 0.0]);
        let mut bends = Bends::<Planar>::none();
        for k in 0..TERMS as i32 {
            assert!(k == 0 || bends.next() != bend(k));
            bends.learn(bend(k));
        }
        for k in TERMS as i32..9 {
            assert_eq!(bends.next(), bend(k));
            bends.learn(bend(k));
        }
    }

    #[test]
    fn what_is_followed_saves_rounds_and_ends_in_the_same_place() {
        let ((with, one), (without, other)) = (fall(true), fall(false));
        assert!(with + STEPS / 2 < without, "rounds: {with} with what the last moves tell, {without} without");
        for (one, other) in one.poses.iter().zip(&other.poses) {
            assert!((one.position - other.position).max_abs() < 1e-9);
        }
    }
}
