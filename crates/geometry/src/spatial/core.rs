//! The core of a shape: a point, segment, triangle, box or polyhedron whose points within `radius` make the shape, theory (8.1).
//!
//! A core placed in the world names its vertices, edges and faces by index; every feature of a contact refers to these names.

use super::hull::Hull;
use super::shape::Shape;
use carom_math::{Pose, Spatial};
use nalgebra::{Matrix3, Vector3};

type V = Vector3<f64>;

/// A triangle of a surface with the normals its neighbours allow, in the frame of the surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facet<'a> {
    /// Corners, counter-clockwise seen from outside.
    pub corners: [V; 3],
    /// Outward unit normal.
    pub normal: V,
    /// In the plane of the neighbour across each edge, away from that edge and out of the neighbour; `None` at the border.
    pub across: [Option<V>; 3],
    /// Unit vectors in the plane, out of the triangle across each edge.
    pub outward: [V; 3],
    /// Unit vectors along all edges of the surface that leave each corner.
    pub rings: [&'a [V]; 3],
}

/// What a core is made of, in the frame of its shape.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'a> {
    Point(V),
    Segment([V; 2]),
    Triangle(&'a Facet<'a>),
    Cuboid(V),
    Hull(&'a Hull),
    /// One face without end: a half-space.
    Plane(V),
}

/// A vertex, edge or face by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Vertex(u32),
    Edge(u32),
    Face(u32),
}

/// A core placed in the world; coordinates are in world axes, measured from an origin near both bodies so that digits are kept far
/// from the world's origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core<'a> {
    pub body: Body<'a>,
    pub rot: Matrix3<f64>,
    pub pos: V,
    pub radius: f64,
}

/// Vertices of the faces of a box, counter-clockwise from outside; vertex i has bit k set where coordinate k is positive. Face 2 k
/// looks along axis k, face 2 k + 1 against it.
const BOX_FACES: [[u32; 4]; 6] = [[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6], [0, 2, 3, 1]];
/// Vertices, edges and faces of a box, and corners of one of its faces.
const BOX_COUNTS: [usize; 3] = [8, 12, 6];
const BOX_CORNERS: usize = 4;

/// The edge of a box along an axis through a vertex: four edges per axis, numbered by the signs of the two next axes.
pub(super) const fn box_edge(axis: u32, vertex: u32) -> u32 {
    4 * axis + (vertex >> ((axis + 1) % 3) & 1) + 2 * (vertex >> ((axis + 2) % 3) & 1)
}

/// Ends of an edge of a box, the lesser first.
const fn box_edge_ends(edge: u32) -> [u32; 2] {
    let axis = edge / 4;
    let low = ((edge & 1) << ((axis + 1) % 3)) | ((edge >> 1 & 1) << ((axis + 2) % 3));
    [low, low | 1 << axis]
}

impl<'a> Core<'a> {
    /// The core of a shape, or `None` for shapes that have none (cylinder, cone, mesh, heightfield).
    #[inline]
    pub fn of(shape: &'a Shape, pose: &Pose<Spatial>, origin: V) -> Option<Core<'a>> {
        let (body, radius) = match shape {
            Shape::Ball { radius } => (Body::Point(V::zeros()), *radius),
            Shape::Cuboid { half } => (Body::Cuboid(*half), 0.0),
            Shape::Capsule { half_length, radius } => {
                (Body::Segment([V::new(0.0, 0.0, -half_length), V::new(0.0, 0.0, *half_length)]), *radius)
            }
            Shape::Convex(hull) => (Body::Hull(hull), 0.0),
            Shape::HalfSpace { normal } => (Body::Plane(*normal), 0.0),
            Shape::Segment { a, b } => (Body::Segment([*a, *b]), 0.0),
            Shape::Cylinder { .. } | Shape::Cone { .. } | Shape::Mesh(_) | Shape::Heightfield(_) => return None,
        };
        Some(Core::placed(body, pose, origin, radius))
    }
    /// A body placed by a pose, measured from an origin.
    #[inline]
    pub fn placed(body: Body<'a>, pose: &Pose<Spatial>, origin: V, radius: f64) -> Core<'a> {
        Core { body, rot: *pose.rotation.to_rotation_matrix().matrix(), pos: pose.position - origin, radius }
    }
    /// A point of the shape's frame in world axes.
    #[inline(always)]
    pub fn place(&self, x: V) -> V {
        self.rot * x + self.pos
    }
    /// A world direction in the shape's frame.
    #[inline(always)]
    pub fn local(&self, direction: V) -> V {
        self.rot.tr_mul(&direction)
    }
    #[inline]
    pub fn vertex_count(&self) -> usize {
        match &self.body {
            Body::Point(_) => 1,
            Body::Segment(_) => 2,
            Body::Triangle(_) => 3,
            Body::Cuboid(_) => BOX_COUNTS[0],
            Body::Hull(hull) => hull.vertices().len(),
            Body::Plane(_) => 0,
        }
    }
    #[inline]
    pub fn edge_count(&self) -> usize {
        match &self.body {
            Body::Point(_) | Body::Plane(_) => 0,
            Body::Segment(_) => 1,
            Body::Triangle(_) => 3,
            Body::Cuboid(_) => BOX_COUNTS[1],
            Body::Hull(hull) => hull.edges().len(),
        }
    }
    /// A triangle has its outward face only.
    #[inline]
    pub fn face_count(&self) -> usize {
        match &self.body {
            Body::Point(_) | Body::Segment(_) => 0,
            Body::Triangle(_) | Body::Plane(_) => 1,
            Body::Cuboid(_) => BOX_COUNTS[2],
            Body::Hull(hull) => hull.normals().len(),
        }
    }
    /// A vertex in the shape's frame; an index past the end names the last vertex.
    #[inline(always)]
    pub fn local_vertex(&self, i: u32) -> V {
        match &self.body {
            Body::Point(p) => *p,
            Body::Segment(p) => p[(i & 1) as usize],
            Body::Triangle(t) => t.corners[(i as usize).min(2)],
            Body::Cuboid(h) => {
                V::new(if i & 1 == 0 { -h.x } else { h.x }, if i & 2 == 0 { -h.y } else { h.y }, if i & 4 == 0 { -h.z } else { h.z })
            }
            Body::Hull(hull) => hull.vertices()[(i as usize).min(hull.vertices().len() - 1)],
            Body::Plane(_) => V::zeros(),
        }
    }
    #[inline(always)]
    pub fn vertex(&self, i: u32) -> V {
        self.place(self.local_vertex(i))
    }
    /// Ends of an edge.
    #[inline]
    pub fn edge_ends(&self, e: u32) -> [u32; 2] {
        match &self.body {
            Body::Point(_) | Body::Plane(_) => [0, 0],
            Body::Segment(_) => [0, 1],
            Body::Triangle(_) => [e % 3, (e + 1) % 3],
            Body::Cuboid(_) => box_edge_ends(e % BOX_COUNTS[1] as u32),
            Body::Hull(hull) => hull.edges()[(e as usize).min(hull.edges().len() - 1)],
        }
    }
    /// Ends of an edge in world axes.
    #[inline]
    pub fn edge(&self, e: u32) -> (V, V) {
        let [p, q] = self.edge_ends(e);
        (self.vertex(p), self.vertex(q))
    }
    /// The two faces that meet in an edge of a solid; `None` for segments and triangles.
    #[inline]
    pub fn edge_faces(&self, e: u32) -> Option<[u32; 2]> {
        match &self.body {
            Body::Cuboid(_) => {
                let (axis, k) = (e / 4 % 3, e % 4);
                Some([2 * ((axis + 1) % 3) + 1 - (k & 1), 2 * ((axis + 2) % 3) + 1 - (k >> 1)])
            }
            Body::Hull(hull) => Some(hull.edge_faces()[(e as usize).min(hull.edge_faces().len() - 1)]),
            _ => None,
        }
    }
    #[inline]
    pub fn local_normal(&self, f: u32) -> V {
        match &self.body {
            Body::Point(_) | Body::Segment(_) => V::z(),
            Body::Triangle(t) => t.normal,
            Body::Plane(n) => *n,
            Body::Cuboid(_) => {
                let mut n = V::zeros();
                n[(f as usize / 2) % 3] = if f & 1 == 0 { 1.0 } else { -1.0 };
                n
            }
            Body::Hull(hull) => hull.normals()[(f as usize).min(hull.normals().len() - 1)],
        }
    }
    /// Outward unit normal of a face in world axes.
    #[inline]
    pub fn normal(&self, f: u32) -> V {
        match &self.body {
            Body::Cuboid(_) => {
                let column: V = self.rot.column((f as usize / 2) % 3).into();
                if f & 1 == 0 { column } else { -column }
            }
            _ => self.rot * self.local_normal(f),
        }
    }
    /// Number of corners of a face; 0 where it has no end.
    #[inline]
    pub fn face_len(&self, f: u32) -> usize {
        match &self.body {
            Body::Point(_) | Body::Segment(_) | Body::Plane(_) => 0,
            Body::Triangle(_) => 3,
            Body::Cuboid(_) => BOX_CORNERS,
            Body::Hull(hull) => hull.face((f as usize).min(hull.normals().len() - 1)).len(),
        }
    }
    /// Vertex k of a face.
    #[inline]
    pub fn face_vertex(&self, f: u32, k: usize) -> u32 {
        match &self.body {
            Body::Point(_) | Body::Segment(_) | Body::Plane(_) => 0,
            Body::Triangle(_) => (k % 3) as u32,
            Body::Cuboid(_) => BOX_FACES[f as usize % BOX_COUNTS[2]][k % BOX_CORNERS],
            Body::Hull(hull) => {
                let face = hull.face((f as usize).min(hull.normals().len() - 1));
                face[k % face.len()]
            }
        }
    }
    /// The edge of a face between its vertices k and k + 1.
    #[inline]
    pub fn face_edge(&self, f: u32, k: usize) -> u32 {
        match &self.body {
            Body::Point(_) | Body::Segment(_) | Body::Plane(_) => 0,
            Body::Triangle(_) => (k % 3) as u32,
            Body::Cuboid(_) => {
                let (p, q) = (self.face_vertex(f, k), self.face_vertex(f, k + 1));
                box_edge((p ^ q).trailing_zeros(), p & q)
            }
            Body::Hull(hull) => {
                let edges = hull.face_edges((f as usize).min(hull.normals().len() - 1));
                edges[k % edges.len()]
            }
        }
    }
    /// A point of a face in world axes: its first corner, or the foot of a half-space.
    #[inline]
    pub fn face_point(&self, f: u32) -> V {
        match &self.body {
            Body::Plane(_) => self.pos,
            Body::Cuboid(h) => self.pos + self.normal(f) * h[(f as usize / 2) % 3],
            _ => self.vertex(self.face_vertex(f, 0)),
        }
    }
    /// The vertex farthest along a world direction, the first of equals.
    #[inline]
    pub fn support(&self, direction: V) -> u32 {
        let d = self.local(direction);
        match &self.body {
            Body::Point(_) | Body::Plane(_) => 0,
            Body::Segment(p) => u32::from((p[1] - p[0]).dot(&d) > 0.0),
            Body::Triangle(t) => farthest(&t.corners, d),
            Body::Cuboid(_) => u32::from(d.x > 0.0) | u32::from(d.y > 0.0) << 1 | u32::from(d.z > 0.0) << 2,
            Body::Hull(hull) => farthest(hull.vertices(), d),
        }
    }
    /// Whether a face has a vertex.
    pub fn face_has(&self, f: u32, vertex: u32) -> bool {
        (0..self.face_len(f)).any(|k| self.face_vertex(f, k) == vertex)
    }
    /// Among the faces through a vertex the one whose normal lies farthest along a world direction.
    pub fn face_at(&self, vertex: u32, direction: V) -> Option<u32> {
        let d = self.local(direction);
        match &self.body {
            Body::Cuboid(_) => {
                let (mut best, mut most) = (0, f64::NEG_INFINITY);
                for k in 0..3 {
                    let up = vertex >> k & 1;
                    let along = if up == 1 { d[k as usize] } else { -d[k as usize] };
                    if along > most {
                        (best, most) = (2 * k + 1 - up, along);
                    }
                }
                Some(best)
            }
            Body::Triangle(_) | Body::Plane(_) => Some(0),
            Body::Point(_) | Body::Segment(_) => None,
            Body::Hull(hull) => {
                let mut best = None;
                let mut most = f64::NEG_INFINITY;
                for f in 0..hull.normals().len() {
                    let along = hull.normals()[f].dot(&d);
                    if along > most && hull.face(f).contains(&vertex) {
                        (best, most) = (Some(f as u32), along);
                    }
                }
                best
            }
        }
    }
    /// Area of a face [m^2].
    pub fn face_area(&self, f: u32) -> f64 {
        match &self.body {
            Body::Cuboid(h) => {
                let k = f as usize / 2;
                4.0 * h[(k + 1) % 3] * h[(k + 2) % 3]
            }
            _ => {
                let mut area = 0.0;
                let p = self.local_vertex(self.face_vertex(f, 0));
                for k in 1..self.face_len(f).max(1) - 1 {
                    let (q, r) = (self.local_vertex(self.face_vertex(f, k)), self.local_vertex(self.face_vertex(f, k + 1)));
                    area += 0.5 * (q - p).cross(&(r - p)).norm();
                }
                area
            }
        }
    }
    /// The smallest element that holds all given vertices, or `None` when no face does.
    pub fn smallest(&self, vertices: &[u32]) -> Option<Element> {
        match *vertices {
            [] => None,
            [v] => Some(Element::Vertex(v)),
            [p, q] => self.edge_between(p, q).map(Element::Edge).or_else(|| self.face_with(vertices).map(Element::Face)),
            _ => self.face_with(vertices).map(Element::Face),
        }
    }
    /// The edge between two vertices.
    pub fn edge_between(&self, p: u32, q: u32) -> Option<u32> {
        match &self.body {
            Body::Cuboid(_) => (p ^ q).is_power_of_two().then(|| box_edge((p ^ q).trailing_zeros(), p & q)),
            _ => (0..self.edge_count() as u32).find(|e| {
                let ends = self.edge_ends(*e);
                ends == [p, q] || ends == [q, p]
            }),
        }
    }
    fn face_with(&self, vertices: &[u32]) -> Option<u32> {
        (0..self.face_count() as u32).find(|f| vertices.iter().all(|v| self.face_has(*f, *v)))
    }
    /// Length scale of the core \[m\]: longest half diagonal and the like, for tolerances.
    pub fn scale(&self) -> f64 {
        self.radius
            + match &self.body {
                Body::Point(_) | Body::Plane(_) => 0.0,
                Body::Segment(p) => (p[1] - p[0]).norm(),
                Body::Triangle(t) => (t.corners[1] - t.corners[0]).norm().max((t.corners[2] - t.corners[0]).norm()),
                Body::Cuboid(h) => 2.0 * h.max(),
                Body::Hull(hull) => {
                    let first = hull.vertices()[0];
                    hull.vertices().iter().fold(0.0, |m: f64, v| m.max((v - first).norm_squared())).sqrt()
                }
            }
    }
    /// Whether a side of a triangle is an edge that things can rest on: the border of the surface, or a ridge.
    pub fn ridge(&self, side: u32) -> bool {
        /// Sine of the bend \[rad\] below which neighbours are one plane.
        const BEND: f64 = 1e-6;
        match &self.body {
            Body::Triangle(t) => t.across[side as usize % 3].is_none_or(|across| across.dot(&t.normal) > BEND),
            _ => true,
        }
    }
    /// Whether the shape can touch with a normal `n` (out of this core) at an element: only triangles of a surface refuse, where the
    /// neighbours' solid lies in the way. Always true within `tolerance` of the face normal, theory (8.12).
    pub fn allows(&self, element: Element, n: V, tolerance: f64) -> bool {
        let Body::Triangle(t) = &self.body else { return true };
        let n = self.local(n);
        let flat = (n - t.normal).norm_squared() <= tolerance * tolerance;
        let edge = |k: usize| match t.across[k] {
            Some(across) => n.dot(&t.outward[k]) >= -tolerance && n.dot(&across) >= -tolerance,
            None => n.dot(&t.outward[k]) >= -tolerance && n.dot(&t.normal) >= 0.0,
        };
        flat || match element {
            Element::Face(_) => false,
            Element::Edge(e) => edge(e as usize % 3),
            Element::Vertex(v) => n.dot(&t.normal) > 0.0 && t.rings[v as usize % 3].iter().all(|edge| n.dot(edge) <= tolerance),
        }
    }
}

/// The point farthest along a direction, the first of equals.
#[inline]
fn farthest(points: &[V], direction: V) -> u32 {
    let (mut best, mut most) = (0, f64::NEG_INFINITY);
    for (i, p) in points.iter().enumerate() {
        let along = p.dot(&direction);
        if along > most {
            (best, most) = (i as u32, along);
        }
    }
    best
}
