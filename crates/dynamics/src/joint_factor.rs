//! The matrix J M^-1 J' of an island's joints as a block factor over the joint graph, theory (2.12) and chapters 9 and 12.

use crate::constraints::MAX_ROWS;
use crate::island::{LocalBody, LocalJoint};
use crate::joint_graph::{Coupling, Elimination, JointGraph};
use crate::joint_rows::JointRows;
use carom_geometry::Geometry;
use carom_math::block_ldl::{BlockFactor, LANES};
use carom_math::ldl::{DROP_REDUNDANT, Factor, Pivots, Redundant};
use carom_math::{Twist, Wrench};
use std::sync::Arc;

/// The rows of a joint as a body meets them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attached {
    /// First equality row.
    pub first: usize,
    /// Which side of the joint the body is.
    pub side: usize,
    /// The joint's node in the graph.
    pub node: usize,
}

/// The factored joint matrix of an island; graph and storage are kept while the joints stay the same.
#[derive(Debug, Default)]
pub(crate) struct JointFactor {
    graph: Option<Arc<JointGraph>>,
    /// With least fill, where joints are all there is to solve for.
    alone: Option<(Arc<Elimination>, BlockFactor)>,
    /// With short paths, for rows to be inserted.
    pathed: Option<(Arc<Elimination>, Factor)>,
    /// Whether the second of the two holds the present numbers.
    short_paths: bool,
    /// Whether there are such numbers.
    factored: bool,
    /// Joints at each body of the island: body b has `attached[starts[b]..starts[b + 1]]`.
    attached: Vec<Attached>,
    starts: Vec<usize>,
}

impl JointFactor {
    /// Takes the graph of the island's joints and lists the joints of each body; storage is kept where the graph is the last one.
    pub fn prepare<G: Geometry>(&mut self, graph: Option<Arc<JointGraph>>, joints: &[LocalJoint], bodies: &[LocalBody<G>]) {
        let same = match (&graph, &self.graph) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.alone = None;
            self.pathed = None;
            self.factored = false;
            self.graph = graph;
        }
        // Counting sort by body.
        self.starts.clear();
        self.starts.resize(bodies.len() + 1, 0);
        let moved = |joint: &LocalJoint, side: usize| joint.rows > 0 && bodies[joint.bodies[side]].dynamic;
        for joint in joints {
            for side in 0..2 {
                self.starts[joint.bodies[side] + 1] += usize::from(moved(joint, side));
            }
        }
        for body in 0..bodies.len() {
            self.starts[body + 1] += self.starts[body];
        }
        self.attached.clear();
        self.attached.resize(self.starts[bodies.len()], Attached::default());
        let node_of = self.graph.as_ref().map(|graph| &graph.node_of);
        for (index, joint) in joints.iter().enumerate().rev() {
            for side in [1, 0] {
                if moved(joint, side) {
                    // Filled from the back: the next body's start comes down to this one's.
                    let next = &mut self.starts[joint.bodies[side] + 1];
                    *next -= 1;
                    let node = node_of.map_or(0, |node_of| node_of[index]);
                    self.attached[*next] = Attached { first: joint.first_row, side, node };
                }
            }
        }
        self.starts.remove(0);
        self.starts.push(self.attached.len());
    }

    /// The graph it was prepared with.
    pub fn graph(&self) -> Option<Arc<JointGraph>> {
        self.graph.clone()
    }

    /// Whether it was factored for these joints, with short paths or without.
    pub fn stands(&self, short_paths: bool) -> bool {
        self.factored && self.short_paths == short_paths
    }

    /// Factors for the present rows; a row that depends on others is dropped and counted in the return value.
    pub fn refactor<G: Geometry>(&mut self, rows: &JointRows<G>, short_paths: bool) -> usize {
        let Some(graph) = &self.graph else { return 0 };
        self.short_paths = short_paths;
        self.factored = true;
        let pivots = Pivots::Regularise { relative: DROP_REDUNDANT };
        let (outcome, redundant) = if short_paths {
            if self.pathed.is_none() {
                self.pathed = graph.elimination(true).map(|order| (Arc::clone(&order), Factor::new(Arc::clone(&order.symbolic))));
            }
            let Some((order, factor)) = &mut self.pathed else { return 0 };
            (factor.factor_with(pivots, |values| fill(order, rows, values)), factor.redundant())
        } else {
            if self.alone.is_none() {
                let order = graph.elimination(false);
                self.alone = order.and_then(|order| BlockFactor::new(Arc::clone(&order.symbolic)).map(|factor| (order, factor)));
            }
            let Some((order, factor)) = &mut self.alone else { return 0 };
            (factor.factor_with(pivots, |values| fill(order, rows, values)), factor.redundant())
        };
        match outcome {
            Ok(()) => redundant.iter().filter(|r| graph.joint_of.get(r.node).is_some()).count(),
            // Only values that are not finite fail; they are caught as such when the velocities are.
            Err(_) => rows.len(),
        }
    }

    /// y := (J M^-1 J')^-1 y; welds and crowded bodies have no place in y before or after.
    pub fn solve(&self, y: &mut Vec<f64>) {
        let Some(graph) = &self.graph else { return };
        match (self.short_paths, &self.pathed, &self.alone) {
            (true, Some((order, factor)), _) => {
                y.resize(order.symbolic.pattern().rows(), 0.0);
                factor.solve(y);
            }
            (false, _, Some((order, factor))) => {
                y.resize(order.symbolic.pattern().rows(), 0.0);
                factor.solve(y);
            }
            _ => {}
        }
        y.truncate(graph.rows);
    }

    /// The same for several right-hand sides at once; `column` is scratch.
    pub fn solve_lanes(&self, y: &mut Vec<[f64; LANES]>, column: &mut Vec<f64>) {
        let Some(graph) = &self.graph else { return };
        match (self.short_paths, &self.pathed, &self.alone) {
            (true, Some((order, factor)), _) => {
                y.resize(order.symbolic.pattern().rows(), [0.0; LANES]);
                for lane in 0..LANES {
                    column.clear();
                    column.extend(y.iter().map(|y| y[lane]));
                    factor.solve(column);
                    column.iter().zip(y.iter_mut()).for_each(|(x, y)| y[lane] = *x);
                }
            }
            (false, _, Some((order, factor))) => {
                y.resize(order.symbolic.pattern().rows(), [0.0; LANES]);
                factor.solve_lanes(y);
            }
            _ => {}
        }
        y.truncate(graph.rows);
    }

    /// The factor for inserted rows, where it holds the present numbers.
    pub fn factor(&self) -> Option<&Factor> {
        self.pathed.as_ref().filter(|_| self.short_paths).map(|(_, factor)| factor)
    }

    /// The joints at a body of the island; none where it does not move.
    #[inline]
    pub fn attached(&self, body: usize) -> &[Attached] {
        &self.attached[self.starts[body]..self.starts[body + 1]]
    }

    /// Joints of the island, some twice, with a row that depends on others.
    pub fn redundant_joints(&self) -> impl Iterator<Item = usize> + '_ {
        let redundant: &[Redundant] = match (self.short_paths, &self.pathed, &self.alone) {
            (true, Some((_, factor)), _) => factor.redundant(),
            (false, _, Some((_, factor))) => factor.redundant(),
            _ => &[],
        };
        self.graph.iter().flat_map(move |graph| redundant.iter().filter_map(|r| graph.joint_of.get(r.node).copied()))
    }
}

/// The numbers of the matrix at the present rows, each block where the order of elimination wants it.
fn fill<G: Geometry>(order: &Elimination, rows: &JointRows<G>, values: &mut [f64]) {
    for meeting in &order.meetings {
        rows.meet(meeting, values);
    }
    for rotor in &rows.rotors {
        // (21.2): the row of a rotor gives way.
        let (place, last) = (&order.own[rotor.node], rows.rows_of(rotor.node) - 1);
        values[place.at + last * (place.columns + 1)] += rotor.inverse;
    }
    let mut responses = [Twist::zero(); MAX_ROWS];
    for &(place, coupling) in &order.welds {
        let (height, width) = (place.rows, place.columns);
        let block = &mut values[place.at..][..height * width];
        match coupling {
            Coupling::Pulled { end, parts } => {
                let count = rows.responses_at(end.node, end.side, &mut responses);
                for (c, response) in responses[..count].iter().enumerate() {
                    for r in 0..G::DOF {
                        let at = if place.transposed { c * width + r } else { r * width + c };
                        block[at] += parts * component(response, r);
                    }
                }
            }
            Coupling::Welds { end, parts } => {
                for r in 0..height {
                    let response = rows.response(end.node, end.side, &unit::<G>(r));
                    for c in 0..width {
                        block[r * width + c] += parts * component(&response, c);
                    }
                }
            }
            // A block of one row lies the same way either way round.
            Coupling::Tied { tie, node } => rows.meet_tie(tie, node, &mut block[..]),
            Coupling::Ties { ties } => block[0] += rows.meet_ties(ties),
            Coupling::Own { .. } | Coupling::Shared { .. } => {}
        }
    }
}

/// A component of a twist, linear first.
fn component<G: Geometry>(twist: &Twist<G>, index: usize) -> f64 {
    if index < G::DIM { twist.lin[index] } else { twist.ang[index - G::DIM] }
}

/// The wrench with one component 1, linear first.
fn unit<G: Geometry>(index: usize) -> Wrench<G> {
    let mut wrench: Wrench<G> = Wrench::zero();
    if index < G::DIM {
        wrench.lin[index] = 1.0;
    } else {
        wrench.ang[index - G::DIM] = 1.0;
    }
    wrench
}
