//! The moment of a fast crossing, theory (2.22): the length of the move at whose end the gap vanishes.

use crate::crossing::{Crossing, feature_gap, separation};
use crate::hold::{self, Held};
use crate::island::{Context, Island};
use crate::predict::kick;
use carom_geometry::Geometry;
use carom_math::Vector;

/// Newton steps, secants and bisections of one root.
const ROOT_CAP: usize = 60;

/// Moves solved for one event: two are usual, one where loads and joints bend the paths evenly.
const SOLVE_CAP: usize = 12;

/// Whether rows bend the path of a body in the present solve.
fn constrained<G: Geometry>(island: &Island<G>, body: usize) -> bool {
    island.members.bodies[body].jointed
        || island.system.solve.lines.iter().any(|&line| {
            let pair = island.system.assembly.lines[line].bodies;
            pair[0] == body || pair[1] == body
        })
}

/// The root of gap(q + t v1/2(t)) = 0: the moment of a fast crossing when the move ends there, theory (2.22); `None` when the
/// shorter moves do not reach it. The last move that was solved on the way is left in `solved`, with its length.
///
/// In free flight v1/2(t) is known. Where rows bend the paths it is taken to be linear in t between two moves that were solved, theory (2.24): the
/// root of the gap along that path is found without a solve, then one move of that length is, and takes the place of the older of the two.
pub(crate) fn event_time<G: Geometry>(
    island: &mut Island<G>,
    ctx: &Context<G>,
    crossing: &Crossing<G>,
    longest: f64,
    solved: &mut Option<(f64, Held)>,
) -> Option<f64> {
    let pair = island.links.pairs[crossing.pair];
    let options = &ctx.model.options;
    let touch = ctx.model.tolerances.touch * pair.size;
    let bodies = pair.bodies.map(|b| island.members.bodies[b].index);
    let gap_at = |poses| match crossing.feature {
        Some(feature) => feature_gap(ctx, bodies, crossing.colliders, feature, poses),
        None => separation(ctx, bodies, crossing.colliders, poses, f64::INFINITY),
    };
    let reach = pair.bodies.iter().fold(pair.size, |m, &b| m.max(island.motion.poses[b].position.max_abs()));
    let exact = 2.0 * f64::EPSILON * reach;
    if !options.scheme().by_means() && pair.bodies.iter().all(|&b| !constrained(island, b)) {
        // Without rows the path is the parabola itself, and the root as exact as rounding lets it be.
        let gap = |t: f64| gap_at(pair.bodies.map(|b| island.motion.poses[b].advanced(kick(island, b, options, t), t)));
        let (t, value) = root(gap, crossing.time.min(longest), -crossing.speed, longest, exact);
        return (value.abs() <= touch).then_some(t);
    }
    // Through solves the root is as good as they are.
    let precision = exact.max(ctx.model.tolerances.position * pair.size);
    let mut older = (longest, pair.bodies.map(|b| island.motion.half[b]));
    let mut newest = (0.0, pair.bodies.map(|b| island.motion.twists[b]));
    let mut t = crossing.time.min(longest);
    for round in 0..SOLVE_CAP {
        if ctx.interrupt.raised() {
            break;
        }
        let ((from, before), (to, after)) = (newest, older);
        if (to - from).abs() <= f64::EPSILON * longest {
            return None;
        }
        let gap = |s: f64| {
            let part = (s - from) / (to - from);
            let twist = |side: usize| before[side].plus(part, after[side].plus(-1.0, before[side]));
            gap_at([0, 1].map(|side| island.motion.poses[pair.bodies[side]].advanced(twist(side), s)))
        };
        let (length, value) = root(gap, t, -crossing.speed, longest, exact);
        if value.abs() > touch {
            return None;
        }
        *solved = Some((length, hold::hold(island, ctx, length)));
        let value = gap_at(pair.bodies.map(|b| island.motion.next[b]));
        if value.abs() <= precision || (length == t && value.abs() <= touch) {
            return Some(length);
        }
        if round > 0 {
            older = newest;
        }
        newest = (length, pair.bodies.map(|b| island.motion.half[b]));
        t = length;
    }
    None
}

/// The root of a gap that closes: Newton from a first guess and rate, then secants, kept inside the bracket as soon as there is one. Returns where it
/// ended and the gap there; the gap is large where the bodies pass each other by.
fn root(mut gap: impl FnMut(f64) -> f64, start: f64, rate: f64, longest: f64, precision: f64) -> (f64, f64) {
    let (mut low, mut high): (Option<f64>, Option<f64>) = (None, None);
    let (mut t, mut rate) = (start, rate);
    let mut value = gap(t);
    for _ in 0..ROOT_CAP {
        if value.abs() <= precision {
            break;
        }
        if value > 0.0 {
            low = Some(t);
        } else {
            high = Some(t);
        }
        let newton = t - value / rate;
        let next = match (low, high) {
            (Some(low), Some(high)) if high - low <= f64::EPSILON * high => break,
            (Some(low), Some(high)) => {
                if newton > low && newton < high {
                    newton
                } else {
                    0.5 * (low + high)
                }
            }
            // Twice as far as Newton would go, so that the root is soon between two times.
            (Some(low), None) if low < longest => (low + 2.0 * (newton - low)).min(longest),
            (None, Some(high)) if high > 0.0 => (high - 2.0 * (high - newton)).max(0.0),
            _ => break,
        };
        let then = gap(next);
        let slope = (then - value) / (next - t);
        if high.is_none() && then > value {
            // The gap opens again: on these paths the bodies pass each other by.
            value = then;
            break;
        }
        if slope < 0.0 {
            rate = slope;
        }
        (t, value) = (next, then);
    }
    (t, value)
}
