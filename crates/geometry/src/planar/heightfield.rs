//! Ground under a polyline: contacts from above, without ghost corners between its faces, theory (7.14).

use super::feature::Feature;
use super::manifold::{Relative, Slack, facing, next, previous, support};
use super::shape::{Lin, Rounded, positive};
use crate::shape_error::ShapeError;
use nalgebra::Vector2;

/// A corner of the ground that turns by less than this (sine) is a point of a straight face and makes no contact of its own.
const FLAT_TURN: f64 = 1e-9;
/// A face of a body may lean this far (sine) out of the normals of a corner of the ground and still rest on it. Wide enough for a
/// rocking body to keep both feet, narrow enough that the corners between level faces never stop a body that slides over them.
const LEAN: f64 = 0.125;
/// Nodes of the shortest polyline.
const LEAST_NODES: usize = 2;
/// Faces are numbered by `u32`.
const MAX_NODES: usize = 1 << 30;

/// Heights over evenly spaced nodes along x, centred on the origin; solid below.
#[derive(Clone, Debug, PartialEq)]
pub struct Heightfield {
    heights: Vec<f64>,
    spacing: f64,
    normals: Vec<Lin>,
}

impl Heightfield {
    /// From heights \[m\] and their spacing \[m\]; node k lies at x = (k - (n - 1)/2) spacing.
    ///
    /// # Errors
    /// Fewer than two heights, or a number that is not finite, or a spacing that is not positive.
    pub fn new(heights: &[f64], spacing: f64) -> Result<Self, ShapeError> {
        positive("spacing", spacing)?;
        if heights.len() < LEAST_NODES {
            return Err(ShapeError::TooFewPoints { found: heights.len(), needed: LEAST_NODES });
        }
        if heights.len() > MAX_NODES {
            return Err(ShapeError::TooMany { what: "heights", found: heights.len(), allowed: MAX_NODES });
        }
        if !heights.iter().all(|h| h.is_finite()) {
            return Err(ShapeError::NotFinite { what: "height" });
        }
        let normals = heights.windows(2).map(|h| Vector2::new(h[0] - h[1], spacing).normalize()).collect();
        Ok(Heightfield { heights: heights.to_vec(), spacing, normals })
    }
    /// Heights \[m\] of the nodes.
    pub fn heights(&self) -> &[f64] {
        &self.heights
    }
    /// Distance \[m\] of the nodes along x.
    pub fn spacing(&self) -> f64 {
        self.spacing
    }
    /// Node by number, the last one past the end.
    #[inline(always)]
    pub(super) fn node(&self, index: usize) -> Lin {
        let k = index.min(self.heights.len() - 1);
        Vector2::new((k as f64 - 0.5 * (self.heights.len() - 1) as f64) * self.spacing, self.heights[k])
    }
    /// Outward normal of the face between nodes `index` and `index + 1`.
    #[inline(always)]
    pub(super) fn normal(&self, index: usize) -> Lin {
        self.normals[index.min(self.normals.len() - 1)]
    }
    /// The face under (or over) an x, the outermost one outside.
    fn face_at(&self, x: f64) -> usize {
        let k = (x / self.spacing + 0.5 * (self.heights.len() - 1) as f64).floor();
        k.clamp(0.0, (self.normals.len() - 1) as f64) as usize
    }
    /// Normals right and left of a node; past the ends the ground falls off like a wall.
    fn cone(&self, node: usize) -> (Lin, Lin) {
        let right = if node < self.normals.len() { self.normals[node] } else { Vector2::x() };
        let left = if node > 0 { self.normals[node - 1] } else { -Vector2::x() };
        (right, left)
    }
    fn is_convex(&self, node: usize) -> bool {
        let (right, left) = self.cone(node);
        right.perp(&left) > FLAT_TURN
    }

    /// Calls `visit` with every feature pair of a shape (as a) and the ground (as b) that can lie within `window` \[m\].
    pub(super) fn features(&self, shape: &Rounded, relative: &Relative, window: f64, mut visit: impl FnMut(Feature)) {
        let slack = Slack::of(shape.size, self.spacing * self.normals.len() as f64);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in shape.vertices {
            let x = relative.point(*v).x;
            low = low.min(x);
            high = high.max(x);
        }
        let margin = window.max(0.0) + shape.radius + slack.length;
        let (first, last) = (self.face_at(low - margin), self.face_at(high + margin));
        for face in first..=last {
            let u = relative.unrotated(self.normals[face]);
            let near = support(shape.vertices, u);
            if self.holds(face, relative.point(shape.vertices[near]), slack) {
                visit(Feature::PointFace { a: near as u32, b: face as u32 });
            }
            if !shape.normals.is_empty() {
                let edge = facing(shape, u, near);
                if edge.aligned && self.holds(face, relative.point(shape.vertices[edge.far]), slack) {
                    visit(Feature::PointFace { a: edge.far as u32, b: face as u32 });
                }
            }
        }
        for node in first..=last + 1 {
            if self.is_convex(node)
                && let Some(feature) = self.corner(node, shape, relative, slack)
            {
                visit(feature);
            }
        }
    }

    /// Whether a point stands over a face (or has sunk into it by the shortest way out). A point over a node that does not cut into
    /// the ground belongs to the face on its left, so that level faces never share one.
    fn holds(&self, face: usize, x: Lin, slack: Slack) -> bool {
        let (left, right) = (self.node(face), self.node(face + 1));
        let n = self.normals[face];
        let along = Vector2::new(n.y, -n.x);
        let (from_left, past_right) = (along.dot(&(x - left)), along.dot(&(x - right)));
        let valley = |node: usize| !self.is_convex(node) && self.is_bent(node);
        let least = if face == 0 || valley(face) { -slack.length } else { slack.length };
        if from_left < least || past_right > slack.length {
            return false;
        }
        // Beside the ground nothing is sunk.
        let beside = x.x.abs() > 0.5 * self.normals.len() as f64 * self.spacing;
        let column = self.face_at(x.x);
        let under = if beside { 0.0 } else { self.normals[column].dot(&(x - self.node(column))) };
        n.dot(&(x - left)) >= under.min(0.0) - slack.length
    }

    fn is_bent(&self, node: usize) -> bool {
        let (right, left) = self.cone(node);
        right.perp(&left).abs() > FLAT_TURN
    }

    /// The contact of a convex corner of the ground, if the nearest feature of the shape lies among its normals.
    fn corner(&self, node: usize, shape: &Rounded, relative: &Relative, slack: Slack) -> Option<Feature> {
        let (right, left) = self.cone(node);
        let p = self.node(node);
        let local = relative.local_point(p);
        let count = shape.vertices.len();
        // Past the ends of both neighbouring faces: there the corner is what is nearest.
        let meets = |v: usize| {
            let d = relative.point(shape.vertices[v]) - p;
            (right.perp(&d) > slack.length && d.perp(&left) > slack.length).then_some(Feature::PointPoint { a: v as u32, b: node as u32 })
        };
        if shape.normals.is_empty() {
            return meets(0);
        }
        let among = |n: Lin| right.perp(&n) >= -LEAN && n.perp(&left) >= -LEAN && n.dot(&(right + left)) >= 0.0;
        let height = |i: usize| shape.normals[i].dot(&(local - shape.vertices[i]));
        let best = |filter: &dyn Fn(usize) -> bool| {
            (0..shape.normals.len()).filter(|&i| filter(i)).fold(None, |best: Option<(usize, f64)>, i| {
                let h = height(i);
                if best.is_some_and(|(_, b)| b >= h) { best } else { Some((i, h)) }
            })
        };
        let rests = |i: usize| among(-relative.direction(shape.normals[i]));
        let (nearest, distance) = best(&|_| true)?;
        let face = if distance > slack.length { Some(nearest).filter(|&i| rests(i)) } else { best(&rests).map(|(i, _)| i) };
        let from = |i: usize| {
            let n = shape.normals[i];
            let start = shape.vertices[i];
            let along = Vector2::new(-n.y, n.x);
            (along.dot(&(local - start)), along.dot(&(shape.vertices[next(i, count)] - start)))
        };
        if let Some(i) = face {
            let (s, length) = from(i);
            // A corner of the body this close stands on the ground beside and makes the contact there.
            if s > slack.same && s < length - slack.same {
                return Some(Feature::FacePoint { a: i as u32, b: node as u32 });
            }
        }
        if distance <= slack.length {
            return None;
        }
        let (s, length) = from(nearest);
        if s >= 0.0 && s <= length {
            return None;
        }
        let (start, stop) = (nearest, next(nearest, count));
        let around = [start, stop, previous(start, count), next(stop, count)];
        let squared = |v: usize| (shape.vertices[v] - local).norm_squared();
        around.into_iter().reduce(|a, b| if squared(b) < squared(a) { b } else { a }).and_then(meets)
    }
}
