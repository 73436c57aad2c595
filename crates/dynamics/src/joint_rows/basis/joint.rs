//! The rows of one joint as the body that it carries meets them.

use super::super::{JointRows, WHOLE};
use super::frame::{FREEDOMS, Frame};
use super::tree::Link;
use super::inertia::Articulated;
use super::{Placing, numbers, turn};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

impl<G: Geometry> JointRows<G> {
    /// Whether the joint of a link pins a point: then its held rows are those of turns, and a motion is a turn.
    #[inline]
    fn pins(&self, link: &Link) -> Option<[G::Lin; 2]> {
        let span = &self.spans[link.node as usize];
        let side = link.side as usize;
        (span.pin != WHOLE).then(|| [self.now.pins[span.pin as usize][side], self.now.pins[span.pin as usize][1 - side]])
    }

    /// How many numbers a held row of a link has.
    pub(super) fn numbers_held(&self, link: &Link) -> usize {
        if self.spans[link.node as usize].pin != WHOLE { G::ANG } else { G::DOF }
    }

    /// A held row of a link at the body that is carried, with its numbers first.
    #[inline]
    pub(super) fn held_row(&self, link: &Link, row: usize) -> [f64; FREEDOMS] {
        let span = &self.spans[link.node as usize];
        if span.pin != WHOLE {
            return turn::<G>(self.now.turns[span.at as usize + row]);
        }
        let whole = &self.now.whole[span.at as usize + row];
        numbers::<G>(whole.lin * link.sign(), whole.ang[link.side as usize])
    }

    /// The motion of the body of a link that its joint lets go.
    #[inline]
    pub(super) fn let_go(&self, link: &Link, free: &[f64; FREEDOMS]) -> Twist<G> {
        match self.pins(link) {
            Some([arm, _]) => {
                let ang = G::Ang::from_slice(free);
                Twist { lin: -G::spin(ang, arm), ang }
            }
            None => Twist { lin: G::Lin::from_slice(free), ang: G::Ang::from_slice(&free[G::DIM..]) },
        }
    }

    /// From the centre of what carries the body of a link to its own, where its joint pins a point.
    #[inline]
    pub(super) fn reach_of(&self, link: &Link) -> Option<G::Lin> {
        self.pins(link).map(|[arm, other]| other - arm)
    }

    /// What a wrench on the body of a link comes to at the body that carries it, its own freedoms at rest: the transpose of `carried`.
    #[inline(always)]
    pub(super) fn given_back(&self, link: &Link, placing: &Placing<G>, wrench: &Wrench<G>) -> Wrench<G> {
        if let Some(reach) = placing.reach {
            return Wrench { lin: wrench.lin, ang: wrench.ang + G::torque(reach, wrench.lin) };
        }
        let impulses = placing.frame.weigh(&numbers::<G>(wrench.lin, wrench.ang));
        let span = &self.spans[link.node as usize];
        let mut given = Wrench::zero();
        for (row, y) in self.now.whole[span.at as usize..][..link.held as usize].iter().zip(impulses) {
            given = given.plus(y, Wrench { lin: row.lin * link.sign(), ang: -row.ang[1 - link.side as usize] });
        }
        given
    }

    /// T' I T of the inertia of the body of a link, with T the way it is carried.
    #[inline(always)]
    pub(super) fn weight_carried(&self, link: &Link, placing: &Placing<G>, weight: &Articulated<G>) -> Articulated<G> {
        match placing.reach {
            Some(reach) => weight.carried(reach),
            None => weight.carried_by(|twist| self.carried(link, &placing.frame, twist)),
        }
    }

    /// How the rotor of a link turns with what carries its body, the freedoms of its joint at rest; `None` where it does not, as with all that pin a point.
    pub(super) fn leans(&self, link: &Link, frame: &Frame) -> Option<Wrench<G>> {
        if self.spans[link.node as usize].pin != WHOLE {
            return None;
        }
        let speed = |axis: usize| {
            let mut unit = [0.0; FREEDOMS];
            unit[axis] = 1.0;
            let carrier = Twist { lin: G::Lin::from_slice(&unit), ang: G::Ang::from_slice(&unit[G::DIM..]) };
            self.turned(link, &self.carried(link, frame, &carrier), &carrier)
        };
        let speeds: [f64; FREEDOMS] = std::array::from_fn(|axis| if axis < G::DOF { speed(axis) } else { 0.0 });
        Some(Wrench { lin: G::Lin::from_slice(&speeds), ang: G::Ang::from_slice(&speeds[G::DIM..]) })
    }

    /// The impulse of the rotor of a link: what it takes to turn as these velocities have it, or would have.
    #[inline]
    pub(super) fn rotor_pull(&self, link: &Link, target: &[f64], turning: bool, twists: &[Twist<G>]) -> f64 {
        let rotor = &self.rotors[link.rotor as usize];
        let rate = if turning { rotor.rate } else { 0.0 };
        let turned = self.turned(link, &twists[link.body as usize], &twists[link.carrier as usize]);
        (target[rotor.row] + rate - turned) / link.inverse
    }

    /// The velocity of the body of a link that meets the targets of its joint beside that of what carries it, its own freedoms at rest, theory (12.32).
    #[inline(always)]
    pub(super) fn led(&self, link: &Link, frame: &Frame, carrier: &Twist<G>, target: &[f64]) -> Twist<G> {
        let span = &self.spans[link.node as usize];
        let target = &target[span.first as usize..][..span.rows as usize];
        let (held, sign) = (link.held as usize, link.sign());
        let mut speeds = [0.0; FREEDOMS];
        if let Some([arm, other]) = self.pins(link) {
            speeds[..held].copy_from_slice(&target[G::DIM..][..held]);
            let ang = carrier.ang + G::Ang::from_slice(&frame.meet(&speeds)) * sign;
            return Twist { lin: carrier.at(other) + G::Lin::from_slice(target) * sign - G::spin(ang, arm), ang };
        }
        let rows = self.now.whole[span.at as usize..][..held].iter().zip(target);
        for (speed, (row, target)) in speeds.iter_mut().zip(rows) {
            *speed = target + sign * row.lin.dot(carrier.lin) - row.ang[1 - link.side as usize].dot(carrier.ang);
        }
        let found = frame.meet(&speeds);
        Twist { lin: G::Lin::from_slice(&found), ang: G::Ang::from_slice(&found[G::DIM..]) }
    }

    /// How the body of a link moves with what carries it, its own freedoms at rest, theory (12.27).
    #[inline]
    pub(super) fn carried(&self, link: &Link, frame: &Frame, carrier: &Twist<G>) -> Twist<G> {
        if let Some([arm, other]) = self.pins(link) {
            return Twist { lin: carrier.at(other) - G::spin(carrier.ang, arm), ang: carrier.ang };
        }
        let span = &self.spans[link.node as usize];
        let mut speeds = [0.0; FREEDOMS];
        for (speed, row) in speeds.iter_mut().zip(&self.now.whole[span.at as usize..][..link.held as usize]) {
            *speed = link.sign() * row.lin.dot(carrier.lin) - row.ang[1 - link.side as usize].dot(carrier.ang);
        }
        let found = frame.meet(&speeds);
        Twist { lin: G::Lin::from_slice(&found), ang: G::Ang::from_slice(&found[G::DIM..]) }
    }

    /// J_r v of the rotor of a link, for the body that is carried and the one that carries.
    #[inline]
    pub(super) fn turned(&self, link: &Link, own: &Twist<G>, carrier: &Twist<G>) -> f64 {
        let span = &self.spans[link.node as usize];
        if span.pin != WHOLE {
            return link.sign() * self.now.turns[(span.at + link.held) as usize].dot(own.ang - carrier.ang);
        }
        let (row, side) = (&self.now.whole[(span.at + link.held) as usize], link.side as usize);
        link.sign() * row.lin.dot(own.lin - carrier.lin) + row.ang[side].dot(own.ang) + row.ang[1 - side].dot(carrier.ang)
    }

    /// Adds the impulses of the rows of a link that give its body a wrench, its rotor having given `turned`; returns what they give to the body that carries.
    #[inline]
    pub(super) fn answer_of(&self, link: &Link, frame: &Frame, wrench: Wrench<G>, turned: f64, reaction: &mut [f64]) -> Wrench<G> {
        let span = &self.spans[link.node as usize];
        let out = &mut reaction[span.first as usize..][..span.rows as usize];
        let (held, sign) = (link.held as usize, link.sign());
        if let Some([arm, other]) = self.pins(link) {
            let force = wrench.lin * sign;
            let couple = wrench.ang * sign - G::torque(arm, force);
            out[..G::DIM].iter_mut().zip(force.as_slice()).for_each(|(out, x)| *out += x);
            let mut left = couple;
            if link.inverse > 0.0 {
                out[G::DIM + held] += turned;
                left -= self.now.turns[span.at as usize + held] * turned;
            }
            let found = frame.weigh(&turn::<G>(left));
            out[G::DIM..][..held].iter_mut().zip(found).for_each(|(out, y)| *out += y);
            return Wrench { lin: force * -sign, ang: (G::torque(other, force) + couple) * -sign };
        }
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
