//! States that start wrong: what a state set from outside has where its model does not let it be, put right before anything moves, theory (2.36).

use crate::assembly::Source;
use crate::constraints::JointKind;
use crate::error::{Cause, Stage, StepError};
use crate::island::{Context, Island};
use crate::model::Model;
use crate::observe::report;
use crate::project::{self, Aim, SET_APART};
use crate::step::begin;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Pose, Vector};
use std::f64::consts::TAU;

/// Limits and ropes passed by less than this \[rad, or of the length\] are where rows hold them: nothing is said of them.
const NOTABLE: f64 = 1e-6;

/// An angle beyond its limits is about as near to one of them as to the other where the two ways differ by less than this \[rad\].
const EITHER_WAY: f64 = 0.1;

/// Faults that are named one by one; nobody reads more.
const MOST_NAMED: usize = 20;

/// Where a state is not as its model lets it be. Joints and bodies are indexes into the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A joint beyond its limits.
    Limit {
        /// Joint.
        joint: usize,
        /// Its coordinate \[rad or m\].
        value: f64,
        /// Its limits.
        range: [f64; 2],
        /// How far beyond \[rad or m\].
        beyond: f64,
        /// The other limit is about as near, the other way round.
        either: bool,
    },
    /// A tendon beyond its limits.
    Tendon {
        /// Coupling.
        coupling: usize,
        /// Its sum of coordinates.
        value: f64,
        /// Its limits.
        range: [f64; 2],
        /// How far beyond.
        beyond: f64,
    },
    /// A rope that is stretched.
    Rope {
        /// Joint.
        joint: usize,
        /// Distance of its ends \[m\].
        value: f64,
        /// Its length \[m\].
        length: f64,
    },
    /// A joint whose parts were set apart.
    Apart {
        /// Joint.
        joint: usize,
        /// How far it is open \[m or rad\].
        gap: f64,
    },
    /// Two bodies that overlap.
    Overlap {
        /// Bodies.
        bodies: [usize; 2],
        /// How deep \[m\].
        depth: f64,
    },
}

/// What was wrong with a state, and what putting it right came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// What was wrong: joints first, then bodies, each by rising index.
    pub faults: Vec<Fault>,
    /// Whether anything was moved for it. Limits and ropes passed by less than a hundredth \[rad, or of the length\] are left to the first step.
    pub moved: bool,
    /// Energy that moving it took in, as the ledger's projection has it \[J\].
    pub energy: f64,
    /// Farthest way of a centre of mass \[m\].
    pub shift: f64,
    /// Largest turn of a body \[rad\].
    pub turn: f64,
    /// The deepest overlap that could not be removed: bodies, and depth of the size of the smaller one.
    pub left: Option<([usize; 2], f64)>,
}

impl Placement {
    /// Overlaps left beyond this part of the smaller body are no start: `carom check` refuses them.
    pub const OVERLAP_ALLOWED: f64 = SET_APART;

    /// Nothing was wrong.
    pub(crate) fn clear(&mut self) {
        self.faults.clear();
        *self = Placement { faults: std::mem::take(&mut self.faults), ..Placement::default() };
    }
    /// Adds what another island had.
    pub(crate) fn merge(&mut self, other: &Placement) {
        self.faults.extend_from_slice(&other.faults);
        self.moved |= other.moved;
        self.energy += other.energy;
        self.shift = self.shift.max(other.shift);
        self.turn = self.turn.max(other.turn);
        let depth = |left: &Option<([usize; 2], f64)>| left.map_or(0.0, |(_, depth)| depth);
        if depth(&other.left) > depth(&self.left) {
            self.left = other.left;
        }
    }
    /// In words, by name: a line for each of the first faults, one that counts the rest, then one for what was moved.
    pub fn notes<G: Geometry>(&self, model: &Model<G>) -> Vec<String> {
        let mut out: Vec<String> = self.faults.iter().take(MOST_NAMED).map(|fault| fault.words(model)).collect();
        if self.faults.len() > MOST_NAMED {
            out.push(format!("{} more joints or pairs of bodies start wrong", self.faults.len() - MOST_NAMED));
        }
        if self.moved {
            let left = self.left.map_or_else(String::new, |([a, b], depth)| {
                let [a, b] = [a, b].map(|body| &model.bodies[body].name);
                format!("; \"{a}\" and \"{b}\" still overlap by {} of the smaller one", short(depth))
            });
            out.push(format!(
                "put right before the first step: moved by up to {} m and {} rad, {} J booked as projection{left}",
                short(self.shift),
                short(self.turn),
                short(self.energy),
            ));
        }
        out
    }
}

impl Fault {
    /// In words, by name.
    pub fn words<G: Geometry>(&self, model: &Model<G>) -> String {
        let unit = |joint: usize| if model.joints[joint].is_angular() { "rad" } else { "m" };
        match *self {
            Fault::Limit { joint, value, range: [low, high], beyond, either } => {
                let unit = unit(joint);
                let doubt = if either { "; the other limit is about as near the other way round" } else { "" };
                format!(
                    "joint \"{}\" at {} {unit} is beyond its limits [{}, {}] by {} {unit}{doubt}",
                    model.joints[joint].name,
                    short(value),
                    short(low),
                    short(high),
                    short(beyond)
                )
            }
            Fault::Rope { joint, value, length } => {
                let name = &model.joints[joint].name;
                format!("rope \"{name}\" is stretched to {} m, it is {} m long", short(value), short(length))
            }
            Fault::Tendon { coupling, value, range: [low, high], beyond } => format!(
                "joint \"{}\" at {} is beyond its limits [{}, {}] by {}",
                model.couplings[coupling].name,
                short(value),
                short(low),
                short(high),
                short(beyond)
            ),
            Fault::Apart { joint, gap } => format!("joint \"{}\" is open by {}", model.joints[joint].name, short(gap)),
            Fault::Overlap { bodies: [a, b], depth } => {
                format!("bodies \"{}\" and \"{}\" overlap by {} m", model.bodies[a].name, model.bodies[b].name, short(depth))
            }
        }
    }
    /// Joints before bodies, each by rising index.
    fn order(&self) -> (bool, usize, usize) {
        match *self {
            // Behind all joints.
            Fault::Tendon { coupling, .. } => (false, usize::MAX, coupling),
            Fault::Limit { joint, .. } | Fault::Rope { joint, .. } | Fault::Apart { joint, .. } => (false, joint, 0),
            Fault::Overlap { bodies: [a, b], .. } => (true, a, b),
        }
    }
}

/// A number with four digits or so.
fn short(x: f64) -> String {
    let size = x.abs();
    if x != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{x:.2e}");
    }
    let digits = format!("{x:.4}");
    digits.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Puts right what starts wrong before anything moves, so that no impulse has to, theory (2.36). A move ends with its joints closed, and nothing is
/// done where the last one did.
pub(crate) fn place<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    if !ctx.fresh {
        let closed = (island.current && island.system.solve.closed) || island.links.joints.is_empty();
        // Where drift is taken back by velocities it is the scheme's own.
        let drifts = ctx.model.options.stabilisation.share().is_some();
        if closed || drifts || project::worst_joint(island, ctx) <= SET_APART {
            return Ok(());
        }
        // Torn apart by a step that did not converge: what this gains is taken from the motion.
        island.system.solve.closed = false;
        project::project(island, ctx)?;
        report(island, |observer, _| observer.placed());
        return Ok(());
    }
    island.system.solve.closed = false;
    if !find_faults(island, ctx) {
        return Ok(());
    }
    let from = island.motion.poses.clone();
    let (potential, kinetic) = (project::potential(island, ctx), island.kinetic(&island.motion.twists));
    if project::worst_joint(island, ctx) > SET_APART {
        // Angles and lengths say little while the parts are elsewhere.
        project::rounds(island, ctx, Aim::Joints);
    }
    project::bring_home(island, ctx, Aim::Start)?;
    refuse_passed(island, ctx)?;
    island.books.report.placed = true;
    let gained = project::potential(island, ctx) - potential + island.kinetic(&island.motion.twists) - kinetic;
    island.books.flow.projection += gained;
    let moved = island.members.bodies.iter().zip(from.iter().zip(&island.motion.poses)).filter(|(body, _)| body.dynamic);
    let [shift, turn] = moved
        .fold([0.0f64; 2], |[shift, turn], (_, (from, to))| [shift.max((to.position - from.position).norm()), turn.max(turned(from, to))]);
    let slop = ctx.model.tolerances.slop;
    let depths = island.touch.near.iter().map(|near| (near.key.bodies, -near.contact.gap / island.links.pairs[near.pair].size));
    let left = depths.filter(|(_, depth)| *depth > slop).max_by(|(_, a), (_, b)| a.total_cmp(b));
    island.books.placement =
        Placement { faults: std::mem::take(&mut island.books.placement.faults), moved: true, energy: gained, shift, turn, left };
    report(island, |observer, _| observer.placed());
    Ok(())
}

/// The angle between two poses \[rad\].
fn turned<G: Geometry>(from: &Pose<G>, to: &Pose<G>) -> f64 {
    G::log(G::compose(to.rotation, G::inverse(from.rotation))).norm()
}

/// Lists what is wrong with the island's poses; whether any of it has to be put right before they move.
fn find_faults<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> bool {
    let mut faults = std::mem::take(&mut island.books.placement.faults);
    faults.clear();
    let mut wrong = false;
    for number in 0..island.links.acting.len() {
        let number = island.links.acting[number];
        let joint = island.links.joints[number];
        let spec = &ctx.model.joints[joint.index];
        let [a, b] = joint.bodies.map(|body| island.motion.poses[body]);
        let scale = project::limit_scale(island, ctx, number);
        for inequality in 0..spec.inequality_count() {
            let beyond = -spec.inequality(inequality, &a, &b).0;
            if beyond <= NOTABLE * scale {
                continue;
            }
            wrong |= beyond > SET_APART * scale;
            faults.push(match (spec.kind, spec.limits) {
                (JointKind::Rope, _) | (_, None) => {
                    Fault::Rope { joint: joint.index, value: spec.measures.length + beyond, length: spec.measures.length }
                }
                (_, Some(range)) => {
                    let value = if inequality == 0 { range[0] - beyond } else { range[1] + beyond };
                    // The plane counts its turns, so there one way is as long as it is.
                    let around = TAU - (range[1] - range[0]) - beyond;
                    let either = G::ANG > 1 && spec.is_angular() && (around - beyond).abs() < EITHER_WAY;
                    Fault::Limit { joint: joint.index, value, range, beyond, either }
                }
            });
        }
    }
    project::each_tendon(island, ctx, |coupling, upper, gap| {
        let range = ctx.model.couplings[coupling].tendon.and_then(|tendon| tendon.limits);
        if let Some(range) = range.filter(|_| -gap > NOTABLE) {
            wrong |= -gap > SET_APART;
            let value = if upper { range[1] - gap } else { range[0] + gap };
            faults.push(Fault::Tendon { coupling, value, range, beyond: -gap });
        }
    });
    project::each_joint(island, ctx, |_, joint, gap, size| {
        if gap > SET_APART * size {
            wrong = true;
            faults.push(Fault::Apart { joint, gap });
        }
    });
    // Contacts stand pair by pair: one fault each.
    for near in &island.touch.near {
        let (pair, depth) = (island.links.pairs[near.pair], -near.contact.gap);
        if depth <= ctx.model.tolerances.slop * pair.size {
            continue;
        }
        wrong = true;
        match faults.last_mut() {
            Some(Fault::Overlap { bodies, depth: deepest }) if *bodies == near.key.bodies => *deepest = deepest.max(depth),
            _ => faults.push(Fault::Overlap { bodies: near.key.bodies, depth }),
        }
    }
    island.books.placement.faults = faults;
    wrong
}

/// Says which limit is still passed by as much as if it had been set so: whatever moved on would hold it there for ever.
fn refuse_passed<G: Geometry>(island: &Island<G>, ctx: &Context<G>) -> Result<(), StepError> {
    if project::worst_limit(island, ctx) <= SET_APART {
        return Ok(());
    }
    let mut worst = (0.0, "", 0.0);
    for group in &island.system.assembly.groups {
        let (passed, name, gap) = match group.source {
            Source::Limit { joint, gap, .. } => {
                (-gap / project::limit_scale(island, ctx, joint), &ctx.model.joints[island.links.joints[joint].index].name, gap)
            }
            Source::TendonLimit { tendon, gap, .. } => (-gap, &ctx.model.couplings[island.links.tendons[tendon].index].name, gap),
            _ => continue,
        };
        if passed > worst.0 {
            worst = (passed, name, -gap);
        }
    }
    let cause = Cause::LimitPassed { joint: worst.1.to_string(), beyond: worst.2 };
    Err(StepError { stage: Stage::Finish, time: ctx.time, cause })
}

impl<G: Geometry> World<G> {
    /// What was wrong with the state when it was last set, and what putting it right came to; all empty where nothing was, and before the first step.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// What is wrong with the present state and what the next step would do about it; nothing moves. Empty unless the state is the start or was set
    /// since the last step.
    ///
    /// # Errors
    /// A joint that cannot be closed or brought within its limits: the next step would fail.
    #[inline(never)]
    pub fn foreseen_placement(&self) -> Result<Placement, StepError> {
        if !self.fresh {
            return Ok(Placement::default());
        }
        let mut world = self.copy();
        world.heed(self.interrupt());
        let idle = vec![0.0; world.model().control_count()];
        let used = world.place_alone(&idle)?;
        Ok(world.gathered_placement(used))
    }

    /// What is or was wrong with the state as it was last set, in words: [`World::placement`] once a step was taken, before it the one foreseen.
    pub fn notes(&self) -> Vec<String> {
        if !self.fresh {
            return self.placement.notes(self.model());
        }
        match self.foreseen_placement() {
            Ok(placement) => placement.notes(self.model()),
            // Who wants to stop does not wait for notes.
            Err(StepError { cause: Cause::Stopped, .. }) => Vec::new(),
            Err(error) => vec![error.to_string()],
        }
    }

    /// Takes the islands to where they would start, and no further.
    fn place_alone(&mut self, controls: &[f64]) -> Result<usize, StepError> {
        self.sweep();
        self.advance_islands(controls, begin)
    }

    /// What the islands put right, together.
    pub(crate) fn gathered_placement(&self, used: usize) -> Placement {
        let mut all = Placement::default();
        self.islands.list[..used].iter().for_each(|island| all.merge(&island.books.placement));
        all.faults.sort_by_key(Fault::order);
        all
    }
}
