//! The only fork between the plane and space.
//!
//! Everything above this module is written once over `S: Space`; what is truly three-dimensional (the gyroscopic torque, the second
//! tangent) is a method here that vanishes in the plane. Symbols are those of the notation table in `docs/theory.md`.

mod planar;
mod spatial;

use nalgebra::SVector;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Index, IndexMut, Mul, Neg, Sub, SubAssign};

/// A short vector of `f64`, in the plane or in space.
pub trait Vector:
    Copy
    + Debug
    + PartialEq
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Neg<Output = Self>
    + Mul<f64, Output = Self>
    + AddAssign
    + SubAssign
    + Index<usize, Output = f64>
    + IndexMut<usize>
{
    /// Number of components.
    const LEN: usize;
    /// The zero vector.
    fn zero() -> Self;
    /// Scalar product.
    fn dot(self, other: Self) -> f64;
    /// Componentwise product.
    fn scale(self, other: Self) -> Self;
    /// The components in order.
    fn as_slice(&self) -> &[f64];
    /// From the first `LEN` entries of `values`.
    fn from_slice(values: &[f64]) -> Self;
    /// Euclidean length.
    fn norm(self) -> f64 {
        self.dot(self).sqrt()
    }
    /// The same direction with length one; the zero vector stays zero.
    fn unit(self) -> Self {
        let length = self.norm();
        if length > 0.0 { self * (1.0 / length) } else { self }
    }
    /// Whether every component is a finite number.
    fn is_finite(self) -> bool {
        self.as_slice().iter().all(|x| x.is_finite())
    }
    /// Largest component in absolute value.
    fn max_abs(self) -> f64 {
        self.as_slice().iter().fold(0.0, |m, x| m.max(x.abs()))
    }
}

impl<const N: usize> Vector for SVector<f64, N> {
    const LEN: usize = N;
    fn zero() -> Self {
        Self::zeros()
    }
    #[inline(always)]
    fn dot(self, other: Self) -> f64 {
        let mut sum = 0.0;
        for i in 0..N {
            sum += self[i] * other[i];
        }
        sum
    }
    #[inline(always)]
    fn scale(self, other: Self) -> Self {
        self.component_mul(&other)
    }
    fn as_slice(&self) -> &[f64] {
        self.data.as_slice()
    }
    fn from_slice(values: &[f64]) -> Self {
        Self::from_column_slice(&values[..N])
    }
}

/// The plane or space: how points turn, how forces twist, how inertia acts.
pub trait Space: Copy + Clone + Debug + Default + PartialEq + Eq + PartialOrd + Ord + Send + Sync + 'static {
    /// Number of coordinates of a point: 2 or 3.
    const DIM: usize;
    /// Number of angular velocity components: 1 or 3.
    const ANG: usize;
    /// Degrees of freedom of a body: 3 or 6.
    const DOF: usize;
    /// Numbers in a stored pose: 3 (x, y, angle) or 7 (x, y, z, qw, qx, qy, qz).
    const COORDS: usize;
    /// Tangent directions of a contact: 1 or 2.
    const TANGENTS: usize;

    /// Position \[m\], velocity [m/s], force \[N\].
    type Lin: Vector;
    /// Rate [rad/s], torque \[N m\].
    type Ang: Vector;
    /// Orientation, body to world.
    type Rot: Copy + Debug + PartialEq + Send + Sync + 'static;
    /// Moment of inertia [kg m^2], a symmetric map from rates to angular momenta.
    type Inertia: Copy + Debug + PartialEq + Send + Sync + 'static;
    /// An orientation as it is best applied many times.
    type Matrix: Copy + Debug + PartialEq + Send + Sync + 'static;

    /// r x f, the torque of a force at an arm.
    fn torque(arm: Self::Lin, force: Self::Lin) -> Self::Ang;
    /// w x r, the velocity of an arm's tip: the transpose of `torque`.
    fn spin(rate: Self::Ang, arm: Self::Lin) -> Self::Lin;

    /// The orientation that leaves everything in place.
    fn identity() -> Self::Rot;
    /// `a` after `b`.
    fn compose(a: Self::Rot, b: Self::Rot) -> Self::Rot;
    /// The turn back.
    fn inverse(rotation: Self::Rot) -> Self::Rot;
    /// Body to world.
    fn rotate(rotation: Self::Rot, x: Self::Lin) -> Self::Lin;
    /// World to body.
    fn unrotate(rotation: Self::Rot, x: Self::Lin) -> Self::Lin;
    /// A rate carried from body to world.
    fn rotate_rate(rotation: Self::Rot, rate: Self::Ang) -> Self::Ang;
    /// A rate carried from world to body.
    fn unrotate_rate(rotation: Self::Rot, rate: Self::Ang) -> Self::Ang;
    /// An orientation as a matrix.
    fn matrix(rotation: Self::Rot) -> Self::Matrix;
    /// Body to world.
    fn matrix_rotate(matrix: &Self::Matrix, x: Self::Lin) -> Self::Lin;
    /// World to body.
    fn matrix_unrotate(matrix: &Self::Matrix, x: Self::Lin) -> Self::Lin;
    /// A rate carried from body to world.
    fn matrix_rotate_rate(matrix: &Self::Matrix, rate: Self::Ang) -> Self::Ang;
    /// A rate carried from world to body.
    fn matrix_unrotate_rate(matrix: &Self::Matrix, rate: Self::Ang) -> Self::Ang;
    /// The turn by a rotation vector \[rad\].
    fn exp(vector: Self::Ang) -> Self::Rot;
    /// The rotation vector \[rad\] of a turn, the shortest one in space and the stored angle in the plane.
    fn log(rotation: Self::Rot) -> Self::Ang;
    /// `exp(vector)` after `rotation`, renormalised: a world-frame increment.
    fn turn(rotation: Self::Rot, vector: Self::Ang) -> Self::Rot;
    /// Left derivative of the exponential, J(w) with exp(w + d) = exp(J(w) d) exp(w) + O(d^2), applied to a rate.
    fn exp_derivative(vector: Self::Ang, rate: Self::Ang) -> Self::Ang;
    /// The transpose of `exp_derivative`, applied to a covector.
    fn exp_derivative_transpose(vector: Self::Ang, covector: Self::Ang) -> Self::Ang;
    /// The inverse of `exp_derivative`: log(exp(d) R) = w + J(w)^-1 d + O(d^2) with w = log R, applied to a rate.
    fn log_derivative(vector: Self::Ang, rate: Self::Ang) -> Self::Ang;
    /// The transpose of `log_derivative`, applied to a covector.
    fn log_derivative_transpose(vector: Self::Ang, covector: Self::Ang) -> Self::Ang;

    /// I w.
    fn inertia_apply(inertia: Self::Inertia, rate: Self::Ang) -> Self::Ang;
    /// I (r x e_k) for each axis e_k of the world: what unit forces at an arm do, the first `DIM` entries counting.
    fn inertia_arm(inertia: Self::Inertia, arm: Self::Lin) -> [Self::Ang; 3];
    /// I^-1 as a map, or `None` where I is not positive definite.
    fn inertia_invert(inertia: Self::Inertia) -> Option<Self::Inertia>;
    /// R I R', body to world.
    #[inline]
    fn inertia_world(inertia: Self::Inertia, rotation: Self::Rot) -> Self::Inertia {
        Self::inertia_turned(inertia, &Self::matrix(rotation))
    }
    /// The same for a matrix.
    fn inertia_turned(inertia: Self::Inertia, matrix: &Self::Matrix) -> Self::Inertia;
    /// The zero map: an orientation that no torque moves.
    fn inertia_zero() -> Self::Inertia;
    /// s I.
    fn inertia_scale(inertia: Self::Inertia, factor: f64) -> Self::Inertia;
    /// I + J.
    fn inertia_sum(a: Self::Inertia, b: Self::Inertia) -> Self::Inertia;
    /// Inertia of a point mass at an offset: m (|r|^2 1 - r r').
    fn inertia_of_point(mass: f64, offset: Self::Lin) -> Self::Inertia;
    /// Diagonal inertia from principal moments, one or three numbers.
    fn inertia_from_moments(moments: &[f64]) -> Self::Inertia;
    /// The matrix by rows, `ANG * ANG` numbers.
    fn inertia_rows(inertia: Self::Inertia) -> Vec<f64>;
    /// From a matrix by rows (its symmetric part).
    fn inertia_from_rows(rows: &[f64]) -> Self::Inertia;
    /// w x (I w), zero in the plane.
    fn gyroscopic(inertia: Self::Inertia, rate: Self::Ang) -> Self::Ang;
    /// Implicit end-of-step rate, theory (2.32): y with I y + s y x I y = momentum, by Newton from `guess`; `None` if it does not
    /// converge. In the plane y = I^-1 momentum.
    fn implicit_rate(inertia: Self::Inertia, half_step: f64, momentum: Self::Ang, guess: Self::Ang) -> Option<Self::Ang>;
    /// Mean rate over a step, theory (13.7): y with k I y + s y x (I y + push) = momentum + push, by Newton from `guess`; `None` if it
    /// does not converge. In the plane y = I^-1 (momentum + push)/k.
    fn mean_rate(
        inertia: Self::Inertia,
        half_step: f64,
        drag: f64,
        momentum: Self::Ang,
        push: Self::Ang,
        guess: Self::Ang,
    ) -> Option<Self::Ang>;

    /// Tangents orthonormal to a unit normal; the first `TANGENTS` entries count. In the plane (-n_y, n_x).
    fn tangents(normal: Self::Lin) -> [Self::Lin; 2];
    /// How the tangents change with the normal: the derivative of `tangents` along a change square to it.
    fn tangents_derivative(normal: Self::Lin, change: Self::Lin) -> [Self::Lin; 2];

    /// Writes an orientation: angle, or w, x, y, z.
    fn write_rotation(rotation: Self::Rot, out: &mut [f64]);
    /// Reads what `write_rotation` wrote; a quaternion is normalised. `None` when it cannot be.
    fn read_rotation(values: &[f64]) -> Option<Self::Rot>;
}

/// The plane: points (x, y), turns about the axis out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Planar;

/// Space: points (x, y, z), z up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spatial;
