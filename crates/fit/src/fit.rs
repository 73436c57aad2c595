//! A fit: motions in, values out, with what is known about them.

use crate::complaint::{Complaint, bad, unknown};
use crate::coordinate::{Coordinates, spread};
use crate::keep::Kept;
use crate::motion::{Compare, Motion, QUANTITIES, Table};
use crate::noise::noise;
use crate::problem::{Point, Problem};
use crate::report::Fit;
use crate::search::{Choices, Found, Loss, Progress, Status, cost, search};
use crate::surface::Surface;
use crate::variable::{Start, Variable, split};
use carom_dynamics::Interrupt;
use carom_dynamics::gradient::Weak;
use carom_geometry::Geometry;
use std::path::PathBuf;
use std::time::Instant;

/// Of the motion itself, a misfit that is rounding.
const ROUNDING: f64 = 1e-9;
/// Parts of the motions over which a search that starts from afar grows.
const HORIZONS: [f64; 4] = [0.1, 0.25, 0.5, 1.0];
/// Weights with which windows are joined, one after the other.
const JOINED: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
/// Searches that are added where one search ends with more misfit than noise.
pub(crate) const MORE: usize = 4;
/// Steps times coordinates up to which they are added unasked.
const CHEAP: usize = 60_000;
/// On a rough landscape steps below this size of the coordinates are not worth a run.
const ROUGH: f64 = 1e-3;
/// Slopes over finite steps where tangents lead no further.
const FINITE: [f64; 2] = [0.05, 2e-3];
/// Most iterations with them, and the gain that makes them count.
pub(crate) const FURTHER: usize = 30;
const GAIN: f64 = 1e-4;

/// Better minima that are followed, one after the other.
const LOWER: usize = 6;

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
    /// Length of windows \[s\].
    pub shooting: Option<f64>,
    /// `huber` or `cauchy`.
    pub robust: Option<String>,
    /// Compare rotations.
    pub rotations: bool,
    /// Compare velocities.
    pub velocities: bool,
    /// Rows up to this time only \[s\].
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
                QUANTITIES,
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

    let compare = Compare {
        rotations: ask.rotations,
        velocities: ask.velocities,
        until: ask.until,
        scene_start,
        initial: ask.initial,
        windows: ask.shooting.is_some(),
    };
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
        bounds: &bounds,
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
    let mut hunt = Hunt {
        problem,
        ask,
        bounds: &bounds,
        window,
        labels: &labels,
        first: coordinates.of(&first),
        noises,
        numbers,
        free,
        surface: None,
    };
    let kept = Kept::open(ask.path.as_deref(), &hunt.key(tables))?;
    hunt.run(kept, first, warnings, clock, tell)
}

/// All searches of a fit.
pub(crate) struct Hunt<'a, G: Geometry> {
    pub(crate) problem: Problem<'a, G>,
    pub(crate) ask: &'a Ask,
    pub(crate) bounds: &'a [[f64; 2]],
    pub(crate) window: Option<usize>,
    pub(crate) labels: &'a [String],
    pub(crate) first: Vec<f64>,
    pub(crate) noises: [Option<f64>; QUANTITIES.len()],
    pub(crate) numbers: usize,
    pub(crate) free: usize,
    /// What the last rough search saw about its end.
    pub(crate) surface: Option<Surface>,
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
    pub(crate) fn noise(&self, counts: &[usize; QUANTITIES.len()]) -> Option<f64> {
        let mut sum = 0.0;
        for (k, count) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            sum += *count as f64 * (self.problem.weights[k] * self.noises[k]?).powi(2);
        }
        Some((sum / counts.iter().sum::<usize>() as f64).sqrt())
    }

    /// One search: windows first where they are asked for, growing horizons where `grow`, then the whole motions.
    fn search(
        &mut self,
        number: usize,
        y: &[f64],
        grow: bool,
        fixed: Option<Loss>,
        tell: &mut dyn FnMut(&[String], usize, Progress<'_>),
    ) -> Result<(Found<G>, Loss), Complaint> {
        let (mut point, mut iterations) = (self.point(y), 0);
        let shared = self.problem.shared;
        let rough = self.problem.motions.len() > 1 && self.ask.robust.is_some();
        let mut hear = |hunt: &Self, iteration: usize, cost: f64, point: &Point<G>| {
            let values = hunt.problem.coordinates.values(&[&point.shared[..], &hunt.first[shared..]].concat());
            tell(hunt.labels, hunt.numbers, Progress { search: number, iteration, cost, values: &values[..shared] });
        };
        let base = Choices { loss: Loss::Square, bounds: self.bounds, most: self.ask.iterations, clip: true, enough: 0.0, reach: None };
        if let Some(window) = self.window {
            let cut = Problem { window: Some(window), ..self.problem.clone() };
            point.states =
                (0..self.problem.motions.len()).map(|m| self.cut(&cut, m, &point)).collect::<Option<_>>().unwrap_or(point.states);
            let loss = match fixed {
                Some(loss) => loss,
                None => {
                    let start = self.point(y);
                    self.scaled(&start)?
                }
            };
            for joined in JOINED {
                let problem = Problem { joined, weights: self.problem.weights, ..cut.clone() };
                let found = search(&problem, point, &Choices { loss, enough: ROUGH, ..base.clone() }, &mut |_, _, _| {});
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
        if rough {
            let (mut found, loss) = self.rough(point, fixed, &base, &mut hear)?;
            found.iterations += iterations;
            return Ok((found, loss));
        }
        let loss = match fixed {
            Some(loss) => loss,
            None => self.scaled(&point)?,
        };
        let choices = Choices { loss, clip: false, ..base };
        let mut found = search(&self.problem, point, &choices, &mut |i, c, p| hear(self, i, c, p));
        // Tangents may lead astray where bodies stick for a step of their way: with noise in the data the last word is that of slopes over finite steps.
        let stuck = found.status == Status::Stuck;
        if stuck || (found.status.settled() && self.misfit(&found.point).is_some_and(|m| m.noise.is_some_and(|n| n > ROUNDING))) {
            let choices = Choices { reach: Some(FINITE), most: FURTHER, ..choices };
            let further = search(&self.problem, found.point.clone(), &choices, &mut |i, c, p| hear(self, i, c, p));
            let gained = found.cost - further.cost > GAIN * found.cost;
            if further.status == Status::Smooth && (gained || stuck && further.cost <= found.cost) {
                iterations += found.iterations;
                // Slopes that reach that far end near a minimum; tangents end in it.
                let last = self.polished(further.point.clone(), loss, further.status);
                iterations += last.iterations;
                found = if last.cost < further.cost { last } else { further };
            }
        }
        found.iterations += iterations;
        Ok((found, loss))
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
        let mut surfaces: Vec<(usize, Surface)> = Vec::new();
        let [from, count] = self.ask.only.unwrap_or([0, self.ask.starts.max(1)]);
        let mut wanted: Vec<(usize, bool)> = (from..from + count).map(|k| (k, k > 0)).collect();
        let mut next = 0;
        // The first search decides how differences count, for all of them.
        let mut fixed: Option<Loss> = None;
        while next < wanted.len() && !self.problem.interrupt.raised() {
            let (number, grow) = wanted[next];
            next += 1;
            let y = spread(&self.first, self.bounds, self.problem.coordinates, if number == usize::MAX { 0 } else { number });
            let (found, loss) = match kept.take(number, self.problem.motions, self.problem.shared) {
                Some(mut found) => {
                    let loss = match fixed {
                        Some(loss) => loss,
                        None => self.scaled(&found.point)?,
                    };
                    found.cost = cost(&self.problem, &found.point, loss).unwrap_or(found.cost);
                    (found, loss)
                }
                None => self.search(number, &y, grow, fixed, tell)?,
            };
            fixed = Some(loss);
            surfaces.extend(self.surface.take().map(|s| (number, s)));
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
        let Some((number, mut best, loss)) = done.first().cloned() else {
            return Err(bad("stopped before the first search".to_string(), "let it run"));
        };
        self.surface = surfaces.into_iter().find(|s| s.0 == number).map(|s| s.1);
        let mut known = self.known(&best, loss);
        for _ in 0..LOWER {
            // A walk to the edge of an interval that comes by a lower place says where to search again.
            let Some(point) = known.1.take().filter(|_| best.status.settled()) else { break };
            let mut found = self.polished(point, loss, best.status);
            if found.cost.is_nan() || found.cost >= best.cost {
                break;
            }
            found.iterations += best.iterations;
            best = found;
            done[0].1 = best.clone();
            known = self.known(&best, loss);
        }
        Ok(self.report(&done, &best, &known.0, &first, &mut warnings, clock))
    }
}
