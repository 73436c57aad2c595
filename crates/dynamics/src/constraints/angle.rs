//! The angle of a hinge, a relative to b, theory (3.7).

use super::joint::Joint;
use super::rotation::{covector, turn_since_start};
use super::row::Row;
use carom_math::{Pose, Space, Vector};
use std::f64::consts::{PI, TAU};

/// The hinge axis in the frame of b as a direction of angular velocity; the plane has only one.
fn axis<S: Space>(joint: &Joint<S>) -> S::Ang {
    if S::ANG == 1 {
        let mut out = S::Ang::zero();
        out[0] = 1.0;
        out
    } else {
        S::Ang::from_slice(joint.axes[1].as_slice())
    }
}

/// Angle [rad]: 0 at the start pose, unwrapped in the plane, in (-pi, pi] in space.
pub(super) fn angle<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> f64 {
    let (s, e) = turn_since_start(joint, a, b);
    let twist = e.dot(axis(joint));
    if S::ANG == 1 {
        return 2.0 * twist;
    }
    let angle = 2.0 * twist.atan2(s);
    if angle <= -PI { angle + TAU } else { angle }
}

/// The angle's value nearest to a reference [rad]: in space whole turns are not counted, in the plane they are.
pub(super) fn angle_near<S: Space>(joint: &Joint<S>, reference: f64, a: &Pose<S>, b: &Pose<S>) -> f64 {
    let angle = angle(joint, a, b);
    if S::ANG == 1 { angle } else { angle + TAU * ((reference - angle) / TAU).round() }
}

/// d angle; (axis | -axis) where the hinge holds, and exact where it does not.
pub(super) fn row<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> Row<S> {
    let (s, e) = turn_since_start(joint, a, b);
    let u = axis(joint);
    let twist = e.dot(u);
    // d(2 atan2(t, s)) = (2 s dt - 2 t ds)/(s^2 + t^2) with 2 dt = covector and 2 ds = -e. The denominator vanishes only when the
    // axes point against each other, half a turn away from the joint; the row is then left zero rather than infinite.
    let size = s * s + twist * twist;
    if size == 0.0 {
        return Row::zero();
    }
    let change = (covector::<S>(s, e, u) * s + e * twist) * (1.0 / size);
    Row::turning(S::rotate_rate(b.rotation, change))
}
