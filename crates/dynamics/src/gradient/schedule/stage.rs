//! What the substeps of an island share while they are differentiated: model, slots of parameters and controls, bodies, joints, and the
//! running slots of the state; and what makes a derivative less than exact.

use super::program::{Block, Program};
use crate::body_load::{RESISTANCES, Resisting};
use crate::combine::Coefficient;
use crate::constraints::{MAX_ROWS, Motor, Row};
use crate::coupling::LocalTie;
use crate::gradient::motion::MassBlocks;
use crate::gradient::named::parameters::Parameters;
use crate::gradient::rows::friction_mode::FrictionMode;
use crate::gradient::rows::joint_rows::JointAt;
use crate::gradient::system::Sides;
use crate::gradient::system::weak::Weak;
use crate::gradient::tape::record::{RowSource, Substep};
use crate::island::{LocalBody, LocalJoint};
use crate::keyed::keyed;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::Pose;

keyed! {
    /// What makes a derivative less than exact on both sides, counted.
    Switches of usize {
        /// Contacts with neither slack nor impulse: the derivative is one-sided.
        weak,
        /// Contacts at the border of sticking and sliding.
        friction,
        /// Times of impact with a closing speed near zero.
        grazing,
        /// Contacts whose features have no derivative here.
        irregular,
        /// Impact laws at the border of two branches or of two sequences.
        impacts,
        /// Positions were projected; the derivative leaves that out.
        projected,
        /// Solves that did not converge, and lengths that were held.
        unconverged,
        /// Moves that were stepped: the derivative says nothing about the times of their impacts.
        stepped,
        /// Rows whose complementarity was smoothed.
        smoothed,
        /// Contacts whose coefficients have no slope with respect to those of their bodies: a tie under `max` or `min`, `geometric` at 0.
        combined,
    }
}

impl Switches {
    /// Whether the derivative is exact and two-sided.
    pub fn is_exact(&self) -> bool {
        *self == Switches::default()
    }
    /// Rows at a switch that have two sides to choose from.
    pub fn choices(&self) -> usize {
        self.weak + self.friction
    }
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Switches) {
        self.list_mut().into_iter().zip(other.list()).for_each(|(count, more)| *count += more);
    }
}

/// The lists of a stage and of the running state, kept from island to island.
#[derive(Debug)]
pub(crate) struct StageScratch<G: Geometry> {
    /// Bodies.
    pub bodies: Vec<LocalBody<G>>,
    /// Rows of the joint equalities.
    pub rows: [Vec<Sides<G>>; 2],
    /// Which bodies fly.
    pub flies: Vec<bool>,
    /// Slots of poses and velocities.
    pub running: [Vec<Option<Block>>; 2],
    /// Every body of the model as an island sees it, once it was asked for; a program serves one model.
    pub prototypes: Vec<LocalBody<G>>,
}

impl<G: Geometry> Default for StageScratch<G> {
    fn default() -> Self {
        StageScratch {
            bodies: Vec::new(),
            rows: [Vec::new(), Vec::new()],
            flies: Vec::new(),
            running: [Vec::new(), Vec::new()],
            prototypes: Vec::new(),
        }
    }
}

/// What all substeps of an island share.
pub(crate) struct Stage<'a, G: Geometry> {
    /// The model.
    pub model: &'a Model<G>,
    /// Slots of the parameters and their layout.
    pub parameters: (Block, &'a Parameters),
    /// Controls of the step.
    pub controls: &'a [f64],
    /// Their slots.
    pub control_block: Block,
    /// Bodies, with their inertias at the pose at hand.
    pub bodies: Vec<LocalBody<G>>,
    /// Joints.
    pub joints: &'a [LocalJoint],
    /// Couplings.
    pub ties: &'a [LocalTie],
    /// Tendons.
    pub tendons: &'a [LocalTie],
    /// Forces.
    pub forces: &'a [(usize, usize, Option<usize>)],
    /// Rows of the joint equalities at the start of the substep and at its end.
    pub rows: [Vec<Sides<G>>; 2],
    /// What the derivative is at a switch.
    pub weak: Weak,
    /// Bodies that nothing but gravity and damping moves in the substep at hand.
    pub flies: Vec<bool>,
}

/// Slots of the running state of an island.
pub(crate) struct Running {
    /// Poses; none for the world.
    pub poses: Vec<Option<Block>>,
    /// Velocities; none for what never moves.
    pub twists: Vec<Option<Block>>,
    /// What is left of the step.
    pub remaining: Block,
    /// The pace, once it is set.
    pub pace: Option<Block>,
}

impl<'a, G: Geometry> Stage<'a, G> {
    /// Turns every inertia to poses.
    pub fn turn_to(&mut self, poses: &[Pose<G>]) {
        for (body, pose) in self.bodies.iter_mut().zip(poses) {
            body.turn_to(pose);
        }
    }
    /// What resists the motion of a body.
    pub fn resistances(&self, body: &LocalBody<G>) -> Resisting {
        if body.damped { self.model.bodies[body.index].resistances.list() } else { [0.0; RESISTANCES] }
    }
    /// Takes every body by the maps of rows.
    pub fn walk_all(&mut self) {
        self.flies.clear();
        self.flies.resize(self.bodies.len(), false);
    }
    /// Finds the rows of the joint equalities at the start (0) or at the end (1) of a substep.
    pub fn find_rows(&mut self, poses: &[Pose<G>], end: usize) {
        let mut rows = std::mem::take(&mut self.rows[end]);
        rows.clear();
        for joint in self.joints.iter().filter(|j| j.rows > 0) {
            debug_assert_eq!(rows.len(), joint.first_row, "rows stand in the order of the joints");
            let bodies = joint.bodies;
            let mut found = [Row::zero(); MAX_ROWS];
            self.model.joints[joint.index].step_rows(&poses[bodies[0]], &poses[bodies[1]], &mut found);
            rows.extend(found[..joint.rows].iter().map(|row| [(bodies[0], row.a), (bodies[1], row.b)]));
        }
        self.rows[end] = rows;
    }
    /// Slots of mass and inertia of a local body.
    pub fn mass(&self, local: usize) -> MassBlocks {
        let slots = &self.parameters.1.bodies[self.bodies[local].index];
        MassBlocks {
            mass: self.parameters.0.part(slots.mass, 1),
            inertia: self.parameters.0.part(slots.inertia.start, slots.inertia.len()),
        }
    }
    /// The control of a joint, 0 where it has none.
    pub fn asked(&self, joint: &LocalJoint) -> f64 {
        joint.control.and_then(|control| self.controls.get(control)).copied().unwrap_or(0.0)
    }
    /// The slot of the control that is the target of a joint's servo.
    pub fn target_slot(&self, joint: &LocalJoint) -> Option<Block> {
        let controlled = matches!(self.model.joints[joint.index].motor, Some(Motor::Servo { control: true, .. }));
        joint.control.filter(|_| controlled).map(|control| self.control_block.part(control, 1))
    }
    /// A joint at poses.
    pub fn joint<'b>(&'b self, joint: &LocalJoint, poses: &'b [Pose<G>], blocks: &[Option<Block>]) -> JointAt<'b, G> {
        let range = &self.parameters.1.joints[joint.index];
        let parameters = self.parameters.0.part(range.start, range.len());
        JointAt::new((&self.model.joints[joint.index], joint.index), joint.bodies, poses, blocks, parameters)
    }
    /// Fresh blocks for the bodies that impulses move.
    pub fn fresh(&self, program: &mut Program<G>) -> Vec<Option<Block>> {
        self.bodies.iter().zip(&self.flies).map(|(b, flies)| (b.dynamic && !flies).then(|| program.fresh(G::DOF))).collect()
    }
    /// The slots that a coefficient of two bodies of the model comes from, with weights.
    pub fn coefficient(&self, bodies: [usize; 2], which: Coefficient) -> impl Iterator<Item = (Block, f64)> + use<'a, G> {
        let (theta, layout) = self.parameters;
        layout.coefficient(self.model, bodies, which).map(move |(slot, weight)| (theta.part(slot, 1), weight))
    }
    /// Contacts of a substep that depend on a coefficient without a slope: those that slide or could, and those that strike.
    pub fn combined(&self, substep: &Substep<G>) -> usize {
        let smooth = |bodies: [usize; 2], which: Coefficient| self.parameters.1.smooth(self.model, bodies, which);
        let struck = substep.strikes.iter().flat_map(|strike| strike.contacts.iter().map(|(key, _)| (key.bodies, true, strike.elastic)));
        let pushed = substep.hold.pushed.iter().chain(&substep.finish.pushed).filter_map(|group| match group.source {
            RowSource::Contact { key, friction, rebound, .. } => {
                Some((key.bodies, friction <= 0.0 || group.friction != FrictionMode::Sticks, rebound.is_some()))
            }
            _ => None,
        });
        let rough = |(bodies, slides, bounces): &([usize; 2], bool, bool)| {
            (*slides && !smooth(*bodies, Coefficient::Friction)) || (*bounces && !smooth(*bodies, Coefficient::Restitution))
        };
        struck.chain(pushed).filter(rough).count()
    }
}
