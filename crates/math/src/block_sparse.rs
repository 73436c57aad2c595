//! A symmetric block matrix over a graph: one dense block per node and per edge, theory (9.1)-(9.2).
//!
//! The graph (which joints share a body) changes rarely and is fixed in a [`Pattern`]; the numbers change every step and are
//! written into a [`BlockSparse`] without allocation. Only the lower triangle is kept: block (i, j) and its transpose are one.

use nalgebra::DMatrix;
use std::fmt;
use std::sync::Arc;

/// Why a pattern or a block was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// A node index is not below the number of nodes.
    NodeOutOfRange {
        /// The index given.
        node: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// The graph has no edge between two nodes, so the matrix holds no such block.
    NoSuchBlock {
        /// Row node.
        row: usize,
        /// Column node.
        column: usize,
    },
    /// A block was given with the wrong number of values.
    WrongLength {
        /// Values given.
        found: usize,
        /// Rows times columns of the block.
        wanted: usize,
    },
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PatternError::NodeOutOfRange { node, nodes } => write!(f, "node {node} does not exist: the graph has {nodes} nodes"),
            PatternError::NoSuchBlock { row, column } => {
                write!(f, "nodes {row} and {column} share no edge, so there is no block between them")
            }
            PatternError::WrongLength { found, wanted } => write!(f, "a block of {wanted} values was given {found}"),
        }
    }
}

impl std::error::Error for PatternError {}

/// The graph of a block matrix: rows per node and which pairs of nodes couple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    sizes: Vec<usize>,
    /// First scalar row of each node, then the total.
    starts: Vec<usize>,
    /// Blocks below the diagonal of column node j: `columns[j]..columns[j + 1]` of `below`.
    columns: Vec<usize>,
    below: Vec<Below>,
    /// Place of each diagonal block among the values.
    diagonal: Vec<usize>,
    values: usize,
}

/// A stored block below the diagonal: its row node and its place among the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Below {
    pub(crate) row: usize,
    pub(crate) at: usize,
}

/// Where a block lies, looked up once by [`Pattern::slot`] and used every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    at: usize,
    rows: usize,
    columns: usize,
    /// The caller's block is the transpose of the stored one.
    pub(crate) transposed: bool,
}

impl Slot {
    /// Where the block begins among the values: blocks filled by rising place are filled in one walk through memory.
    pub fn place(&self) -> usize {
        self.at
    }
}

impl Pattern {
    /// The pattern with `sizes[i]` scalar rows at node i and a block for every edge, in any order; repeated edges and loops merge.
    ///
    /// ```
    /// use carom_math::block_sparse::Pattern;
    /// let chain = Pattern::new(&[2, 2, 3], &[(0, 1), (1, 2)]).unwrap();
    /// assert_eq!((chain.nodes(), chain.rows()), (3, 7));
    /// ```
    pub fn new(sizes: &[usize], edges: &[(usize, usize)]) -> Result<Self, PatternError> {
        let nodes = sizes.len();
        let mut lower = Vec::with_capacity(edges.len());
        for &(a, b) in edges {
            let node = a.max(b);
            if node >= nodes {
                return Err(PatternError::NodeOutOfRange { node, nodes });
            }
            if a != b {
                lower.push((a.min(b), a.max(b)));
            }
        }
        lower.sort_unstable();
        lower.dedup();

        let mut pattern = Pattern {
            sizes: sizes.to_vec(),
            starts: Vec::with_capacity(nodes + 1),
            columns: Vec::with_capacity(nodes + 1),
            below: Vec::with_capacity(lower.len()),
            diagonal: Vec::with_capacity(nodes),
            values: 0,
        };
        let (mut row, mut at, mut next) = (0, 0, 0);
        for (column, &size) in sizes.iter().enumerate() {
            pattern.starts.push(row);
            row += size;
            // A column's blocks lie together, diagonal first, so that a chain is read in one sweep.
            pattern.diagonal.push(at);
            at += size * size;
            pattern.columns.push(next);
            while next < lower.len() && lower[next].0 == column {
                let row = lower[next].1;
                pattern.below.push(Below { row, at });
                at += size * sizes[row];
                next += 1;
            }
        }
        pattern.starts.push(row);
        pattern.columns.push(next);
        pattern.values = at;
        Ok(pattern)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.sizes.len()
    }
    /// Number of scalar rows of the whole matrix.
    pub fn rows(&self) -> usize {
        self.starts[self.nodes()]
    }
    /// Scalar rows of a node.
    pub fn size(&self, node: usize) -> usize {
        self.sizes[node]
    }
    /// First scalar row of a node.
    pub fn start(&self, node: usize) -> usize {
        self.starts[node]
    }
    /// Number of coupled pairs of distinct nodes.
    pub fn edges(&self) -> usize {
        self.below.len()
    }
    /// The place of block (row, column), or `None` when the nodes do not couple or do not exist.
    pub fn slot(&self, row: usize, column: usize) -> Option<Slot> {
        if row.max(column) >= self.nodes() {
            return None;
        }
        let (rows, columns) = (self.sizes[row], self.sizes[column]);
        if row == column {
            return Some(Slot { at: self.diagonal[row], rows, columns, transposed: false });
        }
        let blocks = self.below(row.min(column));
        let found = blocks.binary_search_by_key(&row.max(column), |block| block.row).ok()?;
        Some(Slot { at: blocks[found].at, rows, columns, transposed: row < column })
    }
    /// Blocks below the diagonal of a column, by rising row node.
    pub(crate) fn below(&self, column: usize) -> &[Below] {
        &self.below[self.columns[column]..self.columns[column + 1]]
    }
    pub(crate) fn diagonal_at(&self, node: usize) -> usize {
        self.diagonal[node]
    }
}

/// A symmetric matrix over a [`Pattern`]; vectors that go with it hold node i's rows at `pattern.start(i)`.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSparse {
    pattern: Arc<Pattern>,
    values: Vec<f64>,
}

impl BlockSparse {
    /// The zero matrix over a pattern.
    pub fn new(pattern: Arc<Pattern>) -> Self {
        let values = vec![0.0; pattern.values];
        BlockSparse { pattern, values }
    }
    /// The graph it lives on.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }
    /// Sets every value to zero; allocates nothing.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }
    /// Adds a block, `size(row) x size(column)` values by rows, at (row, column) and its transpose at (column, row).
    ///
    /// On the diagonal the block counts once and must be symmetric; the factor reads its lower triangle.
    pub fn add_block(&mut self, row: usize, column: usize, block: &[f64]) -> Result<(), PatternError> {
        let slot = self.find(row, column)?;
        let wanted = slot.rows * slot.columns;
        if block.len() != wanted {
            return Err(PatternError::WrongLength { found: block.len(), wanted });
        }
        self.add_at(slot, |r, c| block[r * slot.columns + c]);
        Ok(())
    }
    /// Adds `entry(r, c)` to every scalar of block (row, column).
    pub fn add_with(&mut self, row: usize, column: usize, entry: impl FnMut(usize, usize) -> f64) -> Result<(), PatternError> {
        let slot = self.find(row, column)?;
        self.add_at(slot, entry);
        Ok(())
    }
    /// Adds `entry(r, c)` to every scalar of the block at a slot of this matrix's pattern: the road without a search.
    #[inline]
    pub fn add_at(&mut self, slot: Slot, mut entry: impl FnMut(usize, usize) -> f64) {
        let values = &mut self.values[slot.at..slot.at + slot.rows * slot.columns];
        for r in 0..slot.rows {
            for c in 0..slot.columns {
                let at = if slot.transposed { c * slot.rows + r } else { r * slot.columns + c };
                values[at] += entry(r, c);
            }
        }
    }
    /// Adds `product(row, column)` to every scalar of the block at a slot, for a list of its rows and one of its columns.
    #[inline]
    pub fn add_products<A, B>(&mut self, slot: Slot, rows: &[A], columns: &[B], product: impl Fn(&A, &B) -> f64) {
        let values = &mut self.values[slot.at..slot.at + slot.rows * slot.columns];
        let (rows, columns) = (&rows[..slot.rows], &columns[..slot.columns]);
        if slot.transposed {
            for (line, column) in values.chunks_exact_mut(slot.rows.max(1)).zip(columns) {
                for (value, row) in line.iter_mut().zip(rows) {
                    *value += product(row, column);
                }
            }
        } else {
            for (line, row) in values.chunks_exact_mut(slot.columns.max(1)).zip(rows) {
                for (value, column) in line.iter_mut().zip(columns) {
                    *value += product(row, column);
                }
            }
        }
    }
    /// Adds to one scalar of the block at a slot of this matrix's pattern.
    #[inline]
    pub fn add_entry(&mut self, slot: Slot, row: usize, column: usize, value: f64) {
        let at = if slot.transposed { column * slot.rows + row } else { row * slot.columns + column };
        self.values[slot.at..slot.at + slot.rows * slot.columns][at] += value;
    }
    /// Adds to one diagonal scalar: the compliance of a soft row, or a shift.
    pub fn add_diagonal(&mut self, node: usize, row: usize, value: f64) -> Result<(), PatternError> {
        let slot = self.find(node, node)?;
        if row >= slot.rows {
            return Err(PatternError::WrongLength { found: row, wanted: slot.rows });
        }
        self.values[slot.at + row * (slot.columns + 1)] += value;
        Ok(())
    }
    /// One scalar: row `r` of node `row`, column `c` of node `column`; zero where the nodes do not couple.
    pub fn entry(&self, row: usize, r: usize, column: usize, c: usize) -> f64 {
        match self.pattern.slot(row, column) {
            Some(slot) if r < slot.rows && c < slot.columns => {
                self.values[slot.at + if slot.transposed { c * slot.rows + r } else { r * slot.columns + c }]
            }
            _ => 0.0,
        }
    }
    /// y = A x, both of `pattern().rows()` numbers.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        self.accumulate(1.0, x, y);
    }
    /// r = b - A x; returns the largest |r|.
    pub fn residual(&self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        r.copy_from_slice(b);
        self.accumulate(-1.0, x, r);
        // `max` would pass over a NaN; a sum does not.
        let worst = r.iter().fold(0.0_f64, |worst, value| worst.max(value.abs()));
        if r.iter().sum::<f64>().is_nan() { f64::INFINITY } else { worst }
    }
    /// Largest absolute value of any entry.
    pub fn max_abs(&self) -> f64 {
        self.values.iter().fold(0.0_f64, |worst, value| worst.max(value.abs()))
    }
    /// The whole matrix, both triangles, for reference solves and for print.
    pub fn to_dense(&self) -> DMatrix<f64> {
        let pattern = &self.pattern;
        let mut dense = DMatrix::zeros(pattern.rows(), pattern.rows());
        for column in 0..pattern.nodes() {
            let (width, left) = (pattern.sizes[column], pattern.starts[column]);
            let diagonal = std::iter::once(Below { row: column, at: pattern.diagonal[column] });
            for block in diagonal.chain(pattern.below(column).iter().copied()) {
                let top = pattern.starts[block.row];
                for r in 0..pattern.sizes[block.row] {
                    for c in 0..width {
                        let value = self.values[block.at + r * width + c];
                        dense[(top + r, left + c)] = value;
                        if block.row != column {
                            dense[(left + c, top + r)] = value;
                        }
                    }
                }
            }
        }
        dense
    }

    fn find(&self, row: usize, column: usize) -> Result<Slot, PatternError> {
        let nodes = self.pattern.nodes();
        let node = row.max(column);
        if node >= nodes {
            return Err(PatternError::NodeOutOfRange { node, nodes });
        }
        self.pattern.slot(row, column).ok_or(PatternError::NoSuchBlock { row, column })
    }

    /// y += sign A x.
    fn accumulate(&self, sign: f64, x: &[f64], y: &mut [f64]) {
        let pattern = &*self.pattern;
        for column in 0..pattern.nodes() {
            let (width, left) = (pattern.sizes[column], pattern.starts[column]);
            let diagonal = &self.values[pattern.diagonal[column]..][..width * width];
            for r in 0..width {
                let mut sum = 0.0;
                for c in 0..width {
                    sum += diagonal[r * width + c] * x[left + c];
                }
                y[left + r] += sign * sum;
            }
            for block in pattern.below(column) {
                let (height, top) = (pattern.sizes[block.row], pattern.starts[block.row]);
                let values = &self.values[block.at..][..height * width];
                for r in 0..height {
                    let mut sum = 0.0;
                    let across = sign * x[top + r];
                    for c in 0..width {
                        let value = values[r * width + c];
                        sum += value * x[left + c];
                        y[left + c] += value * across;
                    }
                    y[top + r] += sign * sum;
                }
            }
        }
    }
}
