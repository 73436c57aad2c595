//! The axis between two solids and their nearest or deepest points by iteration, theory (8.17).
//!
//! Curved shapes that touch leave the difference of their nearest points without digits. Moved apart along the axis by a known shift
//! the difference is that shift again and its direction is sharp; the true axis is the one the move leaves unchanged.

use super::feature::{Raw, any_normal};
use super::gjk::{self, Vertex};
use super::round::Solid;
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Pairs nearer than this part of the size are moved apart; and a pair nearer than this part of the shift was not moved far enough.
const NEAR: f64 = 1e-2;
/// Below this part of the size the nearest points have no digits left for a normal.
const DIRECT: f64 = 1e-12;
/// How far a near pair is first moved apart, as part of the size; deeper overlaps double it.
const SHIFT: f64 = 0.1;
/// The shift shrinks by this factor in each round, to `LEAST_SHIFT` of the size: the smaller it is against the radii of curvature, the
/// faster the axis settles, but the fewer digits are left.
const SHRINK: f64 = 0.3;
const LEAST_SHIFT: f64 = 1e-5;
/// Rounds of the search for the axis.
const ROUNDS: usize = 40;
/// The axis has settled when it turns by less than this [rad].
const SETTLED: f64 = 1e-13;
/// An axis that turned by more than this [rad] in the last round has not settled.
const STILL: f64 = 1e-7;
/// Separations this part of the size apart are equal; the later axis then has the better points.
const ROUNDING: f64 = 1e-14;
/// Times a solid is halved to find a first axis; deeper overlaps have none better than the line of the middles.
const HALVINGS: usize = 5;
/// Overlaps deeper than this part of the size may have several axes: more starts are tried.
const DEEP: f64 = 1e-4;

/// The axis of largest separation of two solids with the points it touches.
#[derive(Clone, Copy)]
pub(super) struct Nearest {
    pub raw: Raw,
    /// Whether the axis has settled; between bare corners that nearly touch it does not, and the gap is short by up to itself.
    pub settled: bool,
}

/// The axis of largest separation of two solids. `guess` starts the search where the solids are close.
pub(super) fn whole(a: &Solid, b: &Solid, guess: Option<V>) -> Nearest {
    let size = pair_size(a, b);
    let near = solve(a, b, a.middle() - b.middle(), V::zeros(), DIRECT * size);
    let direct = (near.distance > DIRECT * size).then(|| along(a, b, axis_of(&near), near.point_b()));
    if let Some(direct) = direct
        && near.distance > NEAR * size
    {
        return Nearest { raw: direct, settled: true };
    }
    let better = |x: Nearest, y: Nearest| if y.raw.gap > x.raw.gap + ROUNDING * size { y } else { x };
    let small_a = a.scale() <= b.scale();
    let mut best = settled(a, b, guess.unwrap_or_else(|| first_axis(a, b, small_a, size)), size);
    if let Some(direct) = direct {
        best = better(best, Nearest { raw: direct, settled: false });
    }
    if guess.is_none() && best.raw.gap + a.margin() + b.margin() < -DEEP * size {
        best = better(best, settled(a, b, first_axis(a, b, !small_a, size), size));
        best = better(best, settled(a, b, unit(a.middle() - b.middle()), size));
    }
    best
}

/// Length scale of a pair [m].
pub(super) fn pair_size(a: &Solid, b: &Solid) -> f64 {
    let (x, y) = (a.scale(), b.scale());
    if x > 0.0 && y > 0.0 { x.min(y) } else { x.max(y) }
}

/// Nearest points with a moved.
fn solve(a: &Solid, b: &Solid, first: V, moved: V, touch: f64) -> gjk::Nearest {
    let support = |d: V| {
        let (p, q) = (a.support(-d) + moved, b.support(d));
        Vertex { w: p - q, b: q, ia: 0, ib: 0 }
    };
    gjk::nearest(support, first, touch, f64::INFINITY)
}

/// The contact along an axis through a point of b; the separation along an axis is exact whatever the axis.
fn along(a: &Solid, b: &Solid, n: V, q: V) -> Raw {
    let gap = n.dot(&(a.support(-n) - b.support(n))) - a.margin() - b.margin();
    let point_b = q + n * b.margin();
    Raw { gap, normal: n, point_a: point_b + n * gap, point_b, regular: true }
}

/// Follows the axis from a first guess until moving the solids apart along it no longer turns it.
fn settled(a: &Solid, b: &Solid, first: V, size: f64) -> Nearest {
    let mut n = first;
    let mut shift = SHIFT * size;
    let (mut best, mut last): (Option<Raw>, f64) = (None, f64::INFINITY);
    for _ in 0..ROUNDS {
        let near = solve(a, b, n, n * shift, NEAR * shift);
        // Still meeting, or nearly: the overlap is deeper than the shift.
        if near.distance <= NEAR * shift {
            shift *= 2.0;
            continue;
        }
        let next = axis_of(&near);
        let turned = (next - n).norm();
        let trial = along(a, b, next, near.point_b());
        if best.is_none_or(|best| trial.gap >= best.gap - ROUNDING * size) {
            best = Some(trial);
        }
        (n, last) = (next, turned);
        if turned <= SETTLED {
            break;
        }
        let depth = shift - near.distance;
        shift = (shift * SHRINK).max(LEAST_SHIFT * size).max(2.0 * depth);
    }
    Nearest { raw: best.unwrap_or_else(|| along(a, b, n, b.support(n))), settled: last <= STILL }
}

/// The best axis the iteration knows.
fn axis_of(near: &gjk::Nearest) -> V {
    if near.lower > 0.0 { near.axis } else { near.x / near.distance }
}

/// A first guess of the axis of two solids that are close or meet: that of one of them shrunk about its middle until it is apart.
fn first_axis(a: &Solid, b: &Solid, shrink_a: bool, size: f64) -> V {
    let between = a.middle() - b.middle();
    let middle = if shrink_a { a.middle() } else { b.middle() };
    let mut factor = 1.0 - SHIFT;
    for _ in 0..HALVINGS {
        let shrunk = |p: V| middle + (p - middle) * factor;
        let support = |d: V| {
            let (p, q) = (a.support(-d), b.support(d));
            let (p, q) = if shrink_a { (shrunk(p), q) } else { (p, shrunk(q)) };
            Vertex { w: p - q, b: q, ia: 0, ib: 0 }
        };
        let near = gjk::nearest(support, between, NEAR * NEAR * size, f64::INFINITY);
        if near.distance > NEAR * NEAR * size {
            return near.x / near.distance;
        }
        factor *= 0.5;
    }
    unit(between)
}

fn unit(v: V) -> V {
    let length = v.norm();
    if length > 0.0 { v / length } else { any_normal() }
}
