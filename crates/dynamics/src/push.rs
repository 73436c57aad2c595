//! A hand from outside: wrenches that act on bodies over the coming steps without being part of the model.

use crate::error::ModelError;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Vector, Wrench};

impl<G: Geometry> World<G> {
    /// Pushes a body with a wrench at its centre of mass \[N, N m\], world axes, in every step from now on until it is changed or
    /// [`World::release`] is called; its work is booked as put in. Only dynamic bodies feel it. Copies of the world, rollouts and
    /// snapshots know nothing of it.
    ///
    /// # Errors
    /// A body the model does not have, or a number that is not finite.
    pub fn push(&mut self, body: usize, wrench: Wrench<G>) -> Result<(), ModelError> {
        let count = self.model().bodies.len();
        if body >= count {
            return Err(ModelError::new("push", "body", format!("found {body}, needs one of {count} bodies")));
        }
        if !(wrench.lin.is_finite() && wrench.ang.is_finite()) {
            return Err(ModelError::new("push", "wrench", "needs finite numbers"));
        }
        self.outside.pushes.resize(count, Wrench::zero());
        self.outside.pushes[body] = wrench;
        Ok(())
    }

    /// What pushes a body from outside at present.
    pub fn pushed(&self, body: usize) -> Wrench<G> {
        self.outside.pushes.get(body).copied().unwrap_or_else(Wrench::zero)
    }

    /// Pushes nothing any more.
    pub fn release(&mut self) {
        self.outside.pushes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Body, BodyKind, Model};
    use crate::options::Integrator;
    use crate::state::State;
    use carom_math::{Planar, Pose, Space, Twist};

    fn stone(integrator: Integrator) -> World<Planar> {
        let mut model = Model::<Planar>::new("stone");
        model.options.integrator = integrator;
        model.gravity = Vector::zero();
        model.bodies.push(Body::new("stone", BodyKind::Dynamic, 2.0, Planar::inertia_from_moments(&[0.5])));
        let mut state = State::empty();
        state.push(Pose::identity(), Twist::zero());
        World::new(model, state).unwrap()
    }

    #[test]
    fn a_push_accelerates_and_its_work_is_booked() {
        for integrator in crate::scheme::ALL {
            let mut world = stone(integrator);
            let wrench = Wrench { lin: Vector::from_slice(&[4.0, 0.0]), ang: Vector::from_slice(&[0.5]) };
            // A push that comes late is felt like one that was there from the start.
            world.step().unwrap();
            world.push(0, wrench).unwrap();
            for _ in 0..200 {
                world.step().unwrap();
            }
            let twist = world.state().twists[0];
            // F/m t and torque/I t after one second.
            assert!((twist.lin[0] - 2.0).abs() < 1e-9 && (twist.ang[0] - 1.0).abs() < 1e-9, "{integrator:?}: {twist:?}");
            let ledger = world.ledger();
            // F dx + torque dangle, the very kinetic energy; `euler` books to first order in the step.
            let allowed = if integrator.name() == "euler" { 0.05 } else { 1e-9 };
            assert!((ledger.flow.work_in - 4.25).abs() < allowed, "{integrator:?}: {}", ledger.flow.work_in);
            world.release();
            let before = world.state().twists[0];
            world.step().unwrap();
            assert_eq!(world.state().twists[0], before, "{integrator:?}: nothing pushes any more");
        }
    }

    #[test]
    fn copies_are_not_pushed_and_nonsense_is_refused() {
        let mut world = stone(crate::scheme::ALL[0]);
        world.push(0, Wrench { lin: Vector::from_slice(&[1.0, 0.0]), ang: Vector::zero() }).unwrap();
        let mut copy = world.copy();
        copy.step().unwrap();
        assert_eq!(copy.state().twists[0].lin[0], 0.0);
        assert!(world.push(1, Wrench::zero()).is_err());
        assert!(world.push(0, Wrench { lin: Vector::from_slice(&[f64::NAN, 0.0]), ang: Vector::zero() }).is_err());
    }
}
