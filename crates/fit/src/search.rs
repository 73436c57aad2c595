//! Levenberg and Marquardt's search over many motions: (J'J + d D) s = -J'r with D the diagonal of J'J, bounds by projection, Nielsen's rule for d;
//! what each motion has of its own is eliminated first (theory 26.1).

use crate::arrow::{Part, Reduced};
use crate::finite;
use crate::problem::{Block, Point, Problem};
use carom_geometry::Geometry;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

/// Damping at the start: a near Gauss-Newton step, shortened a little.
const DAMPING: f64 = 1e-4;
/// The same, and its first growth, where slopes are seen over finite steps.
const FINITE_DAMPING: (f64, f64) = (1e-2, 8.0);
/// There damping beyond this, or a step of this part of what the slopes reach, asks for shorter ones.
const FINITE_MOST: f64 = 100.0;
const SHORT: f64 = 0.25;
/// Smallest damping: below it the factor of a poorly determined problem would be rounding.
const LEAST_DAMPING: f64 = 1e-14;
/// Largest damping: a step that short lowers nothing that can be seen.
const MOST_DAMPING: f64 = 1e12;
/// Largest factor by which a good step lowers the damping.
const MOST_RELIEF: f64 = 1e-2;
/// A step this small, as a part of the size of a coordinate, changes no digit that counts.
const STEP: f64 = 1e-12;
/// A decrease this small, as a part of the cost, is none.
const COST: f64 = 1e-14;
/// A promise of so small a part of the cost is rounding.
const NOTHING: f64 = 1e-9;
/// Where slopes are seen over finite steps, a gain of this part of the cost says that they reach too far.
const LITTLE: f64 = 1e-4;
/// The bend of the cost is at least this part of what its slopes say.
const LEAST_BEND: f64 = 1e-3;
/// Cosine between the residuals and a column below which they stand square.
const SQUARE: f64 = 1e-10;
/// The slope of a motion counts for at most so many times that of the motion in the middle.
const CLIP: f64 = 5.0;
/// Motions from which on slopes are clipped.
const CLIP_FROM: usize = 5;
/// Longest step of a coordinate, of its size.
const STRIDE: f64 = 1.0;

/// How residuals count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// r^2 / 2.
    Square,
    /// As the square up to a size, then straight on.
    Huber(f64),
    /// Like a logarithm beyond a size.
    Cauchy(f64),
}

impl Loss {
    fn cost(self, r: f64) -> f64 {
        match self {
            Loss::Square => 0.5 * r * r,
            Loss::Huber(k) => {
                if r.abs() <= k {
                    0.5 * r * r
                } else {
                    k * (r.abs() - 0.5 * k)
                }
            }
            Loss::Cauchy(k) => 0.5 * k * k * (r / k).powi(2).ln_1p(),
        }
    }
    fn weight(self, r: f64) -> f64 {
        match self {
            Loss::Square => 1.0,
            Loss::Huber(k) => (k / r.abs()).min(1.0),
            Loss::Cauchy(k) => 1.0 / (1.0 + (r / k).powi(2)),
        }
    }
    /// The cost of a motion, each measured vector by its length; what joins windows is always squared.
    pub fn of(self, block: &Block) -> f64 {
        let rest: f64 = block.residuals[block.data..].iter().map(|r| 0.5 * r * r).sum();
        vectors(block).map(|r| self.cost(length(r))).sum::<f64>() + rest
    }
    /// The weights of its rows.
    pub fn weights(self, block: &Block) -> Vec<f64> {
        let mut out: Vec<f64> = Vec::with_capacity(block.residuals.len());
        for vector in vectors(block) {
            out.extend(std::iter::repeat_n(self.weight(length(vector)), vector.len()));
        }
        out.resize(block.residuals.len(), 1.0);
        out
    }
}

/// The length of a vector of differences.
pub fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The differences of a block, measured vector by measured vector.
pub fn vectors(block: &Block) -> impl Iterator<Item = &[f64]> {
    let starts = std::iter::once(0).chain(block.ends.iter().copied());
    starts.zip(&block.ends).map(|(start, end)| &block.residuals[start..*end])
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The residuals stand square to every column: a minimum.
    Gradient,
    /// The last step changed no digit that counts.
    Step,
    /// The last step lowered the cost by no part that counts.
    Cost,
    /// It took all its iterations.
    Iterations,
    /// No step that is large enough to matter lowers the cost; slopes were seen over finite steps.
    Smooth,
    /// No step lowers the cost, yet the slope is not zero.
    Stuck,
    /// The residuals do not depend on any coordinate.
    Blind,
    /// There is no run at the start.
    NoStart,
    /// The user stopped it.
    Stopped,
}

impl Status {
    /// Every status with its name in files.
    pub const ALL: [(Status, &'static str); 9] = [
        (Status::Gradient, "gradient"),
        (Status::Step, "step"),
        (Status::Cost, "cost"),
        (Status::Iterations, "iterations"),
        (Status::Smooth, "smooth"),
        (Status::Stuck, "stuck"),
        (Status::Blind, "blind"),
        (Status::NoStart, "no start"),
        (Status::Stopped, "stopped"),
    ];
    /// Whether a minimum was found.
    pub fn settled(self) -> bool {
        matches!(self, Status::Gradient | Status::Step | Status::Cost | Status::Smooth)
    }
}

/// Where a search stands, for whoever wants to know.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// Which search it is, from 0.
    pub search: usize,
    /// Iterations done.
    pub iteration: usize,
    /// The cost.
    pub cost: f64,
    /// Values of the shared parameters.
    pub values: &'a [f64],
}

/// The end of a search.
#[derive(Clone, Debug)]
pub struct Found<G: Geometry> {
    /// Where it ended.
    pub point: Point<G>,
    /// The cost there.
    pub cost: f64,
    /// Iterations done.
    pub iterations: usize,
    /// How it ended.
    pub status: Status,
}

/// Residuals of all motions, in order; by all threads.
pub fn blocks<G: Geometry>(problem: &Problem<'_, G>, point: &Point<G>, derivative: bool) -> Option<Vec<Block>> {
    (0..problem.motions.len()).into_par_iter().map(|m| problem.block(m, point, derivative)).collect()
}

/// The cost of all motions.
pub fn cost<G: Geometry>(problem: &Problem<'_, G>, point: &Point<G>, loss: Loss) -> Option<f64> {
    Some(blocks(problem, point, false)?.iter().map(|b| loss.of(b)).sum())
}

/// Parts of the normal equations, each clipped to a few times the one in the middle.
pub fn parts(all: &[Block], loss: Loss, shared: usize, scales: &[f64], clip: bool) -> Vec<Part> {
    let parts: Vec<Part> = all.par_iter().map(|b| Part::new(b, &loss.weights(b), shared)).collect();
    if !clip || parts.len() < CLIP_FROM {
        return parts;
    }
    let size = |part: &Part| part.slope.iter().zip(scales).map(|(g, s)| (g * s).powi(2)).sum::<f64>().sqrt();
    let sizes: Vec<f64> = parts.iter().map(size).collect();
    let mut sorted = sizes.clone();
    sorted.sort_by(f64::total_cmp);
    let most = CLIP * sorted[sorted.len() / 2];
    parts.into_iter().zip(sizes).map(|(part, size)| if size > most && most > 0.0 { part.scaled(most / size) } else { part }).collect()
}

/// The sum of motions seen from the shared coordinates.
pub fn gathered(reduced: &[Reduced], shared: usize) -> (DMatrix<f64>, DVector<f64>) {
    let (mut matrix, mut slope) = (DMatrix::zeros(shared, shared), DVector::zeros(shared));
    for one in reduced {
        matrix += &one.matrix;
        slope += &one.slope;
    }
    (matrix, slope)
}

/// Curvatures of the normal equations made those that the cost itself shows over finite steps: motions that part would count too much.
fn bent(matrix: &mut DMatrix<f64>, whole: &mut DVector<f64>, parts: &[Part]) {
    let factor = |k: usize| {
        let bend: f64 = parts.iter().filter_map(|p| p.bend.get(k)).sum();
        if bend > 0.0 && whole[k] > 0.0 { (bend / whole[k]).clamp(LEAST_BEND, 1.0).sqrt() } else { 1.0 }
    };
    let factors: Vec<f64> = (0..whole.len()).map(factor).collect();
    for i in 0..factors.len() {
        whole[i] *= factors[i] * factors[i];
        for j in 0..factors.len() {
            matrix[(i, j)] *= factors[i] * factors[j];
        }
    }
}

/// Choices of a search.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    /// How residuals count.
    pub loss: Loss,
    /// Bounds of the coordinates, shared and own.
    pub bounds: &'a [[f64; 2]],
    /// Most iterations.
    pub most: usize,
    /// Whether slopes of motions are clipped.
    pub clip: bool,
    /// A relative decrease below which it is enough; 0 for as far as it goes.
    pub enough: f64,
    /// Slopes are those over finite steps, from the first of these parts of the coordinates' sizes down to the second; those of tangents where absent.
    pub reach: Option<[f64; 2]>,
}

/// The cost at a point and the parts of the normal equations, by the slopes that are chosen; with how far they reach now.
fn slopes<G: Geometry>(
    problem: &Problem<'_, G>,
    point: &Point<G>,
    choices: &Choices<'_>,
    reach: Option<&[f64]>,
) -> Option<(f64, Vec<Part>)> {
    if let Some(reach) = reach {
        return finite::parts(problem, point, choices.loss, reach);
    }
    let all = blocks(problem, point, true)?;
    let scales: Vec<f64> = (0..problem.shared).map(|k| problem.coordinates.scale(k, point.shared[k])).collect();
    Some((all.iter().map(|b| choices.loss.of(b)).sum(), parts(&all, choices.loss, problem.shared, &scales, choices.clip)))
}

/// Searches from a point; `tell` hears of every iteration.
pub fn search<G: Geometry>(
    problem: &Problem<'_, G>,
    mut point: Point<G>,
    choices: &Choices<'_>,
    tell: &mut dyn FnMut(usize, f64, &Point<G>),
) -> Found<G> {
    let shared = problem.shared;
    let ended = |point: Point<G>, cost: f64, iterations: usize, status: Status| {
        let status = if problem.interrupt.raised() { Status::Stopped } else { status };
        Found { point, cost, iterations, status }
    };
    let mut reach = choices.reach.map(|r| vec![r[0]; shared + 1]);
    let least = choices.reach.map_or(0.0, |r| r[1]);
    let Some((mut now, mut parts)) = slopes(problem, &point, choices, reach.as_deref()) else {
        return ended(point, f64::NAN, 0, Status::NoStart);
    };
    let fresh = if reach.is_some() { FINITE_DAMPING } else { (DAMPING, 2.0) };
    let (mut damping, mut growth) = fresh;
    let mut shorter = false;
    tell(0, now, &point);
    for iteration in 1..=choices.most {
        if shorter {
            // Nothing is gained at this distance: slopes over shorter ones, where the cost rises enough to be told from its roughness.
            shorter = false;
            let scales: Vec<f64> = (0..shared).map(|k| problem.coordinates.scale(k, point.shared[k])).collect();
            let closer = reach.as_mut().is_some_and(|r| {
                let bend: Vec<f64> = (0..shared).map(|k| parts.iter().filter_map(|p| p.bend.get(k)).sum()).collect();
                finite::nearer(r, least, &bend, &scales, now, parts.iter().any(Part::owns))
            });
            let Some(next) = reach.as_deref().filter(|_| closer).and_then(|r| slopes(problem, &point, choices, Some(r))) else {
                return ended(point, now, iteration - 1, Status::Smooth);
            };
            parts = next.1;
            (damping, growth) = fresh;
        }
        let scales: Vec<f64> = (0..shared).map(|k| problem.coordinates.scale(k, point.shared[k])).collect();
        let Some(plain) = parts.iter().map(|p| p.eliminated(LEAST_DAMPING)).collect::<Option<Vec<_>>>() else {
            return ended(point, now, iteration - 1, Status::Stuck);
        };
        let (mut matrix, slope) = gathered(&plain, shared);
        let mut whole: DVector<f64> = parts.iter().map(|p| p.shared.diagonal()).fold(DVector::zeros(shared), |a, b| a + b);
        let owns = parts.iter().any(Part::owns);
        if reach.is_some() && !owns {
            bent(&mut matrix, &mut whole, &parts);
        }
        let seen: Vec<bool> = (0..shared).map(|k| whole[k] > 0.0).collect();
        if !seen.iter().any(|s| *s) && !owns {
            return ended(point, now, iteration - 1, Status::Blind);
        }
        let held = |k: usize| {
            let [low, high] = choices.bounds[k];
            (point.shared[k] <= low && slope[k] > 0.0) || (point.shared[k] >= high && slope[k] < 0.0)
        };
        let free: Vec<usize> = (0..shared).filter(|k| seen[*k] && !held(*k)).collect();
        let square = |k: &usize| reach.is_none() && slope[*k].abs() <= SQUARE * (whole[*k] * 2.0 * now).sqrt();
        if free.iter().all(square) && !owns {
            return ended(point, now, iteration - 1, Status::Gradient);
        }
        let mut accepted = None;
        // What the step at hand promised before any was refused: where it was next to nothing, so is what is left.
        let mut best_promise: Option<f64> = None;
        let stride = if reach.is_some() { 2.0 } else { STRIDE };
        // The sizes against which steps are long or short.
        let sizes: Vec<f64> = match &reach {
            Some(reach) => scales.iter().zip(reach).map(|(s, r)| s * r).collect(),
            None => scales.clone(),
        };
        while damping <= MOST_DAMPING {
            let Some(reduced) = parts.iter().map(|p| p.eliminated(damping.max(LEAST_DAMPING))).collect::<Option<Vec<_>>>() else { break };
            let (damped, slope) = if owns { gathered(&reduced, shared) } else { (matrix.clone(), slope.clone()) };
            let small = DMatrix::from_fn(free.len(), free.len(), |i, j| {
                damped[(free[i], free[j])] + if i == j { damping * whole[free[i]] } else { 0.0 }
            });
            let right = DVector::from_fn(free.len(), |i, _| -slope[free[i]]);
            let mut step = DVector::zeros(shared);
            if !free.is_empty() {
                let Some(factor) = nalgebra::Cholesky::new(small) else {
                    damping *= growth;
                    growth *= 2.0;
                    continue;
                };
                let solved = factor.solve(&right);
                free.iter().enumerate().for_each(|(i, k)| step[*k] = solved[i]);
            }
            // A step may not go farther than the coordinates are large: logarithms would run away.
            let longest = step.iter().zip(&sizes).map(|(s, size)| (s / size).abs()).fold(0.0, f64::max);
            if longest > stride {
                step *= stride / longest;
            }
            let own: Vec<Vec<f64>> = reduced.iter().map(|r| r.own(&step, true)).collect();
            let still = step.iter().zip(&scales).all(|(s, scale)| s.abs() <= STEP * scale) && own.iter().flatten().all(|d| d.abs() <= STEP);
            if still && reach.is_none() {
                // A step that damping alone has made short says nothing.
                let settled = best_promise.is_none_or(|promise| promise <= NOTHING * now);
                return ended(point, now, iteration, if settled { Status::Step } else { Status::Stuck });
            }
            let trial = problem.moved(&point, step.as_slice(), &own, choices.bounds);
            let reached = trial.as_ref().and_then(|t| cost(problem, t, choices.loss));
            if problem.interrupt.raised() {
                return ended(point, now, iteration, Status::Stopped);
            }
            let promised = -0.5 * step.dot(&slope) + 0.5 * damping * step.iter().zip(whole.iter()).map(|(s, w)| s * s * w).sum::<f64>();
            best_promise.get_or_insert(promised);
            if let (Some(trial), Some(reached)) = (trial, reached)
                && reached < now
            {
                let gain = if promised > 0.0 { (now - reached) / promised } else { 1.0 };
                damping = (damping * (1.0 - (2.0 * gain - 1.0).powi(3)).clamp(MOST_RELIEF, 2.0)).max(if reach.is_some() {
                    FINITE_DAMPING.0
                } else {
                    LEAST_DAMPING
                });
                growth = fresh.1;
                accepted = Some((trial, reached));
                break;
            }
            damping *= growth;
            growth *= 2.0;
            // A step far shorter than the slopes reach is not worth a run.
            let within = |reach: &Vec<f64>| longest < SHORT && own.iter().flatten().all(|d| d.abs() < SHORT * reach[shared]);
            if reach.as_ref().is_some_and(within) || (reach.is_some() && damping > FINITE_MOST) {
                shorter = true;
                break;
            }
            // On a rough landscape the last digits are not worth the runs.
            if choices.enough > 0.0 && longest.min(STRIDE) < choices.enough {
                return ended(point, now, iteration, Status::Stuck);
            }
        }
        if shorter {
            continue;
        }
        let Some((next, reached)) = accepted else {
            if reach.is_some() {
                shorter = true;
                continue;
            }
            let nothing = best_promise.is_some_and(|promise| promise <= NOTHING * now);
            return ended(point, now, iteration, if nothing { Status::Cost } else { Status::Stuck });
        };
        let gained = now - reached;
        (point, now) = (next, reached);
        tell(iteration, now, &point);
        if now == 0.0 || (reach.is_none() && gained <= COST.max(choices.enough * choices.enough) * now) {
            return ended(point, now, iteration, Status::Cost);
        }
        if reach.is_some() && gained <= LITTLE * now {
            shorter = true;
            continue;
        }
        match slopes(problem, &point, choices, reach.as_deref()) {
            Some(next) => parts = next.1,
            None => return ended(point, now, iteration, Status::Stuck),
        }
    }
    ended(point, now, choices.most, Status::Iterations)
}
