//! A spring from a point of a body to the cursor, gentle enough for the step it is taken with.

use carom_dynamics::{BodyKind, World};
use carom_geometry::Geometry;
use carom_math::{Vector, Wrench};

/// How briskly a body follows the cursor [rad/s].
const BRISKNESS: f64 = 9.0;
/// Largest square of briskness times step: an explicit spring is stable below 4, and smooth far below.
const GENTLE: f64 = 0.1;
/// Mass that a pull moves, in masses of the body itself: what hangs on it comes along.
const REACH: f64 = 8.0;

/// What the cursor holds.
#[derive(Clone, Copy, Debug)]
pub struct Hand<G: Geometry> {
    body: usize,
    at: G::Lin,
    to: Option<G::Lin>,
}

/// Finite components of a point, missing ones 0.
fn point<G: Geometry>(values: &[f64]) -> Option<G::Lin> {
    let mut out = G::Lin::zero();
    for (k, x) in values.iter().take(G::DIM).enumerate() {
        if !x.is_finite() {
            return None;
        }
        out[k] = *x;
    }
    Some(out)
}

impl<G: Geometry> Hand<G> {
    /// Takes hold of a point of a body; `None` when it cannot be moved.
    pub fn grab(world: &World<G>, body: usize, at: &[f64]) -> Option<Self> {
        let dynamic = world.model().bodies.get(body).is_some_and(|b| b.kind == BodyKind::Dynamic);
        let at = point::<G>(at)?;
        dynamic.then_some(Hand { body, at, to: None })
    }
    /// Moves the cursor.
    pub fn pull(&mut self, to: &[f64]) {
        self.to = point::<G>(to).or(self.to);
    }
    /// Pushes the world for its next step.
    pub fn act(&self, world: &mut World<G>) {
        let Some(to) = self.to else { return };
        let (model, state) = (world.model(), world.state());
        let (pose, twist, body) = (&state.poses[self.body], &state.twists[self.body], &model.bodies[self.body]);
        let arm = pose.direction(self.at);
        let away = to - (pose.position + arm);
        // The mass that the pulled point seems to have: less than the body's where the pull turns it.
        let jointed = model.joints.iter().any(|joint| joint.bodies.contains(&Some(self.body)));
        let distance = away.norm();
        let mut lightness = 1.0 / body.mass;
        if distance > 0.0
            && !body.locked_rotation
            && let Some(inverse) = G::inertia_invert(G::inertia_world(body.inertia, pose.rotation))
        {
            let along = away * (1.0 / distance);
            let turn = G::inertia_apply(inverse, G::torque(arm, along));
            lightness += along.dot(G::spin(turn, arm));
        }
        let mass = 1.0 / lightness;
        let pulled = if jointed { REACH * mass } else { mass };
        let stiffness = (pulled * BRISKNESS * BRISKNESS).min(mass * GENTLE / (model.step * model.step));
        let damping = 2.0 * (stiffness * mass).sqrt();
        // Weight is held too, so that what is lifted does not sag.
        let force = away * stiffness - twist.at(arm) * damping - model.gravity * body.mass;
        let wrench = Wrench { lin: force, ang: G::torque(arm, force) };
        // A body that flew off to infinity cannot be pulled back.
        let _ = world.push(self.body, wrench);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_math::Planar;
    use carom_scene::{Scene, from_toml};

    fn world(step: f64) -> World<Planar> {
        let text =
            format!("dimension = 2\nstep = {step}\n[[body]]\nname = \"a\"\nshape = {{ box = [0.4, 0.2] }}\n[[body]]\nkind = \"static\"\n");
        let Scene::Planar(scene) = from_toml(&text, "x").unwrap() else { panic!("a plane") };
        World::new(scene.model, scene.state).unwrap()
    }

    #[test]
    fn a_pulled_body_comes_to_the_cursor_and_hangs_from_it() {
        for step in [0.001, 0.005, 0.02, 0.05] {
            let mut world = world(step);
            let mut hand = Hand::grab(&world, 0, &[0.15, 0.05]).unwrap();
            hand.pull(&[1.0, 2.0]);
            for _ in 0..(8.0 / step) as usize {
                hand.act(&mut world);
                world.step().unwrap();
            }
            let pose = &world.state().poses[0];
            let held = pose.point(Vector::from_slice(&[0.15, 0.05]));
            assert!((held[0] - 1.0).abs() < 0.05 && (held[1] - 2.0).abs() < 0.05, "step {step}: {held:?}");
        }
    }

    #[test]
    fn what_cannot_move_is_not_held() {
        let world = world(0.005);
        assert!(Hand::grab(&world, 1, &[0.0, 0.0]).is_none());
        assert!(Hand::grab(&world, 9, &[0.0, 0.0]).is_none());
        assert!(Hand::grab(&world, 0, &[f64::NAN, 0.0]).is_none());
    }
}
