//! A world of the plane or of space behind one face: the fork between the two dimensions ends here.

use crate::losses::Losses;
use crate::outline::Drawn;
use crate::run::{Ran, Run, jacobian_of};
use crate::senses::Senses;
use crate::words::Words;
use carom_dynamics::error::Cause;
use carom_dynamics::gradient::{GradientError, LineariseError, Linearised, NameError, Names, Parameters, Quantity, Switches, Tape, Weak};
use carom_dynamics::{Interrupt, Ledger, ModelError, Snapshot, SnapshotError, State, StepError, World};
use carom_fit::{Ask, Complaint, Fit, Start, Table};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};
use carom_render::Draw;
use carom_scene::{NamedPoint, Scene, SceneOf, SceneSpace};
use carom_web::{About, Recorder};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// What a rollout or a Jacobian can fail at.
#[derive(Debug)]
pub enum Fault {
    /// A step.
    Step(StepError),
    /// A derivative.
    Gradient(GradientError),
    /// A name.
    Name(NameError),
}

/// One-step Jacobians by rows, with their numbers of columns, and the flags of the step.
pub struct Jacobians {
    /// Number of columns and numbers, in the order asked for.
    pub found: Vec<(usize, Vec<f64>)>,
    /// What was met on the way.
    pub switches: Switches,
}

/// A world in plain text and numbers, from which [`unpack`] makes the same bits: the scene at its start, the parameters that were set
/// since, and the bytes of everything that moves.
pub struct Packed {
    /// The scene.
    pub text: String,
    /// Parameters that were set, by name.
    pub edits: Vec<(String, Vec<f64>)>,
    /// State, books and memory of contacts.
    pub snapshot: Vec<u8>,
}

/// A contact in plain numbers: bodies, point, normal, gap, impulse.
pub type RawContact = ([usize; 2], Vec<f64>, Vec<f64>, f64, Vec<f64>);

/// A world.
pub trait Engine: Losses + Senses + Words + Send + Sync {
    /// 2 or 3.
    fn dimension(&self) -> usize;
    /// Numbers per pose and per velocity.
    fn widths(&self) -> [usize; 2];
    /// For people.
    fn name(&self) -> String;
    /// Simulated time of a plain run [s].
    fn duration(&self) -> f64;
    /// Fits its parameters to motions.
    fn fit(&self, tables: &[Table], ask: &Ask, interrupt: &Interrupt) -> Result<Fit, Complaint>;
    /// Names of bodies, joints and controls.
    fn names(&self) -> [Vec<String>; 3];
    /// Number of bodies and of controls.
    fn sizes(&self) -> [usize; 2];
    /// Time and step [s].
    fn clock(&self) -> [f64; 2];
    /// Appends all poses.
    fn write_q(&self, out: &mut Vec<f64>);
    /// Appends all velocities.
    fn write_v(&self, out: &mut Vec<f64>);
    /// Sets poses, velocities or both; nothing is changed on an error.
    fn set_state(&mut self, q: Option<&[f64]>, v: Option<&[f64]>) -> Result<(), ModelError>;
    /// Takes these steps, or as many as there is time for, and says which is next; `rows` of `controls`: 0 for idle, 1 for the same at every
    /// step, else one per step. A step that is interrupted is the next one.
    fn step(
        &mut self,
        steps: Range<usize>,
        rows: usize,
        controls: &[f64],
        until: Option<Instant>,
        interrupt: &Interrupt,
    ) -> Result<usize, StepError>;
    /// Back to the start.
    fn reset(&mut self);
    /// The same once more.
    fn copy(&self) -> Box<dyn Engine>;
    /// 16 hex digits.
    fn hash(&self) -> String;
    /// Names of the parameters.
    fn keys(&self) -> Vec<String>;
    /// A parameter.
    fn parameter(&self, key: &str) -> Result<Quantity, NameError>;
    /// Sets a parameter whole.
    fn set_parameter(&mut self, key: &str, values: &[f64]) -> Result<Result<(), ModelError>, NameError>;
    /// What started wrong, in words.
    fn notes(&self) -> Vec<String>;
    /// Contacts of the last step.
    fn contacts(&self) -> Vec<RawContact>;
    /// The balance.
    fn ledger(&self) -> Ledger;
    /// Steps from here without moving.
    fn rollout(&self, steps: usize, controls: &[f64], tape: Tape, interrupt: &Interrupt) -> Result<Box<dyn Run>, StepError>;
    /// So many steps from here without moving, as a page that replays them.
    fn replay(&self, steps: usize, interrupt: &Interrupt) -> Result<String, StepError>;
    /// One-step Jacobians.
    fn jacobian(&self, wrt: &[String], weak: Weak, interrupt: &Interrupt) -> Result<Jacobians, Fault>;
    /// The derivative of a step under controls in joint coordinates.
    fn linearise(&self, controls: &[f64], weak: Weak, interrupt: &Interrupt) -> Result<Linearised, Fault>;
    /// Shapes of all bodies, in order.
    fn shapes(&self) -> Vec<Drawn>;
    /// Everything there is to it.
    fn pack(&self) -> Packed;
    /// Takes over the bytes of a snapshot.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ModelError>;
}

/// A scene as a world at its start.
pub fn open(scene: Scene) -> Result<Box<dyn Engine>, ModelError> {
    let text: Arc<str> = carom_scene::to_toml(&scene).into();
    Ok(match scene {
        Scene::Planar(scene) => Box::new(Held::new(scene, text)?),
        Scene::Spatial(scene) => Box::new(Held::new(scene, text)?),
    })
}

pub(crate) struct Held<G: Geometry> {
    pub(crate) world: World<G>,
    pub(crate) names: Names<G>,
    /// Names of the collision groups.
    pub(crate) groups: Vec<String>,
    /// Named points.
    pub(crate) points: Arc<Vec<NamedPoint<G>>>,
    name: String,
    duration: f64,
    /// The scene at its start.
    text: Arc<str>,
    /// The parameters that were set since, the last value of each, and between them what was added and removed.
    pub(crate) edits: Vec<(String, Vec<f64>)>,
}

impl<G: Geometry> Held<G> {
    fn new(scene: SceneOf<G>, text: Arc<str>) -> Result<Self, ModelError> {
        let names = Names::new(&scene.model, &scene.joints, &scene.state)?;
        let (name, duration, groups, points) = (scene.name, scene.duration, scene.groups, Arc::new(scene.points));
        let mut world = World::new(scene.model, scene.state)?;
        world.watch_joints(true);
        Ok(Held { world, names, groups, points, name, duration, text, edits: Vec::new() })
    }
}

pub(crate) fn write_poses<G: Geometry>(state: &State<G>, out: &mut Vec<f64>) {
    let start = out.len();
    out.resize(start + state.poses.len() * G::COORDS, 0.0);
    for (body, row) in out[start..].chunks_exact_mut(G::COORDS).enumerate() {
        state.write_pose(body, row);
    }
}

pub(crate) fn write_twists<G: Geometry>(state: &State<G>, out: &mut Vec<f64>) {
    let start = out.len();
    out.resize(start + state.twists.len() * G::DOF, 0.0);
    for (body, row) in out[start..].chunks_exact_mut(G::DOF).enumerate() {
        state.write_twist(body, row);
    }
}

impl<G: Draw + SceneSpace> Engine for Held<G> {
    fn dimension(&self) -> usize {
        G::DIM
    }
    fn widths(&self) -> [usize; 2] {
        [G::COORDS, G::DOF]
    }
    fn name(&self) -> String {
        self.name.clone()
    }
    fn duration(&self) -> f64 {
        self.duration
    }
    fn names(&self) -> [Vec<String>; 3] {
        let model = self.world.model();
        let motors = model.joints.iter().filter(|j| j.is_controlled()).map(|j| j.name.clone());
        let forces = model.forces.iter().enumerate().filter(|(_, f)| f.control).map(|(i, _)| format!("force{i}"));
        [
            model.bodies.iter().map(|b| b.name.clone()).collect(),
            model.joints.iter().map(|j| j.name.clone()).collect(),
            motors.chain(forces).collect(),
        ]
    }
    fn sizes(&self) -> [usize; 2] {
        [self.world.model().bodies.len(), self.world.model().control_count()]
    }
    fn clock(&self) -> [f64; 2] {
        [self.world.state().time, self.world.model().step]
    }
    fn write_q(&self, out: &mut Vec<f64>) {
        write_poses(self.world.state(), out);
    }
    fn write_v(&self, out: &mut Vec<f64>) {
        write_twists(self.world.state(), out);
    }

    fn set_state(&mut self, q: Option<&[f64]>, v: Option<&[f64]>) -> Result<(), ModelError> {
        let mut state = self.world.state().clone();
        let mut now = vec![0.0; G::COORDS];
        for (body, row) in q.into_iter().flat_map(|q| q.chunks_exact(G::COORDS)).enumerate() {
            state.write_pose(body, &mut now);
            if now == row {
                continue; // what is not changed keeps its bits
            }
            let rotation = row.iter().all(|x| x.is_finite()).then(|| G::read_rotation(&row[G::DIM..])).flatten();
            let part = || format!("q, body \"{}\"", self.world.model().bodies[body].name);
            let rotation =
                rotation.ok_or_else(|| ModelError::new(part(), "", "needs finite numbers and a quaternion of length above 0"))?;
            state.poses[body] = Pose { position: G::Lin::from_slice(row), rotation };
        }
        for (body, row) in v.into_iter().flat_map(|v| v.chunks_exact(G::DOF)).enumerate() {
            if row.iter().any(|x| !x.is_finite()) {
                return Err(ModelError::new(format!("v, body \"{}\"", self.world.model().bodies[body].name), "", "needs finite numbers"));
            }
            state.twists[body] = Twist { lin: G::Lin::from_slice(row), ang: G::Ang::from_slice(&row[G::DIM..]) };
        }
        if state == *self.world.state() { Ok(()) } else { self.world.set_state(state) }
    }

    fn step(
        &mut self,
        steps: Range<usize>,
        rows: usize,
        controls: &[f64],
        until: Option<Instant>,
        interrupt: &Interrupt,
    ) -> Result<usize, StepError> {
        self.world.heed(interrupt);
        let width = controls.len().checked_div(rows).unwrap_or(0);
        for step in steps.clone() {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(step);
            }
            let taken = match rows {
                0 => self.world.step(),
                1 => self.world.step_with(controls),
                _ => self.world.step_with(&controls[step * width..(step + 1) * width]),
            };
            match taken {
                Err(error) if error.cause == Cause::Stopped => return Ok(step),
                taken => taken?,
            };
            // What was applied to bodies acts in one step.
            self.world.release();
        }
        Ok(steps.end)
    }
    fn reset(&mut self) {
        self.world.reset();
    }
    fn copy(&self) -> Box<dyn Engine> {
        let mut world = self.world.copy();
        world.watch_joints(true);
        Box::new(Held {
            world,
            names: self.names.clone(),
            groups: self.groups.clone(),
            points: self.points.clone(),
            name: self.name.clone(),
            duration: self.duration,
            text: self.text.clone(),
            edits: self.edits.clone(),
        })
    }
    fn hash(&self) -> String {
        self.world.state().hash()
    }
    fn keys(&self) -> Vec<String> {
        self.names.keys(self.world.model())
    }
    fn parameter(&self, key: &str) -> Result<Quantity, NameError> {
        self.names.get(self.world.model(), &Parameters::of(self.world.model()), key)
    }
    fn set_parameter(&mut self, key: &str, values: &[f64]) -> Result<Result<(), ModelError>, NameError> {
        let mut names = self.names.clone();
        let model = names.set(self.world.model(), key, values)?;
        Ok(self.world.altered(model, self.world.state().clone()).map(|world| {
            self.world = world;
            self.names = names;
            // Only the last value counts, unless bodies came or went since.
            let since = self.edits.iter().rposition(|(known, _)| known.contains(' ')).map_or(0, |last| last + 1);
            match self.edits[since..].iter_mut().find(|(known, _)| known == key) {
                Some((_, last)) => last.clone_from(&values.to_vec()),
                None => self.edits.push((key.to_string(), values.to_vec())),
            }
        }))
    }

    fn fit(&self, tables: &[Table], ask: &Ask, interrupt: &Interrupt) -> Result<Fit, Complaint> {
        carom_fit::fit(Start::of(self.world.copy(), self.names.clone()), tables, ask, interrupt, &mut |_, _, _| {})
    }
    fn notes(&self) -> Vec<String> {
        self.world.notes()
    }
    fn contacts(&self) -> Vec<RawContact> {
        let plain = |x: G::Lin| x.as_slice().to_vec();
        self.world.contacts().into_iter().map(|c| (c.bodies, plain(c.point), plain(c.normal), c.gap, plain(c.impulse))).collect()
    }
    fn ledger(&self) -> Ledger {
        self.world.ledger()
    }
    fn rollout(&self, steps: usize, controls: &[f64], tape: Tape, interrupt: &Interrupt) -> Result<Box<dyn Run>, StepError> {
        let rollout = self.world.rollout_unless(steps, controls, tape, interrupt)?;
        Ok(Box::new(Ran { rollout, names: self.names.clone(), name: self.name.clone() }))
    }
    fn replay(&self, steps: usize, interrupt: &Interrupt) -> Result<String, StepError> {
        let mut world = self.world.copy();
        let about = About { name: &self.name, description: "", duration: self.duration };
        let mut recorder = Recorder::new(&world, &about, steps as u64);
        world.heed(interrupt);
        for _ in 0..steps {
            world.step()?;
            recorder.record(&world);
        }
        Ok(recorder.html())
    }

    fn jacobian(&self, wrt: &[String], weak: Weak, interrupt: &Interrupt) -> Result<Jacobians, Fault> {
        let rollout = self.world.rollout_unless(1, &[], Tape::Full, interrupt).map_err(Fault::Step)?;
        jacobian_of(&rollout, 0, &self.names, wrt, weak, interrupt)
    }

    fn linearise(&self, controls: &[f64], weak: Weak, interrupt: &Interrupt) -> Result<Linearised, Fault> {
        self.world.linearise(controls, weak, interrupt).map_err(|error| match error {
            LineariseError::Step(error) => Fault::Step(error),
            LineariseError::Gradient(error) => Fault::Gradient(error),
        })
    }

    fn shapes(&self) -> Vec<Drawn> {
        let bodies = self.world.model().bodies.iter().enumerate();
        bodies.flat_map(|(i, body)| body.colliders.iter().map(move |c| Drawn::of::<G>(i, body.color, c))).collect()
    }
    fn pack(&self) -> Packed {
        Packed { text: self.text.to_string(), edits: self.edits.clone(), snapshot: self.world.snapshot().to_bytes() }
    }
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ModelError> {
        let refused = |error: SnapshotError| ModelError::new("snapshot", "", error.to_string());
        self.world.restore(&Snapshot::from_bytes(snapshot).map_err(refused)?).map_err(refused)
    }
}
