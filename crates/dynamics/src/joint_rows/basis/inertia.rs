//! The inertia of a body with all that hangs on it, its joints free to move, theory (12.34).

use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// A symmetric map from twists to wrenches, by rows: what a velocity gives as a force, what a rate gives as one, and what a rate gives as a torque.
#[derive(Clone, Copy, Debug)]
pub(super) struct Articulated<G: Geometry> {
    lin: [G::Lin; 3],
    mix: [G::Ang; 3],
    ang: [G::Ang; 3],
}

/// The unit vector along an axis.
#[inline(always)]
fn unit<V: Vector>(axis: usize) -> V {
    let mut out = V::zero();
    out[axis] = 1.0;
    out
}

/// A column of a matrix by rows.
#[inline(always)]
fn column<G: Geometry>(rows: &[G::Ang; 3], k: usize) -> G::Lin {
    let mut out = G::Lin::zero();
    for r in 0..G::DIM {
        out[r] = rows[r][k];
    }
    out
}

impl<G: Geometry> Articulated<G> {
    fn none() -> Self {
        Articulated { lin: [G::Lin::zero(); 3], mix: [G::Ang::zero(); 3], ang: [G::Ang::zero(); 3] }
    }
    /// Of a body alone.
    #[inline(always)]
    pub fn of(body: &LocalBody<G>) -> Self {
        let mut out: Self = Self::none();
        for axis in 0..G::DIM {
            out.lin[axis] = unit::<G::Lin>(axis) * body.mass;
        }
        for axis in 0..G::ANG {
            out.ang[axis] = G::inertia_apply(body.inertia, unit(axis));
        }
        out
    }
    /// The wrench that a twist takes.
    #[inline(always)]
    pub fn apply(&self, twist: &Twist<G>) -> Wrench<G> {
        let mut out: Wrench<G> = Wrench::zero();
        for r in 0..G::DIM {
            out.lin[r] = self.lin[r].dot(twist.lin) + self.mix[r].dot(twist.ang);
            out.ang += self.mix[r] * twist.lin[r];
        }
        for r in 0..G::ANG {
            out.ang[r] += self.ang[r].dot(twist.ang);
        }
        out
    }
    /// Adds another.
    #[inline(always)]
    pub fn add(&mut self, other: &Self) {
        for r in 0..G::DIM {
            self.lin[r] += other.lin[r];
            self.mix[r] += other.mix[r];
        }
        for r in 0..G::ANG {
            self.ang[r] += other.ang[r];
        }
    }
    /// Adds s w w'.
    #[inline(always)]
    pub fn add_square(&mut self, s: f64, w: &Wrench<G>) {
        let (lin, ang) = (w.lin * s, w.ang * s);
        for r in 0..G::DIM {
            self.lin[r] += lin * w.lin[r];
            self.mix[r] += ang * w.lin[r];
        }
        for r in 0..G::ANG {
            self.ang[r] += ang * w.ang[r];
        }
    }
    /// T' I T for a body that is carried as a whole, its centre at `reach` from that of the body that carries it.
    #[inline(always)]
    pub fn carried(&self, reach: G::Lin) -> Self {
        let mut out = *self;
        for r in 0..G::DIM {
            out.mix[r] += G::torque(reach, self.lin[r]);
        }
        for k in 0..G::ANG {
            out.ang[k] += G::torque(reach, column::<G>(&self.mix, k));
            let across = G::torque(reach, column::<G>(&out.mix, k));
            for r in 0..G::ANG {
                out.ang[r][k] += across[r];
            }
        }
        out
    }
    /// The same for any way of being carried, told by what it makes of a twist.
    pub fn carried_by(&self, carry: impl Fn(&Twist<G>) -> Twist<G>) -> Self {
        let mut out: Self = Self::none();
        let axis = |k: usize| match k.checked_sub(G::DIM) {
            None => Twist { lin: unit(k), ang: G::Ang::zero() },
            Some(k) => Twist { lin: G::Lin::zero(), ang: unit(k) },
        };
        for c in 0..G::DOF {
            let momentum = self.apply(&carry(&axis(c)));
            for r in 0..G::DOF {
                let part = momentum.power(&carry(&axis(r)));
                match (r.checked_sub(G::DIM), c.checked_sub(G::DIM)) {
                    (None, None) => out.lin[r][c] = part,
                    (None, Some(c)) => out.mix[r][c] = part,
                    (Some(r), Some(c)) => out.ang[r][c] = part,
                    (Some(_), None) => {}
                }
            }
        }
        out
    }
}
