//! Mesh files: OBJ and STL, text or binary, scaled; and their convex hull.

use crate::element::MAX_NUMBER;
use carom_geometry::spatial::Shape;
use nalgebra::Vector3;
use std::path::Path;

/// Largest mesh file \[bytes\].
const MAX_FILE: u64 = 256 << 20;
/// Most vertices and most triangles of a mesh.
const MAX_MESH: usize = 2_000_000;
/// Bytes before the triangles of a binary STL file: a heading and the count.
const STL_HEAD: usize = 84;
/// Bytes of the heading alone.
const STL_TITLE: usize = 80;
/// Bytes of a triangle of a binary STL file: normal, three corners, two unused.
const STL_FACE: usize = 50;
/// Bytes of the normal.
const STL_NORMAL: usize = 12;
/// Rounds of points added beyond the faces of a hull.
const MAX_ROUNDS: usize = 16;
/// Height over a face, as a part of the size, that still counts as on it: six digits of a mesh file.
const ON_FACE: f64 = 1e-6;
/// Most vertices of a hull: detection is quadratic in the edges.
const MAX_HULL: usize = 256;
/// Directions whose extreme points stay when a hull is thinned.
const DIRECTIONS: usize = 200;

/// Vertices \[m\] and triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Vertices.
    pub points: Vec<Vector3<f64>>,
    /// Triangles, counterclockwise seen from outside.
    pub faces: Vec<[usize; 3]>,
}

/// Reads a mesh file by its ending, or says what is wrong with it.
pub fn load(path: &Path) -> Result<Mesh, String> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    if ending != "obj" && ending != "stl" {
        return Err(format!("ends in \"{ending}\"; meshes are read from .obj and .stl"));
    }
    let about = std::fs::metadata(path).map_err(|e| format!("cannot be opened: {e}"))?;
    if !about.is_file() {
        return Err("is not a file".to_string());
    }
    if about.len() > MAX_FILE {
        return Err(format!("has {} bytes, and at most {MAX_FILE} are read", about.len()));
    }
    let bytes = std::fs::read(path).map_err(|e| format!("cannot be read: {e}"))?;
    let mesh = if ending == "obj" { obj(&String::from_utf8_lossy(&bytes))? } else { stl(&bytes)? };
    match mesh.points.iter().position(|p| p.iter().any(|x| x.abs() > MAX_NUMBER)) {
        Some(i) => Err(format!("vertex {i} lies beyond {MAX_NUMBER:e}")),
        None => Ok(mesh),
    }
}

/// `v x y z` and `f a b c ...`, fanned into triangles; everything else is passed over.
pub fn obj(text: &str) -> Result<Mesh, String> {
    let mut mesh = Mesh::default();
    for (i, line) in text.lines().enumerate() {
        let place = |message: &str| format!("line {}: {message}", i + 1);
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => mesh.points.push(point(&mut words).ok_or_else(|| place("a vertex needs three finite numbers"))?),
            Some("f") => {
                let corners: Option<Vec<usize>> = words.map(|word| corner(word, mesh.points.len())).collect();
                let corners = corners.ok_or_else(|| place("a face names a vertex that is not there"))?;
                if corners.len() < 3 {
                    return Err(place("a face needs three vertices"));
                }
                mesh.faces.extend((1..corners.len() - 1).map(|k| [corners[0], corners[k], corners[k + 1]]));
            }
            _ => {}
        }
        if mesh.points.len() > MAX_MESH || mesh.faces.len() > MAX_MESH {
            return Err(format!("has more than {MAX_MESH} vertices or triangles"));
        }
    }
    if mesh.faces.is_empty() { Err("has no faces".to_string()) } else { Ok(mesh) }
}

fn point<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Vector3<f64>> {
    let mut number = || words.next().and_then(|w| w.parse::<f64>().ok()).filter(|x| x.is_finite());
    Some(Vector3::new(number()?, number()?, number()?))
}

/// The vertex of `7`, `7/1`, `7//3` or `-1`.
fn corner(word: &str, count: usize) -> Option<usize> {
    let index: i64 = word.split('/').next()?.parse().ok()?;
    let from_zero = if index > 0 { index - 1 } else { i64::try_from(count).ok()?.checked_add(index)? };
    usize::try_from(from_zero).ok().filter(|i| *i < count && index != 0)
}

/// A binary file has the length that its count says; everything else is text.
pub fn stl(bytes: &[u8]) -> Result<Mesh, String> {
    let count = bytes.get(STL_TITLE..STL_HEAD).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes) as usize;
    let binary = bytes.len() >= STL_HEAD && count.checked_mul(STL_FACE).and_then(|n| n.checked_add(STL_HEAD)) == Some(bytes.len());
    let corners = if binary { stl_binary(&bytes[STL_HEAD..])? } else { stl_text(bytes)? };
    if corners.is_empty() {
        return Err("has no faces".to_string());
    }
    Ok(joined(&corners))
}

fn stl_binary(bytes: &[u8]) -> Result<Vec<Vector3<f64>>, String> {
    if bytes.len() / STL_FACE > MAX_MESH {
        return Err(format!("has more than {MAX_MESH} triangles"));
    }
    let mut corners = Vec::with_capacity(3 * bytes.len() / STL_FACE);
    for (face, record) in bytes.chunks_exact(STL_FACE).enumerate() {
        for corner in record[STL_NORMAL..].chunks_exact(STL_NORMAL).take(3) {
            let number = |k: usize| corner[4 * k..4 * k + 4].try_into().map_or(f64::NAN, |b| f64::from(f32::from_le_bytes(b)));
            let p = Vector3::new(number(0), number(1), number(2));
            if !p.iter().all(|x| x.is_finite()) {
                return Err(format!("triangle {face}: a corner is not finite"));
            }
            corners.push(p);
        }
    }
    Ok(corners)
}

fn stl_text(bytes: &[u8]) -> Result<Vec<Vector3<f64>>, String> {
    let text = String::from_utf8_lossy(bytes);
    if !text.trim_start().starts_with("solid") {
        return Err("is neither a binary STL file of the length it says nor a text that starts with \"solid\"".to_string());
    }
    let mut corners = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        if words.next() == Some("vertex") {
            corners.push(point(&mut words).ok_or_else(|| format!("line {}: a vertex needs three finite numbers", i + 1))?);
        }
        if corners.len() > 3 * MAX_MESH {
            return Err(format!("has more than {MAX_MESH} triangles"));
        }
    }
    if corners.len() % 3 != 0 {
        return Err("ends within a triangle".to_string());
    }
    Ok(corners)
}

/// Corners that are the same point become one vertex.
fn joined(corners: &[Vector3<f64>]) -> Mesh {
    let mut order: Vec<usize> = (0..corners.len()).collect();
    order.sort_by(|&a, &b| by_coordinates(&corners[a], &corners[b]).then(a.cmp(&b)));
    let (mut points, mut index) = (Vec::<Vector3<f64>>::new(), vec![0; corners.len()]);
    for i in order {
        if points.last() != Some(&corners[i]) {
            points.push(corners[i]);
        }
        index[i] = points.len() - 1;
    }
    Mesh { points, faces: index.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect() }
}

fn by_coordinates(a: &Vector3<f64>, b: &Vector3<f64>) -> std::cmp::Ordering {
    a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)).then(a.z.total_cmp(&b.z))
}

impl Mesh {
    /// Scaled along its axes; a mirrored mesh is turned inside out again.
    pub fn scaled(mut self, scale: Vector3<f64>) -> Self {
        self.points.iter_mut().for_each(|p| *p = p.component_mul(&scale));
        if scale.x * scale.y * scale.z < 0.0 {
            self.faces.iter_mut().for_each(|f| f.swap(1, 2));
        }
        self
    }
    /// The convex hull.
    pub fn hull(&self) -> Result<Convex, String> {
        hull(&self.points)
    }
}

/// A convex hull: its vertices and triangles, and whether vertices were left out to keep it small.
#[derive(Clone, Debug, PartialEq)]
pub struct Convex {
    /// The whole hull, for mass.
    pub mesh: Mesh,
    /// The vertices that collide.
    pub points: Vec<Vector3<f64>>,
    /// Whether `points` lacks some of the hull's vertices.
    pub thinned: bool,
}

/// The hull of points: that of the outermost in many directions, then with the farthest point beyond each of its faces, until none is left.
pub fn hull(points: &[Vector3<f64>]) -> Result<Convex, String> {
    let mut beyond = points.to_vec();
    beyond.sort_by(by_coordinates);
    beyond.dedup();
    if beyond.len() <= MAX_HULL {
        let mesh = outline(&beyond)?;
        return Ok(Convex { points: mesh.points.clone(), mesh, thinned: false });
    }
    let mut mesh = outline(&extreme(&beyond))?;
    let size = mesh.points.iter().flat_map(|p| p.iter()).fold(0.0_f64, |m, x| m.max(x.abs()));
    for _ in 0..MAX_ROUNDS {
        let planes: Vec<(Vector3<f64>, f64)> = mesh.faces.iter().filter_map(|f| plane(&mesh, f)).collect();
        // Of every face the point farthest beyond it; what is behind all faces never comes back.
        let mut farthest: Vec<Option<(f64, usize)>> = vec![None; planes.len()];
        beyond.retain(|p| planes.iter().any(|(normal, at)| normal.dot(p) - at > ON_FACE * size));
        for (i, p) in beyond.iter().enumerate() {
            let mut worst = (0.0, 0);
            for (f, (normal, at)) in planes.iter().enumerate() {
                let height = normal.dot(p) - at;
                if height > worst.0 {
                    worst = (height, f);
                }
            }
            if farthest[worst.1].is_none_or(|(height, _)| worst.0 > height) {
                farthest[worst.1] = Some((worst.0, i));
            }
        }
        let mut next = mesh.points.clone();
        next.extend(farthest.iter().flatten().map(|&(_, i)| beyond[i]));
        if beyond.is_empty() || next.len() > MAX_HULL {
            break;
        }
        mesh = outline(&next)?;
    }
    Ok(Convex { points: mesh.points.clone(), mesh, thinned: !beyond.is_empty() })
}

/// Outward unit normal and offset of a face; `None` for one without area.
fn plane(mesh: &Mesh, face: &[usize; 3]) -> Option<(Vector3<f64>, f64)> {
    let [a, b, c] = face.map(|i| mesh.points[i]);
    let normal = (b - a).cross(&(c - a)).try_normalize(f64::MIN_POSITIVE)?;
    Some((normal, normal.dot(&a)))
}

/// Hull of few points.
fn outline(points: &[Vector3<f64>]) -> Result<Mesh, String> {
    match Shape::convex(points) {
        Ok(Shape::Convex(hull)) => {
            let mut faces = Vec::new();
            for f in 0..hull.normals().len() {
                let face = hull.face(f);
                faces.extend((1..face.len().saturating_sub(1)).map(|k| [face[0], face[k], face[k + 1]].map(|i| i as usize)));
            }
            Ok(Mesh { points: hull.vertices().to_vec(), faces })
        }
        Ok(_) => Err("has no hull".to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// The points that reach farthest in many directions spread evenly over the sphere (a golden spiral).
fn extreme(points: &[Vector3<f64>]) -> Vec<Vector3<f64>> {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let mut keep = std::collections::BTreeSet::new();
    for k in 0..DIRECTIONS {
        let z = 1.0 - 2.0 * (k as f64 + 0.5) / DIRECTIONS as f64;
        let (sin, cos) = (golden * k as f64).sin_cos();
        let r = (1.0 - z * z).sqrt();
        let direction = Vector3::new(r * cos, r * sin, z);
        let mut best = 0;
        for i in 1..points.len() {
            if points[i].dot(&direction) > points[best].dot(&direction) {
                best = i;
            }
        }
        keep.insert(best);
    }
    keep.into_iter().filter_map(|i| points.get(i).copied()).collect()
}
