//! Islands at rest are put to sleep, theory (2.40): one whose step leaves it bit for bit as it was takes no more steps, since each would do the same again.
//!
//! A step is a function of poses, velocities, what is remembered of contacts and joints, controls and pushes. Where the first four come out of it as they went
//! in and the last two are what they were, the next step comes to the same, its books and reports included, and nothing has to be done for it. Whatever
//! changes the pairs that may meet, the model or the state from outside builds islands anew, and those are awake.

use crate::contacts::Memory;
use crate::curvature::Curvature;
use crate::island::Island;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};

/// What is known of an island that did not move.
#[derive(Debug)]
pub(crate) struct Rest<G: Geometry> {
    /// How the last step left it.
    state: State,
    /// What was remembered when it was first found unmoved.
    memory: Vec<Memory<G>>,
    curvature: Curvature,
    /// The controls of its joints in that step.
    asked: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It moved.
    #[default]
    Awake,
    /// It did not move, but what is remembered may have changed.
    Still,
    /// The next step comes to the same as the last.
    Asleep,
}

impl<G: Geometry> Default for Rest<G> {
    fn default() -> Self {
        Rest { state: State::Awake, memory: Vec::new(), curvature: Curvature::default(), asked: Vec::new() }
    }
}

impl<G: Geometry> Rest<G> {
    /// Whether it takes no steps.
    pub fn sleeps(&self) -> bool {
        self.state == State::Asleep
    }

    /// Nothing is known.
    pub fn wake(&mut self) {
        self.state = State::Awake;
    }
}

/// Whether two lists are the same bit for bit; noughts of different signs are not.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// Whether a body is where it was and moves as it did.
#[inline]
pub(crate) fn unmoved<G: Geometry>(before: (&Pose<G>, &Twist<G>), after: (&Pose<G>, &Twist<G>)) -> bool {
    let rotation = |pose: &Pose<G>| {
        let mut out = [0.0; 4];
        G::write_rotation(pose.rotation, &mut out);
        out
    };
    same(before.0.position.as_slice(), after.0.position.as_slice())
        && same(before.1.lin.as_slice(), after.1.lin.as_slice())
        && same(before.1.ang.as_slice(), after.1.ang.as_slice())
        && same(&rotation(before.0), &rotation(after.0))
}

fn same_memory<G: Geometry>(a: &[Memory<G>], b: &[Memory<G>]) -> bool {
    let warm = |a: &Memory<G>, b: &Memory<G>| a.warm.iter().zip(&b.warm).all(|(a, b)| same(a.as_slice(), b.as_slice()));
    let one = |(a, b): (&Memory<G>, &Memory<G>)| (a.key, a.active, a.had_row) == (b.key, b.active, b.had_row) && warm(a, b);
    a.len() == b.len() && a.iter().zip(b).all(one)
}

impl<G: Geometry> Island<G> {
    /// Whether its next step may come to the same as the last: nothing pushes it, no force begins or ends, and no turns are counted.
    fn may_sleep(&self, pushes: &[Wrench<G>]) -> bool {
        let pushed = |body: usize| pushes.get(body).is_some_and(|push| *push != Wrench::zero());
        self.loading.forces.is_empty()
            && self.links.ties.is_empty()
            && self.links.tendons.is_empty()
            && !self.members.driven
            && (pushes.is_empty() || !self.members.bodies.iter().any(|body| pushed(body.index)))
    }

    /// The controls of its joints.
    fn asked<'a>(&'a self, controls: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let asked = self.links.joints.iter().filter_map(|joint| joint.control);
        asked.map(|control| controls.get(control).copied().unwrap_or(0.0))
    }

    /// Whether it sleeps through the step at hand; where it does not, it is awake.
    pub(crate) fn sleeps_on(&mut self, controls: &[f64], pushes: &[Wrench<G>]) -> bool {
        if !self.rest.sleeps() {
            return false;
        }
        let known = self.rest.asked.iter().map(|x| x.to_bits());
        let same = self.may_sleep(pushes) && self.asked(controls).map(f64::to_bits).eq(known);
        if !same {
            self.rest.wake();
        }
        same
    }

    /// Takes in whether a step left its bodies as they were.
    pub(crate) fn settle(&mut self, controls: &[f64], pushes: &[Wrench<G>], unmoved: bool) {
        if !unmoved || !self.may_sleep(pushes) {
            return self.rest.wake();
        }
        let mut asked = std::mem::take(&mut self.rest.asked);
        let known = self.rest.state == State::Still && asked.iter().map(|x| x.to_bits()).eq(self.asked(controls).map(f64::to_bits));
        asked.clear();
        asked.extend(self.asked(controls));
        self.rest.asked = asked;
        if known && same_memory(&self.touch.memory, &self.rest.memory) && self.links.curvature.is(&self.rest.curvature) {
            self.rest.state = State::Asleep;
            return;
        }
        self.rest.state = State::Still;
        self.rest.memory.clone_from(&self.touch.memory);
        self.rest.curvature.assign(&self.links.curvature);
    }
}

#[cfg(test)]
mod tests;
