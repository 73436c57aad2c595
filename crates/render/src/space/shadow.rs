//! What the lamp sees: a depth buffer from its side, asked softly.

use super::solids::{Face, Piece};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Direction of the lamp as seen by the camera: to the left, above, towards it.
const LAMP: [f64; 3] = [-0.42, 0.78, 0.46];
/// Cells of the buffer along a side.
const CELLS: usize = 640;
/// Cells on either side over which a shadow softens.
const SOFT: i64 = 2;
/// Cells by which a surface is lifted before it is asked, along its normal and towards the lamp: less, and it would shade itself.
const LIFT: f64 = 1.6;

/// A lamp infinitely far away and the depths it sees.
pub struct Lamp {
    /// Unit vector towards the lamp.
    pub towards: V,
    across: V,
    up: V,
    centre: V,
    /// Metres of a cell.
    cell: f64,
    /// Distance towards the lamp from the centre \[m\] of what is nearest to it.
    depth: Vec<f64>,
}

impl Lamp {
    /// A lamp whose buffer covers a ball; `right` and `back` are the camera's.
    pub fn new(centre: V, radius: f64, right: V, back: V) -> Self {
        // Above means above in the world, so that shadows fall on the ground whatever the camera does.
        let level = V::new(back.x, back.y, 0.0).try_normalize(0.0).unwrap_or(back);
        let towards = (right * LAMP[0] + V::z() * LAMP[1] + level * LAMP[2]).normalize();
        let across = V::z().cross(&towards).try_normalize(0.0).unwrap_or_else(V::x);
        let up = towards.cross(&across);
        Lamp { towards, across, up, centre, cell: 2.0 * radius / CELLS as f64, depth: vec![f64::NEG_INFINITY; CELLS * CELLS] }
    }
    fn place(&self, p: V) -> [f64; 3] {
        let r = p - self.centre;
        let half = 0.5 * CELLS as f64;
        [r.dot(&self.across) / self.cell + half, r.dot(&self.up) / self.cell + half, r.dot(&self.towards)]
    }
    fn put(&mut self, column: usize, row: usize, depth: f64) {
        let seen = &mut self.depth[row * CELLS + column];
        *seen = seen.max(depth);
    }
    fn span(low: f64, high: f64) -> std::ops::Range<usize> {
        let from = (low - 0.5).ceil().max(0.0) as usize;
        let to = ((high - 0.5).floor() + 1.0).max(0.0) as usize;
        from.min(CELLS)..to.min(CELLS)
    }
    /// Lets a piece cast its shadow.
    pub fn cast(&mut self, piece: &Piece) {
        match piece {
            Piece::Ball(ball) => {
                let [x, y, depth] = self.place(ball.pose.position);
                let reach = ball.radius / self.cell;
                for row in Lamp::span(y - reach, y + reach) {
                    for column in Lamp::span(x - reach, x + reach) {
                        let aside = ((column as f64 + 0.5 - x).powi(2) + (row as f64 + 0.5 - y).powi(2)) * self.cell * self.cell;
                        let left = ball.radius * ball.radius - aside;
                        if left > 0.0 {
                            self.put(column, row, depth + left.sqrt());
                        }
                    }
                }
            }
            Piece::Solid(faces) => faces.iter().for_each(|f| self.face(f)),
            Piece::Sheet(face) => self.face(face),
        }
    }
    fn face(&mut self, face: &Face) {
        let p: Vec<[f64; 3]> = face.points.iter().map(|p| self.place(*p)).collect();
        for k in 1..p.len().saturating_sub(1) {
            self.triangle([p[0], p[k], p[k + 1]]);
        }
    }
    fn triangle(&mut self, p: [[f64; 3]; 3]) {
        let cross = |a: [f64; 3], b: [f64; 3], x: f64, y: f64| (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
        let area = cross(p[0], p[1], p[2][0], p[2][1]);
        if area == 0.0 || !area.is_finite() {
            return;
        }
        let low = |k: usize| p.iter().fold(f64::INFINITY, |m, q| m.min(q[k]));
        let high = |k: usize| p.iter().fold(f64::NEG_INFINITY, |m, q| m.max(q[k]));
        for row in Lamp::span(low(1), high(1)) {
            for column in Lamp::span(low(0), high(0)) {
                let (x, y) = (column as f64 + 0.5, row as f64 + 0.5);
                let w = [cross(p[1], p[2], x, y) / area, cross(p[2], p[0], x, y) / area, cross(p[0], p[1], x, y) / area];
                if w.iter().all(|w| *w >= 0.0) {
                    self.put(column, row, w[0] * p[0][2] + w[1] * p[1][2] + w[2] * p[2][2]);
                }
            }
        }
    }
    /// How much of the lamp a point of a surface sees, 0 to 1; all of it beyond the buffer.
    pub fn lit(&self, point: V, normal: V) -> f64 {
        let [x, y, depth] = self.place(point + normal * (LIFT * self.cell));
        let floor = depth + LIFT * self.cell;
        let (column, row) = (x.floor() as i64, y.floor() as i64);
        let (mut free, mut asked) = (0.0, 0.0);
        for dy in -SOFT..=SOFT {
            for dx in -SOFT..=SOFT {
                let (c, r) = (column + dx, row + dy);
                let inside = (0..CELLS as i64).contains(&c) && (0..CELLS as i64).contains(&r);
                if !inside || self.depth[r as usize * CELLS + c as usize] <= floor {
                    free += 1.0;
                }
                asked += 1.0;
            }
        }
        free / asked
    }
}
