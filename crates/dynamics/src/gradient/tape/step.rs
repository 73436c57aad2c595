//! The derivative of a whole step: its islands' substeps between the state before and the state after, theory (17.3).

use super::record::{IslandRecord, Substep};
use super::recorder::Recorder;
use crate::error::StepError;
use crate::gradient::named::parameters::Parameters;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::{Running, Stage, StageScratch, Switches};
use crate::gradient::schedule::substep::linearise;
use crate::gradient::system::weak::Weak;
use crate::island::{LocalBody, WORLD};
use crate::model::{BodyKind, Model};
use crate::world::{StepReport, World};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist};
use std::any::Any;

/// What a gradient is taken with respect to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrt {
    /// Initial state, controls and every parameter.
    #[default]
    Everything,
    /// Initial state and controls alone; parameters are held, which saves the derivatives by sizes and placements.
    StatesAndControls,
}

/// What a recorded step leaves behind.
#[derive(Clone, Debug)]
pub struct StepRecord<G: Geometry> {
    pub(crate) islands: Vec<IslandRecord<G>>,
    pub(crate) controls: Vec<f64>,
    pub(crate) poses: Vec<Pose<G>>,
    pub(crate) twists: Vec<Twist<G>>,
}

impl<G: Geometry> World<G> {
    /// One step that also records what its derivative needs.
    #[inline(never)]
    pub fn step_recorded(&mut self, controls: &[f64]) -> Result<(StepReport, StepRecord<G>), StepError> {
        let (poses, twists) = (self.state().poses.clone(), self.state().twists.clone());
        let (report, observers) = self.step_observed(controls, Recorder::watch)?;
        let recorders = observers.into_iter().filter_map(|observer| (observer as Box<dyn Any>).downcast::<Recorder<G>>().ok());
        let islands = recorders.map(|recorder| recorder.record).collect();
        Ok((report, StepRecord { islands, controls: controls.to_vec(), poses, twists }))
    }
}

impl<G: Geometry> StepRecord<G> {
    /// Whether another step took the same decisions: only then do differences between the two measure a derivative.
    pub fn same_decisions(&self, other: &Self) -> bool {
        self.islands.len() == other.islands.len() && self.islands.iter().zip(&other.islands).all(|(a, b)| a.same_decisions(b))
    }

    /// Contacts, limits and ropes that touch at the start of the step and push, or strike there.
    pub(crate) fn touching(&self) -> usize {
        self.islands.iter().filter_map(|island| island.substeps.first()).map(Substep::touching).sum()
    }

    /// Bytes held by the record.
    pub fn bytes(&self) -> usize {
        let ends = size_of_val(&self.poses[..]) + size_of_val(&self.twists[..]) + size_of_val(&self.controls[..]);
        size_of::<Self>() + ends + self.islands.iter().map(IslandRecord::bytes).sum::<usize>()
    }
}

/// Where the inputs and outputs of a step stand among the slots of its program.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// Parameters.
    pub parameters: Block,
    /// Controls.
    pub controls: Block,
    /// Poses before, all bodies.
    pub poses: Block,
    /// Velocities before.
    pub twists: Block,
    /// Poses after.
    pub poses_after: Block,
    /// Velocities after.
    pub twists_after: Block,
}

/// Writes the derivative of a step into a program.
pub(crate) fn differentiate<G: Geometry>(
    program: &mut Program<G>,
    model: &Model<G>,
    layout: &Parameters,
    record: &StepRecord<G>,
    (wrt, weak): (Wrt, Weak),
) -> (Ends, Switches) {
    program.clear();
    program.smoothing.begin(weak);
    if program.stage.prototypes.is_empty() {
        program.stage.prototypes.extend(model.bodies.iter().enumerate().map(|(index, body)| LocalBody::of(index, body, false)));
    }
    let mut switches = Switches::default();
    let count = model.bodies.len();
    let parameters = program.fresh(layout.len);
    if wrt == Wrt::StatesAndControls {
        program.freeze(parameters);
    }
    if let Some(mut sensor) = program.sensor.take() {
        sensor.out = program.fresh(1);
        program.sensor = Some(sensor);
    }
    let controls = program.fresh(record.controls.len());
    let poses = program.fresh(count * G::DOF);
    let twists = program.fresh(count * G::DOF);
    let poses_after = program.fresh(count * G::DOF);
    let twists_after = program.fresh(count * G::DOF);
    let body_block = |all: Block, body: usize| all.part(body * G::DOF, G::DOF);
    let step = parameters.part(layout.step, 1);

    for island in &record.islands {
        switches.weak += island.weak;
        program.sites.begin_island();
        let StageScratch { mut bodies, rows, flies, running: [mut own_poses, mut own_twists], prototypes } =
            std::mem::take(&mut program.stage);
        bodies.clear();
        bodies.extend(island.bodies.iter().map(|&i| if i == WORLD { LocalBody::world() } else { prototypes[i].clone() }));
        let moves = |index: usize| index != WORLD && model.bodies[index].kind != BodyKind::Static;
        own_poses.clear();
        own_poses.extend(island.bodies.iter().map(|&i| (i != WORLD).then(|| body_block(poses, i))));
        own_twists.clear();
        own_twists.extend(island.bodies.iter().map(|&i| moves(i).then(|| body_block(twists, i))));
        let mut running = Running { poses: own_poses, twists: own_twists, remaining: step, pace: None };
        let mut stage = Stage {
            model,
            parameters: (parameters, layout),
            controls: &record.controls,
            control_block: controls,
            bodies,
            joints: &island.joints,
            ties: &island.ties,
            tendons: &island.tendons,
            forces: &island.forces,
            rows,
            weak,
            flies,
        };
        switches.projected += usize::from(island.placed);
        for (number, substep) in island.substeps.iter().enumerate() {
            program.sites.begin_substep(number + 1 == island.substeps.len());
            linearise(program, &mut stage, substep, &mut running, &mut switches);
        }
        for (local, body) in stage.bodies.iter().enumerate().filter(|(_, b)| b.dynamic) {
            if let (Some(pose), Some(twist)) = (running.poses[local], running.twists[local]) {
                program.copy(body_block(poses_after, body.index), pose);
                program.copy(body_block(twists_after, body.index), twist);
            }
        }
        let Stage { bodies, rows, flies, .. } = stage;
        program.stage = StageScratch { bodies, rows, flies, running: [running.poses, running.twists], prototypes };
    }
    for (index, body) in model.bodies.iter().enumerate() {
        match body.kind {
            BodyKind::Dynamic => {}
            BodyKind::Static => program.copy(body_block(poses_after, index), body_block(poses, index)),
            BodyKind::Kinematic => {
                let twist = (body_block(twists, index), &record.twists[index]);
                crate::gradient::motion::moved::<G>(
                    program,
                    body_block(poses_after, index),
                    body_block(poses, index),
                    twist,
                    (Some(step), model.step),
                );
                program.copy(body_block(twists_after, index), body_block(twists, index));
            }
        }
    }
    switches.smoothed += program.smoothing.rows;
    switches.unconverged += program.smoothing.missed;
    (Ends { parameters, controls, poses, twists, poses_after, twists_after }, switches)
}
