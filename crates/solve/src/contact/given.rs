//! W given as a matrix, dense or sparse: blocks over the graph of contacts, theory (4.31).

use super::law::WIDEST;
use super::system::{Layout, System};
use carom_math::multifrontal::{Multifrontal, Slot};

/// One block of W and where its part of I + D W goes.
#[derive(Clone, Copy, Debug)]
struct Entry {
    row: u32,
    column: u32,
    at: usize,
    slot: Slot,
}

/// A matrix by blocks.
#[derive(Clone, Debug, Default)]
pub struct Given {
    layout: Layout,
    /// Blocks by rising row, then column; `first` of each block row.
    entries: Vec<Entry>,
    first: Vec<usize>,
    values: Vec<f64>,
    own: Vec<f64>,
    factor: Multifrontal,
    edges: Vec<(u32, u32)>,
    analysed: bool,
    slopes: Vec<f64>,
    valid: bool,
    swept: Vec<f64>,
    work: Vec<f64>,
    factors: usize,
}

impl Given {
    /// Reads a dense matrix, row by row, over blocks with the given numbers of rows; blocks that are zero are left out.
    pub fn read_dense(&mut self, rows: impl Iterator<Item = usize>, matrix: &[f64]) {
        self.layout.clear();
        rows.for_each(|rows| self.layout.push(rows));
        let n = self.layout.rows();
        self.read(|row, columns, out| {
            out.copy_from_slice(&matrix[row * n + columns.start..row * n + columns.end]);
        });
    }

    /// Reads compressed rows; columns within a row may stand in any order, and what is not stored is 0.
    pub fn read_compressed(&mut self, rows: impl Iterator<Item = usize>, starts: &[usize], columns: &[usize], values: &[f64]) {
        self.layout.clear();
        rows.for_each(|rows| self.layout.push(rows));
        let n = self.layout.rows();
        let mut block_of = vec![0u32; n];
        for block in 0..self.layout.blocks() {
            block_of[self.layout.rows_of(block)].fill(block as u32);
        }
        // The blocks met in each block row, in order; then their numbers.
        self.entries.clear();
        self.first.clear();
        self.values.clear();
        let mut met = vec![u32::MAX; self.layout.blocks()];
        let mut at_of = vec![0usize; self.layout.blocks()];
        let mut list: Vec<u32> = Vec::new();
        for block in 0..self.layout.blocks() {
            self.first.push(self.entries.len());
            list.clear();
            list.push(block as u32);
            met[block] = block as u32;
            let range = self.layout.rows_of(block);
            for row in range.clone() {
                for &column in &columns[starts[row]..starts[row + 1]] {
                    let other = block_of[column];
                    if met[other as usize] != block as u32 {
                        met[other as usize] = block as u32;
                        list.push(other);
                    }
                }
            }
            list.sort_unstable();
            for &other in &list {
                let at = self.values.len();
                at_of[other as usize] = at;
                self.values.resize(at + range.len() * self.layout.rows_of(other as usize).len(), 0.0);
                self.entries.push(Entry { row: block as u32, column: other, at, slot: Slot::default() });
            }
            for row in range.clone() {
                for k in starts[row]..starts[row + 1] {
                    let other = block_of[columns[k]] as usize;
                    let within = self.layout.rows_of(other);
                    self.values[at_of[other] + (row - range.start) * within.len() + columns[k] - within.start] += values[k];
                }
            }
        }
        self.first.push(self.entries.len());
        self.finish();
    }

    fn read(&mut self, mut read: impl FnMut(usize, std::ops::Range<usize>, &mut [f64])) {
        self.entries.clear();
        self.first.clear();
        self.values.clear();
        for block in 0..self.layout.blocks() {
            self.first.push(self.entries.len());
            for other in 0..self.layout.blocks() {
                let (rows, columns) = (self.layout.rows_of(block), self.layout.rows_of(other));
                let at = self.values.len();
                self.values.resize(at + rows.len() * columns.len(), 0.0);
                for (k, row) in rows.clone().enumerate() {
                    read(row, columns.clone(), &mut self.values[at + k * columns.len()..at + (k + 1) * columns.len()]);
                }
                if block != other && self.values[at..].iter().all(|x| *x == 0.0) {
                    self.values.truncate(at);
                } else {
                    self.entries.push(Entry { row: block as u32, column: other as u32, at, slot: Slot::default() });
                }
            }
        }
        self.first.push(self.entries.len());
        self.finish();
    }

    fn finish(&mut self) {
        self.own.clear();
        self.own.resize(self.layout.squares(), 0.0);
        for entry in &self.entries {
            if entry.row == entry.column {
                let square = self.layout.square_of(entry.row as usize);
                let length = square.len();
                self.own[square].copy_from_slice(&self.values[entry.at..entry.at + length]);
            }
        }
        self.analysed = false;
        self.valid = false;
        self.factors = 0;
    }

    fn analyse(&mut self) {
        if self.analysed {
            return;
        }
        self.analysed = true;
        self.edges.clear();
        self.edges.extend(self.entries.iter().filter(|entry| entry.row < entry.column).map(|entry| (entry.row, entry.column)));
        let layout = &self.layout;
        self.factor.analyse((0..layout.blocks()).map(|block| layout.rows_of(block).len()), &mut self.edges);
        for entry in &mut self.entries {
            entry.slot = self.factor.slot(entry.row as usize, entry.column as usize).unwrap_or_default();
        }
    }

    /// The blocks of the matrix: block row, block column, numbers by rows.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, usize, &[f64])> {
        self.entries.iter().map(|entry| {
            let (row, column) = (entry.row as usize, entry.column as usize);
            let length = self.layout.rows_of(row).len() * self.layout.rows_of(column).len();
            (row, column, &self.values[entry.at..entry.at + length])
        })
    }
}

impl System for Given {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn apply(&mut self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for entry in &self.entries {
            let (rows, columns) = (self.layout.rows_of(entry.row as usize), self.layout.rows_of(entry.column as usize));
            let width = columns.len();
            for (k, row) in rows.enumerate() {
                let line = &self.values[entry.at + k * width..entry.at + (k + 1) * width];
                out[row] += line.iter().zip(&x[columns.clone()]).map(|(a, x)| a * x).sum::<f64>();
            }
        }
    }

    fn energy(&mut self, x: &[f64]) -> f64 {
        let mut out = std::mem::take(&mut self.work);
        out.resize(x.len(), 0.0);
        self.apply(x, &mut out);
        let sum: f64 = out.iter().zip(x).map(|(a, x)| a * x).sum();
        self.work = out;
        sum.max(0.0)
    }

    fn own(&self) -> &[f64] {
        &self.own
    }

    fn factor(&mut self, slopes: &[f64], _symmetric: bool) -> bool {
        if self.valid && self.slopes == slopes {
            return true;
        }
        self.analyse();
        self.slopes.clear();
        self.slopes.extend_from_slice(slopes);
        self.factor.begin(false);
        let mut block = [0.0; WIDEST * WIDEST];
        for entry in &self.entries {
            let (height, width) = (self.layout.rows_of(entry.row as usize).len(), self.layout.rows_of(entry.column as usize).len());
            let slope = &self.slopes[self.layout.square_of(entry.row as usize)];
            if slope.iter().all(|s| *s == 0.0) {
                continue;
            }
            let values = &self.values[entry.at..entry.at + height * width];
            for i in 0..height {
                for j in 0..width {
                    block[i * width + j] = (0..height).map(|k| slope[i * height + k] * values[k * width + j]).sum();
                }
            }
            self.factor.add(entry.slot, height, width, &block[..height * width]);
        }
        self.factors += 1;
        self.valid = self.factor.factor();
        self.valid
    }

    fn is_factored(&self) -> bool {
        self.valid
    }

    fn solve(&mut self, x: &mut [f64], response: &mut [f64]) {
        self.factor.solve(x);
        self.apply(x, response);
    }

    fn solve_transpose(&mut self, x: &mut [f64]) {
        self.factor.solve_transpose(x);
    }

    fn operations(&mut self) -> f64 {
        self.analyse();
        self.factor.operations()
    }

    fn factors(&self) -> usize {
        self.factors
    }

    fn begin_sweeps(&mut self, impulses: &[f64]) {
        let mut swept = std::mem::take(&mut self.swept);
        swept.resize(impulses.len(), 0.0);
        self.apply(impulses, &mut swept);
        self.swept = swept;
    }

    fn speeds(&self, block: usize, _impulses: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.swept[self.layout.rows_of(block)]);
    }

    fn push(&mut self, block: usize, change: &[f64]) {
        // W is symmetric: the column of a block is its row, transposed.
        for entry in &self.entries[self.first[block]..self.first[block + 1]] {
            let rows = self.layout.rows_of(entry.column as usize);
            let width = rows.len();
            for (k, change) in change.iter().enumerate() {
                let line = &self.values[entry.at + k * width..entry.at + (k + 1) * width];
                self.swept[rows.clone()].iter_mut().zip(line).for_each(|(s, a)| *s += a * change);
            }
        }
    }
}
