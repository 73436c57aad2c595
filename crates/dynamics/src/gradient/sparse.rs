//! Factors of the systems of a step by blocks: a node for each pair of bodies that rows act between, coupled where they share a body.
//!
//! The analysis is kept from step to step; redundant rows are dropped where they are met, theory (17.4) and (9.14)-(9.18). Bodies of many rows are cut into
//! welded parts, theory (17.61), whose rows stand behind all others.

use super::parts::{Parts, Respond};
use super::redundant::Redundant;
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
pub(super) const NONE: u32 = u32::MAX;

/// Analyses kept; beyond this all are forgotten, so that a run through ever new contacts does not fill the memory.
const KEPT: usize = 512;

/// Arrangements of rows kept: those of the two rooms of a few islands, which come in turn.
const ARRANGED: usize = 8;

/// Rows per freedom from which a pair is searched for rows that repeat others; fewer cost less to carry through the factor, which drops them.
const SEARCHED: usize = 2;

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
pub(super) struct Node {
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
    pairs: Vec<[u32; 2]>,
    heads: Vec<u32>,
    movable: Vec<bool>,
    /// Nodes with the rows that are kept.
    nodes: Vec<Node>,
    /// Sorted rows and unknowns: covectors and velocities on the first and on the second body of their node.
    felt: [Vec<Wrench<G>>; 2],
    answers: [Vec<Twist<G>>; 2],
    redundant: Redundant,
    /// Place of each row and of each unknown within its node once what repeats is left out, or none; by node, then in order.
    kept: [Vec<u32>; 2],
    times: Vec<f64>,
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
            pairs: Vec::new(),
            heads: Vec::new(),
            movable: Vec::new(),
            nodes: Vec::new(),
            felt: [Vec::new(), Vec::new()],
            answers: [Vec::new(), Vec::new()],
            redundant: Redundant::default(),
            kept: [Vec::new(), Vec::new()],
            times: Vec::new(),
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
    }

    /// Multiply-adds of the factors in use.
    #[cfg(test)]
    pub fn operations(&self) -> u64 {
        self.topologies.iter().map(|topology| topology.used as u64 * topology.symbolic.factor_operations()).sum()
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
        self.arrangements[at] = arrangement;
        found
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
        self.pairs.clear();
        self.pairs.extend(given.iter().map(|row| {
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
        if (velocities_alone || !arrangement.searched) && arrangement.topologies[timed] == NONE {
            arrangement.topologies[timed] = self.topology(&arrangement.nodes, timed)?;
        }
        if velocities_alone {
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
            self.leave_out(arrangement, entries, times);
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
        let plain = !arrangement.searched && times.last().is_none_or(|corner| *corner > 0.0);
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

    /// The number of the analysis of nodes, made where it is new.
    fn topology(&mut self, nodes: &[Node], timed: usize) -> Option<u32> {
        self.name.clear();
        self.name.push(timed as u32);
        for node in nodes {
            self.name.extend_from_slice(&[node.bodies[0], node.bodies[1], node.size]);
        }
        if let Some(&number) = self.known.get(&self.name[..]) {
            return Some(number);
        }
        self.topologies.push(Topology::new(nodes, timed > 0)?);
        let number = self.topologies.len() as u32 - 1;
        self.known.insert(self.name.clone(), number);
        Some(number)
    }

    /// Keeps the factor that an analysis holds ready; returns it and how many unknowns besides those of welds were dropped.
    fn keep(&mut self, number: u32, first_place: usize, left_out: usize, welds: Range<usize>) -> (Factored, usize) {
        let topology = &mut self.topologies[number as usize];
        if topology.used == 0 {
            self.touched.push(number);
        }
        let found = topology.factors[topology.used].dropped();
        let dropped = found.iter().filter(|dropped| !welds.contains(&dropped.node)).count() + left_out;
        let factored = Factored { topology: number, factor: topology.used as u32, places: first_place as u32 };
        topology.used += 1;
        (factored, dropped)
    }

    /// Finds the arrangement of the rows, or makes it; returns where it stands.
    fn arrange(&mut self, answers: &[[(usize, Twist<G>); 2]], cuts: bool) -> usize {
        let bodies = answers.iter().flatten().map(|(body, _)| body + 1).max().unwrap_or(0);
        self.movable.clear();
        self.movable.resize(bodies, false);
        for (body, twist) in answers.iter().flatten() {
            self.movable[*body] |= *twist != Twist::zero();
        }
        self.pairs.clear();
        self.pairs.extend(answers.iter().map(|answer| {
            let [a, b] = answer.map(|(body, _)| if self.movable[body] { body as u32 } else { NONE });
            [a.min(b), a.max(b)]
        }));
        self.find_arrangement(cuts)
    }

    /// Finds the arrangement of the pairs, or makes it; returns where it stands.
    fn find_arrangement(&mut self, cuts: bool) -> usize {
        let count = self.arrangements.len();
        for step in 0..count {
            let at = (self.latest + step) % count;
            if self.arrangements[at].cuts == cuts && self.arrangements[at].pairs == self.pairs {
                self.latest = at;
                return at;
            }
        }
        let arrangement = self.sort_pairs(cuts);
        if count < ARRANGED {
            self.arrangements.push(arrangement);
            self.latest = count;
        } else {
            // The one after the latest has waited longest, or nearly so.
            self.latest = (self.latest + 1) % count;
            self.arrangements[self.latest] = arrangement;
        }
        self.latest
    }

    /// Sorts the pairs into nodes; crowded bodies are cut where `cuts`.
    fn sort_pairs(&mut self, cuts: bool) -> Arrangement {
        let bodies = self.pairs.iter().flatten().filter(|&&body| body != NONE).max().map_or(0, |&body| body as usize + 1);
        let mut out = Arrangement { pairs: self.pairs.clone(), topologies: [NONE; 2], cuts, ..Arrangement::default() };
        self.heads.clear();
        self.heads.resize(bodies + 1, NONE);
        for &pair in &self.pairs {
            let head = if pair[0] == NONE { bodies } else { pair[0] as usize };
            let mut node = match out.nodes.last() {
                Some(last) if last.bodies == pair => out.nodes.len() as u32 - 1,
                _ => {
                    let mut found = self.heads[head];
                    while found != NONE && out.nodes[found as usize].bodies != pair {
                        found = out.nodes[found as usize].next;
                    }
                    found
                }
            };
            if node == NONE {
                node = out.nodes.len() as u32;
                out.nodes.push(Node { bodies: pair, size: 0, next: self.heads[head] });
                self.heads[head] = node;
            }
            let own = &mut out.nodes[node as usize];
            out.node_of.push((node, own.size));
            own.size += 1;
        }
        if cuts {
            out.parts = Parts::cut::<G>(&mut out.nodes, bodies);
        }
        let mut start = 0;
        for node in &out.nodes {
            out.starts.push(start);
            start += node.size as usize;
            out.searched |= node.size as usize >= SEARCHED * G::DOF;
        }
        out.places.extend(out.node_of.iter().map(|&(node, offset)| out.starts[node as usize] as u32 + offset));
        out
    }

    /// Rows in the order of the nodes, each with its covectors on the first and the second body of its node.
    fn sort_rows(&mut self, arrangement: &Arrangement, felt: &[Sides<G>], answers: &[[(usize, Twist<G>); 2]]) {
        let (felt_sides, answer_sides) = (&mut self.felt, &mut self.answers);
        felt_sides.iter_mut().for_each(|list| list.resize(answers.len(), Wrench::zero()));
        answer_sides.iter_mut().for_each(|list| list.resize(answers.len(), Twist::zero()));
        for (((answer, row), pair), &place) in answers.iter().zip(felt).zip(&arrangement.pairs).zip(&arrangement.places) {
            for side in 0..2 {
                let body = pair[side] as usize;
                let (mut covector, mut twist) = (Wrench::zero(), Twist::zero());
                for k in 0..2 {
                    if row[k].0 == body {
                        covector = covector.plus(1.0, row[k].1);
                    }
                    if answer[k].0 == body {
                        twist = twist.plus(1.0, answer[k].1);
                    }
                }
                felt_sides[side][place as usize] = covector;
                answer_sides[side][place as usize] = twist;
            }
        }
    }

    /// The sorted rows at the parts of crowded bodies, and the welds between these.
    fn add_parts(&mut self, arrangement: &Arrangement, respond: impl Fn(usize, &Wrench<G>) -> Twist<G>) {
        let parts = &arrangement.parts;
        if parts.rows == 0 {
            return;
        }
        for (&(node, _), &place) in arrangement.node_of.iter().zip(&arrangement.places) {
            for (answers, count) in self.answers.iter_mut().zip(parts.counts[node as usize]) {
                let own = &mut answers[place as usize];
                *own = Twist::zero().plus(count, *own);
            }
        }
        parts.weld(respond, &mut self.felt, &mut self.answers);
    }

    /// Leaves out rows and unknowns that repeat others of their node.
    fn leave_out(&mut self, arrangement: &Arrangement, entries: &[(usize, usize, f64)], times: &[f64]) {
        self.nodes.clone_from(&arrangement.nodes);
        for kept in &mut self.kept {
            kept.clear();
            for node in &self.nodes {
                kept.extend(0..node.size);
            }
        }
        let (node_of, starts) = (&arrangement.node_of, &arrangement.starts);
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let size = node.size as usize;
            if size < SEARCHED * G::DOF {
                continue;
            }
            let range = starts[index]..starts[index] + size;
            let own = entries.iter().filter(|(i, _, _)| node_of[*i].0 as usize == index);
            let own = own.map(|&(i, j, value)| (node_of[i].1 as usize, node_of[j].1 as usize, value));
            // The time of each row, where there is one: rows of a node stand in order.
            self.times.clear();
            if !times.is_empty() {
                self.times.extend(node_of.iter().zip(times).filter(|(place, _)| place.0 as usize == index).map(|(_, time)| *time));
            }
            let own_times = &self.times;
            let time = |r: usize| own_times.get(r).copied().unwrap_or(0.0);
            let [first, second] = &self.felt;
            let felt: [&[Wrench<G>]; 2] = [&first[range.clone()], &second[range.clone()]];
            let [first, second] = &self.answers;
            let answers: [&[Twist<G>]; 2] = [&first[range.clone()], &second[range.clone()]];
            if !self.redundant.find::<G>(felt, answers, own, time) {
                continue;
            }
            for (kept, chosen) in self.kept.iter_mut().zip([&self.redundant.rows, &self.redundant.columns]) {
                kept[range.clone()].fill(NONE);
                for (place, &row) in chosen.iter().enumerate() {
                    kept[range.start + row] = place as u32;
                }
            }
            node.size = self.redundant.rows.len() as u32;
        }
    }

    fn get(&self, factored: Factored, count: usize) -> (&LuFactor, [&[u32]; 2]) {
        let factor = &self.topologies[factored.topology as usize].factors[factored.factor as usize];
        let (rows, columns) = self.places[factored.places as usize..][..2 * count].split_at(count);
        (factor, [rows, columns])
    }

    /// x[out] -= S^-1 x[input].
    pub fn solve(&self, factored: Factored, input: Range<usize>, out: Range<usize>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let (factor, [rows, columns]) = self.get(factored, input.len());
        gather(factor, input, rows, x, scratch);
        factor.solve(scratch);
        subtract(out, columns, x, scratch);
    }

    /// x[input] -= S^-T x[out].
    pub fn solve_transposed(&self, factored: Factored, input: Range<usize>, out: Range<usize>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let (factor, [rows, columns]) = self.get(factored, input.len());
        gather(factor, out, columns, x, scratch);
        factor.solve_transpose(scratch);
        subtract(input, rows, x, scratch);
    }

    /// The same for several side by side.
    pub fn solve_transposed_lanes<const L: usize>(
        &self,
        factored: Factored,
        input: Range<usize>,
        out: Range<usize>,
        x: &mut [[f64; L]],
        scratch: &mut Vec<[f64; L]>,
    ) {
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

/// Moves what is kept of a list by nodes to its front.
fn compact<T: Copy>(list: &mut Vec<T>, kept: &[u32], starts: &[usize], nodes: &[Node]) {
    let mut next = 0;
    for (&start, node) in starts.iter().zip(nodes) {
        let mut left = node.size;
        let mut at = start;
        while left > 0 {
            if kept[at] != NONE {
                list[next] = list[at];
                next += 1;
                left -= 1;
            }
            at += 1;
        }
    }
    list.truncate(next);
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

impl Topology {
    /// Fills the matrix with R M^-1 J', given by the sorted rows and columns.
    fn filled<G: Geometry>(&mut self, rows: &[Vec<Wrench<G>>; 2], columns: &[Vec<Twist<G>>; 2]) -> &mut Self {
        let pattern = self.symbolic.pattern();
        self.matrix.clear();
        for coupling in &self.couplings {
            let (top, left) = (pattern.start(coupling.rows as usize), pattern.start(coupling.columns as usize));
            let (rows, columns) = (&rows[coupling.row_side as usize][top..], &columns[coupling.column_side as usize][left..]);
            self.matrix.add_products(coupling.slot, rows, columns, |row, column| row.power(column));
        }
        self
    }

    /// Room for the next factor.
    fn ready(&mut self) {
        if self.used == self.factors.len() {
            self.factors.push(LuFactor::new(Arc::clone(&self.symbolic)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient::pivoted::Pivoted;
    use carom_math::Spatial;
    use nalgebra::Vector3;

    /// Numbers in [-1, 1), always the same.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
        fn vector(&mut self) -> Vector3<f64> {
            Vector3::new(self.next(), self.next(), self.next())
        }
    }

    type Row = [(usize, Wrench<Spatial>); 2];
    type Column = [(usize, Twist<Spatial>); 2];
    type Rows = (Vec<Row>, Vec<Column>, Vec<(usize, usize, f64)>);

    /// A stack whose neighbours meet at four corners with friction, the first on an immovable floor, and one hinge-like pair on top.
    fn stack(numbers: &mut Numbers, bodies: usize, slides: bool) -> Rows {
        let (mut rows, mut columns, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let masses: Vec<f64> = (0..=bodies).map(|b| if b == 0 { 0.0 } else { 1.5 + numbers.next() }).collect();
        let centres: Vec<Vector3<f64>> = (0..=bodies).map(|b| Vector3::new(0.0, 0.0, b as f64) + numbers.vector() * 0.1).collect();
        for upper in 1..=bodies {
            let lower = upper - 1;
            for corner in [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] {
                let at = Vector3::new(corner[0], corner[1], upper as f64 - 0.5);
                let first = rows.len();
                for (k, direction) in [Vector3::z(), Vector3::x(), Vector3::y()].into_iter().enumerate() {
                    let side = |body: usize, sign: f64| Wrench::<Spatial> {
                        lin: direction * sign,
                        ang: (at - centres[body]).cross(&direction) * sign,
                    };
                    let column = [(upper, side(upper, 1.0)), (lower, side(lower, -1.0))];
                    let answer = column.map(|(body, wrench)| {
                        let inverse = if body == 0 { 0.0 } else { 1.0 / masses[body] };
                        (body, Twist { lin: wrench.lin * inverse, ang: wrench.ang * (2.0 * inverse) })
                    });
                    if slides && upper == 2 && k > 0 {
                        // Friction at its bound: l_k + mu l_n = 0.
                        rows.push(column.map(|(body, _)| (body, Wrench::zero())));
                        entries.push((first + k, first + k, 1.0));
                        entries.push((first + k, first, 0.3));
                    } else {
                        rows.push(column);
                    }
                    columns.push(answer);
                }
            }
        }
        (rows, columns, entries)
    }

    /// S by rows.
    fn whole(rows: &[Row], columns: &[Column], entries: &[(usize, usize, f64)], times: &[f64]) -> Vec<f64> {
        let n = rows.len();
        let mut matrix = vec![0.0; n * n];
        for (i, row) in rows.iter().enumerate() {
            for (j, column) in columns.iter().enumerate() {
                for (a, covector) in row {
                    for (b, twist) in column {
                        matrix[i * n + j] += if a == b { covector.power(twist) } else { 0.0 };
                    }
                }
            }
            if let Some(time) = times.get(i) {
                matrix[i * n + n - 1] = *time;
            }
        }
        entries.iter().for_each(|&(i, j, value)| matrix[i * n + j] += value);
        matrix
    }

    /// Velocities of the bodies.
    fn velocities(columns: &[Column], z: &[f64], bodies: usize) -> Vec<f64> {
        let mut out = vec![0.0; 6 * (bodies + 1)];
        for (column, z) in columns.iter().zip(z) {
            for (body, twist) in column {
                for (k, value) in twist.lin.iter().chain(twist.ang.iter()).enumerate() {
                    out[6 * body + k] += value * z;
                }
            }
        }
        out
    }

    #[test]
    fn blocks_and_the_whole_matrix_answer_alike() {
        let mut numbers = Numbers(7);
        for (slides, timed) in [(false, false), (true, false), (false, true), (true, true)] {
            let bodies = 4;
            let (mut rows, columns, entries) = stack(&mut numbers, bodies, slides);
            let mut times = Vec::new();
            if timed {
                // A guard on the top body; the time moves every row as a velocity of the bodies would.
                let guard = Wrench { lin: Vector3::z(), ang: numbers.vector() };
                rows.push([(bodies, guard), (0, Wrench::zero())]);
                let kicks: Vec<Twist<Spatial>> = (0..=bodies).map(|_| Twist { lin: numbers.vector(), ang: numbers.vector() }).collect();
                times.extend(rows.iter().map(|row| row.iter().map(|(b, w)| w.power(&kicks[*b])).sum::<f64>()));
            }
            let n = rows.len();
            let matrix = whole(&rows, &columns, &entries, &times);
            let mut dense = Pivoted::default();
            dense.matrix(n).copy_from_slice(&matrix);
            let rank = dense.factor();
            let mut sparse = Sparse::<Spatial>::default();
            let (factor, dropped) =
                sparse.factor(&rows, &columns, &entries, &times, None).expect("redundant rows repeat those of their pair");
            assert_eq!(n - dropped, rank, "slides {slides} timed {timed}");
            assert!(dropped >= 6, "{dropped}");

            // Residuals that some motion makes, and cotangents that velocities make.
            let motion: Vec<f64> = (0..n).map(|_| numbers.next()).collect();
            let product = |transposed: bool| -> Vec<f64> {
                let at = |i: usize, j: usize| if transposed { matrix[j * n + i] } else { matrix[i * n + j] };
                (0..n).map(|i| (0..n).map(|j| at(i, j) * motion[j]).sum()).collect()
            };
            let mut scratch = Vec::new();
            let right = product(false);
            let mut z = right.clone();
            dense.solve(&mut z);
            let mut x = [right, vec![0.0; n]].concat();
            sparse.solve(factor, 0..n, n..2 * n, &mut x, &mut scratch);
            let (one, other) = (velocities(&columns, &z, bodies), velocities(&columns, &x[n..], bodies));
            for (a, b) in one.iter().zip(&other) {
                assert!((a + b).abs() < 1e-10, "slides {slides} timed {timed}: {a} {b}");
            }
            assert!(one.iter().any(|v| v.abs() > 0.1));

            // <S^-1 r, w> = <r, S^-T w>, on the consistent ones.
            let w = product(true);
            let mut y = [vec![0.0; n], w.clone()].concat();
            sparse.solve_transposed(factor, 0..n, n..2 * n, &mut y, &mut scratch);
            let left: f64 = x[n..].iter().zip(&w).map(|(a, b)| a * b).sum();
            let right: f64 = y[..n].iter().zip(&x[..n]).map(|(a, b)| a * b).sum();
            assert!((left - right).abs() < 1e-10 * left.abs().max(1.0), "{left} {right}");
        }
    }
}
