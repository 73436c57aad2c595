//! The gradient of a number with respect to the poses and the parameters of a joint, gathered from the vectors its rows are made of.

use super::joint::Joint;
use super::parameter::{JointParameter, Measures};
use super::rotation;
use carom_math::{Pose, Space, Vector, Wrench};

/// The gradient of a number that depends on the poses of two bodies and on the parameters of their joint.
///
/// Poses count by their tangents, position += lin and rotation := exp(ang) rotation, so that the gradient with respect to them has
/// the shape of a [`Row`](super::Row). Parameters that no position function reads (stiffness, motor, friction) have gradient zero here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointGradient<S: Space> {
    /// Poses of a and of b.
    pub bodies: [Wrench<S>; 2],
    /// Anchors in the body frames.
    pub anchors: [S::Lin; 2],
    /// Axes in the body frames, across the axis.
    pub axes: [S::Lin; 2],
    /// Turn of the reference, axes of b.
    pub reference: S::Ang,
    /// The numbers of its kind.
    pub measures: Measures,
    /// Limits.
    pub limits: [f64; 2],
}

impl<S: Space> JointGradient<S> {
    /// Nothing depends on anything.
    pub fn zero() -> Self {
        JointGradient {
            bodies: [Wrench::zero(); 2],
            anchors: [S::Lin::zero(); 2],
            axes: [S::Lin::zero(); 2],
            reference: S::Ang::zero(),
            measures: Measures::default(),
            limits: [0.0; 2],
        }
    }

    /// The entry of a parameter; zero where no position function reads it.
    pub fn parameter(&self, parameter: JointParameter) -> f64 {
        match parameter {
            JointParameter::Anchor { side, component } => self.anchors[side][component],
            JointParameter::Axis { side, component } => self.axes[side][component],
            JointParameter::Reference { component } => self.reference[component],
            JointParameter::LimitLow => self.limits[0],
            JointParameter::LimitHigh => self.limits[1],
            _ => parameter.measure().map_or(0.0, |k| self.measures.list()[k]),
        }
    }

    /// The pose part into 2 DOF numbers: a.lin, a.ang, b.lin, b.ang.
    pub fn write_poses(&self, out: &mut [f64]) {
        for (body, out) in self.bodies.iter().zip(out.chunks_exact_mut(S::DOF)) {
            out[..S::DIM].copy_from_slice(body.lin.as_slice());
            out[S::DIM..].copy_from_slice(body.ang.as_slice());
        }
    }

    /// The parameter part into P numbers, in the order of [`Joint::visit_parameters`].
    pub fn write_parameters(&self, joint: &Joint<S>, out: &mut [f64]) {
        let mut next = 0;
        let mut copy = |values: &[f64]| {
            out[next..next + values.len()].copy_from_slice(values);
            next += values.len();
        };
        self.anchors.iter().for_each(|anchor| copy(anchor.as_slice()));
        for (side, axis) in self.axes.iter().enumerate() {
            if joint.kind.reads_axis::<S>(side) {
                copy(axis.as_slice());
            }
        }
        if joint.kind.reads_reference::<S>() {
            copy(self.reference.as_slice());
        }
        joint.visit_numbers(|parameter| copy(&[self.parameter(parameter)]));
    }

    /// Poses and parameters, 2 DOF + P numbers.
    pub fn write(&self, joint: &Joint<S>, out: &mut [f64]) {
        let (poses, parameters) = out.split_at_mut(2 * S::DOF);
        self.write_poses(poses);
        self.write_parameters(joint, parameters);
    }

    /// Gradient of the arm of a side, r = R s: it turns with the body and follows the anchor, theory (15.4).
    #[inline(always)]
    pub(super) fn arm(&mut self, side: usize, place: &Place<S>, g: S::Lin) {
        let in_body = self.direction(side, place, place.arms[side], g);
        self.anchors[side] += in_body;
    }

    /// Gradient of a world direction d = R c of a side, theory (15.4); returns that of c in the body frame.
    #[inline(always)]
    pub(super) fn direction(&mut self, side: usize, place: &Place<S>, direction: S::Lin, g: S::Lin) -> S::Lin {
        self.bodies[side].ang += S::torque(direction, g);
        place.pose(side).local_direction(g)
    }

    /// Gradient of c_a - c_b, theory (15.4).
    #[inline(always)]
    pub(super) fn apart(&mut self, place: &Place<S>, g: S::Lin) {
        self.bodies[0].lin += g;
        self.bodies[1].lin -= g;
        self.arm(0, place, g);
        self.arm(1, place, -g);
    }

    /// Gradient of the turn (s, e) since the start, theory (15.5).
    #[inline(always)]
    pub(super) fn turn(&mut self, place: &Place<S>, g_s: f64, g_e: S::Ang) {
        let (s, e) = place.turn;
        let scalar = e * (0.5 * g_s);
        let vector = g_e * (0.5 * s);
        let bent = rotation::cross::<S>(e, g_e) * 0.5;
        let rate = S::rotate_rate(place.b.rotation, vector + bent - scalar);
        self.bodies[0].ang += rate;
        self.bodies[1].ang -= rate;
        self.reference += scalar - vector + bent;
    }

    /// A change of an axis along itself changes nothing: its length is one, theory (15.2).
    pub(super) fn across(mut self, joint: &Joint<S>) -> Self {
        for (g, axis) in self.axes.iter_mut().zip(joint.axes) {
            *g -= axis * g.dot(axis);
        }
        self
    }
}

/// A joint at a pose: the vectors that its rows are made of, computed once for all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p, S: Space> {
    pub(super) joint: &'p Joint<S>,
    pub(super) a: &'p Pose<S>,
    pub(super) b: &'p Pose<S>,
    /// r_a and r_b, world axes \[m\].
    pub(super) arms: [S::Lin; 2],
    /// c_a - c_b \[m\].
    pub(super) apart: S::Lin,
    /// The turn (s, e) since the start, axes of b; that of no turn where the kind does not read it.
    pub(super) turn: (f64, S::Ang),
    /// Tangents of the axis of a, in the frame of a; zero where the kind does not read it.
    pub(super) tangents: [S::Lin; 2],
}

impl<'p, S: Space> Place<'p, S> {
    #[inline]
    pub(super) fn new(joint: &'p Joint<S>, a: &'p Pose<S>, b: &'p Pose<S>) -> Self {
        let arms = [a.direction(joint.anchors[0]), b.direction(joint.anchors[1])];
        let apart = (a.position + arms[0]) - (b.position + arms[1]);
        let reads_reference = joint.kind.reads_reference::<S>();
        let turn = if reads_reference { rotation::turn_since_start(joint, a, b) } else { (1.0, S::Ang::zero()) };
        let tangents = if joint.kind.reads_axis::<S>(0) { joint.across } else { [S::Lin::zero(); 2] };
        Place { joint, a, b, arms, apart, turn, tangents }
    }
    /// The same for the equalities alone, which of the kinds that have a reference only some read.
    #[inline]
    pub(super) fn of_equalities(joint: &'p Joint<S>, a: &'p Pose<S>, b: &'p Pose<S>) -> Self {
        let arms = [a.direction(joint.anchors[0]), b.direction(joint.anchors[1])];
        let apart = (a.position + arms[0]) - (b.position + arms[1]);
        let turns = joint.kind.groups().iter().any(|group| group.reads_turn()) || joint.has_rotor();
        let turn = if turns { rotation::turn_since_start(joint, a, b) } else { (1.0, S::Ang::zero()) };
        Place { joint, a, b, arms, apart, turn, tangents: joint.across }
    }
    #[inline(always)]
    pub(super) fn pose(&self, side: usize) -> &'p Pose<S> {
        if side == 0 { self.a } else { self.b }
    }
}
