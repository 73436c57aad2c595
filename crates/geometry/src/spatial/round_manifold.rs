//! The contact points of a cylinder or cone with anything: on faces, on flat ends, along lines, and where nothing of this is near the
//! nearest points, theory (8.14)-(8.17).

use super::axes::NORMAL_SLACK;
use super::core::{Body, Core, Element};
use super::feature::{Curve, Feature, Kind, Raw};
use super::manifold;
use super::mesh::Mesh;
use super::nearest::{Nearest, pair_size, whole};
use super::round::{Round, Solid, evaluate, wall_crossing};
use crate::contact::Contact;
use carom_math::{Pose, Spatial};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Normals this close (cosine) to a face or flat end make use of it; see the manifold of polyhedra.
const NEAR_FACE: f64 = 0.98;
/// Lines closer to parallel than this sine touch along a line.
const NEAR_PARALLEL: f64 = 0.05;
/// A normal square to the axis within this cosine belongs to the side.
const SQUARE: f64 = 0.2;
/// Points closer than this part of the size are one.
const SAME_CONTACT: f64 = 1e-7;
/// A point this part of the size outside a face still lies on it.
const ON_SIDE: f64 = 1e-10;
/// How far the iteration for the nearest points may differ from the closed form of the same contact, as part of the size.
const AGREE: f64 = 1e-11;
/// How far the iteration may be off where curved features are nearly touching, as part of the size.
const CLOSE: f64 = 1e-6;
/// A point of a manifold keeps the direction of the nearest one up to this cosine.
const SAME_DIRECTION: f64 = 0.9;
/// Marks of a rim within an eighth turn of its lowest point give way to it (cosine, with room for rounding).
const EIGHTH: f64 = std::f64::consts::FRAC_1_SQRT_2 + 1e-9;

/// Two solids being examined; `n` points from b to a.
#[derive(Clone, Copy)]
struct Pair<'p, 'a> {
    a: &'p Solid<'a>,
    b: &'p Solid<'a>,
    n: V,
    floor: f64,
    reach: f64,
    size: f64,
    origin: V,
    part: u32,
    start: usize,
    /// The nearest points where a search without a guess has found them.
    whole: Option<Raw>,
}

impl Pair<'_, '_> {
    /// The contact of two features.
    fn raw(&self, a: Curve, b: Curve) -> Raw {
        match (self.whole, a, b) {
            (Some(whole), Curve::Whole, Curve::Whole) => whole,
            _ => evaluate(Kind::Round { a, b }, self.a, self.b),
        }
    }
    /// Appends a contact, or only measures it where it is no end of the contact.
    fn offer(&self, a: Curve, b: Curve, keep: bool, out: &mut Vec<Contact<Spatial>>) -> f64 {
        if keep { self.push(a, b, out) } else { self.raw(a, b).gap }
    }
    /// Appends a contact within reach that agrees with the axis and is not there yet; returns its gap.
    fn push(&self, a: Curve, b: Curve, out: &mut Vec<Contact<Spatial>>) -> f64 {
        let kind = Kind::Round { a, b };
        let raw = self.raw(a, b);
        if raw.gap > self.reach || raw.gap < self.floor || raw.normal.dot(&self.n) < SAME_DIRECTION {
            return f64::INFINITY;
        }
        let contact: Contact<Spatial> = raw.named(Feature { part: self.part, kind }, self.origin);
        let twice = 2.0 * SAME_CONTACT * self.size;
        for old in &mut out[self.start..] {
            let apart = (old.point_a - contact.point_a) + (old.point_b - contact.point_b);
            if apart.norm_squared() <= twice * twice && old.normal.dot(&contact.normal) > SAME_DIRECTION {
                if contact.gap < old.gap {
                    *old = contact;
                }
                return raw.gap;
            }
        }
        out.push(contact);
        raw.gap
    }
}

/// Appends the contacts of two solids at least one of which is round.
pub(super) fn contacts(a: &Solid, b: &Solid, origin: V, reach: f64, out: &mut Vec<Contact<Spatial>>) {
    let start = out.len();
    let nearest = nearest(a, b, None, reach);
    contacts_near(a, b, &nearest, origin, reach, 0, start, out);
    manifold::reduce(out, start);
}

/// Appends the contacts of a round solid (a) on a surface (b).
pub(super) fn contacts_on_surface(a: &Round, surface: &Mesh, pose: &Pose<Spatial>, origin: V, reach: f64, out: &mut Vec<Contact<Spatial>>) {
    let start = out.len();
    let solid = Solid::Round(*a);
    surface.visit(&local_box(a, pose, origin).grown(reach.max(0.0)), |t| {
        let facet = surface.facet(t);
        let core = Core::placed(Body::Triangle(&facet), pose, origin, 0.0);
        let triangle = Solid::Core(core);
        let nearest = nearest(&solid, &triangle, Some(core.normal(0)), reach);
        if core.allows(element_at(&core, nearest.raw.point_b), nearest.raw.normal, NORMAL_SLACK) {
            contacts_near(&solid, &triangle, &nearest, origin, reach, t, start, out);
        }
    });
    super::mesh::thin(out, start);
}

/// Signed distance of two solids at least one of which is round.
pub(super) fn separation(a: &Solid, b: &Solid, cutoff: f64) -> f64 {
    nearest(a, b, None, cutoff).raw.gap
}

/// Signed distance of a round solid from a surface.
pub(super) fn separation_from_surface(a: &Round, surface: &Mesh, pose: &Pose<Spatial>, origin: V, cutoff: f64) -> f64 {
    let solid = Solid::Round(*a);
    surface.least(&local_box(a, pose, origin), cutoff, |t, _| {
        let facet = surface.facet(t);
        let core = Core::placed(Body::Triangle(&facet), pose, origin, 0.0);
        nearest(&solid, &Solid::Core(core), Some(core.normal(0)), f64::INFINITY).raw.gap
    })
}

/// The box of a round solid in the frame of a surface.
fn local_box(round: &Round, pose: &Pose<Spatial>, origin: V) -> crate::bounds::Aabb<Spatial> {
    let middle = pose.local_point(round.pos + origin);
    let axis = pose.local_direction(round.axis());
    let half = axis.abs() * round.half + axis.map(|c| round.radii[0] * (1.0 - c * c).max(0.0).sqrt());
    crate::bounds::Aabb { min: middle - half, max: middle + half }
}

/// The vertex, edge or face of a triangle on which a point lies.
fn element_at(core: &Core, p: V) -> Element {
    let slack = SAME_CONTACT * core.scale();
    for v in 0..core.vertex_count() as u32 {
        if (core.vertex(v) - p).norm() <= slack {
            return Element::Vertex(v);
        }
    }
    for e in 0..core.edge_count() as u32 {
        let (q0, q1) = core.edge(e);
        if (q1 - q0).normalize().cross(&(p - q0)).norm() <= slack {
            return Element::Edge(e);
        }
    }
    Element::Face(0)
}

/// The nearest points: closed forms for a half-space and a ball, the iteration for the rest. A gap above `enough` may be a lower bound only.
fn nearest(a: &Solid, b: &Solid, guess: Option<V>, enough: f64) -> Nearest {
    let exact = |raw: Raw| Nearest { raw, settled: true, guided: false };
    match (a, b) {
        (Solid::Core(Core { body: Body::Plane(_), .. }), _) => exact(nearest(b, a, guess.map(|n| -n), enough).raw.swapped()),
        (_, Solid::Core(plane @ Core { body: Body::Plane(_), .. })) => {
            let n = plane.normal(0);
            exact(super::feature::point_plane(a.support(-n), n, plane.pos, a.margin()))
        }
        (Solid::Core(Core { body: Body::Point(_), .. }), _) => exact(evaluate(Kind::Round { a: Curve::Vertex(0), b: Curve::Whole }, a, b)),
        (_, Solid::Core(Core { body: Body::Point(_), .. })) => exact(evaluate(Kind::Round { a: Curve::Whole, b: Curve::Vertex(0) }, a, b)),
        _ => whole(a, b, guess, enough),
    }
}

/// Appends the contacts about the nearest points.
fn contacts_near(a: &Solid, b: &Solid, found: &Nearest, origin: V, reach: f64, part: u32, start: usize, out: &mut Vec<Contact<Spatial>>) {
    let nearest = &found.raw;
    if nearest.gap > reach {
        return;
    }
    let size = pair_size(a, b);
    // No point is nearer than the nearest; while the solids meet, points measured along a nearby face may lie a little deeper, but
    // what lies much deeper belongs to another axis.
    let floor = if nearest.gap > 0.0 { nearest.gap - AGREE * size } else { 2.0 * nearest.gap - CLOSE * size };
    let whole = (!found.guided).then_some(*nearest);
    let pair = Pair { a, b, n: nearest.normal, floor, reach, size, origin, part, start, whole };
    let (ball_a, ball_b) = (is_ball(a), is_ball(b));
    if ball_a || ball_b {
        let (x, y) = if ball_a { (Curve::Vertex(0), Curve::Whole) } else { (Curve::Whole, Curve::Vertex(0)) };
        pair.push(x, y, out);
        return;
    }
    let (mut least, mut gap) = (f64::INFINITY, nearest.gap);
    // The nearest points in closed form where they have one: a vertex, or an edge across the side of a cylinder. On the face of a
    // triangle its border may be inner and the neighbour goes on.
    let flat = |solid: &Solid, n: V| matches!(solid, Solid::Core(core @ Core { body: Body::Triangle(_), .. }) if core.normal(0).dot(&n) >= NEAR_FACE);
    let over_triangle = flat(b, nearest.normal) || flat(a, -nearest.normal);
    for (x, y) in closed_forms(a, b, nearest).into_iter().flatten().filter(|_| !over_triangle) {
        let raw = evaluate(Kind::Round { a: x, b: y }, a, b);
        // Only where a bare vertex nearly touches a rim is the iteration less than exact: the normal is one of many.
        let vertex = matches!((x, y), (Curve::Vertex(_), _) | (_, Curve::Vertex(_)));
        let touching = vertex && !found.settled && nearest.gap + a.margin() + b.margin() <= CLOSE * size;
        if (raw.gap - nearest.gap).abs() <= if touching { CLOSE } else { AGREE } * size {
            // Its own normal: between bare corners that nearly touch the iteration finds one of many.
            gap = gap.max(raw.gap);
            let exact = Pair { floor: f64::NEG_INFINITY, n: raw.normal, ..pair };
            least = least.min(exact.push(x, y, out));
        }
    }
    if let Solid::Round(round) = a {
        candidates(round, b, nearest.normal, pair.size, &mut |x, y, keep| least = least.min(pair.offer(x, y, keep, out)));
    }
    if let Solid::Round(round) = b {
        candidates(round, a, -nearest.normal, pair.size, &mut |x, y, keep| least = least.min(pair.offer(y, x, keep, out)));
    }
    if least > gap + AGREE * size {
        pair.push(Curve::Whole, Curve::Whole, out);
    }
}

/// Closed forms that may describe the nearest points of two solids.
fn closed_forms(a: &Solid, b: &Solid, nearest: &Raw) -> [Option<(Curve, Curve)>; 2] {
    let n = nearest.normal;
    let across = |p: (V, V), q: (V, V)| {
        let (e, f, d) = (p.1 - p.0, q.1 - q.0, p.0 - q.0);
        let cross = e.cross(&f);
        let n2 = cross.norm_squared();
        let inside = |t: f64| t > 0.0 && t < 1.0;
        cross.norm() > NEAR_PARALLEL * e.norm() * f.norm() && inside(-d.cross(&f).dot(&cross) / n2) && inside(-d.cross(&e).dot(&cross) / n2)
    };
    let axis = |round: &Round| (round.centre(0), round.centre(1));
    // An edge of a core through the nearest point, square to the normal.
    let edge = |core: &Core, round: &Round, n: V| {
        let v = core.support(n);
        (0..core.edge_count() as u32)
            .find(|e| {
                let (p, q) = core.edge(*e);
                core.edge_ends(*e).contains(&v) && (q - p).normalize().dot(&n).abs() <= NEAR_PARALLEL && across((p, q), axis(round))
            })
            .filter(|_| round.is_cylinder())
    };
    match (a, b) {
        (Solid::Round(x), Solid::Core(y)) => {
            let vertex = (Curve::Whole, Curve::Vertex(y.support(n)));
            [Some(vertex), edge(y, x, n).map(|e| (Curve::Side, Curve::Edge(e)))]
        }
        (Solid::Core(x), Solid::Round(y)) => {
            let vertex = (Curve::Vertex(x.support(-n)), Curve::Whole);
            [Some(vertex), edge(x, y, -n).map(|e| (Curve::Edge(e), Curve::Side))]
        }
        (Solid::Round(x), Solid::Round(y)) if x.is_cylinder() && y.is_cylinder() && across(axis(x), axis(y)) => {
            [Some((Curve::Side, Curve::Side)), None]
        }
        _ => [None, None],
    }
}

fn is_ball(solid: &Solid) -> bool {
    matches!(solid, Solid::Core(Core { body: Body::Point(_), .. }))
}

/// Offers every pair of features of a round solid and another that may be near along `n`, from the other to the round solid.
fn candidates(round: &Round, other: &Solid, n: V, size: f64, offer: &mut dyn FnMut(Curve, Curve, bool)) {
    match other {
        Solid::Core(core) => {
            let face = core.face_at(core.support(n), n).filter(|f| core.normal(*f).dot(&n) >= NEAR_FACE);
            if let Some(face) = face {
                over_face(round, core, face, size, offer);
            }
            under_cap(round, core, face, n, size, offer);
            along_edges(round, core, n, offer);
        }
        Solid::Round(base) => {
            let along = base.axis().dot(&n);
            let cap = u32::from(along > 0.0);
            if along.abs() >= NEAR_FACE && base.radius(cap as u8) > 0.0 {
                over_cap(round, base, cap, size, offer);
            }
            // Two cylinders side by side.
            let upright = along.abs() > SQUARE;
            if !upright && base.is_cylinder() && round.is_cylinder() && round.axis().cross(&base.axis()).norm() <= NEAR_PARALLEL {
                for rim in 0..2 {
                    let foot = base.axis().dot(&(round.centre(rim) - base.pos));
                    if foot.abs() <= base.half + ON_SIDE * size {
                        offer(Curve::Centre(rim), Curve::Side, true);
                    }
                }
            }
        }
    }
}

/// Lowest points and marks of both rims, or the apex, that lie over a flat feature with normal `up`.
fn rims_over(round: &Round, up: V, over: &dyn Fn(V) -> bool, offer: &mut dyn FnMut(Curve)) {
    let (down, tilt) = round.downhill(up);
    for rim in 0..2 {
        if round.radius(rim) == 0.0 {
            if over(round.centre(rim)) {
                offer(Curve::Vertex(0));
            }
            continue;
        }
        if tilt > 0.0 && over(round.lowest(rim, up)) {
            offer(Curve::Rim(rim));
        }
        for quarter in 0..4 {
            let beside = tilt == 0.0 || round.mark_direction(quarter).dot(&down) <= EIGHTH;
            if beside && over(round.mark(rim, quarter)) {
                offer(Curve::Mark(rim, quarter));
            }
        }
    }
}

/// The points of a round solid over a face of a core: rims, the lowest line, and both cut by the sides of the face.
fn over_face(round: &Round, core: &Core, face: u32, size: f64, offer: &mut dyn FnMut(Curve, Curve, bool)) {
    let n = core.normal(face);
    let slack = ON_SIDE * size;
    let corner = |k: usize| core.vertex(core.face_vertex(face, k));
    let over_but = |p: V, skip: usize| {
        (0..core.face_len(face)).all(|k| {
            k == skip || {
                let outward = (corner(k + 1) - corner(k)).cross(&n);
                outward.dot(&(p - corner(k))) <= slack * outward.norm()
            }
        })
    };
    rims_over(round, n, &|p| over_but(p, usize::MAX), &mut |curve| offer(curve, Curve::Face(face), true));
    let line = (round.lowest(0, n), round.lowest(1, n));
    let flat = round.axis().dot(&n).abs() >= NEAR_FACE;
    for side in 0..core.face_len(face) {
        // Over an inner edge of a surface the neighbour goes on; the point there is no end of the contact.
        let keep = core.ridge(side as u32);
        let outward = (corner(side + 1) - corner(side)).cross(&n);
        let wall = Curve::Wall(face, side as u32);
        let (x, y) = (outward.dot(&(line.0 - corner(side))), outward.dot(&(line.1 - corner(side))));
        if x * y < 0.0 && over_but(line.0 + (line.1 - line.0) * (x / (x - y)), side) {
            offer(Curve::Generator, wall, keep);
        }
        if flat {
            // Only the end that looks at the face.
            let rim = u8::from(round.axis().dot(&n) < 0.0);
            for root in 0..2 {
                let raw = evaluate(Kind::Round { a: Curve::Cut(rim, root), b: wall }, &Solid::Round(*round), &Solid::Core(*core));
                if round.radius(rim) > 0.0 && over_but(raw.point_a, side) {
                    offer(Curve::Cut(rim, root), wall, keep);
                }
            }
        }
    }
}

/// The points of a round solid over a flat end of another.
fn over_cap(round: &Round, base: &Round, cap: u32, size: f64, offer: &mut dyn FnMut(Curve, Curve, bool)) {
    let (n, centre, radius) = (base.cap_normal(cap), base.centre(cap as u8), base.radius(cap as u8));
    let over = |p: V| {
        let d = p - centre;
        (d - n * n.dot(&d)).norm() <= radius + ON_SIDE * size
    };
    rims_over(round, n, &over, &mut |curve| offer(curve, Curve::Face(cap), true));
    let line = (round.lowest(0, n), round.lowest(1, n));
    let upright = round.axis().dot(&n).abs() >= NEAR_FACE;
    for root in 0..2 {
        if !upright && wall_crossing(line.0, line.1, base, cap as u8, root).is_some_and(|t| t > 0.0 && t < 1.0) {
            offer(Curve::GeneratorCut(root), Curve::Face(cap), true);
        }
        let rim = u8::from(round.axis().dot(&n) < 0.0);
        if upright && round.radius(rim) > 0.0 && round.lens(rim, root, base, cap as u8).is_some() {
            offer(Curve::Cut(rim, root), Curve::Rim(cap as u8), true);
        }
    }
}

/// The vertices and edges of a core under a flat end.
fn under_cap(round: &Round, core: &Core, face: Option<u32>, n: V, size: f64, offer: &mut dyn FnMut(Curve, Curve, bool)) {
    let along = round.axis().dot(&n);
    let cap = u32::from(along < 0.0);
    let radius = round.radius(cap as u8);
    if along.abs() < NEAR_FACE || radius == 0.0 {
        return;
    }
    let (m, centre) = (round.cap_normal(cap), round.centre(cap as u8));
    let mut vertex = |v: u32| {
        let d = core.vertex(v) - centre;
        if (d - m * m.dot(&d)).norm() <= radius + ON_SIDE * size && core.allows(Element::Vertex(v), -m, NORMAL_SLACK) {
            offer(Curve::Face(cap), Curve::Vertex(v), true);
        }
    };
    match (face, &core.body) {
        (Some(face), _) => (0..core.face_len(face)).for_each(|k| vertex(core.face_vertex(face, k))),
        (None, Body::Segment(_)) => {
            vertex(0);
            vertex(1);
            let (p, q) = core.edge(0);
            for root in 0..2 {
                if wall_crossing(p, q, round, cap as u8, root).is_some_and(|t| t > 0.0 && t < 1.0) {
                    offer(Curve::Face(cap), Curve::EdgeCut(0, root), true);
                }
            }
        }
        _ => vertex(core.support(n)),
    }
}

/// Line contact of a cylinder with edges along its axis.
fn along_edges(round: &Round, core: &Core, n: V, offer: &mut dyn FnMut(Curve, Curve, bool)) {
    if !round.is_cylinder() || core.edge_count() == 0 {
        return;
    }
    let axis = round.axis();
    if axis.dot(&n).abs() > SQUARE {
        return;
    }
    let deepest = core.support(n);
    for e in 0..core.edge_count() as u32 {
        let ends = core.edge_ends(e);
        let (p, q) = core.edge(e);
        let f = q - p;
        if !ends.contains(&deepest) || axis.cross(&f).norm() > NEAR_PARALLEL * f.norm() {
            continue;
        }
        for v in ends {
            if axis.dot(&(core.vertex(v) - round.pos)).abs() <= round.half && manifold::in_cone(core, e, n) {
                offer(Curve::Side, Curve::Vertex(v), true);
            }
        }
        for rim in 0..2 {
            let t = f.dot(&(round.centre(rim) - p)) / f.norm_squared();
            if (0.0..=1.0).contains(&t) && manifold::in_cone(core, e, n) {
                offer(Curve::Centre(rim), Curve::Edge(e), true);
            }
        }
    }
}
