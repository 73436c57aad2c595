//! Dry friction of an impact: given the normal impulses, the tangential ones dissipate as much energy as their discs allow, theory (5.14).
//!
//! One-way by default: friction follows the normal phase and does not feed back, so the whole impact still ends; it may leave a contact
//! closing, which the next round or the contact solver takes up. Doing nothing is always allowed, so energy cannot rise.

use super::cone::ConeSolver;
use super::{ContactSpace, Contacts, Friction, GramView};

/// Change of an impulse, as a speed relative to the impact's, at which the sweeps stop.
const SETTLED: f64 = 1e-13;
/// Cap on the sweeps; the objective falls in every one, so stopping early only leaves some dissipation undone.
const MAX_SWEEPS: usize = 2_000;
/// Sweeps between Newton steps: sweeps find who sticks and who slides, a step then solves that guess to the end.
const NEWTON_EVERY: usize = 4;
/// Unknowns above which Newton steps (dense) are left out.
const NEWTON_LIMIT: usize = 400;
/// Share of the disc's radius beyond which a contact counts as sliding.
const AT_EDGE: f64 = 1.0 - 1e-12;
/// Shift of the diagonal, relative to its largest entry, that settles directions in which redundant contacts leave friction open.
const NEWTON_SHIFT: f64 = 1e-13;
/// Change of the impulses, relative to the largest, at which staggered rounds agree.
const STAGGER_SETTLED: f64 = 1e-8;
/// Cap on staggered rounds; the coupled problem has no guarantee.
const MAX_ROUNDS: usize = 100;
/// Growth of the largest impulse, over the one-way result, at which staggered rounds are given up.
const STAGGER_GROWTH: f64 = 1e3;
/// Energy, relative to the impact's, by which a staggered result may exceed the start before it is dropped for the one-way result.
const STAGGER_ENERGY: f64 = 1e-12;
/// Cap on the Newton steps of the disc problem, which converges quadratically.
const MAX_SECULAR_STEPS: usize = 60;
/// Relative accuracy of the radius in the disc problem.
const SECULAR: f64 = 1e-15;

/// Scratch of the friction phase.
#[derive(Clone, Debug, Default)]
pub struct FrictionWork {
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    pub(super) slip: Vec<f64>,
    pub(super) radii: Vec<f64>,
    everyone: Vec<usize>,
    target: Vec<f64>,
    linear: Vec<f64>,
    normalised: Vec<f64>,
    solver: ConeSolver,
    one_way_normal: Vec<f64>,
    one_way_tangent: Vec<f64>,
    before: Vec<f64>,
    newton: Newton,
}

/// Scratch of a Newton step. Each unknown moves the impulses along one direction: `width` rows from `row`, with weights.
#[derive(Clone, Debug, Default)]
struct Newton {
    directions: Vec<Direction>,
    of_row: Vec<usize>,
    matrix: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    slip: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Direction {
    row: usize,
    width: usize,
    weights: [f64; 2],
}

/// The friction phase of one impact.
pub(super) struct Phase<'a> {
    pub(super) space: &'a ContactSpace<'a>,
    pub(super) friction: Friction<'a>,
    pub(super) speed: f64,
}

/// What the friction phase did.
pub(super) struct After {
    pub(super) sweeps: usize,
    /// Energy change on top of the frictionless normal phase.
    pub(super) energy_change: f64,
}

impl Phase<'_> {
    fn contacts(&self) -> usize {
        self.space.contacts
    }

    fn rows(&self) -> usize {
        self.space.approach.len()
    }

    /// Adds friction to normal impulses; with `staggered`, goes round until both agree. `normal` and `tangent` are the caller's impulses.
    pub(super) fn act(&self, contacts: &Contacts<'_>, normal: &mut [f64], tangent: &mut Vec<f64>, work: &mut FrictionWork) -> After {
        let m = self.contacts();
        tangent.clear();
        tangent.resize(self.rows() - m, 0.0);
        if m == 0 {
            return After { sweeps: 0, energy_change: 0.0 };
        }
        work.load(&self.space.gram, m, self.rows());
        let frictionless = self.energy_change(normal, tangent);
        let mut sweeps = self.dissipate(normal, tangent, work);
        if self.friction.staggered {
            sweeps += self.stagger(contacts, normal, tangent, work);
        }
        After { sweeps, energy_change: self.energy_change(normal, tangent) - frictionless }
    }

    /// Energy change (5.2) of all impulses together.
    fn energy_change(&self, normal: &[f64], tangent: &[f64]) -> f64 {
        let (m, n) = (self.contacts(), self.rows());
        let impulse = |j: usize| if j < m { normal[j] } else { tangent[j - m] };
        let mut energy = 0.0;
        for i in 0..n {
            let mut gained = 0.0;
            self.space.gram.for_row(n, i, |j, a| gained += a * impulse(j));
            energy += impulse(i) * (self.space.approach[i] + gained / 2.0);
        }
        energy
    }

    /// Friction for these normal impulses, starting from the tangential ones given.
    fn dissipate(&self, normal: &[f64], tangent: &mut [f64], work: &mut FrictionWork) -> usize {
        let (m, n) = (self.contacts(), self.rows());
        work.slip.clear();
        for row in m..n {
            let mut slip = self.space.approach[row];
            self.space.gram.for_row(n, row, |j, a| {
                if j < m {
                    slip += a * normal[j];
                }
            });
            work.slip.push(slip);
        }
        work.radii.clear();
        work.radii.extend((0..m).map(|k| self.friction.coefficients[k] * normal[k].max(0.0)));
        work.dissipate(tangent, self.speed)
    }

    /// Alternates normal and friction phases, theory (5.16); keeps the one-way result when the rounds do not agree or create energy.
    ///
    /// The normal phases after the first hold the speeds it reached at the contacts that pushed, and let no other contact close: bouncing
    /// again in every round would pump the impulses up without end.
    fn stagger(&self, contacts: &Contacts<'_>, normal: &mut [f64], tangent: &mut [f64], work: &mut FrictionWork) -> usize {
        let (m, n) = (self.contacts(), self.rows());
        work.one_way_normal.clear();
        work.one_way_normal.extend_from_slice(normal);
        work.one_way_tangent.clear();
        work.one_way_tangent.extend_from_slice(tangent);
        work.everyone.clear();
        work.everyone.extend((0..m).filter(|&i| contacts.gram.takes_part(i)));
        work.target.clear();
        for i in 0..m {
            let mut reached = self.space.approach[i];
            self.space.gram.for_row(n, i, |j, a| reached += if j < m { a * normal[j] } else { 0.0 });
            work.target.push(if normal[i] > 0.0 { reached.max(0.0) } else { 0.0 });
        }
        let most = STAGGER_GROWTH * normal.iter().fold(0.0f64, |s, l| s.max(l.abs()));
        work.solver.begin(m);
        let mut sweeps = 0;
        for _ in 0..MAX_ROUNDS {
            work.before.clear();
            work.before.extend(normal.iter().chain(tangent.iter()));
            work.linear.clear();
            for i in 0..m {
                let mut speed = self.space.approach[i] - work.target[i];
                self.space.gram.for_row(n, i, |j, a| speed += if j >= m { a * tangent[j - m] } else { 0.0 });
                work.linear.push(speed * contacts.gram.inverse_scale(i));
            }
            work.normalised.clear();
            work.normalised.resize(m, 0.0);
            work.solver.solve(contacts.gram, &work.everyone, &work.linear, 0.0, &mut work.normalised);
            for i in 0..m {
                normal[i] = work.normalised[i] * contacts.gram.inverse_scale(i);
            }
            sweeps += self.dissipate(normal, tangent, work);
            let largest = normal.iter().chain(tangent.iter()).fold(0.0f64, |s, l| s.max(l.abs()));
            let change = normal.iter().chain(tangent.iter()).zip(&work.before).fold(0.0f64, |s, (a, b)| s.max((a - b).abs()));
            if change <= STAGGER_SETTLED * largest {
                if self.energy_change(normal, tangent) <= STAGGER_ENERGY * self.speed * self.speed {
                    return sweeps;
                }
                break;
            }
            if largest > most {
                break;
            }
        }
        normal.copy_from_slice(&work.one_way_normal);
        tangent.copy_from_slice(&work.one_way_tangent);
        sweeps
    }
}

impl FrictionWork {
    /// Copies the tangential block of the Gram matrix, rows m to n, by its nonzeros.
    pub(super) fn load(&mut self, gram: &GramView<'_>, m: usize, n: usize) {
        self.starts.clear();
        self.starts.push(0);
        self.columns.clear();
        self.values.clear();
        for row in m..n {
            let (columns, values) = (&mut self.columns, &mut self.values);
            gram.for_row(n, row, |j, a| {
                if j >= m {
                    columns.push(j - m);
                    values.push(a);
                }
            });
            self.starts.push(self.columns.len());
        }
    }

    /// Block Gauss-Seidel over the contacts, each disc problem solved exactly. On entry `slip` is the slip without the tangential
    /// impulses and `radii` the limits (m); `tangent` is the start, drawn into the discs, and the result. Returns the sweeps.
    pub(super) fn dissipate(&mut self, tangent: &mut [f64], speed: f64) -> usize {
        let m = self.radii.len();
        let t = tangent.len().checked_div(m).unwrap_or(0);
        for k in 0..m {
            shrink(&mut tangent[k * t..(k + 1) * t], self.radii[k]);
        }
        for row in 0..tangent.len() {
            for e in self.starts[row]..self.starts[row + 1] {
                self.slip[row] += self.values[e] * tangent[self.columns[e]];
            }
        }
        // Rounding of the slip grows with the impulses that make it.
        let mut scale = speed;
        for k in 0..m {
            for row in k * t..(k + 1) * t {
                scale = scale.max(self.radii[k] * self.entry(row, row).max(0.0).sqrt());
            }
        }
        for sweep in 1..=MAX_SWEEPS {
            let mut change: f64 = 0.0;
            for k in 0..m {
                if self.radii[k] > 0.0 {
                    change = change.max(update_contact(k, t, self.radii[k], tangent, self));
                }
            }
            if sweep % NEWTON_EVERY == 0 {
                self.newton_step(t, tangent);
            }
            // A change of impulse is weighed as the speed it makes, in the unit of the impact's speed.
            if change <= SETTLED * scale {
                return sweep;
            }
        }
        MAX_SWEEPS
    }

    fn entry(&self, row: usize, column: usize) -> f64 {
        let range = self.starts[row]..self.starts[row + 1];
        range.into_iter().find(|&e| self.columns[e] == column).map_or(0.0, |e| self.values[e])
    }

    /// One Newton step on the present guess of who sticks (free in its disc) and who slides (along the edge of it), theory (5.15); kept
    /// only if the energy falls.
    fn newton_step(&mut self, t: usize, tangent: &mut [f64]) {
        let newton = &mut self.newton;
        newton.directions.clear();
        newton.of_row.clear();
        newton.of_row.resize(tangent.len(), usize::MAX);
        for k in 0..self.radii.len() {
            let b = &tangent[k * t..(k + 1) * t];
            let length = b.iter().map(|b| b * b).sum::<f64>().sqrt();
            if self.radii[k] <= 0.0 {
                continue;
            }
            if length < AT_EDGE * self.radii[k] {
                for c in 0..t {
                    newton.of_row[k * t + c] = newton.directions.len();
                    newton.directions.push(Direction { row: k * t + c, width: 1, weights: [1.0, 0.0] });
                }
            } else if t == 2 {
                newton.of_row[k * t..k * t + 2].fill(newton.directions.len());
                newton.directions.push(Direction { row: k * t, width: 2, weights: [-b[1] / length, b[0] / length] });
            }
        }
        let n = newton.directions.len();
        if n == 0 || n > NEWTON_LIMIT {
            return;
        }
        // H = Zᵀ (K + Σ) Z with Σ the pressure on the edge, -slip·b / radius².
        newton.matrix.clear();
        newton.matrix.resize(n * n, 0.0);
        newton.step.clear();
        let mut largest: f64 = 0.0;
        for a in 0..n {
            let Direction { row, width, weights } = newton.directions[a];
            let mut force = 0.0;
            for c in 0..width {
                force -= weights[c] * self.slip[row + c];
                for e in self.starts[row + c]..self.starts[row + c + 1] {
                    let column = self.columns[e];
                    let b = newton.of_row[column];
                    if b != usize::MAX {
                        let other = newton.directions[b];
                        newton.matrix[a * n + b] += weights[c] * self.values[e] * other.weights[column - other.row];
                    }
                }
            }
            if width == 2 {
                let k = row / t;
                let pressure = -(self.slip[row] * tangent[row] + self.slip[row + 1] * tangent[row + 1]) / (self.radii[k] * self.radii[k]);
                newton.matrix[a * n + a] += pressure.max(0.0);
            }
            newton.step.push(force);
            largest = largest.max(newton.matrix[a * n + a]);
        }
        for a in 0..n {
            newton.matrix[a * n + a] += NEWTON_SHIFT * largest;
        }
        if !solve_symmetric(&mut newton.matrix, &mut newton.step) {
            return;
        }
        newton.trial.clear();
        newton.trial.extend_from_slice(tangent);
        for (direction, step) in newton.directions.iter().zip(&newton.step) {
            for c in 0..direction.width {
                newton.trial[direction.row + c] += direction.weights[c] * step;
            }
        }
        for k in 0..self.radii.len() {
            shrink(&mut newton.trial[k * t..(k + 1) * t], self.radii[k]);
        }
        // Energy change of the step: Δ·(slip before + slip after)/2.
        newton.slip.clear();
        newton.slip.extend_from_slice(&self.slip);
        let mut gain = 0.0;
        for row in 0..tangent.len() {
            for e in self.starts[row]..self.starts[row + 1] {
                newton.slip[row] += self.values[e] * (newton.trial[self.columns[e]] - tangent[self.columns[e]]);
            }
            gain += (newton.trial[row] - tangent[row]) * (self.slip[row] + newton.slip[row]) / 2.0;
        }
        if gain < 0.0 {
            tangent.copy_from_slice(&newton.trial);
            std::mem::swap(&mut self.slip, &mut newton.slip);
        }
    }
}

/// Solves A x = b in place by Cholesky (A by rows, lower triangle used); false if A is not positive definite.
fn solve_symmetric(a: &mut [f64], b: &mut [f64]) -> bool {
    let n = b.len();
    for r in 0..n {
        for c in 0..=r {
            let mut entry = a[r * n + c];
            for k in 0..c {
                entry -= a[r * n + k] * a[c * n + k];
            }
            if r == c {
                if entry.is_nan() || entry <= 0.0 {
                    return false;
                }
                a[r * n + r] = entry.sqrt();
            } else {
                a[r * n + c] = entry / a[c * n + c];
            }
        }
        for c in 0..r {
            b[r] -= a[r * n + c] * b[c];
        }
        b[r] /= a[r * n + r];
    }
    for r in (0..n).rev() {
        b[r] /= a[r * n + r];
        for c in 0..r {
            b[c] -= a[r * n + c] * b[r];
        }
    }
    true
}

/// Solves the disc problem of contact k for the others' impulses held; returns the change as a speed in the metric of the mass.
fn update_contact(k: usize, t: usize, radius: f64, tangent: &mut [f64], work: &mut FrictionWork) -> f64 {
    let first = k * t;
    let block = |a: usize, b: usize| work.entry(first + a, first + b);
    let mut next = [0.0; 2];
    let stiffness;
    if t == 1 {
        stiffness = block(0, 0);
        if stiffness <= 0.0 {
            return 0.0;
        }
        next[0] = (tangent[first] - work.slip[first] / stiffness).clamp(-radius, radius);
    } else {
        let (a, b, d) = (block(0, 0), block(0, 1), block(1, 1));
        stiffness = a.max(d);
        if stiffness <= 0.0 {
            return 0.0;
        }
        let (x, y) = (tangent[first], tangent[first + 1]);
        let slip = [work.slip[first] - a * x - b * y, work.slip[first + 1] - b * x - d * y];
        next = disc_minimum([a, b, d], slip, radius);
    }
    let mut change: f64 = 0.0;
    for c in 0..t {
        let step = next[c] - tangent[first + c];
        tangent[first + c] = next[c];
        change = change.max(step.abs() * stiffness.sqrt());
        if step != 0.0 {
            // The Gram matrix is symmetric: its row is its column.
            for e in work.starts[first + c]..work.starts[first + c + 1] {
                work.slip[work.columns[e]] += work.values[e] * step;
            }
        }
    }
    change
}

/// Scales an impulse back into its disc.
fn shrink(impulse: &mut [f64], radius: f64) {
    let length = impulse.iter().map(|b| b * b).sum::<f64>().sqrt();
    if length > radius {
        let factor = if length > 0.0 { radius / length } else { 0.0 };
        impulse.iter_mut().for_each(|b| *b *= factor);
    }
}

/// Minimises ½ b·K b + q·b over ‖b‖ ≤ radius, K = [[k0, k1], [k1, k2]] positive semidefinite, theory (5.15).
///
/// Inside the disc b = -K⁻¹ q; on its edge (K + σ) b = -q with the σ > 0 at which the length fits, found in the axes of K.
pub fn disc_minimum(k: [f64; 3], q: [f64; 2], radius: f64) -> [f64; 2] {
    // Axes of K: the larger eigenvalue first.
    let half_trace = (k[0] + k[2]) / 2.0;
    let half_gap = ((k[0] - k[2]) / 2.0).hypot(k[1]);
    let large = half_trace + half_gap;
    let small = if large > 0.0 { ((k[0] * k[2] - k[1] * k[1]) / large).max(0.0) } else { 0.0 };
    let angle = (2.0 * k[1]).atan2(k[0] - k[2]) / 2.0;
    let (s, c) = angle.sin_cos();
    let p = [c * q[0] + s * q[1], c * q[1] - s * q[0]];
    let eigen = [large, small];
    let size = p[0].hypot(p[1]);
    if size == 0.0 || radius <= 0.0 {
        return [0.0, 0.0];
    }
    let at = |shift: f64| [-p[0] / (eigen[0] + shift), -p[1] / (eigen[1] + shift)];
    let divides = |e: f64, p: f64| e > 0.0 || p == 0.0;
    let back = |b: [f64; 2]| [c * b[0] - s * b[1], s * b[0] + c * b[1]];
    if divides(large, p[0]) && divides(small, p[1]) {
        let free = [if p[0] == 0.0 { 0.0 } else { -p[0] / large }, if p[1] == 0.0 { 0.0 } else { -p[1] / small }];
        if free[0].hypot(free[1]) <= radius {
            return back(free);
        }
    }
    // Newton on 1/|b(σ)| - 1/radius, nearly linear in σ, from a shift that is surely too small: it rises to the root monotonically.
    let mut shift = (size / radius - large).max(0.0);
    if shift == 0.0 && small <= 0.0 {
        shift = f64::MIN_POSITIVE.max(f64::EPSILON * size / radius);
    }
    for _ in 0..MAX_SECULAR_STEPS {
        let b = at(shift);
        let length = b[0].hypot(b[1]);
        if length.is_nan() || length <= radius * (1.0 + SECULAR) {
            break;
        }
        let slope = (b[0] * b[0] / (eigen[0] + shift) + b[1] * b[1] / (eigen[1] + shift)) / (length * length);
        shift += (length - radius) / (radius * slope);
    }
    let mut b = at(shift);
    shrink(&mut b, radius);
    back(b)
}
