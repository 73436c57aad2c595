//! Impulses of contacts along a run, and losses of them, theory (17.53).

use super::*;
use crate::contacts::{Key, placed};
use crate::gradient::rows::sensor::{Pair, Sensor, share};
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::tape::record::{RowSource, Substep};
use crate::model::Model;
use carom_math::{Pose, Vector};

/// A cotangent of an impulse of contacts over a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Push {
    /// The step, from 0.
    pub step: usize,
    /// Whose impulse it is, and from whom.
    pub pair: Pair,
    /// By the impulse on the first [1/(N s)]; the third number counts in space only.
    pub bar: [f64; 3],
}

/// The impulse of row impulses at poses.
fn impulse<G: Geometry>(model: &Model<G>, key: &Key<G>, poses: [&Pose<G>; 2], rows: &[f64]) -> G::Lin {
    let shape = |side: usize| &model.bodies[key.bodies[side]].colliders[key.colliders[side]].shape;
    let frame = |side: usize| placed(model, key.bodies[side], key.colliders[side], poses[side]);
    let normal = G::evaluate(key.feature, shape(0), &frame(0), shape(1), &frame(1)).normal;
    let across = G::tangents(normal).into_iter().zip(&rows[1..]).take(G::TANGENTS);
    across.fold(normal * rows[0], |sum, (tangent, size)| sum + tangent * *size)
}

/// What contacts of a substep give to each that is asked.
fn gather<G: Geometry>(model: &Model<G>, substep: &Substep<G>, pairs: &[Pair], out: &mut [G::Lin]) {
    let mut add = |key: &Key<G>, bodies: [usize; 2], poses: &[Pose<G>], rows: &[f64]| {
        if pairs.iter().all(|pair| share(key.bodies, *pair) == 0.0) {
            return;
        }
        let found = impulse(model, key, bodies.map(|body| &poses[body]), rows);
        pairs.iter().zip(out.iter_mut()).for_each(|(pair, out)| *out += found * share(key.bodies, *pair));
    };
    for strike in &substep.strikes {
        let count = strike.contacts.len();
        for (i, (key, bodies)) in strike.contacts.iter().enumerate() {
            let mut rows = [strike.impulses[i], 0.0, 0.0];
            (0..G::TANGENTS).for_each(|k| rows[1 + k] = strike.impulses[count + i * G::TANGENTS + k]);
            add(key, *bodies, &substep.poses, &rows);
        }
    }
    for (solved, poses) in [(&substep.hold, &substep.poses), (&substep.finish, &substep.next)] {
        for group in &solved.pushed {
            if let RowSource::Contact { key, bodies, friction, .. } = &group.source {
                let rows = if *friction > 0.0 { group.impulses } else { [group.impulses[0], 0.0, 0.0] };
                add(key, *bodies, poses, &rows);
            }
        }
    }
}

impl<G: Geometry> Rollout<G> {
    /// What bodies got from others by contacts, impacts among it, in every step: one impulse for each pair \[N s\].
    ///
    /// # Errors
    /// No tape; an integrator whose contacts have no derivative of their own; a caller who stops.
    pub fn contact_impulses(&self, pairs: &[Pair], interrupt: &Interrupt) -> Result<Vec<Vec<G::Lin>>, GradientError> {
        self.check_forces()?;
        let model = self.world.model();
        let mut out = vec![vec![G::Lin::zero(); pairs.len()]; self.steps()];
        self.backwards(interrupt, |step, record| {
            record.islands.iter().flat_map(|island| &island.substeps).for_each(|substep| gather(model, substep, pairs, &mut out[step]));
        })?;
        Ok(out)
    }

    /// The adjoint of a loss that also reads impulses of contacts.
    ///
    /// # Errors
    /// As [`Rollout::backward_unless`]; an integrator whose contacts have no derivative of their own; a step that there is not.
    pub fn backward_forces(
        &self,
        cotangents: &Cotangents,
        pushes: &[Push],
        (wrt, weak): (Wrt, Weak),
        interrupt: &Interrupt,
    ) -> Result<Gradient, GradientError> {
        if pushes.is_empty() {
            return self.backward_unless(cotangents, wrt, weak, interrupt);
        }
        self.check_forces()?;
        if let Some(wrong) = pushes.iter().find(|push| push.step >= self.steps()) {
            return Err(GradientError::Length { what: "cotangents of impulses: the step", found: wrong.step, wanted: self.steps() });
        }
        if pushes.iter().any(|push| !push.bar.iter().all(|x| x.is_finite())) {
            return Err(GradientError::NotFinite { what: "cotangents of impulses" });
        }
        self.backward_sensed(cotangents, pushes, wrt, weak, interrupt)
    }

    fn check_forces(&self) -> Result<(), GradientError> {
        if self.world.model().options.scheme().by_means() {
            let instead = "\"verlet\" or \"euler\" where a loss reads forces of contacts";
            return Err(GradientError::Choice { key: "integrator", value: "energy-momentum", instead });
        }
        Ok(())
    }
}

/// Asks the program of a step for what is pushed there; without anything every road is open again.
pub(super) fn ask<G: Geometry>(program: &mut Program<G>, pushes: &[Push], step: usize) {
    let asked: Vec<_> = pushes.iter().filter(|push| push.step == step).map(|push| (push.pair, G::Lin::from_slice(&push.bar))).collect();
    program.general = !asked.is_empty();
    program.sensor = (!asked.is_empty()).then_some(Sensor { out: Block::NOWHERE, asked });
}
