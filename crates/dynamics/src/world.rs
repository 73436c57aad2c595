//! A model in motion: state, step, contacts, ledger.

mod advance;
mod parts;
mod remember;

use parts::{Books, Facts, Islands, Outside, Past, Search};
pub(crate) use remember::Remembered;

use crate::constraints::JointKind;
use crate::contacts::{Key, Memory, Report};
use crate::coupling::find_turns;
use crate::curvature::Curvature;
use crate::energy::{elastic, energies};
use crate::error::{Cause, ModelError, Stage, StepError};
use crate::island::{Context, Island, IslandReport};
use crate::islands::{PairTable, Partition, pair_size};
use crate::joint_effort::JointEffort;
use crate::ledger::{Flow, Ledger};
use crate::model::{BodyKind, Model};
use crate::observe::{Watch, Witnesses};
use crate::query::touching;
use crate::rest::unmoved;
use crate::scratch_pool::ScratchPool;
use crate::start::Placement;
use crate::state::State;
use crate::step::advance;
use carom_geometry::broadphase::Broadphase;
use carom_geometry::{Aabb, Geometry};
use carom_math::{Vector, Wrench};
use carom_solve::interrupt::Interrupt;
use rayon::prelude::*;

/// Rounds in which bodies that left their swept boxes are given larger ones before all share one island.
const SWEEP_CAP: usize = 8;

/// Islands with fewer bodies than this in total are advanced by one thread: waking others costs more.
const PARALLEL_BODIES: usize = 64;

/// What is done with an island: a whole step, or only what comes before it.
type Advance<G> = fn(&mut Island<G>, &Context<G>) -> Result<(), StepError>;

/// How a step went, summed over islands.
pub type StepReport = IslandReport;

/// A contact as a user sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactReport<G: Geometry> {
    /// Bodies a and b.
    pub bodies: [usize; 2],
    /// Midpoint of the witness points in the world \[m\].
    pub point: G::Lin,
    /// Unit normal from b to a.
    pub normal: G::Lin,
    /// Gap at the end of the step \[m\].
    pub gap: f64,
    /// Impulse on a in world axes, summed over all impacts and substeps of the last step \[N s\].
    pub impulse: G::Lin,
}

/// A model with its state and scratch.
#[derive(Debug)]
pub struct World<G: Geometry> {
    model: Model<G>,
    start: State<G>,
    state: State<G>,
    /// What every step asks of the model.
    facts: Facts,
    pub(crate) search: Search<G>,
    pub(crate) islands: Islands<G>,
    pub(crate) past: Past<G>,
    books: Books,
    pub(crate) outside: Outside<G>,
    /// The state was set from outside since the last step, and may start wrong.
    pub(crate) fresh: bool,
    /// What was put right where it did.
    pub(crate) placement: Placement,
    /// Counts the edits of its model; worlds as they were made have 0.
    pub(crate) edition: u64,
    /// Controls at rest.
    idle: Vec<f64>,
    /// Scratch of those who work on its rollouts.
    pub(crate) scratch_pool: ScratchPool,
}

impl<G: Geometry> World<G> {
    /// A world at its start; the model and the state are checked.
    #[inline(never)]
    pub fn new(model: Model<G>, state: State<G>) -> Result<Self, ModelError> {
        model.check(&state)?;
        let mut world = World {
            facts: Facts::of(&model),
            search: Search::of(&model),
            islands: Islands::default(),
            past: Past::default(),
            books: Books::default(),
            outside: Outside::default(),
            fresh: true,
            placement: Placement::default(),
            edition: 0,
            idle: vec![0.0; model.control_count()],
            scratch_pool: ScratchPool::default(),
            start: state.clone(),
            state,
            model,
        };
        world.past.curvature.reset(world.model.joints.len(), world.model.joints.iter().map(|j| j.step_row_count()).sum());
        find_turns(&world.model, &mut world.state);
        world.start.turns.clone_from(&world.state.turns);
        world.open_books();
        Ok(world)
    }

    /// The model.
    pub fn model(&self) -> &Model<G> {
        &self.model
    }
    /// The present state.
    pub fn state(&self) -> &State<G> {
        &self.state
    }
    /// How the last step went.
    pub fn report(&self) -> &StepReport {
        &self.past.last
    }
    /// Replaces the state; what was remembered of contacts is forgotten. The books go on, and their drift starts anew: no step made the change.
    pub fn set_state(&mut self, state: State<G>) -> Result<(), ModelError> {
        self.model.check(&state)?;
        self.state = state;
        find_turns(&self.model, &mut self.state);
        (self.islands.current, self.fresh) = (false, true);
        self.past.memory.clear();
        self.curvature().forget();
        self.past.reports.clear();
        self.forget_efforts();
        let (kinetic, potential, elastic) = self.energies();
        self.books.start_energy = kinetic + potential + elastic - self.books.flow.balance();
        self.books.largest = self.books.largest.max(kinetic + elastic);
        Ok(())
    }
    /// Back to the start, with empty books.
    #[inline(never)]
    pub fn reset(&mut self) {
        self.state = self.start.clone();
        (self.islands.current, self.fresh) = (false, true);
        self.placement.clear();
        self.past.memory.clear();
        self.curvature().forget();
        self.past.reports.clear();
        self.forget_efforts();
        self.open_books();
    }
    fn open_books(&mut self) {
        self.books.flow = Flow::default();
        let (kinetic, potential, elastic) = self.energies();
        self.books.start_energy = kinetic + potential + elastic;
        self.books.largest = kinetic + elastic;
    }

    /// From now on a step that the token interrupts ends with [`Cause::Stopped`], within milliseconds, and leaves the world as it was. Copies of the world
    /// heed nobody.
    pub fn heed(&mut self, interrupt: &Interrupt) {
        self.outside.interrupt.become_same(interrupt);
    }

    /// The token that steps heed.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.outside.interrupt
    }

    /// From now on contact problems are kept as numbers, each before it is solved; `carom_solve::contact::problem_file` reads them.
    pub fn capture_problems(&mut self, capture: bool) {
        self.outside.capture = capture;
    }

    /// Takes the contact problems that were captured since the last call.
    pub fn captured_problems(&mut self) -> Vec<Vec<f64>> {
        self.islands.list.iter_mut().flat_map(|island| std::mem::take(&mut island.system.solve.sparse.captured)).collect()
    }

    /// One step with every control at zero.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        let none = std::mem::take(&mut self.idle);
        let outcome = self.step_with(&none);
        self.idle = none;
        outcome
    }

    /// One step under controls, theory chapter 2. After an error the state is the one before the step.
    #[inline(never)]
    pub fn step_with(&mut self, controls: &[f64]) -> Result<StepReport, StepError> {
        let wanted = self.facts.controls;
        if controls.len() != wanted {
            let cause = Cause::WrongLength { what: "controls", found: controls.len(), wanted };
            return Err(StepError { stage: Stage::Predict, time: self.state.time, cause });
        }
        self.sweep();
        let used = self.advance_islands(controls, advance)?;
        self.commit(used);
        Ok(self.past.last)
    }

    /// One step that somebody watches; who did is returned, one for each island.
    pub(crate) fn step_observed(&mut self, controls: &[f64], watch: Watch<G>) -> Result<(StepReport, Witnesses<G>), StepError> {
        self.islands.list.iter_mut().for_each(|island| island.books.observer = None);
        self.outside.watch = Some(watch);
        let outcome = self.step_with(controls);
        self.outside.watch = None;
        // A step taken again may need fewer islands than its first try; what was seen of the others is void.
        Ok((outcome?, self.islands.list[..self.islands.used].iter_mut().filter_map(|island| island.books.observer.take()).collect()))
    }

    /// Kinetic, potential and elastic energy \[J\].
    pub fn energies(&self) -> (f64, f64, f64) {
        energies(&self.model, &self.state).into()
    }

    /// The balance since reset.
    pub fn ledger(&self) -> Ledger {
        let (kinetic, potential, elastic) = self.energies();
        let flow = self.books.flow;
        let balance = kinetic + potential + elastic - self.books.start_energy;
        let (mut momentum, mut angular) = (G::Lin::zero(), G::Ang::zero());
        for (index, body) in self.model.bodies.iter().enumerate() {
            if body.kind == BodyKind::Dynamic {
                let (pose, twist) = (&self.state.poses[index], &self.state.twists[index]);
                let p = twist.lin * body.mass;
                momentum += p;
                angular += G::torque(pose.position, p) + G::inertia_apply(G::inertia_world(body.inertia, pose.rotation), twist.ang);
            }
        }
        Ledger {
            kinetic,
            potential,
            elastic,
            drift: balance - flow.balance(),
            exchanged: self.books.largest + flow.losses(),
            flow,
            momentum: momentum.as_slice().to_vec(),
            angular_momentum: angular.as_slice().to_vec(),
        }
    }

    /// Contacts of the last step with their summed impulses, gaps taken at its end.
    #[inline(never)]
    pub fn contacts(&self) -> Vec<ContactReport<G>> {
        self.past
            .reports
            .iter()
            .map(|report| {
                let now = self.contact_now(&report.key);
                ContactReport {
                    bodies: report.key.bodies,
                    point: (now.point_a + now.point_b) * 0.5,
                    normal: now.normal,
                    gap: now.gap,
                    impulse: report.impulse,
                }
            })
            .collect()
    }

    /// The boxes by which the last step looked for contacts, one per body: everywhere it could come within the step. None before the first
    /// step.
    pub fn swept_boxes(&self) -> &[Aabb<G>] {
        &self.search.boxes
    }

    /// Joints that hold nothing at the present state which others do not hold already, by index, rising. Their redundant rows carry no impulse;
    /// `model().joints[i].name` names them.
    pub fn redundant_joints(&self) -> Vec<usize> {
        crate::redundancy::redundant_joints(&self.model, &self.state)
    }

    /// Largest joint error \[m or rad\] at the present state.
    pub fn joint_error(&self) -> f64 {
        let mut worst: f64 = 0.0;
        let mut error = Vec::new();
        for joint in &self.model.joints {
            let pose = |side: usize| joint.bodies[side].map_or_else(carom_math::Pose::identity, |b| self.state.poses[b]);
            error.clear();
            error.resize(joint.row_count(), 0.0);
            joint.error(&pose(0), &pose(1), &mut error);
            worst = error.iter().fold(worst, |m, e| m.max(e.abs()));
        }
        worst
    }
}
