//! Worlds in a row: one of them is `carom.World`, many are `carom.Batch`. Every world is advanced by one call in a fixed order, so the bits
//! do not depend on how many threads share the work.

use crate::arrays::{Flat, array, fixed, flat, optional};
use crate::crew::{CROWD, Crew, LISTEN};
use crate::engine::{Engine, open};
use crate::error::{ModelError, Raise, SceneError, SolveError, StepError};
use crate::rollouts::Rollouts;
use carom_dynamics::Interrupt;
use carom_dynamics::gradient::Tape;
use carom_import::{Actuators, Base, Format, Meshes, Options, load_as, load_scene};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyList};
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Steps that take longer [s] are left to another thread.
const SLOW: Duration = Duration::from_millis(5);

/// One world or many.
#[pyclass(frozen, module = "carom._carom")]
pub struct Worlds {
    worlds: Mutex<Vec<Box<dyn Engine>>>,
    pub(crate) crew: Arc<Crew>,
    /// A step took longer than signals may wait: the next are taken by another thread.
    slow: AtomicBool,
}

/// How far a world has come in a call: the step that is next, and why it ended early.
struct Course {
    next: usize,
    end: Result<(), carom_dynamics::StepError>,
}

/// Names of the embedded scenes.
#[pyfunction]
pub fn scenes() -> Vec<&'static str> {
    carom_scene::scenes().iter().map(|scene| scene.name).collect()
}

/// Says which of several worlds an error is about.
fn place(index: usize, count: usize, error: PyErr, py: Python<'_>) -> PyErr {
    if count == 1 {
        return error;
    }
    let message = format!("world {index}: {}", error.value(py));
    if error.is_instance_of::<StepError>(py) {
        StepError::new_err(message)
    } else if error.is_instance_of::<SolveError>(py) {
        SolveError::new_err(message)
    } else {
        ModelError::new_err(message)
    }
}

/// The first failure of a row of results, by place.
pub fn first<T, E>(py: Python<'_>, results: Vec<Result<T, E>>, raise: impl Fn(E) -> PyErr) -> PyResult<Vec<T>> {
    let count = results.len();
    results.into_iter().enumerate().map(|(i, result)| result.map_err(|error| place(i, count, raise(error), py))).collect()
}

impl Worlds {
    pub(crate) fn one(world: Box<dyn Engine>) -> Self {
        Worlds::new(vec![world], Arc::default())
    }
    fn new(worlds: Vec<Box<dyn Engine>>, crew: Arc<Crew>) -> Self {
        Worlds { worlds: Mutex::new(worlds), crew, slow: AtomicBool::new(false) }
    }
    /// Whether threads may share the work.
    fn many(&self, py: Python<'_>) -> bool {
        let worlds = self.lock(py);
        worlds.len() > 1 || worlds[0].sizes()[0] >= CROWD
    }
    /// The worlds, waiting for a step that another thread takes.
    pub(crate) fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Vec<Box<dyn Engine>>> {
        self.worlds.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
    /// The same without the interpreter.
    pub(crate) fn locked(&self) -> MutexGuard<'_, Vec<Box<dyn Engine>>> {
        self.worlds.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Changes every world, or none if one of them refuses; a single one is left as it was by its own call.
    fn change(&self, py: Python<'_>, change: impl Fn(usize, usize, &mut dyn Engine) -> PyResult<()>) -> PyResult<()> {
        let mut worlds = self.lock(py);
        let count = worlds.len();
        if count == 1 {
            return change(0, count, worlds[0].as_mut());
        }
        let mut next: Vec<Box<dyn Engine>> = worlds.iter().map(|world| world.copy()).collect();
        let results = next.iter_mut().enumerate().map(|(i, world)| change(i, count, world.as_mut())).collect();
        first(py, results, |error| error)?;
        *worlds = next;
        Ok(())
    }
    /// The part of a flat array that belongs to a world: all of it, or its share.
    fn share(values: &[f64], index: usize, count: usize, shared: bool) -> &[f64] {
        let width = values.len() / count.max(1);
        if shared { values } else { &values[index * width..(index + 1) * width] }
    }
}

#[pymethods]
impl Worlds {
    /// From a scene file, with what was left out of the models it includes.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Self, Vec<String>)> {
        let import = py.detach(|| load_scene(path)).map_err(|errors| errors.into_first().raise())?;
        let notes = import.notes.iter().map(ToString::to_string).collect();
        Ok((open(import.scene).map(Worlds::one).map_err(Raise::raise)?, notes))
    }
    /// From scene text.
    #[staticmethod]
    fn from_toml(text: &str) -> PyResult<Self> {
        let scene = carom_scene::from_toml(text, "scene").map_err(Raise::raise)?;
        open(scene).map(Worlds::one).map_err(Raise::raise)
    }
    /// From a URDF, MJCF or SDF model, with what was left out of it.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // one call for Python
    fn from_model(
        py: Python<'_>,
        path: PathBuf,
        format: &str,
        strict: bool,
        base: &str,
        flags: [bool; 8],
        drop: Option<f64>,
        keyframe: Option<String>,
        pose: Vec<(String, f64)>,
        packages: Vec<PathBuf>,
        mesh_cache: Option<PathBuf>,
    ) -> PyResult<(Self, Vec<String>)> {
        let [controls, contacts, limits, self_contact, ground, hold, servos, parts] = flags;
        let base = match base {
            "fixed" => Base::Fixed,
            "free" => Base::Free,
            _ => Base::Auto,
        };
        let actuators = if servos { Actuators::Servo } else { Actuators::Force };
        let meshes = if parts { Meshes::Parts } else { Meshes::Hull };
        let own = Options { strict, base, controls, actuators, contacts, limits, self_contact, ..Options::default() };
        let options = Options { keyframe, pose, ground, drop, hold, packages, meshes, mesh_cache, ..own };
        let format = match format {
            "urdf" => Format::Urdf,
            "sdf" => Format::Sdf,
            _ => Format::Mjcf,
        };
        let import = py.detach(|| load_as(path, format, &options)).map_err(|errors| SceneError::new_err(errors.to_string()))?;
        let notes = import.notes.iter().map(ToString::to_string).collect();
        Ok((open(import.scene).map(Worlds::one).map_err(Raise::raise)?, notes))
    }
    /// An embedded scene.
    #[staticmethod]
    fn scene(name: &str) -> PyResult<Self> {
        let Some(embedded) = carom_scene::scene(name) else {
            return Err(SceneError::new_err(format!("name: no scene \"{name}\"; carom.scenes() names those there are")));
        };
        let scene = carom_scene::from_toml(embedded.text, name).map_err(Raise::raise)?;
        open(scene).map(Worlds::one).map_err(Raise::raise)
    }

    /// So many copies of the first world, with threads of their own if asked for.
    fn copies(&self, py: Python<'_>, count: usize, threads: Option<usize>) -> PyResult<Self> {
        let crew = Arc::new(Crew::new(threads)?);
        let worlds = self.lock(py);
        Ok(Worlds::new((0..count).map(|_| worlds[0].copy()).collect(), crew))
    }
    /// Copies of all worlds.
    fn copy(&self, py: Python<'_>) -> Self {
        Worlds::new(self.lock(py).iter().map(|world| world.copy()).collect(), self.crew.clone())
    }
    /// Takes over copies of worlds of the same sizes, one for each.
    fn put(&self, py: Python<'_>, others: Vec<PyRef<'_, Worlds>>) -> PyResult<()> {
        let next: Vec<Box<dyn Engine>> = others.iter().map(|other| other.lock(py)[0].copy()).collect();
        let mut worlds = self.lock(py);
        let sizes = |world: &dyn Engine| (world.dimension(), world.sizes());
        if next.len() != worlds.len() || next.iter().any(|world| sizes(world.as_ref()) != sizes(worlds[0].as_ref())) {
            return Err(ModelError::new_err(format!("worlds: needs {} worlds of the same bodies and controls", worlds.len())));
        }
        *worlds = next;
        Ok(())
    }
    /// A copy of one world.
    fn pick(&self, py: Python<'_>, index: usize) -> PyResult<Self> {
        let worlds = self.lock(py);
        let world = worlds.get(index).ok_or_else(|| ModelError::new_err(format!("index: {index} of {} worlds", worlds.len())))?;
        Ok(Worlds::one(world.copy()))
    }

    /// Dimension, number of bodies, of controls, numbers per pose and per velocity.
    fn sizes(&self, py: Python<'_>) -> (usize, usize, usize, usize, usize) {
        let worlds = self.lock(py);
        let ([bodies, controls], [coords, dof]) = (worlds[0].sizes(), worlds[0].widths());
        (worlds[0].dimension(), bodies, controls, coords, dof)
    }
    /// Name and duration of the scene.
    fn about(&self, py: Python<'_>) -> (String, f64) {
        let worlds = self.lock(py);
        (worlds[0].name(), worlds[0].duration())
    }
    /// Names of bodies, joints and controls.
    fn names(&self, py: Python<'_>) -> [Vec<String>; 3] {
        self.lock(py)[0].names()
    }
    /// What started wrong in each world, in words.
    fn notes(&self, py: Python<'_>) -> Vec<Vec<String>> {
        py.detach(|| self.locked().iter().map(|world| world.notes()).collect())
    }
    /// Time and step of the first world.
    fn clock(&self, py: Python<'_>) -> [f64; 2] {
        self.lock(py)[0].clock()
    }
    /// Poses of all worlds: (worlds, bodies, coordinates), read-only.
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let worlds = self.lock(py);
        let mut out = Vec::new();
        worlds.iter().for_each(|world| world.write_q(&mut out));
        Ok(fixed(py, out, &[worlds.len(), worlds[0].sizes()[0], worlds[0].widths()[0]])?.into_any())
    }
    /// Velocities of all worlds, likewise.
    fn v<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let worlds = self.lock(py);
        let mut out = Vec::new();
        worlds.iter().for_each(|world| world.write_v(&mut out));
        Ok(fixed(py, out, &[worlds.len(), worlds[0].sizes()[0], worlds[0].widths()[1]])?.into_any())
    }
    /// Sets poses, velocities or both.
    fn set_state(&self, py: Python<'_>, q: Option<Flat<'_>>, v: Option<Flat<'_>>) -> PyResult<()> {
        let (q, v) = (q.as_ref().map(flat).transpose()?, v.as_ref().map(flat).transpose()?);
        self.change(py, |i, count, world| {
            let part = |x: &Option<Vec<f64>>| x.as_ref().map(|x| Worlds::share(x, i, count, false).to_vec());
            world.set_state(part(&q).as_deref(), part(&v).as_deref()).map_err(Raise::raise)
        })
    }

    /// Takes steps. `rows` of controls per world: 0 for idle, 1 for the same at every step, else one per step; `shared` by all worlds.
    fn step(&self, py: Python<'_>, steps: usize, rows: usize, controls: Option<Flat<'_>>, shared: bool) -> PyResult<()> {
        let controls = optional(controls.as_ref())?;
        let count = self.lock(py).len();
        let mut courses: Vec<Course> = (0..count).map(|_| Course { next: 0, end: Ok(()) }).collect();
        // In slices, so that signals are heard in between; nobody holds the worlds then, and the handler of a signal may look at them. A step of the calling
        // thread that goes on for longer is given up, and taken by another thread while this one listens.
        loop {
            let slow = count > 1 || self.slow.load(Ordering::Relaxed);
            let (begun, before) = (Instant::now(), courses[0].next);
            let slice = |interrupt: &Interrupt| {
                let mut worlds = self.locked();
                let until = (steps > 1).then(|| begun + LISTEN / 2);
                let run = |i: usize, world: &mut dyn Engine, course: &mut Course| match world.step(
                    course.next..steps,
                    rows,
                    Worlds::share(&controls, i, count, shared),
                    until,
                    interrupt,
                ) {
                    Ok(next) => course.next = next,
                    Err(error) => *course = Course { next: steps, end: Err(error) },
                };
                if count == 1 {
                    run(0, worlds[0].as_mut(), &mut courses[0]);
                } else {
                    let pairs = worlds.par_iter_mut().zip(&mut courses).enumerate();
                    pairs.for_each(|(i, (world, course))| run(i, world.as_mut(), course));
                }
                interrupt.raised()
            };
            if slow {
                self.crew.work(py, true, slice)?;
                let taken = (courses[0].next - before).max(1) as u32;
                self.slow.store(begun.elapsed() > SLOW * taken, Ordering::Relaxed);
            } else if self.crew.run(py, slice)? {
                self.slow.store(true, Ordering::Relaxed);
            }
            if courses.iter().all(|course| course.next >= steps) {
                return first(py, courses.into_iter().map(|course| course.end).collect(), Raise::raise).map(|_| ());
            }
            py.check_signals()?;
        }
    }
    /// Back to the start.
    fn reset(&self, py: Python<'_>) {
        self.lock(py).iter_mut().for_each(|world| world.reset());
    }
    /// Some worlds back to their start, and from there to these poses and velocities, one row per world named.
    fn restart(&self, py: Python<'_>, which: Vec<usize>, q: Option<Flat<'_>>, v: Option<Flat<'_>>) -> PyResult<()> {
        let (q, v) = (q.as_ref().map(flat).transpose()?, v.as_ref().map(flat).transpose()?);
        let mut worlds = self.lock(py);
        let (count, rows) = (worlds.len(), which.len());
        if let Some(index) = which.iter().find(|index| **index >= count) {
            return Err(ModelError::new_err(format!("which: {index} of {count} worlds")));
        }
        // All of them are made before any takes its place: a state that is refused changes nothing.
        let fresh = which.iter().enumerate().map(|(row, index)| {
            let part = |x: &Option<Vec<f64>>| x.as_ref().map(|x| Worlds::share(x, row, rows, false).to_vec());
            let mut world = worlds[*index].copy();
            world.reset();
            world.set_state(part(&q).as_deref(), part(&v).as_deref()).map(|()| world)
        });
        let fresh = first(py, fresh.collect(), Raise::raise)?;
        for (index, world) in which.into_iter().zip(fresh) {
            worlds[index] = world;
        }
        Ok(())
    }
    /// Hashes of all worlds.
    fn hashes(&self, py: Python<'_>) -> Vec<String> {
        self.lock(py).iter().map(|world| world.hash()).collect()
    }

    /// Names of the parameters.
    fn keys(&self, py: Python<'_>) -> Vec<String> {
        self.lock(py)[0].keys()
    }
    /// A parameter of all worlds, with the axis of worlds first.
    fn parameter<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let worlds = self.lock(py);
        let (mut shape, mut out) = (vec![worlds.len()], Vec::new());
        for world in worlds.iter() {
            let quantity = world.parameter(key).map_err(Raise::raise)?;
            shape.truncate(1);
            shape.extend(&quantity.shape);
            out.extend(quantity.values);
        }
        Ok(fixed(py, out, &shape)?.into_any())
    }
    /// Sets a parameter of all worlds.
    fn set_parameter(&self, py: Python<'_>, key: &str, values: Flat<'_>) -> PyResult<()> {
        let values = flat(&values)?;
        self.change(py, |i, count, world| {
            world.set_parameter(key, Worlds::share(&values, i, count, false)).map_err(Raise::raise)?.map_err(Raise::raise)
        })
    }

    /// Shapes of the first world: body, kind, points, radius, corners of triangles, colour.
    fn shapes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (shapes, dimension) = {
            let worlds = self.lock(py);
            (worlds[0].shapes(), worlds[0].dimension())
        };
        let rows = shapes.into_iter().map(|shape| {
            let count = shape.points.len() / dimension;
            PyResult::Ok((shape.body, shape.kind, fixed(py, shape.points, &[count, dimension])?, shape.radius, shape.faces, shape.color))
        });
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }
    /// The first world in text, parameters and bytes.
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyList>, Bound<'py, PyBytes>)> {
        let packed = self.lock(py)[0].pack();
        let edits = packed.edits.into_iter().map(|(key, values)| {
            let count = values.len();
            PyResult::Ok((key, array(py, values, &[count])?))
        });
        Ok((packed.text, PyList::new(py, edits.collect::<PyResult<Vec<_>>>()?)?, PyBytes::new(py, &packed.snapshot)))
    }
    /// The world that was packed.
    #[staticmethod]
    fn unpack(text: &str, edits: Vec<(String, Flat<'_>)>, snapshot: &[u8]) -> PyResult<Self> {
        let mut world = open(carom_scene::from_toml(text, "scene").map_err(Raise::raise)?).map_err(Raise::raise)?;
        for (key, values) in edits {
            let values = values.as_slice()?;
            match world.repeat(&key, values) {
                Some(done) => done.map_err(Raise::raise)?,
                None => world.set_parameter(&key, values).map_err(Raise::raise)?.map_err(Raise::raise)?,
            }
        }
        world.restore(snapshot).map_err(Raise::raise)?;
        Ok(Worlds::one(world))
    }

    /// Contacts of the first world: bodies, point, normal, gap, impulse.
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let contacts = self.lock(py)[0].contacts();
        let vector = |x: Vec<f64>| {
            let len = x.len();
            array(py, x, &[len])
        };
        let rows = contacts.into_iter().map(|(bodies, point, normal, gap, impulse)| {
            PyResult::Ok((bodies[0], bodies[1], vector(point)?, vector(normal)?, gap, vector(impulse)?))
        });
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }
    /// The balance of the first world.
    fn ledger<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ledger = self.lock(py)[0].ledger();
        let dict = PyDict::new(py);
        for (key, value) in [
            ("kinetic", ledger.kinetic),
            ("potential", ledger.potential),
            ("elastic", ledger.elastic),
            ("work_in", ledger.flow.work_in),
            ("friction_loss", ledger.flow.friction_loss),
            ("impact_loss", ledger.flow.impact_loss),
            ("contact_loss", ledger.flow.contact_loss),
            ("damping_loss", ledger.flow.damping_loss),
            ("joint_work", ledger.flow.joint_work),
            ("projection", ledger.flow.projection),
            ("drift", ledger.drift),
        ] {
            dict.set_item(key, value)?;
        }
        let (lin, ang) = (ledger.momentum.len(), ledger.angular_momentum.len());
        dict.set_item("momentum", array(py, ledger.momentum, &[lin])?)?;
        if ang == 1 {
            dict.set_item("angular_momentum", ledger.angular_momentum[0])?;
        } else {
            dict.set_item("angular_momentum", array(py, ledger.angular_momentum, &[ang])?)?;
        }
        Ok(dict)
    }

    /// Steps from the present states, or from other poses and velocities, without moving the worlds. `tape` false keeps nothing;
    /// `checkpoint` is the steps between stored states.
    #[pyo3(signature = (steps, controls, shared, tape, checkpoint, q=None, v=None))]
    #[allow(clippy::too_many_arguments)] // one call instead of three: each costs microseconds of a rollout of a few steps
    fn rollout(
        &self,
        py: Python<'_>,
        steps: Vec<usize>,
        controls: Option<Flat<'_>>,
        shared: bool,
        tape: bool,
        checkpoint: Option<usize>,
        q: Option<Flat<'_>>,
        v: Option<Flat<'_>>,
    ) -> PyResult<Rollouts> {
        let controls = optional(controls.as_ref())?;
        let (q, v) = (q.as_ref().map(flat).transpose()?, v.as_ref().map(flat).transpose()?);
        let most = steps.iter().copied().max().unwrap_or(0);
        let steps = if steps.len() == 1 { Vec::new() } else { steps };
        let kept = match (tape, checkpoint) {
            (false, _) => Tape::Off,
            (true, None) => Tape::Full,
            (true, Some(interval)) => Tape::Every(interval),
        };
        let many = self.many(py);
        let run = self.crew.work(py, many, |interrupt| {
            let mut worlds: Vec<Box<dyn Engine>> = self.locked().iter().map(|world| world.copy()).collect();
            let all = worlds.len();
            for (i, world) in worlds.iter_mut().enumerate().filter(|_| q.is_some() || v.is_some()) {
                let part = |x: &Option<Vec<f64>>| x.as_ref().map(|x| Worlds::share(x, i, all, false).to_vec());
                world.set_state(part(&q).as_deref(), part(&v).as_deref())?;
            }
            let (count, [bodies, nu], [coords, dof]) = (worlds.len(), worlds[0].sizes(), worlds[0].widths());
            let run = |i: usize, world: &dyn Engine| {
                let own = steps.get(i).copied().unwrap_or(most);
                let all = Worlds::share(&controls, i, count, shared);
                world.rollout(own, &all[..all.len().min(own * nu)], kept, interrupt)
            };
            let results = if count == 1 {
                vec![run(0, worlds[0].as_ref())]
            } else {
                worlds.par_iter().enumerate().map(|(i, world)| run(i, world.as_ref())).collect::<Vec<_>>()
            };
            Ok((results, [most, bodies, coords, dof, nu]))
        })?;
        let (results, sizes) = run.map_err(|error: carom_dynamics::ModelError| error.raise())?;
        Ok(Rollouts::new(first(py, results, Raise::raise)?, sizes, self.crew.clone()))
    }

    /// So many steps of the first world, which does not move, as a page that replays them.
    fn replay(&self, py: Python<'_>, steps: usize) -> PyResult<String> {
        let world = self.lock(py)[0].copy();
        let many = world.sizes()[0] >= CROWD;
        self.crew.work(py, many, |interrupt| world.replay(steps, interrupt))?.map_err(Raise::raise)
    }
}
