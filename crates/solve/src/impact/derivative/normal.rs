//! The normal phase: locked contacts, the elastic sequence, the inelastic answer and their blend, theory (16.9)-(16.13).

mod blend;

use super::elastic::{Elastic, Subset};
use super::reduction::Reduction;
use super::{ImpactChange, ImpactInput, Switches};
use crate::contact::dense::contact_derivative::WEAK;
use crate::impact::cone::ConeSolver;
use crate::impact::driver::{AnyOperator, Driver};
use crate::impact::{Contacts, Gram, GramView, ImpactMap, Law, Order, Record, Restitution, Settings, Status};
use crate::interrupt::Interrupt;
use carom_math::dense::{add_scaled, dot};

/// Applications after which the elastic law is not followed any further when only its slope in e at e = 0 is wanted.
const SLOPE_CAP: usize = 10_000;

/// Part of a row's own inverse mass that must be independent of the active rows for it to be a contact of its own; below it the row
/// repeats them, and whether it pushes makes no difference.
const REPEATED: f64 = 1e-9;

/// Everything the derivative of the normal impulses needs.
#[derive(Debug, Default)]
pub(super) struct NormalPhase {
    reduction: Reduction,
    gram: Gram,
    elastic: Elastic,
    /// Elastic impulses (r); empty when the law was capped.
    elastic_impulses: Vec<f64>,
    /// Inelastic impulses (r) and the contacts that push in them.
    inelastic: Vec<f64>,
    support: Vec<usize>,
    mix: Mix,
    subset: Subset,
    solver: ConeSolver,
    driver: Driver<AnyOperator>,
    scratch: Scratch,
}

/// The blend of elastic and inelastic impulses.
#[derive(Clone, Debug, Default)]
struct Mix {
    /// Coefficient, sum of weights and whether restitutions differ, per group.
    coefficients: Vec<f64>,
    sums: Vec<f64>,
    mixed: Vec<bool>,
    /// Weights (r), and the two shifted solutions they come from with their supports.
    weights: Vec<f64>,
    shifted: [Vec<f64>; 2],
    supports: [Vec<usize>; 2],
    /// Restitutions of the contacts that are left.
    restitution: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    normalised: Vec<f64>,
    everyone: Vec<usize>,
    set: Vec<usize>,
    near: Vec<bool>,
    matrix_dot: Vec<f64>,
    approach_dot: Vec<f64>,
    elastic_dot: Vec<f64>,
    inelastic_dot: Vec<f64>,
    rest: Vec<f64>,
    x: Vec<f64>,
    pushes: Vec<f64>,
    before: Vec<f64>,
    place: Vec<usize>,
    locked: Vec<usize>,
    weights: Vec<f64>,
    scales: Vec<f64>,
    coefficients: Vec<f64>,
    own: Record,
}

impl NormalPhase {
    /// Repeats the forward solve with its decisions; false when a system cannot be factored.
    pub fn prepare(
        &mut self,
        input: &ImpactInput,
        settings: &Settings,
        record: &Record,
        capped: bool,
        impulses: &[f64],
        switches: &mut Switches,
    ) -> bool {
        let (m, n) = (input.contacts, input.rows());
        let impulses = &impulses[..m];
        // Among the locked contacts those that push decide; where they do not span, the independent ones stand in.
        let locked = &mut self.scratch.locked;
        locked.clear();
        locked.extend(record.implicit().iter().copied().filter(|&i| impulses[i] > 0.0));
        let locked = if locked.len() == record.independent().len() { &locked[..] } else { record.independent() };
        if !self.reduction.prepare(input.matrix, n, &input.approach[..m], record.implicit(), locked, impulses) {
            return false;
        }
        let r = self.reduction.rest.len();
        self.gram.load(&GramView::Dense(&self.reduction.matrix), r);
        let scratch = &mut self.scratch;
        scratch.normalised.clear();
        scratch.normalised.extend((0..r).map(|i| self.reduction.approach[i] * self.gram.inverse_scale(i)));
        let unit = scratch.normalised.iter().fold(0.0f64, |s, g| s.max(g.abs()));
        scratch.near.clear();
        scratch.near.resize(r, false);
        scratch.everyone.clear();
        scratch.everyone.extend((0..r).filter(|&i| self.gram.takes_part(i)));
        self.mix.restitution.clear();
        self.mix.restitution.extend(self.reduction.rest.iter().map(|&i| input.restitution[i]));
        switches.restitution = self.mix.restitution.iter().filter(|e| **e <= 0.0 || **e >= 1.0).count();
        if !self.follow(settings, record, capped, unit) || !self.stop(unit) {
            return false;
        }
        switches.sequence = self.scratch.near.iter().filter(|near| **near).count();
        switches.support = self.weak_support(unit);
        self.weigh();
        true
    }

    /// The elastic sequence: that of the record, or for the slope at e = 0 that of the law.
    fn follow(&mut self, settings: &Settings, record: &Record, capped: bool, unit: f64) -> bool {
        let r = self.reduction.rest.len();
        self.elastic.begin(&self.reduction.approach);
        self.elastic_impulses.clear();
        if capped {
            return true;
        }
        let mut own = std::mem::take(&mut self.scratch.own);
        let mut place = std::mem::take(&mut self.scratch.place);
        place.clear();
        let inelastic = self.mix.restitution.iter().all(|&e| e <= 0.0) && record.is_empty();
        let known = !inelastic || self.run(settings, unit, &mut own);
        // The record numbers all contacts, a run of our own those that are left.
        let sequence = if inelastic { &own } else { record };
        for (k, &i) in self.reduction.rest.iter().enumerate() {
            let number = if inelastic { k } else { i };
            place.resize(number + 1, usize::MAX);
            place[number] = k;
        }
        let followed = !known || self.replay(sequence, &place, settings.law, unit);
        (self.scratch.own, self.scratch.place) = (own, place);
        // Contacts that the last application left at rest may close again.
        for i in 0..if known { r } else { 0 } {
            let speed = self.elastic.speeds()[i] * self.gram.inverse_scale(i);
            self.scratch.near[i] |= speed.abs() < WEAK * unit;
        }
        followed
    }

    /// Runs the elastic law, recording it; false when it does not end within its cap.
    fn run(&mut self, settings: &Settings, unit: f64, own: &mut Record) -> bool {
        own.clear();
        self.driver.operator.set(settings.law);
        let contacts = Contacts {
            gram: &self.gram,
            approach: &self.scratch.normalised,
            restitution: Restitution::Uniform(1.0),
            threshold: settings.tolerance * unit,
            max_iterations: settings.max_iterations.min(SLOPE_CAP),
            interrupt: &Interrupt::NEVER,
        };
        self.driver.resolve(&contacts, &mut self.scratch.x, own).status != Status::Capped
    }

    /// Repeats a recorded sequence; false when it is not that of this impact.
    fn replay(&mut self, sequence: &Record, place: &[usize], law: Law, unit: f64) -> bool {
        let r = self.reduction.rest.len();
        self.elastic_impulses.resize(r, 0.0);
        for k in 0..sequence.len() {
            let set = &mut self.scratch.set;
            set.clear();
            set.extend(sequence.application(k).0.iter().map(|&i| place.get(i).copied().unwrap_or(usize::MAX)));
            if set.iter().any(|&i| i >= r) {
                return false;
            }
            self.scratch.before.clear();
            self.scratch.before.extend_from_slice(self.elastic.speeds());
            let Some(pushes) = self.elastic.apply(&self.reduction.matrix, set, &mut self.elastic_impulses) else { return false };
            self.scratch.pushes.clear();
            self.scratch.pushes.extend_from_slice(pushes);
            self.mark(law, unit);
        }
        true
    }

    /// Marks contacts near a change of the active set just applied, theory (16.16).
    fn mark(&mut self, law: Law, unit: f64) {
        let small = WEAK * unit;
        let Scratch { set, before, pushes, near, .. } = &mut self.scratch;
        let speed = |i: usize| before[i] * self.gram.inverse_scale(i);
        for (&i, l) in set.iter().zip(pushes.iter()) {
            near[i] |= l.abs() < small * self.gram.inverse_scale(i);
        }
        let r = before.len();
        for i in 0..r {
            if set.contains(&i) {
                continue;
            }
            // A contact beside the set: at the border of closing, left out of least squares by a hair, or as fast as the fastest.
            let after = self.elastic.speeds()[i] * self.gram.inverse_scale(i);
            near[i] |= match law {
                _ if speed(i).abs() < small => true,
                Law::Reflections => speed(i) < 0.0 && (speed(i) + after).abs() < small && !repeats(&self.reduction.matrix, r, i, set),
                Law::GaussSeidel { order: Order::Worst, .. } => set.iter().any(|&j| (speed(i) - speed(j)).abs() < small),
                Law::GaussSeidel { .. } => false,
            };
        }
    }

    /// The inelastic answer (16.11) on its support.
    fn stop(&mut self, unit: f64) -> bool {
        let r = self.reduction.rest.len();
        let scratch = &mut self.scratch;
        scratch.x.clear();
        scratch.x.resize(r, 0.0);
        self.solver.begin(r);
        self.solver.solve(&self.gram, &scratch.everyone, &scratch.normalised, 0.0, &mut scratch.x);
        self.support.clear();
        self.support.extend((0..r).filter(|&i| scratch.x[i] > f64::EPSILON * unit));
        self.inelastic.clear();
        self.inelastic.resize(r, 0.0);
        if self.support.is_empty() {
            return true;
        }
        if !self.subset.factor(&self.reduction.matrix, r, &self.support, 0.0) {
            return false;
        }
        scratch.x.clear();
        scratch.x.extend(self.support.iter().map(|&i| -self.reduction.approach[i]));
        self.subset.solve(&mut scratch.x);
        self.support.iter().zip(&scratch.x).for_each(|(&i, x)| self.inelastic[i] = *x);
        true
    }

    /// Contacts that may enter or leave the inelastic answer.
    fn weak_support(&self, unit: f64) -> usize {
        let r = self.reduction.rest.len();
        let small = WEAK * unit;
        (0..r)
            .filter(|&i| {
                let scale = self.gram.inverse_scale(i);
                if scale <= 0.0 {
                    return false;
                }
                if self.support.contains(&i) {
                    return self.inelastic[i] < small * scale;
                }
                let after = dot(&self.reduction.matrix[i * r..(i + 1) * r], &self.inelastic) + self.reduction.approach[i];
                after * scale < small && !repeats(&self.reduction.matrix, r, i, &self.support)
            })
            .count()
    }

    /// Share of the elastic answer at a contact that is left; none where the law was capped.
    fn share(&self, i: usize) -> f64 {
        if self.elastic_impulses.is_empty() { 0.0 } else { self.mix.coefficients[self.gram.group(i)] }
    }

    /// Change of the impulses of all m contacts; matrices of the change are n x n.
    pub fn tangent(&mut self, change: &ImpactChange, n: usize, impulses_dot: &mut [f64]) {
        let r = self.reduction.rest.len();
        let mut scratch = std::mem::take(&mut self.scratch);
        self.reduction.tangent(&change.matrix, n, &change.approach, &mut scratch.matrix_dot, &mut scratch.approach_dot);
        let (matrix_dot, approach_dot) = (&scratch.matrix_dot, &scratch.approach_dot);
        let elastic_dot = &mut scratch.elastic_dot;
        elastic_dot.clear();
        elastic_dot.resize(r, 0.0);
        if !self.elastic_impulses.is_empty() {
            self.elastic.tangent(&self.reduction.matrix, matrix_dot, approach_dot, elastic_dot);
        }
        let inelastic_dot = &mut scratch.inelastic_dot;
        inelastic_dot.clear();
        inelastic_dot.resize(r, 0.0);
        if !self.support.is_empty() {
            self.subset.factor(&self.reduction.matrix, r, &self.support, 0.0);
            let right = |i: usize| -(approach_dot[i] + dot(&matrix_dot[i * r..(i + 1) * r], &self.inelastic));
            scratch.x.clear();
            scratch.x.extend(self.support.iter().map(|&i| right(i)));
            self.subset.solve(&mut scratch.x);
            self.support.iter().zip(&scratch.x).for_each(|(&i, x)| inelastic_dot[i] = *x);
        }
        self.coefficient_tangent(&mut scratch, &change.restitution);
        scratch.rest.clear();
        for i in 0..r {
            let c = self.share(i);
            let mut dl = (1.0 - c) * scratch.inelastic_dot[i] + c * scratch.elastic_dot[i];
            if !self.elastic_impulses.is_empty() {
                dl += (self.elastic_impulses[i] - self.inelastic[i]) * scratch.coefficients[self.gram.group(i)];
            }
            scratch.rest.push(dl);
        }
        self.reduction.hold_tangent(&change.matrix, n, &change.approach, &scratch.rest, impulses_dot);
        self.scratch = scratch;
    }

    /// Adds the cotangents of the impact for that of the m normal impulses.
    pub fn adjoint(&mut self, impulses_bar: &[f64], n: usize, bar: &mut ImpactChange) {
        let r = self.reduction.rest.len();
        let mut scratch = std::mem::take(&mut self.scratch);
        self.reduction.hold_adjoint(impulses_bar, n, &mut bar.matrix, &mut bar.approach, &mut scratch.rest);
        let Scratch {
            matrix_dot: matrix_bar,
            approach_dot: approach_bar,
            elastic_dot: elastic_bar,
            inelastic_dot: inelastic_bar,
            coefficients,
            rest,
            ..
        } = &mut scratch;
        for (list, length) in [(&mut *matrix_bar, r * r), (&mut *approach_bar, r), (&mut *coefficients, self.gram.groups())] {
            list.clear();
            list.resize(length, 0.0);
        }
        elastic_bar.clear();
        inelastic_bar.clear();
        for i in 0..r {
            let c = self.share(i);
            elastic_bar.push(c * rest[i]);
            inelastic_bar.push((1.0 - c) * rest[i]);
            if !self.elastic_impulses.is_empty() {
                coefficients[self.gram.group(i)] += (self.elastic_impulses[i] - self.inelastic[i]) * rest[i];
            }
        }
        if !self.elastic_impulses.is_empty() {
            self.elastic.adjoint(&self.reduction.matrix, elastic_bar, matrix_bar, approach_bar);
            self.coefficient_adjoint(&mut scratch, &mut bar.restitution);
        }
        let Scratch { matrix_dot: matrix_bar, approach_dot: approach_bar, inelastic_dot: inelastic_bar, x, .. } = &mut scratch;
        if !self.support.is_empty() {
            self.subset.factor(&self.reduction.matrix, r, &self.support, 0.0);
            x.clear();
            x.extend(self.support.iter().map(|&i| -inelastic_bar[i]));
            self.subset.solve_transpose(x);
            for (&i, &y) in self.support.iter().zip(x.iter()) {
                approach_bar[i] += y;
                add_scaled(&mut matrix_bar[i * r..(i + 1) * r], y, &self.inelastic);
            }
        }
        self.reduction.adjoint(matrix_bar, approach_bar, n, &mut bar.matrix, &mut bar.approach);
        self.scratch = scratch;
    }
}

/// Whether row i of an r x r matrix only repeats the rows of a set: nothing of its own inverse mass is left beside theirs.
fn repeats(matrix: &[f64], r: usize, i: usize, set: &[usize]) -> bool {
    let mut subset = Subset::default();
    if set.is_empty() || !subset.factor(matrix, r, set, 0.0) {
        return false;
    }
    let mut x: Vec<f64> = set.iter().map(|&j| matrix[j * r + i]).collect();
    subset.solve(&mut x);
    let own = matrix[i * (r + 1)];
    let left = own - set.iter().zip(&x).map(|(&j, x)| matrix[i * r + j] * x).sum::<f64>();
    left <= REPEATED * own
}
