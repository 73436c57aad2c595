//! Sparse rows and their Gram matrix.

use super::mass::MassMatrix;
use super::{GramView, ImpactError};

/// Rows of length d by their nonzeros.
#[derive(Clone, Debug, Default)]
pub struct SparseRows {
    dimension: usize,
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
}

/// A symmetric matrix by compressed rows, owned.
#[derive(Clone, Debug, Default)]
pub struct SparseGram {
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
}

impl SparseGram {
    /// Begins a matrix without rows.
    pub fn begin(&mut self) {
        self.starts.clear();
        self.starts.push(0);
        self.columns.clear();
        self.values.clear();
    }

    /// Appends an entry to the row at hand, columns ascending; what is zero is left out.
    pub fn push(&mut self, column: usize, value: f64) {
        if value != 0.0 {
            self.columns.push(column);
            self.values.push(value);
        }
    }

    /// Ends the row at hand.
    pub fn end_row(&mut self) {
        self.starts.push(self.columns.len());
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entry (i, j).
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        let range = self.starts[i]..self.starts[i + 1];
        self.columns[range.clone()].binary_search(&j).map_or(0.0, |k| self.values[range.start + k])
    }

    /// Columns and values of row i.
    pub fn row(&self, i: usize) -> (&[usize], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// All entries by rows, zeros among them.
    pub fn dense(&self) -> Vec<f64> {
        let n = self.len();
        let mut out = vec![0.0; n * n];
        for i in 0..n {
            let (columns, values) = self.row(i);
            columns.iter().zip(values).for_each(|(&j, a)| out[i * n + j] = *a);
        }
        out
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.starts[..]) + size_of_val(&self.columns[..]) + size_of_val(&self.values[..])
    }

    /// The matrix as a view.
    pub fn view(&self) -> GramView<'_> {
        GramView::Sparse { starts: &self.starts, columns: &self.columns, values: &self.values }
    }
}

impl SparseRows {
    /// No rows, of length d.
    pub fn new(dimension: usize) -> Self {
        Self { dimension, starts: vec![0], columns: Vec::new(), values: Vec::new() }
    }

    /// Dense rows, (m × d) by rows.
    ///
    /// # Errors
    /// [`ImpactError::Shape`] when the length is not a multiple of d.
    pub fn from_dense(entries: &[f64], dimension: usize) -> Result<Self, ImpactError> {
        let m = entries.len().checked_div(dimension).unwrap_or(0);
        if entries.len() != m * dimension {
            return Err(ImpactError::Shape { what: "normals", found: entries.len(), expected: m * dimension });
        }
        let mut rows = Self::new(dimension);
        for row in entries.chunks_exact(dimension.max(1)) {
            for (j, &a) in row.iter().enumerate() {
                if a != 0.0 {
                    rows.columns.push(j);
                    rows.values.push(a);
                }
            }
            rows.starts.push(rows.columns.len());
        }
        Ok(rows)
    }

    /// Appends a row from its nonzeros; columns ascending.
    ///
    /// # Errors
    /// [`ImpactError`] when columns are out of range or not ascending, or lengths differ.
    pub fn push(&mut self, columns: &[usize], values: &[f64]) -> Result<(), ImpactError> {
        if columns.len() != values.len() {
            return Err(ImpactError::Shape { what: "row values", found: values.len(), expected: columns.len() });
        }
        if columns.iter().any(|&j| j >= self.dimension) || columns.windows(2).any(|w| w[0] >= w[1]) {
            return Err(ImpactError::Range("row columns"));
        }
        self.columns.extend_from_slice(columns);
        self.values.extend_from_slice(values);
        self.starts.push(self.columns.len());
        Ok(())
    }

    /// Forgets all rows; the next ones have length d.
    pub fn begin(&mut self, dimension: usize) {
        self.dimension = dimension;
        self.starts.clear();
        self.starts.push(0);
        self.columns.clear();
        self.values.clear();
    }

    /// Appends an entry to the row at hand, columns ascending and below d; what is zero is left out.
    pub fn push_entry(&mut self, column: usize, value: f64) {
        if value != 0.0 {
            self.columns.push(column);
            self.values.push(value);
        }
    }

    /// Ends the row at hand.
    pub fn end_row(&mut self) {
        self.starts.push(self.columns.len());
    }

    /// Appends a row of all its d entries.
    pub fn push_dense(&mut self, row: &[f64]) {
        for (j, &a) in row.iter().enumerate() {
            if a != 0.0 {
                self.columns.push(j);
                self.values.push(a);
            }
        }
        self.starts.push(self.columns.len());
    }

    /// Appends all rows of another set of the same length.
    pub fn append(&mut self, other: &Self) {
        for i in 0..other.len() {
            let (columns, values) = other.row(i);
            self.columns.extend_from_slice(columns);
            self.values.extend_from_slice(values);
            self.starts.push(self.columns.len());
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length d of the rows.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Whether every value is finite.
    pub fn is_finite(&self) -> bool {
        self.values.iter().all(|a| a.is_finite())
    }

    /// Columns and values of row i.
    pub fn row(&self, i: usize) -> (&[usize], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Row i times a vector.
    pub fn dot(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.row(i);
        columns.iter().zip(values).map(|(&j, a)| a * x[j]).sum()
    }

    /// x += factor · row i.
    pub fn add(&self, i: usize, factor: f64, x: &mut [f64]) {
        let (columns, values) = self.row(i);
        columns.iter().zip(values).for_each(|(&j, a)| x[j] += factor * a);
    }

    /// The rows in coordinates where the inverse-mass metric is Euclidean, L⁻¹ n.
    pub fn whitened(&self, mass: &MassMatrix) -> Self {
        let mut white = Self::new(self.dimension);
        let mut full = vec![0.0; self.dimension];
        for i in 0..self.len() {
            let (columns, values) = self.row(i);
            columns.iter().zip(values).for_each(|(&j, &a)| full[j] = a);
            mass.whiten_at(columns, &mut full);
            let mut next = 0;
            for &j in columns {
                for c in mass.spread(j) {
                    if c >= next {
                        if full[c] != 0.0 {
                            white.columns.push(c);
                            white.values.push(full[c]);
                        }
                        full[c] = 0.0;
                        next = c + 1;
                    }
                }
            }
            white.starts.push(white.columns.len());
        }
        white
    }

    /// R Rᵀ by its nonzeros.
    pub fn gram(&self) -> SparseGram {
        // Rows that touch each column, so that only coupled pairs are visited.
        let mut ends = vec![0usize; self.dimension + 1];
        self.columns.iter().for_each(|&j| ends[j + 1] += 1);
        for j in 0..self.dimension {
            ends[j + 1] += ends[j];
        }
        let starts = ends.clone();
        let mut touching = vec![(0usize, 0.0); self.columns.len()];
        for i in 0..self.len() {
            let (columns, values) = self.row(i);
            for (&j, &a) in columns.iter().zip(values) {
                touching[ends[j]] = (i, a);
                ends[j] += 1;
            }
        }
        let mut gram = SparseGram { starts: vec![0], ..SparseGram::default() };
        let mut sums = vec![0.0; self.len()];
        let mut seen = vec![usize::MAX; self.len()];
        let mut coupled = Vec::new();
        for i in 0..self.len() {
            coupled.clear();
            let (columns, values) = self.row(i);
            for (&j, &a) in columns.iter().zip(values) {
                for &(k, b) in &touching[starts[j]..starts[j + 1]] {
                    if seen[k] != i {
                        seen[k] = i;
                        sums[k] = 0.0;
                        coupled.push(k);
                    }
                    sums[k] += a * b;
                }
            }
            coupled.sort_unstable();
            for &k in &coupled {
                if sums[k] != 0.0 {
                    gram.columns.push(k);
                    gram.values.push(sums[k]);
                }
            }
            gram.starts.push(gram.columns.len());
        }
        gram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gram_matrix_is_the_product() {
        let dense = [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, -1.0, 0.5, 0.5, 0.0, 0.0];
        let rows = SparseRows::from_dense(&dense, 4).unwrap();
        let gram = rows.gram();
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..4).map(|k| dense[i * 4 + k] * dense[j * 4 + k]).sum();
                assert_eq!(gram.view().entry(3, i, j), product);
            }
        }
        assert!(SparseRows::from_dense(&dense[..11], 4).is_err());
        assert!(SparseRows::new(2).push(&[1, 0], &[1.0, 1.0]).is_err());
        assert!(SparseRows::new(2).push(&[2], &[1.0]).is_err());
    }

    #[test]
    fn whitened_rows_measure_in_the_inverse_mass() {
        let block = [2.0, 0.5, 0.5, 1.0];
        let mass = MassMatrix::blocks([(&block[..], 2), (&[4.0][..], 1)]).unwrap();
        let rows = SparseRows::from_dense(&[1.0, 0.0, 2.0, 0.0, 1.0, 0.0], 3).unwrap();
        let gram = rows.whitened(&mass).gram();
        // The inverse of the block is [1, -1/2; -1/2, 2] / 1.75.
        let expected = [1.0 / 1.75 + 1.0, -0.5 / 1.75, 2.0 / 1.75];
        for (found, expected) in [(0, 0), (0, 1), (1, 1)].map(|(i, j)| gram.view().entry(2, i, j)).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14);
        }
    }
}
