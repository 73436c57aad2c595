//! Who couples with whom in the matrices of a linkage, and where the blocks stand, theory (17.12), (17.20): one node a joint, and for bodies of many rows
//! a node of their own, theory (17.25), or welds between parts, theory (17.26).

use super::rows::LinkJoint;
use crate::impact::root;
use crate::joint_graph::{Blocks, Coupling, Crowded, End, leaves_first};
use carom_geometry::Geometry;
use carom_math::ldl::{Order, Symbolic};
use carom_math::lu::PLAIN;
use std::sync::Arc;

/// Graphs kept; past it the oldest goes.
const KEPT: usize = 64;

/// Stands for a body that impulses do not move.
const FIXED: usize = usize::MAX;

/// The diagonal block of a joint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    /// Where it begins.
    pub at: usize,
    /// Sides whose body answers in it: those that impulses move and that are no nodes themselves.
    pub counted: [bool; 2],
}

/// Two joints at a body they share, named by when they are eliminated, with their sides there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    pub at: u32,
    pub late: u32,
    pub early: u32,
    pub late_side: u8,
    pub early_side: u8,
}

/// A joint at a body that is a node, or at a part that a weld holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pull {
    pub at: u32,
    pub joint: u32,
    pub side: u8,
    /// Whether the joint is eliminated after what it pulls on.
    pub late: bool,
}

/// Welds of a body with themselves or with the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weld {
    pub at: u32,
    pub body: u32,
    /// Inverse masses in the block.
    pub parts: f64,
    /// Whether it stands on the diagonal.
    pub own: bool,
}

/// Bodies, `FIXED` where impulses do not move them, and rows of a joint.
type Name = ([usize; 2], usize);

/// Who couples with whom, and where the blocks stand.
#[derive(Debug)]
pub(crate) struct LinkGraph {
    name: Vec<Name>,
    /// Which bodies answer every force and torque, where some are crowded.
    answering: Vec<bool>,
    pub symbolic: Arc<Symbolic>,
    pub own: Vec<Own>,
    pub meetings: Vec<Meeting>,
    /// Bodies that are nodes, where their diagonal blocks begin, and the joints at them.
    pub nodes: Vec<(u32, u32)>,
    pub pulls: Vec<Pull>,
    /// Parts of each body, empty where none is cut; their welds, and the joints at these with the sign of the part.
    pub parts: Vec<f64>,
    pub welds: Vec<Weld>,
    pub welded: Vec<(Pull, f64)>,
}

/// The graphs of past linkages.
#[derive(Debug, Default)]
pub(crate) struct Graphs(Vec<Arc<LinkGraph>>);

fn name(joint: &LinkJoint) -> Name {
    ([0, 1].map(|side| if joint.dynamic[side] { joint.bodies[side] } else { FIXED }), joint.rows)
}

impl Graphs {
    /// The graph of these joints between so many bodies; `None` where there is none.
    pub(crate) fn find<G: Geometry>(
        &mut self,
        joints: &[LinkJoint],
        bodies: usize,
        answers: impl Fn(usize) -> bool,
    ) -> Option<Arc<LinkGraph>> {
        if let Some(found) = self.0.iter().find(|graph| graph.is_of(joints, &answers)) {
            return Some(Arc::clone(found));
        }
        let graph = Arc::new(LinkGraph::new::<G>(joints, bodies, answers)?);
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push(Arc::clone(&graph));
        Some(graph)
    }
}

impl LinkGraph {
    /// Whether it is the graph of these joints between bodies that answer so.
    pub fn is_of(&self, joints: &[LinkJoint], answers: impl Fn(usize) -> bool) -> bool {
        self.name.len() == joints.len()
            && self.name.iter().zip(joints).all(|(own, joint)| *own == name(joint))
            && self.answering.iter().enumerate().all(|(body, &known)| known == answers(body))
    }

    /// The least pivot that is sound, as a part of its diagonal entry: where parts answer for a body, that is so many times too large.
    pub fn least_pivot(&self) -> f64 {
        PLAIN / self.parts.iter().fold(1.0, |most: f64, parts| most.max(*parts))
    }

    fn new<G: Geometry>(joints: &[LinkJoint], bodies: usize, answers: impl Fn(usize) -> bool) -> Option<Self> {
        let mut at_body: Vec<Vec<End>> = vec![Vec::new(); bodies];
        for (node, joint) in joints.iter().enumerate() {
            for side in (0..2).filter(|&side| joint.dynamic[side]) {
                at_body[joint.bodies[side]].push(End { node, side });
            }
        }
        let sizes: Vec<usize> = joints.iter().map(|joint| joint.rows).collect();
        let rooted = is_tree(joints, bodies) && (0..bodies).all(|body| at_body[body].is_empty() || answers(body));
        let crowded = |body: usize| match () {
            () if rooted => Crowded::Node,
            // A part that does not answer leaves its welds without pivots.
            () if answers(body) => Crowded::Parted,
            () => Crowded::Whole,
        };
        let (blocks, node_at) = Blocks::new::<G>(&at_body, &sizes, &[], crowded)?;
        let many = blocks.pattern.nodes() > joints.len();
        let order =
            if many && rooted { leaves_first(&at_body, &node_at, |end: &End| joints[end.node].bodies[1 - end.side]) } else { Vec::new() };
        let order = if order.is_empty() { Order::TwoEnded } else { Order::Given(&order) };
        let symbolic = Arc::new(Symbolic::analyse(&blocks.pattern, order).ok()?);
        let mut graph = LinkGraph {
            name: joints.iter().map(name).collect(),
            answering: if many { (0..bodies).map(&answers).collect() } else { Vec::new() },
            own: vec![Own { at: 0, counted: [false; 2] }; joints.len()],
            meetings: Vec::new(),
            nodes: Vec::new(),
            pulls: Vec::new(),
            parts: Vec::new(),
            welds: Vec::new(),
            welded: Vec::new(),
            symbolic: Arc::clone(&symbolic),
        };
        for ((row, column), coupling) in blocks.couplings {
            let place = symbolic.place(row, column)?;
            let at = place.at as u32;
            let body_of = |end: End| joints[end.node].bodies[end.side];
            match coupling {
                Coupling::Own { node, parts } => {
                    graph.own[node] = Own { at: place.at, counted: parts.map(|parts| parts > 0.0) };
                    for side in (0..2).filter(|&side| parts[side] > 1.0) {
                        graph.parts.resize(bodies, 1.0);
                        graph.parts[joints[node].bodies[side]] = parts[side];
                    }
                }
                Coupling::Shared { ends: [a, b], .. } => {
                    let (late, early) = if place.transposed { (b, a) } else { (a, b) };
                    let [first, second] = [late, early].map(|end| end.node as u32);
                    graph.meetings.push(Meeting {
                        at,
                        late: first,
                        early: second,
                        late_side: late.side as u8,
                        early_side: early.side as u8,
                    });
                }
                // What is coupled is no linkage.
                Coupling::Tied { .. } | Coupling::Ties { .. } => return None,
                Coupling::Pulled { end, parts } => {
                    let pull = Pull { at, joint: end.node as u32, side: end.side as u8, late: place.transposed };
                    if node_at[body_of(end)].is_some() {
                        graph.pulls.push(pull);
                    } else {
                        graph.welded.push((pull, parts.signum()));
                    }
                }
                Coupling::Welds { end, parts } => {
                    let body = body_of(end) as u32;
                    if node_at[body as usize].is_some() {
                        graph.nodes.push((body, at));
                    } else {
                        graph.welds.push(Weld { at, body, parts, own: row == column });
                    }
                }
            }
        }
        graph.meetings.sort_by_key(|meeting| meeting.at);
        graph.pulls.sort_by_key(|pull| pull.at);
        Some(graph)
    }
}

/// Whether no joint closes a loop of others; the immovable bodies count as one.
fn is_tree(joints: &[LinkJoint], bodies: usize) -> bool {
    let mut parent: Vec<usize> = (0..=bodies).collect();
    joints.iter().all(|joint| {
        let [a, b] = [0, 1].map(|side| root(&mut parent, if joint.dynamic[side] { joint.bodies[side] } else { bodies }));
        parent[a.min(b)] = a.max(b);
        a != b
    })
}
