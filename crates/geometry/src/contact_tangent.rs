//! First derivatives of a contact of a fixed feature: along a motion, as columns, and as an adjoint, theory (14.1)-(14.4).
//!
//! A motion moves each collider frame by a twist at its origin in world axes (`position += lin`, `rotation := exp(ang) rotation`) and
//! each shape through its parameters, in the order of [`Geometry::shape_parameters`].

use crate::contact::Geometry;
use crate::contact_jacobian::ContactJacobian;
use carom_math::{Twist, Vector, Wrench};

/// The direction in which a contact is differentiated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactMotion<'a, G: Geometry> {
    /// Twist of the frame of a at its origin, world axes \[m, rad\].
    pub pose_a: Twist<G>,
    /// Twist of the frame of b at its origin, world axes \[m, rad\].
    pub pose_b: Twist<G>,
    /// Tangents of the parameters of shape a; `None` holds the shape, missing entries are zero.
    pub shape_a: Option<&'a [f64]>,
    /// Tangents of the parameters of shape b; `None` holds the shape, missing entries are zero.
    pub shape_b: Option<&'a [f64]>,
}

impl<G: Geometry> ContactMotion<'_, G> {
    /// Two frames that move, their shapes held.
    pub fn of_poses(pose_a: Twist<G>, pose_b: Twist<G>) -> Self {
        ContactMotion { pose_a, pose_b, shape_a: None, shape_b: None }
    }
}

/// The tangents of the sizes of one shape.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sizes<'a> {
    /// No size changes.
    Held,
    /// All change; missing entries are zero.
    Along(&'a [f64]),
    /// One of them changes, at unit rate.
    Unit(usize),
}

impl<'a> Sizes<'a> {
    /// From the slice of a motion.
    pub(crate) fn of(slice: Option<&'a [f64]>) -> Self {
        slice.map_or(Sizes::Held, Sizes::Along)
    }
    /// The tangent of a size.
    #[inline(always)]
    pub(crate) fn get(&self, k: usize) -> f64 {
        match self {
            Sizes::Held => 0.0,
            Sizes::Along(slice) => slice.get(k).copied().unwrap_or(0.0),
            Sizes::Unit(one) => f64::from(u8::from(*one == k)),
        }
    }
}

/// The derivative of a contact along a motion; also the gradient of a loss with respect to a contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactTangent<G: Geometry> {
    /// Of the gap \[m\].
    pub gap: f64,
    /// Of the unit normal.
    pub normal: G::Lin,
    /// Of the witness point on a \[m\].
    pub point_a: G::Lin,
    /// Of the witness point on b \[m\].
    pub point_b: G::Lin,
    /// Whether the contact has this derivative; false where it has none (coincident centres, parallel edges, a point that a feature no
    /// longer has), and the numbers are then finite but only one of many answers. Not a part of a gradient.
    pub regular: bool,
}

impl<G: Geometry> ContactTangent<G> {
    /// Nothing moves.
    pub fn zero() -> Self {
        ContactTangent { gap: 0.0, normal: G::Lin::zero(), point_a: G::Lin::zero(), point_b: G::Lin::zero(), regular: true }
    }
    /// Componentwise a + s b; regular where both are.
    #[inline]
    pub fn plus(self, s: f64, other: &Self) -> Self {
        ContactTangent {
            gap: self.gap + other.gap * s,
            normal: self.normal + other.normal * s,
            point_a: self.point_a + other.point_a * s,
            point_b: self.point_b + other.point_b * s,
            regular: self.regular && other.regular,
        }
    }
    /// Scalar product with a gradient.
    #[inline]
    pub fn dot(&self, bar: &Self) -> f64 {
        self.gap * bar.gap + self.normal.dot(bar.normal) + self.point_a.dot(bar.point_a) + self.point_b.dot(bar.point_b)
    }
    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.gap.is_finite() && self.normal.is_finite() && self.point_a.is_finite() && self.point_b.is_finite()
    }
}

/// Direction `k` of a frame: along a world axis, or about one.
pub(crate) fn unit_twist<G: Geometry>(k: usize) -> Twist<G> {
    let mut twist = Twist::<G>::zero();
    if k < G::DIM {
        twist.lin[k] = 1.0
    } else {
        twist.ang[k - G::DIM] = 1.0
    }
    twist
}

/// The derivatives of a contact of a fixed feature of two placed shapes.
pub trait ContactDerivative<G: Geometry> {
    /// Along a motion of poses and sizes, theory (14.1); finite whatever the input.
    fn tangent(&self, motion: &ContactMotion<G>) -> ContactTangent<G>;
    /// By both poses, theory (14.2)-(14.3).
    fn jacobian(&self) -> ContactJacobian<G>;
    /// Adds to `out` the part of [`ContactDerivative::adjoint`] that belongs to the sizes, for a caller that has the columns of the poses.
    fn sizes_adjoint(&self, bar: &ContactTangent<G>, out: &mut ContactAdjoint<G>);
    /// Adds to `out` the transpose of [`ContactDerivative::tangent`] applied to a gradient `bar` by the contact, theory (14.4).
    fn adjoint(&self, bar: &ContactTangent<G>, out: &mut ContactAdjoint<G>) {
        out.add_poses(&self.jacobian(), bar);
        self.sizes_adjoint(bar, out);
    }
}

/// The gradient of a loss by everything a contact depends on; [`ContactDerivative::adjoint`] adds to what is there.
#[derive(Debug, PartialEq)]
pub struct ContactAdjoint<'a, G: Geometry> {
    /// By the frame of a: a wrench at its origin, world axes.
    pub pose_a: Wrench<G>,
    /// By the frame of b: a wrench at its origin, world axes.
    pub pose_b: Wrench<G>,
    /// By the parameters of shape a; `None` leaves them out.
    pub shape_a: Option<&'a mut [f64]>,
    /// By the parameters of shape b; `None` leaves them out.
    pub shape_b: Option<&'a mut [f64]>,
    /// Whether every derivative so far was regular.
    pub regular: bool,
}

impl<G: Geometry> ContactAdjoint<'_, G> {
    /// Of the poses alone, zero.
    pub fn of_poses() -> Self {
        ContactAdjoint { pose_a: Wrench::zero(), pose_b: Wrench::zero(), shape_a: None, shape_b: None, regular: true }
    }
    /// Adds the part of the poses.
    pub(crate) fn add_poses(&mut self, jacobian: &ContactJacobian<G>, bar: &ContactTangent<G>) {
        let (a, b) = jacobian.transpose(bar);
        self.pose_a = self.pose_a.plus(1.0, a);
        self.pose_b = self.pose_b.plus(1.0, b);
        self.regular &= jacobian.regular;
    }
}
