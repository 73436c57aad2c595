//! A contact at one pose as slots: normal, middle of the witness points and gap, theory (17.10).

use super::contact_site::{Evaluated, Sites, site};
use crate::contacts::Key;
use crate::gradient::motion::add;
use crate::gradient::named::parameters::Parameters;
use crate::gradient::schedule::program::{Block, Program, Wires};
use crate::gradient::schedule::stage::Stage;
use crate::gradient::slots::put;
use crate::model::Model;
use carom_geometry::{Contact, ContactTangent, Geometry};
use carom_math::{Pose, Twist, Vector, Wrench};

/// Slots of a contact: normal, middle, gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactPoint<G: Geometry> {
    /// Its slots: DIM + DIM + 1.
    pub block: Block,
    /// Local bodies.
    pub bodies: [usize; 2],
    /// Normal, points, gap.
    pub contact: Contact<G>,
    /// Arms from the two centres to the middle.
    pub arms: [G::Lin; 2],
    /// Its tangents.
    tangents: [G::Lin; 2],
    /// How they turn with each component of the normal.
    turning: [[G::Lin; 3]; 2],
    /// Where it was evaluated.
    site: u32,
    /// Whether its rows are felt through the poses too.
    felt: bool,
    /// Whether the contact has a derivative here.
    pub regular: bool,
}

/// What moves a contact: two bodies, and the shapes through slots of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointMap {
    out: Block,
    site: u32,
    poses: [Option<Block>; 2],
    shared: Option<Block>,
}

impl PointMap {
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads(self.poses.into_iter().flatten().chain(self.shared));
        wires.writes([self.out]);
    }
    /// The tangent.
    pub fn tangent<G: Geometry>(&self, sites: &Sites<G>, x: &mut [f64]) {
        sites.at(self.site).moved(self.poses, self.out, x);
        if let Some(shared) = self.shared {
            for (o, i) in self.out.range().zip(shared.range()) {
                x[o] += x[i];
            }
        }
    }
    /// The adjoint.
    pub fn adjoint<G: Geometry>(&self, sites: &Sites<G>, x: &mut [f64]) {
        let wrenches = sites.at(self.site).by_poses_of(&x[self.out.range()]);
        for (block, wrench) in self.poses.into_iter().zip(wrenches) {
            if let Some(block) = block {
                let mut values = [0.0; 6];
                put::<G>(wrench.lin, wrench.ang, &mut values);
                add(x, block, &values[..G::DOF]);
            }
        }
        if let Some(shared) = self.shared {
            for (o, i) in self.out.range().zip(shared.range()) {
                x[i] += x[o];
            }
        }
    }
}

impl<G: Geometry> ContactPoint<G> {
    /// The contact of a name at the local poses of the start of a move, with the slots of the poses.
    pub fn new(
        program: &mut Program<G>,
        model: &Model<G>,
        parameters: (Block, &Parameters),
        key: Key<G>,
        bodies: [usize; 2],
        poses: &[Pose<G>],
        blocks: &[Option<Block>],
    ) -> Self {
        let number = site(program, model, parameters, key, bodies.map(|b| &poses[b]), false);
        Self::of(program, number, bodies, poses, blocks, false)
    }

    /// The same at the end of a move, where rows are also felt through the poses.
    pub fn felt(
        program: &mut Program<G>,
        model: &Model<G>,
        parameters: (Block, &Parameters),
        key: Key<G>,
        bodies: [usize; 2],
        poses: &[Pose<G>],
        blocks: &[Option<Block>],
    ) -> Self {
        let number = site(program, model, parameters, key, bodies.map(|b| &poses[b]), true);
        Self::of(program, number, bodies, poses, blocks, true)
    }

    /// The same without slots, at the start or at the end of a move: for maps that find by themselves what moves it.
    pub fn bare(program: &mut Program<G>, stage: &Stage<G>, key: Key<G>, bodies: [usize; 2], poses: &[Pose<G>], end: bool) -> Self {
        let number = site(program, stage.model, stage.parameters, key, bodies.map(|b| &poses[b]), end);
        Self::at(program, number, bodies, poses, end)
    }

    fn of(program: &mut Program<G>, number: u32, bodies: [usize; 2], poses: &[Pose<G>], blocks: &[Option<Block>], felt: bool) -> Self {
        Self::at(program, number, bodies, poses, felt).again(program, blocks)
    }

    fn at(program: &Program<G>, number: u32, bodies: [usize; 2], poses: &[Pose<G>], felt: bool) -> Self {
        let site: &Evaluated<G> = program.sites.at(number);
        ContactPoint {
            block: Block::NOWHERE,
            bodies,
            contact: site.contact,
            arms: crate::contacts::arms(&site.contact, bodies.map(|b| poses[b].position)),
            tangents: site.tangents,
            turning: site.turning,
            site: number,
            felt,
            regular: site.regular(),
        }
    }

    /// Where it was evaluated.
    pub fn site(&self) -> u32 {
        self.site
    }

    /// The same contact with other slots for the poses; its rows are felt through velocities alone where that is all that is asked.
    pub fn again(&self, program: &mut Program<G>, blocks: &[Option<Block>]) -> Self {
        let block = program.fresh(2 * G::DIM + 1);
        let shared = program.sites.shared(self.site);
        program.point(PointMap { out: block, site: self.site, poses: self.bodies.map(|b| blocks[b]), shared });
        ContactPoint { block, ..*self }
    }

    /// The same contact with rows that are not felt through the poses.
    pub fn unfelt(self) -> Self {
        ContactPoint { felt: false, ..self }
    }

    /// Covectors on the poses of the bodies of a gradient with respect to the contact; none where rows are not felt through them.
    pub fn by_poses(&self, program: &Program<G>, bar: &ContactTangent<G>) -> Option<[Wrench<G>; 2]> {
        self.felt.then(|| program.sites.at(self.site).by_poses(bar))
    }

    /// How a tangent turns with the normal.
    pub fn turned(&self, k: usize, change: G::Lin) -> G::Lin {
        let mut sum = G::Lin::zero();
        for i in 0..G::DIM {
            sum += self.turning[k][i] * change[i];
        }
        sum
    }

    /// How a tangent turns with each component of the normal.
    pub fn turning_of(&self, k: usize) -> [G::Lin; 3] {
        self.turning[k]
    }

    /// How the impulse of fixed row impulses turns with each component of the normal.
    pub fn impulse_turning(&self, impulses: &[f64; 3]) -> [G::Lin; 3] {
        let mut out = [G::Lin::zero(); 3];
        for i in 0..G::DIM {
            out[i][i] = impulses[0];
            for k in 0..G::TANGENTS {
                out[i] += self.turning[k][i] * impulses[1 + k];
            }
        }
        out
    }

    /// Velocity of a relative to b at the contact.
    pub fn slip(&self, twists: &[Twist<G>]) -> G::Lin {
        let [a, b] = self.bodies;
        twists[a].at(self.arms[0]) - twists[b].at(self.arms[1])
    }

    /// Tangents of the contact.
    pub fn tangents(&self) -> [G::Lin; 2] {
        self.tangents
    }

    /// World impulse of the row impulses: normal, then tangents.
    pub fn impulse(&self, impulses: &[f64; 3]) -> G::Lin {
        let mut sum = self.contact.normal * impulses[0];
        for k in 0..G::TANGENTS {
            sum += self.tangents[k] * impulses[1 + k];
        }
        sum
    }
}
