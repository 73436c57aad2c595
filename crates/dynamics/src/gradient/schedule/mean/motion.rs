//! A body over a move under the midpoint rule: the Cayley move, the constant twist of its path, the velocity at its end, theory
//! (19.1)-(19.2) and (19.9).

use crate::gradient::schedule::program::{Block, Program};
use crate::gradient::slots::{cross, put, twist};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector, Wrench};

/// Turns below this angle \[rad\] take the series of what divides by its square: its rest is below rounding there, and the cancellation of the
/// closed form below 1e-12 beyond it.
const SMALL_TURN: f64 = 0.02;

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
            program.stacked(out, time, &self.by_length());
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
            program.stacked(out, time, &self.path_by_length());
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

/// Writes a twist, linear part first.
pub(crate) fn write<G: Geometry>(value: &Twist<G>, out: &mut [f64]) {
    put::<G>(value.lin, value.ang, out);
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
