//! States that are variables: moved along the coordinates in which every state is one of the mechanism.

use carom_dynamics::{BodyKind, State, World};
use carom_geometry::Geometry;
use carom_math::Twist;

/// Step of the differences that give the directions.
const STEP: f64 = 1e-6;

/// Numbers that a state is moved by: coordinates, then rates.
pub fn freedoms<G: Geometry>(world: &World<G>) -> usize {
    if world.model().joints.is_empty() { 2 * G::DOF * free(world).count() } else { 2 * world.tree().len() }
}

fn free<G: Geometry>(world: &World<G>) -> impl Iterator<Item = usize> + '_ {
    (0..world.model().bodies.len()).filter(|b| world.model().bodies[*b].kind == BodyKind::Dynamic)
}

/// A state moved: bodies that are free by twists and changes of velocity, mechanisms by joint coordinates and their rates, so that joints hold.
pub fn moved<G: Geometry>(world: &World<G>, state: &State<G>, by: &[f64]) -> Option<State<G>> {
    let (q, v) = by.split_at(by.len() / 2);
    if world.model().joints.is_empty() {
        let mut out = state.clone();
        for (k, body) in free(world).enumerate() {
            let twist = |x: &[f64]| {
                let mut twist = Twist::<G>::zero();
                (0..G::DIM).for_each(|i| twist.lin[i] = x[k * G::DOF + i]);
                (0..G::ANG).for_each(|i| twist.ang[i] = x[k * G::DOF + G::DIM + i]);
                twist
            };
            out.poses[body] = out.poses[body].advanced(twist(q), 1.0);
            let change = twist(v);
            out.twists[body].lin += change.lin;
            out.twists[body].ang += change.ang;
        }
        return Some(out);
    }
    let mut moved = world.copy();
    moved.set_state(state.clone()).ok()?;
    let names = moved.joint_names();
    let plus = |x: Vec<f64>, d: &[f64]| names.iter().map(String::as_str).zip(x.into_iter().zip(d).map(|(x, d)| x + d)).collect::<Vec<_>>();
    let (q, v) = (plus(moved.joint_q(), q), plus(moved.joint_v(), v));
    moved.set_joints(&q, &v).ok()?;
    Some(moved.state().clone())
}

/// How one state differs from another, as tangents of poses and changes of velocities: n DOF numbers each.
pub fn difference<G: Geometry>(a: &State<G>, b: &State<G>) -> (Vec<f64>, Vec<f64>) {
    let (mut poses, mut twists) = (Vec::new(), Vec::new());
    for body in 0..a.poses.len() {
        let (p, q) = (&a.poses[body], &b.poses[body]);
        poses.extend_from_slice(carom_math::Vector::as_slice(&(p.position - q.position)));
        poses.extend_from_slice(carom_math::Vector::as_slice(&G::log(G::compose(p.rotation, G::inverse(q.rotation)))));
        twists.extend_from_slice(carom_math::Vector::as_slice(&(a.twists[body].lin - b.twists[body].lin)));
        twists.extend_from_slice(carom_math::Vector::as_slice(&(a.twists[body].ang - b.twists[body].ang)));
    }
    (poses, twists)
}

/// The directions in which a state moves, one for each number: tangents of poses and of velocities.
pub fn directions<G: Geometry>(world: &World<G>, state: &State<G>) -> Option<Vec<(Vec<f64>, Vec<f64>)>> {
    let count = freedoms(world);
    (0..count)
        .map(|k| {
            let step = |size: f64| {
                let mut by = vec![0.0; count];
                by[k] = size;
                moved(world, state, &by)
            };
            let (mut poses, mut twists) = difference(&step(STEP)?, &step(-STEP)?);
            poses.iter_mut().chain(&mut twists).for_each(|x| *x /= 2.0 * STEP);
            Some((poses, twists))
        })
        .collect()
}
