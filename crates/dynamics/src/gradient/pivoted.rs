//! Dense LU with complete pivoting: the system of one solve, with as many unknowns answered as it determines, theory (17.4).

/// Pivots below this fraction of the largest are rounding: rows that repeat others (a box on four corners) leave impulses undetermined,
/// whose choice the velocities do not feel.
const RANK_TOLERANCE: f64 = 1e-11;

/// A factored square matrix; rows and columns beyond its rank are left out of the answer.
#[derive(Debug, Default)]
pub(crate) struct Pivoted {
    n: usize,
    rank: usize,
    values: Vec<f64>,
    rows: Vec<usize>,
    columns: Vec<usize>,
    scale: Vec<f64>,
}

impl Pivoted {
    /// The matrix to fill, n x n by rows, zero at first.
    pub fn matrix(&mut self, n: usize) -> &mut [f64] {
        self.n = n;
        self.rank = 0;
        self.values.clear();
        self.values.resize(n * n, 0.0);
        &mut self.values
    }

    /// Factors what was filled in; returns the rank.
    pub fn factor(&mut self) -> usize {
        let n = self.n;
        self.rows.clear();
        self.rows.extend(0..n);
        self.columns.clear();
        self.columns.extend(0..n);
        // Rows are measured in different units: each is scaled to its own largest entry.
        self.scale.clear();
        for i in 0..n {
            let largest = self.values[i * n..(i + 1) * n].iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let factor = if largest > 0.0 && largest.is_finite() { 1.0 / largest } else { 1.0 };
            self.scale.push(factor);
            self.values[i * n..(i + 1) * n].iter_mut().for_each(|x| *x *= factor);
        }
        let mut first = 0.0f64;
        self.rank = n;
        for k in 0..n {
            let (mut row, mut column, mut largest) = (k, k, 0.0f64);
            for i in k..n {
                for j in k..n {
                    let size = self.values[i * n + j].abs();
                    if size > largest {
                        (row, column, largest) = (i, j, size);
                    }
                }
            }
            if k == 0 {
                first = largest;
            }
            if largest <= RANK_TOLERANCE * first || !largest.is_finite() {
                self.rank = k;
                break;
            }
            if row != k {
                self.rows.swap(row, k);
                for j in 0..n {
                    self.values.swap(row * n + j, k * n + j);
                }
            }
            if column != k {
                self.columns.swap(column, k);
                for i in 0..n {
                    self.values.swap(i * n + column, i * n + k);
                }
            }
            let pivot = self.values[k * n + k];
            let (top, below) = self.values.split_at_mut((k + 1) * n);
            let lead = &top[k * n..];
            for line in below.chunks_exact_mut(n) {
                let factor = line[k] / pivot;
                line[k] = factor;
                if factor != 0.0 {
                    for j in k + 1..n {
                        line[j] -= factor * lead[j];
                    }
                }
            }
        }
        self.rank
    }

    /// x := S^-1 x; undetermined unknowns are zero.
    pub fn solve(&self, x: &mut [f64]) {
        let n = self.n;
        let mut y: Vec<f64> = self.rows.iter().map(|&i| x[i] * self.scale[i]).collect();
        for i in 0..self.rank {
            for j in 0..i {
                y[i] -= self.values[i * n + j] * y[j];
            }
        }
        for i in (0..self.rank).rev() {
            for j in i + 1..self.rank {
                y[i] -= self.values[i * n + j] * y[j];
            }
            y[i] /= self.values[i * n + i];
        }
        x.fill(0.0);
        for k in 0..self.rank {
            x[self.columns[k]] = y[k];
        }
    }

    /// x := S^-T x, the transpose of `solve`.
    pub fn solve_transposed(&self, x: &mut [f64]) {
        let n = self.n;
        let mut y: Vec<f64> = self.columns.iter().map(|&j| x[j]).collect();
        for i in 0..self.rank {
            for j in 0..i {
                y[i] -= self.values[j * n + i] * y[j];
            }
            y[i] /= self.values[i * n + i];
        }
        for i in (0..self.rank).rev() {
            for j in i + 1..self.rank {
                y[i] -= self.values[j * n + i] * y[j];
            }
        }
        x.fill(0.0);
        for k in 0..self.rank {
            x[self.rows[k]] = y[k] * self.scale[self.rows[k]];
        }
    }
}
