//! From a pair of features to the full set of contact points: clipped faces, lines, duplicates, and at most four, theory (8.13).

use super::core::{Body, Core, Element};
use super::feature::{Feature, Kind, Raw, evaluate};
use super::hull::MAX_FACE_VERTICES;
use crate::contact::Contact;
use carom_math::Spatial;
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Most contacts of a convex pair: four points fix a plane patch.
pub(super) const MAX_POINTS: usize = 4;
/// Contacts closer than this part of the size are one contact.
const SAME_CONTACT: f64 = 1e-7;
/// A vertex this part of the size outside a side plane counts as inside: aligned faces keep their vertices.
const ON_SIDE: f64 = 1e-10;
/// How far aside of the nearest contact, as part of its gap, a nearby face measures the same place; see `NEAR_FACE`.
const BESIDE: f64 = 0.5;
/// Corners of faces served from the small buffers.
const SMALL_FACE: usize = 8;
/// A face whose normal is this close (cosine) to the normal of a contact adds the points of its manifold: about 11 degrees, far more
/// than a rocking body shows while other points are within reach.
const NEAR_FACE: f64 = 0.98;
/// Edges closer to parallel than this sine make a line contact.
const NEAR_PARALLEL: f64 = 0.05;
/// A point of a line contact keeps the direction of the nearest one up to this cosine.
const SAME_DIRECTION: f64 = 0.9;

/// Lengths and areas this part of the spread of a manifold apart are equal.
const EVEN: f64 = 1e-9;
/// Gaps this part of the spread apart are equal; finer, because the least gap is promised.
const DEEP: f64 = 1e-12;

/// A pair of cores being examined, and where its contacts go.
#[derive(Clone, Copy)]
pub(super) struct Pair<'p, 'a> {
    pub a: &'p Core<'a>,
    pub b: &'p Core<'a>,
    pub origin: V,
    /// Length scale of the pair \[m\].
    pub size: f64,
    pub reach: f64,
    /// No contact is nearer than this \[m\]: the distance, where it is known.
    pub floor: f64,
    pub part: u32,
    /// Contacts of the pair begin here in the list.
    pub start: usize,
}

impl<'p, 'a> Pair<'p, 'a> {
    /// Appends a contact if it is within reach and new; of two in one place the deeper stays. Returns its gap.
    pub fn push(&self, kind: Kind, out: &mut Vec<Contact<Spatial>>) -> f64 {
        let raw = evaluate(kind, self.a, self.b);
        if raw.gap > self.reach || raw.gap < self.floor {
            return f64::INFINITY;
        }
        let contact: Contact<Spatial> = raw.named(Feature { part: self.part, kind }, self.origin);
        let twice = 2.0 * SAME_CONTACT * self.size;
        for old in &mut out[self.start..] {
            // Between the witnesses, so that the order of the shapes does not matter.
            let apart = (old.point_a - contact.point_a) + (old.point_b - contact.point_b);
            let near = apart.norm_squared() <= twice * twice;
            if near && old.normal.dot(&contact.normal) > SAME_DIRECTION {
                if contact.gap < old.gap {
                    *old = contact;
                }
                return raw.gap;
            }
        }
        out.push(contact);
        raw.gap
    }
    /// The points where the face nearest to the other core's deepest vertex, clipped to a face, lies within reach of it. The face
    /// belongs to a when `on_a`. Points that repeat a `nearest` contact already found are left out. Returns the least gap.
    pub fn face(&self, on_a: bool, face: u32, nearest: Option<&Raw>, out: &mut Vec<Contact<Spatial>>) -> f64 {
        let (reference, incident) = if on_a { (self.a, self.b) } else { (self.b, self.a) };
        let normal = reference.normal(face);
        let deepest = incident.support(-normal);
        let other = match incident.body {
            Body::Point(_) => {
                return self.push(oriented(on_a, Kind::PointFace { a: 0, b: face }), out);
            }
            Body::Segment(_) => None,
            _ => incident.face_at(deepest, -normal),
        };
        let corners = other.map_or(2, |f| incident.face_len(f)) + reference.face_len(face);
        if corners <= SMALL_FACE {
            self.clip::<SMALL_FACE>(on_a, reference, face, incident, other, nearest, out)
        } else {
            self.clip::<{ 2 * MAX_FACE_VERTICES }>(on_a, reference, face, incident, other, nearest, out)
        }
    }
    /// Sutherland and Hodgman's clipping with every point remembering the features it comes from.
    fn clip<const N: usize>(
        &self,
        on_a: bool,
        reference: &Core,
        face: u32,
        incident: &Core,
        other: Option<u32>,
        nearest: Option<&Raw>,
        out: &mut Vec<Contact<Spatial>>,
    ) -> f64 {
        let normal = reference.normal(face);
        let mut polygon = Polygon::<N>::new();
        match other {
            Some(f) => {
                for k in 0..incident.face_len(f) {
                    let v = incident.face_vertex(f, k);
                    polygon.push(Corner {
                        p: incident.vertex(v),
                        source: Source::Vertex(v),
                        next: Line::Incident(incident.face_edge(f, k)),
                    });
                }
            }
            None => {
                for v in 0..2 {
                    polygon.push(Corner { p: incident.vertex(v), source: Source::Vertex(v), next: Line::Incident(0) });
                }
            }
        }
        let slack = ON_SIDE * self.size;
        let sides = reference.face_len(face);
        let mut from = reference.vertex(reference.face_vertex(face, 0));
        let first = from;
        for side in 0..sides {
            let to = if side + 1 == sides { first } else { reference.vertex(reference.face_vertex(face, side + 1)) };
            let outward = (to - from).cross(&normal);
            polygon.cut(outward / outward.norm(), from, side as u32, slack);
            from = to;
        }
        let mut least = f64::INFINITY;
        for k in 0..polygon.len {
            let kind = match polygon.corners[k].source {
                Source::Vertex(v) => Kind::PointFace { a: v, b: face },
                Source::Crossing(edge, side) => {
                    let kind = Kind::EdgeFace { a: edge, b: face, side };
                    // Over an inner edge of a surface the neighbour goes on; the point there is no end of the contact.
                    if !reference.ridge(side) {
                        least = least.min(evaluate(oriented(on_a, kind), self.a, self.b).gap);
                        continue;
                    }
                    kind
                }
                Source::Corner(i, j) => match (other, shared(reference, face, i, j)) {
                    (Some(f), Some(v)) if reference.allows(Element::Vertex(v), -incident.normal(f), super::axes::NORMAL_SLACK) => {
                        Kind::FacePoint { a: f, b: v }
                    }
                    _ => continue,
                },
            };
            let kind = oriented(on_a, kind);
            if let Some(nearest) = nearest {
                // Beside the nearest contact the same place is measured along the face: a little longer, a little aside.
                let raw = evaluate(kind, self.a, self.b);
                let aside = 2.0 * (slack + BESIDE * nearest.gap.abs());
                let apart = (raw.point_a - nearest.point_a) + (raw.point_b - nearest.point_b);
                if apart.norm_squared() <= aside * aside {
                    continue;
                }
            }
            least = least.min(self.push(kind, out));
        }
        least
    }
    /// Adds the points of nearly parallel edges and faces to a contact that is neither: the rest of a line or of a patch.
    pub fn supplement(&self, elements: (Element, Element), nearest: &Raw, out: &mut Vec<Contact<Spatial>>) {
        let (a, b, normal) = (self.a, self.b, nearest.normal);
        if matches!(a.body, Body::Point(_)) || matches!(b.body, Body::Point(_)) {
            return;
        }
        for_edges(a, elements.0, |i| {
            let (p0, p1) = a.edge(i);
            let e = p1 - p0;
            for_edges(b, elements.1, |j| {
                let (q0, q1) = b.edge(j);
                let f = q1 - q0;
                if e.cross(&f).norm() <= NEAR_PARALLEL * e.norm() * f.norm() {
                    let [i0, i1] = a.edge_ends(i);
                    let [j0, j1] = b.edge_ends(j);
                    self.line_point(i0, p0, q0, f, Kind::PointEdge { a: i0, b: j }, normal, out);
                    self.line_point(i1, p1, q0, f, Kind::PointEdge { a: i1, b: j }, normal, out);
                    self.line_point(j0, q0, p0, e, Kind::EdgePoint { a: i, b: j0 }, normal, out);
                    self.line_point(j1, q1, p0, e, Kind::EdgePoint { a: i, b: j1 }, normal, out);
                }
            });
        });
        // The face nearest to the normal, if any, with its own normal: each point is a constraint of its own.
        let face_of = |core: &Core, element: Element, n: V| -> Option<(u32, f64)> {
            let vertex = match element {
                Element::Vertex(v) => v,
                Element::Edge(e) => core.edge_ends(e)[0],
                Element::Face(f) => core.face_vertex(f, 0),
            };
            let f = match element {
                Element::Edge(e) => match core.edge_faces(e) {
                    Some([f, g]) => Some(if core.normal(f).dot(&n) >= core.normal(g).dot(&n) { f } else { g }),
                    None => core.face_at(vertex, n),
                },
                _ => core.face_at(vertex, n),
            }?;
            let along = core.normal(f).dot(&n);
            (along >= NEAR_FACE).then_some((f, along))
        };
        let (on_a, on_b) = (face_of(a, elements.0, -normal), face_of(b, elements.1, normal));
        match (on_a, on_b) {
            (Some((f, x)), Some((g, y))) => {
                if prefer_a(a, f, b, g, x - y) {
                    self.face(true, f, Some(nearest), out);
                } else {
                    self.face(false, g, Some(nearest), out);
                }
            }
            (Some((f, _)), None) => {
                self.face(true, f, Some(nearest), out);
            }
            (None, Some((g, _))) => {
                self.face(false, g, Some(nearest), out);
            }
            (None, None) => {}
        }
    }
    /// A vertex beside a parallel edge, if its foot lies on the edge and the normal agrees with the nearest contact and the edge.
    fn line_point(&self, vertex: u32, p: V, q: V, f: V, kind: Kind, normal: V, out: &mut Vec<Contact<Spatial>>) {
        let t = f.dot(&(p - q)) / f.norm_squared();
        if !(-ON_SIDE..=1.0 + ON_SIDE).contains(&t) {
            return;
        }
        let raw = evaluate(kind, self.a, self.b);
        if raw.normal.dot(&normal) < SAME_DIRECTION {
            return;
        }
        let slack = super::axes::NORMAL_SLACK;
        let fits = match kind {
            Kind::PointEdge { b: edge, .. } => {
                in_cone(self.b, edge, raw.normal)
                    && self.b.allows(Element::Edge(edge), raw.normal, slack)
                    && self.a.allows(Element::Vertex(vertex), -raw.normal, slack)
            }
            Kind::EdgePoint { a: edge, .. } => {
                in_cone(self.a, edge, -raw.normal)
                    && self.a.allows(Element::Edge(edge), -raw.normal, slack)
                    && self.b.allows(Element::Vertex(vertex), raw.normal, slack)
            }
            _ => false,
        };
        if fits {
            self.push(kind, out);
        }
    }
}

/// The kind seen from the incident shape as first, turned so that the reference is a when asked.
fn oriented(reference_is_a: bool, kind: Kind) -> Kind {
    if reference_is_a { kind.swapped() } else { kind }
}

/// Which of two nearly opposite faces becomes the reference: the better one, of equals the larger, then that of a.
pub(super) fn prefer_a(a: &Core, face_a: u32, b: &Core, face_b: u32, advantage: f64) -> bool {
    /// Relative difference of areas or cosines below rounding of turned shapes.
    const EQUAL: f64 = 1e-9;
    if advantage.abs() > EQUAL {
        return advantage > 0.0;
    }
    let (x, y) = (a.face_area(face_a), b.face_area(face_b));
    x >= y * (1.0 - EQUAL)
}

/// Calls `each` for the edges of an element: itself, or all edges at a vertex.
fn for_edges(core: &Core, element: Element, mut each: impl FnMut(u32)) {
    match element {
        Element::Edge(e) => each(e),
        Element::Vertex(v) => (0..core.edge_count() as u32).filter(|e| core.edge_ends(*e).contains(&v)).for_each(each),
        Element::Face(_) => {}
    }
}

/// Whether a normal out of an edge leaves both of its faces behind.
pub(super) fn in_cone(core: &Core, edge: u32, n: V) -> bool {
    let Some([f, g]) = core.edge_faces(edge) else { return true };
    let (p, q) = core.edge(edge);
    let along = (q - p).normalize();
    let (nf, ng) = (core.normal(f), core.normal(g));
    // In-plane directions from the edge into each face: across the edge, away from the other face's outside.
    let into = |own: V, other: V| {
        let t = along.cross(&own);
        if t.dot(&other) > 0.0 { -t } else { t }
    };
    n.dot(&into(nf, ng)) <= ON_SIDE && n.dot(&into(ng, nf)) <= ON_SIDE
}

/// The vertex shared by sides i and j of a face.
fn shared(core: &Core, face: u32, i: u32, j: u32) -> Option<u32> {
    let n = core.face_len(face) as u32;
    if (i + 1) % n == j {
        Some(core.face_vertex(face, j as usize))
    } else if (j + 1) % n == i {
        Some(core.face_vertex(face, i as usize))
    } else {
        None
    }
}

/// Where a corner of the clipped polygon comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// A vertex of the incident core.
    Vertex(u32),
    /// An edge of the incident core across a side of the reference face.
    Crossing(u32, u32),
    /// Two sides of the reference face.
    Corner(u32, u32),
}

/// What the polygon follows after a corner.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Line {
    Incident(u32),
    Side(u32),
}

#[derive(Clone, Copy, Debug)]
struct Corner {
    p: V,
    source: Source,
    next: Line,
}

struct Polygon<const N: usize> {
    corners: [Corner; N],
    len: usize,
}

impl<const N: usize> Polygon<N> {
    fn new() -> Self {
        let blank = Corner { p: V::zeros(), source: Source::Vertex(0), next: Line::Side(0) };
        Polygon { corners: [blank; N], len: 0 }
    }
    /// Appends a corner; a full buffer drops it, which the limit on face vertices rules out.
    fn push(&mut self, corner: Corner) {
        if self.len < N {
            self.corners[self.len] = corner;
            self.len += 1;
        }
    }
    /// Keeps what lies behind a plane.
    fn cut(&mut self, outward: V, on_plane: V, side: u32, slack: f64) {
        let height = |p: V| outward.dot(&(p - on_plane));
        if (0..self.len).all(|k| height(self.corners[k].p) <= slack) {
            return;
        }
        let old = Polygon { corners: self.corners, len: self.len };
        self.len = 0;
        for k in 0..old.len {
            let (from, to) = (old.corners[k], old.corners[(k + 1) % old.len]);
            let (x, y) = (height(from.p), height(to.p));
            let cross = |line: Line| match line {
                Line::Incident(edge) => Source::Crossing(edge, side),
                Line::Side(other) => Source::Corner(other, side),
            };
            let at = |x: f64, y: f64| from.p + (to.p - from.p) * (x / (x - y));
            if x <= slack {
                if y <= slack {
                    self.push(from);
                } else if x >= -slack {
                    // The corner itself lies on the plane: it is the crossing.
                    self.push(Corner { next: Line::Side(side), ..from });
                } else {
                    self.push(from);
                    self.push(Corner { p: at(x, y), source: cross(from.next), next: Line::Side(side) });
                }
            } else if y < -slack {
                self.push(Corner { p: at(x, y), source: cross(from.next), next: from.next });
            }
        }
    }
}

/// Keeps at most four contacts of `out[start..]`.
pub(super) fn reduce(out: &mut Vec<Contact<Spatial>>, start: usize) {
    let kept = reduce_slice(&mut out[start..]);
    out.truncate(start + kept);
}

/// Moves at most four contacts to the front and returns their number: the deepest, the one farthest from it, and the two that span
/// most area on either side of their line. Equal choices fall to the first.
pub(super) fn reduce_slice(list: &mut [Contact<Spatial>]) -> usize {
    if list.len() <= MAX_POINTS {
        return list.len();
    }
    // Midway between the witnesses, so that the order of the shapes does not matter.
    let place = |c: &Contact<Spatial>| (c.point_a + c.point_b) * 0.5;
    // The greatest; within the slack of equals the first, so that rounding does not choose.
    let pick = |list: &[Contact<Spatial>], from: usize, slack: f64, measure: &dyn Fn(&Contact<Spatial>) -> f64| {
        let greatest = list[from..].iter().fold(f64::NEG_INFINITY, |m, c| m.max(measure(c)));
        (from..list.len()).find(|k| measure(&list[*k]) >= greatest - slack).unwrap_or(from)
    };
    let spread = list.iter().fold(0.0, |m: f64, c| m.max((place(c) - place(&list[0])).norm()));
    let slack = EVEN * spread;
    // Of several deepest the outermost: a point within a patch would waste one of the four.
    let middle = list.iter().fold(V::zeros(), |sum, c| sum + place(c)) / list.len() as f64;
    let deepest = list.iter().fold(f64::INFINITY, |m, c| m.min(c.gap));
    let outer = |c: &Contact<Spatial>| if c.gap <= deepest + DEEP * spread { (place(c) - middle).norm() } else { -1.0 };
    list.swap(0, pick(list, 0, slack, &outer));
    let (first, normal) = (place(&list[0]), list[0].normal);
    list.swap(1, pick(list, 1, slack, &|c| (place(c) - first).norm()));
    let second = place(&list[1]);
    let area = |c: &Contact<Spatial>| normal.dot(&(second - first).cross(&(place(c) - first)));
    list.swap(2, pick(list, 2, slack * spread, &|c| area(c).abs()));
    let side = area(&list[2]).signum();
    list.swap(3, pick(list, 3, slack * spread, &|c| -side * area(c)));
    MAX_POINTS
}
