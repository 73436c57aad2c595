//! Nonnegative least squares over a set of contacts: the set is cut into connected groups, each solved by the method of its size.

use super::Gram;
use super::nnls::body::BodyNnls;
use super::nnls::sparse::SparseNnls;
use super::nnls::sweep::SweepNnls;
use super::nnls::{GramNnls, NnlsReport, NnlsStatus};
use carom_math::sparse_cholesky::SparseSymmetric;

/// Contacts above which a connected group goes to the sparse solver: the dense one costs the cube of their number.
const DENSE_LIMIT: usize = 64;

/// Products with the matrix of a large group before it is asked what a factor would cost.
const FIRST_PRODUCTS: usize = 200;
/// Factorisations over the bodies whose cost further products may reach.
const WORTH_FACTORS: f64 = 4.0;
/// Products with the matrix where there are no bodies, before the interior point is asked.
const LONE_PRODUCTS: usize = 600;
/// Margin by which a solution opens all contacts, over its length.
const MARGIN: f64 = 1e-6;

/// Solves min ½ λ·Â λ + b·λ over λ ≥ 0 on subsets of the contacts.
#[derive(Clone, Debug, Default)]
pub struct ConeSolver {
    dense: GramNnls,
    sweeps: SweepNnls,
    bodies: BodyNnls,
    sparse: SparseNnls,
    /// Whether a velocity that opens all contacts of a group is all that is wanted, and whether one was found.
    opening: bool,
    opened: bool,
    matrix: SparseSymmetric,
    place: Vec<usize>,
    group: Vec<usize>,
    gram: Vec<f64>,
    linear: Vec<f64>,
    impulses: Vec<f64>,
}

/// Marks a contact that is not in the set.
const OUTSIDE: usize = usize::MAX;
/// Marks a contact of the set that no group holds yet.
const WAITING: usize = usize::MAX - 1;

impl ConeSolver {
    /// Prepares for problems of m contacts.
    pub fn begin(&mut self, m: usize) {
        self.place.clear();
        self.place.resize(m, OUTSIDE);
    }

    /// Minimises over the contacts of `set` (ascending, all taking part); writes `impulses` at those contacts only, where large groups begin with what
    /// they find.
    ///
    /// Returns whether every group was solved. `shift` is added to the diagonal: 0, or a small number that selects among equal minimisers
    /// the one of least norm.
    pub fn solve(&mut self, gram: &Gram, set: &[usize], linear: &[f64], shift: f64, impulses: &mut [f64]) -> bool {
        for &i in set {
            self.place[i] = WAITING;
        }
        let mut solved = true;
        for &root in set {
            if self.place[root] != WAITING {
                continue;
            }
            self.collect_group(gram, root);
            solved &= self.solve_group(gram, linear, shift, impulses) == NnlsStatus::Solved;
        }
        for &i in set {
            self.place[i] = OUTSIDE;
        }
        solved
    }

    /// The same, ended as soon as some velocity opens all contacts of `set`, a connected group; true if one was found on the way.
    pub fn open(&mut self, gram: &Gram, set: &[usize], linear: &[f64], impulses: &mut [f64]) -> bool {
        self.opening = true;
        self.opened = false;
        self.solve(gram, set, linear, 0.0, impulses);
        self.opening = false;
        self.opened
    }

    /// The contacts of the set connected to `root`, numbered in ascending order.
    fn collect_group(&mut self, gram: &Gram, root: usize) {
        self.group.clear();
        self.group.push(root);
        self.place[root] = 0;
        let mut next = 0;
        while next < self.group.len() {
            for &j in gram.row(self.group[next]).0 {
                if self.place[j] == WAITING {
                    self.place[j] = 0;
                    self.group.push(j);
                }
            }
            next += 1;
        }
        self.group.sort_unstable();
        for (k, &i) in self.group.iter().enumerate() {
            self.place[i] = k;
        }
    }

    fn solve_group(&mut self, gram: &Gram, linear: &[f64], shift: f64, impulses: &mut [f64]) -> NnlsStatus {
        let n = self.group.len();
        if n == 1 {
            impulses[self.group[0]] = (-linear[self.group[0]]).max(0.0) / (1.0 + shift);
            return NnlsStatus::Solved;
        }
        self.linear.clear();
        self.linear.extend(self.group.iter().map(|&i| linear[i]));
        self.impulses.clear();
        self.impulses.extend(self.group.iter().map(|&i| impulses[i]));
        let report = if n <= DENSE_LIMIT { self.solve_dense(gram, shift) } else { self.solve_sparse(gram, shift) };
        for (k, &i) in self.group.iter().enumerate() {
            impulses[i] = self.impulses[k];
        }
        report.status
    }

    fn solve_dense(&mut self, gram: &Gram, shift: f64) -> NnlsReport {
        let n = self.group.len();
        self.gram.clear();
        self.gram.resize(n * n, 0.0);
        for (k, &i) in self.group.iter().enumerate() {
            let (columns, values) = gram.row(i);
            for (&j, &a) in columns.iter().zip(values) {
                let place = self.place[j];
                if place < n && self.group[place] == j {
                    self.gram[k * n + place] = if place == k { a + shift } else { a };
                }
            }
        }
        self.dense.solve(&self.gram, &self.linear, &[], &mut self.impulses)
    }

    fn solve_sparse(&mut self, gram: &Gram, shift: f64) -> NnlsReport {
        let n = self.group.len();
        let matrix = &mut self.matrix;
        matrix.starts.clear();
        matrix.starts.push(0);
        matrix.columns.clear();
        matrix.values.clear();
        for (k, &i) in self.group.iter().enumerate() {
            let (columns, values) = gram.row(i);
            for (&j, &a) in columns.iter().zip(values) {
                let place = self.place[j];
                if place < n && self.group[place] == j {
                    matrix.columns.push(place);
                    matrix.values.push(if place == k { a + shift } else { a });
                }
            }
            matrix.starts.push(matrix.columns.len());
        }
        self.solve_large(gram, shift)
    }

    /// Sweeps first; a factor where they are slow and it is cheap. Over bodies if they are known, else over contacts.
    fn solve_large(&mut self, gram: &Gram, shift: f64) -> NnlsReport {
        let known = !gram.roots().is_empty();
        let report = self.sweep(if known { FIRST_PRODUCTS } else { LONE_PRODUCTS });
        if report.status == NnlsStatus::Solved {
            return report;
        }
        if known {
            self.bodies.system.begin(gram.roots(), 1);
            for &i in &self.group {
                self.bodies.system.add_block(gram.roots(), i, gram.inverse_scale(i));
            }
            let worth = WORTH_FACTORS * self.bodies.system.analyse() / self.matrix.values.len() as f64;
            if worth > FIRST_PRODUCTS as f64 {
                let report = self.sweep(worth as usize);
                if report.status == NnlsStatus::Solved {
                    return report;
                }
            }
            let report = self.bodies.solve(&self.linear, shift, self.opening, &mut self.impulses);
            if report.status == NnlsStatus::Solved {
                self.opened |= self.opening && report.residual == 0.0;
                return report;
            }
        }
        self.sparse.solve(&self.matrix, &self.linear, &mut self.impulses)
    }

    fn sweep(&mut self, products: usize) -> NnlsReport {
        let Self { sweeps, matrix, linear, impulses, opening, opened, .. } = self;
        sweeps.solve(matrix, linear, products, impulses, |x, slope| {
            if *opening {
                // A x opens what it makes positive.
                let square: f64 = x.iter().zip(slope).zip(&*linear).map(|((x, s), b)| x * (s - b)).sum();
                *opened = slope.iter().zip(&*linear).all(|(s, b)| s - b > MARGIN * square.max(0.0).sqrt());
            }
            *opened
        })
    }
}
