//! Rows over bodies, in coordinates in which the mass is one, and the factor of I + Rᵀ E R over them, theory (5.24).
//!
//! The Gram matrix of contacts has a row for every contact, this one a few for every body; and contacts that say the same twice do it no harm.

use super::rows::SparseRows;
use carom_math::multifrontal::{Multifrontal, Slot};

/// Rows of an impact in coordinates in which the mass is one, with the coordinates put together that always occur together.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    /// The node of each coordinate, and the first coordinate of each node and their number.
    node: Vec<usize>,
    first: Vec<usize>,
    marks: Vec<(u64, usize)>,
}

impl Roots {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.columns.clear();
        self.values.clear();
        self.node.clear();
        self.first.clear();
    }

    /// Copies rows.
    pub fn load(&mut self, rows: &SparseRows) {
        self.clear();
        self.starts.push(0);
        self.marks.clear();
        self.marks.resize(rows.dimension(), (0, 0));
        for i in 0..rows.len() {
            let (columns, values) = rows.row(i);
            self.columns.extend_from_slice(columns);
            self.values.extend_from_slice(values);
            self.starts.push(self.columns.len());
            for &column in columns {
                // A number that depends on all rows so far in which the coordinate occurs.
                /// Odd, with bits all over.
                const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;
                let (mark, count) = &mut self.marks[column];
                *mark = mark.rotate_left(5).wrapping_add(i as u64 + 1).wrapping_mul(STRIDE);
                *count += 1;
            }
        }
        // Two that share a number by accident only make a node larger than it need be.
        for k in 0..rows.dimension() {
            if k == 0 || self.marks[k] != self.marks[k - 1] {
                self.first.push(k);
            }
            self.node.push(self.first.len() - 1);
        }
        self.first.push(rows.dimension());
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One block's rows at one node.
#[derive(Clone, Copy, Debug)]
struct Side {
    node: usize,
    at: usize,
}

/// Blocks of one or two rows R over nodes, and the factor of I + Rᵀ E R with a square E for every block.
#[derive(Clone, Debug, Default)]
pub struct BodySystem {
    width: usize,
    sides: Vec<Side>,
    first_side: Vec<usize>,
    numbers: Vec<f64>,
    /// First row of each local node and their number; the local number of a node of the roots, and the nodes that have one.
    first: Vec<usize>,
    local: Vec<usize>,
    nodes: Vec<usize>,
    edges: Vec<(u32, u32)>,
    slots: Vec<Slot>,
    first_slot: Vec<usize>,
    factor: Multifrontal,
    product: Vec<f64>,
}

impl BodySystem {
    /// Begins a system of blocks with `width` rows each.
    pub fn begin(&mut self, roots: &Roots, width: usize) {
        self.width = width;
        for &node in &self.nodes {
            if let Some(local) = self.local.get_mut(node) {
                *local = usize::MAX;
            }
        }
        self.local.resize(roots.first.len(), usize::MAX);
        self.nodes.clear();
        self.first.clear();
        self.first.push(0);
        self.sides.clear();
        self.first_side.clear();
        self.first_side.push(0);
        self.numbers.clear();
        self.slots.clear();
    }

    /// Adds a block: rows of the roots from `row` on, times a factor.
    pub fn add_block(&mut self, roots: &Roots, row: usize, scale: f64) {
        let begin = self.sides.len();
        for k in 0..self.width {
            for e in roots.starts[row + k]..roots.starts[row + k + 1] {
                let column = roots.columns[e];
                let node = roots.node[column];
                let size = roots.first[node + 1] - roots.first[node];
                if self.local[node] == usize::MAX {
                    self.local[node] = self.nodes.len();
                    self.nodes.push(node);
                    self.first.push(self.first[self.first.len() - 1] + size);
                }
                let local = self.local[node];
                let at = match self.sides[begin..].iter().find(|side| side.node == local) {
                    Some(side) => side.at,
                    None => {
                        let at = self.numbers.len();
                        self.numbers.resize(at + self.width * size, 0.0);
                        self.sides.push(Side { node: local, at });
                        at
                    }
                };
                self.numbers[at + k * size + column - roots.first[node]] = scale * roots.values[e];
            }
        }
        self.first_side.push(self.sides.len());
    }

    /// Rows of the system's velocities.
    pub fn dimension(&self) -> usize {
        self.first.last().copied().unwrap_or(0)
    }

    /// Orders the nodes; returns the products of one factorisation.
    pub fn analyse(&mut self) -> f64 {
        self.edges.clear();
        for block in 0..self.first_side.len() - 1 {
            let sides = &self.sides[self.first_side[block]..self.first_side[block + 1]];
            for (s, side) in sides.iter().enumerate() {
                self.edges.extend(sides[s + 1..].iter().map(|other| (side.node as u32, other.node as u32)));
            }
        }
        let first = &self.first;
        self.factor.analyse((0..self.nodes.len()).map(|node| first[node + 1] - first[node]), &mut self.edges);
        self.slots.clear();
        self.first_slot.clear();
        for block in 0..self.first_side.len() - 1 {
            self.first_slot.push(self.slots.len());
            let sides = &self.sides[self.first_side[block]..self.first_side[block + 1]];
            for (s, side) in sides.iter().enumerate() {
                self.slots.extend(sides[s..].iter().map(|other| self.factor.slot(side.node, other.node).unwrap_or_default()));
            }
        }
        // The symmetric factor costs half.
        self.factor.operations() / 2.0
    }

    /// Factors I + Rᵀ E R with the squares `weights` of the blocks, by rows; false where that cannot be done.
    pub fn factor(&mut self, weights: &[f64]) -> bool {
        let t = self.width;
        self.factor.begin(true);
        for block in 0..self.first_side.len() - 1 {
            let square = &weights[block * t * t..(block + 1) * t * t];
            if square.iter().all(|&w| w == 0.0) {
                continue;
            }
            let sides = &self.sides[self.first_side[block]..self.first_side[block + 1]];
            let mut slot = self.first_slot[block];
            for (s, side) in sides.iter().enumerate() {
                let rows = self.first[side.node + 1] - self.first[side.node];
                for other in &sides[s..] {
                    let columns = self.first[other.node + 1] - self.first[other.node];
                    self.product.clear();
                    let (own, others) = (&self.numbers[side.at..side.at + t * rows], &self.numbers[other.at..other.at + t * columns]);
                    if t == 1 {
                        let weight = square[0];
                        own.iter().for_each(|a| self.product.extend(others.iter().map(|b| a * weight * b)));
                    } else {
                        for r in 0..rows {
                            // Row r of Rᵀ E, for two rows at most.
                            let left: [f64; 2] = std::array::from_fn(|l| (0..t).map(|k| own[k * rows + r] * square[k * t + l]).sum());
                            self.product.extend((0..columns).map(|c| left[0] * others[c] + left[1] * others[columns + c]));
                        }
                    }
                    self.factor.add(self.slots[slot], rows, columns, &self.product);
                    slot += 1;
                }
            }
        }
        self.factor.factor()
    }

    /// Solves (I + Rᵀ E R) y = motion in place.
    pub fn solve(&mut self, motion: &mut [f64]) {
        self.factor.solve(motion);
    }

    /// motion = Rᵀ x.
    pub fn gather(&self, x: &[f64], motion: &mut Vec<f64>) {
        motion.clear();
        motion.resize(self.dimension(), 0.0);
        let t = self.width;
        for block in 0..self.first_side.len() - 1 {
            let x = &x[block * t..(block + 1) * t];
            if x.iter().all(|&x| x == 0.0) {
                continue;
            }
            for side in &self.sides[self.first_side[block]..self.first_side[block + 1]] {
                let range = self.first[side.node]..self.first[side.node + 1];
                let size = range.len();
                for (k, &x) in x.iter().enumerate() {
                    let row = &self.numbers[side.at + k * size..side.at + (k + 1) * size];
                    motion[range.clone()].iter_mut().zip(row).for_each(|(v, a)| *v += a * x);
                }
            }
        }
    }

    /// out = R motion.
    pub fn spread(&self, motion: &[f64], out: &mut Vec<f64>) {
        let t = self.width;
        out.clear();
        out.resize((self.first_side.len() - 1) * t, 0.0);
        for block in 0..self.first_side.len() - 1 {
            for side in &self.sides[self.first_side[block]..self.first_side[block + 1]] {
                let motion = &motion[self.first[side.node]..self.first[side.node + 1]];
                let size = motion.len();
                for k in 0..t {
                    let row = &self.numbers[side.at + k * size..side.at + (k + 1) * size];
                    out[block * t + k] += row.iter().zip(motion).map(|(a, v)| a * v).sum::<f64>();
                }
            }
        }
    }
}
