//! The only fork between the plane and space.
//!
//! Everything above this file is written once over `S: Space`; what is truly three-dimensional (the gyroscopic torque, the second
//! tangent) is a method here that vanishes in the plane. Symbols are those of the notation table in `docs/theory.md`.

use crate::rotation::{self, Turn};
use nalgebra::{Matrix1, Matrix3, SVector, UnitQuaternion, Vector1, Vector2, Vector3};
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

    /// Position [m], velocity [m/s], force [N].
    type Lin: Vector;
    /// Rate [rad/s], torque [N m].
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
    /// The turn by a rotation vector [rad].
    fn exp(vector: Self::Ang) -> Self::Rot;
    /// The rotation vector [rad] of a turn, the shortest one in space and the stored angle in the plane.
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
    /// Implicit end-of-step rate, theory (2.24): y with I y + s y x I y = momentum, by Newton from `guess`; `None` if it does not
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

impl Space for Planar {
    const DIM: usize = 2;
    const ANG: usize = 1;
    const DOF: usize = 3;
    const COORDS: usize = 3;
    const TANGENTS: usize = 1;
    type Lin = Vector2<f64>;
    type Ang = Vector1<f64>;
    type Rot = Turn;
    type Inertia = Matrix1<f64>;
    type Matrix = Turn;

    #[inline(always)]
    fn torque(arm: Self::Lin, force: Self::Lin) -> Self::Ang {
        Vector1::new(arm.x * force.y - arm.y * force.x)
    }
    #[inline(always)]
    fn spin(rate: Self::Ang, arm: Self::Lin) -> Self::Lin {
        Vector2::new(-rate.x * arm.y, rate.x * arm.x)
    }
    #[inline]
    fn identity() -> Turn {
        Turn { angle: 0.0, cos: 1.0, sin: 0.0 }
    }
    #[inline]
    fn compose(a: Turn, b: Turn) -> Turn {
        a.further(b.angle)
    }
    #[inline]
    fn inverse(rotation: Turn) -> Turn {
        Turn { angle: -rotation.angle, cos: rotation.cos, sin: -rotation.sin }
    }
    #[inline(always)]
    fn rotate(r: Turn, x: Self::Lin) -> Self::Lin {
        Vector2::new(r.cos * x.x - r.sin * x.y, r.sin * x.x + r.cos * x.y)
    }
    #[inline(always)]
    fn unrotate(r: Turn, x: Self::Lin) -> Self::Lin {
        Vector2::new(r.cos * x.x + r.sin * x.y, -r.sin * x.x + r.cos * x.y)
    }
    #[inline]
    fn rotate_rate(_: Turn, rate: Self::Ang) -> Self::Ang {
        rate
    }
    #[inline]
    fn unrotate_rate(_: Turn, rate: Self::Ang) -> Self::Ang {
        rate
    }
    #[inline(always)]
    fn matrix(rotation: Turn) -> Turn {
        rotation
    }
    #[inline(always)]
    fn matrix_rotate(matrix: &Turn, x: Self::Lin) -> Self::Lin {
        Self::rotate(*matrix, x)
    }
    #[inline(always)]
    fn matrix_unrotate(matrix: &Turn, x: Self::Lin) -> Self::Lin {
        Self::unrotate(*matrix, x)
    }
    #[inline(always)]
    fn matrix_rotate_rate(_: &Turn, rate: Self::Ang) -> Self::Ang {
        rate
    }
    #[inline(always)]
    fn matrix_unrotate_rate(_: &Turn, rate: Self::Ang) -> Self::Ang {
        rate
    }
    #[inline]
    fn exp(vector: Self::Ang) -> Turn {
        Turn::by(vector.x)
    }
    #[inline]
    fn log(rotation: Turn) -> Self::Ang {
        Vector1::new(rotation.angle)
    }
    #[inline]
    fn turn(rotation: Turn, vector: Self::Ang) -> Turn {
        rotation.further(vector.x)
    }
    #[inline]
    fn exp_derivative(_: Self::Ang, rate: Self::Ang) -> Self::Ang {
        rate
    }
    #[inline]
    fn exp_derivative_transpose(_: Self::Ang, covector: Self::Ang) -> Self::Ang {
        covector
    }
    #[inline]
    fn log_derivative(_: Self::Ang, rate: Self::Ang) -> Self::Ang {
        rate
    }
    #[inline]
    fn log_derivative_transpose(_: Self::Ang, covector: Self::Ang) -> Self::Ang {
        covector
    }
    #[inline(always)]
    fn inertia_apply(inertia: Self::Inertia, rate: Self::Ang) -> Self::Ang {
        Vector1::new(inertia.x * rate.x)
    }
    #[inline(always)]
    fn inertia_arm(inertia: Self::Inertia, arm: Self::Lin) -> [Self::Ang; 3] {
        [Vector1::new(-inertia.x * arm.y), Vector1::new(inertia.x * arm.x), Vector1::zeros()]
    }
    #[inline]
    fn inertia_invert(inertia: Self::Inertia) -> Option<Self::Inertia> {
        (inertia.x > 0.0).then(|| Matrix1::new(1.0 / inertia.x))
    }
    #[inline]
    fn inertia_turned(inertia: Self::Inertia, _: &Turn) -> Self::Inertia {
        inertia
    }
    #[inline]
    fn inertia_zero() -> Self::Inertia {
        Matrix1::zeros()
    }
    #[inline]
    fn inertia_scale(inertia: Self::Inertia, factor: f64) -> Self::Inertia {
        inertia * factor
    }
    #[inline]
    fn inertia_sum(a: Self::Inertia, b: Self::Inertia) -> Self::Inertia {
        a + b
    }
    #[inline]
    fn inertia_of_point(mass: f64, offset: Self::Lin) -> Self::Inertia {
        Matrix1::new(mass * offset.norm_squared())
    }
    #[inline]
    fn inertia_from_moments(moments: &[f64]) -> Self::Inertia {
        Matrix1::new(moments[0])
    }
    #[inline]
    fn inertia_rows(inertia: Self::Inertia) -> Vec<f64> {
        vec![inertia.x]
    }
    #[inline]
    fn inertia_from_rows(rows: &[f64]) -> Self::Inertia {
        Matrix1::new(rows[0])
    }
    #[inline]
    fn gyroscopic(_: Self::Inertia, _: Self::Ang) -> Self::Ang {
        Vector1::zeros()
    }
    #[inline]
    fn implicit_rate(inertia: Self::Inertia, _: f64, momentum: Self::Ang, _: Self::Ang) -> Option<Self::Ang> {
        Self::inertia_invert(inertia).map(|inverse| Vector1::new(inverse.x * momentum.x))
    }
    fn mean_rate(inertia: Self::Inertia, _: f64, drag: f64, momentum: Self::Ang, push: Self::Ang, _: Self::Ang) -> Option<Self::Ang> {
        Self::inertia_invert(inertia).map(|inverse| Vector1::new(inverse.x * (momentum.x + push.x) / drag))
    }
    #[inline]
    fn tangents(n: Self::Lin) -> [Self::Lin; 2] {
        [Vector2::new(-n.y, n.x), Vector2::zeros()]
    }
    fn tangents_derivative(_: Self::Lin, change: Self::Lin) -> [Self::Lin; 2] {
        Self::tangents(change)
    }
    #[inline]
    fn write_rotation(rotation: Turn, out: &mut [f64]) {
        out[0] = rotation.angle;
    }
    #[inline]
    fn read_rotation(values: &[f64]) -> Option<Turn> {
        values[0].is_finite().then(|| Turn::by(values[0]))
    }
}

/// The axis least aligned with n: continuous except where two components tie, a null set.
fn least_aligned(n: Vector3<f64>) -> Vector3<f64> {
    if n.x.abs() <= n.y.abs() && n.x.abs() <= n.z.abs() {
        Vector3::x()
    } else if n.y.abs() <= n.z.abs() {
        Vector3::y()
    } else {
        Vector3::z()
    }
}

impl Space for Spatial {
    const DIM: usize = 3;
    const ANG: usize = 3;
    const DOF: usize = 6;
    const COORDS: usize = 7;
    const TANGENTS: usize = 2;
    type Lin = Vector3<f64>;
    type Ang = Vector3<f64>;
    type Rot = UnitQuaternion<f64>;
    type Inertia = Matrix3<f64>;
    type Matrix = Matrix3<f64>;

    #[inline(always)]
    fn torque(arm: Self::Lin, force: Self::Lin) -> Self::Ang {
        arm.cross(&force)
    }
    #[inline(always)]
    fn spin(rate: Self::Ang, arm: Self::Lin) -> Self::Lin {
        rate.cross(&arm)
    }
    #[inline]
    fn identity() -> Self::Rot {
        UnitQuaternion::identity()
    }
    #[inline]
    fn compose(a: Self::Rot, b: Self::Rot) -> Self::Rot {
        a * b
    }
    #[inline]
    fn inverse(rotation: Self::Rot) -> Self::Rot {
        rotation.inverse()
    }
    #[inline(always)]
    fn rotate(r: Self::Rot, x: Self::Lin) -> Self::Lin {
        r * x
    }
    #[inline(always)]
    fn unrotate(r: Self::Rot, x: Self::Lin) -> Self::Lin {
        r.inverse_transform_vector(&x)
    }
    #[inline]
    fn rotate_rate(r: Self::Rot, rate: Self::Ang) -> Self::Ang {
        r * rate
    }
    #[inline]
    fn unrotate_rate(r: Self::Rot, rate: Self::Ang) -> Self::Ang {
        r.inverse_transform_vector(&rate)
    }
    #[inline(always)]
    fn matrix(rotation: Self::Rot) -> Self::Matrix {
        rotation.to_rotation_matrix().into_inner()
    }
    #[inline(always)]
    fn matrix_rotate(matrix: &Self::Matrix, x: Self::Lin) -> Self::Lin {
        matrix * x
    }
    #[inline(always)]
    fn matrix_unrotate(matrix: &Self::Matrix, x: Self::Lin) -> Self::Lin {
        matrix.tr_mul(&x)
    }
    #[inline(always)]
    fn matrix_rotate_rate(matrix: &Self::Matrix, rate: Self::Ang) -> Self::Ang {
        matrix * rate
    }
    #[inline(always)]
    fn matrix_unrotate_rate(matrix: &Self::Matrix, rate: Self::Ang) -> Self::Ang {
        matrix.tr_mul(&rate)
    }
    #[inline]
    fn exp(vector: Self::Ang) -> Self::Rot {
        rotation::quaternion_exp(vector)
    }
    #[inline]
    fn log(rotation: Self::Rot) -> Self::Ang {
        rotation::quaternion_log(rotation)
    }
    #[inline]
    fn turn(rotation: Self::Rot, vector: Self::Ang) -> Self::Rot {
        // Both are of unit length up to rounding: one Newton step for 1/|q| removes it without a root.
        let turned = (rotation::quaternion_exp(vector) * rotation).into_inner();
        UnitQuaternion::new_unchecked(turned * (1.5 - 0.5 * turned.norm_squared()))
    }
    #[inline]
    fn exp_derivative(vector: Self::Ang, rate: Self::Ang) -> Self::Ang {
        rotation::exp_derivative(vector) * rate
    }
    #[inline]
    fn exp_derivative_transpose(vector: Self::Ang, covector: Self::Ang) -> Self::Ang {
        rotation::exp_derivative(vector).transpose() * covector
    }
    #[inline]
    fn log_derivative(vector: Self::Ang, rate: Self::Ang) -> Self::Ang {
        rotation::log_derivative(vector) * rate
    }
    #[inline]
    fn log_derivative_transpose(vector: Self::Ang, covector: Self::Ang) -> Self::Ang {
        rotation::log_derivative(vector).transpose() * covector
    }
    #[inline(always)]
    fn inertia_apply(inertia: Self::Inertia, rate: Self::Ang) -> Self::Ang {
        inertia * rate
    }
    #[inline(always)]
    fn inertia_arm(inertia: Self::Inertia, r: Self::Lin) -> [Self::Ang; 3] {
        // r x e_x = (0, z, -y), and so on around.
        let [x, y, z] = [0, 1, 2].map(|k| Vector3::new(inertia[(0, k)], inertia[(1, k)], inertia[(2, k)]));
        [y * r.z - z * r.y, z * r.x - x * r.z, x * r.y - y * r.x]
    }
    #[inline]
    fn inertia_invert(inertia: Self::Inertia) -> Option<Self::Inertia> {
        let lower = inertia.cholesky()?;
        Some(lower.inverse())
    }
    #[inline]
    fn inertia_turned(inertia: Self::Inertia, r: &Self::Matrix) -> Self::Inertia {
        let half = r * inertia;
        let entry = |i: usize, j: usize| half[(i, 0)] * r[(j, 0)] + half[(i, 1)] * r[(j, 1)] + half[(i, 2)] * r[(j, 2)];
        // One triangle, so that it is symmetric to the last bit and reads back from text as it was.
        let (xy, xz, yz) = (entry(1, 0), entry(2, 0), entry(2, 1));
        Matrix3::new(entry(0, 0), xy, xz, xy, entry(1, 1), yz, xz, yz, entry(2, 2))
    }
    #[inline]
    fn inertia_zero() -> Self::Inertia {
        Matrix3::zeros()
    }
    #[inline]
    fn inertia_scale(inertia: Self::Inertia, factor: f64) -> Self::Inertia {
        inertia * factor
    }
    #[inline]
    fn inertia_sum(a: Self::Inertia, b: Self::Inertia) -> Self::Inertia {
        a + b
    }
    #[inline]
    fn inertia_of_point(mass: f64, offset: Self::Lin) -> Self::Inertia {
        (Matrix3::identity() * offset.norm_squared() - offset * offset.transpose()) * mass
    }
    #[inline]
    fn inertia_from_moments(moments: &[f64]) -> Self::Inertia {
        Matrix3::from_diagonal(&Vector3::from_column_slice(&moments[..3]))
    }
    #[inline]
    fn inertia_rows(inertia: Self::Inertia) -> Vec<f64> {
        inertia.transpose().as_slice().to_vec()
    }
    #[inline]
    fn inertia_from_rows(rows: &[f64]) -> Self::Inertia {
        let m = Matrix3::from_row_slice(&rows[..9]);
        (m + m.transpose()) * 0.5
    }
    #[inline]
    fn gyroscopic(inertia: Self::Inertia, rate: Self::Ang) -> Self::Ang {
        rate.cross(&(inertia * rate))
    }
    #[inline]
    fn implicit_rate(inertia: Self::Inertia, half_step: f64, momentum: Self::Ang, guess: Self::Ang) -> Option<Self::Ang> {
        rotation::implicit_rate(inertia, half_step, momentum, guess)
    }
    fn mean_rate(
        inertia: Self::Inertia,
        half_step: f64,
        drag: f64,
        momentum: Self::Ang,
        push: Self::Ang,
        guess: Self::Ang,
    ) -> Option<Self::Ang> {
        rotation::mean_rate(inertia, half_step, drag, momentum, push, guess)
    }
    #[inline]
    fn tangents(n: Self::Lin) -> [Self::Lin; 2] {
        let least = least_aligned(n);
        let t1 = (least - n * n.dot(least)).normalize();
        [t1, n.cross(&t1)]
    }
    fn tangents_derivative(n: Self::Lin, change: Self::Lin) -> [Self::Lin; 2] {
        let least = least_aligned(n);
        let across = least - n * n.dot(least);
        let t1 = across.normalize();
        let moved = -(change * n.dot(least) + n * change.dot(least));
        let d1 = (moved - t1 * t1.dot(moved)) / across.norm();
        [d1, change.cross(&t1) + n.cross(&d1)]
    }
    #[inline]
    fn write_rotation(r: Self::Rot, out: &mut [f64]) {
        out[..4].copy_from_slice(&[r.w, r.i, r.j, r.k]);
    }
    #[inline]
    fn read_rotation(v: &[f64]) -> Option<Self::Rot> {
        let raw = nalgebra::Quaternion::new(v[0], v[1], v[2], v[3]);
        let norm = raw.norm();
        // A quaternion that is already unit to rounding is kept bit for bit, so that a stored state resumes exactly.
        if !(norm.is_finite() && norm > 0.0) {
            None
        } else if (norm - 1.0).abs() <= 4.0 * f64::EPSILON {
            Some(UnitQuaternion::new_unchecked(raw))
        } else {
            Some(UnitQuaternion::new_normalize(raw))
        }
    }
}
