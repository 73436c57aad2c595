//! The depth buffer: which surface each sample sees, and its normal and colour.

use super::camera::Camera;
use super::solids::{Ball, Face, Piece};
use crate::color::{Rgb, bytes};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Room for what the flat bound of a ball's image leaves out towards the edge of the picture.
const OBLIQUE: f64 = 1.25;

/// What a sample sees.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Inverse of the distance along the view [1/m]; 0 sees nothing.
    pub inverse: f64,
    /// Normal of the surface; short, as it only meets light.
    pub normal: [f32; 3],
    /// Colour of the surface.
    pub color: [u8; 3],
}

/// Normals and inverse distances of one surface within a pixel differ by less than this part.
const SMOOTH: f64 = 0.03;

impl Sample {
    /// Whether two neighbours see the same surface from nearly the same side.
    pub fn alike(&self, other: &Sample) -> bool {
        let cosine: f32 = self.normal.iter().zip(&other.normal).map(|(a, b)| a * b).sum();
        let flat = self.inverse == 0.0 || f64::from(cosine) > 1.0 - SMOOTH;
        self.color == other.color && (self.inverse - other.inverse).abs() <= SMOOTH * self.inverse && flat
    }
}

/// Samples of a picture, rows from the top.
pub struct Raster {
    /// Samples across.
    pub width: usize,
    /// Samples down.
    pub height: usize,
    /// What they see.
    pub samples: Vec<Sample>,
}

const NOTHING: Sample = Sample { inverse: 0.0, normal: [0.0; 3], color: [0; 3] };

impl Raster {
    /// Samples that see nothing.
    pub fn new(width: usize, height: usize) -> Self {
        Raster { width, height, samples: vec![NOTHING; width * height] }
    }
    /// Draws a piece.
    pub fn draw(&mut self, camera: &Camera, piece: &Piece) {
        match piece {
            Piece::Ball(ball) => self.ball(camera, ball),
            Piece::Solid(faces) => {
                for face in faces {
                    // Behind a solid's own front nothing of it is seen.
                    if face.normal().dot(&(camera.eye - face.points[0])) > 0.0 {
                        self.face(camera, face);
                    }
                }
            }
            Piece::Sheet(face) => self.face(camera, face),
        }
    }

    fn put(&mut self, place: usize, inverse: f64, normal: V, color: Rgb) {
        let sample = &mut self.samples[place];
        if inverse > sample.inverse {
            *sample = Sample { inverse, normal: [normal.x as f32, normal.y as f32, normal.z as f32], color: bytes(color) };
        }
    }

    /// Rows or columns between two coordinates, inside the picture.
    fn span(low: f64, high: f64, most: usize) -> std::ops::Range<usize> {
        // Casts saturate, so that what lies beyond any number is the edge.
        let from = (low - 0.5).ceil().max(0.0) as usize;
        let to = ((high - 0.5).floor() + 1.0).max(0.0) as usize;
        from.min(most)..to.min(most)
    }

    fn ball(&mut self, camera: &Camera, ball: &Ball) {
        let centre = ball.pose.position;
        let depth = (centre - camera.eye).dot(&camera.forward);
        if depth - ball.radius <= camera.near {
            return;
        }
        let [x, y, _] = camera.project(centre);
        let reach = OBLIQUE * camera.focal * ball.radius / (depth - ball.radius) + 1.0;
        let to_eye = camera.eye - centre;
        let c = to_eye.dot(&to_eye) - ball.radius * ball.radius;
        for row in Raster::span(y - reach, y + reach, self.height) {
            for column in Raster::span(x - reach, x + reach, self.width) {
                let ray = camera.ray(column as f64 + 0.5, row as f64 + 0.5);
                let (a, b) = (ray.dot(&ray), ray.dot(&to_eye));
                let root = b * b - a * c;
                if root > 0.0 {
                    let t = (-b - root.sqrt()) / a;
                    let normal = (to_eye + ray * t) / ball.radius;
                    let place = row * self.width + column;
                    if 1.0 / t > self.samples[place].inverse {
                        self.put(place, 1.0 / t, normal, ball.color_at(normal));
                    }
                }
            }
        }
    }

    fn face(&mut self, camera: &Camera, face: &Face) {
        // What lies before the nearest plane is cut off.
        let corners = clip(camera, face);
        for k in 1..corners.len().saturating_sub(1) {
            self.triangle(camera, [&corners[0], &corners[k], &corners[k + 1]], face.color);
        }
    }

    fn triangle(&mut self, camera: &Camera, corners: [&(V, V); 3], color: Rgb) {
        let p = corners.map(|(point, _)| camera.project(*point));
        let cross = |a: [f64; 2], b: [f64; 2], x: f64, y: f64| (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
        let flat = p.map(|[x, y, _]| [x, y]);
        let area = cross(flat[0], flat[1], flat[2][0], flat[2][1]);
        if area == 0.0 || !area.is_finite() {
            return;
        }
        let inverse = p.map(|[_, _, depth]| 1.0 / depth);
        let low = |k: usize| flat.iter().fold(f64::INFINITY, |m, q| m.min(q[k]));
        let high = |k: usize| flat.iter().fold(f64::NEG_INFINITY, |m, q| m.max(q[k]));
        for row in Raster::span(low(1), high(1), self.height) {
            let y = row as f64 + 0.5;
            for column in Raster::span(low(0), high(0), self.width) {
                let x = column as f64 + 0.5;
                let w = [cross(flat[1], flat[2], x, y) / area, cross(flat[2], flat[0], x, y) / area, cross(flat[0], flat[1], x, y) / area];
                if w.iter().any(|w| *w < 0.0) {
                    continue;
                }
                let depth = w[0] * inverse[0] + w[1] * inverse[1] + w[2] * inverse[2];
                let place = row * self.width + column;
                if depth > self.samples[place].inverse {
                    // Weights are straight in the picture, normals in the world.
                    let normal = (0..3).fold(V::zeros(), |n, k| n + corners[k].1 * (w[k] * inverse[k]));
                    self.put(place, depth, normal.try_normalize(0.0).unwrap_or(corners[0].1), color);
                }
            }
        }
    }
}

/// Corners and normals of the part of a face beyond the nearest plane.
fn clip(camera: &Camera, face: &Face) -> Vec<(V, V)> {
    let depth = |p: &V| (p - camera.eye).dot(&camera.forward) - camera.near;
    let count = face.points.len();
    if face.points.iter().all(|p| depth(p) > 0.0) {
        return face.points.iter().copied().zip(face.normals.iter().copied()).collect();
    }
    let mut out = Vec::new();
    for k in 0..count {
        let next = (k + 1) % count;
        let (a, b) = (depth(&face.points[k]), depth(&face.points[next]));
        if a > 0.0 {
            out.push((face.points[k], face.normals[k]));
        }
        if (a > 0.0) != (b > 0.0) {
            let t = a / (a - b);
            let between = |u: V, v: V| u + (v - u) * t;
            out.push((between(face.points[k], face.points[next]), between(face.normals[k], face.normals[next])));
        }
    }
    out
}
