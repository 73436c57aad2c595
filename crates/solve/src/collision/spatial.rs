//! The spatial collision: sliding integrated with located events, then closed along a ray, theory (6.12)-(6.17).

use super::closing::APPROACH_ANGLE;
use super::dormand_prince::{State, Step};
use super::error::CollisionError;
use super::law::{CollisionLaw, Terms};
use super::outcome::{Branch, Mode, Outcome, SpatialOutcome, Status};
use super::planar::STILL;
use super::ray::{MOBILITY_MIN, Origin, Progress, Ray};
use super::scalar::Scalar;
use super::sliding::{ACROSS, ALONG, COS, IMPULSE, LOG, NORMAL, SIN, Sliding, WORK, turned};
use super::trace::{PathPoint, Points, SPACING};
use nalgebra::{Matrix3, Vector3};

/// Integration steps allowed, accepted and rejected; some tens are usual. Past them the rest is closed along the direction reached.
pub const STEPS_MAX: usize = 10_000;

/// The finest tolerance honoured: below it rounding in a step outweighs its truncation error.
pub const TOLERANCE_MIN: f64 = 1e-13;

/// Truncation error allowed per step, as a multiple of the tolerance: the estimate is that of the fourth-order companion and exceeds
/// the error of the fifth-order result, which is kept, by more than this factor.
const ESTIMATE_EXCESS: f64 = 2.0;

/// First step, as a turn of the direction \[rad\] at unit tolerance; the exponent is that of the error estimate.
const FIRST_STEP: f64 = 5.0;

/// The error estimate is of fifth order in the step.
const ESTIMATE_EXPONENT: f64 = 1.0 / 5.0;

/// Step control aims below the allowance by this factor, so that most steps pass.
const CONTROL_SAFETY: f64 = 0.9;

/// Limits of the change of step length.
const CONTROL_RANGE: [f64; 2] = [0.2, 5.0];

/// Longest step relative to the rates of turn and decay: beyond it the method nears its limit of stability and the estimate says little.
const STEP_RATE_MAX: f64 = 1.0;

/// Error of one step of the method for y' = -y, relative, over the sixth power of its length.
const DECAY_ERROR: f64 = 1.0 / 720.0;

/// The sixth root belongs to it.
const DECAY_EXPONENT: f64 = 1.0 / 6.0;

/// Longest step for y' = -y, well inside the method's limit of stability (3.3).
const DECAY_STEP_MAX: f64 = 2.0;

/// M counts as well conditioned for removing the last tangential velocity above this ratio of its eigenvalues.
const STOPPING_RATIO: f64 = 1e-6;

/// A spatial collision in contact space, components (first tangent, second tangent, normal).
///
/// `k`: symmetric positive definite collision matrix [1/kg]; `u`: separation velocity [m/s]; `friction` >= 0; `restitution` in 0..1;
/// `tolerance`: relative accuracy of impulse and works. Of the arguments only K is checked;
/// [`collide_contact`](super::collide_contact) checks the others.
///
/// # Errors
/// [`CollisionError::Locked`] when the normal velocity cannot change without slip, (6.9).
pub fn collide_spatial(
    k: Matrix3<f64>,
    friction: f64,
    restitution: f64,
    u: Vector3<f64>,
    tolerance: f64,
) -> Result<SpatialOutcome, CollisionError> {
    collide_within(k, &Terms { friction, restitution, law: CollisionLaw::Energy, tolerance }, u, STEPS_MAX, None)
}

/// [`collide_spatial`] under any law with a budget of steps, with the points of its path where they are wanted.
pub(super) fn collide_within(
    k: Matrix3<f64>,
    terms: &Terms,
    u: Vector3<f64>,
    budget: usize,
    points: Option<&mut Vec<PathPoint>>,
) -> Result<SpatialOutcome, CollisionError> {
    if u.z >= 0.0 {
        return Ok(Outcome::separating(Vector3::zeros(), u));
    }
    let units = Units::of(&k, u);
    let k = k / units.mobility;
    let u = u / units.speed;
    let origin = units.origin(&k)?;
    let rows = [[k.m11, k.m12, k.m13], [k.m21, k.m22, k.m23], [k.m31, k.m32, k.m33]];
    let start = [u.x, u.y, u.z];
    let mut path = Path::new(rows, origin, terms.friction, terms.restitution, start, terms.tolerance.max(TOLERANCE_MIN), terms.law);
    path.points = points.is_some().then(Points::default);
    let branch = path.run(budget);
    let impulse = Vector3::from(path.impulse);
    let mut velocity = u + k * impulse;
    velocity.z = path.progress.normal_speed;
    if path.status == Status::Resolved && branch.mode() == Mode::Stick {
        velocity.x = 0.0;
        velocity.y = 0.0;
    }
    let momentum = units.speed / units.mobility;
    let work = units.speed * momentum;
    if let (Some(out), Some(Points(traced))) = (points, path.points) {
        out.extend(traced.into_iter().map(|point| PathPoint {
            impulse: point.impulse * momentum,
            velocity: point.velocity.map(|x| x * units.speed),
            work_compression: point.work_compression * work,
            work_restitution: point.work_restitution * work,
            mode: point.mode,
        }));
    }
    Ok(Outcome {
        impulse: impulse * momentum,
        velocity: velocity * units.speed,
        work_compression: path.progress.work_compression * work,
        work_restitution: path.progress.work_restitution * work,
        phases: path.progress.phases,
        branch,
        mode: branch.mode(),
        steps: path.steps,
        status: path.status,
    })
}

/// Units in which mobility and velocity are of order one; powers of two, so that scaling is exact.
pub(super) struct Units {
    /// Of K [1/kg].
    pub mobility: f64,
    /// Of u [m/s].
    pub speed: f64,
}

impl Units {
    pub fn of(k: &Matrix3<f64>, u: Vector3<f64>) -> Self {
        Units { mobility: power_of_two(k.m11 + k.m22 + k.m33), speed: power_of_two(u.amax()) }
    }

    /// What happens at u_t = 0 for a K in these units, refused where the normal is locked.
    pub fn origin(&self, k: &Matrix3<f64>) -> Result<Origin, CollisionError> {
        let origin = Origin::new(k);
        let held = origin.held_mobility();
        if held.is_nan() || held <= MOBILITY_MIN * k.m33 {
            return Err(CollisionError::Locked { mobility: held * self.mobility, scale: k.m33 * self.mobility });
        }
        Ok(origin)
    }
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
pub(super) struct Path<T> {
    pub sliding: Sliding<T>,
    /// The same in plain numbers, in which steps are tried and events located.
    pub plain: Sliding<f64>,
    /// M: (1,1), (1,2), (2,2).
    tangential: [T; 3],
    origin: Origin,
    pub friction: T,
    start: [T; 3],
    pub progress: Progress<T>,
    pub impulse: [T; 3],
    pub tolerance: f64,
    /// Magnitudes against which errors of impulse, normal velocity and work are measured.
    pub scale: [f64; 3],
    /// Angle to a converging ray \[rad\] within which its series is tried.
    pub approach_angle: f64,
    /// First phase in which the series is tried: where a phase ends before the approach does, it waits for the next.
    pub approach_phase: usize,
    pub steps: usize,
    pub status: Status,
    /// Normal impulse at which u_t came to zero; NaN where it did not.
    pub stopped_at: f64,
    /// Points of the path, where they are wanted: then no stretch is jumped over.
    pub points: Option<Points>,
}

impl<T: Scalar> Path<T> {
    pub fn new(k: [[T; 3]; 3], origin: Origin, friction: T, restitution: T, u: [T; 3], tolerance: f64, law: CollisionLaw) -> Self {
        let sliding = Sliding::new(&k, friction);
        // The least impulse, and the least work, that can stop the approach: no direction has a greater normal mobility.
        let most = sliding.d.value() + sliding.b[0].value().hypot(sliding.b[1].value());
        let z = u[2].value();
        Path {
            sliding,
            plain: sliding.plain(),
            tangential: [k[0][0], k[0][1], k[1][1]],
            origin,
            friction,
            start: u,
            progress: Progress::starting(u[2], restitution, law),
            impulse: [T::constant(0.0); 3],
            tolerance,
            scale: [-z / most, -z, 0.5 * z * z / most],
            approach_angle: APPROACH_ANGLE,
            approach_phase: 0,
            steps: 0,
            status: Status::Resolved,
            stopped_at: f64::NAN,
            points: None,
        }
    }

    pub fn run(&mut self, budget: usize) -> Branch {
        let [x, y, z] = self.start.map(Scalar::value);
        let r = x.hypot(y);
        if let Some(points) = &mut self.points {
            let still = r <= STILL * r.hypot(z);
            let mode = match (still, self.origin.leave(self.friction.value()).stable) {
                (false, _) => Mode::Slide,
                (true, true) => Mode::Stick,
                (true, false) => Mode::Diverge,
            };
            points.push(0.0, [x, y], &self.progress.plain(), mode);
        }
        if r <= STILL * r.hypot(z) {
            return Branch::Stick { stable: self.start_at_rest() };
        }
        let [cx, cy] = self.sliding.c.map(Scalar::value);
        let misses_zero = (x * cy - y * cx).abs() > STILL * r * cx.hypot(cy);
        let stretch = if self.friction.value() == 0.0 && misses_zero && !T::CARRIES {
            // Without friction the path is straight.
            let before = self.progress.plain();
            let (spent, _) = self.progress.advance(self.sliding.d, T::constant(f64::INFINITY));
            self.impulse[2] = spent;
            if let Some(points) = &mut self.points {
                let d = self.sliding.d.value();
                points.piece(0.0, [x, y], [cx, cy], d, spent.value(), &before, &self.progress.plain(), Mode::Slide);
            }
            Stretch::Ended
        } else {
            let speed = self.start[0].hypot(self.start[1]);
            self.slide(self.start[0] / speed, self.start[1] / speed, speed, budget)
        };
        match stretch {
            Stretch::Ended => Branch::Slide,
            Stretch::Stopped => {
                let restituting = self.progress.restituting;
                self.stopped_at = self.impulse[2].value();
                if self.status == Status::Resolved {
                    self.remove_slip();
                }
                Branch::Origin { restituting, stable: self.leave_rest() }
            }
        }
    }

    /// -M^-1 v, with its slope.
    fn stopping(&self, v: [T; 2]) -> [T; 2] {
        let [a, b, d] = self.tangential;
        let determinant = a * d - b * b;
        [(b * v[1] - d * v[0]) / determinant, (b * v[0] - a * v[1]) / determinant]
    }

    /// At u_t = 0 the tangential impulse follows from the velocity it removed; this takes out what the integration left.
    fn remove_slip(&mut self) {
        let p = self.impulse[2];
        let without = [self.start[0] + self.sliding.c[0] * p, self.start[1] + self.sliding.c[1] * p];
        if let Some(impulse) = self.origin.stopping(without.map(Scalar::value), STOPPING_RATIO) {
            let [x, y] = if T::CARRIES { self.stopping(without) } else { impulse.map(T::constant) };
            self.impulse = [x, y, p];
        }
    }

    /// From u_t = 0 at the start; to first order friction that holds also removes what u_t there may come to be, theory (16.19).
    fn start_at_rest(&mut self) -> bool {
        if T::CARRIES && self.origin.leave(self.friction.value()).stable && self.origin.stopping([0.0; 2], STOPPING_RATIO).is_some() {
            let [x, y] = self.stopping([self.start[0], self.start[1]]);
            self.impulse = [x, y, T::constant(0.0)];
            self.progress.normal_speed += self.sliding.c[0] * x + self.sliding.c[1] * y;
        }
        self.leave_rest()
    }

    /// From u_t = 0 to the end; true when friction holds it there.
    fn leave_rest(&mut self) -> bool {
        let ray = self.origin.leave(self.friction.value());
        let (ratio, normal) = if T::CARRIES { self.carried(&ray) } else { (ray.impulse.map(T::constant), T::constant(ray.normal)) };
        let (before, start) = (self.progress.plain(), self.impulse[2].value());
        let (spent, _) = self.progress.advance(normal, T::constant(f64::INFINITY));
        if let Some(points) = &mut self.points {
            let mode = if ray.stable { Mode::Stick } else { Mode::Diverge };
            points.piece(start, [0.0; 2], ray.tangential, ray.normal, spent.value(), &before, &self.progress.plain(), mode);
        }
        self.impulse[0] += ratio[0] * spent;
        self.impulse[1] += ratio[1] * spent;
        self.impulse[2] += spent;
        ray.stable
    }

    /// Tangential impulse per normal impulse and normal mobility of a piece that leaves u_t = 0, with their slopes. The axes of M have none
    /// where its eigenvalues are equal, so they are not used.
    fn carried(&self, ray: &Ray) -> ([T; 2], T) {
        let Sliding { c, b, d, .. } = self.sliding;
        if ray.stable {
            if self.origin.stopping([0.0; 2], STOPPING_RATIO).is_none() {
                return (ray.impulse.map(T::constant), d + c[0] * ray.impulse[0] + c[1] * ray.impulse[1]);
            }
            let ratio = self.stopping(c);
            return (ratio, d + c[0] * ratio[0] + c[1] * ratio[1]);
        }
        let length = ray.tangential[0].hypot(ray.tangential[1]);
        let [cos, sin] = ray.tangential.map(|x| T::constant(x / length));
        let (f, g, _) = self.sliding.coefficients(cos, sin);
        let (slope, _) = self.sliding.slopes(cos, sin, f, g);
        let (cos, sin) = turned(cos, sin, -f / slope);
        ([-self.friction * cos, -self.friction * sin], d - (b[0] * cos + b[1] * sin))
    }

    /// Integrates the sliding from a direction and a speed until the collision ends or the tangential velocity is zero.
    fn slide(&mut self, cos: T, sin: T, r: T, budget: usize) -> Stretch {
        let (sliding, plain) = (self.sliding, self.plain);
        let zero = T::constant(0.0);
        let mut y: State<T> = [cos, sin, r.ln(), zero, zero, zero, self.progress.normal_speed, zero];
        let mut first = sliding.rates(&y);
        let allowed = ESTIMATE_EXCESS * self.tolerance;
        let still = (STILL * r.value().hypot(self.start[2].value())).ln();
        // Only where friction can drive the bodies together, k < 0, may u_n turn back.
        let may_turn_back = sliding.d.value() < sliding.b[0].value().hypot(sliding.b[1].value());
        let (f, g, _) = sliding.coefficients(cos, sin);
        let rate = f.value().abs() + g.value().abs() + sliding.n[0].value() + sliding.n[2].value();
        // Without friction and coupling nothing turns or grows; the normal mobility then sets the length.
        let rate = if rate > 0.0 { rate } else { sliding.d.value() };
        let mut h = FIRST_STEP * allowed.powf(ESTIMATE_EXPONENT) / rate;
        // What a unit change of the angle has become, at most 1.
        let mut change = 1.0;
        let whole = self.points.is_some();
        while self.steps < budget {
            if T::CARRIES {
                h = h.min(self.change_step(&y, change, allowed));
            }
            if whole {
                h = h.min(SPACING / rate_of(&sliding, &y));
            }
            if y[LOG].value() <= still {
                self.keep(&y);
                self.stopped_point(&y);
                return Stretch::Stopped;
            }
            // The closing neglects an angle that is small in value, but not in slope.
            let closed = if T::CARRIES || whole { None } else { self.close(&y, false) };
            if let Some(stretch) = closed.or_else(|| if whole { None } else { self.approach(&y) }) {
                return stretch;
            }
            self.steps += 1;
            let mut step = Step::take(|y| plain.rates(y), &y.map(T::value), &first.map(T::value), h);
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
            if self.progress.restituting && self.progress.plain().lacking(&step.end) <= 0.0 {
                self.end_within(step, &y, &first);
                return Stretch::Ended;
            }
            change = f64::min(1.0, change * (self.angle_slope(&y) * step.length).exp());
            let step = T::retake(step, &sliding, &y, &first, phase_ends);
            y = step.end;
            // Moving the end of a cut step by rounding moves its slope by more.
            first = if T::CARRIES { sliding.rates(&y) } else { *step.end_rates() };
            // The direction stays on the circle: one Newton step for 1/sqrt from 1.
            let onto_circle = (y[COS] * y[COS] + y[SIN] * y[SIN] - 1.0) * -0.5 + 1.0;
            y[COS] *= onto_circle;
            y[SIN] *= onto_circle;
            if whole {
                self.sliding_point(&y);
            }
            if phase_ends {
                self.keep(&y);
                self.progress.turn(0.0);
                if self.progress.restituting && self.progress.owed().value() <= 0.0 {
                    self.end_at_once(&y);
                    return Stretch::Ended;
                }
                y[NORMAL] = zero;
                y[WORK] = zero;
                first = sliding.rates(&y);
            }
            self.grow_scales(&y);
            h = (h * factor).min(STEP_RATE_MAX / rate_of(&sliding, &y));
        }
        self.status = Status::Capped;
        self.close(&y, true).unwrap_or_else(|| {
            self.keep(&y);
            Stretch::Stopped
        })
    }

    /// Notes a point of the sliding.
    pub fn sliding_point(&mut self, y: &State<T>) {
        let progress = self.with_work(y).plain();
        if let Some(points) = &mut self.points {
            let [cos, sin, r] = [y[COS].value(), y[SIN].value(), y[LOG].value().exp()];
            points.push(y[IMPULSE].value(), [r * cos, r * sin], &progress, Mode::Slide);
        }
    }

    /// Notes the point where the slip stopped.
    fn stopped_point(&mut self, y: &State<T>) {
        let progress = self.progress.plain();
        if let Some(points) = &mut self.points {
            points.push(y[IMPULSE].value(), [0.0; 2], &progress, Mode::Slide);
        }
    }

    /// Rate f' at which a small change of the angle grows.
    fn angle_slope(&self, y: &State<T>) -> f64 {
        let (cos, sin) = (y[COS].value(), y[SIN].value());
        let (f, g, _) = self.plain.coefficients(cos, sin);
        self.plain.slopes(cos, sin, f, g).0
    }

    /// Longest step that follows a change of the angle, delta' = f' delta, which on a ray the error of the value does not show.
    fn change_step(&self, y: &State<T>, change: f64, allowed: f64) -> f64 {
        let accurate = (allowed / (DECAY_ERROR * change.max(f64::MIN_POSITIVE))).powf(DECAY_EXPONENT);
        accurate.min(DECAY_STEP_MAX) / self.angle_slope(y).abs().max(f64::MIN_POSITIVE)
    }

    /// The restitution that ends where it starts, at e = 0: it has no length, but a slope in e, theory (16.18).
    fn end_at_once(&mut self, y: &State<T>) {
        let (_, _, k) = self.sliding.coefficients(y[COS], y[SIN]);
        if T::CARRIES && k.value() > 0.0 {
            let (end_speed, spent) = self.progress.first_restitution(k);
            self.progress.normal_speed = end_speed;
            self.impulse[0] -= self.friction * y[COS] * spent;
            self.impulse[1] -= self.friction * y[SIN] * spent;
            self.impulse[2] += spent;
        }
    }

    /// Error of a step in units of the magnitudes. A sum, since a maximum would lose a NaN.
    #[inline(always)]
    fn error(&self, step: &Step) -> f64 {
        let e = step.error().map(f64::abs);
        let [p, u, w] = self.scale;
        e[COS].max(e[SIN]) + e[LOG] + e[ALONG].max(e[ACROSS]).max(e[IMPULSE]) / p + e[NORMAL] / u + e[WORK] / w
    }

    /// Magnitudes follow what has been reached.
    fn grow_scales(&mut self, y: &State<T>) {
        self.scale[0] = self.scale[0].max(y[IMPULSE].value());
        self.scale[1] = self.scale[1].max(y[NORMAL].value().abs());
        self.scale[2] = self.scale[2].max(-self.progress.work_compression.value()).max(y[WORK].value().abs());
    }

    /// Takes impulse, normal velocity and the work of the phase from the unknowns.
    pub fn keep(&mut self, y: &State<T>) {
        self.impulse = [-self.friction * y[ALONG], -self.friction * y[ACROSS], y[IMPULSE]];
        self.progress = self.with_work(y);
    }

    /// The progress with the normal velocity and the work of the unknowns.
    pub fn with_work(&self, y: &State<T>) -> Progress<T> {
        let mut progress = self.progress;
        progress.normal_speed = y[NORMAL];
        let impulse = y[IMPULSE] - progress.impulse_compression - progress.impulse_restitution;
        if progress.restituting {
            progress.work_restitution += y[WORK];
            progress.impulse_restitution += impulse;
        } else {
            progress.work_compression += y[WORK];
            progress.impulse_compression += impulse;
        }
        progress
    }
}

/// Rate of turn or of decay, whichever is faster.
fn rate_of<T: Scalar>(sliding: &Sliding<T>, y: &State<T>) -> f64 {
    let (f, g, _) = sliding.coefficients(y[COS], y[SIN]);
    f.value().abs().max(g.value().abs()) + f64::MIN_POSITIVE
}
