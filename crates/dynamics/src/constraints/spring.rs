//! Springs, theory (3.11).

use super::row::Row;
use carom_math::Space;

/// A spring at a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringState<S: Space> {
    /// Distance of its ends \[m\].
    pub length: f64,
    /// Length without force \[m\].
    pub rest: f64,
    /// Stiffness [N/m].
    pub stiffness: f64,
    /// Damping [N s/m].
    pub damping: f64,
    /// d length = row . v.
    pub row: Row<S>,
}

impl<S: Space> SpringState<S> {
    /// Stored energy \[J\], k/2 (length - rest)^2.
    pub fn energy(&self) -> f64 {
        let stretch = self.length - self.rest;
        0.5 * self.stiffness * stretch * stretch
    }
    /// Force \[N\] along the row at a rate of length [m/s], theory (3.11): negative pulls the ends together.
    pub fn force(&self, rate: f64) -> f64 {
        -(self.stiffness * (self.length - self.rest) + self.damping * rate)
    }
}
