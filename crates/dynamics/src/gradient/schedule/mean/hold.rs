//! What holds over a move under the midpoint rule: joints, contacts and limits at its end, motors and friction on mean twists, theory
//! (19.13)-(19.15).

use super::motion::MeanMove;
use crate::constraints::JointFunction;
use crate::contacts::Key;
use crate::gradient::rows::contact_point::ContactPoint;
use crate::gradient::rows::contact_rows::{self, Direction, along};
use crate::gradient::rows::friction_rows::{Speed, friction_rows};
use crate::gradient::rows::moment_rows;
use crate::gradient::rows::rate_row::RateRow;
use crate::gradient::rows::rotor::RotorRow;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::schedule::stage::{Stage, Switches};
use crate::gradient::system::{Residual, Sides, System, nothing};
use crate::gradient::tape::record::{RowSource, Substep};
use carom_geometry::Geometry;
use carom_math::{Vector, Wrench};

/// A move around its solution: slots before the impulses change.
pub(crate) struct MeanHold<'a, G: Geometry> {
    /// The substep.
    pub substep: &'a Substep<G>,
    /// How each body moves that impulses move.
    pub moves: &'a [Option<MeanMove<G>>],
    /// Slots of the poses at the start.
    pub starts: &'a [Option<Block>],
    /// Slots of the poses at the end.
    pub ends: &'a [Option<Block>],
    /// Slots of the mean twists.
    pub mean: &'a [Option<Block>],
    /// Slots of the velocities at the start.
    pub before: &'a [Option<Block>],
    /// Slots of the path.
    pub path: &'a [Option<Block>],
    /// Slot of the length, unless that is an unknown.
    pub time: Option<Block>,
}

impl<G: Geometry> MeanHold<'_, G> {
    /// Joint residuals: phi(q')/t, or J v where only the start pose counts; impulses act along mean rows.
    pub fn joints(&self, program: &mut Program<G>, stage: &Stage<G>, rows: &[Sides<G>], system: &mut System<G>) {
        let substep = self.substep;
        for joint in stage.joints.iter().filter(|j| j.rows > 0) {
            let out = system.next_rows(joint.rows);
            let rotor = RotorRow::next(joint, &substep.hold.reaction, system);
            let held = joint.rows - usize::from(rotor.is_some());
            let out = out.part(0, held);
            let function = JointFunction::Equalities;
            if substep.hold.uncorrected {
                let start = stage.joint(joint, &substep.poses, self.starts);
                start.rates(program, function, 1.0, &substep.midpoint.mean, self.mean, out);
            } else {
                stage.joint(joint, &substep.next, self.ends).values(program, function, 1.0 / substep.length, out);
            }
            for k in joint.first_row..joint.first_row + held {
                let row = if substep.hold.uncorrected {
                    Residual { velocity: stage.rows[0][k], ..Residual::zero() }
                } else {
                    let pose = stage.rows[1][k].map(|(body, row)| (body, Wrench::zero().plus(1.0 / substep.length, row)));
                    Residual { pose, ..Residual::zero() }
                };
                system.push(row, rows[k]);
            }
            if let Some(rotor) = rotor {
                let ends = [stage.joint(joint, &substep.poses, self.starts), stage.joint(joint, &substep.next, self.ends)];
                let row = rotor.mean(program, [&ends[0], &ends[1]], substep, self.mean, self.before, system);
                system.push(row, rows[joint.first_row + held]);
            }
        }
    }

    /// Residuals of contacts, limits, motors, friction and springs.
    pub fn rows(
        &self,
        program: &mut Program<G>,
        stage: &Stage<G>,
        points: &[Option<ContactPoint<G>>],
        system: &mut System<G>,
        switches: &mut Switches,
    ) -> Vec<(Key<G>, ContactPoint<G>)> {
        let substep = self.substep;
        let t = substep.length;
        let mut ends = Vec::with_capacity(points.len());
        let mut normal_row = 0;
        for (group, point) in substep.hold.pushed.iter().zip(points) {
            let (joint, function) = match (group.source, point) {
                (RowSource::Contact { key, bodies, friction, deep, .. }, Some(start)) => {
                    let at_end = group.held || !(deep || substep.hold.uncorrected);
                    let end =
                        at_end.then(|| ContactPoint::felt(program, stage.model, stage.parameters, key, bodies, &substep.next, self.ends));
                    if let Some(end) = end {
                        switches.irregular += usize::from(!end.regular);
                        ends.push((key, end));
                    }
                    let first = system.count();
                    normal_row = first;
                    let row = self.normal(program, start, end.as_ref(), deep, system.next());
                    system.push(row, along(start, start.contact.normal));
                    if friction > 0.0 {
                        let speeds = self.slip(program, start, end.as_ref().filter(|_| group.held));
                        friction_rows(program, stage, key.bodies, friction, group, first, start, speeds, system, switches);
                    }
                    continue;
                }
                (RowSource::Moment { .. }, point) => {
                    if let Some(start) = point {
                        let twists = (&substep.midpoint.mean[..], self.mean);
                        moment_rows::rows(program, stage, group, normal_row, start, twists, system, switches);
                    }
                    continue;
                }
                (RowSource::Limit { joint, index, .. }, _) => (joint, JointFunction::Inequality(index)),
                (RowSource::Motor { joint } | RowSource::Friction { joint }, _) => (joint, JointFunction::Coordinate),
                (RowSource::Spring { joint }, _) => (joint, JointFunction::SpringLength),
                (RowSource::Contact { .. }, None) => continue,
                // Couplings are refused here.
                (RowSource::TendonLimit { .. } | RowSource::Tendon { .. }, _) => continue,
            };
            let start = stage.joint(&stage.joints[joint], &substep.poses, self.starts);
            let out = system.next();
            let row = match group.source {
                RowSource::Limit { deep, .. } if group.held || !(deep || substep.hold.uncorrected) => {
                    if deep {
                        start.value(program, function, 0, -1.0 / t, out);
                    }
                    stage.joint(&stage.joints[joint], &substep.next, self.ends).value(program, function, 0, 1.0 / t, out)
                }
                RowSource::Limit { .. } => start.rate(program, function, 0, 1.0, &substep.midpoint.mean, self.mean, out),
                _ => {
                    let share = stage.model.options.scheme().share;
                    let rate = RateRow { stage, twists: &substep.midpoint.mean, velocity: self.mean, time: self.time, length: t, share };
                    Residual { pose: nothing(), ..rate.residual(program, &start, group, system, switches) }
                }
            };
            system.push(row, start.row(function, 0));
        }
        ends
    }

    /// The gap at the end of the move, or the speed along the normal where the overlap at the start is left alone.
    fn normal(
        &self,
        program: &mut Program<G>,
        start: &ContactPoint<G>,
        end: Option<&ContactPoint<G>>,
        deep: bool,
        out: Block,
    ) -> Residual<G> {
        let t = self.substep.length;
        if let Some(end) = end {
            if deep {
                contact_rows::gap(program, out, -1.0 / t, start);
            }
            return Residual { pose: contact_rows::gap(program, out, 1.0 / t, end), ..Residual::zero() };
        }
        let normal = Direction { value: start.contact.normal, own: &|dn| dn, earlier: None };
        let (velocity, _) = contact_rows::speed(program, out, 1.0, start, &normal, &self.substep.midpoint.mean, self.mean, self.starts);
        let gap = start.contact.gap.max(0.0);
        let mut time = 0.0;
        if gap > 0.0 {
            contact_rows::gap(program, out, 1.0 / t, start);
            time = -gap / (t * t);
            if let Some(slot) = self.time {
                program.scaled(out, slot, time);
            }
        }
        Residual { velocity, pose: nothing(), time }
    }

    /// Slip along each tangent: that of the mean twist at the start, and half of what the path's slip gains till the end, theory (19.15).
    fn slip(&self, program: &mut Program<G>, start: &ContactPoint<G>, end: Option<&ContactPoint<G>>) -> [Option<Speed<G>>; 2] {
        let substep = self.substep;
        let tangents = start.tangents();
        [0, 1].map(|k| {
            if k >= G::TANGENTS {
                return None;
            }
            let block = program.fresh(1);
            let tangent = tangents[k];
            let own = |dn: G::Lin| start.turned(k, dn);
            let here = Direction { value: tangent, own: &own, earlier: None };
            let (velocity, _) = contact_rows::speed(program, block, 1.0, start, &here, &substep.midpoint.mean, self.mean, self.starts);
            let mut row = Residual { velocity, pose: nothing(), time: 0.0 };
            let mut value = tangent.dot(start.slip(&substep.midpoint.mean));
            if let Some(end) = end {
                let (lost, _) = contact_rows::speed(program, block, -0.5, start, &here, &substep.half, self.path, self.starts);
                let then = end.contact.normal;
                let across = tangent - then * then.dot(tangent);
                let (carried, length) = (across.unit(), across.norm());
                let settle = |d: G::Lin| (d - carried * carried.dot(d)) * (1.0 / length);
                let own = |dn: G::Lin| settle(-(dn * then.dot(tangent) + then * dn.dot(tangent)));
                let earlier = |dn: G::Lin| {
                    let turned = start.turned(k, dn);
                    settle(turned - then * then.dot(turned))
                };
                let there = Direction { value: carried, own: &own, earlier: Some((start.block, &earlier)) };
                let (gained, pose) = contact_rows::speed(program, block, 0.5, end, &there, &substep.half, self.path, self.ends);
                for side in 0..2 {
                    for (body, covector) in [lost[side], gained[side]] {
                        let (mean, time) = self.on_mean(body, &covector);
                        row.velocity[side].1 = row.velocity[side].1.plus(1.0, mean);
                        row.time += time;
                    }
                }
                row.pose = pose;
                value += 0.5 * (carried.dot(end.slip(&substep.half)) - tangent.dot(start.slip(&substep.half)));
            }
            Some(Speed { block, value, row })
        })
    }

    /// A covector on the path as one on the mean twist and on the length; a body that impulses do not move has neither.
    fn on_mean(&self, body: usize, covector: &Wrench<G>) -> (Wrench<G>, f64) {
        let Some(of) = &self.moves[body] else { return (Wrench::zero(), 0.0) };
        let as_twist = carom_math::Twist { lin: covector.lin, ang: covector.ang };
        let mean = of.path_change(as_twist);
        (Wrench { lin: mean.lin, ang: mean.ang }, covector.power(&of.path_by_length()))
    }
}
