//! A contact evaluated once at a pose, for every quantity that meets there, theory (17.10).
//!
//! The end of a step is the start of the next: walking backwards, what a step finds at its end was evaluated for the start of the one after
//! it, and the gradients by sizes and placements of both are gathered before the shapes are asked.

use crate::contacts::{Key, placed};
use crate::gradient::motion::add;
use crate::gradient::named::parameters::Parameters;
use crate::gradient::schedule::patch::PointBar;
use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::slots::{put, twist};
use crate::model::Model;
use carom_geometry::{Contact, ContactAdjoint, ContactDerivative, ContactJacobian, ContactMotion, ContactTangent, Geometry};
use carom_math::{Pose, Twist, Vector, Wrench};

/// Sites looked at before a contact counts as new: contacts come in one order, so that the next is nearly always near.
const LOOKED_AT: usize = 64;

/// Slots of the sizes and the placements of two colliders, and of the contact as they move it.
#[derive(Clone, Copy, Debug)]
struct Shapes {
    out: Block,
    placements: [Block; 2],
    sizes: [Block; 2],
}

/// A contact evaluated at a pose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluated<G: Geometry> {
    /// Its name.
    key: Key<G>,
    /// Frames of the colliders.
    frames: [Pose<G>; 2],
    /// Orientations of the bodies.
    rotations: [G::Rot; 2],
    /// From the centres of the bodies to the frames.
    offsets: [G::Lin; 2],
    /// Normal, points, gap.
    pub contact: Contact<G>,
    /// By the frames.
    jacobian: ContactJacobian<G>,
    /// Its tangents.
    pub tangents: [G::Lin; 2],
    /// How they turn with each component of the normal.
    pub turning: [[G::Lin; 3]; 2],
}

/// A contact at a pose in a program.
#[derive(Clone, Copy, Debug)]
struct Site<G: Geometry> {
    /// Where it was evaluated: in the present program, or in the one before it.
    old: bool,
    place: u32,
    shapes: Option<Shapes>,
    /// The site of the program before this one that stands for the same contact.
    earlier: Option<usize>,
    /// Whether its gradient with respect to the shapes waits for the program that comes next.
    waits: bool,
    /// That gradient.
    waiting: Option<ContactTangent<G>>,
}

/// The sites of the present program and of the one before it.
#[derive(Debug)]
pub(crate) struct Sites<G: Geometry> {
    now: Vec<Site<G>>,
    before: Vec<Site<G>>,
    /// What the present program evaluated, and the one before it.
    evaluated: [Vec<Evaluated<G>>; 2],
    cursor: usize,
    /// First site of the substep before, first site of the present one, and where the present stage begins.
    met: [usize; 3],
    /// Where the last contact was met.
    last_met: usize,
    /// Whether the substep at hand ends its island's step, where the step after it began.
    pub ends_step: bool,
}

impl<G: Geometry> Default for Sites<G> {
    fn default() -> Self {
        Sites {
            now: Vec::new(),
            before: Vec::new(),
            evaluated: [Vec::new(), Vec::new()],
            cursor: 0,
            met: [0; 3],
            last_met: 0,
            ends_step: true,
        }
    }
}

impl<G: Geometry> Sites<G> {
    /// Begins another program.
    pub fn turn_over(&mut self) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
        self.evaluated.swap(0, 1);
        self.evaluated[0].clear();
        self.cursor = 0;
        self.begin_island();
    }

    /// Begins another island.
    pub fn begin_island(&mut self) {
        self.met = [self.now.len(); 3];
        self.ends_step = true;
    }

    /// Begins another substep of the island, the last one or not.
    pub fn begin_substep(&mut self, last: bool) {
        self.met = [self.met[1], self.now.len(), self.now.len()];
        self.ends_step = last;
    }

    /// Begins another stage at the pose where the substep began.
    pub fn begin_stage(&mut self) {
        self.met[2] = self.now.len();
    }

    /// The site of an earlier stage of the island that stands for a contact at the same frames: the end of a substep is the start of the next.
    fn met(&mut self, key: &Key<G>, frames: &[Pose<G>; 2]) -> Option<u32> {
        let [first, _, end] = self.met;
        let count = end - first;
        // Contacts come in one order: the next is nearly always near.
        let begin = if (first..end).contains(&self.last_met) { self.last_met - first } else { 0 };
        for step in 0..count.min(LOOKED_AT) {
            let number = first + (begin + step) % count;
            let evaluated = self.of(&self.now[number]);
            if evaluated.key == *key && evaluated.frames == *frames {
                self.last_met = number + 1;
                return Some(number as u32);
            }
        }
        None
    }

    /// Forgets every contact.
    pub fn forget(&mut self) {
        self.turn_over();
        self.turn_over();
    }

    /// The contact at a site of the present program.
    #[inline]
    pub fn at(&self, number: u32) -> &Evaluated<G> {
        self.of(&self.now[number as usize])
    }

    #[inline]
    fn of(&self, site: &Site<G>) -> &Evaluated<G> {
        &self.evaluated[usize::from(site.old)][site.place as usize]
    }

    /// Slots through which sizes and placements act at a site.
    pub fn shared(&self, number: u32) -> Option<Block> {
        self.now[number as usize].shapes.as_ref().map(|shapes| shapes.out)
    }

    /// The site of the program before that stands for a contact at the same frames.
    fn earlier(&mut self, key: &Key<G>, frames: &[Pose<G>; 2]) -> Option<usize> {
        let count = self.before.len();
        for step in 0..count.min(LOOKED_AT) {
            let place = (self.cursor + step) % count;
            let site = &self.before[place];
            // What was taken over from an earlier program still is no longer there.
            if site.old {
                continue;
            }
            let evaluated = &self.evaluated[1][site.place as usize];
            if evaluated.key == *key && evaluated.frames == *frames {
                self.cursor = place + 1;
                return Some(place);
            }
        }
        None
    }

    /// What sizes and placements do to a contact.
    pub fn tangent(&self, number: u32, model: &Model<G>, x: &mut [f64]) {
        let Some(shapes) = &self.now[number as usize].shapes else { return };
        let site = self.at(number);
        let frame = |side: usize| {
            let local = twist::<G>(&x[shapes.placements[side].range()]);
            let rotation = site.rotations[side];
            Twist { lin: G::rotate(rotation, local.lin), ang: G::rotate_rate(rotation, local.ang) }
        };
        let sizes = |side: usize| Some(&x[shapes.sizes[side].range()]);
        let motion = ContactMotion { pose_a: frame(0), pose_b: frame(1), shape_a: sizes(0), shape_b: sizes(1) };
        let [a, b] = site.colliders(model);
        let change = G::derivative(site.key.feature, a, &site.frames[0], b, &site.frames[1]).tangent(&motion);
        write::<G>(&change, shapes.out, x);
    }

    /// Gathers the gradient with respect to a contact and hands it to sizes and placements, or leaves it to the next program.
    pub fn adjoint(&mut self, number: u32, model: &Model<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let site = &mut self.now[number as usize];
        let Some(shapes) = &site.shapes else { return };
        let mut bar = read::<G>(&x[shapes.out.range()]);
        if let Some(waiting) = site.earlier.and_then(|place| self.before[place].waiting.take()) {
            bar = bar.plus(1.0, &waiting);
        }
        if site.waits {
            site.waiting = Some(bar);
        } else {
            self.evaluated[usize::from(site.old)][site.place as usize].by_shapes(model, shapes, &bar, x, scratch);
        }
    }

    /// The change of a contact, and of its gap, under motions of its bodies and of its shapes.
    pub fn change(&self, number: u32, poses: &[Twist<G>; 2], x: &[f64]) -> (PointBar<G>, f64) {
        let site = self.at(number);
        let frame = |side: usize| {
            let xi = &poses[side];
            Twist { lin: xi.lin + G::spin(xi.ang, site.offsets[side]), ang: xi.ang }
        };
        let change = site.jacobian.apply(&frame(0), &frame(1));
        let (mut point, gap) = self.shape_change(number, x);
        point.normal += change.normal;
        point.middle += (change.point_a + change.point_b) * 0.5;
        (point, gap + change.gap)
    }

    /// The change of a contact, and of its gap, by its shapes alone.
    pub fn shape_change(&self, number: u32, x: &[f64]) -> (PointBar<G>, f64) {
        let Some(block) = self.shared(number) else { return (PointBar::zero(), 0.0) };
        let slots = &x[block.range()];
        (PointBar { normal: G::Lin::from_slice(slots), middle: G::Lin::from_slice(&slots[G::DIM..]) }, slots[2 * G::DIM])
    }

    /// Adds a part of a gradient with respect to a contact, and by its gap, to what its shapes are asked about.
    #[inline]
    pub fn add_shape_bar(&self, number: u32, factor: f64, bar: &PointBar<G>, gap: f64, x: &mut [f64]) {
        if let Some(block) = self.shared(number) {
            add(x, block.part(0, G::DIM), (bar.normal * factor).as_slice());
            add(x, block.part(G::DIM, G::DIM), (bar.middle * factor).as_slice());
            x[block.range().end - 1] += factor * gap;
        }
    }

    /// Covectors on the poses of the bodies of a gradient with respect to a contact, which is added to what its shapes are asked about.
    #[inline]
    pub fn poses_of_bar(&self, number: u32, point: &PointBar<G>, x: &mut [f64]) -> [Wrench<G>; 2] {
        self.add_shape_bar(number, 1.0, point, 0.0, x);
        self.at(number).by_poses(&bar::<G>(point.normal, point.middle, 0.0))
    }

    /// Hands over what waits in the present program.
    pub fn settle_here(&mut self, model: &Model<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        for site in &mut self.now {
            if let (Some(bar), Some(shapes)) = (site.waiting.take(), &site.shapes) {
                self.evaluated[usize::from(site.old)][site.place as usize].by_shapes(model, shapes, &bar, x, scratch);
            }
        }
    }

    /// Hands over what waited for the present program and found no use there.
    pub fn settle(&mut self, model: &Model<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        for site in &mut self.before {
            if let (Some(bar), Some(shapes)) = (site.waiting.take(), &site.shapes) {
                self.evaluated[1][site.place as usize].by_shapes(model, shapes, &bar, x, scratch);
            }
        }
    }
}

/// The gradient with respect to a contact in slots: normal, middle, gap.
#[inline]
fn read<G: Geometry>(x: &[f64]) -> ContactTangent<G> {
    bar::<G>(G::Lin::from_slice(x), G::Lin::from_slice(&x[G::DIM..]), x[2 * G::DIM])
}

/// The gradient with respect to a contact of a gradient by its normal, the middle of its points and its gap.
#[inline]
pub(crate) fn bar<G: Geometry>(normal: G::Lin, middle: G::Lin, gap: f64) -> ContactTangent<G> {
    ContactTangent { normal, point_a: middle * 0.5, point_b: middle * 0.5, gap, regular: true }
}

/// Adds the change of a contact to its slots.
#[inline]
fn write<G: Geometry>(change: &ContactTangent<G>, out: Block, x: &mut [f64]) {
    add(x, out.part(0, G::DIM), change.normal.as_slice());
    add(x, out.part(G::DIM, G::DIM), ((change.point_a + change.point_b) * 0.5).as_slice());
    x[out.range().end - 1] += change.gap;
}

impl<G: Geometry> Evaluated<G> {
    /// Evaluates a contact at local poses.
    fn evaluate(model: &Model<G>, key: Key<G>, frames: [Pose<G>; 2], poses: [&Pose<G>; 2]) -> Self {
        let [a, b] = [0, 1].map(|side| &model.bodies[key.bodies[side]].colliders[key.colliders[side]].shape);
        let contact = G::evaluate(key.feature, a, &frames[0], b, &frames[1]);
        let mut turning = [[G::Lin::zero(); 3]; 2];
        for i in 0..G::DIM {
            let mut change = G::Lin::zero();
            change[i] = 1.0;
            let [first, second] = G::tangents_derivative(contact.normal, change);
            (turning[0][i], turning[1][i]) = (first, second);
        }
        Evaluated {
            key,
            frames,
            rotations: poses.map(|pose| pose.rotation),
            offsets: [0, 1].map(|side| frames[side].position - poses[side].position),
            contact,
            jacobian: G::derivative(key.feature, a, &frames[0], b, &frames[1]).jacobian(),
            tangents: G::tangents(contact.normal),
            turning,
        }
    }

    /// Whether the contact has a derivative here.
    pub fn regular(&self) -> bool {
        self.jacobian.regular
    }

    /// What motions of the two bodies do to the contact, added to slots.
    pub fn moved(&self, bodies: [Option<Block>; 2], out: Block, x: &mut [f64]) {
        let frame = |side: usize| {
            bodies[side].map_or_else(Twist::zero, |block| {
                let xi = twist::<G>(&x[block.range()]);
                Twist { lin: xi.lin + G::spin(xi.ang, self.offsets[side]), ang: xi.ang }
            })
        };
        let change = self.jacobian.apply(&frame(0), &frame(1));
        write::<G>(&change, out, x);
    }

    /// Covectors on the poses of the bodies of a gradient with respect to the contact.
    pub fn by_poses(&self, bar: &ContactTangent<G>) -> [Wrench<G>; 2] {
        let (a, b) = self.jacobian.transpose(bar);
        let on_body = |side: usize, frame: Wrench<G>| Wrench { lin: frame.lin, ang: frame.ang + G::torque(self.offsets[side], frame.lin) };
        [on_body(0, a), on_body(1, b)]
    }

    /// The same from the gradient in slots.
    pub fn by_poses_of(&self, slots: &[f64]) -> [Wrench<G>; 2] {
        self.by_poses(&read::<G>(slots))
    }

    /// Adds the gradient by sizes and placements.
    fn by_shapes(&self, model: &Model<G>, shapes: &Shapes, bar: &ContactTangent<G>, x: &mut [f64], scratch: &mut Vec<f64>) {
        let lengths = shapes.sizes.map(|block| block.len());
        if lengths != [0; 2] {
            scratch.clear();
            scratch.resize(lengths[0] + lengths[1], 0.0);
            let (first, second) = scratch.split_at_mut(lengths[0]);
            let mut out = ContactAdjoint::of_poses();
            (out.shape_a, out.shape_b) = (Some(first), Some(second));
            let [a, b] = self.colliders(model);
            G::derivative(self.key.feature, a, &self.frames[0], b, &self.frames[1]).sizes_adjoint(bar, &mut out);
            add(x, shapes.sizes[0], &scratch[..lengths[0]]);
            add(x, shapes.sizes[1], &scratch[lengths[0]..]);
        }
        let (a, b) = self.jacobian.transpose(bar);
        for (side, frame) in [a, b].into_iter().enumerate() {
            let rotation = self.rotations[side];
            let mut values = [0.0; 6];
            put::<G>(G::unrotate(rotation, frame.lin), G::unrotate_rate(rotation, frame.ang), &mut values);
            add(x, shapes.placements[side], &values[..G::DOF]);
        }
    }

    fn colliders<'m>(&self, model: &'m Model<G>) -> [&'m G::Shape; 2] {
        [0, 1].map(|side| &model.bodies[self.key.bodies[side]].colliders[self.key.colliders[side]].shape)
    }
}

/// Finds or evaluates a contact at local poses; at the end of a move it may be that of a program before. Returns its number.
pub(crate) fn site<G: Geometry>(
    program: &mut Program<G>,
    model: &Model<G>,
    parameters: (Block, &Parameters),
    key: Key<G>,
    poses: [&Pose<G>; 2],
    end: bool,
) -> u32 {
    let frame = |side: usize| {
        // A collider that stands where its body stands needs no composition.
        let local = &model.bodies[key.bodies[side]].colliders[key.colliders[side]].local;
        if *local == Pose::identity() { *poses[side] } else { placed(model, key.bodies[side], key.colliders[side], poses[side]) }
    };
    let frames = [frame(0), frame(1)];
    if let (false, Some(number)) = (end, program.sites.met(&key, &frames)) {
        return number;
    }
    let earlier = if end && program.sites.ends_step { program.sites.earlier(&key, &frames) } else { None };
    let (old, place) = match earlier {
        Some(place) => (true, program.sites.before[place].place),
        None => {
            let found = &mut program.sites.evaluated[0];
            found.push(Evaluated::evaluate(model, key, frames, poses));
            (false, found.len() as u32 - 1)
        }
    };
    let shapes = program.free(parameters.0).map(|all| {
        let slots = [0, 1].map(|side| &parameters.1.bodies[key.bodies[side]].colliders[key.colliders[side]]);
        Shapes {
            out: program.fresh(2 * G::DIM + 1),
            placements: slots.map(|slots| all.part(slots.placement.start, G::DOF)),
            sizes: slots.map(|slots| all.part(slots.shape.start, slots.shape.len())),
        }
    });
    let number = program.sites.now.len() as u32;
    if shapes.is_some() {
        program.shaped(number);
    }
    program.sites.now.push(Site { old, place, shapes, earlier, waits: !end, waiting: None });
    number
}
