//! Derivatives of the contacts in space: the closed forms over numbers with derivatives, theory (14.1)-(14.4).

use super::core::{Body, Core, Facet};
use super::feature::{Feature, Raw};
use super::nearest_tangent::whole_tangent;
use super::parameters::{self, Part};
use super::placed::{Motion, Moving};
use super::round::{Side, Solid, closed_form};
use super::shape::Shape;
use super::supported;
use crate::contact_tangent::{ContactAdjoint, ContactJacobian, ContactMotion, ContactTangent, Sizes, unit_twist};
use crate::scalar::{Dual, Real, constant};
use carom_math::{Pose, Space, Spatial, Twist};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Degrees of freedom of a frame.
const DOF: usize = Spatial::DOF;

/// Both shapes of a contact at rest, measured from the frame of b.
pub(crate) struct Pair<'a> {
    feature: Feature,
    a: (&'a Shape, &'a Pose<Spatial>),
    b: (&'a Shape, &'a Pose<Spatial>),
    facets: [Option<Facet<'a>>; 2],
}

/// A moving side of a contact.
type MovingSide<'a, const N: usize> = Side<Moving<'a, N>, Dual<N>>;

impl<'a> Pair<'a> {
    /// Two placed shapes and the feature they meet with.
    pub fn new(feature: Feature, a: &'a Shape, pose_a: &'a Pose<Spatial>, b: &'a Shape, pose_b: &'a Pose<Spatial>) -> Self {
        let facet = |shape: &'a Shape| shape.surface().map(|mesh| mesh.facet(feature.part));
        Pair { feature, a: (a, pose_a), b: (b, pose_b), facets: [facet(a), facet(b)] }
    }
    /// A placed side, or `None` where it is a surface without triangles to touch.
    fn solid<'s>(&self, (shape, pose): (&'s Shape, &Pose<Spatial>), facet: &'s Option<Facet<'s>>) -> Option<Solid<'s>> {
        let origin = self.b.1.position;
        match facet {
            Some(facet) => Some(Solid::Core(Core::placed(Body::Triangle(facet), pose, origin, 0.0))),
            None => Solid::of(shape, pose, origin),
        }
    }
    /// The contact with its derivatives in `N` directions.
    fn moved<const N: usize>(&self, motion_a: Motion<N>, motion_b: Motion<N>) -> Raw<Dual<N>> {
        let solids = (self.solid(self.a, &self.facets[0]), self.solid(self.b, &self.facets[1]));
        let ((Some(a), Some(b)), true) = (solids, supported(self.a.0, self.b.0)) else {
            let none = constant(V::zeros());
            return Raw { gap: Dual::of(f64::INFINITY), normal: constant(V::z()), point_a: none, point_b: none, regular: false };
        };
        let (x, y) = (moving(&a, motion_a), moving(&b, motion_b));
        closed_form(self.feature.kind, &x, &y).unwrap_or_else(|| whole_tangent(&a, &b, &x, &y))
    }
    /// The derivative in one direction.
    fn along(&self, twist_a: Twist<Spatial>, sizes_a: Sizes, twist_b: Twist<Spatial>, sizes_b: Sizes) -> ContactTangent<Spatial> {
        let a = Motion { shape: self.a.0, twists: [twist_a], sizes: sizes_a };
        let b = Motion { shape: self.b.0, twists: [twist_b], sizes: sizes_b };
        self.moved(a, b).tangent(0)
    }
    /// The derivative along a motion.
    pub fn tangent(&self, motion: &ContactMotion<Spatial>) -> ContactTangent<Spatial> {
        self.along(motion.pose_a, Sizes::of(motion.shape_a), motion.pose_b, Sizes::of(motion.shape_b))
    }
    /// The derivative by both poses.
    pub fn jacobian(&self) -> ContactJacobian<Spatial> {
        let a: Motion<DOF> = Motion { shape: self.a.0, twists: std::array::from_fn(unit_twist), sizes: Sizes::Held };
        let b: Motion<DOF> = Motion { shape: self.b.0, twists: [Twist::zero(); DOF], sizes: Sizes::Held };
        let raw = self.moved(a, b);
        let contact = raw.value().named(self.feature, self.b.1.position);
        ContactJacobian::relative(&contact, self.a.1, self.b.1, std::array::from_fn(|k| raw.tangent(k)))
    }
    /// Adds the transpose applied to a gradient.
    pub fn adjoint(&self, bar: &ContactTangent<Spatial>, out: &mut ContactAdjoint<Spatial>) {
        out.add_poses(&self.jacobian(), bar);
        self.sizes_adjoint(bar, out);
    }
    /// The part of the sizes alone.
    pub fn sizes_adjoint(&self, bar: &ContactTangent<Spatial>, out: &mut ContactAdjoint<Spatial>) {
        let still = Twist::zero();
        let (part_a, part_b) = self.parts();
        if let Some(bars) = out.shape_a.as_deref_mut() {
            parameters::used(self.a.0, part_a, |k| {
                if let Some(entry) = bars.get_mut(k) {
                    *entry += self.along(still, Sizes::Unit(k), still, Sizes::Held).dot(bar);
                }
            });
        }
        if let Some(bars) = out.shape_b.as_deref_mut() {
            parameters::used(self.b.0, part_b, |k| {
                if let Some(entry) = bars.get_mut(k) {
                    *entry += self.along(still, Sizes::Held, still, Sizes::Unit(k)).dot(bar);
                }
            });
        }
    }
    /// The contact whose derivatives are taken, and whether it has a closed form: that of `evaluate`, its nearest points freed of the
    /// errors of their iteration where it has none.
    #[cfg(test)]
    pub fn exact(&self) -> (crate::contact::Contact<Spatial>, bool) {
        let still = |shape| Motion::<0> { shape, twists: [], sizes: Sizes::Held };
        let raw = self.moved(still(self.a.0), still(self.b.0)).value();
        (raw.named(self.feature, self.b.1.position), !matches!(self.parts(), (Part::Whole, Part::Whole)))
    }
    /// The features whose sizes matter: all of the shape where the contact has no closed form here.
    fn parts(&self) -> (Part, Part) {
        let solids = (self.solid(self.a, &self.facets[0]), self.solid(self.b, &self.facets[1]));
        match solids {
            (Some(a), Some(b)) if closed_form(self.feature.kind, &a, &b).is_some() => self.feature.kind.parts(),
            _ => (Part::Whole, Part::Whole),
        }
    }
}

/// A side at rest with its motion.
fn moving<'s, const N: usize>(solid: &'s Solid<'s>, motion: Motion<'s, N>) -> MovingSide<'s, N> {
    match solid {
        Side::Core(core) => Side::Core(Moving { core, motion }),
        Side::Round(round) => Side::Round(motion.of_round(round)),
    }
}
