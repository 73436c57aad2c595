//! The physical parameters of a joint as one flat vector, theory (15.1)-(15.2).
//!
//! The order is that of [`JointParameter`]: anchors, axes, reference, lengths, spring, limits, motor, friction, rotor; a kind has only those
//! that its functions or its forces read. Axes and the reference move on their manifolds: an axis keeps unit length, a reference turns.

use super::joint::Joint;
use crate::keyed::keyed;
use carom_math::{Space, Vector};

/// Most parameters of a joint: a screw in space with limits, a position motor and a rotor.
pub const MAX_PARAMETERS: usize = 24;

keyed! {
    /// The numbers of its own that a kind of joint may have: of a description, of a joint, of a gradient.
    Measures of f64 {
        /// Length \[m\] (distance, rope).
        length,
        /// Advance per turn \[m\] (screw), not 0; below 0 for a left-handed one.
        lead,
        /// Rest length \[m\] (spring).
        rest,
        /// Stiffness [N/m] (spring).
        stiffness,
        /// Damping [N s/m] (spring).
        damping,
    }
}

/// One entry of the parameter vector of a joint; `side` is 0 for body a and 1 for body b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointParameter {
    /// A component of an anchor in the frame of its body \[m\].
    Anchor {
        /// Body.
        side: usize,
        /// Component in the body frame.
        component: usize,
    },
    /// A component of a unit axis in the frame of its body; a change is projected across the axis, so that its length stays one.
    Axis {
        /// Body.
        side: usize,
        /// Component in the body frame.
        component: usize,
    },
    /// A component of a turn \[rad\] after the reference orientation of a in b, in the axes of b.
    Reference {
        /// Component in the frame of b.
        component: usize,
    },
    /// Length of a distance or rope \[m\].
    Length,
    /// Advance per turn of a screw \[m\].
    Lead,
    /// Rest length of a spring \[m\].
    Rest,
    /// Stiffness of a spring [N/m].
    Stiffness,
    /// Damping of a spring [N s/m].
    Damping,
    /// Lower limit of the free coordinate \[rad or m\].
    LimitLow,
    /// Upper limit of the free coordinate \[rad or m\].
    LimitHigh,
    /// Target rate of a velocity motor [rad/s or m/s].
    MotorVelocity,
    /// Target of a position motor \[rad or m\].
    MotorPosition,
    /// Stiffness of a position motor [N m/rad or N/m].
    MotorStiffness,
    /// Damping of a position motor [N m s/rad or N s/m].
    MotorDamping,
    /// Largest torque or force of a motor \[N m or N\].
    MotorMax,
    /// Largest friction torque or force on the free coordinate \[N m or N\].
    Friction,
    /// Inertia of the rotor on the free coordinate [kg m^2 or kg].
    Armature,
}

impl JointParameter {
    /// Those that are [`Measures`], in the order of their keys.
    pub(crate) const MEASURES: [Self; Measures::KEYS.len()] = [Self::Length, Self::Lead, Self::Rest, Self::Stiffness, Self::Damping];

    /// Which of the measures it is.
    #[inline]
    pub(super) fn measure(self) -> Option<usize> {
        Self::MEASURES.iter().position(|known| *known == self)
    }
}

impl<S: Space> Joint<S> {
    /// Number of parameters P, at most [`MAX_PARAMETERS`].
    pub fn parameter_count(&self) -> usize {
        let mut count = 0;
        self.visit_parameters(|_| count += 1);
        count
    }

    /// Calls `visit` with every parameter of the joint in the order of the flat vector.
    #[inline]
    pub fn visit_parameters(&self, mut visit: impl FnMut(JointParameter)) {
        for side in 0..2 {
            (0..S::DIM).for_each(|component| visit(JointParameter::Anchor { side, component }));
        }
        for side in 0..2 {
            if self.kind.reads_axis::<S>(side) {
                (0..S::DIM).for_each(|component| visit(JointParameter::Axis { side, component }));
            }
        }
        if self.kind.reads_reference::<S>() {
            (0..S::ANG).for_each(|component| visit(JointParameter::Reference { component }));
        }
        self.visit_numbers(visit);
    }

    /// The parameters after anchors, axes and reference: single numbers.
    #[inline]
    pub(super) fn visit_numbers(&self, mut visit: impl FnMut(JointParameter)) {
        self.kind.numbers().iter().for_each(|number| visit(*number));
        if self.limits.is_some() {
            visit(JointParameter::LimitLow);
            visit(JointParameter::LimitHigh);
        }
        if let Some(motor) = self.motor {
            let numbers = [
                JointParameter::MotorVelocity,
                JointParameter::MotorPosition,
                JointParameter::MotorStiffness,
                JointParameter::MotorDamping,
                JointParameter::MotorMax,
            ];
            numbers.into_iter().filter(|number| motor.number(*number).is_some()).for_each(&mut visit);
        }
        if self.has_coordinate() {
            visit(JointParameter::Friction);
        }
        if self.has_rotor() {
            visit(JointParameter::Armature);
        }
    }

    /// The parameters in the order of the flat vector.
    pub fn parameters(&self) -> Vec<JointParameter> {
        let mut out = Vec::with_capacity(MAX_PARAMETERS);
        self.visit_parameters(|parameter| out.push(parameter));
        out
    }

    /// The place of a parameter in the flat vector; `None` where the joint has no such parameter.
    pub fn parameter_index(&self, wanted: JointParameter) -> Option<usize> {
        let (mut next, mut found) = (0, None);
        self.visit_parameters(|parameter| {
            if parameter == wanted {
                found = Some(next);
            }
            next += 1;
        });
        found
    }

    /// The value of a parameter; the reference has no coordinates of its own and reads as the rotation vector \[rad\] of where it is.
    /// Zero where the joint has no such parameter.
    pub fn parameter_value(&self, parameter: JointParameter) -> f64 {
        match (parameter, self.motor) {
            (JointParameter::Anchor { side, component }, _) => self.anchors[side][component],
            (JointParameter::Axis { side, component }, _) => self.axes[side][component],
            (JointParameter::Reference { component }, _) => S::log(self.reference)[component],
            (JointParameter::LimitLow, _) => self.limits.map_or(0.0, |limits| limits[0]),
            (JointParameter::LimitHigh, _) => self.limits.map_or(0.0, |limits| limits[1]),
            (
                JointParameter::MotorVelocity
                | JointParameter::MotorPosition
                | JointParameter::MotorStiffness
                | JointParameter::MotorDamping
                | JointParameter::MotorMax,
                Some(motor),
            ) => motor.number(parameter).unwrap_or(0.0),
            (JointParameter::Friction, _) => self.friction,
            (JointParameter::Armature, _) => self.armature,
            _ => parameter.measure().map_or(0.0, |k| self.measures.list()[k]),
        }
    }

    /// The joint with its parameters moved by a tangent of [`Joint::parameter_count`] numbers: sums, but an axis is brought back to
    /// unit length and the reference is turned by the exponential, theory (15.2).
    pub fn perturbed(&self, tangent: &[f64]) -> Self {
        let mut out = self.clone();
        let mut turn = S::Ang::zero();
        let mut next = 0;
        self.visit_parameters(|parameter| {
            let change = tangent[next];
            next += 1;
            match (parameter, &mut out.motor) {
                (JointParameter::Anchor { side, component }, _) => out.anchors[side][component] += change,
                (JointParameter::Axis { side, component }, _) => out.axes[side][component] += change,
                (JointParameter::Reference { component }, _) => turn[component] += change,
                (JointParameter::LimitLow, _) => out.limits.iter_mut().for_each(|limits| limits[0] += change),
                (JointParameter::LimitHigh, _) => out.limits.iter_mut().for_each(|limits| limits[1] += change),
                (
                    JointParameter::MotorVelocity
                    | JointParameter::MotorPosition
                    | JointParameter::MotorStiffness
                    | JointParameter::MotorDamping
                    | JointParameter::MotorMax,
                    Some(motor),
                ) => motor.number_mut(parameter).into_iter().for_each(|number| *number += change),
                (JointParameter::Friction, _) => out.friction += change,
                (JointParameter::Armature, _) => out.armature += change,
                _ => parameter.measure().into_iter().for_each(|k| *out.measures.list_mut()[k] += change),
            }
        });
        for axis in &mut out.axes {
            *axis = axis.unit();
        }
        out.across = S::tangents(out.axes[0]);
        if turn != S::Ang::zero() {
            out.reference = S::turn(self.reference, turn);
        }
        out
    }
}
