//! Convex polygons from arbitrary points.

use crate::shape_error::ShapeError;
use nalgebra::Vector2;

/// A corner flatter than this (sine of its turn) is dropped: its faces could not be told apart in a contact.
const FLAT_TURN: f64 = 1e-9;
/// Points closer than this part of the extent are one point, so that no face is too short to have a direction.
const SAME_POINT: f64 = 1e-9;
/// Corners of the simplest solid in the plane.
const SOLID_POINTS: usize = 3;
/// Corners are numbered by `u32` in a feature; a polygon this large is a mistake in the input anyway.
const MAX_POINTS: usize = 1 << 20;

/// A convex polygon in its own frame: corners counter-clockwise, with the outward normal of every face.
#[derive(Clone, Debug, PartialEq)]
pub struct Polygon {
    vertices: Vec<Vector2<f64>>,
    normals: Vec<Vector2<f64>>,
    extent: f64,
}

impl Polygon {
    /// The convex hull of points \[m\] in any order; points inside or on a straight side are dropped.
    ///
    /// # Errors
    /// A number that is not finite, fewer than three distinct points, or points on one line.
    pub fn hull(points: &[Vector2<f64>]) -> Result<Self, ShapeError> {
        if !points.iter().all(|p| p.x.is_finite() && p.y.is_finite()) {
            return Err(ShapeError::NotFinite { what: "point of a convex shape" });
        }
        if points.len() > MAX_POINTS {
            return Err(ShapeError::TooMany { what: "points of a convex shape", found: points.len(), allowed: MAX_POINTS });
        }
        if points.len() < SOLID_POINTS {
            return Err(ShapeError::TooFewPoints { found: points.len(), needed: SOLID_POINTS });
        }
        let extent = extent(points);
        let mut sorted = points.to_vec();
        sorted.sort_by(|p, q| p.x.total_cmp(&q.x).then(p.y.total_cmp(&q.y)));
        // Andrew's chains: the lower one left to right, the upper one right to left, each keeping left turns only.
        let mut vertices = chain(sorted.iter().copied(), extent);
        let upper = chain(sorted.iter().rev().copied(), extent);
        vertices.pop();
        vertices.extend_from_slice(&upper[..upper.len().saturating_sub(1)]);
        // The chains judge their ends apart; what is still flat or double across a joint of the two goes here.
        let mut k = 0;
        while vertices.len() >= SOLID_POINTS && k < vertices.len() {
            let n = vertices.len();
            let (p, q, r) = (vertices[(k + n - 1) % n], vertices[k], vertices[(k + 1) % n]);
            if turns_left(p, q, r, extent) {
                k += 1;
            } else {
                vertices.remove(k);
                k = 0;
            }
        }
        if vertices.len() < SOLID_POINTS {
            return Err(ShapeError::Degenerate { what: "convex shape (its points lie on a line)" });
        }
        Ok(Polygon { normals: outward(&vertices), vertices, extent })
    }
    /// The same corners and faces with the corners moved \[m\], theory (14.5).
    ///
    /// # Errors
    /// Another number of corners, a number that is not finite, or corners that no longer go round a convex polygon.
    pub fn with_vertices(&self, vertices: &[Vector2<f64>]) -> Result<Self, ShapeError> {
        let n = self.vertices.len();
        if vertices.len() != n {
            return Err(ShapeError::WrongCount { what: "corners of a convex shape", found: vertices.len(), needed: n });
        }
        if !vertices.iter().all(|p| p.x.is_finite() && p.y.is_finite()) {
            return Err(ShapeError::NotFinite { what: "point of a convex shape" });
        }
        let extent = extent(vertices);
        let convex = (0..n).all(|i| turns_left(vertices[i], vertices[(i + 1) % n], vertices[(i + 2) % n], extent));
        // Left turns alone may go round more than once; once round, every corner lies left of the first face.
        let once = (2..n).all(|i| (vertices[1] - vertices[0]).perp(&(vertices[i] - vertices[0])) > 0.0);
        if !(convex && once) {
            return Err(ShapeError::Degenerate { what: "convex shape (a corner left the hull)" });
        }
        Ok(Polygon { vertices: vertices.to_vec(), normals: outward(vertices), extent })
    }
    /// Corners \[m\], counter-clockwise.
    pub fn vertices(&self) -> &[Vector2<f64>] {
        &self.vertices
    }
    /// Outward unit normals; face `i` runs from corner `i` to corner `i + 1`.
    pub fn normals(&self) -> &[Vector2<f64>] {
        &self.normals
    }
    /// Longest side \[m\] of the axis-aligned box of the corners.
    pub fn extent(&self) -> f64 {
        self.extent
    }
}

/// Outward unit normals of the faces of a polygon.
fn outward(vertices: &[Vector2<f64>]) -> Vec<Vector2<f64>> {
    let n = vertices.len();
    (0..n).map(|i| vertices[(i + 1) % n] - vertices[i]).map(|e| Vector2::new(e.y, -e.x) / e.norm()).collect()
}

/// Longest side of the axis-aligned box of some points.
pub(super) fn extent(points: &[Vector2<f64>]) -> f64 {
    let spread = |k: usize| {
        let (low, high) = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p[k]), h.max(p[k])));
        high - low
    };
    if points.is_empty() { 0.0 } else { spread(0).max(spread(1)) }
}

fn turns_left(p: Vector2<f64>, q: Vector2<f64>, r: Vector2<f64>, extent: f64) -> bool {
    let (u, v) = (q - p, r - q);
    let (lu, lv) = (u.norm(), v.norm());
    lu > SAME_POINT * extent && lv > SAME_POINT * extent && u.perp(&v) > FLAT_TURN * lu * lv
}

fn chain(points: impl Iterator<Item = Vector2<f64>>, extent: f64) -> Vec<Vector2<f64>> {
    let mut chain: Vec<Vector2<f64>> = Vec::new();
    for p in points {
        if chain.last().is_some_and(|last| (p - last).norm() <= SAME_POINT * extent) {
            continue;
        }
        while chain.len() >= 2 && !turns_left(chain[chain.len() - 2], chain[chain.len() - 1], p, extent) {
            chain.pop();
        }
        chain.push(p);
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_with_clutter_is_a_square() {
        let mut points: Vec<_> = [(0., 0.), (1., 0.), (1., 1.), (0., 1.)].map(|(x, y)| Vector2::new(x, y)).to_vec();
        points.extend([(0.5, 0.5), (0.5, 0.0), (1.0, 0.3), (1.0, 1.0), (0.0, 0.7), (1e-13, 0.0)].map(|(x, y)| Vector2::new(x, y)));
        let square = Polygon::hull(&points).unwrap();
        assert_eq!(square.vertices().len(), 4);
        for (i, n) in square.normals().iter().enumerate() {
            let m = (square.vertices()[i] + square.vertices()[(i + 1) % 4]) * 0.5 - Vector2::repeat(0.5);
            assert!((n.dot(&m) - 0.5).abs() < 1e-15, "normal {i} does not point out");
        }
    }

    #[test]
    fn every_point_lies_inside_and_every_corner_is_a_point() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for _ in 0..200 {
            let count = 3 + (next() * 30.0) as usize;
            let points: Vec<_> = (0..count).map(|_| Vector2::new(next() * 4.0 - 1.0, next())).collect();
            let Ok(hull) = Polygon::hull(&points) else { continue };
            for p in &points {
                for (v, n) in hull.vertices().iter().zip(hull.normals()) {
                    assert!(n.dot(&(p - v)) < 1e-8);
                }
            }
            assert!(hull.vertices().iter().all(|v| points.contains(v)));
        }
    }

    #[test]
    fn bad_points_are_refused() {
        let line: Vec<_> = (0..5).map(|k| Vector2::new(k as f64, 2.0 * k as f64)).collect();
        assert!(matches!(Polygon::hull(&line), Err(ShapeError::Degenerate { .. })));
        assert!(matches!(Polygon::hull(&line[..2]), Err(ShapeError::TooFewPoints { found: 2, needed: 3 })));
        assert!(matches!(Polygon::hull(&[Vector2::zeros(); 9]), Err(ShapeError::Degenerate { .. })));
        assert!(matches!(Polygon::hull(&[Vector2::new(f64::NAN, 0.0); 4]), Err(ShapeError::NotFinite { .. })));
    }
}
