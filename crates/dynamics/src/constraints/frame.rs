//! A joint that pins a point, as its rows are found from it in every round of every step: the few numbers that place it, next to each other.

use super::angle;
use super::joint::Joint;
use super::rotation::turn_since;
use carom_math::{Pose, Space, Vector};

/// Anchors of a joint in the frames of its bodies \[m\].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<S: Space>(pub(super) [S::Lin; 2]);

/// What places the turns that a joint holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes<S: Space> {
    /// Axis in the frame of b.
    pub(super) axis: S::Lin,
    /// Two directions across the axis, in the frame of a.
    pub(super) across: [S::Lin; 2],
    /// Which turns are held.
    pub(super) held: Held<S>,
}

/// The turns that a joint holds besides the point that it pins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held<S: Space> {
    /// Those across the axis, or none: nothing else need be known.
    Across,
    /// So many across the axis and, last, that of the rotor about it, from an orientation of a in the frame of b on.
    WithRotor(usize, S::Rot),
    /// Others.
    Other,
}

impl<S: Space> Frame<S> {
    /// World arms to the pinned point, covectors of the turns that are held, and position errors, of a rotor the free coordinate: the same as [`Joint::step_rows`]
    /// and [`Joint::step_errors`] in little room and time. Axes are asked for where turns are held, and `joint` where they do not say it all.
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
        let (turns, rotor) = match axes.held {
            Held::Across => (turns, None),
            Held::WithRotor(count, start) => {
                let (turns, rest) = turns.split_at_mut(count.min(turns.len()));
                (turns, rest.first_mut().map(|turn| (turn, start)))
            }
            Held::Other => {
                joint().held_turns(pose_a, pose_b, turns, error);
                return arms;
            }
        };
        let (error, rest) = error.split_at_mut(turns.len());
        if !turns.is_empty() {
            let axis = pose_b.direction(axes.axis);
            for ((turn, error), across) in turns.iter_mut().zip(error).zip(axes.across) {
                let across = pose_a.direction(across);
                *turn = S::torque(across, axis);
                *error = across.dot(axis);
            }
        }
        if let Some((turn, start)) = rotor {
            let (since, axis) = (turn_since(start, pose_a, pose_b), angle::axis_of::<S>(axes.axis));
            *turn = angle::turning(since, axis, pose_b);
            rest.iter_mut().for_each(|rest| *rest = angle::angle_of::<S>(since, axis));
        }
        arms
    }
}
