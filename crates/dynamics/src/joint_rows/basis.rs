//! What the joints of a tree let its bodies do, as a basis of few motions, theory (12.26)-(12.31): with it the matrix of all rows that the joints hold is that of
//! their parts along the basis, and nothing goes through the factor of the joints.

mod frame;
#[cfg(test)]
mod tests;
mod tree;

use super::{JointRows, WHOLE};
use crate::island::LocalBody;
use crate::line::Line;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};
use frame::{FREEDOMS, Frame};
use tree::{Link, NONE, Tree};

/// Part of a diagonal of S' M S that must be left at its pivot: with less, the factor of the joints is asked.
const LEAST_PIVOT: f64 = 1e-13;

/// A body of the tree at its pose: what carries it, and its mass.
#[derive(Clone, Copy, Debug)]
struct Placing<G: Geometry> {
    /// The held rows of its joint and the motions that are left.
    frame: Frame,
    mass: f64,
    inertia: G::Inertia,
}

/// The basis S of an island whose joints make a tree, and the factor of S' M S.
#[derive(Debug)]
pub(crate) struct Basis<G: Geometry> {
    tree: Tree,
    /// It is that of the rows of the present factor.
    stands: bool,
    /// By body of the tree.
    placings: Vec<Placing<G>>,
    /// The motions: by body of the tree, then by freedom; those beyond its path are never read.
    motions: Vec<Twist<G>>,
    /// L of S' M S = L' D L below the diagonal, and 1 / sqrt(D).
    lower: Vec<f64>,
    roots: Vec<f64>,
    /// Scratch: a number for each freedom; change of velocity and wrench of each body of the tree.
    parts: Vec<f64>,
    changes: Vec<Twist<G>>,
    wrenches: Vec<Wrench<G>>,
    /// Refuses everything: for the road through the factor.
    pub refuses: bool,
}

impl<G: Geometry> Default for Basis<G> {
    fn default() -> Self {
        Basis {
            tree: Tree::default(),
            stands: false,
            placings: Vec::new(),
            motions: Vec::new(),
            lower: Vec::new(),
            roots: Vec::new(),
            parts: Vec::new(),
            changes: Vec::new(),
            wrenches: Vec::new(),
            refuses: false,
        }
    }
}

/// The numbers of a covector, linear first.
#[inline]
fn numbers<G: Geometry>(lin: G::Lin, ang: G::Ang) -> [f64; FREEDOMS] {
    let mut out = [0.0; FREEDOMS];
    out[..G::DIM].copy_from_slice(&lin.as_slice()[..G::DIM]);
    out[G::DIM..G::DOF].copy_from_slice(&ang.as_slice()[..G::ANG]);
    out
}

/// The numbers of a turn.
#[inline]
fn turn<G: Geometry>(ang: G::Ang) -> [f64; FREEDOMS] {
    let mut out = [0.0; FREEDOMS];
    out[..G::ANG].copy_from_slice(&ang.as_slice()[..G::ANG]);
    out
}

impl<G: Geometry> Basis<G> {
    /// What was known of a pose is known no longer.
    pub fn forget(&mut self) {
        self.stands = false;
    }

    /// Number of freedoms.
    pub fn freedoms(&self) -> usize {
        self.tree.above.len()
    }

    /// Finds the basis of the present rows, unless it is at hand; `false` where the joints make no small tree of bodies that answer every push.
    pub fn find(&mut self, rows: &JointRows<G>, bodies: &[LocalBody<G>]) -> bool {
        if self.stands {
            return true;
        }
        if self.refuses || !rows.ties.is_empty() || !rows.tendons.is_empty() || !self.tree.lay_out(rows, bodies) {
            return false;
        }
        self.stands = self.place(rows, bodies) && self.factor(rows);
        self.stands
    }

    /// The frames of the joints and the motions of all bodies, those that carry first, theory (12.26)-(12.27).
    fn place(&mut self, rows: &JointRows<G>, bodies: &[LocalBody<G>]) -> bool {
        let Basis { tree, placings, motions, .. } = self;
        let count = tree.above.len();
        placings.clear();
        motions.resize(tree.links.len() * count, Twist::zero());
        for (at, link) in tree.links.iter().enumerate() {
            let body = &bodies[link.body as usize];
            let mut placing = Placing { frame: Frame::default(), mass: body.mass, inertia: body.inertia };
            let (before, own) = motions.split_at_mut(at * count);
            let own_freedoms = link.first as usize..(link.first + link.freedoms) as usize;
            if link.node == NONE {
                for (k, motion) in own[own_freedoms].iter_mut().enumerate() {
                    let mut unit = [0.0; FREEDOMS];
                    unit[k] = 1.0;
                    *motion = Twist { lin: G::Lin::from_slice(&unit), ang: G::Ang::from_slice(&unit[G::DIM..]) };
                }
                placings.push(placing);
                continue;
            }
            let frame = &mut placing.frame;
            if !frame.find(link.held as usize, rows.numbers_held(link), |row, out| *out = rows.held_row(link, row)) {
                return false;
            }
            for (motion, free) in own[own_freedoms].iter_mut().zip(frame.free()) {
                *motion = rows.let_go(link, free);
            }
            if link.parent != NONE {
                let carried = &before[link.parent as usize * count..][..count];
                let mut k = link.above;
                while k != NONE {
                    own[k as usize] = rows.carried(link, frame, &carried[k as usize]);
                    k = tree.above[k as usize];
                }
            }
            placings.push(placing);
        }
        true
    }

    /// S' M S with the rotors, then L' D L of it: no freedom but those below a freedom on its path meets it, so nothing fills, theory (12.28).
    fn factor(&mut self, rows: &JointRows<G>) -> bool {
        let Basis { tree, placings, motions, lower, roots, parts, .. } = self;
        let (above, n) = (&tree.above, tree.above.len());
        lower.clear();
        lower.resize(n * n, 0.0);
        for (at, (link, placing)) in tree.links.iter().zip(&*placings).enumerate() {
            let own = &motions[at * n..][..n];
            let mut k = link.last;
            while k != NONE {
                let row = &mut lower[k as usize * n..][..n];
                let motion = &own[k as usize];
                let momentum = Wrench::<G> { lin: motion.lin * placing.mass, ang: G::inertia_apply(placing.inertia, motion.ang) };
                let mut j = k;
                while j != NONE {
                    row[j as usize] += momentum.power(&own[j as usize]);
                    j = above[j as usize];
                }
                k = above[k as usize];
            }
            if link.inverse == 0.0 {
                continue;
            }
            // A rotor turns as the bodies of its joint do.
            let carrier = if link.parent == NONE { None } else { Some(&motions[link.parent as usize * n..][..n]) };
            parts.clear();
            parts.resize(n, 0.0);
            let mut k = link.last;
            while k != NONE {
                let carried = carrier.filter(|_| k < link.first).map_or(Twist::zero(), |carrier| carrier[k as usize]);
                parts[k as usize] = rows.turned(link, &own[k as usize], &carried);
                k = above[k as usize];
            }
            let mut k = link.last;
            while k != NONE {
                let part = parts[k as usize] / link.inverse;
                let mut j = if part == 0.0 { NONE } else { k };
                while j != NONE {
                    lower[k as usize * n + j as usize] += part * parts[j as usize];
                    j = above[j as usize];
                }
                k = above[k as usize];
            }
        }
        parts.clear();
        parts.extend((0..n).map(|k| lower[k * n + k]));
        roots.clear();
        roots.resize(n, 0.0);
        for k in (0..n).rev() {
            let (before, own) = lower.split_at_mut(k * n);
            let pivot = own[k];
            if !pivot.is_finite() || pivot <= LEAST_PIVOT * parts[k] {
                return false;
            }
            roots[k] = 1.0 / pivot.sqrt();
            let mut i = above[k];
            while i != NONE {
                let share = own[i as usize] / pivot;
                let row = &mut before[i as usize * n..][..n];
                let mut j = i;
                while j != NONE {
                    row[j as usize] -= share * own[j as usize];
                    j = above[j as usize];
                }
                own[i as usize] = share;
                i = above[i as usize];
            }
        }
        true
    }

    /// Writes D^-1/2 L^-T S' J' of each line, `stride` numbers to a line, theory (12.29).
    pub fn write_parts(&self, lines: &[Line<G>], stride: usize, out: &mut [f64]) {
        let Basis { tree, motions, lower, roots, .. } = self;
        let n = tree.above.len();
        for (line, out) in lines.iter().zip(out.chunks_exact_mut(stride.max(1))) {
            out.fill(0.0);
            for (body, wrench) in line.bodies.into_iter().zip([&line.row.a, &line.row.b]) {
                let Some((at, link)) = tree.link_of(body) else { continue };
                let own = &motions[at * n..][..n];
                let mut k = link.last;
                while k != NONE {
                    out[k as usize] += wrench.power(&own[k as usize]);
                    k = tree.above[k as usize];
                }
            }
            for k in (0..n).rev() {
                let part = out[k];
                let mut i = if part == 0.0 { NONE } else { tree.above[k] };
                while i != NONE {
                    out[i as usize] -= lower[k * n + i as usize] * part;
                    i = tree.above[i as usize];
                }
                out[k] = part * roots[k];
            }
        }
    }

    /// Velocity change of impulses along selected lines, with their parts as `write_parts` wrote them; the impulses of the joints that answer are added to
    /// `reaction`, theory (12.30)-(12.31).
    pub fn push(
        &mut self,
        rows: &JointRows<G>,
        (lines, parts_of): (&[Line<G>], &[f64]),
        (selected, impulses): (&[usize], &[f64]),
        reaction: &mut [f64],
        twists: &mut [Twist<G>],
    ) {
        let Basis { tree, placings, motions, lower, roots, parts, changes, wrenches, .. } = self;
        let (above, n) = (&tree.above, tree.above.len());
        let stride = if lines.is_empty() { 0 } else { parts_of.len() / lines.len() };
        parts.clear();
        parts.resize(stride, 0.0);
        wrenches.clear();
        wrenches.resize(tree.links.len(), Wrench::zero());
        for (&line, &impulse) in selected.iter().zip(impulses).filter(|(_, impulse)| **impulse != 0.0) {
            parts.iter_mut().zip(&parts_of[line * stride..][..stride]).for_each(|(sum, part)| *sum += impulse * part);
            let line = &lines[line];
            for (body, wrench) in line.bodies.into_iter().zip([line.row.a, line.row.b]) {
                if let Some((at, _)) = tree.link_of(body) {
                    wrenches[at] = wrenches[at].plus(-impulse, wrench);
                }
            }
        }
        for k in 0..n {
            let mut own = parts[k] * roots[k];
            let mut i = above[k];
            while i != NONE {
                own -= lower[k * n + i as usize] * parts[i as usize];
                i = above[i as usize];
            }
            parts[k] = own;
        }
        changes.clear();
        for (at, (link, placing)) in tree.links.iter().zip(&*placings).enumerate() {
            let mut change = Twist::zero();
            if link.node != NONE && link.parent != NONE {
                change = rows.carried(link, &placing.frame, &changes[link.parent as usize]);
            }
            for k in link.first as usize..(link.first + link.freedoms) as usize {
                change = change.plus(parts[k], motions[at * n + k]);
            }
            let twist = &mut twists[link.body as usize];
            *twist = twist.plus(1.0, change);
            // What its joint must do: the momentum gained, less what the lines gave, less what those that it carries give.
            let momentum = Wrench { lin: change.lin * placing.mass, ang: G::inertia_apply(placing.inertia, change.ang) };
            wrenches[at] = wrenches[at].plus(1.0, momentum);
            changes.push(change);
        }
        for (at, (link, placing)) in tree.links.iter().zip(&*placings).enumerate().rev() {
            if link.node == NONE {
                continue;
            }
            let carrier = if link.parent == NONE { Twist::zero() } else { changes[link.parent as usize] };
            let turned = if link.inverse == 0.0 { 0.0 } else { -rows.turned(link, &changes[at], &carrier) / link.inverse };
            let given = rows.answer_of(link, &placing.frame, wrenches[at], turned, reaction);
            if link.parent != NONE {
                let carrier = &mut wrenches[link.parent as usize];
                *carrier = carrier.plus(-1.0, given);
            }
        }
    }
}

impl<G: Geometry> JointRows<G> {
    /// Whether the joint of a link pins a point: then its held rows are those of turns, and a motion is a turn.
    #[inline]
    fn pins(&self, link: &Link) -> Option<[G::Lin; 2]> {
        let span = &self.spans[link.node as usize];
        let side = link.side as usize;
        (span.pin != WHOLE).then(|| [self.now.pins[span.pin as usize][side], self.now.pins[span.pin as usize][1 - side]])
    }

    /// How many numbers a held row of a link has.
    fn numbers_held(&self, link: &Link) -> usize {
        if self.spans[link.node as usize].pin != WHOLE { G::ANG } else { G::DOF }
    }

    /// A held row of a link at the body that is carried, with its numbers first.
    #[inline]
    fn held_row(&self, link: &Link, row: usize) -> [f64; FREEDOMS] {
        let span = &self.spans[link.node as usize];
        if span.pin != WHOLE {
            return turn::<G>(self.now.turns[span.at as usize + row]);
        }
        let whole = &self.now.whole[span.at as usize + row];
        numbers::<G>(whole.lin * link.sign(), whole.ang[link.side as usize])
    }

    /// The motion of the body of a link that its joint lets go.
    #[inline]
    fn let_go(&self, link: &Link, free: &[f64; FREEDOMS]) -> Twist<G> {
        match self.pins(link) {
            Some([arm, _]) => {
                let ang = G::Ang::from_slice(free);
                Twist { lin: -G::spin(ang, arm), ang }
            }
            None => Twist { lin: G::Lin::from_slice(free), ang: G::Ang::from_slice(&free[G::DIM..]) },
        }
    }

    /// How the body of a link moves with what carries it, its own freedoms at rest, theory (12.27).
    #[inline]
    fn carried(&self, link: &Link, frame: &Frame, carrier: &Twist<G>) -> Twist<G> {
        if let Some([arm, other]) = self.pins(link) {
            return Twist { lin: carrier.at(other) - G::spin(carrier.ang, arm), ang: carrier.ang };
        }
        let span = &self.spans[link.node as usize];
        let mut speeds = [0.0; FREEDOMS];
        for (speed, row) in speeds.iter_mut().zip(&self.now.whole[span.at as usize..][..link.held as usize]) {
            *speed = link.sign() * row.lin.dot(carrier.lin) - row.ang[1 - link.side as usize].dot(carrier.ang);
        }
        let found = frame.meet(speeds);
        Twist { lin: G::Lin::from_slice(&found), ang: G::Ang::from_slice(&found[G::DIM..]) }
    }

    /// J_r v of the rotor of a link, for the body that is carried and the one that carries.
    #[inline]
    fn turned(&self, link: &Link, own: &Twist<G>, carrier: &Twist<G>) -> f64 {
        let span = &self.spans[link.node as usize];
        if span.pin != WHOLE {
            return link.sign() * self.now.turns[(span.at + link.held) as usize].dot(own.ang - carrier.ang);
        }
        let (row, side) = (&self.now.whole[(span.at + link.held) as usize], link.side as usize);
        link.sign() * row.lin.dot(own.lin - carrier.lin) + row.ang[side].dot(own.ang) + row.ang[1 - side].dot(carrier.ang)
    }

    /// Adds the impulses of the rows of a link that give its body a wrench, its rotor having given `turned`; returns what they give to the body that carries.
    #[inline]
    fn answer_of(&self, link: &Link, frame: &Frame, wrench: Wrench<G>, turned: f64, reaction: &mut [f64]) -> Wrench<G> {
        let span = &self.spans[link.node as usize];
        let out = &mut reaction[span.first as usize..][..span.rows as usize];
        let (held, sign) = (link.held as usize, link.sign());
        if let Some([arm, other]) = self.pins(link) {
            let force = wrench.lin * sign;
            let couple = wrench.ang * sign - G::torque(arm, force);
            out[..G::DIM].iter_mut().zip(force.as_slice()).for_each(|(out, x)| *out += x);
            let mut left = couple;
            if link.inverse > 0.0 {
                out[G::DIM + held] += turned;
                left -= self.now.turns[span.at as usize + held] * turned;
            }
            let found = frame.weigh(turn::<G>(left));
            out[G::DIM..][..held].iter_mut().zip(found).for_each(|(out, y)| *out += y);
            return Wrench { lin: force * -sign, ang: (G::torque(other, force) + couple) * -sign };
        }
        let whole = &self.now.whole[span.at as usize..][..span.rows as usize];
        let mut left = numbers::<G>(wrench.lin, wrench.ang);
        if link.inverse > 0.0 {
            let row = numbers::<G>(whole[held].lin * sign, whole[held].ang[link.side as usize]);
            left.iter_mut().zip(row).for_each(|(left, x)| *left -= turned * x);
        }
        let mut impulses = frame.weigh(left);
        if link.inverse > 0.0 {
            impulses[held] = turned;
        }
        let mut given = Wrench::zero();
        for ((out, row), y) in out.iter_mut().zip(whole).zip(impulses) {
            *out += y;
            given = given.plus(y, Wrench { lin: row.lin * -sign, ang: row.ang[1 - link.side as usize] });
        }
        given
    }
}
