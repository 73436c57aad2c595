//! Multifrontal factor of I + B for a block matrix B over a graph that changes often, theory (9.20)-(9.22).
//!
//! Pivots are taken in order: the matrices it is for have a positive symmetric part, or nearly so. [`Multifrontal::factor`] says where one
//! is not sound. A and A' are solved; the symmetric factor costs half. Nothing allocates once the largest problem has been met.

use crate::elimination::{Elimination, NONE};
use crate::gemm::{DEPTH, Panel, subtract_product};

/// A pivot below this part of the largest entry of its column before elimination is not sound.
const LEAST_PIVOT: f64 = 1e-14;

/// Where the block of two nodes stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// First entry of the block (a, b), and distance of its columns.
    at: usize,
    stride: usize,
    /// First entry of the block (b, a).
    opposite: usize,
    /// Whether (a, b) lies in the lower triangle.
    lower: bool,
}

/// The factor with its analysis.
#[derive(Clone, Debug, Default)]
pub struct Multifrontal {
    elimination: Elimination,
    values: Vec<f64>,
    symmetric: bool,
    gathered: Vec<f64>,
    analyses: usize,
    factors: usize,
}

impl Multifrontal {
    /// Analyses a graph of nodes with the given numbers of rows; true where it differs from the last one, so that slots must be asked anew.
    /// The edges are sorted in place and may repeat.
    pub fn analyse(&mut self, sizes: impl Iterator<Item = usize>, edges: &mut Vec<(u32, u32)>) -> bool {
        let changed = self.elimination.analyse(sizes, edges);
        self.analyses += usize::from(changed);
        changed
    }

    /// Number of scalar rows.
    pub fn rows(&self) -> usize {
        self.elimination.rows()
    }

    /// Numbers of the fronts.
    pub fn fill(&self) -> usize {
        self.elimination.values
    }

    /// Products that a factorisation takes, those of the unsymmetric one.
    pub fn operations(&self) -> f64 {
        let of = |(m, p): (f64, f64)| p * m * m - p * p * m + p * p * p / 3.0;
        2.0 * self.elimination.fronts.iter().map(|front| of((front.rows as f64, front.pivot_rows as f64))).sum::<f64>()
    }

    /// Analyses and factorisations made so far.
    pub fn counts(&self) -> (usize, usize) {
        (self.analyses, self.factors)
    }

    /// Where the block of two nodes stands; `None` unless they are one node or neighbours.
    pub fn slot(&self, a: usize, b: usize) -> Option<Slot> {
        let e = &self.elimination;
        let (pa, pb) = (*e.place.get(a)?, *e.place.get(b)?);
        let index = e.front_of[pa.min(pb) as usize];
        let front = &e.fronts[index as usize];
        let (ra, rb) = (e.local_of(index, pa)? as usize, e.local_of(index, pb)? as usize);
        let m = front.rows;
        Some(Slot { at: front.at + rb * m + ra, stride: m, opposite: front.at + ra * m + rb, lower: pa >= pb })
    }

    /// Begins a matrix: the unit matrix. It is filled by [`Multifrontal::add`], then [`Multifrontal::factor`] is called.
    pub fn begin(&mut self, symmetric: bool) {
        self.symmetric = symmetric;
        self.values.clear();
        self.values.resize(self.elimination.values, 0.0);
        for front in &self.elimination.fronts {
            for k in 0..front.pivot_rows {
                self.values[front.at + k * (front.rows + 1)] = 1.0;
            }
        }
    }

    /// Adds a block, by rows: `rows` x `columns` at (a, b) of its slot. Of a symmetric matrix each pair is given once.
    #[inline]
    pub fn add(&mut self, slot: Slot, rows: usize, columns: usize, block: &[f64]) {
        if self.symmetric && !slot.lower {
            for (r, line) in block.chunks_exact(columns).enumerate().take(rows) {
                let to = &mut self.values[slot.opposite + r * slot.stride..][..columns];
                to.iter_mut().zip(line).for_each(|(to, x)| *to += x);
            }
        } else {
            for c in 0..columns {
                let to = &mut self.values[slot.at + c * slot.stride..][..rows];
                for (r, to) in to.iter_mut().enumerate() {
                    *to += block[r * columns + c];
                }
            }
        }
    }

    /// Adds to (b, a) of a slot what [`Multifrontal::add`] adds to (a, b): the other half of an unsymmetric pair.
    #[inline]
    pub fn add_opposite(&mut self, slot: Slot, rows: usize, columns: usize, block: &[f64]) {
        if self.symmetric {
            return;
        }
        for c in 0..columns {
            let to = &mut self.values[slot.opposite + c * slot.stride..][..rows];
            for (r, to) in to.iter_mut().enumerate() {
                *to += block[r * columns + c];
            }
        }
    }

    /// Factors what was added; false where a pivot is not sound.
    pub fn factor(&mut self) -> bool {
        self.factors += 1;
        let e = &self.elimination;
        for front in &e.fronts {
            let (m, p) = (front.rows, front.pivot_rows);
            let (head, later) = self.values.split_at_mut(front.at + m * m);
            let own = &mut head[front.at..];
            if !(if self.symmetric { eliminate_symmetric(own, m, p) } else { eliminate(own, m, p) }) {
                return false;
            }
            if front.parent == NONE {
                continue;
            }
            let parent = &e.fronts[front.parent as usize];
            let to = &mut later[parent.at - front.at - m * m..][..parent.rows * parent.rows];
            let left = front.first + front.pivots..front.end;
            for i in left.clone() {
                let (column, there) = (e.local[i] as usize, e.relative[i] as usize);
                let width = e.sizes[e.node[e.nodes[i] as usize] as usize] as usize;
                let rows = if self.symmetric { i } else { left.start };
                for j in rows..left.end {
                    let (row, onto) = (e.local[j] as usize, e.relative[j] as usize);
                    let height = e.sizes[e.node[e.nodes[j] as usize] as usize] as usize;
                    for c in 0..width {
                        let from = &own[(column + c) * m + row..][..height];
                        let to = &mut to[(there + c) * parent.rows + onto..][..height];
                        to.iter_mut().zip(from).for_each(|(to, x)| *to += x);
                    }
                }
            }
        }
        true
    }

    /// Solves A x = b in place; rows by node.
    pub fn solve(&mut self, x: &mut [f64]) {
        self.substitute(x, false);
    }

    /// Solves A' x = b in place.
    pub fn solve_transpose(&mut self, x: &mut [f64]) {
        self.substitute(x, true);
    }

    fn substitute(&mut self, x: &mut [f64], transposed: bool) {
        let e = &self.elimination;
        let work = &mut self.gathered;
        for front in &e.fronts {
            let (m, p) = (front.rows, front.pivot_rows);
            let a = &self.values[front.at..front.at + m * m];
            gather(e, front.first, front.end, x, work);
            for k in 0..p {
                let column = &a[k * m..(k + 1) * m];
                if self.symmetric {
                    let w = work[k] / column[k];
                    work[k] = w;
                    work[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(x, l)| *x -= l * w);
                } else if !transposed {
                    let w = work[k];
                    work[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(x, l)| *x -= l * w);
                } else {
                    // Row k of U' is column k of U: what stands above the diagonal.
                    let sum: f64 = column[..k].iter().zip(work.iter()).map(|(u, x)| u * x).sum();
                    work[k] = (work[k] - sum) / column[k];
                }
            }
            if transposed && !self.symmetric {
                for c in p..m {
                    let sum: f64 = a[c * m..c * m + p].iter().zip(work.iter()).map(|(u, x)| u * x).sum();
                    work[c] -= sum;
                }
            }
            scatter(e, front.first, front.end, work, x);
        }
        for front in e.fronts.iter().rev() {
            let (m, p) = (front.rows, front.pivot_rows);
            let a = &self.values[front.at..front.at + m * m];
            gather(e, front.first, front.end, x, work);
            if self.symmetric || transposed {
                for k in (0..p).rev() {
                    let column = &a[k * m..(k + 1) * m];
                    let sum: f64 = column[k + 1..].iter().zip(&work[k + 1..]).map(|(l, x)| l * x).sum();
                    work[k] -= sum;
                    if self.symmetric {
                        work[k] /= column[k];
                    }
                }
            } else {
                for c in (0..m).rev() {
                    let column = &a[c * m..(c + 1) * m];
                    if c < p {
                        work[c] /= column[c];
                    }
                    let w = work[c];
                    work[..p.min(c)].iter_mut().zip(column).for_each(|(x, u)| *x -= u * w);
                }
            }
            scatter(e, front.first, front.first + front.pivots, work, x);
        }
    }
}

fn gather(e: &Elimination, first: usize, end: usize, x: &[f64], work: &mut Vec<f64>) {
    work.clear();
    for &place in &e.nodes[first..end] {
        let node = e.node[place as usize] as usize;
        work.extend_from_slice(&x[e.start[node]..e.start[node + 1]]);
    }
}

fn scatter(e: &Elimination, first: usize, end: usize, work: &[f64], x: &mut [f64]) {
    for (i, &place) in e.nodes[first..end].iter().enumerate() {
        let node = e.node[place as usize] as usize;
        let size = e.start[node + 1] - e.start[node];
        x[e.start[node]..][..size].copy_from_slice(&work[e.local[first + i] as usize..][..size]);
    }
}

/// Column k of a panel minus the products of the panel's earlier columns, then divided: one column of L. The entries `from..` count.
#[inline]
fn axpy(to: &mut [f64], from: &[f64], factor: f64) {
    to.iter_mut().zip(from).for_each(|(to, x)| *to -= x * factor);
}

/// Eliminates the first p columns of a column-major m x m front in place: unit L below, U on and above the diagonal, the rest its Schur complement.
fn eliminate(a: &mut [f64], m: usize, p: usize) -> bool {
    let mut first = 0;
    while first < p {
        let end = (first + DEPTH).min(p);
        for k in first..end {
            let (left, right) = a.split_at_mut((k + 1) * m);
            let column = &mut left[k * m..];
            let pivot = column[k];
            let largest = column[k + 1..p].iter().fold(0.0f64, |most, x| most.max(x.abs()));
            if !(pivot.abs() > LEAST_PIVOT * largest && pivot != 0.0) {
                return false;
            }
            let inverse = 1.0 / pivot;
            column[k + 1..].iter_mut().for_each(|x| *x *= inverse);
            for other in right.chunks_exact_mut(m).take(end - k - 1) {
                let factor = other[k];
                if factor != 0.0 {
                    axpy(&mut other[k + 1..], &column[k + 1..], factor);
                }
            }
        }
        if end < m {
            let (left, right) = a.split_at_mut(end * m);
            // Rows of U to the right of the panel.
            for column in right.chunks_exact_mut(m) {
                for k in first..end {
                    let factor = column[k];
                    if factor != 0.0 {
                        axpy(&mut column[k + 1..end], &left[k * m + k + 1..k * m + end], factor);
                    }
                }
            }
            let (rest, depth) = (m - end, end - first);
            let mut upper = [0.0; DEPTH * 4];
            // Four columns at a time are read out of the array that is written.
            for strip in (0..rest).step_by(4) {
                let width = 4.min(rest - strip);
                for j in 0..width {
                    upper[j * DEPTH..j * DEPTH + depth].copy_from_slice(&right[(strip + j) * m + first..(strip + j) * m + end]);
                }
                let (from, to) = (Panel { at: first * m + end, stride: m }, Panel { at: strip * m + end, stride: m });
                subtract_product((rest, width, depth), (left, from), |i, j| upper[j * DEPTH + i], (right, to));
            }
        }
        first = end;
    }
    true
}

/// The same for a symmetric front, of which the lower triangle counts: A = L L'.
fn eliminate_symmetric(a: &mut [f64], m: usize, p: usize) -> bool {
    let mut first = 0;
    while first < p {
        let end = (first + DEPTH).min(p);
        for k in first..end {
            let (left, right) = a.split_at_mut((k + 1) * m);
            let column = &mut left[k * m..];
            // What is not a number is not sound either.
            if column[k].is_nan() || column[k] <= 0.0 {
                return false;
            }
            let root = column[k].sqrt();
            let inverse = 1.0 / root;
            column[k] = root;
            column[k + 1..].iter_mut().for_each(|x| *x *= inverse);
            for (j, other) in right.chunks_exact_mut(m).take(end - k - 1).enumerate() {
                let row = k + 1 + j;
                axpy(&mut other[row..], &column[row..], column[row]);
            }
        }
        if end < m {
            let (left, right) = a.split_at_mut(end * m);
            let (rest, depth) = (m - end, end - first);
            for strip in (0..rest).step_by(4) {
                let width = 4.min(rest - strip);
                let row = end + strip;
                let (from, to) = (Panel { at: first * m + row, stride: m }, Panel { at: strip * m + row, stride: m });
                subtract_product((m - row, width, depth), (left, from), |i, j| left[(first + i) * m + row + j], (right, to));
            }
        }
        first = end;
    }
    true
}

#[cfg(test)]
mod tests;
