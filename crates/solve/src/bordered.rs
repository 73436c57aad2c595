//! Rows and columns inserted into a factored system without factoring it again, theory (12.11)-(12.17).
//!
//! [`Border`] works on any [`Factor`] and allocates nothing once warm: the road of the engine, one contact at a time. [`InsertedFactor`]
//! and [`Inserted`] own what they need: matrices in, solutions out.

use carom_math::block_sparse::{BlockSparse, Pattern};
use carom_math::ldl::{Factor, LdlError, Order, Pivots, Reach, Symbolic};
use std::fmt;
use std::sync::Arc;

pub mod contact;
pub mod corner;
#[cfg(test)]
mod tests;

use corner::Corner;

/// Two entries a_ij and a_ji of a dense matrix may differ by this part of sqrt(a_ii a_jj) and still count as one: the rounding of a
/// product J M^-1 J', with three digits to spare.
const SYMMETRY_TOLERANCE: f64 = 1e-12;

/// Which of the two factors the inserted blocks are written in; the solutions are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A = L D L', L with ones on its diagonal, theory (12.15)-(12.16).
    #[default]
    Ldl,
    /// A = G G', G = L D^(1/2): needs positive pivots, theory (12.12)-(12.14).
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
    /// impulses when the rows of the matrix hold, theory (12.13).
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
        &mut self, factor: &Factor, nodes: &[usize], columns: &[f64], rows: &[f64], corner: &[f64], count: usize,
    ) -> Result<(), BorderError> {
        self.project(factor, nodes, columns, rows, corner, count)?;
        self.corner.factor()
    }

    /// The same without factoring the corner, which may then be singular: for callers that judge [`Border::remainder`] themselves.
    pub fn project(
        &mut self, factor: &Factor, nodes: &[usize], columns: &[f64], rows: &[f64], corner: &[f64], count: usize,
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

        // (12.13) and (12.15): V' U of the Cholesky form and V' D U of the other are both (L^-1 A_21)' D^-1 (L^-1 A_12).
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

    /// Refuses a corner whose symmetric part is not positive definite: a sliding column that pulls its own row down (theory (12.17)).
    pub fn require_positive(&mut self) -> Result<(), BorderError> {
        self.corner.require_positive()
    }

    /// Solves the bordered system in place: (b1, b2) becomes (x1, x2), theory (12.14) or (12.16). Needs a successful
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
        &self, factor: &Factor, nodes: &[usize], columns: &[f64], rows: &[f64], corner: &[f64], count: usize,
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

fn wanted(found: usize, wanted: usize) -> Result<(), BorderError> {
    if found == wanted { Ok(()) } else { Err(BorderError::WrongLength { found, wanted }) }
}

/// A factored symmetric positive definite matrix into which rows and columns can be inserted.
///
/// ```
/// # use carom_solve::bordered::{Form, InsertedFactor};
/// # use carom_math::ldl::Order;
/// let factor = InsertedFactor::from_dense(2, &[4.0, 1.0, 1.0, 3.0], Order::MinimumDegree).unwrap();
/// let system = factor.insert(&[1.0, 0.0], &[0.0, 2.0], &[5.0], Form::Ldl).unwrap();
/// let x = system.solve(&[6.0, 4.0], &[7.0]).unwrap();       // [[4, 1, 1], [1, 3, 0], [0, 2, 5]] x = (6, 4, 7)
/// assert!(x.x1.iter().chain(&x.x2).all(|value| (value - 1.0).abs() < 1e-15));
/// ```
#[derive(Clone, Debug)]
pub struct InsertedFactor {
    matrix: Arc<BlockSparse>,
    factor: Arc<Factor>,
}

impl InsertedFactor {
    /// Factors an n x n matrix given by entries of its lower triangle, (row, column, value) with row >= column, in any order; repeated
    /// ones add.
    pub fn from_lower(n: usize, entries: &[(usize, usize, f64)], order: Order) -> Result<Self, BorderError> {
        if let Some(&(row, column, _)) = entries.iter().find(|&&(row, column, _)| row >= n || column > row) {
            return Err(BorderError::OutsideTriangle { row, column });
        }
        let edges: Vec<(usize, usize)> = entries.iter().map(|&(row, column, _)| (row, column)).collect();
        // Every entry is an edge of the pattern and every block is one number: neither call can refuse.
        let outside = |_| BorderError::OutsideTriangle { row: n, column: n };
        let pattern = Arc::new(Pattern::new(&vec![1; n], &edges).map_err(outside)?);
        let mut matrix = BlockSparse::new(Arc::clone(&pattern));
        for &(row, column, value) in entries {
            matrix.add_block(row, column, &[value]).map_err(outside)?;
        }
        let mut factor = Factor::new(Arc::new(Symbolic::analyse(&pattern, order)?));
        factor.factor(&matrix, Pivots::Strict)?;
        match (0..n).find(|&row| factor.pivot(row, 0) <= 0.0) {
            Some(row) => Err(BorderError::NotPositive { row, pivot: factor.pivot(row, 0) }),
            None => Ok(InsertedFactor { matrix: Arc::new(matrix), factor: Arc::new(factor) }),
        }
    }

    /// Factors an n x n matrix given whole, by rows; zeros off the diagonal are left out of its graph.
    pub fn from_dense(n: usize, matrix: &[f64], order: Order) -> Result<Self, BorderError> {
        wanted(matrix.len(), n * n)?;
        let mut entries = Vec::new();
        for row in 0..n {
            for column in 0..=row {
                let (lower, upper) = (matrix[row * n + column], matrix[column * n + row]);
                let scale = (matrix[row * n + row] * matrix[column * n + column]).abs().sqrt();
                if (lower - upper).abs() > SYMMETRY_TOLERANCE * scale {
                    return Err(BorderError::NotSymmetric { row, column });
                }
                if lower != 0.0 || row == column {
                    entries.push((row, column, lower));
                }
            }
        }
        Self::from_lower(n, &entries, order)
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.matrix.pattern().rows()
    }
    /// The order of elimination: `order()[k]` is the row eliminated at place k.
    pub fn order(&self) -> &[usize] {
        self.factor.symbolic().order()
    }
    /// The factor itself.
    pub fn factor(&self) -> &Factor {
        &self.factor
    }

    /// Solves A x = b.
    pub fn solve(&self, b: &[f64]) -> Result<Vec<f64>, BorderError> {
        wanted(b.len(), self.size())?;
        let mut x = b.to_vec();
        self.factor.solve(&mut x);
        Ok(x)
    }

    /// Inserts `a` rows and columns, a² numbers in `corner`: `columns` (n x a) is A_12, `rows` (n x a) is A_21, whose transpose is the
    /// new row block, `corner` (a x a) is A_22, all by rows.
    pub fn insert(&self, columns: &[f64], rows: &[f64], corner: &[f64], form: Form) -> Result<Inserted, BorderError> {
        let (n, count) = (self.size(), corner.len().isqrt());
        wanted(corner.len(), count * count)?;
        wanted(columns.len(), n * count)?;
        wanted(rows.len(), n * count)?;
        let filled = |row: usize| (row * count..(row + 1) * count).any(|at| columns[at] != 0.0 || rows[at] != 0.0);
        let nodes: Vec<usize> = (0..n).filter(|&row| filled(row)).collect();
        let pack = |dense: &[f64]| nodes.iter().flat_map(|&row| &dense[row * count..(row + 1) * count]).copied().collect::<Vec<f64>>();
        let (columns, rows) = (pack(columns), pack(rows));
        let mut border = Border::new(form);
        border.insert(&self.factor, &nodes, &columns, &rows, corner, count)?;
        Ok(Inserted { system: self.clone(), border, nodes, columns, rows, corner: corner.to_vec() })
    }
}

/// A factored matrix with inserted rows and columns.
#[derive(Clone, Debug)]
pub struct Inserted {
    system: InsertedFactor,
    border: Border,
    /// Rows of the matrix where the inserted columns or rows are not zero, and their values there.
    nodes: Vec<usize>,
    columns: Vec<f64>,
    rows: Vec<f64>,
    corner: Vec<f64>,
}

/// The solution of a bordered system.
#[derive(Clone, Debug, PartialEq)]
pub struct Bordered {
    /// Unknowns of the matrix, n, in its own numbering.
    pub x1: Vec<f64>,
    /// Unknowns of the inserted columns, a.
    pub x2: Vec<f64>,
    /// Largest |b - A x| over all n + a rows.
    pub residual: f64,
}

impl Inserted {
    /// The blocks behind it.
    pub fn border(&self) -> &Border {
        &self.border
    }

    /// Solves [[A, A_12], [A_21', A_22]] (x1, x2) = (b1, b2), without factoring and with one round of refinement.
    pub fn solve(&self, b1: &[f64], b2: &[f64]) -> Result<Bordered, BorderError> {
        let (mut x1, mut x2) = (b1.to_vec(), b2.to_vec());
        self.border.solve(&self.system.factor, &mut x1, &mut x2)?;
        let (mut r1, mut r2) = (vec![0.0; b1.len()], vec![0.0; b2.len()]);
        let residual = self.residual(b1, b2, &x1, &x2, &mut r1, &mut r2);
        self.border.solve(&self.system.factor, &mut r1, &mut r2)?;
        let refined1: Vec<f64> = x1.iter().zip(&r1).map(|(x, d)| x + d).collect();
        let refined2: Vec<f64> = x2.iter().zip(&r2).map(|(x, d)| x + d).collect();
        let refined = self.residual(b1, b2, &refined1, &refined2, &mut r1, &mut r2);
        Ok(if refined < residual {
            Bordered { x1: refined1, x2: refined2, residual: refined }
        } else {
            Bordered { x1, x2, residual }
        })
    }

    /// r = b - A x of the whole system; returns the largest |r|.
    fn residual(&self, b1: &[f64], b2: &[f64], x1: &[f64], x2: &[f64], r1: &mut [f64], r2: &mut [f64]) -> f64 {
        let count = x2.len();
        self.system.matrix.residual(b1, x1, r1);
        r2.copy_from_slice(b2);
        for (place, &row) in self.nodes.iter().enumerate() {
            for k in 0..count {
                r1[row] -= self.columns[place * count + k] * x2[k];
                r2[k] -= self.rows[place * count + k] * x1[row];
            }
        }
        for i in 0..count {
            for j in 0..count {
                r2[i] -= self.corner[i * count + j] * x2[j];
            }
        }
        // `max` would pass over a NaN; a sum does not.
        let all = || r1.iter().chain(r2.iter());
        if all().sum::<f64>().is_nan() { f64::INFINITY } else { all().fold(0.0, |worst, r| worst.max(r.abs())) }
    }
}
