//! What a fit has to say.

use crate::fit::{Hunt, MORE};
use crate::knowledge::{Knowledge, Open};
use crate::motion::{Motion, QUANTITIES};
use crate::problem::Point;
use crate::search::{Found, Loss, Status, blocks};
use carom_geometry::Geometry;
use serde::Serialize;
use std::time::Instant;

/// A misfit of more than so many times the noise is not explained by it.
const ABOVE_NOISE: f64 = 3.0;
/// Of the motion itself, a misfit that is rounding.
const ROUNDING: f64 = 1e-9;
/// Where a search needed slopes over finite steps, so do its intervals: over this part of the coordinates' sizes.
const REACH: f64 = 0.05;
/// Minima closer than this, of the sizes of their coordinates, are one.
const SAME: f64 = 1e-2;
/// Size of a value that is near zero.
const SMALL: f64 = 0.1;

/// One parameter.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub parameter: String,
    /// Where the search started.
    pub start: f64,
    /// What was found.
    pub value: f64,
    /// The ends of the 95 % interval; none where the data give it none.
    pub interval: [Option<f64>; 2],
    /// Whether it is at a bound.
    pub at_bound: bool,
}

/// A minimum that searches ended in.
#[derive(Clone, Debug, Serialize)]
pub struct Minimum {
    /// Values of the shared parameters.
    pub values: Vec<f64>,
    /// Misfit there.
    pub misfit: f64,
    /// Which searches ended there.
    pub searches: Vec<usize>,
    /// How the first of them ended.
    pub status: String,
}

/// What one quantity says.
#[derive(Clone, Debug, Serialize)]
pub struct Quantity {
    /// `position`, `rotation`, ...
    pub name: &'static str,
    /// Numbers of it.
    pub numbers: usize,
    /// Its weight.
    pub weight: f64,
    /// Root mean square of its differences, without the weight.
    pub misfit: f64,
    /// Standard deviation of its noise, judged from the data alone.
    pub noise: Option<f64>,
}

/// The outcome of a fit.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// Parameters that all motions share.
    pub parameters: Vec<Row>,
    /// Names of those that every motion has of its own, and their values motion by motion.
    pub per_motion: Vec<(String, Vec<f64>)>,
    /// Fitted starts, motion by motion: poses and velocities of all bodies.
    pub initial: Vec<(Vec<f64>, Vec<f64>)>,
    /// What the data do not determine.
    pub undetermined: Vec<Open>,
    /// Singular values of the scaled Jacobian.
    pub singular_values: Vec<f64>,
    /// How the intervals were found.
    pub intervals_by: &'static str,
    /// All minima, the best first.
    pub minima: Vec<Minimum>,
    /// Whether a minimum was found and restarts or the noise say that it is the one.
    pub converged: bool,
    /// In words.
    pub status: String,
    /// Weighted root mean square of the differences.
    pub misfit: f64,
    /// The same of the noise alone, where the data let it be judged.
    pub noise: Option<f64>,
    /// By quantity.
    pub quantities: Vec<Quantity>,
    /// What looks wrong.
    pub warnings: Vec<String>,
    /// Numbers that were compared.
    pub numbers: usize,
    /// Iterations of the best search.
    pub iterations: usize,
    /// Seconds of all.
    pub seconds: f64,
    /// Whether the user stopped it.
    pub stopped: bool,
}

impl<G: Geometry> Hunt<'_, G> {
    /// Differences at a point, judged.
    pub(crate) fn misfit(&self, point: &Point<G>) -> Option<Misfit> {
        let all = blocks(&self.problem, point, false)?;
        let (mut sums, mut counts) = ([0.0; QUANTITIES.len()], [0; QUANTITIES.len()]);
        for block in &all {
            for (r, q) in block.residuals[..block.data].iter().zip(&block.quantities) {
                sums[*q] += r * r;
                counts[*q] += 1;
            }
        }
        let square: f64 = sums.iter().sum();
        let rms = (square / self.numbers.max(1) as f64).sqrt();
        let noise = self.noise(&counts);
        let size =
            self.problem.motions.iter().flat_map(|m| &m.start.poses).map(|p| carom_math::Vector::norm(p.position)).fold(1.0, f64::max);
        let explained = noise.is_none_or(|noise| rms <= ABOVE_NOISE * noise + ROUNDING * size);
        Some(Misfit { sums, counts, square, rms, noise, explained })
    }

    /// Residuals less parameters, and the deviation of a residual.
    fn freedom(&self, misfit: &Misfit) -> (usize, f64) {
        let met: usize = if self.ask.initial { 0 } else { self.problem.motions.iter().map(Motion::met).sum() };
        let freedom = self.numbers.saturating_sub(self.free + met);
        (freedom, (misfit.square / freedom.max(1) as f64).sqrt())
    }

    /// What is known at the end of a search, and a better point where one was come by.
    pub(crate) fn known(&self, best: &Found<G>, loss: Loss) -> (Knowledge, Option<Point<G>>) {
        if self.problem.interrupt.raised() || best.status == Status::NoStart {
            return Default::default();
        }
        let misfit = self.misfit(&best.point).unwrap_or_default();
        let (freedom, deviation) = self.freedom(&misfit);
        // Where noise explains the misfit a minimum is as smooth as its tangents; otherwise slopes reach as far as they did in the search.
        let reach = (best.status == Status::Smooth && !misfit.explained).then_some(REACH);
        let surface = self.surface.as_ref();
        let (point, bounds) = (&best.point, self.bounds);
        let found = Knowledge::at(&self.problem, point, loss, bounds, self.labels, deviation, freedom, misfit.explained, reach, surface);
        found.unwrap_or_default()
    }

    pub(crate) fn report(
        &self,
        done: &[(usize, Found<G>, Loss)],
        best: &Found<G>,
        known: &Knowledge,
        first: &[f64],
        warnings: &mut Vec<String>,
        clock: Instant,
    ) -> Fit {
        let shared = self.problem.shared;
        let y = [&best.point.shared[..], &self.first[shared..]].concat();
        let values = self.problem.coordinates.values(&y);
        let misfit = self.misfit(&best.point).unwrap_or_default();
        let stopped = self.problem.interrupt.raised();
        let finite = |x: f64| x.is_finite().then_some(x);
        let parameters: Vec<Row> = (0..shared)
            .map(|k| Row {
                parameter: self.labels[k].clone(),
                start: first[k],
                value: values[k],
                interval: known.intervals.get(k).copied().flatten().map_or([None, None], |ends| ends.map(finite)),
                at_bound: y[k] <= self.bounds[k][0] || y[k] >= self.bounds[k][1],
            })
            .collect();
        let minima = self.minima(done, known);
        let agree = self.agree(&minima);
        let settled = best.status.settled();
        let sure = if misfit.explained { settled || agree > 1 } else { agree > 1 };
        let blind = best.status == Status::Blind || (shared > 0 && known.open.len() == shared);
        let converged = sure && !stopped && !blind && best.status != Status::Iterations;
        let status = self.words(best, &misfit, &minima, converged, stopped, known);
        if !misfit.explained
            && let Some(noise) = misfit.noise
        {
            warnings.push(format!(
                "the misfit {:.3e} is {:.3} times the noise {noise:.3e}: the scene does not explain the data to their noise",
                misfit.rms,
                misfit.rms / noise
            ));
        }
        if minima.len() > 1 {
            warnings.push(format!("{} minima: searches from different starts do not agree", minima.len()));
        }
        let own = (shared..self.labels.len()).map(|k| {
            let of = |m: usize| self.problem.values(m, &best.point)[k];
            (self.labels[k].clone(), (0..self.problem.motions.len()).map(of).collect())
        });
        let quantities = (0..QUANTITIES.len()).filter(|k| misfit.counts[*k] > 0).map(|k| Quantity {
            name: QUANTITIES[k],
            numbers: misfit.counts[k],
            weight: self.problem.weights[k],
            misfit: (misfit.sums[k] / misfit.counts[k] as f64).sqrt() / self.problem.weights[k].max(f64::MIN_POSITIVE),
            noise: self.noises[k],
        });
        let initial = if self.ask.initial { best.point.states.iter().map(|s| crate::keep::flat(&s[0])).collect() } else { Vec::new() };
        Fit {
            parameters,
            per_motion: own.collect(),
            initial,
            undetermined: known.open.clone(),
            singular_values: known.singular.clone(),
            intervals_by: known.how,
            minima,
            converged,
            status,
            misfit: misfit.rms,
            noise: misfit.noise,
            quantities: quantities.collect(),
            warnings: std::mem::take(warnings),
            numbers: self.numbers,
            iterations: best.iterations,
            seconds: clock.elapsed().as_secs_f64(),
            stopped,
        }
    }

    /// Searches that ended in the same place, the best first.
    fn minima(&self, done: &[(usize, Found<G>, Loss)], known: &Knowledge) -> Vec<Minimum> {
        let shared = self.problem.shared;
        let mut out: Vec<Minimum> = Vec::new();
        for (number, found, _) in done.iter().filter(|d| d.1.cost.is_finite()) {
            let values = self.problem.coordinates.values(&[&found.point.shared[..], &self.first[shared..]].concat())[..shared].to_vec();
            // Within half an interval of one another; what has none does not part them.
            let near = |k: usize, a: f64, b: f64| {
                let half = known.intervals.get(k).map_or(0.0, |i| i.map_or(f64::INFINITY, |[low, high]| (high - low) / 4.0));
                (a - b).abs() <= half.max(SAME * a.abs().max(SMALL))
            };
            let same = out.iter_mut().find(|other| (0..shared).all(|k| near(k, other.values[k], values[k])));
            let number = if *number == usize::MAX { MORE } else { *number };
            match same {
                Some(minimum) => minimum.searches.push(number),
                None => {
                    let name = Status::ALL.iter().find(|s| s.0 == found.status).map_or("", |s| s.1);
                    let misfit = self.misfit(&found.point).map_or(f64::NAN, |m| m.rms);
                    out.push(Minimum { values, misfit, searches: vec![number], status: name.to_string() });
                }
            }
        }
        out
    }

    /// Searches from different starts that ended in the best minimum; the one added from the given start is no other.
    fn agree(&self, minima: &[Minimum]) -> usize {
        let Some(best) = minima.first() else { return 0 };
        let twice = self.ask.starts <= 1 && best.searches.contains(&0) && best.searches.contains(&MORE);
        best.searches.len() - usize::from(twice)
    }

    fn words(&self, best: &Found<G>, misfit: &Misfit, minima: &[Minimum], converged: bool, stopped: bool, known: &Knowledge) -> String {
        let agree = self.agree(minima);
        let all: usize = minima.iter().map(|m| m.searches.len()).sum();
        if stopped {
            return "not converged: stopped".to_string();
        }
        if best.status == Status::NoStart {
            return "not converged: the scene does not run with the starting values".to_string();
        }
        if best.status == Status::Blind || (misfit.explained && self.problem.shared > 0 && known.open.len() == self.problem.shared) {
            return format!("not converged: the data do not depend on {}", self.labels[..self.problem.shared].join(", "));
        }
        let how = match best.status {
            Status::Gradient => "the misfit stands square to every parameter",
            Status::Step => "the last step changed no digit that counts",
            Status::Cost => "the misfit falls no further",
            Status::Smooth => "no step that is large enough to matter lowers the misfit",
            Status::Iterations => "all iterations taken",
            _ => "no step lowers the misfit; the runs may change abruptly here",
        };
        if converged && all > 1 {
            return format!("converged: {how}; {agree} of {all} searches agree");
        }
        if converged {
            return format!("converged: {how}");
        }
        if all == 1 && !misfit.explained {
            return format!("not converged: {how}, but one search alone cannot tell whether this misfit is the least; ask for more starts");
        }
        if all > 1 && agree < 2 {
            return format!("not converged: {all} searches ended in {} minima, the best of them once", minima.len());
        }
        format!("not converged: {how}")
    }
}

/// Differences by quantity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Misfit {
    pub(crate) sums: [f64; QUANTITIES.len()],
    pub(crate) counts: [usize; QUANTITIES.len()],
    pub(crate) square: f64,
    pub(crate) rms: f64,
    pub(crate) noise: Option<f64>,
    pub(crate) explained: bool,
}
