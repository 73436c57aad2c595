//! The convex hull of points, with coplanar triangles merged into polygons, theory (8.4).

use crate::shape_error::ShapeError;
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Points closer to a face plane than this part of the hull's size lie on it: far above rounding of rotated coordinates, far below
/// the accuracy promised for contacts.
const COPLANAR: f64 = 1e-11;
/// Points closer than this part of the size are one point.
const SAME_POINT: f64 = 1e-10;
/// A tetrahedron flatter than this part of the size has no volume worth simulating.
const FLAT: f64 = 1e-6;
/// Points of the smallest solid.
const SOLID_POINTS: usize = 4;
/// Sides of the smallest face, and faces that meet in a true vertex.
const TRIANGLE: usize = 3;
/// Most vertices of one face: what the clipping buffers hold.
pub const MAX_FACE_VERTICES: usize = 128;
/// Most points of a hull; detection is quadratic in the edges.
pub const MAX_POINTS: usize = 4096;

/// A convex polyhedron: vertices, polygonal faces with outward normals, and edges between two faces.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    vertices: Vec<V>,
    normals: Vec<V>,
    face_start: Vec<u32>,
    face_vertices: Vec<u32>,
    face_edges: Vec<u32>,
    edges: Vec<[u32; 2]>,
    edge_faces: Vec<[u32; 2]>,
}

impl Hull {
    /// The hull of at least four points \[m\] that span a volume; points inside it or within its faces are dropped.
    pub fn new(points: &[V]) -> Result<Hull, ShapeError> {
        if points.iter().any(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(ShapeError::NotFinite { what: "point of a convex shape" });
        }
        if points.len() > MAX_POINTS {
            return Err(ShapeError::TooMany { what: "points of a convex shape", found: points.len(), allowed: MAX_POINTS });
        }
        let size = size(points);
        let mut distinct: Vec<V> = Vec::new();
        for p in points {
            if distinct.iter().all(|q| (p - q).norm() > SAME_POINT * size) {
                distinct.push(*p);
            }
        }
        if distinct.len() < SOLID_POINTS {
            return Err(ShapeError::TooFewPoints { found: distinct.len(), needed: SOLID_POINTS });
        }
        let triangles = triangulate(&distinct, size).ok_or(ShapeError::Degenerate { what: "convex shape (its points lie in a plane)" })?;
        let hull = merge(&distinct, &triangles, COPLANAR * size)
            .or_else(|| merge(&distinct, &triangles, 0.0))
            .or_else(|| polygons(&distinct, triangles.iter().map(|t| t.to_vec()).collect()))
            .ok_or(ShapeError::Degenerate { what: "convex shape (its faces do not close)" })?;
        let longest = (0..hull.normals.len()).map(|f| hull.face(f).len()).max().unwrap_or(0);
        if longest > MAX_FACE_VERTICES {
            return Err(ShapeError::TooMany { what: "vertices of one convex face", found: longest, allowed: MAX_FACE_VERTICES });
        }
        Ok(hull)
    }
    /// The same vertices, edges and faces with the vertices moved \[m\], theory (14.5). The corners of a face need not stay in one plane:
    /// its normal is their mean one.
    ///
    /// # Errors
    /// Another number of vertices, a number that is not finite, or vertices that no longer bound a solid: a corner of a face that turns
    /// inwards, or two faces that fold over their edge by more than the planes of their corners are bent.
    pub fn with_vertices(&self, vertices: &[V]) -> Result<Hull, ShapeError> {
        if vertices.len() != self.vertices.len() {
            return Err(ShapeError::WrongCount { what: "vertices of a convex shape", found: vertices.len(), needed: self.vertices.len() });
        }
        if vertices.iter().any(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(ShapeError::NotFinite { what: "point of a convex shape" });
        }
        let refused = Err(ShapeError::Degenerate { what: "convex shape (a vertex left its faces)" });
        let mut moved = Hull { vertices: vertices.to_vec(), ..self.clone() };
        let corner = |face: &[u32], k: usize| vertices[face[k % face.len()] as usize];
        // How far the corners of any face leave its plane: no face can be told convex to less.
        let mut bent: f64 = COPLANAR * size(vertices);
        for f in 0..self.normals.len() {
            let face = self.face(f);
            let area = area_vector(face.len(), |k| corner(face, k));
            let length = area.norm();
            if length <= 0.0 {
                return refused;
            }
            let normal = area / length;
            let left = |k: usize| (corner(face, k + 1) - corner(face, k)).cross(&(corner(face, k + 2) - corner(face, k + 1))).dot(&normal);
            if (0..face.len()).any(|k| left(k) <= 0.0) {
                return refused;
            }
            bent = (0..face.len()).fold(bent, |most, k| most.max(normal.dot(&(corner(face, k) - corner(face, 0))).abs()));
            moved.normals[f] = normal;
        }
        let behind = |f: usize| {
            let point = vertices[self.face(f)[0] as usize];
            vertices.iter().all(|v| moved.normals[f].dot(&(v - point)) <= 2.0 * bent)
        };
        if (0..self.normals.len()).all(behind) { Ok(moved) } else { refused }
    }
    /// Vertices \[m\].
    pub fn vertices(&self) -> &[V] {
        &self.vertices
    }
    /// Outward unit normals, one per face.
    pub fn normals(&self) -> &[V] {
        &self.normals
    }
    /// Vertices of a face, counter-clockwise seen from outside.
    pub fn face(&self, face: usize) -> &[u32] {
        &self.face_vertices[self.face_start[face] as usize..self.face_start[face + 1] as usize]
    }
    /// Edges of a face: entry k joins its vertices k and k + 1.
    pub fn face_edges(&self, face: usize) -> &[u32] {
        &self.face_edges[self.face_start[face] as usize..self.face_start[face + 1] as usize]
    }
    /// Edges as pairs of vertices.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }
    /// The two faces that meet in each edge.
    pub fn edge_faces(&self) -> &[[u32; 2]] {
        &self.edge_faces
    }
}

/// Twice the area of a polygon along its normal (Newell): the mean over the polygon, not the guess of one corner.
fn area_vector(corners: usize, corner: impl Fn(usize) -> V) -> V {
    let first = corner(0);
    let mut area = V::zeros();
    for k in 1..corners - 1 {
        area += (corner(k) - first).cross(&(corner(k + 1) - first));
    }
    area
}

/// Longest side of the bounding box \[m\].
fn size(points: &[V]) -> f64 {
    let (mut low, mut high) = (V::repeat(f64::INFINITY), V::repeat(f64::NEG_INFINITY));
    for p in points {
        low = low.inf(p);
        high = high.sup(p);
    }
    if points.is_empty() { 0.0 } else { (high - low).max() }
}

/// The point that makes `measure` greatest, the first of equals.
fn farthest(points: &[V], measure: impl Fn(&V) -> f64) -> usize {
    let mut best = 0;
    for i in 1..points.len() {
        if measure(&points[i]) > measure(&points[best]) {
            best = i;
        }
    }
    best
}

/// Four points that span a volume, or `None`.
fn first_solid(points: &[V], size: f64) -> Option<[usize; SOLID_POINTS]> {
    let a = farthest(points, |p| -p.x);
    let b = farthest(points, |p| (p - points[a]).norm_squared());
    let along = (points[b] - points[a]).normalize();
    let c = farthest(points, |p| along.cross(&(p - points[a])).norm_squared());
    let normal = along.cross(&(points[c] - points[a]));
    if normal.norm() <= FLAT * size {
        return None;
    }
    let normal = normal.normalize();
    let d = farthest(points, |p| normal.dot(&(p - points[a])).abs());
    let height = normal.dot(&(points[d] - points[a]));
    if height.abs() <= FLAT * size {
        None
    } else if height < 0.0 {
        Some([a, b, c, d])
    } else {
        Some([a, c, b, d])
    }
}

/// Outward triangles of the hull, point after point: the faces a new point sees give way to a fan over their rim.
fn triangulate(points: &[V], size: f64) -> Option<Vec<[usize; TRIANGLE]>> {
    let [a, b, c, d] = first_solid(points, size)?;
    let mut triangles = vec![[a, b, c], [a, c, d], [a, d, b], [b, d, c]];
    let mut seen = Vec::new();
    let mut next = Vec::new();
    for i in 0..points.len() {
        if [a, b, c, d].contains(&i) {
            continue;
        }
        seen.clear();
        seen.extend(triangles.iter().map(|t| {
            let normal = (points[t[1]] - points[t[0]]).cross(&(points[t[2]] - points[t[0]]));
            let length = normal.norm();
            length > 0.0 && normal.dot(&(points[i] - points[t[0]])) > COPLANAR * size * length
        }));
        if !seen.contains(&true) {
            continue;
        }
        next.clear();
        next.extend(triangles.iter().zip(&seen).filter(|(_, s)| !**s).map(|(t, _)| *t));
        // A rim edge belongs to a seen triangle whose neighbour across it is not seen.
        for (t, _) in triangles.iter().zip(&seen).filter(|(_, s)| **s) {
            for k in 0..TRIANGLE {
                let (p, q) = (t[k], t[(k + 1) % TRIANGLE]);
                let shared = triangles.iter().zip(&seen).any(|(o, s)| *s && (0..TRIANGLE).any(|m| o[m] == q && o[(m + 1) % TRIANGLE] == p));
                if !shared {
                    next.push([p, q, i]);
                }
            }
        }
        std::mem::swap(&mut triangles, &mut next);
    }
    Some(triangles)
}

/// Merges triangles in one plane into polygons; vertices where fewer than three faces meet lie on an edge and are dropped.
fn merge(points: &[V], triangles: &[[usize; TRIANGLE]], tolerance: f64) -> Option<Hull> {
    let mut used: Vec<usize> = triangles.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let mut planes: Vec<(V, Vec<usize>)> = Vec::new();
    // Large triangles first: their planes are the best conditioned.
    let area = |t: &[usize; TRIANGLE]| (points[t[1]] - points[t[0]]).cross(&(points[t[2]] - points[t[0]]));
    let mut order: Vec<usize> = (0..triangles.len()).collect();
    order.sort_by(|i, j| area(&triangles[*j]).norm().total_cmp(&area(&triangles[*i]).norm()));
    for i in order {
        let t = &triangles[i];
        if planes.iter().any(|(_, members)| t.iter().all(|v| members.contains(v))) {
            continue;
        }
        let normal = area(t).normalize();
        let members =
            used.iter().copied().filter(|v| t.contains(v) || normal.dot(&(points[*v] - points[t[0]])).abs() <= tolerance).collect();
        planes.push((normal, members));
    }
    let corner = |v: &usize| planes.iter().filter(|(_, m)| m.contains(v)).count() >= TRIANGLE;
    let mut faces = Vec::new();
    for (normal, members) in &planes {
        let mut ring: Vec<usize> = members.iter().copied().filter(corner).collect();
        if ring.len() < TRIANGLE {
            return None;
        }
        let centre = ring.iter().map(|v| points[*v]).sum::<V>() / ring.len() as f64;
        let x = (points[ring[0]] - centre).normalize();
        let y = normal.cross(&x);
        let angle = |v: &usize| (points[*v] - centre).dot(&y).atan2((points[*v] - centre).dot(&x));
        ring.sort_by(|i, j| angle(i).total_cmp(&angle(j)));
        faces.push(ring);
    }
    polygons(points, faces)
}

/// Builds the topology of closed polygons; `None` when an edge does not join exactly two faces or Euler's count fails.
fn polygons(points: &[V], faces: Vec<Vec<usize>>) -> Option<Hull> {
    let mut used: Vec<usize> = faces.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let index = |v: usize| used.binary_search(&v).ok().map(|i| i as u32);
    let mut hull = Hull {
        vertices: used.iter().map(|v| points[*v]).collect(),
        normals: Vec::new(),
        face_start: vec![0],
        face_vertices: Vec::new(),
        face_edges: Vec::new(),
        edges: Vec::new(),
        edge_faces: Vec::new(),
    };
    for (f, face) in faces.iter().enumerate() {
        let normal = area_vector(face.len(), |k| points[face[k]]);
        let length = normal.norm();
        if length <= 0.0 {
            return None;
        }
        hull.normals.push(normal / length);
        for k in 0..face.len() {
            let (p, q) = (index(face[k])?, index(face[(k + 1) % face.len()])?);
            hull.face_vertices.push(p);
            let edge = match hull.edges.iter().position(|e| *e == [q, p]) {
                Some(edge) => {
                    if hull.edge_faces[edge][1] != u32::MAX {
                        return None;
                    }
                    hull.edge_faces[edge][1] = f as u32;
                    edge
                }
                None => {
                    if hull.edges.contains(&[p, q]) {
                        return None;
                    }
                    hull.edges.push([p, q]);
                    hull.edge_faces.push([f as u32, u32::MAX]);
                    hull.edges.len() - 1
                }
            };
            hull.face_edges.push(edge as u32);
        }
        hull.face_start.push(hull.face_vertices.len() as u32);
    }
    let closed = hull.edge_faces.iter().all(|f| f[1] != u32::MAX);
    let euler = hull.vertices.len() + hull.normals.len() == hull.edges.len() + 2;
    (closed && euler).then_some(hull)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(points: &[V]) -> (usize, usize, usize) {
        let hull = Hull::new(points).unwrap();
        (hull.vertices().len(), hull.edges().len(), hull.normals().len())
    }

    #[test]
    fn a_grid_of_points_is_a_box() {
        let mut points = Vec::new();
        for i in 0..27 {
            points.push(V::new((i % 3) as f64, (i / 3 % 3) as f64 * 0.5, (i / 9) as f64 * 2.0));
        }
        assert_eq!(count(&points), (8, 12, 6));
        let turn = nalgebra::UnitQuaternion::from_euler_angles(0.3, 0.7, -1.1);
        let turned: Vec<V> = points.iter().map(|p| turn * p + V::new(3.0, 1.0, 2.0)).collect();
        assert_eq!(count(&turned), (8, 12, 6));
    }

    #[test]
    fn a_prism_keeps_its_polygons() {
        let n = 24;
        let mut points = Vec::new();
        for i in 0..n {
            let (s, c) = (std::f64::consts::TAU * i as f64 / n as f64).sin_cos();
            points.push(V::new(c, s, 0.5));
            points.push(V::new(c, s, -0.5));
        }
        assert_eq!(count(&points), (2 * n, 3 * n, n + 2));
    }

    #[test]
    fn every_point_lies_behind_every_face() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        for _ in 0..50 {
            let points: Vec<V> = (0..40).map(|_| V::new(random(), random(), random())).collect();
            let hull = Hull::new(&points).unwrap();
            for (f, n) in hull.normals().iter().enumerate() {
                let d = n.dot(&hull.vertices()[hull.face(f)[0] as usize]);
                assert!(points.iter().all(|p| n.dot(p) - d <= 1e-10));
                let face = hull.face(f);
                for k in 0..face.len() {
                    let v = |k: usize| hull.vertices()[face[k % face.len()] as usize];
                    assert!((v(k + 1) - v(k)).cross(&(v(k + 2) - v(k + 1))).dot(n) > 0.0);
                }
            }
        }
    }

    #[test]
    fn flat_and_few_points_are_refused() {
        let square = [V::zeros(), V::x(), V::y(), V::x() + V::y()];
        assert!(matches!(Hull::new(&square), Err(ShapeError::Degenerate { .. })));
        assert!(matches!(Hull::new(&square[..3]), Err(ShapeError::TooFewPoints { .. })));
        assert!(matches!(Hull::new(&[V::repeat(f64::NAN)]), Err(ShapeError::NotFinite { .. })));
        assert!(matches!(Hull::new(&[]), Err(ShapeError::TooFewPoints { .. })));
    }
}
