//! Searches over many motions that part from any run: robust losses, slopes over finite steps, a part of the motions first.

use crate::complaint::{Complaint, unknown};
use crate::fit::{FURTHER, Hunt};
use crate::motion::QUANTITIES;
use crate::problem::{Block, Point, Problem};
use crate::search::{Choices, Found, Loss, Status, blocks, cost, length, search, vectors};
use crate::surface::{MOST, Surface};
use carom_geometry::Geometry;

/// Of the deviation of robust losses: 95 % as efficient as squares where the noise is normal.
const HUBER: f64 = 1.345;
const CAUCHY: f64 = 2.385;
/// Median length of a normal vector of deviation one, by its numbers.
const MEDIANS: [f64; 3] = [0.6745, 1.1774, 1.5382];
/// Motions that the first part of a search takes, about.
const FEW: usize = 64;
/// How far slopes reach while few motions are looked at, and with all of them.
const COARSE: [f64; 2] = [0.25, 0.02];
const FINE: [f64; 2] = [0.25, 0.005];

/// Deviation of a number, quantity by quantity, by the middle length of its vectors.
fn deviations(all: &[Block]) -> [Option<f64>; QUANTITIES.len()] {
    let mut sizes: [Vec<f64>; QUANTITIES.len()] = Default::default();
    for block in all {
        let starts = std::iter::once(0).chain(block.ends.iter().copied());
        for (start, vector) in starts.zip(vectors(block)) {
            if let (Some(median), Some(quantity)) = (MEDIANS.get(vector.len().wrapping_sub(1)), block.quantities.get(start)) {
                sizes[*quantity].push(length(vector) / median);
            }
        }
    }
    sizes.map(|mut sizes| {
        sizes.sort_by(f64::total_cmp);
        sizes.get(sizes.len() / 2).copied().filter(|x| *x > 0.0)
    })
}

/// Hears of every iteration of a search: who searches, its number, what it costs and where it stands.
type Told<'a, Who, G> = dyn FnMut(&Who, usize, f64, &Point<G>) + 'a;

impl<G: Geometry> Hunt<'_, G> {
    /// A search by tangents from a point that is nearly a minimum; where a kink ends it, it ends as the search before it did.
    pub(crate) fn polished(&self, point: Point<G>, loss: Loss, status: Status) -> Found<G> {
        let choices = Choices { loss, bounds: self.bounds, most: FURTHER.min(self.ask.iterations), clip: false, enough: 0.0, reach: None };
        let mut found = search(&self.problem, point, &choices, &mut |_, _, _| {});
        if !found.status.settled() && status.settled() && found.status != Status::Stopped {
            found.status = status;
        }
        found
    }

    /// The states at the starts of windows: those measured there where a row has all of them, otherwise those of a run.
    pub(crate) fn cut(&self, problem: &Problem<'_, G>, m: usize, point: &Point<G>) -> Option<Vec<carom_dynamics::State<G>>> {
        let values = problem.values(m, point);
        let mut world = problem.start.with(problem.variables, &values).ok()?.world;
        world.set_state(point.states[m][0].clone()).ok()?;
        let mut out = Vec::new();
        let motion = &problem.motions[m];
        for [first, last] in problem.windows(m) {
            let seen = motion.seen.iter().find(|(step, _)| first > 0 && *step == first);
            let state = seen.map_or_else(|| world.state().clone(), |(_, state)| state.clone());
            world.set_state(state.clone()).ok()?;
            out.push(state);
            for _ in first..last {
                world.step().ok()?;
            }
        }
        Some(out)
    }

    /// The loss at a point. A robust one gives way beyond the size of most differences there; unless weights are given, quantities weigh by that size, for
    /// where such a loss is asked for it is the scene that misses, not the noise.
    pub(crate) fn scaled(&mut self, point: &Point<G>) -> Result<Loss, Complaint> {
        let Some(name) = self.ask.robust.clone() else { return Ok(Loss::Square) };
        let known = ["huber", "cauchy"];
        if !known.contains(&name.as_str()) {
            return Err(unknown(format!("robust: no loss \"{name}\""), &name, known, "losses: huber, cauchy"));
        }
        if self.ask.weights.is_empty() {
            self.problem.weights = [1.0; QUANTITIES.len()];
            let found = deviations(&blocks(&self.problem, point, false).unwrap_or_default());
            let first = found.iter().flatten().next().copied().unwrap_or(1.0);
            (0..QUANTITIES.len()).for_each(|k| self.problem.weights[k] = found[k].map_or(1.0, |d| first / d));
        }
        let found = deviations(&blocks(&self.problem, point, false).unwrap_or_default());
        let deviation = found.into_iter().flatten().fold(0.0, f64::max);
        let deviation = if deviation > 0.0 { deviation } else { 1.0 };
        Ok(if name == "huber" { Loss::Huber(HUBER * deviation) } else { Loss::Cauchy(CAUCHY * deviation) })
    }

    /// A search of a robust loss over many motions: over a part of them with slopes that reach far, then over all. `fixed` is the loss of the search before.
    pub(crate) fn rough(
        &mut self,
        mut point: Point<G>,
        fixed: Option<Loss>,
        base: &Choices<'_>,
        tell: &mut Told<'_, Self, G>,
    ) -> Result<(Found<G>, Loss), Complaint> {
        let mut loss = match fixed {
            Some(loss) => loss,
            None => self.scaled(&point)?,
        };
        let each = self.problem.motions.len().div_ceil(FEW);
        let few: Vec<_> = self.problem.motions.iter().step_by(each).cloned().collect();
        let some = Problem { motions: &few, ..self.problem.clone() };
        let start = Point {
            shared: point.shared.clone(),
            own: point.own.iter().step_by(each).cloned().collect(),
            states: point.states.iter().step_by(each).cloned().collect(),
        };
        let choices = Choices { loss, clip: false, reach: Some(COARSE), ..base.clone() };
        let found = search(&some, start, &choices, &mut |i, c, p| tell(self, i, c * each as f64, p));
        let iterations = found.iterations;
        if each == 1 {
            point = found.point;
        } else {
            point.shared = found.point.shared;
        }
        if fixed.is_none() {
            loss = self.scaled(&point)?;
        }
        self.surface = None;
        let owns = (0..self.problem.motions.len()).any(|m| self.problem.locals(m) > 0);
        if !owns && self.problem.shared <= MOST {
            let mut place = point.clone();
            let mut last = 0;
            let mut hear = |i: usize, c: f64, p: &Point<G>| {
                last = i;
                tell(self, i, c, p);
            };
            if let Some(surface) = Surface::find(&self.problem, &mut place, loss, &mut hear) {
                self.surface = Some(surface);
                let cost = cost(&self.problem, &place, loss).unwrap_or(f64::INFINITY);
                return Ok((Found { point: place, cost, iterations: iterations + last, status: Status::Smooth }, loss));
            }
        }
        let choices = Choices { loss, clip: false, reach: Some(FINE), ..base.clone() };
        let mut found = search(&self.problem, point, &choices, &mut |i, c, p| tell(self, i, c, p));
        found.iterations += iterations;
        Ok((found, loss))
    }
}
