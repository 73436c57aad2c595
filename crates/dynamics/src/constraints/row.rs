//! One row of a Jacobian across two bodies.

use carom_math::{Space, Twist, Wrench};

/// One row of a Jacobian across two bodies: relative velocity "a minus b" is `a . twist_a + b . twist_b`, theory (3.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<S: Space> {
    /// Block of body a.
    pub a: Wrench<S>,
    /// Block of body b, already negated where the row is a difference.
    pub b: Wrench<S>,
}

impl<S: Space> Row<S> {
    /// A row of zeros.
    pub fn zero() -> Self {
        Row { a: Wrench::zero(), b: Wrench::zero() }
    }
    /// Velocity along a direction of the tip of an arm of a minus that of an arm of b: [n, r_a x n | -n, -(r_b x n)], theory (3.2).
    #[inline(always)]
    pub fn along(direction: S::Lin, arm_a: S::Lin, arm_b: S::Lin) -> Self {
        Row { a: Wrench::along(direction, arm_a), b: Wrench::along(-direction, arm_b) }
    }
    /// Angular velocity of a minus that of b, along a covector: [0, w | 0, -w].
    #[inline(always)]
    pub fn turning(covector: S::Ang) -> Self {
        Row { a: Wrench::turning(covector), b: Wrench::turning(-covector) }
    }
    /// The opposite row.
    pub fn negated(self) -> Self {
        Row { a: self.a.negated(), b: self.b.negated() }
    }
    /// J v.
    #[inline]
    pub fn speed(&self, a: &Twist<S>, b: &Twist<S>) -> f64 {
        self.a.power(a) + self.b.power(b)
    }
}
