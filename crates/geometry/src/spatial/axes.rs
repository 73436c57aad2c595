//! The best separating axis of two cores: face normals and crossed edges, theory (8.11).

use super::core::{Body, Core, Element};
use super::feature::Kind;
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Edges whose directions differ by less than this sine share their axis with a face.
pub(super) const PARALLEL: f64 = 1e-6;
/// An edge within this part of its length of the farthest vertex along an axis carries that axis.
const RIM: f64 = 1e-10;
/// Crossed edges win over faces only when better by this part of the size, so that a resting face keeps its points.
pub(super) const FACE_BIAS: f64 = 1e-10;
/// How far a normal may leave the range a surface allows, in radians: rounding over flat inner edges.
pub(super) const NORMAL_SLACK: f64 = 1e-5;

/// The axis of largest separation among the faces and among the crossed edges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes {
    /// Best face of a: its separation \[m\] and index.
    pub face_a: (f64, u32),
    /// Best face of b: its separation \[m\] and index.
    pub face_b: (f64, u32),
    /// Best pair of edges: separation \[m\] and feature.
    pub edges: (f64, Kind),
}

impl Axes {
    fn none() -> Axes {
        let nothing = f64::NEG_INFINITY;
        Axes { face_a: (nothing, 0), face_b: (nothing, 0), edges: (nothing, Kind::PointPoint { a: 0, b: 0 }) }
    }
    /// The largest separation \[m\] for a pair of a size.
    pub fn best(&self, size: f64) -> f64 {
        if self.crossed(size) { self.edges.0 } else { self.best_face() }
    }
    /// Whether crossed edges separate better than any face.
    pub fn crossed(&self, size: f64) -> bool {
        self.edges.0 > self.best_face() + FACE_BIAS * size
    }
    /// The larger separation along a face normal \[m\].
    pub fn best_face(&self) -> f64 {
        self.face_a.0.max(self.face_b.0)
    }
}

/// All axes of two cores.
pub(super) fn axes(a: &Core, b: &Core) -> Axes {
    if let (Body::Cuboid(half_a), Body::Cuboid(half_b)) = (&a.body, &b.body) {
        return box_axes(a, *half_a, b, *half_b);
    }
    let mut axes = Axes::none();
    axes.face_a = best_face(a, b);
    axes.face_b = best_face(b, a);
    best_edges(a, b, &mut axes);
    axes
}

/// The face of one core that the other stays farthest in front of.
fn best_face(core: &Core, other: &Core) -> (f64, u32) {
    let mut best = (f64::NEG_INFINITY, 0);
    for f in 0..core.face_count() as u32 {
        let n = core.normal(f);
        let deepest = other.support(-n);
        let separation = n.dot(&(other.vertex(deepest) - core.face_point(f)));
        if separation > best.0 && other.allows(Element::Vertex(deepest), -n, NORMAL_SLACK) {
            best = (separation, f);
        }
    }
    best
}

/// The pair of edges with the largest separation along their common normal. Two solids: only pairs whose normal arcs cross make a
/// face of the difference.
fn best_edges(a: &Core, b: &Core, axes: &mut Axes) {
    for i in 0..a.edge_count() as u32 {
        let (p0, p1) = a.edge(i);
        let e = p1 - p0;
        let normals_a = a.edge_faces(i).map(|f| [a.normal(f[0]), a.normal(f[1])]);
        for j in 0..b.edge_count() as u32 {
            let (q0, q1) = b.edge(j);
            let f = q1 - q0;
            let arcs = match (normals_a, b.edge_faces(j)) {
                (Some(na), Some(fb)) => {
                    let nb = [b.normal(fb[0]), b.normal(fb[1])];
                    if !arcs_cross(na, nb) {
                        continue;
                    }
                    Some(nb[0] + nb[1])
                }
                _ => None,
            };
            let cross = e.cross(&f);
            let length = cross.norm();
            if length <= PARALLEL * e.norm() * f.norm() {
                continue;
            }
            let n = cross / length;
            let flips: &[bool] = match arcs {
                Some(outward) => &[n.dot(&outward) < 0.0],
                None => &[false, true],
            };
            for flip in flips {
                let n = if *flip { -n } else { n };
                let (p, q) = (n.dot(&p0), n.dot(&q0));
                if p - q <= axes.edges.0 {
                    continue;
                }
                // Only edges on the rim of their core carry the axis; another pair does for the rest.
                let (low, high) = (n.dot(&a.vertex(a.support(-n))), n.dot(&b.vertex(b.support(n))));
                let slack = RIM * (e.norm() + f.norm());
                let carried = p - low <= slack && high - q <= slack;
                let open = a.allows(Element::Edge(i), -n, NORMAL_SLACK) && b.allows(Element::Edge(j), n, NORMAL_SLACK);
                if carried && open && low - high > axes.edges.0 {
                    axes.edges = (low - high, Kind::EdgeEdge { a: i, b: j, flip: *flip });
                }
            }
        }
    }
}

/// Whether the arc between the normals of an edge of a crosses the opposite arc of an edge of b on the unit sphere.
fn arcs_cross(na: [V; 2], nb: [V; 2]) -> bool {
    let (across_a, across_b) = (na[1].cross(&na[0]), nb[1].cross(&nb[0]));
    let (c, d) = (-nb[0].dot(&across_a), -nb[1].dot(&across_a));
    let (s, t) = (na[0].dot(&across_b), na[1].dot(&across_b));
    // Each arc has its ends on both sides of the other's circle, and they meet on the same half of the sphere.
    c * d < 0.0 && s * t < 0.0 && c * t > 0.0
}

/// Fifteen axes of two boxes in the frame of a.
fn box_axes(a: &Core, ha: V, b: &Core, hb: V) -> Axes {
    let r = a.rot.tr_mul(&b.rot);
    let absolute = r.abs();
    let t = a.rot.tr_mul(&(a.pos - b.pos));
    let tb = r.tr_mul(&t);
    let mut axes = Axes::none();
    let (reach_b, reach_a) = (absolute * hb, absolute.tr_mul(&ha));
    for k in 0..3 {
        let separation = t[k].abs() - ha[k] - reach_b[k];
        if separation > axes.face_a.0 {
            // The face of a that looks at b.
            axes.face_a = (separation, 2 * k as u32 + u32::from(t[k] > 0.0));
        }
        let separation = tb[k].abs() - hb[k] - reach_a[k];
        if separation > axes.face_b.0 {
            axes.face_b = (separation, 2 * k as u32 + u32::from(tb[k] < 0.0));
        }
    }
    let mut best: Option<(usize, usize)> = None;
    for i in 0..3 {
        let (i1, i2) = ((i + 1) % 3, (i + 2) % 3);
        for j in 0..3 {
            let (j1, j2) = ((j + 1) % 3, (j + 2) % 3);
            let length2 = r[(i1, j)] * r[(i1, j)] + r[(i2, j)] * r[(i2, j)];
            if length2 <= PARALLEL * PARALLEL {
                continue;
            }
            let across = (t[i2] * r[(i1, j)] - t[i1] * r[(i2, j)]).abs();
            let reach = ha[i1] * absolute[(i2, j)] + ha[i2] * absolute[(i1, j)] + hb[j1] * absolute[(i, j2)] + hb[j2] * absolute[(i, j1)];
            let separation = (across - reach) / length2.sqrt();
            if separation > axes.edges.0 {
                axes.edges.0 = separation;
                best = Some((i, j));
            }
        }
    }
    if let Some((i, j)) = best {
        let (e, f): (V, V) = (a.rot.column(i).into(), b.rot.column(j).into());
        let cross = e.cross(&f);
        let flip = cross.dot(&(a.pos - b.pos)) < 0.0;
        let n = if flip { -cross } else { cross };
        let edge_a = super::core::box_edge(i as u32, a.support(-n));
        let edge_b = super::core::box_edge(j as u32, b.support(n));
        axes.edges.1 = Kind::EdgeEdge { a: edge_a, b: edge_b, flip };
    }
    axes
}
