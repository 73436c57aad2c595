//! Derivatives of a solved contact problem: how its blocks behave, and how its impulses move with the numbers of the problem.
//!
//! While no block changes its behaviour the impulses solve a linear system (theory (16.1)), smooth in the matrix, the free velocity, the
//! coefficients of friction and the bounds. [`classify`] reads the behaviour off the impulses, whichever method found them, so the
//! derivative does not depend on the method either.

mod mode;
pub(crate) mod system;
#[cfg(test)]
pub(crate) mod tests;

pub use mode::{Across, Mode, WEAK, Weak, classify};

use crate::contact::problem::{Block, Problem};
use system::{Combination, ModeSystem, Unknown};

/// Changes of the numbers of a [`Problem`], or cotangents of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProblemChange {
    /// Of the matrix, n x n row-major, symmetric.
    pub matrix: Vec<f64>,
    /// Of the free velocity, length n.
    pub free: Vec<f64>,
    /// Of the coefficient of friction of every block; 0 where there is none.
    pub friction: Vec<f64>,
    /// Of the lower bound of every block; 0 where there is none.
    pub lower: Vec<f64>,
    /// Of the upper bound of every block; 0 where there is none.
    pub upper: Vec<f64>,
}

impl ProblemChange {
    /// No change, in the shape of a problem.
    pub fn zero(problem: &Problem) -> Self {
        let mut change = Self::default();
        change.reset(problem);
        change
    }

    /// Takes the shape of a problem, all zero.
    pub fn reset(&mut self, problem: &Problem) {
        let (n, blocks) = (problem.rows(), problem.blocks.len());
        for (numbers, length) in [
            (&mut self.matrix, n * n),
            (&mut self.free, n),
            (&mut self.friction, blocks),
            (&mut self.lower, blocks),
            (&mut self.upper, blocks),
        ] {
            numbers.clear();
            numbers.resize(length, 0.0);
        }
    }
}

/// The derivative of the impulses of one solved [`Problem`]; keeps its scratch between problems.
#[derive(Clone, Debug, Default)]
pub struct ContactDerivative {
    modes: Vec<Mode>,
    system: ModeSystem,
    drive: Vec<f64>,
    cotangent: Vec<f64>,
}

impl ContactDerivative {
    /// A derivative of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Classifies the blocks and factors their system. Returns the blocks at a switch, or nothing when the system cannot be factored.
    pub fn prepare(&mut self, problem: &Problem, impulses: &[f64]) -> Option<Weak> {
        if problem.check().is_err() || impulses.len() != problem.rows() {
            return None;
        }
        let weak = classify(problem, impulses, &mut self.modes);
        self.system.unknowns.clear();
        let n = problem.rows();
        let mut row = 0;
        for (block, mode) in problem.blocks.iter().zip(&self.modes) {
            let rows = block.rows(problem.tangents);
            let unknowns = &mut self.system.unknowns;
            match (*mode, *block) {
                (Mode::Stick | Mode::Active | Mode::Free, _) => unknowns.extend((row..row + rows).map(Unknown::held)),
                (Mode::Slide { direction, across }, Block::Contact { friction }) => {
                    let mut column = Combination::row(row);
                    for k in 1..rows {
                        column = column.and(row + k, -friction * direction[k - 1]);
                    }
                    unknowns.push(Unknown { row: Combination::row(row), column, own: 0.0 });
                    let inertia = (1..rows).map(|k| problem.matrix[(row + k) * (n + 1)]).fold(0.0f64, f64::max);
                    unknowns.extend(turning(row + 1, direction, across, friction * impulses[row], inertia));
                }
                _ => {}
            }
            row += rows;
        }
        self.system.factor(problem.matrix, n).then_some(weak)
    }

    /// How the blocks of the prepared problem behave.
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// Change of the impulses under a change of the problem, theory (16.1); the problem and impulses are those prepared.
    pub fn tangent(&mut self, problem: &Problem, impulses: &[f64], change: &ProblemChange, impulses_dot: &mut [f64]) {
        let n = problem.rows();
        self.drive.clear();
        self.drive.extend((0..n).map(|r| carom_math::dense::dot(&change.matrix[r * n..(r + 1) * n], impulses) + change.free[r]));
        impulses_dot.fill(0.0);
        let mut row = 0;
        for (index, block) in problem.blocks.iter().enumerate() {
            let rows = block.rows(problem.tangents);
            match self.modes[index] {
                Mode::Slide { direction, .. } => {
                    for k in 1..rows {
                        impulses_dot[row + k] = -direction[k - 1] * impulses[row] * change.friction[index];
                    }
                }
                Mode::Lower => impulses_dot[row] = change.lower[index],
                Mode::Upper => impulses_dot[row] = change.upper[index],
                _ => {}
            }
            row += rows;
        }
        self.system.tangent(problem.matrix, &self.drive, impulses_dot);
    }

    /// Cotangents of the problem for a cotangent of the impulses, theory (16.3); that of the matrix is symmetric.
    ///
    /// Where contacts are redundant only the velocities A l have a derivative, so `impulses_bar` must be A times something there.
    pub fn adjoint(&mut self, problem: &Problem, impulses: &[f64], impulses_bar: &[f64], bar: &mut ProblemChange) {
        let n = problem.rows();
        bar.reset(problem);
        self.cotangent.clear();
        self.cotangent.extend_from_slice(impulses_bar);
        self.system.adjoint(problem.matrix, &mut self.cotangent, &mut bar.free);
        for i in 0..n {
            for j in 0..n {
                bar.matrix[i * n + j] = (bar.free[i] * impulses[j] + bar.free[j] * impulses[i]) / 2.0;
            }
        }
        let mut row = 0;
        for (index, block) in problem.blocks.iter().enumerate() {
            let rows = block.rows(problem.tangents);
            match self.modes[index] {
                Mode::Slide { direction, .. } => {
                    bar.friction[index] = (1..rows).map(|k| -direction[k - 1] * impulses[row] * self.cotangent[row + k]).sum();
                }
                Mode::Lower => bar.lower[index] = self.cotangent[row],
                Mode::Upper => bar.upper[index] = self.cotangent[row],
                _ => {}
            }
            row += rows;
        }
    }
}

/// The unknown across the direction of slip of a contact whose friction rows start at `row`, if it has one, theory (16.1): friction impulse
/// `reach`, mobility `inertia` of the rows.
pub(crate) fn turning(row: usize, direction: [f64; 2], across: Across, reach: f64, inertia: f64) -> Option<Unknown> {
    let length = direction[0].hypot(direction[1]);
    if across == Across::Fixed || length <= 0.0 {
        return None;
    }
    let side = [-direction[1] / length, direction[0] / length];
    let column = Combination::default().and(row, side[0]).and(row + 1, side[1]);
    // The impulse turns with the slip, speed x + reach (side·dw) = 0, weighed so that neither a slow slip nor a small impulse divides.
    let (weight, own) = match across {
        Across::Turning { speed } => {
            let total = speed + reach * inertia;
            (reach / total, speed / total)
        }
        _ => (1.0, 0.0),
    };
    Some(Unknown { row: Combination::default().and(row, weight * side[0]).and(row + 1, weight * side[1]), column, own })
}
