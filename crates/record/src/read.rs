//! Trajectories read back from any of the files a run writes, and from tables that people measured.

use crate::columns::{coordinates, velocities};
use crate::error::RecordError;
use crate::export::Format;
use crate::replay::{Log, Trajectory};
use crate::trajectory::Header;
use crate::{csv, npz};
use carom_math::{Planar, Space, Spatial};
use std::collections::BTreeMap;
use std::path::Path;

/// Endings of the files that can be read back.
const READABLE: &[&str] = &[
    ".caromlog",
    ".csv",
    ".npz",
    #[cfg(feature = "parquet")]
    ".parquet",
];

/// Reads a trajectory in the format its ending names; `.mcap` is written only.
///
/// A table (`.csv`, `.parquet`) needs the columns `time` and `body`; of the others (`x`, `y`, `angle`, `vx`, ...) it may have any, and not
/// every body must stand in every frame: what is not there is NaN. A column `z` or a quaternion makes it spatial. Tables and `.npz`
/// files know neither the scene nor the step, so those are empty in the header.
///
/// # Errors
/// The file cannot be read, or is not what its ending says; tables say at which line.
pub fn read(path: &Path) -> Result<Trajectory, RecordError> {
    let unreadable = || RecordError::Format { path: path.to_path_buf(), allowed: READABLE };
    match Format::of(path).map_err(|_| unreadable())? {
        Format::Log => Log::open(path)?.trajectory(),
        Format::Csv => csv::read(path),
        Format::Npz => npz::read(path),
        Format::Mcap => Err(unreadable()),
        #[cfg(feature = "parquet")]
        Format::Parquet => crate::parquet::read(path),
    }
}

/// The header of a file that knows only its bodies.
pub(crate) fn header(dimension: usize, bodies: Vec<String>) -> Header {
    Header { dimension, step: 0.0, steps_wanted: 0, name: String::new(), scene: String::new(), bodies }
}

/// Rows of a table, gathered into frames.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Where each column of the table goes: among q and v of a body; `None` for columns that mean nothing here.
    places: Vec<Option<usize>>,
    time: usize,
    body: usize,
    dimension: usize,
    names: Vec<String>,
    index: BTreeMap<String, usize>,
    times: Vec<f64>,
    cells: Vec<(usize, usize, Vec<f64>)>,
}

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Nothing.
    Empty,
}

impl Rows {
    /// Rows under these column names; says what is missing.
    pub fn new<'a>(columns: impl Iterator<Item = &'a str> + Clone) -> Result<Self, String> {
        let find = |name: &str| columns.clone().position(|c| c == name);
        let (Some(time), Some(body)) = (find("time"), find("body")) else {
            let found: Vec<&str> = columns.collect();
            return Err(format!("found columns {}, needs \"time\" and \"body\"", found.join(", ")));
        };
        // What only a body in space has.
        let spatial = coordinates(Spatial::DIM)
            .iter()
            .chain(velocities(Spatial::DIM))
            .filter(|c| !coordinates(Planar::DIM).contains(c) && !velocities(Planar::DIM).contains(c));
        let dimension = if spatial.clone().any(|c| find(c).is_some()) { Spatial::DIM } else { Planar::DIM };
        let known: Vec<&str> = coordinates(dimension).iter().chain(velocities(dimension)).copied().collect();
        let places: Vec<Option<usize>> = columns.clone().map(|c| known.iter().position(|k| *k == c)).collect();
        if places.iter().all(Option::is_none) {
            return Err(format!("no column to compare: needs some of {}", known.join(", ")));
        }
        let (names, index) = (Vec::new(), BTreeMap::new());
        Ok(Rows { places, time, body, dimension, names, index, times: Vec::new(), cells: Vec::new() })
    }

    /// Adds a row; says what is wrong with it.
    pub fn push(&mut self, row: &[Cell]) -> Result<(), String> {
        let time = match row.get(self.time) {
            Some(Cell::Number(t)) if t.is_finite() => *t,
            other => return Err(format!("time: {}, needs a number of seconds", found(other))),
        };
        let name = match row.get(self.body) {
            Some(Cell::Text(name)) => name.clone(),
            Some(Cell::Number(x)) => x.to_string(),
            other => return Err(format!("body: {}, needs a name", found(other))),
        };
        match self.times.last() {
            Some(last) if *last > time => return Err(format!("time {time} s comes after {last} s: rows must be in the order of time")),
            Some(last) if *last == time => {}
            _ => self.times.push(time),
        }
        let body = *self.index.entry(name.clone()).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        let width = coordinates(self.dimension).len() + velocities(self.dimension).len();
        let mut numbers = vec![f64::NAN; width];
        for (place, cell) in self.places.iter().zip(row) {
            let Some(place) = place else { continue };
            match cell {
                Cell::Number(x) => numbers[*place] = *x,
                Cell::Empty => {}
                Cell::Text(text) => return Err(format!("found \"{text}\", needs a number")),
            }
        }
        self.cells.push((self.times.len() - 1, body, numbers));
        Ok(())
    }

    /// All rows as frames.
    pub fn finish(self) -> Trajectory {
        let (coords, dof) = (coordinates(self.dimension).len(), velocities(self.dimension).len());
        let (frames, bodies) = (self.times.len(), self.names.len());
        let mut q = vec![f64::NAN; frames * bodies * coords];
        let mut v = vec![f64::NAN; frames * bodies * dof];
        for (frame, body, numbers) in &self.cells {
            let row = frame * bodies + body;
            q[row * coords..(row + 1) * coords].copy_from_slice(&numbers[..coords]);
            v[row * dof..(row + 1) * dof].copy_from_slice(&numbers[coords..]);
        }
        let header = header(self.dimension, self.names);
        Trajectory { header, energy: vec![f64::NAN; frames], contacts: vec![0; frames], time: self.times, q, v }
    }
}

fn found(cell: Option<&Cell>) -> String {
    match cell {
        Some(Cell::Number(x)) => format!("found {x}"),
        Some(Cell::Text(text)) => format!("found \"{text}\""),
        Some(Cell::Empty) | None => "missing".to_string(),
    }
}
