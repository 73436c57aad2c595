//! Space.

use super::{Space, Spatial, Vector};
use crate::rotation;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

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
