//! Lemke's complementary pivoting with the lexicographic rule; theory (4.17).
//!
//! It ends after finitely many pivots for every matrix, and for the copositive matrices of frictional contact it ends in a solution
//! whenever one exists by the argument of (4.16); otherwise it reports a ray.

use crate::dense::{Lu, add_scaled};
use crate::linear_complementarity::complementarity_residual;
use crate::status::{Method, Outcome, RESIDUAL_WANTED};

/// Entries of a tableau column below this are no pivots: they are the rounding of a zero in a tableau of unit scale.
const PIVOT: f64 = 1e-10;
/// Relative difference of two ratios that counts as a tie, to be broken lexicographically.
const TIE: f64 = 1e-12;
/// Pivots between two rebuilds of the tableau from the problem, against the growth of rounding.
const REBUILD: usize = 50;
/// Pivots allowed per variable.
const PIVOTS_PER_VARIABLE: usize = 20;
/// Pivots allowed in any case.
const PIVOTS_LEAST: usize = 100;

/// Lemke's method with its scratch.
#[derive(Clone, Debug, Default)]
pub struct Lemke {
    /// N rows of (1 | -H | -d | r) times the inverse basis; 2 N + 2 columns.
    tableau: Vec<f64>,
    /// Variable that is basic in each row: 0..N are s, N..2N are z, 2N is the artificial one.
    basis: Vec<usize>,
    pivot_row: Vec<f64>,
    ties: Vec<usize>,
    slack: Vec<f64>,
    lu: Lu,
    column: Vec<f64>,
}

impl Lemke {
    /// A solver without scratch yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves s = H z + r, 0 <= z _|_ s >= 0 for `solution` = z; `matrix` is H, N x N row-major with entries of order 1, `offset` is r.
    pub fn solve(&mut self, matrix: &[f64], offset: &[f64], solution: &mut [f64]) -> Outcome {
        let n = offset.len();
        solution.fill(0.0);
        if matrix.len() != n * n || solution.len() != n || !offset.iter().chain(matrix).all(|x| x.is_finite()) {
            return Outcome::failed(0, Method::Lemke);
        }
        let Some(start) = (0..n).filter(|&i| offset[i] < 0.0).min_by(|&i, &j| offset[i].total_cmp(&offset[j])) else {
            return Outcome::judge(0.0, RESIDUAL_WANTED, 0, Method::Lemke);
        };
        self.basis.clear();
        self.basis.extend(0..n);
        self.fill_tableau(matrix, offset);
        let artificial = 2 * n;
        let mut entering = artificial;
        let mut row = start;
        let most = PIVOTS_LEAST + PIVOTS_PER_VARIABLE * n;
        let mut pivots = 0;
        let mut ended = false;
        while pivots < most {
            let leaving = self.pivot(row, entering, n);
            pivots += 1;
            if leaving == artificial {
                ended = true;
                break;
            }
            if pivots % REBUILD == 0 && !self.rebuild(matrix, offset) {
                break;
            }
            entering = if leaving < n { leaving + n } else { leaving - n };
            match self.ratio_test(entering, n) {
                Some(next) => row = next,
                None => break, // a ray: no solution is reachable
            }
        }
        if ended {
            let width = 2 * n + 2;
            for (i, &variable) in self.basis.iter().enumerate() {
                if (n..2 * n).contains(&variable) {
                    solution[variable - n] = self.tableau[i * width + width - 1].max(0.0);
                }
            }
        }
        self.slack.resize(n, 0.0);
        let residual = complementarity_residual(matrix, offset, solution, &mut self.slack);
        Outcome::judge(residual, RESIDUAL_WANTED, pivots, Method::Lemke)
    }

    /// The tableau of the basis of slacks.
    fn fill_tableau(&mut self, matrix: &[f64], offset: &[f64]) {
        let n = offset.len();
        let width = 2 * n + 2;
        self.tableau.clear();
        self.tableau.resize(n * width, 0.0);
        for (i, row) in self.tableau.chunks_exact_mut(width).enumerate() {
            row[i] = 1.0;
            for j in 0..n {
                row[n + j] = -matrix[i * n + j];
            }
            row[2 * n] = -1.0;
            row[2 * n + 1] = offset[i];
        }
    }

    /// Recomputes the tableau of the present basis from the problem; false if the basis is singular.
    fn rebuild(&mut self, matrix: &[f64], offset: &[f64]) -> bool {
        let n = offset.len();
        let width = 2 * n + 2;
        self.fill_tableau(matrix, offset);
        let basis = self.lu.matrix(n);
        for i in 0..n {
            for (j, &variable) in self.basis.iter().enumerate() {
                basis[i * n + j] = self.tableau[i * width + variable];
            }
        }
        if self.lu.factor().is_err() {
            return false;
        }
        self.column.resize(n, 0.0);
        for j in 0..width {
            for i in 0..n {
                self.column[i] = self.tableau[i * width + j];
            }
            self.lu.solve(&mut self.column);
            for i in 0..n {
                self.tableau[i * width + j] = self.column[i];
            }
        }
        // Rounding may leave a basic variable slightly negative; it is zero.
        for i in 0..n {
            let value = &mut self.tableau[i * width + width - 1];
            *value = value.max(0.0);
        }
        true
    }

    /// Makes `entering` basic in `row`; returns the variable that leaves.
    fn pivot(&mut self, row: usize, entering: usize, n: usize) -> usize {
        let width = 2 * n + 2;
        self.pivot_row.clear();
        self.pivot_row.extend_from_slice(&self.tableau[row * width..(row + 1) * width]);
        let inverse = 1.0 / self.pivot_row[entering];
        self.pivot_row.iter_mut().for_each(|x| *x *= inverse);
        for (i, target) in self.tableau.chunks_exact_mut(width).enumerate() {
            let factor = target[entering];
            if i != row && factor != 0.0 {
                add_scaled(target, -factor, &self.pivot_row);
                target[entering] = 0.0;
            }
        }
        self.tableau[row * width..(row + 1) * width].copy_from_slice(&self.pivot_row);
        std::mem::replace(&mut self.basis[row], entering)
    }

    /// Row of the least ratio, ties broken lexicographically in the columns of the inverse basis; None for a ray.
    fn ratio_test(&mut self, entering: usize, n: usize) -> Option<usize> {
        let width = 2 * n + 2;
        let entry = |i: usize, j: usize| self.tableau[i * width + j];
        let mut least = f64::INFINITY;
        for i in 0..n {
            if entry(i, entering) > PIVOT {
                least = least.min(entry(i, width - 1) / entry(i, entering));
            }
        }
        if least == f64::INFINITY {
            return None;
        }
        let mut ties = std::mem::take(&mut self.ties);
        let entry = |i: usize, j: usize| self.tableau[i * width + j];
        ties.clear();
        ties.extend(
            (0..n).filter(|&i| entry(i, entering) > PIVOT && entry(i, width - 1) / entry(i, entering) <= least + TIE * (1.0 + least.abs())),
        );
        // The artificial variable leaves whenever it may: that ends the search.
        if let Some(&row) = ties.iter().find(|&&i| self.basis[i] == 2 * n) {
            self.ties = ties;
            return Some(row);
        }
        for j in 0..n {
            if ties.len() == 1 {
                break;
            }
            let least = ties.iter().map(|&i| entry(i, j) / entry(i, entering)).fold(f64::INFINITY, f64::min);
            ties.retain(|&i| entry(i, j) / entry(i, entering) <= least + TIE * (1.0 + least.abs()));
        }
        let row = ties.first().copied();
        self.ties = ties;
        row
    }
}
