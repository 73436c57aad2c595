//! What joints do to velocities: through their factor, or along the freedoms of a tree, theory (2.14), (12.26)-(12.36).

use crate::assembly::Assembly;
use crate::reduced::couple_joints;
use carom_geometry::Geometry;
use carom_math::Twist;

impl<G: Geometry> Assembly<G> {
    /// Velocity change of impulses along selected rows, joints holding: v += M~^-1 J' l; the joint impulses are added to `reaction`.
    pub fn push(&mut self, selected: &[usize], impulses: &[f64], reaction: &mut [f64], scratch: &mut Vec<f64>, twists: &mut [Twist<G>]) {
        if self.columns.are_of(self.lines.len()) && reaction.len() == self.equalities.len() {
            return self.columns.push(&self.equalities, selected, impulses, reaction, twists);
        }
        for (&line, &impulse) in selected.iter().zip(impulses) {
            self.equalities.line_push(&self.lines[line], impulse, twists);
        }
        let count = self.equalities.len();
        // Nothing pushes, nothing answers.
        if count == 0 || impulses.iter().all(|impulse| *impulse == 0.0) {
            return;
        }
        self.answer_joints(selected, impulses, scratch);
        self.equalities.push(scratch, twists);
        for (sum, impulse) in reaction.iter_mut().zip(scratch.iter()) {
            *sum += impulse;
        }
    }

    /// The joint impulses that answer impulses along selected rows.
    pub fn answer_joints(&self, selected: &[usize], impulses: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.equalities.len(), 0.0);
        for (&line, &impulse) in selected.iter().zip(impulses) {
            if impulse != 0.0 {
                couple_joints(&self.factor, &self.equalities, &self.lines[line], -impulse, |r, x| out[r] += x);
            }
        }
        self.factor.solve(out);
    }

    /// Changes J_e v by joint impulses; `change` becomes them, and they are added to `reaction`. Along a tree the whole `target` is met anew, and the joints are
    /// not asked yet.
    pub fn change_joints(&mut self, target: &[f64], change: &mut Vec<f64>, reaction: &mut [f64], twists: &mut [Twist<G>]) {
        if self.columns.by_basis {
            self.columns.basis.hold(&self.equalities, target, true, true, twists);
            return self.tell_rotors(target, reaction, twists);
        }
        self.factor.solve(change);
        self.equalities.push(change, twists);
        for (sum, impulse) in reaction.iter_mut().zip(change.iter()) {
            *sum += impulse;
        }
    }

    /// Makes J_e v equal a target by joint impulses: v += M^-1 J_e' y with y = A_e^-1 (target - J_e v), left in `reaction`.
    /// Rotors are at rest before that.
    pub fn hold_joints(&mut self, target: &[f64], reaction: &mut Vec<f64>, twists: &mut [Twist<G>]) {
        self.hold(target, false, reaction, twists);
    }

    /// The same where nobody asks for the impulses of the joints.
    pub fn obey_joints(&mut self, target: &[f64], scratch: &mut Vec<f64>, twists: &mut [Twist<G>]) {
        if self.columns.by_basis && !self.equalities.is_empty() {
            return self.columns.basis.hold(&self.equalities, target, false, false, twists);
        }
        self.hold(target, false, scratch, twists);
    }

    /// The same where rotors turn at their rates before, theory (21.2).
    pub fn hold_joints_and_rotors(&mut self, target: &[f64], reaction: &mut Vec<f64>, twists: &mut [Twist<G>]) {
        self.hold(target, true, reaction, twists);
    }

    fn hold(&mut self, target: &[f64], turning: bool, reaction: &mut Vec<f64>, twists: &mut [Twist<G>]) {
        reaction.clear();
        if self.equalities.is_empty() {
            return;
        }
        if self.columns.by_basis {
            reaction.resize(self.equalities.len(), 0.0);
            self.columns.basis.hold(&self.equalities, target, turning, false, twists);
            return self.columns.basis.answer(&self.equalities, (target, turning), (&[], &[], &[]), twists, reaction);
        }
        self.equalities.lacking(target, twists, reaction);
        if turning {
            self.equalities.add_rates(reaction);
        }
        self.factor.solve(reaction);
        self.equalities.push(reaction, twists);
    }

    /// The same where the impulses of the joints count only at the end, but for those of rotors after the `last` of several: along a tree they are found by
    /// [`Assembly::settle`].
    pub fn hold_unsettled(&mut self, target: &[f64], last: bool, reaction: &mut Vec<f64>, twists: &mut [Twist<G>]) {
        if !self.columns.by_basis || self.equalities.is_empty() {
            return self.hold(target, true, reaction, twists);
        }
        reaction.clear();
        reaction.resize(self.equalities.len(), 0.0);
        self.columns.basis.hold(&self.equalities, target, true, false, twists);
        if last {
            self.tell_rotors(target, reaction, twists);
        }
    }

    /// A push after it.
    pub fn push_unsettled(
        &mut self,
        target: &[f64],
        (selected, impulses): (&[usize], &[f64]),
        reaction: &mut [f64],
        scratch: &mut Vec<f64>,
        twists: &mut [Twist<G>],
    ) {
        if !self.columns.by_basis || selected.is_empty() {
            return self.push(selected, impulses, reaction, scratch, twists);
        }
        self.columns.push_along(&self.equalities, selected, impulses, twists);
        self.tell_rotors(target, reaction, twists);
    }

    /// The impulses of the joints that, with impulses along selected rows, brought the velocities before the last hold to these.
    pub fn settle(&mut self, target: &[f64], (selected, impulses): (&[usize], &[f64]), reaction: &mut [f64], twists: &[Twist<G>]) {
        if self.columns.by_basis && !self.equalities.is_empty() {
            self.columns.basis.answer(&self.equalities, (target, true), (&self.lines, selected, impulses), twists, reaction);
        }
    }

    /// The impulses of rotors, theory (21.2).
    fn tell_rotors(&self, target: &[f64], reaction: &mut [f64], twists: &[Twist<G>]) {
        for rotor in &self.equalities.rotors {
            reaction[rotor.row] = (target[rotor.row] + rotor.rate - self.equalities.rotor_speed(rotor, twists)) / rotor.inverse;
        }
    }
}
