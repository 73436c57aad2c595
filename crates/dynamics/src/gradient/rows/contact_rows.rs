//! Derivatives of what a contact's rows do: its impulse on two bodies, the speed along a direction at it, theory (17.14)-(17.16).

use super::contact_point::ContactPoint;
use super::contact_site::bar;
use crate::gradient::motion::add;
use crate::gradient::schedule::program::{Block, Program, Wires};
use crate::gradient::slots::{put, twist, wrench};
use crate::gradient::system::Sides;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// The impulse of a contact with fixed multipliers as the contact moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PushMap<G: Geometry> {
    /// Slots of the contact.
    point: Block,
    arms: [G::Lin; 2],
    push: G::Lin,
    /// How the impulse turns with each component of the normal.
    turning: [G::Lin; 3],
    /// Linear parts of the poses.
    centres: [Option<Block>; 2],
    out: [Option<Block>; 2],
}

impl<G: Geometry> PushMap<G> {
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads([self.point].into_iter().chain(self.centres.into_iter().flatten()));
        wires.writes(self.out.into_iter().flatten());
    }
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let dn = G::Lin::from_slice(&x[self.point.range()]);
        let middle = G::Lin::from_slice(&x[self.point.part(G::DIM, G::DIM).range()]);
        let mut change = G::Lin::zero();
        for i in 0..G::DIM {
            change += self.turning[i] * dn[i];
        }
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            let Some(out) = self.out[side] else { continue };
            let shift = match self.centres[side] {
                Some(block) => middle - G::Lin::from_slice(&x[block.range()]),
                None => middle,
            };
            let torque = G::torque(self.arms[side], change) + G::torque(shift, self.push);
            let mut values = [0.0; 6];
            put::<G>(change * sign, torque * sign, &mut values);
            add(x, out, &values[..G::DOF]);
        }
    }
    /// The adjoint: t . (r x f) is f . (t x r) and r . (f x t).
    pub fn adjoint(&self, x: &mut [f64]) {
        let (mut by_change, mut by_middle) = (G::Lin::zero(), G::Lin::zero());
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            let Some(out) = self.out[side] else { continue };
            let w = wrench::<G>(&x[out.range()]);
            by_change += (w.lin + G::spin(w.ang, self.arms[side])) * sign;
            let by_arm = G::spin(w.ang, self.push) * -sign;
            by_middle += by_arm;
            if let Some(block) = self.centres[side] {
                add(x, block, (-by_arm).as_slice());
            }
        }
        let mut by_normal = G::Lin::zero();
        for i in 0..G::DIM {
            by_normal[i] = self.turning[i].dot(by_change);
        }
        add(x, self.point.part(0, G::DIM), by_normal.as_slice());
        add(x, self.point.part(G::DIM, G::DIM), by_middle.as_slice());
    }
}

/// The impulse of a contact with fixed multipliers as the contact moves: out_a += d(P, r_a x P), out_b -= d(P, r_b x P).
pub(crate) fn impulse<G: Geometry>(
    program: &mut Program<G>,
    point: &ContactPoint<G>,
    impulses: &[f64; 3],
    poses: &[Option<Block>],
    out: &[Option<Block>],
) {
    let map = PushMap {
        point: point.block,
        arms: point.arms,
        push: point.impulse(impulses),
        turning: point.impulse_turning(impulses),
        centres: point.bodies.map(|b| poses[b].map(|block| block.part(0, G::DIM))),
        out: point.bodies.map(|b| out[b]),
    };
    program.push(map);
}

/// Rows of a direction at a contact: the wrenches of a unit impulse along it.
pub(crate) fn along<G: Geometry>(point: &ContactPoint<G>, direction: G::Lin) -> Sides<G> {
    [(point.bodies[0], Wrench::along(direction, point.arms[0])), (point.bodies[1], Wrench::along(direction, point.arms[1]).negated())]
}

/// How a direction turns with a normal.
type Turning<'a, G> = &'a dyn Fn(<G as carom_math::Space>::Lin) -> <G as carom_math::Space>::Lin;

/// A direction at a contact that may turn with its own normal and with that of an earlier pose.
pub(crate) struct Direction<'a, G: Geometry> {
    /// The direction.
    pub value: G::Lin,
    /// How it turns with the normal of the contact.
    pub own: Turning<'a, G>,
    /// How it turns with the normal of an earlier pose: its slots and the map.
    pub earlier: Option<(Block, Turning<'a, G>)>,
}

/// A direction at a contact by how it turns with each component of its own normal and of that of an earlier pose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Along<G: Geometry> {
    /// The direction.
    pub value: G::Lin,
    /// How it turns with each component of the normal of the contact.
    pub own: [G::Lin; 3],
    /// Slots of the normal of an earlier pose, and how it turns with each component of that.
    pub earlier: Option<(Block, [G::Lin; 3])>,
}

impl<G: Geometry> Along<G> {
    /// The normal itself.
    pub fn normal(point: &ContactPoint<G>) -> Self {
        Along { value: point.contact.normal, own: columns::<G>(|dn| dn), earlier: None }
    }
    /// A tangent of the contact.
    pub fn tangent(point: &ContactPoint<G>, k: usize) -> Self {
        Along { value: point.tangents()[k], own: point.turning_of(k), earlier: None }
    }
}

/// A linear map of normals as columns.
#[inline]
pub(crate) fn columns<G: Geometry>(map: impl Fn(G::Lin) -> G::Lin) -> [G::Lin; 3] {
    let mut out = [G::Lin::zero(); 3];
    for i in 0..G::DIM {
        let mut unit = G::Lin::zero();
        unit[i] = 1.0;
        out[i] = map(unit);
    }
    out
}

/// A speed at a contact: covectors on its slots, on the velocities and on the centres.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpeedMap<G: Geometry> {
    out: Block,
    /// Normal and middle of the contact.
    point: Block,
    by_normal: G::Lin,
    by_middle: G::Lin,
    earlier: Option<(Block, G::Lin)>,
    velocity: [Option<Block>; 2],
    by_velocity: [Wrench<G>; 2],
    centres: [Option<Block>; 2],
    by_centre: [G::Lin; 2],
}

impl<G: Geometry> SpeedMap<G> {
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads([self.point].into_iter().chain(self.earlier.map(|(block, _)| block)));
        wires.reads(self.velocity.into_iter().chain(self.centres).flatten());
        wires.writes([self.out.part(0, 1)]);
    }
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let lin = |block: Block| G::Lin::from_slice(&x[block.range()]);
        let mut sum = self.by_normal.dot(lin(self.point)) + self.by_middle.dot(lin(self.point.part(G::DIM, G::DIM)));
        if let Some((block, covector)) = self.earlier {
            sum += covector.dot(lin(block));
        }
        for side in 0..2 {
            if let Some(block) = self.velocity[side] {
                sum += self.by_velocity[side].power(&twist::<G>(&x[block.range()]));
            }
            if let Some(block) = self.centres[side] {
                sum += self.by_centre[side].dot(lin(block));
            }
        }
        x[self.out.range().start] += sum;
    }
    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let c = x[self.out.range().start];
        if c == 0.0 {
            return;
        }
        add(x, self.point.part(0, G::DIM), (self.by_normal * c).as_slice());
        add(x, self.point.part(G::DIM, G::DIM), (self.by_middle * c).as_slice());
        if let Some((block, covector)) = self.earlier {
            add(x, block.part(0, G::DIM), (covector * c).as_slice());
        }
        for side in 0..2 {
            if let Some(block) = self.velocity[side] {
                add(x, block.part(0, G::DIM), (self.by_velocity[side].lin * c).as_slice());
                add(x, block.part(G::DIM, G::ANG), (self.by_velocity[side].ang * c).as_slice());
            }
            if let Some(block) = self.centres[side] {
                add(x, block, (self.by_centre[side] * c).as_slice());
            }
        }
    }
}

/// The covector of a map of the normal, given by columns, against a vector: g . dn = map(dn) . slip.
#[inline]
pub(crate) fn transposed<G: Geometry>(columns: &[G::Lin; 3], slip: G::Lin) -> G::Lin {
    let mut out = G::Lin::zero();
    for i in 0..G::DIM {
        out[i] = columns[i].dot(slip);
    }
    out
}

/// The same as `speed_along` for a direction that is given by maps.
pub(crate) fn speed<G: Geometry>(
    program: &mut Program<G>,
    out: Block,
    weight: f64,
    point: &ContactPoint<G>,
    direction: &Direction<G>,
    twists: &[Twist<G>],
    velocity: &[Option<Block>],
    poses: &[Option<Block>],
) -> (Sides<G>, Sides<G>) {
    let own = columns::<G>(direction.own);
    let earlier = direction.earlier.map(|(block, map)| (block, columns::<G>(map)));
    speed_along(program, out, weight, point, &Along { value: direction.value, own, earlier }, twists, velocity, poses)
}

/// out += weight d(direction . slip) with the slip taken with `twists`; returns the covectors on velocities and, for a contact that is
/// felt through the poses, on poses.
pub(crate) fn speed_along<G: Geometry>(
    program: &mut Program<G>,
    out: Block,
    weight: f64,
    point: &ContactPoint<G>,
    direction: &Along<G>,
    twists: &[Twist<G>],
    velocity: &[Option<Block>],
    poses: &[Option<Block>],
) -> (Sides<G>, Sides<G>) {
    let d = direction.value * weight;
    let slip = point.slip(twists) * weight;
    let rates = point.bodies.map(|b| twists[b].ang);
    let by_velocity = along(point, d);
    let by_normal = transposed::<G>(&direction.own, slip);
    // d . (w x m) = -m . (w x d).
    let by_centre = [G::spin(rates[0], d), -G::spin(rates[1], d)];
    let by_middle = -(by_centre[0] + by_centre[1]);
    let map = SpeedMap {
        out,
        point: point.block,
        by_normal,
        by_middle,
        earlier: direction.earlier.map(|(block, map)| (block, transposed::<G>(&map, slip))),
        velocity: point.bodies.map(|b| velocity[b]),
        by_velocity: by_velocity.map(|(_, row)| row),
        centres: point.bodies.map(|b| poses[b].map(|block| block.part(0, G::DIM))),
        by_centre,
    };
    program.speed(map);
    let mut by_pose = crate::gradient::system::nothing::<G>();
    if let Some(covectors) = point.by_poses(program, &bar::<G>(by_normal, by_middle, 0.0)) {
        for side in 0..2 {
            let mut covector = covectors[side];
            covector.lin += by_centre[side];
            by_pose[side] = (point.bodies[side], covector);
        }
    }
    (by_velocity, by_pose)
}

/// out += weight d gap; returns the covector on poses of a contact that is felt through them.
pub(crate) fn gap<G: Geometry>(program: &mut Program<G>, out: Block, weight: f64, point: &ContactPoint<G>) -> Sides<G> {
    program.scaled(out, point.block.part(2 * G::DIM, 1), weight);
    let covectors = point.by_poses(program, &bar::<G>(G::Lin::zero(), G::Lin::zero(), weight));
    match covectors {
        Some([a, b]) => [(point.bodies[0], a), (point.bodies[1], b)],
        None => crate::gradient::system::nothing(),
    }
}
