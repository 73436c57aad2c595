//! The contact problem on arrays: one solve, and its derivative.

use crate::arrays::{Flat, array, flat};
use crate::crew::Crew;
use crate::error::Raise;
use carom_kernels::contact::{ContactKernel, Matrix};
use carom_solve::status::Status;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};

/// Places in a matrix, as the Python layer prepares them.
type Whole<'py> = PyReadonlyArray1<'py, i64>;

/// The same as indices; below 0 is outside every matrix.
fn places(whole: &Whole<'_>) -> PyResult<Vec<usize>> {
    Ok(whole.as_slice()?.iter().map(|&k| usize::try_from(k).unwrap_or(usize::MAX)).collect())
}

/// A solved contact problem with what its derivative needs.
#[pyclass(frozen, module = "carom._carom")]
#[derive(Debug)]
pub struct ContactSolution(Mutex<ContactKernel>);

/// One solve of a contact problem: the fields of the result and the handle its derivative is taken from. The matrix comes by rows, or compressed
/// where its row starts and columns are given too.
#[pyfunction]
pub fn contact<'py>(
    py: Python<'py>,
    values: Flat<'py>,
    pattern: Option<(Whole<'py>, Whole<'py>)>,
    free: Flat<'py>,
    friction: Flat<'py>,
    tolerance: f64,
    warm: Option<Flat<'py>>,
) -> PyResult<(Bound<'py, PyDict>, ContactSolution)> {
    let (values, free, friction) = (flat(&values)?, flat(&free)?, flat(&friction)?);
    let warm = warm.as_ref().map(flat).transpose()?;
    let pattern = pattern.as_ref().map(|(starts, columns)| PyResult::Ok((places(starts)?, places(columns)?))).transpose()?;
    let solved = Crew::default()
        .work(py, false, |stop| {
            let matrix = match &pattern {
                None => Matrix::Dense(&values),
                Some((starts, columns)) => Matrix::Compressed { starts, columns, values: &values },
            };
            ContactKernel::solve(matrix, free, &friction, tolerance, warm.as_deref(), stop)
        })?
        .map_err(Raise::raise)?;
    let (n, answer) = (solved.impulses().len(), solved.answer());
    let dict = PyDict::new(py);
    dict.set_item("impulses", array(py, solved.impulses().to_vec(), &[n])?)?;
    dict.set_item("velocity", array(py, solved.velocity().to_vec(), &[n])?)?;
    dict.set_item("residual", answer.residual)?;
    let status = match solved.outcome().status {
        Status::Solved => "solved",
        Status::Inaccurate { .. } => "inaccurate",
        Status::Failed => "failed",
    };
    dict.set_item("status", status)?;
    dict.set_item("method", answer.method.label())?;
    dict.set_item("iterations", solved.outcome().iterations)?;
    dict.set_item("factorisations", answer.factors)?;
    Ok((dict, ContactSolution(Mutex::new(solved))))
}

#[pymethods]
impl ContactSolution {
    /// Cotangents of the matrix' stored entries, of the free velocities and of the coefficients of friction, from that of the impulses.
    fn backward<'py>(&self, py: Python<'py>, impulses_bar: Flat<'py>) -> PyResult<Bound<'py, PyDict>> {
        let bar = flat(&impulses_bar)?;
        let out = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).backward(&bar)).map_err(Raise::raise)?;
        let dict = PyDict::new(py);
        for (key, numbers) in [("matrix", out.matrix), ("free", out.free), ("friction", out.friction)] {
            let length = numbers.len();
            dict.set_item(key, array(py, numbers, &[length])?)?;
        }
        Ok(dict)
    }
}
