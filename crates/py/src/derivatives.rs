//! Whole derivatives of steps as arrays, with the axis of worlds first: by bodies and parameters, and in joint coordinates.

use crate::arrays::{Flat, array, optional};
use crate::crew::{CROWD, Crew};
use crate::engine::{Engine, Fault, Jacobians};
use crate::error::Raise;
use crate::rollouts::{Rollouts, at_switches, flags};
use crate::worlds::{Worlds, first};
use carom_dynamics::Interrupt;
use carom_dynamics::gradient::{Linearised, Switches, Weak};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

/// The flags of a step.
type Flags = Vec<(&'static str, usize)>;

/// Arrays by name, what they are at switches in words, and the flags of every step.
type Labelled<'py> = (Bound<'py, PyDict>, String, Vec<Flags>);

/// A and B, likewise.
type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, String, Vec<Flags>);

impl Raise for Fault {
    fn raise(self) -> PyErr {
        match self {
            Fault::Step(error) => error.raise(),
            Fault::Gradient(error) => error.raise(),
            Fault::Name(error) => error.raise(),
        }
    }
}

/// So many jobs, on this thread where there is one alone and it is small.
fn all<T: Send>(
    py: Python<'_>,
    crew: &Crew,
    count: usize,
    bodies: usize,
    job: impl Fn(usize, &Interrupt) -> T + Sync + Send,
) -> PyResult<Vec<T>> {
    crew.work(py, count > 1 || bodies >= CROWD, |interrupt| match count {
        1 => vec![job(0, interrupt)],
        _ => (0..count).into_par_iter().map(|i| job(i, interrupt)).collect(),
    })
}

fn labelled<'py>(py: Python<'py>, all: Vec<Jacobians>, wrt: &[String], lead: &[usize], rows: usize, weak: Weak) -> PyResult<Labelled<'py>> {
    let dict = PyDict::new(py);
    let switches: Vec<Switches> = all.iter().map(|one| one.switches).collect();
    let widths: Vec<usize> = all.first().map_or_else(Vec::new, |one| one.found.iter().map(|(columns, _)| *columns).collect());
    let mut lists: Vec<Vec<f64>> = vec![Vec::new(); wrt.len()];
    for one in all {
        one.found.into_iter().zip(&mut lists).for_each(|((_, values), list)| list.extend(values));
    }
    for ((key, list), width) in wrt.iter().zip(lists).zip(widths.into_iter().chain(std::iter::repeat(0))) {
        dict.set_item(key, array(py, list, &[lead, &[rows, width]].concat())?)?;
    }
    Ok((dict, weak.to_string(), switches.iter().map(flags).collect()))
}

fn pair<'py>(py: Python<'py>, all: Vec<Linearised>, lead: &[usize], [rows, controls]: [usize; 2], weak: Weak) -> PyResult<Pair<'py>> {
    let join = |part: fn(&Linearised) -> &nalgebra::DMatrix<f64>| -> Vec<f64> {
        all.iter().flat_map(|one| part(one).transpose().as_slice().to_vec()).collect()
    };
    let a = array(py, join(|one| &one.a), &[lead, &[rows, rows]].concat())?;
    let b = array(py, join(|one| &one.b), &[lead, &[rows, controls]].concat())?;
    Ok((a.into_any(), b.into_any(), weak.to_string(), all.iter().map(|one| flags(&one.switches)).collect()))
}

/// One-step Jacobians of every world: (worlds, rows, columns) each; what they are at switches, in words, and the flags of the steps.
#[pyfunction]
#[pyo3(signature = (worlds, wrt, weak=None, kappa=None))]
pub fn jacobian<'py>(
    py: Python<'py>,
    worlds: &Worlds,
    wrt: Vec<String>,
    weak: Option<&str>,
    kappa: Option<f64>,
) -> PyResult<Labelled<'py>> {
    let weak = at_switches(weak, kappa)?;
    let copies: Vec<Box<dyn Engine>> = worlds.lock(py).iter().map(|world| world.copy()).collect();
    let (count, bodies) = (copies.len(), copies[0].sizes()[0]);
    let results = all(py, &worlds.crew, count, bodies, |i, interrupt| copies[i].jacobian(&wrt, weak, interrupt))?;
    labelled(py, first(py, results, Raise::raise)?, &wrt, &[count], 2 * bodies * copies[0].widths()[1], weak)
}

/// One step of every world in joint coordinates: A (worlds, 2 nc, 2 nc) and B (worlds, 2 nc, controls); controls (controls,) for all, or by world.
#[pyfunction]
#[pyo3(signature = (worlds, controls=None, weak=None, kappa=None))]
pub fn linearise<'py>(
    py: Python<'py>,
    worlds: &Worlds,
    controls: Option<Flat<'py>>,
    weak: Option<&str>,
    kappa: Option<f64>,
) -> PyResult<Pair<'py>> {
    let weak = at_switches(weak, kappa)?;
    let given = optional(controls.as_ref())?;
    let copies: Vec<Box<dyn Engine>> = worlds.lock(py).iter().map(|world| world.copy()).collect();
    let (count, [bodies, width]) = (copies.len(), copies[0].sizes());
    let part = |i: usize| if given.len() == width { &given[..] } else { given.get(i * width..(i + 1) * width).unwrap_or(&[]) };
    let results = all(py, &worlds.crew, count, bodies, |i, interrupt| copies[i].linearise(part(i), weak, interrupt))?;
    pair(py, first(py, results, Raise::raise)?, &[count], [2 * copies[0].joint_names().len(), width], weak)
}

/// The Jacobians of every step of rollouts: (worlds, steps, rows, columns) each.
#[pyfunction]
#[pyo3(signature = (rollouts, wrt, weak=None, kappa=None))]
pub fn rollout_jacobians<'py>(
    py: Python<'py>,
    rollouts: &Rollouts,
    wrt: Vec<String>,
    weak: Option<&str>,
    kappa: Option<f64>,
) -> PyResult<Labelled<'py>> {
    let weak = at_switches(weak, kappa)?;
    rollouts.even()?;
    let (count, steps) = (rollouts.runs.len(), rollouts.steps);
    let one = |i: usize, interrupt: &Interrupt| rollouts.runs[i / steps].jacobian(i % steps, &wrt, weak, interrupt);
    let results = all(py, &rollouts.crew, count * steps, rollouts.bodies, one)?;
    let all = results.into_iter().collect::<Result<Vec<_>, _>>().map_err(Raise::raise)?;
    labelled(py, all, &wrt, &[count, steps], 2 * rollouts.bodies * rollouts.dof, weak)
}

/// Every step of rollouts in joint coordinates: A (worlds, steps, 2 nc, 2 nc) and B (worlds, steps, 2 nc, controls).
#[pyfunction]
#[pyo3(signature = (rollouts, weak=None, kappa=None))]
pub fn rollout_linearise<'py>(py: Python<'py>, rollouts: &Rollouts, weak: Option<&str>, kappa: Option<f64>) -> PyResult<Pair<'py>> {
    let weak = at_switches(weak, kappa)?;
    rollouts.even()?;
    let (count, steps) = (rollouts.runs.len(), rollouts.steps);
    let one = |i: usize, interrupt: &Interrupt| rollouts.runs[i / steps].linearise(i % steps, weak, interrupt);
    let results = all(py, &rollouts.crew, count * steps, rollouts.bodies, one)?;
    let all = results.into_iter().collect::<Result<Vec<_>, _>>().map_err(Raise::raise)?;
    let rows = all.first().map_or(0, |one| one.a.nrows());
    pair(py, all, &[count, steps], [rows, rollouts.controls], weak)
}
