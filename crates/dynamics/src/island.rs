//! An island: bodies that may meet within the step or are joined, copied out of the world so that it advances on its own clock.

use crate::assembly::Assembly;
use crate::body_load::RESISTANCES;
use crate::contacts::{Memory, Near, Report};
use crate::coupling::LocalTie;
use crate::crossing::Ahead;
use crate::curvature::Curvature;
use crate::energy_momentum::Midpoint;
use crate::error::{Cause, StepError};
use crate::gradient::record::IslandRecord;
use crate::joint_effort::JointEffort;
use crate::ledger::Flow;
use crate::model::{Body, BodyKind, Model};
use crate::moments::Arms;
use crate::options::ImpactLaw;
use crate::solve::Solve;
use crate::start::Placement;
use crate::stepped::Stepped;
use carom_geometry::{Aabb, Contact, Geometry};
use carom_math::{Pose, Twist, Vector, Wrench};
use carom_solve::contact_solver::ContactSolver;
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
    /// Mass [kg], 0 unless dynamic.
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
            local.damped = body.resistances() != [0.0; RESISTANCES];
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
    /// Kinetic energy [J] of a twist.
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
    /// Arms of its rolling and torsional friction [m].
    pub arms: Arms,
    /// Impact law of the pair.
    pub impact: ImpactLaw,
    /// Largest extent of the smaller body [m].
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
    /// The length its errors are measured against [m].
    pub size: f64,
    /// Inverse inertia of its rotor [1/(kg m^2) or 1/kg], 0 where it has none; the row of a rotor is the last.
    pub inv_armature: f64,
    /// Its motor pulls so slowly that it is a load, theory (22.9).
    pub slow_pull: bool,
    /// Its place among the controls, if it has one.
    pub control: Option<usize>,
}

/// Bodies that share substeps, and everything a substep needs.
#[derive(Debug)]
pub(crate) struct Island<G: Geometry> {
    /// Bodies; the first is the world.
    pub bodies: Vec<LocalBody<G>>,
    /// Those of them that have shapes.
    pub shaped: Vec<usize>,
    /// Box of everywhere the shapes of each of these have been in this step.
    pub travelled: Vec<Aabb<G>>,
    /// Bodies that share the island only because they meet nobody; 0 where bodies are bound to each other.
    pub company: usize,
    /// Whether any body moves whatever pushes it.
    pub driven: bool,
    /// Whether any body moves that no joint holds.
    pub loose: bool,
    /// Poses q.
    pub poses: Vec<Pose<G>>,
    /// Velocities v, full step.
    pub twists: Vec<Twist<G>>,
    /// Velocities v1/2 of the move.
    pub half: Vec<Twist<G>>,
    /// Poses q' at the end of the move.
    pub next: Vec<Pose<G>>,
    /// Poses before the last round of a projection: scratch.
    pub retreat: Vec<Pose<G>>,
    /// Accelerations under loads alone, at q.
    pub free: Vec<Twist<G>>,
    /// Accelerations under loads and joints, at q: what sets the rest speed.
    pub held: Vec<Twist<G>>,
    /// Scratch velocities.
    pub scratch: Vec<Twist<G>>,
    /// Angular impulses of rows on each body in room 7.
    pub turning: Vec<G::Ang>,
    /// Loads at q or q'.
    pub loads: Vec<Loads<G>>,
    /// Whether loads other than weight were found, which do work that is booked.
    pub worked: bool,
    /// The loads are the weights of the bodies and stay as they are while the bodies are the same.
    pub weight_alone: bool,
    /// So do the accelerations under them, at q and at q': they are nobody's spin's either.
    pub falling: bool,
    /// Pairs that may touch.
    pub pairs: Vec<LocalPair>,
    /// Joints.
    pub joints: Vec<LocalJoint>,
    /// Couplings of its joints.
    pub ties: Vec<LocalTie>,
    /// Those of them, rising, that are more than rows which hold: springs, motors, friction, limits, and lengths that turn.
    pub acting: Vec<usize>,
    /// Indexes of the forces that act on its bodies: (force, local body, control).
    pub forces: Vec<(usize, usize, Option<usize>)>,
    /// Contacts at the current pose within the margin.
    pub near: Vec<Near<G>>,
    /// How many of them detection found, by rising pair; those after were added since.
    pub detected: usize,
    /// They are those of the present poses: the last step ended there.
    pub found: bool,
    /// What the last substep left: which contacts were active, with which impulses; sorted by key.
    pub memory: Vec<Memory<G>>,
    /// Contacts of this step and their summed impulses; sorted by key.
    pub reports: Vec<Report<G>>,
    /// What its joints did in this step, where somebody watches.
    pub efforts: Vec<JointEffort<G>>,
    /// How joints bent the last moves.
    pub curvature: Curvature,
    /// The same at the start of the step, where the world left it to the island.
    pub curvature_before: Curvature,
    /// Rows and factors at the current pose.
    pub assembly: Assembly<G>,
    /// The selected problem and its solution.
    pub solve: Solve,
    /// Solver with its scratch.
    pub solver: ContactSolver,
    /// Manifold scratch.
    pub manifold: Vec<Contact<G>>,
    /// What is known of each pair of colliders on the move at hand.
    pub ahead: Vec<Ahead<G>>,
    /// Energy booked in this step.
    pub flow: Flow,
    /// The stepped move at hand.
    pub stepped: Stepped<G>,
    /// Room 2's scratch.
    pub impact: crate::impact::ImpactScratch,
    /// The move under `energy-momentum`.
    pub midpoint: Midpoint<G>,
    /// Rows and inertias are those of the present poses: the last step ended there and no row depends on anything else.
    pub current: bool,
    /// Longest move tried next [s]; shorter than the step after one that did not converge.
    pub pace: f64,
    /// How the step went.
    pub report: IslandReport,
    /// Why it failed, if it did.
    pub failure: Option<StepError>,
    /// What its derivative needs, where it is recorded.
    pub record: Option<IslandRecord<G>>,
    /// What was put right before it moved.
    pub placement: Placement,
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

/// Counts and flags of one step of an island.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IslandReport {
    /// Substeps taken.
    pub substeps: usize,
    /// Times of impact the step was cut at.
    pub events: usize,
    /// Impact problems resolved.
    pub impacts: usize,
    /// Reflections or collisions inside them.
    pub impact_iterations: usize,
    /// Solves of the complementarity problem, or of the joints where there are no other rows.
    pub solves: usize,
    /// Back-substitutions besides: other targets, but the modes and the factor of the solve before.
    pub substitutions: usize,
    /// Of both, those that missed a law by more than 1e-8 m/s.
    pub rough: usize,
    /// Factorisations inside the solves.
    pub factorisations: usize,
    /// Iterations inside them.
    pub iterations: usize,
    /// Of them, those solved by sweeps along the joints.
    pub swept: usize,
    /// Joint rows that depend on others and were dropped, the most at any pose; `World::redundant_joints` names them.
    pub redundant: usize,
    /// Rounds of the joint and contact correction.
    pub corrections: usize,
    /// Largest complementarity residual [m/s].
    pub residual: f64,
    /// Largest joint error at the end of a substep [m or rad].
    pub joint_error: f64,
    /// Contacts at the end of the step.
    pub contacts: usize,
    /// Moves that were stepped: what may be spent on events was, and impacts of the rest of the step are put at its end.
    pub stepped: usize,
    /// An impact problem reached its cap.
    pub impact_capped: bool,
    /// A solve ended above its tolerance.
    pub inaccurate: bool,
    /// A spring was so stiff that it became a soft row.
    pub soft_spring: bool,
    /// The substep could not be made short enough for the joint correction to converge.
    pub unconverged: bool,
    /// The gyroscopic torque at the end of a move was not found with the impulses there: it is that of the velocity predicted for it.
    pub gyroscopic: bool,
    /// Positions were projected.
    pub projected: bool,
    /// The state started wrong and was put right before it moved; `World::placement` says what was.
    pub placed: bool,
}

impl IslandReport {
    /// The report of so many islands that went like this one.
    pub(crate) fn times(&self, count: usize) -> Self {
        let [substeps, solves, iterations, corrections] =
            [self.substeps, self.solves, self.iterations, self.corrections].map(|n| n * count);
        IslandReport { substeps, solves, iterations, corrections, ..*self }
    }
    /// Adds another island's counts.
    pub fn merge(&mut self, other: &IslandReport) {
        self.substeps += other.substeps;
        self.events += other.events;
        self.impacts += other.impacts;
        self.impact_iterations += other.impact_iterations;
        self.solves += other.solves;
        self.substitutions += other.substitutions;
        self.rough += other.rough;
        self.factorisations += other.factorisations;
        self.iterations += other.iterations;
        self.swept += other.swept;
        self.redundant += other.redundant;
        self.corrections += other.corrections;
        self.residual = self.residual.max(other.residual);
        self.joint_error = self.joint_error.max(other.joint_error);
        self.contacts += other.contacts;
        self.stepped += other.stepped;
        self.impact_capped |= other.impact_capped;
        self.inaccurate |= other.inaccurate;
        self.soft_spring |= other.soft_spring;
        self.unconverged |= other.unconverged;
        self.gyroscopic |= other.gyroscopic;
        self.projected |= other.projected;
        self.placed |= other.placed;
    }
}

/// What all islands share during a step.
pub(crate) struct Context<'a, G: Geometry> {
    /// The model.
    pub model: &'a Model<G>,
    /// Controls of this step.
    pub controls: &'a [f64],
    /// Time at the start of the step [s].
    pub time: f64,
    /// Whether islands note what their derivative needs.
    pub record: bool,
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
            bodies: Vec::new(),
            shaped: Vec::new(),
            travelled: Vec::new(),
            company: 0,
            driven: false,
            loose: false,
            poses: Vec::new(),
            twists: Vec::new(),
            half: Vec::new(),
            next: Vec::new(),
            retreat: Vec::new(),
            free: Vec::new(),
            held: Vec::new(),
            scratch: Vec::new(),
            turning: Vec::new(),
            loads: Vec::new(),
            worked: false,
            weight_alone: false,
            falling: false,
            pairs: Vec::new(),
            joints: Vec::new(),
            ties: Vec::new(),
            acting: Vec::new(),
            forces: Vec::new(),
            near: Vec::new(),
            detected: 0,
            found: false,
            memory: Vec::new(),
            reports: Vec::new(),
            efforts: Vec::new(),
            curvature: Curvature::default(),
            curvature_before: Curvature::default(),
            assembly: Assembly::empty(),
            solve: Solve::default(),
            solver: ContactSolver::new(),
            manifold: Vec::new(),
            ahead: Vec::new(),
            flow: Flow::default(),
            stepped: Stepped::default(),
            impact: Default::default(),
            midpoint: Midpoint::empty(),
            report: IslandReport::default(),
            current: false,
            pace: f64::INFINITY,
            failure: None,
            record: None,
            placement: Placement::default(),
        }
    }
    /// Starts the next step where the last one ended, without being built anew; the result is the same bit for bit.
    pub fn resume(&mut self, model: &Model<G>) {
        for (&body, travelled) in self.shaped.iter().zip(&mut self.travelled) {
            *travelled = Aabb::of_point(self.poses[body].position);
        }
        self.reports.clear();
        self.flow = Flow::default();
        self.report = IslandReport::default();
        self.failure = None;
        self.placement.clear();
        self.pace = f64::INFINITY;
        self.found = true;
        // Which limits and contacts have rows depends on velocities and on what was active.
        self.current = self.near.is_empty() && self.acting.iter().all(|&j| model.joints[self.joints[j].index].inequality_count() == 0);
    }
    /// Forgets bodies, pairs and joints but keeps the scratch.
    pub fn clear(&mut self) {
        self.bodies.clear();
        self.shaped.clear();
        self.travelled.clear();
        self.company = 0;
        self.driven = false;
        self.loose = false;
        self.poses.clear();
        self.twists.clear();
        self.pairs.clear();
        self.joints.clear();
        self.ties.clear();
        self.acting.clear();
        self.forces.clear();
        self.near.clear();
        self.detected = 0;
        self.found = false;
        self.memory.clear();
        self.reports.clear();
        self.flow = Flow::default();
        self.report = IslandReport::default();
        self.failure = None;
        self.record = None;
        self.placement.clear();
        self.pace = f64::INFINITY;
        self.current = false;
        self.weight_alone = false;
        self.falling = false;
    }
    /// Kinetic energy [J] of velocities at the current pose, rotors included.
    pub fn kinetic(&self, twists: &[Twist<G>]) -> f64 {
        let bodies: f64 = self.bodies.iter().zip(twists).map(|(body, twist)| body.kinetic(twist)).sum();
        bodies + self.assembly.equalities.rotor_energy(twists)
    }
    /// Turns every inertia to the current pose.
    pub fn refresh_inertia(&mut self) {
        for (body, pose) in self.bodies.iter_mut().zip(&self.poses) {
            body.turn_to(pose);
        }
    }
}
