//! Numbers to numpy arrays and back. Vectors are handed over, not copied.

use crate::error::SolveError;
use numpy::ndarray::{ArrayD, IxDyn};
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

/// A flat argument, as the Python layer prepares them: float64, one axis, contiguous.
pub type Flat<'py> = PyReadonlyArray1<'py, f64>;

/// The numbers of a flat argument.
pub fn flat(array: &Flat<'_>) -> PyResult<Vec<f64>> {
    Ok(array.as_slice()?.to_vec())
}

/// The numbers of an argument that may be absent: empty then.
pub fn optional(array: Option<&Flat<'_>>) -> PyResult<Vec<f64>> {
    array.map_or_else(|| Ok(Vec::new()), flat)
}

/// An array of this shape that owns the vector.
pub fn array<'py>(py: Python<'py>, values: Vec<f64>, shape: &[usize]) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let array = ArrayD::from_shape_vec(IxDyn(shape), values).map_err(|error| SolveError::new_err(error.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// The same, read-only: what is handed out is no way to change the engine.
pub fn fixed<'py>(py: Python<'py>, values: Vec<f64>, shape: &[usize]) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let array = array(py, values, shape)?;
    drop(array.readwrite().make_nonwriteable());
    Ok(array)
}
