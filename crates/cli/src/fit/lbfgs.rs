//! Limited-memory BFGS with the gradient of the adjoint: variables in units of their size, bounds by projection, backtracking steps.

use super::search::{Bounds, COST, Found, LeastSquares, Progress, STEP, Status, dot};
use std::collections::VecDeque;

/// Pairs of steps and slope changes that stand in for the curvature.
const MEMORY: usize = 12;
/// Part of the promised decrease that a step must bring (Armijo).
const DECREASE: f64 = 1e-4;
/// Most halvings of a step.
const HALVINGS: usize = 40;
/// Slope, as a part of the cost per size of a variable, below which it is a minimum.
const SLOPE: f64 = 1e-9;
/// Size of a variable that is zero.
const LEAST: f64 = 1e-3;
/// Length of the first step as a part of the size of the variables.
const FIRST: f64 = 1e-2;

/// Searches from `x`; `tell` hears of every iteration.
pub fn lbfgs<P: LeastSquares>(problem: &mut P, mut x: Vec<f64>, bounds: &Bounds, most: usize, tell: &mut dyn FnMut(Progress<'_>)) -> Found {
    bounds.clamp(&mut x);
    let size: Vec<f64> = x.iter().map(|x| x.abs().max(LEAST)).collect();
    let scaled = |g: Vec<f64>| -> Vec<f64> { g.iter().zip(&size).map(|(g, s)| g * s).collect() };
    let Some((mut cost, slope)) = problem.gradient(&x) else {
        return Found { x, cost: f64::NAN, iterations: 0, status: Status::NoStart };
    };
    let mut slope = scaled(slope);
    let mut memory: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    tell(Progress { iteration: 0, cost, x: &x });
    for iteration in 1..=most {
        let free: Vec<bool> = (0..x.len()).map(|k| !bounds.holds(k, x[k], slope[k])).collect();
        let held = |v: &[f64]| -> Vec<f64> { v.iter().zip(&free).map(|(v, f)| if *f { *v } else { 0.0 }).collect() };
        let down = held(&slope);
        if down.iter().all(|g| g.abs() <= SLOPE * cost) {
            return Found { x, cost, iterations: iteration - 1, status: Status::Gradient };
        }
        let mut direction = held(&two_loops(&memory, &down));
        if dot(&direction, &down) >= 0.0 {
            memory.clear();
            direction = down.iter().map(|g| -g).collect();
        }
        if memory.is_empty() {
            let length = dot(&down, &down).sqrt();
            direction.iter_mut().for_each(|d| *d *= FIRST / length);
        }
        let mut part = 1.0;
        let mut accepted = None;
        for _ in 0..HALVINGS {
            let mut next: Vec<f64> = x.iter().zip(&direction).zip(&size).map(|((x, d), s)| x + part * d * s).collect();
            bounds.clamp(&mut next);
            let moved: Vec<f64> = next.iter().zip(&x).zip(&size).map(|((n, x), s)| (n - x) / s).collect();
            if moved.iter().all(|m| m.abs() <= STEP) {
                return Found { x, cost, iterations: iteration, status: Status::Step };
            }
            if let Some((reached, there)) = problem.gradient(&next)
                && reached <= cost + DECREASE * dot(&slope, &moved)
            {
                accepted = Some((next, moved, reached, scaled(there)));
                break;
            }
            part *= 0.5;
        }
        let Some((next, moved, reached, there)) = accepted else {
            return Found { x, cost, iterations: iteration, status: Status::Stuck };
        };
        let turned: Vec<f64> = there.iter().zip(&slope).map(|(a, b)| a - b).collect();
        if dot(&moved, &turned) > 0.0 {
            memory.push_back((moved, turned));
            if memory.len() > MEMORY {
                memory.pop_front();
            }
        }
        let small = cost - reached <= COST * cost;
        (x, cost, slope) = (next, reached, there);
        tell(Progress { iteration, cost, x: &x });
        if small || cost == 0.0 {
            return Found { x, cost, iterations: iteration, status: Status::Cost };
        }
    }
    Found { x, cost, iterations: most, status: Status::Iterations }
}

/// -H g by the two loops over the remembered pairs.
fn two_loops(memory: &VecDeque<(Vec<f64>, Vec<f64>)>, slope: &[f64]) -> Vec<f64> {
    let mut out: Vec<f64> = slope.iter().map(|g| -g).collect();
    let mut weights = Vec::with_capacity(memory.len());
    for (moved, turned) in memory.iter().rev() {
        let weight = dot(moved, &out) / dot(moved, turned);
        out.iter_mut().zip(turned).for_each(|(o, t)| *o -= weight * t);
        weights.push(weight);
    }
    if let Some((moved, turned)) = memory.back() {
        let scale = dot(moved, turned) / dot(turned, turned);
        out.iter_mut().for_each(|o| *o *= scale);
    }
    for ((moved, turned), weight) in memory.iter().zip(weights.into_iter().rev()) {
        let back = dot(turned, &out) / dot(moved, turned);
        out.iter_mut().zip(moved).for_each(|(o, m)| *o += (weight - back) * m);
    }
    out
}
