//! Blocks of bodies with many joints in the matrices of a linkage: nodes of their own, theory (17.25), or parts between welds, theory (17.26).

use super::graph::{LinkGraph, Pull};
use super::rows::{LinkJoint, LinkRows};
use crate::gradient::motion::Unfolded;
use crate::gradient::slots::Stacked;
use crate::gradient::system::parts::unit;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// The joints of a linkage in one room, as crowded bodies meet them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd<'a, G: Geometry> {
    /// Joints with rows.
    pub joints: &'a [LinkJoint],
    /// Their rows at q', where they are felt, and in the room, where their impulses act.
    pub rows: [&'a LinkRows<G>; 2],
    /// By side and row: covectors on angular velocities.
    pub felt: &'a [Vec<G::Ang>; 2],
    /// The torques of the rows at bodies that are nodes, the angular velocities of parts elsewhere.
    pub answers: &'a [Vec<G::Ang>; 2],
}

impl<G: Geometry> Crowd<'_, G> {
    /// The blocks of bodies that are nodes, theory (17.25), given the mass per axis and the inertia by rows of a body.
    #[inline(never)]
    pub fn fill_nodes(&self, graph: &LinkGraph, mass: impl Fn(usize) -> (G::Lin, Unfolded), lower: &mut [f64], upper: &mut [f64]) {
        for &(body, at) in &graph.nodes {
            let (mass, inertia) = mass(body as usize);
            let block = &mut lower[at as usize..][..G::DOF * G::DOF];
            for r in 0..G::DIM {
                block[r * G::DOF + r] = mass[r];
            }
            for r in 0..G::ANG {
                for c in 0..G::ANG {
                    block[(G::DIM + r) * G::DOF + G::DIM + c] = inertia[r][c];
                }
            }
        }
        for pull in &graph.pulls {
            let (joint, side) = (&self.joints[pull.joint as usize], usize::from(pull.side));
            let sign = if side == 0 { 1.0 } else { -1.0 };
            if joint.pinned && !pull.late {
                self.fill_pin(pull, joint, side, sign, lower, upper);
                continue;
            }
            for k in 0..joint.rows {
                let felt: Wrench<G> = Wrench { lin: self.rows[0].force(joint, k) * sign, ang: self.felt[side][joint.first + k] };
                let given: Wrench<G> = Wrench { lin: self.rows[1].force(joint, k) * sign, ang: self.answers[side][joint.first + k] };
                put_pull::<G>(pull, joint.rows, k, |c| (component(&felt, c), -component(&given, c)), lower, upper);
            }
        }
    }

    /// The blocks of a pinned joint that is eliminated before its body: its forces are along the axes of the world.
    #[inline(always)]
    fn fill_pin(&self, pull: &Pull, joint: &LinkJoint, side: usize, sign: f64, lower: &mut [f64], upper: &mut [f64]) {
        let rows = joint.rows;
        let block = pull.at as usize..pull.at as usize + rows * G::DOF;
        let (lower, upper) = (&mut lower[block.clone()], &mut upper[block]);
        for k in 0..G::DIM {
            (lower[k * rows + k], upper[k * rows + k]) = (-sign, sign);
        }
        let (felt, given) = (&self.felt[side][joint.range()], &self.answers[side][joint.range()]);
        let turns = G::DIM * rows..G::DOF * rows;
        let lines = lower[turns.clone()].chunks_exact_mut(rows).zip(upper[turns].chunks_exact_mut(rows));
        for (axis, (lower, upper)) in lines.enumerate() {
            for ((lower, upper), (felt, given)) in lower.iter_mut().zip(upper).zip(felt.iter().zip(given)) {
                (*lower, *upper) = (-given[axis], felt[axis]);
            }
        }
    }

    /// The blocks of welds, theory (17.26), given how a body answers.
    #[inline(never)]
    pub fn fill_welds(
        &self,
        graph: &LinkGraph,
        respond: impl Fn(usize, &Wrench<G>) -> Twist<G>,
        inv_mass: impl Fn(usize) -> G::Lin,
        lower: &mut [f64],
        upper: &mut [f64],
    ) {
        for weld in &graph.welds {
            let block = weld.at as usize..weld.at as usize + G::DOF * G::DOF;
            let (below, beside) = (&mut lower[block.clone()], &mut upper[block]);
            for c in 0..G::DOF {
                let answer = respond(weld.body as usize, &unit::<G>(c));
                for r in 0..G::DOF {
                    let value = weld.parts * component(&answer, r);
                    below[r * G::DOF + c] = value;
                    if !weld.own {
                        beside[c * G::DOF + r] = value;
                    }
                }
            }
        }
        for (pull, sign) in &graph.welded {
            let (joint, side) = (&self.joints[pull.joint as usize], usize::from(pull.side));
            let body = joint.bodies[side];
            let (parts, towards) = (graph.parts[body], if side == 0 { 1.0 } else { -1.0 });
            let inv_mass = inv_mass(body) * parts;
            for k in 0..joint.rows {
                let felt: Wrench<G> = Wrench { lin: self.rows[0].force(joint, k) * towards, ang: self.felt[side][joint.first + k] };
                let force = self.rows[1].force(joint, k) * towards;
                let answer: Twist<G> = Twist { lin: force.scale(inv_mass), ang: self.answers[side][joint.first + k] };
                let both = |c: usize| {
                    let welded = respond(body, &unit::<G>(c));
                    (sign * parts * felt.power(&welded), sign * component(&answer, c))
                };
                put_pull::<G>(pull, joint.rows, k, both, lower, upper);
            }
        }
    }
}

/// Writes how row k of a joint meets each component of a node: the entries in the rows of the joint, and those in the rows of the node.
#[inline(always)]
fn put_pull<G: Geometry>(pull: &Pull, rows: usize, k: usize, both: impl Fn(usize) -> (f64, f64), lower: &mut [f64], upper: &mut [f64]) {
    let block = pull.at as usize..pull.at as usize + rows * G::DOF;
    let (lower, upper) = (&mut lower[block.clone()], &mut upper[block]);
    for c in 0..G::DOF {
        let (in_joint, in_node) = both(c);
        if pull.late {
            (lower[k * G::DOF + c], upper[k * G::DOF + c]) = (in_joint, in_node);
        } else {
            (lower[c * rows + k], upper[c * rows + k]) = (in_node, in_joint);
        }
    }
}

/// A component of a twist or a wrench, linear first.
#[inline(always)]
fn component<G: Geometry>(stacked: &impl Stacked<G>, index: usize) -> f64 {
    let (lin, ang) = stacked.parts();
    if index < G::DIM { lin[index] } else { ang[index - G::DIM] }
}
