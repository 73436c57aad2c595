//! Shapes and the questions asked of them: mass, bounds, contacts, time of impact. Knows no dynamics.
//!
//! The planar and the spatial shapes are two folders behind one trait, [`Geometry`]; everything above is written once over it.

pub mod bounds;
pub mod broadphase;
pub mod contact;
pub mod contact_jacobian;
pub mod contact_tangent;
#[cfg(test)]
mod derivative_tests;
pub mod mass;
pub mod outline;
pub mod planar;
mod raw;
pub mod ray;
mod scalar;
pub mod shape_error;
pub mod spatial;
pub mod time_of_impact;

pub use bounds::Aabb;
pub use contact::{Contact, Geometry};
pub use contact_jacobian::ContactJacobian;
pub use contact_tangent::{ContactAdjoint, ContactDerivative, ContactMotion, ContactTangent};
pub use mass::MassProperties;
pub use outline::{Faces, Outline};
pub use ray::RayHit;
