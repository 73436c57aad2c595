//! A contact before it is named, in numbers or in numbers with derivatives.

use crate::contact::{Contact, Geometry};
use crate::contact_tangent::ContactTangent;
use crate::scalar::{Dual, Real, slope};
use nalgebra::SVector;

/// Gap, normal and witness points; `D` coordinates of type `T`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<T: Real, const D: usize> {
    pub gap: T,
    pub normal: SVector<T, D>,
    pub point_a: SVector<T, D>,
    pub point_b: SVector<T, D>,
    /// Whether the contact is a smooth function here.
    pub regular: bool,
}

impl<T: Real, const D: usize> Raw<T, D> {
    /// The contact with the shapes exchanged.
    #[inline(always)]
    pub fn swapped(self) -> Self {
        Raw { normal: -self.normal, point_a: self.point_b, point_b: self.point_a, ..self }
    }
}

impl<const D: usize> Raw<f64, D> {
    /// Named, and carried back to the world's origin.
    #[inline(always)]
    pub fn named<G: Geometry<Lin = SVector<f64, D>>>(self, feature: G::Feature, origin: SVector<f64, D>) -> Contact<G> {
        Contact { feature, gap: self.gap, normal: self.normal, point_a: self.point_a + origin, point_b: self.point_b + origin }
    }
}

impl<const D: usize, const N: usize> Raw<Dual<N>, D> {
    /// The contact without its derivatives.
    pub fn value(&self) -> Raw<f64, D> {
        let number = |v: &SVector<Dual<N>, D>| v.map(Real::value);
        Raw {
            gap: self.gap.value,
            normal: number(&self.normal),
            point_a: number(&self.point_a),
            point_b: number(&self.point_b),
            regular: self.regular,
        }
    }
    /// The derivative in one direction; what is not finite is none and becomes zero.
    pub fn tangent<G: Geometry<Lin = SVector<f64, D>>>(&self, direction: usize) -> ContactTangent<G> {
        let tangent = ContactTangent {
            gap: self.gap.slope[direction],
            normal: slope(&self.normal, direction),
            point_a: slope(&self.point_a, direction),
            point_b: slope(&self.point_b, direction),
            regular: self.regular,
        };
        if tangent.is_finite() { tangent } else { ContactTangent { regular: false, ..ContactTangent::zero() } }
    }
}
