//! Surfaces of triangles and fields of heights: static, solid behind their outward side, theory (8.12).

use super::core::{Body, Core, Facet};
use super::manifold::{self, Pair};
use super::polyhedra;
use super::shape::{box_of, finite, positive};
use super::tree::Tree;
use crate::bounds::Aabb;
use crate::contact::Contact;
use crate::shape_error::ShapeError;
use carom_math::{Pose, Spatial};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Marks a border edge.
const BORDER: u32 = u32::MAX;
/// Triangles whose height is below this part of their longest side have no normal worth using.
const SLIVER: f64 = 1e-10;
/// Contacts whose normals agree to this cosine lie on one flat part of a surface and are reduced together.
const ONE_PLANE: f64 = 1.0 - 1e-9;
/// Points of the smallest grid along each axis.
const GRID_POINTS: usize = 2;

/// A surface of triangles with the neighbours across each edge and a tree of boxes.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    vertices: Vec<V>,
    triangles: Vec<[u32; 3]>,
    normals: Vec<V>,
    neighbours: Vec<[u32; 3]>,
    ring_start: Vec<u32>,
    rings: Vec<V>,
    tree: Tree,
    bounds: Aabb<Spatial>,
}

impl Mesh {
    /// A surface from vertices \[m\] and triangles, counter-clockwise seen from outside. Edges shared by two triangles that run
    /// through them in opposite directions are inner edges; all others count as borders.
    pub fn new(vertices: Vec<V>, triangles: Vec<[u32; 3]>) -> Result<Mesh, ShapeError> {
        for v in &vertices {
            finite("vertex of a mesh", *v)?;
        }
        if triangles.is_empty() {
            return Err(ShapeError::Degenerate { what: "mesh without triangles" });
        }
        let mut normals = Vec::with_capacity(triangles.len());
        for t in &triangles {
            for i in t {
                if *i as usize >= vertices.len() {
                    return Err(ShapeError::OutOfRange { what: "vertex of a triangle", index: *i as usize, len: vertices.len() });
                }
            }
            let [p, q, r] = t.map(|i| vertices[i as usize]);
            let n = (q - p).cross(&(r - p));
            let longest = (q - p).norm_squared().max((r - p).norm_squared()).max((r - q).norm_squared());
            // Overflow to NaN is degenerate too.
            if n.norm().partial_cmp(&(SLIVER * longest)) != Some(std::cmp::Ordering::Greater) {
                return Err(ShapeError::Degenerate { what: "triangle of a mesh" });
            }
            normals.push(n.normalize());
        }
        let neighbours = neighbours(&triangles);
        let (ring_start, rings) = rings(&vertices, &triangles);
        let boxes: Vec<Aabb<Spatial>> = triangles.iter().map(|t| box_of(&t.map(|i| vertices[i as usize]))).collect();
        let bounds = boxes[1..].iter().fold(boxes[0], |sum, next| sum.union(next));
        Ok(Mesh { tree: Tree::new(&boxes), vertices, triangles, normals, neighbours, ring_start, rings, bounds })
    }
    /// Vertices \[m\].
    pub fn vertices(&self) -> &[V] {
        &self.vertices
    }
    /// Triangles as triples of vertices.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }
    /// The box of the surface in its own frame.
    pub fn bounds(&self) -> Aabb<Spatial> {
        self.bounds
    }
    /// A triangle as a core of its own; an index past the end names the last.
    pub(super) fn facet(&self, triangle: u32) -> Facet<'_> {
        let t = (triangle as usize).min(self.triangles.len() - 1);
        let ids = self.triangles[t];
        let corners = ids.map(|i| self.vertices[i as usize]);
        let normal = self.normals[t];
        let side = |k: usize| (corners[(k + 1) % 3] - corners[k]).normalize();
        let across = [0, 1, 2].map(|k| {
            let other = self.neighbours[t][k];
            // Seen from the neighbour the edge runs backwards.
            (other != BORDER).then(|| (-side(k)).cross(&self.normals[other as usize]))
        });
        let outward = [0, 1, 2].map(|k| side(k).cross(&normal));
        let rings = ids.map(|i| &self.rings[self.ring_start[i as usize] as usize..self.ring_start[i as usize + 1] as usize]);
        Facet { corners, normal, across, outward, rings }
    }
    /// Calls `each` for every triangle near a box in the frame of the surface.
    pub(super) fn visit(&self, bounds: &Aabb<Spatial>, each: impl FnMut(u32)) {
        self.tree.visit(bounds, each);
    }
    /// The least of `measure` over all triangles, which the distances of their boxes bound from below.
    pub(super) fn least(&self, bounds: &Aabb<Spatial>, cutoff: f64, measure: impl FnMut(u32, f64) -> f64) -> f64 {
        self.tree.least(bounds, cutoff, measure)
    }
}

/// The triangle across each edge. An edge that more than two triangles share, or two in the same direction, is a border.
fn neighbours(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut edges: Vec<(u32, u32, bool, usize, usize)> = Vec::with_capacity(3 * triangles.len());
    for (t, ids) in triangles.iter().enumerate() {
        for k in 0..3 {
            let (p, q) = (ids[k], ids[(k + 1) % 3]);
            edges.push((p.min(q), p.max(q), p > q, t, k));
        }
    }
    edges.sort_unstable();
    let mut neighbours = vec![[BORDER; 3]; triangles.len()];
    for group in edges.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
        if let [x, y] = group
            && x.2 != y.2
        {
            neighbours[x.3][x.4] = y.3 as u32;
            neighbours[y.3][y.4] = x.3 as u32;
        }
    }
    neighbours
}

/// Unit vectors along the edges that leave each vertex, as one list with starts.
fn rings(vertices: &[V], triangles: &[[u32; 3]]) -> (Vec<u32>, Vec<V>) {
    let mut links: Vec<(u32, u32)> =
        triangles.iter().flat_map(|t| (0..3).flat_map(|k| [(t[k], t[(k + 1) % 3]), (t[k], t[(k + 2) % 3])])).collect();
    links.sort_unstable();
    links.dedup();
    let mut start = vec![0u32; vertices.len() + 1];
    for (p, _) in &links {
        start[*p as usize + 1] += 1;
    }
    for i in 0..vertices.len() {
        start[i + 1] += start[i];
    }
    let rings = links.iter().map(|(p, q)| (vertices[*q as usize] - vertices[*p as usize]).normalize()).collect();
    (start, rings)
}

/// Heights over a regular grid; its surface is a mesh of two triangles per cell, split along the diagonal from the corner of least
/// x and y.
#[derive(Clone, Debug, PartialEq)]
pub struct Heightfield {
    columns: usize,
    rows: usize,
    spacing: [f64; 2],
    mesh: Mesh,
}

impl Heightfield {
    /// Heights \[m\] by rows, x fastest, over `columns` by `rows` points with a spacing \[m\] along x and y, centred on the origin.
    pub fn new(heights: Vec<f64>, columns: usize, rows: usize, spacing: [f64; 2]) -> Result<Heightfield, ShapeError> {
        positive("spacing of a heightfield", spacing[0])?;
        positive("spacing of a heightfield", spacing[1])?;
        if columns < GRID_POINTS || rows < GRID_POINTS {
            return Err(ShapeError::TooFewPoints { found: columns.min(rows), needed: GRID_POINTS });
        }
        if columns.checked_mul(rows) != Some(heights.len()) {
            return Err(ShapeError::OutOfRange { what: "height", index: heights.len(), len: columns.saturating_mul(rows) });
        }
        let middle = |n: usize| 0.5 * (n - 1) as f64;
        let vertices = (0..heights.len())
            .map(|i| {
                V::new(
                    ((i % columns) as f64 - middle(columns)) * spacing[0],
                    ((i / columns) as f64 - middle(rows)) * spacing[1],
                    heights[i],
                )
            })
            .collect();
        let mut triangles = Vec::with_capacity(2 * (columns - 1) * (rows - 1));
        for y in 0..rows - 1 {
            for x in 0..columns - 1 {
                let i = (y * columns + x) as u32;
                let (right, up) = (i + 1, i + columns as u32);
                triangles.push([i, right, up + 1]);
                triangles.push([i, up + 1, up]);
            }
        }
        Ok(Heightfield { columns, rows, spacing, mesh: Mesh::new(vertices, triangles)? })
    }
    /// Grid points along x and along y.
    pub fn points(&self) -> [usize; 2] {
        [self.columns, self.rows]
    }
    /// Distance of grid points along x and y \[m\].
    pub fn spacing(&self) -> [f64; 2] {
        self.spacing
    }
    /// The surface.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }
}

/// A bounded core in the frame of a surface as a box, grown by its radius.
fn local_box(core: &Core, pose: &Pose<Spatial>, origin: V) -> Aabb<Spatial> {
    let mut bounds: Aabb<Spatial> = Aabb { min: V::repeat(f64::INFINITY), max: V::repeat(f64::NEG_INFINITY) };
    for i in 0..core.vertex_count() as u32 {
        let p = pose.local_point(core.vertex(i) + origin);
        bounds = Aabb { min: bounds.min.inf(&p), max: bounds.max.sup(&p) };
    }
    bounds.grown(core.radius)
}

/// Appends the contacts of a bounded core (a) on a surface (b).
pub(super) fn contacts(a: &Core, surface: &Mesh, pose: &Pose<Spatial>, origin: V, reach: f64, out: &mut Vec<Contact<Spatial>>) {
    let bounds = local_box(a, pose, origin).grown(reach.max(0.0));
    let start = out.len();
    surface.visit(&bounds, |t| {
        let facet = surface.facet(t);
        let b = Core::placed(Body::Triangle(&facet), pose, origin, 0.0);
        let size = polyhedra::size(a, &b);
        polyhedra::contacts(&Pair { a, b: &b, origin, size, reach, floor: f64::NEG_INFINITY, part: t, start }, out);
    });
    thin(out, start);
}

/// Reduces the contacts of each flat part of a surface to four, in the order the parts appear.
pub(super) fn thin(out: &mut Vec<Contact<Spatial>>, start: usize) {
    let mut done = start;
    // Every round moves one group of equal normals to the front and keeps at most four of it.
    while done < out.len() {
        let normal = out[done].normal;
        let mut end = done + 1;
        for k in done + 1..out.len() {
            if out[k].normal.dot(&normal) >= ONE_PLANE {
                out.swap(end, k);
                end += 1;
            }
        }
        let kept = manifold::reduce_slice(&mut out[done..end]);
        out.drain(done + kept..end);
        done += kept;
    }
}

/// Signed distance of a bounded core from a surface.
pub(super) fn separation(a: &Core, surface: &Mesh, pose: &Pose<Spatial>, origin: V, cutoff: f64) -> f64 {
    let bounds = local_box(a, pose, origin);
    surface.least(&bounds, cutoff, |t, least| {
        let facet = surface.facet(t);
        let b = Core::placed(Body::Triangle(&facet), pose, origin, 0.0);
        polyhedra::separation(a, &b, least)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Random, at, found, least, rounds};
    use super::*;
    use crate::contact::Geometry;
    use crate::spatial::Shape;
    use carom_math::Space;

    /// A flat floor of n by n cells with a side of one.
    fn floor(n: usize) -> Shape {
        Shape::heightfield(vec![0.0; (n + 1) * (n + 1)], n + 1, n + 1, [1.0, 1.0]).unwrap()
    }

    /// A closed box of twelve triangles.
    fn closed_box(half: V) -> Shape {
        let vertices = (0..8)
            .map(|i| half.component_mul(&V::new((i & 1) as f64 * 2.0 - 1.0, (i >> 1 & 1) as f64 * 2.0 - 1.0, (i >> 2) as f64 * 2.0 - 1.0)))
            .collect();
        let faces = [[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6], [0, 2, 3, 1]];
        let triangles = faces.iter().flat_map(|f: &[u32; 4]| [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]).collect();
        Shape::mesh(vertices, triangles).unwrap()
    }

    #[test]
    fn inner_edges_of_a_floor_are_not_felt() {
        let floor = floor(6);
        let mut random = Random(21);
        let ball = Shape::ball(0.3).unwrap();
        let cube = Shape::cuboid(V::new(0.3, 0.7, 0.2)).unwrap();
        let rod = Shape::capsule(0.6, 0.2).unwrap();
        for i in 0..rounds(300, 5000) {
            for gap in [0.0, 1e-9, -1e-9, 1e-6, -1e-6, 5e-4, -5e-4] {
                // Every third place lies exactly on an inner edge, a diagonal or a vertex.
                let (x, y) = match i % 3 {
                    0 => (random.within(-2.0, 2.0), random.within(-2.0, 2.0)),
                    1 => (0.25 * (i % 7) as f64, 0.25 * (i % 5) as f64),
                    _ => (random.within(-2.0, 2.0), 1.0),
                };
                let turn = Spatial::exp(V::z() * if i % 2 == 0 { 0.0 } else { random.within(-3.0, 3.0) });
                let pose = |z: f64| Pose { position: V::new(x, y, z), rotation: turn };
                let lie = Pose { position: V::new(x, y, 0.2 + gap), rotation: turn * Spatial::exp(V::y() * std::f64::consts::FRAC_PI_2) };
                for (shape, pose, count) in [(&ball, pose(0.3 + gap), 1), (&cube, pose(0.2 + gap), 4), (&rod, lie, 2)] {
                    let list = found(shape, &pose, &floor, &Pose::identity(), 1e-3);
                    assert_eq!(list.len(), count, "{i} {gap} {pose:?} {list:?}");
                    for c in &list {
                        assert!((c.normal - V::z()).norm() < 1e-9 && (c.gap - gap).abs() < 1e-12, "{i} {gap} {c:?}");
                        let again = Spatial::evaluate(c.feature, shape, &pose, &floor, &Pose::identity());
                        assert!((again.gap - c.gap).abs() < 1e-13 && (again.point_a - c.point_a).norm() < 1e-13);
                    }
                    let turned = found(&floor, &Pose::identity(), shape, &pose, 1e-3);
                    assert_eq!(turned.len(), count);
                    assert!(turned.iter().all(|c| (c.normal + V::z()).norm() < 1e-9 && (c.gap - gap).abs() < 1e-12));
                    let s = Spatial::separation(shape, &pose, &floor, &Pose::identity(), f64::INFINITY);
                    assert!((s - gap).abs() < 1e-12, "{s} {gap}");
                }
                // The whole footprint of the box, not a corner of a triangle.
                let list = found(&cube, &pose(0.2 + gap), &floor, &Pose::identity(), 1e-3);
                let spread = list.iter().fold(0.0, |m: f64, c| m.max((c.point_a - list[0].point_a).norm()));
                assert!((spread - 0.6f64.hypot(1.4)).abs() < 1e-9, "{i} {gap} {:?} {list:?}", pose(0.2));
            }
        }
    }

    #[test]
    fn a_closed_box_of_triangles_acts_like_the_box() {
        let half = V::new(0.5, 0.6, 0.4);
        let (mesh, solid) = (closed_box(half), Shape::cuboid(half).unwrap());
        let mut random = Random(22);
        let mut counted = 0;
        for i in 0..rounds(3000, 30_000) {
            let shape = match i % 3 {
                0 => Shape::ball(random.within(0.1, 0.5)).unwrap(),
                1 => Shape::cuboid(V::new(random.within(0.1, 0.5), random.within(0.1, 0.5), random.within(0.1, 0.5))).unwrap(),
                _ => Shape::capsule(random.within(0.1, 0.5), random.within(0.1, 0.5)).unwrap(),
            };
            let (pa, pb) = (random.pose(1.0), random.pose(0.3));
            let s = Spatial::separation(&shape, &pa, &solid, &pb, f64::INFINITY);
            if s < 1e-6 {
                continue;
            }
            let t = Spatial::separation(&shape, &pa, &mesh, &pb, f64::INFINITY);
            assert!((s - t).abs() < 1e-11, "{i} {s} {t}");
            let mut one = found(&shape, &pa, &solid, &pb, s + 1e-4);
            let mut two = found(&shape, &pa, &mesh, &pb, s + 1e-4);
            one.sort_by(|x, y| x.gap.total_cmp(&y.gap));
            two.sort_by(|x, y| x.gap.total_cmp(&y.gap));
            assert!(!two.is_empty() && (two[0].gap - s).abs() < 1e-11, "{i} {s} {one:?} {two:?}");
            assert!((one[0].normal - two[0].normal).norm() < 1e-6, "{i} {one:?} {two:?}");
            counted += 1;
        }
        assert!(counted > 500);
    }

    #[test]
    fn a_valley_gives_two_contacts_and_a_ridge_one() {
        // A gutter along y with slopes of 45 degrees, and the same upside down.
        let gutter = |sign: f64| {
            let heights = (0..9).map(|i| sign * ((i % 3) as f64 - 1.0).abs()).collect();
            Shape::heightfield(heights, 3, 3, [1.0, 1.0]).unwrap()
        };
        let ball = Shape::ball(0.2).unwrap();
        let list = found(&ball, &at(0.0, 0.3, 0.2 * 2f64.sqrt()), &gutter(1.0), &Pose::identity(), 1e-3);
        assert_eq!(list.len(), 2, "{list:?}");
        assert!(list.iter().all(|c| c.gap.abs() < 1e-12 && (c.normal.x.abs() - 0.5f64.sqrt()).abs() < 1e-12));
        let list = found(&ball, &at(0.0, 0.3, 0.2 + 1e-6), &gutter(-1.0), &Pose::identity(), 1e-3);
        assert_eq!(list.len(), 1, "{list:?}");
        assert!((list[0].gap - 1e-6).abs() < 1e-12 && (list[0].normal - V::z()).norm() < 1e-12);
        // Below the surface nothing is near: it is one-sided.
        assert!(found(&ball, &at(0.5, 0.3, -3.0), &gutter(-1.0), &Pose::identity(), 1e-3).is_empty());
        assert!(found(&ball, &at(-1.5, 0.3, 0.0), &floor(6), &at(0.0, 0.0, 0.2 + 5e-4), 1e-3).is_empty());
        assert!(least(&found(&ball, &at(0.0, 0.3, 0.2 - 1e-6), &floor(6), &Pose::identity(), 1e-3)) < 0.0);
    }

    #[test]
    fn shapes_rest_on_the_border_of_a_surface() {
        let floor = floor(2);
        let ball = Shape::ball(0.2).unwrap();
        // Beyond the border the ball touches the border edge.
        let d = (0.2 + 1e-6) / 2f64.sqrt();
        let list = found(&ball, &at(1.0 + d, 0.3, d), &floor, &Pose::identity(), 1e-3);
        assert_eq!(list.len(), 1);
        assert!((list[0].gap - 1e-6).abs() < 1e-12);
    }
}
