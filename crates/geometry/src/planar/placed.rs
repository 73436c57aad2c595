//! Corners and faces of a placed shape: as they are, or with their motion, theory (14.2) and (14.5).

use super::parameters;
use super::shape::{Lin, Pose, Shape};
use crate::contact_tangent::Sizes;
use crate::scalar::{Dual, Real, moving};
use carom_math::{Planar, Space, Twist};
use nalgebra::Vector2;

/// A face in world axes, its ends measured from the origin of its frame.
pub(super) struct Face<T: Real> {
    pub start: Vector2<T>,
    pub stop: Vector2<T>,
    pub normal: Vector2<T>,
}

/// A shape as the closed forms of its contacts see it.
pub(super) trait Placed {
    /// Numbers, with or without derivatives.
    type T: Real;
    /// Origin of the frame in the world.
    fn position(&self) -> Vector2<Self::T>;
    /// Corner by number, from the origin of the frame in world axes.
    fn arm(&self, vertex: u32) -> Vector2<Self::T>;
    /// Face by number.
    fn face(&self, face: u32) -> Face<Self::T>;
    /// Rounding of the shape.
    fn radius(&self) -> Self::T;
}

/// A shape at rest.
#[derive(Clone, Copy)]
pub(super) struct Still<'a> {
    pub shape: &'a Shape,
    pub pose: &'a Pose,
}

impl Placed for Still<'_> {
    type T = f64;
    #[inline(always)]
    fn position(&self) -> Lin {
        self.pose.position
    }
    #[inline(always)]
    fn arm(&self, vertex: u32) -> Lin {
        self.pose.direction(self.shape.vertex(vertex))
    }
    #[inline(always)]
    fn face(&self, face: u32) -> Face<f64> {
        let (start, stop, normal) = self.shape.face(face);
        Face { start: self.pose.direction(start), stop: self.pose.direction(stop), normal: self.pose.direction(normal) }
    }
    #[inline(always)]
    fn radius(&self) -> f64 {
        self.shape.radius()
    }
}

/// A shape whose frame moves in `N` directions; its sizes change along the first of them.
#[derive(Clone, Copy)]
pub(super) struct Moving<'a, const N: usize> {
    pub shape: &'a Shape,
    pub pose: &'a Pose,
    pub twists: [Twist<Planar>; N],
    pub sizes: Sizes<'a>,
}

impl<const N: usize> Moving<'_, N> {
    /// A direction that turns with the frame and changes within it.
    #[inline(always)]
    fn direction(&self, local: Lin, tangent: Lin) -> Vector2<Dual<N>> {
        let value = self.pose.direction(local);
        moving(value, |k| {
            let turned = Planar::spin(self.twists[k].ang, value);
            if k == 0 { turned + self.pose.direction(tangent) } else { turned }
        })
    }
}

impl<const N: usize> Placed for Moving<'_, N> {
    type T = Dual<N>;
    #[inline(always)]
    fn position(&self) -> Vector2<Dual<N>> {
        moving(self.pose.position, |k| self.twists[k].lin)
    }
    #[inline(always)]
    fn arm(&self, vertex: u32) -> Vector2<Dual<N>> {
        self.direction(self.shape.vertex(vertex), parameters::vertex_tangent(self.shape, vertex, self.sizes))
    }
    #[inline(always)]
    fn face(&self, face: u32) -> Face<Dual<N>> {
        let (start, stop, normal) = self.shape.face(face);
        let (d_start, d_stop, d_normal) = parameters::face_tangent(self.shape, face, self.sizes);
        Face { start: self.direction(start, d_start), stop: self.direction(stop, d_stop), normal: self.direction(normal, d_normal) }
    }
    #[inline(always)]
    fn radius(&self) -> Dual<N> {
        let mut radius = Dual::of(self.shape.radius());
        if let Some(first) = radius.slope.first_mut() {
            *first = parameters::radius_tangent(self.shape, self.sizes);
        }
        radius
    }
}
