//! Contacts and distance of two bounded cores: nearest features while apart, separating axes while they meet, theory (8.10)-(8.13).

use super::axes::{Axes, FACE_BIAS, PARALLEL, axes};
use super::core::{Body, Core, Element};
use super::feature::{Kind, evaluate};
use super::gjk::{self, Until, Vertex};
use super::manifold::{Pair, prefer_a};
use crate::contact::Contact;
use carom_math::Spatial;
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Cores closer than this part of the size meet: their difference no longer carries a direction, the axes do.
const TOUCH: f64 = 1e-10;
/// Agreement of two roads to the distance, as part of the size, that proves the nearest features.
const CERTAIN: f64 = 1e-12;
/// Rounding of a distance along a face normal, as part of the size.
const ROUNDING: f64 = 1e-14;

/// How two cores that are apart are nearest to each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closest {
    pub elements: (Element, Element),
    pub distance: f64,
}

/// Length scale of a pair \[m\]: of the smaller core where it has one, so that a small body on a large one keeps its accuracy.
pub(super) fn size(a: &Core, b: &Core) -> f64 {
    let (x, y) = (a.scale(), b.scale());
    if x > 0.0 && y > 0.0 { x.min(y) } else { x.max(y) }
}

/// Appends the contacts of two bounded cores within reach.
pub(super) fn contacts(pair: &Pair, out: &mut Vec<Contact<Spatial>>) {
    let (a, b) = (pair.a, pair.b);
    let radii = a.radius + b.radius;
    let boxes = matches!((&a.body, &b.body), (Body::Cuboid(_), Body::Cuboid(_)));
    // Fifteen axes of two boxes are cheaper than the iteration, and mostly decide.
    let mut near = if boxes { Near::Unknown } else { iterate(a, b, pair.reach + radii) };
    if let Near::Unknown = near {
        let axes = axes(a, b);
        let best = axes.best(pair.size);
        if best - radii > pair.reach {
            return;
        }
        if best <= ROUNDING * pair.size {
            return meeting(pair, &axes, out);
        }
        if !axes.crossed(pair.size) {
            let floor = best - radii - CERTAIN * pair.size;
            let least = best_face(&Pair { floor, ..*pair }, &axes, out);
            // A point at the largest separation any axis shows is nearest.
            if least <= best - radii + CERTAIN * pair.size {
                return;
            }
            out.truncate(pair.start);
        }
        if boxes {
            near = iterate(a, b, pair.reach + radii);
        }
        if let Near::Unknown = near {
            let closest = by_hand(a, b);
            if closest.distance <= TOUCH * pair.size {
                return meeting(pair, &axes, out);
            }
            near = Near::Apart(closest);
        }
    }
    if let Near::Apart(closest) = near
        && closest.distance - radii <= pair.reach
    {
        apart(&Pair { floor: closest.distance - radii - CERTAIN * pair.size, ..*pair }, &closest, out);
    }
}

/// Signed distance of two bounded cores.
pub(super) fn separation(a: &Core, b: &Core, cutoff: f64) -> f64 {
    let radii = a.radius + b.radius;
    let size = size(a, b);
    match iterate(a, b, cutoff + radii) {
        Near::Apart(closest) => closest.distance - radii,
        Near::Far(bound) => bound - radii,
        Near::Unknown => {
            let best = axes(a, b).best(size);
            let distance = if best <= ROUNDING * size { best } else { by_hand(a, b).distance };
            // Two points, or segments in one line, have no axis: they coincide.
            if distance == f64::NEG_INFINITY { -radii } else { distance - radii }
        }
    }
}

/// Contacts of cores that are apart: the nearest features, then the rest of a line or patch they belong to.
fn apart(pair: &Pair, closest: &Closest, out: &mut Vec<Contact<Spatial>>) {
    let (a, b) = (pair.a, pair.b);
    let slack = super::axes::NORMAL_SLACK;
    let least = match closest.elements {
        (Element::Face(f), Element::Face(g)) => {
            let on_a = prefer_a(a, f, b, g, 0.0);
            pair.face(on_a, if on_a { f } else { g }, None, out)
        }
        (Element::Face(f), other) if b.allows(other, -a.normal(f), slack) => face_or_larger(pair, true, f, out),
        (other, Element::Face(g)) if a.allows(other, -b.normal(g), slack) => face_or_larger(pair, false, g, out),
        (Element::Face(_), _) | (_, Element::Face(_)) => return,
        elements => {
            let kind = kind_of(a, b, elements);
            let nearest = evaluate(kind, a, b);
            if a.allows(elements.0, -nearest.normal, slack) && b.allows(elements.1, nearest.normal, slack) {
                pair.push(kind, out);
                pair.supplement(elements, &nearest, out);
            }
            return;
        }
    };
    if least > closest.distance - a.radius - b.radius + CERTAIN * pair.size {
        // The nearest vertex lies beside the face by less than the gap can tell.
        pair.push(kind_of(a, b, closest.elements), out);
    }
}

/// The manifold on a face, or on the opposite face of the other core when that is parallel and larger.
fn face_or_larger(pair: &Pair, on_a: bool, face: u32, out: &mut Vec<Contact<Spatial>>) -> f64 {
    let (core, other) = if on_a { (pair.a, pair.b) } else { (pair.b, pair.a) };
    let n = core.normal(face);
    if other.face_count() > 0
        && let Some(g) = other.face_at(other.support(-n), -n)
    {
        let m = other.normal(g);
        /// Sine below which two faces are parallel enough to exchange roles without a change of the gap.
        const EXCHANGE: f64 = 1e-6;
        let triangle = matches!(other.body, Body::Triangle(_));
        let parallel = m.dot(&n) < 0.0 && m.cross(&n).norm() <= EXCHANGE;
        // A triangle of a surface always stays the reference, so that its borders count.
        if parallel && !matches!(core.body, Body::Triangle(_)) && (triangle || !prefer_a(core, face, other, g, 0.0)) {
            return pair.face(!on_a, g, None, out);
        }
    }
    pair.face(on_a, face, None, out)
}

/// Contacts of cores that meet: the axis of least overlap.
fn meeting(pair: &Pair, axes: &Axes, out: &mut Vec<Contact<Spatial>>) {
    let (a, b) = (pair.a, pair.b);
    if axes.best(pair.size) == f64::NEG_INFINITY {
        // Two points, or parallel segments in one line: no axis is better than another.
        if a.face_count() == 0 && b.face_count() == 0 {
            pair.push(Kind::PointPoint { a: a.support(b.pos - a.pos), b: b.support(a.pos - b.pos) }, out);
        }
        return;
    }
    if axes.edges.0 - a.radius - b.radius > pair.reach {
        return;
    }
    if axes.crossed(pair.size) {
        let kind = axes.edges.1;
        if let Kind::EdgeEdge { a: i, b: j, .. } = kind {
            let nearest = evaluate(kind, a, b);
            pair.push(kind, out);
            pair.supplement((Element::Edge(i), Element::Edge(j)), &nearest, out);
        }
        return;
    }
    let least = best_face(pair, axes, out);
    if least == f64::INFINITY && axes.best_face() - a.radius - b.radius <= pair.reach {
        // The deepest vertex lies beside the face (a sliver of overlap): it is the contact.
        let kind = if axes.face_a.0 >= axes.face_b.0 {
            Kind::FacePoint { a: axes.face_a.1, b: b.support(-a.normal(axes.face_a.1)) }
        } else {
            Kind::PointFace { a: a.support(-b.normal(axes.face_b.1)), b: axes.face_b.1 }
        };
        pair.push(kind, out);
    }
}

/// The manifold of the better face; of equals the larger.
fn best_face(pair: &Pair, axes: &Axes, out: &mut Vec<Contact<Spatial>>) -> f64 {
    let ((x, f), (y, g)) = (axes.face_a, axes.face_b);
    let on_a = if (x - y).abs() <= FACE_BIAS * pair.size {
        match (&pair.a.body, &pair.b.body) {
            (Body::Triangle(_), _) => true,
            (_, Body::Triangle(_)) => false,
            _ => prefer_a(pair.a, f, pair.b, g, 0.0),
        }
    } else {
        x > y
    };
    if on_a { pair.face(true, f, None, out) } else { pair.face(false, g, None, out) }
}

/// The feature of two elements neither of which is a face.
fn kind_of(a: &Core, b: &Core, elements: (Element, Element)) -> Kind {
    match elements {
        (Element::Vertex(i), Element::Vertex(j)) => Kind::PointPoint { a: i, b: j },
        (Element::Vertex(i), Element::Edge(j)) => Kind::PointEdge { a: i, b: j },
        (Element::Edge(i), Element::Vertex(j)) => Kind::EdgePoint { a: i, b: j },
        (Element::Edge(i), Element::Edge(j)) => {
            let ((p0, p1), (q0, q1)) = (a.edge(i), b.edge(j));
            let cross = (p1 - p0).cross(&(q1 - q0));
            Kind::EdgeEdge { a: i, b: j, flip: cross.dot(&(p0 - q0)) < 0.0 }
        }
        (Element::Face(f), _) => Kind::FacePoint { a: f, b: b.support(-a.normal(f)) },
        (_, Element::Face(g)) => Kind::PointFace { a: a.support(-b.normal(g)), b: g },
    }
}

/// What the iteration could prove.
#[derive(Clone, Copy, Debug)]
pub(super) enum Near {
    /// The nearest features.
    Apart(Closest),
    /// The distance exceeds what was asked for; a bound of it \[m\].
    Far(f64),
    /// Too close to tell, or meeting.
    Unknown,
}

/// The nearest features of two cores by iteration, as far as it can prove them; a distance above `enough` needs no features.
pub(super) fn iterate(a: &Core, b: &Core, enough: f64) -> Near {
    let support = |d: V| {
        let (ia, ib) = (a.support(-d), b.support(d));
        let (p, q) = (a.vertex(ia), b.vertex(ib));
        Vertex { w: p - q, b: q, ia, ib }
    };
    let scale = a.scale().max(b.scale());
    let near = gjk::nearest(support, a.pos - b.pos, Until { touch: TOUCH * scale, enough, relative: gjk::RELATIVE });
    if near.lower > enough {
        return Near::Far(near.lower);
    }
    let scale = scale.max(near.distance);
    if near.distance <= TOUCH * scale {
        return Near::Unknown;
    }
    // Where the features stay unproven but a plane lies between, all features are tried.
    let unproven = || {
        if near.lower <= ROUNDING * scale {
            return Near::Unknown;
        }
        let hand = by_hand(a, b);
        Near::Apart(Closest { elements: flat(a, b, hand.elements, hand.distance, scale), distance: hand.distance })
    };
    let (list_a, len_a) = near.features(|v| v.ia);
    let (list_b, len_b) = near.features(|v| v.ib);
    let (Some(ea), Some(eb)) = (a.smallest(&list_a[..len_a]), b.smallest(&list_b[..len_b])) else { return unproven() };
    let elements = settle(a, b, (ea, eb));
    // The exact distance of the features must be the one found.
    let found = evaluate(kind_of(a, b, elements), a, b);
    let signed = found.gap + a.radius + b.radius;
    // Behind a triangle the distance is counted as negative; such a pair is apart too, and its contacts fall below the floor.
    let exact = if matches!(b.body, Body::Triangle(_)) { signed.abs() } else { signed };
    if (exact - near.distance).abs() > CERTAIN * scale {
        return unproven();
    }
    // Near touch the iteration has no digits left for its plane; the features have, (8.18).
    if near.distance - near.lower > CERTAIN * scale {
        let n = found.normal;
        let between = n.dot(&(a.vertex(a.support(-n)) - b.vertex(b.support(n))));
        if between < exact - CERTAIN * scale {
            return unproven();
        }
    }
    Near::Apart(Closest { elements: flat(a, b, elements, exact, scale), distance: exact })
}

/// A face in place of its own edge or vertex where that is as near: close to touching the difference of the nearest points has no
/// digits left to give the normal, the face has.
fn flat(a: &Core, b: &Core, elements: (Element, Element), distance: f64, scale: f64) -> (Element, Element) {
    if matches!(elements.0, Element::Face(_)) || matches!(elements.1, Element::Face(_)) {
        return elements;
    }
    let normal = evaluate(kind_of(a, b, elements), a, b).normal;
    let first = |core: &Core, element: Element| match element {
        Element::Vertex(v) => v,
        Element::Edge(e) => core.edge_ends(e)[0],
        Element::Face(f) => core.face_vertex(f, 0),
    };
    let nearest = |core: &Core, other: &Core, element: Element, n: V| {
        let face = core.face_at(first(core, element), n)?;
        let m = core.normal(face);
        let separation = m.dot(&(other.vertex(other.support(-m)) - core.face_point(face)));
        (separation >= distance - ROUNDING * scale).then_some(face)
    };
    if let Some(f) = nearest(a, b, elements.0, -normal) {
        return (Element::Face(f), elements.1);
    }
    if let Some(g) = nearest(b, a, elements.1, normal) {
        return (elements.0, Element::Face(g));
    }
    elements
}

/// Parallel edges have no common normal of their own: an end of one beside the other takes their place.
fn settle(a: &Core, b: &Core, elements: (Element, Element)) -> (Element, Element) {
    let (Element::Edge(i), Element::Edge(j)) = elements else { return elements };
    let ((p0, p1), (q0, q1)) = (a.edge(i), b.edge(j));
    let (e, f) = (p1 - p0, q1 - q0);
    if e.cross(&f).norm() > PARALLEL * e.norm() * f.norm() {
        return elements;
    }
    let foot = |p: V, q: V, f: V| f.dot(&(p - q)) / f.norm_squared();
    let inside = |t: f64| (0.0..=1.0).contains(&t);
    let ([i0, i1], [j0, j1]) = (a.edge_ends(i), b.edge_ends(j));
    let mut best = elements;
    let mut least = f64::INFINITY;
    let trials = [
        (foot(p0, q0, f), (Element::Vertex(i0), Element::Edge(j))),
        (foot(p1, q0, f), (Element::Vertex(i1), Element::Edge(j))),
        (foot(q0, p0, e), (Element::Edge(i), Element::Vertex(j0))),
        (foot(q1, p0, e), (Element::Edge(i), Element::Vertex(j1))),
    ];
    for (t, trial) in trials {
        let distance = evaluate(kind_of(a, b, trial), a, b).gap;
        if inside(t) && distance < least {
            (best, least) = (trial, distance);
        }
    }
    best
}

/// The nearest features by trying all: vertices over faces and pairs of edges. Slow and sure; used where the iteration cannot prove
/// its answer, and by the tests.
pub(super) fn by_hand(a: &Core, b: &Core) -> Closest {
    let mut best = Closest { elements: (Element::Vertex(0), Element::Vertex(0)), distance: f64::INFINITY };
    let mut offer = |elements: (Element, Element), distance: f64| {
        if distance < best.distance {
            best = Closest { elements, distance };
        }
    };
    for (core, other, swap) in [(a, b, false), (b, a, true)] {
        let order = |x: Element, y: Element| if swap { (y, x) } else { (x, y) };
        for v in 0..core.vertex_count() as u32 {
            let p = core.vertex(v);
            for u in 0..other.vertex_count() as u32 {
                offer(order(Element::Vertex(v), Element::Vertex(u)), (p - other.vertex(u)).norm());
            }
            for e in 0..other.edge_count() as u32 {
                let (q0, q1) = other.edge(e);
                let f = q1 - q0;
                let t = f.dot(&(p - q0)) / f.norm_squared();
                if t > 0.0 && t < 1.0 {
                    offer(order(Element::Vertex(v), Element::Edge(e)), (p - q0 - f * t).norm());
                }
            }
            for f in 0..other.face_count() as u32 {
                let n = other.normal(f);
                let height = n.dot(&(p - other.face_point(f)));
                let over = (0..other.face_len(f)).all(|k| {
                    let (q0, q1) = (other.vertex(other.face_vertex(f, k)), other.vertex(other.face_vertex(f, k + 1)));
                    (q1 - q0).cross(&n).dot(&(p - q0)) <= 0.0
                });
                let back = matches!(other.body, Body::Triangle(_));
                if over && (height >= 0.0 || back) {
                    offer(order(Element::Vertex(v), Element::Face(f)), height.abs());
                }
            }
        }
    }
    for i in 0..a.edge_count() as u32 {
        let (p0, p1) = a.edge(i);
        for j in 0..b.edge_count() as u32 {
            let (q0, q1) = b.edge(j);
            let (e, f, d) = (p1 - p0, q1 - q0, p0 - q0);
            let cross = e.cross(&f);
            let n2 = cross.norm_squared();
            if n2.sqrt() <= PARALLEL * e.norm() * f.norm() {
                continue;
            }
            let (s, t) = (-d.cross(&f).dot(&cross) / n2, -d.cross(&e).dot(&cross) / n2);
            if s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0 {
                offer((Element::Edge(i), Element::Edge(j)), d.dot(&cross).abs() / n2.sqrt());
            }
        }
    }
    best
}
