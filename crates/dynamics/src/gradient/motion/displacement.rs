//! The move of a body by its velocity, theory (17.8), and what impulses that answer add to it, theory (17.12).

use super::{add, halves};
use crate::gradient::schedule::program::{Block, Program, Wires};
use crate::gradient::slots::{cross, twist, wrench};
use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::rotation::exp_coefficients;
use carom_math::{Twist, Vector, Wrench};

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
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads([self.twist].into_iter().chain(self.pose).chain(self.time));
        wires.writes([self.out]);
    }
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
    /// The slots it stands between.
    pub fn wires(&self, wires: &mut Wires) {
        wires.reads([self.before.0, self.before.1, self.impulse]);
        wires.writes([self.after.0, self.after.1]);
    }
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

/// The covector on the twist of a covector on q': the transpose of `displaced`.
fn carried<G: Geometry>(covector: Wrench<G>, value: &Twist<G>, t: f64) -> Wrench<G> {
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
