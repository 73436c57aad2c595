//! Between joint coordinates and bodies: positions, rates and accelerations, theory (20.2)-(20.6).

use super::motion::{self, MOST, Motions};
use super::tree::{Carrier, Tree};
use crate::body_load::cross;
use crate::constraints::JointKind;
use crate::model::{BodyKind, Model};
use carom_geometry::Geometry;
use carom_math::{Pose, Space, Twist, Vector};

/// The poses of the bodies of a joint; that of the world is the identity.
pub(super) fn joint_poses<G: Geometry>(model: &Model<G>, joint: usize, poses: &[Pose<G>]) -> [Pose<G>; 2] {
    model.joints[joint].bodies.map(|body| body.map_or_else(Pose::identity, |body| poses[body]))
}

/// The twist of a body, or of the world; static bodies stand whatever their velocity says.
pub(super) fn twist_of<G: Geometry>(model: &Model<G>, body: Option<usize>, twists: &[Twist<G>]) -> Twist<G> {
    let moving = body.filter(|&body| model.bodies[body].kind != BodyKind::Static);
    moving.map_or_else(Twist::zero, |body| twists[body])
}

/// The twists of the bodies of a joint.
pub(super) fn joint_twists<G: Geometry>(model: &Model<G>, joint: usize, twists: &[Twist<G>]) -> [Twist<G>; 2] {
    model.joints[joint].bodies.map(|body| twist_of(model, body, twists))
}

/// One more rotation vector, world axes: log(exp(change) exp(vector)).
pub(super) fn turned<S: Space>(vector: S::Ang, change: S::Ang) -> S::Ang {
    if S::ANG == 1 { vector + change } else { S::log(S::turn(S::exp(vector), change)) }
}

impl Tree {
    /// The coordinates of poses.
    pub fn coordinates<G: Geometry>(&self, model: &Model<G>, poses: &[Pose<G>]) -> Vec<f64> {
        let mut out = vec![0.0; self.len()];
        for &body in &self.order {
            match &self.carriers[body] {
                Carrier::Free { first, axes } => {
                    let row = Self::root(&poses[body]);
                    axes.iter().enumerate().for_each(|(i, &axis)| out[first + i] = row[axis]);
                }
                &Carrier::Joint { joint, first, .. } => {
                    let [a, b] = joint_poses(model, joint, poses);
                    let mut row = [0.0; MOST];
                    motion::read(&model.joints[joint], &a, &b, &mut row);
                    let count = model.joints[joint].kind.freedoms::<G>().unwrap_or(0);
                    out[first..first + count].copy_from_slice(&row[..count]);
                }
                Carrier::Ground => (),
            }
        }
        out
    }

    /// Position and rotation vector of a free root.
    fn root<S: Space>(pose: &Pose<S>) -> [f64; 6] {
        let mut row = [0.0; 6];
        row[..S::DIM].copy_from_slice(pose.position.as_slice());
        row[S::DIM..S::DOF].copy_from_slice(S::log(pose.rotation).as_slice());
        row
    }

    /// Moves the bodies of one mechanism, or of all, to where coordinates put them.
    pub(super) fn place<G: Geometry>(&self, model: &Model<G>, q: &[f64], which: &[bool], poses: &mut [Pose<G>]) {
        for &body in self.order.iter().filter(|&&body| which[self.mechanism[body]]) {
            match &self.carriers[body] {
                Carrier::Free { first, axes } => {
                    let mut row = Self::root(&poses[body]);
                    axes.iter().enumerate().for_each(|(i, &axis)| row[axis] = q[first + i]);
                    poses[body].position = G::Lin::from_slice(&row);
                    if axes.iter().any(|&axis| axis >= G::DIM) {
                        poses[body].rotation = G::exp(G::Ang::from_slice(&row[G::DIM..]));
                    }
                }
                &Carrier::Joint { joint, side, parent, first } => {
                    let on = parent.map_or_else(Pose::identity, |parent| poses[parent]);
                    let relative = motion::place(&model.joints[joint], &q[first..]);
                    poses[body] = on.compose(&if side == 0 { relative } else { relative.inverse() });
                }
                Carrier::Ground => (),
            }
        }
    }

    /// Coordinates moved by a tangent: sums, but rotation vectors of roots and of ball joints turn.
    pub(super) fn advanced<G: Geometry>(&self, model: &Model<G>, q: &[f64], change: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = q.iter().zip(change).map(|(q, d)| q + d).collect();
        let turn = |at: usize, out: &mut [f64]| {
            let [vector, change] = [q, change].map(|x| G::Ang::from_slice(&x[at..]));
            out[at..at + G::ANG].copy_from_slice(turned::<G>(vector, change).as_slice());
        };
        for &body in &self.order {
            match &self.carriers[body] {
                Carrier::Free { first, axes } if axes.iter().filter(|&&axis| axis >= G::DIM).count() == G::ANG => {
                    turn(first + axes.len() - G::ANG, &mut out);
                }
                &Carrier::Joint { joint, first, .. } if model.joints[joint].kind == JointKind::Ball => turn(first, &mut out),
                _ => (),
            }
        }
        out
    }

    /// The rates of twists: of a free root its twist, of a joint the motion of a relative to b; angles by their rates, rotation vectors by the rate itself, in
    /// world axes for a root and in the axes of b for a ball.
    pub fn rates<G: Geometry>(&self, model: &Model<G>, poses: &[Pose<G>], twists: &[Twist<G>]) -> Vec<f64> {
        let mut out = vec![0.0; self.len()];
        for &body in &self.order {
            match &self.carriers[body] {
                Carrier::Free { first, axes } => {
                    axes.iter().enumerate().for_each(|(i, &axis)| out[first + i] = component(&twists[body], axis));
                }
                &Carrier::Joint { joint, first, .. } => {
                    let ([a, b], [twist_a, twist_b]) = (joint_poses(model, joint, poses), joint_twists(model, joint, twists));
                    let found = Motions::new(&model.joints[joint], &a, &b);
                    let apart = twist_a.at(found.anchor - a.position) - twist_b.at(found.anchor - b.position);
                    let turning = twist_a.ang - twist_b.ang;
                    for place in 0..found.count {
                        out[first + place] = found.rate(model.joints[joint].kind, place, apart, turning);
                    }
                }
                Carrier::Ground => (),
            }
        }
        out
    }

    /// Gives the bodies of one mechanism, or of all, the twists of rates.
    pub(super) fn drive<G: Geometry>(&self, model: &Model<G>, poses: &[Pose<G>], rates: &[f64], which: &[bool], twists: &mut [Twist<G>]) {
        for &body in self.order.iter().filter(|&&body| which[self.mechanism[body]]) {
            match &self.carriers[body] {
                Carrier::Free { first, axes } => {
                    axes.iter().enumerate().for_each(|(i, &axis)| set_component(&mut twists[body], axis, rates[first + i]));
                }
                &Carrier::Joint { joint, side, parent, first } => {
                    let [a, b] = joint_poses(model, joint, poses);
                    let found = Motions::new(&model.joints[joint], &a, &b);
                    let (on, at) = (twist_of(model, parent, twists), parent.map_or_else(G::Lin::zero, |parent| poses[parent].position));
                    let (sign, relative) = (if side == 0 { 1.0 } else { -1.0 }, found.relative(&rates[first..]));
                    let here = poses[body].position;
                    let carried = Twist { lin: on.at(here - at), ang: on.ang };
                    twists[body] = carried.plus(sign, Twist { lin: relative.at(here - found.anchor), ang: relative.ang });
                }
                Carrier::Ground => (),
            }
        }
    }

    /// The accelerations of bodies while the rates stay, theory (20.6); `twists` are those of the rates.
    pub(super) fn curved<G: Geometry>(&self, model: &Model<G>, poses: &[Pose<G>], twists: &[Twist<G>], rates: &[f64]) -> Vec<Twist<G>> {
        let mut out = vec![Twist::zero(); poses.len()];
        for &body in &self.order {
            let Carrier::Joint { joint, side, parent, first } = self.carriers[body] else { continue };
            let ([a, b], both) = (joint_poses(model, joint, poses), joint_twists(model, joint, twists));
            let found = Motions::new(&model.joints[joint], &a, &b);
            let rates = &rates[first..];
            let relative = found.relative(rates);
            let rate_b = both[1].ang;
            // What a does more than b at the anchor: the anchor slides in a frame that turns.
            let slid = G::spin(rate_b, relative.lin) * 2.0;
            let turned = cross::<G>(rate_b, relative.ang) + found.turning(rates);
            let centripetal = |rate: G::Ang, arm: G::Lin| G::spin(rate, G::spin(rate, arm));
            let on = parent.map_or_else(Twist::zero, |parent| out[parent]);
            let (sign, own, other) = if side == 0 { (1.0, a.position, b.position) } else { (-1.0, b.position, a.position) };
            let (own, other) = (found.anchor - own, found.anchor - other);
            let (rate_own, rate_other) = (both[side].ang, both[1 - side].ang);
            let at_anchor = on.at(other) + centripetal(rate_other, other) + slid * sign;
            let ang = on.ang + turned * sign;
            out[body] = Twist { lin: at_anchor - G::spin(ang, own) - centripetal(rate_own, own), ang };
        }
        out
    }
}

/// A component of a twist, linear first.
pub(super) fn component<S: Space>(twist: &Twist<S>, axis: usize) -> f64 {
    if axis < S::DIM { twist.lin[axis] } else { twist.ang[axis - S::DIM] }
}

/// Sets a component of a twist.
pub(super) fn set_component<S: Space>(twist: &mut Twist<S>, axis: usize, value: f64) {
    if axis < S::DIM {
        twist.lin[axis] = value;
    } else {
        twist.ang[axis - S::DIM] = value;
    }
}
