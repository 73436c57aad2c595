//! Block Gauss-Seidel: every block in turn is solved exactly while the others hold still; theory (4.18).
//!
//! Slow but hard to upset, so it serves for a first guess of the modes and as the last resort.

use crate::contact::problem::{Block, Cone, Problem};
use crate::status::{project_friction, within};
use carom_math::dense::dot;

/// Directions of slip tried around the circle when Newton's method from the last direction fails. The equation of (4.19) is a
/// trigonometric polynomial of degree 2, with at most four roots.
const DIRECTIONS: usize = 32;
/// Bisections of an interval between two directions: past this its width is below rounding.
const BISECTIONS: usize = 50;
/// Newton steps on the direction of slip before the scan.
const NEWTON_STEPS: usize = 6;
/// Turn of the direction at which Newton's method has converged \[rad\].
const TURN: f64 = 1e-14;
/// Relative diagonal added to a contact's own block before it is inverted.
const REGULARISATION: f64 = 1e-12;

/// One sweep over all blocks, in order: updates `impulses` in place.
pub fn sweep(problem: &Problem, impulses: &mut [f64]) {
    let n = problem.rows();
    let entry = |i: usize, j: usize| problem.matrix[i * n + j];
    let speed = |row: usize, l: &[f64]| dot(&problem.matrix[row * n..(row + 1) * n], l) + problem.free[row];
    let mut row = 0;
    for block in problem.blocks {
        match *block {
            Block::Contact { friction } if problem.tangents == 1 => {
                let own = [impulses[row], impulses[row + 1]];
                let a = [entry(row, row), entry(row, row + 1), entry(row + 1, row + 1)];
                let w = [speed(row, impulses), speed(row + 1, impulses)];
                let free = [w[0] - a[0] * own[0] - a[1] * own[1], w[1] - a[1] * own[0] - a[2] * own[1]];
                impulses[row..row + 2].copy_from_slice(&planar_contact(a, free, friction));
            }
            Block::Contact { friction } => {
                let own = [impulses[row], impulses[row + 1], impulses[row + 2]];
                let mut a = [[0.0; 3]; 3];
                let mut free = [0.0; 3];
                for i in 0..3 {
                    free[i] = speed(row + i, impulses);
                    for j in 0..3 {
                        a[i][j] = entry(row + i, row + j);
                        free[i] -= a[i][j] * own[j];
                    }
                }
                let next = match problem.cone {
                    Cone::Round => spatial_contact(&a, free, friction, [-own[1], -own[2]]),
                    Cone::Polyhedral(_) => pyramid_contact(&a, free, friction, own, problem.cone),
                };
                impulses[row..row + 3].copy_from_slice(&next);
            }
            Block::Unilateral => {
                let a = entry(row, row);
                if a > 0.0 {
                    impulses[row] = (impulses[row] - speed(row, impulses) / a).max(0.0);
                }
            }
            Block::Bounded { lower, upper } => {
                let a = entry(row, row);
                if a > 0.0 {
                    impulses[row] = (impulses[row] - speed(row, impulses) / a).clamp(lower, upper);
                } else {
                    impulses[row] = 0.0f64.clamp(lower, upper);
                }
            }
        }
        row += block.rows(problem.tangents);
    }
}

/// Exact impulse (normal, tangent) of a single contact in the plane; `a` = (A_nn, A_nt, A_tt), `free` the velocity without impulse.
pub fn planar_contact(a: [f64; 3], free: [f64; 2], friction: f64) -> [f64; 2] {
    let [nn, nt, tt] = a;
    if free[0] >= 0.0 || nn <= 0.0 {
        return [0.0, 0.0];
    }
    // Stick.
    let tt_safe = tt + REGULARISATION * nn;
    let determinant = nn * tt_safe - nt * nt;
    let mut order = [1.0, -1.0];
    if determinant > 0.0 {
        let normal = (-free[0] * tt_safe + free[1] * nt) / determinant;
        let tangent = (-free[1] * nn + free[0] * nt) / determinant;
        if normal >= 0.0 && tangent.abs() <= friction * normal {
            return [normal, tangent];
        }
        if tangent > 0.0 {
            order = [-1.0, 1.0]; // friction pushes forward, so the contact slips backward
        }
    }
    // Slide along the side the cone was left through, else along the other.
    for slip in order {
        let effective = nn - friction * slip * nt;
        if effective > 0.0 {
            let normal = -free[0] / effective;
            let tangent = -friction * slip * normal;
            if slip * (free[1] + nt * normal + tt * tangent) >= 0.0 {
                return [normal, tangent];
            }
        }
    }
    // No mode fits (the sliding matrix is not positive): one projected step.
    let normal = -free[0] / nn;
    let tangent = if tt > 0.0 { -(free[1] + nt * normal) / tt } else { 0.0 };
    [normal, within(tangent, friction * normal)]
}

/// Exact impulse (normal, two tangents) of a single contact in space under the round cone; `slip` is a first guess of the direction of slip.
pub fn spatial_contact(a: &[[f64; 3]; 3], free: [f64; 3], friction: f64, slip: [f64; 2]) -> [f64; 3] {
    let nn = a[0][0];
    if free[0] >= 0.0 || nn <= 0.0 {
        return [0.0; 3];
    }
    let stick = solve_own(a, [-free[0], -free[1], -free[2]]);
    if let Some(l) = stick
        && l[0] >= 0.0
        && l[1] * l[1] + l[2] * l[2] <= (friction * l[0]) * (friction * l[0])
    {
        return l;
    }
    if friction <= 0.0 {
        return [-free[0] / nn, 0.0, 0.0];
    }
    let slide = Slide { a, free, friction };
    // Newton from the guess, or from the side the sticking impulse left the cone through.
    let guess = if slip[0] != 0.0 || slip[1] != 0.0 { slip } else { stick.map_or([free[1], free[2]], |l| [-l[1], -l[2]]) };
    let mut along = unit(guess);
    let (mut value, mut slope) = slide.sideways(along);
    for _ in 0..NEWTON_STEPS {
        if slope == 0.0 {
            break;
        }
        let turn = within(-value / slope, 1.0);
        along = unit([along[0] - turn * along[1], along[1] + turn * along[0]]);
        (value, slope) = slide.sideways(along);
        if turn.abs() <= TURN.sqrt() {
            break; // the next one is below rounding
        }
    }
    if value.abs() <= TURN.sqrt() * slope.abs()
        && let Some(l) = slide.impulse(along)
    {
        return l;
    }
    let angle = along[1].atan2(along[0]);
    let at = |angle: f64| [angle.cos(), angle.sin()];
    // All roots, nearest direction first is not needed: any admissible one solves the block.
    let width = std::f64::consts::TAU / DIRECTIONS as f64;
    let mut left = (angle, slide.sideways(at(angle)).0);
    for k in 1..=DIRECTIONS {
        let right = (angle + k as f64 * width, slide.sideways(at(angle + k as f64 * width)).0);
        if (left.1 <= 0.0) != (right.1 <= 0.0) {
            let (mut low, mut high) = (left, right);
            for _ in 0..BISECTIONS {
                let middle = (low.0 + high.0) / 2.0;
                let value = slide.sideways(at(middle)).0;
                if (value <= 0.0) == (low.1 <= 0.0) { low = (middle, value) } else { high = (middle, value) }
            }
            if let Some(l) = slide.impulse(at((low.0 + high.0) / 2.0)) {
                return l;
            }
        }
        left = right;
    }
    // No mode fits: one projected step.
    let normal = -free[0] / nn;
    let lateral = (a[1][1] + a[2][2]) / 2.0;
    let pull = [-(free[1] + a[1][0] * normal) / lateral, -(free[2] + a[2][0] * normal) / lateral];
    let held = project_friction(pull, friction * normal, Cone::Round);
    [normal, held[0], held[1]]
}

/// The equation (4.19) of a contact in space that slides with w_n = 0.
struct Slide<'a> {
    a: &'a [[f64; 3]; 3],
    free: [f64; 3],
    friction: f64,
}

impl Slide<'_> {
    /// Slip velocity across a direction (c, s), times the effective inverse mass, and its derivative as it turns.
    #[inline]
    fn sideways(&self, [c, s]: [f64; 2]) -> (f64, f64) {
        let (a, q, mu) = (self.a, self.free, self.friction);
        let effective = a[0][0] - mu * (a[0][1] * c + a[0][2] * s);
        let effective_dot = -mu * (-a[0][1] * s + a[0][2] * c);
        let across = -q[1] * s + q[2] * c;
        let across_dot = -q[1] * c - q[2] * s;
        let coupling = -a[1][0] * s + a[2][0] * c;
        let coupling_dot = -a[1][0] * c - a[2][0] * s;
        let own = (a[2][2] - a[1][1]) * s * c + a[1][2] * (c * c - s * s);
        let own_dot = (a[2][2] - a[1][1]) * (c * c - s * s) - 2.0 * a[1][2] * 2.0 * s * c;
        (
            across * effective - q[0] * (coupling - mu * own),
            across_dot * effective + across * effective_dot - q[0] * (coupling_dot - mu * own_dot),
        )
    }

    /// The impulse for slip along a direction, if it pushes and opposes the slip it leaves.
    #[inline]
    fn impulse(&self, [c, s]: [f64; 2]) -> Option<[f64; 3]> {
        let (a, q, mu) = (self.a, self.free, self.friction);
        let effective = a[0][0] - mu * (a[0][1] * c + a[0][2] * s);
        if effective <= 0.0 {
            return None;
        }
        let normal = -q[0] / effective;
        let l = [normal, -mu * normal * c, -mu * normal * s];
        let slip = |i: usize| q[i] + a[i][0] * l[0] + a[i][1] * l[1] + a[i][2] * l[2];
        (slip(1) * c + slip(2) * s >= 0.0).then_some(l)
    }
}

/// The direction of (x, y), or that of the first axis where there is none.
#[inline]
fn unit([x, y]: [f64; 2]) -> [f64; 2] {
    let length = (x * x + y * y).sqrt();
    if length > 0.0 { [x / length, y / length] } else { [1.0, 0.0] }
}

/// Solves a contact's own 3 x 3 block for its right side, by elimination with a small diagonal; None if it is not positive.
#[inline]
fn solve_own(a: &[[f64; 3]; 3], b: [f64; 3]) -> Option<[f64; 3]> {
    let delta = REGULARISATION * (a[0][0] + a[1][1] + a[2][2]);
    let i0 = 1.0 / (a[0][0] + delta);
    let (l10, l20) = (a[1][0] * i0, a[2][0] * i0);
    let d1 = a[1][1] + delta - l10 * a[1][0];
    if d1 <= 0.0 {
        return None;
    }
    let i1 = 1.0 / d1;
    let across = a[2][1] - l20 * a[1][0];
    let l21 = across * i1;
    let d2 = a[2][2] + delta - l20 * a[2][0] - l21 * across;
    if d2 <= 0.0 {
        return None;
    }
    let y1 = b[1] - l10 * b[0];
    let y2 = b[2] - l20 * b[0] - l21 * y1;
    let x2 = y2 / d2;
    let x1 = y1 * i1 - l21 * x2;
    Some([b[0] * i0 - l10 * x1 - l20 * x2, x1, x2])
}

/// One projected step of a single contact in space under a friction pyramid: normal first, then friction.
pub(crate) fn pyramid_contact(a: &[[f64; 3]; 3], free: [f64; 3], friction: f64, own: [f64; 3], cone: Cone) -> [f64; 3] {
    if a[0][0] <= 0.0 {
        return [0.0; 3];
    }
    let normal = (-(free[0] + a[0][1] * own[1] + a[0][2] * own[2]) / a[0][0]).max(0.0);
    // The step of projected gradients must not exceed the inverse of the largest eigenvalue, which the trace bounds.
    let lateral = a[1][1] + a[2][2];
    if lateral <= 0.0 {
        return [normal, 0.0, 0.0];
    }
    let slip = |i: usize| free[i] + a[i][0] * normal + a[i][1] * own[1] + a[i][2] * own[2];
    let pull = [own[1] - slip(1) / lateral, own[2] - slip(2) / lateral];
    let held = project_friction(pull, friction * normal, cone);
    [normal, held[0], held[1]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::chain::samples::{Random, Sample, unit};
    use crate::status::natural_residual;
    use carom_math::dense::multiply_add;

    /// A single contact of a random body with the ground.
    fn single(seed: u64, tangents: usize) -> Sample {
        let mut random = Random::new(seed);
        let freedoms = if tangents == 1 { 3 } else { 6 };
        let inv_mass = (0..freedoms).map(|_| random.between(0.2, 4.0)).collect();
        let velocity = (0..freedoms).map(|_| random.between(-1.0, 1.0)).collect();
        let mut sample = Sample::new(tangents, inv_mass, velocity);
        let mut vector = || {
            let z = if tangents == 1 { 0.0 } else { random.between(-1.0, 1.0) };
            [random.between(-1.0, 1.0), random.between(-1.0, 1.0), z]
        };
        let (arm, normal) = (vector(), unit(vector()));
        sample.contact((0, arm), None, normal, random.between(0.0, 2.0));
        sample.finish()
    }

    #[test]
    fn one_sweep_solves_one_contact() {
        for tangents in [1, 2] {
            let mut modes = [0; 3];
            for seed in 0..2000 {
                let sample = single(seed, tangents);
                let problem = sample.problem();
                let mut impulses = vec![0.0; sample.free.len()];
                let mut velocity = impulses.clone();
                sweep(&problem, &mut impulses);
                multiply_add(problem.matrix, &impulses, problem.free, &mut velocity);
                let residual = natural_residual(&problem, &impulses, &velocity);
                assert!(residual < 1e-10, "tangents {tangents}, seed {seed}: {residual:e}");
                let slips = velocity[1..].iter().any(|w| w.abs() > 1e-9);
                modes[if impulses[0] == 0.0 { 0 } else { 1 + usize::from(slips) }] += 1;
            }
            assert!(modes.iter().all(|count| *count > 100), "open, stick, slide: {modes:?}");
        }
    }
}
