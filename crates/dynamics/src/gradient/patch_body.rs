//! A body of a patch: what its loads and the impulses of its contacts make of its velocity in one room, theory (17.54).

use super::motion::{add, changed, changed_transpose};
use super::program::{Block, Program};
use super::stage::Stage;
use carom_geometry::Geometry;
use carom_math::{Space, Twist, Vector, Wrench};

/// Slots of the parameters that the motion of a body depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MotionSlots {
    mass: Block,
    inertia: Block,
    dampings: [Block; 2],
    gravity: Block,
}

impl MotionSlots {
    /// Those of a local body, where they are asked about.
    pub fn of<G: Geometry>(program: &Program<G>, stage: &Stage<G>, local: usize) -> Option<Self> {
        let theta = program.free(stage.parameters.0)?;
        let layout = stage.parameters.1;
        let slots = &layout.bodies[stage.bodies[local].index];
        Some(MotionSlots {
            mass: theta.part(slots.mass, 1),
            inertia: theta.part(slots.inertia.start, slots.inertia.len()),
            dampings: [theta.part(slots.damping, 1), theta.part(slots.spin_damping, 1)],
            gravity: theta.part(layout.gravity.start, G::DIM),
        })
    }
}

/// A body of a patch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchBody<G: Geometry> {
    /// Its number in the island.
    pub local: usize,
    /// Slots of the pose before.
    pub pose: Block,
    /// Slots of the velocity before; none for a body that never moves, which has no others either.
    pub twist: Option<Block>,
    /// Slots of the pose after; those before for a body that never moves.
    pub next: Block,
    /// Slots of the velocity of the move.
    pub half: Block,
    /// Slots of the velocity after.
    pub end: Block,
    /// Slots of its parameters, where they are asked about.
    pub slots: Option<MotionSlots>,
    /// Inverse mass per axis [1/kg].
    pub inv_mass: G::Lin,
    /// Inverse inertia.
    pub inv_inertia: G::Inertia,
    /// Inertia.
    pub inertia: G::Inertia,
    /// Mass [kg].
    pub mass: f64,
    /// Linear and angular damping [1/s].
    pub damping: [f64; 2],
    /// Velocities at q, of the move and at q'.
    pub twists: [Twist<G>; 3],
    /// Impulses of loads and contacts in both rooms.
    pub total: [Wrench<G>; 2],
}

impl<G: Geometry> PatchBody<G> {
    /// Slots of its pose in a room: before the move or after it.
    #[inline]
    pub fn placed(&self, room: usize) -> Block {
        if room == 0 { self.pose } else { self.next }
    }

    /// M^-1 p.
    #[inline]
    pub fn response(&self, impulse: &Wrench<G>) -> Twist<G> {
        Twist { lin: impulse.lin.scale(self.inv_mass), ang: G::inertia_apply(self.inv_inertia, impulse.ang) }
    }

    /// Gravity and damping in a room.
    #[inline]
    pub fn force(&self, room: usize, gravity: G::Lin) -> Wrench<G> {
        let twist = &self.twists[room];
        let ang = G::inertia_apply(self.inertia, twist.ang) * -self.damping[1];
        Wrench { lin: (gravity - twist.lin * self.damping[0]) * self.mass, ang }
    }

    /// v + M^-1 (d f + p) for changes of the velocity, of the impulse p and of the parameters, over a fixed duration d.
    pub fn kicked(&self, room: usize, change: &Twist<G>, impulse: Wrench<G>, duration: f64, gravity: G::Lin, x: &[f64]) -> Twist<G> {
        let twist = &self.twists[room];
        let mut force =
            Wrench { lin: change.lin * (-self.damping[0] * self.mass), ang: G::inertia_apply(self.inertia, change.ang) * -self.damping[1] };
        let Some(slots) = &self.slots else { return change.plus(1.0, self.response(&impulse.plus(duration, force))) };
        let one = |block: Block| x[block.range().start];
        let mass = one(slots.mass);
        let turned = |rate: G::Ang| changed::<G>(<G as Space>::identity(), &x[slots.inertia.range()], rate);
        force.lin += (gravity - twist.lin * self.damping[0]) * mass;
        force.lin += (G::Lin::from_slice(&x[slots.gravity.range()]) - twist.lin * one(slots.dampings[0])) * self.mass;
        force.ang -= turned(twist.ang) * self.damping[1];
        force.ang -= G::inertia_apply(self.inertia, twist.ang) * one(slots.dampings[1]);
        let result = self.response(&self.total[room]);
        let mut out = change.plus(1.0, self.response(&impulse.plus(duration, force)));
        out.lin -= result.lin * (mass / self.mass);
        out.ang -= G::inertia_apply(self.inv_inertia, turned(result.ang));
        out
    }

    /// The transpose: from a covector on the velocity after, that on the velocity before; those on parameters are added. Returns the cotangent
    /// of the impulse too.
    #[inline]
    pub fn kicked_adjoint(&self, room: usize, w: &Wrench<G>, duration: f64, gravity: G::Lin, x: &mut [f64]) -> (Wrench<G>, Twist<G>) {
        let twist = &self.twists[room];
        let impulse = self.response(w);
        let felt: Wrench<G> = Wrench { lin: impulse.lin * duration, ang: impulse.ang * duration };
        let before = Wrench {
            lin: w.lin - felt.lin * (self.damping[0] * self.mass),
            ang: w.ang - G::inertia_apply(self.inertia, felt.ang) * self.damping[1],
        };
        if let Some(slots) = &self.slots {
            let result = self.response(&self.total[room]);
            let drive = gravity - twist.lin * self.damping[0];
            x[slots.mass.range().start] += felt.lin.dot(drive) - w.lin.dot(result.lin) / self.mass;
            let upper = &mut x[slots.inertia.range()];
            changed_transpose::<G>(<G as Space>::identity(), impulse.ang, result.ang, -1.0, upper);
            changed_transpose::<G>(<G as Space>::identity(), felt.ang, twist.ang, -self.damping[1], upper);
            x[slots.dampings[0].range().start] -= self.mass * felt.lin.dot(twist.lin);
            x[slots.dampings[1].range().start] -= felt.ang.dot(G::inertia_apply(self.inertia, twist.ang));
            add(x, slots.gravity, (felt.lin * self.mass).as_slice());
        }
        (before, impulse)
    }
}
