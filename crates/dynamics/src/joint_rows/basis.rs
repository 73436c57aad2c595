//! What the joints of a tree let its bodies do, theory (12.26)-(12.36): velocities that meet targets of the joints are found from what carries outwards, and what
//! is left to their freedoms from the leaves inwards, so that nothing goes through the factor of the joints; the matrix of all rows that the joints hold is that of
//! their parts along the freedoms.

mod frame;
mod inertia;
mod joint;
#[cfg(test)]
mod tests;
mod tree;

use super::JointRows;
use crate::island::LocalBody;
use crate::line::Line;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};
use frame::{FREEDOMS, Frame};
use inertia::Articulated;
use tree::{Link, NONE, Tree};

/// Part of what a freedom weighs in its joint that must be left at its pivot: with less, the factor of the joints is asked.
const LEAST_PIVOT: f64 = 1e-13;

/// Part of its own weight that a body at least has with all that hangs on it: with less, rounding is all there is.
const LEAST_WEIGHT: f64 = 0.5;

/// Freedoms above which rows go through the factor of the joints.
const MOST: usize = 64;

/// Rows of joints for each freedom from which on the tree costs less than the factor where there is nothing else to solve for.
const ROWS_A_FREEDOM: usize = 3;

/// A body of the tree at its pose: what carries it, and its mass.
#[derive(Clone, Copy, Debug)]
struct Placing<G: Geometry> {
    mass: f64,
    inertia: G::Inertia,
    /// Where its joint pins a point.
    pin: Option<Pin<G>>,
}

/// A joint that pins a point, with the signs of the side that it carries.
#[derive(Clone, Copy, Debug)]
struct Pin<G: Geometry> {
    /// From the centre of the body that it carries to the point, and from that of the other to this one.
    arm: G::Lin,
    reach: G::Lin,
    /// For each turn that it holds the rate that meets it alone, theory (12.26): Q R^-T by columns.
    alone: [G::Ang; 3],
    /// The row of its rotor.
    rotor: G::Ang,
}

/// A freedom of a joint: theory (12.33)-(12.34).
#[derive(Clone, Copy, Debug)]
struct Freedom<G: Geometry> {
    /// How it moves the body of its link.
    motion: Twist<G>,
    /// How fast it turns the rotor of its joint.
    spin: f64,
    /// What it gives to what carries it, for each part: G / D.
    given: Wrench<G>,
    /// 1 / sqrt(D).
    root: f64,
    /// L of its joint: how it moves with the freedoms before it.
    within: [f64; FREEDOMS],
}

/// The basis of an island whose joints make a tree, and the factor of what its freedoms weigh.
#[derive(Debug)]
pub(crate) struct Basis<G: Geometry> {
    tree: Tree,
    /// It is that of the rows of the present factor.
    stands: bool,
    /// By body of the tree, and by freedom; the frames of joints that pin no point.
    placings: Vec<Placing<G>>,
    freedoms: Vec<Freedom<G>>,
    frames: Vec<Frame>,
    /// Inertias of the bodies with what hangs on them.
    weights: Vec<Articulated<G>>,
    /// The velocities that the last hold began with, body by body.
    before: Vec<Twist<G>>,
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
            freedoms: Vec::new(),
            frames: Vec::new(),
            weights: Vec::new(),
            before: Vec::new(),
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

impl<G: Geometry> Basis<G> {
    /// Whether it is that of the present rows.
    pub fn stands(&self) -> bool {
        self.stands
    }
    /// Number of freedoms.
    pub fn freedoms(&self) -> usize {
        self.tree.freedoms
    }

    /// Whether the joints make a tree of bodies that answer every push, and the way along it costs less than that through their factor: beside `lines` rows.
    pub fn suits(&mut self, rows: &JointRows<G>, bodies: &[LocalBody<G>], lines: usize) -> bool {
        if self.refuses || rows.is_empty() || !rows.ties.is_empty() || !rows.tendons.is_empty() || !self.tree.lay_out(rows, bodies) {
            return false;
        }
        let freedoms = self.tree.freedoms;
        if lines > 0 { freedoms <= MOST } else { rows.len() >= ROWS_A_FREEDOM * freedoms }
    }

    /// Finds the basis of the present rows, which suit it; `false` where rows of a joint nearly repeat each other.
    pub fn find(&mut self, rows: &JointRows<G>, bodies: &[LocalBody<G>]) -> bool {
        self.stands = self.place(rows, bodies) && self.weigh(rows, bodies);
        self.stands
    }

    /// The motions that the joints leave, theory (12.26).
    fn place(&mut self, rows: &JointRows<G>, bodies: &[LocalBody<G>]) -> bool {
        let Basis { tree, placings, freedoms, frames, .. } = self;
        let blank = Freedom { motion: Twist::zero(), spin: 0.0, given: Wrench::zero(), root: 0.0, within: [0.0; FREEDOMS] };
        freedoms.clear();
        freedoms.resize(tree.freedoms, blank);
        frames.resize(tree.frames, Frame::default());
        placings.clear();
        for link in &tree.links {
            let body = &bodies[link.body as usize];
            let mut placing = Placing { mass: body.mass, inertia: body.inertia, pin: None };
            let own = &mut freedoms[link.range()];
            if link.node == NONE {
                for (k, freedom) in own.iter_mut().enumerate() {
                    let mut unit = [0.0; FREEDOMS];
                    unit[k] = 1.0;
                    freedom.motion = Twist { lin: G::Lin::from_slice(&unit), ang: G::Ang::from_slice(&unit[G::DIM..]) };
                }
            } else if link.frame == NONE {
                let Some(pin) = rows.pin_of(link, own) else { return false };
                placing.pin = Some(pin);
            } else {
                let frame = &mut frames[link.frame as usize];
                if !frame.find(link.held as usize, G::DOF, |row, out| *out = rows.held_row(link, row)) {
                    return false;
                }
                for (freedom, free) in own.iter_mut().zip(frame.free()) {
                    freedom.motion = Twist { lin: G::Lin::from_slice(free), ang: G::Ang::from_slice(&free[G::DIM..]) };
                    if link.inverse != 0.0 {
                        freedom.spin = rows.turned(link, &freedom.motion, &Twist::zero());
                    }
                }
            }
            placings.push(placing);
        }
        true
    }

    /// What every freedom weighs with all that hangs on it, from the leaves inwards, theory (12.33)-(12.34).
    fn weigh(&mut self, rows: &JointRows<G>, bodies: &[LocalBody<G>]) -> bool {
        let Basis { tree, placings, freedoms, frames, weights, .. } = self;
        weights.clear();
        weights.extend(tree.links.iter().map(|link| Articulated::of(&bodies[link.body as usize])));
        for (at, (link, placing)) in tree.links.iter().zip(&*placings).enumerate().rev() {
            let (before, after) = weights.split_at_mut(at);
            let weight = &after[0];
            let own = &mut freedoms[link.range()];
            let rotor = if link.inverse == 0.0 { 0.0 } else { 1.0 / link.inverse };
            let carrier = (link.parent != NONE).then(|| &mut before[link.parent as usize]);
            let alone = |motion: &Twist<G>| {
                placing.mass * motion.lin.dot(motion.lin) + motion.ang.dot(G::inertia_apply(placing.inertia, motion.ang))
            };
            if let (Some(pin), [freedom]) = (&placing.pin, &mut *own) {
                // Most are hinges.
                let momentum = weight.apply(&freedom.motion);
                let pivot = momentum.power(&freedom.motion) + rotor * freedom.spin * freedom.spin;
                if !pivot.is_finite() || pivot < LEAST_WEIGHT * alone(&freedom.motion) || pivot <= 0.0 {
                    return false;
                }
                let share = 1.0 / pivot;
                freedom.root = share.sqrt();
                if let Some(carrier) = carrier {
                    let given = pin.back(&momentum);
                    let mut left = weight.carried(pin.reach);
                    left.add_square(-share, &given);
                    carrier.add(&left);
                    freedom.given = Wrench { lin: given.lin * share, ang: given.ang * share };
                }
                continue;
            }
            let frame = frames.get(link.frame as usize);
            let lean = frame.filter(|_| carrier.is_some() && rotor != 0.0).map(|frame| rows.leans(link, frame));
            let back = |wrench: &Wrench<G>| match (&placing.pin, frame) {
                (Some(pin), _) => pin.back(wrench),
                (None, Some(frame)) => rows.given_back(link, frame, wrench),
                (None, None) => Wrench::zero(),
            };
            let mut matrix = [[0.0; FREEDOMS]; FREEDOMS];
            for k in 0..own.len() {
                let momentum = weight.apply(&own[k].motion);
                for j in 0..=k {
                    matrix[k][j] = momentum.power(&own[j].motion) + rotor * own[k].spin * own[j].spin;
                }
                if matrix[k][k].is_nan() || matrix[k][k] < LEAST_WEIGHT * alone(&own[k].motion) {
                    return false;
                }
                if carrier.is_some() {
                    own[k].given = back(&momentum);
                    if let Some(lean) = &lean {
                        own[k].given = own[k].given.plus(rotor * own[k].spin, *lean);
                    }
                }
            }
            let mut left = carrier.is_some().then(|| match (&placing.pin, frame) {
                (Some(pin), _) => weight.carried(pin.reach),
                (None, Some(frame)) => weight.carried_by(|twist| rows.carried(link, frame, twist)),
                (None, None) => *weight,
            });
            if let (Some(left), Some(lean)) = (&mut left, &lean) {
                left.add_square(rotor, lean);
            }
            let whole: [f64; FREEDOMS] = std::array::from_fn(|k| matrix[k][k]);
            for k in (0..own.len()).rev() {
                let pivot = matrix[k][k];
                if !pivot.is_finite() || pivot <= LEAST_PIVOT * whole[k] {
                    return false;
                }
                let share = 1.0 / pivot;
                own[k].root = share.sqrt();
                let given = own[k].given;
                if let Some(left) = &mut left {
                    left.add_square(-share, &given);
                }
                for j in 0..k {
                    let part = matrix[k][j] * share;
                    own[k].within[j] = part;
                    own[j].given = own[j].given.plus(-part, given);
                    for i in 0..=j {
                        matrix[j][i] -= part * matrix[k][i];
                    }
                }
                own[k].given = Wrench { lin: given.lin * share, ang: given.ang * share };
            }
            if let (Some(carrier), Some(left)) = (carrier, left) {
                carrier.add(&left);
            }
        }
        true
    }

    /// The parts of a wrench on the body of a link along its freedoms, D^-1/2 L^-T S' w, with the pull of a rotor; what it comes to at the body that carries,
    /// theory (12.35).
    #[inline(always)]
    fn inwards(
        (rows, frames): (&JointRows<G>, &[Frame]),
        (link, placing, own): (&Link, &Placing<G>, &[Freedom<G>]),
        wrench: &Wrench<G>,
        pull: f64,
        parts: &mut [f64],
    ) -> Wrench<G> {
        if let (Some(pin), [freedom], [part]) = (&placing.pin, own, &mut *parts) {
            let whole = wrench.power(&freedom.motion) + freedom.spin * pull;
            *part = whole * freedom.root;
            return pin.back(wrench).plus(-whole, freedom.given);
        }
        let mut passed = match (&placing.pin, frames.get(link.frame as usize)) {
            (Some(pin), _) => pin.back(wrench),
            (None, Some(frame)) if link.parent != NONE => rows.given_back(link, frame, wrench),
            _ => Wrench::zero(),
        };
        for (freedom, part) in own.iter().zip(&mut *parts) {
            *part = wrench.power(&freedom.motion) + freedom.spin * pull;
        }
        for k in (0..own.len()).rev() {
            let whole = parts[k];
            for j in 0..k {
                parts[j] -= own[k].within[j] * whole;
            }
            passed = passed.plus(-whole, own[k].given);
            parts[k] = whole * own[k].root;
        }
        passed
    }

    /// Writes D^-1/2 L^-T S' J' of each line, `stride` numbers to a line, theory (12.29).
    pub fn write_parts(&self, rows: &JointRows<G>, lines: &[Line<G>], stride: usize, out: &mut [f64]) {
        let Basis { tree, placings, freedoms, frames, .. } = self;
        for (line, out) in lines.iter().zip(out.chunks_exact_mut(stride.max(1))) {
            out.fill(0.0);
            let mut places = line.bodies.map(|body| tree.place_of(body));
            let mut wrenches = [line.row.a, line.row.b];
            // The farther one inwards, until both meet.
            loop {
                if places[0] == places[1] {
                    wrenches[0] = wrenches[0].plus(1.0, wrenches[1]);
                    places[1] = None;
                }
                let side = usize::from(places[1] > places[0]);
                let Some(at) = places[side] else { break };
                let link = &tree.links[at];
                let own = link.range();
                let known = (link, &placings[at], &freedoms[own.clone()]);
                wrenches[side] = Self::inwards((rows, frames), known, &wrenches[side], 0.0, &mut out[own]);
                places[side] = link.parent();
            }
        }
    }

    /// Velocities that meet `target` and differ from those given by impulses of the joints: targets are met from what carries outwards, the rest goes to the
    /// freedoms, theory (12.32), (12.35). Rotors turn at their rates before or are at rest. `again` from the velocities of the last time.
    pub fn hold(&mut self, rows: &JointRows<G>, target: &[f64], turning: bool, again: bool, twists: &mut [Twist<G>]) {
        let Basis { tree, placings, freedoms, frames, before, parts, wrenches, .. } = self;
        if again {
            twists.copy_from_slice(before);
        } else {
            before.clear();
            before.extend_from_slice(twists);
        }
        let wanted = target.iter().any(|target| *target != 0.0);
        wrenches.clear();
        for (link, placing) in tree.links.iter().zip(&*placings) {
            let body = link.body as usize;
            if link.node != NONE {
                let carrier = &twists[link.carrier as usize];
                twists[body] = match (&placing.pin, frames.get(link.frame as usize)) {
                    (Some(pin), _) if wanted => pin.led(link, carrier, target),
                    (Some(pin), _) => pin.carried(carrier),
                    (None, Some(frame)) => rows.led(link, frame, carrier, target),
                    (None, None) => *carrier,
                };
            }
            let lacking = before[body].plus(-1.0, twists[body]);
            wrenches.push(Wrench { lin: lacking.lin * placing.mass, ang: G::inertia_apply(placing.inertia, lacking.ang) });
        }
        parts.clear();
        parts.resize(tree.freedoms, 0.0);
        for (at, (link, placing)) in tree.links.iter().zip(&*placings).enumerate().rev() {
            let mut pull = 0.0;
            if link.inverse != 0.0 {
                pull = rows.rotor_pull(link, placing, target, turning, twists);
            }
            let own = link.range();
            let known = (link, placing, &freedoms[own.clone()]);
            let mut passed = Self::inwards((rows, frames), known, &wrenches[at], pull, &mut parts[own]);
            if link.parent != NONE {
                if let (true, Some(frame)) = (pull != 0.0, frames.get(link.frame as usize)) {
                    passed = passed.plus(pull, rows.leans(link, frame));
                }
                let carrier = &mut wrenches[link.parent as usize];
                *carrier = carrier.plus(1.0, passed);
            }
        }
        self.spread(rows, twists);
    }

    /// Adds the motion S L^-1 D^-1/2 z of parts z, theory (12.30), (12.36).
    fn spread(&mut self, rows: &JointRows<G>, twists: &mut [Twist<G>]) {
        let Basis { tree, placings, freedoms, frames, parts, changes, .. } = self;
        changes.clear();
        for (link, placing) in tree.links.iter().zip(&*placings) {
            let (own, parts) = (&freedoms[link.range()], &mut parts[link.range()]);
            let moved = if link.parent == NONE { Twist::zero() } else { changes[link.parent as usize] };
            let mut change = match (&placing.pin, frames.get(link.frame as usize)) {
                _ if link.parent == NONE => moved,
                (Some(pin), _) => pin.carried(&moved),
                (None, Some(frame)) => rows.carried(link, frame, &moved),
                (None, None) => moved,
            };
            for k in 0..own.len() {
                let freedom = &own[k];
                let mut part = parts[k] * freedom.root - freedom.given.power(&moved);
                for j in 0..k {
                    part -= freedom.within[j] * parts[j];
                }
                parts[k] = part;
                change = change.plus(part, freedom.motion);
            }
            let twist = &mut twists[link.body as usize];
            *twist = twist.plus(1.0, change);
            changes.push(change);
        }
    }

    /// Velocity change of impulses along selected lines, with their parts as `write_parts` wrote them, theory (12.30).
    pub fn push(
        &mut self,
        rows: &JointRows<G>,
        parts_of: (&[f64], usize),
        (selected, impulses): (&[usize], &[f64]),
        twists: &mut [Twist<G>],
    ) {
        let (held, stride) = parts_of;
        self.parts.clear();
        self.parts.resize(stride, 0.0);
        for (&line, &impulse) in selected.iter().zip(impulses).filter(|(_, impulse)| **impulse != 0.0) {
            self.parts.iter_mut().zip(&held[line * stride..][..stride]).for_each(|(sum, part)| *sum += impulse * part);
        }
        self.spread(rows, twists);
    }

    /// The impulses of the joints that brought the velocities before the last hold to these, with impulses along selected lines, theory (12.31).
    pub fn answer(
        &mut self,
        rows: &JointRows<G>,
        (target, turning): (&[f64], bool),
        (lines, selected, impulses): (&[Line<G>], &[usize], &[f64]),
        twists: &[Twist<G>],
        reaction: &mut [f64],
    ) {
        reaction.fill(0.0);
        let Basis { tree, changes, before, .. } = self;
        changes.clear();
        changes.extend(tree.links.iter().map(|link| twists[link.body as usize].plus(-1.0, before[link.body as usize])));
        self.gather(lines, selected, impulses);
        self.respond(rows, |link, placing, _, _| rows.rotor_pull(link, placing, target, turning, twists), reaction);
    }

    /// Adds the impulses of the joints that answer the impulses of the last push.
    pub fn answer_push(&mut self, rows: &JointRows<G>, lines: &[Line<G>], (selected, impulses): (&[usize], &[f64]), reaction: &mut [f64]) {
        self.gather(lines, selected, impulses);
        self.respond(rows, |link, _, own, carrier| -rows.turned(link, own, carrier) / link.inverse, reaction);
    }

    /// What impulses along selected lines give to each body, taken from it.
    fn gather(&mut self, lines: &[Line<G>], selected: &[usize], impulses: &[f64]) {
        let Basis { tree, wrenches, .. } = self;
        wrenches.clear();
        wrenches.resize(tree.links.len(), Wrench::zero());
        for (&line, &impulse) in selected.iter().zip(impulses).filter(|(_, impulse)| **impulse != 0.0) {
            let line = &lines[line];
            for (body, wrench) in line.bodies.into_iter().zip([line.row.a, line.row.b]) {
                if let Some(at) = tree.place_of(body) {
                    wrenches[at] = wrenches[at].plus(-impulse, wrench);
                }
            }
        }
    }

    /// What every joint must do for the changes of velocity: the momentum gained, less what the lines gave, less what those that it carries give.
    fn respond(&mut self, rows: &JointRows<G>, rotor: impl Fn(&Link, &Placing<G>, &Twist<G>, &Twist<G>) -> f64, reaction: &mut [f64]) {
        let Basis { tree, placings, frames, changes, wrenches, .. } = self;
        for (at, (link, placing)) in tree.links.iter().zip(&*placings).enumerate().rev() {
            if link.node == NONE {
                continue;
            }
            let change = &changes[at];
            let gained = Wrench { lin: change.lin * placing.mass, ang: G::inertia_apply(placing.inertia, change.ang) };
            let wrench = wrenches[at].plus(1.0, gained);
            let carrier = if link.parent == NONE { Twist::zero() } else { changes[link.parent as usize] };
            let turned = if link.inverse == 0.0 { 0.0 } else { rotor(link, placing, change, &carrier) };
            let given = match (&placing.pin, frames.get(link.frame as usize)) {
                (Some(pin), _) => pin.answer(link, wrench, turned, reaction),
                (None, Some(frame)) => rows.answer_of(link, frame, wrench, turned, reaction),
                (None, None) => Wrench::zero(),
            };
            if link.parent != NONE {
                let carrier = &mut wrenches[link.parent as usize];
                *carrier = carrier.plus(-1.0, given);
            }
        }
    }
}
