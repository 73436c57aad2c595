//! Small dense linear programs by the bounded simplex method, and the one program that finds all implicit equalities of a cone.
//!
//! maximise c·x subject to A x ≤ b, 0 ≤ x ≤ u, with b ≥ 0 so that x = 0 is a vertex to start from. Bland's rule (least index in, least
//! index out) makes the search end.

/// Reduced cost or pivot below which an entry counts as zero, relative to the scale of its row or column.
const PIVOT: f64 = 1e-9;

/// Cap on the pivots, per row and column together.
const PIVOTS: usize = 200;

/// How a linear program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramStatus {
    /// A vertex where no edge improves.
    Optimal,
    /// The objective has no bound.
    Unbounded,
    /// The cap on pivots was reached.
    Capped,
}

/// Result of a linear program.
#[must_use]
#[derive(Clone, Debug)]
pub struct ProgramReport {
    /// How it ended.
    pub status: ProgramStatus,
    /// The point (n).
    pub point: Vec<f64>,
    /// Its objective.
    pub objective: f64,
    /// Pivots and bound flips made.
    pub pivots: usize,
}

/// Where a variable that is not in the basis rests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

/// maximise `objective`·x over `matrix` x ≤ `bound` (rows × n, by rows; `bound` ≥ 0) and 0 ≤ x ≤ `upper` (entries may be infinite).
pub fn maximise(matrix: &[f64], bound: &[f64], objective: &[f64], upper: &[f64]) -> ProgramReport {
    let (rows, n) = (bound.len(), objective.len());
    let width = n + rows;
    // Tableau of [A | I] in the present basis; `value` holds the basic variables.
    let mut tableau = vec![0.0; rows * width];
    for r in 0..rows {
        tableau[r * width..r * width + n].copy_from_slice(&matrix[r * n..(r + 1) * n]);
        tableau[r * width + n + r] = 1.0;
    }
    let mut cost = objective.to_vec();
    cost.resize(width, 0.0);
    let limit: Vec<f64> = upper.iter().copied().chain((0..rows).map(|_| f64::INFINITY)).collect();
    let mut value = bound.to_vec();
    let mut basis: Vec<usize> = (n..width).collect();
    let mut in_basis = vec![false; width];
    basis.iter().for_each(|&b| in_basis[b] = true);
    let mut side = vec![Side::Lower; width];
    let scale = objective.iter().fold(0.0f64, |s, c| s.max(c.abs()));
    let cap = PIVOTS * (width + 1);
    let mut pivots = 0;
    let status = loop {
        // Bland: the least index whose motion off its bound improves.
        let entering = (0..width)
            .find(|&j| !in_basis[j] && limit[j] > 0.0 && (if side[j] == Side::Lower { cost[j] } else { -cost[j] }) > PIVOT * scale);
        let Some(j) = entering else { break ProgramStatus::Optimal };
        if pivots == cap {
            break ProgramStatus::Capped;
        }
        pivots += 1;
        let sense = if side[j] == Side::Lower { 1.0 } else { -1.0 };
        // How far it may go: to its own other bound, or until a basic variable meets one of its bounds.
        let mut reach = limit[j];
        let mut leaving: Option<(usize, Side)> = None;
        for r in 0..rows {
            let rate = -sense * tableau[r * width + j];
            let (room, to) = if rate < -PIVOT {
                (value[r].max(0.0) / -rate, Side::Lower)
            } else if rate > PIVOT && limit[basis[r]].is_finite() {
                ((limit[basis[r]] - value[r]).max(0.0) / rate, Side::Upper)
            } else {
                continue;
            };
            let earlier = room < reach || (room == reach && leaving.is_some_and(|(l, _)| basis[r] < basis[l]));
            if earlier {
                reach = room;
                leaving = Some((r, to));
            }
        }
        if reach.is_infinite() {
            break ProgramStatus::Unbounded;
        }
        for r in 0..rows {
            value[r] -= sense * tableau[r * width + j] * reach;
        }
        let Some((row, to)) = leaving else {
            side[j] = if side[j] == Side::Lower { Side::Upper } else { Side::Lower };
            continue;
        };
        // Exchange: the leaving variable rests on the bound it met, the entering one takes its row.
        let out = basis[row];
        side[out] = to;
        in_basis[out] = false;
        in_basis[j] = true;
        basis[row] = j;
        value[row] = if sense > 0.0 { reach } else { limit[j] - reach };
        let pivot = tableau[row * width + j];
        for c in 0..width {
            tableau[row * width + c] /= pivot;
        }
        for r in 0..rows {
            let factor = tableau[r * width + j];
            if r != row && factor != 0.0 {
                for c in 0..width {
                    tableau[r * width + c] -= factor * tableau[row * width + c];
                }
            }
        }
        let factor = cost[j];
        for c in 0..width {
            cost[c] -= factor * tableau[row * width + c];
        }
    };
    let mut point: Vec<f64> = (0..n).map(|j| if !in_basis[j] && side[j] == Side::Upper { limit[j] } else { 0.0 }).collect();
    for (r, &b) in basis.iter().enumerate() {
        if b < n {
            point[b] = value[r].clamp(0.0, limit[b]);
        }
    }
    let objective = point.iter().zip(objective).map(|(x, c)| x * c).sum();
    ProgramReport { status, point, objective, pivots }
}

/// Implicit equalities of unit `rows` (m × d) by one program, theory (5.22); none if the simplex method was capped.
///
/// maximise Σ t_i subject to n_i·w ≥ t_i, 0 ≤ t_i ≤ 1, |w_k| ≤ 1/tolerance. Feasible w form a cone, so each t_i ends at 0 or at 1. When the
/// single program is capped, Support and Shave goes on with the rows it could not decide: each round solves for a supporting w and shaves
/// the rows it leaves, until none is left to shave.
pub fn implicit_rows(rows: &[f64], m: usize, d: usize, tolerance: f64) -> Option<Vec<usize>> {
    let mut held: Vec<usize> = (0..m).collect();
    for _ in 0..=m {
        let (point, optimal) = support(rows, &held, d, tolerance);
        let before = held.len();
        let mut index = 0;
        held.retain(|_| {
            let leaves = point[2 * d + index] >= 1.0 / 2.0;
            index += 1;
            !leaves
        });
        if optimal || held.is_empty() {
            return Some(held);
        }
        if held.len() == before {
            return None;
        }
    }
    None
}

/// The supporting w of the rows in `held`: variables are w⁺ (d), w⁻ (d), t.
fn support(rows: &[f64], held: &[usize], d: usize, tolerance: f64) -> (Vec<f64>, bool) {
    let (m, n) = (held.len(), 2 * d + held.len());
    let mut matrix = vec![0.0; m * n];
    for (r, &i) in held.iter().enumerate() {
        for c in 0..d {
            matrix[r * n + c] = -rows[i * d + c];
            matrix[r * n + d + c] = rows[i * d + c];
        }
        matrix[r * n + 2 * d + r] = 1.0;
    }
    let mut objective = vec![0.0; 2 * d];
    objective.resize(n, 1.0);
    let mut upper = vec![1.0 / tolerance; 2 * d];
    upper.resize(n, 1.0);
    let report = maximise(&matrix, &vec![0.0; m], &objective, &upper);
    (report.point, report.status == ProgramStatus::Optimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vertex_known_by_hand() {
        // maximise 3 x + 2 y, x + y <= 4, x + 3 y <= 6, x <= 3: (3, 1) with 11.
        let report = maximise(&[1.0, 1.0, 1.0, 3.0], &[4.0, 6.0], &[3.0, 2.0], &[3.0, f64::INFINITY]);
        assert_eq!(report.status, ProgramStatus::Optimal);
        assert!((report.objective - 11.0).abs() < 1e-12 && (report.point[0] - 3.0).abs() < 1e-12);
    }

    #[test]
    fn no_bound_is_said() {
        let report = maximise(&[-1.0, 1.0], &[1.0], &[1.0, 1.0], &[f64::INFINITY, f64::INFINITY]);
        assert_eq!(report.status, ProgramStatus::Unbounded);
    }

    #[test]
    fn a_cycling_example_ends() {
        // Beale's program, which cycles under the largest-coefficient rule; optimum 1/20.
        let matrix = [0.25, -60.0, -0.04, 9.0, 0.5, -90.0, -0.02, 3.0, 0.0, 0.0, 1.0, 0.0];
        let report = maximise(&matrix, &[0.0, 0.0, 1.0], &[0.75, -150.0, 0.02, -6.0], &[f64::INFINITY; 4]);
        assert_eq!(report.status, ProgramStatus::Optimal);
        assert!((report.objective - 0.05).abs() < 1e-12, "{}", report.objective);
    }

    #[test]
    fn the_classics_of_implicit_equalities() {
        let root = 0.5f64.sqrt();
        let walls = [1.0, 0.0, -1.0, 0.0];
        assert_eq!(implicit_rows(&walls, 2, 2, 1e-6), Some(vec![0, 1]));
        let two_balls = [1.0, 0.0, 0.0, 0.0, -root, 0.0, root, 0.0, 0.0, 0.0, -1.0, 0.0];
        assert_eq!(implicit_rows(&two_balls, 3, 4, 1e-6), Some(vec![0, 1, 2]));
        let trough = [root, root, -root, root, 0.0, 1.0];
        assert_eq!(implicit_rows(&trough, 3, 2, 1e-6), Some(vec![]));
    }
}
