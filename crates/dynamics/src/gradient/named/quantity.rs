//! The array of one name: rows, values, and the sparse matrix from its entries to the flat parameters.

use super::error::NameError;
use crate::model::{BodyKind, Model};
use carom_geometry::Geometry;

/// What a row of an array belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The whole scene.
    Scene,
    /// A body.
    Body(usize),
    /// A joint.
    Joint(usize),
    /// A pair rule.
    Pair(usize),
    /// A force.
    Force(usize),
    /// A shape of a body.
    Shape(usize, usize),
    /// A vertex of a shape of a body.
    Vertex(usize, usize, usize),
}

impl Row {
    /// Its name for people: of the body, of the joint, `a+b` of a pair, `body/1` of the second of several shapes.
    pub fn label<G: Geometry>(&self, model: &Model<G>) -> String {
        let body = |b: usize| model.bodies[b].name.clone();
        let shape = |b: usize, c: usize| if model.bodies[b].colliders.len() > 1 { format!("{}/{c}", body(b)) } else { body(b) };
        match *self {
            Row::Scene => String::new(),
            Row::Body(b) => body(b),
            Row::Joint(j) => model.joints[j].name.clone(),
            Row::Pair(p) => model.pairs[p].bodies.map(body).join("+"),
            Row::Force(f) => f.to_string(),
            Row::Shape(b, c) => shape(b, c),
            Row::Vertex(b, c, v) => format!("{}/{v}", shape(b, c)),
        }
    }

    /// Whether a word means this row: its label, or the body of a shape.
    pub fn is_called<G: Geometry>(&self, model: &Model<G>, word: &str) -> bool {
        match *self {
            Row::Shape(b, _) | Row::Vertex(b, _, _) if model.bodies[b].name == word => true,
            Row::Vertex(b, c, _) if Row::Shape(b, c).label(model) == word => true,
            _ => self.label(model) == word,
        }
    }
}

/// The array of a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its shape; empty for a single number.
    pub shape: Vec<usize>,
    /// What each row belongs to.
    pub rows: Vec<Row>,
    /// Names of the entries of a row: `x`, `y`; one empty name where a row is a number.
    pub components: Vec<&'static str>,
    /// Rows times components numbers.
    pub values: Vec<f64>,
    /// Where the terms of each entry start.
    starts: Vec<usize>,
    /// (slot of the flat vector, its change per change of the entry).
    terms: Vec<(usize, f64)>,
}

/// Names of the coordinates.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Names of the components of a vector.
pub(super) fn axes(dimension: usize) -> Vec<&'static str> {
    AXES[..dimension].to_vec()
}

impl Quantity {
    /// An array without rows; `inner` is the shape of one.
    pub(super) fn new(components: Vec<&'static str>, inner: &[usize]) -> Self {
        let mut shape = vec![0];
        shape.extend_from_slice(inner);
        Quantity { shape, rows: Vec::new(), components, values: Vec::new(), starts: Vec::new(), terms: Vec::new() }
    }
    /// A column of numbers.
    pub(super) fn numbers() -> Self {
        Quantity::new(vec![""], &[])
    }
    /// A column of vectors.
    pub(super) fn vectors(dimension: usize) -> Self {
        Quantity::new(axes(dimension), &[dimension])
    }
    /// Appends a row; its entries follow.
    pub(super) fn row(&mut self, row: Row) {
        self.rows.push(row);
        self.shape[0] += 1;
    }
    /// Appends an entry and the slots it moves.
    pub(super) fn entry(&mut self, value: f64, terms: impl IntoIterator<Item = (usize, f64)>) {
        self.values.push(value);
        self.starts.push(self.terms.len());
        self.terms.extend(terms.into_iter().filter(|(_, weight)| *weight != 0.0));
    }
    /// The one row of a scene's array stands without the axis of rows.
    pub(super) fn single(mut self) -> Self {
        self.shape.remove(0);
        self
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.values.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    /// The slots of the flat vector that an entry moves, each with its change per change of the entry.
    pub fn terms(&self, entry: usize) -> &[(usize, f64)] {
        let end = self.starts.get(entry + 1).copied().unwrap_or(self.terms.len());
        &self.terms[self.starts[entry]..end]
    }
    /// The gradient with respect to the entries, from that by the flat parameters.
    pub fn gradient(&self, parameters: &[f64]) -> Vec<f64> {
        (0..self.len()).map(|entry| self.terms(entry).iter().map(|(slot, weight)| weight * parameters[*slot]).sum()).collect()
    }
    /// Adds to a direction of the flat parameters that of changes of the entries.
    pub fn direction(&self, changes: &[f64], out: &mut [f64]) {
        for (entry, change) in changes.iter().enumerate() {
            for (slot, weight) in self.terms(entry) {
                out[*slot] += weight * change;
            }
        }
    }
    /// The row and the component name of an entry.
    pub fn place(&self, entry: usize) -> (Row, &'static str) {
        let width = self.components.len();
        (self.rows[entry / width], self.components[entry % width])
    }
}

/// An array about to be set.
pub(super) struct Change<'a> {
    /// Name.
    pub key: &'a str,
    /// As it is.
    pub now: &'a Quantity,
    /// As it shall be.
    pub values: &'a [f64],
}

impl Change<'_> {
    /// An error about a row.
    pub fn fault<G: Geometry>(&self, model: &Model<G>, row: Row, message: impl Into<String>) -> NameError {
        NameError::Value { key: self.key.to_string(), row: row.label(model), message: message.into() }
    }
    /// Finite numbers, except where infinity stands already; nothing new for bodies that do not obey forces.
    pub fn check_numbers<G: Geometry>(&self, model: &Model<G>) -> Result<(), NameError> {
        for (entry, (&old, &new)) in self.now.values.iter().zip(self.values).enumerate() {
            let row = self.now.place(entry).0;
            if old.is_infinite() && new == old {
                continue;
            }
            if !new.is_finite() {
                return Err(self.fault(model, row, format!("found {new}, needs a finite number")));
            }
            if let (Row::Body(b), "mass" | "inertia" | "centre") = (row, self.key)
                && model.bodies[b].kind != BodyKind::Dynamic
                && new != old
            {
                return Err(self.fault(model, row, format!("found {new}, but only dynamic bodies have one; leave it at {old}")));
            }
        }
        Ok(())
    }
    /// Rows that change: the row, its old and its new numbers.
    pub fn rows(&self) -> impl Iterator<Item = (Row, &[f64], &[f64])> {
        let width = self.now.components.len();
        let old = self.now.values.chunks_exact(width);
        let rows = self.now.rows.iter().zip(old.zip(self.values.chunks_exact(width)));
        rows.map(|(row, (old, new))| (*row, old, new)).filter(|(_, old, new)| old != new)
    }
}
