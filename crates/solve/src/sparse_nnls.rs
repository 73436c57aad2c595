//! Nonnegative least squares with many variables and few couplings: minimise ½ x·A x + b·x over x ≥ 0, A sparse (theory (5.8)).
//!
//! A predictor-corrector interior point finds who pushes: its systems are A plus a positive diagonal, so redundant variables do no harm and
//! the number of steps hardly grows. Proximal steps on that set, centred on the interior solution, then sharpen it to rounding. The
//! variables are eliminated in nested-dissection order, so that one factor of a pile of m contacts costs at most m² operations.

use crate::nnls::{NnlsReport, NnlsStatus, STATIONARY};

/// Cap on interior-point steps; 15 to 30 are usual.
const MAX_STEPS: usize = 80;
/// Complementarity x·s per variable, relative to its scale, at which the interior point stops: the set is known by then, and the systems
/// start to lose digits.
const COMPLEMENTARITY: f64 = 1e-13;
/// Share of the way to the nearest bound that a step may go.
const STEP_SHARE: f64 = 0.995;
/// Shift of the diagonal in the proximal steps: large enough that redundant columns factor safely, small enough that few steps remain.
const SHIFT: f64 = 1e-7;
/// Cap on proximal steps; each gains a factor of the smallest nonzero eigenvalue over the shift.
const MAX_PROXIMAL: usize = 30;
/// Least diagonal added in an interior-point step: keeps redundant columns factorable to the end.
const LEAST_DIAGONAL: f64 = 1e-14;
/// Least pivot of a factor, relative to the unit diagonal: below it only rounding is left.
const LEAST_PIVOT: f64 = 1e-18;
/// Sets no larger than this are not dissected further.
const LEAF: usize = 24;

/// A symmetric sparse matrix by compressed rows, both triangles, columns in any order.
#[derive(Clone, Debug, Default)]
pub struct SparseSymmetric {
    /// Row boundaries (n + 1).
    pub starts: Vec<usize>,
    /// Column of each entry.
    pub columns: Vec<usize>,
    /// Value of each entry.
    pub values: Vec<f64>,
}

impl SparseSymmetric {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entries(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        (self.starts[i]..self.starts[i + 1]).map(|e| (self.columns[e], self.values[e]))
    }
}

/// Solver with its scratch.
#[derive(Clone, Debug, Default)]
pub struct SparseNnls {
    order: Vec<usize>,
    place: Vec<usize>,
    members: Vec<usize>,
    diagonal: Vec<f64>,
    factor: Factor,
    slack: Vec<f64>,
    image: Vec<f64>,
    step: Vec<f64>,
    slack_step: Vec<f64>,
    interior: Vec<f64>,
    right: Vec<f64>,
    dissection: Dissection,
}

impl SparseNnls {
    /// Minimises ½ x·A x + b·x over x ≥ 0 for the symmetric positive semidefinite `matrix` with diagonal near 1 and `linear` b (n); the
    /// result is `x` (n).
    pub fn solve(&mut self, matrix: &SparseSymmetric, linear: &[f64], x: &mut [f64]) -> NnlsReport {
        let scale = linear.iter().fold(0.0f64, |s, b| s.max(b.abs()));
        if linear.iter().all(|&b| b >= 0.0) {
            x.fill(0.0);
            return NnlsReport { status: NnlsStatus::Solved, changes: 0, residual: 0.0 };
        }
        self.dissection.order(matrix, &mut self.order);
        let (steps, converged) = self.interior_point(matrix, linear, scale, x);
        let residual = self.sharpen(matrix, linear, scale, x);
        let solved = converged && residual <= SHARP * scale;
        NnlsReport { status: if solved { NnlsStatus::Solved } else { NnlsStatus::Capped }, changes: steps, residual }
    }

    /// Mehrotra's predictor-corrector on A x + b = s, x·s = 0; leaves x > 0 and the slack s > 0.
    fn interior_point(&mut self, matrix: &SparseSymmetric, linear: &[f64], scale: f64, x: &mut [f64]) -> (usize, bool) {
        let n = linear.len();
        self.members.clear();
        self.members.extend_from_slice(&self.order);
        self.place.clear();
        self.place.resize(n, 0);
        for (k, &i) in self.members.iter().enumerate() {
            self.place[i] = k;
        }
        x.fill(scale);
        self.slack.clear();
        self.slack.resize(n, scale);
        for taken in 0..MAX_STEPS {
            let gap = x.iter().zip(&self.slack).map(|(x, s)| x * s).sum::<f64>() / n as f64;
            self.image.clear();
            let mut infeasible: f64 = 0.0;
            for i in 0..n {
                let value = linear[i] + matrix.entries(i).map(|(j, a)| a * x[j]).sum::<f64>();
                infeasible = infeasible.max((value - self.slack[i]).abs());
                self.image.push(value);
            }
            let size = scale * x.iter().fold(scale, |s, a| s.max(*a));
            if gap <= COMPLEMENTARITY * size && infeasible <= INFEASIBLE * scale {
                return (taken, true);
            }
            self.diagonal.clear();
            self.diagonal.extend(self.members.iter().map(|&i| (self.slack[i] / x[i]).max(LEAST_DIAGONAL)));
            self.factor.compute(matrix, &self.members, &self.place, &self.diagonal);
            // Predictor: straight at the solution. Corrector: as much centring as the predictor fell short, and its second-order error.
            self.newton(x, 0.0, false);
            let (primal, dual) = (reach(x, &self.step), reach(&self.slack, &self.slack_step));
            let mut predicted = 0.0;
            for i in 0..n {
                predicted += (x[i] + primal * self.step[i]) * (self.slack[i] + dual * self.slack_step[i]);
            }
            let ratio = predicted / n as f64 / gap;
            self.newton(x, ratio * ratio * ratio * gap, true);
            let (primal, dual) = (STEP_SHARE * reach(x, &self.step), STEP_SHARE * reach(&self.slack, &self.slack_step));
            let finite = self.step.iter().chain(&self.slack_step).all(|d| d.is_finite());
            if !finite || primal.min(dual) < SHORTEST {
                // As far as rounding allows; whether it is far enough the sharpened solution will show.
                return (taken, true);
            }
            let (primal, dual) = (primal.min(1.0), dual.min(1.0));
            // One length for both keeps the quadratic's residual falling.
            let length = primal.min(dual);
            for i in 0..n {
                x[i] += length * self.step[i];
                self.slack[i] += length * self.slack_step[i];
            }
        }
        (MAX_STEPS, false)
    }

    /// (A + s/x) Δx = -(A x + b) + (σμ - correction)/x and Δs = (σμ - correction)/x - s - (s/x) Δx.
    fn newton(&mut self, x: &[f64], centre: f64, correct: bool) {
        let n = x.len();
        self.right.clear();
        for &i in &self.members {
            let correction = if correct { self.step[i] * self.slack_step[i] } else { 0.0 };
            self.right.push((centre - correction) / x[i] - self.image[i]);
        }
        self.factor.solve(&mut self.right);
        if !correct {
            self.step.clear();
            self.step.resize(n, 0.0);
            self.slack_step.clear();
            self.slack_step.resize(n, 0.0);
        }
        for (k, &i) in self.members.iter().enumerate() {
            let correction = if correct { self.step[i] * self.slack_step[i] } else { 0.0 };
            let step = self.right[k];
            self.slack_step[i] = (centre - correction) / x[i] - self.slack[i] - self.slack[i] / x[i] * step;
            self.step[i] = step;
        }
    }

    /// Solves A x + b = 0 on the set that pushes, starting from the interior solution; returns the largest violation of optimality.
    fn sharpen(&mut self, matrix: &SparseSymmetric, linear: &[f64], scale: f64, x: &mut [f64]) -> f64 {
        let n = linear.len();
        self.interior.clear();
        self.interior.extend_from_slice(x);
        self.members.clear();
        self.members.extend(self.order.iter().copied().filter(|&i| x[i] > self.slack[i]));
        self.place.fill(usize::MAX);
        for (k, &i) in self.members.iter().enumerate() {
            self.place[i] = k;
        }
        self.diagonal.clear();
        self.diagonal.resize(self.members.len(), SHIFT);
        self.factor.compute(matrix, &self.members, &self.place, &self.diagonal);
        for i in 0..n {
            if self.place[i] == usize::MAX {
                x[i] = 0.0;
            }
        }
        for _ in 0..MAX_PROXIMAL {
            self.right.clear();
            let mut worst: f64 = 0.0;
            for &i in &self.members {
                let slope = linear[i] + matrix.entries(i).map(|(j, a)| a * x[j]).sum::<f64>();
                worst = worst.max(slope.abs());
                self.right.push(-slope);
            }
            if worst <= STATIONARY * scale {
                break;
            }
            self.factor.solve(&mut self.right);
            for (k, &i) in self.members.iter().enumerate() {
                x[i] += self.right[k];
            }
        }
        x.iter_mut().for_each(|a| *a = a.max(0.0));
        let sharp = violation(matrix, linear, x);
        // A set guessed wrongly shows here; then the interior solution, feasible and nearly optimal, is the better answer.
        if sharp > SHARP * scale {
            let soft = violation(matrix, linear, &self.interior);
            if soft < sharp {
                x.copy_from_slice(&self.interior);
                return soft;
            }
        }
        sharp
    }
}

/// Violation of optimality, relative to b, up to which a sharpened solution counts as solved.
const SHARP: f64 = 1e-10;
/// Residual of A x + b = s, relative to b, at which the interior point may stop.
const INFEASIBLE: f64 = 1e-11;
/// Step length below which the interior point is stuck.
const SHORTEST: f64 = 1e-8;

/// Largest of -slope (at zero) and |min(x, slope)|: 0 at the optimum.
fn violation(matrix: &SparseSymmetric, linear: &[f64], x: &[f64]) -> f64 {
    let mut worst: f64 = 0.0;
    for i in 0..x.len() {
        let slope = linear[i] + matrix.entries(i).map(|(j, a)| a * x[j]).sum::<f64>();
        let miss = x[i].min(slope).abs();
        if miss.is_nan() {
            return f64::INFINITY;
        }
        worst = worst.max(miss);
    }
    worst
}

/// Share of a step at which the first entry vanishes; infinite if none does.
fn reach(x: &[f64], step: &[f64]) -> f64 {
    let mut share = f64::INFINITY;
    for (x, d) in x.iter().zip(step) {
        if *d < 0.0 {
            share = share.min(-x / d);
        }
    }
    share.min(1.0 / STEP_SHARE)
}

/// Sparse Cholesky factor L Lᵀ of the matrix plus a diagonal, on some of the variables, by columns.
#[derive(Clone, Debug, Default)]
struct Factor {
    parent: Vec<usize>,
    starts: Vec<usize>,
    ends: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
    diagonal: Vec<f64>,
    mark: Vec<usize>,
    reach: Vec<usize>,
    path: Vec<usize>,
    work: Vec<f64>,
}

/// No parent in the elimination tree.
const ROOT: usize = usize::MAX;

impl Factor {
    /// Row by row: row k of L is a triangular solve with the rows above, over the columns that its entries reach in the elimination tree.
    fn compute(&mut self, matrix: &SparseSymmetric, members: &[usize], place: &[usize], added: &[f64]) {
        let n = members.len();
        self.elimination_tree(matrix, members, place);
        // Counts of the columns, then room for them.
        self.ends.clear();
        self.ends.resize(n, 0);
        self.mark.clear();
        self.mark.resize(n, ROOT);
        for k in 0..n {
            self.reach_of(k, matrix, members, place);
            for r in 0..self.reach.len() {
                self.ends[self.reach[r]] += 1;
            }
        }
        self.starts.clear();
        self.starts.push(0);
        let mut total = 0;
        for k in 0..n {
            total += self.ends[k];
            self.starts.push(total);
            self.ends[k] = self.starts[k];
        }
        self.rows.resize(total, 0);
        self.values.resize(total, 0.0);
        self.diagonal.clear();
        self.work.clear();
        self.work.resize(n, 0.0);
        self.mark.fill(ROOT);
        for k in 0..n {
            self.reach_of(k, matrix, members, place);
            let mut pivot = added[k];
            for (j, a) in matrix.entries(members[k]) {
                let c = place[j];
                if c == k {
                    pivot += a;
                } else if c < k {
                    self.work[c] = a;
                }
            }
            for r in 0..self.reach.len() {
                let c = self.reach[r];
                let entry = self.work[c] / self.diagonal[c];
                self.work[c] = 0.0;
                for e in self.starts[c]..self.ends[c] {
                    self.work[self.rows[e]] -= self.values[e] * entry;
                }
                pivot -= entry * entry;
                self.rows[self.ends[c]] = k;
                self.values[self.ends[c]] = entry;
                self.ends[c] += 1;
            }
            self.diagonal.push(pivot.max(LEAST_PIVOT).sqrt());
        }
    }

    fn elimination_tree(&mut self, matrix: &SparseSymmetric, members: &[usize], place: &[usize]) {
        let n = members.len();
        self.parent.clear();
        self.parent.resize(n, ROOT);
        // `mark` holds the root found so far of each subtree, with paths shortened as they are walked.
        self.mark.clear();
        self.mark.resize(n, ROOT);
        for k in 0..n {
            for (j, _) in matrix.entries(members[k]) {
                let mut c = place[j];
                while c < k {
                    let next = self.mark[c];
                    self.mark[c] = k;
                    if next == ROOT {
                        self.parent[c] = k;
                        break;
                    }
                    c = next;
                }
            }
        }
    }

    /// Columns of row k, ascending along every path of the tree.
    fn reach_of(&mut self, k: usize, matrix: &SparseSymmetric, members: &[usize], place: &[usize]) {
        self.reach.clear();
        self.mark[k] = k;
        for (j, _) in matrix.entries(members[k]) {
            let mut c = place[j];
            if c >= k {
                continue;
            }
            self.path.clear();
            while self.mark[c] != k {
                self.mark[c] = k;
                self.path.push(c);
                c = self.parent[c];
            }
            // Later paths end on earlier ones and must come first.
            self.reach.extend(self.path.iter().rev());
        }
        self.reach.reverse();
    }

    /// x ← (L Lᵀ)⁻¹ x.
    fn solve(&self, x: &mut [f64]) {
        let n = self.diagonal.len();
        for c in 0..n {
            x[c] /= self.diagonal[c];
            let value = x[c];
            for e in self.starts[c]..self.ends[c] {
                x[self.rows[e]] -= self.values[e] * value;
            }
        }
        for c in (0..n).rev() {
            for e in self.starts[c]..self.ends[c] {
                x[c] -= self.values[e] * x[self.rows[e]];
            }
            x[c] /= self.diagonal[c];
        }
    }
}

/// Nested dissection by level sets: the middle level of a breadth-first search parts the graph and is eliminated last.
#[derive(Clone, Debug, Default)]
struct Dissection {
    part: Vec<usize>,
    level: Vec<usize>,
    queue: Vec<usize>,
    stack: Vec<(usize, usize)>,
}

impl Dissection {
    /// Writes the order of elimination; every stretch of it on the stack is still to be parted.
    fn order(&mut self, matrix: &SparseSymmetric, order: &mut Vec<usize>) {
        let n = matrix.len();
        order.clear();
        order.extend(0..n);
        self.part.clear();
        self.part.resize(n, 0);
        self.level.clear();
        self.level.resize(n, 0);
        let mut parts = 0;
        self.stack.push((0, n));
        while let Some((start, end)) = self.stack.pop() {
            let set = &mut order[start..end];
            if set.len() <= LEAF {
                continue;
            }
            parts += 1;
            set.iter().for_each(|&i| self.part[i] = parts);
            // A far end of the set gives thin levels.
            self.search(matrix, set[0], parts);
            let far = self.queue[self.queue.len() - 1];
            self.search(matrix, far, parts);
            let reached = self.queue.len();
            if reached < set.len() {
                // Not connected: the part reached, and the others.
                self.queue.iter().for_each(|&i| self.part[i] = 0);
                self.queue.extend(set.iter().filter(|&&i| self.part[i] == parts));
                set.copy_from_slice(&self.queue);
                self.stack.push((start, start + reached));
                self.stack.push((start + reached, end));
                continue;
            }
            let depth = self.level[self.queue[reached - 1]];
            if depth < 2 {
                continue;
            }
            // The queue runs by levels: what is before the middle level, what is after, then the level itself.
            let middle = self.level[self.queue[reached / 2]].clamp(1, depth - 1);
            let first = self.queue.partition_point(|&i| self.level[i] < middle);
            let last = self.queue.partition_point(|&i| self.level[i] <= middle);
            let after = reached - last;
            set[..first].copy_from_slice(&self.queue[..first]);
            set[first..first + after].copy_from_slice(&self.queue[last..]);
            set[first + after..].copy_from_slice(&self.queue[first..last]);
            self.stack.push((start, start + first));
            self.stack.push((start + first, start + first + after));
        }
    }

    /// Breadth-first search from `root` within one part: `queue` in order, `level` of each.
    fn search(&mut self, matrix: &SparseSymmetric, root: usize, part: usize) {
        /// Added to a part's number while its members are queued.
        const SEEN: usize = usize::MAX / 2;
        self.queue.clear();
        self.queue.push(root);
        self.level[root] = 0;
        self.part[root] += SEEN;
        let mut next = 0;
        while next < self.queue.len() {
            let i = self.queue[next];
            next += 1;
            for e in matrix.starts[i]..matrix.starts[i + 1] {
                let j = matrix.columns[e];
                if self.part[j] == part {
                    self.part[j] += SEEN;
                    self.level[j] = self.level[i] + 1;
                    self.queue.push(j);
                }
            }
        }
        self.queue.iter().for_each(|&i| self.part[i] = part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nnls::GramNnls;

    /// A chain of blocks with `redundant` copies of some rows: Gram matrix of random rows that overlap with their neighbours.
    fn random_problem(n: usize, seed: u64, redundant: bool) -> (SparseSymmetric, Vec<f64>, Vec<f64>) {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        let width = 4;
        let mut rows: Vec<(usize, Vec<f64>)> = Vec::new();
        for i in 0..n {
            if redundant && i % 3 == 2 {
                let copy = rows[i - 1].clone();
                rows.push(copy);
            } else {
                rows.push((i, (0..width).map(|_| next()).collect()));
            }
            let length = rows[i].1.iter().map(|a| a * a).sum::<f64>().sqrt();
            rows[i].1.iter_mut().for_each(|a| *a /= length);
        }
        let target: Vec<f64> = (0..n + width).map(|_| next()).collect();
        let entry = |a: &(usize, Vec<f64>), b: &(usize, Vec<f64>)| {
            let mut sum = 0.0;
            for k in 0..width {
                let at = a.0 + k;
                if at >= b.0 && at < b.0 + width {
                    sum += a.1[k] * b.1[at - b.0];
                }
            }
            sum
        };
        let mut matrix = SparseSymmetric { starts: vec![0], ..SparseSymmetric::default() };
        let mut dense = vec![0.0; n * n];
        let mut linear = Vec::new();
        for i in 0..n {
            for j in 0..n {
                let a = entry(&rows[i], &rows[j]);
                dense[i * n + j] = a;
                if a != 0.0 {
                    matrix.columns.push(j);
                    matrix.values.push(a);
                }
            }
            matrix.starts.push(matrix.columns.len());
            linear.push((0..width).map(|k| rows[i].1[k] * target[rows[i].0 + k]).sum());
        }
        (matrix, linear, dense)
    }

    #[test]
    fn sparse_and_dense_roads_agree() {
        for seed in 0..40 {
            let (matrix, linear, dense) = random_problem(60, seed, seed % 2 == 0);
            let n = linear.len();
            let (mut sparse, mut reference) = (vec![0.0; n], vec![0.0; n]);
            let report = SparseNnls::default().solve(&matrix, &linear, &mut sparse);
            assert_eq!(report.status, NnlsStatus::Solved, "{seed}");
            let _ = GramNnls::default().solve(&dense, &linear, &[], &mut reference);
            let image = |x: &[f64]| (0..n).map(|i| (0..n).map(|j| dense[i * n + j] * x[j]).sum::<f64>()).collect::<Vec<_>>();
            let error = image(&sparse).iter().zip(&image(&reference)).fold(0.0f64, |s, (a, b)| s.max((a - b).abs()));
            assert!(error < 1e-11, "{seed}: {error:e}");
            assert!(sparse.iter().any(|&x| x > 0.0) && sparse.contains(&0.0));
        }
    }

    #[test]
    fn optimality_holds_for_many_variables() {
        let (matrix, linear, _) = random_problem(1200, 7, true);
        let mut x = vec![0.0; linear.len()];
        let report = SparseNnls::default().solve(&matrix, &linear, &mut x);
        assert_eq!(report.status, NnlsStatus::Solved);
        for i in 0..x.len() {
            let slope: f64 = linear[i] + matrix.entries(i).map(|(j, a)| a * x[j]).sum::<f64>();
            assert!(x[i] >= 0.0 && slope > -1e-11 && (x[i] * slope).abs() < 1e-10, "{i}: {} {slope}", x[i]);
        }
    }

    #[test]
    fn dissection_orders_every_variable_once() {
        let (matrix, _, _) = random_problem(500, 3, false);
        let mut order = Vec::new();
        Dissection::default().order(&matrix, &mut order);
        order.sort_unstable();
        assert_eq!(order, (0..500).collect::<Vec<_>>());
    }
}
