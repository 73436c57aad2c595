//! Couplings of joint coordinates, theory (22.10)-(22.12): gears, mimic joints, differentials, racks. One row over the bodies of several joints.
//!
//! The joints keep their factor; couplings stand at its border. Whole turns of hinges in space are counted from pose to pose and are part of the state.

use crate::error::ModelError;
use crate::island::LocalJoint;
use crate::model::Model;
use crate::options::Integrator;
use crate::state::State;
use carom_geometry::Geometry;
use carom_math::block_ldl::LANES;
use carom_math::{Pose, Wrench};
use std::f64::consts::TAU;
use std::ops::Range;

/// Rows whose pivot falls below this part of their diagonal say what others say already.
const REDUNDANT: f64 = 1e-11;

/// Turns to either side among which those of a state that does not tell them are looked for.
const TURNS: i32 = 6;

/// A sum that is off by less [rad] was told with the right turns.
const KNOWN: f64 = 1e-2;

/// Most hinges of a coupling whose turns are looked for.
const SEARCHED: usize = 4;

/// The sum of coefficients times coordinates of joints that is held at an offset.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    /// Unique name.
    pub name: String,
    /// Joints of the model with their coefficients.
    pub terms: Vec<(usize, f64)>,
    /// What the sum is [rad or m].
    pub offset: f64,
}

impl Coupling {
    /// Checks what the couplings of a model say.
    pub(crate) fn check_all<G: Geometry>(model: &Model<G>) -> Result<(), ModelError> {
        let mut reduced: Vec<(Vec<f64>, usize)> = Vec::new();
        for coupling in &model.couplings {
            let fault = |key: &str, message: String| Err(ModelError::new(format!("joint \"{}\"", coupling.name), key, message));
            if model.options.integrator == Integrator::EnergyMomentum {
                return fault("kind", "a coupling is not kept by \"energy-momentum\"; integrator \"verlet\" takes it".to_string());
            }
            if coupling.terms.is_empty() || !coupling.offset.is_finite() {
                return fault("joints", "needs at least one joint, and a finite offset".to_string());
            }
            let mut row = vec![0.0; model.joints.len()];
            for &(joint, coefficient) in &coupling.terms {
                let Some(spec) = model.joints.get(joint) else { return fault("joints", "needs joints of the scene".to_string()) };
                if !spec.has_coordinate() {
                    return fault("joints", format!("\"{}\" is a {} and has no single free coordinate", spec.name, spec.kind.name()));
                }
                if !coefficient.is_finite() || coefficient == 0.0 || row[joint] != 0.0 {
                    return fault("joints", format!("\"{}\" needs one finite coefficient that is not 0", spec.name));
                }
                row[joint] = coefficient;
            }
            // A row that others make up couples its joints twice.
            let size = row.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            for (other, pivot) in &reduced {
                let share = row[*pivot] / other[*pivot];
                row.iter_mut().zip(other).for_each(|(x, y)| *x -= share * y);
            }
            let (pivot, largest) = row.iter().enumerate().fold((0, 0.0f64), |m, (i, x)| if x.abs() > m.1 { (i, x.abs()) } else { m });
            if largest <= REDUNDANT * size {
                let joints: Vec<&str> = coupling.terms.iter().map(|(joint, _)| model.joints[*joint].name.as_str()).collect();
                return fault(
                    "joints",
                    format!("couples {} twice: the couplings before it say the same or contradict it", joints.join(", ")),
                );
            }
            reduced.push((row, pivot));
        }
        Ok(())
    }

    /// The sum less its offset, at coordinates by joint.
    fn error(&self, coordinate: impl Fn(usize) -> f64) -> f64 {
        self.terms.iter().map(|&(joint, coefficient)| coefficient * coordinate(joint)).sum::<f64>() - self.offset
    }
}

/// Whole turns of the hinges of couplings that bring their sums nearest to their offsets: what a state has that does not tell its turns.
pub(crate) fn find_turns<G: Geometry>(model: &Model<G>, state: &mut State<G>) {
    if model.couplings.is_empty() || G::ANG == 1 {
        return state.turns.clear();
    }
    let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |body| state.poses[body]);
    let angle: Vec<f64> = model.joints.iter().map(|joint| joint.coordinate(&pose(joint.bodies[0]), &pose(joint.bodies[1]))).collect();
    let known = |joint: usize| angle[joint] + TAU * f64::from(state.turns[joint]);
    if state.turns.len() == model.joints.len() && model.couplings.iter().all(|coupling| coupling.error(known).abs() < KNOWN) {
        return;
    }
    let mut turns: Vec<Option<i32>> = vec![None; model.joints.len()];
    for coupling in &model.couplings {
        let open =
            coupling.terms.iter().map(|(joint, _)| *joint).filter(|&joint| model.joints[joint].is_angular() && turns[joint].is_none());
        let open: Vec<usize> = open.take(SEARCHED).collect();
        let mut best = (f64::INFINITY, vec![0; open.len()]);
        let mut tried = vec![-TURNS; open.len()];
        loop {
            let count = |joint: usize| open.iter().position(|o| *o == joint).map_or(turns[joint].unwrap_or(0), |at| tried[at]);
            let miss = coupling.error(|joint| angle[joint] + TAU * f64::from(count(joint))).abs();
            // Of the same sums the one with the fewest turns.
            let cost = miss + 1e-9 * tried.iter().map(|turns| f64::from(turns.abs())).sum::<f64>();
            if cost < best.0 {
                best = (cost, tried.clone());
            }
            let Some(next) = tried.iter().position(|turns| *turns < TURNS) else { break };
            tried[next] += 1;
            tried[..next].fill(-TURNS);
        }
        open.iter().zip(best.1).for_each(|(&joint, found)| turns[joint] = Some(found));
    }
    state.turns = turns.into_iter().map(|turns| turns.unwrap_or(0)).collect();
}

/// A coupling of an island: joints of the island with their coefficients.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LocalTie {
    /// Joints of the island with their coefficients.
    pub terms: Vec<(usize, f64)>,
    /// Offset.
    pub offset: f64,
}

/// A joint of a coupling.
#[derive(Clone, Copy, Debug)]
struct Term {
    /// Joint of the island, and of the model.
    joint: usize,
    index: usize,
    bodies: [usize; 2],
    coefficient: f64,
    /// Its coordinate at the present poses, with its turns.
    coordinate: f64,
}

#[derive(Clone, Debug)]
struct Tie {
    terms: Range<usize>,
    sides: Range<usize>,
    offset: f64,
}

/// The rows of the couplings of an island, which stand after those of its joints.
#[derive(Debug)]
pub(crate) struct Ties<G: Geometry> {
    /// Rows of joints before them.
    pub first: usize,
    ties: Vec<Tie>,
    terms: Vec<Term>,
    /// What a row does at each of its bodies; a body of several joints is there once.
    sides: Vec<(usize, Wrench<G>)>,
}

impl<G: Geometry> Default for Ties<G> {
    fn default() -> Self {
        Ties { first: 0, ties: Vec::new(), terms: Vec::new(), sides: Vec::new() }
    }
}

impl<G: Geometry> Ties<G> {
    /// How many.
    pub fn len(&self) -> usize {
        self.ties.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ties.is_empty()
    }
    /// Room for these couplings after so many rows of joints.
    pub fn lay_out(&mut self, first: usize, ties: &[LocalTie], joints: &[LocalJoint], model: &Model<G>, turns: &[i32], poses: &[Pose<G>]) {
        self.first = first;
        self.ties.clear();
        self.terms.clear();
        self.sides.clear();
        for tie in ties {
            let start = self.terms.len();
            for &(joint, coefficient) in &tie.terms {
                let local = &joints[joint];
                let [a, b] = local.bodies;
                let turns = TAU * f64::from(turns.get(local.index).copied().unwrap_or(0));
                let coordinate = model.joints[local.index].coordinate(&poses[a], &poses[b]) + if G::ANG > 1 { turns } else { 0.0 };
                self.terms.push(Term { joint, index: local.index, bodies: local.bodies, coefficient, coordinate });
            }
            self.ties.push(Tie { terms: start..self.terms.len(), sides: 0..0, offset: tie.offset });
        }
    }
    /// Rows at poses, and coordinates that have not turned by half a turn since they were found last.
    pub fn place(&mut self, model: &Model<G>, poses: &[Pose<G>]) {
        let Ties { ties, terms, sides, .. } = self;
        sides.clear();
        for tie in ties {
            let start = sides.len();
            for term in &mut terms[tie.terms.clone()] {
                let [a, b] = term.bodies;
                let joint = &model.joints[term.index];
                term.coordinate = joint.coordinate_near(term.coordinate, &poses[a], &poses[b]);
                let row = joint.coordinate_row(&poses[a], &poses[b]);
                for (body, block) in [(a, row.a), (b, row.b)] {
                    let place = sides[start..].iter().position(|(other, _)| *other == body).map(|at| start + at);
                    let place = place.unwrap_or_else(|| {
                        sides.push((body, Wrench::zero()));
                        sides.len() - 1
                    });
                    sides[place].1 = sides[place].1.plus(term.coefficient, block);
                }
            }
            tie.sides = start..sides.len();
        }
    }
    /// How far each coupling is off at poses near the present ones: the bodies of its first joint, its row, its error.
    pub fn errors(&self, model: &Model<G>, poses: &[Pose<G>], mut tell: impl FnMut([usize; 2], usize, f64)) {
        for (k, tie) in self.ties.iter().enumerate() {
            let mut sum = -tie.offset;
            for term in &self.terms[tie.terms.clone()] {
                let [a, b] = term.bodies.map(|body| &poses[body]);
                sum += term.coefficient * model.joints[term.index].coordinate_near(term.coordinate, a, b);
            }
            tell(self.terms[tie.terms.start].bodies, self.first + k, sum);
        }
    }
    /// Calls `visit` with the row, the body and the covector of every side.
    #[inline]
    pub fn sides(&self, mut visit: impl FnMut(usize, usize, &Wrench<G>)) {
        for (k, tie) in self.ties.iter().enumerate() {
            self.sides[tie.sides.clone()].iter().for_each(|(body, wrench)| visit(self.first + k, *body, wrench));
        }
    }
    /// Joint of the island whose coupling a row is, the first of them.
    pub fn joint(&self, k: usize) -> usize {
        self.terms[self.ties[k].terms.start].joint
    }
    /// Writes the whole turns of its hinges by joint of the model.
    pub fn tell_turns(&self, model: &Model<G>, poses: &[Pose<G>], turns: &mut [i32]) {
        for term in &self.terms {
            let [a, b] = term.bodies;
            let angle = model.joints[term.index].coordinate(&poses[a], &poses[b]);
            if let (true, Some(turns)) = (model.joints[term.index].is_angular(), turns.get_mut(term.index)) {
                *turns = ((term.coordinate - angle) / TAU).round() as i32;
            }
        }
    }
}

/// The couplings at the border of the factor of the joints: with A that of the joints and B, D the rows of couplings with joints and with each other, X = A^-1 B' and
/// the Schur complement S = D - B X, theory (22.12).
#[derive(Debug, Default)]
pub(crate) struct Border {
    rows: usize,
    count: usize,
    /// B and X by rows of couplings.
    coupled: Vec<f64>,
    answers: Vec<f64>,
    /// S = L D L' in its lower triangle; a pivot of 0 is that of a redundant row.
    schur: Vec<f64>,
}

impl Border {
    /// How many couplings.
    pub fn len(&self) -> usize {
        self.count
    }
    /// Begins with so many couplings over so many rows of joints: B, and D in the place of S.
    pub fn begin(&mut self, rows: usize, count: usize) -> (&mut [f64], &mut [f64]) {
        (self.rows, self.count) = (rows, count);
        for (list, size) in [(&mut self.coupled, rows * count), (&mut self.schur, count * count)] {
            list.clear();
            list.resize(size, 0.0);
        }
        (&mut self.coupled, &mut self.schur)
    }
    /// Factors, with the solve of the joints; returns how many couplings are redundant.
    pub fn factor(&mut self, scratch: &mut Vec<f64>, solve: impl Fn(&mut Vec<f64>)) -> usize {
        let Border { rows, count, coupled, answers, schur } = self;
        let (rows, count) = (*rows, *count);
        answers.clear();
        for k in 0..count {
            scratch.clear();
            scratch.extend_from_slice(&coupled[k * rows..][..rows]);
            solve(scratch);
            answers.extend_from_slice(&scratch[..rows]);
        }
        let mut redundant = 0;
        for i in 0..count {
            let unheld = schur[i * count + i];
            for j in 0..=i {
                let held: f64 = coupled[i * rows..][..rows].iter().zip(&answers[j * rows..][..rows]).map(|(b, x)| b * x).sum();
                let mut sum = schur[i * count + j] - held;
                for k in 0..j {
                    sum -= schur[i * count + k] * schur[j * count + k] * schur[k * count + k];
                }
                schur[i * count + j] = match (i == j, schur[j * count + j]) {
                    (true, _) if sum <= REDUNDANT * unheld => {
                        redundant += 1;
                        0.0
                    }
                    (true, _) => sum,
                    (false, 0.0) => 0.0,
                    (false, pivot) => sum / pivot,
                };
            }
        }
        redundant
    }
    /// Impulses of the couplings into `own`, from joint impulses as found without them and what couplings lack: `at(row)` is an entry, couplings from `first` on.
    fn finish(&self, first: usize, at: impl Fn(usize) -> f64, own: &mut [f64]) {
        let Border { rows, count, coupled, schur, .. } = self;
        for k in 0..*count {
            let known: f64 = coupled[k * rows..][..*rows].iter().enumerate().map(|(r, b)| b * at(r)).sum();
            own[k] = at(first + k) - known;
        }
        for i in 0..*count {
            for k in 0..i {
                own[i] -= schur[i * count + k] * own[k];
            }
        }
        for i in 0..*count {
            let pivot = schur[i * count + i];
            own[i] = if pivot > 0.0 { own[i] / pivot } else { 0.0 };
        }
        for i in (0..*count).rev() {
            for k in i + 1..*count {
                own[i] -= schur[k * count + i] * own[k];
            }
        }
    }
    /// The solve of joints and couplings: `y` holds the rows of both, `full` as many as the factor of the joints has.
    pub fn solve(&self, y: &mut Vec<f64>, full: usize, solve: impl FnOnce(&mut [f64])) {
        let (rows, count) = (self.rows, self.count);
        y.resize(full + 2 * count, 0.0);
        for k in (0..count).rev() {
            y[full + k] = y[rows + k];
        }
        y[rows..full].fill(0.0);
        solve(&mut y[..full]);
        let (joints, own) = y.split_at_mut(full);
        let (lacking, own) = own.split_at_mut(count);
        let entry = |r: usize| if r < full { joints[r] } else { lacking[r - full] };
        self.finish(full, entry, own);
        for (k, own) in own.iter().enumerate() {
            joints.iter_mut().zip(&self.answers[k * rows..][..rows]).for_each(|(y, x)| *y -= own * x);
        }
        for k in 0..count {
            y[rows + k] = y[full + count + k];
        }
        y.truncate(rows + count);
    }
    /// The same for several right-hand sides at once.
    pub fn solve_lanes(&self, y: &mut Vec<[f64; LANES]>, column: &mut Vec<f64>, mut solve: impl FnMut(&mut Vec<f64>)) {
        for lane in 0..LANES {
            column.clear();
            column.extend(y.iter().map(|y| y[lane]));
            solve(column);
            column.iter().zip(y.iter_mut()).for_each(|(x, y)| y[lane] = *x);
        }
    }
}
