//! What a step did, counted.

/// Counts and flags of one step of an island.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IslandReport {
    /// Substeps taken.
    pub substeps: usize,
    /// Times of impact the step was cut at.
    pub events: usize,
    /// Impact problems resolved.
    pub impacts: usize,
    /// Reflections or collisions inside them.
    pub impact_iterations: usize,
    /// Solves of the complementarity problem, or of the joints where there are no other rows.
    pub solves: usize,
    /// The solves of the island that had most: a step of many islands costs what all of them do, but each has its own.
    pub island_solves: usize,
    /// Back-substitutions besides: other targets, but the modes and the factor of the solve before.
    pub substitutions: usize,
    /// Of both, those that missed a law by more than 1e-8 m/s.
    pub rough: usize,
    /// Factorisations inside the solves.
    pub factorisations: usize,
    /// Iterations inside them.
    pub iterations: usize,
    /// Of them, those solved by sweeps along the joints.
    pub swept: usize,
    /// Joint rows that depend on others and were dropped, the most at any pose; `World::redundant_joints` names them.
    pub redundant: usize,
    /// Rounds of the joint and contact correction.
    pub corrections: usize,
    /// Largest complementarity residual [m/s].
    pub residual: f64,
    /// Largest joint error at the end of a substep \[m or rad\].
    pub joint_error: f64,
    /// Contacts at the end of the step.
    pub contacts: usize,
    /// Moves that were stepped: what may be spent on events was, and impacts of the rest of the step are put at its end.
    pub stepped: usize,
    /// An impact problem reached its cap.
    pub impact_capped: bool,
    /// A solve ended above its tolerance.
    pub inaccurate: bool,
    /// A spring was so stiff that it became a soft row.
    pub soft_spring: bool,
    /// The substep could not be made short enough for the joint correction to converge.
    pub unconverged: bool,
    /// The gyroscopic torque at the end of a move was not found with the impulses there: it is that of the velocity predicted for it.
    pub gyroscopic: bool,
    /// Positions were projected.
    pub projected: bool,
    /// The state started wrong and was put right before it moved; `World::placement` says what was.
    pub placed: bool,
}

impl IslandReport {
    /// The report of so many islands that went like this one.
    pub(crate) fn times(&self, count: usize) -> Self {
        let [substeps, solves, iterations, corrections] =
            [self.substeps, self.solves, self.iterations, self.corrections].map(|n| n * count);
        IslandReport { substeps, solves, island_solves: self.solves, iterations, corrections, ..*self }
    }
    /// Adds another island's counts.
    pub fn merge(&mut self, other: &IslandReport) {
        self.substeps += other.substeps;
        self.events += other.events;
        self.impacts += other.impacts;
        self.impact_iterations += other.impact_iterations;
        self.solves += other.solves;
        self.island_solves = self.island_solves.max(other.island_solves);
        self.substitutions += other.substitutions;
        self.rough += other.rough;
        self.factorisations += other.factorisations;
        self.iterations += other.iterations;
        self.swept += other.swept;
        self.redundant += other.redundant;
        self.corrections += other.corrections;
        self.residual = self.residual.max(other.residual);
        self.joint_error = self.joint_error.max(other.joint_error);
        self.contacts += other.contacts;
        self.stepped += other.stepped;
        self.impact_capped |= other.impact_capped;
        self.inaccurate |= other.inaccurate;
        self.soft_spring |= other.soft_spring;
        self.unconverged |= other.unconverged;
        self.gyroscopic |= other.gyroscopic;
        self.projected |= other.projected;
        self.placed |= other.placed;
    }
}
