//! Generalized reflections: all closing contacts answer at once, theory (5.8).
//!
//! λ minimises ‖M⁻¹ N_Vᵀ λ + 2 v‖_M over λ ≥ 0. On the contacts that push, the speed is exactly reversed, so the energy is kept; the
//! velocity after it is unique even when redundant contacts leave λ open, which is why symmetric impacts stay symmetric.

use super::cone::ConeSolver;
use super::{Application, Contacts, Operator};

/// The generalized reflection operator.
#[derive(Clone, Debug, Default)]
pub struct Reflection {
    closing: Vec<usize>,
    linear: Vec<f64>,
    impulses: Vec<f64>,
    solver: ConeSolver,
}

impl Operator for Reflection {
    fn begin(&mut self, contacts: &Contacts<'_>) {
        let m = contacts.approach.len();
        self.linear.clear();
        self.linear.resize(m, 0.0);
        self.impulses.clear();
        self.impulses.resize(m, 0.0);
        self.solver.begin(m);
    }

    fn choose(&mut self, contacts: &Contacts<'_>, approach: &[f64], application: &mut Application) {
        application.contacts.clear();
        application.impulses.clear();
        self.closing.clear();
        for i in 0..approach.len() {
            if approach[i] < -contacts.threshold {
                self.closing.push(i);
                self.linear[i] = 2.0 * approach[i];
                self.impulses[i] = 0.0;
            }
        }
        let solved = self.solver.solve(contacts.gram, &self.closing, &self.linear, 0.0, &mut self.impulses);
        for &i in &self.closing {
            if solved && self.impulses[i] > 0.0 {
                application.contacts.push(i);
                application.impulses.push(self.impulses[i]);
            }
        }
        // Should least squares ever fail, the fastest contact alone is reversed: also an operator with all five properties, so the driver
        // still ends.
        if application.contacts.is_empty()
            && let Some(fastest) = self.closing.iter().copied().reduce(|best, i| if approach[i] < approach[best] { i } else { best })
        {
            application.contacts.push(fastest);
            application.impulses.push(-2.0 * approach[fastest]);
        }
    }
}
