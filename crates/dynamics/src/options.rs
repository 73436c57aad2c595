//! The choices of a scene, one per question; the first of each is the default.

use crate::keyed::worded;
use crate::scheme::Scheme;

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

worded! {
    /// How friction follows the normal impulses of many contacts that strike at once; laws `Auto`, `Reflections` and `GaussSeidel`.
    #[derive(Default)]
    ImpactFriction {
        /// Once, after the normal impulses: it does not feed back, and the whole ends.
        #[default]
        OneWay = "one-way",
        /// Normal impulses and friction in turns until they agree; the one-way answer where they do not.
        Staggered = "staggered",
    }
}

worded! {
    /// How the complementarity problem of an island is solved.
    #[derive(Default)]
    SolverChoice {
        /// The fastest that applies, per island.
        #[default]
        Auto = "auto",
        /// Primal-dual interior point with its fallbacks.
        InteriorPoint = "interior-point",
        /// Rows inserted one at a time into the factor of the joints, in sweeps; islands without joints are solved as under `Auto`.
        Articulated = "articulated",
    }
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

worded! {
    /// How a step moves the bodies.
    #[derive(Default)]
    Integrator {
        /// Kick, move, kick: second order, keeps the energy in a band.
        #[default]
        Verlet = "verlet",
        /// Semi-implicit Euler: first order, the source's scheme.
        Euler = "euler",
        /// Midpoint rule with mean joint rows: keeps energy and momentum of a mechanism exactly, theory chapter 13.
        EnergyMomentum = "energy-momentum",
    }
}

worded! {
    /// Where `verlet` takes the gyroscopic torque of the move in space; in the plane there is none.
    #[derive(Default)]
    Gyroscopic {
        /// At the velocity before the torques of the loads act: the exact Verlet scheme.
        #[default]
        Exact = "exact",
        /// At the velocity after them, theory (13.1): same order, twice the error under a torque.
        Forward = "forward",
    }
}

worded! {
    /// What is done about bodies that would meet within the step.
    #[derive(Default)]
    TimeOfImpact {
        /// The step is cut at the time of impact.
        #[default]
        Event = "event",
        /// The step is halved until nothing overlaps, and solved anew each time.
        Halving = "halving",
        /// The same as printed in de Avila Belbute-Peres et al. 2018, A.1: the velocity of the whole step is kept while the step shrinks.
        HalvingLiteral = "halving-literal",
        /// Nothing: overlap is removed afterwards.
        Off = "off",
    }
}

worded! {
    /// What takes back the drift of joints at the end of a step.
    #[derive(Default)]
    Stabilisation {
        /// The position error itself, by Newton.
        #[default]
        Position = "position",
        /// Half a step with the change of velocity that the rows at the new pose ask for: what the authors' code does with A.7.
        Velocity = "velocity",
        /// A whole step with it, as A.7 is printed.
        VelocityLiteral = "velocity-literal",
    }
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
    /// Joints go through their matrix, also where they make a tree, and bodies with many are left whole in it: slower, the same motion; for comparison only.
    #[doc(hidden)]
    pub whole_bodies: bool,
}

impl Options {
    /// What its integrator does.
    pub(crate) fn scheme(&self) -> Scheme {
        Scheme::of(self.integrator)
    }
    /// The scheme of de Avila Belbute-Peres et al. 2018: one solve of (4.25) with the rows of the start pose, restitution inside it, and the velocity
    /// left as it comes out. Every other move is corrected until joints and contacts hold at its end.
    pub(crate) fn start_pose_only(&self) -> bool {
        let halves = matches!(self.time_of_impact, TimeOfImpact::Halving | TimeOfImpact::HalvingLiteral);
        self.scheme().one_solve() && self.impact == ImpactLaw::Newton && halves
    }
    /// Whether the move of `verlet` takes the gyroscopic torque after the kick of the loads.
    pub(crate) fn forward(&self) -> bool {
        self.scheme().kicks_again() && self.gyroscopic == Gyroscopic::Forward
    }
}
