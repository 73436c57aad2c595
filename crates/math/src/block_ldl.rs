//! Sparse LDL' with whole blocks for pivots, theory (9.11): the factor of a mechanism that is solved many times and asked nothing else.
//!
//! Where [`crate::ldl::Factor`] keeps scalar columns for half solves and sparse right-hand sides, this keeps A_kk^-1 and A_ik A_kk^-1 in place of the
//! matrix: half the memory, and products of small squares instead of triangular solves. Along a chain of joints of one size the column at hand stays
//! in registers. Nothing here allocates after construction.

mod lanes;
mod square;

pub use lanes::LANES;
use square::{SETTLED_EVERY, Split};
pub(crate) use square::{dot, read, settled, through, times};

use crate::block_sparse::BlockSparse;
use crate::ldl::{LdlError, Pivots, Redundant, load};
use crate::symbolic::{Column, Symbolic};
use std::sync::Arc;

/// Most rows of a node: those of any joint.
pub const WIDEST: usize = 6;

/// Calls a function that is generic over the rows of a node with a number known only now; nodes without rows have nothing to do.
macro_rules! by_width {
    ($size:expr, $otherwise:expr, $this:ident . $name:ident ( $($argument:expr),* )) => {
        match $size {
            1 => $this.$name::<1>($($argument),*),
            2 => $this.$name::<2>($($argument),*),
            3 => $this.$name::<3>($($argument),*),
            4 => $this.$name::<4>($($argument),*),
            5 => $this.$name::<5>($($argument),*),
            6 => $this.$name::<6>($($argument),*),
            _ => $otherwise,
        }
    };
}
pub(crate) use by_width;

/// Columns that follow each other, each linked to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// Scalar rows of its nodes.
    pub(crate) size: usize,
    /// Where the numbers of its first column begin; those of one follow another.
    at: usize,
    /// The first of its scalar rows in the order of elimination.
    row: usize,
}

/// Whether a column has one block below it, in the next column and of the same size.
pub(crate) fn find_links(symbolic: &Symbolic) -> Vec<bool> {
    let links = |(place, column): (usize, &Column)| match symbolic.below(column) {
        [only] => only.position == place + 1 && only.size == column.size,
        _ => false,
    };
    symbolic.columns.iter().enumerate().map(links).collect()
}

/// Runs of linked columns: pairs of such as need no other column before them, and the rest.
pub(crate) fn find_runs(symbolic: &Symbolic, linked: &[bool]) -> (Vec<[Run; 2]>, Vec<Run>) {
    let columns = &symbolic.columns;
    let mut children = vec![0; columns.len()];
    for place in 0..columns.len() {
        if let Some(up) = symbolic.parent_position(place) {
            children[up] += 1;
        }
    }
    let (mut pairs, mut others) = (Vec::new(), Vec::new());
    let mut single: Option<Run> = None;
    let (mut first, mut row) = (0, 0);
    for last in 0..columns.len() {
        if linked[last] {
            continue;
        }
        let run = Run { first, last, size: columns[last].size, at: columns[first].pivot_at, row };
        row += run.size * (last + 1 - first);
        // A column inside a run has the one before it as a child.
        let hangs = (first..=last).any(|place| children[place] > usize::from(place > first));
        match single {
            _ if hangs => others.push(run),
            Some(other) if other.size == run.size => {
                pairs.push([other, run]);
                single = None;
            }
            Some(other) => {
                others.push(other);
                single = Some(run);
            }
            None => single = Some(run),
        }
        first = last + 1;
    }
    others.extend(single);
    others.sort_unstable_by_key(|run| run.first);
    (pairs, others)
}

/// The numeric factor over a [`Symbolic`] whose nodes have at most [`WIDEST`] rows; zero until the first success and after a failure.
#[derive(Clone, Debug)]
pub struct BlockFactor {
    symbolic: Arc<Symbolic>,
    /// Columns in order of elimination: A_kk^-1 of what is left at the pivot, then the panel A_ik A_kk^-1.
    values: Vec<f64>,
    /// |a_rr| by scalar row in the order of elimination, before it.
    diagonal: Vec<f64>,
    /// The panel of the column at hand, as the matrix left it.
    panel: Vec<f64>,
    /// First scalar row of each column in a vector.
    starts: Vec<u32>,
    /// The scalar row in a vector of every row of every panel, and where those of each column begin.
    rows: Vec<u32>,
    rows_at: Vec<u32>,
    /// Branches of the elimination tree that hang on nothing, two and two of one size: neither waits for the other, so both are worked at once.
    pairs: Vec<[Run; 2]>,
    /// All other columns, in order.
    others: Vec<Run>,
    redundant: Vec<Redundant>,
}

impl BlockFactor {
    /// Room for a factor; `None` where a node has more rows than [`WIDEST`].
    pub fn new(symbolic: Arc<Symbolic>) -> Option<Self> {
        if symbolic.columns.iter().any(|column| column.size > WIDEST) {
            return None;
        }
        let linked = find_links(&symbolic);
        let (pairs, others) = find_runs(&symbolic, &linked);
        let starts = symbolic.columns.iter().map(|column| column.start as u32).collect();
        let (mut rows, mut rows_at) = (Vec::new(), vec![0]);
        for column in &symbolic.columns {
            rows.extend(symbolic.below(column).iter().flat_map(|block| block.start as u32..(block.start + block.size) as u32));
            rows_at.push(rows.len() as u32);
        }
        let panel = symbolic.columns.iter().map(|column| column.panel_end - column.panel_at).max().unwrap_or(0);
        Some(BlockFactor {
            values: vec![0.0; symbolic.values],
            diagonal: vec![0.0; symbolic.pattern.rows()],
            panel: vec![0.0; panel],
            starts,
            rows,
            rows_at,
            pairs,
            others,
            redundant: Vec::with_capacity(symbolic.pattern.rows()),
            symbolic,
        })
    }
    /// The analysis behind it.
    pub fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }
    /// Rows found redundant by the last factorisation, in order of elimination.
    pub fn redundant(&self) -> &[Redundant] {
        &self.redundant
    }

    /// Factors a matrix over the analysed pattern; after an error every solution is zero.
    pub fn factor(&mut self, matrix: &BlockSparse, pivots: Pivots) -> Result<(), LdlError> {
        let symbolic = Arc::clone(&self.symbolic);
        if !Arc::ptr_eq(matrix.pattern(), &symbolic.pattern) && matrix.pattern() != &symbolic.pattern {
            self.values.fill(0.0);
            return Err(LdlError::PatternMismatch);
        }
        self.factor_with(pivots, |values| load(&symbolic, matrix.values(), values))
    }
    /// Factors a matrix that `write` puts, block by block, where [`Symbolic::place`] says, into numbers that are zero before. Of a block on the diagonal
    /// the lower triangle is read. After an error every solution is zero.
    pub fn factor_with(&mut self, pivots: Pivots, write: impl FnOnce(&mut [f64])) -> Result<(), LdlError> {
        self.values.fill(0.0);
        write(&mut self.values);
        self.redundant.clear();
        let symbolic = Arc::clone(&self.symbolic);
        let (pairs, others) = (std::mem::take(&mut self.pairs), std::mem::take(&mut self.others));
        let mut largest = 0.0f64;
        for run in pairs.iter().flatten().chain(&others) {
            largest = by_width!(run.size, largest, self.note_diagonal(run, largest));
        }
        let floor = if largest > 0.0 { largest } else { 1.0 };
        let outcome = self.eliminate_all(&symbolic, &pairs, &others, pivots, floor);
        (self.pairs, self.others) = (pairs, others);
        if outcome.is_err() {
            self.values.fill(0.0);
            self.redundant.clear();
        }
        // Pairs are taken out of order.
        self.redundant.sort_unstable_by_key(|r| (symbolic.position(r.node), r.row));
        outcome
    }

    /// Keeps the diagonal of a run; returns its largest entry, or `largest`.
    fn note_diagonal<const N: usize>(&mut self, run: &Run, mut largest: f64) -> f64 {
        let rows = self.diagonal[run.row..].as_chunks_mut::<N>().0.iter_mut().take(run.last + 1 - run.first);
        let mut at = run.at;
        for rows in rows {
            let own = &self.values[at..][..N * N];
            for r in 0..N {
                rows[r] = own[r * (N + 1)].abs();
                largest = largest.max(rows[r]);
            }
            at += 2 * N * N;
        }
        largest
    }

    fn eliminate_all(
        &mut self,
        symbolic: &Symbolic,
        pairs: &[[Run; 2]],
        others: &[Run],
        pivots: Pivots,
        floor: f64,
    ) -> Result<(), LdlError> {
        for pair in pairs {
            by_width!(pair[0].size, Ok(()), self.eliminate_pair(symbolic, pair, pivots, floor))?;
        }
        for run in others {
            for k in 0..=run.last - run.first {
                by_width!(run.size, Ok(()), self.eliminate(symbolic, run, k, pivots, floor))?;
            }
        }
        Ok(())
    }
    fn eliminate_pair<const N: usize>(
        &mut self,
        symbolic: &Symbolic,
        [a, b]: &[Run; 2],
        pivots: Pivots,
        floor: f64,
    ) -> Result<(), LdlError> {
        for k in 0..=(a.last - a.first).max(b.last - b.first) {
            for run in [a, b] {
                if run.first + k <= run.last {
                    self.eliminate::<N>(symbolic, run, k, pivots, floor)?;
                }
            }
        }
        Ok(())
    }

    /// x := A^-1 x; panics where x has not one entry for each scalar row of the matrix.
    pub fn solve(&self, x: &mut [f64]) {
        assert_eq!(x.len(), self.symbolic.pattern.rows(), "a vector has one entry for each scalar row of the matrix");
        for pair in &self.pairs {
            by_width!(pair[0].size, (), self.forward_pair(pair, x));
        }
        for run in &self.others {
            by_width!(run.size, (), self.forward(run, x));
        }
        for run in self.others.iter().rev() {
            by_width!(run.size, (), self.backward(run, x));
        }
        for pair in self.pairs.iter().rev() {
            by_width!(pair[0].size, (), self.backward_pair(pair, x));
        }
    }

    /// Inverts one pivot, takes the panel through it and its product from the columns after it, theory (9.8), (9.9), (9.11).
    #[inline]
    fn eliminate<const N: usize>(&mut self, symbolic: &Symbolic, run: &Run, k: usize, pivots: Pivots, floor: f64) -> Result<(), LdlError> {
        let (place, at) = (run.first + k, run.at + 2 * N * N * k);
        let linked = place < run.last;
        let panel_end = if linked { at + 2 * N * N } else { symbolic.columns[place].panel_end };
        let (head, later) = self.values.split_at_mut(panel_end);
        let (own, panel) = head[at..].split_at_mut(N * N);
        let (panel, _) = panel.as_chunks_mut::<N>();
        let Some(own) = own.as_chunks_mut::<N>().0.first_chunk_mut::<N>() else { return Ok(()) };
        let diagonal = &self.diagonal[run.row + N * k..][..N];
        let redundant = &mut self.redundant;
        let accept =
            |row: usize, value: f64| pivots.accept(Redundant { node: symbolic.order[place], row }, value, diagonal[row], floor, redundant);

        let split = Split::of(own, accept)?;
        if linked {
            // The whole panel is one square, and the next pivot is right behind it.
            let next = later[..N * N].as_chunks_mut::<N>().0.first_chunk_mut::<N>();
            if let (Some(panel), Some(next)) = (panel.first_chunk_mut::<N>(), next) {
                split.take(panel, next);
            }
            *own = split.inverse();
            return Ok(());
        }
        let inverse = split.inverse();
        *own = inverse;
        let (before, _) = self.panel[..panel.len() * N].as_chunks_mut::<N>();
        before.copy_from_slice(panel);
        for (row, before) in panel.iter_mut().zip(before.iter()) {
            *row = times(before, &inverse);
        }
        let below = symbolic.below(&symbolic.columns[place]);
        for (k, block) in below.iter().enumerate() {
            let target = &symbolic.columns[block.position];
            let width = block.size;
            let across = &before[block.panel_row..][..width];
            // struct(k) beyond j is part of struct(j): both rise, so one walk finds every target.
            let mut candidates = symbolic.below(target).iter();
            for (m, row) in below[k..].iter().enumerate() {
                let at = if m == 0 {
                    target.pivot_at
                } else {
                    let Some(found) = candidates.find(|candidate| candidate.position == row.position) else { break };
                    target.panel_at + found.panel_row * width
                };
                let out = &mut later[at - panel_end..][..row.size * width];
                let rows = &panel[row.panel_row..][..row.size];
                for (out, row) in out.chunks_exact_mut(width.max(1)).zip(rows) {
                    for (value, across) in out.iter_mut().zip(across) {
                        *value -= dot(row, across);
                    }
                }
            }
        }
        Ok(())
    }

    /// One link of a run forward: takes the rows of a column, whose numbers begin at `at`, from those of the next, and returns these.
    #[inline(always)]
    fn link_forward<const N: usize>(&self, place: usize, at: usize, own: [f64; N], x: &mut [f64]) -> [f64; N] {
        let (panel, _) = self.values[at + N * N..][..N * N].as_chunks::<N>();
        let next = &mut x[self.starts[place + 1] as usize..][..N];
        let mut then = [0.0; N];
        for r in 0..N {
            then[r] = next[r] - dot(&panel[r], &own);
        }
        if place.is_multiple_of(SETTLED_EVERY) {
            then = settled(then);
        }
        next.copy_from_slice(&then);
        then
    }
    /// The last column of a run forward: takes its rows from all below.
    #[inline(always)]
    fn end_forward<const N: usize>(&self, place: usize, own: [f64; N], x: &mut [f64]) {
        let column = &self.symbolic.columns[place];
        let (panel, _) = self.values[column.panel_at..column.panel_end].as_chunks::<N>();
        for (row, &below) in panel.iter().zip(&self.rows[self.rows_at[place] as usize..]) {
            x[below as usize] -= dot(row, &own);
        }
    }
    #[inline]
    fn forward<const N: usize>(&self, run: &Run, x: &mut [f64]) {
        let mut own = settled(read::<N>(x, self.starts[run.first] as usize));
        let mut at = run.at;
        for place in run.first..run.last {
            own = self.link_forward(place, at, own, x);
            at += 2 * N * N;
        }
        self.end_forward(run.last, own, x);
    }
    #[inline]
    fn forward_pair<const N: usize>(&self, [a, b]: &[Run; 2], x: &mut [f64]) {
        let [first_a, first_b] = [a.at, b.at];
        let (mut own_a, mut own_b) = (read::<N>(x, self.starts[a.first] as usize), read::<N>(x, self.starts[b.first] as usize));
        let both = (a.last - a.first).min(b.last - b.first);
        for k in 0..both {
            own_a = self.link_forward(a.first + k, first_a + 2 * N * N * k, own_a, x);
            own_b = self.link_forward(b.first + k, first_b + 2 * N * N * k, own_b, x);
        }
        for (run, first, mut own) in [(a, first_a, own_a), (b, first_b, own_b)] {
            for k in both..run.last - run.first {
                own = self.link_forward(run.first + k, first + 2 * N * N * k, own, x);
            }
            self.end_forward(run.last, own, x);
        }
    }

    /// One link of a run backward: solves a column, whose numbers begin at `at`, for its own rows from those of the next.
    #[inline(always)]
    fn link_backward<const N: usize>(&self, place: usize, at: usize, next: [f64; N], x: &mut [f64]) -> [f64; N] {
        let (squares, _) = self.values[at..][..2 * N * N].as_chunks::<N>();
        let (pivot, panel) = squares.split_at(N);
        let rows = &mut x[self.starts[place] as usize..][..N];
        let mut sums = [through(pivot, rows), [0.0; N]];
        for r in 0..N {
            for c in 0..N {
                sums[r % 2][c] -= panel[r][c] * next[r];
            }
        }
        let mut own = [0.0; N];
        for c in 0..N {
            own[c] = sums[0][c] + sums[1][c];
        }
        let settled = settled(own);
        rows.copy_from_slice(&settled);
        // What is carried on need not wait for it every time.
        if place.is_multiple_of(SETTLED_EVERY) { settled } else { own }
    }
    /// The last column of a run backward: solves it for its own rows from all below.
    #[inline(always)]
    fn end_backward<const N: usize>(&self, place: usize, x: &mut [f64]) -> [f64; N] {
        let column = &self.symbolic.columns[place];
        let (squares, _) = self.values[column.pivot_at..column.panel_end].as_chunks::<N>();
        let (pivot, panel) = squares.split_at(N);
        let mut own = through(pivot, &x[column.start..][..N]);
        for (row, &below) in panel.iter().zip(&self.rows[self.rows_at[place] as usize..]) {
            let value = x[below as usize];
            for c in 0..N {
                own[c] -= row[c] * value;
            }
        }
        own = settled(own);
        x[column.start..][..N].copy_from_slice(&own);
        own
    }
    #[inline]
    fn backward<const N: usize>(&self, run: &Run, x: &mut [f64]) {
        let first = run.at;
        let mut own = self.end_backward::<N>(run.last, x);
        for k in (0..run.last - run.first).rev() {
            own = self.link_backward(run.first + k, first + 2 * N * N * k, own, x);
        }
    }
    #[inline]
    fn backward_pair<const N: usize>(&self, [a, b]: &[Run; 2], x: &mut [f64]) {
        let [first_a, first_b] = [a.at, b.at];
        let both = (a.last - a.first).min(b.last - b.first);
        let (mut own_a, mut own_b) = (self.end_backward::<N>(a.last, x), self.end_backward::<N>(b.last, x));
        for k in (both..a.last - a.first).rev() {
            own_a = self.link_backward(a.first + k, first_a + 2 * N * N * k, own_a, x);
        }
        for k in (both..b.last - b.first).rev() {
            own_b = self.link_backward(b.first + k, first_b + 2 * N * N * k, own_b, x);
        }
        for k in (0..both).rev() {
            own_a = self.link_backward(a.first + k, first_a + 2 * N * N * k, own_a, x);
            own_b = self.link_backward(b.first + k, first_b + 2 * N * N * k, own_b, x);
        }
    }
}
