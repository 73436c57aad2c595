//! What the data say about the parameters: which directions they determine, and how closely.
//!
//! The singular values are those of the Jacobian in units of the sizes of the coordinates, with what each motion has of its own eliminated. A direction
//! along which the 95 % interval would be wider than the coordinates are large is not determined (theory 26.3). Intervals are found by walking away from
//! the minimum along the line on which all other parameters follow, through impacts and whatever else comes: where the misfit is explained by noise until it
//! has risen by what noise allows (theory 26.4), otherwise by drawing motions anew from those there are and asking each time where along the line
//! the misfit is least (theory 26.5).

use crate::coordinate::Coordinates;
use crate::problem::{Point, Problem};
use crate::quantile::{part_below, student};
use crate::search::{Loss, blocks, gathered, parts};
use carom_geometry::Geometry;
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use serde::Serialize;

/// Eigenvalues below this part of the largest are rounding.
const ROUNDING: f64 = 1e-14;
/// Entries of a direction below this part of its largest are left out of the words.
const PART: f64 = 0.1;
/// Ratios this close to one of small numbers are that.
const CLOSE: f64 = 0.02;
/// Most steps of a walk to the edge of an interval.
const WALK: usize = 8;
/// Motions from which on they may be drawn anew.
const DRAW_FROM: usize = 5;
/// Points along a line on each side.
const POINTS: usize = 6;
/// Draws.
const DRAWS: usize = 500;
/// Rise of the misfit at the ends of a line along which motions are drawn.
const RISE: f64 = 0.15;

/// A direction that the data do not determine.
#[derive(Clone, Debug, Serialize)]
pub struct Open {
    /// In words.
    pub words: String,
    /// The parameters that take part, with their share.
    pub parameters: Vec<(String, f64)>,
    /// The singular value, of the largest.
    pub singular: f64,
}

/// What is known at a minimum.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// Singular values of the scaled Jacobian, the largest first.
    pub singular: Vec<f64>,
    /// What is not determined.
    pub open: Vec<Open>,
    /// Coordinates at both ends of the 95 % interval; infinite where it has none.
    pub intervals: Vec<[f64; 2]>,
    /// How they were found.
    pub how: &'static str,
}

/// A small whole number near a ratio, or the ratio.
fn power(x: f64) -> String {
    for whole in 1..=4 {
        if (x - f64::from(whole)).abs() < CLOSE * f64::from(whole) {
            return if whole == 1 { String::new() } else { format!("^{whole}") };
        }
    }
    format!("^{x:.2}")
}

/// A direction of change that nothing resists, in words.
fn words(labels: &[&str], direction: &[f64], logs: &[bool]) -> String {
    match labels {
        [] => String::new(),
        [one] => format!("{one} is not determined"),
        [a, b] if logs.iter().all(|l| *l) => {
            // What stays is a^p b^q with p da + q db = 0.
            let (p, q) = (direction[1].abs(), direction[0].abs());
            let unit = p.min(q);
            let between = if direction[0] * direction[1] < 0.0 { "x" } else { "/" };
            format!("only {a}{} {between} {b}{} is determined", power(p / unit), power(q / unit))
        }
        [a, b] if logs.iter().all(|l| !*l) => {
            let (p, q) = (direction[1].abs(), direction[0].abs());
            let unit = p.min(q);
            let times = |x: f64| if (x - 1.0).abs() < CLOSE { String::new() } else { format!("{x:.3} ") };
            let between = if direction[0] * direction[1] < 0.0 { "+" } else { "-" };
            format!("only {}{a} {between} {}{b} is determined", times(p / unit), times(q / unit))
        }
        _ => {
            let all: Vec<String> = labels.iter().zip(direction).map(|(l, d)| format!("{d:+.3} {l}")).collect();
            format!("a change along {} is not determined", all.join(" "))
        }
    }
}

impl Knowledge {
    /// What is known at a point. `deviation`: of a residual; `freedom`: residuals less parameters; `explained`: whether noise explains the misfit.
    pub fn at<G: Geometry>(
        problem: &Problem<'_, G>,
        point: &Point<G>,
        loss: Loss,
        bounds: &[[f64; 2]],
        labels: &[String],
        deviation: f64,
        freedom: usize,
        explained: bool,
    ) -> Option<Self> {
        let shared = problem.shared;
        let all = blocks(problem, point, true)?;
        let now: f64 = all.iter().map(|b| loss.of(b)).sum();
        let scales: Vec<f64> = (0..shared).map(|k| problem.coordinates.scale(k, point.shared[k])).collect();
        let parts = parts(&all, loss, shared, &scales, !explained);
        let reduced = parts.iter().map(|p| p.eliminated(0.0)).collect::<Option<Vec<_>>>()?;
        let (matrix, _) = gathered(&reduced, shared);
        let scaled = DMatrix::from_fn(shared, shared, |i, j| matrix[(i, j)] * scales[i] * scales[j]);
        let eigen = SymmetricEigen::new(scaled);
        let mut order: Vec<usize> = (0..shared).collect();
        order.sort_by(|a, b| eigen.eigenvalues[*b].total_cmp(&eigen.eigenvalues[*a]));
        let largest = order.first().map_or(0.0, |k| eigen.eigenvalues[*k].max(0.0));
        let quantile = student(freedom);
        let mut out = Knowledge { how: "profile", ..Knowledge::default() };
        let mut inverse = DMatrix::<f64>::zeros(shared, shared);
        let mut open = vec![false; shared];
        for &k in &order {
            let (value, vector) = (eigen.eigenvalues[k].max(0.0), eigen.eigenvectors.column(k));
            out.singular.push(value.sqrt());
            let vague = freedom > 0 && quantile * deviation / value.sqrt() > 1.0;
            let wide = value <= ROUNDING * largest || largest == 0.0 || vague;
            if !wide {
                inverse += vector * vector.transpose() / value;
                continue;
            }
            let most = vector.amax();
            let taking: Vec<usize> = (0..shared).filter(|j| vector[*j].abs() > PART * most).collect();
            taking.iter().for_each(|j| open[*j] = true);
            // In values for plain coordinates, in factors for logarithms.
            let logs: Vec<bool> = taking.iter().map(|j| problem.coordinates.is_log(*j)).collect();
            let direction: Vec<f64> =
                taking.iter().map(|j| vector[*j] * if problem.coordinates.is_log(*j) { 1.0 } else { scales[*j] }).collect();
            let names: Vec<&str> = taking.iter().map(|j| labels[*j].as_str()).collect();
            out.open.push(Open {
                words: words(&names, &direction, &logs),
                parameters: names.iter().map(|n| (*n).to_string()).zip(direction.iter().copied()).collect(),
                singular: if largest > 0.0 { (value / largest).sqrt() } else { 0.0 },
            });
        }
        let draw = !explained && problem.motions.len() >= DRAW_FROM;
        for k in 0..shared {
            let [low, high] = bounds[k];
            let variance = inverse[(k, k)];
            if open[k] || variance.is_nan() || variance <= 0.0 || freedom == 0 || !quantile.is_finite() {
                out.intervals.push([low, high]);
                continue;
            }
            // The line on which the others follow, in units of this coordinate.
            let line = DVector::from_fn(shared, |j, _| inverse[(j, k)] / variance * scales[j] / scales[k]);
            let own: Vec<Vec<f64>> = reduced.iter().map(|r| r.own(&line, false)).collect();
            let walk = Walk { problem, point, line: &line, own: &own, bounds, loss };
            let half = quantile * deviation * variance.sqrt() * scales[k];
            let ends = if draw {
                out.how = "bootstrap of motions";
                walk.drawn(now, half, [low - point.shared[k], high - point.shared[k]], scales[k])
            } else {
                let rise = 0.5 * (quantile * deviation).powi(2);
                [-walk.edge(now, rise, half, -1.0), walk.edge(now, rise, half, 1.0)]
            };
            out.intervals.push([(point.shared[k] + ends[0]).max(low), (point.shared[k] + ends[1]).min(high)]);
        }
        Some(out)
    }

    /// The intervals in values: both ends of each parameter, the others where they are.
    pub fn values(&self, coordinates: &Coordinates, at: &[f64]) -> Vec<[f64; 2]> {
        let alone = |k: usize, y: f64| {
            let mut other = at.to_vec();
            // Second moments are sums of others: a change of one of them is felt by two.
            other[k] = y;
            coordinates.values(&other)[k]
        };
        self.intervals.iter().enumerate().map(|(k, [low, high])| [alone(k, *low), alone(k, *high)]).collect()
    }
}

/// The line through a minimum along which one parameter changes and all others follow.
struct Walk<'a, G: Geometry> {
    problem: &'a Problem<'a, G>,
    point: &'a Point<G>,
    line: &'a DVector<f64>,
    own: &'a [Vec<f64>],
    bounds: &'a [[f64; 2]],
    loss: Loss,
}

impl<G: Geometry> Walk<'_, G> {
    /// Costs of the motions at a distance along the line.
    fn costs(&self, distance: f64) -> Option<Vec<f64>> {
        let shared: Vec<f64> = self.line.iter().map(|x| x * distance).collect();
        let own: Vec<Vec<f64>> = self.own.iter().map(|one| one.iter().map(|x| x * distance).collect()).collect();
        let there = self.problem.moved(self.point, &shared, &own, self.bounds)?;
        Some(blocks(self.problem, &there, false)?.iter().map(|b| self.loss.of(b)).collect())
    }

    /// How far the cost may be followed until it has risen so much; `half` is what a parabola says.
    fn edge(&self, now: f64, rise: f64, half: f64, sign: f64) -> f64 {
        let (mut below, mut above, mut here) = (0.0, f64::INFINITY, half);
        for _ in 0..WALK {
            let Some(costs) = self.costs(sign * here) else { return half };
            let found = (costs.iter().sum::<f64>() - now) / rise;
            if (found.sqrt() - 1.0).abs() < 0.05 {
                return here / found.sqrt();
            }
            if found < 1.0 {
                below = here;
            } else {
                above = here;
            }
            let guess = if found > 0.01 { here / found.sqrt() } else { 4.0 * here };
            let most = if above.is_finite() { above } else { 4.0 * here };
            // Between what is known to be inside and outside; at its middle where the parabola leads nowhere.
            here = if guess > below && guess < most { guess } else { (below + most) / 2.0 };
            if above - below < 1e-3 * half {
                break;
            }
        }
        here
    }

    /// Both ends between which motions drawn anew would put the minimum along the line.
    fn drawn(&self, now: f64, half: f64, room: [f64; 2], scale: f64) -> [f64; 2] {
        let side = |sign: f64, room: f64| {
            let mut far = half.clamp(1e-4 * scale, 0.1 * scale).min(room.abs().max(1e-9 * scale));
            for _ in 0..2 * WALK {
                let rise = self.costs(sign * far).map_or(f64::INFINITY, |c| c.iter().sum::<f64>() / now - 1.0);
                if rise > 3.0 * RISE {
                    far /= 1.7;
                } else if rise < RISE && 2.0 * far <= room.abs() && far < scale {
                    far *= 2.0;
                } else {
                    break;
                }
            }
            far
        };
        let (left, right) = (side(-1.0, room[0]), side(1.0, room[1]));
        let place = |i: usize| {
            let t = i as f64 / POINTS as f64 - 1.0;
            if t < 0.0 { t * left } else { t * right }
        };
        let costs: Option<Vec<Vec<f64>>> = (0..=2 * POINTS).map(|i| self.costs(place(i))).collect();
        let Some(costs) = costs else { return [-half, half] };
        let motions = self.own.len();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut found: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let mut sums = vec![0.0; costs.len()];
                for _ in 0..motions {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let m = ((random >> 33) as usize) % motions;
                    sums.iter_mut().zip(&costs).for_each(|(s, c)| *s += c[m]);
                }
                least(&sums, &place)
            })
            .collect();
        found.sort_by(f64::total_cmp);
        let whole: Vec<f64> = costs.iter().map(|c| c.iter().sum()).collect();
        let middle = least(&whole, &place);
        [part_below(&found, 0.025).min(middle).min(0.0), part_below(&found, 0.975).max(middle).max(0.0)]
    }
}

/// Where a line of costs is least: the vertex of the parabola through its lowest point and the neighbours.
fn least(costs: &[f64], place: &dyn Fn(usize) -> f64) -> f64 {
    let at = (0..costs.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap_or(0);
    if at == 0 || at + 1 == costs.len() {
        return place(at);
    }
    let [x0, x1, x2] = [place(at - 1), place(at), place(at + 1)];
    let [y0, y1, y2] = [costs[at - 1], costs[at], costs[at + 1]];
    let (a, b) = ((y0 - y1) / (x0 - x1), (y2 - y1) / (x2 - x1));
    let bend = (b - a) / (x2 - x0);
    if bend > 0.0 { (x0 + x1) / 2.0 - a / (2.0 * bend) } else { x1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_told_in_words() {
        let half = 0.5f64.sqrt();
        assert_eq!(words(&["mass[a]", "length"], &[half, -half], &[true, true]), "only mass[a] x length is determined");
        assert_eq!(words(&["mass[a]", "stiffness"], &[half, half], &[true, true]), "only mass[a] / stiffness is determined");
        assert_eq!(words(&["a", "b"], &[2.0, -1.0], &[true, true]), "only a x b^2 is determined");
        assert_eq!(words(&["a", "b"], &[half, -half], &[false, false]), "only a + b is determined");
        assert_eq!(words(&["a"], &[1.0], &[false]), "a is not determined");
    }

    #[test]
    fn the_vertex_of_a_parabola_is_found() {
        let place = |i: usize| 0.1 * i as f64;
        let costs: Vec<f64> = (0..8).map(|i| (place(i) - 0.333).powi(2) + 1.0).collect();
        assert!((least(&costs, &place) - 0.333).abs() < 1e-12);
    }
}
