//! Which features of two rounded convex shapes meet: closest features apart, face of least depth in overlap, theory (7.8)-(7.12).

use super::feature::{End, Feature};
use super::shape::{Lin, Pose, Rounded};
use nalgebra::Vector2;

/// Part of the smaller shape's size below which lengths are taken as equal: a corner that far past the end of a face still stands
/// on it, two separations that close tie, and cores that close count as touching. Ten times finer than the accuracy promised for
/// a gap, a thousand times coarser than the rounding of a stack.
const SLACK: f64 = 1e-11;
/// Part of the larger shape's size that rounding may take from a length.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Two faces make a two-point manifold when the cosine of their tilt is at least this (a quarter of a radian): well above any
/// tilt at which the lifted end stays within the contact margin, well below that of a box on its corner.
const ALIGNED: f64 = 0.968_912_421_710_644_8;
/// Part of the smaller shape's size below which two points of one manifold are one: so short an arm carries no torque.
const SAME_POINT: f64 = 1e-6;

/// Absolute tolerances \[m\] of a pair.
#[derive(Clone, Copy)]
pub(super) struct Slack {
    /// Lengths below this are zero.
    pub length: f64,
    /// Points closer than this are one.
    pub same: f64,
}

impl Slack {
    /// From the sizes of the two shapes (the second may be infinite).
    #[inline(always)]
    pub fn of(size: f64, other: f64) -> Self {
        let (small, large) = (size.min(other), size.max(other));
        Slack { length: SLACK * small + if large.is_finite() { ROUNDING * large } else { 0.0 }, same: SAME_POINT * small }
    }
}

/// The pose of one frame seen from another, with the trigonometry already done.
#[derive(Clone, Copy)]
pub(super) struct Relative {
    cos: f64,
    sin: f64,
    origin: Lin,
}

impl Relative {
    /// `inner` seen from `outer`.
    #[inline(always)]
    pub fn of(outer: &Pose, inner: &Pose) -> Self {
        let (a, b) = (outer.rotation, inner.rotation);
        Relative {
            cos: a.cos * b.cos + a.sin * b.sin,
            sin: a.cos * b.sin - a.sin * b.cos,
            origin: outer.local_direction(inner.position - outer.position),
        }
    }
    /// Where the inner origin lies.
    pub fn origin(&self) -> Lin {
        self.origin
    }
    #[inline(always)]
    pub fn point(&self, x: Lin) -> Lin {
        self.origin + self.direction(x)
    }
    #[inline(always)]
    pub fn direction(&self, x: Lin) -> Lin {
        Vector2::new(self.cos * x.x - self.sin * x.y, self.sin * x.x + self.cos * x.y)
    }
    #[inline(always)]
    pub fn unrotated(&self, x: Lin) -> Lin {
        Vector2::new(self.cos * x.x + self.sin * x.y, -self.sin * x.x + self.cos * x.y)
    }
    #[inline(always)]
    pub fn local_point(&self, x: Lin) -> Lin {
        self.unrotated(x - self.origin)
    }
}

/// One or two feature pairs, the closest first.
#[derive(Clone, Copy)]
pub(super) struct Manifold {
    pub first: Feature,
    pub second: Option<Feature>,
}

/// Corner farthest against a direction (least u.x), the first of equals.
#[inline(always)]
pub(super) fn support(points: &[Lin], u: Lin) -> usize {
    let mut least = 0;
    let mut value = u.dot(&points[0]);
    for (i, x) in points.iter().enumerate().skip(1) {
        let v = u.dot(x);
        if v < value {
            (least, value) = (i, v);
        }
    }
    least
}

/// The corner after `i` of `count`.
#[inline(always)]
pub(super) fn next(i: usize, count: usize) -> usize {
    if i + 1 == count { 0 } else { i + 1 }
}

/// The corner before `i` of `count`.
#[inline(always)]
pub(super) fn previous(i: usize, count: usize) -> usize {
    if i == 0 { count - 1 } else { i - 1 }
}

/// The face of `reference` that separates most, theory (7.9).
#[derive(Clone, Copy)]
struct Best {
    separation: f64,
    face: usize,
    vertex: usize,
}

/// Theory (7.9). Face normals and the corner they face turn the same way round, so both are walked once: O(n + m).
#[inline(always)]
fn best_face(reference: &Rounded, incident: &Rounded, relative: &Relative, stop: f64) -> Best {
    let corners = incident.vertices;
    let mut best = Best { separation: f64::NEG_INFINITY, face: 0, vertex: 0 };
    let mut vertex = 0;
    for (face, n) in reference.normals.iter().enumerate() {
        let u = relative.unrotated(*n);
        // The sides of a segment are half a turn apart: too far to walk.
        if face == 0 || reference.normals.len() == 2 {
            vertex = support(corners, u);
        }
        let mut value = u.dot(&corners[vertex]);
        for _ in 0..corners.len() {
            let candidate = next(vertex, corners.len());
            let v = u.dot(&corners[candidate]);
            if v >= value {
                break;
            }
            (vertex, value) = (candidate, v);
        }
        let separation = value + n.dot(&(relative.origin - reference.vertices[face]));
        if separation > best.separation {
            best = Best { separation, face, vertex };
            if separation > stop {
                break;
            }
        }
    }
    best
}

/// Feature pairs of two shapes whose gap may be within `reach`; `None` when it certainly is not. On a tie of the two reference
/// faces the longer one wins, then that of a: the caller puts the pair in an order that does not depend on the names.
#[inline]
pub(super) fn manifold(a: &Rounded, pose_a: &Pose, b: &Rounded, pose_b: &Pose, reach: f64) -> Option<Manifold> {
    if a.normals.is_empty() && b.normals.is_empty() {
        return Some(Manifold { first: Feature::PointPoint { a: 0, b: 0 }, second: None });
    }
    let stop = reach + (a.radius + b.radius);
    let b_in_a = Relative::of(pose_a, pose_b);
    let on_a = best_face(a, b, &b_in_a, stop);
    if on_a.separation > stop {
        return None;
    }
    let a_in_b = Relative::of(pose_b, pose_a);
    let on_b = best_face(b, a, &a_in_b, stop);
    if on_b.separation > stop {
        return None;
    }
    let slack = Slack::of(a.size, b.size);
    let a_refers = if (on_a.separation - on_b.separation).abs() > slack.length {
        on_a.separation > on_b.separation
    } else {
        face_length(a, on_a.face) + slack.length >= face_length(b, on_b.face)
    };
    Some(if a_refers {
        let Manifold { first, second } = clip(a, b, &b_in_a, on_a, slack);
        Manifold { first: first.swapped(), second: second.map(Feature::swapped) }
    } else {
        clip(b, a, &a_in_b, on_b, slack)
    })
}

fn face_length(shape: &Rounded, face: usize) -> f64 {
    (shape.vertices[next(face, shape.vertices.len())] - shape.vertices[face]).norm()
}

/// The incident edge and what it makes of a second point.
#[derive(Clone, Copy)]
pub(super) struct Facing {
    /// Number of the edge.
    pub edge: usize,
    /// Its corner away from the nearest one.
    pub far: usize,
    /// Whether it lies along the reference face.
    pub aligned: bool,
}

/// Of the two edges at a corner the one that faces most squarely along `-u`; the shape must have faces.
#[inline(always)]
pub(super) fn facing(shape: &Rounded, u: Lin, near: usize) -> Facing {
    let count = shape.vertices.len();
    let before = previous(near, count);
    let (back, ahead) = (u.dot(&shape.normals[before]), u.dot(&shape.normals[near]));
    if back < ahead {
        Facing { edge: before, far: before, aligned: back <= -ALIGNED }
    } else {
        Facing { edge: near, far: next(near, count), aligned: ahead <= -ALIGNED }
    }
}

/// The manifold on a reference face, theory (7.10)-(7.12); features with the incident shape as a and the reference as b.
#[inline(always)]
fn clip(reference: &Rounded, incident: &Rounded, relative: &Relative, best: Best, slack: Slack) -> Manifold {
    let face = best.face;
    let normal = reference.normals[face];
    let along = Vector2::new(-normal.y, normal.x);
    let start = reference.vertices[face];
    let length = along.dot(&(reference.vertices[next(face, reference.vertices.len())] - start));
    let stands = |s: f64| s >= -slack.length && s <= length + slack.length;

    let corners = incident.vertices;
    let near = best.vertex;
    let s_near = along.dot(&(relative.point(corners[near]) - start));
    let point = |i: usize| Feature::PointFace { a: i as u32, b: face as u32 };

    if incident.normals.is_empty() {
        let collinear = reference.vertices.len() == 2 && best.separation <= slack.length;
        let first = if stands(s_near) || !(best.separation > slack.length || collinear) {
            point(near)
        } else {
            nearest_corners(reference, incident, relative, best)
        };
        return Manifold { first, second: None };
    }

    let u = relative.unrotated(normal);
    let Facing { edge, far, aligned } = facing(incident, u, near);
    let s_far = along.dot(&(relative.point(corners[far]) - start));
    // Two segments in line are apart although no face normal separates them.
    let in_line = corners.len() == 2
        && reference.vertices.len() == 2
        && (s_near.min(s_far) > length + slack.length || s_near.max(s_far) < -slack.length);
    let apart = best.separation > slack.length || in_line;
    let cut = |end: End| Feature::EdgeFace { a: edge as u32, b: face as u32, end };
    let crosses = |end: End| match end {
        End::Start => (s_near < 0.0) != (s_far < 0.0),
        End::Stop => (s_near > length) != (s_far > length),
    };

    let near_end = if s_near < 0.0 { End::Start } else { End::Stop };
    let first = if stands(s_near) {
        point(near)
    } else if aligned && crosses(near_end) && (!apart || rise(s_near, s_far, length, near_end, corners, edge, u) <= 2.0 * slack.length) {
        cut(near_end)
    } else if apart {
        nearest_corners(reference, incident, relative, best)
    } else {
        point(near)
    };

    let far_end = if s_far < 0.0 { End::Start } else { End::Stop };
    let second = if !aligned {
        None
    } else if stands(s_far) {
        Some((point(far), s_far))
    } else if crosses(far_end) {
        Some((cut(far_end), if far_end == End::Start { 0.0 } else { length }))
    } else {
        None
    };
    let s_first = s_near.clamp(0.0, length.max(0.0));
    let second = second.filter(|(_, s)| (s - s_first).abs() > slack.same).map(|(feature, _)| feature);
    Manifold { first, second }
}

/// How far the incident edge has risen from its nearest corner to where an end of the reference face cuts it.
fn rise(s_near: f64, s_far: f64, length: f64, end: End, corners: &[Lin], edge: usize, u: Lin) -> f64 {
    let run = corners[next(edge, corners.len())] - corners[edge];
    let at = if end == End::Start { 0.0 } else { length };
    ((at - s_near) / (s_far - s_near)).abs() * u.dot(&run).abs()
}

/// The two corners that are closest, near the face that separates most: theory (7.11) shows that the face touches one of them and
/// its facing corner, or a neighbour when two tie, is the other.
#[inline(never)]
fn nearest_corners(reference: &Rounded, incident: &Rounded, relative: &Relative, best: Best) -> Feature {
    let mut least = (f64::INFINITY, 0, 0);
    let (count, corners) = (reference.vertices.len(), incident.vertices.len());
    for i in [best.vertex, previous(best.vertex, corners), next(best.vertex, corners)] {
        let x = relative.point(incident.vertices[i]);
        for j in [best.face, next(best.face, count)] {
            let distance = (x - reference.vertices[j]).norm_squared();
            if distance < least.0 {
                least = (distance, i, j);
            }
        }
    }
    Feature::PointPoint { a: least.1 as u32, b: least.2 as u32 }
}

/// Signed distance \[m\] of two shapes, exact apart and in overlap; past `cutoff` any lower bound beyond it, theory (7.13).
pub(super) fn separation(a: &Rounded, pose_a: &Pose, b: &Rounded, pose_b: &Pose, cutoff: f64) -> f64 {
    let radius = a.radius + b.radius;
    let stop = cutoff + radius;
    let b_in_a = Relative::of(pose_a, pose_b);
    if a.normals.is_empty() && b.normals.is_empty() {
        return b_in_a.point(b.vertices[0]).metric_distance(&a.vertices[0]) - radius;
    }
    let on_a = best_face(a, b, &b_in_a, stop);
    if on_a.separation > stop {
        return on_a.separation - radius;
    }
    let a_in_b = Relative::of(pose_b, pose_a);
    let on_b = best_face(b, a, &a_in_b, stop);
    if on_b.separation > stop {
        return on_b.separation - radius;
    }
    let core = if on_a.separation >= on_b.separation { core_distance(a, b, &b_in_a, on_a) } else { core_distance(b, a, &a_in_b, on_b) };
    core - radius
}

fn core_distance(reference: &Rounded, incident: &Rounded, relative: &Relative, best: Best) -> f64 {
    let (count, corners) = (reference.vertices.len(), incident.vertices.len());
    let (start, stop) = (reference.vertices[best.face], reference.vertices[next(best.face, count)]);
    let normal = reference.normals[best.face];
    let along = Vector2::new(-normal.y, normal.x);
    let length = along.dot(&(stop - start));
    let near = relative.point(incident.vertices[best.vertex]);
    let s = along.dot(&(near - start));
    if s >= 0.0 && s <= length {
        return best.separation;
    }
    let around = [previous(best.vertex, corners), next(best.vertex, corners)].map(|i| relative.point(incident.vertices[i]));
    if best.separation <= 0.0 {
        // Overlap, unless both cores are thin and lie in line.
        let ends = [s, along.dot(&(around[0] - start))];
        let beyond = (ends[0].min(ends[1]) - length).max(-ends[0].max(ends[1]));
        return if count == 2 && corners <= 2 && beyond > 0.0 { beyond } else { best.separation };
    }
    let mut least = point_segment(near, start, stop);
    for x in around {
        least = least.min(point_segment(x, start, stop)).min(point_segment(start, near, x)).min(point_segment(stop, near, x));
    }
    least.max(best.separation)
}

fn point_segment(x: Lin, p: Lin, q: Lin) -> f64 {
    let e = q - p;
    let squared = e.norm_squared();
    let t = if squared > 0.0 { ((x - p).dot(&e) / squared).clamp(0.0, 1.0) } else { 0.0 };
    (x - (p + e * t)).norm()
}
