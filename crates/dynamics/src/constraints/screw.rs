//! Turn and advance coupled by a lead: one row of a screw, theory (3.16).
//!
//! An angle in space is known up to whole turns. The advance says which turn it is, so that the screw counts its own turns and keeps nothing between steps.

use super::gradient::{JointGradient, Place};
use super::joint::Joint;
use super::row::Row;
use super::{angle, slide};
use carom_math::{Pose, Space, Twist, Wrench};
use std::f64::consts::TAU;

/// Advance per radian \[m\].
pub(crate) fn pitch<S: Space>(joint: &Joint<S>) -> f64 {
    joint.measures.lead / TAU
}

/// The turn of a relative to b since the start \[rad\], whole turns counted by the advance.
pub(super) fn turn<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> f64 {
    angle::nearest::<S>(slide::error(joint, joint.axes[0], a, b) / pitch(joint), angle::angle(joint, a, b))
}

/// The advance less what the turn makes of it \[m\].
pub(super) fn error<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> f64 {
    slide::error(joint, joint.axes[0], a, b) - pitch(joint) * turn(joint, a, b)
}

/// Its row.
pub(super) fn row<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> Row<S> {
    let (advance, turn, pitch) = (slide::row(joint, joint.axes[0], a, b), angle::row(joint, a, b), pitch(joint));
    let less = |x: Wrench<S>, y: Wrench<S>| x.plus(-pitch, y);
    Row { a: less(advance.a, turn.a), b: less(advance.b, turn.b) }
}

/// Adds `weight` times the gradient of the error.
pub(super) fn value_gradient<S: Space>(place: &Place<S>, weight: f64, out: &mut JointGradient<S>) {
    let joint = place.joint;
    let g = slide::value_gradient(place, joint.axes[0] * weight, out);
    out.axes[0] += g * weight;
    angle::value_gradient(place, -pitch(joint) * weight, out);
    out.measures.lead -= weight * turn(joint, place.a, place.b) / TAU;
}

/// Adds `weight` times the gradient of J v.
pub(super) fn power_gradient<S: Space>(place: &Place<S>, weight: f64, v: &[Twist<S>; 2], out: &mut JointGradient<S>) {
    let joint = place.joint;
    let g = slide::power_gradient(place, joint.axes[0] * weight, v, out);
    out.axes[0] += g * weight;
    angle::power_gradient(place, -pitch(joint) * weight, v, out);
    out.measures.lead -= weight * angle::row(joint, place.a, place.b).speed(&v[0], &v[1]) / TAU;
}
