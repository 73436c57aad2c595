//! What can go wrong: in the description of a model, and in a step.

use std::fmt;

/// A model that cannot be built; names the body, joint, pair or force and what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelError {
    /// Which part: `body "rod"`, `joint "hip"`, `tolerances`.
    pub part: String,
    /// Which property of it, as in the scene file; may be empty.
    pub key: String,
    /// What was found and what is allowed.
    pub message: String,
}

impl ModelError {
    /// An error about a property of a part.
    pub fn new(part: impl Into<String>, key: impl Into<String>, message: impl Into<String>) -> Self {
        ModelError { part: part.into(), key: key.into(), message: message.into() }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            write!(f, "{}: {}", self.part, self.message)
        } else {
            write!(f, "{}, {}: {}", self.part, self.key, self.message)
        }
    }
}

impl std::error::Error for ModelError {}

/// A stage of the step, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// 1: pairs, gaps, normals, islands.
    Contacts,
    /// 2: velocities jump.
    Impact,
    /// 3: loads act.
    Predict,
    /// 4: rows and targets.
    Constraints,
    /// 5: the complementarity problem.
    Solve,
    /// 6: bodies move.
    Integrate,
    /// 7: second kick, projection.
    Finish,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Stage::Contacts => "contacts",
            Stage::Impact => "impact",
            Stage::Predict => "predict",
            Stage::Constraints => "constraints",
            Stage::Solve => "solve",
            Stage::Integrate => "integrate",
            Stage::Finish => "finish",
        };
        f.write_str(name)
    }
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// A value of this body stopped being a finite number.
    NotFinite {
        /// Name of the body.
        body: String,
    },
    /// A solve ended above its tolerance.
    NoConvergence {
        /// Iterations spent.
        iterations: usize,
        /// Residual reached [m/s].
        residual: f64,
        /// Residual wanted [m/s].
        wanted: f64,
    },
    /// A joint is open and no displacement closes it: its parts were put where they cannot meet, or were torn apart.
    JointOpen {
        /// Name of the joint.
        joint: String,
        /// How far it is open \[m or rad\].
        gap: f64,
    },
    /// A limit or a rope is passed and no displacement brings the joint back within it.
    LimitPassed {
        /// Name of the joint.
        joint: String,
        /// How far it is passed \[m or rad\].
        beyond: f64,
    },
    /// A body turns so fast that the step cannot be followed.
    TooFast {
        /// Name of the body.
        body: String,
        /// How far it, or a rod that it holds, would turn in what is left of the step \[rad\].
        turn: f64,
        /// How far at most \[rad\].
        most: f64,
    },
    /// The step was cut into too many substeps.
    TooManySubsteps {
        /// Substeps taken.
        substeps: usize,
        /// What is left of the step \[s\].
        left: f64,
    },
    /// An array handed in has the wrong length.
    WrongLength {
        /// What it is.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length needed.
        wanted: usize,
    },
    /// The states of a run do not fit the memory.
    TooManySteps {
        /// Steps asked for.
        steps: usize,
    },
    /// The caller asked to stop.
    Stopped,
}

/// A step that could not be completed; the state is left as it was before it.
#[derive(Clone, Debug, PartialEq)]
pub struct StepError {
    /// Where.
    pub stage: Stage,
    /// Simulated time at which the step began \[s\].
    pub time: f64,
    /// Why.
    pub cause: Cause,
}
impl StepError {
    /// An array of the caller has the wrong length.
    pub(crate) fn wrong_length(what: &'static str, found: usize, wanted: usize, time: f64) -> Self {
        StepError { stage: Stage::Predict, time, cause: Cause::WrongLength { what, found, wanted } }
    }
    /// A run that ends before its first or its next step.
    pub(crate) fn unfinished(cause: Cause, time: f64) -> Self {
        StepError { stage: Stage::Predict, time, cause }
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step at t = {} s, {}: ", self.time, self.stage)?;
        match &self.cause {
            Cause::NotFinite { body } => write!(f, "body \"{body}\" is no longer finite"),
            Cause::NoConvergence { iterations, residual, wanted } => {
                write!(f, "no convergence after {iterations} iterations: residual {residual:.3e}, wanted {wanted:.1e}")
            }
            Cause::JointOpen { joint, gap } => write!(f, "joint \"{joint}\" is open by {gap:.3e} and cannot be closed"),
            Cause::LimitPassed { joint, beyond } => {
                write!(f, "joint \"{joint}\" is beyond its limit by {beyond:.3e} and cannot be brought back")
            }
            Cause::TooFast { body, turn, most } => {
                write!(f, "body \"{body}\" would turn {turn:.3e} rad in the rest of the step, at most {most:.3e} can be followed")
            }
            Cause::TooManySubsteps { substeps, left } => write!(f, "{left:.3e} s of the step are left after {substeps} substeps"),
            Cause::WrongLength { what, found, wanted } => write!(f, "{what} has length {found}, needed {wanted}"),
            Cause::TooManySteps { steps } => write!(f, "the states of {steps} steps do not fit the memory"),
            Cause::Stopped => f.write_str("stopped by the caller"),
        }
    }
}

impl std::error::Error for StepError {}
