//! The derivative of the gyroscopic torque taken forward: what it slows a body more over half a move than the exact one, theory (17.44).

use crate::gradient::motion::{changed, turned};
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::Stage;
use crate::gradient::slots::cross;
use carom_geometry::Geometry;
use carom_math::{Pose, Vector};

/// The rate D = (t/2) I^-1 (g(w + d) - g(w)) with g(x) = x x I x and d = (t/2) I^-1 torque: the move loses it, the second half gets it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForwardRate<G: Geometry> {
    rate: G::Ang,
    torque: G::Ang,
    inertia: G::Inertia,
    inv_inertia: G::Inertia,
    rotation: G::Rot,
    length: f64,
}

/// How an inertia changes: dI applied to a rate.
type Change<'a, G> = &'a dyn Fn(<G as carom_math::Space>::Ang) -> <G as carom_math::Space>::Ang;

impl<G: Geometry> ForwardRate<G> {
    /// Of a local body with a rate and the torque of its loads, gyroscopic torque not counted, over a move of a length.
    pub fn new(stage: &Stage<G>, local: usize, rotation: G::Rot, rate: G::Ang, torque: G::Ang, length: f64) -> Self {
        let body = &stage.bodies[local];
        ForwardRate { rate, torque, inertia: body.inertia, inv_inertia: body.inv_inertia, rotation, length }
    }

    fn invert(&self, torque: G::Ang) -> G::Ang {
        G::inertia_apply(self.inv_inertia, torque)
    }

    /// The rate after the torque of the loads.
    fn after(&self) -> G::Ang {
        self.rate + self.invert(self.torque) * (0.5 * self.length)
    }

    /// D itself.
    pub fn value(&self) -> G::Ang {
        let more = G::gyroscopic(self.inertia, self.after()) - G::gyroscopic(self.inertia, self.rate);
        self.invert(more) * (0.5 * self.length)
    }

    /// dg(x) for a change of the rate and of the inertia.
    fn torque_change(&self, at: G::Ang, change: G::Ang, inertia: Change<G>) -> G::Ang {
        let momentum = G::inertia_apply(self.inertia, at);
        cross::<G>(change, momentum) + cross::<G>(at, G::inertia_apply(self.inertia, change) + inertia(at))
    }

    /// dD for changes of the rate, of the wrench of the loads with the gyroscopic torque in it, of the inertia and of the length.
    fn change(&self, rate: G::Ang, wrench: G::Ang, inertia: Change<G>, length: f64) -> G::Ang {
        let half = 0.5 * self.length;
        let here = self.torque_change(self.rate, rate, inertia);
        let torque = wrench + here;
        let answer = self.invert(self.torque);
        let after = rate + self.invert(torque - inertia(answer)) * half + answer * (0.5 * length);
        let then = self.torque_change(self.after(), after, inertia);
        let value = self.value();
        let mut out = self.invert((then - here) * half - inertia(value));
        if length != 0.0 {
            out += value * (length / self.length);
        }
        out
    }

    /// dD/dt.
    pub fn by_length(&self) -> G::Ang {
        self.change(G::Ang::zero(), G::Ang::zero(), &|_| G::Ang::zero(), 1.0)
    }

    /// Slots of D, from those of the rate, of the wrench of the loads (gyroscopic torque included), of the pose and of the length.
    pub fn linearise(
        &self,
        program: &mut Program<G>,
        rate: Option<Block>,
        wrench: Block,
        pose: (Block, &Pose<G>),
        inertia: Block,
        time: Option<Block>,
    ) -> Block {
        let none = |_: G::Ang| G::Ang::zero();
        let zero = G::Ang::zero();
        let out = program.fresh(G::ANG);
        let put = |value: G::Ang, y: &mut [f64]| y.copy_from_slice(value.as_slice());
        if let Some(rate) = rate {
            program.linear(out, rate, |x, y| put(self.change(G::Ang::from_slice(x), zero, &none, 0.0), y));
        }
        program.linear(out, wrench, |x, y| put(self.change(zero, G::Ang::from_slice(x), &none, 0.0), y));
        program.linear(out, pose.0.part(G::DIM, G::ANG), |x, y| {
            let xi = G::Ang::from_slice(x);
            put(self.change(zero, zero, &|at| turned::<G>(self.inertia, xi, at), 0.0), y);
        });
        program.linear(out, inertia, |x, y| {
            put(self.change(zero, zero, &|at| changed::<G>(self.rotation, x, at), 0.0), y);
        });
        if let Some(time) = time {
            program.column(out, time, self.by_length().as_slice());
        }
        out
    }
}
