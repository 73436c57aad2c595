//! The collision of two bodies at one point: Coulomb friction and the energy law, theory chapter 6.
//!
//! The impulse grows along the normal from zero; the tangential velocity turns under friction meanwhile, may stop, and may slip off
//! again. The collision ends when the normal force has given back the share e^2 of the work it took, (6.4). In the plane every path is
//! a chain of straight pieces and the result is a closed form ([`planar`]); in space the sliding direction turns and is integrated
//! ([`spatial`]). [`collide`] takes two bodies, [`collide_contact`] a contact-space matrix, which is how joints enter.
//!
//! ```
//! use carom_solve::collision::{Side, collide};
//! use carom_math::Planar;
//! use nalgebra::{Matrix1, Vector1, Vector2};
//!
//! // A disc of 2 kg drops on the floor at 3 m/s.
//! let disc = Side::<Planar>::body(2.0, Matrix1::new(0.1), Vector2::new(0.0, -0.3), Vector2::new(0.0, -3.0), Vector1::new(0.0));
//! let floor = Side::immovable(Vector2::zeros(), Vector2::zeros(), Vector1::zeros());
//! let end = collide(&disc, &floor, Vector2::new(0.0, 1.0), 0.5, 0.3, 1e-10)?;
//! assert!((end.velocity_a.y - 1.5).abs() < 1e-12);
//! # Ok::<(), carom_solve::collision::CollisionError>(())
//! ```

mod approach;
mod body;
mod body_derivative;
mod closing;
mod derivative;
mod dormand_prince;
mod error;
mod euler;
mod events;
mod law;
mod outcome;
pub mod planar;
pub mod ray;
mod scalar;
mod sliding;
pub mod spatial;
#[cfg(test)]
mod tests;
mod trace;

pub use body::{
    Collision, ContactMatrix, Side, Way, collide, collide_contact, collide_contact_under, collide_under, contact_matrix, trace_contact,
};
pub use body_derivative::{Adjoint, BodyCotangents, BodyDerivative, SideCotangents, differentiate_bodies};
pub use derivative::{
    CollisionChange, CollisionDerivative, CollisionSwitches, differentiate, differentiate_contact, differentiate_contact_under,
};
pub use error::CollisionError;
pub use euler::{EndTest, collide_euler};
pub use law::{CollisionLaw, Terms};
pub use outcome::{Branch, Mode, Outcome, PlanarOutcome, SpatialOutcome, Status};
pub use planar::collide_planar;
pub use spatial::collide_spatial;
pub use trace::PathPoint;
