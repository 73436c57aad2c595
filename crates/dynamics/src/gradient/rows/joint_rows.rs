//! Derivatives of what a joint's rows do: impulses J' y, speeds J v and values g, theory (17.17), from the gradients of chapter 15.
//!
//! Backwards each of them is one gradient of y . g or of y . J v.

mod wires;

pub(crate) use wires::Angles;

use crate::constraints::{Joint, JointFunction, JointGradient, JointParameter, MAX_COLUMNS, MAX_PARAMETERS, MAX_ROWS};
use crate::gradient::motion::add;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::slots::{add_wrench, twist};
use crate::gradient::system::{Residual, Sides, nothing};
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Wrench};

/// A joint with its two local bodies, poses and slots.
#[derive(Clone, Copy)]
pub(crate) struct JointAt<'a, G: Geometry> {
    /// The joint.
    pub joint: &'a Joint<G>,
    /// Its index in the model.
    pub index: usize,
    /// Local bodies.
    pub bodies: [usize; 2],
    /// Their poses.
    pub poses: [&'a Pose<G>; 2],
    /// Slots of the poses.
    pub blocks: [Option<Block>; 2],
    /// Slots of the joint's parameters.
    pub parameters: Block,
}

/// What a joint does to a tangent.
#[derive(Clone, Copy, Debug)]
enum Does<G: Geometry> {
    /// Two wrenches J' y at fixed y.
    Impulse { weights: [f64; MAX_ROWS], out: [Option<Block>; 2] },
    /// Values g, weighted.
    Value { weight: f64, out: Block },
    /// Speeds J v, weighted.
    Rate { weight: f64, out: Block, twists: [Twist<G>; 2], velocity: [Option<Block>; 2] },
}

/// A joint at a pose in the program of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JointMap<G: Geometry> {
    joint: usize,
    function: JointFunction,
    /// The one row that is meant, or all.
    row: Option<usize>,
    poses: [Pose<G>; 2],
    blocks: [Option<Block>; 2],
    parameters: Option<Block>,
    does: Does<G>,
}

impl<G: Geometry> JointMap<G> {
    /// Weights y of the functions from the cotangents of their slots.
    fn weights(&self, x: &[f64], out: Block, weight: f64) -> [f64; MAX_ROWS] {
        let mut y = [0.0; MAX_ROWS];
        let first = self.row.unwrap_or(0);
        for (y, slot) in y[first..].iter_mut().zip(&x[out.range()]) {
            *y = weight * slot;
        }
        y
    }

    /// x += gradient, slot by slot.
    fn scatter(&self, joint: &Joint<G>, gradient: &JointGradient<G>, x: &mut [f64]) {
        for side in 0..2 {
            if let Some(block) = self.blocks[side] {
                add_wrench::<G>(&mut x[block.range()], &gradient.bodies[side]);
            }
        }
        if let Some(block) = self.parameters {
            let mut values = [0.0; MAX_PARAMETERS];
            gradient.write_parameters(joint, &mut values[..block.len()]);
            add(x, block, &values);
        }
    }

    /// Gradient . tangent.
    fn along(&self, joint: &Joint<G>, gradient: &JointGradient<G>, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        for side in 0..2 {
            if let Some(block) = self.blocks[side] {
                sum += gradient.bodies[side].power(&twist::<G>(&x[block.range()]));
            }
        }
        if let Some(block) = self.parameters {
            let mut values = [0.0; MAX_PARAMETERS];
            gradient.write_parameters(joint, &mut values[..block.len()]);
            sum += values.iter().zip(&x[block.range()]).map(|(g, x)| g * x).sum::<f64>();
        }
        sum
    }

    /// The tangent: one gradient for each number that comes out.
    pub fn tangent(&self, model: &Model<G>, x: &mut [f64]) {
        let joint = &model.joints[self.joint];
        let [a, b] = &self.poses;
        match &self.does {
            Does::Impulse { weights, out } => {
                for side in 0..2 {
                    let Some(block) = out[side] else { continue };
                    for k in 0..G::DOF {
                        let mut unit = [0.0; 6];
                        unit[k] = 1.0;
                        let mut twists = [Twist::zero(); 2];
                        twists[side] = twist::<G>(&unit);
                        let gradient = joint.power_gradient(self.function, a, b, weights, &twists);
                        x[block.range().start + k] += self.along(joint, &gradient, x);
                    }
                }
            }
            Does::Value { weight, out } => {
                for (k, slot) in out.range().enumerate() {
                    let mut y = [0.0; MAX_ROWS];
                    y[self.row.unwrap_or(0) + k] = *weight;
                    let gradient = joint.value_gradient(self.function, a, b, &y);
                    x[slot] += self.along(joint, &gradient, x);
                }
            }
            Does::Rate { weight, out, twists, velocity } => {
                for (k, slot) in out.range().enumerate() {
                    let mut y = [0.0; MAX_ROWS];
                    y[self.row.unwrap_or(0) + k] = *weight;
                    let gradient = joint.power_gradient(self.function, a, b, &y, twists);
                    let mut sum = self.along(joint, &gradient, x);
                    let row = joint.value_gradient(self.function, a, b, &y);
                    for side in 0..2 {
                        if let Some(block) = velocity[side] {
                            sum += row.bodies[side].power(&twist::<G>(&x[block.range()]));
                        }
                    }
                    x[slot] += sum;
                }
            }
        }
    }

    /// The adjoint: one gradient in all, two for speeds.
    pub fn adjoint(&self, model: &Model<G>, x: &mut [f64]) {
        let joint = &model.joints[self.joint];
        let [a, b] = &self.poses;
        match &self.does {
            Does::Impulse { weights, out } => {
                let twists = out.map(|block| block.map_or_else(Twist::zero, |block| twist::<G>(&x[block.range()])));
                let gradient = joint.power_gradient(self.function, a, b, weights, &twists);
                self.scatter(joint, &gradient, x);
            }
            Does::Value { weight, out } => {
                let y = self.weights(x, *out, *weight);
                let gradient = joint.value_gradient(self.function, a, b, &y);
                self.scatter(joint, &gradient, x);
            }
            Does::Rate { weight, out, twists, velocity } => {
                let y = self.weights(x, *out, *weight);
                let gradient = joint.power_gradient(self.function, a, b, &y, twists);
                self.scatter(joint, &gradient, x);
                let row = joint.value_gradient(self.function, a, b, &y);
                for side in 0..2 {
                    if let Some(block) = velocity[side] {
                        add_wrench::<G>(&mut x[block.range()], &row.bodies[side]);
                    }
                }
            }
        }
    }
}

impl<'a, G: Geometry> JointAt<'a, G> {
    /// A joint of an island at local poses.
    pub fn new(
        joint: (&'a Joint<G>, usize),
        bodies: [usize; 2],
        poses: &'a [Pose<G>],
        blocks: &[Option<Block>],
        parameters: Block,
    ) -> Self {
        let (joint, index) = joint;
        JointAt { joint, index, bodies, poses: bodies.map(|b| &poses[b]), blocks: bodies.map(|b| blocks[b]), parameters }
    }

    fn add(&self, program: &mut Program<G>, function: JointFunction, row: Option<usize>, does: Does<G>) {
        let map = JointMap {
            joint: self.index,
            function,
            row,
            poses: self.poses.map(|pose| *pose),
            blocks: self.blocks,
            parameters: program.free(self.parameters),
            does,
        };
        program.joint(map);
    }

    /// out += d(J' y) at fixed y.
    pub fn impulse(&self, program: &mut Program<G>, function: JointFunction, y: &[f64], out: &[Option<Block>]) {
        let mut weights = [0.0; MAX_ROWS];
        weights[..y.len()].copy_from_slice(y);
        self.add(program, function, None, Does::Impulse { weights, out: self.bodies.map(|b| out[b]) });
    }

    /// The covectors of a function on the two bodies: its row J.
    pub fn row(&self, function: JointFunction, k: usize) -> Sides<G> {
        let gradient = self.joint.value_gradient(function, self.poses[0], self.poses[1], &unit(k));
        [(self.bodies[0], gradient.bodies[0]), (self.bodies[1], gradient.bodies[1])]
    }

    /// out += weight dg for all functions at once.
    pub fn values(&self, program: &mut Program<G>, function: JointFunction, weight: f64, out: Block) {
        self.add(program, function, None, Does::Value { weight, out });
    }

    /// out += weight d(J v) for all functions at once.
    pub fn rates(
        &self,
        program: &mut Program<G>,
        function: JointFunction,
        weight: f64,
        twists: &[Twist<G>],
        velocity: &[Option<Block>],
        out: Block,
    ) {
        let (twists, velocity) = (self.bodies.map(|b| twists[b]), self.bodies.map(|b| velocity[b]));
        self.add(program, function, None, Does::Rate { weight, out, twists, velocity });
    }

    /// out += weight dg_k; returns the residual's covectors on the poses.
    pub fn value(&self, program: &mut Program<G>, function: JointFunction, k: usize, weight: f64, out: Block) -> Residual<G> {
        self.add(program, function, Some(k), Does::Value { weight, out });
        let pose = self.row(function, k).map(|(body, covector)| (body, Wrench::zero().plus(weight, covector)));
        Residual { velocity: nothing(), pose, time: 0.0 }
    }

    /// out += weight d(J_k v); returns the residual's covectors on the velocities.
    pub fn rate(
        &self,
        program: &mut Program<G>,
        function: JointFunction,
        k: usize,
        weight: f64,
        twists: &[Twist<G>],
        velocity: &[Option<Block>],
        out: Block,
    ) -> Residual<G> {
        let (twists, velocity) = (self.bodies.map(|b| twists[b]), self.bodies.map(|b| velocity[b]));
        self.add(program, function, Some(k), Does::Rate { weight, out, twists, velocity });
        let by_velocity = self.row(function, k).map(|(body, covector)| (body, Wrench::zero().plus(weight, covector)));
        Residual { velocity: by_velocity, pose: nothing(), time: 0.0 }
    }

    /// Slot of a parameter of the joint, if it has it.
    pub fn parameter(&self, parameter: JointParameter) -> Option<Block> {
        self.joint.parameter_index(parameter).map(|index| self.parameters.part(index, 1))
    }
}

/// The weights that pick one function.
fn unit(k: usize) -> [f64; MAX_ROWS] {
    let mut y = [0.0; MAX_ROWS];
    y[k] = 1.0;
    y
}

const _: () = assert!(MAX_PARAMETERS < MAX_COLUMNS);
