//! The rows of one joint as the body that it carries meets them.

use super::super::JointRows;
use super::frame::{FREEDOMS, Frame};
use super::tree::Link;
use super::{Freedom, Pin, Placing, numbers};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Part of the square of a turn that must be left without the one before it; with less they nearly repeat each other.
const LEAST_LEFT: f64 = 1e-16;

impl<G: Geometry> Pin<G> {
    /// How the body moves with what carries it, its own freedoms at rest, theory (12.27).
    #[inline(always)]
    pub(super) fn carried(&self, carrier: &Twist<G>) -> Twist<G> {
        Twist { lin: carrier.at(self.reach), ang: carrier.ang }
    }
    /// What a wrench on the body comes to at the one that carries it: the transpose.
    #[inline(always)]
    pub(super) fn back(&self, wrench: &Wrench<G>) -> Wrench<G> {
        Wrench { lin: wrench.lin, ang: wrench.ang + G::torque(self.reach, wrench.lin) }
    }
    /// The velocity of the body that meets targets of the joint beside that of what carries it, theory (12.32).
    #[inline(always)]
    pub(super) fn led(&self, link: &Link, carrier: &Twist<G>, target: &[f64]) -> Twist<G> {
        let target = &target[link.row as usize..][..G::DIM + link.held as usize];
        let mut turned = G::Ang::zero();
        for (alone, target) in self.alone.iter().zip(&target[G::DIM..]) {
            turned += *alone * *target;
        }
        let (sign, carried) = (link.sign(), self.carried(carrier));
        let lin = carried.lin + (G::Lin::from_slice(target) - G::spin(turned, self.arm)) * sign;
        Twist { lin, ang: carried.ang + turned * sign }
    }
    /// Adds the impulses of the rows that give the body a wrench, its rotor having given `turned`; returns what they give to the body that carries.
    #[inline(always)]
    pub(super) fn answer(&self, link: &Link, wrench: Wrench<G>, turned: f64, reaction: &mut [f64]) -> Wrench<G> {
        let (held, sign) = (link.held as usize, link.sign());
        let out = &mut reaction[link.row as usize..][..G::DIM + held + usize::from(link.inverse != 0.0)];
        let couple = wrench.ang - G::torque(self.arm, wrench.lin);
        for axis in 0..G::DIM {
            out[axis] += wrench.lin[axis] * sign;
        }
        let left = couple - self.rotor * turned;
        for (out, alone) in out[G::DIM..].iter_mut().zip(&self.alone).take(held) {
            *out += alone.dot(left) * sign;
        }
        if link.inverse != 0.0 {
            out[G::DIM + held] += turned;
        }
        // The arm of the other side.
        let given = self.back(&Wrench { lin: wrench.lin, ang: wrench.ang });
        Wrench { lin: -given.lin, ang: -given.ang }
    }
}

impl<G: Geometry> JointRows<G> {
    /// The pin of a joint that pins a point, and the motions that it leaves; `None` where its rows nearly repeat each other.
    pub(super) fn pin_of(&self, link: &Link, own: &mut [Freedom<G>]) -> Option<Pin<G>> {
        let (span, side, held) = (&self.spans[link.node as usize], link.side as usize, link.held as usize);
        let arms = &self.now.pins[span.pin as usize];
        let turns = &self.now.turns[span.at as usize..];
        let (arm, mut alone) = (arms[side], [G::Ang::zero(); 3]);
        let mut free = [[0.0; FREEDOMS]; 3];
        if let (3, [a, b, ..], 2) = (G::ANG, turns, held) {
            // Two turns leave the one square to both.
            let across = cross::<G>(*a, *b);
            let square = across.dot(across);
            if !square.is_finite() || square <= LEAST_LEFT * a.dot(*a) * b.dot(*b) {
                return None;
            }
            let share = 1.0 / square;
            alone = [cross::<G>(*b, across) * share, cross::<G>(across, *a) * share, G::Ang::zero()];
            free[0][..G::ANG].copy_from_slice(&(across * share.sqrt()).as_slice()[..G::ANG]);
        } else {
            let mut frame = Frame::default();
            let row = |row: usize, out: &mut [f64; FREEDOMS]| out[..G::ANG].copy_from_slice(&turns[row].as_slice()[..G::ANG]);
            if !frame.find(held, G::ANG, row) {
                return None;
            }
            alone.iter_mut().zip(frame.alone()).for_each(|(alone, found)| *alone = G::Ang::from_slice(found));
            free.iter_mut().zip(frame.free()).for_each(|(free, found)| *free = *found);
        }
        let mut rotor = G::Ang::zero();
        if link.inverse != 0.0 {
            rotor = turns[held] * link.sign();
        }
        for (freedom, free) in own.iter_mut().zip(&free) {
            let ang = G::Ang::from_slice(free);
            freedom.motion = Twist { lin: -G::spin(ang, arm), ang };
            freedom.spin = rotor.dot(ang);
        }
        Some(Pin { arm, reach: arms[1 - side] - arm, alone, rotor })
    }

    /// A held row of a link whose joint pins no point at the body that is carried, with its numbers first.
    pub(super) fn held_row(&self, link: &Link, row: usize) -> [f64; FREEDOMS] {
        let whole = &self.now.whole[self.spans[link.node as usize].at as usize + row];
        numbers::<G>(whole.lin * link.sign(), whole.ang[link.side as usize])
    }

    /// What a wrench on the body of a link whose joint pins no point comes to at the body that carries it, its own freedoms at rest: the transpose of `carried`.
    pub(super) fn given_back(&self, link: &Link, frame: &Frame, wrench: &Wrench<G>) -> Wrench<G> {
        let impulses = frame.weigh(&numbers::<G>(wrench.lin, wrench.ang));
        let span = &self.spans[link.node as usize];
        let mut given = Wrench::zero();
        for (row, y) in self.now.whole[span.at as usize..][..link.held as usize].iter().zip(impulses) {
            given = given.plus(y, Wrench { lin: row.lin * link.sign(), ang: -row.ang[1 - link.side as usize] });
        }
        given
    }

    /// How the rotor of a link whose joint pins no point turns with what carries its body, the freedoms of its joint at rest.
    pub(super) fn leans(&self, link: &Link, frame: &Frame) -> Wrench<G> {
        let speed = |axis: usize| {
            let mut unit = [0.0; FREEDOMS];
            unit[axis] = 1.0;
            let carrier = Twist { lin: G::Lin::from_slice(&unit), ang: G::Ang::from_slice(&unit[G::DIM..]) };
            self.turned(link, &self.carried(link, frame, &carrier), &carrier)
        };
        let speeds: [f64; FREEDOMS] = std::array::from_fn(|axis| if axis < G::DOF { speed(axis) } else { 0.0 });
        Wrench { lin: G::Lin::from_slice(&speeds), ang: G::Ang::from_slice(&speeds[G::DIM..]) }
    }

    /// The impulse of the rotor of a link: what it takes to turn as these velocities have it, or would have.
    #[inline(always)]
    pub(super) fn rotor_pull(&self, link: &Link, placing: &Placing<G>, target: &[f64], turning: bool, twists: &[Twist<G>]) -> f64 {
        let rotor = &self.rotors[link.rotor as usize];
        let rate = if turning { rotor.rate } else { 0.0 };
        let [own, carrier] = [link.body, link.carrier].map(|body| &twists[body as usize]);
        let turned = match &placing.pin {
            Some(pin) => pin.rotor.dot(own.ang - carrier.ang),
            None => self.turned(link, own, carrier),
        };
        (target[rotor.row] + rate - turned) / link.inverse
    }

    /// The velocity of the body of a link whose joint pins no point that meets the targets of its joint beside that of what carries it, its own freedoms at
    /// rest, theory (12.32).
    pub(super) fn led(&self, link: &Link, frame: &Frame, carrier: &Twist<G>, target: &[f64]) -> Twist<G> {
        let mut speeds = self.speeds_of(link, carrier);
        for (speed, target) in speeds.iter_mut().zip(&target[link.row as usize..][..link.held as usize]) {
            *speed += target;
        }
        let found = frame.meet(&speeds);
        Twist { lin: G::Lin::from_slice(&found), ang: G::Ang::from_slice(&found[G::DIM..]) }
    }

    /// How the body of a link whose joint pins no point moves with what carries it, its own freedoms at rest, theory (12.27).
    pub(super) fn carried(&self, link: &Link, frame: &Frame, carrier: &Twist<G>) -> Twist<G> {
        let found = frame.meet(&self.speeds_of(link, carrier));
        Twist { lin: G::Lin::from_slice(&found), ang: G::Ang::from_slice(&found[G::DIM..]) }
    }

    /// What the held rows of such a link ask of its body for what carries it.
    fn speeds_of(&self, link: &Link, carrier: &Twist<G>) -> [f64; FREEDOMS] {
        let span = &self.spans[link.node as usize];
        let mut speeds = [0.0; FREEDOMS];
        for (speed, row) in speeds.iter_mut().zip(&self.now.whole[span.at as usize..][..link.held as usize]) {
            *speed = link.sign() * row.lin.dot(carrier.lin) - row.ang[1 - link.side as usize].dot(carrier.ang);
        }
        speeds
    }

    /// J_r v of the rotor of a link, for the body that is carried and the one that carries.
    #[inline]
    pub(super) fn turned(&self, link: &Link, own: &Twist<G>, carrier: &Twist<G>) -> f64 {
        let span = &self.spans[link.node as usize];
        if link.frame == super::NONE {
            return link.sign() * self.now.turns[(span.at + link.held) as usize].dot(own.ang - carrier.ang);
        }
        let (row, side) = (&self.now.whole[(span.at + link.held) as usize], link.side as usize);
        link.sign() * row.lin.dot(own.lin - carrier.lin) + row.ang[side].dot(own.ang) + row.ang[1 - side].dot(carrier.ang)
    }

    /// Adds the impulses of the rows of a link whose joint pins no point that give its body a wrench, its rotor having given `turned`; returns what they give to
    /// the body that carries.
    pub(super) fn answer_of(&self, link: &Link, frame: &Frame, wrench: Wrench<G>, turned: f64, reaction: &mut [f64]) -> Wrench<G> {
        let span = &self.spans[link.node as usize];
        let out = &mut reaction[span.first as usize..][..span.rows as usize];
        let (held, sign) = (link.held as usize, link.sign());
        let whole = &self.now.whole[span.at as usize..][..span.rows as usize];
        let mut left = numbers::<G>(wrench.lin, wrench.ang);
        if link.inverse > 0.0 {
            let row = numbers::<G>(whole[held].lin * sign, whole[held].ang[link.side as usize]);
            left.iter_mut().zip(row).for_each(|(left, x)| *left -= turned * x);
        }
        let mut impulses = frame.weigh(&left);
        if link.inverse > 0.0 {
            impulses[held] = turned;
        }
        let mut given = Wrench::zero();
        for ((out, row), y) in out.iter_mut().zip(whole).zip(impulses) {
            *out += y;
            given = given.plus(y, Wrench { lin: row.lin * -sign, ang: row.ang[1 - link.side as usize] });
        }
        given
    }
}

/// x x y of two rates; nothing in the plane.
#[inline(always)]
fn cross<G: Geometry>(x: G::Ang, y: G::Ang) -> G::Ang {
    if G::ANG == 1 {
        return G::Ang::zero();
    }
    G::Ang::from_slice(G::spin(x, G::Lin::from_slice(y.as_slice())).as_slice())
}
