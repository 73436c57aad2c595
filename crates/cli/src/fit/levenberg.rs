//! Levenberg-Marquardt: (J'J + d D) s = -J'r with D the diagonal of J'J, bounds by projection (Nielsen's rule for d).

use super::interval::factor;
use super::search::{Bounds, COST, Found, LeastSquares, Progress, SQUARE, STEP, Status, dot};

/// Damping at the start: a near Gauss-Newton step, shortened a little.
const DAMPING: f64 = 1e-4;
/// Smallest damping: below it the factor of a poorly determined problem would be rounding.
const LEAST_DAMPING: f64 = 1e-14;
/// Largest damping: a step that short lowers nothing that can be seen.
const MOST_DAMPING: f64 = 1e12;
/// Largest and smallest factor by which a good step changes the damping.
const MOST_RELIEF: f64 = 1e-2;

/// Searches from `x`; `tell` hears of every iteration.
pub fn levenberg<P: LeastSquares>(
    problem: &mut P,
    mut x: Vec<f64>,
    bounds: &Bounds,
    most: usize,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Found {
    bounds.clamp(&mut x);
    let Some((mut residuals, mut columns)) = problem.jacobian(&x) else {
        return Found { x, cost: f64::NAN, iterations: 0, status: Status::NoStart };
    };
    let mut cost = 0.5 * dot(&residuals, &residuals);
    let (mut damping, mut growth) = (DAMPING, 2.0);
    tell(Progress { iteration: 0, cost, x: &x });
    for iteration in 1..=most {
        let slope: Vec<f64> = columns.iter().map(|c| dot(c, &residuals)).collect();
        let sizes: Vec<f64> = columns.iter().map(|c| dot(c, c)).collect();
        if let Some(blind) = sizes.iter().position(|s| *s == 0.0) {
            return Found { x, cost, iterations: iteration - 1, status: Status::Blind(blind) };
        }
        let free: Vec<usize> = (0..x.len()).filter(|k| !bounds.holds(*k, x[*k], slope[*k])).collect();
        let length = dot(&residuals, &residuals).sqrt();
        if free.iter().all(|k| slope[*k].abs() <= SQUARE * sizes[*k].sqrt() * length) {
            return Found { x, cost, iterations: iteration - 1, status: Status::Gradient };
        }
        // Shorter and shorter steps until one lowers the cost.
        loop {
            let step = step(&columns, &slope, &sizes, &free, damping);
            let mut next = x.clone();
            free.iter().zip(&step).for_each(|(k, s)| next[*k] += s);
            bounds.clamp(&mut next);
            let moved: Vec<f64> = next.iter().zip(&x).map(|(n, x)| n - x).collect();
            let still = moved.iter().zip(&x).all(|(m, x)| m.abs() <= STEP * x.abs().max(STEP));
            // What the linear model promises for the step as it was cut.
            let change: Vec<f64> = (0..residuals.len()).map(|i| columns.iter().zip(&moved).map(|(c, m)| c[i] * m).sum()).collect();
            let promised = -(dot(&change, &residuals) + 0.5 * dot(&change, &change));
            let reached = problem.residuals(&next).map(|r| 0.5 * dot(&r, &r)).filter(|c| c.is_finite());
            match reached {
                Some(reached) if reached < cost && promised > 0.0 => {
                    let gain = (cost - reached) / promised;
                    let small = cost - reached <= COST * cost;
                    let Some(at) = problem.jacobian(&next) else {
                        return Found { x, cost, iterations: iteration, status: Status::Stuck };
                    };
                    (residuals, columns) = at;
                    (x, cost) = (next, reached);
                    tell(Progress { iteration, cost, x: &x });
                    if still || small {
                        let status = if still { Status::Step } else { Status::Cost };
                        return Found { x, cost, iterations: iteration, status };
                    }
                    damping = (damping * (1.0 - (2.0 * gain - 1.0).powi(3)).max(MOST_RELIEF)).max(LEAST_DAMPING);
                    growth = 2.0;
                    break;
                }
                _ => {
                    if still {
                        return Found { x, cost, iterations: iteration, status: Status::Step };
                    }
                    // Rounding, not slope, decides below this; a bound that bends a step uphill calls for a shorter one.
                    if promised.abs() <= COST * cost {
                        return Found { x, cost, iterations: iteration, status: Status::Cost };
                    }
                    damping *= growth;
                    growth *= 2.0;
                    if damping > MOST_DAMPING {
                        return Found { x, cost, iterations: iteration, status: Status::Stuck };
                    }
                }
            }
        }
    }
    Found { x, cost, iterations: most, status: Status::Iterations }
}

/// The damped step of the free variables, in columns scaled to length one.
fn step(columns: &[Vec<f64>], slope: &[f64], sizes: &[f64], free: &[usize], damping: f64) -> Vec<f64> {
    let scale: Vec<f64> = free.iter().map(|k| 1.0 / sizes[*k].sqrt()).collect();
    let n = free.len();
    let mut matrix = vec![0.0; n * n];
    for (i, a) in free.iter().enumerate() {
        for (j, b) in free.iter().enumerate() {
            matrix[i * n + j] = dot(&columns[*a], &columns[*b]) * scale[i] * scale[j];
        }
        matrix[i * n + i] += damping;
    }
    let right: Vec<f64> = free.iter().zip(&scale).map(|(k, s)| -slope[*k] * s).collect();
    match factor(&matrix, n) {
        Some(factor) => {
            let mut scaled = right;
            factor.solve(&mut scaled);
            scaled.iter().zip(&scale).map(|(x, s)| x * s).collect()
        }
        // Columns that say the same: down the slope instead.
        None => right.iter().zip(&scale).map(|(r, s)| r * s / (1.0 + damping)).collect(),
    }
}
