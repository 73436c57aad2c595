//! Numbers the law is written for: plain ones, and ones that carry their derivatives, so that one text gives both (theory (16.17)).

use super::dormand_prince::{State, Step};
use super::sliding::{NORMAL, Sliding};
pub(super) use carom_math::dual::Dual;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number of the collision law. Decisions look at [`Scalar::value`] alone.
pub(super) trait Scalar:
    Copy
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// Whether derivatives are carried: then what is small in value but not in slope is not left out.
    const CARRIES: bool;
    /// A number that does not depend on anything.
    fn constant(value: f64) -> Self;
    /// The number itself.
    fn value(self) -> f64;
    /// Square root.
    fn sqrt(self) -> Self;
    /// e to this power.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Length of the hypotenuse; one side must not be zero.
    fn hypot(self, other: Self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// The larger of this and a bound that does not depend on anything.
    fn at_least(self, bound: f64) -> Self;
    /// Adds a multiple of another number.
    fn add_scaled(&mut self, factor: f64, other: Self);
    /// The step that plain numbers have found, from `start` with its rates `first`, in numbers of this kind. If it ends `at_zero` of the normal
    /// velocity its end moves with that zero, theory (16.17).
    fn retake(trial: Step<f64>, sliding: &Sliding<Self>, start: &State<Self>, first: &State<Self>, at_zero: bool) -> Step<Self>;
}

impl Scalar for f64 {
    const CARRIES: bool = false;
    #[inline(always)]
    fn constant(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    #[inline(always)]
    fn hypot(self, other: Self) -> Self {
        f64::hypot(self, other)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        f64::sin_cos(self)
    }
    #[inline(always)]
    fn at_least(self, bound: f64) -> Self {
        self.max(bound)
    }
    #[inline(always)]
    fn add_scaled(&mut self, factor: f64, other: Self) {
        *self += factor * other;
    }
    #[inline(always)]
    fn retake(trial: Step<f64>, _: &Sliding<f64>, _: &State<f64>, _: &State<f64>, _: bool) -> Step<f64> {
        trial
    }
}

impl<const N: usize> Scalar for Dual<N> {
    const CARRIES: bool = true;
    fn constant(value: f64) -> Self {
        Dual::constant(value)
    }
    #[inline]
    fn value(self) -> f64 {
        self.value
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        // At zero the slope is infinite; where that occurs the law has its own formula, (16.18).
        self.chain(root, if root > 0.0 { 0.5 / root } else { 0.0 })
    }
    #[inline]
    fn exp(self) -> Self {
        let power = self.value.exp();
        self.chain(power, power)
    }
    fn ln(self) -> Self {
        self.chain(self.value.ln(), 1.0 / self.value)
    }
    fn hypot(self, other: Self) -> Self {
        let length = self.value.hypot(other.value);
        let inverse = if length > 0.0 { 1.0 / length } else { 0.0 };
        self.join(other, length, self.value * inverse, other.value * inverse)
    }
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (self.chain(sin, cos), self.chain(cos, -sin))
    }
    fn at_least(self, bound: f64) -> Self {
        if self.value >= bound { self } else { Self::constant(bound) }
    }
    #[inline]
    fn add_scaled(&mut self, factor: f64, other: Self) {
        self.value += factor * other.value;
        for i in 0..N {
            self.slope[i] += factor * other.slope[i];
        }
    }
    fn retake(trial: Step<f64>, sliding: &Sliding<Self>, start: &State<Self>, first: &State<Self>, at_zero: bool) -> Step<Self> {
        let mut step = Step::take(|y| sliding.rates(y), start, first, trial.length);
        if at_zero {
            let rate = step.end_rates()[NORMAL];
            step.nudge(-step.end[NORMAL] / rate);
        }
        step
    }
}
