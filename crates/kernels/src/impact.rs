//! Impacts on arrays: mass matrix, normals and velocity in, velocity and impulses out.
//!
//! The rows are taken to coordinates where the mass is the identity, b_i = L⁻¹ n_i. There implicit equalities are found and divided out to
//! full accuracy, which the Gram matrix alone (squares of lengths) could not give, before contact space takes over.

use carom_solve::impact::certificate::Certificate;
use carom_solve::impact::dissipation::Dissipation;
use carom_solve::impact::lineality::{Finder, TOLERANCE};
use carom_solve::impact::mass::MassMatrix;
use carom_solve::impact::nnls::NnlsStatus;
use carom_solve::impact::nnls::column::ColumnNnls;
use carom_solve::impact::rows::SparseRows;
use carom_solve::impact::{ContactSpace, Friction, Gram, ImpactError, Law, Report, Restitution, Settings, Status, Workspace, resolve};

/// Times an elastic impact is taken up again from the velocity it reached: after millions of reflections the impulses, which grow, have
/// lost digits that the velocity still needs.
const RESTARTS: usize = 4;

/// Options of [`impacts`].
#[derive(Clone, Copy, Debug)]
pub struct ImpactOptions<'a> {
    /// The elastic law.
    pub law: Law,
    /// Coefficient of restitution, uniform or per contact.
    pub restitution: Restitution<'a>,
    /// Friction coefficients (m) with their tangents; none is frictionless.
    pub friction: Option<&'a [f64]>,
    /// Tangential rows, t per contact and contact by contact; needed with friction.
    pub tangents: Option<&'a SparseRows>,
    /// Alternate normal and friction phases until they agree.
    pub staggered: bool,
    /// Feasibility tolerance, relative to the speed.
    pub tolerance: f64,
    /// Detect and lock implicit equalities.
    pub lineality: bool,
    /// Cap of the driver.
    pub max_iterations: usize,
    /// Closing speed that moving obstacles add to each contact (m), n_kin; then energy is kept only in a frame where they rest.
    pub obstacles: Option<&'a [f64]>,
}

impl Default for ImpactOptions<'_> {
    fn default() -> Self {
        let Settings { law, tolerance, lineality, max_iterations } = Settings::default();
        Self {
            law,
            restitution: Restitution::Uniform(1.0),
            friction: None,
            tangents: None,
            staggered: false,
            tolerance,
            lineality,
            max_iterations,
            obstacles: None,
        }
    }
}

/// Result of [`impacts`].
#[derive(Clone, Debug)]
pub struct Impact {
    /// Velocity after the impact (d).
    pub velocity: Vec<f64>,
    /// Normal impulses (m) for the normals as given, ≥ 0, with M (v' - v) = Nᵀ λ before friction.
    pub impulses: Vec<f64>,
    /// Tangential impulses (m·t), contact by contact; empty without friction.
    pub friction_impulses: Vec<f64>,
    /// Applications of the elastic operator.
    pub iterations: usize,
    /// Dimension of the implicit-equality subspace.
    pub locked: usize,
    /// Kinetic energy before (J).
    pub energy_before: f64,
    /// Kinetic energy after (J).
    pub energy_after: f64,
    /// How it ended.
    pub status: Status,
    /// Largest closing speed left by the normal phase, relative to the speed.
    pub residual: f64,
    /// Whether every problem inside was solved: the search for implicit equalities, least squares, friction in turns.
    pub accurate: bool,
}

/// Resolves an impact: `normals` (m rows of length d) are the gradients of the contacts, `velocity` (d) the velocity before.
///
/// ```
/// use carom_kernels::impact::{ImpactOptions, impacts};
/// use carom_solve::impact::{MassMatrix, SparseRows};
/// // A ball between two walls, moving across and along: the walls lock it across.
/// let mass = MassMatrix::diagonal(&[1.0, 1.0]).unwrap();
/// let walls = SparseRows::from_dense(&[1.0, 0.0, -1.0, 0.0], 2).unwrap();
/// let impact = impacts(&mass, &walls, &[1.0, 2.0], &ImpactOptions::default()).unwrap();
/// assert_eq!((impact.locked, impact.velocity), (1, vec![0.0, 2.0]));
/// ```
///
/// # Errors
/// [`ImpactError`] when shapes disagree, a value is not finite or a coefficient is out of range.
pub fn impacts(mass: &MassMatrix, normals: &SparseRows, velocity: &[f64], options: &ImpactOptions<'_>) -> Result<Impact, ImpactError> {
    check(mass, normals, velocity, options)?;
    let m = normals.len();
    let mut problem = Whitened::new(mass, normals, velocity, options);
    let locked = options.lineality && problem.lock();
    let friction = options.friction.zip(options.tangents);
    let mut work = Workspace::new();
    let settings = Settings { law: options.law, tolerance: options.tolerance, lineality: false, max_iterations: options.max_iterations };

    // Normal phase, in the subspace that is left.
    let mut report = problem.normal_phase(options, &settings, &mut work)?;
    let (mut impulses, found) = problem.normal_impulses(locked);
    let solved = problem.conclusive && found;

    // Friction on the velocity it left.
    let mut friction_impulses = Vec::new();
    if let Some((coefficients, tangents)) = friction {
        let white = tangents.whitened(mass);
        if options.staggered {
            report = problem.staggered(coefficients, tangents, &white, options, &settings, &mut work)?;
            impulses = work.impulses().to_vec();
            friction_impulses = work.friction_impulses().to_vec();
            problem.change = problem.image_of(&impulses);
        } else {
            friction_impulses = problem.one_way(coefficients, tangents, &white, &impulses);
        }
        for (k, &b) in friction_impulses.iter().enumerate() {
            white.add(k, b, &mut problem.change);
        }
    }
    let after = problem.velocity_after();
    debug_assert_eq!(impulses.len(), m);
    Ok(Impact {
        energy_before: mass.energy(velocity),
        energy_after: mass.energy(&after),
        velocity: after,
        impulses,
        friction_impulses,
        iterations: report.iterations,
        locked: problem.finder.dimension,
        status: report.status,
        residual: report.residual,
        accurate: solved && report.accurate,
    })
}

fn check(mass: &MassMatrix, normals: &SparseRows, velocity: &[f64], options: &ImpactOptions<'_>) -> Result<(), ImpactError> {
    let (m, d) = (normals.len(), velocity.len());
    let length = |what, found, expected| if found == expected { Ok(()) } else { Err(ImpactError::Shape { what, found, expected }) };
    length("mass", mass.dimension(), d)?;
    length("normals", normals.dimension(), d)?;
    let finite = |what, ok: bool| if ok { Ok(()) } else { Err(ImpactError::NotFinite(what)) };
    finite("normals", normals.is_finite())?;
    finite("velocity", velocity.iter().all(|v| v.is_finite()))?;
    if let Some(obstacles) = options.obstacles {
        length("obstacles", obstacles.len(), m)?;
        finite("obstacles", obstacles.iter().all(|v| v.is_finite()))?;
    }
    match (options.friction, options.tangents) {
        (None, _) => {}
        (Some(_), None) => return Err(ImpactError::Range("tangents (needed with friction)")),
        (Some(mu), Some(tangents)) => {
            length("friction", mu.len(), m)?;
            length("tangents", tangents.dimension(), d)?;
            finite("tangents", tangents.is_finite())?;
            let expected = if tangents.len() == m { m } else { 2 * m };
            length("tangents", tangents.len(), expected)?;
            if !mu.iter().all(|mu| mu.is_finite() && *mu >= 0.0) {
                return Err(ImpactError::Range("friction"));
            }
        }
    }
    Ok(())
}

/// The problem in coordinates of unit mass, and what has been done to it.
struct Whitened<'a> {
    mass: &'a MassMatrix,
    normals: &'a SparseRows,
    velocity: &'a [f64],
    /// Rows L⁻¹ n.
    rows: SparseRows,
    /// Speeds N v + n_kin before.
    approach: Vec<f64>,
    /// √(vᵀ M v), or the fastest contact if that is more.
    speed: f64,
    /// Whether the velocity may be rescaled to its energy: not when something immovable moves.
    rescale: bool,
    /// Whitened change of the velocity so far, Lᵀ (v' - v).
    change: Vec<f64>,
    /// Rows the law works on: `rows`, or what is left of them beside the locked ones (and zero for those).
    active: SparseRows,
    finder: Finder,
    /// Whether the search for implicit equalities was answered, where there was one.
    conclusive: bool,
    impulses: Vec<f64>,
}

impl<'a> Whitened<'a> {
    fn new(mass: &'a MassMatrix, normals: &'a SparseRows, velocity: &'a [f64], options: &ImpactOptions<'_>) -> Self {
        let rows = normals.whitened(mass);
        let m = normals.len();
        let approach: Vec<f64> = (0..m).map(|i| normals.dot(i, velocity) + options.obstacles.map_or(0.0, |o| o[i])).collect();
        let moving = options.obstacles.is_some_and(|o| o.iter().any(|&v| v != 0.0))
            || velocity.iter().enumerate().any(|(i, &v)| v != 0.0 && mass.is_immovable(i));
        let speed = (2.0 * mass.energy(velocity)).max(0.0).sqrt();
        Self {
            mass,
            normals,
            velocity,
            active: rows.clone(),
            rows,
            approach,
            speed,
            rescale: !moving,
            change: vec![0.0; velocity.len()],
            finder: Finder::default(),
            conclusive: true,
            impulses: vec![0.0; m],
        }
    }

    /// Finds implicit equalities, takes the velocity onto their subspace and the other rows off their span; false if there is none.
    fn lock(&mut self) -> bool {
        let (m, d) = (self.rows.len(), self.velocity.len());
        let mut gram = Gram::default();
        gram.load(&self.rows.gram().view(), m);
        gram.load_roots(&self.rows);
        let mut certificate = Certificate::default();
        if certificate.covers(&gram) {
            return false;
        }
        // Groups that are certified cannot hold an implicit equality: their rows are left out of the search.
        let mut dense = vec![0.0; m * d];
        for i in (0..m).filter(|&i| !certificate.covered()[gram.group(i)]) {
            self.rows.add(i, 1.0, &mut dense[i * d..(i + 1) * d]);
        }
        self.finder.find(&dense, m, d, TOLERANCE);
        self.conclusive = self.finder.conclusive;
        if self.finder.dimension == 0 {
            return false;
        }

        // Speed along each basis vector; for obstacles that move, the rows that carry it decide by least squares.
        let k = self.finder.dimension;
        let basis = std::mem::take(&mut self.finder.basis);
        let mut white = self.velocity.to_vec();
        self.mass.colour_transposed(&mut white);
        for vector in basis[..k * d].chunks_exact(d) {
            let along: f64 = vector.iter().zip(&white).map(|(a, b)| a * b).sum();
            self.change.iter_mut().zip(vector).for_each(|(c, a)| *c -= along * a);
        }
        let mut implicit = self.finder.implicit.iter().copied().peekable();
        let mut active = SparseRows::new(d);
        for i in 0..m {
            let row = &mut dense[i * d..(i + 1) * d];
            row.fill(0.0);
            self.rows.add(i, 1.0, row);
            if implicit.next_if_eq(&i).is_some() {
                row.fill(0.0);
            }
            for vector in basis[..k * d].chunks_exact(d) {
                let along: f64 = vector.iter().zip(row.iter()).map(|(a, b)| a * b).sum();
                if along != 0.0 {
                    row.iter_mut().zip(vector).for_each(|(r, a)| *r -= along * a);
                }
            }
            active.push_dense(row);
        }
        self.active = active;
        self.finder.basis = basis;
        true
    }

    /// Applies the law to the active rows, again from where it arrived while rounding still leaves a contact closing.
    fn normal_phase(&mut self, options: &ImpactOptions<'_>, settings: &Settings, work: &mut Workspace) -> Result<Report, ImpactError> {
        let m = self.rows.len();
        let gram = self.active.gram();
        // What is left of rows beside locked ones reaches over all bodies.
        let rows = (self.finder.dimension == 0).then(|| self.active.clone());
        let rows = rows.as_ref();
        let reference = self.white_speed();
        let elastic = matches!(options.restitution, Restitution::Uniform(c) if c >= 1.0);
        let mut total: Option<Report> = None;
        for _ in 0..=RESTARTS {
            let approach: Vec<f64> = (0..m).map(|i| self.approach[i] + self.rows.dot(i, &self.change)).collect();
            let space = ContactSpace { contacts: m, gram: gram.view(), rows, approach: &approach, speed: reference };
            let again = Settings { max_iterations: settings.max_iterations - total.map_or(0, |t| t.iterations), ..*settings };
            let report = resolve(&space, options.restitution, None, &again, work)?;
            for (i, &impulse) in work.impulses().iter().enumerate() {
                self.impulses[i] += impulse;
                self.active.add(i, impulse, &mut self.change);
            }
            let iterations = report.iterations + total.map_or(0, |t| t.iterations);
            let done = report.iterations == 0 || !elastic || report.status == Status::Capped;
            let accurate = report.accurate && total.is_none_or(|t| t.accurate);
            total = Some(Report { iterations, residual: self.closing(), accurate, ..report });
            if elastic && self.rescale && report.status == Status::Resolved {
                self.rescale_to(reference);
            }
            if done || self.closing() <= settings.tolerance {
                break;
            }
        }
        Ok(total.unwrap_or(Report {
            status: Status::Resolved,
            iterations: 0,
            locked: 0,
            residual: 0.0,
            energy_change: 0.0,
            friction_sweeps: 0,
            accurate: true,
        }))
    }

    /// Length of the present velocity in whitened coordinates.
    fn white_speed(&self) -> f64 {
        let mut white = self.velocity.to_vec();
        self.mass.colour_transposed(&mut white);
        white.iter().zip(&self.change).map(|(w, c)| (w + c) * (w + c)).sum::<f64>().sqrt()
    }

    /// Scales the present velocity to the reference speed: reflections keep it exactly, so the factor is 1 but for rounding.
    fn rescale_to(&mut self, reference: f64) {
        let mut white = self.velocity.to_vec();
        self.mass.colour_transposed(&mut white);
        let now = white.iter().zip(&self.change).map(|(w, c)| (w + c) * (w + c)).sum::<f64>().sqrt();
        if now > 0.0 {
            let factor = reference / now;
            for (c, w) in self.change.iter_mut().zip(&white) {
                *c = (*w + *c) * factor - w;
            }
        }
    }

    /// Largest closing speed of the active rows, relative to the speed.
    fn closing(&self) -> f64 {
        let mut worst: f64 = 0.0;
        for i in 0..self.active.len() {
            let length = self.active.row(i).1.iter().map(|a| a * a).sum::<f64>().sqrt();
            if length > 0.0 {
                worst = worst.max(-(self.approach[i] + self.rows.dot(i, &self.change)) / length);
            }
        }
        if self.speed > 0.0 { worst / self.speed } else { 0.0 }
    }

    /// Impulses for the normals as given; with locked contacts, a nonnegative solution of Bᵀ λ = change, and whether it was found.
    fn normal_impulses(&self, locked: bool) -> (Vec<f64>, bool) {
        if !locked {
            return (self.impulses.clone(), true);
        }
        let (m, d) = (self.rows.len(), self.velocity.len());
        let mut dense = vec![0.0; m * d];
        let mut lengths = vec![0.0; m];
        for i in 0..m {
            lengths[i] = self.rows.row(i).1.iter().map(|a| a * a).sum::<f64>().sqrt();
            if lengths[i] > 0.0 {
                self.rows.add(i, 1.0 / lengths[i], &mut dense[i * d..(i + 1) * d]);
            }
        }
        let mut impulses = vec![0.0; m];
        let report = ColumnNnls::default().solve(&dense, &self.change, &mut impulses, |_, _| false);
        impulses.iter_mut().zip(&lengths).for_each(|(l, length)| *l = if *length > 0.0 { *l / length } else { 0.0 });
        (impulses, report.status == NnlsStatus::Solved)
    }

    /// Whitened velocity change of impulses on the given normals.
    fn image_of(&self, impulses: &[f64]) -> Vec<f64> {
        let mut change = vec![0.0; self.velocity.len()];
        impulses.iter().enumerate().for_each(|(i, &l)| self.rows.add(i, l, &mut change));
        change
    }

    /// One-way friction after the normal phase.
    fn one_way(&self, coefficients: &[f64], tangents: &SparseRows, white: &SparseRows, impulses: &[f64]) -> Vec<f64> {
        let mut work = Dissipation::default();
        work.load(&white.gram().view(), 0, white.len(), Some(white));
        work.slip.extend((0..tangents.len()).map(|k| tangents.dot(k, self.velocity) + white.dot(k, &self.change)));
        work.radii.extend(coefficients.iter().zip(impulses).map(|(mu, l)| mu * l.max(0.0)));
        let mut result = vec![0.0; tangents.len()];
        work.dissipate(&mut result, self.speed);
        result
    }

    /// Normal and friction phases alternating, wholly in contact space.
    fn staggered(
        &self,
        coefficients: &[f64],
        tangents: &SparseRows,
        white: &SparseRows,
        options: &ImpactOptions<'_>,
        settings: &Settings,
        work: &mut Workspace,
    ) -> Result<Report, ImpactError> {
        let mut all = self.rows.clone();
        all.append(white);
        let approach: Vec<f64> = self.approach.iter().copied().chain((0..tangents.len()).map(|k| tangents.dot(k, self.velocity))).collect();
        let gram = all.gram();
        let space =
            ContactSpace { contacts: self.normals.len(), gram: gram.view(), rows: Some(&all), approach: &approach, speed: self.speed };
        let settings = Settings { lineality: options.lineality, ..*settings };
        resolve(&space, options.restitution, Some(Friction { coefficients, staggered: true }), &settings, work)
    }

    fn velocity_after(&self) -> Vec<f64> {
        let mut change = self.change.clone();
        self.mass.whiten_transposed(&mut change);
        self.velocity.iter().zip(&change).map(|(v, c)| v + c).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests;
