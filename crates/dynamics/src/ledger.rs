//! Where the energy goes, theory chapter 10: every line of the balance, cumulative since reset.

/// Energy that crossed each line of the ledger \[J\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Work of motors, controls, forces and kinematic bodies.
    pub work_in: f64,
    /// Lost to friction.
    pub friction_loss: f64,
    /// Lost in strikes.
    pub impact_loss: f64,
    /// Lost in slow landings held by rows.
    pub contact_loss: f64,
    /// Lost to damping.
    pub damping_loss: f64,
    /// Work of joint rows.
    pub joint_work: f64,
    /// Moved by position correction.
    pub projection: f64,
}

impl Flow {
    /// Adds another flow.
    pub fn add(&mut self, other: &Flow) {
        self.work_in += other.work_in;
        self.friction_loss += other.friction_loss;
        self.impact_loss += other.impact_loss;
        self.contact_loss += other.contact_loss;
        self.damping_loss += other.damping_loss;
        self.joint_work += other.joint_work;
        self.projection += other.projection;
    }
    /// All losses together \[J\].
    pub fn losses(&self) -> f64 {
        self.friction_loss + self.impact_loss + self.contact_loss + self.damping_loss
    }
    /// What all of it adds to the energy of the world \[J\], (10.5).
    pub fn balance(&self) -> f64 {
        self.work_in - self.losses() + self.joint_work + self.projection
    }
}

/// The balance of a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// Kinetic energy \[J\].
    pub kinetic: f64,
    /// Potential energy \[J\]: - sum m g.x over dynamic bodies.
    pub potential: f64,
    /// Energy in springs \[J\].
    pub elastic: f64,
    /// Energy that crossed each line since reset.
    pub flow: Flow,
    /// (kinetic + potential + elastic) - its start - work_in + losses - joint_work - projection: the integrator's own error \[J\].
    pub drift: f64,
    /// Largest kinetic + elastic energy seen plus all losses \[J\]: the scale against which the drift is judged.
    pub exchanged: f64,
    /// Linear momentum [kg m/s].
    pub momentum: Vec<f64>,
    /// Angular momentum about the origin [kg m^2/s].
    pub angular_momentum: Vec<f64>,
}
