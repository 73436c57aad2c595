//! Factors of the systems of a step by blocks: a node for each pair of bodies that rows act between, coupled where they share a body.
//!
//! The analysis is kept from step to step; redundant rows are dropped where they are met, theory (17.4) and (9.14)-(9.18).

use super::system::Sides;
use carom_geometry::Geometry;
use carom_math::block_matrix::BlockMatrix;
use carom_math::block_sparse::{Pattern, Slot};
use carom_math::ldl::{Order, Pivots, Symbolic};
use carom_math::lu::LuFactor;
use carom_math::{Twist, Wrench};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// No body, and no node.
const NONE: u32 = u32::MAX;

/// Analyses kept; beyond this all are forgotten, so that a run through ever new contacts does not fill the memory.
const KEPT: usize = 512;

/// A dropped row has no pivot: its impulse is exactly zero and it moves nothing.
const DROPPED: f64 = f64::INFINITY;

/// A factor of the store: its analysis, its number there, and where the places of its rows stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factored {
    topology: u32,
    factor: u32,
    places: u32,
}

/// A node: the two bodies (the second may be none) that its rows act between.
#[derive(Clone, Copy, Debug)]
struct Node {
    bodies: [u32; 2],
    size: u32,
    next: u32,
}

/// Two nodes that share a body: which side of each it is.
#[derive(Clone, Copy, Debug)]
struct Coupling {
    slot: Slot,
    rows: u32,
    row_side: u32,
    columns: u32,
    column_side: u32,
}

/// An analysed system and its factors.
#[derive(Debug)]
struct Topology {
    symbolic: Arc<Symbolic>,
    matrix: BlockMatrix,
    couplings: Vec<Coupling>,
    diagonals: Vec<Slot>,
    /// Column and row of the time by node, and its own corner last.
    border: Vec<[Slot; 2]>,
    factors: Vec<LuFactor>,
    used: usize,
}

/// Every factor of the present program, and the analyses of past ones.
#[derive(Debug)]
pub(crate) struct Sparse<G: Geometry> {
    known: BTreeMap<Vec<u32>, u32>,
    topologies: Vec<Topology>,
    touched: Vec<u32>,
    places: Vec<u32>,
    name: Vec<u32>,
    nodes: Vec<Node>,
    heads: Vec<u32>,
    movable: Vec<bool>,
    node_of: Vec<(u32, u32)>,
    felt: Vec<[Wrench<G>; 2]>,
    answers: Vec<[Twist<G>; 2]>,
}

impl<G: Geometry> Default for Sparse<G> {
    fn default() -> Self {
        Sparse {
            known: BTreeMap::new(),
            topologies: Vec::new(),
            touched: Vec::new(),
            places: Vec::new(),
            name: Vec::new(),
            nodes: Vec::new(),
            heads: Vec::new(),
            movable: Vec::new(),
            node_of: Vec::new(),
            felt: Vec::new(),
            answers: Vec::new(),
        }
    }
}

impl<G: Geometry> Sparse<G> {
    /// Forgets the factors but keeps the analyses.
    pub fn clear(&mut self) {
        if self.topologies.len() > KEPT {
            self.known.clear();
            self.topologies.clear();
            self.touched.clear();
        }
        for topology in self.touched.drain(..) {
            self.topologies[topology as usize].used = 0;
        }
        self.places.clear();
    }

    /// Factors R M^-1 J' and the direct entries, with the time as the last unknown where `times` holds its column. `None` where the answer
    /// needs pivots from several nodes at once; otherwise the factor and how many unknowns were dropped.
    pub fn factor(
        &mut self,
        felt: &[Sides<G>],
        answers: &[[(usize, Twist<G>); 2]],
        entries: &[(usize, usize, f64)],
        times: &[f64],
    ) -> Option<(Factored, usize)> {
        self.find_nodes(answers, !times.is_empty());
        let number = match self.known.get(&self.name[..]) {
            Some(&number) => number,
            None => {
                let topology = Topology::new(&self.nodes, !times.is_empty())?;
                self.topologies.push(topology);
                let number = self.topologies.len() as u32 - 1;
                self.known.insert(self.name.clone(), number);
                number
            }
        };
        let topology = &mut self.topologies[number as usize];
        if topology.used == 0 {
            self.touched.push(number);
        }
        // Rows in the order of the nodes, each with its covectors on the first and the second body of its node.
        let pattern = Arc::clone(topology.symbolic.pattern());
        let first_place = self.places.len();
        self.felt.clear();
        self.felt.resize(answers.len(), [Wrench::zero(); 2]);
        self.answers.clear();
        self.answers.resize(answers.len(), [Twist::zero(); 2]);
        for (i, answer) in answers.iter().enumerate() {
            let (node, offset) = self.node_of[i];
            let place = pattern.start(node as usize) + offset as usize;
            self.places.push(place as u32);
            for (side, body) in self.nodes[node as usize].bodies.into_iter().enumerate() {
                for k in 0..2 {
                    if felt[i][k].0 == body as usize {
                        self.felt[place][side] = self.felt[place][side].plus(1.0, felt[i][k].1);
                    }
                    if answer[k].0 == body as usize {
                        self.answers[place][side] = self.answers[place][side].plus(1.0, answer[k].1);
                    }
                }
            }
        }
        let (rows, columns) = (&self.felt, &self.answers);
        topology.matrix.clear();
        for coupling in &topology.couplings {
            let (top, left) = (pattern.start(coupling.rows as usize), pattern.start(coupling.columns as usize));
            let (row_side, column_side) = (coupling.row_side as usize, coupling.column_side as usize);
            topology.matrix.add_at(coupling.slot, |r, c| rows[top + r][row_side].power(&columns[left + c][column_side]));
        }
        for &(i, j, value) in entries {
            let ((node, r), (other, c)) = (self.node_of[i], self.node_of[j]);
            debug_assert_eq!(node, other, "direct entries stay within a pair of bodies");
            topology.matrix.add_entry(topology.diagonals[node as usize], r as usize, c as usize, value);
        }
        if let (Some((&corner, column)), Some(guard)) = (times.split_last(), felt.last()) {
            for (i, value) in column.iter().enumerate() {
                let (node, r) = self.node_of[i];
                topology.matrix.add_entry(topology.border[node as usize][0], r as usize, 0, *value);
                let place = pattern.start(node as usize) + r as usize;
                let bodies = self.nodes[node as usize].bodies;
                let mut sum = 0.0;
                for (body, covector) in guard {
                    for side in 0..2 {
                        if bodies[side] as usize == *body {
                            sum += covector.power(&columns[place][side]);
                        }
                    }
                }
                topology.matrix.add_entry(topology.border[node as usize][1], 0, r as usize, sum);
            }
            let last = self.nodes.len();
            topology.matrix.add_entry(topology.diagonals[last], 0, 0, corner);
            self.places.push(pattern.start(last) as u32);
        }
        if topology.used == topology.factors.len() {
            topology.factors.push(LuFactor::new(Arc::clone(&topology.symbolic)));
        }
        let factor = &mut topology.factors[topology.used];
        let outcome = factor.factor(&topology.matrix, Pivots::Regularise { relative: DROPPED });
        if outcome.is_err() || factor.entangled() {
            self.places.truncate(first_place);
            return None;
        }
        let dropped = factor.dropped().len();
        let factored = Factored { topology: number, factor: topology.used as u32, places: first_place as u32 };
        topology.used += 1;
        Some((factored, dropped))
    }

    /// Sorts the rows into nodes and names the result.
    fn find_nodes(&mut self, answers: &[[(usize, Twist<G>); 2]], timed: bool) {
        let bodies = answers.iter().flatten().map(|(body, _)| body + 1).max().unwrap_or(0);
        self.movable.clear();
        self.movable.resize(bodies, false);
        for (body, twist) in answers.iter().flatten() {
            self.movable[*body] |= *twist != Twist::zero();
        }
        self.heads.clear();
        self.heads.resize(bodies + 1, NONE);
        self.nodes.clear();
        self.node_of.clear();
        for answer in answers {
            let [a, b] = answer.map(|(body, _)| if self.movable[body] { body as u32 } else { NONE });
            let pair = [a.min(b), a.max(b)];
            let mut node = match self.nodes.last() {
                Some(last) if last.bodies == pair => self.nodes.len() as u32 - 1,
                _ => {
                    let head = if pair[0] == NONE { bodies } else { pair[0] as usize };
                    let mut found = self.heads[head];
                    while found != NONE && self.nodes[found as usize].bodies != pair {
                        found = self.nodes[found as usize].next;
                    }
                    found
                }
            };
            if node == NONE {
                let head = if pair[0] == NONE { bodies } else { pair[0] as usize };
                node = self.nodes.len() as u32;
                self.nodes.push(Node { bodies: pair, size: 0, next: self.heads[head] });
                self.heads[head] = node;
            }
            let own = &mut self.nodes[node as usize];
            self.node_of.push((node, own.size));
            own.size += 1;
        }
        self.name.clear();
        self.name.push(u32::from(timed));
        for node in &self.nodes {
            self.name.extend_from_slice(&[node.bodies[0], node.bodies[1], node.size]);
        }
    }

    fn get(&self, factored: Factored, count: usize) -> (&LuFactor, &[u32]) {
        let factor = &self.topologies[factored.topology as usize].factors[factored.factor as usize];
        (factor, &self.places[factored.places as usize..][..count])
    }

    /// x[out] -= S^-1 x[input].
    pub fn solve(&self, factored: Factored, input: Range<usize>, out: Range<usize>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let (factor, places) = self.get(factored, input.len());
        scratch.clear();
        scratch.resize(places.len(), 0.0);
        for (i, &place) in input.zip(places) {
            scratch[place as usize] = x[i];
        }
        factor.solve(scratch);
        for (o, &place) in out.zip(places) {
            x[o] -= scratch[place as usize];
        }
    }

    /// x[input] -= S^-T x[out].
    pub fn solve_transposed(&self, factored: Factored, input: Range<usize>, out: Range<usize>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let (factor, places) = self.get(factored, input.len());
        scratch.clear();
        scratch.resize(places.len(), 0.0);
        for (o, &place) in out.zip(places) {
            scratch[place as usize] = x[o];
        }
        factor.solve_transpose(scratch);
        for (i, &place) in input.zip(places) {
            x[i] -= scratch[place as usize];
        }
    }
}

impl Topology {
    /// Analyses nodes; with `timed` one more that couples to all comes last.
    fn new(nodes: &[Node], timed: bool) -> Option<Self> {
        let mut sizes: Vec<usize> = nodes.iter().map(|node| node.size as usize).collect();
        let mut shared = Vec::new();
        let mut edges = Vec::new();
        let mut touching: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            for side in (0..2).filter(|&side| node.bodies[side] != NONE) {
                touching.entry(node.bodies[side]).or_default().push((index, side));
            }
        }
        for at_body in touching.values() {
            for &(i, row_side) in at_body {
                for &(j, column_side) in at_body {
                    shared.push((i, row_side, j, column_side));
                    if i < j {
                        edges.push((i, j));
                    }
                }
            }
        }
        if timed {
            edges.extend((0..nodes.len()).map(|node| (node, nodes.len())));
            sizes.push(1);
        }
        edges.sort_unstable();
        edges.dedup();
        let pattern = Arc::new(Pattern::new(&sizes, &edges).ok()?);
        let last = [nodes.len()];
        let order = if timed { Order::MinimumDegreeLast(&last) } else { Order::MinimumDegree };
        let symbolic = Arc::new(Symbolic::analyse(&pattern, order).ok()?);
        let mut couplings = Vec::with_capacity(shared.len());
        for (i, row_side, j, column_side) in shared {
            let [rows, columns, row_side, column_side] = [i, j, row_side, column_side].map(|k| k as u32);
            couplings.push(Coupling { slot: pattern.slot(i, j)?, rows, row_side, columns, column_side });
        }
        let diagonals = (0..sizes.len()).map(|node| pattern.slot(node, node)).collect::<Option<Vec<_>>>()?;
        let mut border = Vec::new();
        if timed {
            for node in 0..nodes.len() {
                border.push([pattern.slot(node, nodes.len())?, pattern.slot(nodes.len(), node)?]);
            }
        }
        Some(Topology { symbolic, matrix: BlockMatrix::new(pattern), couplings, diagonals, border, factors: Vec::new(), used: 0 })
    }
}
