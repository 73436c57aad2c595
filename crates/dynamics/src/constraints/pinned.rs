//! A hinge or a ball joint at a pose: the few vectors its rows are made of, and their gradients in world axes, theory (15.7), (15.9).
//!
//! The gradients of all that a step asks of a joint at one pose are summed before anything is turned into the frames of its bodies, and the sums of all
//! steps there before the axis is asked about, theory (15.15).

use super::axis::tangents_gradient;
use super::gradient::JointGradient;
use super::joint::Joint;
use super::kind::JointKind;
use super::row::Row;
use carom_math::{Space, Twist, Vector, Wrench};

/// Turns that a hinge holds in space.
const TURNS: usize = 2;

/// A joint that pins a point and holds the turns across an axis, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pinned<S: Space> {
    /// Arms from the centres of mass to the pinned point.
    pub arms: [S::Lin; 2],
    /// Two directions across the axis, fixed in a.
    across: [S::Lin; 2],
    /// The axis, fixed in b.
    axis: S::Lin,
    /// Covectors of the turns, a against b.
    pub turns: [S::Ang; TURNS],
}

/// The gradient of a number by the vectors of a pinned joint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PinnedGradient<S: Space> {
    /// By the arms, or by the anchors in the frames of the bodies.
    arms: [S::Lin; 2],
    /// By the directions across the axis.
    across: [S::Lin; 2],
    /// By the axis of b.
    axis: S::Lin,
}

impl<S: Space> Joint<S> {
    /// Whether its rows are those of [`Pinned`].
    pub(crate) fn is_pinned(&self) -> bool {
        matches!(self.kind, JointKind::Hinge | JointKind::Ball)
    }
}

impl<S: Space> Pinned<S> {
    /// Of a joint at the poses of its bodies, given as matrices.
    #[inline]
    pub fn new(joint: &Joint<S>, a: &S::Matrix, b: &S::Matrix) -> Self {
        let arms = [S::matrix_rotate(a, joint.anchors[0]), S::matrix_rotate(b, joint.anchors[1])];
        let zero = S::Lin::zero();
        let (mut across, mut axis, mut turns) = ([zero; 2], zero, [S::Ang::zero(); TURNS]);
        if S::DIM > 2 && joint.kind == JointKind::Hinge {
            across = joint.across.map(|across| S::matrix_rotate(a, across));
            axis = S::matrix_rotate(b, joint.axes[1]);
            turns = across.map(|across| S::torque(across, axis));
        }
        Pinned { arms, across, axis, turns }
    }

    /// The covector of a row on the angular velocity of a, or, with the opposite sign, of b.
    #[inline(always)]
    pub fn torque(&self, side: usize, k: usize) -> S::Ang {
        if k >= S::DIM {
            return self.turns[k - S::DIM];
        }
        let mut along = S::Lin::zero();
        along[k] = 1.0;
        S::torque(self.arms[side], along)
    }

    /// Row k.
    pub fn row(&self, k: usize) -> Row<S> {
        let mut along = S::Lin::zero();
        if k < S::DIM {
            along[k] = 1.0;
        }
        Row { a: Wrench { lin: along, ang: self.torque(0, k) }, b: Wrench { lin: -along, ang: -self.torque(1, k) } }
    }

    /// J v into as many numbers as there are rows.
    #[inline(always)]
    pub fn speeds(&self, a: &Twist<S>, b: &Twist<S>, out: &mut [f64]) {
        let (pinned, turned) = out.split_at_mut(S::DIM);
        pinned.copy_from_slice((a.at(self.arms[0]) - b.at(self.arms[1])).as_slice());
        if !turned.is_empty() {
            let rate = a.ang - b.ang;
            turned.iter_mut().zip(&self.turns).for_each(|(out, turn)| *out = turn.dot(rate));
        }
    }

    /// J' y on a and on b.
    #[inline(always)]
    pub fn wrenches(&self, y: &[f64]) -> [Wrench<S>; 2] {
        let force = S::Lin::from_slice(y);
        let mut couple = S::Ang::zero();
        y[S::DIM..].iter().zip(&self.turns).for_each(|(&y, turn)| couple += *turn * y);
        [
            Wrench { lin: force, ang: S::torque(self.arms[0], force) + couple },
            Wrench { lin: -force, ang: -(S::torque(self.arms[1], force) + couple) },
        ]
    }

    /// Adds the gradient of y . J v at fixed weights and twists.
    #[inline(always)]
    pub fn add_power(&self, y: &[f64], [a, b]: &[Twist<S>; 2], out: &mut PinnedGradient<S>) {
        let force = S::Lin::from_slice(y);
        out.arms[0] -= S::spin(a.ang, force);
        out.arms[1] += S::spin(b.ang, force);
        if S::DIM > 2
            && let [first, second] = y[S::DIM..]
        {
            let rate = a.ang - b.ang;
            let by_across = S::spin(rate, self.axis);
            out.across[0] -= by_across * first;
            out.across[1] -= by_across * second;
            out.axis += S::spin(rate, self.across[0] * first + self.across[1] * second);
        }
    }

    /// Adds the gradient of y . phi.
    #[inline(always)]
    pub fn add_value(&self, y: &[f64], out: &mut PinnedGradient<S>) {
        let force = S::Lin::from_slice(y);
        out.arms[0] += force;
        out.arms[1] -= force;
        if S::DIM > 2
            && let [first, second] = y[S::DIM..]
        {
            out.across[0] += self.axis * first;
            out.across[1] += self.axis * second;
            out.axis += self.across[0] * first + self.across[1] * second;
        }
    }

    /// The gradient by turns of a and of b: all vectors turn with their body, theory (15.4).
    #[inline(always)]
    pub fn by_turns(&self, gradient: &PinnedGradient<S>) -> [S::Ang; 2] {
        let mut a = S::torque(self.arms[0], gradient.arms[0]);
        let mut b = S::torque(self.arms[1], gradient.arms[1]);
        if S::DIM > 2 {
            a += S::torque(self.across[0], gradient.across[0]) + S::torque(self.across[1], gradient.across[1]);
            b += S::torque(self.axis, gradient.axis);
        }
        [a, b]
    }
}

impl<S: Space> PinnedGradient<S> {
    /// Nothing depends on anything.
    pub fn zero() -> Self {
        PinnedGradient { arms: [S::Lin::zero(); 2], across: [S::Lin::zero(); 2], axis: S::Lin::zero() }
    }

    /// Adds one in world axes to this one, which is in the frames of the bodies.
    #[inline(always)]
    pub fn add_in_bodies(&mut self, world: &Self, a: &S::Matrix, b: &S::Matrix) {
        self.arms[0] += S::matrix_unrotate(a, world.arms[0]);
        self.arms[1] += S::matrix_unrotate(b, world.arms[1]);
        if S::DIM > 2 {
            self.across[0] += S::matrix_unrotate(a, world.across[0]);
            self.across[1] += S::matrix_unrotate(a, world.across[1]);
            self.axis += S::matrix_unrotate(b, world.axis);
        }
    }

    /// From the frames of the bodies to the parameters of the joint, theory (15.15).
    pub fn by_parameters(&self, joint: &Joint<S>) -> JointGradient<S> {
        let mut out = JointGradient::zero();
        out.anchors = self.arms;
        if S::DIM > 2 && joint.kind == JointKind::Hinge {
            out.axes = [tangents_gradient::<S>(joint.axes[0], joint.across, self.across), self.axis];
        }
        out.across(joint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{JointFunction, JointSpec, MAX_ROWS};
    use carom_math::{Planar, Pose, Spatial};

    /// Numbers in [-1, 1), always the same.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
        fn vector<V: Vector>(&mut self) -> V {
            let values: Vec<f64> = (0..V::LEN).map(|_| self.next()).collect();
            V::from_slice(&values)
        }
    }

    fn pose<S: Space>(numbers: &mut Numbers) -> Pose<S> {
        Pose { position: numbers.vector(), rotation: S::exp(numbers.vector()) }
    }

    /// Rows, speeds, wrenches and both gradients against those of the groups, away from the pose where the joint holds.
    fn agrees<S: Space>(kind: JointKind) {
        let mut numbers = Numbers(11);
        for _ in 0..20 {
            let start = [pose::<S>(&mut numbers), pose::<S>(&mut numbers)];
            let mut spec = JointSpec::<S>::new("joint", kind, [Some(0), Some(1)]);
            spec.anchor = Some(numbers.vector());
            spec.axis = (S::DIM > 2 && kind == JointKind::Hinge).then(|| numbers.vector());
            let joint = Joint::new(spec, &start[0], &start[1]).expect("a sound joint");
            let (a, b) = (pose::<S>(&mut numbers), pose::<S>(&mut numbers));
            let matrices = [S::matrix(a.rotation), S::matrix(b.rotation)];
            let pinned = Pinned::new(&joint, &matrices[0], &matrices[1]);
            let rows = joint.row_count();
            let mut wanted = [Row::zero(); MAX_ROWS];
            joint.rows(&a, &b, &mut wanted);
            let y: Vec<f64> = (0..rows).map(|_| numbers.next()).collect();
            let twists = [0, 1].map(|_| Twist::<S> { lin: numbers.vector(), ang: numbers.vector() });
            let mut speeds = vec![0.0; rows];
            pinned.speeds(&twists[0], &twists[1], &mut speeds);
            let mut sum = [Wrench::<S>::zero(); 2];
            for k in 0..rows {
                let row = pinned.row(k);
                for (one, other) in [(row.a, wanted[k].a), (row.b, wanted[k].b)] {
                    assert!((one.lin - other.lin).max_abs() + (one.ang - other.ang).max_abs() < 1e-14);
                }
                assert!((speeds[k] - wanted[k].speed(&twists[0], &twists[1])).abs() < 1e-13);
                sum = [sum[0].plus(y[k], wanted[k].a), sum[1].plus(y[k], wanted[k].b)];
            }
            for (one, other) in pinned.wrenches(&y).iter().zip(&sum) {
                assert!((one.lin - other.lin).max_abs() + (one.ang - other.ang).max_abs() < 1e-13);
            }

            for power in [true, false] {
                let mut world = PinnedGradient::zero();
                let wanted = if power {
                    pinned.add_power(&y, &twists, &mut world);
                    joint.power_gradient(JointFunction::Equalities, &a, &b, &y, &twists)
                } else {
                    pinned.add_value(&y, &mut world);
                    joint.value_gradient(JointFunction::Equalities, &a, &b, &y)
                };
                for (one, other) in pinned.by_turns(&world).iter().zip(&wanted.bodies) {
                    assert!((*one - other.ang).max_abs() < 1e-13, "{one:?} {other:?}");
                }
                let mut bodies = PinnedGradient::zero();
                bodies.add_in_bodies(&world, &matrices[0], &matrices[1]);
                let found = bodies.by_parameters(&joint);
                for (one, other) in [(found.anchors, wanted.anchors), (found.axes, wanted.axes)] {
                    assert!((one[0] - other[0]).max_abs() + (one[1] - other[1]).max_abs() < 1e-13, "{one:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn hinges_and_balls_are_their_groups() {
        agrees::<Planar>(JointKind::Hinge);
        agrees::<Spatial>(JointKind::Hinge);
        agrees::<Spatial>(JointKind::Ball);
    }
}
