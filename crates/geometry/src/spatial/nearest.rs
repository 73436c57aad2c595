//! The axis between two solids and their nearest or deepest points by iteration, theory (8.17).
//!
//! Curved shapes that touch leave the difference of their nearest points without digits. Moved apart along the axis by a known shift
//! the difference is that shift again and its direction is sharp; the true axis is the one the move leaves unchanged. A few digits of
//! it are enough to name the features it touches, and these give the rest, theory (8.18)-(8.19); where they do not the search goes on.

use super::feature::{Raw, any_normal};
use super::gjk::{self, Until, Vertex};
use super::round::Solid;
use super::sharpen::{Axis, Rough};
use nalgebra::Vector3;

type V = Vector3<f64>;

/// Pairs nearer than this part of the size are moved apart; and a pair nearer than this part of the shift was not moved far enough.
const NEAR: f64 = 1e-2;
/// Part of the distance to which nearest points are rough: their features show, the last digits do not.
const ROUGH: f64 = 1e-6;
/// Rounds of the search that try to prove their axis.
const PROOFS: usize = 4;
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
/// The axis has settled when it turns by less than this \[rad\].
const SETTLED: f64 = 1e-13;
/// An axis that turned by more than this \[rad\] in the last round has not settled.
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
    /// Whether a guess started the search; without it another axis may be found.
    pub guided: bool,
}

/// The axis of largest separation of two solids. `guess` starts the search where the solids are close; a gap above `enough` \[m\] need only be
/// a lower bound.
pub(super) fn whole(a: &Solid, b: &Solid, guess: Option<V>, enough: f64) -> Nearest {
    Nearest { guided: guess.is_some(), ..search(a, b, guess, enough) }
}

fn search(a: &Solid, b: &Solid, guess: Option<V>, enough: f64) -> Nearest {
    let size = pair_size(a, b);
    let margins = a.margin() + b.margin();
    let between = a.middle() - b.middle();
    // The bound of the iteration says nothing about depth.
    let enough = (enough + margins).max(0.0);
    let rough = solve(a, b, between, V::zeros(), Until { touch: NEAR * size, enough, relative: ROUGH });
    if rough.lower > enough {
        let raw = Raw { gap: rough.lower - margins, ..along(a, b, rough.axis, rough.point_b()) };
        return Nearest { raw, settled: true, guided: false };
    }
    let direct = || solve(a, b, between, V::zeros(), Until { touch: DIRECT * size, enough: f64::INFINITY, relative: gjk::RELATIVE });
    if rough.distance > NEAR * size {
        let raw = sharpened(a, b, &rough, V::zeros(), size).unwrap_or_else(|| {
            let near = direct();
            along(a, b, axis_of(&near), near.point_b())
        });
        return Nearest { raw, settled: true, guided: false };
    }
    let small_a = a.scale() <= b.scale();
    let first = guess.unwrap_or_else(|| first_axis(a, b, small_a, size));
    let Found { nearest: mut best, proven } = settled(a, b, first, size, PROOFS);
    // No axis separates more than one that is proven while the solids are apart.
    if proven && best.raw.gap + margins >= 0.0 {
        return best;
    }
    let better = |x: Nearest, y: Nearest| if y.raw.gap > x.raw.gap + ROUNDING * size { y } else { x };
    let near = direct();
    if near.distance > DIRECT * size {
        if let Some(raw) = sharpened(a, b, &near, V::zeros(), size).filter(|raw| raw.gap + margins >= 0.0) {
            return Nearest { raw, settled: true, guided: false };
        }
        let raw = along(a, b, axis_of(&near), near.point_b());
        best = better(best, Nearest { raw, settled: false, guided: false });
    }
    if guess.is_none() && best.raw.gap + margins < -DEEP * size {
        best = better(best, settled(a, b, first_axis(a, b, !small_a, size), size, PROOFS).nearest);
        best = better(best, settled(a, b, unit(between), size, PROOFS).nearest);
    }
    best
}

/// Length scale of a pair \[m\].
pub(super) fn pair_size(a: &Solid, b: &Solid) -> f64 {
    let (x, y) = (a.scale(), b.scale());
    if x > 0.0 && y > 0.0 { x.min(y) } else { x.max(y) }
}

/// Nearest points with a moved.
fn solve(a: &Solid, b: &Solid, first: V, moved: V, until: Until) -> gjk::Nearest {
    let support = |d: V| {
        let (p, q) = (a.support(-d) + moved, b.support(d));
        Vertex { w: p - q, b: q, ia: 0, ib: 0 }
    };
    gjk::nearest(support, first, until)
}

/// The contact at rough points of a pair of which a was moved, with all digits where they can be proven.
fn sharpened(a: &Solid, b: &Solid, near: &gjk::Nearest, moved: V, size: f64) -> Option<Raw> {
    let point_b = near.point_b();
    let rough = Rough { a, b, n: axis_of(near), point_a: point_b + near.x - moved, point_b, size };
    rough.sharpened().map(|Axis { n, point_b }| along(a, b, n, point_b))
}

/// The contact along an axis through a point of b; the separation along an axis is exact whatever the axis.
fn along(a: &Solid, b: &Solid, n: V, q: V) -> Raw {
    let gap = n.dot(&(a.support(-n) - b.support(n))) - a.margin() - b.margin();
    let point_b = q + n * b.margin();
    Raw { gap, normal: n, point_a: point_b + n * gap, point_b, regular: true }
}

/// An axis with what is known of it.
struct Found {
    nearest: Nearest,
    /// Whether the features it touches prove it.
    proven: bool,
}

/// Follows the axis from a first guess until its features prove it, tried in so many rounds, or moving the solids apart along it no longer turns
/// it.
fn settled(a: &Solid, b: &Solid, first: V, size: f64, mut proofs: usize) -> Found {
    let mut n = first;
    let mut shift = SHIFT * size;
    let (mut best, mut last): (Option<Raw>, f64) = (None, f64::INFINITY);
    for _ in 0..ROUNDS {
        // Features that differ by less than rough points show need all digits.
        let relative = if proofs > PROOFS / 2 { ROUGH } else { gjk::RELATIVE };
        let near = solve(a, b, n, n * shift, Until { touch: NEAR * shift, enough: f64::INFINITY, relative });
        // Still meeting, or nearly: the overlap is deeper than the shift.
        if near.distance <= NEAR * shift {
            shift *= 2.0;
            continue;
        }
        if proofs > 0 {
            proofs -= 1;
            if let Some(raw) = sharpened(a, b, &near, n * shift, size) {
                return Found { nearest: Nearest { raw, settled: true, guided: false }, proven: true };
            }
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
    let raw = best.unwrap_or_else(|| along(a, b, n, b.support(n)));
    Found { nearest: Nearest { raw, settled: last <= STILL, guided: false }, proven: false }
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
        let near = gjk::nearest(support, between, Until { touch: NEAR * NEAR * size, enough: f64::INFINITY, relative: ROUGH });
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

#[cfg(test)]
mod tests {
    use super::super::round_tests::{KINDS, partner, round};
    use super::super::tests::{Random, found, rounds};
    use super::*;
    use carom_math::Pose;

    /// Two roads to the axis: features that prove it, and the iteration to its end.
    #[test]
    fn proven_axes_are_those_of_the_iteration_with_more_digits() {
        let mut random = Random(41);
        let (mut counted, mut proven) = (0, 0);
        for i in 0..rounds(300, 6000) {
            let (a, b) = (round(&mut random, i % 2), partner(&mut random, 1 + i / 2 % (KINDS - 1)));
            let (pa, pb) = (random.pose(1.5), random.pose(1.5));
            let list = found(&a, &pa, &b, &pb, 3.0);
            let Some(c) = list.iter().min_by(|x, y| x.gap.total_cmp(&y.gap)).filter(|c| c.gap > 1e-2) else { continue };
            for gap in [1e-3, 1e-6, 1e-9, 0.0, -1e-9, -1e-6] {
                let near = Pose { position: pa.position - c.normal * (c.gap - gap), rotation: pa.rotation };
                let (Some(x), Some(y)) = (Solid::of(&a, &near, pb.position), Solid::of(&b, &pb, pb.position)) else { continue };
                let size = pair_size(&x, &y);
                let first = first_axis(&x, &y, true, size);
                let (quick, slow) = (settled(&x, &y, first, size, PROOFS), settled(&x, &y, first, size, 0));
                counted += 1;
                proven += usize::from(quick.proven);
                assert!(!slow.proven);
                let found = whole(&x, &y, None, f64::INFINITY).raw.gap;
                assert!((found - gap).abs() <= 1e-8 || gap <= 0.0, "{i} {gap} {found} {a:?} {b:?}");
                // Bare corners that touch are not proven: many axes separate them as well.
                if quick.proven {
                    let (quick, slow) = (quick.nearest.raw.gap, slow.nearest.raw.gap);
                    assert!((quick - gap).abs() <= 1e-11 || gap < 0.0, "{i} {gap} {quick} {a:?} {b:?}");
                    // The largest separation is what is sought, of which there may be several in overlap.
                    let several = if gap < 0.0 { 0.1 * gap.abs() } else { 0.0 };
                    assert!(quick >= slow - 1e-12 - several, "{i} {gap} {quick} {slow} {a:?} {b:?}");
                }
            }
        }
        // The rest are bare corners that touch or nearly do.
        assert!(counted > 500 && 100 * proven >= 85 * counted, "{proven} of {counted}");
    }

    /// A bound takes the place of the distance only where that is not asked for.
    #[test]
    fn a_gap_above_enough_may_be_a_lower_bound() {
        let mut random = Random(42);
        let (mut bounds, mut exact) = (0, 0);
        for i in 0..rounds(400, 5000) {
            let (a, b) = (round(&mut random, i % 2), partner(&mut random, 1 + i / 2 % (KINDS - 1)));
            let (pa, pb) = (random.pose(2.0), random.pose(2.0));
            let (Some(x), Some(y)) = (Solid::of(&a, &pa, pb.position), Solid::of(&b, &pb, pb.position)) else { continue };
            let gap = whole(&x, &y, None, f64::INFINITY).raw.gap;
            for enough in [-0.1, 0.0, 0.1, 0.5, 1.0] {
                let found = whole(&x, &y, None, enough).raw.gap;
                if gap < enough {
                    assert_eq!(found, gap);
                    exact += 1;
                } else {
                    assert!(found >= enough && found <= gap + 1e-13, "{i} {enough} {found} {gap}");
                    bounds += usize::from(found < gap - 1e-6);
                }
            }
        }
        assert!(bounds > 100 && exact > 100, "{bounds} {exact}");
    }
}
