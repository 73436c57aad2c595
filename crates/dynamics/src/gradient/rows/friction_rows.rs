//! Friction as residuals: a sticking contact does not slip, a sliding one pushes against its slip with all it has, theory (17.16).

use super::contact_point::ContactPoint;
use super::contact_rows::along;
use super::friction_mode::{FrictionMode, NEAR_THE_BOUND, measures};
use crate::combine::Coefficient;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::{Stage, Switches};
use crate::gradient::system::weak::close_friction;
use crate::gradient::system::{Residual, System};
use crate::gradient::tape::record::Pushed;
use carom_geometry::Geometry;
use carom_solve::status::side_frame;

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
/// has, theory (17.16); on a pyramid it is held at a corner or moves along a side, theory (17.45).
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
    let tangents = start.tangents();
    let Pushed { impulses, friction: mode, .. } = group;
    let bound = friction * impulses[0];
    let size = impulses[1].hypot(impulses[2]);
    let slip = [0, 1].map(|k: usize| speeds[k].as_ref().map_or(0.0, |s| s.value));
    let speed = slip[0].hypot(slip[1]);
    let slow = NEAR_THE_BOUND * stage.model.tolerances.rest_speed;
    switches.friction += usize::from(mode.near(impulses, friction, slip, slow, stage.model.options.friction_cone));
    for k in 0..G::TANGENTS {
        let out = system.next();
        let mut row = Residual::zero();
        let mut bounded = |system: &mut System<G>, weights: [f64; 2], share: f64| {
            // weights . l_t = share mu l_n.
            for i in 0..G::TANGENTS {
                system.entry(first + 1 + k, first + 1 + i, weights[i]);
            }
            system.entry(first + 1 + k, first, -share * friction);
            for (block, weight) in stage.coefficient(bodies, Coefficient::Friction) {
                program.scaled(out, block, -weight * share * impulses[0]);
            }
        };
        let own = |k: usize| [0, 1].map(|i| f64::from(u8::from(i == k)));
        match *mode {
            FrictionMode::Slides => {
                // l_k + mu l_n u_k/|u| = 0, where u/|u| = -l_t/|l_t|.
                let toward = |i: usize| -impulses[1 + i] / size;
                bounded(system, own(k), -toward(k));
                if G::TANGENTS > 1 && speed > 0.0 {
                    for (i, other) in speeds.iter().enumerate() {
                        let Some(other) = other else { continue };
                        let turn = f64::from(u8::from(i == k)) - toward(k) * toward(i);
                        let factor = bound * turn / speed;
                        program.scaled(out, other.block, factor);
                        row.add(factor, &other.row);
                    }
                }
            }
            FrictionMode::Corner(corner, edges) => {
                let (sin, cos) = (corner as f64 * std::f64::consts::TAU / edges as f64).sin_cos();
                bounded(system, own(k), [cos, sin][k]);
            }
            FrictionMode::Side(side, edges) => {
                let (outward, within) = side_frame(side, edges);
                if k == 0 {
                    bounded(system, outward, measures(edges).0);
                } else {
                    for (weight, other) in within.iter().zip(speeds.iter().flatten()) {
                        program.scaled(out, other.block, *weight);
                        row.add(*weight, &other.row);
                    }
                }
            }
            FrictionMode::Sticks => {
                if let Some(own) = &speeds[k] {
                    program.copy(out, own.block);
                    row = own.row;
                }
            }
        }
        system.push(row, along(start, tangents[k]));
    }
}
