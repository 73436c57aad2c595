//! What a step leaves behind for its derivative: the poses and velocities it passed through, who answered with which impulse, and what
//! decided the length of each substep, theory (17.3).

mod note;

use crate::assembly::Source;
use crate::contacts::{Key, NO_GROUP};
use crate::coupling::LocalTie;
use crate::gradient::rows::friction_mode::FrictionMode;
use crate::integrate::{Length, Pace};
use crate::island::{Context, Island, LocalJoint};
use crate::moments::{self, Arms};
use crate::options::ImpactLaw;
use crate::solve::Phase;
use crate::tendon::room;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};
use carom_solve::impact::{Record, SparseGram};

/// Where a group of rows comes from; joints and bodies are numbered within the island.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowSource<G: Geometry> {
    /// A contact.
    Contact {
        /// Its name.
        key: Key<G>,
        /// Local bodies.
        bodies: [usize; 2],
        /// Coefficient of friction it was solved with.
        friction: f64,
        /// Overlap beyond touching at the start, which the move keeps.
        deep: bool,
        /// Restitution that drives it apart, where that is part of the solve (c inside the problem).
        rebound: Option<f64>,
    },
    /// The moments of the contact that stands before it; its impulses are those about its axes \[N m s\].
    Moment {
        /// Bodies of the model.
        bodies: [usize; 2],
        /// Arms it was solved with \[m\].
        arms: Arms,
        /// Normal impulse of the contact \[N s\].
        pushed: f64,
    },
    /// A limit or rope.
    Limit {
        /// Joint of the island.
        joint: usize,
        /// Which of its inequalities.
        index: usize,
        /// Beyond the limit at the start, which the move keeps.
        deep: bool,
    },
    /// A motor.
    Motor {
        /// Joint of the island.
        joint: usize,
    },
    /// Dry friction in a joint.
    Friction {
        /// Joint of the island.
        joint: usize,
    },
    /// A spring as a soft row.
    Spring {
        /// Joint of the island.
        joint: usize,
    },
    /// A limit of a tendon.
    TendonLimit {
        /// Tendon of the island.
        tendon: usize,
        /// How many joints it has.
        terms: usize,
        /// Whether it is the upper one.
        upper: bool,
        /// Beyond the limit at the start, which the move keeps.
        deep: bool,
    },
    /// A tendon as a soft row.
    Tendon {
        /// Tendon of the island.
        tendon: usize,
        /// How many joints it has.
        terms: usize,
        /// How far it was stretched.
        stretch: f64,
    },
}

/// Rows that pushed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pushed<G: Geometry> {
    /// Where they come from.
    pub source: RowSource<G>,
    /// Their impulses; a contact's normal first.
    pub impulses: [f64; 3],
    /// Held at the end of the move; otherwise by the rows of the start pose only.
    pub held: bool,
    /// Whether the row was open (1), closed (0) or overlapping (-1) at the start, beyond rounding.
    pub opening: i8,
    /// Neither slack nor impulse: the row may push or part.
    pub weak: bool,
    /// Speed of a one-sided row over its target [m/s]; 0 where it pushes. A contact held at the end of a move has its gap there instead.
    pub slack: f64,
    /// What friction does, for a contact.
    pub friction: FrictionMode,
}

/// One of the two solves of a substep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solved<G: Geometry> {
    /// Impulses of the joint rows, in order.
    pub reaction: Vec<f64>,
    /// Rows that pushed.
    pub pushed: Vec<Pushed<G>>,
    /// One-sided rows that took part and did not push.
    pub idle: Vec<Pushed<G>>,
    /// Only the rows of the start pose counted, joints included.
    pub uncorrected: bool,
}

/// One application of an impact law.
#[derive(Clone, Debug)]
pub(crate) struct Strike<G: Geometry> {
    /// Velocities before.
    pub before: Vec<Twist<G>>,
    /// Its contacts: name and local bodies.
    pub contacts: Vec<(Key<G>, [usize; 2])>,
    /// J M~^-1 J' of its rows: normals, then tangents contact by contact.
    pub gram: SparseGram,
    /// Velocity of each row before.
    pub approach: Vec<f64>,
    /// Coefficients of friction.
    pub friction: Vec<f64>,
    /// Coefficients of restitution it was solved with.
    pub restitution: Vec<f64>,
    /// Whether restitution was that of the materials (a first round) or dropped.
    pub elastic: bool,
    /// Impulses of the rows.
    pub impulses: Vec<f64>,
    /// The law.
    pub law: ImpactLaw,
    /// Collisions one at a time, in order, each with the restitution it used; empty for laws that take all contacts at once.
    pub sequence: Vec<(usize, f64)>,
    /// Active sets and locked contacts of a law that takes all contacts at once.
    pub active: Record,
    /// Whether such a law ended at its cap, with the inelastic answer.
    pub capped: bool,
    /// Rows that the joints lock.
    pub locked: Vec<bool>,
    /// How its bodies came to it, where others struck at the same instant and this one moves in time by itself, theory (17.40).
    pub arrival: Option<Arrival<G>>,
    /// Contacts that push each other closed at the same instant: had they closed one after another, the outcome might be another.
    pub tied: bool,
}

/// How bodies came to strike where no event ended the move before: the clock stopped at their touching.
#[derive(Clone, Debug)]
pub(crate) struct Arrival<G: Geometry> {
    /// The contact that closes fastest.
    pub key: Key<G>,
    /// Its local bodies.
    pub bodies: [usize; 2],
    /// Velocities before the strike.
    pub twists: Vec<Twist<G>>,
    /// Accelerations before the strike.
    pub accelerations: Vec<Twist<G>>,
    /// Whether they were found to the residual wanted.
    pub solved: bool,
}

/// One substep.
#[derive(Clone, Debug)]
pub(crate) struct Substep<G: Geometry> {
    /// Time at its start \[s\].
    pub time: f64,
    /// Length \[s\].
    pub length: f64,
    /// What decided it.
    pub rule: Length<G>,
    /// How the pace was set.
    pub pace: Pace,
    /// Poses q.
    pub poses: Vec<Pose<G>>,
    /// How the bodies came to strike, where no event foretold it.
    pub arrival: Option<Arrival<G>>,
    /// Impacts at its start.
    pub strikes: Vec<Strike<G>>,
    /// Velocities after them.
    pub twists: Vec<Twist<G>>,
    /// Velocities of the move.
    pub half: Vec<Twist<G>>,
    /// What the midpoint rule adds.
    pub midpoint: MidpointMove<G>,
    /// Poses q'.
    pub next: Vec<Pose<G>>,
    /// Velocities at q'.
    pub end: Vec<Twist<G>>,
    /// Stage 5.
    pub hold: Solved<G>,
    /// Stage 7.
    pub finish: Solved<G>,
    /// What the derivative leaves out.
    pub left_out: LeftOut,
}

/// What a move under the midpoint rule leaves behind besides.
#[derive(Clone, Debug)]
pub(crate) struct MidpointMove<G: Geometry> {
    /// Mean twists of the move; none under other rules.
    pub mean: Vec<Twist<G>>,
    /// Velocities as the joints allowed them, and the impulses that made them so, where they were projected before a strike.
    pub obeyed: Option<(Vec<Twist<G>>, Vec<f64>)>,
    /// Stage 7 had rows to hold or to take back.
    pub landed: bool,
}

/// What happened in a substep that its derivative leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// The move was stepped: its impacts were put at its end, and their derivative is not taken down.
    pub stepped: bool,
    /// A gyroscopic torque was not found: its derivative is taken as if it had been.
    pub explicit: bool,
    /// Positions were projected afterwards: their derivative is taken as if they had not been.
    pub projected: bool,
}

/// The substeps of an island.
#[derive(Clone, Debug)]
pub(crate) struct IslandRecord<G: Geometry> {
    /// Model index of each local body; `WORLD` for the first.
    pub bodies: Vec<usize>,
    /// Joints.
    pub joints: Vec<LocalJoint>,
    /// Couplings.
    pub ties: Vec<LocalTie>,
    /// Tendons.
    pub tendons: Vec<LocalTie>,
    /// Forces: (force, local body, control).
    pub forces: Vec<(usize, usize, Option<usize>)>,
    /// In order.
    pub substeps: Vec<Substep<G>>,
    /// Contacts with neither slack nor impulse.
    pub weak: usize,
    /// Joints had been set apart and were closed beforehand: the derivative is taken as if they had not been.
    pub placed: bool,
}

impl<G: Geometry> IslandRecord<G> {
    /// Bytes held by the record.
    pub fn bytes(&self) -> usize {
        let lists = size_of_val(&self.bodies[..]) + size_of_val(&self.joints[..]) + size_of_val(&self.forces[..]);
        size_of::<Self>() + lists + self.substeps.iter().map(Substep::bytes).sum::<usize>()
    }

    /// The substep being recorded.
    pub fn last(&mut self) -> Option<&mut Substep<G>> {
        self.substeps.last_mut()
    }
}

impl<G: Geometry> Arrival<G> {
    /// Bytes of its lists.
    fn bytes(&self) -> usize {
        size_of_val(&self.twists[..]) + size_of_val(&self.accelerations[..])
    }
}

impl<G: Geometry> Substep<G> {
    /// Bytes held by the substep.
    pub fn bytes(&self) -> usize {
        let poses = size_of_val(&self.poses[..]) + size_of_val(&self.next[..]);
        let twists = size_of_val(&self.twists[..])
            + size_of_val(&self.half[..])
            + size_of_val(&self.end[..])
            + size_of_val(&self.midpoint.mean[..])
            + self.arrival.as_ref().map_or(0, Arrival::bytes)
            + self.midpoint.obeyed.as_ref().map_or(0, |(twists, reaction)| size_of_val(&twists[..]) + size_of_val(&reaction[..]));
        let solved = |s: &Solved<G>| size_of_val(&s.reaction[..]) + size_of_val(&s.pushed[..]) + size_of_val(&s.idle[..]);
        let strikes: usize = self
            .strikes
            .iter()
            .map(|s| {
                let numbers = s.approach.len() + s.friction.len() + s.restitution.len() + s.impulses.len();
                let lists = size_of_val(&s.before[..]) + size_of_val(&s.contacts[..]) + size_of_val(&s.sequence[..]) + s.locked.len();
                lists + numbers * size_of::<f64>() + s.gram.bytes() + s.active.bytes() + s.arrival.as_ref().map_or(0, Arrival::bytes)
            })
            .sum();
        size_of::<Self>() + poses + twists + solved(&self.hold) + solved(&self.finish) + strikes
    }

    /// Rows that are closed at its start and push, or strike there.
    pub fn touching(&self) -> usize {
        let closed = |p: &&Pushed<G>| {
            p.opening == 0 && matches!(p.source, RowSource::Contact { .. } | RowSource::Limit { .. } | RowSource::TendonLimit { .. })
        };
        let rows = self.hold.pushed.iter().filter(closed).count();
        let struck = |strike: &Strike<G>| strike.impulses[..strike.contacts.len()].iter().filter(|&&impulse| impulse > 0.0).count();
        rows + if self.arrival.is_some() { self.strikes.iter().map(struck).sum() } else { 0 }
    }
}

impl<G: Geometry> Pushed<G> {
    /// Whether another group comes from the same place and answers in the same way.
    fn same(&self, other: &Self) -> bool {
        let place = match (self.source, other.source) {
            (RowSource::Contact { key: a, deep: i, .. }, RowSource::Contact { key: b, deep: j, .. }) => a == b && i == j,
            (RowSource::Limit { joint: a, index: i, deep: p }, RowSource::Limit { joint: b, index: j, deep: q }) => (a, i, p) == (b, j, q),
            (RowSource::TendonLimit { tendon: a, upper: i, deep: p, .. }, RowSource::TendonLimit { tendon: b, upper: j, deep: q, .. }) => {
                (a, i, p) == (b, j, q)
            }
            (RowSource::Tendon { tendon: a, .. }, RowSource::Tendon { tendon: b, .. }) => a == b,
            (RowSource::Motor { joint: a }, RowSource::Motor { joint: b })
            | (RowSource::Friction { joint: a }, RowSource::Friction { joint: b })
            | (RowSource::Spring { joint: a }, RowSource::Spring { joint: b }) => a == b,
            _ => false,
        };
        place && self.friction == other.friction && self.held == other.held && self.opening == other.opening
    }
}

impl<G: Geometry> Substep<G> {
    /// Whether another substep took the same decisions: what struck, what held, what slid, what ended the move.
    fn same(&self, other: &Self) -> bool {
        let rule = match (self.rule, other.rule) {
            (Length::Event(a, _), Length::Event(b, _)) => a == b,
            (Length::OfRemaining(a), Length::OfRemaining(b)) | (Length::OfPace(a), Length::OfPace(b)) => a == b,
            (Length::Frozen, Length::Frozen) => true,
            _ => false,
        };
        let solved = |a: &Solved<G>, b: &Solved<G>| {
            a.uncorrected == b.uncorrected && a.pushed.len() == b.pushed.len() && a.pushed.iter().zip(&b.pushed).all(|(a, b)| a.same(b))
        };
        let strikes = self.strikes.len() == other.strikes.len()
            && self.strikes.iter().zip(&other.strikes).all(|(a, b)| {
                let order = |s: &Strike<G>| s.sequence.iter().map(|c| c.0).collect::<Vec<_>>();
                a.contacts == b.contacts && a.elastic == b.elastic && order(a) == order(b)
            });
        rule && strikes
            && solved(&self.hold, &other.hold)
            && solved(&self.finish, &other.finish)
            && self.left_out.projected == other.left_out.projected
            && self.left_out.stepped == other.left_out.stepped
    }
}

impl<G: Geometry> IslandRecord<G> {
    /// Whether another island went the same way.
    pub fn same_decisions(&self, other: &Self) -> bool {
        self.bodies == other.bodies
            && self.placed == other.placed
            && self.substeps.len() == other.substeps.len()
            && self.substeps.iter().zip(&other.substeps).all(|(a, b)| a.same(b))
    }
}
