//! Moves over which joints or contacts would feed in energy: a linkage that snaps through a straight pose, a light body squeezed out between heavy ones,
//! theory (2.10).

use crate::assembly::Source;
use crate::island::parts::{Members, Motion, System, Touch};
use crate::island::{Context, Island};
use carom_geometry::Geometry;

/// Work of the joints in the first half of a move, over the kinetic energy after it. A steady turn of 0.2 rad does a quarter of its square, 0.01: no
/// move that (2.9) allows is halved unless its linkage snaps through. Steps of changing length keep energy less well than equal ones, so the bound is no
/// smaller than it must be: at a fiftieth a released chain of ten at 1/240 s is off by 6 % instead of 4 %, at a fifth a rod between two balls gains a
/// fifteenth of its energy in a second of fast folding.
const STRAIN: f64 = 0.05;

/// Whether the impulses of joints, contacts and limits along the rows of the start pose do too much work on the way to q', in a move of length t.
pub(crate) fn strained<G: Geometry>(island: &Island<G>, ctx: &Context<G>, t: f64) -> bool {
    let Island { members: Members { bodies, .. }, motion: Motion { half, .. }, system: System { solve, assembly, .. }, .. } = island;
    // Rows meet their targets, and the velocities before met none: the mean speed of (10.3) is half the target. What closes a joint that was open is no bend, and
    // the shorter the move the faster it is.
    let per_time = if t > 0.0 { 1.0 / t } else { 0.0 };
    let bends = solve.joint_target.iter().zip(&assembly.equalities.now.errors).map(|(target, error)| target + error * per_time);
    let work: f64 = solve.reaction.iter().zip(bends).map(|(impulse, speed)| impulse * speed).sum();
    // What is slower than a rest speed holds still, and rounding of the targets is all that its joints work with.
    let rest = ctx.model.tolerances.rest_speed;
    let mut wanted = (work.abs() + squeezed(island, per_time).max(0.0)) / STRAIN;
    for (body, twist) in bodies.iter().zip(half) {
        // Mostly the first body has enough.
        if wanted <= 0.0 {
            return false;
        }
        wanted -= 2.0 * body.kinetic(twist) + body.mass * rest * rest;
    }
    wanted > 0.0
}

/// The same work of contacts and limits, twice that of the first half: what the correction of the move added to their targets is their bend. Where it is
/// negative they brake.
fn squeezed<G: Geometry>(island: &Island<G>, per_time: f64) -> f64 {
    let Island { touch: Touch { near, .. }, system: System { solve, assembly, .. }, .. } = island;
    let mut work = 0.0;
    for (position, &index) in solve.groups.iter().enumerate() {
        let group = &assembly.groups[index];
        let gap = match group.source {
            Source::Contact(c) => near[c].contact.gap,
            Source::Limit { gap, .. } | Source::TendonLimit { gap, .. } => gap,
            _ => continue,
        };
        // What restitution drives apart is meant to.
        if solve.leaving[position] {
            continue;
        }
        let first = solve.first[position];
        let rows = first..first + group.rows;
        work += solve.impulses[first] * gap.max(0.0) * per_time;
        work += solve.impulses[rows.clone()].iter().zip(&solve.target[rows]).map(|(impulse, target)| impulse * target).sum::<f64>();
    }
    work
}
