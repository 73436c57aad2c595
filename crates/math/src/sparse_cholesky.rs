//! Sparse Cholesky factors of symmetric matrices, and the order of elimination that keeps them sparse.

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

    /// Columns and values of row i.
    pub fn entries(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        (self.starts[i]..self.starts[i + 1]).map(|e| (self.columns[e], self.values[e]))
    }
}

/// Sparse Cholesky factor L Lᵀ of the matrix plus a diagonal, on some of the variables, by columns.
#[derive(Clone, Debug, Default)]
pub struct Factor {
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
    /// Factors the matrix, restricted to `members` in the order they are eliminated, plus the diagonal `added`; `place` is the inverse of
    /// `members`, with numbers beyond its length for variables left out.
    ///
    /// Row by row: row k of L is a triangular solve with the rows above, over the columns that its entries reach in the elimination tree.
    pub fn compute(&mut self, matrix: &SparseSymmetric, members: &[usize], place: &[usize], added: &[f64]) {
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

    /// Number of entries below the diagonal.
    pub fn entries(&self) -> usize {
        self.ends.iter().zip(&self.starts).map(|(end, start)| end - start).sum()
    }

    /// x ← (L Lᵀ)⁻¹ x.
    pub fn solve(&self, x: &mut [f64]) {
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
pub struct Dissection {
    part: Vec<usize>,
    level: Vec<usize>,
    queue: Vec<usize>,
    stack: Vec<(usize, usize)>,
}

impl Dissection {
    /// Writes the order of elimination; every stretch of it on the stack is still to be parted.
    pub fn order(&mut self, matrix: &SparseSymmetric, order: &mut Vec<usize>) {
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

    /// The five-point grid of a square with `side` points, diagonally dominant.
    fn grid(side: usize) -> SparseSymmetric {
        let mut matrix = SparseSymmetric { starts: vec![0], ..SparseSymmetric::default() };
        for i in 0..side * side {
            let (r, c) = (i / side, i % side);
            let mut push = |j: usize, a: f64| {
                matrix.columns.push(j);
                matrix.values.push(a);
            };
            push(i, 4.1);
            if r > 0 {
                push(i - side, -1.0);
            }
            if c > 0 {
                push(i - 1, -1.0);
            }
            if c + 1 < side {
                push(i + 1, -1.0);
            }
            if r + 1 < side {
                push(i + side, -1.0);
            }
            matrix.starts.push(matrix.columns.len());
        }
        matrix
    }

    #[test]
    fn a_grid_is_solved_in_dissection_order_with_little_fill() {
        let matrix = grid(40);
        let n = matrix.len();
        let mut order = Vec::new();
        Dissection::default().order(&matrix, &mut order);
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(k, &i)| place[i] = k);
        let mut factor = Factor::default();
        factor.compute(&matrix, &order, &place, &vec![0.0; n]);
        let mut x: Vec<f64> = order.iter().map(|&i| (i % 7) as f64 - 3.0).collect();
        factor.solve(&mut x);
        for i in 0..n {
            let image: f64 = matrix.entries(i).map(|(j, a)| a * x[place[j]]).sum();
            assert!((image - ((i % 7) as f64 - 3.0)).abs() < 1e-12);
        }
        // Eliminated row by row the factor would hold n · side entries.
        assert!(factor.entries() < n * 40 / 2, "{}", factor.entries());
    }

    #[test]
    fn every_variable_is_ordered_once_also_when_the_graph_falls_apart() {
        let mut matrix = grid(15);
        let far = matrix.len();
        for i in 0..50 {
            matrix.columns.push(far + i);
            matrix.values.push(1.0);
            matrix.starts.push(matrix.columns.len());
        }
        let mut order = Vec::new();
        Dissection::default().order(&matrix, &mut order);
        order.sort_unstable();
        assert_eq!(order, (0..far + 50).collect::<Vec<_>>());
    }
}
