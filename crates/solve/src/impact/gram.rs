//! The Gram matrix of contact rows, normalised to a unit diagonal and stored by its nonzeros: contacts couple only through shared bodies.

use super::ImpactError;
use super::roots::Roots;
use super::rows::SparseRows;

/// A symmetric Gram matrix as the caller holds it.
#[derive(Clone, Copy, Debug)]
pub enum GramView<'a> {
    /// All entries, row by row.
    Dense(&'a [f64]),
    /// Compressed rows: entries of row i are `starts[i]..starts[i + 1]`, columns ascending, both triangles.
    Sparse {
        /// Row boundaries (n + 1).
        starts: &'a [usize],
        /// Column of each entry.
        columns: &'a [usize],
        /// Value of each entry.
        values: &'a [f64],
    },
}

impl<'a> From<&'a [f64]> for GramView<'a> {
    fn from(entries: &'a [f64]) -> Self {
        Self::Dense(entries)
    }
}

impl GramView<'_> {
    /// Refuses a matrix that is not n by n, not finite or has a negative diagonal.
    pub(super) fn check(&self, n: usize) -> Result<(), ImpactError> {
        let values = match *self {
            Self::Dense(entries) => {
                if entries.len() != n * n {
                    return Err(ImpactError::Shape { what: "gram", found: entries.len(), expected: n * n });
                }
                entries
            }
            Self::Sparse { starts, columns, values } => {
                if starts.len() != n + 1 {
                    return Err(ImpactError::Shape { what: "gram row starts", found: starts.len(), expected: n + 1 });
                }
                if starts[n] != values.len() || columns.len() != values.len() {
                    return Err(ImpactError::Shape { what: "gram values", found: values.len(), expected: starts[n] });
                }
                if starts[0] != 0 || starts.windows(2).any(|w| w[0] > w[1]) || columns.iter().any(|&j| j >= n) {
                    return Err(ImpactError::Range("gram structure"));
                }
                values
            }
        };
        if !values.iter().all(|a| a.is_finite()) {
            return Err(ImpactError::NotFinite("gram"));
        }
        if (0..n).any(|i| self.entry(n, i, i) < 0.0) {
            return Err(ImpactError::Range("gram diagonal"));
        }
        Ok(())
    }

    /// Entry (i, j) of the n by n matrix.
    pub fn entry(&self, n: usize, i: usize, j: usize) -> f64 {
        match *self {
            Self::Dense(entries) => entries[i * n + j],
            Self::Sparse { starts, columns, values } => (starts[i]..starts[i + 1]).find(|&k| columns[k] == j).map_or(0.0, |k| values[k]),
        }
    }

    /// Calls `visit(j, value)` for the nonzeros of row i of the n by n matrix, in ascending order.
    pub fn for_row(&self, n: usize, i: usize, mut visit: impl FnMut(usize, f64)) {
        match *self {
            Self::Dense(entries) => {
                for (j, &a) in entries[i * n..(i + 1) * n].iter().enumerate() {
                    if a != 0.0 {
                        visit(j, a);
                    }
                }
            }
            Self::Sparse { starts, columns, values } => {
                for k in starts[i]..starts[i + 1] {
                    visit(columns[k], values[k]);
                }
            }
        }
    }
}

/// The normalised Gram matrix: Â_ij = A_ij / √(A_ii A_jj), by compressed rows, with its connected groups of contacts.
///
/// Contacts that nothing can move (A_ii = 0) keep an empty row and take no part.
#[derive(Clone, Debug, Default)]
pub struct Gram {
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    inverse_scales: Vec<f64>,
    group: Vec<usize>,
    groups: usize,
    stack: Vec<usize>,
    roots: Roots,
}

impl Gram {
    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.inverse_scales.len()
    }

    /// Whether there is no contact.
    pub fn is_empty(&self) -> bool {
        self.inverse_scales.is_empty()
    }

    /// Loads the leading m by m block of a Gram matrix, normalising it.
    pub fn load(&mut self, view: &GramView<'_>, m: usize) {
        let n = match *view {
            GramView::Dense(entries) => square_side(entries.len(), m),
            GramView::Sparse { starts, .. } => starts.len().saturating_sub(1),
        };
        self.inverse_scales.clear();
        self.inverse_scales.extend((0..m).map(|i| {
            let diagonal = view.entry(n, i, i);
            inverse_root(diagonal)
        }));
        self.begin();
        for i in 0..m {
            let scale = self.inverse_scales[i];
            if scale > 0.0 {
                let (scales, columns, values) = (&self.inverse_scales, &mut self.columns, &mut self.values);
                view.for_row(n, i, |j, a| {
                    if j < m && scales[j] > 0.0 {
                        columns.push(j);
                        values.push(if i == j { 1.0 } else { a * scale * scales[j] });
                    }
                });
            }
            self.starts.push(self.columns.len());
        }
        self.find_groups();
    }

    /// Loads a matrix row by row: `fill(i, push)` pushes the nonzeros of row i in ascending order; then it is normalised.
    pub(super) fn load_rows(&mut self, diagonal: impl Iterator<Item = f64>, mut fill: impl FnMut(usize, &mut dyn FnMut(usize, f64))) {
        self.inverse_scales.clear();
        self.inverse_scales.extend(diagonal.map(inverse_root));
        self.begin();
        for i in 0..self.inverse_scales.len() {
            let scale = self.inverse_scales[i];
            let (scales, columns, values) = (&self.inverse_scales, &mut self.columns, &mut self.values);
            if scale > 0.0 {
                fill(i, &mut |j, a| {
                    if scales[j] > 0.0 && (a != 0.0 || i == j) {
                        columns.push(j);
                        values.push(if i == j { 1.0 } else { a * scale * scales[j] });
                    }
                });
            }
            self.starts.push(self.columns.len());
        }
        self.find_groups();
    }

    /// Takes the rows over bodies that the matrix was made of, in coordinates in which the mass is one: large groups are solved by them.
    pub fn load_roots(&mut self, rows: &SparseRows) {
        self.roots.load(rows);
    }

    /// The rows over bodies, or none.
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    fn begin(&mut self) {
        self.roots.clear();
        self.starts.clear();
        self.starts.push(0);
        self.columns.clear();
        self.values.clear();
    }

    /// 1/√A_ii: a normalised impulse times this is the impulse of the caller's row; 0 for a contact that nothing can move.
    pub fn inverse_scale(&self, i: usize) -> f64 {
        self.inverse_scales[i]
    }

    /// Whether contact i can be moved at all.
    pub fn takes_part(&self, i: usize) -> bool {
        self.inverse_scales[i] > 0.0
    }

    /// Columns and values of row i.
    #[inline]
    pub fn row(&self, i: usize) -> (&[usize], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Row i times a vector.
    #[inline]
    pub fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.row(i);
        let mut sum = 0.0;
        for k in 0..columns.len() {
            sum += values[k] * x[columns[k]];
        }
        sum
    }

    /// Number of connected groups of contacts: groups share no body, so they are independent problems.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Group of contact i.
    pub fn group(&self, i: usize) -> usize {
        self.group[i]
    }

    fn find_groups(&mut self) {
        let m = self.len();
        self.group.clear();
        self.group.resize(m, usize::MAX);
        self.groups = 0;
        for root in 0..m {
            if self.group[root] != usize::MAX {
                continue;
            }
            self.group[root] = self.groups;
            self.stack.push(root);
            while let Some(i) = self.stack.pop() {
                for k in self.starts[i]..self.starts[i + 1] {
                    let j = self.columns[k];
                    if self.group[j] == usize::MAX {
                        self.group[j] = self.groups;
                        self.stack.push(j);
                    }
                }
            }
            self.groups += 1;
        }
    }
}

/// 1/√d, or 0 for a diagonal entry that is 0 (or so small that its inverse root is not a number to work with).
fn inverse_root(diagonal: f64) -> f64 {
    if diagonal.is_normal() && diagonal > 0.0 { 1.0 / diagonal.sqrt() } else { 0.0 }
}

/// Side of a square matrix of this many entries, at least m (exact integer search, no rounding).
fn square_side(entries: usize, m: usize) -> usize {
    let mut n = m;
    while n * n < entries {
        n += 1;
    }
    n
}
