//! What a step leaves behind for its derivative: the poses and velocities it passed through, who answered with which impulse, and what
//! decided the length of each substep, theory (17.3).

use super::friction_mode::FrictionMode;
use crate::assembly::Source;
use crate::contacts::{Key, NO_GROUP};
use crate::coupling::LocalTie;
use crate::island::{Context, Island, LocalJoint};
use crate::moments::{self, Arms};
use crate::options::{ImpactLaw, Integrator};
use crate::solve::Phase;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};
use carom_solve::impact::{Record, SparseGram};

/// Slack and impulse below this fraction of the largest of their kind are both zero: the contact is weakly active and its derivative
/// one-sided.
const WEAK: f64 = 1e-7;

/// Slack of an open row over a move that only its target made, in tolerances of position per step: twice what the solve leaves between them.
const FOLLOWED: f64 = 2.0 * crate::hold::OPEN_SLACK;

/// Gaps below this fraction of the size are closed to rounding.
const CLOSED: f64 = 1e-11;

/// What decided the length of a substep.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length<G: Geometry> {
    /// A part of what was left of the step.
    OfRemaining(f64),
    /// A part of the pace set by an earlier substep.
    OfPace(f64),
    /// The gap of these features vanishes at its end.
    Event(Key<G>, [usize; 2]),
    /// A number that is held (the path to a graze that no longer ends there).
    Frozen,
}

/// How the pace of the following substeps was set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// Twice what it was.
    Doubled,
    /// A part of what was left of the step.
    OfRemaining(f64),
    /// A part of what it was.
    Part(f64),
}

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
    /// The moments of the contact that stands before it; its impulses are those about its axes [N m s].
    Moment {
        /// Bodies of the model.
        bodies: [usize; 2],
        /// Arms it was solved with [m].
        arms: Arms,
        /// Normal impulse of the contact [N s].
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
    /// How its bodies came to it, where others struck at the same instant and this one moves in time by itself, theory (17.62).
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
    /// Time at its start [s].
    pub time: f64,
    /// Length [s].
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
    /// Mean twists of the move, under the midpoint rule; else none.
    pub mean: Vec<Twist<G>>,
    /// Velocities as the joints allowed them, and the impulses that made them so, where they were projected before a strike.
    pub obeyed: Option<(Vec<Twist<G>>, Vec<f64>)>,
    /// Under the midpoint rule: room 7 had rows to hold or to take back.
    pub landed: bool,
    /// Poses q'.
    pub next: Vec<Pose<G>>,
    /// Velocities at q'.
    pub end: Vec<Twist<G>>,
    /// Room 5.
    pub hold: Solved<G>,
    /// Room 7.
    pub finish: Solved<G>,
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
    /// The record of an island about to advance.
    pub fn begin(island: &Island<G>) -> Self {
        IslandRecord {
            bodies: island.bodies.iter().map(|b| b.index).collect(),
            joints: island.joints.clone(),
            ties: island.ties.clone(),
            forces: island.forces.clone(),
            substeps: Vec::new(),
            weak: 0,
            placed: false,
        }
    }

    /// Bytes held by the record.
    pub fn bytes(&self) -> usize {
        let lists = size_of_val(&self.bodies[..]) + size_of_val(&self.joints[..]) + size_of_val(&self.forces[..]);
        size_of::<Self>() + lists + self.substeps.iter().map(Substep::bytes).sum::<usize>()
    }

    /// Opens a substep at the island's present state.
    pub fn open(&mut self, island: &Island<G>, time: f64) {
        self.substeps.push(Substep {
            time,
            length: 0.0,
            rule: Length::Frozen,
            pace: Pace::Doubled,
            poses: island.poses.clone(),
            arrival: None,
            strikes: Vec::new(),
            twists: Vec::new(),
            half: Vec::new(),
            mean: Vec::new(),
            obeyed: None,
            landed: false,
            next: Vec::new(),
            end: Vec::new(),
            hold: Solved::default(),
            finish: Solved::default(),
            stepped: false,
            explicit: false,
            projected: false,
        });
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
            + size_of_val(&self.mean[..])
            + self.arrival.as_ref().map_or(0, Arrival::bytes)
            + self.obeyed.as_ref().map_or(0, |(twists, reaction)| size_of_val(&twists[..]) + size_of_val(&reaction[..]));
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
        let closed = |p: &&Pushed<G>| p.opening == 0 && matches!(p.source, RowSource::Contact { .. } | RowSource::Limit { .. });
        let rows = self.hold.pushed.iter().filter(closed).count();
        let struck = |strike: &Strike<G>| strike.impulses[..strike.contacts.len()].iter().filter(|&&impulse| impulse > 0.0).count();
        rows + if self.arrival.is_some() { self.strikes.iter().map(struck).sum() } else { 0 }
    }

    /// Notes room 5 after the move, before poses are committed.
    pub fn note_move(&mut self, island: &Island<G>, ctx: &Context<G>, length: f64, rule: Length<G>, pace: Pace) -> usize {
        self.length = length;
        self.rule = rule;
        self.pace = pace;
        self.twists.clone_from(&island.twists);
        self.half.clone_from(&island.half);
        self.next.clone_from(&island.next);
        let (mut solved, weak) = solved(island, ctx, Phase::Move);
        if ctx.model.options.integrator == Integrator::EnergyMomentum {
            self.mean.extend_from_slice(island.midpoint.mean());
            solved.reaction.clear();
            solved.reaction.extend_from_slice(island.midpoint.reaction());
        }
        self.hold = solved;
        weak
    }

    /// Notes room 7.
    pub fn note_finish(&mut self, island: &Island<G>, ctx: &Context<G>) -> usize {
        self.end.clone_from(&island.twists);
        self.explicit = island.report.gyroscopic;
        if ctx.model.options.integrator == Integrator::Euler {
            // Only the joints act there.
            self.finish = Solved { reaction: island.solve.reaction.clone(), ..Solved::default() };
            return 0;
        }
        let (mut solved, weak) = solved(island, ctx, Phase::Finish);
        // Where rows are those of the start pose alone the end has nothing to do with the move.
        if !self.hold.uncorrected {
            solved.keep_side_of(&self.hold);
            self.hold.keep_side_of(&solved);
        }
        if let (Integrator::EnergyMomentum, Some(reaction)) = (ctx.model.options.integrator, island.midpoint.landing()) {
            self.landed = true;
            solved.reaction.clear();
            solved.reaction.extend_from_slice(reaction);
        }
        self.finish = solved;
        weak
    }
}

impl<G: Geometry> Solved<G> {
    /// Limits and ropes that another solve of the same substep needs and that are at a switch here stay on its side: what closes over the move stops at
    /// its end, and what stops at the end has closed by then, theory (17.64). Contacts share their load in more ways than one, and what their
    /// friction does without any is not decided: they stay as solved.
    fn keep_side_of(&mut self, other: &Solved<G>) {
        let needed = |group: &Pushed<G>| match group.source {
            RowSource::Limit { joint, index, .. } if group.weak => other.pushed.iter().any(|p| match p.source {
                RowSource::Limit { joint: j, index: i, deep } => !p.weak && !deep && (j, i) == (joint, index),
                _ => false,
            }),
            _ => false,
        };
        let Solved { pushed, idle, .. } = self;
        pushed.extend(idle.iter().copied().filter(needed));
        idle.retain(|group| !needed(group));
    }
}

impl<G: Geometry> Pushed<G> {
    /// Whether another group comes from the same place and answers in the same way.
    fn same(&self, other: &Self) -> bool {
        let place = match (self.source, other.source) {
            (RowSource::Contact { key: a, deep: i, .. }, RowSource::Contact { key: b, deep: j, .. }) => a == b && i == j,
            (RowSource::Limit { joint: a, index: i, deep: p }, RowSource::Limit { joint: b, index: j, deep: q }) => (a, i, p) == (b, j, q),
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
            && self.projected == other.projected
            && self.stepped == other.stepped
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

/// What the present solve of an island answered, and how many contacts answered with nothing to nothing.
fn solved<G: Geometry>(island: &Island<G>, ctx: &Context<G>, phase: Phase) -> (Solved<G>, usize) {
    let Island { assembly, solve, near, next, pairs, joints, .. } = island;
    let model = ctx.model;
    let uncorrected = phase == Phase::Move && solve.uncorrected;
    let mut out = Solved { reaction: solve.reaction.clone(), uncorrected, ..Solved::default() };
    let twists = match (phase, model.options.integrator) {
        (Phase::Finish, _) => &island.twists[..],
        (Phase::Move, Integrator::EnergyMomentum) => island.midpoint.mean(),
        (Phase::Move, _) => &island.half,
    };
    let largest = solve.impulses.iter().fold(0.0f64, |m, l| m.max(l.abs()));
    let fastest = twists.iter().fold(0.0f64, |m, v| m.max(v.lin.norm()));
    let mut weak = 0;
    for (position, &index) in solve.groups.iter().enumerate() {
        let group = assembly.groups[index];
        let row = solve.first[position];
        let mut impulses = [0.0; 3];
        let plain = group.rows.min(1 + G::TANGENTS);
        impulses[..plain].copy_from_slice(&solve.impulses[row..row + plain]);
        let one_sided = matches!(group.source, Source::Contact(_) | Source::Limit { .. });
        let (mut slack, mut at_switch) = (0.0, false);
        // An impulse that moves nothing is rounding, however small the others are, and must not decide.
        let line = &assembly.lines[group.first];
        let nothing = impulses[0] * line.couple(line) <= WEAK * model.tolerances.rest_speed;
        if one_sided && (nothing || impulses[0] <= WEAK * largest) {
            slack = assembly.lines[group.first].speed(twists) - solve.target[row];
            // The target of an open row follows the move at a little distance, which is no slack.
            let size = if let Source::Contact(c) = group.source { pairs[near[c].pair].size } else { 1.0 };
            let followed = if phase == Phase::Move { FOLLOWED * model.tolerances.position * size / model.step } else { 0.0 };
            at_switch = slack <= WEAK * (fastest + ctx.model.tolerances.rest_speed) + followed;
            weak += usize::from(at_switch);
        }
        let (mut start, mut size) = (0.0, 1.0);
        let (source, held) = match group.source {
            Source::Contact(c) => {
                let contact = &near[c];
                let touch = model.tolerances.touch * pairs[contact.pair].size;
                (start, size) = (contact.contact.gap, pairs[contact.pair].size);
                let rebound = solve.leaving[position].then_some(pairs[contact.pair].restitution);
                // An overlap that does not deepen is left where it is: its rows are those of the start pose. Within touching it counts as closed,
                // which is what any opening of it makes it.
                let deep = start < -touch;
                let left = phase == Phase::Move && deep && {
                    let then = contact.at(model, next).gap;
                    then < 0.0 && then >= start - model.tolerances.position * pairs[contact.pair].size
                };
                let friction = if solve.jammed { 0.0 } else { pairs[contact.pair].friction };
                let source = RowSource::Contact { key: contact.key, bodies: contact.bodies, friction, deep, rebound };
                (source, phase == Phase::Move && !uncorrected && !left && rebound.is_none())
            }
            Source::Limit { joint, index, gap } => {
                let [a, b] = joints[joint].bodies;
                let then =
                    if phase == Phase::Move { model.joints[joints[joint].index].inequality(index, &next[a], &next[b]).0 } else { 0.0 };
                start = gap;
                let deep = gap < -model.tolerances.touch;
                let left = deep && then < 0.0 && then >= gap - model.tolerances.position;
                let source = RowSource::Limit { joint, index, deep };
                (source, phase == Phase::Move && !uncorrected && !left)
            }
            Source::Motor { joint, .. } => (RowSource::Motor { joint }, false),
            Source::Friction { joint } => (RowSource::Friction { joint }, false),
            Source::Spring { joint, .. } => (RowSource::Spring { joint }, false),
        };
        let opening = if start.abs() <= CLOSED * size { 0 } else { start.signum() as i8 };
        let friction = match source {
            RowSource::Contact { friction, .. } => FrictionMode::of::<G>(&impulses, friction, model.options.friction_cone),
            _ => FrictionMode::Sticks,
        };
        let rounding = nothing && matches!(group.source, Source::Limit { .. });
        let list = if one_sided && (impulses[0] <= 0.0 || rounding) { &mut out.idle } else { &mut out.pushed };
        list.push(Pushed { source, impulses, held, opening, weak: at_switch, slack, friction });
        if let (true, Source::Contact(c), false) = (plain < group.rows, group.source, impulses[0] <= 0.0) {
            let length = moments::length(assembly, &group);
            let mut turned = [0.0; 3];
            turned.iter_mut().zip(&solve.impulses[row + plain..row + group.rows]).for_each(|(moment, l)| *moment = length * l);
            let arms = if solve.jammed { [0.0; 2] } else { pairs[near[c].pair].arms };
            let source = RowSource::Moment { bodies: near[c].key.bodies, arms, pushed: impulses[0] };
            out.pushed.push(Pushed { source, impulses: turned, held: false, opening: 0, weak: at_switch, slack: 0.0, friction });
        }
    }
    // Contacts within the margin that have no rows: smoothed complementarity feels them.
    if phase == Phase::Move && !uncorrected {
        for contact in near.iter().filter(|near| near.group == NO_GROUP) {
            let friction = if solve.jammed { 0.0 } else { pairs[contact.pair].friction };
            let source = RowSource::Contact { key: contact.key, bodies: contact.bodies, friction, deep: false, rebound: None };
            let slack = contact.contact.gap.max(0.0);
            let friction = FrictionMode::Sticks;
            out.idle.push(Pushed { source, impulses: [0.0; 3], held: true, opening: 1, weak: false, slack, friction });
        }
    }
    (out, weak)
}
