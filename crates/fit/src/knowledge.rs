//! What the data say about the parameters: which directions they determine, and how closely.
//!
//! The singular values are those of the Jacobian in units of the sizes of the coordinates, with what each motion has of its own eliminated. A direction
//! along which the 95 % interval would be wider than the coordinates are large is not determined (theory 22.3). Intervals are found by walking away from
//! the minimum along the line on which all other parameters follow, through impacts and whatever else comes: where the misfit is explained by noise until it
//! has risen by what noise allows (theory 22.4), otherwise by drawing motions anew from those there are and asking each time where along the line
//! the misfit is least (theory 22.5).

use crate::finite;
use crate::problem::{Point, Problem};
use crate::quantile::{part_below, student};
use crate::search::{self, Loss, blocks, gathered, parts};
use crate::surface::Surface;
use carom_geometry::Geometry;
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use serde::Serialize;

/// Over finite steps, eigenvalues below this part of the largest may be rounding by their tangents.
const NEARLY: f64 = 1e-3;
/// ...which then is at most this part of theirs.
const TANGENT: f64 = 1e-6;
/// Size of a value that is near zero.
const SMALL: f64 = 0.1;
/// Eigenvalues below this part of the largest are rounding.
const ROUNDING: f64 = 1e-14;
/// Entries of a direction below this part of its largest are left out of the words.
const PART: f64 = 0.1;
/// Ratios this close to one of small numbers are that.
const CLOSE: f64 = 0.02;
/// Most steps of a walk to the edge of an interval.
const WALK: usize = 8;
/// Part of the rise to the edge of an interval by which a place must lie lower to be a better minimum.
const LOWER: f64 = 0.02;
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
    /// Values at both ends of the 95 % interval; nothing where the data give none.
    pub intervals: Vec<Option<[f64; 2]>>,
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

/// Whether all entries are one.
fn same(direction: &[f64]) -> bool {
    direction.iter().all(|x| (x / direction[0] - 1.0).abs() < CLOSE)
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
        [rest @ .., last] if rest.len() > 1 && logs.iter().all(|l| *l) && same(direction) => {
            format!("only the ratios of {} and {last} are determined", rest.join(", "))
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
    /// What is known at a point. `deviation`: of a residual; `freedom`: residuals less parameters; `explained`: whether noise explains the misfit; `reach`: how
    /// far slopes reach where those of tangents say little. With it a point that a walk came by and that is better, where there is one.
    #[allow(clippy::too_many_arguments)]
    pub fn at<G: Geometry>(
        problem: &Problem<'_, G>,
        point: &Point<G>,
        loss: Loss,
        bounds: &[[f64; 2]],
        labels: &[String],
        deviation: f64,
        freedom: usize,
        explained: bool,
        reach: Option<f64>,
        surface: Option<&Surface>,
    ) -> Option<(Self, Option<Point<G>>)> {
        let shared = problem.shared;
        if shared == 0 {
            // Starts alone are fitted: there is no direction that all motions share.
            return None;
        }
        let scales: Vec<f64> = (0..shared).map(|k| problem.coordinates.scale(k, point.shared[k])).collect();
        // By tangents, or over finite steps where the search needed them; what a parabola was laid through is known by it.
        let (now, parts) = match reach.filter(|_| surface.is_none()) {
            None if surface.is_some() => (0.0, Vec::new()),
            Some(reach) => finite::parts(problem, point, loss, &vec![reach; shared + 1])?,
            None => {
                let all = blocks(problem, point, true)?;
                (all.iter().map(|b| loss.of(b)).sum(), parts(&all, loss, shared, &scales, !explained))
            }
        };
        let reduced = parts.iter().map(|p| p.eliminated(0.0)).collect::<Option<Vec<_>>>()?;
        let (mut matrix, _) = gathered(&reduced, shared);
        if let Some(curvature) = surface.and_then(Surface::curvature) {
            matrix = curvature;
        }
        let in_sizes = |matrix: &DMatrix<f64>| DMatrix::from_fn(shared, shared, |i, j| matrix[(i, j)] * scales[i] * scales[j]);
        let scaled = in_sizes(&matrix);
        // What finite steps only nearly leave open is left open where tangents say so to rounding.
        let tangents = match reach.filter(|_| surface.is_none()) {
            None => None,
            Some(_) => {
                let parts = search::parts(&blocks(problem, point, true)?, loss, shared, &scales, false);
                let reduced = parts.iter().map(|p| p.eliminated(0.0)).collect::<Option<Vec<_>>>()?;
                Some(in_sizes(&gathered(&reduced, shared).0))
            }
        };
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
            let null = |t: &DMatrix<f64>| value <= NEARLY * largest && (t * vector).dot(&vector) <= TANGENT * t.trace();
            let wide = value <= ROUNDING * largest || largest == 0.0 || vague || tangents.as_ref().is_some_and(null);
            if !wide {
                inverse += vector * vector.transpose() / value;
                continue;
            }
            let most = vector.amax();
            let taking: Vec<usize> = (0..shared).filter(|j| vector[*j].abs() > PART * most).collect();
            taking.iter().for_each(|j| open[*j] = true);
            // In values where all coordinates are plain; in factors otherwise.
            let plain = taking.iter().all(|j| !problem.coordinates.is_log(*j));
            let logs = vec![!plain; taking.len()];
            let direction: Vec<f64> = taking
                .iter()
                .map(|j| {
                    vector[*j] * if problem.coordinates.is_log(*j) { 1.0 } else { scales[*j] / if plain { 1.0 } else { point.shared[*j] } }
                })
                .collect();
            let names: Vec<&str> = taking.iter().map(|j| labels[*j].as_str()).collect();
            out.open.push(Open {
                words: words(&names, &direction, &logs),
                parameters: names.iter().map(|n| (*n).to_string()).zip(direction.iter().copied()).collect(),
                singular: if largest > 0.0 { (value / largest).sqrt() } else { 0.0 },
            });
        }
        let draw = !explained && problem.motions.len() >= DRAW_FROM;
        let y: Vec<f64> = [&point.shared[..], &vec![0.0; problem.variables.len() - shared]].concat();
        let values = problem.coordinates.values(&y);
        // Slopes of the values by the scaled coordinates; moments of inertia are sums of two.
        let mut slopes = DMatrix::<f64>::zeros(shared, shared);
        for j in 0..shared {
            problem.coordinates.slopes(&y, j).into_iter().for_each(|(value, slope)| slopes[(value, j)] = slope * scales[j]);
        }
        let drawn: Vec<Vec<f64>> = surface.filter(|_| draw).map(Surface::drawn).unwrap_or_default();
        let room = problem.coordinates.value_bounds(&bounds[..shared]);
        let mut lower: Option<(f64, Point<G>)> = None;
        for k in 0..shared {
            let slope = slopes.row(k).transpose();
            let follow = &inverse * &slope;
            let variance = slope.dot(&follow);
            let blind = (0..shared).any(|j| open[j] && slope[j] != 0.0);
            if blind || variance.is_nan() || variance <= 0.0 || freedom == 0 || !quantile.is_finite() {
                out.intervals.push(None);
                continue;
            }
            // The line on which the others follow, in units of this value.
            let line = DVector::from_fn(shared, |j, _| follow[j] / variance * scales[j]);
            let own: Vec<Vec<f64>> = reduced.iter().map(|r| r.own(&line, false)).collect();
            let walk = Walk { problem, point, line: &line, own: &own, bounds, loss };
            let half = quantile * deviation * variance.sqrt();
            let [low, high] = room[k];
            if !drawn.is_empty() {
                out.how = "bootstrap of motions";
                let whole = |there: &Vec<f64>| [&there[..], &y[shared..]].concat();
                let mut all: Vec<f64> = drawn.iter().map(|there| problem.coordinates.values(&whole(there))[k]).collect();
                all.sort_by(f64::total_cmp);
                out.intervals.push(Some([part_below(&all, 0.025).min(values[k]), part_below(&all, 0.975).max(values[k])]));
                continue;
            }
            let ends = if draw && surface.is_none() {
                out.how = "bootstrap of motions";
                walk.drawn(now, half, [low - values[k], high - values[k]], values[k].abs().max(SMALL))
            } else if reach.is_some() {
                out.how = "slopes over finite steps";
                [-half, half]
            } else {
                let rise = 0.5 * (quantile * deviation).powi(2);
                let ends = [-1.0, 1.0].map(|sign| walk.edge(now, rise, half, sign));
                for (cost, distance) in ends.iter().filter_map(|end| end.1) {
                    if lower.as_ref().is_none_or(|l| cost < l.0) {
                        lower = walk.at(distance).map(|there| (cost, there)).or(lower);
                    }
                }
                // The valley may bend away from the line: what the parabola says is the least.
                [-ends[0].0.max(half), ends[1].0.max(half)]
            };
            // Along a logarithm both ends are factors.
            let at = |distance: f64| {
                let there: Vec<f64> = y.iter().enumerate().map(|(j, y)| if j < shared { y + line[j] * distance } else { *y }).collect();
                problem.coordinates.values(&there)[k].clamp(low, high)
            };
            out.intervals.push(Some(ends.map(at)));
        }
        Some((out, lower.map(|l| l.1)))
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
    /// The point at a distance along the line.
    fn at(&self, distance: f64) -> Option<Point<G>> {
        let shared: Vec<f64> = self.line.iter().map(|x| x * distance).collect();
        let own: Vec<Vec<f64>> = self.own.iter().map(|one| one.iter().map(|x| x * distance).collect()).collect();
        self.problem.moved(self.point, &shared, &own, self.bounds)
    }

    /// Costs of the motions at a distance along the line.
    fn costs(&self, distance: f64) -> Option<Vec<f64>> {
        let there = self.at(distance)?;
        Some(blocks(self.problem, &there, false)?.iter().map(|b| self.loss.of(b)).collect())
    }

    /// How far the cost may be followed until it has risen so much; `half` is what a parabola says. With it the place on the way where it is lower than at
    /// the point itself, by a part of that rise that counts.
    fn edge(&self, now: f64, rise: f64, half: f64, sign: f64) -> (f64, Option<(f64, f64)>) {
        let (mut below, mut above, mut here) = (0.0, f64::INFINITY, half);
        let mut least: Option<(f64, f64)> = None;
        for _ in 0..WALK {
            let Some(costs) = self.costs(sign * here) else { return (half, least) };
            let cost: f64 = costs.iter().sum();
            let found = (cost - now) / rise;
            if found < -LOWER && least.is_none_or(|l| cost < l.0) {
                least = Some((cost, sign * here));
            }
            if found > 0.0 && (found.sqrt() - 1.0).abs() < 0.05 {
                return (here / found.sqrt(), least);
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
        (here, least)
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
        assert_eq!(words(&["m", "k", "c"], &[0.577, 0.578, 0.577], &[true; 3]), "only the ratios of m, k and c are determined");
        assert_eq!(words(&["a"], &[1.0], &[false]), "a is not determined");
    }

    #[test]
    fn the_vertex_of_a_parabola_is_found() {
        let place = |i: usize| 0.1 * i as f64;
        let costs: Vec<f64> = (0..8).map(|i| (place(i) - 0.333).powi(2) + 1.0).collect();
        assert!((least(&costs, &place) - 0.333).abs() < 1e-12);
    }
}
