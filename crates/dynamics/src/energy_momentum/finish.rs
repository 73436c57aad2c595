//! Stage 7 of `energy-momentum`: end velocities, the rows that hold at the end pose, and the books, theory (13.5), (13.17)-(13.18).

use super::balance::path;
use super::{Given, Midpoint};
use crate::assembly;
use crate::body_load::BodyLoad;
use crate::finish::{account_rows, book, enter, mark_held};
use crate::integrate::Moved;
use crate::island::parts::{Books, Members, Motion, System};
use crate::island::{Context, Island};
use crate::line::Line;
use crate::solve::{self, Phase};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};

/// The end of a substep: velocities v' at q'.
pub(crate) fn finish<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, moved: &Moved) {
    let mut work = std::mem::replace(&mut island.midpoint, Midpoint::empty());
    work.keep(island);
    work.book_move(island, ctx, moved.time);
    work.mirror(island, moved.time);
    crate::integrate::commit(island, ctx, moved);
    assembly::assemble(island, ctx);
    mark_held(island, ctx);
    solve::select(island, ctx, Phase::Finish, moved.time, |near, _| near.held);
    work.landed = !(island.system.solve.groups.is_empty() && work.given.is_empty());
    if work.landed {
        work.land(island, ctx);
    }
    account_rows(island);
    island.midpoint = work;
}

/// Velocities as the joints allow them at this pose. What strikes or is held does so with these: a row that answers the part that breaks the
/// joints would feed energy to the part that keeps them, theory (13.18).
pub(crate) fn obey_joints<G: Geometry>(island: &mut Island<G>) {
    let before = island.kinetic(&island.motion.twists);
    let Island { system: System { assembly, solve, .. }, motion: Motion { twists, .. }, .. } = island;
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
    assembly.equalities.spin_rotors(twists);
    assembly.hold_joints_and_rotors(&solve.joint_target, &mut solve.reaction, twists);
    island.books.flow.joint_work += island.kinetic(&island.motion.twists) - before;
}

impl<G: Geometry> Midpoint<G> {
    /// Books the symmetric part of the substep: whole impulses times mean twists, theory (13.8).
    fn book_move(&self, island: &mut Island<G>, ctx: &Context<G>, t: f64) {
        let Island { members: Members { bodies, .. }, books: Books { flow, .. }, system: System { assembly, .. }, .. } = island;
        for (index, body) in bodies.iter().enumerate().filter(|(_, body)| body.dynamic) {
            let mean = &self.mean[index];
            flow.work_in += t * self.driving.0[index].power(mean);
            let moving = mean.lin.scale(body.inv_mass) * body.mass;
            let turning = if body.inv_inertia_body == G::inertia_zero() { G::Ang::zero() } else { mean.ang };
            let load = BodyLoad {
                gravity: ctx.model.gravity,
                mass: body.mass,
                inertia: body.inertia,
                resistances: ctx.model.bodies[body.index].resistances.list(),
                gyroscopic: false,
                twist: *mean,
            };
            flow.damping_loss -= t * load.resisting().power(&Twist { lin: moving, ang: turning });
        }
        flow.damping_loss += t * self.driving.1;
        for given in &self.given {
            let impulse = 2.0 * given.impulse;
            flow.work_in -= impulse * given.line.driven_speed(bodies, &self.mean);
            enter(flow, given.source, given.row, impulse * given.line.speed(&self.mean));
        }
        for (line, reaction) in self.lines.iter().zip(&self.reaction) {
            let impulse = 2.0 * reaction;
            flow.joint_work += impulse * line.speed(&self.mean);
            flow.work_in -= impulse * line.driven_speed(bodies, &self.mean);
        }
        for rotor in &assembly.equalities.rotors {
            // What a rotor gives it loses.
            let half = self.reaction[rotor.row];
            flow.joint_work -= 2.0 * half * rotor.after(half);
        }
    }

    /// Remembers the rows of stage 5 and half their impulses.
    fn keep(&mut self, island: &Island<G>) {
        self.given.clear();
        for (position, &index) in island.system.solve.groups.iter().enumerate() {
            let group = &island.system.assembly.groups[index];
            for row in 0..group.rows {
                let impulse = island.system.solve.impulses[island.system.solve.first[position] + row];
                self.given.push(Given { source: group.source, row, line: island.system.assembly.lines[group.first + row], impulse });
            }
        }
    }

    /// v' = 2 v_mean - v in the axes of the body, theory (13.5).
    fn mirror(&self, island: &mut Island<G>, t: f64) {
        for index in (0..island.members.bodies.len()).filter(|&index| island.members.bodies[index].dynamic) {
            let (start, mean) = (island.motion.twists[index], self.mean[index]);
            let turn = G::exp(path(mean, t).ang * t);
            island.motion.twists[index] = Twist { lin: mean.lin * 2.0 - start.lin, ang: G::rotate_rate(turn, mean.ang * 2.0 - start.ang) };
        }
    }

    /// The rows of stage 5 take back the second half of their impulses, and those that hold at q' find their own, theory (13.17): a slow landing
    /// stays down, a motor ends at its rate.
    fn land(&mut self, island: &mut Island<G>, ctx: &Context<G>) {
        // Joints hold before and after every change below, so that their impulses do no work in it.
        obey_joints(island);
        let Midpoint { given, balanced: mirrored, change: free, landing, .. } = self;
        landing.clear();
        landing.extend_from_slice(&island.system.solve.reaction);
        mirrored.clear();
        mirrored.extend_from_slice(&island.motion.twists);
        free.clear();
        free.extend_from_slice(&island.motion.twists);
        for given in given.iter_mut() {
            given.line = Line::new(given.line.bodies, given.line.row, &island.members.bodies);
            given.line.push(-given.impulse, free);
        }
        let Island {
            system: System { assembly, solve, solver },
            motion: Motion { twists, .. },
            books: Books { report, flow, .. },
            members: Members { bodies, .. },
            ..
        } = island;
        assembly.equalities.spin_rotors(mirrored);
        assembly.hold_joints_and_rotors(&solve.joint_target, &mut solve.reaction, free);
        assembly.equalities.spin_rotors(free);
        landing.iter_mut().zip(&solve.reaction).for_each(|(sum, more)| *sum += more);
        for given in given.iter() {
            let mean = |speed: &dyn Fn(&[Twist<G>]) -> f64| 0.5 * (speed(mirrored) + speed(free));
            flow.work_in += given.impulse * mean(&|twists| given.line.driven_speed(bodies, twists));
            enter(flow, given.source, given.row, -given.impulse * mean(&|twists| given.line.speed(twists)));
        }
        let _ = solve::resolve(assembly, solve, solver, ctx.model.options.friction_cone, free, twists, report);
        solve.settle(assembly, twists);
        landing.iter_mut().zip(&solve.reaction).for_each(|(sum, more)| *sum += more);
        let after = std::mem::take(&mut island.motion.twists);
        book(island, ctx.model, free, &after, 0.0, &mut []);
        island.motion.twists = after;
    }
}
