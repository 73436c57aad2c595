//! The planar collision in closed form: every branch is a chain of straight pieces, theory (6.5)-(6.11).

use super::law::{CollisionLaw, Terms};
use super::outcome::{Branch, Mode, Outcome, PlanarOutcome, Status};
use super::ray::{MOBILITY_MIN, Progress};
use super::scalar::Scalar;
use super::trace::{PathPoint, Points};

/// A tangential velocity below this fraction of the separation velocity is none: what rounding leaves of a zero is a thousandth of it.
pub const STILL: f64 = 1e-12;

/// A tangential mobility below this fraction of its terms is zero to rounding, so the ray is called stationary; the numbers do not
/// depend on it.
const STATIONARY: f64 = 8.0 * f64::EPSILON;

/// A planar collision in contact space, components (tangent, normal).
///
/// `k`: symmetric positive definite collision matrix [1/kg] by rows; `u`: separation velocity [m/s]; `friction` >= 0; `restitution` in
/// 0..1. The arguments are taken as they are: [`collide_contact`](super::collide_contact) checks them.
pub fn collide_planar(k: [[f64; 2]; 2], friction: f64, restitution: f64, u: [f64; 2]) -> PlanarOutcome {
    collide_under(k, &Terms::new(friction, restitution), u, None)
}

/// [`collide_planar`] under any law, with the points of its path where they are wanted.
pub(super) fn collide_under(k: [[f64; 2]; 2], terms: &Terms, u: [f64; 2], points: Option<&mut Vec<PathPoint>>) -> PlanarOutcome {
    if u[1] >= 0.0 {
        return Outcome::separating([0.0; 2], u);
    }
    let mut path = Path::new(k, terms.restitution, terms.law, u);
    path.points = points.is_some().then(Points::default);
    let branch = path.run(terms.friction);
    if let (Some(out), Some(Points(traced))) = (points, path.points.take()) {
        // Gathered with a second tangent, along which nothing moves.
        out.extend(traced.into_iter().map(|point| PathPoint { velocity: [point.velocity[0], point.velocity[2], 0.0], ..point }));
    }
    Outcome {
        impulse: path.impulse,
        velocity: [path.tangential, path.progress.normal_speed],
        work_compression: path.progress.work_compression,
        work_restitution: path.progress.work_restitution,
        phases: path.progress.phases,
        branch,
        mode: branch.mode(),
        steps: 0,
        status: Status::Resolved,
    }
}

/// The whole path of a collision that approaches.
pub(super) fn run<T: Scalar>(k: [[T; 2]; 2], friction: T, restitution: T, law: CollisionLaw, u: [T; 2]) -> (Path<T>, Branch) {
    let mut path = Path::new(k, restitution, law, u);
    let branch = path.run(friction);
    (path, branch)
}

/// A planar collision under way.
pub(super) struct Path<T> {
    k: [[T; 2]; 2],
    /// Least normal mobility of a piece that must end by itself [1/kg].
    floor: f64,
    pub progress: Progress<T>,
    /// u_t [m/s].
    pub tangential: T,
    pub impulse: [T; 2],
    /// Normal impulse at which u_t came to zero; NaN where it did not.
    pub stopped_at: f64,
    /// Points of the path, where they are wanted.
    points: Option<Points>,
}

impl<T: Scalar> Path<T> {
    fn new(k: [[T; 2]; 2], restitution: T, law: CollisionLaw, u: [T; 2]) -> Self {
        let zero = T::constant(0.0);
        let floor = MOBILITY_MIN * k[1][1].value();
        let progress = Progress::starting(u[1], restitution, law);
        Path { k, floor, progress, tangential: u[0], impulse: [zero; 2], stopped_at: f64::NAN, points: None }
    }

    fn run(&mut self, friction: T) -> Branch {
        let (x, y) = (self.tangential.value(), self.progress.normal_speed.value());
        let still = x.abs() <= STILL * x.hypot(y);
        if let Some(points) = &mut self.points {
            let stable = self.k[0][1].value().abs() <= friction.value() * self.k[0][0].value();
            let mode = if !still {
                Mode::Slide
            } else if stable {
                Mode::Stick
            } else {
                Mode::Diverge
            };
            points.push(0.0, [x, 0.0], &self.progress.plain(), mode);
        }
        if still { Branch::Stick { stable: self.start_at_rest(friction) } } else { self.slide(friction) }
    }

    /// Moves along a piece with tangential impulse `ratio` per normal impulse; true when the collision ended.
    fn advance(&mut self, ratio: T, tangential: T, normal: T, limit: T, mode: Mode) -> bool {
        let before = self.points.is_some().then(|| self.progress.plain());
        let (start, slip) = (self.impulse[1].value(), self.tangential.value());
        let (spent, ended) = self.progress.advance(normal, limit);
        if let (Some(points), Some(before)) = (&mut self.points, before) {
            let (rate, after) = ([tangential.value(), 0.0], self.progress.plain());
            points.piece(start, [slip, 0.0], rate, normal.value(), spent.value(), &before, &after, mode);
        }
        self.tangential += tangential * spent;
        self.impulse[0] += ratio * spent;
        self.impulse[1] += spent;
        ended
    }

    /// From a tangential velocity that is not zero: along its ray, and through zero if it gets there, (6.10)-(6.11).
    fn slide(&mut self, friction: T) -> Branch {
        let [[a, b], [_, d]] = self.k;
        let sign = self.tangential.value().signum();
        let ratio = -friction * sign;
        let (tangential, normal) = (a * ratio + b, b * ratio + d);
        // Rate at which |u_t| grows.
        let growth = tangential.value() * sign;
        let stationary = growth.abs() <= STATIONARY * (friction.value() * a.value() + b.value().abs());
        if growth >= 0.0 || stationary {
            let stays = stationary && !T::CARRIES;
            let tangential = if stays { T::constant(0.0) } else { tangential };
            self.advance(ratio, tangential, normal.at_least(self.floor), T::constant(f64::INFINITY), Mode::Slide);
            return if stationary { Branch::Stationary } else { Branch::Diverging };
        }
        if self.advance(ratio, tangential, normal, -self.tangential / tangential, Mode::Slide) {
            return Branch::ConvergingNever;
        }
        self.tangential = T::constant(0.0);
        self.stopped_at = self.impulse[1].value();
        let restituting = self.progress.restituting;
        Branch::Converging { restituting, stable: self.leave_rest(friction) }
    }

    /// From u_t = 0 at the start; to first order friction that holds also removes what u_t there may come to be, theory (16.19).
    fn start_at_rest(&mut self, friction: T) -> bool {
        let [[a, b], _] = self.k;
        if T::CARRIES && a.value() > 0.0 && b.value().abs() <= friction.value() * a.value() {
            self.impulse[0] = -self.tangential / a;
            self.progress.normal_speed += b * self.impulse[0];
        }
        self.leave_rest(friction)
    }

    /// From u_t = 0 to the end; true when friction holds it there, (6.7), else it leaves along the one diverging ray, (6.8).
    fn leave_rest(&mut self, friction: T) -> bool {
        let [[a, b], [_, d]] = self.k;
        let never = T::constant(f64::INFINITY);
        self.tangential = T::constant(0.0);
        if b.value().abs() <= friction.value() * a.value() {
            let ratio = if a.value() > 0.0 { -b / a } else { T::constant(0.0) };
            self.advance(ratio, T::constant(0.0), (d + b * ratio).at_least(self.floor), never, Mode::Stick);
            return true;
        }
        // u_t takes the sign of b: the normal force pushes it there, friction is too weak to stop it.
        let ratio = -friction * b.value().signum();
        self.advance(ratio, a * ratio + b, (b * ratio + d).at_least(self.floor), never, Mode::Diverge);
        false
    }
}
