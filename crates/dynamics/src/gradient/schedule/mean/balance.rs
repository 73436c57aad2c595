//! The balance of momentum of one body under the midpoint rule and its derivative, theory (19.7)-(19.8).

use super::motion::write;
use crate::body_load::{BodyLoad, LoadChange, Resisting};
use crate::gradient::motion::{MassBlocks, changed, turned};
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::slots::{cross, twist, wrench};
use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};
use nalgebra::Matrix6;

/// A square matrix over the freedoms of a body; in the plane the first three rows and columns of it.
pub(crate) type Square = [[f64; 6]; 6];

/// The balance of one body around its solution, theory (19.7)-(19.8).
#[derive(Clone, Debug)]
pub(crate) struct Balance<G: Geometry> {
    body: LocalBody<G>,
    before: Twist<G>,
    mean: Twist<G>,
    torque: G::Ang,
    /// What resists at the mean twist.
    load: BodyLoad<G>,
    length: f64,
    /// (A - L Gamma)^-1, how mean twists answer to what is left of the balance.
    inverse: Square,
    /// Whether there is such an inverse.
    pub regular: bool,
}

impl<G: Geometry> Balance<G> {
    /// Of a body with the half impulse on it and the stiffness of what pushes it: how the half impulse changes with its own mean twist.
    pub fn new(
        body: &LocalBody<G>,
        (before, mean): (&Twist<G>, &Twist<G>),
        torque: G::Ang,
        resistances: Resisting,
        length: f64,
        stiffness: &Square,
    ) -> Self {
        let (before, mean) = (*before, *mean);
        let (gravity, gyroscopic) = (G::Lin::zero(), false);
        let load = BodyLoad { gravity, mass: body.mass, inertia: body.inertia, resistances, gyroscopic, twist: mean };
        let mut out = Balance { body: body.clone(), before, mean, torque, load, length, inverse: [[0.0; 6]; 6], regular: true };
        let mut matrix = Matrix6::<f64>::identity();
        for j in 0..G::DOF {
            let mut unit = [0.0; 6];
            unit[j] = 1.0;
            let mut push = [0.0; 6];
            (0..G::DOF).for_each(|i| push[i] = stiffness[i][j]);
            let (held, pushed) = (out.resistance(twist::<G>(&unit)), out.spread(&wrench::<G>(&push)));
            let mut entries = [0.0; 6];
            write(&held.plus(-1.0, pushed), &mut entries);
            (0..G::DOF).for_each(|i| matrix[(i, j)] = entries[i]);
        }
        match matrix.try_inverse() {
            Some(inverse) => (0..6).for_each(|i| (0..6).for_each(|j| out.inverse[i][j] = inverse[(i, j)])),
            None => out.regular = false,
        }
        out
    }

    fn moves(&self, axis: usize) -> bool {
        self.body.inv_mass[axis] > 0.0
    }

    /// A: how the balance answers to the mean twist.
    fn resistance(&self, change: Twist<G>) -> Twist<G> {
        let slowed = self.slowed(&LoadChange { velocity: change, ..LoadChange::none() });
        let lin = change.lin - slowed.lin;
        if !self.body.turns() {
            return Twist { lin, ang: change.ang };
        }
        let inertia = |rate: G::Ang| G::inertia_apply(self.body.inertia, rate);
        let bent = cross::<G>(change.ang, inertia(self.mean.ang) + self.torque) + cross::<G>(self.mean.ang, inertia(change.ang));
        Twist { lin, ang: inertia(change.ang) - slowed.ang + bent * (0.5 * self.length) }
    }

    /// What a change makes of the half impulse of all that resists, as it enters the balance.
    fn slowed(&self, change: &LoadChange<G>) -> Twist<G> {
        self.entered(&self.load.along(change), 0.5 * self.length)
    }

    /// A wrench over a time as it enters the balance.
    fn entered(&self, wrench: &Wrench<G>, duration: f64) -> Twist<G> {
        let ang = if self.body.turns() { wrench.ang * duration } else { G::Ang::zero() };
        Twist { lin: wrench.lin.scale(self.body.inv_mass) * duration, ang }
    }

    /// L: how it answers to a half impulse.
    fn spread(&self, push: &Wrench<G>) -> Twist<G> {
        let lin = push.lin.scale(self.body.inv_mass);
        if !self.body.turns() {
            return Twist { lin, ang: G::Ang::zero() };
        }
        Twist { lin, ang: push.ang - cross::<G>(self.mean.ang, push.ang) * (0.5 * self.length) }
    }

    /// The mean twist that makes up for what is left of the balance.
    fn settled(&self, rest: Twist<G>) -> Twist<G> {
        let mut x = [0.0; 6];
        write(&rest, &mut x);
        let mut out = [0.0; 6];
        for i in 0..G::DOF {
            out[i] = (0..G::DOF).map(|j| self.inverse[i][j] * x[j]).sum();
        }
        twist::<G>(&out)
    }

    /// The mean twist of a half impulse.
    pub fn answer(&self, push: &Wrench<G>) -> Twist<G> {
        self.settled(self.spread(push))
    }

    /// What a change of the inertia leaves of the balance.
    fn unbalanced(&self, inertia: impl Fn(G::Ang) -> G::Ang) -> Twist<G> {
        let at_mean = inertia(self.mean.ang);
        let slowed = self.slowed(&LoadChange { momentum: at_mean, ..LoadChange::none() });
        let ang = at_mean - slowed.ang + cross::<G>(self.mean.ang, at_mean) * (0.5 * self.length) - inertia(self.before.ang);
        Twist { lin: G::Lin::zero(), ang: -ang }
    }

    /// Speeds that push and drag change, with zero along what is locked.
    fn unlocked(&self, mut lin: G::Lin) -> G::Lin {
        for axis in (0..G::DIM).filter(|&axis| !self.moves(axis)) {
            lin[axis] = 0.0;
        }
        lin
    }

    /// What a longer move leaves of the balance, half impulses held.
    fn longer(&self) -> Twist<G> {
        let mut out = self.entered(&self.load.resisting(), 0.5);
        if self.body.turns() {
            let momentum = G::inertia_apply(self.body.inertia, self.mean.ang);
            out.ang -= cross::<G>(self.mean.ang, momentum + self.torque) * 0.5;
        }
        out
    }

    /// How the mean twist changes with the length, where the half impulse changes by `push`.
    pub fn by_length(&self, push: &Wrench<G>) -> Twist<G> {
        self.settled(self.spread(push).plus(1.0, self.longer()))
    }

    /// out += the mean twist, from slots of the half impulse, of the velocity before, of the pose, of mass, inertia and what resists, and of the length.
    pub fn linearise(
        &self,
        program: &mut Program<G>,
        out: Block,
        push: Block,
        before: Option<Block>,
        pose: (Block, &Pose<G>),
        mass: MassBlocks,
        resistances: Block,
        time: Option<Block>,
    ) {
        let turns = self.body.turns();
        let inertia = |rate: G::Ang| G::inertia_apply(self.body.inertia, rate);
        program.linear(out, push, |x, y| write(&self.answer(&wrench::<G>(x)), y));
        if let Some(before) = before {
            program.linear(out, before, |x, y| {
                let change = twist::<G>(x);
                let ang = if turns { inertia(change.ang) } else { change.ang };
                write(&self.settled(Twist { lin: change.lin, ang }), y);
            });
        }
        if turns {
            if G::ANG > 1 {
                program.linear(out, pose.0.part(G::DIM, G::ANG), |x, y| {
                    let xi = G::Ang::from_slice(x);
                    write(&self.settled(self.unbalanced(|rate| turned::<G>(self.body.inertia, xi, rate))), y);
                });
            }
            program.linear(out, mass.inertia, |x, y| {
                write(&self.settled(self.unbalanced(|rate| changed::<G>(pose.1.rotation, x, rate))), y);
            });
        }
        let gained = self.unlocked(self.mean.lin - self.before.lin);
        program.linear(out, mass.mass, |x, y| {
            let mut rest = self.slowed(&LoadChange { mass: x[0], ..LoadChange::none() });
            rest.lin -= gained * (x[0] / self.body.mass);
            write(&self.settled(rest), y);
        });
        program.linear(out, resistances, |x, y| {
            let mut change = LoadChange::none();
            change.resistances.copy_from_slice(x);
            write(&self.settled(self.slowed(&change)), y);
        });
        if let Some(time) = time {
            program.stacked(out, time, &self.settled(self.longer()));
        }
    }
}
