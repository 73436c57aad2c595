//! What acts on a body whatever it touches: weight, what resists its motion and the gyroscopic torque; value, derivative and transpose, theory (17.18).
//!
//! Every step and every road of the gradient asks here; a new law of resistance is a change of this file.

use crate::island::LocalBody;
use crate::model::Body;
use carom_geometry::Geometry;
use carom_math::{Space, Twist, Vector, Wrench};

/// How many numbers say what resists the motion of a body.
pub(crate) const RESISTANCES: usize = 2;

/// Linear and angular damping [1/s].
pub(crate) type Resistances = [f64; RESISTANCES];

impl<G: Geometry> Body<G> {
    /// What resists its motion.
    pub(crate) fn resistances(&self) -> Resistances {
        [self.damping, self.spin_damping]
    }
}

/// The load on one body at a velocity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLoad<G: Geometry> {
    /// Gravity [m/s^2].
    pub gravity: G::Lin,
    /// Mass [kg].
    pub mass: f64,
    /// Inertia in world axes.
    pub inertia: G::Inertia,
    /// What resists its motion.
    pub resistances: Resistances,
    /// Whether the gyroscopic torque counts as a load.
    pub gyroscopic: bool,
    /// Velocity.
    pub twist: Twist<G>,
}

/// A change of what a load depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadChange<G: Geometry> {
    /// Of the velocity.
    pub velocity: Twist<G>,
    /// Of the angular momentum as the inertia changes and the rate does not.
    pub momentum: G::Ang,
    /// Of the mass.
    pub mass: f64,
    /// Of gravity.
    pub gravity: G::Lin,
    /// Of what resists.
    pub resistances: Resistances,
}

impl<G: Geometry> LoadChange<G> {
    /// No change.
    #[inline]
    pub fn none() -> Self {
        LoadChange {
            velocity: Twist::zero(),
            momentum: G::Ang::zero(),
            mass: 0.0,
            gravity: G::Lin::zero(),
            resistances: [0.0; RESISTANCES],
        }
    }
}

/// Cotangents of what a load depends on, named as in [`LoadChange`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadBar<G: Geometry> {
    /// Of the velocity.
    pub velocity: Wrench<G>,
    /// Of the angular momentum at a fixed rate.
    pub momentum: G::Ang,
    /// Of the mass.
    pub mass: f64,
    /// Of gravity.
    pub gravity: G::Lin,
    /// Of what resists.
    pub resistances: Resistances,
}

impl<G: Geometry> BodyLoad<G> {
    /// The load itself.
    #[inline]
    pub fn value(&self) -> Wrench<G> {
        let mut out = self.resisting();
        out.lin += self.gravity * self.mass;
        if self.gyroscopic {
            out.ang -= G::gyroscopic(self.inertia, self.twist.ang);
        }
        out
    }

    /// The part of it that resists the motion and takes energy.
    #[inline]
    pub fn resisting(&self) -> Wrench<G> {
        let [damping, spin_damping] = self.resistances;
        let mut out = Wrench { lin: self.twist.lin * (-damping * self.mass), ang: G::Ang::zero() };
        if spin_damping != 0.0 {
            out.ang = self.momentum(self.twist.ang) * -spin_damping;
        }
        out
    }

    /// How the load changes along a change of what it depends on.
    #[inline]
    pub fn along(&self, change: &LoadChange<G>) -> Wrench<G> {
        let [damping, spin_damping] = self.resistances;
        let velocity = &change.velocity;
        let mut lin = velocity.lin * (-damping * self.mass) + (self.gravity - self.twist.lin * damping) * change.mass;
        lin += change.gravity * self.mass - self.twist.lin * (self.mass * change.resistances[0]);
        let mut ang = self.momentum(self.twist.ang) * -change.resistances[1];
        if self.turns() {
            let gained = self.momentum(velocity.ang) + change.momentum;
            ang -= gained * spin_damping;
            if self.gyroscopic {
                ang -= cross::<G>(self.twist.ang, gained) + cross::<G>(velocity.ang, self.momentum(self.twist.ang));
            }
        }
        Wrench { lin, ang }
    }

    /// The transpose: what a cotangent of the load asks of all it depends on.
    #[inline]
    pub fn transpose(&self, w: &Wrench<G>) -> LoadBar<G> {
        let [damping, spin_damping] = self.resistances;
        let Twist { lin, ang: rate } = self.twist;
        let momentum = self.momentum(rate);
        let mut bar = LoadBar {
            velocity: Wrench { lin: w.lin * (-damping * self.mass), ang: G::Ang::zero() },
            momentum: G::Ang::zero(),
            mass: w.lin.dot(self.gravity - lin * damping),
            gravity: w.lin * self.mass,
            resistances: [-self.mass * w.lin.dot(lin), -w.ang.dot(momentum)],
        };
        if self.turns() {
            bar.momentum = w.ang * -spin_damping;
            if self.gyroscopic {
                // w . (rate x z) = (w x rate) . z.
                bar.momentum -= cross::<G>(w.ang, rate);
                bar.velocity.ang -= cross::<G>(momentum, w.ang);
            }
            bar.velocity.ang += self.momentum(bar.momentum);
        }
        bar
    }

    /// Whether a torque acts that depends on the rate and on the inertia.
    #[inline]
    pub fn turns(&self) -> bool {
        self.gyroscopic || self.resistances[1] != 0.0
    }

    #[inline]
    fn momentum(&self, rate: G::Ang) -> G::Ang {
        G::inertia_apply(self.inertia, rate)
    }
}

/// The mean velocity v of a move over which what resists at v itself acts for a time s: v = u + s M^-1 R(v), theory (13.6).
#[inline]
pub(crate) fn resisted<G: Geometry>(body: &LocalBody<G>, resistances: Resistances, s: f64, mut u: G::Lin) -> G::Lin {
    let [damping, _] = resistances;
    for axis in (0..G::DIM).filter(|&axis| body.inv_mass[axis] > 0.0) {
        u[axis] /= 1.0 + s * damping;
    }
    u
}

/// a x b of two rates, zero in the plane.
#[inline]
pub(crate) fn cross<S: Space>(a: S::Ang, b: S::Ang) -> S::Ang {
    let mut out = S::Ang::zero();
    if S::ANG == 3 {
        out[0] = a[1] * b[2] - a[2] * b[1];
        out[1] = a[2] * b[0] - a[0] * b[2];
        out[2] = a[0] * b[1] - a[1] * b[0];
    }
    out
}
