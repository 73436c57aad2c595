//! Derivatives of what inertia does: the response to impulses, the implicit end rate, the move, the loads of a body, theory (17.5)-(17.9).

use super::program::{Block, Program};
use super::slots::{cross, inertia, twist, wrench};
use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::rotation::exp_coefficients;
use carom_math::{Pose, Twist, Vector, Wrench};

/// Slots of the mass and the inertia of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MassBlocks {
    /// Mass.
    pub mass: Block,
    /// Inertia in the body frame.
    pub inertia: Block,
}

/// dI w for a turn xi of the body, theory (17.5): xi x I w - I (xi x w).
#[inline]
pub(crate) fn turned<G: Geometry>(inertia: G::Inertia, xi: G::Ang, rate: G::Ang) -> G::Ang {
    cross::<G>(xi, G::inertia_apply(inertia, rate)) - G::inertia_apply(inertia, cross::<G>(xi, rate))
}

/// The transpose of `turned` in xi: I w x c - w x I c.
#[inline]
pub(crate) fn turned_transpose<G: Geometry>(inertia: G::Inertia, cotangent: G::Ang, rate: G::Ang) -> G::Ang {
    cross::<G>(G::inertia_apply(inertia, rate), cotangent) - cross::<G>(rate, G::inertia_apply(inertia, cotangent))
}

/// R dI R' w for a change of the inertia in the body frame.
#[inline]
pub(crate) fn changed<G: Geometry>(rotation: G::Rot, upper: &[f64], rate: G::Ang) -> G::Ang {
    G::rotate_rate(rotation, G::inertia_apply(inertia::<G>(upper), G::unrotate_rate(rotation, rate)))
}

/// The transpose of `changed` in dI: upper += factor (R'c) (R'w)', both halves of the symmetric matrix counted.
#[inline]
pub(crate) fn changed_transpose<G: Geometry>(rotation: G::Rot, cotangent: G::Ang, rate: G::Ang, factor: f64, upper: &mut [f64]) {
    let (u, v) = (G::unrotate_rate(rotation, cotangent), G::unrotate_rate(rotation, rate));
    let mut next = 0;
    for i in 0..G::ANG {
        for j in i..G::ANG {
            let entry = if i == j { u[i] * v[i] } else { u[i] * v[j] + u[j] * v[i] };
            upper[next] += factor * entry;
            next += 1;
        }
    }
}

/// x[block] += values.
#[inline]
pub(crate) fn add(x: &mut [f64], block: Block, values: &[f64]) {
    x[block.range()].iter_mut().zip(values).for_each(|(x, v)| *x += v);
}

/// The linear and the angular half of the slots of a body.
#[inline]
fn halves<G: Geometry>(block: Block) -> (Block, Block) {
    (block.part(0, G::DIM), block.part(G::DIM, G::ANG))
}

/// A load that acts over a time: its slots, the time, and where the time is asked about its slot and what a second of it gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded<G: Geometry> {
    /// Slots of the load.
    pub wrench: Block,
    /// How long it acts [s].
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

/// The rate y of I (y - w) + s y x I y = p, with its Jacobian, theory (17.7): what the gyroscopic torque over `s` and an angular impulse p
/// make of a rate w.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImplicitRate<G: Geometry> {
    /// Rate before.
    pub before: G::Ang,
    /// Rate after.
    pub after: G::Ang,
    /// Duration of the gyroscopic torque [s].
    pub duration: f64,
}

/// The inverse of dF/dy by rows; the identity's place is taken by zero where there is none.
pub(crate) type Unfolded = [[f64; 3]; 3];

/// A d.
#[inline]
fn apply<G: Geometry>(matrix: &Unfolded, d: G::Ang) -> G::Ang {
    let mut out = G::Ang::zero();
    for i in 0..G::ANG {
        out[i] = (0..G::ANG).map(|j| matrix[i][j] * d[j]).sum();
    }
    out
}

/// A' d.
#[inline]
fn apply_transpose<G: Geometry>(matrix: &Unfolded, d: G::Ang) -> G::Ang {
    let mut out = G::Ang::zero();
    for i in 0..G::ANG {
        out[i] = (0..G::ANG).map(|j| matrix[j][i] * d[j]).sum();
    }
    out
}

impl<G: Geometry> ImplicitRate<G> {
    /// dF/dy by rows, with dF/dy d = I d + s (d x I y + y x I d).
    pub fn folded(&self, inertia: G::Inertia) -> Unfolded {
        let n = G::ANG;
        let mut matrix = [[0.0; 3]; 3];
        let momentum = G::inertia_apply(inertia, self.after);
        for j in 0..n {
            let mut e = G::Ang::zero();
            e[j] = 1.0;
            let pushed = G::inertia_apply(inertia, e);
            let column = pushed + (cross::<G>(e, momentum) + cross::<G>(self.after, pushed)) * self.duration;
            for i in 0..n {
                matrix[i][j] = column[i];
            }
        }
        matrix
    }

    /// (dF/dy)^-1.
    pub fn unfolded(&self, inertia: G::Inertia) -> Unfolded {
        let n = G::ANG;
        let matrix = self.folded(inertia);
        let mut out = [[0.0; 3]; 3];
        if n == 1 {
            out[0][0] = 1.0 / matrix[0][0];
            return out;
        }
        // Cramer's rule: the matrix is near I, far from singular.
        let minor = |i: usize, j: usize| {
            let [(a, b), (c, d)] = [i, j].map(|k| ((k + 1) % 3, (k + 2) % 3));
            matrix[a][c] * matrix[b][d] - matrix[a][d] * matrix[b][c]
        };
        let determinant = (0..3).map(|j| matrix[0][j] * minor(0, j)).sum::<f64>();
        if determinant != 0.0 {
            let divided = 1.0 / determinant;
            for i in 0..n {
                for j in 0..n {
                    out[i][j] = minor(j, i) * divided;
                }
            }
        }
        out
    }

    /// out += dy for tangents of the rate before, the impulse, the pose, the inertia and the duration (scaled by `share` of a time).
    pub fn linearise(
        &self,
        program: &mut Program<G>,
        unfolded: &Unfolded,
        out: Block,
        before: Block,
        impulse: Block,
        pose: (Block, &Pose<G>),
        body: &LocalBody<G>,
        mass: MassBlocks,
        time: (Block, f64),
    ) {
        let map = RateMap {
            out,
            before: Some(before),
            impulse,
            turn: (G::ANG > 1).then(|| pose.0.part(G::DIM, G::ANG)),
            time: if G::ANG > 1 { program.free(time.0) } else { None },
            inertia: program.free(mass.inertia),
            rate: *self,
            share: time.1,
            world: body.inertia,
            rotation: pose.1.rotation,
            unfolded: *unfolded,
        };
        program.rate(map);
    }

    /// out += (dF/dy)^-1 p for an angular impulse p alone.
    pub fn respond(&self, program: &mut Program<G>, unfolded: &Unfolded, out: Block, impulse: Block) {
        let map = RateMap {
            out,
            before: None,
            impulse,
            turn: None,
            time: None,
            inertia: None,
            rate: *self,
            share: 0.0,
            world: G::inertia_zero(),
            rotation: G::identity(),
            unfolded: *unfolded,
        };
        program.rate(map);
    }

    /// (dF/dy)^-1 r.
    pub fn unfold(unfolded: &Unfolded, residual: G::Ang) -> G::Ang {
        apply::<G>(unfolded, residual)
    }
}

/// The derivative of an implicit rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateMap<G: Geometry> {
    out: Block,
    before: Option<Block>,
    impulse: Block,
    turn: Option<Block>,
    time: Option<Block>,
    inertia: Option<Block>,
    rate: ImplicitRate<G>,
    share: f64,
    world: G::Inertia,
    rotation: G::Rot,
    unfolded: Unfolded,
}

impl<G: Geometry> RateMap<G> {
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let ImplicitRate { before, after, duration } = self.rate;
        let gained = after - before;
        let mut residual = G::Ang::from_slice(&x[self.impulse.range()]);
        if let Some(block) = self.before {
            residual += G::inertia_apply(self.world, G::Ang::from_slice(&x[block.range()]));
        }
        let both = |change: &dyn Fn(G::Ang) -> G::Ang| change(gained) + cross::<G>(after, change(after)) * duration;
        if let Some(block) = self.turn {
            let xi = G::Ang::from_slice(&x[block.range()]);
            residual -= both(&|rate| turned::<G>(self.world, xi, rate));
        }
        if let Some(block) = self.time {
            residual -= G::gyroscopic(self.world, after) * (self.share * x[block.range().start]);
        }
        if let Some(block) = self.inertia {
            residual -= both(&|rate| changed::<G>(self.rotation, &x[block.range()], rate));
        }
        add(x, self.out, apply::<G>(&self.unfolded, residual).as_slice());
    }
    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let ImplicitRate { before, after, duration } = self.rate;
        let gained = after - before;
        let r = apply_transpose::<G>(&self.unfolded, G::Ang::from_slice(&x[self.out.range()]));
        add(x, self.impulse, r.as_slice());
        if let Some(block) = self.before {
            add(x, block, G::inertia_apply(self.world, r).as_slice());
        }
        // r . (y x z) = (r x y) . z.
        let bent = cross::<G>(r, after) * duration;
        if let Some(block) = self.turn {
            let sum = turned_transpose::<G>(self.world, r, gained) + turned_transpose::<G>(self.world, bent, after);
            add(x, block, (-sum).as_slice());
        }
        if let Some(block) = self.time {
            x[block.range().start] -= self.share * r.dot(G::gyroscopic(self.world, after));
        }
        if let Some(block) = self.inertia {
            changed_transpose::<G>(self.rotation, r, gained, -1.0, &mut x[block.range()]);
            changed_transpose::<G>(self.rotation, bent, after, -1.0, &mut x[block.range()]);
        }
    }
}

/// q' = q moved by a twist for a time, theory (17.8); without a pose, what a change of the twist adds to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveMap<G: Geometry> {
    out: Block,
    pose: Option<Block>,
    twist: Block,
    time: Option<Block>,
    value: Twist<G>,
    length: f64,
    rotation: G::Rot,
}

impl<G: Geometry> MoveMap<G> {
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let change = twist::<G>(&x[self.twist.range()]);
        let mut lin = change.lin * self.length;
        let mut ang = G::exp_derivative(self.value.ang * self.length, change.ang * self.length);
        if let Some(block) = self.pose {
            let pose = twist::<G>(&x[block.range()]);
            lin += pose.lin;
            ang += G::rotate_rate(self.rotation, pose.ang);
        }
        if let Some(block) = self.time {
            let t = x[block.range().start];
            lin += self.value.lin * t;
            ang += self.value.ang * t;
        }
        let (out_lin, out_ang) = halves::<G>(self.out);
        add(x, out_lin, lin.as_slice());
        add(x, out_ang, ang.as_slice());
    }
    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let w = wrench::<G>(&x[self.out.range()]);
        let back = carried::<G>(w, &self.value, self.length);
        let (lin, ang) = halves::<G>(self.twist);
        add(x, lin, back.lin.as_slice());
        add(x, ang, back.ang.as_slice());
        if let Some(block) = self.pose {
            let (lin, ang) = halves::<G>(block);
            add(x, lin, w.lin.as_slice());
            add(x, ang, G::unrotate_rate(self.rotation, w.ang).as_slice());
        }
        if let Some(block) = self.time {
            x[block.range().start] += w.power(&self.value);
        }
    }
}

/// q' = q moved by a twist for a time, theory (17.8).
pub(crate) fn moved<G: Geometry>(
    program: &mut Program<G>,
    out: Block,
    pose: Block,
    twists: (Block, &Twist<G>),
    time: (Option<Block>, f64),
) {
    let (block, value) = twists;
    let map = MoveMap {
        out,
        pose: Some(pose),
        twist: block,
        time: time.0.and_then(|slot| program.free(slot)),
        value: *value,
        length: time.1,
        rotation: if G::ANG > 1 { G::exp(value.ang * time.1) } else { G::identity() },
    };
    program.moves(map);
}

/// q' += what a change of the twist, and of the time if that is free, does over a time t.
pub(crate) fn displaced<G: Geometry>(program: &mut Program<G>, out: Block, twists: (Block, &Twist<G>), time: (Option<Block>, f64)) {
    let map = MoveMap { out, pose: None, twist: twists.0, time: time.0, value: *twists.1, length: time.1, rotation: G::identity() };
    program.moves(map);
}

/// What the impulses that answer do over a move: v' = v + M^-1 p and q' = q + B M^-1 p, theory (17.12).
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerMap<G: Geometry> {
    /// Velocity and pose after.
    after: (Block, Block),
    /// Velocity and pose before.
    before: (Block, Block),
    impulse: Block,
    inv_mass: G::Lin,
    inv_inertia: G::Inertia,
    value: Twist<G>,
    length: f64,
}

impl<G: Geometry> AnswerMap<G> {
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let p = wrench::<G>(&x[self.impulse.range()]);
        let change = Twist { lin: p.lin.scale(self.inv_mass), ang: G::inertia_apply(self.inv_inertia, p.ang) };
        let turned = G::exp_derivative(self.value.ang * self.length, change.ang * self.length);
        let velocity = twist::<G>(&x[self.before.0.range()]).plus(1.0, change);
        let pose = twist::<G>(&x[self.before.1.range()]).plus(1.0, Twist { lin: change.lin * self.length, ang: turned });
        for (block, value) in [(self.after.0, velocity), (self.after.1, pose)] {
            let (lin, ang) = halves::<G>(block);
            add(x, lin, value.lin.as_slice());
            add(x, ang, value.ang.as_slice());
        }
    }
    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let (by_velocity, by_pose) = (wrench::<G>(&x[self.after.0.range()]), wrench::<G>(&x[self.after.1.range()]));
        let change = by_velocity.plus(1.0, carried::<G>(by_pose, &self.value, self.length));
        let pushed = Wrench { lin: change.lin.scale(self.inv_mass), ang: G::inertia_apply(self.inv_inertia, change.ang) };
        for (block, value) in [(self.before.0, by_velocity), (self.before.1, by_pose), (self.impulse, pushed)] {
            let (lin, ang) = halves::<G>(block);
            add(x, lin, value.lin.as_slice());
            add(x, ang, value.ang.as_slice());
        }
    }
}

/// Velocity and pose after the impulses of a move have answered.
pub(crate) fn answered<G: Geometry>(
    program: &mut Program<G>,
    after: (Block, Block),
    before: (Block, Block),
    impulse: Block,
    body: &LocalBody<G>,
    (value, length): (&Twist<G>, f64),
) {
    let map = AnswerMap { after, before, impulse, inv_mass: body.inv_mass, inv_inertia: body.inv_inertia, value: *value, length };
    program.answer(map);
}

/// Gravity, damping and, where asked, the gyroscopic torque of one body, theory (17.18).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadMap<G: Geometry> {
    /// Wrench.
    pub out: Block,
    /// Velocity and angular part of the pose.
    pub velocity: Option<Block>,
    /// Angular part of the pose.
    pub turn: Option<Block>,
    /// Mass, inertia, linear and angular damping, gravity, where they are asked about.
    pub mass: Option<Block>,
    /// Inertia in the body frame.
    pub inertia_block: Option<Block>,
    /// Linear and angular damping.
    pub dampings: Option<[Block; 2]>,
    /// Gravity.
    pub gravity_block: Option<Block>,
    /// Velocity of the body.
    pub twist: Twist<G>,
    /// Inertia in world axes.
    pub inertia: G::Inertia,
    /// Orientation.
    pub rotation: G::Rot,
    /// Mass [kg].
    pub body_mass: f64,
    /// Linear damping [1/s].
    pub damping: f64,
    /// Angular damping [1/s].
    pub spin_damping: f64,
    /// Gravity [m/s^2].
    pub gravity: G::Lin,
    /// 1 where the gyroscopic torque acts, else 0.
    pub gyroscopic: f64,
}

impl<G: Geometry> LoadMap<G> {
    /// The wrench itself.
    pub fn value(&self) -> Wrench<G> {
        let rate = self.twist.ang;
        let momentum = G::inertia_apply(self.inertia, rate);
        Wrench {
            lin: self.gravity * self.body_mass - self.twist.lin * (self.damping * self.body_mass),
            ang: momentum * -self.spin_damping - G::gyroscopic(self.inertia, rate) * self.gyroscopic,
        }
    }
    /// The tangent.
    pub fn tangent(&self, x: &mut [f64]) {
        let velocity = self.velocity.map_or_else(Twist::zero, |block| twist::<G>(&x[block.range()]));
        let turn = self.turn.map_or_else(G::Ang::zero, |block| G::Ang::from_slice(&x[block.range()]));
        let Wrench { lin, ang } = self.along(&velocity, turn, x);
        let (out_lin, out_ang) = halves::<G>(self.out);
        add(x, out_lin, lin.as_slice());
        add(x, out_ang, ang.as_slice());
    }
    /// The tangent along a change of the velocity and a turn, and of the parameters in their slots.
    pub fn along(&self, velocity: &Twist<G>, turn: G::Ang, x: &[f64]) -> Wrench<G> {
        let rate = self.twist.ang;
        let momentum = G::inertia_apply(self.inertia, rate);
        // What a change of the angular momentum at a fixed rate does.
        let felt = |change: G::Ang| change * -self.spin_damping - cross::<G>(rate, change) * self.gyroscopic;
        let mut lin = velocity.lin * (-self.damping * self.body_mass);
        let mut ang = felt(G::inertia_apply(self.inertia, velocity.ang)) - cross::<G>(velocity.ang, momentum) * self.gyroscopic;
        ang += felt(turned::<G>(self.inertia, turn, rate));
        if let Some(block) = self.mass {
            lin += (self.gravity - self.twist.lin * self.damping) * x[block.range().start];
        }
        if let Some(block) = self.inertia_block {
            ang += felt(changed::<G>(self.rotation, &x[block.range()], rate));
        }
        if let Some([linear, angular]) = self.dampings {
            lin -= self.twist.lin * (self.body_mass * x[linear.range().start]);
            ang -= momentum * x[angular.range().start];
        }
        if let Some(block) = self.gravity_block {
            lin += G::Lin::from_slice(&x[block.range()]) * self.body_mass;
        }
        Wrench { lin, ang }
    }
    /// The adjoint.
    pub fn adjoint(&self, x: &mut [f64]) {
        let w = wrench::<G>(&x[self.out.range()]);
        let rate = self.twist.ang;
        let momentum = G::inertia_apply(self.inertia, rate);
        // Without angular damping and gyroscopic torque no torque acts.
        if self.spin_damping != 0.0 || self.gyroscopic != 0.0 {
            // w . (rate x z) = (w x rate) . z.
            let felt = w.ang * -self.spin_damping - cross::<G>(w.ang, rate) * self.gyroscopic;
            if let Some(block) = self.velocity {
                let by_rate = G::inertia_apply(self.inertia, felt) - cross::<G>(momentum, w.ang) * self.gyroscopic;
                add(x, block.part(G::DIM, G::ANG), by_rate.as_slice());
            }
            if let Some(block) = self.turn {
                add(x, block, turned_transpose::<G>(self.inertia, felt, rate).as_slice());
            }
            if let Some(block) = self.inertia_block {
                changed_transpose::<G>(self.rotation, felt, rate, 1.0, &mut x[block.range()]);
            }
        }
        if let Some(block) = self.velocity {
            add(x, block.part(0, G::DIM), (w.lin * (-self.damping * self.body_mass)).as_slice());
        }
        if let Some(block) = self.mass {
            x[block.range().start] += w.lin.dot(self.gravity - self.twist.lin * self.damping);
        }
        if let Some([linear, angular]) = self.dampings {
            x[linear.range().start] -= self.body_mass * w.lin.dot(self.twist.lin);
            x[angular.range().start] -= w.ang.dot(momentum);
        }
        if let Some(block) = self.gravity_block {
            add(x, block, (w.lin * self.body_mass).as_slice());
        }
    }
}

/// The covector on the twist of a covector on q': the transpose of `displaced`.
pub(crate) fn carried<G: Geometry>(covector: Wrench<G>, value: &Twist<G>, t: f64) -> Wrench<G> {
    Wrench { lin: covector.lin * t, ang: G::exp_derivative_transpose(value.ang * t, covector.ang * t) }
}

/// The angular part of `carried` as columns: t J(w)' of (1.5), the identity in the plane.
pub(crate) fn carrier<G: Geometry>(value: &Twist<G>, t: f64) -> [G::Ang; 3] {
    let mut columns = [G::Ang::zero(); 3];
    let w = value.ang * t;
    let [a, b] = if G::ANG > 1 { exp_coefficients(w.dot(w)) } else { [0.0; 2] };
    // J(w)' = (1 - b w^2) 1 + b w w' - a [w]x.
    let diagonal = 1.0 - b * if G::ANG > 1 { w.dot(w) } else { 0.0 };
    for (i, column) in columns.iter_mut().enumerate().take(G::ANG) {
        let mut unit = G::Ang::zero();
        unit[i] = 1.0;
        *column = (unit * diagonal + w * (b * w[i]) - cross::<G>(w, unit) * a) * t;
    }
    columns
}
