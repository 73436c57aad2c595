//! Springs and soft rows, theory (3.11)-(3.12).

use super::row::Row;
use carom_math::Space;

/// A spring at a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringState<S: Space> {
    /// Distance of its ends [m].
    pub length: f64,
    /// Length without force [m].
    pub rest: f64,
    /// Stiffness [N/m].
    pub stiffness: f64,
    /// Damping [N s/m].
    pub damping: f64,
    /// d length = row . v.
    pub row: Row<S>,
}

impl<S: Space> SpringState<S> {
    /// Stored energy [J], k/2 (length - rest)^2.
    pub fn energy(&self) -> f64 {
        let stretch = self.length - self.rest;
        0.5 * self.stiffness * stretch * stretch
    }
    /// Force [N] along the row at a rate of length [m/s], theory (3.11): negative pulls the ends together.
    pub fn force(&self, rate: f64) -> f64 {
        -(self.stiffness * (self.length - self.rest) + self.damping * rate)
    }
    /// The spring as a soft row for a step [s].
    pub fn softened(&self, step: f64) -> Option<SoftRow> {
        SoftRow::new(self.stiffness, self.damping, self.length - self.rest, step)
    }
}

/// A row that yields: J v + compliance lambda + bias = 0 is a spring and damper taken at the end of the step, theory (3.12).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftRow {
    /// gamma [1/kg or 1/(kg m^2)]: velocity per impulse, added to the diagonal of J M^-1 J'.
    pub compliance: f64,
    /// beta phi / h [m/s or rad/s].
    pub bias: f64,
}

impl SoftRow {
    /// Stiffness k, damping c, position error phi and step h; `None` where h (h k + c) is not positive, since nothing acts then.
    pub fn new(stiffness: f64, damping: f64, error: f64, step: f64) -> Option<Self> {
        let drag = step * stiffness + damping;
        (step > 0.0 && drag > 0.0).then(|| SoftRow { compliance: 1.0 / (step * drag), bias: stiffness * error / drag })
    }
}
