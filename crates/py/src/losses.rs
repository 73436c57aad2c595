//! Losses as text on arrays of states.

use crate::arrays::{Flat, array, flat, optional};
use crate::engine::Held;
use crate::error::SolveError;
use crate::worlds::Worlds;
use carom_dynamics::State;
use carom_dynamics::gradient::{Pair, Parameters};
use carom_geometry::Geometry;
use carom_loss::{Forces, Loss};
use carom_math::{Pose, Twist, Vector};
use pyo3::prelude::*;

/// The value of a loss, and its slopes with respect to the tangent poses, the velocities, the parameters and the forces of contacts.
pub type Valued = (f64, Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>);

/// What reads losses.
pub trait Losses {
    /// Whose forces of contacts a loss reads, and from whom, or what is wrong with its text.
    fn pairs(&self, text: &str) -> Result<Vec<Pair>, String>;
    /// A loss on states in a row, the first at a time, and on forces of contacts, or what is wrong with its text or with them.
    fn loss(&self, text: &str, q: &[f64], v: &[f64], forces: &[f64], begun: Option<f64>) -> Result<Valued, String>;
}

impl<G: Geometry> Losses for Held<G> {
    fn pairs(&self, text: &str) -> Result<Vec<Pair>, String> {
        read(text, self).map(|loss| loss.pairs().to_vec())
    }
    fn loss(&self, text: &str, q: &[f64], v: &[f64], forces: &[f64], begun: Option<f64>) -> Result<Valued, String> {
        let model = self.world.model();
        let loss = read(text, self)?;
        let count = loss.pairs().len();
        let bodies = model.bodies.len();
        let begun = begun.unwrap_or(self.world.state().time);
        let mut states = Vec::new();
        for (q, v) in q.chunks_exact(bodies * G::COORDS).zip(v.chunks_exact(bodies * G::DOF)) {
            let mut state = State::empty();
            state.time = begun + model.step * states.len() as f64;
            for (pose, twist) in q.chunks_exact(G::COORDS).zip(v.chunks_exact(G::DOF)) {
                let rotation = G::read_rotation(&pose[G::DIM..]).ok_or("q: needs quaternions of length above 0")?;
                let twist = Twist { lin: G::Lin::from_slice(twist), ang: G::Ang::from_slice(&twist[G::DIM..]) };
                state.push(Pose { position: G::Lin::from_slice(pose), rotation }, twist);
            }
            states.push(state);
        }
        if forces.len() != states.len().saturating_sub(1) * count * G::DIM {
            return Err("loss: reads forces of contacts, which states do not have; give it the run".to_string());
        }
        let widened = |values: &[f64]| {
            let mut out = [0.0; 3];
            out[..G::DIM].copy_from_slice(values);
            out
        };
        let steps = forces.chunks_exact((count * G::DIM).max(1)).map(|step| step.chunks_exact(G::DIM).map(widened).collect());
        let given = Forces::new(steps.collect());
        let slope = loss.slope(model, &Parameters::of(model), &states, &given);
        let mut bar = vec![0.0; forces.len()];
        for push in &slope.pushes {
            let pair = loss.pairs().iter().position(|pair| *pair == push.pair).unwrap_or(0);
            let first = (push.step * count + pair) * G::DIM;
            (0..G::DIM).for_each(|k| bar[first + k] += push.bar[k] * model.step);
        }
        Ok((loss.value(model, &states, &given), slope.states.poses, slope.states.twists, slope.parameters, bar))
    }
}

fn read<G: Geometry>(text: &str, held: &Held<G>) -> Result<Loss, String> {
    Loss::parse_among(text, held.world.model(), &held.points).map_err(|e| format!("loss, column {}: {}; {}", e.column, e.problem, e.help))
}

/// Whose forces of contacts a loss reads, and from whom, by number.
#[pyfunction]
pub fn loss_pairs(py: Python<'_>, worlds: &Worlds, text: &str) -> PyResult<Vec<Pair>> {
    py.detach(|| worlds.locked()[0].pairs(text)).map_err(SolveError::new_err)
}

/// A loss on states (count, n, ...) and forces of contacts (count - 1, pairs, dimension): its value, and its slopes by the tangent poses and by the velocities
/// (count, n, dof), by the flat parameters, and by the forces. The first state is at `begun`, or at the world's time.
#[pyfunction]
#[pyo3(signature = (worlds, text, q, v, forces=None, begun=None))]
pub fn loss_slope<'py>(
    py: Python<'py>,
    worlds: &Worlds,
    text: &str,
    q: Flat<'_>,
    v: Flat<'_>,
    forces: Option<Flat<'_>>,
    begun: Option<f64>,
) -> PyResult<(f64, Vec<Bound<'py, PyAny>>)> {
    let (q, v, forces) = (flat(&q)?, flat(&v)?, optional(forces.as_ref())?);
    let (found, bodies, dof) = py.detach(|| {
        let worlds = worlds.locked();
        (worlds[0].loss(text, &q, &v, &forces, begun), worlds[0].sizes()[0], worlds[0].widths()[1])
    });
    let (value, poses, twists, parameters, bar) = found.map_err(SolveError::new_err)?;
    let shape = [poses.len() / (bodies * dof).max(1), bodies, dof];
    let [counts, bars] = [[parameters.len()], [bar.len()]];
    let parts = [(poses, &shape[..]), (twists, &shape[..]), (parameters, &counts[..]), (bar, &bars[..])];
    let slopes = parts.into_iter().map(|(values, shape)| Ok(array(py, values, shape)?.into_any())).collect::<PyResult<Vec<_>>>()?;
    Ok((value, slopes))
}
