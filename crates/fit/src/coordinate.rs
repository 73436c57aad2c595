//! The coordinates in which parameters are searched for: every value of them is a physical one.
//!
//! Masses and planar moments of inertia by their logarithm. The three principal moments of a body in space by the logarithms of the second moments
//! (a, b, c) of its mass along the principal axes, of which they are the sums (b + c, a + c, a + b): so they obey the triangle inequality whatever is
//! tried (theory 22.2). With them the centre of mass is free.

use crate::variable::Variable;

/// How one coordinate makes values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Chart {
    Plain,
    Log,
    /// One of three second moments; the places of the moments of inertia, and which of them it has no part in.
    Second([usize; 3], usize),
}

/// Coordinates of a list of variables, one for each.
#[derive(Clone, Debug)]
pub struct Coordinates(Vec<Chart>);

/// Names that are searched for by their logarithm without being asked.
const LOGARITHMIC: [&str; 2] = ["mass", "inertia"];
/// A second moment is at least this part of the largest.
const LEAST: f64 = 1e-9;

impl Coordinates {
    /// Those of variables; `log` says which of them the user wants by their logarithm.
    pub fn new(variables: &[Variable], log: &[bool]) -> Self {
        let mut charts: Vec<Chart> = variables
            .iter()
            .zip(log)
            .map(|(v, log)| {
                let key = v.label.split(['[', '.']).next().unwrap_or_default();
                if (*log || LOGARITHMIC.contains(&key)) && v.value > 0.0 { Chart::Log } else { Chart::Plain }
            })
            .collect();
        for (first, variable) in variables.iter().enumerate() {
            let Some(stem) = variable.label.strip_prefix("inertia[").and_then(|_| variable.label.strip_suffix(".x")) else { continue };
            let find = |axis: &str| variables.iter().position(|v| v.label == format!("{stem}.{axis}"));
            if let (Some(y), Some(z)) = (find("y"), find("z")) {
                let all = [first, y, z];
                all.iter().enumerate().for_each(|(k, place)| charts[*place] = Chart::Second(all, k));
            }
        }
        Coordinates(charts)
    }

    /// Whether a coordinate is a logarithm: then a change of one is a factor of e.
    pub fn is_log(&self, k: usize) -> bool {
        self.0[k] != Chart::Plain
    }

    /// The values that coordinates stand for.
    pub fn values(&self, y: &[f64]) -> Vec<f64> {
        let second = |all: &[usize; 3], k: usize| y[all[k]].exp();
        self.0
            .iter()
            .enumerate()
            .map(|(i, chart)| match chart {
                Chart::Plain => y[i],
                Chart::Log => y[i].exp(),
                Chart::Second(all, k) => second(all, (k + 1) % 3) + second(all, (k + 2) % 3),
            })
            .collect()
    }

    /// The coordinates of values.
    pub fn of(&self, values: &[f64]) -> Vec<f64> {
        self.0
            .iter()
            .enumerate()
            .map(|(i, chart)| match chart {
                Chart::Plain => values[i],
                Chart::Log => values[i].max(f64::MIN_POSITIVE).ln(),
                Chart::Second(all, k) => {
                    let sum: f64 = all.iter().map(|place| values[*place]).sum();
                    (sum / 2.0 - values[all[*k]]).max(LEAST * sum).ln()
                }
            })
            .collect()
    }

    /// The changes of values with one coordinate: places and slopes.
    pub fn slopes(&self, y: &[f64], k: usize) -> Vec<(usize, f64)> {
        match self.0[k] {
            Chart::Plain => vec![(k, 1.0)],
            Chart::Log => vec![(k, y[k].exp())],
            Chart::Second(all, own) => (0..3).filter(|j| *j != own).map(|j| (all[j], y[k].exp())).collect(),
        }
    }

    /// Bounds of values as bounds of coordinates; second moments have none of their own.
    pub fn bounds(&self, bounds: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let log = |x: f64| if x > 0.0 { x.ln() } else { f64::NEG_INFINITY };
        self.0
            .iter()
            .zip(bounds)
            .map(|(chart, [low, high])| match chart {
                Chart::Plain => [*low, *high],
                Chart::Log => [log(*low), log(*high)],
                Chart::Second(..) => [f64::NEG_INFINITY, f64::INFINITY],
            })
            .collect()
    }

    /// Bounds of coordinates as bounds of values; those of moments of inertia are their own sign.
    pub fn value_bounds(&self, bounds: &[[f64; 2]]) -> Vec<[f64; 2]> {
        self.0
            .iter()
            .zip(bounds)
            .map(|(chart, [low, high])| match chart {
                Chart::Plain => [*low, *high],
                Chart::Log => [low.exp(), high.exp()],
                Chart::Second(..) => [0.0, f64::INFINITY],
            })
            .collect()
    }

    /// A size of a coordinate against which its changes count.
    pub fn scale(&self, k: usize, y: f64) -> f64 {
        /// Size of a plain coordinate that is near zero.
        const SMALL: f64 = 0.1;
        if self.is_log(k) { 1.0 } else { y.abs().max(SMALL) }
    }
}

/// Factor within which starts are spread where there are no bounds.
const SPREAD: f64 = 10.0;

/// A number between 0 and 1 by the digits of another in a prime base, mirrored at the point: evenly spread, and the same on every run.
fn mirrored(mut number: usize, base: usize) -> f64 {
    let (mut out, mut part) = (0.0, 1.0);
    while number > 0 {
        part /= base as f64;
        out += part * (number % base) as f64;
        number /= base;
    }
    out
}

const PRIMES: [usize; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// Start number `k` of a search: the first is the one given, the others are spread over the bounds, or about the given one.
pub(crate) fn spread(first: &[f64], bounds: &[[f64; 2]], coordinates: &Coordinates, k: usize) -> Vec<f64> {
    let one = |j: usize| {
        let u = mirrored(k, PRIMES[j % PRIMES.len()]);
        let ([low, high], at) = (bounds[j], first[j]);
        let wide = if coordinates.is_log(j) { SPREAD.ln() } else { 2.0 * coordinates.scale(j, at) };
        let (a, b) = (low.max(at - wide), high.min(at + wide));
        a + u * (b - a)
    };
    if k == 0 { first.to_vec() } else { (0..first.len()).map(one).collect() }
}
