//! The impulses of an impact law as a function of its inputs, differentiated along the sequence that it took, theory (17.21).

use super::record::Strike;
use crate::impact::{COLLISION_TOLERANCE, gauss_seidel_order};
use crate::options::{FrictionCone, ImpactLaw};
use carom_geometry::Geometry;
use carom_solve::impact::derivative::{ImpactChange, ImpactDerivative, ImpactInput};
use carom_solve::impact::{self, ContactSpace, Friction, GramView, Law, Restitution, Settings, Status};
use carom_solve::problem::Cone;

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
pub(crate) fn jacobian<G: Geometry>(strike: &Strike<G>, cone: FrictionCone) -> LawJacobian {
    let (n, m) = (strike.impulses.len(), strike.contacts.len());
    let mut out = LawJacobian {
        by_speed: Vec::with_capacity(n * n),
        by_gram: Vec::with_capacity(n * n * n),
        by_friction: Vec::with_capacity(n * m),
        by_restitution: Vec::with_capacity(n * m),
        switches: 0,
    };
    let mut derivative = ImpactDerivative::new();
    out.switches = prepare(&mut derivative, strike, cone).unwrap_or(1);
    // One row per impulse: the answer to its own cotangent.
    let mut unit = vec![0.0; n];
    let mut bar = ImpactChange::zero(m, n);
    for row in 0..n {
        unit[row] = 1.0;
        derivative.adjoint(&unit, &mut bar);
        unit[row] = 0.0;
        out.by_speed.extend_from_slice(&bar.approach);
        out.by_gram.extend_from_slice(&bar.matrix);
        out.by_friction.extend_from_slice(&bar.friction);
        out.by_restitution.extend_from_slice(&bar.restitution);
    }
    out
}

/// Takes the law once more and readies its derivative; returns how many switches are near.
fn prepare<G: Geometry>(derivative: &mut ImpactDerivative, strike: &Strike<G>, cone: FrictionCone) -> Option<usize> {
    let input = ImpactInput {
        contacts: strike.contacts.len(),
        matrix: &strike.gram,
        approach: &strike.approach,
        restitution: &strike.restitution,
        friction: &strike.friction,
    };
    let law = match strike.law {
        _ if !strike.sequence.is_empty() => {
            return derivative.prepare_sequence(&input, &strike.sequence, COLLISION_TOLERANCE).map(|s| s.total());
        }
        ImpactLaw::Newton => {
            let cone = match cone {
                FrictionCone::Round => Cone::Round,
                FrictionCone::Polyhedral(edges) => Cone::Polyhedral(edges),
            };
            return derivative.prepare_newton(&input, cone, &strike.impulses).map(|s| s.total());
        }
        ImpactLaw::GaussSeidel(order) => gauss_seidel_order(order),
        _ => Law::Reflections,
    };
    let space =
        ContactSpace { contacts: input.contacts, gram: GramView::Dense(&strike.gram), approach: &strike.approach, speed: strike.speed };
    let friction = strike.friction.iter().any(|&mu| mu > 0.0).then_some(Friction { coefficients: &strike.friction, staggered: false });
    let settings = Settings { law, ..Settings::default() };
    let (mut work, mut record) = (impact::Workspace::new(), impact::Record::new());
    let restitution = Restitution::PerContact(&strike.restitution);
    let report = impact::resolve_observed(&space, restitution, friction, &settings, &mut work, &mut record).ok()?;
    let capped = report.status == Status::Capped;
    derivative.prepare_reflections(&input, &settings, &record, capped, &strike.impulses).map(|s| s.total())
}
