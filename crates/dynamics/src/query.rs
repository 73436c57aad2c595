//! What sensors ask of a world: forces of contacts, what a step brought about, distances, rays, overlaps.

use crate::contacts::{Key, Memory, placed};
use crate::model::BodyKind;
use crate::world::World;
use carom_geometry::broadphase::Broadphase;
use carom_geometry::{Aabb, Geometry};
use carom_math::{Vector, Wrench};

/// What happened to two bodies in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happened {
    /// They push each other at its end and did not before.
    Began,
    /// They pushed each other before and do not at its end.
    Ended,
    /// They met with a speed that an impact ended, whether they then stay together or not.
    Struck,
}

impl Happened {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Happened::Began => "began",
            Happened::Ended => "ended",
            Happened::Struck => "struck",
        }
    }
}

/// A contact of two bodies that began, ended or struck in the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactEvent<G: Geometry> {
    /// What happened.
    pub kind: Happened,
    /// Bodies a and b.
    pub bodies: [usize; 2],
    /// Where, at the end of the step \[m\]: of several points of the pair the one with the greatest impulse.
    pub point: G::Lin,
    /// Unit normal there, from b to a.
    pub normal: G::Lin,
    /// Impulse on a in world axes \[N s\]: of a strike that of its impacts, otherwise all of the step.
    pub impulse: G::Lin,
}

/// What a ray met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayReport<G: Geometry> {
    /// The body.
    pub body: usize,
    /// Distance from the start of the ray \[m\].
    pub distance: f64,
    /// Where \[m\].
    pub point: G::Lin,
    /// Outward unit normal of the surface.
    pub normal: G::Lin,
}

/// One contact per pair of bodies that push each other, from the memory of contacts, which is sorted.
pub(crate) fn touching<G: Geometry>(memory: &[Memory<G>], out: &mut Vec<Key<G>>) {
    out.clear();
    for contact in memory.iter().filter(|contact| contact.active) {
        if out.last().is_none_or(|last: &Key<G>| last.bodies != contact.key.bodies) {
            out.push(contact.key);
        }
    }
}

impl<G: Geometry> World<G> {
    /// Force and torque \[N, N m\] of contacts on a body over the last step, from one other body or from all: impulse over step, world axes, about its centre
    /// of mass.
    pub fn contact_force(&self, body: usize, other: Option<usize>) -> Wrench<G> {
        let mut out = Wrench::zero();
        let Some(pose) = self.state().poses.get(body) else { return out };
        let per_step = 1.0 / self.model().step;
        for report in &self.past.reports {
            let [a, b] = report.key.bodies;
            let sign = match body {
                _ if other.is_some_and(|other| other != a && other != b) => continue,
                body if body == a => per_step,
                body if body == b => -per_step,
                _ => continue,
            };
            let force = report.impulse * sign;
            let middle = (report.contact.point_a + report.contact.point_b) * 0.5;
            out.lin += force;
            out.ang += G::torque(middle - pose.position, force);
        }
        out
    }

    /// What the last step brought about, by pair: contacts that struck, began and ended, in the order of the bodies.
    #[inline(never)]
    pub fn events(&self) -> Vec<ContactEvent<G>> {
        let mut now = Vec::new();
        touching(self.memory(), &mut now);
        let has = |list: &[Key<G>], key: &Key<G>| list.binary_search_by_key(&key.bodies, |other| other.bodies).is_ok();
        let mut out: Vec<ContactEvent<G>> = Vec::new();
        for key in now.iter().filter(|key| !has(&self.past.touched, key)) {
            out.push(self.event(Happened::Began, *key));
        }
        for key in self.past.touched.iter().filter(|key| !has(&now, key)) {
            out.push(self.event(Happened::Ended, *key));
        }
        let mut struck: Vec<Key<G>> =
            self.past.reports.iter().filter(|report| report.struck != G::Lin::zero()).map(|report| report.key).collect();
        struck.dedup_by_key(|key| key.bodies);
        out.extend(struck.into_iter().map(|key| self.event(Happened::Struck, key)));
        out.sort_by_key(|event| (event.bodies, event.kind));
        out
    }

    /// An event of a pair, at the point of its greatest impulse; `key` names a point of the pair where none had any.
    fn event(&self, kind: Happened, key: Key<G>) -> ContactEvent<G> {
        let (mut impulse, mut greatest, mut at) = (G::Lin::zero(), 0.0, key);
        for report in self.past.reports.iter().filter(|report| report.key.bodies == key.bodies) {
            let one = if kind == Happened::Struck { report.struck } else { report.impulse };
            impulse += one;
            if one.norm() > greatest {
                (greatest, at) = (one.norm(), report.key);
            }
        }
        let now = self.contact_now(&at);
        ContactEvent { kind, bodies: key.bodies, point: (now.point_a + now.point_b) * 0.5, normal: now.normal, impulse }
    }

    /// A contact at the present poses.
    pub(crate) fn contact_now(&self, key: &Key<G>) -> carom_geometry::Contact<G> {
        let ([a, b], [ca, cb]) = (key.bodies, key.colliders);
        let (model, poses) = (self.model(), &self.state().poses);
        G::evaluate(
            key.feature,
            &model.bodies[a].colliders[ca].shape,
            &placed(model, a, ca, &poses[a]),
            &model.bodies[b].colliders[cb].shape,
            &placed(model, b, cb, &poses[b]),
        )
    }

    /// Distance of two bodies \[m\] at the present state, whether they may touch or not: exact where they are apart, minus the depth where they overlap,
    /// infinite where one has no shape or both are surfaces without volume.
    #[inline(never)]
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        self.separation(a, b, f64::INFINITY)
    }

    fn separation(&self, a: usize, b: usize, cutoff: f64) -> f64 {
        let (model, poses) = (self.model(), &self.state().poses);
        let mut least = f64::INFINITY;
        for (ca, one) in model.bodies[a].colliders.iter().enumerate() {
            for (cb, two) in model.bodies[b].colliders.iter().enumerate() {
                let (pose_a, pose_b) = (placed(model, a, ca, &poses[a]), placed(model, b, cb, &poses[b]));
                least = least.min(G::separation(&one.shape, &pose_a, &two.shape, &pose_b, cutoff.min(least)));
            }
        }
        least
    }

    /// What a ray first meets at the present state, but for the bodies to `ignore`: `None` where it meets nothing, or has no direction.
    #[inline(never)]
    pub fn ray(&self, origin: G::Lin, direction: G::Lin, ignore: &[usize]) -> Option<RayReport<G>> {
        let length = direction.norm();
        if !(length > 0.0 && length.is_finite() && origin.is_finite()) {
            return None;
        }
        let unit = direction * (1.0 / length);
        let model = self.model();
        let mut best: Option<RayReport<G>> = None;
        for (body, pose) in self.state().poses.iter().enumerate().filter(|(body, _)| !ignore.contains(body)) {
            for (index, collider) in model.bodies[body].colliders.iter().enumerate() {
                let hit = G::ray(&collider.shape, &placed(model, body, index, pose), origin, unit);
                if let Some(hit) = hit.filter(|hit| best.is_none_or(|best| hit.distance < best.distance)) {
                    best = Some(RayReport { body, distance: hit.distance, point: origin + unit * hit.distance, normal: hit.normal });
                }
            }
        }
        best
    }

    /// Pairs that may touch and overlap at the present state, with their depths \[m\], the deepest first.
    #[inline(never)]
    pub fn overlaps(&self) -> Vec<([usize; 2], f64)> {
        // What overlaps has boxes that do.
        let bodies = &self.model().bodies;
        let bounds = |body: usize| {
            let pose = &self.state().poses[body];
            let boxes = bodies[body].colliders.iter().map(|collider| G::bounds(&collider.shape, &pose.compose(&collider.local)));
            boxes.reduce(|all, one| all.union(&one)).unwrap_or_else(|| Aabb::of_point(pose.position))
        };
        let boxes: Vec<Aabb<G>> = self.search.shaped.iter().map(|&body| bounds(body)).collect();
        let mut pairs = Vec::new();
        let mut out = Vec::new();
        Broadphase::new().pairs(
            &boxes,
            |i, j| self.search.table.collide(self.model(), self.search.shaped[i], self.search.shaped[j]),
            &mut pairs,
        );
        for (a, b) in pairs.into_iter().map(|(i, j)| (self.search.shaped[i], self.search.shaped[j])) {
            let depth = -self.separation(a, b, 0.0);
            if depth > 0.0 && [a, b].iter().any(|&body| bodies[body].kind != BodyKind::Static) {
                out.push(([a, b], depth));
            }
        }
        out.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        out
    }

    /// Deepest overlap \[m\] at the present state over all pairs that may touch: 0 or negative.
    pub fn deepest(&self) -> f64 {
        self.overlaps().first().map_or(0.0, |(_, depth)| -depth)
    }
}
