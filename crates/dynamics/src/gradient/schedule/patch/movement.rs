//! Stages 4 to 6 of a patch: impulses of contacts at q, and the move that closes them at its end, theory (17.29)-(17.32).

use crate::gradient::motion::add;
use crate::gradient::rows::contact_site::Sites;
use crate::gradient::schedule::patch::{Patch, PatchContact, PatchWalk, PointBar};
use crate::gradient::slots::{add_wrench, put, twist, wrench};
use crate::gradient::system::sparse::Sparse;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// What an impulse at a contact does on its bodies as the contact and the centres move; `turning` is how it turns with each component of the normal.
pub(crate) fn turned<G: Geometry>(
    arms: [G::Lin; 2],
    push: G::Lin,
    turning: &[G::Lin; 3],
    change: &PointBar<G>,
    centres: [G::Lin; 2],
) -> [Wrench<G>; 2] {
    let mut pushed = G::Lin::zero();
    for i in 0..G::DIM {
        pushed += turning[i] * change.normal[i];
    }
    let side = |side: usize, sign: f64| Wrench {
        lin: pushed * sign,
        ang: (G::torque(arms[side], pushed) + G::torque(change.middle - centres[side], push)) * sign,
    };
    [side(0, 1.0), side(1, -1.0)]
}

/// The transpose: covectors on the contact, added, and on the centres.
#[inline]
pub(crate) fn turned_adjoint<G: Geometry>(
    arms: [G::Lin; 2],
    push: G::Lin,
    turning: &[G::Lin; 3],
    impulses: [&Twist<G>; 2],
    bar: &mut PointBar<G>,
) -> [G::Lin; 2] {
    let mut by_push = G::Lin::zero();
    let mut by_centres = [G::Lin::zero(); 2];
    for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
        by_push += (impulses[side].lin + G::spin(impulses[side].ang, arms[side])) * sign;
        by_centres[side] = G::spin(impulses[side].ang, push) * sign;
    }
    for i in 0..G::DIM {
        bar.normal[i] += turning[i].dot(by_push);
    }
    bar.middle -= by_centres[0] + by_centres[1];
    by_centres
}

impl<G: Geometry> Patch<G> {
    /// The tangent of the move.
    pub fn move_tangent(&mut self, sites: &Sites<G>, sparse: &mut Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let t = self.length;
        self.contacts_tangent(0, sites, x);
        let solve = &self.solves[0];
        let centre = |patch: &Self, body: usize, x: &[f64]| G::Lin::from_slice(&x[patch.bodies[body].pose.range()]);
        // Velocities and poses before the impulses of the rows change; under an event the length is one of the unknowns.
        let time = if self.event.is_some() { 0.0 } else { x[self.time.range().start] };
        self.walk.changes.clear();
        for (index, body) in self.bodies.iter().enumerate() {
            let Some(block) = body.twist else {
                self.walk.changes.push(Twist::zero());
                continue;
            };
            let (before, pose) = (twist::<G>(&x[block.range()]), twist::<G>(&x[body.pose.range()]));
            let pushed = &self.walk.by_velocity[index];
            let half = body.kicked(0, (&before, pose.ang), pushed, [self.share, t, time], &self.gravity, x);
            let next = body.moved(t, &pose, &half, time);
            put::<G>(half.lin, half.ang, &mut x[body.half.range()]);
            put::<G>(next.lin, next.ang, &mut x[body.next.range()]);
            self.walk.changes.push(half);
        }
        let next = |patch: &Self, body: usize, x: &[f64]| twist::<G>(&x[patch.bodies[body].next.range()]);
        let first = solve.residual.range().start;
        for (k, row) in solve.rows.iter().enumerate() {
            let contact = &solve.contacts[row.contact];
            let mut sum = row.by_coefficient * contact.coefficient_change(x);
            if let Some(seen) = &row.seen {
                let change = &self.walk.bars[row.contact];
                sum += seen.own.0.normal.dot(change.normal) + seen.own.0.middle.dot(change.middle);
                for side in 0..2 {
                    let body = contact.bodies[side];
                    sum += seen.velocity[side].power(&self.walk.changes[body]) + seen.pose[side].power(&next(self, body, x));
                    sum += seen.own.1[side].dot(centre(self, body, x));
                }
                let (by_shape, gap) = sites.shape_change(contact.end, x);
                sum += seen.end.0.normal.dot(by_shape.normal) + seen.end.0.middle.dot(by_shape.middle) + seen.end.1 * gap;
            }
            x[first + k] = sum;
        }
        if let Some(event) = &self.event {
            let (_, gap) = sites.shape_change(event.site, x);
            let moved: f64 = (0..2).map(|side| event.pose[side].power(&next(self, event.bodies[side], x))).sum();
            x[first + solve.rows.len()] = moved - gap / t;
        }
        let Some(factor) = solve.factor else { return };
        sparse.solve(factor, solve.residual.range(), solve.unknown.range(), x, scratch);
        let longer = if self.event.is_some() { x[solve.unknown.range().start + solve.rows.len()] } else { 0.0 };
        self.answers_tangent(0, x);
        for (body, impulse) in self.bodies.iter().zip(&self.walk.by_velocity).filter(|(body, _)| body.twist.is_some()) {
            let change = body.response(0, impulse).plus(longer, self.kick(body));
            let moved = body.moved(t, &Twist::zero(), &change, longer);
            add_wrench::<G>(&mut x[body.half.range()], &Wrench { lin: change.lin, ang: change.ang });
            add_wrench::<G>(&mut x[body.next.range()], &Wrench { lin: moved.lin, ang: moved.ang });
        }
        x[self.time.range().start] += longer;
    }

    /// The adjoint of the move.
    pub fn move_adjoint(&mut self, sites: &Sites<G>, sparse: &mut Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let t = self.length;
        let Patch { bodies, solves: [solve, _], walk: PatchWalk { by_velocity, by_pose, bars, changes }, .. } = self;
        by_velocity.clear();
        by_pose.clear();
        changes.clear();
        for body in bodies.iter() {
            let (velocity, pose) = match body.twist {
                Some(_) => (wrench::<G>(&x[body.half.range()]), wrench::<G>(&x[body.next.range()])),
                None => (Wrench::zero(), Wrench::zero()),
            };
            by_velocity.push(velocity);
            by_pose.push(pose);
            changes.push(body.response(0, &velocity.plus(t, body.carried(&pose))));
        }
        bars.clear();
        bars.resize(solve.contacts.len(), PointBar::zero());
        // How the impulses of the rows answer, theory (17.31).
        if let Some(factor) = solve.factor {
            let unknowns = solve.unknown.range().start;
            for (k, row) in solve.rows.iter().enumerate() {
                let [a, b] = solve.contacts[row.contact].bodies;
                x[unknowns + k] = row.column[0].power(&changes[a]) + row.column[1].power(&changes[b]);
            }
            if self.event.is_some() {
                let mut sum = x[self.time.range().start];
                for (index, body) in bodies.iter().enumerate().filter(|(_, body)| body.twist.is_some()) {
                    let force = Wrench::zero().plus(self.share, body.force(0, &self.gravity));
                    sum += force.power(&changes[index]) + by_pose[index].power(&body.link.twists[1]);
                }
                x[unknowns + solve.rows.len()] = sum;
            }
            sparse.solve_transposed(factor, solve.residual.range(), solve.unknown.range(), x, scratch);
            let first = solve.residual.range().start;
            for (k, row) in solve.rows.iter().enumerate() {
                let rho = x[first + k];
                let contact = &solve.contacts[row.contact];
                contact.add_coefficient(row.by_coefficient * rho, x);
                if let Some(seen) = &row.seen {
                    for (side, body) in contact.bodies.into_iter().enumerate() {
                        by_velocity[body] = by_velocity[body].plus(rho, seen.velocity[side]);
                        by_pose[body] = by_pose[body].plus(rho, seen.pose[side]);
                        add(x, bodies[body].pose.part(0, G::DIM), (seen.own.1[side] * rho).as_slice());
                    }
                    bars[row.contact].add(rho, &seen.own.0);
                    sites.add_shape_bar(contact.end, rho, &seen.end.0, seen.end.1, x);
                }
            }
            if let Some(event) = &self.event {
                let rho = x[first + solve.rows.len()];
                for (side, body) in event.bodies.into_iter().enumerate() {
                    by_pose[body] = by_pose[body].plus(rho, event.pose[side]);
                }
                sites.add_shape_bar(event.site, rho, &PointBar::zero(), -1.0 / t, x);
            }
        }
        // Poses and velocities before they change, theory (17.32).
        let (mut by_time, mut by_gravity) = (0.0, G::Lin::zero());
        for (index, body) in bodies.iter().enumerate() {
            let mut on_pose = body.moved_back(&by_pose[index]);
            if let Some(velocity) = body.twist {
                let w = by_velocity[index].plus(t, body.carried(&by_pose[index]));
                let bar = body.kicked_adjoint(0, &w, [self.share, t], (&self.gravity, &mut by_gravity), x);
                add_wrench::<G>(&mut x[velocity.range()], &bar.half);
                on_pose.ang += bar.turn;
                by_time += by_pose[index].power(&body.link.twists[1]) + bar.time;
                changes[index] = bar.impulse;
            }
            add_wrench::<G>(&mut x[body.pose.range()], &on_pose);
        }
        self.gravity.add(by_gravity, x);
        if self.event.is_none() {
            x[self.time.range().start] += by_time;
        }
        self.contacts_adjoint(0, sites, x);
    }

    /// How the contacts of a solve and the impulses on its bodies change with the poses: into `bars` and `by_velocity`.
    pub(crate) fn contacts_tangent(&mut self, solve: usize, sites: &Sites<G>, x: &[f64]) {
        let Patch { bodies, solves, walk: PatchWalk { bars, by_velocity, .. }, .. } = self;
        by_velocity.clear();
        by_velocity.resize(bodies.len(), Wrench::zero());
        bars.clear();
        for contact in &solves[solve].contacts {
            let poses = contact.bodies.map(|body| twist::<G>(&x[bodies[body].placed(solve).range()]));
            let change = sites.change(contact.site, &poses, x).0;
            let sides = turned(contact.arms, contact.push, &contact.turning, &change, poses.map(|pose| pose.lin));
            for (body, side) in contact.bodies.into_iter().zip(sides) {
                by_velocity[body] = by_velocity[body].plus(1.0, side);
            }
            bars.push(change);
        }
    }

    /// The impulses on the bodies with which the rows of a solve answer: into `by_velocity`.
    pub(crate) fn answers_tangent(&mut self, solve: usize, x: &[f64]) {
        let Patch { solves, walk: PatchWalk { by_velocity, .. }, .. } = self;
        let solve = &solves[solve];
        let unknowns = solve.unknown.range().start;
        by_velocity.fill(Wrench::zero());
        for (k, row) in solve.rows.iter().enumerate() {
            for (side, body) in solve.contacts[row.contact].bodies.into_iter().enumerate() {
                by_velocity[body] = by_velocity[body].plus(x[unknowns + k], row.column[side]);
            }
        }
    }

    /// What the impulses of the contacts of a solve owe to the poses, with the covectors on the contacts that are known already.
    pub(crate) fn contacts_adjoint(&mut self, solve: usize, sites: &Sites<G>, x: &mut [f64]) {
        let Patch { bodies, solves, walk: PatchWalk { bars, changes, .. }, .. } = self;
        // Bodies that never move have answered with nothing.
        for (contact, bar) in solves[solve].contacts.iter().zip(bars) {
            let by_centres = turned_adjoint(contact.arms, contact.push, &contact.turning, contact.bodies.map(|body| &changes[body]), bar);
            let mut sides = sites.poses_of_bar(contact.site, bar, x);
            for (side, body) in contact.bodies.into_iter().enumerate() {
                sides[side].lin += by_centres[side];
                add_wrench::<G>(&mut x[bodies[body].placed(solve).range()], &sides[side]);
            }
        }
    }
}

impl<G: Geometry> PatchContact<G> {
    /// The change of its coefficient of friction.
    #[inline]
    pub(crate) fn coefficient_change(&self, x: &[f64]) -> f64 {
        self.coefficient.iter().flatten().map(|(block, weight)| weight * x[block.range().start]).sum()
    }

    /// Adds the cotangent of that coefficient.
    #[inline]
    pub(crate) fn add_coefficient(&self, bar: f64, x: &mut [f64]) {
        for (block, weight) in self.coefficient.iter().flatten() {
            x[block.range().start] += weight * bar;
        }
    }
}
