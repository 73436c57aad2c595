//! Stage 7 of a patch: the second kick and the contacts that hold velocities at q', theory (17.33)-(17.34).

use crate::gradient::motion::add;
use crate::gradient::rows::contact_site::Sites;
use crate::gradient::schedule::patch::{Patch, PatchWalk, PointBar};
use crate::gradient::slots::{add_wrench, put, twist, wrench};
use crate::gradient::system::sparse::Sparse;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

impl<G: Geometry> Patch<G> {
    /// The tangent of the end.
    pub fn finish_tangent(&mut self, sites: &Sites<G>, sparse: &mut Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        self.contacts_tangent(1, sites, x);
        let solve = &self.solves[1];
        let time = x[self.time.range().start];
        self.walk.changes.clear();
        for (index, body) in self.bodies.iter().enumerate() {
            if body.twist.is_none() {
                self.walk.changes.push(Twist::zero());
                continue;
            }
            let (half, pose) = (twist::<G>(&x[body.half.range()]), twist::<G>(&x[body.next.range()]));
            let times = [self.share, self.length, time];
            let end = body.kicked(1, (&half, pose.ang), &self.walk.by_velocity[index], times, &self.gravity, x);
            put::<G>(end.lin, end.ang, &mut x[body.end.range()]);
            self.walk.changes.push(end);
        }
        let first = solve.residual.range().start;
        for (k, row) in solve.rows.iter().enumerate() {
            let contact = &solve.contacts[row.contact];
            let mut sum = row.by_coefficient * contact.coefficient_change(x);
            if let Some(seen) = &row.seen {
                let change = &self.walk.bars[row.contact];
                sum += seen.own.0.normal.dot(change.normal) + seen.own.0.middle.dot(change.middle);
                for (side, body) in contact.bodies.into_iter().enumerate() {
                    let centre = G::Lin::from_slice(&x[self.bodies[body].next.range()]);
                    sum += seen.velocity[side].power(&self.walk.changes[body]) + seen.own.1[side].dot(centre);
                }
            }
            x[first + k] = sum;
        }
        let Some(factor) = solve.factor else { return };
        sparse.solve(factor, solve.residual.range(), solve.unknown.range(), x, scratch);
        self.answers_tangent(1, x);
        for (body, impulse) in self.bodies.iter().zip(&self.walk.by_velocity).filter(|(body, _)| body.twist.is_some()) {
            let change = body.response(1, impulse);
            add_wrench::<G>(&mut x[body.end.range()], &Wrench { lin: change.lin, ang: change.ang });
        }
    }

    /// The adjoint of the end.
    pub fn finish_adjoint(&mut self, sites: &Sites<G>, sparse: &mut Sparse<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let Patch { bodies, solves: [_, solve], walk: PatchWalk { by_velocity, bars, changes, .. }, .. } = self;
        by_velocity.clear();
        changes.clear();
        for body in bodies.iter() {
            let velocity = body.twist.map_or_else(Wrench::zero, |_| wrench::<G>(&x[body.end.range()]));
            by_velocity.push(velocity);
            changes.push(body.link.end_response_transpose(&body.turned[1], &velocity));
        }
        bars.clear();
        bars.resize(solve.contacts.len(), PointBar::zero());
        if let Some(factor) = solve.factor {
            let unknowns = solve.unknown.range().start;
            for (k, row) in solve.rows.iter().enumerate() {
                let [a, b] = solve.contacts[row.contact].bodies;
                x[unknowns + k] = row.column[0].power(&changes[a]) + row.column[1].power(&changes[b]);
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
                        add(x, bodies[body].next.part(0, G::DIM), (seen.own.1[side] * rho).as_slice());
                    }
                    bars[row.contact].add(rho, &seen.own.0);
                }
            }
        }
        let (mut by_time, mut by_gravity) = (0.0, G::Lin::zero());
        for (index, body) in bodies.iter().enumerate().filter(|(_, body)| body.twist.is_some()) {
            let times = [self.share, self.length];
            let bar = body.kicked_adjoint(1, &by_velocity[index], times, (&self.gravity, &mut by_gravity), x);
            add_wrench::<G>(&mut x[body.half.range()], &bar.half);
            add(x, body.next.part(G::DIM, G::ANG), bar.turn.as_slice());
            by_time += bar.time;
            changes[index] = bar.impulse;
        }
        self.gravity.add(by_gravity, x);
        x[self.time.range().start] += by_time;
        self.contacts_adjoint(1, sites, x);
    }
}
