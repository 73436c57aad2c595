//! Rotors of joints in a step, theory (21.1)-(21.3): a body of one degree of freedom that turns with the free coordinate of a joint.
//!
//! Its row J_r v - rho = 0 is the last of its joint. Eliminated, the rotor leaves 1/I on the diagonal of that row and asks for the rate that it had before the
//! impulse: J_r v + y/I = rho. Every rate is taken with the row of its own pose, so that nothing of the turning of rows is lost.

use crate::island::parts::{Links, Motion, System};
use crate::island::{Context, Island};
use carom_geometry::Geometry;

/// The rotor of a joint of an island.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rotor {
    /// Its row among the equality rows.
    pub row: usize,
    /// Its joint among those with rows.
    pub node: usize,
    /// 1/I [1/(kg m^2) or 1/kg].
    pub inverse: f64,
    /// Its rate before the impulse of its row [rad/s or m/s].
    pub rate: f64,
    /// The coordinate at the start of the move at hand.
    pub start: f64,
}

impl Rotor {
    /// The rate after an impulse along its row.
    #[inline]
    pub fn after(&self, impulse: f64) -> f64 {
        self.rate - impulse * self.inverse
    }
}

/// Rates and coordinates at the start of a move, before loads kick the velocities.
pub(crate) fn begin_move<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) {
    let Island { links: Links { joints, .. }, motion: Motion { poses, twists, .. }, system: System { assembly, .. }, .. } = island;
    if assembly.equalities.rotors.is_empty() {
        return;
    }
    assembly.equalities.spin_rotors(twists);
    for index in 0..assembly.equalities.rotors.len() {
        let joint = &joints[assembly.equalities.owner(assembly.equalities.rotors[index].node)];
        let [a, b] = joint.bodies;
        assembly.equalities.rotors[index].start = ctx.model.joints[joint.index].coordinate(&poses[a], &poses[b]);
    }
}

/// Takes the rates of the move, which are those at its end before rows act there.
pub(crate) fn end_move<G: Geometry>(island: &mut Island<G>) {
    let Island { system: System { assembly, solve, .. }, .. } = island;
    for rotor in &mut assembly.equalities.rotors {
        rotor.rate = rotor.after(solve.reaction[rotor.row]);
    }
}
