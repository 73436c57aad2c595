//! Friction as residuals: a sticking contact does not slip, a sliding one pushes against its slip with all it has, theory (17.16).

use super::contact_point::ContactPoint;
use super::contact_rows::along;
use super::parameters::Coefficient;
use super::program::{Block, Program};
use super::record::{AT_THE_BOUND, Pushed};
use super::stage::{Stage, Switches};
use super::system::{Residual, System};
use super::weak::close_friction;
use carom_geometry::Geometry;

/// An impulse within this fraction of its bound, or a slip slower than this fraction of the velocities, is near the switch.
pub(crate) const NEAR_THE_BOUND: f64 = 1e-6;

/// A tangential speed of a contact: its slot, its value and its covectors.
pub(crate) struct Speed<G: Geometry> {
    /// Slot.
    pub block: Block,
    /// Value [m/s].
    pub value: f64,
    /// Covectors.
    pub row: Residual<G>,
}

/// Friction rows of a contact whose normal row is `first`: a sticking one does not slip; a sliding one pushes against its slip with all it
/// has, theory (17.16).
pub(crate) fn friction_rows<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    bodies: [usize; 2],
    friction: f64,
    group: &Pushed<G>,
    first: usize,
    start: &ContactPoint<G>,
    speeds: [Option<Speed<G>>; 2],
    system: &mut System<G>,
    switches: &mut Switches,
) {
    if close_friction(program, stage, (bodies, friction), group, (first, start), &speeds, system, switches) {
        return;
    }
    let impulses = &group.impulses;
    let tangents = start.tangents();
    let bound = friction * impulses[0];
    let size = (0..G::TANGENTS).map(|k| impulses[1 + k] * impulses[1 + k]).sum::<f64>().sqrt();
    let slides = size >= bound * (1.0 - AT_THE_BOUND);
    let speed = speeds.iter().flatten().map(|s| s.value * s.value).sum::<f64>().sqrt();
    let near = size >= bound * (1.0 - NEAR_THE_BOUND) && speed <= NEAR_THE_BOUND * stage.model.tolerances.rest_speed;
    switches.friction += usize::from(near);
    for k in 0..G::TANGENTS {
        let out = system.next();
        let mut row = Residual::zero();
        if slides {
            // l_k + mu l_n u_k/|u| = 0, where u/|u| = -l_t/|l_t|.
            let toward = |i: usize| -impulses[1 + i] / size;
            system.entry(first + 1 + k, first + 1 + k, 1.0);
            system.entry(first + 1 + k, first, friction * toward(k));
            for (block, weight) in stage.coefficient(bodies, Coefficient::Friction) {
                program.scaled(out, block, weight * impulses[0] * toward(k));
            }
            if G::TANGENTS > 1 && speed > 0.0 {
                for (i, other) in speeds.iter().enumerate() {
                    let Some(other) = other else { continue };
                    let turn = f64::from(u8::from(i == k)) - toward(k) * toward(i);
                    let factor = bound * turn / speed;
                    program.scaled(out, other.block, factor);
                    row.add(factor, &other.row);
                }
            }
        } else if let Some(own) = &speeds[k] {
            program.copy(out, own.block);
            row = own.row;
        }
        system.push(row, along(start, tangents[k]));
    }
}
