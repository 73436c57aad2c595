//! How an island's work is written into its record.

use super::*;
use crate::island::parts::{Links, Motion, System, Touch};

/// Slack and impulse below this fraction of the largest of their kind are both zero: the contact is weakly active and its derivative
/// one-sided.
const WEAK: f64 = 1e-7;

/// Slack of an open row over a move that only its target made, in tolerances of position per step: twice what the solve leaves between them.
const FOLLOWED: f64 = 2.0 * crate::hold::OPEN_SLACK;

/// Gaps below this fraction of the size are closed to rounding.
const CLOSED: f64 = 1e-11;

impl<G: Geometry> IslandRecord<G> {
    /// The record of an island about to advance.
    pub fn begin(island: &Island<G>) -> Self {
        IslandRecord {
            bodies: island.members.bodies.iter().map(|b| b.index).collect(),
            joints: island.links.joints.clone(),
            ties: island.links.ties.clone(),
            tendons: {
                let near = |k: usize| island.system.assembly.equalities.tendons.coordinates(k);
                island.links.tendons.iter().enumerate().map(|(k, local)| LocalTie { near: near(k), ..local.clone() }).collect()
            },
            forces: island.loading.forces.clone(),
            substeps: Vec::new(),
            weak: 0,
            placed: false,
        }
    }

    /// Opens a substep at the island's present state.
    pub fn open(&mut self, island: &Island<G>, time: f64) {
        self.substeps.push(Substep {
            time,
            length: 0.0,
            rule: Length::Frozen,
            pace: Pace::Doubled,
            poses: island.motion.poses.clone(),
            arrival: None,
            strikes: Vec::new(),
            twists: Vec::new(),
            half: Vec::new(),
            midpoint: MidpointMove { mean: Vec::new(), obeyed: None, landed: false },
            next: Vec::new(),
            end: Vec::new(),
            hold: Solved::default(),
            finish: Solved::default(),
            left_out: LeftOut::default(),
        });
    }
}

impl<G: Geometry> Substep<G> {
    /// Notes stage 5 after the move, before poses are committed.
    pub fn note_move(&mut self, island: &Island<G>, ctx: &Context<G>, length: f64, rule: Length<G>, pace: Pace) -> usize {
        self.length = length;
        self.rule = rule;
        self.pace = pace;
        self.twists.clone_from(&island.motion.twists);
        self.half.clone_from(&island.motion.half);
        self.next.clone_from(&island.motion.next);
        let (mut solved, weak) = solved(island, ctx, Phase::Move);
        if ctx.model.options.scheme().by_means() {
            self.midpoint.mean.extend_from_slice(island.midpoint.mean());
            solved.reaction.clear();
            solved.reaction.extend_from_slice(island.midpoint.reaction());
        }
        self.hold = solved;
        weak
    }

    /// Notes stage 7.
    pub fn note_finish(&mut self, island: &Island<G>, ctx: &Context<G>) -> usize {
        self.end.clone_from(&island.motion.twists);
        self.left_out.explicit = island.books.report.gyroscopic;
        if ctx.model.options.scheme().one_solve() {
            // Only the joints act there.
            self.finish = Solved { reaction: island.system.solve.reaction.clone(), ..Solved::default() };
            return 0;
        }
        let (mut solved, weak) = solved(island, ctx, Phase::Finish);
        // Where rows are those of the start pose alone the end has nothing to do with the move.
        if !self.hold.uncorrected {
            solved.keep_side_of(&self.hold);
            self.hold.keep_side_of(&solved);
        }
        if let (true, Some(reaction)) = (ctx.model.options.scheme().by_means(), island.midpoint.landing()) {
            self.midpoint.landed = true;
            solved.reaction.clear();
            solved.reaction.extend_from_slice(reaction);
        }
        self.finish = solved;
        weak
    }
}

impl<G: Geometry> Solved<G> {
    /// Limits and ropes that another solve of the same substep needs and that are at a switch here stay on its side: what closes over the move stops at
    /// its end, and what stops at the end has closed by then, theory (17.42). Contacts share their load in more ways than one, and what their
    /// friction does without any is not decided: they stay as solved.
    fn keep_side_of(&mut self, other: &Solved<G>) {
        let needed = |group: &Pushed<G>| match group.source {
            RowSource::Limit { joint, index, .. } if group.weak => other.pushed.iter().any(|p| match p.source {
                RowSource::Limit { joint: j, index: i, deep } => !p.weak && !deep && (j, i) == (joint, index),
                _ => false,
            }),
            RowSource::TendonLimit { tendon, upper, .. } if group.weak => other.pushed.iter().any(|p| match p.source {
                RowSource::TendonLimit { tendon: t, upper: u, deep, .. } => !p.weak && !deep && (t, u) == (tendon, upper),
                _ => false,
            }),
            _ => false,
        };
        let Solved { pushed, idle, .. } = self;
        pushed.extend(idle.iter().copied().filter(needed));
        idle.retain(|group| !needed(group));
    }
}

/// What the present solve of an island answered, and how many contacts answered with nothing to nothing.
fn solved<G: Geometry>(island: &Island<G>, ctx: &Context<G>, phase: Phase) -> (Solved<G>, usize) {
    let Island {
        system: System { assembly, solve, .. },
        touch: Touch { near, .. },
        motion: Motion { next, .. },
        links: Links { pairs, joints, tendons, .. },
        ..
    } = island;
    let model = ctx.model;
    let uncorrected = phase == Phase::Move && solve.uncorrected;
    let mut out = Solved { reaction: solve.reaction.clone(), uncorrected, ..Solved::default() };
    let twists = match phase {
        Phase::Finish => &island.motion.twists[..],
        Phase::Move if model.options.scheme().by_means() => island.midpoint.mean(),
        Phase::Move => &island.motion.half,
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
        let one_sided = matches!(group.source, Source::Contact(_) | Source::Limit { .. } | Source::TendonLimit { .. });
        let (mut slack, mut at_switch) = (0.0, false);
        // An impulse that moves nothing is rounding, however small the others are, and must not decide.
        let line = &assembly.lines[group.first];
        let nothing = impulses[0] * assembly.equalities.line_answer(line) <= WEAK * model.tolerances.rest_speed;
        if one_sided && (nothing || impulses[0] <= WEAK * largest) {
            slack = assembly.equalities.line_speed(line, twists) - solve.target[row];
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
            Source::TendonLimit { tendon, upper, gap } => {
                let rows = &assembly.equalities.tendons;
                let then = || room(model, &tendons[tendon], rows.error(tendon, model, next), upper);
                let then = if phase == Phase::Move { then() } else { 0.0 };
                start = gap;
                let deep = gap < -model.tolerances.touch;
                let left = deep && then < 0.0 && then >= gap - model.tolerances.position;
                let source = RowSource::TendonLimit { tendon, terms: tendons[tendon].terms.len(), upper, deep };
                (source, phase == Phase::Move && !uncorrected && !left)
            }
            Source::Tendon { tendon, stretch } => (RowSource::Tendon { tendon, terms: tendons[tendon].terms.len(), stretch }, false),
        };
        let opening = if start.abs() <= CLOSED * size { 0 } else { start.signum() as i8 };
        let friction = match source {
            RowSource::Contact { friction, .. } => FrictionMode::of::<G>(&impulses, friction, model.options.friction_cone),
            _ => FrictionMode::Sticks,
        };
        let rounding = nothing && matches!(group.source, Source::Limit { .. } | Source::TendonLimit { .. });
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
