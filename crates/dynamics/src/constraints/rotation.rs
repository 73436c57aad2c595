//! No turn between a and b: ANG rows, theory (3.5).

use super::gradient::{JointGradient, Place};
use super::joint::Joint;
use super::row::Row;
use carom_math::{Pose, Space, Twist, Vector};

/// The turn of a relative to b since the start, in the frame of b: scalar s >= 0 and vector e of its quaternion. In the plane
/// s = 1 and e is half the angle, unwrapped, so that phi = 2 e and the rows below hold as they stand.
pub(super) fn turn_since_start<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> (f64, S::Ang) {
    turn_since(joint.reference, a, b)
}

/// The same of a reference orientation of a in the frame of b.
#[inline]
pub(super) fn turn_since<S: Space>(reference: S::Rot, a: &Pose<S>, b: &Pose<S>) -> (f64, S::Ang) {
    if S::ANG == 1 {
        return (1.0, (S::log(a.rotation) - S::log(b.rotation) - S::log(reference)) * 0.5);
    }
    let turn = S::compose(S::compose(S::inverse(b.rotation), a.rotation), S::inverse(reference));
    let mut q = [0.0; 4];
    S::write_rotation(turn, &mut q);
    let (s, e) = (q[0], S::Ang::from_slice(&q[1..]));
    if s < 0.0 { (-s, -e) } else { (s, e) }
}

/// s u + e x u, so that d(2 e . u) = (s u + e x u) . R_b' (w_a - w_b); the cross product vanishes in the plane.
pub(super) fn covector<S: Space>(s: f64, e: S::Ang, u: S::Ang) -> S::Ang {
    if S::ANG == 1 { u * s } else { u * s + cross::<S>(e, u) }
}

/// x x y of two rates; zero in the plane.
#[inline(always)]
pub(super) fn cross<S: Space>(x: S::Ang, y: S::Ang) -> S::Ang {
    if S::ANG == 1 {
        return S::Ang::zero();
    }
    S::Ang::from_slice(S::spin(x, S::Lin::from_slice(y.as_slice())).as_slice())
}

/// phi = 2 e \[rad for small errors\], axes of b.
pub(super) fn error<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>, out: &mut [f64]) {
    let (_, e) = turn_since_start(joint, a, b);
    out[..S::ANG].copy_from_slice((e * 2.0).as_slice());
}

/// The rows of phi, one per axis of b.
pub(super) fn rows<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>, out: &mut [Row<S>]) {
    let (s, e) = turn_since_start(joint, a, b);
    for i in 0..S::ANG {
        let mut axis = S::Ang::zero();
        axis[i] = 1.0;
        out[i] = Row::turning(S::rotate_rate(b.rotation, covector::<S>(s, e, axis)));
    }
}

/// Adds the gradient of y . phi = 2 y . e, theory (15.10).
pub(super) fn value_gradient<S: Space>(place: &Place<S>, y: S::Ang, out: &mut JointGradient<S>) {
    out.turn(place, 0.0, y * 2.0);
}

/// Adds the gradient of y . J v = (s y + e x y) . R_b' (w_a - w_b), theory (15.10); the rows of the plane are constant.
#[inline(always)]
pub(super) fn power_gradient<S: Space>(place: &Place<S>, y: S::Ang, v: &[Twist<S>; 2], out: &mut JointGradient<S>) {
    if S::ANG == 1 {
        return;
    }
    let (s, e) = place.turn;
    let rate = v[0].ang - v[1].ang;
    let in_b = S::unrotate_rate(place.b.rotation, rate);
    out.bodies[1].ang += cross::<S>(S::rotate_rate(place.b.rotation, covector::<S>(s, e, y)), rate);
    out.turn(place, y.dot(in_b), cross::<S>(y, in_b));
}
