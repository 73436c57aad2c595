//! Measured motions beside the engine: `python -m carom.validate` asks for the sets, and for the tosses of the cube to give them to other engines.

use crate::crew::Crew;
use crate::error::{ModelError, SolveError};
use carom_dynamics::State;
use carom_math::{Space, Spatial};
use carom_validate::{Start, Tosses, Trouble};
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::Instant;

/// A toss: its number, the poses from the start of a simulation on, the velocity there (world axes).
type RawToss = (i64, Vec<f64>, Vec<f64>);

fn fault(trouble: &Trouble) -> PyErr {
    match trouble {
        Trouble::NoData(_) => PyFileNotFoundError::new_err(trouble.to_string()),
        Trouble::Failed(_) | Trouble::Stopped => SolveError::new_err(trouble.to_string()),
    }
}

/// Runs a set, puts its pictures into a folder where one is named, and says what was found as JSON.
#[pyfunction]
pub fn validate(py: Python<'_>, set: String, data: Option<PathBuf>, folder: Option<PathBuf>) -> PyResult<String> {
    let clock = Instant::now();
    let found = Crew::default().work(py, true, |interrupt| carom_validate::run(&set, data.as_deref(), interrupt))?;
    let found = found.map_err(|trouble| fault(&trouble))?;
    if let Some(folder) = &folder {
        found.save(folder).map_err(|(path, error)| ModelError::new_err(format!("{}: {error}", path.display())))?;
    }
    Ok(found.told(clock.elapsed().as_secs_f64(), &folder.unwrap_or_default()).to_string())
}

/// The tosses of the cube from their published start on (`first`: from their first frame): frames per second, width of the cube, tosses.
#[pyfunction]
pub fn cube_tosses(data: Option<PathBuf>, first: bool) -> PyResult<(f64, f64, Vec<RawToss>)> {
    let tosses = Tosses::load(data.as_deref()).map_err(|trouble| fault(&trouble))?.all;
    let start = if first { Start::First } else { Start::Paper };
    let one = |toss: &carom_validate::Toss| {
        let (frame, _, twist) = toss.start(start);
        let (mut q, mut v) = (vec![0.0; (toss.poses.len() - frame) * Spatial::COORDS], vec![0.0; Spatial::DOF]);
        for (pose, q) in toss.poses[frame..].iter().zip(q.chunks_exact_mut(Spatial::COORDS)) {
            let mut state = State::<Spatial>::empty();
            state.push(*pose, twist);
            state.write_pose(0, q);
            state.write_twist(0, &mut v);
        }
        (toss.id, q, v)
    };
    Ok((carom_validate::RATE, carom_validate::WIDTH, tosses.iter().map(one).collect()))
}
