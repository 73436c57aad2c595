//! The engine in both spaces, compiled once.
//!
//! The engine is generic, so every crate, test and example above would compile it again, 20 s of it each time. A generic function that is
//! marked `inline(never)` is shared between crates instead, wherever a crate below has compiled it: the doors of the engine are marked so,
//! and these tables make this crate compile them with all that lies behind them.

use crate::coordinates::{Contacts, Goal, Reach, ReachOptions};
use crate::error::{ModelError, StepError};
use crate::gradient::{Cotangents, Direction, Gradient, GradientError, Linearised, Rollout, StepJacobian, StepRecord, Tape, Weak, Wrt};
use crate::model::Model;
use crate::query::{ContactEvent, RayReport};
use crate::start::Placement;
use crate::state::State;
use crate::world::{ContactReport, StepReport, World};
use carom_geometry::Geometry;
use carom_math::{Planar, Spatial};
use carom_solve::interrupt::Interrupt;
use nalgebra::DMatrix;

/// A world: made, copied, moved.
// Types are those of the functions; nothing reads them.
#[allow(dead_code, clippy::type_complexity)]
struct Running<G: Geometry> {
    new: fn(Model<G>, State<G>) -> Result<World<G>, ModelError>,
    copy: fn(&World<G>) -> World<G>,
    altered: fn(&World<G>, Model<G>, State<G>) -> Result<World<G>, ModelError>,
    reset: fn(&mut World<G>),
    foreseen_placement: fn(&World<G>) -> Result<Placement, StepError>,
    step: fn(&mut World<G>, &[f64]) -> Result<StepReport, StepError>,
    step_recorded: fn(&mut World<G>, &[f64]) -> Result<(StepReport, StepRecord<G>), StepError>,
}

impl<G: Geometry> Running<G> {
    const fn all() -> Self {
        Running {
            new: World::new,
            copy: World::copy,
            altered: World::altered,
            reset: World::reset,
            foreseen_placement: World::foreseen_placement,
            step: World::step_with,
            step_recorded: World::step_recorded,
        }
    }
}

/// A run and its derivatives.
// Types are those of the functions; nothing reads them.
#[allow(dead_code, clippy::type_complexity)]
struct Deriving<G: Geometry> {
    rollout: fn(&World<G>, usize, &[f64], Tape, &Interrupt) -> Result<Rollout<G>, StepError>,
    backward: fn(&Rollout<G>, &Cotangents, Wrt, Weak, &Interrupt) -> Result<Gradient, GradientError>,
    forward: fn(&Rollout<G>, &Direction, Weak) -> Result<(Vec<f64>, Vec<f64>), GradientError>,
    jacobian: fn(&Rollout<G>, usize, Wrt, Weak, &Interrupt) -> Result<StepJacobian, GradientError>,
    linearise: fn(&Rollout<G>, usize, Weak, &Interrupt) -> Result<Linearised, GradientError>,
}

impl<G: Geometry> Deriving<G> {
    const fn all() -> Self {
        Deriving {
            rollout: World::rollout_unless,
            backward: Rollout::backward_unless,
            forward: Rollout::forward_by,
            jacobian: Rollout::jacobian,
            linearise: Rollout::linearise,
        }
    }
}

/// Contacts, distances, rays.
// Types are those of the functions; nothing reads them.
#[allow(dead_code, clippy::type_complexity)]
struct Asking<G: Geometry> {
    contacts: fn(&World<G>) -> Vec<ContactReport<G>>,
    events: fn(&World<G>) -> Vec<ContactEvent<G>>,
    overlaps: fn(&World<G>) -> Vec<([usize; 2], f64)>,
    distance: fn(&World<G>, usize, usize) -> f64,
    ray: fn(&World<G>, G::Lin, G::Lin, &[usize]) -> Option<RayReport<G>>,
}

impl<G: Geometry> Asking<G> {
    const fn all() -> Self {
        Asking { contacts: World::contacts, events: World::events, overlaps: World::overlaps, distance: World::distance, ray: World::ray }
    }
}

/// Joint coordinates and the algorithms on them.
// Types are those of the functions; nothing reads them.
#[allow(dead_code, clippy::type_complexity)]
struct Reckoning<G: Geometry> {
    set_joints: fn(&mut World<G>, &[(&str, f64)], &[(&str, f64)]) -> Result<(), ModelError>,
    mass_matrix: fn(&World<G>) -> DMatrix<f64>,
    bias: fn(&World<G>) -> Result<Vec<f64>, ModelError>,
    forward_dynamics: fn(&World<G>, &[f64], &[f64], Contacts) -> Result<Vec<f64>, ModelError>,
    inverse_dynamics: fn(&World<G>, &[f64], Contacts) -> Result<Vec<f64>, ModelError>,
    inverse_kinematics: fn(&World<G>, &[Goal<G>], &ReachOptions) -> Result<Reach<G>, ModelError>,
}

impl<G: Geometry> Reckoning<G> {
    const fn all() -> Self {
        Reckoning {
            set_joints: World::set_joints,
            mass_matrix: World::mass_matrix,
            bias: World::bias,
            forward_dynamics: World::forward_dynamics,
            inverse_dynamics: World::inverse_dynamics,
            inverse_kinematics: World::inverse_kinematics,
        }
    }
}

/// The doors of the engine in one space.
type Doors<G> = (Running<G>, Deriving<G>, Asking<G>, Reckoning<G>);

const fn doors<G: Geometry>() -> Doors<G> {
    (Running::all(), Deriving::all(), Asking::all(), Reckoning::all())
}

// A static is compiled whether or not it is read; the linker drops it.
#[allow(dead_code)]
static PLANAR: Doors<Planar> = doors();
#[allow(dead_code)]
static SPATIAL: Doors<Spatial> = doors();

// Worlds are handed between threads and read by several at once.
const fn shared<T: Send + Sync>() {}
const _: () = (shared::<World<Planar>>(), shared::<World<Spatial>>()).0;
