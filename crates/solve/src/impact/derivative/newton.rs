//! Newton restitution with impulses only: the contact problem of chapter 4 with e min(0, u_n) in its free velocity.

use super::{ImpactChange, ImpactInput};
use crate::contact::dense::contact_derivative::{ContactDerivative, ProblemChange, Weak};
use crate::contact::problem::{Block, Cone, Problem};

/// Everything the derivative of the law needs; the contact problem wants each contact's rows together.
#[derive(Clone, Debug, Default)]
pub(super) struct NewtonLaw {
    contacts: usize,
    tangents: usize,
    cone: Option<Cone>,
    restitution: Vec<f64>,
    closing: Vec<f64>,
    blocks: Vec<Block>,
    matrix: Vec<f64>,
    free: Vec<f64>,
    impulses: Vec<f64>,
    derivative: ContactDerivative,
    change: ProblemChange,
    packed: Vec<f64>,
}

/// Where a row stands when each contact's rows are together.
fn place(row: usize, m: usize, tangents: usize) -> usize {
    let width = 1 + tangents;
    if row < m { row * width } else { ((row - m) / tangents.max(1)) * width + 1 + (row - m) % tangents.max(1) }
}

impl NewtonLaw {
    /// How the contacts behave.
    #[cfg(test)]
    pub fn modes(&self) -> &[crate::contact::dense::contact_derivative::Mode] {
        self.derivative.modes()
    }

    fn problem(&self) -> Problem<'_> {
        // Without tangents every contact is a one-sided row.
        Problem {
            tangents: self.tangents.max(1),
            blocks: &self.blocks,
            matrix: &self.matrix,
            free: &self.free,
            cone: self.cone.unwrap_or(Cone::Round),
        }
    }

    /// Packs the problem and prepares its derivative.
    pub fn prepare(&mut self, input: &ImpactInput, cone: Cone, impulses: &[f64]) -> Option<Weak> {
        let (m, n, t) = (input.contacts, input.rows(), input.tangents());
        (self.contacts, self.tangents, self.cone) = (m, t, Some(cone));
        for list in [&mut self.free, &mut self.impulses, &mut self.packed] {
            list.clear();
            list.resize(n, 0.0);
        }
        self.matrix.clear();
        self.matrix.resize(n * n, 0.0);
        for i in 0..n {
            self.free[place(i, m, t)] = input.approach[i];
            self.impulses[place(i, m, t)] = impulses[i];
            for j in 0..n {
                self.matrix[place(i, m, t) * n + place(j, m, t)] = input.matrix[i * n + j];
            }
        }
        self.blocks.clear();
        self.restitution.clear();
        self.closing.clear();
        for i in 0..m {
            self.blocks.push(if t > 0 { Block::contact(input.friction_of(i)) } else { Block::Unilateral });
            self.restitution.push(input.restitution[i]);
            self.closing.push(input.approach[i].min(0.0));
            self.free[place(i, m, t)] += input.restitution[i] * input.approach[i].min(0.0);
        }
        let mut derivative = std::mem::take(&mut self.derivative);
        let weak = derivative.prepare(&self.problem(), &self.impulses);
        self.derivative = derivative;
        weak
    }

    /// Change of the impulses, normals first.
    pub fn tangent(&mut self, change: &ImpactChange, impulses_dot: &mut [f64]) {
        let (m, t, n) = (self.contacts, self.tangents, self.free.len());
        let mut packed = std::mem::take(&mut self.change);
        packed.reset(&self.problem());
        for i in 0..n {
            packed.free[place(i, m, t)] = change.approach[i];
            for j in 0..n {
                packed.matrix[place(i, m, t) * n + place(j, m, t)] = change.matrix[i * n + j];
            }
        }
        for i in 0..m {
            let slope = if self.closing[i] < 0.0 { self.restitution[i] * change.approach[i] } else { 0.0 };
            packed.free[place(i, m, t)] += slope + change.restitution[i] * self.closing[i];
            packed.friction[i] = change.friction[i];
        }
        let (mut derivative, mut dl) = (std::mem::take(&mut self.derivative), std::mem::take(&mut self.packed));
        derivative.tangent(&self.problem(), &self.impulses, &packed, &mut dl);
        (0..n).for_each(|i| impulses_dot[i] = dl[place(i, m, t)]);
        (self.derivative, self.packed, self.change) = (derivative, dl, packed);
    }

    /// Cotangents of the impact.
    pub fn adjoint(&mut self, impulses_bar: &[f64], bar: &mut ImpactChange) {
        let (m, t, n) = (self.contacts, self.tangents, self.free.len());
        let (mut derivative, mut packed) = (std::mem::take(&mut self.derivative), std::mem::take(&mut self.change));
        (0..n).for_each(|i| self.packed[place(i, m, t)] = impulses_bar[i]);
        derivative.adjoint(&self.problem(), &self.impulses, &self.packed, &mut packed);
        for i in 0..n {
            bar.approach[i] += packed.free[place(i, m, t)];
            for j in 0..n {
                bar.matrix[i * n + j] += packed.matrix[place(i, m, t) * n + place(j, m, t)];
            }
        }
        for i in 0..m {
            let free_bar = packed.free[place(i, m, t)];
            bar.restitution[i] += free_bar * self.closing[i];
            if self.closing[i] < 0.0 {
                bar.approach[i] += free_bar * self.restitution[i];
            }
            bar.friction[i] += packed.friction[i];
        }
        (self.derivative, self.change) = (derivative, packed);
    }
}
