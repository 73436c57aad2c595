//! Pictures of the plane: outlines, in the colours of the bodies, on paper.

mod slab;

use crate::color::{Ink, Rgb, luma, mix, of_body, scaled};
use crate::draw::{Draw, Moment, Scenery};
use crate::drawing::{Drawing, Fill, Form, Point, Stroke};
use crate::error::RenderError;
use crate::framing::Framing;
use crate::links::{Link, links};
use crate::mesh::Room;
use crate::options::Options;
use crate::space::solids::Face;
use crate::{canvas::Canvas, paint};
use carom_dynamics::BodyKind;
use carom_geometry::{Geometry, planar::Shape};
use carom_math::{Planar, Pose, Spatial};
use nalgebra::{UnitQuaternion, Vector2, Vector3};

type Lin = Vector2<f64>;

/// Room around everything, as a part of the width.
const MARGIN: f64 = 0.06;
/// Height of a picture as a part of its width, at least and at most, unless it is given.
const FLATTEST: f64 = 0.34;
const TALLEST: f64 = 1.2;
/// Widths of lines \[pixels\] on paper of the width below; they grow with its root.
const OUTLINE: f64 = 1.1;
const WALL: f64 = 2.6;
const ROPE: f64 = 1.4;
const TRAIL: f64 = 1.4;
const PIN: f64 = 2.2;
/// Paper \[pixels\] on which those widths are meant.
const PAPER: f64 = 480.0;
/// Factor of an outline's colour to its fill.
const DARKER: f64 = 0.62;
/// Part of the way to white of a spoke, the luminance of a ball beyond which it is dark instead, and its width in radii.
const LIGHTER: f64 = 0.8;
const PALE: f64 = 0.72;
const SPOKE: f64 = 0.12;
/// A body less than this many pixels across is a dot without marks.
const DOT: f64 = 5.0;
/// Ticks of the ground across the picture, about; their length \[pixels\] and strength.
const TICKS: f64 = 10.0;
const TICK: f64 = 4.0;
const TICK_STRENGTH: f64 = 0.55;
/// Bends of a spring and how far \[pixels\] they go aside.
const COILS: usize = 16;
const COIL: f64 = 5.5;
/// Bodies beyond which outlines are left out: they would be most of the picture.
const MANY: usize = 2500;

/// How the plane lies on paper.
#[derive(Clone, Debug)]
pub struct View {
    framing: Framing<Planar>,
    width: usize,
    height: usize,
    /// Pixels of a metre.
    scale: f64,
    /// Factor of all line widths.
    pen: f64,
}

/// The view at one time.
struct Sheet<'a> {
    view: &'a View,
    centre: Lin,
    ink: Ink,
}

impl Sheet<'_> {
    fn at(&self, p: Lin) -> Point {
        let [w, h] = [self.view.width as f64, self.view.height as f64];
        [0.5 * w + (p.x - self.centre.x) * self.view.scale, 0.5 * h - (p.y - self.centre.y) * self.view.scale]
    }
    /// Farthest distance \[m\] from the centre that can be seen, and then some.
    fn reach(&self) -> f64 {
        (self.view.width + self.view.height) as f64 / self.view.scale
    }
    fn pen(&self, width: f64) -> f64 {
        width * self.view.pen
    }
}

impl Draw for Planar {
    type View = View;

    fn view(framing: Framing<Planar>, width: usize, options: &Options) -> View {
        let room = 1.0 - 2.0 * MARGIN;
        let [across, up] = [2.0 * framing.half.x, 2.0 * framing.half.y];
        let natural = (width as f64 * ((up / across) * room + 2.0 * MARGIN)).clamp(FLATTEST * width as f64, TALLEST * width as f64);
        // Even, as some encoders like it.
        let height = options.height.unwrap_or((natural / 2.0).round() as usize * 2);
        let margin = MARGIN * width as f64;
        let inside = |side: usize| (side as f64 - 2.0 * margin).max(1.0);
        let scale = (inside(width) / across).min(inside(height) / up);
        View { framing, width, height, scale, pen: (width as f64 / PAPER).sqrt().max(0.5) }
    }

    fn size(view: &View) -> [usize; 2] {
        [view.width, view.height]
    }

    fn drawing(view: &View, scenery: &Scenery<'_, Planar>, moment: &Moment<'_, Planar>) -> Drawing {
        let ink = scenery.ink;
        let mut out = Drawing::new(view.width, view.height, ink.paper);
        let sheet = Sheet { view, centre: view.framing.centre(moment.time), ink };
        let bodies = &scenery.model.bodies;
        let many = bodies.len() > MANY;
        // From the back: the ground, what is fixed, trails, ties, what moves, pins.
        for (body, pose) in bodies.iter().zip(moment.poses) {
            for collider in &body.colliders {
                ground(&mut out, &sheet, &collider.shape, &pose.compose(&collider.local));
            }
        }
        for moving in [false, true] {
            if moving {
                trails(&mut out, &sheet, scenery, moment);
                ties(&mut out, &sheet, scenery, moment);
            }
            for (index, (body, pose)) in bodies.iter().zip(moment.poses).enumerate() {
                if (body.kind != BodyKind::Static) == moving {
                    let color = of_body(index, body, &ink);
                    for collider in &body.colliders {
                        solid(&mut out, &sheet, &collider.shape, &pose.compose(&collider.local), color, many);
                    }
                    if body.colliders.is_empty() {
                        let radius = sheet.pen(PIN);
                        out.add(Form::Circle { centre: sheet.at(pose.position), radius }, Some(Fill::Flat(color)), None);
                    }
                }
            }
        }
        pins(&mut out, &sheet, scenery, moment);
        out
    }

    fn pixels(view: &View, scenery: &Scenery<'_, Planar>, moment: &Moment<'_, Planar>) -> Result<Canvas, RenderError> {
        paint::paint(&Self::drawing(view, scenery, moment))
    }

    fn faces(shape: &Shape, local: &Pose<Planar>, color: Rgb, room: &Room) -> Vec<Face> {
        slab::faces(shape, local, color, room)
    }

    fn in_space(pose: &Pose<Planar>) -> Pose<Spatial> {
        let turned = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), pose.rotation.angle);
        Pose { position: Vector3::new(pose.position.x, pose.position.y, 0.0), rotation: turned }
    }
}

/// Half-spaces and heightfields.
fn ground(out: &mut Drawing, sheet: &Sheet<'_>, shape: &Shape, pose: &Pose<Planar>) {
    let edge = Stroke { color: sheet.ink.edge, width: sheet.pen(OUTLINE) };
    let reach = sheet.reach();
    match shape {
        Shape::HalfSpace { normal } => {
            let n = pose.direction(*normal);
            let t = Vector2::new(n.y, -n.x);
            // The point of the line below the centre of the picture.
            let foot = sheet.centre - n * n.dot(&(sheet.centre - pose.position));
            let corners = [foot - t * reach, foot + t * reach, foot + (t - n * 2.0) * reach, foot - (t + n * 2.0) * reach];
            out.add(Form::lines(&corners.map(|c| sheet.at(c)), true), Some(Fill::Flat(sheet.ink.ground)), None);
            out.line(&[sheet.at(corners[0]), sheet.at(corners[1])], edge.color, edge.width, 1.0);
            ticks(out, sheet, pose.position, n, t, foot);
        }
        Shape::Heightfield(_) => {
            let nodes = Planar::outline(shape).points;
            let top: Vec<Point> = nodes.iter().map(|p| sheet.at(pose.point(*p))).collect();
            let down = |p: &Lin| sheet.at(pose.point(Vector2::new(p.x, 0.0)) + pose.direction(-Vector2::y()) * reach);
            let area: Vec<Point> = top.iter().copied().chain(nodes.last().map(down)).chain(nodes.first().map(down)).collect();
            out.add(Form::lines(&area, true), Some(Fill::Flat(sheet.ink.ground)), None);
            out.line(&top, edge.color, edge.width, 1.0);
        }
        _ => {}
    }
}

/// A step of 1, 2 or 5 times a power of ten near a length.
fn round_step(length: f64) -> f64 {
    let ten = 10f64.powf(length.log10().floor());
    let part = length / ten;
    ten * if part < 1.5 {
        1.0
    } else if part < 3.5 {
        2.0
    } else if part < 7.5 {
        5.0
    } else {
        10.0
    }
}

/// Marks along the ground that stay where they are while the camera moves.
fn ticks(out: &mut Drawing, sheet: &Sheet<'_>, origin: Lin, n: Lin, t: Lin, foot: Lin) {
    let step = round_step(sheet.view.width as f64 / sheet.view.scale / TICKS);
    let middle = t.dot(&(foot - origin)) / step;
    let side = (sheet.reach() / step).min(4.0 * TICKS).ceil() as i64;
    for k in -side..=side {
        let at = sheet.at(origin + t * (middle.round() + k as f64) * step);
        // On paper y points down.
        let end = [at[0] - n.x * sheet.pen(TICK), at[1] + n.y * sheet.pen(TICK)];
        out.line(&[at, end], sheet.ink.edge, sheet.pen(OUTLINE), TICK_STRENGTH);
    }
}

/// Everything that has an outline.
fn solid(out: &mut Drawing, sheet: &Sheet<'_>, shape: &Shape, pose: &Pose<Planar>, color: Rgb, many: bool) {
    let dark = scaled(color, DARKER);
    let outlined = (!many).then_some(Stroke { color: dark, width: sheet.pen(OUTLINE) });
    match shape {
        Shape::HalfSpace { .. } | Shape::Heightfield(_) => {}
        Shape::Segment { a, b } => {
            let ends = [sheet.at(pose.point(*a)), sheet.at(pose.point(*b))];
            out.line(&ends, color, sheet.pen(WALL), 1.0);
        }
        Shape::Ball { radius } => {
            let (centre, r) = (sheet.at(pose.position), radius * sheet.view.scale);
            if 2.0 * r < DOT {
                out.add(Form::Circle { centre, radius: r.max(1.0) }, Some(Fill::Flat(color)), None);
                return;
            }
            out.add(Form::Circle { centre, radius: r }, Some(Fill::Flat(color)), outlined);
            // A light spoke shows how it turns.
            let rim = sheet.at(pose.point(Vector2::new(*radius, 0.0)));
            let spoke = if luma(color) > PALE { dark } else { mix(color, [1.0; 3], LIGHTER) };
            out.line(&[centre, rim], spoke, sheet.pen(OUTLINE).max(SPOKE * r), 1.0);
        }
        Shape::Capsule { half_length, radius } => {
            let ends = [-half_length, *half_length].map(|x| sheet.at(pose.point(Vector2::new(x, 0.0))));
            let r = radius * sheet.view.scale;
            if 2.0 * r < DOT {
                out.line(&ends, color, (2.0 * r).max(sheet.pen(ROPE)), 1.0);
            } else {
                out.add(Form::rod(ends[0], ends[1], r), Some(Fill::Flat(color)), outlined);
            }
        }
        Shape::Cuboid { .. } | Shape::Convex(_) => {
            let corners: Vec<Point> = Planar::outline(shape).points.iter().map(|p| sheet.at(pose.point(*p))).collect();
            out.add(Form::lines(&corners, true), Some(Fill::Flat(color)), outlined);
        }
    }
}

fn trails(out: &mut Drawing, sheet: &Sheet<'_>, scenery: &Scenery<'_, Planar>, moment: &Moment<'_, Planar>) {
    for (index, body) in scenery.model.bodies.iter().enumerate().filter(|(_, b)| b.kind != BodyKind::Static) {
        let points: Vec<Point> = moment.trail.iter().map(|poses| sheet.at(poses[index])).collect();
        for (k, piece) in points.windows(2).enumerate() {
            // Older pieces fade.
            let opacity = 0.75 * (k + 1) as f64 / points.len() as f64;
            out.line(piece, of_body(index, body, &sheet.ink), sheet.pen(TRAIL), opacity);
        }
    }
}

fn ties(out: &mut Drawing, sheet: &Sheet<'_>, scenery: &Scenery<'_, Planar>, moment: &Moment<'_, Planar>) {
    let mut marks = Vec::new();
    links(scenery.model, moment.poses, &mut marks);
    for mark in &marks {
        match mark {
            Link::Rope(a, b) => out.line(&[sheet.at(*a), sheet.at(*b)], sheet.ink.line, sheet.pen(ROPE), 1.0),
            Link::Spring(a, b) => out.line(&coils(sheet.at(*a), sheet.at(*b), sheet.pen(COIL)), sheet.ink.line, sheet.pen(ROPE), 1.0),
            Link::Stick(body, a, b) => {
                let color = of_body(*body, &scenery.model.bodies[*body], &sheet.ink);
                out.line(&[sheet.at(*a), sheet.at(*b)], color, sheet.pen(WALL), 1.0);
            }
            Link::Pin(..) => {}
        }
    }
}

/// A zigzag between two points.
fn coils(a: Point, b: Point, aside: f64) -> Vec<Point> {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let length = dx.hypot(dy).max(f64::MIN_POSITIVE);
    let side = [-dy / length * aside, dx / length * aside];
    let mut points = vec![a];
    for k in 0..COILS {
        let part = (k as f64 + 0.5) / COILS as f64;
        // The ends are straight.
        let sign = if k == 0 || k + 1 == COILS { 0.0 } else { 1.0 - 2.0 * (k % 2) as f64 };
        points.push([a[0] + part * dx + sign * side[0], a[1] + part * dy + sign * side[1]]);
    }
    points.push(b);
    points
}

fn pins(out: &mut Drawing, sheet: &Sheet<'_>, scenery: &Scenery<'_, Planar>, moment: &Moment<'_, Planar>) {
    let mut marks = Vec::new();
    links(scenery.model, moment.poses, &mut marks);
    for mark in &marks {
        if let Link::Pin(at, world) = mark {
            let radius = sheet.pen(if *world { 1.5 * PIN } else { PIN });
            let stroke = Some(Stroke { color: sheet.ink.line, width: sheet.pen(OUTLINE) });
            out.add(Form::Circle { centre: sheet.at(*at), radius }, Some(Fill::Flat(sheet.ink.pin)), stroke);
        }
    }
}
