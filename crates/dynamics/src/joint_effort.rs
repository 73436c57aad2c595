//! What joints did to their bodies in the last step, for those who ask: motors, limits, friction and reactions, summed over its substeps.

use crate::assembly::Source;
use crate::constraints::{MAX_ROWS, Row};
use crate::island::parts::{Books, Links, Motion, System};
use crate::island::{Context, Island};
use crate::predict::{Instant, slow_pull};
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Space, Wrench};

/// What a joint did over a step: forces \[N\] or torques \[N m\], the mean over the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointEffort<S: Space> {
    /// Of its motor or control along its coordinate.
    pub motor: f64,
    /// Of its limits along its coordinate: a lower one pushes up; the tension of a rope.
    pub limit: f64,
    /// Of its dry friction along its coordinate.
    pub friction: f64,
    /// Of the rows that hold it, on its second body: at the centre of mass, or the origin of the world, in world axes.
    pub reaction: Wrench<S>,
}

impl<S: Space> JointEffort<S> {
    /// Nothing.
    pub(crate) fn zero() -> Self {
        JointEffort { motor: 0.0, limit: 0.0, friction: 0.0, reaction: Wrench::zero() }
    }
    /// Impulses over a time as forces.
    fn over(&self, time: f64) -> Self {
        let reaction = Wrench::zero().plus(1.0 / time, self.reaction);
        JointEffort { motor: self.motor / time, limit: self.limit / time, friction: self.friction / time, reaction }
    }
}

/// Adds the impulses of a solve whose rows stand at the present poses; loads acted over a duration. Nothing where nobody watches.
pub(crate) fn account<G: Geometry>(island: &mut Island<G>, ctx: &Context<G>, duration: f64, at: Instant) {
    if island.books.efforts.is_empty() {
        return;
    }
    let Island {
        books: Books { efforts, .. },
        links: Links { joints, .. },
        system: System { assembly, solve, .. },
        motion: Motion { poses, twists, .. },
        ..
    } = island;
    for (position, &index) in solve.groups.iter().enumerate() {
        let impulse = solve.impulses[solve.first[position]];
        match assembly.groups[index].source {
            Source::Motor { joint, .. } => efforts[joint].motor += impulse,
            Source::Limit { joint, index: 1, .. } => efforts[joint].limit -= impulse,
            Source::Limit { joint, .. } => efforts[joint].limit += impulse,
            Source::Friction { joint } => efforts[joint].friction += impulse,
            Source::Contact(_) | Source::Spring { .. } | Source::TendonLimit { .. } | Source::Tendon { .. } => (),
        }
    }
    for (local, effort) in joints.iter().zip(efforts) {
        let spec = &ctx.model.joints[local.index];
        if let Some(max) = spec.motor.and_then(|motor| motor.control()) {
            let control = local.control.and_then(|control| ctx.controls.get(control)).copied().unwrap_or(0.0);
            effort.motor += duration * control.clamp(-max, max);
        }
        if local.slow_pull {
            let sides = local.bodies.map(|body| (&poses[body], &twists[body]));
            effort.motor += slow_pull(spec, ctx.asked(local), at, sides).map_or(0.0, |(force, _)| duration * force);
        }
        if local.rows > 0 {
            let mut rows = [Row::zero(); MAX_ROWS];
            spec.rows(&poses[local.bodies[0]], &poses[local.bodies[1]], &mut rows);
            for (row, impulse) in rows.iter().zip(&solve.reaction[local.first_row..][..local.rows]) {
                effort.reaction = effort.reaction.plus(*impulse, row.b);
            }
        }
    }
}

impl<G: Geometry> World<G> {
    /// From now on steps sum up what joints do, for [`World::joint_efforts`]. Copies of the world do not.
    pub fn watch_joints(&mut self, watch: bool) {
        self.outside.efforts = watch.then(|| vec![JointEffort::zero(); self.model().joints.len()]);
    }

    /// What each joint did in the last step, the mean over it; nothing before the first one and after the state was set. Impulses of impacts are not part of it.
    /// `None` where nobody watches, and under `energy-momentum`, whose rows take back half of what they give.
    pub fn joint_efforts(&self) -> Option<Vec<JointEffort<G>>> {
        let kept = !self.model().options.scheme().by_means();
        let efforts = self.outside.efforts.as_ref().filter(|_| kept)?;
        Some(efforts.iter().map(|effort| effort.over(self.model().step)).collect())
    }

    /// The forces of motors and controls along the coordinates of [`World::joint_names`] in the last step; 0 for those without a motor. `None` as
    /// [`World::joint_efforts`].
    pub fn joint_force(&self) -> Option<Vec<f64>> {
        let (efforts, tree) = (self.joint_efforts()?, self.tree());
        let mut out = vec![0.0; tree.len()];
        for (joint, effort) in efforts.iter().enumerate() {
            if let Some(first) = tree.joint_coordinate(joint) {
                out[first] = effort.motor;
            }
        }
        Some(out)
    }

    /// Takes over what the islands summed up.
    pub(crate) fn gather_efforts(&mut self, used: usize) {
        let Some(efforts) = &mut self.outside.efforts else { return };
        efforts.fill(JointEffort::zero());
        for island in &self.islands.list[..used] {
            for (joint, effort) in island.links.joints.iter().zip(&island.books.efforts) {
                efforts[joint.index] = *effort;
            }
        }
    }

    /// Forgets what joints did.
    pub(crate) fn forget_efforts(&mut self) {
        self.outside.efforts.iter_mut().for_each(|efforts| efforts.fill(JointEffort::zero()));
    }
}
