//! A contact at one pose as slots: normal, middle of the witness points and gap, moved by bodies, placements and sizes, theory (17.10).

use super::motion::add;
use super::parameters::Parameters;
use super::program::{Block, Program};
use super::slots::{put, twist};
use crate::contacts::{Key, placed};
use crate::model::Model;
use carom_geometry::{Contact, ContactAdjoint, ContactJacobian, ContactMotion, ContactTangent, Geometry};
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
    /// Its first tangents.
    tangents: [G::Lin; 2],
    /// How they turn with each component of the normal.
    pub turning: [[G::Lin; 3]; 2],
    /// Number of its map in the program.
    number: u32,
    /// Slots through which sizes and placements act, where they are shared.
    shared: Option<Block>,
    /// Whether the contact is known to have no derivative here.
    pub regular: bool,
}

/// Slots of the sizes and the placement of the two colliders.
#[derive(Clone, Copy, Debug)]
struct ShapeBlocks {
    placements: [Block; 2],
    sizes: [Block; 2],
}

/// What moves a contact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointMap<G: Geometry> {
    out: Block,
    key: Key<G>,
    /// Frames of the colliders, turns of their bodies and arms from the centres to the frames.
    frames: [Pose<G>; 2],
    rotations: [G::Rot; 2],
    offsets: [G::Lin; 2],
    poses: [Option<Block>; 2],
    shapes: Option<ShapeBlocks>,
    /// By the frames, where it is needed more than once.
    jacobian: Option<ContactJacobian<G>>,
}

impl<G: Geometry> ContactPoint<G> {
    /// The contact of a name at local poses, with the slots of the poses.
    pub fn new(
        program: &mut Program<G>,
        model: &Model<G>,
        parameters: (Block, &Parameters),
        key: Key<G>,
        bodies: [usize; 2],
        poses: &[Pose<G>],
        blocks: &[Option<Block>],
    ) -> Self {
        Self::build(program, model, parameters, key, bodies, poses, blocks, false)
    }

    /// The same for a contact whose rows are also felt through the poses.
    pub fn felt(
        program: &mut Program<G>,
        model: &Model<G>,
        parameters: (Block, &Parameters),
        key: Key<G>,
        bodies: [usize; 2],
        poses: &[Pose<G>],
        blocks: &[Option<Block>],
    ) -> Self {
        Self::build(program, model, parameters, key, bodies, poses, blocks, true)
    }

    fn build(
        program: &mut Program<G>,
        model: &Model<G>,
        parameters: (Block, &Parameters),
        key: Key<G>,
        bodies: [usize; 2],
        poses: &[Pose<G>],
        blocks: &[Option<Block>],
        felt: bool,
    ) -> Self {
        let frames = [0, 1].map(|side| placed(model, key.bodies[side], key.colliders[side], &poses[bodies[side]]));
        let shapes = [0, 1].map(|side| &model.bodies[key.bodies[side]].colliders[key.colliders[side]].shape);
        let contact = G::evaluate(key.feature, shapes[0], &frames[0], shapes[1], &frames[1]);
        let jacobian = felt.then(|| G::evaluate_jacobian(key.feature, shapes[0], &frames[0], shapes[1], &frames[1]));
        let block = program.fresh(2 * G::DIM + 1);
        let slots = [0, 1].map(|side| &parameters.1.bodies[key.bodies[side]].colliders[key.colliders[side]]);
        let shapes = program.free(parameters.0).map(|all| ShapeBlocks {
            placements: slots.map(|slots| all.part(slots.placement.start, G::DOF)),
            sizes: slots.map(|slots| all.part(slots.shape.start, slots.shape.len())),
        });
        let mut map = PointMap {
            out: block,
            key,
            frames,
            rotations: bodies.map(|b| poses[b].rotation),
            offsets: [0, 1].map(|side| frames[side].position - poses[bodies[side]].position),
            poses: bodies.map(|b| blocks[b]),
            shapes,
            jacobian,
        };
        // Sizes and placements act through slots of their own, shared by every use of the contact at this pose.
        let shared = (felt && shapes.is_some()).then(|| program.fresh(2 * G::DIM + 1));
        if let Some(shared) = shared {
            program.point(PointMap { out: shared, poses: [None; 2], jacobian: None, ..map });
            program.copy(block, shared);
            map.shapes = None;
        }
        let number = program.point(map);
        let normal = contact.normal;
        let mut turning = [[G::Lin::zero(); 3]; 2];
        for i in 0..G::DIM {
            let mut change = G::Lin::zero();
            change[i] = 1.0;
            let [first, second] = G::tangents_derivative(normal, change);
            (turning[0][i], turning[1][i]) = (first, second);
        }
        ContactPoint {
            block,
            bodies,
            contact,
            arms: crate::contacts::arms(&contact, bodies.map(|b| poses[b].position)),
            tangents: G::tangents(normal),
            turning,
            number,
            shared,
            regular: jacobian.is_none_or(|j| j.regular),
        }
    }

    /// The same contact with other slots for the poses.
    pub fn again(&self, program: &mut Program<G>, blocks: &[Option<Block>]) -> Self {
        let block = program.fresh(2 * G::DIM + 1);
        let map = *program.point_at(self.number);
        if let Some(shared) = self.shared {
            program.copy(block, shared);
        }
        let number = program.point(PointMap { out: block, poses: self.bodies.map(|b| blocks[b]), ..map });
        ContactPoint { block, number, ..*self }
    }

    /// Covectors on the poses of the bodies of a gradient by the contact; none where it was not asked for.
    pub fn by_poses(&self, program: &Program<G>, bar: &ContactTangent<G>) -> Option<[Wrench<G>; 2]> {
        let map = program.point_at(self.number);
        let (a, b) = map.jacobian.as_ref()?.transpose(bar);
        Some([map.on_body(0, a), map.on_body(1, b)])
    }

    /// How a tangent turns with the normal.
    pub fn turned(&self, k: usize, change: G::Lin) -> G::Lin {
        let mut sum = G::Lin::zero();
        for i in 0..G::DIM {
            sum += self.turning[k][i] * change[i];
        }
        sum
    }

    /// The transpose of `turned`.
    pub fn turned_transpose(&self, k: usize, cotangent: G::Lin) -> G::Lin {
        let mut out = G::Lin::zero();
        for i in 0..G::DIM {
            out[i] = self.turning[k][i].dot(cotangent);
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

/// The gradient by a contact of a gradient by its slots.
pub(crate) fn bar<G: Geometry>(normal: G::Lin, middle: G::Lin, gap: f64) -> ContactTangent<G> {
    ContactTangent { normal, point_a: middle * 0.5, point_b: middle * 0.5, gap, regular: true }
}

impl<G: Geometry> PointMap<G> {
    /// A wrench on the frame of a collider as one on its body.
    fn on_body(&self, side: usize, frame: Wrench<G>) -> Wrench<G> {
        Wrench { lin: frame.lin, ang: frame.ang + G::torque(self.offsets[side], frame.lin) }
    }

    /// The tangent.
    pub fn tangent(&self, model: &Model<G>, x: &mut [f64]) {
        let mut frames = [Twist::<G>::zero(); 2];
        for side in 0..2 {
            if let Some(block) = self.poses[side] {
                let xi = twist::<G>(&x[block.range()]);
                frames[side] = Twist { lin: xi.lin + G::spin(xi.ang, self.offsets[side]), ang: xi.ang };
            }
            if let Some(shapes) = &self.shapes {
                let local = twist::<G>(&x[shapes.placements[side].range()]);
                let rotation = self.rotations[side];
                let shift = Twist { lin: G::rotate(rotation, local.lin), ang: G::rotate_rate(rotation, local.ang) };
                frames[side] = frames[side].plus(1.0, shift);
            }
        }
        let shapes = self.colliders(model);
        let change = match (&self.jacobian, &self.shapes) {
            (Some(jacobian), None) => jacobian.apply(&frames[0], &frames[1]),
            _ => {
                let sizes = |side: usize| self.shapes.as_ref().map(|s| &x[s.sizes[side].range()]);
                let motion = ContactMotion { pose_a: frames[0], pose_b: frames[1], shape_a: sizes(0), shape_b: sizes(1) };
                G::evaluate_tangent(self.key.feature, shapes[0], &self.frames[0], shapes[1], &self.frames[1], &motion)
            }
        };
        let (normal, rest) = (self.out.part(0, G::DIM), self.out.part(G::DIM, G::DIM));
        add(x, normal, change.normal.as_slice());
        add(x, rest, ((change.point_a + change.point_b) * 0.5).as_slice());
        x[self.out.range().end - 1] += change.gap;
    }

    /// The adjoint; whether the contact has a derivative here.
    pub fn adjoint(&self, model: &Model<G>, x: &mut [f64], scratch: &mut Vec<f64>) -> bool {
        let own = &x[self.out.range()];
        let bar = bar::<G>(G::Lin::from_slice(own), G::Lin::from_slice(&own[G::DIM..]), own[2 * G::DIM]);
        let (wrenches, regular) = match (&self.jacobian, &self.shapes) {
            (Some(jacobian), None) => {
                let (a, b) = jacobian.transpose(&bar);
                ([a, b], true)
            }
            _ => {
                let lengths = self.shapes.as_ref().map_or([0; 2], |s| s.sizes.map(|block| block.len()));
                scratch.clear();
                scratch.resize(lengths[0] + lengths[1], 0.0);
                let (first, second) = scratch.split_at_mut(lengths[0]);
                let mut out = ContactAdjoint::of_poses();
                if self.shapes.is_some() {
                    (out.shape_a, out.shape_b) = (Some(first), Some(second));
                }
                let shapes = self.colliders(model);
                G::evaluate_adjoint(self.key.feature, shapes[0], &self.frames[0], shapes[1], &self.frames[1], &bar, &mut out);
                ([out.pose_a, out.pose_b], out.regular)
            }
        };
        for side in 0..2 {
            if let Some(block) = self.poses[side] {
                let wrench = self.on_body(side, wrenches[side]);
                let mut values = [0.0; 6];
                put::<G>(wrench.lin, wrench.ang, &mut values);
                add(x, block, &values[..G::DOF]);
            }
        }
        if let Some(shapes) = &self.shapes {
            let mut first = 0;
            for side in 0..2 {
                let Wrench { lin, ang } = wrenches[side];
                let rotation = self.rotations[side];
                let mut values = [0.0; 6];
                put::<G>(G::unrotate(rotation, lin), G::unrotate_rate(rotation, ang), &mut values);
                add(x, shapes.placements[side], &values[..G::DOF]);
                add(x, shapes.sizes[side], &scratch[first..]);
                first += shapes.sizes[side].len();
            }
        }
        regular
    }

    fn colliders<'m>(&self, model: &'m Model<G>) -> [&'m G::Shape; 2] {
        [0, 1].map(|side| &model.bodies[self.key.bodies[side]].colliders[self.key.colliders[side]].shape)
    }
}
