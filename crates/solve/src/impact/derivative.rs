//! The derivative of an impact in contact space, for every law, forwards and backwards; theory (16.9)-(16.16).
//!
//! An impact is a map from the matrix K of its rows, their speeds u, restitutions e and frictions μ to impulses λ, with u' = u + K λ. Rows
//! are ordered as in [`ContactSpace`](super::ContactSpace): all normals, then the tangents contact by contact. What the forward solve
//! decided (sequence of active sets, locked contacts, who sticks and who slides) is held fixed; [`Switches`] counts what is near a change.

mod chain;
mod elastic;
mod friction;
mod newton;
mod normal;
mod reduction;
#[cfg(test)]
mod tests;

use super::{Record, Settings};
use crate::contact::problem::Cone;
use chain::Chain;
use friction::FrictionPhase;
use newton::NewtonLaw;
use normal::NormalPhase;

/// The numbers an impact is made from.
#[derive(Clone, Copy, Debug)]
pub struct ImpactInput<'a> {
    /// Number of contacts m.
    pub contacts: usize,
    /// K, n x n by rows [1/kg], symmetric; n = m without tangents, 2 m in the plane, 3 m in space.
    pub matrix: &'a [f64],
    /// u before the impact [m/s], length n.
    pub approach: &'a [f64],
    /// Restitution of every contact, length m.
    pub restitution: &'a [f64],
    /// Friction of every contact, length m; empty for none.
    pub friction: &'a [f64],
}

impl ImpactInput<'_> {
    /// Rows n.
    pub fn rows(&self) -> usize {
        self.approach.len()
    }

    /// Tangents per contact.
    pub fn tangents(&self) -> usize {
        (self.rows() / self.contacts.max(1)).saturating_sub(1)
    }

    fn is_valid(&self) -> bool {
        let (m, n) = (self.contacts, self.rows());
        let finite = [self.matrix, self.approach, self.restitution, self.friction].iter().all(|x| x.iter().all(|x| x.is_finite()));
        n == m * (1 + self.tangents())
            && self.tangents() < super::MAX_ROWS_PER_CONTACT
            && self.matrix.len() == n * n
            && self.restitution.len() == m
            && (self.friction.is_empty() || self.friction.len() == m)
            && finite
    }

    /// Friction of contact i.
    fn friction_of(&self, i: usize) -> f64 {
        self.friction.get(i).copied().unwrap_or(0.0)
    }
}

/// Changes of the numbers of an impact, or cotangents of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpactChange {
    /// Of K, n x n by rows, symmetric.
    pub matrix: Vec<f64>,
    /// Of u, length n.
    pub approach: Vec<f64>,
    /// Of the restitutions, length m.
    pub restitution: Vec<f64>,
    /// Of the frictions, length m.
    pub friction: Vec<f64>,
}

impl ImpactChange {
    /// No change of an impact with m contacts and n rows.
    pub fn zero(contacts: usize, rows: usize) -> Self {
        let mut change = Self::default();
        change.reset(contacts, rows);
        change
    }

    /// Takes the shape of an impact with m contacts and n rows, all zero.
    pub fn reset(&mut self, contacts: usize, rows: usize) {
        for (numbers, length) in
            [(&mut self.matrix, rows * rows), (&mut self.approach, rows), (&mut self.restitution, contacts), (&mut self.friction, contacts)]
        {
            numbers.clear();
            numbers.resize(length, 0.0);
        }
    }

    /// Makes the matrix symmetric.
    fn symmetrise(&mut self) {
        let n = self.approach.len();
        for i in 0..n {
            for j in 0..i {
                let mean = (self.matrix[i * n + j] + self.matrix[j * n + i]) / 2.0;
                self.matrix[i * n + j] = mean;
                self.matrix[j * n + i] = mean;
            }
        }
    }
}

/// How many contacts are near a switch, theory (16.16): the derivative is that of one side there.
#[must_use]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Contacts that may enter or leave the sequence of the elastic law, where the result may jump.
    pub sequence: usize,
    /// Contacts that may enter or leave the inelastic answer.
    pub support: usize,
    /// Contacts between sticking and sliding.
    pub friction: usize,
    /// Collisions at one point near a border of their branch.
    pub collision: usize,
    /// Restitutions at 0 or 1, where the slope in e is one-sided, or (at a capped elastic law) not known and given as 0.
    pub restitution: usize,
}

impl Switches {
    /// Switches of the state, all but those of e at its own bounds.
    pub fn total(&self) -> usize {
        self.sequence + self.support + self.friction + self.collision
    }
}

/// Which law the prepared impact obeyed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Nothing,
    Reflections,
    Chain,
    Newton,
}

/// The derivative of one impact; keeps its scratch between impacts.
///
/// ```
/// use carom_solve::impact::derivative::{ImpactChange, ImpactDerivative, ImpactInput};
/// use carom_solve::impact::{ContactSpace, GramView, Record, Restitution, Settings, Workspace, resolve_observed};
/// // Two equal balls, elastic: v' = (v_2, v_1), so d lambda / d u = -1 for K = 2.
/// let (gram, approach) = ([2.0], [-1.0]);
/// let space = ContactSpace { contacts: 1, gram: GramView::Dense(&gram), rows: None, approach: &approach, speed: 1.0 };
/// let (mut work, mut record) = (Workspace::new(), Record::new());
/// let _ = resolve_observed(&space, Restitution::Uniform(1.0), None, &Settings::default(), &mut work, &mut record).unwrap();
/// let input = ImpactInput { contacts: 1, matrix: &gram, approach: &approach, restitution: &[1.0], friction: &[] };
/// let mut derivative = ImpactDerivative::new();
/// let switches = derivative.prepare_reflections(&input, &Settings::default(), &record, false, work.impulses()).unwrap();
/// assert_eq!(switches.total(), 0);
/// let mut bar = ImpactChange::default();
/// derivative.adjoint(&[1.0], &mut bar);
/// assert_eq!(bar.approach, [-1.0]);
/// ```
#[derive(Debug, Default)]
pub struct ImpactDerivative {
    kind: Kind,
    contacts: usize,
    rows: usize,
    matrix: Vec<f64>,
    normal: NormalPhase,
    friction: FrictionPhase,
    chain: Chain,
    newton: NewtonLaw,
    normal_bar: Vec<f64>,
}

impl ImpactDerivative {
    /// A derivative of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn begin(&mut self, input: &ImpactInput, kind: Kind) -> bool {
        self.kind = Kind::Nothing;
        self.contacts = input.contacts;
        self.rows = input.rows();
        self.matrix.clear();
        self.matrix.extend_from_slice(input.matrix);
        let valid = input.is_valid();
        if valid {
            self.kind = kind;
        }
        valid
    }

    /// Prepares `reflections` or `gauss-seidel` with blended restitution and one-way friction.
    ///
    /// `record`: that of the forward solve; `capped`: whether it ended at its cap, with the inelastic answer; `impulses` (n): its result,
    /// normals first (m suffice without friction). Nothing is returned when shapes disagree or a system cannot be factored.
    ///
    /// Where all restitutions are 0 the elastic law is run for its slope in e alone; a cap of 0 iterations in the settings spares that,
    /// and the slope is given as 0.
    pub fn prepare_reflections(
        &mut self,
        input: &ImpactInput,
        settings: &Settings,
        record: &Record,
        capped: bool,
        impulses: &[f64],
    ) -> Option<Switches> {
        let (m, n) = (input.contacts, input.rows());
        if !self.begin(input, Kind::Reflections) || impulses.len() < m {
            return None;
        }
        let mut switches = Switches::default();
        if !self.normal.prepare(input, settings, record, capped, impulses, &mut switches) {
            return None;
        }
        if n > m {
            let tangential = impulses.get(m..n).unwrap_or(&[]);
            switches.friction = self.friction.prepare(input, &impulses[..m], tangential)?;
        }
        Some(switches)
    }

    /// Prepares `stronge` taken contact by contact: `sequence` holds the contacts in the order in which they collided, with the
    /// restitution each collision used (0 after the cap), `tolerance` that of the collisions in space.
    pub fn prepare_sequence(&mut self, input: &ImpactInput, sequence: &[(usize, f64)], tolerance: f64) -> Option<Switches> {
        if !self.begin(input, Kind::Chain) {
            return None;
        }
        let mut switches = Switches::default();
        self.chain.prepare(input, sequence, tolerance, &mut switches).then_some(switches)
    }

    /// Prepares `newton`: the dynamics problem with impulses only. `impulses` (n) are its result, normals first; the restitutions of the
    /// input are those used (0 where they were dropped).
    pub fn prepare_newton(&mut self, input: &ImpactInput, cone: Cone, impulses: &[f64]) -> Option<Switches> {
        if !self.begin(input, Kind::Newton) || impulses.len() != input.rows() {
            return None;
        }
        let weak = self.newton.prepare(input, cone, impulses)?;
        Some(Switches { support: weak.normal, friction: weak.friction, ..Switches::default() })
    }

    /// Change of the impulses (n, normals first) under a change of the impact.
    pub fn tangent(&mut self, change: &ImpactChange, impulses_dot: &mut [f64]) {
        let (m, n) = (self.contacts, self.rows);
        impulses_dot.fill(0.0);
        match self.kind {
            Kind::Nothing => {}
            Kind::Reflections => {
                self.normal.tangent(change, n, &mut impulses_dot[..m]);
                if n > m {
                    self.friction.tangent(&self.matrix, change, impulses_dot);
                }
            }
            Kind::Chain => self.chain.tangent(&self.matrix, change, impulses_dot),
            Kind::Newton => self.newton.tangent(change, impulses_dot),
        }
    }

    /// Cotangents of the impact for a cotangent of the impulses (n, normals first); that of the matrix is symmetric.
    pub fn adjoint(&mut self, impulses_bar: &[f64], bar: &mut ImpactChange) {
        let (m, n) = (self.contacts, self.rows);
        bar.reset(m, n);
        match self.kind {
            Kind::Nothing => {}
            Kind::Reflections => {
                self.normal_bar.clear();
                self.normal_bar.extend_from_slice(&impulses_bar[..m]);
                if n > m {
                    self.friction.adjoint(&self.matrix, &impulses_bar[m..], &mut self.normal_bar, bar);
                }
                self.normal.adjoint(&self.normal_bar, n, bar);
            }
            Kind::Chain => self.chain.adjoint(&self.matrix, impulses_bar, bar),
            Kind::Newton => self.newton.adjoint(impulses_bar, bar),
        }
        bar.symmetrise();
    }
}
