//! The contract between shapes and dynamics: what a contact is and what every space must answer, theory (7.1)-(7.3).

use crate::bounds::Aabb;
use crate::contact_tangent::{ContactDerivative, ContactTangent};
use crate::mass::MassProperties;
use crate::outline::Outline;
use crate::ray::RayHit;
use crate::shape_error::ShapeError;
use carom_math::{Pose, Space};
use std::fmt::Debug;

/// One point where two shapes meet or nearly meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact<G: Geometry> {
    /// The pair of features that made it; equal features on both steps name the same contact.
    pub feature: G::Feature,
    /// Distance along the normal \[m\], negative when the shapes overlap: `normal . (point_a - point_b)`.
    pub gap: f64,
    /// Unit normal in world axes, from b to a.
    pub normal: G::Lin,
    /// Witness point on a in the world \[m\].
    pub point_a: G::Lin,
    /// Witness point on b in the world \[m\].
    pub point_b: G::Lin,
}

/// A space that knows shapes.
pub trait Geometry: Space {
    /// A solid in its own frame; the frame's origin need not be the centroid.
    type Shape: Clone + Debug + PartialEq + Send + Sync + 'static;
    /// Names a pair of features; small, ordered, comparable.
    type Feature: Copy + Debug + PartialEq + Eq + PartialOrd + Ord + Send + Sync + 'static;
    /// One derivative of a contact for each degree of freedom of a frame: an array of `DOF` tangents.
    type Columns: Copy + Debug + PartialEq + Send + Sync + AsRef<[ContactTangent<Self>]> + AsMut<[ContactTangent<Self>]> + 'static;

    /// Mass, centroid and inertia about the centroid at unit density; `None` for shapes without volume (half-space, segment, mesh).
    fn mass_properties(shape: &Self::Shape) -> Option<MassProperties<Self>>;
    /// Axis-aligned box in the world; half-spaces reach to infinity.
    fn bounds(shape: &Self::Shape, pose: &Pose<Self>) -> Aabb<Self>;
    /// Largest extent \[m\]: diameter of a ball, longest side of a box; infinite for a half-space.
    fn extent(shape: &Self::Shape) -> f64;
    /// Largest distance \[m\] of a point of the shape from a point `about` in the shape's frame; infinite for a half-space.
    fn reach(shape: &Self::Shape, about: Self::Lin) -> f64;
    /// Appends every contact of the pair with `gap <= reach`: the full manifold (2 points for a box on ground in the plane, 4 in
    /// space, no duplicates), deterministic, accurate to 1e-10 of the size whether apart, touching or slightly overlapping.
    fn contacts(a: &Self::Shape, pose_a: &Pose<Self>, b: &Self::Shape, pose_b: &Pose<Self>, reach: f64, out: &mut Vec<Contact<Self>>)
    where
        Self: Sized;
    /// The same contact (same features) at other poses, in closed form and smooth in the poses; used to hold a contact over a move.
    fn evaluate(feature: Self::Feature, a: &Self::Shape, pose_a: &Pose<Self>, b: &Self::Shape, pose_b: &Pose<Self>) -> Contact<Self>
    where
        Self: Sized;
    /// Signed distance \[m\] of the pair: exact when apart (so that it bounds the motion needed to touch), minus the depth when overlapping. Finite
    /// `cutoff` lets far pairs return early with any lower bound that is >= cutoff.
    fn separation(a: &Self::Shape, pose_a: &Pose<Self>, b: &Self::Shape, pose_b: &Pose<Self>, cutoff: f64) -> f64;

    /// Where a ray first meets the shape, both in the world; the distance is in lengths of the direction. A ray that starts within a solid meets it at once;
    /// surfaces without volume are met from either side, and a line of no thickness in space by nobody.
    fn ray(shape: &Self::Shape, pose: &Pose<Self>, origin: Self::Lin, direction: Self::Lin) -> Option<RayHit<Self::Lin>>;

    /// The key of a shape in a scene: `ball`, `box`, `capsule`, `convex`, `segment`, `half_space`, `cylinder`, `cone`, `mesh` or `heightfield`.
    fn shape_key(shape: &Self::Shape) -> &'static str;
    /// The sizes of a shape in the order of its keys in a scene \[m\]: ball `r`; box full extents; capsule `length`, `r`; cylinder and cone
    /// `height`, `r`; convex and segment the coordinates of their vertices as stored; half-space the components of its normal; mesh and
    /// heightfield none.
    fn shape_parameters(shape: &Self::Shape) -> Vec<f64>;
    /// The shape with other sizes, theory (14.5). A convex shape keeps its vertices, faces and their names. The normal of a half-space may have
    /// any length and is scaled to one, so that its derivative is the part square to it.
    ///
    /// # Errors
    /// As many numbers as [`Geometry::shape_parameters`] gives are needed; sizes that make no shape, and vertices that no longer bound a
    /// convex solid with these faces, are refused.
    fn with_shape_parameters(shape: &Self::Shape, parameters: &[f64]) -> Result<Self::Shape, ShapeError>;
    /// The shape as points, a radius and faces, for drawing.
    fn outline(shape: &Self::Shape) -> Outline<Self>
    where
        Self: Sized;
    /// What [`Geometry::evaluate`] has for derivatives, theory (14.1)-(14.4).
    fn derivative<'a>(
        feature: Self::Feature,
        a: &'a Self::Shape,
        pose_a: &'a Pose<Self>,
        b: &'a Self::Shape,
        pose_b: &'a Pose<Self>,
    ) -> impl ContactDerivative<Self> + 'a
    where
        Self: Sized;
}
