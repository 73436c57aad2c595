//! The bodies of a linkage: how they answer impulses at q and at q', and the loads on them alone, theory (17.5)-(17.8), (17.18).

use super::linkage::Linkage;
use super::motion::{ImplicitRate, LoadMap, Unfolded};
use super::program::Block;
use super::slots::{add_wrench, cross, inertia_len};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Where the parameters of a body stand among the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyParameters {
    /// Mass.
    pub mass: usize,
    /// First of the numbers of the inertia in the body frame.
    pub inertia: usize,
    /// Linear and angular damping.
    pub dampings: [usize; 2],
}

/// A body of a linkage over a substep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkBody<G: Geometry> {
    /// Its index in the model.
    pub index: usize,
    /// Whether impulses move it.
    pub dynamic: bool,
    /// Slots of the pose at q, none for the world, and of the velocity, none for what never moves.
    pub pose: Option<Block>,
    /// Velocity before.
    pub twist: Option<Block>,
    /// Slots of its parameters, where they are asked about.
    pub parameters: Option<BodyParameters>,
    /// Mass [kg].
    pub mass: f64,
    /// One over the mass [1/kg].
    pub per_mass: f64,
    /// Inverse mass per axis [1/kg].
    pub inv_mass: G::Lin,
    /// Damping of its velocity and of its spin [1/s].
    pub dampings: [f64; 2],
    /// How a covector on the orientation at q' is carried over the move, columns over the length of the move.
    pub carrier: [G::Ang; 3],
    /// Velocity at q, of the move and at q'.
    pub twists: [Twist<G>; 3],
    /// How its rate at q' answers an angular impulse, by columns, where that is implicit.
    pub unfolded: Option<[G::Ang; 3]>,
}

/// A body at a pose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turned<G: Geometry> {
    /// Its orientation.
    pub matrix: G::Matrix,
    /// Inertia and its inverse in world axes.
    pub inertia: G::Inertia,
    /// Inverse inertia.
    pub inv_inertia: G::Inertia,
}

impl<G: Geometry> LinkBody<G> {
    /// Whether every force and every torque moves it.
    pub(super) fn answers(&self, turned: &Turned<G>) -> bool {
        self.dynamic && (0..G::DIM).all(|axis| self.inv_mass[axis] > 0.0) && turned.inv_inertia != G::inertia_zero()
    }

    /// The velocity that an impulse gives in a room.
    #[inline]
    pub(super) fn response(&self, room: usize, turned: &Turned<G>, impulse: &Wrench<G>) -> Twist<G> {
        let inverse = turned.inv_inertia;
        let ang = if room == 0 { G::inertia_apply(inverse, impulse.ang) } else { self.end_rate(impulse.ang, inverse) };
        Twist { lin: impulse.lin.scale(self.inv_mass), ang }
    }

    /// The inverse of its response in a room, where it answers: mass per axis, and how an angular impulse answers a rate, by rows.
    pub(super) fn mass_matrix(&self, room: usize, turned: &Turned<G>, duration: f64) -> (G::Lin, Unfolded) {
        let mut mass = G::Lin::zero();
        (0..G::DIM).for_each(|axis| mass[axis] = 1.0 / self.inv_mass[axis]);
        let gyroscopic = if room == 1 && self.unfolded.is_some() { duration } else { 0.0 };
        let rate = ImplicitRate::<G> { before: self.twists[1].ang, after: self.twists[2].ang, duration: gyroscopic };
        (mass, rate.folded(turned.inertia))
    }

    /// The covector on the velocity of the move of one on q', over the length of the move.
    #[inline]
    pub(super) fn carried(&self, covector: &Wrench<G>) -> Wrench<G> {
        Wrench { lin: covector.lin, ang: self.carried_torque(covector.ang) }
    }

    /// Its angular part.
    #[inline(always)]
    pub(super) fn carried_torque(&self, torque: G::Ang) -> G::Ang {
        if G::ANG == 1 {
            return torque;
        }
        let columns = &self.carrier;
        columns[0] * torque[0] + columns[1] * torque[1] + columns[2] * torque[2]
    }

    /// The rate at q' that an angular impulse gives.
    #[inline(always)]
    pub(super) fn end_rate(&self, impulse: G::Ang, inv_inertia: G::Inertia) -> G::Ang {
        match &self.unfolded {
            Some(columns) => columns[0] * impulse[0] + columns[1] * impulse[1] + columns[2] * impulse[2],
            None => G::inertia_apply(inv_inertia, impulse),
        }
    }

    /// The transpose.
    #[inline(always)]
    pub(super) fn end_rate_transpose(&self, w: G::Ang, turned: &Turned<G>) -> G::Ang {
        match &self.unfolded {
            Some(columns) => {
                let mut out = G::Ang::zero();
                (0..G::ANG).for_each(|j| out[j] = columns[j].dot(w));
                out
            }
            None => G::inertia_apply(turned.inv_inertia, w),
        }
    }
}

/// The columns of a matrix by rows.
pub(super) fn columns<G: Geometry>(rows: &Unfolded) -> [G::Ang; 3] {
    let mut out = [G::Ang::zero(); 3];
    for (j, column) in out.iter_mut().enumerate().take(G::ANG) {
        (0..G::ANG).for_each(|i| column[i] = rows[i][j]);
    }
    out
}

/// upper += factor (R'c) (R'w)', both halves of the symmetric matrix counted: the gradient by the inertia in the body frame of c . I w.
#[inline]
pub(super) fn add_inertia<G: Geometry>(matrix: &G::Matrix, cotangent: G::Ang, rate: G::Ang, factor: f64, upper: &mut [f64]) {
    let (u, v) = (G::matrix_unrotate_rate(matrix, cotangent * factor), G::matrix_unrotate_rate(matrix, rate));
    let mut next = 0;
    for i in 0..G::ANG {
        for j in i..G::ANG {
            upper[next] += if i == j { u[i] * v[i] } else { u[i] * v[j] + u[j] * v[i] };
            next += 1;
        }
    }
}

impl<G: Geometry> Linkage<G> {
    /// The velocity that an impulse gives in a room.
    #[inline]
    pub(super) fn response(&self, room: usize, local: usize, impulse: &Wrench<G>) -> Twist<G> {
        self.bodies[local].response(room, &self.turned[room][local], impulse)
    }

    /// Gravity, damping and, at q, the gyroscopic torque of a body; slots are those of the tangent.
    pub(super) fn load_map(&self, room: usize, local: usize) -> LoadMap<G> {
        let (body, turned) = (&self.bodies[local], &self.turned[room][local]);
        let parameters = body.parameters;
        let slot = |at: usize| Block::at(at, 1);
        LoadMap {
            out: Block::NOWHERE,
            velocity: None,
            turn: None,
            mass: parameters.map(|p| slot(p.mass)),
            inertia_block: parameters.map(|p| Block::at(p.inertia, inertia_len(G::ANG))),
            dampings: parameters.map(|p| p.dampings.map(slot)),
            gravity_block: self.gravity_block,
            twist: body.twists[room],
            inertia: turned.inertia,
            rotation: self.poses[room][local].rotation,
            body_mass: body.mass,
            damping: body.dampings[0],
            spin_damping: body.dampings[1],
            gravity: self.gravity,
            gyroscopic: if room == 0 && G::ANG > 1 { 1.0 } else { 0.0 },
        }
    }

    /// All loads on a body at q or at q'.
    #[inline]
    pub(super) fn force(&self, room: usize, local: usize) -> Wrench<G> {
        let (body, turned) = (&self.bodies[local], &self.turned[room][local]);
        let twist = &body.twists[room];
        let mut force = Wrench { lin: (self.gravity - twist.lin * body.dampings[0]) * body.mass, ang: G::Ang::zero() };
        if G::ANG > 1 && room == 0 {
            force.ang -= G::gyroscopic(turned.inertia, twist.ang);
        }
        if body.dampings[1] != 0.0 {
            force.ang -= G::inertia_apply(turned.inertia, twist.ang) * body.dampings[1];
        }
        self.others[room].get(local).map_or(force, |other| force.plus(1.0, *other))
    }

    /// Adds the cotangents of the loads on a body, given those of their impulses and the length of time they act: returns those of the velocity and
    /// of the orientation.
    #[inline]
    pub(super) fn load_adjoint(
        &self,
        room: usize,
        local: usize,
        impulse: &Twist<G>,
        by_gravity: &mut G::Lin,
        x: &mut [f64],
    ) -> (Wrench<G>, G::Ang) {
        let (body, turned) = (&self.bodies[local], &self.turned[room][local]);
        let duration = self.share * self.length;
        let w = Wrench { lin: impulse.lin * duration, ang: impulse.ang * duration };
        if self.loaded() {
            add_wrench::<G>(&mut x[Self::part(self.wrenches[room], local)], &w);
        }
        let twist = &body.twists[room];
        let [damping, spin_damping] = body.dampings;
        let gyroscopic = room == 0 && G::ANG > 1;
        let mut by_velocity = Wrench { lin: w.lin * (-damping * body.mass), ang: G::Ang::zero() };
        let mut by_turn = G::Ang::zero();
        if gyroscopic || spin_damping != 0.0 {
            let momentum = G::inertia_apply(turned.inertia, twist.ang);
            let mut felt = w.ang * -spin_damping;
            if gyroscopic {
                // w . (rate x z) = (w x rate) . z.
                felt -= cross::<G>(w.ang, twist.ang);
                by_velocity.ang -= cross::<G>(momentum, w.ang);
            }
            let pushed = G::inertia_apply(turned.inertia, felt);
            by_velocity.ang += pushed;
            if G::ANG > 1 {
                by_turn = cross::<G>(momentum, felt) - cross::<G>(twist.ang, pushed);
            }
            if let Some(slots) = body.parameters {
                add_inertia::<G>(&turned.matrix, felt, twist.ang, 1.0, &mut x[slots.inertia..]);
            }
        }
        if let Some(slots) = body.parameters {
            x[slots.mass] += w.lin.dot(self.gravity - twist.lin * damping);
            x[slots.dampings[0]] -= body.mass * w.lin.dot(twist.lin);
            x[slots.dampings[1]] -= w.ang.dot(G::inertia_apply(turned.inertia, twist.ang));
            *by_gravity += w.lin * body.mass;
        }
        (by_velocity, by_turn)
    }

    /// Adds the cotangent of gravity.
    #[inline]
    pub(super) fn add_gravity(&self, by_gravity: G::Lin, x: &mut [f64]) {
        if let Some(block) = self.gravity_block {
            x[block.range()].iter_mut().zip(by_gravity.as_slice()).for_each(|(x, v)| *x += v);
        }
    }
}
