//! Derivatives of nearest points that were found by iteration: the conditions they satisfy, differentiated, theory (14.7)-(14.8).

use super::core::Core;
use super::feature::Raw;
use super::nearest::pair_size;
use super::placed::Elements;
use super::round::{Round, Side, Solid};
use crate::scalar::{Dual, Real, constant, dot};
use nalgebra::{SMatrix, SVector, Vector3};

type V = Vector3<f64>;

/// Unknowns: two parameters on each surface, the normal, the distance.
const UNKNOWNS: usize = 8;
/// Where they stand.
const NORMAL: usize = 4;
const DISTANCE: usize = 7;
/// A witness point within this part of the size of a vertex, edge or rim lies on it: well above the error of iterated points.
const ON_FEATURE: f64 = 1e-5;
/// Newton's steps from the iterated points, which start within their error.
const STEPS: usize = 12;
/// Points that Newton moves, and normals that it turns, by more than this part of the size belong to other features.
const SAME: f64 = 1e-3;
/// What the conditions may be off by at the end, as part of the size.
const SOLVED: f64 = 1e-10;
/// Below this reciprocal of the matrix' condition the nearest points are not alone: a line or a face of them.
const ALONE: f64 = 1e-9;

type Unknowns<T> = SVector<T, UNKNOWNS>;

/// A piece of surface by up to two parameters.
#[derive(Clone, Copy, Debug)]
enum Patch<T: Real> {
    Point(Vector3<T>),
    /// Through a point along a direction.
    Line(Vector3<T>, Vector3<T>),
    /// Through a point along two directions.
    Plane(Vector3<T>, Vector3<T>, Vector3<T>),
    /// By the angle from x.
    Circle {
        centre: Vector3<T>,
        x: Vector3<T>,
        y: Vector3<T>,
        radius: T,
    },
    /// By the angle from x and the part of the way from the lower centre along the rise to the upper one.
    Band {
        foot: Vector3<T>,
        rise: Vector3<T>,
        x: Vector3<T>,
        y: Vector3<T>,
        radii: [T; 2],
    },
}

impl<T: Real> Patch<T> {
    /// Number of parameters.
    fn dimension(&self) -> usize {
        match self {
            Patch::Point(_) => 0,
            Patch::Line(..) | Patch::Circle { .. } => 1,
            Patch::Plane(..) | Patch::Band { .. } => 2,
        }
    }
    /// The point of two parameters and the tangents along them.
    fn at(&self, s: [T; 2]) -> (Vector3<T>, [Vector3<T>; 2]) {
        let none = constant(V::zeros());
        match *self {
            Patch::Point(p) => (p, [none, none]),
            Patch::Line(p, e) => (p + e * s[0], [e, none]),
            Patch::Plane(p, u, v) => (p + u * s[0] + v * s[1], [u, v]),
            Patch::Circle { centre, x, y, radius } => {
                let (sin, cos) = s[0].sin_cos();
                (centre + (x * cos + y * sin) * radius, [(y * cos - x * sin) * radius, none])
            }
            Patch::Band { foot, rise, x, y, radii } => {
                let (sin, cos) = s[0].sin_cos();
                let (out, run) = (x * cos + y * sin, radii[1] - radii[0]);
                let radius = radii[0] + run * s[1];
                (foot + rise * s[1] + out * radius, [(y * cos - x * sin) * radius, rise + out * run])
            }
        }
    }
    /// The patch where it is, in other numbers.
    fn still<U: Real>(&self) -> Patch<U> {
        let number = |t: T| U::of(t.value());
        let vector = |v: Vector3<T>| v.map(number);
        match *self {
            Patch::Point(p) => Patch::Point(vector(p)),
            Patch::Line(p, e) => Patch::Line(vector(p), vector(e)),
            Patch::Plane(p, u, v) => Patch::Plane(vector(p), vector(u), vector(v)),
            Patch::Circle { centre, x, y, radius } => {
                Patch::Circle { centre: vector(centre), x: vector(x), y: vector(y), radius: number(radius) }
            }
            Patch::Band { foot, rise, x, y, radii } => {
                Patch::Band { foot: vector(foot), rise: vector(rise), x: vector(x), y: vector(y), radii: radii.map(number) }
            }
        }
    }
    /// Parameters of a point near the patch.
    fn parameters(&self, p: V) -> [f64; 2] {
        let number = |v: Vector3<T>| v.map(Real::value);
        let angle = |c: Vector3<T>, x: Vector3<T>, y: Vector3<T>| {
            let d = p - number(c);
            number(y).dot(&d).atan2(number(x).dot(&d))
        };
        let along = |e: V, d: V| e.dot(&d) / e.norm_squared();
        match *self {
            Patch::Point(_) => [0.0, 0.0],
            Patch::Line(q, e) => [along(number(e), p - number(q)), 0.0],
            Patch::Plane(q, u, v) => [along(number(u), p - number(q)), along(number(v), p - number(q))],
            Patch::Circle { centre, x, y, .. } => [angle(centre, x, y), 0.0],
            Patch::Band { foot, rise, x, y, .. } => [angle(foot, x, y), along(number(rise), p - number(foot))],
        }
    }
}

/// The conditions of nearest points, theory (14.7): the normal square to both surfaces and along the line between the points. A
/// parameter that a patch does not have is held at zero.
fn conditions<T: Real>(a: &Patch<T>, b: &Patch<T>, y: &Unknowns<T>) -> Unknowns<T> {
    let ((p, along_p), (q, along_q)) = (a.at([y[0], y[1]]), b.at([y[2], y[3]]));
    let n = Vector3::new(y[NORMAL], y[NORMAL + 1], y[NORMAL + 2]);
    let mut f = *y;
    for k in 0..a.dimension() {
        f[k] = dot(n, along_p[k]);
    }
    for k in 0..b.dimension() {
        f[2 + k] = dot(n, along_q[k]);
    }
    let apart = p - q - n * y[DISTANCE];
    for k in 0..V::zeros().len() {
        f[NORMAL + k] = apart[k];
    }
    f[DISTANCE] = (dot(n, n) - T::of(1.0)) * T::of(0.5);
    f
}

/// The piece of a core on which a point lies that looks along `out`.
fn core_patch<E: Elements>(core: &Core, moving: &E, p: V, out: V, slack: f64) -> Patch<E::T> {
    let near_vertex = (0..core.vertex_count() as u32).find(|v| (core.vertex(*v) - p).norm() <= slack);
    if let Some(v) = near_vertex {
        return Patch::Point(moving.vertex(v));
    }
    let near_edge = (0..core.edge_count() as u32).find(|e| {
        let (q0, q1) = core.edge(*e);
        (q1 - q0).cross(&(p - q0)).norm() <= slack * (q1 - q0).norm()
    });
    if let Some(e) = near_edge {
        let (q0, q1) = moving.edge(e);
        return Patch::Line(q0, q1 - q0);
    }
    let facing = |f: &u32| core.normal(*f).dot(&out);
    let face = (0..core.face_count() as u32).max_by(|f, g| facing(f).total_cmp(&facing(g))).unwrap_or(0);
    plane(moving.face_point(face), moving.normal(face))
}

/// The plane through a point with a normal.
fn plane<T: Real>(p: Vector3<T>, normal: Vector3<T>) -> Patch<T> {
    let n = normal.map(Real::value);
    let mut across = V::zeros();
    across[n.iamin()] = 1.0;
    let u = constant::<T, 3>(across).cross(&normal);
    Patch::Plane(p, u, normal.cross(&u))
}

/// The piece of a cylinder or cone on which a point lies.
fn round_patch<T: Real>(round: &Round, moving: &Round<T>, p: V, slack: f64) -> Patch<T> {
    let x = round.rot.tr_mul(&(p - round.pos));
    let rho = x.x.hypot(x.y);
    let column = |k: usize| -> Vector3<T> { moving.rot.column(k).into() };
    for rim in 0..2_u8 {
        let z = if rim == 0 { -round.half } else { round.half };
        if (rho - round.radius(rim)).hypot(x.z - z) <= slack {
            return if round.radius(rim) > 0.0 {
                Patch::Circle { centre: moving.centre(rim), x: column(0), y: column(1), radius: moving.radius(rim) }
            } else {
                Patch::Point(moving.centre(rim))
            };
        }
        if (x.z - z).abs() <= slack {
            return plane(moving.centre(rim), moving.cap_normal(u32::from(rim)));
        }
    }
    Patch::Band { foot: moving.centre(0), rise: moving.centre(1) - moving.centre(0), x: column(0), y: column(1), radii: moving.radii }
}

fn patch<E: Elements>(solid: &Solid, moving: &Side<E, E::T>, p: V, out: V, slack: f64) -> Patch<E::T> {
    match (solid, moving) {
        (Side::Core(core), Side::Core(moving)) => core_patch(core, moving, p, out, slack),
        (Side::Round(round), Side::Round(moving)) => round_patch(round, moving, p, slack),
        // A solid and its motion are of one kind.
        _ => Patch::Point(constant(p)),
    }
}

fn margin<E: Elements>(side: &Side<E, E::T>) -> E::T {
    match side {
        Side::Core(core) => core.radius(),
        Side::Round(_) => Real::of(0.0),
    }
}

/// Nearest points `found` by iteration with their derivatives; each solid at rest and with its motion.
pub(super) fn whole_tangent<E, const N: usize>(
    found: &Raw,
    (a, moving_a): (&Solid, &Side<E, Dual<N>>),
    (b, moving_b): (&Solid, &Side<E, Dual<N>>),
) -> Raw<Dual<N>>
where
    E: Elements<T = Dual<N>>,
{
    let size = pair_size(a, b);
    let (n, slack) = (found.normal, ON_FEATURE * size);
    let (p, q) = (found.point_a + n * a.margin(), found.point_b - n * b.margin());
    let (on_a, on_b) = (patch(a, moving_a, p, -n, slack), patch(b, moving_b, q, n, slack));
    let (s, t) = (on_a.parameters(p), on_b.parameters(q));
    let start = Unknowns::from([s[0], s[1], t[0], t[1], n.x, n.y, n.z, found.gap + a.margin() + b.margin()]);
    let solved = solve(&on_a.still(), &on_b.still(), start, size);
    // What the sizes and poses change at held unknowns, and what the unknowns do to undo it, theory (14.8).
    let (y, inverse) = solved.unwrap_or((start, SMatrix::zeros()));
    let held = conditions(&on_a, &on_b, &y.map(Real::of));
    let moved = Unknowns::from_fn(|i, _| Dual {
        value: y[i],
        slope: std::array::from_fn(|k| -(0..UNKNOWNS).map(|j| inverse[(i, j)] * held[j].slope[k]).sum::<f64>()),
    });
    let normal = Vector3::new(moved[NORMAL], moved[NORMAL + 1], moved[NORMAL + 2]);
    let (foot, _) = on_b.at([moved[2], moved[3]]);
    // The distance follows the material points even where the points are not alone.
    let (x, _) = on_a.at([moved[0], moved[1]]);
    let distance = if solved.is_some() { moved[DISTANCE] } else { dot(normal, x - foot) };
    let gap = distance - margin(moving_a) - margin(moving_b);
    let point_b = foot + normal * margin(moving_b);
    Raw { gap, normal, point_a: point_b + normal * gap, point_b, regular: solved.is_some() }
}

/// Newton's iteration for the conditions; the unknowns and the inverse of their matrix, or `None` where the features are others or the points
/// are not alone.
fn solve(a: &Patch<f64>, b: &Patch<f64>, start: Unknowns<f64>, size: f64) -> Option<(Unknowns<f64>, SMatrix<f64, UNKNOWNS, UNKNOWNS>)> {
    let (moving_a, moving_b): (Patch<Dual<UNKNOWNS>>, Patch<Dual<UNKNOWNS>>) = (a.still(), b.still());
    let (mut y, mut last) = (start, f64::INFINITY);
    for _ in 0..STEPS {
        let seeded = Unknowns::from_fn(|i, _| Dual { value: y[i], slope: std::array::from_fn(|k| f64::from(u8::from(k == i))) });
        let f = conditions(&moving_a, &moving_b, &seeded);
        let matrix: SMatrix<f64, UNKNOWNS, UNKNOWNS> = SMatrix::from_fn(|i, j| f[i].slope[j]);
        let inverse = matrix.try_inverse()?;
        if matrix.abs().max() * inverse.abs().max() * ALONE > 1.0 {
            return None;
        }
        let residual = f.map(Real::value);
        // On to the last digit: until a step no longer halves what is left.
        let settled = residual.amax() >= 0.5 * last || residual.amax() == 0.0;
        last = residual.amax();
        if settled && last <= SOLVED * size {
            let turned = (y - start).rows(NORMAL, V::zeros().len()).amax();
            let near = (y[DISTANCE] - start[DISTANCE]).abs() <= SAME * size && turned <= SAME;
            return near.then_some((y, inverse));
        }
        y -= inverse * residual;
    }
    None
}
