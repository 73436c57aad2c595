//! Fixed tendons, theory (21.14)-(21.16): a sum of joint coordinates that limits bound and a spring with a damper pulls back, instead of being held.
//!
//! Its row reaches as many bodies as its joints have. A limit, and a spring that is too stiff to be a load, is one of the rows that contacts are solved with: its
//! line there stands between the world and itself, and what it does to bodies is found here.

use crate::constraints::{Joint, Pull};
use crate::coupling::{Coupling, LocalTie};
use crate::island::Island;
use crate::joint_rows::JointRows;
use crate::line::Line;
use crate::model::{BodyKind, Model};
use crate::predict::Instant;
use crate::state::State;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};
use std::f64::consts::TAU;

/// What a tendon does to the sum of its coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tendon {
    /// Bounds of the sum \[rad or m\].
    pub limits: Option<[f64; 2]>,
    /// Stiffness of the spring that rests at the offset [N m/rad or N/m].
    pub stiffness: f64,
    /// Damping of its rate [N m s/rad or N s/m].
    pub damping: f64,
}

impl Tendon {
    /// The key that is wrong, and why.
    pub(crate) fn fault(&self) -> Option<(&'static str, &'static str)> {
        let number = |x: f64| x.is_finite() && x >= 0.0;
        match self.limits {
            Some([low, high]) if !(low.is_finite() && high.is_finite() && low <= high) => {
                Some(("limits", "needs two finite numbers, the lower first"))
            }
            _ if !number(self.stiffness) => Some(("stiffness", "needs a finite number that is not negative")),
            _ if !number(self.damping) => Some(("damping", "needs a finite number that is not negative")),
            _ => None,
        }
    }
    /// Whether anything pulls.
    pub(crate) fn pulls(&self) -> bool {
        self.stiffness > 0.0 || self.damping > 0.0
    }
    /// Stored energy \[J\] of a stretch.
    pub(crate) fn energy(&self, stretch: f64) -> f64 {
        0.5 * self.stiffness * stretch * stretch
    }
}

/// The row of a tendon of an island in a list of rows over two bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AlongTendon {
    /// Which tendon of the island.
    pub tendon: u32,
    /// Its negative is meant: what shortens it.
    pub against: bool,
}

impl AlongTendon {
    /// 1 or -1.
    pub fn sign(self) -> f64 {
        if self.against { -1.0 } else { 1.0 }
    }
}

impl LocalTie {
    /// Whether a tendon is a load at one end of a move.
    pub(crate) fn is_load(&self, tendon: &Tendon, instant: Instant) -> bool {
        tendon.pulls() && !self.stiff && (instant == Instant::Start || tendon.damping == 0.0)
    }
}

impl Coupling {
    /// How far the sum is above its offset, with the turns that a state has counted.
    pub(crate) fn stretch<G: Geometry>(&self, model: &Model<G>, state: &State<G>) -> f64 {
        let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |body| state.poses[body]);
        self.error(|joint| {
            let turns = if G::ANG > 1 { state.turns.get(joint).copied().unwrap_or(0) } else { 0 };
            let [a, b] = model.joints[joint].bodies.map(pose);
            model.joints[joint].coordinate(&a, &b) + TAU * f64::from(turns)
        })
    }
    /// Whether its spring is too stiff, or its damper too strong, to be a load at the start of a step, theory (21.15).
    pub(crate) fn is_stiff<G: Geometry>(&self, model: &Model<G>) -> bool {
        let Some(tendon) = self.tendon else { return false };
        let lightness: f64 = self.terms.iter().map(|&(joint, c)| c.abs() / least_inertia(model, &model.joints[joint]).sqrt()).sum();
        model.step * (model.step * tendon.stiffness + tendon.damping) * lightness * lightness > 1.0
    }
}

/// The least inertia [kg m^2 or kg] that the coordinate of a joint may have: that of its rotor and its two bodies alone, at any pose.
pub(crate) fn least_inertia<G: Geometry>(model: &Model<G>, joint: &Joint<G>) -> f64 {
    let mut inverse = 0.0;
    for (side, body) in joint.bodies.iter().enumerate() {
        let Some(body) = body.map(|body| &model.bodies[body]).filter(|body| body.kind == BodyKind::Dynamic) else { continue };
        inverse += if !joint.is_angular() {
            1.0 / body.mass
        } else {
            let mut axis = G::Ang::zero();
            axis[0] = 1.0;
            if G::ANG > 1 {
                axis = G::Ang::from_slice(joint.axes[side].as_slice());
            }
            G::inertia_invert(body.inertia).map_or(0.0, |inverse| axis.dot(G::inertia_apply(inverse, axis)))
        };
    }
    joint.armature + if inverse > 0.0 { 1.0 / inverse } else { 0.0 }
}

impl<G: Geometry> Line<G> {
    /// The row of a tendon.
    pub fn of_tendon(along: AlongTendon) -> Self {
        Line { bodies: [0; 2], row: crate::constraints::Row::zero(), response: [Twist::zero(); 2], tendon: Some(along) }
    }
}

impl<G: Geometry> JointRows<G> {
    /// Whether rows reach more than the two bodies of a joint.
    pub fn tied(&self) -> bool {
        !self.ties.is_empty() || !self.tendons.is_empty()
    }
    /// What the line of a tendon does to each of its bodies; nothing for other lines.
    #[inline]
    pub fn tendon_sides(&self, line: &Line<G>, mut visit: impl FnMut(usize, Wrench<G>)) {
        let Some(along) = line.tendon else { return };
        for (body, wrench) in self.tendons.sides_of(along.tendon as usize) {
            visit(*body, Wrench::zero().plus(along.sign(), *wrench));
        }
    }
    /// J v of any line.
    #[inline]
    pub fn line_speed(&self, line: &Line<G>, twists: &[Twist<G>]) -> f64 {
        let mut sum = line.speed(twists);
        self.tendon_sides(line, |body, wrench| sum += wrench.power(&twists[body]));
        sum
    }
    /// J M^-1 J' of any line with itself.
    #[inline]
    pub fn line_answer(&self, line: &Line<G>) -> f64 {
        let mut sum = line.couple(line);
        self.tendon_sides(line, |body, wrench| sum += wrench.power(&self.answer(body, &wrench)));
        sum
    }
    /// v += M^-1 J' impulse of any line.
    #[inline]
    pub fn line_push(&self, line: &Line<G>, impulse: f64, twists: &mut [Twist<G>]) {
        line.push(impulse, twists);
        self.tendon_sides(line, |body, wrench| twists[body] = twists[body].plus(impulse, self.answer(body, &wrench)));
    }
    /// The part of J v of any line that belongs to bodies that move whatever pushes them.
    pub fn line_driven(&self, line: &Line<G>, bodies: &[crate::island::LocalBody<G>], twists: &[Twist<G>]) -> f64 {
        let mut sum = line.driven_speed(bodies, twists);
        self.tendon_sides(line, |body, wrench| sum += if bodies[body].kinematic { wrench.power(&twists[body]) } else { 0.0 });
        sum
    }
}

/// The pull of the row of a tendon towards its rest and how far ahead it looks \[s\]; `None` where it is no row: one that is no stiffer than a
/// load is taken at both ends of a move, and its damper at the velocity found there, theory (21.15).
pub(crate) fn row_pull(tendon: &Tendon, stiff: bool, at_end: bool, t: f64) -> Option<(Pull, f64)> {
    let pull = Pull { position: 0.0, rate: 0.0, stiffness: tendon.stiffness, damping: tendon.damping };
    match stiff {
        true => Some((pull, t)),
        false => (at_end && tendon.damping > 0.0).then_some((pull, 0.0)),
    }
}

/// Pulls of the tendons that are loads, at given poses and velocities: `load` is told the bodies, their wrenches and which part of them is damping.
pub(crate) fn pulls<G: Geometry>(
    rows: &JointRows<G>,
    tendons: &[LocalTie],
    model: &Model<G>,
    instant: Instant,
    at: (&[Pose<G>], &[Twist<G>]),
    mut load: impl FnMut(usize, Wrench<G>, Wrench<G>),
) {
    for (k, local) in tendons.iter().enumerate() {
        let Some(tendon) = model.couplings[local.index].tendon.filter(|tendon| local.is_load(tendon, instant)) else { continue };
        let mut rate = 0.0;
        rows.tendons.row_at(k, model, at.0, |body, row| rate += row.power(&at.1[body]));
        let (pull, drag) = (-tendon.stiffness * rows.tendons.error(k, model, at.0), -tendon.damping * rate);
        rows.tendons.row_at(k, model, at.0, |body, row| {
            load(body, Wrench::zero().plus(pull + drag, row), Wrench::zero().plus(drag, row));
        });
    }
}

/// Energy \[J\] that the tendons of an island store.
pub(crate) fn stored<G: Geometry>(island: &Island<G>, model: &Model<G>) -> f64 {
    let rows = &island.system.assembly.equalities.tendons;
    let energy = |(k, local): (usize, &LocalTie)| {
        model.couplings[local.index].tendon.map_or(0.0, |tendon| tendon.energy(rows.error(k, model, &island.motion.poses)))
    };
    island.links.tendons.iter().enumerate().map(energy).sum()
}

/// How far a tendon of an island that is stretched so far is from passing one of its limits, the upper one with `upper`.
pub(crate) fn room<G: Geometry>(model: &Model<G>, local: &LocalTie, stretch: f64, upper: bool) -> f64 {
    let coupling = &model.couplings[local.index];
    let Some([low, high]) = coupling.tendon.and_then(|tendon| tendon.limits) else { return f64::INFINITY };
    if upper { high - coupling.offset - stretch } else { stretch + coupling.offset - low }
}
