//! Inverse kinematics: coordinates that bring bodies to targets, within limits and with loops closed, theory (20.13).

use super::closing::{Closing, Course, REDUNDANT, free_columns};
use super::tangent::TangentMap;
use super::tree::{Owner, Tree};
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::{Pose, Space, Vector};
use nalgebra::{DMatrix, DVector};
use std::f64::consts::TAU;

/// Damping of the first round, over the largest entry of J J'.
const FIRST_DAMPING: f64 = 1e-3;

/// How damping falls after a round that helped, and grows after one that did not.
const DAMPING_FALLS: f64 = 0.1;
const DAMPING_GROWS: f64 = 8.0;

/// Damping past which no change is left to try.
const DAMPING_MOST: f64 = 1e12;

/// Largest change of a coordinate in one round \[rad or m\].
const LARGEST_CHANGE: f64 = 0.5;

/// Rounds in which the miss falls by less than this part are the last ones.
const NO_BETTER: f64 = 1e-12;

/// Coordinates that a closing pushed past a limit are put back so many times.
const PUT_BACK: usize = 4;

/// Where a body is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal<S: Space> {
    /// The body.
    pub body: usize,
    /// A point of it, body frame, from the centre of mass \[m\].
    pub point: S::Lin,
    /// Where in the world that point is wanted \[m\]; anywhere if `None`.
    pub position: Option<S::Lin>,
    /// How the body is wanted to stand; anyhow if `None`.
    pub rotation: Option<S::Rot>,
}

/// How to reach.
#[derive(Clone, Debug, PartialEq)]
pub struct ReachOptions {
    /// Coordinates that stay where they are.
    pub fixed: Vec<usize>,
    /// Whether joints stay within their limits.
    pub limits: bool,
    /// Largest miss \[m or rad\] that counts as reached.
    pub tolerance: f64,
    /// Rounds at most.
    pub rounds: usize,
}

impl Default for ReachOptions {
    fn default() -> Self {
        ReachOptions { fixed: Vec::new(), limits: true, tolerance: 1e-9, rounds: 200 }
    }
}

/// Where a reach came to.
#[derive(Clone, Debug)]
pub struct Reach<S: Space> {
    /// The coordinates.
    pub q: Vec<f64>,
    /// Poses of all bodies.
    pub poses: Vec<Pose<S>>,
    /// Largest miss \[m or rad\].
    pub miss: f64,
    /// Whether all targets were reached.
    pub converged: bool,
    /// Rounds taken.
    pub rounds: usize,
}

/// A reach at work.
pub(super) struct Reaching<'m, G: Geometry> {
    pub tree: &'m Tree,
    pub model: &'m Model<G>,
    pub from: &'m [Pose<G>],
    pub goals: &'m [Goal<G>],
    pub options: &'m ReachOptions,
}

impl<G: Geometry> Reaching<'_, G> {
    /// The limits of a coordinate.
    fn limits(&self, coordinate: usize) -> Option<[f64; 2]> {
        match self.tree.owners[coordinate] {
            Owner::Joint { joint, place: 0 } if self.options.limits => self.model.joints[joint].limits,
            _ => None,
        }
    }

    /// What is missing to the targets, and how coordinates change it.
    fn misses(&self, poses: &[Pose<G>], jacobian: bool) -> (DVector<f64>, DMatrix<f64>) {
        let map = jacobian.then(|| TangentMap::new(self.tree, self.model, poses));
        let mut misses = Vec::new();
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for goal in self.goals {
            let pose = &poses[goal.body];
            let arm = pose.direction(goal.point);
            let columns = map.as_ref().map_or(&[][..], |map| map.columns(goal.body));
            let mut push = |values: &[f64], row: &dyn Fn(&carom_math::Twist<G>, usize) -> f64| {
                for (axis, value) in values.iter().enumerate() {
                    misses.push(*value);
                    let mut line = vec![0.0; self.tree.len()];
                    columns.iter().for_each(|(coordinate, twist)| line[*coordinate] = row(twist, axis));
                    rows.push(line);
                }
            };
            if let Some(position) = goal.position {
                push((pose.position + arm - position).as_slice(), &|twist, axis| twist.at(arm)[axis]);
            }
            if let Some(rotation) = goal.rotation {
                let mut turn = G::log(G::compose(pose.rotation, G::inverse(rotation)));
                if G::ANG == 1 {
                    // A whole turn is none.
                    turn[0] -= TAU * (turn[0] / TAU).round();
                }
                push(turn.as_slice(), &|twist, axis| twist.ang[axis]);
            }
        }
        let (count, width) = (if jacobian { rows.len() } else { 0 }, self.tree.len());
        (DVector::from_vec(misses), DMatrix::from_fn(count, width, |i, j| rows[i][j]))
    }

    /// Closes the loops with coordinates within their limits; whether they can be.
    fn settle(&self, closing: &mut Closing<G>, course: &mut Course<G>) -> bool {
        let free = closing.free.clone();
        let mut closed = false;
        for _ in 0..PUT_BACK {
            for i in 0..course.q.len() {
                if let Some([low, high]) = self.limits(i).filter(|[low, high]| free[i] && !(*low..=*high).contains(&course.q[i])) {
                    course.q[i] = course.q[i].clamp(low, high);
                    closing.free[i] = false;
                }
            }
            closed = closing.close(course).is_ok();
            let within = |i: usize| self.limits(i).is_none_or(|[low, high]| !free[i] || (low..=high).contains(&course.q[i]));
            if (0..course.q.len()).all(within) {
                break;
            }
            closed = false;
        }
        closing.free = free;
        closed
    }

    /// Levenberg and Marquardt's method on the coordinates, projected on closed loops and limits.
    pub fn run(&self, which: &[bool]) -> Reach<G> {
        let (tree, model) = (self.tree, self.model);
        let free: Vec<bool> = (0..tree.len()).map(|i| which[tree.mechanism_of(model, i)] && !self.options.fixed.contains(&i)).collect();
        let mut closing = Closing { tree, model, from: self.from, which, free: free.clone() };
        let mut course = Course { q: tree.coordinates(model, self.from), poses: self.from.to_vec() };
        let mut closed = self.settle(&mut closing, &mut course);
        let (mut misses, mut jacobian) = self.misses(&course.poses, true);
        let mut damping = FIRST_DAMPING;
        let mut rounds = 0;
        while rounds < self.options.rounds && misses.amax() > self.options.tolerance * NO_BETTER.sqrt() && damping < DAMPING_MOST {
            rounds += 1;
            let downhill = -jacobian.tr_mul(&misses);
            // Coordinates that stand at a limit and would go past it stay.
            let moving: Vec<bool> = (0..tree.len())
                .map(|i| {
                    free[i]
                        && self.limits(i).is_none_or(|[low, high]| {
                            !((course.q[i] <= low && downhill[i] < 0.0) || (course.q[i] >= high && downhill[i] > 0.0))
                        })
                })
                .collect();
            let map = TangentMap::new(tree, model, &course.poses);
            let (loops, chosen) = free_columns(&tree.loop_jacobian(model, &course.poses, &map), &moving);
            let across = projected(&jacobian.select_columns(&chosen), &loops);
            let mut square = &across * across.transpose();
            let size = square.diagonal().max().max(f64::MIN_POSITIVE);
            (0..square.nrows()).for_each(|i| square[(i, i)] += damping * size);
            let Some(factor) = nalgebra::Cholesky::new(square) else { break };
            let mut change = across.tr_mul(&factor.solve(&-&misses));
            let largest = change.amax();
            if largest > LARGEST_CHANGE {
                change *= LARGEST_CHANGE / largest;
            }
            let mut full = vec![0.0; tree.len()];
            chosen.iter().zip(change.iter()).for_each(|(&i, d)| full[i] = *d);
            let mut next = Course { q: tree.advanced(model, &course.q, &full), poses: course.poses.clone() };
            closing.free.clone_from(&moving);
            let can = self.settle(&mut closing, &mut next);
            let (after, _) = self.misses(&next.poses, false);
            let (before, now) = (misses.norm(), after.norm());
            if (can || !closed) && now < before {
                course = next;
                closed |= can;
                (misses, jacobian) = self.misses(&course.poses, true);
                damping = (damping * DAMPING_FALLS).max(NO_BETTER);
                if before - now <= NO_BETTER * before {
                    break;
                }
            } else {
                damping *= DAMPING_GROWS;
            }
        }
        let miss = misses.amax();
        Reach { miss, converged: closed && miss <= self.options.tolerance, q: course.q, poses: course.poses, rounds }
    }
}

/// J across what loops hold: J (1 - L+ L).
fn projected(jacobian: &DMatrix<f64>, loops: &DMatrix<f64>) -> DMatrix<f64> {
    if loops.nrows() == 0 || loops.ncols() == 0 {
        return jacobian.clone();
    }
    let svd = loops.clone().svd(false, true);
    let largest = svd.singular_values.max();
    let mut out = jacobian.clone();
    if let Some(v_t) = &svd.v_t {
        for (held, _) in v_t.row_iter().zip(svd.singular_values.iter()).filter(|(_, s)| **s > REDUNDANT * largest) {
            let along = &out * held.transpose();
            out -= along * held;
        }
    }
    out
}
