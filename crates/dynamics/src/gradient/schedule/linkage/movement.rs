//! Stages 4 to 6 of a linkage: impulses along the rows at q, and the move that closes every joint at its end, theory (17.21)-(17.22).

use super::body::{LinkBody, Turned};
use super::rows::{JointSums, of};
use crate::constraints::{JointFunction, MAX_COLUMNS, MAX_PARAMETERS, MAX_POSE_COLUMNS, MAX_ROWS, PinnedGradient};
use crate::gradient::schedule::linkage::{Linkage, add_parameters};
use crate::gradient::slots::{add_wrench, put, twist, wrench};
use crate::gradient::system::sparse::Sparse;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

impl<G: Geometry> Linkage<G> {
    /// The tangent of the move.
    pub fn move_tangent(&mut self, model: &Model<G>, sparse: &mut Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        self.make_room();
        let t = self.length;
        let time = x[self.time.range().start];
        let turns: Vec<Twist<G>> =
            self.bodies.iter().map(|body| body.pose.map_or_else(Twist::zero, |block| twist::<G>(&x[block.range()]))).collect();
        let pushed = self.push_tangent(model, 0, &turns, x);
        // Velocities and poses before the impulses of the rows change.
        for (local, body) in self.bodies.iter().enumerate() {
            let pose = turns[local];
            let mut velocity = body.twist.map_or_else(Twist::zero, |block| twist::<G>(&x[block.range()]));
            if body.dynamic {
                let load = self.load_tangent(0, local, &velocity, pose.ang, x);
                let impulse = pushed[local].plus(self.share * t, load).plus(self.share * time, self.force(0, local));
                velocity = velocity.plus(1.0, body.half_tangent(self.at(0, local), &impulse, pose.ang, x));
                put::<G>(velocity.lin, velocity.ang, &mut x[Self::part(self.half, local)]);
            }
            if body.pose.is_some() {
                let next = body.moved(self.ends(local), t, &pose, &velocity, time);
                put::<G>(next.lin, next.ang, &mut x[Self::part(self.next, local)]);
            }
        }
        // What the joints have to close.
        let per_time = 1.0 / t;
        for joint in &self.joints {
            let sides = joint.bodies.map(|body| self.next_of(body, x));
            let mut by_parameters = [0.0; MAX_ROWS * MAX_PARAMETERS];
            if let Some(block) = joint.parameters {
                let [a, b] = joint.bodies.map(|body| &self.poses[1][body]);
                of(model, joint).parameter_derivative(JointFunction::Equalities, a, b, &mut by_parameters[..joint.rows * block.len()]);
            }
            let out = &mut self.walk.weights[joint.range()];
            self.rows[1].speeds(joint, [&sides[0], &sides[1]], out);
            for (k, out) in out.iter_mut().enumerate() {
                if let Some(block) = joint.parameters {
                    let line = &by_parameters[k * block.len()..(k + 1) * block.len()];
                    *out += line.iter().zip(&x[block.range()]).map(|(d, x)| d * x).sum::<f64>();
                }
                *out *= per_time;
            }
        }
        for (local, change) in self.answered_tangent(0, sparse, scratch).into_iter().enumerate() {
            let body = &self.bodies[local];
            if body.dynamic {
                let moved = G::exp_derivative(body.twists[1].ang * t, change.ang * t);
                add_wrench::<G>(&mut x[Self::part(self.half, local)], &Wrench { lin: change.lin, ang: change.ang });
                add_wrench::<G>(&mut x[Self::part(self.next, local)], &Wrench { lin: change.lin * t, ang: moved });
            }
        }
    }

    /// The adjoint of the move, right after that of the finish.
    pub fn move_adjoint(
        &mut self,
        model: &Model<G>,
        sparse: &mut Sparse<G>,
        sums: &mut JointSums<G>,
        x: &mut [f64],
        scratch: &mut Vec<f64>,
    ) {
        let t = self.length;
        if self.loaded() {
            // Springs and forces at q' have spoken since.
            for local in 0..self.bodies.len() {
                self.walk.next[local] = wrench::<G>(&x[Self::part(self.next, local)]);
                self.walk.half[local] = wrench::<G>(&x[Self::part(self.half, local)]);
            }
        }
        // How the impulses of the rows answer, theory (17.21).
        if !self.joints.is_empty() {
            for (local, body) in self.bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
                let change = self.walk.half[local].plus(t, body.carried(&self.walk.next[local]));
                self.walk.twists[local] = self.response(0, local, &change);
            }
            self.rows[0].all_speeds(&self.joints, &self.walk.twists, &mut self.walk.weights);
            self.answer(0, true, sparse, scratch);
            let per_time = 1.0 / t;
            for (number, joint) in self.joints.iter().enumerate() {
                let y = &mut self.walk.weights[joint.range()];
                y.iter_mut().for_each(|y| *y *= per_time);
                let [a, b] = joint.bodies;
                let sides = self.rows[1].wrenches(joint, y);
                self.walk.next[a] = self.walk.next[a].plus(1.0, sides[0]);
                self.walk.next[b] = self.walk.next[b].plus(1.0, sides[1]);
                if joint.parameters.is_none() {
                    continue;
                }
                if joint.pinned {
                    let gradient = &mut self.walk.pinned[number];
                    self.rows[1].pin(joint).add_value(y, gradient);
                    sums.add(joint, gradient, joint.bodies.map(|body| &self.turned[1][body].matrix));
                } else {
                    let own = of(model, joint);
                    let gradient = own.equality_value_gradient(&self.poses[1][a], &self.poses[1][b], y);
                    add_parameters(own, &gradient, joint.parameters, x);
                }
            }
        }
        // Poses and velocities before the impulses of the rows change, theory (17.22).
        let (mut by_time, mut by_gravity) = (0.0, G::Lin::zero());
        for local in 0..self.bodies.len() {
            let body = &self.bodies[local];
            let Some(pose) = body.pose else { continue };
            let by_next = self.walk.next[local];
            let mut by_pose = LinkBody::moved_back(self.ends(local), &by_next);
            by_time += by_next.power(&body.twists[1]);
            if let Some(velocity) = body.twist {
                let mut known = Wrench::zero().plus(t, body.carried(&by_next));
                let mut by_velocity = known;
                if body.dynamic {
                    known = known.plus(1.0, self.walk.half[local]);
                    let (impulse, by_turn) = body.half_adjoint(&self.turned[0][local], &known, x);
                    by_pose.ang += by_turn;
                    by_time += self.share * self.force(0, local).power(&impulse);
                    let (by_load, by_turn) = self.load_adjoint(0, local, &impulse, &mut by_gravity, x);
                    by_pose.ang += by_turn;
                    by_velocity = known.plus(1.0, by_load);
                    self.walk.twists[local] = impulse;
                }
                add_wrench::<G>(&mut x[velocity.range()], &by_velocity);
            }
            add_wrench::<G>(&mut x[pose.range()], &by_pose);
        }
        x[self.time.range().start] += by_time;
        self.gravity.add(by_gravity, x);
        // The rows at q turn with the bodies.
        for joint in &self.joints {
            let y = &self.reaction[0][joint.range()];
            let twists = joint.bodies.map(|body| self.walk.twists[body]);
            if joint.pinned {
                let pin = self.rows[0].pin(joint);
                let mut gradient = PinnedGradient::zero();
                pin.add_power(y, &twists, &mut gradient);
                for (body, by_turn) in joint.bodies.into_iter().zip(pin.by_turns(&gradient)) {
                    if let Some(block) = self.bodies[body].pose {
                        x[block.range()][G::DIM..].iter_mut().zip(by_turn.as_slice()).for_each(|(x, v)| *x += v);
                    }
                }
                if joint.parameters.is_some() {
                    sums.add(joint, &gradient, joint.bodies.map(|body| &self.turned[0][body].matrix));
                }
                continue;
            }
            let own = of(model, joint);
            let [a, b] = joint.bodies.map(|body| &self.poses[0][body]);
            let gradient = own.equality_power_gradient(a, b, &[(y, &twists)]);
            for (&body, side) in joint.bodies.iter().zip(&gradient.bodies) {
                if let Some(block) = self.bodies[body].pose {
                    add_wrench::<G>(&mut x[block.range()], side);
                }
            }
            add_parameters(own, &gradient, joint.parameters, x);
        }
    }

    /// A body at q and at q'.
    #[inline]
    fn ends(&self, local: usize) -> [&Turned<G>; 2] {
        [&self.turned[0][local], &self.turned[1][local]]
    }

    /// The tangent of q' of a local body.
    pub(crate) fn next_of(&self, body: usize, x: &[f64]) -> Twist<G> {
        if self.bodies[body].pose.is_some() { twist::<G>(&x[Self::part(self.next, body)]) } else { Twist::zero() }
    }

    /// The tangent of the loads of a body.
    pub(crate) fn load_tangent(&self, room: usize, local: usize, velocity: &Twist<G>, turn: G::Ang, x: &[f64]) -> Wrench<G> {
        let mut load = self.bodies[local].load_tangent(room, self.at(room, local), &self.gravity, (velocity, turn), x);
        if self.loaded() {
            load = load.plus(1.0, wrench::<G>(&x[Self::part(self.wrenches[room], local)]));
        }
        load
    }

    /// d(J' y) of every joint at fixed y, by local body, for tangents of the poses.
    pub(crate) fn push_tangent(&self, model: &Model<G>, room: usize, poses: &[Twist<G>], x: &[f64]) -> Vec<Wrench<G>> {
        let mut out = vec![Wrench::zero(); self.bodies.len()];
        for joint in &self.joints {
            let own = of(model, joint);
            let [a, b] = joint.bodies.map(|body| &self.poses[room][body]);
            let y = &self.reaction[room][joint.range()];
            let columns = own.column_count();
            let mut matrix = [0.0; MAX_POSE_COLUMNS * MAX_COLUMNS];
            let matrix = &mut matrix[..2 * G::DOF * columns];
            own.wrench_derivative(JointFunction::Equalities, a, b, y, matrix);
            let mut input = [0.0; MAX_COLUMNS];
            for (side, &body) in joint.bodies.iter().enumerate() {
                put::<G>(poses[body].lin, poses[body].ang, &mut input[side * G::DOF..]);
            }
            if let Some(block) = joint.parameters {
                input[2 * G::DOF..columns].copy_from_slice(&x[block.range()]);
            }
            for (side, &body) in joint.bodies.iter().enumerate() {
                let mut sums = [0.0; 6];
                for (sum, line) in sums.iter_mut().zip(matrix[side * G::DOF * columns..].chunks_exact(columns)).take(G::DOF) {
                    *sum = line.iter().zip(&input).map(|(d, x)| d * x).sum();
                }
                out[body] = out[body].plus(1.0, wrench::<G>(&sums));
            }
        }
        out
    }

    /// The velocities, by local body, that the rows of a room answer to the residuals in the weights.
    pub(crate) fn answered_tangent(&mut self, room: usize, sparse: &mut Sparse<G>, scratch: &mut Vec<f64>) -> Vec<Twist<G>> {
        self.answer(room, false, sparse, scratch);
        let mut impulses = vec![Wrench::zero(); self.bodies.len()];
        for joint in &self.joints {
            let sides = self.rows[room].wrenches(joint, &self.walk.weights[joint.range()]);
            for (&body, side) in joint.bodies.iter().zip(sides) {
                impulses[body] = impulses[body].plus(1.0, side);
            }
        }
        impulses.iter().enumerate().map(|(local, impulse)| self.response(room, local, impulse)).collect()
    }
}
