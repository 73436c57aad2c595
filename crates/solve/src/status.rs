//! How a solve ended, by which method, and with what residual.

use crate::contact::problem::{Block, Cone, Problem};

/// Relative residual (4.8) every solve aims at.
pub const RESIDUAL_AIM: f64 = 1e-12;
/// Relative residual (4.8) a solve must reach to count as solved; above it the status is [`Status::Inaccurate`].
pub const RESIDUAL_WANTED: f64 = 1e-10;
/// Relative residual (4.8) above which the impulses are not worth applying and the status is [`Status::Failed`].
pub const RESIDUAL_FAILED: f64 = 1e-3;
/// Speed added to max|u| when a residual is made relative [m/s]: a problem whose free velocities are all slower than this is judged
/// absolutely, since its u is itself the rounding of faster motions.
pub const SPEED_FLOOR: f64 = 1e-6;

/// How a solve ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Status {
    /// The residual is within [`RESIDUAL_WANTED`] (or the tolerance given).
    Solved,
    /// The best iterate found misses the wanted residual; the caller decides whether it serves.
    Inaccurate {
        /// Relative residual reached.
        residual: f64,
        /// Relative residual wanted.
        wanted: f64,
    },
    /// No usable solution: the problem is not valid, not finite, or has no solution.
    Failed,
}

/// The method that produced a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// The free velocity already obeys every law: no impulse.
    Trivial,
    /// Modes guessed from the last impulses and corrected.
    Modes,
    /// Predictor-corrector interior point.
    InteriorPoint,
    /// Complementary pivoting.
    Lemke,
    /// Newton iteration on the round cones.
    Newton,
    /// Block Gauss-Seidel sweeps.
    Sweep,
    /// The path of smoothed problems, traced by its length.
    Path,
}

impl Method {
    /// Number of methods, the length of a table indexed by `method as usize`.
    pub const COUNT: usize = 7;

    /// Its name in reports.
    pub fn label(self) -> &'static str {
        match self {
            Method::Trivial => "none",
            Method::Modes => "modes",
            Method::InteriorPoint => "interior-point",
            Method::Lemke => "lemke",
            Method::Newton => "newton",
            Method::Sweep => "sweeps",
            Method::Path => "path",
        }
    }
}

/// What a solve reports beside its impulses.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Relative residual (4.8) of the impulses returned.
    pub residual: f64,
    /// Linear systems solved, pivots or sweeps made, over all methods tried.
    pub iterations: usize,
    /// The method whose result was returned.
    pub method: Method,
}

impl Outcome {
    /// An outcome whose status follows from the residual.
    pub fn judge(residual: f64, wanted: f64, iterations: usize, method: Method) -> Self {
        let status = if residual <= wanted {
            Status::Solved
        } else if residual <= RESIDUAL_FAILED {
            Status::Inaccurate { residual, wanted }
        } else {
            Status::Failed
        };
        Outcome { status, residual, iterations, method }
    }

    /// The outcome of a problem that could not be solved at all.
    pub fn failed(iterations: usize, method: Method) -> Self {
        Outcome { status: Status::Failed, residual: f64::INFINITY, iterations, method }
    }

    /// Whether the wanted residual was reached.
    pub fn is_solved(&self) -> bool {
        self.status == Status::Solved
    }
}

/// The speed by which residuals are made relative: max|u| plus [`SPEED_FLOOR`] [m/s].
pub fn speed_scale(free: &[f64]) -> f64 {
    free.iter().fold(0.0f64, |m, u| m.max(u.abs())) + SPEED_FLOOR
}

/// Relative residual (4.8) of the natural map: by how much, in velocity, each block misses its law.
///
/// `velocity` must be w = A l + u for `impulses` l. Not finite (infinite) when either holds a number that is not finite.
pub fn natural_residual(problem: &Problem, impulses: &[f64], velocity: &[f64]) -> f64 {
    let n = problem.rows();
    let mut worst = 0.0f64;
    let mut sum = 0.0; // NaN never wins a comparison, but it stays in a sum
    let mut row = 0;
    for block in problem.blocks {
        let rows = block.rows(problem.tangents);
        let mut diagonal = [0.0; 3];
        for k in 0..rows {
            diagonal[k] = problem.matrix[(row + k) * n + row + k];
        }
        let miss = block_miss(block, problem.cone, &diagonal[..rows], &impulses[row..], &velocity[row..]);
        sum += miss + impulses[row] + velocity[row];
        worst = worst.max(miss);
        row += rows;
    }
    if sum.is_finite() { worst / speed_scale(problem.free) } else { f64::INFINITY }
}

/// By how much one block misses its law, as a velocity, theory (4.8): `a` is the diagonal of its rows, `l` and `w` begin at its first.
pub fn block_miss(block: &Block, cone: Cone, a: &[f64], l: &[f64], w: &[f64]) -> f64 {
    match *block {
        Block::Contact { friction } => {
            let normal = (a[0] * l[0]).min(w[0]).abs();
            let reach = friction * l[0].max(0.0);
            let tangential = match *a {
                [_, a] => (a * l[1] - within(a * l[1] - w[1], a * reach)).abs(),
                [_, a1, a2] => {
                    let a = (a1 + a2) / 2.0;
                    let held = [a * l[1], a * l[2]];
                    let moved = [held[0] - w[1], held[1] - w[2]];
                    let nearest = project_friction(moved, a * reach, cone);
                    (held[0] - nearest[0]).hypot(held[1] - nearest[1])
                }
                _ => 0.0,
            };
            // A sum keeps what is not a number; the larger of the two would lose it.
            if (normal + tangential).is_nan() { f64::NAN } else { normal.max(tangential) }
        }
        Block::Unilateral => (a[0] * l[0]).min(w[0]).abs(),
        Block::Bounded { lower, upper } => {
            // Clamping the impulse keeps infinite bounds harmless; a row that nothing can move (a = 0) is judged by its speed.
            let step = if a[0] > 0.0 { (l[0] - (l[0] - w[0] / a[0]).clamp(lower, upper)).abs() * a[0] } else { w[0].abs() };
            let outside = (lower - l[0]).max(l[0] - upper).max(0.0) * a[0];
            step.max(outside)
        }
    }
}

/// `x` limited to the interval from -reach to reach; unlike `clamp` it does not panic on a reach that is negative or NaN.
pub(crate) fn within(x: f64, reach: f64) -> f64 {
    x.max(-reach).min(reach)
}

/// Nearest point to `point` of the disc of the given radius, or of the regular polygon inscribed in it.
pub fn project_friction(point: [f64; 2], radius: f64, cone: Cone) -> [f64; 2] {
    match cone {
        Cone::Round => {
            let length = point[0].hypot(point[1]);
            if length <= radius { point } else { [point[0] * (radius / length), point[1] * (radius / length)] }
        }
        Cone::Polyhedral(edges) => {
            if radius <= 0.0 {
                return [0.0, 0.0];
            }
            // The nearest side is the one whose sector holds the point; the foot on it is clamped to its two corners.
            let side = side_of(point, edges);
            let (across, along) = side_frame(side, edges);
            let half_angle = std::f64::consts::PI / edges as f64;
            let height = point[0] * across[0] + point[1] * across[1];
            if height <= radius * half_angle.cos() {
                return point;
            }
            let half_side = radius * half_angle.sin();
            let foot = within(point[0] * along[0] + point[1] * along[1], half_side);
            let depth = radius * half_angle.cos();
            [across[0] * depth + along[0] * foot, across[1] * depth + along[1] * foot]
        }
    }
}

/// Index of the side of the regular polygon (corners at angles 2 pi k / edges) whose sector holds `point`.
pub fn side_of(point: [f64; 2], edges: usize) -> usize {
    let turn = std::f64::consts::TAU / edges as f64;
    let side = (point[1].atan2(point[0]).rem_euclid(std::f64::consts::TAU) / turn).floor();
    (side as usize).min(edges - 1)
}

/// Unit vectors across (outwards) and along side `side` of the regular polygon.
pub fn side_frame(side: usize, edges: usize) -> ([f64; 2], [f64; 2]) {
    let middle = (side as f64 + 0.5) * std::f64::consts::TAU / edges as f64;
    let (sin, cos) = middle.sin_cos();
    ([cos, sin], [-sin, cos])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polygon_projection_is_the_nearest_point() {
        for edges in [4, 6, 8, 16] {
            let corner = |k: usize| {
                let (sin, cos) = (std::f64::consts::TAU * k as f64 / edges as f64).sin_cos();
                [0.7 * cos, 0.7 * sin]
            };
            for step in 0..60 {
                let (sin, cos) = f64::sin_cos(step as f64 * 0.37);
                let point = [cos * (0.1 + 0.03 * step as f64), sin * (0.1 + 0.03 * step as f64)];
                let nearest = project_friction(point, 0.7, Cone::Polyhedral(edges));
                let distance = |q: [f64; 2]| (q[0] - point[0]).hypot(q[1] - point[1]);
                for k in 0..edges {
                    let (a, b) = (corner(k), corner((k + 1) % edges));
                    // The result lies inside every side, and no point of a side is nearer.
                    let inside = (b[0] - a[0]) * (nearest[1] - a[1]) - (b[1] - a[1]) * (nearest[0] - a[0]);
                    assert!(inside > -1e-12);
                    if distance(nearest) > 0.0 {
                        for part in 0..=20 {
                            let t = f64::from(part) / 20.0;
                            let q = [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
                            assert!(distance(nearest) <= distance(q) + 1e-12);
                        }
                    }
                }
            }
        }
        assert_eq!(project_friction([3.0, 4.0], 1.0, Cone::Round), [0.6000000000000001, 0.8]);
        assert_eq!(project_friction([3.0, 4.0], 0.0, Cone::Polyhedral(8)), [0.0, 0.0]);
    }

    #[test]
    fn the_residual_measures_each_law_in_velocity() {
        let blocks = [Block::Contact { friction: 0.5 }, Block::Unilateral, Block::Bounded { lower: -1.0, upper: 2.0 }];
        let mut matrix = [0.0; 16];
        (0..4).for_each(|i| matrix[i * 5] = 2.0);
        let free = [1.0 - SPEED_FLOOR, 0.0, 0.0, 0.0];
        let problem = Problem { tangents: 1, blocks: &blocks, matrix: &matrix, free: &free, cone: Cone::Round };
        let residual = |l: [f64; 4], w: [f64; 4]| natural_residual(&problem, &l, &w);
        assert_eq!(residual([0.0; 4], [1.0, 3.0, 1.0, 0.0]), 0.0); // open contacts may slip
        assert_eq!(residual([0.0; 4], [-0.3, 0.0, 0.0, 0.0]), 0.3); // penetration
        assert_eq!(residual([1.0, 0.0, 0.0, 0.0], [0.0, 0.25, 0.0, 0.0]), 0.25); // slip without friction
        assert_eq!(residual([1.0, -0.5, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]), 0.0); // sliding at the limit
        assert_eq!(residual([1.0, 0.5, 0.0, 0.0], [0.0, 0.25, 0.0, 0.0]), 0.25); // friction along the slip
        assert_eq!(residual([0.0, 0.0, -0.1, 0.0], [0.0; 4]), 0.2); // a pulling limit
        assert_eq!(residual([0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, -1.0]), 0.0); // saturated motor
        assert_eq!(residual([0.0, 0.0, 0.0, 2.5], [0.0; 4]), 1.0); // beyond its bound
        assert_eq!(residual([f64::NAN, 0.0, 0.0, 0.0], [0.0; 4]), f64::INFINITY);
    }
}
