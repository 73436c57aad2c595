//! The maximal-dissipation problem of friction: min ½ b·K b + b·slip over one disc per contact, theory (5.14).
//!
//! Block Gauss-Seidel with exact disc problems finds who sticks and who slides, Newton steps finish that guess; every step lowers the
//! energy. Of many contacts the sweeps have momentum, theory (4.36), and what a sweep from there does not lower is taken back.

use super::disc::{Axes, shrink};
use super::roots::Roots;
use super::slip_newton::{Motion, SlipNewton};
use super::{GramView, SparseRows};

/// Change of an impulse, as a speed relative to the impact's, at which the sweeps stop.
const SETTLED: f64 = 1e-13;
/// The same of crowds, as exact as their normal phase.
const SETTLED_OF_CROWDS: f64 = 1e-10;
/// Rows above which contacts are a crowd.
const CROWD: usize = 128;
/// The same where sweeps no longer halve the change: what is left then is the rounding of redundant contacts.
const STALLED: f64 = 1e-8;
/// Sweeps over which that is judged.
const STALL_SWEEPS: usize = 16;
/// Cap on the sweeps; the objective falls in every one, so stopping early only leaves some dissipation undone.
const MAX_SWEEPS: usize = 2_000;
/// Sweeps between Newton steps: sweeps find who sticks and who slides, a step then solves that guess to the end.
const NEWTON_EVERY: usize = 4;
/// Sweeps between them at most: a step of many contacts that gains nothing doubles the time to the next, for it costs more than the sweeps.
const NEWTON_SELDOM: usize = 64;
/// Unknowns above which Newton steps are no longer made by a dense factor.
const DENSE_LIMIT: usize = 60;
/// Halvings of a Newton step that gains nothing before sweeps go on without it.
const MAX_HALVINGS: usize = 4;
/// Share of the disc's radius beyond which a contact counts as sliding.
const AT_EDGE: f64 = 1.0 - 1e-12;
/// Shift of the diagonal, relative to its largest entry, that settles directions in which redundant contacts leave friction open.
const NEWTON_SHIFT: f64 = 1e-13;

/// The problem and its scratch.
#[derive(Clone, Debug, Default)]
pub struct Dissipation {
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    /// Slip along each tangential row; kept up to date with the impulses.
    pub slip: Vec<f64>,
    /// Radius μ λ of each contact's disc.
    pub radii: Vec<f64>,
    /// The block of each contact in space, with its axes.
    blocks: Vec<([f64; 3], Axes)>,
    /// The tangential rows over bodies, where they are known.
    roots: Roots,
    first_row: usize,
    newton: Newton,
    large: SlipNewton,
    settled: bool,
    momentum: Momentum,
}

/// What carries sweeps further than they go by themselves, theory (4.36): where the last one ended and where it began.
#[derive(Clone, Debug, Default)]
struct Momentum {
    theta: f64,
    /// Impulses and slips after the last sweep, impulses after the one before it, and where the present one began.
    last: Vec<f64>,
    last_slip: Vec<f64>,
    before: Vec<f64>,
    start: Vec<f64>,
    /// Change of the energy since the last sweep ended.
    energy: f64,
}

impl Momentum {
    /// Nothing moves yet.
    fn begin(&mut self, tangent: &[f64]) {
        self.theta = 1.0;
        self.before.clear();
        self.before.extend_from_slice(tangent);
    }
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

impl Dissipation {
    /// Copies the tangential block of the Gram matrix, rows m to n, by its nonzeros; `rows` are all rows over bodies, where they are known.
    pub fn load(&mut self, gram: &GramView<'_>, m: usize, n: usize, rows: Option<&SparseRows>) {
        self.roots.clear();
        if let Some(rows) = rows.filter(|_| n - m > DENSE_LIMIT) {
            self.roots.load(rows);
        }
        self.first_row = m;
        self.large.forget();
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
    pub fn dissipate(&mut self, tangent: &mut [f64], speed: f64) -> usize {
        let m = self.radii.len();
        let t = tangent.len().checked_div(m).unwrap_or(0);
        self.settled = true;
        self.blocks.clear();
        if t == 2 {
            for k in 0..m {
                let block = [self.entry(2 * k, 2 * k), self.entry(2 * k, 2 * k + 1), self.entry(2 * k + 1, 2 * k + 1)];
                self.blocks.push((block, Axes::of(block)));
            }
        }
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
        let settled = if tangent.len() > CROWD { SETTLED_OF_CROWDS } else { SETTLED };
        let mut mark = f64::INFINITY;
        let (mut pause, mut next) = (NEWTON_EVERY, NEWTON_EVERY);
        let large = tangent.len() > CROWD;
        self.momentum.begin(tangent);
        for sweep in 1..=MAX_SWEEPS {
            if large {
                self.go_ahead(t, tangent);
            }
            let mut change: f64 = 0.0;
            for k in 0..m {
                if self.radii[k] > 0.0 {
                    change = change.max(update_contact(k, t, self.radii[k], tangent, self));
                }
            }
            if large {
                self.judge(tangent);
            }
            if sweep == next {
                let gained = self.newton_step(t, change / scale, tangent);
                if gained {
                    self.momentum.begin(tangent);
                }
                pause = if gained || !large { NEWTON_EVERY } else { (2 * pause).min(NEWTON_SELDOM) };
                next += pause;
            }
            // A change of impulse is weighed as the speed it makes, in the unit of the impact's speed.
            if change <= settled * scale {
                return sweep;
            }
            if sweep % STALL_SWEEPS == 0 {
                if change <= STALLED * scale && change > 0.5 * mark {
                    return sweep;
                }
                mark = change;
            }
        }
        self.settled = false;
        MAX_SWEEPS
    }

    /// Goes on past the end of the last sweep, as far as the discs reach.
    fn go_ahead(&mut self, t: usize, tangent: &mut [f64]) {
        let Self { starts, columns, values, slip, radii, momentum, .. } = self;
        let Momentum { theta, last, last_slip, before, start, energy } = momentum;
        last.clear();
        last.extend_from_slice(tangent);
        last_slip.clone_from(slip);
        *energy = 0.0;
        let next = 0.5 * (1.0 + (1.0 + 4.0 * *theta * *theta).sqrt());
        let share = (*theta - 1.0) / next;
        *theta = next;
        if share > 0.0 {
            for (b, before) in tangent.iter_mut().zip(&*before) {
                *b += share * (*b - before);
            }
            for (k, radius) in radii.iter().enumerate() {
                shrink(&mut tangent[k * t..(k + 1) * t], *radius);
            }
            for row in 0..tangent.len() {
                let step = tangent[row] - last[row];
                if step != 0.0 {
                    // The matrix is symmetric: its row is its column.
                    (starts[row]..starts[row + 1]).for_each(|e| slip[columns[e]] += values[e] * step);
                }
            }
            *energy = (0..tangent.len()).map(|row| (tangent[row] - last[row]) * (last_slip[row] + slip[row]) / 2.0).sum();
        }
        start.clear();
        start.extend_from_slice(tangent);
    }

    /// Takes the sweep back where it raised the energy, and begins anew where it went back.
    fn judge(&mut self, tangent: &mut [f64]) {
        let Self { slip, momentum, .. } = self;
        let Momentum { theta, last, last_slip, before, start, energy } = momentum;
        if *energy > 0.0 {
            tangent.copy_from_slice(last);
            slip.copy_from_slice(last_slip);
            *theta = 1.0;
        } else if (0..tangent.len()).map(|row| (start[row] - tangent[row]) * (tangent[row] - last[row])).sum::<f64>() > 0.0 {
            *theta = 1.0;
        }
        std::mem::swap(before, last);
    }

    /// Whether the last sweeps came to an end by themselves.
    pub(super) fn settled(&self) -> bool {
        self.settled
    }

    fn entry(&self, row: usize, column: usize) -> f64 {
        let range = self.starts[row]..self.starts[row + 1];
        range.into_iter().find(|&e| self.columns[e] == column).map_or(0.0, |e| self.values[e])
    }

    /// One Newton step on the present guess of who sticks (free in its disc) and who slides (along the edge of it), theory (5.15); kept
    /// only if the energy falls. Whether it does over the whole step.
    fn newton_step(&mut self, t: usize, change: f64, tangent: &mut [f64]) -> bool {
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
        if n == 0 {
            return false;
        }
        if n > DENSE_LIMIT {
            return self.large_step(t, change, tangent) && self.walk(t, tangent);
        }
        let newton = &mut self.newton;
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
        solve_symmetric(&mut newton.matrix, &mut newton.step) && self.walk(t, tangent)
    }

    /// The Newton step of many contacts, into the same directions; false where there is none.
    fn large_step(&mut self, t: usize, change: f64, tangent: &[f64]) -> bool {
        let Self { starts, columns, values, slip, radii, roots, first_row, newton, large, .. } = self;
        large.begin(slip.len());
        for direction in &newton.directions {
            let k = direction.row / t;
            if direction.width == 1 {
                large.motion[k] = Motion::Free;
            } else {
                let along: f64 = (0..2).map(|c| slip[direction.row + c] * tangent[direction.row + c]).sum();
                large.motion[k] = Motion::Along(direction.weights, (-along / (radii[k] * radii[k])).max(0.0));
            }
        }
        let matrix = (&starts[..], &columns[..], &values[..]);
        if !large.solve(t, matrix, slip, change, (!roots.is_empty()).then_some((&*roots, *first_row))) {
            return false;
        }
        newton.step.clear();
        newton.step.extend(newton.directions.iter().map(|direction| {
            let own = &large.step[direction.row..direction.row + direction.width];
            own.iter().zip(direction.weights).map(|(s, w)| s * w).sum::<f64>()
        }));
        true
    }

    /// Goes along the Newton step as far as the energy falls; whether it falls over the whole of it.
    fn walk(&mut self, t: usize, tangent: &mut [f64]) -> bool {
        // The whole step, drawn into the discs; if that gains nothing, as far as the first sticking contact reaches its edge.
        // A sliding contact that turns far needs shorter steps still.
        if self.try_step(t, 1.0, tangent) {
            return true;
        }
        let mut share = self.share_inside(t, tangent);
        for _ in 0..MAX_HALVINGS {
            if self.try_step(t, share, tangent) {
                break;
            }
            share /= 2.0;
        }
        false
    }

    /// Share of the Newton step at which the first sticking contact reaches the edge of its disc, at most 1.
    fn share_inside(&self, t: usize, tangent: &[f64]) -> f64 {
        let mut share: f64 = 1.0;
        let directions = &self.newton.directions;
        let mut a = 0;
        while a < directions.len() {
            let (row, width) = (directions[a].row, directions[a].width);
            if width == 2 {
                a += 1;
                continue;
            }
            // A sticking contact owns t directions in a row: |b + s step| = radius.
            let (mut square, mut slope, mut inside) = (0.0, 0.0, -self.radii[row / t] * self.radii[row / t]);
            for c in 0..t {
                let (b, step) = (tangent[row + c], self.newton.step[a + c]);
                square += step * step;
                slope += b * step;
                inside += b * b;
            }
            if square > 0.0 {
                let root = (slope * slope - square * inside).max(0.0).sqrt();
                share = share.min((root - slope) / square);
            }
            a += t;
        }
        share.clamp(0.0, 1.0)
    }

    /// Moves by a share of the Newton step if that lowers the energy.
    fn try_step(&mut self, t: usize, share: f64, tangent: &mut [f64]) -> bool {
        let newton = &mut self.newton;
        newton.trial.clear();
        newton.trial.extend_from_slice(tangent);
        for (direction, step) in newton.directions.iter().zip(&newton.step) {
            for c in 0..direction.width {
                newton.trial[direction.row + c] += share * direction.weights[c] * step;
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
        let better = gain < 0.0;
        if better {
            tangent.copy_from_slice(&newton.trial);
            std::mem::swap(&mut self.slip, &mut newton.slip);
        }
        better
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
fn update_contact(k: usize, t: usize, radius: f64, tangent: &mut [f64], work: &mut Dissipation) -> f64 {
    let first = k * t;
    let mut next = [0.0; 2];
    let stiffness;
    if t == 1 {
        stiffness = work.entry(first, first);
        if stiffness <= 0.0 {
            return 0.0;
        }
        next[0] = (tangent[first] - work.slip[first] / stiffness).clamp(-radius, radius);
    } else {
        let ([a, b, d], axes) = work.blocks[k];
        stiffness = a.max(d);
        if stiffness <= 0.0 {
            return 0.0;
        }
        let (x, y) = (tangent[first], tangent[first + 1]);
        let slip = [work.slip[first] - a * x - b * y, work.slip[first + 1] - b * x - d * y];
        next = axes.minimum(slip, radius);
    }
    let mut change: f64 = 0.0;
    for c in 0..t {
        let step = next[c] - tangent[first + c];
        tangent[first + c] = next[c];
        change = change.max(step.abs() * stiffness.sqrt());
        if step != 0.0 {
            let before = work.slip[first + c];
            // The Gram matrix is symmetric: its row is its column.
            for e in work.starts[first + c]..work.starts[first + c + 1] {
                work.slip[work.columns[e]] += work.values[e] * step;
            }
            work.momentum.energy += step * (before + work.slip[first + c]) / 2.0;
        }
    }
    change
}

#[cfg(test)]
mod tests;
