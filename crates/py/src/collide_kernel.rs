//! Collisions at one point on arrays: many at once, their paths and their derivatives.

use crate::arrays::{Flat, array, flat};
use crate::error::{Raise, SolveError};
use carom_math::{Planar, Space, Spatial, Vector};
use carom_solve::collision::{
    self, Adjoint, BodyCotangents, CollisionLaw, PathPoint, Side, SideCotangents, Status, Terms, Way, collide_under, differentiate_bodies,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

type Dict<'py> = PyResult<Bound<'py, PyDict>>;

/// One side of many collisions, one row each: mass (infinite is immovable), inertia by rows, arm, velocity, spin.
type RawSides<'py> = (Flat<'py>, Flat<'py>, Flat<'py>, Flat<'py>, Flat<'py>);

/// Many sides in plain numbers.
struct Sides {
    mass: Vec<f64>,
    inertia: Vec<f64>,
    arm: Vec<f64>,
    velocity: Vec<f64>,
    spin: Vec<f64>,
}

impl Sides {
    fn new(raw: &RawSides<'_>) -> PyResult<Self> {
        Ok(Sides { mass: flat(&raw.0)?, inertia: flat(&raw.1)?, arm: flat(&raw.2)?, velocity: flat(&raw.3)?, spin: flat(&raw.4)? })
    }

    fn at<S: Space>(&self, i: usize) -> Side<S> {
        let lin = |x: &[f64]| S::Lin::from_slice(&x[i * S::DIM..(i + 1) * S::DIM]);
        let spin = S::Ang::from_slice(&self.spin[i * S::ANG..(i + 1) * S::ANG]);
        let (arm, velocity) = (lin(&self.arm), lin(&self.velocity));
        if self.mass[i].is_infinite() {
            return Side::immovable(arm, velocity, spin);
        }
        let square = S::ANG * S::ANG;
        Side::body(self.mass[i], S::inertia_from_rows(&self.inertia[i * square..(i + 1) * square]), arm, velocity, spin)
    }
}

/// Collisions with what their derivatives need.
#[pyclass(frozen, module = "carom._carom")]
pub struct Collisions {
    a: Sides,
    b: Sides,
    normal: Vec<f64>,
    terms: Vec<Terms>,
    dimension: usize,
}

impl Collisions {
    fn normal<S: Space>(&self, i: usize) -> S::Lin {
        S::Lin::from_slice(&self.normal[i * S::DIM..(i + 1) * S::DIM])
    }
}

/// Collisions of two bodies at one point, one for each row: flat results, the labels, the paths where they are wanted, and the handle their
/// derivatives are taken from. `steps` is 0 for the adaptive way, otherwise the fixed steps.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn collide<'py>(
    py: Python<'py>,
    dimension: usize,
    a: RawSides<'py>,
    b: RawSides<'py>,
    normal: Flat<'py>,
    restitution: Flat<'py>,
    friction: Flat<'py>,
    tolerance: f64,
    law: &str,
    steps: usize,
    trace: bool,
) -> PyResult<(Bound<'py, PyDict>, Collisions)> {
    let law = CollisionLaw::ALL.into_iter().find(|l| l.label() == law).unwrap_or_default();
    let (restitution, friction) = (flat(&restitution)?, flat(&friction)?);
    let terms =
        restitution.iter().zip(&friction).map(|(&restitution, &friction)| Terms { friction, restitution, law, tolerance }).collect();
    let all = Collisions { a: Sides::new(&a)?, b: Sides::new(&b)?, normal: flat(&normal)?, terms, dimension };
    let way = if steps == 0 { Way::Adaptive } else { Way::Euler { steps } };
    let dict =
        if dimension == Planar::DIM { collide_in::<Planar>(py, &all, way, trace)? } else { collide_in::<Spatial>(py, &all, way, trace)? };
    Ok((dict, all))
}

/// Names a row in an error where there are several.
fn named(all: &Collisions, i: usize, error: collision::CollisionError) -> PyErr {
    if all.terms.len() == 1 { error.raise() } else { SolveError::new_err(format!("{error} (in row {i})")) }
}

fn collide_in<'py, S: Space>(py: Python<'py>, all: &Collisions, way: Way, trace: bool) -> Dict<'py> {
    let n = all.terms.len();
    let mut paths: Vec<Vec<PathPoint>> = Vec::new();
    let out = py
        .detach(|| {
            (0..n)
                .map(|i| {
                    let mut points = Vec::new();
                    let wanted = trace.then_some(&mut points);
                    let end = collide_under(&all.a.at::<S>(i), &all.b.at::<S>(i), all.normal::<S>(i), &all.terms[i], way, wanted);
                    if trace {
                        paths.push(points);
                    }
                    end.map_err(|error| (i, error))
                })
                .collect::<Result<Vec<_>, _>>()
        })
        .map_err(|(i, error)| named(all, i, error))?;
    let dict = PyDict::new(py);
    let rows = |width: usize, of: &dyn Fn(usize) -> Vec<f64>| array(py, (0..n).flat_map(of).collect(), &[n, width]);
    dict.set_item("velocity_a", rows(S::DIM, &|i| out[i].velocity_a.as_slice().to_vec())?)?;
    dict.set_item("spin_a", rows(S::ANG, &|i| out[i].spin_a.as_slice().to_vec())?)?;
    dict.set_item("velocity_b", rows(S::DIM, &|i| out[i].velocity_b.as_slice().to_vec())?)?;
    dict.set_item("spin_b", rows(S::ANG, &|i| out[i].spin_b.as_slice().to_vec())?)?;
    dict.set_item("impulse", rows(S::DIM, &|i| out[i].impulse.as_slice().to_vec())?)?;
    dict.set_item("work_compression", array(py, out.iter().map(|o| o.work_compression).collect(), &[n])?)?;
    dict.set_item("work_restitution", array(py, out.iter().map(|o| o.work_restitution).collect(), &[n])?)?;
    dict.set_item("phases", out.iter().map(|o| o.phases).collect::<Vec<_>>())?;
    dict.set_item("branch", out.iter().map(|o| o.branch.label()).collect::<Vec<_>>())?;
    dict.set_item("mode", out.iter().map(|o| o.mode.label()).collect::<Vec<_>>())?;
    let status = |s: Status| if s == Status::Resolved { "resolved" } else { "capped" };
    dict.set_item("status", out.iter().map(|o| status(o.status)).collect::<Vec<_>>())?;
    if trace {
        let drawn = paths.iter().map(|points| path(py, points, S::DIM)).collect::<PyResult<Vec<_>>>()?;
        dict.set_item("path", PyList::new(py, drawn)?)?;
    }
    Ok(dict)
}

/// A path in columns: impulse, velocity, both works, and the mode of each point.
#[allow(clippy::type_complexity)]
fn path<'py>(
    py: Python<'py>,
    points: &[PathPoint],
    dim: usize,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Vec<&'static str>)> {
    let n = points.len();
    Ok((
        array(py, points.iter().map(|p| p.impulse).collect(), &[n])?.into_any(),
        array(py, points.iter().flat_map(|p| p.velocity[..dim].to_vec()).collect(), &[n, dim])?.into_any(),
        array(py, points.iter().flat_map(|p| [p.work_compression, p.work_restitution]).collect(), &[n, 2])?.into_any(),
        points.iter().map(|p| p.mode.label()).collect(),
    ))
}

#[pymethods]
impl Collisions {
    /// Cotangents of every argument, one row for each collision, from those of the velocities and spins after it.
    fn backward<'py>(
        &self,
        py: Python<'py>,
        velocity_a: Flat<'py>,
        spin_a: Flat<'py>,
        velocity_b: Flat<'py>,
        spin_b: Flat<'py>,
    ) -> Dict<'py> {
        let bars = [flat(&velocity_a)?, flat(&spin_a)?, flat(&velocity_b)?, flat(&spin_b)?];
        if self.dimension == Planar::DIM { self.backward_in::<Planar>(py, &bars) } else { self.backward_in::<Spatial>(py, &bars) }
    }
}

impl Collisions {
    fn backward_in<'py, S: Space>(&self, py: Python<'py>, bars: &[Vec<f64>; 4]) -> Dict<'py> {
        let n = self.terms.len();
        let out: Vec<(Adjoint<S>, bool)> = py
            .detach(|| {
                (0..n)
                    .map(|i| {
                        let lin = |k: usize| S::Lin::from_slice(&bars[k][i * S::DIM..(i + 1) * S::DIM]);
                        let ang = |k: usize| S::Ang::from_slice(&bars[k][i * S::ANG..(i + 1) * S::ANG]);
                        let bar = BodyCotangents { velocity_a: lin(0), spin_a: ang(1), velocity_b: lin(2), spin_b: ang(3) };
                        let slope = differentiate_bodies(&self.a.at::<S>(i), &self.b.at::<S>(i), self.normal::<S>(i), &self.terms[i]);
                        slope.map(|s| (s.adjoint(&bar), s.switches().any())).map_err(|error| (i, error))
                    })
                    .collect::<Result<Vec<_>, _>>()
            })
            .map_err(|(i, error)| named(self, i, error))?;
        let dict = PyDict::new(py);
        let rows = |width: usize, of: &dyn Fn(usize) -> Vec<f64>| array(py, (0..n).flat_map(of).collect(), &[n, width]);
        type Part<S> = fn(&Adjoint<S>) -> &SideCotangents<S>;
        let sides: [(&str, Part<S>); 2] = [("a", |x| &x.a), ("b", |x| &x.b)];
        for (name, of) in sides {
            dict.set_item(format!("mass_{name}"), rows(1, &|i| vec![of(&out[i].0).mass])?)?;
            let inertia = |i: usize| of(&out[i].0).inertia[..S::ANG].iter().flat_map(|row| row[..S::ANG].to_vec()).collect::<Vec<_>>();
            dict.set_item(format!("inertia_{name}"), rows(S::ANG * S::ANG, &inertia)?)?;
            dict.set_item(format!("arm_{name}"), rows(S::DIM, &|i| of(&out[i].0).arm.as_slice().to_vec())?)?;
            dict.set_item(format!("velocity_{name}"), rows(S::DIM, &|i| of(&out[i].0).velocity.as_slice().to_vec())?)?;
            dict.set_item(format!("spin_{name}"), rows(S::ANG, &|i| of(&out[i].0).spin.as_slice().to_vec())?)?;
        }
        dict.set_item("normal", rows(S::DIM, &|i| out[i].0.normal.as_slice().to_vec())?)?;
        dict.set_item("restitution", rows(1, &|i| vec![out[i].0.restitution])?)?;
        dict.set_item("friction", rows(1, &|i| vec![out[i].0.friction])?)?;
        Ok(dict)
    }
}
