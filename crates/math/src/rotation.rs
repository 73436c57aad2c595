//! Turns of the circle and of the sphere of unit quaternions: exponential, logarithm and their derivatives, theory (1.3)-(1.6).

use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector3};

/// A turn in the plane, with its angle kept unwrapped so that a wheel counts its revolutions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// Angle \[rad\], not reduced.
    pub angle: f64,
    /// cos(angle).
    pub cos: f64,
    /// sin(angle).
    pub sin: f64,
}

impl Turn {
    /// The turn by an angle \[rad\].
    #[inline]
    pub fn by(angle: f64) -> Self {
        let (sin, cos) = angle.sin_cos();
        Turn { angle, cos, sin }
    }
    /// This turn and then another by an angle \[rad\]. Most shapes stand in their bodies unturned and walls do not turn at all: nothing is found
    /// anew for them.
    #[inline]
    pub fn further(self, angle: f64) -> Self {
        if angle == 0.0 { self } else { Turn::by(self.angle + angle) }
    }
}

/// Below this angle \[rad\] the closed forms lose digits to cancellation and their series are exact to rounding.
const SMALL_ANGLE: f64 = 1e-2;

/// Below this half angle squared [rad^2] six terms of the series of sine and cosine are exact to rounding, and cheaper than the closed forms.
const SERIES_REACH: f64 = 1e-2;

/// exp of a rotation vector, theory (1.3).
#[inline]
pub fn quaternion_exp(vector: Vector3<f64>) -> UnitQuaternion<f64> {
    let x = 0.25 * vector.norm_squared();
    let (cos, sinc) = if x < SERIES_REACH {
        let cos = 1.0 - x / 2.0 * (1.0 - x / 12.0 * (1.0 - x / 30.0 * (1.0 - x / 56.0 * (1.0 - x / 90.0))));
        let sinc = 1.0 - x / 6.0 * (1.0 - x / 20.0 * (1.0 - x / 42.0 * (1.0 - x / 72.0 * (1.0 - x / 110.0))));
        (cos, sinc)
    } else {
        let half = x.sqrt();
        (half.cos(), half.sin() / half)
    };
    let v = vector * (0.5 * sinc);
    UnitQuaternion::new_unchecked(Quaternion::from_parts(cos, v))
}

/// Below this |sin(angle/2)| the angle is its sine to rounding: the next term is a third of its square.
const TINY_SINE: f64 = 1e-8;

/// The shortest rotation vector of a unit quaternion, theory (1.4).
pub fn quaternion_log(rotation: UnitQuaternion<f64>) -> Vector3<f64> {
    let (w, v) = if rotation.w < 0.0 { (-rotation.w, -rotation.imag()) } else { (rotation.w, rotation.imag()) };
    let s = v.norm();
    if s < TINY_SINE {
        // 2 atan2(s, w)/s -> 2/w (1 - s^2/(3 w^2)); the second term is below rounding here.
        return v * (2.0 / w);
    }
    v * (2.0 * s.atan2(w) / s)
}

/// \[w\]x, the matrix of the cross product.
#[inline]
pub fn cross_matrix(w: Vector3<f64>) -> Matrix3<f64> {
    Matrix3::new(0.0, -w.z, w.y, w.z, 0.0, -w.x, -w.y, w.x, 0.0)
}

/// Below this angle squared [rad^2] six terms of the series of the coefficients of (1.5) are exact to rounding: the next is below 4e-18.
const DERIVATIVE_REACH: f64 = 4e-2;

/// The series of (1 - cos t)/t^2 and of (t - sin t)/t^3 in t^2: (-1)^k/(2k + 2)! and (-1)^k/(2k + 3)!.
const DERIVATIVE_SERIES: [[f64; 6]; 2] = [
    [1.0 / 2.0, -1.0 / 24.0, 1.0 / 720.0, -1.0 / 40320.0, 1.0 / 3628800.0, -1.0 / 479001600.0],
    [1.0 / 6.0, -1.0 / 120.0, 1.0 / 5040.0, -1.0 / 362880.0, 1.0 / 39916800.0, -1.0 / 6227020800.0],
];

/// (1 - cos t)/t^2 and (t - sin t)/t^3 of an angle squared [rad^2]: the coefficients of (1.5).
#[inline]
pub fn exp_coefficients(t2: f64) -> [f64; 2] {
    if t2 < DERIVATIVE_REACH {
        return DERIVATIVE_SERIES.map(|series| series.iter().rev().fold(0.0, |sum, term| sum * t2 + term));
    }
    let t = t2.sqrt();
    [(1.0 - t.cos()) / t2, (t - t.sin()) / (t2 * t)]
}

/// Left Jacobian of the exponential, J(w) = 1 + (1 - cos t)/t^2 \[w\]x + (t - sin t)/t^3 \[w\]x^2, theory (1.5).
#[inline]
pub fn exp_derivative(vector: Vector3<f64>) -> Matrix3<f64> {
    let [a, b] = exp_coefficients(vector.norm_squared());
    let w = cross_matrix(vector);
    Matrix3::identity() + w * a + w * w * b
}

/// Inverse of the left Jacobian, J(w)^-1 = 1 - \[w\]x/2 + (1 - (t/2) cot(t/2))/t^2 \[w\]x^2, theory (1.6): how the shortest rotation
/// vector changes as its rotation turns. Singular at t = 2 pi; a shortest vector has t <= pi.
pub fn log_derivative(vector: Vector3<f64>) -> Matrix3<f64> {
    let t2 = vector.norm_squared();
    let c = if t2 < SMALL_ANGLE * SMALL_ANGLE {
        1.0 / 12.0 + t2 / 720.0 * (1.0 + t2 / 42.0)
    } else {
        let half = 0.5 * t2.sqrt();
        (1.0 - half / half.tan()) / t2
    };
    let w = cross_matrix(vector);
    Matrix3::identity() - w * 0.5 + w * w * c
}

/// Newton iterations allowed for the implicit rate; 3-4 suffice at any step that resolves the motion.
const IMPLICIT_RATE_CAP: usize = 20;

/// Units in the last place of the momenta at which the residual of an implicit rate is rounding.
const RATE_ROUNDING: f64 = 4.0;

/// Solves I y + s y x (I y) = m for y by Newton, theory (2.32). `None` when it does not converge within the cap.
#[inline]
pub fn implicit_rate(inertia: Matrix3<f64>, s: f64, m: Vector3<f64>, guess: Vector3<f64>) -> Option<Vector3<f64>> {
    let mut y = guess;
    let mut iy = inertia * y;
    // Squares are compared: this is asked of every body in every step, and most guesses are answers.
    let rounding = (RATE_ROUNDING * f64::EPSILON).powi(2) * m.norm_squared().max(iy.norm_squared());
    for _ in 0..IMPLICIT_RATE_CAP {
        let residual = iy + y.cross(&iy) * s - m;
        if residual.norm_squared() <= rounding {
            return Some(y);
        }
        let jacobian = inertia + (cross_matrix(y) * inertia - cross_matrix(iy)) * s;
        let change = jacobian.try_inverse()? * residual;
        y -= change;
        if change.norm_squared() <= f64::EPSILON.powi(2) * y.norm_squared() {
            return Some(y);
        }
        iy = inertia * y;
    }
    None
}

/// Solves k I y + s y x (I y + push) = momentum + push for y by Newton, theory (13.7): the mean rate of a body over a step of length 2 s,
/// whose angular momentum at its start is `momentum`, whose half angular impulse is `push` and whose drag factor is k. `None` when it
/// does not converge within the cap.
pub fn mean_rate(
    inertia: Matrix3<f64>,
    s: f64,
    k: f64,
    momentum: Vector3<f64>,
    push: Vector3<f64>,
    guess: Vector3<f64>,
) -> Option<Vector3<f64>> {
    let mut y = guess;
    let wanted = momentum + push;
    let scale = momentum.norm().max(push.norm()).max((inertia * guess).norm());
    for _ in 0..IMPLICIT_RATE_CAP {
        let carried = inertia * y + push;
        let residual = inertia * y * k + y.cross(&carried) * s - wanted;
        if residual.norm() <= RATE_ROUNDING * f64::EPSILON * scale {
            return Some(y);
        }
        let jacobian = inertia * k + (cross_matrix(y) * inertia - cross_matrix(carried)) * s;
        let change = jacobian.lu().solve(&residual)?;
        y -= change;
        if change.norm() <= f64::EPSILON * y.norm() {
            return Some(y);
        }
    }
    None
}
