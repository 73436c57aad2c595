//! The plane.

use super::{Planar, Space};
use crate::rotation::Turn;
use nalgebra::{Matrix1, Vector1, Vector2};

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
