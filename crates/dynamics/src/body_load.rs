//! What acts on a body whatever it touches: weight, what resists its motion and the gyroscopic torque; value, derivative and transpose, theory (17.18).
//!
//! Every step and every road of the gradient asks here; a new law of resistance is a change of this file.

use crate::island::LocalBody;
use crate::keyed::keyed;
use carom_geometry::Geometry;
use carom_math::{Space, Twist, Vector, Wrench};

keyed! {
    /// What resists the motion of a body.
    Resistances of f64 {
        /// Linear damping [1/s].
        damping,
        /// Angular damping [1/s].
        spin_damping,
        /// Quadratic drag [kg/m]: the force -drag |v| v at the centre of mass.
        drag,
    }
}

/// How many numbers say what resists the motion of a body.
pub(crate) const RESISTANCES: usize = Resistances::KEYS.len();

/// These numbers, or changes of them, in the order of their keys.
pub(crate) type Resisting = [f64; RESISTANCES];

/// The load on one body at a velocity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLoad<G: Geometry> {
    /// Gravity [m/s^2].
    pub gravity: G::Lin,
    /// Mass \[kg\].
    pub mass: f64,
    /// Inertia in world axes.
    pub inertia: G::Inertia,
    /// What resists its motion.
    pub resistances: Resisting,
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
    pub resistances: Resisting,
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
    pub resistances: Resisting,
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
        let [damping, spin_damping, drag] = self.resistances;
        let mut out = Wrench { lin: self.twist.lin * (-damping * self.mass), ang: G::Ang::zero() };
        if drag != 0.0 {
            out.lin -= self.twist.lin * (drag * self.twist.lin.norm());
        }
        if spin_damping != 0.0 {
            out.ang = self.momentum(self.twist.ang) * -spin_damping;
        }
        out
    }

    /// How the load changes along a change of what it depends on.
    #[inline]
    pub fn along(&self, change: &LoadChange<G>) -> Wrench<G> {
        let [damping, spin_damping, drag] = self.resistances;
        let velocity = &change.velocity;
        let mut lin = velocity.lin * (-damping * self.mass) + (self.gravity - self.twist.lin * damping) * change.mass;
        lin += change.gravity * self.mass - self.twist.lin * (self.mass * change.resistances[0]);
        lin -= self.quadratic(drag, velocity.lin) + self.twist.lin * (self.twist.lin.norm() * change.resistances[2]);
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
        let [damping, spin_damping, drag] = self.resistances;
        let Twist { lin, ang: rate } = self.twist;
        let momentum = self.momentum(rate);
        let mut bar = LoadBar {
            velocity: Wrench { lin: w.lin * (-damping * self.mass) - self.quadratic(drag, w.lin), ang: G::Ang::zero() },
            momentum: G::Ang::zero(),
            mass: w.lin.dot(self.gravity - lin * damping),
            gravity: w.lin * self.mass,
            resistances: [-self.mass * w.lin.dot(lin), -w.ang.dot(momentum), -lin.norm() * w.lin.dot(lin)],
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

    /// The derivative d (|v| x + v (v . x)/|v|) of drag along a change x of v; it is symmetric, so it is its own transpose. It vanishes with v.
    #[inline]
    fn quadratic(&self, drag: f64, x: G::Lin) -> G::Lin {
        let v = self.twist.lin;
        let speed = if drag == 0.0 { 0.0 } else { v.norm() };
        if speed == 0.0 { G::Lin::zero() } else { (x * speed + v * (v.dot(x) / speed)) * drag }
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

/// The resistances of a unit of mass of a body: damping is one already.
#[inline]
pub(crate) fn per_mass([damping, spin_damping, drag]: Resisting, mass: f64) -> Resisting {
    [damping, spin_damping, drag / mass]
}

/// How [`per_mass`] changes with the resistances and the mass.
#[inline]
pub(crate) fn per_mass_along([.., drag]: Resisting, mass: f64, [damping, spin_damping, change]: Resisting, heavier: f64) -> Resisting {
    [damping, spin_damping, (change - drag / mass * heavier) / mass]
}

/// The transpose: cotangents of the resistances and of the mass.
#[inline]
pub(crate) fn per_mass_transpose([.., drag]: Resisting, mass: f64, [damping, spin_damping, w]: Resisting) -> (Resisting, f64) {
    ([damping, spin_damping, w / mass], -w * drag / (mass * mass))
}

/// Rounds of Newton's method for the speed of a body that moves along a locked axis; it falls monotonically and quadratically.
const SPEED_ROUNDS: usize = 50;

/// The mean velocity v of a move over which what resists at v itself acts for a time s: v = u + s M^-1 R(v), theory (13.21).
#[inline]
pub(crate) fn resisted<G: Geometry>(body: &LocalBody<G>, resistances: Resisting, s: f64, mut u: G::Lin) -> G::Lin {
    let [damping, _, drag] = resistances;
    let free = |axis: &usize| body.inv_mass[*axis] > 0.0;
    let mut slowing = 1.0 + s * damping;
    if drag != 0.0 {
        // Along free axes u = (a + k |v|) v, along locked ones v is given: one equation for the speed.
        let (a, k) = (slowing, s * drag / body.mass);
        let square = |axes: &dyn Fn(&usize) -> bool| (0..G::DIM).filter(axes).map(|axis| u[axis] * u[axis]).sum::<f64>();
        let (given, held) = (square(&free), square(&|axis| !free(axis)));
        // The answer without locked axes; with them it is too large, and Newton's method falls to the root of a convex function.
        let alone = 2.0 * given.sqrt() / (a + (a * a + 4.0 * k * given.sqrt()).sqrt());
        let mut speed = (held + alone * alone).sqrt();
        for _ in 0..if held > 0.0 { SPEED_ROUNDS } else { 0 } {
            let (b, rest) = (a + k * speed, speed * speed - held);
            let step = (rest * b * b - given) / (2.0 * b * (speed * b + rest * k));
            if step <= f64::EPSILON * speed || step.is_nan() {
                break;
            }
            speed -= step;
        }
        slowing += k * speed;
    }
    for axis in (0..G::DIM).filter(free) {
        u[axis] /= slowing;
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
