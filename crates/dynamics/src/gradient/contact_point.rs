//! A contact at one pose as slots: normal, middle of the witness points and gap, moved by bodies, placements and sizes, theory (17.10).

use super::parameters::Parameters;
use super::program::{Block, Program};
use crate::contacts::{Key, placed};
use crate::model::Model;
use carom_geometry::{Contact, ContactAdjoint, ContactJacobian, ContactTangent, Geometry};
use carom_math::{Pose, Twist, Vector, Wrench};

/// Slots of a contact: normal, middle, gap.
#[derive(Clone, Debug)]
pub(crate) struct ContactPoint<G: Geometry> {
    /// Its slots: DIM + DIM + 1.
    pub block: Block,
    /// Local bodies.
    pub bodies: [usize; 2],
    /// Normal, points, gap.
    pub contact: Contact<G>,
    /// Arms from the two centres to the middle.
    pub arms: [G::Lin; 2],
    /// The contact as a function of the frames of its colliders.
    jacobian: ContactJacobian<G>,
    /// From the centre of each body to the frame of its collider.
    offsets: [G::Lin; 2],
    /// Whether the contact has a derivative here.
    pub regular: bool,
}

/// What a contact moves by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shift<G: Geometry> {
    /// Of the unit normal.
    pub normal: G::Lin,
    /// Of the middle of the witness points [m].
    pub middle: G::Lin,
    /// Of the gap [m].
    pub gap: f64,
}

impl<G: Geometry> Shift<G> {
    /// From slots.
    pub fn read(x: &[f64]) -> Self {
        Shift { normal: G::Lin::from_slice(x), middle: G::Lin::from_slice(&x[G::DIM..]), gap: x[2 * G::DIM] }
    }
    fn of(tangent: &ContactTangent<G>) -> Self {
        Shift { normal: tangent.normal, middle: (tangent.point_a + tangent.point_b) * 0.5, gap: tangent.gap }
    }
    fn write(&self, y: &mut [f64]) {
        y[..G::DIM].copy_from_slice(self.normal.as_slice());
        y[G::DIM..2 * G::DIM].copy_from_slice(self.middle.as_slice());
        y[2 * G::DIM] = self.gap;
    }
}

impl<G: Geometry> ContactPoint<G> {
    /// The contact of a name at local poses, with the slots of the poses.
    pub fn new(
        program: &mut Program,
        model: &Model<G>,
        parameters: (Block, &Parameters),
        key: Key<G>,
        bodies: [usize; 2],
        poses: &[Pose<G>],
        blocks: &[Option<Block>],
    ) -> Self {
        let colliders = [0, 1].map(|side| &model.bodies[key.bodies[side]].colliders[key.colliders[side]]);
        let frames = [0, 1].map(|side| placed(model, key.bodies[side], key.colliders[side], &poses[bodies[side]]));
        let shapes = colliders.map(|c| &c.shape);
        let contact = G::evaluate(key.feature, shapes[0], &frames[0], shapes[1], &frames[1]);
        let jacobian = G::evaluate_jacobian(key.feature, shapes[0], &frames[0], shapes[1], &frames[1]);
        let offsets = [0, 1].map(|side| frames[side].position - poses[bodies[side]].position);
        let block = program.fresh(2 * G::DIM + 1);
        let mut point = ContactPoint {
            block,
            bodies,
            contact,
            arms: crate::contacts::arms(&contact, bodies.map(|b| poses[b].position)),
            jacobian,
            offsets,
            regular: jacobian.regular,
        };
        for side in 0..2 {
            if let Some(pose) = blocks[bodies[side]] {
                program.linear(block, pose, |x, y| point.moved(side, &super::slots::twist::<G>(x)).write(y));
            }
            // Placement and sizes are parameters of the model.
            let slots = &parameters.1.bodies[key.bodies[side]].colliders[key.colliders[side]];
            let rotation = poses[bodies[side]].rotation;
            let placement = parameters.0.part(slots.placement.start, G::DOF);
            program.linear(block, placement, |x, y| {
                let local = super::slots::twist::<G>(x);
                let shift = Twist { lin: G::rotate(rotation, local.lin), ang: G::rotate_rate(rotation, local.ang) };
                point.frame_moved(side, &shift).write(y);
            });
            let count = slots.shape.len();
            if count > 0 {
                let sizes = parameters.0.part(slots.shape.start, count);
                let mut rows = vec![0.0; block.len() * count];
                for (component, row) in rows.chunks_exact_mut(count).enumerate() {
                    let mut bar = ContactTangent::<G>::zero();
                    if component < G::DIM {
                        bar.normal[component] = 1.0;
                    } else if component < 2 * G::DIM {
                        bar.point_a[component - G::DIM] = 0.5;
                        bar.point_b[component - G::DIM] = 0.5;
                    } else {
                        bar.gap = 1.0;
                    }
                    let mut out =
                        ContactAdjoint { pose_a: Wrench::zero(), pose_b: Wrench::zero(), shape_a: None, shape_b: None, regular: true };
                    if side == 0 {
                        out.shape_a = Some(row);
                    } else {
                        out.shape_b = Some(row);
                    }
                    G::evaluate_adjoint(key.feature, shapes[0], &frames[0], shapes[1], &frames[1], &bar, &mut out);
                    point.regular &= out.regular;
                }
                program.matrix(block, sizes, &rows);
            }
        }
        point
    }

    /// What a motion of one body does.
    pub fn moved(&self, side: usize, xi: &Twist<G>) -> Shift<G> {
        let frame = Twist { lin: xi.lin + G::spin(xi.ang, self.offsets[side]), ang: xi.ang };
        self.frame_moved(side, &frame)
    }

    fn frame_moved(&self, side: usize, frame: &Twist<G>) -> Shift<G> {
        let tangent = if side == 0 { self.jacobian.apply(frame, &Twist::zero()) } else { self.jacobian.apply(&Twist::zero(), frame) };
        Shift::of(&tangent)
    }

    /// Velocity of a relative to b at the contact.
    pub fn slip(&self, twists: &[Twist<G>]) -> G::Lin {
        let [a, b] = self.bodies;
        twists[a].at(self.arms[0]) - twists[b].at(self.arms[1])
    }

    /// Tangents of the contact.
    pub fn tangents(&self) -> [G::Lin; 2] {
        G::tangents(self.contact.normal)
    }

    /// World impulse of the row impulses: normal, then tangents.
    pub fn impulse(&self, impulses: &[f64; 3]) -> G::Lin {
        let tangents = self.tangents();
        let mut sum = self.contact.normal * impulses[0];
        for k in 0..G::TANGENTS {
            sum += tangents[k] * impulses[1 + k];
        }
        sum
    }
}
