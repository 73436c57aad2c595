//! The loop that applies an operator until no contact closes, theory (5.5).

use super::pairwise::Pairwise;
use super::reflection::Reflection;
use super::{Application, Contacts, ImpactMap, Law, Observer, Operator, Outcome, Status};

/// Relative error an application of an operator may show: rounding of one step of a badly scaled impact.
const CHECK: f64 = 1e-9;

/// Part of the work of an application that may go into putting the energy of all applications right.
const SHARE: f64 = 1e-3;

/// Factor of the impulses so near to 1 that only rounding makes the difference: normals that all but oppose each other have impulses of a hundred times the
/// momentum, and their energies are rounded by the square of that.
const ROUNDING: f64 = 1e-9;

/// Repeats an operator until the velocity is feasible.
///
/// The inexact algorithms of Vouga et al. 2017: what closes by no more than the threshold, fixed by the reference speed from the start, does not count,
/// and the energy is put back to the reference as applications go on, theory (5.25). They rescale the velocity; here the last impulses are rescaled,
/// so that momentum is kept too.
#[derive(Clone, Debug, Default)]
pub struct Driver<O> {
    /// The operator.
    pub operator: O,
    approach: Vec<f64>,
    application: Application,
    /// Contacts pushed since the energy was last put right.
    pushed: usize,
    /// Energy that the application at hand puts right, over the mass of the contact space.
    paid: f64,
}

impl<O: Operator> ImpactMap for Driver<O> {
    fn resolve(&mut self, contacts: &Contacts<'_>, impulses: &mut Vec<f64>, observer: &mut dyn Observer) -> Outcome {
        self.approach.clear();
        self.approach.extend_from_slice(contacts.approach);
        impulses.clear();
        impulses.resize(contacts.approach.len(), 0.0);
        self.operator.begin(contacts);
        self.pushed = 0;
        for iterations in 0..=contacts.max_iterations {
            self.operator.choose(contacts, &self.approach, &mut self.application);
            if self.application.contacts.is_empty() {
                return Outcome { status: Status::Resolved, iterations, locked: 0, accurate: true };
            }
            if iterations == contacts.max_iterations || contacts.interrupt.raised() {
                break;
            }
            self.renormalise(contacts, impulses);
            self.apply(contacts, impulses);
            observer.applied(&self.application.contacts, &self.application.impulses);
        }
        Outcome { status: Status::Capped, iterations: contacts.max_iterations, locked: 0, accurate: true }
    }
}

impl<O> Driver<O> {
    /// Rescales the chosen impulses so that the energy after them is the reference one: exactly for this application, and, once as many contacts have
    /// pushed as there are, for all applications together, which keeps rounding from adding up.
    fn renormalise(&mut self, contacts: &Contacts<'_>, impulses: &[f64]) {
        let Self { application: chosen, approach, pushed, paid, .. } = self;
        *paid = 0.0;
        let mut work = 0.0;
        let mut square = 0.0;
        if chosen.contacts.len() == 1 {
            // The diagonal is one, and most applications of the pairwise law are this one.
            (work, square) = (chosen.impulses[0] * approach[chosen.contacts[0]], chosen.impulses[0] * chosen.impulses[0]);
        } else {
            for (&i, &impulse) in chosen.contacts.iter().zip(&chosen.impulses) {
                let (columns, values) = contacts.gram.row(i);
                let mut response = 0.0;
                let mut place = 0;
                for (&j, a) in columns.iter().zip(values) {
                    // Both lists ascend.
                    while place < chosen.contacts.len() && chosen.contacts[place] < j {
                        place += 1;
                    }
                    if place < chosen.contacts.len() && chosen.contacts[place] == j {
                        response += a * chosen.impulses[place];
                    }
                }
                work += impulse * approach[i];
                square += impulse * response;
            }
        }
        *pushed += chosen.contacts.len();
        let mut drift = 0.0;
        if *pushed >= approach.len() {
            *pushed = 0;
            let found =
                impulses.iter().zip(contacts.approach).zip(&*approach).map(|((l, before), now)| l * (before + now)).sum::<f64>() / 2.0;
            // A weak application does not pay for the rounding of strong ones: it would be another application.
            if found.abs() <= SHARE * work.abs() {
                drift = found;
            }
        }
        // drift + s work + s² square / 2 = 0, the root near 1.
        let root = work * work - 2.0 * square * drift;
        if square > 0.0 && work < 0.0 && root > 0.0 {
            let factor = (root.sqrt() - work) / square;
            if (factor - 1.0).abs() > ROUNDING {
                *paid = drift;
                chosen.impulses.iter_mut().for_each(|l| *l *= factor);
            }
        }
    }

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
            let kept = (before + after + 2.0 * self.paid).abs() <= CHECK * (before.abs() + after.abs());
            debug_assert!(kept, "KIN: an elastic application keeps the energy, but for the rounding of those before it");
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
