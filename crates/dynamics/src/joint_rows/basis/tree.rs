//! Which joint carries which body, and the freedoms on the way to each.

use super::super::{JointRows, Span, WHOLE};
use crate::island::LocalBody;
use carom_geometry::Geometry;

/// No link, no joint, no freedom.
pub(super) const NONE: u32 = u32::MAX;

/// Joints above which no tree is sought.
const MOST: usize = 4096;

/// A body of a tree, and how it hangs on the one that carries it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Body of the island.
    pub body: u32,
    /// Its joint among those with rows; `NONE` where nothing carries it.
    pub node: u32,
    /// The link that carries it; `NONE` where that is what never moves.
    pub parent: u32,
    /// Which side of the joint it is.
    pub side: u32,
    /// Rows that hold it, without that of a rotor.
    pub held: u32,
    /// The body at the other side of its joint.
    pub carrier: u32,
    /// The inverse inertia of the rotor, 0 where there is none, and which of all rotors it is.
    pub inverse: f64,
    pub rotor: u32,
    /// The first of its own freedoms, and how many.
    pub first: u32,
    pub freedoms: u32,
    /// The first row of its joint, and its frame where it pins no point.
    pub row: u32,
    pub frame: u32,
}

impl Link {
    /// The sign of the rows of its joint at its side.
    #[inline]
    pub fn sign(&self) -> f64 {
        if self.side == 0 { 1.0 } else { -1.0 }
    }
    /// Its own freedoms.
    #[inline]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.freedoms) as usize
    }
    /// The link that carries it.
    #[inline]
    pub fn parent(&self) -> Option<usize> {
        (self.parent != NONE).then_some(self.parent as usize)
    }
}

/// The bodies of an island whose joints close no loop, those that carry first.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub links: Vec<Link>,
    /// Number of freedoms, and of joints that pin no point.
    pub freedoms: usize,
    pub frames: usize,
    /// Link of each body of the island.
    places: Vec<u32>,
    /// What it was laid out for, and whether it could be.
    spans: Vec<Span>,
    moving: Vec<bool>,
    laid: bool,
    used: Vec<bool>,
}

impl Tree {
    /// The link of a body.
    #[inline]
    pub fn place_of(&self, body: usize) -> Option<usize> {
        let at = self.places[body];
        (at != NONE).then_some(at as usize)
    }

    /// Lays the tree out, unless it is; `false` where there are loops, many freedoms, or bodies that do not answer every push.
    pub fn lay_out<G: Geometry>(&mut self, rows: &JointRows<G>, bodies: &[LocalBody<G>]) -> bool {
        let same = self.spans == rows.spans && self.moving.iter().copied().eq(bodies.iter().map(|body| body.dynamic));
        // What a body weighs may be another's in an island of the same form.
        let answers = bodies.iter().all(|body| !body.dynamic || body.answers());
        if !answers || rows.spans.len() > MOST {
            return false;
        }
        if !same {
            self.spans.clone_from(&rows.spans);
            self.moving.clear();
            self.moving.extend(bodies.iter().map(|body| body.dynamic));
            self.laid = self.hang(rows);
        }
        if self.laid {
            // So may its rotors.
            let mut found = 0;
            for link in self.links.iter_mut().filter(|link| link.inverse != 0.0) {
                let Some(rotor) = rows.rotors.get(link.rotor as usize).filter(|rotor| rotor.node == link.node as usize) else { break };
                link.inverse = rotor.inverse;
                found += 1;
            }
            if found != rows.rotors.len() {
                self.spans.clear();
                return false;
            }
        }
        self.laid
    }

    /// Hangs every body on what carries it.
    fn hang<G: Geometry>(&mut self, rows: &JointRows<G>) -> bool {
        self.links.clear();
        (self.freedoms, self.frames) = (0, 0);
        self.places.clear();
        self.places.resize(self.moving.len(), NONE);
        self.used.clear();
        self.used.resize(self.spans.len(), false);
        let mut next = 0;
        loop {
            // Joints until none carries another body.
            let mut found = true;
            while found {
                found = false;
                for node in 0..self.spans.len() {
                    if self.used[node] {
                        continue;
                    }
                    let ends = self.spans[node].bodies.map(|body| body as usize);
                    let known = ends.map(|body| !self.moving[body] || self.places[body] != NONE);
                    match known {
                        // A loop, or a joint of what never moves.
                        [true, true] => return false,
                        [false, false] => continue,
                        _ => {}
                    }
                    let side = usize::from(known[0]);
                    self.used[node] = true;
                    found = true;
                    if !self.add(rows, node as u32, side, ends) {
                        return false;
                    }
                }
            }
            // The next body that nothing carries.
            while next < self.moving.len() && (!self.moving[next] || self.places[next] != NONE) {
                next += 1;
            }
            if next == self.moving.len() {
                return true;
            }
            if !self.add(rows, NONE, 0, [next, next]) {
                return false;
            }
        }
    }

    /// Adds a body.
    fn add<G: Geometry>(&mut self, rows: &JointRows<G>, node: u32, side: usize, ends: [usize; 2]) -> bool {
        let parent = if node == NONE { NONE } else { self.places[ends[1 - side]] };
        let (mut held, mut freedoms, mut inverse, mut rotor, mut row, mut frame) = (0, G::DOF, 0.0, 0, 0, NONE);
        if node != NONE {
            let span = &self.spans[node as usize];
            let found = rows.rotors.binary_search_by_key(&(node as usize), |rotor| rotor.node).ok();
            if let Some(found) = found {
                (inverse, rotor) = (rows.rotors[found].inverse, found);
            }
            let pinned = if span.pin != WHOLE { G::DIM } else { 0 };
            row = span.first;
            if span.pin == WHOLE {
                frame = self.frames as u32;
                self.frames += 1;
            }
            held = span.rows as usize - usize::from(found.is_some()) - pinned;
            let Some(left) = (G::DOF - pinned).checked_sub(held) else { return false };
            freedoms = left;
        }
        let first = self.freedoms;
        self.freedoms += freedoms;
        self.places[ends[side]] = self.links.len() as u32;
        let [body, carrier] = [ends[side], ends[1 - side]].map(|x| x as u32);
        let [side, held, first, freedoms, rotor] = [side, held, first, freedoms, rotor].map(|x| x as u32);
        self.links.push(Link { body, node, parent, side, held, carrier, inverse, rotor, first, freedoms, row, frame });
        true
    }
}
