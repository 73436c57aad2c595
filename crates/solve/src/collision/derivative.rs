//! The derivative of a collision at one point with respect to velocity, collision matrix, friction and restitution; theory (16.17)-(16.20).

use super::body::ContactMatrix;
use super::error::CollisionError;
use super::law::{CollisionLaw, Terms};
use super::outcome::{Branch, Mode, Outcome};
use super::planar;
use super::ray::Origin;
use super::scalar::{Dual, Scalar};
use super::spatial::{Path, STEPS_MAX, TOLERANCE_MIN, Units};
use super::{PlanarOutcome, SpatialOutcome, collide_contact_under};
use crate::contact::dense::contact_derivative::WEAK;
use carom_math::{Planar, Space, Spatial};
use nalgebra::{Matrix3, Vector2, Vector3};

/// Parameters of a planar collision: u (2), K (3), friction, restitution.
const PLANAR: usize = 7;
/// Parameters of a spatial collision: u (3), K (6), friction, restitution.
const SPATIAL: usize = 11;

/// Tolerance of the integration, at most, where derivatives are carried: their error is that of the value, over the distance on which
/// the path varies.
const TOLERANCE_MAX: f64 = 1e-11;

/// Which borders a collision is near; its derivative is one-sided there, or does not exist.
#[must_use]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollisionSwitches {
    /// The bodies hardly approach: a little less and there is no collision.
    pub grazing: bool,
    /// The collision starts without slip and friction does not hold it: the way it slips off depends on the direction of the change.
    pub rest: bool,
    /// Friction is just enough, or just not, to hold the contact, (6.7).
    pub holding: bool,
    /// The slip stops just before, or just not before, the end.
    pub stop: bool,
    /// A restitution just suffices, or just does not: the result jumps, (6.22).
    pub critical: bool,
    /// The budget of integration steps ran out.
    pub capped: bool,
}

impl CollisionSwitches {
    /// Whether any border is near.
    pub fn any(&self) -> bool {
        self.grazing || self.rest || self.holding || self.stop || self.critical || self.capped
    }
}

/// A change of the arguments of a collision, or a cotangent of them; components (tangents..., normal), in the plane the first two count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CollisionChange {
    /// Of the separation velocity [m/s].
    pub velocity: [f64; 3],
    /// Of the collision matrix [1/kg], symmetric.
    pub matrix: ContactMatrix,
    /// Of the coefficient of friction.
    pub friction: f64,
    /// Of the coefficient of restitution.
    pub restitution: f64,
}

/// The impulse of a collision and its derivative; components (tangents..., normal), in the plane the first two count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollisionDerivative {
    /// The impulse p itself \[N s\]; that of the forward solve to its tolerance.
    pub impulse: [f64; 3],
    /// Its slopes, by component: with respect to velocity, the matrix (half at each of two mirrored entries), friction and restitution.
    slopes: [CollisionChange; 3],
    /// Which borders are near.
    pub switches: CollisionSwitches,
    dimension: usize,
}

impl CollisionDerivative {
    /// Change of the impulse.
    pub fn tangent(&self, change: &CollisionChange) -> [f64; 3] {
        let n = self.dimension;
        let mut impulse = [0.0; 3];
        for (p, slope) in impulse.iter_mut().zip(&self.slopes) {
            *p = slope.friction * change.friction + slope.restitution * change.restitution;
            for i in 0..n {
                *p += slope.velocity[i] * change.velocity[i];
                for j in 0..n {
                    *p += slope.matrix[i][j] * change.matrix[i][j];
                }
            }
        }
        impulse
    }

    /// Cotangents of the arguments for that of the impulse, theory (16.20); that of the matrix is symmetric.
    pub fn adjoint(&self, impulse_bar: [f64; 3]) -> CollisionChange {
        let mut bar = CollisionChange::default();
        for (p, slope) in impulse_bar.iter().zip(&self.slopes).take(self.dimension) {
            bar.friction += p * slope.friction;
            bar.restitution += p * slope.restitution;
            for i in 0..self.dimension {
                bar.velocity[i] += p * slope.velocity[i];
                for j in 0..self.dimension {
                    bar.matrix[i][j] += p * slope.matrix[i][j];
                }
            }
        }
        bar
    }

    /// Without friction the impulse is -(1 + e) u_n / K_nn along the normal, however the bodies slip, theory (16.21): a contact that does not
    /// slip is not held either, and no border is near. What the coefficient of friction would do stays as the path has it.
    fn smooth(&mut self, mobility: f64, restitution: f64, approach: f64) {
        let normal = self.dimension - 1;
        for slope in &mut self.slopes {
            *slope = CollisionChange { friction: slope.friction, ..CollisionChange::default() };
        }
        let slope = &mut self.slopes[normal];
        slope.velocity[normal] = -(1.0 + restitution) / mobility;
        slope.matrix[normal][normal] = (1.0 + restitution) * approach / (mobility * mobility);
        slope.restitution = -approach / mobility;
        self.switches = CollisionSwitches { grazing: self.switches.grazing, ..CollisionSwitches::default() };
    }

    /// A collision that does not happen.
    fn nothing(dimension: usize, switches: CollisionSwitches) -> Self {
        CollisionDerivative { impulse: [0.0; 3], slopes: [CollisionChange::default(); 3], switches, dimension }
    }
}

/// The derivative of [`collide_contact`](super::collide_contact) with the same arguments.
///
/// # Errors
/// As [`collide_contact`](super::collide_contact).
pub fn differentiate_contact<S: Space>(
    k: &ContactMatrix,
    friction: f64,
    restitution: f64,
    u: S::Lin,
    tolerance: f64,
) -> Result<CollisionDerivative, CollisionError> {
    differentiate_contact_under::<S>(k, &Terms { friction, restitution, law: CollisionLaw::Energy, tolerance }, u)
}

/// The derivative of [`collide_contact_under`] with the same arguments.
///
/// # Errors
/// As [`collide_contact_under`].
pub fn differentiate_contact_under<S: Space>(k: &ContactMatrix, terms: &Terms, u: S::Lin) -> Result<CollisionDerivative, CollisionError> {
    let mut velocity = [0.0; 3];
    (0..S::DIM).for_each(|i| velocity[i] = u[i]);
    differentiate_under(S::DIM, k, terms, velocity)
}

/// [`differentiate_contact`] with the dimension (2 or 3) as a number; of `u` the first components count.
///
/// # Errors
/// As [`collide_contact`](super::collide_contact).
pub fn differentiate(
    dimension: usize,
    k: &ContactMatrix,
    friction: f64,
    restitution: f64,
    u: [f64; 3],
    tolerance: f64,
) -> Result<CollisionDerivative, CollisionError> {
    differentiate_under(dimension, k, &Terms { friction, restitution, law: CollisionLaw::Energy, tolerance }, u)
}

fn differentiate_under(dimension: usize, k: &ContactMatrix, terms: &Terms, u: [f64; 3]) -> Result<CollisionDerivative, CollisionError> {
    let mut found = if dimension == 2 {
        let outcome = collide_contact_under::<Planar>(k, terms, Vector2::new(u[0], u[1]))?;
        planar_derivative(k, terms, [u[0], u[1]], outcome.map(|v| [v.x, v.y]))
    } else {
        let outcome = collide_contact_under::<Spatial>(k, terms, Vector3::from(u))?;
        spatial_derivative(k, terms, Vector3::from(u), outcome)?
    };
    let Terms { friction, restitution, .. } = *terms;
    let normal = dimension - 1;
    if friction == 0.0 && found.impulse[normal] > 0.0 {
        found.smooth(k[normal][normal], restitution, u[normal]);
    }
    Ok(found)
}

/// Borders that the outcome alone tells.
fn near_borders<V>(outcome: &Outcome<V>, normal: f64, speed: f64) -> CollisionSwitches {
    CollisionSwitches {
        grazing: normal.abs() < WEAK * speed,
        rest: outcome.branch == Branch::Stick { stable: false },
        ..CollisionSwitches::default()
    }
}

/// How a path ended, for the borders that it tells.
struct Ending {
    mode: Mode,
    /// Slip and normal velocity at the end, and the speed and normal velocity at the start.
    slip: f64,
    normal: f64,
    speed: f64,
    approach: f64,
    /// Normal impulse, and that at which the slip stopped (NaN where it did not).
    impulse: f64,
    stopped_at: f64,
    /// What full restitutions left owing.
    margin: f64,
    restitution: f64,
}

impl Ending {
    fn mark(&self, switches: &mut CollisionSwitches) {
        let stopped_late = self.impulse - self.stopped_at < WEAK * self.impulse;
        switches.stop = (self.mode == Mode::Slide && self.slip < WEAK * self.speed) || stopped_late;
        // Below the jump the end speed falls with the root of the distance to it.
        let barely_ended = self.restitution > 0.0 && self.normal < WEAK.sqrt() * self.restitution * self.approach.abs();
        switches.critical = self.margin < WEAK || barely_ended;
    }
}

fn planar_derivative(k: &ContactMatrix, terms: &Terms, u: [f64; 2], outcome: PlanarOutcome) -> CollisionDerivative {
    let Terms { friction, restitution, law, .. } = *terms;
    let speed = u[0].hypot(u[1]);
    let mut switches = near_borders(&outcome, u[1], speed);
    if outcome.branch == Branch::Separating {
        return CollisionDerivative::nothing(2, switches);
    }
    let parameter = Dual::<PLANAR>::parameter;
    let (a, b, d) = (parameter(k[0][0], 2), parameter(k[0][1], 3), parameter(k[1][1], 4));
    let (path, branch) =
        planar::run([[a, b], [b, d]], parameter(friction, 5), parameter(restitution, 6), law, [parameter(u[0], 0), parameter(u[1], 1)]);
    let met_rest = !matches!(branch, Branch::Diverging | Branch::Stationary | Branch::ConvergingNever);
    switches.holding = met_rest && (k[0][1].abs() - friction * k[0][0]).abs() < WEAK * (k[0][1].abs() + friction * k[0][0]);
    let ending = Ending {
        mode: branch.mode(),
        slip: path.tangential.value.abs(),
        normal: path.progress.normal_speed.value,
        speed,
        approach: u[1],
        impulse: path.impulse[1].value,
        stopped_at: path.stopped_at,
        margin: path.progress.margin,
        restitution,
    };
    ending.mark(&mut switches);
    let mut result = CollisionDerivative::nothing(2, switches);
    for (i, p) in path.impulse.iter().enumerate() {
        let s = p.slope;
        result.impulse[i] = p.value;
        result.slopes[i] = CollisionChange {
            velocity: [s[0], s[1], 0.0],
            matrix: [[s[2], s[3] / 2.0, 0.0], [s[3] / 2.0, s[4], 0.0], [0.0; 3]],
            friction: s[5],
            restitution: s[6],
        };
    }
    result
}

fn spatial_derivative(
    k: &ContactMatrix,
    terms: &Terms,
    u: Vector3<f64>,
    outcome: SpatialOutcome,
) -> Result<CollisionDerivative, CollisionError> {
    let Terms { friction, restitution, law, tolerance } = *terms;
    let speed = u.norm();
    let mut switches = near_borders(&outcome, u.z, speed);
    if outcome.branch == Branch::Separating {
        return Ok(CollisionDerivative::nothing(3, switches));
    }
    let matrix = Matrix3::from_fn(|i, j| k[i][j]);
    let units = Units::of(&matrix, u);
    let scaled = matrix / units.mobility;
    let origin = units.origin(&scaled)?;
    // Parameters in scaled units: u, K by its upper triangle, friction, restitution.
    let parameter = Dual::<SPATIAL>::parameter;
    let entry = |i: usize, j: usize, index: usize| parameter(scaled[(i, j)], index);
    let (xx, xy, xz, yy, yz, zz) = (entry(0, 0, 3), entry(0, 1, 4), entry(0, 2, 5), entry(1, 1, 6), entry(1, 2, 7), entry(2, 2, 8));
    let start = [0, 1, 2].map(|i| parameter(u[i] / units.speed, i));
    let (mu, e) = (parameter(friction, 9), parameter(restitution, 10));
    let rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    let mut path = Path::new(rows, origin, mu, e, start, tolerance.clamp(TOLERANCE_MIN, TOLERANCE_MAX), law);
    let branch = path.run(STEPS_MAX);
    switches.capped = path.status == super::Status::Capped;
    let met_rest = branch != Branch::Slide;
    switches.holding = met_rest && near_holding(&origin, friction);
    // Scaled units serve: every test is relative.
    let p = path.impulse;
    let slip = [0, 1].map(|i| start[i].value + (0..3).map(|j| rows[i][j].value * p[j].value).sum::<f64>());
    let ending = Ending {
        mode: branch.mode(),
        slip: slip[0].hypot(slip[1]),
        normal: path.progress.normal_speed.value(),
        speed: speed / units.speed,
        approach: u.z / units.speed,
        impulse: p[2].value,
        stopped_at: path.stopped_at,
        margin: path.progress.margin,
        restitution,
    };
    ending.mark(&mut switches);
    let mut result = CollisionDerivative::nothing(3, switches);
    let momentum = units.speed / units.mobility;
    for (i, p) in p.iter().enumerate() {
        let s = p.slope;
        let along = |index: usize| s[index] * momentum / units.speed;
        let whole = |index: usize| s[index] * momentum / units.mobility;
        let half = |index: usize| whole(index) / 2.0;
        result.impulse[i] = p.value * momentum;
        result.slopes[i] = CollisionChange {
            velocity: [along(0), along(1), along(2)],
            matrix: [[whole(3), half(4), half(5)], [half(4), whole(6), half(7)], [half(5), half(7), whole(8)]],
            friction: s[9] * momentum,
            restitution: s[10] * momentum,
        };
    }
    Ok(result)
}

/// Whether friction only just holds a contact at rest, or only just does not, (6.7).
fn near_holding(origin: &Origin, friction: f64) -> bool {
    origin.leave(friction * (1.0 - WEAK)).stable != origin.leave(friction * (1.0 + WEAK)).stable
}
