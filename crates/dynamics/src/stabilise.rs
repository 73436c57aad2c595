//! The post-stabilisation of de Avila Belbute-Peres et al. 2018, A.7: positions follow the change of velocity that the rows at the new pose ask for, by half
//! a step (as in the authors' code) or by a whole one (as printed), theory (2.37)-(2.39). For comparison: the default projects positions, `project.rs`.

use crate::assembly::{self, Source};
use crate::contacts;
use crate::integrate::grow_travelled;
use crate::island::parts::{Motion, System, Touch};
use crate::island::{Context, Island};
use crate::project::{each_joint, least_change, potential};
use carom_geometry::Geometry;
use carom_math::Twist;
use carom_solve::contact::problem::Block;

/// Moves the poses by so long \[s\] with the least d for which J_e (v + d) = 0, and J_c (v + d) >= 0 for all that touches. Velocities stay.
pub(crate) fn stabilise<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, duration: f64) {
    let Island { touch: Touch { near, .. }, system: System { assembly, solve, .. }, motion: Motion { scratch, twists, .. }, .. } = island;
    solve.known = false;
    solve.joint_target.clear();
    solve.joint_target.resize(assembly.equalities.len(), 0.0);
    solve.softness.clear();
    solve.lines.clear();
    solve.blocks.clear();
    solve.target.clear();
    for group in assembly.groups.iter().filter(|g| !g.locked) {
        let touches = match group.source {
            Source::Contact(c) => near[c].touching,
            Source::Limit { gap, .. } | Source::TendonLimit { gap, .. } => gap <= ctx.model.tolerances.touch,
            _ => false,
        };
        if touches {
            solve.lines.push(group.first);
            solve.blocks.push(Block::Unilateral);
            solve.target.push(0.0);
        }
    }
    scratch.clear();
    scratch.extend_from_slice(twists);
    least_change(island);
    let before = potential(island, ctx) + island.kinetic(&island.motion.twists);
    contacts::remember(&island.touch.near, &mut island.touch.memory);
    for index in (0..island.members.bodies.len()).filter(|&index| island.members.bodies[index].dynamic) {
        let (asked, has) = (island.motion.scratch[index], island.motion.twists[index]);
        let change = Twist { lin: asked.lin - has.lin, ang: asked.ang - has.ang };
        island.motion.poses[index] = island.motion.poses[index].advanced(change, duration);
    }
    island.system.solve.closed = false;
    island.refresh_inertia();
    grow_travelled(island, ctx);
    contacts::detect(island, ctx.model);
    assembly::assemble(island, ctx);
    island.books.flow.projection += potential(island, ctx) + island.kinetic(&island.motion.twists) - before;
    let mut worst = 0.0f64;
    each_joint(island, ctx, |_, _, gap, _| worst = worst.max(gap));
    island.books.report.joint_error = island.books.report.joint_error.max(worst);
}
