//! The derivative of a body in the plane that no row touches over a substep: its whole flight is one map, theory (17.27)-(17.28).

use super::program::{Block, Program, Wires};
use super::stage::{Running, Stage};
use crate::body_load::{BodyLoad, LoadChange, RESISTANCES, Resisting, per_mass, per_mass_along, per_mass_transpose};
use crate::gradient::motion::add;
use crate::gradient::named::parameters::BodySlots;
use crate::gradient::slots::{add_wrench, twist, wrench};
use crate::gradient::tape::record::{RowSource, Solved, Strike, Substep};
use crate::integrate::Length;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// A flight from q, v to q', v' under gravity and what resists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlightMap<G: Geometry> {
    before: [Block; 2],
    after: [Block; 2],
    time: Block,
    /// Gravity, what resists and the mass, where they are asked about.
    asked: Option<[Block; 3]>,
    /// Velocities at the start and of the move.
    start: Twist<G>,
    half: Twist<G>,
    length: f64,
    /// Part of the length over which each of the two kicks acts; the second may be none.
    shares: [f64; 2],
    gravity: G::Lin,
    resistances: Resisting,
    mass: f64,
    /// 1 for the axes along which loads act, 0 for locked ones; last the rotation.
    free: Twist<G>,
}

impl<G: Geometry> FlightMap<G> {
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads(self.before.into_iter().chain([self.time]).chain(self.asked.into_iter().flatten()));
        wires.writes(self.after);
    }
    /// The load of a unit of its mass at a velocity.
    #[inline]
    fn load(&self, twist: &Twist<G>) -> BodyLoad<G> {
        let inertia = G::inertia_from_moments(&[1.0; 3][..G::ANG]);
        let resistances = per_mass(self.resistances, self.mass);
        BodyLoad { gravity: self.gravity, mass: 1.0, inertia, resistances, gyroscopic: false, twist: *twist }
    }
    /// The part of a vector along the free axes, over a time.
    #[inline]
    fn freed(&self, lin: G::Lin, ang: G::Ang, duration: f64) -> Twist<G> {
        Twist { lin: lin.scale(self.free.lin) * duration, ang: hadamard::<G>(self.free.ang, ang) * duration }
    }

    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let [pose, velocity] = self.before.map(|block| twist::<G>(&x[block.range()]));
        let time = x[self.time.range().start];
        let mut asked = LoadChange::<G>::none();
        if let Some([gravity, resistances, mass]) = self.asked {
            asked.gravity = G::Lin::from_slice(&x[gravity.range()]);
            asked.resistances.copy_from_slice(&x[resistances.range()]);
            asked.resistances = per_mass_along(self.resistances, self.mass, asked.resistances, x[mass.range().start]);
        }
        // v + s t f(v) for changes of v, of f and of t.
        let kicked = |share: f64, at: &Twist<G>, velocity: Twist<G>| {
            let load = self.load(at);
            let mut change = asked;
            change.velocity = velocity;
            let (change, value) = (load.along(&change), load.value());
            velocity.plus(1.0, self.freed(change.lin, change.ang, share * self.length)).plus(time, self.freed(value.lin, value.ang, share))
        };
        let half = kicked(self.shares[0], &self.start, velocity);
        let moved = pose.plus(self.length, half).plus(time, self.half);
        let end = kicked(self.shares[1], &self.half, half);
        for (block, value) in self.after.into_iter().zip([moved, end]) {
            add(x, block.part(0, G::DIM), value.lin.as_slice());
            add(x, block.part(G::DIM, G::ANG), value.ang.as_slice());
        }
    }

    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let [moved, end] = self.after.map(|block| wrench::<G>(&x[block.range()]));
        let mut by_time = moved.power(&self.half);
        let mut by_gravity = G::Lin::zero();
        let mut by_resistances = [0.0; RESISTANCES];
        let mut back = |share: f64, at: &Twist<G>, w: &Wrench<G>| {
            let load = self.load(at);
            let felt = self.freed(w.lin, w.ang, share);
            let bar = load.transpose(&Wrench { lin: felt.lin * self.length, ang: felt.ang * self.length });
            by_time += load.value().power(&felt);
            by_gravity += bar.gravity;
            by_resistances.iter_mut().zip(bar.resistances).for_each(|(sum, bar)| *sum += bar);
            w.plus(1.0, bar.velocity)
        };
        let half = back(self.shares[1], &self.half, &end).plus(self.length, moved);
        let start = back(self.shares[0], &self.start, &half);
        for (block, value) in self.before.into_iter().zip([moved, start]) {
            add_wrench::<G>(&mut x[block.range()], &value);
        }
        x[self.time.range().start] += by_time;
        if let Some([gravity, resistances, mass]) = self.asked {
            let (by_resistances, by_mass) = per_mass_transpose(self.resistances, self.mass, by_resistances);
            add(x, gravity, by_gravity.as_slice());
            add(x, resistances, &by_resistances);
            x[mass.range().start] += by_mass;
        }
    }
}

/// The product of two rates by components; in the plane there is one.
#[inline]
fn hadamard<G: Geometry>(mut a: G::Ang, b: G::Ang) -> G::Ang {
    for i in 0..G::ANG {
        a[i] *= b[i];
    }
    a
}

/// Marks the bodies that a strike passes by: without joints it reaches those of its contacts alone.
pub(crate) fn unstruck<G: Geometry>(stage: &mut Stage<G>, strike: &Strike<G>) {
    stage.walk_all();
    if stage.joints.is_empty() {
        stage.flies.fill(true);
        strike.contacts.iter().flat_map(|(_, bodies)| bodies).for_each(|&body| stage.flies[body] = false);
    }
}

/// Finds the bodies that nothing but its own load moves in a substep and marks them in the stage; returns whether they are all that move.
pub(crate) fn find<G: Geometry>(stage: &mut Stage<G>, substep: &Substep<G>) -> bool {
    stage.flies.clear();
    // In space the rotation of a free body is no closed form.
    if G::ANG > 1 || stage.model.options.scheme().by_means() {
        stage.flies.resize(stage.bodies.len(), false);
        return false;
    }
    stage.flies.extend(stage.bodies.iter().map(|body| body.dynamic));
    let mut alone = !stage.bodies.iter().any(|body| body.kinematic);
    let mut hold = |bodies: [usize; 2]| {
        alone = false;
        bodies.into_iter().for_each(|body| stage.flies[body] = false);
    };
    stage.joints.iter().for_each(|joint| hold(joint.bodies));
    stage.forces.iter().for_each(|&(_, body, _)| hold([body; 2]));
    let contacts = |solved: &Solved<G>, hold: &mut dyn FnMut([usize; 2])| {
        for group in &solved.pushed {
            if let RowSource::Contact { bodies, .. } = group.source {
                hold(bodies);
            }
        }
    };
    contacts(&substep.hold, &mut hold);
    contacts(&substep.finish, &mut hold);
    if let Length::Event(_, bodies) = substep.rule {
        hold(bodies);
    }
    alone
}

/// Adds the flights of a substep; the running poses and velocities of those bodies become those of its end.
pub(crate) fn linearise<G: Geometry>(program: &mut Program<G>, stage: &Stage<G>, substep: &Substep<G>, running: &mut Running, time: Block) {
    let scheme = stage.model.options.scheme();
    let shares = [scheme.share, if scheme.kicks_again() { scheme.share } else { 0.0 }];
    let theta = program.free(stage.parameters.0);
    for local in 0..stage.bodies.len() {
        let (true, Some(pose), Some(velocity)) = (stage.flies[local], running.poses[local], running.twists[local]) else { continue };
        let body = &stage.bodies[local];
        let slots: &BodySlots = &stage.parameters.1.bodies[body.index];
        let after = [program.fresh(G::DOF), program.fresh(G::DOF)];
        let mut free = Twist::<G>::zero();
        for axis in 0..G::DIM {
            free.lin[axis] = f64::from(u8::from(body.inv_mass[axis] != 0.0));
        }
        if body.turns() {
            free.ang[0] = 1.0;
        }
        program.flight(FlightMap {
            before: [pose, velocity],
            after,
            time,
            asked: theta.map(|theta| {
                let gravity = theta.part(stage.parameters.1.gravity.start, G::DIM);
                [gravity, theta.part(slots.resistances.damping, RESISTANCES), theta.part(slots.mass, 1)]
            }),
            start: substep.twists[local],
            half: substep.half[local],
            length: substep.length,
            shares,
            gravity: stage.model.gravity,
            resistances: stage.resistances(body),
            mass: body.mass,
            free,
        });
        (running.poses[local], running.twists[local]) = (Some(after[0]), Some(after[1]));
    }
}
