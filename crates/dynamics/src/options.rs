//! The choices of a scene, one per question; the first of each is the default.

/// In which order pairwise reflections are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Always the violated contact of least index.
    #[default]
    Lexicographic,
    /// Sweeps over all contacts.
    Cyclic,
    /// Drawn by a counter-based generator with this seed.
    Random(u64),
    /// Always the most violated contact.
    Worst,
}

/// What happens when contacts strike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImpactLaw {
    /// The energy law for a single contact, otherwise generalised reflections with one-way friction.
    #[default]
    Auto,
    /// Generalised reflections (Vouga et al. 2017), blended restitution, one-way friction.
    Reflections,
    /// Pairwise reflections in a chosen order, blended restitution, one-way friction.
    GaussSeidel(Order),
    /// The energy law (Baber 2011) at one contact after another, worst first.
    Stronge,
    /// Newton restitution inside the dynamics problem (de Avila Belbute-Peres et al. 2018, eq. 13-14).
    Newton,
}

/// How friction follows the normal impulses of many contacts that strike at once; laws `Auto`, `Reflections` and `GaussSeidel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImpactFriction {
    /// Once, after the normal impulses: it does not feed back, and the whole ends.
    #[default]
    OneWay,
    /// Normal impulses and friction in turns until they agree; the one-way answer where they do not.
    Staggered,
}

/// How the complementarity problem of an island is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SolverChoice {
    /// The fastest that applies, per island.
    #[default]
    Auto,
    /// Primal-dual interior point with its fallbacks.
    InteriorPoint,
    /// Rows inserted one at a time into the factor of the joints, in sweeps; islands without joints are solved as under `Auto`.
    Articulated,
}

/// The shape of the friction cone in space; in the plane friction is exact either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrictionCone {
    /// The round cone.
    #[default]
    Round,
    /// A pyramid with an even number of directions, at least 4.
    Polyhedral(usize),
}

/// How a step moves the bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrator {
    /// Kick, move, kick: second order, keeps the energy in a band.
    #[default]
    Verlet,
    /// Semi-implicit Euler: first order, the source's scheme.
    Euler,
    /// Midpoint rule with mean joint rows: keeps energy and momentum of a mechanism exactly, theory chapter 13.
    EnergyMomentum,
}

/// Where `verlet` takes the gyroscopic torque of the move in space; in the plane there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gyroscopic {
    /// At the velocity before the torques of the loads act: the exact Verlet scheme.
    #[default]
    Exact,
    /// At the velocity after them, theory (13.1): same order, twice the error under a torque.
    Forward,
}

/// What is done about bodies that would meet within the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeOfImpact {
    /// The step is cut at the time of impact.
    #[default]
    Event,
    /// The step is halved until nothing overlaps, and solved anew each time.
    Halving,
    /// The same as printed in de Avila Belbute-Peres et al. 2018, A.1: the velocity of the whole step is kept while the step shrinks.
    HalvingLiteral,
    /// Nothing: overlap is removed afterwards.
    Off,
}

/// What takes back the drift of joints at the end of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stabilisation {
    /// The position error itself, by Newton.
    #[default]
    Position,
    /// Half a step with the change of velocity that the rows at the new pose ask for: what the authors' code does with A.7.
    Velocity,
    /// A whole step with it, as A.7 is printed.
    VelocityLiteral,
}

impl Stabilisation {
    /// Part of the step by which positions follow the change of velocity; none where they are projected.
    pub(crate) fn share(self) -> Option<f64> {
        match self {
            Stabilisation::Position => None,
            Stabilisation::Velocity => Some(0.5),
            Stabilisation::VelocityLiteral => Some(1.0),
        }
    }
}

/// All choices of a scene.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Impact law.
    pub impact: ImpactLaw,
    /// Friction of impacts with many contacts.
    pub impact_friction: ImpactFriction,
    /// Closing speed, over that of all bodies, up to which a contact counts as not closing in an impact; theory (5.5). 1e-10 where nothing is said.
    pub impact_tolerance: Option<f64>,
    /// Solver of the complementarity problem.
    pub solver: SolverChoice,
    /// Friction cone in space.
    pub friction_cone: FrictionCone,
    /// Integrator.
    pub integrator: Integrator,
    /// Gyroscopic torque of `verlet`.
    pub gyroscopic: Gyroscopic,
    /// Treatment of impacts within the step.
    pub time_of_impact: TimeOfImpact,
    /// What takes back the drift of joints.
    pub stabilisation: Stabilisation,
    /// Bodies with many joints are left whole in the joint matrix: slower, the same motion; for comparison only.
    #[doc(hidden)]
    pub whole_bodies: bool,
}

impl Options {
    /// The scheme of de Avila Belbute-Peres et al. 2018: one solve of (4.25) with the rows of the start pose, restitution inside it, and the velocity
    /// left as it comes out. Every other move is corrected until joints and contacts hold at its end.
    pub(crate) fn start_pose_only(&self) -> bool {
        let halves = matches!(self.time_of_impact, TimeOfImpact::Halving | TimeOfImpact::HalvingLiteral);
        self.integrator == Integrator::Euler && self.impact == ImpactLaw::Newton && halves
    }
    /// Whether the move of `verlet` takes the gyroscopic torque after the kick of the loads.
    pub(crate) fn forward(&self) -> bool {
        self.integrator == Integrator::Verlet && self.gyroscopic == Gyroscopic::Forward
    }
}
