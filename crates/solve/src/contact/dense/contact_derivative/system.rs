//! The linear system that impulses obey while modes stand: its solution for changes, and its transpose for cotangents, theory (16.1)-(16.3).

use carom_math::consistent::Consistent;
use carom_math::dense::dot;

/// Rows a mode couples at most: the normal and two tangents.
const TERMS: usize = 3;

/// A combination of a few rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Combination {
    terms: [(usize, f64); TERMS],
    count: usize,
}

impl Combination {
    /// One row alone.
    pub fn row(row: usize) -> Self {
        Self::default().and(row, 1.0)
    }

    /// The same with one more row; rows past [`TERMS`] do not occur.
    pub fn and(mut self, row: usize, weight: f64) -> Self {
        if self.count < TERMS {
            self.terms[self.count] = (row, weight);
            self.count += 1;
        }
        self
    }

    fn terms(&self) -> &[(usize, f64)] {
        &self.terms[..self.count]
    }

    fn of(&self, x: &[f64]) -> f64 {
        self.terms().iter().map(|&(row, weight)| weight * x[row]).sum()
    }

    fn add_to(&self, factor: f64, x: &mut [f64]) {
        self.terms().iter().for_each(|&(row, weight)| x[row] += factor * weight);
    }
}

/// One unknown x: the impulses it moves, `column` x, and the equation `row`·dw + own x = 0 that goes with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unknown {
    pub row: Combination,
    pub column: Combination,
    pub own: f64,
}

impl Unknown {
    /// A row at w = 0 with its own impulse.
    pub fn held(row: usize) -> Self {
        Unknown { row: Combination::row(row), column: Combination::row(row), own: 0.0 }
    }
}

/// dl = g + C x with E (A dl + c) + D x = 0, over n rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModeSystem {
    pub unknowns: Vec<Unknown>,
    factor: Consistent,
    x: Vec<f64>,
    spread: Vec<f64>,
}

impl ModeSystem {
    /// Assembles and factors S = E A C + D for the present unknowns and an n x n matrix; false when it cannot be factored.
    pub fn factor(&mut self, matrix: &[f64], n: usize) -> bool {
        let k = self.unknowns.len();
        let system = self.factor.matrix(k);
        for (r, unknown) in self.unknowns.iter().enumerate() {
            for (c, other) in self.unknowns.iter().enumerate() {
                let mut entry = if r == c { unknown.own } else { 0.0 };
                for &(i, weight) in unknown.row.terms() {
                    entry += weight * other.column.of(&matrix[i * n..(i + 1) * n]);
                }
                system[r * k + c] = entry;
            }
        }
        self.factor.factor()
    }

    /// Completes the change of the impulses: `change` holds g on entry and dl = g + C x at the end; `drive` is c.
    pub fn tangent(&mut self, matrix: &[f64], drive: &[f64], change: &mut [f64]) {
        let n = drive.len();
        let moved = |row: usize| dot(&matrix[row * n..(row + 1) * n], change) + drive[row];
        self.x.clear();
        self.x.extend(self.unknowns.iter().map(|unknown| -unknown.row.terms().iter().map(|&(row, w)| w * moved(row)).sum::<f64>()));
        self.factor.solve(&mut self.x);
        for (unknown, &x) in self.unknowns.iter().zip(&self.x) {
            unknown.column.add_to(x, change);
        }
    }

    /// The transpose of [`ModeSystem::tangent`]: `cotangent` holds that of dl on entry and that of g at the end; `drive_bar` becomes that
    /// of c. The matrix is symmetric.
    pub fn adjoint(&mut self, matrix: &[f64], cotangent: &mut [f64], drive_bar: &mut [f64]) {
        let n = cotangent.len();
        self.x.clear();
        self.x.extend(self.unknowns.iter().map(|unknown| -unknown.column.of(cotangent)));
        self.factor.solve_transpose(&mut self.x);
        drive_bar.fill(0.0);
        for (unknown, &x) in self.unknowns.iter().zip(&self.x) {
            unknown.row.add_to(x, drive_bar);
        }
        self.spread.clear();
        self.spread.extend((0..n).map(|row| dot(&matrix[row * n..(row + 1) * n], drive_bar)));
        cotangent.iter_mut().zip(&self.spread).for_each(|(c, s)| *c += s);
    }
}
