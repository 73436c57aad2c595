//! The response of a body to impulses: v + M^-1 p, theory (17.6).

use super::{MassBlocks, add, changed, changed_transpose, halves, turned, turned_transpose};
use crate::gradient::schedule::program::{Block, Program, Wires};
use crate::gradient::slots::{twist, wrench};
use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};

/// A load that acts over a time: its slots, the time, and where the time is asked about its slot and what a second of it gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded<G: Geometry> {
    /// Slots of the load.
    pub wrench: Block,
    /// How long it acts \[s\].
    pub duration: f64,
    /// Slot of the length of the move and the impulse of a second of it.
    pub time: Option<(Block, Wrench<G>)>,
}

/// out += v + M^-1 p for a velocity v and an impulse p, as they, the pose and the inertia change, theory (17.6).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseMap<G: Geometry> {
    out: Block,
    before: Option<Block>,
    impulse: Block,
    /// A load beside the impulse.
    load: Option<Loaded<G>>,
    /// Angular part of the pose, mass and inertia, where they are asked about.
    turn: Option<Block>,
    mass: Option<Block>,
    inertia: Option<Block>,
    inv_mass: G::Lin,
    inv_inertia: G::Inertia,
    rotation: G::Rot,
    value: G::Ang,
    result: Twist<G>,
    per_mass: f64,
}

impl<G: Geometry> ResponseMap<G> {
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads([self.impulse].into_iter().chain(self.before).chain(self.turn).chain(self.mass).chain(self.inertia));
        if let Some(load) = &self.load {
            wires.reads([load.wrench].into_iter().chain(load.time.map(|(block, _)| block)));
        }
        wires.writes([self.out]);
    }
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let mut p = wrench::<G>(&x[self.impulse.range()]);
        if let Some(load) = &self.load {
            p = p.plus(load.duration, wrench::<G>(&x[load.wrench.range()]));
            if let Some((slot, per_second)) = load.time {
                p = p.plus(x[slot.range().start], per_second);
            }
        }
        let mut lin = p.lin.scale(self.inv_mass);
        let mut ang = G::inertia_apply(self.inv_inertia, p.ang);
        if let Some(before) = self.before {
            let before = twist::<G>(&x[before.range()]);
            lin += before.lin;
            ang += before.ang;
        }
        if let Some(turn) = self.turn {
            ang += turned::<G>(self.inv_inertia, G::Ang::from_slice(&x[turn.range()]), self.value);
        }
        if let Some(mass) = self.mass {
            lin -= self.result.lin * (x[mass.range().start] * self.per_mass);
        }
        if let Some(inertia) = self.inertia {
            ang -= G::inertia_apply(self.inv_inertia, changed::<G>(self.rotation, &x[inertia.range()], self.result.ang));
        }
        let (out_lin, out_ang) = halves::<G>(self.out);
        add(x, out_lin, lin.as_slice());
        add(x, out_ang, ang.as_slice());
    }
    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let w = wrench::<G>(&x[self.out.range()]);
        let pushed = G::inertia_apply(self.inv_inertia, w.ang);
        let p = Twist { lin: w.lin.scale(self.inv_mass), ang: pushed };
        let add_both = |x: &mut [f64], block: Block, lin: G::Lin, ang: G::Ang| {
            let (lin_block, ang_block) = halves::<G>(block);
            add(x, lin_block, lin.as_slice());
            add(x, ang_block, ang.as_slice());
        };
        add_both(x, self.impulse, p.lin, p.ang);
        if let Some(load) = &self.load {
            add_both(x, load.wrench, p.lin * load.duration, p.ang * load.duration);
            if let Some((slot, per_second)) = &load.time {
                x[slot.range().start] += per_second.power(&p);
            }
        }
        if let Some(before) = self.before {
            add_both(x, before, w.lin, w.ang);
        }
        if let Some(turn) = self.turn {
            add(x, turn, turned_transpose::<G>(self.inv_inertia, w.ang, self.value).as_slice());
        }
        if let Some(mass) = self.mass {
            x[mass.range().start] -= w.lin.dot(self.result.lin) * self.per_mass;
        }
        if let Some(inertia) = self.inertia {
            changed_transpose::<G>(self.rotation, pushed, self.result.ang, -1.0, &mut x[inertia.range()]);
        }
    }
}

/// out += M^-1 p for an impulse p whose tangent stands in `impulse`; the body's inertia turns with `pose`, theory (17.6).
pub(crate) fn response<G: Geometry>(
    program: &mut Program<G>,
    out: Block,
    (impulse, value): (Block, Wrench<G>),
    pose: (Block, &Pose<G>),
    body: &LocalBody<G>,
    mass: MassBlocks,
) {
    kicked(program, (out, None), (impulse, value, None), pose, body, mass);
}

/// out += v + M^-1 p where a load acts beside the impulse; p is the value of both.
pub(crate) fn kicked<G: Geometry>(
    program: &mut Program<G>,
    (out, before): (Block, Option<Block>),
    impulse: (Block, Wrench<G>, Option<Loaded<G>>),
    pose: (Block, &Pose<G>),
    body: &LocalBody<G>,
    mass: MassBlocks,
) {
    let (block, value, load) = impulse;
    let map = ResponseMap {
        out,
        before,
        impulse: block,
        load,
        turn: (G::ANG > 1).then(|| pose.0.part(G::DIM, G::ANG)),
        mass: program.free(mass.mass),
        inertia: program.free(mass.inertia),
        inv_mass: body.inv_mass,
        inv_inertia: body.inv_inertia,
        rotation: pose.1.rotation,
        value: value.ang,
        result: body.response(&value),
        per_mass: 1.0 / body.mass,
    };
    program.response(map);
}

/// out += v + M^-1 p at fixed inertia.
pub(crate) fn respond<G: Geometry>(program: &mut Program<G>, out: Block, before: Option<Block>, impulse: Block, body: &LocalBody<G>) {
    let map = ResponseMap {
        out,
        before,
        impulse,
        load: None,
        turn: None,
        mass: None,
        inertia: None,
        inv_mass: body.inv_mass,
        inv_inertia: body.inv_inertia,
        rotation: G::identity(),
        value: G::Ang::zero(),
        result: Twist::zero(),
        per_mass: 0.0,
    };
    program.response(map);
}

/// The linear part of `response` alone.
pub(crate) fn linear_response<G: Geometry>(
    program: &mut Program<G>,
    out: Block,
    impulse: Block,
    value: &Wrench<G>,
    body: &LocalBody<G>,
    mass: Option<MassBlocks>,
) {
    let map = ResponseMap {
        out,
        before: None,
        impulse,
        load: None,
        turn: None,
        mass: mass.and_then(|mass| program.free(mass.mass)),
        inertia: None,
        inv_mass: body.inv_mass,
        inv_inertia: G::inertia_zero(),
        rotation: G::identity(),
        value: G::Ang::zero(),
        result: Twist { lin: value.lin.scale(body.inv_mass), ang: G::Ang::zero() },
        per_mass: if body.mass > 0.0 { 1.0 / body.mass } else { 0.0 },
    };
    program.response(map);
}
