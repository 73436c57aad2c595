//! How far runs are from what was measured, with the exact Jacobian from tangents.

use crate::coordinate::Coordinates;
use crate::motion::{Motion, QUANTITIES, Sample};
use crate::retract;
use crate::variable::{Start, Variable};
use carom_dynamics::gradient::{Direction, Rollout, Tape, Weak, Wrt};
use carom_dynamics::{Interrupt, State};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};

/// Tangents of a step up to this many are carried one by one; more by the matrix of the step.
const ONE_BY_ONE: usize = 3;
/// Step of the differences of joint coordinates by poses.
const STEP: f64 = 1e-6;

/// A column that a free state opens, and the poses and velocities it moves.
type Opened = (usize, Vec<f64>, Vec<f64>);

/// Where a search stands: coordinates that all motions share, those of each motion, and the states at the starts of its windows.
#[derive(Clone, Debug)]
pub struct Point<G: Geometry> {
    /// Shared coordinates.
    pub shared: Vec<f64>,
    /// Coordinates of each motion.
    pub own: Vec<Vec<f64>>,
    /// States at the starts of the windows of each motion.
    pub states: Vec<Vec<State<G>>>,
}

/// Motions that a scene is to repeat.
#[derive(Clone, Debug)]
pub struct Problem<'a, G: Geometry> {
    /// The scene at its start.
    pub start: &'a Start<G>,
    /// What may change: first what all motions share, then what each has of its own.
    pub variables: &'a [Variable],
    /// How many of them are shared.
    pub shared: usize,
    /// Their coordinates.
    pub coordinates: &'a Coordinates,
    /// What was measured.
    pub motions: &'a [Motion<G>],
    /// Weights of the quantities.
    pub weights: [f64; QUANTITIES.len()],
    /// Whether the starts of the motions are fitted too.
    pub initial: bool,
    /// Steps of a window, where motions are cut into windows.
    pub window: Option<usize>,
    /// Weight with which the end of a window is held to the start of the next.
    pub joined: f64,
    /// Bounds of the coordinates, shared and own.
    pub bounds: &'a [[f64; 2]],
    /// Part of every motion that counts.
    pub horizon: f64,
    /// What derivatives are at a switch.
    pub weak: Weak,
    /// Once the user asks to stop there are no more runs.
    pub interrupt: &'a Interrupt,
}

/// What one motion says at a point.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Weighted differences; those of the data first, then those between windows.
    pub residuals: Vec<f64>,
    /// How many of them are data.
    pub data: usize,
    /// Which quantity each of those is.
    pub quantities: Vec<usize>,
    /// Where each measured vector ends among them: its numbers count together in a robust loss, so that no choice of axes matters.
    pub ends: Vec<usize>,
    /// A column for each shared coordinate, then for each of the motion; empty without derivatives.
    pub columns: Vec<Vec<f64>>,
}

impl<G: Geometry> Problem<'_, G> {
    /// First and last step of each window of a motion.
    pub fn windows(&self, m: usize) -> Vec<[usize; 2]> {
        let steps = ((self.motions[m].steps as f64 * self.horizon).ceil() as usize).min(self.motions[m].steps);
        let Some(length) = self.window.filter(|length| *length < steps) else { return vec![[0, steps]] };
        let count = (steps as f64 / length as f64).round().max(1.0) as usize;
        (0..count).map(|w| [w * length, if w + 1 == count { steps } else { (w + 1) * length }]).collect()
    }

    fn is_free(&self, window: usize) -> bool {
        window > 0 || self.initial
    }

    /// Coordinates that a motion has of its own.
    pub fn locals(&self, m: usize) -> usize {
        let free = (0..self.windows(m).len()).filter(|w| self.is_free(*w)).count();
        self.variables.len() - self.shared + if free > 0 { free * retract::freedoms(&self.start.world) } else { 0 }
    }

    /// The point with changes of its coordinates; `None` where there is no such state.
    pub fn moved(&self, point: &Point<G>, shared: &[f64], own: &[Vec<f64>], bounds: &[[f64; 2]]) -> Option<Point<G>> {
        let mut out = point.clone();
        let put = |x: &mut f64, d: f64, [low, high]: [f64; 2]| *x = (*x + d).max(low).min(high);
        out.shared.iter_mut().zip(shared).zip(bounds).for_each(|((x, d), b)| put(x, *d, *b));
        for (m, change) in own.iter().enumerate() {
            let (parameters, mut rest) = change.split_at(out.own[m].len());
            out.own[m].iter_mut().zip(parameters).zip(&bounds[self.shared..]).for_each(|((x, d), b)| put(x, *d, *b));
            let freedoms = if rest.is_empty() { 0 } else { retract::freedoms(&self.start.world) };
            for w in 0..self.windows(m).len() {
                if self.is_free(w) && !rest.is_empty() {
                    let (now, later) = rest.split_at(freedoms);
                    out.states[m][w] = retract::moved(&self.start.world, &point.states[m][w], now)?;
                    rest = later;
                }
            }
        }
        Some(out)
    }

    /// Values of all variables of a motion.
    pub fn values(&self, m: usize, point: &Point<G>) -> Vec<f64> {
        self.coordinates.values(&[&point.shared[..], &point.own[m]].concat())
    }

    /// Residuals of a motion, with the derivative where it is wanted; the mean of both sides of switches is one of whole runs.
    pub fn block(&self, m: usize, point: &Point<G>, derivative: bool) -> Option<Block> {
        if !derivative {
            return self.run(m, point, None);
        }
        if self.weak != Weak::Average {
            return self.run(m, point, Some(self.weak));
        }
        let mut block = self.run(m, point, Some(Weak::Active))?;
        let other = self.run(m, point, Some(Weak::Inactive))?;
        block.columns.iter_mut().flatten().zip(other.columns.iter().flatten()).for_each(|(a, b)| *a = (*a + b) / 2.0);
        Some(block)
    }

    fn run(&self, m: usize, point: &Point<G>, weak: Option<Weak>) -> Option<Block> {
        let motion = &self.motions[m];
        let y = [&point.shared[..], &point.own[m]].concat();
        let start = self.start.with(self.variables, &self.coordinates.values(&y)).ok()?;
        let controls = start.control_run(1);
        let windows = self.windows(m);
        let mut out = Block::default();
        let mut between = Vec::new();
        if weak.is_some() {
            out.columns = vec![Vec::new(); self.shared + self.locals(m)];
        }
        let mut ties: Vec<Vec<(usize, Vec<f64>)>> = Vec::new();
        let size = start.world.model().bodies.len() * G::DOF;
        let parameters: Vec<Direction> =
            if weak.is_some() { (0..y.len()).map(|k| self.direction(&start, &y, k, size)).collect() } else { Vec::new() };
        let mut moments = motion.moments.iter().peekable();
        let mut next_column = y.len();
        let mut opening: Option<Vec<Opened>> = None;
        for (w, [first, last]) in windows.iter().copied().enumerate() {
            let mut world = start.world.copy();
            if w > 0 || self.initial || motion.measured_start {
                let mut state = point.states[m].get(w)?.clone();
                state.time = start.world.state().time + first as f64 * start.world.model().step;
                world.set_state(state).ok()?;
            }
            // Tangents with the columns they belong to.
            let mut tangents: Vec<(usize, Direction)> = Vec::new();
            if weak.is_some() {
                for (k, direction) in parameters.iter().enumerate() {
                    let mut direction = direction.clone();
                    if w > 0 || self.initial || motion.measured_start {
                        direction.poses.fill(0.0);
                        direction.twists.fill(0.0);
                    }
                    tangents.push((k, direction));
                }
                if self.is_free(w) {
                    let here = match opening.take() {
                        Some(here) => here,
                        None => self.opening(&world, &mut next_column)?,
                    };
                    let with = |(k, poses, twists): (usize, Vec<f64>, Vec<f64>)| (k, Direction { poses, twists, ..Direction::default() });
                    tangents.extend(here.into_iter().map(with));
                }
            }
            for step in first..=last {
                let shared_edge = w > 0 && step == first;
                while let Some(moment) = moments.next_if(|moment| !shared_edge && moment.step == step) {
                    let mut last = None;
                    for sample in &moment.samples {
                        let weight = self.weights[sample.quantity()];
                        let before = out.residuals.len();
                        if before > 0 && last != Some(sample.vector()) {
                            out.ends.push(before);
                        }
                        last = Some(sample.vector());
                        compare(sample, &world, weight, &mut out.residuals);
                        out.quantities.extend(std::iter::repeat_n(sample.quantity(), out.residuals.len() - before));
                        for (column, tangent) in &tangents {
                            let column = &mut out.columns[*column];
                            column.resize(before, 0.0);
                            change(sample, &world, &tangent.poses, &tangent.twists, weight, column);
                        }
                    }
                }
                if step == last {
                    break;
                }
                let tape = if weak.is_some() { Tape::Full } else { Tape::Off };
                if let Some(weak) = weak {
                    let rollout = world.rollout_unless(1, &controls, tape, self.interrupt).ok()?;
                    carry(&rollout, &mut tangents, weak, self.interrupt)?;
                    world = rollout.end().copy();
                } else {
                    world.heed(self.interrupt);
                    world.step_with(&controls).ok()?;
                    if self.interrupt.raised() {
                        return None;
                    }
                }
            }
            if w + 1 < windows.len() {
                let next = point.states[m].get(w + 1)?;
                let (poses, twists) = retract::difference(world.state(), next);
                between.push([&poses[..], &twists].concat());
                if weak.is_some() {
                    let mut tie: Vec<(usize, Vec<f64>)> =
                        tangents.iter().map(|(k, t)| (*k, end_change::<G>(&poses, &t.poses, &t.twists, false))).collect();
                    let mut placed = start.world.copy();
                    placed.set_state(next.clone()).ok()?;
                    let columns = self.opening(&placed, &mut next_column)?;
                    tie.extend(columns.iter().map(|(k, p, v)| (*k, end_change::<G>(&poses, p, v, true))));
                    ties.push(tie);
                    opening = Some(columns);
                }
            }
        }
        out.data = out.residuals.len();
        out.ends.push(out.data);
        out.columns.iter_mut().for_each(|column| column.resize(out.data, 0.0));
        for (k, rows) in between.iter().enumerate() {
            let before = out.residuals.len();
            out.residuals.extend(rows.iter().map(|r| self.joined * r));
            for (column, rows) in ties.get(k).into_iter().flatten() {
                let column = &mut out.columns[*column];
                column.resize(before, 0.0);
                column.extend(rows.iter().map(|r| self.joined * r));
            }
            let now = out.residuals.len();
            out.columns.iter_mut().for_each(|column| column.resize(now, 0.0));
        }
        let finite = out.residuals.iter().chain(out.columns.iter().flatten()).all(|x| x.is_finite());
        finite.then_some(out)
    }

    /// The columns of a state that is free, with the directions in which it moves.
    fn opening(&self, world: &carom_dynamics::World<G>, next: &mut usize) -> Option<Vec<Opened>> {
        let all = retract::directions(world, world.state())?;
        let first = *next;
        *next += all.len();
        Some(all.into_iter().enumerate().map(|(k, (poses, twists))| (first + k, poses, twists)).collect())
    }

    /// The direction of a run in which a coordinate grows by one.
    fn direction(&self, start: &Start<G>, y: &[f64], k: usize, size: usize) -> Direction {
        let mut out = Direction { poses: vec![0.0; size], twists: vec![0.0; size], ..Direction::default() };
        for (variable, slope) in self.coordinates.slopes(y, k) {
            let one = start.direction(&self.variables[variable], 1);
            let add = |to: &mut Vec<f64>, from: &[f64]| {
                if to.len() < from.len() {
                    to.resize(from.len(), 0.0);
                }
                to.iter_mut().zip(from).for_each(|(t, f)| *t += slope * f);
            };
            add(&mut out.poses, &one.poses);
            add(&mut out.twists, &one.twists);
            add(&mut out.controls, &one.controls);
            add(&mut out.parameters, &one.parameters);
        }
        out
    }
}

/// Carries tangents through one step.
fn carry<G: Geometry>(rollout: &Rollout<G>, tangents: &mut [(usize, Direction)], weak: Weak, interrupt: &Interrupt) -> Option<()> {
    let size = rollout.states[0].poses.len() * G::DOF;
    if tangents.len() <= ONE_BY_ONE || 4 * tangents.len() < 2 * size {
        for (_, tangent) in tangents {
            (tangent.poses, tangent.twists) = rollout.forward_by(tangent, weak).ok()?;
        }
        return Some(());
    }
    let all = rollout.jacobian(0, Wrt::Everything, weak, interrupt).ok()?;
    let row = |matrix: &[f64], row: usize, x: &[f64]| -> f64 {
        let width = matrix.len() / (2 * size);
        if x.is_empty() { 0.0 } else { matrix[row * width..(row + 1) * width].iter().zip(x).map(|(a, b)| a * b).sum() }
    };
    for (_, tangent) in tangents {
        let next: Vec<f64> = (0..2 * size)
            .map(|r| {
                row(&all.poses, r, &tangent.poses)
                    + row(&all.twists, r, &tangent.twists)
                    + row(&all.controls, r, &tangent.controls)
                    + row(&all.parameters, r, &tangent.parameters)
            })
            .collect();
        tangent.poses.copy_from_slice(&next[..size]);
        tangent.twists.copy_from_slice(&next[size..]);
    }
    Some(())
}

/// The turn from a measured orientation to that of a body \[rad\].
fn turn_from<G: Geometry>(state: &State<G>, body: usize, rotation: G::Rot) -> G::Ang {
    G::log(G::compose(state.poses[body].rotation, G::inverse(rotation)))
}

/// Weighted differences between a state and what was measured then.
fn compare<G: Geometry>(sample: &Sample<G>, world: &carom_dynamics::World<G>, weight: f64, out: &mut Vec<f64>) {
    let state = world.state();
    match *sample {
        Sample::Position(body, k, value) => out.push(weight * (state.poses[body].position[k] - value)),
        Sample::Velocity(body, k, value) => {
            let twist = &state.twists[body];
            out.push(weight * (if k < G::DIM { twist.lin[k] } else { twist.ang[k - G::DIM] } - value));
        }
        Sample::Rotation(body, rotation) => out.extend(turn_from::<G>(state, body, rotation).as_slice().iter().map(|x| weight * x)),
        Sample::Joint(j, value) => out.push(weight * (world.joint_q()[j] - value)),
        Sample::JointRate(j, value) => out.push(weight * (world.joint_v()[j] - value)),
    }
}

/// Changes of those differences with a change of the state.
fn change<G: Geometry>(
    sample: &Sample<G>,
    world: &carom_dynamics::World<G>,
    poses: &[f64],
    twists: &[f64],
    weight: f64,
    out: &mut Vec<f64>,
) {
    let state = world.state();
    match *sample {
        Sample::Position(body, k, _) => out.push(weight * poses[body * G::DOF + k]),
        Sample::Velocity(body, k, _) => out.push(weight * twists[body * G::DOF + k]),
        Sample::Rotation(body, rotation) => {
            let rate = G::Ang::from_slice(&poses[body * G::DOF + G::DIM..]);
            out.extend(G::log_derivative(turn_from::<G>(state, body, rotation), rate).as_slice().iter().map(|x| weight * x));
        }
        Sample::Joint(j, _) | Sample::JointRate(j, _) => {
            let (tree, model) = (world.tree(), world.model());
            let at = |size: f64| {
                let twist = |x: &[f64], b: usize| Twist::<G> {
                    lin: G::Lin::from_slice(&x[b * G::DOF..]),
                    ang: G::Ang::from_slice(&x[b * G::DOF + G::DIM..]),
                };
                let moved: Vec<_> = state.poses.iter().enumerate().map(|(b, p)| p.advanced(twist(poses, b), size)).collect();
                if matches!(sample, Sample::Joint(..)) {
                    return tree.coordinates(model, &moved)[j];
                }
                let rates: Vec<Twist<G>> = state
                    .twists
                    .iter()
                    .enumerate()
                    .map(|(b, t)| {
                        let d = twist(twists, b);
                        Twist { lin: t.lin + d.lin * size, ang: t.ang + d.ang * size }
                    })
                    .collect();
                tree.rates(model, &moved, &rates)[j]
            };
            out.push(weight * (at(STEP) - at(-STEP)) / (2.0 * STEP));
        }
    }
}

/// How the difference between the end of a window and the start of the next changes with a change of the former, or of the latter.
fn end_change<G: Geometry>(difference: &[f64], poses: &[f64], twists: &[f64], next: bool) -> Vec<f64> {
    let mut out = Vec::with_capacity(2 * poses.len());
    let sign = if next { -1.0 } else { 1.0 };
    for (turn, now) in difference.chunks_exact(G::DOF).zip(poses.chunks_exact(G::DOF)) {
        out.extend(now[..G::DIM].iter().map(|x| sign * x));
        let (turn, rate) = (G::Ang::from_slice(&turn[G::DIM..]), G::Ang::from_slice(&now[G::DIM..]));
        let rate = if next { G::rotate_rate(G::exp(turn), rate) } else { rate };
        out.extend(G::log_derivative(turn, rate).as_slice().iter().map(|x| sign * x));
    }
    out.extend(twists.iter().map(|x| sign * x));
    out
}
