//! Simultaneous impacts at one frozen instant: which impulses turn an infeasible velocity into a feasible one (theory, chapter 5).
//!
//! Everything here lives in contact space. With the rows n_i of N (one per contact), a velocity changes by v' = v + M⁻¹ Nᵀ λ, so the
//! contact speeds g = N v change by g' = g + A λ with the Gram matrix A = N M⁻¹ Nᵀ, and the kinetic energy by λ·g + ½ λ·A λ (5.2).
//! Bodies, joints (through a constrained inverse mass) and the dimension of space appear only in A and g.
//!
//! The laws are built by wrapping: an [`Operator`] answers once, [`driver::Driver`] repeats it until nothing closes, [`blend::Blend`]
//! adds restitution, [`locking::Locking`] removes implicit equalities first, and friction ([`dissipation`]) acts after them.
//! [`resolve`] is the whole chain; `carom_kernels::impact::impacts` is the same on mass matrices, normals and velocities.

pub mod blend;
pub mod certificate;
pub mod cone;
pub mod derivative;
pub mod disc;
pub mod dissipation;
pub mod driver;
pub mod friction;
pub mod gram;
pub mod lineality;
pub mod linear_program;
pub mod locking;
pub mod mass;
pub mod nnls;
pub mod pairwise;
pub mod record;
pub mod reflection;
pub mod roots;
pub mod rows;
mod slip_newton;

pub use gram::{Gram, GramView};
pub use mass::MassMatrix;
pub use record::{Observer, Record};
pub use rows::{SparseGram, SparseRows};

use crate::interrupt::Interrupt;
use blend::Blend;
use driver::{AnyOperator, Driver};
use friction::FrictionWork;
use locking::Locking;

/// Relative speed below which a contact counts as not closing: feasible means n·v ≥ -ε ‖v‖ with n of unit length in the M⁻¹ metric
/// (theory (5.5)). Far above the rounding of one reflection (1e-16), far below any speed that matters.
pub const FEASIBILITY: f64 = 1e-10;

/// Reflections after which the driver stops and answers with the inelastic solution. Termination is proven but not fast: a cradle of
/// 20 balls whose masses span 0.016 to 70 needs two million pairwise reflections.
pub const MAX_REFLECTIONS: usize = 10_000_000;

/// Contacts up to which the normal phase does not look at the rows over bodies.
const SMALL: usize = 64;

/// Rows of a contact at most: the normal and two tangents.
const MAX_ROWS_PER_CONTACT: usize = 3;

/// How a contact is chosen by the pairwise law when several close at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// Always the closing contact of least index.
    #[default]
    Lexicographic,
    /// The next closing contact after the last one reflected, round and round.
    Cyclic,
    /// Any closing contact with equal chance, from a counter-based generator: the same seed gives the same sequence.
    Random,
    /// The contact that closes fastest; the least index among equals.
    Worst,
}

/// The elastic law that ends an impact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Law {
    /// Generalized reflections: all closing contacts at once, by nonnegative least squares. Keeps symmetry.
    #[default]
    Reflections,
    /// One contact after the other.
    GaussSeidel {
        /// Which contact is next.
        order: Order,
        /// Seed of [`Order::Random`]; unused by the others.
        seed: u64,
    },
}

/// Coefficient of restitution, 0 to 1.
#[derive(Clone, Copy, Debug)]
pub enum Restitution<'a> {
    /// One value for the whole impact.
    Uniform(f64),
    /// One value per contact (m), blended per connected group by theory (5.12).
    PerContact(&'a [f64]),
}

/// Friction of an impact: the tangential rows stand after the normal rows in [`ContactSpace`].
#[derive(Clone, Copy, Debug)]
pub struct Friction<'a> {
    /// Coefficient per contact (m), ≥ 0.
    pub coefficients: &'a [f64],
    /// Alternate normal and friction phases until they agree, instead of one pass.
    pub staggered: bool,
}

/// An impact problem seen from its contacts.
///
/// The first m rows are normals; with friction, m·t tangential rows follow, contact by contact (t = 1 in the plane, 2 in space, an
/// orthonormal basis each). The Gram matrix is J M⁻¹ Jᵀ over all of them.
#[derive(Clone, Copy, Debug)]
pub struct ContactSpace<'a> {
    /// Number of contacts m.
    pub contacts: usize,
    /// Gram matrix of the rows (1/kg), (m or m + m·t) square.
    pub gram: GramView<'a>,
    /// The rows themselves in coordinates in which the mass is one, J M^(-1/2), where they are known: large impacts are then solved over bodies.
    pub rows: Option<&'a SparseRows>,
    /// Speed along each row before the impact, J v (m/s); negative normals close. The motion of obstacles is included.
    pub approach: &'a [f64],
    /// Norm √(vᵀ M v) of the velocity, the scale of the feasibility tolerance; 0 lets the contact speeds decide.
    pub speed: f64,
}

/// What may be chosen about an impact.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The elastic law.
    pub law: Law,
    /// Feasibility tolerance ε of theory (5.5), relative to the speed.
    pub tolerance: f64,
    /// Detect and lock implicit equalities first; without it a plug between walls never ends.
    pub lineality: bool,
    /// Cap of the driver, in applications of the operator.
    pub max_iterations: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { law: Law::Reflections, tolerance: FEASIBILITY, lineality: true, max_iterations: MAX_REFLECTIONS }
    }
}

/// How an impact ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No contact closes any more.
    Resolved,
    /// The cap was reached; the impulses are those of the perfectly inelastic impact.
    Capped,
}

/// Outcome of an impact; the impulses are in the workspace.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// Applications of the elastic operator.
    pub iterations: usize,
    /// Dimension of the implicit-equality subspace; 0 also when nothing closed, for then it is not looked for.
    pub locked: usize,
    /// Largest closing speed left, relative to the speed, after the normal phase.
    pub residual: f64,
    /// Change of kinetic energy (J), never positive beyond rounding (for obstacles that move: in the contacts' frame).
    pub energy_change: f64,
    /// Sweeps of the friction phase, 0 without friction.
    pub friction_sweeps: usize,
    /// Whether every least-squares problem of restitution and of locked contacts was solved, and friction settled.
    pub accurate: bool,
}

/// Why an impact problem was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum ImpactError {
    /// An argument has the wrong length.
    Shape {
        /// Which argument.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it must have.
        expected: usize,
    },
    /// An argument holds a NaN or an infinity.
    NotFinite(&'static str),
    /// An argument is outside its range.
    Range(&'static str),
    /// The mass matrix is not positive definite.
    Mass,
}

impl std::fmt::Display for ImpactError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shape { what, found, expected } => write!(f, "{what} has {found} entries, expected {expected}"),
            Self::NotFinite(what) => write!(f, "{what} holds a value that is not finite"),
            Self::Range(what) => write!(f, "{what} is out of range"),
            Self::Mass => write!(f, "mass is not symmetric positive definite"),
        }
    }
}

impl std::error::Error for ImpactError {}

/// A frictionless impact in normalised contact space: unit diagonal of the Gram matrix, what every map of this module works on.
#[derive(Clone, Copy, Debug)]
pub struct Contacts<'a> {
    /// Normalised Gram matrix.
    pub gram: &'a Gram,
    /// Normalised contact speeds g (m).
    pub approach: &'a [f64],
    /// Restitution.
    pub restitution: Restitution<'a>,
    /// Closing speed that counts: feasible means g ≥ -threshold.
    pub threshold: f64,
    /// Cap of the driver.
    pub max_iterations: usize,
    /// The wish to stop, which ends the driver like its cap.
    pub interrupt: &'a Interrupt,
}

/// What a map reports beside its impulses.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Applications of the elastic operator.
    pub iterations: usize,
    /// Dimension of the implicit-equality subspace.
    pub locked: usize,
    /// Whether every least-squares problem on the way was solved.
    pub accurate: bool,
}

/// A complete impact map: from closing contacts to impulses after which none closes.
pub trait ImpactMap {
    /// Writes the impulses λ (m) of the normalised rows.
    fn resolve(&mut self, contacts: &Contacts<'_>, impulses: &mut Vec<f64>, observer: &mut dyn Observer) -> Outcome;
}

/// The impulses one application of an operator chooses: contact indices, ascending, with their λ > 0.
#[derive(Clone, Debug, Default)]
pub struct Application {
    /// Contacts that push.
    pub contacts: Vec<usize>,
    /// Their impulses, for normalised rows.
    pub impulses: Vec<f64>,
}

/// One answer to a closing velocity, theory (5.4): only closing contacts push (VIO), none pulls (ONE), along the rows (NORM), energy is
/// kept (KIN), and something happens whenever a contact closes (MOD). These five make the driver end.
pub trait Operator {
    /// Forgets the previous impact.
    fn begin(&mut self, contacts: &Contacts<'_>);
    /// Chooses the impulses for the present contact speeds; leaves `application` empty when none closes.
    fn choose(&mut self, contacts: &Contacts<'_>, approach: &[f64], application: &mut Application);
}

/// Scratch and results of [`resolve`]; reuse it and nothing is allocated once it has seen the largest impact.
#[derive(Debug, Default)]
pub struct Workspace {
    gram: Gram,
    approach: Vec<f64>,
    normalised: Vec<f64>,
    impulses: Vec<f64>,
    friction_impulses: Vec<f64>,
    locking: Locking<Blend<Driver<AnyOperator>>>,
    friction: FrictionWork,
    interrupt: Interrupt,
}

impl Workspace {
    /// An empty workspace.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on an impact ends where it stands when the token is raised; its impulses then mean nothing.
    pub fn heed(&mut self, interrupt: &Interrupt) {
        self.interrupt.become_same(interrupt);
    }

    /// Normal impulses λ (m) (N s for unit normals), ≥ 0, of the last impact.
    pub fn impulses(&self) -> &[f64] {
        &self.impulses
    }

    /// Tangential impulses (m·t) of the last impact, contact by contact; empty without friction.
    pub fn friction_impulses(&self) -> &[f64] {
        &self.friction_impulses
    }
}

/// Resolves one impact; the impulses are left in the workspace.
///
/// ```
/// use carom_solve::impact::{ContactSpace, GramView, Restitution, Settings, Workspace, resolve};
/// // Three equal balls in a row, the first arriving at 1 m/s: it stops and the last one leaves.
/// let gram = [2.0, -1.0, -1.0, 2.0];
/// let space = ContactSpace { contacts: 2, gram: GramView::Dense(&gram), rows: None, approach: &[-1.0, 0.0], speed: 1.0 };
/// let mut work = Workspace::new();
/// let report = resolve(&space, Restitution::Uniform(1.0), None, &Settings::default(), &mut work).unwrap();
/// assert_eq!(report.iterations, 2);
/// assert!(work.impulses().iter().all(|impulse| (impulse - 1.0).abs() < 1e-15));
/// ```
///
/// # Errors
/// [`ImpactError`] when lengths disagree, a value is not finite or a coefficient is out of range.
pub fn resolve(
    space: &ContactSpace<'_>,
    restitution: Restitution<'_>,
    friction: Option<Friction<'_>>,
    settings: &Settings,
    work: &mut Workspace,
) -> Result<Report, ImpactError> {
    resolve_observed(space, restitution, friction, settings, work, &mut ())
}

/// [`resolve`], telling an observer every application of the elastic operator, for derivatives and for study.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_observed(
    space: &ContactSpace<'_>,
    restitution: Restitution<'_>,
    friction: Option<Friction<'_>>,
    settings: &Settings,
    work: &mut Workspace,
    observer: &mut dyn Observer,
) -> Result<Report, ImpactError> {
    check(space, restitution, friction, settings)?;
    let m = space.contacts;
    work.gram.load(&space.gram, m);
    if let Some(rows) = space.rows.filter(|_| m > SMALL) {
        work.gram.load_roots(rows);
    }
    work.approach.clear();
    work.approach.extend((0..m).map(|i| space.approach[i] * work.gram.inverse_scale(i)));

    // Without obstacles |g_i| <= ||v|| by Cauchy-Schwarz; the larger of the two also serves moving obstacles and an absent speed.
    let speed = work.approach.iter().fold(space.speed, |s, g| s.max(g.abs()));
    work.locking.enabled = settings.lineality;
    work.locking.map.map.operator.set(settings.law);
    let contacts = Contacts {
        gram: &work.gram,
        approach: &work.approach,
        restitution,
        threshold: settings.tolerance * speed,
        max_iterations: settings.max_iterations,
        interrupt: &work.interrupt,
    };
    let outcome = work.locking.resolve(&contacts, &mut work.normalised, observer);
    let (residual, mut energy_change) = aftermath(&contacts, &work.normalised, speed);
    work.impulses.clear();
    work.impulses.extend((0..m).map(|i| work.normalised[i] * work.gram.inverse_scale(i)));

    // One-way friction acts on the velocity the normal phase left, theory (5.14).
    work.friction_impulses.clear();
    let (mut friction_sweeps, mut settled) = (0, true);
    if let Some(friction) = friction {
        let phase = friction::Phase { space, friction, speed };
        let after = phase.act(&contacts, &mut work.impulses, &mut work.friction_impulses, &mut work.friction);
        friction_sweeps = after.sweeps;
        energy_change += after.energy_change;
        settled = after.settled;
    }
    let Outcome { status, iterations, locked, accurate } = outcome;
    let accurate = accurate && settled;
    Ok(Report { status, iterations, locked, residual, energy_change, friction_sweeps, accurate })
}

/// Largest closing speed left, relative to the speed, and the energy change (5.2) of normalised impulses.
fn aftermath(contacts: &Contacts<'_>, impulses: &[f64], speed: f64) -> (f64, f64) {
    let mut closing: f64 = 0.0;
    let mut energy = 0.0;
    for i in 0..impulses.len() {
        let after = contacts.approach[i] + contacts.gram.row_dot(i, impulses);
        closing = closing.max(-after);
        energy += impulses[i] * (contacts.approach[i] + after) / 2.0;
    }
    (if speed > 0.0 { closing / speed } else { 0.0 }, energy)
}

/// Refuses what no law can answer.
fn check(
    space: &ContactSpace<'_>,
    restitution: Restitution<'_>,
    friction: Option<Friction<'_>>,
    settings: &Settings,
) -> Result<(), ImpactError> {
    let m = space.contacts;
    let rows = space.approach.len();
    let tangents = rows.checked_div(m).unwrap_or(0);
    if rows != m * tangents || (m > 0 && !(1..=MAX_ROWS_PER_CONTACT).contains(&tangents)) {
        return Err(ImpactError::Shape { what: "approach", found: rows, expected: m });
    }
    space.gram.check(rows)?;
    if let Some(given) = space.rows {
        if given.len() != rows {
            return Err(ImpactError::Shape { what: "rows", found: given.len(), expected: rows });
        }
        if !given.is_finite() {
            return Err(ImpactError::NotFinite("rows"));
        }
    }
    if !space.approach.iter().all(|g| g.is_finite()) || !space.speed.is_finite() {
        return Err(ImpactError::NotFinite("approach"));
    }
    let in_range = |c: f64| (0.0..=1.0).contains(&c);
    match restitution {
        Restitution::Uniform(c) if !in_range(c) => return Err(ImpactError::Range("restitution")),
        Restitution::PerContact(c) if c.len() != m => {
            return Err(ImpactError::Shape { what: "restitution", found: c.len(), expected: m });
        }
        Restitution::PerContact(c) if !c.iter().all(|c| in_range(*c)) => return Err(ImpactError::Range("restitution")),
        _ => {}
    }
    if let Some(friction) = friction {
        if friction.coefficients.len() != m {
            return Err(ImpactError::Shape { what: "friction", found: friction.coefficients.len(), expected: m });
        }
        if m > 0 && tangents < 2 {
            return Err(ImpactError::Shape { what: "approach", found: rows, expected: 2 * m });
        }
        if !friction.coefficients.iter().all(|mu| mu.is_finite() && *mu >= 0.0) {
            return Err(ImpactError::Range("friction"));
        }
    }
    if !(settings.tolerance.is_finite() && settings.tolerance > 0.0 && settings.tolerance < 1.0) {
        return Err(ImpactError::Range("tolerance"));
    }
    Ok(())
}
