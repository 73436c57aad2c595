//! The maps of a program by their kinds: those of a few slots each, and those that do a whole island's stage at once.

use super::{FlightMap, JointMap, JointSums, LawMap, Linkage, Patch, StrikePatch};
use crate::gradient::motion::{AnswerMap, LoadMap, MoveMap, RateMap, ResponseMap};
use crate::gradient::rows::contact_point::PointMap;
use crate::gradient::rows::contact_rows::{PushMap, SpeedMap};
use crate::gradient::system::pivoted::Pivoted;
use carom_geometry::Geometry;

/// Maps of a few slots.
#[derive(Debug)]
pub(super) struct Maps<G: Geometry> {
    pub joints: Vec<JointMap<G>>,
    pub points: Vec<PointMap>,
    pub pushes: Vec<PushMap<G>>,
    pub speeds: Vec<SpeedMap<G>>,
    pub responses: Vec<ResponseMap<G>>,
    pub rates: Vec<RateMap<G>>,
    pub moves: Vec<MoveMap<G>>,
    pub answers: Vec<AnswerMap<G>>,
    pub loads: Vec<LoadMap<G>>,
    pub flights: Vec<FlightMap<G>>,
}

/// Does the same to the map of an element, whatever its kind, where it is one of few slots that needs nothing but them.
macro_rules! small {
    ($maps:expr, $element:expr, $map:ident => $do:expr) => {
        small!(@ $maps, $element, $map, $do; Push pushes, Speed speeds, Response responses, Rate rates, Move moves, Answer answers, Load loads,
            Flight flights)
    };
    (@ $maps:expr, $element:expr, $map:ident, $do:expr; $($kind:ident $list:ident),*) => {
        match $element {
            $(Element::$kind(k) => {
                let $map = &$maps.$list[k as usize];
                $do
            })*
            _ => debug_assert!(false, "other maps are told apart before"),
        }
    };
}
pub(super) use small;

/// Does the same to every list of maps.
macro_rules! each_list {
    ($maps:expr, $list:ident => $do:expr) => {{
        let Maps { joints, points, pushes, speeds, responses, rates, moves, answers, loads, flights } = $maps;
        each_list!(@ $list, $do; joints, points, pushes, speeds, responses, rates, moves, answers, loads, flights);
    }};
    (@ $list:ident, $do:expr; $($name:ident),*) => { $({ let $list = $name; $do; })* };
}

impl<G: Geometry> Default for Maps<G> {
    fn default() -> Self {
        Maps {
            joints: Vec::new(),
            points: Vec::new(),
            pushes: Vec::new(),
            speeds: Vec::new(),
            responses: Vec::new(),
            rates: Vec::new(),
            moves: Vec::new(),
            answers: Vec::new(),
            loads: Vec::new(),
            flights: Vec::new(),
        }
    }
}

impl<G: Geometry> Maps<G> {
    pub fn clear(&mut self) {
        each_list!(self, list => list.clear());
    }
}

/// Large maps of one kind, which move between those at work and those at rest.
// Boxes, so that a move is that of a pointer.
#[allow(clippy::vec_box)]
#[derive(Debug)]
pub(super) struct Pool<T> {
    pub used: Vec<Box<T>>,
    spare: Vec<Box<T>>,
}

impl<T: Default> Default for Pool<T> {
    fn default() -> Self {
        Pool { used: Vec::new(), spare: Vec::new() }
    }
}

impl<T: Default> Pool<T> {
    /// One to be filled, with the memory of an earlier one.
    pub fn take(&mut self) -> Box<T> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes one back unused.
    pub fn give_back(&mut self, map: Box<T>) {
        self.spare.push(map);
    }

    /// Puts one to work and returns its number.
    pub fn add(&mut self, map: Box<T>) -> u32 {
        self.used.push(map);
        self.used.len() as u32 - 1
    }

    pub fn clear(&mut self) {
        self.spare.append(&mut self.used);
    }
}

/// Maps that do much at once.
#[derive(Debug)]
pub(super) struct Large<G: Geometry> {
    pub laws: Pool<LawMap<G>>,
    pub strikes: Pool<StrikePatch<G>>,
    pub patches: Pool<Patch<G>>,
    /// Linkages keep their places, since what they know of their graph is kept with them.
    pub linkages: Vec<Linkage<G>>,
    pub linkages_used: usize,
    /// Gradients with respect to the vectors of pinned joints in the frames of their bodies, waiting to be settled; by joint of the model.
    pub joint_sums: JointSums<G>,
}

impl<G: Geometry> Default for Large<G> {
    fn default() -> Self {
        Large {
            laws: Pool::default(),
            strikes: Pool::default(),
            patches: Pool::default(),
            linkages: Vec::new(),
            linkages_used: 0,
            joint_sums: JointSums::default(),
        }
    }
}

impl<G: Geometry> Large<G> {
    pub fn clear(&mut self) {
        self.laws.clear();
        self.strikes.clear();
        self.patches.clear();
        self.linkages_used = 0;
    }
}

/// Numbers of matrices, factors of dense systems, and scratch of both.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub values: Vec<f64>,
    pub dense: Vec<Pivoted>,
    pub dense_used: usize,
    /// Scratch of dense solves of one column.
    pub alone: Vec<[f64; 1]>,
    pub column: Vec<f64>,
    pub basis: Vec<f64>,
}
