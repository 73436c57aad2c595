//! Bodies and joints that come and go between steps: a world of another model that goes on where this one is.

use crate::constraints::Joint;
use crate::contacts::Key;
use crate::coupling::Coupling;
use crate::error::ModelError;
use crate::model::{Body, Force, Model, PairRule};
use crate::query::touching;
use crate::spelling::nearest;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist};
use std::sync::atomic::{AtomicU64, Ordering};

/// Editions given out so far; 0 is that of every world as it was made.
static EDITIONS: AtomicU64 = AtomicU64::new(0);

/// What is put into a world. Bodies are numbered on from those of the world, so that joints, pairs and forces may name bodies of either.
#[derive(Clone, Debug, PartialEq)]
pub struct Addition<G: Geometry> {
    /// Bodies, with where they start and how they move.
    pub bodies: Vec<(Body<G>, Pose<G>, Twist<G>)>,
    /// Joints.
    pub joints: Vec<Joint<G>>,
    /// Couplings of joints, numbered as in the world that comes out: those that are there first.
    pub couplings: Vec<Coupling>,
    /// Rules of pairs.
    pub pairs: Vec<PairRule>,
    /// Forces.
    pub forces: Vec<Force<G>>,
    /// Groups and masks of the bodies that are there already, where the addition names groups anew; empty otherwise.
    pub filters: Vec<(u64, u64)>,
}

impl<G: Geometry> Addition<G> {
    /// Nothing.
    pub fn new() -> Self {
        Addition {
            bodies: Vec::new(),
            joints: Vec::new(),
            couplings: Vec::new(),
            pairs: Vec::new(),
            forces: Vec::new(),
            filters: Vec::new(),
        }
    }
}

impl<G: Geometry> Default for Addition<G> {
    fn default() -> Self {
        Addition::new()
    }
}

/// Where the bodies and joints of an edited world were before the edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The old number of each body.
    pub bodies: Vec<Option<usize>>,
    /// The old number of each joint.
    pub joints: Vec<Option<usize>>,
}

impl Kept {
    /// New numbers by old ones.
    fn forward(list: &[Option<usize>], count: usize) -> Vec<Option<usize>> {
        let mut out = vec![None; count];
        for (new, old) in list.iter().enumerate() {
            if let Some(slot) = old.and_then(|old| out.get_mut(old)) {
                *slot = Some(new);
            }
        }
        out
    }
}

fn fault(part: &str, name: &str, message: String) -> ModelError {
    ModelError::new(format!("{part} \"{name}\""), "name", message)
}

impl<G: Geometry> World<G> {
    /// Adds bodies, joints, pairs and forces at the present moment. The rest goes on as if nothing had happened: time, poses, velocities, what is remembered
    /// of contacts and joints. The energy that comes with what is added is booked as put in; [`World::reset`] goes back to this moment. Snapshots of
    /// before are refused from now on.
    ///
    /// # Errors
    /// A name that is taken, a number that is out of range; then nothing is changed.
    pub fn add(&mut self, addition: Addition<G>) -> Result<Kept, ModelError> {
        let (mut model, mut state) = (self.model().clone(), self.state().clone());
        let kept = Kept {
            bodies: (0..model.bodies.len()).map(Some).chain(addition.bodies.iter().map(|_| None)).collect(),
            joints: (0..model.joints.len()).map(Some).chain(addition.joints.iter().map(|_| None)).collect(),
        };
        for (body, (group, mask)) in model.bodies.iter_mut().zip(&addition.filters) {
            (body.group, body.mask) = (*group, *mask);
        }
        for (body, pose, twist) in addition.bodies {
            if model.bodies.iter().any(|other| other.name == body.name) {
                return Err(fault("body", &body.name, "another body has this name".to_string()));
            }
            model.bodies.push(body);
            state.push(pose, twist);
        }
        let count = model.bodies.len();
        for joint in addition.joints {
            if model.joints.iter().any(|other| other.name == joint.name) {
                return Err(fault("joint", &joint.name, "another joint has this name".to_string()));
            }
            if joint.bodies.iter().flatten().any(|body| *body >= count) {
                return Err(fault("joint", &joint.name, format!("names a body beyond the {count} there are")));
            }
            model.joints.push(joint);
        }
        let named = |model: &Model<G>, name: &str| {
            model.joints.iter().map(|joint| &joint.name).chain(model.couplings.iter().map(|c| &c.name)).any(|other| other == name)
        };
        for coupling in addition.couplings {
            if named(&model, &coupling.name) {
                return Err(fault("joint", &coupling.name, "another joint has this name".to_string()));
            }
            model.couplings.push(coupling);
        }
        // Turns are counted where there are couplings.
        if !state.turns.is_empty() {
            state.turns.resize(model.joints.len(), 0);
        }
        let ends = addition.pairs.iter().flat_map(|pair| pair.bodies).chain(addition.forces.iter().map(|force| force.body));
        if let Some(body) = ends.into_iter().find(|body| *body >= count) {
            return Err(ModelError::new("addition", "body", format!("found {body}, needs one of {count} bodies")));
        }
        model.pairs.extend(addition.pairs);
        model.forces.extend(addition.forces);
        *self = self.edited(model, state, &kept, true)?;
        Ok(kept)
    }

    /// Takes a body with its joints, pairs and forces away, or a joint, or with `arm` everything whose name begins with `arm.`; bodies first where several
    /// things have the name. The rest goes on as after [`World::add`], and the energy that goes is booked as taken out.
    ///
    /// # Errors
    /// A name that nothing has, with the nearest that something has; then nothing is changed.
    pub fn remove(&mut self, name: &str) -> Result<Kept, ModelError> {
        let model = self.model();
        let within = |other: &str| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let exact = model.bodies.iter().any(|body| body.name == name);
        let coupled = model.couplings.iter().any(|coupling| coupling.name == name);
        let joint = !exact && (coupled || model.joints.iter().any(|joint| joint.name == name));
        let gone = |body: &Body<G>| if exact { body.name == name } else { !joint && within(&body.name) };
        if !joint && !model.bodies.iter().any(gone) {
            let names = model
                .bodies
                .iter()
                .map(|b| b.name.clone())
                .chain(model.joints.iter().map(|j| j.name.clone()))
                .chain(model.couplings.iter().map(|c| c.name.clone()));
            let near = nearest(name, &names.collect::<Vec<_>>()).map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
            return Err(ModelError::new("name", "", format!("no body or joint is called \"{name}\"{near}")));
        }
        let bodies: Vec<Option<usize>> = (0..model.bodies.len()).filter(|&body| !gone(&model.bodies[body])).map(Some).collect();
        let new = Kept::forward(&bodies, model.bodies.len());
        let stays = |j: &Joint<G>| {
            let held = j.bodies.iter().flatten().all(|&body| new[body].is_some());
            held && !(joint && j.name == name) && (exact || joint || !within(&j.name))
        };
        let joints: Vec<Option<usize>> = (0..model.joints.len()).filter(|&index| stays(&model.joints[index])).map(Some).collect();
        let kept = Kept { bodies, joints };
        let mut next = Model { bodies: Vec::new(), joints: Vec::new(), pairs: Vec::new(), forces: Vec::new(), ..model.clone() };
        // A coupling goes with any of its joints.
        let joint_there = Kept::forward(&kept.joints, model.joints.len());
        next.couplings = model
            .couplings
            .iter()
            .filter(|coupling| !(joint && coupling.name == name))
            .filter_map(|coupling| {
                let terms = coupling.terms.iter().map(|&(joint, c)| Some((joint_there[joint]?, c))).collect::<Option<_>>()?;
                Some(Coupling { terms, ..coupling.clone() })
            })
            .collect();
        let mut state = self.state().clone();
        (state.poses, state.twists) = (Vec::new(), Vec::new());
        if !state.turns.is_empty() {
            state.turns = kept.joints.iter().flatten().map(|&old| self.state().turns.get(old).copied().unwrap_or(0)).collect();
        }
        for old in kept.bodies.iter().flatten() {
            next.bodies.push(model.bodies[*old].clone());
            state.push(self.state().poses[*old], self.state().twists[*old]);
        }
        for old in kept.joints.iter().flatten() {
            let mut joint = model.joints[*old].clone();
            joint.bodies = joint.bodies.map(|body| body.and_then(|body| new[body]));
            next.joints.push(joint);
        }
        let pairs = model.pairs.iter().filter_map(|pair| Some(PairRule { bodies: [new[pair.bodies[0]]?, new[pair.bodies[1]]?], ..*pair }));
        next.pairs = pairs.collect();
        next.forces = model.forces.iter().filter_map(|force| Some(Force { body: new[force.body]?, ..*force })).collect();
        *self = self.edited(next, state, &kept, false)?;
        Ok(kept)
    }

    /// This world with another model, in which `kept` says what was there before; `fresh` where what is new may start wrong.
    fn edited(&self, model: Model<G>, state: crate::state::State<G>, kept: &Kept, fresh: bool) -> Result<Self, ModelError> {
        let mut world = World::new(model, state)?;
        let new = Kept::forward(&kept.bodies, self.model().bodies.len());
        let renamed = |key: &Key<G>| Some(Key { bodies: [new[key.bodies[0]]?, new[key.bodies[1]]?], ..*key });
        let mut memory: Vec<_> =
            self.memory().iter().filter_map(|m| Some(crate::contacts::Memory { key: renamed(&m.key)?, ..*m })).collect();
        memory.sort_unstable_by_key(|m| m.key);
        touching(&memory, &mut world.past.touched);
        let sum = |(kinetic, potential, elastic): (f64, f64, f64)| kinetic + potential + elastic;
        let (mut flow, start_energy, largest) = self.books();
        let (before, after) = (self.energies(), world.energies());
        flow.work_in += sum(after) - sum(before);
        let largest = largest.max(after.0 + after.2);
        let rows = |world: &World<G>| world.model().joints.iter().map(|joint| joint.row_count()).collect::<Vec<_>>();
        let (old_rows, new_rows) = (rows(self), rows(&world));
        let carried = self.present_curvature();
        world.curvature().carry(&carried, &kept.joints, &old_rows, &new_rows);
        world.resume(memory, (flow, start_energy, largest));
        world.fresh = self.fresh || fresh;
        world.watch_joints(self.outside.efforts.is_some());
        world.edition = EDITIONS.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(world)
    }
}
