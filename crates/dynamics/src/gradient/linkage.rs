//! A substep of bodies that joints alone hold: the derivative of rooms 4 to 7 in two maps over flat lists, theory (17.40)-(17.42).
//!
//! Where nothing but joints and loads acts, what every body and every joint does is known beforehand; one walk over the bodies and one over
//! the joints take the place of the many small maps of `substep`.

use super::loads::loads;
use super::motion::{ImplicitRate, Unfolded, carrier};
use super::program::{Block, Program};
use super::record::{Length, Substep};
use super::slots::put;
use super::sparse::Factored;
use super::stage::{Running, Stage};
use super::system::Sides;
use super::weak::Weak;
use crate::constraints::{Joint, JointGradient, MAX_PARAMETERS};
use crate::island::LocalJoint;
use crate::options::Integrator;
use crate::predict::kick_share;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};

/// A body of a linkage over a substep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkBody<G: Geometry> {
    /// Whether impulses move it.
    pub dynamic: bool,
    /// Slots of the pose at q, none for the world, and of the velocity, none for what never moves.
    pub pose: Option<Block>,
    /// Velocity before.
    pub twist: Option<Block>,
    /// Mass and inertia in the body frame, where they are asked about.
    pub mass: Option<Block>,
    /// Inertia in the body frame.
    pub inertia_block: Option<Block>,
    /// Inverse mass per axis [1/kg].
    pub inv_mass: G::Lin,
    /// One over the mass [1/kg].
    pub per_mass: f64,
    /// Inverse inertia at q and at q'.
    pub inv_inertia: [G::Inertia; 2],
    /// Inertia at q'.
    pub inertia: G::Inertia,
    /// Turn of the move.
    pub turn: G::Rot,
    /// How a covector on the orientation at q' is carried over the move, columns over the length of the move.
    pub carrier: [G::Ang; 3],
    /// Loads at q and at q'.
    pub force: [Wrench<G>; 2],
    /// Impulses of loads and rows at q and at q'.
    pub total: [Wrench<G>; 2],
    /// Velocity of the move and at q'.
    pub twists: [Twist<G>; 2],
    /// The implicit rate at q', where there is one.
    pub rate: Option<(ImplicitRate<G>, Unfolded)>,
}

/// A substep of a linkage.
#[derive(Debug)]
pub(crate) struct Linkage<G: Geometry> {
    pub(super) bodies: Vec<LinkBody<G>>,
    /// Joints with rows, each with its parameters where they are asked about.
    pub(super) joints: Vec<(LocalJoint, Option<Block>)>,
    /// Poses q and q'.
    pub(super) poses: [Vec<Pose<G>>; 2],
    /// Rows at q and at q'.
    pub(super) rows: [Vec<Sides<G>>; 2],
    /// Impulses of the rows at q and at q'.
    pub(super) reaction: [Vec<f64>; 2],
    /// Factors of both rooms, none without rows.
    pub(super) factors: [Option<Factored>; 2],
    pub(super) length: f64,
    pub(super) share: f64,
    pub(super) time: Block,
    /// Slots by local body: loads, impulses and answers of both rooms; then q', velocity of the move, velocity at the end.
    pub(super) wrenches: [Block; 2],
    pub(super) impulses: [Block; 2],
    pub(super) answers: [Block; 2],
    pub(super) next: Block,
    pub(super) half: Block,
    pub(super) end: Block,
    /// Slots by row: residuals and unknowns of both rooms.
    pub(super) residuals: [Block; 2],
    pub(super) unknowns: [Block; 2],
}

impl<G: Geometry> Default for Linkage<G> {
    fn default() -> Self {
        let nowhere = [Block::NOWHERE; 2];
        Linkage {
            bodies: Vec::new(),
            joints: Vec::new(),
            poses: [Vec::new(), Vec::new()],
            rows: [Vec::new(), Vec::new()],
            reaction: [Vec::new(), Vec::new()],
            factors: [None; 2],
            length: 0.0,
            share: 0.0,
            time: Block::NOWHERE,
            wrenches: nowhere,
            impulses: nowhere,
            answers: nowhere,
            next: Block::NOWHERE,
            half: Block::NOWHERE,
            end: Block::NOWHERE,
            residuals: nowhere,
            unknowns: nowhere,
        }
    }
}

/// Whether a substep is one of joints and loads alone.
pub(crate) fn applies<G: Geometry>(stage: &Stage<G>, substep: &Substep<G>) -> bool {
    let options = &stage.model.options;
    // A choice at switches may let rows without an impulse speak.
    let silent = stage.weak == Weak::AsSolved || (substep.hold.idle.is_empty() && substep.finish.idle.is_empty());
    options.integrator == Integrator::Verlet
        && silent
        && !options.forward()
        && substep.strikes.is_empty()
        && !matches!(substep.rule, Length::Event(..))
        && substep.hold.pushed.is_empty()
        && substep.finish.pushed.is_empty()
        && !substep.hold.uncorrected
}

/// Adds the derivative of a substep to which this applies; the running poses and velocities become those of its end. `false`, and nothing is
/// changed, where its rows repeat others in a way that only the whole matrix tells.
pub(crate) fn linearise<G: Geometry>(
    program: &mut Program<G>,
    stage: &mut Stage<G>,
    substep: &Substep<G>,
    running: &mut Running,
    time: Block,
) -> bool {
    let mut linkage = program.take_linkage();
    let (count, all) = (stage.bodies.len(), stage.bodies.len() * G::DOF);
    linkage.wrenches = [program.fresh(all), program.fresh(all)];
    let part = |block: Block, local: usize| block.part(local * G::DOF, G::DOF);
    let dynamic: Vec<bool> = stage.bodies.iter().map(|body| body.dynamic).collect();
    let moving = |block: Block| -> Vec<Option<Block>> { (0..count).map(|local| dynamic[local].then(|| part(block, local))).collect() };

    // 3. Loads at q, while the inertias stand there.
    let (poses, twists) = ((&substep.poses[..], &running.poses[..]), (&substep.twists[..], &running.twists[..]));
    let forces = loads(program, stage, substep.time, poses, twists, &moving(linkage.wrenches[0]), G::ANG > 1);
    linkage.gather(program, stage, substep, running, time);
    if !linkage.factor(program) {
        stage.turn_to(&substep.poses);
        program.return_linkage(linkage);
        return false;
    }
    linkage.add_loads(0, &forces);

    // 4. to 6.
    let rows = linkage.rows[0].len();
    for room in 0..2 {
        linkage.impulses[room] = program.fresh(all);
        linkage.answers[room] = program.fresh(all);
        linkage.residuals[room] = program.fresh(rows);
        linkage.unknowns[room] = program.fresh(rows);
    }
    linkage.next = program.fresh(all);
    linkage.half = program.fresh(all);
    linkage.end = program.fresh(all);
    let wrenches = moving(linkage.wrenches[1]);
    let own =
        |block: Block| (0..count).map(|local| if dynamic[local] { Some(part(block, local)) } else { running.twists[local] }).collect();
    let half: Vec<Option<Block>> = own(linkage.half);
    let end: Vec<Option<Block>> = own(linkage.end);
    let next: Vec<Option<Block>> = (0..count).map(|local| running.poses[local].map(|_| part(linkage.next, local))).collect();
    let number = program.move_linkage(linkage);

    // 7. Loads at q', then the finish.
    let (poses, twists) = ((&substep.next[..], &next[..]), (&substep.half[..], &half[..]));
    let forces = loads(program, stage, substep.time + substep.length, poses, twists, &wrenches, false);
    program.linkage(number).add_loads(1, &forces);
    program.finish_linkage(number);
    running.poses = next;
    running.twists = end;
    true
}

impl<G: Geometry> Linkage<G> {
    /// Slots of a local body.
    #[inline]
    pub(super) fn part(block: Block, local: usize) -> std::ops::Range<usize> {
        block.part(local * G::DOF, G::DOF).range()
    }

    /// Takes over what a substep recorded; the stage turns from q to q'.
    fn gather(&mut self, program: &Program<G>, stage: &mut Stage<G>, substep: &Substep<G>, running: &Running, time: Block) {
        (self.length, self.time) = (substep.length, time);
        self.share = kick_share(stage.model.options.integrator);
        // Walking backwards, q' is the q of the step that was here before: its rows are known.
        let known = self.poses[0] == substep.next
            && self.joints.iter().map(|(joint, _)| name(joint)).eq(stage.joints.iter().filter(|j| j.rows > 0).map(name));
        self.poses[0].clone_from(&substep.poses);
        self.poses[1].clone_from(&substep.next);
        self.reaction[0].clone_from(&substep.hold.reaction);
        self.reaction[1].clone_from(&substep.finish.reaction);
        self.rows.swap(0, 1);
        std::mem::swap(&mut self.rows[0], &mut stage.rows[0]);
        stage.find_rows(&substep.poses, 0);
        std::mem::swap(&mut self.rows[0], &mut stage.rows[0]);
        if !known {
            std::mem::swap(&mut self.rows[1], &mut stage.rows[1]);
            stage.find_rows(&substep.next, 1);
            std::mem::swap(&mut self.rows[1], &mut stage.rows[1]);
        }
        self.joints.clear();
        for joint in stage.joints.iter().filter(|joint| joint.rows > 0) {
            let range = &stage.parameters.1.joints[joint.index];
            self.joints.push((*joint, program.free(stage.parameters.0.part(range.start, range.len()))));
        }
        self.bodies.clear();
        let per_time = 1.0 / substep.length;
        for (local, body) in stage.bodies.iter().enumerate() {
            let blocks = body.dynamic.then(|| stage.mass(local));
            let half = substep.half[local];
            self.bodies.push(LinkBody {
                dynamic: body.dynamic,
                pose: running.poses[local],
                twist: running.twists[local],
                mass: blocks.and_then(|blocks| program.free(blocks.mass)),
                inertia_block: blocks.and_then(|blocks| program.free(blocks.inertia)),
                inv_mass: body.inv_mass,
                per_mass: if body.mass > 0.0 { 1.0 / body.mass } else { 0.0 },
                inv_inertia: [body.inv_inertia; 2],
                inertia: body.inertia,
                carrier: if G::ANG > 1 { carrier::<G>(&half, substep.length).map(|column| column * per_time) } else { [G::Ang::zero(); 3] },
                turn: if G::ANG > 1 { G::exp(half.ang * substep.length) } else { G::identity() },
                force: [Wrench::zero(); 2],
                total: [Wrench::zero(); 2],
                twists: [half, substep.end[local]],
                rate: None,
            });
        }
        stage.turn_to(&substep.next);
        for (local, (own, body)) in self.bodies.iter_mut().zip(&stage.bodies).enumerate().filter(|(_, (own, _))| own.dynamic) {
            own.inertia = body.inertia;
            own.inv_inertia[1] = body.inv_inertia;
            if G::ANG > 1 && body.turns() {
                let (before, after) = (substep.half[local].ang, substep.end[local].ang);
                let rate = ImplicitRate { before, after, duration: self.share * self.length };
                own.rate = Some((rate, rate.unfolded(body.inertia)));
            }
        }
        for room in 0..2 {
            for (row, &impulse) in self.rows[room].iter().zip(&self.reaction[room]) {
                for (body, row) in row {
                    let total = &mut self.bodies[*body].total[room];
                    *total = total.plus(impulse, *row);
                }
            }
        }
    }

    /// Adds the loads of a room.
    fn add_loads(&mut self, room: usize, forces: &[Wrench<G>]) {
        let time = self.share * self.length;
        for (body, force) in self.bodies.iter_mut().zip(forces) {
            body.force[room] = *force;
            body.total[room] = body.total[room].plus(time, *force);
        }
    }

    /// Factors both rooms, theory (17.12) and (17.20).
    fn factor(&mut self, program: &mut Program<G>) -> bool {
        self.factors = [None; 2];
        if self.rows[0].is_empty() {
            return true;
        }
        for room in 0..2 {
            let Linkage { bodies, rows, .. } = self;
            let movable = |body: usize| bodies[body].dynamic;
            let respond = |body: usize, wrench: &Wrench<G>| bodies[body].response(room, wrench);
            let lists = (&rows[1][..], &rows[room][..]);
            // phi(q')/t by the velocity of the move, then J v by that at q'.
            let found = if room == 0 {
                program.sparse.factor_rows(lists, movable, |body, covector| bodies[body].carried(covector), respond)
            } else {
                program.sparse.factor_rows(lists, movable, |_, covector| *covector, respond)
            };
            self.factors[room] = found.or_else(|| self.factor_searched(program, room));
            if self.factors[room].is_none() {
                return false;
            }
        }
        true
    }

    /// Factors a room with a search for pivots.
    fn factor_searched(&self, program: &mut Program<G>, room: usize) -> Option<Factored> {
        let felt: Vec<Sides<G>> = self.rows[1]
            .iter()
            .map(|row| row.map(|(body, covector)| (body, if room == 0 { self.bodies[body].carried(&covector) } else { covector })))
            .collect();
        let given: Vec<[(usize, Twist<G>); 2]> =
            self.rows[room].iter().map(|row| row.map(|(body, wrench)| (body, self.bodies[body].response(room, &wrench)))).collect();
        program.sparse.factor(&felt, &given, &[], &[]).map(|found| found.0)
    }
}

impl<G: Geometry> LinkBody<G> {
    /// The covector on the velocity of the move of one on q', over the length of the move.
    #[inline]
    pub(super) fn carried(&self, covector: &Wrench<G>) -> Wrench<G> {
        if G::ANG == 1 {
            return *covector;
        }
        let columns = &self.carrier;
        Wrench { lin: covector.lin, ang: columns[0] * covector.ang[0] + columns[1] * covector.ang[1] + columns[2] * covector.ang[2] }
    }

    /// The velocity that an impulse gives in a room.
    #[inline]
    pub(super) fn response(&self, room: usize, impulse: &Wrench<G>) -> Twist<G> {
        let ang = match (&self.rate, room) {
            (Some((_, unfolded)), 1) => ImplicitRate::<G>::unfold(unfolded, impulse.ang),
            _ => G::inertia_apply(self.inv_inertia[room], impulse.ang),
        };
        Twist { lin: impulse.lin.scale(self.inv_mass), ang }
    }
}

/// What tells a joint of an island from others: its index and its local bodies.
fn name(joint: &LocalJoint) -> (usize, [usize; 2]) {
    (joint.index, joint.bodies)
}

/// x += a wrench.
#[inline]
pub(super) fn add_wrench<G: Geometry>(x: &mut [f64], value: &Wrench<G>) {
    let mut values = [0.0; 6];
    put::<G>(value.lin, value.ang, &mut values);
    x.iter_mut().zip(&values[..G::DOF]).for_each(|(x, v)| *x += v);
}

/// x += the gradient by the parameters of a joint.
#[inline]
pub(super) fn add_parameters<G: Geometry>(joint: &Joint<G>, gradient: &JointGradient<G>, block: Option<Block>, x: &mut [f64]) {
    if let Some(block) = block {
        let mut values = [0.0; MAX_PARAMETERS];
        gradient.write_parameters(joint, &mut values[..block.len()]);
        x[block.range()].iter_mut().zip(&values).for_each(|(x, v)| *x += v);
    }
}
