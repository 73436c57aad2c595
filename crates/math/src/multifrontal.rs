//! Multifrontal factor of I + B for a block matrix B over a graph that changes often, theory (9.22)-(9.24).
//!
//! Pivots are taken in order: the matrices it is for have a positive symmetric part, or nearly so. [`Multifrontal::factor`] says where one
//! is not sound. A and A' are solved; the symmetric factor costs half. Nothing allocates once the largest problem has been met.

use crate::elimination::{Elimination, NONE};
use crate::front::{diagonal, eliminate, lower, lower_transposed, upper, upper_transposed};
#[cfg(target_arch = "x86_64")]
use crate::processor::fused;

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
    /// Rows in the order of elimination, and those of a front that others eliminate.
    ordered: Vec<f64>,
    rest: Vec<f64>,
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

    /// Whether [`Multifrontal::add_lines`] takes rows at a slot: of a symmetric matrix what lies above the diagonal is kept below it, transposed.
    #[inline(always)]
    pub fn takes_rows(&self, slot: Slot) -> bool {
        self.symmetric && !slot.lower
    }

    /// Adds B x B numbers at (a, b) of a slot, by columns unless [`Multifrontal::takes_rows`] says rows.
    #[inline(always)]
    pub fn add_lines<const B: usize>(&mut self, slot: Slot, lines: &[[f64; B]; B]) {
        self.add_at(if self.takes_rows(slot) { slot.opposite } else { slot.at }, slot.stride, lines);
    }

    /// Adds B x B numbers by columns at (b, a) of a slot, unless the matrix is symmetric.
    #[inline(always)]
    pub fn add_lines_opposite<const B: usize>(&mut self, slot: Slot, lines: &[[f64; B]; B]) {
        if !self.symmetric {
            self.add_at(slot.opposite, slot.stride, lines);
        }
    }

    #[inline(always)]
    fn add_at<const B: usize>(&mut self, at: usize, stride: usize, lines: &[[f64; B]; B]) {
        for (k, line) in lines.iter().enumerate() {
            let Some(to) = self.values[at + k * stride..].first_chunk_mut::<B>() else { return };
            for i in 0..B {
                to[i] += line[i];
            }
        }
    }

    /// Factors what was added; false where a pivot is not sound.
    pub fn factor(&mut self) -> bool {
        self.factors += 1;
        #[cfg(target_arch = "x86_64")]
        if fused() {
            // The function is the safe one below, compiled for features that were just found.
            #[allow(unsafe_code)]
            return unsafe { factor_fused(&self.elimination, &mut self.values, self.symmetric) };
        }
        factor_fronts::<false>(&self.elimination, &mut self.values, self.symmetric)
    }

    /// Solves A x = b in place; rows by node.
    pub fn solve(&mut self, x: &mut [f64]) {
        self.substitute(x, false);
    }

    /// Solves A' x = b in place.
    pub fn solve_transpose(&mut self, x: &mut [f64]) {
        self.substitute(x, true);
    }

    /// The same of either, A or A', where the factor is shared: with room of the caller's own.
    pub fn solve_in(&self, x: &mut [f64], transposed: bool, room: &mut [Vec<f64>; 2]) {
        let [ordered, rest] = room;
        self.substitute_in(x, transposed, ordered, rest);
    }

    fn substitute(&mut self, x: &mut [f64], transposed: bool) {
        let (mut ordered, mut rest) = (std::mem::take(&mut self.ordered), std::mem::take(&mut self.rest));
        self.substitute_in(x, transposed, &mut ordered, &mut rest);
        (self.ordered, self.rest) = (ordered, rest);
    }

    fn substitute_in(&self, x: &mut [f64], transposed: bool, ordered: &mut Vec<f64>, rest: &mut Vec<f64>) {
        let e = &self.elimination;
        ordered.clear();
        for &node in &e.node {
            ordered.extend_from_slice(&x[e.start[node as usize]..e.start[node as usize + 1]]);
        }
        let way = if self.symmetric {
            Way::Symmetric
        } else if transposed {
            Way::Transposed
        } else {
            Way::Straight
        };
        substitute(e, &self.values, way, ordered, rest);
        let mut from = &ordered[..];
        for &node in &e.node {
            let to = &mut x[e.start[node as usize]..e.start[node as usize + 1]];
            let (head, tail) = from.split_at(to.len());
            to.copy_from_slice(head);
            from = tail;
        }
    }
}

/// Which matrix is solved with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A = L D L'.
    Symmetric,
    /// A = L U.
    Straight,
    /// A' = U' L'.
    Transposed,
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn factor_fused(e: &Elimination, values: &mut [f64], symmetric: bool) -> bool {
    factor_fronts::<true>(e, values, symmetric)
}

/// Eliminates front after front, each added to its parent.
#[inline(always)]
fn factor_fronts<const FUSED: bool>(e: &Elimination, values: &mut [f64], symmetric: bool) -> bool {
    for front in &e.fronts {
        let (m, p) = (front.rows, front.pivot_rows);
        let (head, later) = values.split_at_mut(front.at + m * m);
        let own = &mut head[front.at..];
        if !eliminate::<FUSED>(own, m, p, symmetric) {
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
            let width = e.size_at(i);
            let rows = if symmetric { i } else { left.start };
            for j in rows..left.end {
                let (row, onto) = (e.local[j] as usize, e.relative[j] as usize);
                let height = e.size_at(j);
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

fn substitute(e: &Elimination, values: &[f64], way: Way, x: &mut [f64], rest: &mut Vec<f64>) {
    #[cfg(target_arch = "x86_64")]
    if fused() {
        // As for the factor.
        #[allow(unsafe_code)]
        unsafe {
            substitute_fused(e, values, way, x, rest)
        };
        return;
    }
    substitute_fronts::<false>(e, values, way, x, rest);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn substitute_fused(e: &Elimination, values: &[f64], way: Way, x: &mut [f64], rest: &mut Vec<f64>) {
    substitute_fronts::<true>(e, values, way, x, rest);
}

/// Substitutes up the tree of fronts and down again; rows in the order of elimination, so that those of a front's pivots are neighbours.
#[inline(always)]
fn substitute_fronts<const FUSED: bool>(e: &Elimination, values: &[f64], way: Way, x: &mut [f64], rest: &mut Vec<f64>) {
    for front in &e.fronts {
        let (m, p) = (front.rows, front.pivot_rows);
        let a = &values[front.at..front.at + m * m];
        let left = front.first + front.pivots..front.end;
        gather(e, left.clone(), x, rest);
        let pivots = &mut x[front.row..front.row + p];
        if way == Way::Transposed {
            upper_transposed::<FUSED>(a, m, pivots, rest);
        } else {
            lower::<FUSED>(a, m, pivots, rest);
        }
        let mut from = 0;
        for i in left {
            let to = &mut x[e.row_at(i)..][..e.size_at(i)];
            to.iter_mut().zip(&rest[from..]).for_each(|(to, x)| *to = *x);
            from += to.len();
        }
    }
    for front in e.fronts.iter().rev() {
        let (m, p) = (front.rows, front.pivot_rows);
        let a = &values[front.at..front.at + m * m];
        gather(e, front.first + front.pivots..front.end, x, rest);
        let pivots = &mut x[front.row..front.row + p];
        match way {
            Way::Straight => upper::<FUSED>(a, m, pivots, rest),
            Way::Transposed => lower_transposed::<FUSED>(a, m, pivots, rest),
            Way::Symmetric => {
                diagonal(a, m, pivots);
                lower_transposed::<FUSED>(a, m, pivots, rest);
            }
        }
    }
}

/// The rows of a front that others eliminate.
#[inline(always)]
fn gather(e: &Elimination, left: std::ops::Range<usize>, x: &[f64], rest: &mut Vec<f64>) {
    rest.clear();
    for i in left {
        rest.extend(x[e.row_at(i)..][..e.size_at(i)].iter().copied());
    }
}

#[cfg(test)]
mod tests;
