//! A body over a move under the midpoint rule: the Cayley move, the constant twist of its path, the balance of momentum, theory (19.1)-(19.2)
//! and (19.7)-(19.8).

use super::motion::{MassBlocks, changed, turned};
use super::program::{Block, Program};
use super::slots::{cross, put, twist, wrench};
use crate::island::LocalBody;
use carom_geometry::Geometry;
use carom_math::{Pose, Twist, Vector, Wrench};
use nalgebra::Matrix6;

/// Turns below this angle [rad] take the series of what divides by its square: its rest is below rounding there, and the cancellation of the
/// closed form below 1e-12 beyond it.
const SMALL_TURN: f64 = 0.02;

/// A square matrix over the freedoms of a body; in the plane the first three rows and columns of it.
pub(crate) type Square = [[f64; 6]; 6];

/// The derivative of 2 atan(x/2)/x over x: how the angle of a Cayley turn falls behind its vector.
fn cayley_slope(x: f64) -> f64 {
    let y = x * x;
    if x < SMALL_TURN {
        return -1.0 / 6.0 + y * (1.0 / 20.0 + y * (-3.0 / 224.0 + y / 288.0));
    }
    (1.0 / (1.0 + 0.25 * y) - 2.0 * (0.5 * x).atan() / x) / y
}

/// The derivative of 2 tan(x/2)/x over x: the same for the vector of the turn by an angle.
fn tangent_slope(x: f64) -> f64 {
    let y = x * x;
    if x < SMALL_TURN {
        return 1.0 / 6.0 + y * (1.0 / 30.0 + y * (17.0 / 3360.0 + y * (31.0 / 45360.0)));
    }
    let tan = (0.5 * x).tan();
    (1.0 + tan * tan - 2.0 * tan / x) / y
}

/// A rate times a share s(t |w|) of it, with its derivative: d(s w) = s dw + (s'/x) w (t^2 w . dw + t |w|^2 dt).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<G: Geometry> {
    rate: G::Ang,
    length: f64,
    share: f64,
    slope: f64,
}

impl<G: Geometry> Shared<G> {
    /// The rate of the path of a mean rate.
    fn path(rate: G::Ang, length: f64) -> Self {
        let x = length * rate.norm();
        let share = if x > 0.0 { 2.0 * (0.5 * x).atan() / x } else { 1.0 };
        Shared { rate, length, share, slope: cayley_slope(x) }
    }
    /// The mean rate of a body that turns at a constant one.
    pub fn mean(rate: G::Ang, length: f64) -> Self {
        let x = length * rate.norm();
        let share = if x > 0.0 { 2.0 * (0.5 * x).tan() / x } else { 1.0 };
        Shared { rate, length, share, slope: tangent_slope(x) }
    }
    /// Its change with the rate; the map is symmetric.
    pub fn change(&self, d: G::Ang) -> G::Ang {
        d * self.share + self.rate * (self.slope * self.length * self.length * self.rate.dot(d))
    }
    /// Its change with the length.
    pub fn by_length(&self) -> G::Ang {
        self.rate * (self.slope * self.length * self.rate.dot(self.rate))
    }
}

/// The move of a body by its mean twist, theory (19.1)-(19.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeanMove<G: Geometry> {
    mean: Twist<G>,
    length: f64,
    /// By the Cayley turn; otherwise by the exponential, which only planar bodies do that nothing holds.
    cayley: bool,
    turn: G::Rot,
    path: Shared<G>,
}

impl<G: Geometry> MeanMove<G> {
    /// Of a mean twist over a length.
    pub fn new(mean: Twist<G>, length: f64, cayley: bool) -> Self {
        let path = Shared::path(mean.ang, length);
        let share = if cayley { path.share } else { 1.0 };
        MeanMove { mean, length, cayley, turn: G::exp(mean.ang * (share * length)), path }
    }

    /// How the end turns with the vector of the turn.
    fn bent(&self, d: G::Ang) -> G::Ang {
        if !self.cayley {
            return d;
        }
        let vector = self.mean.ang * self.length;
        (d + cross::<G>(vector, d) * 0.5) * (1.0 / (1.0 + 0.25 * vector.dot(vector)))
    }

    /// How the end moves with the mean twist.
    pub fn displaced(&self, change: Twist<G>) -> Twist<G> {
        Twist { lin: change.lin * self.length, ang: self.bent(change.ang * self.length) }
    }

    /// The covector on the mean twist of one on the end: the transpose of `displaced`.
    pub fn carried(&self, covector: &Wrench<G>) -> Wrench<G> {
        let mut ang = covector.ang;
        if self.cayley {
            let vector = self.mean.ang * self.length;
            ang = (ang - cross::<G>(vector, ang) * 0.5) * (1.0 / (1.0 + 0.25 * vector.dot(vector)));
        }
        Wrench { lin: covector.lin * self.length, ang: ang * self.length }
    }

    /// How the end moves with the length.
    pub fn by_length(&self) -> Twist<G> {
        Twist { lin: self.mean.lin, ang: self.bent(self.mean.ang) }
    }

    /// The change of the path with that of the mean twist, which is its own transpose.
    pub fn path_change(&self, change: Twist<G>) -> Twist<G> {
        Twist { lin: change.lin, ang: if self.cayley { self.path.change(change.ang) } else { change.ang } }
    }

    /// The change of the path with the length.
    pub fn path_by_length(&self) -> Twist<G> {
        Twist { lin: G::Lin::zero(), ang: if self.cayley { self.path.by_length() } else { G::Ang::zero() } }
    }

    /// out += the pose at the end for a pose at the start and a length, the mean twist held.
    pub fn moved(&self, program: &mut Program<G>, out: Block, pose: Block, time: Option<Block>) {
        program.copy(out.part(0, G::DIM), pose.part(0, G::DIM));
        program.linear(out.part(G::DIM, G::ANG), pose.part(G::DIM, G::ANG), |x, y| {
            y.copy_from_slice(G::rotate_rate(self.turn, G::Ang::from_slice(x)).as_slice());
        });
        if let Some(time) = time {
            column::<G>(program, out, time, &self.by_length());
        }
    }

    /// out += how the end moves with slots of the mean twist.
    pub fn displace(&self, program: &mut Program<G>, out: Block, mean: Block) {
        program.linear(out, mean, |x, y| write(&self.displaced(twist::<G>(x)), y));
    }

    /// out += the change of the path with slots of the mean twist, and with the length where that has a slot.
    pub fn follow(&self, program: &mut Program<G>, out: Block, mean: Block, time: Option<Block>) {
        program.linear(out, mean, |x, y| write(&self.path_change(twist::<G>(x)), y));
        if let Some(time) = time {
            column::<G>(program, out, time, &self.path_by_length());
        }
    }

    /// out += the velocity at the end, v' = 2 v_mean - v in the axes of the body, theory (19.9).
    pub fn mirror(&self, program: &mut Program<G>, out: Block, mean: Block, before: (Option<Block>, &Twist<G>), time: Block) {
        let (lin, ang) = (out.part(0, G::DIM), out.part(G::DIM, G::ANG));
        let end = G::rotate_rate(self.turn, self.mean.ang * 2.0 - before.1.ang);
        program.scaled(lin, mean.part(0, G::DIM), 2.0);
        program.linear(ang, mean.part(G::DIM, G::ANG), |x, y| {
            let change = G::Ang::from_slice(x);
            let turned = cross::<G>(self.bent(change * self.length), end);
            y.copy_from_slice((G::rotate_rate(self.turn, change * 2.0) + turned).as_slice());
        });
        if let Some(before) = before.0 {
            program.scaled(lin, before.part(0, G::DIM), -1.0);
            program.linear(ang, before.part(G::DIM, G::ANG), |x, y| {
                y.copy_from_slice(G::rotate_rate(self.turn, -G::Ang::from_slice(x)).as_slice());
            });
        }
        program.column(ang, time, cross::<G>(self.bent(self.mean.ang), end).as_slice());
    }
}

/// out += slot times a twist.
pub(crate) fn column<G: Geometry>(program: &mut Program<G>, out: Block, slot: Block, value: &Twist<G>) {
    let mut values = [0.0; 6];
    write(value, &mut values);
    program.column(out, slot, &values[..G::DOF]);
}

/// Writes a twist, linear part first.
pub(crate) fn write<G: Geometry>(value: &Twist<G>, out: &mut [f64]) {
    put::<G>(value.lin, value.ang, out);
}

/// The balance of one body around its solution, theory (19.7)-(19.8).
#[derive(Clone, Debug)]
pub(crate) struct Balance<G: Geometry> {
    body: LocalBody<G>,
    before: Twist<G>,
    mean: Twist<G>,
    torque: G::Ang,
    /// Linear and angular damping [1/s].
    drags: [f64; 2],
    length: f64,
    /// (A - L Gamma)^-1, how mean twists answer to what is left of the balance.
    inverse: Square,
    /// Whether there is such an inverse.
    pub regular: bool,
}

impl<G: Geometry> Balance<G> {
    /// Of a body with the half impulse on it and the stiffness of what pushes it: how the half impulse changes with its own mean twist.
    pub fn new(
        body: &LocalBody<G>,
        (before, mean): (&Twist<G>, &Twist<G>),
        torque: G::Ang,
        drags: [f64; 2],
        length: f64,
        stiffness: &Square,
    ) -> Self {
        let (before, mean) = (*before, *mean);
        let mut out = Balance { body: body.clone(), before, mean, torque, drags, length, inverse: [[0.0; 6]; 6], regular: true };
        let mut matrix = Matrix6::<f64>::identity();
        for j in 0..G::DOF {
            let mut unit = [0.0; 6];
            unit[j] = 1.0;
            let mut push = [0.0; 6];
            (0..G::DOF).for_each(|i| push[i] = stiffness[i][j]);
            let (held, pushed) = (out.resistance(twist::<G>(&unit)), out.spread(&wrench::<G>(&push)));
            let mut entries = [0.0; 6];
            write(&held.plus(-1.0, pushed), &mut entries);
            (0..G::DOF).for_each(|i| matrix[(i, j)] = entries[i]);
        }
        match matrix.try_inverse() {
            Some(inverse) => (0..6).for_each(|i| (0..6).for_each(|j| out.inverse[i][j] = inverse[(i, j)])),
            None => out.regular = false,
        }
        out
    }

    fn moves(&self, axis: usize) -> bool {
        self.body.inv_mass[axis] > 0.0
    }

    /// A: how the balance answers to the mean twist.
    fn resistance(&self, change: Twist<G>) -> Twist<G> {
        let [drag, spin_drag] = self.drags.map(|rate| 0.5 * self.length * rate);
        let mut lin = change.lin;
        for axis in (0..G::DIM).filter(|&axis| self.moves(axis)) {
            lin[axis] *= 1.0 + drag;
        }
        if !self.body.turns() {
            return Twist { lin, ang: change.ang };
        }
        let inertia = |rate: G::Ang| G::inertia_apply(self.body.inertia, rate);
        let bent = cross::<G>(change.ang, inertia(self.mean.ang) + self.torque) + cross::<G>(self.mean.ang, inertia(change.ang));
        Twist { lin, ang: inertia(change.ang) * (1.0 + spin_drag) + bent * (0.5 * self.length) }
    }

    /// L: how it answers to a half impulse.
    fn spread(&self, push: &Wrench<G>) -> Twist<G> {
        let lin = push.lin.scale(self.body.inv_mass);
        if !self.body.turns() {
            return Twist { lin, ang: G::Ang::zero() };
        }
        Twist { lin, ang: push.ang - cross::<G>(self.mean.ang, push.ang) * (0.5 * self.length) }
    }

    /// The mean twist that makes up for what is left of the balance.
    fn settled(&self, rest: Twist<G>) -> Twist<G> {
        let mut x = [0.0; 6];
        write(&rest, &mut x);
        let mut out = [0.0; 6];
        for i in 0..G::DOF {
            out[i] = (0..G::DOF).map(|j| self.inverse[i][j] * x[j]).sum();
        }
        twist::<G>(&out)
    }

    /// The mean twist of a half impulse.
    pub fn answer(&self, push: &Wrench<G>) -> Twist<G> {
        self.settled(self.spread(push))
    }

    /// What a change of the inertia leaves of the balance.
    fn unbalanced(&self, inertia: impl Fn(G::Ang) -> G::Ang) -> Twist<G> {
        let spin_drag = 0.5 * self.length * self.drags[1];
        let at_mean = inertia(self.mean.ang);
        let ang = at_mean * (1.0 + spin_drag) + cross::<G>(self.mean.ang, at_mean) * (0.5 * self.length) - inertia(self.before.ang);
        Twist { lin: G::Lin::zero(), ang: -ang }
    }

    /// Speeds that push and drag change, with zero along what is locked.
    fn unlocked(&self, mut lin: G::Lin) -> G::Lin {
        for axis in (0..G::DIM).filter(|&axis| !self.moves(axis)) {
            lin[axis] = 0.0;
        }
        lin
    }

    /// What a longer move leaves of the balance, half impulses held.
    fn longer(&self) -> Twist<G> {
        let [drag, spin_drag] = self.drags.map(|rate| 0.5 * rate);
        let lin = self.unlocked(self.mean.lin) * -drag;
        if !self.body.turns() {
            return Twist { lin, ang: G::Ang::zero() };
        }
        let momentum = G::inertia_apply(self.body.inertia, self.mean.ang);
        Twist { lin, ang: momentum * -spin_drag - cross::<G>(self.mean.ang, momentum + self.torque) * 0.5 }
    }

    /// How the mean twist changes with the length, where the half impulse changes by `push`.
    pub fn by_length(&self, push: &Wrench<G>) -> Twist<G> {
        self.settled(self.spread(push).plus(1.0, self.longer()))
    }

    /// out += the mean twist, from slots of the half impulse, of the velocity before, of the pose, of mass, inertia and drag, and of the length.
    pub fn linearise(
        &self,
        program: &mut Program<G>,
        out: Block,
        push: Block,
        before: Option<Block>,
        pose: (Block, &Pose<G>),
        mass: MassBlocks,
        drags: [Block; 2],
        time: Option<Block>,
    ) {
        let turns = self.body.turns();
        let inertia = |rate: G::Ang| G::inertia_apply(self.body.inertia, rate);
        program.linear(out, push, |x, y| write(&self.answer(&wrench::<G>(x)), y));
        if let Some(before) = before {
            program.linear(out, before, |x, y| {
                let change = twist::<G>(x);
                let ang = if turns { inertia(change.ang) } else { change.ang };
                write(&self.settled(Twist { lin: change.lin, ang }), y);
            });
        }
        if turns {
            if G::ANG > 1 {
                program.linear(out, pose.0.part(G::DIM, G::ANG), |x, y| {
                    let xi = G::Ang::from_slice(x);
                    write(&self.settled(self.unbalanced(|rate| turned::<G>(self.body.inertia, xi, rate))), y);
                });
            }
            program.linear(out, mass.inertia, |x, y| {
                write(&self.settled(self.unbalanced(|rate| changed::<G>(pose.1.rotation, x, rate))), y);
            });
        }
        let [drag, spin_drag] = self.drags.map(|rate| 0.5 * self.length * rate);
        let free = self.unlocked(self.mean.lin);
        let gained = free * (1.0 + drag) - self.unlocked(self.before.lin);
        debug_assert!(self.body.mass > 0.0 && spin_drag >= 0.0, "a body that moves has a mass, and drag takes");
        program.linear(out, mass.mass, |x, y| {
            write(&self.settled(Twist { lin: gained * (-x[0] / self.body.mass), ang: G::Ang::zero() }), y);
        });
        program.linear(out, drags[0], |x, y| {
            write(&self.settled(Twist { lin: free * (-0.5 * self.length * x[0]), ang: G::Ang::zero() }), y);
        });
        if turns {
            program.linear(out, drags[1], |x, y| {
                let ang = inertia(self.mean.ang) * (-0.5 * self.length * x[0]);
                write(&self.settled(Twist { lin: G::Lin::zero(), ang }), y);
            });
        }
        if let Some(time) = time {
            column::<G>(program, out, time, &self.settled(self.longer()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_math::{Space, Spatial};

    #[test]
    fn shares_have_their_slopes_on_both_sides_of_the_series() {
        let cayley = |x: f64| 2.0 * (0.5 * x).atan() / x;
        let tangent = |x: f64| 2.0 * (0.5 * x).tan() / x;
        for x in [0.05, 0.3, 1.1] {
            let h = 1e-5;
            let slope = |f: &dyn Fn(f64) -> f64| (f(x + h) - f(x - h)) / (2.0 * h * x);
            assert!((cayley_slope(x) - slope(&cayley)).abs() < 1e-8 / x, "{x}");
            assert!((tangent_slope(x) - slope(&tangent)).abs() < 1e-8 / x, "{x}");
        }
        let (below, above) = (SMALL_TURN * (1.0 - 1e-9), SMALL_TURN);
        assert!((cayley_slope(below) - cayley_slope(above)).abs() < 1e-11);
        assert!((tangent_slope(below) - tangent_slope(above)).abs() < 1e-11);
    }

    #[test]
    fn the_move_and_its_path_change_as_their_differences() {
        type Ang = <Spatial as Space>::Ang;
        type Lin = <Spatial as Space>::Lin;
        let at = |ang: Ang, t: f64| MeanMove::<Spatial>::new(Twist { lin: Lin::zero(), ang }, t, true);
        let (rate, change, t) = (Ang::new(2.0, -3.0, 1.0), Ang::new(0.3, 0.5, -0.7), 0.2);
        let here = at(rate, t);
        let h = 1e-6;
        let between =
            |a: &MeanMove<Spatial>, b: &MeanMove<Spatial>| Spatial::log(Spatial::compose(a.turn, Spatial::inverse(b.turn))) * (0.5 / h);
        let turned = between(&at(rate + change * h, t), &at(rate - change * h, t));
        let exact = here.displaced(Twist { lin: Lin::zero(), ang: change }).ang;
        assert!((turned - exact).norm() < 1e-9, "{turned} {exact}");
        let longer = between(&at(rate, t + h), &at(rate, t - h));
        assert!((longer - here.by_length().ang).norm() < 1e-9);
        let path = |m: MeanMove<Spatial>| m.path.rate * m.path.share;
        let moved = (path(at(rate + change * h, t)) - path(at(rate - change * h, t))) * (0.5 / h);
        assert!((moved - here.path_change(Twist { lin: Lin::zero(), ang: change }).ang).norm() < 1e-9);
        let stretched = (path(at(rate, t + h)) - path(at(rate, t - h))) * (0.5 / h);
        assert!((stretched - here.path_by_length().ang).norm() < 1e-9 && stretched.norm() > 1e-2);
        let covector = Wrench::<Spatial> { lin: Lin::zero(), ang: Ang::new(-0.2, 0.9, 0.4) };
        let twist = Twist { lin: Lin::zero(), ang: change };
        assert!((covector.power(&here.displaced(twist)) - here.carried(&covector).power(&twist)).abs() < 1e-15);
    }
}
