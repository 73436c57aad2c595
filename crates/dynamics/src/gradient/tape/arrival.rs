//! A strike that no event foretold: the clock stopped where bodies touch within the touching tolerance, as at the end of a step that an impact
//! happens to meet. Its derivative moves in time all the same, theory (17.39), for which a tape notes how the bodies arrived.

use super::record::{Arrival, IslandRecord};
use crate::assembly::Source;
use crate::constraints::{MAX_ROWS, Row};
use crate::impact::striking;
use crate::integrate::Length;
use crate::island::parts::{Books, Links, Motion, System, Touch};
use crate::island::{Context, Island};
use crate::options::TimeOfImpact;
use crate::solve::{self, Phase};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};

/// Part of the step over which accelerations are taken: short enough that no contact changes what it does, long enough for rounding.
const INSTANT: f64 = 1e-3;

/// How bodies arrive that are about to strike, where the move before did not end for it.
pub(super) fn unforetold<G: Geometry>(record: &IslandRecord<G>, island: &mut Island<G>, ctx: &Context<G>) -> Option<Arrival<G>> {
    let foretold = match &record.substeps[..] {
        [.., before, _] => matches!(before.rule, Length::Event(..)),
        _ => false,
    };
    if foretold || ctx.model.options.time_of_impact != TimeOfImpact::Event { None } else { arrive(island, ctx, |_| true) }
}

/// How bodies arrive at one of the given contacts, the fastest that strikes; nothing where they overlap and strike at once, wherever they are.
pub(super) fn arrive<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, of: impl Fn(usize) -> bool) -> Option<Arrival<G>> {
    let mut found: Option<(usize, f64)> = None;
    for index in (0..island.touch.near.len()).filter(|&index| of(index)) {
        if let Some(speed) = striking(island, ctx, index)
            && found.is_none_or(|(_, fastest)| speed < fastest)
        {
            found = Some((index, speed));
        }
    }
    let near = &island.touch.near[found?.0];
    if near.contact.gap < -ctx.model.tolerances.touch * island.links.pairs[near.pair].size {
        return None;
    }
    let (key, bodies) = (near.key, near.bodies);
    let (accelerations, solved) = accelerations(island, ctx);
    Some(Arrival { key, bodies, twists: island.motion.twists.clone(), accelerations, solved })
}

/// Accelerations under loads, joints, motors and the contacts that touch without striking: what they make of the velocities over an instant with
/// loads and turning rows, less what they make of them without, since slow landings of this instant are in both.
///
/// Also whether both were found.
fn accelerations<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>) -> (Vec<Twist<G>>, bool) {
    let t = INSTANT * ctx.model.step;
    for index in 0..island.touch.near.len() {
        island.touch.near[index].held = island.touch.near[index].touching && striking(island, ctx, index).is_none();
    }
    let report = island.books.report;
    island.system.assembly.equalities.spin_rotors(&island.motion.twists);
    let mut solved = true;
    let [without, with] = [0.0, t].map(|span| {
        solve::select(island, ctx, Phase::Finish, t, |near, _| near.held);
        turn_rows(island, ctx, span);
        let Island { system: System { assembly, solve, solver }, motion: Motion { twists, free, .. }, books: Books { report, .. }, .. } =
            island;
        let start: Vec<Twist<G>> = twists.iter().zip(free.iter()).map(|(twist, free)| twist.plus(span, *free)).collect();
        let mut out = Vec::new();
        solved &= solve::resolve(assembly, solve, solver, ctx.model.options.friction_cone, &start, &mut out, report).is_solved();
        out
    });
    island.books.report = report;
    let gained = with.iter().zip(&without).map(|(with, without)| Twist::zero().plus(1.0 / t, with.plus(-1.0, *without)));
    (gained.collect(), solved)
}

/// Moves the targets of the rows by what their turning over a span asks for: J(q + t v) v' = 0 is J v' = -t dJ/dt v.
fn turn_rows<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, span: f64) {
    let model = ctx.model;
    let Island {
        motion: Motion { poses, twists, .. },
        links: Links { joints, .. },
        touch: Touch { near, .. },
        system: System { assembly, solve, .. },
        ..
    } = island;
    let [before, after] = [-0.5, 0.5].map(|way| -> Vec<Pose<G>> {
        let by = way * INSTANT * model.step;
        poses.iter().zip(twists.iter()).map(|(pose, twist)| pose.advanced(*twist, by)).collect()
    });
    let weight = span / (INSTANT * model.step);
    for (sign, poses) in [(weight, &before), (-weight, &after)] {
        for joint in joints.iter().filter(|j| j.rows > 0) {
            let [a, b] = joint.bodies;
            let mut rows = [Row::zero(); MAX_ROWS];
            model.joints[joint.index].step_rows(&poses[a], &poses[b], &mut rows);
            for (k, row) in rows[..joint.rows].iter().enumerate() {
                solve.joint_target[joint.first_row + k] += sign * row.speed(&twists[a], &twists[b]);
            }
        }
        for (position, &group) in solve.groups.iter().enumerate() {
            let Source::Contact(c) = assembly.groups[group].source else { continue };
            let contact = near[c].at(model, poses);
            let [a, b] = near[c].bodies;
            let apart = twists[a].at(contact.point_a - poses[a].position) - twists[b].at(contact.point_b - poses[b].position);
            let row = solve.first[position];
            solve.target[row] += sign * contact.normal.dot(apart);
            for (k, tangent) in G::tangents(contact.normal)[..G::TANGENTS].iter().enumerate() {
                solve.target[row + 1 + k] += sign * tangent.dot(apart);
            }
        }
    }
}
