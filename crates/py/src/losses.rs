//! Losses as text on arrays of states.

use crate::arrays::{Flat, array, flat};
use crate::engine::Held;
use crate::error::SolveError;
use crate::worlds::Worlds;
use carom_dynamics::State;
use carom_dynamics::gradient::Parameters;
use carom_geometry::Geometry;
use carom_loss::Loss;
use carom_math::{Pose, Twist, Vector};
use pyo3::prelude::*;

/// The value of a loss, and its slopes by the tangent poses, the velocities and the parameters.
pub type Valued = (f64, Vec<f64>, Vec<f64>, Vec<f64>);

/// What reads losses.
pub trait Losses {
    /// A loss on states in a row, or what is wrong with its text or with them.
    fn loss(&self, text: &str, q: &[f64], v: &[f64]) -> Result<Valued, String>;
}

impl<G: Geometry> Losses for Held<G> {
    fn loss(&self, text: &str, q: &[f64], v: &[f64]) -> Result<Valued, String> {
        let model = self.world.model();
        let loss = Loss::parse(text, model).map_err(|e| format!("loss, column {}: {}; {}", e.column, e.problem, e.help))?;
        let bodies = model.bodies.len();
        let mut states = Vec::new();
        for (q, v) in q.chunks_exact(bodies * G::COORDS).zip(v.chunks_exact(bodies * G::DOF)) {
            let mut state = State::empty();
            for (pose, twist) in q.chunks_exact(G::COORDS).zip(v.chunks_exact(G::DOF)) {
                let rotation = G::read_rotation(&pose[G::DIM..]).ok_or("q: needs quaternions of length above 0")?;
                let twist = Twist { lin: G::Lin::from_slice(twist), ang: G::Ang::from_slice(&twist[G::DIM..]) };
                state.push(Pose { position: G::Lin::from_slice(pose), rotation }, twist);
            }
            states.push(state);
        }
        let slope = loss.slope(model, &Parameters::of(model), &states);
        Ok((loss.value(model, &states), slope.states.poses, slope.states.twists, slope.parameters))
    }
}

/// A loss on states (count, n, ...): its value, and its slopes by the tangent poses and by the velocities (count, n, dof), and by the flat parameters.
#[pyfunction]
#[allow(clippy::type_complexity)] // a tuple for Python
pub fn loss_slope<'py>(
    py: Python<'py>,
    worlds: &Worlds,
    text: &str,
    q: Flat<'_>,
    v: Flat<'_>,
) -> PyResult<(f64, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (q, v) = (flat(&q)?, flat(&v)?);
    let (found, bodies, dof) = py.detach(|| {
        let worlds = worlds.locked();
        (worlds[0].loss(text, &q, &v), worlds[0].sizes()[0], worlds[0].widths()[1])
    });
    let (value, poses, twists, parameters) = found.map_err(SolveError::new_err)?;
    let shape = [poses.len() / (bodies * dof).max(1), bodies, dof];
    let count = [parameters.len()];
    Ok((value, array(py, poses, &shape)?.into_any(), array(py, twists, &shape)?.into_any(), array(py, parameters, &count)?.into_any()))
}
