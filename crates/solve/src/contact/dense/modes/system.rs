//! The linear system of given modes: its assembly, factors and refinement; theory (4.9)-(4.11).

use super::{ActiveSet, Mode};
use crate::contact::problem::{Block, Problem};
use crate::status::speed_scale;
use carom_math::dense::{max_abs, multiply_add};

/// Relative diagonal added to the active matrix (4.11), so that redundant contacts share their load in the least-squares sense. Much above
/// the rounding of a factorisation (1e-15), much below the softest motion refinement must still recover in two or three steps.
pub const REGULARISATION: f64 = 1e-11;
/// Larger relative diagonal tried when the first does not make the active matrix positive.
pub const REGULARISATION_RETRY: f64 = 1e-8;
/// Steps of iterative refinement against the matrix without regularisation.
const REFINEMENTS: usize = 4;
/// Relative residual of the active rows below which refinement stops: the rounding of the product A l.
const REFINED: f64 = 1e-15;
/// Least factor by which a refinement must reduce the residual to be followed by another.
const REFINEMENT_GAIN: f64 = 0.25;

/// One unknown of the active system, and the row that goes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unknown {
    /// Impulse of one row.
    Plain { row: usize },
    /// Normal impulse of a sliding contact; `slope` = -mu e.
    Sliding { row: usize, slope: [f64; 2] },
    /// Friction impulse across the direction of slip.
    Across { row: usize, across: [f64; 2], stiffness: f64 },
}

/// What the factor at hand was made from. A move is solved several times with other targets and the same rows: comparing them costs one pass
/// over the matrix, factoring as many passes as there are rows.
#[derive(Clone, Debug, Default)]
pub(super) struct FactoredOf {
    valid: bool,
    tangents: usize,
    matrix: Vec<f64>,
    unknowns: Vec<Unknown>,
}

/// Numbers that are compared at once.
const AT_ONCE: usize = 16;

/// Whether two lists are the same, number by number.
pub(crate) fn same(a: &[f64], b: &[f64]) -> bool {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<AT_ONCE>(), b.as_chunks::<AT_ONCE>());
    let equal = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(true, |all, (a, b)| all & (a == b));
    a.len() == b.len() && rest_a == rest_b && a.iter().zip(b).all(|(a, b)| equal(a, b))
}

impl FactoredOf {
    /// Whether the factor at hand is that of a problem and its unknowns.
    fn serves(&self, problem: &Problem, unknowns: &[Unknown]) -> bool {
        self.valid && self.tangents == problem.tangents && self.unknowns == unknowns && same(&self.matrix, problem.matrix)
    }

    /// Notes what was factored, or that nothing was.
    fn note(&mut self, valid: bool, problem: &Problem, unknowns: &[Unknown]) {
        self.valid = valid;
        self.tangents = problem.tangents;
        self.unknowns.clear();
        self.unknowns.extend_from_slice(unknowns);
        self.matrix.clear();
        self.matrix.extend_from_slice(problem.matrix);
    }
}

/// Unit vector across `direction`, zero for a zero direction.
pub(super) fn across_of(direction: [f64; 2]) -> [f64; 2] {
    let length = direction[0].hypot(direction[1]);
    if length > 0.0 { [-direction[1] / length, direction[0] / length] } else { [0.0, 0.0] }
}

impl ActiveSet {
    /// Solves the linear system (4.9) of the present modes; false when its matrix cannot be factored.
    pub(super) fn solve_active(&mut self, problem: &Problem, keep: bool) -> bool {
        let symmetric = self.collect(problem, keep);
        if !self.factored.serves(problem, &self.unknowns) {
            self.factorisations += 1;
            let factored = [REGULARISATION, REGULARISATION_RETRY]
                .into_iter()
                .any(|delta| if symmetric { self.factor_symmetric(problem, delta) } else { self.factor_general(problem, delta) });
            self.factored.note(factored, problem, &self.unknowns);
            if !factored {
                return false;
            }
        }
        self.refine(problem, symmetric);
        true
    }

    /// The same by the factor at hand; false, with nothing done, where it is another system's.
    pub(super) fn solve_known(&mut self, problem: &Problem, keep: bool) -> bool {
        let symmetric = self.collect(problem, keep);
        let serves = self.factored.serves(problem, &self.unknowns);
        if serves {
            self.refine(problem, symmetric);
        }
        serves
    }

    /// Solves by the factor at hand and refines.
    fn refine(&mut self, problem: &Problem, symmetric: bool) {
        let scale = speed_scale(problem.free);
        if max_abs(&self.impulses) > 0.0 {
            multiply_add(problem.matrix, &self.impulses, problem.free, &mut self.velocity);
        } else {
            self.velocity.copy_from_slice(problem.free);
        }
        if self.unknowns.is_empty() {
            return;
        }
        let mut last = f64::INFINITY;
        for pass in 0..=REFINEMENTS {
            // Right side: what the active rows still miss.
            let (w, l) = (&self.velocity, &self.impulses);
            self.right.clear();
            self.right.extend(self.unknowns.iter().map(|unknown| match *unknown {
                Unknown::Plain { row } | Unknown::Sliding { row, .. } => -w[row],
                Unknown::Across { row, across, stiffness } => {
                    let miss = across[0] * w[row + 1] + across[1] * w[row + 2];
                    let moved = across[0] * l[row + 1] + across[1] * l[row + 2];
                    -(miss + stiffness * moved)
                }
            }));
            let size = max_abs(&self.right);
            if pass > 0 && (size <= REFINED * scale || size > REFINEMENT_GAIN * last) {
                break;
            }
            last = size;
            if symmetric {
                self.cholesky.solve(&mut self.right);
            } else {
                self.right.iter_mut().zip(&self.scaling).for_each(|(r, s)| *r *= s);
                self.lu.solve(&mut self.right);
                self.right.iter_mut().zip(&self.scaling).for_each(|(r, s)| *r *= s);
            }
            for (unknown, &x) in self.unknowns.iter().zip(&self.right) {
                match *unknown {
                    Unknown::Plain { row } => self.impulses[row] += x,
                    Unknown::Sliding { row, slope } => {
                        self.impulses[row] += x;
                        self.impulses[row + 1] += slope[0] * x;
                        if problem.tangents == 2 {
                            self.impulses[row + 2] += slope[1] * x;
                        }
                    }
                    Unknown::Across { row, across, .. } => {
                        self.impulses[row + 1] += across[0] * x;
                        self.impulses[row + 2] += across[1] * x;
                    }
                }
            }
            multiply_add(problem.matrix, &self.impulses, problem.free, &mut self.velocity);
        }
    }

    /// Lists the unknowns of the present modes and sets the impulses that are given (zero, or a bound); true if the system is symmetric.
    fn collect(&mut self, problem: &Problem, keep: bool) -> bool {
        self.unknowns.clear();
        if !keep {
            self.impulses.fill(0.0);
        }
        let mut symmetric = true;
        let mut row = 0;
        for (block, mode) in problem.blocks.iter().zip(&self.modes) {
            let rows = block.rows(problem.tangents);
            match (*block, *mode) {
                (_, Mode::Open) => self.impulses[row..row + rows].fill(0.0),
                (_, Mode::Held) => self.unknowns.extend((row..row + rows).map(|row| Unknown::Plain { row })),
                (Block::Contact { friction }, Mode::Slide { direction, across, stiffness }) => {
                    for k in 1..rows {
                        self.impulses[row + k] = -friction * direction[k - 1] * self.impulses[row];
                    }
                    if friction > 0.0 {
                        symmetric = false;
                        self.unknowns.push(Unknown::Sliding { row, slope: [-friction * direction[0], -friction * direction[1]] });
                        if across {
                            self.unknowns.push(Unknown::Across { row, across: across_of(direction), stiffness });
                        }
                    } else {
                        self.unknowns.push(Unknown::Plain { row });
                    }
                }
                (Block::Bounded { lower, .. }, Mode::Lower) => self.impulses[row] = lower,
                (Block::Bounded { upper, .. }, Mode::Upper) => self.impulses[row] = upper,
                (_, Mode::Slide { .. } | Mode::Lower | Mode::Upper) => {}
            }
            row += rows;
        }
        symmetric
    }

    /// Factors the active rows and columns of A when nothing slides.
    fn factor_symmetric(&mut self, problem: &Problem, delta: f64) -> bool {
        let (n, k) = (problem.rows(), self.unknowns.len());
        let matrix = self.cholesky.matrix(k);
        let whole = k == n;
        let mut largest = 0.0f64;
        for (r, unknown) in self.unknowns.iter().enumerate() {
            let Unknown::Plain { row } = *unknown else { return false };
            let source = &problem.matrix[row * n..(row + 1) * n];
            let target = &mut matrix[r * k..r * k + r + 1];
            if whole {
                target.copy_from_slice(&source[..=r]);
            } else {
                for (entry, column) in target.iter_mut().zip(&self.unknowns) {
                    if let Unknown::Plain { row } = *column {
                        *entry = source[row];
                    }
                }
            }
            largest = largest.max(target[r]);
        }
        for r in 0..k {
            let diagonal = &mut matrix[r * k + r];
            *diagonal = if *diagonal > 0.0 { *diagonal * (1.0 + delta) } else { largest };
        }
        self.cholesky.factor().is_ok()
    }

    /// Assembles and factors the unsymmetric system (4.9), rows and columns scaled to a unit diagonal of A.
    fn factor_general(&mut self, problem: &Problem, delta: f64) -> bool {
        let (n, k) = (problem.rows(), self.unknowns.len());
        let diagonal = |row: usize| problem.matrix[row * n + row];
        let largest = (0..n).map(diagonal).fold(0.0f64, f64::max);
        if largest <= 0.0 {
            return false;
        }
        self.scaling.clear();
        self.scaling.extend(self.unknowns.iter().map(|unknown| {
            let own = match *unknown {
                Unknown::Plain { row } | Unknown::Sliding { row, .. } => diagonal(row),
                Unknown::Across { row, .. } => (diagonal(row + 1) + diagonal(row + 2)) / 2.0,
            };
            1.0 / if own > 0.0 { own } else { largest }.sqrt()
        }));
        let matrix = self.lu.matrix(k);
        self.functional.resize(n, 0.0);
        let planar = problem.tangents == 1;
        for (r, unknown) in self.unknowns.iter().enumerate() {
            let source = match *unknown {
                Unknown::Plain { row } | Unknown::Sliding { row, .. } => &problem.matrix[row * n..(row + 1) * n],
                Unknown::Across { row, across, .. } => {
                    let first = &problem.matrix[(row + 1) * n..(row + 2) * n];
                    let second = &problem.matrix[(row + 2) * n..(row + 3) * n];
                    for ((f, a), b) in self.functional.iter_mut().zip(first).zip(second) {
                        *f = across[0] * a + across[1] * b;
                    }
                    &self.functional[..]
                }
            };
            let target = &mut matrix[r * k..(r + 1) * k];
            for (c, column) in self.unknowns.iter().enumerate() {
                let entry = match *column {
                    Unknown::Plain { row } => source[row],
                    Unknown::Sliding { row, slope } if planar => source[row] + slope[0] * source[row + 1],
                    Unknown::Sliding { row, slope } => source[row] + slope[0] * source[row + 1] + slope[1] * source[row + 2],
                    Unknown::Across { row, across, .. } => across[0] * source[row + 1] + across[1] * source[row + 2],
                };
                target[c] = entry * self.scaling[r] * self.scaling[c];
            }
            if let Unknown::Across { stiffness, .. } = *unknown {
                target[r] += stiffness * self.scaling[r] * self.scaling[r];
            }
            target[r] += delta;
        }
        self.lu.factor().is_ok()
    }
}
