//! Numbers that carry their derivatives: a closed form written once over numbers gives both, theory (14.1), (16.17).

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number and its derivatives in `N` directions at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<const N: usize> {
    /// The number.
    pub value: f64,
    /// Its derivatives.
    pub slope: [f64; N],
}

impl<const N: usize> Dual<N> {
    /// A number that depends on nothing.
    #[inline(always)]
    pub fn constant(value: f64) -> Self {
        Dual { value, slope: [0.0; N] }
    }

    /// The number that is direction `index` itself.
    #[inline(always)]
    pub fn parameter(value: f64, index: usize) -> Self {
        Dual::with(value, |k| if k == index { 1.0 } else { 0.0 })
    }

    /// A function of this number with the given value and derivative.
    #[inline(always)]
    pub fn chain(self, value: f64, derivative: f64) -> Self {
        Dual::with(value, |k| derivative * self.slope[k])
    }

    /// A function of two numbers with the given value and partial derivatives.
    #[inline(always)]
    pub fn join(self, other: Self, value: f64, first: f64, second: f64) -> Self {
        Dual::with(value, |k| first * self.slope[k] + second * other.slope[k])
    }

    /// Derivatives from the derivative of each direction.
    #[inline(always)]
    pub fn with(value: f64, slope: impl Fn(usize) -> f64) -> Self {
        Dual { value, slope: std::array::from_fn(slope) }
    }
}

impl<const N: usize> Add for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Dual::with(self.value + other.value, |k| self.slope[k] + other.slope[k])
    }
}

impl<const N: usize> Sub for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Dual::with(self.value - other.value, |k| self.slope[k] - other.slope[k])
    }
}

impl<const N: usize> Mul for Dual<N> {
    type Output = Self;
    // The rule of products has a sum.
    #[allow(clippy::suspicious_arithmetic_impl)]
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Dual::with(self.value * other.value, |k| self.slope[k] * other.value + other.slope[k] * self.value)
    }
}

impl<const N: usize> Div for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let (value, inverse) = (self.value / other.value, 1.0 / other.value);
        Dual::with(value, |k| (self.slope[k] - other.slope[k] * value) * inverse)
    }
}

impl<const N: usize> Neg for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Dual::with(-self.value, |k| -self.slope[k])
    }
}

impl<const N: usize> AddAssign for Dual<N> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<const N: usize> SubAssign for Dual<N> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<const N: usize> MulAssign for Dual<N> {
    #[inline(always)]
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

impl<const N: usize> DivAssign for Dual<N> {
    #[inline(always)]
    fn div_assign(&mut self, other: Self) {
        *self = *self / other;
    }
}

/// Operators with a number that depends on nothing on their right.
macro_rules! with_constant {
    ($($trait:ident $method:ident: |$own:ident, $other:ident| $value:expr, $derivative:expr;)*) => {$(
        impl<const N: usize> $trait<f64> for Dual<N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, $other: f64) -> Self {
                let $own = self.value;
                self.chain($value, $derivative)
            }
        }
    )*};
}

with_constant! {
    Add add: |own, other| own + other, 1.0;
    Sub sub: |own, other| own - other, 1.0;
    Mul mul: |own, other| own * other, other;
    Div div: |own, other| own / other, 1.0 / other;
}
