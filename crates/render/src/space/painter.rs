//! Space in lines and areas: pieces drawn from the back to the front.
//!
//! Two convex pieces that do not meet have a plane between them, and the one on the camera's side of it is in front. That gives an order
//! wherever the images overlap; where it runs in a circle, or pieces meet, the distance decides.

use super::camera::Camera;
use super::solids::{Detail, Face, Piece};
use super::stage::{Stage, corners};
use super::{GRID_STRENGTH, SHADOW, View, shadow::Lamp, surface, tangents};
use crate::color::{Rgb, mix, scaled};
use crate::draw::{Moment, Scenery};
use crate::drawing::{Drawing, Fill, Form, Item, Move, Point, Stroke};
use carom_math::Spatial;
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Sides of round things in lines: their facets are seen.
const SIDES: usize = 20;
/// Pieces beyond which the order is that of distances alone: pairs would take too long.
const MANY: usize = 4000;
/// Depth \[part of the size\] by which pieces may meet and still count as apart.
const TOUCH: f64 = 1e-3;
/// Width of edges \[pixels\], and their colour as a factor of the face's.
const EDGE: f64 = 0.7;
const DARKER: f64 = 0.72;
/// Lines of the ground on either side of the centre, and how far they reach in sizes of what is shown.
const LINES: i64 = 14;
const REACH: f64 = 2.4;
/// Pieces of a line of the ground, each with its own strength.
const FADES: usize = 16;
/// Points of a ball's shadow.
const SHADOW_POINTS: usize = 24;
/// Points of a ball's band.
const BAND_POINTS: usize = 40;
/// Part of the way to white of a band.
const STRIPE: f64 = 0.62;

/// A piece on its way to paper.
struct Placed<'a> {
    piece: &'a Piece,
    corners: Vec<V>,
    radius: f64,
    centre: V,
    /// Left, right, top and bottom of its image.
    image: [f64; 4],
    depth: f64,
}

/// The picture of a moment.
pub fn drawing(view: &View, camera: &Camera, centre: V, scenery: &Scenery<'_, Spatial>, moment: &Moment<'_, Spatial>) -> Drawing {
    let stage = Stage::new(scenery, moment, camera, Detail { sides: SIDES, balls: false }, 1.0);
    let mut out = Drawing::new(view.width, view.height, scenery.ink.paper);
    let lamp = Lamp::new(centre, view.size, camera.right, -camera.forward);
    for (origin, normal) in &stage.planes {
        grid(&mut out, view, camera, centre, *origin, *normal, scenery.ink.edge);
        shadows(&mut out, camera, &stage, *origin, *normal, lamp.towards, mix([0.0; 3], scenery.ink.ground, SHADOW));
    }
    let mut placed: Vec<Placed<'_>> = stage.pieces.iter().filter_map(|piece| place(camera, piece)).collect();
    // What lies inside a ball, as the pin of a wheel, is not seen and has no place in an order.
    let balls: Vec<(V, f64)> = placed.iter().filter(|p| p.radius > 0.0).map(|p| (p.centre, p.radius)).collect();
    placed.retain(|p| !balls.iter().any(|(c, r)| p.radius < *r && p.corners.iter().all(|q| (q - c).norm() + p.radius < *r)));
    for k in order(&placed, camera.eye, view.size) {
        put(&mut out, camera, placed[k].piece, lamp.towards);
    }
    out
}

fn place<'a>(camera: &Camera, piece: &'a Piece) -> Option<Placed<'a>> {
    let corners = corners(piece);
    let radius = if let Piece::Ball(ball) = piece { ball.radius } else { 0.0 };
    let mut image = [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY];
    for corner in &corners {
        let [x, y, depth] = camera.project(*corner);
        // A piece that reaches behind the camera has no image.
        if depth - radius <= camera.near {
            return None;
        }
        let r = camera.focal * radius / (depth - radius);
        image = [image[0].min(x - r), image[1].max(x + r), image[2].min(y - r), image[3].max(y + r)];
    }
    let centre = corners.iter().sum::<V>() / corners.len().max(1) as f64;
    let depth = (centre - camera.eye).norm();
    Some(Placed { piece, corners, radius, centre, image, depth })
}

/// Flat sides of a piece, as a point and an outward normal.
fn sides(piece: &Piece) -> Vec<(V, V)> {
    match piece {
        Piece::Ball(_) => Vec::new(),
        Piece::Solid(faces) => faces.iter().map(|f| (f.points[0], f.normal())).collect(),
        Piece::Sheet(face) => {
            let n = face.normal();
            vec![(face.points[0], n), (face.points[0], -n)]
        }
    }
}

/// Whether a is in front of b, by the plane that parts them best; `None` where none does.
fn in_front(a: &Placed<'_>, b: &Placed<'_>, eye: V, tolerance: f64) -> Option<bool> {
    let mut best: Option<(f64, bool)> = None;
    let mut consider = |apart: f64, a_in_front: bool| {
        if apart > -tolerance && best.is_none_or(|(found, _)| apart > found) {
            best = Some((apart, a_in_front));
        }
    };
    let beyond = |p: &Placed<'_>, at: V, n: V| p.corners.iter().map(|c| n.dot(&(c - at))).fold(f64::INFINITY, f64::min) - p.radius;
    for (at, n) in sides(a.piece) {
        consider(beyond(b, at, n), n.dot(&(eye - at)) <= 0.0);
    }
    for (at, n) in sides(b.piece) {
        consider(beyond(a, at, n), n.dot(&(eye - at)) > 0.0);
    }
    // Across the line of the centres: all there is for two balls, and a chance for corners.
    let line = a.centre - b.centre;
    if let Some(n) = line.try_normalize(0.0) {
        let top = b.corners.iter().map(|c| n.dot(c)).fold(f64::NEG_INFINITY, f64::max) + b.radius;
        let bottom = a.corners.iter().map(|c| n.dot(c)).fold(f64::INFINITY, f64::min) - a.radius;
        consider(bottom - top, n.dot(&eye) > 0.5 * (bottom + top));
    }
    best.map(|(_, front)| front)
}

/// Indices from the back to the front.
fn order(placed: &[Placed<'_>], eye: V, size: f64) -> Vec<usize> {
    let count = placed.len();
    let mut far: Vec<usize> = (0..count).collect();
    far.sort_by(|a, b| placed[*b].depth.total_cmp(&placed[*a].depth).then(a.cmp(b)));
    if count > MANY {
        return far;
    }
    // after[k]: what is drawn after k; before[k]: how much must be drawn before it.
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut before = vec![0usize; count];
    for i in 0..count {
        for j in i + 1..count {
            let (a, b) = (&placed[i], &placed[j]);
            let apart = a.image[1] < b.image[0] || b.image[1] < a.image[0] || a.image[3] < b.image[2] || b.image[3] < a.image[2];
            if apart {
                continue;
            }
            match in_front(a, b, eye, TOUCH * size) {
                Some(true) => {
                    after[j].push(i);
                    before[i] += 1;
                }
                Some(false) => {
                    after[i].push(j);
                    before[j] += 1;
                }
                None => {}
            }
        }
    }
    let mut out = Vec::with_capacity(count);
    let mut drawn = vec![false; count];
    while out.len() < count {
        // The farthest that hides nothing left; in a circle the farthest of all.
        let free = far.iter().copied().find(|k| !drawn[*k] && before[*k] == 0).or_else(|| far.iter().copied().find(|k| !drawn[*k]));
        let Some(next) = free else { break };
        drawn[next] = true;
        far.retain(|k| *k != next);
        for k in std::mem::take(&mut after[next]) {
            before[k] = before[k].saturating_sub(1);
        }
        out.push(next);
    }
    out
}

fn put(out: &mut Drawing, camera: &Camera, piece: &Piece, lamp: V) {
    match piece {
        Piece::Ball(ball) => {
            let centre = ball.pose.position;
            let [x, y, depth] = camera.project(centre);
            let radius = camera.focal * ball.radius / (depth * depth - ball.radius * ball.radius).sqrt();
            let stroke = Stroke { color: scaled(ball.color, DARKER), width: EDGE };
            out.add(Form::Circle { centre: [x, y], radius }, Some(Fill::Ball(ball.color)), Some(stroke));
            if ball.marked {
                band(out, camera, ball);
            }
        }
        Piece::Solid(faces) => {
            for face in faces.iter().filter(|f| f.normal().dot(&(camera.eye - f.points[0])) > 0.0) {
                put_face(out, camera, face, lamp, faces.len() < SIDES);
            }
        }
        Piece::Sheet(face) => put_face(out, camera, face, lamp, false),
    }
}

fn put_face(out: &mut Drawing, camera: &Camera, face: &Face, lamp: V, edged: bool) {
    let points: Vec<Point> = face.points.iter().map(|p| flat(camera, *p)).collect();
    let to_eye = camera.eye - face.points[0];
    let mut normal = face.normal();
    if normal.dot(&to_eye) < 0.0 {
        normal = -normal;
    }
    let color = surface(face.color, normal, to_eye, lamp, 1.0);
    // An edge of its own colour closes the seam between two facets.
    let edge = if edged { scaled(color, DARKER) } else { color };
    out.add(Form::lines(&points, true), Some(Fill::Flat(color)), Some(Stroke { color: edge, width: EDGE }));
}

fn flat(camera: &Camera, p: V) -> Point {
    let [x, y, _] = camera.project(p);
    [x, y]
}

/// The visible part of the circle about a ball's z axis.
fn band(out: &mut Drawing, camera: &Camera, ball: &super::solids::Ball) {
    let centre = ball.pose.position;
    let mut line: Vec<Point> = Vec::new();
    let mut lines: Vec<Vec<Point>> = Vec::new();
    let seen = |p: V| (p - centre).dot(&(camera.eye - p)) > 0.0;
    // From where it is hidden, so that a visible stretch comes in one.
    let at = |k: usize| {
        let (s, c) = (k as f64 / BAND_POINTS as f64 * std::f64::consts::TAU).sin_cos();
        ball.pose.point(V::new(c, s, 0.0) * ball.radius)
    };
    let first = (0..BAND_POINTS).find(|k| !seen(at(*k))).unwrap_or(0);
    for k in 0..=BAND_POINTS {
        let p = at(first + k);
        if seen(p) {
            line.push(flat(camera, p));
        } else if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
    }
    lines.push(line);
    let depth = (centre - camera.eye).dot(&camera.forward);
    let width = 0.28 * camera.focal * ball.radius / depth;
    for line in lines.iter().filter(|l| l.len() > 1) {
        out.line(line, mix(ball.color, [1.0; 3], STRIPE), width, 0.9);
    }
}

fn grid(out: &mut Drawing, view: &View, camera: &Camera, centre: V, origin: V, normal: V, color: Rgb) {
    let (u, v) = tangents(normal);
    let step = view.grid();
    let foot = centre - normal * normal.dot(&(centre - origin));
    let reach = REACH * view.size;
    for (along, across) in [(u, v), (v, u)] {
        let middle = (across.dot(&(foot - origin)) / step).round();
        for k in -LINES..=LINES {
            let aside = (middle + k as f64) * step;
            let base = foot + across * (aside - across.dot(&(foot - origin)));
            let off = (base - foot).norm();
            if off >= reach {
                continue;
            }
            let half = (reach * reach - off * off).sqrt();
            for piece in 0..FADES {
                let [from, to] = [piece, piece + 1].map(|i| base + along * (half * (2.0 * i as f64 / FADES as f64 - 1.0)));
                if [from, to].iter().any(|p| (p - camera.eye).dot(&camera.forward) <= camera.near) {
                    continue;
                }
                let away = ((from + to) * 0.5 - foot).norm() / reach;
                let strength = 2.0 * GRID_STRENGTH * (1.0 - away * away);
                if strength > 0.02 {
                    out.line(&[flat(camera, from), flat(camera, to)], color, EDGE, strength);
                }
            }
        }
    }
}

/// Shadows of all pieces on a plane, as one area, so that none is darker where two meet.
fn shadows(out: &mut Drawing, camera: &Camera, stage: &Stage, origin: V, normal: V, lamp: V, color: Rgb) {
    let slope = normal.dot(&lamp);
    if slope <= 0.0 {
        return;
    }
    let (u, v) = tangents(normal);
    let mut moves = Vec::new();
    for piece in stage.pieces.iter().take(stage.casting) {
        let mut points: Vec<V> = match piece {
            Piece::Ball(ball) => {
                let across = lamp.cross(&u).try_normalize(0.0).unwrap_or(v);
                let side = across.cross(&lamp);
                (0..SHADOW_POINTS)
                    .map(|k| {
                        let (s, c) = (k as f64 / SHADOW_POINTS as f64 * std::f64::consts::TAU).sin_cos();
                        ball.pose.position + (across * c + side * s) * ball.radius
                    })
                    .collect()
            }
            Piece::Solid(_) => corners(piece),
            Piece::Sheet(_) => continue,
        };
        if points.iter().any(|p| normal.dot(&(p - origin)) < 0.0) {
            // Only what stands on this side has a shadow here.
            points.retain(|p| normal.dot(&(p - origin)) >= 0.0);
        }
        let fallen: Vec<[f64; 2]> = points
            .iter()
            .map(|p| {
                let q = p - lamp * (normal.dot(&(p - origin)) / slope) - origin;
                [u.dot(&q), v.dot(&q)]
            })
            .collect();
        let hull = hull(fallen);
        let world: Vec<V> = hull.iter().map(|[x, y]| origin + u * *x + v * *y).collect();
        if world.len() < 3 || world.iter().any(|p| (p - camera.eye).dot(&camera.forward) <= camera.near) {
            continue;
        }
        for (k, p) in world.iter().enumerate() {
            let at = flat(camera, *p);
            moves.push(if k == 0 { Move::To(at) } else { Move::Line(at) });
        }
        moves.push(Move::Close);
    }
    if !moves.is_empty() {
        out.items.push(Item { form: Form::Path(moves), fill: Some(Fill::Flat(color)), stroke: None, opacity: 1.0 - SHADOW });
    }
}

/// The convex hull of points in a plane, counter-clockwise (Andrew's chains).
fn hull(mut points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let turn = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let chain = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut out: Vec<[f64; 2]> = Vec::new();
        for p in points {
            while out.len() >= 2 && turn(out[out.len() - 2], out[out.len() - 1], p) <= 0.0 {
                out.pop();
            }
            out.push(p);
        }
        out.pop();
        out
    };
    let mut out = chain(&mut points.iter().copied());
    out.extend(chain(&mut points.iter().rev().copied()));
    out
}
