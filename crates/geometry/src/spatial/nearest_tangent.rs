//! Derivatives of nearest points that were found by iteration: the conditions they satisfy, differentiated, theory (14.7)-(14.8).

use super::feature::Raw;
use super::nearest::pair_size;
use super::patch::{Patch, patch};
use super::placed::Elements;
use super::round::{Side, Solid};
use crate::scalar::{Dual, Real, dot};
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
