//! What tells the schemes apart: `verlet` (2.3)-(2.31), `euler` (2.32), `energy-momentum` (chapter 13). All else asks here, and a scheme is
//! added here.

use crate::options::Integrator;

/// How a substep comes to the velocities at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A second half kick by the loads at q', and a second solve.
    SecondKick,
    /// Those of the one solve, which acts over the whole move; the joints alone hold at q'.
    OneSolve,
    /// The balance of mean velocities gives them.
    Mean,
}

/// A scheme, by what the stages of a substep ask of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scheme {
    /// Part of the move over which the impulses of its solve act.
    pub share: f64,
    end: End,
}

impl Scheme {
    /// The properties of each scheme.
    pub const fn of(integrator: Integrator) -> Self {
        match integrator {
            Integrator::Verlet => Scheme { share: 0.5, end: End::SecondKick },
            Integrator::Euler => Scheme { share: 1.0, end: End::OneSolve },
            Integrator::EnergyMomentum => Scheme { share: 0.5, end: End::Mean },
        }
    }

    /// Whether loads and rows at q' kick a second time.
    pub fn kicks_again(&self) -> bool {
        self.end == End::SecondKick
    }

    /// Whether one solve makes the velocity of the move and of its end. Its gyroscopic torque is implicit: explicit over a whole step it would feed
    /// energy to a fast-spinning body until it flies apart.
    pub fn one_solve(&self) -> bool {
        self.end == End::OneSolve
    }

    /// Whether rows are mean rows, and what is solved for are mean velocities.
    pub fn by_means(&self) -> bool {
        self.end == End::Mean
    }
}

/// All schemes, for tests that hold under each.
#[cfg(test)]
pub(crate) const ALL: [Integrator; 3] = Integrator::ALL;

impl Integrator {
    /// Whether it solves for mean velocities, and keeps energy and momentum of a mechanism by them.
    pub fn by_means(self) -> bool {
        Scheme::of(self).by_means()
    }
}
