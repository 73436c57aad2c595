//! Shapes in space: ball, box, capsule, convex hull, half-space, segment, cylinder, cone, mesh and heightfield, theory chapter 8.
//!
//! Every bounded shape but cylinder and cone is a core (point, segment, polyhedron) with a radius about it. While cores are apart the
//! nearest features give the contact, while they meet the best separating axis does; a feature, once named, is a closed form of the
//! poses. Half-spaces, meshes and heightfields are static: among themselves they have no contacts, which [`supported`] tells.
//!
//! Accuracy of the gap, apart or touching, as part of the size of the smaller shape: 1e-10 for all pairs of cores, of cores with
//! half-spaces and surfaces, and wherever a closed form serves a cylinder or cone. Where a rim meets an edge, a side or another rim an
//! iteration names the features and these prove the gap to 1e-12; bare corners that touch are not proven and good to 1e-8. In overlap the
//! depth is that of the best axis; for cylinders and cones that are deep in something another axis than the best may be found.
//!
//! Accuracy of the normal: rounding where a face, crossed edges or a radius give it. Bare corners (vertex at vertex, at edge or at rim,
//! without a radius) lose it as the gap closes and have none of their own at touch, where the best axis is taken instead: below gaps of
//! about 1e-9 of the size it may differ from the direction of approach by a large angle. Iterated normals are good to about 1e-5 at a
//! gap of 1e-3; at 1e-6 most are, some are off by 1e-2.
//!
//! ```
//! use carom_geometry::spatial::Shape;
//! use carom_geometry::Geometry;
//! use carom_math::{Pose, Spatial};
//! use nalgebra::Vector3;
//!
//! let cube = Shape::cuboid(Vector3::repeat(0.5))?;
//! let ground = Shape::half_space(Vector3::z())?;
//! let pose = Pose { position: Vector3::new(0.0, 0.0, 0.5), ..Pose::identity() };
//! let mut contacts = Vec::new();
//! Spatial::contacts(&cube, &pose, &ground, &Pose::identity(), 1e-3, &mut contacts);
//! assert_eq!(contacts.len(), 4);
//! # Ok::<(), carom_geometry::shape_error::ShapeError>(())
//! ```

mod axes;
mod core;
pub(crate) mod derivative;
mod feature;
mod flat;
mod gjk;
mod half_space;
mod hull;
mod manifold;
mod mass;
mod mesh;
mod nearest;
mod nearest_tangent;
mod outline;
mod parameters;
mod patch;
mod placed;
mod polyhedra;
mod ray;
mod round;
mod round_manifold;
#[cfg(test)]
mod round_tests;
mod shape;
mod sharpen;
#[cfg(test)]
mod speed_tests;
#[cfg(test)]
mod tests;
mod tree;

pub use feature::{Curve, Feature, Kind};
pub use hull::Hull;
pub use mesh::{Heightfield, Mesh};
pub use shape::Shape;

use self::core::{Body, Core};
use self::derivative::Pair;
use self::feature::Raw;
use self::round::{Round, Solid};
use crate::bounds::Aabb;
use crate::contact::{Contact, Geometry};
use crate::contact_tangent::{ContactDerivative, ContactTangent};
use crate::mass::MassProperties;
use crate::outline::Outline;
use crate::ray::{Ray, RayHit};
use crate::shape_error::ShapeError;
use carom_math::{Pose, Space, Spatial};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Whether contacts of a pair of shapes are computed. Surfaces and half-spaces are static: among themselves they have none.
pub fn supported(a: &Shape, b: &Shape) -> bool {
    let fixed = |s: &Shape| matches!(s, Shape::HalfSpace { .. } | Shape::Mesh(_) | Shape::Heightfield(_));
    !(fixed(a) && fixed(b))
}

/// Two placed shapes as the queries see them.
enum Query<'a> {
    /// Two bounded cores.
    Cores(Core<'a>, Core<'a>),
    /// A bounded core and a half-space; the flag tells that the core is a.
    HalfSpace(Core<'a>, Core<'a>, bool),
    /// A bounded core and a surface with its pose; the flag tells that the core is a.
    Surface(Core<'a>, &'a Mesh, &'a Pose<Spatial>, bool),
    /// Two solids at least one of which is a cylinder or cone.
    Round(Solid<'a>, Solid<'a>),
    /// A cylinder or cone and a surface with its pose; the flag tells that the solid is a.
    RoundSurface(Round, &'a Mesh, &'a Pose<Spatial>, bool),
    /// Nothing is computed.
    Nothing,
}

/// Sorts a pair; coordinates are measured from the position of b.
#[inline]
fn query<'a>(a: &'a Shape, pose_a: &'a Pose<Spatial>, b: &'a Shape, pose_b: &'a Pose<Spatial>) -> Query<'a> {
    let origin = pose_b.position;
    match (Core::of(a, pose_a, origin), Core::of(b, pose_b, origin)) {
        (Some(x), Some(y)) => match (&x.body, &y.body) {
            (Body::Plane(_), Body::Plane(_)) => Query::Nothing,
            (Body::Plane(_), _) => Query::HalfSpace(y, x, false),
            (_, Body::Plane(_)) => Query::HalfSpace(x, y, true),
            _ => Query::Cores(x, y),
        },
        (Some(x), None) if b.surface().is_some() && !matches!(x.body, Body::Plane(_)) => {
            b.surface().map_or(Query::Nothing, |m| Query::Surface(x, m, pose_b, true))
        }
        (None, Some(y)) if a.surface().is_some() && !matches!(y.body, Body::Plane(_)) => {
            a.surface().map_or(Query::Nothing, |m| Query::Surface(y, m, pose_a, false))
        }
        _ => round_query(a, pose_a, b, pose_b),
    }
}

/// Sorts a pair in which a cylinder or cone may take part.
fn round_query<'a>(a: &'a Shape, pose_a: &'a Pose<Spatial>, b: &'a Shape, pose_b: &'a Pose<Spatial>) -> Query<'a> {
    let origin = pose_b.position;
    match (Solid::of(a, pose_a, origin), Solid::of(b, pose_b, origin)) {
        (Some(x), Some(y)) => Query::Round(x, y),
        (Some(Solid::Round(x)), None) => b.surface().map_or(Query::Nothing, |m| Query::RoundSurface(x, m, pose_b, true)),
        (None, Some(Solid::Round(y))) => a.surface().map_or(Query::Nothing, |m| Query::RoundSurface(y, m, pose_a, false)),
        _ => Query::Nothing,
    }
}

/// Exchanges the shapes of every contact from `start` on.
fn exchange(out: &mut [Contact<Spatial>]) {
    for c in out {
        std::mem::swap(&mut c.point_a, &mut c.point_b);
        c.normal = -c.normal;
        c.feature.kind = c.feature.kind.swapped();
    }
}

impl Geometry for Spatial {
    type Shape = Shape;
    type Feature = Feature;
    type Columns = [ContactTangent<Self>; 6];

    fn mass_properties(shape: &Shape) -> Option<MassProperties<Spatial>> {
        mass::mass_properties(shape)
    }
    fn bounds(shape: &Shape, pose: &Pose<Spatial>) -> Aabb<Spatial> {
        shape.bounds(pose)
    }
    fn extent(shape: &Shape) -> f64 {
        shape.extent()
    }
    fn reach(shape: &Shape, about: V) -> f64 {
        shape.reach(about)
    }
    fn contacts(a: &Shape, pose_a: &Pose<Spatial>, b: &Shape, pose_b: &Pose<Spatial>, reach: f64, out: &mut Vec<Contact<Spatial>>) {
        let origin = pose_b.position;
        if let (Shape::Ball { radius: ra }, Shape::Ball { radius: rb }) = (a, b) {
            let raw = feature::point_point(pose_a.position - origin, V::zeros(), *ra, *rb);
            if raw.gap <= reach {
                out.push(raw.named(Feature { part: 0, kind: Kind::PointPoint { a: 0, b: 0 } }, origin));
            }
            return;
        }
        let start = out.len();
        match query(a, pose_a, b, pose_b) {
            Query::Cores(x, y) => {
                let pair =
                    manifold::Pair { a: &x, b: &y, origin, size: polyhedra::size(&x, &y), reach, floor: f64::NEG_INFINITY, part: 0, start };
                polyhedra::contacts(&pair, out);
                manifold::reduce(out, start);
            }
            Query::HalfSpace(core, plane, core_is_a) => half_space::contacts(&core, &plane, core_is_a, origin, reach, out),
            Query::Surface(core, surface, pose, core_is_a) => {
                mesh::contacts(&core, surface, pose, origin, reach, out);
                if !core_is_a {
                    exchange(&mut out[start..]);
                }
            }
            Query::Round(x, y) => round_manifold::contacts(&x, &y, origin, reach, out),
            Query::RoundSurface(solid, surface, pose, solid_is_a) => {
                round_manifold::contacts_on_surface(&solid, surface, pose, origin, reach, out);
                if !solid_is_a {
                    exchange(&mut out[start..]);
                }
            }
            Query::Nothing => {}
        }
    }
    fn evaluate(feature: Feature, a: &Shape, pose_a: &Pose<Spatial>, b: &Shape, pose_b: &Pose<Spatial>) -> Contact<Spatial> {
        let origin = pose_b.position;
        if let (Shape::Ball { radius: ra }, Shape::Ball { radius: rb }) = (a, b) {
            return feature::point_point(pose_a.position - origin, V::zeros(), *ra, *rb).named(feature, origin);
        }
        let raw = match query(a, pose_a, b, pose_b) {
            Query::Cores(x, y) => feature::evaluate(feature.kind, &x, &y),
            Query::HalfSpace(core, plane, true) => feature::evaluate(feature.kind, &core, &plane),
            Query::HalfSpace(core, plane, false) => feature::evaluate(feature.kind, &plane, &core),
            Query::Surface(core, surface, pose, core_is_a) => {
                let facet = surface.facet(feature.part);
                let triangle = Core::placed(Body::Triangle(&facet), pose, origin, 0.0);
                if core_is_a {
                    feature::evaluate(feature.kind, &core, &triangle)
                } else {
                    feature::evaluate(feature.kind, &triangle, &core)
                }
            }
            Query::Round(x, y) => round::evaluate(feature.kind, &x, &y),
            Query::RoundSurface(solid, surface, pose, solid_is_a) => {
                let facet = surface.facet(feature.part);
                let core = Core::placed(Body::Triangle(&facet), pose, origin, 0.0);
                let (solid, triangle) = (Solid::Round(solid), Solid::Core(core));
                if solid_is_a { round::evaluate(feature.kind, &solid, &triangle) } else { round::evaluate(feature.kind, &triangle, &solid) }
            }
            Query::Nothing => {
                Raw { gap: f64::INFINITY, normal: V::z(), point_a: pose_a.position - origin, point_b: V::zeros(), regular: false }
            }
        };
        raw.named(feature, origin)
    }
    fn separation(a: &Shape, pose_a: &Pose<Spatial>, b: &Shape, pose_b: &Pose<Spatial>, cutoff: f64) -> f64 {
        let origin = pose_b.position;
        if let (Shape::Ball { radius: ra }, Shape::Ball { radius: rb }) = (a, b) {
            return (pose_a.position - origin).norm() - ra - rb;
        }
        match query(a, pose_a, b, pose_b) {
            Query::Cores(x, y) => polyhedra::separation(&x, &y, cutoff),
            Query::HalfSpace(core, plane, _) => half_space::separation(&core, &plane),
            Query::Surface(core, surface, pose, _) => mesh::separation(&core, surface, pose, origin, cutoff),
            Query::Round(x, y) => round_manifold::separation(&x, &y, cutoff),
            Query::RoundSurface(solid, surface, pose, _) => round_manifold::separation_from_surface(&solid, surface, pose, origin, cutoff),
            Query::Nothing => f64::INFINITY,
        }
    }

    fn ray(shape: &Shape, pose: &Pose<Spatial>, origin: Vector3<f64>, direction: Vector3<f64>) -> Option<RayHit<Vector3<f64>>> {
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
        pose_a: &'a Pose<Spatial>,
        b: &'a Shape,
        pose_b: &'a Pose<Spatial>,
    ) -> impl ContactDerivative<Self> + 'a {
        Pair::new(feature, a, pose_a, b, pose_b)
    }
}
