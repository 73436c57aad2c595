//! Derivatives of what inertia does: the response to impulses, the implicit end rate, the move, the loads of a body, theory (17.5)-(17.9).

mod displacement;
pub(crate) mod forward_rate;
mod implicit_rate;
mod load;
pub(crate) mod loads;
mod response;

pub(crate) use displacement::{AnswerMap, MoveMap, answered, carrier, displaced, moved};
pub(crate) use implicit_rate::{ImplicitRate, RateMap, Unfolded};
pub(crate) use load::{LoadMap, LoadSlots};
pub(crate) use response::{Loaded, ResponseMap, kicked, linear_response, respond, response};

use super::schedule::program::Block;
use super::slots::{cross, inertia};
use carom_geometry::Geometry;

/// Slots of the mass and the inertia of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MassBlocks {
    /// Mass.
    pub mass: Block,
    /// Inertia in the body frame.
    pub inertia: Block,
}

/// dI w for a turn xi of the body, theory (17.5): xi x I w - I (xi x w).
#[inline]
pub(crate) fn turned<G: Geometry>(inertia: G::Inertia, xi: G::Ang, rate: G::Ang) -> G::Ang {
    cross::<G>(xi, G::inertia_apply(inertia, rate)) - G::inertia_apply(inertia, cross::<G>(xi, rate))
}

/// The transpose of `turned` in xi: I w x c - w x I c.
#[inline]
pub(crate) fn turned_transpose<G: Geometry>(inertia: G::Inertia, cotangent: G::Ang, rate: G::Ang) -> G::Ang {
    cross::<G>(G::inertia_apply(inertia, rate), cotangent) - cross::<G>(rate, G::inertia_apply(inertia, cotangent))
}

/// R dI R' w for a change of the inertia in the body frame.
#[inline]
pub(crate) fn changed<G: Geometry>(rotation: G::Rot, upper: &[f64], rate: G::Ang) -> G::Ang {
    G::rotate_rate(rotation, G::inertia_apply(inertia::<G>(upper), G::unrotate_rate(rotation, rate)))
}

/// The transpose of `changed` in dI: upper += factor (R'c) (R'w)', both halves of the symmetric matrix counted.
#[inline]
pub(crate) fn changed_transpose<G: Geometry>(rotation: G::Rot, cotangent: G::Ang, rate: G::Ang, factor: f64, upper: &mut [f64]) {
    let (u, v) = (G::unrotate_rate(rotation, cotangent), G::unrotate_rate(rotation, rate));
    let mut next = 0;
    for i in 0..G::ANG {
        for j in i..G::ANG {
            let entry = if i == j { u[i] * v[i] } else { u[i] * v[j] + u[j] * v[i] };
            upper[next] += factor * entry;
            next += 1;
        }
    }
}

/// x\[block\] += values.
#[inline]
pub(crate) fn add(x: &mut [f64], block: Block, values: &[f64]) {
    x[block.range()].iter_mut().zip(values).for_each(|(x, v)| *x += v);
}

/// The linear and the angular half of the slots of a body.
#[inline]
fn halves<G: Geometry>(block: Block) -> (Block, Block) {
    (block.part(0, G::DIM), block.part(G::DIM, G::ANG))
}
