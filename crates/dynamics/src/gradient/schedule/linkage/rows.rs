//! The rows of a linkage's joints at a pose, theory (3.3), (3.6): arms and turns where a joint pins a point, whole rows elsewhere.

use super::add_parameters;
use crate::constraints::{Joint, MAX_ROWS, Pinned, PinnedGradient, Row};
use crate::gradient::schedule::program::Block;
use crate::island::LocalJoint;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};
use std::ops::Range;

/// A joint with rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkJoint {
    /// Index in the model.
    pub index: usize,
    /// Local bodies.
    pub bodies: [usize; 2],
    /// Which of them impulses move.
    pub dynamic: [bool; 2],
    /// First of its rows, and how many.
    pub first: usize,
    /// How many.
    pub rows: usize,
    /// Whether it is among the pins, else among the whole rows, and its place there.
    pub pinned: bool,
    at: usize,
    /// Slots of its parameters, where they are asked about.
    pub parameters: Option<Block>,
}

impl LinkJoint {
    /// Its rows among all.
    #[inline(always)]
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.rows
    }
    /// Whether it is the same joint between the same bodies.
    pub fn is(&self, joint: &LocalJoint) -> bool {
        (self.index, self.bodies) == (joint.index, joint.bodies)
    }
}

/// Lists the joints with rows of an island.
pub(crate) fn list<G: Geometry>(
    joints: &[LocalJoint],
    model: &Model<G>,
    dynamic: impl Fn(usize) -> bool,
    parameters: impl Fn(usize) -> Option<Block>,
    out: &mut Vec<LinkJoint>,
) {
    out.clear();
    let (mut pins, mut whole) = (0, 0);
    for joint in joints.iter().filter(|joint| joint.rows > 0) {
        let pinned = model.joints[joint.index].is_pinned();
        let next = if pinned { &mut pins } else { &mut whole };
        out.push(LinkJoint {
            index: joint.index,
            bodies: joint.bodies,
            dynamic: joint.bodies.map(&dynamic),
            first: joint.first_row,
            rows: joint.rows,
            pinned,
            at: *next,
            parameters: parameters(joint.index),
        });
        *next += if pinned { 1 } else { joint.rows };
    }
}

/// The rows of all joints at some poses.
#[derive(Debug)]
pub(crate) struct LinkRows<G: Geometry> {
    pins: Vec<Pinned<G>>,
    whole: Vec<Row<G>>,
}

impl<G: Geometry> Default for LinkRows<G> {
    fn default() -> Self {
        LinkRows { pins: Vec::new(), whole: Vec::new() }
    }
}

impl<G: Geometry> LinkRows<G> {
    /// Finds the rows at poses, given as they are and by the matrices of their orientations.
    pub fn place<'m>(&mut self, joints: &[LinkJoint], model: &Model<G>, poses: &[Pose<G>], matrix: impl Fn(usize) -> &'m G::Matrix)
    where
        G: 'm,
    {
        self.pins.clear();
        self.whole.clear();
        for joint in joints {
            let own = &model.joints[joint.index];
            let [a, b] = joint.bodies;
            if joint.pinned {
                self.pins.push(Pinned::new(own, matrix(a), matrix(b)));
            } else {
                let mut found = [Row::zero(); MAX_ROWS];
                own.rows(&poses[a], &poses[b], &mut found);
                self.whole.extend_from_slice(&found[..joint.rows]);
            }
        }
    }

    /// The vectors of a pinned joint.
    #[inline(always)]
    pub fn pin(&self, joint: &LinkJoint) -> &Pinned<G> {
        &self.pins[joint.at]
    }
    /// Row k of a joint.
    #[inline]
    pub fn row(&self, joint: &LinkJoint, k: usize) -> Row<G> {
        if joint.pinned { self.pins[joint.at].row(k) } else { self.whole[joint.at + k] }
    }
    /// The force of a unit of row k of a joint on its first side.
    #[inline(always)]
    pub fn force(&self, joint: &LinkJoint, k: usize) -> G::Lin {
        if !joint.pinned {
            return self.whole[joint.at + k].a.lin;
        }
        let mut out = G::Lin::zero();
        if k < G::DIM {
            out[k] = 1.0;
        }
        out
    }
    /// The covector of row k of a joint that is not pinned on the angular velocity of a side.
    #[inline(always)]
    pub fn whole_torque(&self, joint: &LinkJoint, side: usize, k: usize) -> G::Ang {
        let row = &self.whole[joint.at + k];
        if side == 0 { row.a.ang } else { row.b.ang }
    }
    /// J v of a joint.
    #[inline(always)]
    pub fn speeds(&self, joint: &LinkJoint, [a, b]: [&Twist<G>; 2], out: &mut [f64]) {
        if joint.pinned {
            return self.pins[joint.at].speeds(a, b, out);
        }
        for (out, row) in out.iter_mut().zip(&self.whole[joint.at..]) {
            *out = row.speed(a, b);
        }
    }
    /// J' y of a joint.
    #[inline(always)]
    pub fn wrenches(&self, joint: &LinkJoint, y: &[f64]) -> [Wrench<G>; 2] {
        if joint.pinned {
            return self.pins[joint.at].wrenches(y);
        }
        let mut out = [Wrench::zero(); 2];
        for (row, &y) in self.whole[joint.at..].iter().zip(y) {
            out = [out[0].plus(y, row.a), out[1].plus(y, row.b)];
        }
        out
    }
    /// J v of all joints, for velocities by local body.
    #[inline]
    pub fn all_speeds(&self, joints: &[LinkJoint], twists: &[Twist<G>], out: &mut [f64]) {
        for joint in joints {
            self.speeds(joint, joint.bodies.map(|body| &twists[body]), &mut out[joint.range()]);
        }
    }
}

/// The joint itself.
#[inline(always)]
pub(crate) fn of<'m, G: Geometry>(model: &'m Model<G>, joint: &LinkJoint) -> &'m Joint<G> {
    &model.joints[joint.index]
}

/// Gradients with respect to the vectors of pinned joints in the frames of their bodies, summed over steps, theory (15.15); by joint of the model.
#[derive(Debug)]
pub(crate) struct JointSums<G: Geometry>(Vec<(Option<Block>, PinnedGradient<G>)>);

impl<G: Geometry> Default for JointSums<G> {
    fn default() -> Self {
        JointSums(Vec::new())
    }
}

impl<G: Geometry> JointSums<G> {
    /// Adds a gradient in world axes at a pose, given by the matrices of the bodies.
    #[inline(always)]
    pub fn add(&mut self, joint: &LinkJoint, world: &PinnedGradient<G>, [a, b]: [&G::Matrix; 2]) {
        if joint.index >= self.0.len() {
            self.0.resize(joint.index + 1, (None, PinnedGradient::zero()));
        }
        let (block, sum) = &mut self.0[joint.index];
        *block = joint.parameters;
        sum.add_in_bodies(world, a, b);
    }
    /// Moves all sums to the gradient with respect to the parameters, whose slots are the first.
    pub fn settle(&mut self, model: &Model<G>, parameters: &mut [f64]) {
        for ((block, sum), joint) in self.0.drain(..).zip(&model.joints) {
            if block.is_some() {
                add_parameters(joint, &sum.by_parameters(joint), block, parameters);
            }
        }
    }
}
