//! Laws that the plane and space both keep, each checked on both.

use super::cases;
use crate::{Planar, Pose, Space, Spatial, Twist, Vector, Wrench, rotation};
use nalgebra::Vector3;
use proptest::prelude::*;

/// Rounding left by a handful of operations on numbers of order one to a hundred.
const ROUNDING: f64 = 1e-12;
/// Central differences with this step \[rad\] are right to about 1e-10: truncation 1e-10, rounding 1e-11.
const DIFFERENCE_STEP: f64 = 1e-5;
const DIFFERENCE_ERROR: f64 = 1e-8;

fn numbers() -> impl Strategy<Value = [f64; 16]> {
    prop::array::uniform16(-3.0..3.0_f64)
}

/// Lengths from far below every series threshold up to a shortest rotation.
fn angle() -> impl Strategy<Value = f64> {
    prop_oneof![(-14.0..0.4_f64).prop_map(|power| 10.0_f64.powf(power)), 0.0..3.1_f64, Just(0.0), Just(1e-2), Just(2e-2)]
}

/// The same law in the plane and in space.
macro_rules! both {
    ($law:ident($($argument:expr),*)) => {{
        $law::<Planar>($($argument),*)?;
        $law::<Spatial>($($argument),*)?;
    }};
}

fn lin<S: Space>(x: &[f64]) -> S::Lin {
    S::Lin::from_slice(x)
}
fn ang<S: Space>(x: &[f64]) -> S::Ang {
    S::Ang::from_slice(x)
}
fn close<V: Vector>(a: V, b: V, error: f64) -> bool {
    (a - b).max_abs() <= error * (1.0 + a.max_abs())
}
fn same_turn<S: Space>(a: S::Rot, b: S::Rot) -> bool {
    (0..S::DIM).all(|k| {
        let mut axis = S::Lin::zero();
        axis[k] = 1.0;
        close(S::rotate(a, axis), S::rotate(b, axis), ROUNDING)
    })
}
/// An inertia with moments well apart, turned out of its axes.
fn inertia<S: Space>(x: &[f64]) -> S::Inertia {
    let moments: Vec<f64> = (0..S::ANG).map(|k| 1.0 + k as f64 + 0.2 * x[k]).collect();
    S::inertia_world(S::inertia_from_moments(&moments), S::exp(ang::<S>(&x[3..])))
}

fn power<S: Space>(x: &[f64; 16]) -> Result<(), TestCaseError> {
    let (w, r, f, v) = (ang::<S>(x), lin::<S>(&x[3..]), lin::<S>(&x[6..]), lin::<S>(&x[9..]));
    prop_assert!((S::spin(w, r).dot(f) - w.dot(S::torque(r, f))).abs() < ROUNDING);
    // A force at an arm has the power of the force on the velocity there, theory (1.2).
    let twist = Twist::<S> { lin: v, ang: w };
    prop_assert!((Wrench::<S>::along(f, r).power(&twist) - f.dot(twist.at(r))).abs() < ROUNDING);
    prop_assert!((Wrench::<S>::turning(w).negated().power(&twist) + w.dot(w)).abs() < ROUNDING);
    // And it does not depend on the axes.
    let turn = S::exp(ang::<S>(&x[12..]));
    prop_assert!(close(S::rotate_rate(turn, S::torque(r, f)), S::torque(S::rotate(turn, r), S::rotate(turn, f)), ROUNDING));
    prop_assert!(close(S::rotate(turn, S::spin(w, r)), S::spin(S::rotate_rate(turn, w), S::rotate(turn, r)), ROUNDING));
    Ok(())
}

fn turns<S: Space>(x: &[f64; 16]) -> Result<(), TestCaseError> {
    let (a, b) = (S::exp(ang::<S>(x)), S::exp(ang::<S>(&x[3..])));
    let (p, w) = (lin::<S>(&x[6..]), ang::<S>(&x[9..]));
    prop_assert!(close(S::rotate(S::compose(a, b), p), S::rotate(a, S::rotate(b, p)), ROUNDING));
    prop_assert!(close(S::unrotate(a, S::rotate(a, p)), p, ROUNDING));
    prop_assert!(close(S::unrotate(a, p), S::rotate(S::inverse(a), p), ROUNDING));
    prop_assert!(close(S::unrotate_rate(a, S::rotate_rate(a, w)), w, ROUNDING));
    prop_assert!((S::rotate(a, p).norm() - p.norm()).abs() < ROUNDING);
    prop_assert!(same_turn::<S>(S::compose(a, S::inverse(a)), S::identity()));
    prop_assert!(same_turn::<S>(S::turn(a, w), S::compose(S::exp(w), a)));
    // A turn leaves its own axis in place.
    prop_assert!(close(S::rotate_rate(S::exp(w), w), w, ROUNDING));
    Ok(())
}

fn exp_and_log<S: Space>(x: &[f64; 16], length: f64) -> Result<(), TestCaseError> {
    let w = ang::<S>(x).unit() * length;
    prop_assert!((S::log(S::exp(w)) - w).max_abs() <= ROUNDING * length + f64::MIN_POSITIVE, "{:?} -> {:?}", w, S::log(S::exp(w)));
    let any = S::turn(S::exp(ang::<S>(&x[3..])), ang::<S>(&x[6..]));
    prop_assert!(same_turn::<S>(S::exp(S::log(any)), any));
    prop_assert!(S::ANG == 1 || S::log(any).norm() <= std::f64::consts::PI + ROUNDING);
    Ok(())
}

fn derivatives<S: Space>(x: &[f64; 16], length: f64) -> Result<(), TestCaseError> {
    let (w, d, c) = (ang::<S>(x).unit() * length, ang::<S>(&x[3..]), ang::<S>(&x[6..]));
    let e = DIFFERENCE_STEP;
    // (1.5): exp(w + d) = exp(J d) exp(w).
    let between = S::compose(S::exp(w + d * e), S::inverse(S::exp(w - d * e)));
    prop_assert!(close(S::exp_derivative(w, d), S::log(between) * (0.5 / e), DIFFERENCE_ERROR));
    // (1.6): its inverse, by algebra everywhere and by differences away from the cut of the logarithm.
    prop_assert!(close(S::log_derivative(w, S::exp_derivative(w, d)), d, ROUNDING));
    if length + 1e-3 < std::f64::consts::PI {
        let turn = S::exp(w);
        let change = S::log(S::turn(turn, d * e)) - S::log(S::turn(turn, d * -e));
        prop_assert!(close(S::log_derivative(w, d), change * (0.5 / e), DIFFERENCE_ERROR));
    }
    // The transposes are transposes.
    prop_assert!((c.dot(S::exp_derivative(w, d)) - d.dot(S::exp_derivative_transpose(w, c))).abs() < ROUNDING);
    prop_assert!((c.dot(S::log_derivative(w, d)) - d.dot(S::log_derivative_transpose(w, c))).abs() < ROUNDING);
    Ok(())
}

fn inertias<S: Space>(x: &[f64; 16]) -> Result<(), TestCaseError> {
    let (i, w, r) = (inertia::<S>(x), ang::<S>(&x[6..]), lin::<S>(&x[9..]));
    let apply = |i, w| S::inertia_apply(i, w);
    prop_assert!(w.dot(w) == 0.0 || w.dot(apply(i, w)) > 0.0);
    let inverse = S::inertia_invert(i);
    prop_assert!(inverse.is_some_and(|inverse| close(apply(inverse, apply(i, w)), w, ROUNDING)));
    prop_assert!(S::inertia_invert(S::inertia_zero()).is_none());
    // A turned body with a turned rate has the same energy.
    let turn = S::exp(ang::<S>(&x[12..]));
    let turned = S::rotate_rate(turn, w);
    prop_assert!((turned.dot(apply(S::inertia_world(i, turn), turned)) - w.dot(apply(i, w))).abs() < ROUNDING * 100.0);
    // A point mass has the energy of its speed.
    let point = S::inertia_of_point(2.0, r);
    prop_assert!((w.dot(apply(point, w)) - 2.0 * S::spin(w, r).dot(S::spin(w, r))).abs() < ROUNDING * 100.0);
    prop_assert!(close(apply(S::inertia_sum(i, S::inertia_scale(point, 0.5)), w), apply(i, w) + apply(point, w) * 0.5, ROUNDING));
    prop_assert!(close(apply(S::inertia_from_rows(&S::inertia_rows(i)), w), apply(i, w), ROUNDING));
    // The gyroscopic torque does no work.
    prop_assert!(S::gyroscopic(i, w).dot(w).abs() < ROUNDING * 100.0);
    Ok(())
}

fn implicit_rates<S: Space>(x: &[f64; 16]) -> Result<(), TestCaseError> {
    // Half a step of 1/60 s at rates up to 15 rad/s: a turn of a quarter radian, above what the step allows.
    let (i, w, half_step) = (inertia::<S>(x), ang::<S>(&x[6..]) * 5.0, 1.0 / 120.0);
    let momentum = S::inertia_apply(i, w);
    let found = S::implicit_rate(i, half_step, momentum, w);
    prop_assert!(found.is_some());
    if let Some(y) = found {
        let residual = S::inertia_apply(i, y) + S::gyroscopic(i, y) * half_step - momentum;
        prop_assert!(residual.norm() <= ROUNDING * momentum.norm());
        prop_assert!(S::ANG == 1 || w.norm() < 1.0 || (y - w).norm() > 0.0, "the gyroscopic torque must have acted");
    }
    Ok(())
}

fn mean_rates<S: Space>(x: &[f64; 16]) -> Result<(), TestCaseError> {
    let (i, w, half_step) = (inertia::<S>(x), ang::<S>(&x[6..]) * 5.0, 1.0 / 120.0);
    let (momentum, push) = (S::inertia_apply(i, w), ang::<S>(&x[9..]));
    for drag in [1.0, 1.1] {
        let found = S::mean_rate(i, half_step, drag, momentum, push, w);
        prop_assert!(found.is_some());
        if let Some(y) = found {
            // y x push = gyroscopic part of the push; in the plane both products vanish.
            let cross = |a: S::Ang, b: S::Ang| if S::ANG == 1 { S::Ang::zero() } else { cross::<S>(a, b) };
            let carried = S::inertia_apply(i, y);
            let residual = carried * drag + (S::gyroscopic(i, y) + cross(y, push)) * half_step - momentum - push;
            prop_assert!(residual.norm() <= ROUNDING * (momentum.norm() + push.norm()));
        }
    }
    Ok(())
}

/// a x b in space.
fn cross<S: Space>(a: S::Ang, b: S::Ang) -> S::Ang {
    S::Ang::from_slice(S::spin(a, S::Lin::from_slice(b.as_slice())).as_slice())
}

fn tangent_frames<S: Space>(x: &[f64; 16]) -> Result<(), TestCaseError> {
    let n = lin::<S>(x).unit();
    prop_assume!(n.norm() > 0.5);
    let tangents = S::tangents(n);
    for a in 0..S::TANGENTS {
        prop_assert!(tangents[a].dot(n).abs() < ROUNDING);
        for b in 0..S::TANGENTS {
            let wanted = if a == b { 1.0 } else { 0.0 };
            prop_assert!((tangents[a].dot(tangents[b]) - wanted).abs() < ROUNDING);
        }
    }
    prop_assert!(tangents[S::TANGENTS..].iter().all(|unused| unused.norm() == 0.0));
    Ok(())
}

fn poses<S: Space>(x: &[f64; 16]) -> Result<(), TestCaseError> {
    let a = Pose::<S> { position: lin::<S>(x), rotation: S::exp(ang::<S>(&x[3..])) };
    let b = Pose::<S> { position: lin::<S>(&x[6..]), rotation: S::exp(ang::<S>(&x[9..])) };
    let p = lin::<S>(&x[12..]);
    prop_assert!(close(a.compose(&b).point(p), a.point(b.point(p)), ROUNDING));
    prop_assert!(close(a.inverse().point(p), a.local_point(p), ROUNDING));
    prop_assert!(close(a.local_point(a.point(p)), p, ROUNDING));
    prop_assert!(close(a.direction(p), a.point(p) - a.position, ROUNDING) && close(a.local_direction(a.direction(p)), p, ROUNDING));
    prop_assert!(close(Pose::<S>::identity().point(p), p, 0.0));
    // The velocity of a body point is the derivative of its place, theory (1.1).
    let twist = Twist::<S> { lin: lin::<S>(&x[6..]), ang: ang::<S>(&x[9..]) };
    let e = DIFFERENCE_STEP;
    let moved = (a.advanced(twist, e).point(p) - a.advanced(twist, -e).point(p)) * (0.5 / e);
    prop_assert!(close(twist.at(a.direction(p)), moved, DIFFERENCE_ERROR));
    prop_assert!(a.is_finite() && twist.is_finite());
    prop_assert!(!a.advanced(twist, f64::NAN).is_finite());
    Ok(())
}

fn stored_rotations<S: Space>(x: &[f64; 16]) -> Result<(), TestCaseError> {
    let mut rotation = S::exp(ang::<S>(x));
    // Through many turns, as a run would leave it.
    for k in 0..12 {
        let mut stored = [0.0; 4];
        S::write_rotation(rotation, &mut stored);
        let Some(read) = S::read_rotation(&stored) else { return Err(TestCaseError::fail("a rotation was written but not read")) };
        let mut again = [0.0; 4];
        S::write_rotation(read, &mut again);
        prop_assert!(stored.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()));
        rotation = S::turn(rotation, ang::<S>(&x[k..]));
    }
    prop_assert!(S::read_rotation(&[f64::NAN; 4]).is_none());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1024, 50_000)))]

    #[test]
    fn torque_is_the_transpose_of_spin(x in numbers()) { both!(power(&x)); }
    #[test]
    fn rotations_are_a_group_that_keeps_lengths(x in numbers()) { both!(turns(&x)); }
    #[test]
    fn log_undoes_exp(x in numbers(), length in angle()) { both!(exp_and_log(&x, length)); }
    #[test]
    fn derivatives_of_exp_and_log_are_those_of_differences(x in numbers(), length in angle()) { both!(derivatives(&x, length)); }
    #[test]
    fn inertia_is_positive_and_turns_with_the_body(x in numbers()) { both!(inertias(&x)); }
    #[test]
    fn implicit_rate_solves_its_equation(x in numbers()) { both!(implicit_rates(&x)); }
    #[test]
    fn mean_rate_solves_its_equation(x in numbers()) { both!(mean_rates(&x)); }
    #[test]
    fn tangents_are_orthonormal_to_the_normal(x in numbers()) { both!(tangent_frames(&x)); }
    #[test]
    fn poses_compose_and_their_points_move_as_the_twist_says(x in numbers()) { both!(poses(&x)); }
    #[test]
    fn a_stored_rotation_reads_back_bit_for_bit(x in numbers()) { both!(stored_rotations(&x)); }
}

#[test]
fn tangents_exist_along_every_axis() {
    for axis in [Vector3::x(), Vector3::y(), Vector3::z()] {
        for n in [axis, -axis] {
            let [a, b] = Spatial::tangents(n);
            assert!((a.cross(&b) - n).norm() < ROUNDING, "right-handed about {n:?}");
        }
    }
    assert_eq!(Planar::tangents(nalgebra::Vector2::new(0.0, 1.0))[0], nalgebra::Vector2::new(-1.0, 0.0));
}

#[test]
fn a_wheel_keeps_count_of_its_revolutions() {
    let step = nalgebra::Vector1::new(1.0);
    let turned = (0..100).fold(Planar::identity(), |turn, _| Planar::turn(turn, step));
    assert!((Planar::log(turned).x - 100.0).abs() < ROUNDING * 100.0);
}

#[test]
fn series_and_closed_forms_meet_at_their_threshold() {
    // Either side of the switch of rotation.rs at 1e-2 rad (2e-2 rad for the half angle of exp).
    for threshold in [1e-2, 2e-2] {
        let axis = Vector3::new(0.6, 0.0, 0.8);
        let (below, above) = (axis * (threshold * (1.0 - 1e-12)), axis * (threshold * (1.0 + 1e-12)));
        assert!((rotation::exp_derivative(below) - rotation::exp_derivative(above)).amax() < ROUNDING);
        assert!((rotation::log_derivative(below) - rotation::log_derivative(above)).amax() < ROUNDING);
        assert!(Spatial::exp(below).angle_to(&Spatial::exp(above)) < ROUNDING);
    }
}

#[test]
fn zero_quaternion_is_no_orientation() {
    assert!(Spatial::read_rotation(&[0.0; 4]).is_none());
    let doubled = Spatial::read_rotation(&[2.0, 0.0, 0.0, 0.0]);
    assert_eq!(doubled, Some(Spatial::identity()), "a quaternion of another length is normalised");
}
