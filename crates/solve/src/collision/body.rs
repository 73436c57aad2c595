//! The collision of two bodies: from masses, arms and velocities to contact space and back, theory (6.1) and (6.19).

use super::error::CollisionError;
use super::euler::{EndTest, collide_euler};
use super::law::{CollisionLaw, Terms};
use super::outcome::{Branch, Mode, Outcome, Status};
use super::planar;
use super::ray::MOBILITY_MIN;
use super::spatial::{STEPS_MAX, collide_within};
use super::trace::PathPoint;
use carom_math::{Space, Vector};
use nalgebra::{Matrix3, Vector3};

/// A normal may miss length one by this much; it is normalised. Directions that went through single precision pass.
const UNIT_SLACK: f64 = 1e-6;

/// An inertia may be asymmetric by this fraction of its largest entry: what a change of axes in double precision leaves.
const SYMMETRY_SLACK: f64 = 1e-9;

/// A collision matrix whose smallest eigenvalue is below this fraction of its trace is refused for two bodies.
const DEFINITE_MIN: f64 = 1e-12;

/// Collision matrix [1/kg] by rows over (tangents..., normal); in the plane the leading 2 by 2 block counts.
pub type ContactMatrix = [[f64; 3]; 3];

/// One body of a collision, world axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side<S: Space> {
    /// Mass \[kg\]; `None` or infinite for an immovable body, whose velocity counts and never changes.
    pub mass: Option<f64>,
    /// Moment of inertia about the centre of mass [kg m^2], world axes; not read for an immovable body.
    pub inertia: S::Inertia,
    /// From the centre of mass to the contact \[m\].
    pub arm: S::Lin,
    /// Velocity of the centre of mass [m/s].
    pub velocity: S::Lin,
    /// Angular velocity [rad/s].
    pub spin: S::Ang,
}

impl<S: Space> Side<S> {
    /// A body that an impulse moves.
    pub fn body(mass: f64, inertia: S::Inertia, arm: S::Lin, velocity: S::Lin, spin: S::Ang) -> Self {
        Side { mass: Some(mass), inertia, arm, velocity, spin }
    }

    /// A body that no impulse moves.
    pub fn immovable(arm: S::Lin, velocity: S::Lin, spin: S::Ang) -> Self {
        Side { mass: None, inertia: S::inertia_zero(), arm, velocity, spin }
    }

    /// Velocity of the contact point [m/s].
    pub(super) fn contact_velocity(&self) -> S::Lin {
        self.velocity + S::spin(self.spin, self.arm)
    }
}

/// Two bodies after their collision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collision<S: Space> {
    /// Velocity of a [m/s].
    pub velocity_a: S::Lin,
    /// Angular velocity of a [rad/s].
    pub spin_a: S::Ang,
    /// Velocity of b [m/s].
    pub velocity_b: S::Lin,
    /// Angular velocity of b [rad/s].
    pub spin_b: S::Ang,
    /// Impulse on a \[N s\], world axes; b receives its opposite.
    pub impulse: S::Lin,
    /// Work of the normal force over all compressions \[J\], <= 0.
    pub work_compression: f64,
    /// Work of the normal force over all restitutions \[J\], >= 0.
    pub work_restitution: f64,
    /// Compressions plus restitutions; at e = 0 the restitution that ends at once counts.
    pub phases: usize,
    /// The path taken.
    pub branch: Branch,
    /// How it ended.
    pub mode: Mode,
    /// Integration steps spent; 0 in the plane.
    pub steps: usize,
    /// Whether the budget of steps sufficed.
    pub status: Status,
}

/// What an impulse at the arm's tip does to a body.
#[derive(Clone, Copy)]
pub(super) struct Mobility<S: Space> {
    pub inv_mass: f64,
    pub inv_inertia: S::Inertia,
    pub arm: S::Lin,
}

impl<S: Space> Mobility<S> {
    fn of(side: &Side<S>, name: &'static str) -> Result<Self, CollisionError> {
        let fixed = Mobility { inv_mass: 0.0, inv_inertia: S::inertia_zero(), arm: side.arm };
        let Some(mass) = side.mass else { return Ok(fixed) };
        if mass.is_nan() || mass <= 0.0 {
            return Err(CollisionError::Mass { side: name, found: mass });
        }
        if mass.is_infinite() {
            return Ok(fixed);
        }
        if !symmetric::<S>(side.inertia) {
            return Err(CollisionError::Inertia { side: name });
        }
        let inv_inertia = S::inertia_invert(side.inertia).ok_or(CollisionError::Inertia { side: name })?;
        Ok(Mobility { inv_mass: 1.0 / mass, inv_inertia, arm: side.arm })
    }

    fn is_fixed(&self) -> bool {
        self.inv_mass == 0.0
    }

    /// Change of velocity and spin under an impulse at the contact, (6.19).
    pub fn kick(&self, impulse: S::Lin) -> (S::Lin, S::Ang) {
        (impulse * self.inv_mass, S::inertia_apply(self.inv_inertia, S::torque(self.arm, impulse)))
    }

    /// Change of the contact point's velocity under an impulse there.
    pub fn yields(&self, impulse: S::Lin) -> S::Lin {
        let (linear, angular) = self.kick(impulse);
        linear + S::spin(angular, self.arm)
    }
}

/// Whether a map is finite and symmetric to rounding.
fn symmetric<S: Space>(inertia: S::Inertia) -> bool {
    let mut columns = [S::Ang::zero(); 3];
    let mut largest = 0.0f64;
    for j in 0..S::ANG {
        let mut axis = S::Ang::zero();
        axis[j] = 1.0;
        columns[j] = S::inertia_apply(inertia, axis);
        if !columns[j].is_finite() {
            return false;
        }
        largest = largest.max(columns[j].max_abs());
    }
    (0..S::ANG).all(|i| (0..i).all(|j| (columns[i][j] - columns[j][i]).abs() <= SYMMETRY_SLACK * largest))
}

/// Orthonormal axes of contact space: tangents, then the normal; the first `DIM` count.
fn axes<S: Space>(normal: S::Lin) -> [S::Lin; 3] {
    let [first, second] = S::tangents(normal);
    if S::DIM == 2 { [first, normal, S::Lin::zero()] } else { [first, second, normal] }
}

/// The collision matrix (6.1) over (tangents..., normal) of a unit normal, tangents as in [`Space::tangents`].
///
/// # Errors
/// A mass or inertia that is not positive, or two immovable bodies.
pub fn contact_matrix<S: Space>(a: &Side<S>, b: &Side<S>, normal: S::Lin) -> Result<ContactMatrix, CollisionError> {
    let (a, b) = (Mobility::of(a, "a")?, Mobility::of(b, "b")?);
    if a.is_fixed() && b.is_fixed() {
        return Err(CollisionError::Immovable);
    }
    Ok(matrix_of(&a, &b, &axes::<S>(normal)))
}

fn matrix_of<S: Space>(a: &Mobility<S>, b: &Mobility<S>, axes: &[S::Lin; 3]) -> ContactMatrix {
    let mut k = [[0.0; 3]; 3];
    for j in 0..S::DIM {
        let yielded = a.yields(axes[j]) + b.yields(axes[j]);
        for i in 0..S::DIM {
            k[i][j] = axes[i].dot(yielded);
        }
    }
    symmetrised(k)
}

fn symmetrised(mut k: ContactMatrix) -> ContactMatrix {
    for i in 0..3 {
        for j in 0..i {
            let mean = 0.5 * (k[i][j] + k[j][i]);
            k[i][j] = mean;
            k[j][i] = mean;
        }
    }
    k
}

/// How a collision is worked out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Way {
    /// To the tolerance: closed forms, and steps with error control in space.
    #[default]
    Adaptive,
    /// The fixed steps of Baber 2011, section 4, for comparison: so many for the normal impulse that the adaptive way finds.
    Euler {
        /// Steps, at least 1; a path that ends later or earlier takes some more or fewer.
        steps: usize,
    },
}

/// The collision of two bodies at one point with Coulomb friction and the energy law, theory chapter 6.
///
/// `normal`: unit vector along which b pushes a; `restitution` in 0..1; `friction` >= 0; `tolerance`: relative accuracy of the
/// integration in space (1e-10 is a good choice; the plane is exact).
///
/// # Errors
/// [`CollisionError`] names the argument that no law can work with.
pub fn collide<S: Space>(
    a: &Side<S>,
    b: &Side<S>,
    normal: S::Lin,
    restitution: f64,
    friction: f64,
    tolerance: f64,
) -> Result<Collision<S>, CollisionError> {
    collide_under(a, b, normal, &Terms { friction, restitution, law: CollisionLaw::Energy, tolerance }, Way::Adaptive, None)
}

/// [`collide`] under any law and by any way; the points of the path, with velocities in world axes, go to `points` where they are wanted.
///
/// # Errors
/// As [`collide`].
pub fn collide_under<S: Space>(
    a: &Side<S>,
    b: &Side<S>,
    normal: S::Lin,
    terms: &Terms,
    way: Way,
    mut points: Option<&mut Vec<PathPoint>>,
) -> Result<Collision<S>, CollisionError> {
    let contact = Contact::between(a, b, normal, terms)?;
    let outcome = collide_way::<S>(&contact.k, terms, contact.u, way, points.as_deref_mut())?;
    if let Some(points) = points {
        points.iter_mut().for_each(|point| point.velocity = contact.to_world(point.velocity));
    }
    let impulse = contact.lin_to_world(outcome.impulse);
    let ((dv_a, dw_a), (dv_b, dw_b)) = (contact.a.kick(impulse), contact.b.kick(-impulse));
    Ok(Collision {
        velocity_a: a.velocity + dv_a,
        spin_a: a.spin + dw_a,
        velocity_b: b.velocity + dv_b,
        spin_b: b.spin + dw_b,
        impulse,
        work_compression: outcome.work_compression,
        work_restitution: outcome.work_restitution,
        phases: outcome.phases,
        branch: outcome.branch,
        mode: outcome.mode,
        steps: outcome.steps,
        status: outcome.status,
    })
}

/// Two bodies seen from their contact.
pub(super) struct Contact<S: Space> {
    pub a: Mobility<S>,
    pub b: Mobility<S>,
    /// Tangents, then the normal; the first `DIM` count.
    pub axes: [S::Lin; 3],
    pub k: ContactMatrix,
    /// Separation velocity in the axes.
    pub u: S::Lin,
}

impl<S: Space> Contact<S> {
    /// Checks every argument of a collision of two bodies.
    pub fn between(a: &Side<S>, b: &Side<S>, normal: S::Lin, terms: &Terms) -> Result<Self, CollisionError> {
        check_law(terms)?;
        let named = [
            ("normal", normal.is_finite()),
            ("arm of side a", a.arm.is_finite()),
            ("velocity of side a", a.velocity.is_finite()),
            ("spin of side a", a.spin.is_finite()),
            ("arm of side b", b.arm.is_finite()),
            ("velocity of side b", b.velocity.is_finite()),
            ("spin of side b", b.spin.is_finite()),
        ];
        if let Some((argument, _)) = named.iter().find(|(_, finite)| !finite) {
            return Err(CollisionError::NotFinite { argument });
        }
        let length = normal.norm();
        if (length - 1.0).abs() > UNIT_SLACK {
            return Err(CollisionError::Normal { length });
        }
        let (mobility_a, mobility_b) = (Mobility::of(a, "a")?, Mobility::of(b, "b")?);
        if mobility_a.is_fixed() && mobility_b.is_fixed() {
            return Err(CollisionError::Immovable);
        }
        let axes = axes::<S>(normal.unit());
        let k = matrix_of(&mobility_a, &mobility_b, &axes);
        check_definite::<S>(&k)?;
        let separation = a.contact_velocity() - b.contact_velocity();
        let mut u = S::Lin::zero();
        for i in 0..S::DIM {
            u[i] = axes[i].dot(separation);
        }
        Ok(Contact { a: mobility_a, b: mobility_b, axes, k, u })
    }

    /// From the axes of the contact to those of the world.
    fn lin_to_world(&self, v: S::Lin) -> S::Lin {
        let mut out = S::Lin::zero();
        for i in 0..S::DIM {
            out += self.axes[i] * v[i];
        }
        out
    }

    fn to_world(&self, v: [f64; 3]) -> [f64; 3] {
        let turned = self.lin_to_world(S::Lin::from_slice(&v[..S::DIM]));
        let mut out = [0.0; 3];
        out[..S::DIM].copy_from_slice(turned.as_slice());
        out
    }
}

/// The collision law on a given contact-space matrix, for example K = J M~^-1 J' where joints take part.
///
/// `k`: symmetric, by rows over (tangents..., normal); `u`: separation velocity in the same components [m/s]; `tolerance`: as for
/// [`collide`]. K may be singular in a tangent that no impulse moves; what must not vanish is the normal mobility while the tangents
/// are held, (6.9).
///
/// # Errors
/// [`CollisionError`] names the argument.
pub fn collide_contact<S: Space>(
    k: &ContactMatrix,
    friction: f64,
    restitution: f64,
    u: S::Lin,
    tolerance: f64,
) -> Result<Outcome<S::Lin>, CollisionError> {
    collide_contact_under::<S>(k, &Terms { friction, restitution, law: CollisionLaw::Energy, tolerance }, u)
}

/// [`collide_contact`] under any law.
///
/// # Errors
/// As [`collide_contact`].
pub fn collide_contact_under<S: Space>(k: &ContactMatrix, terms: &Terms, u: S::Lin) -> Result<Outcome<S::Lin>, CollisionError> {
    collide_way::<S>(k, terms, u, Way::Adaptive, None)
}

/// [`collide_contact`] under any law with the points of its path, components (tangents..., normal).
///
/// # Errors
/// As [`collide_contact`].
pub fn trace_contact<S: Space>(k: &ContactMatrix, terms: &Terms, u: S::Lin) -> Result<(Outcome<S::Lin>, Vec<PathPoint>), CollisionError> {
    let mut points = Vec::new();
    let outcome = collide_way::<S>(k, terms, u, Way::Adaptive, Some(&mut points))?;
    Ok((outcome, points))
}

fn collide_way<S: Space>(
    k: &ContactMatrix,
    terms: &Terms,
    u: S::Lin,
    way: Way,
    points: Option<&mut Vec<PathPoint>>,
) -> Result<Outcome<S::Lin>, CollisionError> {
    check_law(terms)?;
    if !(0..S::DIM).all(|i| (0..S::DIM).all(|j| k[i][j].is_finite())) {
        return Err(CollisionError::NotFinite { argument: "collision matrix" });
    }
    if !u.is_finite() {
        return Err(CollisionError::NotFinite { argument: "separation velocity" });
    }
    if let Way::Euler { steps } = way {
        return euler_steps::<S>(k, terms, u, steps, points);
    }
    if S::DIM == 2 {
        let [[a, b, _], [_, d, _], _] = *k;
        let held = if a > 0.0 { d - b * b / a } else { d };
        if a < 0.0 || held <= MOBILITY_MIN * d || d <= 0.0 {
            return Err(CollisionError::Locked { mobility: held.min(a), scale: d });
        }
        Ok(planar::collide_under([[a, b], [b, d]], terms, [u[0], u[1]], points).map(|v| S::Lin::from_slice(&v)))
    } else {
        let matrix = Matrix3::from_fn(|i, j| k[i][j]);
        let outcome = collide_within(matrix, terms, Vector3::new(u[0], u[1], u[2]), STEPS_MAX, points)?;
        Ok(outcome.map(|v| S::Lin::from_slice(v.as_slice())))
    }
}

/// The fixed steps; the plane gets a second tangent along which nothing moves.
fn euler_steps<S: Space>(
    k: &ContactMatrix,
    terms: &Terms,
    u: S::Lin,
    steps: usize,
    points: Option<&mut Vec<PathPoint>>,
) -> Result<Outcome<S::Lin>, CollisionError> {
    let exact = collide_way::<S>(k, terms, u, Way::Adaptive, None)?;
    let n = S::DIM - 1;
    if exact.impulse[n] == 0.0 {
        return Ok(exact);
    }
    if steps == 0 {
        return Err(CollisionError::Step { found: 0.0 });
    }
    let step = exact.impulse[n] / steps as f64;
    let planar = S::DIM == 2;
    let (matrix, start) = if planar {
        (Matrix3::new(k[0][0], 0.0, k[0][1], 0.0, k[0][0], 0.0, k[1][0], 0.0, k[1][1]), Vector3::new(u[0], 0.0, u[1]))
    } else {
        (Matrix3::from_fn(|i, j| k[i][j]), Vector3::new(u[0], u[1], u[2]))
    };
    let mut gathered = points.is_some().then(Vec::new);
    let outcome = collide_euler(matrix, terms, start, step, EndTest::Corrected, gathered.as_mut())?;
    if let (Some(points), Some(gathered)) = (points, gathered) {
        points.extend(gathered.into_iter().map(|point| {
            let [x, y, z] = point.velocity;
            PathPoint { velocity: if planar { [x, z, 0.0] } else { [x, y, z] }, ..point }
        }));
    }
    let branch = if planar { exact.branch } else { outcome.branch };
    let outcome = Outcome { branch, ..outcome };
    Ok(outcome.map(|v| if planar { S::Lin::from_slice(&[v.x, v.z]) } else { S::Lin::from_slice(v.as_slice()) }))
}

fn check_law(terms: &Terms) -> Result<(), CollisionError> {
    let Terms { friction, restitution, tolerance, .. } = *terms;
    if !restitution.is_finite() {
        return Err(CollisionError::NotFinite { argument: "restitution" });
    }
    if !friction.is_finite() {
        return Err(CollisionError::NotFinite { argument: "friction" });
    }
    if !(0.0..=1.0).contains(&restitution) {
        return Err(CollisionError::Restitution { found: restitution });
    }
    if friction < 0.0 {
        return Err(CollisionError::Friction { found: friction });
    }
    if tolerance.is_nan() || tolerance <= 0.0 || tolerance >= 1.0 {
        return Err(CollisionError::Tolerance { found: tolerance });
    }
    Ok(())
}

/// Refuses a K whose smallest eigenvalue is lost in rounding.
fn check_definite<S: Space>(k: &ContactMatrix) -> Result<(), CollisionError> {
    let (smallest, trace) = if S::DIM == 2 {
        let [[a, b, _], [_, d, _], _] = *k;
        let high = 0.5 * (a + d) + (0.5 * (a - d)).hypot(b);
        ((a * d - b * b) / high, a + d)
    } else {
        // det over the sum of the principal minors is 1/trace(K^-1): between a third of the smallest eigenvalue and all of it.
        let matrix = Matrix3::from_fn(|i, j| k[i][j]);
        let minor = |i: usize, j: usize| k[i][i] * k[j][j] - k[i][j] * k[i][j];
        (matrix.determinant() / (minor(0, 1) + minor(0, 2) + minor(1, 2)), matrix.trace())
    };
    if smallest.is_nan() || trace.is_nan() || trace.is_infinite() {
        return Err(CollisionError::NotFinite { argument: "collision matrix" });
    }
    if smallest <= DEFINITE_MIN * trace {
        return Err(CollisionError::Locked { mobility: smallest, scale: trace });
    }
    Ok(())
}
