//! Events inside an integration step: the end of a phase, the turning points of u_n, and the end of the collision, theory (6.13).
//!
//! Each is located on the dense output, the step is retaken to it, and what is left is corrected to first order, so that an event costs
//! a step or two and loses nothing of the method's order.

use super::dormand_prince::{State, Step};
use super::scalar::Scalar;
use super::sliding::{COS, LOG, NORMAL, SIN, Sliding, WORK};
use super::spatial::Path;

/// A correction shorter than this fraction of its step is applied to first order: what it neglects is its square.
const CORRECTION: f64 = 1e-7;

/// The same where derivatives are carried: what is neglected of them is the correction itself, not its square.
const CARRIED_CORRECTION: f64 = 1e-13;

/// Steps retaken towards an event; one or two are usual.
const RETAKE_CAP: usize = 20;

/// A mobility, or its slope, below this fraction of the normal mobility has no sign: a step that starts at a turning point does not find
/// it again.
const TURNING: f64 = 1e-13;

/// The correction that is short enough.
fn short_enough<T: Scalar>() -> f64 {
    if T::CARRIES { CARRIED_CORRECTION } else { CORRECTION }
}

impl<T: Scalar> Path<T> {
    /// Shortens a step to the zero of a linear function of the unknowns.
    pub fn cut_at(&mut self, step: Step<T>, function: impl Fn(&State<T>) -> T) -> Step<T> {
        let sliding = self.sliding;
        let mut length = step.length * step.zero_of(&function);
        let mut cut = step;
        for _ in 0..RETAKE_CAP {
            self.steps += 1;
            cut = Step::take(|y| sliding.rates(y), &step.start, &step.start_rates(), length);
            let value = function(&cut.end);
            let mut ahead = cut.end;
            for (a, rate) in ahead.iter_mut().zip(cut.end_rates()) {
                *a += *rate * step.length;
            }
            let missing = -value / (function(&ahead) - value) * step.length;
            if missing.value().abs() <= short_enough::<T>() * step.length {
                cut.nudge(missing);
                break;
            }
            // At a grazing zero the slope is no guide, and the point located is as good as any.
            let next = length + missing.value();
            if !(0.0..=step.length).contains(&next) {
                break;
            }
            length = next;
        }
        cut
    }

    /// Shortens a step so that k = du_n/dp keeps its sign in it, (6.13). Then u_n is monotone in the step, and its sign at the end tells
    /// all that happened inside.
    pub fn cut_at_turning(&mut self, step: Step<T>) -> Step<T> {
        let Sliding { b, d, .. } = self.sliding;
        let slope = move |y: &State<T>| b[0] * y[SIN] - b[1] * y[COS];
        let mobility = move |y: &State<T>| d - (b[0] * y[COS] + b[1] * y[SIN]);
        let floor = TURNING * d.value();
        let changes = |start: T, end: T| {
            let (start, end) = (start.value(), end.value());
            start.abs() > floor && end.abs() > floor && start.signum() != end.signum()
        };
        let mut step = step;
        if changes(slope(&step.start), slope(&step.end)) {
            step = self.cut_at(step, slope);
        }
        if changes(mobility(&step.start), mobility(&step.end)) {
            step = self.cut_at(step, mobility);
        }
        step
    }

    /// Ends the collision inside a restitution step at whose end more than what is owed has been given back.
    pub fn end_within(&mut self, step: Step<T>) {
        let sliding = self.sliding;
        let owed = self.progress.owed();
        let mut length = step.length * step.zero_of(|y| y[WORK] - owed);
        let mut end = step;
        for _ in 0..RETAKE_CAP {
            self.steps += 1;
            end = Step::take(|y| sliding.rates(y), &step.start, &step.start_rates(), length);
            let y = &end.end;
            // The work is quadratic where u_n is small: (6.6) rather than Newton.
            let (_, _, k) = sliding.coefficients(y[COS], y[SIN]);
            let (u, missing) = (y[NORMAL], owed - y[WORK]);
            let impulse = missing * 2.0 / (u + (u * u + k * 2.0 * missing).at_least(0.0).sqrt());
            let change = impulse * (-y[LOG]).exp();
            if !change.value().is_finite() {
                break;
            }
            if change.value().abs() <= short_enough::<T>() * length {
                end.nudge(change);
                break;
            }
            length = (length + change.value()).clamp(0.0, step.length);
        }
        end.end[WORK] = owed;
        self.keep(&end.end);
    }
}
