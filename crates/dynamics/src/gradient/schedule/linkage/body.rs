//! The bodies of a linkage or a patch: how they answer impulses at q and at q', and the loads on them alone, theory (17.5)-(17.8), (17.18).

use super::Linkage;
use crate::body_load::{BodyLoad, RESISTANCES, Resisting};
use crate::gradient::motion::{ImplicitRate, LoadMap, LoadSlots, Unfolded, carrier, changed, turned, turned_transpose};
use crate::gradient::named::parameters::BodySlots;
use crate::gradient::schedule::program::Block;
use crate::gradient::schedule::stage::{Running, Stage};
use crate::gradient::slots::{add_wrench, cross, inertia_len};
use crate::gradient::tape::record::Substep;
use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};

/// Where the parameters of a body stand among the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyParameters {
    /// Mass.
    pub mass: usize,
    /// First of the numbers of the inertia in the body frame.
    pub inertia: usize,
    /// First of what resists.
    pub resistances: usize,
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
    /// Mass \[kg\].
    pub mass: f64,
    /// One over the mass [1/kg].
    pub per_mass: f64,
    /// Inverse mass per axis [1/kg].
    pub inv_mass: G::Lin,
    /// What resists its motion.
    pub resistances: Resisting,
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
    pub(crate) fn answers(&self, turned: &Turned<G>) -> bool {
        self.dynamic && (0..G::DIM).all(|axis| self.inv_mass[axis] > 0.0) && turned.inv_inertia != G::inertia_zero()
    }

    /// The velocity that an impulse gives in a room.
    #[inline]
    pub(crate) fn response(&self, room: usize, turned: &Turned<G>, impulse: &Wrench<G>) -> Twist<G> {
        let inverse = turned.inv_inertia;
        let ang = if room == 0 { G::inertia_apply(inverse, impulse.ang) } else { self.end_rate(impulse.ang, inverse) };
        Twist { lin: impulse.lin.scale(self.inv_mass), ang }
    }

    /// The inverse of its response in a room, where it answers: mass per axis, and how an angular impulse answers a rate, by rows.
    pub(crate) fn mass_matrix(&self, room: usize, turned: &Turned<G>, duration: f64) -> (G::Lin, Unfolded) {
        let mut mass = G::Lin::zero();
        (0..G::DIM).for_each(|axis| mass[axis] = 1.0 / self.inv_mass[axis]);
        let gyroscopic = if room == 1 && self.unfolded.is_some() { duration } else { 0.0 };
        let rate = ImplicitRate::<G> { before: self.twists[1].ang, after: self.twists[2].ang, duration: gyroscopic };
        (mass, rate.folded(turned.inertia))
    }

    /// The covector on the velocity of the move of one on q', over the length of the move.
    #[inline]
    pub(crate) fn carried(&self, covector: &Wrench<G>) -> Wrench<G> {
        Wrench { lin: covector.lin, ang: self.carried_torque(covector.ang) }
    }

    /// Its angular part.
    #[inline(always)]
    pub(crate) fn carried_torque(&self, torque: G::Ang) -> G::Ang {
        if G::ANG == 1 {
            return torque;
        }
        let columns = &self.carrier;
        columns[0] * torque[0] + columns[1] * torque[1] + columns[2] * torque[2]
    }

    /// The rate at q' that an angular impulse gives.
    #[inline(always)]
    pub(crate) fn end_rate(&self, impulse: G::Ang, inv_inertia: G::Inertia) -> G::Ang {
        match &self.unfolded {
            Some(columns) => columns[0] * impulse[0] + columns[1] * impulse[1] + columns[2] * impulse[2],
            None => G::inertia_apply(inv_inertia, impulse),
        }
    }

    /// The transpose.
    #[inline(always)]
    pub(crate) fn end_rate_transpose(&self, w: G::Ang, turned: &Turned<G>) -> G::Ang {
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
pub(crate) fn columns<G: Geometry>(rows: &Unfolded) -> [G::Ang; 3] {
    let mut out = [G::Ang::zero(); 3];
    for (j, column) in out.iter_mut().enumerate().take(G::ANG) {
        (0..G::ANG).for_each(|i| column[i] = rows[i][j]);
    }
    out
}

/// upper += factor (R'c) (R'w)', both halves of the symmetric matrix counted: the gradient with respect to the inertia in the body frame of c . I w.
#[inline]
pub(crate) fn add_inertia<G: Geometry>(matrix: &G::Matrix, cotangent: G::Ang, rate: G::Ang, factor: f64, upper: &mut [f64]) {
    let (u, v) = (G::matrix_unrotate_rate(matrix, cotangent * factor), G::matrix_unrotate_rate(matrix, rate));
    let mut next = 0;
    for i in 0..G::ANG {
        for j in i..G::ANG {
            upper[next] += if i == j { u[i] * v[i] } else { u[i] * v[j] + u[j] * v[i] };
            next += 1;
        }
    }
}

/// Cotangents that a body hands on from its velocity at q'.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndBar<G: Geometry> {
    /// Of its impulse.
    pub impulse: Twist<G>,
    /// Of the velocity of the move.
    pub half: Wrench<G>,
    /// Of its orientation at q'.
    pub turn: G::Ang,
    /// Of the length of the move.
    pub time: f64,
}

/// Gravity and its slots, where it is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gravity<G: Geometry> {
    /// Acceleration [m/s^2].
    pub value: G::Lin,
    /// Slots.
    pub block: Option<Block>,
}

impl<G: Geometry> Gravity<G> {
    /// Adds its cotangent.
    #[inline]
    pub fn add(&self, bar: G::Lin, x: &mut [f64]) {
        if let Some(block) = self.block {
            x[block.range()].iter_mut().zip(bar.as_slice()).for_each(|(x, v)| *x += v);
        }
    }
}

impl<G: Geometry> Turned<G> {
    /// A body at a pose.
    pub fn at(body: &LocalBody<G>, pose: &Pose<G>) -> Self {
        let matrix = G::matrix(pose.rotation);
        let inertia = G::inertia_turned(body.inertia_body, &matrix);
        Turned { matrix, inertia, inv_inertia: G::inertia_turned(body.inv_inertia_body, &matrix) }
    }
}

impl<G: Geometry> LinkBody<G> {
    /// A local body over a substep; `asked` are the slots of the parameters where they are asked about, `end` is the body at q'.
    pub fn of(
        stage: &Stage<G>,
        substep: &Substep<G>,
        running: &Running,
        local: usize,
        asked: Option<Block>,
        end: &Turned<G>,
        share: f64,
    ) -> Self {
        let body = &stage.bodies[local];
        let parameters = asked.filter(|_| body.dynamic).map(|theta| {
            let BodySlots { mass, inertia, resistances, .. } = &stage.parameters.1.bodies[body.index];
            let at = |slot: usize| theta.range().start + slot;
            BodyParameters { mass: at(*mass), inertia: at(inertia.start), resistances: at(resistances.damping) }
        });
        let space = G::ANG > 1;
        let (length, half, after) = (substep.length, substep.half[local], substep.end[local]);
        let rate = ImplicitRate::<G> { before: half.ang, after: after.ang, duration: share * length };
        let turns = space && body.dynamic && body.inv_inertia_body != G::inertia_zero();
        let per_time = 1.0 / length;
        LinkBody {
            index: body.index,
            dynamic: body.dynamic,
            pose: running.poses[local],
            twist: running.twists[local],
            parameters,
            mass: body.mass,
            per_mass: if body.mass > 0.0 { 1.0 / body.mass } else { 0.0 },
            inv_mass: body.inv_mass,
            resistances: stage.resistances(body),
            carrier: if space { carrier::<G>(&half, length).map(|column| column * per_time) } else { [G::Ang::zero(); 3] },
            twists: [substep.twists[local], half, after],
            unfolded: turns.then(|| columns::<G>(&rate.unfolded(end.inertia))),
        }
    }

    /// Its load in a room; the gyroscopic torque counts at q.
    #[inline]
    fn load(&self, room: usize, inertia: G::Inertia, gravity: G::Lin) -> BodyLoad<G> {
        let gyroscopic = room == 0 && G::ANG > 1;
        BodyLoad { gravity, mass: self.mass, inertia, resistances: self.resistances, gyroscopic, twist: self.twists[room] }
    }

    /// The load itself.
    #[inline]
    pub(crate) fn force(&self, room: usize, turned: &Turned<G>, gravity: G::Lin) -> Wrench<G> {
        self.load(room, turned.inertia, gravity).value()
    }

    /// How it changes along a change of the velocity and a turn, and of the parameters in their slots.
    #[inline]
    pub(crate) fn load_tangent(
        &self,
        room: usize,
        (at, rotation): (&Turned<G>, G::Rot),
        gravity: &Gravity<G>,
        (velocity, turn): (&Twist<G>, G::Ang),
        x: &[f64],
    ) -> Wrench<G> {
        let asked = self.parameters.zip(gravity.block).map(|(slots, gravity)| LoadSlots {
            mass: Block::at(slots.mass, 1),
            inertia: Block::at(slots.inertia, inertia_len(G::ANG)),
            resistances: Block::at(slots.resistances, RESISTANCES),
            gravity,
        });
        let load = self.load(room, at.inertia, gravity.value);
        LoadMap { out: Block::NOWHERE, velocity: None, turn: None, asked, rotation, load }.along(*velocity, turn, x)
    }

    /// Adds the cotangents of the loads, given those of their impulses over a time: returns those of the velocity and of the orientation.
    #[inline]
    pub(crate) fn load_adjoint(
        &self,
        room: usize,
        turned: &Turned<G>,
        w: &Wrench<G>,
        gravity: G::Lin,
        by_gravity: &mut G::Lin,
        x: &mut [f64],
    ) -> (Wrench<G>, G::Ang) {
        let load = self.load(room, turned.inertia, gravity);
        let bar = load.transpose(w);
        let rate = load.twist.ang;
        let mut by_turn = G::Ang::zero();
        if load.turns() {
            if G::ANG > 1 {
                by_turn = turned_transpose::<G>(turned.inertia, bar.momentum, rate);
            }
            if let Some(slots) = self.parameters {
                add_inertia::<G>(&turned.matrix, bar.momentum, rate, 1.0, &mut x[slots.inertia..]);
            }
        }
        if let Some(slots) = self.parameters {
            x[slots.mass] += bar.mass;
            x[slots.resistances..].iter_mut().zip(bar.resistances).for_each(|(x, bar)| *x += bar);
            *by_gravity += bar.gravity;
        }
        (bar.velocity, by_turn)
    }

    /// d(M^-1 p) at q for a change of the impulse, of the pose and of the inertia, theory (17.6).
    #[inline]
    pub(crate) fn half_tangent(&self, (at, rotation): (&Turned<G>, G::Rot), impulse: &Wrench<G>, turn: G::Ang, x: &[f64]) -> Twist<G> {
        let mut out = self.response(0, at, impulse);
        let gained = self.twists[1].plus(-1.0, self.twists[0]);
        if G::ANG > 1 {
            out.ang += turned::<G>(at.inv_inertia, turn, G::inertia_apply(at.inertia, gained.ang));
        }
        if let Some(slots) = self.parameters {
            let upper = &x[slots.inertia..slots.inertia + inertia_len(G::ANG)];
            out.lin -= gained.lin * (x[slots.mass] * self.per_mass);
            out.ang -= G::inertia_apply(at.inv_inertia, changed::<G>(rotation, upper, gained.ang));
        }
        out
    }

    /// The transpose: of a covector on the velocity of the move, the cotangents of the impulse and of the orientation.
    #[inline]
    pub(crate) fn half_adjoint(&self, at: &Turned<G>, known: &Wrench<G>, x: &mut [f64]) -> (Twist<G>, G::Ang) {
        let impulse = self.response(0, at, known);
        // M^-1 of the whole impulse is what the velocity gained.
        let gained = self.twists[1].plus(-1.0, self.twists[0]);
        let mut by_turn = G::Ang::zero();
        if G::ANG > 1 {
            by_turn = cross::<G>(gained.ang, known.ang) - cross::<G>(G::inertia_apply(at.inertia, gained.ang), impulse.ang);
        }
        if let Some(slots) = self.parameters {
            x[slots.mass] -= known.lin.dot(gained.lin) * self.per_mass;
            add_inertia::<G>(&at.matrix, impulse.ang, gained.ang, -1.0, &mut x[slots.inertia..]);
        }
        (impulse, by_turn)
    }

    /// The pose at q' for changes of the pose, of the velocity of the move and of its length, theory (17.8).
    #[inline]
    pub(crate) fn moved(&self, at: [&Turned<G>; 2], length: f64, pose: &Twist<G>, velocity: &Twist<G>, time: f64) -> Twist<G> {
        let value = &self.twists[1];
        // The turn of the move on a turn at q is R(q') R(q)'.
        let carried = G::matrix_rotate_rate(&at[1].matrix, G::matrix_unrotate_rate(&at[0].matrix, pose.ang));
        Twist {
            lin: pose.lin + velocity.lin * length + value.lin * time,
            ang: carried + G::exp_derivative(value.ang * length, velocity.ang * length) + value.ang * time,
        }
    }

    /// The covector on the pose at q of one on the pose at q'.
    #[inline]
    pub(crate) fn moved_back(at: [&Turned<G>; 2], next: &Wrench<G>) -> Wrench<G> {
        let ang = G::matrix_rotate_rate(&at[0].matrix, G::matrix_unrotate_rate(&at[1].matrix, next.ang));
        Wrench { lin: next.lin, ang }
    }

    /// The transpose of the response at q'.
    #[inline]
    pub(crate) fn end_response_transpose(&self, at: &Turned<G>, w: &Wrench<G>) -> Twist<G> {
        Twist { lin: w.lin.scale(self.inv_mass), ang: self.end_rate_transpose(w.ang, at) }
    }

    /// d of the velocity at q' before rows answer, theory (17.6)-(17.7); `held` is how long the gyroscopic torque acts, `longer` by how much that changes.
    pub(crate) fn end_tangent(
        &self,
        (at, rotation): (&Turned<G>, G::Rot),
        half: &Twist<G>,
        (impulse, turn): (&Wrench<G>, G::Ang),
        [held, longer]: [f64; 2],
        x: &[f64],
    ) -> Twist<G> {
        let gained = self.twists[2].plus(-1.0, self.twists[1]);
        let mut lin = half.lin + impulse.lin.scale(self.inv_mass);
        let upper = self.parameters.map(|slots| &x[slots.inertia..slots.inertia + inertia_len(G::ANG)]);
        if let Some(slots) = self.parameters {
            lin -= gained.lin * (x[slots.mass] * self.per_mass);
        }
        if self.unfolded.is_none() {
            let mut ang = half.ang + G::inertia_apply(at.inv_inertia, impulse.ang);
            if let Some(upper) = upper {
                ang -= G::inertia_apply(at.inv_inertia, changed::<G>(rotation, upper, gained.ang));
            }
            return Twist { lin, ang };
        }
        let after = self.twists[2].ang;
        let both = |change: &dyn Fn(G::Ang) -> G::Ang| change(gained.ang) + cross::<G>(after, change(after)) * held;
        let mut residual = impulse.ang + G::inertia_apply(at.inertia, half.ang);
        residual -= both(&|rate| turned::<G>(at.inertia, turn, rate));
        residual -= G::gyroscopic(at.inertia, after) * longer;
        if let Some(upper) = upper {
            residual -= both(&|rate| changed::<G>(rotation, upper, rate));
        }
        Twist { lin, ang: self.end_rate(residual, at.inv_inertia) }
    }

    /// Its transpose, of a covector on that velocity; the gyroscopic torque acts over a share of the length.
    #[inline]
    pub(crate) fn end_adjoint(&self, at: &Turned<G>, known: &Wrench<G>, [share, length]: [f64; 2], x: &mut [f64]) -> EndBar<G> {
        let impulse = self.end_response_transpose(at, known);
        let gained = self.twists[2].plus(-1.0, self.twists[1]);
        let mut bar = EndBar { impulse, half: *known, turn: G::Ang::zero(), time: 0.0 };
        if let Some(slots) = self.parameters {
            x[slots.mass] -= known.lin.dot(gained.lin) * self.per_mass;
            add_inertia::<G>(&at.matrix, impulse.ang, gained.ang, -1.0, &mut x[slots.inertia..]);
        }
        if self.unfolded.is_some() {
            let (after, r) = (self.twists[2].ang, impulse.ang);
            // r . (y x z) = (r x y) . z.
            let bent = cross::<G>(r, after) * (share * length);
            let momentum = |rate: G::Ang| G::inertia_apply(at.inertia, rate);
            let (held, carried) = (momentum(r), momentum(after));
            bar.turn = cross::<G>(gained.ang, held) + cross::<G>(after, momentum(bent))
                - cross::<G>(momentum(gained.ang), r)
                - cross::<G>(carried, bent);
            if let Some(slots) = self.parameters {
                add_inertia::<G>(&at.matrix, bent, after, -1.0, &mut x[slots.inertia..]);
            }
            bar.time = -share * r.dot(cross::<G>(after, carried));
            bar.half.ang = held;
        }
        bar
    }
}

impl<G: Geometry> Linkage<G> {
    /// The velocity that an impulse gives in a room.
    #[inline]
    pub(crate) fn response(&self, room: usize, local: usize, impulse: &Wrench<G>) -> Twist<G> {
        self.bodies[local].response(room, &self.turned[room][local], impulse)
    }

    /// A body at the pose of a room, with its orientation.
    #[inline]
    pub(crate) fn at(&self, room: usize, local: usize) -> (&Turned<G>, G::Rot) {
        (&self.turned[room][local], self.poses[room][local].rotation)
    }

    /// All loads on a body at q or at q'.
    #[inline]
    pub(crate) fn force(&self, room: usize, local: usize) -> Wrench<G> {
        let force = self.bodies[local].force(room, &self.turned[room][local], self.gravity.value);
        self.others[room].get(local).map_or(force, |other| force.plus(1.0, *other))
    }

    /// Adds the cotangents of the loads on a body, given those of their impulses: returns those of the velocity and of the orientation.
    #[inline]
    pub(crate) fn load_adjoint(
        &self,
        room: usize,
        local: usize,
        impulse: &Twist<G>,
        by_gravity: &mut G::Lin,
        x: &mut [f64],
    ) -> (Wrench<G>, G::Ang) {
        let duration = self.share * self.length;
        let w = Wrench { lin: impulse.lin * duration, ang: impulse.ang * duration };
        if self.loaded() {
            add_wrench::<G>(&mut x[Self::part(self.wrenches[room], local)], &w);
        }
        self.bodies[local].load_adjoint(room, &self.turned[room][local], &w, self.gravity.value, by_gravity, x)
    }
}
