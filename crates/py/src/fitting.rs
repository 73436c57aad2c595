//! Fits: motions and questions in, a report as text out, which the Python layer reads.

use crate::crew::Crew;
use crate::error::{ModelError, SolveError};
use crate::worlds::Worlds;
use carom_fit::{Ask, Table};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A motion: name, times, bodies, poses, velocities, joint coordinates, their positions and rates.
type RawMotion = (String, Vec<f64>, Vec<String>, Vec<f64>, Vec<f64>, Vec<String>, Vec<f64>, Vec<f64>);
/// Numbers by name, and ranges by name.
type Named = Vec<(String, f64)>;
type Ranges = Vec<(String, f64, f64)>;

/// Reads a motion from a file, with its dimension.
#[pyfunction]
pub fn read_motion(py: Python<'_>, path: PathBuf) -> PyResult<(usize, RawMotion)> {
    let name = path.display().to_string();
    let found = py.detach(|| carom_record::read(&path)).map_err(|error| SolveError::new_err(format!("motions: {error}")))?;
    let given = |values: Vec<f64>| if values.iter().all(|x| x.is_nan()) { Vec::new() } else { values };
    let motion = (name, found.time, found.header.bodies, given(found.q), given(found.v), Vec::new(), Vec::new(), Vec::new());
    Ok((found.header.dimension, motion))
}

/// Fits a world to motions; the report as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn fit(
    py: Python<'_>,
    worlds: &Worlds,
    motions: Vec<RawMotion>,
    names: [Vec<String>; 3],
    numbers: [Named; 2],
    bounds: Ranges,
    flags: (bool, usize, Option<(usize, usize)>, usize),
    shooting: Option<f64>,
    robust: Option<String>,
    path: Option<PathBuf>,
) -> PyResult<String> {
    let world = worlds.lock(py)[0].copy();
    let [parameters, log, per_motion] = names;
    let [start, weights] = numbers;
    let (initial, starts, only, iterations) = flags;
    let ask = Ask {
        parameters,
        log,
        per_motion,
        start,
        weights,
        bounds: bounds.into_iter().map(|(name, low, high)| (name, [low, high])).collect(),
        initial,
        starts,
        only: only.map(|(first, count)| [first, count]),
        shooting,
        robust,
        iterations,
        path,
        ..Ask::default()
    };
    let tables: Vec<Table> = motions
        .into_iter()
        .map(|(name, time, bodies, q, v, joints, joint_q, joint_v)| Table { name, time, bodies, q, v, joints, joint_q, joint_v })
        .collect();
    let found = Crew::default().work(py, true, |interrupt| world.fit(&tables, &ask, interrupt))?;
    let found = found.map_err(|complaint| SolveError::new_err(complaint.to_string()))?;
    serde_json::to_string(&found).map_err(|error| ModelError::new_err(error.to_string()))
}
