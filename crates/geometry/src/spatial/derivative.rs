//! Derivatives of the contacts in space: the closed forms over numbers with derivatives, theory (14.1)-(14.4).

use super::core::{Body, Core, Facet};
use super::feature::{Feature, Kind, Raw};
use super::flat::Flat;
use super::nearest::whole;
use super::nearest_tangent::whole_tangent;
use super::parameters::{self, Part};
use super::placed::{Motion, Moving};
use super::round::{Side, Solid, closed_form};
use super::shape::Shape;
use super::supported;
use crate::contact_jacobian::ContactJacobian;
use crate::contact_tangent::{ContactAdjoint, ContactDerivative, ContactMotion, ContactTangent, Sizes, unit_twist};
use crate::scalar::Dual;
use carom_math::{Pose, Space, Spatial, Twist};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Degrees of freedom of a frame.
const DOF: usize = Spatial::DOF;
/// The derivative of what makes no contact.
const NONE: ContactTangent<Spatial> = ContactTangent { gap: 0.0, normal: ZERO, point_a: ZERO, point_b: ZERO, regular: false };
const ZERO: V = V::new(0.0, 0.0, 0.0);

/// Two shapes and the feature they meet with.
pub(crate) struct Pair<'a> {
    feature: Feature,
    a: (&'a Shape, &'a Pose<Spatial>),
    b: (&'a Shape, &'a Pose<Spatial>),
    facets: [Option<Facet<'a>>; 2],
}

/// Both shapes placed, measured from the frame of b.
struct Placed<'s> {
    kind: Kind,
    shapes: (&'s Shape, &'s Shape),
    a: Solid<'s>,
    b: Solid<'s>,
    /// The nearest points where the feature has no closed form here.
    nearest: Option<Raw>,
}

impl<'a> Pair<'a> {
    /// Two placed shapes and the feature they meet with.
    pub fn new(feature: Feature, a: &'a Shape, pose_a: &'a Pose<Spatial>, b: &'a Shape, pose_b: &'a Pose<Spatial>) -> Self {
        let facet = |shape: &'a Shape| shape.surface().map(|mesh| mesh.facet(feature.part));
        Pair { feature, a: (a, pose_a), b: (b, pose_b), facets: [facet(a), facet(b)] }
    }
    /// Both sides placed; `None` for shapes that make no contacts with each other.
    fn placed(&self) -> Option<Placed<'_>> {
        let origin = self.b.1.position;
        if !supported(self.a.0, self.b.0) {
            return None;
        }
        let (a, b) = (place(self.a, &self.facets[0], origin)?, place(self.b, &self.facets[1], origin)?);
        let kind = self.feature.kind;
        let closed = matches!((&a, &b), (Side::Core(_), Side::Core(_))) || closed_form(kind, &a, &b).is_some();
        let nearest = if closed { None } else { Some(whole(&a, &b, None, f64::INFINITY).raw) };
        Some(Placed { kind, shapes: (self.a.0, self.b.0), a, b, nearest })
    }
    /// The contact whose derivatives are taken, and whether it has a closed form: that of `evaluate`, its nearest points freed of the
    /// errors of their iteration where it has none.
    #[cfg(test)]
    pub fn exact(&self) -> Option<(crate::contact::Contact<Spatial>, bool)> {
        let placed = self.placed()?;
        let raw = placed.moved::<0>(Sizes::Held, [], Sizes::Held, []).value();
        Some((raw.named(self.feature, self.b.1.position), placed.nearest.is_none()))
    }
}

impl ContactDerivative<Spatial> for Pair<'_> {
    fn tangent(&self, motion: &ContactMotion<Spatial>) -> ContactTangent<Spatial> {
        let sizes = (Sizes::of(motion.shape_a), Sizes::of(motion.shape_b));
        self.placed().map_or(NONE, |placed| placed.along(motion.pose_a, sizes.0, motion.pose_b, sizes.1))
    }
    fn jacobian(&self) -> ContactJacobian<Spatial> {
        let origin = self.b.1.position;
        let poses = [self.a.1, self.b.1];
        let Some(placed) = self.placed() else {
            let nowhere = Raw { gap: 0.0, normal: ZERO, point_a: ZERO, point_b: ZERO, regular: false };
            return ContactJacobian::of_columns(&nowhere.named(self.feature, origin), poses, [NONE; DOF]);
        };
        if let Some(flat) = placed.flat() {
            let contact = flat.contact().named(self.feature, origin);
            return ContactJacobian::relative(&contact, poses, flat.side, flat.moved(), true);
        }
        let raw = placed.moved(Sizes::Held, std::array::from_fn(unit_twist), Sizes::Held, [Twist::zero(); DOF]);
        ContactJacobian::of_columns(&raw.value().named(self.feature, origin), poses, std::array::from_fn(|k| raw.tangent(k)))
    }
    fn sizes_adjoint(&self, bar: &ContactTangent<Spatial>, out: &mut ContactAdjoint<Spatial>) {
        let Some(placed) = self.placed() else {
            out.regular = false;
            return;
        };
        if let Some(flat) = placed.flat() {
            let (shapes, bars) = ([self.a.0, self.b.0], [out.shape_a.as_deref_mut(), out.shape_b.as_deref_mut()]);
            let (shapes, bars) = if flat.side == 0 { (shapes, bars) } else { (reversed(shapes), reversed(bars)) };
            flat.sizes_adjoint(bar, shapes, bars);
            return;
        }
        let still = Twist::zero();
        // Nearest points wander over the whole shape.
        let (part_a, part_b) = if placed.nearest.is_some() { (Part::Whole, Part::Whole) } else { self.feature.kind.parts() };
        if let Some(bars) = out.shape_a.as_deref_mut() {
            parameters::used(self.a.0, part_a, |k| {
                if let Some(entry) = bars.get_mut(k) {
                    *entry += placed.along(still, Sizes::Unit(k), still, Sizes::Held).dot(bar);
                }
            });
        }
        if let Some(bars) = out.shape_b.as_deref_mut() {
            parameters::used(self.b.0, part_b, |k| {
                if let Some(entry) = bars.get_mut(k) {
                    *entry += placed.along(still, Sizes::Held, still, Sizes::Unit(k)).dot(bar);
                }
            });
        }
    }
}

fn reversed<T>([a, b]: [T; 2]) -> [T; 2] {
    [b, a]
}

impl Placed<'_> {
    /// The contact of two cores as one over a face, where it is one.
    fn flat(&self) -> Option<Flat<'_>> {
        match (&self.a, &self.b) {
            (Side::Core(a), Side::Core(b)) => Flat::of(self.kind, a, b),
            _ => None,
        }
    }
    /// The contact with its derivatives in `N` directions of the frames; the sizes change along the first.
    fn moved<const N: usize>(
        &self,
        sizes_a: Sizes,
        twists_a: [Twist<Spatial>; N],
        sizes_b: Sizes,
        twists_b: [Twist<Spatial>; N],
    ) -> Raw<Dual<N>> {
        let x = moving(&self.a, Motion { shape: self.shapes.0, twists: twists_a, sizes: sizes_a });
        let y = moving(&self.b, Motion { shape: self.shapes.1, twists: twists_b, sizes: sizes_b });
        let iterated = |found: &Raw| whole_tangent(found, (&self.a, &x), (&self.b, &y));
        match &self.nearest {
            Some(found) => iterated(found),
            None => closed_form(self.kind, &x, &y).unwrap_or_else(|| iterated(&whole(&self.a, &self.b, None, f64::INFINITY).raw)),
        }
    }
    /// The derivative in one direction.
    fn along(&self, twist_a: Twist<Spatial>, sizes_a: Sizes, twist_b: Twist<Spatial>, sizes_b: Sizes) -> ContactTangent<Spatial> {
        self.moved(sizes_a, [twist_a], sizes_b, [twist_b]).tangent(0)
    }
}

/// One side placed: a triangle of a surface, or the solid.
fn place<'s>((shape, pose): (&'s Shape, &Pose<Spatial>), facet: &'s Option<Facet<'s>>, origin: V) -> Option<Solid<'s>> {
    match facet {
        Some(facet) => Some(Solid::Core(Core::placed(Body::Triangle(facet), pose, origin, 0.0))),
        None => Solid::of(shape, pose, origin),
    }
}

/// A side at rest with its motion.
fn moving<'s, const N: usize>(solid: &'s Solid<'s>, motion: Motion<'s, N>) -> Side<Moving<'s, N>, Dual<N>> {
    match solid {
        Side::Core(core) => Side::Core(Moving { core, motion }),
        Side::Round(round) => Side::Round(motion.of_round(round)),
    }
}
