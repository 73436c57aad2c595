//! A model in motion: state, step, contacts, ledger.

use crate::constraints::JointKind;
use crate::contacts::{Key, Memory, Report};
use crate::coupling::find_turns;
use crate::curvature::Curvature;
use crate::error::{Cause, ModelError, Room, StepError};
use crate::gradient::{StepRecord, Workshop, elastic, energies};
use crate::island::{Context, Island, IslandReport};
use crate::islands::{PairTable, Partition, pair_size};
use crate::joint_effort::JointEffort;
use crate::ledger::{Flow, Ledger};
use crate::model::{BodyKind, Model};
use crate::options::Integrator;
use crate::query::touching;
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
    /// Midpoint of the witness points in the world [m].
    pub point: G::Lin,
    /// Unit normal from b to a.
    pub normal: G::Lin,
    /// Gap at the end of the step [m].
    pub gap: f64,
    /// Impulse on a in world axes, summed over all impacts and substeps of the last step [N s].
    pub impulse: G::Lin,
}

/// A model with its state and scratch.
#[derive(Debug)]
pub struct World<G: Geometry> {
    model: Model<G>,
    start: State<G>,
    state: State<G>,
    pub(crate) table: PairTable,
    extents: Vec<f64>,
    boxes: Vec<Aabb<G>>,
    /// What every step asks of the model.
    census: Census,
    /// Bodies with shapes, and their boxes: the others meet nobody.
    pub(crate) shaped: Vec<usize>,
    shaped_boxes: Vec<Aabb<G>>,
    broadphase: Broadphase<G>,
    pairs: Vec<(usize, usize)>,
    wider: Vec<(usize, usize)>,
    partition: Partition,
    pub(crate) islands: Vec<Island<G>>,
    /// Pairs the islands were built from, whether each body has one of its own, how many there are, and whether they ended where the state is now.
    built: Vec<(usize, usize)>,
    apart: bool,
    used: usize,
    current: bool,
    /// The state was set from outside since the last step, and may start wrong.
    pub(crate) fresh: bool,
    /// What was put right where it did.
    pub(crate) placement: Placement,
    memory: Vec<Memory<G>>,
    curvature: Curvature,
    /// The islands know better what joints remember: where no body has a shape they stay as they are, and nothing is copied in every step.
    lent: bool,
    pub(crate) reports: Vec<Report<G>>,
    /// One contact of every pair that pushed each other before the last step.
    pub(crate) touched: Vec<Key<G>>,
    /// Counts the edits of its model; worlds as they were made have 0.
    pub(crate) edition: u64,
    flow: Flow,
    start_energy: f64,
    largest: f64,
    last: StepReport,
    /// Controls at rest.
    idle: Vec<f64>,
    /// Whether steps are recorded for their derivative.
    recording: bool,
    /// The wish to stop.
    interrupt: Interrupt,
    /// Contact problems are kept before they are solved.
    capture: bool,
    /// Wrenches from outside, one per body, or none.
    pub(crate) pushes: Vec<Wrench<G>>,
    /// What joints did in the last step, where somebody watches.
    pub(crate) efforts: Option<Vec<JointEffort<G>>>,
    /// Where derivatives of its rollouts are worked out.
    pub(crate) workshop: Workshop<G>,
}

/// What every step asks of a model, found once: a long mechanism is bound by what it has to read.
#[derive(Clone, Debug, Default)]
struct Census {
    /// Number of controls.
    controls: usize,
    /// Bodies that move whatever pushes them.
    kinematic: Vec<usize>,
    /// Whether any joint is a spring.
    springs: bool,
}

impl Census {
    fn of<G: Geometry>(model: &Model<G>) -> Self {
        Census {
            controls: model.control_count(),
            kinematic: (0..model.bodies.len()).filter(|&body| model.bodies[body].kind == BodyKind::Kinematic).collect(),
            springs: model.joints.iter().any(|joint| joint.kind == JointKind::Spring),
        }
    }
}

/// What the steps after a state depend on, beyond the state itself.
#[derive(Clone, Debug)]
pub(crate) struct Remembered<G: Geometry> {
    memory: Vec<Memory<G>>,
    curvature: Curvature,
    books: (Flow, f64, f64),
    fresh: bool,
}

impl<G: Geometry> Remembered<G> {
    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&self.memory[..]) + size_of_val(&self.curvature.values()[..])
    }
}

impl<G: Geometry> World<G> {
    /// A world at its start; the model and the state are checked.
    #[inline(never)]
    pub fn new(model: Model<G>, state: State<G>) -> Result<Self, ModelError> {
        model.check(&state)?;
        let mut world = World {
            table: PairTable::new(&model),
            extents: model.bodies.iter().map(|b| b.extent()).collect(),
            boxes: Vec::new(),
            census: Census::of(&model),
            shaped: (0..model.bodies.len()).filter(|&b| !model.bodies[b].colliders.is_empty()).collect(),
            shaped_boxes: Vec::new(),
            broadphase: Broadphase::new(),
            pairs: Vec::new(),
            wider: Vec::new(),
            partition: Partition::default(),
            islands: Vec::new(),
            built: Vec::new(),
            apart: false,
            used: 0,
            current: false,
            fresh: true,
            placement: Placement::default(),
            memory: Vec::new(),
            curvature: Curvature::default(),
            lent: false,
            reports: Vec::new(),
            touched: Vec::new(),
            edition: 0,
            flow: Flow::default(),
            start_energy: 0.0,
            largest: 0.0,
            last: StepReport::default(),
            idle: vec![0.0; model.control_count()],
            recording: false,
            interrupt: Interrupt::NEVER,
            capture: false,
            pushes: Vec::new(),
            efforts: None,
            workshop: Workshop::default(),
            start: state.clone(),
            state,
            model,
        };
        world.curvature.reset(world.model.joints.len(), world.model.joints.iter().map(|j| j.step_row_count()).sum());
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
        &self.last
    }
    /// Replaces the state; what was remembered of contacts is forgotten, the books go on.
    pub fn set_state(&mut self, state: State<G>) -> Result<(), ModelError> {
        self.model.check(&state)?;
        self.state = state;
        find_turns(&self.model, &mut self.state);
        (self.current, self.fresh) = (false, true);
        self.memory.clear();
        self.curvature().forget();
        self.reports.clear();
        self.forget_efforts();
        Ok(())
    }
    /// What is remembered of contacts.
    pub(crate) fn memory(&self) -> &[Memory<G>] {
        &self.memory
    }
    /// Flows, energy at the start and largest energy seen.
    pub(crate) fn books(&self) -> (Flow, f64, f64) {
        (self.flow, self.start_energy, self.largest)
    }
    /// What is remembered of joints, to be replaced.
    pub(crate) fn curvature(&mut self) -> &mut Curvature {
        self.lent = false;
        &mut self.curvature
    }
    /// The same, to read.
    pub(crate) fn curvature_values(&self) -> Vec<f64> {
        self.present_curvature().values()
    }
    pub(crate) fn present_curvature(&self) -> Curvature {
        let mut curvature = self.curvature.clone();
        if self.lent {
            self.islands[..self.used].iter().for_each(|island| island.curvature.give(&mut curvature, &island.joints));
        }
        curvature
    }
    /// Takes islands of an earlier run for their room, or lays its own down where it has come to rest: the next step builds them anew.
    pub(crate) fn exchange_islands(&mut self, islands: Vec<Island<G>>) -> Vec<Island<G>> {
        self.curvature = self.present_curvature();
        (self.lent, self.current, self.used) = (false, false, 0);
        std::mem::replace(&mut self.islands, islands)
    }
    /// Takes over memory and books.
    pub(crate) fn resume(&mut self, memory: Vec<Memory<G>>, (flow, start_energy, largest): (Flow, f64, f64)) {
        self.memory = memory;
        self.current = false;
        (self.flow, self.start_energy, self.largest) = (flow, start_energy, largest);
    }
    /// What the next step depends on beyond the state: memory of contacts and joints, and the books.
    pub(crate) fn remembered(&self) -> Remembered<G> {
        Remembered { memory: self.memory.clone(), curvature: self.present_curvature(), books: self.books(), fresh: self.fresh }
    }
    /// Goes back to a state of this same run, with what was then remembered.
    pub(crate) fn return_to(&mut self, state: &State<G>, then: &Remembered<G>) {
        self.state.clone_from(state);
        self.curvature().clone_from(&then.curvature);
        self.reports.clear();
        self.resume(then.memory.clone(), then.books);
        self.fresh = then.fresh;
    }
    /// How near two bodies must be for their contacts to be kept [m].
    pub(crate) fn reach(&self, bodies: [usize; 2]) -> f64 {
        self.model.tolerances.margin * pair_size(&self.extents, bodies[0], bodies[1])
    }
    /// Back to the start, with empty books.
    #[inline(never)]
    pub fn reset(&mut self) {
        self.state = self.start.clone();
        (self.current, self.fresh) = (false, true);
        self.placement.clear();
        self.memory.clear();
        self.curvature().forget();
        self.reports.clear();
        self.forget_efforts();
        self.open_books();
    }
    fn open_books(&mut self) {
        self.flow = Flow::default();
        let (kinetic, potential, elastic) = self.energies();
        self.start_energy = kinetic + potential + elastic;
        self.largest = kinetic + elastic;
    }

    /// The same world once more: model, state, memory of contacts and books.
    #[inline(never)]
    pub fn copy(&self) -> Self {
        World {
            table: PairTable::new(&self.model),
            extents: self.extents.clone(),
            boxes: Vec::new(),
            census: self.census.clone(),
            shaped: self.shaped.clone(),
            shaped_boxes: Vec::new(),
            broadphase: Broadphase::new(),
            pairs: Vec::new(),
            wider: Vec::new(),
            partition: Partition::default(),
            islands: Vec::new(),
            built: Vec::new(),
            apart: false,
            used: 0,
            current: false,
            fresh: self.fresh,
            placement: self.placement.clone(),
            curvature: self.present_curvature(),
            lent: false,
            memory: self.memory.clone(),
            reports: self.reports.clone(),
            touched: self.touched.clone(),
            edition: self.edition,
            flow: self.flow,
            start_energy: self.start_energy,
            largest: self.largest,
            last: self.last,
            idle: self.idle.clone(),
            recording: false,
            interrupt: Interrupt::NEVER,
            capture: false,
            pushes: Vec::new(),
            efforts: None,
            start: self.start.clone(),
            state: self.state.clone(),
            model: self.model.clone(),
            workshop: self.workshop.clone(),
        }
    }

    /// This world with another model and state, its memory of contacts and its books kept; the bodies must be the same ones.
    #[inline(never)]
    pub fn altered(&self, model: Model<G>, state: State<G>) -> Result<Self, ModelError> {
        let mut world = World::new(model, state)?;
        world.resume(self.memory.clone(), self.books());
        world.curvature = self.present_curvature();
        world.start = self.start.clone();
        world.edition = self.edition;
        world.watch_joints(self.efforts.is_some());
        world.workshop = self.workshop.handed_on();
        Ok(world)
    }

    /// From now on a step that the token interrupts ends with [`Cause::Stopped`], within milliseconds, and leaves the world as it was. Copies of the world
    /// heed nobody.
    pub fn heed(&mut self, interrupt: &Interrupt) {
        self.interrupt.become_same(interrupt);
    }

    /// The token that steps heed.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// From now on contact problems are kept as numbers, each before it is solved; `carom_solve::contact::problem_file` reads them.
    pub fn capture_problems(&mut self, capture: bool) {
        self.capture = capture;
    }

    /// Takes the contact problems that were captured since the last call.
    pub fn captured_problems(&mut self) -> Vec<Vec<f64>> {
        self.islands.iter_mut().flat_map(|island| std::mem::take(&mut island.solve.sparse.captured)).collect()
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
        let wanted = self.census.controls;
        if controls.len() != wanted {
            let cause = Cause::WrongLength { what: "controls", found: controls.len(), wanted };
            return Err(StepError { room: Room::Predict, time: self.state.time, cause });
        }
        self.sweep();
        let used = self.advance_islands(controls, advance)?;
        self.commit(used);
        Ok(self.last)
    }

    /// One step that also records what its derivative needs.
    #[inline(never)]
    pub fn step_recorded(&mut self, controls: &[f64]) -> Result<(StepReport, StepRecord<G>), StepError> {
        let (poses, twists) = (self.state.poses.clone(), self.state.twists.clone());
        self.islands.iter_mut().for_each(|island| island.record = None);
        self.recording = true;
        let outcome = self.step_with(controls);
        self.recording = false;
        let report = outcome?;
        // A step taken again may need fewer islands than its first try; what the others recorded is void.
        let islands = self.islands[..self.used].iter_mut().filter_map(|island| island.record.take()).collect();
        Ok((report, StepRecord { islands, controls: controls.to_vec(), poses, twists }))
    }

    /// Boxes swept by the whole step at the present velocities, grown by the margin and by what the loads can add.
    pub(crate) fn sweep(&mut self) {
        let h = self.model.step;
        let fall = 0.5 * h * h * self.model.gravity.norm();
        let nowhere = Aabb::of_point(G::Lin::zero());
        self.boxes.resize(self.model.bodies.len(), nowhere);
        for &index in &self.shaped {
            let body = &self.model.bodies[index];
            let pose = &self.state.poses[index];
            let mut swept: Option<Aabb<G>> = None;
            let moves = body.kind != BodyKind::Static;
            let twist = self.state.twists[index];
            for collider in &body.colliders {
                let here = G::bounds(&collider.shape, &pose.compose(&collider.local));
                let mut all = here;
                if moves {
                    all = all.union(&G::bounds(&collider.shape, &pose.advanced(twist, h).compose(&collider.local)));
                    let chord = (twist.ang.norm() * h).min(2.0) * G::reach(&collider.shape, G::Lin::zero());
                    all = all.grown(if chord.is_finite() { chord * 0.25 } else { 0.0 });
                }
                swept = Some(swept.map_or(all, |s| s.union(&all)));
            }
            let margin = if self.extents[index].is_finite() { self.model.tolerances.margin * self.extents[index] } else { 0.0 };
            let slack = if moves { fall + margin } else { margin };
            self.boxes[index] = swept.unwrap_or_else(|| Aabb::of_point(pose.position)).grown(slack);
        }
        let mut pairs = std::mem::take(&mut self.pairs);
        self.find_pairs(&mut pairs);
        self.pairs = pairs;
    }

    /// Pairs of bodies whose boxes meet and that may touch, ascending.
    fn find_pairs(&mut self, out: &mut Vec<(usize, usize)>) {
        let World { model, table, broadphase, boxes, shaped, shaped_boxes, .. } = self;
        shaped_boxes.clear();
        shaped_boxes.extend(shaped.iter().map(|&body| boxes[body]));
        broadphase.pairs(shaped_boxes, |i, j| table.collide(model, shaped[i], shaped[j]), out);
        for (i, j) in out.iter_mut() {
            (*i, *j) = (shaped[*i], shaped[*j]);
        }
    }

    /// Advances every island, by a whole step or only to where it starts. A body that left its box gets a larger one; where that brings new pairs the
    /// step is taken again.
    pub(crate) fn advance_islands(&mut self, controls: &[f64], advance: Advance<G>) -> Result<usize, StepError> {
        // A record is one of islands that were bound together, and so are the rounds of mean velocities.
        let apart = self.recording || self.model.options.integrator == Integrator::EnergyMomentum;
        let mut used = 0;
        for round in 0..=SWEEP_CAP {
            // The same pairs make the same islands. Kinematic bodies move on the world's clock and must be placed anew.
            if std::mem::take(&mut self.current) && self.apart == apart && self.built == self.pairs {
                used = self.used;
                for island in &mut self.islands[..used] {
                    island.resume(&self.model);
                    if self.lent {
                        island.curvature_before.assign(&island.curvature);
                    }
                }
            } else {
                if std::mem::take(&mut self.lent) {
                    self.islands[..self.used].iter().for_each(|island| island.curvature.give(&mut self.curvature, &island.joints));
                }
                let World { model, state, table, extents, pairs, memory, curvature, islands, .. } = self;
                used = self.partition.build(model, state, table, extents, pairs, memory, curvature, apart, islands);
                self.apart = apart;
                self.built.clone_from(&self.pairs);
                self.used = used;
            }
            let ctx = Context {
                model: &self.model,
                controls,
                time: self.state.time,
                record: self.recording,
                pushes: &self.pushes,
                interrupt: &self.interrupt,
                capture: self.capture,
                fresh: self.fresh,
            };
            let islands = &mut self.islands[..used];
            for island in islands.iter_mut() {
                island.efforts.clear();
                island.efforts.resize(if self.efforts.is_some() { island.joints.len() } else { 0 }, JointEffort::zero());
            }
            let run = |island: &mut Island<G>| island.failure = advance(island, &ctx).err();
            if used > 1 && self.model.bodies.len() >= PARALLEL_BODIES {
                islands.par_iter_mut().for_each(run);
            } else {
                islands.iter_mut().for_each(run);
            }
            let mut grew = false;
            for island in islands.iter() {
                let shaped = island.shaped.iter().map(|&body| &island.bodies[body]).zip(&island.travelled);
                for (body, travelled) in shaped.filter(|(body, _)| body.dynamic) {
                    let swept = &mut self.boxes[body.index];
                    if !swept.contains(travelled) {
                        grew = true;
                        *swept = swept.union(&travelled.grown(self.model.tolerances.margin * self.extents[body.index].min(1.0)));
                    }
                }
            }
            if !grew || round == SWEEP_CAP {
                break;
            }
            let mut wider = std::mem::take(&mut self.wider);
            self.find_pairs(&mut wider);
            self.wider = wider;
            if self.wider == self.pairs {
                break;
            }
            std::mem::swap(&mut self.wider, &mut self.pairs);
        }
        // What islands were stopped in is nothing that went wrong, and what they came to is worth nothing.
        let stopped = self.interrupt.raised().then(|| StepError::unfinished(Cause::Stopped, self.state.time));
        let failed = stopped.or_else(|| self.islands[..used].iter_mut().find_map(|i| i.failure.take()));
        if failed.is_some() && self.lent {
            self.islands[..used].iter_mut().for_each(|island| std::mem::swap(&mut island.curvature, &mut island.curvature_before));
        }
        failed.map_or(Ok(used), Err)
    }

    /// Writes the islands back.
    fn commit(&mut self, used: usize) {
        let h = self.model.step;
        self.gather_efforts(used);
        self.last = StepReport::default();
        if std::mem::take(&mut self.fresh) {
            self.placement = self.gathered_placement(used);
        }
        touching(&self.memory, &mut self.touched);
        self.memory.clear();
        self.reports.clear();
        let mut kinetic = 0.0;
        for island in &self.islands[..used] {
            let mut moving = 0.0;
            for (body, (pose, twist)) in island.bodies.iter().zip(island.poses.iter().zip(&island.twists)) {
                if body.dynamic {
                    self.state.poses[body.index] = *pose;
                    self.state.twists[body.index] = *twist;
                    // The islands' inertias stand at their last poses already.
                    moving += body.kinetic(twist);
                }
            }
            kinetic += moving + island.assembly.equalities.rotor_energy(&island.twists);
            self.memory.extend_from_slice(&island.memory);
            if !self.shaped.is_empty() {
                island.curvature.give(&mut self.curvature, &island.joints);
            }
            island.assembly.equalities.ties.tell_turns(&self.model, &island.poses, &mut self.state.turns);
            self.reports.extend_from_slice(&island.reports);
            self.flow.add(&island.flow);
            self.last.merge(&island.report.times(island.company.max(1)));
        }
        for &index in &self.census.kinematic {
            self.state.poses[index] = self.state.poses[index].advanced(self.state.twists[index], h);
        }
        self.memory.sort_unstable_by_key(|a| a.key);
        self.reports.sort_unstable_by_key(|a| a.key);
        self.state.time += h;
        self.lent = self.shaped.is_empty();
        self.current = self.census.kinematic.is_empty();
        let elastic = if self.census.springs { elastic(&self.model, &self.state) } else { 0.0 };
        self.largest = self.largest.max(kinetic + elastic);
    }

    /// Kinetic, potential and elastic energy [J].
    pub fn energies(&self) -> (f64, f64, f64) {
        energies(&self.model, &self.state).into()
    }

    /// The balance since reset.
    pub fn ledger(&self) -> Ledger {
        let (kinetic, potential, elastic) = self.energies();
        let flow = self.flow;
        let balance = kinetic + potential + elastic - self.start_energy;
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
            drift: balance - flow.work_in + flow.losses() - flow.joint_work - flow.projection,
            exchanged: self.largest + flow.losses(),
            flow,
            momentum: momentum.as_slice().to_vec(),
            angular_momentum: angular.as_slice().to_vec(),
        }
    }

    /// Contacts of the last step with their summed impulses, gaps taken at its end.
    pub fn contacts(&self) -> Vec<ContactReport<G>> {
        self.reports
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
        &self.boxes
    }

    /// Joints that hold nothing at the present state which others do not hold already, by index, rising. Their redundant rows carry no impulse;
    /// `model().joints[i].name` names them.
    pub fn redundant_joints(&self) -> Vec<usize> {
        crate::redundancy::redundant_joints(&self.model, &self.state)
    }

    /// Largest joint error [m or rad] at the present state.
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
