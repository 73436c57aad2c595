//! Poses, mean rows and the balance of momentum of each body over a move, theory (13.3)-(13.8) and (13.15).

use super::Midpoint;
use crate::body_load::{Resisting, resisted};
use crate::constraints::{MAX_ROWS, Row, Span};
use crate::island::{Context, Island, LocalBody, LocalJoint};
use crate::line::Line;
use crate::model::Model;
use crate::predict::{effective_mass, soft_spring};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// The angle of a Cayley turn over its vector, 2 atan(x/2)/x, theory (13.3).
fn cayley_share(x: f64) -> f64 {
    if x > 0.0 { 2.0 * (0.5 * x).atan() / x } else { 1.0 }
}

/// The vector of the Cayley turn by an angle over the angle, 2 tan(x/2)/x: the inverse of [`cayley_share`].
fn tangent_share(x: f64) -> f64 {
    if x > 0.0 { 2.0 * (0.5 * x).tan() / x } else { 1.0 }
}

/// The constant twist whose exponential over a time is the Cayley turn of a mean twist: the path between the ends of the move.
pub(super) fn path<G: Geometry>(mean: Twist<G>, t: f64) -> Twist<G> {
    Twist { lin: mean.lin, ang: mean.ang * cayley_share(t * mean.ang.norm()) }
}

/// Marks the bodies that turn by the exponential map: in the plane those that no mean row and no spring holds.
pub(crate) fn find_unheld<G: Geometry>(model: &Model<G>, joints: &[LocalJoint], unheld: &mut [bool]) {
    unheld.fill(G::ANG == 1);
    for joint in joints {
        if joint.rows > 0 || model.joints[joint.index].measures.stiffness > 0.0 {
            joint.bodies.iter().for_each(|&b| unheld[b] = false);
        }
    }
}

/// Mean twist from the half impulse on a body, theory (13.6)-(13.7); `None` where the rate does not converge.
fn mean_twist<G: Geometry>(
    body: &LocalBody<G>,
    resistances: Resisting,
    twist: Twist<G>,
    push: &Wrench<G>,
    t: f64,
    guess: G::Ang,
) -> Option<Twist<G>> {
    let lin = resisted(body, resistances, 0.5 * t, twist.lin + push.lin.scale(body.inv_mass));
    let spin_drag = 0.5 * t * resistances[1];
    if body.inv_inertia_body == G::inertia_zero() {
        return Some(Twist { lin, ang: twist.ang });
    }
    let momentum = G::inertia_apply(body.inertia, twist.ang);
    G::mean_rate(body.inertia, 0.5 * t, 1.0 + spin_drag, momentum, push.ang, guess).map(|ang| Twist { lin, ang })
}

impl<G: Geometry> Midpoint<G> {
    /// The first guess: the velocities at the start, and no impulses.
    pub(super) fn start(&mut self, island: &Island<G>, ctx: &Context<G>, t: f64) {
        self.unheld.clear();
        self.unheld.resize(island.members.bodies.len(), false);
        find_unheld(ctx.model, &island.links.joints, &mut self.unheld);
        self.mean.clear();
        self.mean.extend(island.members.bodies.iter().zip(&island.motion.twists).map(|(body, twist)| {
            // A kinematic body turns by the exponential; this is the twist that says so in mean rows.
            let share = if body.kinematic { tangent_share(t * twist.ang.norm()) } else { 1.0 };
            Twist { lin: twist.lin, ang: twist.ang * share }
        }));
        self.reaction.clear();
        self.reaction.resize(island.system.assembly.equalities.len(), 0.0);
        self.stiffened.clear();
        self.stiffened.extend_from_slice(&island.members.bodies);
    }

    /// Poses at the end, mean rows, impulses and what they make of the velocities; whether every rate converged.
    pub(super) fn evaluate(&mut self, island: &mut Island<G>, ctx: &Context<G>, t: f64) -> bool {
        island.motion.half.clear();
        island.motion.next.clear();
        for (index, body) in island.members.bodies.iter().enumerate() {
            let along = match (body.dynamic, self.unheld[index]) {
                (false, _) => island.motion.twists[index],
                (true, true) => self.mean[index],
                (true, false) => path(self.mean[index], t),
            };
            island.motion.half.push(along);
            island.motion.next.push(island.motion.poses[index].advanced(along, t));
        }
        self.push_loads(island, ctx, t);
        self.push_rows(island, ctx);
        let mut converged = true;
        self.balanced.clear();
        for (index, body) in island.members.bodies.iter().enumerate() {
            let mut balanced = self.mean[index];
            if body.dynamic {
                let resistances = ctx.model.bodies[body.index].resistances.list();
                match mean_twist(body, resistances, island.motion.twists[index], &self.pushes[index], t, balanced.ang) {
                    Some(twist) => balanced = twist,
                    None => converged = false,
                }
            }
            self.balanced.push(balanced);
        }
        converged
    }

    /// Half the impulses of gravity, springs, controls and forces over the move, all at its middle; drag is part of the balance itself.
    fn push_loads(&mut self, island: &Island<G>, ctx: &Context<G>, t: f64) {
        let model = ctx.model;
        let half = 0.5 * t;
        self.pushes.clear();
        self.pushes
            .extend(island.members.bodies.iter().map(|body| Wrench { lin: model.gravity * (body.mass * half), ang: G::Ang::zero() }));
        self.driving.0.clear();
        self.driving.0.resize(island.members.bodies.len(), Wrench::zero());
        self.driving.1 = 0.0;
        for (body, local) in island.members.bodies.iter().enumerate() {
            if let (true, Some(push)) = (local.dynamic, ctx.pushes.get(local.index)) {
                self.drive(body, 1.0, *push, half);
            }
        }
        for joint in &island.links.joints {
            let spec = &model.joints[joint.index];
            let [a, b] = joint.bodies;
            let [span_a, span_b] = [a, b].map(|body| Span { start: &island.motion.poses[body], end: &island.motion.next[body] });
            if let Some(spring) = spec.mean_spring(&span_a, &span_b) {
                let soft =
                    soft_spring(model.step, [spring.stiffness, spring.damping], effective_mass(&island.members.bodies, joint.bodies));
                if !soft {
                    let rate = spring.row.speed(&self.mean[a], &self.mean[b]);
                    self.driving.1 += spring.damping * rate * rate;
                    self.push(joint.bodies, half * spring.force(rate), &spring.row);
                }
            }
            if let (Some(max), Some(control)) = (spec.motor.and_then(|motor| motor.control()), joint.control) {
                let torque = ctx.controls.get(control).copied().unwrap_or(0.0).clamp(-max, max);
                let row = spec.mean_coordinate_row(&span_a, &span_b);
                self.drive(a, torque, row.a, half);
                self.drive(b, torque, row.b, half);
            }
        }
        let middle = self.time + half;
        for &(index, body, control) in &island.loading.forces {
            let force = &model.forces[index];
            if middle < force.from || middle > force.until {
                continue;
            }
            let scale = control.map_or(1.0, |c| ctx.controls.get(c).copied().unwrap_or(0.0));
            let arm = Span { start: &island.motion.poses[body], end: &island.motion.next[body] }.direction(force.at);
            let wrench = Wrench { lin: force.force, ang: G::torque(arm, force.force) + force.torque };
            self.drive(body, scale, wrench, half);
        }
    }

    /// Adds what drives a body to its pushes, and to the wrench whose work goes in.
    fn drive(&mut self, body: usize, scale: f64, wrench: Wrench<G>, half: f64) {
        self.pushes[body] = self.pushes[body].plus(scale * half, wrench);
        self.driving.0[body] = self.driving.0[body].plus(scale, wrench);
    }

    /// Adds an impulse along a row.
    fn push(&mut self, bodies: [usize; 2], impulse: f64, row: &Row<G>) {
        self.pushes[bodies[0]] = self.pushes[bodies[0]].plus(impulse, row.a);
        self.pushes[bodies[1]] = self.pushes[bodies[1]].plus(impulse, row.b);
    }

    /// Mean joint rows, and half the impulses of all rows.
    fn push_rows(&mut self, island: &Island<G>, ctx: &Context<G>) {
        self.lines.clear();
        for joint in island.links.joints.iter().filter(|j| j.rows > 0) {
            let [a, b] = joint.bodies.map(|body| Span { start: &island.motion.poses[body], end: &island.motion.next[body] });
            let mut rows = [Row::zero(); MAX_ROWS];
            let rows = &mut rows[..joint.rows];
            ctx.model.joints[joint.index].mean_rows(&a, &b, rows);
            self.lines.extend(rows.iter().map(|row| Line::new(joint.bodies, *row, &island.members.bodies)));
        }
        for index in 0..self.lines.len() {
            let line = self.lines[index];
            self.push(line.bodies, self.reaction[index], &line.row);
        }
        for (&line, &impulse) in island.system.solve.lines.iter().zip(&island.system.solve.impulses) {
            let line = &island.system.assembly.lines[line];
            self.push(line.bodies, impulse, &line.row);
        }
    }

    /// Inertias that include how the torque of a tension changes as its arm turns, theory (13.15).
    pub(super) fn stiffen(&mut self, island: &Island<G>, ctx: &Context<G>, t: f64) {
        for (stiffened, body) in self.stiffened.iter_mut().zip(&island.members.bodies) {
            stiffened.inertia = body.inertia;
        }
        for joint in island.links.joints.iter().filter(|j| j.rows > 0) {
            let anchors = ctx.model.joints[joint.index].anchors;
            let rows = joint.first_row..joint.first_row + joint.rows;
            for side in 0..2 {
                let body = joint.bodies[side];
                if !island.members.bodies[body].dynamic {
                    continue;
                }
                let mut pull = G::Lin::zero();
                for (line, &y) in self.lines[rows.clone()].iter().zip(&self.reaction[rows.clone()]) {
                    pull += if side == 0 { line.row.a.lin * y } else { line.row.b.lin * y };
                }
                let arm = island.motion.next[body].direction(anchors[side]);
                let stiffness = tension_stiffness::<G>(arm, pull, 0.5 * t);
                let inertia = self.stiffened[body].inertia;
                self.stiffened[body].inertia = G::inertia_sum(inertia, stiffness);
            }
        }
        for (stiffened, body) in self.stiffened.iter_mut().zip(&island.members.bodies) {
            let free = body.dynamic && body.inv_inertia_body != G::inertia_zero();
            let inverse = if free { G::inertia_invert(stiffened.inertia) } else { None };
            // A compression so strong that the arm folds within the step: the plain inertia is as good a guess as any.
            stiffened.inv_inertia = inverse.unwrap_or(body.inv_inertia);
        }
    }
}

/// s ((r.f) 1 - (r f' + f r')/2), from the inertias of points at r + f and r - f.
fn tension_stiffness<G: Geometry>(arm: G::Lin, pull: G::Lin, s: f64) -> G::Inertia {
    let size = s * (0.5 * arm.norm()) * (0.5 * pull.norm());
    let (r, f) = (arm.unit(), pull.unit());
    G::inertia_sum(G::inertia_of_point(size, r + f), G::inertia_scale(G::inertia_of_point(size, r - f), -1.0))
}
