//! Stage 7 of a linkage: the second kick at q' and the rows that hold velocities there, theory (17.23).

use super::body::EndBar;
use super::rows::of;
use crate::constraints::{JointFunction, MAX_COLUMNS, MAX_ROWS, PinnedGradient};
use crate::gradient::schedule::linkage::{Linkage, add_parameters};
use crate::gradient::slots::{add_wrench, put, twist, wrench};
use crate::gradient::system::sparse::Sparse;
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
    pub fn finish_tangent(&mut self, model: &Model<G>, sparse: &mut Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        self.make_room();
        let t = self.length;
        let time = x[self.time.range().start];
        let next: Vec<Twist<G>> = (0..self.bodies.len()).map(|local| self.next_of(local, x)).collect();
        let pushed = self.push_tangent(model, 1, &next, x);
        for local in (0..self.bodies.len()).filter(|&local| self.bodies[local].dynamic) {
            let half = twist::<G>(&x[Self::part(self.half, local)]);
            let load = self.load_tangent(1, local, &half, next[local].ang, x);
            let impulse = pushed[local].plus(self.share * t, load).plus(self.share * time, self.force(1, local));
            let known = self.bodies[local].end_tangent(
                self.at(1, local),
                &half,
                (&impulse, next[local].ang),
                [self.share * t, self.share * time],
                x,
            );
            put::<G>(known.lin, known.ang, &mut x[Self::part(self.end, local)]);
        }
        for joint in &self.joints {
            let own = of(model, joint);
            let [a, b] = joint.bodies.map(|body| &self.poses[1][body]);
            let columns = own.column_count();
            let mut matrix = [0.0; MAX_ROWS * MAX_COLUMNS];
            let matrix = &mut matrix[..joint.rows * columns];
            own.rate_derivative(JointFunction::Equalities, a, b, &joint.bodies.map(|body| self.bodies[body].twists[2]), matrix);
            let mut input = [0.0; MAX_COLUMNS];
            for (side, &body) in joint.bodies.iter().enumerate() {
                put::<G>(next[body].lin, next[body].ang, &mut input[side * G::DOF..]);
            }
            if let Some(block) = joint.parameters {
                input[2 * G::DOF..columns].copy_from_slice(&x[block.range()]);
            }
            let speeds = joint.bodies.map(|body| self.velocity(body).map_or_else(Twist::zero, |range| twist::<G>(&x[range])));
            let out = &mut self.walk.weights[joint.range()];
            self.rows[1].speeds(joint, [&speeds[0], &speeds[1]], out);
            for (out, line) in out.iter_mut().zip(matrix.chunks_exact(columns)) {
                *out += line.iter().zip(&input).map(|(d, x)| d * x).sum::<f64>();
            }
        }
        for (local, change) in self.answered_tangent(1, sparse, scratch).into_iter().enumerate() {
            if self.bodies[local].dynamic {
                add_wrench::<G>(&mut x[Self::part(self.end, local)], &Wrench { lin: change.lin, ang: change.ang });
            }
        }
    }

    /// The adjoint of the finish; what it leaves to the move waits in the walk, or in the slots where other loads come between.
    pub fn finish_adjoint(&mut self, model: &Model<G>, sparse: &mut Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        self.make_room();
        let t = self.length;
        let count = self.bodies.len();
        // Velocities at the end stand where those of the move will.
        for local in 0..count {
            let body = &self.bodies[local];
            let zero = (Wrench::zero(), Twist::zero());
            (self.walk.half[local], self.walk.twists[local]) = if body.dynamic {
                let w = wrench::<G>(&x[Self::part(self.end, local)]);
                (w, body.end_response_transpose(&self.turned[1][local], &w))
            } else {
                zero
            };
            self.walk.next[local] = if body.pose.is_some() { wrench::<G>(&x[Self::part(self.next, local)]) } else { Wrench::zero() };
        }
        if !self.joints.is_empty() {
            self.rows[1].all_speeds(&self.joints, &self.walk.twists, &mut self.walk.weights);
            self.answer(1, true, sparse, scratch);
            for joint in &self.joints {
                let sides = self.rows[1].wrenches(joint, &self.walk.weights[joint.range()]);
                for (&body, side) in joint.bodies.iter().zip(sides) {
                    self.walk.half[body] = self.walk.half[body].plus(1.0, side);
                }
            }
        }
        let (mut by_time, mut by_gravity) = (0.0, G::Lin::zero());
        for local in 0..count {
            let known = self.walk.half[local];
            let body = &self.bodies[local];
            if !body.dynamic {
                if let Some(block) = body.twist {
                    add_wrench::<G>(&mut x[block.range()], &known);
                }
                self.walk.half[local] = Wrench::zero();
                continue;
            }
            let EndBar { impulse, half, turn, time } = body.end_adjoint(&self.turned[1][local], &known, [self.share, t], x);
            self.walk.next[local].ang += turn;
            by_time += time;
            by_time += self.share * self.force(1, local).power(&impulse);
            let (by_load, by_turn) = self.load_adjoint(1, local, &impulse, &mut by_gravity, x);
            self.walk.next[local].ang += by_turn;
            self.walk.half[local] = half.plus(1.0, by_load);
            self.walk.twists[local] = impulse;
        }
        x[self.time.range().start] += by_time;
        self.gravity.add(by_gravity, x);
        // Speeds and impulses of the rows turn at the same pose: one visit, theory (15.6).
        for (number, joint) in self.joints.iter().enumerate() {
            let impulses = joint.bodies.map(|body| self.walk.twists[body]);
            let speeds = joint.bodies.map(|body| self.bodies[body].twists[2]);
            let (weights, reaction) = (&self.walk.weights[joint.range()], &self.reaction[1][joint.range()]);
            if joint.pinned {
                let pin = self.rows[1].pin(joint);
                let mut gradient = PinnedGradient::zero();
                pin.add_power(weights, &speeds, &mut gradient);
                pin.add_power(reaction, &impulses, &mut gradient);
                for (body, by_turn) in joint.bodies.into_iter().zip(pin.by_turns(&gradient)) {
                    self.walk.next[body].ang += by_turn;
                }
                self.walk.pinned[number] = gradient;
                continue;
            }
            let own = of(model, joint);
            let [a, b] = joint.bodies.map(|body| &self.poses[1][body]);
            let gradient = own.equality_power_gradient(a, b, &[(weights, &speeds), (reaction, &impulses)]);
            for (&body, side) in joint.bodies.iter().zip(&gradient.bodies) {
                self.walk.next[body] = self.walk.next[body].plus(1.0, *side);
            }
            add_parameters(own, &gradient, joint.parameters, x);
        }
        if self.loaded() {
            for local in (0..count).filter(|&local| self.bodies[local].pose.is_some()) {
                let (next, half) = (&self.walk.next[local], &self.walk.half[local]);
                put::<G>(next.lin, next.ang, &mut x[Self::part(self.next, local)]);
                put::<G>(half.lin, half.ang, &mut x[Self::part(self.half, local)]);
            }
        }
    }
}
