//! What sensors ask of a world, and bodies that come and go; `python/carom/_senses.py` gives both their names.

use crate::arrays::{Flat, array, flat};
use crate::engine::{Held, write_poses, write_twists};
use crate::error::{Raise, SceneError};
use crate::worlds::Worlds;
use carom_dynamics::{Kept, ModelError, State};
use carom_import::Included;
use carom_math::{Pose, Twist, Vector};
use carom_render::Draw;
use carom_scene::{Added, NamedPoint, SceneSpace};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// An event in plain numbers: what happened, bodies, point, normal, impulse.
type RawEvent = (&'static str, [usize; 2], Vec<f64>, Vec<f64>, Vec<f64>);
/// A hit in plain numbers: body, distance, point, normal.
type RawHit = (usize, f64, Vec<f64>, Vec<f64>);

/// A named point in plain numbers: name, body, place, turn.
type RawPoint = (String, Option<usize>, Vec<f64>, Vec<f64>);

/// Marks of edits among the parameters that were set: what follows is a text that was added, or a name that was removed.
const ADDED: &str = "+ ";
const REMOVED: &str = "- ";

/// Why a scene could not be put into a world.
pub enum Unfit {
    /// The text.
    Scene(String),
    /// The world.
    Model(ModelError),
}

impl Raise for Unfit {
    fn raise(self) -> PyErr {
        match self {
            Unfit::Scene(message) => SceneError::new_err(message),
            Unfit::Model(error) => error.raise(),
        }
    }
}

/// What a world feels, and how it is edited.
pub trait Senses {
    /// Force and torque of contacts on a body.
    fn contact_force(&self, body: usize, other: Option<usize>) -> Vec<f64>;
    /// What the last step brought about.
    fn events(&self) -> Vec<RawEvent>;
    /// Distance of two bodies.
    fn distance(&self, a: usize, b: usize) -> f64;
    /// What a ray meets.
    fn ray(&self, origin: &[f64], direction: &[f64], ignore: &[usize]) -> Option<RawHit>;
    /// Adds a scene; files are found in the folder. What was left out of models.
    fn add(&mut self, text: &str, folder: Option<PathBuf>) -> Result<Vec<String>, Unfit>;
    /// Named points: name, number of the body if it is not the world, place and turn in its frame.
    fn points(&self) -> Vec<RawPoint>;
    /// Removes a body, a joint or a part.
    fn remove(&mut self, name: &str) -> Result<(), ModelError>;
    /// Repeats an edit that [`Senses::add`] or [`Senses::remove`] noted; `None` where the key is that of a parameter.
    fn repeat(&mut self, key: &str, values: &[f64]) -> Option<Result<(), Unfit>>;
}

impl<G: Draw> Held<G> {
    /// Notes an edit, with the state at which it was made.
    fn noted(&mut self, key: String, before: &State<G>, kept: &Kept) {
        let mut values = vec![before.time];
        write_poses(before, &mut values);
        write_twists(before, &mut values);
        self.edits.push((key, values));
        self.names = self.names.edited(self.world.model(), self.world.state(), kept);
    }
}

impl<G: Draw + SceneSpace> Senses for Held<G> {
    fn contact_force(&self, body: usize, other: Option<usize>) -> Vec<f64> {
        let wrench = self.world.contact_force(body, other);
        [wrench.lin.as_slice(), wrench.ang.as_slice()].concat()
    }
    fn events(&self) -> Vec<RawEvent> {
        let plain = |x: G::Lin| x.as_slice().to_vec();
        self.world.events().into_iter().map(|e| (e.kind.word(), e.bodies, plain(e.point), plain(e.normal), plain(e.impulse))).collect()
    }
    fn distance(&self, a: usize, b: usize) -> f64 {
        self.world.distance(a, b)
    }
    fn ray(&self, origin: &[f64], direction: &[f64], ignore: &[usize]) -> Option<RawHit> {
        let hit = self.world.ray(G::Lin::from_slice(origin), G::Lin::from_slice(direction), ignore)?;
        Some((hit.body, hit.distance, hit.point.as_slice().to_vec(), hit.normal.as_slice().to_vec()))
    }
    fn add(&mut self, text: &str, folder: Option<PathBuf>) -> Result<Vec<String>, Unfit> {
        let mut models = Included::default();
        let made = carom_scene::addition(&self.world, &self.groups, text, "scene", folder.as_deref(), &mut models);
        let Added { addition, groups, points, text } = made.map_err(|errors| Unfit::Scene(errors.to_string()))?;
        let before = self.world.state().clone();
        let kept = self.world.add(addition).map_err(Unfit::Model)?;
        self.groups = groups;
        let known = Arc::make_mut(&mut self.points);
        known.retain(|known| points.iter().all(|new| new.name != known.name));
        known.extend(points);
        // What is noted stands alone, without files, so that it can be repeated anywhere.
        self.noted(format!("{ADDED}{text}"), &before, &kept);
        Ok(models.notes.iter().map(ToString::to_string).collect())
    }
    fn points(&self) -> Vec<RawPoint> {
        let bodies = &self.world.model().bodies;
        let place = |name: &str| bodies.iter().position(|body| body.name == name);
        let there = self.points.iter().filter(|point| point.body == "world" || place(&point.body).is_some());
        let plain = |point: &NamedPoint<G>| {
            let mut turn = vec![0.0; G::COORDS - G::DIM];
            G::write_rotation(point.rotation, &mut turn);
            (point.name.clone(), place(&point.body), point.at.as_slice().to_vec(), turn)
        };
        there.map(plain).collect()
    }
    fn remove(&mut self, name: &str) -> Result<(), ModelError> {
        let before = self.world.state().clone();
        let kept = self.world.remove(name)?;
        self.noted(format!("{REMOVED}{name}"), &before, &kept);
        Ok(())
    }
    fn repeat(&mut self, key: &str, values: &[f64]) -> Option<Result<(), Unfit>> {
        let (added, removed) = (key.strip_prefix(ADDED), key.strip_prefix(REMOVED));
        if added.is_none() && removed.is_none() {
            return None;
        }
        let count = self.world.model().bodies.len();
        let mut state = State { time: values.first().copied().unwrap_or(0.0), ..State::empty() };
        let (poses, twists) = values.get(1..).unwrap_or_default().split_at_checked(count * G::COORDS).unwrap_or_default();
        for (pose, twist) in poses.chunks_exact(G::COORDS).zip(twists.chunks_exact(G::DOF)) {
            let rotation = G::read_rotation(&pose[G::DIM..]).unwrap_or_else(G::identity);
            state.push(
                Pose { position: G::Lin::from_slice(pose), rotation },
                Twist { lin: G::Lin::from_slice(twist), ang: G::Ang::from_slice(&twist[G::DIM..]) },
            );
        }
        let put = self.world.set_state(state).map_err(Unfit::Model);
        Some(put.and_then(|()| match (added, removed) {
            (Some(text), _) => self.add(text, None).map(|_| ()),
            (_, Some(name)) => self.remove(name).map_err(Unfit::Model),
            _ => Ok(()),
        }))
    }
}

fn vector<'py>(py: Python<'py>, values: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
    let count = values.len();
    Ok(array(py, values, &[count])?.into_any())
}

/// Force and torque of contacts on a body of the first world over the last step, from one other body or from all.
#[pyfunction]
#[pyo3(signature = (worlds, body, other=None))]
pub fn contact_force<'py>(py: Python<'py>, worlds: &Worlds, body: usize, other: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
    vector(py, worlds.lock(py)[0].contact_force(body, other))
}

/// An event: what happened, body a, body b, point, normal, impulse.
type Event<'py> = (&'static str, usize, usize, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// What the last step of the first world brought about.
#[pyfunction]
pub fn events<'py>(py: Python<'py>, worlds: &Worlds) -> PyResult<Vec<Event<'py>>> {
    let events = worlds.lock(py)[0].events();
    let one = |(kind, [a, b], point, normal, impulse): RawEvent| {
        PyResult::Ok((kind, a, b, vector(py, point)?, vector(py, normal)?, vector(py, impulse)?))
    };
    events.into_iter().map(one).collect()
}

/// Distance of two bodies of the first world.
#[pyfunction]
pub fn distance(py: Python<'_>, worlds: &Worlds, a: usize, b: usize) -> f64 {
    worlds.lock(py)[0].distance(a, b)
}

/// A hit: body, distance, point, normal.
type Hit<'py> = (usize, f64, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// What a ray first meets in the first world.
#[pyfunction]
pub fn ray<'py>(py: Python<'py>, worlds: &Worlds, origin: Flat<'_>, direction: Flat<'_>, ignore: Vec<usize>) -> PyResult<Option<Hit<'py>>> {
    let (origin, direction) = (flat(&origin)?, flat(&direction)?);
    let hit = worlds.lock(py)[0].ray(&origin, &direction, &ignore);
    hit.map(|(body, distance, point, normal)| Ok((body, distance, vector(py, point)?, vector(py, normal)?))).transpose()
}

/// Adds a scene to the first world; what was left out of models.
#[pyfunction]
#[pyo3(signature = (worlds, text, folder=None))]
pub fn add(py: Python<'_>, worlds: &Worlds, text: &str, folder: Option<PathBuf>) -> PyResult<Vec<String>> {
    py.detach(|| worlds.locked()[0].add(text, folder)).map_err(Raise::raise)
}

/// Named points of the first world.
#[pyfunction]
pub fn points(py: Python<'_>, worlds: &Worlds) -> Vec<RawPoint> {
    worlds.lock(py)[0].points()
}

/// Removes a body, a joint or a part of the first world.
#[pyfunction]
pub fn remove(py: Python<'_>, worlds: &Worlds, name: &str) -> PyResult<()> {
    py.detach(|| worlds.locked()[0].remove(name)).map_err(Raise::raise)
}
