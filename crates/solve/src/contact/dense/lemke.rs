//! Lemke's complementary pivoting with the lexicographic rule; theory (4.17).
//!
//! It ends after finitely many pivots for every matrix, and for the copositive matrices of frictional contact it ends in a solution
//! unless the restitution asked for cannot be had (4.15); otherwise it reports a ray.

use super::linear_complementarity::complementarity_residual;
use crate::interrupt::Interrupt;
use crate::status::{Method, Outcome, RESIDUAL_WANTED};
use carom_math::dense::{Lu, add_scaled};

/// Entries of a tableau column below this are no pivots: they are the rounding of a zero in a tableau of unit scale.
const PIVOT: f64 = 1e-10;
/// Relative difference of two ratios that counts as a tie, to be broken lexicographically.
const TIE: f64 = 1e-12;
/// Pivots between two rebuilds of the tableau from the problem, against the growth of rounding.
const REBUILD: usize = 50;
/// Pivots allowed per variable.
const PIVOTS_PER_VARIABLE: usize = 20;
/// Runs with different covering vectors: rounding may lead one of them onto a false ray.
const ATTEMPTS: usize = 3;
/// Multiples of this (the golden ratio) spread evenly over the unit interval; they vary the covering vector.
const GOLDEN: f64 = 1.618_033_988_749_895;
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
    cover: Vec<f64>,
}

impl Lemke {
    /// A solver without scratch yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves s = H z + r, 0 <= z _|_ s >= 0 for `solution` = z; `matrix` is H, N x N row-major with entries of order 1, `offset` is r.
    pub fn solve(&mut self, matrix: &[f64], offset: &[f64], solution: &mut [f64], interrupt: &Interrupt) -> Outcome {
        let n = offset.len();
        solution.fill(0.0);
        if matrix.len() != n * n || solution.len() != n || !offset.iter().chain(matrix).all(|x| x.is_finite()) {
            return Outcome::failed(0, Method::Lemke);
        }
        if offset.iter().all(|&r| r >= 0.0) {
            return Outcome::judge(0.0, RESIDUAL_WANTED, 0, Method::Lemke);
        }
        self.slack.resize(n, 0.0);
        let mut pivots = 0;
        let mut best = f64::INFINITY;
        for attempt in 0..ATTEMPTS {
            self.cover.clear();
            self.cover.extend((0..n).map(|i| 1.0 + attempt as f64 * (GOLDEN * i as f64).fract()));
            let (used, ended) = self.run(matrix, offset, interrupt);
            pivots += used;
            if !ended {
                continue;
            }
            let width = 2 * n + 2;
            self.column.clear();
            self.column.resize(n, 0.0);
            for (i, &variable) in self.basis.iter().enumerate() {
                if (n..2 * n).contains(&variable) {
                    self.column[variable - n] = self.tableau[i * width + width - 1].max(0.0);
                }
            }
            let residual = complementarity_residual(matrix, offset, &self.column, &mut self.slack);
            if residual < best {
                best = residual;
                solution.copy_from_slice(&self.column);
            }
            if best <= RESIDUAL_WANTED {
                break;
            }
        }
        if best == f64::INFINITY {
            best = complementarity_residual(matrix, offset, solution, &mut self.slack);
        }
        Outcome::judge(best, RESIDUAL_WANTED, pivots, Method::Lemke)
    }

    /// Pivots from the slack basis until the artificial variable leaves; the pivots made and whether it did.
    fn run(&mut self, matrix: &[f64], offset: &[f64], interrupt: &Interrupt) -> (usize, bool) {
        let n = offset.len();
        self.basis.clear();
        self.basis.extend(0..n);
        self.fill_tableau(matrix, offset);
        // The row that needs most of the artificial variable.
        let mut row = 0;
        for i in 0..n {
            if offset[i] / self.cover[i] < offset[row] / self.cover[row] {
                row = i;
            }
        }
        let artificial = 2 * n;
        let mut entering = artificial;
        let most = PIVOTS_LEAST + PIVOTS_PER_VARIABLE * n;
        for pivots in 1..=most {
            let leaving = self.pivot(row, entering, n);
            if leaving == artificial {
                return (pivots, true);
            }
            if interrupt.raised() || (pivots % REBUILD == 0 && !self.rebuild(matrix, offset)) {
                return (pivots, false);
            }
            entering = if leaving < n { leaving + n } else { leaving - n };
            match self.ratio_test(entering, n) {
                Some(next) => row = next,
                None => return (pivots, false), // a ray: no solution is reachable
            }
        }
        (most, false)
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
            row[2 * n] = -self.cover[i];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::chain::samples::{Random, random_sample};
    use crate::contact::dense::interior_point::InteriorPoint;
    use crate::contact::dense::linear_complementarity::ComplementarityForm;
    use crate::contact::problem::Block;
    use crate::status::natural_residual;
    use carom_math::dense::multiply_add;

    #[test]
    fn lemke_and_interior_point_find_the_unique_solution_of_positive_definite_problems() {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let n = 1 + random.below(20);
            let root: Vec<f64> = (0..n * n).map(|_| random.between(-1.0, 1.0)).collect();
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    // A skew part keeps H positive but unsymmetric.
                    let skew = if i == j {
                        0.1
                    } else if i < j {
                        0.3
                    } else {
                        -0.3
                    };
                    matrix[i * n + j] = (0..n).map(|k| root[i * n + k] * root[j * n + k]).sum::<f64>() + skew;
                }
            }
            // Built backwards from a solution with strict complementarity.
            let solution: Vec<f64> = (0..n).map(|_| if random.chance(0.5) { random.between(0.1, 1.0) } else { 0.0 }).collect();
            let offset: Vec<f64> = (0..n)
                .map(|i| {
                    let slack = if solution[i] > 0.0 { 0.0 } else { random.between(0.1, 1.0) };
                    slack - (0..n).map(|j| matrix[i * n + j] * solution[j]).sum::<f64>()
                })
                .collect();
            let mut found = vec![0.0; n];
            for outcome in [
                Lemke::new().solve(&matrix, &offset, &mut found, &Interrupt::NEVER),
                InteriorPoint::new().solve(&matrix, &offset, &mut found, &Interrupt::NEVER),
            ] {
                assert!(outcome.is_solved(), "seed {seed}: {outcome:?}");
                assert!(found.iter().zip(&solution).all(|(a, b)| (a - b).abs() < 1e-8), "seed {seed}");
            }
        }
    }

    #[test]
    fn lemke_and_interior_point_agree_in_velocity_on_contact_problems() {
        let (mut agreed, mut several, mut lemke_only) = (0, 0, 0);
        for seed in 0..300 {
            // Moderate friction, where the velocity after the step is nearly always unique.
            let mut sample = random_sample(seed, 1, 8);
            for block in &mut sample.blocks {
                if let Block::Contact { friction } = block {
                    *friction *= 0.2;
                }
            }
            let problem = sample.problem();
            let mut form = ComplementarityForm::default();
            form.build(&problem, 2);
            let lcp = &form.problem;
            let mut solution = vec![0.0; lcp.offset.len()];
            // Velocity of the bodies and residual of the contact problem, which knows nothing of how it was written as an LCP.
            let judge = |solution: &[f64]| {
                let mut impulses = vec![0.0; sample.free.len()];
                form.impulses(&problem, solution, &mut impulses);
                let mut velocity = impulses.clone();
                multiply_add(problem.matrix, &impulses, problem.free, &mut velocity);
                (sample.velocity_after(&impulses), natural_residual(&problem, &impulses, &velocity))
            };
            let lemke = Lemke::new().solve(&lcp.matrix, &lcp.offset, &mut solution, &Interrupt::NEVER);
            assert!(lemke.is_solved(), "seed {seed}: {lemke:?}");
            let (first, first_residual) = judge(&solution);
            assert!(first_residual < 1e-8, "seed {seed}: {first_residual:e}");
            if !InteriorPoint::new().solve(&lcp.matrix, &lcp.offset, &mut solution, &Interrupt::NEVER).is_solved() {
                lemke_only += 1;
                continue;
            }
            let (second, second_residual) = judge(&solution);
            assert!(second_residual < 1e-8, "seed {seed}: {second_residual:e}");
            let miss = first.iter().zip(&second).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if miss < 1e-7 {
                agreed += 1;
            } else {
                several += 1; // two different motions, both of which obey Coulomb's law
            }
        }
        println!("{agreed} agree, {several} have several solutions, {lemke_only} by Lemke's method only");
        assert!(agreed >= 250 && several <= 6, "{agreed} agree, {several} have several solutions, {lemke_only} by Lemke's method only");
    }

    #[test]
    fn a_problem_without_solution_ends_on_a_ray() {
        // s = -1 whatever z is.
        let mut solution = [0.0];
        let outcome = Lemke::new().solve(&[0.0], &[-1.0], &mut solution, &Interrupt::NEVER);
        assert_eq!(outcome.status, crate::status::Status::Failed);
        assert!(!InteriorPoint::new().solve(&[0.0], &[-1.0], &mut solution, &Interrupt::NEVER).is_solved());
        assert!(!Lemke::new().solve(&[f64::NAN], &[-1.0], &mut solution, &Interrupt::NEVER).is_solved());
    }

    #[test]
    fn degenerate_ties_do_not_cycle() {
        // Ten copies of one row: every ratio test ties.
        let n = 10;
        let matrix = vec![1.0; n * n];
        let offset = vec![-1.0; n];
        let mut solution = vec![0.0; n];
        let outcome = Lemke::new().solve(&matrix, &offset, &mut solution, &Interrupt::NEVER);
        assert!(outcome.is_solved() && (solution.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{outcome:?}");
    }
}
