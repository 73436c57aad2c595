//! The spatial collision: sliding integrated with located events, then closed along a ray, theory (6.11)-(6.16).

use super::closing::APPROACH_ANGLE;
use super::dormand_prince::{State, Step};
use super::error::CollisionError;
use super::outcome::{Branch, Mode, Outcome, SpatialOutcome, Status};
use super::planar::STILL;
use super::ray::{MOBILITY_MIN, Origin, Progress};
use super::sliding::{ACROSS, ALONG, COS, IMPULSE, LOG, NORMAL, SIN, Sliding, WORK};
use nalgebra::{Matrix3, Vector3};

/// Integration steps allowed, accepted and rejected; some tens are usual. Past them the rest is closed along the direction reached.
pub const STEPS_MAX: usize = 10_000;

/// The finest tolerance honoured: below it rounding in a step outweighs its truncation error.
pub const TOLERANCE_MIN: f64 = 1e-13;

/// Truncation error allowed per step, as a multiple of the tolerance: the estimate is that of the fourth-order companion and exceeds
/// the error of the fifth-order result, which is kept, by more than this factor.
const ESTIMATE_EXCESS: f64 = 2.0;

/// First step, as a turn of the direction [rad] at unit tolerance; the exponent is that of the error estimate.
const FIRST_STEP: f64 = 5.0;

/// The error estimate is of fifth order in the step.
const ESTIMATE_EXPONENT: f64 = 1.0 / 5.0;

/// Step control aims below the allowance by this factor, so that most steps pass.
const CONTROL_SAFETY: f64 = 0.9;

/// Limits of the change of step length.
const CONTROL_RANGE: [f64; 2] = [0.2, 5.0];

/// Longest step relative to the rates of turn and decay: beyond it the method nears its limit of stability and the estimate says little.
const STEP_RATE_MAX: f64 = 1.0;

/// M counts as well conditioned for removing the last tangential velocity above this ratio of its eigenvalues.
const STOPPING_RATIO: f64 = 1e-6;

/// A spatial collision in contact space, components (first tangent, second tangent, normal).
///
/// `k`: symmetric positive definite collision matrix [1/kg]; `u`: separation velocity [m/s]; `friction` >= 0; `restitution` in 0..1;
/// `tolerance`: relative accuracy of impulse and works. Of the arguments only K is checked;
/// [`collide_contact`](super::collide_contact) checks the others.
///
/// # Errors
/// [`CollisionError::Locked`] when the normal velocity cannot change without slip, (6.19).
pub fn collide_spatial(
    k: Matrix3<f64>,
    friction: f64,
    restitution: f64,
    u: Vector3<f64>,
    tolerance: f64,
) -> Result<SpatialOutcome, CollisionError> {
    collide_within(k, friction, restitution, u, tolerance, STEPS_MAX)
}

/// [`collide_spatial`] with a budget of steps.
pub(super) fn collide_within(
    k: Matrix3<f64>,
    friction: f64,
    restitution: f64,
    u: Vector3<f64>,
    tolerance: f64,
    budget: usize,
) -> Result<SpatialOutcome, CollisionError> {
    if u.z >= 0.0 {
        return Ok(Outcome::separating(Vector3::zeros(), u));
    }
    // Units in which mobility and velocity are of order one; powers of two, so that scaling is exact.
    let (mobility, speed) = (power_of_two(k.m11 + k.m22 + k.m33), power_of_two(u.amax()));
    let k = k / mobility;
    let u = u / speed;
    let origin = Origin::new(&k);
    let held = origin.held_mobility();
    if held.is_nan() || held <= MOBILITY_MIN * k.m33 {
        return Err(CollisionError::Locked { mobility: held * mobility, scale: k.m33 * mobility });
    }
    let mut path = Path::new(&k, origin, friction, restitution, u, tolerance.max(TOLERANCE_MIN));
    let branch = path.run(budget);
    let impulse = Vector3::from(path.impulse);
    let mut velocity = u + k * impulse;
    velocity.z = path.progress.normal_speed;
    if path.status == Status::Resolved && branch.mode() == Mode::Stick {
        velocity.x = 0.0;
        velocity.y = 0.0;
    }
    let momentum = speed / mobility;
    let work = speed * momentum;
    Ok(Outcome {
        impulse: impulse * momentum,
        velocity: velocity * speed,
        work_compression: path.progress.work_compression * work,
        work_restitution: path.progress.work_restitution * work,
        phases: path.progress.phases,
        branch,
        mode: branch.mode(),
        steps: path.steps,
        status: path.status,
    })
}

/// The power of two at or below a positive number; 1 where there is none.
fn power_of_two(x: f64) -> f64 {
    /// Sign and exponent of an f64.
    const EXPONENT_BITS: u64 = 0xfff << (f64::MANTISSA_DIGITS - 1);
    let p = f64::from_bits(x.to_bits() & EXPONENT_BITS);
    if p.is_normal() && p > 0.0 { p } else { 1.0 }
}

/// What a stretch of sliding came to.
pub(super) enum Stretch {
    /// The collision is over.
    Ended,
    /// The tangential velocity is zero.
    Stopped,
}

/// A spatial collision under way, in scaled units.
pub(super) struct Path {
    pub sliding: Sliding,
    origin: Origin,
    pub friction: f64,
    start: [f64; 3],
    pub progress: Progress,
    pub impulse: [f64; 3],
    pub tolerance: f64,
    /// Magnitudes against which errors of impulse, normal velocity and work are measured.
    pub scale: [f64; 3],
    /// Angle to a converging ray [rad] within which its series is tried.
    pub approach_angle: f64,
    /// First phase in which the series is tried: where a phase ends before the approach does, it waits for the next.
    pub approach_phase: usize,
    pub steps: usize,
    status: Status,
}

impl Path {
    fn new(k: &Matrix3<f64>, origin: Origin, friction: f64, restitution: f64, u: Vector3<f64>, tolerance: f64) -> Self {
        let sliding = Sliding::new(k, friction);
        // The least impulse, and the least work, that can stop the approach: no direction has a greater normal mobility.
        let most = sliding.d + sliding.b[0].hypot(sliding.b[1]);
        Path {
            sliding,
            origin,
            friction,
            start: [u.x, u.y, u.z],
            progress: Progress::starting(u.z, restitution),
            impulse: [0.0; 3],
            tolerance,
            scale: [-u.z / most, -u.z, 0.5 * u.z * u.z / most],
            approach_angle: APPROACH_ANGLE,
            approach_phase: 0,
            steps: 0,
            status: Status::Resolved,
        }
    }

    fn run(&mut self, budget: usize) -> Branch {
        let [x, y, z] = self.start;
        let r = x.hypot(y);
        if r <= STILL * r.hypot(z) {
            return Branch::Stick { stable: self.leave_rest() };
        }
        let [cx, cy] = self.sliding.c;
        let misses_zero = (x * cy - y * cx).abs() > STILL * r * cx.hypot(cy);
        let stretch = if self.friction == 0.0 && misses_zero {
            // Without friction the path is straight.
            let (spent, _) = self.progress.advance(self.sliding.d, f64::INFINITY);
            self.impulse[2] = spent;
            Stretch::Ended
        } else {
            self.slide(x / r, y / r, r, budget)
        };
        match stretch {
            Stretch::Ended => Branch::Slide,
            Stretch::Stopped => {
                let restituting = self.progress.restituting;
                if self.status == Status::Resolved {
                    self.remove_slip();
                }
                Branch::Origin { restituting, stable: self.leave_rest() }
            }
        }
    }

    /// At u_t = 0 the tangential impulse follows from the velocity it removed; this takes out what the integration left.
    fn remove_slip(&mut self) {
        let p = self.impulse[2];
        let without = [self.start[0] + self.sliding.c[0] * p, self.start[1] + self.sliding.c[1] * p];
        if let Some(impulse) = self.origin.stopping(without, STOPPING_RATIO) {
            self.impulse = [impulse[0], impulse[1], p];
        }
    }

    /// From u_t = 0 to the end; true when friction holds it there.
    fn leave_rest(&mut self) -> bool {
        let ray = self.origin.leave(self.friction);
        let (spent, _) = self.progress.advance(ray.normal, f64::INFINITY);
        self.impulse[0] += ray.impulse[0] * spent;
        self.impulse[1] += ray.impulse[1] * spent;
        self.impulse[2] += spent;
        ray.stable
    }

    /// Integrates the sliding from a direction and a speed until the collision ends or the tangential velocity is zero.
    fn slide(&mut self, cos: f64, sin: f64, r: f64, budget: usize) -> Stretch {
        let sliding = self.sliding;
        let mut y: State = [cos, sin, r.ln(), 0.0, 0.0, 0.0, self.progress.normal_speed, 0.0];
        let mut first = sliding.rates(&y);
        let allowed = ESTIMATE_EXCESS * self.tolerance;
        let still = (STILL * r.hypot(self.start[2])).ln();
        // Only where friction can drive the bodies together, k < 0, may u_n turn back.
        let may_turn_back = sliding.d < sliding.b[0].hypot(sliding.b[1]);
        let (f, g, _) = sliding.coefficients(cos, sin);
        let mut h = FIRST_STEP * allowed.powf(ESTIMATE_EXPONENT) / (f.abs() + g.abs() + sliding.n[0] + sliding.n[2]);
        while self.steps < budget {
            if y[LOG] <= still {
                self.keep(&y);
                return Stretch::Stopped;
            }
            if let Some(stretch) = self.close(&y, false).or_else(|| self.approach(&y)) {
                return stretch;
            }
            self.steps += 1;
            let mut step = Step::take(|y| sliding.rates(y), &y, &first, h);
            let error = self.error(&step);
            // The fourth root stands for the fifth: it is two square roots, and errs on the side of change.
            let factor = (CONTROL_SAFETY * (allowed / error).sqrt().sqrt()).clamp(CONTROL_RANGE[0], CONTROL_RANGE[1]);
            if error.is_nan() || error > allowed {
                h *= if error.is_nan() { CONTROL_RANGE[0] } else { factor };
                continue;
            }
            if may_turn_back {
                step = self.cut_at_turning(step);
            }
            let phase_ends = (step.end[NORMAL] >= 0.0) != self.progress.restituting;
            if phase_ends {
                step = self.cut_at(step, |y| y[NORMAL]);
            }
            if self.progress.restituting && step.end[WORK] >= self.progress.owed() {
                self.end_within(step);
                return Stretch::Ended;
            }
            y = step.end;
            first = *step.end_rates();
            // The direction stays on the circle: one Newton step for 1/sqrt from 1.
            let onto_circle = 1.0 + 0.5 * (1.0 - (y[COS] * y[COS] + y[SIN] * y[SIN]));
            y[COS] *= onto_circle;
            y[SIN] *= onto_circle;
            if phase_ends {
                self.keep(&y);
                self.progress.turn(0.0);
                if self.progress.restituting && self.progress.owed() <= 0.0 {
                    return Stretch::Ended;
                }
                y[NORMAL] = 0.0;
                y[WORK] = 0.0;
                first = sliding.rates(&y);
            }
            self.grow_scales(&y);
            let (f, g, _) = sliding.coefficients(y[COS], y[SIN]);
            h = (h * factor).min(STEP_RATE_MAX / (f.abs().max(g.abs()) + f64::MIN_POSITIVE));
        }
        self.status = Status::Capped;
        self.close(&y, true).unwrap_or_else(|| {
            self.keep(&y);
            Stretch::Stopped
        })
    }

    /// Error of a step in units of the magnitudes. A sum, since a maximum would lose a NaN.
    #[inline(always)]
    fn error(&self, step: &Step) -> f64 {
        let e = step.error().map(f64::abs);
        let [p, u, w] = self.scale;
        e[COS].max(e[SIN]) + e[LOG] + e[ALONG].max(e[ACROSS]).max(e[IMPULSE]) / p + e[NORMAL] / u + e[WORK] / w
    }

    /// Magnitudes follow what has been reached.
    fn grow_scales(&mut self, y: &State) {
        self.scale[0] = self.scale[0].max(y[IMPULSE]);
        self.scale[1] = self.scale[1].max(y[NORMAL].abs());
        self.scale[2] = self.scale[2].max(-self.progress.work_compression).max(y[WORK].abs());
    }

    /// Takes impulse, normal velocity and the work of the phase from the unknowns.
    pub fn keep(&mut self, y: &State) {
        self.impulse = [-self.friction * y[ALONG], -self.friction * y[ACROSS], y[IMPULSE]];
        self.progress = self.with_work(y);
    }

    /// The progress with the normal velocity and the work of the unknowns.
    pub fn with_work(&self, y: &State) -> Progress {
        let mut progress = self.progress;
        progress.normal_speed = y[NORMAL];
        if progress.restituting {
            progress.work_restitution += y[WORK];
        } else {
            progress.work_compression += y[WORK];
        }
        progress
    }
}
