//! What ends a collision: the energy law, and the two older rules it is compared with.

use std::fmt;

/// The hypothesis that ends a collision. Without friction all three agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CollisionLaw {
    /// Stronge: the normal force gives back the share e^2 of the work it took, theory (6.4). Energy never rises.
    #[default]
    Energy,
    /// Newton: the normal velocity comes to -e times what it was, theory (6.20). With friction energy may rise.
    Newton,
    /// Poisson: the impulse of restitution is e times that of compression, theory (6.21). With friction nothing bounds the energy.
    Poisson,
}

impl CollisionLaw {
    /// All of them.
    pub const ALL: [CollisionLaw; 3] = [CollisionLaw::Energy, CollisionLaw::Newton, CollisionLaw::Poisson];

    /// The label: `energy`, `newton` or `poisson`.
    pub fn label(self) -> &'static str {
        match self {
            CollisionLaw::Energy => "energy",
            CollisionLaw::Newton => "newton",
            CollisionLaw::Poisson => "poisson",
        }
    }
}

impl fmt::Display for CollisionLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The numbers of the law of a collision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Coefficient of friction, >= 0.
    pub friction: f64,
    /// Coefficient of restitution e, 0 to 1.
    pub restitution: f64,
    /// What ends the collision.
    pub law: CollisionLaw,
    /// Relative accuracy of impulse and works in space; the plane is exact.
    pub tolerance: f64,
}

impl Terms {
    /// Under the energy law, to 1e-10.
    pub fn new(friction: f64, restitution: f64) -> Self {
        /// A tenth of what the reference data resolve in space.
        const TOLERANCE: f64 = 1e-10;
        Terms { friction, restitution, law: CollisionLaw::Energy, tolerance: TOLERANCE }
    }

    /// The same under another law.
    pub fn under(self, law: CollisionLaw) -> Self {
        Terms { law, ..self }
    }
}
