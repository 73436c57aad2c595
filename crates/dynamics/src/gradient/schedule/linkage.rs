//! A substep of bodies that joints alone hold: the derivative of stages 4 to 7 in two maps over flat lists, theory (17.21)-(17.23).
//!
//! Where nothing but joints and loads acts, what every body and every joint does is known beforehand; one walk over the bodies and one over
//! the joints take the place of the many small maps of `substep`.

pub(crate) mod body;
pub(crate) mod crowd;
pub(crate) mod factor;
pub(crate) mod finish;
pub(crate) mod graph;
pub(crate) mod movement;
pub(crate) mod rows;

use super::program::{Block, Program};
use super::stage::{Running, Stage};
use crate::constraints::{Joint, JointGradient, MAX_PARAMETERS, PinnedGradient};
use crate::gradient::motion::loads::{any_joint_or_force, joint_and_force_loads};
use crate::gradient::system::Sides;
use crate::gradient::system::sparse::{Factored, Sparse};
use crate::gradient::system::weak::Weak;
use crate::gradient::tape::record::Substep;
use crate::integrate::Length;
use crate::predict::Instant;
use body::{Gravity, LinkBody, Turned};
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};
use factor::LinkFactor;
use rows::{LinkJoint, LinkRows};

/// What a walk over a linkage writes down for bodies and rows.
#[derive(Debug)]
pub(crate) struct Walk<G: Geometry> {
    /// By local body: velocities that answer, then those by which impulses count.
    pub twists: Vec<Twist<G>>,
    /// Cotangents of q' and of the velocity of the move, from the finish to the move.
    pub next: Vec<Wrench<G>>,
    /// Of the velocity of the move.
    pub half: Vec<Wrench<G>>,
    /// By row.
    pub weights: Vec<f64>,
    /// Gradients at q' by the vectors of pinned joints.
    pub pinned: Vec<PinnedGradient<G>>,
    /// Room for solves with a search for pivots.
    both: Vec<f64>,
}

/// A substep of a linkage.
#[derive(Debug)]
pub(crate) struct Linkage<G: Geometry> {
    pub(crate) bodies: Vec<LinkBody<G>>,
    pub(crate) joints: Vec<LinkJoint>,
    /// Poses q and q'.
    pub(crate) poses: [Vec<Pose<G>>; 2],
    /// Bodies there.
    pub(crate) turned: [Vec<Turned<G>>; 2],
    /// Rows there.
    pub(crate) rows: [LinkRows<G>; 2],
    /// Impulses of the rows at q and at q'.
    pub(crate) reaction: [Vec<f64>; 2],
    /// Values of springs, controls and forces at q and at q', none where there are none.
    pub(crate) others: [Vec<Wrench<G>>; 2],
    pub(crate) factor: LinkFactor<G>,
    /// Factors of both rooms where pivots had to be searched.
    pub(crate) searched: [Option<Factored>; 2],
    pub(crate) length: f64,
    pub(crate) share: f64,
    pub(crate) gravity: Gravity<G>,
    pub(crate) time: Block,
    /// Slots by local body: loads of both rooms; then q', velocity of the move, velocity at the end.
    pub(crate) wrenches: [Block; 2],
    pub(crate) next: Block,
    pub(crate) half: Block,
    pub(crate) end: Block,
    pub(crate) walk: Walk<G>,
}

impl<G: Geometry> Default for Linkage<G> {
    fn default() -> Self {
        let nowhere = Block::NOWHERE;
        Linkage {
            bodies: Vec::new(),
            joints: Vec::new(),
            poses: [Vec::new(), Vec::new()],
            turned: [Vec::new(), Vec::new()],
            rows: [LinkRows::default(), LinkRows::default()],
            reaction: [Vec::new(), Vec::new()],
            others: [Vec::new(), Vec::new()],
            factor: LinkFactor::default(),
            searched: [None; 2],
            length: 0.0,
            share: 0.0,
            gravity: Gravity { value: G::Lin::zero(), block: None },
            time: nowhere,
            wrenches: [nowhere; 2],
            next: nowhere,
            half: nowhere,
            end: nowhere,
            walk: Walk {
                twists: Vec::new(),
                next: Vec::new(),
                half: Vec::new(),
                weights: Vec::new(),
                pinned: Vec::new(),
                both: Vec::new(),
            },
        }
    }
}

/// Whether a substep is one of joints and loads alone.
pub(crate) fn applies<G: Geometry>(stage: &Stage<G>, substep: &Substep<G>) -> bool {
    let options = &stage.model.options;
    // A choice at switches may let rows without an impulse speak.
    let silent = stage.weak == Weak::AsSolved || (substep.hold.idle.is_empty() && substep.finish.idle.is_empty());
    options.scheme().kicks_again()
        && silent
        && !options.forward()
        && substep.strikes.is_empty()
        && substep.midpoint.obeyed.is_none()
        && !matches!(substep.rule, Length::Event(..))
        && substep.hold.pushed.is_empty()
        && substep.finish.pushed.is_empty()
        && !substep.hold.uncorrected
        && stage.joints.iter().all(|joint| joint.inv_armature == 0.0)
        && stage.ties.is_empty()
        && stage.tendons.is_empty()
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
    linkage.gather(program, stage, substep, running, time);
    if !linkage.factor(program) {
        program.return_linkage(linkage);
        return false;
    }
    let all = stage.bodies.len() * G::DOF;
    linkage.next = program.fresh(all);
    linkage.half = program.fresh(all);
    linkage.end = program.fresh(all);
    let loaded = any_joint_or_force(stage);
    for room in 0..2 {
        linkage.wrenches[room] = if loaded { program.fresh(all) } else { Block::NOWHERE };
    }
    let (next, half, end, wrenches) = (linkage.next, linkage.half, linkage.end, linkage.wrenches);
    let part = |block: Block, local: usize| block.part(local * G::DOF, G::DOF);
    if !loaded {
        // 3. to 7.
        let number = program.move_linkage(linkage);
        program.finish_linkage(number);
        for (local, body) in stage.bodies.iter().enumerate() {
            running.poses[local] = running.poses[local].map(|_| part(next, local));
            if body.dynamic {
                running.twists[local] = Some(part(end, local));
            }
        }
        return true;
    }
    let moving = |block: Block| -> Vec<Option<Block>> {
        stage.bodies.iter().enumerate().map(|(local, body)| body.dynamic.then(|| part(block, local))).collect()
    };
    let zeros = || vec![Wrench::zero(); stage.bodies.len()];
    let own = |block: Block, twists: &[Option<Block>]| -> Vec<Option<Block>> {
        moving(block).into_iter().zip(twists).map(|(own, before)| own.or(*before)).collect()
    };

    // 3. Loads at q beside those of the bodies alone.
    let (poses, twists) = ((&substep.poses[..], &running.poses[..]), (&substep.twists[..], &running.twists[..]));
    let mut values = zeros();
    joint_and_force_loads(program, stage, (substep.time, Instant::Start), poses, twists, &moving(wrenches[0]), &mut values);
    linkage.others[0] = values;

    // 4. to 6.
    let half = own(half, &running.twists);
    let end = own(end, &running.twists);
    let next: Vec<Option<Block>> = running.poses.iter().enumerate().map(|(local, pose)| pose.map(|_| part(next, local))).collect();
    let number = program.move_linkage(linkage);

    // 7. Loads at q', then the finish.
    let (poses, twists) = ((&substep.next[..], &next[..]), (&substep.half[..], &half[..]));
    let mut values = zeros();
    let then = substep.time + substep.length;
    joint_and_force_loads(program, stage, (then, Instant::End), poses, twists, &moving(wrenches[1]), &mut values);
    program.linkage(number).others[1] = values;
    program.finish_linkage(number);
    running.poses = next;
    running.twists = end;
    true
}

impl<G: Geometry> Linkage<G> {
    /// Slots of a local body.
    #[inline]
    pub(crate) fn part(block: Block, local: usize) -> std::ops::Range<usize> {
        block.part(local * G::DOF, G::DOF).range()
    }

    /// Whether springs, controls or forces act.
    #[inline]
    pub(crate) fn loaded(&self) -> bool {
        self.wrenches[0] != Block::NOWHERE
    }

    /// Takes over what a substep recorded.
    fn gather(&mut self, program: &Program<G>, stage: &Stage<G>, substep: &Substep<G>, running: &Running, time: Block) {
        (self.length, self.time) = (substep.length, time);
        self.share = stage.model.options.scheme().share;
        let (theta, layout) = stage.parameters;
        let asked = program.free(theta);
        self.gravity = Gravity { value: stage.model.gravity, block: asked.map(|theta| theta.part(layout.gravity.start, G::DIM)) };
        self.others.iter_mut().for_each(Vec::clear);
        // Walking backwards, q' is the q of the step that was here before: what stands there is known.
        let same = self.bodies.iter().map(|body| body.index).eq(stage.bodies.iter().map(|body| body.index));
        let known = same && self.poses[0] == substep.next && {
            let had_row = stage.joints.iter().filter(|joint| joint.rows > 0);
            self.joints.len() == had_row.clone().count() && self.joints.iter().zip(had_row).all(|(own, joint)| own.is(joint))
        };
        self.poses.swap(0, 1);
        self.turned.swap(0, 1);
        self.rows.swap(0, 1);
        self.reaction[0].clone_from(&substep.hold.reaction);
        self.reaction[1].clone_from(&substep.finish.reaction);
        let parameters = |joint: usize| {
            let range = &layout.joints[joint];
            program.free(theta.part(range.start, range.len()))
        };
        rows::list(stage.joints, stage.model, |body| stage.bodies[body].dynamic, parameters, &mut self.joints);
        for (room, poses) in [&substep.poses, &substep.next].into_iter().enumerate() {
            if room == 1 && known {
                continue;
            }
            self.poses[room].clone_from(poses);
            let turned = &mut self.turned[room];
            turned.clear();
            turned.extend(stage.bodies.iter().zip(poses).map(|(body, pose)| Turned::at(body, pose)));
            self.rows[room].place(&self.joints, stage.model, poses, |body| &turned[body].matrix);
        }
        self.bodies.clear();
        for local in 0..stage.bodies.len() {
            self.bodies.push(LinkBody::of(stage, substep, running, local, asked, &self.turned[1][local], self.share));
        }
    }

    /// Factors both rooms, theory (17.12) and (17.20).
    fn factor(&mut self, program: &mut Program<G>) -> bool {
        self.searched = [None; 2];
        let duration = self.share * self.length;
        if self.joints.is_empty()
            || (!program.sparse.refuses
                && self.factor.factor(&mut program.graphs, &self.joints, &self.rows, &self.bodies, &self.turned, duration))
        {
            return true;
        }
        for room in 0..2 {
            let lists = [1, room].map(|room| -> Vec<Sides<G>> {
                let rows = &self.rows[room];
                let of = |joint: &LinkJoint, k: usize| {
                    let row = rows.row(joint, k);
                    [(joint.bodies[0], row.a), (joint.bodies[1], row.b)]
                };
                self.joints.iter().flat_map(|joint| (0..joint.rows).map(move |k| of(joint, k))).collect()
            });
            let movable = |body: usize| self.bodies[body].dynamic;
            let carry = |body: usize, covector: &Wrench<G>| if room == 0 { self.bodies[body].carried(covector) } else { *covector };
            let respond = |body: usize, wrench: &Wrench<G>| self.response(room, body, wrench);
            let found = program.sparse.factor_rows((&lists[0], &lists[1]), movable, carry, respond);
            self.searched[room] = found.or_else(|| {
                let felt: Vec<Sides<G>> = lists[0].iter().map(|row| row.map(|(body, covector)| (body, carry(body, &covector)))).collect();
                let given: Vec<[(usize, Twist<G>); 2]> =
                    lists[1].iter().map(|row| row.map(|(body, wrench)| (body, respond(body, &wrench)))).collect();
                program.sparse.factor(&felt, &given, &[], &[], Some(&respond)).map(|found| found.0)
            });
            if self.searched[room].is_none() {
                return false;
            }
        }
        true
    }

    /// Whether there are factors, and no pivots had to be searched for them.
    #[cfg(test)]
    pub fn is_plain(&self) -> bool {
        !self.joints.is_empty() && self.searched.iter().all(Option::is_none)
    }
    /// Multiply-adds of one of its factors and of a solve with it.
    #[cfg(test)]
    pub fn operations(&self) -> u64 {
        self.factor.operations()
    }

    /// The weights := -S^-1 or -S^-T of themselves.
    #[inline]
    pub(crate) fn answer(&mut self, room: usize, transposed: bool, sparse: &mut Sparse<G>, scratch: &mut Vec<f64>) {
        let Walk { weights, both, .. } = &mut self.walk;
        let count = weights.len();
        if count == 0 {
            return; // the factor, if there is one, is of joints that were here before
        }
        match self.searched[room] {
            None if transposed => self.factor.solve_transpose(room, weights),
            None => self.factor.solve(room, weights),
            Some(factor) => {
                both.clear();
                both.extend_from_slice(weights);
                both.resize(2 * count, 0.0);
                if transposed {
                    sparse.solve_transposed(factor, count..2 * count, 0..count, both, scratch);
                } else {
                    sparse.solve(factor, 0..count, count..2 * count, both, scratch);
                }
                weights.copy_from_slice(&both[count..]);
                return;
            }
        }
        weights.iter_mut().for_each(|y| *y = -*y);
    }

    /// Room for as many rows and bodies as there are.
    pub(crate) fn make_room(&mut self) {
        let rows = self.joints.last().map_or(0, |joint| joint.first + joint.rows);
        self.walk.weights.resize(rows, 0.0);
        self.walk.twists.resize(self.bodies.len(), Twist::zero());
        self.walk.next.resize(self.bodies.len(), Wrench::zero());
        self.walk.half.resize(self.bodies.len(), Wrench::zero());
        self.walk.pinned.resize(self.joints.len(), PinnedGradient::zero());
    }
}

/// x += the gradient with respect to the parameters of a joint.
#[inline]
pub(crate) fn add_parameters<G: Geometry>(joint: &Joint<G>, gradient: &JointGradient<G>, block: Option<Block>, x: &mut [f64]) {
    if let Some(block) = block {
        let mut values = [0.0; MAX_PARAMETERS];
        gradient.write_parameters(joint, &mut values[..block.len()]);
        x[block.range()].iter_mut().zip(&values).for_each(|(x, v)| *x += v);
    }
}
