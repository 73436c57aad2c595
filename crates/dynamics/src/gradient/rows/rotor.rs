//! Rotors of joints in the derivative of a step, theory (21.5)-(21.7): what the residual of a rotor's row has besides the speed of the row.

use super::joint_rows::JointAt;
use crate::constraints::{JointFunction, JointParameter};
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::{Running, Stage};
use crate::gradient::system::{Residual, System};
use crate::gradient::tape::record::Substep;
use crate::island::LocalJoint;
use carom_geometry::Geometry;
use carom_math::{Twist, Wrench};

const COORDINATE: JointFunction = JointFunction::Coordinate;

/// The rotor of a joint: its row in the system, its slot and its impulse there.
pub(crate) struct RotorRow {
    /// Row of the system.
    row: usize,
    /// Slot of the residual.
    pub out: Block,
    inverse: f64,
    impulse: f64,
}

impl RotorRow {
    /// Of a joint whose rows are the next of the system, with the impulses of a solve; `None` where it has no rotor.
    pub fn next<G: Geometry>(joint: &LocalJoint, reaction: &[f64], system: &System<G>) -> Option<Self> {
        (joint.inv_armature > 0.0).then(|| RotorRow {
            row: system.count() + joint.rows - 1,
            out: system.next_rows(joint.rows).part(joint.rows - 1, 1),
            inverse: joint.inv_armature,
            impulse: reaction[joint.first_row + joint.rows - 1],
        })
    }

    /// Adds y/I.
    pub fn give_way<G: Geometry>(&self, program: &mut Program<G>, at: &JointAt<G>, system: &mut System<G>) {
        system.entry(self.row, self.row, self.inverse);
        if let Some(block) = at.parameter(JointParameter::Armature) {
            program.scaled(self.out, block, -self.impulse * self.inverse * self.inverse);
        }
    }

    /// Adds - rho, the rate of twists before the impulse.
    pub fn take_rate<G: Geometry>(&self, program: &mut Program<G>, at: &JointAt<G>, twists: &[Twist<G>], slots: &[Option<Block>]) {
        at.rate(program, COORDINATE, 0, -1.0, twists, slots, self.out);
    }

    /// The rate after the impulse.
    fn after<G: Geometry>(&self, at: &JointAt<G>, twists: &[Twist<G>]) -> f64 {
        let rate: f64 = at.row(COORDINATE, 0).iter().map(|(body, row)| row.power(&twists[*body])).sum();
        rate - self.impulse * self.inverse
    }

    /// The whole residual of a move, (c(q') - c(q))/t + y/I - rho, where that of c(q')/t stands already; returns how it answers to the length.
    pub fn moved<G: Geometry>(
        &self,
        program: &mut Program<G>,
        start: &JointAt<G>,
        substep: &Substep<G>,
        running: &Running,
        time: Option<Block>,
        system: &mut System<G>,
    ) -> f64 {
        self.give_way(program, start, system);
        self.take_rate(program, start, &substep.twists, &running.twists);
        if substep.hold.uncorrected {
            return 0.0;
        }
        start.value(program, COORDINATE, 0, -1.0 / substep.length, self.out);
        let by_time = -self.after(start, &substep.twists) / substep.length;
        if let Some(time) = time {
            program.scaled(self.out, time, by_time);
        }
        by_time
    }

    /// The residual of a mean row, J v + y/I - rho with the mean of the rows at both ends, theory (21.7).
    pub fn mean<G: Geometry>(
        &self,
        program: &mut Program<G>,
        [start, end]: [&JointAt<G>; 2],
        substep: &Substep<G>,
        mean: &[Option<Block>],
        before: &[Option<Block>],
        system: &mut System<G>,
    ) -> Residual<G> {
        let mut out = start.rate(program, COORDINATE, 0, 0.5, &substep.midpoint.mean, mean, self.out);
        out.add(1.0, &end.rate(program, COORDINATE, 0, 0.5, &substep.midpoint.mean, mean, self.out));
        let twists = end.bodies.map(|body| substep.midpoint.mean[body]);
        let turned = end.joint.power_gradient(COORDINATE, end.poses[0], end.poses[1], &[0.5], &twists);
        out.pose = [(end.bodies[0], turned.bodies[0]), (end.bodies[1], turned.bodies[1])];
        self.give_way(program, start, system);
        self.take_rate(program, start, &substep.twists, before);
        out
    }
}

/// Slots of the rates of rotors at the end of a move, rho - y/I, joint by joint, from the unknowns of its system.
pub(crate) fn rates<G: Geometry>(
    program: &mut Program<G>,
    stage: &Stage<G>,
    substep: &Substep<G>,
    running: &Running,
    unknown: Block,
) -> Vec<Option<Block>> {
    let rate_of = |joint: &LocalJoint| {
        if joint.inv_armature == 0.0 {
            return None;
        }
        let out = program.fresh(1);
        let (inverse, row) = (joint.inv_armature, joint.first_row + joint.rows - 1);
        let at = stage.joint(joint, &substep.poses, &running.poses);
        at.rate(program, COORDINATE, 0, 1.0, &substep.twists, &running.twists, out);
        program.scaled(out, unknown.part(row, 1), -inverse);
        if let Some(block) = at.parameter(JointParameter::Armature) {
            program.scaled(out, block, substep.hold.reaction[row] * inverse * inverse);
        }
        Some(out)
    };
    stage.joints.iter().map(rate_of).collect()
}

/// Velocities before impulses that gave bodies the velocities after.
pub(crate) fn before<G: Geometry>(stage: &Stage<G>, after: &[Twist<G>], impulses: &[Wrench<G>]) -> Vec<Twist<G>> {
    let gained = stage.bodies.iter().zip(impulses).map(|(body, impulse)| body.response(impulse));
    after.iter().zip(gained).map(|(after, gained)| after.plus(-1.0, gained)).collect()
}
