//! W = J M^-1 J' as rows over bodies, never as a matrix over contacts, theory (4.32).
//!
//! Velocities are scaled by the root of the mass, so that every linear system is I + J' D J: blocks of six rows (three in the plane) over the graph
//! of bodies. Redundant contacts do it no harm.

use super::system::{Layout, System};
use carom_math::multifrontal::{Multifrontal, Slot};

mod rows;

use rows::{Rows, Side, dot};

/// The rows of a problem over bodies with B degrees of freedom each.
#[derive(Clone, Debug, Default)]
pub struct Bodies<const B: usize> {
    rows: Rows<B>,
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
        self.rows.layout.clear();
        self.rows.sides.clear();
        self.rows.first_side.clear();
        self.rows.first_side.push(0);
        self.rows.numbers.clear();
        self.softness.clear();
        self.count = bodies;
        self.valid = false;
        self.stale = false;
        self.analysed = false;
        self.factors = 0;
    }

    /// Adds a block of `rows` rows with one compliance; its sides follow.
    pub fn add_block(&mut self, rows: usize, softness: f64) {
        self.rows.layout.push(rows);
        self.softness.extend(std::iter::repeat_n(softness, rows));
        self.rows.first_side.push(self.rows.sides.len());
    }

    /// Gives the rows of the last block at a body: `row(k)` is row k of J M^-1/2. Sides at immovable bodies are left out.
    pub fn add_side(&mut self, body: usize, row: impl Fn(usize) -> [f64; B]) {
        let block = self.rows.layout.blocks() - 1;
        let at = self.rows.numbers.len();
        for k in 0..self.rows.layout.rows_of(block).len() {
            self.rows.numbers.extend_from_slice(&row(k));
        }
        self.rows.sides.push(Side { body: body as u32, at });
        if let Some(end) = self.rows.first_side.last_mut() {
            *end = self.rows.sides.len();
        }
    }

    /// Ends the problem: the squares of the blocks are made.
    pub fn finish(&mut self) {
        self.own.clear();
        self.own.resize(self.rows.layout.squares(), 0.0);
        for block in 0..self.rows.layout.blocks() {
            let d = self.rows.layout.rows_of(block).len();
            let own = &mut self.own[self.rows.layout.square_of(block)];
            for (s, side) in self.rows.sides_of(block).iter().enumerate() {
                let (rows, _) = self.rows.numbers[side.at..side.at + d * B].as_chunks::<B>();
                // Two sides at one body act together.
                for other in self.rows.sides_of(block).iter().skip(s) {
                    if other.body != side.body {
                        continue;
                    }
                    let (columns, _) = self.rows.numbers[other.at..other.at + d * B].as_chunks::<B>();
                    let twice = other.at != side.at;
                    for i in 0..d {
                        for j in 0..d {
                            own[i * d + j] +=
                                dot::<B, false>(&rows[i], &columns[j]) + if twice { dot::<B, false>(&rows[j], &columns[i]) } else { 0.0 };
                        }
                    }
                }
            }
            for k in 0..d {
                own[k * d + k] += self.softness[self.rows.layout.rows_of(block).start + k];
            }
        }
        self.motion.clear();
        self.motion.resize(self.count * B, 0.0);
    }

    /// Whether another problem has the same rows, bit for bit: then the factor at hand serves it too.
    pub fn same_rows(&self, other: &Self) -> bool {
        let sides = |one: &Side, two: &Side| one.body == two.body && one.at == two.at;
        self.count == other.count
            && self.rows.layout == other.rows.layout
            && self.rows.first_side == other.rows.first_side
            && self.rows.sides.len() == other.rows.sides.len()
            && self.rows.sides.iter().zip(&other.rows.sides).all(|(one, two)| sides(one, two))
            && self.rows.numbers == other.rows.numbers
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
            && self.rows.first_side == earlier.rows.first_side
            && self.rows.sides.iter().zip(&earlier.rows.sides).all(|(one, two)| one.body == two.body);
        self.analysed = same;
        self.stale = false;
        // Room for them goes along in any case.
        std::mem::swap(&mut self.slots, &mut earlier.slots);
        std::mem::swap(&mut self.first_slot, &mut earlier.first_slot);
        std::mem::swap(&mut self.edges, &mut earlier.edges);
        if same {
            // Its factor is nearly that of these rows: good enough to begin with, see [`System::is_factored`].
            std::mem::swap(&mut self.slopes, &mut earlier.slopes);
            std::mem::swap(&mut self.factored, &mut earlier.factored);
            self.symmetric = earlier.symmetric;
            self.stale = (was_valid || earlier.stale) && self.factored.len() == self.rows.layout.squares();
        }
        (earlier.valid, earlier.analysed) = (false, false);
    }

    /// Number of bodies.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The compliance of a block's rows.
    pub fn softness_of(&self, block: usize) -> f64 {
        self.softness.get(self.rows.layout.rows_of(block).start).copied().unwrap_or(0.0)
    }

    /// The bodies of a block, each with its rows of J M^-1/2.
    pub fn sides(&self, block: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let length = self.rows.layout.rows_of(block).len() * B;
        self.rows.sides_of(block).iter().map(move |side| (side.body as usize, &self.rows.numbers[side.at..side.at + length]))
    }

    /// Orders the bodies and finds where every product goes; once for each problem, and only when it is first factored.
    fn analyse(&mut self) {
        if self.analysed {
            return;
        }
        self.analysed = true;
        self.edges.clear();
        for block in 0..self.rows.layout.blocks() {
            let sides = self.rows.sides_of(block);
            for (s, side) in sides.iter().enumerate() {
                self.edges.extend(sides[s + 1..].iter().map(|other| (side.body, other.body)));
            }
        }
        self.factor.analyse(std::iter::repeat_n(B, self.count), &mut self.edges);
        self.slots.clear();
        self.first_slot.clear();
        for block in 0..self.rows.layout.blocks() {
            self.first_slot.push(self.slots.len());
            let sides = self.rows.sides_of(block);
            for (s, side) in sides.iter().enumerate() {
                for other in &sides[s..] {
                    let slot = self.factor.slot(side.body as usize, other.body as usize);
                    self.slots.push(slot.unwrap_or_default());
                }
            }
        }
    }
}

impl<const B: usize> System for Bodies<B> {
    fn layout(&self) -> &Layout {
        &self.rows.layout
    }

    fn apply(&mut self, x: &[f64], out: &mut [f64]) {
        self.rows.gather(x, &mut self.motion);
        self.rows.spread(&self.motion, &self.softness, x, out);
    }

    fn energy(&mut self, x: &[f64]) -> f64 {
        self.rows.gather(x, &mut self.motion);
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
        // Compliance is part of W, theory (4.32): D becomes (I + D S)^-1 D. Only single rows are soft.
        for block in 0..self.rows.layout.blocks() {
            let rows = self.rows.layout.rows_of(block);
            if rows.len() == 1 {
                let slope = &mut self.slopes[self.rows.layout.square_of(block).start];
                *slope /= 1.0 + *slope * self.softness[rows.start];
            }
        }
        self.rows.assemble(&self.slopes, &self.slots, &self.first_slot, symmetric, &mut self.factor);
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
        for block in 0..self.rows.layout.blocks() {
            let rows = self.rows.layout.rows_of(block);
            if rows.len() == 1 {
                let slope = self.factored[self.rows.layout.square_of(block).start];
                x[rows.start] /= 1.0 + slope * self.softness[rows.start];
            }
        }
        self.rows.gather(x, &mut self.motion);
        self.factor.solve(&mut self.motion);
        self.rows.answer(&self.motion, &self.slopes, &self.softness, x, response);
    }

    fn solve_transpose(&mut self, x: &mut [f64]) {
        // (I + D W)'^-1 = I - W (I + D' W)^-1 D' with the transposed body matrix; softness as above, from the other side.
        let layout = &self.rows.layout;
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
        self.rows.gather(&held, &mut self.motion);
        self.factor.solve_transpose(&mut self.motion);
        for block in 0..self.rows.layout.blocks() {
            let rows = self.rows.layout.rows_of(block);
            self.rows.read_motion::<false>(block, &self.motion, &mut held[rows.clone()]);
            x[rows.clone()].iter_mut().zip(&held[rows.clone()]).for_each(|(x, speed)| *x -= speed);
            if rows.len() == 1 {
                let slope = self.factored[self.rows.layout.square_of(block).start];
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
        self.rows.gather(impulses, &mut self.motion);
        self.swept.clone_from(&self.motion);
    }

    #[inline]
    fn speeds(&self, block: usize, impulses: &[f64], out: &mut [f64]) {
        self.rows.read_motion::<false>(block, &self.swept, out);
        let first = self.rows.layout.rows_of(block).start;
        for (k, out) in out.iter_mut().enumerate() {
            *out += self.softness[first + k] * impulses[first + k];
        }
    }

    #[inline]
    fn push(&mut self, block: usize, change: &[f64]) {
        self.rows.add_motion::<false>(block, change, &mut self.swept);
    }
}
