//! The matrix J M^-1 J' of an island's joints as a block factor over the joint graph, theory (2.11) and chapters 9 and 12.

use crate::island::{LocalBody, LocalJoint};
use crate::joint_graph::{Coupling, JointGraph};
use crate::line::Line;
use carom_geometry::Geometry;
use carom_math::block_sparse::BlockSparse;
use carom_math::ldl::{DROP_REDUNDANT, Factor, Pivots};
use carom_math::{Twist, Wrench};
use std::sync::Arc;

/// The rows of a joint as a body meets them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attached {
    /// First equality row.
    pub first: usize,
    /// How many.
    pub rows: usize,
    /// Which side of the joint the body is.
    pub side: usize,
    /// The joint's node in the graph.
    pub node: usize,
}

/// The factored joint matrix of an island; graph and storage are kept while the joints stay the same.
#[derive(Debug, Default)]
pub(crate) struct JointFactor {
    graph: Option<Arc<JointGraph>>,
    matrix: Option<BlockSparse>,
    /// For least fill, and for short paths.
    factors: [Option<Factor>; 2],
    /// Which of the two holds the present numbers.
    short_paths: bool,
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
            self.matrix = graph.as_ref().map(|graph| BlockSparse::new(Arc::clone(&graph.pattern)));
            self.factors = [None, None];
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
                    self.attached[*next] = Attached { first: joint.first_row, rows: joint.rows, side, node };
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

    /// Factors for the present rows; a row that depends on others is dropped and counted in the return value.
    pub fn refactor<G: Geometry>(&mut self, joints: &[LocalJoint], lines: &[Line<G>], bodies: &[LocalBody<G>], short_paths: bool) -> usize {
        let (Some(graph), Some(matrix)) = (&self.graph, &mut self.matrix) else { return 0 };
        self.short_paths = short_paths;
        let place = &mut self.factors[usize::from(short_paths)];
        if place.is_none() {
            *place = graph.symbolic(short_paths).map(Factor::new);
        }
        let Some(factor) = place else { return 0 };
        fill(graph, matrix, joints, lines, bodies);
        match factor.factor(matrix, Pivots::Regularise { relative: DROP_REDUNDANT }) {
            Ok(()) => factor.redundant().iter().filter(|r| graph.joint_of[r.node].is_some()).count(),
            // Only values that are not finite fail; they are caught as such when the velocities are.
            Err(_) => lines.len(),
        }
    }

    /// y := (J M^-1 J')^-1 y; the welds of split bodies have no place in y before or after.
    pub fn solve(&self, y: &mut Vec<f64>) {
        if let (Some(graph), Some(factor)) = (&self.graph, self.factor()) {
            y.resize(graph.pattern.rows(), 0.0);
            factor.solve(y);
            y.truncate(graph.rows);
        }
    }

    /// The factor with the present numbers.
    pub fn factor(&self) -> Option<&Factor> {
        self.factors[usize::from(self.short_paths)].as_ref()
    }

    /// The joints at a body of the island; none where it does not move.
    #[inline]
    pub fn attached(&self, body: usize) -> &[Attached] {
        &self.attached[self.starts[body]..self.starts[body + 1]]
    }

    /// Joints of the island, some twice, with a row that depends on others.
    pub fn redundant_joints(&self) -> impl Iterator<Item = usize> + '_ {
        let found = self.graph.as_ref().zip(self.factor());
        found.into_iter().flat_map(|(graph, factor)| factor.redundant().iter().filter_map(|r| graph.joint_of[r.node]))
    }
}

/// The numbers of the matrix at the present rows.
fn fill<G: Geometry>(graph: &JointGraph, matrix: &mut BlockSparse, joints: &[LocalJoint], lines: &[Line<G>], bodies: &[LocalBody<G>]) {
    matrix.clear();
    let rows_of = |joint: usize| &lines[joints[joint].first_row..][..joints[joint].rows];
    for &(slot, coupling) in &graph.couplings {
        let (block, width) = matrix.block_mut(slot);
        let entries = block.chunks_exact_mut(width).enumerate();
        match coupling {
            Coupling::Own { joint, parts } => {
                let rows = rows_of(joint);
                for (r, out) in entries {
                    let row = &rows[r].row;
                    // The factor reads the lower triangle only.
                    for (value, other) in out.iter_mut().zip(&rows[..=r]) {
                        *value += parts[0] * row.a.power(&other.response[0]) + parts[1] * row.b.power(&other.response[1]);
                    }
                }
            }
            Coupling::Shared { ends: [a, b], parts } => {
                let (rows_a, rows_b) = (rows_of(a.joint), rows_of(b.joint));
                for (r, out) in entries {
                    let row = rows_a[r].block(a.side);
                    for (value, other) in out.iter_mut().zip(rows_b) {
                        *value += parts * row.power(&other.response[b.side]);
                    }
                }
            }
            Coupling::Pulled { end, parts } => {
                let rows = rows_of(end.joint);
                for (r, out) in entries {
                    for (value, other) in out.iter_mut().zip(rows) {
                        *value += parts * component(&other.response[end.side], r);
                    }
                }
            }
            Coupling::Welds { end, parts } => {
                let body = &bodies[joints[end.joint].bodies[end.side]];
                for (r, out) in entries {
                    let response = body.response(&unit::<G>(r));
                    for (c, value) in out.iter_mut().enumerate() {
                        *value += parts * component(&response, c);
                    }
                }
            }
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
