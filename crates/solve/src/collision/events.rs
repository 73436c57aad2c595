//! Events inside an integration step: the end of a phase, the turning points of u_n, and the end of the collision, theory (6.14).
//!
//! Events are located with plain numbers; numbers that carry derivatives then take the step that was found. Each is located on the dense output, the step is retaken to it, and what is left is corrected to first order, so that an event costs
//! a step or two and loses nothing of the method's order.

use super::dormand_prince::{State, Step};
use super::scalar::Scalar;
use super::sliding::{COS, SIN, Sliding};
use super::spatial::Path;

/// A correction shorter than this fraction of its step is applied to first order: what it neglects is its square.
const CORRECTION: f64 = 1e-7;

/// Steps retaken towards an event; one or two are usual.
const RETAKE_CAP: usize = 20;

/// A mobility, or its slope, below this fraction of the normal mobility has no sign: a step that starts at a turning point does not find
/// it again.
const TURNING: f64 = 1e-13;

impl<T: Scalar> Path<T> {
    /// Shortens a step to the zero of a linear function of the unknowns.
    pub fn cut_at(&mut self, step: Step, function: impl Fn(&State) -> f64) -> Step {
        let sliding = self.plain;
        let mut length = step.length * step.zero_of(&function);
        let mut cut = step;
        for _ in 0..RETAKE_CAP {
            self.steps += 1;
            cut = Step::take(|y| sliding.rates(y), &step.start, &step.start_rates(), length);
            let value = function(&cut.end);
            let mut ahead = cut.end;
            for (a, rate) in ahead.iter_mut().zip(cut.end_rates()) {
                *a += step.length * rate;
            }
            let missing = -value / (function(&ahead) - value) * step.length;
            if missing.abs() <= CORRECTION * step.length {
                cut.nudge(missing);
                break;
            }
            // At a grazing zero the slope is no guide, and the point located is as good as any.
            let next = length + missing;
            if !(0.0..=step.length).contains(&next) {
                break;
            }
            length = next;
        }
        cut
    }

    /// Shortens a step so that k = du_n/dp keeps its sign in it, (6.14). Then u_n is monotone in the step, and its sign at the end tells
    /// all that happened inside.
    pub fn cut_at_turning(&mut self, step: Step) -> Step {
        let Sliding { b, d, .. } = self.plain;
        let slope = move |y: &State| b[0] * y[SIN] - b[1] * y[COS];
        let mobility = move |y: &State| d - (b[0] * y[COS] + b[1] * y[SIN]);
        let floor = TURNING * d;
        let changes = |start: f64, end: f64| start.abs() > floor && end.abs() > floor && start.signum() != end.signum();
        let mut step = step;
        if changes(slope(&step.start), slope(&step.end)) {
            step = self.cut_at(step, slope);
        }
        if changes(mobility(&step.start), mobility(&step.end)) {
            step = self.cut_at(step, mobility);
        }
        step
    }

    /// Ends the collision inside a restitution step at whose end more than what is owed has been given back; the step starts from `start`
    /// with its rates `first`.
    pub fn end_within(&mut self, step: Step, start: &State<T>, first: &State<T>) {
        let sliding = self.plain;
        let progress = self.progress.plain();
        let mut length = step.length * step.zero_of(|y| progress.lacking(y));
        let mut end = step;
        for _ in 0..RETAKE_CAP {
            self.steps += 1;
            end = Step::take(|y| sliding.rates(y), &step.start, &step.start_rates(), length);
            let change = progress.way_to_end(&sliding, &end.end);
            if !change.is_finite() {
                break;
            }
            if change.abs() <= CORRECTION * length {
                end.nudge(change);
                break;
            }
            length = (length + change).clamp(0.0, step.length);
        }
        let mut end = T::retake(end, &self.sliding, start, first, false);
        if T::CARRIES {
            // In value nothing is left; the slope of what is left is that of the end, theory (16.17).
            end.nudge(self.progress.way_to_end(&self.sliding, &end.end));
        }
        self.progress.settle(&mut end.end);
        self.sliding_point(&end.end);
        self.keep(&end.end);
    }
}
