//! Axis-aligned boxes.

use carom_math::{Space, Vector};

/// An axis-aligned box in the world \[m\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb<S: Space> {
    /// Least corner.
    pub min: S::Lin,
    /// Greatest corner.
    pub max: S::Lin,
}

impl<S: Space> Aabb<S> {
    /// The box of a single point.
    pub fn of_point(x: S::Lin) -> Self {
        Aabb { min: x, max: x }
    }
    /// The box of all space.
    pub fn everything() -> Self {
        let mut max = S::Lin::zero();
        for k in 0..S::DIM {
            max[k] = f64::INFINITY;
        }
        Aabb { min: -max, max }
    }
    /// The smallest box that holds both.
    pub fn union(&self, other: &Self) -> Self {
        let mut joined = *self;
        for k in 0..S::DIM {
            joined.min[k] = self.min[k].min(other.min[k]);
            joined.max[k] = self.max[k].max(other.max[k]);
        }
        joined
    }
    /// Grown by a distance on every side.
    pub fn grown(&self, by: f64) -> Self {
        let mut grown = *self;
        for k in 0..S::DIM {
            grown.min[k] -= by;
            grown.max[k] += by;
        }
        grown
    }
    /// Whether the two boxes share a point.
    pub fn overlaps(&self, other: &Self) -> bool {
        (0..S::DIM).all(|k| self.min[k] <= other.max[k] && other.min[k] <= self.max[k])
    }
    /// Whether `other` lies inside.
    pub fn contains(&self, other: &Self) -> bool {
        (0..S::DIM).all(|k| self.min[k] <= other.min[k] && other.max[k] <= self.max[k])
    }
}
