//! Shapes of the plane.
//!
//! Every bounded convex shape is a core (point, segment, polygon) and a radius, so that one routine finds the features of any two
//! of them (`manifold.rs`) and one formula per kind of feature makes the contact (`feature.rs`): `contacts` is the choice of features,
//! then the same closed forms as `evaluate`.

mod derivative;
mod feature;
mod half_space;
mod heightfield;
mod hull;
mod manifold;
mod outline;
mod parameters;
mod placed;
mod ray;
mod shape;
mod solid;
#[cfg(test)]
mod tests;

pub use feature::{End, Feature};
pub use heightfield::Heightfield;
pub use hull::Polygon;
pub use shape::Shape;

use crate::bounds::Aabb;
use crate::contact::{Contact, Geometry};
use crate::contact_tangent::{ContactDerivative, ContactTangent};
use crate::mass::MassProperties;
use crate::outline::Outline;
use crate::ray::{Ray, RayHit};
use crate::shape_error::ShapeError;
use carom_math::{Planar, Space};
use derivative::Pair;
use feature::flipped;
use manifold::{Manifold, Relative};
use nalgebra::Vector2;
use shape::{Pose, Store};

/// The direction in which bodies are put in order: up, leaning so that bodies side by side are ordered as well. The lower body
/// lends the reference face when two tie, whichever is called a.
const ORDER: Vector2<f64> = Vector2::new(0.125, 1.0);

/// Whether a goes first, for reasons that do not depend on which of the two is called a.
#[inline(always)]
fn goes_first(pose_a: &Pose, pose_b: &Pose) -> bool {
    let rise = ORDER.dot(&(pose_b.position - pose_a.position));
    rise > 0.0 || (rise == 0.0 && pose_a.rotation.angle <= pose_b.rotation.angle)
}

/// Appends the contacts of chosen features; the second only stands beside the first.
#[inline(always)]
fn append(found: Manifold, reach: f64, out: &mut Vec<Contact<Planar>>, evaluate: impl Fn(Feature) -> Contact<Planar>) {
    let first = evaluate(found.first);
    if first.gap > reach {
        return;
    }
    out.push(first);
    if let Some(second) = found.second.map(evaluate)
        && second.gap <= reach
    {
        out.push(second);
    }
}

impl Geometry for Planar {
    type Shape = Shape;
    type Feature = Feature;
    type Columns = [ContactTangent<Self>; 3];

    fn mass_properties(shape: &Shape) -> Option<MassProperties<Self>> {
        solid::mass_properties(shape)
    }
    fn bounds(shape: &Shape, pose: &Pose) -> Aabb<Self> {
        solid::bounds(shape, pose)
    }
    fn extent(shape: &Shape) -> f64 {
        solid::extent(shape)
    }
    fn reach(shape: &Shape, about: Vector2<f64>) -> f64 {
        solid::reach(shape, about)
    }

    /// Unbounded shapes (half-space, heightfield) make no contacts with each other.
    fn contacts(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose, reach: f64, out: &mut Vec<Contact<Self>>) {
        if let (Shape::Ball { .. }, Shape::Ball { .. }) = (a, b) {
            let contact = feature::evaluate(Feature::PointPoint { a: 0, b: 0 }, a, pose_a, b, pose_b);
            if contact.gap <= reach {
                out.push(contact);
            }
            return;
        }
        let (mut store_a, mut store_b) = (Store::default(), Store::default());
        match (a.rounded(&mut store_a), b.rounded(&mut store_b)) {
            (Some(core_a), Some(core_b)) => {
                let found = if goes_first(pose_a, pose_b) {
                    manifold::manifold(&core_a, pose_a, &core_b, pose_b, reach)
                } else {
                    manifold::manifold(&core_b, pose_b, &core_a, pose_a, reach)
                        .map(|m| Manifold { first: m.first.swapped(), second: m.second.map(Feature::swapped) })
                };
                if let Some(found) = found {
                    append(found, reach, out, |feature| feature::evaluate(feature, a, pose_a, b, pose_b));
                }
            }
            (Some(core), None) => on_ground(&core, pose_a, b, pose_b, reach, |feature| {
                let contact = feature::evaluate(feature, a, pose_a, b, pose_b);
                if contact.gap <= reach {
                    out.push(contact);
                }
            }),
            (None, Some(core)) => on_ground(&core, pose_b, a, pose_a, reach, |feature| {
                let contact = flipped(feature::evaluate(feature, b, pose_b, a, pose_a));
                if contact.gap <= reach {
                    out.push(contact);
                }
            }),
            (None, None) => {}
        }
    }

    fn evaluate(feature: Feature, a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose) -> Contact<Self> {
        feature::evaluate(feature, a, pose_a, b, pose_b)
    }

    /// Unbounded shapes never meet each other: infinite. A body beside or below the end of a heightfield is infinitely far from it.
    fn separation(a: &Shape, pose_a: &Pose, b: &Shape, pose_b: &Pose, cutoff: f64) -> f64 {
        if let (Shape::Ball { radius: ra }, Shape::Ball { radius: rb }) = (a, b) {
            return (pose_a.position - pose_b.position).norm() - (ra + rb);
        }
        let (mut store_a, mut store_b) = (Store::default(), Store::default());
        match (a.rounded(&mut store_a), b.rounded(&mut store_b)) {
            (Some(core_a), Some(core_b)) => manifold::separation(&core_a, pose_a, &core_b, pose_b, cutoff),
            (Some(core), None) => above_ground(a, &core, pose_a, b, pose_b, cutoff),
            (None, Some(core)) => above_ground(b, &core, pose_b, a, pose_a, cutoff),
            (None, None) => f64::INFINITY,
        }
    }

    fn ray(shape: &Shape, pose: &Pose, origin: Vector2<f64>, direction: Vector2<f64>) -> Option<RayHit<Vector2<f64>>> {
        let local = Ray { origin: pose.local_point(origin), direction: Self::unrotate(pose.rotation, direction) };
        let hit = ray::cast(shape, &local)?;
        Some(RayHit { normal: pose.direction(hit.normal), ..hit })
    }

    fn shape_key(shape: &Shape) -> &'static str {
        parameters::key(shape)
    }
    fn shape_parameters(shape: &Shape) -> Vec<f64> {
        parameters::parameters(shape)
    }
    fn with_shape_parameters(shape: &Shape, parameters: &[f64]) -> Result<Shape, ShapeError> {
        parameters::with_parameters(shape, parameters)
    }
    fn outline(shape: &Shape) -> Outline<Self> {
        outline::outline(shape)
    }
    fn derivative<'a>(
        feature: Feature,
        a: &'a Shape,
        pose_a: &'a Pose,
        b: &'a Shape,
        pose_b: &'a Pose,
    ) -> impl ContactDerivative<Self> + 'a {
        Pair { feature, a, pose_a, b, pose_b }
    }
}

/// Features of a bounded shape (as a) on an unbounded one (as b).
#[inline(always)]
fn on_ground(core: &shape::Rounded, pose: &Pose, ground: &Shape, pose_ground: &Pose, window: f64, mut visit: impl FnMut(Feature)) {
    let relative = Relative::of(pose_ground, pose);
    match ground {
        Shape::HalfSpace { normal } => {
            let Manifold { first, second } = half_space::manifold(core, &relative, *normal);
            visit(first);
            if let Some(second) = second {
                visit(second);
            }
        }
        Shape::Heightfield(field) => field.features(core, &relative, window, visit),
        _ => {}
    }
}

/// Signed distance of a bounded shape from an unbounded one.
#[inline(always)]
fn above_ground(shape: &Shape, core: &shape::Rounded, pose: &Pose, ground: &Shape, pose_ground: &Pose, cutoff: f64) -> f64 {
    let relative = Relative::of(pose_ground, pose);
    match ground {
        Shape::HalfSpace { normal } => half_space::separation(core, &relative, *normal),
        Shape::Heightfield(field) => {
            let mut least = cutoff.max(0.0);
            field.features(core, &relative, cutoff, |feature| {
                least = least.min(feature::evaluate(feature, shape, pose, ground, pose_ground).gap);
            });
            least
        }
        _ => f64::INFINITY,
    }
}
