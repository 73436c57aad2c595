//! The planar collision in closed form: every branch is a chain of straight pieces, theory (6.5)-(6.10).

use super::outcome::{Branch, Outcome, PlanarOutcome, Status};
use super::ray::{MOBILITY_MIN, Progress};

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
    if u[1] >= 0.0 {
        return Outcome::separating([0.0; 2], u);
    }
    let mut path =
        Path { k, floor: MOBILITY_MIN * k[1][1], progress: Progress::starting(u[1], restitution), tangential: u[0], impulse: [0.0; 2] };
    let branch =
        if u[0].abs() <= STILL * u[0].hypot(u[1]) { Branch::Stick { stable: path.leave_rest(friction) } } else { path.slide(friction) };
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

/// A planar collision under way.
struct Path {
    k: [[f64; 2]; 2],
    /// Least normal mobility of a piece that must end by itself [1/kg].
    floor: f64,
    progress: Progress,
    /// u_t [m/s].
    tangential: f64,
    impulse: [f64; 2],
}

impl Path {
    /// Moves along a piece with tangential impulse `ratio` per normal impulse; true when the collision ended.
    fn advance(&mut self, ratio: f64, tangential: f64, normal: f64, limit: f64) -> bool {
        let (spent, ended) = self.progress.advance(normal, limit);
        self.tangential += tangential * spent;
        self.impulse[0] += ratio * spent;
        self.impulse[1] += spent;
        ended
    }

    /// From a tangential velocity that is not zero: along its ray, and through zero if it gets there, (6.9)-(6.10).
    fn slide(&mut self, friction: f64) -> Branch {
        let [[a, b], [_, d]] = self.k;
        let sign = self.tangential.signum();
        let ratio = -friction * sign;
        let (tangential, normal) = (a * ratio + b, b * ratio + d);
        // Rate at which |u_t| grows.
        let growth = sign * tangential;
        let stationary = growth.abs() <= STATIONARY * (friction * a + b.abs());
        if growth >= 0.0 || stationary {
            self.advance(ratio, if stationary { 0.0 } else { tangential }, normal.max(self.floor), f64::INFINITY);
            return if stationary { Branch::Stationary } else { Branch::Diverging };
        }
        if self.advance(ratio, tangential, normal, -self.tangential / tangential) {
            return Branch::ConvergingNever;
        }
        self.tangential = 0.0;
        let restituting = self.progress.restituting;
        Branch::Converging { restituting, stable: self.leave_rest(friction) }
    }

    /// From u_t = 0 to the end; true when friction holds it there, (6.7), else it leaves along the one diverging ray, (6.8).
    fn leave_rest(&mut self, friction: f64) -> bool {
        let [[a, b], [_, d]] = self.k;
        self.tangential = 0.0;
        if b.abs() <= friction * a {
            let ratio = if a > 0.0 { -b / a } else { 0.0 };
            self.advance(ratio, 0.0, (d + b * ratio).max(self.floor), f64::INFINITY);
            return true;
        }
        // u_t takes the sign of b: the normal force pushes it there, friction is too weak to stop it.
        let ratio = -friction * b.signum();
        self.advance(ratio, a * ratio + b, (b * ratio + d).max(self.floor), f64::INFINITY);
        false
    }
}
