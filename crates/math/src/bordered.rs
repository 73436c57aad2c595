//! Rows and columns inserted into a factored system without factoring it again, theory (12.12)-(12.18).
//!
//! [`Border`] works on any [`Factor`] and allocates nothing once warm: the road of the engine, one contact at a time. [`InsertedFactor`]
//! and [`Inserted`] own what they need: matrices in, solutions out.

use crate::ldl::{Factor, LdlError, Reach};
use std::fmt;

pub mod corner;
mod inserted;
pub mod paths;
#[cfg(test)]
mod tests;

use corner::Corner;
pub use inserted::{Bordered, Inserted, InsertedFactor};

/// Which of the two factors the inserted blocks are written in; the solutions are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A = L D L', L with ones on its diagonal, theory (12.16)-(12.17).
    #[default]
    Ldl,
    /// A = G G', G = L D^(1/2): needs positive pivots, theory (12.13)-(12.15).
    Cholesky,
}

/// Why rows were not inserted or a system was not solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BorderError {
    /// The matrix was not factored.
    Factor(LdlError),
    /// The matrix is not positive definite: this pivot is not positive.
    NotPositive {
        /// Row, in the numbering of the matrix.
        row: usize,
        /// Its pivot.
        pivot: f64,
    },
    /// A dense matrix is not symmetric at this entry.
    NotSymmetric {
        /// Row.
        row: usize,
        /// Column.
        column: usize,
    },
    /// An entry lies outside the matrix, or above its diagonal where the lower triangle is asked for.
    OutsideTriangle {
        /// Row.
        row: usize,
        /// Column.
        column: usize,
    },
    /// An argument has the wrong number of values.
    WrongLength {
        /// Values given.
        found: usize,
        /// Values wanted.
        wanted: usize,
    },
    /// An inserted row touches a node that the factor does not have.
    NoSuchNode {
        /// The node.
        node: usize,
    },
    /// What remains of the corner is singular: an inserted row depends on those of the matrix, or on its fellows.
    SingularCorner {
        /// Step of the elimination at which no usable pivot was left.
        row: usize,
    },
    /// What remains of the corner is not positive: some impulse along the inserted columns moves the rows against itself.
    NegativeCorner {
        /// Row of the corner whose pivot is not positive.
        row: usize,
    },
    /// A value of the inserted rows is not finite.
    NotFinite,
}

impl fmt::Display for BorderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            BorderError::Factor(error) => error.fmt(f),
            BorderError::NotPositive { row, pivot } => write!(f, "the matrix is not positive definite: pivot {pivot:e} at row {row}"),
            BorderError::NotSymmetric { row, column } => write!(f, "the matrix is not symmetric at ({row}, {column})"),
            BorderError::OutsideTriangle { row, column } => write!(f, "entry ({row}, {column}) lies outside the lower triangle"),
            BorderError::WrongLength { found, wanted } => write!(f, "{found} values were given where {wanted} are needed"),
            BorderError::NoSuchNode { node } => write!(f, "the factor has no node {node}"),
            BorderError::SingularCorner { row } => write!(f, "inserted row {row} depends on the others: the corner is singular"),
            BorderError::NegativeCorner { row } => write!(f, "the corner is not positive at inserted row {row}"),
            BorderError::NotFinite => write!(f, "an inserted value is not finite"),
        }
    }
}

impl std::error::Error for BorderError {}

impl From<LdlError> for BorderError {
    fn from(error: LdlError) -> Self {
        BorderError::Factor(error)
    }
}

/// The blocks that a few inserted rows and columns add to a factor; scratch is kept between insertions.
#[derive(Clone, Debug, Default)]
pub struct Border {
    form: Form,
    /// Inserted rows, and rows of the matrix.
    count: usize,
    rows: usize,
    reach: Reach,
    /// Scalar rows of the reach: U and V are zero elsewhere.
    touched: Vec<usize>,
    /// U and V, one vector of `rows` numbers for each inserted column or row.
    u: Vec<f64>,
    v: Vec<f64>,
    corner: Corner,
}

impl Border {
    /// An empty border that will use the given form of the factor.
    pub fn new(form: Form) -> Self {
        Border { form, ..Border::default() }
    }

    /// Number of inserted rows.
    pub fn count(&self) -> usize {
        self.count
    }
    /// What remains of the corner, D_22 = A_22 - A_21' A^-1 A_12, count x count by rows: how the inserted rows answer their own
    /// impulses when the rows of the matrix hold, theory (12.14).
    pub fn remainder(&self) -> &[f64] {
        self.corner.matrix()
    }
    /// How many scalar rows of the matrix the inserted ones reach.
    pub fn touched(&self) -> usize {
        self.touched.len()
    }

    /// Inserts rows and columns that are zero outside `nodes`, and factors the corner.
    ///
    /// `columns` (A_12) and `rows` (A_21) hold only the scalar rows of `nodes`, in that order, each with `count` numbers; `corner`
    /// (A_22) is count x count by rows. Costs the paths from `nodes` to their roots, not the size of the matrix.
    pub fn insert(
        &mut self,
        factor: &Factor,
        nodes: &[usize],
        columns: &[f64],
        rows: &[f64],
        corner: &[f64],
        count: usize,
    ) -> Result<(), BorderError> {
        self.project(factor, nodes, columns, rows, corner, count)?;
        self.corner.factor()
    }

    /// The same without factoring the corner, which may then be singular: for callers that judge [`Border::remainder`] themselves.
    pub fn project(
        &mut self,
        factor: &Factor,
        nodes: &[usize],
        columns: &[f64],
        rows: &[f64],
        corner: &[f64],
        count: usize,
    ) -> Result<(), BorderError> {
        self.check(factor, nodes, columns, rows, corner, count)?;
        self.clear(factor.symbolic().pattern().rows(), count);
        let symmetric = columns == rows;
        self.halve(factor, nodes, columns, false);
        if symmetric {
            self.v.copy_from_slice(&self.u);
        } else {
            self.halve(factor, nodes, rows, true);
        }
        self.reach.find(factor.symbolic(), nodes);
        self.list_touched(factor);
        let n = self.rows;
        self.corner.load(corner, count);

        // (12.14) and (12.16): V' U of the Cholesky form and V' D U of the other are both (L^-1 A_21)' D^-1 (L^-1 A_12).
        for i in 0..count {
            for j in 0..count {
                let product = factor.weighted_dot(&self.reach, &self.v[i * n..(i + 1) * n], &self.u[j * n..(j + 1) * n]);
                self.corner.subtract(i, j, product);
            }
        }
        for vector in self.u.chunks_exact_mut(n.max(1)).chain(self.v.chunks_exact_mut(n.max(1))) {
            match self.form {
                Form::Ldl => factor.divide_sparse(&self.reach, vector),
                Form::Cholesky => divide_by_root(factor, self.reach.nodes(factor.symbolic()), vector)?,
            }
        }
        if self.corner.is_finite() { Ok(()) } else { Err(BorderError::NotFinite) }
    }

    /// Refuses a corner whose symmetric part is not positive definite: a sliding column that pulls its own row down (theory (12.18)).
    pub fn require_positive(&mut self) -> Result<(), BorderError> {
        self.corner.require_positive()
    }

    /// Solves the bordered system in place: (b1, b2) becomes (x1, x2), theory (12.15) or (12.17). Needs a successful
    /// [`Border::insert`] on this factor.
    pub fn solve(&self, factor: &Factor, b1: &mut [f64], b2: &mut [f64]) -> Result<(), BorderError> {
        self.reduce(factor, b1, b2)?;
        self.corner.solve(b2);
        self.finish(factor, b1, b2)
    }

    /// The first half: b1 becomes y1, and b2 becomes y2 = b2 - V' y1, what the inserted rows still lack once the others hold.
    pub fn reduce(&self, factor: &Factor, b1: &mut [f64], b2: &mut [f64]) -> Result<(), BorderError> {
        wanted(b1.len(), self.rows)?;
        wanted(b2.len(), self.count)?;
        factor.forward(b1);
        if self.form == Form::Cholesky {
            divide_by_root(factor, 0..factor.symbolic().pattern().nodes(), b1)?;
        }
        for (value, v) in b2.iter_mut().zip(self.v.chunks_exact(self.rows.max(1))) {
            for &row in &self.touched {
                *value -= v[row] * b1[row];
            }
        }
        Ok(())
    }

    /// The second half: y1 becomes x1, given x2.
    pub fn finish(&self, factor: &Factor, y1: &mut [f64], x2: &[f64]) -> Result<(), BorderError> {
        wanted(y1.len(), self.rows)?;
        wanted(x2.len(), self.count)?;
        if self.form == Form::Ldl {
            factor.divide(y1);
        }
        for (value, u) in x2.iter().zip(self.u.chunks_exact(self.rows.max(1))) {
            for &row in &self.touched {
                y1[row] -= u[row] * value;
            }
        }
        if self.form == Form::Cholesky {
            divide_by_root(factor, 0..factor.symbolic().pattern().nodes(), y1)?;
        }
        factor.backward(y1);
        Ok(())
    }

    fn check(
        &self,
        factor: &Factor,
        nodes: &[usize],
        columns: &[f64],
        rows: &[f64],
        corner: &[f64],
        count: usize,
    ) -> Result<(), BorderError> {
        let pattern = factor.symbolic().pattern();
        if let Some(&node) = nodes.iter().find(|&&node| node >= pattern.nodes()) {
            return Err(BorderError::NoSuchNode { node });
        }
        let packed: usize = nodes.iter().map(|&node| pattern.size(node)).sum();
        wanted(columns.len(), packed * count)?;
        wanted(rows.len(), packed * count)?;
        wanted(corner.len(), count * count)
    }

    /// Zero vectors of the right size; what the last insertion left is cleared where it was, not everywhere.
    fn clear(&mut self, rows: usize, count: usize) {
        for vector in self.u.chunks_exact_mut(self.rows.max(1)).chain(self.v.chunks_exact_mut(self.rows.max(1))) {
            for &row in &self.touched {
                vector[row] = 0.0;
            }
        }
        self.touched.clear();
        (self.rows, self.count) = (rows, count);
        self.u.resize(rows * count, 0.0);
        self.v.resize(rows * count, 0.0);
    }

    /// L^-1 times the inserted columns (or rows), along the elimination tree only.
    fn halve(&mut self, factor: &Factor, nodes: &[usize], packed: &[f64], transposed: bool) {
        let pattern = factor.symbolic().pattern();
        let (n, count) = (self.rows, self.count);
        let vectors = if transposed { &mut self.v } else { &mut self.u };
        for (k, vector) in vectors.chunks_exact_mut(n.max(1)).enumerate() {
            let mut at = k;
            for &node in nodes {
                for row in pattern.start(node)..pattern.start(node) + pattern.size(node) {
                    vector[row] += packed[at];
                    at += count;
                }
            }
            factor.forward_sparse(nodes, vector, &mut self.reach);
        }
    }

    fn list_touched(&mut self, factor: &Factor) {
        let symbolic = factor.symbolic();
        for node in self.reach.nodes(symbolic) {
            let start = symbolic.pattern().start(node);
            self.touched.extend(start..start + symbolic.pattern().size(node));
        }
    }
}

/// x := D^(-1/2) x on these nodes.
fn divide_by_root(factor: &Factor, nodes: impl Iterator<Item = usize>, x: &mut [f64]) -> Result<(), BorderError> {
    let pattern = factor.symbolic().pattern();
    for node in nodes {
        for r in 0..pattern.size(node) {
            let (row, pivot) = (pattern.start(node) + r, factor.pivot(node, r));
            if pivot <= 0.0 || pivot.is_nan() {
                return Err(BorderError::NotPositive { row, pivot });
            }
            x[row] /= pivot.sqrt();
        }
    }
    Ok(())
}

/// An error where there are more or fewer values than are needed.
pub fn wanted(found: usize, wanted: usize) -> Result<(), BorderError> {
    if found == wanted { Ok(()) } else { Err(BorderError::WrongLength { found, wanted }) }
}
