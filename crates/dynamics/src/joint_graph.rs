//! The joint graph of an island: who couples with whom in J M^-1 J', with bodies of many joints cut into welded parts or, in a tree, kept as nodes of
//! their own, theory (9.1)-(9.2), (12.1)-(12.10), (12.11). It depends on the joints alone, so it is analysed once and shared from step to step.
//!
//! Which method stands where: a hub of a tree is a node of its own; a hub over which loops close, or into whose factor contacts are inserted, is cut into welded
//! parts by the table of Tomcin, Sibbing and Kobbelt 2014, appendix B (`carom_math::splitting`); contacts, limits and motors are rows along the paths of that factor
//! (`articulated.rs`), symmetric ones. The forms of appendix C as printed, with unsymmetric columns, are `carom_math::bordered`; the step does not use them.

use crate::coupling::LocalTie;
use crate::island::{LocalBody, LocalJoint};
use carom_geometry::Geometry;
use carom_math::block_sparse::Pattern;
use carom_math::ldl::{Order, Place, Symbolic};
use carom_math::splitting::assign;
use std::sync::{Arc, OnceLock};

/// Graphs kept at once; islands that merge and part through contact come back to theirs. Past it the oldest goes.
const KEPT: usize = 64;

/// One side of a joint: which body it pulls on, whatever its number in the island.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The node of the joint, which is its place among the joints with rows.
    pub node: usize,
    /// Its side, 0 or 1.
    pub side: usize,
}

/// What one block of the matrix is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coupling {
    /// Rows of a joint with themselves; the inverse mass of each side counts that many times.
    Own {
        /// The node of the joint.
        node: usize,
        /// Parts of the bodies at its sides, 0 where one does not move.
        parts: [f64; 2],
    },
    /// Rows of two joints at a body, or part of one, that they share.
    Shared {
        /// Their ends there; rows of the block are those of the first.
        ends: [End; 2],
        /// Parts of the body.
        parts: f64,
    },
    /// Rows of a weld with those of a joint at one of its parts, or of a body with those of a joint at it.
    Pulled {
        /// The joint's end.
        end: End,
        /// Parts of the body, negative at the second part of the weld.
        parts: f64,
    },
    /// The row of a coupling of joints with those of a joint at one of its bodies, theory (21.12).
    Tied {
        /// The coupling.
        tie: usize,
        /// The node of the joint.
        node: usize,
    },
    /// The rows of two couplings, or of one with itself.
    Ties {
        /// The couplings.
        ties: [usize; 2],
    },
    /// Rows of welds of one body with themselves or with the next, or of a body with themselves.
    Welds {
        /// Where the body is found.
        end: End,
        /// Inverse masses in the block.
        parts: f64,
    },
}

/// The analysis of a set of joints.
#[derive(Debug)]
pub(crate) struct JointGraph {
    /// The joints and their couplings, as numbered in the model.
    topology: [Vec<usize>; 2],
    /// Bodies of many rows cut into parts.
    parted: Blocks,
    /// In a tree that has such bodies, the same with nodes for them, and the order in which it is eliminated.
    rooted: Option<(Blocks, Vec<usize>)>,
    /// The joint of each node that is one, and the first joint of each that is a coupling, which come behind.
    pub joint_of: Vec<usize>,
    /// The node of each joint of the island; `usize::MAX` where it has no rows.
    pub node_of: Vec<usize>,
    /// Rows of the joints and their couplings alone.
    pub rows: usize,
    /// Joints that close loops, and couplings: they lose ties in the order, so that redundancy shows at them.
    closing: Vec<usize>,
    /// Least fill, and short paths, each analysed when first needed.
    orders: [OnceLock<Arc<Elimination>>; 2],
}

/// The blocks of a matrix over the joint graph.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// Nodes: joints with rows, in order, then welds or bodies.
    pub pattern: Arc<Pattern>,
    /// What couples two nodes, the first of which has the rows.
    pub couplings: Vec<((usize, usize), Coupling)>,
}

/// What becomes of a body with many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowded {
    /// All its joints couple with each other.
    Whole,
    /// It is cut into welded parts.
    Parted,
    /// It is a node.
    Node,
}

/// An order of elimination, and where it wants the blocks of the matrix.
#[derive(Debug)]
pub(crate) struct Elimination {
    /// Order and pattern of the factor.
    pub symbolic: Arc<Symbolic>,
    /// Where rows of joints meet, by rising place: all of a mechanism whose bodies are whole.
    pub meetings: Vec<Meeting>,
    /// Where the rows of each joint meet themselves.
    pub own: Vec<Place>,
    /// Couplings with welds, by rising place.
    pub welds: Vec<(Place, Coupling)>,
}

/// Rows of one joint, or of two, at a body or part of it: a block of the matrix gets J_a M^-1 J_b'. There is one for every joint and side, so it is small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    /// Where the block begins.
    pub at: u32,
    /// Nodes of the joints that have its rows and its columns.
    pub nodes: [u32; 2],
    /// Parts of the body.
    pub parts: u32,
    /// Sides of the joints at the body.
    pub sides: [u8; 2],
}

impl Meeting {
    fn new(place: &Place, [a, b]: [End; 2], parts: f64) -> Self {
        Meeting {
            at: place.at as u32,
            nodes: [a, b].map(|end| end.node as u32),
            parts: parts as u32,
            sides: [a, b].map(|end| end.side as u8),
        }
    }
}

impl Elimination {
    fn new(symbolic: Symbolic, found: &[((usize, usize), Coupling)]) -> Self {
        let (mut meetings, mut own, mut welds) = (Vec::new(), Vec::new(), Vec::new());
        for &((row, column), coupling) in found {
            let Some(place) = symbolic.place(row, column) else { continue };
            match coupling {
                Coupling::Own { node, parts } => {
                    own.push((node, place));
                    for side in (0..2).filter(|&side| parts[side] != 0.0) {
                        meetings.push(Meeting::new(&place, [End { node, side }; 2], parts[side]));
                    }
                }
                // Rows of either joint against the other: the block is made as it lies.
                Coupling::Shared { ends: [a, b], parts } => {
                    meetings.push(Meeting::new(&place, if place.transposed { [b, a] } else { [a, b] }, parts));
                }
                coupling => welds.push((place, coupling)),
            }
        }
        // By place in memory, so that the matrix is filled in one walk; a joint between the same two bodies as another shares both.
        meetings.sort_by_key(|meeting| meeting.at);
        welds.sort_by_key(|(place, _)| place.at);
        own.sort_by_key(|(node, _)| *node);
        let own = own.into_iter().map(|(_, place)| place).collect();
        Elimination { symbolic: Arc::new(symbolic), meetings, own, welds }
    }
}

impl JointGraph {
    /// The graph of these joints and couplings; `None` when no joint has rows. Bodies of many rows are cut into parts where `split`, but not under couplings.
    fn new<G: Geometry>(joints: &[LocalJoint], bodies: &[LocalBody<G>], ties: &[LocalTie], split: bool) -> Option<Self> {
        let split = split && ties.is_empty();
        let mut node_of = vec![usize::MAX; joints.len()];
        let mut joint_of = Vec::new();
        let mut sizes = Vec::new();
        let mut at_body: Vec<Vec<End>> = vec![Vec::new(); bodies.len()];
        for (joint, local) in joints.iter().enumerate().filter(|(_, j)| j.rows > 0) {
            node_of[joint] = joint_of.len();
            joint_of.push(joint);
            sizes.push(local.rows);
            for side in 0..2 {
                if bodies[local.bodies[side]].dynamic {
                    at_body[local.bodies[side]].push(End { node: node_of[joint], side });
                }
            }
        }
        if joint_of.is_empty() {
            return None;
        }
        let mut closing = closing(joints, bodies, &node_of);
        let tied = Tied::all(joints, bodies, ties, joint_of.len());
        for (tie, reached) in ties.iter().zip(&tied) {
            closing.push(reached.node);
            joint_of.push(tie.terms.first().map_or(0, |(joint, _)| *joint));
            sizes.push(1);
        }
        let crowded = if split { Crowded::Parted } else { Crowded::Whole };
        let (parted, _) = Blocks::new::<G>(&at_body, &sizes, &tied, |_| crowded)?;
        // Rows of a tree are independent even where its crowded bodies are held, as long as every other body answers.
        let mut rooted = None;
        if split && closing.is_empty() && parted.pattern.nodes() > sizes.len() && bodies.iter().all(|body| !body.dynamic || body.answers())
        {
            let (blocks, node_at) = Blocks::new::<G>(&at_body, &sizes, &[], |_| Crowded::Node)?;
            let far = |end: &End| joints[joint_of[end.node]].bodies[1 - end.side];
            rooted = Some((blocks, leaves_first(&at_body, &node_at, far)));
        }
        let topology = [joints.iter().map(|j| j.index).collect(), ties.iter().map(|tie| tie.index).collect()];
        let rows = sizes.iter().sum();
        Some(JointGraph { topology, parted, rooted, joint_of, node_of, rows, closing, orders: Default::default() })
    }

    /// Whether it is the graph of these joints and couplings.
    fn is_of(&self, joints: &[LocalJoint], ties: &[LocalTie]) -> bool {
        let [known, coupled] = &self.topology;
        joints.iter().map(|joint| joint.index).eq(known.iter().copied()) && ties.iter().map(|tie| tie.index).eq(coupled.iter().copied())
    }

    /// Order and pattern of the factor: least fill, or short paths for many inserted rows.
    pub fn elimination(&self, short_paths: bool) -> Option<Arc<Elimination>> {
        let place = &self.orders[usize::from(short_paths)];
        if let Some(known) = place.get() {
            return Some(Arc::clone(known));
        }
        let (blocks, order) = match (short_paths, &self.rooted) {
            (true, _) => (&self.parted, Order::ShortPaths(&self.closing)),
            (false, Some((blocks, order))) => (blocks, Order::Given(order)),
            (false, None) if self.closing.is_empty() => (&self.parted, Order::TwoEnded),
            (false, None) => (&self.parted, Order::MinimumDegreeLate(&self.closing)),
        };
        let found = Arc::new(Elimination::new(Symbolic::analyse(&blocks.pattern, order).ok()?, &blocks.couplings));
        Some(Arc::clone(place.get_or_init(|| found)))
    }
}

/// A coupling as a node: a row over the bodies of several joints.
#[derive(Clone, Debug)]
pub(crate) struct Tied {
    /// Its node.
    pub node: usize,
    /// Bodies of its joints that move.
    pub bodies: Vec<usize>,
}

impl Tied {
    /// All of an island, their nodes behind those of its joints.
    fn all<G: Geometry>(joints: &[LocalJoint], bodies: &[LocalBody<G>], ties: &[LocalTie], first: usize) -> Vec<Tied> {
        let one = |(k, tie): (usize, &LocalTie)| {
            let mut reached: Vec<usize> = tie.terms.iter().flat_map(|&(joint, _)| joints[joint].bodies).collect();
            reached.retain(|&body| bodies[body].dynamic);
            reached.sort_unstable();
            reached.dedup();
            Tied { node: first + k, bodies: reached }
        };
        ties.iter().enumerate().map(one).collect()
    }
}

impl Blocks {
    /// The blocks of joints with these ends at each body and these rows, with couplings behind them, and the node of each body that has one; `crowded` says what
    /// is to become of a body with many.
    pub fn new<G: Geometry>(
        at_body: &[Vec<End>],
        rows: &[usize],
        tied: &[Tied],
        crowded: impl Fn(usize) -> Crowded,
    ) -> Option<(Self, Vec<Option<usize>>)> {
        let mut sizes = rows.to_vec();
        let mut own = vec![[0.0; 2]; rows.len()];
        let mut found: Vec<((usize, usize), Coupling)> = Vec::new();
        let mut node_at = vec![None; at_body.len()];
        for (body, ends) in at_body.iter().enumerate().filter(|(_, ends)| !ends.is_empty()) {
            let counts: Vec<usize> = ends.iter().map(|end| rows[end.node]).collect();
            let crowded = crowded(body);
            let starts = if crowded == Crowded::Whole { vec![0, ends.len()] } else { assign(&counts, G::DOF).starts };
            let (count, parts) = (starts.len() - 1, (starts.len() - 1) as f64);
            let first_weld = sizes.len();
            if crowded == Crowded::Node && count > 1 {
                // (12.11): the wrench of all joints at the body is unknown besides them.
                found.push(((first_weld, first_weld), Coupling::Welds { end: ends[0], parts: -1.0 }));
                found.extend(ends.iter().map(|&end| ((first_weld, end.node), Coupling::Pulled { end, parts: 1.0 })));
                sizes.push(G::DOF);
                node_at[body] = Some(first_weld);
                continue;
            }
            for part in 0..count {
                let here = &ends[starts[part]..starts[part + 1]];
                for (k, a) in here.iter().enumerate() {
                    own[a.node][a.side] = parts;
                    for b in &here[..k] {
                        found.push(((a.node, b.node), Coupling::Shared { ends: [*a, *b], parts }));
                    }
                    // Welds [1, -1]: this part is the second of the one before it and the first of the one after.
                    if part > 0 {
                        found.push(((first_weld + part - 1, a.node), Coupling::Pulled { end: *a, parts: -parts }));
                    }
                    if part + 1 < count {
                        found.push(((first_weld + part, a.node), Coupling::Pulled { end: *a, parts }));
                    }
                }
                if part + 1 < count {
                    let (weld, end) = (first_weld + part, ends[0]);
                    found.push(((weld, weld), Coupling::Welds { end, parts: 2.0 * parts }));
                    if part > 0 {
                        found.push(((weld, weld - 1), Coupling::Welds { end, parts: -parts }));
                    }
                }
            }
            sizes.resize(first_weld + count - 1, G::DOF);
        }
        let joints = own.len() - tied.len();
        found.extend(own.iter().take(joints).enumerate().map(|(node, &parts)| ((node, node), Coupling::Own { node, parts })));
        for (tie, reached) in tied.iter().enumerate() {
            let mut met: Vec<usize> = reached.bodies.iter().flat_map(|&body| &at_body[body]).map(|end| end.node).collect();
            met.sort_unstable();
            met.dedup();
            found.extend(met.into_iter().map(|node| ((reached.node, node), Coupling::Tied { tie, node })));
            let meets = |other: &Tied| other.bodies.iter().any(|body| reached.bodies.contains(body));
            let others = tied[..=tie].iter().enumerate().filter(|(_, other)| meets(other));
            found.extend(others.map(|(other, at)| ((reached.node, at.node), Coupling::Ties { ties: [tie, other] })));
        }
        let edges: Vec<(usize, usize)> = found.iter().map(|(edge, _)| *edge).collect();
        Some((Blocks { pattern: Arc::new(Pattern::new(&sizes, &edges).ok()?), couplings: found }, node_at))
    }
}

/// The nodes of a tree of bodies from its leaves to what carries it, each branch in one piece: the joints beyond a body, the body where it is a node, the
/// joint that carries it. Nothing fills, and a node is reached when all that makes its pivot definite has been.
pub(crate) fn leaves_first(at_body: &[Vec<End>], node_at: &[Option<usize>], far: impl Fn(&End) -> usize) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; at_body.len()];
    // Bodies that hang on what does not move, then those that carry themselves.
    let carried = |body: usize| at_body[body].iter().find(|end| at_body[far(end)].is_empty()).map(|end| end.node);
    let moving = (0..at_body.len()).filter(|&body| !at_body[body].is_empty());
    let roots = moving.clone().filter(|&body| carried(body).is_some()).chain(moving);
    let mut branch: Vec<(usize, Option<usize>, usize)> = Vec::new();
    for root in roots {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        branch.push((root, carried(root), 0));
        while let Some((body, by, next)) = branch.last_mut() {
            if let Some(end) = at_body[*body].get(*next) {
                *next += 1;
                let child = far(end);
                if Some(end.node) != *by && !std::mem::replace(&mut seen[child], true) {
                    branch.push((child, Some(end.node), 0));
                }
            } else {
                order.extend(node_at[*body]);
                order.extend(*by);
                branch.pop();
            }
        }
    }
    order
}

/// Joints that close a loop of joints before them, as nodes; the immovable bodies count as one.
fn closing<G: Geometry>(joints: &[LocalJoint], bodies: &[LocalBody<G>], node_of: &[usize]) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..bodies.len()).collect();
    let mut closing = Vec::new();
    for (joint, local) in joints.iter().enumerate().filter(|(_, j)| j.rows > 0) {
        let [a, b] = local.bodies.map(|body| crate::impact::root(&mut parent, if bodies[body].dynamic { body } else { 0 }));
        if a == b {
            closing.push(node_of[joint]);
        }
        parent[a.max(b)] = a.min(b);
    }
    closing
}

/// The graphs of the islands seen so far.
#[derive(Debug, Default)]
pub(crate) struct JointGraphs {
    known: Vec<Arc<JointGraph>>,
    oldest: usize,
}

impl JointGraphs {
    /// The graph of these joints, from the last island that had them or made anew; `None` when none has rows.
    pub fn of<G: Geometry>(
        &mut self,
        joints: &[LocalJoint],
        bodies: &[LocalBody<G>],
        ties: &[LocalTie],
        split: bool,
    ) -> Option<Arc<JointGraph>> {
        if joints.iter().all(|j| j.rows == 0) {
            return None;
        }
        if let Some(known) = self.known.iter().find(|graph| graph.is_of(joints, ties)) {
            return Some(Arc::clone(known));
        }
        let graph = Arc::new(JointGraph::new(joints, bodies, ties, split)?);
        if self.known.len() < KEPT {
            self.known.push(Arc::clone(&graph));
        } else {
            self.known[self.oldest] = Arc::clone(&graph);
            self.oldest = (self.oldest + 1) % KEPT;
        }
        Some(graph)
    }
}
