//! Rows that hold without bounds, such as the dampers of a robot's joints, are taken out of a problem before its modes are sought, theory (4.9).
//!
//! With m the rows without bounds and c the others, l_m = -A_mm^-1 (u_m + A_mc l_c), and what is left is the problem of the others with the Schur complement
//! A_cc - A_cm A_mm^-1 A_mc for its matrix: fewer rows in every factor, and none where nothing else acts. With A_mm = L L' it is A_cc - W' W, W = L^-1 A_mc.

use super::modes::same;
use crate::contact::problem::{Block, Problem};
use carom_math::dense::{Cholesky, add_scaled, dot, take_products};

/// Part of a diagonal that must be left at its pivot: with less the rows nearly repeat each other, and are left to who shares their load.
const LEAST_PIVOT: f64 = 1e-6;

/// A problem without its rows that hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condensed {
    /// What it was made of; no matrix where nothing was taken out.
    matrix: Vec<f64>,
    blocks: Vec<Block>,
    /// Rows taken out, and rows left.
    held: Vec<usize>,
    left: Vec<usize>,
    factor: Cholesky,
    /// W, by rows.
    carried: Vec<f64>,
    /// The problem that is left.
    left_blocks: Vec<Block>,
    left_matrix: Vec<f64>,
    left_free: Vec<f64>,
    /// A number for each row taken out.
    scratch: Vec<f64>,
}

/// Whether a block holds without bounds.
fn is_unbounded(block: &Block) -> bool {
    matches!(*block, Block::Bounded { lower, upper } if lower == f64::NEG_INFINITY && upper == f64::INFINITY)
}

impl Condensed {
    /// Whether it was made of the matrix and the blocks of this problem.
    pub fn is_of(&self, problem: &Problem) -> bool {
        !self.matrix.is_empty() && self.blocks == problem.blocks && same(&self.matrix, problem.matrix)
    }

    /// Whether anything was taken out of the last problem.
    pub fn stands(&self) -> bool {
        !self.matrix.is_empty()
    }

    /// Takes the rows without bounds out; `false`, with nothing done, where there are none or they nearly repeat each other.
    pub fn take_out(&mut self, problem: &Problem) -> bool {
        if self.is_of(problem) {
            return true;
        }
        self.matrix.clear();
        if !problem.blocks.iter().any(is_unbounded) {
            return false;
        }
        let Condensed { matrix, blocks, held, left, factor, carried, left_blocks, left_matrix, .. } = self;
        for list in [&mut *held, &mut *left] {
            list.clear();
        }
        left_blocks.clear();
        let mut row = 0;
        for block in problem.blocks {
            let rows = block.rows(problem.tangents);
            if is_unbounded(block) {
                held.push(row);
            } else {
                left.extend(row..row + rows);
                left_blocks.push(*block);
            }
            row += rows;
        }
        let (n, m, c) = (problem.rows(), held.len(), left.len());
        let of = |row: usize| &problem.matrix[row * n..(row + 1) * n];
        let own = factor.matrix(m);
        for (row, out) in held.iter().zip(own.chunks_exact_mut(m)) {
            out.iter_mut().zip(&*held).for_each(|(out, column)| *out = of(*row)[*column]);
        }
        if factor.factor().is_err() || !held.iter().enumerate().all(|(k, &row)| factor.pivot(k) > LEAST_PIVOT * of(row)[row]) {
            return false;
        }
        carried.clear();
        for row in held.iter() {
            carried.extend(left.iter().map(|column| of(*row)[*column]));
        }
        factor.solve_lower_many(carried);
        left_matrix.clear();
        for row in left.iter() {
            left_matrix.extend(left.iter().map(|column| of(*row)[*column]));
        }
        take_products(carried, c, left_matrix);
        for i in 0..c {
            for j in 0..i {
                left_matrix[j * c + i] = left_matrix[i * c + j];
            }
        }
        matrix.extend_from_slice(problem.matrix);
        blocks.clear();
        blocks.extend_from_slice(problem.blocks);
        true
    }

    /// The free velocities of the rows that are left, once those taken out have answered theirs; `warm` keeps the rows left alone.
    pub fn pose(&mut self, free: &[f64], warm: Option<&[f64]>, left_warm: &mut Vec<f64>) {
        let Condensed { held, left, carried, factor, left_free, scratch, .. } = self;
        scratch.clear();
        scratch.extend(held.iter().map(|row| free[*row]));
        factor.solve_lower(scratch);
        left_free.clear();
        left_free.extend(left.iter().map(|row| free[*row]));
        for (part, row) in scratch.iter().zip(carried.chunks_exact(left.len().max(1))) {
            add_scaled(left_free, -part, row);
        }
        left_warm.clear();
        if let Some(warm) = warm {
            left_warm.extend(left.iter().map(|row| warm[*row]));
        }
    }

    /// What is left of a problem.
    pub fn problem<'a>(&'a self, whole: &Problem<'a>) -> Problem<'a> {
        Problem { blocks: &self.left_blocks, matrix: &self.left_matrix, free: &self.left_free, ..*whole }
    }

    /// The impulses of all rows from those left: l_m = -A_mm^-1 (u_m + A_mc l_c), refined once.
    pub fn expand(&mut self, free: &[f64], solved: &[f64], impulses: &mut [f64]) {
        let Condensed { matrix, held, left, factor, scratch, .. } = self;
        let n = free.len();
        held.iter().for_each(|row| impulses[*row] = 0.0);
        left.iter().zip(solved).for_each(|(row, l)| impulses[*row] = *l);
        for _ in 0..2 {
            scratch.clear();
            scratch.extend(held.iter().map(|&row| free[row] + dot(&matrix[row * n..(row + 1) * n], impulses)));
            factor.solve(scratch);
            held.iter().zip(&*scratch).for_each(|(row, x)| impulses[*row] -= x);
        }
    }
}
