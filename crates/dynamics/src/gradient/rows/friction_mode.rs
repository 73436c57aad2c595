//! What the friction of a contact does: it sticks, slides against its slip on the round cone, or works on a corner or a side of a pyramid,
//! theory (17.16) and (17.45).

use crate::options::FrictionCone;
use carom_geometry::Geometry;
use carom_solve::status::{side_frame, side_of};

/// A friction impulse within this fraction of its bound slides.
pub(crate) const AT_THE_BOUND: f64 = 1e-9;

/// An impulse within this fraction of its bound, or a slip slower than this fraction of the velocities, is near the switch.
pub(crate) const NEAR_THE_BOUND: f64 = 1e-6;

/// What friction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrictionMode {
    /// No slip; also where there is no friction at all.
    Sticks,
    /// Against the slip with all it has, on the round cone or in the plane.
    Slides,
    /// At a corner of the pyramid of so many edges, whatever the slip.
    Corner(usize, usize),
    /// On a side of the pyramid of so many edges, between two corners: nothing slips along it.
    Side(usize, usize),
}

impl FrictionMode {
    /// Of the impulses of a contact, normal first.
    pub fn of<G: Geometry>(impulses: &[f64; 3], friction: f64, cone: FrictionCone) -> Self {
        let bound = friction * impulses[0];
        if friction <= 0.0 {
            return FrictionMode::Sticks;
        }
        let FrictionCone::Polyhedral(edges) = cone else { return Self::round(impulses, bound) };
        if G::TANGENTS == 1 {
            return Self::round(impulses, bound);
        }
        let pull = [impulses[1], impulses[2]];
        let side = side_of(pull, edges);
        let [height, foot] = on_side(pull, side, edges);
        let (depth, half_side) = measures(edges);
        if height < depth * bound * (1.0 - AT_THE_BOUND) {
            FrictionMode::Sticks
        } else if foot.abs() < half_side * bound * (1.0 - AT_THE_BOUND) {
            FrictionMode::Side(side, edges)
        } else {
            FrictionMode::Corner(if foot > 0.0 { (side + 1) % edges } else { side }, edges)
        }
    }

    fn round(impulses: &[f64; 3], bound: f64) -> Self {
        let size = impulses[1].hypot(impulses[2]);
        if size >= bound * (1.0 - AT_THE_BOUND) { FrictionMode::Slides } else { FrictionMode::Sticks }
    }

    /// Whether it is about to do something else: an impulse near its bound with a slip below `slow` [m/s].
    pub fn near(self, impulses: &[f64; 3], friction: f64, slip: [f64; 2], slow: f64, cone: FrictionCone) -> bool {
        let bound = friction * impulses[0];
        let pull = [impulses[1], impulses[2]];
        let still = slip[0].hypot(slip[1]) <= slow;
        match (self, cone) {
            (FrictionMode::Sticks, FrictionCone::Polyhedral(edges)) => {
                let [height, _] = on_side(pull, side_of(pull, edges), edges);
                still && height >= measures(edges).0 * bound * (1.0 - NEAR_THE_BOUND)
            }
            (FrictionMode::Side(side, edges), _) => {
                let [_, foot] = on_side(pull, side, edges);
                let [_, drift] = on_side(slip, side, edges);
                still || (foot.abs() >= measures(edges).1 * bound * (1.0 - NEAR_THE_BOUND) && drift.abs() <= slow)
            }
            (FrictionMode::Corner(corner, edges), _) => {
                let drifts = [corner, (corner + edges - 1) % edges].map(|side| on_side(slip, side, edges)[1].abs());
                drifts.iter().any(|drift| *drift <= slow)
            }
            _ => still && pull[0].hypot(pull[1]) >= bound * (1.0 - NEAR_THE_BOUND),
        }
    }
}

/// Height over the middle and way along a side of the polygon.
fn on_side(point: [f64; 2], side: usize, edges: usize) -> [f64; 2] {
    let (outward, along) = side_frame(side, edges);
    [outward, along].map(|axis| axis[0] * point[0] + axis[1] * point[1])
}

/// How far the sides of the unit polygon are from its middle, and half their length.
pub(crate) fn measures(edges: usize) -> (f64, f64) {
    let half_angle = std::f64::consts::PI / edges as f64;
    (half_angle.cos(), half_angle.sin())
}
