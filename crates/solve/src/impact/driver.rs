//! The loop that applies an operator until no contact closes, theory (5.5).

use super::pairwise::Pairwise;
use super::reflection::Reflection;
use super::{Application, Contacts, ImpactMap, Law, Observer, Operator, Outcome, Status};

/// Relative error an application of an operator may show in debug checks: rounding of one step of a badly scaled impact.
const CHECK: f64 = 1e-9;

/// Repeats an operator until the velocity is feasible.
///
/// Operators are homogeneous in the velocity, so rescaling it to the reference energy after every application, as the inexact
/// algorithm does, equals rescaling once at the end (theory (5.7)); the threshold is fixed by the reference speed from the start.
#[derive(Clone, Debug, Default)]
pub struct Driver<O> {
    /// The operator.
    pub operator: O,
    approach: Vec<f64>,
    application: Application,
}

impl<O: Operator> ImpactMap for Driver<O> {
    fn resolve(&mut self, contacts: &Contacts<'_>, impulses: &mut Vec<f64>, observer: &mut dyn Observer) -> Outcome {
        self.approach.clear();
        self.approach.extend_from_slice(contacts.approach);
        impulses.clear();
        impulses.resize(contacts.approach.len(), 0.0);
        self.operator.begin(contacts);
        for iterations in 0..=contacts.max_iterations {
            self.operator.choose(contacts, &self.approach, &mut self.application);
            if self.application.contacts.is_empty() {
                return Outcome { status: Status::Resolved, iterations, locked: 0, accurate: true };
            }
            if iterations == contacts.max_iterations || contacts.interrupt.raised() {
                break;
            }
            self.apply(contacts, impulses);
            observer.applied(&self.application.contacts, &self.application.impulses);
        }
        Outcome { status: Status::Capped, iterations: contacts.max_iterations, locked: 0, accurate: true }
    }
}

impl<O> Driver<O> {
    /// g += Â λ and the running sum of impulses.
    fn apply(&mut self, contacts: &Contacts<'_>, impulses: &mut [f64]) {
        let chosen = &self.application;
        let before = if cfg!(debug_assertions) { dot(chosen, &self.approach) } else { 0.0 };
        if cfg!(debug_assertions) {
            for (&i, &impulse) in chosen.contacts.iter().zip(&chosen.impulses) {
                debug_assert!(impulse > 0.0, "ONE and MOD: an application pushes, and never pulls");
                debug_assert!(self.approach[i] < -contacts.threshold, "VIO: only closing contacts push");
            }
        }
        for (&i, &impulse) in chosen.contacts.iter().zip(&chosen.impulses) {
            impulses[i] += impulse;
            let (columns, values) = contacts.gram.row(i);
            for k in 0..columns.len() {
                self.approach[columns[k]] += values[k] * impulse;
            }
        }
        if cfg!(debug_assertions) {
            let after = dot(chosen, &self.approach);
            debug_assert!((before + after).abs() <= CHECK * (before.abs() + after.abs()), "KIN: an elastic application keeps the energy");
        }
    }
}

fn dot(application: &Application, approach: &[f64]) -> f64 {
    application.contacts.iter().zip(&application.impulses).map(|(&i, &l)| l * approach[i]).sum()
}

/// The operator chosen at run time; both keep their scratch.
#[derive(Clone, Debug, Default)]
pub struct AnyOperator {
    pairwise_chosen: bool,
    reflection: Reflection,
    pairwise: Pairwise,
}

impl AnyOperator {
    /// Becomes the operator of a law.
    pub fn set(&mut self, law: Law) {
        self.pairwise_chosen = law != Law::Reflections;
        if let Law::GaussSeidel { order, seed } = law {
            self.pairwise.order = order;
            self.pairwise.seed = seed;
        }
    }
}

impl Operator for AnyOperator {
    fn begin(&mut self, contacts: &Contacts<'_>) {
        if self.pairwise_chosen { self.pairwise.begin(contacts) } else { self.reflection.begin(contacts) }
    }

    fn choose(&mut self, contacts: &Contacts<'_>, approach: &[f64], application: &mut Application) {
        if self.pairwise_chosen {
            self.pairwise.choose(contacts, approach, application);
        } else {
            self.reflection.choose(contacts, approach, application);
        }
    }
}
