//! Rollouts in a row, with the axis of worlds first, and their gradients.

use crate::arrays::{Flat, array, fixed, flat};
use crate::crew::{CROWD, Crew};
use crate::error::{Raise, SolveError};
use crate::film::{Choices, Plain, draw, meshes};
use crate::run::Run;
use crate::worlds::first;
use carom_dynamics::StepReport;
use carom_dynamics::gradient::{Cotangents, Gradient, Pair, Switches, Weak, Wrt};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// One rollout or many.
#[pyclass(frozen, module = "carom._carom")]
pub struct Rollouts {
    pub(crate) runs: Vec<Arc<dyn Run>>,
    pub(crate) steps: usize,
    pub(crate) bodies: usize,
    coords: usize,
    pub(crate) dof: usize,
    pub(crate) controls: usize,
    pub(crate) crew: Arc<Crew>,
}

/// What was out of the ordinary in a step, in words; `ok` if nothing. Where its start was put right `notes` say what was.
fn status(report: &StepReport, notes: impl Fn() -> Vec<String>) -> String {
    let flags = [
        (report.stepped > 0, "stepped"),
        (report.impact_capped, "impact capped"),
        (report.inaccurate, "inaccurate"),
        (report.soft_spring, "soft spring"),
        (report.unconverged, "unconverged"),
        (report.gyroscopic, "gyroscopic torque not found"),
    ];
    let mut said: Vec<String> = flags.iter().filter(|(set, _)| *set).map(|(_, word)| (*word).to_string()).collect();
    if report.placed {
        said.extend(notes());
    }
    if said.is_empty() { "ok".to_string() } else { said.join(", ") }
}

/// What a gradient is at a switch, from a name or the product of smoothed complementarity.
pub fn at_switches(weak: Option<&str>, kappa: Option<f64>) -> PyResult<Weak> {
    match (weak, kappa) {
        (Some(_), Some(_)) => Err(SolveError::new_err("weak, kappa: a smoothed gradient has no side to choose; give one of them")),
        (None, Some(kappa)) => Ok(Weak::Smoothed { kappa }),
        (None, None) => Ok(Weak::AsSolved),
        (Some(name), None) => {
            let allowed = Weak::NAMES.join("\", \"");
            Weak::named(name).ok_or_else(|| SolveError::new_err(format!("weak: unknown side \"{name}\"; allowed: \"{allowed}\"")))
        }
    }
}

/// Flags by name, those that are raised.
pub fn flags(switches: &Switches) -> Vec<(&'static str, usize)> {
    Switches::KEYS.iter().copied().zip(switches.list()).filter(|(_, count)| *count > 0).collect()
}

/// Flags in words; `exact` if there is none.
fn worth(switches: &Switches) -> String {
    let said: Vec<String> = flags(switches).iter().map(|(name, count)| format!("{name}: {count}")).collect();
    if said.is_empty() { "exact".to_string() } else { said.join(", ") }
}

impl Rollouts {
    /// From runs of at most so many steps, and of the same bodies, coordinates, freedoms and controls. A run that ends before others stays where it is.
    pub fn new(runs: Vec<Box<dyn Run>>, [steps, bodies, coords, dof, controls]: [usize; 5], crew: Arc<Crew>) -> Self {
        Rollouts { runs: runs.into_iter().map(Arc::from).collect(), steps, bodies, coords, dof, controls, crew }
    }
    fn join(&self, width: usize, write: impl Fn(&dyn Run, &mut Vec<f64>)) -> Vec<f64> {
        let all = (self.steps + 1) * width;
        let mut out = Vec::with_capacity(self.runs.len() * all);
        for (i, run) in self.runs.iter().enumerate() {
            write(run.as_ref(), &mut out);
            while out.len() < (i + 1) * all && width > 0 {
                out.extend_from_within(out.len() - width..);
            }
        }
        out
    }
    /// Cotangents of the states of a run that has fewer of them: what it stays at is its last state.
    fn gathered(&self, mut rows: Vec<f64>, own: usize) -> Vec<f64> {
        let size = self.bodies * self.dof;
        if own < self.steps && rows.len() == (self.steps + 1) * size {
            for step in own + 1..=self.steps {
                (0..size).for_each(|k| rows[own * size + k] += rows[step * size + k]);
            }
            rows.truncate((own + 1) * size);
        }
        rows
    }
    /// Whether all take as many steps, which derivatives of every step need.
    pub fn even(&self) -> PyResult<()> {
        if self.runs.iter().all(|run| run.reports().len() == self.steps) {
            return Ok(());
        }
        Err(SolveError::new_err("steps: the runs of this batch are of several lengths; ask one of them, run[i]"))
    }
}

#[pymethods]
impl Rollouts {
    /// Poses of all states: (worlds, steps + 1, bodies, coordinates), read-only.
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape = [self.runs.len(), self.steps + 1, self.bodies, self.coords];
        let values = py.detach(|| self.join(shape[2] * shape[3], |run, out| run.write_q(out)));
        Ok(fixed(py, values, &shape)?.into_any())
    }
    /// Velocities of all states, likewise.
    fn v<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape = [self.runs.len(), self.steps + 1, self.bodies, self.dof];
        let values = py.detach(|| self.join(shape[2] * shape[3], |run, out| run.write_v(out)));
        Ok(fixed(py, values, &shape)?.into_any())
    }
    /// Poses and velocities of the first of them, without the axis of worlds, for the caller to keep.
    fn states<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyAny>; 2]> {
        let shape = |width: usize| [self.steps + 1, self.bodies, width];
        let [mut q, mut v] = [self.coords, self.dof].map(|width| Vec::with_capacity(shape(width).iter().product()));
        self.runs[0].write_q(&mut q);
        self.runs[0].write_v(&mut v);
        Ok([array(py, q, &shape(self.coords))?.into_any(), array(py, v, &shape(self.dof))?.into_any()])
    }
    /// Times of all states [s].
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.join(1, |run, out| out.extend(run.times()));
        Ok(fixed(py, values, &[self.runs.len(), self.steps + 1])?.into_any())
    }
    /// The first of them as a page that replays it.
    fn replay(&self, py: Python<'_>) -> String {
        py.detach(|| self.runs[0].replay())
    }
    /// Draws the first of them to a file.
    #[allow(clippy::type_complexity)]
    fn film(
        &self,
        py: Python<'_>,
        path: PathBuf,
        size: [Option<usize>; 2],
        frames: usize,
        rates: (Option<f64>, f64),
        flags: (bool, bool, Option<bool>),
        paper: String,
        encoder: Option<PathBuf>,
    ) -> PyResult<()> {
        draw(py, self.runs[0].as_ref(), path, Choices { size, frames, rates, flags, paper, encoder })
    }
    /// The bodies of the first of them as triangles.
    fn meshes(&self, py: Python<'_>, paper: &str) -> PyResult<Vec<Plain>> {
        meshes(py, self.runs[0].as_ref(), paper)
    }
    /// Energy of all states [J].
    fn energy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.join(1, |run, out| out.extend_from_slice(run.energy()));
        Ok(fixed(py, values, &[self.runs.len(), self.steps + 1])?.into_any())
    }
    /// Contacts at the end of each step.
    fn contacts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i64>> {
        let shape = (self.runs.len(), self.steps);
        let counts = Array2::from_shape_fn(shape, |(i, step)| self.runs[i].reports().get(step).map_or(0, |report| report.contacts as i64))
            .into_pyarray(py);
        drop(counts.readwrite().make_nonwriteable());
        counts
    }
    /// How each step went.
    fn status(&self) -> Vec<Vec<String>> {
        self.runs.iter().map(|run| run.reports().iter().map(|report| status(report, || run.notes())).collect()).collect()
    }

    /// Forces of contacts of pairs of bodies: (worlds, steps, pairs, dimension); 0 where a run has ended.
    fn forces<'py>(&self, py: Python<'py>, pairs: Vec<Pair>) -> PyResult<Bound<'py, PyAny>> {
        let dimension = if self.dof == 3 { 2 } else { 3 };
        let shape = [self.runs.len(), self.steps, pairs.len(), dimension];
        let results =
            self.crew.work(py, false, |interrupt| self.runs.iter().map(|run| run.forces(&pairs, interrupt)).collect::<Vec<_>>())?;
        let mut out = Vec::with_capacity(shape.iter().product());
        for (i, values) in first(py, results, Raise::raise)?.into_iter().enumerate() {
            out.extend(values);
            out.resize((i + 1) * shape[1] * shape[2] * shape[3], 0.0);
        }
        Ok(array(py, out, &shape)?.into_any())
    }

    /// The adjoint: cotangents of all states or of the last one, per world, whether the parameters are asked for as well, and cotangents of forces of contacts
    /// as they are handed out.
    #[pyo3(signature = (dq, dv, weak=None, kappa=None, parameters=true, pairs=Vec::new(), forces=None))]
    #[allow(clippy::too_many_arguments)] // one call
    fn backward(
        &self,
        py: Python<'_>,
        dq: Option<Flat<'_>>,
        dv: Option<Flat<'_>>,
        weak: Option<&str>,
        kappa: Option<f64>,
        parameters: bool,
        pairs: Vec<Pair>,
        forces: Option<Flat<'_>>,
    ) -> PyResult<Gradients> {
        let weak = at_switches(weak, kappa)?;
        let wrt = if parameters { Wrt::Everything } else { Wrt::StatesAndControls };
        let (dq, dv) = (dq.as_ref().map(flat).transpose()?, dv.as_ref().map(flat).transpose()?);
        let forces = forces.as_ref().map(flat).transpose()?;
        let count = self.runs.len();
        let share = |x: &Option<Vec<f64>>, i: usize| {
            x.as_ref().map_or_else(Vec::new, |x| x[i * (x.len() / count)..(i + 1) * (x.len() / count)].to_vec())
        };
        let part = |x: &Option<Vec<f64>>, i: usize| self.gathered(share(x, i), self.runs[i].reports().len());
        let results = self.crew.work(py, count > 1 || self.bodies >= CROWD, |interrupt| {
            let run = |i: usize, run: &dyn Run| {
                let mut felt = share(&forces, i);
                felt.truncate(felt.len() / self.steps.max(1) * run.reports().len());
                run.backward(&Cotangents { poses: part(&dq, i), twists: part(&dv, i) }, (&pairs, &felt), wrt, weak, interrupt)
            };
            if count == 1 {
                vec![run(0, self.runs[0].as_ref())]
            } else {
                self.runs.par_iter().enumerate().map(|(i, one)| run(i, one.as_ref())).collect::<Vec<_>>()
            }
        })?;
        let found = first(py, results, Raise::raise)?;
        Ok(Gradients { found, steps: self.steps, bodies: self.bodies, dof: self.dof, controls: self.controls, weak })
    }
    /// These rollouts, by number and as often as they are named; nothing is copied.
    fn take(&self, which: Vec<usize>) -> PyResult<Rollouts> {
        let pick = |index: &usize| self.runs.get(*index).cloned();
        let runs: Option<Vec<Arc<dyn Run>>> = which.iter().map(pick).collect();
        let runs = runs.filter(|runs| !runs.is_empty());
        let runs = runs.ok_or_else(|| SolveError::new_err(format!("index: needs whole numbers below {}", self.runs.len())))?;
        let Rollouts { steps, bodies, coords, dof, controls, .. } = *self;
        Ok(Rollouts { runs, steps, bodies, coords, dof, controls, crew: self.crew.clone() })
    }
    /// Names of the parameters.
    fn keys(&self) -> Vec<String> {
        self.runs[0].keys()
    }
    /// The gradient with respect to a named parameter, from that by the flat ones of all worlds.
    fn named<'py>(&self, py: Python<'py>, key: &str, parameters: Flat<'py>) -> PyResult<Bound<'py, PyAny>> {
        let parameters = parameters.as_slice()?;
        let count = self.runs.len();
        if !parameters.len().is_multiple_of(count) {
            return Err(SolveError::new_err("parameters: wrong length"));
        }
        let (mut shape, mut out) = (vec![count], Vec::new());
        for (run, flat) in self.runs.iter().zip(parameters.chunks_exact((parameters.len() / count).max(1))) {
            let (one, values) = run.named(key, flat).map_err(Raise::raise)?;
            shape.truncate(1);
            shape.extend(one);
            out.extend(values);
        }
        Ok(array(py, out, &shape)?.into_any())
    }
}

/// Gradients of losses of rollouts in a row, with the axis of worlds first. What nobody reads is never handed over.
#[pyclass(frozen, module = "carom._carom")]
pub struct Gradients {
    found: Vec<Gradient>,
    steps: usize,
    bodies: usize,
    dof: usize,
    controls: usize,
    weak: Weak,
}

impl Gradients {
    fn join<'py>(&self, py: Python<'py>, shape: &[usize], part: impl Fn(&Gradient) -> &[f64]) -> PyResult<Bound<'py, PyAny>> {
        let values: Vec<f64> = self.found.iter().flat_map(|gradient| part(gradient).iter().copied()).collect();
        let shape: Vec<usize> = std::iter::once(self.found.len()).chain(shape.iter().copied()).collect();
        Ok(array(py, values, &shape)?.into_any())
    }
}

#[pymethods]
impl Gradients {
    /// By the initial poses, as tangents: (worlds, bodies, freedoms).
    fn q0<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.join(py, &[self.bodies, self.dof], |gradient| &gradient.poses)
    }
    /// By the initial velocities, likewise.
    fn v0<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.join(py, &[self.bodies, self.dof], |gradient| &gradient.twists)
    }
    /// By the controls: (worlds, steps, controls).
    fn controls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = self.steps * self.controls;
        let rows = self.found.iter().flat_map(|gradient| {
            let own = &gradient.controls;
            own.iter().copied().chain(std::iter::repeat_n(0.0, all - own.len()))
        });
        Ok(array(py, rows.collect(), &[self.found.len(), self.steps, self.controls])?.into_any())
    }
    /// By the flat parameters: (worlds, parameters).
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.join(py, &[self.found[0].parameters.len()], |gradient| &gradient.parameters)
    }
    /// What they are at switches, in words.
    fn weak(&self) -> String {
        self.weak.to_string()
    }
    /// What each step's is worth.
    fn status(&self) -> Vec<Vec<String>> {
        self.found.iter().map(|gradient| gradient.switches.iter().map(worth).collect()).collect()
    }
    /// How many contacts, limits and ropes touch and push where each run starts.
    fn touching(&self) -> Vec<usize> {
        self.found.iter().map(|gradient| gradient.touching).collect()
    }
}
