//! Dense LU with complete pivoting: the system of one solve, with as many unknowns answered as it determines, theory (17.4).

use carom_math::widened;

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
    /// The largest entry left in each row.
    most: Vec<f64>,
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
        factor(self);
        self.rank
    }

    #[inline(always)]
    fn eliminate(&mut self) {
        let n = self.n;
        self.rows.clear();
        self.rows.extend(0..n);
        self.columns.clear();
        self.columns.extend(0..n);
        // Rows are measured in different units: each is scaled to its own largest entry.
        self.scale.clear();
        self.most.clear();
        for line in self.values.chunks_exact_mut(n.max(1)) {
            let size = largest(line);
            let factor = if size > 0.0 && size.is_finite() { 1.0 / size } else { 1.0 };
            self.scale.push(factor);
            line.iter_mut().for_each(|x| *x *= factor);
            self.most.push(largest(line));
        }
        let mut first = 0.0f64;
        self.rank = n;
        for k in 0..n {
            // The first row with the largest entry, and its place there.
            let (mut row, mut most) = (k, 0.0f64);
            for (i, &size) in self.most.iter().enumerate().skip(k) {
                if size > most {
                    (row, most) = (i, size);
                }
            }
            if k == 0 {
                first = most;
            }
            if most <= RANK_TOLERANCE * first || !most.is_finite() {
                self.rank = k;
                break;
            }
            let column = (k..n).find(|&j| self.values[row * n + j].abs() == most).unwrap_or(k);
            if row != k {
                self.rows.swap(row, k);
                self.most.swap(row, k);
                let (upper, lower) = self.values.split_at_mut(row * n);
                upper[k * n..][..n].swap_with_slice(&mut lower[..n]);
            }
            if column != k {
                self.columns.swap(column, k);
                for line in self.values.chunks_exact_mut(n) {
                    line.swap(column, k);
                }
            }
            let pivot = self.values[k * n + k];
            let (top, below) = self.values.split_at_mut((k + 1) * n);
            let lead = &top[k * n + k + 1..];
            for (line, most) in below.chunks_exact_mut(n).zip(&mut self.most[k + 1..]) {
                let factor = line[k] / pivot;
                line[k] = factor;
                let rest = &mut line[k + 1..];
                if factor != 0.0 {
                    rest.iter_mut().zip(lead).for_each(|(x, lead)| *x -= factor * lead);
                }
                *most = largest(rest);
            }
        }
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

    /// x := S^-T x for several columns side by side, the transpose of `solve`; `room` is scratch.
    pub fn solve_transposed<const L: usize>(&self, x: &mut [[f64; L]], room: &mut Vec<[f64; L]>) {
        solve_transposed(self, x, room);
    }

    #[inline(always)]
    fn substitute_transposed<const L: usize>(&self, x: &mut [[f64; L]], y: &mut Vec<[f64; L]>) {
        let (n, rank) = (self.n, self.rank);
        y.clear();
        y.extend(self.columns[..rank].iter().map(|&j| x[j]));
        for j in 0..rank {
            let (known, rest) = y.split_at_mut(j + 1);
            let own = &mut known[j];
            let row = &self.values[j * n..][..rank];
            own.iter_mut().for_each(|own| *own /= row[j]);
            for (y, entry) in rest.iter_mut().zip(&row[j + 1..]) {
                for lane in 0..L {
                    y[lane] -= entry * own[lane];
                }
            }
        }
        for j in (0..rank).rev() {
            let (rest, known) = y.split_at_mut(j);
            let own = &known[0];
            for (y, entry) in rest.iter_mut().zip(&self.values[j * n..][..j]) {
                for lane in 0..L {
                    y[lane] -= entry * own[lane];
                }
            }
        }
        x.fill([0.0; L]);
        for (y, &row) in y.iter().zip(&self.rows) {
            x[row] = y.map(|y| y * self.scale[row]);
        }
    }
}

widened! {
    fn factor = factor_wide / factor_plain (of: &mut Pivoted);
    fn solve_transposed = solve_transposed_wide / solve_transposed_plain [const L: usize] (of: &Pivoted, x: &mut [[f64; L]], room: &mut Vec<[f64; L]>);
}

#[inline(always)]
fn factor_plain(of: &mut Pivoted) {
    of.eliminate();
}

#[inline(always)]
fn solve_transposed_plain<const L: usize>(of: &Pivoted, x: &mut [[f64; L]], room: &mut Vec<[f64; L]>) {
    of.substitute_transposed(x, room);
}

/// The largest size of a few numbers; what is no number is passed over.
#[inline(always)]
fn largest(numbers: &[f64]) -> f64 {
    let mut most = [0.0f64; 8];
    let (chunks, rest) = numbers.as_chunks::<8>();
    for chunk in chunks {
        for k in 0..8 {
            let size = chunk[k].abs();
            most[k] = if size > most[k] { size } else { most[k] };
        }
    }
    most.iter().chain(rest).fold(0.0f64, |most, x| if x.abs() > most { x.abs() } else { most })
}
