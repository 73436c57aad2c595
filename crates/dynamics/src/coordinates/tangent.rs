//! The tangent map from rates of coordinates to twists of bodies, theory (20.4).

use super::kinematics::{component, joint_poses, set_component};
use super::motion::Motions;
use super::tree::{Carrier, Tree};
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Pose, Space, Twist, Wrench};
use nalgebra::DMatrix;

/// T with v = T rates + what kinematic bodies bring along, body by body: each depends on the coordinates that carry it, and on no others.
#[derive(Clone, Debug)]
pub struct TangentMap<S: Space> {
    /// Coordinates and columns of each body, by rising coordinate within every joint; none for what never moves.
    pub(super) bodies: Vec<Vec<(usize, Twist<S>)>>,
    /// Number of coordinates.
    pub(super) coordinates: usize,
}

impl<G: Geometry> TangentMap<G> {
    /// The map at poses.
    pub fn new(tree: &Tree, model: &Model<G>, poses: &[Pose<G>]) -> Self {
        let mut bodies: Vec<Vec<(usize, Twist<G>)>> = vec![Vec::new(); poses.len()];
        for &body in &tree.order {
            bodies[body] = match &tree.carriers[body] {
                Carrier::Free { first, axes } => {
                    let column = |(i, &axis): (usize, &usize)| {
                        let mut unit = Twist::zero();
                        set_component(&mut unit, axis, 1.0);
                        (first + i, unit)
                    };
                    axes.iter().enumerate().map(column).collect()
                }
                &Carrier::Joint { joint, side, parent, first } => {
                    let [a, b] = joint_poses(model, joint, poses);
                    let found = Motions::new(&model.joints[joint], &a, &b);
                    let here = poses[body].position;
                    let mut columns: Vec<(usize, Twist<G>)> = parent.map_or_else(Vec::new, |parent| {
                        let arm = here - poses[parent].position;
                        bodies[parent].iter().map(|(i, on)| (*i, Twist { lin: on.at(arm), ang: on.ang })).collect()
                    });
                    let (sign, arm) = (if side == 0 { 1.0 } else { -1.0 }, here - found.anchor);
                    for (i, motion) in found.motions[..found.count].iter().enumerate() {
                        let own = Twist { lin: motion.at(arm), ang: motion.ang };
                        columns.push((first + i, Twist::zero().plus(sign, own)));
                    }
                    columns
                }
                Carrier::Ground => Vec::new(),
            };
        }
        TangentMap { bodies, coordinates: tree.len() }
    }
}

impl<S: Space> TangentMap<S> {
    /// The columns that a body has: coordinate and twist of the body for a rate of one.
    pub fn columns(&self, body: usize) -> &[(usize, Twist<S>)] {
        &self.bodies[body]
    }

    /// The dense matrix: DOF rows per body in order, linear first, and one column per coordinate.
    pub fn dense(&self) -> DMatrix<f64> {
        let mut out = DMatrix::zeros(self.bodies.len() * S::DOF, self.coordinates);
        for (body, columns) in self.bodies.iter().enumerate() {
            for (coordinate, twist) in columns {
                for axis in 0..S::DOF {
                    out[(body * S::DOF + axis, *coordinate)] = component(twist, axis);
                }
            }
        }
        out
    }

    /// Adds T' f of a wrench on a body, `weight` times.
    pub fn pull_back(&self, body: usize, wrench: &Wrench<S>, weight: f64, out: &mut [f64]) {
        for (coordinate, twist) in &self.bodies[body] {
            out[*coordinate] += weight * wrench.power(twist);
        }
    }
}
