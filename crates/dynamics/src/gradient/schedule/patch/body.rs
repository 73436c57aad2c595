//! A body of a patch over a substep: what its loads and the impulses of its contacts make of its velocity, theory (17.30).

use crate::gradient::schedule::linkage::body::{EndBar, Gravity, LinkBody, Turned};
use crate::gradient::schedule::program::Block;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Wrench};

/// A body of a patch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchBody<G: Geometry> {
    /// Its number in the island.
    pub local: usize,
    /// Velocities, masses, what resists, parameters, and how it turns.
    pub link: LinkBody<G>,
    /// At q and at q'.
    pub turned: [Turned<G>; 2],
    /// Its poses there.
    pub poses: [Pose<G>; 2],
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
}

impl<G: Geometry> PatchBody<G> {
    /// Slots of its pose in a solve: before the move or after it.
    #[inline]
    pub fn placed(&self, solve: usize) -> Block {
        if solve == 0 { self.pose } else { self.next }
    }

    /// The velocity that an impulse gives in a solve.
    #[inline]
    pub fn response(&self, solve: usize, impulse: &Wrench<G>) -> Twist<G> {
        self.link.response(solve, &self.turned[solve], impulse)
    }

    /// Its loads in a solve.
    #[inline]
    pub fn force(&self, solve: usize, gravity: &Gravity<G>) -> Wrench<G> {
        self.link.force(solve, &self.turned[solve], gravity.value)
    }

    /// The covector on the velocity of the move of one on q', over the length of the move; nothing for a body that never moves.
    #[inline]
    pub fn carried(&self, covector: &Wrench<G>) -> Wrench<G> {
        self.link.carried(covector)
    }

    /// The velocity after the kick of a solve for changes of the velocity before it, of the pose there, of the impulse of the contacts, of the parameters
    /// and of the length; loads act over a share of the length.
    #[inline]
    pub fn kicked(
        &self,
        solve: usize,
        (before, turn): (&Twist<G>, G::Ang),
        impulse: &Wrench<G>,
        [share, length, time]: [f64; 3],
        gravity: &Gravity<G>,
        x: &[f64],
    ) -> Twist<G> {
        let at = (&self.turned[solve], self.poses[solve].rotation);
        let load = self.link.load_tangent(solve, at, gravity, (before, turn), x);
        let impulse = impulse.plus(share * length, load).plus(share * time, self.force(solve, gravity));
        if solve == 0 {
            return before.plus(1.0, self.link.half_tangent(at, &impulse, turn, x));
        }
        self.link.end_tangent(at, before, (&impulse, turn), [share * length, share * time], x)
    }

    /// The transpose: from a covector on the velocity after, those on the velocity before, on the impulse, on the orientation and on the length;
    /// those on parameters are added.
    #[inline]
    pub fn kicked_adjoint(
        &self,
        solve: usize,
        w: &Wrench<G>,
        [share, length]: [f64; 2],
        (gravity, by_gravity): (&Gravity<G>, &mut G::Lin),
        x: &mut [f64],
    ) -> EndBar<G> {
        let at = &self.turned[solve];
        let mut bar = if solve == 0 {
            let (impulse, turn) = self.link.half_adjoint(at, w, x);
            EndBar { impulse, half: *w, turn, time: 0.0 }
        } else {
            self.link.end_adjoint(at, w, [share, length], x)
        };
        let duration = share * length;
        let felt = Wrench { lin: bar.impulse.lin * duration, ang: bar.impulse.ang * duration };
        let (by_load, by_turn) = self.link.load_adjoint(solve, at, &felt, gravity.value, by_gravity, x);
        bar.half = bar.half.plus(1.0, by_load);
        bar.turn += by_turn;
        bar.time += share * self.force(solve, gravity).power(&bar.impulse);
        bar
    }

    /// The pose at q' for changes of the pose, of the velocity of the move and of its length.
    #[inline]
    pub fn moved(&self, length: f64, pose: &Twist<G>, velocity: &Twist<G>, time: f64) -> Twist<G> {
        self.link.moved([&self.turned[0], &self.turned[1]], length, pose, velocity, time)
    }

    /// The covector on the pose at q of one on the pose at q'.
    #[inline]
    pub fn moved_back(&self, next: &Wrench<G>) -> Wrench<G> {
        if self.twist.is_none() { *next } else { LinkBody::moved_back([&self.turned[0], &self.turned[1]], next) }
    }
}
