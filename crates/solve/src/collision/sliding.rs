//! The sliding equations in polar form, theory (6.12)-(6.13).
//!
//! The tangential velocity is kept as a direction and the logarithm of a length, and the independent variable is ds = dp/|u_t|. The right
//! side is then smooth up to u_t = 0, where the Cartesian form divides by zero.

use super::dormand_prince::State;
use super::scalar::Scalar;

/// Positions of the unknowns: direction of u_t.
pub(super) const COS: usize = 0;
/// Direction of u_t.
pub(super) const SIN: usize = 1;
/// ln |u_t|.
pub(super) const LOG: usize = 2;
/// Integral of cos dp.
pub(super) const ALONG: usize = 3;
/// Integral of sin dp.
pub(super) const ACROSS: usize = 4;
/// Normal impulse p.
pub(super) const IMPULSE: usize = 5;
/// u_n.
pub(super) const NORMAL: usize = 6;
/// Work of the normal force in the present phase.
pub(super) const WORK: usize = 7;

/// The coefficients of (6.12) for one K = [[M, c], [c', d]] and mu.
#[derive(Clone, Copy)]
pub(super) struct Sliding<T> {
    /// mu M: (1,1), (1,2), (2,2).
    pub n: [T; 3],
    /// c.
    pub c: [T; 2],
    /// mu c.
    pub b: [T; 2],
    /// d.
    pub d: T,
}

impl<T: Scalar> Sliding<T> {
    pub fn new(k: &[[T; 3]; 3], friction: T) -> Self {
        let c = [k[0][2], k[1][2]];
        Sliding { n: [friction * k[0][0], friction * k[0][1], friction * k[1][1]], c, b: c.map(|x| friction * x), d: k[2][2] }
    }

    /// The same with plain numbers.
    pub fn plain(&self) -> Sliding<f64> {
        Sliding { n: self.n.map(T::value), c: self.c.map(T::value), b: self.b.map(T::value), d: self.d.value() }
    }

    /// Rate of turn f, rate g of ln |u_t| and k = du_n/dp for a direction, (6.13).
    #[inline(always)]
    pub fn coefficients(&self, cos: T, sin: T) -> (T, T, T) {
        let x = self.c[0] - (self.n[0] * cos + self.n[1] * sin);
        let y = self.c[1] - (self.n[1] * cos + self.n[2] * sin);
        (cos * y - sin * x, cos * x + sin * y, self.d - (self.b[0] * cos + self.b[1] * sin))
    }

    /// Rates of the unknowns, (6.12).
    #[inline(always)]
    pub fn rates(&self, y: &State<T>) -> State<T> {
        let (cos, sin) = (y[COS], y[SIN]);
        let (f, g, k) = self.coefficients(cos, sin);
        let r = y[LOG].exp();
        [-sin * f, cos * f, g, r * cos, r * sin, r, r * k, r * y[NORMAL]]
    }

    /// Derivatives of f and g with respect to the angle.
    pub fn slopes(&self, cos: T, sin: T, f: T, g: T) -> (T, T) {
        let x = self.n[0] * sin - self.n[1] * cos;
        let y = self.n[1] * sin - self.n[2] * cos;
        (cos * y - sin * x - g, cos * x + sin * y + f)
    }
}

/// A direction turned by an angle \[rad\].
pub(super) fn turned<T: Scalar>(cos: T, sin: T, angle: T) -> (T, T) {
    let (s, c) = angle.sin_cos();
    (cos * c - sin * s, sin * c + cos * s)
}
