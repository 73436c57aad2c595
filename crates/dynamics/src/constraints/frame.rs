//! A joint that pins a point, as its rows are found from it in every round of every step: the few numbers that place it, next to each other.

use super::joint::Joint;
use carom_math::{Pose, Space, Vector};

/// Anchors of a joint in the frames of its bodies [m].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<S: Space>(pub(super) [S::Lin; 2]);

/// What places the turns that a joint holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes<S: Space> {
    /// Axis in the frame of b.
    pub(super) axis: S::Lin,
    /// Two directions across the axis, in the frame of a.
    pub(super) across: [S::Lin; 2],
    /// The turns are those across the axis, or none: nothing else need be known.
    pub(super) alone: bool,
}

impl<S: Space> Frame<S> {
    /// World arms to the pinned point, covectors of the turns that are held, and position errors: the same as [`Joint::rows`] and [`Joint::error`] in
    /// little room and time. Axes are asked for where turns are held, and `joint` where they do not say it all.
    #[inline]
    pub(crate) fn pin<'a>(
        &self,
        axes: impl FnOnce() -> &'a Axes<S>,
        joint: impl FnOnce() -> &'a Joint<S>,
        pose_a: &Pose<S>,
        pose_b: &Pose<S>,
        turns: &mut [S::Ang],
        error: &mut [f64],
    ) -> [S::Lin; 2]
    where
        S: 'a,
    {
        let arms = [pose_a.direction(self.0[0]), pose_b.direction(self.0[1])];
        let apart = (pose_a.position + arms[0]) - (pose_b.position + arms[1]);
        error[..S::DIM].copy_from_slice(apart.as_slice());
        let error = &mut error[S::DIM..];
        if turns.is_empty() {
            return arms;
        }
        let axes = axes();
        if !axes.alone {
            joint().held_turns(pose_a, pose_b, turns, error);
            return arms;
        }
        let axis = pose_b.direction(axes.axis);
        for ((turn, error), across) in turns.iter_mut().zip(error).zip(axes.across) {
            let across = pose_a.direction(across);
            *turn = S::torque(across, axis);
            *error = across.dot(axis);
        }
        arms
    }
}
