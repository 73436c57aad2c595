//! Embedded Runge-Kutta step of order 5(4) with a dense output of order 4: Dormand and Prince 1980, Shampine 1986.

use super::scalar::Scalar;

/// Number of unknowns of the sliding equations (6.12).
pub const UNKNOWNS: usize = 8;

/// The unknowns, or their rates.
pub type State<T = f64> = [T; UNKNOWNS];

/// Stages of the method; the last is the rate at the end of the step and serves as the first of the next.
const STAGES: usize = 7;

const A2: [f64; 1] = [1.0 / 5.0];
const A3: [f64; 2] = [3.0 / 40.0, 9.0 / 40.0];
const A4: [f64; 3] = [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0];
const A5: [f64; 4] = [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0];
const A6: [f64; 5] = [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0];
/// Weights of the fifth-order result.
const B: [f64; 6] = [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0];
/// Fifth-order minus fourth-order weights.
const E: [f64; STAGES] = [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];
/// Weights of the dense output's highest term.
const D: [f64; STAGES] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

/// A step taken: its ends, its length and its stages.
#[derive(Clone, Copy)]
pub struct Step<T = f64> {
    /// Unknowns at the start.
    pub start: State<T>,
    /// Unknowns at the end.
    pub end: State<T>,
    /// Length in the independent variable.
    pub length: f64,
    stages: [State<T>; STAGES],
}

/// base + h sum_i weights_i stages_i.
#[inline(always)]
fn combine<T: Scalar, const N: usize>(base: &State<T>, h: f64, weights: &[f64; N], stages: &[State<T>; STAGES]) -> State<T> {
    let mut sum = [T::constant(0.0); UNKNOWNS];
    for i in 0..N {
        if weights[i] != 0.0 {
            for j in 0..UNKNOWNS {
                sum[j].add_scaled(weights[i], stages[i][j]);
            }
        }
    }
    let mut out = *base;
    for j in 0..UNKNOWNS {
        out[j].add_scaled(h, sum[j]);
    }
    out
}

impl<T: Scalar> Step<T> {
    /// One step of length `h` from `start`, where the rates are `first`.
    #[inline(always)]
    pub fn take(rates: impl Fn(&State<T>) -> State<T>, start: &State<T>, first: &State<T>, h: f64) -> Self {
        let mut stages = [*first; STAGES];
        stages[1] = rates(&combine(start, h, &A2, &stages));
        stages[2] = rates(&combine(start, h, &A3, &stages));
        stages[3] = rates(&combine(start, h, &A4, &stages));
        stages[4] = rates(&combine(start, h, &A5, &stages));
        stages[5] = rates(&combine(start, h, &A6, &stages));
        let end = combine(start, h, &B, &stages);
        stages[6] = rates(&end);
        Step { start: *start, end, length: h, stages }
    }

    /// Rates at the end.
    pub fn end_rates(&self) -> &State<T> {
        &self.stages[STAGES - 1]
    }

    /// Rates at the start.
    pub fn start_rates(&self) -> State<T> {
        self.stages[0]
    }

    /// Moves the end by a small length, to first order.
    pub fn nudge(&mut self, length: T) {
        for j in 0..UNKNOWNS {
            self.end[j] += length * self.stages[STAGES - 1][j];
        }
        self.length += length.value();
    }

    /// Estimated error of each unknown.
    #[inline(always)]
    pub fn error(&self) -> State<T> {
        combine(&[T::constant(0.0); UNKNOWNS], self.length, &E, &self.stages)
    }

    /// Where in the step, as a fraction of its length, a linear function of the unknowns has its zero according to the dense output.
    /// The function must have opposite signs at the ends.
    pub fn zero_of(&self, function: impl Fn(&State<T>) -> T) -> f64 {
        let function = |y: &State<T>| function(y).value();
        let (f0, f1) = (function(&self.start), function(&self.end));
        // The dense output of a linear function is the same polynomial with scalar coefficients. An affine part cancels in differences,
        // so rates enter through increments of the start.
        let along = |rate: &State<T>| {
            let mut moved = self.start;
            for j in 0..UNKNOWNS {
                moved[j] += rate[j] * self.length;
            }
            function(&moved) - f0
        };
        let difference = f1 - f0;
        let third = along(&self.stages[0]) - difference;
        let fourth = difference - along(&self.stages[STAGES - 1]) - third;
        let fifth = along(&combine(&[T::constant(0.0); UNKNOWNS], 1.0, &D, &self.stages));
        let value = |x: f64| {
            let y = 1.0 - x;
            f0 + x * (difference + y * (third + x * (fourth + y * fifth)))
        };
        bracketed_zero(value, f0, f1)
    }
}

/// Bisections allowed; each evaluation also takes an interpolation, so a handful suffices.
const ZERO_CAP: usize = 60;

/// Fraction of the step at which a zero on the dense output is close enough: the step to it is then retaken and corrected.
const ZERO_WIDTH: f64 = 1e-10;

/// The zero in 0..1 of a continuous function with values `f0`, `f1` of opposite signs at the ends: Illinois' regula falsi.
fn bracketed_zero(value: impl Fn(f64) -> f64, f0: f64, f1: f64) -> f64 {
    if f0 == 0.0 || f0.signum() == f1.signum() {
        return 0.0;
    }
    let (mut a, mut fa, mut b, mut fb) = (0.0, f0, 1.0, f1);
    for _ in 0..ZERO_CAP {
        let x = (a * fb - b * fa) / (fb - fa);
        let fx = value(x);
        if fx == 0.0 {
            return x;
        }
        if fx.signum() == fb.signum() {
            fa *= 0.5;
        } else {
            (a, fa) = (b, fb);
        }
        let moved = (x - b).abs();
        (b, fb) = (x, fx);
        if moved <= ZERO_WIDTH || (b - a).abs() <= ZERO_WIDTH {
            break;
        }
    }
    b
}
