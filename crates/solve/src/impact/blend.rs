//! Restitution by blending the perfectly elastic with the perfectly inelastic answer, v' = (1 - c) v₀ + c v₁, theory (5.10).
//!
//! Both ends are feasible and neither has more energy than the start, so every blend is feasible and passive, by convexity. Restitution
//! never enters the operator itself: a chain of five balls would collapse inelastically and never end.

use super::cone::ConeSolver;
use super::{Contacts, ImpactMap, Observer, Outcome, Restitution, Status};

/// Shift of the diagonal that selects the multiplier of least norm among all that give v₀ (theory (5.13)); extrapolation to zero leaves an
/// error of its square.
pub(super) const LEAST_NORM_SHIFT: f64 = 1e-6;

/// Wraps an elastic map with restitution; also answers inelastically when the elastic map is capped.
#[derive(Clone, Debug, Default)]
pub struct Blend<I> {
    /// The elastic map.
    pub map: I,
    everyone: Vec<usize>,
    inelastic: Vec<f64>,
    least: Vec<f64>,
    least_twice: Vec<f64>,
    coefficients: Vec<f64>,
    agree: Vec<bool>,
    means: Vec<f64>,
    sums: Vec<f64>,
    solver: ConeSolver,
}

impl<I: ImpactMap> ImpactMap for Blend<I> {
    fn resolve(&mut self, contacts: &Contacts<'_>, impulses: &mut Vec<f64>, observer: &mut dyn Observer) -> Outcome {
        let m = contacts.approach.len();
        let elastic = match contacts.restitution {
            Restitution::Uniform(c) => c > 0.0,
            Restitution::PerContact(c) => c.iter().any(|&c| c > 0.0),
        };
        let mut outcome = if elastic {
            self.map.resolve(contacts, impulses, observer)
        } else {
            impulses.clear();
            impulses.resize(m, 0.0);
            Outcome { status: Status::Resolved, iterations: 0, locked: 0, accurate: true }
        };
        let capped = outcome.status == Status::Capped;
        let all_elastic = match contacts.restitution {
            Restitution::Uniform(c) => c >= 1.0,
            Restitution::PerContact(c) => c.iter().all(|&c| c >= 1.0),
        };
        if all_elastic && !capped {
            return outcome;
        }
        outcome.accurate &= self.solve_inelastic(contacts);
        if capped || !elastic {
            impulses.copy_from_slice(&self.inelastic);
            outcome.iterations = if capped { contacts.max_iterations } else { 0 };
            return outcome;
        }
        match contacts.restitution {
            Restitution::Uniform(c) => blend(impulses, &self.inelastic, |_| c),
            Restitution::PerContact(c) => {
                outcome.accurate &= self.mix(contacts, c);
                let of = |i| if contacts.gram.takes_part(i) { self.coefficients[contacts.gram.group(i)] } else { 0.0 };
                blend(impulses, &self.inelastic, of);
            }
        }
        outcome
    }
}

fn blend(elastic: &mut [f64], inelastic: &[f64], coefficient: impl Fn(usize) -> f64) {
    for i in 0..elastic.len() {
        let c = coefficient(i);
        elastic[i] = (1.0 - c) * inelastic[i] + c * elastic[i];
    }
}

impl<I> Blend<I> {
    /// The nearest feasible velocity, theory (5.11): contacts push just enough that none closes. False where it was not found.
    fn solve_inelastic(&mut self, contacts: &Contacts<'_>) -> bool {
        let m = contacts.approach.len();
        self.everyone.clear();
        self.everyone.extend((0..m).filter(|&i| contacts.gram.takes_part(i)));
        self.inelastic.clear();
        self.inelastic.resize(m, 0.0);
        self.solver.begin(m);
        self.solver.solve(contacts.gram, &self.everyone, contacts.approach, 0.0, &mut self.inelastic)
    }

    /// One coefficient per connected group: the mean of its contacts' values, weighted by the least-norm inelastic impulses (5.12). False where these
    /// were not found.
    fn mix(&mut self, contacts: &Contacts<'_>, values: &[f64]) -> bool {
        let groups = contacts.gram.groups();
        // A group whose contacts agree needs no weights.
        self.coefficients.clear();
        self.coefficients.resize(groups, f64::NAN);
        self.agree.clear();
        self.agree.resize(groups, true);
        for &i in &self.everyone {
            let group = contacts.gram.group(i);
            let of_group = &mut self.coefficients[group];
            if of_group.is_nan() {
                *of_group = values[i];
            } else {
                self.agree[group] &= *of_group == values[i];
            }
        }
        let agree = &self.agree;
        self.everyone.retain(|&i| !agree[contacts.gram.group(i)]);
        let mut solved = true;
        for (least, shift) in [(&mut self.least, LEAST_NORM_SHIFT), (&mut self.least_twice, 2.0 * LEAST_NORM_SHIFT)] {
            least.clear();
            least.extend_from_slice(&self.inelastic);
            solved &= self.solver.solve(contacts.gram, &self.everyone, contacts.approach, shift, least);
        }
        self.sums.clear();
        self.sums.resize(groups, 0.0);
        self.means.clear();
        self.means.resize(groups, 0.0);
        for &i in &self.everyone {
            let weight = (2.0 * self.least[i] - self.least_twice[i]).max(0.0);
            let group = contacts.gram.group(i);
            self.means[group] += weight * values[i];
            self.sums[group] += weight;
        }
        for group in (0..groups).filter(|&group| !self.agree[group]) {
            // A group without impulses does not move at all: any coefficient serves.
            let sum = self.sums[group];
            self.coefficients[group] = if sum > 0.0 { (self.means[group] / sum).clamp(0.0, 1.0) } else { 0.0 };
        }
        solved
    }
}
