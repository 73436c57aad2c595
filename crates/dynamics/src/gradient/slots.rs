//! Slices of slots as vectors, twists and small symmetric matrices, and back.

pub(crate) use crate::body_load::cross;
use carom_math::{Space, Twist, Vector, Wrench};

/// The twist in the first DOF numbers, linear part first.
#[inline]
pub(crate) fn twist<S: Space>(x: &[f64]) -> Twist<S> {
    Twist { lin: S::Lin::from_slice(x), ang: S::Ang::from_slice(&x[S::DIM..]) }
}

/// The wrench in the first DOF numbers, linear part first.
#[inline]
pub(crate) fn wrench<S: Space>(x: &[f64]) -> Wrench<S> {
    Wrench { lin: S::Lin::from_slice(x), ang: S::Ang::from_slice(&x[S::DIM..]) }
}

/// A linear part and an angular one: a twist or a wrench.
pub(crate) trait Stacked<S: Space> {
    /// Both parts.
    fn parts(&self) -> (S::Lin, S::Ang);
}

impl<S: Space> Stacked<S> for Twist<S> {
    fn parts(&self) -> (S::Lin, S::Ang) {
        (self.lin, self.ang)
    }
}

impl<S: Space> Stacked<S> for Wrench<S> {
    fn parts(&self) -> (S::Lin, S::Ang) {
        (self.lin, self.ang)
    }
}

/// Writes a linear and an angular part.
#[inline]
pub(crate) fn put<S: Space>(lin: S::Lin, ang: S::Ang, out: &mut [f64]) {
    out[..S::DIM].copy_from_slice(lin.as_slice());
    out[S::DIM..S::DOF].copy_from_slice(ang.as_slice());
}

/// x += a wrench, in its first DOF numbers.
#[inline]
pub(crate) fn add_wrench<S: Space>(x: &mut [f64], value: &Wrench<S>) {
    x[..S::DIM].iter_mut().zip(value.lin.as_slice()).for_each(|(x, v)| *x += v);
    x[S::DIM..S::DOF].iter_mut().zip(value.ang.as_slice()).for_each(|(x, v)| *x += v);
}

/// The sum of products of the numbers of two twists.
#[inline]
pub(crate) fn pair<S: Space>(a: &Twist<S>, b: &Twist<S>) -> f64 {
    a.lin.dot(b.lin) + a.ang.dot(b.ang)
}

/// Numbers that describe a symmetric inertia: 1 in the plane, 6 in space.
pub(crate) const fn inertia_len(ang: usize) -> usize {
    ang * (ang + 1) / 2
}

/// The symmetric inertia of its upper triangle by rows: (xx, xy, xz, yy, yz, zz) in space.
pub(crate) fn inertia<S: Space>(upper: &[f64]) -> S::Inertia {
    let mut rows = [0.0; 9];
    let mut next = 0;
    for i in 0..S::ANG {
        for j in i..S::ANG {
            rows[i * S::ANG + j] = upper[next];
            rows[j * S::ANG + i] = upper[next];
            next += 1;
        }
    }
    S::inertia_from_rows(&rows)
}
