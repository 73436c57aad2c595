//! Derivatives of what a contact's rows do: its impulse on two bodies, the speed along a direction at it, theory (17.14)-(17.16).

use super::contact_point::{ContactPoint, Shift};
use super::program::{Block, Program};
use super::slots::put;
use super::system::Sides;
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// The impulse of a contact with fixed multipliers as the contact moves: out_a += d(P, r_a x P), out_b -= d(P, r_b x P).
pub(crate) fn impulse<G: Geometry>(
    program: &mut Program,
    point: &ContactPoint<G>,
    impulses: &[f64; 3],
    poses: &[Option<Block>],
    out: &[Option<Block>],
) {
    let normal = point.contact.normal;
    let push = point.impulse(impulses);
    let turned = |dn: G::Lin| {
        let tangents = G::tangents_derivative(normal, dn);
        let mut sum = dn * impulses[0];
        for k in 0..G::TANGENTS {
            sum += tangents[k] * impulses[1 + k];
        }
        sum
    };
    for side in 0..2 {
        let sign = if side == 0 { 1.0 } else { -1.0 };
        let body = point.bodies[side];
        let Some(block) = out[body] else { continue };
        let arm = point.arms[side];
        program.linear(block, point.block, |x, y| {
            let shift = Shift::<G>::read(x);
            let change = turned(shift.normal);
            let torque = G::torque(arm, change) + G::torque(shift.middle, push);
            put::<G>(change * sign, torque * sign, y);
        });
        if let Some(pose) = poses[body] {
            program.linear(block.part(G::DIM, G::ANG), pose.part(0, G::DIM), |x, y| {
                y.copy_from_slice((G::torque(G::Lin::from_slice(x), push) * -sign).as_slice());
            });
        }
    }
}

/// Rows of a direction at a contact: the wrenches of a unit impulse along it.
pub(crate) fn along<G: Geometry>(point: &ContactPoint<G>, direction: G::Lin) -> Sides<G> {
    [(point.bodies[0], Wrench::along(direction, point.arms[0])), (point.bodies[1], Wrench::along(direction, point.arms[1]).negated())]
}

/// A direction at a contact that may turn with its own normal and with that of an earlier pose.
pub(crate) struct Direction<'a, G: Geometry> {
    /// The direction.
    pub value: G::Lin,
    /// How it turns with the normal of the contact.
    pub own: &'a dyn Fn(G::Lin) -> G::Lin,
    /// How it turns with the normal of an earlier pose: its slots and the map.
    pub earlier: Option<(Block, &'a dyn Fn(G::Lin) -> G::Lin)>,
}

/// out += weight d(direction . slip) with the slip taken with `twists`; returns the covectors on velocities and on poses.
pub(crate) fn speed<G: Geometry>(
    program: &mut Program,
    out: Block,
    weight: f64,
    point: &ContactPoint<G>,
    direction: &Direction<G>,
    twists: &[Twist<G>],
    velocity: &[Option<Block>],
    poses: &[Option<Block>],
) -> (Sides<G>, Sides<G>) {
    let d = direction.value;
    let slip = point.slip(twists);
    let rates = point.bodies.map(|b| twists[b].ang);
    let by_velocity = along(point, d * weight);
    let by_shift = |shift: &Shift<G>| {
        let carried = G::spin(rates[0], shift.middle) - G::spin(rates[1], shift.middle);
        weight * ((direction.own)(shift.normal).dot(slip) + d.dot(carried))
    };
    program.linear(out, point.block, |x, y| y[0] = by_shift(&Shift::read(x)));
    if let Some((block, map)) = direction.earlier {
        program.linear(out, block, |x, y| y[0] = weight * map(Shift::<G>::read(x).normal).dot(slip));
    }
    let mut by_pose = super::system::nothing::<G>();
    for side in 0..2 {
        let body = point.bodies[side];
        let sign = if side == 0 { 1.0 } else { -1.0 };
        if let Some(block) = velocity[body] {
            let mut values = [0.0; 6];
            put::<G>(by_velocity[side].1.lin, by_velocity[side].1.ang, &mut values);
            program.matrix(out, block, &values[..G::DOF]);
        }
        let by_centre = |x: G::Lin| -sign * weight * d.dot(G::spin(rates[side], x));
        if let Some(block) = poses[body] {
            program.linear(out, block.part(0, G::DIM), |x, y| y[0] = by_centre(G::Lin::from_slice(x)));
        }
        let mut covector = [0.0; 6];
        for k in 0..G::DOF {
            let xi = super::motion::unit::<G>(k);
            covector[k] = by_shift(&point.moved(side, &xi)) + by_centre(xi.lin);
        }
        by_pose[side] = (body, super::slots::wrench::<G>(&covector));
    }
    (by_velocity, by_pose)
}

/// out += weight d gap; returns the covector on poses.
pub(crate) fn gap<G: Geometry>(program: &mut Program, out: Block, weight: f64, point: &ContactPoint<G>) -> Sides<G> {
    program.linear(out, point.block, |x, y| y[0] = weight * Shift::<G>::read(x).gap);
    [0, 1].map(|side| {
        let mut covector = [0.0; 6];
        for k in 0..G::DOF {
            covector[k] = weight * point.moved(side, &super::motion::unit::<G>(k)).gap;
        }
        (point.bodies[side], super::slots::wrench::<G>(&covector))
    })
}
