//! An island: bodies that may meet within the step or are joined, copied out of the world so that it advances on its own clock.

pub(crate) mod parts;
mod report;

use parts::{Books, Links, Loading, Members, Motion, System, Touch};
pub use report::IslandReport;

use crate::assembly::Assembly;
use crate::body_load::Resistances;
use crate::contacts::{Memory, Near, Report};
use crate::coupling::LocalTie;
use crate::crossing::Ahead;
use crate::curvature::Curvature;
use crate::energy_momentum::Midpoint;
use crate::error::{Cause, StepError};
use crate::joint_effort::JointEffort;
use crate::ledger::Flow;
use crate::model::{Body, BodyKind, Model};
use crate::moments::Arms;
use crate::observe::{Observer, Watch};
use crate::options::ImpactLaw;
use crate::rest::Rest;
use crate::solve::Solve;
use crate::start::Placement;
use crate::stepped::Stepped;
use carom_geometry::{Aabb, Contact, Geometry};
use carom_math::{Pose, Twist, Vector, Wrench};
use carom_solve::contact::chain::ContactSolver;
use carom_solve::interrupt::Interrupt;

/// Marks the world in `LocalBody::index`.
pub(crate) const WORLD: usize = usize::MAX;

/// A body of an island.
#[derive(Clone, Debug)]
pub(crate) struct LocalBody<G: Geometry> {
    /// Its index in the model, or `WORLD`.
    pub index: usize,
    /// Whether impulses move it.
    pub dynamic: bool,
    /// Whether it moves whatever pushes it.
    pub kinematic: bool,
    /// Whether a joint holds it.
    pub jointed: bool,
    /// Whether anything resists its motion.
    pub damped: bool,
    /// Mass \[kg\], 0 unless dynamic.
    pub mass: f64,
    /// Inverse mass per world axis [1/kg].
    pub inv_mass: G::Lin,
    /// Inertia in the body frame.
    pub inertia_body: G::Inertia,
    /// Its inverse in the body frame, zero where nothing turns.
    pub inv_inertia_body: G::Inertia,
    /// Inertia in world axes at the current pose.
    pub inertia: G::Inertia,
    /// Inverse inertia in world axes at the current pose.
    pub inv_inertia: G::Inertia,
}

impl<G: Geometry> LocalBody<G> {
    /// The world: immovable, at the origin.
    pub fn world() -> Self {
        LocalBody {
            index: WORLD,
            dynamic: false,
            kinematic: false,
            jointed: false,
            damped: false,
            mass: 0.0,
            inv_mass: G::Lin::zero(),
            inertia_body: G::inertia_zero(),
            inv_inertia_body: G::inertia_zero(),
            inertia: G::inertia_zero(),
            inv_inertia: G::inertia_zero(),
        }
    }
    /// A body of the model.
    pub fn of(index: usize, body: &Body<G>, jointed: bool) -> Self {
        let mut local: LocalBody<G> = LocalBody::world();
        local.index = index;
        local.kinematic = body.kind == BodyKind::Kinematic;
        if body.kind == BodyKind::Dynamic {
            local.dynamic = true;
            local.jointed = jointed;
            local.mass = body.mass;
            local.damped = body.resistances != Resistances::default();
            for axis in 0..G::DIM {
                local.inv_mass[axis] = if body.locked[axis] == 0.0 { 1.0 / body.mass } else { 0.0 };
            }
            local.inertia_body = body.inertia;
            if !body.locked_rotation {
                local.inv_inertia_body = G::inertia_invert(body.inertia).unwrap_or_else(G::inertia_zero);
            }
        }
        local
    }
    /// Turns the inertia with the body, theory (1.7).
    #[inline]
    pub fn turn_to(&mut self, pose: &Pose<G>) {
        if self.dynamic {
            self.inertia = G::inertia_world(self.inertia_body, pose.rotation);
            self.inv_inertia = G::inertia_world(self.inv_inertia_body, pose.rotation);
        }
    }
    /// Whether torques turn it.
    pub fn turns(&self) -> bool {
        self.dynamic && self.inv_inertia_body != G::inertia_zero()
    }
    /// Whether every force and every torque moves it.
    pub fn answers(&self) -> bool {
        self.dynamic && (0..G::DIM).all(|axis| self.inv_mass[axis] > 0.0) && self.inv_inertia_body != G::inertia_zero()
    }
    /// M^-1 applied to a wrench or impulse.
    #[inline]
    pub fn response(&self, wrench: &Wrench<G>) -> Twist<G> {
        Twist { lin: wrench.lin.scale(self.inv_mass), ang: G::inertia_apply(self.inv_inertia, wrench.ang) }
    }
    /// M applied to a twist.
    #[inline]
    pub fn momentum(&self, twist: &Twist<G>) -> Wrench<G> {
        Wrench { lin: twist.lin * self.mass, ang: G::inertia_apply(self.inertia, twist.ang) }
    }
    /// Kinetic energy \[J\] of a twist.
    pub fn kinetic(&self, twist: &Twist<G>) -> f64 {
        0.5 * (self.mass * twist.lin.dot(twist.lin) + twist.ang.dot(G::inertia_apply(self.inertia, twist.ang)))
    }
}

/// Two bodies of an island whose boxes allow contact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalPair {
    /// Local indexes.
    pub bodies: [usize; 2],
    /// Friction of the pair.
    pub friction: f64,
    /// Restitution of the pair.
    pub restitution: f64,
    /// Arms of its rolling and torsional friction \[m\].
    pub arms: Arms,
    /// Impact law of the pair.
    pub impact: ImpactLaw,
    /// Largest extent of the smaller body \[m\].
    pub size: f64,
}

/// A joint of an island.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalJoint {
    /// Index in the model.
    pub index: usize,
    /// Local indexes of its bodies; 0 is the world.
    pub bodies: [usize; 2],
    /// First of its equality rows in the island.
    pub first_row: usize,
    /// How many equality rows it has, that of a rotor among them.
    pub rows: usize,
    /// First of them among the rows of all joints of the model.
    pub model_row: usize,
    /// The length its errors are measured against \[m\].
    pub size: f64,
    /// Inverse inertia of its rotor [1/(kg m^2) or 1/kg], 0 where it has none; the row of a rotor is the last.
    pub inv_armature: f64,
    /// Its motor pulls so slowly that it is a load, theory (21.9).
    pub slow_pull: bool,
    /// Its place among the controls, if it has one.
    pub control: Option<usize>,
}

/// Bodies that share substeps, and everything a substep needs.
#[derive(Debug)]
pub(crate) struct Island<G: Geometry> {
    /// Who is in an island.
    pub members: Members<G>,
    /// Where its bodies are and how they move, over one substep.
    pub motion: Motion<G>,
    /// What acts on them besides rows.
    pub loading: Loading<G>,
    /// What binds them: joints and pairs, and how these bent the last moves.
    pub links: Links,
    /// Contacts: at the present poses, remembered, and summed over the step.
    pub touch: Touch<G>,
    /// Rows, the selected problem, and who solves it.
    pub system: System<G>,
    /// What the step came to.
    pub books: Books<G>,
    /// The stepped move at hand.
    pub stepped: Stepped<G>,
    /// Stage 2's scratch.
    pub impact: crate::impact::ImpactScratch,
    /// The move under `energy-momentum`.
    pub midpoint: Midpoint<G>,
    /// Whether it sleeps.
    pub rest: Rest<G>,
    /// Rows and inertias are those of the present poses: the last step ended there and no row depends on anything else.
    pub current: bool,
    /// Longest move tried next \[s\]; shorter than the step after one that did not converge.
    pub pace: f64,
}

/// Loads on a body at one instant, by what they are booked as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loads<G: Geometry> {
    /// Everything: gravity, springs, damping, forces, controls.
    pub total: Wrench<G>,
    /// Forces and controls: work goes in.
    pub driving: Wrench<G>,
    /// Damping: work is lost.
    pub damping: Wrench<G>,
}

impl<G: Geometry> Loads<G> {
    /// No load.
    pub fn zero() -> Self {
        Loads { total: Wrench::zero(), driving: Wrench::zero(), damping: Wrench::zero() }
    }
}

/// What all islands share during a step.
pub(crate) struct Context<'a, G: Geometry> {
    /// The model.
    pub model: &'a Model<G>,
    /// Controls of this step.
    pub controls: &'a [f64],
    /// Time at the start of the step \[s\].
    pub time: f64,
    /// Who is to watch each island.
    pub watch: Option<Watch<G>>,
    /// Wrenches from outside, one per body of the model, or none.
    pub pushes: &'a [Wrench<G>],
    /// The wish to stop: loops that see it raised end where they stand, and the step is not taken.
    pub interrupt: &'a Interrupt,
    /// Whether contact problems are kept.
    pub capture: bool,
    /// The state was set from outside since the last step: it may start wrong.
    pub fresh: bool,
}

impl<G: Geometry> Context<'_, G> {
    /// The control of a joint, 0 where it has none.
    pub fn asked(&self, joint: &LocalJoint) -> f64 {
        joint.control.and_then(|control| self.controls.get(control)).copied().unwrap_or(0.0)
    }
    /// Gives the step up if that is wished.
    pub fn go_on(&self) -> Result<(), StepError> {
        if self.interrupt.raised() { Err(StepError::unfinished(Cause::Stopped, self.time)) } else { Ok(()) }
    }
}

impl<G: Geometry> Island<G> {
    /// An island with nothing in it.
    pub fn empty() -> Self {
        Island {
            members: Members::default(),
            motion: Motion::default(),
            loading: Loading::default(),
            links: Links::default(),
            touch: Touch::default(),
            system: System::default(),
            books: Books::default(),
            stepped: Stepped::default(),
            impact: Default::default(),
            midpoint: Midpoint::empty(),
            rest: Rest::default(),
            current: false,
            pace: f64::INFINITY,
        }
    }
    /// Starts the next step where the last one ended, without being built anew; the result is the same bit for bit.
    pub fn resume(&mut self, model: &Model<G>) {
        for (&body, travelled) in self.members.shaped.iter().zip(&mut self.members.travelled) {
            *travelled = Aabb::of_point(self.motion.poses[body].position);
        }
        self.touch.reports.clear();
        self.books.flow = Flow::default();
        self.books.report = IslandReport::default();
        self.books.failure = None;
        self.books.placement.clear();
        self.pace = f64::INFINITY;
        self.touch.found = true;
        // Which limits and contacts have rows depends on velocities and on what was active.
        self.current = self.touch.near.is_empty()
            && self.links.tendons.is_empty()
            && self.links.acting.iter().all(|&j| model.joints[self.links.joints[j].index].inequality_count() == 0);
    }
    /// Forgets bodies, pairs and joints but keeps the scratch.
    pub fn clear(&mut self) {
        self.members.bodies.clear();
        self.members.shaped.clear();
        self.members.travelled.clear();
        self.members.company = 0;
        self.members.driven = false;
        self.members.loose = false;
        self.motion.poses.clear();
        self.motion.twists.clear();
        self.links.pairs.clear();
        self.links.joints.clear();
        self.links.ties.clear();
        self.links.tendons.clear();
        self.links.acting.clear();
        self.loading.forces.clear();
        self.touch.near.clear();
        self.touch.detected = 0;
        self.touch.found = false;
        self.touch.memory.clear();
        self.touch.reports.clear();
        self.books.flow = Flow::default();
        self.books.report = IslandReport::default();
        self.books.failure = None;
        self.books.observer = None;
        self.books.placement.clear();
        self.rest.wake();
        self.pace = f64::INFINITY;
        self.current = false;
        self.loading.weight_alone = false;
        self.loading.falling = false;
    }
    /// Kinetic energy \[J\] of velocities at the current pose, rotors included.
    pub fn kinetic(&self, twists: &[Twist<G>]) -> f64 {
        let bodies: f64 = self.members.bodies.iter().zip(twists).map(|(body, twist)| body.kinetic(twist)).sum();
        bodies + self.system.assembly.equalities.rotor_energy(twists)
    }
    /// Turns every inertia to the current pose.
    pub fn refresh_inertia(&mut self) {
        for (body, pose) in self.members.bodies.iter_mut().zip(&self.motion.poses) {
            body.turn_to(pose);
        }
    }
}
