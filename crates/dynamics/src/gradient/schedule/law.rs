//! The impulses of an impact law as a function of its inputs, differentiated along the sequence that it took, theory (17.36)-(17.37).
//!
//! Neither the derivative of the impulses by the matrix K of the rows (n x n x n numbers) nor a slot for every entry of K is ever written
//! down: the law's own tangent and adjoint are applied to one change of K at a time, and K's to the rows that share a body.

use super::program::Block;
use crate::gradient::motion::{add, changed, changed_transpose, turned, turned_transpose};
use crate::gradient::slots::{inertia_len, pair, twist};
use crate::gradient::tape::record::Strike;
use crate::impact::{COLLISION_TOLERANCE, gauss_seidel_order};
use crate::options::{FrictionCone, ImpactFriction, ImpactLaw, Options};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};
use carom_solve::contact::problem::Cone;
use carom_solve::impact::derivative::{ImpactChange, ImpactDerivative, ImpactInput};
use carom_solve::impact::{FEASIBILITY, Law, Settings};

/// Numbers of a symmetric inertia at most.
const INERTIA: usize = inertia_len(3);

/// Slots of what a law reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LawSlots {
    /// Impulses, n: written.
    pub impulses: Block,
    /// Speeds u of the rows, n.
    pub speeds: Block,
    /// Coefficients of friction, m.
    pub frictions: Block,
    /// Coefficients of restitution, m.
    pub restitutions: Block,
}

impl LawSlots {
    const NOWHERE: LawSlots =
        LawSlots { impulses: Block::NOWHERE, speeds: Block::NOWHERE, frictions: Block::NOWHERE, restitutions: Block::NOWHERE };
}

/// What one row does at one body.
#[derive(Clone, Copy, Debug)]
struct Term<G: Geometry> {
    row: usize,
    /// Velocity X of a unit impulse with the joints holding.
    response: Twist<G>,
    /// Slots of the force F of that impulse.
    force: Block,
}

/// A body whose inertia K depends on, with slots where they are asked for.
#[derive(Clone, Copy, Debug)]
struct Inertia<G: Geometry> {
    mass: Option<Block>,
    upper: Option<Block>,
    turn: Option<Block>,
    value: G::Inertia,
    rotation: G::Rot,
    /// Its first term; the next body's is the end.
    first: usize,
}

/// The inertia of a body and where its numbers stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InertiaSlots<G: Geometry> {
    /// Slot of the mass.
    pub mass: Option<Block>,
    /// Slots of the inertia in the body frame, upper triangle.
    pub upper: Option<Block>,
    /// Slots of the turn of the body.
    pub turn: Option<Block>,
    /// Inertia in world axes.
    pub value: G::Inertia,
    /// Orientation.
    pub rotation: G::Rot,
}

/// The law of one strike as a map between slots; keeps its room from one strike to the next.
#[derive(Debug)]
pub(crate) struct LawMap<G: Geometry> {
    derivative: ImpactDerivative,
    slots: LawSlots,
    /// Terms body by body.
    terms: Vec<Term<G>>,
    bodies: Vec<Inertia<G>>,
    change: ImpactChange,
    impulses: Vec<f64>,
    sums: Vec<Twist<G>>,
}

impl<G: Geometry> Default for LawMap<G> {
    fn default() -> Self {
        LawMap {
            derivative: ImpactDerivative::new(),
            slots: LawSlots::NOWHERE,
            terms: Vec::new(),
            bodies: Vec::new(),
            change: ImpactChange::default(),
            impulses: Vec::new(),
            sums: Vec::new(),
        }
    }
}

impl<G: Geometry> LawMap<G> {
    /// Becomes the law of a strike between slots; returns how many switches are near.
    pub fn begin(&mut self, strike: &Strike<G>, options: &Options, slots: LawSlots) -> usize {
        self.slots = slots;
        self.terms.clear();
        self.bodies.clear();
        self.impulses.clear();
        self.impulses.resize(strike.impulses.len(), 0.0);
        prepare(&mut self.derivative, strike, options).unwrap_or_else(|| {
            // Decisions that cannot be followed have no derivative; the strike is reported as a switch.
            self.derivative = ImpactDerivative::new();
            1
        })
    }

    /// Opens the next body; the terms that follow are its own.
    pub fn body(&mut self, slots: InertiaSlots<G>) {
        let InertiaSlots { mass, upper, turn, value, rotation } = slots;
        self.bodies.push(Inertia { mass, upper, turn, value, rotation, first: self.terms.len() });
    }

    /// Adds a row at the last body: its response there and the slots of its force.
    pub fn term(&mut self, row: usize, response: Twist<G>, force: Block) {
        self.terms.push(Term { row, response, force });
    }

    fn terms_of(&self, body: usize) -> std::ops::Range<usize> {
        self.bodies[body].first..self.bodies.get(body + 1).map_or(self.terms.len(), |next| next.first)
    }

    /// The tangent.
    pub fn tangent(&mut self, x: &mut [f64]) {
        let (n, m) = (self.slots.impulses.len(), self.slots.frictions.len());
        self.change.reset(m, n);
        self.change.approach.copy_from_slice(&x[self.slots.speeds.range()]);
        self.change.friction.copy_from_slice(&x[self.slots.frictions.range()]);
        self.change.restitution.copy_from_slice(&x[self.slots.restitutions.range()]);
        // dK_ij = X_i . dF_j + X_j . dF_i - X_i . dM X_j, theory (17.37).
        for index in 0..self.bodies.len() {
            let body = self.bodies[index];
            let range = self.terms_of(index);
            let mut by_inertia = [0.0; INERTIA];
            if let Some(block) = body.upper {
                by_inertia[..block.len()].copy_from_slice(&x[block.range()]);
            }
            for j in range.clone() {
                let other = self.terms[j];
                let force = twist::<G>(&x[other.force.range()]);
                let mut carried = Twist::<G>::zero();
                if let Some(block) = body.mass {
                    carried.lin = other.response.lin * x[block.range().start];
                }
                if body.upper.is_some() {
                    carried.ang += changed::<G>(body.rotation, &by_inertia, other.response.ang);
                }
                if let Some(block) = body.turn {
                    carried.ang += turned::<G>(body.value, G::Ang::from_slice(&x[block.range()]), other.response.ang);
                }
                for term in &self.terms[range.clone()] {
                    let along = pair(&term.response, &force);
                    self.change.matrix[term.row * n + other.row] += along - pair(&term.response, &carried);
                    self.change.matrix[other.row * n + term.row] += along;
                }
            }
        }
        self.derivative.tangent(&self.change, &mut self.impulses);
        add(x, self.slots.impulses, &self.impulses);
    }

    /// The adjoint.
    pub fn adjoint(&mut self, x: &mut [f64]) {
        self.impulses.copy_from_slice(&x[self.slots.impulses.range()]);
        if self.impulses.iter().all(|&c| c == 0.0) {
            return;
        }
        let n = self.impulses.len();
        self.derivative.adjoint(&self.impulses, &mut self.change);
        add(x, self.slots.speeds, &self.change.approach);
        add(x, self.slots.frictions, &self.change.friction);
        add(x, self.slots.restitutions, &self.change.restitution);
        for index in 0..self.bodies.len() {
            let body = self.bodies[index];
            let range = self.terms_of(index);
            // Y_j = sum over i of K_bar_ij X_i; then F_bar_j = 2 Y_j and M_bar = -sum over j of Y_j X_j'.
            self.sums.clear();
            for other in &self.terms[range.clone()] {
                let row = &self.change.matrix[other.row * n..(other.row + 1) * n];
                let mut sum = Twist::<G>::zero();
                for term in &self.terms[range.clone()] {
                    sum = sum.plus(row[term.row], term.response);
                }
                self.sums.push(sum);
            }
            let (mut by_mass, mut by_turn, mut by_inertia) = (0.0, G::Ang::zero(), [0.0; INERTIA]);
            for (term, sum) in self.terms[range].iter().zip(&self.sums) {
                add(x, term.force.part(0, G::DIM), (sum.lin * 2.0).as_slice());
                add(x, term.force.part(G::DIM, G::ANG), (sum.ang * 2.0).as_slice());
                by_mass -= term.response.lin.dot(sum.lin);
                if body.turn.is_some() {
                    by_turn -= turned_transpose::<G>(body.value, sum.ang, term.response.ang);
                }
                if body.upper.is_some() {
                    changed_transpose::<G>(body.rotation, sum.ang, term.response.ang, -1.0, &mut by_inertia);
                }
            }
            if let Some(block) = body.mass {
                add(x, block, &[by_mass]);
            }
            if let Some(block) = body.upper {
                add(x, block, &by_inertia[..block.len()]);
            }
            if let Some(block) = body.turn {
                add(x, block, by_turn.as_slice());
            }
        }
    }
}

/// Readies the derivative along the sequence that the forward solve recorded; returns how many switches are near.
pub(crate) fn prepare<G: Geometry>(derivative: &mut ImpactDerivative, strike: &Strike<G>, options: &Options) -> Option<usize> {
    let cone = options.friction_cone;
    let together = matches!(strike.law, ImpactLaw::Auto | ImpactLaw::Reflections | ImpactLaw::GaussSeidel(_)) && strike.sequence.is_empty();
    if together && options.impact_friction == ImpactFriction::Staggered && strike.friction.iter().any(|&mu| mu > 0.0) {
        // Where the turns of normal impulses and friction ended is not followed.
        return None;
    }
    let matrix = strike.gram.dense();
    let input = ImpactInput {
        contacts: strike.contacts.len(),
        matrix: &matrix,
        approach: &strike.approach,
        restitution: &strike.restitution,
        friction: &strike.friction,
    };
    let law = match strike.law {
        _ if !strike.sequence.is_empty() => {
            return derivative.prepare_sequence(&input, &strike.sequence, COLLISION_TOLERANCE).map(|s| s.total());
        }
        ImpactLaw::Newton => {
            let cone = match cone {
                FrictionCone::Round => Cone::Round,
                FrictionCone::Polyhedral(edges) => Cone::Polyhedral(edges),
            };
            return derivative.prepare_newton(&input, cone, &strike.impulses).map(|s| s.total());
        }
        ImpactLaw::GaussSeidel(order) => gauss_seidel_order(order),
        _ => Law::Reflections,
    };
    // Where restitution was dropped nothing is asked about it, and the elastic law need not be run for its slope.
    let tolerance = options.impact_tolerance.unwrap_or(FEASIBILITY);
    let mut settings = Settings { law, tolerance, ..Settings::default() };
    if !strike.elastic {
        settings.max_iterations = 0;
    }
    derivative.prepare_reflections(&input, &settings, &strike.active, strike.capped, &strike.impulses).map(|s| s.total())
}
