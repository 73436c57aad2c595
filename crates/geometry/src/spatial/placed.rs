//! Vertices, edges and faces of a placed shape: as they are, or with their motion, theory (14.2) and (14.5).

use super::core::Core;
use super::parameters;
use super::round::Round;
use super::shape::Shape;
use crate::contact_tangent::Sizes;
use crate::scalar::{Dual, Real, moving};
use carom_math::{Spatial, Twist};
use nalgebra::{Matrix3, Vector3};
use std::fmt::Debug;

type V = Vector3<f64>;

/// A core as the closed forms of its contacts see it.
pub(super) trait Elements: Copy + Debug {
    /// Numbers, with or without derivatives.
    type T: Real;
    /// Origin of the frame.
    fn origin(&self) -> Vector3<Self::T>;
    /// A vertex in world axes.
    fn vertex(&self, vertex: u32) -> Vector3<Self::T>;
    /// Ends of an edge in world axes.
    fn edge(&self, edge: u32) -> (Vector3<Self::T>, Vector3<Self::T>);
    /// Outward unit normal of a face.
    fn normal(&self, face: u32) -> Vector3<Self::T>;
    /// A point of a face.
    fn face_point(&self, face: u32) -> Vector3<Self::T>;
    /// The corners `side` and `side + 1` of a face.
    fn side(&self, face: u32, side: u32) -> (Vector3<Self::T>, Vector3<Self::T>);
    /// Radius about the core.
    fn radius(&self) -> Self::T;
}

impl Elements for Core<'_> {
    type T = f64;
    #[inline(always)]
    fn origin(&self) -> V {
        self.pos
    }
    #[inline(always)]
    fn vertex(&self, vertex: u32) -> V {
        Core::vertex(self, vertex)
    }
    #[inline(always)]
    fn edge(&self, edge: u32) -> (V, V) {
        Core::edge(self, edge)
    }
    #[inline(always)]
    fn normal(&self, face: u32) -> V {
        Core::normal(self, face)
    }
    #[inline(always)]
    fn face_point(&self, face: u32) -> V {
        Core::face_point(self, face)
    }
    #[inline(always)]
    fn side(&self, face: u32, side: u32) -> (V, V) {
        (Core::vertex(self, self.face_vertex(face, side as usize)), Core::vertex(self, self.face_vertex(face, side as usize + 1)))
    }
    #[inline(always)]
    fn radius(&self) -> f64 {
        self.radius
    }
}

/// How a shape moves: its frame in `N` directions, its sizes along the first of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Motion<'a, const N: usize> {
    pub shape: &'a Shape,
    pub twists: [Twist<Spatial>; N],
    pub sizes: Sizes<'a>,
}

impl<const N: usize> Motion<'_, N> {
    /// A point that rides on the frame with an arm and changes within the frame at a rate, both in world axes.
    #[inline(always)]
    fn point(&self, at: V, arm: V, rate: V) -> Vector3<Dual<N>> {
        moving(at, |k| if k == 0 { self.twists[k].at(arm) + rate } else { self.twists[k].at(arm) })
    }
    /// A direction that turns with the frame and changes within it.
    #[inline(always)]
    fn direction(&self, along: V, rate: V) -> Vector3<Dual<N>> {
        moving(along, |k| if k == 0 { self.twists[k].ang.cross(&along) + rate } else { self.twists[k].ang.cross(&along) })
    }
    /// A size that changes at a rate.
    #[inline(always)]
    fn size(&self, value: f64, rate: f64) -> Dual<N> {
        let mut size = Dual::of(value);
        if let Some(first) = size.slope.first_mut() {
            *first = rate;
        }
        size
    }
    /// A solid of revolution with its motion.
    pub fn of_round(&self, round: &Round) -> Round<Dual<N>> {
        let column = |k: usize| self.direction(round.rot.column(k).into(), V::zeros());
        let rates = parameters::round_tangent(self.shape, self.sizes);
        Round {
            rot: Matrix3::from_columns(&[column(0), column(1), column(2)]),
            pos: self.point(round.pos, V::zeros(), V::zeros()),
            half: self.size(round.half, rates.half),
            radii: [self.size(round.radii[0], rates.radii[0]), self.size(round.radii[1], rates.radii[1])],
        }
    }
}

/// A core with its motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving<'a, const N: usize> {
    pub core: &'a Core<'a>,
    pub motion: Motion<'a, N>,
}

impl<const N: usize> Elements for Moving<'_, N> {
    type T = Dual<N>;
    #[inline(always)]
    fn origin(&self) -> Vector3<Dual<N>> {
        self.motion.point(self.core.pos, V::zeros(), V::zeros())
    }
    #[inline(always)]
    fn vertex(&self, vertex: u32) -> Vector3<Dual<N>> {
        let at = self.core.vertex(vertex);
        let rate = match self.motion.sizes {
            Sizes::Held => V::zeros(),
            sizes => self.core.rot * parameters::vertex_tangent(self.motion.shape, self.core, vertex, sizes),
        };
        self.motion.point(at, at - self.core.pos, rate)
    }
    #[inline(always)]
    fn edge(&self, edge: u32) -> (Vector3<Dual<N>>, Vector3<Dual<N>>) {
        let [p, q] = self.core.edge_ends(edge);
        (self.vertex(p), self.vertex(q))
    }
    #[inline(always)]
    fn normal(&self, face: u32) -> Vector3<Dual<N>> {
        let rate = match self.motion.sizes {
            Sizes::Held => V::zeros(),
            sizes => self.core.rot * parameters::normal_tangent(self.motion.shape, face, sizes),
        };
        self.motion.direction(self.core.normal(face), rate)
    }
    #[inline(always)]
    fn face_point(&self, face: u32) -> Vector3<Dual<N>> {
        let at = self.core.face_point(face);
        let rate = match self.motion.sizes {
            Sizes::Held => V::zeros(),
            sizes => self.core.rot * parameters::face_point_tangent(self.motion.shape, self.core, face, sizes),
        };
        self.motion.point(at, at - self.core.pos, rate)
    }
    #[inline(always)]
    fn side(&self, face: u32, side: u32) -> (Vector3<Dual<N>>, Vector3<Dual<N>>) {
        let corner = |k: usize| self.vertex(self.core.face_vertex(face, k));
        (corner(side as usize), corner(side as usize + 1))
    }
    #[inline(always)]
    fn radius(&self) -> Dual<N> {
        self.motion.size(self.core.radius, parameters::radius_tangent(self.motion.shape, self.motion.sizes))
    }
}
