//! Room 7 of a linkage: the second kick at q' and the rows that hold velocities there, theory (17.42).

use super::linkage::{LinkBody, Linkage, add_parameters, add_wrench};
use super::motion::{apply_transpose, changed, changed_transpose, turned, turned_transpose};
use super::slots::{cross, put, twist, wrench};
use super::sparse::Sparse;
use crate::constraints::{JointFunction, MAX_COLUMNS, MAX_ROWS};
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

impl<G: Geometry> Linkage<G> {
    /// Slots of the velocity at q' of a local body before rows answer: its own, or that of a body which moves by itself.
    fn velocity(&self, local: usize) -> Option<std::ops::Range<usize>> {
        let body = &self.bodies[local];
        if body.dynamic { Some(Self::part(self.end, local)) } else { body.twist.map(|block| block.range()) }
    }

    /// The tangent of the finish.
    pub fn finish_tangent(&self, model: &Model<G>, sparse: &Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let t = self.length;
        let time = x[self.time.range().start];
        let next = |linkage: &Self, body: usize| linkage.bodies[body].pose.map(|_| Self::part(linkage.next, body));
        self.push_tangent(model, 1, self.impulses[1], &next, x);
        for (local, body) in self.bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
            let load = wrench::<G>(&x[Self::part(self.wrenches[1], local)]);
            let pushed = wrench::<G>(&x[Self::part(self.impulses[1], local)]);
            let impulse = pushed.plus(self.share * t, load).plus(self.share * time, body.force[1]);
            let half = twist::<G>(&x[Self::part(self.half, local)]);
            let turn = self.next_of(local, x).ang;
            let known = body.end_tangent(&half, &impulse, turn, (self.share * time, self.poses[1][local].rotation), x);
            put::<G>(known.lin, known.ang, &mut x[Self::part(self.end, local)]);
        }
        for (joint, parameters) in &self.joints {
            let own = &model.joints[joint.index];
            let [a, b] = joint.bodies.map(|body| &self.poses[1][body]);
            let columns = own.column_count();
            let mut matrix = [0.0; MAX_ROWS * MAX_COLUMNS];
            let matrix = &mut matrix[..joint.rows * columns];
            own.rate_derivative(JointFunction::Equalities, a, b, &joint.bodies.map(|body| self.bodies[body].twists[1]), matrix);
            let mut input = [0.0; MAX_COLUMNS];
            for (side, &body) in joint.bodies.iter().enumerate() {
                let pose = self.next_of(body, x);
                put::<G>(pose.lin, pose.ang, &mut input[side * G::DOF..]);
            }
            if let Some(block) = parameters {
                input[2 * G::DOF..columns].copy_from_slice(&x[block.range()]);
            }
            let speeds = joint.bodies.map(|body| self.velocity(body).map_or_else(Twist::zero, |range| twist::<G>(&x[range])));
            for k in 0..joint.rows {
                let row = &self.rows[1][joint.first_row + k];
                let turned: f64 = matrix[k * columns..(k + 1) * columns].iter().zip(&input).map(|(d, x)| d * x).sum();
                x[self.residuals[1].range().start + joint.first_row + k] = turned + row[0].1.power(&speeds[0]) + row[1].1.power(&speeds[1]);
            }
        }
        self.answer_tangent(1, sparse, x, scratch);
        for (local, body) in self.bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
            let change = body.response(1, &wrench::<G>(&x[Self::part(self.answers[1], local)]));
            add_wrench::<G>(&mut x[Self::part(self.end, local)], &Wrench { lin: change.lin, ang: change.ang });
        }
    }

    /// The adjoint of the finish.
    pub fn finish_adjoint(&self, model: &Model<G>, sparse: &Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let t = self.length;
        for (local, body) in self.bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
            let answer = body.response_transpose(&wrench::<G>(&x[Self::part(self.end, local)]));
            put::<G>(answer.lin, answer.ang, &mut x[Self::part(self.answers[1], local)]);
        }
        self.answer_adjoint(1, sparse, x, scratch);
        let first = self.residuals[1].range().start;
        for (joint, _) in &self.joints {
            let mut sides = [Wrench::<G>::zero(); 2];
            for k in joint.first_row..joint.first_row + joint.rows {
                let row = &self.rows[1][k];
                sides = [sides[0].plus(x[first + k], row[0].1), sides[1].plus(x[first + k], row[1].1)];
            }
            for (&body, side) in joint.bodies.iter().zip(&sides) {
                if let Some(range) = self.velocity(body) {
                    add_wrench::<G>(&mut x[range], side);
                }
            }
        }
        let mut by_time = 0.0;
        for (local, body) in self.bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
            let known = wrench::<G>(&x[Self::part(self.end, local)]);
            let impulse = body.response_transpose(&known);
            let turn = Self::part(self.next, local).start + G::DIM;
            by_time += self.share * body.end_adjoint(&known, &impulse, self.poses[1][local].rotation, turn, x);
            let half = Wrench { lin: known.lin, ang: body.by_rate_before(&known, &impulse) };
            add_wrench::<G>(&mut x[Self::part(self.half, local)], &half);
            let load = Wrench { lin: impulse.lin * (self.share * t), ang: impulse.ang * (self.share * t) };
            add_wrench::<G>(&mut x[Self::part(self.wrenches[1], local)], &load);
            by_time += self.share * body.force[1].power(&impulse);
            put::<G>(impulse.lin, impulse.ang, &mut x[Self::part(self.impulses[1], local)]);
        }
        x[self.time.range().start] += by_time;
        // Speeds and impulses of the rows turn at the same pose: one visit, theory (15.6).
        for (joint, parameters) in &self.joints {
            let own = &model.joints[joint.index];
            let [a, b] = joint.bodies.map(|body| &self.poses[1][body]);
            let impulses = joint.bodies.map(|body| self.impulse_of(1, body, x));
            let speeds = joint.bodies.map(|body| self.bodies[body].twists[1]);
            let rows = joint.first_row..joint.first_row + joint.rows;
            let mut weights = [0.0; MAX_ROWS];
            weights[..joint.rows].copy_from_slice(&x[first + rows.start..first + rows.end]);
            let gradient = own.equality_power_gradient(a, b, &[(&weights, &speeds), (&self.reaction[1][rows], &impulses)]);
            for (&body, side) in joint.bodies.iter().zip(&gradient.bodies) {
                if self.bodies[body].pose.is_some() {
                    add_wrench::<G>(&mut x[Self::part(self.next, body)], side);
                }
            }
            add_parameters(own, &gradient, *parameters, x);
        }
    }
}

impl<G: Geometry> LinkBody<G> {
    /// The transpose of the response at q'.
    #[inline]
    fn response_transpose(&self, w: &Wrench<G>) -> Twist<G> {
        let ang = match &self.rate {
            Some((_, unfolded)) => apply_transpose::<G>(unfolded, w.ang),
            None => G::inertia_apply(self.inv_inertia[1], w.ang),
        };
        Twist { lin: w.lin.scale(self.inv_mass), ang }
    }

    /// The cotangent of the rate before, from those of the rate after and of the impulse.
    #[inline]
    fn by_rate_before(&self, known: &Wrench<G>, impulse: &Twist<G>) -> G::Ang {
        if self.rate.is_some() { G::inertia_apply(self.inertia, impulse.ang) } else { known.ang }
    }

    /// d of the velocity at q' before rows answer, theory (17.6)-(17.7).
    fn end_tangent(&self, half: &Twist<G>, impulse: &Wrench<G>, xi: G::Ang, (duration, rotation): (f64, G::Rot), x: &[f64]) -> Twist<G> {
        let result = self.response(1, &self.total[1]);
        let mut lin = half.lin + impulse.lin.scale(self.inv_mass);
        if let Some(mass) = self.mass {
            lin -= result.lin * (x[mass.range().start] * self.per_mass);
        }
        let Some((rate, unfolded)) = &self.rate else {
            let mut ang = half.ang + G::inertia_apply(self.inv_inertia[1], impulse.ang);
            if G::ANG > 1 {
                ang += turned::<G>(self.inv_inertia[1], xi, self.total[1].ang);
            }
            if let Some(block) = self.inertia_block {
                ang -= G::inertia_apply(self.inv_inertia[1], changed::<G>(rotation, &x[block.range()], result.ang));
            }
            return Twist { lin, ang };
        };
        let (after, gained) = (rate.after, rate.after - rate.before);
        let both = |change: &dyn Fn(G::Ang) -> G::Ang| change(gained) + cross::<G>(after, change(after)) * rate.duration;
        let mut residual = impulse.ang + G::inertia_apply(self.inertia, half.ang);
        residual -= both(&|rate| turned::<G>(self.inertia, xi, rate));
        residual -= G::gyroscopic(self.inertia, after) * duration;
        if let Some(block) = self.inertia_block {
            residual -= both(&|rate| changed::<G>(rotation, &x[block.range()], rate));
        }
        Twist { lin, ang: super::motion::ImplicitRate::<G>::unfold(unfolded, residual) }
    }

    /// The transpose by pose, mass and inertia; returns the cotangent of the duration.
    #[inline]
    fn end_adjoint(&self, known: &Wrench<G>, impulse: &Twist<G>, rotation: G::Rot, turn: usize, x: &mut [f64]) -> f64 {
        if let Some(mass) = self.mass {
            x[mass.range().start] -= known.lin.dot(self.total[1].lin.scale(self.inv_mass)) * self.per_mass;
        }
        let add_turn = |x: &mut [f64], by_turn: G::Ang| {
            x[turn..turn + G::ANG].iter_mut().zip(by_turn.as_slice()).for_each(|(x, v)| *x += v);
        };
        let Some((rate, _)) = &self.rate else {
            if G::ANG > 1 {
                add_turn(x, turned_transpose::<G>(self.inv_inertia[1], known.ang, self.total[1].ang));
            }
            if let Some(block) = self.inertia_block {
                let result = G::inertia_apply(self.inv_inertia[1], self.total[1].ang);
                changed_transpose::<G>(rotation, impulse.ang, result, -1.0, &mut x[block.range()]);
            }
            return 0.0;
        };
        let (after, gained) = (rate.after, rate.after - rate.before);
        let r = impulse.ang;
        // r . (y x z) = (r x y) . z.
        let bent = cross::<G>(r, after) * rate.duration;
        let sum = turned_transpose::<G>(self.inertia, r, gained) + turned_transpose::<G>(self.inertia, bent, after);
        add_turn(x, -sum);
        if let Some(block) = self.inertia_block {
            changed_transpose::<G>(rotation, r, gained, -1.0, &mut x[block.range()]);
            changed_transpose::<G>(rotation, bent, after, -1.0, &mut x[block.range()]);
        }
        -r.dot(G::gyroscopic(self.inertia, after))
    }
}
