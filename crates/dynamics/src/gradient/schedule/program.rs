//! A linear program of small maps: the derivative of a step as a list of local Jacobians, theory (17.1)-(17.4).
//!
//! Every quantity of the step owns a block of slots, written once. An element adds a matrix times one block to another, or does what a
//! joint, a contact or a body does to a tangent; a solve answers a square system. Run forwards over the slots this is the tangent of the
//! step, run backwards with every map transposed it is the adjoint: <J u, w> = <u, J' w> holds to rounding.

mod block;
mod lanes;
mod maps;
mod run;

pub(crate) use block::Block;
pub(crate) use lanes::{LANES, Wires, Wiring};

use maps::{Large, Maps, Numbers};

use super::flight::FlightMap;
use super::law::LawMap;
use super::linkage::Linkage;
use super::linkage::graph::Graphs;
use super::linkage::rows::JointSums;
use super::patch::Patch;
use super::patch::strike_patch::StrikePatch;
use super::stage::StageScratch;
use crate::gradient::motion::{AnswerMap, LoadMap, MoveMap, RateMap, ResponseMap};
use crate::gradient::rows::contact_point::PointMap;
use crate::gradient::rows::contact_rows::{PushMap, SpeedMap};
use crate::gradient::rows::contact_site::Sites;
use crate::gradient::rows::joint_rows::JointMap;
use crate::gradient::rows::sensor::Sensor;
use crate::gradient::rows::smoothed_rows::SmoothingScratch;
use crate::gradient::slots::{Stacked, put};
use crate::gradient::system::SystemScratch;
use crate::gradient::system::pivoted::Pivoted;
use crate::gradient::system::sparse::{Factored, Sparse};
use carom_geometry::Geometry;

/// Most freedoms of a body.
const MAX_FREEDOMS: usize = 6;

/// What an element does.
#[derive(Clone, Copy, Debug)]
enum Element {
    /// out += s in.
    Scaled { out: Block, input: Block, factor: f64 },
    /// out += M in, M by rows from this place on.
    Matrix { out: Block, input: Block, first: u32 },
    /// out += c in for a single slot, c from this place on.
    Column { out: Block, input: u32, first: u32 },
    /// out := -S^-1 in, with this dense factor.
    Dense { out: Block, input: Block, factor: u32 },
    /// out := -S^-1 in, with this sparse factor.
    Sparse { out: Block, input: Block, factor: Factored },
    /// A joint.
    Joint(u32),
    /// Sizes and placements that move a contact.
    Shaped(u32),
    /// A contact that moves.
    Point(u32),
    /// Impulses of a contact.
    Push(u32),
    /// A speed at a contact.
    Speed(u32),
    /// M^-1.
    Response(u32),
    /// The implicit rate.
    Rate(u32),
    /// The move.
    Move(u32),
    /// What impulses that answer do over the move.
    Answer(u32),
    /// Gravity, damping and the gyroscopic torque.
    Load(u32),
    /// A body that no row touches.
    Flight(u32),
    /// An impact law.
    Law(u32),
    /// Stages 4 to 6 of bodies that joints alone hold.
    LinkageMove(u32),
    /// Stage 7 of the same.
    LinkageFinish(u32),
    /// A strike between bodies without joints.
    Strike(u32),
    /// Stages 4 to 6 of bodies that contacts alone hold.
    PatchMove(u32),
    /// Stage 7 of the same.
    PatchFinish(u32),
}

/// The maps of one step in their order.
#[derive(Debug)]
pub(crate) struct Program<G: Geometry> {
    slots: u32,
    /// Slots that are held: nothing is asked about them.
    frozen: Option<Block>,
    elements: Vec<Element>,
    numbers: Numbers,
    maps: Maps<G>,
    large: Large<G>,
    /// Graphs of the linkages.
    pub graphs: Graphs,
    /// Takes linkages, patches and flights by the general road too.
    pub general: bool,
    /// What a loss asks of contacts.
    pub sensor: Option<Sensor<G>>,
    /// Contacts at their poses.
    pub sites: Sites<G>,
    /// Factors of the sparse solves.
    pub sparse: Sparse<G>,
    /// Scratch of smoothed complementarity.
    pub smoothing: SmoothingScratch,
    /// Scratch of the next system.
    pub lists: Option<SystemScratch<G>>,
    /// Scratch of the next island.
    pub stage: StageScratch<G>,
    /// The program as matrices alone, where that was asked for.
    pub wiring: Wiring<G>,
}

impl<G: Geometry> Default for Program<G> {
    fn default() -> Self {
        Program {
            slots: 0,
            frozen: None,
            elements: Vec::new(),
            numbers: Numbers::default(),
            maps: Maps::default(),
            large: Large::default(),
            graphs: Graphs::default(),
            general: false,
            sensor: None,
            sites: Sites::default(),
            sparse: Sparse::default(),
            smoothing: SmoothingScratch::default(),
            lists: None,
            stage: StageScratch::default(),
            wiring: Wiring::default(),
        }
    }
}

macro_rules! keep {
    ($name:ident, $list:ident, $kind:ident, $map:ty, $what:literal) => {
        #[doc = $what]
        #[inline]
        pub fn $name(&mut self, map: $map) {
            self.elements.push(Element::$kind(self.maps.$list.len() as u32));
            self.maps.$list.push(map);
        }
    };
}

impl<G: Geometry> Program<G> {
    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.slots = 0;
        self.frozen = None;
        self.elements.clear();
        self.numbers.dense_used = 0;
        self.numbers.values.clear();
        self.maps.clear();
        self.large.clear();
        self.sites.turn_over();
        self.sparse.clear();
    }

    /// Forgets what it knows of the model it served.
    pub fn forget_model(&mut self) {
        self.stage.prototypes.clear();
        self.large.linkages.clear();
        self.clear();
        self.sites.forget();
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// New slots, zero until something is added to them.
    #[inline]
    pub fn fresh(&mut self, len: usize) -> Block {
        let block = Block { at: self.slots, len: len as u32 };
        self.slots += len as u32;
        block
    }

    /// Holds slots: what depends on them is left out.
    pub fn freeze(&mut self, block: Block) {
        self.frozen = Some(block);
    }

    /// Whether slots are held.
    #[inline]
    pub fn is_frozen(&self, block: Block) -> bool {
        self.frozen.is_some_and(|frozen| block.within(frozen))
    }

    /// The block, unless it is held.
    #[inline]
    pub fn free(&self, block: Block) -> Option<Block> {
        (block.len > 0 && !self.is_frozen(block)).then_some(block)
    }

    /// out += s in.
    #[inline]
    pub fn scaled(&mut self, out: Block, input: Block, factor: f64) {
        debug_assert_eq!(out.len, input.len);
        if factor != 0.0 && out.len > 0 && !self.is_frozen(input) {
            self.elements.push(Element::Scaled { out, input, factor });
        }
    }

    /// out += in.
    #[inline]
    pub fn copy(&mut self, out: Block, input: Block) {
        self.scaled(out, input, 1.0);
    }

    /// out += L in, with L given by what it does to a tangent: `map(x, y)` writes L x into y, which starts at zero.
    pub fn linear(&mut self, out: Block, input: Block, mut map: impl FnMut(&[f64], &mut [f64])) {
        let (rows, columns) = (out.len(), input.len());
        if rows == 0 || columns == 0 || self.is_frozen(input) {
            return;
        }
        let first = self.numbers.values.len();
        self.numbers.values.resize(first + rows * columns, 0.0);
        self.numbers.basis.clear();
        self.numbers.basis.resize(columns, 0.0);
        self.numbers.column.resize(rows, 0.0);
        let mut any = false;
        for j in 0..columns {
            self.numbers.basis[j] = 1.0;
            self.numbers.column[..rows].fill(0.0);
            map(&self.numbers.basis, &mut self.numbers.column[..rows]);
            self.numbers.basis[j] = 0.0;
            for i in 0..rows {
                self.numbers.values[first + i * columns + j] = self.numbers.column[i];
                any |= self.numbers.column[i] != 0.0;
            }
        }
        if any {
            self.elements.push(Element::Matrix { out, input, first: first as u32 });
        } else {
            self.numbers.values.truncate(first);
        }
    }

    /// out += M in, M by rows.
    pub fn matrix(&mut self, out: Block, input: Block, rows: &[f64]) {
        debug_assert_eq!(rows.len(), out.len() * input.len());
        if self.is_frozen(input) || rows.iter().all(|&m| m == 0.0) {
            return;
        }
        let first = self.numbers.values.len();
        self.numbers.values.extend_from_slice(rows);
        self.elements.push(Element::Matrix { out, input, first: first as u32 });
    }

    /// out += c in for a single input slot.
    pub fn column(&mut self, out: Block, input: Block, values: &[f64]) {
        debug_assert!(input.len() == 1 && values.len() == out.len());
        if !self.is_frozen(input) {
            let first = self.numbers.values.len() as u32;
            self.numbers.values.extend_from_slice(values);
            self.elements.push(Element::Column { out, input: input.at, first });
        }
    }

    /// out += c in for a single input slot, with a twist or a wrench for c.
    pub fn stacked(&mut self, out: Block, input: Block, value: &impl Stacked<G>) {
        let mut values = [0.0; MAX_FREEDOMS];
        let (lin, ang) = value.parts();
        put::<G>(lin, ang, &mut values);
        self.column(out, input, &values[..G::DOF]);
    }

    keep!(joint, joints, Joint, JointMap<G>, "Adds what a joint does.");
    keep!(point, points, Point, PointMap, "Adds a contact that moves.");
    keep!(push, pushes, Push, PushMap<G>, "Adds the impulses of a contact.");
    keep!(speed, speeds, Speed, SpeedMap<G>, "Adds a speed at a contact.");
    keep!(response, responses, Response, ResponseMap<G>, "Adds M^-1.");
    keep!(rate, rates, Rate, RateMap<G>, "Adds an implicit rate.");
    keep!(moves, moves, Move, MoveMap<G>, "Adds a move.");
    keep!(answer, answers, Answer, AnswerMap<G>, "Adds what impulses that answer do over the move.");
    keep!(load, loads, Load, LoadMap<G>, "Adds gravity, damping and the gyroscopic torque of a body.");
    keep!(flight, flights, Flight, FlightMap<G>, "Adds a body that no row touches.");

    /// Adds an impact law.
    pub fn law(&mut self, law: Box<LawMap<G>>) {
        let number = self.large.laws.add(law);
        self.elements.push(Element::Law(number));
    }

    /// Adds a strike between bodies without joints.
    pub fn strike(&mut self, strike: Box<StrikePatch<G>>) {
        let number = self.large.strikes.add(strike);
        self.elements.push(Element::Strike(number));
    }

    /// A law to be filled and added, with the lists of an earlier one.
    pub fn spare_law(&mut self) -> Box<LawMap<G>> {
        self.large.laws.take()
    }

    /// Adds what sizes and placements do at a site.
    pub fn shaped(&mut self, site: u32) {
        self.elements.push(Element::Shaped(site));
    }

    /// Room for a linkage, to be given back by `move_linkage`.
    pub fn take_linkage(&mut self) -> Linkage<G> {
        if self.large.linkages_used == self.large.linkages.len() {
            self.large.linkages.push(Linkage::default());
        }
        std::mem::take(&mut self.large.linkages[self.large.linkages_used])
    }

    /// Gives a linkage back unused.
    pub fn return_linkage(&mut self, linkage: Linkage<G>) {
        self.large.linkages[self.large.linkages_used] = linkage;
    }

    /// Adds the move of a linkage, whose finish waits; returns its number.
    pub fn move_linkage(&mut self, linkage: Linkage<G>) -> u32 {
        let number = self.large.linkages_used as u32;
        self.large.linkages[self.large.linkages_used] = linkage;
        self.large.linkages_used += 1;
        self.elements.push(Element::LinkageMove(number));
        number
    }

    /// A linkage that was moved.
    pub fn linkage(&mut self, number: u32) -> &mut Linkage<G> {
        &mut self.large.linkages[number as usize]
    }

    /// How many linkages were factored without a search for pivots.
    #[cfg(test)]
    pub fn plain_linkages(&self) -> usize {
        self.large.linkages[..self.large.linkages_used].iter().filter(|linkage| linkage.is_plain()).count()
    }

    /// Multiply-adds of the factors of the linkages.
    #[cfg(test)]
    pub fn linkage_operations(&self) -> u64 {
        self.large.linkages[..self.large.linkages_used].iter().map(Linkage::operations).sum()
    }

    /// Adds the finish of a linkage.
    pub fn finish_linkage(&mut self, number: u32) {
        self.elements.push(Element::LinkageFinish(number));
    }

    /// A strike to be filled and added, with the lists of an earlier one.
    pub fn spare_strike(&mut self) -> Box<StrikePatch<G>> {
        self.large.strikes.take()
    }

    /// A patch to be filled and added, with the lists of an earlier one.
    pub fn spare_patch(&mut self) -> Box<Patch<G>> {
        self.large.patches.take()
    }

    /// Gives a patch back unused.
    pub fn return_patch(&mut self, patch: Box<Patch<G>>) {
        self.large.patches.give_back(patch);
    }

    /// Adds a patch: its move and its end.
    pub fn patch(&mut self, patch: Box<Patch<G>>) {
        let number = self.large.patches.add(patch);
        self.elements.extend([Element::PatchMove(number), Element::PatchFinish(number)]);
    }

    /// How many patches there are.
    #[cfg(test)]
    pub fn patches(&self) -> usize {
        self.large.patches.used.len()
    }

    /// out := -S^-1 in; `fill` writes S by rows. Returns how many unknowns S left undetermined.
    pub fn solve(&mut self, out: Block, input: Block, fill: impl FnOnce(&mut [f64])) -> usize {
        debug_assert_eq!(out.len, input.len);
        if self.numbers.dense_used == self.numbers.dense.len() {
            self.numbers.dense.push(Pivoted::default());
        }
        let factor = &mut self.numbers.dense[self.numbers.dense_used];
        fill(factor.matrix(out.len()));
        let undetermined = out.len() - factor.factor();
        self.elements.push(Element::Dense { out, input, factor: self.numbers.dense_used as u32 });
        self.numbers.dense_used += 1;
        undetermined
    }

    /// out := -S^-1 in with a factor of the sparse store.
    pub fn solve_sparse(&mut self, out: Block, input: Block, factor: Factored) {
        debug_assert_eq!(out.len, input.len);
        self.elements.push(Element::Sparse { out, input, factor });
    }
}
