//! Derivatives of what a joint's rows do: impulses J' y, speeds J v and values g, theory (17.17), from the gradients of chapter 15.

use super::program::{Block, Program};
use super::system::{Residual, Sides, nothing};
use crate::constraints::{Joint, JointFunction, MAX_COLUMNS, MAX_PARAMETERS, MAX_POSE_COLUMNS, MAX_ROWS};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist};

/// A joint with its two local bodies, poses and slots.
#[derive(Clone, Copy)]
pub(crate) struct JointAt<'a, G: Geometry> {
    /// The joint.
    pub joint: &'a Joint<G>,
    /// Local bodies.
    pub bodies: [usize; 2],
    /// Their poses.
    pub poses: [&'a Pose<G>; 2],
    /// Slots of the poses.
    pub blocks: [Option<Block>; 2],
    /// Slots of the joint's parameters.
    pub parameters: Block,
}

impl<'a, G: Geometry> JointAt<'a, G> {
    /// A joint of an island at local poses.
    pub fn new(joint: &'a Joint<G>, bodies: [usize; 2], poses: &'a [Pose<G>], blocks: &[Option<Block>], parameters: Block) -> Self {
        JointAt { joint, bodies, poses: bodies.map(|b| &poses[b]), blocks: bodies.map(|b| blocks[b]), parameters }
    }

    /// Splits a row over (poses, parameters) into elements onto one slot of `out`.
    fn scatter(&self, program: &mut Program, out: Block, row: &[f64]) {
        for side in 0..2 {
            if let Some(block) = self.blocks[side] {
                program.matrix(out, block, &row[side * G::DOF..(side + 1) * G::DOF]);
            }
        }
        program.matrix(out, self.parameters, &row[2 * G::DOF..]);
    }

    /// The pose part of a row as covectors.
    fn sides(&self, row: &[f64]) -> Sides<G> {
        [0, 1].map(|side| (self.bodies[side], super::slots::wrench::<G>(&row[side * G::DOF..])))
    }

    /// out += d(J' y) at fixed y.
    pub fn impulse(&self, program: &mut Program, function: JointFunction, y: &[f64], out: &[Option<Block>]) {
        let columns = self.joint.column_count();
        let mut values = [0.0; MAX_POSE_COLUMNS * MAX_COLUMNS];
        self.joint.wrench_derivative(function, self.poses[0], self.poses[1], y, &mut values[..2 * G::DOF * columns]);
        for side in 0..2 {
            let Some(block) = out[self.bodies[side]] else { continue };
            for k in 0..G::DOF {
                let row = &values[(side * G::DOF + k) * columns..][..columns];
                self.scatter(program, block.part(k, 1), row);
            }
        }
    }

    /// The covectors of a function on the two bodies: its row J.
    pub fn row(&self, function: JointFunction, k: usize) -> Sides<G> {
        let gradient = self.joint.value_gradient(function, self.poses[0], self.poses[1], &unit(k));
        [(self.bodies[0], gradient.bodies[0]), (self.bodies[1], gradient.bodies[1])]
    }

    /// out += weight dg_k; returns the residual's covectors on the poses.
    pub fn value(&self, program: &mut Program, function: JointFunction, k: usize, weight: f64, out: Block) -> Residual<G> {
        let gradient = self.joint.value_gradient(function, self.poses[0], self.poses[1], &unit(k));
        let mut row = [0.0; MAX_COLUMNS];
        let columns = self.joint.column_count();
        gradient.write(self.joint, &mut row[..columns]);
        row.iter_mut().for_each(|x| *x *= weight);
        self.scatter(program, out, &row[..columns]);
        Residual { velocity: nothing(), pose: self.sides(&row), time: 0.0 }
    }

    /// out += weight d(J_k v); returns the residual's covectors on velocities and poses.
    pub fn rate(
        &self,
        program: &mut Program,
        function: JointFunction,
        k: usize,
        weight: f64,
        twists: &[Twist<G>],
        velocity: &[Option<Block>],
        out: Block,
    ) -> Residual<G> {
        let pair = self.bodies.map(|b| twists[b]);
        let mut y = unit(k);
        y[k] = weight;
        let gradient = self.joint.power_gradient(function, self.poses[0], self.poses[1], &y, &pair);
        let mut row = [0.0; MAX_COLUMNS];
        let columns = self.joint.column_count();
        gradient.write(self.joint, &mut row[..columns]);
        self.scatter(program, out, &row[..columns]);
        let by_velocity = self.row(function, k).map(|(body, covector)| (body, carom_math::Wrench::zero().plus(weight, covector)));
        for (body, covector) in &by_velocity {
            if let Some(block) = velocity[*body] {
                let mut values = [0.0; 6];
                super::slots::put::<G>(covector.lin, covector.ang, &mut values);
                program.matrix(out, block, &values[..G::DOF]);
            }
        }
        Residual { velocity: by_velocity, pose: self.sides(&row), time: 0.0 }
    }

    /// Slot of a parameter of the joint, if it has it.
    pub fn parameter(&self, parameter: crate::constraints::JointParameter) -> Option<Block> {
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
