//! Room 7 of `energy-momentum`: end velocities, the rows that hold at the end pose, and the books, theory (13.5), (13.17)-(13.18).

use super::Midpoint;
use super::balance::path;
use crate::assembly::{self, Source};
use crate::finish::{account_rows, book, mark_held};
use crate::integrate::Moved;
use crate::island::{Context, Island};
use crate::solve::{self, Phase};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};

/// The end of a substep: velocities v' at q'.
pub(crate) fn finish<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, moved: &Moved) {
    let mut work = std::mem::replace(&mut island.midpoint, Midpoint::empty());
    work.book_move(island, ctx, moved.time);
    work.keep(island);
    work.mirror(island, moved.time);
    crate::integrate::commit(island, ctx, moved);
    assembly::assemble(island, ctx);
    mark_held(island, ctx);
    solve::select(island, ctx, Phase::Finish, moved.time, |near, _| near.held);
    if !island.solve.groups.is_empty() {
        work.land(island, ctx);
    }
    account_rows(island);
    island.midpoint = work;
}

/// Velocities as the joints allow them at this pose. What strikes or is held does so with these: a row that answers the part that breaks the
/// joints would feed energy to the part that keeps them, theory (13.18).
pub(crate) fn obey_joints<G: Geometry>(island: &mut Island<G>) {
    let before = island.kinetic(&island.twists);
    let Island { assembly, solve, twists, .. } = island;
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
    assembly.hold_joints(&solve.joint_target, &mut solve.reaction, twists);
    island.flow.joint_work += island.kinetic(&island.twists) - before;
}

impl<G: Geometry> Midpoint<G> {
    /// Books the symmetric part of the substep: whole impulses times mean twists, theory (13.8).
    fn book_move(&self, island: &mut Island<G>, ctx: &Context<G>, t: f64) {
        let Island { bodies, assembly, solve, flow, .. } = island;
        for (index, body) in bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
            let mean = &self.mean[index];
            flow.work_in += t * self.driving[index].power(mean);
            let spec = &ctx.model.bodies[body.index];
            let moving = mean.lin.scale(body.inv_mass) * body.mass;
            let turning = if body.inv_inertia_body == G::inertia_zero() { G::Ang::zero() } else { mean.ang };
            flow.damping_loss += t * spec.damping * body.mass * moving.dot(moving);
            flow.damping_loss += t * spec.spin_damping * turning.dot(G::inertia_apply(body.inertia, turning));
        }
        flow.damping_loss += t * self.dashpots;
        for (position, &index) in solve.groups.iter().enumerate() {
            let group = &assembly.groups[index];
            for k in 0..group.rows {
                let line = &assembly.lines[group.first + k];
                let impulse = 2.0 * solve.impulses[solve.first[position] + k];
                let relative = impulse * line.speed(&self.mean);
                flow.work_in -= impulse * line.driven_speed(bodies, &self.mean);
                match group.source {
                    Source::Contact(_) if k == 0 => flow.contact_loss -= relative,
                    Source::Contact(_) | Source::Friction { .. } => flow.friction_loss -= relative,
                    Source::Limit { .. } => flow.contact_loss -= relative,
                    Source::Motor { .. } => flow.work_in += relative,
                    Source::Spring { .. } => {}
                }
            }
        }
        for (line, reaction) in self.lines.iter().zip(&self.reaction) {
            let impulse = 2.0 * reaction;
            flow.joint_work += impulse * line.speed(&self.mean);
            flow.work_in -= impulse * line.driven_speed(bodies, &self.mean);
        }
    }

    /// Remembers the half impulses of rows other than contacts, which are remembered by name.
    fn keep(&mut self, island: &Island<G>) {
        self.kept.clear();
        for (position, &index) in island.solve.groups.iter().enumerate() {
            let source = island.assembly.groups[index].source;
            if !matches!(source, Source::Contact(_)) {
                self.kept.push((source, island.solve.impulses[island.solve.first[position]]));
            }
        }
    }

    /// v' = 2 v_mean - v in the axes of the body, theory (13.5).
    fn mirror(&self, island: &mut Island<G>, t: f64) {
        for index in (0..island.bodies.len()).filter(|&index| island.bodies[index].dynamic) {
            let (start, mean) = (island.twists[index], self.mean[index]);
            let turn = G::exp(path(mean, t).ang * t);
            island.twists[index] =
                Twist { lin: mean.lin * 2.0 - start.lin, ang: G::rotate_rate(turn, mean.ang * 2.0 - start.ang) };
        }
    }

    /// Rows that hold at q' take back the second half of their impulses and find their own, theory (13.17): a slow landing stays down, a
    /// motor ends at its rate.
    fn land(&mut self, island: &mut Island<G>, ctx: &Context<G>) {
        self.given.clear();
        self.given.resize(island.solve.lines.len(), 0.0);
        for (position, &index) in island.solve.groups.iter().enumerate() {
            let row = island.solve.first[position];
            match island.assembly.groups[index].source {
                Source::Contact(c) => {
                    let near = &island.near[c];
                    if near.rowed {
                        let tangents = G::tangents(near.contact.normal);
                        self.given[row] = near.warm[0].dot(near.contact.normal);
                        for k in 0..G::TANGENTS {
                            self.given[row + 1 + k] = near.warm[0].dot(tangents[k]);
                        }
                    }
                }
                source => self.given[row] = self.kept.iter().find(|(kept, _)| same_row(kept, &source)).map_or(0.0, |(_, impulse)| *impulse),
            }
        }
        let before = &mut self.balanced;
        before.clear();
        before.extend_from_slice(&island.twists);
        let free = &mut self.change;
        free.clear();
        free.extend_from_slice(&island.twists);
        let Island { assembly, solve, solver, twists, report, .. } = island;
        for (&line, given) in solve.lines.iter().zip(&self.given) {
            assembly.lines[line].push(-given, free);
        }
        let _ = solve::resolve(assembly, solve, solver, ctx.model.options.friction_cone, free, twists, report);
        // The books see what room 7 adds to the mirrored velocities; the contacts keep their own impulses.
        shift(&mut island.solve.impulses, &self.given, -1.0);
        let after = std::mem::take(&mut island.twists);
        book(island, before, &after, 0.0);
        island.twists = after;
        shift(&mut island.solve.impulses, &self.given, 1.0);
    }
}

/// x += s y.
fn shift(x: &mut [f64], y: &[f64], s: f64) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += s * y);
}

/// Whether two sources name the same row of the same joint, at whatever pose.
fn same_row(a: &Source, b: &Source) -> bool {
    match (*a, *b) {
        (Source::Limit { joint: i, index: k, .. }, Source::Limit { joint: j, index: l, .. }) => (i, k) == (j, l),
        (Source::Motor { joint: i, .. }, Source::Motor { joint: j, .. }) => i == j,
        (Source::Friction { joint: i }, Source::Friction { joint: j }) => i == j,
        (Source::Spring { joint: i, .. }, Source::Spring { joint: j, .. }) => i == j,
        _ => false,
    }
}
