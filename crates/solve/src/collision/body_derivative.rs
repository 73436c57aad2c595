//! The derivative of a collision of two bodies with respect to everything it is made of, theory (16.22)-(16.25).

use super::body::{Contact, Mobility, Side};
use super::derivative::{CollisionDerivative, CollisionSwitches, differentiate_contact_under};
use super::error::CollisionError;
use super::law::Terms;
use carom_math::{Space, Vector};

/// A square of angular components; in the plane the first entry counts.
type Square = [[f64; 3]; 3];

/// Cotangents of the velocities that two bodies have after their collision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyCotangents<S: Space> {
    /// Of the velocity of a.
    pub velocity_a: S::Lin,
    /// Of the spin of a.
    pub spin_a: S::Ang,
    /// Of the velocity of b.
    pub velocity_b: S::Lin,
    /// Of the spin of b.
    pub spin_b: S::Ang,
}

/// Cotangents of one side's arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideCotangents<S: Space> {
    /// Of the mass; 0 for an immovable body.
    pub mass: f64,
    /// Of the inertia by rows, symmetric; in the plane the first entry counts.
    pub inertia: [[f64; 3]; 3],
    /// Of the arm.
    pub arm: S::Lin,
    /// Of the velocity before.
    pub velocity: S::Lin,
    /// Of the spin before.
    pub spin: S::Ang,
}

/// The derivative of [`collide_under`](super::collide_under), ready to be applied.
pub struct BodyDerivative<S: Space> {
    contact: Contact<S>,
    sides: [Side<S>; 2],
    law: CollisionDerivative,
}

/// Differentiates the collision of two bodies; the arguments are those of [`collide_under`](super::collide_under).
///
/// # Errors
/// As [`collide`](super::collide).
pub fn differentiate_bodies<S: Space>(
    a: &Side<S>,
    b: &Side<S>,
    normal: S::Lin,
    terms: &Terms,
) -> Result<BodyDerivative<S>, CollisionError> {
    let contact = Contact::between(a, b, normal, terms)?;
    let law = differentiate_contact_under::<S>(&contact.k, terms, contact.u)?;
    Ok(BodyDerivative { contact, sides: [*a, *b], law })
}

impl<S: Space> BodyDerivative<S> {
    /// Which borders are near.
    pub fn switches(&self) -> CollisionSwitches {
        self.law.switches
    }

    /// Cotangents of both sides, of the normal (across it), of restitution and of friction.
    pub fn adjoint(&self, bar: &BodyCotangents<S>) -> Adjoint<S> {
        let n = S::DIM;
        let Contact { a, b, axes, .. } = &self.contact;
        let mobilities = [a, b];
        let bars = [(bar.velocity_a, bar.spin_a), (bar.velocity_b, bar.spin_b)];
        let mut impulse = S::Lin::zero();
        for i in 0..n {
            impulse += axes[i] * self.law.impulse[i];
        }
        // The kick takes the impulse to a and its opposite to b, (16.22).
        let mut shares = [Share::<S>::zero(), Share::zero()];
        let mut impulse_bar = S::Lin::zero();
        for (i, sign) in [(0, 1.0), (1, -1.0)] {
            let (m, (velocity_bar, spin_bar)) = (mobilities[i], bars[i]);
            let answer = S::inertia_apply(m.inv_inertia, spin_bar);
            impulse_bar += (velocity_bar * m.inv_mass + S::spin(answer, m.arm)) * sign;
            shares[i].inv_mass += sign * velocity_bar.dot(impulse);
            shares[i].add_inv_inertia(spin_bar, S::torque(m.arm, impulse), sign);
            shares[i].arm -= S::spin(answer, impulse) * sign;
        }
        // The law, in the axes of the contact, (16.23).
        let mut law_bar = [0.0; 3];
        (0..n).for_each(|i| law_bar[i] = axes[i].dot(impulse_bar));
        let change = self.law.adjoint(law_bar);
        let separation = self.sides[0].contact_velocity() - self.sides[1].contact_velocity();
        let mut separation_bar = S::Lin::zero();
        (0..n).for_each(|i| separation_bar += axes[i] * change.velocity[i]);
        // The separation velocity is that of a minus that of b; the mobilities add.
        for (i, sign) in [(0, 1.0), (1, -1.0)] {
            shares[i].arm -= S::spin(self.sides[i].spin, separation_bar) * sign;
            for j in 0..n {
                shares[i].inv_mass += change.matrix[j][j];
                let torque = S::torque(mobilities[i].arm, axes[j]);
                for k in 0..n {
                    let weight = change.matrix[j][k];
                    let other = S::torque(mobilities[i].arm, axes[k]);
                    shares[i].add_inv_inertia(torque, other, weight);
                    shares[i].arm -= S::spin(S::inertia_apply(mobilities[i].inv_inertia, other), axes[j]) * (2.0 * weight);
                }
            }
        }
        // The axes turn with the normal: the tangents by what it takes to stay across it, (16.24).
        let mut axes_bar = [S::Lin::zero(); 3];
        for i in 0..n {
            axes_bar[i] = impulse_bar * self.law.impulse[i] + separation * change.velocity[i];
            for j in 0..n {
                axes_bar[i] += (a.yields(axes[j]) + b.yields(axes[j])) * (2.0 * change.matrix[i][j]);
            }
        }
        let normal = axes[n - 1];
        let mut normal_bar = axes_bar[n - 1] - normal * normal.dot(axes_bar[n - 1]);
        for i in 0..n - 1 {
            normal_bar -= axes[i] * axes_bar[i].dot(normal);
        }
        let side = |i: usize, sign: f64| {
            let (velocity_bar, spin_bar) = bars[i];
            let (mass, inertia) = shares[i].of_mass_and_inertia(mobilities[i]);
            SideCotangents {
                mass,
                inertia,
                arm: shares[i].arm,
                velocity: velocity_bar + separation_bar * sign,
                spin: spin_bar + S::torque(self.sides[i].arm, separation_bar) * sign,
            }
        };
        Adjoint { a: side(0, 1.0), b: side(1, -1.0), normal: normal_bar, restitution: change.restitution, friction: change.friction }
    }
}

/// Cotangents of every argument of a collision of two bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjoint<S: Space> {
    /// Of side a.
    pub a: SideCotangents<S>,
    /// Of side b.
    pub b: SideCotangents<S>,
    /// Of the normal, across it: its length is one whatever is given.
    pub normal: S::Lin,
    /// Of the coefficient of restitution.
    pub restitution: f64,
    /// Of the coefficient of friction.
    pub friction: f64,
}

/// Cotangents of what makes a body yield.
struct Share<S: Space> {
    inv_mass: f64,
    inv_inertia: Square,
    arm: S::Lin,
}

impl<S: Space> Share<S> {
    fn zero() -> Self {
        Share { inv_mass: 0.0, inv_inertia: [[0.0; 3]; 3], arm: S::Lin::zero() }
    }

    /// Adds the symmetric part of weight times x y'.
    fn add_inv_inertia(&mut self, x: S::Ang, y: S::Ang, weight: f64) {
        for i in 0..S::ANG {
            for j in 0..S::ANG {
                self.inv_inertia[i][j] += 0.5 * weight * (x[i] * y[j] + x[j] * y[i]);
            }
        }
    }

    /// Of mass and inertia: the derivative of an inverse, (16.25).
    fn of_mass_and_inertia(&self, mobility: &Mobility<S>) -> (f64, Square) {
        // -X B X for X = I^-1, applied to the columns of B and then to those of what is left, both symmetric.
        let across = |matrix: Square| {
            let mut out = [[0.0; 3]; 3];
            for j in 0..S::ANG {
                let mut column = S::Ang::zero();
                (0..S::ANG).for_each(|i| column[i] = matrix[i][j]);
                let applied = S::inertia_apply(mobility.inv_inertia, column);
                // Written transposed, so that the second pass works on the other side.
                (0..S::ANG).for_each(|i| out[j][i] = applied[i]);
            }
            out
        };
        let inertia = across(across(self.inv_inertia)).map(|row| row.map(|x| -x));
        (-self.inv_mass * mobility.inv_mass * mobility.inv_mass, inertia)
    }
}
