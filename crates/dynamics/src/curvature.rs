//! How joints bend the move: what the correction of their targets came to in the last substeps, and where it will start in the next, theory (2.18).
//!
//! A target is minus the error that the curvature of the move would leave, over its length: smooth in time while the motion is. Started from where the last
//! moves point, the correction needs one or two rounds less. What the start of the move left open is no part of it. It converges to the same answer from anywhere, so this is memory, not state.

use crate::island::LocalJoint;
use std::ops::Range;

/// Part of a joint's size that a guess must bend its move by to be worth taking; a tenth of what joints are held to.
const GUESS_FLOOR: f64 = 1e-13;

/// Terms of the extrapolation: a value and its first differences. A cubic through the last four moves leaves (t w)^4 of the bend of a motion of
/// frequency w, which at any step that resolves the motion is below what joints are held to, so that one round does.
const TERMS: usize = 4;

/// Targets over the length of their moves [m/s^2 or rad/s^2], row by row, of the last substeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curvature {
    /// Length of the last move \[s\], joint by joint (in an island, of those with rows); 0 where there was none.
    spans: Vec<f64>,
    /// How many moves were that long without a break, joint by joint, counted up to [`TERMS`].
    ages: Vec<f64>,
    /// The last target of each row and its backward differences, as many as there are moves.
    terms: Vec<[f64; TERMS]>,
}

impl Curvature {
    /// Nothing known of this many joints and rows.
    pub fn reset(&mut self, joints: usize, rows: usize) {
        self.spans.clear();
        self.spans.resize(joints, 0.0);
        self.ages.clear();
        self.ages.resize(joints, 0.0);
        self.terms.clear();
        self.terms.resize(rows, [0.0; TERMS]);
    }
    /// Whether it is another, bit for bit.
    pub fn is(&self, other: &Curvature) -> bool {
        let same = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
        let terms = same(self.terms.as_flattened(), other.terms.as_flattened());
        terms && same(&self.spans, &other.spans) && same(&self.ages, &other.ages)
    }
    /// Becomes like another, in the room it has.
    pub fn assign(&mut self, other: &Curvature) {
        self.spans.clone_from(&other.spans);
        self.ages.clone_from(&other.ages);
        self.terms.clone_from(&other.terms);
    }
    /// Forgets everything but the sizes.
    pub fn forget(&mut self) {
        self.spans.fill(0.0);
        self.ages.fill(0.0);
        self.terms.fill([0.0; TERMS]);
    }

    /// What the next correction of a move of length t starts from: along the last moves where they were as long, else as in the last one, and what
    /// errors at its start are `open` besides.
    pub fn guess(&self, joints: impl Iterator<Item = (Range<usize>, f64)>, t: f64, open: &[f64], targets: &mut [f64]) {
        for (index, (rows, size)) in joints.enumerate() {
            let along = self.spans[index] == t;
            // What bends the move by less is rounding, which two moves would only carry on and amplify: a joint at rest starts from rest.
            let floor = GUESS_FLOOR * size / (t * t);
            for ((target, open), terms) in targets[rows.clone()].iter_mut().zip(&open[rows.clone()]).zip(&self.terms[rows]) {
                let guess = if along { terms.iter().sum() } else { terms[0] };
                *target = if f64::abs(guess) > floor { t * guess - open / t } else { 0.0 };
            }
        }
    }
    /// Takes what a correction came to over a move of length t that began with these errors `open`.
    pub fn learn(&mut self, joints: impl Iterator<Item = (Range<usize>, f64)>, t: f64, targets: &[f64], open: &[f64]) {
        if t <= 0.0 {
            return;
        }
        let per_time = 1.0 / t;
        for (index, (rows, _)) in joints.enumerate() {
            let known = if self.spans[index] == t { self.ages[index] as usize } else { 0 };
            self.spans[index] = t;
            self.ages[index] = (known + 1).min(TERMS) as f64;
            for ((target, open), terms) in targets[rows.clone()].iter().zip(&open[rows.clone()]).zip(&mut self.terms[rows]) {
                let mut now = (target + open * per_time) * per_time;
                for (k, term) in terms.iter_mut().enumerate() {
                    let before = std::mem::replace(term, if k <= known { now } else { 0.0 });
                    now -= before;
                }
            }
        }
    }

    /// An island's part of the world's memory.
    pub fn take(&mut self, world: &Curvature, joints: &[LocalJoint]) {
        let with_rows = joints.iter().filter(|joint| joint.rows > 0);
        self.reset(with_rows.clone().count(), joints.last().map_or(0, |j| j.first_row + j.rows));
        for (index, joint) in with_rows.enumerate() {
            self.spans[index] = world.spans[joint.index];
            self.ages[index] = world.ages[joint.index];
            let (here, there) = (joint.first_row..joint.first_row + joint.rows, joint.model_row..joint.model_row + joint.rows);
            self.terms[here].copy_from_slice(&world.terms[there]);
        }
    }
    /// The way back.
    pub fn give(&self, world: &mut Curvature, joints: &[LocalJoint]) {
        for (index, joint) in joints.iter().filter(|joint| joint.rows > 0).enumerate() {
            world.spans[joint.index] = self.spans[index];
            world.ages[joint.index] = self.ages[index];
            let (here, there) = (joint.first_row..joint.first_row + joint.rows, joint.model_row..joint.model_row + joint.rows);
            world.terms[there].copy_from_slice(&self.terms[here]);
        }
    }

    /// Takes what another knows of the joints that were there before, by their old numbers; both lists of rows are those per joint.
    pub fn carry(&mut self, before: &Curvature, kept: &[Option<usize>], old_rows: &[usize], new_rows: &[usize]) {
        let starts =
            |rows: &[usize]| -> Vec<usize> { rows.iter().scan(0, |sum, rows| Some(std::mem::replace(sum, *sum + rows))).collect() };
        let (old_first, new_first) = (starts(old_rows), starts(new_rows));
        for (new, old) in kept.iter().enumerate().filter_map(|(new, old)| old.map(|old| (new, old))) {
            let (from, to) = (old_first[old], new_first[new]);
            self.spans[new] = before.spans[old];
            self.ages[new] = before.ages[old];
            self.terms[to..to + new_rows[new]].copy_from_slice(&before.terms[from..from + old_rows[old]]);
        }
    }

    /// All numbers in a row.
    pub fn values(&self) -> Vec<f64> {
        [&self.spans[..], &self.ages, self.terms.as_flattened()].concat()
    }
    /// Takes what [`Curvature::values`] gave; false when there are more or fewer, or one is not finite.
    pub fn restore(&mut self, values: &[f64]) -> bool {
        let (joints, rows) = (self.spans.len(), self.terms.len());
        if values.len() != 2 * joints + TERMS * rows || !values.iter().all(|x| x.is_finite()) {
            return false;
        }
        self.spans.copy_from_slice(&values[..joints]);
        self.ages.copy_from_slice(&values[joints..2 * joints]);
        self.terms.as_flattened_mut().copy_from_slice(&values[2 * joints..]);
        true
    }
}
