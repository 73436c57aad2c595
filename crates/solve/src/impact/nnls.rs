//! Nonnegative least squares by an active set (Lawson and Hanson), in Gram form: minimise ½ x·A x + b·x over x ≥ 0 for a positive
//! semidefinite A (theory (5.8)). [`column`](mod@column) is the form with columns, [`sparse`](mod@sparse) the one for many variables.
//!
//! The passive set P (the columns with x > 0) stays linearly independent, so that the solution can be differentiated.

pub mod body;
pub mod column;
pub mod sparse;
pub mod sweep;

/// Squared sine of the angle to the span of the passive columns below which a column counts as dependent (Gram form). Above the
/// rounding of a Cholesky factor of a few hundred columns; columns this close can only differ by 3e-7 of their length.
pub const GRAM_DEPENDENT: f64 = 1e-13;

/// Gradient, relative to the largest entry of b (scaled by the diagonal), below which a variable stays at zero.
pub const STATIONARY: f64 = 1e-13;

/// Cap on the changes of the passive set, per squared number of variables (and at least this many).
pub(crate) const CHANGES: usize = 3;
pub(crate) const MIN_CHANGES: usize = 30;

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NnlsStatus {
    /// Optimal to rounding.
    Solved,
    /// The cap on changes was reached; the point returned is feasible and better than zero.
    Capped,
}

/// Outcome of a solve.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub struct NnlsReport {
    /// How it ended.
    pub status: NnlsStatus,
    /// Changes of the passive set.
    pub changes: usize,
    /// Largest remaining descent -(A x + b)_j over variables at zero, 0 at an optimum.
    pub residual: f64,
}

/// Gram-form solver with its scratch; reuse it and nothing is allocated once it has seen the largest problem.
#[derive(Clone, Debug, Default)]
pub struct GramNnls {
    passive: Vec<usize>,
    is_passive: Vec<bool>,
    banned: Vec<bool>,
    factor: Vec<f64>,
    forward: Vec<f64>,
    trial: Vec<f64>,
    stride: usize,
}

impl GramNnls {
    /// The passive set of the last solve, in order of entry: linearly independent, x > 0.
    pub fn passive(&self) -> &[usize] {
        &self.passive
    }

    /// Minimises ½ x·A x + b·x over x ≥ 0; `gram` is A by rows (n × n, symmetric), `linear` is b (n), the result is `x` (n).
    ///
    /// `start` proposes a passive set; dependent and negative members are dropped from it.
    pub fn solve(&mut self, gram: &[f64], linear: &[f64], start: &[usize], x: &mut [f64]) -> NnlsReport {
        let n = linear.len();
        self.reset(n);
        x.fill(0.0);
        let scale = (0..n).fold(0.0f64, |s, i| s.max(linear[i].abs() / gram[i * n + i].max(f64::MIN_POSITIVE).sqrt()));
        let tolerance = |i: usize| STATIONARY * scale * gram[i * n + i].max(0.0).sqrt();
        let cap = (CHANGES * n * n).max(MIN_CHANGES);
        let mut changes = self.warm_start(gram, linear, start, x);
        let mut objective = self.objective(linear, x);

        loop {
            // The variable at zero with the steepest descent enters; the least index among equals.
            let mut best = None;
            let mut steepest = 0.0;
            for j in 0..n {
                if self.is_passive[j] || self.banned[j] {
                    continue;
                }
                let mut descent = -linear[j];
                for &k in &self.passive {
                    descent -= gram[j * n + k] * x[k];
                }
                if descent > tolerance(j) && descent > steepest {
                    steepest = descent;
                    best = Some(j);
                }
            }
            let Some(j) = best else { return NnlsReport { status: NnlsStatus::Solved, changes, residual: steepest } };
            if changes >= cap {
                return NnlsReport { status: NnlsStatus::Capped, changes, residual: steepest };
            }
            changes += 1;
            if !self.append(gram, linear, j) {
                self.banned[j] = true;
                continue;
            }
            self.solve_trial();
            if self.trial[self.passive.len() - 1] <= 0.0 {
                // Rounding alone made the gradient look like descent.
                self.remove(self.passive.len() - 1);
                self.banned[j] = true;
                continue;
            }

            // Walk towards the unconstrained minimum of the passive set; whoever reaches zero leaves.
            while let Some((first, limit)) = first_to_vanish(&self.passive, &self.trial, x) {
                for (k, &p) in self.passive.iter().enumerate() {
                    x[p] += limit * (self.trial[k] - x[p]);
                }
                x[self.passive[first]] = 0.0;
                for k in (0..self.passive.len()).rev() {
                    if x[self.passive[k]] <= 0.0 {
                        x[self.passive[k]] = 0.0;
                        self.remove(k);
                        changes += 1;
                    }
                }
                self.solve_trial();
            }
            for (k, &p) in self.passive.iter().enumerate() {
                x[p] = self.trial[k];
            }

            // Each round must lower the objective; one that does not is undone by never choosing its variable again.
            let now = self.objective(linear, x);
            if now < objective {
                objective = now;
                self.banned.fill(false);
            } else {
                self.banned[j] = true;
            }
        }
    }

    fn reset(&mut self, n: usize) {
        self.passive.clear();
        self.forward.clear();
        self.trial.clear();
        self.is_passive.clear();
        self.is_passive.resize(n, false);
        self.banned.clear();
        self.banned.resize(n, false);
        self.stride = n;
        if self.factor.len() < n * n {
            self.factor.resize(n * n, 0.0);
        }
    }

    /// Takes the independent members of `start`, then drops whoever would be negative until the rest is positive.
    fn warm_start(&mut self, gram: &[f64], linear: &[f64], start: &[usize], x: &mut [f64]) -> usize {
        for &j in start {
            if j < linear.len() && !self.is_passive[j] {
                self.append(gram, linear, j);
            }
        }
        let mut changes = 0;
        loop {
            self.solve_trial();
            let before = self.passive.len();
            for k in (0..before).rev() {
                if self.trial[k] <= 0.0 {
                    self.remove(k);
                    changes += 1;
                }
            }
            if self.passive.len() == before {
                break;
            }
        }
        for (k, &p) in self.passive.iter().enumerate() {
            x[p] = self.trial[k];
        }
        changes
    }

    /// On the passive set A x = -b, so the objective is half of b·x.
    fn objective(&self, linear: &[f64], x: &[f64]) -> f64 {
        self.passive.iter().map(|&p| linear[p] * x[p]).sum::<f64>() / 2.0
    }

    /// Adds variable j to the factor L of A_PP; false if its column depends on the others.
    fn append(&mut self, gram: &[f64], linear: &[f64], j: usize) -> bool {
        let (n, k) = (self.stride, self.passive.len());
        let mut pivot = gram[j * n + j];
        let limit = GRAM_DEPENDENT * pivot;
        let mut target = -linear[j];
        for r in 0..k {
            let mut entry = gram[j * n + self.passive[r]];
            for c in 0..r {
                entry -= self.factor[r * n + c] * self.factor[k * n + c];
            }
            entry /= self.factor[r * n + r];
            self.factor[k * n + r] = entry;
            pivot -= entry * entry;
            target -= entry * self.forward[r];
        }
        if pivot.is_nan() || pivot <= limit {
            return false;
        }
        let pivot = pivot.sqrt();
        self.factor[k * n + k] = pivot;
        self.forward.push(target / pivot);
        self.passive.push(j);
        self.is_passive[j] = true;
        true
    }

    /// Removes passive entry k: the rows below lose a column, and rotations restore the triangle and the forward solution.
    fn remove(&mut self, k: usize) {
        let n = self.stride;
        let last = self.passive.len() - 1;
        self.is_passive[self.passive[k]] = false;
        self.passive.remove(k);
        for r in k..last {
            // Row r takes over row r + 1, which reaches one column too far; a rotation of columns r and r + 1 clears that entry.
            let row = (r + 1) * n;
            self.factor.copy_within(row..row + r + 2, r * n);
            let (a, b) = (self.factor[r * n + r], self.factor[r * n + r + 1]);
            let length = a.hypot(b);
            let (c, s) = (a / length, b / length);
            self.factor[r * n + r] = length;
            for below in r + 2..=last {
                let (p, q) = (self.factor[below * n + r], self.factor[below * n + r + 1]);
                self.factor[below * n + r] = c * p + s * q;
                self.factor[below * n + r + 1] = c * q - s * p;
            }
            let (p, q) = (self.forward[r], self.forward[r + 1]);
            self.forward[r] = c * p + s * q;
            self.forward[r + 1] = c * q - s * p;
        }
        self.forward.pop();
    }

    /// Unconstrained minimum on the passive set: Lᵀ s = forward.
    fn solve_trial(&mut self) {
        let (n, k) = (self.stride, self.passive.len());
        self.trial.clear();
        self.trial.extend_from_slice(&self.forward);
        for r in (0..k).rev() {
            let value = self.trial[r] / self.factor[r * n + r];
            self.trial[r] = value;
            for c in 0..r {
                self.trial[c] -= self.factor[r * n + c] * value;
            }
        }
    }
}

/// The passive entry that first reaches zero on the way to the trial point, and the fraction of the way; none if none does.
pub(crate) fn first_to_vanish(passive: &[usize], trial: &[f64], x: &[f64]) -> Option<(usize, f64)> {
    let mut first: Option<(usize, f64)> = None;
    for (k, &p) in passive.iter().enumerate() {
        if trial[k] <= 0.0 {
            let gap = x[p] - trial[k];
            let fraction = if gap > 0.0 { x[p] / gap } else { 0.0 };
            if first.is_none_or(|(_, least)| fraction < least) {
                first = Some((k, fraction));
            }
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impact::nnls::column::ColumnNnls;

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// Unit columns of length d, some of them copies or sums of earlier ones, and a target.
    fn problem(seed: u64) -> (Vec<f64>, Vec<f64>, usize) {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        let (n, d) = (3 + (seed % 17) as usize, 2 + (seed % 7) as usize);
        let mut columns = Vec::new();
        for j in 0..n {
            let mut column: Vec<f64> = (0..d).map(|_| next()).collect();
            if j >= 2 && seed.is_multiple_of(3) && j % 3 == 2 {
                (0..d).for_each(|k| column[k] = columns[(j - 1) * d + k] + columns[(j - 2) * d + k]);
            }
            let length = dot(&column, &column).sqrt();
            columns.extend(column.iter().map(|a| a / length));
        }
        let target = (0..d).map(|_| next()).collect();
        (columns, target, n)
    }

    fn gram_of(columns: &[f64], target: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
        let d = target.len();
        let column = |j: usize| &columns[j * d..(j + 1) * d];
        let gram = (0..n * n).map(|k| dot(column(k / n), column(k % n))).collect();
        (gram, (0..n).map(|j| -dot(column(j), target)).collect())
    }

    /// x ≥ 0, A x + b ≥ 0 and one of the two zero: necessary and sufficient.
    fn check_optimal(gram: &[f64], linear: &[f64], x: &[f64], tolerance: f64) {
        let n = x.len();
        for i in 0..n {
            let slope = linear[i] + dot(&gram[i * n..(i + 1) * n], x);
            assert!(x[i] >= 0.0 && slope >= -tolerance && x[i].min(slope).abs() <= tolerance, "{i}: {} {slope:e}", x[i]);
        }
    }

    #[test]
    fn both_forms_are_optimal_and_agree() {
        let mut solver = GramNnls::default();
        let mut by_columns = ColumnNnls::default();
        let (mut active, mut idle) = (0, 0);
        for seed in 0..3000 {
            let (columns, target, n) = problem(seed);
            let d = target.len();
            let (gram, linear) = gram_of(&columns, &target, n);
            let (mut x, mut y) = (vec![0.0; n], vec![0.0; n]);
            assert_eq!(solver.solve(&gram, &linear, &[], &mut x).status, NnlsStatus::Solved, "{seed}");
            check_optimal(&gram, &linear, &x, 1e-9);
            assert!(solver.passive().iter().all(|&p| x[p] > 0.0) && solver.passive().len() <= d);
            assert_eq!(by_columns.solve(&columns, &target, &mut y, |_, _| false).status, NnlsStatus::Solved, "{seed}");
            check_optimal(&gram, &linear, &y, 1e-12);
            for k in 0..d {
                let (bx, by): (f64, f64) =
                    (0..n).fold((0.0, 0.0), |s, j| (s.0 + columns[j * d + k] * x[j], s.1 + columns[j * d + k] * y[j]));
                assert!((bx - by).abs() < 1e-8, "{seed}: the image is unique");
            }
            active += solver.passive().len();
            idle += n - solver.passive().len();
        }
        assert!(active > 1000 && idle > 1000);
    }

    #[test]
    fn a_warm_start_changes_the_way_and_not_the_end() {
        let mut solver = GramNnls::default();
        for seed in 0..500 {
            let (columns, target, n) = problem(seed);
            let (gram, linear) = gram_of(&columns, &target, n);
            let (mut x, mut y) = (vec![0.0; n], vec![0.0; n]);
            let _ = solver.solve(&gram, &linear, &[], &mut x);
            let mut passive = solver.passive().to_vec();
            let _ = solver.solve(&gram, &linear, &passive, &mut y);
            check_optimal(&gram, &linear, &y, 1e-9);
            if !seed.is_multiple_of(3) {
                let mut again = solver.passive().to_vec();
                passive.sort_unstable();
                again.sort_unstable();
                assert_eq!(passive, again, "{seed}: without redundant columns the passive set is unique");
            }
            // A bad start is repaired, whatever it names.
            let everything: Vec<usize> = (0..n + 2).rev().collect();
            let _ = solver.solve(&gram, &linear, &everything, &mut y);
            check_optimal(&gram, &linear, &y, 1e-9);
        }
    }

    #[test]
    fn a_search_can_be_stopped() {
        let (columns, target, n) = problem(5);
        let mut x = vec![0.0; n];
        let mut asked = 0;
        let report = ColumnNnls::default().solve(&columns, &target, &mut x, |_, _| {
            asked += 1;
            asked == 2
        });
        assert_eq!((report.status, asked, x.iter().filter(|a| **a > 0.0).count()), (NnlsStatus::Solved, 2, 1));
    }
}
