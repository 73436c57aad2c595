//! Exact derivatives of the functions of a joint and of their rows, theory chapter 15.
//!
//! Everything second-order comes from one text per row group: the gradient of the power y . J v with respect to poses and parameters.
//! With y a unit vector it is a row of d(J v), with v a unit twist a row of d(J' y), so forward and adjoint modes are transposes of
//! each other by construction. Nothing here allocates.

use super::gradient::{JointGradient, Place};
use super::joint::{Joint, MAX_ROWS};
use super::kind::JointKind;
use super::parameter::MAX_PARAMETERS;
use super::{angle, distance, slide};
use carom_math::{Pose, Space, Twist};

/// Most pose columns of a joint: two bodies in space.
pub const MAX_POSE_COLUMNS: usize = 12;

/// Most columns of a derivative: poses, then parameters.
pub const MAX_COLUMNS: usize = MAX_POSE_COLUMNS + MAX_PARAMETERS;

/// Which functions of a joint are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointFunction {
    /// The rows of a step: the position errors phi, in the order of [`Joint::error`], and the free coordinate where a rotor turns with it.
    Equalities,
    /// The free coordinate, [`Joint::coordinate`].
    Coordinate,
    /// The gap of an inequality, [`Joint::inequality`].
    Inequality(usize),
    /// The length of a spring, [`Joint::spring`].
    SpringLength,
}

impl<S: Space> Joint<S> {
    /// Columns of a derivative: 2 DOF of the poses (a.lin, a.ang, b.lin, b.ang), then the parameters; at most [`MAX_COLUMNS`].
    pub fn column_count(&self) -> usize {
        2 * S::DOF + self.parameter_count()
    }

    /// Number of functions: 0 where the joint has none of that sort, at most [`MAX_ROWS`].
    pub fn function_count(&self, function: JointFunction) -> usize {
        match function {
            JointFunction::Equalities => self.step_row_count(),
            JointFunction::Coordinate => usize::from(self.has_coordinate()),
            JointFunction::Inequality(index) => usize::from(index < self.inequality_count()),
            JointFunction::SpringLength => usize::from(self.kind == JointKind::Spring),
        }
    }

    /// Gradient of y . g, the functions g weighted by y, theory (15.6): its pose part is J' y.
    pub fn value_gradient(&self, function: JointFunction, pose_a: &Pose<S>, pose_b: &Pose<S>, y: &[f64]) -> JointGradient<S> {
        let place = Place::new(self, pose_a, pose_b);
        value_at(&place, function, y)
    }

    /// Gradient of the power y . J v at fixed weights y and twists v, theory (15.6).
    ///
    /// This is all that an adjoint step needs of second derivatives: the cotangents of a speed J v meet the twists, those of an
    /// impulse J' y meet the multipliers, and both are this number.
    pub fn power_gradient(
        &self,
        function: JointFunction,
        pose_a: &Pose<S>,
        pose_b: &Pose<S>,
        y: &[f64],
        twists: &[Twist<S>; 2],
    ) -> JointGradient<S> {
        let place = Place::new(self, pose_a, pose_b);
        power_at(&place, function, y, twists)
    }

    /// The sum of the gradients of powers of the equalities at one pose, each with its weights and twists: the speeds and the impulses of
    /// an adjoint step meet there.
    pub fn equality_power_gradient(&self, pose_a: &Pose<S>, pose_b: &Pose<S>, terms: &[(&[f64], &[Twist<S>; 2])]) -> JointGradient<S> {
        let place = Place::of_equalities(self, pose_a, pose_b);
        let mut out = JointGradient::zero();
        for (y, twists) in terms {
            equalities_power(&place, y, twists, &mut out);
        }
        out.across(self)
    }

    /// Gradient of y . phi, the equalities weighted by y.
    pub fn equality_value_gradient(&self, pose_a: &Pose<S>, pose_b: &Pose<S>, y: &[f64]) -> JointGradient<S> {
        value_at(&Place::of_equalities(self, pose_a, pose_b), JointFunction::Equalities, y)
    }

    /// dg/dp by rows into `function_count x parameter_count` numbers, theory (15.6).
    pub fn parameter_derivative(&self, function: JointFunction, pose_a: &Pose<S>, pose_b: &Pose<S>, out: &mut [f64]) {
        let place = Place::new(self, pose_a, pose_b);
        let columns = self.parameter_count();
        for (k, row) in out.chunks_exact_mut(columns).take(self.function_count(function)).enumerate() {
            value_at(&place, function, &unit(k)).write_parameters(self, row);
        }
    }

    /// d(J v)/d(xi, p) at fixed twists by rows into `function_count x column_count` numbers.
    pub fn rate_derivative(&self, function: JointFunction, pose_a: &Pose<S>, pose_b: &Pose<S>, twists: &[Twist<S>; 2], out: &mut [f64]) {
        let place = Place::new(self, pose_a, pose_b);
        let columns = self.column_count();
        for (k, row) in out.chunks_exact_mut(columns).take(self.function_count(function)).enumerate() {
            power_at(&place, function, &unit(k), twists).write(self, row);
        }
    }

    /// d(J' y)/d(xi, p) at fixed weights by rows into `2 DOF x column_count` numbers.
    pub fn wrench_derivative(&self, function: JointFunction, pose_a: &Pose<S>, pose_b: &Pose<S>, y: &[f64], out: &mut [f64]) {
        let place = Place::new(self, pose_a, pose_b);
        let columns = self.column_count();
        for (i, row) in out.chunks_exact_mut(columns).take(2 * S::DOF).enumerate() {
            let mut twists = [Twist::<S>::zero(); 2];
            let (side, component) = (i / S::DOF, i % S::DOF);
            if component < S::DIM {
                twists[side].lin[component] = 1.0;
            } else {
                twists[side].ang[component - S::DIM] = 1.0;
            }
            power_at(&place, function, y, &twists).write(self, row);
        }
    }
}

/// A joint at the poses of its bodies: what several gradients there have in common is found once.
pub(crate) struct Placed<'p, S: Space>(Place<'p, S>);

impl<S: Space> Placed<'_, S> {
    /// As [`Joint::value_gradient`].
    pub fn value_gradient(&self, function: JointFunction, y: &[f64]) -> JointGradient<S> {
        value_at(&self.0, function, y)
    }
    /// As [`Joint::power_gradient`].
    pub fn power_gradient(&self, function: JointFunction, y: &[f64], twists: &[Twist<S>; 2]) -> JointGradient<S> {
        power_at(&self.0, function, y, twists)
    }
}

impl<S: Space> Joint<S> {
    /// At the poses of its bodies.
    pub(crate) fn placed<'p>(&'p self, pose_a: &'p Pose<S>, pose_b: &'p Pose<S>) -> Placed<'p, S> {
        Placed(Place::new(self, pose_a, pose_b))
    }
}

/// The weights that pick one function.
fn unit(k: usize) -> [f64; MAX_ROWS] {
    let mut out = [0.0; MAX_ROWS];
    out[k] = 1.0;
    out
}

/// The gradient of y . g at a place.
fn value_at<S: Space>(place: &Place<S>, function: JointFunction, y: &[f64]) -> JointGradient<S> {
    let joint = place.joint;
    let mut out = JointGradient::zero();
    match function {
        _ if joint.function_count(function) == 0 => (),
        JointFunction::Equalities => {
            let mut first = 0;
            for group in joint.kind.groups() {
                group.value_gradient(place, &y[first..], &mut out);
                first += group.count::<S>();
            }
            if joint.has_rotor() {
                coordinate_value(place, y[first], &mut out);
            }
        }
        JointFunction::Coordinate => coordinate_value(place, y[0], &mut out),
        JointFunction::Inequality(_) if joint.kind == JointKind::Rope => {
            distance::value_gradient(place, -y[0], &mut out);
            out.measures.length += y[0];
        }
        JointFunction::Inequality(index) => {
            let sign = limit_sign(index) * y[0];
            coordinate_value(place, sign, &mut out);
            out.limits[index] -= sign;
        }
        JointFunction::SpringLength => distance::value_gradient(place, y[0], &mut out),
    }
    out.across(joint)
}

/// The gradient of y . J v at a place.
#[inline]
pub(super) fn power_at<S: Space>(place: &Place<S>, function: JointFunction, y: &[f64], v: &[Twist<S>; 2]) -> JointGradient<S> {
    let joint = place.joint;
    let mut out = JointGradient::zero();
    match function {
        _ if joint.function_count(function) == 0 => (),
        JointFunction::Equalities => equalities_power(place, y, v, &mut out),
        JointFunction::Coordinate => coordinate_power(place, y[0], v, &mut out),
        JointFunction::Inequality(_) if joint.kind == JointKind::Rope => distance::power_gradient(place, -y[0], v, &mut out),
        JointFunction::Inequality(index) => coordinate_power(place, limit_sign(index) * y[0], v, &mut out),
        JointFunction::SpringLength => distance::power_gradient(place, y[0], v, &mut out),
    }
    out.across(joint)
}

/// Adds the gradient of the power of the equalities.
#[inline(always)]
fn equalities_power<S: Space>(place: &Place<S>, y: &[f64], v: &[Twist<S>; 2], out: &mut JointGradient<S>) {
    let mut first = 0;
    for group in place.joint.kind.groups() {
        group.power_gradient(place, &y[first..], v, out);
        first += group.count::<S>();
    }
    if place.joint.has_rotor() {
        coordinate_power(place, y[first], v, out);
    }
}

/// The sign of the free coordinate in a limit's gap, theory (3.9).
fn limit_sign(index: usize) -> f64 {
    if index == 0 { 1.0 } else { -1.0 }
}

/// Adds `weight` times the gradient of the free coordinate.
fn coordinate_value<S: Space>(place: &Place<S>, weight: f64, out: &mut JointGradient<S>) {
    if place.joint.is_angular() {
        angle::value_gradient(place, weight, out);
    } else {
        let g = slide::value_gradient(place, place.joint.axes[0] * weight, out);
        out.axes[0] += g * weight;
    }
}

/// Adds `weight` times the gradient of the rate of the free coordinate.
pub(super) fn coordinate_power<S: Space>(place: &Place<S>, weight: f64, v: &[Twist<S>; 2], out: &mut JointGradient<S>) {
    if place.joint.is_angular() {
        angle::power_gradient(place, weight, v, out);
    } else {
        let g = slide::power_gradient(place, place.joint.axes[0] * weight, v, out);
        out.axes[0] += g * weight;
    }
}
