//! The angle of a hinge, a relative to b, theory (3.7).

use super::gradient::{JointGradient, Place};
use super::joint::Joint;
use super::rotation::{covector, cross, turn_since_start};
use super::row::Row;
use carom_math::{Pose, Space, Twist, Vector};
use std::f64::consts::{PI, TAU};

/// The hinge axis in the frame of b as a direction of angular velocity; the plane has only one.
fn axis<S: Space>(joint: &Joint<S>) -> S::Ang {
    axis_of::<S>(joint.axes[1])
}

/// The same of the axis itself.
#[inline]
pub(super) fn axis_of<S: Space>(axis: S::Lin) -> S::Ang {
    if S::ANG == 1 {
        let mut out = S::Ang::zero();
        out[0] = 1.0;
        out
    } else {
        S::Ang::from_slice(axis.as_slice())
    }
}

/// Angle \[rad\]: 0 at the start pose, unwrapped in the plane, in (-pi, pi] in space.
pub(super) fn angle<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> f64 {
    angle_of::<S>(turn_since_start(joint, a, b), axis(joint))
}

/// The same of a turn about an axis.
#[inline]
pub(super) fn angle_of<S: Space>((s, e): (f64, S::Ang), axis: S::Ang) -> f64 {
    let twist = e.dot(axis);
    if S::ANG == 1 {
        return 2.0 * twist;
    }
    let angle = 2.0 * twist.atan2(s);
    if angle <= -PI { angle + TAU } else { angle }
}

/// The value of an angle nearest to a reference \[rad\]: in space whole turns are not counted, in the plane they are.
#[inline]
pub(super) fn nearest<S: Space>(reference: f64, angle: f64) -> f64 {
    if S::ANG == 1 { angle } else { angle + TAU * ((reference - angle) / TAU).round() }
}

/// d angle; (axis | -axis) where the hinge holds, and exact where it does not.
pub(super) fn row<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> Row<S> {
    Row::turning(turning(turn_since_start(joint, a, b), axis(joint), b))
}

/// The covector of d angle on the turning of a, and against that of b, for a turn about an axis.
#[inline]
pub(super) fn turning<S: Space>((s, e): (f64, S::Ang), u: S::Ang, b: &Pose<S>) -> S::Ang {
    let twist = e.dot(u);
    // d(2 atan2(t, s)) = (2 s dt - 2 t ds)/(s^2 + t^2) with 2 dt = covector and 2 ds = -e. The denominator vanishes only when the
    // axes point against each other, half a turn away from the joint; the row is then left zero rather than infinite.
    let size = s * s + twist * twist;
    if size == 0.0 {
        return S::Ang::zero();
    }
    let change = (covector::<S>(s, e, u) * s + e * twist) * (1.0 / size);
    S::rotate_rate(b.rotation, change)
}

/// Angle and row at once.
pub(super) fn angle_and_row<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> (f64, Row<S>) {
    let (turn, axis) = (turn_since_start(joint, a, b), axis(joint));
    (angle_of::<S>(turn, axis), Row::turning(turning(turn, axis, b)))
}

/// Adds the gradient of an axis of angular velocity to that of the axis of b; the plane has no axis that could move.
fn add_axis<S: Space>(g: S::Ang, out: &mut JointGradient<S>) {
    if S::ANG > 1 {
        out.axes[1] += S::Lin::from_slice(g.as_slice());
    }
}

/// Adds `weight` times the gradient of the angle, theory (15.11).
pub(super) fn value_gradient<S: Space>(place: &Place<S>, weight: f64, out: &mut JointGradient<S>) {
    let (s, e) = place.turn;
    let u = axis(place.joint);
    if S::ANG == 1 {
        return out.turn(place, 0.0, u * (2.0 * weight));
    }
    let twist = e.dot(u);
    let size = s * s + twist * twist;
    if size == 0.0 {
        return;
    }
    let g_twist = 2.0 * s * weight / size;
    out.turn(place, -2.0 * twist * weight / size, u * g_twist);
    add_axis(e * g_twist, out);
}

/// Adds `weight` times the gradient of J v, theory (15.11); the row of the plane is constant.
#[inline(always)]
pub(super) fn power_gradient<S: Space>(place: &Place<S>, weight: f64, v: &[Twist<S>; 2], out: &mut JointGradient<S>) {
    let (s, e) = place.turn;
    let u = axis(place.joint);
    let twist = e.dot(u);
    let size = s * s + twist * twist;
    if S::ANG == 1 || size == 0.0 {
        return;
    }
    let rate = (v[0].ang - v[1].ang) * weight;
    let in_b = S::unrotate_rate(place.b.rotation, rate);
    let bent = cross::<S>(e, u);
    let change = (u * (s * s) + bent * s + e * twist) * (1.0 / size);
    // change = top/size: gradients of both, then of what they are made of.
    let g_top = in_b * (1.0 / size);
    let g_size = -change.dot(in_b) / size;
    let g_twist = e.dot(g_top) + 2.0 * twist * g_size;
    let g_s = (u * (2.0 * s) + bent).dot(g_top) + 2.0 * s * g_size;
    let g_e = cross::<S>(u, g_top) * s + g_top * twist + u * g_twist;
    out.bodies[1].ang += cross::<S>(S::rotate_rate(place.b.rotation, change), rate);
    out.turn(place, g_s, g_e);
    add_axis(g_top * (s * s) + cross::<S>(g_top, e) * s + e * g_twist, out);
}
