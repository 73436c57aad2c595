//! Loops closed by moving the coordinates that are free to move, theory (20.8).

use super::loops::couplings;
use super::tangent::TangentMap;
use super::tree::Tree;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Pose, Space, Twist, Vector};
use nalgebra::{DMatrix, DVector};

/// Rounds of one closing; each squares the error once it is small.
const CLOSING_ROUNDS: usize = 60;

/// Loops open by less than this part of where the bodies are \[m, or rad\] are closed to rounding.
const ROUNDING: f64 = 4e-15;

/// Loops open by more than this part cannot be called closed.
pub(super) const OPEN: f64 = 1e-9;

/// Largest change of a coordinate in one round \[rad or m\], so that rows stay meaningful.
const LARGEST_CHANGE: f64 = 0.3;

/// Longest way between two closings on the way to given coordinates \[rad or m\]: the mechanism stays on its branch.
const STRIDE: f64 = 0.1;

/// Strides at most.
const STRIDE_CAP: f64 = 500.0;

/// Halvings of a change that opens the loops further.
const HALVINGS: usize = 10;

/// Singular values below this part of the largest are those of redundant rows.
pub(super) const REDUNDANT: f64 = 1e-10;

/// How much of the square of an error damps the changes it asks for: where rows say nothing (a dead centre) they stay finite.
const DAMPING: f64 = 1e-3;

/// A mechanism on its way: coordinates and the poses they give.
#[derive(Clone, Debug)]
pub(super) struct Course<S: Space> {
    pub q: Vec<f64>,
    pub poses: Vec<Pose<S>>,
}

/// What of a model moves, and from where.
pub(super) struct Closing<'m, G: Geometry> {
    pub tree: &'m Tree,
    pub model: &'m Model<G>,
    /// Where locked axes stay.
    pub from: &'m [Pose<G>],
    /// The mechanisms that move, by number.
    pub which: &'m [bool],
    /// The coordinates that move.
    pub free: Vec<bool>,
}

/// The least change x with A x = b, in the least-squares sense, damped.
pub(super) fn least(matrix: &DMatrix<f64>, b: &DVector<f64>, damping: f64) -> DVector<f64> {
    if matrix.nrows() == 0 || matrix.ncols() == 0 {
        return DVector::zeros(matrix.ncols());
    }
    let svd = matrix.clone().svd(true, true);
    let largest = svd.singular_values.max();
    let (Some(u), Some(v_t)) = (&svd.u, &svd.v_t) else { return DVector::zeros(matrix.ncols()) };
    let mut coefficients = u.tr_mul(b);
    for (c, s) in coefficients.iter_mut().zip(svd.singular_values.iter()) {
        *c = if *s > REDUNDANT * largest { *c * s / (s * s + damping * largest * largest) } else { 0.0 };
    }
    v_t.tr_mul(&coefficients)
}

/// The columns of the coordinates that are free.
pub(super) fn free_columns(matrix: &DMatrix<f64>, free: &[bool]) -> (DMatrix<f64>, Vec<usize>) {
    let chosen: Vec<usize> = (0..free.len()).filter(|&i| free[i]).collect();
    (matrix.select_columns(&chosen), chosen)
}

fn worst(errors: &[f64]) -> f64 {
    errors.iter().fold(0.0, |worst, error| worst.max(error.abs()))
}

impl<G: Geometry> Closing<'_, G> {
    fn errors(&self, course: &Course<G>) -> Vec<f64> {
        self.tree.loop_errors(self.model, &course.poses, self.from, self.which)
    }

    /// Where bodies are, for what is rounding: the largest coordinate of any of them, at least one.
    fn size(&self, course: &Course<G>) -> f64 {
        course.poses.iter().fold(1.0f64, |size, pose| size.max(pose.position.max_abs()))
    }

    /// Puts the bodies where the coordinates say.
    pub fn place(&self, course: &mut Course<G>) {
        self.tree.place(self.model, &course.q, self.which, &mut course.poses);
    }

    /// Closes loops from where they are; how far they stay open over what is allowed, and the row that is open most with its gap.
    pub fn close(&self, course: &mut Course<G>) -> Result<(), (usize, f64)> {
        self.place(course);
        if self.tree.loop_rows(self.model) == 0 {
            return Ok(());
        }
        let mut errors = self.errors(course);
        for _ in 0..CLOSING_ROUNDS {
            let gap = worst(&errors);
            if gap <= ROUNDING * self.size(course) || !gap.is_finite() {
                break;
            }
            let map = TangentMap::new(self.tree, self.model, &course.poses);
            let (matrix, chosen) = free_columns(&self.tree.loop_jacobian(self.model, &course.poses, &map), &self.free);
            let wanted = -DVector::from_column_slice(&errors);
            let size = wanted.norm();
            let mut change = least(&matrix, &wanted, DAMPING * (size * size).min(1.0));
            let largest = change.amax();
            if largest > LARGEST_CHANGE {
                change *= LARGEST_CHANGE / largest;
            }
            let mut better = false;
            for _ in 0..HALVINGS {
                let mut next = course.clone();
                let mut full = vec![0.0; course.q.len()];
                chosen.iter().zip(change.iter()).for_each(|(&i, d)| full[i] = *d);
                next.q = self.tree.advanced(self.model, &course.q, &full);
                self.place(&mut next);
                let now = self.errors(&next);
                if DVector::from_column_slice(&now).norm() < size {
                    (*course, errors, better) = (next, now, true);
                    break;
                }
                change *= 0.5;
            }
            if !better {
                break;
            }
        }
        let gap = worst(&errors);
        if gap <= OPEN * self.size(course) {
            return Ok(());
        }
        let row = errors.iter().position(|error| error.abs() == gap).unwrap_or(0);
        Err((row, gap))
    }

    /// Takes coordinates to values and closes the loops on the way, so that the mechanism stays on its branch.
    pub fn bring(&self, course: &mut Course<G>, targets: &[(usize, f64)]) -> Result<(), (usize, f64)> {
        let start: Vec<f64> = targets.iter().map(|(i, _)| course.q[*i]).collect();
        let way = targets.iter().zip(&start).fold(0.0f64, |way, ((_, value), start)| way.max((value - start).abs()));
        let loops = self.tree.loops.iter().any(|&joint| self.which[self.tree.joint_mechanism(self.model, joint)])
            || !self.tree.locked.is_empty()
            || couplings(self.model).next().is_some();
        let strides = if loops { (way / STRIDE).ceil().clamp(1.0, STRIDE_CAP) } else { 1.0 };
        let mut outcome = Ok(());
        for stride in 1..=strides as usize {
            let part = stride as f64 / strides;
            for ((i, value), start) in targets.iter().zip(&start) {
                course.q[*i] = if part < 1.0 { start + (value - start) * part } else { *value };
            }
            outcome = self.close(course);
        }
        outcome
    }

    /// The rates nearest to given ones under which loops stay closed; the coordinates that are not free keep theirs. The row that would open fastest and its
    /// speed where none are.
    pub fn keep_closed(&self, poses: &[Pose<G>], rates: &mut [f64], twists: &mut [Twist<G>]) -> Result<(), (usize, f64)> {
        let drive = |rates: &[f64], twists: &mut [Twist<G>]| self.tree.drive(self.model, poses, rates, self.which, twists);
        drive(rates, twists);
        let map = TangentMap::new(self.tree, self.model, poses);
        let (matrix, chosen) = free_columns(&self.tree.loop_jacobian(self.model, poses, &map), &self.free);
        // Once for the answer, once for its rounding.
        for _ in 0..2 {
            let speeds = self.tree.loop_speeds(self.model, poses, twists);
            let change = least(&matrix, &-DVector::from_vec(speeds), 0.0);
            chosen.iter().zip(change.iter()).for_each(|(&i, d)| rates[i] += d);
            drive(rates, twists);
        }
        let speeds = self.tree.loop_speeds(self.model, poses, twists);
        let (fastest, scale) = (worst(&speeds), rates.iter().fold(1.0f64, |scale, rate| scale.max(rate.abs())));
        let row = speeds.iter().position(|speed| speed.abs() == fastest).unwrap_or(0);
        if fastest <= OPEN * scale { Ok(()) } else { Err((row, fastest)) }
    }
}
