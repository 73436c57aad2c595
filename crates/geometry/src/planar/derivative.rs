//! Derivatives of the contacts of the plane: the closed forms over numbers with derivatives, theory (14.1)-(14.4).

use super::feature::{Feature, closed_form};
use super::parameters;
use super::placed::Moving;
use super::shape::{Pose, Shape};
use crate::contact_jacobian::ContactJacobian;
use crate::contact_tangent::{ContactAdjoint, ContactDerivative, ContactMotion, ContactTangent, Sizes, unit_twist};
use carom_math::{Planar, Space, Twist};
use nalgebra::Vector2;

/// Degrees of freedom of a frame.
const DOF: usize = Planar::DOF;

/// Both placed shapes of a contact.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub feature: Feature,
    pub a: &'a Shape,
    pub pose_a: &'a Pose,
    pub b: &'a Shape,
    pub pose_b: &'a Pose,
}

impl Pair<'_> {
    /// The derivative in one direction.
    fn along(&self, twist_a: Twist<Planar>, sizes_a: Sizes, twist_b: Twist<Planar>, sizes_b: Sizes) -> ContactTangent<Planar> {
        let a = Moving { shape: self.a, pose: self.pose_a, twists: [twist_a], sizes: sizes_a };
        let b = Moving { shape: self.b, pose: self.pose_b, twists: [twist_b], sizes: sizes_b };
        closed_form(self.feature, &a, &b).tangent(0)
    }
}

impl ContactDerivative<Planar> for Pair<'_> {
    fn tangent(&self, motion: &ContactMotion<Planar>) -> ContactTangent<Planar> {
        self.along(motion.pose_a, Sizes::of(motion.shape_a), motion.pose_b, Sizes::of(motion.shape_b))
    }
    fn jacobian(&self) -> ContactJacobian<Planar> {
        let a: Moving<DOF> = Moving { shape: self.a, pose: self.pose_a, twists: std::array::from_fn(unit_twist), sizes: Sizes::Held };
        let b: Moving<DOF> = Moving { shape: self.b, pose: self.pose_b, twists: [Twist::zero(); DOF], sizes: Sizes::Held };
        let raw = closed_form(self.feature, &a, &b);
        let contact = raw.value().named(self.feature, Vector2::zeros());
        ContactJacobian::of_columns(&contact, [self.pose_a, self.pose_b], std::array::from_fn(|k| raw.tangent(k)))
    }
    fn sizes_adjoint(&self, bar: &ContactTangent<Planar>, out: &mut ContactAdjoint<Planar>) {
        let still = Twist::zero();
        let ((index_a, face_a), (index_b, face_b)) = self.feature.sides();
        if let Some(bars) = out.shape_a.as_deref_mut() {
            parameters::used(self.a, index_a, face_a, |k| {
                if let Some(entry) = bars.get_mut(k) {
                    *entry += self.along(still, Sizes::Unit(k), still, Sizes::Held).dot(bar);
                }
            });
        }
        if let Some(bars) = out.shape_b.as_deref_mut() {
            parameters::used(self.b, index_b, face_b, |k| {
                if let Some(entry) = bars.get_mut(k) {
                    *entry += self.along(still, Sizes::Held, still, Sizes::Unit(k)).dot(bar);
                }
            });
        }
    }
}
