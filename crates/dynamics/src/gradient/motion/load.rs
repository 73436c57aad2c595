//! Gravity, damping and the gyroscopic torque of one body, theory (17.18).

use super::{add, changed, changed_transpose, halves, turned, turned_transpose};
use crate::gradient::program::{Block, Wires};
use crate::gradient::slots::{cross, twist, wrench};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Gravity, damping and, where asked, the gyroscopic torque of one body, theory (17.18).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadMap<G: Geometry> {
    /// Wrench.
    pub out: Block,
    /// Velocity and angular part of the pose.
    pub velocity: Option<Block>,
    /// Angular part of the pose.
    pub turn: Option<Block>,
    /// Mass, inertia, linear and angular damping, gravity, where they are asked about.
    pub mass: Option<Block>,
    /// Inertia in the body frame.
    pub inertia_block: Option<Block>,
    /// Linear and angular damping.
    pub dampings: Option<[Block; 2]>,
    /// Gravity.
    pub gravity_block: Option<Block>,
    /// Velocity of the body.
    pub twist: Twist<G>,
    /// Inertia in world axes.
    pub inertia: G::Inertia,
    /// Orientation.
    pub rotation: G::Rot,
    /// Mass [kg].
    pub body_mass: f64,
    /// Linear damping [1/s].
    pub damping: f64,
    /// Angular damping [1/s].
    pub spin_damping: f64,
    /// Gravity [m/s^2].
    pub gravity: G::Lin,
    /// 1 where the gyroscopic torque acts, else 0.
    pub gyroscopic: f64,
}

impl<G: Geometry> LoadMap<G> {
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads([self.velocity, self.turn, self.mass, self.inertia_block, self.gravity_block].into_iter().flatten());
        wires.reads(self.dampings.into_iter().flatten());
        wires.writes([self.out]);
    }
    /// The wrench itself.
    pub fn value(&self) -> Wrench<G> {
        let rate = self.twist.ang;
        let momentum = G::inertia_apply(self.inertia, rate);
        Wrench {
            lin: self.gravity * self.body_mass - self.twist.lin * (self.damping * self.body_mass),
            ang: momentum * -self.spin_damping - G::gyroscopic(self.inertia, rate) * self.gyroscopic,
        }
    }
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let velocity = self.velocity.map_or_else(Twist::zero, |block| twist::<G>(&x[block.range()]));
        let turn = self.turn.map_or_else(G::Ang::zero, |block| G::Ang::from_slice(&x[block.range()]));
        let Wrench { lin, ang } = self.along(&velocity, turn, x);
        let (out_lin, out_ang) = halves::<G>(self.out);
        add(x, out_lin, lin.as_slice());
        add(x, out_ang, ang.as_slice());
    }
    /// The tangent along a change of the velocity and a turn, and of the parameters in their slots.
    pub fn along(&self, velocity: &Twist<G>, turn: G::Ang, x: &[f64]) -> Wrench<G> {
        let rate = self.twist.ang;
        let momentum = G::inertia_apply(self.inertia, rate);
        // What a change of the angular momentum at a fixed rate does.
        let felt = |change: G::Ang| change * -self.spin_damping - cross::<G>(rate, change) * self.gyroscopic;
        let mut lin = velocity.lin * (-self.damping * self.body_mass);
        let mut ang = felt(G::inertia_apply(self.inertia, velocity.ang)) - cross::<G>(velocity.ang, momentum) * self.gyroscopic;
        ang += felt(turned::<G>(self.inertia, turn, rate));
        if let Some(block) = self.mass {
            lin += (self.gravity - self.twist.lin * self.damping) * x[block.range().start];
        }
        if let Some(block) = self.inertia_block {
            ang += felt(changed::<G>(self.rotation, &x[block.range()], rate));
        }
        if let Some([linear, angular]) = self.dampings {
            lin -= self.twist.lin * (self.body_mass * x[linear.range().start]);
            ang -= momentum * x[angular.range().start];
        }
        if let Some(block) = self.gravity_block {
            lin += G::Lin::from_slice(&x[block.range()]) * self.body_mass;
        }
        Wrench { lin, ang }
    }
    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let w = wrench::<G>(&x[self.out.range()]);
        let rate = self.twist.ang;
        let momentum = G::inertia_apply(self.inertia, rate);
        // Without angular damping and gyroscopic torque no torque acts.
        if self.spin_damping != 0.0 || self.gyroscopic != 0.0 {
            // w . (rate x z) = (w x rate) . z.
            let felt = w.ang * -self.spin_damping - cross::<G>(w.ang, rate) * self.gyroscopic;
            if let Some(block) = self.velocity {
                let by_rate = G::inertia_apply(self.inertia, felt) - cross::<G>(momentum, w.ang) * self.gyroscopic;
                add(x, block.part(G::DIM, G::ANG), by_rate.as_slice());
            }
            if let Some(block) = self.turn {
                add(x, block, turned_transpose::<G>(self.inertia, felt, rate).as_slice());
            }
            if let Some(block) = self.inertia_block {
                changed_transpose::<G>(self.rotation, felt, rate, 1.0, &mut x[block.range()]);
            }
        }
        if let Some(block) = self.velocity {
            add(x, block.part(0, G::DIM), (w.lin * (-self.damping * self.body_mass)).as_slice());
        }
        if let Some(block) = self.mass {
            x[block.range().start] += w.lin.dot(self.gravity - self.twist.lin * self.damping);
        }
        if let Some([linear, angular]) = self.dampings {
            x[linear.range().start] -= self.body_mass * w.lin.dot(self.twist.lin);
            x[angular.range().start] -= w.ang.dot(momentum);
        }
        if let Some(block) = self.gravity_block {
            add(x, block, (w.lin * self.body_mass).as_slice());
        }
    }
}
