//! Factors of the systems of a step by blocks: a node for each pair of bodies that rows act between, coupled where they share a body.
//!
//! The analysis is kept from step to step; redundant rows are dropped where they are met, theory (17.4) and (9.16)-(9.20). Bodies of many rows are cut into
//! welded parts, theory (17.26), whose rows stand behind all others.

mod arrange;
mod by_bodies;
#[cfg(test)]
mod tests;

use super::Sides;
use super::parts::{Parts, Respond};
use super::redundant::Redundant;
use arrange::compact;
use by_bodies::ByBodies;
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
pub(crate) const NONE: u32 = u32::MAX;

/// Analyses kept; beyond this all are forgotten, so that a run through ever new contacts does not fill the memory.
const KEPT: usize = 512;

/// Arrangements of rows kept: those of the two solves of a few islands, which come in turn.
const ARRANGED: usize = 8;

/// Rows per freedom from which a pair is searched for rows that repeat others; fewer cost less to carry through the factor, which drops them.
const SEARCHED: usize = 2;

/// A dropped row has no pivot: its impulse is exactly zero and it moves nothing.
const DROPPED: f64 = f64::INFINITY;

/// A factor of the store: its analysis (none where it is over bodies), its number there, and where the places of its rows stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factored {
    topology: u32,
    factor: u32,
    places: u32,
}

/// A node: the two bodies (the second may be none) that its rows act between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub bodies: [u32; 2],
    pub size: u32,
    pub next: u32,
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

/// How rows are sorted into nodes, kept while the same pairs of bodies come in the same order.
#[derive(Debug, Default)]
struct Arrangement {
    /// The pair of bodies of each row.
    pairs: Vec<[u32; 2]>,
    /// Whether crowded bodies may be cut, and those that are.
    cuts: bool,
    parts: Parts,
    /// The pairs, then the welds.
    nodes: Vec<Node>,
    /// Node of each row and its number there.
    node_of: Vec<(u32, u32)>,
    /// First row of each node.
    starts: Vec<usize>,
    /// Place of each row once they are sorted.
    places: Vec<u32>,
    /// Whether some node may have rows that repeat others.
    searched: bool,
    /// Analysis without and with the time, once it is known.
    topologies: [u32; 2],
}

impl Arrangement {
    /// Nodes that are welds, behind those of the pairs.
    fn welds(&self) -> Range<usize> {
        let pairs = if self.parts.rows == 0 { self.nodes.len() } else { self.parts.counts.len() };
        pairs..self.nodes.len()
    }
}

/// What rows are sorted into nodes with.
#[derive(Debug, Default)]
struct Sorting {
    pairs: Vec<[u32; 2]>,
    heads: Vec<u32>,
    movable: Vec<bool>,
    /// The time of each row of a node.
    times: Vec<f64>,
}

/// Every factor of the present program, and the analyses of past ones.
#[derive(Debug)]
pub(crate) struct Sparse<G: Geometry> {
    known: BTreeMap<Vec<u32>, u32>,
    topologies: Vec<Topology>,
    touched: Vec<u32>,
    places: Vec<u32>,
    name: Vec<u32>,
    arrangements: Vec<Arrangement>,
    /// The arrangement used last.
    latest: usize,
    sorting: Sorting,
    /// Nodes with the rows that are kept.
    nodes: Vec<Node>,
    /// Sorted rows and unknowns: covectors and velocities on the first and on the second body of their node.
    felt: [Vec<Wrench<G>>; 2],
    answers: [Vec<Twist<G>>; 2],
    redundant: Redundant,
    /// Place of each row and of each unknown within its node once what repeats is left out, or none; by node, then in order.
    kept: [Vec<u32>; 2],
    by_bodies: ByBodies,
    /// Refuses everything: for the road through the whole matrix.
    pub refuses: bool,
}

impl<G: Geometry> Default for Sparse<G> {
    fn default() -> Self {
        Sparse {
            known: BTreeMap::new(),
            topologies: Vec::new(),
            touched: Vec::new(),
            places: Vec::new(),
            name: Vec::new(),
            arrangements: Vec::new(),
            latest: 0,
            sorting: Sorting::default(),
            nodes: Vec::new(),
            felt: [Vec::new(), Vec::new()],
            answers: [Vec::new(), Vec::new()],
            redundant: Redundant::default(),
            kept: [Vec::new(), Vec::new()],
            by_bodies: ByBodies::default(),
            refuses: false,
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
            self.arrangements.clear();
        }
        for topology in self.touched.drain(..) {
            self.topologies[topology as usize].used = 0;
        }
        self.places.clear();
        self.by_bodies.clear();
    }

    /// Multiply-adds of the factors in use.
    #[cfg(test)]
    pub fn operations(&self) -> u64 {
        let pairs: u64 = self.topologies.iter().map(|topology| topology.used as u64 * topology.symbolic.factor_operations()).sum();
        pairs + self.by_bodies.operations() as u64
    }

    /// Factors R M^-1 J' and the direct entries, with the time as the last unknown where `times` holds its column. `None` where the answer
    /// needs pivots from several nodes at once; otherwise the factor and how many unknowns were dropped. Crowded bodies are cut where it is told how
    /// bodies answer.
    pub fn factor(
        &mut self,
        felt: &[Sides<G>],
        answers: &[[(usize, Twist<G>); 2]],
        entries: &[(usize, usize, f64)],
        times: &[f64],
        respond: Option<Respond<G>>,
    ) -> Option<(Factored, usize)> {
        if self.refuses {
            return None;
        }
        let at = self.arrange(answers, respond.is_some());
        // Taken out while it is read, so that the lists of this store can be written.
        let mut arrangement = std::mem::take(&mut self.arrangements[at]);
        self.sort_rows(&arrangement, felt, answers);
        self.add_parts(&arrangement, respond.unwrap_or(&|_, _| Twist::zero()));
        let found = self.factor_arranged(&mut arrangement, felt, entries, times);
        let crowd = arrangement.parts.rows == 0 && times.is_empty() && answers.len() >= by_bodies::CROWD;
        self.arrangements[at] = arrangement;
        match found {
            None if crowd => self.factor_by_bodies(felt, answers, entries).map(|factored| (factored, 0)),
            found => found,
        }
    }

    /// Factors R M^-1 J' for rows that two lists give between the same bodies: `carry` turns a row of the first into a covector on velocities,
    /// `respond` one of the second into a velocity. `None` where pivots have to be searched: then `factor` may still have an answer.
    pub fn factor_rows(
        &mut self,
        (felt, given): (&[Sides<G>], &[Sides<G>]),
        movable: impl Fn(usize) -> bool,
        carry: impl Fn(usize, &Wrench<G>) -> Wrench<G>,
        respond: impl Fn(usize, &Wrench<G>) -> Twist<G>,
    ) -> Option<Factored> {
        if self.refuses {
            return None;
        }
        self.sorting.pairs.clear();
        self.sorting.pairs.extend(given.iter().map(|row| {
            let [a, b] = row.map(|(body, _)| if movable(body) { body as u32 } else { NONE });
            [a.min(b), a.max(b)]
        }));
        let at = self.find_arrangement(true);
        for side in 0..2 {
            self.felt[side].resize(given.len(), Wrench::zero());
            self.answers[side].resize(given.len(), Twist::zero());
        }
        let arrangement = &self.arrangements[at];
        for (((felt, given), pair), &place) in felt.iter().zip(given).zip(&arrangement.pairs).zip(&arrangement.places) {
            for k in 0..2 {
                let body = given[k].0;
                // The side of a body that does not move is never read.
                let side = usize::from(pair[0] != body as u32);
                if pair[side] == body as u32 {
                    self.felt[side][place as usize] = carry(body, &felt[k].1);
                    self.answers[side][place as usize] = respond(body, &given[k].1);
                }
            }
        }
        let arrangement = std::mem::take(&mut self.arrangements[at]);
        self.add_parts(&arrangement, respond);
        self.arrangements[at] = arrangement;
        let arrangement = &self.arrangements[at];
        if arrangement.topologies[0] == NONE {
            let nodes = std::mem::take(&mut self.arrangements[at].nodes);
            let found = self.topology(&nodes, 0);
            self.arrangements[at].nodes = nodes;
            self.arrangements[at].topologies[0] = found?;
        }
        let number = self.arrangements[at].topologies[0];
        self.factor_unsearched(number, at)
    }

    /// Factors the sorted rows without a search for pivots.
    fn factor_unsearched(&mut self, number: u32, at: usize) -> Option<Factored> {
        let topology = self.topologies[number as usize].filled(&self.felt, &self.answers);
        topology.ready();
        if !topology.factors[topology.used].factor_plain(&topology.matrix) {
            return None;
        }
        let first_place = self.places.len();
        let places = &self.arrangements[at].places;
        self.places.extend_from_slice(places);
        self.places.extend_from_slice(places);
        let welds = self.arrangements[at].welds();
        Some(self.keep(number, first_place, 0, welds).0)
    }

    fn factor_arranged(
        &mut self,
        arrangement: &mut Arrangement,
        felt: &[Sides<G>],
        entries: &[(usize, usize, f64)],
        times: &[f64],
    ) -> Option<(Factored, usize)> {
        let timed = usize::from(!times.is_empty());
        let count = self.answers[0].len();
        // Rows that answer to nothing but velocities make a matrix near J M^-1 J', whose pivots need no search.
        let velocities_alone = entries.is_empty() && times.is_empty();
        let even = arrangement.searched && self.leave_out(arrangement, entries, times);
        let whole = velocities_alone && !even;
        if (whole || !arrangement.searched) && arrangement.topologies[timed] == NONE {
            arrangement.topologies[timed] = self.topology(&arrangement.nodes, timed)?;
        }
        if whole {
            let number = arrangement.topologies[timed];
            let topology = self.topologies[number as usize].filled(&self.felt, &self.answers);
            topology.ready();
            if topology.factors[topology.used].factor_plain(&topology.matrix) {
                let first_place = self.places.len();
                self.places.extend_from_slice(&arrangement.places);
                self.places.extend_from_slice(&arrangement.places);
                return Some(self.keep(number, first_place, 0, arrangement.welds()));
            }
        }
        let number = if arrangement.searched {
            let nodes = std::mem::take(&mut self.nodes);
            let found = self.topology(&nodes, timed);
            self.nodes = nodes;
            found?
        } else {
            arrangement.topologies[timed]
        };
        let nodes = if arrangement.searched { &self.nodes } else { &arrangement.nodes };
        let pattern = Arc::clone(self.topologies[number as usize].symbolic.pattern());
        let first_place = self.places.len();
        for kept in &self.kept {
            if arrangement.searched {
                for &(node, offset) in &arrangement.node_of {
                    let place = kept[arrangement.starts[node as usize] + offset as usize];
                    self.places.push(if place == NONE { NONE } else { pattern.start(node as usize) as u32 + place });
                }
            } else {
                self.places.extend_from_slice(&arrangement.places);
            }
            if timed > 0 {
                self.places.push(pattern.start(nodes.len()) as u32);
            }
        }
        if arrangement.searched {
            // Rows and unknowns that are kept move together.
            for side in 0..2 {
                compact(&mut self.felt[side], &self.kept[0], &arrangement.starts, nodes);
                compact(&mut self.answers[side], &self.kept[1], &arrangement.starts, nodes);
            }
        }
        let columns = &self.answers;
        let topology = self.topologies[number as usize].filled(&self.felt, &self.answers);
        let kept_at = |which: usize, i: usize| {
            let (node, offset) = arrangement.node_of[i];
            let place = if arrangement.searched { self.kept[which][arrangement.starts[node as usize] + offset as usize] } else { offset };
            (place != NONE).then_some((node as usize, place as usize))
        };
        for &(i, j, value) in entries {
            if let (Some((node, r)), Some((other, c))) = (kept_at(0, i), kept_at(1, j)) {
                debug_assert_eq!(node, other, "direct entries stay within a pair of bodies");
                topology.matrix.add_entry(topology.diagonals[node], r, c, value);
            }
        }
        if let (Some((&corner, column)), Some(guard)) = (times.split_last(), felt.last()) {
            let guard = guard.map(|(body, covector)| (arrangement.parts.of(body), covector));
            let guarded = |node: usize, c: usize| {
                let (place, bodies) = (pattern.start(node) + c, nodes[node].bodies);
                let mut sum = 0.0;
                for (body, covector) in &guard {
                    for side in 0..2 {
                        if bodies[side] as usize == *body {
                            sum += covector.power(&columns[side][place]);
                        }
                    }
                }
                sum
            };
            for (i, value) in column.iter().enumerate() {
                if let Some((node, r)) = kept_at(0, i) {
                    topology.matrix.add_entry(topology.border[node][0], r, 0, *value);
                }
                let Some((node, c)) = kept_at(1, i) else { continue };
                topology.matrix.add_entry(topology.border[node][1], 0, c, guarded(node, c));
            }
            for node in arrangement.welds() {
                (0..G::DOF).for_each(|c| topology.matrix.add_entry(topology.border[node][1], 0, c, guarded(node, c)));
            }
            let last = nodes.len();
            topology.matrix.add_entry(topology.diagonals[last], 0, 0, corner);
        }
        topology.ready();
        let factor = &mut topology.factors[topology.used];
        // Pivots of nodes without repetition are nearly always sound as they come; where one is not they are searched.
        let plain = (!arrangement.searched || even) && times.last().is_none_or(|corner| *corner > 0.0);
        if !(plain && factor.factor_plain(&topology.matrix)) {
            let outcome = factor.factor(&topology.matrix, Pivots::Regularise { relative: DROPPED });
            if outcome.is_err() || factor.entangled() {
                self.places.truncate(first_place);
                return None;
            }
        }
        let left_out = count - self.answers[0].len();
        Some(self.keep(number, first_place, left_out, arrangement.welds()))
    }

    fn get(&self, factored: Factored, count: usize) -> (&LuFactor, [&[u32]; 2]) {
        let factor = &self.topologies[factored.topology as usize].factors[factored.factor as usize];
        let (rows, columns) = self.places[factored.places as usize..][..2 * count].split_at(count);
        (factor, [rows, columns])
    }

    /// x\[out\] -= S^-1 x\[input\].
    pub fn solve(&mut self, factored: Factored, input: Range<usize>, out: Range<usize>, x: &mut [f64], scratch: &mut Vec<f64>) {
        if factored.topology == NONE {
            return self.by_bodies.solve(factored.factor, input, out, false, x);
        }
        let (factor, [rows, columns]) = self.get(factored, input.len());
        gather(factor, input, rows, x, scratch);
        factor.solve(scratch);
        subtract(out, columns, x, scratch);
    }

    /// x\[input\] -= S^-T x\[out\].
    pub fn solve_transposed(&mut self, factored: Factored, input: Range<usize>, out: Range<usize>, x: &mut [f64], scratch: &mut Vec<f64>) {
        if factored.topology == NONE {
            return self.by_bodies.solve(factored.factor, out, input, true, x);
        }
        let (factor, [rows, columns]) = self.get(factored, input.len());
        gather(factor, out, columns, x, scratch);
        factor.solve_transpose(scratch);
        subtract(input, rows, x, scratch);
    }

    /// The same for several side by side.
    pub fn solve_transposed_lanes<const L: usize>(
        &mut self,
        factored: Factored,
        input: Range<usize>,
        out: Range<usize>,
        x: &mut [[f64; L]],
        scratch: &mut Vec<[f64; L]>,
    ) {
        if factored.topology == NONE {
            return self.by_bodies.solve_transposed_lanes(factored.factor, input, out, x);
        }
        let (factor, [rows, columns]) = self.get(factored, input.len());
        scratch.clear();
        scratch.resize(factor.symbolic().pattern().rows(), [0.0; L]);
        for (slot, &place) in out.zip(columns).filter(|(_, place)| **place != NONE) {
            scratch[place as usize] = x[slot];
        }
        factor.solve_transpose_lanes(scratch);
        for (slot, &place) in input.zip(rows).filter(|(_, place)| **place != NONE) {
            x[slot].iter_mut().zip(&scratch[place as usize]).for_each(|(x, s)| *x -= s);
        }
    }
}

/// Slots to the places of a factor.
fn gather(factor: &LuFactor, from: Range<usize>, places: &[u32], x: &[f64], scratch: &mut Vec<f64>) {
    scratch.clear();
    scratch.resize(factor.symbolic().pattern().rows(), 0.0);
    for (slot, &place) in from.zip(places) {
        if place != NONE {
            scratch[place as usize] = x[slot];
        }
    }
}

/// Slots less what stands at the places of a factor.
fn subtract(from: Range<usize>, places: &[u32], x: &mut [f64], scratch: &[f64]) {
    for (slot, &place) in from.zip(places) {
        if place != NONE {
            x[slot] -= scratch[place as usize];
        }
    }
}
