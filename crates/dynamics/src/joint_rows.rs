//! The equality rows of joints in the least memory: velocities and impulses pass over them several times in every substep, and a long chain is
//! bound by what it has to read. Responses M^-1 J' are not kept: a joint's impulses are summed to one wrench on each side first.
//!
//! Most joints pin a point and hold some turns. Their rows are [1, -\[r\]x | -1, \[s\]x] and [0, w | 0, -w]: two arms and a covector for each turn say it
//! all, and products with them are cross products, theory (3.3), (3.5), (3.6). Rows of other joints are kept whole.

mod answer;
mod basis;
mod lanes;

pub(crate) use basis::Basis;

use crate::constraints::{Axes, Frame, Joint, MAX_ROWS, Row};
use crate::coupling::{LocalTie, Ties};
use crate::island::{LocalBody, LocalJoint};
use crate::joint_graph::Meeting;
use crate::model::Model;
use crate::rotor::Rotor;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};
use std::ops::Range;

/// A row: equal and opposite along a direction, with its torque on either side.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WholeRow<G: Geometry> {
    lin: G::Lin,
    ang: [G::Ang; 2],
}

/// The rows of one joint.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    /// Bodies of the island.
    bodies: [u32; 2],
    /// First of its rows.
    first: u32,
    /// How many.
    rows: u32,
    /// First of its turns or, where it does not pin a point, of its whole rows.
    at: u32,
    /// Its arms, or `WHOLE`.
    pin: u32,
}

/// Marks rows that are kept whole.
const WHOLE: u32 = u32::MAX;

/// What places the pinned joints.
#[derive(Debug)]
struct Frames<G: Geometry>(Vec<Frame<G>>, Vec<Axes<G>>);

/// The numbers of all rows at some poses.
#[derive(Debug)]
pub(crate) struct Placed<G: Geometry> {
    /// Arms from the centres of mass to the pinned point.
    pins: Vec<[G::Lin; 2]>,
    /// Covectors of the turns that pinned joints hold, a against b.
    turns: Vec<G::Ang>,
    whole: Vec<WholeRow<G>>,
    /// Position errors, row by row.
    pub errors: Vec<f64>,
}

/// All that the matrix J M^-1 J' is made of.
#[derive(Debug)]
pub(crate) struct Numbers<G: Geometry> {
    spans: Vec<Span>,
    pins: Vec<[G::Lin; 2]>,
    turns: Vec<G::Ang>,
    whole: Vec<WholeRow<G>>,
    inverse: Vec<(G::Lin, G::Inertia)>,
}

impl<G: Geometry> Default for Numbers<G> {
    fn default() -> Self {
        Numbers { spans: Vec::new(), pins: Vec::new(), turns: Vec::new(), whole: Vec::new(), inverse: Vec::new() }
    }
}

impl<G: Geometry> Numbers<G> {
    /// Notes nothing, which no rows are made of.
    pub fn forget(&mut self) {
        self.spans.clear();
    }
}

/// The equality rows of an island and the inverse masses of its bodies; joints without rows have no part in it.
#[derive(Debug)]
pub(crate) struct JointRows<G: Geometry> {
    spans: Vec<Span>,
    /// The length that the errors of each joint with rows are measured against \[m\].
    sizes: Vec<f64>,
    /// Each joint with rows among all joints of the island.
    owners: Vec<u32>,
    frames: Frames<G>,
    /// Rotors of the joints, by rising row.
    pub rotors: Vec<Rotor>,
    /// Couplings, whose rows come last.
    pub ties: Ties<G>,
    /// Tendons, which have no rows among these.
    pub tendons: Ties<G>,
    /// The rows at the present poses.
    pub now: Placed<G>,
    /// Inverse mass per world axis and inverse inertia in world axes, body by body.
    inverse: Vec<(G::Lin, G::Inertia)>,
}

impl<G: Geometry> Default for Placed<G> {
    fn default() -> Self {
        Placed { pins: Vec::new(), turns: Vec::new(), whole: Vec::new(), errors: Vec::new() }
    }
}

impl<G: Geometry> Default for JointRows<G> {
    fn default() -> Self {
        JointRows {
            spans: Vec::new(),
            sizes: Vec::new(),
            owners: Vec::new(),
            rotors: Vec::new(),
            ties: Ties::default(),
            tendons: Ties::default(),
            frames: Frames(Vec::new(), Vec::new()),
            now: Placed::default(),
            inverse: Vec::new(),
        }
    }
}

impl<G: Geometry> Placed<G> {
    /// Room for as many numbers as another has.
    fn fit(&mut self, other: &Placed<G>) {
        self.pins.resize(other.pins.len(), [G::Lin::zero(); 2]);
        self.turns.resize(other.turns.len(), G::Ang::zero());
        self.whole.resize(other.whole.len(), WholeRow { lin: G::Lin::zero(), ang: [G::Ang::zero(); 2] });
        self.errors.resize(other.errors.len(), 0.0);
    }
    /// Rows and errors of one joint at the poses of its bodies; the errors are returned, of a rotor the coordinate that it turns with.
    #[inline]
    fn place<'a>(&mut self, span: &Span, frames: &'a Frames<G>, joint: impl Fn() -> &'a Joint<G>, poses: &[Pose<G>]) -> &mut [f64]
    where
        G: 'a,
    {
        let [a, b] = span.bodies.map(|body| &poses[body as usize]);
        let errors = &mut self.errors[span.first as usize..][..span.rows as usize];
        if span.pin != WHOLE {
            let turns = &mut self.turns[span.at as usize..][..span.rows as usize - G::DIM];
            let pin = span.pin as usize;
            self.pins[pin] = frames.0[pin].pin(|| &frames.1[pin], joint, a, b, turns, errors);
        } else {
            let joint = joint();
            let mut rows = [Row::zero(); MAX_ROWS];
            joint.step_rows(a, b, &mut rows);
            joint.step_errors(a, b, errors);
            let whole = &mut self.whole[span.at as usize..][..span.rows as usize];
            whole.iter_mut().zip(rows).for_each(|(whole, row)| *whole = WholeRow::of(&row));
        }
        errors
    }
}

impl<G: Geometry> WholeRow<G> {
    fn of(row: &Row<G>) -> Self {
        debug_assert!(row.b.lin == -row.a.lin, "a row is a difference: it pulls the second body by what it pushes the first");
        WholeRow { lin: row.a.lin, ang: [row.a.ang, row.b.ang] }
    }
}

impl<G: Geometry> JointRows<G> {
    /// Room for the rows of these joints.
    pub fn lay_out(&mut self, joints: &[LocalJoint], model: &Model<G>) {
        self.lay_out_as(joints, |joint| model.joints[joint.index].pinned_turns());
        let Frames(frames, axes) = &mut self.frames;
        frames.clear();
        axes.clear();
        for joint in joints.iter().map(|joint| &model.joints[joint.index]).filter(|joint| joint.pinned_turns().is_some()) {
            let (frame, axis) = joint.frame();
            frames.push(frame);
            axes.push(axis);
        }
    }
    /// Room for rows of these joints that are no rows of a pose.
    pub fn lay_out_whole(&mut self, joints: &[LocalJoint]) {
        self.lay_out_as(joints, |_| None);
    }
    fn lay_out_as(&mut self, joints: &[LocalJoint], pinned_turns: impl Fn(&LocalJoint) -> Option<usize>) {
        self.spans.clear();
        self.sizes.clear();
        self.owners.clear();
        self.rotors.clear();
        self.inverse.clear();
        let (mut first, mut pins, mut turns, mut whole) = (0, 0, 0, 0);
        for (owner, joint) in joints.iter().enumerate().filter(|(_, joint)| joint.rows > 0) {
            let (at, pin) = match pinned_turns(joint) {
                Some(_) => (turns, pins),
                None => (whole, WHOLE),
            };
            let [bodies, [rows, _]] = [joint.bodies, [joint.rows, 0]].map(|pair| pair.map(|x| x as u32));
            self.spans.push(Span { bodies, first, rows, at, pin });
            if joint.inv_armature > 0.0 {
                let row = (first + rows - 1) as usize;
                self.rotors.push(Rotor { row, node: self.sizes.len(), inverse: joint.inv_armature, rate: 0.0, start: 0.0 });
            }
            self.sizes.push(joint.size);
            self.owners.push(owner as u32);
            first += rows;
            if pin == WHOLE {
                whole += rows;
            } else {
                pins += 1;
                turns += rows - G::DIM as u32;
            }
        }
        self.now.pins.resize(pins as usize, [G::Lin::zero(); 2]);
        self.now.turns.resize(turns as usize, G::Ang::zero());
        self.now.whole.resize(whole as usize, WholeRow { lin: G::Lin::zero(), ang: [G::Ang::zero(); 2] });
        self.now.errors.clear();
        self.now.errors.resize(first as usize, 0.0);
    }
    /// Takes the inverse masses of these bodies at their present poses, on which they do not depend in the plane.
    pub fn weigh(&mut self, bodies: &[LocalBody<G>]) {
        if G::ANG == 1 && !self.inverse.is_empty() {
            return;
        }
        self.inverse.clear();
        self.inverse.extend(bodies.iter().map(|body| (body.inv_mass, body.inv_inertia)));
    }
    /// Room for the rows of couplings after those of the joints, and for those of tendons.
    pub fn lay_out_ties(
        &mut self,
        [ties, tendons]: [&[LocalTie]; 2],
        joints: &[LocalJoint],
        model: &Model<G>,
        turns: &[i32],
        poses: &[Pose<G>],
    ) {
        let first = joints.last().map_or(0, |joint| joint.first_row + joint.rows);
        self.ties.lay_out(first, ties, joints, model, turns, poses);
        self.tendons.lay_out(0, tendons, joints, model, turns, poses);
        self.now.errors.resize(first + self.ties.len(), 0.0);
    }
    /// Rows of the couplings and tendons at these poses.
    pub fn place_ties(&mut self, model: &Model<G>, poses: &[Pose<G>]) {
        if !self.tendons.is_empty() {
            self.tendons.place(model, poses);
        }
        if !self.ties.is_empty() {
            let JointRows { ties, now, .. } = self;
            ties.place(model, poses);
            ties.errors(model, poses, |_, row, error| now.errors[row] = error);
        }
    }
    /// Rows and errors at these poses of the joints that were laid out.
    pub fn place(&mut self, joints: &[LocalJoint], model: &Model<G>, poses: &[Pose<G>]) {
        let JointRows { spans, owners, frames, now, rotors, .. } = self;
        for (span, owner) in spans.iter().zip(owners) {
            now.place(span, frames, || &model.joints[joints[*owner as usize].index], poses);
        }
        // A rotor has no error of a pose.
        rotors.iter().for_each(|rotor| now.errors[rotor.row] = 0.0);
    }
    /// Rows and errors at other poses; `meet` is told the bodies, the size, the first row and the errors of each joint.
    #[inline]
    pub fn place_ahead(
        &self,
        joints: &[LocalJoint],
        model: &Model<G>,
        poses: &[Pose<G>],
        ahead: &mut Placed<G>,
        mut meet: impl FnMut([usize; 2], f64, usize, &mut [f64]),
    ) {
        ahead.fit(&self.now);
        for (index, (span, size)) in self.spans.iter().zip(&self.sizes).enumerate() {
            let joint = || &model.joints[joints[self.owners[index] as usize].index];
            let errors = ahead.place(span, &self.frames, joint, poses);
            meet(span.bodies.map(|body| body as usize), *size, span.first as usize, errors);
        }
        // Angles are of the size of a radian.
        self.ties.errors(model, poses, |bodies, row, error| {
            ahead.errors[row] = error;
            meet(bodies, 1.0, row, &mut ahead.errors[row..=row]);
        });
    }
    /// Rows of a joint, numbered among those with rows, as they are.
    pub fn set_whole(&mut self, joint: usize, rows: impl Iterator<Item = Row<G>>) {
        let span = &self.spans[joint];
        debug_assert!(span.pin == WHOLE, "laid out for whole rows");
        let whole = &mut self.now.whole[span.at as usize..][..span.rows as usize];
        whole.iter_mut().zip(rows).for_each(|(whole, row)| *whole = WholeRow::of(&row));
    }

    /// Rows and size \[m\] of every joint with rows.
    pub fn spans(&self) -> impl Iterator<Item = (Range<usize>, f64)> {
        self.spans.iter().zip(&self.sizes).map(|(span, size)| (span.first as usize..(span.first + span.rows) as usize, *size))
    }
    /// The bodies of each joint with rows, and how many it has.
    pub fn meetings(&self) -> impl Iterator<Item = ([usize; 2], usize)> {
        self.spans.iter().map(|span| (span.bodies.map(|body| body as usize), span.rows as usize))
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.now.errors.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.now.errors.is_empty()
    }

    /// Notes what the matrix J M^-1 J' is made of.
    pub fn note(&self, out: &mut Numbers<G>) {
        out.spans.clone_from(&self.spans);
        out.pins.clone_from(&self.now.pins);
        out.turns.clone_from(&self.now.turns);
        out.whole.clone_from(&self.now.whole);
        out.inverse.clone_from(&self.inverse);
    }
    /// Whether it is still made of what was noted.
    pub fn are(&self, noted: &Numbers<G>) -> bool {
        !noted.spans.is_empty()
            && self.now.pins == noted.pins
            && self.now.turns == noted.turns
            && self.now.whole == noted.whole
            && self.inverse == noted.inverse
            && self.spans == noted.spans
    }

    /// Which of all joints of the island one with rows is.
    pub fn owner(&self, node: usize) -> usize {
        self.owners[node] as usize
    }
    /// The rotor of a joint with rows.
    pub fn rotor_of(&self, node: usize) -> Option<&Rotor> {
        self.rotors.binary_search_by_key(&node, |rotor| rotor.node).ok().map(|found| &self.rotors[found])
    }
    /// The number of rows of a joint with rows.
    pub fn rows_of(&self, node: usize) -> usize {
        self.spans[node].rows as usize
    }
    /// J_r v of a rotor's row.
    pub(crate) fn rotor_speed(&self, rotor: &Rotor, twists: &[Twist<G>]) -> f64 {
        let span = &self.spans[rotor.node];
        let [a, b] = span.bodies.map(|body| &twists[body as usize]);
        if span.pin != WHOLE {
            self.now.turns[span.at as usize + span.rows as usize - G::DIM - 1].dot(a.ang - b.ang)
        } else {
            let row = &self.now.whole[(span.at + span.rows) as usize - 1];
            row.lin.dot(a.lin - b.lin) + row.ang[0].dot(a.ang) + row.ang[1].dot(b.ang)
        }
    }
    /// Lets the rotors turn as velocities at the present poses have them.
    pub fn spin_rotors(&mut self, twists: &[Twist<G>]) {
        for index in 0..self.rotors.len() {
            self.rotors[index].rate = self.rotor_speed(&self.rotors[index], twists);
        }
    }
    /// Kinetic energy \[J\] of rotors that turn as velocities at the present poses have them.
    pub fn rotor_energy(&self, twists: &[Twist<G>]) -> f64 {
        self.rotors.iter().map(|rotor| 0.5 * self.rotor_speed(rotor, twists).powi(2) / rotor.inverse).sum()
    }
    /// What the rotors gave to impulses along their rows \[J\].
    pub fn rotor_work(&self, impulses: &[f64]) -> f64 {
        self.rotors.iter().map(|rotor| 0.5 * impulses[rotor.row] * (rotor.rate + rotor.after(impulses[rotor.row]))).sum()
    }
    /// Adds the rates of the rotors to what their rows are to meet.
    pub fn add_rates(&self, out: &mut [f64]) {
        self.rotors.iter().for_each(|rotor| out[rotor.row] += rotor.rate);
    }

    /// Appends target - J v of every row.
    pub fn lacking(&self, target: &[f64], twists: &[Twist<G>], out: &mut Vec<f64>) {
        out.extend_from_slice(target);
        self.add_speeds(-1.0, twists, out);
    }
    /// out += s J v.
    pub fn add_speeds(&self, s: f64, twists: &[Twist<G>], out: &mut [f64]) {
        for span in &self.spans {
            let [a, b] = span.bodies.map(|body| &twists[body as usize]);
            let out = &mut out[span.first as usize..][..span.rows as usize];
            if span.pin != WHOLE {
                let arms = &self.now.pins[span.pin as usize];
                let apart = (a.at(arms[0]) - b.at(arms[1])) * s;
                let rate = (a.ang - b.ang) * s;
                let (pinned, turned) = out.split_at_mut(G::DIM);
                pinned.iter_mut().zip(apart.as_slice()).for_each(|(out, x)| *out += x);
                turned.iter_mut().zip(&self.now.turns[span.at as usize..]).for_each(|(out, w)| *out += w.dot(rate));
            } else {
                let apart = a.lin - b.lin;
                for (out, row) in out.iter_mut().zip(&self.now.whole[span.at as usize..]) {
                    *out += s * (row.lin.dot(apart) + row.ang[0].dot(a.ang) + row.ang[1].dot(b.ang));
                }
            }
        }
        self.ties.sides(|row, body, wrench| out[row] += s * wrench.power(&twists[body]));
    }
    /// Force on a (its opposite acts on b) and torques on a and b of impulses along the rows of one joint.
    #[inline(always)]
    fn wrench(&self, span: &Span, impulses: &[f64]) -> (G::Lin, [G::Ang; 2]) {
        let own = &impulses[span.first as usize..][..span.rows as usize];
        if span.pin != WHOLE {
            let arms = &self.now.pins[span.pin as usize];
            let (pinned, turned) = own.split_at(G::DIM);
            let force = G::Lin::from_slice(pinned);
            let mut couple = G::Ang::zero();
            turned.iter().zip(&self.now.turns[span.at as usize..]).for_each(|(&y, w)| couple += *w * y);
            (force, [G::torque(arms[0], force) + couple, -(G::torque(arms[1], force) + couple)])
        } else {
            let (mut force, mut torques) = (G::Lin::zero(), [G::Ang::zero(); 2]);
            for (row, &y) in self.now.whole[span.at as usize..].iter().zip(own) {
                force += row.lin * y;
                torques[0] += row.ang[0] * y;
                torques[1] += row.ang[1] * y;
            }
            (force, torques)
        }
    }
    /// v += M^-1 J' l.
    pub fn push(&self, impulses: &[f64], twists: &mut [Twist<G>]) {
        for span in &self.spans {
            let (force, torques) = self.wrench(span, impulses);
            for (body, force, torque) in [(span.bodies[0], force, torques[0]), (span.bodies[1], -force, torques[1])] {
                let (inv_mass, inv_inertia) = self.inverse[body as usize];
                let twist = &mut twists[body as usize];
                twist.lin += force.scale(inv_mass);
                twist.ang += G::inertia_apply(inv_inertia, torque);
            }
        }
        self.ties.sides(|row, body, wrench| twists[body] = twists[body].plus(impulses[row], self.answer(body, wrench)));
    }
}
