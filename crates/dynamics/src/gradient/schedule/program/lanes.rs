//! A program run backwards for several cotangents at once, theory (17.50): every map of a few slots is written out as a small matrix first, and its numbers are read
//! once for all of them.

use super::maps::small;
use super::{Block, Element, Program};
use crate::gradient::rows::joint_rows::Angles;
use crate::gradient::system::sparse::Factored;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::widened;

/// Cotangents at once.
pub(crate) const LANES: usize = 8;

/// The slots that a map reads and those it adds to.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    input: Vec<Block>,
    out: Vec<Block>,
}

impl Wires {
    /// Slots that are read.
    pub fn reads(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.input.extend(blocks);
    }
    /// Slots that are added to.
    pub fn writes(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.out.extend(blocks);
    }
}

/// What is left of an element.
#[derive(Clone, Copy, Debug)]
enum Wire {
    /// One slot += the next so many entries.
    Row { out: u32, entries: u32 },
    /// out := -S^-1 in, with this dense factor.
    Dense { out: Block, input: Block, factor: usize },
    /// out := -S^-1 in, with this sparse factor.
    Sparse { out: Block, input: Block, factor: Factored },
    /// An impact, one cotangent at a time.
    Whole(Element),
}

/// A program as matrices alone.
#[derive(Debug)]
pub(crate) struct Wiring<G: Geometry> {
    list: Vec<Wire>,
    /// Entries of all rows, none of them nought: the slot that is read and the number.
    entries: Vec<(u32, f64)>,
    wires: Wires,
    probe: Vec<f64>,
    both: Vec<[f64; LANES]>,
    column: Vec<[f64; LANES]>,
    /// Entries that rows have already.
    written: usize,
    /// Slots for whoever runs it, kept from one run to the next.
    pub slots: Vec<[f64; LANES]>,
    /// Angles of joints at their poses, which many maps share.
    pub angles: Angles<G>,
}

impl<G: Geometry> Default for Wiring<G> {
    fn default() -> Self {
        Wiring {
            list: Vec::new(),
            entries: Vec::new(),
            wires: Wires::default(),
            probe: Vec::new(),
            both: Vec::new(),
            column: Vec::new(),
            written: 0,
            slots: Vec::new(),
            angles: Angles::default(),
        }
    }
}

impl<G: Geometry> Wiring<G> {
    /// A row of a matrix.
    fn row(&mut self, out: usize, entries: impl Iterator<Item = (usize, f64)>) {
        self.entries.extend(entries.filter(|(_, value)| *value != 0.0).map(|(slot, value)| (slot as u32, value)));
        self.end_row(out);
    }

    /// Entries of the row at hand.
    #[inline]
    pub fn add(&mut self, block: Option<Block>, numbers: &[f64]) {
        let Some(block) = block else { return };
        for (slot, &value) in (block.at..).zip(&numbers[..block.len().min(numbers.len())]) {
            if value != 0.0 {
                self.entries.push((slot, value));
            }
        }
    }

    /// The entries since the last row are those of this slot.
    #[inline]
    pub fn end_row(&mut self, out: usize) {
        let entries = (self.entries.len() - self.written) as u32;
        if entries > 0 {
            self.list.push(Wire::Row { out: out as u32, entries });
        }
        self.written = self.entries.len();
    }
}

widened! {
    fn walk_lanes = walk_lanes_wide / walk_lanes_plain [G: Geometry] (program: &mut Program<G>, x: &mut [[f64; LANES]]);
}

#[inline(always)]
fn walk_lanes_plain<G: Geometry>(program: &mut Program<G>, x: &mut [[f64; LANES]]) {
    program.walk_lanes(x);
}

impl<G: Geometry> Program<G> {
    /// Writes the program out as matrices; `false` where it has maps that are worth more as they are.
    pub fn wire(&mut self, model: &Model<G>) -> bool {
        let mut wiring = std::mem::take(&mut self.wiring);
        let done = self.write_out(model, &mut wiring);
        self.wiring = wiring;
        done
    }

    fn write_out(&self, model: &Model<G>, wiring: &mut Wiring<G>) -> bool {
        wiring.list.clear();
        wiring.angles.clear();
        wiring.entries.clear();
        wiring.written = 0;
        wiring.probe.clear();
        wiring.probe.resize(self.slots(), 0.0);
        for element in &self.elements {
            let wires = &mut wiring.wires;
            wires.input.clear();
            wires.out.clear();
            match *element {
                Element::Scaled { out, input, factor } => {
                    for (o, i) in out.range().zip(input.range()) {
                        wiring.row(o, [(i, factor)].into_iter());
                    }
                    continue;
                }
                Element::Matrix { out, input, first } => {
                    let rows = self.numbers.values[first as usize..][..out.len() * input.len()].chunks_exact(input.len());
                    for (o, row) in out.range().zip(rows) {
                        wiring.row(o, input.range().zip(row.iter().copied()));
                    }
                    continue;
                }
                Element::Column { out, input, first } => {
                    for (o, value) in out.range().zip(&self.numbers.values[first as usize..]) {
                        wiring.row(o, [(input as usize, *value)].into_iter());
                    }
                    continue;
                }
                Element::Dense { out, input, factor } => wiring.list.push(Wire::Dense { out, input, factor: factor as usize }),
                Element::Sparse { out, input, factor } => wiring.list.push(Wire::Sparse { out, input, factor }),
                Element::Joint(k) => {
                    self.maps.joints[k as usize].write_rows(model, wiring);
                    continue;
                }
                Element::Point(k) => self.maps.points[k as usize].wires(wires),
                // Strikes are few; what they leave waiting is by parameters alone.
                Element::Law(_) | Element::Strike(_) if self.frozen.is_some() => {
                    wiring.list.push(Wire::Whole(*element));
                    continue;
                }
                // What they do takes many slots at once, or waits for the program of another step.
                Element::Shaped(_)
                | Element::Law(_)
                | Element::LinkageMove(_)
                | Element::LinkageFinish(_)
                | Element::Strike(_)
                | Element::PatchMove(_)
                | Element::PatchFinish(_) => return false,
                _ => small!(self.maps, *element, map => map.wires(wires)),
            }
            let Wires { input, out } = std::mem::take(&mut wiring.wires);
            let mut probe = std::mem::take(&mut wiring.probe);
            for slot in out.iter().flat_map(|block| block.range()) {
                probe[slot] = 1.0;
                self.one_adjoint(element, &mut probe);
                probe[slot] = 0.0;
                // Slots that are read in two ways have both in the first.
                for block in &input {
                    wiring.add(Some(*block), &probe[block.range()]);
                    probe[block.range()].fill(0.0);
                }
                wiring.end_row(slot);
            }
            wiring.probe = probe;
            wiring.wires = Wires { input, out };
        }
        true
    }

    /// The adjoint of one map of a few slots.
    fn one_adjoint(&self, element: &Element, x: &mut [f64]) {
        match *element {
            Element::Point(k) => self.maps.points[k as usize].adjoint(&self.sites, x),
            _ => small!(self.maps, *element, map => map.adjoint(x)),
        }
    }

    /// The adjoint of a program that was written out, for several cotangents side by side.
    pub fn adjoint_lanes(&mut self, x: &mut [[f64; LANES]]) {
        walk_lanes(self, x);
    }

    #[inline(always)]
    fn walk_lanes(&mut self, x: &mut [[f64; LANES]]) {
        let Wiring { list, entries, both, column, probe, .. } = &mut self.wiring;
        let mut left = &entries[..];
        for wire in list.iter().rev() {
            match *wire {
                Wire::Row { out, entries } => {
                    let (before, own) = left.split_at(left.len() - entries as usize);
                    left = before;
                    let value = x[out as usize];
                    // A cotangent has reached few slots at first.
                    if value == [0.0; LANES] {
                        continue;
                    }
                    for &(slot, entry) in own {
                        let to = &mut x[slot as usize];
                        for lane in 0..LANES {
                            to[lane] += entry * value[lane];
                        }
                    }
                }
                Wire::Dense { out, input, factor } => {
                    column.clear();
                    column.extend_from_slice(&x[out.range()]);
                    self.numbers.dense[factor].solve_transposed(column, both);
                    for (x, s) in x[input.range()].iter_mut().zip(column.iter()) {
                        for lane in 0..LANES {
                            x[lane] -= s[lane];
                        }
                    }
                }
                Wire::Sparse { out, input, factor } => self.sparse.solve_transposed_lanes(factor, input.range(), out.range(), x, both),
                Wire::Whole(element) => {
                    for lane in 0..LANES {
                        probe.iter_mut().zip(x.iter()).for_each(|(own, x)| *own = x[lane]);
                        match element {
                            Element::Law(k) => self.large.laws.used[k as usize].adjoint(probe),
                            Element::Strike(k) => self.large.strikes.used[k as usize].adjoint(&self.sites, probe),
                            _ => debug_assert!(false, "impacts alone are taken whole"),
                        }
                        x.iter_mut().zip(probe.iter()).for_each(|(x, own)| x[lane] = *own);
                    }
                }
            }
        }
    }
}
