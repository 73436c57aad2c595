//! The same systems over bodies, where contacts say the same many times over: a pyramid's rows by far outnumber the freedoms of its bricks, theory (17.54).
//!
//! Rows that hold give way a little, which makes the matrix of the bodies regular whatever repeats; rounds with the residual of the rows themselves take
//! that out again. The transpose is the transpose of this map, term by term.

mod products;

use super::{NONE, Sides, Sparse};
use crate::gradient::slots::put;
use carom_geometry::Geometry;
use carom_math::multifrontal::{Multifrontal, Slot};
use carom_math::{Twist, Wrench};
use products::{add_products, dot, gather, largest, products};
use std::ops::Range;

/// Stiffness of a row that holds, over the inverse of its own answer.
const STIFFNESS: f64 = 1e8;

/// Most solves by the stiff matrix: one, and what it leaves of the rows again until bodies feel nothing of that.
const ROUNDS: usize = 8;

/// Part of the motion that the next round would add, as each takes the same part of what the last left, below which it is not made.
const SETTLED: f64 = 1e-15;

/// Largest error of a velocity that a factor may show on a sample, over the largest.
const SOUND: f64 = 1e-9;

/// Rows per freedom of the bodies above which they are looked at first: in a stack of boxes that stick there are two.
const OUTNUMBERED: usize = 2;

/// Rows from which on this way is taken: of fewer the whole matrix is soon searched, and exact to rounding where rows nearly repeat each other.
pub(super) const CROWD: usize = 100;

/// Numbers of a body at most.
const FREEDOMS: usize = 6;

/// Those of a body in the plane and in space.
const PLANAR: usize = 3;
const SPATIAL: usize = 6;

/// A row: the two bodies it acts between by their nodes, what it feels and how they answer it, on either side.
#[derive(Clone, Copy, Debug)]
struct Row {
    nodes: [u32; 2],
    felt: [[f64; FREEDOMS]; 2],
    answer: [[f64; FREEDOMS]; 2],
    /// Stiffness of a row that holds; the inverse of its own direct entry of another.
    weight: f64,
    holds: bool,
}

/// A factor with its rows.
#[derive(Debug, Default)]
struct BodyFactor {
    rows: Vec<Row>,
    /// Direct entries of rows that do not hold towards rows that do.
    entries: Vec<(u32, u32, f64)>,
    /// Ends of the rows that act one after another between the same two bodies.
    groups: Vec<usize>,
    /// Node of each body, and how many there are, of so many numbers.
    node_of: Vec<u32>,
    nodes: usize,
    freedoms: usize,
    /// Rounds that the sample took.
    rounds: usize,
    factor: Multifrontal,
}

/// Vectors of one solve.
#[derive(Debug, Default)]
struct Room {
    right: Vec<f64>,
    left: Vec<f64>,
    weighed: Vec<f64>,
    sum: Vec<f64>,
    velocities: Vec<f64>,
    wanted: Vec<f64>,
    inner: [Vec<f64>; 2],
}

/// Every factor over bodies of the present program.
#[derive(Debug, Default)]
pub(super) struct ByBodies {
    factors: Vec<BodyFactor>,
    used: usize,
    /// Direct entries of the rows themselves.
    own: Vec<f64>,
    edges: Vec<(u32, u32)>,
    columns: Vec<[[f64; FREEDOMS]; 2]>,
    room: Room,
}

impl ByBodies {
    /// Forgets the factors but keeps their room.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Multiply-adds of the factors in use.
    #[cfg(test)]
    pub fn operations(&self) -> f64 {
        self.factors[..self.used].iter().map(|factor| factor.factor.operations()).sum()
    }

    /// x\[out\] -= S^-1 x\[input\], or the transpose.
    pub fn solve(&mut self, number: u32, input: Range<usize>, out: Range<usize>, transposed: bool, x: &mut [f64]) {
        let (factor, room) = (&self.factors[number as usize], &mut self.room);
        room.right.clear();
        room.right.extend_from_slice(&x[input]);
        factor.answer(transposed, factor.rounds, room);
        x[out].iter_mut().zip(&room.sum).for_each(|(x, z)| *x -= z);
    }

    /// x\[input\] -= S^-T x\[out\] for several side by side.
    pub fn solve_transposed_lanes<const L: usize>(&mut self, number: u32, input: Range<usize>, out: Range<usize>, x: &mut [[f64; L]]) {
        let (factor, room) = (&self.factors[number as usize], &mut self.room);
        for lane in 0..L {
            room.right.clear();
            room.right.extend(x[out.clone()].iter().map(|lanes| lanes[lane]));
            if room.right.iter().all(|value| *value == 0.0) {
                continue;
            }
            factor.answer(true, factor.rounds, room);
            x[input.clone()].iter_mut().zip(&room.sum).for_each(|(x, z)| x[lane] -= z);
        }
    }
}

impl<G: Geometry> Sparse<G> {
    /// Whether so many rows act between these bodies that they repeat each other beyond their own pair: a stack's do not.
    pub fn outnumber(&mut self, answers: &[[(usize, Twist<G>); 2]]) -> bool {
        if answers.len() < CROWD {
            return false;
        }
        let movable = &mut self.sorting.movable;
        movable.clear();
        for (body, twist) in answers.iter().flatten() {
            if movable.len() <= *body {
                movable.resize(body + 1, false);
            }
            movable[*body] |= *twist != Twist::zero();
        }
        answers.len() > OUTNUMBERED * movable.iter().filter(|moves| **moves).count() * G::DOF
    }

    /// Factors the same rows over bodies. `None` where a row cannot be moved, or where direct entries reach further than from a row that does not hold to
    /// one that does; or where a sample says that the factor is not sound.
    pub fn factor_by_bodies(
        &mut self,
        felt: &[Sides<G>],
        answers: &[[(usize, Twist<G>); 2]],
        entries: &[(usize, usize, f64)],
    ) -> Option<super::Factored> {
        if self.refuses {
            return None;
        }
        let ByBodies { factors, used, own, edges, columns, room } = &mut self.by_bodies;
        if *used == factors.len() {
            factors.push(BodyFactor::default());
        }
        let number = *used as u32;
        let factor = &mut factors[*used];
        factor.freedoms = G::DOF;
        factor.number_bodies(answers);
        own.clear();
        own.resize(answers.len(), 0.0);
        entries.iter().filter(|(i, j, _)| i == j).for_each(|&(i, _, value)| own[i] += value);
        factor.entries.clear();
        for &(i, j, value) in entries.iter().filter(|(i, j, _)| i != j) {
            if own[i] == 0.0 || own[j] != 0.0 {
                return None;
            }
            factor.entries.push((i as u32, j as u32, value));
        }
        factor.rows.clear();
        for ((felt, answer), &own) in felt.iter().zip(answers).zip(&*own) {
            factor.rows.push(factor.row::<G>(felt, answer, own)?);
        }
        factor.group();
        let sound = if G::DOF == SPATIAL { factor.assemble::<SPATIAL>(columns, edges) } else { factor.assemble::<PLANAR>(columns, edges) };
        if !(sound && factor.sound(room)) {
            return None;
        }
        *used += 1;
        Some(super::Factored { topology: NONE, factor: number, places: 0 })
    }
}

impl BodyFactor {
    /// Gives every body that rows move a node.
    fn number_bodies<G: Geometry>(&mut self, answers: &[[(usize, Twist<G>); 2]]) {
        let bodies = answers.iter().flatten().map(|(body, _)| body + 1).max().unwrap_or(0);
        self.node_of.clear();
        self.node_of.resize(bodies, NONE);
        for (body, twist) in answers.iter().flatten() {
            if *twist != Twist::zero() {
                self.node_of[*body] = 0;
            }
        }
        self.nodes = 0;
        for node in self.node_of.iter_mut().filter(|node| **node != NONE) {
            *node = self.nodes as u32;
            self.nodes += 1;
        }
    }

    /// A row with what it feels and answers by nodes; `None` where it cannot be moved.
    fn row<G: Geometry>(&self, felt: &Sides<G>, answer: &[(usize, Twist<G>); 2], own: f64) -> Option<Row> {
        let zero = [[0.0; FREEDOMS]; 2];
        let mut row = Row { nodes: [NONE; 2], felt: zero, answer: zero, weight: 0.0, holds: own == 0.0 };
        for (side, (body, twist)) in answer.iter().enumerate() {
            // Both sides at one body are one.
            let at = if side == 1 && *body == answer[0].0 { 0 } else { side };
            row.nodes[at] = self.node_of[*body];
            let mut numbers = [0.0; FREEDOMS];
            put::<G>(twist.lin, twist.ang, &mut numbers);
            row.answer[at].iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x);
        }
        for (body, covector) in felt.iter().filter(|(_, covector)| *covector != Wrench::zero()) {
            let Some(&node) = self.node_of.get(*body) else { continue };
            let Some(side) = (0..2).find(|&side| row.nodes[side] == node && node != NONE) else {
                // What never moves is never felt; what moves must be one of the two.
                if node == NONE {
                    continue;
                }
                return None;
            };
            let mut numbers = [0.0; FREEDOMS];
            put::<G>(covector.lin, covector.ang, &mut numbers);
            row.felt[side].iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x);
        }
        let answered: f64 = (0..2).filter(|&side| row.nodes[side] != NONE).map(|side| dot(&row.felt[side], &row.answer[side])).sum();
        row.weight = if row.holds { STIFFNESS / answered } else { 1.0 / own };
        (row.weight.is_finite() && (!row.holds || row.weight > 0.0)).then_some(row)
    }

    /// Finds the rows that act between the same two bodies.
    fn group(&mut self) {
        self.groups.clear();
        for (end, pair) in self.rows.windows(2).enumerate() {
            if pair[0].nodes != pair[1].nodes {
                self.groups.push(end + 1);
            }
        }
        self.groups.push(self.rows.len());
    }

    /// The matrix 1 + A D R over bodies, and its factor; false where a pivot is not sound.
    fn assemble<const N: usize>(&mut self, columns: &mut Vec<[[f64; FREEDOMS]; 2]>, edges: &mut Vec<(u32, u32)>) -> bool {
        edges.clear();
        edges.extend(self.rows.iter().map(|row| row.nodes).filter(|nodes| !nodes.contains(&NONE)).map(|[a, b]| (a.min(b), a.max(b))));
        edges.dedup();
        self.factor.analyse((0..self.nodes).map(|_| self.freedoms), edges);
        // A D: what a row that holds pushes through rows that do not comes with it.
        columns.clear();
        columns.extend(self.rows.iter().map(|row| row.answer));
        for &(i, j, value) in &self.entries {
            let (from, part) = (&self.rows[i as usize], value * self.rows[i as usize].weight);
            for side in 0..2 {
                let Some(at) = (0..2).find(|&at| self.rows[j as usize].nodes[at] == from.nodes[side]) else { return false };
                columns[j as usize][at].iter_mut().zip(&from.answer[side]).for_each(|(sum, x)| *sum -= part * x);
            }
        }
        self.factor.begin(false);
        let mut first = 0;
        for group in 0..self.groups.len() {
            let end = self.groups[group];
            let nodes = self.rows[first].nodes;
            let mut blocks = [[[[0.0; N]; N]; 2]; 2];
            add_products(&self.rows[first..end], &columns[first..end], &mut blocks);
            first = end;
            for side in (0..2).filter(|&side| nodes[side] != NONE) {
                let Some(slot) = self.slot(nodes[side], nodes[side]) else { return false };
                self.factor.add_lines(slot, &blocks[side][side]);
            }
            if !nodes.contains(&NONE) {
                let Some(slot) = self.slot(nodes[0], nodes[1]) else { return false };
                self.factor.add_lines(slot, &blocks[0][1]);
                self.factor.add_lines_opposite(slot, &blocks[1][0]);
            }
        }
        self.factor.factor()
    }

    fn slot(&self, a: u32, b: u32) -> Option<Slot> {
        self.factor.slot(a as usize, b as usize)
    }

    /// Whether impulses of a sample are found again from what they do, as far as bodies feel them.
    fn sound(&mut self, room: &mut Room) -> bool {
        let push = |(k, row): (usize, &Row)| if row.holds { (1 + k % 3) as f64 * STIFFNESS / row.weight } else { 0.0 };
        room.sum.clear();
        room.sum.extend(self.rows.iter().enumerate().map(push));
        let mut wanted = std::mem::take(&mut room.wanted);
        self.velocities(&room.sum, &mut wanted);
        self.times(&room.sum, &wanted, &mut room.right);
        self.rounds = self.answer_to_the_end(room);
        self.velocities(&room.sum, &mut room.velocities);
        let miss = wanted.iter().zip(&room.velocities).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        let sound = miss <= SOUND * largest(&wanted);
        room.wanted = wanted;
        sound
    }

    /// sum = S^-1 right, or S^-T right, by so many rounds: the same for both, so that one is the transpose of the other whatever is right.
    fn answer(&self, transposed: bool, rounds: usize, room: &mut Room) {
        self.begin(room);
        for round in 0..rounds {
            if round > 0 {
                self.look_at_the_rest(transposed, room);
            }
            if transposed {
                self.give_way_transposed(room)
            } else {
                self.give_way(room)
            }
            room.sum.iter_mut().zip(&room.weighed).for_each(|(sum, z)| *sum += z);
        }
    }

    /// sum = S^-1 right until another round would move nothing; returns how many rounds that takes.
    fn answer_to_the_end(&self, room: &mut Room) -> usize {
        self.begin(room);
        let (mut first, mut last) = (0.0, f64::INFINITY);
        for round in 0..ROUNDS {
            if round > 0 {
                self.look_at_the_rest(false, room);
            }
            self.give_way(room);
            let moved = largest(&room.velocities);
            if round > 0 && moved >= last {
                return round;
            }
            room.sum.iter_mut().zip(&room.weighed).for_each(|(sum, z)| *sum += z);
            if round == 0 {
                first = moved;
            } else if moved * moved <= SETTLED * first * last {
                return round + 1;
            }
            last = moved;
        }
        ROUNDS
    }

    fn begin(&self, room: &mut Room) {
        room.left.clone_from(&room.right);
        room.sum.clear();
        room.sum.resize(self.rows.len(), 0.0);
    }

    /// left = right - S sum, or right - S' sum.
    fn look_at_the_rest(&self, transposed: bool, room: &mut Room) {
        let Room { right, left, sum, velocities, .. } = room;
        if transposed {
            self.covectors(sum, velocities);
            self.times_transposed(sum, velocities, left);
        } else {
            self.velocities(sum, velocities);
            self.times(sum, velocities, left);
        }
        left.iter_mut().zip(&*right).for_each(|(left, right)| *left = right - *left);
    }

    /// weighed = G left with the stiff rows: D (left - R y), (1 + A D R) y = A D left.
    fn give_way(&self, room: &mut Room) {
        let Room { left, weighed, velocities, inner, .. } = room;
        weighed.clone_from(left);
        self.weigh(weighed);
        self.velocities(weighed, velocities);
        self.factor.solve_in(velocities, false, inner);
        self.products(velocities, weighed, |row| &row.felt);
        weighed.iter_mut().zip(&*left).for_each(|(out, left)| *out = left - *out);
        self.weigh(weighed);
    }

    /// weighed = G' left: D' (left - A' y), (1 + A D R)' y = R' D' left.
    fn give_way_transposed(&self, room: &mut Room) {
        let Room { left, weighed, velocities, inner, .. } = room;
        weighed.clone_from(left);
        self.weigh_transposed(weighed);
        self.covectors(weighed, velocities);
        self.factor.solve_in(velocities, true, inner);
        self.products(velocities, weighed, |row| &row.answer);
        weighed.iter_mut().zip(&*left).for_each(|(out, left)| *out = left - *out);
        self.weigh_transposed(weighed);
    }

    /// z := D z.
    fn weigh(&self, z: &mut [f64]) {
        for (z, row) in z.iter_mut().zip(&self.rows).filter(|(_, row)| row.holds) {
            *z *= row.weight;
        }
        for &(i, j, value) in &self.entries {
            z[i as usize] -= value * z[j as usize];
        }
        for (z, row) in z.iter_mut().zip(&self.rows).filter(|(_, row)| !row.holds) {
            *z *= row.weight;
        }
    }

    /// z := D' z.
    fn weigh_transposed(&self, z: &mut [f64]) {
        for (z, row) in z.iter_mut().zip(&self.rows).filter(|(_, row)| !row.holds) {
            *z *= row.weight;
        }
        for &(i, j, value) in &self.entries {
            z[j as usize] -= value * z[i as usize];
        }
        for (z, row) in z.iter_mut().zip(&self.rows).filter(|(_, row)| row.holds) {
            *z *= row.weight;
        }
    }

    /// out = A z.
    fn velocities(&self, z: &[f64], out: &mut Vec<f64>) {
        self.gather(z, out, |row| &row.answer);
    }

    /// out = R' z.
    fn covectors(&self, z: &[f64], out: &mut Vec<f64>) {
        self.gather(z, out, |row| &row.felt);
    }

    fn gather(&self, z: &[f64], out: &mut Vec<f64>, of: impl Fn(&Row) -> &[[f64; FREEDOMS]; 2]) {
        out.clear();
        out.resize(self.nodes * self.freedoms, 0.0);
        if self.freedoms == SPATIAL { gather::<SPATIAL>(self, z, out, of) } else { gather::<PLANAR>(self, z, out, of) }
    }

    /// The product of every row's numbers with those of its bodies.
    fn products(&self, y: &[f64], out: &mut Vec<f64>, of: impl Fn(&Row) -> &[[f64; FREEDOMS]; 2]) {
        out.clear();
        if self.freedoms == SPATIAL { products::<SPATIAL>(self, y, out, of) } else { products::<PLANAR>(self, y, out, of) }
    }

    /// out = S z, where z moves the bodies by y.
    fn times(&self, z: &[f64], y: &[f64], out: &mut Vec<f64>) {
        self.products(y, out, |row| &row.felt);
        self.own_entries(z, out);
        self.entries.iter().for_each(|&(i, j, value)| out[i as usize] += value * z[j as usize]);
    }

    /// out = S' z, where the rows of z are the covectors y of the bodies.
    fn times_transposed(&self, z: &[f64], y: &[f64], out: &mut Vec<f64>) {
        self.products(y, out, |row| &row.answer);
        self.own_entries(z, out);
        self.entries.iter().for_each(|&(i, j, value)| out[j as usize] += value * z[i as usize]);
    }

    fn own_entries(&self, z: &[f64], out: &mut [f64]) {
        for ((out, row), z) in out.iter_mut().zip(&self.rows).zip(z).filter(|((_, row), _)| !row.holds) {
            *out += z / row.weight;
        }
    }
}
