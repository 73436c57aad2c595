//! The plain linear complementarity problem s = H z + r, 0 <= z _|_ s >= 0, and the contact problem written as one; theory (4.13)-(4.15).

use crate::contact::problem::{Block, Cone, Problem};
use carom_math::dense::{max_abs, multiply_add};

/// A linear complementarity problem with dense H.
#[derive(Clone, Debug, Default)]
pub struct LinearComplementarity {
    /// H, N x N row-major.
    pub matrix: Vec<f64>,
    /// r, length N.
    pub offset: Vec<f64>,
}

/// Residual of the natural map, max |min(z, s)|, relative to max|r|; infinite when not finite. `slack` receives s = H z + r.
pub fn complementarity_residual(matrix: &[f64], offset: &[f64], solution: &[f64], slack: &mut [f64]) -> f64 {
    multiply_add(matrix, solution, offset, slack);
    let mut worst = 0.0f64;
    let mut sum = 0.0;
    for (z, s) in solution.iter().zip(slack.iter()) {
        worst = worst.max(z.min(*s).abs());
        sum += z + s;
    }
    let scale = max_abs(offset);
    if !f64::is_finite(sum) {
        f64::INFINITY
    } else if scale > 0.0 {
        worst / scale
    } else {
        worst
    }
}

/// One variable z of the complementarity form of a contact problem: what it adds to the impulses.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// First row it acts on.
    row: usize,
    /// Its share in that row and the next two.
    share: [f64; 3],
}

/// A contact problem as a linear complementarity problem: l = l0 + C z; theory (4.14). Friction is polyhedral, which in the plane is exact.
#[derive(Clone, Debug, Default)]
pub struct ComplementarityForm {
    /// The problem in scaled units: the diagonal of A is near 1 and max|r| is 1.
    pub problem: LinearComplementarity,
    columns: Vec<Column>,
    given: Vec<f64>,
    product: Vec<f64>,
    speed: f64,
}

impl ComplementarityForm {
    /// Rewrites `problem`, each round cone in space replaced by a pyramid with `edges` edges.
    pub fn build(&mut self, problem: &Problem, edges: usize) {
        let n = problem.rows();
        let edges = match problem.cone {
            _ if problem.tangents == 1 => 2,
            Cone::Round => edges,
            Cone::Polyhedral(edges) => edges,
        };
        let diagonal = |row: usize| problem.matrix[row * n + row];
        let largest = (0..n).map(diagonal).fold(0.0f64, f64::max);
        let size = |row: usize, rows: usize| {
            let mean = (row..row + rows).map(diagonal).sum::<f64>() / rows as f64;
            1.0 / if mean > 0.0 { mean } else { largest.max(f64::MIN_POSITIVE) }.sqrt()
        };
        // First the columns C and the given impulses l0; a friction or bound multiplier has no share in l.
        self.columns.clear();
        self.given.clear();
        self.given.resize(n, 0.0);
        let mut row = 0;
        for block in problem.blocks {
            let rows = block.rows(problem.tangents);
            let s = size(row, rows);
            let mut push = |share: [f64; 3]| self.columns.push(Column { row, share });
            match *block {
                Block::Contact { friction } => {
                    push([s, 0.0, 0.0]);
                    if friction > 0.0 {
                        for k in 0..edges {
                            let (sin, cos) = (std::f64::consts::TAU * k as f64 / edges as f64).sin_cos();
                            push(if problem.tangents == 1 { [0.0, s * (1.0 - 2.0 * k as f64), 0.0] } else { [0.0, s * cos, s * sin] });
                        }
                        push([0.0; 3]);
                    }
                }
                Block::Unilateral => push([s, 0.0, 0.0]),
                Block::Bounded { lower, upper } => match (lower.is_finite(), upper.is_finite()) {
                    (true, true) => {
                        self.given[row] = lower;
                        push([s, 0.0, 0.0]);
                        push([0.0; 3]);
                    }
                    (true, false) => {
                        self.given[row] = lower;
                        push([s, 0.0, 0.0]);
                    }
                    (false, true) => {
                        self.given[row] = upper;
                        push([-s, 0.0, 0.0]);
                    }
                    (false, false) => {
                        push([s, 0.0, 0.0]);
                        push([-s, 0.0, 0.0]);
                    }
                },
            }
            row += rows;
        }
        // H = C' A C and r = C' (A l0 + u).
        let size_of_lcp = self.columns.len();
        let (matrix, offset) = (&mut self.problem.matrix, &mut self.problem.offset);
        matrix.clear();
        matrix.resize(size_of_lcp * size_of_lcp, 0.0);
        offset.clear();
        offset.resize(size_of_lcp, 0.0);
        self.product.resize(n, 0.0);
        let apply = |column: &Column, vector: &[f64]| {
            let mut sum = 0.0;
            for (share, v) in column.share.iter().zip(&vector[column.row..]) {
                sum += share * v;
            }
            sum
        };
        for (r, column) in self.columns.iter().enumerate() {
            if column.share == [0.0; 3] {
                continue;
            }
            // A is symmetric: the functional C_r' A is a combination of its rows.
            self.product.fill(0.0);
            for (k, share) in column.share.iter().enumerate() {
                if *share != 0.0 {
                    let source = &problem.matrix[(column.row + k) * n..(column.row + k + 1) * n];
                    carom_math::dense::add_scaled(&mut self.product, *share, source);
                }
            }
            for (c, other) in self.columns.iter().enumerate() {
                matrix[r * size_of_lcp + c] = apply(other, &self.product);
            }
        }
        multiply_add(problem.matrix, &self.given, problem.free, &mut self.product);
        for (r, column) in self.columns.iter().enumerate() {
            offset[r] = apply(column, &self.product);
        }
        // The coupling F of friction and bound multipliers.
        let mut k = 0;
        let mut row = 0;
        for block in problem.blocks {
            let mut couple = |r: usize, c: usize, value: f64| matrix[r * size_of_lcp + c] = value;
            let rows = block.rows(problem.tangents);
            match *block {
                Block::Contact { friction } if friction > 0.0 => {
                    let multiplier = k + 1 + edges;
                    couple(multiplier, k, friction);
                    for j in k + 1..multiplier {
                        couple(j, multiplier, 1.0);
                        couple(multiplier, j, -1.0);
                    }
                    k = multiplier + 1;
                }
                Block::Bounded { lower, upper } if lower.is_finite() && upper.is_finite() => {
                    couple(k, k + 1, 1.0);
                    couple(k + 1, k, -1.0);
                    offset[k + 1] = (upper - lower) / size(row, rows);
                    k += 2;
                }
                Block::Bounded { lower, upper } if lower.is_infinite() && upper.is_infinite() => k += 2,
                _ => k += 1,
            }
            row += rows;
        }
        self.speed = max_abs(offset);
        if self.speed > 0.0 {
            offset.iter_mut().for_each(|r| *r /= self.speed);
        }
    }

    /// The impulses l = l0 + C z of a solution z, each clamped to its bounds against rounding.
    pub fn impulses(&self, problem: &Problem, solution: &[f64], impulses: &mut [f64]) {
        impulses.copy_from_slice(&self.given);
        for (column, z) in self.columns.iter().zip(solution) {
            for (share, l) in column.share.iter().zip(&mut impulses[column.row..]) {
                *l += share * z * self.speed;
            }
        }
        let mut row = 0;
        for block in problem.blocks {
            if let Block::Bounded { lower, upper } = *block {
                impulses[row] = impulses[row].clamp(lower, upper);
            }
            row += block.rows(problem.tangents);
        }
    }
}
