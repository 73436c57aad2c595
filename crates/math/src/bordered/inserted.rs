//! A bordered system that owns what it needs: matrices in, solutions and residuals out, theory (12.12).

use super::{Border, BorderError, Form, wanted};
use crate::block_sparse::{BlockSparse, Pattern};
use crate::ldl::{Factor, Order, Pivots, Symbolic};
use std::sync::Arc;

/// Two entries a_ij and a_ji of a dense matrix may differ by this part of sqrt(a_ii a_jj) and still count as one: the rounding of a
/// product J M^-1 J', with three digits to spare.
const SYMMETRY_TOLERANCE: f64 = 1e-12;

/// A factored symmetric positive definite matrix into which rows and columns can be inserted.
///
/// ```
/// # use carom_math::bordered::{Form, InsertedFactor};
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
        Ok(if refined < residual { Bordered { x1: refined1, x2: refined2, residual: refined } } else { Bordered { x1, x2, residual } })
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
