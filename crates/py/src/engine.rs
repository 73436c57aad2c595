//! A world of the plane or of space behind one face: the fork between the two dimensions ends here.

use crate::losses::Losses;
use crate::outline::Drawn;
use crate::senses::Senses;
use crate::words::Words;
use carom_dynamics::error::Cause;
use carom_dynamics::gradient::{
    Cotangents, Gradient, GradientError, LineariseError, Linearised, NameError, Names, Parameters, Quantity, Rollout, Switches, Tape, Weak,
    Wrt,
};
use carom_dynamics::{Interrupt, Ledger, ModelError, Snapshot, SnapshotError, State, StepError, StepReport, World};
use carom_fit::{Ask, Complaint, Fit, Start, Table};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};
use carom_render::mesh::{Mesh, meshes, room};
use carom_render::{Draw, Kind, Options as Picture, RenderError, Theme, film::Film, render_states};
use carom_scene::{Scene, SceneOf, SceneSpace};
use carom_web::{About, Recorder};
use std::io::Write;
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

/// A rollout.
pub trait Run: Send + Sync {
    /// Appends the poses of all states.
    fn write_q(&self, out: &mut Vec<f64>);
    /// Appends the velocities of all states.
    fn write_v(&self, out: &mut Vec<f64>);
    /// Times of all states [s].
    fn times(&self) -> Vec<f64>;
    /// How each step went.
    fn reports(&self) -> &[StepReport];
    /// What started wrong, in words.
    fn notes(&self) -> Vec<String>;
    /// Energy of all states [J].
    fn energy(&self) -> &[f64];
    /// A page that replays it.
    fn replay(&self) -> String;
    /// Draws it; `go_on` is asked before every frame.
    fn film(&self, kind: Kind, options: &Picture, out: &mut dyn Write, go_on: &mut dyn FnMut() -> bool) -> Result<(), RenderError>;
    /// The bodies as triangles, in order.
    fn meshes(&self, theme: Theme) -> Result<Vec<Mesh>, RenderError>;
    /// The adjoint, by all or by states and controls.
    fn backward(&self, cotangents: &Cotangents, wrt: Wrt, weak: Weak, interrupt: &Interrupt) -> Result<Gradient, GradientError>;
    /// The Jacobians of one of its steps.
    fn jacobian(&self, step: usize, wrt: &[String], weak: Weak, interrupt: &Interrupt) -> Result<Jacobians, Fault>;
    /// The derivative of one of its steps in joint coordinates.
    fn linearise(&self, step: usize, weak: Weak, interrupt: &Interrupt) -> Result<Linearised, Fault>;
    /// Names of the parameters.
    fn keys(&self) -> Vec<String>;
    /// The gradient by a named parameter, from that by the flat ones.
    fn named(&self, key: &str, parameters: &[f64]) -> Result<(Vec<usize>, Vec<f64>), NameError>;
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
    name: String,
    duration: f64,
    /// The scene at its start.
    text: Arc<str>,
    /// The parameters that were set since, the last value of each, and between them what was added and removed.
    pub(crate) edits: Vec<(String, Vec<f64>)>,
}

struct Ran<G: Geometry> {
    rollout: Rollout<G>,
    names: Names<G>,
    name: String,
}

impl<G: Geometry> Held<G> {
    fn new(scene: SceneOf<G>, text: Arc<str>) -> Result<Self, ModelError> {
        let names = Names::new(&scene.model, &scene.joints, &scene.state)?;
        let (name, duration, groups) = (scene.name, scene.duration, scene.groups);
        let mut world = World::new(scene.model, scene.state)?;
        world.watch_joints(true);
        Ok(Held { world, names, groups, name, duration, text, edits: Vec::new() })
    }
}

/// The Jacobians of a step of a rollout by name.
fn jacobian_of<G: Geometry>(
    rollout: &Rollout<G>,
    step: usize,
    names: &Names<G>,
    wrt: &[String],
    weak: Weak,
    interrupt: &Interrupt,
) -> Result<Jacobians, Fault> {
    let (model, layout) = (rollout.end().model(), rollout.layout());
    let states = ["q", "v", "controls"];
    let quantities: Vec<Option<Quantity>> = wrt
        .iter()
        .map(|key| if states.contains(&key.as_str()) { Ok(None) } else { names.get(model, layout, key).map(Some) })
        .collect::<Result<_, _>>()
        .map_err(Fault::Name)?;
    let held = quantities.iter().all(Option::is_none);
    let chosen = if held { Wrt::StatesAndControls } else { Wrt::Everything };
    let all = rollout.jacobian(step, chosen, weak, interrupt).map_err(Fault::Gradient)?;
    let found = wrt.iter().zip(&quantities).map(|(key, quantity)| match (key.as_str(), quantity) {
        (_, Some(quantity)) => {
            let rows = all.parameters.chunks_exact(layout.len.max(1));
            (quantity.len(), rows.flat_map(|row| quantity.gradient(row)).collect())
        }
        ("controls", _) => (model.control_count(), all.controls.clone()),
        ("q", _) => (model.bodies.len() * G::DOF, all.poses.clone()),
        _ => (model.bodies.len() * G::DOF, all.twists.clone()),
    });
    Ok(Jacobians { found: found.collect(), switches: all.switches })
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

impl<G: Draw> Run for Ran<G> {
    fn write_q(&self, out: &mut Vec<f64>) {
        self.rollout.states.iter().for_each(|state| write_poses(state, out));
    }
    fn write_v(&self, out: &mut Vec<f64>) {
        self.rollout.states.iter().for_each(|state| write_twists(state, out));
    }
    fn times(&self) -> Vec<f64> {
        self.rollout.states.iter().map(|state| state.time).collect()
    }
    fn reports(&self) -> &[StepReport] {
        &self.rollout.reports
    }
    fn notes(&self) -> Vec<String> {
        self.rollout.end().notes()
    }
    fn energy(&self) -> &[f64] {
        &self.rollout.energy
    }
    fn replay(&self) -> String {
        let about = About { name: &self.name, ..About::default() };
        Recorder::of_states(self.rollout.end(), &about, &self.rollout.states, &self.rollout.energy).html()
    }
    fn film(&self, kind: Kind, options: &Picture, out: &mut dyn Write, go_on: &mut dyn FnMut() -> bool) -> Result<(), RenderError> {
        let run = (&self.rollout.states[..], self.name.as_str());
        render_states(run, self.rollout.end().model(), kind, options, out, &mut |_, _| go_on()).map(|_| ())
    }
    fn meshes(&self, theme: Theme) -> Result<Vec<Mesh>, RenderError> {
        let model = self.rollout.end().model();
        Ok(meshes(model, &room(&Film::of_states(&self.rollout.states, model)?)?, theme))
    }
    fn backward(&self, cotangents: &Cotangents, wrt: Wrt, weak: Weak, interrupt: &Interrupt) -> Result<Gradient, GradientError> {
        self.rollout.backward_unless(cotangents, wrt, weak, interrupt)
    }
    fn jacobian(&self, step: usize, wrt: &[String], weak: Weak, interrupt: &Interrupt) -> Result<Jacobians, Fault> {
        jacobian_of(&self.rollout, step, &self.names, wrt, weak, interrupt)
    }
    fn linearise(&self, step: usize, weak: Weak, interrupt: &Interrupt) -> Result<Linearised, Fault> {
        self.rollout.linearise(step, weak, interrupt).map_err(Fault::Gradient)
    }
    fn keys(&self) -> Vec<String> {
        self.names.keys(self.rollout.end().model())
    }
    fn named(&self, key: &str, parameters: &[f64]) -> Result<(Vec<usize>, Vec<f64>), NameError> {
        let quantity = self.names.get(self.rollout.end().model(), self.rollout.layout(), key)?;
        let gradient = quantity.gradient(parameters);
        Ok((quantity.shape, gradient))
    }
}
