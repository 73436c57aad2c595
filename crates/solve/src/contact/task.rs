//! What the methods of this folder share: the laws, the free velocity, the residual that judges them all, and the work that is left.

use super::law::{Law, WIDEST};
use super::system::{Layout, System};
use crate::interrupt::Interrupt;
use crate::status::speed_scale;

/// Relative residual at which no further method is tried, the root of rounding: a contact on the verge of slipping answers to the square of its
/// distance from it. Above the wanted residual the status still says so.
pub const ENOUGH: f64 = 1e-8;

/// Part of the aim that a factor at hand is used to come nearer to: rounding that long rows of bodies would magnify costs one back-substitution.
const IDEAL: f64 = 1e-2;

/// A contact problem without its matrix: find l such that w = W l + u obeys the law of every block, theory (4.2).
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The law of each block.
    pub laws: &'a [Law],
    /// u: velocities without impulses.
    pub free: &'a [f64],
    /// Relative residual at which a method stops.
    pub aim: f64,
    /// Relative residual that a factor at hand is followed to.
    pub ideal: f64,
    /// Relative residual at which no further method is tried.
    pub enough: f64,
    /// Relative residual that the interior point and what follows it may leave: further starts of theirs seldom find more. What misses `enough` is reported
    /// as missed all the same.
    pub passable: f64,
    /// Relative residual that serves as well as the aim: a method that comes so near need not go on.
    pub serves: f64,
    /// The speed that residuals are relative to.
    pub scale: f64,
}

impl<'a> Task<'a> {
    /// A problem, solved to a relative residual.
    pub fn new(laws: &'a [Law], free: &'a [f64], aim: f64) -> Self {
        Task { laws, free, aim, ideal: IDEAL * aim, enough: ENOUGH, passable: 0.0, serves: aim, scale: speed_scale(free) }
    }

    /// Relative residual (4.8) of impulses l with velocities w; infinite where either is not finite.
    pub fn residual(&self, layout: &Layout, own: &[f64], l: &[f64], w: &[f64]) -> f64 {
        let mut worst = 0.0f64;
        let mut sum = 0.0;
        let mut diagonal = [0.0; WIDEST];
        for (block, law) in self.laws.iter().enumerate() {
            let rows = layout.rows_of(block);
            let (d, square) = (rows.len(), layout.square_of(block).start);
            for k in 0..d {
                diagonal[k] = own[square + k * (d + 1)];
            }
            let miss = law.miss(&diagonal[..d], &l[rows.clone()], &w[rows]);
            worst = worst.max(miss);
            sum += miss; // what is not a number never wins a comparison, but it stays in a sum
        }
        if sum.is_finite() { worst / self.scale } else { f64::INFINITY }
    }

    /// w = W l + u, and the residual of the two.
    pub fn judge(&self, system: &mut impl System, l: &[f64], w: &mut [f64]) -> f64 {
        system.apply(l, w);
        w.iter_mut().zip(self.free).for_each(|(w, u)| *w += u);
        self.residual(system.layout(), system.own(), l, w)
    }

    /// Whether no impulse is needed.
    pub fn idle(&self, layout: &Layout) -> bool {
        self.laws.iter().enumerate().all(|(block, law)| law.idle(&self.free[layout.rows_of(block)]))
    }
}

/// Work that a solve may still do. Counted in factorisations and sweeps, never in seconds: the same problem gives the same bits on any machine.
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    /// Factorisations left.
    pub factors: usize,
    /// Sweeps left.
    pub sweeps: usize,
    /// Whether somebody wants it to end at once.
    pub stop: &'a Interrupt,
}

impl Budget<'_> {
    /// Takes one factorisation; false where none is left.
    pub fn factor(&mut self) -> bool {
        let any = self.factors > 0 && !self.stop.raised();
        self.factors = self.factors.saturating_sub(1);
        any
    }

    /// Takes one sweep; false where none is left.
    pub fn sweep(&mut self) -> bool {
        let any = self.sweeps > 0 && !self.stop.raised();
        self.sweeps = self.sweeps.saturating_sub(1);
        any
    }
}
