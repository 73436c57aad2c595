//! How joints bend the move: what the correction of their targets came to in the last substeps, and where it will start in the next, theory (2.17).
//!
//! A target is minus the error that the curvature of the move would leave, over its length: smooth in time while the motion is. Started from where the last
//! two point, the correction needs one or two rounds less. It converges to the same answer from anywhere, so this is memory, not state.

use crate::island::LocalJoint;

/// Part of a joint's size that a guess must bend its move by to be worth taking; ten times what joints are held to.
const GUESS_FLOOR: f64 = 1e-11;

/// Targets over the length of their moves [m/s^2 or rad/s^2], row by row, of the last two substeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curvature {
    /// Length of the last move [s], joint by joint; 0 where there was none.
    spans: Vec<f64>,
    last: Vec<f64>,
    before: Vec<f64>,
}

impl Curvature {
    /// Nothing known of this many joints and rows.
    pub fn reset(&mut self, joints: usize, rows: usize) {
        for (values, count) in [(&mut self.spans, joints), (&mut self.last, rows), (&mut self.before, rows)] {
            values.clear();
            values.resize(count, 0.0);
        }
    }
    /// Forgets everything but the sizes.
    pub fn forget(&mut self) {
        self.spans.fill(0.0);
        self.last.fill(0.0);
        self.before.fill(0.0);
    }

    /// What the next correction of a move of length t starts from: along the last two moves where they were as long, else as in the last one.
    pub fn guess(&self, joints: &[LocalJoint], t: f64, targets: &mut [f64]) {
        for (index, joint) in joints.iter().enumerate() {
            let slope = if self.spans[index] == t { 1.0 } else { 0.0 };
            // What bends the move by less is rounding, which two moves would only carry on and amplify: a joint at rest starts from rest.
            let floor = GUESS_FLOOR * joint.size / (t * t);
            for row in joint.first_row..joint.first_row + joint.rows {
                let guess = self.last[row] + slope * (self.last[row] - self.before[row]);
                targets[row] = if guess.abs() > floor { t * guess } else { 0.0 };
            }
        }
    }
    /// Takes what a correction came to over a move of length t.
    pub fn learn(&mut self, joints: &[LocalJoint], t: f64, targets: &[f64]) {
        if t <= 0.0 {
            return;
        }
        for (index, joint) in joints.iter().enumerate() {
            let again = self.spans[index] == t;
            self.spans[index] = t;
            for row in joint.first_row..joint.first_row + joint.rows {
                let now = targets[row] / t;
                self.before[row] = if again { self.last[row] } else { now };
                self.last[row] = now;
            }
        }
    }

    /// An island's part of the world's memory.
    pub fn take(&mut self, world: &Curvature, joints: &[LocalJoint]) {
        self.reset(joints.len(), joints.last().map_or(0, |j| j.first_row + j.rows));
        for (index, joint) in joints.iter().enumerate() {
            self.spans[index] = world.spans[joint.index];
            let (here, there) = (joint.first_row..joint.first_row + joint.rows, joint.model_row..joint.model_row + joint.rows);
            self.last[here.clone()].copy_from_slice(&world.last[there.clone()]);
            self.before[here].copy_from_slice(&world.before[there]);
        }
    }
    /// The way back.
    pub fn give(&self, world: &mut Curvature, joints: &[LocalJoint]) {
        for (index, joint) in joints.iter().enumerate() {
            world.spans[joint.index] = self.spans[index];
            let (here, there) = (joint.first_row..joint.first_row + joint.rows, joint.model_row..joint.model_row + joint.rows);
            world.last[there.clone()].copy_from_slice(&self.last[here.clone()]);
            world.before[there].copy_from_slice(&self.before[here]);
        }
    }

    /// All numbers in a row.
    pub fn values(&self) -> Vec<f64> {
        [&self.spans[..], &self.last, &self.before].concat()
    }
    /// Takes what [`Curvature::values`] gave; false when there are more or fewer, or one is not finite.
    pub fn restore(&mut self, values: &[f64]) -> bool {
        let (joints, rows) = (self.spans.len(), self.last.len());
        if values.len() != joints + 2 * rows || !values.iter().all(|x| x.is_finite()) {
            return false;
        }
        self.spans.copy_from_slice(&values[..joints]);
        self.last.copy_from_slice(&values[joints..joints + rows]);
        self.before.copy_from_slice(&values[joints + rows..]);
        true
    }
}
