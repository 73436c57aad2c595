//! Stage 1: contacts at a pose. A set of pairs from the boxes, then gap, normal and arms of each feature pair, theory (2.1).

use crate::island::Island;
use crate::model::Model;
use carom_geometry::{Contact, Geometry};
use carom_math::{Pose, Vector};

/// Marks a contact without a row.
pub(crate) const NO_GROUP: usize = usize::MAX;

/// Names a contact from one step to the next: bodies and colliders of the model, and the pair of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key<G: Geometry> {
    /// Bodies a and b in the model.
    pub bodies: [usize; 2],
    /// Colliders of a and b.
    pub colliders: [usize; 2],
    /// Features of a and b.
    pub feature: G::Feature,
}

/// A contact within the margin at the current pose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near<G: Geometry> {
    /// Its name.
    pub key: Key<G>,
    /// Gap, normal and witness points.
    pub contact: Contact<G>,
    /// Which pair of the island.
    pub pair: usize,
    /// Local indexes of a and b.
    pub bodies: [usize; 2],
    /// Gap below the touching tolerance.
    pub touching: bool,
    /// Its row was active at the end of the last substep.
    pub active: bool,
    /// Added because it would be crossed slowly within the move.
    pub extra: bool,
    /// It had a row in stage 5 of the last move.
    pub had_row: bool,
    /// It takes part in stage 7.
    pub held: bool,
    /// Its rows in the assembly, or `NO_GROUP`.
    pub group: usize,
    /// Impulse on a in world axes, last seen in stages 5 and 7.
    pub warm: [G::Lin; 2],
}

/// What is remembered of a contact between substeps and steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory<G: Geometry> {
    /// Its name.
    pub key: Key<G>,
    /// Its row was active.
    pub active: bool,
    /// It had a row in stage 5.
    pub had_row: bool,
    /// Impulse on a in world axes, in stages 5 and 7.
    pub warm: [G::Lin; 2],
}

/// A contact of the last step as a user sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<G: Geometry> {
    /// Its name.
    pub key: Key<G>,
    /// Gap, normal and points, at the end of the step.
    pub contact: Contact<G>,
    /// Impulse on a in world axes, summed over impacts and substeps \[N s\].
    pub impulse: G::Lin,
    /// The part of it that impacts gave.
    pub struck: G::Lin,
}

/// The pose of a collider in the world.
#[inline]
pub(crate) fn placed<G: Geometry>(model: &Model<G>, body: usize, collider: usize, pose: &Pose<G>) -> Pose<G> {
    pose.compose(&model.bodies[body].colliders[collider].local)
}

/// Arms from two centres of mass to the middle of the witness points: both forces act at one point, so that friction across a gap turns
/// nothing; along the normal the middle is as good as either.
#[inline]
pub(crate) fn arms<G: Geometry>(contact: &Contact<G>, centres: [G::Lin; 2]) -> [G::Lin; 2] {
    let middle = (contact.point_a + contact.point_b) * 0.5;
    centres.map(|centre| middle - centre)
}

impl<G: Geometry> Near<G> {
    /// A contact that is to have rows before it touches.
    pub fn extra(key: Key<G>, contact: Contact<G>, pair: usize, bodies: [usize; 2]) -> Self {
        Near {
            key,
            contact,
            pair,
            bodies,
            touching: false,
            active: false,
            extra: true,
            had_row: false,
            held: false,
            group: NO_GROUP,
            warm: [G::Lin::zero(); 2],
        }
    }
    /// World arms from the centres of mass to the contact.
    #[inline]
    pub fn arms(&self, poses: &[Pose<G>]) -> [G::Lin; 2] {
        arms(&self.contact, self.bodies.map(|b| poses[b].position))
    }
    /// The same features at other poses.
    pub fn at(&self, model: &Model<G>, poses: &[Pose<G>]) -> Contact<G> {
        let [a, b] = self.key.bodies;
        let [ca, cb] = self.key.colliders;
        G::evaluate(
            self.key.feature,
            &model.bodies[a].colliders[ca].shape,
            &placed(model, a, ca, &poses[self.bodies[0]]),
            &model.bodies[b].colliders[cb].shape,
            &placed(model, b, cb, &poses[self.bodies[1]]),
        )
    }
}

/// Finds every contact of the island within the margin at its current poses, and what is remembered of each.
pub(crate) fn detect<G: Geometry>(island: &mut Island<G>, model: &Model<G>) {
    island.touch.near.clear();
    // Contacts come in the order in which they were remembered, nearly always.
    let mut next = 0;
    for index in 0..island.links.pairs.len() {
        let pair = island.links.pairs[index];
        let [a, b] = pair.bodies;
        let bodies = [island.members.bodies[a].index, island.members.bodies[b].index];
        for ca in 0..model.bodies[bodies[0]].colliders.len() {
            let pose_a = placed(model, bodies[0], ca, &island.motion.poses[a]);
            for cb in 0..model.bodies[bodies[1]].colliders.len() {
                let pose_b = placed(model, bodies[1], cb, &island.motion.poses[b]);
                let reach = model.tolerances.margin * pair.size;
                island.touch.manifold.clear();
                let shapes = [&model.bodies[bodies[0]].colliders[ca].shape, &model.bodies[bodies[1]].colliders[cb].shape];
                G::contacts(shapes[0], &pose_a, shapes[1], &pose_b, reach, &mut island.touch.manifold);
                for contact in island.touch.manifold.iter() {
                    let key = Key { bodies, colliders: [ca, cb], feature: contact.feature };
                    let mut near = Near {
                        key,
                        contact: *contact,
                        pair: index,
                        bodies: [a, b],
                        touching: contact.gap <= model.tolerances.touch * pair.size,
                        active: false,
                        extra: false,
                        had_row: false,
                        held: false,
                        group: NO_GROUP,
                        warm: [G::Lin::zero(); 2],
                    };
                    let known = island.touch.memory.get(next).is_some_and(|memory| memory.key == key);
                    let found = if known { Ok(next) } else { island.touch.memory.binary_search_by(|m| m.key.cmp(&key)) };
                    if let Ok(found) = found {
                        next = found + 1;
                        let memory = &island.touch.memory[found];
                        near.active = memory.active;
                        near.had_row = memory.had_row;
                        near.warm = memory.warm;
                    }
                    island.touch.near.push(near);
                }
            }
        }
    }
    island.touch.detected = island.touch.near.len();
}

/// Takes the contacts that the last step ended with as those of the next: what detection would find anew at the same poses, with the same memory.
pub(crate) fn recall<G: Geometry>(island: &mut Island<G>) {
    island.touch.near.truncate(island.touch.detected);
    for near in &mut island.touch.near {
        (near.extra, near.held) = (false, false);
        if !(near.active || near.had_row) {
            near.warm = [G::Lin::zero(); 2];
        }
    }
}

/// Keeps what the next detection should know of the present contacts.
pub(crate) fn remember<G: Geometry>(near: &[Near<G>], memory: &mut Vec<Memory<G>>) {
    memory.clear();
    for contact in near {
        if contact.active || contact.had_row {
            memory.push(Memory { key: contact.key, active: contact.active, had_row: contact.had_row, warm: contact.warm });
        }
    }
    memory.sort_unstable_by_key(|x| x.key);
}

/// Adds an impulse on body a to the account of a contact.
pub(crate) fn account<G: Geometry>(reports: &mut Vec<Report<G>>, near: &Near<G>, impulse: G::Lin) {
    if reports.last().is_none_or(|last| last.key < near.key) {
        reports.push(Report { key: near.key, contact: near.contact, impulse, struck: G::Lin::zero() });
        return;
    }
    match reports.binary_search_by(|r| r.key.cmp(&near.key)) {
        Ok(found) => {
            reports[found].impulse += impulse;
            reports[found].contact = near.contact;
        }
        Err(place) => reports.insert(place, Report { key: near.key, contact: near.contact, impulse, struck: G::Lin::zero() }),
    }
}

/// The same for the impulse of an impact.
pub(crate) fn account_strike<G: Geometry>(reports: &mut Vec<Report<G>>, near: &Near<G>, impulse: G::Lin) {
    account(reports, near, impulse);
    if let Ok(found) = reports.binary_search_by(|r| r.key.cmp(&near.key)) {
        reports[found].struck += impulse;
    }
}
