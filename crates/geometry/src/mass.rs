//! Mass, centroid and inertia, and how the pieces of a body add up, theory (7.4).

use carom_math::{Pose, Space, Vector};

/// Mass \[kg\] (or volume at unit density), centroid \[m\] and inertia about the centroid, in the frame of the shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties<S: Space> {
    /// Mass \[kg\].
    pub mass: f64,
    /// Centroid \[m\].
    pub centre: S::Lin,
    /// Inertia about the centroid [kg m^2].
    pub inertia: S::Inertia,
}

impl<S: Space> MassProperties<S> {
    /// The same solid with its density multiplied.
    pub fn scaled(&self, factor: f64) -> Self {
        MassProperties { mass: self.mass * factor, centre: self.centre, inertia: S::inertia_scale(self.inertia, factor) }
    }
    /// The same solid placed by a pose.
    pub fn placed(&self, pose: &Pose<S>) -> Self {
        MassProperties { mass: self.mass, centre: pose.point(self.centre), inertia: S::inertia_world(self.inertia, pose.rotation) }
    }
    /// Two solids as one: masses add, inertias add about the common centroid (parallel axes).
    pub fn plus(&self, other: &Self) -> Self {
        let mass = self.mass + other.mass;
        let centre = (self.centre * self.mass + other.centre * other.mass) * (1.0 / mass);
        let part = |p: &Self| S::inertia_sum(p.inertia, S::inertia_of_point(p.mass, p.centre - centre));
        MassProperties { mass, centre, inertia: S::inertia_sum(part(self), part(other)) }
    }
    /// Nothing.
    pub fn zero() -> Self {
        MassProperties { mass: 0.0, centre: S::Lin::zero(), inertia: S::inertia_zero() }
    }
}
