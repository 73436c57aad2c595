//! The load of one body between slots, theory (17.18).

use super::{add, changed, changed_transpose, halves, turned, turned_transpose};
use crate::body_load::{BodyLoad, LoadChange};
use crate::gradient::schedule::program::{Block, Wires};
use crate::gradient::slots::{twist, wrench};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// The load of one body between slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadMap<G: Geometry> {
    /// Wrench.
    pub out: Block,
    /// Velocity and angular part of the pose.
    pub velocity: Option<Block>,
    /// Angular part of the pose.
    pub turn: Option<Block>,
    /// The parameters it depends on, where they are asked about.
    pub asked: Option<LoadSlots>,
    /// Orientation.
    pub rotation: G::Rot,
    /// The load.
    pub load: BodyLoad<G>,
}

/// Slots of the parameters of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadSlots {
    /// Mass.
    pub mass: Block,
    /// Inertia in the body frame.
    pub inertia: Block,
    /// What resists.
    pub resistances: Block,
    /// Gravity.
    pub gravity: Block,
}

impl<G: Geometry> LoadMap<G> {
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads([self.velocity, self.turn].into_iter().flatten());
        wires.reads(self.asked.into_iter().flat_map(|slots| [slots.mass, slots.inertia, slots.resistances, slots.gravity]));
        wires.writes([self.out]);
    }
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let velocity = self.velocity.map_or_else(Twist::zero, |block| twist::<G>(&x[block.range()]));
        let turn = self.turn.map_or_else(G::Ang::zero, |block| G::Ang::from_slice(&x[block.range()]));
        let Wrench { lin, ang } = self.along(velocity, turn, x);
        let (out_lin, out_ang) = halves::<G>(self.out);
        add(x, out_lin, lin.as_slice());
        add(x, out_ang, ang.as_slice());
    }
    /// The tangent along a change of the velocity and a turn, and of the parameters in their slots.
    pub fn along(&self, velocity: Twist<G>, turn: G::Ang, x: &[f64]) -> Wrench<G> {
        let rate = self.load.twist.ang;
        let mut change = LoadChange { velocity, momentum: turned::<G>(self.load.inertia, turn, rate), ..LoadChange::none() };
        if let Some(slots) = self.asked {
            change.momentum += changed::<G>(self.rotation, &x[slots.inertia.range()], rate);
            change.mass = x[slots.mass.range().start];
            change.gravity = G::Lin::from_slice(&x[slots.gravity.range()]);
            change.resistances.copy_from_slice(&x[slots.resistances.range()]);
        }
        self.load.along(&change)
    }
    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let bar = self.load.transpose(&wrench::<G>(&x[self.out.range()]));
        let rate = self.load.twist.ang;
        if let Some(block) = self.velocity {
            let (lin, ang) = halves::<G>(block);
            add(x, lin, bar.velocity.lin.as_slice());
            add(x, ang, bar.velocity.ang.as_slice());
        }
        if let (Some(block), true) = (self.turn, self.load.turns()) {
            add(x, block, turned_transpose::<G>(self.load.inertia, bar.momentum, rate).as_slice());
        }
        if let Some(slots) = self.asked {
            if self.load.turns() {
                changed_transpose::<G>(self.rotation, bar.momentum, rate, 1.0, &mut x[slots.inertia.range()]);
            }
            x[slots.mass.range().start] += bar.mass;
            add(x, slots.resistances, &bar.resistances);
            add(x, slots.gravity, bar.gravity.as_slice());
        }
    }
}
