//! Couplings of joint coordinates, theory (21.10)-(21.12): gears, mimic joints, differentials, racks. One row over the bodies of several joints.
//!
//! A coupling is a node of one row in the graph of the joints. Whole turns of hinges in space are counted from pose to pose and are part of the state.

use crate::error::ModelError;
use crate::island::LocalJoint;
use crate::model::Model;
use crate::state::State;
use crate::tendon::Tendon;
use carom_geometry::Geometry;
use carom_math::{Pose, Wrench};
use std::f64::consts::TAU;
use std::ops::Range;

/// Rows of which less than this part is left without others say what these say already.
const REDUNDANT: f64 = 1e-11;

/// Turns to either side among which those of a state that does not tell them are looked for.
const TURNS: i32 = 6;

/// A sum that is off by less \[rad\] was told with the right turns.
const KNOWN: f64 = 1e-2;

/// Most hinges of a coupling whose turns are looked for.
const SEARCHED: usize = 4;

/// The sum of coefficients times coordinates of joints that is held at an offset, or that a tendon holds between limits and pulls back to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    /// Unique name.
    pub name: String,
    /// Joints of the model with their coefficients.
    pub terms: Vec<(usize, f64)>,
    /// What the sum is \[rad or m\], or where a tendon rests.
    pub offset: f64,
    /// What a tendon does instead of holding the sum.
    pub tendon: Option<Tendon>,
}

impl Coupling {
    /// Checks what the couplings of a model say.
    pub(crate) fn check_all<G: Geometry>(model: &Model<G>) -> Result<(), ModelError> {
        let mut reduced: Vec<(Vec<f64>, usize)> = Vec::new();
        for coupling in &model.couplings {
            let fault = |key: &str, message: String| Err(ModelError::new(format!("joint \"{}\"", coupling.name), key, message));
            if model.options.scheme().by_means() {
                return fault("kind", "a coupling is not kept by \"energy-momentum\"; integrator \"verlet\" takes it".to_string());
            }
            if coupling.terms.is_empty() || !coupling.offset.is_finite() {
                return fault("joints", "needs at least one joint, and a finite offset".to_string());
            }
            if let Some((key, message)) = coupling.tendon.and_then(|tendon| tendon.fault()) {
                return fault(key, message.to_string());
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
            if coupling.tendon.is_some() {
                continue;
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
    pub(crate) fn error(&self, coordinate: impl Fn(usize) -> f64) -> f64 {
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
    if state.turns.len() == model.joints.len()
        && model.couplings.iter().all(|coupling| coupling.tendon.is_some() || coupling.error(known).abs() < KNOWN)
    {
        return;
    }
    let mut turns: Vec<Option<i32>> = vec![None; model.joints.len()];
    // A tendon does not say where its sum is.
    for coupling in model.couplings.iter().filter(|coupling| coupling.tendon.is_none()) {
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
    /// Its index in the model.
    pub index: usize,
    /// A tendon whose spring and damper are no load.
    pub stiff: bool,
    /// Coordinates of its joints when the step at hand began, turns included; told in records alone.
    pub near: Vec<f64>,
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
            tell(self.terms[tie.terms.start].bodies, self.first + k, self.error(k, model, poses));
        }
    }
    /// How far one of them is.
    pub fn error(&self, k: usize, model: &Model<G>, poses: &[Pose<G>]) -> f64 {
        let tie = &self.ties[k];
        let coordinates = self.terms[tie.terms.clone()].iter().map(|term| {
            let [a, b] = term.bodies.map(|body| &poses[body]);
            term.coefficient * model.joints[term.index].coordinate_near(term.coordinate, a, b)
        });
        coordinates.sum::<f64>() - tie.offset
    }
    /// Coordinates of its joints as they were counted last.
    pub fn coordinates(&self, k: usize) -> Vec<f64> {
        self.terms[self.ties[k].terms.clone()].iter().map(|term| term.coordinate).collect()
    }
    /// The row of one of them at other poses, body by body of each of its joints.
    pub fn row_at(&self, k: usize, model: &Model<G>, poses: &[Pose<G>], mut visit: impl FnMut(usize, Wrench<G>)) {
        for term in &self.terms[self.ties[k].terms.clone()] {
            let [a, b] = term.bodies;
            let row = model.joints[term.index].coordinate_row(&poses[a], &poses[b]);
            visit(a, Wrench::zero().plus(term.coefficient, row.a));
            visit(b, Wrench::zero().plus(term.coefficient, row.b));
        }
    }
    /// The same at the present poses, each body once.
    pub fn sides_of(&self, k: usize) -> &[(usize, Wrench<G>)] {
        &self.sides[self.ties[k].sides.clone()]
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
