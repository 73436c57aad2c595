//! Pairs of boxes that overlap: rows of boxes of like size, each swept along the axis of largest spread, theory (7.15), (7.19).
//!
//! One sweep alone meets, for every box, all those beside it in the other directions: in a crowd of n in space some n^(2/3). So the boxes are put into rows
//! along the axis of the sweep, as wide as the largest of their size, and a row is swept with itself and its neighbours alone. A row of small
//! boxes meets larger ones where these pass through it. Work grows with boxes and pairs, whatever the sizes.

use crate::bounds::Aabb;
use carom_math::{Space, Vector};
use std::ops::Range;

/// Insertion sort gives up for a full sort after this many moves per box: then the boxes are not nearly in order.
const MOVES_PER_BOX: usize = 4;

/// Boxes up to which one row holds all of them, in the plane and in space: there a sweep costs less than dividing it.
const ONE_ROW: [usize; 2] = [8000, 2500];

/// Bits of a cell in the name of its row.
const CELL_BITS: u32 = 27;
/// Cells beyond this number from the origin are one: there boxes are sought among more than their neighbours.
const FARTHEST: f64 = ((1u64 << (CELL_BITS - 1)) - 2) as f64;
/// Added to exponents, so that all of them are positive.
const EXPONENTS: i32 = 1022;

/// The name of a row, the boxes of one size class in one cell of the plane across the sweep: size, then its cell along each axis but that of the sweep. Rows
/// are ordered by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row(u64);

impl Row {
    /// Of cells 2^size wide; `size` is even.
    fn new(size: i32, [line, cell]: [u64; 2]) -> Self {
        Row(((size + EXPONENTS) as u64 >> 1) << (2 * CELL_BITS) | line << CELL_BITS | cell)
    }
    fn size(self) -> i32 {
        ((self.0 >> (2 * CELL_BITS)) << 1) as i32 - EXPONENTS
    }
    fn line(self) -> u64 {
        self.0 >> CELL_BITS & ((1 << CELL_BITS) - 1)
    }
    fn cell(self) -> u64 {
        self.0 & ((1 << CELL_BITS) - 1)
    }
    /// The row so many lines and cells on.
    fn beside(self, lines: i64, cells: i64) -> Self {
        Row(self.0.wrapping_add_signed((lines << CELL_BITS) + cells))
    }
}

/// What stands in a row.
#[derive(Clone, Debug)]
struct Span {
    row: Row,
    /// Places of its entries.
    places: Range<usize>,
    /// Length of its longest box along the sweep.
    longest: f64,
}

/// A box on its way through the sweep.
#[derive(Clone, Copy, Debug)]
struct Entry<S: Space> {
    row: Row,
    index: usize,
    bounds: Aabb<S>,
}

/// Finds overlapping pairs; keeps the order of the last call, so that a scene that moved little is sorted in linear time.
#[derive(Clone, Debug)]
pub struct Broadphase<S: Space> {
    /// Bounded boxes, ascending by row and then along the axis as of the last call.
    entries: Vec<Entry<S>>,
    /// Rows in order.
    rows: Vec<Span>,
    /// Row, lower end, index and place of every box, and room for all of them in another order.
    names: Vec<(Row, i64, u32, u32)>,
    moved: Vec<Entry<S>>,
    /// Boxes that reach to infinity somewhere (or are not numbers): tested against all.
    unbounded: Vec<usize>,
    axis: usize,
    one_row: usize,
}

impl<S: Space> Default for Broadphase<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Space> Broadphase<S> {
    /// Without a past.
    pub fn new() -> Self {
        Self::in_rows_from(ONE_ROW[S::DIM - 2])
    }
    fn in_rows_from(one_row: usize) -> Self {
        let (names, moved) = (Vec::new(), Vec::new());
        Broadphase { entries: Vec::new(), rows: Vec::new(), names, moved, unbounded: Vec::new(), axis: 0, one_row }
    }

    /// Fills `out` (cleared first) with every pair i < j of boxes that share a point and pass the filter, ascending by (i, j)
    /// whatever the calls before. The filter is a predicate: it is asked once per overlapping pair, in no particular order.
    pub fn pairs(&mut self, boxes: &[Aabb<S>], mut filter: impl FnMut(usize, usize) -> bool, out: &mut Vec<(usize, usize)>) {
        out.clear();
        let mut take = |i: usize, j: usize| {
            let pair = (i.min(j), i.max(j));
            if filter(pair.0, pair.1) {
                out.push(pair);
            }
        };
        self.refresh(boxes);
        self.sort();
        self.find_rows();
        self.tests(|a, b| {
            if a.bounds.overlaps(&b.bounds) {
                take(a.index, b.index);
            }
        });
        for (k, &i) in self.unbounded.iter().enumerate() {
            for &j in &self.unbounded[k + 1..] {
                if boxes[i].overlaps(&boxes[j]) {
                    take(i, j);
                }
            }
            for entry in &self.entries {
                if boxes[i].overlaps(&entry.bounds) {
                    take(i, entry.index);
                }
            }
        }
        out.sort_unstable();
    }

    /// Takes the new boxes in the old order (or in theirs, when not the same boxes are bounded) and chooses the axis and the rows.
    fn refresh(&mut self, boxes: &[Aabb<S>]) {
        let is_bounded = |b: &Aabb<S>| b.min.is_finite() && b.max.is_finite();
        self.unbounded.clear();
        self.unbounded.extend((0..boxes.len()).filter(|&i| !is_bounded(&boxes[i])));
        let count = boxes.len() - self.unbounded.len();
        // Summed in the order of the boxes, not of the sweep, so that the axis does not depend on the past. Ties: the first axis.
        let middle = |b: &Aabb<S>| (b.min + b.max) * 0.5;
        let bounded = || boxes.iter().filter(|b| is_bounded(b)).map(middle);
        let weight = 1.0 / (count.max(1) as f64);
        let mean = bounded().fold(S::Lin::zero(), |sum, m| sum + m * weight);
        let spread = bounded().map(|m| m - mean).fold(S::Lin::zero(), |sum, d| sum + d.scale(d));
        self.axis = (1..S::DIM).fold(0, |best, k| if spread[k] > spread[best] { k } else { best });
        let same = self.entries.len() == count && self.entries.iter().all(|e| boxes.get(e.index).is_some_and(is_bounded));
        let (axis, divided) = (self.axis, count > self.one_row);
        let entry = |index: usize| {
            let bounds = boxes[index];
            Entry { row: if divided { row_of(&bounds, axis) } else { Row(0) }, index, bounds }
        };
        if same {
            self.entries.iter_mut().for_each(|old| *old = entry(old.index));
        } else {
            self.entries.clear();
            self.entries.extend((0..boxes.len()).filter(|&i| is_bounded(&boxes[i])).map(entry));
        }
    }

    /// Ascending by row, then by lower end, then by index.
    fn sort(&mut self) {
        let axis = self.axis;
        let before = |a: &Entry<S>, b: &Entry<S>| {
            let (x, y) = (a.bounds.min[axis], b.bounds.min[axis]);
            a.row < b.row || (a.row == b.row && (x < y || (x == y && a.index < b.index)))
        };
        let mut budget = MOVES_PER_BOX * self.entries.len();
        for k in 1..self.entries.len() {
            let entry = self.entries[k];
            let mut hole = k;
            while hole > 0 && before(&entry, &self.entries[hole - 1]) {
                self.entries[hole] = self.entries[hole - 1];
                hole -= 1;
            }
            self.entries[hole] = entry;
            if k - hole > budget {
                self.sort_anew();
                return;
            }
            budget -= k - hole;
        }
    }

    /// The same without a past: names are sorted, and each box is moved once.
    fn sort_anew(&mut self) {
        let Broadphase { entries, names, moved, axis, .. } = self;
        names.clear();
        names.extend(entries.iter().enumerate().map(|(place, e)| (e.row, ordered(e.bounds.min[*axis]), e.index as u32, place as u32)));
        names.sort_unstable();
        moved.clear();
        moved.extend(names.iter().map(|&(_, _, _, place)| entries[place as usize]));
        std::mem::swap(entries, moved);
    }

    /// Where each row begins and ends.
    fn find_rows(&mut self) {
        self.rows.clear();
        let mut first = 0;
        while first < self.entries.len() {
            let row = self.entries[first].row;
            let own = self.entries[first..].iter().take_while(|entry| entry.row == row);
            let length = |entry: &Entry<S>| entry.bounds.max[self.axis] - entry.bounds.min[self.axis];
            let (count, longest) = own.fold((0, 0.0), |(count, longest), entry| (count + 1, f64::max(longest, length(entry))));
            self.rows.push(Span { row, places: first..first + count, longest });
            first += count;
        }
    }

    /// Has every pair of bounded boxes that may overlap tested, once.
    fn tests(&self, mut test: impl FnMut(&Entry<S>, &Entry<S>)) {
        let axis = self.axis;
        // Neighbours are sought behind a row: in its own line of cells the next one, in the next line three. Both move on as the rows do.
        let mut next_line = 0;
        for (number, Span { row, places, .. }) in self.rows.iter().enumerate() {
            let own = &self.entries[places.clone()];
            for (k, low) in own.iter().enumerate() {
                let end = low.bounds.max[axis];
                own[k + 1..].iter().take_while(|high| high.bounds.min[axis] <= end).for_each(|high| test(low, high));
            }
            if let Some(other) = self.rows.get(number + 1).filter(|other| other.row == row.beside(0, 1)) {
                merge(own, &self.entries[other.places.clone()], axis, &mut test);
            }
            let [from, to] = [row.beside(1, -1), row.beside(1, 1)];
            while next_line < self.rows.len() && self.rows[next_line].row < from {
                next_line += 1;
            }
            for other in self.rows[next_line..].iter().take_while(|other| other.row <= to) {
                merge(own, &self.entries[other.places.clone()], axis, &mut test);
            }
        }
        self.pass_through(&mut test);
    }

    /// Larger boxes against the rows of smaller ones that they pass through.
    fn pass_through(&self, test: &mut impl FnMut(&Entry<S>, &Entry<S>)) {
        let mut first = 0;
        while let Some(size) = self.rows.get(first).map(|span| span.row.size()) {
            let end = first + self.rows[first..].partition_point(|span| span.row.size() == size);
            let (rows, behind) = (&self.rows[first..end], self.rows[end - 1].places.end);
            for large in &self.entries[behind..] {
                let [from, to] = cells(&large.bounds, self.axis, size);
                // Boxes of a row reach one cell beyond it.
                let from = from.map(|cell| cell - 1);
                let mut at = rows.partition_point(|span| span.row < Row::new(size, from));
                while let Some(span) = rows.get(at).filter(|span| span.row.line() <= to[0]) {
                    let (line, cell) = (span.row.line(), span.row.cell());
                    if (from[1]..=to[1]).contains(&cell) {
                        self.pass_row(large, span, test);
                        at += 1;
                    } else {
                        // On to where the large box is met in this line of cells, or in the next.
                        let next = Row::new(size, [if cell > to[1] { line + 1 } else { line }, from[1]]);
                        at += rows[at..].partition_point(|span| span.row < next);
                    }
                }
            }
            first = end;
        }
    }

    /// A larger box against one row, from the first box that can reach it.
    fn pass_row(&self, large: &Entry<S>, span: &Span, test: &mut impl FnMut(&Entry<S>, &Entry<S>)) {
        let (low, high) = (large.bounds.min[self.axis], large.bounds.max[self.axis]);
        // A little earlier, for the rounding of the difference.
        let reach = low - span.longest - 4.0 * f64::EPSILON * (low.abs() + span.longest);
        let row = &self.entries[span.places.clone()];
        let first = row.partition_point(|entry| entry.bounds.min[self.axis] < reach);
        row[first..].iter().take_while(|entry| entry.bounds.min[self.axis] <= high).for_each(|entry| test(large, entry));
    }
}

/// The cells of a size across the axis of the sweep that a box begins and ends in, counted from before the first there are.
fn cells<S: Space>(bounds: &Aabb<S>, axis: usize, size: i32) -> [[u64; 2]; 2] {
    // A power of two divides without rounding, so that boxes that overlap are never more than one cell apart.
    let per_width = 2f64.powi(-size);
    let mut ends = [[1; 2]; 2];
    for (k, across) in (0..S::DIM).filter(|&k| k != axis).enumerate() {
        for (end, corner) in ends.iter_mut().zip([bounds.min, bounds.max]) {
            end[k] = ((corner[across] * per_width).floor().clamp(-FARTHEST, FARTHEST) + (FARTHEST + 1.0)) as u64;
        }
    }
    ends
}

/// The row of a box: its cells are wider than it is, and at most four times so.
fn row_of<S: Space>(bounds: &Aabb<S>, axis: usize) -> Row {
    let across = (0..S::DIM).filter(|&k| k != axis).map(|k| bounds.max[k] - bounds.min[k]);
    let width = across.fold(f64::MIN_POSITIVE, f64::max);
    // Every second power of two: fewer classes of size, and boxes that grow a little stay in theirs.
    let size = ((exponent(width) + 2) & !1).min(f64::MAX_EXP);
    Row::new(size, cells(bounds, axis, size)[0])
}

/// A number that is as large among the whole ones as x is among all.
fn ordered(x: f64) -> i64 {
    let bits = x.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The exponent e of 2^e <= x < 2^(e+1) for a positive normal number.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> (f64::MANTISSA_DIGITS - 1)) as i32 - (f64::MAX_EXP - 1)
}

/// Two rows, each ascending along the axis: every pair of one of each that meets along it.
fn merge<S: Space>(a: &[Entry<S>], b: &[Entry<S>], axis: usize, test: &mut impl FnMut(&Entry<S>, &Entry<S>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (low, others) = if a[i].bounds.min[axis] <= b[j].bounds.min[axis] { (&a[i], &b[j..]) } else { (&b[j], &a[i..]) };
        let end = low.bounds.max[axis];
        others.iter().take_while(|high| high.bounds.min[axis] <= end).for_each(|high| test(low, high));
        if a[i].bounds.min[axis] <= b[j].bounds.min[axis] { i += 1 } else { j += 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_math::{Planar, Spatial};

    struct Random(u64);
    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    fn naive<S: Space>(boxes: &[Aabb<S>]) -> Vec<(usize, usize)> {
        let all = (0..boxes.len()).flat_map(|i| (i + 1..boxes.len()).map(move |j| (i, j)));
        all.filter(|&(i, j)| boxes[i].overlaps(&boxes[j])).collect()
    }

    fn agrees_with_naive<S: Space>() {
        let mut random = Random(3);
        let mut kept = Broadphase::<S>::in_rows_from(100);
        let mut out = Vec::new();
        let mut found = 0;
        for round in 0..200 {
            // Every fourth round has enough of them, of all sizes, for rows.
            let many = round % 4 == 0;
            let count = (random.next() * if many { 600.0 } else { 60.0 }) as usize;
            let squeeze = random.next();
            let mut boxes: Vec<Aabb<S>> = (0..count)
                .map(|_| {
                    let mut b = Aabb::<S>::of_point(S::Lin::zero());
                    for k in 0..S::DIM {
                        // Coarse numbers make touching and equal boxes common.
                        let wide = if many { 100.0 } else { 20.0 };
                        b.min[k] = ((random.next() - 0.5) * wide * if k == round % S::DIM { 1.0 } else { squeeze }).round() * 0.5;
                        let size = if many && random.next() < 0.1 { 60.0 } else { 4.0 };
                        b.max[k] = b.min[k] + (random.next() * size).round() * 0.5;
                    }
                    b
                })
                .collect();
            if count > 4 {
                boxes[1] = Aabb::everything();
                boxes[3].max[0] = f64::INFINITY;
                boxes[4].min[S::DIM - 1] = f64::NAN;
            }
            for _ in 0..3 {
                kept.pairs(&boxes, |_, _| true, &mut out);
                assert_eq!(out, naive(&boxes));
                found += out.len();
                kept.pairs(&boxes, |i, j| (i + j) % 2 == 0, &mut out);
                assert_eq!(out, naive(&boxes).into_iter().filter(|(i, j)| (i + j) % 2 == 0).collect::<Vec<_>>());
                for b in &mut boxes {
                    for k in 0..S::DIM {
                        let shift = (random.next() - 0.5).round() * 0.5;
                        b.min[k] += shift;
                        b.max[k] += shift;
                    }
                }
            }
        }
        assert!(found > 1000, "the boxes must meet: {found}");
    }

    #[test]
    fn planar_pairs_agree_with_naive() {
        agrees_with_naive::<Planar>();
    }

    #[test]
    fn spatial_pairs_agree_with_naive() {
        agrees_with_naive::<Spatial>();
    }

    /// Boxes in flight, about 1 m apart, over one huge box.
    fn crowd<S: Space>(side: usize) -> Vec<Aabb<S>> {
        let mut random = Random(9);
        let count = side.pow(S::DIM as u32);
        let mut boxes: Vec<Aabb<S>> = (0..count)
            .map(|i| {
                let mut place = S::Lin::zero();
                for k in 0..S::DIM {
                    place[k] = (i / side.pow(k as u32) % side) as f64 + 0.9 * random.next();
                }
                Aabb::of_point(place).grown(0.1 + 0.1 * random.next())
            })
            .collect();
        let mut ground = Aabb::<S>::of_point(S::Lin::zero()).grown(10.0 * side as f64);
        ground.max[S::DIM - 1] = 0.0;
        boxes.push(ground);
        boxes
    }

    /// How many boxes of a crowd there are, how many are tested against each other, and the pairs found.
    fn tests_of_a_crowd<S: Space>(side: usize) -> (usize, usize, usize) {
        let boxes = crowd::<S>(side);
        let mut sweep = Broadphase::in_rows_from(100);
        let mut out = Vec::new();
        sweep.pairs(&boxes, |_, _| true, &mut out);
        let tested = std::cell::Cell::new(0);
        sweep.tests(|_, _| tested.set(tested.get() + 1));
        (boxes.len(), tested.get(), out.len())
    }

    #[test]
    fn work_grows_with_boxes_and_pairs() {
        for (name, sizes) in
            [("plane", [30, 100, 300].map(tests_of_a_crowd::<Planar>)), ("space", [10, 21, 44].map(tests_of_a_crowd::<Spatial>))]
        {
            for (boxes, tested, found) in sizes {
                println!("{name}: {boxes} boxes, {tested} tests, {found} pairs");
                assert!(tested < 8 * (boxes + found), "{name}: {tested} tests for {boxes} boxes and {found} pairs");
            }
        }
    }

    /// Time of a call on a crowd that moves a little \[us\], in rows and in one.
    fn times<S: Space>(side: usize) -> [f64; 2] {
        [0, usize::MAX].map(|one_row| {
            let mut random = Random(5);
            let mut boxes = crowd::<S>(side);
            let mut sweep = Broadphase::in_rows_from(one_row);
            let (mut out, mut best) = (Vec::new(), f64::INFINITY);
            for _ in 0..40 {
                for b in &mut boxes {
                    *b = b.grown(1e-4 * (random.next() - 0.5));
                }
                let start = std::time::Instant::now();
                sweep.pairs(&boxes, |_, _| true, &mut out);
                best = best.min(start.elapsed().as_secs_f64() * 1e6);
            }
            best
        })
    }

    #[test]
    #[ignore = "measures time"]
    fn rows_are_worth_it_from_some_number_on() {
        for side in [30, 50, 70, 100, 320] {
            println!("plane, {} boxes: {:.0?} us in rows and in one", side * side, times::<Planar>(side));
        }
        for side in [6, 8, 10, 14, 46] {
            println!("space, {} boxes: {:.0?} us in rows and in one", side * side * side, times::<Spatial>(side));
        }
    }
}
