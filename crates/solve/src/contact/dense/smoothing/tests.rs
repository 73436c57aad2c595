//! The smoothed problem with a whole matrix: its derivative is everywhere smooth, contacts that do not touch included, theory (18.4).

use super::*;
use crate::contact::chain::ContactSolver;
use crate::contact::chain::samples::{Random, random_sample};
use crate::contact::dense::contact_derivative::tests::{change_of, moved};
use crate::contact::dense::contact_derivative::{ContactDerivative, ProblemChange};
use crate::contact::problem::{Cone, Problem};
use carom_math::consistent::Consistent;
use carom_math::dense::{dot, max_abs};

/// The rows of a dense problem; those without room (friction 0, equal bounds) keep their impulse.
#[derive(Clone, Debug, Default)]
struct DenseRows {
    size: usize,
    matrix: Vec<f64>,
    held: Vec<bool>,
    factor: Consistent,
}

impl DenseRows {
    fn load(&mut self, problem: &Problem) {
        self.size = problem.rows();
        self.matrix.clear();
        self.matrix.extend_from_slice(problem.matrix);
        self.held.clear();
        for block in problem.blocks {
            match *block {
                Block::Contact { friction } => {
                    self.held.push(false);
                    self.held.extend((0..problem.tangents).map(|_| friction <= 0.0));
                }
                Block::Unilateral => self.held.push(false),
                Block::Bounded { lower, upper } => self.held.push(lower >= upper),
            }
        }
    }

    /// Factors S + slopes with the rows and columns of what is held left out.
    fn factor(&mut self, slopes: &[(usize, usize, f64)]) -> bool {
        let n = self.size;
        let system = self.factor.matrix(n);
        for i in 0..n {
            for j in 0..n {
                let held = self.held[i] || self.held[j];
                system[i * n + j] = if held { f64::from(u8::from(i == j)) } else { self.matrix[i * n + j] };
            }
        }
        for &(i, j, slope) in slopes.iter().filter(|(i, j, _)| !self.held[*i] && !self.held[*j]) {
            system[i * n + j] += slope;
        }
        self.factor.factor()
    }
}

impl Rows for DenseRows {
    fn speeds(&mut self, change: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(self.matrix.chunks_exact(self.size)).for_each(|(out, row)| *out = dot(row, change));
        out.iter_mut().zip(&self.held).filter(|(_, held)| **held).for_each(|(out, _)| *out = 0.0);
    }

    fn solve(&mut self, slopes: &[(usize, usize, f64)], right: &mut [f64]) -> bool {
        if !self.factor(slopes) {
            return false;
        }
        right.iter_mut().zip(&self.held).filter(|(_, held)| **held).for_each(|(x, _)| *x = 0.0);
        self.factor.solve(right);
        true
    }
}

/// The derivative of the impulses of one smoothed [`Problem`] with round cones; keeps its scratch between problems.
#[derive(Clone, Debug, Default)]
struct SmoothedDerivative {
    rows: DenseRows,
    smoothing: Smoothing,
    blocks: Vec<Block>,
    speeds: Vec<f64>,
    mobility: Vec<f64>,
    drive: Vec<f64>,
}

impl SmoothedDerivative {
    /// A derivative of nothing yet.
    fn new() -> Self {
        Self::default()
    }

    /// Solves the smoothed problem next to the solved one for a product kappa > 0 \[J\] and factors its system; nothing is returned where
    /// shapes disagree, kappa is not positive or the system cannot be factored.
    fn prepare(&mut self, problem: &Problem, impulses: &[f64], kappa: f64) -> Option<Reached> {
        let n = problem.rows();
        if problem.check().is_err() || impulses.len() != n || !(kappa > 0.0 && kappa.is_finite()) {
            return None;
        }
        self.rows.load(problem);
        self.blocks.clear();
        // What is held has no law of its own any more.
        self.blocks.extend(problem.blocks.iter().map(|block| match *block {
            Block::Bounded { lower, upper } if lower >= upper => Block::Bounded { lower: f64::NEG_INFINITY, upper: f64::INFINITY },
            block => block,
        }));
        let speed = |row: usize| dot(&problem.matrix[row * n..(row + 1) * n], impulses) + problem.free[row];
        self.speeds.clear();
        self.speeds.extend((0..n).map(|row| if self.rows.held[row] { 0.0 } else { speed(row) }));
        self.mobility.clear();
        self.mobility.extend((0..n).map(|row| problem.matrix[row * (n + 1)]));
        let solved = Solved { blocks: &self.blocks, tangents: problem.tangents, impulses, speeds: &self.speeds, mobility: &self.mobility };
        let reached = self.smoothing.solve(&mut self.rows, &solved, kappa);
        self.rows.factor(self.smoothing.slopes()).then_some(reached)
    }

    /// Impulses of the smoothed problem.
    fn impulses(&self) -> &[f64] {
        self.smoothing.impulses()
    }

    /// Change of the smoothed impulses under a change of the problem, theory (18.4).
    fn tangent(&mut self, problem: &Problem, change: &ProblemChange, impulses_dot: &mut [f64]) {
        let n = problem.rows();
        let l = self.smoothing.impulses();
        for (row, out) in impulses_dot.iter_mut().enumerate() {
            *out = -(dot(&change.matrix[row * n..(row + 1) * n], l) + change.free[row]);
        }
        let mut row = 0;
        for (index, block) in self.blocks.iter().enumerate() {
            let by = self.smoothing.by_parameters(*block, problem.tangents, row);
            if let Block::Contact { .. } = block {
                (0..problem.tangents).for_each(|k| impulses_dot[row + 1 + k] -= by.friction[k] * change.friction[index]);
            } else {
                impulses_dot[row] -= by.lower * change.lower[index] + by.upper * change.upper[index];
            }
            row += block.rows(problem.tangents);
        }
        impulses_dot.iter_mut().zip(&self.rows.held).filter(|(_, held)| **held).for_each(|(x, _)| *x = 0.0);
        self.rows.factor.solve(impulses_dot);
    }

    /// Cotangents of the problem for a cotangent of the smoothed impulses; that of the matrix is symmetric.
    fn adjoint(&mut self, problem: &Problem, impulses_bar: &[f64], bar: &mut ProblemChange) {
        let n = problem.rows();
        bar.reset(problem);
        self.drive.clear();
        self.drive.extend(impulses_bar.iter().zip(&self.rows.held).map(|(x, held)| if *held { 0.0 } else { -x }));
        self.rows.factor.solve_transpose(&mut self.drive);
        self.drive.iter_mut().zip(&self.rows.held).filter(|(_, held)| **held).for_each(|(x, _)| *x = 0.0);
        let l = self.smoothing.impulses();
        bar.free.copy_from_slice(&self.drive);
        for i in 0..n {
            for j in 0..n {
                bar.matrix[i * n + j] = (self.drive[i] * l[j] + self.drive[j] * l[i]) / 2.0;
            }
        }
        let mut row = 0;
        for (index, block) in self.blocks.iter().enumerate() {
            let by = self.smoothing.by_parameters(*block, problem.tangents, row);
            if let Block::Contact { .. } = block {
                bar.friction[index] = (0..problem.tangents).map(|k| by.friction[k] * self.drive[row + 1 + k]).sum();
            } else {
                bar.lower[index] = by.lower * self.drive[row];
                bar.upper[index] = by.upper * self.drive[row];
            }
            row += block.rows(problem.tangents);
        }
    }
}

/// A unit mass over a plane: l w = kappa with w = l + u has l = (sqrt(u^2 + 4 kappa) - u)/2.
#[test]
fn one_contact_has_its_closed_form() {
    let (blocks, matrix) = ([Block::Unilateral], [1.0]);
    let kappa = 1e-4;
    for u in [-1.0, -1e-3, 0.0, 1e-3, 1.0] {
        let free = [u];
        let problem = Problem { tangents: 1, blocks: &blocks, matrix: &matrix, free: &free, cone: Cone::Round };
        let mut derivative = SmoothedDerivative::new();
        let exact = [(-u).max(0.0)];
        let reached = derivative.prepare(&problem, &exact, kappa).unwrap();
        assert!(reached.solved, "{reached:?}");
        let root = (u * u + 4.0 * kappa).sqrt();
        let l = if u < 0.0 { (root - u) / 2.0 } else { 2.0 * kappa / (root + u) };
        assert!((derivative.impulses()[0] - l).abs() < 1e-12 * l, "{u}");
        let mut bar = ProblemChange::default();
        derivative.adjoint(&problem, &[1.0], &mut bar);
        assert!((bar.free[0] - (u / root - 1.0) / 2.0).abs() < 1e-10, "{u}: {}", bar.free[0]);
        assert!(bar.free[0] < 0.0, "felt even where it does not touch");
    }
}

fn smoothed(derivative: &mut SmoothedDerivative, sample: &crate::contact::chain::samples::Sample, kappa: f64) -> Option<Vec<f64>> {
    let mut l = vec![0.0; sample.free.len()];
    let _ = ContactSolver::new().solve(&sample.problem(), None, &mut l);
    let reached = derivative.prepare(&sample.problem(), &l, kappa)?;
    reached.solved.then(|| derivative.impulses().to_vec())
}

/// Two roads: the implicit derivative against differences of smoothed problems solved anew, in velocities of the bodies.
#[test]
fn random_smoothed_problems_move_as_their_differences() {
    let mut derivative = SmoothedDerivative::new();
    let (mut compared, mut unsolved, mut worst) = (0, 0, 0.0f64);
    for seed in 0..200 {
        let sample = random_sample(seed, 1 + (seed % 2) as usize, 5);
        let kappa = [1e-2, 1e-3, 1e-4][(seed % 3) as usize];
        let Some(l) = smoothed(&mut derivative, &sample, kappa) else {
            unsolved += 1;
            continue;
        };
        let mut dl = vec![0.0; l.len()];
        derivative.tangent(&sample.problem(), &change_of(&sample, seed), &mut dl);
        let after = |way: f64, l: &[f64]| moved(&sample, seed, way).velocity_after(l);
        let tangent: Vec<f64> = {
            let h = 1e-4;
            let at = |s: f64| after(s, &l.iter().zip(&dl).map(|(l, d)| l + s * d).collect::<Vec<_>>());
            let (a, b, c, d) = (at(h), at(-h), at(2.0 * h), at(-2.0 * h));
            (0..a.len()).map(|i| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * h)).collect()
        };
        let mut best = f64::INFINITY;
        for h in [1e-3, 1e-4, 1e-5, 1e-6] {
            let ends =
                [h, -h, 2.0 * h, -2.0 * h].map(|way| smoothed(&mut derivative, &moved(&sample, seed, way), kappa).map(|l| after(way, &l)));
            if let [Some(a), Some(b), Some(c), Some(d)] = ends {
                let slope = |i: usize| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * h);
                let error = (0..a.len()).map(|i| (slope(i) - tangent[i]).abs()).fold(0.0, f64::max);
                best = best.min(error / (1.0 + max_abs(&tangent)));
            }
        }
        if best.is_finite() {
            compared += 1;
            worst = worst.max(best);
            assert!(best < 2e-6, "seed {seed}, kappa {kappa}: {best:e}");
        }
    }
    println!("{compared} compared, {unsolved} unsolved, worst {worst:e}");
    assert!(compared > 180, "{compared} compared, {unsolved} unsolved");
}

#[test]
fn the_smoothed_adjoint_is_the_transpose() {
    let mut derivative = SmoothedDerivative::new();
    let mut bar = ProblemChange::default();
    let mut compared = 0;
    for seed in 0..100 {
        let sample = random_sample(seed, 1 + (seed % 2) as usize, 6);
        let problem = sample.problem();
        if smoothed(&mut derivative, &sample, 1e-4).is_none() {
            continue;
        }
        let change = change_of(&sample, seed);
        let n = problem.rows();
        let mut dl = vec![0.0; n];
        derivative.tangent(&problem, &change, &mut dl);
        let mut random = Random::new(seed + 1);
        let l_bar: Vec<f64> = (0..n).map(|_| random.between(-1.0, 1.0)).collect();
        derivative.adjoint(&problem, &l_bar, &mut bar);
        let pairs = [
            (&bar.matrix, &change.matrix),
            (&bar.free, &change.free),
            (&bar.friction, &change.friction),
            (&bar.lower, &change.lower),
            (&bar.upper, &change.upper),
        ];
        let backward: f64 = pairs.iter().map(|(a, b)| dot(a, b)).sum();
        let size: f64 = pairs.iter().map(|(a, b)| a.iter().zip(b.iter()).map(|(x, y)| (x * y).abs()).sum::<f64>()).sum();
        assert!((dot(&l_bar, &dl) - backward).abs() <= 1e-11 * (1.0 + size), "seed {seed}");
        compared += 1;
    }
    assert!(compared > 80, "{compared}");
}

/// On strictly complementary contacts the error against the exact derivative falls with kappa, in proportion.
#[test]
fn the_smoothed_derivative_converges_in_proportion_to_kappa() {
    let (mut solver, mut exact, mut derivative) = (ContactSolver::new(), ContactDerivative::new(), SmoothedDerivative::new());
    let (mut compared, mut good) = (0, 0);
    for seed in 0..80 {
        let sample = random_sample(seed, 1 + (seed % 2) as usize, 3);
        let problem = sample.problem();
        let n = problem.rows();
        let mut l = vec![0.0; n];
        if !solver.solve(&problem, None, &mut l).is_solved() {
            continue;
        }
        let Some(weak) = exact.prepare(&problem, &l) else { continue };
        if weak.total() > 0 {
            continue;
        }
        let change = change_of(&sample, seed);
        let (mut dl, mut found) = (vec![0.0; n], vec![0.0; n]);
        exact.tangent(&problem, &l, &change, &mut dl);
        // Speeds of the rows, which are unique where impulses are not.
        let speeds = |l: &[f64], dl: &[f64]| -> Vec<f64> {
            let row = |m: &[f64], i: usize, x: &[f64]| dot(&m[i * n..(i + 1) * n], x);
            (0..n).map(|i| row(problem.matrix, i, dl) + row(&change.matrix, i, l) + change.free[i]).collect()
        };
        let wanted = speeds(&l, &dl);
        let errors: Vec<f64> = [1e-8, 1e-9]
            .iter()
            .filter_map(|&kappa| {
                let _ = derivative.prepare(&problem, &l, kappa).filter(|r| r.solved)?;
                derivative.tangent(&problem, &change, &mut found);
                let speeds = speeds(derivative.impulses(), &found);
                Some(speeds.iter().zip(&wanted).fold(0.0f64, |m, (a, b)| m.max((a - b).abs())) / (1.0 + max_abs(&wanted)))
            })
            .collect();
        if let [coarse, fine] = errors[..] {
            compared += 1;
            let order = (coarse / fine.max(f64::MIN_POSITIVE)).log10();
            // Contacts a hair from a switch converge later; where rounding is reached there is no order.
            good += usize::from((0.9..1.1).contains(&order) || coarse < 1e-7);
        }
    }
    println!("{good} of {compared} converge in proportion to kappa");
    assert!(compared > 40 && 10 * good >= 9 * compared, "{good} of {compared}");
}
