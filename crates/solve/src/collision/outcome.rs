//! How a collision ended: impulse, velocity, works, and the names of the path it took.

use nalgebra::Vector3;
use std::fmt;

/// The path of the tangential velocity during a collision, with the labels of the reference data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// The bodies were not approaching: nothing changes.
    Separating,
    /// Plane: the tangential velocity stays what it is.
    Stationary,
    /// Plane: the tangential velocity grows from the start.
    Diverging,
    /// Plane: the tangential velocity falls but does not reach zero before the end.
    ConvergingNever,
    /// Plane: the tangential velocity reaches zero.
    Converging {
        /// Whether it does so while the bodies restitute, not while they compress.
        restituting: bool,
        /// Whether friction then holds it there, (6.7).
        stable: bool,
    },
    /// Space: the tangential velocity never reaches zero.
    Slide,
    /// Space: the tangential velocity reaches zero.
    Origin {
        /// Whether it does so while the bodies restitute, not while they compress.
        restituting: bool,
        /// Whether friction then holds it there, (6.7).
        stable: bool,
    },
    /// There is no tangential velocity at the start.
    Stick {
        /// Whether friction holds it there, (6.7).
        stable: bool,
    },
}

impl Branch {
    /// The label, for example `converging_compression_stable`.
    pub fn label(self) -> &'static str {
        match self {
            Branch::Separating => "separating",
            Branch::Stationary => "stationary",
            Branch::Diverging => "diverging",
            Branch::ConvergingNever => "converging_never",
            Branch::Converging { restituting: false, stable: true } => "converging_compression_stable",
            Branch::Converging { restituting: false, stable: false } => "converging_compression_unstable",
            Branch::Converging { restituting: true, stable: true } => "converging_restitution_stable",
            Branch::Converging { restituting: true, stable: false } => "converging_restitution_unstable",
            Branch::Slide => "slide",
            Branch::Origin { restituting: false, stable: true } => "origin_compression_stable",
            Branch::Origin { restituting: false, stable: false } => "origin_compression_unstable",
            Branch::Origin { restituting: true, stable: true } => "origin_restitution_stable",
            Branch::Origin { restituting: true, stable: false } => "origin_restitution_unstable",
            Branch::Stick { stable: true } => "stick_stable",
            Branch::Stick { stable: false } => "stick_unstable",
        }
    }

    /// How a collision on this path ends.
    pub fn mode(self) -> Mode {
        match self {
            Branch::Separating => Mode::None,
            Branch::Stationary | Branch::Diverging | Branch::ConvergingNever | Branch::Slide => Mode::Slide,
            Branch::Converging { stable, .. } | Branch::Origin { stable, .. } | Branch::Stick { stable } => {
                if stable {
                    Mode::Stick
                } else {
                    Mode::Diverge
                }
            }
        }
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// How the contact point moved when the collision ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// There was no collision.
    None,
    /// It slid and never stopped sliding.
    Slide,
    /// It stopped and friction held it.
    Stick,
    /// It stopped (or started at rest) and slipped off along the diverging ray, (6.8).
    Diverge,
}

impl Mode {
    /// The label: `none`, `slide`, `stick` or `diverge`.
    pub fn label(self) -> &'static str {
        match self {
            Mode::None => "none",
            Mode::Slide => "slide",
            Mode::Stick => "stick",
            Mode::Diverge => "diverge",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// Whether the law was followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Status {
    /// The end condition (6.4) holds to the tolerance asked for.
    Resolved,
    /// The budget of integration steps ran out and the rest was closed along the direction reached; (6.4) holds, the path is approximate.
    Capped,
}

/// The result of a collision in contact space, components (tangents..., normal).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome<V> {
    /// Impulse on the first body \[N s\].
    pub impulse: V,
    /// Separation velocity afterwards [m/s].
    pub velocity: V,
    /// Work of the normal force over all compressions \[J\], <= 0.
    pub work_compression: f64,
    /// Work of the normal force over all restitutions \[J\], >= 0.
    pub work_restitution: f64,
    /// Compressions plus restitutions; at e = 0 the restitution that ends at once counts.
    pub phases: usize,
    /// The path taken.
    pub branch: Branch,
    /// How it ended.
    pub mode: Mode,
    /// Integration steps spent, accepted and rejected; 0 where the closed forms suffice.
    pub steps: usize,
    /// Whether the budget of steps sufficed.
    pub status: Status,
}

/// The result of a planar collision, components (tangent, normal).
pub type PlanarOutcome = Outcome<[f64; 2]>;

/// The result of a spatial collision, components (first tangent, second tangent, normal).
pub type SpatialOutcome = Outcome<Vector3<f64>>;

impl<V> Outcome<V> {
    /// Nothing happened.
    pub(super) fn separating(zero: V, velocity: V) -> Self {
        Outcome {
            impulse: zero,
            velocity,
            work_compression: 0.0,
            work_restitution: 0.0,
            phases: 0,
            branch: Branch::Separating,
            mode: Mode::None,
            steps: 0,
            status: Status::Resolved,
        }
    }

    /// The same result with its vectors in another type.
    pub(super) fn map<W>(self, convert: impl Fn(V) -> W) -> Outcome<W> {
        Outcome {
            impulse: convert(self.impulse),
            velocity: convert(self.velocity),
            work_compression: self.work_compression,
            work_restitution: self.work_restitution,
            phases: self.phases,
            branch: self.branch,
            mode: self.mode,
            steps: self.steps,
            status: self.status,
        }
    }
}
