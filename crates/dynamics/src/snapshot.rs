//! Everything the next step depends on, in bytes: a run that is stopped, stored and resumed ends in the same bits.
//!
//! Contacts are remembered by their place in the manifold of their colliders at the stored pose: detection is a function of the pose, so
//! the place names the same features again.

use crate::contacts::{Key, Memory, placed};
use crate::ledger::Flow;
use crate::state::State;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector};
use std::fmt;

/// The version of the physics: raised whenever the step that follows a state may end in other bits than before. Snapshots and the logs of runs say which
/// they were made with, and no other goes on from them.
pub const PHYSICS: u32 = 5;

/// What stands before the version in the first word of a snapshot. The first version wrote no word for it but its number of bodies, which is never as
/// large.
const PHYSICS_WORD: u64 = u64::from_le_bytes(*b"\0\0\0\0csnp");

/// The version of the physics that the first word of a snapshot tells.
fn physics_of(word: u64) -> u32 {
    let (kind, version) = (word >> u32::BITS, word as u32);
    if kind == PHYSICS_WORD >> u32::BITS { version } else { 1 }
}

/// A contact that was active or held, by its place in the manifold of two colliders.
#[derive(Clone, Debug, PartialEq)]
struct Remembered<G: Geometry> {
    bodies: [usize; 2],
    colliders: [usize; 2],
    place: usize,
    active: bool,
    had_row: bool,
    warm: [G::Lin; 2],
}

/// State, books and memory of a world between two steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<G: Geometry> {
    /// Poses, velocities, time.
    pub state: State<G>,
    flow: Flow,
    start_energy: f64,
    largest: f64,
    /// The state was set from outside and has not moved since.
    fresh: bool,
    contacts: Vec<Remembered<G>>,
    /// What is remembered of joints.
    joints: Vec<f64>,
    /// The edition of the model it was taken of.
    edition: Edition,
}

/// The edition of a model; none where a snapshot comes from bytes. It says whose snapshot it is and is no part of what it says: all are equal.
#[derive(Clone, Copy, Debug, Default)]
struct Edition(Option<u64>);

impl PartialEq for Edition {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Bytes that are no snapshot of this world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// They end too early or go on too long.
    Length {
        /// Bytes found.
        found: usize,
    },
    /// They were made by another version of the physics, from which this one would not go on to the same bits.
    Physics {
        /// Its version.
        found: u32,
    },
    /// They belong to another number of bodies.
    Bodies {
        /// Bodies in the snapshot.
        found: usize,
        /// Bodies of the model.
        wanted: usize,
    },
    /// Bodies or joints were added or removed since: it knows nothing of some, and others are gone.
    Edited,
    /// An orientation is not one, a value is not finite, or a contact names what the model does not have.
    Value,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::Length { found } => write!(f, "snapshot of {found} bytes is truncated or too long"),
            SnapshotError::Physics { found } => {
                write!(f, "made by version {found} of the physics, this is version {PHYSICS}: the run would not go on to the same bits")
            }
            SnapshotError::Bodies { found, wanted } => write!(f, "snapshot of {found} bodies for a model of {wanted}"),
            SnapshotError::Edited => {
                f.write_str("bodies or joints were added or removed since the snapshot was taken: a state cannot go back across an edit")
            }
            SnapshotError::Value => f.write_str("snapshot holds a value this model cannot take"),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl<G: Geometry> Snapshot<G> {
    /// Little-endian bytes: counts as u64, numbers as the bits of f64.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut word = |w: u64| out.extend_from_slice(&w.to_le_bytes());
        let flow = &self.flow;
        word(PHYSICS_WORD | u64::from(PHYSICS));
        word(self.state.poses.len() as u64);
        word(self.contacts.len() as u64);
        word(self.joints.len() as u64);
        word(u64::from(self.fresh));
        let books =
            [flow.work_in, flow.friction_loss, flow.impact_loss, flow.contact_loss, flow.damping_loss, flow.joint_work, flow.projection];
        for number in [self.state.time, self.start_energy, self.largest].into_iter().chain(books) {
            word(number.to_bits());
        }
        let mut coords = [0.0; 7];
        for body in 0..self.state.poses.len() {
            self.state.write_pose(body, &mut coords);
            coords[..G::COORDS].iter().for_each(|x| word(x.to_bits()));
            self.state.write_twist(body, &mut coords);
            coords[..G::DOF].iter().for_each(|x| word(x.to_bits()));
        }
        for contact in &self.contacts {
            let [a, b] = contact.bodies;
            let [ca, cb] = contact.colliders;
            for index in [a, b, ca, cb, contact.place, usize::from(contact.active), usize::from(contact.had_row)] {
                word(index as u64);
            }
            contact.warm.iter().for_each(|w| w.as_slice().iter().for_each(|x| word(x.to_bits())));
        }
        self.joints.iter().for_each(|x| word(x.to_bits()));
        word(self.state.turns.len() as u64);
        self.state.turns.iter().for_each(|turns| word(i64::from(*turns) as u64));
        out
    }

    /// The version of the physics that made these bytes; `None` where there are too few.
    pub fn physics(bytes: &[u8]) -> Option<u32> {
        bytes.first_chunk().map(|word| physics_of(u64::from_le_bytes(*word)))
    }

    /// Reads what `to_bytes` wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let length = SnapshotError::Length { found: bytes.len() };
        if !bytes.len().is_multiple_of(size_of::<u64>()) {
            return Err(length);
        }
        let mut words = bytes.chunks_exact(size_of::<u64>()).map(|c| u64::from_le_bytes(c.try_into().unwrap_or_default()));
        let mut word = || words.next().ok_or(length.clone());
        match physics_of(word()?) {
            PHYSICS => {}
            found => return Err(SnapshotError::Physics { found }),
        }
        let (bodies, contacts, joint_numbers) = (word()? as usize, word()? as usize, word()? as usize);
        let fresh = word()? != 0;
        let mut number = || -> Result<f64, SnapshotError> { Ok(f64::from_bits(word()?)) };
        let mut head = [0.0; 10];
        for x in &mut head {
            *x = number()?;
        }
        let [time, start_energy, largest, work_in, friction_loss, impact_loss, contact_loss, damping_loss, joint_work, projection] = head;
        let flow = Flow { work_in, friction_loss, impact_loss, contact_loss, damping_loss, joint_work, projection };
        let mut state = State { time, ..State::empty() };
        for _ in 0..bodies {
            let mut coords = [0.0; 13];
            for x in &mut coords[..G::COORDS + G::DOF] {
                *x = number()?;
            }
            let (pose, twist) = coords.split_at(G::COORDS);
            let rotation = G::read_rotation(&pose[G::DIM..]).ok_or(SnapshotError::Value)?;
            state.push(
                Pose { position: G::Lin::from_slice(pose), rotation },
                Twist { lin: G::Lin::from_slice(twist), ang: G::Ang::from_slice(&twist[G::DIM..]) },
            );
        }
        let mut remembered = Vec::new();
        for _ in 0..contacts {
            let mut index = || -> Result<usize, SnapshotError> { Ok(word()? as usize) };
            let bodies = [index()?, index()?];
            let colliders = [index()?, index()?];
            let place = index()?;
            let (active, had_row) = (index()? != 0, index()? != 0);
            let mut warm = [G::Lin::zero(); 2];
            for w in &mut warm {
                for k in 0..G::DIM {
                    w[k] = f64::from_bits(word()?);
                }
            }
            remembered.push(Remembered { bodies, colliders, place, active, had_row, warm });
        }
        let mut joints = Vec::new();
        for _ in 0..joint_numbers {
            joints.push(f64::from_bits(word()?));
        }
        for _ in 0..word()? as usize {
            state.turns.push(i32::try_from(word()? as i64).map_err(|_| SnapshotError::Value)?);
        }
        if word().is_ok() {
            return Err(length);
        }
        Ok(Snapshot { state, flow, start_energy, largest, fresh, contacts: remembered, joints, edition: Edition::default() })
    }
}

impl<G: Geometry> World<G> {
    /// Everything the next step depends on.
    pub fn snapshot(&self) -> Snapshot<G> {
        let mut contacts = Vec::new();
        let mut manifold = Vec::new();
        for memory in self.memory() {
            self.manifold(memory.key.bodies, memory.key.colliders, &mut manifold);
            if let Some(place) = manifold.iter().position(|c| c.feature == memory.key.feature) {
                contacts.push(Remembered {
                    bodies: memory.key.bodies,
                    colliders: memory.key.colliders,
                    place,
                    active: memory.active,
                    had_row: memory.had_row,
                    warm: memory.warm,
                });
            }
        }
        let (flow, start_energy, largest) = self.books();
        let (fresh, joints) = (self.fresh, self.curvature_values());
        Snapshot { state: self.state().clone(), flow, start_energy, largest, fresh, contacts, joints, edition: Edition(Some(self.edition)) }
    }

    /// Takes a snapshot's place; the next step is the one that would have followed it.
    pub fn restore(&mut self, snapshot: &Snapshot<G>) -> Result<(), SnapshotError> {
        if snapshot.edition.0.is_some_and(|edition| edition != self.edition) {
            return Err(SnapshotError::Edited);
        }
        let wanted = self.model().bodies.len();
        if snapshot.state.poses.len() != wanted {
            return Err(SnapshotError::Bodies { found: snapshot.state.poses.len(), wanted });
        }
        self.set_state(snapshot.state.clone()).map_err(|_| SnapshotError::Value)?;
        let mut memory = Vec::new();
        let mut manifold = Vec::new();
        for contact in &snapshot.contacts {
            let exists = (0..2).all(|side| {
                self.model().bodies.get(contact.bodies[side]).is_some_and(|body| contact.colliders[side] < body.colliders.len())
            });
            if !exists {
                return Err(SnapshotError::Value);
            }
            self.manifold(contact.bodies, contact.colliders, &mut manifold);
            let feature = manifold.get(contact.place).ok_or(SnapshotError::Value)?.feature;
            let key = Key { bodies: contact.bodies, colliders: contact.colliders, feature };
            memory.push(Memory { key, active: contact.active, had_row: contact.had_row, warm: contact.warm });
        }
        memory.sort_unstable_by_key(|a| a.key);
        if !self.curvature().restore(&snapshot.joints) {
            return Err(SnapshotError::Value);
        }
        self.resume(memory, (snapshot.flow, snapshot.start_energy, snapshot.largest));
        self.fresh = snapshot.fresh;
        self.placement.clear();
        Ok(())
    }

    /// Contacts of two colliders at the present state, within the margin.
    fn manifold(&self, bodies: [usize; 2], colliders: [usize; 2], out: &mut Vec<carom_geometry::Contact<G>>) {
        out.clear();
        let model = self.model();
        let shape = |side: usize| &model.bodies[bodies[side]].colliders[colliders[side]].shape;
        let pose = |side: usize| placed(model, bodies[side], colliders[side], &self.state().poses[bodies[side]]);
        G::contacts(shape(0), &pose(0), shape(1), &pose(1), self.reach(bodies), out);
    }
}
