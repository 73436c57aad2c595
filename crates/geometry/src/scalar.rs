//! Numbers, and numbers with derivatives: the closed forms of contacts are written once over both, theory (14.1).

pub(crate) use carom_math::dual::Dual;
use nalgebra::SVector;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// What the closed forms of contacts calculate with: `f64`, or [`Dual`] where derivatives are wanted.
pub(crate) trait Real:
    Copy
    + Debug
    + PartialEq
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// A constant.
    fn of(value: f64) -> Self;
    /// The number alone, for decisions.
    fn value(self) -> f64;
    /// Square root; its derivative at zero, which has none, is zero.
    fn sqrt(self) -> Self;
    /// Length of the hypotenuse.
    fn hypot(self, other: Self) -> Self;
    /// Sine and cosine of an angle.
    fn sin_cos(self) -> (Self, Self);
}

impl Real for f64 {
    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn hypot(self, other: f64) -> f64 {
        // Lengths of shapes are far from the ends of the range of numbers.
        (self * self + other * other).sqrt()
    }
    fn sin_cos(self) -> (f64, f64) {
        f64::sin_cos(self)
    }
}

impl<const N: usize> Real for Dual<N> {
    #[inline(always)]
    fn of(value: f64) -> Self {
        Dual { value, slope: [0.0; N] }
    }
    #[inline(always)]
    fn value(self) -> f64 {
        self.value
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        let rate = if root > 0.0 { 0.5 / root } else { 0.0 };
        Dual::with(root, |k| self.slope[k] * rate)
    }
    #[inline(always)]
    fn hypot(self, other: Self) -> Self {
        let length = Real::hypot(self.value, other.value);
        let (c, s) = if length > 0.0 { (self.value / length, other.value / length) } else { (0.0, 0.0) };
        Dual::with(length, |k| self.slope[k] * c + other.slope[k] * s)
    }
    fn sin_cos(self) -> (Self, Self) {
        let (s, c) = self.value.sin_cos();
        (Dual::with(s, |k| self.slope[k] * c), Dual::with(c, |k| -self.slope[k] * s))
    }
}

/// Scalar product.
#[inline(always)]
pub(crate) fn dot<T: Real, const D: usize>(u: SVector<T, D>, v: SVector<T, D>) -> T {
    let mut sum = u[0] * v[0];
    for k in 1..D {
        sum += u[k] * v[k];
    }
    sum
}

/// Euclidean length.
#[inline(always)]
pub(crate) fn norm<T: Real, const D: usize>(v: SVector<T, D>) -> T {
    dot(v, v).sqrt()
}

/// A constant vector.
#[inline(always)]
pub(crate) fn constant<T: Real, const D: usize>(v: SVector<f64, D>) -> SVector<T, D> {
    v.map(T::of)
}

/// A vector and its derivatives in `N` directions.
#[inline(always)]
pub(crate) fn moving<const D: usize, const N: usize>(
    value: SVector<f64, D>,
    slope: impl Fn(usize) -> SVector<f64, D>,
) -> SVector<Dual<N>, D> {
    let slopes: [SVector<f64, D>; N] = std::array::from_fn(slope);
    SVector::from_fn(|i, _| Dual::with(value[i], |k| slopes[k][i]))
}

/// The derivative of a vector in one direction.
#[inline(always)]
pub(crate) fn slope<const D: usize, const N: usize>(v: &SVector<Dual<N>, D>, direction: usize) -> SVector<f64, D> {
    SVector::from_fn(|i, _| v[i].slope[direction])
}
