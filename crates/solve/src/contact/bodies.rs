//! W = J M^-1 J' as rows over bodies, never as a matrix over contacts, theory (4.32).
//!
//! Velocities are scaled by the root of the mass, so that every linear system is I + J' D J: blocks of six rows (three in the plane) over the graph
//! of bodies. Redundant contacts do it no harm.

use super::law::WIDEST;
use super::system::{Layout, System};
use carom_math::multifrontal::{Multifrontal, Slot};

/// One block's rows at one body.
#[derive(Clone, Copy, Debug)]
struct Side {
    body: u32,
    /// Where the rows begin among the numbers.
    at: usize,
}

/// The rows of a problem over bodies with B degrees of freedom each.
#[derive(Clone, Debug, Default)]
pub struct Bodies<const B: usize> {
    layout: Layout,
    sides: Vec<Side>,
    /// First side of each block, and their number.
    first_side: Vec<usize>,
    /// J M^-1/2 of every side, by rows.
    numbers: Vec<f64>,
    /// Compliance of each row.
    softness: Vec<f64>,
    own: Vec<f64>,
    count: usize,
    factor: Multifrontal,
    edges: Vec<(u32, u32)>,
    /// Where the products of each pair of a block's sides go.
    slots: Vec<Slot>,
    first_slot: Vec<usize>,
    /// The slopes that were factored last, with the softness of their rows taken in.
    slopes: Vec<f64>,
    factored: Vec<f64>,
    symmetric: bool,
    valid: bool,
    /// The factor at hand is that of earlier rows over the same graph.
    stale: bool,
    analysed: bool,
    motion: Vec<f64>,
    swept: Vec<f64>,
    factors: usize,
}

impl<const B: usize> Bodies<B> {
    /// Begins a problem over this many bodies; blocks are added next.
    pub fn begin(&mut self, bodies: usize) {
        self.layout.clear();
        self.sides.clear();
        self.first_side.clear();
        self.first_side.push(0);
        self.numbers.clear();
        self.softness.clear();
        self.count = bodies;
        self.valid = false;
        self.stale = false;
        self.analysed = false;
        self.factors = 0;
    }

    /// Adds a block of `rows` rows with one compliance; its sides follow.
    pub fn add_block(&mut self, rows: usize, softness: f64) {
        self.layout.push(rows);
        self.softness.extend(std::iter::repeat_n(softness, rows));
        self.first_side.push(self.sides.len());
    }

    /// Gives the rows of the last block at a body: `row(k)` is row k of J M^-1/2. Sides at immovable bodies are left out.
    pub fn add_side(&mut self, body: usize, row: impl Fn(usize) -> [f64; B]) {
        let block = self.layout.blocks() - 1;
        let at = self.numbers.len();
        for k in 0..self.layout.rows_of(block).len() {
            self.numbers.extend_from_slice(&row(k));
        }
        self.sides.push(Side { body: body as u32, at });
        if let Some(end) = self.first_side.last_mut() {
            *end = self.sides.len();
        }
    }

    /// Ends the problem: the squares of the blocks are made.
    pub fn finish(&mut self) {
        self.own.clear();
        self.own.resize(self.layout.squares(), 0.0);
        for block in 0..self.layout.blocks() {
            let d = self.layout.rows_of(block).len();
            let own = &mut self.own[self.layout.square_of(block)];
            for (s, side) in self.sides[self.first_side[block]..self.first_side[block + 1]].iter().enumerate() {
                let (rows, _) = self.numbers[side.at..side.at + d * B].as_chunks::<B>();
                // Two sides at one body act together.
                for other in self.sides[self.first_side[block]..self.first_side[block + 1]].iter().skip(s) {
                    if other.body != side.body {
                        continue;
                    }
                    let (columns, _) = self.numbers[other.at..other.at + d * B].as_chunks::<B>();
                    let twice = other.at != side.at;
                    for i in 0..d {
                        for j in 0..d {
                            own[i * d + j] += dot(&rows[i], &columns[j]) + if twice { dot(&rows[j], &columns[i]) } else { 0.0 };
                        }
                    }
                }
            }
            for k in 0..d {
                own[k * d + k] += self.softness[self.layout.rows_of(block).start + k];
            }
        }
        self.motion.clear();
        self.motion.resize(self.count * B, 0.0);
    }

    /// Whether another problem has the same rows, bit for bit: then the factor at hand serves it too.
    pub fn same_rows(&self, other: &Self) -> bool {
        let sides = |one: &Side, two: &Side| one.body == two.body && one.at == two.at;
        self.count == other.count
            && self.layout == other.layout
            && self.first_side == other.first_side
            && self.sides.len() == other.sides.len()
            && self.sides.iter().zip(&other.sides).all(|(one, two)| sides(one, two))
            && self.numbers == other.numbers
            && self.softness == other.softness
    }

    /// Forgets its factor.
    pub fn forget(&mut self) {
        (self.valid, self.stale) = (false, false);
    }

    /// Takes over the analysis of an earlier problem, which often has the same graph.
    pub fn take_analysis(&mut self, earlier: &mut Self) {
        std::mem::swap(&mut self.factor, &mut earlier.factor);
        let was_valid = earlier.valid;
        self.valid = false;
        // The same pairs of bodies in the same order have their products in the same places.
        let same = earlier.analysed
            && self.count == earlier.count
            && self.first_side == earlier.first_side
            && self.sides.iter().zip(&earlier.sides).all(|(one, two)| one.body == two.body);
        self.analysed = same;
        self.stale = false;
        if same {
            std::mem::swap(&mut self.slots, &mut earlier.slots);
            std::mem::swap(&mut self.first_slot, &mut earlier.first_slot);
            // Its factor is nearly that of these rows: good enough to begin with, see [`System::is_factored`].
            std::mem::swap(&mut self.slopes, &mut earlier.slopes);
            std::mem::swap(&mut self.factored, &mut earlier.factored);
            self.symmetric = earlier.symmetric;
            self.stale = (was_valid || earlier.stale) && self.factored.len() == self.layout.squares();
        }
        (earlier.valid, earlier.analysed) = (false, false);
    }

    /// Number of bodies.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The compliance of a block's rows.
    pub fn softness_of(&self, block: usize) -> f64 {
        self.softness.get(self.layout.rows_of(block).start).copied().unwrap_or(0.0)
    }

    /// The bodies of a block, each with its rows of J M^-1/2.
    pub fn sides(&self, block: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let length = self.layout.rows_of(block).len() * B;
        self.sides_of(block).iter().map(move |side| (side.body as usize, &self.numbers[side.at..side.at + length]))
    }

    fn sides_of(&self, block: usize) -> &[Side] {
        &self.sides[self.first_side[block]..self.first_side[block + 1]]
    }

    /// Orders the bodies and finds where every product goes; once for each problem, and only when it is first factored.
    fn analyse(&mut self) {
        if self.analysed {
            return;
        }
        self.analysed = true;
        self.edges.clear();
        for block in 0..self.layout.blocks() {
            let sides = &self.sides[self.first_side[block]..self.first_side[block + 1]];
            for (s, side) in sides.iter().enumerate() {
                self.edges.extend(sides[s + 1..].iter().map(|other| (side.body, other.body)));
            }
        }
        self.factor.analyse(std::iter::repeat_n(B, self.count), &mut self.edges);
        self.slots.clear();
        self.first_slot.clear();
        for block in 0..self.layout.blocks() {
            self.first_slot.push(self.slots.len());
            let sides = &self.sides[self.first_side[block]..self.first_side[block + 1]];
            for (s, side) in sides.iter().enumerate() {
                for other in &sides[s..] {
                    let slot = self.factor.slot(side.body as usize, other.body as usize);
                    self.slots.push(slot.unwrap_or_default());
                }
            }
        }
    }

    /// J' x into `motion`.
    fn gather(&mut self, x: &[f64]) {
        self.motion.fill(0.0);
        for block in 0..self.layout.blocks() {
            let rows = self.layout.rows_of(block);
            add_motion::<B>(&self.sides[self.first_side[block]..self.first_side[block + 1]], &self.numbers, &x[rows], &mut self.motion);
        }
    }

    /// J motion + softness x.
    fn spread(&self, x: &[f64], out: &mut [f64]) {
        for block in 0..self.layout.blocks() {
            let rows = self.layout.rows_of(block);
            read_motion::<B>(self.sides_of(block), &self.numbers, &self.motion, &mut out[rows.clone()]);
            for row in rows {
                out[row] += self.softness[row] * x[row];
            }
        }
    }
}

#[inline]
fn dot<const B: usize>(a: &[f64; B], b: &[f64; B]) -> f64 {
    let mut sum = 0.0;
    for k in 0..B {
        sum += a[k] * b[k];
    }
    sum
}

/// motion += J' x of one block.
#[inline]
fn add_motion<const B: usize>(sides: &[Side], numbers: &[f64], x: &[f64], motion: &mut [f64]) {
    for side in sides {
        let Some(to) = motion[side.body as usize * B..].first_chunk_mut::<B>() else { continue };
        let (rows, _) = numbers[side.at..side.at + x.len() * B].as_chunks::<B>();
        for (row, x) in rows.iter().zip(x) {
            for k in 0..B {
                to[k] += row[k] * x;
            }
        }
    }
}

/// out = J motion of one block.
#[inline]
fn read_motion<const B: usize>(sides: &[Side], numbers: &[f64], motion: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for side in sides {
        let Some(from) = motion[side.body as usize * B..].first_chunk::<B>() else { continue };
        let (rows, _) = numbers[side.at..side.at + out.len() * B].as_chunks::<B>();
        for (out, row) in out.iter_mut().zip(rows) {
            *out += dot(row, from);
        }
    }
}

impl<const B: usize> System for Bodies<B> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn apply(&mut self, x: &[f64], out: &mut [f64]) {
        self.gather(x);
        self.spread(x, out);
    }

    fn energy(&mut self, x: &[f64]) -> f64 {
        self.gather(x);
        let soft: f64 = self.softness.iter().zip(x).map(|(s, x)| s * x * x).sum();
        self.motion.iter().map(|v| v * v).sum::<f64>() + soft
    }

    fn own(&self) -> &[f64] {
        &self.own
    }

    fn factor(&mut self, slopes: &[f64], symmetric: bool) -> bool {
        if self.valid && self.symmetric == symmetric && self.factored == slopes {
            return true;
        }
        self.analyse();
        self.factored.clear();
        self.factored.extend_from_slice(slopes);
        self.symmetric = symmetric;
        self.slopes.clear();
        self.slopes.extend_from_slice(slopes);
        self.factor.begin(symmetric);
        let mut turned = [[0.0; B]; WIDEST];
        let mut block_values = [0.0; 36];
        for block in 0..self.layout.blocks() {
            let rows = self.layout.rows_of(block);
            let d = rows.len();
            let slope = &mut self.slopes[self.layout.square_of(block)];
            // Compliance is part of W, theory (4.32): D becomes (I + D S)^-1 D. Only single rows are soft.
            if d == 1 {
                slope[0] /= 1.0 + slope[0] * self.softness[rows.start];
            }
            if slope.iter().all(|s| *s == 0.0) {
                continue;
            }
            let sides = &self.sides[self.first_side[block]..self.first_side[block + 1]];
            let mut slot = self.first_slot[block];
            for (s, side) in sides.iter().enumerate() {
                let (own, _) = self.numbers[side.at..side.at + d * B].as_chunks::<B>();
                for other in &sides[s..] {
                    let (rows, _) = self.numbers[other.at..other.at + d * B].as_chunks::<B>();
                    let at = self.slots[slot];
                    slot += 1;
                    multiply::<B>(slope, rows, &mut turned);
                    outer::<B>(own, &turned[..d], &mut block_values);
                    self.factor.add(at, B, B, &block_values[..B * B]);
                    if other.at != side.at && (!symmetric || side.body == other.body) {
                        multiply::<B>(slope, own, &mut turned);
                        outer::<B>(rows, &turned[..d], &mut block_values);
                        if side.body == other.body {
                            self.factor.add(at, B, B, &block_values[..B * B]);
                        } else {
                            self.factor.add_opposite(at, B, B, &block_values[..B * B]);
                        }
                    }
                }
            }
        }
        self.factors += 1;
        self.valid = self.factor.factor();
        self.stale = false;
        self.valid
    }

    fn is_factored(&self) -> bool {
        self.valid || self.stale
    }

    fn solve(&mut self, x: &mut [f64], response: &mut [f64]) {
        // With softness S the rows say (I + D S) x + D J J' x = b: the first square is taken out of b as it was out of D.
        for block in 0..self.layout.blocks() {
            let rows = self.layout.rows_of(block);
            if rows.len() == 1 {
                let slope = self.factored[self.layout.square_of(block).start];
                x[rows.start] /= 1.0 + slope * self.softness[rows.start];
            }
        }
        self.gather(x);
        let mut motion = std::mem::take(&mut self.motion);
        self.factor.solve(&mut motion);
        self.motion = motion;
        for block in 0..self.layout.blocks() {
            let rows = self.layout.rows_of(block);
            let d = rows.len();
            let sides = &self.sides[self.first_side[block]..self.first_side[block + 1]];
            let mut speeds = [0.0; WIDEST];
            read_motion::<B>(sides, &self.numbers, &self.motion, &mut speeds[..d]);
            let slope = &self.slopes[self.layout.square_of(block)];
            for i in 0..d {
                let row = rows.start + i;
                let sum: f64 = (0..d).map(|j| slope[i * d + j] * speeds[j]).sum();
                x[row] -= sum;
                response[row] = speeds[i] + self.softness[row] * x[row];
            }
        }
    }

    fn solve_transpose(&mut self, x: &mut [f64]) {
        // (I + D W)'^-1 = I - W (I + D' W)^-1 D' with the transposed body matrix; softness as above, from the other side.
        let layout = std::mem::take(&mut self.layout);
        let mut held = std::mem::take(&mut self.swept);
        held.clear();
        held.resize(x.len(), 0.0);
        for block in 0..layout.blocks() {
            let rows = layout.rows_of(block);
            let d = rows.len();
            let slope = &self.slopes[layout.square_of(block)];
            for i in 0..d {
                held[rows.start + i] = (0..d).map(|j| slope[j * d + i] * x[rows.start + j]).sum();
            }
        }
        self.layout = layout;
        self.gather(&held);
        let mut motion = std::mem::take(&mut self.motion);
        self.factor.solve_transpose(&mut motion);
        self.motion = motion;
        for block in 0..self.layout.blocks() {
            let rows = self.layout.rows_of(block);
            let d = rows.len();
            let sides = &self.sides[self.first_side[block]..self.first_side[block + 1]];
            let mut speeds = [0.0; WIDEST];
            read_motion::<B>(sides, &self.numbers, &self.motion, &mut speeds[..d]);
            for i in 0..d {
                x[rows.start + i] -= speeds[i];
            }
            if d == 1 {
                let slope = self.factored[self.layout.square_of(block).start];
                x[rows.start] /= 1.0 + slope * self.softness[rows.start];
            }
        }
        self.swept = held;
    }

    fn operations(&mut self) -> f64 {
        self.analyse();
        self.factor.operations()
    }

    fn factors(&self) -> usize {
        self.factors
    }

    fn begin_sweeps(&mut self, impulses: &[f64]) {
        self.gather(impulses);
        self.swept.clone_from(&self.motion);
    }

    #[inline]
    fn speeds(&self, block: usize, impulses: &[f64], out: &mut [f64]) {
        read_motion::<B>(self.sides_of(block), &self.numbers, &self.swept, out);
        let first = self.layout.rows_of(block).start;
        for (k, out) in out.iter_mut().enumerate() {
            *out += self.softness[first + k] * impulses[first + k];
        }
    }

    #[inline]
    fn push(&mut self, block: usize, change: &[f64]) {
        add_motion::<B>(&self.sides[self.first_side[block]..self.first_side[block + 1]], &self.numbers, change, &mut self.swept);
    }
}

/// out = D rows.
#[inline]
fn multiply<const B: usize>(slope: &[f64], rows: &[[f64; B]], out: &mut [[f64; B]; WIDEST]) {
    let d = rows.len();
    for i in 0..d {
        out[i] = [0.0; B];
        for j in 0..d {
            let s = slope[i * d + j];
            if s != 0.0 {
                for k in 0..B {
                    out[i][k] += s * rows[j][k];
                }
            }
        }
    }
}

/// out = a' b by rows.
#[inline]
fn outer<const B: usize>(a: &[[f64; B]], b: &[[f64; B]], out: &mut [f64; 36]) {
    let (out, _) = out[..B * B].as_chunks_mut::<B>();
    out.fill([0.0; B]);
    for (a, b) in a.iter().zip(b) {
        for i in 0..B {
            for k in 0..B {
                out[i][k] += a[i] * b[k];
            }
        }
    }
}
