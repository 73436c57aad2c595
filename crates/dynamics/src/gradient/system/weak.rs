//! What a derivative is where a row is weakly active: at a switch between pushing and parting, sticking and sliding, free and bounded,
//! theory (18.6)-(18.8).

use crate::combine::Coefficient;
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows::along;
use crate::gradient::rows::friction_mode::NEAR_THE_BOUND;
use crate::gradient::rows::friction_rows::Speed;
use crate::gradient::rows::smoothed_rows;
use crate::gradient::schedule::program::Program;
use crate::gradient::schedule::stage::{Stage, Switches};
use crate::gradient::system::{Residual, Sides, System};
use crate::gradient::tape::record::{Pushed, RowSource, Solved, Substep};
use crate::integrate::Length;
use carom_geometry::Geometry;
use std::borrow::Cow;

/// What the derivative is at rows that stand at a switch, where the motion has two. The motion itself is never changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Weak {
    /// That of the side on which the solve ended: a contact without any impulse is open, friction at its limit slides.
    #[default]
    AsSolved,
    /// Touching, sticking, free within its bounds: one of the two one-sided derivatives.
    Active,
    /// Open, sliding, at its bound: the other.
    Inactive,
    /// The mean of both, taken over the whole run.
    Average,
    /// Least squares between both, in the norm of the kinetic energy.
    MinNorm,
    /// Every complementarity keeps the product `kappa` \[J\] of impulse and speed, so that contacts are felt before they touch: biased in
    /// proportion to kappa, smooth across switches.
    Smoothed {
        /// The product \[J\], above 0.
        kappa: f64,
    },
}

impl Weak {
    /// The choices that have a name alone.
    pub const NAMES: [&'static str; 5] = ["as-solved", "active", "inactive", "average", "minnorm"];

    /// The choice of a name.
    pub fn named(name: &str) -> Option<Weak> {
        let choices = [Weak::AsSolved, Weak::Active, Weak::Inactive, Weak::Average, Weak::MinNorm];
        Self::NAMES.iter().position(|known| *known == name).map(|place| choices[place])
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Weak::AsSolved => Self::NAMES[0],
            Weak::Active => Self::NAMES[1],
            Weak::Inactive => Self::NAMES[2],
            Weak::Average => Self::NAMES[3],
            Weak::MinNorm => Self::NAMES[4],
            Weak::Smoothed { .. } => "smoothed",
        }
    }

    /// The product of smoothed complementarity \[J\], where it is smoothed.
    pub fn kappa(&self) -> Option<f64> {
        match self {
            Weak::Smoothed { kappa } => Some(*kappa),
            _ => None,
        }
    }
}

impl std::fmt::Display for Weak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Weak::AsSolved => f.write_str("decisions as solved"),
            Weak::Active => f.write_str("weak contacts active"),
            Weak::Inactive => f.write_str("weak contacts inactive"),
            Weak::Average => f.write_str("weak contacts averaged"),
            Weak::MinNorm => f.write_str("weak contacts by least squares"),
            Weak::Smoothed { kappa } => write!(f, "smoothed, kappa = {kappa:e} J"),
        }
    }
}

/// The substep with the rows that a choice counts: those at a switch added or left out, with smoothing everything that is near.
pub(crate) fn chosen<G: Geometry>(weak: Weak, substep: &Substep<G>) -> Cow<'_, Substep<G>> {
    // The gap that ends the move is zero there, and what strikes is not smoothed.
    let strikes = |group: &Pushed<G>| match (substep.rule, group.source) {
        (Length::Event(event, _), RowSource::Contact { key, .. }) => key == event,
        _ => false,
    };
    let adds = |group: &Pushed<G>| match weak {
        Weak::Active | Weak::MinNorm => group.weak,
        // Limits of tendons stay as solved.
        Weak::Smoothed { .. } => !strikes(group) && !matches!(group.source, RowSource::TendonLimit { .. }),
        _ => false,
    };
    let drops = |group: &Pushed<G>| weak == Weak::Inactive && group.weak;
    let changes = |solved: &Solved<G>| solved.idle.iter().any(adds) || solved.pushed.iter().any(drops);
    if !changes(&substep.hold) && !changes(&substep.finish) {
        return Cow::Borrowed(substep);
    }
    let mut own = substep.clone();
    for solved in [&mut own.hold, &mut own.finish] {
        solved.pushed.retain(|group| !drops(group));
        let idle = std::mem::take(&mut solved.idle);
        solved.pushed.extend(idle.into_iter().filter(adds));
    }
    Cow::Owned(own)
}

impl<G: Geometry> Stage<'_, G> {
    /// Own mobility of a row: the speed of a unit impulse along it [1/kg and the like].
    pub fn mobility(&self, row: &Sides<G>) -> f64 {
        row.iter().map(|(body, wrench)| wrench.power(&self.bodies[*body].response(wrench))).sum()
    }
}

/// Closes a one-sided row without friction that was just pushed, beside its residual.
pub(crate) fn close_one_sided<G: Geometry>(stage: &Stage<G>, group: &Pushed<G>, column: &Sides<G>, system: &mut System<G>) {
    let row = system.count() - 1;
    match stage.weak {
        // dw + a dl = 0, theory (18.8).
        Weak::MinNorm if group.weak => system.entry(row, row, stage.mobility(column)),
        Weak::Smoothed { .. } => system.smooth(smoothed_rows::one_sided(row, group)),
        _ => {}
    }
}

/// The same for the normal row of a contact with friction: smoothing takes it together with its friction rows.
pub(crate) fn close_normal<G: Geometry>(stage: &Stage<G>, group: &Pushed<G>, column: &Sides<G>, system: &mut System<G>) {
    if stage.weak.kappa().is_none() {
        close_one_sided(stage, group, column, system);
    }
}

/// Friction rows of a contact at a switch, or of any contact where it is smoothed; false where the choice is the solve's.
pub(crate) fn close_friction<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    (bodies, friction): ([usize; 2], f64),
    group: &Pushed<G>,
    (first, start): (usize, &ContactPoint<G>),
    speeds: &[Option<Speed<G>>; 2],
    system: &mut System<G>,
    switches: &mut Switches,
) -> bool {
    let impulses = &group.impulses;
    let tangents = start.tangents();
    let size = (0..G::TANGENTS).map(|k| impulses[1 + k] * impulses[1 + k]).sum::<f64>().sqrt();
    let speed = speeds.iter().flatten().map(|s| s.value * s.value).sum::<f64>().sqrt();
    let bound = friction * impulses[0];
    let slow = NEAR_THE_BOUND * stage.model.tolerances.rest_speed;
    let at_limit = size >= bound * (1.0 - NEAR_THE_BOUND) && speed <= slow;
    if let Weak::Smoothed { .. } = stage.weak {
        switches.friction += usize::from(at_limit && impulses[0] > 0.0);
        // Rows that stick; what lets them slip comes with the smoothing.
        let mut slip = [0.0; 2];
        for (k, own) in speeds.iter().enumerate() {
            let Some(own) = own else { continue };
            program.copy(system.next(), own.block);
            system.push(own.row, along(start, tangents[k]));
            slip[k] = own.value;
        }
        system.smooth(smoothed_rows::contact(first, group, friction, slip, stage.coefficient(bodies, Coefficient::Friction)));
        return true;
    }
    if !at_limit && !group.weak || matches!(stage.weak, Weak::AsSolved | Weak::Average) {
        return false;
    }
    switches.friction += usize::from(at_limit && impulses[0] > 0.0);
    // Direction of slip: against the pull, or where there is none, as it slips.
    let toward = [0, 1].map(|k| match &speeds[k] {
        Some(_) if size > 0.0 => -impulses[1 + k] / size,
        Some(own) if speed > 0.0 => own.value / speed,
        _ => 0.0,
    });
    // A contact without load that slips goes on to slip, on either side of its switch.
    let slips = speed > slow;
    let sticks = !slips && (stage.weak == Weak::Active || size == 0.0);
    let both = !slips && !sticks && stage.weak == Weak::MinNorm;
    for k in 0..G::TANGENTS {
        let out = system.next();
        let column = along(start, tangents[k]);
        let mut row = Residual::zero();
        if let (true, Some(own)) = (sticks || both, &speeds[k]) {
            program.copy(out, own.block);
            row = own.row;
        }
        if !sticks {
            // e . (dl_t + e d(mu l_n)) along the slip, theory (18.6), weighed with the mobility where both sides count.
            let weight = if both { stage.mobility(&column) } else { 1.0 };
            let along_slip = |l: usize| if both { toward[k] * toward[l] } else { f64::from(u8::from(k == l)) };
            for l in 0..G::TANGENTS {
                system.entry(first + 1 + k, first + 1 + l, weight * along_slip(l));
            }
            system.entry(first + 1 + k, first, weight * friction * toward[k]);
            for (block, part) in stage.coefficient(bodies, Coefficient::Friction) {
                program.scaled(out, block, weight * part * impulses[0] * toward[k]);
            }
        }
        if !sticks && !both && G::TANGENTS > 1 {
            // Across the slip: the pull turns with it, (17.16); a slip that has not begun turns at once.
            for (l, other) in speeds.iter().enumerate() {
                let Some(other) = other else { continue };
                let turn = f64::from(u8::from(l == k)) - toward[k] * toward[l];
                let factor = bound * turn / speed.max(slow);
                program.scaled(out, other.block, factor);
                row.add(factor, &other.row);
            }
        }
        system.push(row, column);
    }
    true
}
