//! A fit: motions in, values out, with what is known about them.

use crate::complaint::{Complaint, bad, unknown};
use crate::coordinate::Coordinates;
use crate::keep::Kept;
use crate::knowledge::{Knowledge, Open};
use crate::motion::{Compare, Motion, QUANTITIES, Table};
use crate::noise::noise;
use crate::problem::{Point, Problem};
use crate::search::{Choices, Found, Loss, Progress, Status, blocks, search};
use crate::variable::{Start, Variable, split};
use carom_dynamics::Interrupt;
use carom_dynamics::gradient::Weak;
use carom_geometry::Geometry;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// A misfit of more than so many times the noise is not explained by it.
const ABOVE_NOISE: f64 = 3.0;
/// Of the motion itself, a misfit that is rounding.
const ROUNDING: f64 = 1e-9;
/// Parts of the motions over which a search that starts from afar grows.
const HORIZONS: [f64; 4] = [0.1, 0.25, 0.5, 1.0];
/// Weights with which windows are joined, one after the other.
const JOINED: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
/// Searches that are added where one search ends with more misfit than noise.
const MORE: usize = 4;
/// Steps times coordinates up to which they are added unasked.
const CHEAP: usize = 60_000;
/// Minima closer than this, of the sizes of their coordinates, are one.
const SAME: f64 = 1e-2;
/// On a rough landscape steps below this size of the coordinates are not worth a run.
const ROUGH: f64 = 1e-3;
/// Factor within which starts are spread where there are no bounds.
const SPREAD: f64 = 10.0;
/// Of the deviation of robust losses: 95 % as efficient as squares where the noise is normal.
const HUBER: f64 = 1.345;
const CAUCHY: f64 = 2.385;

/// What is asked of a fit.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Parameters, `mass[a]`, `pair_friction[a, b]`; several may stand in one text with commas between.
    pub parameters: Vec<String>,
    /// Those of them that are searched for by their logarithm.
    pub log: Vec<String>,
    /// Those that every motion has of its own.
    pub per_motion: Vec<String>,
    /// Where to start, by name.
    pub start: Vec<(String, f64)>,
    /// Bounds, by name; either side may be infinite.
    pub bounds: Vec<(String, [f64; 2])>,
    /// Weights of quantities, by name; where none is given they are those of the noise.
    pub weights: Vec<(String, f64)>,
    /// Whether the starts of the motions are fitted too.
    pub initial: bool,
    /// Searches from different starts.
    pub starts: usize,
    /// The first of them that is done here, and how many: all where absent.
    pub only: Option<[usize; 2]>,
    /// Length of windows [s].
    pub shooting: Option<f64>,
    /// `huber` or `cauchy`.
    pub robust: Option<String>,
    /// Compare rotations.
    pub rotations: bool,
    /// Compare velocities.
    pub velocities: bool,
    /// Rows up to this time only [s].
    pub until: f64,
    /// Most iterations of a search.
    pub iterations: usize,
    /// What derivatives are at a switch.
    pub weak: Weak,
    /// Keeps finished searches here, and goes on from them.
    pub path: Option<PathBuf>,
}

impl Default for Ask {
    fn default() -> Self {
        Ask {
            parameters: Vec::new(),
            log: Vec::new(),
            per_motion: Vec::new(),
            start: Vec::new(),
            bounds: Vec::new(),
            weights: Vec::new(),
            initial: false,
            starts: 1,
            only: None,
            shooting: None,
            robust: None,
            rotations: true,
            velocities: true,
            until: f64::INFINITY,
            iterations: 100,
            weak: Weak::AsSolved,
            path: None,
        }
    }
}

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

/// The variables that texts name, each once.
fn variables<G: Geometry>(texts: &[String], start: &Start<G>) -> Result<Vec<Variable>, Complaint> {
    let mut out: Vec<Variable> = Vec::new();
    for text in texts.iter().flat_map(|list| split(list)) {
        for variable in start.resolve(text)? {
            if variable.label == "step" {
                return Err(bad("the step cannot be fitted".to_string(), "the measured times are counted in steps"));
            }
            if variable.is_turn::<G>() {
                return Err(bad(
                    format!("{}: a turn in space cannot be fitted alone", variable.label),
                    "fit the whole start (initial), positions, velocities or parameters",
                ));
            }
            if out.iter().any(|v| v.label == variable.label) {
                return Err(bad(format!("{} is named twice", variable.label), "name it once"));
            }
            out.push(variable);
        }
    }
    Ok(out)
}

/// The variables that a name in an option means.
fn meant<G: Geometry>(option: &str, name: &str, start: &Start<G>, variables: &[Variable]) -> Result<Vec<usize>, Complaint> {
    let meant = start.resolve(name.trim())?;
    let found: Vec<usize> = (0..variables.len()).filter(|k| meant.iter().any(|m| m.label == variables[*k].label)).collect();
    if found.is_empty() {
        let known: Vec<&str> = variables.iter().map(|v| v.label.as_str()).collect();
        return Err(bad(format!("{option}: \"{name}\" is not among the parameters"), format!("they are {}", known.join(", "))));
    }
    Ok(found)
}

fn weights<G: Geometry>(ask: &Ask, motions: &[Motion<G>]) -> Result<([f64; QUANTITIES.len()], [Option<f64>; QUANTITIES.len()]), Complaint> {
    let noise = noise(motions);
    let mut out = [1.0; QUANTITIES.len()];
    for (name, weight) in &ask.weights {
        let Some(place) = QUANTITIES.iter().position(|q| q == name) else {
            return Err(unknown(
                format!("weights: no quantity \"{name}\""),
                name,
                QUANTITIES.into_iter(),
                &format!("quantities: {}", QUANTITIES.join(", ")),
            ));
        };
        if !(weight.is_finite() && *weight >= 0.0) {
            return Err(bad(format!("weights: {name}: found {weight}"), "a weight is a number >= 0"));
        }
        out[place] = *weight;
    }
    let mut there = [false; QUANTITIES.len()];
    motions.iter().flat_map(|m| &m.moments).flat_map(|m| &m.samples).for_each(|s| there[s.quantity()] = true);
    let judged: Vec<usize> = (0..QUANTITIES.len()).filter(|k| there[*k]).collect();
    // Unless they are given, quantities weigh by their noise; the first one counts as it is.
    let all = judged.iter().all(|k| noise[*k].is_some_and(|n| n > ROUNDING));
    if ask.weights.is_empty() && judged.len() > 1 && all {
        let first = noise[judged[0]].unwrap_or(1.0);
        judged.iter().for_each(|k| out[*k] = first / noise[*k].unwrap_or(first));
    }
    Ok((out, noise))
}

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
fn spread(first: &[f64], bounds: &[[f64; 2]], coordinates: &Coordinates, k: usize) -> Vec<f64> {
    let one = |j: usize| {
        let u = mirrored(k, PRIMES[j % PRIMES.len()]);
        let ([low, high], at) = (bounds[j], first[j]);
        let wide = if coordinates.is_log(j) { SPREAD.ln() } else { 2.0 * coordinates.scale(j, at) };
        let (a, b) = (low.max(at - wide), high.min(at + wide));
        a + u * (b - a)
    };
    if k == 0 { first.to_vec() } else { (0..first.len()).map(one).collect() }
}

/// Fits a scene to motions. `tell` hears of every iteration.
///
/// # Errors
/// Names, data or options that make no sense; each is named.
pub fn fit<G: Geometry>(
    start: Start<G>,
    tables: &[Table],
    ask: &Ask,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&[String], usize, Progress<'_>),
) -> Result<Fit, Complaint> {
    let clock = Instant::now();
    let names: Vec<String> = ask.parameters.iter().chain(&ask.per_motion).flat_map(|list| split(list)).map(str::to_string).collect();
    let start = start.with_pairs(names.iter().map(String::as_str))?;
    if tables.is_empty() {
        return Err(bad("no motions".to_string(), "give at least one"));
    }
    let own = variables(&ask.per_motion, &start)?;
    let mut all = variables(&ask.parameters, &start)?;
    all.retain(|v| own.iter().all(|o| o.label != v.label));
    let shared = all.len();
    all.extend(own);
    if all.is_empty() && !ask.initial {
        return Err(bad("no parameters".to_string(), "name what may change"));
    }
    let scene_start = all.iter().any(Variable::is_state);
    if scene_start && ask.initial {
        return Err(bad("initial fits all of the start".to_string(), "leave q and v out of the parameters, or initial"));
    }
    let mut ranges: Vec<[f64; 2]> = all.iter().map(Variable::range).collect();
    for (name, [low, high]) in &ask.bounds {
        for k in meant("bounds", name, &start, &all)? {
            ranges[k] = [if low.is_finite() { *low } else { ranges[k][0] }, if high.is_finite() { *high } else { ranges[k][1] }];
            if ranges[k][0] >= ranges[k][1] {
                let [low, high] = ranges[k];
                return Err(bad(format!("bounds: {} would lie between {low} and {high}", all[k].label), "the lower one comes first"));
            }
        }
    }
    let mut log = vec![false; all.len()];
    for name in ask.log.iter().flat_map(|list| split(list)) {
        meant("log", name, &start, &all)?.into_iter().for_each(|k| log[k] = true);
    }
    let mut first: Vec<f64> = all.iter().map(|v| v.value).collect();
    for (name, value) in &ask.start {
        meant("start", name, &start, &all)?.into_iter().for_each(|k| first[k] = *value);
    }
    first.iter_mut().zip(&ranges).for_each(|(x, [low, high])| *x = x.max(*low).min(*high));
    if let Some(k) = (0..all.len()).find(|k| log[*k] && first[*k] <= 0.0) {
        return Err(bad(format!("log: {} starts at {}", all[k].label, first[k]), "a logarithm needs a start above 0"));
    }
    let charted: Vec<Variable> = all.iter().zip(&first).map(|(v, x)| v.at(*x)).collect();
    let coordinates = Coordinates::new(&charted, &log);
    start
        .with(&all, &first)
        .map_err(|error| bad(format!("the starting values make no scene: {error}"), "change the start or the bounds"))?;

    let compare = Compare { rotations: ask.rotations, velocities: ask.velocities, until: ask.until, scene_start };
    let (mut motions, mut warnings) = (Vec::new(), Vec::new());
    for table in tables {
        let (motion, notes) = Motion::read(table, &start, &compare)?;
        if motion.measured_start && table.v.is_empty() && table.joint_v.is_empty() && !ask.initial {
            warnings.push(format!(
                "{}: no velocities were measured; the run starts with the difference of its first rows (initial fits it)",
                motion.name
            ));
        }
        motions.push(motion);
        warnings.extend(notes);
    }
    let numbers: usize = motions.iter().map(Motion::count).sum();
    let (weights, noises) = weights(ask, &motions)?;
    let bounds = coordinates.bounds(&ranges);
    let window = match ask.shooting {
        Some(seconds) if !(seconds > 0.0 && seconds.is_finite()) => {
            return Err(bad(format!("shooting: found {seconds}"), "windows have a length above 0 [s]"));
        }
        other => other.map(|seconds| ((seconds / start.world.model().step).round() as usize).max(1)),
    };
    let problem = Problem {
        start: &start,
        variables: &all,
        shared,
        coordinates: &coordinates,
        motions: &motions,
        weights,
        initial: ask.initial,
        window: None,
        joined: 0.0,
        horizon: 1.0,
        weak: ask.weak,
        interrupt,
    };
    let free = shared + (0..motions.len()).map(|m| problem.locals(m)).sum::<usize>();
    if numbers < free {
        return Err(bad(format!("{numbers} measured numbers for {free} parameters"), "give at least as many as parameters"));
    }
    let labels: Vec<String> = all.iter().map(|v| v.label.clone()).collect();
    let mut hunt = Hunt { problem, ask, bounds: &bounds, window, labels: &labels, first: coordinates.of(&first), noises, numbers, free };
    let kept = Kept::open(ask.path.as_deref(), &hunt.key(tables))?;
    hunt.run(kept, first, warnings, clock, tell)
}

/// All searches of a fit.
struct Hunt<'a, G: Geometry> {
    problem: Problem<'a, G>,
    ask: &'a Ask,
    bounds: &'a [[f64; 2]],
    window: Option<usize>,
    labels: &'a [String],
    first: Vec<f64>,
    noises: [Option<f64>; QUANTITIES.len()],
    numbers: usize,
    free: usize,
}

impl<G: Geometry> Hunt<'_, G> {
    /// What a file of finished searches must be about.
    fn key(&self, tables: &[Table]) -> String {
        let sizes: Vec<String> = tables.iter().map(|t| format!("{}:{}", t.name, t.time.len())).collect();
        let Ask { robust, shooting, initial, iterations, .. } = self.ask;
        format!(
            "{:?} {:?} {:?} {robust:?} {shooting:?} {initial} {iterations} {:?} {}",
            self.labels,
            self.first,
            self.bounds,
            self.problem.weights,
            sizes.join(" ")
        )
    }

    /// The state from which a search starts.
    fn point(&self, y: &[f64]) -> Point<G> {
        let motions = self.problem.motions;
        let own = y[self.problem.shared..].to_vec();
        Point {
            shared: y[..self.problem.shared].to_vec(),
            own: vec![own; motions.len()],
            states: motions.iter().map(|m| vec![m.start.clone()]).collect(),
        }
    }

    /// The noise in units of the residuals, where every quantity lets it be judged.
    fn noise(&self, counts: &[usize; QUANTITIES.len()]) -> Option<f64> {
        let mut sum = 0.0;
        for (k, count) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            sum += *count as f64 * (self.problem.weights[k] * self.noises[k]?).powi(2);
        }
        Some((sum / counts.iter().sum::<usize>() as f64).sqrt())
    }

    /// The loss at a point: the size beyond which a robust one gives way is that of most of its residuals.
    fn loss(&self, point: &Point<G>) -> Result<Loss, Complaint> {
        let Some(name) = &self.ask.robust else { return Ok(Loss::Square) };
        let known = ["huber", "cauchy"];
        if !known.contains(&name.as_str()) {
            return Err(unknown(format!("robust: no loss \"{name}\""), name, known.into_iter(), "losses: huber, cauchy"));
        }
        let all = blocks(&self.problem, point, false).unwrap_or_default();
        let mut sizes: Vec<f64> = all.iter().flat_map(|b| &b.residuals[..b.data]).map(|r| r.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let deviation = sizes.get(sizes.len() / 2).map_or(1.0, |m| m / 0.6745).max(f64::MIN_POSITIVE);
        Ok(if name == "huber" { Loss::Huber(HUBER * deviation) } else { Loss::Cauchy(CAUCHY * deviation) })
    }

    /// One search: windows first where they are asked for, growing horizons where `grow`, then the whole motions.
    fn search(
        &self,
        number: usize,
        y: &[f64],
        grow: bool,
        tell: &mut dyn FnMut(&[String], usize, Progress<'_>),
    ) -> Result<(Found<G>, Loss), Complaint> {
        let (mut point, mut iterations) = (self.point(y), 0);
        let shared = self.problem.shared;
        let rough = self.problem.motions.len() > 1 && self.ask.robust.is_some();
        let mut hear = |iteration: usize, cost: f64, point: &Point<G>| {
            let values = self.problem.coordinates.values(&[&point.shared[..], &self.first[shared..]].concat());
            tell(self.labels, self.numbers, Progress { search: number, iteration, cost, values: &values[..shared] });
        };
        let base = Choices { loss: Loss::Square, bounds: self.bounds, most: self.ask.iterations, clip: true, enough: 0.0 };
        if let Some(window) = self.window {
            let cut = Problem { window: Some(window), ..self.problem.clone() };
            point.states =
                (0..self.problem.motions.len()).map(|m| self.cut(&cut, m, &point)).collect::<Option<_>>().unwrap_or(point.states);
            for joined in JOINED {
                let problem = Problem { joined, ..cut.clone() };
                let found = search(
                    &problem,
                    point,
                    &Choices { loss: self.loss(&self.point(y))?, enough: ROUGH, ..base.clone() },
                    &mut |_, _, _| {},
                );
                iterations += found.iterations;
                point = found.point;
            }
            point.states.iter_mut().for_each(|states| states.truncate(1));
        }
        if grow {
            for horizon in &HORIZONS[..HORIZONS.len() - 1] {
                let problem = Problem { horizon: *horizon, ..self.problem.clone() };
                let choices = Choices { enough: ROUGH, most: base.most.min(30), ..base.clone() };
                let found = search(&problem, point, &choices, &mut |_, _, _| {});
                iterations += found.iterations;
                point = found.point;
            }
        }
        let mut loss = self.loss(&point)?;
        if rough {
            // Slopes clipped first, with the scale of the loss set anew once it has come near.
            for _ in 0..2 {
                let found = search(&self.problem, point, &Choices { loss, enough: ROUGH, ..base.clone() }, &mut hear);
                iterations += found.iterations;
                point = found.point;
                loss = self.loss(&point)?;
            }
        }
        let enough = if rough { ROUGH } else { 0.0 };
        let mut found = search(&self.problem, point, &Choices { loss, clip: false, enough, ..base }, &mut hear);
        found.iterations += iterations;
        Ok((found, loss))
    }

    /// The states at the starts of windows: those measured there where a row has all of them, otherwise those of a run.
    fn cut(&self, problem: &Problem<'_, G>, m: usize, point: &Point<G>) -> Option<Vec<carom_dynamics::State<G>>> {
        let values = problem.values(m, point);
        let mut world = problem.start.with(problem.variables, &values).ok()?.world;
        world.set_state(point.states[m][0].clone()).ok()?;
        let mut out = Vec::new();
        let motion = &problem.motions[m];
        for [first, last] in problem.windows(m) {
            let state = crate::motion::seen_at(motion, first, &world).unwrap_or_else(|| world.state().clone());
            world.set_state(state.clone()).ok()?;
            out.push(state);
            for _ in first..last {
                world.step().ok()?;
            }
        }
        Some(out)
    }

    fn run(
        &mut self,
        mut kept: Kept,
        first: Vec<f64>,
        mut warnings: Vec<String>,
        clock: Instant,
        tell: &mut dyn FnMut(&[String], usize, Progress<'_>),
    ) -> Result<Fit, Complaint> {
        let cheap =
            self.problem.motions.iter().map(|m| m.steps).sum::<usize>() * (self.problem.shared + self.problem.locals(0) + 1) <= CHEAP;
        let mut done: Vec<(usize, Found<G>, Loss)> = Vec::new();
        let [from, count] = self.ask.only.unwrap_or([0, self.ask.starts.max(1)]);
        let mut wanted: Vec<(usize, bool)> = (from..from + count).map(|k| (k, k > 0)).collect();
        let mut next = 0;
        while next < wanted.len() && !self.problem.interrupt.raised() {
            let (number, grow) = wanted[next];
            next += 1;
            let y = spread(&self.first, self.bounds, self.problem.coordinates, if number == usize::MAX { 0 } else { number });
            let (found, loss) = match kept.take(number, self.problem.motions, self.problem.shared) {
                Some(found) => {
                    let loss = self.loss(&found.point)?;
                    (found, loss)
                }
                None => self.search(number, &y, grow, tell)?,
            };
            if !self.problem.interrupt.raised() {
                kept.put(number, &found)?;
            }
            done.push((number, found, loss));
            // One search alone that ends with more misfit than noise is not believed.
            let alone = wanted.len() == 1 && self.ask.starts <= 1 && self.ask.only.is_none();
            if alone
                && cheap
                && done[0].1.status != Status::Blind
                && done[0].1.status != Status::NoStart
                && self.misfit(&done[0].1.point).is_some_and(|m| !m.explained)
            {
                wanted.push((usize::MAX, true));
                wanted.extend((1..MORE).map(|k| (k, true)));
            }
        }
        done.sort_by(|a, b| a.1.cost.total_cmp(&b.1.cost));
        let Some((number, best, loss)) = done.first().cloned() else {
            return Err(bad("stopped before the first search".to_string(), "let it run"));
        };
        let _ = number;
        Ok(self.report(&done, &best, loss, &first, &mut warnings, clock))
    }

    /// Differences at a point, judged.
    fn misfit(&self, point: &Point<G>) -> Option<Misfit> {
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

    fn report(
        &self,
        done: &[(usize, Found<G>, Loss)],
        best: &Found<G>,
        loss: Loss,
        first: &[f64],
        warnings: &mut Vec<String>,
        clock: Instant,
    ) -> Fit {
        let shared = self.problem.shared;
        let y = [&best.point.shared[..], &self.first[shared..]].concat();
        let values = self.problem.coordinates.values(&y);
        let misfit = self.misfit(&best.point).unwrap_or_default();
        let freedom = self.numbers.saturating_sub(self.free);
        let deviation = (misfit.square / freedom.max(1) as f64).sqrt();
        let stopped = self.problem.interrupt.raised();
        let known = if stopped || best.status == Status::NoStart {
            None
        } else {
            Knowledge::at(&self.problem, &best.point, loss, self.bounds, self.labels, deviation, freedom, misfit.explained)
        };
        let known = known.unwrap_or_default();
        let ends = if known.intervals.is_empty() {
            vec![[f64::NEG_INFINITY, f64::INFINITY]; shared]
        } else {
            known.values(self.problem.coordinates, &y)
        };
        let finite = |x: f64| x.is_finite().then_some(x);
        let blind = |k: usize| known.intervals.get(k).is_none_or(|i| *i == self.bounds[k]);
        let parameters: Vec<Row> = (0..shared)
            .map(|k| Row {
                parameter: self.labels[k].clone(),
                start: first[k],
                value: values[k],
                interval: if blind(k) { [None, None] } else { ends[k].map(finite) },
                at_bound: y[k] <= self.bounds[k][0] || y[k] >= self.bounds[k][1],
            })
            .collect();
        let minima = self.minima(done, &known);
        let agree = minima.first().map_or(0, |m| m.searches.len());
        let settled = best.status.settled();
        let sure = if misfit.explained { settled || agree > 1 } else { agree > 1 };
        let blind = best.status == Status::Blind || (shared > 0 && known.open.len() == shared);
        let converged = sure && !stopped && !blind && best.status != Status::Iterations;
        let status = self.words(best, &misfit, &minima, converged, stopped, &known);
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
        let mut out: Vec<(Vec<f64>, Minimum)> = Vec::new();
        for (number, found, _) in done.iter().filter(|d| d.1.cost.is_finite()) {
            let y = &found.point.shared;
            let near = |k: usize, a: f64, b: f64| {
                let half = known.intervals.get(k).map_or(0.0, |[low, high]| (high - low) / 2.0);
                let half = if half.is_finite() { half / 2.0 } else { f64::INFINITY };
                (a - b).abs() <= half.max(SAME * self.problem.coordinates.scale(k, a))
            };
            let same = out.iter_mut().find(|(other, _)| (0..shared).all(|k| near(k, other[k], y[k])));
            let number = if *number == usize::MAX { MORE } else { *number };
            match same {
                Some((_, minimum)) => minimum.searches.push(number),
                None => {
                    let values = self.problem.coordinates.values(&[&y[..], &self.first[shared..]].concat())[..shared].to_vec();
                    let name = Status::ALL.iter().find(|s| s.0 == found.status).map_or("", |s| s.1);
                    let misfit = self.misfit(&found.point).map_or(f64::NAN, |m| m.rms);
                    out.push((y.clone(), Minimum { values, misfit, searches: vec![number], status: name.to_string() }));
                }
            }
        }
        out.into_iter().map(|o| o.1).collect()
    }

    fn words(&self, best: &Found<G>, misfit: &Misfit, minima: &[Minimum], converged: bool, stopped: bool, known: &Knowledge) -> String {
        let agree = minima.first().map_or(0, |m| m.searches.len());
        let all: usize = minima.iter().map(|m| m.searches.len()).sum();
        if stopped {
            return "not converged: stopped".to_string();
        }
        if best.status == Status::NoStart {
            return "not converged: the scene does not run with the starting values".to_string();
        }
        if best.status == Status::Blind || (self.problem.shared > 0 && known.open.len() == self.problem.shared) {
            return format!("not converged: the data do not depend on {}", self.labels[..self.problem.shared].join(", "));
        }
        let how = match best.status {
            Status::Gradient => "the misfit stands square to every parameter",
            Status::Step => "the last step changed no digit that counts",
            Status::Cost => "the misfit falls no further",
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
struct Misfit {
    sums: [f64; QUANTITIES.len()],
    counts: [usize; QUANTITIES.len()],
    square: f64,
    rms: f64,
    noise: Option<f64>,
    explained: bool,
}
