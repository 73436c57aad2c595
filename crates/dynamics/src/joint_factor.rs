//! The matrix J M^-1 J' of an island's joints as a block factor over the joint graph, theory (2.11) and chapter 9.

use crate::island::{LocalBody, LocalJoint};
use crate::line::Line;
use carom_geometry::Geometry;
use carom_math::block_sparse::{BlockSparse, Pattern, Slot};
use carom_math::ldl::{DROP_REDUNDANT, Factor, Order, Pivots, Symbolic};
use std::sync::Arc;

/// A block of the matrix: two joints that share a body that moves (or one joint with itself).
#[derive(Clone, Copy, Debug)]
struct Coupling {
    joints: [usize; 2],
    slot: Slot,
}

/// The factored joint matrix of an island; the analysis is kept while the joints stay the same.
#[derive(Debug, Default)]
pub(crate) struct JointFactor {
    topology: Vec<usize>,
    couplings: Vec<Coupling>,
    numbers: Option<(BlockSparse, Factor)>,
}

impl JointFactor {
    /// Factors for the present rows; a row that depends on others is dropped and counted in the return value.
    pub fn refactor<G: Geometry>(&mut self, joints: &[LocalJoint], lines: &[Line<G>], bodies: &[LocalBody<G>]) -> usize {
        if !self.same_topology(joints) {
            self.analyse(joints, bodies);
        }
        let Some((matrix, factor)) = &mut self.numbers else { return 0 };
        matrix.clear();
        for coupling in &self.couplings {
            let [i, j] = coupling.joints;
            let (i0, j0) = (joints[i].first_row, joints[j].first_row);
            matrix.add_at(coupling.slot, |r, c| lines[i0 + r].couple(&lines[j0 + c]));
        }
        match factor.factor(matrix, Pivots::Regularise { relative: DROP_REDUNDANT }) {
            Ok(()) => factor.redundant().len(),
            // Only values that are not finite fail; they are caught as such when the velocities are.
            Err(_) => lines.len(),
        }
    }

    /// y := (J M^-1 J')^-1 y.
    pub fn solve(&self, y: &mut [f64]) {
        if let Some((_, factor)) = &self.numbers {
            factor.solve(y);
        }
    }

    fn same_topology(&self, joints: &[LocalJoint]) -> bool {
        self.topology.len() == joints.len() && joints.iter().zip(&self.topology).all(|(j, &known)| j.index == known)
    }

    fn analyse<G: Geometry>(&mut self, joints: &[LocalJoint], bodies: &[LocalBody<G>]) {
        self.topology.clear();
        self.topology.extend(joints.iter().map(|j| j.index));
        self.couplings.clear();
        self.numbers = None;
        // Joints without equality rows (ropes, springs) are nodes of no size: they are left out of the graph.
        let nodes: Vec<usize> = (0..joints.len()).filter(|&i| joints[i].rows > 0).collect();
        if nodes.is_empty() {
            return;
        }
        let mut node_of = vec![usize::MAX; joints.len()];
        for (node, &joint) in nodes.iter().enumerate() {
            node_of[joint] = node;
        }
        let mut at_body: Vec<Vec<usize>> = vec![Vec::new(); bodies.len()];
        for &joint in &nodes {
            for &body in &joints[joint].bodies {
                if bodies[body].dynamic {
                    at_body[body].push(joint);
                }
            }
        }
        let mut edges = Vec::new();
        for joined in &at_body {
            for (k, &i) in joined.iter().enumerate() {
                edges.extend(joined[..k].iter().map(|&j| (node_of[i], node_of[j])));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let sizes: Vec<usize> = nodes.iter().map(|&i| joints[i].rows).collect();
        let Ok(pattern) = Pattern::new(&sizes, &edges) else { return };
        let pattern = Arc::new(pattern);
        let Ok(symbolic) = Symbolic::analyse(&pattern, Order::MinimumDegree) else { return };
        for (node, &joint) in nodes.iter().enumerate() {
            if let Some(slot) = pattern.slot(node, node) {
                self.couplings.push(Coupling { joints: [joint, joint], slot });
            }
        }
        for &(a, b) in &edges {
            if let (true, Some(slot)) = (a != b, pattern.slot(a, b)) {
                self.couplings.push(Coupling { joints: [nodes[a], nodes[b]], slot });
            }
        }
        self.numbers = Some((BlockSparse::new(pattern), Factor::new(Arc::new(symbolic))));
    }
}
