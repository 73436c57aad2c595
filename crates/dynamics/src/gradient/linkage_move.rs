//! Rooms 4 to 6 of a linkage: impulses along the rows at q, and the move that closes every joint at its end, theory (17.40)-(17.41).

use super::linkage::{LinkBody, Linkage, add_parameters, add_wrench};
use super::motion::{changed, changed_transpose, turned, turned_transpose};
use super::slots::{put, twist, wrench};
use super::sparse::Sparse;
use crate::constraints::{JointFunction, MAX_COLUMNS, MAX_PARAMETERS, MAX_POSE_COLUMNS, MAX_ROWS};
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

impl<G: Geometry> Linkage<G> {
    /// The tangent of the move.
    pub fn move_tangent(&self, model: &Model<G>, sparse: &Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let t = self.length;
        let time = x[self.time.range().start];
        self.push_tangent(model, 0, self.impulses[0], &|linkage, body| linkage.bodies[body].pose.map(|block| block.range()), x);
        // Velocities and poses before the impulses of the rows change.
        for (local, body) in self.bodies.iter().enumerate() {
            let mut velocity = body.twist.map_or_else(Twist::zero, |block| twist::<G>(&x[block.range()]));
            if body.dynamic {
                let load = wrench::<G>(&x[Self::part(self.wrenches[0], local)]);
                let pushed = wrench::<G>(&x[Self::part(self.impulses[0], local)]);
                let impulse = pushed.plus(self.share * t, load).plus(self.share * time, body.force[0]);
                velocity = velocity.plus(1.0, body.changed_response(&impulse, self.poses[0][local].rotation, x));
                put::<G>(velocity.lin, velocity.ang, &mut x[Self::part(self.half, local)]);
            }
            if let Some(block) = body.pose {
                let pose = twist::<G>(&x[block.range()]);
                let value = &body.twists[0];
                let lin = pose.lin + velocity.lin * t + value.lin * time;
                let turned = G::exp_derivative(value.ang * t, velocity.ang * t);
                let ang = G::rotate_rate(body.turn, pose.ang) + turned + value.ang * time;
                put::<G>(lin, ang, &mut x[Self::part(self.next, local)]);
            }
        }
        // What the joints have to close.
        let per_time = 1.0 / t;
        for (joint, parameters) in &self.joints {
            let sides = joint.bodies.map(|body| self.next_of(body, x));
            let mut by_parameters = [0.0; MAX_ROWS * MAX_PARAMETERS];
            if let Some(block) = parameters {
                let [a, b] = joint.bodies.map(|body| &self.poses[1][body]);
                model.joints[joint.index].parameter_derivative(
                    JointFunction::Equalities,
                    a,
                    b,
                    &mut by_parameters[..joint.rows * block.len()],
                );
            }
            for k in 0..joint.rows {
                let row = &self.rows[1][joint.first_row + k];
                let mut sum = row[0].1.power(&sides[0]) + row[1].1.power(&sides[1]);
                if let Some(block) = parameters {
                    let line = &by_parameters[k * block.len()..(k + 1) * block.len()];
                    sum += line.iter().zip(&x[block.range()]).map(|(d, x)| d * x).sum::<f64>();
                }
                x[self.residuals[0].range().start + joint.first_row + k] = per_time * sum;
            }
        }
        self.answer_tangent(0, sparse, x, scratch);
        for (local, body) in self.bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
            let change = body.response(0, &wrench::<G>(&x[Self::part(self.answers[0], local)]));
            let turned = G::exp_derivative(body.twists[0].ang * t, change.ang * t);
            add_wrench::<G>(&mut x[Self::part(self.half, local)], &Wrench { lin: change.lin, ang: change.ang });
            add_wrench::<G>(&mut x[Self::part(self.next, local)], &Wrench { lin: change.lin * t, ang: turned });
        }
    }

    /// The adjoint of the move.
    pub fn move_adjoint(&self, model: &Model<G>, sparse: &Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let t = self.length;
        // How the impulses of the rows answer, theory (17.40).
        for (local, body) in self.bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
            let by_next = wrench::<G>(&x[Self::part(self.next, local)]);
            let by_half = wrench::<G>(&x[Self::part(self.half, local)]);
            let change = by_half.plus(t, body.carried(&by_next));
            let answer = body.response(0, &change);
            put::<G>(answer.lin, answer.ang, &mut x[Self::part(self.answers[0], local)]);
        }
        self.answer_adjoint(0, sparse, x, scratch);
        let per_time = 1.0 / t;
        for (joint, parameters) in &self.joints {
            let first = self.residuals[0].range().start + joint.first_row;
            let mut y = [0.0; MAX_ROWS];
            let mut sides = [Wrench::<G>::zero(); 2];
            for k in 0..joint.rows {
                y[k] = per_time * x[first + k];
                let row = &self.rows[1][joint.first_row + k];
                sides = [sides[0].plus(y[k], row[0].1), sides[1].plus(y[k], row[1].1)];
            }
            for (&body, side) in joint.bodies.iter().zip(&sides) {
                if self.bodies[body].pose.is_some() {
                    add_wrench::<G>(&mut x[Self::part(self.next, body)], side);
                }
            }
            if parameters.is_some() {
                let own = &model.joints[joint.index];
                let [a, b] = joint.bodies.map(|body| &self.poses[1][body]);
                add_parameters(own, &own.equality_value_gradient(a, b, &y), *parameters, x);
            }
        }
        // Poses and velocities before the impulses of the rows change.
        let mut by_time = 0.0;
        for (local, body) in self.bodies.iter().enumerate() {
            let Some(pose) = body.pose else { continue };
            let by_next = wrench::<G>(&x[Self::part(self.next, local)]);
            let back = Wrench { lin: by_next.lin, ang: G::unrotate_rate(body.turn, by_next.ang) };
            add_wrench::<G>(&mut x[pose.range()], &back);
            by_time += by_next.power(&body.twists[0]);
            let Some(velocity) = body.twist else { continue };
            let mut known = Wrench::zero().plus(t, body.carried(&by_next));
            if body.dynamic {
                known = known.plus(1.0, wrench::<G>(&x[Self::part(self.half, local)]));
                let impulse = body.response(0, &known);
                body.changed_response_adjoint(&known, &impulse, self.poses[0][local].rotation, pose.part(G::DIM, G::ANG).range(), x);
                let load = Wrench { lin: impulse.lin * (self.share * t), ang: impulse.ang * (self.share * t) };
                add_wrench::<G>(&mut x[Self::part(self.wrenches[0], local)], &load);
                by_time += self.share * body.force[0].power(&impulse);
                put::<G>(impulse.lin, impulse.ang, &mut x[Self::part(self.impulses[0], local)]);
            }
            add_wrench::<G>(&mut x[velocity.range()], &known);
        }
        x[self.time.range().start] += by_time;
        // The rows at q turn with the bodies.
        for (joint, parameters) in &self.joints {
            let own = &model.joints[joint.index];
            let [a, b] = joint.bodies.map(|body| &self.poses[0][body]);
            let twists = joint.bodies.map(|body| self.impulse_of(0, body, x));
            let y = &self.reaction[0][joint.first_row..joint.first_row + joint.rows];
            let gradient = own.equality_power_gradient(a, b, &[(y, &twists)]);
            for (&body, side) in joint.bodies.iter().zip(&gradient.bodies) {
                if let Some(block) = self.bodies[body].pose {
                    add_wrench::<G>(&mut x[block.range()], side);
                }
            }
            add_parameters(own, &gradient, *parameters, x);
        }
    }

    /// Slots of q' of a local body.
    pub(super) fn next_of(&self, body: usize, x: &[f64]) -> Twist<G> {
        if self.bodies[body].pose.is_some() { twist::<G>(&x[Self::part(self.next, body)]) } else { Twist::zero() }
    }

    /// The cotangent of the impulse on a local body, a twist.
    pub(super) fn impulse_of(&self, room: usize, body: usize, x: &[f64]) -> Twist<G> {
        if self.bodies[body].dynamic { twist::<G>(&x[Self::part(self.impulses[room], body)]) } else { Twist::zero() }
    }

    /// out += d(J' y) of every joint.
    pub(super) fn push_tangent(
        &self,
        model: &Model<G>,
        room: usize,
        out: super::program::Block,
        pose: &dyn Fn(&Self, usize) -> Option<std::ops::Range<usize>>,
        x: &mut [f64],
    ) {
        for (joint, parameters) in &self.joints {
            let own = &model.joints[joint.index];
            let [a, b] = joint.bodies.map(|body| &self.poses[room][body]);
            let y = &self.reaction[room][joint.first_row..joint.first_row + joint.rows];
            let columns = own.column_count();
            let mut matrix = [0.0; MAX_POSE_COLUMNS * MAX_COLUMNS];
            let matrix = &mut matrix[..2 * G::DOF * columns];
            own.wrench_derivative(JointFunction::Equalities, a, b, y, matrix);
            let mut input = [0.0; MAX_COLUMNS];
            for (side, &body) in joint.bodies.iter().enumerate() {
                if let Some(range) = pose(self, body) {
                    input[side * G::DOF..(side + 1) * G::DOF].copy_from_slice(&x[range]);
                }
            }
            if let Some(block) = parameters {
                input[2 * G::DOF..columns].copy_from_slice(&x[block.range()]);
            }
            for (side, &body) in joint.bodies.iter().enumerate().filter(|(_, body)| self.bodies[**body].dynamic) {
                let start = Self::part(out, body).start;
                for k in 0..G::DOF {
                    let line = &matrix[(side * G::DOF + k) * columns..][..columns];
                    x[start + k] += line.iter().zip(&input).map(|(d, x)| d * x).sum::<f64>();
                }
            }
        }
    }

    /// Unknowns from residuals, and the impulses they are.
    pub(super) fn answer_tangent(&self, room: usize, sparse: &Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let Some(factor) = self.factors[room] else { return };
        sparse.solve(factor, self.residuals[room].range(), self.unknowns[room].range(), x, scratch);
        let first = self.unknowns[room].range().start;
        for (k, row) in self.rows[room].iter().enumerate() {
            for (body, covector) in row.iter().filter(|(body, _)| self.bodies[*body].dynamic) {
                let impulse = Wrench::zero().plus(x[first + k], *covector);
                add_wrench::<G>(&mut x[Self::part(self.answers[room], *body)], &impulse);
            }
        }
    }

    /// The transpose: residuals from the velocities that stand in the answers.
    pub(super) fn answer_adjoint(&self, room: usize, sparse: &Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let Some(factor) = self.factors[room] else { return };
        let first = self.unknowns[room].range().start;
        for (k, row) in self.rows[room].iter().enumerate() {
            let mut sum = 0.0;
            for (body, covector) in row {
                // What no impulse moves has zeros there.
                sum += covector.power(&twist::<G>(&x[Self::part(self.answers[room], *body)]));
            }
            x[first + k] = sum;
        }
        sparse.solve_transposed(factor, self.residuals[room].range(), self.unknowns[room].range(), x, scratch);
    }
}

impl<G: Geometry> LinkBody<G> {
    /// d(M^-1 p) at q for a change of the impulse, of the pose and of the inertia, theory (17.6).
    fn changed_response(&self, impulse: &Wrench<G>, rotation: G::Rot, x: &[f64]) -> Twist<G> {
        let mut out = self.response(0, impulse);
        let result = self.response(0, &self.total[0]);
        if let (true, Some(pose)) = (G::ANG > 1, self.pose) {
            let xi = G::Ang::from_slice(&x[pose.part(G::DIM, G::ANG).range()]);
            out.ang += turned::<G>(self.inv_inertia[0], xi, self.total[0].ang);
        }
        if let Some(mass) = self.mass {
            out.lin -= result.lin * (x[mass.range().start] * self.per_mass);
        }
        if let Some(block) = self.inertia_block {
            out.ang -= G::inertia_apply(self.inv_inertia[0], changed::<G>(rotation, &x[block.range()], result.ang));
        }
        out
    }

    /// The transpose of all but the impulse, whose cotangent is known.
    #[inline]
    fn changed_response_adjoint(&self, w: &Wrench<G>, impulse: &Twist<G>, rotation: G::Rot, turn: std::ops::Range<usize>, x: &mut [f64]) {
        if G::ANG > 1 {
            let by_turn = turned_transpose::<G>(self.inv_inertia[0], w.ang, self.total[0].ang);
            x[turn].iter_mut().zip(by_turn.as_slice()).for_each(|(x, v)| *x += v);
        }
        if self.mass.is_none() && self.inertia_block.is_none() {
            return;
        }
        let result = self.response(0, &self.total[0]);
        if let Some(mass) = self.mass {
            x[mass.range().start] -= w.lin.dot(result.lin) * self.per_mass;
        }
        if let Some(block) = self.inertia_block {
            changed_transpose::<G>(rotation, impulse.ang, result.ang, -1.0, &mut x[block.range()]);
        }
    }
}
