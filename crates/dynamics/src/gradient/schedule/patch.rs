//! Bodies that contacts alone hold over a substep: two maps, one for the move and one for its end, instead of many small ones,
//! theory (17.29)-(17.34).

pub(crate) mod body;
pub(crate) mod finish;
pub(crate) mod movement;
pub(crate) mod rows;
pub(crate) mod strike_patch;

use super::linkage::body::{Gravity, LinkBody, Turned};
use super::program::{Block, Program};
use super::stage::{Running, Stage, Switches};
use crate::contacts::Key;
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::friction_mode::FrictionMode;
use crate::gradient::system::Sides;
use crate::gradient::system::sparse::Factored;
use crate::gradient::system::weak::Weak;
use crate::gradient::tape::record::{Pushed, RowSource, Substep};
use crate::integrate::Length;
use body::PatchBody;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Bodies that contribute to a coefficient of a pair.
pub(crate) const SOURCES: usize = 2;

/// Covectors of a gradient with respect to a contact: normal and middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointBar<G: Geometry> {
    /// By the normal.
    pub normal: G::Lin,
    /// By the middle of the witness points.
    pub middle: G::Lin,
}

/// A gap, a speed or a slip that a row looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<G: Geometry> {
    /// By the velocities of its bodies.
    pub velocity: [Wrench<G>; 2],
    /// By their poses at the end of the move, where that is what it looks at.
    pub pose: [Wrench<G>; 2],
    /// By the contact at the end: for the shapes; the poses are counted above.
    pub end: (PointBar<G>, f64),
    /// By the contact at the pose whose rows push, and by the centres there.
    pub own: (PointBar<G>, [G::Lin; 2]),
}

/// A row of a contact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchRow<G: Geometry> {
    /// Its contact.
    pub contact: usize,
    /// Wrenches of a unit impulse.
    pub column: [Wrench<G>; 2],
    /// What it looks at: what vanishes where it holds, how the slip turns where friction is at its bound in space.
    pub seen: Option<Seen<G>>,
    /// Friction at its bound: the impulse less the bound, by the coefficient \[N s\].
    pub by_coefficient: f64,
}

/// A contact with its impulse in one solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchContact<G: Geometry> {
    /// Its bodies in the patch.
    pub bodies: [usize; 2],
    /// Where its rows stand.
    pub site: u32,
    /// Where the end of the move sees it; the same in stage 7.
    pub end: u32,
    /// Arms and impulse.
    pub arms: [G::Lin; 2],
    /// The impulse on the first body \[N s\].
    pub push: G::Lin,
    /// How it turns with each component of the normal.
    pub turning: [G::Lin; 3],
    /// Slots of its coefficient of friction with their weights.
    pub coefficient: [Option<(Block, f64)>; SOURCES],
}

/// One of the two solves of a patch.
#[derive(Debug)]
pub(crate) struct PatchSolve<G: Geometry> {
    /// Contacts that push.
    pub contacts: Vec<PatchContact<G>>,
    /// Their rows.
    pub rows: Vec<PatchRow<G>>,
    /// Slots of residuals and unknowns, with the guard and the time of an event last.
    pub residual: Block,
    /// Unknowns.
    pub unknown: Block,
    /// The factor, none without rows.
    pub factor: Option<Factored>,
}

/// The contact that ends a move: its bodies, where it stands, its covectors by the poses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchEvent<G: Geometry> {
    /// Its bodies in the patch.
    pub bodies: [usize; 2],
    /// Where it stands.
    pub site: u32,
    /// Its gap over the length, counted downwards, by the poses.
    pub pose: [Wrench<G>; 2],
}

/// A substep of a patch.
#[derive(Debug)]
pub(crate) struct Patch<G: Geometry> {
    pub(crate) bodies: Vec<PatchBody<G>>,
    /// The two solves.
    pub(crate) solves: [PatchSolve<G>; 2],
    /// What ends the move.
    pub(crate) event: Option<PatchEvent<G>>,
    pub(crate) length: f64,
    pub(crate) share: f64,
    pub(crate) time: Block,
    pub(crate) gravity: Gravity<G>,
    /// Whether parameters are asked about.
    pub(crate) asked: bool,
    /// Number of each body of the island in the patch.
    pub(crate) places: Vec<usize>,
    pub(crate) ends: Vec<(Key<G>, ContactPoint<G>)>,
    pub(crate) lists: PatchLists<G>,
    pub(crate) walk: PatchWalk<G>,
}

/// What the system of the rows at hand is made of.
#[derive(Debug)]
pub(crate) struct PatchLists<G: Geometry> {
    pub(crate) felt: Vec<Sides<G>>,
    pub(crate) answers: Vec<[(usize, Twist<G>); 2]>,
    pub(crate) entries: Vec<(usize, usize, f64)>,
    pub(crate) times: Vec<f64>,
}

/// What a walk over a patch writes down for bodies and contacts.
#[derive(Debug)]
pub(crate) struct PatchWalk<G: Geometry> {
    pub(crate) by_velocity: Vec<Wrench<G>>,
    pub(crate) by_pose: Vec<Wrench<G>>,
    pub(crate) bars: Vec<PointBar<G>>,
    pub(crate) changes: Vec<Twist<G>>,
}

impl<G: Geometry> Default for PatchSolve<G> {
    fn default() -> Self {
        PatchSolve { contacts: Vec::new(), rows: Vec::new(), residual: Block::NOWHERE, unknown: Block::NOWHERE, factor: None }
    }
}

impl<G: Geometry> Default for Patch<G> {
    fn default() -> Self {
        Patch {
            bodies: Vec::new(),
            solves: [PatchSolve::default(), PatchSolve::default()],
            event: None,
            length: 0.0,
            share: 0.0,
            time: Block::NOWHERE,
            gravity: Gravity { value: G::Lin::zero(), block: None },
            asked: false,
            places: Vec::new(),
            ends: Vec::new(),
            lists: PatchLists { felt: Vec::new(), answers: Vec::new(), entries: Vec::new(), times: Vec::new() },
            walk: PatchWalk { by_velocity: Vec::new(), by_pose: Vec::new(), bars: Vec::new(), changes: Vec::new() },
        }
    }
}

/// No body of a patch.
const NOBODY: usize = usize::MAX;

/// Whether a substep is one of contacts and loads alone, each contact closed at the end of the move as it was at its start.
pub(crate) fn applies<G: Geometry>(stage: &Stage<G>, substep: &Substep<G>) -> bool {
    let plain = |group: &Pushed<G>, held: bool| match group.source {
        RowSource::Contact { bodies, deep, rebound, .. } => {
            group.held == held
                && (!held || !deep)
                && rebound.is_none()
                && matches!(group.friction, FrictionMode::Sticks | FrictionMode::Slides)
                && bodies.iter().all(|&body| !stage.bodies[body].kinematic)
        }
        _ => false,
    };
    // In space a patch takes all bodies of its island.
    let turning = G::ANG == 1 || (!stage.model.options.forward() && !stage.bodies.iter().any(|body| body.kinematic));
    let event = match substep.rule {
        Length::Event(_, bodies) => bodies.iter().all(|&body| !stage.bodies[body].kinematic),
        _ => true,
    };
    turning
        && event
        && stage.weak == Weak::AsSolved
        && stage.model.options.scheme().kicks_again()
        && stage.joints.is_empty()
        && stage.forces.is_empty()
        && !substep.hold.uncorrected
        && substep.hold.pushed.iter().all(|group| plain(group, true))
        && substep.finish.pushed.iter().all(|group| plain(group, false))
}

/// Adds the derivative of a substep to which this applies, for all bodies but those that fly; their running poses and velocities become those of
/// its end. Returns the slot of the length. `None`, and nothing is changed, where its rows repeat others in a way that only the whole matrix
/// tells.
pub(crate) fn linearise<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    running: &mut Running,
    time: Option<Block>,
    switches: &mut Switches,
) -> Option<Block> {
    let mut patch = program.spare_patch();
    let mut seen = *switches;
    patch.gather(program, stage, substep, running, time);
    let factored = patch.hold(program, stage, substep, &mut seen) && patch.finish(program, stage, substep, &mut seen);
    if !factored {
        program.return_patch(patch);
        return None;
    }
    *switches = seen;
    for body in patch.bodies.iter().filter(|body| body.twist.is_some()) {
        (running.poses[body.local], running.twists[body.local]) = (Some(body.next), Some(body.end));
    }
    let time = patch.time;
    program.patch(patch);
    Some(time)
}

impl<G: Geometry> Patch<G> {
    /// Takes over the bodies.
    fn gather(&mut self, program: &mut Program<G>, stage: &Stage<G>, substep: &Substep<G>, running: &Running, time: Option<Block>) {
        self.length = substep.length;
        self.share = stage.model.options.scheme().share;
        let asked = program.free(stage.parameters.0);
        let block = asked.map(|theta| theta.part(stage.parameters.1.gravity.start, G::DIM));
        self.gravity = Gravity { value: stage.model.gravity, block };
        self.asked = asked.is_some();
        self.time = time.unwrap_or_else(|| program.fresh(1));
        self.bodies.clear();
        self.places.clear();
        // In space no flight has a map of its own.
        self.places.resize(stage.bodies.len(), if G::ANG > 1 { 0 } else { NOBODY });
        let mut named = |bodies: [usize; 2]| bodies.into_iter().for_each(|body| self.places[body] = 0);
        for group in substep.hold.pushed.iter().chain(&substep.finish.pushed) {
            if let RowSource::Contact { bodies, .. } = group.source {
                named(bodies);
            }
        }
        if let Length::Event(_, bodies) = substep.rule {
            named(bodies);
        }
        for (local, body) in stage.bodies.iter().enumerate() {
            let (true, Some(pose)) = (self.places[local] != NOBODY, running.poses[local]) else { continue };
            self.places[local] = self.bodies.len();
            let twist = running.twists[local];
            let mut slots = || twist.map_or(Block::NOWHERE, |_| program.fresh(G::DOF));
            let (next, half, end) = (slots(), slots(), slots());
            let poses = [substep.poses[local], substep.next[local]];
            let turned = poses.map(|pose| Turned::at(body, &pose));
            let link = LinkBody::of(stage, substep, running, local, asked, &turned[1], self.share);
            let next = if twist.is_some() { next } else { pose };
            self.bodies.push(PatchBody { local, link, turned, poses, pose, twist, next, half, end });
        }
    }

    /// Velocity that a second of a longer move adds.
    pub(crate) fn kick(&self, body: &PatchBody<G>) -> Twist<G> {
        if body.twist.is_none() {
            return Twist::zero();
        }
        body.response(0, &Wrench::zero().plus(self.share, body.force(0, &self.gravity)))
    }
}

impl<G: Geometry> PointBar<G> {
    /// Nothing.
    pub fn zero() -> Self {
        PointBar { normal: G::Lin::zero(), middle: G::Lin::zero() }
    }
    /// Adds a part of another.
    #[inline]
    pub fn add(&mut self, factor: f64, other: &Self) {
        self.normal += other.normal * factor;
        self.middle += other.middle * factor;
    }
}

impl<G: Geometry> Seen<G> {
    /// Nothing.
    pub fn nothing() -> Self {
        let zero = [Wrench::zero(); 2];
        Seen { velocity: zero, pose: zero, end: (PointBar::zero(), 0.0), own: (PointBar::zero(), [G::Lin::zero(); 2]) }
    }
    /// Adds a part of another.
    pub fn add(&mut self, factor: f64, other: &Self) {
        for side in 0..2 {
            self.velocity[side] = self.velocity[side].plus(factor, other.velocity[side]);
            self.pose[side] = self.pose[side].plus(factor, other.pose[side]);
            self.own.1[side] += other.own.1[side] * factor;
        }
        self.end.0.add(factor, &other.end.0);
        self.end.1 += factor * other.end.1;
        self.own.0.add(factor, &other.own.0);
    }
}
