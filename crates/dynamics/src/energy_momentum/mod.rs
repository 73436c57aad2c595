//! The integrator `energy-momentum`: the midpoint rule with mean joint rows, theory chapter 13.
//!
//! A move is found by Newton over mean velocities and joint impulses together; the joints hold at its end. Contacts, limits, motors and
//! friction keep their rooms: their rows are those of the start pose, and stage 7 gives them an impulse of their own at the end pose.

mod balance;
mod finish;
mod projected;

pub(crate) use balance::find_unheld;
pub(crate) use finish::{finish, obey_joints};

use crate::assembly::Source;
use crate::hold::{Held, INACCURATE_SLACK, correct_targets, select_move};
use crate::island::parts::{Books, Links, System};
use crate::island::{Context, Island, LocalBody};
use crate::joint_factor::JointFactor;
use crate::joint_rows::JointRows;
use crate::line::Line;
use crate::rotor;
use crate::solve::resolve;
use carom_geometry::Geometry;
use carom_math::{Twist, Wrench};
use carom_solve::status::{Method, Outcome};

/// Newton rounds of a move; 4-8 suffice where the step resolves the motion, and a move that needs more is too long.
const NEWTON_CAP: usize = 40;

/// Mean velocities and what the impulses make of them may differ by this fraction of the fastest of the island. What is left is the
/// energy error of a step; rounding leaves a hundredth of it.
const BALANCE_TOLERANCE: f64 = 1e-13;

/// A difference that no longer falls is rounding if it is below this fraction.
const BALANCE_STALL: f64 = 1e-10;

/// Joint errors over their tolerance at which the work of their impulses is rounding too; they may stay at 1 if they no longer fall.
const PRECISE: f64 = 1e-2;

/// A round that brings the joint errors below this fraction of what they were keeps its factor for the next.
const KEEP_FACTOR: f64 = 0.1;

/// A value that falls by less than this in a round no longer falls.
const FALLING: f64 = 0.5;

/// Scratch and solution of a move under the midpoint rule.
#[derive(Debug)]
pub(crate) struct Midpoint<G: Geometry> {
    /// When the substep starts \[s\].
    pub time: f64,
    /// Mean twists of the move, theory (13.4).
    mean: Vec<Twist<G>>,
    /// What loads and impulses make of the mean twists, theory (13.6)-(13.7).
    balanced: Vec<Twist<G>>,
    /// Half the impulses of loads and rows over the move.
    pushes: Vec<Wrench<G>>,
    /// Mean of forces and controls \[N, N m\], and power lost in the dampers of springs \[W\].
    driving: (Vec<Wrench<G>>, f64),
    /// Half the impulses of the joint rows.
    reaction: Vec<f64>,
    /// Mean joint rows.
    lines: Vec<Line<G>>,
    /// The same for the factor.
    compact: JointRows<G>,
    /// Bodies with the stiffness of their tensions in the inertia, theory (13.15).
    stiffened: Vec<LocalBody<G>>,
    factor: JointFactor,
    /// Change of the mean twists in a round.
    change: Vec<Twist<G>>,
    /// Bodies that turn by the exponential map: those that no mean row holds, in the plane.
    unheld: Vec<bool>,
    /// What the rows of contacts, limits, motors and friction have given in the move.
    given: Vec<Given<G>>,
    /// Joint impulses of the landing, all in all.
    landing: Vec<f64>,
    /// Whether there was one.
    landed: bool,
}

/// One row of stage 5 and half its impulse over the move.
#[derive(Clone, Copy, Debug)]
struct Given<G: Geometry> {
    /// Where the row comes from.
    source: Source,
    /// Which row of its group.
    row: usize,
    /// The row at the start pose.
    line: Line<G>,
    /// Half its impulse.
    impulse: f64,
}

impl<G: Geometry> Midpoint<G> {
    /// Nothing yet.
    pub fn empty() -> Self {
        Midpoint {
            time: 0.0,
            mean: Vec::new(),
            balanced: Vec::new(),
            pushes: Vec::new(),
            driving: (Vec::new(), 0.0),
            reaction: Vec::new(),
            lines: Vec::new(),
            compact: JointRows::default(),
            stiffened: Vec::new(),
            factor: JointFactor::default(),
            change: Vec::new(),
            unheld: Vec::new(),
            given: Vec::new(),
            landing: Vec::new(),
            landed: false,
        }
    }

    /// Mean twists of the move.
    pub fn mean(&self) -> &[Twist<G>] {
        &self.mean
    }

    /// Half the impulses of the joint rows over the move.
    pub fn reaction(&self) -> &[f64] {
        &self.reaction
    }

    /// Joint impulses at the end of the move, all in all, where rows held there or took back what they had given.
    pub fn landing(&self) -> Option<&[f64]> {
        self.landed.then_some(&self.landing[..])
    }
}

/// Stages 3 to 5 for a move of length t: mean velocities in `island.midpoint`, the path in `island.motion.half`, poses q' in `island.motion.next`. With
/// `uncorrected` the rows of the start pose alone: what is left of a move that does not converge.
pub(crate) fn hold<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, t: f64, uncorrected: bool) -> Held {
    select_move(island, ctx, t);
    rotor::begin_move(island, ctx);
    let mut work = std::mem::replace(&mut island.midpoint, Midpoint::empty());
    let held = work.newton(island, ctx, t, uncorrected);
    island.midpoint = work;
    held
}

impl<G: Geometry> Midpoint<G> {
    fn newton(&mut self, island: &mut Island<G>, ctx: &Context<G>, t: f64, uncorrected: bool) -> Held {
        let mut held = Held { converged: false, outcome: Outcome::judge(0.0, 1.0, 0, Method::Trivial) };
        // Without rows that may let go the joints are all there is, and their own factor at the middle of the move is the better one.
        let joints_only = island.system.solve.groups.is_empty() && !uncorrected;
        self.start(island, ctx, t);
        let mut last = (f64::INFINITY, f64::INFINITY);
        for round in 0..NEWTON_CAP {
            let balances = self.evaluate(island, ctx, t);
            if t == 0.0 || (uncorrected && round == 1) {
                held.converged = true;
                break;
            }
            let mut worst = 0.0;
            if round > 0 || joints_only {
                self.aim(island, joints_only);
                worst = correct_targets(island, ctx, t).max(self.turn_rotors(island, ctx, t, joints_only));
                island.books.report.corrections += 1;
            }
            let (off, fastest) = self.imbalance(island, t);
            if !(balances && worst.is_finite() && off.is_finite()) || ctx.interrupt.raised() {
                break;
            }
            // A problem that was not solved exactly moves the velocities about by what it misses.
            let solved = held.outcome.is_solved();
            let balanced = off <= BALANCE_TOLERANCE * fastest || (off <= BALANCE_STALL * fastest && (off > FALLING * last.0 || !solved));
            let joined = match (joints_only, solved) {
                (true, _) => worst <= PRECISE || (worst <= 1.0 && worst > FALLING * last.1),
                (false, true) => worst <= 1.0,
                (false, false) => worst <= INACCURATE_SLACK,
            };
            if round > 0 && balanced && joined {
                held.converged = true;
                break;
            }
            if joints_only {
                // A factor that brought the error down well is kept for the next round.
                let anew = round == 0 || worst > KEEP_FACTOR * last.1;
                self.joint_round(island, ctx, t, anew);
            } else {
                held.outcome = self.row_round(island, ctx);
            }
            last = (off, worst);
        }
        held
    }

    /// Joint targets before the errors at the end of the move are taken off them: the change of a round, or the rates of the present one.
    fn aim(&self, island: &mut Island<G>, joints_only: bool) {
        let Island { system: System { assembly, solve, .. }, .. } = island;
        solve.joint_target.clear();
        solve.joint_target.resize(assembly.equalities.len(), 0.0);
        if !joints_only {
            assembly.equalities.add_speeds(1.0, &self.mean, &mut solve.joint_target);
        }
    }

    /// Moves the targets of rotors by what their mean rows miss of J v + y/I = rho, theory (21.4); returns the worst over what joints are held to.
    fn turn_rotors(&self, island: &mut Island<G>, ctx: &Context<G>, t: f64, joints_only: bool) -> f64 {
        let Island { system: System { assembly, solve, .. }, links: Links { joints, .. }, .. } = island;
        let mut worst = 0.0f64;
        for rotor in &assembly.equalities.rotors {
            let rate = rotor.after(self.reaction[rotor.row]);
            let miss = self.lines[rotor.row].speed(&self.mean) - rate;
            // A round for joints alone changes impulses; one with all rows finds them anew, from the rate before.
            solve.joint_target[rotor.row] -= if joints_only { miss } else { miss + rate };
            let size = joints[assembly.equalities.owner(rotor.node)].size;
            let tolerance = (ctx.model.tolerances.position * size).max(f64::EPSILON * t * rotor.rate.abs() / PRECISE);
            worst = worst.max(t * miss.abs() / tolerance);
        }
        worst
    }

    /// How far the mean twists are from what the impulses make of them, and the fastest of them [m/s], both in the metric of the masses.
    fn imbalance(&self, island: &Island<G>, t: f64) -> (f64, f64) {
        let (mut off, mut fastest) = (0.0f64, 0.0f64);
        for (index, body) in island.members.bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
            let (mean, balanced) = (self.mean[index], self.balanced[index]);
            let speed = |twist: &Twist<G>| (2.0 * body.kinetic(twist) / body.mass).sqrt();
            off = off.max(speed(&balanced.plus(-1.0, mean)));
            // A body at rest is judged by what its loads would make of it in the move.
            let loaded = 0.5 * t * speed(&island.motion.free[index]);
            fastest = fastest.max(speed(&mean)).max(speed(&island.motion.twists[index])).max(loaded);
        }
        (off, fastest)
    }

    /// One round for joints alone, theory (13.14): the mean twists and the impulses move together.
    fn joint_round(&mut self, island: &mut Island<G>, ctx: &Context<G>, t: f64, anew: bool) {
        if anew {
            self.stiffen(island, ctx, t);
        }
        for line in &mut self.lines {
            *line = Line::new(line.bodies, line.row, &self.stiffened);
        }
        if anew {
            self.factor.prepare(island.system.assembly.factor.graph(), &island.links.joints, &island.members.bodies);
            self.compact.lay_out_whole(&island.links.joints);
            self.compact.weigh(&self.stiffened);
            for (place, joint) in island.links.joints.iter().filter(|j| j.rows > 0).enumerate() {
                self.compact.set_whole(place, self.lines[joint.first_row..][..joint.rows].iter().map(|line| line.row));
            }
            let _ = self.factor.refactor(&self.compact, false);
        }
        self.change.clear();
        for (index, body) in island.members.bodies.iter().enumerate() {
            let mut off = self.balanced[index].plus(-1.0, self.mean[index]);
            if body.dynamic {
                off.ang = G::inertia_apply(self.stiffened[index].inv_inertia, G::inertia_apply(body.inertia, off.ang));
            }
            self.change.push(off);
        }
        let more = &mut island.system.solve.error;
        more.clear();
        more.extend(self.lines.iter().zip(&island.system.solve.joint_target).map(|(line, target)| target - line.speed(&self.change)));
        self.factor.solve(more);
        for ((line, y), reaction) in self.lines.iter().zip(more.iter()).zip(&mut self.reaction) {
            line.push(*y, &mut self.change);
            *reaction += y;
        }
        for (mean, change) in self.mean.iter_mut().zip(&self.change) {
            *mean = mean.plus(1.0, *change);
        }
    }

    /// One round with all rows: stage 5's problem, where the free velocities carry what the midpoint rule makes different, theory (13.16).
    fn row_round(&mut self, island: &mut Island<G>, ctx: &Context<G>) -> Outcome {
        let mut free = std::mem::take(&mut self.change);
        free.clear();
        free.extend_from_slice(&self.balanced);
        let Island { system: System { assembly, solve, solver }, books: Books { report, .. }, .. } = island;
        solve.reaction.clear();
        solve.reaction.extend(self.reaction.iter().map(|y| -y));
        assembly.equalities.push(&solve.reaction, &mut free);
        for (&line, impulse) in solve.lines.iter().zip(&solve.impulses) {
            assembly.lines[line].push(-impulse, &mut free);
        }
        let outcome = resolve(assembly, solve, solver, ctx.model.options.friction_cone, &free, &mut self.mean, report);
        solve.settle(assembly, &self.mean);
        self.reaction.copy_from_slice(&solve.reaction);
        self.change = free;
        outcome
    }
}
