//! The algorithms on arrays: impacts, implicit equalities, the dynamics problem, body splitting, inserted rows.

use crate::arrays::{Flat, array, flat, optional};
use crate::error::{Raise, SolveError};
use carom_kernels::dynamics::{self as problem, DynamicsInput, DynamicsOutput, Mass, MassChange};
use carom_kernels::impact::{self, ImpactOptions};
use carom_math::bordered::{self, Form};
use carom_math::ldl::Order as Elimination;
use carom_math::splitting;
use carom_solve::impact::lineality as equalities;
use carom_solve::impact::{self as laws, Law, MassMatrix, Order, Restitution, SparseRows};
use carom_solve::status::Status;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

type Dict<'py> = PyResult<Bound<'py, PyDict>>;

/// A mass as the Python layer hands it over: blocks by rows; one block of one row stands for the diagonal when `diagonal`.
#[derive(Debug)]
struct OwnedMass {
    diagonal: bool,
    blocks: Vec<Vec<f64>>,
}

impl OwnedMass {
    fn new(diagonal: bool, blocks: &[Flat<'_>]) -> PyResult<Self> {
        Ok(OwnedMass { diagonal, blocks: blocks.iter().map(flat).collect::<PyResult<_>>()? })
    }
    fn matrix(&self) -> PyResult<MassMatrix> {
        if self.diagonal {
            return MassMatrix::diagonal(&self.blocks[0]).map_err(Raise::raise);
        }
        MassMatrix::blocks(self.blocks.iter().map(|b| (&b[..], b.len().isqrt()))).map_err(Raise::raise)
    }
    fn view(&self) -> Mass<'_> {
        if self.diagonal { Mass::Diagonal(&self.blocks[0]) } else { Mass::Blocks(&self.blocks) }
    }
}

/// The impact of many contacts at one instant.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn impacts<'py>(
    py: Python<'py>,
    diagonal: bool,
    mass: Vec<Flat<'py>>,
    normals: Flat<'py>,
    velocity: Flat<'py>,
    law: &str,
    order: &str,
    seed: u64,
    restitution: Flat<'py>,
    friction: Option<Flat<'py>>,
    tangents: Option<Flat<'py>>,
    tolerance: f64,
    lineality: bool,
    max_iterations: usize,
) -> Dict<'py> {
    let mass = OwnedMass::new(diagonal, &mass)?.matrix()?;
    let velocity = flat(&velocity)?;
    let d = velocity.len();
    let rows = |x: &Flat<'_>| SparseRows::from_dense(x.as_slice()?, d).map_err(Raise::raise);
    let (normals, tangents) = (rows(&normals)?, tangents.as_ref().map(rows).transpose()?);
    let (restitution, friction) = (flat(&restitution)?, friction.as_ref().map(flat).transpose()?);
    let order = match order {
        "lexicographic" => Order::Lexicographic,
        "cyclic" => Order::Cyclic,
        "random" => Order::Random,
        _ => Order::Worst,
    };
    let options = ImpactOptions {
        law: if law == "reflections" { Law::Reflections } else { Law::GaussSeidel { order, seed } },
        restitution: match &restitution[..] {
            [one] => Restitution::Uniform(*one),
            each => Restitution::PerContact(each),
        },
        friction: friction.as_deref(),
        tangents: tangents.as_ref(),
        tolerance,
        lineality,
        max_iterations,
        ..ImpactOptions::default()
    };
    let out = py.detach(|| impact::impacts(&mass, &normals, &velocity, &options)).map_err(Raise::raise)?;
    let m = normals.len();
    let dict = PyDict::new(py);
    dict.set_item("velocity", array(py, out.velocity, &[d])?)?;
    dict.set_item("impulses", array(py, out.impulses, &[m])?)?;
    let tangents = out.friction_impulses.len().checked_div(m).unwrap_or(0);
    let friction = options.friction.map(|_| array(py, out.friction_impulses, &[m, tangents])).transpose()?;
    dict.set_item("friction_impulses", friction)?;
    dict.set_item("iterations", out.iterations)?;
    dict.set_item("locked", out.locked)?;
    dict.set_item("energy_before", out.energy_before)?;
    dict.set_item("energy_after", out.energy_after)?;
    dict.set_item("status", if out.status == laws::Status::Resolved { "resolved" } else { "capped" })?;
    dict.set_item("accurate", out.accurate)?;
    Ok(dict)
}

/// The implicit equalities of a cone.
#[pyfunction]
pub fn lineality<'py>(
    py: Python<'py>,
    normals: Flat<'py>,
    dimension: usize,
    mass: Option<(bool, Vec<Flat<'py>>)>,
    tolerance: f64,
) -> Dict<'py> {
    let mass = mass.map(|(diagonal, blocks)| OwnedMass::new(diagonal, &blocks)?.matrix()).transpose()?;
    let normals = flat(&normals)?;
    let out = py.detach(|| equalities::lineality(&normals, dimension, mass.as_ref(), tolerance)).map_err(Raise::raise)?;
    let dict = PyDict::new(py);
    dict.set_item("dimension", out.dimension)?;
    dict.set_item("basis", array(py, out.basis, &[dimension, out.dimension])?)?;
    dict.set_item("projector", array(py, out.projector, &[dimension, dimension])?)?;
    dict.set_item("implicit", out.implicit)?;
    Ok(dict)
}

/// A solved dynamics problem with what its derivative needs.
#[pyclass(frozen, module = "carom._carom")]
#[derive(Debug)]
pub struct Dynamics {
    mass: OwnedMass,
    velocity: Vec<f64>,
    force: Vec<f64>,
    step: f64,
    joints: Vec<f64>,
    contacts: Vec<f64>,
    tangents: Vec<f64>,
    friction: Vec<f64>,
    restitution: Vec<f64>,
    bias: Vec<f64>,
    tolerance: f64,
    output: DynamicsOutput,
}

/// One solve of the dynamics problem: the fields of the result and the handle its derivative is taken from.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn dynamics<'py>(
    py: Python<'py>,
    diagonal: bool,
    mass: Vec<Flat<'py>>,
    velocity: Flat<'py>,
    force: Flat<'py>,
    step: f64,
    joints: Option<Flat<'py>>,
    contacts: Option<Flat<'py>>,
    tangents: Option<Flat<'py>>,
    friction: Option<Flat<'py>>,
    restitution: Option<Flat<'py>>,
    bias: Option<Flat<'py>>,
    tolerance: f64,
) -> PyResult<(Bound<'py, PyDict>, Dynamics)> {
    let mut solved = Dynamics {
        mass: OwnedMass::new(diagonal, &mass)?,
        velocity: flat(&velocity)?,
        force: flat(&force)?,
        step,
        joints: optional(joints.as_ref())?,
        contacts: optional(contacts.as_ref())?,
        tangents: optional(tangents.as_ref())?,
        friction: optional(friction.as_ref())?,
        restitution: optional(restitution.as_ref())?,
        bias: optional(bias.as_ref())?,
        tolerance,
        output: DynamicsOutput {
            velocity: Vec::new(),
            joint_impulse: Vec::new(),
            contact_impulse: Vec::new(),
            friction_impulse: Vec::new(),
            slip: Vec::new(),
            residual: f64::INFINITY,
            iterations: 0,
            method: carom_solve::status::Method::Trivial,
            status: Status::Failed,
        },
    };
    solved.output = py.detach(|| problem::dynamics(&solved.input())).map_err(Raise::raise)?;
    let out = &solved.output;
    let d = solved.velocity.len();
    let (e, m) = (out.joint_impulse.len(), out.contact_impulse.len());
    let t = solved.tangents.len().checked_div(m * d).unwrap_or(0);
    // Tangents without coefficients carry nothing.
    let mut friction_impulse = out.friction_impulse.clone();
    friction_impulse.resize(m * t, 0.0);
    let dict = PyDict::new(py);
    dict.set_item("velocity", array(py, out.velocity.clone(), &[d])?)?;
    dict.set_item("joint_impulse", array(py, out.joint_impulse.clone(), &[e])?)?;
    dict.set_item("contact_impulse", array(py, out.contact_impulse.clone(), &[m])?)?;
    dict.set_item("friction_impulse", array(py, friction_impulse, &[m, t])?)?;
    dict.set_item("residual", out.residual)?;
    dict.set_item("iterations", out.iterations)?;
    let status = match out.status {
        Status::Solved => "solved",
        Status::Inaccurate { .. } => "inaccurate",
        Status::Failed => "failed",
    };
    dict.set_item("status", status)?;
    Ok((dict, solved))
}

impl Dynamics {
    fn input(&self) -> DynamicsInput<'_> {
        DynamicsInput {
            mass: self.mass.view(),
            velocity: &self.velocity,
            force: &self.force,
            step: self.step,
            joints: &self.joints,
            contacts: &self.contacts,
            tangents: &self.tangents,
            friction: &self.friction,
            restitution: &self.restitution,
            bias: &self.bias,
            tolerance: self.tolerance,
        }
    }
}

#[pymethods]
impl Dynamics {
    /// Cotangents of every argument, flat, from that of the velocity.
    fn backward<'py>(&self, py: Python<'py>, velocity_bar: Flat<'py>) -> Dict<'py> {
        let bar = flat(&velocity_bar)?;
        let out = py.detach(|| problem::backward(&self.input(), &self.output, &bar)).map_err(Raise::raise)?;
        let dict = PyDict::new(py);
        let masses = match out.mass {
            MassChange::Diagonal(one) | MassChange::Dense(one) => vec![one],
            MassChange::Blocks(blocks) => blocks,
        };
        let masses: Vec<_> = masses.into_iter().map(|b| array(py, b.clone(), &[b.len()])).collect::<PyResult<_>>()?;
        dict.set_item("mass", PyList::new(py, masses)?)?;
        dict.set_item("step", out.step)?;
        for (key, values) in [
            ("velocity", out.velocity),
            ("force", out.force),
            ("joints", out.joints),
            ("contacts", out.contacts),
            ("tangents", out.tangents),
            ("friction", out.friction),
            ("restitution", out.restitution),
            ("bias", out.bias),
        ] {
            let len = values.len();
            dict.set_item(key, array(py, values, &[len])?)?;
        }
        Ok(dict)
    }
}

/// How a body with n constraint rows is split: inner parts (-1 for no split), their rows, rows per part, entries of the factor.
#[pyfunction]
pub fn split(n: usize) -> PyResult<(i64, usize, Vec<usize>, u64)> {
    let out = splitting::split(n).map_err(Raise::raise)?;
    Ok((out.inner_parts, out.inner_constraints, out.parts, out.entries))
}

/// A factored symmetric positive definite matrix.
#[pyclass(frozen, module = "carom._carom")]
#[derive(Debug)]
pub struct InsertedFactor(bordered::InsertedFactor);

#[pymethods]
impl InsertedFactor {
    /// From the lower triangle by entries; `order` is the elimination order, chosen inside if absent.
    #[new]
    fn new(py: Python<'_>, n: usize, rows: Vec<usize>, columns: Vec<usize>, values: Flat<'_>, order: Option<Vec<usize>>) -> PyResult<Self> {
        let values = flat(&values)?;
        if values.iter().any(|x| !x.is_finite()) {
            return Err(SolveError::new_err("matrix: needs finite numbers"));
        }
        let entries: Vec<_> = rows.into_iter().zip(columns).zip(values).map(|((r, c), v)| (r, c, v)).collect();
        let order = order.as_deref().map_or(Elimination::MinimumDegree, Elimination::Given);
        py.detach(|| bordered::InsertedFactor::from_lower(n, &entries, order)).map(InsertedFactor).map_err(Raise::raise)
    }
    /// The elimination order.
    #[getter]
    fn order(&self) -> Vec<usize> {
        self.0.order().to_vec()
    }
    /// Solves A x = b.
    fn solve<'py>(&self, py: Python<'py>, b: Flat<'py>) -> PyResult<Bound<'py, PyAny>> {
        let x = self.0.solve(b.as_slice()?).map_err(Raise::raise)?;
        let len = x.len();
        Ok(array(py, x, &[len])?.into_any())
    }
    /// Inserts rows and columns.
    fn insert(&self, columns: Flat<'_>, rows: Flat<'_>, corner: Flat<'_>) -> PyResult<InsertedSystem> {
        let system = self.0.insert(columns.as_slice()?, rows.as_slice()?, corner.as_slice()?, Form::Ldl);
        system.map(InsertedSystem).map_err(Raise::raise)
    }
}

/// A factored matrix with inserted rows and columns.
#[pyclass(frozen, module = "carom._carom")]
#[derive(Debug)]
pub struct InsertedSystem(bordered::Inserted);

#[pymethods]
impl InsertedSystem {
    /// Solves the bordered system: x1, x2 and the residual.
    fn solve<'py>(&self, py: Python<'py>, b1: Flat<'py>, b2: Flat<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, f64)> {
        let (b1, b2) = (flat(&b1)?, flat(&b2)?);
        let x = py.detach(|| self.0.solve(&b1, &b2)).map_err(Raise::raise)?;
        Ok((array(py, x.x1, &[b1.len()])?.into_any(), array(py, x.x2, &[b2.len()])?.into_any(), x.residual))
    }
}
