//! Films, pictures and exports of rollouts.

use crate::error::{Error, SolveError};
use crate::run::Run;
use carom_record::AtomicFile;
use carom_render::{Kind, Options, RenderError, Theme};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A mesh in plain numbers: corners, normals, colours and triangles, three numbers each.
pub type Plain = (Vec<[f32; 3]>, Vec<[f32; 3]>, Vec<[f64; 3]>, Vec<[u32; 3]>);

fn theme(name: &str) -> Theme {
    if name == "dark" { Theme::Dark } else { Theme::Light }
}

fn raise(path: &str, error: &RenderError) -> PyErr {
    match error {
        RenderError::Size { .. } => SolveError::new_err(format!("size: {error}")),
        error => Error::new_err(format!("{path}: {error}")),
    }
}

/// Choices that `python/carom` has checked.
pub struct Choices {
    /// Width and height [pixels].
    pub size: [Option<usize>; 2],
    /// Panels of a strip.
    pub frames: usize,
    /// Frames per second, and seconds of the run in one of the film.
    pub rates: (Option<f64>, f64),
    /// Trails, the clock, and whether the camera follows.
    pub flags: (bool, bool, Option<bool>),
    /// `light` or `dark`.
    pub paper: String,
    /// The encoder of films.
    pub encoder: Option<PathBuf>,
}

/// Draws a run to a file, which appears whole or not at all.
pub fn draw(py: Python<'_>, run: &dyn Run, path: PathBuf, choices: Choices) -> PyResult<()> {
    let name = path.display().to_string();
    let Some(kind) = Kind::of(&path) else {
        return Err(SolveError::new_err(format!("path: {name}: the ending names the format; allowed: {}", Kind::ENDINGS.join(", "))));
    };
    let Choices { size: [width, height], frames: panels, rates: (rate, speed), flags: (trails, clock, follow), paper, encoder } = choices;
    let options =
        Options { width, height, panels, rate, speed, trails, theme: theme(&paper), clock, follow, encoder, ..Options::default() };
    // Signals are heard between frames, by the thread that Python knows.
    let mut heard = Ok(());
    let drawn = py.detach(|| {
        let mut file = AtomicFile::create(&path).map_err(RenderError::from)?;
        run.film(kind, &options, &mut file, &mut || {
            heard = Python::attach(|py| py.check_signals());
            heard.is_ok()
        })?;
        file.commit().map_err(RenderError::from)
    });
    heard?;
    drawn.map(|_| ()).map_err(|error| raise(&name, &error))
}

/// The bodies of a run as triangles.
pub fn meshes(py: Python<'_>, run: &dyn Run, paper: &str) -> PyResult<Vec<Plain>> {
    let found = py.detach(|| run.meshes(theme(paper))).map_err(|error| raise("meshes", &error))?;
    Ok(found.into_iter().map(|mesh| (mesh.points, mesh.normals, mesh.colors, mesh.triangles)).collect())
}
