//! Repeats written out: every body and joint of the scene in its final order, with its name and its shift.

use crate::error::{Fault, Sink};
use crate::keys::MAX_BODIES;
use crate::tree::{At, BodyTree, JointTree, Pattern, RepeatTree, SceneTree, Triple};
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

/// Largest number of points of all shapes of all copies together.
const MAX_POINTS: usize = 20_000_000;

/// How a copy is placed: turned about the origin (in space about z), then moved.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Placing {
    /// Angle \[rad\].
    turn: f64,
    /// Move \[m\].
    shift: Triple,
}

impl Placing {
    /// A direction or velocity.
    pub fn direction(&self, [x, y, z]: Triple) -> Triple {
        if self.turn == 0.0 {
            return [x, y, z];
        }
        let (sin, cos) = self.turn.sin_cos();
        [cos * x - sin * y, sin * x + cos * y, z]
    }
    /// A point.
    pub fn point(&self, p: Triple) -> Triple {
        let turned = self.direction(p);
        [0, 1, 2].map(|k| turned[k] + self.shift[k])
    }
    /// The angle, or quaternion, of a body.
    pub fn rotation(&self, dimension: usize, rotation: [f64; 4]) -> [f64; 4] {
        let [w, x, y, z] = rotation;
        if self.turn == 0.0 {
            return rotation;
        }
        if dimension == 2 {
            return [w + self.turn, x, y, z];
        }
        let q = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), self.turn).into_inner() * Quaternion::new(w, x, y, z);
        [q.w, q.i, q.j, q.k]
    }
}

/// A body of the scene: the one written, its name and where it is put.
#[derive(Clone, Debug)]
pub(crate) struct Copy<'a> {
    /// As written; shared by all copies.
    pub tree: &'a BodyTree,
    /// Index of the written body among all written ones.
    pub written: usize,
    /// Final name.
    pub name: String,
    /// Where it is put.
    pub placing: Placing,
}

/// A body named by a joint.
#[derive(Clone, Debug)]
pub(crate) enum End<'a> {
    /// By name.
    Name(&'a At<String>),
    /// By `self`, `next` or `across`.
    Index(usize),
}

/// A joint of the scene: the one written, its name, its bodies and where it is put.
#[derive(Clone, Debug)]
pub(crate) struct Link<'a> {
    /// As written; shared by all copies.
    pub tree: &'a JointTree,
    /// Final name.
    pub name: String,
    /// Its bodies.
    pub ends: [End<'a>; 2],
    /// Where it is put.
    pub placing: Placing,
}

/// All bodies and joints in order: every `[[body]]`, then each `[[repeat]]` with the last index fastest; joints likewise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expanded<'a> {
    /// Bodies.
    pub bodies: Vec<Copy<'a>>,
    /// Joints.
    pub joints: Vec<Link<'a>>,
}

/// Writes the repeats out; `None` with a fault when there would be too many.
pub(crate) fn expand<'a>(tree: &'a SceneTree, sink: &mut Sink<'_>) -> Option<Expanded<'a>> {
    let mut out = Expanded::default();
    let mut points: usize = 0;
    for (i, body) in tree.bodies.iter().enumerate() {
        let name = body.name.as_ref().map_or_else(|| format!("body{i}"), |n| n.value.clone());
        out.bodies.push(Copy { tree: body, written: i, name, placing: Placing::default() });
    }
    for (i, joint) in tree.joints.iter().enumerate() {
        let name = joint.name.as_ref().map_or_else(|| format!("joint{i}"), |n| n.value.clone());
        out.joints.push(Link { tree: joint, name, ends: [0, 1].map(|k| End::Name(&joint.between[k])), placing: Placing::default() });
    }
    for (i, repeat) in tree.repeats.iter().enumerate() {
        let copies = copies(repeat);
        points = points.saturating_add(copies.saturating_mul(repeat.body.shapes.iter().map(|s| s.solid.size()).sum()));
        if out.bodies.len().saturating_add(copies) > MAX_BODIES || points > MAX_POINTS {
            let fault = Fault::new(repeat.places.of("count"), format!("repeat {i}"), "count", "too many bodies").quoted();
            sink.push(fault.allowed(format!("at most {MAX_BODIES} bodies in a scene, with at most {MAX_POINTS} points")));
            return None;
        }
        append(&mut out, repeat, tree.bodies.len() + i);
    }
    Some(out)
}

/// How many bodies a repeat makes.
fn copies(repeat: &RepeatTree) -> usize {
    match repeat.pattern {
        Pattern::Triangle => repeat.count[0].saturating_mul(repeat.count[0] + 1) / 2,
        Pattern::Line | Pattern::Grid => repeat.count.iter().fold(1, |n: usize, c| n.saturating_mul(*c)),
    }
}

/// Every index of a repeat, the last fastest.
fn indices(repeat: &RepeatTree) -> Vec<Vec<usize>> {
    if repeat.pattern == Pattern::Triangle {
        return (0..repeat.count[0]).flat_map(|i| (0..=i).map(move |j| vec![i, j])).collect();
    }
    let mut out = vec![Vec::new()];
    for &n in &repeat.count {
        out = out.into_iter().flat_map(|head| (0..n).map(move |k| head.iter().copied().chain([k]).collect())).collect();
    }
    out
}

/// Copies of one repeat. The shift is the sum over the indices, first to last, of index times offset; it is then added to the position.
fn append<'a>(out: &mut Expanded<'a>, repeat: &'a RepeatTree, written: usize) {
    let first = out.bodies.len();
    let all = indices(repeat);
    // Copies between one and the next along the first index.
    let stride: usize = repeat.count.iter().skip(1).product();
    for (k, index) in all.iter().enumerate() {
        let mut shift = [0.0; 3];
        for (n, offset) in index.iter().zip(&repeat.offset) {
            for (s, o) in shift.iter_mut().zip(offset) {
                *s += *n as f64 * o;
            }
        }
        let suffix: String = index.iter().map(|n| format!("_{n}")).collect();
        let name = match &repeat.body.name {
            Some(name) => format!("{}{suffix}", name.value),
            None => format!("body{}", first + k),
        };
        let placing = Placing { turn: k as f64 * repeat.turn, shift };
        out.bodies.push(Copy { tree: &repeat.body, written, name, placing });
        // The next copy along the last index stands right behind, unless this one ends its row.
        let next = all.get(k + 1).filter(|next| next[..next.len() - 1] == index[..index.len() - 1]).map(|_| first + k + 1);
        let across = (repeat.pattern == Pattern::Grid && k + stride < all.len()).then_some(first + k + stride);
        let end = |name: &'a At<String>| match name.value.as_str() {
            "self" => Some(End::Index(first + k)),
            "next" => next.map(End::Index),
            "across" => across.map(End::Index),
            _ => Some(End::Name(name)),
        };
        for joint in &repeat.joints {
            let (Some(a), Some(b)) = (end(&joint.between[0]), end(&joint.between[1])) else { continue };
            let name = match &joint.name {
                Some(name) => format!("{}{suffix}", name.value),
                None => format!("joint{}", out.joints.len()),
            };
            out.joints.push(Link { tree: joint, name, ends: [a, b], placing });
        }
    }
}
