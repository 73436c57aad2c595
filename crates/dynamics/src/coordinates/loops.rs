//! What closes loops, as rows on the coordinates of the tree, theory (20.5): joints outside the tree, axes that are locked on bodies that joints carry, and couplings of
//! joints.

use super::kinematics::{component, joint_poses, joint_twists};
use super::tangent::TangentMap;
use super::tree::Tree;
use crate::constraints::{JointFunction, MAX_ROWS, Row};
use crate::coupling::Coupling;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist};
use nalgebra::DMatrix;
use std::f64::consts::TAU;

impl Tree {
    /// Number of loop rows.
    pub fn loop_rows<G: Geometry>(&self, model: &Model<G>) -> usize {
        self.loops.iter().map(|&joint| model.joints[joint].row_count()).sum::<usize>() + self.locked.len() + couplings(model).count()
    }

    /// What a row of the loop Jacobian belongs to, in words.
    pub(super) fn loop_name<G: Geometry>(&self, model: &Model<G>, row: usize) -> String {
        let mut first = 0;
        for &joint in &self.loops {
            first += model.joints[joint].row_count();
            if row < first {
                return format!("joint \"{}\"", model.joints[joint].name);
            }
        }
        match (self.locked.get(row - first), couplings(model).nth((row - first).saturating_sub(self.locked.len()))) {
            (Some((body, _)), _) => format!("the lock of body \"{}\"", model.bodies[*body].name),
            (None, Some(coupling)) => format!("joint \"{}\"", coupling.name),
            (None, None) => "a loop".to_string(),
        }
    }

    /// How far loops are open at poses \[m or rad\], row by row; locked axes by how far they left others. Those of mechanisms that are not chosen count as
    /// closed.
    pub(super) fn loop_errors<G: Geometry>(&self, model: &Model<G>, poses: &[Pose<G>], from: &[Pose<G>], which: &[bool]) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.loop_rows(model));
        for &joint in &self.loops {
            let [a, b] = joint_poses(model, joint, poses);
            let start = out.len();
            out.resize(start + model.joints[joint].row_count(), 0.0);
            if which[self.joint_mechanism(model, joint)] {
                model.joints[joint].error(&a, &b, &mut out[start..]);
            }
        }
        for &(body, axis) in &self.locked {
            let turn = || G::log(G::compose(poses[body].rotation, G::inverse(from[body].rotation)));
            let moved = if axis < G::DIM { (poses[body].position - from[body].position)[axis] } else { turn()[axis - G::DIM] };
            out.push(if which[self.mechanism[body]] { moved } else { 0.0 });
        }
        for coupling in couplings(model) {
            let chosen = coupling.terms.iter().any(|&(joint, _)| which.get(self.joint_mechanism(model, joint)) == Some(&true));
            out.push(if chosen { coupling_error(model, coupling, poses) } else { 0.0 });
        }
        out
    }

    /// The loop Jacobian L with d phi/dt = L rates, theory (20.5).
    pub fn loop_jacobian<G: Geometry>(&self, model: &Model<G>, poses: &[Pose<G>], map: &TangentMap<G>) -> DMatrix<f64> {
        let mut out = DMatrix::zeros(self.loop_rows(model), self.len());
        let mut first = 0;
        for &index in &self.loops {
            let joint = &model.joints[index];
            let [a, b] = joint_poses(model, index, poses);
            let mut rows = [Row::zero(); MAX_ROWS];
            joint.rows(&a, &b, &mut rows);
            for (k, row) in rows[..joint.row_count()].iter().enumerate() {
                for (body, block) in joint.bodies.into_iter().zip([row.a, row.b]) {
                    for (coordinate, twist) in body.map_or(&[][..], |body| map.columns(body)) {
                        out[(first + k, *coordinate)] += block.power(twist);
                    }
                }
            }
            first += joint.row_count();
        }
        for (k, &(body, axis)) in self.locked.iter().enumerate() {
            map.columns(body).iter().for_each(|(coordinate, twist)| out[(first + k, *coordinate)] = component(twist, axis));
        }
        first += self.locked.len();
        for (k, coupling) in couplings(model).enumerate() {
            for &(index, coefficient) in &coupling.terms {
                let joint = &model.joints[index];
                let [a, b] = joint_poses(model, index, poses);
                let row = joint.coordinate_row(&a, &b);
                for (body, block) in joint.bodies.into_iter().zip([row.a, row.b]) {
                    for (coordinate, twist) in body.map_or(&[][..], |body| map.columns(body)) {
                        out[(first + k, *coordinate)] += coefficient * block.power(twist);
                    }
                }
            }
        }
        out
    }

    /// The speeds at which loops open under twists, row by row.
    pub(super) fn loop_speeds<G: Geometry>(&self, model: &Model<G>, poses: &[Pose<G>], twists: &[Twist<G>]) -> Vec<f64> {
        self.loop_values(
            model,
            |index, out| {
                let ([a, b], [twist_a, twist_b]) = (joint_poses(model, index, poses), joint_twists(model, index, twists));
                let mut rows = [Row::zero(); MAX_ROWS];
                model.joints[index].rows(&a, &b, &mut rows);
                rows.iter().zip(out).for_each(|(row, out)| *out = row.speed(&twist_a, &twist_b));
            },
            |index| {
                let ([a, b], [twist_a, twist_b]) = (joint_poses(model, index, poses), joint_twists(model, index, twists));
                model.joints[index].coordinate_row(&a, &b).speed(&twist_a, &twist_b)
            },
            twists,
        )
    }

    /// The accelerations at which loops open while the rates stay: J of the bodies' own, and what J changes by, theory (20.7).
    pub(super) fn loop_curved<G: Geometry>(
        &self,
        model: &Model<G>,
        poses: &[Pose<G>],
        twists: &[Twist<G>],
        curved: &[Twist<G>],
    ) -> Vec<f64> {
        let mut out = self.loop_speeds(model, poses, curved);
        let changes = self.loop_values(
            model,
            |index, out| {
                let ([a, b], both) = (joint_poses(model, index, poses), joint_twists(model, index, twists));
                for (k, out) in out.iter_mut().enumerate() {
                    let mut unit = [0.0; MAX_ROWS];
                    unit[k] = 1.0;
                    let gradient = model.joints[index].power_gradient(JointFunction::Equalities, &a, &b, &unit, &both);
                    *out = gradient.bodies[0].power(&both[0]) + gradient.bodies[1].power(&both[1]);
                }
            },
            |index| {
                let ([a, b], both) = (joint_poses(model, index, poses), joint_twists(model, index, twists));
                let gradient = model.joints[index].power_gradient(JointFunction::Coordinate, &a, &b, &[1.0], &both);
                gradient.bodies[0].power(&both[0]) + gradient.bodies[1].power(&both[1])
            },
            &vec![Twist::zero(); twists.len()],
        );
        out.iter_mut().zip(changes).for_each(|(out, change)| *out += change);
        out
    }

    /// Numbers of all loop rows: of joints by a function, of locked axes the components of twists, of couplings by a function of the coordinates of joints.
    fn loop_values<G: Geometry>(
        &self,
        model: &Model<G>,
        joint: impl Fn(usize, &mut [f64]),
        coordinate: impl Fn(usize) -> f64,
        twists: &[Twist<G>],
    ) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.loop_rows(model));
        for &index in &self.loops {
            let start = out.len();
            out.resize(start + model.joints[index].row_count(), 0.0);
            joint(index, &mut out[start..]);
        }
        out.extend(self.locked.iter().map(|&(body, axis)| component(&twists[body], axis)));
        let sum = |coupling: &Coupling| coupling.terms.iter().map(|&(index, coefficient)| coefficient * coordinate(index)).sum::<f64>();
        out.extend(couplings(model).map(sum));
        out
    }
}

/// Couplings that hold their sum.
pub(super) fn couplings<G: Geometry>(model: &Model<G>) -> impl Iterator<Item = &Coupling> {
    model.couplings.iter().filter(|coupling| coupling.tendon.is_none())
}

/// How far a coupling is off. Poses do not tell the turns of hinges in space: what whole turns of the joint that counts least make up for is none.
fn coupling_error<G: Geometry>(model: &Model<G>, coupling: &Coupling, poses: &[Pose<G>]) -> f64 {
    let error = coupling.error(|index| {
        let [a, b] = joint_poses(model, index, poses);
        model.joints[index].coordinate(&a, &b)
    });
    let turning = coupling.terms.iter().filter(|&&(index, _)| G::ANG > 1 && model.joints[index].is_angular());
    let least = turning.map(|(_, coefficient)| coefficient.abs()).fold(f64::INFINITY, f64::min);
    if least.is_finite() { error - TAU * least * (error / (TAU * least)).round() } else { error }
}
