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
