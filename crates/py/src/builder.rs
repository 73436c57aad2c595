//! Scenes built by calls: the builder of the engine, with places of Python.

use crate::engine::open;
use crate::error::{Raise, SceneError};
use crate::worlds::Worlds;
use carom_import::{Format, Included, Options, load_as, load_scene};
use carom_scene::builder::{Part, Place};
use carom_scene::{Placement, SceneBuilder, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::path::PathBuf;

/// Tables within tables within lists, at most.
const DEPTH: usize = 8;

/// Keys and their values, in the order in which they were given.
type Keys = Vec<(String, Value)>;

/// A value of Python as one of a scene.
fn value(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH {
        return Err(SceneError::new_err(format!("a value is nested deeper than {DEPTH} lists or tables")));
    }
    if let Ok(x) = object.cast::<PyBool>() {
        return Ok(Value::Flag(x.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        // Whole numbers too large for one are numbers all the same.
        return object.extract::<i64>().map(Value::Whole).or_else(|_| object.extract::<f64>().map(Value::Number));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Value::Number(object.extract()?));
    }
    if object.is_instance_of::<PyString>() {
        return Ok(Value::Text(object.extract()?));
    }
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(Value::List(list.iter().map(|x| value(&x, depth + 1)).collect::<PyResult<_>>()?));
    }
    if let Ok(list) = object.cast::<PyTuple>() {
        return Ok(Value::List(list.iter().map(|x| value(&x, depth + 1)).collect::<PyResult<_>>()?));
    }
    if let Ok(table) = object.cast::<PyDict>() {
        return Ok(Value::Table(keys(table, depth + 1)?));
    }
    Err(SceneError::new_err(format!("needs a number, a word, a list or a table, found {}", object.get_type().name()?)))
}

fn keys(table: &Bound<'_, PyDict>, depth: usize) -> PyResult<Keys> {
    let one = |(key, object): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<(String, Value)> {
        let key: String = key.extract().map_err(|_| SceneError::new_err("keys of a table are strings"))?;
        let value = value(&object, depth).map_err(|error| SceneError::new_err(format!("{key}: {}", error.value(table.py()))))?;
        Ok((key, value))
    };
    table.iter().map(one).collect()
}

/// A scene in the making.
#[pyclass(module = "carom._carom")]
pub struct Builder(SceneBuilder);

#[pymethods]
impl Builder {
    #[new]
    fn new(dimension: usize) -> Self {
        Builder(SceneBuilder::new(dimension))
    }
    /// A call for a table: file and line of the caller, the table (`top`, `material`, `body`, ...), its name if it has one, its keys.
    fn call(&mut self, file: String, line: usize, table: &str, name: &str, given: &Bound<'_, PyDict>) -> PyResult<()> {
        let given = keys(given, 0)?;
        let borrowed: Vec<(&str, Value)> = given.iter().map(|(key, value)| (&**key, value.clone())).collect();
        let place = Place { file, line, column: 1 };
        let part = match table {
            "top" => {
                for (key, value) in &borrowed {
                    self.0.top_at(key, value, place.clone()).map_err(Raise::raise)?;
                }
                return Ok(());
            }
            "material" => return self.0.material_at(name, &borrowed, place).map(|_| ()).map_err(Raise::raise),
            "body" => Part::Body,
            "joint" => Part::Joint,
            "pair" => Part::Pair,
            "force" => Part::Force,
            "point" => Part::Point,
            _ => Part::Repeat,
        };
        self.0.part_at(part, &borrowed, place).map(|_| ()).map_err(Raise::raise)
    }
    /// Another scene: a scene file, or a URDF or MJCF model by its ending; what of a model was left out.
    #[allow(clippy::too_many_arguments)] // one call for Python
    fn add(
        &mut self,
        py: Python<'_>,
        file: String,
        line: usize,
        path: PathBuf,
        name: Option<String>,
        position: Vec<f64>,
        rotation: Vec<f64>,
    ) -> PyResult<Vec<String>> {
        let (scene, notes) = match Format::of(&path) {
            Some(format) => {
                let import = py.detach(|| load_as(path, format, &Options::default()));
                let import = import.map_err(|errors| SceneError::new_err(errors.to_string()))?;
                (import.scene, import.notes.iter().map(ToString::to_string).collect())
            }
            None => {
                let import = py.detach(|| load_scene(path)).map_err(|errors| errors.into_first().raise())?;
                (import.scene, import.notes.iter().map(ToString::to_string).collect())
            }
        };
        let place = Place { file, line, column: 1 };
        self.0.add_at(&scene, name.as_deref(), &Placement { position, rotation }, place).map_err(Raise::raise)?;
        Ok(notes)
    }
    /// The scene as a file would say it.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }
    /// The scene as a world, and what was left out of the models it includes.
    fn world(&self) -> PyResult<(Worlds, Vec<String>)> {
        let mut models = Included::default();
        let scene = self.0.build_with(&mut models).map_err(Raise::raise)?;
        let notes = models.notes.iter().map(ToString::to_string).collect();
        Ok((open(scene).map(Worlds::one).map_err(Raise::raise)?, notes))
    }
    /// The same calls once more.
    fn copy(&self) -> Self {
        Builder(self.0.clone())
    }
}
