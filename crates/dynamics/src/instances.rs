//! The engine in both spaces, compiled once.
//!
//! The engine is generic, so every crate, test and example above would compile it again, 20 s of it each time. A generic function that is
//! marked `inline(never)` is shared between crates instead, wherever a crate below has compiled it: the doors of the engine are marked so,
//! and these tables make this crate compile them with all that lies behind them.

use crate::error::{ModelError, StepError};
use crate::gradient::{Cotangents, Direction, Gradient, GradientError, Linearised, Rollout, StepJacobian, StepRecord, Tape, Weak, Wrt};
use crate::model::Model;
use crate::start::Placement;
use crate::state::State;
use crate::world::{StepReport, World};
use carom_geometry::Geometry;
use carom_math::{Planar, Spatial};
use carom_solve::interrupt::Interrupt;

/// The doors of the engine in one space.
// Types are those of the functions; nothing reads them.
#[allow(dead_code, clippy::type_complexity)]
struct Doors<G: Geometry> {
    new: fn(Model<G>, State<G>) -> Result<World<G>, ModelError>,
    copy: fn(&World<G>) -> World<G>,
    altered: fn(&World<G>, Model<G>, State<G>) -> Result<World<G>, ModelError>,
    reset: fn(&mut World<G>),
    foreseen_placement: fn(&World<G>) -> Result<Placement, StepError>,
    step: fn(&mut World<G>, &[f64]) -> Result<StepReport, StepError>,
    step_recorded: fn(&mut World<G>, &[f64]) -> Result<(StepReport, StepRecord<G>), StepError>,
    rollout: fn(&World<G>, usize, &[f64], Tape) -> Result<Rollout<G>, StepError>,
    backward: fn(&Rollout<G>, &Cotangents, Wrt, Weak) -> Result<Gradient, GradientError>,
    forward: fn(&Rollout<G>, &Direction, Weak) -> Result<(Vec<f64>, Vec<f64>), GradientError>,
    jacobian: fn(&Rollout<G>, usize, Wrt, Weak, &Interrupt) -> Result<StepJacobian, GradientError>,
    linearise: fn(&Rollout<G>, usize, Weak, &Interrupt) -> Result<Linearised, GradientError>,
}

impl<G: Geometry> Doors<G> {
    const fn all() -> Self {
        Doors {
            new: World::new,
            copy: World::copy,
            altered: World::altered,
            reset: World::reset,
            foreseen_placement: World::foreseen_placement,
            step: World::step_with,
            step_recorded: World::step_recorded,
            rollout: World::rollout,
            backward: Rollout::backward_by,
            forward: Rollout::forward_by,
            jacobian: Rollout::jacobian,
            linearise: Rollout::linearise,
        }
    }
}

// A static is compiled whether or not it is read; the linker drops it.
#[allow(dead_code)]
static PLANAR: Doors<Planar> = Doors::all();
#[allow(dead_code)]
static SPATIAL: Doors<Spatial> = Doors::all();
